/// Worlds: making, destroying, views of results.

#include "world/snapshot.h"
#include "world/world.h"
#include "sweep/sweep_motion.h"

// A prediction never needs more, and products with it stay finite.
static const double MAX_CONFIDENCE = 1e6;

carom_world_def carom_default_world_def(void)
{
	return (carom_world_def){
		.cookie = CR_WORLD_COOKIE,
		.broad_phase = CAROM_BROAD_TREE,
		.ray_method = CAROM_RAYS_WIDE,
		.max_contacts_per_pair = 8,
		.complete = true,
		.max_depth_ratio = 2,
		.match_distance = 0.02,
		.temporal = CAROM_TEMPORAL_ITERATIVE,
		.predict = true,
		.max_walk = 32,
		.contact_normal = CAROM_NORMAL_PATCH,
		.internal_edge_angle = 0.08726646259971647, // 5 degrees
		.buffer_confidence = 1.02,
		.sweep = carom_default_sweep_def(),
		.toi_tolerance = 0.001,
	};
}

static const char *const create_name = "carom_create_world";

static carom_result check_choices(carom_context *context, const carom_world_def *def)
{
	const struct {
		const char *field;
		int value, last;
	} choices[] = {
		{ "broad_phase", (int)def->broad_phase, CAROM_BROAD_BRUTE },
		{ "ray_method", (int)def->ray_method, CAROM_RAYS_PLUGIN },
		{ "temporal", (int)def->temporal, CAROM_TEMPORAL_ITERATIVE },
		{ "lost_rays", (int)def->lost_rays, CAROM_LOST_DROP },
		{ "contact_normal", (int)def->contact_normal, CAROM_NORMAL_PATCH },
		{ "stages", (int)def->stages, CAROM_STAGES_NAIVE },
		{ "ray_buffers", (int)def->ray_buffers, CAROM_BUFFERS_BACKTRACK },
		{ "ray_predictor", (int)def->ray_predictor, CAROM_PREDICTOR_LAST },
	};
	for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
		if (choices[i].value < 0 || choices[i].value > choices[i].last)
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is %d, which is none; they go from 0 to %d", create_name,
				choices[i].field, choices[i].value, choices[i].last);
	}
	return CAROM_SUCCESS;
}

static carom_result check_numbers(carom_context *context, const carom_world_def *def)
{
	const struct {
		const char *field;
		double value, least, most;
	} numbers[] = {
		{ "max_contacts_per_pair", def->max_contacts_per_pair, 0, 256 },
		{ "speculative_distance", def->speculative_distance, 0, CAROM_MAX_COORDINATE },
		{ "match_distance", def->match_distance, 0, CAROM_MAX_COORDINATE },
		{ "max_walk", def->max_walk, 1, 65536 },
		{ "displacement_threshold", def->displacement_threshold, 0, CAROM_MAX_COORDINATE },
		{ "distance_extension", def->distance_extension, 0, CAROM_MAX_COORDINATE },
		{ "internal_edge_angle", def->internal_edge_angle, 0, 3.14159265358979323846 },
		{ "buffer_confidence", def->buffer_confidence, 1, MAX_CONFIDENCE },
		{ "worker_groups", def->worker_groups, 0, CAROM_MAX_WORKER_GROUPS },
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
static carom_result check_combinations(carom_context *context, const carom_world_def *def)
{
	const carom_ray_plugin *plugin = def->ray_plugin;
	if (def->ray_method == CAROM_RAYS_PLUGIN && (!plugin || !plugin->build || !plugin->cast || !plugin->destroy))
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: ray_method is CAROM_RAYS_PLUGIN, but ray_plugin is NULL or lacks a function", create_name);
	if (!(def->max_depth_ratio == 0 || (def->max_depth_ratio >= 1 && def->max_depth_ratio <= CAROM_MAX_COORDINATE)))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: max_depth_ratio is %g; it must be 0, or 1 to %g", create_name,
			def->max_depth_ratio, CAROM_MAX_COORDINATE);
	if (def->predict && def->distance_extension > 0 && def->displacement_threshold > def->distance_extension)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: displacement_threshold is %g; with predict it must be at most distance_extension, %g: a vertex that no outward "
			"ray reached could enter before the pair's next full step",
			create_name, def->displacement_threshold, def->distance_extension);
	if (!(def->toi_tolerance > 0 && def->toi_tolerance <= CAROM_MAX_COORDINATE))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: toi_tolerance is %g; it must be above 0 and at most %g",
			create_name, def->toi_tolerance, CAROM_MAX_COORDINATE);
	return CAROM_SUCCESS;
}

static carom_result check_def(carom_context *context, const carom_world_def *def)
{
	if (def->cookie != CR_WORLD_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: def was not started from carom_default_world_def", create_name);
	carom_result result = check_choices(context, def);
	if (result == CAROM_SUCCESS)
		result = check_numbers(context, def);
	if (result == CAROM_SUCCESS)
		result = check_combinations(context, def);
	return result == CAROM_SUCCESS ? cr_check_sweep_def(context, &def->sweep) : result;
}

carom_result carom_create_world(carom_context *context, const carom_world_def *def, carom_world **world)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!world)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_world: world is NULL");
	*world = NULL;
	const carom_world_def defaults = carom_default_world_def();
	def = def ? def : &defaults;
	carom_result result = check_def(context, def);
	if (result != CAROM_SUCCESS)
		return result;
	carom_world *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "a world");
	made->context = context;
	made->def = *def;
	made->impacts.earliest = -1;
	cr_context_init_child(&made->memory, context, def->memory_budget);
	result = cr_pipeline_init(&made->pipeline, &made->memory, def);
	if (result == CAROM_SUCCESS) {
		made->query_index = cr_query_index_create(&made->memory);
		if (!made->query_index) {
			cr_pipeline_free(&made->pipeline);
			result = cr_fail_memory(context, "a world");
		}
	}
	if (result != CAROM_SUCCESS) {
		result = cr_explain_failure(made, create_name, 0, result);
		cr_free(context, made, sizeof *made);
		return result;
	}
	atomic_fetch_add(&context->live_objects, 1);
	*world = made;
	return CAROM_SUCCESS;
}

void carom_destroy_world(carom_world *world)
{
	if (!world)
		return;
	carom_context *context = world->context;
	cr_recorder_destroy(world->recorder);
	cr_query_index_destroy(world->query_index);
	cr_orphan_snapshots(world);
	// The plugin's states first: they may point into the meshes.
	for (int64_t i = 0; i < world->plugin_meshes.count; i++)
		world->def.ray_plugin->destroy(world->plugin_meshes.data[i].state, world->def.ray_plugin->user);
	for (int64_t i = 0; i < world->bodies.count; i++) {
		if (!world->bodies.data[i].alive)
			continue;
		cr_deforming_free(&world->memory, world->bodies.data[i].deforming);
		cr_release_compound(&world->memory, world->bodies.data[i].compound);
		cr_shape_free(&world->bodies.data[i].shape);
	}
	cr_release_box_meshes(world->box_meshes);
	cr_impacts_free(&world->memory, &world->impacts);
	cr_continuous_free(world);
	cr_array_free(&world->memory, &world->bodies);
	cr_array_free(&world->memory, &world->free_bodies);
	cr_array_free(&world->memory, &world->free_ranges);
	cr_array_free(&world->memory, &world->plugin_meshes);
	cr_results_free(&world->memory, &world->results[0]);
	cr_results_free(&world->memory, &world->results[1]);
	cr_pipeline_free(&world->pipeline);
	cr_free(context, world, sizeof *world);
	atomic_fetch_sub(&context->live_objects, 1);
}

carom_context *carom_world_context(const carom_world *world) { return world->context; }

carom_contact_view carom_world_contacts(const carom_world *world)
{
	const cr_results *r = &world->results[world->current];
	return (carom_contact_view){ r->contacts.data, (int32_t)r->contacts.count };
}

carom_pair_view carom_world_pairs(const carom_world *world)
{
	const cr_results *r = &world->results[world->current];
	return (carom_pair_view){ r->pairs.data, (int32_t)r->pairs.count };
}

carom_event_view carom_world_events(const carom_world *world)
{
	const cr_results *r = &world->results[world->current];
	return (carom_event_view){ r->events.data, (int32_t)r->events.count };
}

carom_result carom_world_set_impulse(carom_world *world, int32_t contact, const float impulse[3])
{
	cr_results *r = &world->results[world->current];
	if (contact < 0 || contact >= r->contacts.count)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"carom_world_set_impulse: contact is %d, but there are %d contacts", contact, (int)r->contacts.count);
	if (!impulse)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_set_impulse: impulse is NULL");
	for (int k = 0; k < 3; k++) {
		if (!isfinite(impulse[k]))
			return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_set_impulse: impulse[%d] is not finite", k);
	}
	for (int k = 0; k < 3; k++)
		r->contacts.data[contact].impulse[k] = impulse[k];
	cr_record_set_impulse(world->recorder, contact, impulse);
	return CAROM_SUCCESS;
}

carom_result carom_world_set_pair_data(carom_world *world, int32_t pair, uint64_t user_data)
{
	cr_results *r = &world->results[world->current];
	if (pair < 0 || pair >= r->pairs.count)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_set_pair_data: pair is %d, but there are %d pairs",
			pair, (int)r->pairs.count);
	r->pairs.data[pair].user_data = user_data;
	cr_record_set_pair_data(world->recorder, pair, user_data);
	return CAROM_SUCCESS;
}

carom_impact_view carom_world_impacts(const carom_world *world)
{
	return (carom_impact_view){ world->impacts.found.data, world->impacts.found.count };
}

const carom_impact *carom_world_earliest_impact(const carom_world *world)
{
	return world->impacts.earliest < 0 ? NULL : &world->impacts.found.data[world->impacts.earliest];
}

uint64_t carom_world_hash(const carom_world *world)
{
	const uint64_t hash = cr_hash_impacts(&world->impacts, cr_results_hash(&world->results[world->current]));
	return cr_hash_body_impacts(&world->continuous, hash);
}

carom_stats carom_world_stats(const carom_world *world) { return world->stats; }

carom_group_stats carom_world_group_stats(const carom_world *world, int group)
{
	return group >= 0 && group < world->def.worker_groups ? world->pipeline.groups[group] : (carom_group_stats){ 0 };
}

carom_sweep_stats carom_world_sweep_stats(const carom_world *world) { return world->impacts.stats; }

void cr_world_forget(carom_world *world)
{
	cr_pipeline_forget(&world->pipeline);
	for (int64_t i = 0; i < world->bodies.count; i++)
		world->bodies.data[i].path = 0;
	cr_record_forget(world->recorder);
}
