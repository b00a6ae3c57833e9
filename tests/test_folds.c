/// Solids that are folded: points of another body in them are led out of the solid as a whole. The oracle is the winding number, as the
/// sum of solid angles (Jacobson, Kavan and Sorkine-Hornung 2013).
#include "cube_fixture.h"
#include "pool_fixture.h"

#include <math.h>

/// The solid angle of a triangle (Van Oosterom and Strackee 1983).
static double solid_angle(v3d a, v3d b, v3d c)
{
	const double la = v3d_length(a), lb = v3d_length(b), lc = v3d_length(c);
	return 2 * atan2(v3d_dot(a, v3d_cross(b, c)), la * lb * lc + v3d_dot(a, b) * lc + v3d_dot(b, c) * la + v3d_dot(c, a) * lb);
}

/// How often the surface of a cube winds around a place.
static double winding_of(const cube *g, v3d at)
{
	double sum = 0;
	for (int32_t i = 0; i < g->triangle_count; i++) {
		v3d t[3];
		for (int k = 0; k < 3; k++)
			t[k] = v3d_sub(v3d_from_doubles(g->place[g->triangles[i][k]]), at);
		sum += solid_angle(t[0], t[1], t[2]);
	}
	return sum / (4 * 3.14159265358979323846);
}

static void set_places(carom_world *world, carom_body_id id, const cube *g)
{
	const carom_strided end = { .data = g->place, .type = CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(world, id, NULL, &end) == CAROM_SUCCESS);
}

enum { CORNER = 3, BENT = 5, PLACES = TEST_FEWER > 1 ? 6 : 24, MOST_STEPS = 100 };

/// A cube that is folded, and a ball in the fold.
typedef struct scene {
	carom_world *world;
	carom_body_id solid, ball;
	carom_mesh *mesh;
	cube g;
	v3d place;  // of the ball
	int inside; // how often the surface winds around what is inside
} scene;

/// A place in the fold, by its number.
static v3d place_in_fold(int form, int number)
{
	static const v3d beside_corner[] = { { 0.45, 0.45, -0.5 }, { 0.45, 0.45, -0.7 }, { 0.4, 0.4, -0.9 } };
	v3d p = form == CORNER ? beside_corner[number % 3] : (v3d){ 0, 0.3, -0.35 };
	uint64_t seed = 5 + (uint64_t)number;
	p.x += test_random_double(&seed, -0.15, 0.15);
	p.y += test_random_double(&seed, -0.15, 0.15);
	p.z += test_random_double(&seed, -0.15, 0.15);
	return p;
}

static carom_world *open_world(carom_context *context, carom_temporal temporal)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	def.temporal = temporal;
	return fixture_world(context, &def);
}

/// mirrored: the solid is inside out as a whole, too.
static void open_scene(
	scene *s, carom_context *context, int form, bool mirrored, double radius, v3d place, carom_temporal temporal)
{
	s->world = open_world(context, temporal);
	s->mesh = fixture_sphere_mesh(context, radius, 9);
	s->place = place;
	s->inside = mirrored ? -1 : 1;
	make_cube(&s->g, 5, 1);
	s->solid = add_cube(s->world, &s->g);
	spoil_cube(&s->g, form);
	for (int32_t i = 0; mirrored && i < s->g.vertex_count; i++)
		s->g.place[i][1] *= -1;
	s->place.y *= mirrored ? -1 : 1;
	s->ball = fixture_add(s->world, fixture_of_mesh(s->mesh), fixture_at(s->place.x, s->place.y, s->place.z), CAROM_DYNAMIC);
	set_places(s->world, s->solid, &s->g);
	fixture_step(s->world);
	fixture_check_views(s->world);
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->mesh);
}

// ---- Ends of contacts ----

/// How often the surface winds around a place that is not near the surface; else -100.
static int winding_told(const scene *s, v3d at)
{
	const int winding = (int)lround(winding_of(&s->g, at));
	bool is_clear = true;
	for (int k = 0; k < 6 && is_clear; k++) {
		const double way = k % 2 ? -1e-3 : 1e-3;
		const v3d beside = { k / 2 == 0 ? way : 0, k / 2 == 1 ? way : 0, k / 2 == 2 ? way : 0 };
		is_clear = lround(winding_of(&s->g, v3d_add(at, beside))) == winding;
	}
	return is_clear ? winding : -100;
}

static bool is_simple(const scene *s, int winding) { return winding == 0 || winding == s->inside; }

/// Count the contacts of the ball's points, and those of them that lead from one layer into another one. Of a pair without a deep contact
/// nothing is asked.
static int count_between(const scene *s, int *contacts)
{
	const carom_contact_view view = carom_world_contacts(s->world);
	int between = 0;
	for (int i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		REQUIRE(fixture_same_id(c->body_a, s->solid));
		if ((c->kind != CAROM_VERTEX_B && c->kind != CAROM_EDGE_B) || (double)c->depth < 0.01)
			continue;
		(*contacts)++;
		const v3d n = fixture_normal(c), end = v3d_mad(fixture_point(c), -(double)c->depth - 3.2e-3, n);
		const int from = winding_told(s, fixture_point(c)), to = winding_told(s, end);
		between += from != -100 && to != -100 && to != 0 && !(is_simple(s, from) && is_simple(s, to));
		CHECK(isfinite(c->depth) && fabs(v3d_length(n) - 1) < 1e-4);
	}
	return between;
}

TEST(folds, points_are_led_out_of_all_layers)
{
	static scene s;
	carom_context *context = fixture_context(1);
	for (int form = CORNER; form <= BENT; form += BENT - CORNER) {
		for (int mirrored = 0; mirrored < 2; mirrored++) {
			int contacts = 0, between = 0;
			for (int i = 0; i < PLACES; i++) {
				open_scene(&s, context, form, mirrored, 0.3, place_in_fold(form, i), CAROM_TEMPORAL_PREDICTIVE);
				between += count_between(&s, &contacts);
				close_scene(&s);
			}
			CHECK(contacts > 8 * PLACES);
			CHECK_INT(between, 0);
		}
	}
	carom_destroy_context(context);
}

// ---- A solver that follows them ----

/// Move the ball by half of what its contacts say.
static double follow_contacts(scene *s)
{
	const carom_contact_view view = carom_world_contacts(s->world);
	v3d way = { 0, 0, 0 };
	for (int turn = 0; turn < 30; turn++) {
		for (int i = 0; i < view.count; i++) {
			const v3d n = v3d_neg(fixture_normal(&view.data[i]));
			const double lacks = 0.5 * (double)view.data[i].depth - v3d_dot(n, way);
			way = lacks > 0 ? v3d_mad(way, 0.3 * lacks, n) : way;
		}
	}
	const double length = v3d_length(way);
	s->place = v3d_mad(s->place, length > 0.1 ? 0.1 / length : 1, way);
	const carom_pose pose = fixture_at(s->place.x, s->place.y, s->place.z);
	REQUIRE(carom_world_set_poses(s->world, 1, &s->ball, &pose) == CAROM_SUCCESS);
	fixture_step(s->world);
	return length;
}

/// Is the ball out of the solid? What is less deep than a fifteenth of its radius does not count.
static bool is_out(const scene *s, double radius)
{
	bool out = true;
	for (int i = 0; i < 200 && out; i++) {
		const double z = 1 - (2 * i + 1) / 200.0, angle = 2.4 * i, r = sqrt(1 - z * z);
		const v3d direction = { r * cos(angle), r * sin(angle), z };
		out = fabs(winding_of(&s->g, v3d_mad(s->place, 0.93 * radius, direction))) < 0.5;
	}
	return out;
}

static int count_out(carom_context *context, int form, double radius)
{
	static scene s;
	int out = 0;
	for (int i = 0; i < PLACES; i++) {
		open_scene(&s, context, form, false, radius, place_in_fold(form, i), CAROM_TEMPORAL_PREDICTIVE);
		for (int step = 0; step < MOST_STEPS && follow_contacts(&s) > 1e-4; step++) {
		}
		out += is_out(&s, radius);
		close_scene(&s);
	}
	return out;
}

TEST(folds, a_ball_that_follows_its_contacts_gets_out)
{
	carom_context *context = fixture_context(1);
	CHECK_INT(count_out(context, BENT, 0.1), PLACES);
	CHECK(count_out(context, BENT, 0.2) >= PLACES - 1);
	CHECK(count_out(context, CORNER, 0.1) >= PLACES - 1);
	CHECK_INT(count_out(context, CORNER, 0.2), PLACES);
	carom_destroy_context(context);
}

// ---- From step to step ----

static uint64_t run_scene(int threads, carom_temporal temporal, int *contacts)
{
	static scene s;
	carom_context *context = fixture_context(threads);
	uint64_t hash = 0;
	open_scene(&s, context, BENT, false, 0.2, place_in_fold(BENT, 1), temporal);
	for (int i = 2; i < 8; i++) { // more pairs than one
		const v3d p = place_in_fold(BENT, i);
		fixture_add(s.world, fixture_of_mesh(s.mesh), fixture_at(p.x, p.y, p.z), CAROM_STATIC);
	}
	*contacts = 0;
	for (int step = 0; step < 10; step++) {
		follow_contacts(&s);
		hash = 31 * hash + carom_world_hash(s.world);
		*contacts += carom_world_contacts(s.world).count;
	}
	close_scene(&s);
	carom_destroy_context(context);
	return hash;
}

TEST(folds, threads_change_nothing)
{
	pool_require_threads();
	int one, more;
	CHECK(run_scene(TEST_LEAST_THREADS, CAROM_TEMPORAL_PREDICTIVE, &one) == run_scene(3, CAROM_TEMPORAL_PREDICTIVE, &more));
	CHECK_INT(one, more);
	CHECK(one > 100);
}
