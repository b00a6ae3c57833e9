/// See grain_list.h.
#include "grain_list.h"
#include <stdlib.h>
#include <string.h>

enum {
	SHORT_ROW = 16, // entries: more are searched by halves
};

void grain_list_free(grain_list *list)
{
	free(list->first);
	free(list->ends);
	free(list->row);
	free(list->sides);
	free(list->places);
	free(list->springs);
	free(list->fresh);
	free(list->ids);
	free(list->sources);
	free(list->known);
	*list = (grain_list){ 0 };
}

/// An array of so many elements; what it held is gone.
static bool renew(void *array, size_t size, int64_t count)
{
	void **const held = array;
	free(*held);
	*held = aligned_alloc(32, ((size_t)count * size + 31) / 32 * 32);
	return *held != NULL;
}

/// How much to take where `count` are needed.
static int64_t room_for(int64_t count) { return count + count / 8 + 64; }

static bool reserve(grain_list *list, int64_t rows, int64_t sides, int64_t entries, int64_t spheres)
{
	if (spheres >= list->sphere_room) {
		list->sphere_room = room_for(spheres);
		if (!renew(&list->ids, sizeof *list->ids, list->sphere_room) ||
			!renew(&list->sources, sizeof *list->sources, list->sphere_room) ||
			!renew(&list->known, sizeof *list->known, list->sphere_room))
			return false;
	}
	if (rows >= list->row_room) {
		list->row_room = room_for(rows + 1);
		if (!renew(&list->first, sizeof *list->first, list->row_room) || !renew(&list->row, sizeof *list->row, list->row_room))
			return false;
	}
	if (sides >= list->side_room) {
		list->side_room = room_for(sides);
		if (!renew(&list->sides, sizeof *list->sides, list->side_room))
			return false;
	}
	if (entries + ENTRIES_AT_ONCE > list->entry_room) {
		list->entry_room = room_for(entries) + ENTRIES_AT_ONCE;
		if (!renew(&list->ends, sizeof *list->ends, list->entry_room) ||
			!renew(&list->places, sizeof *list->places, list->entry_room))
			return false;
	}
	return true;
}

static bool reserve_springs(grain_list *list)
{
	if (list->count + list->count / 16 + 512 > list->spring_room) { // some stay empty
		list->spring_room = room_for(list->count + list->count / 16 + 512);
		if (!renew(&list->springs, sizeof *list->springs, list->spring_room) ||
			!renew(&list->fresh, sizeof *list->fresh, list->spring_room))
			return false;
		memset(list->springs, 0, sizeof *list->springs);
		memset(list->fresh, 0, sizeof *list->fresh);
	}
	return true;
}

/// The entry of two own spheres whose near end is `near`. Rows are symmetric, so it is there, and
/// entries of one near end are sorted by ids.
static uint32_t find_entry(const grain_list *list, uint32_t near, uint32_t far)
{
	const uint64_t id = list->ids[far];
	int64_t e = list->first[near], last = list->first[near + 1];
	while (last - e > SHORT_ROW) {
		const int64_t middle = e + (last - e) / 2;
		if (list->ids[list->ends[middle][1]] < id)
			e = middle + 1;
		else
			last = middle + 1;
	}
	while (list->ends[e][1] != far)
		e++;
	return (uint32_t)e;
}

/// Number the ghosts that stand in entries, in the caller's order, behind the own ones: only these
/// are read in steps.
static void know_spheres(grain_list *list, const carom_sphere_neighbours *rows, const void *ids, bool wide, int64_t spheres)
{
	const int64_t own = rows->count;
	memset(list->known, 0, (size_t)spheres * sizeof *list->known);
	for (int64_t k = 0; k < (own > 0 ? rows->first[own] : 0); k++)
		list->known[rows->other[k]] = 1;
	list->spheres = 0;
	for (int64_t i = 0; i < spheres; i++) {
		if (i >= own && !list->known[i])
			continue;
		list->known[i] = (uint32_t)list->spheres;
		list->sources[list->spheres] = (uint32_t)i;
		list->ids[list->spheres++] = wide ? ((const uint64_t *)ids)[i] : ((const uint32_t *)ids)[i];
	}
}

static int64_t count_entries(const carom_sphere_neighbours *rows)
{
	int64_t count = 0;
	for (int64_t i = 0; i < rows->count; i++) {
		for (int64_t k = rows->first[i]; k < rows->first[i + 1]; k++)
			count += rows->other[k] > i;
	}
	return count;
}

static void add_row(grain_list *list, const carom_sphere_neighbours *rows, uint32_t i)
{
	int64_t side = rows->first[i];
	list->row[i] = side;
	list->first[i] = list->count; // the end of the one before, too
	int64_t earliest = list->count;
	for (int64_t k = rows->first[i]; k < rows->first[i + 1]; k++) {
		const uint32_t other = rows->other[k];
		if (other > i) {
			list->sides[side++] = 2 * (uint32_t)list->count;
			list->ends[list->count][0] = i;
			list->ends[list->count++][1] = list->known[other];
			continue;
		}
		const uint32_t entry = find_entry(list, other, i);
		earliest = entry < earliest ? entry : earliest;
		list->sides[side++] = 2 * entry + 1;
	}
	list->window = list->count - earliest > list->window ? list->count - earliest : list->window;
}

bool grain_list_make(
	grain_list *list, const carom_sphere_neighbours *rows, const void *ids, bool wide, int64_t spheres, bool springs)
{
	const int64_t count = rows->count, sides = count > 0 ? rows->first[count] : 0, entries = count_entries(rows);
	if (entries > INT32_MAX || !reserve(list, count, sides, entries, spheres)) {
		grain_list_free(list);
		return false;
	}
	list->rows = count;
	list->count = list->window = 0;
	list->steps++;
	know_spheres(list, rows, ids, wide, spheres);
	for (int64_t i = 0; i < count; i++)
		add_row(list, rows, (uint32_t)i);
	list->first[count] = list->count;
	list->row[count] = sides;
	for (int k = 0; k < ENTRIES_AT_ONCE; k++)
		list->ends[list->count + k][0] = list->ends[list->count + k][1] = (uint32_t)list->spheres;
	memset(list->places, 0, (size_t)(list->count + ENTRIES_AT_ONCE) * sizeof *list->places);
	if (springs && !reserve_springs(list)) {
		grain_list_free(list);
		return false;
	}
	return true;
}

size_t grain_list_bytes(const grain_list *list)
{
	return (size_t)list->row_room * 2 * sizeof(int64_t) +
		(size_t)list->entry_room * (sizeof *list->ends + sizeof *list->places) + (size_t)list->side_room * sizeof *list->sides +
		(size_t)list->spring_room * 2 * sizeof *list->springs +
		(size_t)list->sphere_room * (sizeof *list->ids + 2 * sizeof *list->sources);
}
