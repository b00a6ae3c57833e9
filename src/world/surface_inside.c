/// Vertices of cloth inside closed meshes, where nothing tells on which side they belong.
///
/// A closed mesh that is no cloth holds cloth on its outside. A vertex inside it has come in by a
/// way that impacts or the last step knew, or it began there: a body was made there, was put
/// elsewhere without a way, or has grown over it. Then it belongs to the nearest point of the
/// surface, and is deep on the wrong side of it, as if it had come in there. Its contact is
/// remembered like any other: in later steps the walk over the surface goes on from it.
///
/// - The search tells of vertices that are within the kept distance of the surface: the nearest
///   face says on which side they are.
/// - Of the others those in the box of the mesh are asked, in parallel. The tree of the search
///   lists the triangles near the box. The grid of the mesh knows most vertices to be outside;
///   where it does not tell, a ray away from the middle does.
/// - Those inside that belong to no part of the surface yet have the nearest triangle.
///
/// A vertex in a thin plate is near both of its faces. Only the one where it belongs, or the
/// nearest, and those that do not look against it lead it out: otherwise the two would hold it in.
/// So with edges.
///
/// Where the nearest ways of neighbours part, their region goes one way (surface_regions.c).
///
/// Cost: for each closed mesh a walk down the tree to its box, a look-up in a grid for each vertex
/// in it, and O(log triangles) for each one inside. A mesh that deforms has no grid: each vertex in
/// its box casts a ray.
#include "base/parallel.h"
#include "contact/contact.h"
#include "proximity/proximity_state.h"
#include "world/body_query.h"
#include "world/surface_contacts.h"
#include "world/world.h"

enum { VERTICES_PER_TASK = 512 };

// ---- Pairs of the search ----

int64_t cr_first_pair_of_vertex(const carom_proximity_view *view, int32_t mesh_a, int32_t mesh_b, int32_t vertex)
{
	const cr_belonging wanted = { .mesh_a = mesh_a, .mesh_b = mesh_b, .vertex = vertex };
	int64_t low = 0, high = view->pair_count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		const carom_proximity_pair *pair = &view->pairs[middle];
		int order = cr_compare_numbers(pair->kind, CAROM_SWEEP_VERTEX_FACE);
		if (order == 0)
			order = -cr_compare_belonging(&wanted, pair->mesh_a, pair->mesh_b, pair->vertices[0]);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t cr_nearest_pair(const carom_proximity_view *view, int64_t first, const carom_proximity_pair *of)
{
	int64_t best = -1;
	for (int64_t i = first; i < view->pair_count && cr_is_of_vertex(&view->pairs[i], of); i++)
		best = best < 0 || cr_is_nearer_pair(&view->pairs[i], &view->pairs[best]) ? i : best;
	return best;
}

// ---- Where a vertex belongs ----

static v3d normal_of(const carom_world *world, int32_t mesh, int32_t triangle)
{
	const cr_placed surface = cr_placed_member(world, mesh);
	return cr_placed_normal(&surface, triangle);
}

/// What the belongings of a vertex to a closed mesh say of a direction out of it.
typedef enum verdict { UNKNOWN, AGAINST, ALONG } verdict;

static verdict ask_list(
	const carom_world *world, const cr_belongings *list, int32_t mesh_a, int32_t mesh_b, int32_t vertex, v3d normal)
{
	verdict says = UNKNOWN;
	for (int64_t i = cr_first_belonging(list, mesh_a, mesh_b, vertex);
		 i < list->count && says != ALONG && cr_compare_belonging(&list->data[i], mesh_a, mesh_b, vertex) == 0; i++)
		says = v3d_dot(normal_of(world, mesh_b, list->data[i].foot.triangle), normal) < 0 ? AGAINST : ALONG;
	return says;
}

/// Looks for a side that is known of the vertex; where there is none, for the nearest face. of: a
/// pair that names it.
static verdict ask_vertex(const carom_world *world, const carom_proximity_view *view, const carom_proximity_pair *of, v3d normal)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_belongings *lists[3] = { &m->remembered, &m->crossing, &m->began };
	verdict says = UNKNOWN;
	const v3d lead = cr_lead_now(world, of->mesh_a, of->mesh_b, of->vertices[0]);
	if (!cr_is_zero(lead))
		return v3d_dot(lead, normal) < CR_ALONG_LEAD ? AGAINST : ALONG;
	for (int k = 0; k < 3 && says != ALONG; k++) {
		const verdict now = ask_list(world, lists[k], of->mesh_a, of->mesh_b, of->vertices[0], normal);
		says = now > says ? now : says;
	}
	if (says != UNKNOWN)
		return says;
	const int64_t nearest = cr_nearest_pair(view, cr_first_pair_of_vertex(view, of->mesh_a, of->mesh_b, of->vertices[0]), of);
	if (nearest < 0)
		return UNKNOWN;
	return v3d_dot(normal_of(world, of->mesh_b, view->pairs[nearest].triangle), normal) < 0 ? AGAINST : ALONG;
}

bool cr_is_far_face(const carom_world *world, const carom_proximity_view *view, int64_t i)
{
	const carom_proximity_pair *pair = &view->pairs[i];
	return ask_vertex(world, view, pair, normal_of(world, pair->mesh_b, pair->triangle)) == AGAINST;
}

bool cr_is_far_edge(const carom_world *world, const carom_proximity_view *view, const carom_proximity_pair *pair, v3d normal)
{
	// Does the closed mesh have the first edge?
	const bool turned = !cr_has_outside(world, pair->mesh_a, pair->mesh_b);
	if (turned && !cr_has_outside(world, pair->mesh_b, pair->mesh_a))
		return false;
	verdict says = UNKNOWN;
	for (int k = 0; k < 2; k++) {
		const carom_proximity_pair of = { .kind = CAROM_SWEEP_VERTEX_FACE,
			.mesh_a = turned ? pair->mesh_b : pair->mesh_a,
			.mesh_b = turned ? pair->mesh_a : pair->mesh_b,
			.vertices = { pair->vertices[turned ? 2 + k : k] } };
		const verdict now = ask_vertex(world, view, &of, turned ? v3d_neg(normal) : normal);
		says = now > says ? now : says;
	}
	return says == AGAINST;
}

/// What the ways back of a vertex that is through a closed mesh say of a direction out of it.
static verdict ask_ways_back(const carom_world *world, int32_t mesh_a, int32_t mesh_b, int32_t vertex, v3d normal)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_belongings *lists[3] = { &m->remembered, &m->crossing, &m->began };
	verdict says = UNKNOWN;
	for (int k = 0; k < 3; k++) {
		for (int64_t i = cr_first_belonging(lists[k], mesh_a, mesh_b, vertex);
			 i < lists[k]->count && cr_compare_belonging(&lists[k]->data[i], mesh_a, mesh_b, vertex) == 0; i++) {
			const cr_belonging *b = &lists[k]->data[i];
			const cr_placed surface = cr_placed_member(world, mesh_b);
			if (!b->held && cr_side_of_foot(&surface, &b->foot) != CR_SIDE_BACK)
				continue;
			const verdict now = v3d_dot(normal_of(world, mesh_b, b->foot.triangle), normal) < 0 ? AGAINST : ALONG;
			says = now > says ? now : says;
		}
	}
	return says;
}

bool cr_is_way_back_against(const carom_world *world, const carom_proximity_pair *pair, v3d normal)
{
	const bool turned = !cr_has_outside(world, pair->mesh_a, pair->mesh_b);
	if (!world->surface_contacts.tangled || (turned && !cr_has_outside(world, pair->mesh_b, pair->mesh_a)))
		return false;
	verdict says = UNKNOWN;
	for (int k = 0; k < 2; k++) {
		const verdict now = ask_ways_back(world, turned ? pair->mesh_b : pair->mesh_a, turned ? pair->mesh_a : pair->mesh_b,
			pair->vertices[turned ? 2 + k : k], turned ? v3d_neg(normal) : normal);
		says = now > says ? now : says;
	}
	return says == AGAINST;
}

// ---- Vertices inside ----

/// The vertices of one cloth, and one closed mesh.
typedef struct search {
	const carom_world *world;
	int32_t mesh_a, mesh_b;
	cr_closed_mesh closed;
} search;

static void measure_box(const cr_body *body, cr_closed_mesh *closed)
{
	for (int k = 0; k < 3; k++) {
		closed->lower[k] = cr_deforming_of(body) ? cr_deforming_of(body)->surface.lower[k] : body->lower[k];
		closed->upper[k] = cr_deforming_of(body) ? cr_deforming_of(body)->surface.upper[k] : body->upper[k];
	}
}

static bool may_hold(carom_world *world, int32_t mesh_a, int32_t mesh_b, search *s)
{
	const cr_body *a = cr_body_of_member(world, mesh_a), *b = cr_body_of_member(world, mesh_b);
	const cr_surface *cloth = &cr_deforming_of(a)->surface;
	if (a->sensor || b->sensor || !(cr_kept_distance(a, b) > 0) || !cr_has_outside(world, mesh_a, mesh_b))
		return false;
	*s = (search){ .world = world, .mesh_a = mesh_a, .mesh_b = mesh_b };
	bool apart = false;
	measure_box(b, &s->closed);
	for (int k = 0; k < 3; k++)
		apart = apart || s->closed.lower[k] > cloth->upper[k] || s->closed.upper[k] < cloth->lower[k];
	const cr_member *members = world->surface_contacts.members.list.data;
	return !apart && cr_filters_pass(a, b) && cr_may_surfaces_touch(world, members[mesh_a].body, members[mesh_b].body);
}

/// Let order name the vertices of cloth whose triangles are near the box of a closed mesh, by their
/// numbers among all meshes, each once.
static bool list_candidates(carom_world *world, const cr_closed_mesh *closed, int32_t mesh)
{
	cr_surface_contacts *m = &world->surface_contacts;
	carom_proximity *near = m->near;
	const carom_sweep *s = near->sweep;
	if (!cr_list_near_triangles(near, closed->lower, closed->upper, cr_group_of_mesh(s, mesh)))
		return false;
	const int32_t *firsts = s->mesh_vertices.data, meshes = (int32_t)s->meshes.count;
	const int64_t corners = 3 * near->triangles.count, alone = s->built ? s->order.vertex_count - s->order.named_count : 0;
	int64_t count = 0, once = 0;
	if (!cr_array_reserve_fresh(&world->memory, &m->order, 2 * (corners + alone)))
		return false;
	for (int64_t i = 0; i < corners + alone; i++) {
		const int32_t vertex = i < corners ? s->triangles.data[3 * (int64_t)near->triangles.data[i / 3] + i % 3]
										   : s->order.given_vertices[s->order.named_count + (i - corners)];
		m->order.data[count] = (cr_key){ (uint64_t)vertex, (uint32_t)vertex };
		count += cr_body_of_member(world, cr_mesh_of_vertex(firsts, meshes, vertex))->kind == CAROM_CLOTH;
	}
	cr_radix_sort(m->order.data, m->order.data + count, count, 32);
	for (int64_t i = 0; i < count; i++) {
		if (once == 0 || m->order.data[once - 1].key != m->order.data[i].key)
			m->order.data[once++] = m->order.data[i];
	}
	m->order.count = once;
	return true;
}

/// List those of count candidates of one cloth that are in the box, and that no pair of the search
/// tells of. first: the number of its vertex 0.
static bool list_vertices(carom_world *world, const carom_proximity_view *view, const search *s, const cr_key *candidates,
	int64_t count, int32_t first)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const cr_surface *cloth = &cr_deforming_of(cr_body_of_member(world, s->mesh_a))->surface;
	int64_t pair = cr_first_pair_of_vertex(view, s->mesh_a, s->mesh_b, (int32_t)candidates[0].value - first);
	m->inside.count = 0;
	if (!cr_array_reserve_fresh(&world->memory, &m->inside, count))
		return false;
	for (int64_t i = 0; i < count; i++) {
		const int32_t v = (int32_t)candidates[i].value - first;
		const double *p = &cloth->end[3 * (int64_t)v];
		carom_proximity_pair of = { .kind = CAROM_SWEEP_VERTEX_FACE, .mesh_a = s->mesh_a, .mesh_b = s->mesh_b };
		for (; pair < view->pair_count && view->pairs[pair].vertices[0] < v; pair++) {
			of.vertices[0] = view->pairs[pair].vertices[0];
			if (!cr_is_of_vertex(&view->pairs[pair], &of))
				break; // of other meshes
		}
		of.vertices[0] = v;
		bool within = pair == view->pair_count || !cr_is_of_vertex(&view->pairs[pair], &of);
		for (int k = 0; k < 3 && within; k++)
			within = p[k] >= s->closed.lower[k] && p[k] <= s->closed.upper[k];
		m->inside.data[m->inside.count] = (cr_vertex_inside){ v, -1 };
		m->inside.count += within;
	}
	return true;
}

bool cr_see_closed_mesh(const carom_world *world, int32_t mesh, cr_closed_mesh *closed)
{
	carom_result result = CAROM_SUCCESS;
	const cr_body *body = cr_body_of_member(world, mesh);
	closed->world = world;
	measure_box(body, closed);
	closed->seen = cr_see_body(body, &result);
	return closed->seen != NULL;
}

/// Asks the grid, or else a ray along the axis of the mesh on which the point is farthest from the
/// middle of its box: away from there is least to meet.
bool cr_is_in_closed_mesh(const cr_closed_mesh *c, v3d point)
{
	const cr_collider *collider = c->seen->shape.collider;
	for (int k = 0; k < 3; k++) {
		if (v3d_get(point, k) < c->lower[k] || v3d_get(point, k) > c->upper[k])
			return false;
	}
	const v3d local = cr_point_to_body(c->seen, point);
	const float at[3] = { (float)local.x, (float)local.y, (float)local.z };
	const int side = cr_side_of(collider, at);
	if (side != 0)
		return side > 0;
	const v3d away = v3d_sub(point,
		(v3d){ 0.5 * (c->lower[0] + c->upper[0]), 0.5 * (c->lower[1] + c->upper[1]), 0.5 * (c->lower[2] + c->upper[2]) });
	const v3d along = cr_vector_to_body(c->seen, away);
	float direction[3] = { 0, 0, 0 };
	int axis = 0;
	for (int k = 1; k < 3; k++)
		axis = fabs(v3d_get(along, k)) > fabs(v3d_get(along, axis)) ? k : axis;
	direction[axis] = v3d_get(along, axis) < 0 ? -1 : 1;
	return c->world->pipeline.bvh->winding(collider, at, direction) != 0;
}

bool cr_is_known_inside(const carom_world *world, int32_t mesh_a, int32_t mesh_b, int32_t vertex)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_placed surface = cr_placed_member(world, mesh_b);
	const cr_belongings *lists[2] = { &m->remembered, &m->crossing };
	bool known = false;
	for (int k = 0; k < 2 && !known; k++) {
		for (int64_t i = cr_first_belonging(lists[k], mesh_a, mesh_b, vertex);
			 i < lists[k]->count && !known && cr_compare_belonging(&lists[k]->data[i], mesh_a, mesh_b, vertex) == 0; i++)
			known = lists[k]->data[i].held || cr_side_of_foot(&surface, &lists[k]->data[i].foot) == CR_SIDE_BACK;
	}
	return known;
}

static void find_inside(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const search *s = task;
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(s->world->context->simd);
	const cr_placed cloth = cr_placed_member(s->world, s->mesh_a);
	for (int64_t i = begin; i < end; i++) {
		cr_vertex_inside *v = &s->world->surface_contacts.inside.data[i];
		const v3d at = cr_placed_vertex(&cloth, v->vertex);
		carom_closest_point closest;
		if (cr_is_in_closed_mesh(&s->closed, at) && !cr_is_known_inside(s->world, s->mesh_a, s->mesh_b, v->vertex) &&
			cr_body_closest_point(s->closed.seen, kernels, at, INFINITY, &closest))
			v->triangle = closest.triangle;
	}
}

/// Vertices inside belong to the outside of the surface, where it is nearest.
static bool append_began(carom_world *world, const search *s)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const int64_t first = m->began.count;
	bool enough = true;
	for (int64_t i = 0; i < m->inside.count && enough; i++) {
		const cr_vertex_inside *v = &m->inside.data[i];
		cr_belonging now = {
			.mesh_a = s->mesh_a, .mesh_b = s->mesh_b, .vertex = v->vertex, .triangle = v->triangle, .side = CR_SIDE_FRONT
		};
		if (v->triangle < 0)
			continue;
		cr_walk_belonging(world, &now);
		enough = !now.through || cr_append_belonging(world, &m->began, &now);
	}
	return enough && cr_lead_regions(world, &s->closed, s->mesh_a, s->mesh_b, first);
}

/// Find those of the listed vertices that are inside. False when out of memory.
static bool search_listed(carom_world *world, search *s)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	if (m->inside.count == 0 && !cr_was_led(world, s->mesh_a, s->mesh_b))
		return true;
	if (!cr_see_closed_mesh(world, s->mesh_b, &s->closed))
		return false;
	if (!s->closed.seen->shape.mesh->report.closed)
		return true; // it is torn where vertices of one place have come apart
	cr_parallel_for(&world->memory, find_inside, m->inside.count, VERTICES_PER_TASK, s);
	return append_began(world, s);
}

/// Search one closed mesh for vertices of all cloths. False when out of memory.
static bool search_mesh(carom_world *world, const carom_proximity_view *view, int32_t mesh)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const carom_sweep *sweep = m->near->sweep;
	const int32_t *firsts = sweep->mesh_vertices.data;
	cr_closed_mesh closed = { .world = world };
	measure_box(cr_body_of_member(world, mesh), &closed);
	if (!list_candidates(world, &closed, mesh))
		return false;
	bool enough = true;
	for (int64_t i = 0, end; i < m->order.count && enough; i = end) {
		const cr_key *of = &m->order.data[i];
		const int32_t cloth = cr_mesh_of_vertex(firsts, (int32_t)sweep->meshes.count, (int32_t)of->value);
		search s;
		for (end = i; end < m->order.count && (int32_t)m->order.data[end].value < firsts[cloth + 1];)
			end++;
		enough = !may_hold(world, cloth, mesh, &s) ||
			(list_vertices(world, view, &s, of, end - i, firsts[cloth]) && search_listed(world, &s));
	}
	return enough;
}

bool cr_find_vertices_inside(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	bool enough = true;
	m->began.count = 0;
	m->leading = false;
	for (int32_t b = 0; b < (int32_t)m->members.list.count && enough; b++) {
		const cr_body *body = cr_body_of_member(world, b);
		if (body->kind != CAROM_CLOTH && !body->sensor && body->shape.mesh->report.closed)
			enough = search_mesh(world, view, b);
	}
	cr_sort_belongings(&m->began);
	return enough;
}

// ---- Normals of solids ----

/// Is a member a closed mesh that is no cloth?
static bool is_solid(const carom_world *world, int32_t mesh)
{
	const cr_body *body = cr_body_of_member(world, mesh);
	return body->kind != CAROM_CLOTH && body->shape.mesh->report.closed;
}

/// The fans of the solid of a member, if it is one. False when out of memory.
static bool see(carom_world *world, int32_t mesh)
{
	return !is_solid(world, mesh) || cr_make_surface_fans(world, world->surface_contacts.members.list.data[mesh].body);
}

/// Two parts that meet. Those that meet often stand side by side in a list.
typedef struct meeting {
	int32_t part_a, part_b;
} meeting;

static bool are_same(meeting a, meeting b) { return a.part_a == b.part_a && a.part_b == b.part_b; }

/// Those of the solids of a meeting, unless it is the last one once more.
static bool see_meeting(carom_world *world, meeting now, meeting *last)
{
	const cr_members *members = &world->surface_contacts.members.list;
	if (now.part_a == now.part_b || are_same(now, *last))
		return true;
	*last = now;
	const int32_t mesh_a = cr_find_member(members, now.part_a), mesh_b = cr_find_member(members, now.part_b);
	return mesh_a < 0 || mesh_b < 0 || (see(world, mesh_a) && see(world, mesh_b));
}

/// Those of all meetings of this step: pairs, impacts, and contacts of the last step.
static bool see_meetings(carom_world *world, const carom_proximity_view *view)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_member *of_pairs = m->members.list.data, *of_hits = world->impacts.members.list.data;
	const carom_sweep_hits *hits = &world->impacts.hits;
	meeting last = { -1, -1 };
	bool enough = true;
	for (int64_t i = 0; i < view->pair_count && enough; i++)
		enough =
			see_meeting(world, (meeting){ of_pairs[view->pairs[i].mesh_a].body, of_pairs[view->pairs[i].mesh_b].body }, &last);
	for (int64_t i = 0; i < hits->count && enough; i++)
		enough = see_meeting(world, (meeting){ of_hits[hits->data[i].mesh_a].body, of_hits[hits->data[i].mesh_b].body }, &last);
	for (int64_t i = 0; i < m->known && enough; i++) {
		const carom_surface_contact *c = &m->found.data[i];
		const meeting now = { cr_part_a_of(c), cr_part_b_of(c) };
		enough = are_same(now, last) || !cr_is_remembered(world, c) || see_meeting(world, now, &last);
	}
	return enough;
}

/// Solids that deform, where there is cloth: what they remember may be carried over from another
/// mesh.
static bool see_soft(carom_world *world)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	bool any_cloth = false, enough = true;
	for (int32_t i = 0; i < m->members.list.count && !any_cloth; i++)
		any_cloth = cr_body_of_member(world, i)->kind == CAROM_CLOTH;
	for (int32_t i = 0; i < m->members.list.count && any_cloth && enough; i++)
		enough = !cr_deforming_of(cr_body_of_member(world, i)) || see(world, i);
	return enough;
}

bool cr_see_solids(carom_world *world, const carom_proximity_view *view)
{
	return see_soft(world) && see_meetings(world, view);
}
