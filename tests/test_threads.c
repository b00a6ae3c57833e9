/// Application threads that share a context: whose error text is whose, and what may be made and run at once.
#include "fixture.h"
#include "pool_fixture.h"
#include "base/context.h"
#include "carom/spheres.h"
#include "carom/sweep.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

// ---- Error texts ----

typedef struct turn_taker {
	carom_context *context;
	pthread_barrier_t *barrier;
	int number;
	bool own; // the text was of its own failure
} turn_taker;

/// Both fail before either asks why.
static void *fail_then_ask(void *user)
{
	turn_taker *t = user;
	char text[64];
	snprintf(text, sizeof text, "failure of thread %d", t->number);
	cr_fail(t->context, CAROM_INVALID_ARGUMENT, "%s", text);
	pthread_barrier_wait(t->barrier);
	t->own = strcmp(carom_error_text(t->context), text) == 0;
	return NULL;
}

TEST(threads, each_thread_sees_its_own_failure)
{
	carom_context *context = fixture_context(1);
	pthread_barrier_t barrier;
	REQUIRE(pthread_barrier_init(&barrier, NULL, 2) == 0);
	turn_taker t[2] = { { context, &barrier, 0, false }, { context, &barrier, 1, false } };
	fixture_run_two(fail_then_ask, (void *[]){ &t[0], &t[1] });
	CHECK(t[0].own && t[1].own);
	CHECK(strncmp(carom_error_text(context), "failure of thread ", 18) == 0); // this one had none of its own
	pthread_barrier_destroy(&barrier);
	carom_destroy_context(context);
}

enum { FAILURES = 20000 };

typedef struct failing {
	carom_context *context;
	int number;
	int wrong; // texts that were not of the thread's own last failure
} failing;

/// Texts as long as they get, so that a mixture of two is likely to show.
static void make_text(int number, int i, char text[CR_ERROR_TEXT_SIZE])
{
	snprintf(text, CR_ERROR_TEXT_SIZE, "thread %d failure %d", number, i);
	const size_t length = strlen(text);
	memset(text + length, 'a' + number, CR_ERROR_TEXT_SIZE - 1 - length);
	text[CR_ERROR_TEXT_SIZE - 1] = 0;
}

static void *fail_often(void *user)
{
	failing *f = user;
	for (int i = 0; i < FAILURES; i++) {
		char text[CR_ERROR_TEXT_SIZE];
		make_text(f->number, i, text);
		cr_fail(f->context, CAROM_INVALID_ARGUMENT, "%s", text);
		f->wrong += strcmp(carom_error_text(f->context), text) != 0;
	}
	return NULL;
}

TEST(threads, error_texts_of_two_threads_do_not_mix)
{
	carom_context *context = fixture_context(1);
	failing f[2] = { { context, 0, 0 }, { context, 1, 0 } };
	fixture_run_two(fail_often, (void *[]){ &f[0], &f[1] });
	CHECK_INT(f[0].wrong, 0);
	CHECK_INT(f[1].wrong, 0);
	// A thread without a failure of its own sees the last one of either.
	char last[2][CR_ERROR_TEXT_SIZE];
	for (int i = 0; i < 2; i++)
		make_text(i, FAILURES - 1, last[i]);
	const char *text = carom_error_text(context);
	CHECK(strcmp(text, last[0]) == 0 || strcmp(text, last[1]) == 0);
	carom_destroy_context(context);
}

/// Looks at the text of the context while another thread fails: one text or another, not a mixture.
static void *watch_texts(void *user)
{
	failing *f = user;
	for (int i = 0; i < FAILURES; i++) {
		const char *text = carom_error_text(f->context);
		const size_t length = strlen(text);
		f->wrong += length != 0 && (length != CR_ERROR_TEXT_SIZE - 1 || text[length - 1] != 'a' + 1);
	}
	return NULL;
}

static void *fail_or_watch(void *user) { return ((failing *)user)->number == 0 ? watch_texts(user) : fail_often(user); }

TEST(threads, error_text_of_another_thread_is_whole)
{
	carom_context *context = fixture_context(1);
	failing f[2] = { { context, 0, 0 }, { context, 1, 0 } };
	fixture_run_two(fail_or_watch, (void *[]){ &f[0], &f[1] });
	CHECK_INT(f[0].wrong, 0);
	CHECK_INT(f[1].wrong, 0);
	carom_destroy_context(context);
}

/// The pieces fail, all but the calling thread's.
typedef struct elsewhere {
	carom_context *context;
	pthread_t caller;
	atomic_int failures;
} elsewhere;

static void fail_elsewhere(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	elsewhere *e = task;
	if (pthread_equal(pthread_self(), e->caller))
		return;
	atomic_fetch_add(&e->failures, (int)(end - begin));
	cr_fail(e->context, CAROM_OUT_OF_MEMORY, "a piece failed");
}

typedef struct one_piece {
	carom_task_fn *task_fn;
	int64_t count;
	void *task;
} one_piece;

static void *run_one_piece(void *user)
{
	const one_piece *p = user;
	p->task_fn(0, p->count, 1, p->task);
	return NULL;
}

/// All on one other thread.
static void other_thread(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	(void)min_range, (void)user;
	one_piece piece = { task_fn, count, task };
	pthread_t thread;
	if (pthread_create(&thread, NULL, run_one_piece, &piece) == 0)
		pthread_join(thread, NULL);
}

TEST(threads, failures_in_a_parallel_loop_are_the_callers)
{
	pool_require_threads();
	carom_context_def def = carom_default_context_def();
	def.thread_count = 2;
	def.parallel_for = other_thread;
	elsewhere e = { .caller = pthread_self() };
	REQUIRE(carom_create_context(&def, &e.context) == CAROM_SUCCESS);
	cr_fail(e.context, CAROM_INVALID_ARGUMENT, "an older failure of the caller");
	carom_parallel_for(e.context, fail_elsewhere, 100, 1, &e);
	CHECK_INT(e.failures, 100);
	CHECK_STR(carom_error_text(e.context), "a piece failed");
	carom_destroy_context(e.context);
}

// ---- Loops inside loops ----

/// What the scheduler below knows of the thread it runs on; -1 outside its pieces.
static _Thread_local int s_worker = -1;

enum { POOL = 3 };

typedef struct pool {
	atomic_int nested; // calls from inside a piece: many pools would wait for themselves
} pool;

typedef struct pool_share {
	carom_task_fn *task_fn;
	void *task;
	int64_t count, range;
	int worker;
} pool_share;

/// Every POOL-th piece: which worker gets which does not depend on time.
static void *run_share(void *user)
{
	const pool_share *s = user;
	s_worker = s->worker;
	for (int64_t begin = s->worker * s->range; begin < s->count; begin += POOL * s->range)
		s->task_fn(begin, begin + s->range < s->count ? begin + s->range : s->count, s->worker, s->task);
	s_worker = -1;
	return NULL;
}

static void pool_scheduler(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	if (s_worker >= 0)
		atomic_fetch_add(&((pool *)user)->nested, 1);
	const int outer = s_worker;
	pool_share shares[POOL];
	pthread_t threads[POOL];
	for (int i = 0; i < POOL; i++)
		shares[i] = (pool_share){ task_fn, task, count, min_range, i };
	for (int i = 1; i < POOL; i++)
		REQUIRE(pthread_create(&threads[i], NULL, run_share, &shares[i]) == 0);
	run_share(&shares[0]);
	for (int i = 1; i < POOL; i++)
		pthread_join(threads[i], NULL);
	s_worker = outer;
}

static carom_context *pool_context(pool *p)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = POOL;
	def.parallel_for = pool_scheduler;
	def.parallel_for_user = p;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

typedef struct looping_filter {
	carom_context *context;
	atomic_int calls[POOL];
	atomic_int items;
	atomic_int wrong; // pieces on another worker than the thread's
} looping_filter;

static void count_items(int64_t begin, int64_t end, int worker, void *task)
{
	looping_filter *f = task;
	atomic_fetch_add(&f->items, (int)(end - begin));
	atomic_fetch_add(&f->wrong, worker != (s_worker < 0 ? 0 : s_worker));
}

static bool loop_in_filter(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)a, (void)b, (void)data_a, (void)data_b;
	looping_filter *f = user;
	atomic_fetch_add(&f->calls[s_worker < 0 ? 0 : s_worker], 1);
	carom_parallel_for(f->context, count_items, 100, 1, f);
	return true;
}

enum { BODIES = 1000 };

static carom_world *crowded_world(carom_context *context, const carom_world_def *def, uint64_t seed)
{
	carom_world *world = fixture_world(context, def);
	for (int i = 0; i < BODIES; i++)
		fixture_add(world, fixture_sphere(0.3), fixture_random_pose(&seed, 3), CAROM_DYNAMIC);
	return world;
}

TEST(threads, loops_in_pair_filters_stay_on_their_worker)
{
	pool p = { 0 };
	looping_filter f = { .context = pool_context(&p) };
	carom_world_def def = carom_default_world_def();
	def.pair_filter = loop_in_filter;
	def.filter_user = &f;
	carom_world *world = crowded_world(f.context, &def, 7);
	fixture_step(world);
	int calls = 0;
	for (int i = 0; i < POOL; i++)
		calls += f.calls[i];
	CHECK(calls > f.calls[0]); // some in a piece
	CHECK_INT(f.items, 100 * calls);
	CHECK_INT(f.wrong, 0);
	CHECK_INT(p.nested, 0);
	carom_destroy_world(world);
	carom_destroy_context(f.context);
}

enum { WORLDS = 4 };

static void step_worlds(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	carom_world **worlds = task;
	for (int64_t i = begin; i < end; i++)
		carom_world_step(worlds[i]);
}

TEST(threads, worlds_stepped_in_pieces_of_a_parallel_loop)
{
	pool p = { 0 };
	carom_context *contexts[2] = { pool_context(&p), fixture_context(2) };
	for (int c = 0; c < 2; c++) {
		carom_world *worlds[WORLDS];
		for (int i = 0; i < WORLDS; i++)
			worlds[i] = crowded_world(contexts[c], NULL, (uint64_t)i);
		carom_parallel_for(contexts[c], step_worlds, WORLDS, 1, worlds);
		CHECK_INT(p.nested, 0);
		for (int i = 0; i < WORLDS; i++) {
			carom_world *alone = crowded_world(contexts[c], NULL, (uint64_t)i);
			fixture_step(alone);
			CHECK(carom_world_contacts(alone).count > 0);
			CHECK(carom_world_hash(worlds[i]) == carom_world_hash(alone));
			carom_destroy_world(alone);
			carom_destroy_world(worlds[i]);
		}
		carom_destroy_context(contexts[c]);
	}
}

// ---- Two threads, one context ----

enum { SPHERES = 20000, SIDE = 40, CLOTH = (SIDE + 1) * (SIDE + 1) };

/// What one thread makes, uses and destroys. No check macros: they are for one thread.
typedef struct user_thread {
	carom_context *context;
	uint64_t seed;
	int64_t pairs, hits; // found
	bool good;
} user_thread;

static bool use_spheres(user_thread *u)
{
	static _Thread_local float records[SPHERES][4];
	carom_spheres_def def = carom_default_spheres_def();
	def.skin = 0.001;
	carom_spheres *spheres;
	if (carom_create_spheres(u->context, &def, &spheres) != CAROM_SUCCESS)
		return false;
	carom_sphere_input input = carom_default_sphere_input();
	input.count = SPHERES;
	input.centres = (carom_strided){ records, sizeof records[0], CAROM_FLOAT32 };
	input.radii = (carom_strided){ &records[0][3], sizeof records[0], CAROM_FLOAT32 };
	bool good = true;
	for (int update = 0; update < 3; update++) {
		for (int i = 0; i < SPHERES; i++) {
			for (int k = 0; k < 3; k++)
				records[i][k] = (float)test_random_double(&u->seed, 0, 1);
			records[i][3] = 0.012f;
		}
		carom_sphere_pairs pairs;
		good &= carom_spheres_update(spheres, &input) == CAROM_SUCCESS;
		good &= carom_spheres_find_pairs(spheres, &pairs) == CAROM_SUCCESS;
		u->pairs += pairs.count;
	}
	carom_destroy_spheres(spheres);
	return good;
}

static int make_sheet(int32_t triangles[][3])
{
	int count = 0;
	for (int i = 0; i < SIDE * SIDE; i++) {
		const int32_t a = i / SIDE * (SIDE + 1) + i % SIDE, b = a + 1, c = a + SIDE + 1, d = c + 1;
		memcpy(triangles[count++], (const int32_t[3]){ a, b, d }, sizeof *triangles);
		memcpy(triangles[count++], (const int32_t[3]){ a, d, c }, sizeof *triangles);
	}
	return count;
}

/// Two sheets that fall through each other.
static bool use_sweep(user_thread *u)
{
	static _Thread_local int32_t triangles[2 * SIDE * SIDE][3];
	static _Thread_local double places[2][CLOTH][3];
	carom_sweep *sweep;
	if (carom_create_sweep(u->context, NULL, &sweep) != CAROM_SUCCESS)
		return false;
	bool good = true;
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.triangles = triangles[0];
	def.triangle_count = make_sheet(triangles);
	def.vertex_count = CLOTH;
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < CLOTH; i++) {
			places[side][i][0] = i % (SIDE + 1) + 0.1 * side;
			places[side][i][1] = i / (SIDE + 1) + 0.2 * side;
			places[side][i][2] = side + test_random_double(&u->seed, 0, 0.3);
		}
		int32_t mesh;
		def.vertices = (carom_strided){ places[side], 0, CAROM_FLOAT64 };
		good &= carom_sweep_add_mesh(sweep, &def, &mesh) == CAROM_SUCCESS;
	}
	for (int i = 0; i < CLOTH; i++)
		places[1][i][2] -= 2;
	carom_sweep_hits hits;
	good &= carom_sweep_move_mesh(sweep, 1, &def.vertices) == CAROM_SUCCESS;
	good &= carom_sweep_find(sweep, &hits) == CAROM_SUCCESS;
	u->hits = hits.count;
	carom_destroy_sweep(sweep);
	return good;
}

static void *use_context(void *user)
{
	user_thread *u = user;
	u->good = use_spheres(u) && use_sweep(u);
	return NULL;
}

TEST(threads, spheres_and_sweeps_of_one_context_in_two_threads)
{
	pool p = { 0 };
	carom_context *contexts[2] = { pool_context(&p), fixture_context(2) };
	for (int c = 0; c < 2; c++) {
		const size_t empty = carom_memory_in_use(contexts[c]);
		user_thread alone[2], together[2];
		for (int i = 0; i < 2; i++) {
			alone[i] = together[i] = (user_thread){ .context = contexts[c], .seed = 3 + (uint64_t)i };
			use_context(&alone[i]);
		}
		fixture_run_two(use_context, (void *[]){ &together[0], &together[1] });
		for (int i = 0; i < 2; i++) {
			CHECK(alone[i].good && together[i].good);
			CHECK(alone[i].pairs > 1000 && alone[i].hits > 100);
			CHECK_INT(together[i].pairs, alone[i].pairs);
			CHECK_INT(together[i].hits, alone[i].hits);
		}
		CHECK_INT(carom_memory_in_use(contexts[c]), empty);
		CHECK_INT(p.nested, 0);
		carom_destroy_context(contexts[c]);
	}
}
