// Surfaces by formula: see form.h.
#include "sim/shapes/form.h"

#include "sim/base/rotations.h"
#include "sim/base/vectors.h"

#include <math.h>
#include <stdlib.h>

// ---- Sizes ----

// Rows and columns of the surface: at least so many that the surface keeps its form.
typedef struct form_grid {
	int32_t around, rows;
} form_grid;

static int32_t scaled(int32_t divisions, double resolution, int32_t least)
{
	const double wanted = floor(divisions * resolution + 0.5);
	return wanted > least ? (int32_t)wanted : least;
}

static form_grid grid_of(const sim_form *form, double resolution)
{
	const bool two = form->kind == SIM_FORM_CONE || form->kind == SIM_FORM_ROPE;
	const int32_t around = form->kind == SIM_FORM_SHEET ? 1 : 3, rows = two ? 2 : 1;
	return (form_grid){ scaled(form->divisions[0], resolution, around), scaled(form->divisions[1], resolution, rows) };
}

/// Up to 10^12 at the highest resolution of a scene.
static int64_t lone_triangles(const sim_form *form, double resolution)
{
	const double wanted = floor(form->count * (resolution * resolution) + 0.5);
	return wanted > 1 ? (int64_t)wanted : 1;
}

int64_t sim_form_triangles(const sim_form *form, double resolution)
{
	const form_grid grid = grid_of(form, resolution);
	const int64_t squares = (int64_t)grid.around * grid.rows;
	switch (form->kind) {
	case SIM_FORM_TRIANGLES: return lone_triangles(form, resolution);
	case SIM_FORM_BOWL: return 2 * squares - grid.around;
	default: return 2 * squares;
	}
}

// ---- Building blocks ----

// A mesh being made.
typedef struct maker {
	sim_form_mesh *mesh;
	int32_t vertices, triangles; // so far
} maker;

static void add_vertex(maker *m, double x, double y, double z)
{
	double *v = m->mesh->places + 3 * (int64_t)m->vertices++;
	v[0] = x;
	v[1] = y;
	v[2] = z;
}

static void add_triangle(maker *m, int32_t a, int32_t b, int32_t c)
{
	int32_t *t = m->mesh->triangles + 3 * (int64_t)m->triangles++;
	t[0] = a;
	t[1] = b;
	t[2] = c;
}

static bool begin(maker *m, sim_form_mesh *mesh, int64_t vertices, int64_t triangles)
{
	*mesh = (sim_form_mesh){ .vertex_count = (int32_t)vertices, .triangle_count = (int32_t)triangles };
	*m = (maker){ .mesh = mesh };
	mesh->places = malloc((size_t)vertices * 3 * sizeof *mesh->places);
	mesh->triangles = malloc((size_t)triangles * 3 * sizeof *mesh->triangles);
	if (!mesh->places || !mesh->triangles)
		sim_free_form_mesh(mesh);
	return mesh->places != NULL;
}

/// Two triangles of the square between row and row + 1, column and next, with diagonals that take
/// turns, so that the surface is as stiff one way as the other.
static void add_square(maker *m, int32_t a, int32_t b, int32_t c, int32_t d, bool turned)
{
	if (turned) {
		add_triangle(m, a, b, d);
		add_triangle(m, a, d, c);
	} else {
		add_triangle(m, a, b, c);
		add_triangle(m, b, d, c);
	}
}

static void add_ring(maker *m, int32_t around, double radius, double y)
{
	for (int32_t i = 0; i < around; i++) {
		const double angle = 2 * SIM_PI * i / around;
		add_vertex(m, radius * sim_cosine(angle), y, radius * sim_sine(angle));
	}
}

/// The band between two rings that begin at the vertices upper and lower, seen from outside.
static void add_band(maker *m, int32_t around, int32_t upper, int32_t lower, int32_t row)
{
	for (int32_t i = 0; i < around; i++) {
		const int32_t next = (i + 1) % around;
		add_square(m, upper + i, upper + next, lower + i, lower + next, (i + row) % 2);
	}
}

// ---- Sheet, skirt ----

static bool make_sheet(const sim_form *form, form_grid grid, sim_form_mesh *mesh)
{
	maker m;
	const int32_t width = grid.around + 1;
	if (!begin(&m, mesh, (int64_t)width * (grid.rows + 1), 2 * (int64_t)grid.around * grid.rows))
		return false;
	for (int32_t j = 0; j <= grid.rows; j++) {
		for (int32_t i = 0; i <= grid.around; i++)
			add_vertex(&m, form->size[0] * ((double)i / grid.around - 0.5), 0, form->size[2] * ((double)j / grid.rows - 0.5));
	}
	for (int32_t j = 0; j < grid.rows; j++) {
		for (int32_t i = 0; i < grid.around; i++) {
			const int32_t a = j * width + i;
			add_square(&m, a, a + width, a + 1, a + width + 1, (i + j) % 2);
		}
	}
	return true;
}

static bool make_skirt(const sim_form *form, form_grid grid, sim_form_mesh *mesh)
{
	maker m;
	if (!begin(&m, mesh, (int64_t)grid.around * (grid.rows + 1), 2 * (int64_t)grid.around * grid.rows))
		return false;
	for (int32_t j = 0; j <= grid.rows; j++) {
		for (int32_t i = 0; i < grid.around; i++) {
			const double down = (double)j / grid.rows, angle = 2 * SIM_PI * i / grid.around;
			const double fold = form->fold_depth * down * sim_cosine(form->folds * angle);
			const double r = form->radius + (form->hem_radius - form->radius) * down + fold;
			add_vertex(&m, r * sim_cosine(angle), -form->length * down, r * sim_sine(angle));
		}
	}
	for (int32_t j = 0; j < grid.rows; j++)
		add_band(&m, grid.around, j * grid.around, (j + 1) * grid.around, j);
	return true;
}

// ---- Surfaces turned on a lathe ----

typedef struct profile_point {
	double r, y;
} profile_point;

/// From the upper pole (part 0) to the lower one (part 1), by length.
static profile_point sphere_profile(const sim_form *form, double part)
{
	return (profile_point){ form->radius * sim_sine(SIM_PI * part), form->radius * sim_cosine(SIM_PI * part) };
}

static profile_point capsule_profile(const sim_form *form, double part)
{
	const double r = form->radius, quarter = 0.5 * SIM_PI * r, side = form->length - 2 * r;
	const double along = part * (2 * quarter + side);
	if (along < quarter)
		return (profile_point){ r * sim_sine(along / r), r * sim_cosine(along / r) - r };
	if (along <= quarter + side)
		return (profile_point){ r, -r - (along - quarter) };
	const double angle = 0.5 * SIM_PI + (along - quarter - side) / r;
	return (profile_point){ r * sim_sine(angle), r * sim_cosine(angle) - form->length + r };
}

/// The edge of the base lies on a ring.
static profile_point cone_ring(const sim_form *form, int32_t ring, int32_t rings)
{
	const double side = sqrt(form->radius * form->radius + form->length * form->length);
	int32_t edge = (int32_t)floor((rings + 1) * side / (side + form->radius) + 0.5) - 1;
	edge = edge < 0 ? 0 : (edge > rings - 1 ? rings - 1 : edge);
	if (ring <= edge) {
		const double down = (double)(ring + 1) / (edge + 1);
		return (profile_point){ form->radius * down, form->length * (1 - down) };
	}
	return (profile_point){ form->radius * (rings - ring) / (rings - edge), 0 };
}

static profile_point ring_of(const sim_form *form, int32_t ring, int32_t rings)
{
	const double part = (ring + 1.0) / (rings + 1.0);
	switch (form->kind) {
	case SIM_FORM_CONE: return cone_ring(form, ring, rings);
	case SIM_FORM_CAPSULE: return capsule_profile(form, part);
	default: return sphere_profile(form, part);
	}
}

/// The pole of the first ring, which comes next.
static void add_upper_pole(maker *m, int32_t around, carom_vec3 p)
{
	add_vertex(m, p.x, p.y, p.z);
	for (int32_t i = 0; i < around; i++)
		add_triangle(m, 0, 1 + (i + 1) % around, 1 + i);
}

/// The pole of the last ring.
static void add_lower_pole(maker *m, int32_t around, carom_vec3 p)
{
	const int32_t pole = m->vertices;
	add_vertex(m, p.x, p.y, p.z);
	for (int32_t i = 0; i < around; i++)
		add_triangle(m, pole, pole - around + i, pole - around + (i + 1) % around);
}

static bool make_turned(const sim_form *form, form_grid grid, sim_form_mesh *mesh)
{
	maker m;
	const double top = form->kind == SIM_FORM_CONE ? form->length : (form->kind == SIM_FORM_SPHERE ? form->radius : 0);
	const double bottom = form->kind == SIM_FORM_SPHERE ? -form->radius : (form->kind == SIM_FORM_CAPSULE ? -form->length : 0);
	if (!begin(&m, mesh, (int64_t)grid.around * grid.rows + 2, 2 * (int64_t)grid.around * grid.rows))
		return false;
	mesh->closed = true;
	add_upper_pole(&m, grid.around, (carom_vec3){ 0, top, 0 });
	for (int32_t j = 0; j < grid.rows; j++) {
		const profile_point p = ring_of(form, j, grid.rows);
		add_ring(&m, grid.around, p.r, p.y);
		if (j > 0)
			add_band(&m, grid.around, 1 + (j - 1) * grid.around, 1 + j * grid.around, j);
	}
	add_lower_pole(&m, grid.around, (carom_vec3){ 0, bottom, 0 });
	return true;
}

/// A paraboloid, from its rim down. Its outside is where things lie.
static bool make_bowl(const sim_form *form, form_grid grid, sim_form_mesh *mesh)
{
	maker m;
	if (!begin(&m, mesh, (int64_t)grid.around * grid.rows + 1, 2 * (int64_t)grid.around * grid.rows - grid.around))
		return false;
	for (int32_t j = 0; j < grid.rows; j++) {
		const double out = (double)(grid.rows - j) / grid.rows;
		add_ring(&m, grid.around, form->radius * out, form->length * out * out);
		if (j > 0)
			add_band(&m, grid.around, (j - 1) * grid.around, j * grid.around, j);
	}
	add_lower_pole(&m, grid.around, (carom_vec3){ 0, 0, 0 });
	for (int64_t t = 0; t < mesh->triangle_count; t++) {
		int32_t *v = mesh->triangles + 3 * t;
		const int32_t second = v[1];
		v[1] = v[2];
		v[2] = second;
	}
	return true;
}

// ---- Ropes ----

enum { CHORDS = 32 }; // of the curve between two points, by which its length is measured

/// A place on the curve through the points (Catmull and Rom 1974), so many chords from its start.
static carom_vec3 rope_point(const sim_form *form, int64_t chord)
{
	const int32_t last = form->point_count - 1, i = chord / CHORDS < last ? (int32_t)(chord / CHORDS) : last - 1;
	const double t = (double)(chord - (int64_t)i * CHORDS) / CHORDS, *at = form->points + 3 * (int64_t)i;
	double p[3];
	for (int k = 0; k < 3; k++) {
		const double b = at[k], c = at[3 + k], a = i > 0 ? at[k - 3] : 2 * b - c, d = i + 1 < last ? at[6 + k] : 2 * c - b;
		p[k] = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * (t * t) + (3 * b - a - 3 * c + d) * (t * t * t));
	}
	return (carom_vec3){ p[0], p[1], p[2] };
}

/// A walk along the curve: the chord in work, and its length from the start of the curve.
typedef struct rope_walk {
	const sim_form *form;
	int64_t chord, chords;
	carom_vec3 from, to;
	double begin, end;
} rope_walk;

static bool next_chord(rope_walk *w)
{
	if (w->chord >= w->chords)
		return false;
	w->from = w->chord > 0 ? w->to : rope_point(w->form, 0);
	w->to = rope_point(w->form, ++w->chord);
	w->begin = w->end;
	w->end += sim_length(sim_subtract(w->to, w->from));
	return true;
}

static rope_walk begin_walk(const sim_form *form)
{
	return (rope_walk){ .form = form, .chords = (int64_t)(form->point_count - 1) * CHORDS };
}

static double rope_length(const sim_form *form)
{
	rope_walk w = begin_walk(form);
	while (next_chord(&w))
		continue;
	return w.end;
}

/// The part of a vector across a unit vector, scaled to length 1; any vector across it where there
/// is hardly one.
static carom_vec3 across(carom_vec3 v, carom_vec3 along)
{
	const carom_vec3 axes[2] = { { 1, 0, 0 }, { 0, 1, 0 } };
	carom_vec3 part = sim_subtract(v, sim_scale(along, sim_dot(v, along)));
	for (int i = 0; i < 2 && !(sim_dot(part, part) > 1e-4); i++)
		part = sim_subtract(axes[i], sim_scale(along, sim_dot(axes[i], along)));
	return sim_normalize(part);
}

static bool make_rope(const sim_form *form, form_grid grid, sim_form_mesh *mesh)
{
	maker m;
	if (!begin(&m, mesh, (int64_t)grid.around * grid.rows + 2, 2 * (int64_t)grid.around * grid.rows))
		return false;
	mesh->closed = true;
	const double length = rope_length(form);
	rope_walk w = begin_walk(form);
	next_chord(&w);
	carom_vec3 along = sim_normalize(sim_subtract(w.to, w.from)), side = { 0, 0, 1 }, place = w.from;
	add_upper_pole(&m, grid.around, sim_subtract(place, sim_scale(along, 0.5 * form->radius)));
	for (int32_t j = 0; j < grid.rows; j++) {
		const double way = length * j / (grid.rows - 1);
		while (w.end < way && next_chord(&w))
			continue;
		along = sim_normalize(sim_subtract(w.to, w.from));
		place = sim_add(w.from, sim_scale(along, fmin(way, w.end) - w.begin));
		side = across(side, along);
		const carom_vec3 other = sim_cross(along, side);
		for (int32_t i = 0; i < grid.around; i++) {
			const double angle = 2 * SIM_PI * i / grid.around;
			const carom_vec3 out = sim_add(sim_scale(side, sim_cosine(angle)), sim_scale(other, sim_sine(angle)));
			const carom_vec3 p = sim_add(place, sim_scale(out, form->radius));
			add_vertex(&m, p.x, p.y, p.z);
		}
		if (j > 0)
			add_band(&m, grid.around, 1 + (j - 1) * grid.around, 1 + j * grid.around, j);
	}
	add_lower_pole(&m, grid.around, sim_add(place, sim_scale(along, 0.5 * form->radius)));
	return true;
}

// ---- Lone triangles ----

/// Each in a cell of its own, so that no two meet.
static bool make_triangles(const sim_form *form, double resolution, sim_form_mesh *mesh)
{
	maker m;
	const int32_t count = (int32_t)lone_triangles(form, resolution);
	if (!begin(&m, mesh, 3 * (int64_t)count, count))
		return false;
	int32_t cells[3];
	double side = fmax(form->size[0], fmax(form->size[1], form->size[2]));
	do {
		side *= 0.99;
		for (int k = 0; k < 3; k++)
			cells[k] = form->size[k] > side ? (int32_t)(form->size[k] / side) : 1;
	} while ((int64_t)cells[0] * cells[1] * cells[2] < count);
	double pitch[3], room = INFINITY;
	for (int k = 0; k < 3; k++) {
		pitch[k] = form->size[k] / cells[k];
		room = fmin(room, 0.5 * pitch[k]);
	}
	const double radius = fmin(form->radius, 0.9 * room);
	uint64_t state = form->seed;
	for (int32_t i = 0; i < count; i++) {
		const int32_t cell[3] = { i % cells[0], i / cells[0] / cells[2], i / cells[0] % cells[2] };
		double centre[3];
		for (int k = 0; k < 3; k++)
			centre[k] = pitch[k] * (cell[k] + 0.5) - 0.5 * form->size[k] + (0.95 * room - radius) * sim_random_unit(&state);
		const carom_quat turn = sim_unit_quat(sim_random_rotation(&state, SIM_PI));
		for (int corner = 0; corner < 3; corner++) {
			const double angle = 2 * SIM_PI * corner / 3 + 0.5 * sim_random_unit(&state);
			const carom_vec3 p = carom_rotate(turn, (carom_vec3){ radius * sim_cosine(angle), radius * sim_sine(angle), 0 });
			add_vertex(&m, centre[0] + p.x, centre[1] + p.y, centre[2] + p.z);
		}
		add_triangle(&m, 3 * i, 3 * i + 1, 3 * i + 2);
	}
	return true;
}

bool sim_make_form(const sim_form *form, double resolution, sim_form_mesh *mesh)
{
	const form_grid grid = grid_of(form, resolution);
	switch (form->kind) {
	case SIM_FORM_SHEET: return make_sheet(form, grid, mesh);
	case SIM_FORM_SKIRT: return make_skirt(form, grid, mesh);
	case SIM_FORM_BOWL: return make_bowl(form, grid, mesh);
	case SIM_FORM_ROPE: return make_rope(form, grid, mesh);
	case SIM_FORM_TRIANGLES: return make_triangles(form, resolution, mesh);
	default: return make_turned(form, grid, mesh);
	}
}

void sim_free_form_mesh(sim_form_mesh *mesh)
{
	free(mesh->places);
	free(mesh->triangles);
	*mesh = (sim_form_mesh){ 0 };
}
