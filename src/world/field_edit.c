/// Height fields with other heights in a rectangle. See carom_create_edited_field.
///
/// A field changes where it is: vertices move, and all made of them is refitted near the rectangle,
/// in time that goes by it. carom_create_edited_field does so to a copy. That lies in one block,
/// and its facets beside it. Where holes open or close the triangles are others, and the field is
/// made again. Where the box of the field changes, facets and perhaps the grid are made whole,
/// since the tolerance of flatness and the places of cells follow from it.
///
/// A failure leaves a field as it was. All memory is taken before anything is written or else
/// the old values are put back, which takes none.

#include "mesh/thin_facets.h"
#include "world/baked.h"
#include "world/height_field.h"
#include <string.h>

/// An edit on its way.
typedef struct edit {
	carom_context *context;
	const char *function; // for texts
	const carom_mesh *from;
	const carom_field_region *region;
	const float *heights; // [region->rows][region->columns]
} edit;

// ---- Checks ----

carom_result cr_check_field_side(carom_context *context, const char *function, const cr_field_side *s)
{
	if (s->first < 0 || s->first >= s->all)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: region.%s is %d; the field has %s 0 to %d", function, s->of_first,
			(int)s->first, s->unit, (int)s->all - 1);
	if (s->count < 1 || s->count > s->all - s->first)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: region.%s is %d; from %s %d on there are %d", function,
			s->of_count, (int)s->count, s->of_first, (int)s->first, (int)(s->all - s->first));
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
			return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: heights[%lld] is %g; it must lie within %g of 0",
				e->function, (long long)i, height, CAROM_MAX_COORDINATE);
		if (!(height > bottom))
			return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: heights[%lld] is %g; the bottom of the field is at %g",
				e->function, (long long)i, height, bottom);
	}
	return CAROM_SUCCESS;
}

static carom_result check(const edit *e)
{
	if (!e->from)
		return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: field is NULL", e->function);
	if (e->from->field.columns == 0)
		return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: field is no height field: carom_create_height_field makes one",
			e->function);
	if (!e->region || !e->heights)
		return cr_fail(e->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", e->function, e->region ? "heights" : "region");
	const carom_field_region *r = e->region;
	const cr_field *f = &e->from->field;
	const cr_field_side sides[2] = { { "first_column", "columns", r->first_column, r->columns, f->columns, "columns" },
		{ "first_row", "rows", r->first_row, r->rows, f->rows, "rows" } };
	carom_result result = cr_check_field_side(e->context, e->function, &sides[0]);
	if (result == CAROM_SUCCESS)
		result = cr_check_field_side(e->context, e->function, &sides[1]);
	return result == CAROM_SUCCESS ? check_heights(e) : result;
}

// ---- Holes ----

/// The number of a sample of the region in the field.
static int64_t sample_at(const edit *e, int64_t i)
{
	return (e->region->first_row + i / e->region->columns) * e->from->field.columns + e->region->first_column +
		i % e->region->columns;
}

float cr_field_height(const carom_mesh *mesh, int64_t sample)
{
	return mesh->field.holes && mesh->field.holes[sample] ? NAN : mesh->topology.vertices[3 * sample + 2];
}

/// The height that the edited field has there.
static float height_after(const edit *e, int32_t column, int32_t row)
{
	const carom_field_region *r = e->region;
	const int32_t x = column - r->first_column, y = row - r->first_row;
	if (x < 0 || y < 0 || x >= r->columns || y >= r->rows)
		return cr_field_height(e->from, (int64_t)row * e->from->field.columns + column);
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
		all = all && !isnan(cr_field_height(e->from, (int64_t)(row + k / 2) * e->from->field.columns + column + k % 2));
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

/// Give a field that was made again the materials that its surface had.
static carom_result keep_materials(const edit *e, carom_mesh *edited)
{
	if (!e->from->materials)
		return CAROM_SUCCESS;
	const int64_t count = edited->topology.triangle_count;
	uint32_t *materials = cr_alloc_array(e->context, (size_t)count, sizeof *materials);
	if (!materials)
		return cr_fail_memory(e->context, "the materials of a height field");
	memcpy(materials, e->from->materials, (size_t)cr_surface_triangles(&e->from->field) * sizeof *materials);
	cr_fill_field_materials(edited, materials);
	const carom_result result = cr_keep_materials(edited, materials);
	cr_free(e->context, materials, (size_t)count * sizeof *materials);
	return result;
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
	carom_result result = cells ? cr_make_field(e->context, &plan, edited)
								: cr_fail(e->context, CAROM_INVALID_ARGUMENT,
									  "%s: heights leaves only holes: each cell has a corner that is NaN", e->function);
	cr_free(e->context, heights, bytes);
	if (result != CAROM_SUCCESS)
		return result;
	result = keep_materials(e, *edited);
	if (result != CAROM_SUCCESS) {
		carom_release_mesh(*edited);
		*edited = NULL;
	}
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

/// The old values of a field where it changes.
typedef struct keepsake {
	float *places;  // [3 * moves] of the vertices that move
	float *normals; // [9 * near] of the corners of the surroundings
} keepsake;

/// A field that is refitted.
typedef struct refit {
	const moves *moves;
	carom_mesh *mesh;
	cr_surroundings near;
	keepsake old;
	cr_change change;
	bool owned;            // the arrays lie each for itself
	cr_facet_change *plan; // of thin facets; NULL: made takes their place
	cr_facets made;
	cr_grid grid; // takes the place of the other, if it has cells
} refit;

static size_t place_bytes(const refit *r) { return 3 * (size_t)r->moves->count * sizeof(float); }
static size_t normal_bytes(const refit *r) { return 9 * (size_t)r->near.count * sizeof(float); }

/// The normal of a corner of the surroundings.
static float *normal_of(const refit *r, int64_t corner)
{
	const cr_topology *t = &r->mesh->topology;
	return &t->normals[3 * (int64_t)t->triangles[3 * (int64_t)r->near.triangles[corner / 3] + corner % 3]];
}

/// Keep the values that the edit will write over. false: out of memory.
static bool keep_old(refit *r)
{
	const cr_topology *t = &r->mesh->topology;
	r->old.places = cr_alloc(r->mesh->context, place_bytes(r));
	r->old.normals = cr_alloc(r->mesh->context, normal_bytes(r));
	if (!r->old.places || (r->near.count > 0 && !r->old.normals))
		return false;
	for (int32_t i = 0; i < r->moves->count; i++)
		memcpy(&r->old.places[3 * (int64_t)i], &t->vertices[3 * (int64_t)r->moves->vertices[i]], 3 * sizeof(float));
	for (int64_t i = 0; i < 3 * (int64_t)r->near.count; i++)
		memcpy(&r->old.normals[3 * i], normal_of(r, i), 3 * sizeof(float));
	return true;
}

/// Put the vertices back where they were. Their neighbours' normals too.
static void put_back(refit *r)
{
	const cr_topology *t = &r->mesh->topology;
	for (int32_t i = 0; i < r->moves->count; i++)
		memcpy(&t->vertices[3 * (int64_t)r->moves->vertices[i]], &r->old.places[3 * (int64_t)i], 3 * sizeof(float));
	for (int64_t i = 0; i < 3 * (int64_t)r->near.count; i++)
		memcpy(normal_of(r, i), &r->old.normals[3 * i], 3 * sizeof(float));
}

// ---- Facets ----

/// Make all facets.
static carom_result make_facets(refit *r, const float lower[3], const float upper[3])
{
	carom_context *context = r->mesh->context;
	const cr_collider *after = &r->mesh->collider;
	const cr_topology *t = &r->mesh->topology;
	const bool closed = r->mesh->report.closed && r->mesh->report.components == 1;
	carom_result result = CAROM_INVALID_MESH;
	if (!r->mesh->facets.thin && memcmp(lower, after->lower, sizeof after->lower) == 0 &&
		memcmp(upper, after->upper, sizeof after->upper) == 0)
		result = cr_facets_refit(context, t, &r->change, &r->mesh->facets, after->lower, after->upper, closed, &r->made);
	if (result == CAROM_INVALID_MESH)
		return cr_thin_facets_build(context, t, closed, &r->made) ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
	if (result == CAROM_SUCCESS && !cr_facets_thin(context, t, &r->made))
		result = CAROM_OUT_OF_MEMORY;
	return result;
}

/// Plan the change of thin facets.
static carom_result plan_facets(refit *r)
{
	carom_context *context = r->mesh->context;
	const cr_collider *c = &r->mesh->collider;
	carom_result result = cr_plan_facet_change(context, &r->change, c->lower, c->upper, &r->mesh->facets, &r->plan);
	if (result != CAROM_SUCCESS)
		return result;
	int32_t count;
	cr_surroundings around;
	// Facets of walls and of the bottom may reach far: their box may be that of the field.
	if (r->mesh->field.holes || !cr_surroundings_of_facet_change(r->plan, &around)) {
		const int32_t *vertices = cr_vertices_of_facet_change(r->plan, &count);
		result = cr_collider_surroundings(context, c, vertices, count, &around);
	}
	if (result != CAROM_SUCCESS)
		return result;
	cr_mark_facet_change(r->plan, &around);
	cr_surroundings_free(context, &around);
	return CAROM_SUCCESS;
}

/// Make the new facets beside the old ones: near the change alone, where the box of the field stays
/// that was lower and upper, and with it the tolerance of flatness.
static carom_result prepare_facets(refit *r, const float lower[3], const float upper[3])
{
	const cr_collider *c = &r->mesh->collider;
	carom_result result = CAROM_INVALID_MESH;
	if (r->mesh->facets.thin && memcmp(lower, c->lower, sizeof c->lower) == 0 && memcmp(upper, c->upper, sizeof c->upper) == 0)
		result = plan_facets(r);
	return result == CAROM_INVALID_MESH ? make_facets(r, lower, upper) : result;
}

static void take_facets(refit *r)
{
	if (r->plan) {
		cr_take_facet_change(r->plan);
		return;
	}
	cr_facets_free(r->mesh->context, &r->mesh->facets);
	r->mesh->facets = r->made;
}

// ---- All ----

/// Bring the grid up to date, or make another beside it.
static carom_result prepare_grid(refit *r, float scale)
{
	carom_context *context = r->mesh->context;
	const cr_field *f = &r->mesh->field;
	cr_collider *c = &r->mesh->collider;
	if (c->grid.cells && c->scale == scale && cr_grid_holds(c, &c->grid))
		return cr_grid_refit(context, c, &r->change, r->owned, &c->grid);
	return cr_grid_build(context, c, cr_field_resolution(f->columns, f->rows, f->spacing), &r->grid);
}

/// Refit the trees, the facets and the grid. On failure they are as they were, once the vertices
/// are.
static carom_result refit_all(refit *r, cr_field_work *work)
{
	cr_collider *c = &r->mesh->collider;
	float lower[3], upper[3];
	const float scale = c->scale;
	memcpy(lower, c->lower, sizeof lower);
	memcpy(upper, c->upper, sizeof upper);
	work->nodes = cr_collider_refit_trees(c, &r->change);
	carom_result result = prepare_facets(r, lower, upper);
	if (result == CAROM_SUCCESS)
		result = prepare_grid(r, scale);
	if (result != CAROM_SUCCESS) {
		cr_drop_facet_change(r->plan);
		cr_facets_free(r->mesh->context, &r->made);
		put_back(r);
		cr_collider_refit_trees(c, &r->change);
		return result;
	}
	take_facets(r);
	if (r->grid.cells)
		cr_take_grid(r->mesh, &r->grid);
	return CAROM_SUCCESS;
}

static void free_refit(refit *r)
{
	carom_context *context = r->mesh->context;
	cr_free(context, r->old.places, place_bytes(r));
	cr_free(context, r->old.normals, normal_bytes(r));
	cr_surroundings_free(context, &r->near);
	cr_change_free(context, &r->change);
}

/// Move the vertices of a field, of which there are some. On failure it is as it was.
static carom_result move_vertices(refit *r, cr_field_work *work)
{
	carom_mesh *mesh = r->mesh;
	const moves *m = r->moves;
	carom_result result = cr_collider_surroundings(mesh->context, &mesh->collider, m->vertices, m->count, &r->near);
	if (result != CAROM_SUCCESS)
		return result;
	if (!keep_old(r))
		return CAROM_OUT_OF_MEMORY;
	result = cr_topology_refit(mesh->context, &mesh->topology, m->vertices, m->places, m->count, &r->near, &r->change);
	work->vertices = m->count;
	work->surroundings = r->near.count;
	work->triangles = r->change.triangle_count;
	work->normals = r->change.normal_count;
	if (result != CAROM_SUCCESS)
		put_back(r);
	if (result != CAROM_SUCCESS || r->change.triangle_count == 0)
		return result; // a sample between holes has no triangles
	result = refit_all(r, work);
	if (result == CAROM_SUCCESS)
		mend_report(mesh, &r->change);
	return result;
}

/// Change a field, whose triangles stay. owned: its arrays lie each for itself. CAROM_INVALID_MESH:
/// it has to be made again. On failure it is as it was.
static carom_result refit_field(const edit *e, carom_mesh *mesh, bool owned, cr_field_work *work)
{
	moves m;
	if (!list_moves(e, &m))
		return cr_fail_memory(e->context, "a height field");
	refit r = { .moves = &m, .mesh = mesh, .owned = owned };
	carom_result result = CAROM_SUCCESS;
	if (m.count > 0) {
		result = move_vertices(&r, work);
		free_refit(&r);
	}
	if (result == CAROM_SUCCESS) {
		set_holes(e, mesh->field.holes);
		mesh->longest_edge = 0; // to be measured again
	}
	free_moves(e->context, &m);
	return result == CAROM_OUT_OF_MEMORY ? cr_fail_memory(e->context, "a height field") : result;
}

/// Copy the facets of a field to a copy without. false: out of memory.
static bool copy_facets(const edit *e, carom_mesh *copy)
{
	const cr_facets *from = &e->from->facets;
	if (from->thin)
		return cr_copy_thin_facets(e->context, from, &copy->topology, &copy->facets);
	cr_change none = { .triangle_count = 0 };
	const cr_collider *c = &copy->collider;
	const bool closed = copy->report.closed && copy->report.components == 1;
	return cr_facets_refit(e->context, &copy->topology, &none, from, c->lower, c->upper, closed, &copy->facets) == CAROM_SUCCESS;
}

static carom_result copy_and_refit(const edit *e, cr_field_work *work, carom_mesh **edited)
{
	carom_mesh *copy = NULL;
	carom_result result = cr_copy_mesh(e->context, e->from, CR_COPY_UNFACETED, &copy);
	if (result != CAROM_SUCCESS)
		return result;
	copy->edited = true;
	result = copy_facets(e, copy) ? refit_field(e, copy, false, work) : cr_fail_memory(e->context, "the facets of a mesh");
	if (result == CAROM_SUCCESS)
		*edited = copy;
	else
		carom_release_mesh(copy);
	return result;
}

carom_result cr_edit_field(carom_context *context, const char *function, const carom_mesh *field,
	const carom_field_region *region, const float *heights, cr_field_work *work, carom_mesh **edited)
{
	*work = (cr_field_work){ 0 };
	const edit e = { context, function, field, region, heights };
	carom_result result = check(&e);
	if (result != CAROM_SUCCESS)
		return result;
	if (cells_change(&e))
		return make_again(&e, edited);
	result = copy_and_refit(&e, work, edited);
	return result == CAROM_INVALID_MESH ? make_again(&e, edited) : result;
}

carom_result cr_check_field_edit(carom_context *context, const char *function, const carom_mesh *field,
	const carom_field_region *region, const float *heights)
{
	const edit e = { context, function, field, region, heights };
	return check(&e);
}

/// Can a field be changed that nobody else holds? One that was loaded has its arrays in a block of
/// the user's, and normals of edges are not taken back after a failure.
static bool can_change(const carom_mesh *field)
{
	return (field->baked_bytes == 0 || field->edited) && !field->topology.edge_normals && field->collider.lean;
}

carom_result cr_edit_field_in_place(
	carom_mesh *field, const carom_field_region *region, const float *heights, cr_field_work *work, bool *done)
{
	*work = (cr_field_work){ 0 };
	const edit e = { field->context, "", field, region, heights };
	*done = false;
	if (!can_change(field) || cells_change(&e))
		return CAROM_SUCCESS;
	const carom_result result = refit_field(&e, field, field->baked_bytes == 0, work);
	*done = result == CAROM_SUCCESS;
	return result == CAROM_INVALID_MESH ? CAROM_SUCCESS : result;
}

carom_result carom_create_edited_field(carom_context *context, const carom_mesh *field, const carom_field_region *region,
	const float *heights, carom_mesh **edited)
{
	cr_field_work work;
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!edited)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_edited_field: edited is NULL");
	*edited = NULL;
	return cr_edit_field(context, "carom_create_edited_field", field, region, heights, &work, edited);
}
