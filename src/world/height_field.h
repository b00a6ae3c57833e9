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
/// Cells of the grid along the longer side.
int32_t cr_field_resolution(int32_t columns, int32_t rows, const double spacing[2]);

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

#endif
