/// Memory of pairs: slots that stay put while a pair's boxes overlap, and the bound on its motion.
/// See temporal.h.

#include "frame/temporal.h"

// Measured on the recorded avalanche (docs/measured/coherence.md): flat between half and twice
// these.
static const double COST_LENGTH = 0.1; // F / b, of the smaller body's extent
// Times as much where a body deforms (docs/measured/deforming.md): full steps are dear, since
// winding numbers tell sides. Where rays look ahead, what is near is dearer still, without a grid.
static const double DEFORMING_COST = 3, AHEAD_COST = 0.5;
// of the same: a body at rest keeps its memory through the solver's jitter
static const double LEAST_THRESHOLD = 2e-3;
// memory that lasts for fewer steps costs more than it saves
static const double USEFUL_STEPS = 4;

void cr_temporal_free(carom_context *context, cr_temporal *t)
{
	cr_array_free(context, &t->slots);
	cr_array_free(context, &t->free);
	cr_array_free(context, &t->pairs);
	cr_array_free(context, &t->slot);
	cr_array_free(context, &t->next_slot);
	cr_array_free(context, &t->parked_slot);
	cr_pair_store_free(context, &t->parked);
}

void cr_temporal_init(cr_temporal *t)
{
	*t = (cr_temporal){ 0 };
	cr_pair_store_init(&t->parked);
}

/// Order of pairs in the lists.
static int compare(cr_body_pair p, cr_body_pair q)
{
	if (p.a != q.a)
		return p.a < q.a ? -1 : 1;
	return p.b < q.b ? -1 : p.b > q.b;
}

static int32_t take_slot(cr_temporal *t)
{
	const int32_t slot = t->free.count > 0 ? t->free.data[--t->free.count] : (int32_t)t->slots.count++;
	t->slots.data[slot] = (cr_pair_memory){ .ungrouped = true };
	return slot;
}

/// How many pairs begin in this step, and how many are to be parked.
typedef struct turnover {
	int64_t fresh, parked;
} turnover;

/// May the slot of a pair that is no longer there be parked?
static bool may_park(const cr_temporal_bodies *bodies, cr_body_pair pair)
{
	if (pair.a >= bodies->count || pair.b >= bodies->count)
		return false;
	const cr_body *a = &bodies->data[pair.a], *b = &bodies->data[pair.b];
	return a->alive && b->alive && cr_is_quiet(a) && cr_is_quiet(b);
}

static turnover count_turnover(const cr_temporal *t, const cr_temporal_bodies *bodies, const cr_pair_list *pairs)
{
	turnover n = { 0 };
	int64_t old = 0;
	for (int64_t i = 0; i < pairs->count; i++) {
		for (; old < t->pairs.count && compare(t->pairs.data[old], pairs->data[i]) < 0; old++)
			n.parked += may_park(bodies, t->pairs.data[old]);
		const bool goes_on = old < t->pairs.count && compare(t->pairs.data[old], pairs->data[i]) == 0;
		n.fresh += !goes_on;
		old += goes_on;
	}
	for (; old < t->pairs.count; old++)
		n.parked += may_park(bodies, t->pairs.data[old]);
	return n;
}

/// Room for a slot for each pair that begins, as if none ended before, and for those to be parked.
static bool reserve_turnover(carom_context *context, cr_temporal *t, int64_t bodies, turnover n, int64_t pairs)
{
	const int64_t more = n.fresh > t->free.count ? n.fresh - t->free.count : 0;
	return cr_array_reserve(context, &t->slots, t->slots.count + more) &&
		cr_array_reserve(context, &t->free, t->slots.count + more) && cr_array_reserve(context, &t->next_slot, pairs) &&
		(n.parked == 0 ||
			(cr_pair_store_reserve(context, &t->parked, bodies, n.parked) &&
				cr_array_reserve(context, &t->parked_slot, t->parked.count + n.parked)));
}

/// Free or park the slot of a pair of the last step.
static void leave(cr_temporal *t, const cr_temporal_bodies *bodies, int64_t old)
{
	const cr_body_pair pair = t->pairs.data[old];
	if (may_park(bodies, pair))
		t->parked_slot.data[cr_pair_store_add(&t->parked, pair.a, pair.b)] = t->slot.data[old];
	else
		t->free.data[t->free.count++] = t->slot.data[old];
}

/// Take a parked pair out. Returns its slot.
static int32_t take_parked(cr_temporal *t, int32_t record)
{
	cr_pair_store_remove(&t->parked, record);
	return t->parked_slot.data[record];
}

/// The slot of a pair that was none in the last step.
static int32_t begin_slot(cr_temporal *t, cr_body_pair pair)
{
	const int32_t record = t->parked.count > 0 ? cr_pair_store_find(&t->parked, pair.a, pair.b) : -1;
	return record >= 0 ? take_parked(t, record) : take_slot(t);
}

/// Free the parked slots of bodies that are no longer at rest: their pairs that are still there
/// have been taken out.
static void drop_parked(cr_temporal *t, const cr_temporal_bodies *bodies)
{
	const int64_t end = t->parked.count > 0 ? t->parked.first.count : 0;
	for (int64_t i = cr_next_change(bodies->changes, 0, end); i < end; i = cr_next_change(bodies->changes, i + 1, end)) {
		const bool rests = i < bodies->count && bodies->data[i].alive && cr_is_quiet(&bodies->data[i]);
		for (cr_pair_link at; !rests && (at = cr_first_stored(&t->parked, i)) >= 0;)
			t->free.data[t->free.count++] = take_parked(t, at / 2);
	}
}

bool cr_temporal_match(carom_context *context, cr_temporal *t, const cr_temporal_bodies *bodies, const cr_pair_list *pairs)
{
	// Room first, so that nothing can fail half way.
	if (!reserve_turnover(context, t, bodies->count, count_turnover(t, bodies, pairs), pairs->count))
		return false;
	int64_t old = 0;
	for (int64_t i = 0; i < pairs->count; i++) {
		while (old < t->pairs.count && compare(t->pairs.data[old], pairs->data[i]) < 0)
			leave(t, bodies, old++);
		if (old < t->pairs.count && compare(t->pairs.data[old], pairs->data[i]) == 0)
			t->next_slot.data[i] = t->slot.data[old++];
		else
			t->next_slot.data[i] = begin_slot(t, pairs->data[i]);
	}
	while (old < t->pairs.count)
		leave(t, bodies, old++);
	t->next_slot.count = pairs->count;
	t->pairs.count = 0; // their slots are handed on
	drop_parked(t, bodies);
	return true;
}

bool cr_temporal_keep(carom_context *context, cr_temporal *t, const cr_pair_list *pairs)
{
	if (!cr_array_reserve(context, &t->pairs, pairs->count)) {
		cr_temporal_forget(t);
		return false;
	}
	for (int64_t i = 0; i < pairs->count; i++)
		t->pairs.data[i] = pairs->data[i];
	t->pairs.count = pairs->count;
	const cr_slot_list spare = t->slot;
	t->slot = t->next_slot;
	t->next_slot = spare;
	return true;
}

void cr_temporal_forget(cr_temporal *t)
{
	t->slots.count = t->free.count = 0;
	t->pairs.count = t->slot.count = t->next_slot.count = 0;
	cr_pair_store_clear(&t->parked);
}

cr_transform cr_reference_transform(const cr_reference *r, int side)
{
	if (side == 1)
		return cr_make_transform(&r->rotation, r->translation);
	const m3d inverse = m3d_transposed(&r->rotation);
	return cr_make_transform(&inverse, v3d_neg(m3d_mul(&inverse, r->translation)));
}

cr_shared_region cr_find_shared_region(const cr_body *a, const cr_body *b)
{
	double centre[3], half[3];
	for (int k = 0; k < 3; k++) {
		const double lower = a->lower[k] > b->lower[k] ? a->lower[k] : b->lower[k];
		const double upper = a->upper[k] < b->upper[k] ? a->upper[k] : b->upper[k];
		centre[k] = 0.5 * (lower + upper);
		half[k] = 0.5 * (upper - lower);
	}
	const v3d extent = { half[0], half[1], half[2] };
	return (cr_shared_region){ { centre[0], centre[1], centre[2] }, extent, v3d_length(extent) };
}

double cr_turn(const m3d *p, const m3d *q)
{
	double squares = 0;
	for (int i = 0; i < 3; i++) {
		const v3d d = v3d_sub(p->row[i], q->row[i]);
		squares += v3d_dot(d, d);
	}
	return sqrt(0.5 * squares);
}

/// The greatest length of p with any signs of e[0], e[1] and e[2] added: of two opposite sums q the
/// longer p + q has the square
/// |p|^2 + |q|^2 + 2 |p q|.
static double farthest_corner(v3d p, const v3d e[3])
{
	const v3d sum = v3d_add(e[0], e[1]), difference = v3d_sub(e[0], e[1]);
	const v3d q[4] = { v3d_add(sum, e[2]), v3d_sub(sum, e[2]), v3d_add(difference, e[2]), v3d_sub(difference, e[2]) };
	double most = 0;
	for (int i = 0; i < 4; i++) {
		const double squares = v3d_dot(q[i], q[i]) + 2 * fabs(v3d_dot(p, q[i]));
		most = squares > most ? squares : most;
	}
	return sqrt(v3d_dot(p, p) + most);
}

double cr_displacement(const cr_body *a, const cr_body *b, const cr_shared_region *region, const m3d *now_rotation,
	const cr_reference *reference, double allowed)
{
	if (cr_pair_deforms(a, b))
		return cr_motion_of_parts(a, b, region, allowed, reference);
	// The point of each body that is now at the centre; where they were against each other at the
	// reference.
	m3d room_a, room_b;
	const m3d *turn_a = cr_rotation_at(a, &room_a), *turn_b = cr_rotation_at(b, &room_b);
	const v3d of_a = m3d_tmul(turn_a, v3d_sub(region->centre, a->pose.position));
	const v3d of_b = m3d_tmul(turn_b, v3d_sub(region->centre, b->pose.position));
	const v3d moved = v3d_sub(of_a, v3d_add(m3d_mul(&reference->rotation, of_b), reference->translation));
	const double bound = v3d_length(moved) + cr_turn(now_rotation, &reference->rotation) * region->radius;
	if (bound <= allowed)
		return bound;
	// The motion is affine: from the centre to a side of the box it changes by the difference of
	// the turns of a and b.
	v3d edges[3];
	for (int k = 0; k < 3; k++) {
		const v3d turned = v3d_sub(turn_a->row[k], m3d_mul(&reference->rotation, turn_b->row[k]));
		edges[k] = v3d_scale(turned, v3d_get(region->half, k));
	}
	return fmin(bound, farthest_corner(moved, edges));
}

double cr_part_displacement(const cr_part *part, const cr_reference *now, const cr_reference *then)
{
	const m3d change = { { v3d_sub(now->rotation.row[0], then->rotation.row[0]),
		v3d_sub(now->rotation.row[1], then->rotation.row[1]), v3d_sub(now->rotation.row[2], then->rotation.row[2]) } };
	const m3d columns = m3d_transposed(&change);
	const v3d edges[3] = { v3d_scale(columns.row[0], part->half.x), v3d_scale(columns.row[1], part->half.y),
		v3d_scale(columns.row[2], part->half.z) };
	return farthest_corner(v3d_add(m3d_mul(&change, part->middle), v3d_sub(now->translation, then->translation)), edges);
}

double cr_step_length(const cr_body *body)
{
	const cr_local_box box = cr_local_box_of(body);
	m3d room;
	const v3d now = v3d_add(m3d_mul(cr_rotation_at(body, &room), box.centre), body->pose.position);
	const m3d last_rotation = cr_last_rotation(body);
	const v3d then = v3d_add(m3d_mul(&last_rotation, box.centre), cr_last_pose(body)->position);
	return v3d_length(v3d_sub(now, then)) + cr_turn_of(body) * v3d_length(box.half);
}

double cr_path_after(double path, double step) { return step > 0 ? nextafter(path + step, INFINITY) : path; }

// ---- Bodies that deform ----
//
// Two points of the surfaces that are now within reach of each other lie within reach of the region
// that the world boxes share: along each axis, where one of them is outside a box by some way, the
// other is in it. So do the parts that they belong to, and they have moved against each other by no
// more than the paths of these two have grown.
//
// A vertex of a may also be inside b now, with no surface near, because a part of b has passed over
// it since. Between, as all points go straight from where they were to where they are, the two were
// together. The vertex now lies in both boxes, and the part of b is at most as far from it as both
// have moved since. So parts of b whose boxes, grown by that, meet the region count too.

/// How far a body has moved as a whole since a reference.
static double whole_growth(const cr_body *body, double then)
{
	return body->path > then ? body->path - then + body->path * 0x1p-50 : 0;
}

/// Does the box of a part, farther out by some way, meet the region?
static bool part_meets(const cr_body *body, const cr_surface_part *part, const cr_shared_region *region, double way)
{
	const cr_surface *s = &cr_deforming_of(body)->surface;
	for (int k = 0; k < 3; k++) {
		// The world box has grown by half the speculative distance and by roundings.
		const double grown = way + (s->lower[k] - body->lower[k]), at = v3d_get(region->centre, k),
					 half = v3d_get(region->half, k) + (fabs(at) + grown) * 0x1p-40;
		if (part->lower[k] - grown > at + half || part->upper[k] + grown < at - half)
			return false;
	}
	return true;
}

/// The greatest growth of a part of a body that meets the region when its box is farther out by
/// reach, or, unless passed is negative, by its growth and as much as that.
static double growth_in_reach(
	const cr_body *body, double path, uint32_t turns, const cr_shared_region *region, double reach, double passed)
{
	const double whole = whole_growth(body, path);
	if (!cr_deforming_of(body) || cr_deforming_of(body)->surface.parts.count == 0 || whole == 0)
		return whole;
	const cr_surface_parts *parts = &cr_deforming_of(body)->surface.parts;
	double most = 0;
	for (int32_t i = 0; i < parts->count; i++) {
		const double growth = cr_part_growth(parts, i, turns, whole);
		if (growth > most && part_meets(body, &parts->data[i], region, fmax(reach, passed < 0 ? 0 : passed + growth)))
			most = growth;
	}
	return most;
}

void cr_note_paths(const cr_body *a, const cr_body *b, cr_reference *now)
{
	now->path[0] = a->path;
	now->path[1] = b->path;
	now->turns[0] = cr_deforming_of(a) ? cr_deforming_of(a)->surface.parts.turns : 0;
	now->turns[1] = cr_deforming_of(b) ? cr_deforming_of(b)->surface.parts.turns : 0;
}

double cr_motion_of_parts(
	const cr_body *a, const cr_body *b, const cr_shared_region *region, double reach, const cr_reference *then)
{
	const double of_a = growth_in_reach(a, then->path[0], then->turns[0], region, reach, -1),
				 of_b = growth_in_reach(b, then->path[1], then->turns[1], region, reach, -1),
				 passed_a = growth_in_reach(a, then->path[0], then->turns[0], region, reach, of_b),
				 passed_b = growth_in_reach(b, then->path[1], then->turns[1], region, reach, of_a);
	return fmax(of_a + passed_b, of_b + passed_a) * (1 + 0x1p-50);
}

double cr_path_until(double path, double slack, double turn)
{
	// Points that come together after a further motion g lie beyond the region that the boxes share
	// now by up to sqrt(3) g, where the turn has moved it more. The rest is for the roundings of
	// the sums.
	return path + slack / (1 + 1.7320508075688773 * turn) * (1 - 0x1p-40) - path * 0x1p-50;
}

/// How far a body that deforms has moved in the last step, where it could touch.
static double last_stir(const cr_body *body, const cr_shared_region *region)
{
	if (!cr_deforming_of(body) || body->stir == 0)
		return 0;
	const double then = fmax(body->path - body->stir, 0);
	return growth_in_reach(body, then, cr_deforming_of(body)->surface.parts.turns - 1, region, 0, -1);
}

double cr_last_motion(const cr_body *a, const cr_body *b, const cr_shared_region *region)
{
	const v3d from_a = v3d_sub(region->centre, a->pose.position), from_b = v3d_sub(region->centre, b->pose.position);
	const v3d moved_a = v3d_sub(a->pose.position, cr_last_pose(a)->position),
			  moved_b = v3d_sub(b->pose.position, cr_last_pose(b)->position);
	return v3d_length(v3d_sub(moved_b, moved_a)) + cr_turn_of(a) * (v3d_length(from_a) + region->radius) +
		cr_turn_of(b) * (v3d_length(from_b) + region->radius) + last_stir(a, region) + last_stir(b, region);
}

double cr_choose_threshold(double motion, double size)
{
	const double best = fmax(sqrt(COST_LENGTH * size * motion), LEAST_THRESHOLD * size);
	return cr_is_threshold_useful(best, motion) ? best : 0;
}

bool cr_is_threshold_useful(double threshold, double motion) { return threshold >= USEFUL_STEPS * motion; }

/// Times that F / b of a pair is what it is between rigid bodies.
static double cost_of(const cr_body *a, const cr_body *b, bool ahead)
{
	return !cr_pair_deforms(a, b) ? 1 : ahead ? AHEAD_COST : DEFORMING_COST;
}

double cr_threshold_of(
	const cr_settings *settings, const cr_body *a, const cr_body *b, const cr_shared_region *region, double share, bool ahead)
{
	if (settings->lab.displacement_threshold > 0)
		return settings->lab.displacement_threshold;
	const double size = (double)fminf(a->shape.collider->extent, b->shape.collider->extent);
	return share * cr_choose_threshold(cr_last_motion(a, b, region), cost_of(a, b, ahead) * size);
}
