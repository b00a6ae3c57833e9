/// Bounds on how far spheres are from the parts that they may touch: see sphere_clearance.h.
///
/// A sphere that was asked about all parts near it and met none gets a ball: the place where it
/// was, and how far it may go, or grow, or parts may come towards it, before it can meet one. Until
/// then it is not asked. So a step costs a comparison for a sphere that nothing is near, and the
/// questions for the others. A sphere that touches something has no ball, and is asked as ever.
///
/// Why no contact is lost. The distance from a point to a set is no less than the distance from
/// another point, less the way between them; and no less than the distance before the set moved,
/// less the farthest that one of its points moved. Let d be a lower bound of the distance from the
/// place of the ball to all watched parts when it was made, less the distance ahead. A sphere of
/// radius r whose centre is a way w from the place has a contact only where d - w - (the way of the
/// parts) <= r. The motions of all parts are summed up in path, the greatest of each step: until is
/// d + path at that time. A closed mesh or a solid that a sphere is in is met; so the sphere lies
/// outside, and stays there while it does not cross the surface.
///
/// A rigid part moves by no more than its origin does, and 2 |q - q'| times the distance R of its
/// farthest point from the origin: the chord of a turn by t is 2 sin(t/2) R <= 4 sin(t/4) R, and
/// unit quaternions with that turn between them differ by 2 sin(t/4), one of them negated if need
/// be.
///
/// Distances are rounded, as those that contacts are made from: slack takes that off, and for
/// closed meshes, of whose rays the origins are floats, a part in a million of their size.
///
/// A part is watched where its box comes within the longest clearance of the box of all spheres of
/// a body that filters let it meet. One that was not watched before, that has another shape or
/// another filter, takes all balls back. Parts that deform are not watched: spheres near them are
/// asked in each step.
///
/// Balls are derived: they are in no snapshot, and change no result. They say something about a
/// place, not about a sphere: where spheres change places in the row, the balls are not met, and
/// are found again.
#include "world/sphere_clearance.h"
#include "frame/body_point.h"
#include "world/world.h"
#include <string.h>

// In radii: how far a ball is looked for, at first, and of the largest sphere at most. In ways that
// a sphere went since its last ball: fast spheres get larger ones.
static const double LEAST_SKIN = 4, MOST_SKIN = 16, WAYS = 4;

// Of all lengths that take part: far more than distances round. Of a closed mesh or a convex body:
// its rays are floats, and its distance is searched.
static const double ROUNDING = 1e-12, FLOAT_ROUNDING = 1e-6;

static double longest_clearance(const cr_granular *g) { return MOST_SKIN * g->largest; }

// ---- Which parts are watched ----

void cr_begin_watch(carom_world *world)
{
	cr_clearances *c = &world->sphere_contacts.clearances;
	c->watched.count = 0;
	c->was_soft = c->soft;
	c->soft = false;
	cr_part_tree_clear(&c->beside);
	cr_part_tree_clear(&c->soft_parts);
}

/// May a part come within the longest clearance of spheres of a granular body?
static bool may_come_near(const carom_world *world, int32_t grains, int32_t part, const box3d *box)
{
	const cr_body *bodies = world->bodies.data;
	const cr_granular *g = cr_granular_of(&bodies[grains]);
	const double reach = world->def.speculative_distance + longest_clearance(g);
	for (int k = 0; k < 3; k++) {
		if (!(g->bounds.lower[k] - reach <= box->upper[k] && g->bounds.upper[k] + reach >= box->lower[k]))
			return false;
	}
	return cr_filters_pass(&bodies[grains], &bodies[part]);
}

bool cr_watch_part(carom_world *world, int32_t part, int64_t near, const box3d *box)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	cr_clearances *c = &m->clearances;
	carom_context *memory = &world->memory;
	const cr_body *body = &world->bodies.data[part];
	bool comes = near >= 0;
	for (int64_t i = 0; i < m->bodies.count && !comes; i++)
		comes = may_come_near(world, m->bodies.data[i], part, box);
	if (!comes)
		return true;
	if (!cr_is_rigid(body)) {
		c->soft = true;
		if (near < 0)
			return true;
		if (!cr_part_tree_reserve(memory, &c->soft_parts, c->soft_parts.items.count + c->soft_parts.endless.count + 1))
			return false;
		cr_part_tree_add(&c->soft_parts, (int32_t)near, box);
		return true;
	}
	if (!cr_array_reserve_one(memory, &c->watched) ||
		!cr_part_tree_reserve(memory, &c->beside, c->beside.items.count + c->beside.endless.count + 1))
		return false;
	c->watched.data[c->watched.count++] = (cr_watched_part){ part, body->generation, body->pose };
	if (near < 0)
		cr_part_tree_add(&c->beside, part, box);
	return true;
}

// ---- How far they have moved ----

/// How far any point of a part has moved at most since it had another pose.
static double way_of(const cr_body *body, const carom_pose *then)
{
	const carom_pose *now = &body->pose;
	const carom_quat p = now->orientation, q = then->orientation;
	const double way = v3d_length(v3d_sub(now->position, then->position));
	const double less =
		(p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y) + (p.z - q.z) * (p.z - q.z) + (p.w - q.w) * (p.w - q.w);
	const double more =
		(p.x + q.x) * (p.x + q.x) + (p.y + q.y) * (p.y + q.y) + (p.z + q.z) * (p.z + q.z) + (p.w + q.w) * (p.w + q.w);
	const double turn = 2 * sqrt(fmin(less, more));
	if (way == 0 && turn == 0)
		return 0;
	const cr_local_box box = cr_local_box_of(body);
	const double radius = v3d_length(box.centre) + v3d_length(box.half);
	return (way + (turn > 0 ? (turn + ROUNDING) * radius : 0)) * (1 + ROUNDING);
}

/// Is a part, as it was watched in the last step, the one that is watched now?
static bool is_kept(const cr_body *body, const cr_watched_part *now, const cr_watched_part *then)
{
	return now->part == then->part && now->generation == then->generation && body->reshaped == CR_SHAPE_KEPT &&
		!body->refiltered;
}

/// Adds the ways of the watched parts to the path. False: some were not watched before.
static bool follow_parts(carom_world *world)
{
	cr_clearances *c = &world->sphere_contacts.clearances;
	const cr_watched_part *then = c->then.data, *end = then + c->then.count;
	double most = 0;
	c->still = c->still && c->then.count == c->watched.count;
	for (int64_t i = 0; i < c->watched.count; i++) {
		const cr_watched_part *now = &c->watched.data[i];
		const cr_body *body = &world->bodies.data[now->part];
		while (then < end && then->part < now->part)
			then++;
		if (then == end || !is_kept(body, now, then))
			return false;
		most = fmax(most, way_of(body, &then->pose));
		c->still = c->still && !body->changed && !body->moved;
	}
	c->still = c->still && most == 0;
	c->path += most;
	return c->path < INFINITY;
}

/// Notes which spheres the rows are of. False: out of memory. *kept: they are those of the last
/// step.
static bool note_rows(carom_world *world, bool *kept)
{
	const cr_sphere_contacts *m = &world->sphere_contacts;
	cr_clearances *c = &world->sphere_contacts.clearances;
	const int64_t count = 3 * m->bodies.count;
	*kept = c->rows.count == count;
	if (!cr_array_reserve(&world->memory, &c->rows, count))
		return false;
	for (int64_t i = 0; i < m->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[m->bodies.data[i]];
		const int64_t row[3] = { m->bodies.data[i], body->generation, cr_granular_of(body)->count };
		*kept = *kept && memcmp(&c->rows.data[3 * i], row, sizeof row) == 0 && !body->refiltered;
		c->still = c->still && !body->moved && !body->changed;
		memcpy(&c->rows.data[3 * i], row, sizeof row);
	}
	c->rows.count = count;
	return true;
}

static void take_back(cr_clearances *c)
{
	c->path = 0;
	c->still = false;
	for (int64_t i = 0; i < c->balls.count; i++)
		c->balls.data[i] = (cr_clear_ball){ .until = -INFINITY };
}

bool cr_end_watch(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	cr_clearances *c = &m->clearances;
	carom_context *memory = &world->memory;
	const int64_t count = c->watched.count > 0 ? m->first.data[m->bodies.count] : 0;
	bool kept;
	c->still = !c->forgotten && !c->soft && !c->was_soft && !world->def.contact_filter && !world->def.pair_filter;
	if (!cr_part_tree_build(memory, &c->beside) || !cr_part_tree_build(memory, &c->soft_parts) || !note_rows(world, &kept))
		return false;
	kept = kept && !c->forgotten && c->balls.count == count;
	if (c->balls.count != count) {
		c->balls.count = 0;
		if (!cr_array_reserve_fresh(memory, &c->balls, count))
			return false;
		c->balls.count = count;
	}
	if (!follow_parts(world) || !kept)
		take_back(c);
	c->forgotten = false;
	const cr_watch_list then = c->then;
	c->then = c->watched;
	c->watched = then;
	return true;
}

// ---- How far a sphere is from them ----

static bool may_be_inside(const cr_collider *mesh, v3d p)
{
	bool inside = true;
	for (int k = 0; k < 3; k++) {
		const double x = v3d_get(p, k), slack = FLOAT_ROUNDING * mesh->scale;
		inside = inside && x >= (double)mesh->lower[k] - slack && x <= (double)mesh->upper[k] + slack;
	}
	return inside;
}

/// How far a point is from a part at least, up to most. Negative: it is inside.
static double distance_to(const carom_world *world, const cr_body *body, v3d point, double most)
{
	const cr_bvh_kernels *kernels = world->pipeline.bvh;
	const cr_collider *mesh = cr_asked_mesh(body);
	m3d room;
	const m3d *rotation = cr_rotation_at(body, &room);
	const v3d p = m3d_tmul(rotation, v3d_sub(point, body->pose.position));
	double slack = ROUNDING * (v3d_length(point) + v3d_length(body->pose.position));
	if (!mesh) {
		cr_surface_point nearest;
		if (body->shape.family == CR_FAMILY_CONVEX)
			slack += FLOAT_ROUNDING * (v3d_length(cr_local_box_of(body).half) + v3d_length(p));
		cr_nearest_on_body(body, kernels, p, most, &nearest);
		return nearest.distance - slack;
	}
	cr_near_point near;
	if (mesh->closed) {
		const float origin[3] = { (float)p.x, (float)p.y, (float)p.z }, direction[3] = { 0.5f, 0.7f, 0.3f };
		slack += FLOAT_ROUNDING * mesh->scale;
		if (may_be_inside(mesh, p) && kernels->winding(mesh, origin, direction) != 0)
			return -INFINITY;
	}
	slack += ROUNDING * mesh->scale;
	return (kernels->closest(mesh, p, most, false, &near) ? sqrt(near.distance2) : most) - slack;
}

/// How far a point is from a box at least.
static double distance_to_box(const double p[3], const double lower[3], const double upper[3])
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double gap = fmax(fmax(lower[k] - p[k], p[k] - upper[k]), 0);
		sum += gap * gap;
	}
	return sqrt(sum) * (1 - ROUNDING);
}

/// The least distance so far of a sphere's centre, no more than limit.
static double look_at_near(const carom_world *world, int64_t grains, const double at[4], const box3d *box, double limit)
{
	const cr_sphere_contacts *m = &world->sphere_contacts;
	const cr_body *bodies = world->bodies.data;
	cr_part_walk walk = cr_walk_parts(&m->tree, box);
	for (int32_t near; (near = cr_next_part(&walk)) != CR_NO_NODE && limit > 0;) {
		const cr_near_part *n = &m->near.data[near];
		if (cr_is_rigid(&bodies[n->part]) && cr_filters_pass(&bodies[m->bodies.data[grains]], &bodies[n->part]))
			limit = fmin(limit, distance_to(world, n->body, (v3d){ at[0], at[1], at[2] }, limit));
	}
	return limit;
}

static double look_beside(const carom_world *world, const double at[4], const box3d *box, double limit)
{
	cr_part_walk walk = cr_walk_parts(&world->sphere_contacts.clearances.beside, box);
	for (int32_t part; (part = cr_next_part(&walk)) != CR_NO_NODE;) {
		const cr_body *body = &world->bodies.data[part];
		limit = fmin(limit, distance_to_box(at, body->lower, body->upper));
	}
	return limit;
}

/// How far a ball is looked for: the spheres that went a long way since the last one get more.
static double skin_of(const cr_granular *g, const double at[4], const cr_clear_ball *last)
{
	double skin = LEAST_SKIN * at[3];
	if (last->until > 0) {
		const v3d way = { at[0] - last->at[0], at[1] - last->at[1], at[2] - last->at[2] };
		skin = fmax(skin, WAYS * v3d_length(way));
	}
	return fmin(skin, longest_clearance(g));
}

void cr_find_clearance(const carom_world *world, int64_t grains, const double at[4], cr_clear_ball *ball)
{
	const cr_sphere_contacts *m = &world->sphere_contacts;
	const cr_clearances *c = &m->clearances;
	const cr_granular *g = cr_granular_of(&world->bodies.data[m->bodies.data[grains]]);
	const double ahead = world->def.speculative_distance, most = at[3] + ahead + skin_of(g, at, ball);
	box3d box;
	for (int k = 0; k < 3; k++) {
		box.lower[k] = at[k] - most * (1 + ROUNDING) - fabs(at[k]) * ROUNDING;
		box.upper[k] = at[k] + most * (1 + ROUNDING) + fabs(at[k]) * ROUNDING;
	}
	double distance = look_at_near(world, grains, at, &box, most);
	distance = look_beside(world, at, &box, distance);
	const double clear = distance - ahead - ROUNDING * (fabs(at[0]) + fabs(at[1]) + fabs(at[2]) + distance + c->path);
	*ball = (cr_clear_ball){ { at[0], at[1], at[2] }, clear > at[3] ? clear + c->path : -INFINITY };
}

void cr_forget_clearances(carom_world *world) { world->sphere_contacts.clearances.forgotten = true; }

void cr_free_clearances(carom_context *memory, cr_clearances *c)
{
	cr_array_free(memory, &c->balls);
	cr_array_free(memory, &c->watched);
	cr_array_free(memory, &c->then);
	cr_array_free(memory, &c->rows);
	cr_part_tree_free(memory, &c->beside);
	cr_part_tree_free(memory, &c->soft_parts);
	*c = (cr_clearances){ .forgotten = true };
}
