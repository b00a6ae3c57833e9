/// Cloth that crosses as a simulation begins, or that is squeezed through something: it is led apart in some steps, and what does
/// not cross stays so.
#include "fixture.h"
#include "soft_fixture.h"
#include "sweep_fixture.h"

#include "sim/shapes/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 6, MOST_STEPS = 400 };

/// Bodies by formula, moved as a scene likes before the simulation begins.
typedef struct tangle {
	sim_form_mesh meshes[MOST_BODIES];
	sim_soft_body bodies[MOST_BODIES];
	int32_t *pins[MOST_BODIES];
	int count;
	bool floats; // no gravity
	bool hidden; // in one plane, which is no crossing for floats
} tangle;

static double *add_form(tangle *t, const sim_form *form, sim_soft_kind kind)
{
	static const char *const names[MOST_BODIES] = { "first", "second", "third", "fourth", "fifth", "sixth" };
	const int i = t->count++;
	REQUIRE(i < MOST_BODIES && sim_make_form(form, 1, &t->meshes[i]));
	sim_soft_body *body = &t->bodies[i];
	*body = sim_default_soft_body();
	body->name = names[i];
	body->kind = kind;
	body->vertex_count = t->meshes[i].vertex_count;
	body->triangle_count = t->meshes[i].triangle_count;
	body->places = t->meshes[i].places;
	body->triangles = t->meshes[i].triangles;
	body->mass = 0.5;
	return t->meshes[i].places;
}

/// A square sheet about the origin, level.
static double *add_sheet(tangle *t, double size, int divisions)
{
	const sim_form form = { .kind = SIM_FORM_SHEET, .size = { size, 0, size }, .divisions = { divisions, divisions } };
	return add_form(t, &form, SIM_SOFT_CLOTH);
}

/// A closed box that rests.
static void add_box(tangle *t, double x, double y, double z)
{
	static const int32_t corners[12][3] = { { 0, 2, 1 }, { 1, 2, 3 }, { 4, 5, 6 }, { 5, 7, 6 }, { 0, 1, 4 }, { 1, 5, 4 },
		{ 2, 6, 3 }, { 3, 6, 7 }, { 0, 4, 2 }, { 2, 4, 6 }, { 1, 3, 5 }, { 3, 7, 5 } };
	const sim_form form = { .kind = SIM_FORM_SHEET, .size = { 1, 0, 1 }, .divisions = { 3, 2 } };
	double *p = add_form(t, &form, SIM_SOFT_RIGID);
	sim_soft_body *body = &t->bodies[t->count - 1];
	REQUIRE(body->vertex_count >= 8 && body->triangle_count >= 12);
	for (int i = 0; i < 8; i++) {
		p[3 * i] = (i & 1 ? 0.5 : -0.5) * x;
		p[3 * i + 1] = (i & 2 ? 0.5 : -0.5) * y;
		p[3 * i + 2] = (i & 4 ? 0.5 : -0.5) * z;
	}
	memcpy(t->meshes[t->count - 1].triangles, corners, sizeof corners);
	body->vertex_count = 8;
	body->triangle_count = 12;
}

static void pin_where_high(tangle *t, double y)
{
	const int i = t->count - 1;
	t->pins[i] = malloc((size_t)t->bodies[i].vertex_count * sizeof(int32_t));
	for (int32_t v = 0; v < t->bodies[i].vertex_count; v++)
		t->pins[i][v] = t->meshes[i].places[3 * v + 1] > y ? SIM_SOFT_PINNED : SIM_SOFT_FREE;
	t->bodies[i].pins = t->pins[i];
}

static void free_tangle(tangle *t)
{
	for (int i = 0; i < t->count; i++) {
		sim_free_form_mesh(&t->meshes[i]);
		free(t->pins[i]);
	}
}

/// What became of a tangle.
typedef struct outcome {
	int64_t crossings, most, left; // edges that cross triangles: at first, at most, at the end
	int steps;                     // until there were none
	double fastest;                // m/s, of a vertex, on the way
	double stretch;                // after that
	uint64_t hash;
} outcome;

static double fastest_of(const sim_soft *soft)
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	double fastest = 0;
	for (int32_t i = 0; i < s.vertex_count; i++) {
		const double *v = s.velocities + 3 * (int64_t)i;
		fastest = fmax(fastest, sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
	}
	return fastest;
}

static sim_soft *start(carom_context *context, tangle *t, bool lead, sim_error *error)
{
	sim_soft_def def = sim_default_soft_def();
	def.bodies = t->bodies;
	def.body_count = t->count;
	def.lead_apart = lead;
	if (t->floats)
		def.gravity[1] = 0;
	return sim_create_soft(context, &def, error);
}

static outcome lead(tangle *t, int threads, int more)
{
	carom_context *context = sweep_context(threads, CAROM_SIMD_AUTO);
	sim_error error = { "" };
	outcome out = { .left = -1 };
	CHECK(t->hidden || (start(context, t, false, &error) == NULL && strstr(error.text, "cross at the start")));
	error = (sim_error){ "" };
	sim_soft *soft = start(context, t, true, &error);
	CHECK_STR(error.text, "");
	REQUIRE(soft);
	for (int step = 0, clear = 0; step < MOST_STEPS && clear <= more; step++) {
		sim_soft_step done;
		const bool advanced = sim_soft_advance(soft, &done, &error);
		CHECK_STR(error.text, "");
		REQUIRE(advanced);
		out.most = done.crossings > out.most ? done.crossings : out.most;
		out.steps += done.crossings > 0;
		out.crossings = step == 0 ? done.crossings : out.crossings;
		out.left = done.crossings;
		out.fastest = fmax(out.fastest, fastest_of(soft));
		out.stretch = done.stretch_worst;
		clear += done.crossings == 0;
	}
	int32_t pairs = -1;
	CHECK(sim_soft_count_crossings(soft, &pairs) && (pairs == 0) == (out.left == 0));
	out.hash = sim_soft_hash(soft);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	return out;
}

// ---- Scenes ----

/// A sheet that hangs through one that lies, by a part of a metre: with its lower border, or with a corner.
static void make_hanging(tangle *t, double deep, bool corner)
{
	double *lies = add_sheet(t, 1, 24), *hangs = add_sheet(t, 1, 24);
	for (int32_t i = 0; i < t->bodies[0].vertex_count; i++)
		lies[3 * i + 1] = 0.01 * sin(7 * lies[3 * i]) * cos(5 * lies[3 * i + 2]);
	for (int32_t i = 0; i < t->bodies[1].vertex_count; i++) {
		const double turn = corner ? 0.78 : 0, x = hangs[3 * i], y = hangs[3 * i + 2], along = cos(turn) * x - sin(turn) * y;
		hangs[3 * i] = along + 0.03;
		hangs[3 * i + 2] = 0.04 + 0.1 * along;
		hangs[3 * i + 1] = sin(turn) * x + cos(turn) * y + (corner ? 0.5 * sqrt(2.0) : 0.5) - deep;
	}
	pin_where_high(t, (corner ? 1.3 : 0.95) - deep);
}

/// A sheet whose corner is turned over and through it.
static void make_rolled(tangle *t, double radius)
{
	double *p = add_sheet(t, 1, 24);
	t->bodies[0].flat = true;
	for (int32_t i = 0; i < t->bodies[0].vertex_count; i++) {
		double *at = &p[3 * i];
		const double along = (at[0] + at[2]) / sqrt(2.0), across = (at[0] - at[2]) / sqrt(2.0), beyond = along - 0.1;
		if (beyond <= 0)
			continue;
		const double angle = beyond / radius, there = 0.1 + radius * sin(angle), high = radius * (1 - cos(angle));
		at[0] = (there + across) / sqrt(2.0);
		at[2] = (there - across) / sqrt(2.0);
		at[1] = high;
	}
}

/// Sheets with waves of their own, so near to each other that each goes through the next one in many places.
static void make_layers(tangle *t, int count)
{
	for (int k = 0; k < count; k++) {
		double *p = add_sheet(t, 1, 24);
		for (int32_t i = 0; i < t->bodies[k].vertex_count; i++) {
			const double x = p[3 * i], z = p[3 * i + 2];
			p[3 * i] += 0.003 * k;
			p[3 * i + 1] = 0.012 * k + 0.02 * sin((9 + 3 * k) * x + k) * cos((11 - 2 * k) * z + 2 * k);
		}
	}
}

/// A ribbon that goes through itself in a loop, along its whole width.
static void make_loop(tangle *t)
{
	const sim_form form = { .kind = SIM_FORM_SHEET, .size = { 1.2, 0, 0.3 }, .divisions = { 48, 12 } };
	double *p = add_form(t, &form, SIM_SOFT_CLOTH);
	t->bodies[0].flat = true;
	for (int32_t i = 0; i < t->bodies[0].vertex_count; i++) {
		const double s = p[3 * i], z = p[3 * i + 2], radius = 0.14, turn = 4.2;
		const double angle = fmin(fmax(s / radius + 0.5 * turn, 0), turn), rest = s - radius * (angle - 0.5 * turn);
		p[3 * i] = radius * sin(angle - 0.5 * turn) + rest * cos(angle - 0.5 * turn);
		p[3 * i + 1] = -radius * cos(angle - 0.5 * turn) + rest * sin(angle - 0.5 * turn);
		p[3 * i + 2] = z + 0.01 * s;
	}
}

/// A sheet through a rigid form that stays, so high above its middle.
static void make_across(tangle *t, const sim_form *form, double high, double aside)
{
	double *p = add_sheet(t, 1, 24);
	for (int32_t i = 0; i < t->bodies[0].vertex_count; i++) {
		p[3 * i] += aside;
		p[3 * i + 1] = high + 0.01 * sin(6 * p[3 * i]) + 0.003;
		p[3 * i + 2] += 0.011;
	}
	if (form)
		add_form(t, form, SIM_SOFT_RIGID);
}

static const sim_form ball = { .kind = SIM_FORM_SPHERE, .radius = 0.3, .divisions = { 24, 16 } };
static const sim_form thin = { .kind = SIM_FORM_CAPSULE, .radius = 0.01, .length = 1.5, .divisions = { 8, 8 } };

static void make_scene(tangle *t, int scene)
{
	*t = (tangle){ 0 };
	switch (scene) {
	case 0: make_hanging(t, 0.06, false); break;
	case 1: make_hanging(t, 0.16, false); break;
	case 2: make_hanging(t, 0.15, true); break;
	case 3: make_hanging(t, 0.35, true); break;
	case 4: make_rolled(t, 0.06); break;
	case 5: make_rolled(t, 0.09); break;
	case 6: make_layers(t, 2); break;
	case 7: make_layers(t, 4); break;
	case 8: make_across(t, &ball, 0.25, 0); break;
	case 9: make_across(t, &ball, 0.1, 0); break;
	case 10: make_across(t, &ball, 0.05, 0.35); break;
	case 11: // a thin plate on edge
		make_across(t, NULL, 0.48, 0);
		add_box(t, 1.2, 1, 0.02);
		break;
	case 12: // from aside
		make_across(t, NULL, 0, 0.45);
		add_box(t, 0.02, 1.2, 1.5);
		break;
	case 13: // a thin rod across the border
		make_across(t, &thin, -0.3, 0.46);
		break;
	case 14: make_loop(t); break;
	default: break;
	}
}

/// In how many steps nothing crosses any more, at most: about twice as many as measured.
static const int bounds[] = { 10, 20, 15, 40, 15, 3, 3, 3, 6, 20, 55, 180, 60, 120, 70 };
enum { SCENES = sizeof bounds / sizeof *bounds };

static void lead_all(int first, int end)
{
	enum { EVERY = TEST_FEWER > 1 ? 2 : 1 };
	for (int i = first; i < end; i += EVERY) {
		tangle t;
		make_scene(&t, i);
		const outcome out = lead(&t, 1, 5);
		free_tangle(&t);
		CHECK_INT(out.left, 0);
		CHECK(out.steps <= bounds[i]);
		CHECK(out.stretch < 0.03);
		// What leading bends springs back, and must not throw anything: it falls.
		CHECK(out.fastest < 3.5 + 9.81 * (out.steps + 5) / 120);
	}
}

TEST(soft_apart, sheets_that_hang_through_each_other_come_out) { lead_all(0, 4); }
TEST(soft_apart, a_sheet_that_is_rolled_through_itself_comes_out) { lead_all(4, 6); }
TEST(soft_apart, layers_that_cross_in_many_places_come_apart) { lead_all(6, 8); }
TEST(soft_apart, sheets_through_a_ball_come_out) { lead_all(8, 11); }
TEST(soft_apart, sheets_through_thin_shapes_come_out) { lead_all(11, 14); }
TEST(soft_apart, a_ribbon_that_crosses_itself_along_its_width_comes_out) { lead_all(14, SCENES); }

/// Two sheets in one plane have no way that is shorter than another one.
TEST(soft_apart, sheets_at_one_place_come_apart)
{
	tangle t = { 0 };
	add_sheet(&t, 1, 12);
	add_sheet(&t, 1, 12);
	t.hidden = true;
	const outcome out = lead(&t, 1, 5);
	CHECK_INT(out.left, 0);
	CHECK(out.steps <= 30);
	free_tangle(&t);
}

TEST(soft_apart, threads_change_nothing)
{
	tangle t;
	make_scene(&t, TEST_SEEKS_RACES ? 6 : 7);
	CHECK(lead(&t, TEST_LEAST_THREADS, 5).hash == lead(&t, 3, 5).hash);
	free_tangle(&t);
}

/// Where nothing crosses, the step is the one without leading, and no search is made for it.
TEST(soft_apart, what_does_not_cross_pays_nothing)
{
	tangle t = { 0 };
	double *p = add_sheet(&t, 1, 12);
	for (int32_t i = 0; i < t.bodies[0].vertex_count; i++)
		p[3 * i + 1] += 0.32;
	add_form(&t, &ball, SIM_SOFT_RIGID);
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sim_error error = { "" };
	sim_soft *plain = start(context, &t, false, &error), *leads = start(context, &t, true, &error);
	REQUIRE(plain && leads);
	for (int i = 0; i < 20; i++) {
		sim_soft_step a, b;
		REQUIRE(sim_soft_advance(plain, &a, &error) && sim_soft_advance(leads, &b, &error));
		CHECK(sim_soft_hash(plain) == sim_soft_hash(leads));
		CHECK(b.leads == 0 && b.crossings == 0 && b.gave_way == 0 && a.searches == b.searches);
	}
	sim_destroy_soft(plain);
	sim_destroy_soft(leads);
	free_tangle(&t);
	carom_destroy_context(context);
}

/// A run that goes on from a tape while bodies cross has the same bits.
TEST(soft_apart, a_crossed_state_goes_on_from_a_tape)
{
	tangle t;
	make_scene(&t, 1);
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sim_error error = { "" };
	sim_soft *soft[2] = { start(context, &t, true, &error), start(context, &t, true, &error) };
	REQUIRE(soft[0] && soft[1]);
	sim_soft_step step[2];
	for (int i = 0; i < 4; i++)
		REQUIRE(sim_soft_advance(soft[0], &step[0], &error));
	CHECK(step[0].crossings > 0);
	sim_tape tape = { .writing = true };
	REQUIRE(sim_soft_move_state(soft[0], &tape, &error));
	tape.writing = false;
	REQUIRE(sim_soft_move_state(soft[1], &tape, &error) && sim_tape_is_done(&tape));
	for (int i = 0; i < 8; i++) {
		REQUIRE(sim_soft_advance(soft[0], &step[0], &error) && sim_soft_advance(soft[1], &step[1], &error));
		CHECK(sim_soft_hash(soft[0]) == sim_soft_hash(soft[1]) && step[0].crossings == step[1].crossings);
	}
	sim_free_tape(&tape);
	for (int i = 0; i < 2; i++)
		sim_destroy_soft(soft[i]);
	free_tangle(&t);
	carom_destroy_context(context);
}

/// Rigid boxes close on a sheet: it is squeezed through one of them, and comes out once they have parted.
TEST(soft_apart, what_is_squeezed_gives_way_and_comes_out)
{
	tangle t = { 0 };
	add_sheet(&t, 0.4, 8);
	for (int i = 0; i < 2; i++) {
		add_box(&t, 0.2, 0.1, 0.2);
		for (int v = 0; v < 8; v++)
			t.meshes[1 + i].places[3 * v + 1] += i ? -0.08 : 0.08;
		t.bodies[1 + i].motion.shift[1] = i ? 0.04 : -0.04;
		t.bodies[1 + i].motion.period = 0.6;
		t.bodies[1 + i].motion.until = 0.3;
	}
	t.floats = true;
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sim_error error = { "" };
	sim_soft *soft = start(context, &t, false, &error);
	REQUIRE(soft);
	int steps = 0;
	while (steps < 30 && sim_soft_advance(soft, NULL, &error))
		steps++;
	CHECK(steps < 30 && strstr(error.text, "is squeezed between"));
	sim_destroy_soft(soft);
	error = (sim_error){ "" };
	soft = start(context, &t, true, &error);
	REQUIRE(soft);
	int64_t gave_way = 0, crossed = 0, left = -1;
	for (int i = 0; i < 250 && error.text[0] == 0; i++) {
		sim_soft_step step;
		CHECK(sim_soft_advance(soft, &step, &error));
		gave_way += step.gave_way;
		crossed += step.crossings > 0;
		left = step.crossings;
	}
	CHECK_STR(error.text, "");
	CHECK(gave_way > 0 && crossed < 200);
	CHECK_INT(left, 0);
	sim_destroy_soft(soft);
	free_tangle(&t);
	carom_destroy_context(context);
}

/// Where neither of two bodies can move, nothing leads them apart.
TEST(soft_apart, what_cannot_move_is_refused)
{
	tangle t = { 0 };
	double *p = add_sheet(&t, 1, 4);
	for (int32_t i = 0; i < t.bodies[0].vertex_count; i++)
		p[3 * i + 1] = 0.013;
	pin_where_high(&t, -1);
	add_form(&t, &ball, SIM_SOFT_RIGID);
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	sim_error error = { "" };
	CHECK(start(context, &t, true, &error) == NULL);
	CHECK(strstr(error.text, "\"first\"") && strstr(error.text, "\"second\"") &&
		strstr(error.text, "cross at the start where neither can move"));
	free_tangle(&t);
	carom_destroy_context(context);
}

/// What keeps its form is not led: two such bodies that cross are an error, unless another simulation moves both.
TEST(soft_apart, bodies_that_keep_their_form_and_cross_are_refused)
{
	static const struct {
		sim_soft_kind kind[2];
		bool led[2], refused;
	} pairs[] = { { { SIM_SOFT_SOLID, SIM_SOFT_SOLID }, { false, false }, true },
		{ { SIM_SOFT_SOLID, SIM_SOFT_SOLID }, { true, false }, true },
		{ { SIM_SOFT_SOLID, SIM_SOFT_SOLID }, { true, true }, false },
		{ { SIM_SOFT_RIGID, SIM_SOFT_SOLID }, { false, false }, true },
		{ { SIM_SOFT_RIGID, SIM_SOFT_SOLID }, { true, true }, false } };
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		tangle t = { 0 };
		for (int k = 0; k < 2; k++) {
			double *p = add_form(&t, &ball, pairs[i].kind[k]);
			sim_soft_body *body = &t.bodies[k];
			body->led = pairs[i].led[k];
			body->weighs = (carom_mass){ 1, { 0, 0, 0 }, { 0.1, 0.1, 0.1, 0, 0, 0 } };
			for (int32_t v = 0; v < body->vertex_count && k == 1; v++)
				p[3 * v] += 0.21;
		}
		sim_error error = { "" };
		sim_soft *soft = start(context, &t, true, &error);
		CHECK((soft == NULL) == pairs[i].refused);
		CHECK(soft || (strstr(error.text, "of body \"first\"") && strstr(error.text, "of body \"second\" cross at the start")));
		sim_destroy_soft(soft);
		free_tangle(&t);
	}
	carom_destroy_context(context);
}

// ---- Memory ----

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

/// Two steps of a tangle. One allocation fails on the way, and what failed is done again. The hash at the end.
static uint64_t lead_short(short_memory *memory, tangle *t, bool *failed)
{
	carom_context_def context_def = carom_default_context_def();
	context_def.allocator = (carom_allocator){ short_allocate, short_release, memory };
	context_def.thread_count = 1;
	sim_soft_def def = sim_default_soft_def();
	def.allocator = context_def.allocator;
	def.bodies = t->bodies;
	def.body_count = t->count;
	def.lead_apart = true;
	carom_context *context = NULL;
	sim_soft *soft = NULL;
	while (carom_create_context(&context_def, &context) != CAROM_SUCCESS)
		*failed = true;
	for (int tries = 0; tries < 2 && !soft; tries++) {
		sim_error error = { "" };
		soft = sim_create_soft(context, &def, &error);
		CHECK(soft || strstr(error.text, "memory"));
		*failed = *failed || !soft;
	}
	REQUIRE(soft);
	for (int done = 0, tries = 0; done < 2 && tries < 4; tries++) {
		sim_error error = { "" };
		const bool advanced = sim_soft_advance(soft, NULL, &error);
		CHECK(advanced || strstr(error.text, "memory"));
		*failed = *failed || !advanced;
		done += advanced;
	}
	const uint64_t hash = sim_soft_hash(soft);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	return hash;
}

TEST(soft_apart, memory_that_fails_anywhere_costs_nothing_but_the_call)
{
	tangle t = { 0 };
	add_sheet(&t, 1, 3);
	double *p = add_sheet(&t, 1, 3);
	for (int32_t i = 0; i < t.bodies[1].vertex_count; i++) {
		p[3 * i + 1] = p[3 * i + 2] + 0.31;
		p[3 * i + 2] = 0.04;
	}
	short_memory memory = { .fails = -1 };
	bool failed = false;
	const uint64_t hash = lead_short(&memory, &t, &failed);
	CHECK(!failed && memory.live == 0);
	const int64_t calls = memory.calls;
	int64_t noticed = 0;
	for (int64_t i = 0; i < calls; i += TEST_STRIDE) {
		memory = (short_memory){ .fails = i };
		failed = false;
		CHECK(lead_short(&memory, &t, &failed) == hash);
		CHECK_INT(memory.live, 0);
		noticed += failed;
	}
	CHECK(noticed > calls / TEST_STRIDE / 2);
	free_tangle(&t);
}
