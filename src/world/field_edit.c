/// Height fields with other heights in a rectangle. See carom_create_edited_field.
///
/// The edited field is a copy, in one block but for its facets, whose vertices move; all made of
/// them is refitted near the rectangle. Where holes open or close the triangles are others, and
/// the field is made again. Cost: copying the mesh, a short test of each sample's way out, and the
/// work near the rectangle.

#include "world/baked.h"
#include "world/height_field.h"
#include <string.h>

static const char *const name = "carom_create_edited_field";

/// An edit on its way.
typedef struct edit {
	carom_context *context;
	const carom_mesh *from;
	const carom_field_region *region;
	const float *heights; // [region->rows][region->columns]
} edit;

// ---- Checks ----

static carom_result check_side(
	carom_context *context, const char *of_first, int32_t first, const char *of_count, int32_t count, int32_t all)
{
	if (first < 0 || first >= all)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: region.%s is %d; the field has %s 0 to %d", name, of_first,
			(int)first, of_count, (int)all - 1);
	if (count < 1 || count > all - first)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: region.%s is %d; from %s %d on there are %d", name, of_count,
			(int)count, of_first, (int)first, (int)(all - first));
	return CAROM_SUCCESS;
}

static carom_result check_heights(const edit *e)
{
	const int64_t count = (int64_t)e->region->columns * e->region->rows;
	const float bottom = (float)e->from->field.bottom;
	for (int64_t i = 0; i < count; i++) {
		const float height = e->heights[i];
		if (isnan(height))
			continue;
		if (!(fabsf(height) <= CAROM_MAX_COORDINATE))
			return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: heights[%lld] is %g; it must lie within %g of 0", name,
				(long long)i, height, CAROM_MAX_COORDINATE);
		if (!(height > bottom))
			return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: heights[%lld] is %g; the bottom of the field is at %g",
				name, (long long)i, height, bottom);
	}
	return CAROM_SUCCESS;
}

static carom_result check(const edit *e)
{
	if (!e->from)
		return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: field is NULL", name);
	if (e->from->field.columns == 0)
		return cr_fail(
			e->context, CAROM_INVALID_ARGUMENT, "%s: field is no height field: carom_create_height_field makes one", name);
	if (!e->region || !e->heights)
		return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, e->region ? "heights" : "region");
	const carom_field_region *r = e->region;
	const cr_field *f = &e->from->field;
	carom_result result = check_side(e->context, "first_column", r->first_column, "columns", r->columns, f->columns);
	if (result == CAROM_SUCCESS)
		result = check_side(e->context, "first_row", r->first_row, "rows", r->rows, f->rows);
	return result == CAROM_SUCCESS ? check_heights(e) : result;
}

// ---- Holes ----

/// The number of a sample of the region in the field.
static int64_t sample_at(const edit *e, int64_t i)
{
	return (e->region->first_row + i / e->region->columns) * e->from->field.columns + e->region->first_column +
		i % e->region->columns;
}

/// The height of a sample of the field as it was, or NaN.
static float height_before(const carom_mesh *mesh, int64_t sample)
{
	return mesh->field.holes && mesh->field.holes[sample] ? NAN : mesh->topology.vertices[3 * sample + 2];
}

/// The height that the edited field has there.
static float height_after(const edit *e, int32_t column, int32_t row)
{
	const carom_field_region *r = e->region;
	const int32_t x = column - r->first_column, y = row - r->first_row;
	if (x < 0 || y < 0 || x >= r->columns || y >= r->rows)
		return height_before(e->from, (int64_t)row * e->from->field.columns + column);
	return e->heights[(int64_t)y * r->columns + x];
}

static bool is_cell_after(const edit *e, int32_t column, int32_t row)
{
	bool all = true;
	for (int k = 0; k < 4; k++)
		all = all && !isnan(height_after(e, column + k % 2, row + k / 2));
	return all;
}

static bool is_cell_before(const edit *e, int32_t column, int32_t row)
{
	bool all = true;
	for (int k = 0; k < 4; k++)
		all = all && !isnan(height_before(e->from, (int64_t)(row + k / 2) * e->from->field.columns + column + k % 2));
	return all;
}

/// Does a cell open or close?
static bool cells_change(const edit *e)
{
	const carom_field_region *r = e->region;
	const cr_field *f = &e->from->field;
	for (int32_t row = r->first_row - 1; row < r->first_row + r->rows; row++) {
		for (int32_t column = r->first_column - 1; column < r->first_column + r->columns; column++) {
			if (row < 0 || column < 0 || row >= f->rows - 1 || column >= f->columns - 1)
				continue;
			if (is_cell_before(e, column, row) != is_cell_after(e, column, row))
				return true;
		}
	}
	return false;
}

/// Make the field again from all its heights.
static carom_result make_again(const edit *e, carom_mesh **edited)
{
	const cr_field *f = &e->from->field;
	const int64_t samples = (int64_t)f->columns * f->rows;
	const size_t bytes = (size_t)samples * sizeof(float);
	float *heights = cr_alloc(e->context, bytes);
	if (!heights)
		return cr_fail_memory(e->context, "a height field");
	cr_field_plan plan = { f->columns, f->rows, heights, f->spacing, INFINITY, f->bottom, false };
	bool cells = false;
	for (int64_t i = 0; i < samples; i++) {
		heights[i] = height_after(e, (int32_t)(i % f->columns), (int32_t)(i / f->columns));
		plan.holes = plan.holes || isnan(heights[i]);
		plan.lowest = heights[i] < plan.lowest ? heights[i] : plan.lowest;
	}
	for (int64_t i = 0; i < samples && !cells; i++)
		cells = cr_is_field_cell(&plan, (int32_t)(i % f->columns), (int32_t)(i / f->columns));
	const carom_result result = cells
		? cr_make_field(e->context, &plan, edited)
		: cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: heights leaves only holes: each cell has a corner that is NaN", name);
	cr_free(e->context, heights, bytes);
	return result;
}

// ---- Refitting ----

/// The vertices that move.
typedef struct moves {
	int32_t *vertices; // [room]
	float *places;     // [3 * room]
	int32_t count;
	size_t room;
} moves;

static void free_moves(carom_context *context, moves *m)
{
	cr_free(context, m->vertices, m->room * sizeof *m->vertices);
	cr_free(context, m->places, 3 * m->room * sizeof *m->places);
}

/// List the vertices that move, with their places. false: out of memory, with nothing to free.
static bool list_moves(const edit *e, moves *m)
{
	*m = (moves){ .room = (size_t)e->region->columns * (size_t)e->region->rows };
	m->vertices = cr_alloc_array(e->context, m->room, sizeof *m->vertices);
	m->places = cr_alloc_array(e->context, m->room, 3 * sizeof *m->places);
	if (!m->vertices || !m->places) {
		free_moves(e->context, m);
		return false;
	}
	const float *before = e->from->topology.vertices;
	for (int64_t i = 0; i < (int64_t)m->room; i++) {
		const int64_t sample = sample_at(e, i);
		if (isnan(e->heights[i]) || e->heights[i] == before[3 * sample + 2])
			continue;
		float *place = m->places + 3 * (int64_t)m->count;
		memcpy(place, before + 3 * sample, 2 * sizeof *place);
		place[2] = e->heights[i];
		m->vertices[m->count++] = (int32_t)sample;
	}
	return true;
}

/// Note which samples are NaN. They are corners of no cell, before and after.
static void set_holes(const edit *e, uint8_t *holes)
{
	const int64_t samples = (int64_t)e->region->columns * e->region->rows;
	for (int64_t i = 0; holes && i < samples; i++)
		holes[sample_at(e, i)] = isnan(e->heights[i]);
}

static void mend_report(carom_mesh *mesh, const cr_change *change)
{
	mesh->report.area += change->area;
	mesh->report.volume += change->volume;
	for (int k = 0; k < 3; k++) {
		mesh->report.lower[k] = mesh->collider.lower[k];
		mesh->report.upper[k] = mesh->collider.upper[k];
	}
}

/// Make the facets of a refitted copy: near the change alone, where the box of the field stays, and
/// with it what counts as flat.
static carom_result refit_facets(const edit *e, const cr_change *change, carom_mesh *mesh)
{
	const cr_collider *before = &e->from->collider, *after = &mesh->collider;
	const bool closed = mesh->report.closed && mesh->report.components == 1;
	carom_result result = CAROM_INVALID_MESH;
	if (memcmp(before->lower, after->lower, sizeof after->lower) == 0 &&
		memcmp(before->upper, after->upper, sizeof after->upper) == 0)
		result = cr_facets_refit(
			e->context, &mesh->topology, change, &e->from->facets, after->lower, after->upper, closed, &mesh->facets);
	if (result == CAROM_INVALID_MESH)
		result = cr_facets_build(e->context, &mesh->topology, closed, &mesh->facets) ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
	return result == CAROM_SUCCESS ? result : cr_fail_memory(e->context, "the facets of a mesh");
}

/// Refit a copy, whose facets and touched cells go beside its block.
static carom_result refit(const edit *e, const moves *m, carom_mesh *mesh, cr_change *change, cr_field_work *work)
{
	const cr_field *f = &mesh->field;
	mesh->edited = true;
	cr_surroundings near;
	carom_result result = cr_collider_surroundings(e->context, &mesh->collider, m->vertices, m->count, &near);
	if (result != CAROM_SUCCESS)
		return result;
	work->surroundings = near.count;
	result = cr_topology_refit(e->context, &mesh->topology, m->vertices, m->places, m->count, &near, change);
	cr_surroundings_free(e->context, &near);
	if (result == CAROM_SUCCESS)
		result = cr_collider_refit(
			e->context, &mesh->collider, change, true, cr_field_resolution(f->columns, f->rows, f->spacing), &work->nodes);
	if (result == CAROM_SUCCESS)
		result = refit_facets(e, change, mesh);
	if (result == CAROM_SUCCESS)
		mend_report(mesh, change);
	set_holes(e, mesh->field.holes);
	return result;
}

static carom_result copy_and_refit(const edit *e, const moves *m, cr_field_work *work, carom_mesh **edited)
{
	cr_change change = { 0 };
	carom_mesh *copy = NULL;
	carom_result result = cr_copy_mesh(e->context, e->from, CR_COPY_UNFACETED, &copy);
	if (result != CAROM_SUCCESS)
		return result;
	result = refit(e, m, copy, &change, work);
	work->vertices = m->count;
	work->triangles = change.triangle_count;
	work->normals = change.normal_count;
	cr_change_free(e->context, &change);
	if (result == CAROM_SUCCESS)
		*edited = copy;
	else
		carom_release_mesh(copy);
	return result;
}

carom_result cr_edit_field(carom_context *context, const carom_mesh *field, const carom_field_region *region,
	const float *heights, cr_field_work *work, carom_mesh **edited)
{
	*work = (cr_field_work){ 0 };
	const edit e = { context, field, region, heights };
	carom_result result = check(&e);
	if (result != CAROM_SUCCESS)
		return result;
	if (cells_change(&e))
		return make_again(&e, edited);
	moves m;
	if (!list_moves(&e, &m))
		return cr_fail_memory(context, "a height field");
	result = copy_and_refit(&e, &m, work, edited);
	free_moves(context, &m);
	return result == CAROM_INVALID_MESH ? make_again(&e, edited) : result;
}

carom_result carom_create_edited_field(carom_context *context, const carom_mesh *field, const carom_field_region *region,
	const float *heights, carom_mesh **edited)
{
	cr_field_work work;
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!edited)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: edited is NULL", name);
	*edited = NULL;
	return cr_edit_field(context, field, region, heights, &work, edited);
}
