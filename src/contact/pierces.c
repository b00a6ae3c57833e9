/// Which candidates of a pair really cross, and where their edges pierce. Exact: the signs decide,
/// and only those that rounding leaves open go to the exact predicates.

#include "contact/crossing.h"
#include "base/radix.h"
#include "geom/triangle.h"
#include "vulkan/gpu_pierced.h"
#include <string.h>

cr_completion cr_begin_completion(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	cr_completion c = { .pipeline = p,
		.worker = worker,
		.work = w,
		.body = { &p->bodies[w->a], &p->bodies[w->b] },
		.rotation = w->now.rotation,
		.translation = w->now.translation };
	for (int side = 0; side < 2; side++)
		c.collider[side] = c.body[side]->shape.collider;
	return c;
}

/// On which side of a triangle's plane three points lie, and how far (times twice its area).
typedef struct plane_sides {
	int sign[3];
	double height[3];
} plane_sides;

static double larger(double a, double b) { return a > b ? a : b; }
static double largest(v3d a) { return larger(larger(fabs(a.x), fabs(a.y)), fabs(a.z)); }

/// Exact signs: the plane's normal serves all three points, and only signs that its rounding leaves
/// open go to the exact predicate. false: all three lie strictly on one side.
static bool find_sides(const v3d t[3], const v3d points[3], plane_sides *s)
{
	const v3d e = v3d_sub(t[1], t[0]), g = v3d_sub(t[2], t[0]);
	const v3d n = v3d_cross(e, g);
	const double size = largest(e) * largest(g);
	for (int k = 0; k < 3; k++) {
		const v3d d = v3d_sub(points[k], t[0]);
		s->height[k] = v3d_dot(n, d);
		const double bound = CR_PRODUCT_ERROR * size * largest(d);
		s->sign[k] = fabs(s->height[k]) > bound ? (s->height[k] > 0) - (s->height[k] < 0)
												: cr_orient3d_sign(t[0], t[1], t[2], points[k]);
	}
	return !(s->sign[0] == s->sign[1] && s->sign[1] == s->sign[2] && s->sign[0] != 0);
}

/// cr_line_meets_triangle: the volumes that the line spans with the triangle's edges share their
/// differences, and only signs that rounding leaves open go to the exact predicates.
static bool line_meets(v3d p, v3d q, const v3d t[3])
{
	const v3d d = v3d_sub(q, p), w[3] = { v3d_sub(t[0], p), v3d_sub(t[1], p), v3d_sub(t[2], p) };
	const double reach = larger(larger(largest(w[0]), largest(w[1])), largest(w[2]));
	const double bound = CR_PRODUCT_ERROR * largest(d) * reach * reach;
	int above = 0, below = 0;
	for (int k = 0; k < 3; k++) {
		const double volume = v3d_dot(v3d_cross(d, w[k]), w[(k + 1) % 3]);
		above += volume > bound;
		below += volume < -bound;
	}
	if (above == 3 || below == 3)
		return true;
	return !(above > 0 && below > 0) && cr_line_meets_triangle(p, q, t);
}

/// An edge is tested by the lower of its two triangles only: that one is a candidate with the same
/// partner whenever the edge pierces, unless a vertex speaks for it.
static bool owns_edge(const cr_completion *c, int side, int32_t number, int corner)
{
	const int32_t across = c->collider[side]->topology->neighbours[3 * number + corner];
	return (across < 0) | (across >= number) || (c->spoken && cr_is_spoken_for(c->spoken, side, across));
}

static void add_pierce(cr_completion *c, int side, const cr_pierce *pierce)
{
	c->pierces[side].data[c->pierces[side].count++] = *pierce;
}

/// Edges of one triangle against the other triangle. Returns the number of pierces: those that are
/// added, and where curves are followed (edges_beside.c) all.
static int pierce_edges(cr_completion *c, int side, int32_t number, const v3d own[3], const plane_sides *s,
	int32_t other_number, const v3d other[3])
{
	int count = 0;
	for (int k = 0; k < 3; k++) {
		const int l = (k + 1) % 3;
		if (s->sign[k] * s->sign[l] > 0 || (s->sign[k] == 0 && s->sign[l] == 0))
			continue;
		const bool owned = owns_edge(c, side, number, k);
		if (!(owned || c->spoken) || !line_meets(own[k], own[l], other))
			continue;
		count++;
		if (!owned)
			continue;
		// The signs have decided; the heights only say where, and may both have rounded to 0.
		const double h0 = fabs(s->height[k]), h1 = fabs(s->height[l]);
		const double at = s->sign[k] == 0 ? 0 : s->sign[l] == 0 ? 1 : h0 + h1 > 0 ? h0 / (h0 + h1) : 0.5;
		const bool entering = s->sign[k] > 0 || s->sign[l] < 0;
		add_pierce(c, side, &(cr_pierce){ 3 * number + k, other_number, at, entering, false, -1 });
	}
	return count;
}

/// Two triangles that are not in one plane intersect only where an edge of one meets the other.
/// Returns the number of pierces, or 1 for triangles that touch in one plane.
static int decide_exactly(cr_completion *c, cr_candidate pair)
{
	v3d a[3], b[3];
	plane_sides of_a, of_b;
	cr_triangle_in_a(c, 0, pair.a, a);
	cr_triangle_in_a(c, 1, pair.b, b);
	if (!find_sides(b, a, &of_a) || !find_sides(a, b, &of_b))
		return 0;
	if (of_a.sign[0] == 0 && of_a.sign[1] == 0 && of_a.sign[2] == 0)
		return cr_triangles_intersect(a, b);
	return pierce_edges(c, 0, pair.a, a, &of_a, pair.b, b) + pierce_edges(c, 1, pair.b, b, &of_b, pair.a, a);
}

/// The pierces of eight pairs in some lanes. Returns the lanes that have any. Half of the pierces
/// are left to the other triangle at the edge. Which ones cannot be foretold: so they are written,
/// and not counted.
static uint32_t take_pierces(cr_completion *c, const cr_pierces8 *found, uint32_t lanes, const cr_candidate *pairs)
{
	uint32_t taken = 0;
	for (int side = 0; side < 2; side++) {
		uint32_t left = 0;
		for (int k = 0; k < 3; k++)
			left |= (found->pierces[side][k] & lanes) << CR_WIDTH * k;
		cr_pierce *data = c->pierces[side].data;
		int32_t count = c->pierces[side].count;
		for (; left; left &= left - 1) {
			const int bit = __builtin_ctz(left), k = bit / CR_WIDTH, i = bit % CR_WIDTH;
			const int32_t number = side == 0 ? pairs[i].a : pairs[i].b, other = side == 0 ? pairs[i].b : pairs[i].a;
			const double h0 = fabs(found->height[side][k][i]), h1 = fabs(found->height[side][(k + 1) % 3][i]);
			data[count] = (cr_pierce){ 3 * number + k, other, h0 / (h0 + h1), found->above[side][k] >> i & 1, false, -1 };
			const bool owned = owns_edge(c, side, number, k);
			count += owned;
			taken |= (uint32_t)(owned | (c->spoken != NULL)) << i;
		}
		c->pierces[side].count = count;
	}
	return taken;
}

/// Room for the pierces of eight more pairs. Few of the candidates cross, so the lists grow.
static bool reserve_pierces(cr_completion *c)
{
	enum { MOST = 3 * CR_WIDTH, FIRST = 4 * MOST };
	for (int side = 0; side < 2; side++) {
		const int32_t count = c->pierces[side].count, capacity = c->pierces[side].capacity;
		if (count + MOST <= capacity)
			continue;
		const int32_t more = capacity > 0 ? 2 * capacity : FIRST;
		cr_pierce *data = cr_arena_alloc(&c->worker->arena, (size_t)more * sizeof *data);
		if (!data)
			return false;
		if (count > 0)
			memcpy(data, c->pierces[side].data, (size_t)count * sizeof *data);
		c->pierces[side].data = data;
		c->pierces[side].capacity = more;
	}
	return true;
}

/// The findings of a device about up to eight pairs.
static void load_pierces(cr_worker *worker, const cr_gpu_pierced *tested, int32_t used, cr_pierces8 *found)
{
	memset(found->above, 0, sizeof found->above);
	memset(found->pierces, 0, sizeof found->pierces);
	found->open = found->crossing = 0;
	for (int i = 0; i < used; i++) {
		const uint32_t bits = tested[i].bits;
		for (int edge = 0; edge < 6 && (bits & CR_GPU_CROSSING); edge++) {
			found->height[edge / 3][edge % 3][i] = tested[i].height[edge / 3][edge % 3];
			found->pierces[edge / 3][edge % 3] |= (bits >> (CR_GPU_PIERCES + edge) & 1) << i;
			found->above[edge / 3][edge % 3] |= (bits >> (CR_GPU_ABOVE + edge) & 1) << i;
		}
		found->open |= (uint32_t)((bits & CR_GPU_OPEN) != 0) << i;
		found->crossing |= (uint32_t)((bits & CR_GPU_CROSSING) != 0) << i;
	}
	worker->tests_on_device += used;
	worker->tests_returned += __builtin_popcount(found->open);
}

/// Find the pierces of up to eight candidates from number first on.
static void find_pierces(cr_completion *c, const cr_candidates *candidates, int32_t first, int32_t used, cr_pierces8 *found)
{
	const uint32_t tested = c->work->tested;
	if (tested > 0)
		load_pierces(c->worker, c->pipeline->pierced + (tested - 1) + first, used, found);
	else
		c->pipeline->kernels->pierce(
			c->collider[0], c->collider[1], &c->rotation, c->translation, candidates->data + first, used, found);
}

static bool keep_crossing(cr_completion *c, cr_candidates *candidates)
{
	for (int side = 0; side < 2; side++)
		c->pierces[side].count = c->pierces[side].capacity = 0;
	if (!reserve_pierces(c))
		return false;
	c->worker->triangle_tests += candidates->count;
	int32_t kept = 0;
	for (int32_t first = 0; first < candidates->count; first += CR_WIDTH) {
		const int32_t used = candidates->count - first < CR_WIDTH ? candidates->count - first : CR_WIDTH;
		cr_pierces8 found;
		find_pierces(c, candidates, first, used, &found);
		if (found.crossing && !reserve_pierces(c))
			return false;
		uint32_t cross = take_pierces(c, &found, found.crossing & ~found.open, candidates->data + first);
		for (uint32_t open = found.crossing & found.open; open; open &= open - 1) {
			const int i = __builtin_ctz(open);
			cross |= (uint32_t)(decide_exactly(c, candidates->data[first + i]) > 0) << i;
		}
		for (int i = 0; i < used; i++) {
			candidates->data[kept] = candidates->data[first + i];
			kept += (int32_t)(cross >> i & 1);
		}
	}
	candidates->count = kept;
	return true;
}

// Up to here insertion alone is faster than counting bytes (avalanche at rest: about ten pierces a
// pair).
enum { INSERTION_LIMIT = 64 };

static bool comes_before(const cr_pierce *a, const cr_pierce *b)
{
	if (a->edge != b->edge)
		return a->edge < b->edge;
	return a->s < b->s || (a->s == b->s && a->other < b->other);
}

static void insertion_sort(cr_pierce *data, int32_t count)
{
	for (int32_t i = 1; i < count; i++) {
		const cr_pierce p = data[i];
		int32_t at = i;
		for (; at > 0 && comes_before(&p, &data[at - 1]); at--)
			data[at] = data[at - 1];
		data[at] = p;
	}
}

/// Sort by edge and by the position along it rounded to float, whose bits sort as the numbers do
/// (they are not negative).
static bool presort(cr_arena *arena, cr_pierce *data, int32_t count)
{
	cr_key *keys = cr_arena_alloc(arena, 2 * (size_t)count * sizeof *keys);
	cr_pierce *copy = cr_arena_alloc(arena, (size_t)count * sizeof *copy);
	if (!keys || !copy)
		return false;
	memcpy(copy, data, (size_t)count * sizeof *copy);
	for (int32_t i = 0; i < count; i++) {
		const float s = (float)data[i].s;
		uint32_t bits;
		memcpy(&bits, &s, sizeof bits);
		keys[i] = (cr_key){ (uint64_t)data[i].edge << 32 | bits, (uint32_t)i };
	}
	cr_radix_sort(keys, keys + count, count, 64);
	for (int32_t i = 0; i < count; i++)
		data[i] = copy[keys[i].value];
	return true;
}

/// Sort by edge, then along the edge.
static bool sort_pierces(cr_arena *arena, cr_pierce *data, int32_t count)
{
	if (count > INSERTION_LIMIT && !presort(arena, data, count))
		return false;
	insertion_sort(data, count);
	return true;
}

bool cr_find_crossings(cr_completion *c, cr_candidates *candidates)
{
	if (!keep_crossing(c, candidates))
		return false;
	cr_arena *arena = &c->worker->arena;
	return sort_pierces(arena, c->pierces[0].data, c->pierces[0].count) &&
		sort_pierces(arena, c->pierces[1].data, c->pierces[1].count);
}
