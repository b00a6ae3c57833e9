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
const bench_scene bench_scene_terrain_216 = { "terrain216.json", 24, 60 };
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

/// Keep the bodies that do not move, and the first ones that do.
static void keep_bodies(scene_description *scene, int most)
{
	int32_t kept = 0, moving = 0;
	for (int32_t i = 0; i < scene->rigid.body_count; i++) {
		moving += scene->rigid.bodies[i].kind == CAROM_DYNAMIC;
		if (scene->rigid.bodies[i].kind != CAROM_DYNAMIC || moving <= most)
			scene->rigid.bodies[kept++] = scene->rigid.bodies[i];
	}
	scene->rigid.body_count = kept;
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

static int simulate(bench_motion *m, scene_simulation *simulation)
{
	sim_error error;
	progress bar;
	progress_start(&bar, "simulate", m->frame_count);
	carom_pose *before = bench_allocate((size_t)m->scene.rigid.body_count, sizeof *before);
	for (int32_t i = 0; i < m->scene.rigid.body_count; i++)
		before[i] = m->scene.rigid.bodies[i].pose;
	bool done = true;
	for (int frame = 0; frame < m->frame_count && done; frame++) {
		done = scene_simulate_step(simulation, &m->steps[frame], &error);
		if (done)
			keep_frame(m, simulation, frame, before);
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
	scene_simulation *simulation = scene_create_simulation(context, &m->scene, NULL, &error);
	const int status = simulation ? simulate(m, simulation) : report_error(NULL, "%s", error.text);
	scene_destroy_simulation(simulation);
	carom_destroy_context(context);
	return status;
}

static void free_motion(bench_motion *m)
{
	scene_destroy(&m->scene);
	free(m->poses);
	free(m->present);
	free(m->steps);
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
