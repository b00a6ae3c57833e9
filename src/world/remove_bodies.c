/// Removing bodies, one or many in one call.
///
/// Many are checked first. A body that passed is marked by taking its life, so an id that comes a
/// second time finds no body; a failure gives all of them back. Then nothing can fail. Numbers of
/// bodies of one part go to the list of free ones in the order of the ids. Numbers of bodies of
/// more parts go to the sorted ranges one by one while they are few. Where they are many, a pass
/// over all numbers makes the ranges again, so that the cost stays linear: O(parts removed +
/// numbers of the world).

#include "world/world.h"

static const char *const many_name = "carom_world_remove_bodies";

// More bodies of several parts than that: the ranges are made again.
enum { FEW_RANGES = 32 };

static void remove_checked(carom_world *world, carom_body_id id)
{
	cr_body *body = &world->bodies.data[id.index1 - 1];
	const int32_t count = cr_part_count(body);
	cr_count_body(world, body, -1);
	for (int32_t i = 0; i < count; i++)
		cr_end_part(world, &body[i]);
	cr_note_boxes(world, body, count);
	cr_record_remove_body(world->recorder, id);
}

carom_result carom_world_remove_body(carom_world *world, carom_body_id id)
{
	cr_body *body;
	const carom_result result = cr_find_body(world, id, "carom_world_remove_body", &body);
	if (result != CAROM_SUCCESS)
		return result;
	const int32_t count = cr_part_count(body), numbers = cr_number_count(body);
	remove_checked(world, id);
	for (int32_t i = 0; i < count; i++)
		cr_drop_carried(&world->surface_contacts, (int32_t)(id.index1 - 1) + i);
	cr_free_numbers(world, (int32_t)(id.index1 - 1), numbers);
	return CAROM_SUCCESS;
}

// ---- Many ----

/// Set whether the first bodies of a list live.
static void set_alive(carom_world *world, int count, const carom_body_id *ids, bool alive)
{
	for (int i = 0; i < count; i++)
		world->bodies.data[ids[i].index1 - 1].alive = alive;
}

/// Tell why ids[i] names no body, or one that was named before. All bodies live.
static carom_result refuse(const carom_world *world, int i, const carom_body_id *ids)
{
	for (int k = 0; k < i; k++) {
		if (ids[k].index1 == ids[i].index1 && ids[k].generation == ids[i].generation)
			return cr_fail(world->context, CAROM_INVALID_BODY, "%s: ids[%d] names the body of ids[%d] again", many_name, i, k);
	}
	return cr_refuse_id(world, many_name, i, ids);
}

/// Check that each id names a body, and none twice. *compounds: how many have several numbers.
static carom_result check_ids(carom_world *world, int count, const carom_body_id *ids, int *compounds)
{
	int good = 0;
	*compounds = 0;
	while (good < count && carom_world_is_body(world, ids[good])) {
		cr_body *body = &world->bodies.data[ids[good++].index1 - 1];
		*compounds += cr_number_count(body) > 1;
		body->alive = false;
	}
	set_alive(world, good, ids, true);
	return good == count ? CAROM_SUCCESS : refuse(world, good, ids);
}

carom_result carom_world_remove_bodies(carom_world *world, int count, const carom_body_id *ids)
{
	carom_result result = cr_check_may_change(world, many_name);
	if (result == CAROM_SUCCESS)
		result = cr_check_ids(world, many_name, count, ids, ids, "ids");
	if (result != CAROM_SUCCESS)
		return result;
	int compounds;
	result = check_ids(world, count, ids, &compounds);
	if (result != CAROM_SUCCESS)
		return result;
	const bool many = compounds > FEW_RANGES;
	if (many)
		cr_begin_free_ranges(world);
	for (int i = 0; i < count; i++) {
		const int32_t first = (int32_t)(ids[i].index1 - 1), numbers = cr_number_count(&world->bodies.data[first]);
		remove_checked(world, ids[i]);
		if (many && numbers > 1)
			cr_free_range_later(world, first, numbers);
		else
			cr_free_numbers(world, first, numbers);
	}
	if (many)
		cr_end_free_ranges(world);
	if (count > 0)
		cr_drop_carried_of_dead(world);
	return CAROM_SUCCESS;
}
