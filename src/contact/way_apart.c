/// The way out of two solids as a whole, where their features tell none.
///
/// Two equal meshes at one pose lie in each other with all of their surface. Their vertices are on
/// the other's surface, so that rounding tells whether they are inside, and those that are have no
/// depth. So are meshes whose faces coincide otherwise: mirrored, or turned by a symmetry. Their
/// triangles touch in common planes, and there may be no contact, or none that parts them.
///
/// A way near the shortest one is then looked for (bvh/parting.c), and is the contact, between the
/// parts that come clear last. Cost: milliseconds for meshes of hundreds of triangles. So it is
/// asked for only where surfaces meet and no contact came out, and where one mesh is twice at
/// nearly one place: there it is added where no contact is as deep. Convex meshes of few faces have
/// patches that are deep, and are not asked about.

#include "bvh/parting.h"
#include "contact/manifold.h"
#include "geom/separation.h"

// Of the diagonal of a mesh: two of it whose middles are no farther apart may be at one pose.
// Contacts that are less deep lead nowhere then.
static const double AT_ONE_PLACE = 1e-4, SHALLOW = 1e-3;

/// Is a pair one mesh twice, at nearly one place? However it is turned: it may have symmetries.
static bool is_one_twice(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_body *a = &p->bodies[w->a];
	if (a->shape.mesh != p->bodies[w->b].shape.mesh)
		return false;
	const v3d middle = cr_local_box_of(a).centre, other = v3d_add(m3d_mul(&w->now.rotation, middle), w->now.translation);
	return v3d_length(v3d_sub(other, middle)) <= AT_ONE_PLACE * (double)a->shape.collider->diagonal;
}

/// Do the surfaces of a pair without contacts meet?
static bool meet(const cr_pipeline *p, const cr_pair_work *w)
{
	return w->meetings.count > 0 || (w->looked && !(w->gap > 0) && cr_are_hulls(p, w));
}

static double deepest_of(const cr_raw_contacts *list)
{
	double deepest = 0;
	for (int64_t i = 0; i < list->count; i++)
		deepest = fmax(deepest, (double)list->data[i].depth);
	return deepest;
}

/// false: out of memory.
static bool make_solid(cr_completion *c, int side, cr_solid *solid)
{
	const carom_mesh *mesh = c->body[side]->shape.mesh;
	const cr_facets *facets = mesh->facets.put_off ? NULL : &mesh->facets;
	return cr_solid_of_mesh(&c->worker->arena, c->collider[side], facets, mesh->report.components, solid);
}

/// Add the way out of the pair, if it overlaps and no contact leads so far.
static void add_way(cr_completion *c)
{
	const cr_relative b_in_a = { c->rotation, c->translation };
	cr_solid solids[2];
	cr_solid_pair pair;
	cr_clear_way way;
	cr_separation s;
	if (!make_solid(c, 0, &solids[0]) || !make_solid(c, 1, &solids[1])) {
		c->worker->failed = true;
		return;
	}
	cr_prepare_pair(&pair, &solids[0], &solids[1], &b_in_a, 0, c->pipeline->bvh);
	cr_part_solids(&pair, &way);
	if (!(way.length > deepest_of(&c->worker->contacts) && way.length < INFINITY))
		return;
	const cr_convex a = cr_part_of_solid(&solids[0], way.triangle[0]), b = cr_part_of_solid(&solids[1], way.triangle[1]);
	const cr_relative moved = { c->rotation, v3d_mad(c->translation, -way.length, way.direction) };
	cr_convex_separation(&a, &b, &moved, &s);
	cr_add_crossing_contact(c, 0, s.on_a, way.direction, way.length, way.triangle[0], way.triangle[1], CAROM_FACES);
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
	if (w->contacts.count == 0)
		return meet(p, w) || is_one_twice(p, w);
	return is_one_twice(p, w) && !is_led_out(p, w);
}

void cr_add_way_apart(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	cr_load_contacts(worker, w->contacts);
	const cr_raw_contact *contacts = worker->contacts.data;
	cr_completion c = cr_begin_completion(p, worker, w);
	add_way(&c);
	cr_keep_contacts(worker, &w->contacts);
	cr_arena_rewind(&worker->arena, &mark);
	if (worker->contacts.data != contacts)
		worker->contacts = (cr_raw_contacts){ 0 };
}
