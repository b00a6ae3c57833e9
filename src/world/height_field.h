/// Height fields, for those that change them.
#ifndef CR_WORLD_HEIGHT_FIELD_H
#define CR_WORLD_HEIGHT_FIELD_H

#include "world/world.h"

/// A field on its way to a mesh.
typedef struct cr_field_plan {
	int32_t columns, rows;
	const float *heights;
	const double *spacing; // [2]
	double lowest;         // of the heights that are numbers
	double bottom;
	bool holes; // some height is NaN
} cr_field_plan;

/// Is there a cell, none of whose corners is NaN? Beyond the field there is none.
bool cr_is_field_cell(const cr_field_plan *field, int32_t column, int32_t row);
/// Make a mesh of a checked field.
carom_result cr_make_field(carom_context *context, const cr_field_plan *field, carom_mesh **mesh);
/// Make a field of all that one is made of, as its recording tells it: columns, rows, heights,
/// spacing and bottom of f. They are checked; texts name carom_create_height_field.
carom_result cr_restore_field(carom_context *context, cr_field_plan *f, carom_mesh **mesh);
/// Cells of the grid along the longer side.
int32_t cr_field_resolution(int32_t columns, int32_t rows, const double spacing[2]);

/// The height of a sample, or NaN.
float cr_field_height(const carom_mesh *field, int64_t sample);
/// The surface triangle with the lowest number at a sample of a field without holes.
int32_t cr_first_triangle_at(const cr_field *field, int32_t sample);
/// Fill the materials of walls and bottom of a field from those of its surface triangles, which
/// come first.
void cr_fill_field_materials(const carom_mesh *field, uint32_t *materials);
/// Triangles of the surface, those of holes too.
static inline int64_t cr_surface_triangles(const cr_field *f) { return 2 * (int64_t)(f->columns - 1) * (f->rows - 1); }

/// What an edit of a field worked out again. All are 0 where the field was made again.
typedef struct cr_field_work {
	int32_t vertices;     // moved
	int32_t surroundings; // triangles read
	int32_t triangles;    // with a corner that moved
	int32_t normals;      // of vertices, written
	int32_t nodes;        // of trees, refitted
} cr_field_work;

/// carom_create_edited_field, with edited not NULL, that tells its work. Texts name the function.
carom_result cr_edit_field(carom_context *context, const char *function, const carom_mesh *field,
	const carom_field_region *region, const float *heights, cr_field_work *work, carom_mesh **edited);

/// Let a grid take the place of that of a mesh (mesh.c).
void cr_take_grid(carom_mesh *mesh, const cr_grid *grid);
/// Checks an edit; the text names the function.
carom_result cr_check_field_edit(carom_context *context, const char *function, const carom_mesh *field,
	const carom_field_region *region, const float *heights);
/// Gives a field that nobody else holds other heights where it is; the edit is checked. *done:
/// whether it could. If not, or on failure, the field is as it was.
carom_result cr_edit_field_in_place(
	carom_mesh *field, const carom_field_region *region, const float *heights, cr_field_work *work, bool *done);

/// One side of a region: its fields, and how many columns or rows there are.
typedef struct cr_field_side {
	const char *of_first, *of_count; // names of the fields
	int32_t first, count, all;
	const char *unit; // of the numbers
} cr_field_side;

/// Checks a side of a region; the text names the function and the field.
carom_result cr_check_field_side(carom_context *context, const char *function, const cr_field_side *side);
/// Checks the cells of a region whose materials are to change (paint.c).
carom_result cr_check_field_paint(carom_context *context, const char *function, const carom_mesh *field,
	const carom_field_region *cells, const uint32_t *materials);
/// Makes a field with other materials of checked cells.
carom_result cr_paint_field(carom_context *context, const carom_mesh *field, const carom_field_region *cells,
	const uint32_t *materials, carom_mesh **painted);
/// Gives the checked cells of a field that nobody else holds other materials where it is. *done:
/// whether it could. If not, or on failure, the field is as it was.
carom_result cr_paint_field_in_place(carom_mesh *field, const carom_field_region *cells, const uint32_t *materials, bool *done);

#endif
