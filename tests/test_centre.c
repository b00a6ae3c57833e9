/// Meshes that lie far from the origin of their coordinates (carom_mesh_def.centre): the rule, and that what they meet is what
/// a twin near the origin meets.
#include "fixture.h"
#include <math.h>
#include <string.h>

enum { SIDE = 24, VERTICES = (SIDE + 1) * (SIDE + 1), TRIANGLES = 2 * SIDE * SIDE, RAYS = 400, BALLS = 40 };

/// A sheet of 1 by 1 with bumps of a thousandth, somewhere.
typedef struct relief {
	double vertices[3 * VERTICES];
	int32_t triangles[3 * TRIANGLES];
} relief;

/// Floats at 40000 are a 256th apart, so there the bumps of a thousandth are gone.
static const carom_vec3 FAR = { 65536.25, -32768.5, 40000.125 };

static void make_relief(carom_vec3 at, relief *r)
{
	uint64_t seed = 5;
	for (int i = 0; i < VERTICES; i++) {
		double *v = &r->vertices[3 * i];
		// Multiples of 2^-20, so that the sums are exact.
		const double bump = floor(test_random_double(&seed, 0, 1) * 1024) / 1048576;
		v[0] = at.x + (i % (SIDE + 1) - SIDE / 2) / 32.0;
		v[1] = at.y + (i / (SIDE + 1) - SIDE / 2) / 32.0;
		v[2] = at.z + bump;
	}
	for (int i = 0; i < SIDE * SIDE; i++) {
		const int32_t a = i / SIDE * (SIDE + 1) + i % SIDE, b = a + 1, c = a + SIDE + 1, d = c + 1;
		const int32_t corners[6] = { a, b, d, a, d, c };
		memcpy(&r->triangles[6 * i], corners, sizeof corners);
	}
}

static carom_mesh_def def_of(const relief *r)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ r->vertices, 0, CAROM_FLOAT64 };
	def.vertex_count = VERTICES;
	def.triangles = r->triangles;
	def.triangle_count = TRIANGLES;
	return def;
}

static carom_mesh *make(carom_context *context, const carom_mesh_def *def)
{
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static carom_vec3 find(carom_context *context, const double *vertices, int32_t count)
{
	const carom_strided view = { vertices, 0, CAROM_FLOAT64 };
	carom_vec3 centre;
	REQUIRE(carom_find_mesh_centre(context, &view, count, &centre) == CAROM_SUCCESS);
	return centre;
}

static void check_vector(carom_vec3 v, double x, double y, double z)
{
	CHECK(v.x == x);
	CHECK(v.y == y);
	CHECK(v.z == z);
}

TEST(centre, is_found_by_its_rule)
{
	carom_context *context = fixture_context(1);
	const double near[6] = { 15, -1, -1, 17, 1, 1 }, far[6] = { 16, -1, -18.5, 18.1, 1, -16.4 };
	const double point[3] = { 0.1, -7, 0 }, wild[9] = { 100, 0, 0, NAN, 5, 5, 100, INFINITY, 1 };
	check_vector(find(context, near, 2), 0, 0, 0);
	check_vector(find(context, far, 2), 17, 0, -17.5); // middles of 17.05 and -17.45, in quarters
	check_vector(find(context, point, 1), 0.1, -7, 0);
	check_vector(find(context, wild, 3), 100, 0, 0);
	check_vector(find(context, NULL, 0), 0, 0, 0);
	carom_destroy_context(context);
}

TEST(centre, wrong_arguments_are_named)
{
	carom_context *context = fixture_context(1);
	static relief r;
	carom_vec3 centre;
	carom_strided view = { r.vertices, 0, CAROM_FLOAT64 };
	CHECK_INT(carom_find_mesh_centre(NULL, &view, 1, &centre), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_find_mesh_centre(context, NULL, 1, &centre), "vertices is NULL");
	fixture_expect_wrong(context, carom_find_mesh_centre(context, &view, -1, &centre), "count is -1");
	fixture_expect_wrong(context, carom_find_mesh_centre(context, &view, 1, NULL), "centre is NULL");
	view.stride = 4;
	fixture_expect_wrong(context, carom_find_mesh_centre(context, &view, 1, &centre), "vertices.stride");
	make_relief(FAR, &r);
	carom_mesh_def def = def_of(&r);
	carom_mesh *mesh = NULL;
	carom_mesh_report report;
	def.centre.y = NAN;
	fixture_expect_wrong(context, carom_create_mesh(context, &def, NULL, &mesh), "carom_mesh_def.centre: y is");
	def.centre = (carom_vec3){ 0, 0, INFINITY };
	fixture_expect_wrong(context, carom_check_mesh(context, &def, &report), "carom_mesh_def.centre: z is inf");
	carom_destroy_context(context);
}

/// The mesh is bit for bit the one of the vertices less the centre.
TEST(centre, is_taken_off_the_vertices)
{
	carom_context *context = fixture_context(1);
	static relief far, near;
	make_relief(FAR, &far);
	make_relief((carom_vec3){ 0, 0, 0 }, &near);
	carom_mesh_def def = def_of(&far), twin = def_of(&near);
	def.centre = find(context, far.vertices, VERTICES);
	check_vector(def.centre, FAR.x, FAR.y, FAR.z);
	def.weld_distance = twin.weld_distance = 1e-5;
	carom_mesh *a = make(context, &def), *b = make(context, &twin);
	CHECK(memcmp(carom_mesh_get_vertices(a), carom_mesh_get_vertices(b), 3 * VERTICES * sizeof(float)) == 0);
	CHECK(carom_mesh_get_doubles(a) == NULL);
	CHECK(carom_mesh_get_report(a)->rounding == 0);
	CHECK(carom_mesh_get_report(a)->area == carom_mesh_get_report(b)->area);
	check_vector(carom_mesh_get_centre(a), FAR.x, FAR.y, FAR.z);
	check_vector(carom_mesh_get_centre(b), 0, 0, 0);
	carom_mesh_report report;
	REQUIRE(carom_check_mesh(context, &def, &report) == CAROM_SUCCESS);
	CHECK(report.upper[0] == carom_mesh_get_report(b)->upper[0]);
	def.centre = (carom_vec3){ 0, 0, 0 };
	REQUIRE(carom_check_mesh(context, &def, &report) == CAROM_SUCCESS);
	CHECK(report.rounding > 5e-4); // what it is for
	carom_release_mesh(a);
	carom_release_mesh(b);
	carom_destroy_context(context);
}

typedef struct bytes {
	uint8_t data[1 << 20];
	size_t size;
} bytes;

static bool keep(const void *data, size_t size, void *user)
{
	bytes *to = user;
	if (!CHECK(to->size + size <= sizeof to->data))
		return false;
	memcpy(to->data + to->size, data, size);
	to->size += size;
	return true;
}

TEST(centre, stays_with_saved_and_scaled_meshes)
{
	carom_context *context = fixture_context(1);
	static relief far;
	static bytes saved, again;
	make_relief(FAR, &far);
	carom_mesh_def def = def_of(&far);
	def.centre = FAR;
	carom_mesh *mesh = make(context, &def), *loaded = NULL, *scaled = NULL;
	saved.size = again.size = 0;
	REQUIRE(carom_mesh_save(mesh, keep, &saved) == CAROM_SUCCESS);
	REQUIRE(carom_mesh_load(context, saved.data, saved.size, true, &loaded) == CAROM_SUCCESS);
	REQUIRE(carom_create_scaled_mesh(context, loaded, (double[3]){ 2, -1, 0.5 }, &scaled) == CAROM_SUCCESS);
	check_vector(carom_mesh_get_centre(loaded), FAR.x, FAR.y, FAR.z);
	check_vector(carom_mesh_get_centre(scaled), 2 * FAR.x, -FAR.y, 0.5 * FAR.z);
	CHECK(fabs(carom_mesh_get_report(scaled)->upper[0] - 0.75) < 1e-6);
	REQUIRE(carom_mesh_save(loaded, keep, &again) == CAROM_SUCCESS);
	CHECK(again.size == saved.size && memcmp(again.data, saved.data, saved.size) == 0);
	carom_release_mesh(mesh);
	carom_release_mesh(loaded);
	carom_release_mesh(scaled);
	carom_destroy_context(context);
}

// ---- Against a twin near the origin ----

static carom_body_id add_relief(carom_world *world, const carom_mesh *mesh)
{
	const carom_part part = { .shape = fixture_of_mesh(mesh), .pose = { carom_mesh_get_centre(mesh), { 0, 0, 0, 1 } } };
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_STATIC;
	def.parts = &part;
	def.part_count = 1;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static carom_vec3 moved(carom_vec3 p, carom_vec3 by) { return (carom_vec3){ p.x + by.x, p.y + by.y, p.z + by.z }; }

/// The farthest that rays from above hit the two at other heights.
static double compare_rays(const carom_world *far, const carom_world *near)
{
	uint64_t seed = 9;
	double worst = 0;
	for (int i = 0; i < RAYS; i++) {
		const double x = test_random_double(&seed, -0.5, 0.5), y = test_random_double(&seed, -0.5, 0.5);
		carom_ray ray = { .origin = { 0.7 * x, 0.7 * y, 0.25 }, .direction = { 0, 0, -1 }, .t_max = 1 };
		carom_ray_hit a, b;
		bool found_a, found_b;
		REQUIRE(carom_world_cast_ray(near, &ray, NULL, &found_b, &b) == CAROM_SUCCESS);
		ray.origin = moved(ray.origin, FAR);
		REQUIRE(carom_world_cast_ray(far, &ray, NULL, &found_a, &a) == CAROM_SUCCESS);
		CHECK(found_b);
		worst = fmax(worst, found_a ? fabs(a.t - b.t) : 1);
	}
	return worst;
}

static void drop_balls(carom_world *world, carom_vec3 at)
{
	uint64_t seed = 77;
	for (int i = 0; i < BALLS; i++) {
		const double x = test_random_double(&seed, -0.5, 0.5), y = test_random_double(&seed, -0.5, 0.5);
		const carom_vec3 place = moved((carom_vec3){ 0.7 * x, 0.7 * y, 0.0101 }, at);
		fixture_add(world, fixture_sphere(0.01), fixture_at(place.x, place.y, place.z), CAROM_DYNAMIC);
	}
	fixture_step(world);
}

/// The largest difference of depths and places of contacts; 1 where the two have others.
static double compare_contacts(const carom_world *far, const carom_world *near)
{
	const carom_contact_view a = carom_world_contacts(far), b = carom_world_contacts(near);
	double worst = 0;
	CHECK(b.count > BALLS / 2);
	if (a.count != b.count)
		return 1;
	for (int32_t i = 0; i < a.count; i++) {
		const carom_contact *c = &a.data[i], *d = &b.data[i];
		worst = fmax(worst, fabs((double)c->depth - (double)d->depth));
		worst = fmax(worst, fabs(c->point[0] - FAR.x - d->point[0]));
		worst = fmax(worst, fabs(c->point[2] - FAR.z - d->point[2]));
	}
	return worst;
}

static void compare_worlds(
	carom_context *context, const relief *far, const relief *near, bool centred, double *rays, double *contacts)
{
	carom_mesh_def def = def_of(far), twin = def_of(near);
	if (centred)
		def.centre = FAR;
	carom_mesh *mesh[2] = { make(context, &def), make(context, &twin) };
	carom_world *world[2] = { fixture_world(context, NULL), fixture_world(context, NULL) };
	for (int i = 0; i < 2; i++) {
		add_relief(world[i], mesh[i]);
		carom_release_mesh(mesh[i]);
	}
	*rays = compare_rays(world[0], world[1]);
	drop_balls(world[0], FAR);
	drop_balls(world[1], (carom_vec3){ 0, 0, 0 });
	*contacts = compare_contacts(world[0], world[1]);
	carom_destroy_world(world[0]);
	carom_destroy_world(world[1]);
}

TEST(centre, a_part_meets_what_a_twin_near_the_origin_meets)
{
	carom_context *context = fixture_context(1);
	static relief far, near;
	double rays, contacts;
	make_relief(FAR, &far);
	make_relief((carom_vec3){ 0, 0, 0 }, &near);
	compare_worlds(context, &far, &near, true, &rays, &contacts);
	CHECK(rays < 1e-7);
	CHECK(contacts < 1e-7);
	compare_worlds(context, &far, &near, false, &rays, &contacts);
	CHECK(rays > 1e-4); // what it is for
	CHECK(contacts > 1e-4);
	carom_destroy_context(context);
}

/// A call with a pose of its own: the place of the origin at that pose.
TEST(centre, has_a_place_at_any_pose)
{
	carom_context *context = fixture_context(1);
	static relief far;
	make_relief(FAR, &far);
	carom_mesh_def def = def_of(&far);
	def.centre = FAR;
	carom_mesh *mesh = make(context, &def);
	const carom_shape ground = fixture_of_mesh(mesh), ball = fixture_sphere(0.125);
	// The coordinates are turned, and put so that the middle of the sheet is near the world's origin.
	carom_pose pose = { { 0, 0, 0 }, fixture_turn((v3d){ 1, 2, 3 }, 0.7) };
	const carom_vec3 middle = carom_transform_point(pose, FAR), up = carom_rotate(pose.orientation, (carom_vec3){ 0, 0, 0.5 });
	pose.position = (carom_vec3){ -middle.x, -middle.y, -middle.z };
	const carom_pose at = { carom_transform_point(pose, FAR), pose.orientation }, over = { up, { 0, 0, 0, 1 } };
	carom_separation s;
	REQUIRE(carom_distance(context, &ground, &at, &ball, &over, &s) == CAROM_SUCCESS);
	CHECK(s.distance < 0.5 - 0.125 + 1e-6);
	CHECK(s.distance > 0.5 - 0.125 - 1.1e-3);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
