/// What rolls: over flush parts as over one floor, and with the impulses that it had.
#include "fixture.h"
#include "pool_fixture.h"
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
