#include "manifold_fixture.h"
#include "sim/shapes/shapes.h"

void manifold_add_square(fixture_soup *soup, int cells, v3d corner, v3d right, v3d up)
{
	const int32_t first = soup->vertex_count;
	for (int y = 0; y <= cells; y++) {
		for (int x = 0; x <= cells; x++) {
			const v3d p = v3d_mad(v3d_mad(corner, (double)x / cells, right), (double)y / cells, up);
			float *v = soup->vertices + 3 * soup->vertex_count++;
			v[0] = (float)p.x, v[1] = (float)p.y, v[2] = (float)p.z;
		}
	}
	for (int i = 0; i < cells * cells; i++) {
		const int32_t a = first + i / cells * (cells + 1) + i % cells, b = a + 1, d = a + cells + 1, c = d + 1;
		const int32_t both[6] = { a, b, c, a, c, d };
		for (int k = 0; k < 6; k++)
			soup->triangles[3 * soup->triangle_count + k] = both[k];
		soup->triangle_count += 2;
	}
}

static void make_cube(fixture_soup *soup, int cells, double half)
{
	soup->vertex_count = soup->triangle_count = 0;
	for (int axis = 0; axis < 3; axis++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			double c[3], r[3] = { 0, 0, 0 }, u[3] = { 0, 0, 0 };
			c[axis] = sign * half;
			c[(axis + 1) % 3] = c[(axis + 2) % 3] = -half;
			r[(axis + (sign > 0 ? 1 : 2)) % 3] = 2 * half;
			u[(axis + (sign > 0 ? 2 : 1)) % 3] = 2 * half;
			manifold_add_square(soup, cells, (v3d){ c[0], c[1], c[2] }, (v3d){ r[0], r[1], r[2] }, (v3d){ u[0], u[1], u[2] });
		}
	}
}

carom_mesh *manifold_cube(carom_context *context, int cells, double half)
{
	static fixture_soup soup;
	make_cube(&soup, cells, half);
	return fixture_mesh(context, &soup);
}

carom_mesh *manifold_shuffled_cube(carom_context *context, int cells, double half, uint64_t seed)
{
	static fixture_soup soup;
	make_cube(&soup, cells, half);
	for (int32_t i = soup.triangle_count - 1; i >= 0; i--) {
		const int32_t j = (int32_t)(test_random(&seed) % (uint64_t)(i + 1)), turn = (int32_t)(test_random(&seed) % 3);
		int32_t moved[3];
		for (int k = 0; k < 3; k++)
			moved[k] = soup.triangles[3 * i + (k + turn) % 3];
		for (int k = 0; k < 3; k++) {
			soup.triangles[3 * i + k] = soup.triangles[3 * j + k];
			soup.triangles[3 * j + k] = moved[k];
		}
	}
	return fixture_mesh(context, &soup);
}

carom_mesh *manifold_floor(carom_context *context, int cells, double size, carom_mesh_sides sides)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	manifold_add_square(&soup, cells, (v3d){ -size / 2, -size / 2, 0 }, (v3d){ size, 0, 0 }, (v3d){ 0, size, 0 });
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = soup.vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = soup.vertex_count;
	def.triangles = soup.triangles;
	def.triangle_count = soup.triangle_count;
	def.sides = sides;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

void manifold_meet(carom_context *context, const carom_world_def *def, carom_shape a, carom_pose pose_a, carom_shape b,
	carom_pose pose_b, manifold_view *view)
{
	carom_world *world = fixture_world(context, def);
	fixture_add(world, a, pose_a, CAROM_DYNAMIC);
	fixture_add(world, b, pose_b, CAROM_DYNAMIC);
	fixture_step(world);
	fixture_check_views(world);
	const carom_contact_view c = carom_world_contacts(world);
	view->count = c.count < MANIFOLD_CONTACTS ? c.count : MANIFOLD_CONTACTS;
	for (int i = 0; i < view->count; i++)
		view->data[i] = c.data[i];
	carom_destroy_world(world);
}

carom_mesh *manifold_made_mesh(carom_context *context, const char *shape, int32_t triangles)
{
	sim_mesh made;
	sim_error error;
	REQUIRE(sim_make_shape(shape, triangles, 3, &made, &error));
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ made.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = made.vertex_count;
	def.triangles = made.triangles;
	def.triangle_count = made.triangle_count;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	sim_mesh_free(&made);
	return mesh;
}

carom_mesh *manifold_frustum(carom_context *context, int sides, double lower, double upper, double half)
{
	float points[6 * MANIFOLD_MOST_SIDES];
	REQUIRE(sides <= MANIFOLD_MOST_SIDES);
	for (int i = 0; i < 2 * sides; i++) {
		const double angle = 2 * FIXTURE_PI * (i / 2) / sides, radius = i % 2 ? upper : lower;
		points[3 * i] = (float)(radius * cos(angle));
		points[3 * i + 1] = (float)(radius * sin(angle));
		points[3 * i + 2] = (float)(i % 2 ? half : -half);
	}
	return fixture_hull_mesh(context, points, 2 * sides);
}

carom_mesh *manifold_stone(carom_context *context, int count, uint64_t seed)
{
	float points[6 * MANIFOLD_MOST_SIDES];
	REQUIRE(count <= 2 * MANIFOLD_MOST_SIDES);
	for (int i = 0; i < count; i++) {
		const carom_vec3 p = carom_rotate(fixture_random_pose(&seed, 1).orientation, (carom_vec3){ 0.6, 0, 0 });
		points[3 * i] = (float)p.x;
		points[3 * i + 1] = (float)p.y;
		points[3 * i + 2] = (float)p.z;
	}
	return fixture_hull_mesh(context, points, count);
}
