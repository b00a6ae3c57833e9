// Points of volumes are named after the edges and corners that make them: a contact keeps its name, and so its impulse, while bodies
// tremble, slide and rock. Those of an edge of a mesh share a name; they keep their impulses by their places.
#include "manifold_fixture.h"
#include "tiles_fixture.h"
#include <math.h>

enum {
	BOX_ON_BOX,
	FLUSH_BOXES,
	HULL_ON_HULL,
	HULL_ON_BOX,
	WHEEL_ON_BOX,
	WHEEL_ON_WHEEL,
	WHEEL_ON_PLANE,
	HAT_ON_HULL,
	BOX_ON_PLANE,
	LOG_ON_BOX,
	PILL_ON_BOX,
	PILL_ON_PLANE,
	HULL_ON_MESH,
	WHEEL_ON_MESH,
	DUOS,
	// Triangles of the mesh share the corners that touch.
	MESH_ON_HULL = DUOS,
	FLUSH_HULL_ON_MESH,
	HULL_ON_FIELD,
	// Crates of 12, 48 and 192 triangles.
	CRATES_ON_MESH,
	CRATES_ON_CRATE = CRATES_ON_MESH + 3,
	CRATES_ON_FIELD = CRATES_ON_CRATE + 3,
	ALL_DUOS = CRATES_ON_FIELD + 3
};

static const double MATCH_DISTANCE = 0.02; // of a world by default

/// Two bodies: one stands on the other, 1 mm deep.
typedef struct duo {
	carom_context *context;
	carom_world *world;
	carom_mesh *meshes[2];
	carom_body_id upper;
	carom_pose stand; // of the upper one
	bool one_name;    // several contacts may have one
	v3d last[8];      // places of the last contacts on the upper body
	int last_count;
} duo;

static carom_shape hull_of(duo *d, double hx, double hy, double hz)
{
	float corners[24];
	tiles_corners(hx, hy, hz, corners);
	d->meshes[0] = fixture_hull_mesh(d->context, corners, 8);
	return fixture_hull(d->meshes[0]);
}

static int cells_of_crate(int kind) { return 1 << (kind - CRATES_ON_MESH) % 3; }

static carom_shape field_of(duo *d, double *z)
{
	static const float flat[25] = { 0 };
	static const double spacing[2] = { 0.3, 0.3 };
	*z = 0;
	REQUIRE(carom_create_height_field(d->context, 5, 5, flat, spacing, 1, &d->meshes[1]) == CAROM_SUCCESS);
	return fixture_of_mesh(d->meshes[1]);
}

static carom_shape floor_of_crates(duo *d, int kind, double *z)
{
	if (kind >= CRATES_ON_FIELD)
		return field_of(d, z);
	if (kind < CRATES_ON_CRATE) {
		d->meshes[1] = fixture_box_mesh(d->context, 1, 2, 0.5);
	} else {
		*z = -0.2;
		d->meshes[1] = manifold_cube(d->context, cells_of_crate(kind), 0.2);
	}
	return fixture_of_mesh(d->meshes[1]);
}

/// The lower one, whose upper side is z = 0, and where it lies.
static carom_shape floor_of(duo *d, int kind, double *z)
{
	float corners[24];
	*z = -0.5;
	if (kind >= CRATES_ON_MESH)
		return floor_of_crates(d, kind, z);
	switch (kind) {
	case WHEEL_ON_PLANE:
	case BOX_ON_PLANE:
	case PILL_ON_PLANE: *z = 0; return (carom_shape){ .type = CAROM_PLANE };
	case FLUSH_BOXES: return fixture_box(0.2, 0.3, 0.5);
	case WHEEL_ON_WHEEL: return fixture_cylinder(0.3, 0.5);
	case HULL_ON_HULL:
	case HAT_ON_HULL:
	case MESH_ON_HULL:
		tiles_corners(1, 2, 0.5, corners);
		d->meshes[1] = fixture_hull_mesh(d->context, corners, 8);
		return fixture_hull(d->meshes[1]);
	case FLUSH_HULL_ON_MESH: d->meshes[1] = fixture_box_mesh(d->context, 0.2, 0.3, 0.5); return fixture_of_mesh(d->meshes[1]);
	case HULL_ON_FIELD: return field_of(d, z);
	case HULL_ON_MESH:
	case WHEEL_ON_MESH: d->meshes[1] = fixture_box_mesh(d->context, 1, 2, 0.5); return fixture_of_mesh(d->meshes[1]);
	default: return fixture_box(1, 2, 0.5);
	}
}

/// The upper one, and the height of its middle.
static carom_shape body_of(duo *d, int kind, double *z)
{
	*z = 0.25;
	if (kind >= CRATES_ON_MESH) {
		*z = 0.2;
		d->meshes[0] = manifold_cube(d->context, cells_of_crate(kind), 0.2);
		return fixture_of_mesh(d->meshes[0]);
	}
	switch (kind) {
	case HULL_ON_HULL:
	case HULL_ON_BOX:
	case FLUSH_HULL_ON_MESH:
	case HULL_ON_MESH: return hull_of(d, 0.2, 0.3, 0.25);
	case HULL_ON_FIELD: return hull_of(d, 0.3, 0.3, 0.25);
	case MESH_ON_HULL: d->meshes[0] = fixture_box_mesh(d->context, 0.2, 0.3, 0.25); return fixture_of_mesh(d->meshes[0]);
	case WHEEL_ON_BOX:
	case WHEEL_ON_WHEEL:
	case WHEEL_ON_PLANE:
	case WHEEL_ON_MESH: return fixture_cylinder(0.2, 0.25);
	case HAT_ON_HULL: return fixture_cone(0.2, 0.25);
	case LOG_ON_BOX: *z = 0.2; return fixture_cylinder(0.2, 0.25);
	case PILL_ON_BOX:
	case PILL_ON_PLANE: *z = 0.2; return fixture_capsule(0.2, 0.25);
	default: return fixture_box(0.2, 0.3, 0.25);
	}
}

static void open_duo(duo *d, int kind)
{
	double low, high;
	*d = (duo){ .context = fixture_context(1), .one_name = kind >= CRATES_ON_MESH };
	d->world = fixture_world(d->context, NULL);
	const carom_shape ground = floor_of(d, kind, &low), body = body_of(d, kind, &high);
	const double corner = kind >= CRATES_ON_FIELD ? -0.55 : kind == HULL_ON_FIELD ? -0.6 : 0; // a field begins there
	fixture_add(d->world, ground, fixture_at(corner, corner, low), CAROM_STATIC);
	const bool flush = kind == FLUSH_BOXES || kind == FLUSH_HULL_ON_MESH || kind == HULL_ON_FIELD ||
		(kind >= CRATES_ON_CRATE && kind < CRATES_ON_FIELD);
	d->stand = fixture_at(flush ? 0 : 0.07, flush ? 0 : -0.04, high - 1e-3);
	if (kind == LOG_ON_BOX || kind == PILL_ON_BOX || kind == PILL_ON_PLANE)
		d->stand.orientation = fixture_turn((v3d){ 0, 1, 0 }, FIXTURE_PI / 2);
	d->upper = fixture_add(d->world, body, d->stand, CAROM_DYNAMIC);
}

static void close_duo(duo *d)
{
	carom_destroy_world(d->world);
	for (int i = 0; i < 2; i++) {
		if (d->meshes[i])
			carom_release_mesh(d->meshes[i]);
	}
	carom_destroy_context(d->context);
}

/// Contacts from the third step on, those that are new, how far an impulse has gone from its place on the upper body at most, and
/// how many have gone past a contact that lay nearer.
typedef struct kept {
	int all, fresh, jumps;
	double strayed;
} kept;

static double to_nearest(const duo *d, v3d place)
{
	double least = INFINITY;
	for (int i = 0; i < d->last_count; i++)
		least = fmin(least, v3d_length(v3d_sub(place, d->last[i])));
	return least;
}

/// Step at a pose. The impulse of a contact is its place on the upper body; the one that it has from the last step says where it was.
static void step_duo(duo *d, const carom_pose *pose, bool counts, kept *k)
{
	CHECK_INT(carom_world_set_pose(d->world, d->upper, pose), CAROM_SUCCESS);
	fixture_step(d->world);
	const carom_contact_view view = carom_world_contacts(d->world);
	REQUIRE(view.count <= 8);
	v3d places[8];
	for (int32_t i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		const v3d at = carom_inverse_transform_point(*pose, (v3d){ c->point[0], c->point[1], c->point[2] });
		const v3d was = { c->impulse[0], c->impulse[1], c->impulse[2] };
		if (counts) {
			k->all++;
			k->fresh += c->age == 0;
			const double strayed = c->age == 0 ? 0 : v3d_length(v3d_sub(at, was)), nearest = to_nearest(d, at);
			k->strayed = fmax(k->strayed, strayed);
			k->jumps += strayed > MATCH_DISTANCE && nearest < MATCH_DISTANCE;
		}
		places[i] = at;
		const float impulse[3] = { (float)at.x, (float)at.y, (float)at.z };
		REQUIRE(carom_world_set_impulse(d->world, i, impulse) == CAROM_SUCCESS);
		for (int32_t j = 0; j < i; j++) {
			CHECK(d->one_name || view.data[j].feature_a != c->feature_a || view.data[j].feature_b != c->feature_b);
			const double *p = view.data[j].point;
			CHECK(hypot(hypot(p[0] - c->point[0], p[1] - c->point[1]), p[2] - c->point[2]) > 1e-5);
		}
	}
	memcpy(d->last, places, sizeof places);
	d->last_count = view.count;
}

static carom_pose moved(carom_pose pose, v3d way, v3d turn)
{
	const double angle = v3d_length(turn);
	if (angle > 0)
		pose.orientation = quat_mul(fixture_turn(v3d_scale(turn, 1 / angle), angle), pose.orientation);
	pose.position = v3d_add(pose.position, way);
	return pose;
}

static v3d random_vector(uint64_t *seed, double most)
{
	return (v3d){ test_random_double(seed, -most, most), test_random_double(seed, -most, most),
		test_random_double(seed, -most, most) };
}

static kept tremble(int kind, double most)
{
	duo d;
	kept k = { 0 };
	uint64_t seed = 5;
	open_duo(&d, kind);
	for (int step = 0; step < 100; step++) {
		const v3d way = random_vector(&seed, most), turn = random_vector(&seed, most);
		const carom_pose pose = moved(d.stand, way, turn);
		step_duo(&d, &pose, step > 1, &k);
	}
	close_duo(&d);
	return k;
}

TEST(point_names, bodies_that_tremble_keep_their_contacts)
{
	for (int kind = 0; kind < DUOS; kind++) {
		for (int i = 0; i < 2; i++) {
			const double most = i ? 1e-5 : 1e-6;
			const kept k = tremble(kind, most);
			CHECK(k.all >= 2 * 98);
			CHECK_INT(k.fresh, 0);
			CHECK(k.strayed < 3 * most);
		}
	}
}

static kept rock(int kind)
{
	duo d;
	kept k = { 0 };
	open_duo(&d, kind);
	for (int step = 0; step < 200; step++) {
		const double phase = 0.1 * step;
		const carom_pose pose = moved(d.stand, (v3d){ 0, 0, 0 }, (v3d){ 0.01 * sin(phase), 0.01 * cos(1.3 * phase), 0 });
		step_duo(&d, &pose, step > 1, &k);
	}
	close_duo(&d);
	return k;
}

TEST(point_names, impulses_stay_where_they_were_while_bodies_rock)
{
	for (int kind = 0; kind < DUOS; kind++) {
		const kept k = rock(kind);
		CHECK(k.all > 200);
		CHECK(k.fresh < k.all / 7); // they leave the ground and come back, and of a rim others are kept
		CHECK(k.strayed < 1e-3);
	}
}

static kept slide(int kind)
{
	duo d;
	kept k = { 0 };
	open_duo(&d, kind);
	for (int step = 0; step < 10; step++) {
		const carom_pose pose = moved(d.stand, (v3d){ 0.05 * step, -0.05 * step, 0 }, (v3d){ 0, 0, 0.03 * step });
		step_duo(&d, &pose, step > 1, &k);
	}
	close_duo(&d);
	return k;
}

TEST(point_names, impulses_stay_where_they_were_while_bodies_slide)
{
	for (int kind = 0; kind < DUOS; kind++) {
		const kept k = slide(kind);
		CHECK(k.all >= 16);
		CHECK(k.fresh <= 7);
		// A point of a border moves along it.
		CHECK(k.strayed < (kind == FLUSH_BOXES || kind == WHEEL_ON_WHEEL ? 0.08 : 2e-8));
	}
}

TEST(point_names, corners_that_triangles_share_are_one_contact)
{
	for (int kind = DUOS; kind < CRATES_ON_MESH; kind++) {
		for (double most = 1e-7; most < 2e-5; most *= 10) {
			const kept k = tremble(kind, most);
			CHECK_INT(k.all, 4 * 98);
			CHECK_INT(k.fresh, 0);
			// A corner may count as on a border that it hangs over a little.
			CHECK(k.strayed < 3 * most + 4e-5);
		}
	}
}

// ---- Crates ----

/// Edges lie on each other.
static bool are_flush(int kind) { return kind >= CRATES_ON_CRATE && kind < CRATES_ON_FIELD; }

TEST(point_names, crates_that_tremble_keep_their_contacts)
{
	for (int kind = CRATES_ON_MESH; kind < ALL_DUOS; kind++) {
		for (double most = 1e-7; most < 2e-5; most *= 10) {
			const kept k = tremble(kind, most);
			CHECK(k.all >= 2 * 98);
			CHECK_INT(k.jumps, 0);
			CHECK_INT(k.fresh, 0);
			// A point of the upper crate may become one of the lower one, 1 mm above.
			CHECK(k.strayed < 3 * most + (are_flush(kind) ? 1e-3 : 0));
		}
	}
}

/// Of a crate that is tilted the ends of edges in the ground move along them.
TEST(point_names, impulses_do_not_change_places_while_crates_rock)
{
	for (int kind = CRATES_ON_MESH; kind < ALL_DUOS; kind++) {
		const kept k = rock(kind);
		CHECK(k.all > 200);
		CHECK(k.fresh < k.all / 8);
		CHECK(k.jumps <= (are_flush(kind) ? 0 : 2));
		CHECK(k.strayed < 0.07);
	}
}

TEST(point_names, impulses_do_not_change_places_while_crates_slide)
{
	for (int kind = CRATES_ON_MESH; kind < ALL_DUOS; kind++) {
		const kept k = slide(kind);
		CHECK(k.all >= 16);
		CHECK(k.fresh <= 7);
		CHECK(k.jumps <= 1);
		// Ends of edges on the lines of a field, and on borders, move along them.
		CHECK(k.strayed < (kind >= CRATES_ON_FIELD ? 0.25 : are_flush(kind) ? 0.08 : 2e-8));
	}
}
