/// The corners of a triangle, or of a block of triangles, of a collider's tree, and their mean
/// normal. Along it the surfaces of two meshes that lie close to each other are apart, which the
/// axes of boxes do not show.
#ifndef CR_BVH_PART_POINTS_H
#define CR_BVH_PART_POINTS_H

#include "bvh/tree_part.h"
#include "math/vec.h"

enum { CR_MOST_PART_POINTS = 3 * CR_WIDTH };

/// In the frame of the mesh.
typedef struct cr_part_points {
	int count;
	float x[CR_MOST_PART_POINTS], y[CR_MOST_PART_POINTS], z[CR_MOST_PART_POINTS];
	v3d mean;
	v3d normal; // unit; zero where the triangles have none
} cr_part_points;

/// Is a part a triangle, or a block of triangles?
bool cr_has_part_points(const cr_collider *collider, uint32_t part);
/// Gathers the corners of such a part.
void cr_gather_part_points(const cr_collider *collider, uint32_t part, cr_part_points *points);

/// Returns the least e . p of the corners.
static inline double cr_least_of_points(const cr_part_points *p, v3d e)
{
	double least = INFINITY;
	for (int i = 0; i < p->count; i++) {
		const double height = e.x * (double)p->x[i] + e.y * (double)p->y[i] + e.z * (double)p->z[i];
		least = height < least ? height : least;
	}
	return least;
}

#endif
