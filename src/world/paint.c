/// Other materials for meshes that there are: hulls and height fields get theirs so.
///
/// A mesh does not change, so a painted one is a copy of all arrays but those of the materials.
/// Only the field of a body that nobody else holds takes them where it is.

#include "world/baked.h"
#include "world/height_field.h"
#include <string.h>

static const char *const name = "carom_create_painted_mesh";

// ---- Whole meshes ----

/// The numbers that a mesh takes: one for each triangle, of a field for each of its surface.
static int64_t count_of(const carom_mesh *mesh)
{
	return mesh->field.columns > 0 ? cr_surface_triangles(&mesh->field) : mesh->topology.triangle_count;
}

static carom_result check(carom_context *context, const carom_mesh *mesh, const uint32_t *materials, int32_t count)
{
	if (!mesh)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: mesh is NULL", name);
	if (!materials && count != 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: materials is NULL, but count is %d", name, (int)count);
	const long long all = (long long)count_of(mesh);
	if (materials && count != 1 && count != all)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			mesh->field.columns > 0 ? "%s: count is %d; it must be 1, or %lld, two for each cell of the height field"
									: "%s: count is %d; it must be 1, or %lld, one for each triangle",
			name, (int)count, all);
	return CAROM_SUCCESS;
}

/// The materials of triangles and vertices of a mesh that is to be painted.
typedef struct paint {
	uint32_t *of_triangle; // [triangles]
	uint32_t *of_vertex;   // [vertices]
} paint;

static void free_paint(carom_context *context, const carom_mesh *mesh, const paint *p)
{
	cr_free(context, p->of_vertex, (size_t)mesh->topology.vertex_count * sizeof *p->of_vertex);
	cr_free(context, p->of_triangle, (size_t)mesh->topology.triangle_count * sizeof *p->of_triangle);
}

/// false: out of memory, with nothing to free.
static bool alloc_paint(carom_context *context, const carom_mesh *mesh, paint *p)
{
	p->of_triangle = cr_alloc_array(context, (size_t)mesh->topology.triangle_count, sizeof *p->of_triangle);
	p->of_vertex = cr_alloc_array(context, (size_t)mesh->topology.vertex_count, sizeof *p->of_vertex);
	if (p->of_triangle && p->of_vertex)
		return true;
	free_paint(context, mesh, p);
	return false;
}

/// Spread the numbers of a field's surface to its walls, and those of triangles to vertices.
static void spread(const carom_mesh *mesh, uint32_t *of_triangle, uint32_t *of_vertex)
{
	if (mesh->field.columns > 0)
		cr_fill_field_materials(mesh, of_triangle);
	cr_find_vertex_materials(&mesh->topology, of_triangle, of_vertex);
}

static carom_result copy_painted(carom_context *context, const carom_mesh *mesh, const paint *p, carom_mesh **painted)
{
	spread(mesh, p->of_triangle, p->of_vertex);
	return cr_copy_painted(context, mesh, p->of_triangle, p->of_vertex, painted);
}

carom_result carom_create_painted_mesh(
	carom_context *context, const carom_mesh *mesh, const uint32_t *materials, int32_t count, carom_mesh **painted)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!painted)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: painted is NULL", name);
	*painted = NULL;
	carom_result result = check(context, mesh, materials, count);
	if (result != CAROM_SUCCESS)
		return result;
	if (!materials || mesh->topology.triangle_count == 0)
		return cr_copy_painted(context, mesh, NULL, NULL, painted);
	paint p;
	if (!alloc_paint(context, mesh, &p))
		return cr_fail_memory(context, "the materials of a mesh");
	for (int64_t i = 0; i < count_of(mesh); i++)
		p.of_triangle[i] = materials[count == 1 ? 0 : i];
	result = copy_painted(context, mesh, &p, painted);
	free_paint(context, mesh, &p);
	return result;
}

// ---- Cells of a field ----

carom_result cr_check_field_paint(carom_context *context, const char *function, const carom_mesh *field,
	const carom_field_region *cells, const uint32_t *materials)
{
	if (!cells || !materials)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, cells ? "materials" : "region");
	const cr_field *f = &field->field;
	const cr_field_side sides[2] = {
		{ "first_column", "columns", cells->first_column, cells->columns, f->columns - 1, "columns of cells" },
		{ "first_row", "rows", cells->first_row, cells->rows, f->rows - 1, "rows of cells" },
	};
	const carom_result result = cr_check_field_side(context, function, &sides[0]);
	return result == CAROM_SUCCESS ? cr_check_field_side(context, function, &sides[1]) : result;
}

static void write_cells(const cr_field *f, const carom_field_region *cells, const uint32_t *materials, uint32_t *of_triangle)
{
	const size_t row_bytes = 2 * (size_t)cells->columns * sizeof *materials;
	for (int32_t row = 0; row < cells->rows; row++) {
		const int64_t first = 2 * ((int64_t)(cells->first_row + row) * (f->columns - 1) + cells->first_column);
		memcpy(of_triangle + first, materials + 2 * (int64_t)row * cells->columns, row_bytes);
	}
}

carom_result cr_paint_field(carom_context *context, const carom_mesh *field, const carom_field_region *cells,
	const uint32_t *materials, carom_mesh **painted)
{
	paint p;
	if (!alloc_paint(context, field, &p))
		return cr_fail_memory(context, "the materials of a height field");
	const size_t bytes = (size_t)field->topology.triangle_count * sizeof *p.of_triangle;
	if (field->materials)
		memcpy(p.of_triangle, field->materials, bytes);
	else
		memset(p.of_triangle, 0, bytes);
	write_cells(&field->field, cells, materials, p.of_triangle);
	const carom_result result = copy_painted(context, field, &p, painted);
	free_paint(context, field, &p);
	return result;
}

/// Can the rest of a field stay as it is? Not where walls or bottom hang from the cells.
static bool is_inside(const cr_field *f, const carom_field_region *cells)
{
	return !f->holes && cells->first_column > 0 && cells->first_row > 0 &&
		cells->first_column + cells->columns < f->columns - 1 && cells->first_row + cells->rows < f->rows - 1;
}

/// The materials of the samples at some cells.
static void spread_inside(carom_mesh *field, const carom_field_region *cells)
{
	const cr_field *f = &field->field;
	for (int32_t row = cells->first_row; row <= cells->first_row + cells->rows; row++) {
		for (int32_t column = cells->first_column; column <= cells->first_column + cells->columns; column++) {
			const int32_t sample = row * f->columns + column;
			field->vertex_materials[sample] = field->materials[cr_first_triangle_at(f, sample)];
		}
	}
}

carom_result cr_paint_field_in_place(carom_mesh *field, const carom_field_region *cells, const uint32_t *materials, bool *done)
{
	*done = false;
	// A block is the user's, or has no room for materials.
	if (field->baked_bytes > 0 && (!field->baked || !field->materials))
		return CAROM_SUCCESS;
	if (!field->materials) {
		paint p;
		if (!alloc_paint(field->context, field, &p))
			return cr_fail_memory(field->context, "the materials of a height field");
		memset(p.of_triangle, 0, (size_t)field->topology.triangle_count * sizeof *p.of_triangle);
		memset(p.of_vertex, 0, (size_t)field->topology.vertex_count * sizeof *p.of_vertex);
		field->materials = p.of_triangle;
		field->vertex_materials = p.of_vertex;
	}
	write_cells(&field->field, cells, materials, field->materials);
	field->one_material = false;
	if (is_inside(&field->field, cells))
		spread_inside(field, cells);
	else
		spread(field, field->materials, field->vertex_materials);
	*done = true;
	return CAROM_SUCCESS;
}
