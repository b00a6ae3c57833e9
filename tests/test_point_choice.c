// Of the many points of a round foot a few are kept: always those, while the foot trembles, whatever it stands on. The ground is wide,
// and one edge between its triangles runs below the middle of the foot, and below corners of it.
#include "fixture.h"
#include "tiles_fixture.h"
#include <math.h>

enum { PRISM_12, PRISM_24, PRISM_40, WHEEL, HAT, FEET };
enum { ON_BOX, ON_HULL, ON_CLOSED_MESH, ON_TWO_TRIANGLES, ON_MANY_TRIANGLES, GROUNDS };

static const double WIDE = 10; // half the width of the ground

typedef struct stand {
	carom_context *context;
	carom_world *world;
	carom_mesh *meshes[2];
	carom_body_id foot;
} stand;

static carom_shape prism_of(stand *s, int sides)
{
	float points[240];
	for (int i = 0; i < 2 * sides; i++) {
		const double angle = 2 * FIXTURE_PI * (i / 2) / sides;
		points[3 * i] = (float)(0.5 * cos(angle));
		points[3 * i + 1] = (float)(0.5 * sin(angle));
		points[3 * i + 2] = i % 2 ? 0.5F : -0.5F;
	}
	s->meshes[0] = fixture_hull_mesh(s->context, points, 2 * sides);
	return fixture_hull(s->meshes[0]);
}

static carom_shape foot_of(stand *s, int foot)
{
	static const int sides[] = { 12, 24, 40 };
	return foot < WHEEL ? prism_of(s, sides[foot]) : foot == WHEEL ? fixture_cylinder(0.5, 0.5) : fixture_cone(0.5, 0.5);
}

/// Its upper side is z = 0, and its middle lies at *z.
static carom_shape ground_of(stand *s, int ground, double *z)
{
	static const float flat[1600] = { 0 };
	const int rows = ground == ON_TWO_TRIANGLES ? 2 : 40;
	const double spacing[2] = { 2 * WIDE / (rows - 1), 2 * WIDE / (rows - 1) };
	float corners[24];
	*z = -1;
	switch (ground) {
	case ON_BOX: return fixture_box(WIDE, WIDE, 1);
	case ON_HULL:
		tiles_corners(WIDE, WIDE, 1, corners);
		s->meshes[1] = fixture_hull_mesh(s->context, corners, 8);
		return fixture_hull(s->meshes[1]);
	case ON_CLOSED_MESH: s->meshes[1] = fixture_box_mesh(s->context, WIDE, WIDE, 1); break;
	default:
		*z = 0;
		REQUIRE(carom_create_height_field(s->context, rows, rows, flat, spacing, 1, &s->meshes[1]) == CAROM_SUCCESS);
	}
	return fixture_of_mesh(s->meshes[1]);
}

static void open_stand(stand *s, int foot, int ground)
{
	*s = (stand){ .context = fixture_context(1) };
	s->world = fixture_world(s->context, NULL);
	double z;
	const carom_shape below = ground_of(s, ground, &z), above = foot_of(s, foot);
	const double corner = ground >= ON_TWO_TRIANGLES ? -WIDE : 0;
	fixture_add(s->world, below, fixture_at(corner, corner, z), CAROM_STATIC);
	s->foot = fixture_add(s->world, above, fixture_at(0, 0, 0.499), CAROM_DYNAMIC);
}

static void close_stand(stand *s)
{
	carom_destroy_world(s->world);
	for (int i = 0; i < 2; i++) {
		if (s->meshes[i])
			carom_release_mesh(s->meshes[i]);
	}
	carom_destroy_context(s->context);
}

static v3d random_vector(uint64_t *seed, double most)
{
	return (v3d){ test_random_double(seed, -most, most), test_random_double(seed, -most, most),
		test_random_double(seed, -most, most) };
}

/// A foot that trembles, each component by at most so much: how many contacts are new, of how many, and how much deeper is one than
/// the foot stands at most?
typedef struct kept {
	int all, fresh;
	double deeper;
} kept;

static void step_stand(const stand *s, uint64_t *seed, double most, bool counts, kept *k)
{
	const v3d way = random_vector(seed, most), turn = random_vector(seed, most);
	const double angle = v3d_length(turn);
	carom_pose pose = fixture_at(way.x, way.y, 0.499 + way.z);
	pose.orientation = fixture_turn(v3d_scale(turn, 1 / angle), angle);
	REQUIRE(carom_world_set_pose(s->world, s->foot, &pose) == CAROM_SUCCESS);
	fixture_step(s->world);
	const carom_contact_view view = carom_world_contacts(s->world);
	CHECK_INT(view.count, 8);
	for (int32_t i = 0; i < view.count && counts; i++) {
		k->all++;
		k->fresh += view.data[i].age == 0;
		k->deeper = fmax(k->deeper, (double)view.data[i].depth - 0.001);
	}
}

static kept tremble(int foot, int ground, double most)
{
	stand s;
	kept k = { 0 };
	uint64_t seed = 5;
	open_stand(&s, foot, ground);
	for (int step = 0; step < 100; step++)
		step_stand(&s, &seed, most, step > 0, &k);
	close_stand(&s);
	return k;
}

TEST(point_choice, a_round_foot_that_trembles_keeps_its_contacts)
{
	for (int foot = 0; foot < FEET; foot++) {
		for (int ground = 0; ground < GROUNDS; ground++) {
			for (double most = 1e-6; most < 2e-4; most *= 10) {
				const kept k = tremble(foot, ground, most);
				CHECK_INT(k.all, 8 * 99);
				CHECK_INT(k.fresh, 0);
			}
		}
	}
}

// A depth that comes from a corner of the ground, 14 m away, would throw the foot up, and so on for ever.
TEST(point_choice, a_foot_is_as_deep_as_its_lowest_point)
{
	for (int foot = 0; foot < FEET; foot++) {
		for (int ground = 0; ground < GROUNDS; ground++) {
			for (double most = 1e-7; most < 2e-4; most *= 10) {
				const kept k = tremble(foot, ground, most);
				CHECK(k.deeper > 0);
				CHECK(k.deeper < 2 * most + 1e-9);
			}
		}
	}
}
