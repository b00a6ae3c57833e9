/// Bodies of several parts. compound.h says how they lie.
///
/// Numbers of bodies of one part are used again one by one, last first. Those of bodies of more
/// stay together: a list of free ranges, sorted, neighbours joined. A body takes the shortest range
/// that holds it, and the remaining numbers stay free. O(ranges) each.

#include "world/world.h"
#include <string.h>

// ---- Records of bodies with parts ----

static size_t compound_bytes(int32_t count) { return sizeof(cr_compound) + (size_t)count * sizeof(carom_part); }

carom_result cr_create_compound(carom_context *memory, const carom_body_def *def, cr_compound **compound)
{
	const int32_t count = def->part_count;
	cr_compound *made = cr_alloc(memory, compound_bytes(count));
	*compound = made;
	if (!made)
		return cr_fail_memory(memory, "a body with parts");
	const bool grows = def->part_room > 0;
	*made = (cr_compound){ .references = 1, .count = count, .room = grows ? def->part_room : count, .grows = grows };
	for (int32_t i = 0; i < count; i++) {
		made->part[i] = def->parts[i];
		cr_check_pose(memory, &def->parts[i].pose, "carom_world_add_body", "pose", &made->part[i].pose);
	}
	return CAROM_SUCCESS;
}

void cr_release_compound(carom_context *memory, cr_compound *compound)
{
	if (compound && --compound->references == 0)
		cr_free(memory, compound, compound_bytes(compound->count));
}

bool cr_own_compound(carom_context *memory, cr_body *first)
{
	cr_compound *shared = cr_compound_of(first);
	if (shared->references == 1)
		return true;
	const size_t bytes = compound_bytes(shared->count);
	cr_compound *own = cr_alloc(memory, bytes);
	if (!own)
		return false;
	memcpy(own, shared, bytes);
	own->references = 1;
	first->own.compound = own;
	cr_release_compound(memory, shared);
	return true;
}

// ---- Poses ----

carom_pose cr_pose_to_part(const carom_pose *body, const carom_pose *local)
{
	const m3d rotation = m3d_from_quat(body->orientation);
	return (carom_pose){ v3d_add(m3d_mul(&rotation, local->position), body->position),
		quat_mul(body->orientation, local->orientation) };
}

/// Where the pose of a body takes one of its parts.
static carom_pose pose_of_part(const cr_body *first, const carom_pose *pose, int32_t part)
{
	if (!cr_compound_of(first))
		return *pose;
	return cr_pose_to_part(pose, &cr_compound_of(first)->part[part].pose);
}

carom_pose cr_pose_from_part(const carom_pose *part, const carom_pose *local)
{
	const carom_quat q = local->orientation, back = { -q.x, -q.y, -q.z, q.w };
	carom_pose pose = { .orientation = quat_mul(part->orientation, back) };
	const m3d rotation = m3d_from_quat(pose.orientation);
	pose.position = v3d_sub(part->position, m3d_mul(&rotation, local->position));
	return pose;
}

bool cr_are_equal_poses(const carom_pose *a, const carom_pose *b)
{
	return a->position.x == b->position.x && a->position.y == b->position.y && a->position.z == b->position.z &&
		a->orientation.x == b->orientation.x && a->orientation.y == b->orientation.y && a->orientation.z == b->orientation.z &&
		a->orientation.w == b->orientation.w;
}

void cr_place_body(cr_body *first, const carom_pose *pose)
{
	if (cr_compound_of(first))
		cr_compound_of(first)->pose = *pose;
	for (int32_t i = 0; i < cr_part_count(first); i++) {
		first[i].pose = pose_of_part(first, pose, i);
		first[i].moved = true;
		if (first[i].course)
			first[i].course->turned = false;
	}
}

void cr_begin_body(cr_body *first, const carom_pose *pose)
{
	for (int32_t i = 0; i < cr_part_count(first); i++) {
		first[i].course->begin = pose_of_part(first, pose, i);
		first[i].course->has_begin = true;
	}
}

void cr_rest_body(cr_courses *courses, cr_body *first)
{
	for (int32_t i = 0; i < cr_part_count(first); i++)
		cr_drop_course(courses, &first[i]);
}

// ---- Numbers ----

int32_t cr_find_numbers(const carom_world *world, int32_t count)
{
	if (count == 1)
		return world->free_bodies.count > 0 ? world->free_bodies.data[world->free_bodies.count - 1]
											: (int32_t)world->bodies.count;
	const cr_range *best = NULL;
	for (int64_t i = 0; i < world->free_ranges.count; i++) {
		const cr_range *range = &world->free_ranges.data[i];
		if (range->count >= count && (!best || range->count < best->count))
			best = range;
	}
	return best ? best->first : (int32_t)world->bodies.count;
}

/// Room for numbers below want, in so many free ranges. On failure nothing has changed.
static carom_result reserve_numbers(carom_world *world, int64_t want, int64_t ranges)
{
	if (want > INT32_MAX - 1 || !cr_array_reserve(&world->memory, &world->bodies, want) ||
		!cr_reserve_changes(&world->memory, &world->changes, want) ||
		!cr_array_reserve(&world->memory, &world->free_bodies, want) ||
		!cr_array_reserve(&world->memory, &world->free_ranges, ranges) ||
		!cr_reserve_sure_courses(&world->memory, &world->courses, want))
		return cr_fail_memory(world->context, "a body");
	return CAROM_SUCCESS;
}

carom_result cr_reserve_numbers(carom_world *world, int32_t count)
{
	const int64_t want = world->bodies.count + (cr_find_numbers(world, count) < world->bodies.count ? 0 : count);
	// Free ranges do not touch each other.
	return reserve_numbers(world, want, count > 1 ? (want + 1) / 2 : 0);
}

carom_result cr_reserve_chosen_numbers(carom_world *world, int32_t first, int32_t count)
{
	const int64_t end = (int64_t)first + count, want = end > world->bodies.count ? end : world->bodies.count;
	return reserve_numbers(world, want, (want + 1) / 2);
}

/// The first free range at or behind a number.
static int64_t find_range(const carom_world *world, int32_t first)
{
	int64_t low = 0, high = world->free_ranges.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (world->free_ranges.data[middle].first < first)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void move_ranges(carom_world *world, int64_t from, int64_t to)
{
	cr_range *data = world->free_ranges.data;
	memmove(data + to, data + from, (size_t)(world->free_ranges.count - from) * sizeof *data);
	world->free_ranges.count += to - from;
}

void cr_take_numbers(carom_world *world, int32_t first, int32_t count)
{
	if (first >= world->bodies.count) {
		world->bodies.count = first + count;
		return;
	}
	if (count == 1) {
		world->free_bodies.count--;
		return;
	}
	const int64_t at = find_range(world, first);
	cr_range *range = &world->free_ranges.data[at];
	range->first += count;
	range->count -= count;
	if (range->count == 0)
		move_ranges(world, at + 1, at);
}

/// The free range that holds a number, or -1.
static int64_t range_of(const carom_world *world, int32_t number)
{
	const int64_t at = find_range(world, number);
	if (at < world->free_ranges.count && world->free_ranges.data[at].first == number)
		return at;
	const cr_range *before = at > 0 ? &world->free_ranges.data[at - 1] : NULL;
	return before && number < before->first + before->count ? at - 1 : -1;
}

/// Where a number stands among those of bodies of one part, or -1. The ones that were freed last
/// are looked at first.
static int64_t place_of(const carom_world *world, int32_t number)
{
	int64_t at = world->free_bodies.count - 1;
	while (at >= 0 && world->free_bodies.data[at] != number)
		at--;
	return at;
}

bool cr_is_free_number(const carom_world *world, int32_t number)
{
	if (number >= world->bodies.count)
		return true;
	// The further numbers of a body with room for parts are dead, and in no list.
	return !world->bodies.data[number].alive && (range_of(world, number) >= 0 || place_of(world, number) >= 0);
}

/// Take a free number out of its list.
static void take_number(carom_world *world, int32_t number)
{
	const int64_t at = range_of(world, number);
	if (at < 0) {
		const int64_t place = place_of(world, number);
		int32_t *data = world->free_bodies.data;
		world->free_bodies.count--;
		memmove(data + place, data + place + 1, (size_t)(world->free_bodies.count - place) * sizeof *data);
		return;
	}
	cr_range *range = &world->free_ranges.data[at];
	const int32_t before = number - range->first, behind = range->count - before - 1;
	if (before == 0 && behind == 0) {
		move_ranges(world, at + 1, at);
	} else if (before == 0) {
		*range = (cr_range){ number + 1, behind };
	} else {
		range->count = before;
		if (behind == 0)
			return;
		move_ranges(world, at + 1, at + 2);
		world->free_ranges.data[at + 1] = (cr_range){ number + 1, behind };
	}
}

void cr_take_chosen_numbers(carom_world *world, int32_t first, int32_t count)
{
	const int32_t old = (int32_t)world->bodies.count;
	for (int32_t i = first; i < first + count && i < old; i++)
		take_number(world, i);
	// Numbers between stay free; the lowest is given out first.
	for (int32_t i = first - 1; i >= old; i--) {
		world->bodies.data[i] = (cr_body){ .generation = world->first_generation, .moved = true };
		cr_free_numbers(world, i, 1);
	}
	if (first + count > old)
		world->bodies.count = first + count;
}

void cr_free_numbers(carom_world *world, int32_t first, int32_t count)
{
	if (count == 1) {
		world->free_bodies.data[world->free_bodies.count++] = first;
		return;
	}
	const int64_t at = find_range(world, first);
	cr_range *before = at > 0 ? &world->free_ranges.data[at - 1] : NULL;
	cr_range *behind = at < world->free_ranges.count ? &world->free_ranges.data[at] : NULL;
	const bool joins_before = before && before->first + before->count == first;
	const bool joins_behind = behind && first + count == behind->first;
	if (joins_before && joins_behind) {
		before->count += count + behind->count;
		move_ranges(world, at + 1, at);
	} else if (joins_before) {
		before->count += count;
	} else if (joins_behind) {
		*behind = (cr_range){ first, count + behind->count };
	} else {
		if (behind)
			move_ranges(world, at, at + 1);
		else
			world->free_ranges.count++;
		world->free_ranges.data[at] = (cr_range){ first, count };
	}
}

// In cr_body.part of a number that is free: it is in a range.
enum { IN_RANGE = -1 };

void cr_free_range_later(carom_world *world, int32_t first, int32_t count)
{
	for (int32_t i = first; i < first + count; i++)
		world->bodies.data[i].part = IN_RANGE;
}

void cr_begin_free_ranges(carom_world *world)
{
	for (int64_t i = 0; i < world->free_ranges.count; i++)
		cr_free_range_later(world, world->free_ranges.data[i].first, world->free_ranges.data[i].count);
	world->free_ranges.count = 0;
}

void cr_end_free_ranges(carom_world *world)
{
	for (int32_t i = 0, end = 0; i < (int32_t)world->bodies.count; i = end + 1) {
		for (end = i; end < (int32_t)world->bodies.count && world->bodies.data[end].part == IN_RANGE; end++)
			world->bodies.data[end].part = 0;
		if (end > i)
			world->free_ranges.data[world->free_ranges.count++] = (cr_range){ i, end - i };
	}
}
