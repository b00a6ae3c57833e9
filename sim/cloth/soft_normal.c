// Normals of contacts. The nearest points of two features that come as near as they may say where
// one has to go; but an edge within a plane is passed at its side as well, by a neighbour that
// slides along the plane, and would catch it. So a normal that leans over a triangle of the edge
// is replaced by the normal of that triangle: the nearest point beyond is in its face.
#include "sim/cloth/soft_state.h"

// A normal that rises less from the plane of a triangle does not tell on which side of it the other
// feature is. (A cosine.) Then the begin of the step tells, where the other feature is so far from
// the plane, in thicknesses. Otherwise the normal is left alone: something comes from the side.
static const double LEAST_RISE = 0.7, LEAST_SIDE = 0.25;
// A point of a feature with a smaller weight for a vertex is on its border.
static const double ON_BORDER = 1e-6;

/// Places at the time of an impact.
typedef struct moment {
	const sim_soft *soft;
	const double *begin, *end;
	double time;
	double gap[3]; // at the begin, from the feature whose normal is straightened to the other one
} moment;

static void place_at(const moment *m, int32_t vertex, double place[3])
{
	for (int k = 0; k < 3; k++) {
		const double from = m->begin[3 * (int64_t)vertex + k];
		place[k] = from + m->time * (m->end[3 * (int64_t)vertex + k] - from);
	}
}

/// Scale to length 1. False for a vector without length.
static bool make_unit(double v[3])
{
	const double length = sqrt(soft_dot(v, v));
	for (int k = 0; k < 3 && length > 0; k++)
		v[k] /= length;
	return length > 0;
}

/// The third corner of a triangle that has the edge from a to b, -1 of one that has not.
static int32_t opposite(const int32_t *corners, int32_t a, int32_t b)
{
	for (int i = 0; i < 3; i++) {
		const int32_t p = corners[i], q = corners[(i + 1) % 3];
		if ((p == a && q == b) || (p == b && q == a))
			return corners[(i + 2) % 3];
	}
	return -1;
}

/// Turn the normal of a triangle to the side of the other feature. False where nothing tells it.
static bool face_other(const moment *m, const double normal[3], double own[3])
{
	const double rise = soft_dot(own, normal), side = soft_dot(own, m->gap);
	const bool tells = fabs(rise) > LEAST_RISE;
	if (!tells && !(fabs(side) > LEAST_SIDE * m->soft->def.thickness))
		return false;
	const bool turned = tells ? rise < 0 : side < 0;
	for (int k = 0; k < 3 && turned; k++)
		own[k] = -own[k];
	return true;
}

/// How far a normal leans over the triangle beside an edge, and the triangle's own normal on the
/// side of the other feature. Returns 0 where it leans away, or that side is not known.
static double lean_over(const moment *m, int32_t a, int32_t b, int32_t third, const double normal[3], double own[3])
{
	double p[3], along[3], in[3];
	place_at(m, a, p);
	place_at(m, b, along);
	place_at(m, third, in);
	for (int k = 0; k < 3; k++) {
		along[k] -= p[k];
		in[k] -= p[k];
	}
	if (!make_unit(along))
		return 0;
	const double part = soft_dot(in, along);
	for (int k = 0; k < 3; k++)
		in[k] -= part * along[k];
	if (!make_unit(in))
		return 0;
	own[0] = along[1] * in[2] - along[2] * in[1];
	own[1] = along[2] * in[0] - along[0] * in[2];
	own[2] = along[0] * in[1] - along[1] * in[0];
	return face_other(m, normal, own) ? fmax(soft_dot(in, normal), 0) : 0;
}

/// Straighten a normal away from the edge from a to b.
static void straighten(const moment *m, int32_t a, int32_t b, double normal[3])
{
	const sim_soft *s = m->soft;
	double most = 0, best[3] = { 0, 0, 0 };
	for (int64_t i = s->around_first[a]; i < s->around_first[a + 1]; i++) {
		double own[3] = { 0, 0, 0 };
		const int32_t third = opposite(s->triangles + 3 * (int64_t)s->around[i], a, b);
		const double lean = third >= 0 ? lean_over(m, a, b, third, normal, own) : 0;
		if (!(lean > most))
			continue;
		most = lean;
		for (int k = 0; k < 3; k++)
			best[k] = own[k];
	}
	for (int k = 0; k < 3 && most > 0; k++)
		normal[k] = best[k];
}

/// Straighten a normal away from a vertex.
static void straighten_at(const moment *m, int32_t v, double normal[3])
{
	const sim_soft *s = m->soft;
	double most = 0, best[3] = { 0, 0, 0 };
	for (int64_t i = s->around_first[v]; i < s->around_first[v + 1]; i++) {
		const int32_t *corners = s->triangles + 3 * (int64_t)s->around[i];
		double p[3][3], own[3], in[3] = { 0, 0, 0 };
		const int at = corners[0] == v ? 0 : corners[1] == v ? 1 : 2;
		for (int k = 0; k < 3; k++)
			place_at(m, corners[(at + k) % 3], p[k]);
		for (int k = 0; k < 3; k++) {
			p[1][k] -= p[0][k];
			p[2][k] -= p[0][k];
		}
		if (!make_unit(p[1]) || !make_unit(p[2]))
			continue;
		for (int k = 0; k < 3; k++)
			in[k] = p[1][k] + p[2][k];
		own[0] = p[1][1] * p[2][2] - p[1][2] * p[2][1];
		own[1] = p[1][2] * p[2][0] - p[1][0] * p[2][2];
		own[2] = p[1][0] * p[2][1] - p[1][1] * p[2][0];
		if (!make_unit(own) || !make_unit(in))
			continue;
		const double lean = soft_dot(in, normal);
		if (!(lean > most) || !face_other(m, normal, own))
			continue;
		most = lean;
		for (int k = 0; k < 3; k++)
			best[k] = own[k];
	}
	for (int k = 0; k < 3 && most > 0; k++)
		normal[k] = best[k];
}

/// Straighten a normal away from the part of a feature that its nearest point lies on: a corner, an
/// edge; the normal of a face is its own.
static void straighten_feature(const moment *m, const int32_t *vertices, const double *weight, int count, double normal[3])
{
	int32_t on[3];
	int found = 0;
	for (int i = 0; i < count; i++) {
		if (fabs(weight[i]) > ON_BORDER)
			on[found++] = vertices[i];
	}
	if (found == 1)
		straighten_at(m, on[0], normal);
	else if (found == 2)
		straighten(m, on[0], on[1], normal);
}

void soft_straighten_normal(
	const sim_soft *s, const soft_contact *c, int first, const double *begin, const double *end, double time, double normal[3])
{
	moment m = { s, begin, end, time, { 0, 0, 0 } };
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 3; k++)
			m.gap[k] += c->weight[i] * begin[3 * (int64_t)c->vertices[i] + k];
	}
	straighten_feature(&m, c->vertices + first, c->weight + first, 4 - first, normal);
	double back[3] = { -normal[0], -normal[1], -normal[2] };
	for (int k = 0; k < 3; k++)
		m.gap[k] = -m.gap[k];
	straighten_feature(&m, c->vertices, c->weight, first, back);
	for (int k = 0; k < 3; k++)
		normal[k] = -back[k];
}
