/// See round_way.h.
///
/// Along one direction each triangle near the body's way forbids an interval of moves
/// (geom/passage.c). From no move on, each forbidden interval is left at its end, until nothing
/// forbids the move; a closed mesh is then asked whether the body is inside: if so, it goes on to
/// the next triangle. So the move that is found parts the body from the whole mesh, whatever its
/// form. Of several directions the shortest move counts; each is followed no farther than the best
/// so far. Cost: the triangles along the way, for each direction; only where the core is inside or
/// pierces.

#include "contact/round_way.h"
#include "geom/passage.h"

// Cosine to the front of an open mesh: below it a way slips along the mesh, and counts SLIP_COST
// times; below BACK it is none.
static const double SLIP = 0.3, SLIP_COST = 3, BACK = -0.05;
// A way that is no longer than so many times the least is good enough.
static const double ENOUGH = 1.25;
// Cosine: directions that are as good as one.
static const double SAME = 1 - 1e-9;

void cr_try_round_way(cr_round_tries *t, v3d direction)
{
	const double length = v3d_length(direction);
	if (t->count == CR_MOST_ROUND_WAYS || !(length > 0))
		return;
	const v3d unit = v3d_scale(direction, 1 / length);
	if (v3d_dot(unit, t->front) < BACK)
		return;
	for (int i = 0; i < t->count; i++) {
		if (v3d_dot(t->direction[i], unit) > SAME)
			return;
	}
	t->direction[t->count++] = unit;
}

/// The obstacles of moves along a direction.
typedef struct barrier {
	cr_passage passage;
	int32_t triangle;
} barrier;

typedef struct escape {
	const cr_bvh_kernels *kernels;
	cr_arena *arena;
	const cr_collider *collider;
	const v3d *core;
	double radius;
	const cr_round_tries *tries;
	double tolerance;
	double farthest; // from anywhere in the mesh to its outside
	cr_round_way best;
	double best_cost; // infinite: none yet
	int32_t *blocks;
	int32_t block_capacity;
	barrier *barriers;
	int32_t count;
	int32_t capacity;
} escape;

/// The blocks of triangles near the way of the body; -1: out of memory.
static int32_t find_blocks(escape *e, v3d direction, double limit)
{
	float lower[3], upper[3];
	const double pad = e->radius + e->tolerance;
	for (int k = 0; k < 3; k++) {
		const double p = v3d_get(e->core[0], k), q = v3d_get(e->core[1], k), move = limit * v3d_get(direction, k);
		lower[k] = cr_round_down(fmin(p, q) + fmin(move, 0) - pad);
		upper[k] = cr_round_up(fmax(p, q) + fmax(move, 0) + pad);
	}
	int32_t count = e->kernels->blocks_in_box(e->collider, lower, upper, e->block_capacity, e->blocks);
	if (count > e->block_capacity) {
		e->blocks = cr_arena_alloc(e->arena, (size_t)count * sizeof *e->blocks);
		e->block_capacity = count;
		if (!e->blocks)
			return -1;
		count = e->kernels->blocks_in_box(e->collider, lower, upper, count, e->blocks);
	}
	return count;
}

/// Does the body pass a triangle's bounding ball at all, however far it goes along a direction?
static bool may_meet(const escape *e, v3d direction, const v3d t[3])
{
	const v3d middle = v3d_scale(v3d_add(v3d_add(t[0], t[1]), t[2]), 1.0 / 3);
	const v3d half = v3d_scale(v3d_sub(e->core[1], e->core[0]), 0.5), d = v3d_sub(middle, v3d_add(e->core[0], half));
	double size2 = 0;
	for (int k = 0; k < 3; k++)
		size2 = fmax(size2, v3d_dot(v3d_sub(t[k], middle), v3d_sub(t[k], middle)));
	const double beside2 = v3d_dot(d, d) - v3d_dot(d, direction) * v3d_dot(d, direction);
	const double along = v3d_dot(half, direction), reach2 = fmax(v3d_dot(half, half) - along * along, 0);
	const double reach = sqrt(reach2) + sqrt(size2) + e->radius + e->tolerance;
	return beside2 <= reach * reach;
}

/// List the intervals that the triangles near the way forbid. false: out of memory.
static bool find_barriers(escape *e, v3d direction, double limit)
{
	const int32_t count = find_blocks(e, direction, limit);
	e->count = 0;
	if (count < 0)
		return false;
	if (count * CR_WIDTH > e->capacity) {
		e->capacity = count * CR_WIDTH;
		e->barriers = cr_arena_alloc(e->arena, (size_t)e->capacity * sizeof *e->barriers);
		if (!e->barriers)
			return false;
	}
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &e->collider->blocks[e->blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			v3d t[3];
			cr_collider_triangle(e->collider, block->number[lane], t);
			if (!may_meet(e, direction, t))
				continue;
			const cr_passage passage = cr_round_passage(e->core, e->radius, direction, t);
			if (passage.leave > 0 && passage.enter <= limit)
				e->barriers[e->count++] = (barrier){ passage, block->number[lane] };
		}
	}
	return true;
}

/// Leave the intervals that forbid a move from s on. Of barriers with one end the triangle that
/// comes first is told, by cr_triangle_precedes.
static double leave_barriers(const escape *e, double s, int32_t *triangle)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (int32_t i = 0; i < e->count; i++) {
			const barrier *b = &e->barriers[i];
			if (b->passage.enter > s + e->tolerance || b->passage.leave < s)
				continue;
			if (b->passage.leave > s || *triangle < 0 || cr_triangle_precedes(e->collider, b->triangle, *triangle)) {
				moved = moved || b->passage.leave > s;
				s = b->passage.leave;
				*triangle = b->triangle;
			}
		}
	}
	return s;
}

static bool is_inside(const escape *e, v3d direction, double s)
{
	if (!e->collider->closed)
		return false;
	const v3d p = v3d_mad(e->core[0], s, direction);
	const float origin[3] = { (float)p.x, (float)p.y, (float)p.z }, ray[3] = { 0.5f, 0.7f, 0.3f };
	return e->kernels->winding(e->collider, origin, ray) != 0;
}

/// The first move along a direction that brings the body clear, at most limit; infinite: none.
static double clear_along(escape *e, v3d direction, double limit, int32_t *triangle)
{
	double s = 0;
	for (;;) {
		s = leave_barriers(e, s, triangle);
		if (s > limit)
			return INFINITY;
		if (!is_inside(e, direction, s))
			return s;
		double next = INFINITY;
		for (int32_t i = 0; i < e->count; i++) {
			if (e->barriers[i].passage.enter > s)
				next = fmin(next, e->barriers[i].passage.enter);
		}
		if (next > limit)
			return INFINITY;
		s = next;
	}
}

/// Do the ends of the core that are inside come out within limit? Else the body does not, and its
/// triangles need not be looked at.
static bool may_come_out(const escape *e, v3d direction, double limit)
{
	const float d[3] = { (float)direction.x, (float)direction.y, (float)direction.z }, most = cr_round_up(1.0001 * limit);
	for (int end = 0; end < 2; end++) {
		if (!e->tries->inside[end])
			continue;
		const v3d p = e->core[end];
		const float o[3] = { (float)p.x, (float)p.y, (float)p.z };
		int32_t triangle;
		float t;
		uint8_t back;
		const carom_ray_batch ray = { 1, { &o[0], &o[1], &o[2] }, { &d[0], &d[1], &d[2] }, &most };
		e->kernels->cast(e->collider, &ray, 0, 1, &(carom_hit_batch){ &triangle, &t, &back });
		if (triangle < 0)
			return false;
	}
	return true;
}

/// Try a direction, as far as may be better than the best so far. false: out of memory.
static bool try_direction(escape *e, v3d direction)
{
	const bool slips = v3d_dot(e->tries->front, e->tries->front) > 0 && v3d_dot(direction, e->tries->front) < SLIP;
	const double cost = slips ? SLIP_COST : 1;
	if (isfinite(e->best_cost) && !may_come_out(e, direction, e->best_cost / cost))
		return true;
	double limit = isfinite(e->best_cost) ? e->best_cost / cost : fmax(2 * e->tries->least, 1.5 * e->radius);
	for (;;) {
		int32_t triangle = -1;
		if (!find_barriers(e, direction, limit))
			return false;
		const double s = clear_along(e, direction, limit, &triangle);
		if (triangle >= 0 && s * cost < e->best_cost) {
			e->best = (cr_round_way){ direction, s, triangle };
			e->best_cost = s * cost;
		}
		if (isfinite(e->best_cost) || limit > e->farthest)
			return true;
		limit *= 2;
	}
}

bool cr_find_round_way(const cr_bvh_kernels *kernels, cr_arena *arena, const cr_collider *c, const v3d core[2], double radius,
	const cr_round_tries *tries, cr_round_way *way)
{
	escape e = { .kernels = kernels, .arena = arena, .collider = c, .core = core, .radius = radius, .tries = tries };
	e.tolerance = 1e-9 * ((double)c->scale + radius + v3d_length(core[0]));
	e.farthest = 2 * (c->diagonal + radius) + v3d_length(v3d_sub(core[1], core[0]));
	e.best = (cr_round_way){ { 0, 0, 0 }, INFINITY, -1 };
	e.best_cost = INFINITY;
	for (int i = 0; i < tries->count; i++) {
		if (e.best_cost <= (i < tries->spare ? tries->least + e.tolerance : ENOUGH * tries->least))
			break;
		if (!try_direction(&e, tries->direction[i]))
			return false;
	}
	*way = e.best;
	return true;
}
