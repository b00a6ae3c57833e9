// Tables of benches as text, CSV, Markdown and JSON; see bench_table.h.
#include "bench_table.h"

#include "bench.h"
#include "tools/carom/options.h"
#include "tools/carom/report.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bench_table *bench_add_table(bench_report *report, const char *name, const char *title, const char *columns)
{
	assert(report->table_count < BENCH_MAX_TABLES);
	bench_table *table = &report->tables[report->table_count++];
	*table = (bench_table){ 0 };
	snprintf(table->name, sizeof table->name, "%s", name);
	snprintf(table->title, sizeof table->title, "%s", title);
	while (*columns) {
		assert(table->column_count < BENCH_MAX_COLUMNS);
		const int length = (int)strcspn(columns, "|");
		snprintf(table->columns[table->column_count++], BENCH_CELL_SIZE, "%.*s", length, columns);
		columns += length + (columns[length] == '|');
	}
	return table;
}

void bench_draw(bench_table *table, bench_figure figure, int first, int count, const char *axis)
{
	assert(first + count <= table->column_count);
	table->figure = figure;
	table->first_drawn = first;
	table->drawn_count = count;
	snprintf(table->axis, sizeof table->axis, "%s", axis);
}

static char *next_cell(bench_table *table)
{
	if (table->cell_count == table->cell_room) {
		const int room = 2 * table->cell_room + 64;
		char(*cells)[BENCH_CELL_SIZE] = bench_allocate((size_t)room, sizeof *cells);
		if (table->cell_count > 0)
			memcpy(cells, table->cells, (size_t)table->cell_count * sizeof *cells);
		free(table->cells);
		table->cells = cells;
		table->cell_room = room;
	}
	return table->cells[table->cell_count++];
}

void bench_text(bench_table *table, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(next_cell(table), BENCH_CELL_SIZE, format, arguments);
	va_end(arguments);
}

void bench_number(bench_table *table, double value, int decimals)
{
	if (isfinite(value))
		bench_text(table, "%.*f", decimals, value);
	else
		bench_text(table, "-");
}

void bench_note(bench_report *report, const char *format, ...)
{
	assert(report->note_count < BENCH_MAX_NOTES);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(report->notes[report->note_count++], sizeof report->notes[0], format, arguments);
	va_end(arguments);
}

static int row_count(const bench_table *table) { return table->cell_count / table->column_count; }

static const char *cell(const bench_table *table, int row, int column)
{
	return table->cells[row * table->column_count + column];
}

static bool is_number(const char *text, double *value)
{
	char *end;
	*value = strtod(text, &end);
	return end != text && *end == 0;
}

// ---- Text ----

static int width_of(const bench_table *table, int column)
{
	size_t width = strlen(table->columns[column]);
	for (int i = 0; i < row_count(table); i++) {
		const size_t length = strlen(cell(table, i, column));
		width = length > width ? length : width;
	}
	return (int)width;
}

static void print_row(const bench_table *table, int row, const int *widths)
{
	for (int i = 0; i < table->column_count; i++) {
		const char *text = row < 0 ? table->columns[i] : cell(table, row, i);
		printf(i == 0 ? "  %-*s" : "  %*s", widths[i], text);
	}
	putchar('\n');
}

static void print_table(const bench_table *table)
{
	int widths[BENCH_MAX_COLUMNS];
	for (int i = 0; i < table->column_count; i++)
		widths[i] = width_of(table, i);
	printf("%s\n", table->title);
	for (int row = -1; row < row_count(table); row++)
		print_row(table, row, widths);
}

void bench_print(const bench_report *report)
{
	for (int i = 0; i < report->table_count; i++) {
		if (!report->tables[i].series)
			print_table(&report->tables[i]);
	}
	for (int i = 0; i < report->note_count; i++)
		printf("  %s\n", report->notes[i]);
	putchar('\n');
}

// ---- JSON ----

static void add_row(cJSON *rows, const bench_table *table, int row)
{
	cJSON *cells = cJSON_CreateArray();
	for (int i = 0; i < table->column_count; i++) {
		const char *text = cell(table, row, i);
		double value;
		cJSON_AddItemToArray(cells, is_number(text, &value) ? cJSON_CreateNumber(value) : cJSON_CreateString(text));
	}
	cJSON_AddItemToArray(rows, cells);
}

void bench_add_json(cJSON *object, const bench_report *report)
{
	cJSON *tables = cJSON_AddArrayToObject(object, "tables");
	for (int i = 0; i < report->table_count; i++) {
		const bench_table *table = &report->tables[i];
		cJSON *json = cJSON_CreateObject();
		cJSON_AddStringToObject(json, "name", table->name);
		cJSON_AddStringToObject(json, "title", table->title);
		cJSON *columns = cJSON_AddArrayToObject(json, "columns");
		for (int j = 0; j < table->column_count; j++)
			cJSON_AddItemToArray(columns, cJSON_CreateString(table->columns[j]));
		cJSON *rows = cJSON_AddArrayToObject(json, "rows");
		for (int j = 0; j < row_count(table); j++)
			add_row(rows, table, j);
		cJSON_AddItemToArray(tables, json);
	}
	cJSON *notes = cJSON_AddArrayToObject(object, "notes");
	for (int i = 0; i < report->note_count; i++)
		cJSON_AddItemToArray(notes, cJSON_CreateString(report->notes[i]));
}

// ---- CSV ----

static void write_field(FILE *file, const char *text, bool last)
{
	const bool quoted = strpbrk(text, ",\"") != NULL;
	if (quoted)
		putc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', file);
		putc(*text, file);
	}
	if (quoted)
		putc('"', file);
	putc(last ? '\n' : ',', file);
}

static int write_table(const bench_table *table, const char *folder)
{
	char path[IO_PATH_MAX];
	snprintf(path, sizeof path, "%s/%s.csv", folder, table->name);
	io_output_file file = { 0 };
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	for (int i = 0; i < table->column_count; i++)
		write_field(file.stream, table->columns[i], i + 1 == table->column_count);
	for (int i = 0; i < table->cell_count; i++)
		write_field(file.stream, table->cells[i], (i + 1) % table->column_count == 0);
	return report_commit(&file);
}

int bench_write_csv(const bench_report *report, const char *folder)
{
	for (int i = 0; i < report->table_count; i++) {
		if (write_table(&report->tables[i], folder) != EXIT_DONE)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}

// ---- Markdown ----

static void write_markdown_cell(FILE *file, const char *text)
{
	fputs("| ", file);
	for (; *text; text++) {
		if (*text == '|')
			putc('\\', file);
		putc(*text, file);
	}
	putc(' ', file);
}

static void write_markdown_table(const bench_table *table, FILE *file)
{
	fprintf(file, "## %s\n\n", table->title);
	for (int row = -1; row < row_count(table); row++) {
		for (int i = 0; i < table->column_count; i++)
			write_markdown_cell(file, row < 0 ? table->columns[i] : cell(table, row, i));
		fputs("|\n", file);
		for (int i = 0; row < 0 && i < table->column_count; i++)
			fputs("|---", file);
		if (row < 0)
			fputs("|\n", file);
	}
	putc('\n', file);
}

void bench_write_markdown(const bench_report *report, FILE *file)
{
	for (int i = 0; i < report->table_count; i++) {
		if (!report->tables[i].series)
			write_markdown_table(&report->tables[i], file);
	}
	for (int i = 0; i < report->note_count; i++)
		fprintf(file, "- %s\n", report->notes[i]);
}

void bench_clear(bench_report *report)
{
	for (int i = 0; i < report->table_count; i++)
		free(report->tables[i].cells);
	*report = (bench_report){ 0 };
}
