/// Impacts of the spheres of continuous granular bodies with bodies of other kinds
/// (meeting_spheres.c finds those with each other). In: where the
/// spheres were when the step began and are when it ends, the motions of rigid bodies, the places
/// of vertices at both ends. Out: for each sphere and part the first impact on their way.
///
/// 1. Serial: the parts that any sphere may meet, with boxes around their whole motions, go into a
///    tree. Filters are asked once for each two bodies.
/// 2. Parallel, some hundred spheres at a time: each walks the tree with the box of its way. With a
///    rigid part it is one advancement of two movers (bvh/mover.h), as between continuous bodies.
///    With a body that deforms the tree of its surface gives the triangles near the way, as in
///    shape_impacts.c, and each is one advancement (geom/time_of_impact.h).
/// 3. Workers append to lists of their own. A sphere and a part have one impact at most, so the
///    order of all is a sort by distinct keys: it does not depend on threads. Two spheres have one
///    at most too, and join the sort.
/// 4. A sphere whose middle begins inside a closed solid that deforms touches it, and the nearest
///    point of the surface leads it out, as with a rigid mesh: the surface does not hold it in.
///    Whether it does is told by a line along an axis: the tree gives the triangles near it, and
///    they are counted where they are when the step begins.
///
/// No impact from outside is missed. A sphere stays within the box of its way, since that is a
/// straight line; parts stay within theirs; and each advancement says when the two meet. A triangle
/// that deforms lies within its end, grown by how far any vertex moves.
///
/// Cost: O(parts log parts + spheres log parts), and the advancements.
#include "world/sphere_impacts.h"
#include "base/parallel.h"
#include "frame/shape_table.h"
#include "geom/triangle.h"
#include "world/world.h"
#include <string.h>

enum { SPHERES_PER_CHUNK = 256 };

// How much deeper a sphere that touches a surface may get, by its radius.
#define SINKING 0.25

static const char *const what = "the impacts of granular bodies";

// ---- Ways ----

/// A sphere on its way.
typedef struct way {
	int32_t grains; // its body, by number in the world
	int32_t number;
	v3d begin, travel;
	double radius;
	bool moves;
	box3d box;
} way;

static void bound_way(way *w, double tolerance)
{
	for (int k = 0; k < 3; k++) {
		const double begin = v3d_get(w->begin, k), end = begin + v3d_get(w->travel, k);
		// Adding rounds three times.
		const double slack = w->radius + tolerance + (fabs(begin) + fabs(end) + w->radius) * 0x1p-50;
		w->box.lower[k] = fmin(begin, end) - slack;
		w->box.upper[k] = fmax(begin, end) + slack;
	}
}

static way way_of(const carom_world *world, int32_t grains, int64_t number)
{
	const cr_granular *g = cr_granular_of(&world->bodies.data[grains]);
	const double *end = &g->spheres.data[4 * number];
	way w = { .grains = grains, .number = (int32_t)number, .begin = cr_sphere_begin(g, number), .radius = end[3] };
	w.travel = v3d_sub((v3d){ end[0], end[1], end[2] }, w.begin);
	w.moves = w.travel.x != 0 || w.travel.y != 0 || w.travel.z != 0;
	bound_way(&w, world->def.toi_tolerance);
	return w;
}

// ---- Who takes part ----

static bool is_continuous(const cr_body *body) { return body->continuous; }

/// The box around the ways of all listed spheres.
static box3d bound_ways(const carom_world *world)
{
	const cr_sphere_impacts *m = &world->sphere_impacts;
	box3d all = BOX3D_NONE;
	for (int64_t i = 0; i < m->bodies.count; i++) {
		for (int64_t k = 0; k < m->first.data[i + 1] - m->first.data[i]; k++) {
			const way w = way_of(world, m->bodies.data[i], k);
			all = box3d_join(&all, &w.box);
		}
	}
	return all;
}

/// The box of a part's motion. False: spheres do not meet it.
static bool bound_part(const carom_world *world, cr_impact_part *p, box3d *box)
{
	const cr_body *body = &world->bodies.data[p->part];
	if (!body->alive || cr_granular_of(body))
		return false;
	if (!cr_deforming_of(body))
		return cr_bound_motion(world, p->part, box->lower, box->upper);
	if (body->sensor || !cr_bound_surface(&cr_deforming_of(body)->surface, &p->swept))
		return false;
	for (int k = 0; k < 3; k++) {
		box->lower[k] = p->swept.lower[k] - world->def.toi_tolerance;
		box->upper[k] = p->swept.upper[k] + world->def.toi_tolerance;
	}
	return true;
}

/// May a granular body meet a part, as filters say?
static bool may_meet(carom_world *world, int32_t grains, int32_t part)
{
	return cr_filters_pass(&world->bodies.data[grains], &world->bodies.data[part]) && cr_pair_filter_passes(world, grains, part);
}

static bool reserve_parts(carom_world *world, int64_t count)
{
	cr_sphere_impacts *m = &world->sphere_impacts;
	carom_context *memory = &world->memory;
	return cr_array_reserve(memory, &m->parts, count) && cr_array_reserve(memory, &m->passes, count * m->bodies.count) &&
		cr_part_tree_reserve(memory, &m->tree, count);
}

static carom_result list_part(carom_world *world, int32_t number, const box3d *all)
{
	cr_sphere_impacts *m = &world->sphere_impacts;
	const cr_body *body = &world->bodies.data[number];
	cr_impact_part part = { .part = number };
	box3d box;
	bool meets = false;
	if (!bound_part(world, &part, &box) || !box3d_overlap(&box, all))
		return CAROM_SUCCESS;
	if (!reserve_parts(world, m->parts.count + 1))
		return cr_fail_memory(world->context, what);
	uint8_t *passes = m->passes.data + m->parts.count * m->bodies.count;
	for (int64_t i = 0; i < m->bodies.count; i++) {
		passes[i] = may_meet(world, m->bodies.data[i], number);
		meets = meets || passes[i];
	}
	if (!meets)
		return CAROM_SUCCESS;
	carom_result result = CAROM_SUCCESS;
	part.seen = cr_deforming_of(body) ? cr_see_body(body, &result) : NULL;
	part.moves = !cr_deforming_of(body) && cr_part_moves(body);
	if (result != CAROM_SUCCESS)
		return result;
	cr_part_tree_add(&m->tree, (int32_t)m->parts.count, &box);
	m->parts.data[m->parts.count++] = part;
	return CAROM_SUCCESS;
}

static carom_result list_parts(carom_world *world, const box3d *all)
{
	cr_sphere_impacts *m = &world->sphere_impacts;
	m->parts.count = 0;
	cr_part_tree_clear(&m->tree);
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const carom_result result = list_part(world, (int32_t)i, all);
		if (result != CAROM_SUCCESS)
			return result;
	}
	return cr_part_tree_build(&world->memory, &m->tree) ? CAROM_SUCCESS : cr_fail_memory(world->context, what);
}

// ---- With rigid bodies ----

/// The work of one worker.
typedef struct search {
	carom_world *world;
	cr_sphere_impact_worker *out;
	way sphere;
} search;

static void append(search *s, const carom_body_impact *impact)
{
	if (impact->status == CAROM_TOI_APART)
		return;
	if (!cr_array_reserve_one(&s->world->memory, &s->out->impacts)) {
		s->out->failed = true;
		return;
	}
	carom_body_impact *made = &s->out->impacts.data[s->out->impacts.count++];
	*made = *impact;
	if (made->body_a.index1 - 1 == (uint32_t)s->sphere.grains)
		made->shape_a = s->sphere.number;
	else
		made->shape_b = s->sphere.number;
}

static cr_motion motion_of(const way *w)
{
	return (cr_motion){ .begin = { .orientation = { 0, 0, 0, 1 } }, .travel = w->travel, .axis = { 0, 0, 1 } };
}

static void meet_rigid(search *s, const cr_impact_part *p)
{
	const way *w = &s->sphere;
	if (!w->moves && !p->moves)
		return;
	const carom_shape ball = { .type = CAROM_SPHERE, .radius = w->radius };
	const int own = w->grains < p->part ? 0 : 1;
	int32_t part[2];
	cr_convex convex[2];
	cr_mover movers[2];
	part[own] = w->grains;
	part[1 - own] = p->part;
	movers[own] = cr_mover_of(&ball, &convex[own]);
	movers[own].motion = motion_of(w);
	movers[own].sinking = SINKING * w->radius;
	movers[1 - own] = cr_mover_of_part(s->world, p->part, w->begin, &convex[1 - own]);
	carom_body_impact impact;
	cr_sweep_movers(s->world, &s->out->scratch, part, movers, w->begin, &impact);
	s->out->tests++;
	append(s, &impact);
}

// ---- With bodies that deform ----

/// The first impact of a sphere with a surface so far.
typedef struct meeting {
	cr_impact_state state; // NONE: there is none; TOUCHING counts only where nothing else is met
	double time;
	int32_t triangle;
	v3d point;  // of the triangle
	v3d normal; // from the sphere to the triangle
	double distance;
} meeting;

static bool comes_near(const way *w, const cr_moving_triangle *t)
{
	bool apart = false;
	for (int k = 0; k < 3; k++) {
		double lower = INFINITY, upper = -INFINITY;
		for (int i = 0; i < 3; i++) {
			const double begin = v3d_get(t->begin[i], k), end = begin + v3d_get(t->travel[i], k);
			lower = fmin(lower, fmin(begin, end));
			upper = fmax(upper, fmax(begin, end));
		}
		const double at = v3d_get(w->begin, k), slack = (fabs(at) + fabs(lower) + fabs(upper)) * 0x1p-50;
		apart = apart || lower - slack > w->box.upper[k] - at || upper + slack < w->box.lower[k] - at;
	}
	return !apart;
}

/// Does a sphere that touches a triangle at the beginning get deeper by more than it may?
static bool pushes_on(const way *w, const cr_moving_triangle *t, v3d point, v3d normal)
{
	const cr_triangle_point on = cr_closest_on_triangle(point, t->begin);
	v3d travel = w->travel;
	for (int k = 0; k < 3; k++)
		travel = v3d_mad(travel, -on.weight[k], t->travel[k]);
	return v3d_dot(travel, normal) > SINKING * w->radius;
}

static bool is_earlier(const meeting *a, const meeting *b)
{
	const bool a_touches = a->state == CR_IMPACT_TOUCHING, b_touches = b->state == CR_IMPACT_TOUCHING;
	if (b->state == CR_IMPACT_NONE || a_touches != b_touches)
		return b->state == CR_IMPACT_NONE || b_touches;
	// Of those that touch the deepest counts.
	const double x = a_touches ? a->distance : a->time, y = a_touches ? b->distance : b->time;
	return x != y ? x < y : a->triangle < b->triangle;
}

static void meet_triangle(search *s, const cr_surface *surface, int32_t triangle, meeting *first)
{
	const way *w = &s->sphere;
	const cr_convex ball = { .core = CR_CORE_POINT, .rounding = w->radius };
	const cr_motion motion = motion_of(w);
	const cr_moving_triangle moving = cr_surface_motion(surface, triangle, w->begin);
	cr_impact impact;
	if (!comes_near(w, &moving))
		return;
	cr_find_triangle_impact(&moving, &ball, &motion, s->world->def.toi_tolerance, &impact);
	s->out->tests++;
	if (impact.state == CR_IMPACT_NONE)
		return;
	v3d corners[3];
	cr_triangle_at(&moving, impact.separation_time, corners);
	meeting now = { .state = impact.state,
		.time = impact.time,
		.triangle = triangle,
		.point = v3d_add(corners[0], impact.separation.on_a),
		.normal = impact.separation.normal,
		.distance = impact.separation.gap };
	if (now.state == CR_IMPACT_TOUCHING && pushes_on(w, &moving, now.point, now.normal))
		now.state = CR_IMPACT_FOUND;
	if (is_earlier(&now, first))
		*first = now;
}

static void write_meeting(search *s, const cr_impact_part *p, const meeting *first)
{
	const cr_body *bodies = s->world->bodies.data;
	const bool own = s->sphere.grains < p->part; // the sphere is A
	const int32_t a = own ? s->sphere.grains : p->part, b = own ? p->part : s->sphere.grains;
	const v3d at = v3d_add(first->point, s->sphere.begin);
	const carom_body_impact impact = { .body_a = cr_id_of(bodies, a),
		.body_b = cr_id_of(bodies, b),
		.user_data_a = bodies[a].user_data,
		.user_data_b = bodies[b].user_data,
		.status = cr_toi_status_of(first->state),
		.time = first->time,
		.distance = first->distance,
		.point = own ? v3d_mad(at, -first->distance, first->normal) : at,
		.normal = own ? v3d_neg(first->normal) : first->normal,
		.triangle_a = own ? -1 : first->triangle,
		.triangle_b = own ? first->triangle : -1 };
	append(s, &impact);
}

// ---- Spheres that begin inside a solid that deforms ----

/// A triangle where the step begins, about the middle of the sphere.
static void begin_of(const search *s, const cr_surface *surface, int32_t triangle, v3d corners[3])
{
	for (int k = 0; k < 3; k++) {
		const int32_t corner = surface->faces->triangles[3 * (int64_t)triangle + k];
		corners[k] = v3d_sub(cr_place_of(surface->begin, corner), s->sphere.begin);
	}
}

/// Does the line along z pass on the left of an edge, seen from above? Neighbours agree, whichever
/// way they go along it, for the rounded products differ by their sign alone.
static bool is_left(v3d p, v3d q)
{
	const double across = p.x * q.y - p.y * q.x;
	const bool turned = q.y < p.y;
	return across > 0 || (across == 0 && !turned);
}

/// How often the outline of a triangle winds around the line along z.
static int wind(const v3d c[3])
{
	int turns = 0;
	for (int k = 0; k < 3; k++) {
		const v3d p = c[k], q = c[(k + 1) % 3];
		if ((p.y > 0) != (q.y > 0))
			turns += q.y > p.y ? is_left(p, q) : -(int)!is_left(p, q);
	}
	return turns;
}

/// How often a triangle turns its front, or its back, to the middle of the sphere, upward along z.
static int count_above(const search *s, const cr_surface *surface, int32_t triangle)
{
	v3d c[3];
	begin_of(s, surface, triangle, c);
	const int turns = wind(c);
	const v3d normal = v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0]));
	// The line meets the plane at height dot(normal, c) / normal.z.
	return turns != 0 && normal.z != 0 && v3d_dot(normal, c[0]) / normal.z > 0 ? turns : 0;
}

/// How often the surface winds around the middle of the sphere when the step begins. all: the tree
/// has not all triangles.
static int count_turns(search *s, const cr_impact_part *p, const cr_surface *surface, bool all)
{
	const v3d at = s->sphere.begin;
	const double lower[3] = { at.x, at.y, at.z }, upper[3] = { at.x, at.y, p->swept.upper[2] };
	int turns = 0;
	for (int32_t i = 0; all && i < surface->faces->triangle_count; i++)
		turns += surface->faces->used[i] ? count_above(s, surface, i) : 0;
	if (all)
		return turns;
	const int32_t count = cr_find_swept_blocks(s->world, surface, p->seen, p->swept.travel, lower, upper, &s->out->blocks);
	s->out->failed = s->out->failed || count < 0;
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &p->seen->shape.collider->blocks[s->out->blocks.data[i]];
		for (int lane = 0; lane < block->count; lane++)
			turns += count_above(s, surface, block->number[lane]);
	}
	return turns;
}

static bool is_in_box(const way *w, const cr_swept_body *swept)
{
	bool within = true;
	for (int k = 0; k < 3; k++) {
		const double at = v3d_get(w->begin, k);
		within = within && at >= swept->lower[k] && at <= swept->upper[k];
	}
	return within;
}

/// The nearest point of the surface where the step begins.
typedef struct nearest_way {
	const search *s;
	const cr_impact_part *part;
	const cr_surface *surface;
	meeting *first; // distance: from the middle of the sphere
} nearest_way;

static bool may_be_nearer(const void *user, const double lower[3], const double upper[3])
{
	const nearest_way *n = user;
	double apart[3];
	for (int k = 0; k < 3; k++) {
		// A vertex was within its travel of where it is in the tree, which rounds it.
		const double slack = n->part->swept.travel[k] + 2 * cr_surface_slack(n->surface, k);
		const double at = v3d_get(n->s->sphere.begin, k) - v3d_get(n->part->seen->pose.position, k);
		apart[k] = fmax(0, fmax(lower[k] - slack - at, at - upper[k] - slack));
	}
	return v3d_length((v3d){ apart[0], apart[1], apart[2] }) <= n->first->distance;
}

static bool take_nearer(void *user, int32_t triangle, const v3d corners[3])
{
	nearest_way *n = user;
	v3d c[3];
	(void)corners;
	begin_of(n->s, n->surface, triangle, c);
	const v3d point = cr_closest_on_triangle((v3d){ 0, 0, 0 }, c).point;
	const double distance = v3d_length(point);
	if (distance < n->first->distance || (distance == n->first->distance && triangle < n->first->triangle)) {
		const v3d normal = v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0]));
		*n->first = (meeting){ CR_IMPACT_TOUCHING, 0, triangle, point,
			v3d_neg(distance > 0 ? v3d_scale(point, 1 / distance) : v3d_normalize(normal)), distance };
	}
	return false;
}

/// Lead the sphere out by the nearest point, if it begins inside.
static void leave_inside(search *s, const cr_impact_part *p, const cr_surface *surface, bool all, meeting *first)
{
	const cr_body *body = &s->world->bodies.data[p->part];
	if (body->kind == CAROM_CLOTH || !body->shape.mesh->report.closed || !is_in_box(&s->sphere, &p->swept) ||
		count_turns(s, p, surface, all) == 0)
		return;
	*first = (meeting){ .distance = INFINITY, .triangle = -1 };
	nearest_way n = { s, p, surface, first };
	for (int32_t i = 0; all && i < surface->faces->triangle_count; i++) {
		if (surface->faces->used[i])
			take_nearer(&n, i, NULL);
	}
	if (!all)
		cr_collider_walk(p->seen->shape.collider, &(cr_query_walk){ may_be_nearer, take_nearer, &n });
	first->distance = -(first->distance + s->sphere.radius);
}

static void meet_soft(search *s, const cr_impact_part *p)
{
	const cr_surface *surface = &cr_deforming_of(&s->world->bodies.data[p->part])->surface;
	const cr_topology *t = surface->faces;
	const cr_collider *collider = p->seen->shape.collider;
	meeting first = { .state = CR_IMPACT_NONE };
	// A tree of the end leaves out triangles that have no area then.
	if (collider->triangle_count != s->world->bodies.data[p->part].shape.mesh->collider.triangle_count) {
		for (int32_t i = 0; i < t->triangle_count; i++) {
			if (t->used[i])
				meet_triangle(s, surface, i, &first);
		}
		leave_inside(s, p, surface, true, &first);
		write_meeting(s, p, &first);
		return;
	}
	const int32_t count = cr_find_swept_blocks(
		s->world, surface, p->seen, p->swept.travel, s->sphere.box.lower, s->sphere.box.upper, &s->out->blocks);
	s->out->failed = s->out->failed || count < 0;
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &collider->blocks[s->out->blocks.data[i]];
		for (int lane = 0; lane < block->count; lane++)
			meet_triangle(s, surface, block->number[lane], &first);
	}
	leave_inside(s, p, surface, false, &first);
	write_meeting(s, p, &first);
}

// ---- All spheres ----

static void meet_part(search *s, int64_t grains, int32_t number)
{
	const cr_sphere_impacts *m = &s->world->sphere_impacts;
	const cr_impact_part *p = &m->parts.data[number];
	if (!m->passes.data[number * m->bodies.count + grains])
		return;
	if (p->seen)
		meet_soft(s, p);
	else
		meet_rigid(s, p);
}

static void meet_all(search *s, int64_t grains)
{
	const cr_sphere_impacts *m = &s->world->sphere_impacts;
	cr_part_walk walk = cr_walk_parts(&m->tree, &s->sphere.box);
	for (int32_t number; (number = cr_next_part(&walk)) != CR_NO_NODE;)
		meet_part(s, grains, number);
}

static void meet_task(int64_t begin, int64_t end, int worker, void *task)
{
	carom_world *world = task;
	const cr_sphere_impacts *m = &world->sphere_impacts;
	search s = { .world = world, .out = &m->workers[worker] };
	int64_t grains = 0;
	for (int64_t i = begin; i < end && !s.out->failed; i++) {
		while (m->first.data[grains + 1] <= i)
			grains++;
		s.sphere = way_of(world, m->bodies.data[grains], i - m->first.data[grains]);
		meet_all(&s, grains);
	}
}

static bool begin_workers(carom_world *world)
{
	cr_sphere_impacts *m = &world->sphere_impacts;
	m->workers = cr_keep_workers(world, m->workers, sizeof *m->workers, &m->worker_count);
	for (int32_t i = 0; i < m->worker_count; i++) {
		m->workers[i].impacts.count = m->workers[i].tests = 0;
		m->workers[i].failed = false;
	}
	return m->workers != NULL;
}

// ---- The list of all impacts ----

/// Append the impacts of all workers.
static bool gather(carom_world *world)
{
	const cr_sphere_impacts *m = &world->sphere_impacts;
	cr_continuous *c = &world->continuous;
	for (int32_t i = 0; i < m->worker_count; i++) {
		const cr_sphere_impact_worker *w = &m->workers[i];
		if (w->failed || c->next.count + w->impacts.count > INT32_MAX ||
			!cr_array_reserve(&world->memory, &c->next, c->next.count + w->impacts.count))
			return false;
		if (w->impacts.count > 0)
			memcpy(c->next.data + c->next.count, w->impacts.data, (size_t)w->impacts.count * sizeof *w->impacts.data);
		c->next.count += w->impacts.count;
		c->tests += w->tests;
	}
	return true;
}

/// Sort by body_a, body_b, shape_a, shape_b.
static bool sort_all(carom_world *world)
{
	cr_sphere_impacts *m = &world->sphere_impacts;
	cr_body_impacts *list = &world->continuous.next;
	const int64_t count = list->count;
	if (!cr_array_reserve_fresh(&world->memory, &m->order, 2 * count) || !cr_array_reserve(&world->memory, list, 2 * count))
		return false;
	cr_key *order = m->order.data;
	for (int64_t i = 0; i < count; i++)
		order[i] = (cr_key){ (uint64_t)list->data[i].shape_a << 32 | (uint32_t)list->data[i].shape_b, (uint32_t)i };
	cr_radix_sort(order, order + count, count, 64);
	for (int64_t i = 0; i < count; i++) {
		const carom_body_impact *impact = &list->data[order[i].value];
		order[i].key = (uint64_t)impact->body_a.index1 << 32 | impact->body_b.index1;
	}
	cr_radix_sort(order, order + count, count, 64);
	for (int64_t i = 0; i < count; i++)
		list->data[count + i] = list->data[order[i].value];
	if (count > 0)
		memcpy(list->data, list->data + count, (size_t)count * sizeof *list->data);
	return true;
}

carom_result cr_find_sphere_impacts(carom_world *world)
{
	cr_sphere_impacts *m = &world->sphere_impacts;
	if (world->sphere_contacts.body_count == 0)
		return CAROM_SUCCESS;
	if (!cr_list_granular(world, is_continuous, &m->bodies, &m->first))
		return cr_fail_memory(world->context, what);
	if (m->bodies.count == 0)
		return CAROM_SUCCESS;
	const box3d all = bound_ways(world);
	const carom_result result = list_parts(world, &all);
	if (result != CAROM_SUCCESS)
		return result;
	if (!begin_workers(world))
		return cr_fail_memory(world->context, what);
	cr_parallel_for(&world->memory, meet_task, m->first.data[m->bodies.count], SPHERES_PER_CHUNK, world);
	if (!gather(world))
		return cr_fail_memory(world->context, what);
	const carom_result met = cr_find_sphere_meetings(world);
	if (met != CAROM_SUCCESS)
		return met;
	return sort_all(world) ? CAROM_SUCCESS : cr_fail_memory(world->context, what);
}

void cr_free_sphere_impacts(carom_context *memory, cr_sphere_impacts *m)
{
	cr_array_free(memory, &m->bodies);
	cr_array_free(memory, &m->first);
	cr_array_free(memory, &m->parts);
	cr_array_free(memory, &m->passes);
	cr_part_tree_free(memory, &m->tree);
	cr_array_free(memory, &m->order);
	for (int32_t i = 0; i < m->worker_count; i++) {
		cr_array_free(memory, &m->workers[i].impacts);
		cr_array_free(memory, &m->workers[i].blocks);
	}
	cr_free(memory, m->workers, (size_t)m->worker_count * sizeof *m->workers);
	*m = (cr_sphere_impacts){ 0 };
}
