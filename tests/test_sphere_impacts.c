/// Impacts of the spheres of granular bodies: against one continuous body for each sphere, against fine steps along the way, and what a
/// user may ask for and get wrong.
#include "fixture.h"

#include "frame/body.h"
#include "geom/triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPHERES = 60, SHAPES = 7 };

/// Spheres on their ways.
typedef struct ways {
	double begin[3 * SPHERES], end[3 * SPHERES], radii[SPHERES];
} ways;

static void make_ways(ways *w, uint64_t *seed, double span, double travel)
{
	for (int i = 0; i < SPHERES; i++) {
		w->radii[i] = test_random_double(seed, 0.02, 0.15);
		for (int k = 0; k < 3; k++) {
			w->begin[3 * i + k] = test_random_double(seed, -span, span);
			w->end[3 * i + k] = w->begin[3 * i + k] + test_random_double(seed, -travel, travel);
		}
	}
}

static carom_strided packed(const double *data) { return (carom_strided){ data, 0, CAROM_FLOAT64 }; }

static carom_body_id add_spheres(carom_world *world, const ways *w, bool continuous)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = SPHERES;
	def.centres = packed(w->begin);
	def.radii = packed(w->radii);
	def.continuous = continuous;
	def.self_collision = false; // test_meeting_spheres.c
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static carom_result send(carom_world *world, carom_body_id id, int32_t count, const double *to, const double *radii)
{
	const carom_strided centres = packed(to), sizes = packed(radii);
	return carom_world_set_spheres(world, id, count, &centres, radii ? &sizes : NULL);
}

static void send_all(carom_world *world, carom_body_id id, const ways *w)
{
	REQUIRE(send(world, id, SPHERES, w->end, NULL) == CAROM_SUCCESS);
}

// ---- One body for each sphere ----

/// Obstacles of every family: at rest, and on their ways.
typedef struct obstacles {
	carom_mesh *mesh[3];
	carom_shape shape[SHAPES];
	carom_motion motion[SHAPES];
} obstacles;

static void make_obstacles(carom_context *context, obstacles *o, uint64_t *seed)
{
	o->mesh[0] = fixture_torus_mesh(context, 16, 8, 0.3, 0.1);
	o->mesh[1] = fixture_sheet_mesh(context, 5, 1.5);
	o->mesh[2] = fixture_sphere_mesh(context, 0.4, 6);
	o->shape[0] = fixture_box(0.3, 0.2, 0.4);
	o->shape[1] = fixture_capsule(0.2, 0.3);
	o->shape[2] = fixture_ellipsoid(0.4, 0.3, 0.2);
	o->shape[3] = fixture_of_mesh(o->mesh[0]);
	o->shape[4] = fixture_of_mesh(o->mesh[1]);
	o->shape[5] = fixture_of_mesh(o->mesh[2]);
	o->shape[6] = (carom_shape){ .type = CAROM_PLANE };
	for (int i = 0; i < SHAPES; i++) {
		o->motion[i].begin = fixture_random_pose(seed, 0.8);
		o->motion[i].end = i % 2 ? fixture_random_pose(seed, 0.8) : o->motion[i].begin;
		if (i == SHAPES - 1)
			o->motion[i].begin.position.z = o->motion[i].end.position.z = -1.5;
	}
}

static void free_obstacles(obstacles *o)
{
	for (int i = 0; i < 3; i++)
		carom_release_mesh(o->mesh[i]);
}

static void add_obstacles(carom_world *world, const obstacles *o, carom_body_id ids[SHAPES])
{
	for (int i = 0; i < SHAPES; i++) {
		ids[i] = fixture_add(world, o->shape[i], o->motion[i].begin, CAROM_KINEMATIC);
		REQUIRE(carom_world_set_filter(world, ids[i], 1, 2, 0) == CAROM_SUCCESS);
	}
	REQUIRE(carom_world_set_motions(world, SHAPES, ids, o->motion) == CAROM_SUCCESS);
}

/// A world with a continuous dynamic body for each sphere, which do not meet each other.
static void add_balls(carom_world *world, const ways *w, carom_body_id ids[SPHERES])
{
	for (int i = 0; i < SPHERES; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = fixture_sphere(w->radii[i]);
		def.pose = fixture_at(w->begin[3 * i], w->begin[3 * i + 1], w->begin[3 * i + 2]);
		def.continuous = true;
		def.category = 2;
		def.mask = 1;
		REQUIRE(carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS);
		const carom_pose end = fixture_at(w->end[3 * i], w->end[3 * i + 1], w->end[3 * i + 2]);
		REQUIRE(carom_world_set_pose(world, ids[i], &end) == CAROM_SUCCESS);
	}
}

static bool is_near(carom_vec3 a, carom_vec3 b) { return v3d_length(v3d_sub(a, b)) < 1e-6; }

static void check_twin(const carom_body_impact *sphere, const carom_body_impact *ball)
{
	CHECK_INT(sphere->status, ball->status);
	CHECK_NEAR(sphere->time, ball->time, 1e-9);
	CHECK_NEAR(sphere->distance, ball->distance, 1e-6);
	CHECK(is_near(sphere->normal, ball->normal) && is_near(sphere->point, ball->point));
	// Of two triangles at an edge rounding may choose either.
	CHECK((sphere->triangle_a < 0) == (ball->triangle_a < 0) && (sphere->triangle_b < 0) == (ball->triangle_b < 0));
}

TEST(sphere_impacts, are_those_of_a_body_for_each_sphere)
{
	uint64_t seed = 3;
	int64_t met = 0, touching = 0;
	for (int round = 0; round < 6; round++) {
		static ways w;
		carom_context *context = fixture_context(1);
		carom_world *grains = fixture_world(context, NULL), *balls = fixture_world(context, NULL);
		carom_body_id ids[2][SHAPES], ball[SPHERES];
		obstacles o;
		make_obstacles(context, &o, &seed);
		make_ways(&w, &seed, 1.2, round % 2 ? 2.5 : 0.2);
		add_obstacles(grains, &o, ids[0]);
		add_obstacles(balls, &o, ids[1]);
		const carom_body_id id = add_spheres(grains, &w, true);
		REQUIRE(carom_world_set_filter(grains, id, 2, 1, 0) == CAROM_SUCCESS);
		add_balls(balls, &w, ball);
		send_all(grains, id, &w);
		fixture_step(grains);
		fixture_step(balls);
		const carom_body_impact_view a = carom_world_body_impacts(grains), b = carom_world_body_impacts(balls);
		REQUIRE(a.count == b.count);
		// Of equal order: the balls of an obstacle come by their numbers.
		for (int32_t i = 0; i < a.count; i++) {
			CHECK(fixture_same_id(a.data[i].body_b, id) && a.data[i].body_a.index1 == b.data[i].body_a.index1);
			REQUIRE(a.data[i].shape_b >= 0 && a.data[i].shape_b < SPHERES);
			CHECK(fixture_same_id(ball[a.data[i].shape_b], b.data[i].body_b));
			check_twin(&a.data[i], &b.data[i]);
			touching += a.data[i].status == CAROM_TOI_TOUCHING;
		}
		met += a.count;
		CHECK_INT(carom_world_stats(grains).body_impacts, a.count);
		CHECK(carom_world_hash(grains) != 0);
		free_obstacles(&o);
		carom_destroy_world(grains);
		carom_destroy_world(balls);
		carom_destroy_context(context);
	}
	CHECK(met > 300 && touching > 20 && touching < met);
}

// ---- Bodies that deform ----

/// A surface whose vertices move each on its way.
typedef struct soft {
	carom_mesh *mesh;
	carom_body_id id;
	double begin[3 * 400], end[3 * 400];
} soft;

static void add_soft(carom_world *world, soft *s, carom_body_kind kind, carom_pose pose, uint64_t *seed)
{
	carom_body_def def = carom_default_body_def();
	def.kind = kind;
	def.shape = fixture_of_mesh(s->mesh);
	def.pose = pose;
	REQUIRE(carom_world_add_body(world, &def, &s->id) == CAROM_SUCCESS);
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, s->id, &view) == CAROM_SUCCESS);
	REQUIRE(view.count <= 400);
	for (int32_t i = 0; i < 3 * view.count; i++) {
		s->begin[i] = view.data[i];
		s->end[i] = view.data[i] + test_random_double(seed, -0.2, 0.2) + (i % 3 == 2 ? 0.3 : 0);
	}
	const carom_strided end = packed(s->end);
	REQUIRE(carom_world_set_vertices(world, s->id, NULL, &end) == CAROM_SUCCESS);
}

/// The distance of a sphere from the surface at a time, as far as the triangles were apart from it at the beginning.
static double distance_at(const soft *s, const ways *w, int sphere, double time, const bool *ignored)
{
	const cr_topology *t = &s->mesh->topology;
	double least = INFINITY;
	v3d centre = { 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		const double at = w->begin[3 * sphere + k] + time * (w->end[3 * sphere + k] - w->begin[3 * sphere + k]);
		centre = k == 0 ? (v3d){ at, 0, 0 } : k == 1 ? (v3d){ centre.x, at, 0 } : (v3d){ centre.x, centre.y, at };
	}
	for (int32_t i = 0; i < t->triangle_count; i++) {
		v3d c[3];
		for (int k = 0; k < 3; k++) {
			const int32_t v = 3 * t->triangles[3 * i + k];
			c[k] = (v3d){ s->begin[v] + time * (s->end[v] - s->begin[v]),
				s->begin[v + 1] + time * (s->end[v + 1] - s->begin[v + 1]),
				s->begin[v + 2] + time * (s->end[v + 2] - s->begin[v + 2]) };
		}
		const cr_triangle_point on = cr_closest_on_triangle(centre, c);
		const double distance = v3d_length(v3d_sub(on.point, centre)) - w->radii[sphere];
		least = !ignored[i] && distance < least ? distance : least;
	}
	return least;
}

static const carom_body_impact *find_impact(carom_world *world, carom_body_id grains, carom_body_id other, int sphere)
{
	const carom_body_impact_view view = carom_world_body_impacts(world);
	const carom_body_impact *found = NULL;
	for (int32_t i = 0; i < view.count; i++) {
		const carom_body_impact *m = &view.data[i];
		const bool first = fixture_same_id(m->body_a, grains);
		if (fixture_same_id(first ? m->body_b : m->body_a, other) && (first ? m->shape_a : m->shape_b) == sphere) {
			CHECK(!found);
			found = m;
		}
	}
	return found;
}

/// Did the middle of a sphere begin inside the surface? By the solid angles of all triangles (van Oosterom and Strackee 1983).
static bool begins_inside(const soft *s, const ways *w, int sphere)
{
	const cr_topology *t = &s->mesh->topology;
	double angle = 0;
	for (int32_t i = 0; i < t->triangle_count && s->mesh->report.closed; i++) {
		v3d c[3];
		double l[3];
		for (int k = 0; k < 3; k++) {
			c[k] = v3d_sub(v3d_from_doubles(&s->begin[3 * t->triangles[3 * i + k]]), v3d_from_doubles(&w->begin[3 * sphere]));
			l[k] = v3d_length(c[k]);
		}
		angle += 2 *
			atan2(v3d_dot(c[0], v3d_cross(c[1], c[2])),
				l[0] * l[1] * l[2] + v3d_dot(c[0], c[1]) * l[2] + v3d_dot(c[1], c[2]) * l[0] + v3d_dot(c[2], c[0]) * l[1]);
	}
	return fabs(angle) > 6;
}

/// A sphere that begins inside a solid is led out by the nearest point of its surface, and has no other impact with it.
static void check_inside(const carom_body_impact *impact, carom_body_id grains, const soft *s, const ways *w, int sphere)
{
	static const bool none[1000];
	REQUIRE(impact != NULL);
	const double sign = fixture_same_id(impact->body_a, grains) ? 1 : -1, depth = distance_at(s, w, sphere, 0, none);
	const v3d from = v3d_from_doubles(&w->begin[3 * sphere]), n = { impact->normal.x, impact->normal.y, impact->normal.z };
	CHECK_INT(impact->status, CAROM_TOI_TOUCHING);
	CHECK(impact->time == 0);
	CHECK_NEAR(impact->distance, -(depth + 2 * w->radii[sphere]), 1e-9);
	CHECK_NEAR(v3d_length(n), 1, 1e-9);
	// Along the normal the sphere comes out, and touches.
	ways moved = *w;
	const v3d to = v3d_mad(from, -impact->distance * sign, n);
	for (int k = 0; k < 3; k++)
		moved.begin[3 * sphere + k] = v3d_get(v3d_mad(to, 1e-6 * sign, n), k);
	CHECK(distance_at(s, &moved, sphere, 0, none) < 1e-5);
	const double back = sign > 0 ? 0 : impact->distance; // the point is of A
	const v3d point = v3d_mad((v3d){ impact->point.x, impact->point.y, impact->point.z }, -back, n);
	CHECK_NEAR(v3d_length(v3d_sub(point, v3d_mad(from, -w->radii[sphere] * sign, n))), 0, 1e-9);
}

/// Fine steps along the way of a sphere. Returns whether it had an impact.
static bool check_way(carom_world *world, carom_body_id grains, const soft *s, const ways *w, int sphere, int *inside)
{
	enum { FINE = 120 };
	static bool ignored[1000];
	const carom_body_impact *impact = find_impact(world, grains, s->id, sphere);
	memset(ignored, 0, sizeof ignored);
	if (begins_inside(s, w, sphere)) {
		check_inside(impact, grains, s, w, sphere);
		*inside += 1;
		return false;
	}
	if (distance_at(s, w, sphere, 0, ignored) < 0.002) {
		CHECK(impact != NULL); // it touches
		return false;
	}
	const double limit = impact ? impact->time : 1;
	for (int i = 0; i <= FINE; i++)
		CHECK(distance_at(s, w, sphere, limit * i / FINE, ignored) > 0.0004);
	if (impact) {
		CHECK_INT(impact->status, CAROM_TOI_IMPACT);
		CHECK(distance_at(s, w, sphere, impact->time, ignored) < 0.00101);
		CHECK_NEAR(v3d_length(impact->normal), 1, 1e-9);
		CHECK(impact->distance > distance_at(s, w, sphere, impact->time, ignored) - 1e-6 && impact->distance < 0.00101);
	}
	return impact != NULL;
}

TEST(sphere_impacts, with_bodies_that_deform_against_fine_steps)
{
	uint64_t seed = 17;
	int met = 0, inside = 0;
	for (int round = 0; round < 4; round++) {
		static ways w;
		static soft s[2];
		carom_context *context = fixture_context(2);
		carom_world *world = fixture_world(context, NULL);
		make_ways(&w, &seed, 1, 1.2);
		carom_body_id grains = { 0 };
		if (round % 2)
			grains = add_spheres(world, &w, true); // it is A
		s[0].mesh = fixture_sheet_mesh(context, 6, 1.6);
		s[1].mesh = fixture_sphere_mesh(context, 0.4, 6);
		add_soft(world, &s[0], CAROM_CLOTH, fixture_at(0, 0, 0), &seed);
		add_soft(world, &s[1], CAROM_DEFORMABLE, fixture_at(0, 0, 0.7), &seed);
		if (round % 2 == 0)
			grains = add_spheres(world, &w, true);
		send_all(world, grains, &w);
		fixture_step(world);
		for (int i = 0; i < SPHERES; i++) {
			met += check_way(world, grains, &s[0], &w, i, &inside);
			met += check_way(world, grains, &s[1], &w, i, &inside);
		}
		for (int i = 0; i < 2; i++)
			carom_release_mesh(s[i].mesh);
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
	CHECK(met > 40 && inside > 5);
}

/// As a rigid ball holds them: spheres that begin inside have the same impacts with a solid of its triangles, and contacts lead
/// them out, so that the next step begins outside.
TEST(sphere_impacts, a_solid_that_deforms_holds_no_sphere_in)
{
	static ways w;
	uint64_t seed = 5;
	carom_context *context = fixture_context(1);
	carom_mesh *ball = fixture_sphere_mesh(context, 0.5, 12);
	make_ways(&w, &seed, 0.4, 0.3);
	carom_body_impact rigid[SPHERES];
	int32_t count = 0;
	for (int deforms = 0; deforms < 2; deforms++) {
		carom_world *world = fixture_world(context, NULL);
		const carom_body_id id = add_spheres(world, &w, true);
		fixture_add(world, fixture_of_mesh(ball), fixture_at(0, 0, 0), deforms ? CAROM_DEFORMABLE : CAROM_STATIC);
		send_all(world, id, &w);
		fixture_step(world);
		const carom_body_impact_view view = carom_world_body_impacts(world);
		for (int32_t i = 0; i < view.count && deforms; i++) {
			const carom_body_impact *a = &view.data[i];
			for (int32_t k = 0; k < count; k++) {
				const carom_body_impact *b = &rigid[k];
				if (a->shape_a != b->shape_a || a->status != CAROM_TOI_TOUCHING || b->status != CAROM_TOI_TOUCHING)
					continue;
				CHECK_NEAR(a->distance, b->distance, 1e-6);
				CHECK(is_near(a->normal, b->normal) && is_near(a->point, b->point));
			}
		}
		const carom_sphere_contact_view out = carom_world_sphere_contacts(world);
		int led = 0;
		for (int64_t i = 0; i < out.count; i++) {
			const double *at = &w.end[3 * out.data[i].sphere];
			const v3d p = v3d_from_doubles(at), n = { out.data[i].normal.x, out.data[i].normal.y, out.data[i].normal.z };
			led += v3d_length(p) < 0.45 && v3d_dot(p, n) > 0 &&
				v3d_length(v3d_mad(p, out.data[i].depth, n)) > 0.48 + w.radii[out.data[i].sphere];
		}
		CHECK(led > SPHERES / 3);
		count = view.count;
		REQUIRE(count <= SPHERES);
		memcpy(rigid, view.data, (size_t)count * sizeof *rigid);
		carom_destroy_world(world);
	}
	CHECK(count > SPHERES / 2);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

// ---- What a user may ask for ----

static int32_t count_impacts(const carom_world *world) { return carom_world_body_impacts(world).count; }

/// A floor, and spheres that fall through it.
static void make_rain(ways *w)
{
	for (int i = 0; i < SPHERES; i++) {
		w->radii[i] = 0.05;
		for (int k = 0; k < 3; k++)
			w->begin[3 * i + k] = w->end[3 * i + k] = k == 2 ? 1 : 0.2 * (k == 0 ? i % 8 : i / 8) - 0.7;
		w->end[3 * i + 2] = -1;
	}
}

TEST(sphere_impacts, only_of_spheres_that_come_from_somewhere)
{
	static ways w;
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	make_rain(&w);
	fixture_add(world, fixture_box(1, 1, 0.01), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id id = add_spheres(world, &w, true), other = add_spheres(world, &w, false);
	REQUIRE(carom_world_set_filter(world, id, 1, UINT32_MAX, -1) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_filter(world, other, 1, UINT32_MAX, -1) == CAROM_SUCCESS); // they do not meet each other
	send_all(world, id, &w);
	send_all(world, other, &w);
	fixture_step(world);
	CHECK_INT(count_impacts(world), SPHERES); // those of the continuous body
	const carom_body_impact *first = carom_world_earliest_body_impact(world, id);
	REQUIRE(first != NULL);
	CHECK_NEAR(first->time, (1 - 0.05 - 0.01) / 2, 0.001);
	CHECK_NEAR(first->normal.z, -1, 1e-6); // the floor is A
	CHECK(carom_world_earliest_body_impact(world, other) == NULL);
	fixture_step(world);
	CHECK_INT(count_impacts(world), 0); // they rest
	REQUIRE(send(world, id, SPHERES, w.begin, NULL) == CAROM_SUCCESS);
	REQUIRE(send(world, id, SPHERES, w.end, NULL) == CAROM_SUCCESS); // back before the step
	fixture_step(world);
	CHECK_INT(count_impacts(world), 0);
	REQUIRE(send(world, id, SPHERES - 1, w.begin, w.radii) == CAROM_SUCCESS); // others
	fixture_step(world);
	CHECK_INT(count_impacts(world), 0);
	REQUIRE(send(world, id, SPHERES - 1, w.end, NULL) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(count_impacts(world), SPHERES - 1);
	REQUIRE(carom_world_set_filter(world, id, 1, 0, 0) == CAROM_SUCCESS); // meets nothing
	REQUIRE(send(world, id, SPHERES - 1, w.begin, NULL) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(count_impacts(world), 0);
	REQUIRE(carom_world_remove_body(world, id) == CAROM_SUCCESS);
	fixture_step(world);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Where they begin ----

/// A step of a solver that stops a ball at its impact with a thin floor and sends it back. Returns whether there was one.
static bool bounce(carom_world *world, carom_body_id id, double *height, double *speed)
{
	const double end[3] = { 0, 0, *height + *speed };
	REQUIRE(send(world, id, 1, end, NULL) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_body_impact *hit = carom_world_earliest_body_impact(world, id);
	const bool met = hit && hit->status == CAROM_TOI_IMPACT;
	*height += *speed * (met ? hit->time : 1);
	if (!met)
		return false;
	CHECK(hit->normal.z * *speed > 0); // the floor is A, and the ball comes from the side on which it was
	const double stopped[3] = { 0, 0, *height };
	const carom_strided begins = packed(stopped);
	REQUIRE(carom_world_set_sphere_begins(world, id, &begins) == CAROM_SUCCESS);
	*speed = -*speed;
	return true;
}

TEST(sphere_impacts, a_sphere_goes_on_from_where_a_solver_has_stopped_it)
{
	static const double start[3] = { 0, 0, 1 }, radius = 0.02;
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_box(1, 1, 0.01), fixture_at(0, 0, 0), CAROM_STATIC);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = 1;
	def.centres = packed(start);
	def.radii = packed(&radius);
	def.continuous = true;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	fixture_tape tape = { 0 };
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	double height = 1, speed = -2;
	CHECK(bounce(world, id, &height, &speed));
	CHECK_NEAR(height, 0.03, 0.001);
	CHECK(!bounce(world, id, &height, &speed)); // up
	CHECK_NEAR(height, 2.03, 0.001);
	// Without a begin it would come from where it was at the last step.
	height = 0.5;
	speed = -1;
	CHECK(bounce(world, id, &height, &speed));
	CHECK_NEAR(height, 2.03 - 2.53 * 2 / 2.53, 0.6);
	const uint64_t hash = carom_world_hash(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK(result.hash == hash && result.steps == 3);
	free(tape.bytes);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(sphere_impacts, begins_count_until_the_step_and_for_so_many_spheres)
{
	static ways w;
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	make_rain(&w);
	fixture_add(world, fixture_box(1, 1, 0.01), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id id = add_spheres(world, &w, true);
	send_all(world, id, &w);
	fixture_step(world); // below the floor
	const carom_strided above = packed(w.begin), below = packed(w.end);
	REQUIRE(carom_world_set_sphere_begins(world, id, &above) == CAROM_SUCCESS);
	fixture_step(world); // they have not moved, but come from above
	CHECK_INT(count_impacts(world), SPHERES);
	fixture_step(world);
	CHECK_INT(count_impacts(world), 0);
	REQUIRE(carom_world_set_sphere_begins(world, id, &above) == CAROM_SUCCESS);
	send_all(world, id, &w); // keeps it
	fixture_step(world);
	CHECK_INT(count_impacts(world), SPHERES);
	REQUIRE(send(world, id, SPHERES - 1, w.begin, w.radii) == CAROM_SUCCESS); // new ones
	REQUIRE(carom_world_set_sphere_begins(world, id, &below) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(count_impacts(world), SPHERES - 1);
	REQUIRE(carom_world_set_sphere_begins(world, id, &below) == CAROM_SUCCESS);
	REQUIRE(send(world, id, SPHERES, w.begin, w.radii) == CAROM_SUCCESS); // new ones without
	fixture_step(world);
	CHECK_INT(count_impacts(world), 0);

	const carom_body_id other = add_spheres(world, &w, false);
	double wrong[3 * SPHERES] = { 0 };
	wrong[4] = NAN;
	const carom_strided bad = packed(wrong);
	fixture_expect_wrong(context, carom_world_set_sphere_begins(world, id, &bad), "begins: y of sphere 1 is nan, not finite");
	fixture_expect_wrong(context, carom_world_set_sphere_begins(world, id, NULL), "begins is NULL");
	fixture_expect_wrong(context, carom_world_set_sphere_begins(world, other, &above), "the body is not continuous");
	CHECK_INT(carom_world_set_sphere_begins(world, (carom_body_id){ 99, 0 }, &above), CAROM_INVALID_BODY);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

static bool refuse(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)a, (void)b, (void)user;
	return data_a != 7 && data_b != 7;
}

TEST(sphere_impacts, sensors_and_filters_count)
{
	static ways w;
	carom_context *context = fixture_context(1);
	carom_world_def settings = carom_default_world_def();
	settings.pair_filter = refuse;
	carom_world *world = fixture_world(context, &settings);
	make_rain(&w);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.shape = fixture_box(1, 1, 0.01);
	def.sensor = true;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	def.user_data = 7;
	def.sensor = false;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS); // refused
	const carom_body_id grains = add_spheres(world, &w, true);
	send_all(world, grains, &w);
	fixture_step(world);
	const carom_body_impact_view view = carom_world_body_impacts(world);
	CHECK_INT(view.count, SPHERES);
	for (int32_t i = 0; i < view.count; i++)
		CHECK(view.data[i].sensor && view.data[i].shape_b == i);
	CHECK(carom_world_earliest_body_impact(world, (carom_body_id){ 0, 0 }) == NULL);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(sphere_impacts, refused_settings_name_field_and_reason)
{
	static ways w;
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	make_rain(&w);
	carom_body_def good = carom_default_body_def();
	good.kind = CAROM_GRANULAR;
	good.sphere_count = SPHERES;
	good.centres = packed(w.begin);
	good.radii = packed(w.radii);
	carom_body_id id;
	carom_body_def def = good;
	def.sensor = true;
	fixture_expect_wrong(
		context, carom_world_add_body(world, &def, &id), "sensor is set, but kind is CAROM_GRANULAR: spheres have contacts");
	def = good;
	def.shape = fixture_sphere(1);
	fixture_expect_wrong(context, carom_world_add_body(world, &def, &id),
		"shape is set, but a body whose kind is CAROM_GRANULAR has spheres alone");
	def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.continuous = true;
	def.shape = fixture_sphere(1);
	fixture_expect_wrong(context, carom_world_add_body(world, &def, &id), "only dynamic, kinematic and granular bodies");
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- State, memory, threads ----

/// Steps of a scene with everything in it.
static void fill_scene(carom_world *world, void *user)
{
	obstacles *o = user;
	static ways w;
	uint64_t seed = 5;
	make_ways(&w, &seed, 1, 1);
	for (int i = 0; i < SHAPES; i++)
		fixture_add(world, o->shape[i], o->motion[i].begin, CAROM_STATIC);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(o->mesh[1]);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	id = add_spheres(world, &w, true);
	send_all(world, id, &w);
}

static uint64_t hash_with(int threads, carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	def.simd = simd;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 0;
	uint64_t seed = 8;
	obstacles o;
	make_obstacles(context, &o, &seed);
	carom_world *world = fixture_world(context, NULL);
	fill_scene(world, &o);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	CHECK(count_impacts(world) > 30);
	carom_destroy_world(world);
	free_obstacles(&o);
	carom_destroy_context(context);
	return hash;
}

TEST(sphere_impacts, any_number_of_threads_and_instruction_set_finds_them)
{
	const uint64_t hash = hash_with(1, CAROM_SIMD_AUTO);
	CHECK(hash_with(3, CAROM_SIMD_AUTO) == hash);
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		const uint64_t other = fixture_kernels(fixture_all_simd[i]) ? hash_with(2, fixture_all_simd[i]) : hash;
		CHECK(other == hash);
	}
}

TEST(sphere_impacts, every_allocation_may_fail)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	int failed = 0;
	for (bool done = false; !done;) {
		static ways w;
		carom_world *world = fixture_world(context, NULL);
		make_rain(&w);
		fixture_add(world, fixture_box(1, 1, 0.01), fixture_at(0, 0, 0), CAROM_STATIC);
		const carom_body_id id = add_spheres(world, &w, true);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		const bool sent = send(world, id, SPHERES, w.end, NULL) == CAROM_SUCCESS;
		done = sent && carom_world_step(world) == CAROM_SUCCESS;
		atomic_store(&heap.fail_at, -1);
		failed += !done;
		if (!sent)
			send_all(world, id, &w);
		if (!done) {
			CHECK_INT(count_impacts(world), 0);
			fixture_step(world);
		}
		CHECK_INT(count_impacts(world), SPHERES);
		carom_destroy_world(world);
	}
	CHECK(failed > 8);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(sphere_impacts, come_back_with_snapshots_and_recordings)
{
	static ways w;
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_tape tape = { 0 };
	make_rain(&w);
	fixture_add(world, fixture_box(1, 1, 0.01), fixture_at(0, 0, 0), CAROM_STATIC);
	const carom_body_id id = add_spheres(world, &w, true);
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	send_all(world, id, &w);
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS); // on the way
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(count_impacts(world), SPHERES);
	const uint64_t hash = carom_world_hash(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK(result.hash == hash && result.steps == 1);
	REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(carom_world_hash(world) == hash);
	carom_destroy_snapshot(snapshot);
	free(tape.bytes);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(sphere_impacts, a_restored_body_has_no_way_of_another_one)
{
	static ways w;
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_tape tape = { 0 };
	carom_snapshot *empty, *full;
	make_rain(&w);
	REQUIRE(carom_create_snapshot(world, &empty) == CAROM_SUCCESS && carom_create_snapshot(world, &full) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(world, empty) == CAROM_SUCCESS);
	const carom_body_id first = add_spheres(world, &w, false);
	REQUIRE(carom_world_save(world, full) == CAROM_SUCCESS);
	REQUIRE(carom_world_restore(world, empty) == CAROM_SUCCESS);
	const carom_body_id second = add_spheres(world, &w, true);
	CHECK_INT(second.index1, first.index1);
	send_all(world, second, &w);
	REQUIRE(carom_world_restore(world, full) == CAROM_SUCCESS);
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK(result.hash == hash && result.steps == 1);
	free(tape.bytes);
	carom_destroy_snapshot(empty);
	carom_destroy_snapshot(full);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
