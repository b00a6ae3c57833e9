// Sheets led over a motion. See bench_sheets.h.
#include "bench_sheets.h"

#include "tools/carom/options.h"
#include "tools/carom/progress.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>

// Metres: of a sheet's side, from sheet to sheet, its height, how deep it lies in the thing below,
// and how far it falls in a frame.
static const double SIDE = 2.6, SPACING = 2.7, HEIGHT = 0.02, DEPTH = 0.005, FALL = 0.12;
static const double START = 0.5; // above the highest thing below a sheet, at first

// Frames before the window in which the sheets come down.
enum { LEAD = 30, SHEETS = 6, CELLS = 44, QUICK_SHEETS = 2, QUICK_CELLS = 8 };

struct bench_sheets {
	int sheets, cells; // along each side
	int first, end;    // frames
	// [end - first][sheets * sheets][(cells + 1) * (cells + 1)] of the lower sides
	double *heights;
	int32_t *triangles;
	int32_t triangle_count;
};

static int row_of(const bench_sheets *s) { return s->cells + 1; }
static int columns_of(const bench_sheets *s) { return row_of(s) * row_of(s); }

static double *heights_of(const bench_sheets *s, int sheet, int frame)
{
	return s->heights + ((size_t)(frame - s->first) * (size_t)bench_sheet_count(s) + (size_t)sheet) * (size_t)columns_of(s);
}

static void place_column(const bench_sheets *s, int sheet, int column, double *x, double *z)
{
	const double step = SIDE / s->cells, middle = 0.5 * (s->sheets - 1);
	*x = SPACING * (sheet % s->sheets - middle) - 0.5 * SIDE + step * (column % row_of(s));
	*z = SPACING * (sheet / s->sheets - middle) - 0.5 * SIDE + step * (column / row_of(s));
}

// ---- Leading ----

/// A world of the rigid bodies alone, to look down in.
typedef struct ground {
	const bench_motion *motion;
	carom_context *context;
	scene_simulation *source;
	carom_world *world;
	carom_body_id *ids;
} ground;

static void close_ground(ground *g)
{
	carom_destroy_world(g->world);
	scene_destroy_simulation(g->source);
	carom_destroy_context(g->context);
	free(g->ids);
}

static int open_ground(const bench *b, const bench_motion *motion, ground *g)
{
	sim_error error;
	*g = (ground){ .motion = motion };
	g->ids = bench_allocate((size_t)motion->scene.rigid.body_count, sizeof *g->ids);
	g->context = report_create_context(b->threads, b->simd);
	if (!g->context)
		return EXIT_FAILED;
	g->source = scene_create_simulation(g->context, &motion->scene, NULL, &error);
	if (!g->source)
		return report_error(NULL, "%s", error.text);
	carom_result result = carom_create_world(g->context, NULL, &g->world);
	for (int32_t i = 0; i < motion->scene.rigid.body_count && result == CAROM_SUCCESS; i++) {
		const carom_body_def def = scene_simulation_body_def(g->source, i);
		result = carom_world_add_body(g->world, &def, &g->ids[i]);
	}
	return result == CAROM_SUCCESS ? EXIT_DONE : report_error(NULL, "%s", carom_error_text(g->context));
}

/// The height of what is below a place; far down where there is nothing.
static carom_result look_down(const ground *g, double x, double z, double *height)
{
	const carom_ray ray = { { x, 100, z }, { 0, -1, 0 }, 0, 200 };
	carom_ray_hit hit;
	bool found;
	const carom_result result = carom_world_cast_ray(g->world, &ray, NULL, &found, &hit);
	*height = result == CAROM_SUCCESS && found ? hit.point.y : -100;
	return result;
}

/// A column falls, but not below the surface, in which it lies a little.
static carom_result lead_sheet(const bench_sheets *s, const ground *g, int sheet, int frame)
{
	double *now = heights_of(s, sheet, frame), highest = -100;
	carom_result result = CAROM_SUCCESS;
	for (int i = 0; i < columns_of(s) && result == CAROM_SUCCESS; i++) {
		double x, z;
		place_column(s, sheet, i, &x, &z);
		result = look_down(g, x, z, &now[i]);
		highest = fmax(highest, now[i]);
	}
	const double *before = frame > s->first ? heights_of(s, sheet, frame - 1) : NULL;
	for (int i = 0; i < columns_of(s); i++)
		now[i] = before ? fmax(now[i] - DEPTH, before[i] - FALL) : highest + START;
	return result;
}

static int lead(const bench_sheets *s, const ground *g)
{
	carom_result result = CAROM_SUCCESS;
	progress bar;
	progress_start(&bar, "sheets", s->end - s->first);
	for (int frame = s->first; frame < s->end && result == CAROM_SUCCESS; frame++) {
		const carom_pose *poses = g->motion->poses + (size_t)frame * (size_t)g->motion->scene.rigid.body_count;
		result = carom_world_set_poses(g->world, g->motion->present[frame], g->ids, poses);
		for (int i = 0; i < bench_sheet_count(s) && result == CAROM_SUCCESS; i++)
			result = lead_sheet(s, g, i, frame);
		progress_update(&bar, frame - s->first + 1);
	}
	progress_finish(&bar);
	return result == CAROM_SUCCESS ? EXIT_DONE : report_error(NULL, "sheets: %s", carom_error_text(g->context));
}

// ---- Triangles ----

static void add_cell(bench_sheets *s, int32_t a, int32_t b, int32_t c, int32_t d)
{
	const int32_t corners[6] = { a, b, c, a, c, d };
	for (int k = 0; k < 6; k++)
		s->triangles[3 * (size_t)s->triangle_count + (size_t)k] = corners[k];
	s->triangle_count += 2;
}

/// Both sides and the rim. The vertices of the upper side follow those of the lower one.
static void make_triangles(bench_sheets *s)
{
	const int32_t n = s->cells, row = row_of(s), up = columns_of(s);
	s->triangles = bench_allocate(3 * (size_t)(4 * n * n + 8 * n), sizeof *s->triangles);
	for (int32_t j = 0; j < n; j++) {
		for (int32_t i = 0; i < n; i++) {
			const int32_t a = j * row + i, b = a + 1, c = b + row, d = a + row;
			add_cell(s, a, b, c, d);
			add_cell(s, up + a, up + d, up + c, up + b);
		}
	}
	for (int32_t i = 0; i < n; i++) {
		const int32_t near = i, far = n * row + i, left = i * row, right = i * row + n;
		add_cell(s, near, up + near, up + near + 1, near + 1);
		add_cell(s, far + 1, up + far + 1, up + far, far);
		add_cell(s, left + row, up + left + row, up + left, left);
		add_cell(s, right, up + right, up + right + row, right + row);
	}
}

bench_sheets *bench_make_sheets(const bench *b, const bench_motion *motion, const bench_window *window)
{
	bench_sheets *s = bench_allocate(1, sizeof *s);
	ground g;
	s->sheets = b->quick ? QUICK_SHEETS : SHEETS;
	s->cells = b->quick ? QUICK_CELLS : CELLS;
	s->first = window->first > LEAD ? window->first - LEAD : 0;
	s->end = window->end;
	const size_t columns = (size_t)bench_sheet_count(s) * (size_t)columns_of(s);
	s->heights = bench_allocate((size_t)(s->end - s->first) * columns, sizeof *s->heights);
	make_triangles(s);
	int status = open_ground(b, motion, &g);
	if (status == EXIT_DONE)
		status = lead(s, &g);
	close_ground(&g);
	if (status == EXIT_DONE)
		return s;
	bench_free_sheets(s);
	return NULL;
}

void bench_free_sheets(bench_sheets *s)
{
	if (!s)
		return;
	free(s->heights);
	free(s->triangles);
	free(s);
}

int bench_sheet_count(const bench_sheets *s) { return s->sheets * s->sheets; }

int bench_sheet_triangles(const bench_sheets *s) { return s->triangle_count; }

carom_result bench_sheet_mesh(const bench_sheets *s, carom_context *context, int sheet, int frame, carom_mesh **mesh)
{
	const int columns = columns_of(s);
	const double *heights = heights_of(s, sheet, frame);
	double *places = bench_allocate(6 * (size_t)columns, sizeof *places);
	for (int i = 0; i < 2 * columns; i++) {
		double *p = places + 3 * (size_t)i;
		place_column(s, sheet, i % columns, &p[0], &p[2]);
		p[1] = heights[i % columns] + (i < columns ? 0 : HEIGHT);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	def.vertex_count = 2 * columns;
	def.triangles = s->triangles;
	def.triangle_count = s->triangle_count;
	def.grid_resolution = 0;
	def.build = CAROM_MESH_LBVH;
	const carom_result result = carom_create_mesh(context, &def, NULL, mesh);
	free(places);
	return result;
}
