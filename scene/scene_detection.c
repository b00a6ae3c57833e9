// The "detection" of a scene file.
#include "sim/base/rotations.h"
#include "scene/scene_parts.h"

static void read_rays(const sim_json_node *node, carom_world_def *detection)
{
	static const char *const broad_words[] = { "tree", "sweep", "brute", NULL }; // in the order of carom_broad_phase
	static const char *const ray_words[] = { "wide", "binary", "basic", "moller_trumbore", NULL }; // of carom_ray_method
	static const char *const normal_words[] = { "ray", "triangle", "patch", NULL };                // of carom_contact_normal
	int broad = (int)detection->broad_phase, ray = (int)detection->ray_method, normal = (int)detection->contact_normal;
	sim_json_choice(node, "broad_phase", broad_words, &broad);
	sim_json_choice(node, "ray_method", ray_words, &ray);
	sim_json_choice(node, "contact_normal", normal_words, &normal);
	detection->broad_phase = (carom_broad_phase)broad;
	detection->ray_method = (carom_ray_method)ray;
	detection->contact_normal = (carom_contact_normal)normal;
	double degrees;
	if (sim_json_number(node, "internal_edge_angle", 0, 180, &degrees) && sim_json_has(node, "internal_edge_angle"))
		detection->internal_edge_angle = degrees / 180 * SIM_PI;
	if (sim_json_number(node, "max_depth_ratio", 0, 1e6, &detection->max_depth_ratio) && detection->max_depth_ratio > 0 &&
		detection->max_depth_ratio < 1)
		sim_json_member_error(node, "max_depth_ratio", "must be 0 or from 1 to 1000000, not %.15g", detection->max_depth_ratio);
}

static void read_temporal(const sim_json_node *node, carom_world_def *detection)
{
	static const char *const temporal_words[] = { "none", "iterative", NULL }; // in the order of carom_temporal
	static const char *const lost_words[] = { "recast", "drop", NULL };        // of carom_lost_rays
	int temporal = (int)detection->temporal, lost = (int)detection->lost_rays;
	sim_json_choice(node, "temporal", temporal_words, &temporal);
	sim_json_choice(node, "lost_rays", lost_words, &lost);
	detection->temporal = (carom_temporal)temporal;
	detection->lost_rays = (carom_lost_rays)lost;
	sim_json_bool(node, "predict", &detection->predict);
	sim_read_int32(node, "max_walk", 1, 65536, &detection->max_walk);
	sim_json_number(node, "displacement_threshold", 0, 1e6, &detection->displacement_threshold);
	sim_json_number(node, "distance_extension", 0, 1e6, &detection->distance_extension);
	// A vertex that is not watched could otherwise enter between two full steps.
	if (detection->predict && detection->distance_extension > 0 &&
		detection->displacement_threshold > detection->distance_extension)
		sim_json_member_error(node, "displacement_threshold", "must be at most \"distance_extension\" (%.15g), not %.15g",
			detection->distance_extension, detection->displacement_threshold);
}

static void read_stages(const sim_json_node *node, carom_world_def *detection)
{
	static const char *const stage_words[] = { "lists", "naive", NULL };                // in the order of carom_stages
	static const char *const buffer_words[] = { "exact", "ignore", "backtrack", NULL }; // of carom_ray_buffers
	static const char *const predictor_words[] = { "pairs", "last", NULL };             // of carom_ray_predictor
	int stages = (int)detection->stages, buffers = (int)detection->ray_buffers, predictor = (int)detection->ray_predictor;
	sim_json_choice(node, "stages", stage_words, &stages);
	sim_json_choice(node, "ray_buffers", buffer_words, &buffers);
	sim_json_choice(node, "ray_predictor", predictor_words, &predictor);
	detection->stages = (carom_stages)stages;
	detection->ray_buffers = (carom_ray_buffers)buffers;
	detection->ray_predictor = (carom_ray_predictor)predictor;
	sim_json_number(node, "buffer_confidence", 1, 1e6, &detection->buffer_confidence);
	sim_read_int32(node, "worker_groups", 0, CAROM_MAX_WORKER_GROUPS, &detection->worker_groups);
}

void sim_read_detection(const sim_json_node *section, carom_world_def *detection)
{
	static const char *const fields[] = { "max_contacts_per_pair", "complete", "exit_distance_test", "max_depth_ratio",
		"speculative_distance", "toi_tolerance", "match_distance", "broad_phase", "ray_method", "contact_normal",
		"internal_edge_angle", "temporal", "predict", "lost_rays", "max_walk", "displacement_threshold", "distance_extension",
		"stages", "ray_buffers", "ray_predictor", "buffer_confidence", "worker_groups", NULL };
	sim_json_node node;
	if (!sim_json_member(section, "detection", &node) || !sim_json_fields(&node, fields))
		return;
	sim_read_int32(&node, "max_contacts_per_pair", 0, 256, &detection->max_contacts_per_pair);
	sim_json_bool(&node, "complete", &detection->complete);
	sim_json_bool(&node, "exit_distance_test", &detection->exit_distance_test);
	sim_json_number(&node, "speculative_distance", 0, 1e6, &detection->speculative_distance);
	sim_json_number(&node, "toi_tolerance", 1e-9, 1e6, &detection->toi_tolerance);
	sim_json_number(&node, "match_distance", 0, 1e6, &detection->match_distance);
	read_rays(&node, detection);
	read_temporal(&node, detection);
	read_stages(&node, detection);
}
