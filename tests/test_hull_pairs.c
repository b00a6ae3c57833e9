// Small hulls collide by their planes and edges. The oracle is what finds their contacts triangle by triangle.
#include "manifold_fixture.h"
#include "frame/contact_kernels.h"
#include "frame/body.h"
#include <math.h>
#include <string.h>

enum { SHAPES = 8 };

static void make_shapes(carom_context *context, carom_mesh *shapes[SHAPES])
{
	shapes[0] = manifold_cube(context, 1, 0.5);
	shapes[1] = manifold_shuffled_cube(context, 2, 0.5, 7);
	shapes[2] = manifold_cube(context, 4, 0.4);
	shapes[3] = fixture_box_mesh(context, 0.9, 0.05, 0.4);
	shapes[4] = manifold_frustum(context, 6, 0.5, 0.5, 0.3);
	shapes[5] = manifold_frustum(context, 3, 0.6, 0.6, 0.5);
	shapes[6] = manifold_stone(context, 4, 5);
	shapes[7] = manifold_stone(context, 17, 3);
	for (int i = 0; i < SHAPES; i++)
		CHECK(shapes[i]->facets.edge_count > 0);
}

static void release(carom_mesh *shapes[SHAPES])
{
	for (int i = 0; i < SHAPES; i++)
		carom_release_mesh(shapes[i]);
}

/// The contacts of two meshes, by planes and edges or triangle by triangle.
static void meet(carom_context *context, bool hulls, const carom_mesh *a, carom_pose at_a, const carom_mesh *b, carom_pose at_b,
	manifold_view *view)
{
	carom_lab lab = carom_default_lab();
	lab.hull_pairs = hulls;
	carom_world_def def = carom_default_world_def();
	def.lab = &lab;
	def.max_contacts_per_pair = 0;
	manifold_meet(context, &def, fixture_of_mesh(a), at_a, fixture_of_mesh(b), at_b, view);
}

/// Is a contact among those of a view, up to rounding?
static bool has(const manifold_view *view, const carom_contact *c)
{
	for (int i = 0; i < view->count; i++) {
		const carom_contact *d = &view->data[i];
		if (c->kind == d->kind && v3d_length(v3d_sub(fixture_point(c), fixture_point(d))) < 2e-6 &&
			v3d_length(v3d_sub(fixture_normal(c), fixture_normal(d))) < 1e-5 && fabsf(c->depth - d->depth) < 2e-6f)
			return true;
	}
	return false;
}

static bool agree(const manifold_view *a, const manifold_view *b)
{
	for (int i = 0; i < a->count; i++) {
		if (!has(b, &a->data[i]))
			return false;
	}
	return a->count == b->count;
}

static double deepest(const manifold_view *view)
{
	double most = 0;
	for (int i = 0; i < view->count; i++)
		most = fmax(most, view->data[i].depth);
	return most;
}

TEST(hull_pairs, random_ones_as_triangle_by_triangle)
{
	carom_context *context = fixture_context(1);
	carom_mesh *shapes[SHAPES];
	make_shapes(context, shapes);
	uint64_t seed = 4;
	int pairs = 0, colliding = 0, alike = 0;
	for (int i = 0; i < SHAPES; i++) {
		for (int k = i; k < SHAPES; k++) {
			for (int n = 0; n < 40 / TEST_FEWER; n++) {
				const carom_pose a = fixture_random_pose(&seed, 3);
				carom_pose b = fixture_random_pose(&seed, 1);
				const double apart = test_random_double(&seed, 0.05, 1.5);
				b.position = v3d_mad(a.position, apart / v3d_length(b.position), b.position);
				manifold_view by_edges, by_triangles;
				meet(context, true, shapes[i], a, shapes[k], b, &by_edges);
				meet(context, false, shapes[i], a, shapes[k], b, &by_triangles);
				pairs++;
				colliding += by_triangles.count > 0;
				alike += agree(&by_edges, &by_triangles);
				CHECK((by_edges.count > 0) == (by_triangles.count > 0));
				// Planes whose depths differ by less than a thousandth are as good as each other.
				CHECK_NEAR(deepest(&by_edges), deepest(&by_triangles), 5e-3 * deepest(&by_triangles) + 1e-5);
			}
		}
	}
	CHECK(colliding > pairs / 3);
	CHECK(alike >= pairs - pairs / 100);
	release(shapes);
	carom_destroy_context(context);
}

// Sides, edges and corners that lie exactly on each other are left to the triangles.
TEST(hull_pairs, that_touch_exactly_are_left_to_the_triangles)
{
	static const double shifts[] = { 0, 0.25, 0.999, 1, 1.001 };
	enum { SHIFTS = sizeof shifts / sizeof *shifts };
	carom_context *context = fixture_context(1);
	carom_mesh *cubes[2] = { manifold_cube(context, 1, 0.5), manifold_cube(context, 2, 0.5) };
	int colliding = 0;
	for (int i = 0; i < SHIFTS * SHIFTS * SHIFTS; i++) {
		const carom_pose b = fixture_at(shifts[i % SHIFTS], shifts[i / SHIFTS % SHIFTS], shifts[i / SHIFTS / SHIFTS]);
		manifold_view by_edges, by_triangles;
		meet(context, true, cubes[i % 2], fixture_at(0, 0, 0), cubes[0], b, &by_edges);
		meet(context, false, cubes[i % 2], fixture_at(0, 0, 0), cubes[0], b, &by_triangles);
		CHECK(agree(&by_edges, &by_triangles));
		colliding += by_edges.count > 0;
	}
	CHECK(colliding > 50);
	carom_release_mesh(cubes[0]);
	carom_release_mesh(cubes[1]);
	carom_destroy_context(context);
}

// A body inside another one has no edge that pierces; large coordinates leave the margin.
TEST(hull_pairs, one_inside_the_other_and_far_away)
{
	carom_context *context = fixture_context(1);
	carom_mesh *small = manifold_cube(context, 1, 0.1), *large = manifold_cube(context, 2, 0.5);
	manifold_view by_edges, by_triangles;
	for (int i = 0; i < 2; i++) {
		const double far = i * 1e6;
		const carom_pose at = { { far + 0.1, 0.05, far }, fixture_turn((v3d){ 1, 2, 3 }, 0.7) };
		meet(context, true, small, at, large, fixture_at(far, 0, far), &by_edges);
		meet(context, false, small, at, large, fixture_at(far, 0, far), &by_triangles);
		CHECK(by_triangles.count > 0);
		CHECK(agree(&by_edges, &by_triangles));
	}
	carom_release_mesh(small);
	carom_release_mesh(large);
	carom_destroy_context(context);
}

// The features that a contact names are parts of the meshes at its point.
TEST(hull_pairs, features_lie_at_the_contact)
{
	carom_context *context = fixture_context(1);
	carom_mesh *shapes[SHAPES];
	make_shapes(context, shapes);
	uint64_t seed = 8;
	int edges = 0, vertices = 0;
	for (int n = 0; n < 400 / TEST_FEWER; n++) {
		const carom_mesh *meshes[2] = { shapes[n % SHAPES], shapes[n / SHAPES % SHAPES] };
		carom_pose at[2] = { fixture_random_pose(&seed, 1), fixture_random_pose(&seed, 1) };
		at[1].position = v3d_mad(at[0].position, test_random_double(&seed, 0.3, 1) / v3d_length(at[1].position), at[1].position);
		manifold_view view;
		meet(context, true, meshes[0], at[0], meshes[1], at[1], &view);
		for (int i = 0; i < view.count; i++) {
			const carom_contact *c = &view.data[i];
			const bool of_a = c->kind == CAROM_VERTEX_A || c->kind == CAROM_EDGE_A;
			const int32_t feature = of_a ? c->feature_a : c->feature_b, other = of_a ? c->feature_b : c->feature_a;
			const carom_mesh *mesh = meshes[of_a ? 0 : 1], *beyond = meshes[of_a ? 1 : 0];
			const carom_pose pose = at[of_a ? 0 : 1];
			REQUIRE(feature >= 0 && other >= 0 && other < beyond->topology.triangle_count);
			const cr_topology *t = &mesh->topology;
			const bool edge = c->kind == CAROM_EDGE_A || c->kind == CAROM_EDGE_B;
			const int32_t from = edge ? t->triangles[feature] : feature;
			const int32_t to = edge ? t->triangles[feature / 3 * 3 + (feature + 1) % 3] : feature;
			const v3d p =
				v3d_add(carom_rotate(pose.orientation, v3d_from_floats(&t->vertices[3 * (int64_t)from])), pose.position);
			const v3d q = v3d_add(carom_rotate(pose.orientation, v3d_from_floats(&t->vertices[3 * (int64_t)to])), pose.position);
			const double sum = v3d_length(v3d_sub(fixture_point(c), p)) + v3d_length(v3d_sub(fixture_point(c), q));
			CHECK_NEAR(sum, v3d_length(v3d_sub(p, q)), 1e-5);
			edges += edge;
			vertices += !edge;
		}
	}
	CHECK(edges > 20 && vertices > 20);
	release(shapes);
	carom_destroy_context(context);
}

// A pile over several steps, turned and moved, on one thread and on four: the same contacts; and with what pairs remember as without.
TEST(hull_pairs, thread_counts_and_memory_change_nothing)
{
	uint64_t hashes[3] = { 0 };
	for (int run = 0; run < 3; run++) {
		carom_context *context = fixture_context(run == 1 ? 4 : 1);
		carom_mesh *shapes[SHAPES];
		make_shapes(context, shapes);
		carom_world_def def = carom_default_world_def();
		if (run == 2)
			def.temporal = CAROM_TEMPORAL_NONE;
		carom_world *world = fixture_world(context, &def);
		carom_body_id ids[64];
		carom_pose poses[64];
		uint64_t seed = 11;
		for (int i = 0; i < 64; i++) {
			poses[i] = fixture_random_pose(&seed, 2);
			ids[i] = fixture_add(world, fixture_of_mesh(shapes[i % SHAPES]), poses[i], CAROM_DYNAMIC);
		}
		for (int step = 0; step < 6; step++) {
			for (int i = 0; i < 64; i++) {
				poses[i].position.x += test_random_double(&seed, -0.01, 0.01);
				const carom_pose turn = { { 0, 0, 0 }, fixture_turn((v3d){ 1, 1, 0 }, 0.01) };
				poses[i].orientation = fixture_compose(turn, poses[i]).orientation;
			}
			carom_world_set_poses(world, 64, ids, poses);
			fixture_step(world);
			fixture_check_views(world);
			const carom_contact_view view = carom_world_contacts(world);
			CHECK(view.count > 30);
			for (int64_t k = 0; k < view.count; k++) {
				for (int x = 0; x < 3; x++)
					hashes[run] = hashes[run] * 31 + (uint64_t)(int64_t)(view.data[k].point[x] * 1e9);
				hashes[run] = hashes[run] * 31 + (uint64_t)(int64_t)(view.data[k].depth * 1e9f);
			}
		}
		carom_destroy_world(world);
		release(shapes);
		carom_destroy_context(context);
	}
	CHECK(hashes[0] == hashes[1]);
	CHECK(hashes[0] == hashes[2]);
}

static void fill_two(carom_world *world, void *user)
{
	const carom_mesh *const *cubes = user;
	fixture_add(world, fixture_of_mesh(cubes[0]), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	const carom_pose turned = { { 0.4, 0.3, 0.9 }, fixture_turn((v3d){ 1, 2, 3 }, 0.4) };
	fixture_add(world, fixture_of_mesh(cubes[1]), turned, CAROM_DYNAMIC);
}

TEST(hull_pairs, a_failure_of_each_allocation)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *cubes[2] = { manifold_cube(context, 1, 0.5), manifold_cube(context, 2, 0.5) };
	const carom_world_def def = carom_default_world_def();
	CHECK(fixture_fail_each_allocation(&heap, context, &def, fill_two, cubes, 1) > 3);
	carom_release_mesh(cubes[0]);
	carom_release_mesh(cubes[1]);
	carom_destroy_context(context);
}

// The heights are the same bits for every instruction set, and those of plain loops.
TEST(hull_pairs, heights_of_every_instruction_set)
{
	uint64_t seed = 3;
	cr_hull_side sides[2];
	for (int s = 0; s < 2; s++) {
		sides[s].corner_count = s == 0 ? 8 : 13;
		sides[s].plane_count = s == 0 ? 6 : 32;
		for (int i = 0; i < CR_FEW_CORNERS; i++) {
			for (int k = 0; k < 3; k++)
				sides[s].corner[k][i] = i < sides[s].corner_count ? test_random_double(&seed, -1, 1) : sides[s].corner[k][0];
			sides[s].normal[i] = carom_rotate(fixture_random_pose(&seed, 1).orientation, (carom_vec3){ 1, 0, 0 });
			sides[s].offset[i] = test_random_double(&seed, -1, 1);
		}
	}
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		if (!fixture_kernels(fixture_all_simd[i]))
			continue;
		for (int s = 0; s < 2; s++) {
			const cr_hull_side *c = &sides[s], *p = &sides[1 - s];
			cr_hull_heights h;
			cr_get_contact_kernels(fixture_all_simd[i])->hull_heights(c, p, &h);
			double most[CR_FEW_CORNERS];
			for (int k = 0; k < c->corner_count; k++)
				most[k] = -INFINITY;
			for (int f = 0; f < p->plane_count; f++) {
				double lowest = INFINITY;
				for (int k = 0; k < c->corner_count; k++) {
					const double at =
						v3d_dot(p->normal[f], (v3d){ c->corner[0][k], c->corner[1][k], c->corner[2][k] }) - p->offset[f];
					CHECK(h.height[f][k] == at);
					lowest = fmin(lowest, at);
					most[k] = fmax(most[k], at);
				}
				CHECK(h.lowest[f] == lowest);
			}
			CHECK(memcmp(h.most, most, (size_t)c->corner_count * sizeof *most) == 0);
		}
	}
}
