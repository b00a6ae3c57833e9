/// Materials of triangles in contacts, and the data of pairs: against a dull search, in every kind of contact, and through
/// recordings.
#include "fixture.h"
#include "geom/triangle.h"
#include "world/recording_format.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 100, KINDS = CAROM_VOLUMES + 1, LEFT = 7, RIGHT = 9 };

static carom_mesh *make_mesh(carom_context *context, const fixture_soup *soup, const uint32_t *materials)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ soup->vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = soup->vertex_count;
	def.triangles = soup->triangles;
	def.triangle_count = soup->triangle_count;
	def.materials = materials;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// Every triangle has a material of its own: FIRST and its number.
static carom_mesh *make_numbered(carom_context *context, const fixture_soup *soup)
{
	uint32_t materials[FIXTURE_MAX_TRIANGLES];
	for (int32_t i = 0; i < soup->triangle_count; i++)
		materials[i] = (uint32_t)(FIRST + i);
	return make_mesh(context, soup, materials);
}

static v3d corner_of(const carom_mesh *mesh, int32_t triangle, int k)
{
	const float *v = carom_mesh_get_vertices(mesh) + 3 * (int64_t)carom_mesh_get_triangles(mesh)[3 * triangle + k];
	return (v3d){ v[0], v[1], v[2] };
}

static double distance_to(const carom_mesh *mesh, int32_t triangle, v3d p)
{
	cr_feature feature;
	const v3d near = cr_closest_point_triangle(
		p, corner_of(mesh, triangle, 0), corner_of(mesh, triangle, 1), corner_of(mesh, triangle, 2), &feature);
	return v3d_length(v3d_sub(near, p));
}

static v3d normal_of(const carom_mesh *mesh, int32_t triangle)
{
	const v3d a = corner_of(mesh, triangle, 0);
	return v3d_normalize(v3d_cross(v3d_sub(corner_of(mesh, triangle, 1), a), v3d_sub(corner_of(mesh, triangle, 2), a)));
}

/// The lowest-numbered triangle with area that has a corner where a vertex is.
static int32_t first_at_vertex(const carom_mesh *mesh, int32_t vertex)
{
	const float *v = carom_mesh_get_vertices(mesh) + 3 * (int64_t)vertex;
	for (int32_t i = 0; i < carom_mesh_get_report(mesh)->triangle_count; i++) {
		for (int k = 0; k < 3; k++) {
			const v3d p = corner_of(mesh, i, k);
			if (p.x == v[0] && p.y == v[1] && p.z == v[2] && v3d_length(normal_of(mesh, i)) > 0.5)
				return i;
		}
	}
	return -1;
}

/// A material of a numbered mesh that a contact names by a triangle, on one of its sides.
static void check_triangle(
	const carom_mesh *mesh, const carom_pose *pose, const carom_contact *c, int side, bool convex, int *moved)
{
	const int32_t feature = side ? c->feature_b : c->feature_a;
	const int32_t told = (int32_t)(side ? c->material_b : c->material_a) - FIRST;
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	if (!convex) {
		CHECK_INT(told, feature);
		return;
	}
	if (!CHECK(told >= 0 && told < report->triangle_count))
		return;
	*moved += told != feature;
	const v3d on = v3d_mad(fixture_point(c), (side ? 1 : -1) * (double)c->depth, fixture_normal(c));
	const m3d rotation = m3d_from_quat(pose->orientation);
	const v3d own = m3d_tmul(&rotation, v3d_sub(on, pose->position));
	double least = INFINITY;
	for (int32_t i = 0; i < report->triangle_count; i++) {
		if (v3d_dot(normal_of(mesh, i), normal_of(mesh, feature)) > 0.9999)
			least = fmin(least, distance_to(mesh, i, own));
	}
	CHECK(v3d_dot(normal_of(mesh, told), normal_of(mesh, feature)) > 0.9999);
	CHECK(distance_to(mesh, told, own) <= least + 1e-4);
}

static void check_contact(
	const carom_mesh *mesh, const carom_pose *pose, const carom_contact *c, int side, bool convex, int *moved)
{
	const int32_t feature = side ? c->feature_b : c->feature_a;
	const int32_t told = (int32_t)(side ? c->material_b : c->material_a) - FIRST;
	if (c->kind == (side ? CAROM_VERTEX_B : CAROM_VERTEX_A))
		CHECK_INT(told, first_at_vertex(mesh, feature));
	else if (c->kind == (side ? CAROM_EDGE_B : CAROM_EDGE_A))
		CHECK_INT(told, feature / 3);
	else
		check_triangle(mesh, pose, c, side, convex && c->kind != CAROM_FACES && c->kind != CAROM_VOLUMES, moved);
}

/// Meshes with materials, and the other shapes that meet them.
typedef struct gallery {
	carom_context *context;
	carom_mesh *sheet;
	carom_mesh *slab;
	carom_mesh *torus;
	carom_mesh *hull;
} gallery;

static void open_gallery(gallery *g, int threads)
{
	static fixture_soup soup;
	static const float points[15] = { 0, 0, -0.5f, 0.5f, 0, 0, -0.3f, 0.4f, 0, -0.3f, -0.4f, 0, 0, 0, 0.6f };
	g->context = fixture_context(threads);
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sheet(&soup, 4, 3);
	g->sheet = make_numbered(g->context, &soup);
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 0.7, 0.6, 0.3);
	g->slab = make_numbered(g->context, &soup);
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_torus(&soup, 10, 6, 0.4, 0.2);
	g->torus = make_numbered(g->context, &soup);
	REQUIRE(carom_create_hull(g->context, &(carom_strided){ points, 0, CAROM_FLOAT32 }, 5, &g->hull) == CAROM_SUCCESS);
}

static void close_gallery(gallery *g)
{
	carom_release_mesh(g->sheet);
	carom_release_mesh(g->slab);
	carom_release_mesh(g->torus);
	carom_release_mesh(g->hull);
	carom_destroy_context(g->context);
}

static carom_shape shape_in(const gallery *g, int i)
{
	switch (i % 9) {
	case 0: return fixture_of_mesh(g->slab);
	case 1: return fixture_of_mesh(g->torus);
	case 2: return fixture_box(0.4, 0.5, 0.3);
	case 3: return fixture_sphere(0.4);
	case 4: return fixture_capsule(0.3, 0.4);
	case 5: return (carom_shape){ .type = CAROM_HULL, .mesh = g->hull };
	case 6: return (carom_shape){ .type = CAROM_CYLINDER, .radius = 0.3, .half_length = 0.4 };
	case 7: return (carom_shape){ .type = CAROM_PLANE };
	default: return fixture_of_mesh(g->sheet);
	}
}

static bool is_numbered(const gallery *g, const carom_mesh *mesh) { return mesh && mesh != g->hull; }

/// One of three meshes, held still, against one shape in many places. kinds counts contacts, moved those whose material is of
/// another triangle than the feature.
static void check_meeting(const gallery *g, const carom_world_def *def, int still, int other, int kinds[KINDS], int *moved)
{
	uint64_t seed = (uint64_t)(10 * still + other + 1);
	carom_world *world = fixture_world(g->context, def);
	const carom_shape shapes[2] = { shape_in(g, still), shape_in(g, other) };
	// Planes are static, and meet nothing that is.
	const carom_body_kind kind = shapes[1].type == CAROM_PLANE ? CAROM_DYNAMIC : CAROM_STATIC;
	const carom_body_kind other_kind = kind == CAROM_STATIC ? CAROM_DYNAMIC : CAROM_STATIC;
	carom_body_id ids[2];
	ids[seed & 1] = fixture_add(world, shapes[seed & 1], fixture_at(0, 0, 0), seed & 1 ? other_kind : kind);
	ids[!(seed & 1)] = fixture_add(world, shapes[!(seed & 1)], fixture_at(0, 0, 0), seed & 1 ? kind : other_kind);
	for (int step = 0; step < 12; step++) {
		carom_pose poses[2] = { fixture_at(0, 0, 0), fixture_random_pose(&seed, 0.6) };
		if (step % 2) // upright: faces on faces
			poses[1].orientation = fixture_turn((v3d){ 0, 0, 1 }, step);
		if (step == 1)
			poses[1].position = (carom_vec3){ 0.1, 0.05, 0.5 };
		REQUIRE(carom_world_set_poses(world, 2, ids, poses) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		for (int32_t i = 0; i < view.count; i++) {
			const carom_contact *c = &view.data[i];
			kinds[c->kind]++;
			for (int side = 0; side < 2; side++) {
				const int body = !fixture_same_id(side ? c->body_b : c->body_a, ids[0]);
				const carom_mesh *mesh = shapes[body].mesh;
				if (is_numbered(g, mesh))
					check_contact(mesh, &poses[body], c, side, mesh == g->slab, moved);
				else
					CHECK_INT(side ? c->material_b : c->material_a, 0);
			}
		}
	}
	carom_destroy_world(world);
}

TEST(materials, of_every_kind_of_contact_are_those_of_a_dull_search)
{
	gallery g;
	open_gallery(&g, 1);
	int kinds[KINDS] = { 0 }, moved = 0;
	for (int normal = CAROM_NORMAL_RAY; normal <= CAROM_NORMAL_PATCH; normal++) {
		carom_world_def def = carom_default_world_def();
		def.contact_normal = (carom_contact_normal)normal;
		def.speculative_distance = normal == CAROM_NORMAL_TRIANGLE ? 0.05 : 0;
		for (int still = 0; still < 3; still++) {
			for (int other = 0; other < 9; other++)
				check_meeting(&g, &def, still == 2 ? 8 : still, other, kinds, &moved);
		}
	}
	for (int i = 0; i < KINDS; i++)
		CHECK(kinds[i] > 0);
	CHECK(moved > 0); // facets were named by another triangle than that at the contact
	close_gallery(&g);
}

/// A floor whose triangles are LEFT or RIGHT of x = 0, closed or open.
static carom_mesh *make_floor(carom_context *context, bool closed)
{
	static fixture_soup soup;
	uint32_t materials[FIXTURE_MAX_TRIANGLES];
	soup.vertex_count = soup.triangle_count = 0;
	if (closed) {
		// Two slabs side by side, each closed.
		fixture_soup_box(&soup, (v3d){ -2, 0, -0.5 }, 2, 2, 0.5);
		fixture_soup_box(&soup, (v3d){ 2, 0, -0.5 }, 2, 2, 0.5);
	} else {
		fixture_soup_sheet(&soup, 4, 8);
	}
	for (int32_t i = 0; i < soup.triangle_count; i++) {
		double x = 0; // of the middle
		for (int k = 0; k < 3; k++)
			x += soup.vertices[3 * soup.triangles[3 * i + k]];
		materials[i] = (closed ? i < 12 : x < 0) ? LEFT : RIGHT;
	}
	return make_mesh(context, &soup, materials);
}

TEST(materials, a_floor_of_two_materials_tells_which_is_under_each_point)
{
	gallery g;
	open_gallery(&g, 1);
	for (int shape = 0; shape < 7; shape++) {
		for (int closed = 0; closed < 2; closed++) {
			carom_mesh *floor = make_floor(g.context, closed);
			carom_world *world = fixture_world(g.context, NULL);
			fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, 0), CAROM_STATIC);
			const carom_body_id id = fixture_add(world, shape_in(&g, shape), fixture_at(0, 0, 0), CAROM_DYNAMIC);
			int seen[2] = { 0 };
			for (int step = 0; step < 9; step++) {
				const carom_pose pose = { { 0.41 * (step - 4), 0.3, 0.27 },
					fixture_turn((v3d){ 0, 1, 0 }, shape == 4 || shape == 6 ? 0.5 * FIXTURE_PI : 0) };
				REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
				fixture_step(world);
				const carom_contact_view view = carom_world_contacts(world);
				CHECK(view.count > 0);
				for (int32_t i = 0; i < view.count; i++) {
					const carom_contact *c = &view.data[i];
					CHECK(c->material_a == LEFT || c->material_a == RIGHT);
					if (fabs(c->point[0]) > 0.05)
						CHECK_INT(c->material_a, c->point[0] < 0 ? LEFT : RIGHT);
					seen[c->material_a == RIGHT]++;
				}
			}
			CHECK(seen[0] > 0 && seen[1] > 0);
			carom_destroy_world(world);
			carom_release_mesh(floor);
		}
	}
	close_gallery(&g);
}

TEST(materials, of_a_vertex_is_that_of_the_first_triangle_at_its_place_that_takes_part)
{
	static fixture_soup box, soup;
	static const int32_t order[12] = { 11, 3, 7, 0, 5, 1, 9, 2, 10, 4, 8, 6 };
	carom_context *context = fixture_context(1);
	box.vertex_count = box.triangle_count = soup.vertex_count = 0;
	fixture_soup_box(&box, (v3d){ 0, 0, 0 }, 1, 1, 1);
	// A triangle without area first, then the cube with three vertices for each triangle, in another order.
	memcpy(soup.vertices, box.vertices, 3 * sizeof *soup.vertices);
	soup.vertex_count = 1;
	memset(soup.triangles, 0, 3 * sizeof *soup.triangles);
	soup.triangle_count = 1;
	for (int i = 0; i < 36; i++) {
		memcpy(&soup.vertices[3 * soup.vertex_count], &box.vertices[3 * box.triangles[3 * order[i / 3] + i % 3]],
			3 * sizeof *soup.vertices);
		soup.triangles[3 * soup.triangle_count + i % 3] = soup.vertex_count++;
		soup.triangle_count += i % 3 == 2;
	}
	carom_mesh *mesh = make_numbered(context, &soup);
	REQUIRE(carom_mesh_get_report(mesh)->closed);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0.9), CAROM_DYNAMIC);
	int vertices = 0;
	for (int turn = 0; turn < 2; turn++) {
		const carom_pose pose = { { 0, 0, 0.9 }, fixture_turn((v3d){ 1, 0, 0 }, turn * FIXTURE_PI) };
		REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		for (int32_t i = 0; i < view.count; i++) {
			const carom_contact *c = &view.data[i];
			REQUIRE(c->kind == CAROM_VERTEX_B);
			CHECK_INT(c->material_b, FIRST + first_at_vertex(mesh, c->feature_b));
			CHECK(c->material_b != FIRST); // left out
			CHECK_INT(c->material_a, 0);
			vertices++;
		}
	}
	CHECK_INT(vertices, 8);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(materials, are_read_back_and_misuse_is_named)
{
	carom_context *context = fixture_context(1);
	carom_mesh *floor = make_floor(context, false), *plain = fixture_box_mesh(context, 1, 1, 1), *field = NULL;
	static const float heights[4] = { 0 };
	REQUIRE(carom_create_height_field(context, 2, 2, heights, (double[2]){ 1, 1 }, 1, &field) == CAROM_SUCCESS);
	uint32_t material = 5;
	CHECK_INT(carom_mesh_get_material(plain, 11, &material), CAROM_SUCCESS);
	CHECK_INT(material, 0);
	material = 5;
	CHECK_INT(carom_mesh_get_material(field, 0, &material), CAROM_SUCCESS);
	CHECK_INT(material, 0);
	CHECK_INT(carom_mesh_get_material(NULL, 0, &material), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_get_material(floor, 0, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_get_material: material is NULL");
	CHECK_INT(carom_mesh_get_material(floor, -1, &material), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_get_material: triangle is -1, but there are 32 triangles");
	CHECK_INT(carom_mesh_get_material(floor, 32, &material), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_get_material: triangle is 32, but there are 32 triangles");
	// As the hit of a ray is told apart.
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, 0), CAROM_STATIC);
	for (int side = -1; side <= 1; side += 2) {
		const carom_ray ray = { { side * 1.5, 0.3, 2 }, { 0, 0, -1 }, 0, 10 };
		carom_ray_hit hit;
		bool found;
		REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, &hit) == CAROM_SUCCESS && found);
		REQUIRE(carom_mesh_get_material(floor, hit.triangle, &material) == CAROM_SUCCESS);
		CHECK_INT(material, side < 0 ? LEFT : RIGHT);
	}
	carom_destroy_world(world);
	carom_release_mesh(floor);
	carom_release_mesh(plain);
	carom_release_mesh(field);
	carom_destroy_context(context);
}

TEST(materials, of_a_mesh_may_find_no_memory)
{
	static fixture_soup soup;
	static const uint32_t materials[12] = { 1, 2, 3 };
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 1, 1, 1);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ soup.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 8;
	def.triangles = soup.triangles;
	def.triangle_count = 12;
	def.materials = materials;
	bool made = false;
	int of_materials = 0;
	for (int64_t fail_at = 0; !made && fail_at < 500; fail_at++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 1);
		const long long blocks = atomic_load(&heap.blocks);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + fail_at);
		carom_mesh *mesh = NULL;
		made = carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS;
		CHECK((mesh != NULL) == made);
		of_materials += !made && strstr(carom_error_text(context), "the materials of a mesh") != NULL;
		carom_release_mesh(mesh);
		CHECK_INT(atomic_load(&heap.blocks), blocks);
		carom_destroy_context(context);
	}
	CHECK(made);
	CHECK_INT(of_materials, 2);
}

/// The hash after a slab met a floor made with these materials.
static uint64_t hash_with(const uint32_t *materials)
{
	static fixture_soup soup;
	carom_context *context = fixture_context(1);
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 2, 2, 0.5);
	carom_mesh *mesh = make_mesh(context, &soup, materials);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(0.1, 0.2, 0.99), CAROM_DYNAMIC);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	return hash;
}

TEST(materials, are_in_the_hash_where_one_is_not_zero)
{
	static const uint32_t none[12] = { 0 }, some[12] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	CHECK(hash_with(none) == hash_with(NULL));
	CHECK(hash_with(some) != hash_with(NULL));
}

// ---- Recordings, threads, pairs ----

enum { CROWD = 24 };

typedef struct crowd {
	gallery g;
	carom_world *world;
	carom_body_id ids[CROWD];
	carom_body_id sensor;
	uint64_t seed;
	uint64_t data; // sum of what pairs and ended pairs told
	int kept;
	int ended;
} crowd;

static void open_crowd(crowd *c, int threads)
{
	*c = (crowd){ .seed = 3 };
	open_gallery(&c->g, threads);
	c->world = fixture_world(c->g.context, NULL);
	fixture_add(c->world, fixture_of_mesh(c->g.sheet), fixture_at(0, 0, 0), CAROM_STATIC);
	for (int i = 0; i < CROWD; i++)
		c->ids[i] = fixture_add(c->world, shape_in(&c->g, i % 7), fixture_random_pose(&c->seed, 1.5), CAROM_DYNAMIC);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(1);
	def.sensor = true;
	REQUIRE(carom_world_add_body(c->world, &def, &c->sensor) == CAROM_SUCCESS);
}

static void close_crowd(crowd *c)
{
	carom_destroy_world(c->world);
	close_gallery(&c->g);
}

/// What a pair is given: its bodies.
static uint64_t data_of(carom_body_id a, carom_body_id b) { return (uint64_t)a.index1 << 32 | b.index1; }

static void check_events(crowd *c)
{
	const carom_event_view events = carom_world_events(c->world);
	for (int32_t i = 0; i < events.count; i++) {
		const carom_event *e = &events.data[i];
		CHECK(e->pair_data == (e->kind == CAROM_EVENT_BEGIN ? 0 : data_of(e->body_a, e->body_b)));
		c->ended += e->kind == CAROM_EVENT_END;
		c->data = 31 * c->data + e->pair_data;
	}
}

static void play(crowd *c, int steps)
{
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < CROWD; i++) {
			const carom_pose pose = fixture_random_pose(&c->seed, 1.5);
			if (i % 3 == step % 3)
				REQUIRE(carom_world_set_pose(c->world, c->ids[i], &pose) == CAROM_SUCCESS);
		}
		fixture_step(c->world);
		check_events(c);
		const carom_pair_view pairs = carom_world_pairs(c->world);
		for (int32_t i = 0; i < pairs.count; i++) {
			const carom_pair *p = &pairs.data[i];
			CHECK(p->user_data == (p->age == 0 ? 0 : data_of(p->body_a, p->body_b)));
			c->kept += p->user_data != 0;
			c->data = 31 * c->data + p->user_data;
			if (p->age == 0)
				REQUIRE(carom_world_set_pair_data(c->world, i, data_of(p->body_a, p->body_b)) == CAROM_SUCCESS);
			CHECK(p->user_data == data_of(p->body_a, p->body_b));
		}
	}
}

TEST(materials, data_of_pairs_lasts_as_long_as_the_pair_for_any_number_of_threads)
{
	uint64_t data[2], hash[2];
	for (int i = 0; i < 2; i++) {
		crowd c;
		open_crowd(&c, i ? 4 : 1);
		play(&c, 30);
		CHECK(c.kept > 100 && c.ended > 100);
		data[i] = c.data;
		hash[i] = carom_world_hash(c.world);
		close_crowd(&c);
	}
	CHECK(data[0] == data[1] && hash[0] == hash[1]);
}

TEST(materials, a_new_body_with_an_old_index_gets_no_data_of_a_pair)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id id = fixture_add(world, fixture_sphere(1), fixture_at(1, 0, 0), CAROM_DYNAMIC);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	REQUIRE(carom_world_set_pair_data(world, 0, UINT64_MAX) == CAROM_SUCCESS);
	CHECK(carom_world_pairs(world).data[0].user_data == UINT64_MAX);
	CHECK(carom_world_hash(world) == hash);
	REQUIRE(carom_world_remove_body(world, id) == CAROM_SUCCESS);
	const carom_body_id again = fixture_add(world, fixture_sphere(1), fixture_at(1, 0, 0), CAROM_DYNAMIC);
	CHECK_INT(again.index1, id.index1);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).data[0].user_data, 0);
	const carom_event_view events = carom_world_events(world);
	REQUIRE(events.count == 2 && events.data[0].kind == CAROM_EVENT_END);
	CHECK(events.data[0].pair_data == UINT64_MAX);
	CHECK_INT(events.data[1].pair_data, 0);
	CHECK_INT(carom_world_set_pair_data(world, -1, 1), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_set_pair_data: pair is -1, but there are 1 pairs");
	CHECK_INT(carom_world_set_pair_data(world, 1, 1), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_set_pair_data: pair is 1, but there are 1 pairs");
	CHECK_INT(carom_world_pairs(world).data[0].user_data, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(materials, a_failed_step_keeps_the_data_of_pairs)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_add(world, fixture_sphere(1), fixture_at(1, 0, 0), CAROM_DYNAMIC);
	fixture_step(world);
	REQUIRE(carom_world_set_pair_data(world, 0, 77) == CAROM_SUCCESS);
	for (int i = 0; i < 100; i++)
		fixture_add(world, fixture_sphere(1), fixture_at(0, 0.01 * i, 0.5), CAROM_DYNAMIC);
	atomic_store(&heap.fail_at, atomic_load(&heap.calls));
	atomic_store(&heap.fail_on, true);
	CHECK_INT(carom_world_step(world), CAROM_OUT_OF_MEMORY);
	CHECK_INT(carom_world_pairs(world).data[0].user_data, 77);
	atomic_store(&heap.fail_on, false);
	atomic_store(&heap.fail_at, -1);
	fixture_step(world);
	CHECK(carom_world_pairs(world).count > 100);
	CHECK_INT(carom_world_pairs(world).data[0].user_data, 77);
	CHECK_INT(carom_world_pairs(world).data[1].user_data, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

static carom_result replay(fixture_tape t, carom_replay_result *result, char text[600])
{
	carom_context *context = fixture_context(1);
	const carom_result outcome = carom_replay_recording(context, fixture_read_tape, &t, result);
	strncpy(text, carom_error_text(context), 599);
	text[599] = 0;
	carom_destroy_context(context);
	return outcome;
}

/// Put other bytes into the payload of the first record of a kind, counted from its end; the check sums are made right.
static void forge(fixture_tape *t, cr_opcode wanted, size_t from_end, uint32_t value)
{
	uint64_t check = cr_check_bytes(CR_CHECK_SEED, t->bytes, 12);
	bool done = false;
	for (size_t at = 12; at < t->count;) {
		const size_t size = CR_RECORD_HEAD_SIZE + (size_t)cr_load_le(t->bytes + at + 4, 8);
		if (!done && cr_load_le(t->bytes + at, 4) == wanted) {
			cr_store_le(t->bytes + at + size - from_end, value, 4);
			done = true;
		}
		check = cr_check_bytes(check, t->bytes + at, size);
		cr_store_le(t->bytes + at + size, check, CR_RECORD_CHECK_SIZE);
		check = cr_check_bytes(check, t->bytes + at + size, CR_RECORD_CHECK_SIZE);
		at += size + CR_RECORD_CHECK_SIZE;
	}
	REQUIRE(done);
}

TEST(materials, recordings_hold_materials_and_data_of_pairs)
{
	crowd c;
	fixture_tape t = { 0 };
	open_crowd(&c, 1);
	play(&c, 2);
	REQUIRE(carom_world_record(c.world, fixture_write_tape, &t) == CAROM_SUCCESS);
	// Pairs from before the recording are not in it, so setting their data is left out.
	REQUIRE(carom_world_set_pair_data(c.world, 0, carom_world_pairs(c.world).data[0].user_data) == CAROM_SUCCESS);
	play(&c, 6);
	REQUIRE(carom_world_record(c.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	char text[600];
	CHECK_INT(replay(t, &result, text), CAROM_SUCCESS);
	CHECK_STR(text, "");
	CHECK_INT(result.steps, 6);
	CHECK(result.hash == carom_world_hash(c.world));
	// A pair that is not there: the call reached the world of the replay.
	forge(&t, CR_RECORD_SET_PAIR_DATA, 12, 123456);
	CHECK_INT(replay(t, &result, text), CAROM_INVALID_RECORDING);
	CHECK(strstr(text, "carom_world_set_pair_data: pair is 123456") != NULL);
	close_crowd(&c);
	free(t.bytes);
}

TEST(materials, a_recorded_material_that_is_forged_shows_in_the_hash)
{
	carom_context *context = fixture_context(1);
	carom_mesh *floor = make_floor(context, false);
	carom_world *world = fixture_world(context, NULL);
	fixture_tape t = { 0 };
	fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_add(world, fixture_sphere(1), fixture_at(3.3, 3.6, 0.9), CAROM_DYNAMIC);
	REQUIRE(carom_world_record(world, fixture_write_tape, &t) == CAROM_SUCCESS);
	fixture_step(world);
	REQUIRE(carom_world_contacts(world).count == 1);
	const int32_t triangle = carom_world_contacts(world).data[0].feature_a;
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	char text[600];
	CHECK_INT(replay(t, &result, text), CAROM_SUCCESS);
	forge(&t, CR_RECORD_MESH, 4 * (size_t)(32 - triangle), 12);
	CHECK_INT(replay(t, &result, text), CAROM_INVALID_RECORDING);
	CHECK_INT(result.first_difference, 0);
	carom_destroy_world(world);
	carom_release_mesh(floor);
	carom_destroy_context(context);
	free(t.bytes);
}
