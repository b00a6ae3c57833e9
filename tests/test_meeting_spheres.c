/// Impacts of spheres with each other: the closed form against long double, worlds against all pairs, and what a user may ask for.
#include "fixture.h"

#include "geom/ball_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 240, BODIES = 4 };

static const double TOLERANCE = 0.001; // of the world

// ---- Two balls ----

static v3d random_vector(uint64_t *seed, double most)
{
	const double x = test_random_double(seed, -most, most), y = test_random_double(seed, -most, most);
	return (v3d){ x, y, test_random_double(seed, -most, most) };
}

/// Two balls as seen from A, in long double.
typedef struct exact {
	long double p[3], v[3], radii;
} exact;

static exact exact_of(const cr_moving_ball *a, const cr_moving_ball *b)
{
	exact e = { .radii = (long double)a->radius + b->radius };
	for (int k = 0; k < 3; k++) {
		e.p[k] = (long double)v3d_get(b->begin, k) - v3d_get(a->begin, k);
		e.v[k] = (long double)v3d_get(b->travel, k) - v3d_get(a->travel, k);
	}
	return e;
}

static long double gap_at(const exact *e, long double t)
{
	long double sum = 0;
	for (int k = 0; k < 3; k++)
		sum += (e->p[k] + t * e->v[k]) * (e->p[k] + t * e->v[k]);
	return sqrtl(sum) - e->radii;
}

/// The least gap up to a time.
static long double least_gap(const exact *e, long double until)
{
	long double pv = 0, vv = 0;
	for (int k = 0; k < 3; k++) {
		pv += e->p[k] * e->v[k];
		vv += e->v[k] * e->v[k];
	}
	long double t = vv > 0 ? -pv / vv : 0;
	t = t < 0 ? 0 : t > until ? until : t;
	return gap_at(e, t);
}

typedef struct tally {
	int none, found, touching, pushed;
} tally;

static void check_apart(const exact *e, cr_ball_time told, double error, tally *t)
{
	if (told.state == CR_IMPACT_NONE) {
		t->none++;
		CHECK(least_gap(e, 1) > 0.75L * TOLERANCE - error);
		return;
	}
	t->found++;
	CHECK_INT(told.state, CR_IMPACT_FOUND);
	CHECK(told.time >= 0 && told.time < 1);
	CHECK(gap_at(e, told.time) <= 0.75L * TOLERANCE + 3 * error);
	CHECK(least_gap(e, told.time) >= 0.75L * TOLERANCE - 2 * error); // not later than the true one, and no nearer before
}

static void check_touching(const exact *e, cr_ball_time told, double least_radius, double error, tally *t)
{
	const long double gap = gap_at(e, 0), slack = fmax(0.25 * least_radius, 0.5 * TOLERANCE);
	const long double level = gap < 0.5 * TOLERANCE ? gap : 0.5 * TOLERANCE, deepest = least_gap(e, 1);
	t->touching += told.state == CR_IMPACT_TOUCHING;
	t->pushed += told.state == CR_IMPACT_FOUND;
	if (told.state == CR_IMPACT_FOUND) {
		CHECK(deepest < level - slack + error && gap > -4 * slack - error);
		CHECK(least_gap(e, told.time) > level - 0.25L * slack - error);
	} else {
		CHECK_INT(told.state, CR_IMPACT_TOUCHING);
		CHECK(deepest > level - slack - error || gap < -4 * slack + error);
	}
}

static void check_balls(const cr_moving_ball *a, const cr_moving_ball *b, tally *t)
{
	const exact e = exact_of(a, b);
	const double error = cr_ball_rounding(a, b);
	const cr_ball_time told = cr_find_ball_time(a, b, TOLERANCE), turned = cr_find_ball_time(b, a, TOLERANCE);
	CHECK(told.state == turned.state && fabs(told.time - turned.time) < 1e-12);
	const long double gap = gap_at(&e, 0);
	if (gap > TOLERANCE + 2 * (long double)error)
		check_apart(&e, told, error, t);
	else if (gap < TOLERANCE)
		check_touching(&e, told, fmin(a->radius, b->radius), error, t);
}

/// Ways past each other, through each other, and just along each other.
static void check_random(uint64_t *seed, int kind, tally *t)
{
	const double far = kind == 5 ? 1e6 : 1, size = kind == 4 ? 1e-9 : 0.2;
	cr_moving_ball a = { random_vector(seed, far), random_vector(seed, 1), test_random_double(seed, 0.01, 1) * size }, b = a;
	b.radius = test_random_double(seed, 0.01, 1) * size;
	v3d away = v3d_normalize(random_vector(seed, 1)), way = random_vector(seed, kind == 1 ? 0.2 : 1);
	const double radii = a.radius + b.radius;
	double apart = test_random_double(seed, 0, 2) * size + radii + 2 * TOLERANCE;
	if (kind == 1) // touching or overlapping
		apart = radii + test_random_double(seed, -1.5 * radii, TOLERANCE);
	if (kind == 2) // grazing
		away = v3d_add(v3d_scale(away, 0.5), v3d_scale(v3d_normalize(v3d_cross(away, way)), radii + 0.75 * TOLERANCE));
	b.begin = v3d_add(a.begin, kind == 2 ? away : v3d_scale(away, apart));
	b.travel = v3d_add(a.travel, kind == 3 ? (v3d){ 0, 0, 0 } : way);
	if (kind == 6) // straight at each other
		b.travel = v3d_mad(a.travel, -test_random_double(seed, 0, 3), v3d_sub(b.begin, a.begin));
	check_balls(&a, &b, t);
}

TEST(meeting_spheres, two_balls_against_long_double)
{
	uint64_t seed = 6;
	tally t = { 0 };
	for (int i = 0; i < 14000 / TEST_FEWER; i++)
		check_random(&seed, i % 7, &t);
	const int some = 100 / TEST_FEWER;
	CHECK(t.none > some && t.found > some && t.touching > some && t.pushed > some);
	const cr_moving_ball ball = { { 0, 0, 0 }, { 0, 0, 0 }, 1 };
	CHECK_INT(cr_find_ball_time(&ball, &ball, TOLERANCE).state, CR_IMPACT_TOUCHING); // in one place
	const cr_moving_ball through = { { -3, 0, 0 }, { 6, 0, 0 }, 1 };
	CHECK_NEAR(cr_find_ball_time(&ball, &through, TOLERANCE).time, (1 - 0.75 * TOLERANCE) / 6, 1e-12);
}

// ---- Worlds ----

/// Spheres of several bodies, side by side.
typedef struct crowd {
	int count; // of each body
	carom_body_id id[BODIES];
	double begin[3 * MOST], end[3 * MOST], radii[MOST];
	bool continuous[BODIES], self[BODIES];
} crowd;

static void make_crowd(crowd *c, uint64_t *seed, double span, double travel, v3d drift)
{
	c->count = MOST / BODIES;
	for (int b = 0; b < BODIES; b++) {
		c->continuous[b] = b != 2;
		c->self[b] = b != 1;
	}
	for (int i = 0; i < MOST; i++) {
		const bool rests = !c->continuous[i / c->count];
		c->radii[i] = test_random_double(seed, 0.02, 0.1);
		for (int k = 0; k < 3; k++) {
			c->begin[3 * i + k] = test_random_double(seed, -span, span);
			c->end[3 * i + k] =
				c->begin[3 * i + k] + (rests ? 0 : test_random_double(seed, -travel, travel) + v3d_get(drift, k));
		}
	}
}

static carom_strided packed(const double *data) { return (carom_strided){ data, 0, CAROM_FLOAT64 }; }

static void add_crowd(carom_world *world, crowd *c)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = c->count;
	for (int b = 0; b < BODIES; b++) {
		def.centres = packed(&c->begin[3 * b * c->count]);
		def.radii = packed(&c->radii[b * c->count]);
		def.continuous = c->continuous[b];
		def.self_collision = c->self[b];
		def.user_data = (uint64_t)b;
		REQUIRE(carom_world_add_body(world, &def, &c->id[b]) == CAROM_SUCCESS);
	}
}

static carom_result send(carom_world *world, const crowd *c, const double *to)
{
	carom_result result = CAROM_SUCCESS;
	for (int b = 0; b < BODIES && result == CAROM_SUCCESS; b++) {
		const carom_strided places = packed(&to[3 * b * c->count]);
		if (c->continuous[b])
			result = carom_world_set_spheres(world, c->id[b], c->count, &places, NULL);
	}
	return result;
}

static bool may_meet(const crowd *c, int i, int k)
{
	const int a = i / c->count, b = k / c->count;
	return a == b ? c->self[a] && c->continuous[a] : c->continuous[a] || c->continuous[b];
}

static cr_moving_ball ball_of(const crowd *c, int i)
{
	const v3d begin = v3d_from_doubles(&c->begin[3 * i]), end = v3d_from_doubles(&c->end[3 * i]);
	return (cr_moving_ball){ begin, v3d_sub(end, begin), c->radii[i] };
}

/// The times at which each two spheres meet; 2: never, or they touch.
static void meet_all(const crowd *c, double *times)
{
	for (int i = 0; i < MOST; i++) {
		for (int k = 0; k < MOST; k++) {
			const cr_moving_ball a = ball_of(c, i), b = ball_of(c, k);
			const cr_ball_time met = i == k || !may_meet(c, i, k)
				? (cr_ball_time){ CR_IMPACT_NONE, 1 }
				: cr_find_ball_time(i < k ? &a : &b, i < k ? &b : &a, TOLERANCE);
			times[MOST * i + k] = met.state == CR_IMPACT_FOUND ? met.time : 2;
		}
	}
}

static int earliest_of(const double *times, int i)
{
	int best = -1;
	for (int k = 0; k < MOST; k++) {
		if (times[MOST * i + k] < 2 && (best < 0 || times[MOST * i + k] < times[MOST * i + best]))
			best = k;
	}
	return best;
}

static int number_of(const crowd *c, carom_body_id id, int32_t sphere)
{
	for (int b = 0; b < BODIES; b++) {
		if (fixture_same_id(id, c->id[b]))
			return b * c->count + sphere;
	}
	return -1;
}

static void check_impact(const crowd *c, const carom_body_impact *m, const double *times)
{
	const int i = number_of(c, m->body_a, m->shape_a), k = number_of(c, m->body_b, m->shape_b);
	REQUIRE(i >= 0 && k >= 0 && i < k);
	CHECK(earliest_of(times, i) == k || earliest_of(times, k) == i);
	CHECK(m->status == CAROM_TOI_IMPACT && !m->sensor && m->triangle_a == -1 && m->triangle_b == -1);
	CHECK_NEAR(m->time, times[MOST * i + k], 1e-12);
	const cr_moving_ball a = ball_of(c, i), b = ball_of(c, k);
	const v3d at_a = v3d_mad(a.begin, m->time, a.travel), at_b = v3d_mad(b.begin, m->time, b.travel);
	CHECK_NEAR(m->distance, v3d_length(v3d_sub(at_a, at_b)) - a.radius - b.radius, 1e-12);
	CHECK(v3d_length(v3d_sub(v3d_mad(at_a, -a.radius, m->normal), m->point)) < 1e-12);
	CHECK(v3d_length(v3d_sub(v3d_mad(at_b, b.radius, m->normal), v3d_mad(m->point, -m->distance, m->normal))) < 1e-12);
	CHECK_INT((int64_t)m->user_data_a, i / c->count);
	CHECK_INT((int64_t)m->user_data_b, k / c->count);
}

static int count_expected(const double *times)
{
	int count = 0;
	for (int i = 0; i < MOST; i++) {
		for (int k = i + 1; k < MOST; k++)
			count += earliest_of(times, i) == k || earliest_of(times, k) == i;
	}
	return count;
}

static bool comes_before(const carom_body_impact *a, const carom_body_impact *b)
{
	const uint64_t x[4] = { a->body_a.index1, a->body_b.index1, (uint64_t)a->shape_a, (uint64_t)a->shape_b };
	const uint64_t y[4] = { b->body_a.index1, b->body_b.index1, (uint64_t)b->shape_a, (uint64_t)b->shape_b };
	for (int k = 0; k < 4; k++) {
		if (x[k] != y[k])
			return x[k] < y[k];
	}
	return false;
}

static int check_crowd(const carom_world *world, const crowd *c)
{
	static double times[MOST * MOST];
	const carom_body_impact_view view = carom_world_body_impacts(world);
	meet_all(c, times);
	CHECK_INT(view.count, count_expected(times));
	for (int32_t i = 0; i < view.count; i++) {
		check_impact(c, &view.data[i], times);
		CHECK(i == 0 || comes_before(&view.data[i - 1], &view.data[i]));
	}
	return view.count;
}

TEST(meeting_spheres, the_first_of_each_sphere_against_all_pairs)
{
	static const struct {
		double span, travel;
		v3d drift;
	} cases[] = { { 1, 0.3, { 0, 0, 0 } }, { 1, 2, { 0, 0, 0 } }, { 0.5, 0.05, { 0, 0, 0 } }, { 0.8, 0.1, { 40, -7, 3 } },
		{ 4, 8, { 0, 0, -1 } }, { 0.1, 0.02, { 0, 0, 0 } } };
	uint64_t seed = 9;
	int met = 0;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static crowd c;
		carom_context *context = fixture_context(2);
		carom_world *world = fixture_world(context, NULL);
		make_crowd(&c, &seed, cases[i].span, cases[i].travel, cases[i].drift);
		add_crowd(world, &c);
		fixture_step(world);
		CHECK_INT(carom_world_body_impacts(world).count, 0);
		REQUIRE(send(world, &c, c.end) == CAROM_SUCCESS);
		fixture_step(world);
		met += check_crowd(world, &c);
		fixture_step(world);
		CHECK_INT(carom_world_body_impacts(world).count, 0); // they rest
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
	CHECK(met > 300);
}

// ---- What a user may ask for ----

static carom_body_id add_balls(carom_world *world, const double *centres, const double *radii, int count, uint64_t user_data)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = count;
	def.centres = packed(centres);
	def.radii = packed(radii);
	def.continuous = true;
	def.user_data = user_data;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

TEST(meeting_spheres, two_that_a_solver_stops_go_on_from_there)
{
	static const double start[6] = { -1, 0, 0, 1, 0, 0 }, radii[2] = { 0.1, 0.1 };
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id id = add_balls(world, start, radii, 2, 0);
	fixture_tape tape = { 0 };
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	const double through[6] = { 1, 0, 0, -1, 0, 0 };
	carom_strided places = packed(through);
	REQUIRE(carom_world_set_spheres(world, id, 2, &places, NULL) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	const carom_body_impact *hit = carom_world_earliest_body_impact(world, id);
	REQUIRE(hit != NULL);
	CHECK(fixture_same_id(hit->body_a, id) && fixture_same_id(hit->body_b, id) && hit->shape_a == 0 && hit->shape_b == 1);
	CHECK_NEAR(hit->time, (1 - 0.1 - 0.5 * 0.75 * TOLERANCE) / 2, 1e-12);
	CHECK_NEAR(hit->normal.x, -1, 1e-12);
	const double at = 1 - 2 * hit->time, stopped[6] = { -at, 0, 0, at, 0, 0 }, back[6] = { -1, 0, 0, 1, 0, 0 };
	places = packed(stopped);
	REQUIRE(carom_world_set_sphere_begins(world, id, &places) == CAROM_SUCCESS);
	places = packed(back);
	REQUIRE(carom_world_set_spheres(world, id, 2, &places, NULL) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_body_impacts(world).count, 0); // apart again
	places = packed(stopped);
	REQUIRE(carom_world_set_sphere_begins(world, id, &places) == CAROM_SUCCESS);
	places = packed(through);
	REQUIRE(carom_world_set_spheres(world, id, 2, &places, NULL) == CAROM_SUCCESS);
	fixture_step(world);
	hit = carom_world_earliest_body_impact(world, id);
	REQUIRE(hit != NULL);
	CHECK(hit->time == 0); // pushed on, in touch
	const uint64_t last = carom_world_hash(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK(result.hash == last && result.steps == 3);
	REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(carom_world_hash(world) == hash);
	free(tape.bytes);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

typedef struct asked {
	int calls;
	uint64_t refused;
} asked;

static bool refuse(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)a, (void)b;
	asked *q = user;
	q->calls++;
	return data_a != q->refused && data_b != q->refused;
}

TEST(meeting_spheres, filters_and_bodies_without_self_collision_count)
{
	static const double places[3][3] = { { -1, 0, 0 }, { 1, 0, 0 }, { 0, 0, 0.5 } }, radius = 0.1;
	static const double ends[3][3] = { { 1, 0, 0 }, { -1, 0, 0 }, { 0, 0, -0.5 } };
	for (int round = 0; round < 3; round++) {
		carom_context *context = fixture_context(1);
		carom_world_def settings = carom_default_world_def();
		asked q = { 0, round == 1 ? 7 : 99 };
		settings.pair_filter = refuse;
		settings.filter_user = &q;
		carom_world *world = fixture_world(context, &settings);
		carom_body_id id[3];
		for (int i = 0; i < 3; i++) {
			id[i] = add_balls(world, places[i], &radius, 1, i == 2 ? 7 : (uint64_t)i);
			const carom_strided to = packed(ends[i]);
			REQUIRE(carom_world_set_spheres(world, id[i], 1, &to, NULL) == CAROM_SUCCESS);
		}
		if (round == 2) {
			for (int i = 0; i < 2; i++)
				REQUIRE(carom_world_set_filter(world, id[i], 2, 1, 0) == CAROM_SUCCESS); // not each other
		}
		fixture_step(world);
		const int32_t count = carom_world_body_impacts(world).count;
		CHECK_INT(count, round == 1 ? 1 : 2); // of the two, or of each of them with the third
		CHECK(q.calls > 0);
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
}

static uint64_t hash_with(int threads, carom_simd simd)
{
	static crowd c;
	uint64_t seed = 12;
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	def.simd = simd;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 0;
	carom_world *world = fixture_world(context, NULL);
	make_crowd(&c, &seed, 0.8, 0.5, (v3d){ 1, 0, 0 });
	add_crowd(world, &c);
	REQUIRE(send(world, &c, c.end) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(carom_world_body_impacts(world).count > 50);
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	carom_destroy_context(context);
	return hash;
}

TEST(meeting_spheres, any_number_of_threads_and_instruction_set_finds_them)
{
	const uint64_t hash = hash_with(1, CAROM_SIMD_AUTO);
	CHECK(hash_with(3, CAROM_SIMD_AUTO) == hash);
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		const uint64_t other = fixture_kernels(fixture_all_simd[i]) ? hash_with(2, fixture_all_simd[i]) : hash;
		CHECK(other == hash);
	}
}

TEST(meeting_spheres, every_allocation_may_fail)
{
	static fixture_heap heap;
	static crowd c;
	carom_context *context = fixture_heap_context(&heap, 1);
	int failed = 0, count = -1;
	for (bool done = false; !done;) {
		uint64_t seed = 3;
		carom_world *world = fixture_world(context, NULL);
		make_crowd(&c, &seed, 0.6, 0.4, (v3d){ 0, 0, 0 });
		add_crowd(world, &c);
		REQUIRE(send(world, &c, c.end) == CAROM_SUCCESS);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		done = carom_world_step(world) == CAROM_SUCCESS;
		atomic_store(&heap.fail_at, -1);
		failed += !done;
		if (!done) {
			CHECK_INT(carom_world_body_impacts(world).count, 0);
			fixture_step(world);
		}
		const int32_t now = carom_world_body_impacts(world).count;
		CHECK(now > 50 && (count < 0 || now == count));
		count = now;
		carom_destroy_world(world);
	}
	CHECK(failed > 12);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(meeting_spheres, a_step_over_budget_says_so_and_loses_nothing)
{
	static crowd c;
	size_t most = 0;
	bool over = false;
	for (int round = 0; round < 2; round++) {
		uint64_t seed = 3;
		carom_context *context = fixture_context(1);
		carom_world_def settings = carom_default_world_def();
		settings.memory_budget = round == 0 ? 0 : most + 12000;
		carom_world *world = fixture_world(context, &settings);
		make_crowd(&c, &seed, 0.6, 0.4, (v3d){ 0, 0, 0 });
		add_crowd(world, &c);
		fixture_step(world);
		if (round == 0)
			most = carom_world_stats(world).memory;
		REQUIRE(send(world, &c, c.end) == CAROM_SUCCESS);
		const carom_result result = carom_world_step(world);
		if (round == 0) {
			CHECK_INT(result, CAROM_SUCCESS);
			CHECK(check_crowd(world, &c) > 50);
		} else {
			over = result == CAROM_OVER_BUDGET;
			CHECK_INT(carom_world_body_impacts(world).count, 0);
		}
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
	CHECK(over);
}
