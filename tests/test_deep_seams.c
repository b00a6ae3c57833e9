/// Bodies that are deep in a body of flush parts: their contacts lead out of the whole of it, not into the next part. Oracles: where moving
/// by the deepest contact ends, and the least way out of a union of boxes.
#include "fixture.h"
#include "pool_fixture.h"
#include "tiles_fixture.h"

#include <math.h>

enum { SIDE = 6, MOST_PARTS = 3 * SIDE * SIDE, MOVES = 3 };

/// What is laid out of cubes of a metre, with the upper side of the floor at z = 0.
typedef enum layout { FLOOR, TWO_LAYERS, CORNER, WALLS, DOUBLES, LAYOUTS } layout;

static void add_cube(carom_part *parts, int *count, carom_shape cube, int x, int y, int z)
{
	parts[(*count)++] = (carom_part){ cube, fixture_at(x - 2.5, y - 2.5, z - 0.5), 0 };
}

/// Lay cubes: a floor; two of them; an L of walls behind two of its borders; walls at random; a floor some of whose parts are there twice.
static int lay(layout kind, carom_shape cube, uint64_t *seed, carom_part parts[MOST_PARTS])
{
	int count = 0;
	for (int i = 0; i < SIDE * SIDE; i++) {
		const int x = i % SIDE, y = i / SIDE;
		const bool again = test_random_double(seed, 0, 1) < 0.3;
		add_cube(parts, &count, cube, x, y, 0);
		if (kind == TWO_LAYERS || (kind == DOUBLES && again))
			add_cube(parts, &count, cube, x, y, kind == TWO_LAYERS ? -1 : 0);
		if ((kind == CORNER && (x == 0 || y == 0)) || (kind == WALLS && again))
			add_cube(parts, &count, cube, x, y, 1);
	}
	return count;
}

enum { SHAPES = 10 };

/// A small or larger volume, or a cube of 12 triangles. The mesh (NULL: none) is the caller's.
static carom_shape make_shape(carom_context *context, int kind, carom_mesh **mesh)
{
	float corners[24];
	*mesh = NULL;
	switch (kind) {
	case 0: return fixture_sphere(0.02);
	case 1: return fixture_box(0.05, 0.05, 0.05);
	case 2: return fixture_capsule(0.02, 0.1);
	case 3: return fixture_cylinder(0.04, 0.05);
	case 4: return fixture_cone(0.05, 0.06);
	case 5: return fixture_ellipsoid(0.03, 0.04, 0.05);
	case 6: return (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.04, 0.04, 0.04 }, .rounding = 0.01 };
	case 7: return fixture_sphere(0.3);
	case 8: return fixture_capsule(0.3, 0.3);
	default:
		tiles_corners(0.05, 0.04, 0.06, corners);
		*mesh = fixture_hull_mesh(context, corners, 8);
		return fixture_hull(*mesh);
	}
}

static carom_shape make_cube(carom_context *context, tile_kind kind, carom_mesh **mesh)
{
	float corners[24];
	*mesh = NULL;
	tiles_corners(0.5, 0.5, 0.5, corners);
	if (kind == TILE_BOX)
		return fixture_box(0.5, 0.5, 0.5);
	*mesh = kind == TILE_HULL ? fixture_hull_mesh(context, corners, 8) : fixture_box_mesh(context, 0.5, 0.5, 0.5);
	return kind == TILE_HULL ? fixture_hull(*mesh) : fixture_of_mesh(*mesh);
}

/// The deepest contact of a shape; depth 0: there is none.
static carom_contact deepest_contact(const carom_world *world, const carom_shape *shape, const carom_pose *pose)
{
	enum { MOST = 128 };
	carom_contact contacts[MOST], deepest = { .depth = 0 };
	int32_t count = 0;
	REQUIRE(carom_world_collide_shape(world, shape, pose, NULL, MOST, contacts, &count) == CAROM_SUCCESS);
	for (int i = 0; i < count && i < MOST; i++)
		deepest = contacts[i].depth > deepest.depth ? contacts[i] : deepest;
	return deepest;
}

/// Does a shape overlap the body, by more than a hair?
static bool overlaps(const carom_world *world, const carom_shape *shape, const carom_pose *pose)
{
	carom_closest_body nearest;
	bool found = false;
	REQUIRE(carom_world_closest_body(world, shape, pose, 1, NULL, &found, &nearest) == CAROM_SUCCESS);
	return found && nearest.distance < -1e-4;
}

/// Move by the deepest contact until there is none, or too often. Returns how many moves were made.
static int move_out(const carom_world *world, const carom_shape *shape, carom_pose *pose)
{
	int moves = 0;
	for (; moves <= MOVES; moves++) {
		const carom_contact c = deepest_contact(world, shape, pose);
		if (!((double)c.depth > 1e-5))
			break;
		pose->position.x += (double)c.normal[0] * ((double)c.depth + 1e-5);
		pose->position.y += (double)c.normal[1] * ((double)c.depth + 1e-5);
		pose->position.z += (double)c.normal[2] * ((double)c.depth + 1e-5);
	}
	return moves;
}

static carom_pose random_pose(uint64_t *seed, bool upright)
{
	carom_pose pose = fixture_random_pose(seed, 1);
	if (upright)
		pose.orientation = (carom_quat){ 0, 0, 0, 1 };
	pose.position.x = test_random_double(seed, -2.9, 2.9);
	pose.position.y = test_random_double(seed, -2.9, 2.9);
	pose.position.z = test_random_double(seed, -0.7, 0.05);
	return pose;
}

/// A long capsule that lies between two walls may have no way out within a few moves.
static bool may_be_jammed(layout laid, int shape) { return laid == WALLS && shape == 8; }

static void check_layout(carom_context *context, tile_kind kind, layout laid, uint64_t *seed)
{
	enum { ROUNDS = 60 };
	carom_part parts[MOST_PARTS];
	carom_mesh *mesh, *moving;
	const carom_shape cube = make_cube(context, kind, &mesh);
	carom_world *world = fixture_world(context, NULL);
	tiles_add(world, parts, lay(laid, cube, seed, parts), CAROM_STATIC);
	for (int k = 0; k < SHAPES; k++) {
		const carom_shape shape = make_shape(context, k, &moving);
		int stuck = 0;
		for (int i = 0; i < ROUNDS && !may_be_jammed(laid, k); i++) {
			carom_pose pose = random_pose(seed, i % 2);
			stuck += move_out(world, &shape, &pose) > MOVES || overlaps(world, &shape, &pose);
		}
		CHECK(stuck <= (kind == TILE_MESH ? ROUNDS / 30 : 0));
		carom_release_mesh(moving);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
}

TEST(deep_seams, moving_by_the_deepest_contact_leads_out)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 11;
	for (int kind = 0; kind < TILE_SHEET; kind++) {
		for (int laid = 0; laid < LAYOUTS; laid++)
			check_layout(context, (tile_kind)kind, (layout)laid, &seed);
	}
	carom_destroy_context(context);
}

/// How far a box of half extent r about a point has to go along an axis to leave all cubes.
static double leave_cubes(const carom_part *parts, int count, const double at[3], double r, int axis, double sign)
{
	double moved = 0;
	for (bool met = true; met;) {
		met = false;
		for (int i = 0; i < count; i++) {
			const carom_vec3 m = parts[i].pose.position;
			const double middle[3] = { m.x, m.y, m.z };
			double apart = -INFINITY;
			for (int k = 0; k < 3; k++)
				apart = fmax(apart, fabs(at[k] + (k == axis ? sign * moved : 0) - middle[k]) - 0.5 - r);
			if (apart >= -1e-9)
				continue;
			moved = sign * (middle[axis] - at[axis]) + 0.5 + r;
			met = true;
		}
	}
	return moved;
}

static double least_way(const carom_part *parts, int count, carom_vec3 p, double r)
{
	const double at[3] = { p.x, p.y, p.z };
	double least = INFINITY;
	for (int i = 0; i < 6; i++)
		least = fmin(least, leave_cubes(parts, count, at, r, i / 2, i % 2 ? -1 : 1));
	return least;
}

/// What is wholly within a block of cubes has the depth of the least way out of their union.
TEST(deep_seams, the_depth_is_the_least_way_out_of_the_union)
{
	enum { ROUNDS = 400 };
	const double r = 0.02;
	const carom_shape shapes[3] = { fixture_sphere(r), fixture_box(r, r, r), fixture_cylinder(r, r) };
	carom_context *context = fixture_context(1);
	uint64_t seed = 23;
	for (int laid = FLOOR; laid <= TWO_LAYERS; laid++) {
		carom_part parts[MOST_PARTS];
		const int count = lay((layout)laid, fixture_box(0.5, 0.5, 0.5), &seed, parts);
		carom_world *world = fixture_world(context, NULL);
		tiles_add(world, parts, count, CAROM_STATIC);
		for (int i = 0; i < ROUNDS; i++) {
			carom_pose pose = random_pose(&seed, true);
			pose.position.z = test_random_double(&seed, laid == FLOOR ? -0.95 : -1.95, -0.05);
			const carom_contact c = deepest_contact(world, &shapes[i % 3], &pose);
			CHECK_NEAR((double)c.depth, least_way(parts, count, pose.position, r), 1e-5);
		}
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

/// A capsule in a corner of walls, a little deep in a floor that is there twice: the floor leads up, not into a wall.
TEST(deep_seams, a_part_that_is_there_twice_leads_up)
{
	static const double places[7][3] = { { 0.5, 0.5, -0.5 }, { -0.5, 0.5, -0.5 }, { 0.5, -0.5, -0.5 }, { -0.5, -0.5, -0.5 },
		{ -0.5, 0.5, 0.5 }, { 0.5, -0.5, 0.5 }, { 0.5, 0.5, -0.5 } };
	carom_part parts[7];
	for (int i = 0; i < 7; i++)
		parts[i] = (carom_part){ fixture_box(0.5, 0.5, 0.5), fixture_at(places[i][0], places[i][1], places[i][2]), 0 };
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	tiles_add(world, parts, 7, CAROM_STATIC);
	const carom_shape capsule = fixture_capsule(0.3, 0.6);
	const carom_pose pose = fixture_at(-0.0001, 0.3001, 0.8693);
	carom_contact contacts[16];
	int32_t count, up = 0;
	REQUIRE(carom_world_collide_shape(world, &capsule, &pose, NULL, 16, contacts, &count) == CAROM_SUCCESS);
	for (int i = 0; i < count; i++) {
		CHECK(contacts[i].normal[2] > 0.99F || contacts[i].normal[0] > 0.99F);
		up += contacts[i].normal[2] > 0.99F;
		CHECK(contacts[i].normal[2] < 0.99F || fabs((double)contacts[i].depth - 0.0307) < 1e-5);
	}
	CHECK(up > 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A floor of cubes with bodies deep in it; with sensors, which have no contacts, among them.
static carom_world *make_deep_world(carom_context *context, int bodies)
{
	carom_part parts[MOST_PARTS];
	uint64_t seed = 7;
	carom_world *world = fixture_world(context, NULL);
	tiles_add(world, parts, lay(DOUBLES, fixture_box(0.5, 0.5, 0.5), &seed, parts), CAROM_STATIC);
	for (int i = 0; i < bodies; i++) {
		carom_mesh *none;
		carom_body_def def = carom_default_body_def();
		def.shape = make_shape(context, i % (SHAPES - 1), &none);
		def.pose = random_pose(&seed, false);
		def.sensor = i % 16 == 15;
		carom_body_id id;
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	}
	return world;
}

static uint64_t hash_of_deep(int threads)
{
	carom_context *context = fixture_context(threads);
	carom_world *world = make_deep_world(context, 400);
	fixture_step(world);
	fixture_check_views(world);
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	carom_destroy_context(context);
	return hash;
}

TEST(deep_seams, any_number_of_threads_gives_the_same)
{
	const uint64_t hash = hash_of_deep(1);
	pool_require_threads();
	CHECK(hash_of_deep(4) == hash);
}

/// Wherever memory runs out in a step, the next one has the contacts of a world in which it did not.
TEST(deep_seams, failing_allocations_lose_nothing)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	uint64_t hash = 0;
	int failed = 0;
	carom_result result = CAROM_OUT_OF_MEMORY;
	for (int fail = -1; result != CAROM_SUCCESS; fail++) {
		carom_world *world = make_deep_world(context, 12);
		heap.fail_at = fail < 0 ? -1 : heap.calls + fail;
		result = carom_world_step(world);
		heap.fail_at = -1;
		failed += result != CAROM_SUCCESS;
		if (fail >= 0)
			fixture_step(world);
		CHECK(fail < 0 || carom_world_hash(world) == hash);
		hash = fail < 0 ? carom_world_hash(world) : hash;
		result = fail < 0 ? CAROM_OUT_OF_MEMORY : result;
		carom_destroy_world(world);
	}
	CHECK(failed > 5);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
