// Edges and hinges of a surface, with their constraints; masses, volumes.
#include "sim/cloth/soft_topology.h"

#include <stdlib.h>
#include <string.h>

// An edge as a triangle has it.
typedef struct half_edge {
	int32_t low, high; // vertices
	int32_t opposite, triangle;
	bool turned; // runs from high to low
} half_edge;

static int compare(const void *a, const void *b)
{
	const half_edge *p = a, *q = b;
	if (p->low != q->low)
		return p->low < q->low ? -1 : 1;
	if (p->high != q->high)
		return p->high < q->high ? -1 : 1;
	return (p->triangle > q->triangle) - (p->triangle < q->triangle);
}

static void list_half_edges(const sim_soft *s, const soft_part *part, half_edge *list)
{
	for (int32_t t = part->first_triangle; t < part->first_triangle + part->triangle_count; t++) {
		for (int i = 0; i < 3; i++) {
			const int32_t *v = s->triangles + 3 * (int64_t)t;
			const int32_t a = v[i], b = v[(i + 1) % 3];
			*list++ = (half_edge){ a < b ? a : b, a < b ? b : a, v[(i + 2) % 3], t, a > b };
		}
	}
}

static void vector(const sim_soft *s, int32_t from, int32_t to, double v[3])
{
	for (int k = 0; k < 3; k++)
		v[k] = s->place[3 * (int64_t)to + k] - s->place[3 * (int64_t)from + k];
}

static double cross_length(const double a[3], const double b[3])
{
	const double c[3] = { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
	return sqrt(soft_dot(c, c));
}

double soft_triangle_area(const sim_soft *s, int32_t triangle)
{
	const int32_t *v = s->triangles + 3 * (int64_t)triangle;
	double a[3], b[3];
	vector(s, v[0], v[1], a);
	vector(s, v[0], v[2], b);
	return 0.5 * cross_length(a, b);
}

void soft_weigh_part(const sim_soft *s, const soft_part *part, double density, double *mass)
{
	memset(mass + part->first_vertex, 0, (size_t)part->vertex_count * sizeof *mass);
	for (int32_t t = part->first_triangle; t < part->first_triangle + part->triangle_count; t++) {
		const double share = density * soft_triangle_area(s, t) / 3;
		for (int i = 0; i < 3; i++)
			mass[s->triangles[3 * (int64_t)t + i]] += share;
	}
}

bool soft_triangle_is_line(const sim_soft *s, int32_t triangle)
{
	const int32_t *v = s->triangles + 3 * (int64_t)triangle;
	double longest = 0; // squared
	for (int i = 0; i < 3; i++) {
		double d[3];
		vector(s, v[i], v[(i + 1) % 3], d);
		longest = fmax(longest, soft_dot(d, d));
	}
	return !(soft_triangle_area(s, triangle) > 1e-12 * longest);
}

/// Cotangent of the angle at a vertex between the directions to two others.
static double cotangent(const sim_soft *s, int32_t at, int32_t one, int32_t other)
{
	double a[3], b[3];
	vector(s, at, one, a);
	vector(s, at, other, b);
	return soft_dot(a, b) / cross_length(a, b);
}

// Edges of a body with a shear modulus get no longer than by this part, where nothing else is said.
// Corrections at an impact would move single vertices so far that short edges beside them get
// several times their length.
static const double SOLID_LIMIT = 0.5;

/// An edge as a spring that resists as a strip of the sheet beside it does.
static soft_edge make_edge(const sim_soft *s, const half_edge *e, double area, const sim_soft_body *body)
{
	double d[3];
	vector(s, e->low, e->high, d);
	const double square = soft_dot(d, d), solid = body->kind == SIM_SOFT_DEFORMABLE && body->shear > 0 ? SOLID_LIMIT : INFINITY;
	const double limit = body->stretch_limit > 0 ? body->stretch_limit : solid;
	return (soft_edge){ { e->low, e->high }, sqrt(square), (1 + limit) * sqrt(square), square / (body->stiffness * area), 0 };
}

/// Bergou et al. 2006: bending energy is 3 / (sum of areas) * |sum of weight * place|^2 / 2 times
/// the stiffness.
static soft_hinge make_hinge(const sim_soft *s, const half_edge *e, const half_edge *f, double area, const sim_soft_body *body)
{
	const double c0 = cotangent(s, e->low, e->high, e->opposite), c1 = cotangent(s, e->low, f->high, f->opposite);
	const double c2 = cotangent(s, e->high, e->low, e->opposite), c3 = cotangent(s, e->high, f->low, f->opposite);
	soft_hinge h = { { e->low, e->high, e->opposite, f->opposite }, { c2 + c3, c0 + c1, -c0 - c2, -c1 - c3 }, 0,
		area / (3 * body->bending), 0 };
	double bend[3] = { 0, 0, 0 };
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 3; k++)
			bend[k] += h.weight[i] * s->place[3 * (int64_t)h.vertices[i] + k];
	}
	h.rest = body->flat ? 0 : sqrt(soft_dot(bend, bend));
	return h;
}

bool soft_connect_part(sim_soft *s, const soft_part *part, const sim_soft_body *body, bool *closed)
{
	const int64_t count = 3 * (int64_t)part->triangle_count;
	half_edge *list = soft_alloc(s, (size_t)count * sizeof *list);
	if (!list)
		return false;
	list_half_edges(s, part, list);
	qsort(list, (size_t)count, sizeof *list, compare);
	*closed = true;
	for (int64_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && list[end].low == list[i].low && list[end].high == list[i].high; end++) {
		}
		double area = 0;
		for (int64_t k = i; k < end; k++)
			area += soft_triangle_area(s, list[k].triangle);
		s->edges[s->edge_count++] = make_edge(s, &list[i], area, body);
		*closed = *closed && end == i + 2 && list[i].turned != list[i + 1].turned;
		for (int64_t k = i + 1; k < end && body->bending > 0; k++)
			s->hinges[s->hinge_count++] = make_hinge(s, &list[k - 1], &list[k], area, body);
	}
	soft_free(s, list, (size_t)count * sizeof *list);
	return true;
}

void soft_list_around(sim_soft *s)
{
	const int64_t corners = 3 * (int64_t)s->triangle_count;
	memset(s->around_first, 0, ((size_t)s->vertex_count + 1) * sizeof *s->around_first);
	for (int64_t i = 0; i < corners; i++)
		s->around_first[s->triangles[i] + 1]++;
	for (int32_t i = 0; i < s->vertex_count; i++)
		s->around_first[i + 1] += s->around_first[i];
	for (int64_t i = 0; i < corners; i++)
		s->around[s->around_first[s->triangles[i]]++] = (int32_t)(i / 3);
	for (int32_t i = s->vertex_count; i > 0; i--)
		s->around_first[i] = s->around_first[i - 1];
	s->around_first[0] = 0;
}
