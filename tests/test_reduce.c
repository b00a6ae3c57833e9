/// Reduction: what is kept is part of what was found, holds the deepest, and keeps the extent of the patch.
#include "fixture.h"
#include <math.h>
#include <string.h>

/// The same two bodies in worlds that keep all, and n contacts.
typedef struct twin {
	carom_context *context;
	carom_world *all;
	carom_world *few;
	carom_body_id id[2];
} twin;

static void open_twin(twin *t, carom_context *context, int32_t keep, const carom_mesh *a, const carom_mesh *b)
{
	t->context = context;
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	t->all = fixture_world(context, &def);
	def.max_contacts_per_pair = keep;
	t->few = fixture_world(context, &def);
	carom_world *const worlds[2] = { t->all, t->few };
	for (int i = 0; i < 2; i++) {
		t->id[0] = fixture_add(worlds[i], fixture_of_mesh(a), fixture_at(0, 0, 0), CAROM_DYNAMIC);
		t->id[1] = fixture_add(worlds[i], fixture_of_mesh(b), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	}
}

static void step_twin(twin *t, carom_pose a, carom_pose b)
{
	carom_world *const worlds[2] = { t->all, t->few };
	const carom_pose poses[2] = { a, b };
	for (int i = 0; i < 2; i++) {
		REQUIRE(carom_world_set_poses(worlds[i], 2, t->id, poses) == CAROM_SUCCESS);
		fixture_step(worlds[i]);
		fixture_check_views(worlds[i]);
	}
}

static void close_twin(twin *t)
{
	carom_destroy_world(t->all);
	carom_destroy_world(t->few);
}

static double extent(carom_contact_view c)
{
	double most = 0;
	for (int32_t i = 0; i < c.count; i++) {
		for (int32_t k = i + 1; k < c.count; k++)
			most = fmax(most, v3d_length(v3d_sub(fixture_point(&c.data[i]), fixture_point(&c.data[k]))));
	}
	return most;
}

static float deepest(carom_contact_view c)
{
	float most = -INFINITY;
	for (int32_t i = 0; i < c.count; i++)
		most = fmaxf(most, c.data[i].depth);
	return most;
}

static bool is_same(const carom_contact *a, const carom_contact *b)
{
	return a->kind == b->kind && a->feature_a == b->feature_a && a->feature_b == b->feature_b && a->depth == b->depth &&
		memcmp(a->point, b->point, sizeof a->point) == 0 && memcmp(a->normal, b->normal, sizeof a->normal) == 0;
}

static void check_subset(const twin *t, int32_t keep)
{
	const carom_contact_view all = carom_world_contacts(t->all), few = carom_world_contacts(t->few);
	CHECK_INT(few.count, all.count < keep ? all.count : keep);
	CHECK_INT(carom_world_stats(t->few).contacts_found, all.count);
	if (all.count == 0)
		return;
	CHECK_INT(carom_world_pairs(t->few).data[0].found_count, all.count);
	CHECK_NEAR(deepest(few), deepest(all), 0);
	int32_t at = 0; // both are sorted: a subset in one pass
	for (int32_t i = 0; i < few.count; i++) {
		while (at < all.count && !is_same(&all.data[at], &few.data[i]))
			at++;
		CHECK(at++ < all.count);
	}
	// Points are chosen for their normals too: of few, the extent gets its share. (1,300 random patches: at least 0.53 and 0.32.)
	if (keep >= 4)
		CHECK(extent(few) >= (keep >= 8 ? 0.5 : 0.3) * extent(all));
}

TEST(reduce, keeps_a_subset_with_the_deepest_and_the_extent)
{
	static const int32_t keeps[] = { 1, 2, 4, 8, 256 };
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 20, 10, 0.4, 0.3), *ball = fixture_sphere_mesh(context, 0.7, 10);
	uint64_t seed = 4;
	int reduced = 0;
	for (int k = 0; k < 5; k++) {
		twin t;
		open_twin(&t, context, keeps[k], torus, ball);
		for (int i = 0; i < 40; i++) {
			const carom_pose a = fixture_random_pose(&seed, 0.8), b = fixture_random_pose(&seed, 0.8);
			step_twin(&t, a, b);
			check_subset(&t, keeps[k]);
			reduced += carom_world_contacts(t.all).count > keeps[k];
		}
		close_twin(&t);
	}
	CHECK(reduced > 100);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

/// A bridge that rests on both its ends: neither may lose its support, however few are kept.
TEST(reduce, two_patches_both_keep_a_point)
{
	static fixture_soup bridge;
	bridge.vertex_count = bridge.triangle_count = 0;
	fixture_soup_sphere(&bridge, (v3d){ -2, 0, 0 }, 0.5, 24);
	fixture_soup_sphere(&bridge, (v3d){ 2, 0, 0.02 }, 0.5, 24); // hardly deep
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_mesh(context, &bridge), *ground = fixture_box_mesh(context, 4, 4, 1);
	for (int32_t keep = 2; keep <= 8; keep *= 2) {
		twin t;
		open_twin(&t, context, keep, mesh, ground);
		step_twin(&t, fixture_at(0, 0, 1.45), fixture_at(0, 0, 0));
		CHECK(carom_world_contacts(t.all).count > 100);
		const carom_contact_view few = carom_world_contacts(t.few);
		int side[2] = { 0, 0 };
		for (int32_t i = 0; i < few.count; i++)
			side[few.data[i].point[0] > 0]++;
		CHECK(side[0] > 0 && side[1] > 0);
		check_subset(&t, keep);
		close_twin(&t);
	}
	carom_release_mesh(mesh);
	carom_release_mesh(ground);
	carom_destroy_context(context);
}

/// A flat face on the ground: four kept points are its corners, so that it cannot tip.
TEST(reduce, a_flat_face_keeps_its_corners)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 20, 2);
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 4;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, carom_pose_identity(), CAROM_STATIC);
	fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, -0.01), CAROM_DYNAMIC);
	fixture_step(world);
	const carom_contact_view c = carom_world_contacts(world);
	CHECK_INT(c.count, 4);
	for (int32_t i = 0; i < c.count; i++)
		CHECK(fabs(c.data[i].point[0]) > 0.99 && fabs(c.data[i].point[1]) > 0.99);
	CHECK_NEAR(extent(c), 2 * sqrt(2), 1e-6);
	CHECK_INT(carom_world_pairs(world).data[0].found_count, 441);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

TEST(reduce, determinism)
{
	uint64_t first = 0;
	for (int threads = TEST_LEAST_THREADS; threads <= 4 && threads <= TEST_MOST_THREADS; threads++) {
		carom_context *context = fixture_context(threads);
		carom_mesh *torus = fixture_torus_mesh(context, 20, 10, 0.4, 0.3);
		carom_world_def def = carom_default_world_def();
		def.max_contacts_per_pair = 4;
		carom_world *world = fixture_world(context, &def);
		uint64_t seed = 40;
		for (int i = 0; i < 80; i++)
			fixture_add(world, fixture_of_mesh(torus), fixture_random_pose(&seed, 2.5), CAROM_DYNAMIC);
		fixture_step(world);
		fixture_check_views(world);
		CHECK(carom_world_stats(world).contacts_found > 2 * carom_world_stats(world).contacts);
		const uint64_t hash = carom_world_hash(world);
		first = threads == TEST_LEAST_THREADS ? hash : first;
		CHECK(hash == first);
		carom_destroy_world(world);
		carom_release_mesh(torus);
		carom_destroy_context(context);
	}
}
