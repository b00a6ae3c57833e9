/// Worlds: making, destroying, views of results.

#include "world/world.h"

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
	};
}

static carom_result check_def(carom_context *context, const carom_world_def *def)
{
	static const char *const name = "carom_create_world";
	if (def->cookie != CR_WORLD_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: def was not started from carom_default_world_def", name);
	if ((int)def->broad_phase < CAROM_BROAD_TREE || def->broad_phase > CAROM_BROAD_BRUTE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: broad_phase is %d, which is none", name, (int)def->broad_phase);
	if ((int)def->ray_method < CAROM_RAYS_WIDE || def->ray_method > CAROM_RAYS_PLUGIN)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: ray_method is %d, which is none", name, (int)def->ray_method);
	const carom_ray_plugin *plugin = def->ray_plugin;
	if (def->ray_method == CAROM_RAYS_PLUGIN && (!plugin || !plugin->build || !plugin->cast || !plugin->destroy))
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: ray_method is CAROM_RAYS_PLUGIN, but ray_plugin is NULL or lacks a function", name);
	if (def->max_contacts_per_pair < 0 || def->max_contacts_per_pair > 256)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: max_contacts_per_pair is %d; it must be 0 to 256", name,
			def->max_contacts_per_pair);
	if (!(def->max_depth_ratio == 0 || (def->max_depth_ratio >= 1 && def->max_depth_ratio <= CAROM_MAX_COORDINATE)))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: max_depth_ratio is %g; it must be 0 or at least 1", name,
			def->max_depth_ratio);
	if (!(def->speculative_distance >= 0 && def->speculative_distance <= CAROM_MAX_COORDINATE))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: speculative_distance is %g; it must be at least 0 and finite",
			name, def->speculative_distance);
	if (!(def->match_distance >= 0 && def->match_distance <= CAROM_MAX_COORDINATE))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: match_distance is %g; it must be at least 0 and finite", name,
			def->match_distance);
	return CAROM_SUCCESS;
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
	cr_context_init_child(&made->memory, context, def->memory_budget);
	result = cr_pipeline_init(&made->pipeline, &made->memory, def);
	if (result != CAROM_SUCCESS) {
		cr_free(context, made, sizeof *made);
		return result;
	}
	made->query_index = cr_query_index_create(&made->memory);
	if (!made->query_index) {
		cr_pipeline_free(&made->pipeline);
		cr_free(context, made, sizeof *made);
		return cr_fail_memory(context, "a world");
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
	// The plugin's states first: they may point into the meshes.
	for (int64_t i = 0; i < world->plugin_meshes.count; i++)
		world->def.ray_plugin->destroy(world->plugin_meshes.data[i].state, world->def.ray_plugin->user);
	for (int64_t i = 0; i < world->bodies.count; i++) {
		if (world->bodies.data[i].alive)
			cr_shape_free(&world->bodies.data[i].shape);
	}
	cr_array_free(&world->memory, &world->bodies);
	cr_array_free(&world->memory, &world->free_bodies);
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

uint64_t carom_world_hash(const carom_world *world) { return cr_results_hash(&world->results[world->current]); }

carom_stats carom_world_stats(const carom_world *world) { return world->stats; }
