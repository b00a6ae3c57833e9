/// Meshes and height fields as users make them: wrong definitions, references, memory, mass, trees, and contacts of the made solids.
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float CUBE_VERTICES[24] = { 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1 };
static const int32_t CUBE_TRIANGLES[36] = { 0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4, 1, 2, 6, 1, 6, 5, 2, 3, 7, 2,
	7, 6, 3, 0, 4, 3, 4, 7 };

// ---- Contexts that count ----

/// fail_at: the allocation that fails, the context being number 0; -1: none.
static carom_context *make_context(fixture_heap *heap, int64_t fail_at)
{
	carom_context *context = fixture_heap_context(heap, 1);
	atomic_store(&heap->fail_at, fail_at);
	return context;
}

/// Everything was given back.
static void close_context(carom_context *context, fixture_heap *heap)
{
	CHECK_INT(atomic_load(&heap->blocks), 1);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap->blocks), 0);
}

static carom_mesh_def cube_def(void)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ CUBE_VERTICES, 0, CAROM_FLOAT32 };
	def.vertex_count = 8;
	def.triangles = CUBE_TRIANGLES;
	def.triangle_count = 12;
	return def;
}

static carom_mesh *make_mesh(carom_context *context, const carom_mesh_def *def)
{
	carom_mesh *mesh = NULL;
	const carom_result result = carom_create_mesh(context, def, NULL, &mesh);
	CHECK_STR(carom_error_text(context), "");
	REQUIRE(result == CAROM_SUCCESS && mesh);
	return mesh;
}

// ---- Wrong definitions ----

/// The definition is refused, with the field in the text, and nothing is left behind.
static void check_refused(carom_context *context, const carom_mesh_def *def, carom_result expected, const char *word)
{
	const size_t before = carom_memory_in_use(context);
	carom_mesh *mesh = (carom_mesh *)(void *)&before;
	CHECK_INT(carom_create_mesh(context, def, NULL, &mesh), expected);
	CHECK(mesh == NULL);
	if (!CHECK(strstr(carom_error_text(context), word) != NULL))
		CHECK_STR(carom_error_text(context), word);
	CHECK_INT(carom_memory_in_use(context), before);
}

TEST(mesh, wrong_fields_are_named)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	carom_mesh *mesh = NULL;
	carom_mesh_def def = cube_def();
	CHECK_INT(carom_create_mesh(NULL, &def, NULL, &mesh), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_create_mesh(context, &def, NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "mesh is NULL") != NULL);
	check_refused(context, NULL, CAROM_INVALID_ARGUMENT, "def is NULL");
#define WRONG(field, value, word)                                   \
	do {                                                            \
		def = cube_def();                                           \
		def.field = (value);                                        \
		check_refused(context, &def, CAROM_INVALID_ARGUMENT, word); \
	} while (0)
	WRONG(cookie, 0, "cookie");
	WRONG(vertices.data, NULL, "vertices.data");
	WRONG(vertices.stride, 8, "vertices.stride");
	WRONG(vertices.stride, -8, "vertices.stride");
	WRONG(vertices.type, (carom_scalar)7, "vertices.type");
	WRONG(vertex_count, -1, "vertex_count");
	WRONG(triangles, NULL, "triangles");
	WRONG(triangle_count, -1, "triangle_count");
	WRONG(triangle_count, INT32_MAX, "triangle_count");
	WRONG(grid_resolution, -2, "grid_resolution");
	WRONG(grid_resolution, 1025, "grid_resolution");
	WRONG(weld_distance, -1e-9, "weld_distance");
	WRONG(weld_distance, NAN, "weld_distance");
	WRONG(weld_distance, INFINITY, "weld_distance");
	WRONG(centre.x, NAN, "centre");
#undef WRONG
	close_context(context, &heap);
}

TEST(mesh, unusable_data_is_reported)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	float vertices[24];
	int32_t triangles[36];
	carom_mesh_def def = cube_def();
	def.vertices.data = vertices;
	def.triangles = triangles;
	const float bad[] = { NAN, INFINITY, -INFINITY, 2e12f };
	for (int i = 0; i < 4; i++) {
		memcpy(vertices, CUBE_VERTICES, sizeof vertices);
		memcpy(triangles, CUBE_TRIANGLES, sizeof triangles);
		vertices[3 * 5 + 1] = bad[i];
		check_refused(context, &def, CAROM_INVALID_MESH, "vertex 5");
	}
	const int32_t wrong[] = { -1, 8, INT32_MAX, INT32_MIN };
	for (int i = 0; i < 4; i++) {
		memcpy(vertices, CUBE_VERTICES, sizeof vertices);
		memcpy(triangles, CUBE_TRIANGLES, sizeof triangles);
		triangles[3 * 7 + 2] = wrong[i];
		check_refused(context, &def, CAROM_INVALID_MESH, "triangle 7");
	}
	// The report is filled all the same.
	carom_mesh_report report;
	carom_mesh *mesh = NULL;
	CHECK_INT(carom_create_mesh(context, &def, &report, &mesh), CAROM_INVALID_MESH);
	CHECK(!report.usable);
	CHECK_INT(report.out_of_range_triangles, 1);
	CHECK_INT(report.first_element, 7);
	close_context(context, &heap);
}

TEST(mesh, report_stays_with_the_mesh)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	const carom_mesh_def def = cube_def();
	carom_mesh_report report, checked;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, &report, &mesh) == CAROM_SUCCESS);
	CHECK(memcmp(carom_mesh_get_report(mesh), &report, sizeof report) == 0);
	REQUIRE(carom_check_mesh(context, &def, &checked) == CAROM_SUCCESS);
	CHECK(memcmp(&checked, &report, sizeof report) == 0);
	CHECK(report.usable && report.closed && !report.inverted);
	CHECK_NEAR(report.volume, 1, 1e-12);
	CHECK_NEAR(report.area, 6, 1e-12);
	CHECK(memcmp(carom_mesh_get_vertices(mesh), CUBE_VERTICES, sizeof CUBE_VERTICES) == 0);
	CHECK(memcmp(carom_mesh_get_triangles(mesh), CUBE_TRIANGLES, sizeof CUBE_TRIANGLES) == 0);
	carom_release_mesh(mesh);
	carom_release_mesh(NULL);
	close_context(context, &heap);
}

TEST(mesh, strided_doubles_at_odd_addresses)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	enum { STRIDE = 3 * sizeof(double) + 5 };
	unsigned char bytes[1 + 8 * STRIDE];
	for (int i = 0; i < 8; i++) {
		const double v[3] = { CUBE_VERTICES[3 * i], CUBE_VERTICES[3 * i + 1], CUBE_VERTICES[3 * i + 2] };
		memcpy(bytes + 1 + i * STRIDE, v, sizeof v);
	}
	carom_mesh_def def = cube_def();
	def.vertices = (carom_strided){ bytes + 1, STRIDE, CAROM_FLOAT64 };
	carom_mesh *mesh = make_mesh(context, &def);
	// The library has copied: the caller's memory is the caller's again.
	memset(bytes, 0xff, sizeof bytes);
	CHECK(memcmp(carom_mesh_get_vertices(mesh), CUBE_VERTICES, sizeof CUBE_VERTICES) == 0);
	carom_release_mesh(mesh);
	close_context(context, &heap);
}

TEST(mesh, vertices_read_backwards)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	float reversed[24];
	for (int i = 0; i < 8; i++)
		memcpy(&reversed[3 * i], &CUBE_VERTICES[3 * (7 - i)], 3 * sizeof(float));
	carom_mesh_def def = cube_def();
	def.vertices = (carom_strided){ &reversed[21], -12, CAROM_FLOAT32 };
	carom_mesh *mesh = make_mesh(context, &def);
	CHECK(memcmp(carom_mesh_get_vertices(mesh), CUBE_VERTICES, sizeof CUBE_VERTICES) == 0);
	carom_release_mesh(mesh);
	close_context(context, &heap);
}

// ---- References and memory ----

static carom_body_id add_mesh(carom_world *world, const carom_mesh *mesh, carom_vec3 position)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	def.kind = CAROM_DYNAMIC;
	def.pose.position = position;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

TEST(mesh, bodies_keep_it_alive)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	carom_world *world = NULL;
	REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
	// Pairs leave lists behind, which are tidied from time to time: the world's memory swings, and must not grow beyond that.
	size_t peaks[2] = { 0 };
	for (int round = 0; round < 3600; round++) {
		const carom_mesh_def def = cube_def();
		carom_mesh *mesh = make_mesh(context, &def);
		const carom_body_id a = add_mesh(world, mesh, (carom_vec3){ 0, 0, 0 });
		const carom_body_id b = add_mesh(world, mesh, (carom_vec3){ 0.5, 0.25, 0.125 });
		carom_release_mesh(mesh);
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		CHECK_INT(carom_world_pairs(world).count, 1);
		REQUIRE(carom_world_remove_body(world, a) == CAROM_SUCCESS);
		// The other body still works on the mesh.
		const carom_body_id d = add_mesh(world, mesh, (carom_vec3){ 0.5, 0.25, 1.0 });
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		CHECK_INT(carom_world_pairs(world).count, 1);
		REQUIRE(carom_world_remove_body(world, b) == CAROM_SUCCESS);
		REQUIRE(carom_world_remove_body(world, d) == CAROM_SUCCESS);
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		const size_t after = carom_memory_in_use(context);
		peaks[round / 1800] = after > peaks[round / 1800] ? after : peaks[round / 1800];
	}
	CHECK(peaks[1] <= peaks[0]);
	carom_destroy_world(world);
	close_context(context, &heap);
}

TEST(mesh, destroyed_worlds_give_meshes_back)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	const size_t empty = carom_memory_in_use(context);
	const carom_mesh_def def = cube_def();
	carom_mesh *mesh = make_mesh(context, &def);
	carom_tree_info info;
	REQUIRE(carom_mesh_get_tree_info(mesh, false, &info) == CAROM_SUCCESS);
	const size_t with_mesh = carom_memory_in_use(context);
	carom_world *worlds[2] = { NULL };
	for (int i = 0; i < 2; i++) {
		REQUIRE(carom_create_world(context, NULL, &worlds[i]) == CAROM_SUCCESS);
		add_mesh(worlds[i], mesh, (carom_vec3){ 0, 0, 0 });
	}
	carom_release_mesh(mesh);
	carom_destroy_world(worlds[0]);
	carom_vec3 away = { 0.5, 0.5, 0.5 };
	add_mesh(worlds[1], mesh, away);
	REQUIRE(carom_world_step(worlds[1]) == CAROM_SUCCESS);
	CHECK_INT(carom_world_pairs(worlds[1]).count, 1);
	carom_destroy_world(worlds[1]);
	CHECK_INT(carom_memory_in_use(context), empty);
	CHECK(with_mesh - empty >= info.bytes && info.bytes > 1000);
	close_context(context, &heap);
}

typedef carom_result make_fn(carom_context *context, carom_mesh **mesh);

static carom_result make_cube(carom_context *context, carom_mesh **mesh)
{
	const carom_mesh_def def = cube_def();
	return carom_create_mesh(context, &def, NULL, mesh);
}

static carom_result make_field(carom_context *context, carom_mesh **mesh)
{
	static const float heights[12] = { 0, 1, 0, 2, 0, 1, 3, 0, 1, 0, 0, 1 };
	static const double spacing[2] = { 1, 2 };
	return carom_create_height_field(context, 4, 3, heights, spacing, 1, mesh);
}

static void check_failing_allocations(make_fn *make)
{
	bool made = false;
	int64_t failures = 0;
	for (int64_t fail_at = 1; !made && fail_at < 500; fail_at++) {
		fixture_heap heap;
		carom_context *context = make_context(&heap, fail_at);
		carom_mesh *mesh = NULL;
		const carom_result result = make(context, &mesh);
		made = result == CAROM_SUCCESS;
		if (made) {
			carom_release_mesh(mesh);
		} else {
			failures++;
			CHECK_INT(result, CAROM_OUT_OF_MEMORY);
			CHECK(mesh == NULL);
			CHECK(strstr(carom_error_text(context), "memory") != NULL);
		}
		close_context(context, &heap);
	}
	CHECK(made);
	CHECK(failures > 20);
}

TEST(mesh, every_allocation_may_fail) { check_failing_allocations(make_cube); }

static carom_result make_welded_cube(carom_context *context, carom_mesh **mesh)
{
	carom_mesh_def def = cube_def();
	def.weld_distance = 1e-3;
	return carom_create_mesh(context, &def, NULL, mesh);
}

TEST(mesh, every_allocation_of_a_welded_one_may_fail) { check_failing_allocations(make_welded_cube); }

// ---- Mass ----

static void check_mass(const carom_mass *m, double mass, carom_vec3 centre, const double inertia[6], double tolerance)
{
	CHECK_NEAR(m->mass, mass, tolerance * mass);
	CHECK_NEAR(m->centre.x, centre.x, tolerance);
	CHECK_NEAR(m->centre.y, centre.y, tolerance);
	CHECK_NEAR(m->centre.z, centre.z, tolerance);
	for (int i = 0; i < 6; i++)
		CHECK_NEAR(m->inertia[i], inertia[i], tolerance * mass);
}

TEST(mesh, mass_of_known_solids)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	float vertices[24];
	carom_mesh_def def = cube_def();
	def.vertices.data = vertices;
	carom_mass mass;

	// A block of 2 x 3 x 4 away from the origin: m / 12 (b^2 + c^2).
	const float size[3] = { 2, 3, 4 }, origin[3] = { 10, -20, 30 };
	for (int i = 0; i < 24; i++)
		vertices[i] = origin[i % 3] + CUBE_VERTICES[i] * size[i % 3];
	carom_mesh *mesh = make_mesh(context, &def);
	REQUIRE(carom_mesh_get_mass(mesh, &mass) == CAROM_SUCCESS);
	check_mass(&mass, 24, (carom_vec3){ 11, -18.5, 32 }, (double[6]){ 50, 40, 26, 0, 0, 0 }, 1e-9);
	carom_release_mesh(mesh);

	// The tetrahedron of the unit axes. Covariance of a simplex: m/20 times the sum of the corners' outer products about the
	// centre, here 3/4 on the diagonal and -1/4 off it.
	const float corners[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	const int32_t faces[12] = { 0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3 };
	def.vertices.data = corners;
	def.vertex_count = 4;
	def.triangles = faces;
	def.triangle_count = 4;
	mesh = make_mesh(context, &def);
	REQUIRE(carom_mesh_get_mass(mesh, &mass) == CAROM_SUCCESS);
	const double m = 1.0 / 6;
	check_mass(&mass, m, (carom_vec3){ 0.25, 0.25, 0.25 },
		(double[6]){ 6 * m / 80, 6 * m / 80, 6 * m / 80, m / 80, m / 80, m / 80 }, 1e-12);
	carom_release_mesh(mesh);
	close_context(context, &heap);
}

TEST(mesh, mass_needs_a_solid)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	carom_mass mass;
	carom_mesh_def def = cube_def();
	def.triangle_count = 11;
	carom_mesh *open = make_mesh(context, &def);
	CHECK_INT(carom_mesh_get_mass(open, &mass), CAROM_INVALID_MESH);
	CHECK(strstr(carom_error_text(context), "open") != NULL);
	carom_release_mesh(open);
	close_context(context, &heap);

	context = make_context(&heap, -1);
	const int32_t both[6] = { 0, 1, 2, 0, 2, 1 };
	def = cube_def();
	def.triangles = both;
	def.triangle_count = 2;
	carom_mesh *leaf = make_mesh(context, &def);
	CHECK(carom_mesh_get_report(leaf)->closed);
	CHECK_INT(carom_mesh_get_mass(leaf, &mass), CAROM_INVALID_MESH);
	CHECK(strstr(carom_error_text(context), "volume") != NULL);
	CHECK_INT(carom_mesh_get_mass(leaf, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_get_mass(NULL, &mass), CAROM_INVALID_ARGUMENT);
	carom_release_mesh(leaf);
	close_context(context, &heap);
}

// ---- Containers ----

/// The cube as a container, its triangles as the solid has them or turned round.
static carom_mesh *make_container(carom_context *context, bool turned)
{
	int32_t triangles[36];
	for (int i = 0; i < 36; i++)
		triangles[i] = CUBE_TRIANGLES[turned && i % 3 > 0 ? i / 3 * 3 + 3 - i % 3 : i];
	carom_mesh_def def = cube_def();
	def.triangles = triangles;
	def.sides = CAROM_SIDES_CONTAINER;
	return make_mesh(context, &def);
}

/// Contacts of a ball with a body of the mesh at the origin. 0 or 1; *normal points to the ball.
static int32_t meet_ball(carom_context *context, const carom_mesh *mesh, carom_vec3 at, carom_vec3 *normal, double *depth)
{
	carom_world *world = NULL;
	REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = 0.1 };
	def.pose.position = at;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	def = carom_default_body_def();
	def.kind = CAROM_KINEMATIC;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	const carom_contact_view contacts = carom_world_contacts(world);
	const int32_t count = contacts.count;
	CHECK(count <= 1);
	if (count > 0) {
		const float *n = contacts.data[0].normal; // out of B
		*normal = (carom_vec3){ (double)n[0], (double)n[1], (double)n[2] };
		*depth = (double)contacts.data[0].depth;
	}
	carom_destroy_world(world);
	return count;
}

TEST(mesh, a_container_holds_what_is_in_it)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	for (int turned = 0; turned < 2; turned++) {
		carom_mesh *made = make_container(context, turned), *mesh = made;
		const carom_mesh_report *r = carom_mesh_get_report(made);
		CHECK(r->usable && !r->closed && r->volume == 0 && r->border_edges == 0);
		CHECK_INT(r->inverted, !turned); // those of the solid face outwards
		CHECK_INT(carom_mesh_get_sides(made), CAROM_SIDES_CONTAINER);
		carom_mass mass;
		// the last one: makers of meshes demand that there was no error before
		if (turned)
			CHECK_INT(carom_mesh_get_mass(made, &mass), CAROM_INVALID_MESH);
		CHECK_STR(carom_error_text(context),
			turned ? "carom_mesh_get_mass: the mesh is open: its sides are CAROM_SIDES_CONTAINER" : "");
		// As it is, and of another size, mirrored: its front stays within.
		for (int size = 1; size <= 2; size++) {
			const double at = size == 1 ? 0.5 : -1, lie = 0.95 * 0.1;
			if (size == 2)
				REQUIRE(carom_create_scaled_mesh(context, made, (double[3]){ -2, 2, 2 }, &mesh) == CAROM_SUCCESS);
			CHECK(carom_mesh_get_report(mesh)->closed == false);
			carom_vec3 n;
			double depth;
			CHECK_INT(meet_ball(context, mesh, (carom_vec3){ at, 0.5 * size, 0.5 * size }, &n, &depth), 0);
			REQUIRE(meet_ball(context, mesh, (carom_vec3){ at, 0.5 * size, lie }, &n, &depth) == 1);
			CHECK_NEAR(n.z, 1, 1e-6);
			CHECK_NEAR(depth, 0.005, 1e-6);
			// its middle beyond the wall: it is led back in
			REQUIRE(meet_ball(context, mesh, (carom_vec3){ at, 0.5 * size, -0.04 }, &n, &depth) == 1);
			CHECK_NEAR(n.z, 1, 1e-6);
			CHECK_NEAR(depth, 0.14, 1e-6);
			CHECK_INT(meet_ball(context, mesh, (carom_vec3){ at, 0.5 * size, -0.2 }, &n, &depth), 0);
			if (size == 2)
				carom_release_mesh(mesh);
		}
		carom_release_mesh(made);
	}
	close_context(context, &heap);
}

TEST(mesh, a_sheet_or_an_open_mesh_is_no_container)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	carom_mesh_def def = cube_def();
	def.sides = CAROM_SIDES_CONTAINER;
	def.triangle_count = 11;
	carom_mesh *mesh = make_mesh(context, &def);
	const int32_t *kept = carom_mesh_get_triangles(mesh);
	CHECK(!carom_mesh_get_report(mesh)->inverted && memcmp(kept, CUBE_TRIANGLES, 33 * sizeof *kept) == 0);
	carom_release_mesh(mesh);
	const int32_t both[6] = { 0, 1, 2, 0, 2, 1 };
	def.triangles = both;
	def.triangle_count = 2;
	mesh = make_mesh(context, &def);
	CHECK(carom_mesh_get_report(mesh)->closed);
	CHECK_INT(carom_mesh_get_sides(mesh), CAROM_SIDES_BOTH);
	carom_release_mesh(mesh);
	close_context(context, &heap);
}

// ---- Trees ----

TEST(mesh, tree_info)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	const size_t empty = carom_memory_in_use(context);
	carom_mesh_def def = cube_def();
	def.grid_resolution = 8;
	carom_mesh *mesh = make_mesh(context, &def);
	carom_tree_info info, with_epo;
	REQUIRE(carom_mesh_get_tree_info(mesh, false, &info) == CAROM_SUCCESS);
	REQUIRE(carom_mesh_get_tree_info(mesh, true, &with_epo) == CAROM_SUCCESS);
	CHECK(info.binary_nodes >= 3 && info.binary_nodes <= 23 && info.binary_nodes % 2 == 1);
	CHECK(info.wide_nodes >= 1 && info.wide_nodes <= info.binary_nodes);
	CHECK(info.depth >= 1 && info.depth <= info.wide_nodes);
	CHECK(info.sah_cost > 0);
	CHECK_NEAR(info.epo, 0, 0);
	CHECK(with_epo.epo > 0);
	CHECK_NEAR(with_epo.sah_cost, info.sah_cost, 0);
	// Eight cells across the cube and a rim.
	CHECK(info.grid_cells >= 10 * 10 * 10 && info.grid_cells <= 12 * 12 * 12);
	// All that the mesh holds: what the context counts, up to a few bytes of padding.
	CHECK_NEAR(info.bytes, carom_memory_in_use(context) - empty, 64);
	CHECK_INT(carom_mesh_get_tree_info(mesh, false, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_get_tree_info(NULL, false, &info), CAROM_INVALID_ARGUMENT);
	carom_release_mesh(mesh);
	close_context(context, &heap);
}

// ---- Inverted and empty meshes ----

/// The contacts of a cube made from triangles against another that stays.
static uint64_t hash_of_cubes(carom_context *context, const carom_mesh *mesh)
{
	carom_world *world = NULL;
	REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
	add_mesh(world, mesh, (carom_vec3){ 0, 0, 0 });
	add_mesh(world, mesh, (carom_vec3){ 0.9, 0.3, 0.2 });
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	const carom_contact_view contacts = carom_world_contacts(world);
	CHECK(contacts.count > 0);
	for (int32_t i = 0; i < contacts.count; i++) {
		// The second cube lies 0.1 m deep on the far side of x. Rays start along vertex normals, so the way out may be slanted.
		const carom_contact *contact = &contacts.data[i];
		CHECK_NEAR((double)contact->depth * contact->normal[0], -0.1, 1e-5);
	}
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	return hash;
}

TEST(mesh, inside_out_works_like_the_right_one)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	int32_t triangles[36];
	memcpy(triangles, CUBE_TRIANGLES, sizeof triangles);
	for (int i = 0; i < 12; i++) {
		triangles[3 * i + 1] = CUBE_TRIANGLES[3 * i + 2];
		triangles[3 * i + 2] = CUBE_TRIANGLES[3 * i + 1];
	}
	carom_mesh_def def = cube_def();
	carom_mesh *right = make_mesh(context, &def);
	def.triangles = triangles;
	carom_mesh *inverted = make_mesh(context, &def);
	CHECK(carom_mesh_get_report(inverted)->inverted);
	CHECK_NEAR(carom_mesh_get_report(inverted)->volume, -1, 1e-12);
	CHECK(memcmp(carom_mesh_get_triangles(inverted), CUBE_TRIANGLES, sizeof CUBE_TRIANGLES) == 0);
	carom_mass mass;
	REQUIRE(carom_mesh_get_mass(inverted, &mass) == CAROM_SUCCESS);
	CHECK_NEAR(mass.mass, 1, 1e-12);
	CHECK(hash_of_cubes(context, inverted) == hash_of_cubes(context, right));
	carom_release_mesh(right);
	carom_release_mesh(inverted);
	close_context(context, &heap);
}

TEST(mesh, empty_ones_are_usable)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *nothing = make_mesh(context, &def);
	CHECK(carom_mesh_get_report(nothing)->usable);
	def = cube_def();
	def.triangle_count = 0;
	carom_mesh *points = make_mesh(context, &def);
	CHECK_INT(carom_mesh_get_report(points)->unreferenced_vertices, 8);
	carom_tree_info info;
	REQUIRE(carom_mesh_get_tree_info(nothing, true, &info) == CAROM_SUCCESS);
	CHECK_INT(info.binary_nodes + info.wide_nodes + info.depth + info.grid_cells, 0);
	def = cube_def();
	carom_mesh *cube = make_mesh(context, &def);
	carom_world *world = NULL;
	REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
	add_mesh(world, nothing, (carom_vec3){ 0.5, 0.5, 0.5 });
	add_mesh(world, points, (carom_vec3){ 0, 0, 0 });
	add_mesh(world, cube, (carom_vec3){ 0, 0, 0 });
	for (int step = 0; step < 3; step++)
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	CHECK_INT(carom_world_pairs(world).count, 0);
	carom_destroy_world(world);
	carom_release_mesh(nothing);
	carom_release_mesh(points);
	carom_release_mesh(cube);
	close_context(context, &heap);
}

// ---- Height fields ----

TEST(mesh, wrong_height_fields_are_named)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	const size_t before = carom_memory_in_use(context);
	float heights[4] = { 0, 0, 0, 0 };
	const double spacing[2] = { 1, 1 };
	carom_mesh *mesh = NULL;
	CHECK_INT(carom_create_height_field(NULL, 2, 2, heights, spacing, 1, &mesh), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_create_height_field(context, 2, 2, heights, spacing, 1, NULL), CAROM_INVALID_ARGUMENT);
#define WRONG(columns, rows, heights, spacing, thickness, word)                                                             \
	do {                                                                                                                    \
		mesh = (carom_mesh *)(void *)&heap;                                                                                 \
		CHECK_INT(                                                                                                          \
			carom_create_height_field(context, columns, rows, heights, spacing, thickness, &mesh), CAROM_INVALID_ARGUMENT); \
		CHECK(mesh == NULL);                                                                                                \
		CHECK(strstr(carom_error_text(context), word) != NULL);                                                             \
	} while (0)
	WRONG(1, 2, heights, spacing, 1, "columns");
	WRONG(2, 1, heights, spacing, 1, "rows");
	WRONG(-5, 2, heights, spacing, 1, "columns");
	WRONG(2, INT32_MIN, heights, spacing, 1, "rows");
	WRONG(100000, 100000, heights, spacing, 1, "samples");
	WRONG(2, 2, NULL, spacing, 1, "heights");
	WRONG(2, 2, heights, NULL, 1, "spacing");
	const double zero[2] = { 0, 1 }, negative[2] = { 1, -1 }, odd[2] = { 1, NAN }, endless[2] = { INFINITY, 1 };
	const double tiny[2] = { 1e-300, 1 }, small[2] = { 1, 1e-46 }, wide[2] = { 1, 1e12 };
	WRONG(2, 2, heights, tiny, 1, "spacing[0] is 1e-300, which float does not resolve between columns 0 and 1");
	WRONG(2, 2, heights, small, 1, "spacing[1] is 1e-46, which float does not resolve between rows 0 and 1");
	WRONG(2, 3, heights, wide, 1, "spacing[1] is 1e+12, with which 3 rows end at 2e+12, beyond the limit of 1e+12");
	WRONG(2, 2, heights, zero, 1, "spacing[0]");
	WRONG(2, 2, heights, negative, 1, "spacing[1]");
	WRONG(2, 2, heights, odd, 1, "spacing[1]");
	WRONG(2, 2, heights, endless, 1, "spacing[0] is inf; it must be above 0 and at most 1e+12");
	WRONG(2, 2, heights, spacing, 0, "thickness");
	WRONG(2, 2, heights, spacing, -1, "thickness");
	WRONG(2, 2, heights, spacing, NAN, "thickness");
	WRONG(2, 2, heights, spacing, INFINITY, "thickness is inf; it must be above 0 and at most 1e+12");
	heights[2] = NAN;
	WRONG(2, 2, heights, spacing, 1, "heights leaves only holes: each cell has a corner that is NaN");
	heights[2] = -INFINITY;
	WRONG(2, 2, heights, spacing, 1, "heights[2] is infinite");
#undef WRONG
	// Coordinates beyond what meshes take: refused by the mesh check.
	heights[2] = 2e12f;
	CHECK_INT(carom_create_height_field(context, 2, 2, heights, spacing, 1, &mesh), CAROM_INVALID_MESH);
	CHECK_INT(carom_memory_in_use(context), before);
	close_context(context, &heap);
}

/// Refused by name (false), or a closed solid of good triangles.
static bool make_solid_field(carom_context *context, int32_t columns, int32_t rows, double x, double y)
{
	const float heights[12] = { 0 };
	const double spacing[2] = { x, y };
	carom_mesh *mesh;
	const carom_result result = carom_create_height_field(context, columns, rows, heights, spacing, 1, &mesh);
	if (result != CAROM_SUCCESS) {
		CHECK_INT(result, CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(context), "carom_create_height_field: spacing[") != NULL);
		return false;
	}
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	if (!CHECK(report->closed && report->degenerate_triangles == 0 && report->euler == 2))
		printf("%d x %d, spacing %g x %g\n", columns, rows, x, y);
	carom_release_mesh(mesh);
	return true;
}

TEST(mesh, height_fields_are_solid_at_any_spacing)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	int made = 0;
	for (double a = 1e-47; a < 1e13; a *= 1.9) {
		for (int columns = 2; columns <= 4; columns++)
			made += make_solid_field(context, columns, 5 - columns < 2 ? 2 : 5 - columns, a, a);
	}
	CHECK(made > 500);
	CHECK(!make_solid_field(context, 3, 2, 1e-46, 1)); // the second sample would lie on the first
	CHECK(make_solid_field(context, 4, 2, 1.5e-45, 1));
	CHECK(make_solid_field(context, 2, 2, 1, 1.5e-45));
	CHECK(make_solid_field(context, 3, 2, 1e-44, 1));
	CHECK(make_solid_field(context, 2, 3, 1, 1e-30));
	close_context(context, &heap);
}

/// Coordinates so large that float does not hold the spacing between them.
TEST(mesh, height_fields_too_fine_for_their_far_end_are_refused)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	enum { MANY = (1 << 24) + 3 };
	float *heights = calloc(2 * (size_t)MANY, sizeof *heights);
	REQUIRE(heights != NULL);
	carom_mesh *mesh;
	CHECK_INT(carom_create_height_field(context, MANY, 2, heights, (double[2]){ 1, 1 }, 1, &mesh), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "between columns 16777216 and 16777217") != NULL);
	free(heights);
	close_context(context, &heap);
}

TEST(mesh, references_keep_a_mesh)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	const size_t before = carom_memory_in_use(context);
	carom_mesh *mesh = fixture_box_mesh(context, 1, 1, 1);
	CHECK(carom_retain_mesh(mesh) == mesh);
	carom_release_mesh(mesh);
	CHECK_INT(carom_mesh_get_report(mesh)->vertex_count, 8);
	carom_release_mesh(mesh);
	CHECK_INT(carom_memory_in_use(context), before);
	CHECK(carom_retain_mesh(NULL) == NULL);
	close_context(context, &heap);
}

TEST(mesh, every_allocation_of_a_height_field_may_fail) { check_failing_allocations(make_field); }

enum { COLUMNS = 7, ROWS = 5 };
static const double SPACING[2] = { 0.5, 0.75 };

static carom_mesh *make_hills(carom_context *context, float heights[COLUMNS * ROWS])
{
	uint64_t seed = 71;
	for (int i = 0; i < COLUMNS * ROWS; i++)
		heights[i] = (float)test_random_double(&seed, -0.3, 0.3);
	heights[12] = -0.5f; // the lowest
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_height_field(context, COLUMNS, ROWS, heights, SPACING, 1.5, &mesh) == CAROM_SUCCESS);
	return mesh;
}

TEST(mesh, height_field_is_the_documented_solid)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	float heights[COLUMNS * ROWS];
	carom_mesh *mesh = make_hills(context, heights);
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	CHECK(report->closed && !report->inverted);
	CHECK_INT(report->components, 1);
	CHECK_INT(report->euler, 2);
	CHECK_INT(
		report->degenerate_triangles + report->duplicate_triangles + report->unreferenced_vertices + report->duplicate_vertices,
		0);
	const double bottom = -0.5 - 1.5;
	CHECK_NEAR(report->lower[0], 0, 0);
	CHECK_NEAR(report->lower[1], 0, 0);
	CHECK_NEAR(report->lower[2], bottom, 1e-6);
	CHECK_NEAR(report->upper[0], 0.5 * (COLUMNS - 1), 1e-6);
	CHECK_NEAR(report->upper[1], 0.75 * (ROWS - 1), 1e-6);

	// Vertices are the samples in order; triangles 2 * (row * (columns - 1) + column) and + 1 are those of the cell.
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *t = carom_mesh_get_triangles(mesh);
	double volume = 0;
	for (int row = 0; row < ROWS; row++) {
		for (int column = 0; column < COLUMNS; column++) {
			const int i = row * COLUMNS + column;
			CHECK_NEAR(v[3 * i], 0.5 * column, 1e-6);
			CHECK_NEAR(v[3 * i + 1], 0.75 * row, 1e-6);
			CHECK(v[3 * i + 2] == heights[i]);
			if (row == ROWS - 1 || column == COLUMNS - 1)
				continue;
			const int cell = 2 * (row * (COLUMNS - 1) + column);
			double area = 0;
			for (int k = cell; k <= cell + 1; k++) {
				const float *p = &v[3 * t[3 * k]], *q = &v[3 * t[3 * k + 1]], *r = &v[3 * t[3 * k + 2]];
				const double twice =
					((double)q[0] - p[0]) * ((double)r[1] - p[1]) - ((double)q[1] - p[1]) * ((double)r[0] - p[0]);
				CHECK(twice > 0); // seen from above
				area += 0.5 * twice;
				volume += 0.5 * twice * (((double)p[2] + q[2] + r[2]) / 3 - bottom);
				for (int corner = 0; corner < 3; corner++) {
					const int sample = t[3 * k + corner];
					CHECK(sample == i || sample == i + 1 || sample == i + COLUMNS || sample == i + COLUMNS + 1);
				}
			}
			CHECK_NEAR(area, 0.5 * 0.75, 1e-6);
		}
	}
	CHECK_NEAR(report->volume, volume, 1e-6 * volume);
	carom_mass mass;
	REQUIRE(carom_mesh_get_mass(mesh, &mass) == CAROM_SUCCESS);
	CHECK_NEAR(mass.mass, volume, 1e-6 * volume);
	carom_release_mesh(mesh);
	close_context(context, &heap);
}

/// On how many boxes of triangles of the bottom does the middle of a cell lie, on average? Checks that these are as wide as the field.
static double bottoms_over_a_cell(const carom_mesh *mesh, int32_t columns, int32_t rows)
{
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *t = carom_mesh_get_triangles(mesh);
	const int32_t triangles = carom_mesh_get_report(mesh)->triangle_count, bottom = 2 * (columns + rows - 2) - 2;
	double covered = 0, area = 0;
	for (int32_t i = triangles - bottom; i < triangles; i++) {
		const float *p = &v[3 * t[3 * i]], *q = &v[3 * t[3 * i + 1]], *r = &v[3 * t[3 * i + 2]];
		CHECK(p[2] == -1 && q[2] == -1 && r[2] == -1);
		area -= 0.5 * (((double)q[0] - p[0]) * ((double)r[1] - p[1]) - ((double)q[1] - p[1]) * ((double)r[0] - p[0]));
		double cells = 1;
		for (int k = 0; k < 2; k++)
			cells *= fmax(fmax(p[k], q[k]), r[k]) - fmin(fmin(p[k], q[k]), r[k]);
		covered += cells;
	}
	const double cells = (double)(columns - 1) * (rows - 1);
	CHECK_NEAR(area, cells, 1e-9 * cells);
	return covered / cells;
}

TEST(mesh, few_triangles_of_a_height_fields_bottom_lie_over_a_place)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	static const int32_t sizes[][2] = { { 2, 2 }, { 2, 3 }, { 3, 2 }, { 3, 3 }, { 4, 3 }, { 5, 6 }, { 40, 40 }, { 50, 3 },
		{ 3, 50 }, { 2, 50 }, { 50, 2 } };
	static const float heights[1600] = { 0 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const int32_t columns = sizes[i][0], rows = sizes[i][1];
		carom_mesh *mesh = NULL;
		REQUIRE(carom_create_height_field(context, columns, rows, heights, (double[]){ 1, 1 }, 1, &mesh) == CAROM_SUCCESS);
		const carom_mesh_report *report = carom_mesh_get_report(mesh);
		CHECK(report->closed && report->degenerate_triangles == 0 && report->euler == 2 && !report->inverted);
		CHECK_NEAR(report->volume, (columns - 1) * (rows - 1), 1e-9 * report->volume);
		CHECK(bottoms_over_a_cell(mesh, columns, rows) <= 4);
		carom_release_mesh(mesh);
	}
	close_context(context, &heap);
}

TEST(mesh, smallest_and_narrow_height_fields)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	const float heights[20] = { 0 };
	const int32_t sizes[][2] = { { 2, 2 }, { 2, 10 }, { 10, 2 }, { 3, 2 } };
	for (int i = 0; i < 4; i++) {
		carom_mesh *mesh = NULL;
		REQUIRE(carom_create_height_field(context, sizes[i][0], sizes[i][1], heights, SPACING, 2, &mesh) == CAROM_SUCCESS);
		const carom_mesh_report *report = carom_mesh_get_report(mesh);
		CHECK(report->closed && !report->inverted);
		CHECK_INT(report->euler, 2);
		CHECK_NEAR(report->volume, 0.5 * (sizes[i][0] - 1) * 0.75 * (sizes[i][1] - 1) * 2, 1e-5);
		carom_release_mesh(mesh);
	}
	close_context(context, &heap);
}

/// Contacts of a body at a height over a flat field of 4 x 4 m whose surface is at 0, 1 m thick. Returns the deepest depth, or -1.
static double depth_over_field(const carom_shape *shape, double height)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	const float heights[25] = { 0 };
	const double spacing[2] = { 1, 1 };
	carom_mesh *field = NULL;
	carom_world *world = NULL;
	REQUIRE(carom_create_height_field(context, 5, 5, heights, spacing, 1, &field) == CAROM_SUCCESS);
	REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = field };
	def.kind = CAROM_STATIC;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	def.shape = *shape;
	def.kind = CAROM_DYNAMIC;
	def.pose.position = (carom_vec3){ 2.1, 1.7, height };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	double deepest = -1;
	const carom_contact_view contacts = carom_world_contacts(world);
	for (int32_t i = 0; i < contacts.count; i++) {
		// The field is body A: down takes it away from what lies on it.
		CHECK_NEAR(contacts.data[i].normal[2], -1, 1e-5);
		deepest = fmax(deepest, contacts.data[i].depth);
	}
	carom_destroy_world(world);
	carom_release_mesh(field);
	close_context(context, &heap);
	return deepest;
}

TEST(mesh, bodies_on_a_height_field)
{
	fixture_heap heap;
	carom_context *context = make_context(&heap, -1);
	carom_mesh_def def = cube_def();
	float vertices[24];
	for (int i = 0; i < 24; i++)
		vertices[i] = CUBE_VERTICES[i] - 0.5f;
	def.vertices.data = vertices;
	const carom_shape sphere = { .type = CAROM_SPHERE, .radius = 0.5 };
	const carom_shape box = { .type = CAROM_BOX, .half_extents = { 0.5, 0.5, 0.5 } };
	const carom_shape capsule = { .type = CAROM_CAPSULE, .radius = 0.25, .half_length = 0.25 };
	const carom_shape *shapes[] = { &sphere, &box, &capsule };
	for (int i = 0; i < 3; i++) {
		CHECK_NEAR(depth_over_field(shapes[i], 0.501), -1, 0);
		CHECK_NEAR(depth_over_field(shapes[i], 0.45), 0.05, 1e-4);
		CHECK_NEAR(depth_over_field(shapes[i], 0.3), 0.2, 1e-4);
		// Below the solid, which is 1 m thick.
		CHECK_NEAR(depth_over_field(shapes[i], -1.6), -1, 0);
	}
	// A mesh of another context cannot be used, so the cube is made where it is needed.
	carom_mesh *field = NULL, *cube = make_mesh(context, &def);
	carom_world *world = NULL;
	float heights[COLUMNS * ROWS];
	field = make_hills(context, heights);
	REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
	add_mesh(world, field, (carom_vec3){ 0, 0, 0 });
	const carom_body_id id = add_mesh(world, cube, (carom_vec3){ 1.5, 1.5, 0.9 });
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	CHECK_INT(carom_world_pairs(world).count, 0);
	carom_pose pose = carom_pose_identity();
	pose.position = (carom_vec3){ 1.5, 1.5, 0.3 };
	REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	CHECK_INT(carom_world_pairs(world).count, 1);
	const carom_contact_view contacts = carom_world_contacts(world);
	for (int32_t i = 0; i < contacts.count; i++)
		CHECK(contacts.data[i].normal[2] < 0 && contacts.data[i].depth > 0 && contacts.data[i].depth < 1);
	carom_destroy_world(world);
	carom_release_mesh(field);
	carom_release_mesh(cube);
	close_context(context, &heap);
}

/// A solid is refused for its border, though a vertex that no triangle uses was found first.
TEST(mesh, an_open_solid_is_refused_for_its_border)
{
	carom_context *context = fixture_context(1);
	fixture_soup soup = { .vertex_count = 1 }; // used by no triangle
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 1, 1, 1);
	soup.triangle_count--;
	carom_mesh *mesh = fixture_mesh(context, &soup);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_DEFORMABLE;
	def.shape = fixture_of_mesh(mesh);
	carom_body_id id;
	carom_mass mass;
	CHECK_INT(carom_mesh_get_report(mesh)->unreferenced_vertices, 1);
	fixture_expect_error(context, carom_world_add_body(world, &def, &id), CAROM_INVALID_MESH, "has no second triangle");
	fixture_expect_error(context, carom_mesh_get_mass(mesh, &mass), CAROM_INVALID_MESH, "has no second triangle");
	carom_release_mesh(mesh);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
