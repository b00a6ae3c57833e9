/// @file bench_sheets.h
/// Sheets as shells: closed meshes about the surfaces of a motion, so that their vertices have an
/// inward side to cast rays to, as the second scene of Lehericey, Gouranton and Arnaldi (2015)
/// asks. The simulation keeps surfaces a little apart; a shell is as thick as that and some more,
/// so what touches lies a little within it, as after a step of a solver that lets things sink in.
#ifndef CAROM_TOOL_BENCH_SHEETS_H
#define CAROM_TOOL_BENCH_SHEETS_H

#include "bench_motion.h"

typedef struct bench_sheets bench_sheets;

/// The shells of a motion's sheets, which must outlive them. Never NULL; without sheets there are
/// none.
bench_sheets *bench_make_sheets(const bench_motion *motion);
void bench_free_sheets(bench_sheets *sheets);

int bench_sheet_count(const bench_sheets *sheets);
/// Triangles of one shell, of both sides and the rim.
int bench_sheet_triangles(const bench_sheets *sheets);

/// The shell of a sheet in a frame of the motion. It is a new mesh for each frame, since a sheet
/// changes its form. The caller releases it.
carom_result bench_sheet_mesh(const bench_sheets *sheets, carom_context *context, int sheet, int frame, carom_mesh **mesh);

#endif
