/// Contacts of shapes that are near and do not touch: the distance that they tell, beside carom_distance, for every pair of kinds.
#include "fixture.h"

#include "carom/collide.h"

#include <math.h>

enum { KINDS = 12, MESHES = 8, FIELD = 10, PLANE = 11, MOST_CONTACTS = 64 };

typedef struct table {
	carom_context *context;
	carom_mesh *hull, *cube, *torus, *field;
	carom_shape kind[KINDS];
} table;

static void open_table(table *t)
{
	uint64_t seed = 3;
	float points[72], heights[441];
	t->context = fixture_context(1);
	for (int i = 0; i < 72; i++)
		points[i] = (float)test_random_double(&seed, -0.5, 0.5);
	for (int i = 0; i < 441; i++)
		heights[i] = (float)(0.3 * sin(i % 21) * cos(i / 21));
	t->hull = fixture_hull_mesh(t->context, points, 24);
	t->cube = fixture_box_mesh(t->context, 0.5, 0.5, 0.5);
	t->torus = fixture_torus_mesh(t->context, 24, 12, 0.15, 0);
	REQUIRE(carom_create_height_field(t->context, 21, 21, heights, (double[2]){ 0.25, 0.25 }, 1, &t->field) == CAROM_SUCCESS);
	const carom_shape kinds[KINDS] = { fixture_sphere(0.5), fixture_box(0.5, 0.4, 0.3), fixture_capsule(0.3, 0.4),
		fixture_hull(t->hull), fixture_cylinder(0.4, 0.4), fixture_cone(0.4, 0.5), fixture_ellipsoid(0.5, 0.4, 0.3),
		{ .type = CAROM_BOX, .half_extents = { 0.4, 0.3, 0.2 }, .rounding = 0.1 }, fixture_of_mesh(t->cube),
		fixture_of_mesh(t->torus), fixture_of_mesh(t->field), { .type = CAROM_PLANE } };
	for (int i = 0; i < KINDS; i++)
		t->kind[i] = kinds[i];
}

static void close_table(table *t)
{
	carom_release_mesh(t->hull);
	carom_release_mesh(t->cube);
	carom_release_mesh(t->torus);
	carom_release_mesh(t->field);
	carom_destroy_context(t->context);
}

/// Look at the contacts of two shapes that are apart.
static void check_near(table *t, int a, const carom_pose *pose_a, int b, const carom_pose *pose_b, const carom_separation *s)
{
	carom_contact contacts[MOST_CONTACTS];
	int32_t count = 0;
	REQUIRE(carom_collide(t->context, &t->kind[a], pose_a, &t->kind[b], pose_b, 0.05, MOST_CONTACTS, contacts, &count) ==
		CAROM_SUCCESS);
	if (!CHECK(count > 0 && count <= MOST_CONTACTS))
		return;
	double deepest = -INFINITY;
	for (int32_t i = 0; i < count; i++)
		deepest = fmax(deepest, (double)contacts[i].depth);
	// No farther than they are, and nearer by less than a tenth; depths are floats.
	CHECK(-deepest <= s->distance + s->error + 1e-6);
	CHECK(-deepest >= 0.9 * s->distance - 1e-6);
}

/// Random places at which the two are apart and within the margin.
static void check_pair(table *t, int a, int b, uint64_t *seed)
{
	// Distances of two meshes that overlap take milliseconds.
	const int most = 1 + (a >= MESHES ? 6 : 30) / TEST_FEWER;
	int near = 0;
	for (int tries = 0; tries < 4000 && near < most; tries++) {
		const carom_pose pose_a = fixture_random_pose(seed, 1.2);
		carom_pose pose_b = fixture_random_pose(seed, 0.2);
		if (b >= FIELD)
			pose_b = fixture_at(b == FIELD ? -2.5 : 0, b == FIELD ? -2.5 : 0, b == FIELD ? -0.2 : -0.8);
		carom_separation s;
		REQUIRE(carom_distance(t->context, &t->kind[a], &pose_a, &t->kind[b], &pose_b, &s) == CAROM_SUCCESS);
		if (!(s.distance > 1e-4 && s.distance < 0.045))
			continue;
		near++;
		check_near(t, a, &pose_a, b, &pose_b, &s);
	}
	CHECK(near > most / 2);
}

TEST(speculative, distances_of_every_pair_of_kinds)
{
	table t;
	uint64_t seed = 3;
	open_table(&t);
	for (int a = 0; a < FIELD; a++) {
		for (int b = a; b < KINDS; b++)
			check_pair(&t, a, b, &seed);
	}
	close_table(&t);
}

/// Bodies side by side, tilted by a hair, and so near that a corner beside the patch lies below the plane of the other's face.
TEST(speculative, bodies_that_all_but_lie_on_each_other)
{
	table t;
	uint64_t seed = 7;
	int near = 0;
	open_table(&t);
	for (int i = 0; i < 4000 / TEST_FEWER; i++) {
		const int a = (int)(test_random(&seed) % 8), b = 1 + (int)(test_random(&seed) % 7);
		const v3d axis = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 0.1 };
		const double tilt = test_random_double(&seed, 0, 2e-3), gap = pow(10, test_random_double(&seed, -5, -2));
		carom_pose pose_a = { { test_random_double(&seed, -0.4, 0.4), test_random_double(&seed, -0.4, 0.4), 2 },
			fixture_turn(axis, tilt) };
		carom_separation s;
		REQUIRE(carom_distance(t.context, &t.kind[a], &pose_a, &t.kind[b], NULL, &s) == CAROM_SUCCESS);
		for (int k = 0; k < 8 && s.distance > 1.01 * gap; k++) { // down to where the gap is about that
			pose_a.position.z -= s.distance - gap;
			REQUIRE(carom_distance(t.context, &t.kind[a], &pose_a, &t.kind[b], NULL, &s) == CAROM_SUCCESS);
		}
		if (!(s.distance > 0 && s.distance < 0.045))
			continue;
		near++;
		check_near(&t, a, &pose_a, b, NULL, &s);
	}
	CHECK(near > 2000 / TEST_FEWER);
	close_table(&t);
}

/// Bodies that overlap have contacts ahead too, where another part of them is near.
TEST(speculative, no_contact_is_farther_ahead_than_the_margin)
{
	table t;
	uint64_t seed = 11;
	int ahead = 0;
	open_table(&t);
	for (int i = 0; i < 6000 / TEST_FEWER; i++) {
		const int a = i % 3 == 0 ? (int)(test_random(&seed) % MESHES) : 2, b = MESHES + (int)(test_random(&seed) % 3);
		const carom_pose pose_a = fixture_random_pose(&seed, 0.8);
		carom_pose pose_b = fixture_random_pose(&seed, 0.2);
		if (b == FIELD)
			pose_b = fixture_at(-2.5, -2.5, -0.2);
		carom_contact contacts[MOST_CONTACTS];
		int32_t count = 0;
		REQUIRE(carom_collide(t.context, &t.kind[a], &pose_a, &t.kind[b], &pose_b, 0.05, MOST_CONTACTS, contacts, &count) ==
			CAROM_SUCCESS);
		for (int32_t k = 0; k < count && k < MOST_CONTACTS; k++) {
			ahead += (double)contacts[k].depth < 0;
			CHECK((double)contacts[k].depth >= -0.05 * (1 + 1e-6));
		}
	}
	CHECK(ahead > 500 / TEST_FEWER);
	close_table(&t);
}
