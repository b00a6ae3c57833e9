// Points of volumes are named after the edges and corners that make them: a contact keeps its name, and so its impulse, while bodies
// tremble, slide and rock.
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
	DUOS
};

/// Two bodies: one stands on the other, 1 mm deep.
typedef struct duo {
	carom_context *context;
	carom_world *world;
	carom_mesh *meshes[2];
	carom_body_id upper;
	carom_pose stand; // of the upper one
} duo;

static carom_shape hull_of(duo *d, double hx, double hy, double hz)
{
	float corners[24];
	tiles_corners(hx, hy, hz, corners);
	d->meshes[0] = fixture_hull_mesh(d->context, corners, 8);
	return fixture_hull(d->meshes[0]);
}

/// The lower one, whose upper side is z = 0, and where it lies.
static carom_shape floor_of(duo *d, int kind, double *z)
{
	float corners[24];
	*z = -0.5;
	switch (kind) {
	case WHEEL_ON_PLANE:
	case BOX_ON_PLANE:
	case PILL_ON_PLANE: *z = 0; return (carom_shape){ .type = CAROM_PLANE };
	case FLUSH_BOXES: return fixture_box(0.2, 0.3, 0.5);
	case WHEEL_ON_WHEEL: return fixture_cylinder(0.3, 0.5);
	case HULL_ON_HULL:
	case HAT_ON_HULL:
		tiles_corners(1, 2, 0.5, corners);
		d->meshes[1] = fixture_hull_mesh(d->context, corners, 8);
		return fixture_hull(d->meshes[1]);
	case HULL_ON_MESH:
	case WHEEL_ON_MESH: d->meshes[1] = fixture_box_mesh(d->context, 1, 2, 0.5); return fixture_of_mesh(d->meshes[1]);
	default: return fixture_box(1, 2, 0.5);
	}
}

/// The upper one, and the height of its middle.
static carom_shape body_of(duo *d, int kind, double *z)
{
	*z = 0.25;
	switch (kind) {
	case HULL_ON_HULL:
	case HULL_ON_BOX:
	case HULL_ON_MESH: return hull_of(d, 0.2, 0.3, 0.25);
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
	*d = (duo){ .context = fixture_context(1) };
	d->world = fixture_world(d->context, NULL);
	const carom_shape ground = floor_of(d, kind, &low), body = body_of(d, kind, &high);
	fixture_add(d->world, ground, fixture_at(0, 0, low), CAROM_STATIC);
	d->stand = fixture_at(kind == FLUSH_BOXES ? 0 : 0.07, kind == FLUSH_BOXES ? 0 : -0.04, high - 1e-3);
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

/// Contacts from the third step on, those that are new, and how far an impulse has gone from its place on the upper body at most.
typedef struct kept {
	int all, fresh;
	double strayed;
} kept;

/// Step at a pose. The impulse of a contact is its place on the upper body; the one that it has from the last step says where it was.
static void step_duo(duo *d, const carom_pose *pose, bool counts, kept *k)
{
	CHECK_INT(carom_world_set_pose(d->world, d->upper, pose), CAROM_SUCCESS);
	fixture_step(d->world);
	const carom_contact_view view = carom_world_contacts(d->world);
	for (int32_t i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		const v3d at = carom_inverse_transform_point(*pose, (v3d){ c->point[0], c->point[1], c->point[2] });
		const v3d was = { c->impulse[0], c->impulse[1], c->impulse[2] };
		if (counts) {
			k->all++;
			k->fresh += c->age == 0;
			k->strayed = fmax(k->strayed, c->age == 0 ? 0 : v3d_length(v3d_sub(at, was)));
		}
		const float impulse[3] = { (float)at.x, (float)at.y, (float)at.z };
		REQUIRE(carom_world_set_impulse(d->world, i, impulse) == CAROM_SUCCESS);
		for (int32_t j = 0; j < i; j++) {
			CHECK(view.data[j].feature_a != c->feature_a || view.data[j].feature_b != c->feature_b);
			const double *p = view.data[j].point;
			CHECK(hypot(hypot(p[0] - c->point[0], p[1] - c->point[1]), p[2] - c->point[2]) > 1e-5);
		}
	}
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
	kept k = { 0, 0, 0 };
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
	kept k = { 0, 0, 0 };
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
		CHECK(k.fresh < k.all / 8); // they leave the ground and come back, and of a rim others are kept
		CHECK(k.strayed < 1e-3);
	}
}

static kept slide(int kind)
{
	duo d;
	kept k = { 0, 0, 0 };
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
