/// Which spheres of a process may touch while a list of neighbours holds, and the springs
/// of those that do.
///
/// A list goes through the own spheres column by column (grain_columns.h). Each has a place
/// in it, in the order of its column. Spheres that it may touch and that are not of its
/// column, ghosts or own ones, have places in the column too, as guests. So an entry of the
/// list, two places, joins places of one column, of which one at least is an own sphere of it.
///
/// An entry belongs to its near end, which is the later of its places. It is read when the step
/// comes there; its far end, which is before, is still in the ring (grains.c). Large spheres
/// (grain_columns.large) would keep the ring long. They stay in slots of their own
/// while their column lasts, and are the far end of entries with others.
#ifndef CAROM_LAMMPS_GRAIN_LIST_H
#define CAROM_LAMMPS_GRAIN_LIST_H

#include "grain_columns.h"
#include <carom/spheres.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	ENTRIES_AT_ONCE = 4, ///< are read. A column has a multiple of them, the last ones of no spheres
};

#define GRAIN_GUEST 0x80000000u ///< of a source: the place is that of a guest
#define GRAIN_LARGE 0x40000000u ///< of a source: it has a slot beside the ring
#define GRAIN_SPHERE 0x3fffffffu

/// Of the list, from where the column before ends.
typedef struct grain_column {
	int64_t end;       ///< of its places
	int64_t large_end; ///< of its large spheres
} grain_column;

/// Numbers of a spring: along the surface, as seen from the near end; and behind them those of
/// rolling, which read alike from both ends.
enum { GRAIN_SLIDES = 3, GRAIN_ROLLS = 6 };

/// All zero at first; free with grain_list_free.
typedef struct grain_list {
	int64_t own;       ///< spheres
	int64_t places;    ///< of own spheres and of guests
	uint32_t *sources; ///< [places] which sphere of the caller's each of them is, and GRAIN_...
	uint64_t *ids;     ///< [places] as they were when the list was made
	int64_t *first;    ///< [places+1] the first entry of each place
	grain_column *columns;
	int64_t column_count;
	uint32_t *large; ///< [columns[column_count-1].large_end] places
	/// [count] slot_size times the slot of each end. Place k has slot k & ring. Behind the ring
	/// there is one of no sphere, then those of the column's large spheres in their order.
	uint32_t *near, *far;
	int64_t count; ///< of entries
	/// [spring_numbers*count] of the near ends of four entries, number by number; 0 where they did
	/// not touch.
	double *springs;
	int spring_numbers; ///< of an entry: GRAIN_SLIDES, or GRAIN_ROLLS; 0: no springs
	uint8_t *live;      ///< [count/4] whether any of them may not be 0
	int64_t span;       ///< places from the far end of an entry to the near one, at most
	uint32_t ring;      ///< a power of two, less 1
	uint32_t slot_size; ///< bytes
	int64_t most_large; ///< of one column
	int64_t steps;      ///< since creation, and lists: changes where springs may be others
	// While the list is made: of the caller's spheres the last place of each, plus 1, and its
	// number among the large ones of the column; guests of a column.
	grain_columns order;
	uint32_t *known, *number;
	grain_key *guests;
	int64_t sphere_room, place_room, column_room, large_room, entry_room, spring_room, guest_room;
} grain_list;

void grain_list_free(grain_list *list);

/// Make it of rows of neighbours, in any order; nothing touches yet. There is room for springs of
/// so many numbers. slot_size: bytes. spare: so many places the ring has beside those that entries
/// join. False: out of memory, or more than 2^31 places, entries or bytes of slots; the list is
/// empty then.
bool grain_list_make(grain_list *list, const carom_sphere_neighbours *rows, const grain_spheres *spheres, uint32_t slot_size,
	int64_t spare, int spring_numbers);
size_t grain_list_bytes(const grain_list *list);

/// Whether an entry is one of no spheres.
static inline bool grain_list_is_empty(const grain_list *list, int64_t entry)
{
	return list->near[entry] == (list->ring + 1) * list->slot_size;
}

/// The place of the far end of an entry of a place. large: where the column's large spheres begin.
static inline int64_t grain_list_far(const grain_list *list, int64_t place, int64_t entry, int64_t large)
{
	const uint32_t slot = list->far[entry] / list->slot_size;
	return slot > list->ring ? list->large[large + slot - list->ring - 2] : place - (((uint32_t)place - slot) & list->ring);
}

/// Where a number of an entry's spring is.
static inline double *grain_list_spring(const grain_list *list, int64_t entry, int axis)
{
	const int64_t at = entry % ENTRIES_AT_ONCE;
	return &list->springs[list->spring_numbers * (entry - at) + ENTRIES_AT_ONCE * axis + at];
}

#ifdef __cplusplus
}
#endif
#endif
