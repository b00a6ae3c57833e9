// Motions for benches: simulate, keep the poses. See bench_motion.h.
#include "bench_motion.h"

#include "tools/carom/options.h"
#include "tools/carom/progress.h"
#include "tools/carom/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const bench_scene bench_scene_avalanche = { "avalanche.json", 24, 120 };
const bench_scene bench_scene_fountain = { "fountain.json", 0, 120 };
const bench_scene bench_scene_pile = { "pile216.json", 24, 120 };
const bench_scene bench_scene_terrain = { "terrain1000.json", 24, 60 };
const bench_scene bench_scene_terrain_sheets = { "terrain_sheets.json", 12, 80 };
const bench_scene bench_scene_tori = { "tori.json", 20, 150 };
const bench_scene bench_scene_bunnies = { "bunnies.json", 20, 150 };

// ---- Scenes ----

bool bench_find_scene(const bench *b, const char *file, char path[IO_PATH_MAX])
{
	if (b->scenes) {
		snprintf(path, IO_PATH_MAX, "%s/%s", b->scenes, file);
		return true;
	}
	snprintf(path, IO_PATH_MAX, "scenes/%s", file);
	const char *slash = strrchr(b->program, '/');
	if (access(path, R_OK) != 0 && slash)
		snprintf(path, IO_PATH_MAX, "%.*s/../share/carom/scenes/%s", (int)(slash - b->program), b->program, file);
	if (access(path, R_OK) == 0)
		return true;
	report_error(NULL, "the scene %s is neither in the folder scenes nor installed; name its folder with --scenes DIR", file);
	return false;
}

/// The obstacles, in rising order, that are among the bodies that are kept. kept: the number of
/// body i among those.
static void keep_obstacle(scene_deforming *deforming, int32_t *done, int32_t i, int32_t kept)
{
	for (int32_t k = *done; k < deforming->obstacle_count; k++) {
		if (deforming->obstacles[k] == i)
			deforming->obstacles[(*done)++] = kept;
	}
}

/// Keep the bodies that do not move, and the first ones that do.
static void keep_bodies(scene_description *scene, int most)
{
	int32_t kept = 0, moving = 0, obstacles = 0;
	for (int32_t i = 0; i < scene->rigid.body_count; i++) {
		moving += scene->rigid.bodies[i].kind == CAROM_DYNAMIC;
		if (scene->rigid.bodies[i].kind == CAROM_DYNAMIC && moving > most)
			continue;
		keep_obstacle(&scene->deforming, &obstacles, i, kept);
		scene->rigid.bodies[kept++] = scene->rigid.bodies[i];
	}
	scene->rigid.body_count = kept;
	scene->deforming.obstacle_count = obstacles;
}

int bench_load_scene(const bench *b, const bench_scene *which, scene_description *scene)
{
	char path[IO_PATH_MAX];
	sim_error error;
	if (!bench_find_scene(b, which->file, path))
		return EXIT_FAILED;
	if (!scene_load(path, scene, &error))
		return report_error(NULL, "%s", error.text);
	if (b->quick && which->quick_bodies > 0)
		keep_bodies(scene, which->quick_bodies);
	if (b->quick && which->quick_steps > 0 && scene->steps > which->quick_steps)
		scene->steps = which->quick_steps;
	return EXIT_DONE;
}

// ---- Motions ----

// Of sheets: their divisions, as part of the scene's, so that both sides and the rim of one have
// 8,096 triangles (the paper's have 8,192); and in a quick run, how many there are along x and z.
static const double SHEET_RESOLUTION = 44.0 / 64, QUICK_SHEET_RESOLUTION = 8.0 / 64;
enum { QUICK_SHEETS = 2 };

// Steps of a motion with sheets: until a third of a second after they have come down.
enum { SHEET_STEPS = 112 };

static void choose_sheets(scene_description *scene, bool quick)
{
	if (scene->steps > SHEET_STEPS)
		scene->steps = SHEET_STEPS;
	scene->deforming.resolution *= quick ? QUICK_SHEET_RESOLUTION : SHEET_RESOLUTION;
	for (int32_t i = 0; i < scene->deforming.source_count && quick; i++) {
		int32_t *count = scene->deforming.sources[i].count;
		count[0] = count[0] < QUICK_SHEETS ? count[0] : QUICK_SHEETS;
		count[1] = 1;
		count[2] = count[2] < QUICK_SHEETS ? count[2] : QUICK_SHEETS;
	}
}

static void keep_frame(bench_motion *m, const scene_simulation *simulation, int frame, carom_pose *before)
{
	// The bodies of this frame are those that the step has added; their poses are those before the
	// step moved them.
	const int32_t present = scene_simulation_body_count(simulation);
	carom_pose *poses = m->poses + (size_t)frame * (size_t)m->scene.rigid.body_count;
	m->present[frame] = present;
	for (int32_t i = 0; i < m->scene.rigid.body_count; i++) {
		poses[i] = before[i];
		before[i] = scene_simulation_body_def(simulation, i).pose;
	}
}

/// Which vertices and triangles are those of the sheets: of the surface's bodies the first ones,
/// before the obstacles.
static void know_sheets(bench_motion *m, const sim_soft_surface *surface)
{
	m->sheet_count = surface->body_count - m->scene.deforming.obstacle_count;
	const size_t ends = (size_t)m->sheet_count + 1, corners = 3 * (size_t)surface->body_triangles[m->sheet_count];
	m->sheet_vertices = bench_allocate(ends, sizeof *m->sheet_vertices);
	m->sheet_first = bench_allocate(ends, sizeof *m->sheet_first);
	m->sheet_triangles = bench_allocate(corners, sizeof *m->sheet_triangles);
	memcpy(m->sheet_vertices, surface->body_vertices, ends * sizeof *m->sheet_vertices);
	memcpy(m->sheet_first, surface->body_triangles, ends * sizeof *m->sheet_first);
	memcpy(m->sheet_triangles, surface->triangles, corners * sizeof *m->sheet_triangles);
	m->sheet_places =
		bench_allocate((size_t)m->frame_count * 3 * (size_t)m->sheet_vertices[m->sheet_count], sizeof *m->sheet_places);
}

/// Sheets where they are before the step, as the poses of keep_frame are.
static void keep_sheets(bench_motion *m, const sim_soft *soft, int frame)
{
	const sim_soft_surface surface = sim_soft_get_surface(soft);
	if (frame == 0)
		know_sheets(m, &surface);
	const size_t count = 3 * (size_t)m->sheet_vertices[m->sheet_count];
	for (size_t i = 0; i < count; i++)
		m->sheet_places[(size_t)frame * count + i] = (float)surface.places[i];
}

static int simulate(bench_motion *m, scene_run *run)
{
	sim_error error;
	progress bar;
	progress_start(&bar, "simulate", m->frame_count);
	carom_pose *before = bench_allocate((size_t)m->scene.rigid.body_count, sizeof *before);
	for (int32_t i = 0; i < m->scene.rigid.body_count; i++)
		before[i] = m->scene.rigid.bodies[i].pose;
	bool done = true;
	for (int frame = 0; frame < m->frame_count && done; frame++) {
		scene_run_step step = { 0 };
		if (run->soft)
			keep_sheets(m, run->soft, frame);
		done = scene_run_step_all(run, &step, &error);
		m->steps[frame] = step.bodies;
		if (done)
			keep_frame(m, run->simulation, frame, before);
		progress_update(&bar, frame + 1);
	}
	progress_finish(&bar);
	free(before);
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

static int make_motion(const bench *b, bench_motion *m)
{
	sim_error error;
	if (!scene_keep_shapes(&m->scene, &error)) // each replay wants them
		return report_error(NULL, "%s", error.text);
	m->frame_count = (int)m->scene.steps;
	m->poses = bench_allocate((size_t)m->frame_count * (size_t)m->scene.rigid.body_count, sizeof *m->poses);
	m->present = bench_allocate((size_t)m->frame_count, sizeof *m->present);
	m->steps = bench_allocate((size_t)m->frame_count, sizeof *m->steps);
	carom_context *context = report_create_context(b->threads, b->simd);
	if (!context)
		return EXIT_FAILED;
	scene_run run = { .scene = &m->scene, .context = context };
	const bool made = scene_run_add_all(&run, NULL, NULL, &error);
	const int status = made ? simulate(m, &run) : report_error(NULL, "%s", error.text);
	scene_run_end(&run);
	carom_destroy_context(context);
	return status;
}

static void free_motion(bench_motion *m)
{
	scene_destroy(&m->scene);
	free(m->poses);
	free(m->present);
	free(m->steps);
	free(m->sheet_vertices);
	free(m->sheet_first);
	free(m->sheet_triangles);
	free(m->sheet_places);
	free(m);
}

/// A motion is known by the file that its scene came from.
static const bench_motion *find_motion(const bench *b, const scene_description *scene)
{
	for (int i = 0; i < b->motion_count; i++) {
		if (strcmp(b->motions[i]->scene.file, scene->file) == 0)
			return b->motions[i];
	}
	return NULL;
}

const bench_motion *bench_get_motion(bench *b, const bench_scene *which)
{
	bench_motion *m = bench_allocate(1, sizeof *m);
	if (bench_load_scene(b, which, &m->scene) != EXIT_DONE) {
		free_motion(m);
		return NULL;
	}
	if (m->scene.has_deforming)
		choose_sheets(&m->scene, b->quick);
	const bench_motion *known = find_motion(b, &m->scene);
	if (known || b->motion_count == BENCH_MAX_MOTIONS || make_motion(b, m) != EXIT_DONE) {
		free_motion(m);
		return known;
	}
	b->motions[b->motion_count++] = m;
	return m;
}

void bench_free_motions(bench *b)
{
	for (int i = 0; i < b->motion_count; i++)
		free_motion(b->motions[i]);
	b->motion_count = 0;
}

bench_phases bench_find_phases(const bench_motion *motion)
{
	const int frames = motion->frame_count;
	int impact = 0;
	while (impact < frames - 2 && motion->steps[impact].detection.colliding_pairs == 0)
		impact++;
	// At least two frames each, whatever the motion is; B is a second of it where there is one.
	const int rest = frames - (frames >= 20 ? frames / 10 : 2);
	int end = impact + 60;
	if (end > rest)
		end = rest > impact + 2 ? rest : impact + 2;
	return (bench_phases){
		{ "A", impact >= 4 ? impact / 4 : 0, impact >= 2 ? impact : 2 },
		{ "B", impact, end },
		{ "C", rest, frames },
	};
}
