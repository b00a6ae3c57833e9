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
	free(list->slots);
	free(list->springs);
	free(list->ids);
	free(list->sources);
	free(list->known);
	free(list->kept);
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
			!renew(&list->slots, sizeof *list->slots, list->entry_room))
			return false;
	}
	return true;
}

static bool reserve_springs(grain_list *list)
{
	const int64_t wanted = list->count + ENTRIES_AT_ONCE;
	if (wanted <= list->spring_room)
		return true;
	list->spring_room = room_for(wanted);
	return renew(&list->springs, sizeof *list->springs, list->spring_room);
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

static bool is_long(const carom_sphere_neighbours *rows, int64_t i)
{
	return i < rows->count && rows->first[i + 1] - rows->first[i] > LONG_ROW;
}

/// Room to number the entries of long rows, where there are such rows.
static bool reserve_kept(grain_list *list, const carom_sphere_neighbours *rows, int64_t entries)
{
	bool any = false;
	for (int64_t i = 0; i < rows->count && !any; i++)
		any = is_long(rows, i);
	list->kept_count = 0;
	if (!any || entries <= list->kept_room)
		return true;
	list->kept_room = room_for(entries);
	return renew(&list->kept, sizeof *list->kept, list->kept_room);
}

/// Whether an entry's force stays until the end of the step.
static bool is_kept(const grain_list *list, int64_t entry) { return list->kept_count > 0 && list->kept[entry] > 0; }

/// Number entries as they are made, if a row of either end is long.
static void number_kept(grain_list *list, const carom_sphere_neighbours *rows, uint32_t near, uint32_t far)
{
	const bool kept = is_long(rows, near) || is_long(rows, far);
	if (kept && list->kept_count == 0)
		memset(list->kept, 0, (size_t)list->count * sizeof *list->kept);
	if (kept || list->kept_count > 0)
		list->kept[list->count] = kept ? (uint32_t)++list->kept_count : 0;
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
			number_kept(list, rows, i, other);
			list->ends[list->count][0] = i;
			list->ends[list->count++][1] = list->known[other];
			continue;
		}
		const uint32_t entry = find_entry(list, other, i);
		earliest = entry < earliest && !is_kept(list, entry) ? entry : earliest;
		list->sides[side++] = 2 * entry + 1;
	}
	list->window = list->count - earliest > list->window ? list->count - earliest : list->window;
}

bool grain_list_make(
	grain_list *list, const carom_sphere_neighbours *rows, const void *ids, bool wide, int64_t spheres, bool springs)
{
	const int64_t count = rows->count, sides = count > 0 ? rows->first[count] : 0, entries = count_entries(rows);
	if (entries > INT32_MAX || !reserve(list, count, sides, entries, spheres) || !reserve_kept(list, rows, entries)) {
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
	memset(list->slots, 0, (size_t)(list->count + ENTRIES_AT_ONCE) * sizeof *list->slots);
	if (springs && !reserve_springs(list)) {
		grain_list_free(list);
		return false;
	}
	return true;
}

size_t grain_list_bytes(const grain_list *list)
{
	return (size_t)list->row_room * 2 * sizeof(int64_t) +
		(size_t)list->entry_room * (sizeof *list->ends + sizeof *list->slots) + (size_t)list->side_room * sizeof *list->sides +
		(size_t)list->spring_room * sizeof *list->springs + (size_t)list->kept_room * sizeof *list->kept +
		(size_t)list->sphere_room * (sizeof *list->ids + 2 * sizeof *list->sources);
}
