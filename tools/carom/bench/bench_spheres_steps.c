// spheres-table-1, -scale, -gravity, -radii, -grains: the shares of a step of a granular
// simulation, on the scenes of Mochi (Mandarapu et al.), near the beginning and near the end of
// their motions.
#include "bench_spheres.h"

#include "tools/carom/options.h"

#include <stdio.h>

/// Milliseconds of a step from the minutes of 80,000 steps, as Table 1 has them.
static double ms_of_minutes(double minutes) { return minutes * 60e3 / 80e3; }

// Steps that a quick run takes, enough for lists to be made.
enum { QUICK_WARM_UP = 10, QUICK_STEPS = 10 };

static bench_sphere_case sized(const bench *b, bench_sphere_case which)
{
	if (b->quick) {
		which.settle /= 2;
		which.warm_up = which.turned > 0 ? 10 * QUICK_WARM_UP : QUICK_WARM_UP;
		which.steps = QUICK_STEPS;
		which.mesh_most = 1500;
	}
	return which;
}

/// Falling as the scene begins; and at rest in layers, where every sphere has its neighbours.
static bench_sphere_case falling(const char *file, int64_t count)
{
	return (bench_sphere_case){ .file = file, .state = "falling", .count = count, .warm_up = 20, .steps = 60 };
}

static bench_sphere_case in_heap(const char *file, int64_t count)
{
	return (bench_sphere_case){
		.file = file, .state = "in a heap", .count = count, .packing = BENCH_HEAP, .settle = 800, .warm_up = 100, .steps = 60
	};
}

// ---- Rows that all tables share ----

static const char common_columns[] =
	"spheres|state|contacts per sphere|build|detection|update|total|lists made|skin in radii|bytes per sphere";

/// A column for the processor, where a device is beside it.
static bench_table *add_device_table(
	const bench *b, bench_report *report, const char *name, const char *title, const char *columns, const char *more)
{
	char all[512];
	snprintf(all, sizeof all, "%s%s", columns, b->on_device ? more : "");
	return bench_add_table(report, name, title, all);
}

static void add_common(const bench *b, bench_table *table, const bench_sphere_case *which, const bench_sphere_cost *cost)
{
	bench_text(table, "%lld", (long long)cost->count);
	bench_text(table, "%s", which->state);
	bench_number(table, cost->contacts_per_sphere, 3);
	bench_number(table, cost->ms_build, 3);
	bench_number(table, cost->ms_detection, 3);
	bench_number(table, cost->ms_update, 3);
	bench_number(table, cost->ms_total, 3);
	bench_text(table, "%d of %d", cost->list_builds, which->steps);
	bench_number(table, cost->skin, 3);
	bench_number(table, cost->bytes_per_sphere, 0);
	if (b->on_device)
		bench_number(table, cost->ms_processor, 3);
}

static void note_steps(const bench *b, bench_report *report)
{
	if (b->on_device)
		bench_note(report,
			"on the device: build, detection and update are milliseconds of its kernels, total is time on the clock; both end in the "
			"same state, bit for bit, where it rounds as the processor does. Device memory is not in the bytes");
	bench_note(report,
		"a step's mean milliseconds: build is the list of neighbours and the order in memory, detection the distances and forces "
		"between spheres, update walls, velocities and places");
	bench_note(report,
		"in a heap: ten layers in a bin as wide as they need, settled without bouncing. In the paper's unit box a million spheres "
		"cover the floor once and fewer hardly touch; it gives no contacts per sphere");
}

// ---- Table 1 ----

enum { TABLE_1_ROWS = 5 };

typedef struct paper_row {
	double mochi[4], taichi[4]; // minutes: build, DCD, update, total
} paper_row;

static const paper_row TABLE_1[TABLE_1_ROWS] = {
	{ { 1.63, 5.44, 0.49, 7.56 }, { 3.3, 29.49, 0.58, 33.37 } },
	{ { 3.14, 18.27, 0.99, 22.4 }, { 3.51, 141.3, 1.15, 145.95 } },
	{ { 4.19, 44.5, 1.5, 50.18 }, { 3.7, 294.57, 1.7, 299.97 } },
	{ { 5.1, 94.18, 2.0, 101.28 }, { 3.95, 468.17, 2.27, 474.38 } },
	{ { 5.78, 190.08, 2.5, 198.36 }, { 4.2, 638.28, 2.83, 645.31 } },
};

static void note_table_1(bench_report *report)
{
	bench_note(report,
		"the paper's milliseconds are those of an RTX 4070 Ti: the minutes of its Table 1 over 80,000 steps, so means over fall and "
		"heap; its tree is refitted in every step");
	bench_note(report,
		"the paper's speed-ups of build (6.74 to 1.68) and detection (60 to 255) divide Taichi's times by Mochi's update time; "
		"from the minutes beside them they are 2.02, 1.12, 0.88, 0.77, 0.73 and 5.42, 7.73, 6.62, 4.97, 3.36. Those of update and "
		"total are right");
	bench_note(report,
		"so from 3 million spheres on Mochi's refit takes longer than Taichi's hash map, and the gain of detection falls from 2 "
		"million on instead of rising");
	bench_note(report,
		"the RTX 6000 figures (10.28, 66.51 and 1.44 times for the parts, 3.96 in total) do not fit each other either, and the RTX "
		"4070 Ti has 60 ray tracing cores, not 80: both kinds of cores grow 2.37 times between the two cards");
}

int bench_spheres_table_1(bench *b, bench_report *report)
{
	bench_table *table = add_device_table(b, report, "spheres-table-1", "Spheres in a unit box, freely falling: ms per step",
		"spheres|state|contacts per sphere|build|detection|update|total|lists made|bytes per sphere|Mochi build|Mochi "
		"DCD|Mochi update|Mochi total|Taichi total",
		"|total, processor");
	bench_table *totals = bench_add_table(report, "spheres-table-1-total", "Total of a step, ms",
		"million spheres|falling|in a heap|Mochi, RTX 4070 Ti|Taichi, RTX 4070 Ti");
	bench_draw(totals, BENCH_LINES, 1, 4, "ms per step");
	totals->series = true;
	for (int i = 0; i < TABLE_1_ROWS; i++) {
		const int64_t count = (b->quick ? 1000 : 1000000) * (int64_t)(i + 1);
		const bench_sphere_case states[2] = { sized(b, falling("freefall.json", count)),
			sized(b, in_heap("freefall.json", count)) };
		const paper_row *paper = &TABLE_1[i];
		bench_number(totals, (double)count / 1e6, 2);
		for (int k = 0; k < 2; k++) {
			bench_sphere_cost cost;
			if (bench_simulate_spheres(b, &states[k], &cost) != EXIT_DONE)
				return EXIT_FAILED;
			bench_text(table, "%lld", (long long)cost.count);
			bench_text(table, "%s", states[k].state);
			bench_number(table, cost.contacts_per_sphere, 3);
			bench_number(table, cost.ms_build, 2);
			bench_number(table, cost.ms_detection, 2);
			bench_number(table, cost.ms_update, 2);
			bench_number(table, cost.ms_total, 2);
			bench_text(table, "%d of %d", cost.list_builds, states[k].steps);
			bench_number(table, cost.bytes_per_sphere, 0);
			for (int j = 0; j < 4; j++)
				bench_number(table, ms_of_minutes(paper->mochi[j]), 2);
			bench_number(table, ms_of_minutes(paper->taichi[3]), 2);
			if (b->on_device)
				bench_number(table, cost.ms_processor, 2);
			bench_number(totals, cost.ms_total, 2);
		}
		bench_number(totals, ms_of_minutes(paper->mochi[3]), 2);
		bench_number(totals, ms_of_minutes(paper->taichi[3]), 2);
	}
	if (b->quick)
		bench_note(report, "quick: 1,000 to 5,000 spheres beside the paper's 1 to 5 million");
	note_steps(b, report);
	note_table_1(report);
	return EXIT_DONE;
}

// ---- The other figures ----

/// Measure cases, a row each; the figure shows the parts of a step.
static int measure_cases(
	bench *b, bench_report *report, const char *name, const char *title, const bench_sphere_case *cases, int count)
{
	bench_table *table = add_device_table(b, report, name, title, common_columns, "|total, processor");
	bench_draw(table, BENCH_BARS, 3, 3, "ms per step");
	for (int i = 0; i < count; i++) {
		const bench_sphere_case which = sized(b, cases[i]);
		bench_sphere_cost cost;
		if (bench_simulate_spheres(b, &which, &cost) != EXIT_DONE)
			return EXIT_FAILED;
		add_common(b, table, &which, &cost);
	}
	note_steps(b, report);
	return EXIT_DONE;
}

int bench_spheres_scale(bench *b, bench_report *report)
{
	enum { SIZES = 4 };
	bench_table *table = add_device_table(b, report, "spheres-scale", "Spheres in a unit box, freely falling: ms per step",
		"spheres|falling|in a heap|contacts per sphere, heap|ns per sphere, falling|ns per sphere, heap",
		"|falling, processor|in a heap, processor");
	bench_draw(table, BENCH_BARS, 1, 2, "ms per step");
	table->logarithmic = true;
	int64_t count = 1000;
	for (int i = 0; i < (b->quick ? SIZES - 2 : SIZES); i++, count *= 10) {
		bench_sphere_case fall = sized(b, falling("freefall.json", count)), heap = sized(b, in_heap("freefall.json", count));
		// the fewer the spheres, the more steps for a mean that means something
		if (!b->quick && count < 100000)
			fall.steps = heap.steps = 600;
		bench_sphere_cost costs[2];
		if (bench_simulate_spheres(b, &fall, &costs[0]) != EXIT_DONE || bench_simulate_spheres(b, &heap, &costs[1]) != EXIT_DONE)
			return EXIT_FAILED;
		bench_text(table, "%lld", (long long)count);
		bench_number(table, costs[0].ms_total, 4);
		bench_number(table, costs[1].ms_total, 4);
		bench_number(table, costs[1].contacts_per_sphere, 3);
		for (int k = 0; k < 2; k++)
			bench_number(table, 1e6 * costs[k].ms_total / (double)count, 2);
		for (int k = 0; k < 2 && b->on_device; k++)
			bench_number(table, costs[k].ms_processor, 4);
	}
	note_steps(b, report);
	bench_note(report,
		"the paper's figure has no numbers: Taichi's time hardly changes up to 100,000 spheres (mostly overhead), Mochi's rises with "
		"each size, so that its gain is least there");
	return EXIT_DONE;
}

int bench_spheres_gravity(bench *b, bench_report *report)
{
	static const int64_t counts[] = { 1000000, 2000000, 3000000 };
	bench_sphere_case cases[9];
	for (int i = 0; i < 3; i++) {
		const int64_t count = b->quick ? counts[i] / 1000 : counts[i];
		bench_sphere_case *at = &cases[3 * i];
		at[0] = falling("turning_gravity.json", count);
		at[1] = in_heap("turning_gravity.json", count);
		at[1].settle *= 2; // half the time step of the free fall
		at[2] = at[1];
		at[2].state = "sliding";
		at[2].warm_up = 1000;
		at[2].turned = 45;
	}
	bench_note(report,
		"sliding: the heap after gravity has turned by 45 degrees within 50 ms, 20 times as fast as the paper's, whose eighth of a turn "
		"takes 20,000 steps; it goes on turning while it is measured");
	bench_note(report,
		"the paper: 4.87 to 8.75 times faster than Taichi's hash map, which runs out of memory above 3 million; a refitted tree timed "
		"out there (bench spheres-interval shows what age does to a refitted tree, in another motion)");
	return measure_cases(
		b, report, "spheres-gravity", "Spheres in a unit box, gravity turning in the xz plane: ms per step", cases, 9);
}

int bench_spheres_radii(bench *b, bench_report *report)
{
	const int64_t count = b->quick ? 10000 : 0;
	bench_sphere_case cases[] = {
		{ .file = "radii_narrow.json", .state = "0.0005-0.006, strewn", .count = count, .warm_up = 20, .steps = 60 },
		{ .file = "radii_wide.json", .state = "0.0005-0.06, strewn", .count = count, .warm_up = 20, .steps = 60 },
		{ .file = "radii_narrow.json",
			.state = "0.0005-0.006, crowd",
			.count = count,
			.packing = BENCH_CROWD,
			.speed = 2,
			.warm_up = 60,
			.steps = 60 },
		{ .file = "radii_wide.json",
			.state = "0.0005-0.06, crowd",
			.count = count,
			.packing = BENCH_CROWD,
			.speed = 20,
			.warm_up = 60,
			.steps = 60 },
	};
	bench_note(report,
		"crowd: 15 %% of a cube filled with spheres that do not touch and fly about; the paper's figure has no numbers, it shows "
		"that index times do not depend on the radii");
	return measure_cases(
		b, report, "spheres-radii", "A million spheres of many sizes: ms per step", cases, sizeof cases / sizeof *cases);
}

int bench_spheres_grains(bench *b, bench_report *report)
{
	bench_sphere_case cases[] = {
		{ .file = "grains1.json", .state = "1 body, falling", .warm_up = 20, .steps = 200 },
		{ .file = "grains1.json", .state = "1 body, bursting", .speed = 5, .warm_up = 2000, .steps = 200 },
		{ .file = "grains14.json", .state = "14 bodies, falling", .warm_up = 20, .steps = 60 },
		{ .file = "grains14.json", .state = "14 bodies, bursting", .speed = 5, .warm_up = 2200, .steps = 60 },
	};
	bench_note(report,
		"bursting: thrown at the floor with 5 m/s and measured when it has met it. The paper: 11.06 and 9.26 times faster than "
		"Taichi; 14 times 82,337 are 1,152,718 spheres");
	bench_note(report,
		"the body is one of our own shapes, of the bunny's size; its spheres do not overlap at first, as the bunny's do");
	return measure_cases(
		b, report, "spheres-grains", "Bodies of spheres of radius r and r/2: ms per step", cases, sizeof cases / sizeof *cases);
}
