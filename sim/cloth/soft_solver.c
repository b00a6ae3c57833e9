// The solver: extended position based dynamics in small steps (Macklin et al. 2016, 2019). In each
// substep all constraints are visited in order and then back again, each from the places that the
// one before left. Visited one way only, they carry errors along: with velocities taken from places
// that made a sheet of 45,000 triangles that fell freely shake itself to pieces (errors grew 1.25
// times a substep). There and back the map of errors is symmetric, with eigenvalues g from 0 to 1,
// and a substep multiplies errors by sqrt(g) in size: they cannot grow.
#include "sim/cloth/soft_state.h"

#include <string.h>

/// Pull the ends of an edge together, or apart.
static void solve_edge(soft_edge *edge, const double *inverse_mass, double *place, double square)
{
	double *a = place + 3 * (int64_t)edge->a, *b = place + 3 * (int64_t)edge->b;
	const double wa = inverse_mass[edge->a], wb = inverse_mass[edge->b], sum = wa + wb;
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
	const double length = sqrt(soft_dot(d, d));
	if (sum == 0 || length == 0)
		return;
	const double soft = edge->compliance * square;
	const double more = (length - edge->length - soft * edge->force) / (sum + soft), push = more / length;
	edge->force += more;
	for (int k = 0; k < 3; k++) {
		a[k] -= wa * push * d[k];
		b[k] += wb * push * d[k];
	}
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
		for (int k = 0; k < 3; k++)
			p[k] -= share * bend[k];
	}
}

static void cross(const double a[3], const double b[3], double c[3])
{
	c[0] = a[1] * b[2] - a[2] * b[1];
	c[1] = a[2] * b[0] - a[0] * b[2];
	c[2] = a[0] * b[1] - a[1] * b[0];
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
			cross(p[(i + 1) % 3], p[(i + 2) % 3], c);
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
	double *gradient = s->zone_sum, sum = 0;
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

/// Fall freely; carried vertices go their way.
static void predict(const sim_soft *s, double h, double progress)
{
	memcpy(s->before, s->place, (size_t)s->vertex_count * 3 * sizeof *s->before);
	for (int32_t i = 0; i < s->vertex_count; i++) {
		double *x = s->place + 3 * (int64_t)i, *v = s->velocity + 3 * (int64_t)i;
		const double *from = s->begin + 3 * (int64_t)i, *to = s->carried + 3 * (int64_t)i;
		const bool is_free = s->carrier[i] == SIM_SOFT_FREE;
		for (int k = 0; k < 3; k++) {
			v[k] += is_free ? h * s->def.gravity[k] : 0;
			x[k] = is_free ? x[k] + h * v[k] : from[k] + progress * (to[k] - from[k]);
		}
	}
}

static void take_velocities(const sim_soft *s, double h)
{
	const double rate = 1 / h, kept = 1 / (1 + h * s->def.damping);
	for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count; i++)
		s->velocity[i] = (s->place[i] - s->before[i]) * rate * (s->carrier[i / 3] == SIM_SOFT_FREE ? kept : 1);
}

/// There and back.
static void solve_shapes(sim_soft *s, double square)
{
	for (int64_t i = 0; i < s->edge_count; i++) {
		s->edges[i].force = 0;
		solve_edge(&s->edges[i], s->inverse_mass, s->place, square);
	}
	for (int64_t i = 0; i < s->hinge_count; i++) {
		s->hinges[i].force = 0;
		solve_hinge(&s->hinges[i], s->inverse_mass, s->place, square);
	}
	for (int32_t i = 0; i < s->part_count; i++) {
		if (s->parts[i].compliance > 0)
			solve_volume(s, &s->parts[i], square);
	}
	for (int64_t i = s->hinge_count; i-- > 0;)
		solve_hinge(&s->hinges[i], s->inverse_mass, s->place, square);
	for (int64_t i = s->edge_count; i-- > 0;)
		solve_edge(&s->edges[i], s->inverse_mass, s->place, square);
}

void soft_solve(sim_soft *s, double duration, int32_t substeps)
{
	const double h = duration / substeps, square = 1 / (h * h);
	const size_t bytes = (size_t)s->vertex_count * 3 * sizeof *s->place;
	memcpy(s->place, s->begin, bytes);
	memcpy(s->velocity, s->begin_velocity, bytes);
	for (int32_t step = 0; step < substeps; step++) {
		const double progress = step + 1 < substeps ? (step + 1.0) / substeps : 1;
		predict(s, h, progress);
		solve_shapes(s, square);
		soft_push_contacts(s, progress);
		take_velocities(s, h);
		soft_damp_contacts(s);
	}
}
