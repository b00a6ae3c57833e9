/// @file bench_ccd.h
/// The common part of the benches of swept impacts: deforming meshes in motion, made here, and the
/// search of all their steps with settings that are compared.
#ifndef CAROM_TOOL_BENCH_CCD_H
#define CAROM_TOOL_BENCH_CCD_H

#include "bench.h"

#include "carom/sweep.h"
#include "tools/carom/devices.h"

/// A mesh and where its vertices are in consecutive frames.
typedef struct ccd_motion {
	const char *name;
	int32_t vertex_count, triangle_count;
	int32_t *triangles; ///< [3*triangle_count]
	int frame_count;
	double *frames; ///< [frame_count][3*vertex_count]
} ccd_motion;

/// The four scenes: sizes and motions like those of MCCD (Tang, Manocha and Tong 2010), shapes of
/// our own.
typedef enum ccd_scene {
	CCD_CLOTH_BALL, ///< a sheet sinks over a turning ball and folds
	CCD_SKIRT,      ///< ruffles sway about two legs
	CCD_BODIES,     ///< spheres and cones fly about and through each other
	CCD_TRIANGLES,  ///< triangles of random motion
	CCD_SCENES,
} ccd_scene;

/// Make the last steps of a scene's motion, few and of a small mesh when quick. Free with
/// bench_free_ccd_motion.
void bench_make_ccd_motion(ccd_scene scene, bool quick, ccd_motion *motion);
void bench_free_ccd_motion(ccd_motion *motion);
/// How far vertices move in a step, in lengths of sides; both means, over all steps and over the
/// first frame.
double bench_ccd_sides_per_step(const ccd_motion *motion);

/// One way to search.
typedef struct ccd_way {
	carom_sweep_def def;
	int threads;
	/// Each connected piece of the motion is a mesh of its own without self-collision. Such a way
	/// finds fewer impacts, which are not compared with those of other ways.
	bool between_pieces;
	bool on_device; ///< on the device of the bench
} ccd_way;

/// Means over the measured steps.
typedef struct ccd_cost {
	double ms; ///< of a whole step: told of the motion, and searched
	double ms_trees, ms_front, ms_tests, ms_orphans, ms_sort;
	double volume_tests, front, leaf_pairs, queries, filtered, adjacent, impacts;
	int64_t orphans;
	size_t bytes, bytes_front;
	double device_left; ///< of the queries, those that the device left to the processor
	device_work work;   ///< of the device in all steps of all passes
	int work_steps;     ///< how many these are
} ccd_cost;

enum { CCD_MOST_WAYS = 16 };

/// A motion taken apart into the pieces that hang together by common vertices.
typedef struct ccd_pieces {
	int32_t count;
	int32_t *first_vertex;   ///< [count + 1] into vertices
	int32_t *first_triangle; ///< [count + 1] into triangles
	int32_t *vertices;       ///< [vertex_count] numbers in the motion, piece by piece
	int32_t *triangles;      ///< [3*triangle_count] numbers within the piece, piece by piece
} ccd_pieces;

/// Take a motion apart. Free with bench_free_pieces.
void bench_find_pieces(const ccd_motion *motion, ccd_pieces *pieces);
void bench_free_pieces(ccd_pieces *pieces);

/// Search the steps of a motion in each way, in turns. EXIT_DONE, or EXIT_FAILED after a message:
/// when two ways find other impacts, for instance.
int bench_search_ccd(const bench *b, const ccd_motion *motion, const ccd_way *ways, int count, ccd_cost *costs);

/// Search each scene in some ways, and call add, which adds rows for the scene to the report. At
/// the end a note describes the scenes. EXIT_DONE, or EXIT_FAILED after a message.
typedef void ccd_add_row(bench_report *report, const bench *b, ccd_scene scene, const ccd_motion *motion, const ccd_cost *costs);
int bench_measure_ccd_scenes(const bench *b, bench_report *report, const ccd_way *ways, int count, ccd_add_row *add);

/// The first two cells of a row: the name of the motion and the number of its triangles.
void bench_add_ccd_names(bench_table *table, const ccd_motion *motion);

/// How much less now is than before, percent.
double bench_saved(double now, double before);

/// The front as in the paper: it is only made again, never pruned.
carom_sweep_def bench_ccd_paper_def(void);

int bench_ccd_table_1(bench *b, bench_report *report);
int bench_ccd_table_2(bench *b, bench_report *report);
int bench_ccd_orphans(bench *b, bench_report *report);
int bench_ccd_threads(bench *b, bench_report *report);
int bench_ccd_fronts(bench *b, bench_report *report);
int bench_ccd_costs(bench *b, bench_report *report);

#endif
