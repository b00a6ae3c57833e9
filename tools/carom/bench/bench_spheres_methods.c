// spheres-methods: every method and the automatic choice on all kinds of sets: sparse and dense,
// narrow and wide ranges of radii, in a box and in a lump, and with --data the snapshots of a
// folder.
#include "bench_spheres.h"

#include "tools/carom/options.h"
#include "tools/carom/report.h"
#include "scene/sphere_sampling.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SNAPSHOTS = 64 };

typedef struct method_tables {
	bench_table *totals;
	bench_table *parts;
	carom_context *context;
	bench_finders finders;
} method_tables;

// ---- Sets ----

typedef struct strewn_set {
	const char *name;
	double most_radius;
	double side; // of the cube for a million; other numbers are as dense
} strewn_set;

// Mochi, sections 4.1.1 and 4.1.3. The crowded ones have as many pairs as the same million spheres
// have at rest, about three for each.
static const strewn_set STREWN[] = {
	{ "free fall", 0.0006, 1 },
	{ "radii 0.0005-0.006, side 16", 0.006, 16 },
	{ "radii 0.0005-0.06, side 16", 0.06, 16 },
	{ "radii 0.0005-0.006, dense", 0.006, 0.61 },
	{ "radii 0.0005-0.06, dense", 0.06, 6.1 },
};
enum { STREWN_COUNT = sizeof STREWN / sizeof STREWN[0] };

// Sets that one grid is not made for: cells are as wide as the largest sphere, and no more than one
// for each sphere.
enum { GIANTS = 20, HEAPS = 20 };

/// The spheres of a free fall, and among them a few that are a hundred times as large.
static bool make_giants(int64_t count, io_sphere_set *set)
{
	if (!scene_strew_spheres(count, 0.0005, 0.0006, bench_side_for(count, 1), 1, set))
		return false;
	float *values = set->values;
	for (int64_t i = 0; i < GIANTS; i++)
		values[4 * i + 3] *= 100;
	return true;
}

/// Crowded heaps, strewn over a space that is empty otherwise.
static bool make_heaps(int64_t count, io_sphere_set *set)
{
	const double volume_of_each = 1.08e-9, space = 100;
	io_sphere_set corners = { 0 };
	bool done = scene_strew_spheres(count, 0.0005, 0.0006, cbrt(volume_of_each * (double)count / HEAPS), 1, set);
	done = done && scene_strew_spheres(HEAPS, 0, 0, space, 2, &corners);
	float *values = set->values;
	const float *corner = corners.values;
	for (int64_t i = 0; done && i < count; i++) {
		for (int k = 0; k < 3; k++)
			values[4 * i + k] += corner[4 * (i % HEAPS) + k];
	}
	io_free_spheres(&corners);
	return done;
}

/// Spheres of r and r/2 that fill a body and overlap, as Mochi's bunny (section 4.1.4).
static int make_body(const bench *b, int64_t count, io_sphere_set *set)
{
	sim_error error;
	sim_mesh mesh;
	double spacing;
	if (!sim_make_shape("lumpy", 902, 1, &mesh, &error))
		return report_error(NULL, "%s", error.text);
	scene_sampling sampling = scene_default_sampling();
	sampling.count = count;
	sampling.mix = true;
	carom_context *context = report_create_context(b->threads, b->simd);
	bool done = context && scene_sample_mesh(context, &mesh, &sampling, set, &spacing, &error);
	if (context && !done)
		report_error(NULL, "%s", error.text);
	// Without a radius as large as they can be: now grown to three quarters of the lattice's
	// spacing, as the paper's are.
	float *values = set->values;
	double largest = 0;
	for (int64_t i = 0; done && i < set->count; i++)
		largest = fmax(largest, (double)values[4 * i + 3]);
	for (int64_t i = 0; done && i < set->count; i++)
		values[4 * i + 3] *= (float)(0.75 * spacing / largest);
	carom_destroy_context(context);
	sim_mesh_free(&mesh);
	return done ? EXIT_DONE : EXIT_FAILED;
}

// ---- Measurement ----

static int measure_set(const bench *b, const method_tables *tables, const char *name, const io_sphere_set *set)
{
	const bench_finders *finders = &tables->finders;
	bench_finding findings[BENCH_MAX_FINDERS];
	if (bench_find_pairs(tables->context, name, set, finders, b->quick ? 2 : 3, findings) != EXIT_DONE)
		return EXIT_FAILED;
	bench_text(tables->totals, "%s", name);
	for (int i = 0; i < finders->count; i++) {
		const bench_finding *f = &findings[i];
		bench_number(tables->totals, f->ms_total, 3);
		bench_text(tables->parts, "%s", name);
		if (finders->of[i].def.method == CAROM_SPHERES_AUTO)
			bench_text(tables->parts, "auto (%s)", carom_sphere_method_name(f->method));
		else
			bench_text(tables->parts, "%s", finders->of[i].name);
		bench_number(tables->parts, f->ms_build, 3);
		bench_number(tables->parts, f->ms_find, 3);
		bench_number(tables->parts, f->ms_sort, 3);
		bench_number(tables->parts, f->ms_median, 3);
		bench_number(tables->parts, f->bytes_per_sphere, 1);
		bench_number(tables->parts, f->pairs > 0 ? (double)f->tests / (double)f->pairs : NAN, 2);
	}
	bench_text(tables->totals, "%lld", (long long)set->count);
	bench_text(tables->totals, "%lld", (long long)findings[0].pairs);
	return EXIT_DONE;
}

static int measure_strewn(const bench *b, const method_tables *tables, const strewn_set *which, int64_t count)
{
	io_sphere_set set = { 0 };
	if (!scene_strew_spheres(count, 0.0005, which->most_radius, bench_side_for(count, which->side), 1, &set))
		return report_error(NULL, "out of memory");
	const int status = measure_set(b, tables, which->name, &set);
	io_free_spheres(&set);
	return status;
}

static int measure_uneven(
	const bench *b, const method_tables *tables, const char *name, bool (*make)(int64_t count, io_sphere_set *set))
{
	io_sphere_set set = { 0 };
	int status = make(b->quick ? 5000 : 200000, &set) ? EXIT_DONE : report_error(NULL, "out of memory");
	if (status == EXIT_DONE)
		status = measure_set(b, tables, name, &set);
	io_free_spheres(&set);
	return status;
}

static int measure_body(const bench *b, const method_tables *tables)
{
	io_sphere_set set = { 0 };
	int status = make_body(b, b->quick ? 2000 : 82337, &set);
	if (status == EXIT_DONE)
		status = measure_set(b, tables, "a body of r and r/2", &set);
	io_free_spheres(&set);
	return status;
}

// ---- Snapshots ----

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static bool is_snapshot(const char *name)
{
	const size_t length = strlen(name);
	return length > 4 && strcmp(name + length - 4, ".sph") == 0 && length < BENCH_CELL_SIZE;
}

/// The snapshots of a folder by name.
static int list_snapshots(const char *folder, char names[MAX_SNAPSHOTS][BENCH_CELL_SIZE], int *count)
{
	DIR *stream = opendir(folder);
	if (!stream)
		return report_error(folder, "%s", strerror(errno));
	*count = 0;
	for (const struct dirent *entry; *count < MAX_SNAPSHOTS && (entry = readdir(stream)) != NULL;) {
		if (is_snapshot(entry->d_name))
			strcpy(names[(*count)++], entry->d_name); // short enough: is_snapshot
	}
	closedir(stream);
	if (*count == 0)
		return report_error(folder, "holds no snapshot of spheres (NAME.sph); `carom make spheres` makes one");
	qsort(names, (size_t)*count, BENCH_CELL_SIZE, by_name);
	return EXIT_DONE;
}

static int measure_snapshots(const bench *b, const method_tables *tables)
{
	static char names[MAX_SNAPSHOTS][BENCH_CELL_SIZE];
	const io_sphere_reading reading = { .default_radius = -1 };
	char path[IO_PATH_MAX];
	sim_error error;
	int count;
	if (list_snapshots(b->data, names, &count) != EXIT_DONE)
		return EXIT_FAILED;
	for (int i = 0; i < count; i++) {
		io_sphere_set set;
		if (snprintf(path, sizeof path, "%s/%s", b->data, names[i]) >= (int)sizeof path)
			return report_error(b->data, "is too long a name");
		if (!io_load_spheres(path, &reading, &set, &error))
			return report_error(path, "%s", error.text);
		const int status = measure_set(b, tables, names[i], &set);
		io_free_spheres(&set);
		if (status != EXIT_DONE)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static int measure_all(const bench *b, const method_tables *tables)
{
	const int64_t count = b->quick ? 5000 : 1000000;
	for (int i = 0; i < STREWN_COUNT; i++) {
		if (measure_strewn(b, tables, &STREWN[i], count) != EXIT_DONE)
			return EXIT_FAILED;
	}
	if (measure_uneven(b, tables, "free fall with 20 giants", make_giants) != EXIT_DONE ||
		measure_uneven(b, tables, "20 heaps far apart", make_heaps) != EXIT_DONE || measure_body(b, tables) != EXIT_DONE ||
		(b->data && measure_snapshots(b, tables) != EXIT_DONE))
		return EXIT_FAILED;
	return EXIT_DONE;
}

static void add_tables(bench_report *report, method_tables *tables)
{
	char columns[BENCH_MAX_COLUMNS * BENCH_CELL_SIZE] = "set";
	for (int i = 0; i < tables->finders.count; i++) {
		const size_t used = strlen(columns);
		snprintf(columns + used, sizeof columns - used, "|%s", tables->finders.of[i].name);
	}
	const size_t used = strlen(columns);
	snprintf(columns + used, sizeof columns - used, "|spheres|pairs");
	tables->totals = bench_add_table(report, "spheres-methods", "All pairs of one set, build and query: ms", columns);
	tables->parts = bench_add_table(report, "spheres-methods-parts", "What that goes to",
		"set|method|build, ms|query, ms|sort, ms|median of build and query, ms|bytes per sphere|tests per pair");
	bench_draw(tables->totals, BENCH_BARS, 1, tables->finders.count, "build and query, ms");
	tables->totals->logarithmic = true;
}

int bench_spheres_methods(bench *b, bench_report *report)
{
	method_tables tables = { .context = report_create_context(b->threads, b->simd) };
	int status = tables.context ? bench_open_finders(b, tables.context, false, &tables.finders) : EXIT_FAILED;
	if (status == EXIT_DONE) {
		add_tables(report, &tables);
		status = measure_all(b, &tables);
	}
	bench_close_finders(&tables.finders);
	carom_destroy_context(tables.context);
	bench_note(report, "spheres in random order, as a user hands them over; all methods found the same pairs of every set");
	bench_note(report, "least of the repeats, in turns; bytes are what the detector holds beside the list of pairs%s",
		b->on_device ? ", device memory left out" : "");
	return status;
}
