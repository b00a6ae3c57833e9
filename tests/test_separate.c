// Gaps between triangles, and the lists of those that may meet: against distances made in double one pair at a time, for bodies
// of a micrometre and of a thousand kilometres too, and the same bits by every instruction set.
#include "test.h"

#include "frame/body.h"
#include "frame/contact_kernels.h"
#include "fixture.h"
#include "geom/predicates.h"
#include "geom/triangle.h"
#include <stddef.h>
#include <string.h>

enum { PAIRS = 300 };

typedef struct separate_case {
	carom_mesh *mesh;
	cr_transform b_to_a;
	cr_candidate pairs[PAIRS];
} separate_case;

/// Two lumpy rings of this size within each other, and triangles of theirs at random.
static void make_case(carom_context *context, uint64_t *seed, double size, separate_case *s)
{
	static fixture_soup soup;
	soup = (fixture_soup){ .vertex_count = 0 };
	fixture_soup_torus(&soup, 24, 12, 0.4, 0.2);
	for (int32_t i = 0; i < 3 * soup.vertex_count; i++)
		soup.vertices[i] = (float)(soup.vertices[i] * size);
	s->mesh = fixture_mesh(context, &soup);
	s->b_to_a = fixture_transform(fixture_random_pose(seed, 0.1 * size));
	for (int i = 0; i < PAIRS; i++) {
		s->pairs[i].a = (int32_t)(test_random(seed) % (uint64_t)soup.triangle_count);
		s->pairs[i].b = (int32_t)(test_random(seed) % (uint64_t)soup.triangle_count);
		s->pairs[i].gap = -1;
	}
}

static void corners_in_a(const separate_case *s, const cr_candidate *pair, v3d a[3], v3d b[3])
{
	v3d own[3];
	cr_collider_triangle(&s->mesh->collider, pair->a, a);
	cr_collider_triangle(&s->mesh->collider, pair->b, own);
	for (int k = 0; k < 3; k++) {
		const float(*r)[3] = s->b_to_a.r, *t = s->b_to_a.t;
		b[k] = (v3d){ r[0][0] * own[k].x + r[0][1] * own[k].y + r[0][2] * own[k].z + t[0],
			r[1][0] * own[k].x + r[1][1] * own[k].y + r[1][2] * own[k].z + t[1],
			r[2][0] * own[k].x + r[2][1] * own[k].y + r[2][2] * own[k].z + t[2] };
	}
}

static double distance_of(const v3d a[3], const v3d b[3])
{
	double least = INFINITY;
	v3d p, q;
	for (int k = 0; k < 3; k++) {
		least = fmin(least, cr_closest_segment_triangle(a[k], a[(k + 1) % 3], b[0], b[1], b[2], &p, &q));
		least = fmin(least, cr_closest_segment_triangle(b[k], b[(k + 1) % 3], a[0], a[1], a[2], &p, &q));
	}
	return sqrt(least);
}

TEST(separate, gaps_are_lower_bounds_and_none_is_lost)
{
	static const double sizes[] = { 1e-6, 1, 1e6 };
	static separate_case s;
	carom_context *context = fixture_context(1);
	uint64_t seed = 11;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		make_case(context, &seed, sizes[i], &s);
		const cr_collider *c = &s.mesh->collider;
		static cr_candidate all[PAIRS], some[PAIRS];
		memcpy(all, s.pairs, sizeof all);
		memcpy(some, s.pairs, sizeof some);
		const cr_contact_kernels *kernels = cr_get_contact_kernels(carom_context_simd(context));
		kernels->separate(c, c, &s.b_to_a, all, PAIRS, INFINITY);
		kernels->separate(c, c, &s.b_to_a, some, PAIRS, 0);
		for (int k = 0; k < PAIRS; k++) {
			v3d a[3], b[3];
			corners_in_a(&s, &all[k], a, b);
			const double distance = distance_of(a, b);
			CHECK(all[k].gap >= 0 && all[k].gap <= distance);
			CHECK(some[k].gap >= 0 && some[k].gap <= all[k].gap);
			// What lies apart is known to, both ways. (An axis of the eleven gives at least a part of the distance.)
			CHECK(distance < 1e-4 * sizes[i] || (all[k].gap > 0.05 * distance && some[k].gap > 0));
		}
		carom_release_mesh(s.mesh);
	}
	carom_destroy_context(context);
}

TEST(separate, every_instruction_set_gives_the_same_gaps)
{
	static separate_case s;
	static cr_candidate expected[PAIRS], found[PAIRS];
	carom_context *context = fixture_context(1);
	uint64_t seed = 12;
	make_case(context, &seed, 1, &s);
	const cr_collider *c = &s.mesh->collider;
	// Lengths around a whole number of lanes and of chunks.
	static const int32_t counts[] = { 0, 1, 7, 8, 9, 63, 64, 65, PAIRS };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		memcpy(expected, s.pairs, sizeof expected);
		cr_get_contact_kernels(CAROM_SIMD_SCALAR)->separate(c, c, &s.b_to_a, expected, counts[i], 0.2f);
		CHECK(counts[i] == PAIRS || expected[counts[i]].gap == -1);
		for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
			if (!fixture_kernels(fixture_all_simd[k]))
				continue;
			memcpy(found, s.pairs, sizeof found);
			cr_get_contact_kernels(fixture_all_simd[k])->separate(c, c, &s.b_to_a, found, counts[i], 0.2f);
			CHECK(memcmp(expected, found, sizeof found) == 0);
		}
	}
	carom_release_mesh(s.mesh);
	carom_destroy_context(context);
}

TEST(separate, sifting_is_what_a_plain_loop_finds)
{
	static float list[PAIRS + CR_WIDTH];
	static int32_t number[PAIRS + CR_WIDTH], expected[PAIRS];
	uint64_t seed = 13;
	for (int round = 0; round < 200; round++) {
		const int32_t count = (int32_t)(test_random(&seed) % (PAIRS + 1));
		const float moved = round % 16 == 0 ? INFINITY : (float)test_random_double(&seed, 0, 1);
		float least = INFINITY;
		int32_t kept = 0;
		for (int32_t i = 0; i < count; i++) {
			// Some at the limit itself.
			list[i] = test_random(&seed) % 8 == 0 ? moved : (float)test_random_double(&seed, 0, 1.2);
			if (list[i] <= moved)
				expected[kept++] = i;
			else
				least = list[i] < least ? list[i] : least;
		}
		for (int32_t i = count; i < count + CR_WIDTH; i++)
			list[i] = INFINITY;
		for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
			if (!fixture_kernels(fixture_all_simd[k]))
				continue;
			float beyond;
			CHECK_INT(cr_get_contact_kernels(fixture_all_simd[k])->sift(list, count, moved, number, &beyond), kept);
			CHECK(memcmp(number, expected, (size_t)kept * sizeof *number) == 0);
			CHECK(beyond == least);
		}
	}
}

// ---- Pierces ----

/// A mesh on itself, where what is the same touches and only exact tests know; or all but on itself.
static carom_pose pierce_pose(uint64_t *seed, bool aligned)
{
	carom_pose pose = fixture_random_pose(seed, 0.02);
	const v3d axis = { pose.orientation.x, pose.orientation.y, pose.orientation.z };
	pose.orientation = fixture_turn(axis, 0.1);
	return aligned ? carom_pose_identity() : pose;
}

/// Does the kernel's lane say what the exact predicate says of an edge p q and a triangle t?
static void check_edge(const cr_pierces8 *found, int side, int k, int lane, const v3d own[3], const v3d t[3])
{
	const v3d p = own[k], q = own[(k + 1) % 3];
	const int at_p = cr_orient3d_sign(t[0], t[1], t[2], p), at_q = cr_orient3d_sign(t[0], t[1], t[2], q);
	CHECK(at_p != 0 && at_q != 0); // what is certain is not on the plane
	const bool pierces = at_p * at_q < 0 && cr_line_meets_triangle(p, q, t);
	if (found->crossing == 0) {
		CHECK(!pierces);
		return;
	}
	CHECK_INT(found->above[side][k] >> lane & 1, at_p > 0);
	CHECK((found->height[side][k][lane] > 0) == (at_p > 0));
	CHECK_INT(found->pierces[side][k] >> lane & 1, pierces);
	CHECK(!pierces || (found->crossing >> lane & 1));
}

TEST(separate, pierces_are_those_of_the_exact_predicates)
{
	static separate_case s;
	carom_context *context = fixture_context(1);
	uint64_t seed = 14;
	make_case(context, &seed, 1, &s);
	const cr_collider *c = &s.mesh->collider;
	int64_t decided = 0, open = 0, piercing = 0;
	for (int round = 0; round < 400; round++) {
		const carom_pose pose = pierce_pose(&seed, round % 4 == 0);
		const m3d rotation = m3d_from_quat(pose.orientation);
		const v3d move = pose.position;
		const int32_t count = 1 + (int32_t)(test_random(&seed) % CR_WIDTH);
		cr_candidate pairs[CR_WIDTH];
		for (int32_t i = 0; i < count; i++) {
			pairs[i] = s.pairs[test_random(&seed) % PAIRS];
			if (i % 2)
				pairs[i].b = pairs[i].a;
		}
		cr_pierces8 expected = { 0 }; // where nothing crosses, nothing else is told
		cr_get_contact_kernels(CAROM_SIMD_SCALAR)->pierce(c, c, &rotation, move, pairs, count, &expected);
		CHECK_INT(expected.open >> count, 0);
		for (int k = 1; k < FIXTURE_SIMD_COUNT; k++) {
			if (!fixture_kernels(fixture_all_simd[k]))
				continue;
			cr_pierces8 found = { 0 };
			cr_get_contact_kernels(fixture_all_simd[k])->pierce(c, c, &rotation, move, pairs, count, &found);
			CHECK(found.crossing == expected.crossing && found.open == expected.open);
			if (found.crossing)
				CHECK(memcmp(&expected, &found, offsetof(cr_pierces8, crossing)) == 0);
		}
		for (int32_t i = 0; i < count; i++) {
			open += expected.open >> i & 1;
			if (expected.open >> i & 1)
				continue;
			decided++;
			v3d a[3], b[3];
			cr_collider_triangle(c, pairs[i].a, a);
			cr_collider_triangle(c, pairs[i].b, b);
			for (int k = 0; k < 3; k++)
				b[k] = v3d_add(m3d_mul(&rotation, b[k]), move);
			for (int k = 0; k < 3; k++) {
				check_edge(&expected, 0, k, i, a, b);
				check_edge(&expected, 1, k, i, b, a);
				piercing += (expected.pierces[0][k] >> i & 1) + (expected.pierces[1][k] >> i & 1);
			}
		}
	}
	CHECK(decided > 1000 && open > 100 && piercing > 20);
	carom_release_mesh(s.mesh);
	carom_destroy_context(context);
}

TEST(separate, boxes_hold_the_triangles_of_a_list)
{
	static separate_case s;
	carom_context *context = fixture_context(1);
	uint64_t seed = 15;
	make_case(context, &seed, 1, &s);
	const cr_collider *c = &s.mesh->collider;
	for (int32_t count = 1; count <= 20; count++) {
		float expected[2][3] = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
		for (int32_t i = 0; i < count; i++) {
			v3d corner[3];
			cr_collider_triangle(c, s.pairs[i].b, corner);
			for (int k = 0; k < 9; k++) {
				const float x = (float)v3d_get(corner[k / 3], k % 3);
				expected[0][k % 3] = fminf(expected[0][k % 3], x);
				expected[1][k % 3] = fmaxf(expected[1][k % 3], x);
			}
		}
		for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
			if (!fixture_kernels(fixture_all_simd[k]))
				continue;
			float found[2][3];
			cr_get_contact_kernels(fixture_all_simd[k])->enclose(c, s.pairs, count, found[0], found[1]);
			CHECK(memcmp(expected, found, sizeof found) == 0);
		}
	}
	carom_release_mesh(s.mesh);
	carom_destroy_context(context);
}
