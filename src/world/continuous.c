/// Continuous collision of rigid bodies. In: poses at the beginning and at the end of the step.
/// Out: for each pair of parts of which one is continuous and one moves, whether and when they come
/// within toi_tolerance of each other under screw motion.
///
/// 1. A box around the whole motion of each part: its box at the end, moved back along the way and
///    grown by the motion of a point by the turn, cut with the way of the origin grown by the
///    reach. A point p of the body at time t lies at o(t) + R(t) p. Between t and 1 the turn moves
///    it by no more than angle |p|, and it is never farther than |p| from o(t). So both boxes hold
///    it.
/// 2. Of two parts that rest none is looked at. So where few parts move, the tree that queries use
///    (query_index.h) gives the parts near each of them. Where many move, all parts are taken
///    whose boxes meet the box around all motions of continuous parts. Both lists hold each part of
///    a pair, and a sort along one axis (broad_sweep.c) finds the pairs. It applies kinds, filters
///    and the user's filter as it does for contacts. So no pair is missed, whichever of the two is
///    continuous.
/// 3. Each pair is one conservative advancement (bvh/mover.h), in parallel, into a place of its
///    own. Where it ends at a seam of flush parts, it goes on from there (open_ways.c).
///
/// Cost: where few parts move, O(log n) and those near it for each, and nothing where none moves;
/// else O(bodies) for boxes and O(n log n) for the n parts near continuous ones. Then a separation
/// or more for each pair. A world without continuous bodies does nothing of this.

#include "world/continuous.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/stable_sort.h"
#include "frame/shape_table.h"
#include "math/box3.h"
#include "world/open_ways.h"
#include "world/query_index.h"
#include "world/world.h"

// Few parts move where each of them stands beside so many others: then a search for each costs less
// than a look at all.
enum { FEW_MOVE = 16 };

static const char *const WHAT = "the impacts of continuous bodies";

// ---- Motions ----

bool cr_part_moves(const cr_body *part) { return part->moved && !cr_are_equal_poses(cr_begin_of(part), &part->pose); }

/// Where a body begins the step, by where its first part does.
static carom_pose body_begin(const cr_body *first)
{
	if (!cr_part_moves(first))
		return *cr_pose_of(first);
	const carom_pose *begin = cr_begin_of(first);
	return cr_compound_of(first) ? cr_pose_from_part(begin, &cr_compound_of(first)->part[0].pose) : *begin;
}

cr_motion cr_motion_of_body(const cr_body *bodies, int32_t part, v3d origin)
{
	const cr_body *first = &bodies[cr_first_part(bodies, part)];
	carom_pose begin = body_begin(first), end = *cr_pose_of(first);
	begin.position = v3d_sub(begin.position, origin);
	end.position = v3d_sub(end.position, origin);
	const cr_motion motion = cr_motion_between(&begin, &end);
	return cr_compound_of(first) ? cr_motion_of_part(&motion, &cr_compound_of(first)->part[bodies[part].part].pose) : motion;
}

// ---- Boxes of motions ----

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

double cr_part_reach(const cr_body *part)
{
	const cr_local_box box = cr_local_box_of(part);
	const v3d c = box.centre, h = box.half;
	return v3d_length((v3d){ fabs(c.x) + h.x, fabs(c.y) + h.y, fabs(c.z) + h.z });
}

/// Widens the box of a part at the end of the step to one around its motion.
static void sweep_box(const cr_body *bodies, int32_t index, box3d *box)
{
	const cr_body *part = &bodies[index], *first = &bodies[cr_first_part(bodies, index)];
	const v3d end = cr_pose_of(first)->position;
	const cr_motion motion = cr_motion_of_body(bodies, index, end);
	const double reach = cr_part_reach(part) + motion.lever, turn = motion.angle * reach;
	const double slack = 1e-9 * (reach + v3d_length(motion.travel));
	for (int k = 0; k < 3; k++) {
		const double way = v3d_get(motion.travel, k), at = v3d_get(end, k), from = at - way;
		const double lower = box->lower[k] - most(way, 0) - turn, upper = box->upper[k] - least(way, 0) + turn;
		box->lower[k] = most(lower, least(at, from) - reach) - slack;
		box->upper[k] = least(upper, most(at, from) + reach) + slack;
	}
}

/// Returns false for a part without extent. A plane that moves fills the world.
static bool bound_motion(const carom_world *world, int32_t index, box3d *box)
{
	const cr_body *part = &world->bodies.data[index];
	for (int k = 0; k < 3; k++) {
		box->lower[k] = part->lower[k];
		box->upper[k] = part->upper[k];
	}
	if (!(part->lower[0] <= part->upper[0]))
		return false;
	if (part->shape.def.type != CAROM_PLANE && cr_part_moves(part))
		sweep_box(world->bodies.data, index, box);
	for (int k = 0; k < 3; k++) {
		const double size = fabs(box->lower[k]) + fabs(box->upper[k]);
		const double margin = world->def.toi_tolerance + (isfinite(size) ? size * 0x1p-48 : 0);
		box->lower[k] -= margin;
		box->upper[k] += margin;
	}
	return true;
}

bool cr_bound_motion(const carom_world *world, int32_t part, double lower[3], double upper[3])
{
	box3d box;
	const bool some = bound_motion(world, part, &box);
	for (int k = 0; some && k < 3; k++) {
		lower[k] = box.lower[k];
		upper[k] = box.upper[k];
	}
	return some;
}

/// The box around the motions of all continuous bodies.
static box3d bound_continuous(const carom_world *world)
{
	box3d all = BOX3D_NONE, box;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *part = &world->bodies.data[i];
		if (part->alive && part->continuous && !cr_granular_of(part) && bound_motion(world, (int32_t)i, &box))
			all = box3d_join(&all, &box);
	}
	return all;
}

// ---- Pairs ----

static void add_stand_in(carom_world *world, int32_t index, const box3d *box)
{
	cr_continuous *c = &world->continuous;
	cr_body *b = &c->boxes.data[c->boxes.count++];
	*b = world->bodies.data[index];
	c->parts.data[c->parts.count++] = (cr_swept_part){ index, cr_part_moves(b) };
	b->part = 0; // the array has gaps: keep_pair tells the parts of one body
	b->moved = b->refiltered = true;
	b->contacts = true; // a body without contacts has impacts
	// A plane that moves meets all boxes; one at rest those that are not wholly above it.
	if (b->shape.def.type == CAROM_PLANE && c->parts.data[c->parts.count - 1].moves)
		b->shape.def.type = CAROM_BOX;
	for (int k = 0; k < 3; k++) {
		b->lower[k] = box->lower[k];
		b->upper[k] = box->upper[k];
	}
}

/// Does a part take part, and where? Surfaces and granular bodies have impacts of their own.
static bool bound_rigid(const carom_world *world, int32_t index, box3d *box)
{
	const cr_body *part = &world->bodies.data[index];
	return part->alive && !cr_deforming_of(part) && !cr_granular_of(part) && bound_motion(world, index, box);
}

static bool reserve_stand_in(carom_world *world)
{
	cr_continuous *c = &world->continuous;
	return cr_array_reserve_one(&world->memory, &c->boxes) && cr_array_reserve_one(&world->memory, &c->parts);
}

/// The parts near the continuous ones, by a look at all parts.
static carom_result list_boxes(carom_world *world)
{
	const box3d all = bound_continuous(world);
	for (int64_t i = 0; i < world->bodies.count; i++) {
		box3d box;
		if (!bound_rigid(world, (int32_t)i, &box) || !box3d_overlap(&all, &box))
			continue;
		if (!reserve_stand_in(world))
			return cr_fail_memory(world->context, WHAT);
		add_stand_in(world, (int32_t)i, &box);
	}
	return CAROM_SUCCESS;
}

/// Lists the parts that move, in order. false: out of memory.
static bool list_movers(carom_world *world)
{
	cr_continuous *c = &world->continuous;
	const int64_t count = world->bodies.count;
	c->near.count = 0;
	for (int64_t i = cr_next_change(&world->changes, 0, count); i < count; i = cr_next_change(&world->changes, i + 1, count)) {
		box3d box;
		if (!cr_part_moves(&world->bodies.data[i]) || !bound_rigid(world, (int32_t)i, &box))
			continue;
		if (!cr_array_reserve_one(&world->memory, &c->near))
			return false;
		c->near.data[c->near.count++] = (int32_t)i;
	}
	return true;
}

/// The search for the parts near one that moves.
typedef struct near_search {
	carom_world *world;
	const cr_body *part;
	box3d box;  // around its motion
	double pad; // by which boxes of the step are larger than those of the tree
	bool failed;
} near_search;

static double near_key(const void *user, const double lower[3], const double upper[3])
{
	const near_search *s = user;
	bool apart = false;
	for (int k = 0; k < 3; k++) {
		const double size = fabs(lower[k]) + fabs(upper[k]), pad = s->pad + (isfinite(size) ? size * 0x1p-46 : 0);
		apart = apart || lower[k] - pad > s->box.upper[k] || upper[k] + pad < s->box.lower[k];
	}
	return apart ? INFINITY : 0;
}

static bool add_near(void *user, int32_t item, double *limit)
{
	(void)limit;
	near_search *s = user;
	cr_continuous *c = &s->world->continuous;
	if (!s->part->continuous && !s->world->bodies.data[item].continuous)
		return true;
	s->failed = !cr_array_reserve_one(&s->world->memory, &c->near);
	if (!s->failed)
		c->near.data[c->near.count++] = item;
	return !s->failed;
}

static carom_result add_parts_near(carom_world *world, int32_t mover)
{
	near_search near = {
		.world = world, .part = &world->bodies.data[mover], .pad = world->pipeline.broad->margin + world->def.toi_tolerance
	};
	if (!bound_motion(world, mover, &near.box))
		return CAROM_SUCCESS;
	cr_box_search search = { .key = near_key, .asker = &near, .visit = add_near, .user = &near, .limit = 0 };
	const carom_result result = cr_search_body_boxes(world, &search);
	return near.failed ? cr_fail_memory(world->context, WHAT) : result;
}

static int compare_numbers(const void *a, const void *b)
{
	return cr_compare_numbers(*(const int32_t *)a, *(const int32_t *)b);
}

/// The parts that move, which are listed, and those near them.
static carom_result list_near_boxes(carom_world *world)
{
	cr_continuous *c = &world->continuous;
	const int64_t movers = c->near.count;
	carom_result result = CAROM_SUCCESS;
	for (int64_t i = 0; i < movers && result == CAROM_SUCCESS; i++)
		result = add_parts_near(world, c->near.data[i]);
	if (result != CAROM_SUCCESS)
		return result;
	cr_sort_stably(c->near.data, c->near.count, sizeof *c->near.data, compare_numbers);
	for (int64_t i = 0; i < c->near.count; i++) {
		box3d box;
		if ((i > 0 && c->near.data[i - 1] == c->near.data[i]) || !bound_rigid(world, c->near.data[i], &box))
			continue;
		if (!reserve_stand_in(world))
			return cr_fail_memory(world->context, WHAT);
		add_stand_in(world, c->near.data[i], &box);
	}
	return CAROM_SUCCESS;
}

/// Is a pair of boxes to be looked at? Then the user's filter is asked.
static bool keep_pair(void *user, int32_t a, int32_t b)
{
	carom_world *world = user;
	const cr_swept_part *parts = world->continuous.parts.data;
	const cr_body *bodies = world->bodies.data;
	const int32_t part_a = parts[a].part, part_b = parts[b].part;
	if (!(bodies[part_a].continuous || bodies[part_b].continuous) || !(parts[a].moves || parts[b].moves) ||
		cr_first_part(bodies, part_a) == cr_first_part(bodies, part_b))
		return false;
	return cr_pair_filter_passes(world, part_a, part_b);
}

static carom_result find_pairs(carom_world *world)
{
	cr_continuous *c = &world->continuous;
	c->boxes.count = c->parts.count = c->pairs.count = 0;
	if (!list_movers(world))
		return cr_fail_memory(world->context, WHAT);
	if (c->near.count == 0)
		return CAROM_SUCCESS;
	carom_result result = c->broad ? CAROM_SUCCESS : cr_broad_create_sweep(&world->memory, &c->broad);
	if (result == CAROM_SUCCESS)
		result = c->near.count * FEW_MOVE <= world->shape_count ? list_near_boxes(world) : list_boxes(world);
	if (result != CAROM_SUCCESS)
		return result;
	c->broad->margin = world->def.toi_tolerance;
	c->broad->verdict = keep_pair;
	c->broad->verdict_user = world;
	return c->broad->find(c->broad, c->boxes.data, (int32_t)c->boxes.count, &c->pairs);
}

// ---- Impacts ----

static void write_impact(
	const carom_world *world, const int32_t part[2], const cr_mover_impact *found, v3d place, carom_body_impact *out)
{
	const cr_body *bodies = world->bodies.data, *a = &bodies[part[0]], *b = &bodies[part[1]];
	const cr_impact *impact = &found->impact;
	*out = (carom_body_impact){ .body_a = cr_id_of(bodies, part[0]),
		.body_b = cr_id_of(bodies, part[1]),
		.user_data_a = a->user_data,
		.user_data_b = b->user_data,
		.shape_a = a->part,
		.shape_b = b->part,
		.status = cr_toi_status_of(impact->state),
		.sensor = a->sensor || b->sensor,
		.time = impact->time,
		.point = v3d_add(impact->separation.on_a, place),
		.normal = impact->separation.normal,
		.distance = impact->separation.gap,
		.triangle_a = found->triangle[0],
		.triangle_b = found->triangle[1] };
}

/// A quarter of half the thickness of a body: so deep its middle is still well on its side. Of a
/// mesh half the thickness is volume by area, as of a slab; an open one has none.
static double sinking_of(const cr_body *part)
{
	const v3d h = cr_local_box_of(part).half;
	double half = least(h.x, least(h.y, h.z));
	if (part->shape.collider && part->shape.family == CR_FAMILY_MESH) {
		const carom_mesh_report *report = &part->shape.mesh->report;
		half = report->closed && report->area > 0 ? least(half, report->volume / report->area) : 0;
	}
	return part->continuous ? 0.25 * half : (double)INFINITY;
}

static void find_impact(const carom_world *world, cr_mover_scratch *scratch, const cr_mover movers[2], const cr_open_ways *ways,
	cr_mover_impact *found)
{
	const double tolerance = world->def.toi_tolerance;
	if (!ways && cr_find_ball_way(world->pipeline.bvh, &movers[0], &movers[1], tolerance, found))
		return;
	if (cr_find_later_impact(scratch, &movers[0], &movers[1], tolerance, 1, ways, found)) {
		if (found->impact.state == CR_IMPACT_TOUCHING)
			cr_find_inside(world->pipeline.bvh, &movers[0], &movers[1], found);
		return;
	}
	cr_find_mover_impact(world->pipeline.bvh, scratch, &movers[0], &movers[1], tolerance, 1, found);
	if (found->impact.state != CR_IMPACT_NONE && !found->inside && (movers[0].collider || movers[1].collider))
		cr_find_nearest_parts(scratch, &movers[0], &movers[1], found);
}

cr_mover cr_mover_of_part(const carom_world *world, int32_t part, v3d origin, cr_convex *convex)
{
	const cr_body *body = &world->bodies.data[part];
	cr_mover mover = cr_mover_of(&body->shape.def, convex);
	mover.motion = cr_motion_of_body(world->bodies.data, part, origin);
	mover.sinking = sinking_of(body);
	mover.two_sided = mover.collider && !mover.collider->closed && !cr_has_front(body);
	return mover;
}

void cr_sweep_movers(const carom_world *world, cr_mover_scratch *scratch, const int32_t part[2], const cr_mover movers[2],
	v3d origin, carom_body_impact *out)
{
	cr_mover_impact found;
	cr_open_ways ways = { .count = 0 };
	find_impact(world, scratch, movers, NULL, &found);
	while (found.impact.state == CR_IMPACT_FOUND && cr_find_open_way(world, part, movers, &found.impact, &ways))
		find_impact(world, scratch, movers, &ways, &found);
	const v3d place = v3d_add(cr_motion_at(&movers[0].motion, found.impact.separation_time).position, origin);
	write_impact(world, part, &found, place, out);
}

static void sweep_pair(carom_world *world, cr_mover_scratch *scratch, int64_t pair)
{
	cr_continuous *c = &world->continuous;
	const cr_body *bodies = world->bodies.data;
	const int32_t part[2] = { c->parts.data[c->pairs.data[pair].a].part, c->parts.data[c->pairs.data[pair].b].part };
	const v3d origin = body_begin(&bodies[cr_first_part(bodies, part[0])]).position;
	cr_convex convex[2];
	const cr_mover movers[2] = { cr_mover_of_part(world, part[0], origin, &convex[0]),
		cr_mover_of_part(world, part[1], origin, &convex[1]) };
	cr_sweep_movers(world, scratch, part, movers, origin, &c->next.data[pair]);
}

static void sweep_pairs(int64_t begin, int64_t end, int worker, void *task)
{
	carom_world *world = task;
	for (int64_t i = begin; i < end; i++)
		sweep_pair(world, &world->continuous.scratch[worker], i);
}

static bool reserve_sweeps(carom_world *world)
{
	cr_continuous *c = &world->continuous;
	if (!c->scratch)
		c->scratch = cr_alloc_array(&world->memory, (size_t)world->pipeline.worker_count, sizeof *c->scratch);
	return c->scratch && cr_array_reserve_fresh(&world->memory, &c->next, c->pairs.count);
}

void cr_trim_body_impacts(carom_world *world)
{
	cr_continuous *c = &world->continuous;
	if (c->broad)
		c->broad->destroy(c->broad);
	c->broad = NULL;
	cr_free(&world->memory, c->scratch, (size_t)world->pipeline.worker_count * sizeof *c->scratch);
	c->scratch = NULL;
	cr_array_free(&world->memory, &c->near);
	cr_array_free(&world->memory, &c->boxes);
	cr_array_free(&world->memory, &c->parts);
	cr_array_free(&world->memory, &c->pairs);
	cr_array_free(&world->memory, &c->next);
}

carom_result cr_find_body_impacts(carom_world *world)
{
	cr_continuous *c = &world->continuous;
	c->tests = 0;
	if (c->body_count == 0) {
		if (c->broad)
			cr_trim_body_impacts(world);
		c->next.count = 0;
		return CAROM_SUCCESS;
	}
	const carom_result result = find_pairs(world);
	if (result != CAROM_SUCCESS)
		return result;
	if (!reserve_sweeps(world))
		return cr_fail_memory(world->context, WHAT);
	cr_parallel_for(&world->memory, sweep_pairs, c->pairs.count, 1, world);
	c->tests = c->pairs.count;
	int64_t kept = 0;
	for (int64_t i = 0; i < c->pairs.count; i++) {
		if (c->next.data[i].status != CAROM_TOI_APART)
			c->next.data[kept++] = c->next.data[i];
	}
	c->next.count = kept;
	return CAROM_SUCCESS;
}

void cr_take_body_impacts(cr_continuous *c)
{
	const cr_body_impacts found = c->found;
	c->found = c->next;
	c->next = found;
}

uint64_t cr_hash_body_impacts(const cr_continuous *c, uint64_t hash)
{
	for (int64_t i = 0; i < c->found.count; i++) {
		const carom_body_impact *p = &c->found.data[i];
		hash = cr_hash_u64(hash, (uint64_t)p->body_a.index1 << 32 | p->body_b.index1);
		hash = cr_hash_u64(hash, (uint64_t)p->body_a.generation << 32 | p->body_b.generation);
		hash = cr_hash_u64(hash, (uint64_t)p->shape_a << 32 | (uint32_t)p->shape_b);
		hash = cr_hash_u64(hash, (uint64_t)p->status << 1 | p->sensor);
		hash = cr_hash_u64(hash, (uint64_t)(uint32_t)p->triangle_a << 32 | (uint32_t)p->triangle_b);
		hash = cr_hash_double(hash, p->time);
		hash = cr_hash_double(hash, p->distance);
		for (int k = 0; k < 3; k++) {
			hash = cr_hash_double(hash, v3d_get(p->point, k));
			hash = cr_hash_double(hash, v3d_get(p->normal, k));
		}
	}
	return hash;
}

void cr_continuous_free(carom_world *world)
{
	cr_trim_body_impacts(world);
	cr_array_free(&world->memory, &world->continuous.found);
}

// ---- Calls ----

carom_body_impact_view carom_world_body_impacts(const carom_world *world)
{
	return (carom_body_impact_view){ world->continuous.found.data, (int32_t)world->continuous.found.count };
}

static bool is_of(const carom_body_impact *impact, carom_body_id id)
{
	return id.index1 == 0 || (impact->body_a.index1 == id.index1 && impact->body_a.generation == id.generation) ||
		(impact->body_b.index1 == id.index1 && impact->body_b.generation == id.generation);
}

const carom_body_impact *carom_world_earliest_body_impact(const carom_world *world, carom_body_id id)
{
	const carom_body_impact *earliest = NULL;
	for (int64_t i = 0; i < world->continuous.found.count; i++) {
		const carom_body_impact *impact = &world->continuous.found.data[i];
		if (impact->status != CAROM_TOI_TOUCHING && !impact->sensor && is_of(impact, id) &&
			(!earliest || impact->time < earliest->time))
			earliest = impact;
	}
	return earliest;
}
