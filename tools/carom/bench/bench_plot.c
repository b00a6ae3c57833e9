// Figures through gnuplot: a script beside each CSV file, so that anybody can draw it again or
// otherwise. No shell is involved.
#include "bench_plot.h"

#include "tools/carom/options.h"
#include "tools/carom/program.h"
#include "tools/carom/report.h"

#include <errno.h>
#include <string.h>

/// In a quoted string of gnuplot a quote is written twice.
static void write_quoted(FILE *file, const char *text)
{
	putc('\'', file);
	for (; *text; text++) {
		if (*text == '\'')
			putc('\'', file);
		putc(*text, file);
	}
	putc('\'', file);
}

static void write_head(FILE *file, const bench_table *table)
{
	fprintf(file,
		"# Draws %s.svg from %s.csv: run it in their folder.\n"
		"set terminal svg size 800,480 dynamic noenhanced background rgb 'white'\n"
		"set output '%s.svg'\nset datafile separator ','\nset datafile missing '-'\n"
		"set key outside below\nset grid ytics\nset title ",
		table->name, table->name, table->name);
	write_quoted(file, table->title);
	fputs("\nset ylabel ", file);
	write_quoted(file, table->axis);
	putc('\n', file);
	if (table->logarithmic)
		fputs("set logscale y\n", file);
	else
		fputs("set yrange [*<0:1e-9<*]\n", file);
}

/// A column over the first one, as a line; or, in a stack, the area from 0 to the sum of the
/// columns up to it. The largest goes first then.
static void write_curve(FILE *file, const bench_table *table, int column)
{
	if (table->figure == BENCH_LINES) {
		fprintf(file, "'%s.csv' using 1:%d with lines title ", table->name, column + 1);
	} else {
		fprintf(file, "'%s.csv' using 1:(sum [k=%d:%d] column(k)) with filledcurves x1 title ", table->name,
			table->first_drawn + 1, column + 1);
	}
	write_quoted(file, table->columns[column]);
}

static void write_curves(FILE *file, const bench_table *table)
{
	fputs("set xlabel ", file);
	write_quoted(file, table->columns[0]);
	fputs("\nplot ", file);
	for (int i = 0; i < table->drawn_count; i++) {
		const int k = table->figure == BENCH_AREAS ? table->drawn_count - 1 - i : i;
		write_curve(file, table, table->first_drawn + k);
		fputs(i + 1 < table->drawn_count ? ", \\\n\t" : "\n", file);
	}
}

static void write_bars(FILE *file, const bench_table *table)
{
	fputs("set style data histograms\nset style fill solid 0.8\nset boxwidth 0.9\nset xtics rotate by -25\nplot ", file);
	for (int i = 0; i < table->drawn_count; i++) {
		const int column = table->first_drawn + i;
		fprintf(file, "'%s.csv' every ::1 using %d:xtic(1) title ", table->name, column + 1);
		write_quoted(file, table->columns[column]);
		fputs(i + 1 < table->drawn_count ? ", \\\n\t" : "\n", file);
	}
}

static int write_script(const bench_table *table, const char *folder)
{
	char path[IO_PATH_MAX];
	snprintf(path, sizeof path, "%s/%s.gnuplot", folder, table->name);
	io_output_file file = { 0 };
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	write_head(file.stream, table);
	if (table->figure == BENCH_BARS)
		write_bars(file.stream, table);
	else
		write_curves(file.stream, table);
	return report_commit(&file);
}

/// gnuplot changes to the folder first, by a command of its own.
static int run_gnuplot(const bench_table *table, const char *folder)
{
	char change[2 * IO_PATH_MAX + 8] = "cd '", script[BENCH_CELL_SIZE + 16];
	size_t length = strlen(change);
	for (; *folder; folder++) {
		if (*folder == '\'')
			change[length++] = '\'';
		change[length++] = *folder;
	}
	strcpy(change + length, "'");
	snprintf(script, sizeof script, "%s.gnuplot", table->name);
	char *const arguments[] = { "gnuplot", "-e", change, script, NULL };
	return program_run(arguments);
}

int bench_draw_all(const bench_report *report, const char *folder)
{
	for (int i = 0; i < report->table_count; i++) {
		const bench_table *table = &report->tables[i];
		if (table->figure == BENCH_NO_FIGURE || table->cell_count == 0)
			continue;
		if (write_script(table, folder) != EXIT_DONE)
			return EXIT_FAILED;
		const int failure = run_gnuplot(table, folder);
		if (failure == ENOENT) {
			report_warning(folder,
				"gnuplot draws the figures, and it is not installed (Debian: apt-get install gnuplot-nox); "
				"the CSV files and the scripts for it (*.gnuplot) are there");
			return EXIT_DONE;
		}
		if (failure)
			return report_error(
				folder, "gnuplot failed to draw %s.svg%s", table->name, failure < 0 ? " (its message stands above)" : "");
	}
	return EXIT_DONE;
}
