// A cloth of 20 x 20 nodes, 0.4 apart, falls on a capsule and meets itself under it: position-based
// dynamics with one detection in a step. Its self-collision is answered by velocity rays alone. A
// vertex that has come through the triangle which its ray back hits is put on the side from which
// it came. One that would come nearer than the margin to the triangle which its ray on hits is kept
// away. How deep the cloth then lies in itself is measured exactly.
#include "bench_velocity.h"

#include "bench_motion.h"
#include "scene/soft_fill.h"
#include "tools/carom/options.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 20, VERTICES = NODES * NODES, TRIANGLES = 2 * (NODES - 1) * (NODES - 1), MOST_EDGES = 6 * VERTICES };
enum { STEPS = 360, QUICK_STEPS = 60, TURNS = 30, MOST_CROSSINGS = 4 * TRIANGLES };

static const double APART = 0.4, RADIUS = 1, HALF_LENGTH = 1.5, MARGIN = 0.02, TIME_STEP = 1.0 / 60, GRAVITY = 9.81;

typedef struct drape_edge {
	int32_t a, b;
	double rest, stiffness;
} drape_edge;

/// One way to answer self-collision.
typedef struct drape_way {
	const char *name;
	bool rays;
	carom_velocity_rays settings;
} drape_way;

typedef struct drape {
	const drape_way *way;
	carom_context *context;
	carom_world *world;
	carom_body_id id;
	double begin[3 * VERTICES], place[3 * VERTICES], velocity[3 * VERTICES];
	int32_t triangles[3 * TRIANGLES];
	drape_edge edges[MOST_EDGES];
	int edge_count;
	carom_velocity_hit hits[2 * VERTICES];
	carom_crossing crossings[MOST_CROSSINGS];
	// measured
	int crossed_steps, most_crossings;
	double deepest, longest_back; // metres
	int64_t answered;
} drape;

// ---- The cloth ----

static void connect(drape *d, int column, int row, int right, int down, double stiffness)
{
	const int other_column = column + right, other_row = row + down;
	if (other_column < 0 || other_column >= NODES || other_row >= NODES)
		return;
	d->edges[d->edge_count++] = (drape_edge){ row * NODES + column, other_row * NODES + other_column,
		APART * sqrt((double)(right * right + down * down)), stiffness };
}

static void make_cloth(drape *d)
{
	int32_t *t = d->triangles;
	const double turn = 0.5, middle = 0.5 * (NODES - 1);
	for (int32_t i = 0; i < VERTICES; i++) {
		const int column = i % NODES, row = i / NODES;
		const double x = APART * (column - middle), z = APART * (row - middle);
		d->place[3 * i] = cos(turn) * x - sin(turn) * z + 0.1;
		d->place[3 * i + 1] = RADIUS + 0.3;
		d->place[3 * i + 2] = sin(turn) * x + cos(turn) * z + 0.05;
		connect(d, column, row, 1, 0, 1);
		connect(d, column, row, 0, 1, 1);
		connect(d, column, row, 1, 1, 0.5);
		connect(d, column, row, -1, 1, 0.5);
		connect(d, column, row, 2, 0, 0.05);
		connect(d, column, row, 0, 2, 0.05);
		if (column + 1 == NODES || row + 1 == NODES)
			continue;
		const int32_t cell[6] = { i, i + NODES, i + 1, i + 1, i + NODES, i + NODES + 1 };
		memcpy(t, cell, sizeof cell);
		t += 6;
	}
}

static void keep_length(drape *d, const drape_edge *e)
{
	double *p = &d->place[3 * e->a], *q = &d->place[3 * e->b], way[3], square = 0;
	for (int k = 0; k < 3; k++) {
		way[k] = q[k] - p[k];
		square += way[k] * way[k];
	}
	const double length = sqrt(square), share = length > 0 ? 0.5 * e->stiffness * (length - e->rest) / length : 0;
	for (int k = 0; k < 3; k++) {
		p[k] += share * way[k];
		q[k] -= share * way[k];
	}
}

/// The capsule lies along z. Vertices leave it straight, and do not slip.
static void leave_capsule(drape *d)
{
	for (int32_t i = 0; i < VERTICES; i++) {
		double *p = &d->place[3 * i];
		const double along = fmin(fmax(p[2], -HALF_LENGTH), HALF_LENGTH);
		const double way[3] = { p[0], p[1], p[2] - along };
		const double length = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]), least = RADIUS + MARGIN;
		if (!(length < least) || length == 0)
			continue;
		for (int k = 0; k < 3; k++) {
			p[k] += (least - length) / length * way[k];
			d->velocity[3 * i + k] *= 0.5;
		}
	}
}

// ---- Self-collision by rays ----

static double height_over(const carom_velocity_hit *h, const double *p)
{
	return (p[0] - h->point.x) * h->normal.x + (p[1] - h->point.y) * h->normal.y + (p[2] - h->point.z) * h->normal.z;
}

/// Put the vertex and the triangle of a hit apart, each by its weight.
static void answer(drape *d, const carom_velocity_hit *h)
{
	const int32_t *corners = &d->triangles[3 * h->triangle];
	const double normal[3] = { h->normal.x, h->normal.y, h->normal.z };
	double squares = 1;
	for (int k = 0; k < 3; k++)
		squares += h->weights[k] * h->weights[k];
	const double push = (MARGIN - height_over(h, &d->place[3 * h->vertex])) / squares;
	if (!(push > 0))
		return;
	d->answered++;
	for (int k = 0; k < 3; k++) {
		d->place[3 * h->vertex + k] += push * normal[k];
		for (int c = 0; c < 3; c++)
			d->place[3 * corners[c] + k] -= push * h->weights[c] * normal[k];
	}
}

static carom_result set_places(drape *d, bool moves)
{
	const carom_strided begin = { d->begin, 0, CAROM_FLOAT64 }, end = { d->place, 0, CAROM_FLOAT64 };
	return carom_world_set_vertices(d->world, d->id, moves ? &begin : &end, moves ? &end : NULL);
}

static carom_result answer_rays(drape *d)
{
	int32_t count = 0;
	carom_result result = set_places(d, true);
	if (result == CAROM_SUCCESS)
		result = carom_world_cast_velocity_rays(d->world, d->id, NULL, &d->way->settings, NULL, 2 * VERTICES, d->hits, &count);
	for (int32_t i = 0; i < count && result == CAROM_SUCCESS; i++) {
		if (d->hits[i].behind)
			d->longest_back = fmax(d->longest_back, d->hits[i].distance);
		answer(d, &d->hits[i]);
	}
	return result;
}

// ---- Measuring ----

/// How far a triangle reaches through the plane of another one: the least that it has to move along
/// that plane's normal to lie on one side.
static double reach_through(const drape *d, int32_t triangle, int32_t plane)
{
	const double *p[3], *q[3];
	for (int k = 0; k < 3; k++) {
		p[k] = &d->place[3 * d->triangles[3 * plane + k]];
		q[k] = &d->place[3 * d->triangles[3 * triangle + k]];
	}
	double normal[3], squares = 0, low = INFINITY, high = -INFINITY;
	for (int k = 0; k < 3; k++) {
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		normal[k] = (p[1][u] - p[0][u]) * (p[2][v] - p[0][v]) - (p[1][v] - p[0][v]) * (p[2][u] - p[0][u]);
		squares += normal[k] * normal[k];
	}
	for (int c = 0; c < 3; c++) {
		double height = 0;
		for (int k = 0; k < 3; k++)
			height += normal[k] * (q[c][k] - p[0][k]);
		low = fmin(low, height);
		high = fmax(high, height);
	}
	return squares > 0 ? fmax(fmin(high, -low), 0) / sqrt(squares) : 0;
}

static carom_result measure(drape *d)
{
	int32_t count = 0;
	carom_result result = set_places(d, false);
	if (result == CAROM_SUCCESS)
		result = carom_world_find_crossings(d->world, d->id, NULL, MOST_CROSSINGS, d->crossings, &count);
	for (int32_t i = 0; i < count && i < MOST_CROSSINGS; i++) {
		const int32_t a = d->crossings[i].triangle_a, b = d->crossings[i].triangle_b;
		d->deepest = fmax(d->deepest, fmin(reach_through(d, a, b), reach_through(d, b, a)));
	}
	d->crossed_steps += count > 0;
	d->most_crossings = count > d->most_crossings ? count : d->most_crossings;
	return result;
}

// ---- A run ----

static carom_result advance(drape *d)
{
	memcpy(d->begin, d->place, sizeof d->begin);
	for (int32_t i = 0; i < 3 * VERTICES; i++) {
		d->velocity[i] = 0.995 * d->velocity[i] - (i % 3 == 1 ? TIME_STEP * GRAVITY : 0);
		d->place[i] += TIME_STEP * d->velocity[i];
	}
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < d->edge_count; i++)
			keep_length(d, &d->edges[i]);
		leave_capsule(d);
	}
	carom_result result = d->way->rays ? answer_rays(d) : CAROM_SUCCESS;
	for (int32_t i = 0; i < 3 * VERTICES; i++)
		d->velocity[i] = (d->place[i] - d->begin[i]) / TIME_STEP;
	return result == CAROM_SUCCESS ? measure(d) : result;
}

static carom_result open_world(drape *d)
{
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = (carom_strided){ d->place, 0, CAROM_FLOAT64 };
	mesh_def.vertex_count = VERTICES;
	mesh_def.triangles = d->triangles;
	mesh_def.triangle_count = TRIANGLES;
	mesh_def.grid_resolution = 0;
	carom_mesh *mesh = NULL;
	carom_body_def def = carom_default_body_def();
	carom_result result = carom_create_mesh(d->context, &mesh_def, NULL, &mesh);
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	def.kind = CAROM_CLOTH;
	def.self_collision = false; // rays take its place
	if (result == CAROM_SUCCESS)
		result = carom_create_world(d->context, NULL, &d->world);
	if (result == CAROM_SUCCESS)
		result = carom_world_add_body(d->world, &def, &d->id);
	carom_release_mesh(mesh);
	return result;
}

static void add_row(bench_table *table, const char *name, int steps, int crossed, int most, double deepest, double longest)
{
	bench_text(table, "%s", name);
	bench_text(table, "%d", steps);
	bench_text(table, "%d", crossed);
	bench_text(table, "%d", most);
	bench_number(table, 1e3 * deepest, 3);
	bench_number(table, deepest > 0 ? APART / deepest : NAN, 0);
	bench_number(table, longest < 0 ? NAN : 1e3 * longest, 3);
}

static int run_way(const bench *b, const drape_way *way, bench_table *table)
{
	drape *d = bench_allocate(1, sizeof *d);
	const int steps = b->quick ? QUICK_STEPS : STEPS;
	d->way = way;
	d->context = report_create_context(b->threads, b->simd);
	if (!d->context) {
		free(d);
		return EXIT_FAILED;
	}
	make_cloth(d);
	carom_result result = open_world(d);
	for (int i = 0; i < steps && result == CAROM_SUCCESS; i++)
		result = advance(d);
	int status = EXIT_DONE;
	if (result == CAROM_SUCCESS)
		add_row(table, way->name, steps, d->crossed_steps, d->most_crossings, d->deepest, way->rays ? d->longest_back : -1);
	else
		status = report_error(NULL, "velocity rays: %s", carom_error_text(d->context));
	carom_destroy_world(d->world);
	carom_destroy_context(d->context);
	free(d);
	return status;
}

/// The scene of the command, whose simulation answers to the sweep.
static int add_sweep(bench *b, bench_table *table)
{
	static const bench_scene which = { "cloth_capsule.json", 0, 0 };
	scene_description scene;
	sim_error error = { "" };
	if (bench_load_scene(b, &which, &scene) != EXIT_DONE)
		return EXIT_FAILED;
	carom_context *context = report_create_context(b->threads, b->simd);
	sim_soft *soft = context ? scene_start_deforming(context, &scene, &error) : NULL;
	const int steps = b->quick ? QUICK_STEPS : (int)scene.steps;
	int crossed = 0, most = 0;
	bool done = soft != NULL;
	for (int i = 0; i < steps && done; i++) {
		sim_soft_step step;
		int32_t count = 0;
		done = sim_soft_advance(soft, &step, &error) && sim_soft_count_crossings(soft, &count);
		crossed += count > 0;
		most = count > most ? count : most;
	}
	if (done)
		add_row(table, "sweep (carom run cloth_capsule)", steps, crossed, most, most > 0 ? NAN : 0, -1);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	scene_destroy(&scene);
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

int bench_drape_by_rays(bench *b, bench_report *report)
{
	static const drape_way ways[] = { { .name = "no answer" }, { .name = "rays as printed", .rays = true },
		{ .name = "rays, relative", .rays = true, .settings.relative = true },
		{ .name = "rays as printed, each 0.1 m long", .rays = true, .settings.max_distance = 0.1 },
		{ .name = "rays of every second vertex", .rays = true, .settings.every = 2 } };
	bench_table *table = bench_add_table(report, "velocity-rays-capsule",
		"Cloth of 20 x 20 nodes, 0.4 apart, on a capsule: how deep it lies in itself",
		"self-collision by|steps|crossed in|crossing triangles, at most|deepest, mm|node distance / deepest|longest ray back, mm");
	int status = EXIT_DONE;
	for (int i = 0; i < (int)(sizeof ways / sizeof ways[0]) && status == EXIT_DONE; i++)
		status = run_way(b, &ways[i], table);
	if (status == EXIT_DONE)
		status = add_sweep(b, table);
	bench_note(report,
		"the paper: 0.587 mm, 1/680 of the node distance. It does not say how it measures; the longest ray back is what rays can see");
	return status;
}
