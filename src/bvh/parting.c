/// See parting.h.
///
/// Moves that part the bodies are points of the space of moves; the shortest one is the point
/// nearest to the origin. Along one direction the first clear move is found (bvh/clear_way.c), so
/// whatever is returned parts the two. The
/// search begins at a likely way: from a ball inside the one body that lies deep in the other, to
/// the nearest point of that one's surface. It is bettered as in Je, Tang, Lee, Lee and Kim,
/// PolyDepth: Real-Time Penetration Depth Computation Using Iterative Contact-Space Projection
/// (2012): the parts that A leaves last tell a half space of moves that are clear of them, and the
/// nearest point of all half spaces met so far gives the next direction. Where that is nearer and
/// clear, the search goes on from there; an obstacle in its way brings a half space more.
///
/// Other directions (from middle to middle, normals of bodies with few faces, and some spread
/// evenly) are followed side by side, best first: always the one that is not yet known to be
/// blocked so far as any other (bvh/inner_balls.c tells at once of most that they are blocked), and
/// no farther than a little beyond the next one. So the few shortest of their ways come out first,
/// and the others are left where they stand. Those few are bettered too.
///
/// At last directions on rings around the best one are tried, wide rings first. Balls and points
/// tell of nearly all that they are blocked as far as the best way, so they cost little. A way that
/// is shorter is bettered again, and the next ring lies around it.
///
/// Cost: some forty ways, of which most begin shortly before their end, and as many short looks
/// around the best one.
///
/// The search ends. Each way does (head of bvh/clear_way.c), each descent takes at most ROUNDS of
/// them, and there are at most RINGS rings of RING directions. Only the list of candidates is open:
/// a direction that was followed may come back to it. Let b be the length of the best way, so that
/// a candidate is dropped once it is blocked beyond START_LENGTH b. A try along a candidate finds a
/// way, and then the candidate leaves the list; or passes the limit of the try. That limit is
/// START_LENGTH b, and then the candidate leaves the list as well, since b never grows; or it is
/// STRIDE b or more beyond the move up to which the candidate was known to be blocked. It comes
/// back blocked up to a hair before the move that was passed, and a hair is less than STRIDE b / 2.
/// So a try that brings a candidate back moves its end by STRIDE b / 2 or more, and between two
/// ways that are found no candidate comes back more often than 2 START_LENGTH / STRIDE = 26 times.
/// Each way that is found takes a candidate away. So there are at most 27 k (k + 1) tries with k
/// candidates, where k <= MOST_CANDIDATES. In practice there are a few for each candidate.

#include "bvh/parting.h"
#include "bvh/inner_balls.h"
#include "geom/half_spaces.h"

enum {
	MOST_NORMALS = 64, // of a body: with more faces they say little
	SPREAD = 48,
	MOST_CANDIDATES = 1 + 2 * MOST_NORMALS + SPREAD,
	MOST_FOUND = 4, // ways beside the first
	STARTS = 8,
	MOST_PLANES = 6,
	ROUNDS = 16,
	RINGS = 6,
	RING = 12, // directions on a ring
};

// A start is this much longer than the best at most; starts whose cosine is above the second are
// one.
static const double START_LENGTH = 1.3, ALIKE = 0.98;
// A direction is followed so much farther at a time, of the best length.
static const double STRIDE = 0.1;
// Of the best length: so far balls may lead when a way is bettered. Its last part is always
// followed, for only that tells a half space.
static const double NEARLY = 0.9;
// Radii of rings around a unit direction (docs/measured/convex.md).
static const double RADIUS[RINGS] = { 0.4, 0.25, 0.15, 0.1, 0.05, 0.025 };
// A way that is shorter by less than this share is no gain.
static const double GAIN = 1e-4;

typedef struct search {
	const cr_solid_pair *pair;
	cr_clear_way best;
	cr_inner_balls balls;
	cr_barriers known;
	cr_clear_way start[STARTS]; // sorted by length
	int start_count;
} search;

// ---- Bodies ----

static v3d first_corner(const cr_collider *c, int32_t triangle)
{
	v3d p[3];
	cr_collider_triangle(c, triangle, p);
	return p[0];
}

/// A corner of each piece that is connected through edges. Returns false when out of memory.
static bool find_places(cr_arena *arena, const cr_collider *c, cr_solid *solid)
{
	const cr_topology *t = c->topology;
	const size_t count = (size_t)t->triangle_count;
	uint8_t *seen = cr_arena_alloc(arena, count);
	int32_t *open = cr_arena_alloc(arena, count * sizeof *open);
	v3d *places = cr_arena_alloc(arena, count * sizeof *places);
	if (!seen || !open || !places)
		return false;
	for (size_t i = 0; i < count; i++)
		seen[i] = !t->used[i];
	for (int32_t i = 0; i < t->triangle_count; i++) {
		int32_t top = 0;
		if (seen[i])
			continue;
		places[solid->place_count++] = first_corner(c, i);
		seen[i] = 1;
		open[top++] = i;
		while (top > 0) {
			const int32_t *neighbours = &t->neighbours[3 * (int64_t)open[--top]];
			for (int k = 0; k < 3; k++) {
				if (neighbours[k] >= 0 && !seen[neighbours[k]]) {
					seen[neighbours[k]] = 1;
					open[top++] = neighbours[k];
				}
			}
		}
	}
	solid->places = places;
	return true;
}

bool cr_solid_of_mesh(cr_arena *arena, const cr_collider *collider, const cr_facets *facets, int32_t pieces, cr_solid *solid)
{
	*solid = (cr_solid){ .collider = collider, .facets = facets };
	if (collider->triangle_count == 0)
		return true;
	if (pieces > 1)
		return find_places(arena, collider, solid);
	solid->place = first_corner(collider, cr_used_triangle(collider, 0));
	solid->place_count = 1;
	return true;
}

void cr_solid_of_convex(const cr_convex *convex, cr_solid *solid)
{
	*solid = (cr_solid){ .convex = convex, .place = cr_convex_centre(convex), .place_count = 1 };
}

// ---- Directions to begin with ----

typedef struct candidate {
	v3d direction;  // unit
	double blocked; // no move up to it is clear
} candidate;

static bool is_alike(v3d p, v3d q) { return v3d_dot(p, q) > ALIKE; }

/// Keep a way to begin from, unless one that is as short leads the same way.
static void keep_start(search *s, const cr_clear_way *way)
{
	int at = s->start_count;
	for (int i = 0; i < s->start_count; i++) {
		if (!is_alike(s->start[i].direction, way->direction))
			continue;
		if (s->start[i].length <= way->length)
			return;
		for (int k = i + 1; k < s->start_count; k++)
			s->start[k - 1] = s->start[k];
		at = --s->start_count;
		i--;
	}
	while (at > 0 && s->start[at - 1].length > way->length)
		at--;
	if (at == STARTS)
		return;
	s->start_count += s->start_count < STARTS;
	for (int k = s->start_count - 1; k > at; k--)
		s->start[k] = s->start[k - 1];
	s->start[at] = *way;
}

/// A list of directions, those that may lead out soonest last.
typedef struct candidates {
	candidate data[MOST_CANDIDATES];
	int count;
} candidates;

static void insert(candidates *list, const candidate *c)
{
	int at = list->count++;
	for (; at > 0 && list->data[at - 1].blocked < c->blocked; at--)
		list->data[at] = list->data[at - 1];
	list->data[at] = *c;
}

/// Add a direction of any length. Those that are blocked too far are left out.
static void add_candidate(search *s, candidates *list, v3d direction)
{
	const double length = v3d_length(direction), limit = START_LENGTH * s->best.length;
	if (!(length > 0))
		return;
	candidate c = { v3d_scale(direction, 1 / length), 0 };
	c.blocked = cr_blocked_until(s->pair, &s->balls, c.direction, limit);
	if (c.blocked > limit)
		return;
	insert(list, &c);
}

/// The normals of a body with few faces; sign: 1 for B, which A leaves over them, -1 for A.
static void add_normals(search *s, candidates *list, const cr_solid *solid, const m3d *to_a, double sign)
{
	const cr_hull *hull = solid->convex ? solid->convex->hull : NULL;
	const cr_facets *facets = solid->facets;
	if (facets && cr_count_facets(facets) <= MOST_NORMALS) {
		for (int32_t i = 0; i < facets->count; i++)
			add_candidate(s, list, v3d_scale(m3d_mul(to_a, facets->data[i].normal), sign));
	} else if (hull && hull->face_count <= MOST_NORMALS) {
		for (int32_t i = 0; i < hull->face_count; i++)
			add_candidate(s, list, v3d_scale(m3d_mul(to_a, hull->normals[i]), sign));
	} else {
		for (int i = 0; i < 6; i++) {
			const v3d axis = { i % 3 == 0, i % 3 == 1, i % 3 == 2 };
			add_candidate(s, list, v3d_scale(m3d_mul(to_a, axis), i < 3 ? 1 : -1));
		}
	}
}

/// Directions spread over the sphere: a spiral, each turned on by the golden angle.
static void add_spread(search *s, candidates *list)
{
	const double cosine = -0.7373688780783197, sine = 0.6754902942615238; // of pi (3 - sqrt 5)
	double x = 1, y = 0;
	for (int i = 0; i < SPREAD; i++) {
		const double z = 1 - (2 * i + 1) / (double)SPREAD, r = sqrt(1 - z * z), turned = x * cosine - y * sine;
		add_candidate(s, list, (v3d){ r * x, r * y, z });
		y = x * sine + y * cosine;
		x = turned;
	}
}

/// Follow the directions, always the one that may lead out soonest, no farther than the next one
/// may: so the shortest ways are found first. The others are left, unless no ball tells anything of
/// any: that is so of hulls of few faces, whose least way is that of one of their normals.
static void follow_candidates(search *s, candidates *list)
{
	const bool ranked = s->balls.count[0] + s->balls.count[1] > 0;
	for (int found = 0; list->count > 0 && !(ranked && found == MOST_FOUND);) {
		candidate c = list->data[--list->count];
		const double most = START_LENGTH * s->best.length;
		if (c.blocked > most)
			break;
		const double next = list->count > 0 ? list->data[list->count - 1].blocked : INFINITY;
		const double limit = fmin(most, fmax(next, c.blocked + STRIDE * s->best.length));
		cr_clear_way way;
		cr_find_clear_way(s->pair, c.direction, c.blocked, limit, &s->known, &way);
		// Its last parts may lie before its beginning.
		if (way.length < INFINITY && !way.blocked)
			cr_find_clear_way(s->pair, c.direction, 0, limit, &s->known, &way);
		if (way.length < INFINITY) {
			cr_add_inner_points(s->pair, &way, &s->balls);
			if (way.length < s->best.length)
				s->best = way;
			keep_start(s, &way);
			found++;
		} else if (way.passed <= most) { // else it leads out no sooner than the best one allows
			// A hair before, so that these parts are met again: a way is to know which it leaves
			// last.
			const double hair = s->pair->slack < 0.5 * STRIDE * s->best.length ? s->pair->slack : 0;
			c.blocked = way.passed - hair;
			insert(list, &c);
		}
	}
}

static __attribute__((noinline)) void try_candidates(search *s, v3d apart)
{
	const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const cr_solid_pair *pair = s->pair;
	candidates list = { .count = 0 };
	add_candidate(s, &list, apart);
	add_normals(s, &list, pair->b, &pair->b_in_a.rotation, 1);
	add_normals(s, &list, pair->a, &identity, -1);
	add_spread(s, &list);
	follow_candidates(s, &list);
}

// ---- From a start downhill ----

/// Add a half space of moves that are clear of the parts that a way leaves last, in place of the
/// first one where there are many.
static void add_plane(cr_half_spaces *p, const cr_clear_way *way)
{
	if (p->count == MOST_PLANES) {
		for (int i = 1; i < MOST_PLANES; i++) {
			p->normal[i - 1] = p->normal[i];
			p->reach[i - 1] = p->reach[i];
		}
		p->count--;
	}
	p->normal[p->count] = way->normal;
	p->reach[p->count++] = way->reach;
}

/// Better a way as far as half spaces lead.
static void descend(search *s, const cr_clear_way *start)
{
	cr_clear_way here = *start;
	cr_half_spaces p = { .count = 0 };
	add_plane(&p, &here);
	for (int round = 0; round < ROUNDS; round++) {
		v3d move = { 0, 0, 0 };
		cr_clear_way way;
		const double length = cr_shortest_move(&p, s->pair->slack, &move);
		if (!(length < here.length * (1 - GAIN)) || !(length > 0))
			break;
		const v3d direction = v3d_scale(move, 1 / length);
		const double limit = NEARLY * here.length;
		const double from = fmin(cr_blocked_until(s->pair, &s->balls, direction, limit), limit);
		cr_find_clear_way(s->pair, direction, from, here.length, &s->known, &way);
		if (!way.blocked)
			break;
		cr_add_inner_points(s->pair, &way, &s->balls);
		// A way that ends before it comes to the plane left over another one: that one counts
		// alone.
		if (way.length < length * (1 - GAIN))
			p.count = 0;
		add_plane(&p, &way);
		if (way.length < here.length)
			here = way;
	}
	if (here.length < s->best.length)
		s->best = here;
}

// ---- Around the best one ----

/// Follow a direction, if it may lead out sooner than the best one, and better its way.
static void try_beside(search *s, v3d direction)
{
	const double limit = s->best.length, from = cr_blocked_until(s->pair, &s->balls, direction, limit);
	cr_clear_way way;
	if (!(from < limit))
		return;
	cr_find_clear_way(s->pair, direction, from, limit, &s->known, &way);
	// Its last parts may lie before its beginning.
	if (way.length < INFINITY && !way.blocked)
		cr_find_clear_way(s->pair, direction, 0, limit, &s->known, &way);
	if (!(way.length < INFINITY))
		return;
	cr_add_inner_points(s->pair, &way, &s->balls);
	descend(s, &way);
}

static void try_ring(search *s, double radius)
{
	const double cosine = 0.8660254037844386, sine = 0.5; // of a twelfth of a turn
	const v3d middle = s->best.direction, axis = { fabs(middle.x) < 0.6, fabs(middle.x) >= 0.6, 0 };
	const v3d u = v3d_normalize(v3d_cross(middle, axis)), v = v3d_cross(middle, u);
	double x = radius, y = 0;
	for (int i = 0; i < RING; i++) {
		try_beside(s, v3d_normalize(v3d_mad(v3d_mad(middle, x, u), y, v)));
		const double turned = x * cosine - y * sine;
		y = x * sine + y * cosine;
		x = turned;
	}
}

static bool is_convex(const cr_solid *solid) { return solid->convex || (solid->facets && solid->facets->convex); }

/// Of two convex bodies the least way is found: there is no other hollow. Where no ball tells of
/// directions that they are blocked each is followed, so there are fewer rings.
static void try_rings(search *s)
{
	const int step = s->balls.count[0] + s->balls.count[1] > 0 ? 1 : 2;
	if (is_convex(s->pair->a) && is_convex(s->pair->b))
		return;
	for (int i = 0; i < RINGS; i += step)
		try_ring(s, RADIUS[i]);
}

void cr_part_solids(const cr_solid_pair *pair, cr_clear_way *way)
{
	search s = { .pair = pair };
	v3d ca, cb, extent, guess;
	cr_solid_box(pair->a, &ca, &extent);
	cr_solid_box(pair->b, &cb, &extent);
	v3d apart = v3d_sub(ca, v3d_add(m3d_mul(&pair->b_in_a.rotation, cb), pair->b_in_a.position));
	if (!(v3d_length(apart) > pair->slack))
		apart = (v3d){ 0, 0, 1 };
	cr_find_inner_balls(pair, &s.balls);
	const bool guessed = cr_guess_way(pair, &s.balls, &guess) && v3d_length(guess) > pair->slack;
	cr_find_clear_way(pair, v3d_normalize(guessed ? guess : apart), 0, INFINITY, &s.known, &s.best);
	if (s.best.length > 0) {
		const cr_clear_way start = s.best;
		descend(&s, &start);
		keep_start(&s, &s.best);
		try_candidates(&s, apart);
		for (int i = 0; i < s.start_count && s.start[i].length <= START_LENGTH * s.best.length; i++)
			descend(&s, &s.start[i]);
		try_rings(&s);
	}
	*way = s.best;
}
