/// Facets of meshes: how many there are does not depend on how they are cut into triangles.
#include "fixture.h"
#include "frame/body.h"
#include "contact/manifold.h"
#include "manifold_fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/// Facets, creases and corners of a mesh.
typedef struct facet_counts {
	int facets, creases, corners;
} facet_counts;

static facet_counts count_of(const carom_mesh *mesh)
{
	const cr_facets *f = &mesh->facets;
	facet_counts n = { .facets = f->count };
	for (int32_t i = 0; i < 3 * f->triangle_count; i++)
		n.creases += cr_is_crease(f, i);
	for (int32_t v = 0; v < f->vertex_count; v++)
		n.corners += f->corner[v];
	return n;
}

/// Every triangle in the facet that names it, its corners in the facet's plane, and areas that add up.
static void check_facets(const carom_mesh *mesh)
{
	const cr_facets *f = &mesh->facets;
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	double area = 0, off = 0;
	int32_t listed = 0, wrong = 0;
	for (int32_t i = 0; i < f->count; i++) {
		area += f->data[i].area;
		for (int32_t k = 0; k < f->data[i].count; k++, listed++) {
			const int32_t triangle = f->triangles[f->data[i].first + k];
			wrong += f->of_triangle[triangle] != i;
			v3d p[3];
			cr_collider_triangle(&mesh->collider, triangle, p);
			for (int c = 0; c < 3; c++)
				off = fmax(off, fabs(v3d_dot(p[c], f->data[i].normal) - f->data[i].offset));
		}
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(listed, report->triangle_count - report->degenerate_triangles - report->duplicate_triangles);
	CHECK_NEAR(area, report->area, 1e-4 * report->area);
	CHECK(off <= 2e-5 * mesh->collider.diagonal);
}

TEST(facets, a_cube_has_six_however_it_is_cut)
{
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 4; i++) {
		const int cells = (int[]){ 1, 2, 4, 16 }[i];
		carom_mesh *cube = manifold_cube(context, cells, 0.5);
		const facet_counts n = count_of(cube);
		CHECK_INT(carom_mesh_get_report(cube)->triangle_count, 12 * cells * cells);
		CHECK_INT(n.facets, 6);
		CHECK_INT(n.creases, 24 * cells); // each seen from two triangles
		CHECK_INT(n.corners, 8);
		CHECK(cube->facets.convex);
		CHECK_INT(cube->facets.few_count, 8);
		CHECK_INT(cube->facets.edge_count, 12);
		CHECK(cube->facets.slack < 1e-12);
		for (int32_t k = 0; k < cube->facets.edge_count; k++) {
			const cr_hull_edge *e = &cube->facets.edges[k];
			CHECK_INT(e->pieces, cells);
			CHECK(e->from != e->to && cr_is_crease(&cube->facets, e->half_edge));
		}
		check_facets(cube);
		carom_release_mesh(cube);
	}
	carom_destroy_context(context);
}

TEST(facets, of_smooth_hollow_and_open_meshes)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 24, 12, 0.4, 0.1), *ball = fixture_sphere_mesh(context, 1, 12);
	carom_mesh *sheet = fixture_sheet_mesh(context, 9, 3);
	CHECK_INT(torus->facets.count, carom_mesh_get_report(torus)->triangle_count);
	CHECK(!torus->facets.convex);
	CHECK(ball->facets.convex);
	CHECK_INT(ball->facets.few_count, 0);
	CHECK_INT(torus->facets.edge_count, 0);
	CHECK_INT(ball->facets.edge_count, 0);
	CHECK_INT(sheet->facets.edge_count, 0);
	const facet_counts n = count_of(sheet);
	CHECK_INT(n.facets, 1);
	CHECK_INT(n.creases, 36);
	CHECK_INT(n.corners, 4);
	CHECK(!sheet->facets.convex);
	check_facets(torus);
	check_facets(ball);
	check_facets(sheet);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

TEST(facets, two_cubes_in_one_mesh_are_not_convex)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 0.5, 0.5, 0.5);
	fixture_soup_box(&soup, (v3d){ 0, 0, 2 }, 0.5, 0.5, 0.5);
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_mesh(context, &soup);
	CHECK_INT(mesh->facets.count, 12);
	CHECK(!mesh->facets.convex);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// Points around the corners of a facet's triangles, many of them at the tolerance from an edge to the
/// last bits: a facet made ready for many points answers as each call for a single one does.
static int compare_facet_answers(const cr_completion *c, int32_t facet, double tolerance, uint64_t *seed, int *inside)
{
	const cr_facets *facets = &c->body[1]->shape.mesh->facets;
	const cr_facet *f = &facets->data[facet];
	cr_facet_test test;
	cr_edge_height edges[3 * CR_FEW_TRIANGLES];
	cr_begin_facet_test(c, 1, facet, tolerance, edges, &test);
	int wrong = 0;
	for (int i = 0; i < 300; i++) {
		v3d p[3];
		cr_triangle_in_a(c, 1, facets->triangles[f->first + i % f->count], p);
		const carom_vec3 r = fixture_random_pose(seed, 1).position;
		const int k = i / 3 % 3;
		const v3d edge = v3d_sub(p[(k + 1) % 3], p[k]), n = cr_direction_to_a(c, 1, f->normal);
		const v3d out = v3d_scale(v3d_cross(edge, n), 1 / v3d_length(edge));
		// From the edge, or a point of its line, outward: anywhere, or by the tolerance but for some roundings.
		const double away = i & 1 ? r.y : tolerance * (1 + 1e-9 * r.y * r.y * r.y);
		const v3d point = v3d_mad(v3d_mad(v3d_mad(p[k], 0.5 + 0.7 * r.x, edge), away, out), 0.1 * r.z, n);
		const bool expected = cr_facet_triangle_at(c, 1, facet, point, tolerance) >= 0;
		*inside += expected;
		wrong += cr_facet_has(&test, point) != expected;
	}
	return wrong;
}

TEST(facets, many_points_are_told_as_single_ones)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[3] = { manifold_cube(context, 2, 0.5), manifold_cube(context, 4, 3),
		manifold_made_mesh(context, "lumpy", 192) };
	uint64_t seed = 5;
	int wrong = 0, inside = 0, asked = 0;
	for (int i = 0; i < 3; i++) {
		const cr_body body = { .shape.mesh = meshes[i] };
		const carom_pose at = fixture_random_pose(&seed, 2);
		const cr_pipeline pipeline = { .bvh = cr_get_bvh_kernels(context->simd) };
		const cr_completion c = { .pipeline = &pipeline,
			.body = { &body, &body },
			.collider = { &meshes[i]->collider, &meshes[i]->collider },
			.rotation = m3d_from_quat(at.orientation),
			.translation = at.position };
		const int32_t facets = meshes[i]->facets.count;
		for (int32_t facet = 0; facet < facets; facet++, asked += 600) {
			wrong += compare_facet_answers(&c, facet, 1e-5 * meshes[i]->collider.scale, &seed, &inside);
			wrong += compare_facet_answers(&c, facet, 1e-14 * meshes[i]->collider.scale, &seed, &inside);
		}
		carom_release_mesh(meshes[i]);
	}
	CHECK_INT(wrong, 0);
	CHECK(inside > asked / 10 && inside < asked * 9 / 10);
	carom_destroy_context(context);
}

// ---- Depths below a plane ----

enum { CORNERS = 40, FACETS = 3 };

/// Corners in columns, a plane over them, and room for the answers.
typedef struct plane_case {
	double number[8][CORNERS];
	int32_t pierced[CORNERS];
	uint8_t lanes[4][CORNERS / CR_WIDTH], only[CORNERS / CR_WIDTH];
	cr_edge_height edges[3 * CR_FEW_TRIANGLES];
	cr_corner_columns columns;
	cr_plane_row row;
} plane_case;

/// The rows of measure.
typedef struct plane_answers {
	float depth[CORNERS], unproved[CORNERS], nearest[CORNERS];
	uint8_t left[CORNERS / CR_WIDTH];
	uint32_t found;
} plane_answers;

/// Multiples of a quarter, so that many corners lie on planes and edges.
static double quarter(uint64_t *seed) { return 0.25 * (double)(test_random(seed) % 9) - 1; }
static v3d axis(uint64_t *seed)
{
	const double sign = test_random(seed) & 1 ? 1 : -1;
	const int k = (int)(test_random(seed) % 3);
	return (v3d){ k == 0 ? sign : 0, k == 1 ? sign : 0, k == 2 ? sign : 0 };
}

static void make_plane_case(plane_case *c, uint64_t *seed)
{
	memset(c, 0, sizeof *c);
	c->columns = (cr_corner_columns){ .count = 1 + (int32_t)(test_random(seed) % CORNERS), .pierced = c->pierced };
	for (int side = 0; side < 2; side++) {
		for (int k = 0; k < 3; k++)
			c->columns.place[side][k] = c->number[4 * side + k];
		c->columns.size[side] = c->number[4 * side + 3];
		c->columns.pierces_of[side] = c->lanes[2 * side];
		c->columns.vertices_of[side] = c->lanes[2 * side + 1];
	}
	for (int32_t i = 0; i < c->columns.count; i++) {
		for (int k = 0; k < 8; k++)
			c->number[k][i] =
				k % 4 == 3 ? fabs(c->number[k - 3][i]) + fabs(c->number[k - 2][i]) + fabs(c->number[k - 1][i]) : quarter(seed);
		const int kind = (int)(test_random(seed) % 4);
		c->pierced[i] = kind % 2 == 0 ? (int32_t)(test_random(seed) % FACETS) : -1;
		c->lanes[kind][i / CR_WIDTH] |= (uint8_t)(1u << i % CR_WIDTH);
	}
	const int kind = (int)(test_random(seed) % 4);
	c->row = (cr_plane_row){ .normal = axis(seed),
		.offset = quarter(seed),
		.tolerance = test_random(seed) & 1 ? 0.25 : 1e-9,
		.side = (int)(test_random(seed) % 2),
		.facet = kind == 0 ? -1 : (int32_t)(test_random(seed) % FACETS),
		.stands_for_all = kind < 2,
		.only = kind == 0 ? c->only : NULL,
		.edges = c->edges,
		.triangles = kind == 2 ? 1 + (int32_t)(test_random(seed) % CR_FEW_TRIANGLES) : 0,
		.rim = test_random(seed) & 1 ? 0.25 : 1e-9,
		.scale = 2 };
	for (int i = 0; i < CORNERS / CR_WIDTH; i++)
		c->only[i] = (uint8_t)test_random(seed);
	for (int32_t i = 0; i < 3 * c->row.triangles; i++)
		c->edges[i] = (cr_edge_height){ axis(seed), quarter(seed) };
}

static bool has_lane(const uint8_t *lanes, int32_t i) { return lanes[i / CR_WIDTH] >> i % CR_WIDTH & 1; }

/// Does a facet stand for a corner: 1, or not: 0, or is that open: -1?
static int ask_facet(const plane_case *c, int32_t i)
{
	const int side = c->row.side;
	if (c->row.stands_for_all || (c->pierced[i] == c->row.facet && has_lane(c->columns.pierces_of[1 - side], i)))
		return 1;
	const v3d p = { c->columns.place[side][0][i], c->columns.place[side][1][i], c->columns.place[side][2][i] };
	const double rounding = CR_HEIGHT_ROUNDING * (c->columns.size[side][i] + c->row.scale);
	bool open = c->row.triangles == 0;
	for (int32_t t = 0; t < c->row.triangles; t++) {
		double least = INFINITY;
		for (int k = 0; k < 3; k++) {
			const cr_edge_height *e = &c->edges[3 * t + k];
			least = fmin(least, v3d_dot(e->inward, p) - e->offset + c->row.rim);
		}
		if (least > rounding)
			return 1;
		open = open || least >= -rounding;
	}
	return open ? -1 : 0;
}

/// The answers, corner by corner, as manifold.h describes them.
static void answer_one_by_one(const plane_case *c, plane_answers *a)
{
	const cr_plane_row *row = &c->row;
	for (int32_t i = 0; i < c->columns.count; i++) {
		const v3d at = { c->columns.place[0][0][i], c->columns.place[0][1][i], c->columns.place[0][2][i] };
		const double depth = row->offset - v3d_dot(row->normal, at);
		a->depth[i] = a->unproved[i] = -1;
		a->found |= depth < -row->tolerance ? CR_ROW_ABOVE : 0;
		if (depth < -row->tolerance || (row->only && !has_lane(row->only, i)))
			continue;
		const int stands = ask_facet(c, i);
		const bool on = row->facet >= 0 && has_lane(c->columns.vertices_of[row->side], i) && depth <= row->tolerance;
		const float reach = depth > 0 ? (float)depth : 0;
		if (stands < 0 || (stands > 0 && on)) {
			a->unproved[i] = on ? INFINITY : reach;
			a->left[i / CR_WIDTH] |= (uint8_t)(1u << i % CR_WIDTH);
			a->found |= CR_ROW_LEFT | (on ? 0 : CR_ROW_UNDECIDED);
		} else if (stands > 0) {
			a->depth[i] = reach;
		}
		if (row->facet >= 0 && a->depth[i] >= 0 && has_lane(c->columns.vertices_of[1 - row->side], i))
			a->nearest[i] = fminf(a->nearest[i], reach);
	}
}

static void begin_answers(const plane_case *c, plane_answers *a)
{
	memset(a, 0, sizeof *a);
	for (int32_t i = 0; i < CORNERS; i++)
		a->nearest[i] = i < c->columns.count && i % 3 ? 0.5f * (float)(i % 5) : INFINITY;
}

/// The corners before cut, and then the others.
static void measure_in_parts(const cr_contact_kernels *kernels, const plane_case *c, int32_t cut, plane_answers *a)
{
	const int32_t ends[2] = { cut < c->columns.count ? cut : c->columns.count, c->columns.count };
	int32_t begin = 0;
	for (int i = 0; i < 2; i++) {
		if (begin < ends[i])
			a->found |= kernels->measure(&c->columns, &c->row, begin, ends[i], a->depth, a->unproved, a->left, a->nearest);
		begin = ends[i];
	}
}

TEST(facets, depths_below_planes_are_those_of_corners_one_by_one)
{
	uint64_t seed = 77;
	int above = 0, left = 0, undecided = 0, known = 0, nearer = 0;
	for (int round = 0; round < 3000; round++) {
		plane_case c;
		plane_answers expected, found, before;
		make_plane_case(&c, &seed);
		begin_answers(&c, &before);
		expected = before;
		answer_one_by_one(&c, &expected);
		above += (expected.found & CR_ROW_ABOVE) != 0;
		left += (expected.found & CR_ROW_LEFT) != 0;
		undecided += (expected.found & CR_ROW_UNDECIDED) != 0;
		for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
			if (!fixture_kernels(fixture_all_simd[k]))
				continue;
			found = before;
			measure_in_parts(cr_get_contact_kernels(fixture_all_simd[k]), &c, round % 3 * CR_WIDTH, &found);
			const size_t rows = (size_t)c.columns.count * sizeof *found.depth;
			CHECK_INT(found.found, expected.found);
			CHECK(memcmp(found.depth, expected.depth, rows) == 0);
			CHECK(memcmp(found.unproved, expected.unproved, rows) == 0);
			CHECK(memcmp(found.left, expected.left, sizeof found.left) == 0);
			CHECK(memcmp(found.nearest, expected.nearest, rows) == 0);
		}
		for (int32_t i = 0; i < c.columns.count; i++) {
			known += expected.depth[i] >= 0;
			nearer += expected.nearest[i] < before.nearest[i];
		}
	}
	CHECK(above > 1000 && left > 500 && undecided > 300 && known > 5000 && nearer > 300);
}

TEST(facets, deepest_and_settled_corners_are_those_found_one_by_one)
{
	uint64_t seed = 5;
	int none = 0, settled = 0;
	for (int round = 0; round < 2000; round++) {
		const int32_t count = 1 + (int32_t)(test_random(&seed) % CORNERS);
		float depth[CORNERS], deepest = 0;
		const float most = 0.25f * (float)(test_random(&seed) % 6);
		int32_t waits[CORNERS] = { 0 }, expected[CORNERS];
		for (int32_t i = 0; i < CORNERS; i++) {
			depth[i] = i % 3 == 0 ? -1 : 0.25f * (float)(test_random(&seed) % 6);
			waits[i] = i < count && test_random(&seed) % 4 == 0 ? -1 : 0;
			expected[i] = depth[i] >= 0 && depth[i] <= most ? 0 : waits[i];
			deepest = waits[i] && depth[i] > deepest ? depth[i] : deepest;
			settled += waits[i] != expected[i];
		}
		none += deepest == 0;
		for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
			if (!fixture_kernels(fixture_all_simd[k]))
				continue;
			const cr_contact_kernels *kernels = cr_get_contact_kernels(fixture_all_simd[k]);
			int32_t left[CORNERS];
			memcpy(left, waits, sizeof left);
			CHECK(kernels->deepest(depth, waits, count) == deepest);
			kernels->settle(depth, most, count, left);
			CHECK(memcmp(left, expected, (size_t)count * sizeof *left) == 0);
		}
	}
	CHECK(none > 100 && none < 1900 && settled > 1000);
}

TEST(facets, sides_out_of_range_are_refused)
{
	carom_context *context = fixture_context(1);
	for (int value = -1; value <= 4; value += 5) {
		carom_mesh_def def = carom_default_mesh_def();
		def.sides = (carom_mesh_sides)value;
		carom_mesh *mesh;
		char text[100];
		CHECK_INT(carom_create_mesh(context, &def, NULL, &mesh), CAROM_INVALID_ARGUMENT);
		snprintf(text, sizeof text, "carom_mesh_def.sides is %d, not in 0 to 3", value);
		CHECK_STR(carom_error_text(context), text);
	}
	carom_destroy_context(context);
}
