/// Convex hulls of points, exact: every decision is the sign of a determinant without rounding.
#ifndef CR_MESH_HULL_H
#define CR_MESH_HULL_H

#include "base/context.h"
#include "geom/convex.h"

/// A hull as polygons, for contacts, and as triangles, for a mesh. Both use the vertices of the
/// hull.
typedef struct cr_hull_data {
	cr_hull hull;
	int32_t *triangles; // [3*triangle_count] counter-clockwise seen from outside
	int32_t triangle_count;
} cr_hull_data;

/// The convex hull of count points (all finite). Vertices keep the order of the points. Triangles
/// that lie in one plane up to a millionth of the size become one polygon. Cost: as quickhull
/// (Barber, Dobkin and Huhdanpaa 1996), about n log n. CAROM_INVALID_MESH: the points lie in one
/// plane, and there is nothing to free; CAROM_OUT_OF_MEMORY likewise.
carom_result cr_hull_build(carom_context *context, const v3d *points, int32_t count, cr_hull_data *data);
void cr_hull_free(carom_context *context, cr_hull_data *data);

/// Rows of a hull whose vertices and faces are counted (cr_hull_count_rows): false where there is
/// no memory.
bool cr_hull_make_rows(carom_context *context, cr_hull *hull);
void cr_hull_free_rows(carom_context *context, cr_hull *hull);
size_t cr_hull_row_bytes(const cr_hull *hull);
size_t cr_hull_bytes(const cr_hull_data *data);

#endif
