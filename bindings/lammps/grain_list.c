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
	free(list->order);
	free(list->column);
	free(list->known);
	free(list->kept);
	grain_columns_free(&list->columns);
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

static bool reserve_spheres(grain_list *list, int64_t spheres)
{
	if (spheres <= list->sphere_room)
		return true;
	list->sphere_room = room_for(spheres);
	return renew(&list->order, sizeof *list->order, list->sphere_room) &&
		renew(&list->column, sizeof *list->column, list->sphere_room) &&
		renew(&list->known, sizeof *list->known, list->sphere_room);
}

static bool reserve_rows(grain_list *list, int64_t sides, int64_t entries)
{
	if (sides > list->side_room) {
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

/// More elements of an array, which keeps what it holds.
static bool extend(void *array, size_t size, int64_t count)
{
	void **const held = array, *const more = realloc(*held, (size_t)count * size);
	if (more)
		*held = more;
	return more != NULL;
}

/// Room for places, and one more.
static bool reserve_places(grain_list *list, int64_t places)
{
	if (places < list->place_room)
		return true;
	list->place_room = room_for(places + 1);
	return extend(&list->sources, sizeof *list->sources, list->place_room) &&
		extend(&list->ids, sizeof *list->ids, list->place_room) &&
		extend(&list->first, sizeof *list->first, list->place_room) && extend(&list->row, sizeof *list->row, list->place_room);
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

/// What a list is made of.
typedef struct source {
	const carom_sphere_neighbours *rows;
	const void *ids;
	bool wide;
} source;

/// Whether a sphere of the caller's is an own one of a column.
static bool is_of(const grain_list *list, uint32_t column, uint32_t sphere)
{
	return sphere < list->own && list->column[sphere] == column;
}

static void add_place(grain_list *list, const source *from, uint32_t sphere)
{
	list->sources[list->places] = sphere;
	list->ids[list->places] = from->wide ? ((const uint64_t *)from->ids)[sphere] : ((const uint32_t *)from->ids)[sphere];
	list->known[sphere] = (uint32_t)++list->places;
}

/// The place of an own sphere, behind those of guests that it is the first to need. begin: of the
/// column. Returns how many entries its row begins, or -1: out of memory.
static int64_t place_sphere(grain_list *list, const source *from, uint32_t sphere, int64_t begin)
{
	const int64_t first = from->rows->first[sphere], end = from->rows->first[sphere + 1];
	if (!reserve_places(list, list->places + end - first + 1))
		return -1;
	int64_t entries = 0;
	for (int64_t k = first; k < end; k++) {
		const uint32_t other = from->rows->other[k];
		const bool known = list->known[other] > begin, of = is_of(list, list->column[sphere], other);
		if (!known && !of)
			add_place(list, from, other);
		entries += !known || !of;
	}
	add_place(list, from, sphere);
	return entries;
}

/// All places. Returns how many entries there will be, or -1: out of memory, or too many places.
static int64_t place_spheres(grain_list *list, const source *from, int64_t spheres)
{
	memset(list->known, 0, (size_t)spheres * sizeof *list->known);
	list->places = 0;
	int64_t begin = 0, entries = 0;
	for (int64_t k = 0; k < list->own; k++) {
		if (k == 0 || list->column[list->order[k]] != list->column[list->order[k - 1]])
			begin = list->places;
		const int64_t more = place_sphere(list, from, list->order[k], begin);
		if (more < 0 || list->places > INT32_MAX)
			return -1;
		entries += more;
	}
	return entries;
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

/// Number entries as they are made, if a row of either end is long. near, far: the caller's.
static void number_kept(grain_list *list, const carom_sphere_neighbours *rows, uint32_t near, uint32_t far)
{
	const bool kept = is_long(rows, near) || is_long(rows, far);
	if (kept && list->kept_count == 0)
		memset(list->kept, 0, (size_t)list->count * sizeof *list->kept);
	if (kept || list->kept_count > 0)
		list->kept[list->count] = kept ? (uint32_t)++list->kept_count : 0;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// The row of an own sphere, from a side on. Returns the side behind its last one.
static int64_t add_row(grain_list *list, const source *from, uint32_t i, int64_t side)
{
	const uint32_t sphere = list->sources[i];
	int64_t earliest = list->count;
	for (int64_t k = from->rows->first[sphere]; k < from->rows->first[sphere + 1]; k++) {
		const uint32_t other = from->rows->other[k], place = list->known[other] - 1;
		if (place < i && is_of(list, list->column[sphere], other)) {
			const uint32_t entry = find_entry(list, place, i);
			earliest = entry < earliest && !is_kept(list, entry) ? entry : earliest;
			list->sides[side++] = 2 * entry + 1;
			continue;
		}
		list->sides[side++] = 2 * (uint32_t)list->count;
		number_kept(list, from->rows, sphere, other);
		list->ends[list->count][0] = i;
		list->ends[list->count++][1] = place;
		list->ahead = larger(list->ahead, (int64_t)place - i);
		list->behind = larger(list->behind, (int64_t)i - place);
	}
	list->window = larger(list->window, list->count - earliest);
	return side;
}

/// The rows of a column's places, and those of its guests, which are empty.
static int64_t add_rows(grain_list *list, const source *from, int64_t begin, int64_t end, uint32_t column, int64_t side)
{
	for (int64_t i = begin; i < end; i++)
		list->known[list->sources[i]] = (uint32_t)i + 1;
	for (int64_t i = begin; i < end; i++) {
		list->row[i] = side;
		list->first[i] = list->count; // the end of the one before, too
		if (is_of(list, column, list->sources[i]))
			side = add_row(list, from, (uint32_t)i, side);
	}
	return side;
}

/// The place behind those of the column, whose own spheres begin at *next in the order.
static int64_t find_end(const grain_list *list, uint32_t column, int64_t place, int64_t *next)
{
	while (*next < list->own && list->column[list->order[*next]] == column) {
		while (list->sources[place] != list->order[*next])
			place++;
		place++;
		++*next;
	}
	return place;
}

static void add_all_rows(grain_list *list, const source *from)
{
	list->count = list->window = list->ahead = list->behind = 0;
	int64_t side = 0, begin = 0;
	for (int64_t next = 0; next < list->own;) {
		const uint32_t column = list->column[list->order[next]];
		const int64_t end = find_end(list, column, begin, &next);
		side = add_rows(list, from, begin, end, column, side);
		begin = end;
	}
	list->first[list->places] = list->count;
	list->row[list->places] = side;
	// Behind the last entry there are some of one place, which is not there.
	for (int k = 0; k < ENTRIES_AT_ONCE; k++)
		list->ends[list->count + k][0] = list->ends[list->count + k][1] = (uint32_t)list->places;
	memset(list->slots, 0, (size_t)(list->count + ENTRIES_AT_ONCE) * sizeof *list->slots);
}

bool grain_list_make(grain_list *list, const carom_sphere_neighbours *rows, const double *centres, const void *ids, bool wide,
	int64_t spheres, bool springs)
{
	const source from = { rows, ids, wide };
	list->own = rows->count;
	list->steps++;
	int64_t entries = -1;
	if (reserve_spheres(list, spheres) && reserve_places(list, 0) &&
		grain_columns_cut(&list->columns, centres, list->own, list->order, list->column))
		entries = place_spheres(list, &from, spheres);
	const int64_t sides = list->own > 0 ? rows->first[list->own] : 0;
	bool made = entries >= 0 && entries <= INT32_MAX && reserve_rows(list, sides, entries) && reserve_kept(list, rows, entries);
	if (made)
		add_all_rows(list, &from);
	made = made && (!springs || reserve_springs(list));
	if (!made)
		grain_list_free(list);
	return made;
}

size_t grain_list_bytes(const grain_list *list)
{
	return (size_t)list->place_room * (sizeof *list->sources + sizeof *list->ids + 2 * sizeof *list->first) +
		(size_t)list->entry_room * (sizeof *list->ends + sizeof *list->slots) + (size_t)list->side_room * sizeof *list->sides +
		(size_t)list->spring_room * sizeof *list->springs + (size_t)list->kept_room * sizeof *list->kept +
		(size_t)list->columns.room * sizeof *list->columns.cells + (size_t)list->sphere_room * 3 * sizeof *list->known;
}
