/// Bodies that touch another at the beginning of the step: what is told of the rest of their way. Sliding, resting
/// and being stopped, on floors and walls that are one mesh, one body of parts, or a height field.
#include "fixture.h"
#include "tiles_fixture.h"

#include "carom/collide.h"

#include <math.h>

static const double TOLERANCE = 0.001; // of the world

enum { SHAPES = 8, FLOORS = 5 };

/// Shapes that stand on their lower side, with how far that and the side towards x lie from the origin.
typedef struct mover {
	carom_shape shape;
	double down, across;
	bool round;     // about z
	double sinking; // how much deeper what touches may get: a quarter of half the thickness, or half of the tolerance
} mover;

typedef struct kit {
	carom_context *context;
	carom_mesh *meshes[8];
	mover movers[SHAPES];
	carom_body_def floors[FLOORS];
	carom_part parts[2];
} kit;

static mover of_mesh(const carom_mesh *mesh)
{
	const carom_mesh_report *r = carom_mesh_get_report(mesh);
	double half = r->volume / r->area;
	for (int k = 0; k < 3; k++)
		half = fmin(half, 0.5 * (r->upper[k] - r->lower[k]));
	return (mover){ fixture_of_mesh(mesh), -r->lower[2], r->upper[0], false, 0.25 * half };
}

/// A floor of many triangles at z = 0 from -4 to 4, with a wall that faces back at x = 4.
static carom_mesh *make_room(carom_context *context)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sheet(&soup, 9, 8);
	const float wall[4][3] = { { 4, -4, 0 }, { 4, 4, 0 }, { 4, 4, 3 }, { 4, -4, 3 } };
	const int32_t first = soup.vertex_count, corners[6] = { 0, 2, 1, 0, 3, 2 };
	for (int i = 0; i < 12; i++)
		soup.vertices[3 * first + i] = wall[i / 3][i % 3];
	for (int i = 0; i < 6; i++)
		soup.triangles[3 * soup.triangle_count + i] = first + corners[i];
	soup.vertex_count += 4;
	soup.triangle_count += 2;
	return fixture_mesh(context, &soup);
}

static carom_mesh *make_solid_room(carom_context *context)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 0, 0, -0.5 }, 6, 4, 0.5);
	fixture_soup_box(&soup, (v3d){ 4.5, 0, 1 }, 0.5, 4, 2);
	return fixture_mesh(context, &soup);
}

static carom_mesh *make_field_room(carom_context *context)
{
	// Steps of a height field are ramps: this one is 3 km high.
	static float heights[20 * 3];
	for (int i = 0; i < 60; i++)
		heights[i] = i % 20 == 19 ? 3000 : 0;
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, 20, 3, heights, (double[2]){ 0.5, 4 }, 0.5, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void make_kit(kit *k)
{
	carom_context *c = k->context = fixture_context(1);
	k->meshes[0] = fixture_box_mesh(c, 0.3, 0.3, 0.2);
	k->meshes[1] = fixture_torus_mesh(c, 24, 10, 0.3, 0.1);
	k->meshes[2] = fixture_sphere_mesh(c, 0.4, 12);
	k->meshes[3] = make_room(c);
	k->meshes[4] = make_solid_room(c);
	k->meshes[5] = make_field_room(c);
	const mover movers[SHAPES] = { { fixture_box(0.3, 0.2, 0.1), 0.1, 0.3, false, 0.025 },
		{ fixture_sphere(0.25), 0.25, 0.25, true, 0.0625 }, { fixture_capsule(0.2, 0.3), 0.5, 0.2, true, 0.05 },
		{ fixture_cylinder(0.3, 0.2), 0.2, 0.3, true, 0.05 }, { fixture_box(0.4, 0.3, 0.0002), 0.0002, 0.4, false, 0.0005 },
		of_mesh(k->meshes[0]), of_mesh(k->meshes[1]), of_mesh(k->meshes[2]) };
	for (int i = 0; i < SHAPES; i++)
		k->movers[i] = movers[i];
	k->parts[0] = (carom_part){ { .type = CAROM_PLANE }, { { 0, 0, 0 }, { 0, 0, 0, 1 } }, 0 };
	k->parts[1] = (carom_part){ fixture_box(0.5, 4, 2), { { 4.5, 0, 1 }, { 0, 0, 0, 1 } }, 0 };
	for (int i = 0; i < FLOORS; i++) {
		k->floors[i] = carom_default_body_def();
		k->floors[i].kind = CAROM_STATIC;
		k->floors[i].shape = fixture_of_mesh(k->meshes[3 + i % 3]);
	}
	k->floors[2].pose = fixture_at(-5, -4, 0); // its ramp begins at x = 4
	k->floors[3].shape = carom_default_body_def().shape;
	k->floors[3].parts = k->parts;
	k->floors[3].part_count = 2;
	k->floors[4].shape = fixture_of_mesh(k->meshes[3]);
	k->floors[4].kind = CAROM_KINEMATIC; // open: both sides
}

static void free_kit(kit *k)
{
	for (int i = 0; i < 6; i++)
		carom_release_mesh(k->meshes[i]);
	carom_destroy_context(k->context);
}

/// The first impact of a body on its way through one step; NULL: none. touching: was any pair told to touch?
static const carom_body_impact *run(
	kit *k, carom_world *world, int floor, const mover *m, carom_motion way, bool floor_first, bool *touching)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id, floor_id;
	def.shape = m->shape;
	def.continuous = true;
	def.pose = way.begin;
	if (floor_first)
		REQUIRE(carom_world_add_body(world, &k->floors[floor], &floor_id) == CAROM_SUCCESS);
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	if (!floor_first)
		REQUIRE(carom_world_add_body(world, &k->floors[floor], &floor_id) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_motions(world, 1, &id, &way) == CAROM_SUCCESS);
	fixture_step(world);
	*touching = false;
	const carom_body_impact_view view = carom_world_body_impacts(world);
	for (int i = 0; i < view.count; i++)
		*touching = *touching || view.data[i].status == CAROM_TOI_TOUCHING || view.data[i].time == 0;
	return carom_world_earliest_body_impact(world, id);
}

static const double depths[] = { 0.0009, 0.0006, 0.0003, 0, -0.0003, -0.001, -0.004 };
enum { DEPTHS = sizeof depths / sizeof *depths };

TEST(touching, what_slides_over_a_floor_meets_nothing_but_its_wall)
{
	kit k;
	make_kit(&k);
	uint64_t seed = 3;
	for (int floor = 0; floor < FLOORS; floor++) {
		for (int i = 0; i < SHAPES * DEPTHS; i++) {
			const mover *m = &k.movers[i % SHAPES];
			const double z = m->down + depths[i / SHAPES];
			if (z < 0)
				continue; // a thin plate, more below the floor than above
			for (int round = 0; round < 6; round++) {
				const bool to_wall = round % 2 == 0;
				const double x = test_random_double(&seed, -2, 0), y = test_random_double(&seed, -2, 2);
				carom_motion way = { fixture_at(x, y, z), fixture_at(to_wall ? 6 : x + 2.5, to_wall ? y : -y, z) };
				if (m->round || !to_wall)
					way.end.orientation = fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, -1, 1));
				carom_world *world = fixture_world(k.context, NULL);
				bool touching;
				const carom_body_impact *hit = run(&k, world, floor, m, way, round % 4 < 2, &touching);
				CHECK(touching || to_wall);
				if (to_wall && CHECK(hit != NULL)) {
					const double gap = 4 - m->across - (x + (6 - x) * hit->time);
					CHECK(gap >= 0.4 * TOLERANCE && gap <= 1.01 * TOLERANCE);
					// The ramp begins with corners of triangles: what is thin meets one of these.
					CHECK(fabs(hit->normal.x) > 0.99 || floor == 2);
				} else {
					CHECK(to_wall || hit == NULL);
				}
				carom_destroy_world(world);
			}
		}
	}
	free_kit(&k);
}

TEST(touching, what_was_stopped_is_held)
{
	kit k;
	make_kit(&k);
	const carom_quat upright = { 0, 0, 0, 1 };
	for (int floor = 0; floor < FLOORS; floor++) {
		for (int i = 0; i < SHAPES * DEPTHS; i++) {
			const mover *m = &k.movers[i % SHAPES];
			const double z = m->down + depths[i / SHAPES];
			if (z < 0)
				continue;
			for (int round = 0; round < 8; round++) {
				// Before the wall too, by nine tenths of the tolerance.
				const carom_vec3 from = { floor < 2 || floor > 2 ? 4 - m->across - 0.0009 : 0, 0.4, z };
				const carom_vec3 ways[] = { { 0, 0, -0.5 }, { 1, 0, -3 }, { 0, 0, -0.001 - 1.5 * m->sinking }, { 0.3, 0, 0 },
					{ -1, 0, 0 }, { 0, -0.3, 0 }, { 0, 0, 2 }, { -0.0001, 0.0001, -0.0001 } };
				const carom_vec3 way = ways[round];
				carom_world *world = fixture_world(k.context, NULL);
				bool touching;
				const carom_body_impact *hit = run(&k, world, floor, m,
					(carom_motion){ { from, upright }, { v3d_add(from, way), upright } }, round % 2, &touching);
				const bool deeper = round < 3 || (round == 3 && floor != 2);
				if (CHECK((hit != NULL) == deeper) && deeper) {
					CHECK_NEAR(hit->time, 0, 0);
					CHECK_INT(hit->status, CAROM_TOI_IMPACT);
					// From B to A: against the way of the body, or along it.
					const double against = v3d_dot(hit->normal, way) / v3d_length(way);
					CHECK(fabs(against) > 0.3);
				}
				carom_destroy_world(world);
			}
		}
	}
	free_kit(&k);
}

TEST(touching, a_body_that_pushes_on_never_creeps_through)
{
	kit k;
	make_kit(&k);
	for (int i = 0; i < SHAPES; i++) {
		const mover *m = &k.movers[i];
		carom_world *world = fixture_world(k.context, NULL);
		carom_body_def def = carom_default_body_def();
		carom_body_id id, floor;
		REQUIRE(carom_world_add_body(world, &k.floors[0], &floor) == CAROM_SUCCESS);
		def.shape = m->shape;
		def.continuous = true;
		def.pose = fixture_at(0.1, 0.2, m->down + 1);
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
		fixture_step(world);
		carom_pose pose = def.pose;
		// It falls and slides, and nothing but impacts stops it: the way that is left is given up.
		for (int step = 0; step < 40; step++) {
			const carom_motion way = carom_straight_motion(pose, (carom_vec3){ 0.02, 0.01, -0.3 });
			REQUIRE(carom_world_set_motions(world, 1, &id, &way) == CAROM_SUCCESS);
			fixture_step(world);
			const carom_body_impact *hit = carom_world_earliest_body_impact(world, id);
			pose = hit ? carom_motion_pose(&way, hit->time) : way.end;
			CHECK((hit != NULL) == (step > 2));
		}
		CHECK(pose.position.z - m->down > 0 && pose.position.z - m->down < 1.1 * TOLERANCE);
		carom_destroy_world(world);
	}
	free_kit(&k);
}

// ---- Random motions ----

enum { LOOKS = 60 };

/// How far a mesh reaches beyond a plane: the largest n . x of its vertices.
static double reach_along(const carom_mesh *mesh, const carom_pose *pose, v3d n)
{
	const float *v = carom_mesh_get_vertices(mesh);
	double most = -INFINITY;
	for (int32_t i = 0; i < carom_mesh_get_report(mesh)->vertex_count; i++)
		most = fmax(most, v3d_dot(n, v3d_add(carom_rotate(pose->orientation, v3d_from_floats(v + 3 * i)), pose->position)));
	return most;
}

static double log_uniform(uint64_t *seed, double lower, double upper)
{
	return exp(test_random_double(seed, log(lower), log(upper)));
}

static v3d random_vector(uint64_t *seed)
{
	return (v3d){ test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), test_random_double(seed, -1, 1) };
}

/// A motion that begins at the floor, and in every third round at the wall too.
static carom_motion random_way(uint64_t *seed, const carom_mesh *mesh, bool at_wall)
{
	carom_motion way = { fixture_random_pose(seed, 2), carom_pose_identity() };
	if (test_random(seed) % 3 == 0)
		way.begin.orientation = fixture_turn((v3d){ 0, 0, 1 }, test_random_double(seed, -3, 3));
	way.begin.position.z += reach_along(mesh, &way.begin, (v3d){ 0, 0, -1 }) + test_random_double(seed, -0.002, 0.0009);
	if (at_wall)
		way.begin.position.x += 4 - reach_along(mesh, &way.begin, (v3d){ 1, 0, 0 }) - test_random_double(seed, 0.0001, 0.0009);
	v3d step = v3d_scale(random_vector(seed), log_uniform(seed, 1e-4, 1.4));
	if (test_random(seed) % 2 == 0)
		step.z = 0;
	way.end.position = v3d_add(way.begin.position, step);
	const double angle = test_random(seed) % 3 == 0 ? 0 : log_uniform(seed, 1e-4, 3);
	const v3d axis = test_random(seed) % 3 == 0 ? (v3d){ 0, 0, 1 } : random_vector(seed);
	way.end.orientation = quat_mul(fixture_turn(axis, angle), way.begin.orientation);
	return way;
}

/// Looks along the way, up to the impact if there is one: by how much the body gets deeper into floor and wall than
/// it was.
static void look(const carom_mesh *mesh, const carom_motion *way, double until, double *floor, double *wall)
{
	const double floor_0 = reach_along(mesh, &way->begin, (v3d){ 0, 0, -1 });
	const double wall_0 = reach_along(mesh, &way->begin, (v3d){ 1, 0, 0 }) - 4;
	*floor = *wall = -INFINITY;
	for (int i = 0; i <= LOOKS; i++) {
		const carom_pose pose = carom_motion_pose(way, until * i / LOOKS);
		*floor = fmax(*floor, reach_along(mesh, &pose, (v3d){ 0, 0, -1 }) - fmax(floor_0, -0.5 * TOLERANCE));
		*wall = fmax(*wall, reach_along(mesh, &pose, (v3d){ 1, 0, 0 }) - 4 - fmax(wall_0, -0.5 * TOLERANCE));
	}
}

TEST(touching, no_random_motion_goes_deeper_than_it_may)
{
	kit k;
	make_kit(&k);
	uint64_t seed = 17;
	int hits = 0, none = 0, held = 0;
	for (int round = 0; round < 10000 / TEST_FAR_FEWER; round++) {
		const mover *m = &k.movers[5 + round % 3];
		const int floors[] = { 0, 1, 3, 4 };
		const carom_motion way = random_way(&seed, m->shape.mesh, round % 3 == 2);
		carom_world *world = fixture_world(k.context, NULL);
		bool touching;
		const carom_body_impact *hit = run(&k, world, floors[test_random(&seed) % 4], m, way, round % 2, &touching);
		double floor, wall;
		look(m->shape.mesh, &way, hit ? hit->time : 1, &floor, &wall);
		// Along a direction that is within 25 degrees of that of a contact, which need not be upright.
		CHECK(floor <= 1.5 * m->sinking);
		CHECK(wall <= 1.5 * m->sinking);
		if (hit) {
			look(m->shape.mesh, &way, 1, &floor, &wall);
			CHECK(floor > 0 || wall > 0);
		}
		hits += hit != NULL;
		none += hit == NULL;
		held += hit != NULL && hit->time == 0;
		carom_destroy_world(world);
	}
	CHECK(hits > 1200 / TEST_FAR_FEWER && none > 5000 / TEST_FAR_FEWER && held > 1000 / TEST_FAR_FEWER);
	free_kit(&k);
}

/// Lowers a body over a terrain until it is at a distance.
static void lower_to(carom_context *context, const carom_shape *shape, const carom_shape *terrain, double distance, double span,
	carom_pose *pose)
{
	const carom_pose origin = carom_pose_identity();
	double lower = pose->position.z - span, upper = pose->position.z + span;
	for (int i = 0; i < 30; i++) {
		carom_separation s;
		pose->position.z = 0.5 * (lower + upper);
		REQUIRE(carom_distance(context, shape, pose, terrain, &origin, &s) == CAROM_SUCCESS);
		*(s.distance > distance ? &upper : &lower) = pose->position.z;
	}
}

TEST(touching, what_rolls_over_a_terrain_is_not_stopped)
{
	carom_context *context = fixture_context(1);
	static float heights[20 * 20];
	for (int i = 0; i < 400; i++)
		heights[i] = (float)(0.12 * sin(i % 20) * cos(0.7 * (i / 20)));
	carom_mesh *field;
	REQUIRE(carom_create_height_field(context, 20, 20, heights, (double[2]){ 0.5, 0.5 }, 0.5, &field) == CAROM_SUCCESS);
	const carom_shape terrain = fixture_of_mesh(field), shapes[] = { fixture_sphere(0.25), fixture_capsule(0.2, 0.1) };
	const double gaps[] = { 0.0008, 0.0003 };
	for (int i = 0; i < 4; i++) {
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, terrain, fixture_at(0, 0, 0), CAROM_STATIC);
		carom_body_def def = carom_default_body_def();
		def.shape = shapes[i / 2];
		def.continuous = true;
		def.pose = fixture_at(1, 1, 0.35);
		lower_to(context, &def.shape, &terrain, gaps[i % 2], 0.4, &def.pose);
		carom_body_id id;
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
		fixture_step(world);
		carom_pose pose = def.pose;
		for (int step = 0; step < 300 / TEST_FEWER; step++) {
			pose.position.x += 0.018;
			pose.position.y += 0.009;
			if (i / 2 == 0)
				pose.orientation = quat_mul(fixture_turn((v3d){ -0.5, 1, 0 }, 0.08), pose.orientation);
			lower_to(context, &def.shape, &terrain, gaps[i % 2], 0.02, &pose);
			REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
			fixture_step(world);
			CHECK(carom_world_earliest_body_impact(world, id) == NULL);
			REQUIRE(carom_world_body_impacts(world).count == 1);
			CHECK_INT(carom_world_body_impacts(world).data[0].status, CAROM_TOI_TOUCHING);
		}
		carom_destroy_world(world);
	}
	carom_release_mesh(field);
	carom_destroy_context(context);
}

// ---- Anything ----

static carom_shape any_shape(uint64_t *seed, const kit *k, double scale)
{
	const double a = scale * test_random_double(seed, 0.05, 0.5), b = scale * test_random_double(seed, 0.05, 0.5);
	const carom_shape shapes[] = { fixture_sphere(a), fixture_box(a, b, 0.3 * scale), fixture_box(a, b, 1e-4 * scale),
		fixture_capsule(a, b), fixture_cylinder(a, b), fixture_cone(a, b), fixture_ellipsoid(a, b, 0.2 * scale),
		fixture_of_mesh(k->meshes[test_random(seed) % 5]) };
	return shapes[test_random(seed) % (sizeof shapes / sizeof *shapes)];
}

static bool is_sane(const carom_body_impact *p, double tolerance)
{
	const double length = v3d_length(p->normal);
	return p->time >= 0 && p->time <= 1 && fabs(length - 1) < 1e-6 && isfinite(p->distance) &&
		isfinite(p->point.x + p->point.y + p->point.z) && p->status != CAROM_TOI_APART &&
		(p->status == CAROM_TOI_UNDECIDED || p->distance <= 1.01 * tolerance);
}

/// Any shapes of any size at any place, touching, overlapping or apart, that rest, slide or turn: what is told is sane.
TEST(touching, what_is_told_of_anything_is_sane)
{
	kit k;
	make_kit(&k);
	uint64_t seed = 23;
	int impacts = 0, undecided = 0;
	for (int round = 0; round < 4000 / TEST_FEWER; round++) {
		const double scale = round % 2 ? 1 : log_uniform(&seed, 1e-3, 1e6), far = round % 5 == 0 ? 1e6 * scale : 0;
		carom_world_def world_def = carom_default_world_def();
		world_def.toi_tolerance = 1e-3 * scale;
		carom_world *world = fixture_world(k.context, &world_def);
		carom_body_id ids[3];
		carom_motion ways[3];
		for (int i = 0; i < 3; i++) {
			carom_body_def def = carom_default_body_def();
			def.shape = any_shape(&seed, &k, scale);
			def.sensor = test_random(&seed) % 8 == 0;
			def.continuous = i < 2;
			def.kind = i == 2 ? CAROM_KINEMATIC : CAROM_DYNAMIC;
			if (i == 2 && test_random(&seed) % 3 == 0)
				def.shape = (carom_shape){ .type = CAROM_PLANE };
			REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
			ways[i].begin = fixture_random_pose(&seed, 0.6 * scale);
			ways[i].end = test_random(&seed) % 3 ? fixture_random_pose(&seed, 0.6 * scale) : ways[i].begin;
			if (test_random(&seed) % 3 == 0)
				ways[i].end.orientation = ways[i].begin.orientation;
			ways[i].begin.position.x += far;
			ways[i].end.position.x += far;
		}
		REQUIRE(carom_world_set_motions(world, 3, ids, ways) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_body_impact_view view = carom_world_body_impacts(world);
		for (int i = 0; i < view.count; i++) {
			CHECK(is_sane(&view.data[i], world_def.toi_tolerance));
			impacts += view.data[i].status == CAROM_TOI_IMPACT;
			undecided += view.data[i].status == CAROM_TOI_UNDECIDED;
		}
		carom_destroy_world(world);
	}
	CHECK(impacts > 1000 / TEST_FEWER);
	CHECK(undecided <= impacts / 100);
	free_kit(&k);
}

// ---- Seams of flush parts ----

/// The impact of a continuous body on its way in a world of its own with a static body of parts; status APART: none.
static carom_body_impact over_parts(
	carom_context *context, const carom_part *parts, int count, carom_shape body, carom_motion way, bool body_first)
{
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.shape = body;
	def.continuous = true;
	def.pose = way.begin;
	if (!body_first)
		tiles_add(world, parts, count, CAROM_STATIC);
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	if (body_first)
		tiles_add(world, parts, count, CAROM_STATIC);
	REQUIRE(carom_world_set_motions(world, 1, &id, &way) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_body_impact *hit = carom_world_earliest_body_impact(world, id);
	const carom_body_impact copy = hit ? *hit : (carom_body_impact){ .status = CAROM_TOI_APART, .time = 1 };
	carom_destroy_world(world);
	return copy;
}

/// A way that begins on a floor at z = 0, nearly upright, as one that slides, or goes on through the floor.
static carom_motion way_over_floor(uint64_t *seed, int slider, bool down)
{
	const double x = test_random_double(seed, -2, 1), y = test_random_double(seed, -0.6, 0.6);
	const double z = 0.1 - test_random_double(seed, -0.0006, 0.004), angle = slider == 2 ? 0 : test_random_double(seed, 0, 90);
	carom_motion way = { fixture_at(x, y, z), fixture_at(x + test_random_double(seed, 0.1, 1.5), 0.5 * y, z) };
	way.begin.orientation = way.end.orientation = fixture_turn((v3d){ 0, 0, 1 }, angle);
	way.end.position.z -= down ? test_random_double(seed, 0.05, 0.6) : 0;
	return way;
}

/// Over tiles a body meets what it meets over one floor: nothing where it slides, and something where it goes through. That is told as
/// early. Few are late, which leave the first tile before they have sunk in by their slack: these meet the side of a later one.
TEST(touching, seams_of_flush_parts_stop_nothing_and_hide_nothing)
{
	enum { ROUNDS = 40 };
	carom_context *context = fixture_context(1);
	uint64_t seed = 41;
	const carom_part one = { .shape = fixture_box(3, 1.2, 0.1), .pose = fixture_at(0, 0, -0.1) };
	int told = 0, late = 0;
	for (int kind = 0; kind < TILE_SHEET; kind++) {
		carom_part parts[TILES];
		carom_mesh *mesh, *moving;
		tiles_lay(tiles_make_tile(context, (tile_kind)kind, &mesh), 0, parts);
		for (int slider = 0; slider < SLIDERS; slider++) {
			const carom_shape body = tiles_make_slider(context, slider, &moving);
			for (int i = 0; i < ROUNDS; i++) {
				const bool down = i % 4 == 3;
				const carom_motion way = way_over_floor(&seed, slider, down);
				const carom_body_impact expected = over_parts(context, &one, 1, body, way, i % 2);
				const carom_body_impact found = over_parts(context, parts, TILES, body, way, i % 2);
				CHECK((found.status == CAROM_TOI_APART) == (expected.status == CAROM_TOI_APART));
				told += expected.status != CAROM_TOI_APART;
				late += found.time > expected.time + 1e-3;
			}
			carom_release_mesh(moving);
		}
		carom_release_mesh(mesh);
	}
	CHECK(told >= 3 * SLIDERS * ROUNDS / 8);
	CHECK(late <= told / 20);
	carom_destroy_context(context);
}

/// What comes down on a seam from just above the tolerance meets the floor there: no way is open to it yet.
TEST(touching, what_comes_from_above_meets_a_seam)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 43;
	carom_part parts[TILES];
	tiles_lay(fixture_box(0.3, 0.6, 0.1), 0, parts);
	const carom_part one = { .shape = fixture_box(3, 1.2, 0.1), .pose = fixture_at(0, 0, -0.1) };
	const carom_shape ball = fixture_sphere(0.1);
	int told = 0;
	for (int i = 0; i < 400; i++) {
		const double x = -0.01 - test_random_double(&seed, 0, 0.03), z = 0.1 + test_random_double(&seed, 0.00105, 0.0015);
		const carom_motion way = { fixture_at(x, 0.2, z), fixture_at(x + 1, 0.2, z - test_random_double(&seed, 0.001, 0.02)) };
		const carom_body_impact expected = over_parts(context, &one, 1, ball, way, i % 2);
		const carom_body_impact found = over_parts(context, parts, TILES, ball, way, i % 2);
		CHECK(expected.status == CAROM_TOI_APART || found.status != CAROM_TOI_APART);
		told += expected.status != CAROM_TOI_APART;
	}
	CHECK(told > 200);
	carom_destroy_context(context);
}

/// A tile that is higher stops what slides, and so does a wall that stands on a tile, is sunk into one, or leans on two.
TEST(touching, steps_and_walls_of_parts_stop)
{
	carom_context *context = fixture_context(1);
	static const double raised[] = { 0.05, 0.004 }, depths_here[] = { -0.0004, 0.0002, 0.002 };
	for (int kind = 0; kind < TILE_SHEET; kind++) {
		carom_part parts[TILES + 1];
		carom_mesh *mesh, *moving;
		const carom_shape tile = tiles_make_tile(context, (tile_kind)kind, &mesh);
		for (int slider = 0; slider < SLIDERS; slider++) {
			const carom_shape body = tiles_make_slider(context, slider, &moving);
			for (int i = 0; i < 12; i++) {
				const double z = 0.1 - depths_here[i % 3];
				const carom_motion way = { fixture_at(-0.8, 0.3, z), fixture_at(0.8, 0.35, z) };
				const bool step = i < 6;
				tiles_lay(tile, step ? raised[i / 3] : 0, parts);
				parts[TILES] =
					(carom_part){ .shape = fixture_box(0.05, 1.2, 0.5), .pose = fixture_at(0.05, 0, i < 9 ? 0.5 : 0.45) };
				const carom_body_impact hit = over_parts(context, parts, step ? TILES : TILES + 1, body, way, i % 2);
				// The edge of a low step meets what is round later.
				if (CHECK(hit.status == CAROM_TOI_IMPACT))
					CHECK(hit.time > 0.35 && hit.time <= (step ? 0.5 : 0.4376));
			}
			carom_release_mesh(moving);
		}
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

/// A car of four flush boxes over a short block, a ridge and what ends: its own seams stop it no more than those of one box.
TEST(touching, own_seams_of_a_body_stop_nothing)
{
	carom_context *context = fixture_context(1);
	static const float ridge[18] = { -5, -2, -2, 0, -2, 0, 5, -2, -2, -5, 2, -2, 0, 2, 0, 5, 2, -2 };
	static const int32_t slopes[12] = { 0, 1, 4, 0, 4, 3, 1, 2, 5, 1, 5, 4 };
	static fixture_soup soup;
	memcpy(soup.vertices, ridge, sizeof ridge);
	memcpy(soup.triangles, slopes, sizeof slopes);
	soup.vertex_count = 6;
	soup.triangle_count = 4;
	carom_mesh *mesh = fixture_mesh(context, &soup);
	for (int i = 0; i < 10; i++) {
		carom_world *world = fixture_world(context, NULL);
		const carom_pose at = fixture_at(0, 0, i % 2 ? -0.5 : 0);
		fixture_add(world, i % 2 ? fixture_box(0.2, 2, 0.5) : fixture_of_mesh(mesh), at, CAROM_STATIC);
		carom_part parts[4];
		for (int k = 0; k < 4; k++)
			parts[k] = (carom_part){ .shape = fixture_box(0.5, 0.5, 0.3), .pose = fixture_at(k - 1.5, 0, 0) };
		carom_body_def def = carom_default_body_def();
		def.parts = parts;
		def.part_count = 4;
		def.continuous = true;
		const double z = 0.3 + 0.0005 - 0.001 * (i / 2);
		def.pose = fixture_at(-1.7, 0, z);
		carom_body_id id;
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
		for (int step = 0; step < 60; step++) {
			const carom_pose next = fixture_at(-1.7 + 0.05 * step, 0, z);
			REQUIRE(carom_world_set_pose(world, id, &next) == CAROM_SUCCESS);
			fixture_step(world);
			CHECK(carom_world_earliest_body_impact(world, id) == NULL);
		}
		carom_destroy_world(world);
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
