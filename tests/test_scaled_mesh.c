/// Scaled meshes are those that a caller would make of scaled vertices.
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SCALES[][3] = { { 2, 2, 2 }, { 0.5, 3, 1.25 }, { -1, 1, 1 }, { 1.5, -0.75, -2 }, { -0.1, -0.2, -0.3 } };
enum { SCALE_COUNT = sizeof SCALES / sizeof *SCALES };

static carom_mesh *scaled_mesh(const carom_mesh *mesh, carom_context *context, const double scale[3])
{
	carom_mesh *scaled = NULL;
	REQUIRE(carom_create_scaled_mesh(context, mesh, scale, &scaled) == CAROM_SUCCESS);
	return scaled;
}

/// The product of the three.
static double factor_of(const double scale[3]) { return scale[0] * scale[1] * scale[2]; }

/// Numbers, places and fronts of a closed mesh.
static void check_scaled(const carom_mesh *mesh, const carom_mesh *scaled, const double scale[3])
{
	const carom_mesh_report *was = carom_mesh_get_report(mesh), *is = carom_mesh_get_report(scaled);
	REQUIRE(is->vertex_count == was->vertex_count && is->triangle_count == was->triangle_count);
	CHECK(is->closed && !is->inverted);
	CHECK_NEAR(is->volume, was->volume * fabs(factor_of(scale)), 1e-6 * is->volume);
	const float *v = carom_mesh_get_vertices(mesh), *w = carom_mesh_get_vertices(scaled);
	for (int32_t i = 0; i < 3 * was->vertex_count; i++)
		CHECK(w[i] == (float)(scale[i % 3] * (double)v[i]));
	const int32_t *t = carom_mesh_get_triangles(mesh), *u = carom_mesh_get_triangles(scaled);
	const int turned = factor_of(scale) < 0;
	for (int32_t i = 0; i < was->triangle_count; i++) {
		CHECK_INT(u[3 * i], t[3 * i]);
		CHECK_INT(u[3 * i + 1], t[3 * i + 1 + turned]);
		CHECK_INT(u[3 * i + 2], t[3 * i + 2 - turned]);
	}
}

TEST(scaled_mesh, numbers_places_and_fronts)
{
	carom_context *context = fixture_context(1), *other = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 24, 12, 1, 0.3);
	for (int i = 0; i < SCALE_COUNT; i++) {
		carom_mesh *scaled = scaled_mesh(torus, i % 2 ? other : context, SCALES[i]);
		check_scaled(torus, scaled, SCALES[i]);
		carom_release_mesh(scaled);
	}
	carom_release_mesh(torus);
	carom_destroy_context(other);
	carom_destroy_context(context);
}

/// Hash of a step of a tilted pair of bodies.
static uint64_t hash_of_pair(carom_context *context, const carom_mesh *a, const carom_mesh *b, bool hulls)
{
	carom_world *world = fixture_world(context, NULL);
	uint64_t seed = 8;
	uint64_t hash = 0;
	for (int i = 0; i < 2; i++) {
		carom_shape shape = fixture_of_mesh(i ? b : a);
		shape.type = hulls ? CAROM_HULL : CAROM_MESH;
		fixture_add(world, shape, fixture_random_pose(&seed, 0.1), CAROM_DYNAMIC);
	}
	fixture_step(world);
	CHECK(carom_world_contacts(world).count > 0);
	hash = carom_world_hash(world);
	carom_destroy_world(world);
	return hash;
}

/// The mesh that a caller makes of scaled vertices.
static carom_mesh *made_by_hand(carom_context *context, const carom_mesh *mesh, const double scale[3])
{
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	float *v = malloc(3 * (size_t)report->vertex_count * sizeof *v);
	int32_t *t = malloc(3 * (size_t)report->triangle_count * sizeof *t);
	REQUIRE(v && t);
	for (int32_t i = 0; i < 3 * report->vertex_count; i++)
		v[i] = (float)(scale[i % 3] * (double)carom_mesh_get_vertices(mesh)[i]);
	memcpy(t, carom_mesh_get_triangles(mesh), 3 * (size_t)report->triangle_count * sizeof *t);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices.data = v;
	def.vertex_count = report->vertex_count;
	def.triangles = t;
	def.triangle_count = report->triangle_count;
	carom_mesh *made = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &made) == CAROM_SUCCESS); // closed: turned round by itself where mirrored
	free(v);
	free(t);
	return made;
}

TEST(scaled_mesh, contacts_are_those_of_scaled_vertices)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 24, 12, 1, 0.3), *ball = fixture_sphere_mesh(context, 0.8, 12);
	for (int i = 0; i < SCALE_COUNT; i++) {
		carom_mesh *scaled = scaled_mesh(torus, context, SCALES[i]), *expected = made_by_hand(context, torus, SCALES[i]);
		CHECK_INT(hash_of_pair(context, scaled, ball, false), hash_of_pair(context, expected, ball, false));
		carom_release_mesh(scaled);
		carom_release_mesh(expected);
	}
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

TEST(scaled_mesh, hulls_stay_hulls)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 12;
	float points[40 * 3];
	for (int i = 0; i < 40 * 3; i++)
		points[i] = (float)test_random_double(&seed, -1, 1);
	carom_mesh *hull = fixture_hull_mesh(context, points, 40);
	const carom_mesh_report *was = carom_mesh_get_report(hull);
	for (int i = 0; i < SCALE_COUNT; i++) {
		carom_mesh *scaled = scaled_mesh(hull, context, SCALES[i]);
		const carom_mesh_report *is = carom_mesh_get_report(scaled);
		CHECK_INT(is->vertex_count, was->vertex_count);
		CHECK(is->closed);
		CHECK_NEAR(is->volume, was->volume * fabs(factor_of(SCALES[i])), 1e-5 * is->volume);
		hash_of_pair(context, scaled, scaled, true);
		carom_release_mesh(scaled);
	}
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

/// An open sheet, front side up, with materials and doubles.
TEST(scaled_mesh, materials_sides_and_doubles_stay)
{
	carom_context *context = fixture_context(1);
	static const double vertices[12] = { 0.1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0 };
	static const int32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
	static const uint32_t materials[2] = { 7, 9 };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT64 };
	def.vertex_count = 4;
	def.triangles = triangles;
	def.triangle_count = 2;
	def.sides = CAROM_SIDES_FRONT;
	def.materials = materials;
	carom_mesh *sheet = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &sheet) == CAROM_SUCCESS);
	const double mirror[3] = { -3, 2, 1 };
	carom_mesh *scaled = scaled_mesh(sheet, context, mirror);
	uint32_t material = 0;
	CHECK_INT(carom_mesh_get_material(scaled, 1, &material), CAROM_SUCCESS);
	CHECK_INT(material, 9);
	CHECK(carom_mesh_get_report(scaled)->rounded_vertices > 0); // 0.1 * -3 as a double
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_of_mesh(scaled), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	fixture_add(world, fixture_sphere(0.2), fixture_at(-1.5, 1, -0.05), CAROM_DYNAMIC);
	fixture_step(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	REQUIRE(contacts.count > 0);
	CHECK_NEAR(contacts.data[0].normal[2], -1, 1e-5); // the sphere leaves by the front, though its middle is behind
	carom_destroy_world(world);
	carom_release_mesh(scaled);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// ---- Fronts of mirrored open meshes ----

static v3d image(v3d v, const double scale[3]) { return (v3d){ scale[0] * v.x, scale[1] * v.y, scale[2] * v.z }; }

/// An open piece of ground, uneven, its front up.
static carom_mesh *ground_mesh(carom_context *context)
{
	uint64_t seed = 23;
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sheet(&soup, 4, 2);
	for (int i = 0; i < soup.vertex_count; i++)
		soup.vertices[3 * i + 2] = (float)test_random_double(&seed, -0.2, 0.2);
	return fixture_mesh(context, &soup);
}

static void check_near(v3d is, v3d expected) { CHECK_NEAR(v3d_length(v3d_sub(is, expected)), 0, 1e-6); }

/// Answers of the mirrored ground are the images of those of the ground: rays with their backs, nearest points, casts.
static void check_mirrored_queries(const carom_world *world[2], const double scale[3], uint64_t *seed)
{
	const v3d from = fixture_random_pose(seed, 1).position, to = fixture_random_pose(seed, 1).position;
	const carom_shape ball = fixture_sphere(0.1);
	bool found[2];
	carom_ray_hit hit[2];
	carom_closest_point near[2];
	carom_shape_hit met[2];
	carom_query_filter filter = carom_default_query_filter();
	filter.skip_separating = test_random(seed) % 2;
	for (int i = 0; i < 2; i++) {
		static const double one[3] = { 1, 1, 1 };
		const double *s = i ? scale : one;
		const v3d way = image(v3d_sub(to, from), s), begin = image(from, s);
		const carom_ray ray = { begin, way, 0, 1 };
		const carom_motion motion = carom_straight_motion((carom_pose){ begin, { 0, 0, 0, 1 } }, way);
		REQUIRE(carom_world_cast_ray(world[i], &ray, NULL, &found[i], &hit[i]) == CAROM_SUCCESS);
		REQUIRE(carom_world_closest_point(world[i], begin, 9, NULL, &(bool){ false }, &near[i]) == CAROM_SUCCESS);
		bool meets;
		REQUIRE(carom_world_cast_shape(world[i], &ball, &motion, 1e-4, &filter, &meets, &met[i]) == CAROM_SUCCESS);
		met[i].time = meets ? met[i].time : 2;
	}
	CHECK_INT(found[0], found[1]);
	if (found[0] && found[1]) {
		CHECK_NEAR(hit[0].t, hit[1].t, 1e-6);
		CHECK_INT(hit[0].back_face, hit[1].back_face);
		check_near(hit[1].normal, image(hit[0].normal, scale));
	}
	CHECK_NEAR(near[0].distance, near[1].distance, 1e-6);
	check_near(near[1].point, image(near[0].point, scale));
	CHECK_NEAR(met[0].time, met[1].time, 1e-4);
}

/// A ball has the images of its contacts: the front holds it, and the back leads it out by the front.
static void check_mirrored_contacts(const carom_world *world[2], const double scale[3], uint64_t *seed, int *count)
{
	const carom_shape ball = fixture_sphere(0.3);
	const v3d place = v3d_scale(fixture_random_pose(seed, 1).position, 0.6);
	carom_contact contacts[2][16];
	int32_t counts[2];
	double deepest[2] = { 0, 0 };
	v3d way[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	for (int i = 0; i < 2; i++) {
		const carom_pose pose = { i ? image(place, scale) : place, { 0, 0, 0, 1 } };
		REQUIRE(carom_world_collide_shape(world[i], &ball, &pose, NULL, 16, contacts[i], &counts[i]) == CAROM_SUCCESS);
		for (int k = 0; k < counts[i]; k++) {
			if (contacts[i][k].depth > deepest[i]) {
				deepest[i] = contacts[i][k].depth;
				way[i] = fixture_normal(&contacts[i][k]);
			}
		}
	}
	CHECK_INT(counts[0], counts[1]);
	CHECK_NEAR(deepest[0], deepest[1], 1e-5);
	CHECK_NEAR(v3d_length(v3d_sub(way[1], image(way[0], scale))), 0, 1e-4);
	CHECK(deepest[0] == 0 || way[0].z > 0); // out by the front
	*count += counts[0] > 0;
}

TEST(scaled_mesh, mirrored_fronts_are_images)
{
	uint64_t seed = 29;
	carom_context *context = fixture_context(1);
	carom_mesh *ground = ground_mesh(context);
	int touched = 0;
	for (int signs = 1; signs < 8; signs++) {
		const double scale[3] = { signs & 1 ? -1 : 1, signs & 2 ? -1 : 1, signs & 4 ? -1 : 1 };
		carom_mesh *mirrored = scaled_mesh(ground, context, scale);
		carom_world *worlds[2] = { fixture_world(context, NULL), fixture_world(context, NULL) };
		const carom_world *seen[2] = { worlds[0], worlds[1] };
		for (int i = 0; i < 2; i++)
			fixture_add(worlds[i], fixture_of_mesh(i ? mirrored : ground), fixture_at(0, 0, 0), CAROM_STATIC);
		for (int round = 0; round < 60; round++) {
			check_mirrored_queries(seen, scale, &seed);
			check_mirrored_contacts(seen, scale, &seed, &touched);
		}
		carom_destroy_world(worlds[0]);
		carom_destroy_world(worlds[1]);
		carom_release_mesh(mirrored);
	}
	CHECK(touched > 100);
	carom_release_mesh(ground);
	carom_destroy_context(context);
}

TEST(scaled_mesh, misuse)
{
	carom_context *context = fixture_context(1);
	carom_mesh *box = fixture_box_mesh(context, 1, 1, 1), *scaled;
	const double one[3] = { 1, 1, 1 }, zero[3] = { 1, 0, 1 }, endless[3] = { 1, 1, INFINITY }, odd[3] = { NAN, 1, 1 };
	const double huge[3] = { 1, 1e13, 1 };
	CHECK_INT(carom_create_scaled_mesh(NULL, box, one, &scaled), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_create_scaled_mesh(context, box, one, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_create_scaled_mesh: scaled is NULL");
#define WRONG(mesh, scale, result, text)                                            \
	do {                                                                            \
		scaled = box;                                                               \
		CHECK_INT(carom_create_scaled_mesh(context, mesh, scale, &scaled), result); \
		CHECK(!scaled);                                                             \
		CHECK_STR(carom_error_text(context), "carom_create_scaled_mesh: " text);    \
	} while (0)
	WRONG(NULL, one, CAROM_INVALID_ARGUMENT, "mesh is NULL");
	WRONG(box, NULL, CAROM_INVALID_ARGUMENT, "scale is NULL");
	WRONG(box, zero, CAROM_INVALID_ARGUMENT, "scale[1] is 0; it must be finite and not 0");
	WRONG(box, endless, CAROM_INVALID_ARGUMENT, "scale[2] is inf; it must be finite and not 0");
	WRONG(box, odd, CAROM_INVALID_ARGUMENT, "scale[0] is nan; it must be finite and not 0");
	WRONG(box, huge, CAROM_INVALID_MESH, "scale takes vertex 0 beyond the limit of 1e+12");
#undef WRONG
	carom_release_mesh(box);
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *empty = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &empty) == CAROM_SUCCESS);
	scaled = scaled_mesh(empty, context, one);
	CHECK_INT(carom_mesh_get_report(scaled)->triangle_count, 0);
	carom_release_mesh(scaled);
	carom_release_mesh(empty);
	carom_destroy_context(context);
}

TEST(scaled_mesh, failing_allocations_leave_nothing)
{
	for (int fail = 0, done = 0; !done && fail < 200; fail++) {
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 1);
		carom_mesh *box = fixture_box_mesh(context, 1, 1, 1), *scaled = NULL;
		const size_t before = carom_memory_in_use(context);
		heap.fail_at = heap.calls + fail;
		const carom_result result = carom_create_scaled_mesh(context, box, SCALES[1], &scaled);
		heap.fail_at = -1;
		done = result == CAROM_SUCCESS;
		CHECK(done || (result == CAROM_OUT_OF_MEMORY && !scaled));
		CHECK(done || fail < 199);
		carom_release_mesh(scaled);
		CHECK_INT(carom_memory_in_use(context), before);
		carom_release_mesh(box);
		carom_destroy_context(context);
	}
}
