// The "detection" of a scene file.
#include "sim/base/rotations.h"
#include "scene/scene_parts.h"

static void read_temporal(const io_json_node *node, carom_world_def *detection)
{
	// in the order of carom_temporal
	static const char *const words[] = { "none", "iterative", "predictive", NULL };
	int temporal = (int)detection->temporal;
	io_json_choice(node, "temporal", words, &temporal);
	detection->temporal = (carom_temporal)temporal;
}

static void read_contacts(const io_json_node *node, carom_world_def *detection)
{
	// in the order of carom_broad_phase
	static const char *const broad_words[] = { "tree", "sweep", NULL };
	// of carom_contact_normal
	static const char *const normal_words[] = { "ray", "triangle", "patch", NULL };
	int broad = (int)detection->broad_phase, normal = (int)detection->contact_normal;
	io_json_choice(node, "broad_phase", broad_words, &broad);
	io_json_choice(node, "contact_normal", normal_words, &normal);
	detection->broad_phase = (carom_broad_phase)broad;
	detection->contact_normal = (carom_contact_normal)normal;
	double degrees;
	if (io_json_number(node, "internal_edge_angle", 0, 180, &degrees) && io_json_has(node, "internal_edge_angle"))
		detection->internal_edge_angle = degrees / 180 * SIM_PI;
	io_json_number(node, "long_edge_share", 0, 1e6, &detection->long_edge_share);
	scene_read_int32(node, "max_contacts_per_pair", 0, 256, &detection->max_contacts_per_pair);
	io_json_number(node, "speculative_distance", 0, 1e6, &detection->speculative_distance);
	io_json_number(node, "toi_tolerance", 1e-9, 1e6, &detection->toi_tolerance);
	io_json_number(node, "match_distance", 0, 1e6, &detection->match_distance);
}

static void read_rays(const io_json_node *node, carom_lab *lab)
{
	// of carom_ray_method
	static const char *const ray_words[] = { "wide", "binary", "basic", "moller_trumbore", NULL };
	// of carom_lost_rays
	static const char *const lost_words[] = { "recast", "drop", NULL };
	int ray = (int)lab->ray_method, lost = (int)lab->lost_rays;
	io_json_choice(node, "ray_method", ray_words, &ray);
	io_json_choice(node, "lost_rays", lost_words, &lost);
	lab->ray_method = (carom_ray_method)ray;
	lab->lost_rays = (carom_lost_rays)lost;
	io_json_bool(node, "complete", &lab->complete);
	io_json_bool(node, "exit_distance_test", &lab->exit_distance_test);
	scene_read_int32(node, "max_walk", 1, 65536, &lab->max_walk);
	if (io_json_number(node, "max_depth_ratio", 0, 1e6, &lab->max_depth_ratio) && lab->max_depth_ratio > 0 &&
		lab->max_depth_ratio < 1)
		io_json_member_error(node, "max_depth_ratio", "must be 0 or from 1 to 1000000, not %.15g", lab->max_depth_ratio);
}

static void read_distances(const io_json_node *node, bool predictive, carom_lab *lab)
{
	io_json_number(node, "displacement_threshold", 0, 1e6, &lab->displacement_threshold);
	io_json_number(node, "distance_extension", 0, 1e6, &lab->distance_extension);
	// A vertex that is not watched could otherwise enter between two full steps.
	if (predictive && lab->distance_extension > 0 && lab->displacement_threshold > lab->distance_extension)
		io_json_member_error(node, "displacement_threshold", "must be at most \"distance_extension\" (%.15g), not %.15g",
			lab->distance_extension, lab->displacement_threshold);
}

static void read_stages(const io_json_node *node, carom_lab *lab)
{
	// in the order of carom_stages
	static const char *const stage_words[] = { "lists", "naive", NULL };
	// of carom_ray_buffers
	static const char *const buffer_words[] = { "exact", "ignore", "backtrack", NULL };
	// of carom_ray_predictor
	static const char *const predictor_words[] = { "pairs", "last", NULL };
	int stages = (int)lab->stages, buffers = (int)lab->ray_buffers, predictor = (int)lab->ray_predictor;
	io_json_choice(node, "stages", stage_words, &stages);
	io_json_choice(node, "ray_buffers", buffer_words, &buffers);
	io_json_choice(node, "ray_predictor", predictor_words, &predictor);
	lab->stages = (carom_stages)stages;
	lab->ray_buffers = (carom_ray_buffers)buffers;
	lab->ray_predictor = (carom_ray_predictor)predictor;
	io_json_number(node, "buffer_confidence", 1, 1e6, &lab->buffer_confidence);
	scene_read_int32(node, "worker_groups", 0, CAROM_MAX_WORKER_GROUPS, &lab->worker_groups);
	io_json_bool(node, "brute_broad_phase", &lab->brute_broad_phase);
}

/// What repeats papers (carom/lab.h).
static void read_lab(const io_json_node *node, bool predictive, carom_lab *lab)
{
	read_rays(node, lab);
	read_distances(node, predictive, lab);
	read_stages(node, lab);
}

/// "lab" of a detection.
static void read_lab_section(const io_json_node *detection, bool predictive, carom_lab *lab)
{
	static const char *const fields[] = { "brute_broad_phase", "ray_method", "complete", "exit_distance_test",
		"max_depth_ratio", "lost_rays", "max_walk", "displacement_threshold", "distance_extension", "stages", "ray_buffers",
		"ray_predictor", "buffer_confidence", "worker_groups", NULL };
	io_json_node node;
	if (!io_json_member(detection, "lab", &node) || !io_json_fields(&node, fields))
		return;
	read_lab(&node, predictive, lab);
}

void scene_read_detection(const io_json_node *section, scene_rigid *rigid)
{
	static const char *const fields[] = { "max_contacts_per_pair", "max_contacts_per_body_pair", "speculative_distance",
		"toi_tolerance", "match_distance", "broad_phase", "contact_normal", "internal_edge_angle", "long_edge_share",
		"temporal", "lab", NULL };
	io_json_node node;
	if (!io_json_member(section, "detection", &node) || !io_json_fields(&node, fields))
		return;
	read_contacts(&node, &rigid->detection);
	scene_read_int32(&node, "max_contacts_per_body_pair", 0, 256, &rigid->max_contacts_per_body_pair);
	read_temporal(&node, &rigid->detection);
	read_lab_section(&node, rigid->detection.temporal == CAROM_TEMPORAL_PREDICTIVE, &rigid->lab);
}

void scene_read_recorded_detection(const io_json_node *root, carom_world_def *detection, carom_lab *lab)
{
	io_json_node node;
	if (!io_json_member(root, "detection", &node))
		return;
	read_contacts(&node, detection);
	// "iterative" was predictive unless "predict" said no.
	read_temporal(&node, detection);
	bool predict = true;
	io_json_bool(&node, "predict", &predict);
	if (predict && detection->temporal == CAROM_TEMPORAL_ITERATIVE)
		detection->temporal = CAROM_TEMPORAL_PREDICTIVE;
	read_lab(&node, predict, lab);
}
