/// Surface contacts with meshes: on which side features belong, and which of them are contacts.
///
/// Vertex against face. The side is known of a vertex that had a contact in the last step: from the
/// triangle of that contact a walk over the surface leads to where the vertex is now
/// (surface/side.h), and the side goes with it. That of another vertex is known where it meets a
/// triangle within the step: the impact's normal points to where it came from. But where the
/// corners of the triangle had come through the vertex's surface before, such an impact is the way
/// back. Else it is the side on which the vertex is: it came there without crossing, since no
/// impact is missed. A closed mesh that is no cloth has its outside.
///
/// A walk is dropped where its end is farther away than the last distance and the motions of the
/// step allow: then the caller has put a body elsewhere.
///
/// Edge against edge. The side has no name, since edges that turn past each other exchange front
/// and back. So the memory is the normal of the last contact: the edges have crossed where the
/// normal now is against it, and an impact of the two within the step, or an earlier crossing,
/// confirms it. Edges without a last contact take the side of those of their vertices that have
/// come through; else the impact's normal tells where they came from, and without one they are
/// where they belong.
///
/// A closed mesh has its outside at its vertices and edges too: where nothing is remembered,
/// another surface belongs where their normals point. There contacts of edges lead out between two
/// faces (surface_ridges.c).
///
/// 1. Belongings: the walks of vertices of the last contacts, those of impacts, and those of
///    vertices that begin inside (surface_inside.c).
/// 2. Each pair of the search is judged by itself, in parallel.
/// 3. Vertices and edges that are deeper on the wrong side than a thickness are appended to a list
///    of their own.
#include "base/parallel.h"
#include "base/stable_sort.h"
#include "geom/feature_distance.h"
#include "proximity/proximity_state.h"
#include "sweep/sweep_motion.h"
#include "world/surface_contacts.h"
#include "world/world.h"
#include <stdlib.h>
#include <string.h>

enum { PAIRS_PER_TASK = 256 };

// Squared sine of the angle below which edges count as parallel.
#define PARALLEL2 1e-12
// Cosine from which on a direction tells on which side of a surface something belongs: one along
// the surface does not.
#define CLEARLY 0.25
// What roundings may add to a distance that motions allow.
#define SLACK 1e-9

// ---- Members ----

static int32_t part_of(const cr_surface_contacts *m, int32_t mesh) { return m->members.list.data[mesh].body; }

const cr_body *cr_body_of_member(const carom_world *world, int32_t mesh)
{
	return &world->bodies.data[part_of(&world->surface_contacts, mesh)];
}

cr_placed cr_placed_member(const carom_world *world, int32_t mesh)
{
	const cr_body *body = cr_body_of_member(world, mesh);
	if (cr_deforming_of(body))
		return (cr_placed){ &body->shape.mesh->topology, cr_deforming_of(body)->surface.end };
	return (cr_placed){ &body->shape.mesh->topology, cr_get_sweep_places(world->surface_contacts.near->sweep, mesh).end };
}

bool cr_has_outside(const carom_world *world, int32_t mesh_a, int32_t mesh_b)
{
	const cr_body *b = cr_body_of_member(world, mesh_b);
	return mesh_a != mesh_b && b->kind != CAROM_CLOTH && b->shape.mesh->report.closed;
}

/// The normal of a vertex of a solid that deforms, weighted by areas. cr_see_solids has made its
/// fans.
static v3d outward_of_solid(const carom_world *world, int32_t mesh, int32_t vertex)
{
	const cr_placed surface = cr_placed_member(world, mesh);
	const cr_fans *fans = &world->surface_contacts.fans.data[mesh];
	const int32_t at = surface.faces->weld[vertex];
	v3d sum = { 0, 0, 0 };
	for (int32_t i = fans->first[at]; i < fans->first[at + 1]; i++) {
		const int32_t *t = &surface.faces->triangles[fans->corners[i] / 3 * 3];
		const v3d p = cr_placed_vertex(&surface, t[0]);
		sum =
			v3d_add(sum, v3d_cross(v3d_sub(cr_placed_vertex(&surface, t[1]), p), v3d_sub(cr_placed_vertex(&surface, t[2]), p)));
	}
	return v3d_normalize(sum);
}

/// The outward normal of a vertex of a closed mesh that is no cloth, as another mesh meets it; zero
/// of another one. To the mesh itself it tells nothing: a part of a solid may lie behind another
/// one of it, with the inside between them.
static v3d outward_at(const carom_world *world, int32_t mesh, int32_t other, int32_t vertex)
{
	const cr_body *body = cr_body_of_member(world, mesh);
	if (mesh == other || body->kind == CAROM_CLOTH || !body->shape.mesh->report.closed)
		return (v3d){ 0, 0, 0 };
	if (cr_deforming_of(body))
		return outward_of_solid(world, mesh, vertex);
	return cr_vector_to_world(body, v3d_from_floats(body->shape.mesh->topology.normals + 3 * (int64_t)vertex));
}

// ---- The contacts of the last step ----

static int compare_features(const int32_t a[4], const int32_t b[4])
{
	int order = 0;
	for (int k = 0; k < 4 && order == 0; k++)
		order = cr_compare_numbers(a[k], b[k]);
	return order;
}

/// The contact between the features of this one among the first count of a list in order; NULL:
/// there is none.
static const carom_surface_contact *find_in(const cr_surface_contact_list *list, int64_t count, const carom_surface_contact *c)
{
	int64_t low = 0, high = count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (cr_compare_surface_contacts(&list->data[middle], c) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const carom_surface_contact *found = low < count ? &list->data[low] : NULL;
	return found && cr_compare_surface_contacts(found, c) == 0 && found->triangle == c->triangle ? found : NULL;
}

/// The contact of the last step between the features of this one; NULL: there was none.
static const carom_surface_contact *find_last(const carom_world *world, const carom_surface_contact *c)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const carom_surface_contact *last = find_in(&m->found, m->known, c);
	return last && cr_is_remembered(world, last) ? last : find_in(&m->carried, m->carried.count, c);
}

void cr_continue_surface_contact(const carom_world *world, carom_surface_contact *c)
{
	const carom_surface_contact *last = find_last(world, c);
	cr_go_on(last ? &last->age : NULL, last ? last->impulse : NULL, &c->age, c->impulse);
}

/// How far a vertex moves in the step.
static double motion_of(const carom_world *world, int32_t part, int32_t vertex)
{
	return v3d_length(v3d_sub(cr_vertex_at(world, part, vertex, 1), cr_vertex_at(world, part, vertex, 0)));
}

/// How far the features of a contact of the last step may be from each other now.
static double farthest_of(const carom_world *world, const carom_surface_contact *c)
{
	const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
	double most[2] = { 0, 0 };
	for (int k = 0; k < 4; k++) {
		const int64_t part = k < of_a ? cr_part_a_of(c) : cr_part_b_of(c);
		most[k >= of_a] = fmax(most[k >= of_a], motion_of(world, (int32_t)part, c->vertices[k]));
	}
	return (fabs(c->distance) + most[0] + most[1]) * (1 + SLACK);
}

// ---- Belongings ----

bool cr_append_belonging(carom_world *world, cr_belongings *list, const cr_belonging *b)
{
	if (!cr_array_reserve_one(&world->memory, list))
		return false;
	list->data[list->count++] = *b;
	world->surface_contacts.tangled |= b->through;
	return true;
}

static v3d placed_vertex(const carom_world *world, int32_t mesh, int32_t vertex)
{
	const cr_placed surface = cr_placed_member(world, mesh);
	return cr_placed_vertex(&surface, vertex);
}

void cr_walk_belonging(const carom_world *world, cr_belonging *b)
{
	const cr_placed surface = cr_placed_member(world, b->mesh_b);
	b->foot = cr_follow_surface(&surface, b->triangle, placed_vertex(world, b->mesh_a, b->vertex));
	if (cr_has_outside(world, b->mesh_a, b->mesh_b))
		cr_hold_at_entry(world, b);
	b->through = b->through || b->held || cr_side_of_foot(&surface, &b->foot) == -b->side;
}

int cr_compare_belonging(const cr_belonging *b, int32_t mesh_a, int32_t mesh_b, int32_t vertex)
{
	int order = cr_compare_numbers(b->mesh_a, mesh_a);
	if (order == 0)
		order = cr_compare_numbers(b->mesh_b, mesh_b);
	return order != 0 ? order : cr_compare_numbers(b->vertex, vertex);
}

/// Note the way on which vertices of cloth were led out, unless the cloth was put elsewhere. False:
/// out of memory.
static bool remember_lead(carom_world *world, const carom_surface_contact *c)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const int32_t a = cr_part_a_of(c), b = cr_part_b_of(c), mesh_a = cr_find_member(&m->members.list, a),
				  mesh_b = cr_find_member(&m->members.list, b);
	if (mesh_a < 0 || mesh_b < 0)
		return true;
	const bool is_a = world->bodies.data[a].kind == CAROM_CLOTH;
	const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2, first = is_a ? 0 : of_a, end = is_a ? of_a : 4;
	v3d from = { 0, 0, 0 };
	bool enough = true;
	for (int k = first; k < end; k++)
		from = v3d_mad(from, c->weight[k], cr_vertex_at(world, is_a ? a : b, c->vertices[k], 0));
	const bool is_there = v3d_length(v3d_sub(from, is_a ? c->point_a : c->point_b)) <= fabs(c->distance);
	for (int k = first; k < end && is_there && enough; k++) {
		const cr_belonging now = { .mesh_a = is_a ? mesh_a : mesh_b,
			.mesh_b = is_a ? mesh_b : mesh_a,
			.vertex = c->vertices[k],
			.side = CR_SIDE_FRONT,
			.through = true,
			.lead = is_a ? c->normal : v3d_neg(c->normal) };
		enough = cr_append_belonging(world, &world->surface_contacts.leads, &now);
	}
	return enough;
}

/// Let a vertex belong where it did, if it is near there. False: out of memory.
static bool remember_contact(carom_world *world, const carom_surface_contact *c)
{
	cr_surface_contacts *m = &world->surface_contacts;
	if (c->side == 0 || c->led)
		return true;
	cr_belonging now = { .mesh_a = cr_find_member(&m->members.list, cr_part_a_of(c)),
		.mesh_b = cr_find_member(&m->members.list, cr_part_b_of(c)),
		.vertex = c->vertices[0],
		.triangle = c->triangle,
		.side = (cr_side)c->side,
		.through = c->through,
		.entered = c->through ? -1 : INFINITY };
	if (now.mesh_a < 0 || now.mesh_b < 0)
		return true;
	cr_walk_belonging(world, &now);
	const double most = farthest_of(world, c);
	return !(now.foot.distance2 <= most * most) || cr_append_belonging(world, &m->remembered, &now);
}

static int compare_for_sort(const void *a, const void *b)
{
	const cr_belonging *x = a, *y = b;
	int order = cr_compare_belonging(x, y->mesh_a, y->mesh_b, y->vertex);
	if (order == 0)
		order = cr_compare_numbers(x->triangle, y->triangle);
	return order;
}

static void sort_belongings(cr_belongings *list)
{
	if (list->count > 1)
		cr_sort_stably(list->data, list->count, sizeof *list->data, compare_for_sort);
}

void cr_sort_belongings(cr_belongings *list)
{
	int64_t count = 0;
	sort_belongings(list);
	for (int64_t i = 0; i < list->count; i++) {
		if (count == 0 || compare_for_sort(&list->data[count - 1], &list->data[i]) != 0)
			list->data[count++] = list->data[i];
	}
	list->count = count;
}

/// Those that were carried over from other meshes, and all in order again.
static bool remember_carried(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	for (int64_t i = 0; i < m->carried.count; i++) {
		const carom_surface_contact *c = &m->carried.data[i];
		const bool is_here = carom_world_is_body(world, c->body_a) && carom_world_is_body(world, c->body_b);
		if (c->kind == CAROM_SWEEP_VERTEX_FACE && is_here && !remember_contact(world, c))
			return false;
		if (c->led && is_here && !remember_lead(world, c))
			return false;
	}
	sort_belongings(&m->remembered);
	return true;
}

static bool remember(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	m->remembered.count = m->leads.count = m->led.ways.count = 0;
	m->tangled = false;
	if (!cr_list_last_runs(world))
		return false;
	for (int64_t i = 0; i < m->runs.count; i++) {
		const cr_surface_run *run = &m->runs.data[m->order.data[i].value];
		for (int64_t k = run->first; k < run->end; k++) {
			const carom_surface_contact *c = &m->found.data[k];
			if (cr_is_remembered(world, c) && !remember_contact(world, c))
				return false;
		}
	}
	bool enough = m->carried.count == 0 || remember_carried(world);
	for (int64_t i = 0; i < m->known && enough; i++) {
		const carom_surface_contact *c = &m->found.data[i];
		enough = !c->led || !cr_is_remembered(world, c) || remember_lead(world, c);
	}
	cr_sort_belongings(&m->leads);
	return enough;
}

int64_t cr_first_belonging(const cr_belongings *list, int32_t mesh_a, int32_t mesh_b, int32_t vertex)
{
	int64_t low = 0, high = list->count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (cr_compare_belonging(&list->data[middle], mesh_a, mesh_b, vertex) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool share_corner(const cr_topology *t, int32_t a, int32_t b)
{
	const int32_t *p = &t->triangles[3 * (int64_t)a], *q = &t->triangles[3 * (int64_t)b];
	bool found = false;
	for (int i = 0; i < 9; i++)
		found = found || t->weld[p[i / 3]] == t->weld[q[i % 3]];
	return found;
}

/// How well a belonging fits a triangle: 3 it leads there, 2 it begins there, 1 it is beside it.
static int fit(const cr_topology *t, const cr_belonging *b, int32_t triangle)
{
	if (b->foot.triangle == triangle)
		return 3;
	if (b->triangle == triangle)
		return 2;
	return share_corner(t, b->foot.triangle, triangle) || share_corner(t, b->triangle, triangle) ? 1 : 0;
}

/// The side of a vertex of mesh_a as a triangle of mesh_b sees it, by a list of belongings; NONE:
/// they do not know. Of several that fit as well the first counts.
static cr_side look_up(
	const cr_topology *t, const cr_belongings *list, int32_t mesh_a, int32_t mesh_b, int32_t vertex, int32_t triangle)
{
	int best = 0;
	cr_side side = CR_SIDE_NONE;
	for (int64_t i = cr_first_belonging(list, mesh_a, mesh_b, vertex);
		 i < list->count && cr_compare_belonging(&list->data[i], mesh_a, mesh_b, vertex) == 0; i++) {
		const int how = fit(t, &list->data[i], triangle);
		if (how > best) {
			best = how;
			side = list->data[i].side;
		}
	}
	return side;
}

/// Where a vertex of mesh_a that has come through mesh_b belongs, as far as a list knows: the sum
/// of the normals of the triangles that it is at, on its side. others: only triangles that have one
/// of these vertices count; none: all.
static v3d lean_of_vertex(const carom_world *world, const cr_belongings *list, int32_t mesh_a, int32_t mesh_b, int32_t vertex,
	const int32_t *others, int count)
{
	const cr_placed surface = cr_placed_member(world, mesh_b);
	const cr_topology *t = surface.faces;
	v3d sum = { 0, 0, 0 };
	if (!world->surface_contacts.tangled || list->count == 0)
		return sum;
	for (int64_t i = cr_first_belonging(list, mesh_a, mesh_b, vertex);
		 i < list->count && cr_compare_belonging(&list->data[i], mesh_a, mesh_b, vertex) == 0; i++) {
		const cr_belonging *b = &list->data[i];
		bool counts = count == 0;
		for (int k = 0; k < 3 * count && !counts; k++)
			counts = t->weld[t->triangles[3 * (int64_t)b->foot.triangle + k / count]] == t->weld[others[k % count]];
		if (counts && b->through)
			sum = cr_is_zero(b->lead) ? v3d_mad(sum, b->side, cr_placed_normal(&surface, b->foot.triangle))
									  : v3d_add(sum, b->lead);
	}
	return sum;
}

/// The side of a vertex of mesh_a as a triangle of mesh_b sees it, by where the corners of the
/// triangle belong: if they have come through the vertex's surface, the vertex has come through
/// theirs. NONE: they do not know.
static cr_side side_by_corners(
	const carom_world *world, const cr_belongings *list, int32_t mesh_a, int32_t mesh_b, int32_t vertex, int32_t triangle)
{
	const cr_placed surface = cr_placed_member(world, mesh_b);
	const v3d normal = cr_placed_normal(&surface, triangle);
	double along = 0;
	if (!world->surface_contacts.tangled)
		return CR_SIDE_NONE;
	for (int count = 1; count >= 0 && along == 0; count--) {
		for (int k = 0; k < 3; k++) {
			const int32_t corner = surface.faces->triangles[3 * (int64_t)triangle + k];
			along += v3d_dot(normal, lean_of_vertex(world, list, mesh_b, mesh_a, corner, &vertex, count));
		}
	}
	return along < 0 ? CR_SIDE_FRONT : along > 0 ? CR_SIDE_BACK : CR_SIDE_NONE;
}

cr_side cr_side_of_hit(const carom_world *world, int32_t part, const carom_sweep_hit *hit)
{
	if (hit->status == CAROM_SWEEP_TOUCHING)
		return CR_SIDE_NONE;
	v3d c[3];
	for (int k = 0; k < 3; k++)
		c[k] = cr_vertex_at(world, part, hit->vertices[1 + k], hit->time);
	const v3d normal = v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0]));
	const double along = v3d_dot(normal, (v3d){ hit->normal[0], hit->normal[1], hit->normal[2] });
	return along > 0 ? CR_SIDE_FRONT : along < 0 ? CR_SIDE_BACK : CR_SIDE_NONE;
}

/// The members of an impact that have surface contacts with each other; false: they have none.
static bool members_of_hit(const carom_world *world, const carom_sweep_hit *hit, int32_t *mesh_a, int32_t *mesh_b)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_member *meshes = world->impacts.members.list.data;
	*mesh_a = cr_find_member(&m->members.list, meshes[hit->mesh_a].body);
	*mesh_b = cr_find_member(&m->members.list, meshes[hit->mesh_b].body);
	return *mesh_a >= 0 && *mesh_b >= 0 &&
		cr_kept_distance(cr_body_of_member(world, *mesh_a), cr_body_of_member(world, *mesh_b)) > 0;
}

/// The side of a vertex of a closed mesh by its outward normal, as a triangle sees it; NONE: the
/// normal does not tell.
static cr_side side_by_outward(const carom_world *world, int32_t mesh_a, int32_t mesh_b, int32_t vertex, int32_t triangle)
{
	const cr_placed surface = cr_placed_member(world, mesh_b);
	const double out = v3d_dot(outward_at(world, mesh_a, mesh_b, vertex), cr_placed_normal(&surface, triangle));
	return out < -CLEARLY ? CR_SIDE_FRONT : out > CLEARLY ? CR_SIDE_BACK : CR_SIDE_NONE;
}

/// The side of a vertex of a closed mesh, as a triangle of cloth sees it that leaves the mesh with
/// its region: it is left behind. NONE: the triangle does not leave so.
static cr_side side_by_leads(const carom_world *world, int32_t mesh_a, int32_t mesh_b, int32_t triangle)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_is_any_led(m) || !cr_has_outside(world, mesh_b, mesh_a))
		return CR_SIDE_NONE;
	const cr_placed cloth = cr_placed_member(world, mesh_b);
	v3d sum = { 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		const int32_t corner = cloth.faces->triangles[3 * (int64_t)triangle + k];
		sum = v3d_add(sum, cr_lead_now(world, mesh_b, mesh_a, corner));
	}
	const double along = v3d_dot(sum, cr_placed_normal(&cloth, triangle));
	return along > 0 ? CR_SIDE_BACK : along < 0 ? CR_SIDE_FRONT : CR_SIDE_NONE;
}

/// From which side the vertex of an impact came. Cloth that comes out of a closed mesh meets its
/// vertices from within: that is the way back to where it belongs.
static cr_side side_of_impact(const carom_world *world, const cr_belonging *b, const carom_sweep_hit *hit)
{
	const cr_side came = cr_side_of_hit(world, part_of(&world->surface_contacts, b->mesh_b), hit);
	const cr_side outward = came == CR_SIDE_NONE || !cr_has_outside(world, b->mesh_b, b->mesh_a)
		? CR_SIDE_NONE
		: side_by_outward(world, b->mesh_a, b->mesh_b, b->vertex, b->triangle);
	return outward == CR_SIDE_NONE ? came : outward;
}

/// Fill the belonging of an impact of cloth with a closed mesh. False: the impact tells nothing
/// new.
static bool learn_outside(const carom_world *world, const carom_sweep_hit *hit, cr_belonging *now)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_topology *t = &cr_body_of_member(world, now->mesh_b)->shape.mesh->topology;
	if (cr_is_hit_on_the_way(world, now, hit))
		return false;
	now->side = CR_SIDE_FRONT;
	now->entered = hit->time;
	cr_walk_belonging(world, now);
	return now->held || look_up(t, &m->remembered, now->mesh_a, now->mesh_b, now->vertex, now->triangle) == CR_SIDE_NONE;
}

/// Fill the belonging of another impact. False: the impact tells nothing new.
static bool learn_side(const carom_world *world, const carom_sweep_hit *hit, cr_belonging *now)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_topology *t = &cr_body_of_member(world, now->mesh_b)->shape.mesh->topology;
	if (look_up(t, &m->remembered, now->mesh_a, now->mesh_b, now->vertex, now->triangle) != CR_SIDE_NONE)
		return false;
	now->side = side_by_leads(world, now->mesh_a, now->mesh_b, now->triangle);
	if (now->side == CR_SIDE_NONE)
		now->side = cr_side_by_passing(world, now->mesh_a, now->mesh_b, now->triangle);
	if (now->side == CR_SIDE_NONE)
		now->side = side_by_corners(world, &m->remembered, now->mesh_a, now->mesh_b, now->vertex, now->triangle);
	if (now->side == CR_SIDE_NONE)
		now->side = side_of_impact(world, now, hit);
	if (now->side == CR_SIDE_NONE)
		return false;
	cr_walk_belonging(world, now);
	return true;
}

/// Learn from the impacts of cloth with closed meshes, or from the others. False: out of memory.
static bool learn_from(carom_world *world, bool outside, cr_belongings *list)
{
	const carom_sweep_hits *hits = &world->impacts.hits;
	bool enough = true;
	for (int64_t i = 0; i < hits->count && hits->data[i].kind == CAROM_SWEEP_VERTEX_FACE && enough; i++) {
		const carom_sweep_hit *hit = &hits->data[i];
		cr_belonging now = { .vertex = hit->vertices[0], .triangle = hit->triangle };
		if (members_of_hit(world, hit, &now.mesh_a, &now.mesh_b) && cr_has_outside(world, now.mesh_a, now.mesh_b) == outside &&
			(outside ? learn_outside(world, hit, &now) : learn_side(world, hit, &now)))
			enough = cr_append_belonging(world, list, &now);
	}
	return enough;
}

/// Leave out doubtful vertices that are not held, where the last step knows of them.
static void drop_known(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	int64_t count = 0;
	for (int64_t i = 0; i < m->crossing.count; i++) {
		const cr_belonging *b = &m->crossing.data[i];
		const cr_topology *t = &cr_body_of_member(world, b->mesh_b)->shape.mesh->topology;
		if (!b->doubtful || b->held || look_up(t, &m->remembered, b->mesh_a, b->mesh_b, b->vertex, b->triangle) == CR_SIDE_NONE)
			m->crossing.data[count++] = *b;
	}
	m->crossing.count = count;
}

/// The impacts of cloth with closed meshes come first: they tell which vertices have passed
/// these.
static bool learn(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	m->crossing.count = 0;
	if (!learn_from(world, true, &m->crossing) || !cr_settle_doubtful(world, view))
		return false;
	drop_known(world);
	if (!cr_list_beyond(world, view) || !learn_from(world, false, &m->crossing))
		return false;
	sort_belongings(&m->crossing);
	return true;
}

// ---- Vertex against face ----

/// Fill a contact but for its features.
void cr_begin_surface_contact(const carom_world *world, int32_t mesh_a, int32_t mesh_b, carom_surface_contact *c)
{
	const cr_body *bodies = world->bodies.data;
	const int32_t a = part_of(&world->surface_contacts, mesh_a), b = part_of(&world->surface_contacts, mesh_b);
	*c = (carom_surface_contact){ .body_a = cr_id_of(bodies, a),
		.body_b = cr_id_of(bodies, b),
		.user_data_a = bodies[a].user_data,
		.user_data_b = bodies[b].user_data,
		.shape_a = bodies[a].part,
		.shape_b = bodies[b].part,
		.triangle = -1,
		.thickness = cr_kept_distance(&bodies[a], &bodies[b]) };
}

/// What two features of one body keep: no more than half of their distance in its own mesh, so that
/// neighbours are no contacts. first: what is taken off the numbers of vertices.
static double kept_within(
	const cr_topology *t, carom_sweep_kind kind, const int32_t vertices[4], int32_t first, double thickness)
{
	v3d at[4];
	cr_near near;
	for (int k = 0; k < 4; k++)
		at[k] = v3d_from_floats(t->vertices + 3 * (int64_t)(vertices[k] - first));
	cr_near_of(kind == CAROM_SWEEP_VERTEX_FACE ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE, at, &near);
	return fmin(thickness, 0.5 * sqrt(near.distance2));
}

bool cr_may_be_surface_contact(const void *user, const carom_proximity_pair *pair)
{
	if (pair->kind == CAROM_SWEEP_EDGE_EDGE && pair->type != CAROM_PROXIMITY_EDGE_EDGE)
		return false;
	const carom_world *world = user;
	const carom_sweep *s = world->surface_contacts.near->sweep;
	const int32_t last = pair->vertices[3], meshes = (int32_t)s->meshes.count;
	const int32_t a = cr_mesh_of_vertex(s->mesh_vertices.data, meshes, pair->vertices[0]),
				  b = cr_mesh_of_vertex(s->mesh_vertices.data, meshes, last);
	const cr_body *body = cr_body_of_member(world, a);
	double kept = cr_kept_distance(body, cr_body_of_member(world, b));
	if (a == b)
		kept = kept_within(&body->shape.mesh->topology, pair->kind, pair->vertices, s->meshes.data[a].first_vertex, kept);
	return pair->distance2 < kept * kept;
}

/// Is a contact that is filled one, then?
static bool is_contact(const carom_world *world, int32_t mesh_a, int32_t mesh_b, carom_surface_contact *c)
{
	if (c->distance < c->thickness && mesh_a == mesh_b)
		c->thickness =
			kept_within(&cr_body_of_member(world, mesh_a)->shape.mesh->topology, c->kind, c->vertices, 0, c->thickness);
	return c->distance < c->thickness;
}

/// Has a list that is older than the ways of regions another side for a vertex than these?
static bool is_led_elsewhere(const carom_world *world, const cr_belonging *b)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_is_any_led(m))
		return false;
	const cr_side side = side_by_leads(world, b->mesh_a, b->mesh_b, b->foot.triangle);
	return (side != CR_SIDE_NONE && side != b->side) ||
		(cr_is_zero(b->lead) && !cr_is_zero(cr_lead_now(world, b->mesh_a, b->mesh_b, b->vertex)));
}

/// The side on which a vertex belongs, as a triangle sees it.
static cr_side settle(const carom_world *world, int32_t mesh_a, int32_t mesh_b, int32_t vertex, int32_t triangle, cr_side now)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	if (cr_has_outside(world, mesh_a, mesh_b))
		return CR_SIDE_FRONT;
	const cr_topology *t = &cr_body_of_member(world, mesh_b)->shape.mesh->topology;
	cr_side side = side_by_leads(world, mesh_a, mesh_b, triangle);
	if (side == CR_SIDE_NONE)
		side = cr_side_by_passing(world, mesh_a, mesh_b, triangle);
	if (side == CR_SIDE_NONE)
		side = look_up(t, &m->remembered, mesh_a, mesh_b, vertex, triangle);
	if (side == CR_SIDE_NONE)
		side = look_up(t, &m->crossing, mesh_a, mesh_b, vertex, triangle);
	if (side == CR_SIDE_NONE)
		side = look_up(t, &m->began, mesh_a, mesh_b, vertex, triangle);
	if (side == CR_SIDE_NONE)
		side = side_by_corners(world, &m->remembered, mesh_a, mesh_b, vertex, triangle);
	if (side == CR_SIDE_NONE)
		side = side_by_outward(world, mesh_a, mesh_b, vertex, triangle);
	if (side == CR_SIDE_NONE)
		side = now;
	return side != CR_SIDE_NONE ? side : CR_SIDE_FRONT;
}

/// Fill the contact of a vertex that belongs to a side, is on another one now, and has its foot on
/// a triangle.
static void fill_face(const carom_world *world, int32_t mesh_a, int32_t mesh_b, int32_t vertex, const cr_foot *foot,
	cr_side side, cr_side now, carom_surface_contact *c)
{
	const cr_placed surface = cr_placed_member(world, mesh_b);
	const int32_t *corners = &surface.faces->triangles[3 * (int64_t)foot->triangle];
	const double distance = sqrt(foot->distance2);
	cr_begin_surface_contact(world, mesh_a, mesh_b, c);
	c->kind = CAROM_SWEEP_VERTEX_FACE;
	c->triangle = foot->triangle;
	c->vertices[0] = vertex;
	c->weight[0] = 1;
	for (int k = 0; k < 3; k++) {
		c->vertices[1 + k] = corners[k];
		c->weight[1 + k] = foot->weight[k];
	}
	const bool beside = now == CR_SIDE_NONE && distance > 0;
	c->side = beside ? CR_SIDE_NONE : side;
	c->through = !beside && now == -side;
	c->distance = c->through ? -distance : distance;
	const v3d at = placed_vertex(world, mesh_a, vertex);
	const v3d normal =
		distance > 0 ? v3d_scale(foot->offset, 1 / c->distance) : v3d_scale(cr_placed_normal(&surface, foot->triangle), side);
	c->normal = v3d_length(normal) > 0.5 ? normal : (v3d){ 0, 0, 1 };
	c->point_a = at;
	c->point_b = v3d_sub(at, foot->offset);
	cr_continue_surface_contact(world, c);
}

/// Do the corners of one pair's triangle hold the part of another's that is nearest to the vertex?
static bool holds_part(const carom_proximity_pair *pair, const carom_proximity_pair *of)
{
	bool all = true;
	for (int k = 1; k < 4; k++) {
		bool found = !(of->weight[k] > 0);
		for (int j = 1; j < 4; j++)
			found = found || pair->vertices[j] == of->vertices[k];
		all = all && found;
	}
	return all;
}

/// Is no triangle nearer to the vertex of pair i that has the edge or the corner it is nearest to?
/// Of equally near ones the first is. Pairs of one vertex are side by side.
static bool is_nearest(const carom_proximity_view *view, int64_t i)
{
	const carom_proximity_pair *pair = &view->pairs[i];
	if (pair->weight[1] > 0 && pair->weight[2] > 0 && pair->weight[3] > 0)
		return true;
	bool nearest = true;
	for (int64_t j = i - 1; j >= 0 && nearest && cr_is_of_vertex(&view->pairs[j], pair); j--)
		nearest = !(holds_part(&view->pairs[j], pair) && cr_is_nearer_pair(&view->pairs[j], pair));
	for (int64_t j = i + 1; j < view->pair_count && nearest && cr_is_of_vertex(&view->pairs[j], pair); j++)
		nearest = !(holds_part(&view->pairs[j], pair) && cr_is_nearer_pair(&view->pairs[j], pair));
	return nearest;
}

static bool judge_face(const carom_world *world, const carom_proximity_view *view, int64_t i, carom_surface_contact *c)
{
	const carom_proximity_pair *pair = &view->pairs[i];
	if (!is_nearest(view, i))
		return false;
	const cr_placed surface = cr_placed_member(world, pair->mesh_b);
	const cr_foot foot = cr_foot_on_triangle(&surface, pair->triangle, placed_vertex(world, pair->mesh_a, pair->vertices[0]));
	const cr_side now = cr_side_of_foot(&surface, &foot);
	if (now == CR_SIDE_BACK && cr_has_outside(world, pair->mesh_a, pair->mesh_b) && cr_is_far_face(world, view, i))
		return false;
	if (now == CR_SIDE_FRONT && cr_has_outside(world, pair->mesh_a, pair->mesh_b) &&
		cr_is_face_beyond(world, pair->mesh_a, pair->mesh_b, pair->vertices[0], pair->triangle))
		return false;
	const cr_side side = settle(world, pair->mesh_a, pair->mesh_b, pair->vertices[0], pair->triangle, now);
	fill_face(world, pair->mesh_a, pair->mesh_b, pair->vertices[0], &foot, side, now, c);
	return is_contact(world, pair->mesh_a, pair->mesh_b, c);
}

// ---- Edge against edge ----

/// The impact of two edges within the step; NULL: there is none.
static const carom_sweep_hit *find_hit(const carom_world *world, const carom_surface_contact *c)
{
	const carom_sweep_hits *hits = &world->impacts.hits;
	const int32_t mesh_a = cr_find_member(&world->impacts.members.list, cr_part_a_of(c)),
				  mesh_b = cr_find_member(&world->impacts.members.list, cr_part_b_of(c));
	int64_t low = 0, high = hits->count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		const carom_sweep_hit *hit = &hits->data[middle];
		int order = cr_compare_numbers(hit->kind, c->kind);
		if (order == 0)
			order = cr_compare_numbers(hit->mesh_a, mesh_a);
		if (order == 0)
			order = cr_compare_numbers(hit->mesh_b, mesh_b);
		if (order == 0)
			order = compare_features(hit->vertices, c->vertices);
		if (order == 0)
			return hit;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/// Where the first edge belongs by the outsides of closed meshes, and by those of the four vertices
/// that have come through; zero: neither tells. others: 2, or 0 for triangles anywhere.
static v3d lean_of(const carom_world *world, int32_t mesh_a, int32_t mesh_b, const int32_t vertices[4], int others)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	v3d lean = { 0, 0, 0 };
	for (int k = 0; k < 2; k++) {
		const int32_t a = vertices[k], b = vertices[2 + k];
		lean = v3d_add(lean, v3d_sub(outward_at(world, mesh_b, mesh_a, b), outward_at(world, mesh_a, mesh_b, a)));
		lean = v3d_add(lean, lean_of_vertex(world, &m->remembered, mesh_a, mesh_b, a, vertices + 2, others));
		lean = v3d_add(lean, lean_of_vertex(world, &m->crossing, mesh_a, mesh_b, a, vertices + 2, others));
		lean = v3d_add(lean, lean_of_vertex(world, &m->began, mesh_a, mesh_b, a, vertices + 2, others));
		lean = v3d_sub(lean, lean_of_vertex(world, &m->remembered, mesh_b, mesh_a, b, vertices, others));
		lean = v3d_sub(lean, lean_of_vertex(world, &m->crossing, mesh_b, mesh_a, b, vertices, others));
		lean = v3d_sub(lean, lean_of_vertex(world, &m->began, mesh_b, mesh_a, b, vertices, others));
	}
	return lean;
}

/// Is a normal of two edges without a last contact against the side where they belong?
static bool is_against(const carom_world *world, int32_t mesh_a, int32_t mesh_b, v3d normal, const carom_surface_contact *c)
{
	for (int others = 2; others >= 0; others -= 2) {
		const v3d lean = lean_of(world, mesh_a, mesh_b, c->vertices, others);
		const double along = v3d_dot(normal, lean);
		if (fabs(along) > CLEARLY * v3d_length(lean))
			return along < 0;
	}
	const carom_sweep_hit *hit = find_hit(world, c);
	return hit && hit->status != CAROM_SWEEP_TOUCHING &&
		v3d_dot(normal, (v3d){ hit->normal[0], hit->normal[1], hit->normal[2] }) < 0;
}

/// Let the contact point to where the first edge came from. normal: from the second edge to the
/// first as they are, or along either way where they meet.
static void turn_to_side(
	const carom_world *world, int32_t mesh_a, int32_t mesh_b, v3d normal, double distance, carom_surface_contact *c)
{
	const carom_surface_contact *last = find_last(world, c);
	const bool against = last ? v3d_dot(normal, last->normal) < 0 && (last->through || distance == 0 || find_hit(world, c))
							  : is_against(world, mesh_a, mesh_b, normal, c);
	cr_go_on(last ? &last->age : NULL, last ? last->impulse : NULL, &c->age, c->impulse);
	c->through = against && distance > 0;
	c->distance = c->through ? -distance : distance;
	c->normal = against ? v3d_neg(normal) : normal;
}

static void place_edges(const carom_world *world, int32_t mesh_a, int32_t mesh_b, const int32_t vertices[4], v3d at[4])
{
	for (int k = 0; k < 4; k++)
		at[k] = placed_vertex(world, k < 2 ? mesh_a : mesh_b, vertices[k]);
}

/// Fill the contact of two edges. False where a vertex or a face is as near as they are, or where
/// they are parallel.
static bool fill_edges(
	const carom_world *world, int32_t mesh_a, int32_t mesh_b, const int32_t vertices[4], carom_surface_contact *c)
{
	v3d at[4];
	cr_near near;
	place_edges(world, mesh_a, mesh_b, vertices, at);
	const v3d a = v3d_sub(at[1], at[0]), b = v3d_sub(at[3], at[2]), across = v3d_cross(a, b);
	if (!(v3d_dot(across, across) > PARALLEL2 * v3d_dot(a, a) * v3d_dot(b, b)))
		return false;
	cr_near_of(CR_SWEPT_EDGE_EDGE, at, &near);
	for (int k = 0; k < 4; k++) {
		if (!(near.weight[k] > 0))
			return false;
	}
	cr_begin_surface_contact(world, mesh_a, mesh_b, c);
	c->kind = CAROM_SWEEP_EDGE_EDGE;
	memcpy(c->vertices, vertices, sizeof c->vertices);
	memcpy(c->weight, near.weight, sizeof c->weight);
	c->point_a = v3d_add(at[0], near.on_a);
	c->point_b = v3d_add(at[0], near.on_b);
	const double distance = sqrt(near.distance2);
	turn_to_side(world, mesh_a, mesh_b, v3d_normalize(distance > 0 ? v3d_sub(near.on_a, near.on_b) : across), distance, c);
	return cr_hold_in_cone(world, mesh_a, mesh_b, c);
}

/// Two edges near each other keep apart as they are, where the way back would not lead out.
static void stay_beside_ridge(const carom_world *world, int32_t mesh_a, int32_t mesh_b, carom_surface_contact *c)
{
	if (!cr_is_beside_ridge(world, mesh_a, mesh_b, c))
		return;
	c->through = false;
	c->distance = -c->distance;
	c->normal = v3d_neg(c->normal);
}

/// A contact that would hold an edge of cloth on the wrong side points the other way. The edge
/// crosses the mesh there, so the normal is none of the mesh's.
static void lead_back(const carom_world *world, const carom_proximity_pair *pair, carom_surface_contact *c)
{
	carom_surface_contact turned = *c;
	turned.through = true;
	turned.distance = -c->distance;
	turned.normal = v3d_neg(c->normal);
	if (!c->through && c->distance > 0 && cr_is_way_back_against(world, pair, c->normal) &&
		cr_is_beside_ridge(world, pair->mesh_a, pair->mesh_b, &turned))
		*c = turned;
}

static bool judge_edges(
	const carom_world *world, const carom_proximity_view *view, const carom_proximity_pair *pair, carom_surface_contact *c)
{
	if (pair->type != CAROM_PROXIMITY_EDGE_EDGE || !fill_edges(world, pair->mesh_a, pair->mesh_b, pair->vertices, c))
		return false;
	stay_beside_ridge(world, pair->mesh_a, pair->mesh_b, c);
	lead_back(world, pair, c);
	return is_contact(world, pair->mesh_a, pair->mesh_b, c) && !cr_is_beside_lead(world, pair->mesh_a, pair->mesh_b, c) &&
		!cr_is_edge_beyond(world, pair, c->normal) && !cr_is_edge_on_the_way(world, pair->mesh_a, pair->mesh_b, c) &&
		!(c->through && c->age == 0 && cr_is_far_edge(world, view, pair, c->normal));
}

// ---- All pairs ----

typedef struct judging {
	carom_world *world;
	const carom_proximity_view *view;
} judging;

static bool is_with_sensor(const carom_world *world, const carom_proximity_pair *pair)
{
	return cr_body_of_member(world, pair->mesh_a)->sensor || cr_body_of_member(world, pair->mesh_b)->sensor;
}

static void judge(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const judging *j = task;
	cr_surface_contacts *m = &j->world->surface_contacts;
	for (int64_t i = begin; i < end; i++) {
		const carom_proximity_pair *pair = &j->view->pairs[i];
		carom_surface_contact *c = &m->judged.data[i];
		m->listed.data[i] = !is_with_sensor(j->world, pair) &&
			(pair->kind == CAROM_SWEEP_VERTEX_FACE ? judge_face(j->world, j->view, i, c)
												   : judge_edges(j->world, j->view, pair, c));
	}
}

static bool judge_all(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const int64_t count = view->pair_count;
	if (!cr_array_reserve_fresh(&world->memory, &m->listed, count) || !cr_array_reserve_fresh(&world->memory, &m->judged, count))
		return false;
	judging task = { world, view };
	cr_parallel_for(&world->memory, judge, count, PAIRS_PER_TASK, &task);
	return true;
}

// ---- Deep on the wrong side ----

/// Is the vertex of a belonging listed at a triangle about there?
static bool is_listed(const carom_world *world, const carom_proximity_view *view, const cr_belonging *b)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const carom_proximity_pair wanted = {
		.kind = CAROM_SWEEP_VERTEX_FACE, .mesh_a = b->mesh_a, .mesh_b = b->mesh_b, .vertices = { b->vertex }
	};
	const int64_t first = cr_first_pair_of_vertex(view, b->mesh_a, b->mesh_b, b->vertex);
	const cr_topology *t = &cr_body_of_member(world, b->mesh_b)->shape.mesh->topology;
	bool found = false;
	for (int64_t i = first; i < view->pair_count && cr_is_of_vertex(&view->pairs[i], &wanted) && !found; i++)
		found = m->listed.data[i] && share_corner(t, view->pairs[i].triangle, b->foot.triangle);
	return found;
}

static bool append_contact(carom_world *world, const carom_surface_contact *c)
{
	cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_array_reserve_one(&world->memory, &m->deep))
		return false;
	m->deep.data[m->deep.count++] = *c;
	return true;
}

/// Vertices that are deep on the wrong side.
static bool append_vertices(carom_world *world, const cr_belongings *list, const carom_proximity_view *view)
{
	bool enough = true;
	for (int64_t i = 0; i < list->count && enough; i++) {
		const cr_belonging *b = &list->data[i];
		carom_surface_contact c;
		if (!b->through || is_led_elsewhere(world, b))
			continue;
		const cr_placed surface = cr_placed_member(world, b->mesh_b);
		const cr_side now = b->held ? -b->side : cr_side_of_foot(&surface, &b->foot);
		fill_face(world, b->mesh_a, b->mesh_b, b->vertex, &b->foot, b->side, now, &c);
		c.led = c.through && !cr_is_zero(b->lead);
		enough = !c.through || is_listed(world, view, b) || !is_contact(world, b->mesh_a, b->mesh_b, &c) ||
			append_contact(world, &c);
	}
	return enough;
}

static bool append_edges(carom_world *world, int32_t mesh_a, int32_t mesh_b, const int32_t vertices[4])
{
	carom_surface_contact c;
	if (!fill_edges(world, mesh_a, mesh_b, vertices, &c) || !c.through || cr_is_beside_ridge(world, mesh_a, mesh_b, &c) ||
		cr_is_beside_lead(world, mesh_a, mesh_b, &c) || cr_is_edge_on_the_way(world, mesh_a, mesh_b, &c))
		return true;
	return !is_contact(world, mesh_a, mesh_b, &c) || append_contact(world, &c);
}

/// Two edges of a contact that was through, if they are near where they were.
static bool append_last_edges(carom_world *world, const carom_surface_contact *c)
{
	const cr_members *members = &world->surface_contacts.members.list;
	const int32_t mesh_a = cr_find_member(members, cr_part_a_of(c)), mesh_b = cr_find_member(members, cr_part_b_of(c));
	v3d at[4];
	cr_near near;
	if (c->kind != CAROM_SWEEP_EDGE_EDGE || !c->through || c->led || mesh_a < 0 || mesh_b < 0)
		return true;
	const double most = farthest_of(world, c);
	place_edges(world, mesh_a, mesh_b, c->vertices, at);
	cr_near_of(CR_SWEPT_EDGE_EDGE, at, &near);
	return !(near.distance2 <= most * most) || append_edges(world, mesh_a, mesh_b, c->vertices);
}

/// Edges of contacts that were through, and of impacts. Within a body those that were carried over
/// have both orders, of which one is none.
static bool append_deep_edges(carom_world *world)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	bool enough = true;
	for (int64_t i = 0; i < m->known && enough; i++)
		enough = !cr_is_remembered(world, &m->found.data[i]) || append_last_edges(world, &m->found.data[i]);
	for (int64_t i = 0; i < m->carried.count && enough; i++) {
		const carom_surface_contact *c = &m->carried.data[i];
		const bool is_here = carom_world_is_body(world, c->body_a) && carom_world_is_body(world, c->body_b);
		enough = !is_here || cr_part_a_of(c) == cr_part_b_of(c) || append_last_edges(world, c);
	}
	for (int64_t i = 0; i < world->impacts.hits.count && enough; i++) {
		const carom_sweep_hit *hit = &world->impacts.hits.data[i];
		int32_t mesh_a, mesh_b;
		if (hit->kind == CAROM_SWEEP_EDGE_EDGE && members_of_hit(world, hit, &mesh_a, &mesh_b))
			enough = append_edges(world, mesh_a, mesh_b, hit->vertices);
	}
	return enough;
}

/// Empty all that is of one step, so that nothing but the memory of sides leads from one step to
/// the next: a snapshot and a recording hold no more.
static void forget_last_step(cr_surface_contacts *m)
{
	m->remembered.count = m->crossing.count = m->began.count = m->beyond.count = m->leads.count = 0;
	m->led.faces.count = m->led.ways.count = 0;
	m->cuts.crossed.count = m->cuts.ways.count = 0;
	m->shape_entries.count = m->deep.count = 0;
	m->tangled = m->leading = false;
}

bool cr_judge_surface_pairs(carom_world *world, const carom_proximity_view *view)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	forget_last_step(&world->surface_contacts);
	return cr_see_solids(world, view) && remember(world) && learn(world, view) && cr_find_vertices_inside(world, view) &&
		cr_lead_faces(world) && cr_find_caps(world) && judge_all(world, view) && append_vertices(world, &m->remembered, view) &&
		append_vertices(world, &m->crossing, view) && append_vertices(world, &m->began, view) && append_deep_edges(world) &&
		cr_append_cut_edges(world, view);
}
