/// Sheets across the middle of real meshes: vertices inside leave to one side, with edges that stay.
#include "cuts_fixture.h"
#include "frame/body.h"
#include "io/mesh_file.h"

#include <math.h>
#include <stdio.h>

static carom_mesh *load_mesh(carom_context *context, const char *name, double scale)
{
	sim_error error;
	sim_mesh file;
	carom_mesh *mesh;
	REQUIRE(io_load_mesh(test_data_path(name), &file, &error));
	for (int32_t i = 0; i < 3 * file.vertex_count; i++)
		file.vertices[i] *= (float)scale;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = file.vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = file.vertex_count;
	def.triangles = file.triangles;
	def.triangle_count = file.triangle_count;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	sim_mesh_free(&file);
	return mesh;
}

static v3d middle_of(const carom_mesh *mesh, double *size)
{
	const cr_topology *t = &mesh->topology;
	v3d low = { INFINITY, INFINITY, INFINITY }, high = { -INFINITY, -INFINITY, -INFINITY };
	for (int32_t v = 0; v < t->vertex_count; v++) {
		const float *p = t->vertices + 3 * v;
		low = (v3d){ fmin(low.x, p[0]), fmin(low.y, p[1]), fmin(low.z, p[2]) };
		high = (v3d){ fmax(high.x, p[0]), fmax(high.y, p[1]), fmax(high.z, p[2]) };
	}
	const v3d extent = v3d_sub(high, low);
	*size = fmax(extent.x, fmax(extent.y, extent.z));
	return v3d_scale(v3d_add(low, high), 0.5);
}

/// A sheet across the middle of a mesh.
typedef struct across {
	const char *name;
	double scale, turn;
	int cells;
	double size; // of the mesh's size
	bool keep_edges;
	int inside[2], crossing[2]; // before and after
} across;

/// Part it from the mesh. Tells how many vertices are inside, and how many pairs of triangles cross, before and after.
static void run(across *a, int steps)
{
	static cuts_stage s;
	double extent;
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = load_mesh(context, a->name, a->scale);
	const v3d middle = middle_of(mesh, &extent);
	cuts_open_stage(
		&s, context, fixture_sheet_mesh(context, a->cells, a->size * extent), mesh, CAROM_STATIC, fixture_at(0, 0, 0), false);
	cuts_put_sheet(&s, (carom_pose){ middle, fixture_turn((v3d){ 1, 0.2, 0.1 }, a->turn) });
	s.keep_edges = a->keep_edges;
	a->inside[0] = cuts_count_inside(&s);
	a->crossing[0] = cuts_count_crossings(&s);
	const int done = cuts_part(&s, steps);
	a->inside[1] = cuts_count_inside(&s);
	a->crossing[1] = cuts_count_crossings(&s);
	printf("%s, turned by %.2f, %d cells, edges %s: %d vertices inside, %d pairs cross; after %d steps %d and %d\n", a->name,
		a->turn, a->cells, a->keep_edges ? "kept" : "free", a->inside[0], a->crossing[0], done, a->inside[1], a->crossing[1]);
	cuts_close_stage(&s);
	carom_destroy_context(context);
}

static const char *const bunny = "meshes/bullet-bunny-902.obj", *const teddy = "meshes/bullet-teddy-3192.obj",
						 *const torus = "meshes/bullet-torus-600.obj", *const knot = "meshes/quadknot-2880.obj";

/// Before vertices left with their regions, 216 of 276 and 219 of 484 were still inside after 60 steps. Before the faces around them
/// did, 2 vertices and 51 pairs of the first sheet were left.
TEST(surface_regions, sheets_across_real_meshes_come_out)
{
	across all[] = {
		{ .name = bunny, .scale = 1, .cells = 20, .size = 0.4, .keep_edges = true },
		{ .name = bunny, .scale = 1, .turn = 1.57, .cells = 20, .size = 0.4, .keep_edges = true },
		{ .name = bunny, .scale = 1, .turn = 0.05, .cells = 8, .size = 0.7, .keep_edges = true },
		{ .name = torus, .scale = 1, .turn = 1.45, .cells = 16, .size = 1.3, .keep_edges = true },
		{ .name = knot, .scale = 0.02, .turn = 0.75, .cells = 8, .size = 1.3, .keep_edges = true },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		run(&all[i], 60);
		CHECK(all[i].inside[0] > 0 && all[i].crossing[0] > 60);
		CHECK_INT(all[i].inside[1], 0);
		CHECK_INT(all[i].crossing[1], 0);
	}
	across large = { .name = teddy, .scale = 1, .turn = 0.3, .cells = 16, .size = 0.6, .keep_edges = true };
	run(&large, 40);
	CHECK(large.inside[0] > 200 && large.inside[1] == 0 && 8 * large.crossing[1] < large.crossing[0]);
}

/// Coarse and fine ones, of which hundreds of pairs crossed for good where vertices alone were led.
TEST(surface_regions, sheets_whose_edges_are_free_come_out)
{
	static const char *const names[] = { bunny, torus, knot };
	for (int round = 0; round < 18; round++) {
		const int which = round % 3;
		across a = { .name = names[which],
			.scale = which == 2 ? 0.02 : 1,
			.turn = 0.05 + 0.7 * (round / 3 % 3),
			.cells = round < 9 ? 8 : 20,
			.size = which == 0 ? 0.7 : 1.3 };
		run(&a, 60);
		CHECK(a.inside[0] > 0 && a.crossing[0] > 60);
		CHECK_INT(a.inside[1], 0);
		CHECK(a.crossing[1] <= (which == 2 ? 8 : 0));
	}
}
