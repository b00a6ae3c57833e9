/// Which corners and edges of convex bodies are looked at beside a patch. The oracle is that all are: the contacts must be the same bits.
#include "frame/body.h"
#include "frame/contact_kernels.h"
#include "manifold_fixture.h"
#include "math/vec.h"
#include <math.h>
#include <stdio.h>

enum { SHAPES = 7, POSES = 120 / TEST_FEWER };

static void make_shapes(carom_context *context, carom_mesh *shapes[SHAPES])
{
	shapes[0] = manifold_frustum(context, 12, 0.5, 0.5, 0.5);
	shapes[1] = manifold_frustum(context, 24, 0.5, 0.5, 0.5);
	shapes[2] = manifold_frustum(context, 40, 0.5, 0.45, 0.5);
	shapes[3] = manifold_frustum(context, 62, 0.5, 0.5, 0.5);
	shapes[4] = manifold_frustum(context, 17, 0.3, 0.5, 0.5);
	shapes[5] = manifold_stone(context, 34, 5);
	shapes[6] = manifold_cube(context, 2, 0.5);
	for (int i = 0; i < SHAPES; i++)
		CHECK(shapes[i]->facets.convex && shapes[i]->facets.count <= CR_PATCH_FACETS);
}

static void meet(carom_context *context, bool by_planes, double ahead, const carom_mesh *a, carom_pose at_a,
	const carom_mesh *b, carom_pose at_b, manifold_view *view)
{
	carom_lab lab = carom_default_lab();
	lab.hull_pairs = by_planes;
	carom_world_def def = carom_default_world_def();
	def.lab = &lab;
	def.max_contacts_per_pair = 0;
	def.speculative_distance = ahead;
	manifold_meet(context, &def, fixture_of_mesh(a), at_a, fixture_of_mesh(b), at_b, view);
}

static bool are_same(const carom_contact *a, const carom_contact *b)
{
	bool same = a->depth == b->depth && a->kind == b->kind && a->feature_a == b->feature_a && a->feature_b == b->feature_b;
	for (int k = 0; k < 3; k++)
		same = same && a->point[k] == b->point[k] && a->normal[k] == b->normal[k];
	return same;
}

/// A body on another one, sunk by a little, shifted, turned and tilted: some are nearly flush, others stand on their rims.
static carom_pose lie_on(uint64_t *seed, int i)
{
	static const double SHIFT[4] = { 0, 0.003, 0.1, 0.5 }, TILT[4] = { 0, 1e-3, 0.02, 0.3 };
	double r[7];
	for (int k = 0; k < 7; k++)
		r[k] = test_random_double(seed, -1, 1);
	const double tilt = TILT[i / 4 % 4], shift = SHIFT[i % 4];
	const carom_quat yaw = fixture_turn((v3d){ 0, 0, 1 }, i % 3 == 0 ? 0 : 3 * r[0]);
	const carom_quat q = quat_mul(fixture_turn(v3d_normalize((v3d){ r[1], r[2], 0.1 }), tilt * r[3]), yaw);
	// A tilted body is lifted so that not all of its rim sinks in.
	return (carom_pose){ { shift * r[4], shift * r[5], 0.998 + 0.002 * r[6] + 0.4 * tilt * fabs(r[3]) }, q };
}

TEST(near_features, contacts_are_those_of_all_triangles)
{
	carom_context *context = fixture_context(1);
	carom_mesh *shapes[SHAPES];
	int different = 0, ahead = 0, met = 0;
	make_shapes(context, shapes);
	for (int a = 0; a < SHAPES; a++) {
		for (int b = 0; b < SHAPES; b++) {
			// Small hulls have corners that planes and edges make: those of the oracle differ by rounding.
			if (shapes[a]->facets.edge_count > 0 && shapes[b]->facets.edge_count > 0)
				continue;
			uint64_t seed = (uint64_t)(17 + SHAPES * a + b);
			for (int i = 0; i < POSES; i++) {
				static manifold_view fast, all;
				const carom_pose at = lie_on(&seed, i), turned = fixture_at(0, 0, 0);
				const double reach = i % 2 ? 0.02 : 0.1;
				meet(context, true, reach, shapes[a], at, shapes[b], turned, &fast);
				meet(context, false, reach, shapes[a], at, shapes[b], turned, &all);
				bool same = fast.count == all.count;
				for (int k = 0; k < fast.count && same; k++)
					same = are_same(&fast.data[k], &all.data[k]);
				for (int k = 0; k < all.count; k++) {
					met += all.data[k].depth >= 0;
					ahead += all.data[k].depth < 0;
				}
				if (!same && different++ == 0)
					printf("\tshapes %d and %d, pose %d: %d contacts, of all %d\n", a, b, i, fast.count, all.count);
			}
		}
	}
	CHECK_INT(different, 0);
	CHECK(ahead > 1000 / TEST_FEWER && met > 10000 / TEST_FEWER);
	for (int i = 0; i < SHAPES; i++)
		carom_release_mesh(shapes[i]);
	carom_destroy_context(context);
}

static void fill(carom_world *world, void *shapes)
{
	carom_mesh *const *mesh = shapes;
	fixture_add(world, fixture_of_mesh(mesh[0]), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	fixture_add(world, fixture_of_mesh(mesh[1]), fixture_at(0.2, 0.01, 0.99), CAROM_DYNAMIC);
}

TEST(near_features, a_failure_of_each_allocation)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *shapes[2] = { manifold_frustum(context, 40, 0.5, 0.5, 0.5), manifold_frustum(context, 24, 0.5, 0.5, 0.5) };
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = 0.02;
	CHECK(fixture_fail_each_allocation(&heap, context, &def, fill, shapes, 1) > 3);
	carom_release_mesh(shapes[0]);
	carom_release_mesh(shapes[1]);
	carom_destroy_context(context);
}

// The plane is that of plain loops, for every instruction set: the first of equal ones.
TEST(near_features, highest_plane_of_every_instruction_set)
{
	enum { PLANES = 64 };
	double normal[3][PLANES], offset[PLANES];
	const double *const rows[3] = { normal[0], normal[1], normal[2] };
	uint64_t seed = 4;
	for (int i = 0; i < PLANES; i++) {
		for (int x = 0; x < 3; x++)
			normal[x][i] = i % 5 == 4 ? normal[x][i - 1] : test_random_double(&seed, -1, 1);
		offset[i] = i % 5 == 4 ? offset[i - 1] : i % 7 == 3 ? INFINITY : test_random_double(&seed, -1, 1);
	}
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		for (int k = 0; k < 100 && fixture_kernels(fixture_all_simd[i]); k++) {
			const v3d at = { sin(k), cos(3 * k), sin(7 * k) };
			const int count = 8 * (1 + k % 8);
			double most, height[PLANES];
			int first = 0;
			for (int p = 0; p < count; p++) {
				height[p] = v3d_dot((v3d){ normal[0][p], normal[1][p], normal[2][p] }, at) - offset[p];
				first = height[p] > height[first] ? p : first;
			}
			CHECK_INT(cr_get_contact_kernels(fixture_all_simd[i])->highest(rows, offset, count, at, &most), first);
			CHECK(most == height[first]);
		}
	}
}
