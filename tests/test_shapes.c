// The generated meshes: exact sizes, closed, oriented, without self-intersection, well-shaped and concave, the same bytes
// each time.
#include "test.h"
#include "base/hash.h"
#include "carom/carom.h"
#include "geom/triangle.h"
#include "sim/shapes/shape_parts.h"
#include "sim/shapes/shapes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static sim_mesh make(const char *shape, int32_t triangles, uint64_t seed)
{
	sim_mesh mesh;
	sim_error error;
	CHECK(sim_make_shape(shape, triangles, seed, &mesh, &error));
	CHECK_STR(error.text, "");
	return mesh;
}

static carom_mesh_report check_clean(const sim_mesh *mesh, int32_t triangles, int32_t euler)
{
	carom_context *context;
	carom_mesh_report r;
	memset(&r, 0, sizeof r);
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices.data = mesh->vertices;
	def.vertices.type = CAROM_FLOAT32;
	def.vertex_count = mesh->vertex_count;
	def.triangles = mesh->triangles;
	def.triangle_count = mesh->triangle_count;
	CHECK_INT(carom_check_mesh(context, &def, &r), CAROM_SUCCESS);
	CHECK(r.usable && r.closed && !r.inverted && r.volume > 0);
	CHECK_STR(r.first_finding, "");
	CHECK_INT(r.triangle_count, triangles);
	CHECK_INT(r.euler, euler);
	CHECK_INT(r.components, 1);
	carom_destroy_context(context);
	return r;
}

static void corners_of(const sim_mesh *mesh, int32_t triangle, v3d corner[3])
{
	for (int k = 0; k < 3; k++) {
		corner[k] = v3d_from_floats(mesh->vertices + 3 * mesh->triangles[3 * triangle + k]);
	}
}

static bool boxes_apart(const v3d a[3], const v3d b[3])
{
	for (int axis = 0; axis < 3; axis++) {
		double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY };
		for (int k = 0; k < 3; k++) {
			low[0] = fmin(low[0], v3d_get(a[k], axis));
			high[0] = fmax(high[0], v3d_get(a[k], axis));
			low[1] = fmin(low[1], v3d_get(b[k], axis));
			high[1] = fmax(high[1], v3d_get(b[k], axis));
		}
		if (low[0] > high[1] || low[1] > high[0]) {
			return true;
		}
	}
	return false;
}

// Do two triangles of a mesh meet elsewhere than at what they share?
static bool cross(const sim_mesh *mesh, int32_t i, int32_t j)
{
	const int32_t *p = mesh->triangles + 3 * i, *q = mesh->triangles + 3 * j;
	int shared = 0, at_i = 0, at_j = 0;
	for (int k = 0; k < 9; k++) {
		if (p[k / 3] == q[k % 3]) {
			shared++;
			at_i = k / 3;
			at_j = k % 3;
		}
	}
	v3d a[3], b[3];
	double s;
	corners_of(mesh, i, a);
	corners_of(mesh, j, b);
	if (shared >= 2 || boxes_apart(a, b)) {
		return false;
	}
	if (shared == 0) {
		return cr_triangles_intersect(a, b);
	}
	// At one corner: the side across from it may not pierce the other triangle.
	return cr_segment_pierces_triangle(a[(at_i + 1) % 3], a[(at_i + 2) % 3], b[0], b[1], b[2], &s) ||
		cr_segment_pierces_triangle(b[(at_j + 1) % 3], b[(at_j + 2) % 3], a[0], a[1], a[2], &s);
}

static void check_no_crossing(const sim_mesh *mesh)
{
	int32_t crossings = 0;
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		for (int32_t j = 0; j < i; j++) {
			crossings += cross(mesh, i, j);
		}
	}
	CHECK_INT(crossings, 0);
}

// Smallest angle of all triangles, in degrees.
static double smallest_angle(const sim_mesh *mesh)
{
	double largest_cosine = -1;
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		v3d c[3];
		corners_of(mesh, i, c);
		for (int k = 0; k < 3; k++) {
			v3d a = v3d_normalize(v3d_sub(c[(k + 1) % 3], c[k])), b = v3d_normalize(v3d_sub(c[(k + 2) % 3], c[k]));
			largest_cosine = fmax(largest_cosine, v3d_dot(a, b));
		}
	}
	return acos(largest_cosine) * 57.29577951308232;
}

typedef struct side {
	int32_t low, high, opposite, triangle;
} side;

static int compare_sides(const void *a, const void *b)
{
	const side *p = a, *q = b;
	return p->low != q->low ? (p->low < q->low ? -1 : 1) : (p->high > q->high) - (p->high < q->high);
}

// Share of the edges that are reflex: the third corner beyond the edge lies in front of the triangle.
static double reflex_share(const sim_mesh *mesh)
{
	int32_t count = 3 * mesh->triangle_count, reflex = 0;
	side *sides = malloc((size_t)count * sizeof *sides);
	REQUIRE(sides != NULL);
	for (int32_t s = 0; s < count; s++) {
		int32_t a = mesh->triangles[s], b = mesh->triangles[s % 3 == 2 ? s - 2 : s + 1];
		sides[s] = (side){ a < b ? a : b, a < b ? b : a, mesh->triangles[s % 3 == 0 ? s + 2 : s - 1], s / 3 };
	}
	qsort(sides, (size_t)count, sizeof *sides, compare_sides);
	for (int32_t s = 0; s < count; s += 2) {
		v3d c[3];
		corners_of(mesh, sides[s].triangle, c);
		v3d normal = v3d_normalize(v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0])));
		v3d beyond = v3d_from_floats(mesh->vertices + 3 * sides[s + 1].opposite);
		reflex += v3d_dot(normal, v3d_sub(beyond, c[0])) > 1e-6;
	}
	free(sides);
	return 2.0 * reflex / count;
}

static uint64_t hash_of(const sim_mesh *mesh)
{
	uint64_t hash = CR_HASH_SEED;
	for (int32_t i = 0; i < 3 * mesh->vertex_count; i++) {
		hash = cr_hash_double(hash, mesh->vertices[i]);
	}
	for (int32_t i = 0; i < 3 * mesh->triangle_count; i++) {
		hash = cr_hash_u64(hash, (uint64_t)mesh->triangles[i]);
	}
	return hash;
}

// A concave body of one of the sizes that the scenes need.
static void check_body(const char *shape, int32_t triangles, int32_t euler, double least_angle, double least_reflex)
{
	sim_mesh mesh = make(shape, triangles, 1);
	check_clean(&mesh, triangles, euler);
	check_no_crossing(&mesh);
	CHECK(smallest_angle(&mesh) > least_angle);
	double share = reflex_share(&mesh);
	CHECK(share > least_reflex && share < 0.45);
	sim_mesh_free(&mesh);
}

TEST(shapes, sines_side_by_side_have_the_bits_of_one)
{
	uint64_t seed = 5;
	for (int round = 0; round < 2000; round++) {
		double turns[SIM_SINES], sines[SIM_SINES];
		for (int i = 0; i < SIM_SINES; i++) // each eighth of a turn too, where the series change
			turns[i] = round < 40 ? (double)(SIM_SINES * round + i - 80) / 8 : test_random_double(&seed, -6, 6);
		sim_sines(turns, sines);
		for (int i = 0; i < SIM_SINES; i++) {
			double sine, cosine;
			sim_sincos(turns[i], &sine, &cosine);
			CHECK(memcmp(&sine, &sines[i], sizeof sine) == 0);
		}
	}
}

TEST(shapes, lumpy_902)
{
	check_body("lumpy", 902, 2, 20, 0.15);
	sim_mesh mesh = make("lumpy", 902, 1);
	CHECK_INT(mesh.vertex_count, 453);
	carom_mesh_report r = check_clean(&mesh, 902, 2);
	const double low[3] = { 0.8, 1.3, 1.8 }, high[3] = { 1.0, 1.6, 2.1 };
	for (int axis = 0; axis < 3; axis++) {
		double size = r.upper[axis] - r.lower[axis];
		CHECK(size > low[axis] && size < high[axis]);
	}
	sim_mesh_free(&mesh);
}

TEST(shapes, lumpy_2130) { check_body("lumpy", 2130, 2, 20, 0.15); }
TEST(shapes, lumpy_3264) { check_body("lumpy", 3264, 2, 20, 0.15); }
TEST(shapes, lumpy_3456) { check_body("lumpy", 3456, 2, 20, 0.15); }
TEST(shapes, lumpy_3458) { check_body("lumpy", 3458, 2, 20, 0.15); }

TEST(shapes, torus_sizes)
{
	const int32_t sizes[5] = { 902, 2130, 3264, 3456, 3458 };
	for (int i = 0; i < 5; i++) {
		check_body("torus", sizes[i], 0, 12, 0.15);
	}
}

TEST(shapes, knot_sizes)
{
	const int32_t sizes[5] = { 902, 2130, 3264, 3456, 3458 };
	for (int i = 0; i < 5; i++) {
		check_body("knot", sizes[i], 0, 12, 0.15);
	}
}

TEST(shapes, lock_sizes)
{
	const int32_t sizes[5] = { 902, 2130, 3264, 3456, 3458 };
	for (int i = 0; i < 5; i++) {
		check_body("lock", sizes[i], 2, 12, 0.1);
	}
}

TEST(shapes, lumpy_any_seed)
{
	for (uint64_t seed = 0; seed < 20 / TEST_FEWER; seed++) {
		sim_mesh mesh = make("lumpy", 902, seed * 7919);
		check_clean(&mesh, 902, 2);
		check_no_crossing(&mesh);
		CHECK(smallest_angle(&mesh) > 12);
		sim_mesh_free(&mesh);
	}
}

TEST(shapes, every_small_even_number)
{
	const char *const shapes[2] = { "lumpy", "sphere" };
	for (int i = 0; i < 2; i++) {
		for (int32_t triangles = 4; triangles <= 120; triangles += triangles < 30 ? 2 : 2 * TEST_STRIDE) {
			sim_mesh mesh = make(shapes[i], triangles, 3);
			check_clean(&mesh, triangles, 2);
			check_no_crossing(&mesh);
			sim_mesh_free(&mesh);
		}
	}
}

TEST(shapes, sphere)
{
	sim_mesh mesh = make("sphere", 5000, 0);
	carom_mesh_report r = check_clean(&mesh, 5000, 2);
	CHECK_NEAR(r.volume, 4.18879, 0.02);
	CHECK(smallest_angle(&mesh) > 25);
	CHECK_NEAR(reflex_share(&mesh), 0, 0);
	sim_mesh_free(&mesh);
}

TEST(shapes, blocks)
{
	const int32_t cells[3] = { 1, 2, 7 };
	for (int i = 0; i < 3; i++) {
		int32_t k = cells[i];
		sim_mesh box = make("box", 12 * k * k, 0), corner = make("L", 28 * k * k, 0);
		CHECK_NEAR(check_clean(&box, 12 * k * k, 2).volume, 1, 1e-6);
		CHECK_NEAR(check_clean(&corner, 28 * k * k, 2).volume, 0.375, 1e-6);
		check_no_crossing(&corner);
		CHECK_NEAR(reflex_share(&box), 0, 0);
		CHECK(reflex_share(&corner) > 0);
		sim_mesh_free(&box);
		sim_mesh_free(&corner);
	}
}

TEST(shapes, gears)
{
	for (int32_t teeth = 6; teeth <= 40; teeth += 17) {
		sim_mesh gear = make("gear", 32 * teeth, 0);
		const carom_mesh_report report = check_clean(&gear, 32 * teeth, 0); // the bore: a ring
		check_no_crossing(&gear);
		CHECK(reflex_share(&gear) > 0);
		CHECK_NEAR(report.upper[0], 0.05 * teeth + 0.08, 0.01); // the tip of the tooth along x
		CHECK_NEAR(report.upper[2] - report.lower[2], 0.2, 1e-6);
		sim_mesh_free(&gear);
	}
}

TEST(shapes, hundred_thousand)
{
	sim_mesh mesh = make("lumpy", 100000, 1);
	check_clean(&mesh, 100000, 2);
	CHECK(smallest_angle(&mesh) > 5);
	sim_mesh_free(&mesh);
}

TEST(shapes, same_bytes_everywhere)
{
	sim_mesh a = make("lumpy", 902, 1), b = make("lumpy", 902, 1), c = make("lumpy", 902, 2);
	REQUIRE(a.vertex_count == 453 && b.vertex_count == 453);
	CHECK_INT(memcmp(a.vertices, b.vertices, 3 * 453 * sizeof(float)), 0);
	CHECK_INT(memcmp(a.triangles, b.triangles, 3 * 902 * sizeof(int32_t)), 0);
	CHECK(memcmp(a.vertices, c.vertices, 3 * 453 * sizeof(float)) != 0);
	for (int i = 0; i < 3 * 453; i++) {
		double steps = a.vertices[i] * 1048576.0;
		CHECK(steps == floor(steps));
	}
	// The same on every machine and with every compiler.
	sim_mesh knot = make("knot", 3456, 1);
	CHECK_INT(hash_of(&a), 5292193099341156537);
	CHECK_INT(hash_of(&knot), -998517803972442380);
	sim_mesh_free(&a);
	sim_mesh_free(&b);
	sim_mesh_free(&c);
	sim_mesh_free(&knot);
}

static void check_refused(const char *shape, int32_t triangles, const char *text)
{
	sim_mesh mesh;
	sim_error error;
	CHECK(!sim_make_shape(shape, triangles, 0, &mesh, &error));
	CHECK_STR(error.text, text);
	CHECK(mesh.vertices == NULL && mesh.triangles == NULL && mesh.vertex_count == 0 && mesh.triangle_count == 0);
	sim_mesh_free(&mesh);
}

TEST(shapes, refused)
{
	check_refused("cow", 902, "no shape is called 'cow'; there are lumpy, sphere, torus, knot, lock, box, gear, L");
	check_refused("gear", 191, "a gear has 32 triangles for each of 6 teeth or more, not 191: take 192");
	check_refused("gear", 400, "a gear has 32 triangles for each of 6 teeth or more, not 400: take 384 or 416");
	check_refused("lumpy", 3, "3 triangles are asked for; the number must be in 4 to 1000000");
	check_refused("lumpy", 1000001, "1000001 triangles are asked for; the number must be in 4 to 1000000");
	check_refused("lumpy", 903, "a closed body has an even number of triangles: take 902 or 904");
	check_refused("sphere", 5, "a closed sphere has an even number of triangles: take 4 or 6");
	check_refused("torus", 4, "4 triangles make no even grid for a torus: take 18");
	check_refused("torus", 2 * 10007, "20014 triangles make no even grid for a torus: take 20010 or 20016");
	check_refused("box", 13, "the shape box has 12 * k * k triangles, not 13: take 12 or 48");
	check_refused("L", 4, "the shape L has 28 * k * k triangles, not 4: take 28");
	sim_mesh mesh;
	CHECK(!sim_make_shape("cow", 902, 0, &mesh, NULL));
}

TEST(shapes, list)
{
	int32_t count;
	const sim_shape_info *list = sim_shape_list(&count);
	CHECK_INT(count, 8);
	for (int32_t i = 0; i < count; i++) {
		CHECK(strlen(list[i].description) > 10);
		// Every shape can be made, with 4032 = 28 * 12 * 12 triangles or, the cube, with 4800.
		int32_t triangles = strcmp(list[i].name, "box") == 0 ? 4800 : 4032;
		sim_mesh mesh = make(list[i].name, triangles, 0);
		CHECK_INT(mesh.triangle_count, triangles);
		sim_mesh_free(&mesh);
	}
}
