/// Facets of meshes: how many there are does not depend on how they are cut into triangles.
#include "fixture.h"
#include "frame/body.h"
#include "contact/manifold.h"
#include "manifold_fixture.h"
#include <math.h>
#include <stdio.h>

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
	cr_begin_facet_test(c, 1, facet, tolerance, &test);
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

TEST(facets, sides_out_of_range_are_refused)
{
	carom_context *context = fixture_context(1);
	for (int value = -1; value <= 3; value += 4) {
		carom_mesh_def def = carom_default_mesh_def();
		def.sides = (carom_mesh_sides)value;
		carom_mesh *mesh;
		char text[100];
		CHECK_INT(carom_create_mesh(context, &def, NULL, &mesh), CAROM_INVALID_ARGUMENT);
		snprintf(text, sizeof text, "carom_mesh_def.sides is %d, not in 0 to 2", value);
		CHECK_STR(carom_error_text(context), text);
	}
	carom_destroy_context(context);
}
