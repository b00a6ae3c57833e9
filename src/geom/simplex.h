/// The point of a simplex nearest to the origin: up to four points of a convex set, as the
/// algorithm of Gilbert, Johnson and Keerthi keeps them.
#ifndef CR_GEOM_SIMPLEX_H
#define CR_GEOM_SIMPLEX_H

#include "math/vec.h"
#include <stdbool.h>

typedef struct cr_simplex_vertex {
	v3d d; // a - b
	v3d a; // whatever the caller keeps beside it
} cr_simplex_vertex;

/// Up to four vertices, and the weights of the nearest point of their span.
typedef struct cr_simplex {
	cr_simplex_vertex v[4];
	double weight[4];
	int count;
} cr_simplex;

static inline cr_simplex cr_simplex_of(const cr_simplex_vertex *v) { return (cr_simplex){ { *v }, { 1 }, 1 }; }

static inline v3d cr_simplex_point(const cr_simplex *s)
{
	v3d p = { 0, 0, 0 };
	for (int i = 0; i < s->count; i++)
		p = v3d_mad(p, s->weight[i], s->v[i].d);
	return p;
}

static inline cr_simplex cr_nearest_on_segment(const cr_simplex_vertex *p, const cr_simplex_vertex *q)
{
	const v3d along = v3d_sub(q->d, p->d);
	const double t = -v3d_dot(p->d, along), length = v3d_dot(along, along);
	if (!(t > 0))
		return cr_simplex_of(p);
	if (t >= length)
		return cr_simplex_of(q);
	return (cr_simplex){ { *p, *q }, { 1 - t / length, t / length }, 2 };
}

static inline double cr_simplex_square(const cr_simplex *s)
{
	const v3d p = cr_simplex_point(s);
	return v3d_dot(p, p);
}

/// The nearer of two.
static inline cr_simplex cr_nearer_simplex(const cr_simplex *s, const cr_simplex *t)
{
	return cr_simplex_square(t) < cr_simplex_square(s) ? *t : *s;
}

static inline cr_simplex cr_nearest_on_triangle(
	const cr_simplex_vertex *p, const cr_simplex_vertex *q, const cr_simplex_vertex *r)
{
	const v3d n = v3d_cross(v3d_sub(q->d, p->d), v3d_sub(r->d, p->d));
	const double square = v3d_dot(n, n);
	// Areas of the triangles that the foot of the origin makes with the sides.
	const double wp = v3d_dot(n, v3d_cross(q->d, r->d)), wq = v3d_dot(n, v3d_cross(r->d, p->d)),
				 wr = v3d_dot(n, v3d_cross(p->d, q->d));
	if (square > 0 && wp > 0 && wq > 0 && wr > 0) {
		const double sum = wp + wq + wr;
		return (cr_simplex){ { *p, *q, *r }, { wp / sum, wq / sum, wr / sum }, 3 };
	}
	// One after the other, for the sake of the stack of those who call.
	cr_simplex best = cr_nearest_on_segment(p, q), other = cr_nearest_on_segment(q, r);
	if (cr_simplex_square(&other) < cr_simplex_square(&best))
		best = other;
	other = cr_nearest_on_segment(r, p);
	if (cr_simplex_square(&other) < cr_simplex_square(&best))
		best = other;
	return best;
}

/// Does the plane through p, q, r part the origin from s? Flat tetrahedra: yes, so that all their
/// faces are looked at.
static inline bool cr_plane_parts(
	const cr_simplex_vertex *p, const cr_simplex_vertex *q, const cr_simplex_vertex *r, const cr_simplex_vertex *s)
{
	const v3d n = v3d_cross(v3d_sub(q->d, p->d), v3d_sub(r->d, p->d));
	return v3d_dot(n, v3d_neg(p->d)) * v3d_dot(n, v3d_sub(s->d, p->d)) <= 0;
}

/// count 4: the origin lies inside.
static inline cr_simplex cr_nearest_on_tetrahedron(const cr_simplex_vertex v[4])
{
	static const int faces[4][4] = { { 0, 1, 2, 3 }, { 0, 1, 3, 2 }, { 0, 2, 3, 1 }, { 1, 2, 3, 0 } };
	cr_simplex best = { .count = 0 };
	for (int i = 0; i < 4; i++) {
		const cr_simplex_vertex *p = &v[faces[i][0]], *q = &v[faces[i][1]], *r = &v[faces[i][2]];
		if (!cr_plane_parts(p, q, r, &v[faces[i][3]]))
			continue;
		const cr_simplex s = cr_nearest_on_triangle(p, q, r);
		best = best.count == 0 ? s : cr_nearer_simplex(&best, &s);
	}
	return best.count > 0 ? best : (cr_simplex){ { v[0], v[1], v[2], v[3] }, { 0.25, 0.25, 0.25, 0.25 }, 4 };
}

static inline cr_simplex cr_nearest_of_simplex(const cr_simplex *s)
{
	switch (s->count) {
	case 1: return cr_simplex_of(&s->v[0]);
	case 2: return cr_nearest_on_segment(&s->v[0], &s->v[1]);
	case 3: return cr_nearest_on_triangle(&s->v[0], &s->v[1], &s->v[2]);
	default: return cr_nearest_on_tetrahedron(s->v);
	}
}

static inline bool cr_simplex_holds(const cr_simplex *s, v3d d)
{
	for (int i = 0; i < s->count; i++) {
		if (s->v[i].d.x == d.x && s->v[i].d.y == d.y && s->v[i].d.z == d.z)
			return true;
	}
	return false;
}

#endif
