/// Cloth and soft bodies: forces against what mechanics says, and that nothing ever passes through anything, whatever is done to it.
#include "soft_fixture.h"
#include "test.h"

#include "carom/sweep.h"
#include "scene/soft_fill.h"
#include "sim/shapes/form.h"
#include "sim/base/rotations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Scenes from text ----

static carom_context *make_context(int threads, carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	carom_context *context = NULL;
	def.thread_count = threads;
	def.simd = simd;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

static sim_soft_step advance(sim_soft *soft)
{
	sim_soft_step step = { 0 };
	sim_error error = { "" };
	const bool done = sim_soft_advance(soft, &step, &error);
	CHECK_STR(error.text, "");
	REQUIRE(done);
	return step;
}

static int32_t crossings(const sim_soft *soft)
{
	int32_t count = -1;
	REQUIRE(sim_soft_count_crossings(soft, &count));
	return count;
}

static void centre_of(const sim_soft *soft, int32_t body, double centre[3])
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	const int32_t first = s.body_vertices[body], end = s.body_vertices[body + 1];
	for (int k = 0; k < 3; k++) {
		centre[k] = 0;
		for (int32_t i = first; i < end; i++)
			centre[k] += s.places[3 * (int64_t)i + k] / (end - first);
	}
}

// ---- Forces ----

// Two corners are held, the third hangs from two sides: each carries half of its weight, and is longer by its force over its stiffness.
TEST(soft, a_hanging_corner_stretches_as_hooke_says)
{
	static const double places[9] = { 0, 0, 0, 1, 0, 0, 0.5, -1, 0 };
	static const int32_t triangle[3] = { 0, 2, 1 }, pins[3] = { SIM_SOFT_PINNED, SIM_SOFT_PINNED, SIM_SOFT_FREE };
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft_def def = sim_default_soft_def();
	sim_soft_body body = sim_default_soft_body();
	sim_error error = { "" };
	body.vertex_count = 3;
	body.triangle_count = 1;
	body.places = places;
	body.triangles = triangle;
	body.pins = pins;
	body.density = 3;
	body.stiffness = 500;
	def.bodies = &body;
	def.body_count = 1;
	def.damping = 4;
	sim_soft *soft = sim_create_soft(context, &def, &error);
	CHECK_STR(error.text, "");
	REQUIRE(soft != NULL);
	sim_soft_step step = { 0 };
	for (int i = 0; i < 1200; i++)
		step = advance(soft);
	const double area = 0.5, mass = body.density * area / 3, length = sqrt(1.25);
	const double y = sim_soft_get_surface(soft).places[7], now = sqrt(0.25 + y * y);
	const double spring = body.stiffness * area / (length * length), pull = spring * (now - length);
	CHECK_NEAR(2 * pull * -y / now, mass * 9.81, 0.002 * mass * 9.81);
	CHECK(step.kinetic_energy < 1e-12);
	CHECK_NEAR(step.stretch_worst, now / length - 1, 1e-7);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

TEST(soft, a_sheet_held_along_an_edge_comes_to_rest_hardly_longer)
{
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft *soft = fixture_start_soft(context,
		"{\"time_step\": 0.008333333333333333, \"deforming\": {\"solver\": {\"damping\": 3}, \"list\": [{\"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [12, 12], \"density\": 0.3,"
		"  \"pins\": [{\"lower\": [-1, -1, -0.51], \"upper\": [1, 1, -0.49]}]}]}}");
	sim_soft_step step = { 0 };
	double worst = 0;
	for (int i = 0; i < 600; i++) {
		step = advance(soft);
		worst = fmax(worst, step.stretch_worst);
	}
	const sim_soft_surface s = sim_soft_get_surface(soft);
	double lowest = 0;
	for (int32_t i = 0; i < s.vertex_count; i++)
		lowest = fmin(lowest, s.places[3 * (int64_t)i + 1]);
	CHECK(step.kinetic_energy < 1e-6);
	// Its weight, 2.9 N, on 2,000 N/m: an eighth of a percent at the top, half of it on the whole; springs along edges give way a bit more.
	CHECK_NEAR(lowest, -1.001, 0.002);
	CHECK(step.stretch_worst < 0.004);
	CHECK(worst < 0.05);
	CHECK_INT(crossings(soft), 0);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

// Before constraints were visited there and back, errors of rounding grew tenfold in each of these steps.
TEST(soft, a_large_sheet_falls_freely_without_shaking)
{
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft *soft = fixture_start_soft(context,
		"{\"time_step\": 0.008333333333333333, \"deforming\": {\"list\": [{\"form\": \"sheet\", \"size\": [2, 2], \"divisions\": [120, 120]}], \"solver\": {\"damping\": 0}}}");
	sim_soft_step step = { 0 };
	for (int i = 0; i < 20; i++)
		step = advance(soft);
	double centre[3];
	centre_of(soft, 0, centre);
	const double h = 1.0 / 120 / 16, n = 20 * 16;
	CHECK_NEAR(centre[1], -0.5 * 9.81 * h * h * n * (n + 1), 1e-10);
	CHECK_NEAR(centre[0], 0, 1e-12);
	CHECK(step.stretch_worst < 1e-13);
	CHECK_INT(step.impacts, 0);
	CHECK_INT(step.searches, 2);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

static double volume_of(const sim_soft *soft, int32_t body)
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	double six = 0;
	for (int32_t t = s.body_triangles[body]; t < s.body_triangles[body + 1]; t++) {
		const int32_t *v = s.triangles + 3 * (int64_t)t;
		const double *a = s.places + 3 * (int64_t)v[0], *b = s.places + 3 * (int64_t)v[1], *c = s.places + 3 * (int64_t)v[2];
		six += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
	}
	return six / 6;
}

// No gravity: what one gives the other takes. They part no faster than they met, and keep their volume.
TEST(soft, two_soft_balls_keep_momentum_and_volume)
{
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft *soft = fixture_start_soft(context,
		"{\"time_step\": 0.008333333333333333, \"gravity\": [0, 0, 0], \"deforming\": {\"solver\": {\"damping\": 0}, \"list\": ["
		" {\"form\": \"sphere\", \"radius\": 0.2, \"divisions\": [12, 9], \"keeps_volume\": true, \"position\": [-0.3, 0, 0], \"velocity\": [2, 0, 0],"
		"  \"friction\": 0},"
		" {\"form\": \"sphere\", \"radius\": 0.2, \"divisions\": [12, 9], \"keeps_volume\": true, \"position\": [0.3, 0.05, 0.02], \"velocity\": [-1, 0, 0],"
		"  \"friction\": 0}]}}");
	const double volume = volume_of(soft, 0);
	double before[2][3], after[2][3], least = INFINITY;
	int64_t impacts = 0;
	for (int body = 0; body < 2; body++)
		centre_of(soft, body, before[body]);
	for (int i = 0; i < 60; i++) {
		const sim_soft_step step = advance(soft);
		impacts += step.impacts;
		least = fmin(least, fmin(volume_of(soft, 0), volume_of(soft, 1)));
		CHECK_INT(crossings(soft), 0);
	}
	for (int body = 0; body < 2; body++)
		centre_of(soft, body, after[body]);
	CHECK(impacts > 0);
	CHECK(least > 0.97 * volume && least < volume);
	const double middle = 0.5 * (after[0][0] + after[1][0] - before[0][0] - before[1][0]);
	CHECK(after[1][0] - after[0][0] > 0.39);
	CHECK(after[1][0] - after[0][0] < 0.4 + 3 * 0.5 - 0.2);
	CHECK_NEAR(middle, 0.25, 0.02); // the mean of vertices is not quite the centre of mass
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

// A sheet on a slope of 30 degrees, whose tangent is 0.577: it slides as a block would, or stays. Its way does not cross the slope's
// diagonal.
static double slide(double friction)
{
	char text[600];
	snprintf(text, sizeof text,
		"{\"time_step\": 0.008333333333333333, \"deforming\": {\"solver\": {\"damping\": 0}, \"movers\": [{\"form\": \"sheet\", \"size\": [6, 6], \"divisions\": [1, 1], \"friction\": %g,"
		"  \"rotation\": {\"axis\": [0, 0, 1], \"degrees\": 30}}],"
		" \"list\": [{\"form\": \"sheet\", \"size\": [0.5, 0.5], \"divisions\": [8, 8], \"friction\": %g, \"stiffness\": 20000,"
		"  \"position\": [0.865, 0.5017, -1.5], \"rotation\": {\"axis\": [0, 0, 1], \"degrees\": 30}}]}}",
		friction, friction);
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft *soft = fixture_start_soft(context, text);
	double before[3], after[3];
	centre_of(soft, 1, before);
	for (int i = 0; i < 120; i++)
		advance(soft);
	centre_of(soft, 1, after);
	CHECK_INT(crossings(soft), 0);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	return hypot(after[0] - before[0], after[1] - before[1]);
}

TEST(soft, friction_holds_or_brakes_on_a_slope)
{
	const double g = 9.81;
	CHECK(slide(0.7) < 0.003);
	const double free_way = 0.5 * g * 0.5, braked = 0.5 * g * (0.5 - 0.3 * sqrt(0.75));
	CHECK_NEAR(slide(0), free_way, 0.02 * free_way);
	CHECK_NEAR(slide(0.3), braked, 0.1 * braked); // it falls the last millimetre, and that is braked too
}

// ---- Nothing passes through anything ----

static const char cloth_ball[] =
	"{\"time_step\": 0.008333333333333333, \"deforming\": {\"resolution\": 0.12, \"thickness\": 0.004, \"movers\": ["
	" {\"name\": \"ball\", \"form\": \"sphere\", \"radius\": 0.7, \"divisions\": [80, 60], \"friction\": 1,"
	"  \"motion\": {\"spin\": {\"degrees_per_second\": 300}, \"ramp\": 0.2}}],"
	" \"list\": [{\"form\": \"sheet\", \"size\": [2.8, 2.8], \"divisions\": [214, 214], \"position\": [0.03, 0.75, 0.02],"
	"  \"velocity\": [0, -3, 0]}]}}";

static const char skirt[] =
	"{\"time_step\": 0.008333333333333333, \"deforming\": {\"thickness\": 0.003, \"movers\": ["
	" {\"name\": \"hips\", \"form\": \"sphere\", \"radius\": 0.19, \"divisions\": [12, 7], \"position\": [0, -0.1, 0],"
	"  \"motion\": {\"swing\": {\"degrees\": 150, \"period\": 0.6}}},"
	" {\"form\": \"capsule\", \"radius\": 0.08, \"length\": 0.7, \"divisions\": [8, 7], \"position\": [0, -0.3, 0],"
	"  \"motion\": {\"swing\": {\"axis\": [1, 0, 0], \"degrees\": 40, \"period\": 0.5}}}],"
	" \"list\": [{\"form\": \"skirt\", \"radius\": 0.23, \"hem_radius\": 0.45, \"length\": 0.6, \"folds\": 10, \"fold_depth\": 0.07,"
	"  \"divisions\": [80, 10], \"flat\": true, \"pins\": [{\"lower\": [-1, -0.01, -1], \"to\": \"hips\"}]}]}}";

static const char rain[] =
	"{\"time_step\": 0.008333333333333333, \"deforming\": {\"movers\": [{\"form\": \"bowl\", \"radius\": 0.8, \"length\": 0.5, \"divisions\": [10, 4]}],"
	" \"list\": [{\"form\": \"triangles\", \"count\": 150, \"size\": [0.8, 0.6, 0.8], \"radius\": 0.1, \"position\": [0, 0.9, 0]},"
	" {\"form\": \"cone\", \"radius\": 0.1, \"length\": 0.2, \"divisions\": [6, 4], \"keeps_volume\": true, \"position\": [-0.2, 1.4, 0],"
	"  \"stiffness\": 300, \"velocity\": [0, -2, 0], \"grid\": {\"count\": [3, 2, 1], \"spacing\": [0.25, 0.3, 0.3]}, \"jitter\": {\"degrees\": 90}}]}}";

// Straight lines between the places of two steps, searched again for impacts without any thickness.
typedef struct witness {
	carom_sweep *sweep;
	sim_soft_surface surface;
	double *last;
} witness;

static witness watch(carom_context *context, const sim_soft *soft)
{
	witness w = { .surface = sim_soft_get_surface(soft) };
	carom_sweep_def def = carom_default_sweep_def();
	def.tolerance = 1e-9;
	REQUIRE(carom_create_sweep(context, &def, &w.sweep) == CAROM_SUCCESS);
	for (int32_t body = 0; body < w.surface.body_count; body++) {
		const int32_t first = w.surface.body_triangles[body], count = w.surface.body_triangles[body + 1] - first;
		int32_t *triangles = malloc((size_t)count * 3 * sizeof *triangles), number;
		REQUIRE(triangles != NULL);
		for (int32_t i = 0; i < 3 * count; i++)
			triangles[i] = w.surface.triangles[3 * (int64_t)first + i] - w.surface.body_vertices[body];
		carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
		mesh.vertex_count = w.surface.body_vertices[body + 1] - w.surface.body_vertices[body];
		mesh.vertices = (carom_strided){ w.surface.places + 3 * (int64_t)w.surface.body_vertices[body], 0, CAROM_FLOAT64 };
		mesh.triangles = triangles;
		mesh.triangle_count = count;
		mesh.is_rigid = sim_soft_is_rigid(soft, body);
		REQUIRE(carom_sweep_add_mesh(w.sweep, &mesh, &number) == CAROM_SUCCESS);
		free(triangles);
	}
	return w;
}

static int64_t impacts_since(witness *w)
{
	carom_sweep_hits hits = { 0 };
	for (int32_t body = 0; body < w->surface.body_count; body++) {
		const carom_strided end = { w->surface.places + 3 * (int64_t)w->surface.body_vertices[body], 0, CAROM_FLOAT64 };
		REQUIRE(carom_sweep_move_mesh(w->sweep, body, &end) == CAROM_SUCCESS);
	}
	REQUIRE(carom_sweep_find(w->sweep, &hits) == CAROM_SUCCESS);
	return hits.count;
}

typedef struct watched {
	int64_t impacts, zones;
	uint64_t hash;
} watched;

/// Run a scene for the hash behind each step; crossings are counted at the end alone, since the cases above
/// watch these scenes at each step. hashes: [steps].
static void run_for_hashes(const char *text, int steps, int threads, carom_simd simd, uint64_t *hashes)
{
	carom_context *context = make_context(threads, simd);
	sim_soft *soft = fixture_start_soft(context, text);
	for (int i = 0; i < steps; i++) {
		advance(soft);
		hashes[i] = sim_soft_hash(soft);
	}
	CHECK_INT(crossings(soft), 0);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

static watched run_watched(const char *text, int steps, int threads, carom_simd simd)
{
	carom_context *context = make_context(threads, simd);
	sim_soft *soft = fixture_start_soft(context, text);
	witness w = watch(context, soft);
	watched result = { 0 };
	for (int i = 0; i < steps; i++) {
		const sim_soft_step step = advance(soft);
		result.impacts += step.impacts;
		result.zones += step.zones;
		CHECK_INT(impacts_since(&w), 0);
		CHECK_INT(crossings(soft), 0);
	}
	result.hash = sim_soft_hash(soft);
	carom_destroy_sweep(w.sweep);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	return result;
}

TEST(soft, cloth_on_a_turning_ball_never_crosses)
{
	CHECK(run_watched(cloth_ball, TEST_FEWER > 1 ? 35 : 80, 2, CAROM_SIMD_AUTO).impacts > 1000 / TEST_FEWER);
}

TEST(soft, a_skirt_in_folds_never_crosses)
{
	CHECK(run_watched(skirt, TEST_FEWER > 1 ? 35 : 50, 2, CAROM_SIMD_AUTO).impacts > 1000 / TEST_FEWER);
}

TEST(soft, bodies_and_triangles_in_a_bowl_never_cross) { CHECK(run_watched(rain, 80, 2, CAROM_SIMD_AUTO).impacts > 1000); }

#define BALL "\"meshes\": {\"ball\": {\"shape\": \"sphere\", \"triangles\": 320, \"fit\": [1, 1, 1], \"centre\": true}}"
#define RAG "\"list\": [{\"form\": \"sheet\", \"size\": [1.5, 1.5], \"divisions\": [12, 12]}]"

// A body that is led takes the way of a mover that goes by itself, and the cloth over it goes along.
TEST(soft, a_led_body_pushes_as_a_mover_does)
{
	enum { STEPS = 40 };
	carom_context *context = make_context(2, CAROM_SIMD_AUTO);
	sim_soft *alone = fixture_start_soft(context,
		"{\"time_step\": 0.01, " BALL ", \"deforming\": {" RAG ", \"movers\": [{\"mesh\": \"ball\", \"friction\": 0.3,"
		"  \"position\": [0.1, -0.6, 0], \"motion\": {\"velocity\": [0, 1.5, 0.25]}}]}}");
	sim_soft *led = fixture_start_soft(context,
		"{\"time_step\": 0.01, " BALL ", \"deforming\": {" RAG ", \"obstacles\": [\"ball\"]}, \"bodies\": {\"list\": ["
		"  {\"name\": \"ball\", \"mesh\": \"ball\", \"friction\": 0.3, \"position\": [0.1, -0.6, 0], \"kind\": \"kinematic\"}]}}");
	CHECK(!sim_soft_is_rigid(led, 0) && sim_soft_is_rigid(led, 1));
	for (int i = 1; i <= STEPS; i++) {
		const double time = i * 0.01;
		sim_soft_lead(led, 1, (carom_pose){ { 0.1, -0.6 + 1.5 * time, 0.25 * time }, { 0, 0, 0, 1 } });
		advance(alone);
		advance(led);
	}
	double a[3], b[3];
	centre_of(alone, 0, a);
	centre_of(led, 1, b);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(a[k], b[k], 1e-12);
	CHECK_NEAR(b[1], 0, 1e-3);
	centre_of(alone, 1, a);
	centre_of(led, 0, b);
	// Bodies are in another order, and so are the constraints: the ball throws the cloth, and folds take other ways.
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(a[k], b[k], 0.03);
	CHECK(b[1] > -0.1); // it would have fallen by 0.78
	CHECK_INT(crossings(led), 0);
	centre_of(led, 1, a);
	advance(led); // without a word it stays
	centre_of(led, 1, b);
	CHECK(memcmp(a, b, sizeof a) == 0);
	sim_destroy_soft(led);
	sim_destroy_soft(alone);
	carom_destroy_context(context);
}

// ---- Bodies that are pushed back ----

/// A rigid ball that the test moves by what it feels.
typedef struct pushed {
	sim_soft *soft;
	int32_t body; // in the simulation
	double mass, inertia, at[3], velocity[3], spin[3];
	carom_quat turned;
} pushed;

/// A step; drag is the part of the velocities that is lost. Returns the impulse upward that the ball felt.
static double push_on(pushed *p, double step, double gravity, double drag)
{
	const double angle = step * sqrt(p->spin[0] * p->spin[0] + p->spin[1] * p->spin[1] + p->spin[2] * p->spin[2]);
	p->velocity[1] -= step * gravity;
	for (int k = 0; k < 3; k++) {
		p->velocity[k] *= 1 - drag;
		p->at[k] += step * p->velocity[k];
	}
	if (angle > 0) {
		const double share = sin(0.5 * angle) * step / angle;
		const carom_quat by = { share * p->spin[0], share * p->spin[1], share * p->spin[2], cos(0.5 * angle) };
		p->turned = sim_unit_quat(sim_multiply(by, p->turned));
	}
	sim_soft_lead(p->soft, p->body, (carom_pose){ { p->at[0], p->at[1], p->at[2] }, p->turned });
	advance(p->soft);
	const sim_soft_reaction felt = sim_soft_get_reaction(p->soft, p->body);
	for (int k = 0; k < 3; k++) {
		p->velocity[k] += felt.impulse[k] / p->mass;
		p->spin[k] = (1 - drag) * (p->spin[k] + felt.angular_impulse[k] / p->inertia);
	}
	return felt.impulse[1];
}

/// Momentum, and angular momentum about the origin, of a body that deforms, by the areas around its vertices at the start.
static void add_momentum(
	const sim_soft_surface *s, const double *start, int32_t body, double density, double momentum[3], double angular[3])
{
	for (int32_t t = s->body_triangles[body]; t < s->body_triangles[body + 1]; t++) {
		const int32_t *c = &s->triangles[3 * t];
		double u[3], v[3], cross[3];
		for (int k = 0; k < 3; k++) {
			u[k] = start[3 * c[1] + k] - start[3 * c[0] + k];
			v[k] = start[3 * c[2] + k] - start[3 * c[0] + k];
		}
		for (int k = 0; k < 3; k++)
			cross[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
		const double mass = density / 6 * sqrt(cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]);
		for (int i = 0; i < 3; i++) {
			const double *x = &s->places[3 * c[i]], *w = &s->velocities[3 * c[i]];
			for (int k = 0; k < 3; k++) {
				momentum[k] += mass * w[k];
				angular[k] += mass * (x[(k + 1) % 3] * w[(k + 2) % 3] - x[(k + 2) % 3] * w[(k + 1) % 3]);
			}
		}
	}
}

// A soft ball hits a rigid one off its middle, where nothing pulls: the two keep their momentum, and all but their spin.
TEST(soft, a_collision_keeps_momentum)
{
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	pushed p = { .mass = 0.4, .inertia = 0.4 * 0.4 * 0.25, .body = 1, .turned = { 0, 0, 0, 1 } };
	p.soft = fixture_start_soft(context,
		"{\"time_step\": 0.005, \"gravity\": [0, 0, 0], " BALL
		", \"deforming\": {\"solver\": {\"damping\": 0}, \"obstacles\": [\"ball\"],"
		" \"two_way\": true, \"list\": [{\"form\": \"sphere\", \"radius\": 0.4, \"divisions\": [16, 12], \"keeps_volume\": true, \"density\": 0.3,"
		"  \"friction\": 0.5, \"position\": [0.2, 1, 0], \"velocity\": [0, -3, 0]}]}, \"bodies\": {\"list\": ["
		"  {\"name\": \"ball\", \"mesh\": \"ball\", \"friction\": 0.5, \"position\": [0, 0, 0]}]}}");
	const sim_soft_surface s = sim_soft_get_surface(p.soft);
	double *rest = malloc((size_t)s.vertex_count * 3 * sizeof *rest), before[2][3] = { { 0 } };
	REQUIRE(rest != NULL);
	memcpy(rest, s.places, (size_t)s.vertex_count * 3 * sizeof *rest);
	add_momentum(&s, rest, 0, 0.3, before[0], before[1]);
	for (int step = 0; step < 120 / TEST_FEWER; step++) {
		push_on(&p, 0.005, 0, 0);
		double now[2][3] = { { 0 } };
		add_momentum(&s, rest, 0, 0.3, now[0], now[1]);
		for (int k = 0; k < 3; k++) {
			const int u = (k + 1) % 3, v = (k + 2) % 3;
			now[0][k] += p.mass * p.velocity[k];
			now[1][k] += p.mass * (p.at[u] * p.velocity[v] - p.at[v] * p.velocity[u]) + p.inertia * p.spin[k];
			CHECK_NEAR(now[0][k], before[0][k], 1e-9 * fabs(before[0][1]));
			CHECK_NEAR(now[1][k], before[1][k], 0.02 * fabs(before[1][2]));
		}
	}
	CHECK(TEST_FEWER > 1 || (p.velocity[1] < -0.5 && p.velocity[0] < -0.1 && fabs(p.spin[2]) > 0.1));
	CHECK_INT(crossings(p.soft), 0);
	free(rest);
	sim_destroy_soft(p.soft);
	carom_destroy_context(context);
}

// A ball falls on a sheet that is held at its rim: in the end the sheet carries its weight.
TEST(soft, a_sheet_carries_a_ball)
{
	enum { STEPS = 700, LAST = 200 };
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	pushed p = { .mass = 0.5, .inertia = 0.5 * 0.4 * 0.25, .body = 1, .at = { 0, 0.6, 0 }, .turned = { 0, 0, 0, 1 } };
	p.soft = fixture_start_soft(context,
		"{\"time_step\": 0.005, " BALL
		", \"deforming\": {\"solver\": {\"damping\": 2}, \"obstacles\": [\"ball\"], \"two_way\": true, \"list\": ["
		" {\"form\": \"sheet\", \"size\": [2, 2], \"divisions\": [10, 10], \"density\": 0.2, \"stretch_limit\": 0, \"stiffness\": 400, \"pins\": ["
		"  {\"lower\": [-1.1, -1, -1.1], \"upper\": [-0.99, 1, 1.1]}, {\"lower\": [0.99, -1, -1.1], \"upper\": [1.1, 1, 1.1]},"
		"  {\"lower\": [-1.1, -1, -1.1], \"upper\": [1.1, 1, -0.99]}, {\"lower\": [-1.1, -1, 0.99], \"upper\": [1.1, 1, 1.1]}]}]},"
		" \"bodies\": {\"list\": [{\"name\": \"ball\", \"mesh\": \"ball\", \"position\": [0, 0.6, 0]}]}}");
	double carried = 0;
	for (int step = 0; step < STEPS / TEST_FEWER; step++) {
		const double felt = push_on(&p, 0.005, 9.81, 0.02);
		carried += step >= STEPS - LAST ? felt : 0;
	}
	if (TEST_FEWER == 1) {
		CHECK_NEAR(carried / (LAST * 0.005), p.mass * 9.81, 0.01 * p.mass * 9.81);
		CHECK_NEAR(p.velocity[1], 0.005 * 9.81, 0.02); // it rests: gravity takes it away before each move
		CHECK(p.at[1] > -0.5 && p.at[1] < 0.5);
	}
	CHECK_INT(crossings(p.soft), 0);
	sim_destroy_soft(p.soft);
	carom_destroy_context(context);
}

// Without rounds everything is left to the last resort.
TEST(soft, zones_alone_keep_all_apart)
{
	static const char section[] = "\"deforming\": {", solver[] = "\"solver\": {\"substeps\": 4, \"solves\": 1, \"rounds\": 0},";
	static const char *const scenes[] = { cloth_ball, skirt, rain };
	for (int i = 0; i < 3; i++) {
		char text[2000];
		const char *rest = strstr(scenes[i], section) + strlen(section);
		snprintf(text, sizeof text, "%.*s%s%s", (int)(rest - scenes[i]), scenes[i], solver, rest);
		CHECK(run_watched(text, TEST_FEWER > 1 ? 30 : 40, 2, CAROM_SIMD_AUTO).zones > 0);
	}
}

// ---- Solids ----

// A turned block, rigid and with mass, is thrown at a sheet that nothing holds, where nothing pulls.
static const char thrown[] =
	"{\"time_step\": 0.004166666666666667, \"gravity\": [0, 0, 0],"
	" \"meshes\": {\"block\": {\"shape\": \"box\", \"triangles\": 48, \"fit\": [0.2, 0.2, 0.2], \"centre\": true}},"
	" \"deforming\": {\"thickness\": 0.006, \"solver\": {\"damping\": 0}, \"list\": ["
	" {\"name\": \"sheet\", \"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [12, 12], \"density\": 0.4, \"friction\": 0.4},"
	" {\"name\": \"block\", \"mesh\": \"block\", \"rigid\": true, \"mass\": 0.6, \"friction\": 0.4,"
	"  \"position\": [0.1, 0.2, 0.05], \"velocity\": [0.5, -3, 0.2],"
	"  \"rotation\": {\"axis\": [1, 0.5, 0.2], \"degrees\": 33}}]}}";

/// The first body deforms and the second one is a cube of side 0.2 and 0.6 kg: their momentum.
static void sum_momentum(const sim_soft *soft, const double *rest, double momentum[3], double angular[3])
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	const double mass = 0.6, inertia = mass * 0.2 * 0.2 / 6;
	double velocity[3], spin[3];
	const carom_pose pose = sim_soft_get_solid(soft, 1, velocity, spin);
	const double at[3] = { pose.position.x, pose.position.y, pose.position.z };
	for (int k = 0; k < 3; k++)
		momentum[k] = angular[k] = 0;
	add_momentum(&s, rest, 0, 0.4, momentum, angular);
	for (int k = 0; k < 3; k++) {
		momentum[k] += mass * velocity[k];
		angular[k] +=
			mass * (at[(k + 1) % 3] * velocity[(k + 2) % 3] - at[(k + 2) % 3] * velocity[(k + 1) % 3]) + inertia * spin[k];
	}
}

// Mechanics: what the sheet gains, the block loses, and no energy comes from anywhere. The block stays as it is.
TEST(soft, solids_and_what_deforms_push_each_other)
{
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft *soft = fixture_start_soft(context, thrown);
	const sim_soft_surface s = sim_soft_get_surface(soft);
	double *rest = malloc((size_t)s.vertex_count * 3 * sizeof *rest), before[2][3], now[2][3], energy = 0.5 * 0.6 * 9.29;
	REQUIRE(rest != NULL);
	memcpy(rest, s.places, (size_t)s.vertex_count * 3 * sizeof *rest);
	sum_momentum(soft, rest, before[0], before[1]);
	double felt = 0;
	for (int i = 0; i < 60 / TEST_FEWER; i++) {
		sim_soft_step step;
		sim_error error = { "" };
		REQUIRE(sim_soft_advance(soft, &step, &error));
		sum_momentum(soft, rest, now[0], now[1]);
		for (int k = 0; k < 3; k++) {
			CHECK_NEAR(now[0][k], before[0][k], 1e-12);
			CHECK_NEAR(now[1][k], before[1][k], 0.02 * fabs(before[1][2])); // friction acts across the gap
		}
		CHECK(step.kinetic_energy <= energy * (1 + 1e-9));
		felt += sim_soft_get_reaction(soft, 1).impulse[1];
		for (int32_t v = s.body_vertices[1] + 1; v < s.body_vertices[2]; v++) {
			double far[2] = { 0, 0 };
			for (int k = 0; k < 3; k++) {
				const int64_t a = 3 * (int64_t)v + k, b = 3 * (int64_t)s.body_vertices[1] + k;
				far[0] += (rest[a] - rest[b]) * (rest[a] - rest[b]);
				far[1] += (s.places[a] - s.places[b]) * (s.places[a] - s.places[b]);
			}
			CHECK_NEAR(far[1], far[0], 1e-13);
		}
	}
	double velocity[3], spin[3];
	sim_soft_get_solid(soft, 1, velocity, spin);
	CHECK_NEAR(felt, 0.6 * (velocity[1] + 3), 1e-12);
	CHECK(velocity[1] > -2.5 && fabs(spin[0]) + fabs(spin[2]) > 0.5);
	CHECK_INT(crossings(soft), 0);
	free(rest);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

// A body that nothing touches flies as mechanics says, and keeps its angular momentum though it tumbles.
TEST(soft, a_solid_alone_falls_freely)
{
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft *soft = fixture_start_soft(context,
		"{\"time_step\": 0.01, \"deforming\": {\"solver\": {\"damping\": 0}, \"list\": ["
		" {\"form\": \"capsule\", \"radius\": 0.1, \"length\": 0.6, \"divisions\": [8, 8], \"rigid\": true, \"mass\": 2, \"velocity\": [1, 2, 0]}]}}");
	double velocity[3], spin[3];
	const carom_vec3 from = sim_soft_get_solid(soft, 0, velocity, spin).position;
	CHECK_NEAR(from.y, -0.3, 1e-7);
	for (int i = 0; i < 20; i++)
		advance(soft);
	const carom_vec3 at = sim_soft_get_solid(soft, 0, velocity, spin).position;
	CHECK_NEAR(at.x - from.x, 0.2, 1e-12);
	CHECK_NEAR(at.y - from.y, 0.4 - 0.5 * 9.81 * 0.04, 0.5 * 9.81 * 0.2 * 0.01 / 16 + 1e-12); // first order in substeps
	CHECK_NEAR(velocity[1], 2 - 9.81 * 0.2, 1e-12);
	CHECK(spin[0] == 0 && spin[1] == 0 && spin[2] == 0);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

// The state of a solid is its pose, velocity and spin: a run that goes on from a tape has the same bits.
TEST(soft, solids_go_on_from_a_tape)
{
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft *soft[2] = { fixture_start_soft(context, thrown), fixture_start_soft(context, thrown) };
	sim_error error = { "" };
	for (int i = 0; i < 14; i++)
		advance(soft[0]);
	sim_tape tape = { .writing = true };
	REQUIRE(sim_soft_move_state(soft[0], &tape, &error));
	tape.writing = false;
	REQUIRE(sim_soft_move_state(soft[1], &tape, &error) && sim_tape_is_done(&tape));
	for (int i = 0; i < 10; i++) {
		advance(soft[0]);
		advance(soft[1]);
		CHECK(sim_soft_hash(soft[0]) == sim_soft_hash(soft[1]));
	}
	sim_free_tape(&tape);
	for (int i = 0; i < 2; i++)
		sim_destroy_soft(soft[i]);
	carom_destroy_context(context);
}

TEST(soft, threads_and_instruction_sets_do_not_show_determinism)
{
	enum { STEPS = 28 / TEST_FEWER };
	static const char *const scenes[] = { cloth_ball, skirt, rain, thrown };
	for (int i = 0; i < 4; i++) {
		uint64_t first[STEPS], now[STEPS];
		run_for_hashes(scenes[i], STEPS, TEST_LEAST_THREADS, CAROM_SIMD_AUTO, first);
		CHECK(first[STEPS - 1] != first[STEPS - 2]);
		if (TEST_LEAST_THREADS == 1) {
			run_for_hashes(scenes[i], STEPS, 2, CAROM_SIMD_AUTO, now);
			CHECK(memcmp(first, now, sizeof now) == 0);
		}
		run_for_hashes(scenes[i], STEPS, 4, CAROM_SIMD_SCALAR, now);
		CHECK(memcmp(first, now, sizeof now) == 0);
	}
}

// Two plates close on a sheet: no place is left for it, and that is said. What was there before stays.
TEST(soft, what_is_squeezed_is_an_error_that_names_it)
{
	carom_context *context = make_context(1, CAROM_SIMD_AUTO);
	sim_soft *soft = fixture_start_soft(context,
		"{\"time_step\": 0.008333333333333333, \"gravity\": [0, 0, 0], \"deforming\": {\"thickness\": 0.001, \"movers\": ["
		" {\"name\": \"press\", \"form\": \"sheet\", \"divisions\": [1, 1], \"size\": [1, 1], \"position\": [0, 0.05, 0], \"motion\": {\"velocity\": [0, -1, 0]}},"
		" {\"name\": \"anvil\", \"form\": \"sheet\", \"divisions\": [1, 1], \"size\": [1, 1], \"position\": [0, -0.02, 0]}],"
		" \"list\": [{\"name\": \"rag\", \"form\": \"sheet\", \"size\": [0.4, 0.4], \"divisions\": [4, 4]}]}}");
	sim_error error = { "" };
	int done = 0;
	while (done < 30 && sim_soft_advance(soft, NULL, &error))
		done++;
	// The plates meet after 0.07 s, 8.4 steps.
	CHECK_INT(done, 8);
	CHECK(strstr(error.text, "of body \"rag\" is squeezed between") != NULL);
	CHECK(strstr(error.text, "press") != NULL);
	CHECK_INT(crossings(soft), 0);
	const uint64_t hash = sim_soft_hash(soft);
	CHECK(!sim_soft_advance(soft, NULL, &error));
	CHECK(sim_soft_hash(soft) == hash);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

// ---- Misuse ----

typedef struct misuse {
	carom_context *context;
	sim_soft_def def;
	sim_soft_body bodies[2];
	sim_form_mesh sheet;
} misuse;

static misuse make_misuse(void)
{
	misuse m = { .context = make_context(1, CAROM_SIMD_AUTO), .def = sim_default_soft_def() };
	const sim_form form = { .kind = SIM_FORM_SHEET, .size = { 1, 0, 1 }, .divisions = { 2, 2 } };
	REQUIRE(sim_make_form(&form, 1, &m.sheet));
	for (int i = 0; i < 2; i++) {
		m.bodies[i] = sim_default_soft_body();
		m.bodies[i].name = i ? "cloth" : "floor";
		m.bodies[i].vertex_count = m.sheet.vertex_count;
		m.bodies[i].triangle_count = m.sheet.triangle_count;
		m.bodies[i].places = m.sheet.places;
		m.bodies[i].triangles = m.sheet.triangles;
	}
	m.bodies[0].kind = SIM_SOFT_RIGID;
	m.def.body_count = 1;
	return m;
}

static void refused(misuse *m, const sim_soft_def *def, const sim_soft_body *body, const char *expected)
{
	sim_error error = { "" };
	sim_soft_def bad = *def;
	bad.bodies = body;
	sim_soft *soft = sim_create_soft(m->context, &bad, &error);
	CHECK(soft == NULL);
	CHECK_STR(error.text, expected);
	sim_destroy_soft(soft);
}

#define REFUSED_DEF(field, value, text)        \
	do {                                       \
		sim_soft_def bad = m.def;              \
		bad.field = (value);                   \
		refused(&m, &bad, &m.bodies[1], text); \
	} while (0)
#define REFUSED_BODY(field, value, text)                        \
	do {                                                        \
		sim_soft_body bad = m.bodies[1];                        \
		bad.field = (value);                                    \
		refused(&m, &m.def, &bad, "body 0 (\"cloth\"): " text); \
	} while (0)

TEST(soft, each_field_is_checked)
{
	misuse m = make_misuse();
	REFUSED_DEF(body_count, 0, "body_count is 0; it must be from 1 to 1000000");
	REFUSED_DEF(time_step, 0, "time_step is 0; it must be from 1e-09 to 1");
	REFUSED_DEF(time_step, (double)NAN, "time_step is nan; it must be from 1e-09 to 1");
	REFUSED_DEF(substeps, 0, "substeps is 0; it must be from 1 to 10000");
	REFUSED_DEF(thickness, 2, "thickness is 2; it must be from 1e-06 to 1");
	REFUSED_DEF(damping, -1, "damping is -1; it must be from 0 to 1000000");
	REFUSED_DEF(solves, 0, "solves is 0; it must be from 1 to 100");
	REFUSED_DEF(rounds, -1, "rounds is -1; it must be from 0 to 1000");
	REFUSED_DEF(gravity[2], (double)INFINITY, "gravity[2] is inf; it must be from -1000000 to 1000000");
	refused(&m, &m.def, NULL, "bodies is NULL");
	REFUSED_DEF(allocator.allocate, carom_default_allocator().allocate, "allocator: one of its functions is missing");
	REFUSED_DEF(allocator.release, carom_default_allocator().release, "allocator: one of its functions is missing");
	REFUSED_BODY(vertex_count, 2, "vertex_count is 2; it must be from 3 to 178956970");
	REFUSED_BODY(triangle_count, 0, "triangle_count is 0; it must be from 1 to 178956970");
	REFUSED_BODY(friction, -1, "friction is -1; it must be from 0 to 1000000");
	REFUSED_BODY(density, 0, "density is 0; it must be from 1e-06 to 1e+09");
	REFUSED_BODY(stiffness, 0, "stiffness is 0; it must be from 1e-09 to 1e+12");
	REFUSED_BODY(stretch_limit, -1, "stretch_limit is -1; it must be from 0 to 1000000");
	REFUSED_BODY(bending, -1, "bending is -1; it must be from 0 to 1e+12");
	REFUSED_BODY(velocity[1], (double)NAN, "velocity[1] is nan; it must be from -1000000 to 1000000");
	REFUSED_BODY(places, NULL, "places is NULL");
	REFUSED_BODY(triangles, NULL, "triangles is NULL");
	static const int32_t pins[9] = { SIM_SOFT_FREE, SIM_SOFT_PINNED, 0, -1, -1, -1, -1, -1, -1 };
	REFUSED_BODY(pins, pins, "pins: vertex 2 is pinned to 0, which is no rigid body");
	int32_t corners[24];
	memcpy(corners, m.sheet.triangles, sizeof corners);
	corners[4] = 9;
	REFUSED_BODY(triangles, corners, "triangles: triangle 1 names vertex 9 of 9");
	double places[27];
	memcpy(places, m.sheet.places, sizeof places);
	places[7] = (double)NAN;
	REFUSED_BODY(places, places, "places: vertex 2 is out of range");
	sim_soft_body body = m.bodies[1];
	body.kind = SIM_SOFT_DEFORMABLE;
	refused(&m, &m.def, &body, "body \"cloth\": is not closed, so it has no volume to keep");
	memcpy(places, m.sheet.places, sizeof places);
	for (int k = 0; k < 3; k++)
		places[3 + k] = places[k];
	body = m.bodies[1];
	body.places = places;
	refused(&m, &m.def, &body, "body \"cloth\": triangle 0 has no area");
	// In a line but for roundings: some area at one corner, none at another, whose cotangent is a division by 0.
	static const double line[9] = { 0.4, 0.5, 0.7, 0.5, 1.0, 1.5, 0.7, 2.0, 3.1 };
	static const int32_t corners_of_line[3] = { 0, 1, 2 };
	body = m.bodies[1];
	body.vertex_count = 3;
	body.triangle_count = 1;
	body.places = line;
	body.triangles = corners_of_line;
	refused(&m, &m.def, &body, "body \"cloth\": triangle 0 has no area");
	body = m.bodies[1];
	body.triangle_count = 1;
	refused(&m, &m.def, &body, "body \"cloth\": vertex 2 belongs to no triangle");
	sim_free_form_mesh(&m.sheet);
	carom_destroy_context(m.context);
}

#define REFUSED_MOTION(field, value)                                                        \
	do {                                                                                    \
		sim_soft_body bad = m.bodies[0];                                                    \
		bad.motion.field = (value);                                                         \
		refused(&m, &m.def, &bad, "body 0 (\"floor\"): motion." #field " is out of range"); \
	} while (0)

TEST(soft, motions_of_rigid_bodies_are_checked)
{
	misuse m = make_misuse();
	sim_soft_motion *motion = &m.bodies[0].motion;
	motion->velocity[1] = (double)NAN;
	refused(&m, &m.def, &m.bodies[0], "body 0 (\"floor\"): motion.velocity is out of range");
	motion->velocity[1] = 0;
	motion->start.orientation.w = 0;
	refused(&m, &m.def, &m.bodies[0], "body 0 (\"floor\"): motion.start.orientation is out of range");
	motion->start.orientation.w = 1;
	motion->start.position.z = (double)INFINITY;
	refused(&m, &m.def, &m.bodies[0], "body 0 (\"floor\"): motion.start.position is out of range");
	motion->start.position.z = 0;
	REFUSED_MOTION(spin, (double)INFINITY);
	REFUSED_MOTION(swing, (double)NAN);
	REFUSED_MOTION(phase, (double)NAN);
	REFUSED_MOTION(ramp, -1);
	REFUSED_MOTION(from, -1);
	REFUSED_MOTION(until, -1);
	REFUSED_MOTION(period, -1);
	// What moves needs an axis, and a period.
	motion->spin = motion->swing = 1;
	refused(&m, &m.def, &m.bodies[0], "body 0 (\"floor\"): motion.spin_axis is out of range");
	motion->spin_axis[1] = 1;
	refused(&m, &m.def, &m.bodies[0], "body 0 (\"floor\"): motion.swing_axis is out of range");
	motion->swing_axis[0] = motion->shift[2] = 1;
	REFUSED_MOTION(period, 0);
	motion->swing = 0;
	REFUSED_MOTION(period, 0);
	motion->shift[2] = (double)NAN;
	refused(&m, &m.def, &m.bodies[0], "body 0 (\"floor\"): motion.shift is out of range");
	m.bodies[1].name = NULL;
	refused(&m, &m.def, &m.bodies[1], "body 0: name is NULL");
	sim_free_form_mesh(&m.sheet);
	carom_destroy_context(m.context);
}

TEST(soft, bodies_that_cross_at_the_start_are_refused)
{
	misuse m = make_misuse();
	double places[27];
	sim_error error = { "" };
	for (int i = 0; i < 9; i++) { // turned upright
		places[3 * i] = m.sheet.places[3 * i] + 0.1;
		places[3 * i + 1] = m.sheet.places[3 * i + 2] + 0.13;
		places[3 * i + 2] = 0.07;
	}
	m.bodies[1].places = places;
	m.def.bodies = m.bodies;
	m.def.body_count = 2;
	CHECK(sim_create_soft(m.context, &m.def, &error) == NULL);
	CHECK(strstr(error.text, "of body \"floor\" and triangle") != NULL &&
		strstr(error.text, "of body \"cloth\" cross at the start") != NULL);
	// Two rigid bodies may.
	m.bodies[1].kind = SIM_SOFT_RIGID;
	sim_soft *soft = sim_create_soft(m.context, &m.def, &error);
	CHECK(soft != NULL);
	sim_destroy_soft(soft);
	sim_free_form_mesh(&m.sheet);
	carom_destroy_context(m.context);
}

// What flies apart is named.
TEST(soft, what_leaves_space_is_named)
{
	misuse m = make_misuse();
	sim_error error = { "" };
	m.bodies[1].velocity[0] = 1e6;
	m.def.bodies = &m.bodies[1];
	m.def.gravity[0] = 1e6;
	m.def.time_step = 1;
	m.def.damping = 0;
	for (int i = 0; i < 9; i++)
		m.sheet.places[3 * i] += 1e12 - 8;
	sim_soft *soft = sim_create_soft(m.context, &m.def, &error);
	REQUIRE(soft != NULL);
	CHECK(!sim_soft_advance(soft, NULL, &error));
	CHECK(strstr(error.text, "body \"cloth\": carom_world_set_vertices: body (") == error.text);
	CHECK(strstr(error.text, "): end: ") != NULL);
	sim_destroy_soft(soft);
	sim_free_form_mesh(&m.sheet);
	carom_destroy_context(m.context);
}

// ---- Memory ----

// Memory that fails once, at the call of this number.
typedef struct short_memory {
	int64_t calls, fails, live;
} short_memory;

static void *short_allocate(size_t size, size_t alignment, void *user)
{
	short_memory *memory = user;
	if (memory->calls++ == memory->fails)
		return NULL;
	memory->live += (int64_t)size;
	return test_allocate(size, alignment);
}

static void short_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)alignment;
	((short_memory *)user)->live -= (int64_t)size;
	test_release(pointer);
}

// A ball of a kind falls on a sheet; memory of simulation and detector fails once on the way, and what failed is done again. The hash at
// the end.
static uint64_t run_short(short_memory *memory, sim_soft_kind kind, bool *failed)
{
	const sim_form forms[2] = { { .kind = SIM_FORM_SHEET, .size = { 1, 0, 1 }, .divisions = { 2, 2 } },
		{ .kind = SIM_FORM_SPHERE, .radius = 0.2, .divisions = { 5, 3 } } };
	sim_soft_body bodies[2] = { sim_default_soft_body(), sim_default_soft_body() };
	sim_form_mesh meshes[2];
	sim_error error;
	carom_context *context = NULL;
	carom_context_def context_def = carom_default_context_def();
	context_def.allocator = (carom_allocator){ short_allocate, short_release, memory };
	context_def.thread_count = 1;
	for (int i = 0; i < 2; i++) {
		REQUIRE(sim_make_form(&forms[i], 1, &meshes[i]));
		bodies[i].vertex_count = meshes[i].vertex_count;
		bodies[i].triangle_count = meshes[i].triangle_count;
		bodies[i].triangles = meshes[i].triangles;
		bodies[i].places = meshes[i].places;
	}
	for (int32_t i = 0; i < meshes[1].vertex_count; i++)
		meshes[1].places[3 * i + 1] += 0.21;
	bodies[0].kind = SIM_SOFT_RIGID;
	bodies[1].kind = kind;
	bodies[1].mass = 0.3;
	bodies[1].velocity[1] = -5;
	sim_soft_def def = sim_default_soft_def();
	def.allocator = context_def.allocator;
	def.bodies = bodies;
	def.body_count = 2;
	*failed = false;
	while (carom_create_context(&context_def, &context) != CAROM_SUCCESS)
		*failed = true;
	sim_soft *soft = sim_create_soft(context, &def, &error);
	if (!soft) {
		*failed = true;
		CHECK(strstr(error.text, "memory") != NULL);
		soft = sim_create_soft(context, &def, &error);
	}
	REQUIRE(soft != NULL);
	const sim_soft_sphere grain = { .radius = 0.05, .mass = 0.1, .place = { 0.3, 0.1, 0.3 }, .velocity = { 0, -5, 0 } };
	if (!sim_soft_meet(soft, 1, &grain, &error)) {
		*failed = true;
		CHECK(strstr(error.text, "memory") != NULL);
		REQUIRE(sim_soft_meet(soft, 1, &grain, &error));
	}
	for (int i = 0; i < 2; i++)
		if (!sim_soft_advance(soft, NULL, &error)) {
			*failed = true;
			CHECK(strstr(error.text, "memory") != NULL);
			REQUIRE(sim_soft_advance(soft, NULL, &error));
		}
	const uint64_t hash = sim_soft_hash(soft);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	for (int i = 0; i < 2; i++)
		sim_free_form_mesh(&meshes[i]);
	return hash;
}

/// Each second allocation fails, from a first one on: the worlds of the three detectors ask for the same.
static void fail_each(sim_soft_kind kind, int64_t first)
{
	short_memory memory = { .fails = -1 };
	bool failed = false;
	const uint64_t hash = run_short(&memory, kind, &failed);
	CHECK(!failed);
	CHECK_INT(memory.live, 0);
	const int64_t calls = memory.calls;
	int64_t unnoticed = 0;
	CHECK(calls > 100);
	for (int64_t i = first; i < calls; i += 2 * TEST_STRIDE) {
		memory = (short_memory){ .fails = i };
		CHECK(run_short(&memory, kind, &failed) == hash);
		unnoticed += !failed;
		CHECK_INT(memory.live, 0);
	}
	CHECK(unnoticed < calls / 4); // the detector does without a front where there is no room for one
}

TEST(soft, memory_that_fails_anywhere_costs_nothing_but_the_call) { fail_each(SIM_SOFT_DEFORMABLE, 0); }
TEST(soft, memory_that_fails_costs_a_solid_nothing_but_the_call) { fail_each(SIM_SOFT_SOLID, 1); }
