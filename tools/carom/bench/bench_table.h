/// @file bench_table.h
/// Results of a bench: tables (text, CSV, Markdown, JSON), figures drawn from them, and remarks.
#ifndef CAROM_TOOL_BENCH_TABLE_H
#define CAROM_TOOL_BENCH_TABLE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

enum { BENCH_MAX_COLUMNS = 16, BENCH_MAX_TABLES = 8, BENCH_MAX_NOTES = 64, BENCH_CELL_SIZE = 64 };

/// How a table is drawn.
typedef enum bench_figure {
	BENCH_NO_FIGURE,
	BENCH_LINES, ///< the columns over the first one
	BENCH_AREAS, ///< the same, one upon the other
	BENCH_BARS,  ///< a group of bars for each row, named by the first column
} bench_figure;

/// A table. Cells are text; numbers are written as they are printed.
typedef struct bench_table {
	char name[BENCH_CELL_SIZE]; ///< of its files: NAME.csv, NAME.svg
	char title[160];
	char columns[BENCH_MAX_COLUMNS][BENCH_CELL_SIZE];
	int column_count;
	char (*cells)[BENCH_CELL_SIZE]; ///< [rows][column_count]
	int cell_count;
	int cell_room;
	bool series; ///< too long to print: CSV, figure and JSON only
	bench_figure figure;
	char axis[BENCH_CELL_SIZE]; ///< of the values
	bool logarithmic;
	int first_drawn; ///< columns that are drawn, from 0
	int drawn_count;
} bench_table;

typedef struct bench_report {
	bench_table tables[BENCH_MAX_TABLES];
	int table_count;
	char notes[BENCH_MAX_NOTES][400];
	int note_count;
} bench_report;

/// Add a table; columns are names separated by '|'.
bench_table *bench_add_table(bench_report *report, const char *name, const char *title, const char *columns);

/// Have it drawn: count columns from first on (numbers from 0); axis names the values.
void bench_draw(bench_table *table, bench_figure figure, int first, int count, const char *axis);

/// Fill the next cell; rows follow from the number of columns. The second is a number with so many
/// decimals ("-" when it is not finite).
void bench_text(bench_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_number(bench_table *table, double value, int decimals);

/// A remark below the tables (printf style).
void bench_note(bench_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Print tables and remarks on stdout.
void bench_print(const bench_report *report);

/// Add tables and remarks to object, an array of each.
void bench_add_json(cJSON *object, const bench_report *report);

/// Write NAME.csv of every table to a folder. EXIT_DONE, or EXIT_FAILED after a message.
int bench_write_csv(const bench_report *report, const char *folder);

/// Write the tables that are printed, and the remarks, as Markdown: for docs/measured.
void bench_write_markdown(const bench_report *report, FILE *file);

/// Free the tables, and make the report empty.
void bench_clear(bench_report *report);

#endif
