/// One step: run the pipeline, find impacts, surface contacts and the contacts of spheres, merge
/// all pairs into the spare set of results, and only then make all of it current.

#include "base/time.h"
#include "world/trim.h"

bool cr_ask_pair_filter(carom_world *world, int32_t a, int32_t b)
{
	const cr_body *bodies = world->bodies.data;
	const bool keep = world->def.pair_filter(
		cr_id_of(bodies, a), cr_id_of(bodies, b), bodies[a].user_data, bodies[b].user_data, world->def.filter_user);
	if (!keep)
		cr_record_rejection(world->recorder, cr_first_part(bodies, a), cr_first_part(bodies, b));
	return keep;
}

bool cr_pair_filter_passes(carom_world *world, int32_t part, int32_t other)
{
	return !world->def.pair_filter || cr_ask_pair_filter(world, part < other ? part : other, part < other ? other : part);
}

static bool ask_filter(void *user, int32_t a, int32_t b) { return cr_ask_pair_filter(user, a, b); }

bool cr_ask_contact_filter(carom_world *world, int32_t a, int32_t b, const carom_contact *contact)
{
	const cr_body *bodies = world->bodies.data;
	const bool keep = world->def.contact_filter(contact, bodies[a].user_data, bodies[b].user_data, world->def.filter_user);
	if (!keep)
		cr_record_drop(world->recorder, a, b, contact->pair);
	return keep;
}

bool cr_ask_sphere_filter(carom_world *world, int32_t grains, int32_t part, int32_t sphere, const carom_contact *contact)
{
	const cr_body *bodies = world->bodies.data;
	const int32_t a = grains < part ? grains : part, b = grains < part ? part : grains;
	const bool keep = world->def.contact_filter(contact, bodies[a].user_data, bodies[b].user_data, world->def.filter_user);
	if (!keep)
		cr_record_sphere_drop(world->recorder, &(cr_sphere_drop){ (uint64_t)a << 32 | (uint32_t)b, sphere, contact->pair });
	return keep;
}

static bool ask_contact_filter(void *user, int32_t a, int32_t b, const carom_contact *contact)
{
	return cr_ask_contact_filter(user, a, b, contact);
}

/// Pairs that touch, those of surfaces and of granular bodies among them.
static int32_t count_touching(const cr_results *r, const cr_found_pair *found)
{
	int32_t count = 0;
	for (int64_t i = 0; i < r->pairs.count; i++) {
		const carom_pair *pair = &r->pairs.data[i];
		// Without contacts: of sensors, surfaces and granular bodies.
		bool touching = found[i].reduced ? found[i].touches : pair->contact_count == 0;
		for (int32_t k = 0; k < pair->contact_count && !touching; k++)
			touching = r->contacts.data[pair->first_contact + k].depth >= 0;
		count += touching;
	}
	return count;
}

static void finish_stats(const carom_world *world, const cr_results *now, carom_stats *stats)
{
	stats->step++;
	stats->bodies = world->body_count;
	stats->contacts = (int32_t)now->contacts.count;
	stats->impacts = world->impacts.found.count;
	stats->body_impacts = (int32_t)world->continuous.found.count;
	stats->toi_tests = world->continuous.tests;
	stats->shape_impacts = world->shape_impacts.found.count;
	stats->shape_toi_tests = world->shape_impacts.tests;
	stats->surface_contacts = world->surface_contacts.found.count + world->surface_contacts.found_shapes.count;
	stats->sphere_contacts = world->sphere_contacts.found.contacts.count;
	stats->sphere_pairs = world->sphere_contacts.found.pairs.count;
	stats->surface_pairs = (int32_t)world->surface_contacts.pairs.count;
	stats->granular_pairs = (int32_t)world->sphere_contacts.pairs.count;
	stats->colliding_pairs = count_touching(now, world->pipeline.found.data) - stats->surface_pairs - stats->granular_pairs;
	for (int64_t i = 0; i < now->pairs.count; i++)
		stats->contacts_found += now->pairs.data[i].found_count;
	stats->memory = carom_memory_in_use(&world->memory);
	stats->memory_peak = carom_memory_peak(&world->memory);
}

unsigned cr_count_refusals(const carom_world *world) { return atomic_load(&world->memory.refusals); }

carom_result cr_explain_failure(const carom_world *world, const char *function, unsigned refusals, carom_result result)
{
	return cr_explain_refusal((carom_context *)&world->memory, function, refusals, result);
}

static void finish_body(cr_body *body)
{
	body->changed = false;
	body->refiltered = false;
	body->reshaped = CR_SHAPE_KEPT;
	if (!body->moved)
		return;
	body->moved = false;
	body->course = NULL;
	body->stir = 0;
	if (cr_deforming_of(body)) {
		cr_surface_rest(&cr_deforming_of(body)->surface);
		cr_deforming_of(body)->surface.parts.turning = false;
	}
	if (cr_granular_of(body)) {
		cr_granular_of(body)->way = CR_WAY_NONE;
		cr_granular_of(body)->was.count = 0;
	}
}

/// Let the bodies that have changed be as the next step finds them.
static void finish_bodies(carom_world *world)
{
	const int64_t count = world->bodies.count;
	for (int64_t i = cr_next_change(&world->changes, 0, count); i < count; i = cr_next_change(&world->changes, i + 1, count))
		finish_body(&world->bodies.data[i]);
	cr_clear_changes(&world->changes);
}

/// Fill the results of the step, which has succeeded, with solids as contacts see them.
static void finish_merge(carom_world *world, cr_merging *merging, carom_stats *stats)
{
	const double start = cr_time_ms();
	if (world->pipeline.has_solids)
		cr_show_solids(world);
	cr_end_merge(merging);
	cr_number_surface_contacts(&world->surface_contacts);
	cr_number_sphere_contacts(world);
	if (world->pipeline.has_solids)
		cr_hide_solids(world);
	stats->ms_merge += cr_time_ms() - start;
}

/// Tell the pipeline whom it asks in this step, and show it the solids.
static void prepare_pipeline(carom_world *world)
{
	cr_pipeline *p = &world->pipeline;
	p->broad->verdict = world->def.pair_filter ? ask_filter : NULL;
	p->broad->verdict_user = world;
	p->keep_contact = world->def.contact_filter ? ask_contact_filter : NULL;
	p->keep_contact_user = world;
	p->changes = &world->changes;
	p->make_mesh = cr_make_body_mesh;
	p->make_forms = cr_make_forms;
	p->make_facets = cr_make_form_facets;
	p->make_mesh_user = world;
	p->has_solids = cr_show_solids(world);
	// It stays so: contacts that were turned at seams may still be shown.
	p->has_parts = p->has_parts || world->shape_count > world->body_count;
}

static carom_result find_all_impacts(carom_world *world)
{
	carom_result result = cr_find_body_impacts(world);
	if (result == CAROM_SUCCESS)
		result = cr_find_sphere_impacts(world);
	if (result == CAROM_SUCCESS)
		result = cr_find_shape_impacts(world);
	if (result == CAROM_SUCCESS)
		result = cr_find_impacts(world);
	return result;
}

/// All that may fail, with the times that each part took.
static carom_result find_all(carom_world *world, cr_merging *merging, carom_stats *stats)
{
	carom_result result = cr_pipeline_run(&world->pipeline, world->bodies.data, (int32_t)world->bodies.count, stats);
	cr_hide_solids(world);
	const double sweep_start = cr_time_ms();
	if (result == CAROM_SUCCESS)
		result = find_all_impacts(world);
	const double surface_start = cr_time_ms();
	if (result == CAROM_SUCCESS)
		result = cr_find_surface_contacts(world);
	const double sphere_start = cr_time_ms();
	if (result == CAROM_SUCCESS)
		result = cr_find_sphere_contacts(world);
	const double merge_start = cr_time_ms();
	const cr_further_lists further = { &world->surface_contacts.pairs, &world->sphere_contacts.pairs };
	if (result == CAROM_SUCCESS)
		result = cr_plan_sleep(world);
	if (result == CAROM_SUCCESS)
		result =
			cr_begin_merge(&world->pipeline, &further, cr_results_before(world), &world->results[1 - world->current], merging);
	stats->ms_sweep = surface_start - sweep_start;
	stats->ms_surface = sphere_start - surface_start;
	stats->ms_spheres = merge_start - sphere_start;
	stats->ms_merge += cr_time_ms() - merge_start;
	return result;
}

/// Let the bodies that have changed be as the failed step found them.
static void turn_bodies_back(carom_world *world)
{
	const int64_t count = world->bodies.count;
	for (int64_t i = cr_next_change(&world->changes, 0, count); i < count; i = cr_next_change(&world->changes, i + 1, count)) {
		cr_body *body = &world->bodies.data[i];
		if (body->alive && cr_deforming_of(body))
			cr_parts_turn_back(&cr_deforming_of(body)->surface.parts);
	}
}

/// All of a step that may fail. On failure results are those of the last step.
static carom_result try_step(carom_world *world, cr_merging *merging, carom_stats *stats)
{
	*stats = (carom_stats){ .step = world->stats.step, .scratch_peak = world->stats.scratch_peak };
	world->stepping = true;
	prepare_pipeline(world);
	cr_record_begin_step(world->recorder);
	const carom_result result = find_all(world, merging, stats);
	world->stepping = false;
	// The memory of pairs may be of two steps: the next one works all out in full.
	if (result != CAROM_SUCCESS) {
		turn_bodies_back(world);
		cr_world_forget(world);
	}
	return result;
}

carom_result carom_world_step(carom_world *world)
{
	static const char *const name = "carom_world_step";
	const double start = cr_time_ms();
	const unsigned refusals = cr_count_refusals(world);
	carom_result result = cr_check_may_change(world, name);
	if (result != CAROM_SUCCESS)
		return result;
	carom_stats stats;
	cr_merging merging;
	result = try_step(world, &merging, &stats);
	if (cr_relieve(world, name, refusals, result, true))
		result = try_step(world, &merging, &stats);
	if (result != CAROM_SUCCESS)
		return cr_explain_failure(world, name, refusals, result);

	finish_merge(world, &merging, &stats);
	cr_finish_sleep(world);
	finish_bodies(world);
	cr_reset_courses(&world->memory, &world->courses, world->bodies.count);
	world->current = 1 - world->current;
	cr_take_body_impacts(&world->continuous);
	cr_take_shape_impacts(&world->shape_impacts);
	cr_take_impacts(world);
	cr_take_surface_contacts(&world->surface_contacts);
	cr_take_sphere_contacts(&world->sphere_contacts);
	finish_stats(world, &world->results[world->current], &stats);
	stats.ms_total = cr_time_ms() - start;
	world->stats = stats;
	if (world->recorder)
		cr_record_step(world->recorder, carom_world_hash(world));
	return CAROM_SUCCESS;
}
