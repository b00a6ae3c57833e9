/// @file bench_plot.h
/// Figures of benches, drawn by the program gnuplot from the CSV files.
#ifndef CAROM_TOOL_BENCH_PLOT_H
#define CAROM_TOOL_BENCH_PLOT_H

#include "bench_table.h"

/// Write NAME.gnuplot to the folder, where NAME.csv is, for each table that is drawn, and have
/// gnuplot make NAME.svg of it. Without gnuplot a warning tells the way out; that is no failure.
/// EXIT_DONE, or EXIT_FAILED after a message.
int bench_draw_all(const bench_report *report, const char *folder);

#endif
