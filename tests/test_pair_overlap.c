/// carom_overlap: yes or no for any two shapes, beside contacts, exact triangle tests and the world's answer.
#include "fixture.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHAPES = 10 };

typedef struct zoo {
	carom_context *context;
	carom_mesh *torus, *cube, *ball, *sheet, *hull;
	carom_shape shape[SHAPES];
} zoo;

static void open_zoo(zoo *z, carom_context *context)
{
	static const float corners[15] = { -0.3F, -0.3F, -0.2F, 0.3F, -0.3F, -0.2F, 0.3F, 0.3F, -0.2F, -0.3F, 0.3F, -0.2F, 0, 0,
		0.4F };
	z->context = context;
	z->torus = fixture_torus_mesh(context, 16, 8, 0.3, 0.1);
	z->cube = fixture_box_mesh(context, 0.4, 0.3, 0.5);
	z->ball = fixture_sphere_mesh(context, 0.5, 10);
	z->sheet = fixture_sheet_mesh(context, 4, 1.5);
	z->hull = fixture_hull_mesh(context, corners, 5);
	const carom_shape shapes[SHAPES] = { fixture_of_mesh(z->torus), fixture_of_mesh(z->cube), fixture_of_mesh(z->ball),
		fixture_of_mesh(z->sheet), fixture_hull(z->hull), fixture_sphere(0.4), fixture_box(0.3, 0.4, 0.5),
		fixture_capsule(0.2, 0.4), fixture_cylinder(0.3, 0.3), { .type = CAROM_PLANE } };
	memcpy(z->shape, shapes, sizeof shapes);
}

static void close_zoo(zoo *z)
{
	carom_release_mesh(z->torus);
	carom_release_mesh(z->cube);
	carom_release_mesh(z->ball);
	carom_release_mesh(z->sheet);
	carom_release_mesh(z->hull);
}

static bool overlaps(
	const zoo *z, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b)
{
	bool overlap = false;
	if (carom_overlap(z->context, a, pose_a, b, pose_b, &overlap) != CAROM_SUCCESS)
		CHECK_STR(carom_error_text(z->context), "");
	return overlap;
}

/// The world's answer: a body of shape a, asked with shape b.
static bool world_says(
	const zoo *z, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b)
{
	carom_world *world = fixture_world(z->context, NULL);
	fixture_add(world, *a, *pose_a, a->type == CAROM_PLANE ? CAROM_STATIC : CAROM_DYNAMIC);
	int32_t count = 0;
	REQUIRE(carom_world_overlap_shape(world, b, pose_b, NULL, 0, NULL, &count) == CAROM_SUCCESS);
	carom_destroy_world(world);
	return count > 0;
}

TEST(pair_overlap, every_pair_of_shapes_is_as_the_world_says)
{
	carom_context *context = fixture_context(1);
	zoo z;
	uint64_t seed = 3;
	int yes = 0, no = 0;
	open_zoo(&z, context);
	for (int a = 0; a < SHAPES; a++) {
		for (int b = 0; b < SHAPES; b++) {
			for (int k = 0; k < 12 / TEST_FEWER; k++) {
				const carom_pose pose_a = fixture_random_pose(&seed, 0.5), pose_b = fixture_random_pose(&seed, 0.5);
				if (z.shape[a].type == CAROM_PLANE && z.shape[b].type == CAROM_PLANE)
					continue;
				const bool overlap = overlaps(&z, &z.shape[a], &pose_a, &z.shape[b], &pose_b);
				CHECK(overlap == overlaps(&z, &z.shape[b], &pose_b, &z.shape[a], &pose_a));
				if (z.shape[b].type != CAROM_PLANE)
					CHECK(overlap == world_says(&z, &z.shape[a], &pose_a, &z.shape[b], &pose_b));
				carom_separation s;
				REQUIRE(carom_distance(context, &z.shape[a], &pose_a, &z.shape[b], &pose_b, &s) == CAROM_SUCCESS);
				if (s.distance > 1e-5)
					CHECK(!overlap);
				if (s.distance + s.error < -1e-5)
					CHECK(overlap);
				yes += overlap;
				no += !overlap;
			}
		}
	}
	CHECK(yes > 300 / TEST_FEWER && no > 200 / TEST_FEWER);
	close_zoo(&z);
	carom_destroy_context(context);
}

TEST(pair_overlap, meshes_are_as_an_exact_test_of_all_triangles)
{
	carom_context *context = fixture_context(1);
	zoo z;
	uint64_t seed = 9;
	int yes = 0, no = 0;
	open_zoo(&z, context);
	for (int k = 0; k < 400; k++) {
		carom_pose pose = fixture_random_pose(&seed, 1);
		pose.position.z += 0.7;
		int32_t count = 0;
		REQUIRE(carom_mesh_intersections(z.torus, NULL, z.ball, &pose, 0, NULL, &count) == CAROM_SUCCESS);
		const bool overlap = overlaps(&z, &z.shape[0], NULL, &z.shape[2], &pose);
		CHECK(overlap || count == 0);
		if (count == 0 && overlap) { // one inside the other
			bool inside = false;
			REQUIRE(carom_mesh_contains(z.torus, pose.position, &inside) == CAROM_SUCCESS);
			CHECK(inside);
		}
		yes += overlap;
		no += !overlap;
	}
	CHECK(yes > 50 && no > 50);
	close_zoo(&z);
	carom_destroy_context(context);
}

/// A mesh of two cubes: one far away, and one inside a large cube, whichever comes first in the list of triangles.
TEST(pair_overlap, every_piece_may_lie_inside)
{
	static fixture_soup soup;
	carom_context *context = fixture_context(1);
	carom_mesh *large = fixture_box_mesh(context, 1, 1, 1);
	for (int inner = 0; inner < 2; inner++) {
		memset(&soup, 0, sizeof soup);
		for (int i = 0; i < 2; i++)
			fixture_soup_box(&soup, (v3d){ i == inner ? 0 : 5, 0, 0 }, 0.1, 0.1, 0.1);
		carom_mesh *two = fixture_mesh(context, &soup);
		const carom_shape a = fixture_of_mesh(large), b = fixture_of_mesh(two);
		bool overlap = false;
		REQUIRE(carom_overlap(context, &a, NULL, &b, NULL, &overlap) == CAROM_SUCCESS);
		CHECK(overlap);
		REQUIRE(carom_overlap(context, &b, NULL, &a, NULL, &overlap) == CAROM_SUCCESS);
		CHECK(overlap);
		const carom_pose aside = fixture_at(2.5, 0, 0);
		REQUIRE(carom_overlap(context, &a, &aside, &b, NULL, &overlap) == CAROM_SUCCESS);
		CHECK(!overlap);
		carom_release_mesh(two);
	}
	carom_release_mesh(large);
	carom_destroy_context(context);
}

/// Two shapes are brought to the place where they begin to overlap, as near as numbers tell. Returns how often the answers for (a, b)
/// and (b, a) differed on the way.
static int count_disagreements(const zoo *z, const carom_shape *a, const carom_shape *b, uint64_t *seed)
{
	const carom_pose pose_a = fixture_random_pose(seed, 5);
	const carom_pose turned = fixture_random_pose(seed, 1);
	const carom_vec3 way = carom_rotate(fixture_random_pose(seed, 1).orientation, (carom_vec3){ 1, 0, 0 });
	double within = 0, beyond = 4;
	int differ = 0;
	for (int i = 0; i < 60; i++) {
		const double at = 0.5 * (within + beyond);
		const carom_pose pose_b = { { pose_a.position.x + at * way.x, pose_a.position.y + at * way.y,
										pose_a.position.z + at * way.z },
			turned.orientation };
		const bool overlap = overlaps(z, a, &pose_a, b, &pose_b);
		differ += overlap != overlaps(z, b, &pose_b, a, &pose_a);
		*(overlap ? &within : &beyond) = at;
	}
	return differ;
}

TEST(pair_overlap, does_not_depend_on_which_shape_is_first)
{
	carom_context *context = fixture_context(1);
	zoo z;
	uint64_t seed = 12;
	open_zoo(&z, context);
	for (int a = 0; a < SHAPES - 1; a++) {
		for (int b = 0; b <= a; b++) {
			int differ = 0;
			for (int k = 0; k < 40 / TEST_FEWER; k++)
				differ += count_disagreements(&z, &z.shape[a], &z.shape[b], &seed);
			CHECK_INT(differ, 0);
			if (differ > 0)
				printf("shapes %d and %d\n", a, b);
		}
	}
	close_zoo(&z);
	carom_destroy_context(context);
}

TEST(pair_overlap, wrong_arguments_are_named)
{
	carom_context *context = fixture_context(1);
	const carom_shape plane = { .type = CAROM_PLANE }, ball = fixture_sphere(1), bad = fixture_sphere(-1);
	const carom_pose wrong = { { 0, 0, 0 }, { 0, 0, 0, 0 } };
	bool overlap = true;
	CHECK_INT(carom_overlap(NULL, &ball, NULL, &ball, NULL, &overlap), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_overlap(context, &ball, NULL, &ball, NULL, NULL), "overlap is NULL");
	fixture_expect_wrong(context, carom_overlap(context, NULL, NULL, &ball, NULL, &overlap), "a is NULL");
	fixture_expect_wrong(context, carom_overlap(context, &bad, NULL, &ball, NULL, &overlap), "radius");
	fixture_expect_wrong(context, carom_overlap(context, &ball, &wrong, &ball, NULL, &overlap), "pose_a");
	overlap = true;
	CHECK_INT(carom_overlap(context, &plane, NULL, &plane, NULL, &overlap), CAROM_UNSUPPORTED);
	CHECK(!overlap && strstr(carom_error_text(context), "two planes") != NULL);
	const carom_shape_pair pairs[2] = { { &ball, &ball, carom_pose_identity(), fixture_at(1, 0, 0) },
		{ &plane, &plane, carom_pose_identity(), carom_pose_identity() } };
	bool answers[2];
	CHECK_INT(carom_overlaps(context, &(carom_batch){ .count = 2 }, pairs, answers), CAROM_UNSUPPORTED);
	CHECK(strstr(carom_error_text(context), "carom_overlaps: pairs[1]: two planes") != NULL);
	carom_result results[2];
	REQUIRE(carom_overlaps(context, &(carom_batch){ .count = 2, .results = results }, pairs, answers) == CAROM_SUCCESS);
	CHECK(answers[0] && !answers[1] && results[0] == CAROM_SUCCESS && results[1] == CAROM_UNSUPPORTED);
	fixture_expect_wrong(context, carom_overlaps(context, &(carom_batch){ .count = 1 }, pairs, NULL), "overlap is NULL");
	carom_destroy_context(context);
}

/// Any number of threads gives the answers of the single calls; each allocation that fails is an error and leaves nothing behind.
TEST(pair_overlap, batches_and_failed_allocations)
{
	for (int threads = 1; threads <= 4; threads += 3) {
		carom_context *context = fixture_context(threads);
		zoo z;
		uint64_t seed = 12;
		static carom_shape_pair pairs[300];
		static bool answers[300];
		open_zoo(&z, context);
		for (int i = 0; i < 300; i++)
			pairs[i] = (carom_shape_pair){ &z.shape[i % 9], &z.shape[i / 9 % 9], fixture_random_pose(&seed, 0.6),
				fixture_random_pose(&seed, 0.6) };
		REQUIRE(carom_overlaps(context, &(carom_batch){ .count = 300 }, pairs, answers) == CAROM_SUCCESS);
		for (int i = 0; i < 300; i++)
			CHECK(answers[i] == overlaps(&z, pairs[i].a, &pairs[i].pose_a, pairs[i].b, &pairs[i].pose_b));
		close_zoo(&z);
		carom_destroy_context(context);
	}
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	zoo z;
	open_zoo(&z, context);
	const carom_pose near = fixture_at(0.9, 0, 0.1);
	const long long blocks = heap.blocks;
	int failures = 0;
	bool overlap = false;
	for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS && failures < 20; failures++) {
		heap.fail_at = heap.calls + failures;
		heap.fail_on = true;
		result = carom_overlap(context, &z.shape[0], NULL, &z.shape[2], &near, &overlap);
		CHECK(result == CAROM_SUCCESS || (result == CAROM_OUT_OF_MEMORY && !overlap));
		CHECK_INT(heap.blocks, blocks);
	}
	CHECK(failures > 1 && failures < 20 && overlap);
	heap.fail_at = -1;
	heap.fail_on = false;
	close_zoo(&z);
	carom_destroy_context(context);
}

/// Boxes, and meshes of boxes, whose faces lie on each other: all edges lie on faces, on whichever side rounding puts them.
TEST(pair_overlap, what_lies_face_on_face_overlaps)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	const carom_shape shapes[2] = { fixture_box(0.5, 0.5, 0.5), fixture_of_mesh(mesh) };
	zoo z = { .context = context };
	uint64_t seed = 9;
	int missed[2] = { 0, 0 };
	for (int i = 0; i < 4000 / TEST_FEWER; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 9);
		// At one place, moved along an edge, or turned about an axis.
		const double angle = (double)(i % 24) * 0.2617993877991494;
		const carom_quat q = pose.orientation;
		const double s = sin(angle / 2), c = cos(angle / 2);
		carom_pose others[2] = { pose, pose };
		others[0].position = carom_transform_point(pose, (carom_vec3){ 0.1 * (i % 10), 0, 0 });
		others[1].orientation = (carom_quat){ q.x * c + q.y * s, q.y * c - q.x * s, q.z * c + q.w * s, q.w * c - q.z * s };
		for (int k = 0; k < 2; k++)
			for (int kind = 0; kind < 2; kind++)
				missed[kind] += !overlaps(&z, &shapes[kind], &pose, &shapes[kind], &others[k]);
	}
	CHECK_INT(missed[0], 0);
	CHECK_INT(missed[1], 0);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
