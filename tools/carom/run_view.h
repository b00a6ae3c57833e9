/// @file run_view.h
/// `carom run --view`: a page that shows the run while it goes on (web/server.h). Frames are taken
/// between steps, so seldom that they cost a small part of the run's time.
#ifndef CAROM_TOOL_RUN_VIEW_H
#define CAROM_TOOL_RUN_VIEW_H

#include "run.h"

typedef struct run_view run_view;

/// Start the server and tell its address on stderr. Call it before other threads are there. NULL
/// after a message.
run_view *run_open_view(const run *r);

/// Hand over the page, when the parts of the run are made; columns: the first line of its table.
/// EXIT_DONE, or EXIT_FAILED after a message.
int run_begin_view(run_view *view, const run *r, const char *columns);

/// Show the present state where a frame is due, or in any case (always). row: that of the last step
/// in the table, "" before the first. A frame that cannot be shown gives a warning, once, and the
/// run goes on.
void run_show(run_view *view, const run *r, const char *row, bool always);

/// Say how the run ended, wait until browsers have what there is, and stop the server. NULL does
/// nothing.
void run_close_view(run_view *view, const char *how);

#endif
