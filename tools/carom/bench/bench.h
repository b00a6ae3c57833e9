/// @file bench.h
/// The common part of the benches of `carom bench`: their registry, and the arguments of one.
///
/// A bench reproduces one table or figure of a paper: it makes motions (bench_motion.h), detects
/// their collisions again with settings that are compared (bench_replay.h), and fills tables and
/// figures (bench_table.h) with our values beside the paper's.
#ifndef CAROM_TOOL_BENCH_H
#define CAROM_TOOL_BENCH_H

#include "bench_table.h"

#include "carom/carom.h"

struct bench_motion;
struct depth_runs;

enum { BENCH_MAX_MOTIONS = 8 };

/// One call of `carom bench`.
typedef struct bench {
	bool quick;
	/// of the measured work, at least 1; benches that compare numbers of threads choose their own
	int threads;
	int simd;
	/// folder of the scene files, or NULL: looked for (bench_motion.h)
	const char *scenes;
	/// the program carom_peers, or NULL: looked for
	const char *peers;
	/// folder with snapshots of spheres, or NULL: none
	const char *data;
	const char *out;    ///< folder for CSV and SVG, or NULL: none
	bool on_device;     ///< --backend vulkan
	const char *device; ///< which one, or NULL: the library chooses
	int tier;           ///< carom_device_tier
	/// the running command: scenes and carom_peers are looked for near it
	const char *program;
	struct bench_motion *motions[BENCH_MAX_MOTIONS]; ///< made so far; a scene is simulated once
	int motion_count;
	struct depth_runs *depths; ///< of bench_depth.c, or NULL
} bench;

/// Where a bench can run.
typedef enum bench_place {
	BENCH_HERE,   ///< on the processor alone
	BENCH_EITHER, ///< there, or with a graphics device beside it
	BENCH_DEVICE, ///< with a graphics device alone
} bench_place;

/// One table or figure.
typedef struct bench_entry {
	const char *name;
	const char *title;
	const char *source; ///< paper and place
	/// Fill the report. EXIT_DONE, or EXIT_FAILED after a message.
	int (*run)(bench *b, bench_report *report);
	bench_place place;
} bench_entry;

int bench_table_2_1(bench *b, bench_report *report);
int bench_figure_2_12(bench *b, bench_report *report);
int bench_scene_2(bench *b, bench_report *report);
int bench_table_2_2(bench *b, bench_report *report);
int bench_table_2_3(bench *b, bench_report *report);
int bench_table_2_4(bench *b, bench_report *report);
int bench_figure_2_17(bench *b, bench_report *report);
int bench_pipeline_2015(bench *b, bench_report *report);
int bench_scene_2_2015(bench *b, bench_report *report);
int bench_table_1_2015(bench *b, bench_report *report);
int bench_table_2_2015(bench *b, bench_report *report);
int bench_deforming_table_1(bench *b, bench_report *report);
int bench_deforming_table_2(bench *b, bench_report *report);
int bench_deforming_table_4(bench *b, bench_report *report);
int bench_deforming_depth(bench *b, bench_report *report);
int bench_velocity_rays(bench *b, bench_report *report);
int bench_adaptive(bench *b, bench_report *report);

/// Detection as the papers have it, over the library's defaults: no triangle tests for
/// completeness, rays as long as they are, the stackless binary tree, full rays in every step.
carom_world_def bench_paper_def(void);

/// The laboratory of these two definitions: give it as their lab.
carom_lab bench_paper_lab(void);

/// Detection as the papers have it, continued from the last steps: iterative, with prediction.
carom_world_def bench_paper_iterative_def(void);

/// Memory (zeroed) that is never NULL: the process ends with a message when there is none. Free
/// with free.
void *bench_allocate(size_t count, size_t size);

#endif
