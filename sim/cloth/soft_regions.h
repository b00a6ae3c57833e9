/// @file soft_regions.h
/// Regions of solid bodies: overlapping pieces, each of which resists a change of form. A body that
/// has only its surface is a skin around a volume: it keeps how much it holds, not its form. The
/// vertices of a region span its inside too, so a limb resists bending and a block its flattening.
#ifndef SIM_SOFT_REGIONS_H
#define SIM_SOFT_REGIONS_H

#include "sim/cloth/soft_state.h"

/// The vertices of a region move by F = sum(place * slope^T), the linear map that fits them best.
/// Its energy is modulus * volume * |F - R|^2, with R the rotation nearest to F.
typedef struct soft_region {
	int64_t first; ///< of its members
	int32_t count;
	double spread[6];  ///< xx, yy, zz, xy, xz, yz of sum(inverse mass * slope * slope^T)
	double compliance; ///< 1 / (2 * modulus * volume)
	double force;      ///< Lagrange multiplier of this substep
} soft_region;

struct soft_regions {
	int32_t *first; ///< [part_count + 1] in region
	soft_region *region;
	int32_t *vertices; ///< of all members
	double *slopes;    ///< [3] each, 1/m
	int32_t count, capacity, part_count;
	int64_t member_count, member_capacity;
};

/// Find the regions of all parts with a shear modulus, at the present places and masses. NULL, with
/// the reason in error, when memory is short.
soft_regions *soft_create_regions(const sim_soft *soft, sim_error *error);
/// Take the inverse masses that vertices have now. Do so when some are held or let go.
void soft_weigh_regions(const sim_soft *soft, soft_regions *regions);
void soft_destroy_regions(const sim_soft *soft, soft_regions *regions);

/// Correct places as the regions of a part want it in a substep, from the first to the last or
/// back. square: 1 / s^2 of the substep.
void soft_solve_regions(sim_soft *soft, int32_t part, double square, bool back);

/// Joules of all regions at some places.
double soft_measure_regions(const sim_soft *soft, const double *places);

/// The rotation nearest to a matrix, both by rows: the one with the largest sum of products. No
/// mirror image, even where the matrix is one.
void soft_find_rotation(const double matrix[9], double rotation[9]);

#endif
