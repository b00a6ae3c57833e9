/// Height fields as closed meshes: the surface, a skirt down its four sides, and a flat bottom, so
/// that everything that works for meshes works for them: rays from below the surface find the way
/// up. A hole is a shaft down to the bottom, with walls of its own.

#include "world/height_field.h"

/// Sample numbers along the border, counter-clockwise seen from above, starting at (0, 0).
static int32_t border_sample(int32_t columns, int32_t rows, int32_t i)
{
	const int32_t c = columns - 1, r = rows - 1;
	if (i < c)
		return i;
	if (i < c + r)
		return (i - c) * columns + c;
	if (i < 2 * c + r)
		return r * columns + c - (i - c - r);
	return (r - (i - 2 * c - r)) * columns;
}

static int32_t *put_triangle(int32_t *t, int32_t a, int32_t b, int32_t c)
{
	t[0] = a;
	t[1] = b;
	t[2] = c;
	return t + 3;
}

/// Close the bottom by a ladder between its longer sides, with a fan at either end, in border - 2
/// triangles. Few of them lie over any place: in a fan around the middle a ray downwards met a
/// tenth of all, and a field cost samples times border. first: vertex number of the border's first
/// sample at the bottom.
static void fill_bottom(int32_t columns, int32_t rows, int32_t first, int32_t *triangles)
{
	const bool wide = columns >= rows;
	const int32_t along = (wide ? columns : rows) - 1, across = (wide ? rows : columns) - 1, border = 2 * (along + across);
	const int32_t start = wide ? 0 : across; // of a longer side
	const int32_t far = 2 * along + across;  // faces 0: i and far - i are the ends of a rung
	int32_t *t = triangles;
	for (int32_t i = far; i < border; i++)
		t = put_triangle(t, 1, i + 1, i);
	t = put_triangle(t, 1, far, far - 1);
	for (int32_t i = 1; i + 1 < along; i++) {
		t = put_triangle(t, far - i, i + 1, i);
		t = put_triangle(t, i + 1, far - i, far - i - 1);
	}
	for (int32_t i = along - 1; along > 1 && i < along + across; i++)
		t = put_triangle(t, along + across + 1, i + 1, i);
	for (int32_t *corner = triangles; corner < t; corner++)
		*corner = first + (start + *corner) % border;
}

static void fill_samples(const cr_field_plan *f, float *vertices)
{
	for (int32_t row = 0; row < f->rows; row++) {
		for (int32_t column = 0; column < f->columns; column++) {
			const int64_t i = (int64_t)row * f->columns + column;
			vertices[3 * i] = (float)(column * f->spacing[0]);
			vertices[3 * i + 1] = (float)(row * f->spacing[1]);
			vertices[3 * i + 2] = isnan(f->heights[i]) ? (float)f->lowest : f->heights[i];
		}
	}
}

/// Put a sample's place at the bottom.
static void put_below(const cr_field_plan *f, const float *vertices, int32_t sample, float *v)
{
	v[0] = vertices[3 * (int64_t)sample];
	v[1] = vertices[3 * (int64_t)sample + 1];
	v[2] = (float)f->bottom;
}

static int32_t *put_cell(int32_t *triangles, int32_t v, int32_t columns)
{
	triangles = put_triangle(triangles, v, v + 1, v + columns + 1);
	return put_triangle(triangles, v, v + columns + 1, v + columns);
}

static void fill_solid(const cr_field_plan *f, float *vertices, int32_t *triangles)
{
	const int32_t columns = f->columns, rows = f->rows;
	const int32_t border = 2 * (columns + rows - 2), samples = columns * rows;
	fill_samples(f, vertices);
	for (int32_t i = 0; i < border; i++)
		put_below(f, vertices, border_sample(columns, rows, i), &vertices[3 * ((int64_t)samples + i)]);
	for (int32_t row = 0; row + 1 < rows; row++) {
		for (int32_t column = 0; column + 1 < columns; column++)
			triangles = put_cell(triangles, row * columns + column, columns);
	}
	for (int32_t i = 0; i < border; i++) {
		const int32_t next = (i + 1) % border;
		const int32_t a = border_sample(columns, rows, i), b = border_sample(columns, rows, next);
		triangles = put_triangle(triangles, a, samples + i, samples + next);
		triangles = put_triangle(triangles, a, samples + next, b);
	}
	fill_bottom(columns, rows, samples, triangles);
}

// ---- Fields with holes ----
//
// A cell with a corner that is NaN is no part of the solid. Its two triangles stay in the list,
// with one corner three times, so that the numbers of all others tell their cell; detection leaves
// them out. A wall goes down wherever a cell is next to none, and each cell has its own bottom.

bool cr_is_field_cell(const cr_field_plan *f, int32_t column, int32_t row)
{
	if (column < 0 || row < 0 || column >= f->columns - 1 || row >= f->rows - 1)
		return false;
	const float *h = &f->heights[(int64_t)row * f->columns + column];
	return !isnan(h[0]) && !isnan(h[1]) && !isnan(h[f->columns]) && !isnan(h[f->columns + 1]);
}

/// Find the sides of a cell at which no other is, as pairs of samples counter-clockwise seen from
/// above. Returns their number.
static int find_walls(const cr_field_plan *f, int32_t column, int32_t row, int32_t walls[4][2])
{
	static const int32_t to[4][2] = { { 0, -1 }, { 1, 0 }, { 0, 1 }, { -1, 0 } };
	const int32_t v = row * f->columns + column;
	const int32_t corners[5] = { v, v + 1, v + f->columns + 1, v + f->columns, v };
	int count = 0;
	for (int k = 0; k < 4; k++) {
		if (cr_is_field_cell(f, column + to[k][0], row + to[k][1]))
			continue;
		walls[count][0] = corners[k];
		walls[count++][1] = corners[k + 1];
	}
	return count;
}

/// Count the triangles of a solid with holes.
static int64_t count_with_holes(const cr_field_plan *f)
{
	int64_t count = 0;
	for (int32_t row = 0; row + 1 < f->rows; row++) {
		for (int32_t column = 0; column + 1 < f->columns; column++) {
			int32_t walls[4][2];
			count += cr_is_field_cell(f, column, row) ? 4 + 2 * find_walls(f, column, row, walls) : 2;
		}
	}
	return count;
}

static void fill_with_holes(const cr_field_plan *f, float *vertices, int32_t *triangles)
{
	const int32_t columns = f->columns, rows = f->rows, samples = columns * rows;
	fill_samples(f, vertices);
	for (int32_t i = 0; i < samples; i++)
		put_below(f, vertices, i, &vertices[3 * ((int64_t)samples + i)]);
	int32_t *rest = triangles + 6 * (int64_t)(columns - 1) * (rows - 1);
	for (int32_t row = 0; row + 1 < rows; row++) {
		for (int32_t column = 0; column + 1 < columns; column++) {
			const int32_t v = row * columns + column, below = samples + v;
			if (!cr_is_field_cell(f, column, row)) {
				triangles = put_triangle(put_triangle(triangles, v, v, v), v, v, v);
				continue;
			}
			triangles = put_cell(triangles, v, columns);
			rest = put_triangle(rest, below, below + columns + 1, below + 1);
			rest = put_triangle(rest, below, below + columns, below + columns + 1);
			int32_t walls[4][2];
			const int count = find_walls(f, column, row, walls);
			for (int k = 0; k < count; k++) {
				const int32_t a = walls[k][0], b = walls[k][1];
				rest = put_triangle(rest, a, samples + a, samples + b);
				rest = put_triangle(rest, a, samples + b, b);
			}
		}
	}
}

static bool has_cells(const cr_field_plan *f)
{
	for (int32_t row = 0; row + 1 < f->rows; row++) {
		for (int32_t column = 0; column + 1 < f->columns; column++) {
			if (cr_is_field_cell(f, column, row))
				return true;
		}
	}
	return false;
}

// ---- Materials ----
//
// The numbers of the surface's triangles are the user's. A wall has that of the triangle whose side
// it hangs from. The bottom has, in a field with holes, that of the triangle above; else a triangle
// of the bottom has the number that the surface has at its first corner.

int32_t cr_first_triangle_at(const cr_field *f, int32_t sample)
{
	const int32_t column = sample % f->columns, row = sample / f->columns;
	// The lowest cell at the sample. Its first triangle has all corners but the last.
	const int32_t x = column > 0 ? column - 1 : 0, y = row > 0 ? row - 1 : 0;
	return 2 * (y * (f->columns - 1) + x) + (column == 0 && row > 0);
}

/// The sample that a vertex is, or lies below.
static int32_t sample_of(const cr_field *f, int32_t vertex)
{
	const int32_t samples = f->columns * f->rows;
	if (vertex < samples)
		return vertex;
	return f->holes ? vertex - samples : border_sample(f->columns, f->rows, vertex - samples);
}

/// The surface triangle that has an edge from one sample to the next on its left.
static int32_t triangle_beside(const cr_field *f, int32_t from, int32_t to)
{
	const int32_t step = to - from;
	// Of the four sides of a cell: its lowest sample.
	const int32_t cell = step == 1 ? from : step == f->columns ? from - 1 : step == -1 ? to - f->columns : to;
	return 2 * (cell / f->columns * (f->columns - 1) + cell % f->columns) + (step < 0);
}

/// The surface triangle whose number a triangle of a wall or of the bottom has.
static int32_t source_of(const cr_field *f, const int32_t corners[3])
{
	const int32_t a = sample_of(f, corners[0]), b = sample_of(f, corners[1]), c = sample_of(f, corners[2]);
	if (a == b || b == c) // a wall, from a to c
		return triangle_beside(f, a, c);
	if (!f->holes)
		return cr_first_triangle_at(f, a);
	return 2 * (a / f->columns * (f->columns - 1) + a % f->columns) + (b - a != f->columns + 1);
}

void cr_fill_field_materials(const carom_mesh *field, uint32_t *materials)
{
	const cr_topology *t = &field->topology;
	for (int64_t i = cr_surface_triangles(&field->field); i < t->triangle_count; i++)
		materials[i] = materials[source_of(&field->field, &t->triangles[3 * i])];
}

// ---- Making ----

/// Choose how many cells the inside-outside grid has along the longer side. A field is wide and
/// low: with the cells of a mesh (48 along the longest side) bodies upon it would lie in touched
/// cells altogether, and each of their vertices would cast a ray. Cells of half the smaller spacing
/// tell nearly all of them apart (terrain of 81 x 81 samples, 1,000 bodies). They are no smaller
/// than a quarter of the larger spacing: else their number, and that of the cells that a triangle
/// touches, would follow the ratio of the two.
int32_t cr_field_resolution(int32_t columns, int32_t rows, const double spacing[2])
{
	const double longest = fmax((columns - 1) * spacing[0], (rows - 1) * spacing[1]);
	const double cell = fmax(0.5 * fmin(spacing[0], spacing[1]), 0.25 * fmax(spacing[0], spacing[1]));
	return (int32_t)fmax(48, fmin(longest / cell, 1024));
}

/// First sample along a side that float does not tell from the one before it, or -1.
static int32_t unresolved_sample(int32_t count, double spacing)
{
	for (int32_t i = 1; i < count; i++) {
		if (!((float)(i * spacing) > (float)((i - 1) * spacing)))
			return i;
	}
	return -1;
}

static carom_result check_spacing(carom_context *context, int k, int32_t count, double spacing)
{
	static const char *const name = "carom_create_height_field", *const sides[2] = { "columns", "rows" };
	if (!(spacing > 0 && spacing <= CAROM_MAX_COORDINATE))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: spacing[%d] is %g; it must be above 0 and at most %g", name, k,
			spacing, CAROM_MAX_COORDINATE);
	if ((count - 1) * spacing > CAROM_MAX_COORDINATE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: spacing[%d] is %g, with which %d %s end at %g, beyond the limit of %g", name, k, spacing, count, sides[k],
			(count - 1) * spacing, CAROM_MAX_COORDINATE);
	const int32_t sample = unresolved_sample(count, spacing);
	if (sample >= 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: spacing[%d] is %g, which float does not resolve between %s %d and %d", name, k, spacing, sides[k], sample - 1,
			sample);
	return CAROM_SUCCESS;
}

static carom_result check_field(
	carom_context *context, int32_t columns, int32_t rows, const float *heights, const double spacing[2], double thickness)
{
	static const char *const name = "carom_create_height_field";
	if (columns < 2 || rows < 2)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is %d; it must be at least 2", name,
			columns < 2 ? "columns" : "rows", columns < 2 ? columns : rows);
	if ((int64_t)columns * rows > 250000000)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %d x %d samples are more than 250 million", name, columns, rows);
	if (!heights || !spacing)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, heights ? "spacing" : "heights");
	for (int k = 0; k < 2; k++) {
		const carom_result result = check_spacing(context, k, k ? rows : columns, spacing[k]);
		if (result != CAROM_SUCCESS)
			return result;
	}
	if (!(thickness > 0 && thickness <= CAROM_MAX_COORDINATE))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: thickness is %g; it must be above 0 and at most %g", name,
			thickness, CAROM_MAX_COORDINATE);
	return CAROM_SUCCESS;
}

/// Look for the lowest height and for holes.
static carom_result read_heights(carom_context *context, cr_field_plan *f)
{
	static const char *const name = "carom_create_height_field";
	const int64_t samples = (int64_t)f->columns * f->rows;
	f->lowest = INFINITY;
	for (int64_t i = 0; i < samples; i++) {
		if (isinf(f->heights[i]))
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: heights[%lld] is infinite", name, (long long)i);
		if (isnan(f->heights[i]))
			f->holes = true;
		else
			f->lowest = fmin(f->lowest, f->heights[i]);
	}
	if (f->holes && !has_cells(f))
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "%s: heights leaves only holes: each cell has a corner that is NaN", name);
	return CAROM_SUCCESS;
}

/// Keep the source of a field with its mesh. false: out of memory.
static bool keep_field(const cr_field_plan *f, carom_mesh *mesh)
{
	const size_t samples = (size_t)f->columns * (size_t)f->rows;
	mesh->field = (cr_field){ f->columns, f->rows, { f->spacing[0], f->spacing[1] }, f->bottom, NULL };
	if (!f->holes)
		return true;
	mesh->field.holes = cr_alloc(mesh->context, samples);
	for (size_t i = 0; mesh->field.holes && i < samples; i++)
		mesh->field.holes[i] = isnan(f->heights[i]);
	return mesh->field.holes;
}

carom_result cr_make_field(carom_context *context, const cr_field_plan *f, carom_mesh **mesh)
{
	const int64_t samples = (int64_t)f->columns * f->rows, border = 2 * ((int64_t)f->columns + f->rows - 2);
	const int64_t vertex_count = samples + (f->holes ? samples : border);
	const int64_t triangle_count =
		f->holes ? count_with_holes(f) : 2 * (int64_t)(f->columns - 1) * (f->rows - 1) + 3 * border - 2;
	const size_t vertex_bytes = 3 * (size_t)vertex_count * sizeof(float),
				 triangle_bytes = 3 * (size_t)triangle_count * sizeof(int32_t);
	float *vertices = cr_alloc(context, vertex_bytes);
	int32_t *triangles = cr_alloc(context, triangle_bytes);
	carom_result result;
	if (vertices && triangles) {
		(f->holes ? fill_with_holes : fill_solid)(f, vertices, triangles);
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
		def.vertex_count = (int32_t)vertex_count;
		def.triangles = triangles;
		def.triangle_count = (int32_t)triangle_count;
		def.grid_resolution = cr_field_resolution(f->columns, f->rows, f->spacing);
		const cr_rows rows = cr_rows_of_samples(f->columns, f->rows, f->spacing);
		result = cr_create_field_mesh(context, &def, &rows, mesh);
		if (result == CAROM_SUCCESS && !keep_field(f, *mesh)) {
			carom_release_mesh(*mesh);
			*mesh = NULL;
			result = cr_fail_memory(context, "a height field");
		}
	} else {
		result = cr_fail_memory(context, "a height field");
	}
	cr_free(context, vertices, vertex_bytes);
	cr_free(context, triangles, triangle_bytes);
	return result;
}

/// A field of checked samples and lowest height.
static carom_result make_above(carom_context *context, const cr_field_plan *f, double thickness, carom_mesh **mesh)
{
	static const char *const name = "carom_create_height_field";
	// A bottom that float cannot tell from the lowest sample would not enclose anything there.
	if (!((float)f->bottom < (float)f->lowest))
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: thickness is %g, which float does not resolve below a height of %g", name, thickness, f->lowest);
	return cr_make_field(context, f, mesh);
}

carom_result carom_create_height_field(carom_context *context, int32_t columns, int32_t rows, const float *heights,
	const double spacing[2], double thickness, carom_mesh **mesh)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!mesh)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_height_field: mesh is NULL");
	*mesh = NULL;
	carom_result result = check_field(context, columns, rows, heights, spacing, thickness);
	if (result != CAROM_SUCCESS)
		return result;
	cr_field_plan f = { .columns = columns, .rows = rows, .heights = heights, .spacing = spacing };
	result = read_heights(context, &f);
	if (result != CAROM_SUCCESS)
		return result;
	f.bottom = f.lowest - thickness;
	return make_above(context, &f, thickness, mesh);
}

carom_result cr_restore_field(carom_context *context, cr_field_plan *f, carom_mesh **mesh)
{
	carom_result result = check_field(context, f->columns, f->rows, f->heights, f->spacing, 1);
	if (result == CAROM_SUCCESS)
		result = read_heights(context, f);
	return result == CAROM_SUCCESS ? make_above(context, f, f->lowest - f->bottom, mesh) : result;
}
