/// The order in which a step goes through the own spheres of a process: column by column of space,
/// and in each column from one end to the other. What a step keeps of the spheres around the
/// present one is then a slice of a column, which fits into the cache however many spheres there
/// are. The order does not depend on how the caller's arrays are sorted, except that ties go by it.
#ifndef CAROM_LAMMPS_GRAIN_COLUMNS_H
#define CAROM_LAMMPS_GRAIN_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

/// All zero at first; free with grain_columns_free.
typedef struct grain_columns {
	int64_t *cells; ///< [room] scratch
	int64_t room;
} grain_columns;

void grain_columns_free(grain_columns *columns);

/// Cut the space of spheres into columns. order: [spheres] becomes the spheres column by column.
/// column: [spheres] becomes the column of each. Coordinates must be finite. False: out of memory.
bool grain_columns_cut(grain_columns *columns, const double *centres, int64_t spheres, uint32_t *order, uint32_t *column);

#endif
