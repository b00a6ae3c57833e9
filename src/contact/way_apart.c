/// The way out of one mesh that is twice at one place, or of a mesh and its mirror image.
///
/// Two equal meshes at one pose lie in each other with all of their surface. Their vertices are on
/// the other's surface, so that rounding tells whether they are inside, and those that are have no
/// depth. Their triangles touch in common planes, and there may be no contact, or none that parts
/// them.
///
/// The contact is then a way that surely parts both, the shortest one along the axes of their boxes
/// (parting_bound.c), between the places that come clear last. It is added where the two meet and
/// no contact is as deep. Convex meshes of few faces have patches that are deep, and are not asked
/// about. Cost: O(triangles). A search for the shortest way (bvh/parting.c) takes milliseconds for
/// each pair, and bodies that are made at one place are many.

#include "contact/manifold.h"

// Of the diagonal of a mesh: two of it whose middles are no farther apart may be at one pose.
// Contacts that are less deep lead nowhere then.
static const double AT_ONE_PLACE = 1e-4, SHALLOW = 1e-3;
// Of the diagonal: so far below a triangle a place is looked at; and of so many triangles at most.
static const double BELOW = 1e-3;
enum { MOST_PLACES = 8 };

/// The middle of a body's local box; at once for the many rigid meshes.
static inline v3d middle_of(const cr_body *body)
{
	const cr_collider *c = body->shape.collider;
	if (body->shape.family != CR_FAMILY_MESH || !cr_is_rigid(body) || c->triangle_count == 0)
		return cr_local_box_of(body).centre;
	return v3d_scale(v3d_add(v3d_from_floats(c->lower), v3d_from_floats(c->upper)), 0.5);
}

/// Is a pair one mesh twice, at nearly one place, or a mesh and its mirror image? However they are
/// turned: a mesh may have symmetries.
static bool is_one_twice(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	const double size = (double)a->shape.collider->diagonal, near = AT_ONE_PLACE * size;
	if (a->shape.collider->topology->triangle_count != b->shape.collider->topology->triangle_count ||
		fabs((double)b->shape.collider->diagonal - size) > near)
		return false;
	const v3d other = v3d_add(m3d_mul(&w->now.rotation, middle_of(b)), w->now.translation);
	return v3d_length(v3d_sub(other, middle_of(a))) <= near;
}

/// Is a place of A's frame in a body?
static bool is_in(const cr_completion *c, int side, v3d place)
{
	const v3d p = cr_from_a(c, side, place);
	const float origin[3] = { (float)p.x, (float)p.y, (float)p.z }, direction[3] = { 0.5f, 0.7f, 0.3f };
	return cr_is_inside(c->pipeline, c->collider[side], origin, direction);
}

/// Is a place a little below one of A's triangles in both bodies? Where surfaces coincide, rounding
/// tells whether they meet.
static bool share_a_place(const cr_completion *c)
{
	const cr_topology *t = c->collider[0]->topology;
	const double below = BELOW * (double)c->collider[0]->diagonal;
	bool shared = false;
	for (int32_t i = 0; i < t->triangle_count && i < MOST_PLACES && !shared; i++) {
		v3d corners[3];
		cr_triangle_in_a(c, 0, i, corners);
		const v3d middle = v3d_scale(v3d_add(corners[0], v3d_add(corners[1], corners[2])), 1.0 / 3);
		const v3d place = v3d_mad(middle, -below, cr_collider_normal(c->collider[0], i));
		shared = is_in(c, 0, place) && is_in(c, 1, place);
	}
	return shared;
}

/// Do the surfaces of a pair meet? What the crossings stage has not decided is decided here.
static bool meet(cr_completion *c, cr_pair_work *w)
{
	cr_candidates crossing = { .data = cr_meetings_at(&c->pipeline->frame, w->meetings.first), .count = w->meetings.count };
	if (w->meetings.count == 0)
		return w->looked && !(w->gap > 0) && cr_are_hulls(c->pipeline, w);
	if (!cr_find_crossings(c, &crossing)) {
		c->worker->failed = true;
		return false;
	}
	w->meetings.count = crossing.count;
	w->tested = 0; // those that are left have moved up
	return crossing.count > 0;
}

/// The triangle with the vertex that is farthest along a direction of A's frame; point: that
/// vertex, likewise.
static int32_t farthest_of(const cr_completion *c, int side, v3d direction, v3d *point)
{
	const cr_topology *t = c->collider[side]->topology;
	const v3d d = cr_direction_from_a(c, side, direction);
	int32_t farthest = 0;
	double most = -INFINITY;
	for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
		const double along = v3d_dot(d, v3d_from_floats(&t->vertices[3 * (int64_t)t->triangles[i]]));
		if (along > most) {
			most = along;
			farthest = i;
		}
	}
	*point = cr_to_a(c, side, v3d_from_floats(&t->vertices[3 * (int64_t)t->triangles[farthest]]));
	return farthest / 3;
}

/// Add a way out of the pair, if no contact leads so far.
static void add_way(cr_completion *c)
{
	const cr_parting_way way = cr_begin_parting_way(c);
	if (!(way.depth > fmax(0, cr_greatest_depth(&c->worker->contacts)) && way.depth < INFINITY))
		return;
	const v3d out = way.side == 0 ? v3d_neg(way.normal) : way.normal; // of A
	v3d point, other;
	const int32_t of_a = farthest_of(c, 0, v3d_neg(out), &point), of_b = farthest_of(c, 1, out, &other);
	const double depth = v3d_dot(out, v3d_sub(other, point)); // boxes are a little larger
	if (depth >= 0)
		cr_add_crossing_contact(c, 0, point, out, depth, of_a, of_b, CAROM_FACES);
}

/// Does a contact surely lead out of a pair of one mesh? Of a convex one, any that is deep.
static bool is_led_out(const cr_pipeline *p, const cr_pair_work *w)
{
	const carom_mesh *mesh = p->bodies[w->a].shape.mesh;
	const cr_raw_contact *contacts = cr_contacts_at(&p->frame, w->contacts.first);
	bool deep = false;
	for (int32_t i = 0; i < w->contacts.count; i++)
		deep = deep || contacts[i].depth >= SHALLOW * (double)mesh->collider.diagonal;
	return deep && mesh->facets.convex;
}

bool cr_may_lack_way(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_collider *a = p->bodies[w->a].shape.collider, *b = p->bodies[w->b].shape.collider;
	if (!p->settings.lab.complete || !a->closed || !b->closed)
		return false;
	return is_one_twice(p, w) && !is_led_out(p, w);
}

void cr_add_way_apart(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	worker->contacts = (cr_raw_contacts){ 0 }; // those in hand may be given up memory
	cr_load_contacts(worker, w->contacts);
	cr_completion c = cr_begin_completion(p, worker, w);
	if (w->contacts.count > 0 || meet(&c, w) || share_a_place(&c))
		add_way(&c);
	cr_keep_contacts(worker, &w->contacts);
	cr_arena_rewind(&worker->arena, &mark);
	worker->contacts = (cr_raw_contacts){ 0 };
}
