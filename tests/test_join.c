/// Contacts at one place that push alike become one: as a dull pass over all pairs tells, and in worlds.
#include "contact/contact.h"
#include "fixture.h"
#include <math.h>
#include <string.h>

enum { MOST = 400 };

static void add(cr_raw_contact *data, int64_t *count, v3d point, v3d normal, double depth, int32_t feature)
{
	data[(*count)++] = (cr_raw_contact){ { point.x, point.y, point.z }, { (float)normal.x, (float)normal.y, (float)normal.z },
		(float)depth, feature / 7, feature % 7, CAROM_VOLUMES };
}

static bool are_one(const cr_raw_contact *a, const cr_raw_contact *b, double distance)
{
	double points = 0, normals = 0;
	for (int k = 0; k < 3; k++) {
		points += (a->point[k] - b->point[k]) * (a->point[k] - b->point[k]);
		normals += ((double)a->normal[k] - b->normal[k]) * ((double)a->normal[k] - b->normal[k]);
	}
	return points <= distance * distance && normals <= 1e-6;
}

/// Of sorted contacts, each with each. Returns how many are left.
static int64_t join_dully(const cr_raw_contact *data, int64_t count, double distance, cr_raw_contact *left)
{
	static int64_t first[MOST];
	int64_t kept = 0;
	for (int64_t i = 0; i < count; i++) {
		int64_t at = 0;
		while (at < kept && !are_one(&data[first[at]], &data[i], distance))
			at++;
		if (at == kept) {
			first[kept] = i;
			left[kept++] = data[i];
		} else if (data[i].depth > left[at].depth) {
			left[at] = data[i];
			left[at].feature_a = data[first[at]].feature_a;
			left[at].feature_b = data[first[at]].feature_b;
		}
	}
	return kept;
}

/// Both ways. Returns how many are left.
static int64_t check(carom_context *context, const cr_raw_contact *data, int64_t count, double distance)
{
	cr_worker worker = { .contacts = { 0 } };
	cr_arena_init(&worker.arena, context);
	static cr_raw_contact quick[MOST], sorted[MOST], dull[MOST];
	memcpy(quick, data, (size_t)count * sizeof *data);
	memcpy(sorted, data, (size_t)count * sizeof *data);
	cr_raw_contacts list = { .data = quick, .count = count, .capacity = MOST };
	cr_raw_contacts all = { .data = sorted, .count = count, .capacity = MOST };
	cr_sort_contacts(&all);
	cr_join_contacts(&worker, &list, distance, false);
	CHECK(!worker.failed);
	const int64_t left = join_dully(sorted, count, distance, dull);
	CHECK_INT(list.count, left);
	CHECK(list.count == left && memcmp(quick, dull, (size_t)left * sizeof *dull) == 0);
	cr_arena_free(&worker.arena);
	return left;
}

static v3d around(uint64_t *seed, double most)
{
	return (v3d){ test_random_double(seed, -most, most), test_random_double(seed, -most, most),
		test_random_double(seed, -most, most) };
}

TEST(join, random_contacts_are_joined_as_one_by_one)
{
	carom_context *context = fixture_context(1);
	static cr_raw_contact data[MOST];
	uint64_t seed = 8;
	int64_t gone = 0;
	for (int round = 0; round < 2000; round++) {
		// On a lattice of places, each hit several times, and some just about the distance away.
		int64_t count = 0;
		const int many = 1 + (int)(test_random(&seed) % (round % 10 ? 40 : MOST)), sides = 1 + (int)(test_random(&seed) % 5);
		const double far = round % 3 ? 0 : 1e5, jitter = round % 2 ? 1e-9 : 0.7e-6;
		while (count < many) {
			const v3d cell = { (double)(test_random(&seed) % (unsigned)sides), (double)(test_random(&seed) % (unsigned)sides),
				(double)(test_random(&seed) % 2) };
			v3d n = { 0, 0, 1 };
			if (test_random(&seed) % 3 == 0)
				n = v3d_normalize(v3d_add(n, around(&seed, test_random(&seed) % 2 ? 8e-4 : 0.5)));
			add(data, &count, v3d_add(v3d_add(v3d_scale(cell, 0.1), (v3d){ far, -far, far }), around(&seed, jitter)), n,
				test_random_double(&seed, -0.01, 0.01), (int32_t)(test_random(&seed) % 60));
		}
		gone += count - check(context, data, count, 1e-6);
	}
	CHECK(gone > 10000);
	carom_destroy_context(context);
}

/// On a plane across the direction by which many contacts are sorted, at one place, and without a distance.
TEST(join, degenerate_sets)
{
	carom_context *context = fixture_context(1);
	static cr_raw_contact data[MOST];
	uint64_t seed = 9;
	for (int kind = 0; kind < 4; kind++) {
		int64_t count = 0;
		for (int i = 0; i < MOST; i++) {
			const double x = test_random_double(&seed, -1, 1), y = test_random_double(&seed, -1, 1);
			const v3d across = { x, y, -(0.53 * x + 0.62 * y) / 0.58 };
			const v3d place = kind == 0 ? across : kind == 1 ? (v3d){ 0, 0, 0 } : (v3d){ 1e-7 * i, 0, 0 };
			add(data, &count, place, (v3d){ 0, 0, 1 }, 0.001 * (i % 5), i * 31 % MOST);
		}
		const int64_t left = check(context, data, count, kind == 3 ? 0 : 1e-6);
		CHECK(kind == 1 ? left == 1 : kind == 3 || kind == 0 ? left == MOST : left < 80);
	}
	cr_raw_contact one;
	int64_t count = 0;
	CHECK_INT(check(context, data, 0, 1), 0);
	add(&one, &count, (v3d){ 0, 0, 0 }, (v3d){ 0, 0, 1 }, 1, 3);
	CHECK_INT(check(context, &one, 1, 1), 1);
	carom_destroy_context(context);
}

TEST(join, the_deepest_stays_with_the_name_of_the_first)
{
	carom_context *context = fixture_context(1);
	cr_worker worker = { .contacts = { 0 } };
	cr_arena_init(&worker.arena, context);
	cr_raw_contact data[4];
	int64_t count = 0;
	add(data, &count, (v3d){ 1, 2, 3 }, (v3d){ 0, 0, 1 }, 0.01, 9);
	add(data, &count, (v3d){ 1, 2, 3 + 1e-8 }, (v3d){ 0, 0, 1 }, 0.02, 12);
	add(data, &count, (v3d){ 1, 2, 3 }, (v3d){ 0, 0, 1 }, 0.015, 5);
	add(data, &count, (v3d){ 1, 2, 3 }, (v3d){ 0, 1, 0 }, 0.03, 1); // pushes another way
	cr_raw_contacts list = { .data = data, .count = count, .capacity = count };
	cr_join_contacts(&worker, &list, 1e-6, false);
	CHECK_INT(list.count, 2);
	CHECK_INT(data[0].feature_b, 1);
	CHECK_INT(data[1].feature_b, 5);
	CHECK(data[1].depth == 0.02f && data[1].point[2] == 3 + 1e-8);
	cr_arena_free(&worker.arena);
	carom_destroy_context(context);
}

/// A becomes B: the contact moves to the other surface.
static cr_raw_contact exchanged(const cr_raw_contact *c)
{
	cr_raw_contact other = *c;
	for (int k = 0; k < 3; k++) {
		other.point[k] += (double)c->depth * (double)c->normal[k];
		other.normal[k] = -c->normal[k];
	}
	other.feature_a = c->feature_b;
	other.feature_b = c->feature_a;
	return other;
}

/// By the places on one body, and the first by its features, whichever of the two is A.
TEST(join, contacts_that_are_one_do_not_depend_on_which_body_is_a)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 17;
	int joined = 0;
	for (int round = 0; round < 200; round++) {
		cr_worker worker = { .contacts = { 0 } };
		cr_raw_contact first[60], second[60];
		int64_t count = 0;
		cr_arena_init(&worker.arena, context);
		const int64_t most = round % 2 ? 60 : 12;
		while (count < most) {
			const v3d at = around(&seed, 0.5);
			const double depth = test_random_double(&seed, 0, 0.1);
			const v3d normal = count % 3 ? (v3d){ 0, 0, 1 } : (v3d){ 0, 0.6, 0.8 };
			add(first, &count, at, normal, (float)depth, (int32_t)(count * 7 % 13));
			first[count - 1].feature_a = (int32_t)(count * 5 % 11);
		}
		for (int64_t i = 0; i < count; i++)
			second[i] = exchanged(&first[i]);
		cr_raw_contacts lists[2] = { { .data = first, .count = count, .capacity = count },
			{ .data = second, .count = count, .capacity = count } };
		cr_join_contacts(&worker, &lists[0], 0.3, false);
		cr_join_contacts(&worker, &lists[1], 0.3, true);
		CHECK_INT(lists[0].count, lists[1].count);
		joined += lists[0].count < count;
		for (int64_t i = 0; i < lists[0].count; i++) {
			int64_t k = 0;
			while (k < lists[1].count &&
				(second[k].feature_a != first[i].feature_b || second[k].feature_b != first[i].feature_a ||
					second[k].depth != first[i].depth))
				k++;
			CHECK(k < lists[1].count);
		}
		cr_arena_free(&worker.arena);
	}
	CHECK(joined > 100);
	carom_destroy_context(context);
}

// ---- In worlds ----

/// Random convex bodies on meshes: no two contacts of a pair are at one place and push alike, and a pair that has contacts keeps
/// some.
TEST(join, no_two_contacts_of_a_pair_are_one)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = fixture_box_mesh(context, 0.5, 0.5, 0.5), *torus = fixture_torus_mesh(context, 20, 10, 0.4, 0.3);
	static const float corners[24] = { -0.5f, -0.5f, -0.5f, 0.5f, -0.5f, -0.5f, -0.5f, 0.5f, -0.5f, 0.5f, 0.5f, -0.5f, -0.5f,
		-0.5f, 0.5f, 0.5f, -0.5f, 0.5f, -0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f };
	carom_mesh *hull = fixture_hull_mesh(context, corners, 8);
	const carom_shape convex[3] = { fixture_hull(hull), fixture_cylinder(0.5, 0.5), fixture_cone(0.5, 0.5) };
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	uint64_t seed = 3;
	int found = 0;
	for (int i = 0; i < 600; i++) {
		carom_world *world = fixture_world(context, &def);
		// In line, on a corner, or anyhow.
		const carom_pose flush = fixture_at(0.5 * (double)(i % 3), 0.5 * (double)(i / 3 % 3), 0.999);
		fixture_add(world, fixture_of_mesh(i % 5 ? cube : torus), carom_pose_identity(), CAROM_STATIC);
		fixture_add(world, convex[i % 3], i % 2 ? flush : fixture_random_pose(&seed, 0.9), CAROM_DYNAMIC);
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		CHECK(carom_world_pairs(world).count == 0 || view.count > 0);
		found += view.count;
		for (int32_t a = 0; a < view.count; a++) {
			for (int32_t b = 0; b < a; b++) {
				const carom_contact *p = &view.data[a], *q = &view.data[b];
				double points = 0, normals = 0;
				for (int k = 0; k < 3; k++) {
					points += (p->point[k] - q->point[k]) * (p->point[k] - q->point[k]);
					normals += ((double)p->normal[k] - q->normal[k]) * ((double)p->normal[k] - q->normal[k]);
				}
				CHECK(points > 1e-14 || normals > 1e-6);
			}
		}
		carom_destroy_world(world);
	}
	CHECK(found > 1000);
	carom_release_mesh(cube);
	carom_release_mesh(torus);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}
