/// @file bench_threads.c
/// The gain and the cost of threads. Each load runs in turn on one worker and on several: empty
/// loops, with and without pauses between them, and real steps of a world, of spheres and of a
/// cloth. Processes that do nothing but count may run beside it. The results of a real step must
/// not depend on the workers. Prints CSV: microseconds a step in windows of a fixed number of
/// steps.
/// Usage: bench_threads [--threads N] [--busy PROCESSES] [--rounds N] [--load NAME]
#include "bench/bench_random.h"
#include "carom/carom.h"
#include "carom/spheres.h"
#include "carom/sweep.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAYS = 2, MAX_ROUNDS = 1000, MAX_BUSY = 64 };

static void fail(const char *what)
{
	fprintf(stderr, "bench_threads: %s\n", what);
	exit(1);
}

static void check(carom_context *context, carom_result result)
{
	if (result != CAROM_SUCCESS)
		fail(carom_error_text(context));
}

static double now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/// A load on one context. step returns a number that must not depend on the workers.
typedef struct run {
	carom_context *context;
	const struct load *load;
	void *state;
	uint64_t seed;
	int steps;
} run;

typedef struct load {
	const char *name;
	int steps;       // of a window
	int pieces;      // of an empty loop
	double pause_us; // before it
	void (*open)(run *r);
	int64_t (*step)(run *r);
	void (*close)(run *r);
} load;

// ---- Empty loops ----

static void no_work(int64_t begin, int64_t end, int worker, void *task) { (void)begin, (void)end, (void)worker, (void)task; }

static int64_t step_empty(run *r)
{
	if (r->load->pause_us > 0) {
		const double end = now_us() + r->load->pause_us;
		while (now_us() < end) {
		}
	}
	carom_parallel_for(r->context, no_work, r->load->pieces, 1, NULL);
	return 0;
}

// ---- A world: concave solids that creep ----

enum { BODIES = 512, SIDE = 8 };

typedef struct solids {
	carom_world *world;
	carom_body_id ids[BODIES];
	carom_pose poses[BODIES];
} solids;

static carom_mesh *make_solid(carom_context *context)
{
	static const float vertices[12][3] = { { 0, 0, 0 }, { 3, 0, 0 }, { 3, 1, 0 }, { 1, 1, 0 }, { 1, 3, 0 }, { 0, 3, 0 },
		{ 0, 0, 1 }, { 3, 0, 1 }, { 3, 1, 1 }, { 1, 1, 1 }, { 1, 3, 1 }, { 0, 3, 1 } };
	static const int32_t triangles[20][3] = { { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 3 }, { 0, 5, 4 }, { 6, 7, 8 }, { 6, 8, 9 },
		{ 6, 9, 10 }, { 6, 10, 11 }, { 0, 1, 7 }, { 0, 7, 6 }, { 1, 2, 8 }, { 1, 8, 7 }, { 2, 3, 9 }, { 2, 9, 8 }, { 3, 4, 10 },
		{ 3, 10, 9 }, { 4, 5, 11 }, { 4, 11, 10 }, { 5, 0, 6 }, { 5, 6, 11 } };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = 12;
	def.triangles = triangles[0];
	def.triangle_count = 20;
	carom_mesh *mesh;
	check(context, carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

static void open_solids(run *r)
{
	solids *s = r->state = calloc(1, sizeof *s);
	if (!s)
		fail("out of memory");
	carom_mesh *mesh = make_solid(r->context);
	check(r->context, carom_create_world(r->context, NULL, &s->world));
	for (int i = 0; i < BODIES; i++) {
		carom_body_def def = carom_default_body_def();
		def.kind = CAROM_DYNAMIC;
		def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
		def.pose = carom_pose_identity();
		def.pose.position = (carom_vec3){ 3.05 * (i % SIDE), 3.05 * (i / SIDE % SIDE), 1.02 * (i / SIDE / SIDE) };
		s->poses[i] = def.pose;
		check(r->context, carom_world_add_body(s->world, &def, &s->ids[i]));
	}
	carom_release_mesh(mesh);
}

static int64_t step_solids(run *r)
{
	solids *s = r->state;
	for (int i = 0; i < BODIES; i++) {
		carom_vec3 *p = &s->poses[i].position;
		const double amount = r->steps % 2 ? -0.04 : 0.04; // there and back
		p->x += amount * (i % 3 - 1);
		p->y += amount * (i % 5 - 2);
		check(r->context, carom_world_set_pose(s->world, s->ids[i], &s->poses[i]));
	}
	check(r->context, carom_world_step(s->world));
	return (int64_t)carom_world_hash(s->world);
}

static void close_solids(run *r)
{
	carom_destroy_world(((solids *)r->state)->world);
	free(r->state);
}

// ---- Spheres: all pairs of a random set ----

enum { SPHERES = 30000 };

typedef struct grains {
	carom_spheres *spheres;
	float records[SPHERES][4];
} grains;

static void open_grains(run *r)
{
	grains *g = r->state = calloc(1, sizeof *g);
	if (!g)
		fail("out of memory");
	for (int i = 0; i < SPHERES; i++) {
		for (int k = 0; k < 3; k++)
			g->records[i][k] = (float)random_between(&r->seed, 0, 30);
		g->records[i][3] = 0.5f;
	}
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_GRID;
	check(r->context, carom_create_spheres(r->context, &def, &g->spheres));
}

static int64_t step_grains(run *r)
{
	grains *g = r->state;
	for (int i = 0; i < SPHERES; i += 7)
		g->records[i][0] += r->steps % 2 ? -0.1f : 0.1f;
	carom_sphere_input input = carom_default_sphere_input();
	input.count = SPHERES;
	input.centres = (carom_strided){ .data = g->records, .stride = sizeof g->records[0], .type = CAROM_FLOAT32 };
	input.radii = (carom_strided){ .data = &g->records[0][3], .stride = sizeof g->records[0], .type = CAROM_FLOAT32 };
	check(r->context, carom_spheres_update(g->spheres, &input));
	carom_sphere_pairs pairs;
	check(r->context, carom_spheres_find_pairs(g->spheres, &pairs));
	return pairs.count;
}

static void close_grains(run *r)
{
	carom_destroy_spheres(((grains *)r->state)->spheres);
	free(r->state);
}

// ---- Cloth: two sheets that wave through one another ----

enum { SHEETS = 2, ROW = 60, VERTICES = ROW * ROW, TRIANGLES = 2 * (ROW - 1) * (ROW - 1) };

typedef struct cloth {
	carom_sweep *sweep;
	float places[SHEETS][VERTICES][3];
	int32_t triangles[TRIANGLES][3];
} cloth;

static void place_cloth(cloth *c, int step)
{
	for (int m = 0; m < SHEETS; m++) {
		for (int i = 0; i < VERTICES; i++) {
			const double x = i % ROW, y = i / ROW; // NOLINT: rows are whole
			float *p = c->places[m][i];
			p[0] = (float)(0.1 * x);
			p[1] = (float)(0.1 * y + 0.03 * m);
			p[2] = (float)(0.3 * sin(0.2 * x + 0.05 * step) + m * (0.2 + 0.1 * cos(0.3 * y + 0.1 * step)));
		}
	}
}

static carom_strided sheet(const cloth *c, int m) { return (carom_strided){ .data = c->places[m], .type = CAROM_FLOAT32 }; }

static void open_cloth(run *r)
{
	cloth *c = r->state = calloc(1, sizeof *c);
	if (!c)
		fail("out of memory");
	int32_t count = 0;
	for (int32_t v = 0; v < VERTICES - ROW; v++) {
		if (v % ROW == ROW - 1)
			continue;
		memcpy(c->triangles[count++], (int32_t[3]){ v, v + 1, v + ROW }, sizeof c->triangles[0]);
		memcpy(c->triangles[count++], (int32_t[3]){ v + 1, v + ROW + 1, v + ROW }, sizeof c->triangles[0]);
	}
	place_cloth(c, 0);
	check(r->context, carom_create_sweep(r->context, NULL, &c->sweep));
	for (int m = 0; m < SHEETS; m++) {
		carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
		def.vertex_count = VERTICES;
		def.triangles = c->triangles[0];
		def.triangle_count = count;
		def.vertices = sheet(c, m);
		int32_t mesh;
		check(r->context, carom_sweep_add_mesh(c->sweep, &def, &mesh));
	}
}

static int64_t step_cloth(run *r)
{
	cloth *c = r->state;
	place_cloth(c, r->steps + 1);
	for (int m = 0; m < SHEETS; m++) {
		const carom_strided end = sheet(c, m);
		check(r->context, carom_sweep_move_mesh(c->sweep, m, &end));
	}
	carom_sweep_hits hits;
	check(r->context, carom_sweep_find(c->sweep, &hits));
	return hits.count;
}

static void close_cloth(run *r)
{
	carom_destroy_sweep(((cloth *)r->state)->sweep);
	free(r->state);
}

// ---- Measuring ----

static const load LOADS[] = {
	{ "loop-2", .steps = 20000, .pieces = 2, .step = step_empty },
	{ "loop-64", .steps = 20000, .pieces = 64, .step = step_empty },
	{ "loop-64-after-10us", .steps = 2000, .pieces = 64, .pause_us = 10, .step = step_empty },
	{ "loop-64-after-300us", .steps = 200, .pieces = 64, .pause_us = 300, .step = step_empty },
	{ "solids", .steps = 100, .open = open_solids, .step = step_solids, .close = close_solids },
	{ "spheres", .steps = 150, .open = open_grains, .step = step_grains, .close = close_grains },
	{ "cloth", .steps = 200, .open = open_cloth, .step = step_cloth, .close = close_cloth },
};

static int64_t do_step(run *r)
{
	const int64_t result = r->load->step(r);
	r->steps++;
	return result;
}

static void open_run(run *r, const load *l, int threads)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	*r = (run){ .load = l, .seed = 1 };
	if (carom_create_context(&def, &r->context) != CAROM_SUCCESS)
		fail(carom_error_text(NULL));
	if (l->open)
		l->open(r);
}

static void close_run(run *r)
{
	if (r->load->close)
		r->load->close(r);
	carom_destroy_context(r->context);
}

/// Returns microseconds a step.
static double measure_window(run *r, int64_t *sum)
{
	*sum = 0;
	const double start = now_us();
	for (int i = 0; i < r->load->steps; i++)
		*sum += do_step(r);
	return (now_us() - start) / r->load->steps - r->load->pause_us;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double mean_of(const double *us, int count)
{
	double sum = 0;
	for (int i = 0; i < count; i++)
		sum += us[i];
	return sum / count;
}

static void measure(const load *l, int threads, int busy, int rounds)
{
	static double us[WAYS][MAX_ROUNDS];
	const int ways[WAYS] = { 1, threads };
	run runs[WAYS];
	int64_t sums[WAYS];
	for (int w = 0; w < WAYS; w++) {
		open_run(&runs[w], l, ways[w]);
		measure_window(&runs[w], &sums[w]); // warms up
	}
	for (int i = 0; i < rounds; i++) {
		for (int w = 0; w < WAYS; w++)
			us[w][i] = measure_window(&runs[w], &sums[w]);
		if (sums[0] != sums[1])
			fail("results depend on the number of threads");
	}
	double one[3] = { 0 };
	for (int w = 0; w < WAYS; w++) {
		close_run(&runs[w]);
		qsort(us[w], (size_t)rounds, sizeof us[w][0], compare_doubles);
		const double figures[3] = { us[w][0], us[w][rounds / 2], mean_of(us[w], rounds) };
		printf("%s,%d,%d", l->name, busy, ways[w]);
		for (int k = 0; k < 3; k++) {
			if (w == 0)
				one[k] = figures[k];
			printf(",%.3f", figures[k]);
		}
		printf(",%.2f,%.2f,%.2f\n", figures[0] / one[0], figures[1] / one[1], figures[2] / one[2]);
	}
	fflush(stdout);
}

/// Counts until its parent is gone.
static void be_busy(void)
{
	const pid_t parent = getppid();
	for (volatile unsigned count = 1;; count++) {
		if (count % (1u << 24) == 0 && getppid() != parent)
			_exit(0);
	}
}

static int number_after(int argc, char **argv, const char *name, int otherwise, int least, int most)
{
	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			otherwise = atoi(argv[i + 1]);
	}
	if (otherwise < least || otherwise > most)
		fail("a number is out of range");
	return otherwise;
}

int main(int argc, char **argv)
{
	const int threads = number_after(argc, argv, "--threads", 2, 1, 256);
	const int busy = number_after(argc, argv, "--busy", 0, 0, MAX_BUSY);
	const int rounds = number_after(argc, argv, "--rounds", 15, 1, MAX_ROUNDS);
	const char *only = NULL;
	for (int i = 1; i + 1 < argc; i++)
		only = strcmp(argv[i], "--load") == 0 ? argv[i + 1] : only;
	pid_t children[MAX_BUSY];
	for (int i = 0; i < busy; i++) {
		children[i] = fork();
		if (children[i] == 0)
			be_busy();
	}
	printf("load,busy processes,threads,min us,median us,mean us,min to one thread,median to one,mean to one\n");
	for (size_t i = 0; i < sizeof LOADS / sizeof LOADS[0]; i++) {
		if (!only || strcmp(only, LOADS[i].name) == 0)
			measure(&LOADS[i], threads, busy, rounds);
	}
	for (int i = 0; i < busy; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	return 0;
}
