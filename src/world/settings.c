/// The settings of a world: defaults and checks.

#include "sweep/sweep_motion.h"
#include "world/world.h"

// A prediction never needs more, and products with it stay finite.
static const double MAX_CONFIDENCE = 1e6;

carom_world_def carom_default_world_def(void)
{
	return (carom_world_def){
		.cookie = CR_WORLD_COOKIE,
		.broad_phase = CAROM_BROAD_TREE,
		.max_contacts_per_pair = 8,
		.match_distance = 0.02,
		.temporal = CAROM_TEMPORAL_PREDICTIVE,
		.contact_normal = CAROM_NORMAL_PATCH,
		.internal_edge_angle = 0.08726646259971647, // 5 degrees
		.long_edge_share = 0.2,
		.sweep = carom_default_sweep_def(),
		.toi_tolerance = 0.001,
	};
}

carom_lab cr_plain_lab(void)
{
	return (carom_lab){
		.cookie = CR_LAB_COOKIE,
		.ray_method = CAROM_RAYS_WIDE,
		.complete = true,
		.hull_pairs = true,
		.max_depth_ratio = 2,
		.max_walk = 32,
		.buffer_confidence = 1.02,
	};
}

cr_settings cr_join_settings(const carom_world_def *def)
{
	cr_settings settings = {
		.world = *def,
		.lab = def->lab ? *def->lab : cr_plain_lab(),
		.predict = def->temporal == CAROM_TEMPORAL_PREDICTIVE,
	};
	settings.world.lab = NULL;
	return settings;
}

static const char *const create_name = "carom_create_world";

static carom_result check_choices(carom_context *context, const cr_settings *settings)
{
	const carom_world_def *def = &settings->world;
	const carom_lab *lab = &settings->lab;
	const struct {
		const char *field;
		int value, last;
	} choices[] = {
		{ "broad_phase", (int)def->broad_phase, CAROM_BROAD_SWEEP },
		{ "ray_method", (int)lab->ray_method, CAROM_RAYS_PLUGIN },
		{ "temporal", (int)def->temporal, CAROM_TEMPORAL_PREDICTIVE },
		{ "lost_rays", (int)lab->lost_rays, CAROM_LOST_DROP },
		{ "contact_normal", (int)def->contact_normal, CAROM_NORMAL_PATCH },
		{ "stages", (int)lab->stages, CAROM_STAGES_NAIVE },
		{ "ray_buffers", (int)lab->ray_buffers, CAROM_BUFFERS_BACKTRACK },
		{ "ray_predictor", (int)lab->ray_predictor, CAROM_PREDICTOR_LAST },
	};
	for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
		if (choices[i].value < 0 || choices[i].value > choices[i].last)
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is %d, which is none; they go from 0 to %d", create_name,
				choices[i].field, choices[i].value, choices[i].last);
	}
	return CAROM_SUCCESS;
}

static carom_result check_numbers(carom_context *context, const cr_settings *settings)
{
	const carom_world_def *def = &settings->world;
	const carom_lab *lab = &settings->lab;
	const struct {
		const char *field;
		double value, least, most;
	} numbers[] = {
		{ "max_contacts_per_pair", def->max_contacts_per_pair, 0, 256 },
		{ "max_contacts_per_body_pair", settings->max_contacts_per_body_pair, 0, 256 },
		{ "speculative_distance", def->speculative_distance, 0, CAROM_MAX_COORDINATE },
		{ "match_distance", def->match_distance, 0, CAROM_MAX_COORDINATE },
		{ "max_walk", lab->max_walk, 1, 65536 },
		{ "displacement_threshold", lab->displacement_threshold, 0, CAROM_MAX_COORDINATE },
		{ "distance_extension", lab->distance_extension, 0, CAROM_MAX_COORDINATE },
		{ "internal_edge_angle", def->internal_edge_angle, 0, 3.14159265358979323846 },
		{ "long_edge_share", def->long_edge_share, 0, CAROM_MAX_COORDINATE },
		{ "buffer_confidence", lab->buffer_confidence, 1, MAX_CONFIDENCE },
		{ "worker_groups", lab->worker_groups, 0, CAROM_MAX_WORKER_GROUPS },
	};
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		// Written so that NaN fails.
		if (!(numbers[i].value >= numbers[i].least && numbers[i].value <= numbers[i].most))
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is %g; it must be %.9g to %.9g", create_name,
				numbers[i].field, numbers[i].value, numbers[i].least, numbers[i].most);
	}
	return CAROM_SUCCESS;
}

/// Fields that depend on each other or have two ranges.
static carom_result check_combinations(carom_context *context, const cr_settings *settings)
{
	const carom_world_def *def = &settings->world;
	const carom_lab *lab = &settings->lab;
	const carom_ray_plugin *plugin = lab->ray_plugin;
	if (lab->ray_method == CAROM_RAYS_PLUGIN && (!plugin || !plugin->build || !plugin->cast || !plugin->destroy))
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: ray_method is CAROM_RAYS_PLUGIN, but ray_plugin is NULL or lacks a function", create_name);
	if (!(lab->max_depth_ratio == 0 || (lab->max_depth_ratio >= 1 && lab->max_depth_ratio <= CAROM_MAX_COORDINATE)))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: max_depth_ratio is %g; it must be 0, or 1 to %g", create_name,
			lab->max_depth_ratio, CAROM_MAX_COORDINATE);
	if (settings->predict && lab->distance_extension > 0 && lab->displacement_threshold > lab->distance_extension)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: displacement_threshold is %g; with predict it must be at most distance_extension, %g: a vertex that no outward "
			"ray reached could enter before the pair's next full step",
			create_name, lab->displacement_threshold, lab->distance_extension);
	if (!(def->toi_tolerance > 0 && def->toi_tolerance <= CAROM_MAX_COORDINATE))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: toi_tolerance is %g; it must be above 0 and at most %g",
			create_name, def->toi_tolerance, CAROM_MAX_COORDINATE);
	return CAROM_SUCCESS;
}

carom_result cr_check_settings(carom_context *context, const cr_settings *settings)
{
	if (settings->world.cookie != CR_WORLD_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: def was not started from carom_default_world_def", create_name);
	carom_result result = check_choices(context, settings);
	if (result == CAROM_SUCCESS)
		result = check_numbers(context, settings);
	if (result == CAROM_SUCCESS)
		result = check_combinations(context, settings);
	if (result == CAROM_SUCCESS && settings->world.sweep.max_hits != 0)
		result = cr_fail(context, CAROM_INVALID_ARGUMENT,
			"carom_world_def.sweep.max_hits is %lld: only scenes of carom_create_sweep have a bound",
			(long long)settings->world.sweep.max_hits);
	if (result == CAROM_SUCCESS && settings->world.sweep.relative_separation != 0)
		result = cr_fail(context, CAROM_INVALID_ARGUMENT,
			"carom_world_def.sweep.relative_separation is %g: only scenes of carom_create_sweep have one",
			settings->world.sweep.relative_separation);
	return result == CAROM_SUCCESS ? cr_check_sweep_def(context, &settings->world.sweep) : result;
}
