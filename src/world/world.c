/// Worlds: making, destroying, views of results.

#include "world/snapshot.h"
#include "world/world.h"
#include "sweep/sweep_motion.h"
#include <string.h>

carom_result carom_create_world(carom_context *context, const carom_world_def *def, carom_world **world)
{
	static const char *const name = "carom_create_world";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!world)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: world is NULL", name);
	*world = NULL;
	const carom_world_def defaults = carom_default_world_def();
	def = def ? def : &defaults;
	if (def->cookie == CR_WORLD_COOKIE && def->lab && (def->lab->cookie != CR_LAB_COOKIE || !def->lab->tools))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: lab was not started from carom_default_lab", name);
	cr_settings settings = cr_join_settings(def);
	if (def->cookie == CR_WORLD_COOKIE && def->lab && !settings.world.sweep.lab)
		settings.world.sweep.lab = def->lab->tools->sweep;
	const carom_result result = cr_check_settings(context, &settings);
	return result == CAROM_SUCCESS ? cr_create_world(context, &settings, world) : result;
}

#ifdef CR_HAVE_VULKAN
static const cr_stages *choose_stages(int32_t devices) { return devices > 0 ? &cr_device_stages : &cr_cpu_stages; }

static carom_result check_device(carom_context *context, const char *function, carom_device *device)
{
	return cr_check_stage_device(context, function, device);
}
#else
static const cr_stages *choose_stages(int32_t devices)
{
	(void)devices; // there are none
	return &cr_cpu_stages;
}

static carom_result check_device(carom_context *context, const char *function, carom_device *device)
{
	(void)device;
	return cr_fail(context, CAROM_UNSUPPORTED, "%s: this library was built without Vulkan", function);
}
#endif

static bool has_device(const cr_pipeline *p, const carom_device *device)
{
	for (int32_t i = 0; i < p->device_count; i++) {
		if (p->devices[i] == device)
			return true;
	}
	return false;
}

static carom_result check_devices(carom_world *world, const char *name, carom_device *const *devices, int32_t count)
{
	const cr_pipeline *p = &world->pipeline;
	const carom_lab *lab = &p->settings.lab;
	const bool plain = lab->ray_method == CAROM_RAYS_WIDE && lab->stages == CAROM_STAGES_LISTS &&
		lab->ray_buffers == CAROM_BUFFERS_EXACT && (count < 2 || lab->worker_groups == 0);
	if (count < 0 || count > CAROM_MAX_DEVICES)
		return cr_fail(
			world->context, CAROM_INVALID_ARGUMENT, "%s: count is %d, not 0 to %d", name, (int)count, (int)CAROM_MAX_DEVICES);
	if (count > 0 && !devices)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: devices is NULL", name);
	if (count > 0 && !plain)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"%s: the world's lab has another ray_method, stages, ray_buffers or worker_groups than the default, for the "
			"processor alone",
			name);
	carom_result result = CAROM_SUCCESS;
	for (int32_t i = 0; i < count && result == CAROM_SUCCESS; i++) {
		if (!devices[i])
			return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: devices[%d] is NULL", name, (int)i);
		for (int32_t k = 0; k < i; k++) {
			if (devices[k] == devices[i])
				return cr_fail(
					world->context, CAROM_INVALID_ARGUMENT, "%s: devices[%d] is devices[%d] again", name, (int)i, (int)k);
		}
		if (!has_device(p, devices[i]))
			result = check_device(world->context, name, devices[i]);
	}
	return result;
}

static carom_result set_devices(carom_world *world, const char *name, carom_device *const *devices, int32_t count, bool fallback)
{
	cr_pipeline *p = &world->pipeline;
	carom_result result = cr_check_may_change(world, name);
	if (result == CAROM_SUCCESS)
		result = check_devices(world, name, devices, count);
	if (result != CAROM_SUCCESS)
		return result;
	p->device_fallback = fallback;
	bool moved = count != p->device_count;
	for (int32_t i = 0; i < count && !moved; i++)
		moved = devices[i] != p->devices[i];
	if (moved)
		cr_pipeline_move(p, choose_stages(count), devices, count);
	return CAROM_SUCCESS;
}

carom_result cr_check_may_change(const carom_world *world, const char *function)
{
	if (world->stepping)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: called from inside a step of the world", function);
	if (cr_is_writing(world->recorder))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: called from inside the write function", function);
	if (world->watched)
		return cr_fail(
			world->context, CAROM_INVALID_ARGUMENT, "%s: called from inside the watch function of a replay", function);
	if (cr_is_asking_filter(world))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: called from inside the filter of a query", function);
	return CAROM_SUCCESS;
}

carom_result carom_world_set_device(carom_world *world, carom_device *device, bool fallback)
{
	return world ? set_devices(world, "carom_world_set_device", &device, device != NULL, fallback) : CAROM_INVALID_ARGUMENT;
}

carom_result carom_world_set_devices(carom_world *world, carom_device *const *devices, int32_t count, bool fallback)
{
	return world ? set_devices(world, "carom_world_set_devices", devices, count, fallback) : CAROM_INVALID_ARGUMENT;
}

carom_result cr_create_world(carom_context *context, const cr_settings *settings, carom_world **world)
{
	carom_world *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "a world");
	made->context = context;
	made->def = settings->world;
	made->impacts.earliest = -1;
	made->first_generation = 1;
	cr_init_sleep(&made->sleep);
	cr_context_init_child(&made->memory, context, settings->world.memory_budget);
	carom_result result = cr_pipeline_init(&made->pipeline, &made->memory, settings, &cr_cpu_stages);
	if (result == CAROM_SUCCESS) {
		made->query_index = cr_box_index_create(&made->memory);
		if (!made->query_index) {
			cr_pipeline_free(&made->pipeline);
			result = cr_fail_memory(context, "a world");
		}
	}
	if (result != CAROM_SUCCESS) {
		result = cr_explain_failure(made, "carom_create_world", 0, result);
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
	if (cr_check_may_change(world, "carom_destroy_world") != CAROM_SUCCESS) {
		cr_log(context, CAROM_LOG_ERROR, "carom_destroy_world: called from inside a function that the world calls");
		return;
	}
	cr_recorder_destroy(world->recorder);
	cr_box_index_destroy(world->query_index);
	cr_orphan_snapshots(world);
	// The laboratory first: its data for meshes may point into these.
	if (world->pipeline.lab)
		world->pipeline.settings.lab.tools->close(&world->pipeline);
	for (int64_t i = 0; i < world->bodies.count; i++) {
		if (!world->bodies.data[i].alive)
			continue;
		cr_deforming_free(world, cr_deforming_of(&world->bodies.data[i]));
		cr_free_granular(&world->memory, cr_granular_of(&world->bodies.data[i]));
		cr_release_compound(&world->memory, cr_compound_of(&world->bodies.data[i]));
		cr_shape_free(&world->bodies.data[i].shape);
	}
	cr_free_box_meshes(&world->memory, &world->box_meshes);
	cr_impacts_free(&world->memory, &world->impacts);
	cr_continuous_free(world);
	cr_shape_impacts_free(&world->memory, &world->shape_impacts);
	cr_surface_contacts_free(&world->memory, &world->surface_contacts);
	cr_free_sphere_contacts(&world->memory, &world->sphere_contacts);
	cr_free_sphere_impacts(&world->memory, &world->sphere_impacts);
	cr_free_sphere_meetings(&world->memory, &world->meeting_spheres);
	cr_array_free(&world->memory, &world->bodies);
	cr_array_free(&world->memory, &world->changes.words);
	cr_free_sleep(&world->memory, &world->sleep);
	cr_array_free(&world->memory, &world->free_bodies);
	cr_array_free(&world->memory, &world->free_ranges);
	cr_free_courses(&world->memory, &world->courses);
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

carom_body_pair_view carom_world_body_pairs(const carom_world *world)
{
	const cr_results *r = &world->results[world->current];
	return (carom_body_pair_view){ r->body_pairs.data, (int32_t)r->body_pairs.count };
}

carom_body_event_view carom_world_body_events(const carom_world *world)
{
	const cr_results *r = &world->results[world->current];
	return (carom_body_event_view){ r->body_events.data, (int32_t)r->body_events.count };
}

// ---- Numbers handed back ----

/// A list of contacts that keep impulses.
typedef struct impulse_list {
	cr_impulse_list kind;
	char *first; // impulse of the first contact
	size_t stride;
	int64_t count;
} impulse_list;

static impulse_list list_of(carom_world *world, cr_impulse_list kind)
{
	cr_surface_contacts *s = &world->surface_contacts;
	cr_results *r = &world->results[world->current];
#define LIST(list) \
	(impulse_list) { kind, (list)->count > 0 ? (char *)(list)->data->impulse : NULL, sizeof *(list)->data, (list)->count }
	switch (kind) {
	case CR_IMPULSE_OF_SURFACE: return LIST(&s->found);
	case CR_IMPULSE_OF_SURFACE_SHAPE: return LIST(&s->found_shapes);
	case CR_IMPULSE_OF_SPHERE: return LIST(&world->sphere_contacts.found.contacts);
	default: return LIST(&r->contacts);
	}
#undef LIST
}

static void put_impulse(carom_world *world, const impulse_list *list, int64_t contact, const float impulse[3])
{
	memcpy(list->first + (size_t)contact * list->stride, impulse, 3 * sizeof *impulse);
	cr_record_set_impulse(world->recorder, list->kind, (int32_t)contact, impulse);
}

static carom_result set_impulse(
	carom_world *world, const char *name, cr_impulse_list kind, int64_t contact, const float impulse[3])
{
	const carom_result result = cr_check_may_change(world, name);
	if (result != CAROM_SUCCESS)
		return result;
	const impulse_list list = list_of(world, kind);
	if (contact < 0 || contact >= list.count)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: contact is %lld, but there are %lld contacts", name,
			(long long)contact, (long long)list.count);
	if (!impulse)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: impulse is NULL", name);
	for (int k = 0; k < 3; k++) {
		if (!isfinite(impulse[k]))
			return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: impulse[%d] is not finite", name, k);
	}
	put_impulse(world, &list, contact, impulse);
	return CAROM_SUCCESS;
}

/// Those of all contacts of a list, in order.
static carom_result set_impulses(
	carom_world *world, const char *name, cr_impulse_list kind, int64_t count, const float *impulses)
{
	const carom_result result = cr_check_may_change(world, name);
	if (result != CAROM_SUCCESS)
		return result;
	const impulse_list list = list_of(world, kind);
	if (count != list.count)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: count is %lld, but there are %lld contacts", name,
			(long long)count, (long long)list.count);
	if (!impulses && count > 0)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: impulses is NULL", name);
	for (int64_t i = 0; i < 3 * count; i++) {
		if (!isfinite(impulses[i]))
			return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: impulses[%lld], of contact %lld, is not finite", name,
				(long long)i, (long long)(i / 3));
	}
	for (int64_t i = 0; i < count; i++)
		put_impulse(world, &list, i, impulses + 3 * i);
	return CAROM_SUCCESS;
}

carom_result carom_world_set_impulse(carom_world *world, int32_t contact, const float impulse[3])
{
	return set_impulse(world, "carom_world_set_impulse", CR_IMPULSE_OF_CONTACT, contact, impulse);
}

carom_result carom_world_set_surface_impulse(carom_world *world, int64_t contact, const float impulse[3])
{
	return set_impulse(world, "carom_world_set_surface_impulse", CR_IMPULSE_OF_SURFACE, contact, impulse);
}

carom_result carom_world_set_surface_shape_impulse(carom_world *world, int64_t contact, const float impulse[3])
{
	return set_impulse(world, "carom_world_set_surface_shape_impulse", CR_IMPULSE_OF_SURFACE_SHAPE, contact, impulse);
}

carom_result carom_world_set_sphere_impulse(carom_world *world, int64_t contact, const float impulse[3])
{
	return set_impulse(world, "carom_world_set_sphere_impulse", CR_IMPULSE_OF_SPHERE, contact, impulse);
}

carom_result carom_world_set_impulses(carom_world *world, int64_t count, const float *impulses)
{
	return set_impulses(world, "carom_world_set_impulses", CR_IMPULSE_OF_CONTACT, count, impulses);
}

carom_result carom_world_set_surface_impulses(carom_world *world, int64_t count, const float *impulses)
{
	return set_impulses(world, "carom_world_set_surface_impulses", CR_IMPULSE_OF_SURFACE, count, impulses);
}

carom_result carom_world_set_surface_shape_impulses(carom_world *world, int64_t count, const float *impulses)
{
	return set_impulses(world, "carom_world_set_surface_shape_impulses", CR_IMPULSE_OF_SURFACE_SHAPE, count, impulses);
}

carom_result carom_world_set_sphere_impulses(carom_world *world, int64_t count, const float *impulses)
{
	return set_impulses(world, "carom_world_set_sphere_impulses", CR_IMPULSE_OF_SPHERE, count, impulses);
}

carom_result carom_world_set_pair_data(carom_world *world, int32_t pair, uint64_t user_data)
{
	const carom_result result = cr_check_may_change(world, "carom_world_set_pair_data");
	if (result != CAROM_SUCCESS)
		return result;
	cr_results *r = &world->results[world->current];
	if (pair < 0 || pair >= r->pairs.count)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_set_pair_data: pair is %d, but there are %d pairs",
			pair, (int)r->pairs.count);
	r->pairs.data[pair].user_data = user_data;
	cr_record_set_pair_data(world->recorder, pair, user_data);
	return CAROM_SUCCESS;
}

carom_result carom_world_set_body_pairs(carom_world *world, bool listed, int32_t max_contacts)
{
	const carom_result result = cr_check_may_change(world, "carom_world_set_body_pairs");
	if (result != CAROM_SUCCESS)
		return result;
	if (max_contacts < 0 || max_contacts > 256)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"carom_world_set_body_pairs: max_contacts is %d; it must be 0 to 256", (int)max_contacts);
	// Pairs at rest keep those that the old limit chose.
	if (max_contacts != world->pipeline.settings.max_contacts_per_body_pair)
		cr_pipeline_forget_rests(&world->pipeline);
	world->pipeline.settings.body_pairs = listed;
	world->pipeline.settings.max_contacts_per_body_pair = max_contacts;
	cr_record_set_body_pairs(world->recorder, listed, max_contacts);
	return CAROM_SUCCESS;
}

carom_result carom_world_set_body_pair_data(carom_world *world, int32_t pair, uint64_t user_data)
{
	const carom_result result = cr_check_may_change(world, "carom_world_set_body_pair_data");
	if (result != CAROM_SUCCESS)
		return result;
	cr_results *r = &world->results[world->current];
	if (pair < 0 || pair >= r->body_pairs.count)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"carom_world_set_body_pair_data: pair is %d, but there are %d pairs of bodies%s", pair, (int)r->body_pairs.count,
			world->pipeline.settings.body_pairs ? "" : ": carom_world_set_body_pairs lists them");
	r->body_pairs.data[pair].user_data = user_data;
	cr_record_set_body_pair_data(world->recorder, pair, user_data);
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

carom_surface_contact_view carom_world_surface_contacts(const carom_world *world)
{
	return (carom_surface_contact_view){ world->surface_contacts.found.data, world->surface_contacts.found.count };
}

carom_surface_shape_contact_view carom_world_surface_shape_contacts(const carom_world *world)
{
	return (carom_surface_shape_contact_view){ world->surface_contacts.found_shapes.data,
		world->surface_contacts.found_shapes.count };
}

carom_sphere_contact_view carom_world_sphere_contacts(const carom_world *world)
{
	const cr_sphere_results *found = &world->sphere_contacts.found;
	return (carom_sphere_contact_view){ found->contacts.data, found->contacts.count, found->by_pair.data };
}

carom_sphere_pair_view carom_world_sphere_pairs(const carom_world *world)
{
	const cr_sphere_results *found = &world->sphere_contacts.found;
	return (carom_sphere_pair_view){ found->groups.data, found->groups.count, found->pairs.data, found->pairs.count };
}

carom_shape_impact_view carom_world_shape_impacts(const carom_world *world)
{
	return (carom_shape_impact_view){ world->shape_impacts.found.data, world->shape_impacts.found.count };
}

const carom_shape_impact *carom_world_earliest_shape_impact(const carom_world *world)
{
	const carom_shape_impact_view view = carom_world_shape_impacts(world);
	const carom_shape_impact *earliest = NULL;
	for (int64_t i = 0; i < view.count; i++) {
		if (!earliest || view.data[i].time < earliest->time)
			earliest = &view.data[i];
	}
	return earliest;
}

uint64_t carom_world_hash(const carom_world *world)
{
	const uint64_t hash = cr_hash_impacts(&world->impacts, cr_results_hash(&world->results[world->current]));
	const uint64_t with_shapes = cr_hash_shape_impacts(&world->shape_impacts, cr_hash_body_impacts(&world->continuous, hash));
	const uint64_t with_surfaces = cr_hash_surface_contacts(&world->surface_contacts, with_shapes);
	return cr_hash_sphere_contacts(&world->sphere_contacts, with_surfaces);
}

carom_stats carom_world_stats(const carom_world *world) { return world->stats; }

carom_sweep_stats carom_world_sweep_stats(const carom_world *world) { return world->impacts.stats; }

void cr_forget_ways(carom_world *world)
{
	for (int64_t i = 0; i < world->bodies.count; i++) {
		cr_body *body = &world->bodies.data[i];
		body->path = 0;
		if (!body->alive || !cr_deforming_of(body))
			continue;
		body->stir = 0;
		cr_parts_forget(&cr_deforming_of(body)->surface.parts);
	}
}

void cr_world_forget(carom_world *world)
{
	cr_pipeline_forget(&world->pipeline);
	cr_forget_clearances(world);
	// A replay has no pairs of spheres from before, and asks the filter about them.
	world->sphere_contacts.stale = true;
	for (int64_t i = 0; i < world->bodies.count; i++)
		world->bodies.data[i].path = 0;
	cr_record_forget(world->recorder);
}
