/// @file progress.h
/// A progress bar with the time left on stderr; it draws only when stderr is a terminal.
#ifndef CAROM_TOOL_PROGRESS_H
#define CAROM_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
	const char *label;
	int64_t total;
	double started; ///< seconds of the monotonic clock
	double drawn;
	bool visible;
} progress;

/// Begin. label is a short word ("replay") that must stay valid; total is the number of units of
/// work, above 0.
void progress_start(progress *bar, const char *label, int64_t total);

/// done units are finished. Draws at most ten times a second; cheap enough to be called after every
/// unit.
void progress_update(progress *bar, int64_t done);

/// Wipe the bar. Call it before other output on stderr and at the end.
void progress_finish(progress *bar);

#endif
