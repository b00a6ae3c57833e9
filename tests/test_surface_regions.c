/// Sheets across the middle of real meshes: vertices inside leave to one side, with edges that stay.
#include "cuts_fixture.h"
#include "frame/body.h"
#include "io/mesh_file.h"

#include <math.h>
#include <stdio.h>

static carom_mesh *load_mesh(carom_context *context, const char *name)
{
	sim_error error;
	sim_mesh file;
	carom_mesh *mesh;
	REQUIRE(io_load_mesh(test_data_path(name), &file, &error));
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

/// Part a sheet from a mesh. Tells how many vertices are inside, and how many pairs of triangles cross, before and after.
static void run(const char *name, double turn, int cells, double size, int steps, int inside[2], int crossing[2])
{
	static cuts_stage s;
	double extent;
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = load_mesh(context, name);
	const v3d middle = middle_of(mesh, &extent);
	cuts_open_stage(
		&s, context, fixture_sheet_mesh(context, cells, size * extent), mesh, CAROM_STATIC, fixture_at(0, 0, 0), false);
	cuts_put_sheet(&s, (carom_pose){ middle, fixture_turn((v3d){ 1, 0.2, 0.1 }, turn) });
	s.keep_edges = true;
	inside[0] = cuts_count_inside(&s);
	crossing[0] = cuts_count_crossings(&s);
	cuts_part(&s, steps);
	inside[1] = cuts_count_inside(&s);
	crossing[1] = cuts_count_crossings(&s);
	printf("%s, turned by %.2f: %d vertices inside, %d pairs cross; after %d steps %d and %d\n", name, turn, inside[0],
		crossing[0], steps, inside[1], crossing[1]);
	cuts_close_stage(&s);
	carom_destroy_context(context);
}

/// Before vertices left with their regions, 216 of 276 and 219 of 484 were still inside after 60 steps.
TEST(surface_regions, sheets_across_real_meshes_come_out)
{
	static const char *const bunny = "meshes/bullet-bunny-902.obj", *const teddy = "meshes/bullet-teddy-3192.obj";
	int inside[2], crossing[2];
	run(bunny, 0, 20, 0.4, 60, inside, crossing);
	CHECK(inside[0] == 276 && inside[1] < 10);
	CHECK(crossing[1] < crossing[0]);
	run(bunny, 1.57, 20, 0.4, 60, inside, crossing);
	CHECK(inside[0] == 367 && inside[1] == 0);
	CHECK(crossing[1] < 15);
	run(teddy, 0.3, 16, 0.6, 40, inside, crossing);
	CHECK(inside[0] > 200 && 4 * inside[1] < inside[0]);
}
