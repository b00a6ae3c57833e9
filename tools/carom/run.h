/// @file run.h
/// `carom run`: its options, and what scenes of bodies, of spheres and of cloth share.
#ifndef CAROM_TOOL_RUN_H
#define CAROM_TOOL_RUN_H

#include "io/output_file.h"
#include "options.h"
#include "scene/scene.h"
#include "view/image.h"

#include <cjson/cJSON.h>

typedef struct run_options {
	const char *scene;
	const char *out; ///< folder, or NULL
	int64_t steps;   ///< 0: the scene's
	int64_t threads;
	int simd;
	bool json, contacts, no_picture;
	option_list meshes;
	int64_t count;       ///< of random spheres; 0: the scene's
	int64_t snapshots;   ///< steps between two; 0: none; below 0: the scene's
	int64_t checkpoints; ///< steps between two; 0: at the end only; below 0: the scene's
	const char *restart; ///< checkpoint, or NULL
	double resolution;   ///< of cloth; 0: the scene's
	int64_t frames;      ///< steps between two files of cloth; 0: none; below 0: the scene's
	bool movie;
	const char *text; ///< of the scene file, read once: it may be a pipe
	size_t text_size;
} run_options;

/// Simulate a scene of bodies. Returns an exit code.
int run_bodies(const run_options *options);

/// Simulate a scene of spheres. Returns an exit code.
int run_spheres(const run_options *options);

/// Simulate a scene of cloth. Returns an exit code.
int run_cloth(const run_options *options);

/// From now on Ctrl-C only sets a mark (a second one, a second later, ends the program), or ends the program again.
void run_watch_interrupts(bool watch);

/// Has Ctrl-C been pressed? The run ends after the present step, and what there is so far is written.
bool run_interrupted(void);

/// Make the folder of --out, if there is one, and keep other runs out of it until the program ends. EXIT_DONE, or EXIT_FAILED
/// after a message.
int run_open_folder(const run_options *options);

/// The path of a file in the folder of --out.
void run_out_path(const run_options *options, const char *name, char path[SIM_PATH_MAX]);

/// Write an object as summary.json, and delete it. Returns an exit code; NULL (out of memory) is a failure.
int run_write_summary(const run_options *options, cJSON *json);

/// Take the meshes of --mesh in place of those of a scene. Returns EXIT_DONE, or EXIT_FAILED after a message.
int run_replace_meshes(const run_options *options, sim_scene *scene);

/// Write a picture into the folder of --out as NAME, and destroy it. Returns an exit code.
int run_write_picture(const run_options *options, const char *name, sim_image *image);

/// The exit code of a run that has come so far: status, or, after a message, that of an interrupted run.
int run_end(int status, int64_t done, int64_t wanted);

/// What a run does, one after the other, with a record of its own. Each returns an exit code; after one that failed the next ones
/// are left out.
typedef struct run_stages {
	int (*prepare)(void *run);
	int (*simulate)(void *run);
	int (*finish)(void *run);
} run_stages;

/// Go through the stages; Ctrl-C ends the second one early. stats: the table of steps, once prepare has opened it; it is closed
/// here. Where a stage failed it keeps the rows of the steps before, which tell what led to it. Returns an exit code.
int run_go(const run_stages *stages, void *run, sim_output_file *stats);

#endif
