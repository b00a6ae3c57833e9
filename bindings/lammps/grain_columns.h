/// The order in which a step goes through the spheres of a process: column by column of space, and
/// in each column layer by layer from below. What a step keeps of the spheres around the present
/// one is then a layer of a column, which fits into the cache however many spheres there are.
/// Within a layer it is that of cells of space: by y, then x.
#ifndef CAROM_LAMMPS_GRAIN_COLUMNS_H
#define CAROM_LAMMPS_GRAIN_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Spheres as the caller has them: own ones first, then ghosts.
typedef struct grain_spheres {
	int64_t own, count;    ///< own ones, and with ghosts
	const double *centres; ///< [3*count] finite
	const double *radii;   ///< [count]
	const void *ids;       ///< [count] above 0
	bool wide;             ///< ids have 64 bits, else 32
} grain_spheres;

static inline uint64_t grain_id(const grain_spheres *spheres, uint32_t i)
{
	return spheres->wide ? ((const uint64_t *)spheres->ids)[i] : ((const uint32_t *)spheres->ids)[i];
}

/// A sphere to be sorted.
typedef struct grain_key {
	uint64_t cell; ///< where its cell is in the order
	uint32_t sphere;
	uint32_t column; ///< of own spheres
} grain_key;

/// All zero at first; free with grain_columns_free.
typedef struct grain_columns {
	grain_key *keys; ///< [own] in the order
	uint64_t *cells; ///< [count] of all spheres
	// Scratch, and where cells begin.
	grain_key *other;
	int64_t room, own_room, low[3];
	uint64_t size[3];
	double large; ///< spheres of a larger radius are large: few are
} grain_columns;

void grain_columns_free(grain_columns *columns);

/// Sort the own spheres. False: out of memory.
bool grain_columns_cut(grain_columns *columns, const grain_spheres *spheres);

/// Sort others of the spheres by their cells; columns do not count. keys: [count], of which cell
/// and sphere are set; other: [count] scratch.
void grain_columns_sort(const grain_columns *columns, grain_key *keys, grain_key *other, int64_t count);

size_t grain_columns_bytes(const grain_columns *columns);

#ifdef __cplusplus
}
#endif
#endif
