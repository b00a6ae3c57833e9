// The solver: extended position based dynamics in small steps (Macklin et al. 2016, 2019). In each
// substep all constraints are visited in order and then back again, each from the places that the
// one before left. Visited one way only, they carry errors along: with velocities taken from places
// that made a sheet of 45,000 triangles that fell freely shake itself to pieces (errors grew 1.25
// times a substep). There and back the map of errors is symmetric, with eigenvalues g from 0 to 1,
// and a substep multiplies errors by sqrt(g) in size: they cannot grow.
#include "sim/cloth/soft_colors.h"
#include "sim/cloth/soft_regions.h"

#include <string.h>

// Vertices of inverse mass 0 are shared by constraints of one colour, so nobody writes to them.

/// Pull the ends of an edge together, or apart.
static void solve_edge(soft_edge *edge, const double *inverse_mass, double *place, double square)
{
	double *a = place + 3 * (int64_t)edge->vertices[0], *b = place + 3 * (int64_t)edge->vertices[1];
	const double wa = inverse_mass[edge->vertices[0]], wb = inverse_mass[edge->vertices[1]], sum = wa + wb;
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
	const double length = sqrt(soft_dot(d, d));
	if (sum == 0 || length == 0)
		return;
	const double soft = edge->compliance * square;
	const double more = (length - edge->length - soft * edge->force) / (sum + soft), push = more / length;
	edge->force += more;
	for (int k = 0; k < 3 && wa > 0; k++)
		a[k] -= wa * push * d[k];
	for (int k = 0; k < 3 && wb > 0; k++)
		b[k] += wb * push * d[k];
}

/// Make the sum of weight * place as long as at rest. Its gradients are the weights along its
/// direction.
static void solve_hinge(soft_hinge *hinge, const double *inverse_mass, double *place, double square)
{
	double bend[3] = { 0, 0, 0 }, sum = 0;
	for (int i = 0; i < 4; i++) {
		const double *p = place + 3 * (int64_t)hinge->vertices[i];
		for (int k = 0; k < 3; k++)
			bend[k] += hinge->weight[i] * p[k];
		sum += hinge->weight[i] * hinge->weight[i] * inverse_mass[hinge->vertices[i]];
	}
	const double length = sqrt(soft_dot(bend, bend));
	if (sum == 0 || length == 0)
		return;
	const double soft = hinge->compliance * square;
	const double more = (length - hinge->rest - soft * hinge->force) / (sum + soft), push = more / length;
	hinge->force += more;
	for (int i = 0; i < 4; i++) {
		double *p = place + 3 * (int64_t)hinge->vertices[i];
		const double share = push * hinge->weight[i] * inverse_mass[hinge->vertices[i]];
		for (int k = 0; k < 3 && share != 0; k++)
			p[k] -= share * bend[k];
	}
}

/// Six times the volume; gradients (six times too) are added up in zone_sum, which only zones need
/// otherwise.
static double volume_gradients(const sim_soft *s, const soft_part *part, double *gradient)
{
	double six = 0;
	// near, for the sake of rounding
	const double *origin = s->place + 3 * (int64_t)part->first_vertex;
	memset(gradient, 0, (size_t)part->vertex_count * 3 * sizeof *gradient);
	for (int32_t t = part->first_triangle; t < part->first_triangle + part->triangle_count; t++) {
		const int32_t *v = s->triangles + 3 * (int64_t)t;
		double p[3][3], c[3];
		for (int i = 0; i < 3; i++) {
			for (int k = 0; k < 3; k++)
				p[i][k] = s->place[3 * (int64_t)v[i] + k] - origin[k];
		}
		for (int i = 0; i < 3; i++) {
			soft_cross(p[(i + 1) % 3], p[(i + 2) % 3], c);
			double *g = gradient + 3 * (int64_t)(v[i] - part->first_vertex);
			for (int k = 0; k < 3; k++)
				g[k] += c[k];
		}
		six += soft_dot(p[2], c);
	}
	return six;
}

static void solve_volume(const sim_soft *s, const soft_part *part, double square)
{
	double *gradient = s->zone_sum + 3 * (int64_t)part->first_vertex, sum = 0;
	const double excess = volume_gradients(s, part, gradient) / 6 - part->volume;
	for (int32_t i = 0; i < part->vertex_count; i++)
		sum += s->inverse_mass[part->first_vertex + i] * soft_dot(gradient + 3 * (int64_t)i, gradient + 3 * (int64_t)i) / 36;
	if (sum == 0)
		return;
	const double push = excess / (6 * (sum + part->compliance * square));
	for (int32_t i = 0; i < part->vertex_count; i++) {
		for (int k = 0; k < 3; k++)
			s->place[3 * (int64_t)(part->first_vertex + i) + k] -=
				s->inverse_mass[part->first_vertex + i] * push * gradient[3 * (int64_t)i + k];
	}
}

// ---- In parallel ----

// Vertices worth handing out.
enum {
	MIN_VERTICES = 2048,
	PUSHES = 15, // further ones where there are solids, which take a part of each
};

typedef struct substep {
	sim_soft *soft;
	double length;   // seconds
	double square;   // 1 / length^2
	double progress; // of the step at the end of the substep, from 0 to 1
} substep;

static void solve_edges(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	sim_soft *s = visit->soft;
	const substep *step = visit->task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		soft_edge *edge = &s->edges[soft_position(visit, begin, end, i)];
		edge->force = visit->back ? edge->force : 0;
		solve_edge(edge, s->inverse_mass, s->place, step->square);
	}
}

static void solve_hinges(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	sim_soft *s = visit->soft;
	const substep *step = visit->task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		soft_hinge *hinge = &s->hinges[soft_position(visit, begin, end, i)];
		hinge->force = visit->back ? hinge->force : 0;
		solve_hinge(hinge, s->inverse_mass, s->place, step->square);
	}
}

/// Regions of a body one after the other, and between there and back its volume.
static void solve_solids(int64_t begin, int64_t end, int worker, void *task)
{
	const substep *step = task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		soft_solve_regions(step->soft, (int32_t)i, step->square, false);
		if (step->soft->parts[i].compliance > 0)
			solve_volume(step->soft, &step->soft->parts[i], step->square);
		soft_solve_regions(step->soft, (int32_t)i, step->square, true);
	}
}

/// Vertices fall freely, and carried vertices go their way.
static void predict(int64_t begin, int64_t end, int worker, void *task)
{
	const substep *step = task;
	const sim_soft *s = step->soft;
	(void)worker;
	memcpy(s->before + 3 * begin, s->place + 3 * begin, (size_t)(end - begin) * 3 * sizeof *s->before);
	for (int64_t i = begin; i < end; i++) {
		double *x = s->place + 3 * i, *v = s->velocity + 3 * i;
		const double *from = s->begin + 3 * i, *to = s->carried + 3 * i;
		const bool is_free = s->carrier[i] == SIM_SOFT_FREE;
		for (int k = 0; k < 3; k++) {
			v[k] += is_free ? step->length * s->def.gravity[k] : 0;
			x[k] = is_free ? x[k] + step->length * v[k] : from[k] + step->progress * (to[k] - from[k]);
		}
	}
}

static void take_velocities(int64_t begin, int64_t end, int worker, void *task)
{
	const substep *step = task;
	const sim_soft *s = step->soft;
	const double rate = 1 / step->length, kept = 1 / (1 + step->length * s->def.damping);
	(void)worker;
	for (int64_t i = 3 * begin; i < 3 * end; i++)
		s->velocity[i] = (s->place[i] - s->before[i]) * rate * (s->carrier[i / 3] == SIM_SOFT_FREE ? kept : 1);
}

/// Visit all constraints there and back.
static void solve_shapes(substep *step)
{
	sim_soft *s = step->soft;
	soft_visit edges = { .soft = s, .colors = &s->edge_colors, .run = solve_edges, .task = step };
	soft_visit hinges = { .soft = s, .colors = &s->hinge_colors, .run = solve_hinges, .task = step };
	soft_run_visit(&edges);
	soft_run_visit(&hinges);
	carom_parallel_for(s->context, solve_solids, s->part_count, 1, step);
	edges.back = hinges.back = true;
	soft_run_visit(&hinges);
	soft_run_visit(&edges);
}

void soft_hold_shapes(sim_soft *s, double duration)
{
	substep step = { s, duration, 1 / (duration * duration), 1 };
	solve_shapes(&step);
}

void soft_solve(sim_soft *s, double time, double duration, int32_t substeps)
{
	const double h = duration / substeps;
	const size_t bytes = (size_t)s->vertex_count * 3 * sizeof *s->place;
	memcpy(s->place, s->begin, bytes);
	memcpy(s->velocity, s->begin_velocity, bytes);
	soft_clear_impulses(s);
	soft_clear_pulls(s);
	soft_start_spheres(s);
	soft_start_solids(s);
	for (int32_t i = 0; i < substeps; i++) {
		substep step = { s, h, 1 / (h * h), i + 1 < substeps ? (i + 1.0) / substeps : 1 };
		soft_blow(s, time + (i + 1) * h, h);
		carom_parallel_for(s->context, predict, s->vertex_count, MIN_VERTICES, &step);
		soft_predict_spheres(s, h);
		soft_predict_solids(s, h);
		soft_limit_levels(s, h);
		solve_shapes(&step);
		soft_add_pulls(s, h);
		soft_push_contacts(s, step.progress, h, false);
		soft_push_spheres(s, step.progress, false);
		soft_push_solids(s, h);
		for (int again = 0; again < PUSHES && s->solid_count > 0; again++) {
			soft_push_contacts(s, step.progress, h, true);
			soft_push_spheres(s, step.progress, true);
			soft_push_solids(s, h);
		}
		carom_parallel_for(s->context, take_velocities, s->vertex_count, MIN_VERTICES, &step);
		soft_take_sphere_velocities(s, h);
		soft_take_solid_velocities(s, h);
		soft_damp_contacts(s);
		soft_damp_spheres(s);
		soft_damp_solids(s);
	}
}
