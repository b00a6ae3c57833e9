/// Vertices that nearly meet, put to one place (carom_mesh_def.weld_distance): against a dull search, with odd numbers, and
/// what it is for: floors with cracks at which nothing catches, and boxes that are closed.
#include "fixture.h"
#include <math.h>
#include <string.h>

enum { MOST = 600, CELLS = 8, POSES = 400 / TEST_FEWER };

static carom_mesh_def def_of(const double *vertices, int32_t vertex_count, const int32_t *triangles, int32_t triangle_count)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT64 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	return def;
}

static carom_mesh *make(carom_context *context, const carom_mesh_def *def)
{
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

// ---- The dull search ----

static double distance2(const double *p, const double *q)
{
	const double d[3] = { q[0] - p[0], q[1] - p[1], q[2] - p[2] };
	return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

/// Every vertex against every one before it that stayed.
static void weld_dully(double distance, double *places, int32_t count)
{
	static bool stays[MOST];
	for (int32_t i = 0; i < count; i++) {
		int32_t nearest = -1;
		for (int32_t j = 0; j < i; j++) {
			const double d = distance2(&places[3 * i], &places[3 * j]);
			if (stays[j] && d <= distance * distance && (nearest < 0 || d < distance2(&places[3 * i], &places[3 * nearest])))
				nearest = j;
		}
		stays[i] = nearest < 0;
		if (nearest >= 0)
			memcpy(&places[3 * i], &places[3 * nearest], 3 * sizeof *places);
	}
}

static double place_of(const carom_mesh *mesh, int32_t i)
{
	const double *doubles = carom_mesh_get_doubles(mesh);
	return doubles ? doubles[i] : (double)carom_mesh_get_vertices(mesh)[i];
}

/// Weld places both ways. Numbers of triangles stay.
static void compare(carom_context *context, const double *places, int32_t count, double distance)
{
	static double dull[3 * MOST];
	static int32_t triangles[3 * MOST];
	for (int32_t i = 0; i < count; i++)
		triangles[i] = i * 7 % count;
	carom_mesh_def def = def_of(places, count, triangles, count / 3);
	def.weld_distance = distance;
	carom_mesh *mesh = make(context, &def);
	memcpy(dull, places, 3 * (size_t)count * sizeof *dull);
	weld_dully(distance, dull, count);
	int32_t others = 0;
	for (int32_t i = 0; i < 3 * count; i++)
		others += place_of(mesh, i) != dull[i];
	CHECK_INT(others, 0);
	CHECK_INT(carom_mesh_get_report(mesh)->vertex_count, count);
	CHECK_INT(carom_mesh_get_report(mesh)->triangle_count, count / 3);
	carom_release_mesh(mesh);
}

TEST(weld, is_that_of_the_dull_search)
{
	static double places[3 * MOST];
	carom_context *context = fixture_context(1);
	uint64_t seed = 31;
	// Far from the origin, the distance is near the last bit of a coordinate.
	static const double far[4] = { 0, 1, 1e6, 1e11 };
	for (int round = 0; round < 80 / TEST_FEWER; round++) {
		const double shift = far[round % 4], spread = round % 3 == 0 ? 1e-3 : 1, step = round % 5 == 0 ? 0.125 * spread : 0;
		for (int i = 0; i < 3 * MOST; i++) {
			const double value = test_random_double(&seed, -spread, spread);
			places[i] = shift + (step > 0 ? step * floor(value / step) : value); // many at equal distances
		}
		static const double shares[6] = { 1e-12, 1e-3, 0.05, 0.125, 0.5, 10 };
		for (int k = 0; k < 6; k++)
			compare(context, places, k % 2 ? MOST : 60, shares[k] * spread);
	}
	carom_destroy_context(context);
}

TEST(weld, takes_any_distance)
{
	carom_context *context = fixture_context(1);
	static const double places[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 1e12, -1e12, 1e-300 };
	static const int32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
	static const double distances[8] = { 5e-324, 1e-310, 1e-200, 0x1p-40, 0.5, 1, 1e200, 1.7e308 };
	carom_mesh_def def = def_of(places, 4, triangles, 2);
	for (int i = 0; i < 8; i++) {
		carom_mesh_report report;
		def.weld_distance = distances[i];
		REQUIRE(carom_check_mesh(context, &def, &report) == CAROM_SUCCESS);
		CHECK(report.usable);
		// A distance as long as an edge takes the triangles.
		CHECK_INT(report.degenerate_triangles, distances[i] < 1 ? 0 : 2);
		CHECK_INT(report.duplicate_vertices, distances[i] < 1 ? 0 : distances[i] < 2 ? 2 : 3);
		carom_mesh *mesh = make(context, &def);
		CHECK_INT(carom_mesh_get_report(mesh)->degenerate_triangles, report.degenerate_triangles);
		carom_release_mesh(mesh);
	}
	// What is refused without a distance is refused with one, and named as well.
	static const double bad[12] = { 0, 0, 0, NAN, 0, 0, 0, 1, INFINITY, 2e12, 0, 0 };
	carom_mesh_report with, without;
	def = def_of(bad, 4, triangles, 2);
	REQUIRE(carom_check_mesh(context, &def, &without) == CAROM_SUCCESS);
	def.weld_distance = 1;
	REQUIRE(carom_check_mesh(context, &def, &with) == CAROM_SUCCESS);
	CHECK_INT(with.nonfinite_vertices, 2);
	CHECK_INT(with.huge_vertices, 1);
	CHECK_STR(with.first_finding, without.first_finding);
	def = carom_default_mesh_def();
	def.weld_distance = 1;
	REQUIRE(carom_check_mesh(context, &def, &with) == CAROM_SUCCESS);
	CHECK(with.usable);
	carom_destroy_context(context);
}

// ---- Floors and boxes with cracks ----

typedef struct cracked {
	double vertices[3 * 6 * CELLS * CELLS];
	int32_t triangles[6 * CELLS * CELLS];
	int32_t count; // of vertices: each triangle has its own
} cracked;

static void add_corner(cracked *c, double x, double y, double z, double crack, uint64_t *seed)
{
	const double at[3] = { x, y, z };
	for (int k = 0; k < 3; k++)
		c->vertices[3 * c->count + k] = at[k] + test_random_double(seed, -0.5 * crack, 0.5 * crack);
	c->triangles[c->count] = c->count;
	c->count++;
}

static void make_floor(cracked *c, double crack)
{
	static const int corners[6][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 0 }, { 1, 1 }, { 0, 1 } };
	uint64_t seed = 3;
	c->count = 0;
	for (int i = 0; i < 6 * CELLS * CELLS; i++) {
		const int cell = i / 6, *at = corners[i % 6];
		add_corner(c, 0.5 * (cell % CELLS + at[0] - CELLS / 2), 0.5 * (cell / CELLS + at[1] - CELLS / 2), 0, crack, &seed);
	}
}

/// Poses of a ball and a lying capsule, 5 mm deep, with a contact that is more than 5 degrees off the vertical.
static int count_odd(carom_context *context, const carom_mesh *floor)
{
	const carom_shape below = fixture_of_mesh(floor), shapes[2] = { fixture_sphere(0.3), fixture_capsule(0.2, 0.4) };
	const carom_quat lying = fixture_turn((v3d){ 0, 1, 0 }, FIXTURE_PI / 2);
	uint64_t seed = 7;
	int odd = 0;
	for (int i = 0; i < POSES; i++) {
		carom_contact c[64];
		int32_t count;
		carom_pose turned = fixture_at(0, 0, 0);
		turned.orientation = i % 2 ? lying : turned.orientation;
		carom_pose pose = fixture_at(test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), i % 2 ? 0.195 : 0.295);
		pose.orientation = fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, 0, 6));
		pose = fixture_compose(pose, turned);
		REQUIRE(carom_collide(context, &shapes[i % 2], &pose, &below, NULL, 0, 64, c, &count) == CAROM_SUCCESS);
		CHECK(count > 0);
		bool is_odd = false;
		for (int k = 0; k < count; k++)
			is_odd |= c[k].normal[2] < 0.9962;
		odd += is_odd;
	}
	return odd;
}

TEST(weld, nothing_catches_at_closed_cracks)
{
	static cracked floor;
	carom_context *context = fixture_context(1);
	static const double cracks[3] = { 1e-6, 1e-5, 1e-4 };
	int cracked_odd = 0;
	for (int i = 0; i < 3; i++) {
		make_floor(&floor, cracks[i]);
		carom_mesh_def def = def_of(floor.vertices, floor.count, floor.triangles, floor.count / 3);
		carom_mesh *open = make(context, &def);
		def.weld_distance = 4 * cracks[i];
		carom_mesh *closed = make(context, &def);
		CHECK_INT(carom_mesh_get_report(open)->border_edges, floor.count);
		CHECK_INT(carom_mesh_get_report(closed)->border_edges, 4 * CELLS);
		CHECK_INT(carom_mesh_get_report(closed)->duplicate_vertices, floor.count - (CELLS + 1) * (CELLS + 1));
		cracked_odd += count_odd(context, open);
		CHECK_INT(count_odd(context, closed), 0);
		carom_release_mesh(open);
		carom_release_mesh(closed);
	}
	CHECK(cracked_odd > 0); // the test can fail
	carom_destroy_context(context);
}

typedef struct bytes {
	uint8_t data[1 << 17];
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

/// A box of twelve triangles with corners of their own is closed, has a mass, and keeps its places when saved and scaled.
TEST(weld, a_cracked_box_is_solid)
{
	static cracked box;
	static fixture_soup soup;
	static bytes saved;
	carom_context *context = fixture_context(1);
	uint64_t seed = 11;
	fixture_soup_box(&soup, (v3d){ 0, 0, 0 }, 1, 1, 1);
	for (int i = 0; i < 3 * soup.triangle_count; i++) {
		const float *v = &soup.vertices[3 * soup.triangles[i]];
		add_corner(&box, v[0], v[1], v[2], 1e-5, &seed);
	}
	carom_mesh_def def = def_of(box.vertices, box.count, box.triangles, box.count / 3);
	def.weld_distance = 1e-4;
	carom_mesh *mesh = make(context, &def), *loaded = NULL, *scaled = NULL;
	carom_mass mass;
	CHECK(carom_mesh_get_report(mesh)->closed);
	REQUIRE(carom_mesh_get_mass(mesh, &mass) == CAROM_SUCCESS);
	CHECK(fabs(mass.mass - 8) < 1e-3);
	REQUIRE(carom_mesh_save(mesh, keep, &saved) == CAROM_SUCCESS);
	REQUIRE(carom_mesh_load(context, saved.data, saved.size, true, &loaded) == CAROM_SUCCESS);
	REQUIRE(carom_create_scaled_mesh(context, mesh, (double[3]){ 1, 1, 1 }, &scaled) == CAROM_SUCCESS);
	for (int i = 0; i < 3 * box.count; i++) {
		CHECK(place_of(loaded, i) == place_of(mesh, i));
		CHECK(place_of(scaled, i) == place_of(mesh, i));
	}
	CHECK(carom_mesh_get_report(scaled)->closed);
	carom_release_mesh(mesh);
	carom_release_mesh(loaded);
	carom_release_mesh(scaled);
	carom_destroy_context(context);
}
