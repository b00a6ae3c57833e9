/// Giving back the memory that a world does not need any more (carom_world_trim).
///
/// Memory that is of use within a step alone is freed, and trees and scenes that follow from the
/// bodies: the next step makes them again. All that a step hands on to the next stays, in arrays
/// that fit: bodies, results, and the memory of pairs. That is copied out, and laid into lists that
/// hold nothing else. A copy for which there is no memory is not made, so nothing can fail.
///
/// Numbers of bodies behind the last one are given up. Numbers that are given out there later begin
/// with a generation that no id had (carom_world.first_generation), so the ids of removed bodies
/// stay void. The free numbers that are left are given out lowest first. Cost: O(all that is left).

#include "world/pair_copy.h"
#include "world/trim.h"

// ---- Numbers ----

// In cr_body.part of a number that is free, while free numbers are sorted: a body keeps it.
enum { KEPT = -2 };

/// Set the part of the dead numbers that bodies keep for parts to come.
static void mark_kept_numbers(carom_world *world, int32_t part)
{
	for (int64_t i = 0; i < world->bodies.count; i++) {
		cr_body *first = &world->bodies.data[i];
		for (int32_t k = cr_part_count(first); first->alive && first->part == 0 && k < cr_number_count(first); k++)
			first[k].part = part;
	}
}

/// Let free numbers below the end of all be given out lowest first, and those behind it not at all.
static void sort_free_numbers(carom_world *world)
{
	const int64_t count = world->bodies.count;
	int64_t range = world->free_ranges.count;
	while (range > 0 && world->free_ranges.data[range - 1].first >= count)
		range--;
	world->free_ranges.count = range;
	world->free_bodies.count = 0;
	for (int64_t i = count - 1; i >= 0; i--) {
		if (world->bodies.data[i].alive || world->bodies.data[i].part == KEPT)
			continue;
		while (range > 0 && world->free_ranges.data[range - 1].first > i)
			range--;
		const cr_range *r = range > 0 ? &world->free_ranges.data[range - 1] : NULL;
		if (!r || i >= r->first + r->count)
			world->free_bodies.data[world->free_bodies.count++] = (int32_t)i;
	}
}

void cr_trim_numbers(carom_world *world)
{
	int64_t count = world->bodies.count;
	mark_kept_numbers(world, KEPT);
	for (; count > 0 && !world->bodies.data[count - 1].alive && world->bodies.data[count - 1].part != KEPT; count--) {
		const uint32_t generation = world->bodies.data[count - 1].generation;
		if (generation > world->first_generation)
			world->first_generation = generation;
	}
	world->bodies.count = count;
	sort_free_numbers(world);
	mark_kept_numbers(world, 0);
}

// ---- Memory ----

/// Let the arrays that views show fit their content.
static void trim_views(carom_world *world)
{
	carom_context *memory = &world->memory;
	cr_results *r = &world->results[world->current];
	cr_array_trim(memory, &r->contacts, 0);
	cr_array_trim(memory, &r->local, 0);
	cr_array_trim(memory, &r->pairs, 0);
	cr_array_trim(memory, &r->events, 0);
	cr_array_trim(memory, &r->body_pairs, 0);
	cr_array_trim(memory, &r->body_events, 0);
	cr_array_trim(memory, &world->impacts.found, 0);
	cr_array_trim(memory, &world->continuous.found, 0);
	cr_array_trim(memory, &world->shape_impacts.found, 0);
	cr_surface_contacts *surfaces = &world->surface_contacts;
	cr_array_trim(memory, &surfaces->found, 0);
	cr_array_trim(memory, &surfaces->found_shapes, 0);
	cr_array_trim(memory, &surfaces->carried, 0);
	cr_array_trim(memory, &surfaces->carried_shapes, 0);
	cr_sphere_results *spheres = &world->sphere_contacts.found;
	cr_array_trim(memory, &spheres->contacts, 0);
	cr_array_trim(memory, &spheres->by_pair, 0);
	cr_array_trim(memory, &spheres->groups, 0);
	cr_array_trim(memory, &spheres->pairs, 0);
}

/// Lay the memory of pairs into lists of its own. Where there is no memory for that it stays where
/// it is.
static void repack_pairs(carom_world *world)
{
	cr_pipeline *p = &world->pipeline;
	cr_temporal *t = &p->temporal;
	cr_pair_copy copy = { 0 };
	cr_kept_tails tails = { 0 };
	const cr_copy_source source = { p, world->bodies.data, world->bodies.count };
	// The user's context pays for the copy: it is gone when the call ends.
	if (cr_reserve_pair_copy(world->context, &source, &copy)) {
		cr_fill_pair_copy(&source, &copy);
		if (cr_reserve_for_pairs(p, &copy) && cr_lay_pairs(p, &copy, &tails))
			cr_adopt_pairs(p, &copy, tails);
	}
	cr_free_pair_copy(world->context, &copy);
	cr_kept_free(&p->memories[1 - p->keeping]);
	cr_frame_trim(&p->frame);
	cr_array_trim(p->context, &t->slots, 0);
	cr_array_trim(p->context, &t->pairs, 0);
	cr_array_trim(p->context, &t->slot, 0);
	cr_array_trim(p->context, &t->free, 0);
	cr_array_trim(p->context, &t->next_slot, 0);
}

/// Has a body several numbers, for parts that it has or may get? They become a free range with it.
static bool keeps_ranges(const carom_world *world)
{
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		if (body->alive && body->part == 0 && cr_number_count(body) > 1)
			return true;
	}
	return false;
}

/// views_end: the places of spheres may move, too.
static void trim_bodies(carom_world *world, bool views_end)
{
	carom_context *memory = &world->memory;
	const int64_t count = world->bodies.count;
	for (int64_t i = 0; views_end && i < count; i++) {
		if (world->bodies.data[i].alive && cr_granular_of(&world->bodies.data[i]))
			cr_trim_granular(memory, cr_granular_of(&world->bodies.data[i]), world->bodies.data[i].continuous);
	}
	cr_array_trim(memory, &world->bodies, 0);
	// To remove a body never fails (cr_reserve_numbers).
	cr_array_trim(memory, &world->free_bodies, count);
	cr_array_trim(memory, &world->free_ranges, keeps_ranges(world) ? (count + 1) / 2 : 0);
	if (world->courses.used == world->courses.spare_count)
		cr_reset_courses(memory, &world->courses, count);
	cr_array_trim(memory, &world->courses.blocks, 0);
	cr_trim_box_meshes(memory, &world->box_meshes);
}

void cr_trim_memory_of(carom_world *world, bool views_end)
{
	carom_context *memory = &world->memory;
	// First all that is freed, so that there is room for the copies.
	cr_pipeline_trim(&world->pipeline);
	cr_box_index_trim(world->query_index);
	cr_results_free(memory, &world->results[1 - world->current]);
	cr_trim_impacts(memory, &world->impacts);
	cr_trim_body_impacts(world);
	cr_trim_shape_impacts(memory, &world->shape_impacts);
	cr_trim_surface_contacts(memory, &world->surface_contacts);
	cr_trim_sphere_contacts(memory, &world->sphere_contacts);
	cr_free_sphere_impacts(memory, &world->sphere_impacts);
	cr_free_sphere_meetings(memory, &world->meeting_spheres);
	cr_trim_sleep(memory, &world->sleep);
	if (views_end)
		trim_views(world);
	trim_bodies(world, views_end);
	repack_pairs(world);
	cr_add_all_changes(&world->changes, world->bodies.count); // the trees are made again
}

bool cr_relieve(carom_world *world, const char *function, unsigned refusals, carom_result result, bool views_end)
{
	if (result != CAROM_OUT_OF_MEMORY || cr_count_refusals(world) == refusals)
		return false;
	const size_t before = carom_memory_in_use(&world->memory);
	cr_trim_memory_of(world, views_end);
	const size_t after = carom_memory_in_use(&world->memory);
	if (after < before)
		cr_log(world->context, CAROM_LOG_INFO,
			"%s: memory_budget had no room; %zu of %zu bytes were given back for another try", function, before - after, before);
	return after < before;
}

carom_result carom_world_trim(carom_world *world)
{
	const carom_result result = cr_check_may_change(world, "carom_world_trim");
	if (result != CAROM_SUCCESS)
		return result;
	cr_trim_numbers(world);
	cr_trim_memory_of(world, true);
	world->stats.memory = carom_memory_in_use(&world->memory);
	cr_record_trim(world->recorder);
	return CAROM_SUCCESS;
}
