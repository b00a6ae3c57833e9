// Pictures of spheres, in three passes over all workers: the view of each sample, the view of the
// sun, and the light. The first two keep the smallest of (depth, sphere) by atomic minima, the
// third writes each pixel once: the picture is the same for any number of threads.
#include "view/sphere_picture.h"
#include "view/light.h"
#include "view/overlay.h"
#include "io/sphere_parts.h"

#include <float.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 8192, TAPS = 14, TURNS = 64, ID_COLORS = 720 };

// Indices that are no sphere's. The nearest of a sample is (depth as bits of a float, index), so
// nothing is the largest.
static const uint32_t NO_THING = UINT32_MAX, THE_GROUND = UINT32_MAX - 1, AN_EDGE = UINT32_MAX - 2;

// The view of the sun: depths below `top` along the sun's direction, on a square of cells.
typedef struct sun_map {
	carom_vec3 sun, across, along; // unit, at right angles
	double left, low, top;         // of the map along the three
	double cell;
	int side;
	atomic_uint *depths; // [side*side], bits of a float
} sun_map;

typedef struct picture_job {
	const sim_sphere_cloud *cloud;
	const view_sphere_picture_options *options;
	view_frame view;
	int side;               // of the square of samples of a pixel
	int columns, rows;      // samples
	double pitch;           // of the samples at distance 1
	double centre[2];       // of the picture, in samples
	atomic_ullong *nearest; // [columns*rows]
	sun_map map;
	double checker_cell, fade, reach;
	double lowest, highest; // of the scale of colours
	double taps[TAPS][2];   // in the unit disc
	double turns[TURNS][2]; // cosines and sines
	float id_colors[ID_COLORS][3];
	view_image *image;
	void (*piece)(struct picture_job *job, int64_t piece);
	carom_context *workers;
} picture_job;

typedef struct camera_point {
	double x, y, z; // right, down, forward
} camera_point;

static float float_of_bits(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static uint32_t bits_of_float(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static carom_vec3 centre_of(const sim_sphere_cloud *cloud, int64_t i)
{
	double c[3];
	sim_cloud_read(&cloud->centres, 3, i, c);
	return (carom_vec3){ c[0], c[1], c[2] };
}

static double radius_of(const sim_sphere_cloud *cloud, int64_t i)
{
	double r;
	sim_cloud_read(&cloud->radii, 1, i, &r);
	return r;
}

static double speed_of(const sim_sphere_cloud *cloud, int64_t i)
{
	double v[3];
	sim_cloud_read(&cloud->velocities, 3, i, v);
	return sim_length((carom_vec3){ v[0], v[1], v[2] });
}

// ---- Workers ----

static void do_pieces(int64_t begin, int64_t end, int worker, void *argument)
{
	(void)worker;
	picture_job *job = argument;
	for (int64_t piece = begin; piece < end; ++piece)
		job->piece(job, piece);
}

static void run_pass(picture_job *job, void (*piece)(picture_job *job, int64_t piece), int64_t piece_count)
{
	job->piece = piece;
	view_run_pieces(job->workers, piece_count, do_pieces, job);
}

// ---- The view of the samples ----

// Cells first..last (both within 0..count-1) whose middles lie in low..high; first > last when
// there are none.
typedef struct cell_range {
	int first, last;
} cell_range;

static cell_range cells_within(double low, double high, int count)
{
	const double first = fmax(ceil(low - 0.5), 0), last = fmin(floor(high - 0.5), count - 1);
	if (!(first <= last))
		return (cell_range){ 0, -1 };
	return (cell_range){ (int)first, (int)last };
}

/// The slopes between which a circle of radius r about (x, z), z > r, is seen from the origin:
/// those of its tangents.
static void tangent_slopes(double x, double z, double r, double *low, double *high)
{
	const double scale = 1 / ((z - r) * (z + r));
	const double root = r * sqrt(x * x + (z - r) * (z + r));
	*low = (x * z - root) * scale;
	*high = (x * z + root) * scale;
}

static void offer(atomic_ullong *nearest, double depth, uint32_t index)
{
	const unsigned long long key = (unsigned long long)bits_of_float((float)depth) << 32 | index;
	unsigned long long old = atomic_load_explicit(nearest, memory_order_relaxed);
	while (key < old && !atomic_compare_exchange_weak_explicit(nearest, &old, key, memory_order_relaxed, memory_order_relaxed)) {
	}
}

static camera_point to_camera(const view_frame *view, carom_vec3 point)
{
	const carom_vec3 d = sim_subtract(point, view->position);
	return (camera_point){ sim_dot(d, view->right), sim_dot(d, view->down), sim_dot(d, view->forward) };
}

/// The direction through a sample, with its part forward 1.
static camera_point sample_direction(const picture_job *job, int column, int row)
{
	return (camera_point){ (column + 0.5 - job->centre[0]) * job->pitch, (row + 0.5 - job->centre[1]) * job->pitch, 1 };
}

/// The way along d to where it enters the sphere; negative where it misses. By the foot of the
/// perpendicular from the centre, which loses no digits for small spheres far away.
static double enter_sphere(camera_point c, double r, camera_point d)
{
	const double square = d.x * d.x + d.y * d.y + 1;
	const double foot = (c.x * d.x + c.y * d.y + c.z) / square;
	const camera_point off = { c.x - foot * d.x, c.y - foot * d.y, c.z - foot };
	const double inside = r * r - (off.x * off.x + off.y * off.y + off.z * off.z);
	return inside >= 0 ? foot - sqrt(inside / square) : -1;
}

static void see_sphere(picture_job *job, int64_t i)
{
	const camera_point c = to_camera(&job->view, centre_of(job->cloud, i));
	const double r = radius_of(job->cloud, i);
	const double nearest = 1e-6 * job->view.distance;
	cell_range across = { 0, job->columns - 1 }, along = { 0, job->rows - 1 };
	if (!(c.z + r > nearest))
		return;
	if (c.z > 1.0001 * r) {
		double low, high;
		tangent_slopes(c.x, c.z, r, &low, &high);
		across = cells_within(job->centre[0] + low / job->pitch, job->centre[0] + high / job->pitch, job->columns);
		tangent_slopes(c.y, c.z, r, &low, &high);
		along = cells_within(job->centre[1] + low / job->pitch, job->centre[1] + high / job->pitch, job->rows);
	}
	for (int row = along.first; row <= along.last; ++row) {
		for (int column = across.first; column <= across.last; ++column) {
			const double depth = enter_sphere(c, r, sample_direction(job, column, row));
			if (depth > nearest)
				offer(&job->nearest[(size_t)row * (size_t)job->columns + (size_t)column], depth, (uint32_t)i);
		}
	}
}

static void see_piece(picture_job *job, int64_t piece)
{
	const int64_t end = (piece + 1) * PIECE < job->cloud->count ? (piece + 1) * PIECE : job->cloud->count;
	for (int64_t i = piece * PIECE; i < end; ++i)
		see_sphere(job, i);
}

static carom_vec3 to_world(const view_frame *view, camera_point p)
{
	const carom_vec3 level = sim_add(sim_scale(view->right, p.x), sim_scale(view->down, p.y));
	return sim_add(view->position, sim_add(level, sim_scale(view->forward, p.z)));
}

/// Where a row of samples is empty, it shows the ground, or the sky.
static void clear_row(picture_job *job, int64_t row)
{
	const view_frame *view = &job->view;
	const double height = sim_dot(view->position, view->up) - job->options->ground;
	for (int column = 0; column < job->columns; ++column) {
		atomic_ullong *nearest = &job->nearest[(size_t)row * (size_t)job->columns + (size_t)column];
		atomic_store_explicit(nearest, ULLONG_MAX, memory_order_relaxed);
		const camera_point d = sample_direction(job, column, (int)row);
		const carom_vec3 direction = sim_subtract(to_world(view, d), view->position);
		const double sink = -sim_dot(direction, view->up);
		// From below, the ground is not there.
		if (job->options->draw_ground && height > 0 && sink * 10 * job->fade > height)
			offer(nearest, height / sink, THE_GROUND);
	}
}

/// An edge of the box, about a pixel wide, as far as it lies in front of the camera.
static void see_edge(picture_job *job, carom_vec3 from, carom_vec3 to)
{
	camera_point a = to_camera(&job->view, from), b = to_camera(&job->view, to);
	const double nearest = 1e-3 * job->view.distance;
	if (a.z < nearest && b.z < nearest)
		return;
	for (int i = 0; i < 2; ++i) { // cut off the part behind the camera
		const camera_point other = i ? a : b;
		camera_point *end = i ? &b : &a;
		const double part = (nearest - end->z) / (other.z - end->z);
		if (end->z < nearest)
			*end = (camera_point){ end->x + part * (other.x - end->x), end->y + part * (other.y - end->y), nearest };
	}
	const double from_at[2] = { job->centre[0] + a.x / (a.z * job->pitch), job->centre[1] + a.y / (a.z * job->pitch) };
	const double to_at[2] = { job->centre[0] + b.x / (b.z * job->pitch), job->centre[1] + b.y / (b.z * job->pitch) };
	const int major = fabs(to_at[0] - from_at[0]) < fabs(to_at[1] - from_at[1]);
	const double run = to_at[major] - from_at[major];
	const int limits[2] = { job->columns, job->rows };
	const cell_range steps = cells_within(fmin(from_at[major], to_at[major]), fmax(from_at[major], to_at[major]), limits[major]);
	const double half = 0.5 * job->side * fmax(1, job->options->height / 900.0);
	for (int k = steps.first; k <= steps.last; ++k) {
		const double part = (k + 0.5 - from_at[major]) / run;
		const double middle = from_at[!major] + part * (to_at[!major] - from_at[!major]);
		// Depths lie on a line as their inverses.
		const double depth = 1 / (1 / a.z + part * (1 / b.z - 1 / a.z));
		const cell_range width = cells_within(middle - half, middle + half, limits[!major]);
		for (int m = width.first; m <= width.last; ++m) {
			const int column = major ? m : k, row = major ? k : m;
			offer(&job->nearest[(size_t)row * (size_t)job->columns + (size_t)column], depth, AN_EDGE);
		}
	}
}

static carom_vec3 box_corner(const carom_aabb *box, int corner)
{
	return (carom_vec3){ corner & 1 ? box->upper.x : box->lower.x, corner & 2 ? box->upper.y : box->lower.y,
		corner & 4 ? box->upper.z : box->lower.z };
}

static void see_box(picture_job *job)
{
	const carom_aabb *box = &job->options->box;
	for (int corner = 0; corner < 8; ++corner) {
		for (int axis = 1; axis < 8; axis *= 2) {
			if (!(corner & axis))
				see_edge(job, box_corner(box, corner), box_corner(box, corner | axis));
		}
	}
}

// ---- The view of the sun ----

static void light_sphere(picture_job *job, int64_t i)
{
	const sun_map *map = &job->map;
	const carom_vec3 c = centre_of(job->cloud, i);
	const double r = radius_of(job->cloud, i) / map->cell;
	const double x = (sim_dot(c, map->across) - map->left) / map->cell, y = (sim_dot(c, map->along) - map->low) / map->cell;
	const double depth = map->top - sim_dot(c, map->sun);
	const cell_range across = cells_within(x - r, x + r, map->side), along = cells_within(y - r, y + r, map->side);
	for (int row = along.first; row <= along.last; ++row) {
		for (int column = across.first; column <= across.last; ++column) {
			const double dx = column + 0.5 - x, dy = row + 0.5 - y;
			const double inside = r * r - (dx * dx + dy * dy);
			if (inside < 0)
				continue;
			const unsigned key = bits_of_float((float)fmax(depth - map->cell * sqrt(inside), 0));
			atomic_uint *cell = &map->depths[(size_t)row * (size_t)map->side + (size_t)column];
			unsigned old = atomic_load_explicit(cell, memory_order_relaxed);
			while (key < old &&
				!atomic_compare_exchange_weak_explicit(cell, &old, key, memory_order_relaxed, memory_order_relaxed)) {
			}
		}
	}
}

static void light_piece(picture_job *job, int64_t piece)
{
	const int64_t end = (piece + 1) * PIECE < job->cloud->count ? (piece + 1) * PIECE : job->cloud->count;
	for (int64_t i = piece * PIECE; i < end; ++i)
		light_sphere(job, i);
}

static void clear_map_row(picture_job *job, int64_t row)
{
	for (int column = 0; column < job->map.side; ++column)
		atomic_store_explicit(
			&job->map.depths[(size_t)row * (size_t)job->map.side + (size_t)column], UINT_MAX, memory_order_relaxed);
}

/// Lay the map over a box, with cells about as fine as the samples.
static bool make_map(picture_job *job, const carom_aabb *bounds)
{
	sun_map *map = &job->map;
	map->sun = view_sun_direction(&job->view, job->options->sun);
	sim_tangents(map->sun, &map->across, &map->along);
	double high[3] = { -DBL_MAX, -DBL_MAX, -DBL_MAX };
	map->left = map->low = DBL_MAX;
	for (int corner = 0; corner < 8; ++corner) {
		const carom_vec3 p = box_corner(bounds, corner);
		map->left = fmin(map->left, sim_dot(p, map->across));
		map->low = fmin(map->low, sim_dot(p, map->along));
		high[0] = fmax(high[0], sim_dot(p, map->across));
		high[1] = fmax(high[1], sim_dot(p, map->along));
		high[2] = fmax(high[2], sim_dot(p, map->sun));
	}
	const int larger = job->columns > job->rows ? job->columns : job->rows;
	map->side = larger < 512 ? 512 : (larger < 4096 ? larger : 4096);
	map->top = high[2];
	map->cell = fmax(fmax(high[0] - map->left, high[1] - map->low), 1e-9 * job->view.distance) / map->side;
	map->depths = malloc((size_t)map->side * (size_t)map->side * sizeof *map->depths);
	return map->depths != NULL;
}

/// The part of the sun's light that reaches a point: of nine cells about it, those without a sphere
/// farther up.
static double lit_part(const sun_map *map, carom_vec3 point, carom_vec3 normal)
{
	// Lifted by more than the cells' width, so that a surface does not shade itself.
	const carom_vec3 p = sim_add(point, sim_scale(normal, 1.5 * map->cell));
	const double depth = map->top - sim_dot(p, map->sun) - 1.5 * map->cell;
	const int column = (int)floor(fmin(fmax((sim_dot(p, map->across) - map->left) / map->cell, -9), map->side + 9));
	const int row = (int)floor(fmin(fmax((sim_dot(p, map->along) - map->low) / map->cell, -9), map->side + 9));
	int lit = 0;
	for (int y = row - 1; y <= row + 1; ++y) {
		for (int x = column - 1; x <= column + 1; ++x) {
			if (x < 0 || y < 0 || x >= map->side || y >= map->side) {
				++lit;
				continue;
			}
			const unsigned bits =
				atomic_load_explicit(&map->depths[(size_t)y * (size_t)map->side + (size_t)x], memory_order_relaxed);
			lit += bits == UINT_MAX || (double)float_of_bits(bits) >= depth;
		}
	}
	return lit / 9.0;
}

// ---- Light ----

// The surface that a sample shows.
typedef struct sample {
	uint32_t index;
	double depth; // along the direction of forward part 1
} sample;

static sample sample_at(const picture_job *job, int column, int row)
{
	const unsigned long long key =
		atomic_load_explicit(&job->nearest[(size_t)row * (size_t)job->columns + (size_t)column], memory_order_relaxed);
	return (sample){ (uint32_t)key, (double)float_of_bits((uint32_t)(key >> 32)) };
}

/// How much of the sky the neighbourhood leaves to a point p (in the camera's frame) with normal n:
/// other samples' points in front of it take away, the more the nearer they are (reach is how far
/// that goes) and the more they stand above the surface.
static double open_part(const picture_job *job, int column, int row, camera_point p, camera_point n, double reach)
{
	const double *turn = job->turns[io_mix64((uint64_t)row << 32 | (uint64_t)column) % TURNS];
	const double radius = fmin(fmax(reach / (p.z * job->pitch), 3 * job->side), 64 * job->side);
	const double range = radius * p.z * job->pitch;
	double taken = 0;
	for (int k = 0; k < TAPS; ++k) {
		const double *tap = job->taps[k];
		const int x = column + (int)floor(radius * (tap[0] * turn[0] - tap[1] * turn[1]) + 0.5);
		const int y = row + (int)floor(radius * (tap[0] * turn[1] + tap[1] * turn[0]) + 0.5);
		if (x < 0 || y < 0 || x >= job->columns || y >= job->rows)
			continue;
		const sample other = sample_at(job, x, y);
		if (other.index == NO_THING || other.index == AN_EDGE)
			continue;
		const camera_point d = sample_direction(job, x, y);
		const camera_point v = { other.depth * d.x - p.x, other.depth * d.y - p.y, other.depth - p.z };
		const double square = v.x * v.x + v.y * v.y + v.z * v.z;
		const double above = v.x * n.x + v.y * n.y + v.z * n.z;
		if (above > 0)
			taken += fmax(above / sqrt(square) - 0.1, 0) / (1 + square / (range * range));
	}
	return fmax(1 - 2.2 * taken / TAPS, 0);
}

static void color_of_ramp(double part, double linear[3])
{
	static const double stops[5][3] = { { 44, 78, 134 }, { 62, 146, 168 }, { 150, 196, 140 }, { 244, 202, 110 },
		{ 222, 92, 66 } };
	const double place = 4 * fmin(fmax(part, 0), 1);
	const int stop = place < 3 ? (int)place : 3;
	for (int k = 0; k < 3; ++k)
		linear[k] = pow((stops[stop][k] + (place - stop) * (stops[stop + 1][k] - stops[stop][k])) / 255, 2.2);
}

static view_rgb ramp_rgb(double part)
{
	double c[3];
	color_of_ramp(part, c);
	return (view_rgb){ view_encode_gamma(c[0]), view_encode_gamma(c[1]), view_encode_gamma(c[2]) };
}

static double value_of(const picture_job *job, int64_t i)
{
	return job->options->color == SIM_COLOR_SPEED ? speed_of(job->cloud, i) : radius_of(job->cloud, i);
}

/// The number of groups that begin at or before an id; the id itself where there are no groups.
static uint32_t group_of(const view_sphere_picture_options *options, uint32_t id)
{
	int32_t low = 0, high = options->group_count;
	if (high == 0)
		return id;
	while (low < high) {
		const int32_t middle = low + (high - low) / 2;
		if (options->groups[middle] <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}

static void color_of_sphere(const picture_job *job, uint32_t index, double albedo[3])
{
	if (job->options->color != SIM_COLOR_ID) {
		const double range = job->highest - job->lowest;
		color_of_ramp(range > 0 ? (value_of(job, index) - job->lowest) / range : 0, albedo);
		return;
	}
	const float *color = job->id_colors[group_of(job->options, sim_cloud_id(job->cloud, index)) % ID_COLORS];
	for (int k = 0; k < 3; ++k)
		albedo[k] = color[k];
}

static view_color shade_sample(const picture_job *job, int column, int row)
{
	const view_frame *view = &job->view;
	const camera_point d = sample_direction(job, column, row);
	const carom_vec3 away = sim_subtract(to_world(view, d), view->position);
	const view_color sky = view_sky_color(view, sim_normalize(away));
	const sample s = sample_at(job, column, row);
	if (s.index == NO_THING)
		return sky;
	const double range = s.depth * sim_length(away) / job->fade;
	const double haze = exp(-range * range);
	if (s.index == AN_EDGE)
		return view_mix_colors(sky, (view_color){ 0.10, 0.12, 0.15 }, haze);
	const camera_point p = { s.depth * d.x, s.depth * d.y, s.depth };
	const carom_vec3 point = sim_add(view->position, sim_scale(away, s.depth));
	double albedo[3] = { 0.42, 0.42, 0.40 };
	carom_vec3 normal = view->up;
	double reach = job->reach;
	if (s.index == THE_GROUND) {
		const double slope = fmax(-sim_dot(sim_normalize(away), view->up), 1e-3);
		const double tone =
			1 + 0.09 * view_checker(point, view->up, job->checker_cell, s.depth * sim_length(away) * view->pixel / slope);
		for (int k = 0; k < 3; ++k)
			albedo[k] *= tone;
	} else {
		normal = sim_normalize(sim_subtract(point, centre_of(job->cloud, s.index)));
		color_of_sphere(job, s.index, albedo);
		reach = fmax(reach, 1.5 * radius_of(job->cloud, s.index));
	}
	const camera_point n = { sim_dot(normal, view->right), sim_dot(normal, view->down), sim_dot(normal, view->forward) };
	const double open = open_part(job, column, row, p, n, reach);
	const double cosine = fmax(sim_dot(normal, job->map.sun), 0);
	const double sun = cosine > 0 && job->cloud->count > 0 ? cosine * lit_part(&job->map, point, normal) : cosine;
	const view_color ambient = view_mix_colors(VIEW_BOUNCE, VIEW_SKYLIGHT, 0.5 + 0.5 * sim_dot(normal, view->up));
	const view_color lit = { albedo[0] * (open * ambient.r + sun * VIEW_SUNLIGHT.r),
		albedo[1] * (open * ambient.g + sun * VIEW_SUNLIGHT.g), albedo[2] * (open * ambient.b + sun * VIEW_SUNLIGHT.b) };
	return view_mix_colors(sky, lit, haze);
}

/// Do all samples of a pixel show the same thing?
static bool is_plain(const picture_job *job, int x, int y)
{
	const uint32_t first = sample_at(job, x * job->side, y * job->side).index;
	for (int i = 1; i < job->side * job->side; ++i) {
		if (sample_at(job, x * job->side + i % job->side, y * job->side + i / job->side).index != first)
			return false;
	}
	return true;
}

static void shade_pixel(picture_job *job, int x, int y)
{
	const int side = job->side, count = side * side;
	// Where nothing ends within the pixel, two opposite samples do.
	const int step = count > 2 && is_plain(job, x, y) ? count - 1 : 1;
	view_color sum = { 0, 0, 0 };
	int taken = 0;
	for (int i = 0; i < count; i += step, ++taken) {
		// Clamped before the mean: a bright sample must not hide the others.
		const view_color c = shade_sample(job, x * side + i % side, y * side + i / side);
		sum.r += fmin(c.r, 1);
		sum.g += fmin(c.g, 1);
		sum.b += fmin(c.b, 1);
	}
	uint8_t *pixel = view_image_pixel(job->image, x, y);
	pixel[0] = view_encode_gamma(sum.r / taken);
	pixel[1] = view_encode_gamma(sum.g / taken);
	pixel[2] = view_encode_gamma(sum.b / taken);
}

static void shade_row(picture_job *job, int64_t row)
{
	for (int x = 0; x < job->options->width; ++x)
		shade_pixel(job, x, (int)row);
}

// ---- The picture ----

view_sphere_picture_options view_default_sphere_picture(void)
{
	return (view_sphere_picture_options){ .width = 1280, .height = 720, .samples = 4 };
}

bool view_bounds_of_spheres(const sim_sphere_cloud *cloud, carom_aabb *box)
{
	double low[3] = { DBL_MAX, DBL_MAX, DBL_MAX }, high[3] = { -DBL_MAX, -DBL_MAX, -DBL_MAX };
	for (int64_t i = 0; i < cloud->count; ++i) {
		double c[3];
		const double r = radius_of(cloud, i);
		sim_cloud_read(&cloud->centres, 3, i, c);
		for (int k = 0; k < 3; ++k) {
			low[k] = c[k] - r < low[k] ? c[k] - r : low[k];
			high[k] = c[k] + r > high[k] ? c[k] + r : high[k];
		}
	}
	*box = (carom_aabb){ { low[0], low[1], low[2] }, { high[0], high[1], high[2] } };
	return cloud->count > 0;
}

static bool check_options(const sim_sphere_cloud *cloud, const view_sphere_picture_options *options, sim_error *error)
{
	const char *wrong = NULL;
	if (view_sample_side(options->samples) == 0)
		wrong = "samples must be 1, 4, 9 or 16";
	else if (options->threads < 0)
		wrong = "threads must not be negative";
	else if (options->group_count < 0)
		wrong = "group_count must not be negative";
	else if (!(options->lowest <= options->highest))
		wrong = "lowest must not be above highest";
	else if (options->color == SIM_COLOR_SPEED && !cloud->velocities.data && cloud->count > 0)
		wrong = "spheres without velocities cannot be coloured by speed";
	else if (cloud->count < 0 || cloud->count > (int64_t)AN_EDGE)
		wrong = "the count of spheres is negative, or too large for a picture";
	if (wrong)
		sim_fail(error, "%s", wrong);
	return !wrong;
}

static void choose_range(picture_job *job)
{
	const view_sphere_picture_options *options = job->options;
	job->lowest = options->lowest;
	job->highest = options->highest;
	if (options->color == SIM_COLOR_ID || options->lowest != 0 || options->highest != 0)
		return;
	job->lowest = options->color == SIM_COLOR_RADIUS && job->cloud->count > 0 ? DBL_MAX : 0;
	for (int64_t i = 0; i < job->cloud->count; ++i) {
		const double value = value_of(job, i);
		job->lowest = value < job->lowest ? value : job->lowest;
		job->highest = value > job->highest ? value : job->highest;
	}
}

/// A spiral by the golden angle, denser towards its middle.
static void make_tables(picture_job *job)
{
	for (int k = 0; k < TAPS; ++k) {
		const double radius = pow((k + 0.5) / TAPS, 0.75), angle = 2.399963229728653 * k;
		job->taps[k][0] = radius * cos(angle);
		job->taps[k][1] = radius * sin(angle);
	}
	for (int k = 0; k < TURNS; ++k) {
		job->turns[k][0] = cos(2 * acos(-1) * k / TURNS);
		job->turns[k][1] = sin(2 * acos(-1) * k / TURNS);
	}
	for (int i = 0; i < ID_COLORS; ++i)
		memcpy(job->id_colors[i], view_make_look(CAROM_MESH, CAROM_DYNAMIC, i).color, sizeof job->id_colors[i]);
}

/// Sizes and tables; false when memory is short.
static bool prepare(picture_job *job)
{
	const view_sphere_picture_options *options = job->options;
	job->side = view_sample_side(options->samples);
	job->columns = options->width * job->side;
	job->rows = options->height * job->side;
	job->pitch = job->view.pixel / job->side;
	job->centre[0] = 0.5 * job->columns;
	job->centre[1] = 0.5 * job->rows;
	job->checker_cell = view_checker_cell(&job->view);
	job->fade = 5 * job->view.distance;
	job->reach = 0.02 * job->view.distance;
	choose_range(job);
	make_tables(job);
	carom_aabb bounds = { job->view.position, job->view.position };
	view_bounds_of_spheres(job->cloud, &bounds);
	job->nearest = malloc((size_t)job->columns * (size_t)job->rows * sizeof *job->nearest);
	return job->nearest && make_map(job, &bounds);
}

static void draw_all(picture_job *job)
{
	const int64_t pieces = (job->cloud->count + PIECE - 1) / PIECE;
	run_pass(job, clear_row, job->rows);
	if (job->options->draw_box)
		see_box(job);
	run_pass(job, see_piece, pieces);
	run_pass(job, clear_map_row, job->map.side);
	run_pass(job, light_piece, pieces);
	run_pass(job, shade_row, job->options->height);
}

static void draw_band(const picture_job *job)
{
	const view_sphere_picture_options *options = job->options;
	if (options->caption || options->color != SIM_COLOR_ID)
		view_draw_caption(job->image, options->caption);
	char label[48];
	snprintf(label, sizeof label, "%s %.2g", options->color == SIM_COLOR_SPEED ? "SPEED" : "RADIUS", job->lowest);
	if (options->color != SIM_COLOR_ID)
		view_draw_color_scale(job->image, label, job->highest, ramp_rgb);
}

bool view_draw_spheres(const sim_sphere_cloud *cloud, const view_camera *camera, const view_sphere_picture_options *options,
	view_image *image, sim_error *error)
{
	*image = (view_image){ 0 };
	picture_job job = { .cloud = cloud, .options = options, .image = image };
	if (!check_options(cloud, options, error))
		return false;
	if (!view_make_frame(camera, options->width, options->height, &job.view, error) ||
		!view_create_image(options->width, options->height, image, error))
		return false;
	const bool ready = prepare(&job);
	if (ready) {
		job.workers = view_create_workers(options->threads);
		draw_all(&job);
		carom_destroy_context(job.workers);
		draw_band(&job);
	} else {
		sim_fail(error, "out of memory");
		view_destroy_image(image);
	}
	free(job.nearest);
	free(job.map.depths);
	return ready;
}
