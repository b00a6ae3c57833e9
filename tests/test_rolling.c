/// What rolls: over flush parts as over one floor, and with the impulses that it had.
#include "fixture.h"
#include "pool_fixture.h"
#include "carom/snapshot.h"
#include "tiles_fixture.h"
#include "world/world.h"

#include <math.h>

enum { ROUNDS = 150 };

typedef enum roller { BALL, EGG, LOG, WHEEL, ROLLERS } roller;

static carom_shape roller_of(int kind)
{
	switch (kind) {
	case BALL: return fixture_sphere(0.15);
	case EGG: return fixture_ellipsoid(0.12, 0.15, 0.2);
	case LOG: return fixture_capsule(0.12, 0.2);
	default: return fixture_cylinder(0.15, 0.1);
	}
}

/// A random pose over the floor; logs and wheels lie.
static carom_pose random_pose(int kind, uint64_t *seed)
{
	carom_pose pose = fixture_random_pose(seed, 0.8);
	if (kind == LOG || kind == WHEEL)
		pose.orientation = fixture_turn((v3d){ cos(pose.position.x * 40), sin(pose.position.x * 40), 0 }, acos(-1) / 2);
	return pose;
}

/// A roller and a static body in a world.
typedef struct place {
	carom_world *world;
	carom_body_id body;
} place;

static place make_place(carom_context *context, const carom_part *parts, int32_t count, carom_shape body, double ahead)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = ahead;
	place p = { .world = fixture_world(context, &def) };
	tiles_add(p.world, parts, count, CAROM_STATIC);
	p.body = fixture_add(p.world, body, carom_pose_identity(), CAROM_DYNAMIC);
	return p;
}

static void put(place *p, const carom_pose *pose)
{
	REQUIRE(carom_world_set_pose(p->world, p->body, pose) == CAROM_SUCCESS);
	fixture_step(p->world);
}

/// How low a body lies at a pose.
static double lowest_of(place *p, const carom_pose *pose)
{
	carom_aabb box;
	REQUIRE(carom_world_set_pose(p->world, p->body, pose) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_aabb(p->world, p->body, &box) == CAROM_SUCCESS);
	return box.lower.z;
}

static bool has_point(carom_contact_view view, const carom_contact *c, double near)
{
	bool found = false;
	for (int i = 0; i < view.count; i++)
		found = found || v3d_length(v3d_sub(fixture_point(&view.data[i]), fixture_point(c))) < near;
	return found;
}

/// How far a point lies from the vertical plane of a roller's axis.
static double beside_axis(const carom_pose *pose, v3d point)
{
	const v3d axis = fixture_vector(carom_rotate(pose->orientation, (carom_vec3){ 0, 0, 1 }));
	const v3d off = v3d_sub(point, fixture_vector(pose->position));
	return fabs(axis.x * off.y - axis.y * off.x);
}

/// Contacts with a floor of tiles: those of one floor, each once. A log or a wheel that lies over a seam may have more, below its axis.
static void check_as_one(const place *tiles, const place *one, int kind, const carom_pose *pose)
{
	const carom_contact_view of_tiles = carom_world_contacts(tiles->world), of_one = carom_world_contacts(one->world);
	CHECK((of_tiles.count > 0) == (of_one.count > 0));
	for (int i = 0; i < of_one.count; i++)
		CHECK(has_point(of_tiles, &of_one.data[i], 2e-3));
	for (int i = 0; i < of_tiles.count; i++) {
		CHECK(fabs(fabs((double)of_tiles.data[i].normal[2]) - 1) < 1e-6);
		CHECK_NEAR(of_tiles.data[i].depth, of_one.data[0].depth, 1e-4);
		if (kind == LOG || kind == WHEEL)
			CHECK(beside_axis(pose, fixture_point(&of_tiles.data[i])) < 1e-4);
	}
	if (kind == BALL || kind == EGG)
		CHECK_INT(of_tiles.count, of_one.count);
}

static void check_roller(carom_context *context, tile_kind tile, int kind, double ahead)
{
	carom_part parts[TILES];
	carom_mesh *mesh;
	tiles_lay(tiles_make_tile(context, tile, &mesh), 0, parts);
	const carom_part floor = { fixture_box(3, 1.2, 0.1), fixture_at(0, 0, -0.1), 0 };
	place tiles = make_place(context, parts, TILES, roller_of(kind), ahead);
	place one = make_place(context, &floor, 1, roller_of(kind), ahead);
	uint64_t seed = 5;
	for (int i = 0; i < ROUNDS; i++) {
		carom_pose pose = random_pose(kind, &seed);
		if (i % 3 == 0)
			pose.position.x = 0.6 * (i % 7 - 3) + test_random_double(&seed, -0.003, 0.003);
		if (i % 5 == 0)
			pose.position.y = test_random_double(&seed, -0.003, 0.003);
		if (i % 30 == 0)
			pose.position.x = pose.position.y = 0;
		pose.position.z = 0;
		pose.position.z = -lowest_of(&one, &pose) + ahead / 2 - test_random_double(&seed, -ahead / 3, ahead / 2 + 0.001);
		put(&tiles, &pose);
		put(&one, &pose);
		check_as_one(&tiles, &one, kind, &pose);
	}
	carom_destroy_world(tiles.world);
	carom_destroy_world(one.world);
	carom_release_mesh(mesh);
}

TEST(rolling, over_flush_parts_as_over_one_floor)
{
	carom_context *context = fixture_context(1);
	for (int tile = 0; tile < TILE_KINDS; tile++) {
		for (int kind = 0; kind < ROLLERS; kind++) {
			check_roller(context, (tile_kind)tile, kind, 0);
			check_roller(context, (tile_kind)tile, kind, 0.02);
		}
	}
	carom_destroy_context(context);
}

// ---- Edges to hit ----

/// The contacts with the second of two parts, for a ball of radius 0.5 at a place. gap, up: how far the second one lies from the first.
static int count_of_second(carom_context *context, double gap, double up, v3d at, carom_contact *first)
{
	const carom_part parts[2] = { { fixture_box(0.5, 0.5, 0.5), fixture_at(-0.5, 0, -0.5), 0 },
		{ fixture_box(0.5, 0.5, 0.5), fixture_at(0.5 + gap, 0, up - 0.5), 0 } };
	place p = make_place(context, parts, 2, fixture_sphere(0.5), 0);
	const carom_pose pose = fixture_at(at.x, at.y, at.z);
	put(&p, &pose);
	const carom_contact_view view = carom_world_contacts(p.world);
	int count = 0;
	for (int i = 0; i < view.count; i++) {
		if (view.data[i].shape_a == 1 && count++ == 0)
			*first = view.data[i];
	}
	carom_destroy_world(p.world);
	return count;
}

TEST(rolling, edges_to_hit_stay)
{
	carom_context *context = fixture_context(1);
	carom_contact c = { 0 };
	// Flush, the ball stands on the first part alone.
	CHECK_INT(count_of_second(context, 0, 0, (v3d){ -0.02, 0, 0.499 }, &c), 0);
	// A step down, and one up by 0.05 mm, are no edges to hit.
	CHECK_INT(count_of_second(context, 0, -0.0005, (v3d){ -0.02, 0, 0.499 }, &c), 0);
	CHECK_INT(count_of_second(context, 0, 0.00005, (v3d){ -0.02, 0, 0.499 }, &c), 0);
	// Steps of 0.5 mm, 1 mm, 3 mm and 10 cm.
	CHECK_INT(count_of_second(context, 0, 0.0005, (v3d){ -0.01, 0, 0.4999 }, &c), 1);
	CHECK_INT(count_of_second(context, 0, 0.001, (v3d){ -0.02, 0, 0.4999 }, &c), 1);
	CHECK(c.depth > 0);
	CHECK_INT(count_of_second(context, 0, 0.003, (v3d){ -0.05, 0, 0.4999 }, &c), 1);
	CHECK_NEAR(fabs((double)c.normal[0]), 0.05 / 0.5, 0.003);
	CHECK_INT(count_of_second(context, 0, 0.1, (v3d){ -0.299, 0, 0.4999 }, &c), 1);
	CHECK_NEAR(fabs((double)c.normal[0]), 0.6, 0.01);
	// A gap of 4 cm, into which the ball sinks: both edges hold it.
	CHECK_INT(count_of_second(context, 0.04, 0, (v3d){ 0.02, 0, 0.499 }, &c), 1);
	CHECK_NEAR(fabs((double)c.normal[0]), 0.04, 1e-3);
	// The corner at the end of the second part, beside the seam: a ball that comes from outside hits it.
	CHECK_INT(count_of_second(context, 0, 0, (v3d){ 1.3, 0, 0.39 }, &c), 1);
	CHECK_NEAR(fabs((double)c.normal[0]), 0.6, 0.02);
	carom_destroy_context(context);
}

/// Two parts that meet in a ridge: the ball over it has one contact, straight down.
TEST(rolling, a_ridge_between_parts_holds_once)
{
	carom_context *context = fixture_context(1);
	const double turn = 0.2, sine = sin(turn), cosine = cos(turn);
	carom_part parts[2] = { { fixture_box(0.5, 0.5, 0.5), fixture_at(0, 0, 0), 0 },
		{ fixture_box(0.5, 0.5, 0.5), fixture_at(0, 0, 0), 0 } };
	for (int i = 0; i < 2; i++) {
		const double side = i == 0 ? -1 : 1;
		// The upper inner edge lies at the origin.
		parts[i].pose.position = (carom_vec3){ side * (0.5 * cosine - 0.5 * sine), 0, -0.5 * sine - 0.5 * cosine };
		parts[i].pose.orientation = fixture_turn((v3d){ 0, 1, 0 }, side * turn);
	}
	place p = make_place(context, parts, 2, fixture_sphere(0.3), 0.01);
	static const double offsets[] = { -0.05, -0.01, 0, 0.02, 0.05 };
	for (int i = 0; i < 5; i++) {
		const carom_pose pose = fixture_at(offsets[i], 0, 0.299);
		put(&p, &pose);
		const carom_contact_view view = carom_world_contacts(p.world);
		CHECK_INT(view.count, 1);
		CHECK_NEAR(-(double)view.data[0].normal[0], offsets[i] / hypot(offsets[i], 0.299), 1e-6);
	}
	carom_destroy_world(p.world);
	carom_destroy_context(context);
}

// ---- Impulses ----

typedef enum ground { ON_A_PLANE, ON_A_BOX, ON_A_MESH, ON_A_FIELD, ON_TILES, GROUNDS } ground;

enum { STEPS = 40 };

/// A flat field of 120 x 20 cells of 0.25 m, from the origin.
static carom_mesh *flat_field(carom_context *context)
{
	enum { COLUMNS = 121, ROWS = 21 };
	static float heights[COLUMNS * ROWS];
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_height_field(context, COLUMNS, ROWS, heights, (double[2]){ 0.25, 0.25 }, 1, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// A flat sheet of 300 x 10 cells of 0.1 m, about the origin.
static carom_mesh *flat_sheet(carom_context *context)
{
	enum { COLUMNS = 300, ROWS = 10, ROW = COLUMNS + 1 };
	static float at[ROW * (ROWS + 1)][3];
	static int32_t triangles[COLUMNS * ROWS][2][3];
	for (int i = 0; i < ROW * (ROWS + 1); i++) {
		at[i][0] = 0.1F * (float)(i % ROW) - 15;
		at[i][1] = 0.1F * (float)(i / ROW) - 0.5F;
	}
	for (int i = 0; i < COLUMNS * ROWS; i++) {
		const int32_t k = i / COLUMNS * ROW + i % COLUMNS,
					  corners[2][3] = { { k, k + 1, k + ROW + 1 }, { k, k + ROW + 1, k + ROW } };
		memcpy(triangles[i], corners, sizeof corners);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = at, .type = CAROM_FLOAT32 };
	def.vertex_count = ROW * (ROWS + 1);
	def.triangles = triangles[0][0];
	def.triangle_count = 2 * COLUMNS * ROWS;
	def.sides = CAROM_SIDES_FRONT;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// A flat ground, its surface z = 0, that reaches from x = -15 to 15.
static void add_ground(carom_world *world, carom_context *context, ground kind, carom_mesh **mesh)
{
	enum { COUNT = 60 };
	carom_part parts[COUNT];
	*mesh = NULL;
	switch (kind) {
	case ON_A_PLANE: fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0), CAROM_STATIC); break;
	case ON_A_BOX: fixture_add(world, fixture_box(15, 2, 1), fixture_at(0, 0, -1), CAROM_STATIC); break;
	case ON_A_MESH:
		*mesh = flat_sheet(context);
		fixture_add(world, fixture_of_mesh(*mesh), fixture_at(0, 0, 0), CAROM_STATIC);
		break;
	case ON_A_FIELD:
		*mesh = flat_field(context);
		fixture_add(world, fixture_of_mesh(*mesh), fixture_at(-15, -2.5, 0), CAROM_STATIC);
		break;
	default:
		for (int i = 0; i < COUNT; i++)
			parts[i] = (carom_part){ fixture_box(0.25, 2, 0.25), fixture_at(0.5 * i - 14.75, 0, -0.25), 0 };
		tiles_add(world, parts, COUNT, CAROM_STATIC);
	}
}

/// Where a roller is after a way, when it rolls: logs and wheels across the axis y.
static carom_pose rolled_pose(int kind, double way)
{
	static const double radii[] = { 0.15, 0.2, 0.12, 0.15 };
	const double radius = radii[kind];
	carom_pose pose = fixture_at(way - 7, 0.013, radius - 0.001);
	const carom_quat lies = fixture_turn((v3d){ 1, 0, 0 }, acos(-1) / 2), turns = fixture_turn((v3d){ 0, 1, 0 }, way / radius);
	const carom_pose a = { { 0, 0, 0 }, turns }, b = { { 0, 0, 0 }, lies };
	pose.orientation = fixture_compose(a, b).orientation;
	return pose;
}

/// Let all contacts of a world have an impulse.
static void set_impulses(carom_world *world, float impulse)
{
	const carom_contact_view view = carom_world_contacts(world);
	for (int i = 0; i < view.count; i++)
		REQUIRE(carom_world_set_impulse(world, i, (float[3]){ 0, 0, impulse }) == CAROM_SUCCESS);
}

/// How many contacts go on; those have the impulse.
static int count_old(const carom_world *world, float impulse)
{
	const carom_contact_view view = carom_world_contacts(world);
	int old = 0;
	for (int i = 0; i < view.count; i++) {
		old += view.data[i].age > 0;
		CHECK_NEAR(view.data[i].impulse[2], view.data[i].age > 0 ? impulse : 0, 0);
	}
	return old;
}

/// Let a body roll: in each step the one point of a ball, and the two ends of another body, go on. On grounds without triangles no other
/// contact begins.
static void check_roll(carom_context *context, ground on, int kind, double speed, bool body_first, double ahead)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = ahead;
	carom_world *world = fixture_world(context, &def);
	carom_mesh *mesh;
	carom_body_id body = { 0 };
	const carom_pose begin = rolled_pose(kind, 0);
	if (body_first)
		body = fixture_add(world, roller_of(kind), begin, CAROM_DYNAMIC);
	add_ground(world, context, on, &mesh);
	if (!body_first)
		body = fixture_add(world, roller_of(kind), begin, CAROM_DYNAMIC);
	const int points = kind == BALL ? 1 : 2;
	for (int step = 0; step < STEPS; step++) {
		const carom_pose pose = rolled_pose(kind, speed * step / 60);
		REQUIRE(carom_world_set_pose(world, body, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		const int count = carom_world_contacts(world).count, old = count_old(world, (float)step);
		CHECK(old >= (step > 0 ? points : 0));
		if (on != ON_A_MESH && on != ON_A_FIELD)
			CHECK(count == points);
		set_impulses(world, (float)step + 1);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
}

TEST(rolling, keeps_its_impulses)
{
	static const double speeds[] = { 0.3, 3, 7.3, 20 };
	carom_context *context = fixture_context(1);
	for (int on = 0; on < GROUNDS; on++) {
		for (int kind = 0; kind < ROLLERS; kind++) {
			if (kind == EGG)
				continue; // it does not roll so
			for (int i = 0; i < 8; i++)
				check_roll(context, (ground)on, kind, speeds[i / 2], i % 2, i % 3 ? 0 : 0.02);
		}
	}
	carom_destroy_context(context);
}

/// A ball on a sheet of small triangles that has made a step.
static place ball_on_sheet(carom_context *context, carom_mesh **mesh)
{
	place p = { .world = fixture_world(context, NULL) };
	add_ground(p.world, context, ON_A_MESH, mesh);
	p.body = fixture_add(p.world, fixture_sphere(0.15), fixture_at(0.03, 0.013, 0.149), CAROM_DYNAMIC);
	fixture_step(p.world);
	CHECK_INT(carom_world_contacts(p.world).count, 1);
	set_impulses(p.world, 7);
	return p;
}

TEST(rolling, what_is_put_elsewhere_has_new_contacts)
{
	carom_context *context = fixture_context(1);
	for (int way = 0; way < 4; way++) {
		carom_mesh *mesh;
		place p = ball_on_sheet(context, &mesh);
		// Half a metre as a motion, and as a jump; three metres; and a bounce.
		const carom_pose there = fixture_at(way == 2 ? 3.03 : 0.53, 0.013, 0.149), up = fixture_at(0.3, 0.013, 0.3);
		const carom_motion jump = { there, there };
		if (way == 3)
			put(&p, &up);
		if (way == 1)
			REQUIRE(carom_world_set_motions(p.world, 1, &p.body, &jump) == CAROM_SUCCESS);
		else
			REQUIRE(carom_world_set_pose(p.world, p.body, &there) == CAROM_SUCCESS);
		fixture_step(p.world);
		CHECK_INT(carom_world_contacts(p.world).count, 1);
		CHECK_INT(count_old(p.world, 7), way == 0);
		carom_destroy_world(p.world);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

/// A ball goes from the floor to the wall of one box-shaped part each: the wall has none of the floor's impulse.
TEST(rolling, a_wall_is_not_the_floor)
{
	carom_context *context = fixture_context(1);
	const carom_part parts[2] = { { fixture_box(2, 1, 0.5), fixture_at(0, 0, -0.5), 0 },
		{ fixture_box(0.5, 1, 2), fixture_at(2.5, 0, 0), 0 } };
	place p = make_place(context, parts, 2, fixture_sphere(0.2), 0);
	const carom_pose on_floor = fixture_at(1.7, 0, 0.199), at_wall = fixture_at(1.801, 0, 0.21);
	put(&p, &on_floor);
	CHECK_INT(carom_world_contacts(p.world).count, 1);
	set_impulses(p.world, 3);
	put(&p, &at_wall);
	CHECK_INT(carom_world_contacts(p.world).count, 1);
	CHECK_INT(count_old(p.world, 3), 0);
	carom_destroy_world(p.world);
	carom_destroy_context(context);
}

// ---- Many ----

enum { MANY = 60, MANY_STEPS = 12 };

/// Balls, logs and wheels that roll over tiles, a sheet of triangles beside them; impulses that tell contacts apart. The digest of the ages
/// and impulses. restored: the world is saved in the middle, goes on, and is put back.
static uint64_t roll_many(int threads, bool restored)
{
	carom_context *context = fixture_context(threads);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *mesh[2];
	carom_body_id body[MANY];
	add_ground(world, context, ON_TILES, &mesh[0]);
	add_ground(world, context, ON_A_MESH, &mesh[1]);
	static const int kinds[3] = { BALL, LOG, WHEEL };
	for (int i = 0; i < MANY; i++)
		body[i] = fixture_add(world, roller_of(kinds[i % 3]), rolled_pose(kinds[i % 3], 0.2 * i), CAROM_DYNAMIC);
	carom_snapshot *snapshot = NULL;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	uint64_t hash = 1;
	for (int step = 0, back = restored; step < MANY_STEPS; step++) {
		if (step == MANY_STEPS / 2 && back)
			REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
		for (int i = 0; i < MANY; i++) {
			const carom_pose pose = rolled_pose(kinds[i % 3], 0.2 * i + 0.017 * (i % 11) * step);
			REQUIRE(carom_world_set_pose(world, body[i], &pose) == CAROM_SUCCESS);
		}
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		for (int i = 0; i < view.count && step == MANY_STEPS - 1; i++)
			hash = (hash ^ (uint64_t)view.data[i].age ^ (uint64_t)(view.data[i].impulse[2] * 64)) * 0x100000001b3U;
		for (int i = 0; i < view.count; i++)
			REQUIRE(carom_world_set_impulse(world, i, (float[3]){ 0, 0, (float)(100 * step + i) }) == CAROM_SUCCESS);
		if (step == MANY_STEPS - 2 && back) {
			REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
			step = MANY_STEPS / 2 - 1;
			back = false;
		}
	}
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	carom_release_mesh(mesh[1]);
	carom_destroy_context(context);
	return hash;
}

TEST(rolling, any_number_of_threads_and_snapshots_give_the_same)
{
	const uint64_t one = roll_many(1, false);
	CHECK(one != 1);
	CHECK(roll_many(4, false) == one);
	CHECK(roll_many(1, true) == one);
}
