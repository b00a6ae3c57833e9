/// @file bench_motion.h
/// Motions for benches: a scene simulated once, with its poses kept, so that detection alone can be
/// repeated on them.
#ifndef CAROM_TOOL_BENCH_MOTION_H
#define CAROM_TOOL_BENCH_MOTION_H

#include "bench.h"

#include "io/output_file.h"
#include "scene/scene_run.h"

/// A scene in motion. Body numbers are those of the scene; the first `present` of them are there in
/// a frame. Sheets of the section `deforming` move with the bodies, where the scene has some.
typedef struct bench_motion {
	scene_description scene;
	int frame_count;
	/// [frame_count][scene.rigid.body_count], at the first detection of each step
	carom_pose *poses;
	int32_t *present;  ///< [frame_count]
	scene_step *steps; ///< [frame_count] of the simulation that made the motion
	int32_t sheet_count;
	int32_t *sheet_vertices;  ///< [sheet_count + 1] first vertex of each sheet; NULL: none
	int32_t *sheet_first;     ///< [sheet_count + 1] first triangle of each sheet
	int32_t *sheet_triangles; ///< [3 * sheet_first[sheet_count]] corners by numbers of all vertices
	/// [frame_count][3 * sheet_vertices[sheet_count]] metres, in the world
	float *sheet_places;
} bench_motion;

/// Which scene, and how much of it.
typedef struct bench_scene {
	const char *file; ///< "avalanche.json"
	int quick_bodies; ///< moving bodies in a quick run, at most; 0: all
	int quick_steps;  ///< steps in a quick run, at most; 0: all
} bench_scene;

/// The scenes of Lehericey (2013), and those of Lehericey, Gouranton and Arnaldi (2015): the
/// second one with its sheets, until a third of a second after they have come down.
extern const bench_scene bench_scene_avalanche, bench_scene_fountain, bench_scene_pile, bench_scene_terrain,
	bench_scene_terrain_sheets;

/// The scenes of Li and Yamaguchi.
extern const bench_scene bench_scene_tori, bench_scene_bunnies;

/// The path of a scene file: in the folder of --scenes; else in `scenes` in the working folder,
/// else where scenes are installed beside the command (PREFIX/share/carom/scenes for
/// PREFIX/bin/carom). False after a message when it is in neither of these; in the folder of
/// --scenes it is not looked for.
bool bench_find_scene(const bench *b, const char *file, char path[IO_PATH_MAX]);

/// Read a scene. EXIT_DONE, or EXIT_FAILED after a message; scene_destroy gives it back.
int bench_load_scene(const bench *b, const bench_scene *which, scene_description *scene);

/// The motion of a scene; made by the first bench that asks. NULL after a message.
const bench_motion *bench_get_motion(bench *b, const bench_scene *which);

/// Frames first to end - 1.
typedef struct bench_window {
	const char *name;
	int first;
	int end;
} bench_window;

/// The three phases of a falling heap: A, free fall, until the first two bodies touch; B, impact;
/// C, rest, the last tenth.
typedef struct bench_phases {
	bench_window a, b, c;
} bench_phases;

bench_phases bench_find_phases(const bench_motion *motion);

/// Free all motions.
void bench_free_motions(bench *b);

#endif
