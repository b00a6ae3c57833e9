/// Signed distance of convex bodies: simplex descent outside, growing polytope inside. See
/// geom/separation.h.
///
/// Both work on the difference D of the cores, the set of all a - b, of which a support function
/// gives the farthest point along any direction. The bodies overlap where D holds the origin. For a
/// unit n let h(n) be the most of n . d over D. Then
/// (1) -h(-n) is a lower bound of the distance for every n: the plane with normal n lies between
///     the bodies.
/// (2) h(n) is an upper bound of the depth for every n: moved by h(n) against n, D no longer holds
///     the origin inside.
/// (3) Let a polytope of points of D hold the origin. No n has an h(n) below the distance of the
///     origin from its nearest face: else the plane across n at h(n) would cut off a part of it.
/// Bodies with a flat side mostly overlap by one: D has a face there, with the normal n of the side
/// and the height h(n). If the foot of the origin lies within that face, a pyramid over it holds
/// the origin, and where no other face of the pyramid is nearer, (2) and (3) meet at h(n). So the
/// search begins with such a pyramid. One look at the farthest point along n is its proof; where it
/// fails the search begins again, with the simplex of the descent.
/// Whatever the loops below arrive at, gap is made by (1) or (2) from the direction that they found
/// best.

#include "geom/separation.h"
#include "geom/curved_descent.h"

enum {
	MOST_STEPS = 64,
	MOST_VERTICES = 72,
	MOST_FACES = 2 * MOST_VERTICES,
	AXIS_TRIES = 6,
	START_TRIES = AXIS_TRIES + 4,
	POLISH_STEPS = 128,
	MOST_POLISHED = 8,
	RIM_STEPS = 5 // of descent, after which a rim is the cause
};

// Parts of the sizes. Progress below the first is none; a depth is known well enough when its
// bounds are as near as the second (finer faces would be slivers, whose normals are rounding); the
// third is told to the caller.
static const double SMALL = CR_NO_PROGRESS, NEAR = 1e-9, GOOD = 1e-6;
// Space between bodies that are moved apart to find where they meet by Newton steps. With less of
// it rounding hides the direction.
static const double MEETING = 1e-3;
// Points of the surfaces that are off by less are not looked for again.
static const double CLOSE = 1e-11;
// Faces that are no wider are thin; bodies that are no farther apart may overlap, for all that
// rounding tells.
static const double THIN = 2e-10, TOUCHING = 1e-15;
// No edge of D is longer than so many sizes: two, and a little for rounding.
static const double LONGEST = 2.5;
// Cosine: of directions that are nearer to each other one is followed downhill.
static const double SIDE_BY_SIDE = 0.99;
// Of the least radius of curvature: so thick is the rind of an ellipsoid about its core.
static const double INSET = 0.9;

typedef cr_difference pair;

static cr_simplex_vertex support(const pair *p, v3d direction) { return cr_difference_support(p, direction); }

// ---- Outside: the point of D nearest to the origin ----

/// Descend to the point of D nearest to the origin. Returns a lower bound of its distance with the
/// direction that proves it; 0 or less: D holds the origin, or comes too near for a direction to be
/// told.
static double descend(const pair *p, cr_simplex *s, v3d *normal)
{
	double lower = -INFINITY;
	const v3d start =
		v3d_sub(cr_convex_centre(p->a), v3d_add(m3d_mul(&p->at->rotation, cr_convex_centre(p->b)), p->at->position));
	if (p->form == CR_SMOOTH && cr_descend_curved(p, v3d_normalize(start), SMALL * p->size, s, &lower, normal))
		return lower;
	const cr_simplex_vertex first = support(p, v3d_dot(start, start) > 0 ? v3d_neg(start) : (v3d){ 1, 0, 0 });
	*s = cr_simplex_of(&first);
	*normal = (v3d){ 0, 0, 1 };
	int try_curved = p->form == CR_SMOOTH ? 0 : p->form == CR_RIMMED ? RIM_STEPS : MOST_STEPS;
	for (int step = 0; step < MOST_STEPS; step++) {
		const v3d v = cr_simplex_point(s);
		const double length = v3d_length(v);
		if (s->count == 4 || !(length > SMALL * p->size))
			return 0;
		const cr_simplex_vertex w = support(p, v3d_neg(v));
		const double bound = v3d_dot(v, w.d) / length;
		if (bound > lower) {
			lower = bound;
			*normal = v3d_scale(v, 1 / length);
		}
		if (lower > p->enough)
			return lower;
		if (step >= try_curved && lower > 0) {
			if (cr_descend_curved(p, *normal, SMALL * p->size, s, &lower, normal))
				return lower;
			try_curved = 2 * step + 4;
		}
		if (length - lower <= SMALL * p->size || cr_simplex_holds(s, w.d))
			break;
		cr_simplex wider = *s;
		wider.v[wider.count++] = w;
		const cr_simplex next = cr_nearest_of_simplex(&wider);
		if (next.count < 4 && !(cr_simplex_square(&next) < length * length))
			break;
		*s = next;
	}
	return lower;
}

// ---- Inside: the face of D nearest to the origin ----

typedef struct face {
	v3d normal;
	int16_t corner[3];
	bool gone;
	// its corners lie in a line, up to rounding: its plane is that of the face across its longest
	// edge
	bool thin;
} face;

typedef uint32_t edge; // from << 16 | to

typedef struct polytope {
	cr_simplex_vertex vertices[MOST_VERTICES];
	face faces[MOST_FACES];
	double distance[MOST_FACES]; // of the planes of faces from the origin, along their normals
	int vertex_count;
	int face_count;
	bool some_thin;  // faces were
	bool some_taken; // faces are, by take_face
} polytope;

/// The corner of a face at which its longest edge starts. Sets the squares of the edges' lengths.
static int longest_edge(const polytope *t, const face *f, double square[3])
{
	const v3d p = t->vertices[f->corner[0]].d, q = t->vertices[f->corner[1]].d, r = t->vertices[f->corner[2]].d;
	const v3d along[3] = { v3d_sub(q, p), v3d_sub(r, q), v3d_sub(p, r) };
	for (int k = 0; k < 3; k++)
		square[k] = v3d_dot(along[k], along[k]);
	return square[0] >= square[1] && square[0] >= square[2] ? 0 : square[1] >= square[2] ? 1 : 2;
}

/// Is the longest edge of a face so long that its height is but rounding?
static bool is_thin(const polytope *t, const face *f, double area, double size)
{
	double square[3];
	const int longest = longest_edge(t, f, square);
	return !(area > THIN * size * sqrt(square[longest]));
}

static bool add_face(polytope *t, int i, int j, int k, double size)
{
	if (t->face_count == MOST_FACES)
		return false;
	face *f = &t->faces[t->face_count++];
	f->corner[0] = (int16_t)i;
	f->corner[1] = (int16_t)j;
	f->corner[2] = (int16_t)k;
	f->gone = false;
	const v3d p = t->vertices[i].d;
	const v3d n = v3d_cross(v3d_sub(t->vertices[j].d, p), v3d_sub(t->vertices[k].d, p));
	const double area = v3d_length(n);
	f->thin = !(area > THIN * size * (LONGEST * size)) && is_thin(t, f, area, size);
	f->normal = area > 0 ? v3d_scale(n, 1 / area) : (v3d){ 0, 0, 0 };
	t->distance[t->face_count - 1] = v3d_dot(f->normal, p);
	t->some_thin = t->some_thin || f->thin;
	return true;
}

/// The face that has an edge from one vertex to another; -1: none.
static int face_with_edge(const polytope *t, int from, int to)
{
	for (int i = 0; i < t->face_count; i++) {
		for (int k = 0; k < 3; k++) {
			if (t->faces[i].corner[k] == from && t->faces[i].corner[(k + 1) % 3] == to)
				return i;
		}
	}
	return -1;
}

/// Faces that are thin have no normal of their own: they go with the face across their longest
/// edge, as if it were a polygon with a further corner on that edge. Else a vertex in line with an
/// edge would make faces that look anywhere, even inward.
static void lend_planes(polytope *t)
{
	for (int i = 0; i < t->face_count && t->some_thin; i++) {
		const face *f = &t->faces[i];
		if (!f->thin)
			continue;
		for (int step = 0; step < t->face_count && f->thin; step++) {
			double square[3];
			const int k = longest_edge(t, f, square), across = face_with_edge(t, f->corner[(k + 1) % 3], f->corner[k]);
			if (across < 0)
				break;
			f = &t->faces[across];
		}
		t->faces[i].normal = f->normal;
		t->distance[i] = f->thin ? (double)INFINITY : t->distance[f - t->faces];
	}
}

/// The directions in which a further vertex is looked for: across three vertices, else along the
/// axes. Of a box along the axes those may all lead to the same two opposite corners, as rounding
/// has it; then across the line of the two.
static v3d start_direction(const polytope *t, v3d normal, int i)
{
	static const v3d axes[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
	const cr_simplex_vertex *v = t->vertices;
	v3d d = axes[i % 3];
	bool back = i % 6 >= 3;
	if (t->vertex_count == 3) {
		d = normal;
		back = i % 2;
	} else if (t->vertex_count == 2 && i >= AXIS_TRIES) {
		const v3d along = v3d_sub(v[1].d, v[0].d), side = cr_across(along);
		d = i % 2 ? v3d_normalize(v3d_cross(along, side)) : side;
		back = i % 4 >= 2;
	}
	return back ? v3d_neg(d) : d;
}

/// The support that lies farthest from the span of the vertices so far, of some directions; false:
/// D is flat there.
static bool add_start_vertex(const pair *p, polytope *t)
{
	const cr_simplex_vertex *v = t->vertices;
	const double least = 1e-9 * p->size;
	v3d normal = { 0, 0, 0 };
	cr_simplex_vertex best = { 0 };
	double most = 0;
	if (t->vertex_count == 3)
		normal = v3d_normalize(v3d_cross(v3d_sub(v[1].d, v[0].d), v3d_sub(v[2].d, v[0].d)));
	for (int i = 0; i < START_TRIES && !(i == AXIS_TRIES && most > least); i++) {
		const cr_simplex_vertex w = support(p, start_direction(t, normal, i));
		const v3d from = v3d_sub(w.d, v[0].d);
		const double far = t->vertex_count == 1 ? v3d_length(from)
			: t->vertex_count == 2              ? v3d_length(v3d_cross(from, v3d_normalize(v3d_sub(v[1].d, v[0].d))))
												: fabs(v3d_dot(normal, from));
		if (far > most) {
			most = far;
			best = w;
		}
	}
	if (!(most > least))
		return false;
	t->vertices[t->vertex_count++] = best;
	return true;
}

/// Is a vertex away from the span of those before it?
static bool widens(const polytope *t, v3d d, double size)
{
	const cr_simplex_vertex *v = t->vertices;
	const v3d from = v3d_sub(d, v[0].d);
	const double least = 1e-9 * size;
	if (t->vertex_count == 1)
		return v3d_length(from) > least;
	const v3d along = v3d_normalize(v3d_sub(v[1].d, v[0].d));
	if (t->vertex_count == 2)
		return v3d_length(v3d_cross(from, along)) > least;
	return fabs(v3d_dot(from, v3d_normalize(v3d_cross(along, v3d_sub(v[2].d, v[0].d))))) > least;
}

/// Begin with a tetrahedron of the simplex where it has room, else of other supports. False: D is
/// flat; the vertices made so far span it.
static bool start_polytope(const pair *p, const cr_simplex *s, polytope *t)
{
	t->vertices[0] = s->v[0];
	t->vertex_count = 1;
	t->face_count = 0;
	t->some_thin = t->some_taken = false;
	for (int i = 1; i < s->count; i++) {
		if (widens(t, s->v[i].d, p->size))
			t->vertices[t->vertex_count++] = s->v[i];
	}
	while (t->vertex_count < 4) {
		if (!add_start_vertex(p, t))
			return false;
	}
	const cr_simplex_vertex *v = t->vertices;
	const v3d n = v3d_cross(v3d_sub(v[1].d, v[0].d), v3d_sub(v[2].d, v[0].d));
	const bool above = v3d_dot(n, v3d_sub(v[3].d, v[0].d)) > 0; // then 0 1 2 faces inward
	static const int faces[2][4][3] = { { { 0, 1, 2 }, { 0, 3, 1 }, { 1, 3, 2 }, { 2, 3, 0 } },
		{ { 0, 2, 1 }, { 0, 1, 3 }, { 1, 2, 3 }, { 2, 0, 3 } } };
	for (int i = 0; i < 4; i++)
		add_face(t, faces[above][i][0], faces[above][i][1], faces[above][i][2], p->size);
	lend_planes(t);
	return true;
}

// ---- Inside: a flat side to begin with ----

enum { MOST_FLATS = 6, MOST_CORNERS = 4, FEW_VERTICES = 1 };

/// A flat side of a core: its outward normal, and corners of a polygon in it.
typedef struct flat {
	v3d normal;
	v3d corner[MOST_CORNERS];
	int count;
} flat;

static int count_flats(const cr_convex *c)
{
	switch (c->core) {
	case CR_CORE_BOX: return 6;
	case CR_CORE_CYLINDER:
	case CR_CORE_TRIANGLE: return 2;
	case CR_CORE_CONE: return 1;
	default: return 0;
	}
}

/// The normal of a flat side, unit or 0.
static v3d flat_normal(const cr_convex *c, int i)
{
	const double sign = i % 2 ? 1 : -1;
	if (c->core == CR_CORE_BOX)
		return (v3d){ i / 2 == 0 ? sign : 0, i / 2 == 1 ? sign : 0, i / 2 == 2 ? sign : 0 };
	if (c->core != CR_CORE_TRIANGLE)
		return (v3d){ 0, 0, sign };
	const v3d *p = c->corner;
	return v3d_scale(v3d_normalize(v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]))), sign);
}

/// Sets the corners of a flat side. Of a round one they lie on its rim, the first as near as can be
/// to a point of the plane.
static void set_corners(const cr_convex *c, int i, v3d near, flat *f)
{
	f->count = MOST_CORNERS;
	if (c->core == CR_CORE_TRIANGLE) {
		f->count = 3;
		for (int k = 0; k < 3; k++)
			f->corner[k] = c->corner[k];
		return;
	}
	if (c->core == CR_CORE_BOX) {
		static const double signs[4][2] = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } };
		const int axis = i / 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
		for (int k = 0; k < 4; k++) {
			double place[3];
			place[axis] = i % 2 ? c->half[axis] : -c->half[axis];
			place[u] = signs[k][0] * c->half[u];
			place[v] = signs[k][1] * c->half[v];
			f->corner[k] = (v3d){ place[0], place[1], place[2] };
		}
		return;
	}
	const double across = sqrt(near.x * near.x + near.y * near.y), z = i % 2 ? c->half_length : -c->half_length;
	const double x = across > 0 ? c->radius * (near.x / across) : c->radius, y = across > 0 ? c->radius * (near.y / across) : 0;
	f->corner[0] = (v3d){ x, y, z };
	f->corner[1] = (v3d){ -y, x, z };
	f->corner[2] = (v3d){ -x, -y, z };
	f->corner[3] = (v3d){ y, -x, z };
}

/// A flat side of D: of A's flat side and a point of B, or the other way about.
typedef struct side {
	v3d normal; // outward from D
	double height;
	bool of_b;
	int number;
	cr_simplex_vertex other; // farthest along normal
} side;

/// False: the side looks away from the origin, seen from the middle of D.
static bool set_side(const pair *p, bool of_b, int number, v3d middle, side *s)
{
	const v3d own = flat_normal(of_b ? p->b : p->a, number);
	s->normal = of_b ? v3d_neg(m3d_mul(&p->at->rotation, own)) : own;
	if (v3d_dot(s->normal, middle) > 0 || !(v3d_dot(own, own) > 0.5))
		return false;
	s->of_b = of_b;
	s->number = number;
	s->other = support(p, s->normal);
	s->height = v3d_dot(s->normal, s->other.d);
	return true;
}

/// Sets the vertices of a side, counter-clockwise seen from outside. Returns whether the foot of
/// the origin lies within them.
static bool place_side(const pair *p, const side *s, polytope *t)
{
	const v3d foot = v3d_scale(s->normal, s->height), b = v3d_sub(s->other.a, s->other.d);
	flat f;
	// of the other body a point stays, with which the foot of the origin is a point of this one
	if (s->of_b)
		set_corners(p->b, s->number, m3d_tmul(&p->at->rotation, v3d_sub(v3d_sub(s->other.a, foot), p->at->position)), &f);
	else
		set_corners(p->a, s->number, v3d_add(b, foot), &f);
	for (int i = 0; i < f.count; i++) {
		const v3d a = s->of_b ? s->other.a : f.corner[i];
		const v3d d = s->of_b ? cr_difference_point(p, a, f.corner[i]) : v3d_sub(a, b);
		t->vertices[i] = (cr_simplex_vertex){ d, a };
	}
	const cr_simplex_vertex *v = t->vertices;
	if (v3d_dot(s->normal, v3d_cross(v3d_sub(v[1].d, v[0].d), v3d_sub(v[2].d, v[1].d))) < 0) {
		const cr_simplex_vertex swapped = v[0];
		t->vertices[0] = v[f.count - 1];
		t->vertices[f.count - 1] = swapped;
		if (f.count == 4) {
			const cr_simplex_vertex middle = v[1];
			t->vertices[1] = v[2];
			t->vertices[2] = middle;
		}
	}
	t->vertex_count = f.count;
	for (int i = 0; i < f.count; i++) {
		const v3d from = v[i].d, along = v3d_sub(v[(i + 1) % f.count].d, from);
		if (!(v3d_dot(s->normal, v3d_cross(along, v3d_sub(foot, from))) > SMALL * p->size * v3d_length(along)))
			return false;
	}
	return true;
}

/// Begin with a pyramid over the flat side of D that is nearest to the origin, if the foot of the
/// origin lies in it: most often no face of D is nearer, and the first look at the farthest point
/// along its normal proves that. False: there is none.
static bool start_on_flat(const pair *p, polytope *t)
{
	const v3d middle = cr_difference_point(p, cr_convex_centre(p->a), cr_convex_centre(p->b));
	side sides[2 * MOST_FLATS];
	int side_count = 0;
	double least = (double)INFINITY;
	for (int i = 0; i < count_flats(p->a) + count_flats(p->b); i++) {
		const bool of_b = i >= count_flats(p->a);
		side *s = &sides[side_count];
		if (!set_side(p, of_b, of_b ? i - count_flats(p->a) : i, middle, s))
			continue;
		least = fmin(least, s->height);
		side_count++;
	}
	const side *best = NULL;
	for (int i = 0; i < side_count && !best; i++) {
		if (sides[i].height <= least + NEAR * p->size && place_side(p, &sides[i], t))
			best = &sides[i];
	}
	if (!best)
		return false;
	t->face_count = 0;
	t->some_thin = t->some_taken = false;
	const int count = t->vertex_count;
	t->vertices[t->vertex_count++] = support(p, v3d_neg(best->normal));
	for (int i = 0; i < count; i++) {
		add_face(t, (i + 1) % count, i, count, p->size);
		if (i > 1)
			add_face(t, 0, i - 1, i, p->size);
	}
	lend_planes(t);
	return true;
}

/// Leaves out faces that are thin or taken.
static int nearest_of_some(const polytope *t)
{
	int best = -1;
	for (int i = 0; i < t->face_count; i++) {
		if (!t->faces[i].gone && !t->faces[i].thin && (best < 0 || t->distance[i] < t->distance[best]))
			best = i;
	}
	return best;
}

static double lesser(double a, double b) { return a < b ? a : b; }

/// Of equally near faces the first; -1: none. Four least ones side by side, so that none waits for
/// the one before.
static int nearest_face(const polytope *t)
{
	double least[4] = { (double)INFINITY, (double)INFINITY, (double)INFINITY, (double)INFINITY };
	const double *key = t->distance;
	if (t->some_thin || t->some_taken)
		return nearest_of_some(t);
	int i = 0;
	for (; i + 4 <= t->face_count; i += 4) {
		for (int k = 0; k < 4; k++)
			least[k] = lesser(key[i + k], least[k]);
	}
	for (; i < t->face_count; i++)
		least[0] = lesser(key[i], least[0]);
	const double nearest = lesser(lesser(least[0], least[1]), lesser(least[2], least[3]));
	for (i = 0; i < t->face_count && nearest < INFINITY; i++) {
		if (key[i] == nearest)
			return i;
	}
	return -1;
}

/// Add an edge of the rim, or take its twin away: edges between two faces that go are none of the
/// rim.
static bool toggle_edge(edge *rim, int *count, int from, int to)
{
	const edge twin = (edge)to << 16 | (edge)from;
	for (int i = 0; i < *count; i++) {
		if (rim[i] == twin) {
			rim[i] = rim[--*count];
			return true;
		}
	}
	if (*count == MOST_FACES)
		return false;
	rim[(*count)++] = (edge)from << 16 | (edge)to;
	return true;
}

/// How far a vertex lies above the plane of a face.
static double height_over(const polytope *t, int f, v3d d) { return v3d_dot(t->faces[f].normal, d) - t->distance[f]; }

/// Does a face that stays border one that goes, by an edge on whose near side the new vertex lies?
/// The face that joins the two would lie on this one and look inward.
static bool is_covered(const polytope *t, const face *f, v3d d)
{
	for (int k = 0; k < 3; k++) {
		const int from = f->corner[k], to = f->corner[(k + 1) % 3];
		const v3d start = t->vertices[from].d;
		if (!(v3d_dot(v3d_cross(v3d_sub(t->vertices[to].d, start), v3d_sub(d, start)), f->normal) > 0))
			continue;
		const int across = face_with_edge(t, to, from);
		if (across >= 0 && t->faces[across].gone)
			return true;
	}
	return false;
}

/// Mark the faces that a new vertex sees. Where it lies, up to rounding, in the plane of several,
/// it sees all of them that it covers.
static void mark_seen(polytope *t, v3d d, double size)
{
	int16_t level[MOST_FACES + 1];
	int count = 0;
	const double above = SMALL * size, below = -NEAR * size;
	for (int i = 0; i < t->face_count; i++) {
		const double height = height_over(t, i, d);
		const bool seen = height > above;
		t->faces[i].gone = seen;
		level[count] = (int16_t)i;
		count += (height > below) & !seen;
	}
	bool more = true;
	while (more) { // each turn but the last marks a face
		more = false;
		for (int i = 0; i < count; i++) {
			face *f = &t->faces[level[i]];
			if (f->gone || !is_covered(t, f, d))
				continue;
			f->gone = more = true;
		}
	}
}

/// Take the faces that are seen away; the others keep their order. Sets their rim. False: no room.
static bool remove_seen(polytope *t, edge *rim, int *rim_count)
{
	int16_t seen[MOST_FACES + 1];
	int count = 0;
	for (int i = 0; i < t->face_count; i++) {
		seen[count] = (int16_t)i;
		count += t->faces[i].gone;
	}
	seen[count] = (int16_t)t->face_count;
	for (int i = 0; i < count; i++) {
		const int16_t *c = t->faces[seen[i]].corner;
		if (!toggle_edge(rim, rim_count, c[0], c[1]) || !toggle_edge(rim, rim_count, c[1], c[2]) ||
			!toggle_edge(rim, rim_count, c[2], c[0]))
			return false;
	}
	for (int i = 0; i < count; i++) { // those between two of them move down together
		for (int k = seen[i] + 1; k < seen[i + 1]; k++) {
			t->faces[k - 1 - i] = t->faces[k];
			t->distance[k - 1 - i] = t->distance[k];
		}
	}
	t->face_count -= count;
	return true;
}

/// Put a new vertex outside: the faces that it sees give way to those that join it with their rim.
/// False: no room. Its lists leave the stack before witnesses are looked for.
static __attribute__((noinline)) bool grow(polytope *t, const cr_simplex_vertex *w, double size)
{
	edge rim[MOST_FACES];
	int rim_count = 0;
	if (t->vertex_count == MOST_VERTICES)
		return false;
	mark_seen(t, w->d, size);
	if (!remove_seen(t, rim, &rim_count))
		return false;
	t->vertices[t->vertex_count] = *w;
	for (int i = 0; i < rim_count; i++) {
		if (!add_face(t, (int)(rim[i] >> 16), (int)(rim[i] & 0xffff), t->vertex_count, size))
			return false;
	}
	t->vertex_count++;
	lend_planes(t);
	return true;
}

/// A point of the core of A with one of B, as a point of D.
typedef struct point_pair {
	v3d a;
	v3d d; // a - b
} point_pair;

/// The deepest pair of points along a direction.
typedef struct depth {
	v3d direction; // outward from D: against the normal of the pair
	double upper;  // h(direction)
	double lower;  // no depth is less
	point_pair at;
} depth;

static cr_simplex nearest_on_face(const polytope *t, const face *f)
{
	return cr_nearest_on_triangle(&t->vertices[f->corner[0]], &t->vertices[f->corner[1]], &t->vertices[f->corner[2]]);
}

/// Do all corners of a face lie in the plane of another one, up to rounding?
static bool lies_in_plane(const polytope *t, const face *f, int plane, double size)
{
	for (int k = 0; k < 3; k++) {
		if (!(fabs(height_over(t, plane, t->vertices[f->corner[k]].d)) <= NEAR * size))
			return false;
	}
	return true;
}

/// The point of the nearest plane that is nearest to the origin. f: a face in that plane. Where two
/// faces or two edges lie side by side the plane holds several faces, which are equally near up to
/// rounding. The foot of the origin lies in one of them. In the others the nearest point lies
/// beside the place where the bodies meet.
static point_pair find_witness(const polytope *t, const face *f, double size)
{
	cr_simplex s = nearest_on_face(t, f);
	for (int i = 0; i < t->face_count && s.count < 3; i++) {
		if (&t->faces[i] == f || !lies_in_plane(t, &t->faces[i], (int)(f - t->faces), size))
			continue;
		const cr_simplex other = nearest_on_face(t, &t->faces[i]);
		s = cr_nearer_simplex(&s, &other);
	}
	point_pair at = { { 0, 0, 0 }, cr_simplex_point(&s) };
	for (int i = 0; i < s.count; i++)
		at.a = v3d_mad(at.a, s.weight[i], s.v[i].a);
	return at;
}

/// D is flat, or as good as flat: its normal parts the bodies by moving nothing.
static void set_flat_depth(const pair *p, const polytope *t, depth *found)
{
	const cr_simplex_vertex *v = t->vertices;
	v3d n = { 0, 0, 1 };
	if (t->vertex_count == 3)
		n = v3d_normalize(v3d_cross(v3d_sub(v[1].d, v[0].d), v3d_sub(v[2].d, v[0].d)));
	else if (t->vertex_count == 2)
		n = cr_across(v3d_sub(v[1].d, v[0].d));
	const cr_simplex_vertex w = support(p, n);
	*found = (depth){ n, fmax(v3d_dot(n, w.d), 0), 0, { w.a, w.d } };
}

/// A direction near another one: (x, y) in the plane that touches the sphere of directions there,
/// and h and its slope in that plane.
typedef struct trial {
	double at[2];
	v3d direction;
	cr_simplex_vertex w; // farthest along it
	double upper;
	double slope[2];
} trial;

static trial try_at(const pair *p, v3d middle, const v3d axes[2], double x, double y)
{
	trial t = { .at = { x, y } };
	const v3d along = v3d_mad(v3d_mad(middle, x, axes[0]), y, axes[1]);
	t.direction = v3d_normalize(along);
	t.w = support(p, t.direction);
	t.upper = v3d_dot(t.direction, t.w.d);
	const v3d rest = v3d_mad(t.w.d, -t.upper, t.direction);
	for (int i = 0; i < 2; i++)
		t.slope[i] = v3d_dot(axes[i], rest) / v3d_length(along);
	return t;
}

/// The inverse of the second derivatives of h as far as the steps so far tell (Broyden, Fletcher,
/// Goldfarb and Shanno, 1970): xx, xy, yy.
static void learn(double inverse[3], const trial *from, const trial *to)
{
	const double s[2] = { to->at[0] - from->at[0], to->at[1] - from->at[1] };
	const double y[2] = { to->slope[0] - from->slope[0], to->slope[1] - from->slope[1] };
	const double sy = s[0] * y[0] + s[1] * y[1];
	if (!(sy > 0))
		return;
	const double hy[2] = { inverse[0] * y[0] + inverse[1] * y[1], inverse[1] * y[0] + inverse[2] * y[1] };
	const double k = (1 + (y[0] * hy[0] + y[1] * hy[1]) / sy) / sy;
	inverse[0] += k * s[0] * s[0] - 2 * hy[0] * s[0] / sy;
	inverse[1] += k * s[0] * s[1] - (hy[0] * s[1] + hy[1] * s[0]) / sy;
	inverse[2] += k * s[1] * s[1] - 2 * hy[1] * s[1] / sy;
}

/// Two curved bodies have more faces than there is room for. Turn a direction downhill on h, whose
/// slope is the part of the farthest point that lies across the direction. Steps that lead up teach
/// where h bends. Where h has a kink, as at bodies about one centre, they may teach a step without
/// end, which leads to no direction; the best so far is the result then. near: a pair of points
/// about n. It stays where the farthest points lie farther from the origin: where those jump from
/// end to end of a flat cap, they are no deepest pair.
static void polish(const pair *p, v3d n, const point_pair *near, depth *found)
{
	if (!(found->upper - found->lower > NEAR * p->size))
		return;
	const v3d first = cr_across(n), axes[2] = { first, v3d_cross(n, first) };
	double inverse[3] = { 1 / p->size, 0, 1 / p->size };
	trial best = try_at(p, n, axes, 0, 0);
	double step = 1;
	for (int i = 0; i < POLISH_STEPS && found->upper - found->lower > NEAR * p->size; i++) {
		const double way[2] = { -inverse[0] * best.slope[0] - inverse[1] * best.slope[1],
			-inverse[1] * best.slope[0] - inverse[2] * best.slope[1] };
		const trial next = try_at(p, n, axes, best.at[0] + step * way[0], best.at[1] + step * way[1]);
		if (!(v3d_dot(next.direction, next.direction) > 0.5))
			return;
		learn(inverse, &best, &next);
		step = next.upper < best.upper ? 1 : 0.3 * step;
		best = next.upper < best.upper ? next : best;
		if (best.upper < found->upper) {
			found->upper = best.upper;
			found->direction = best.direction;
			found->at = v3d_dot(best.w.d, best.w.d) < v3d_dot(near->d, near->d) ? (point_pair){ best.w.a, best.w.d } : *near;
		}
	}
}

/// Push out the nearest face until its plane holds the farthest point along its normal, or there
/// are most vertices. Each turn but the last adds one of at most MOST_VERTICES vertices.
static void expand(const pair *p, polytope *t, int most_vertices, depth *found)
{
	while (t->vertex_count <= most_vertices) {
		const int nearest = nearest_face(t);
		if (nearest < 0)
			return;
		const v3d normal = t->faces[nearest].normal;
		const double distance = t->distance[nearest];
		// Once the origin is inside, the nearest face only moves outward, unless rounding has
		// broken the surface.
		if (found->lower > 0 && distance < found->lower - NEAR * p->size)
			return;
		const cr_simplex_vertex w = support(p, normal);
		const double most = v3d_dot(normal, w.d);
		found->lower = fmax(distance, found->lower);
		if (most < found->upper) {
			found->upper = most;
			found->direction = normal;
			found->at = find_witness(t, &t->faces[nearest], p->size);
		}
		if (found->upper - distance <= NEAR * p->size || !(most - distance > SMALL * p->size) || !grow(t, &w, p->size))
			return;
	}
}

/// Finds the depth by a pyramid over a flat side of D and a few more vertices. Returns false where
/// these do not prove it.
static bool find_flat_depth(const pair *p, polytope *t, depth *found)
{
	*found = (depth){ .upper = (double)INFINITY };
	if (!start_on_flat(p, t))
		return false;
	expand(p, t, t->vertex_count + FEW_VERTICES, found);
	return found->upper - found->lower <= NEAR * p->size;
}

/// Of the faces that may be the nearest, with a normal apart from those taken, the nearest; -1:
/// none. Takes those about its normal too.
static int take_face(polytope *t, double upper)
{
	t->some_taken = true; // or were to go when there was no room
	const int best = nearest_face(t);
	if (best < 0 || !(t->distance[best] < upper))
		return -1;
	for (int i = 0; i < t->face_count; i++) {
		if (v3d_dot(t->faces[i].normal, t->faces[best].normal) > SIDE_BY_SIDE)
			t->faces[i].gone = true;
	}
	return best;
}

/// Not inlined: its polytope takes 8 KB of stack, which pairs apart do not need.
static __attribute__((noinline)) void search_depth(const pair *p, const cr_simplex *s, depth *found)
{
	polytope t;
	if (p->form == CR_RIMMED && find_flat_depth(p, &t, found))
		return;
	if (!start_polytope(p, s, &t)) {
		set_flat_depth(p, &t, found);
		return;
	}
	*found = (depth){ .upper = (double)INFINITY };
	expand(p, &t, MOST_VERTICES, found);
	if (!(found->upper < INFINITY)) {
		set_flat_depth(p, &t, found);
		return;
	}
	const point_pair at = found->at;
	polish(p, found->direction, &at, found);
	for (int i = 0; i < MOST_POLISHED && found->upper - found->lower > GOOD * p->size; i++) {
		const int next = take_face(&t, found->upper);
		if (next < 0)
			return;
		const point_pair near = find_witness(&t, &t.faces[next], p->size);
		polish(p, t.faces[next].normal, &near, found);
	}
}

/// Makes the difference of two points the one that is told. The rest goes to both in halves.
static void share_rest(point_pair *at, v3d difference)
{
	at->a = v3d_mad(at->a, -0.5, v3d_sub(at->d, difference));
	at->d = difference;
}

/// The pair of points in which bodies meet that are moved apart by the depth and a part of the size
/// more. By Newton steps: false where these do not get there.
static bool find_meeting(const pair *p, const depth *found, double part, bool by_newton, point_pair *met)
{
	const v3d beyond = v3d_scale(found->direction, found->upper + part * p->size);
	const cr_relative moved = { p->at->rotation, v3d_add(p->at->position, beyond) };
	const pair apart = { p->a, p->b, &moved, p->size, p->form, INFINITY };
	cr_simplex s;
	double lower;
	v3d normal;
	if (!by_newton)
		descend(&apart, &s, &normal);
	else if (!cr_descend_curved(&apart, v3d_neg(found->direction), SMALL * p->size, &s, &lower, &normal))
		return false;
	*met = (point_pair){ { 0, 0, 0 }, v3d_add(cr_simplex_point(&s), beyond) };
	for (int i = 0; i < s.count; i++)
		met->a = v3d_mad(met->a, s.weight[i], s.v[i].a);
	return true;
}

/// Moves the pair of points to where moving by the depth lets the bodies touch. A depth is good to
/// about the square of its direction, so the farthest points along that may lie far beside the foot
/// of the origin: on a flat cap, along the side of a cylinder, or a ten-thousandth of the size away
/// on a round body. Bodies that are moved apart by the depth and a little more meet in one place,
/// which the descent finds.
static void meet_at_depth(const pair *p, depth *found)
{
	const v3d foot = v3d_scale(found->direction, found->upper);
	const double off = v3d_length(v3d_sub(found->at.d, foot));
	if (!(off > CLOSE * p->size))
		return;
	point_pair met;
	if (p->form == CR_FLAT || !find_meeting(p, found, MEETING, true, &met))
		find_meeting(p, found, CLOSE, false, &met);
	if (v3d_length(v3d_sub(met.d, foot)) < off)
		found->at = met;
	share_rest(&found->at, foot);
}

static void find_depth(const pair *p, const cr_simplex *s, depth *found)
{
	search_depth(p, s, found);
	meet_at_depth(p, found);
}

// ---- Both ----

/// From a pair of points of the cores to the surfaces, with a direction from B to A.
static void set_points(const pair *p, v3d on_a, v3d d, cr_separation *s)
{
	const v3d on_b = v3d_sub(on_a, d);
	s->on_a = v3d_mad(on_a, -p->a->rounding, s->normal);
	s->on_b = v3d_mad(on_b, p->b->rounding, s->normal);
}

static void set_outside(const pair *p, const cr_simplex *found, double lower, v3d normal, cr_separation *s)
{
	v3d on_a = { 0, 0, 0 };
	for (int i = 0; i < found->count; i++)
		on_a = v3d_mad(on_a, found->weight[i], found->v[i].a);
	const v3d d = cr_simplex_point(found);
	const double length = v3d_length(d), rounding = p->a->rounding + p->b->rounding;
	point_pair at = { on_a, d };
	if (lower < rounding) {
		// Where they overlap the points tell the way out: the normal is that of the points, unless
		// another one proves more than a hair more.
		const v3d along = v3d_scale(d, 1 / length);
		const double bound = v3d_dot(along, support(p, v3d_neg(along)).d);
		if (bound >= lower - CLOSE * p->size) {
			lower = bound;
			normal = along;
		}
		share_rest(&at, v3d_scale(normal, lower));
	}
	s->normal = normal;
	s->gap = lower - rounding;
	s->error = fmax(length - lower, 0);
	set_points(p, at.a, at.d, s);
}

static void set_inside(const pair *p, const cr_simplex *start, cr_separation *s)
{
	depth found;
	find_depth(p, start, &found);
	s->normal = v3d_neg(found.direction);
	s->gap = -found.upper - (p->a->rounding + p->b->rounding);
	s->error = fmax(found.upper - found.lower, 0);
	set_points(p, found.at.a, found.at.d, s);
}

static cr_difference_form form_of(const cr_convex *a, const cr_convex *b)
{
	if (a->core == CR_CORE_ELLIPSOID || b->core == CR_CORE_ELLIPSOID)
		return CR_SMOOTH;
	const bool has_point = a->core == CR_CORE_POINT || b->core == CR_CORE_POINT;
	return (cr_convex_has_rim(a) || cr_convex_has_rim(b)) && !has_point ? CR_RIMMED : CR_FLAT;
}

static pair make_pair(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a)
{
	const v3d apart = v3d_sub(v3d_add(m3d_mul(&b_in_a->rotation, cr_convex_centre(b)), b_in_a->position), cr_convex_centre(a));
	return (pair){ a, b, b_in_a, fmax(cr_convex_size(a) + cr_convex_size(b), v3d_length(apart)), form_of(a, b), INFINITY };
}

/// Returns whether the cores are apart; else nearest is where to begin inside.
static bool separate_outside(const pair *p, cr_simplex *nearest, cr_separation *separation)
{
	v3d normal;
	const double lower = descend(p, nearest, &normal);
	// A smaller gap may be rounding of cores that overlap.
	if (!(lower > TOUCHING * p->size))
		return false;
	if (lower > p->enough) {
		*separation = (cr_separation){ .gap = lower - (p->a->rounding + p->b->rounding), .normal = normal, .error = INFINITY };
		return true;
	}
	set_outside(p, nearest, lower, normal, separation);
	separation->converged = separation->error <= GOOD * p->size;
	return true;
}

/// A ball that rolls freely within an ellipsoid is no larger than its least radius of curvature
/// (Blaschke; Schneider, Convex Bodies, section 3.2). So an ellipsoid is a core with that much
/// rounding, or a little less. Bodies that overlap by less than their roundings have cores apart,
/// whose distance tells the depth with proof and needs no polytope.
const cr_convex *cr_convex_rounded_core(const cr_convex *c, cr_convex *room)
{
	if (c->core != CR_CORE_ELLIPSOID)
		return c;
	const double least = fmin(c->half[0], fmin(c->half[1], c->half[2]));
	*room = *c;
	room->inset = INSET * (least * (least / cr_convex_size(c)));
	room->rounding += room->inset;
	return room;
}

bool cr_convex_apart(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, cr_separation *separation)
{
	cr_convex room_a, room_b;
	const pair p = make_pair(cr_convex_rounded_core(a, &room_a), cr_convex_rounded_core(b, &room_b), b_in_a);
	cr_simplex nearest;
	return separate_outside(&p, &nearest, separation) && separation->gap > 0;
}

static void separate(const pair *p, cr_separation *separation)
{
	cr_simplex nearest;
	if (separate_outside(p, &nearest, separation))
		return;
	set_inside(p, &nearest, separation);
	separation->converged = separation->error <= GOOD * p->size;
}

void cr_convex_separation_to(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, double enough, cr_separation *separation)
{
	cr_convex room_a, room_b;
	pair rounded = make_pair(cr_convex_rounded_core(a, &room_a), cr_convex_rounded_core(b, &room_b), b_in_a);
	rounded.enough = enough + (rounded.a->rounding + rounded.b->rounding);
	cr_simplex nearest;
	if (rounded.form == CR_SMOOTH && separate_outside(&rounded, &nearest, separation))
		return;
	separate(&(pair){ a, b, b_in_a, rounded.size, rounded.form, enough + (a->rounding + b->rounding) }, separation);
}

void cr_convex_separation(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, cr_separation *separation)
{
	cr_convex_separation_to(a, b, b_in_a, INFINITY, separation);
}

void cr_convex_separation_slow(const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, cr_separation *separation)
{
	pair p = make_pair(a, b, b_in_a);
	p.form = CR_FLAT;
	separate(&p, separation);
}
