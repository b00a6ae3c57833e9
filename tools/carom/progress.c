// A progress bar with the time left, redrawn in place on a terminal.
#include "progress.h"
#include "sim/base/sim_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void progress_start(progress *bar, const char *label, int64_t total)
{
	const char *terminal = getenv("TERM");
	bar->label = label;
	bar->total = total;
	bar->started = sim_now_ms() / 1000;
	bar->drawn = bar->started;
	bar->visible = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

void progress_update(progress *bar, int64_t done)
{
	if (!bar->visible)
		return;
	const double time = sim_now_ms() / 1000;
	if (time - bar->drawn < 0.1)
		return;
	bar->drawn = time;
	enum { WIDTH = 30 };
	const double part = (double)done / (double)bar->total;
	char cells[WIDTH + 1];
	for (int i = 0; i < WIDTH; i++)
		cells[i] = i < (int)(part * WIDTH) ? '#' : '.';
	cells[WIDTH] = '\0';
	fprintf(stderr, "\r\033[K%s [%s] %3d%%  %lld/%lld", bar->label, cells, (int)(100 * part), (long long)done,
		(long long)bar->total);
	if (done > 0) {
		const long left = (long)((time - bar->started) * (1 - part) / part + 0.5);
		fprintf(stderr, "  %ld:%02ld left", left / 60, left % 60);
	}
	fflush(stderr);
}

void progress_finish(progress *bar)
{
	if (bar->visible && bar->drawn > bar->started)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	bar->visible = false;
}
