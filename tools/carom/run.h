/// @file run.h
/// `carom run`: its options, the run of a scene, and the parts of it: rigid bodies, deforming
/// bodies, spheres. All parts go through the steps of the scene together, with one clock, one
/// table, one summary and one picture.
#ifndef CAROM_TOOL_RUN_H
#define CAROM_TOOL_RUN_H

#include "devices.h"
#include "io/output_file.h"
#include "options.h"
#include "sim/base/ranks.h"
#include "scene/scene.h"
#include "scene/scene_resume.h"
#include "scene/scene_run.h"
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
	double resolution;   ///< of deforming bodies; 0: the scene's
	/// steps between two files of deforming bodies; 0: none; below 0: the scene's
	int64_t frames;
	bool movie;
	int backend, tier; ///< device_backend, carom_device_tier
	const char *device, *kernels;
	int64_t view_port;      ///< of the page that shows the run; 0: one that is free; below 0: none
	bool view;              ///< --view alone: at a free one
	int64_t rank_count;     ///< of processes to share the spheres; 0: this one alone
	const sim_ranks *ranks; ///< of these, as this one sees them; NULL: it is alone
} run_options;

typedef struct run run;

/// The work of a run on one section of a scene. state is a record of the part, all zero before
/// prepare; functions return an exit code. NULL where a part has nothing to do.
typedef struct run_part_kind {
	const char *section;
	size_t state_size;
	/// Make the bodies, and open the files of this part alone.
	int (*prepare)(run *r, void *state);
	/// Open the table of steps and write its names; NULL: they are written into a new table.
	int (*open_table)(run *r, void *state);
	/// The names of the table's columns, "step,time,..." and a line end.
	void (*write_names)(FILE *table);
	/// Do one step of the scene.
	int (*step)(run *r, void *state);
	/// The row of the last step: the numbers that belong to the names, and a line end.
	void (*write_row)(run *r, void *state, FILE *table);
	/// Write the files of the present state: before the first step and after each one.
	int (*keep)(run *r, void *state);
	/// After the last step: measure, and close files.
	int (*end)(run *r, void *state);
	/// Draw the present state as a picture of this part alone.
	int (*draw)(run *r, void *state, view_image *image);
	/// After the table is closed.
	int (*close)(run *r, void *state);
	/// Move what the summary needs of the steps so far to a tape, or from one: for checkpoints of
	/// scenes that hold more than spheres.
	void (*move_sums)(void *state, sim_tape *tape);
	cJSON *(*summarise)(const run *r, const void *state);
	void (*print)(const run *r, const void *state);
	uint64_t (*hash)(const run *r, const void *state);
	void (*destroy)(run *r, void *state);
} run_part_kind;

enum { RUN_MOST_PARTS = 3 };

/// A scene being run.
struct run {
	const run_options *options;
	scene_description scene;
	scene_run parts;
	const run_part_kind *kinds[RUN_MOST_PARTS];
	void *states[RUN_MOST_PARTS];
	int part_count;
	io_output_file stats;
	int64_t first_step;  ///< done before, by the run that wrote the checkpoint
	int64_t saved_step;  ///< of the last checkpoint, where the run writes them itself
	scene_resume resume; ///< the checkpoint that the run goes on from, while its parts are made
	/// Steps of spheres on a device that are done, but have no row yet: nobody looks before the
	/// last of them, and they were one submission.
	int32_t ahead;
	double ms_total;
	device_table kernels;  ///< kernels.csv, with a device and --out
	carom_device *device;  ///< of spheres and rigid bodies; NULL: the processor
	struct run_view *view; ///< NULL: the run is not shown
	bool file_failed;      ///< a file could not be written
	char *row;             ///< of the last step in the table, while it is shown; NULL: none yet
};

extern const run_part_kind run_bodies_kind;
extern const run_part_kind run_deforming_kind;
extern const run_part_kind run_spheres_kind;

/// Run a scene as the options ask. Returns an exit code.
int run_scene(const run_options *options);

/// Load the scene and judge what the options ask of it, for ranks. Returns an exit code.
int run_check_scene(const run_options *options);

/// Does this process print and write files for all?
static inline bool run_is_first(const run *r) { return sim_is_first_rank(r->options->ranks); }

/// Seconds of the scene that are done.
static inline double run_time(const run *r) { return (double)r->parts.steps * r->scene.time_step; }

/// Is there more than one section? Then the parts share a table, a summary and a picture.
static inline bool run_is_mixed(const run *r) { return r->part_count > 1; }

/// The path of a file in the folder of --out.
void run_out_path(const run_options *options, const char *name, char path[IO_PATH_MAX]);

/// Does the run go on in the folder that the checkpoint is in?
bool run_continues_in_place(const run_options *options);

/// Bytes of a row of a table of steps, at most.
enum { RUN_ROW_SIZE = 512 };
/// The next row of a table and its step. A row without its end was being written when all ended. It
/// is passed over, as other lines are. False: there is none.
bool run_next_row(FILE *table, char line[RUN_ROW_SIZE], long long *step);

/// Write the checkpoint of a scene that holds more than spheres, where one is wanted and due.
int run_save(run *r, bool at_end);

/// Read the checkpoint to go on from, before the parts are made: steps are those done then.
int run_open_checkpoint(run *r);

/// Put the parts that were made into the states of the checkpoint, and close it.
int run_restore(run *r);

/// Add to a summary what viewers of its files need of the scene: gravity, and an object "view" with
/// the direction that is up, the camera, the size and the colours of pictures.
void run_add_view(cJSON *json, const run *r);

/// The words for sim_sphere_color there. Ends with NULL.
extern const char *const run_color_words[];

/// Add threads and instruction set to a summary.
void run_add_machine(cJSON *json, const run *r);

#endif
