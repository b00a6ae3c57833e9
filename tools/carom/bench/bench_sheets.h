/// @file bench_sheets.h
/// Sheets that fall on the bodies of a motion, for the second scene of Lehericey, Gouranton and
/// Arnaldi (2015). They are led, not simulated: each column of a sheet falls until it lies on what
/// is below it, a little within it, as after a step of a simulation. A sheet is a closed mesh of
/// little height, so that its vertices have an inward side to cast rays to.
#ifndef CAROM_TOOL_BENCH_SHEETS_H
#define CAROM_TOOL_BENCH_SHEETS_H

#include "bench_motion.h"

typedef struct bench_sheets bench_sheets;

/// Lead sheets over the frames of a window: 36 of 8,096 triangles, or 4 small ones in a quick run.
/// NULL after a message.
bench_sheets *bench_make_sheets(const bench *b, const bench_motion *motion, const bench_window *window);
void bench_free_sheets(bench_sheets *sheets);

int bench_sheet_count(const bench_sheets *sheets);
int bench_sheet_triangles(const bench_sheets *sheets);

/// The mesh of a sheet in a frame of the window, or one of at most ten before it. It is a new mesh
/// for each frame, since a sheet changes its form. The caller releases it.
carom_result bench_sheet_mesh(const bench_sheets *sheets, carom_context *context, int sheet, int frame, carom_mesh **mesh);

#endif
