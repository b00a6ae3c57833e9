/// Which spheres of a process may touch while a list of neighbours holds, and which of them
/// do.
///
/// A list goes through the own spheres column by column (grain_columns.h). Each has a place
/// in it. Spheres that it may touch and that are not of its column, ghosts or own ones,
/// have a place before it as guests of the column. So each entry of the list joins places
/// that are near each other.
///
/// An entry is two places. Two own spheres of one column have one entry. Entries of a guest
/// belong to its hosts: of two own spheres of different columns each has an entry of its
/// own, as of an own one and a ghost. A row is all entries of an own sphere in the order of
/// the others' ids, seen from its side. Guests have empty rows.
#ifndef CAROM_LAMMPS_GRAIN_LIST_H
#define CAROM_LAMMPS_GRAIN_LIST_H

#include "grain_columns.h"
#include <carom/spheres.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	ENTRIES_AT_ONCE = 4, ///< are read; behind the last one are so many of no sphere
	LONG_ROW = 32,       ///< sides: a row of more has its forces kept until the end of the step
};

/// All zero at first; free with grain_list_free.
typedef struct grain_list {
	int64_t own;          ///< spheres
	int64_t places;       ///< of own spheres and of guests
	uint32_t *sources;    ///< [places] which sphere of the caller's each of them is
	uint64_t *ids;        ///< [places] as they were when the list was made
	int64_t *first;       ///< [places+1] the first entry whose near end is place i
	int64_t *row;         ///< [places+1] the first side of each row
	uint32_t (*ends)[2];  ///< [count] the near end is own, the far one a guest or later
	int64_t count;        ///< of entries
	uint32_t *sides;      ///< twice the entry, and 1 more where the sphere is its far end
	uint32_t *slots;      ///< [count] where the last step has put the force; 0: no contact then
	double (*springs)[4]; ///< [count] of near ends, and 0; untrue without a slot
	/// For each row, from the first entry that it has to its last one with a near end that is not
	/// beyond it: the most. Entries of long rows do not count.
	int64_t window;
	int64_t ahead, behind; ///< places from the near end of an entry to the far one, at most
	uint32_t *kept;        ///< [count] of entries of long rows their number from 1 on; 0: of none
	int64_t kept_count;    ///< 0: there are no long rows, and kept is not to be read
	int64_t steps;         ///< since creation, and lists: changes where springs may be others
	// Of the caller's spheres, while the list is made: the order of own ones, and their columns;
	// the last place of each, plus 1.
	uint32_t *order, *column, *known;
	grain_columns columns;
	int64_t sphere_room, place_room, entry_room, side_room, spring_room, kept_room;
} grain_list;

void grain_list_free(grain_list *list);

/// Make it of rows of neighbours, each of them sorted by ids; nothing touches yet. With springs,
/// there is room for them. centres and ids, of 64 bits or 32: of all `spheres`. False: out of
/// memory, or more than 2^31 entries; the list is empty then.
bool grain_list_make(grain_list *list, const carom_sphere_neighbours *rows, const double *centres, const void *ids, bool wide,
	int64_t spheres, bool springs);
size_t grain_list_bytes(const grain_list *list);

/// The sphere on the other side, as the list counts them.
static inline uint32_t grain_list_other(const grain_list *list, uint32_t side) { return list->ends[side >> 1][1 - (side & 1)]; }

#ifdef __cplusplus
}
#endif
#endif
