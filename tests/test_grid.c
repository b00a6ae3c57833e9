/// The inside-outside grid against brute force: which cells the surface touches by clipping triangles, sides by solid angles, distances by
/// looking at every touched cell; and contacts, which must not depend on the grid.
#include "test.h"
#include "carom/carom.h"
#include "frame/body.h"
#include "geom/triangle.h"
#include "sim/shapes/shapes.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int32_t CUBE[36] = { 0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4, 1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3,
	0, 4, 3, 4, 7 };
static const float CUBE_CORNERS[24] = { 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1 };

typedef struct model_def {
	const char *shape;
	int32_t triangles;
	double scale;
	double offset[3]; // after the scale
} model_def;

static carom_context *make_context(void)
{
	carom_context *context = NULL;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	return context;
}

static carom_mesh *make_mesh(carom_context *context, const float *vertices, int32_t vertex_count, const int32_t *triangles,
	int32_t triangle_count, int32_t resolution)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	def.grid_resolution = resolution;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static carom_mesh *make_model(carom_context *context, const model_def *d, int32_t resolution, int32_t left_out)
{
	sim_mesh made;
	sim_error error;
	REQUIRE(sim_make_shape(d->shape, d->triangles, 5, &made, &error));
	for (int32_t i = 0; i < 3 * made.vertex_count; i++)
		made.vertices[i] = (float)(made.vertices[i] * d->scale + d->offset[i % 3]);
	carom_mesh *mesh =
		make_mesh(context, made.vertices, made.vertex_count, made.triangles, made.triangle_count - left_out, resolution);
	sim_mesh_free(&made);
	return mesh;
}

// ---- Brute force ----

/// Does a triangle meet a box? By cutting the triangle with the six sides (Sutherland, Hodgman, 1974).
static bool meets_box(const v3d triangle[3], const double lower[3], const double upper[3])
{
	v3d polygon[16], cut[16];
	int count = 3;
	memcpy(polygon, triangle, 3 * sizeof *polygon);
	for (int side = 0; side < 6 && count > 0; side++) {
		const int axis = side / 2;
		const double sign = side % 2 ? -1 : 1, bound = side % 2 ? upper[axis] : lower[axis];
		int kept = 0;
		for (int i = 0; i < count; i++) {
			const v3d p = polygon[i], q = polygon[(i + 1) % count];
			const double dp = sign * (v3d_get(p, axis) - bound), dq = sign * (v3d_get(q, axis) - bound);
			if (dp >= 0)
				cut[kept++] = p;
			if ((dp > 0 && dq < 0) || (dp < 0 && dq > 0))
				cut[kept++] = v3d_mad(p, dp / (dp - dq), v3d_sub(q, p));
		}
		count = kept;
		memcpy(polygon, cut, (size_t)count * sizeof *polygon);
	}
	return count > 0;
}

/// Flag the cells, made larger or smaller by a factor, that the surface meets.
static void flag_touched(const cr_collider *c, double factor, uint8_t *flags)
{
	const cr_grid *g = &c->grid;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d t[3];
		int32_t first[3], last[3];
		cr_collider_triangle(c, c->triangle_number[i], t);
		for (int k = 0; k < 3; k++) {
			const double low = fmin(fmin(v3d_get(t[0], k), v3d_get(t[1], k)), v3d_get(t[2], k));
			const double high = fmax(fmax(v3d_get(t[0], k), v3d_get(t[1], k)), v3d_get(t[2], k));
			first[k] = (int32_t)fmax(floor((low - g->origin[k]) / g->cell) - 1, 0);
			last[k] = (int32_t)fmin(floor((high - g->origin[k]) / g->cell) + 1, g->size[k] - 1);
		}
		for (int32_t z = first[2]; z <= last[2]; z++) {
			for (int32_t y = first[1]; y <= last[1]; y++) {
				for (int32_t x = first[0]; x <= last[0]; x++) {
					const int32_t at[3] = { x, y, z };
					double lower[3], upper[3];
					for (int k = 0; k < 3; k++) {
						const double middle = g->origin[k] + (at[k] + 0.5) * g->cell;
						lower[k] = middle - 0.5 * factor * g->cell;
						upper[k] = middle + 0.5 * factor * g->cell;
					}
					uint8_t *flag = &flags[((int64_t)z * g->size[1] + y) * g->size[0] + x];
					*flag = *flag || meets_box(t, lower, upper);
				}
			}
		}
	}
}

/// How often the surface winds around a point, by solid angles (Van Oosterom, Strackee, 1983).
static double winding_at(const cr_collider *c, v3d o)
{
	double sum = 0;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d p[3];
		double l[3];
		cr_collider_triangle(c, c->triangle_number[i], p);
		for (int k = 0; k < 3; k++) {
			p[k] = v3d_sub(p[k], o);
			l[k] = v3d_length(p[k]);
		}
		sum += 2 *
			atan2(v3d_dot(p[0], v3d_cross(p[1], p[2])),
				l[0] * l[1] * l[2] + v3d_dot(p[0], p[1]) * l[2] + v3d_dot(p[1], p[2]) * l[0] + v3d_dot(p[2], p[0]) * l[1]);
	}
	return sum / (4 * 3.14159265358979323846);
}

static double distance_at(const cr_collider *c, v3d o)
{
	double best = INFINITY;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d t[3];
		cr_feature feature;
		cr_collider_triangle(c, c->triangle_number[i], t);
		best = fmin(best, v3d_length(v3d_sub(cr_closest_point_triangle(o, t[0], t[1], t[2], &feature), o)));
	}
	return best;
}

static int64_t cell_count(const cr_grid *g) { return (int64_t)g->size[0] * g->size[1] * g->size[2]; }

static void cell_at(const cr_grid *g, int64_t cell, int32_t at[3])
{
	at[0] = (int32_t)(cell % g->size[0]);
	at[1] = (int32_t)(cell / g->size[0] % g->size[1]);
	at[2] = (int32_t)(cell / g->size[0] / g->size[1]);
}

// ---- Checks ----

/// Exactly the cells that the surface meets are marked, up to the margin that the grid adds.
static void check_touched(const cr_collider *c)
{
	const cr_grid *g = &c->grid;
	const int64_t cells = cell_count(g);
	uint8_t *surely = calloc((size_t)cells, 1), *perhaps = calloc((size_t)cells, 1);
	REQUIRE(surely && perhaps);
	flag_touched(c, 1 - 1e-6, surely);
	flag_touched(c, 1.003, perhaps);
	int64_t missed = 0, invented = 0, marked = 0;
	for (int64_t i = 0; i < cells; i++) {
		const bool touched = (g->cells[i] & CR_CELL_DISTANCE) == 0;
		marked += touched;
		missed += surely[i] && !touched;
		invented += touched && !perhaps[i];
		// A touched cell has no side.
		CHECK(!touched || g->cells[i] == 0);
	}
	CHECK_INT(missed, 0);
	CHECK_INT(invented, 0);
	CHECK(marked > 0);
	free(surely);
	free(perhaps);
}

/// The distance of each cell to the nearest touched one.
static void check_distances(const cr_collider *c)
{
	const cr_grid *g = &c->grid;
	const int64_t cells = cell_count(g);
	int32_t *touched = calloc((size_t)cells, 3 * sizeof *touched);
	REQUIRE(touched);
	int64_t count = 0, wrong = 0;
	for (int64_t i = 0; i < cells; i++) {
		if ((g->cells[i] & CR_CELL_DISTANCE) == 0)
			cell_at(g, i, &touched[3 * count++]);
	}
	const int64_t stride = cells > 20000 ? 37 : 1; // a sample of large grids
	for (int64_t i = 0; i < cells; i += stride) {
		int32_t at[3], best = INT32_MAX;
		cell_at(g, i, at);
		for (int64_t k = 0; k < count; k++) {
			int32_t distance = 0;
			for (int axis = 0; axis < 3; axis++) {
				const int32_t d = abs(at[axis] - touched[3 * k + axis]);
				distance = d > distance ? d : distance;
			}
			best = distance < best ? distance : best;
		}
		wrong += (g->cells[i] & CR_CELL_DISTANCE) != best;
	}
	CHECK_INT(wrong, 0);
	free(touched);
}

/// The side of cells and what the distance promises, at random points.
static void check_points(const cr_collider *c, uint64_t seed, int points)
{
	const cr_grid *g = &c->grid;
	int inside = 0, outside = 0;
	for (int i = 0; i < points; i++) {
		const int64_t cell = (int64_t)(test_random(&seed) % (uint64_t)cell_count(g));
		const int known = g->cells[cell];
		if ((known & CR_CELL_DISTANCE) == 0)
			continue;
		int32_t at[3];
		double p[3];
		cell_at(g, cell, at);
		for (int k = 0; k < 3; k++)
			p[k] = g->origin[k] + (at[k] + test_random_double(&seed, 0, 1)) * g->cell;
		const v3d point = { p[0], p[1], p[2] };
		const bool is_inside = known & CR_CELL_INSIDE;
		CHECK_NEAR(winding_at(c, point), is_inside ? 1 : 0, 1e-6);
		CHECK(distance_at(c, point) >= ((known & CR_CELL_DISTANCE) - 1) * (double)g->cell);
		inside += is_inside;
		outside += !is_inside;
	}
	CHECK(outside > 0);
	CHECK(inside > 0);
}

static bool is_touched(const cr_grid *g, int64_t cell) { return (g->cells[cell] & CR_CELL_DISTANCE) == 0; }

static v3d point_in_cell(const cr_grid *g, int64_t cell, uint64_t *seed, float point[3])
{
	int32_t at[3];
	cell_at(g, cell, at);
	for (int k = 0; k < 3; k++)
		point[k] = (float)(g->origin[k] + (at[k] + test_random_double(seed, 0, 1)) * g->cell);
	return v3d_from_floats(point);
}

/// The side of random points in touched cells. Returns how many of them are told.
static int check_sides(const cr_collider *c, uint64_t seed, int points)
{
	const cr_grid *g = &c->grid;
	int told = 0, asked = 0, inside = 0;
	for (int i = 0; i < points; i++) {
		int64_t cell = (int64_t)(test_random(&seed) % (uint64_t)cell_count(g));
		while (!is_touched(g, cell))
			cell = (cell + 1) % cell_count(g);
		float point[3];
		const v3d p = point_in_cell(g, cell, &seed, point);
		int32_t at[3];
		const int64_t index = cr_cell_of(g, point, at);
		if (!is_touched(g, index)) // rounded into the next cell
			continue;
		const cr_touched_cell *touched = cr_touched_cell_at(g, index);
		const int side = cr_side_of(c, point);
		asked += touched->count > 0;
		CHECK(side == 0 || touched->count > 0);
		if (side == 0)
			continue;
		told++;
		inside += side > 0;
		const double winding = winding_at(c, p);
		CHECK_NEAR(winding, floor(winding + 0.5), 1e-6);
		CHECK_INT(side, fabs(winding) > 0.5 ? 1 : -1);
		// Beyond the cell nothing is promised, and nothing told.
		float anchor[3];
		cr_anchor_of_cell(g, at, anchor);
		CHECK_INT(cr_side_in_cell(c, touched, anchor, point), side);
		anchor[i % 3] += 2 * g->cell;
		CHECK_INT(cr_side_in_cell(c, touched, anchor, point), 0);
	}
	CHECK(told >= 0.99 * asked);
	CHECK(told < 200 || (inside > 0 && inside < told));
	return told;
}

static void check_model(const model_def *d, int32_t resolution, int points)
{
	const int before = test_failures();
	carom_context *context = make_context();
	carom_mesh *mesh = make_model(context, d, resolution, 0);
	const cr_collider *c = &mesh->collider;
	REQUIRE(c->grid.cells);
	for (int k = 0; k < 3; k++) {
		// The grid reaches beyond the box on all sides: its rim is untouched and outside.
		CHECK(c->grid.origin[k] + c->grid.cell < c->lower[k]);
		CHECK(c->grid.origin[k] + ((float)c->grid.size[k] - 1) * c->grid.cell > c->upper[k]);
		CHECK(c->grid.size[k] <= resolution + 4);
	}
	carom_tree_info info;
	REQUIRE(carom_mesh_get_tree_info(mesh, false, &info) == CAROM_SUCCESS);
	CHECK_INT(info.grid_cells, cell_count(&c->grid));
	check_touched(c);
	check_distances(c);
	check_points(c, 61, points);
	check_sides(c, 62, points);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	if (test_failures() != before)
		printf("%s of %d triangles, resolution %d\n", d->shape, d->triangles, resolution);
}

TEST(grid, lumpy)
{
	const model_def lumpy = { "lumpy", 902, 1, { 0 } };
	check_model(&lumpy, 16, 1500);
	check_model(&lumpy, 48, 1500);
}

TEST(grid, other_shapes)
{
	check_model(&(model_def){ "knot", 720, 1, { 0 } }, 24, 600);
	check_model(&(model_def){ "torus", 200, 1, { 0 } }, 24, 1500);
	check_model(&(model_def){ "L", 28, 1, { 0 } }, 20, 3000);
	check_model(&(model_def){ "lock", 240, 1, { 0 } }, 17, 1500);
}

TEST(grid, faces_on_the_borders_of_cells)
{
	// A cube's sides lie exactly where one cell ends and the next begins.
	for (int32_t resolution = 8; resolution <= 12; resolution++)
		check_model(&(model_def){ "box", 12, 1, { 0 } }, resolution, 500);
}

TEST(grid, scaled_and_shifted)
{
	check_model(&(model_def){ "lumpy", 902, 1e-3, { 0 } }, 16, 300);
	check_model(&(model_def){ "lumpy", 902, 1e6, { 0 } }, 16, 300);
	check_model(&(model_def){ "torus", 200, 1, { 50, -30, 20 } }, 16, 500);
}

TEST(grid, sides_in_touched_cells_are_nearly_all_told)
{
	carom_context *context = make_context();
	carom_mesh *lumpy = make_model(context, &(model_def){ "lumpy", 902, 1, { 0 } }, 48, 0);
	CHECK(check_sides(&lumpy->collider, 63, 4000) > 3900);
	// Far finer than the cells: lists would be too long, and hardly any is kept.
	carom_mesh *fine = make_model(context, &(model_def){ "lumpy", 20000, 1, { 0 } }, 8, 0);
	CHECK(check_sides(&fine->collider, 64, 500) < 10);
	carom_release_mesh(fine);
	carom_release_mesh(lumpy);
	carom_destroy_context(context);
}

TEST(grid, sides_where_the_surface_winds_twice)
{
	// Two blocks that overlap, as one mesh, and a third one turned inside out, around which it winds backward.
	static const float origins[3][3] = { { 0, 0, 0 }, { 0.37f, 0.41f, 0.23f }, { 2.1f, 0.1f, 0.2f } };
	float vertices[72];
	int32_t triangles[108];
	for (int block = 0; block < 3; block++) {
		for (int i = 0; i < 24; i++)
			vertices[24 * block + i] = origins[block][i % 3] + CUBE_CORNERS[i];
		for (int i = 0; i < 36; i++)
			triangles[36 * block + i] = 8 * block + CUBE[block < 2 ? i : i - i % 3 + (3 - i % 3) % 3];
	}
	carom_context *context = make_context();
	carom_mesh *mesh = make_mesh(context, vertices, 24, triangles, 36, 32);
	REQUIRE(mesh->collider.grid.cells);
	CHECK(check_sides(&mesh->collider, 65, 4000) > 3900);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(grid, finest_resolution)
{
	carom_context *context = make_context();
	carom_mesh *mesh = make_model(context, &(model_def){ "torus", 200, 1, { 0 } }, 128, 0);
	check_points(&mesh->collider, 62, 3000);
	check_touched(&mesh->collider);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// What making a grid costs: cells, and for each triangle the cells that its box touches.
static double work_of(const cr_collider *c)
{
	const cr_grid *g = &c->grid;
	double work = (double)g->size[0] * g->size[1] * g->size[2];
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d corner[3];
		cr_collider_triangle(c, i, corner);
		double cells = 1;
		for (int k = 0; k < 3; k++) {
			const double p = v3d_get(corner[0], k), q = v3d_get(corner[1], k), r = v3d_get(corner[2], k);
			cells *= floor((fmax(fmax(p, q), r) - fmin(fmin(p, q), r)) / g->cell) + 1;
		}
		work += cells;
	}
	return work;
}

TEST(grid, work_follows_the_samples_of_a_height_field)
{
	static const struct {
		int32_t columns, rows;
		double spacing[2], height, most;
	} fields[] = {
		{ 3, 3, { 1, 1 }, 3, 2e5 },
		{ 3, 3, { 1e-20, 1 }, 3, 2e5 },
		{ 3, 3, { 1, 1e-6 }, 3, 2e5 },
		{ 3, 3, { 1e-3, 1e3 }, 3, 2e5 },
		{ 3, 3, { 1e-30, 1e6 }, 3, 2e5 },
		{ 60, 60, { 1, 1 }, 5, 2e6 },
		{ 60, 60, { 1, 4 }, 5, 2e6 },
		{ 60, 60, { 100, 1 }, 5, 2e6 },
		{ 60, 60, { 1, 100 }, 1000, 2e6 },
		{ 5000, 2, { 1e-3, 1e3 }, 300, 8e6 },
		{ 2, 5000, { 1e3, 1e-3 }, 300, 8e6 },
	};
	float *heights = malloc(10000 * sizeof *heights);
	REQUIRE(heights != NULL);
	carom_context *context = make_context();
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		uint64_t seed = 67;
		for (int k = 0; k < fields[i].columns * fields[i].rows; k++)
			heights[k] = (float)test_random_double(&seed, 0, fields[i].height);
		carom_mesh *mesh;
		REQUIRE(carom_create_height_field(context, fields[i].columns, fields[i].rows, heights, fields[i].spacing, 1, &mesh) ==
			CAROM_SUCCESS);
		if (!CHECK(work_of(&mesh->collider) <= fields[i].most))
			printf("field %d: %g\n", (int)i, work_of(&mesh->collider));
		carom_release_mesh(mesh);
	}
	free(heights);
	carom_destroy_context(context);
}

TEST(grid, work_follows_long_triangles)
{
	// A sheaf of 300 spikes through the whole box: its boxes touch nearly all cells each.
	enum { SPIKES = 300 };
	static float vertices[12 * SPIKES];
	static int32_t triangles[12 * SPIKES];
	uint64_t seed = 68;
	for (int i = 0; i < SPIKES; i++) {
		float *v = &vertices[12 * i];
		for (int k = 0; k < 12; k++)
			v[k] = (float)(k < 3 ? test_random_double(&seed, 0.9, 1) : test_random_double(&seed, 0, 0.2));
		const int32_t faces[12] = { 0, 1, 2, 0, 2, 3, 0, 3, 1, 1, 3, 2 };
		const v3d p[4] = { v3d_from_floats(v), v3d_from_floats(v + 3), v3d_from_floats(v + 6), v3d_from_floats(v + 9) };
		const bool outward = v3d_dot(v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0])), v3d_sub(p[3], p[0])) < 0;
		for (int k = 0; k < 12; k++)
			triangles[12 * i + k] = 4 * i + faces[outward || k % 3 == 0 ? k : k - k % 3 + 3 - k % 3];
	}
	carom_context *context = make_context();
	carom_mesh *mesh = make_mesh(context, vertices, 4 * SPIKES, triangles, 4 * SPIKES, 48);
	REQUIRE(mesh->collider.grid.cells);
	CHECK(work_of(&mesh->collider) <= 6e6);
	check_touched(&mesh->collider);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// Cells along the longest side of the default grid of a model; 0: it has none.
static int32_t default_resolution(carom_context *context, const char *shape, int32_t triangles)
{
	carom_mesh *mesh = make_model(context, &(model_def){ shape, triangles, 1, { 0 } }, CAROM_GRID_BY_SIZE, 0);
	const cr_collider *c = &mesh->collider;
	float longest = 0;
	for (int k = 0; k < 3; k++)
		longest = fmaxf(longest, c->upper[k] - c->lower[k]);
	const int32_t resolution = c->grid.cells ? (int32_t)(longest / c->grid.cell + 0.5f) : 0;
	carom_release_mesh(mesh);
	return resolution;
}

TEST(grid, cells_follow_the_number_of_triangles)
{
	carom_context *context = make_context();
	CHECK_INT(carom_default_mesh_def().grid_resolution, CAROM_GRID_BY_SIZE);
	CHECK_INT(default_resolution(context, "box", 12), 0);
	CHECK_INT(default_resolution(context, "lumpy", 62), 0);
	CHECK_INT(default_resolution(context, "lumpy", 64), 7);
	CHECK_INT(default_resolution(context, "lumpy", 192), 13);
	CHECK_INT(default_resolution(context, "lumpy", 878), 47);
	CHECK_INT(default_resolution(context, "lumpy", 902), 48);
	CHECK_INT(default_resolution(context, "torus", 20000), 48);
	carom_destroy_context(context);
}

TEST(grid, coarse_as_by_default)
{
	check_model(&(model_def){ "lumpy", 80, 1, { 0 } }, 8, 1500);
	check_model(&(model_def){ "box", 12, 1, { 0 } }, 4, 1500);
	check_model(&(model_def){ "box", 192, 1, { 0.3, 7, -2 } }, 13, 600);
}

TEST(grid, none_where_there_is_no_inside)
{
	carom_context *context = make_context();
	const model_def lumpy = { "lumpy", 902, 1, { 0 } };
	carom_mesh *open = make_model(context, &lumpy, 48, 1);
	CHECK(!open->collider.grid.cells);
	carom_mesh *unwanted = make_model(context, &lumpy, 0, 0);
	CHECK(!unwanted->collider.grid.cells);
	carom_mesh *empty = make_mesh(context, NULL, 0, NULL, 0, 48);
	CHECK(!empty->collider.grid.cells);
	carom_release_mesh(open);
	carom_release_mesh(unwanted);
	carom_release_mesh(empty);
	carom_destroy_context(context);
}

static carom_mesh *make_block(carom_context *context, const double size[3], const double origin[3], int32_t resolution)
{
	float vertices[24];
	for (int i = 0; i < 24; i++)
		vertices[i] = (float)(origin[i % 3] + CUBE_CORNERS[i] * size[i % 3]);
	return make_mesh(context, vertices, 8, CUBE, 12, resolution);
}

TEST(grid, flat_thin_and_tiny_meshes_survive)
{
	carom_context *context = make_context();
	// A leaf: two triangles back to back, closed, without an inside.
	const float leaf[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
	const int32_t both[6] = { 0, 1, 2, 0, 2, 1 };
	carom_mesh *mesh = make_mesh(context, leaf, 3, both, 2, 48);
	const cr_grid *g = &mesh->collider.grid;
	for (int64_t i = 0; g->cells && i < cell_count(g); i++)
		CHECK(!(g->cells[i] & CR_CELL_INSIDE));
	carom_release_mesh(mesh);

	// A plate much thinner than a cell: nowhere inside.
	mesh = make_block(context, (double[]){ 1, 1, 1e-5 }, (double[]){ 0, 0, 0 }, 48);
	g = &mesh->collider.grid;
	REQUIRE(g->cells);
	for (int64_t i = 0; i < cell_count(g); i++)
		CHECK(!(g->cells[i] & CR_CELL_INSIDE));
	check_touched(&mesh->collider);
	check_distances(&mesh->collider);
	carom_release_mesh(mesh);

	// A needle.
	mesh = make_block(context, (double[]){ 100, 0.01, 0.01 }, (double[]){ 0, 0, 0 }, 128);
	REQUIRE(mesh->collider.grid.cells);
	check_touched(&mesh->collider);
	carom_release_mesh(mesh);

	// So small that a cell's inverse overflows, and so far away that a cell is a rounding: no grid rather than a wrong one.
	mesh = make_block(context, (double[]){ 1e-37, 1e-37, 1e-37 }, (double[]){ 0, 0, 0 }, 128);
	CHECK(!mesh->collider.grid.cells);
	carom_release_mesh(mesh);
	mesh = make_block(context, (double[]){ 1, 1, 1 }, (double[]){ 1e6, 0, 0 }, 128);
	CHECK(!mesh->collider.grid.cells);
	carom_release_mesh(mesh);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

// ---- Contacts ----

typedef struct outcome {
	uint64_t hashes[4];
	carom_contact *contacts; // of the last step
	int32_t count;
	int64_t culled;
} outcome;

static outcome run_scene(int32_t resolution)
{
	outcome o = { 0 };
	uint64_t seed = 63;
	carom_context *context = make_context();
	carom_mesh *meshes[2] = { make_model(context, &(model_def){ "lumpy", 902, 1, { 0 } }, resolution, 0),
		make_model(context, &(model_def){ "torus", 600, 1, { 0 } }, resolution, 0) };
	carom_world *world = NULL;
	carom_world_def world_def = carom_default_world_def();
	world_def.max_contacts_per_pair = 0;
	REQUIRE(carom_create_world(context, &world_def, &world) == CAROM_SUCCESS);
	enum { BODIES = 24 };
	carom_body_id ids[BODIES];
	for (int i = 0; i < BODIES; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = meshes[i % 2] };
		def.kind = CAROM_DYNAMIC;
		REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
	}
	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < BODIES; i++) {
			carom_pose pose = { { test_random_double(&seed, -1.5, 1.5), test_random_double(&seed, -1.5, 1.5),
									test_random_double(&seed, -1.5, 1.5) },
				{ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 0.5 } };
			carom_quat *q = &pose.orientation;
			const double length = sqrt(q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w);
			*q = (carom_quat){ q->x / length, q->y / length, q->z / length, q->w / length };
			REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
		}
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		o.hashes[step] = carom_world_hash(world);
		o.culled += carom_world_stats(world).vertices_culled;
	}
	const carom_contact_view view = carom_world_contacts(world);
	o.count = view.count;
	o.contacts = calloc((size_t)view.count + 1, sizeof *o.contacts);
	REQUIRE(o.contacts);
	memcpy(o.contacts, view.data, (size_t)view.count * sizeof *o.contacts);
	carom_destroy_world(world);
	carom_release_mesh(meshes[0]);
	carom_release_mesh(meshes[1]);
	carom_destroy_context(context);
	return o;
}

TEST(grid, contacts_do_not_depend_on_it)
{
	const int32_t resolutions[] = { 8, 48, 128, CAROM_GRID_BY_SIZE };
	outcome without = run_scene(0);
	CHECK(without.count > 50);
	for (int i = 0; i < 4; i++) {
		outcome with = run_scene(resolutions[i]);
		for (int step = 0; step < 4; step++)
			CHECK(with.hashes[step] == without.hashes[step]);
		CHECK_INT(with.count, without.count);
		for (int32_t k = 0; k < with.count && k < without.count; k++) {
			const carom_contact *x = &with.contacts[k], *y = &without.contacts[k];
			CHECK(memcmp(x->point, y->point, sizeof x->point) == 0 && memcmp(x->normal, y->normal, sizeof x->normal) == 0 &&
				memcmp(&x->depth, &y->depth, sizeof x->depth) == 0 && x->feature_a == y->feature_a &&
				x->feature_b == y->feature_b && x->kind == y->kind);
		}
		// The grid is not idle: it culls what boxes alone cannot.
		CHECK(with.culled != without.culled);
		free(with.contacts);
	}
	free(without.contacts);
}
