/// See grain_list.h.
#include "grain_list.h"
#include <stdlib.h>
#include <string.h>

/// Of a far end while the list is made: it is a place, not the number of a large sphere.
#define SMALL 0x80000000u
/// Known, but without a place yet; or the far end of an entry of no spheres.
#define WAITING 0xffffffffu

void grain_list_free(grain_list *list)
{
	free(list->sources);
	free(list->ids);
	free(list->first);
	free(list->columns);
	free(list->large);
	free(list->near);
	free(list->far);
	free(list->springs);
	free(list->live);
	free(list->known);
	free(list->number);
	free(list->guests);
	grain_columns_free(&list->order);
	*list = (grain_list){ 0 };
}

/// How much to take where `count` are needed.
static int64_t room_for(int64_t count) { return count + count / 8 + 64; }

/// An array of so many elements, which keeps what it holds.
static bool extend(void *array, size_t size, int64_t count)
{
	void **const held = array, *const more = realloc(*held, (size_t)count * size);
	if (more)
		*held = more;
	return more != NULL;
}

static bool reserve_spheres(grain_list *list, int64_t spheres)
{
	if (spheres <= list->sphere_room)
		return true;
	list->sphere_room = room_for(spheres);
	return extend(&list->known, sizeof *list->known, list->sphere_room) &&
		extend(&list->number, sizeof *list->number, list->sphere_room);
}

/// Room for places, and one more.
static bool reserve_places(grain_list *list, int64_t places)
{
	if (places < list->place_room)
		return true;
	list->place_room = room_for(places + 1);
	return extend(&list->sources, sizeof *list->sources, list->place_room) &&
		extend(&list->ids, sizeof *list->ids, list->place_room) && extend(&list->first, sizeof *list->first, list->place_room);
}

static bool reserve_entries(grain_list *list, int64_t entries)
{
	if (entries <= list->entry_room)
		return true;
	list->entry_room = room_for(entries);
	return extend(&list->near, sizeof *list->near, list->entry_room) &&
		extend(&list->far, sizeof *list->far, list->entry_room) &&
		extend(&list->live, sizeof *list->live, list->entry_room / ENTRIES_AT_ONCE + 1);
}

static bool reserve_column(grain_list *list)
{
	if (list->column_count < list->column_room)
		return true;
	list->column_room = room_for(list->column_count);
	return extend(&list->columns, sizeof *list->columns, list->column_room);
}

/// Springs of nothing that touches.
static bool clear_springs(grain_list *list)
{
	const int64_t wanted = list->spring_numbers * (list->count + ENTRIES_AT_ONCE);
	if (wanted > list->spring_room) {
		free(list->springs);
		list->spring_room = (room_for(wanted) + 3) / 4 * 4;
		list->springs = aligned_alloc(32, (size_t)list->spring_room * sizeof *list->springs);
		if (!list->springs)
			return false;
	}
	memset(list->springs, 0, (size_t)wanted * sizeof *list->springs);
	return true;
}

/// What a list is made of.
typedef struct source {
	const carom_sphere_neighbours *rows;
	const grain_spheres *spheres;
} source;

/// A column that is being made.
typedef struct making {
	const grain_key *own; // its own spheres, in the order
	int64_t own_count, guest_count;
	uint32_t column;
	int64_t begin;       // of its places
	int64_t large_begin; // of its large spheres
} making;

/// Whether a sphere of the caller's has a place in the column, or waits for one.
static bool is_known(const grain_list *list, const making *m, uint32_t sphere) { return list->known[sphere] > m->begin; }

/// Room for a guest and for the sorting of all.
static bool reserve_guest(grain_list *list, int64_t count)
{
	if (2 * count < list->guest_room)
		return true;
	list->guest_room = 2 * room_for(count + 1);
	return extend(&list->guests, sizeof *list->guests, list->guest_room);
}

/// Guests of the column, sorted. Own spheres of it are known as waiting, then guests too.
static bool find_guests(grain_list *list, const source *from, making *m)
{
	for (int64_t k = 0; k < m->own_count; k++)
		list->known[m->own[k].sphere] = WAITING;
	for (int64_t k = 0; k < m->own_count; k++) {
		const uint32_t sphere = m->own[k].sphere;
		for (int64_t r = from->rows->first[sphere]; r < from->rows->first[sphere + 1]; r++) {
			const uint32_t other = from->rows->other[r];
			if (is_known(list, m, other))
				continue;
			if (!reserve_guest(list, m->guest_count))
				return false;
			list->known[other] = WAITING;
			list->guests[m->guest_count++] = (grain_key){ .cell = list->order.cells[other], .sphere = other };
		}
	}
	if (m->guest_count > 0)
		grain_columns_sort(&list->order, list->guests, list->guests + m->guest_count, m->guest_count);
	return true;
}

static bool add_place(grain_list *list, const source *from, const making *m, uint32_t sphere, uint32_t guest)
{
	const bool large = from->spheres->radii[sphere] > list->order.large;
	const int64_t place = list->places++;
	list->sources[place] = sphere | guest | (large ? GRAIN_LARGE : 0);
	list->ids[place] = grain_id(from->spheres, sphere);
	list->known[sphere] = (uint32_t)place + 1;
	if (!large)
		return true;
	int64_t *const count = &list->columns[list->column_count - 1].large_end;
	if (*count >= list->large_room) {
		list->large_room = room_for(*count);
		if (!extend(&list->large, sizeof *list->large, list->large_room))
			return false;
	}
	list->number[sphere] = (uint32_t)(*count - m->large_begin);
	list->large[(*count)++] = (uint32_t)place;
	return true;
}

/// Own spheres and guests get their places. Large spheres among them are numbered.
static bool place_column(grain_list *list, const source *from, const making *m)
{
	if (!reserve_places(list, list->places + m->own_count + m->guest_count) || !reserve_column(list))
		return false;
	list->columns[list->column_count++].large_end = m->large_begin;
	const grain_key *own = m->own, *guest = list->guests;
	const grain_key *const own_end = own + m->own_count, *const guest_end = guest + m->guest_count;
	while (own < own_end || guest < guest_end) {
		const bool is_own = guest == guest_end || (own < own_end && own->cell <= guest->cell);
		const uint32_t sphere = is_own ? own++->sphere : guest++->sphere;
		if (!add_place(list, from, m, sphere, is_own ? 0 : GRAIN_GUEST))
			return false;
	}
	grain_column *const column = &list->columns[list->column_count - 1];
	column->end = list->places;
	list->most_large =
		column->large_end - m->large_begin > list->most_large ? column->large_end - m->large_begin : list->most_large;
	return true;
}

/// The place to which the entry of an own place and a neighbour belongs. Returns whether the own
/// one's row is to make it: of two own ones, one does.
static bool find_near(const grain_list *list, int64_t place, int64_t other, int64_t *near)
{
	const uint32_t a = list->sources[place], b = list->sources[other];
	if ((a & GRAIN_LARGE) == (b & GRAIN_LARGE))
		*near = place > other ? place : other;
	else
		*near = a & GRAIN_LARGE ? other : place;
	return *near == place || (b & GRAIN_GUEST) != 0;
}

/// Go through the entries of the column: count those of place k in first[k+1], or, if `put`, put
/// their far ends where first[k] says, which goes on.
static void visit_entries(grain_list *list, const source *from, const making *m, bool put)
{
	for (int64_t place = m->begin; place < list->places; place++) {
		const uint32_t sphere = list->sources[place] & GRAIN_SPHERE;
		if (list->sources[place] & GRAIN_GUEST)
			continue;
		for (int64_t r = from->rows->first[sphere]; r < from->rows->first[sphere + 1]; r++) {
			const uint32_t other = from->rows->other[r];
			const int64_t at = (int64_t)list->known[other] - 1;
			int64_t near;
			if (!find_near(list, place, at, &near))
				continue;
			if (!put) {
				list->first[near + 1]++;
				continue;
			}
			const int64_t far = near == place ? at : place;
			const uint32_t far_sphere = near == place ? other : sphere;
			list->far[list->first[near]++] = list->sources[far] & GRAIN_LARGE ? list->number[far_sphere] : SMALL | (uint32_t)far;
		}
	}
}

/// The far ends of the column's entries, and some of none behind the last.
static bool list_column(grain_list *list, const source *from, const making *m)
{
	int64_t *const first = list->first;
	const int64_t begin = list->count;
	memset(first + m->begin + 1, 0, (size_t)(list->places - m->begin) * sizeof *first);
	visit_entries(list, from, m, false);
	for (int64_t k = m->begin; k < list->places; k++)
		first[k + 1] += first[k];
	const int64_t last = first[list->places], end = (last + ENTRIES_AT_ONCE - 1) / ENTRIES_AT_ONCE * ENTRIES_AT_ONCE;
	if (!reserve_entries(list, end))
		return false;
	visit_entries(list, from, m, true); // each now says where the next one begins
	memmove(first + m->begin + 1, first + m->begin, (size_t)(list->places - m->begin) * sizeof *first);
	first[m->begin] = begin;
	for (int64_t e = last; e < end; e++)
		list->far[e] = WAITING;
	first[list->places] = list->count = end;
	return true;
}

/// How far back the entries of the column reach.
static void find_span(grain_list *list, const making *m)
{
	for (int64_t k = m->begin; k < list->places; k++) {
		for (int64_t e = list->first[k]; e < list->first[k + 1]; e++) {
			const int64_t back = k - (int64_t)(list->far[e] & ~SMALL);
			if (list->far[e] != WAITING && (list->far[e] & SMALL) && back > list->span)
				list->span = back;
		}
	}
}

/// Places become slots.
static void find_slots(grain_list *list, int64_t spare)
{
	uint32_t room = 1;
	while (room < list->span + spare)
		room *= 2;
	list->ring = room - 1;
	int64_t place = 0, large = 0;
	for (int64_t c = 0; c < list->column_count; c++) {
		int64_t next = large;
		for (; place < list->columns[c].end; place++) {
			uint32_t slot = (uint32_t)place & list->ring;
			if (list->sources[place] & GRAIN_LARGE)
				slot = room + 1 + (uint32_t)(next++ - large);
			for (int64_t e = list->first[place]; e < list->first[place + 1]; e++) {
				const uint32_t far = list->far[e];
				list->near[e] = list->slot_size * (far == WAITING ? room : slot);
				list->far[e] = list->slot_size * (far == WAITING ? room : far & SMALL ? far & list->ring : room + 1 + far);
			}
		}
		large = next;
	}
}

static bool make_columns(grain_list *list, const source *from)
{
	const grain_key *const keys = list->order.keys;
	list->places = list->count = list->span = list->column_count = list->most_large = 0;
	list->first[0] = 0;
	memset(list->known, 0, (size_t)from->spheres->count * sizeof *list->known);
	for (int64_t next = 0; next < list->own;) {
		making m = { .own = keys + next, .column = keys[next].column, .begin = list->places };
		m.large_begin = list->column_count > 0 ? list->columns[list->column_count - 1].large_end : 0;
		for (; next < list->own && keys[next].column == m.column; next++)
			m.own_count++;
		if (!find_guests(list, from, &m) || !place_column(list, from, &m) || !list_column(list, from, &m))
			return false;
		if (list->places > INT32_MAX || list->count > INT32_MAX)
			return false;
		find_span(list, &m);
	}
	return true;
}

bool grain_list_make(grain_list *list, const carom_sphere_neighbours *rows, const grain_spheres *spheres, uint32_t slot_size,
	int64_t spare, int spring_numbers)
{
	const source from = { rows, spheres };
	list->own = rows->count;
	list->steps++;
	bool made = reserve_spheres(list, spheres->count) && reserve_places(list, 0) && reserve_entries(list, 0) &&
		grain_columns_cut(&list->order, spheres) && make_columns(list, &from);
	list->slot_size = slot_size;
	made = made && 2 * (list->span + spare) + list->most_large < INT32_MAX / slot_size;
	if (made) {
		find_slots(list, spare);
		if (list->count > 0)
			memset(list->live, 0, (size_t)(list->count / ENTRIES_AT_ONCE));
		list->spring_numbers = spring_numbers;
		made = spring_numbers == 0 || clear_springs(list);
	}
	if (!made)
		grain_list_free(list);
	return made;
}

size_t grain_list_bytes(const grain_list *list)
{
	return (size_t)list->place_room * (sizeof *list->sources + sizeof *list->ids + sizeof *list->first) +
		(size_t)list->column_room * sizeof *list->columns + (size_t)list->large_room * sizeof *list->large +
		(size_t)list->entry_room * (sizeof *list->near + sizeof *list->far) + (size_t)list->entry_room / ENTRIES_AT_ONCE +
		(size_t)list->spring_room * sizeof *list->springs + grain_columns_bytes(&list->order) +
		(size_t)list->sphere_room * (sizeof *list->known + sizeof *list->number) +
		(size_t)list->guest_room * sizeof *list->guests;
}
