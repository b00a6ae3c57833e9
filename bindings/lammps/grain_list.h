/// Which spheres of a process may touch while a list of neighbours holds, and which of them do.
///
/// An entry is two spheres, each pair once: two own ones, or an own one and a ghost. A row is all
/// entries of an own sphere in the order of the others' ids, seen from its side.
#ifndef CAROM_LAMMPS_GRAIN_LIST_H
#define CAROM_LAMMPS_GRAIN_LIST_H

#include <carom/spheres.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	ENTRIES_AT_ONCE = 4, ///< are read; behind the last one are so many of no sphere
};

/// All zero at first; free with grain_list_free.
typedef struct grain_list {
	int64_t rows;         ///< own spheres
	int64_t *first;       ///< [rows+1] the first entry whose near end is sphere i
	uint32_t (*ends)[2];  ///< [count] the near end is own, and of two own spheres the lower one
	int64_t count;        ///< of entries
	int64_t *row;         ///< [rows+1] the first side of each row
	uint32_t *sides;      ///< twice the entry, and 1 more where the sphere is its far end
	uint32_t *places;     ///< [count] of contacts in the last step, rising; 0: none
	double (*springs)[4]; ///< by places, of near ends, and 0; place 0 has no length
	double (*fresh)[4];   ///< where those of the next step go
	int64_t spheres;      ///< that the list knows: own ones, and ghosts that stand in an entry
	uint32_t *sources;    ///< [spheres] which sphere of the caller's each of them is; rising
	uint64_t *ids;        ///< [spheres] as they were when the list was made
	uint32_t *known;      ///< [caller's spheres] which sphere of the list a ghost is; 0: none
	/// For each row, from the first entry that it has to its last one with a near end that is not
	/// beyond it: the most.
	int64_t window;
	int64_t steps; ///< since creation, and lists: another number where springs may be others
	int64_t row_room, entry_room, side_room, sphere_room, spring_room;
} grain_list;

void grain_list_free(grain_list *list);

/// Make it of rows of neighbours, each of them sorted by ids; nothing touches yet. With springs,
/// there is room for them. ids: of all `spheres`, of 64 bits or 32. False: out of memory, or more
/// than 2^31 entries; the list is empty then.
bool grain_list_make(
	grain_list *list, const carom_sphere_neighbours *rows, const void *ids, bool wide, int64_t spheres, bool springs);
size_t grain_list_bytes(const grain_list *list);

/// The sphere on the other side, as the list counts them.
static inline uint32_t grain_list_other(const grain_list *list, uint32_t side) { return list->ends[side >> 1][1 - (side & 1)]; }

#ifdef __cplusplus
}
#endif
#endif
