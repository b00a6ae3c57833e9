/// @file ccd.h
/// The search of `carom ccd` (cmd_ccd.c) and its output (ccd_output.c).
#ifndef CAROM_TOOL_CCD_H
#define CAROM_TOOL_CCD_H

#include "devices.h"
#include "frames.h"

#include "carom/carom.h"
#include "carom/sweep.h"
#include "tool_oracle.h"

/// The options of the user.
typedef struct ccd_options {
	frames_source source;
	const char *hits; ///< file for the impacts, or NULL
	int method, volume, build, test, simd, backend, tier;
	const char *device;       ///< with --backend vulkan; NULL: auto
	const char *kernel_times; ///< with --backend vulkan; NULL: no table
	double tolerance, separation;
	int64_t threads;
	bool no_orphans, no_pruning, earliest, oracle, json;
} ccd_options;

/// The result of one step, from frame number to the next.
typedef struct ccd_step {
	int64_t number;
	int64_t vf, ee, touching, undecided;
	double earliest; ///< time of the first impact, in [0, 1]; NAN: there is none
	carom_sweep_stats stats;
} ccd_step;

/// A run, as far as it got.
typedef struct ccd_run {
	frames frames;
	ccd_step *steps; ///< [step_count] done so far
	int64_t step_count;
	ccd_step sums; ///< of the counts
	carom_sweep_hit first;
	int64_t first_step; ///< of the first impact, -1: there is none
	uint64_t hash;
	int threads;
	carom_simd simd;
	carom_device *device; ///< with --backend vulkan
	device_table kernel_times;
	oracle_difference difference; ///< with --oracle
	cJSON *warnings;
} ccd_run;

/// Words for the choices, in the order of carom_sweep_method, carom_sweep_volume, carom_sweep_build
/// and carom_sweep_test.
extern const char *const ccd_method_words[];
extern const char *const ccd_volume_words[];
extern const char *const ccd_build_words[];
extern const char *const ccd_test_words[];

/// "vf" or "ee".
const char *ccd_kind_word(carom_sweep_kind kind);

/// Print a run of at least one step on stdout, as one JSON object or as text. EXIT_DONE, or
/// EXIT_FAILED after a message.
int ccd_print_json(const ccd_options *o, const ccd_run *run);
int ccd_print_text(const ccd_options *o, const ccd_run *run);

#endif
