// velocity-rays: the self-collision of open meshes by rays along the velocities of vertices (Li and
// Yamaguchi, Algorithm 1) beside the full answer, on motions of cloth. Each step is a motion from
// the places of its beginning to those that are foreseen. Rays back are cast from where vertices
// end, rays on from where they begin; the sweep tells which vertices meet a face on the way, and
// misses none.
#include "bench_velocity.h"

#include "bench_motion.h"
#include "io/mesh_file.h"
#include "scene/soft_fill.h"
#include "sim/base/sim_clock.h"
#include "tools/carom/options.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED, RELATIVE, WAYS_TO_CAST };
enum { BACK = 1, ON = 2 };

/// A surface, the body that it is, and what was counted in its steps.
typedef struct velocity_run {
	carom_context *context;
	carom_world *world;
	carom_body_id id;
	int32_t vertex_count;
	double *begin, *end, *ways;         // [3*vertex_count]
	uint8_t *met, *found[WAYS_TO_CAST]; // [vertex_count]
	carom_velocity_hit *hits;           // [2*vertex_count]
	int steps;
	int64_t meet, back, on, either, relative, false_printed, false_relative, edges;
	double ms_rays, ms_sweep;
} velocity_run;

static carom_strided places_at(const double *places) { return (carom_strided){ places, 0, CAROM_FLOAT64 }; }

static int fail(const velocity_run *r) { return report_error(NULL, "velocity rays: %s", carom_error_text(r->context)); }

/// Make the world of one surface, at its first places.
static int open_run(
	const bench *b, const double *places, int32_t vertices, const int32_t *triangles, int32_t count, velocity_run *r)
{
	*r = (velocity_run){ .context = report_create_context(b->threads, b->simd), .vertex_count = vertices };
	if (!r->context)
		return EXIT_FAILED;
	const size_t n = (size_t)vertices;
	r->begin = bench_allocate(9 * n, sizeof *r->begin);
	r->end = r->begin + 3 * n;
	r->ways = r->end + 3 * n;
	r->met = bench_allocate(3 * n, 1);
	r->found[PRINTED] = r->met + n;
	r->found[RELATIVE] = r->met + 2 * n;
	r->hits = bench_allocate(2 * n, sizeof *r->hits);
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = places_at(places);
	mesh_def.vertex_count = vertices;
	mesh_def.triangles = triangles;
	mesh_def.triangle_count = count;
	mesh_def.grid_resolution = 0;
	carom_mesh *mesh = NULL;
	carom_body_def def = carom_default_body_def();
	carom_result result = carom_create_mesh(r->context, &mesh_def, NULL, &mesh);
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	def.kind = CAROM_CLOTH;
	if (result == CAROM_SUCCESS)
		result = carom_create_world(r->context, NULL, &r->world);
	if (result == CAROM_SUCCESS)
		result = carom_world_add_body(r->world, &def, &r->id);
	if (result == CAROM_SUCCESS)
		result = carom_world_step(r->world); // makes the tree
	carom_release_mesh(mesh);
	return result == CAROM_SUCCESS ? EXIT_DONE : fail(r);
}

static void close_run(velocity_run *r)
{
	carom_destroy_world(r->world);
	carom_destroy_context(r->context);
	free(r->begin);
	free(r->met);
	free(r->hits);
}

/// Cast the rays of all vertices, and keep those ahead or behind.
static carom_result cast(velocity_run *r, int how, bool behind, uint8_t flag)
{
	const carom_velocity_rays rays = { .relative = how == RELATIVE };
	const carom_strided ways = places_at(r->ways);
	int32_t count = 0;
	const carom_result result =
		carom_world_cast_velocity_rays(r->world, r->id, &ways, &rays, NULL, 2 * r->vertex_count, r->hits, &count);
	for (int32_t i = 0; i < count && result == CAROM_SUCCESS; i++) {
		if (r->hits[i].behind == behind)
			r->found[how][r->hits[i].vertex] |= flag;
	}
	return result;
}

/// Both rays of all vertices: on from where they begin, back from where they end.
static carom_result cast_both(velocity_run *r, int how)
{
	const carom_strided begin = places_at(r->begin), end = places_at(r->end);
	carom_result result = carom_world_set_vertices(r->world, r->id, &begin, NULL);
	if (result == CAROM_SUCCESS)
		result = cast(r, how, false, ON);
	if (result == CAROM_SUCCESS)
		result = carom_world_set_vertices(r->world, r->id, &begin, &end);
	return result == CAROM_SUCCESS ? cast(r, how, true, BACK) : result;
}

static void count_step(velocity_run *r)
{
	for (int32_t i = 0; i < r->vertex_count; i++) {
		const uint8_t printed = r->found[PRINTED][i], relative = r->found[RELATIVE][i];
		r->meet += r->met[i];
		r->back += r->met[i] && (printed & BACK);
		r->on += r->met[i] && (printed & ON);
		r->either += r->met[i] && printed;
		r->relative += r->met[i] && relative;
		r->false_printed += !r->met[i] && printed;
		r->false_relative += !r->met[i] && relative;
	}
	r->steps++;
}

/// Compare rays and sweep over the motion from begin to end.
static int judge_step(velocity_run *r)
{
	memset(r->met, 0, 3 * (size_t)r->vertex_count);
	for (int64_t i = 0; i < 3 * (int64_t)r->vertex_count; i++)
		r->ways[i] = r->end[i] - r->begin[i];
	const double start = sim_now_ms();
	carom_result result = cast_both(r, PRINTED);
	r->ms_rays += sim_now_ms() - start;
	if (result == CAROM_SUCCESS)
		result = cast_both(r, RELATIVE);
	if (result == CAROM_SUCCESS)
		result = carom_world_step(r->world);
	if (result != CAROM_SUCCESS)
		return fail(r);
	const carom_impact_view impacts = carom_world_impacts(r->world);
	for (int64_t i = 0; i < impacts.count; i++) {
		if (impacts.data[i].kind == CAROM_SWEEP_VERTEX_FACE)
			r->met[impacts.data[i].vertices[0]] = 1;
		else
			r->edges++;
	}
	r->ms_sweep += carom_world_stats(r->world).ms_sweep;
	count_step(r);
	return EXIT_DONE;
}

// ---- Motions ----

static void add_row(bench_table *table, const char *name, const velocity_run *r)
{
	const double all = r->meet > 0 ? (double)r->meet : NAN, steps = r->steps;
	bench_text(table, "%s", name);
	bench_text(table, "%d", (int)r->vertex_count);
	bench_text(table, "%d", r->steps);
	bench_text(table, "%lld", (long long)r->meet);
	bench_number(table, 100 * (double)r->back / all, 1);
	bench_number(table, 100 * (double)r->on / all, 1);
	bench_number(table, 100 * (double)r->either / all, 1);
	bench_number(table, 100 * (double)r->relative / all, 1);
	bench_text(table, "%lld", (long long)r->false_printed);
	bench_text(table, "%lld", (long long)r->false_relative);
	bench_text(table, "%lld", (long long)r->edges);
	bench_number(table, r->ms_rays / steps, 2);
	bench_number(table, r->ms_sweep / steps, 2);
}

/// The end that a simulation foresees: along velocities and gravity; rigid bodies as they are led.
static void foresee(velocity_run *r, const sim_soft *soft, const double *velocity, double time_step, const double gravity[3])
{
	const sim_soft_surface s = sim_soft_get_surface(soft);
	for (int32_t body = 0; body < s.body_count; body++) {
		const bool rigid = sim_soft_is_rigid(soft, body);
		for (int64_t i = 3 * (int64_t)s.body_vertices[body]; i < 3 * (int64_t)s.body_vertices[body + 1]; i++)
			r->end[i] = rigid ? s.places[i] : r->begin[i] + time_step * (velocity[i] + time_step * gravity[i % 3]);
	}
}

static int run_scene(bench *b, const scene_description *scene, bench_table *table)
{
	sim_error error;
	velocity_run r = { 0 };
	carom_context *context = report_create_context(b->threads, b->simd);
	sim_soft *soft = context ? scene_start_deforming(context, scene, &error) : NULL;
	if (!soft) {
		carom_destroy_context(context);
		return context ? report_error(NULL, "%s", error.text) : EXIT_FAILED;
	}
	const sim_soft_surface s = sim_soft_get_surface(soft);
	const size_t numbers = 3 * (size_t)s.vertex_count;
	double *velocity = bench_allocate(numbers, sizeof *velocity);
	int status = open_run(b, s.places, s.vertex_count, s.triangles, s.triangle_count, &r);
	const int steps = b->quick ? 40 : 120;
	for (int i = 0; i < steps && status == EXIT_DONE; i++) {
		sim_soft_step step;
		memcpy(r.begin, s.places, numbers * sizeof *r.begin);
		memcpy(velocity, s.velocities, numbers * sizeof *velocity);
		if (!sim_soft_advance(soft, &step, &error)) {
			status = report_error(NULL, "%s", error.text);
			break;
		}
		foresee(&r, soft, velocity, scene->time_step, scene->deforming.def.gravity);
		status = judge_step(&r);
	}
	if (status == EXIT_DONE)
		add_row(table, scene->name, &r);
	close_run(&r);
	free(velocity);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
	return status;
}

static int add_scene(bench *b, const char *file, double resolution, bench_table *table)
{
	const bench_scene which = { file, 0, 0 };
	scene_description scene;
	if (bench_load_scene(b, &which, &scene) != EXIT_DONE)
		return EXIT_FAILED;
	scene.deforming.resolution *= resolution;
	const int status = run_scene(b, &scene, table);
	scene_destroy(&scene);
	return status;
}

/// A recorded animation of the folder of --data: sequences/NAME/mesh.ply and positions.f32, frame
/// after frame in float, the first 20 steps. Left out where it is not there.
static int add_sequence(bench *b, const char *name, bench_table *table)
{
	enum { STEPS = 20, QUICK_STEPS = 4 };
	char path[IO_PATH_MAX];
	sim_mesh mesh;
	sim_error error;
	velocity_run r = { 0 };
	snprintf(path, sizeof path, "%s/sequences/%s/positions.f32", b->data, name);
	FILE *file = fopen(path, "rb");
	if (!file)
		return EXIT_DONE;
	snprintf(path, sizeof path, "%s/sequences/%s/mesh.ply", b->data, name);
	if (!io_load_mesh(path, &mesh, &error)) {
		fclose(file);
		return report_error(path, "%s", error.text);
	}
	const size_t numbers = 3 * (size_t)mesh.vertex_count;
	float *frame = bench_allocate(numbers, sizeof *frame);
	double *places = bench_allocate(numbers, sizeof *places);
	int status = EXIT_DONE;
	for (int step = -1; status == EXIT_DONE && fread(frame, sizeof *frame, numbers, file) == numbers; step++) {
		for (size_t i = 0; i < numbers; i++)
			places[i] = frame[i];
		if (step < 0) {
			status = open_run(b, places, mesh.vertex_count, mesh.triangles, mesh.triangle_count, &r);
		} else {
			memcpy(r.end, places, numbers * sizeof *r.end);
			status = judge_step(&r);
		}
		memcpy(r.begin, places, numbers * sizeof *r.begin);
		if (step + 1 >= (b->quick ? QUICK_STEPS : STEPS))
			break;
	}
	fclose(file);
	if (status == EXIT_DONE)
		add_row(table, name, &r);
	close_run(&r);
	free(frame);
	free(places);
	sim_mesh_free(&mesh);
	return status;
}

int bench_velocity_rays(bench *b, bench_report *report)
{
	static const char *const sequences[] = { "horse-collapse", "elastic-cow", "kick" };
	bench_table *table = bench_add_table(report, "velocity-rays",
		"Vertices that meet a face in a step: found by rays along velocities",
		"motion|vertices|steps|meet a face|back, %|on, %|either, %|relative, %|meet none, flagged|relative|edges that meet|ms rays|ms sweep");
	int status = add_scene(b, "cloth_capsule.json", 1, table);
	if (status == EXIT_DONE)
		status = add_scene(b, "cloth_ball.json", b->quick ? 0.15 : 0.2, table);
	for (int i = 0; i < 3 && status == EXIT_DONE && b->data; i++)
		status = add_sequence(b, sequences[i], table);
	bench_note(report,
		"meet a face, meet none: sums over all steps; ms: of a step. The sweep misses no vertex. Edges that meet edges have no ray.%s",
		b->data ? "" : " --data DIR adds recorded animations (DIR/sequences)");
	return status == EXIT_DONE ? bench_drape_by_rays(b, report) : status;
}
