/// A capsule that lies on surfaces of every kind, level and at small tilts, with either end beyond a border: each end of the stretch
/// that lies over the surface is a contact, and the greatest depth is that of the distance query.
#include "fixture.h"
#include "math/vec.h"
#include <math.h>
#include <stdio.h>

static const double HALF_X = 0.5, HALF_Y = 0.4, RADIUS = 0.2, HALF_LENGTH = 0.3;

typedef enum surface { ON_BOX, ON_HULL, ON_CLOSED, ON_OPEN, ON_FIELD, ON_PLANE, SURFACES } surface;
static const char *const names[SURFACES] = { "box", "hull", "closed mesh", "open mesh", "height field", "plane" };

/// A capsule over a surface whose top is z = 0, and that surface.
typedef struct stand {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh;
	carom_body_id capsule;
	carom_shape table; // a box, for the distance query
	bool borders;
	double ahead;
} stand;

static carom_shape make_surface(carom_context *context, surface kind, carom_mesh **mesh, carom_pose *pose)
{
	const float hx = (float)HALF_X, hy = (float)HALF_Y;
	float corners[24];
	for (int i = 0; i < 24; i++)
		corners[i] = (i / 3 >> i % 3 & 1 ? 1 : -1) * (i % 3 == 0 ? hx : i % 3 == 1 ? hy : 0.3f);
	*pose = fixture_at(0, 0, kind <= ON_CLOSED ? -0.3 : 0);
	if (kind == ON_BOX)
		return fixture_box(HALF_X, HALF_Y, 0.3);
	if (kind == ON_PLANE)
		return (carom_shape){ .type = CAROM_PLANE };
	if (kind == ON_HULL) {
		*mesh = fixture_hull_mesh(context, corners, 8);
		return fixture_hull(*mesh);
	}
	if (kind == ON_CLOSED)
		*mesh = fixture_box_mesh(context, hx, hy, 0.3f);
	if (kind == ON_OPEN) {
		fixture_soup quad = { .vertex_count = 4, .triangle_count = 2 };
		const float flat[12] = { -hx, -hy, 0, hx, -hy, 0, hx, hy, 0, -hx, hy, 0 };
		const int32_t both[6] = { 0, 1, 2, 0, 2, 3 };
		for (int i = 0; i < 12; i++)
			quad.vertices[i] = flat[i];
		for (int i = 0; i < 6; i++)
			quad.triangles[i] = both[i];
		*mesh = fixture_mesh(context, &quad);
	}
	if (kind == ON_FIELD) {
		const float heights[81] = { 0 };
		const double spacing[2] = { HALF_X / 4, HALF_Y / 4 };
		REQUIRE(carom_create_height_field(context, 9, 9, heights, spacing, 0.5, mesh) == CAROM_SUCCESS);
		*pose = fixture_at(-HALF_X, -HALF_Y, 0);
	}
	return fixture_of_mesh(*mesh);
}

static void open_stand(stand *s, surface kind, bool capsule_first, double ahead)
{
	*s = (stand){ .context = fixture_context(1), .table = fixture_box(HALF_X, HALF_Y, 0.3), .ahead = ahead };
	s->borders = kind != ON_PLANE;
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	def.speculative_distance = ahead;
	s->world = fixture_world(s->context, &def);
	carom_pose pose;
	const carom_shape shape = make_surface(s->context, kind, &s->mesh, &pose);
	if (!capsule_first)
		fixture_add(s->world, shape, pose, CAROM_STATIC);
	s->capsule = fixture_add(s->world, fixture_capsule(RADIUS, HALF_LENGTH), fixture_at(0, 0, 5), CAROM_DYNAMIC);
	if (capsule_first)
		fixture_add(s->world, shape, pose, CAROM_STATIC);
}

static void close_stand(stand *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->mesh);
	carom_destroy_context(s->context);
}

/// A pose, and where the axis enters and leaves the space over the surface, by its length from its middle.
typedef struct lying {
	carom_pose pose;
	v3d middle;
	v3d axis; // unit
	double from;
	double to;
} lying;

static lying lie(const stand *s, uint64_t *seed, double tilt)
{
	const double yaw = test_random_double(seed, 0, 2 * 3.14159265358979), x = test_random_double(seed, -1, 1);
	const double y = test_random_double(seed, -1, 1), deep = test_random_double(seed, 0.0005, 0.01);
	lying l = { .axis = { cos(yaw) * cos(tilt), sin(yaw) * cos(tilt), sin(tilt) }, .from = -HALF_LENGTH, .to = HALF_LENGTH };
	l.middle = (v3d){ 0.8 * x, 0.7 * y, RADIUS - deep };
	const v3d turn = v3d_normalize((v3d){ l.axis.x, l.axis.y, l.axis.z + 1 }); // half way from z to the axis
	l.pose = fixture_at(l.middle.x, l.middle.y, l.middle.z);
	l.pose.orientation = (carom_quat){ turn.x, turn.y, turn.z, 0 };
	for (int k = 0; k < 2 && s->borders; k++) {
		const double half = k == 0 ? HALF_X : HALF_Y, slope = v3d_get(l.axis, k), at = v3d_get(l.middle, k);
		l.from = fmax(l.from, ((slope > 0 ? -half : half) - at) / slope);
		l.to = fmin(l.to, ((slope > 0 ? half : -half) - at) / slope);
	}
	return l;
}

static v3d out_of_table(const stand *s, const carom_contact *c)
{
	return fixture_same_id(c->body_a, s->capsule) ? fixture_normal(c) : v3d_neg(fixture_normal(c));
}

/// How far along the axis a contact lies from the middle.
static double along(const stand *s, const lying *l, const carom_contact *c)
{
	const double above = fixture_same_id(c->body_a, s->capsule) ? RADIUS : RADIUS - (double)c->depth;
	return v3d_dot(l->axis, v3d_sub(v3d_mad(fixture_point(c), above, out_of_table(s, c)), l->middle));
}

/// Is there a contact at a place of the axis, or farther towards an end, at least as deep as the axis is low there? Where the tilted
/// capsule is deeper at the border than right above it, the contact is that place.
static bool is_held(const stand *s, const lying *l, carom_contact_view c, double at, int side, double depth)
{
	for (int32_t i = 0; i < c.count; i++) {
		if (side * (along(s, l, &c.data[i]) - at) > -1e-3 && c.data[i].depth > depth - 2e-6 - 2e-3 * fabs(l->axis.z))
			return true;
	}
	return false;
}

static double greatest_depth(carom_contact_view c)
{
	double most = -1;
	for (int32_t i = 0; i < c.count; i++)
		most = fmax(most, (double)c.data[i].depth);
	return most;
}

static bool check_ends(const stand *s, const lying *l, carom_contact_view c)
{
	const double at[2] = { l->from, l->to };
	bool held = true;
	for (int end = 0; end < 2 && l->to - l->from > 2e-3; end++) {
		const double depth = RADIUS - l->middle.z - at[end] * l->axis.z;
		if (depth > -0.95 * s->ahead + 1e-5)
			held = held && is_held(s, l, c, at[end], end ? 1 : -1, depth);
	}
	return CHECK(held);
}

/// The depth of the pair, by the distance query.
static double true_depth(const stand *s, const lying *l)
{
	if (!s->borders)
		return RADIUS - l->middle.z + HALF_LENGTH * fabs(l->axis.z);
	const carom_shape capsule = fixture_capsule(RADIUS, HALF_LENGTH);
	const carom_pose table = fixture_at(0, 0, -0.3);
	carom_separation g;
	REQUIRE(carom_distance(s->context, &capsule, &l->pose, &s->table, &table, &g) == CAROM_SUCCESS);
	return -g.distance;
}

static bool check_pose(const stand *s, const lying *l)
{
	REQUIRE(carom_world_set_pose(s->world, s->capsule, &l->pose) == CAROM_SUCCESS);
	fixture_step(s->world);
	const carom_contact_view c = carom_world_contacts(s->world);
	const double depth = true_depth(s, l), found = greatest_depth(c);
	bool good = true;
	if (depth > -s->ahead + 1e-5)
		good = CHECK_NEAR(found, depth, 1e-5);
	// Where a tilted capsule leaves the table at a narrow angle, it touches the border from the side.
	for (int32_t i = 0; i < c.count && l->to - l->from > 2e-3 && fabs(l->axis.z) < 0.02; i++)
		good = CHECK(out_of_table(s, &c.data[i]).z > 0.99) && good;
	return check_ends(s, l, c) && good;
}

static void check_surface(surface kind, bool capsule_first, double ahead)
{
	static const double tilts[] = { 0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.09 };
	stand s;
	open_stand(&s, kind, capsule_first, ahead);
	int bad = 0, poses = 0;
	for (size_t t = 0; t < sizeof tilts / sizeof *tilts; t++) {
		uint64_t seed = 4711;
		for (int i = 0; i < 500 / TEST_STRIDE; i++) {
			const lying l = lie(&s, &seed, i % 2 ? tilts[t] : -tilts[t]);
			const bool good = check_pose(&s, &l);
			poses++;
			if (!good && bad++ < 3)
				printf("tilt %g: middle %.17g %.17g %.17g axis %.17g %.17g %.17g\n", tilts[t], l.middle.x, l.middle.y,
					l.middle.z, l.axis.x, l.axis.y, l.axis.z);
		}
	}
	if (!CHECK_INT(bad, 0))
		printf("on a %s, %g ahead: %d of %d poses\n", names[kind], ahead, bad, poses);
	close_stand(&s);
}

static void check_all(surface kind)
{
	for (int i = 0; i < 4; i++)
		check_surface(kind, i & 1, i & 2 ? 0.01 : 0);
}

TEST(lying_capsule, on_a_closed_mesh) { check_all(ON_CLOSED); }
TEST(lying_capsule, on_an_open_mesh) { check_all(ON_OPEN); }
TEST(lying_capsule, on_a_height_field) { check_all(ON_FIELD); }
TEST(lying_capsule, on_a_plane) { check_all(ON_PLANE); }
TEST(lying_capsule, on_a_box) { check_all(ON_BOX); }
TEST(lying_capsule, on_a_hull) { check_all(ON_HULL); }
