/// Vertices of cloth that pass through a closed mesh, in at one face and out at another.
///
/// Such a vertex is outside the mesh again, but on the wrong side of it. The walk over the surface
/// (surface/side.h) does not see that: on a ball it slides round to the nearest point, where the
/// vertex is in front. So the impacts of the step, in the order of their times, tell.
///
/// - A vertex comes in at a face whose front it meets. It has come through from then on, until it
///   leaves the mesh to its own side: at a face that does not look away from the one where it came
///   in. What it meets from the front while it is through is part of its way, and tells nothing of
///   where it belongs. This is so on the way back too: a solver that puts the cloth back lets it
///   meet the opposite face from its front.
/// - A vertex that has left at a face that looks away is held: it is led back to the triangle where
///   it came in, until it is in front of that. So is one that is in the mesh, nearer to a face that
///   looks away. Where it looks to the side, the cloth around tells (surface_grazing.c).
/// - The next step knows it by its contact, which is through, while the walk at the begin of the
///   step ends in front.
/// - Faces beyond do not keep a vertex there, nor do edges of the mesh. The vertices of the mesh do
///   not keep the cloth. A vertex counts as beyond where it is held, or through while the nearest
///   face says that it is outside.
/// - Edges of cloth that was through meet edges of the mesh on their way back, like its vertices.
///   Contacts that would lead them out against their way are none.
///
/// Cost: a binary search and O(impacts of one vertex) for each impact of cloth with a closed mesh,
/// and one for each vertex that is through.
#include "sweep/sweep_motion.h"
#include "world/surface_contacts.h"
#include "world/world.h"

static v3d normal_of(const carom_world *world, int32_t mesh, int32_t triangle)
{
	const cr_placed surface = cr_placed_member(world, mesh);
	return cr_placed_normal(&surface, triangle);
}

static int32_t part_of(const carom_world *world, int32_t mesh) { return world->surface_contacts.members.list.data[mesh].body; }

// ---- Impacts of one vertex with one mesh ----

/// Those of the belonging's vertex, side by side in the list of the step.
typedef struct impacts_of {
	int64_t first, end;
} impacts_of;

static int64_t first_hit(const carom_world *world, int32_t mesh_a, int32_t mesh_b, int32_t vertex)
{
	const carom_sweep_hits *hits = &world->impacts.hits;
	const cr_belonging wanted = { .mesh_a = mesh_a, .mesh_b = mesh_b, .vertex = vertex };
	int64_t low = 0, high = hits->count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		const carom_sweep_hit *hit = &hits->data[middle];
		const bool before = hit->kind == CAROM_SWEEP_VERTEX_FACE &&
			cr_compare_belonging(&wanted, hit->mesh_a, hit->mesh_b, hit->vertices[0]) > 0;
		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static impacts_of find_impacts(const carom_world *world, const cr_belonging *b)
{
	const cr_members *members = &world->impacts.members.list;
	const int32_t mesh_a = cr_find_member(members, part_of(world, b->mesh_a)),
				  mesh_b = cr_find_member(members, part_of(world, b->mesh_b));
	if (mesh_a < 0 || mesh_b < 0)
		return (impacts_of){ 0, 0 };
	const carom_sweep_hits *hits = &world->impacts.hits;
	impacts_of of = { first_hit(world, mesh_a, mesh_b, b->vertex), 0 };
	for (of.end = of.first; of.end < hits->count; of.end++) {
		const carom_sweep_hit *hit = &hits->data[of.end];
		if (hit->kind != CAROM_SWEEP_VERTEX_FACE || hit->mesh_a != mesh_a || hit->mesh_b != mesh_b ||
			hit->vertices[0] != b->vertex)
			break;
	}
	return of;
}

/// The last impact from within, of times [from, before); NULL: there is none.
static const carom_sweep_hit *last_way_out(const carom_world *world, const cr_belonging *b, double from, double before)
{
	const impacts_of of = find_impacts(world, b);
	const carom_sweep_hit *last = NULL;
	for (int64_t i = of.first; i < of.end; i++) {
		const carom_sweep_hit *hit = &world->impacts.hits.data[i];
		const bool counts = hit->time >= from && hit->time < before && (!last || hit->time > last->time);
		if (counts && cr_side_of_hit(world, part_of(world, b->mesh_b), hit) == CR_SIDE_BACK)
			last = hit;
	}
	return last;
}

/// The first impact from outside, before a time; NULL: there is none.
static const carom_sweep_hit *first_way_in(const carom_world *world, const cr_belonging *b, double before)
{
	const impacts_of of = find_impacts(world, b);
	const carom_sweep_hit *first = NULL;
	for (int64_t i = of.first; i < of.end; i++) {
		const carom_sweep_hit *hit = &world->impacts.hits.data[i];
		const bool counts = hit->time <= before && (!first || hit->time < first->time);
		if (counts && cr_side_of_hit(world, part_of(world, b->mesh_b), hit) == CR_SIDE_FRONT)
			first = hit;
	}
	return first;
}

// ---- Where a vertex came in ----

/// Where a vertex that was through a closed mesh in the last step goes out: unit; zero: it was not
/// through.
static v3d way_of_last_step(const carom_world *world, const cr_belonging *b)
{
	const cr_belongings *list = &world->surface_contacts.remembered;
	for (int64_t i = cr_first_belonging(list, b->mesh_a, b->mesh_b, b->vertex);
		 i < list->count && cr_compare_belonging(&list->data[i], b->mesh_a, b->mesh_b, b->vertex) == 0; i++) {
		if (list->data[i].entered < 0)
			return normal_of(world, b->mesh_b, list->data[i].triangle);
	}
	return cr_lead_of_vertex(&world->surface_contacts.leads, b->mesh_a, b->mesh_b, b->vertex);
}

bool cr_is_hit_on_the_way(const carom_world *world, const cr_belonging *b, const carom_sweep_hit *hit)
{
	const bool leaves = cr_side_of_hit(world, part_of(world, b->mesh_b), hit) == CR_SIDE_BACK;
	const v3d before = way_of_last_step(world, b);
	const carom_sweep_hit *out = leaves ? hit : last_way_out(world, b, 0, hit->time);
	if (!out)
		return !cr_is_zero(before);
	const carom_sweep_hit *in = cr_is_zero(before) ? first_way_in(world, b, out->time) : NULL;
	if (cr_is_zero(before) && !in)
		return false;
	const v3d way = in ? normal_of(world, b->mesh_b, in->triangle) : before;
	return v3d_dot(normal_of(world, b->mesh_b, out->triangle), way) < (in ? CR_AWAY_WITHIN_STEP : CR_AWAY);
}

// ---- Held vertices ----

/// Was the vertex outside the mesh at the begin of the step, as a walk from its triangle tells?
static bool was_outside(const carom_world *world, const cr_belonging *b)
{
	const cr_body *body = cr_body_of_member(world, b->mesh_b);
	v3d at = cr_vertex_at(world, part_of(world, b->mesh_a), b->vertex, 0);
	cr_placed surface = cr_placed_member(world, b->mesh_b);
	if (cr_deforming_of(body)) {
		surface.places = cr_deforming_of(body)->surface.begin;
	} else {
		// A rigid mesh is seen where it is at the end, and the vertex from there.
		const carom_pose *from = cr_begin_of(body);
		const m3d rotation = m3d_from_quat(from->orientation);
		at = cr_point_to_world(body, m3d_tmul(&rotation, v3d_sub(at, from->position)));
	}
	const cr_foot foot = cr_follow_surface(&surface, b->triangle, at);
	return cr_side_of_foot(&surface, &foot) == CR_SIDE_FRONT;
}

/// Note whether a vertex that is outside, and came in at its triangle, has not come back to its own
/// side.
static void hold_beyond(const carom_world *world, cr_belonging *b, v3d way)
{
	const carom_sweep_hit *out = last_way_out(world, b, b->entered, INFINITY);
	const double along = out ? v3d_dot(normal_of(world, b->mesh_b, out->triangle), way) : 0;
	const bool within = b->entered >= 0; // the step
	b->held = out ? along < (within ? CR_AWAY_WITHIN_STEP : CR_AWAY) : !within && was_outside(world, b);
	b->doubtful = b->held && within && !(along < CR_AWAY);
}

bool cr_has_gone_through(const carom_world *world, const cr_belonging *b)
{
	const carom_sweep_hit *out = b->through && !b->held && b->entered >= 0 ? last_way_out(world, b, b->entered, INFINITY) : NULL;
	return out && v3d_dot(normal_of(world, b->mesh_b, out->triangle), normal_of(world, b->mesh_b, b->triangle)) < CR_AWAY;
}

void cr_hold_at_entry(const carom_world *world, cr_belonging *b)
{
	const cr_placed surface = cr_placed_member(world, b->mesh_b), cloth = cr_placed_member(world, b->mesh_a);
	const v3d way = cr_placed_normal(&surface, b->triangle);
	const cr_foot entry = cr_foot_on_triangle(&surface, b->triangle, cr_placed_vertex(&cloth, b->vertex));
	if (!(v3d_dot(entry.offset, way) < 0))
		return; // it is on its own side
	if (cr_side_of_foot(&surface, &b->foot) == CR_SIDE_BACK)
		b->held = v3d_dot(cr_placed_normal(&surface, b->foot.triangle), way) < (b->entered <= 1 ? CR_AWAY_WITHIN_STEP : 0);
	else
		hold_beyond(world, b, way);
	if (b->held)
		b->foot = entry;
}

// ---- Beyond the mesh ----

/// Does the nearest face that the search found say that a vertex is outside the mesh?
static bool is_seen_outside(const carom_world *world, const carom_proximity_view *view, const cr_belonging *b)
{
	const carom_proximity_pair of = {
		.kind = CAROM_SWEEP_VERTEX_FACE, .mesh_a = b->mesh_a, .mesh_b = b->mesh_b, .vertices = { b->vertex }
	};
	const int64_t nearest = cr_nearest_pair(view, cr_first_pair_of_vertex(view, b->mesh_a, b->mesh_b, b->vertex), &of);
	if (nearest < 0)
		return false;
	const cr_placed surface = cr_placed_member(world, b->mesh_b), cloth = cr_placed_member(world, b->mesh_a);
	const cr_foot foot = cr_foot_on_triangle(&surface, view->pairs[nearest].triangle, cr_placed_vertex(&cloth, b->vertex));
	return cr_side_of_foot(&surface, &foot) == CR_SIDE_FRONT;
}

bool cr_has_passed(const carom_world *world, const carom_proximity_view *view, const cr_belonging *b)
{
	if (!b->through || b->held || !cr_has_outside(world, b->mesh_a, b->mesh_b))
		return b->held;
	const cr_placed surface = cr_placed_member(world, b->mesh_b);
	return cr_side_of_foot(&surface, &b->foot) == CR_SIDE_BACK && is_seen_outside(world, view, b);
}

bool cr_list_beyond(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const cr_belongings *lists[2] = { &m->remembered, &m->crossing };
	bool enough = true;
	m->beyond.count = 0;
	for (int k = 0; k < 2; k++) {
		for (int64_t i = 0; i < lists[k]->count && enough; i++)
			enough =
				!cr_has_passed(world, view, &lists[k]->data[i]) || cr_append_belonging(world, &m->beyond, &lists[k]->data[i]);
	}
	cr_sort_belongings(&m->beyond);
	return enough;
}

v3d cr_way_back(const carom_world *world, int32_t cloth, int32_t solid, int32_t vertex)
{
	const cr_belongings *list = &world->surface_contacts.beyond;
	v3d sum = { 0, 0, 0 };
	for (int64_t i = list->count == 0 ? 0 : cr_first_belonging(list, cloth, solid, vertex);
		 i < list->count && cr_compare_belonging(&list->data[i], cloth, solid, vertex) == 0; i++)
		sum = v3d_add(sum, normal_of(world, solid, list->data[i].triangle));
	return v3d_normalize(sum);
}

bool cr_is_face_beyond(const carom_world *world, int32_t cloth, int32_t solid, int32_t vertex, int32_t triangle)
{
	const v3d way = cr_way_back(world, cloth, solid, vertex);
	return !cr_is_zero(way) && v3d_dot(way, normal_of(world, solid, triangle)) < CR_KEEPS_BEYOND;
}

bool cr_is_edge_beyond(const carom_world *world, const carom_proximity_pair *pair, v3d normal)
{
	if (world->surface_contacts.beyond.count == 0)
		return false;
	const bool turned = !cr_has_outside(world, pair->mesh_a, pair->mesh_b);
	if (turned && !cr_has_outside(world, pair->mesh_b, pair->mesh_a))
		return false;
	bool beyond = false;
	for (int k = 0; k < 2 && !beyond; k++) {
		const v3d way = cr_way_back(world, turned ? pair->mesh_b : pair->mesh_a, turned ? pair->mesh_a : pair->mesh_b,
			pair->vertices[turned ? 2 + k : k]);
		beyond = !cr_is_zero(way) && v3d_dot(way, turned ? v3d_neg(normal) : normal) < CR_KEEPS_BEYOND;
	}
	return beyond;
}

cr_side cr_side_by_passing(const carom_world *world, int32_t solid, int32_t cloth, int32_t triangle)
{
	if (world->surface_contacts.beyond.count == 0 || !cr_has_outside(world, cloth, solid))
		return CR_SIDE_NONE;
	const cr_placed surface = cr_placed_member(world, cloth);
	v3d sum = { 0, 0, 0 };
	for (int k = 0; k < 3; k++)
		sum = v3d_add(sum, cr_way_back(world, cloth, solid, surface.faces->triangles[3 * (int64_t)triangle + k]));
	const double along = v3d_dot(sum, cr_placed_normal(&surface, triangle));
	return along > 0 ? CR_SIDE_BACK : along < 0 ? CR_SIDE_FRONT : CR_SIDE_NONE;
}

bool cr_is_edge_on_the_way(const carom_world *world, int32_t mesh_a, int32_t mesh_b, const carom_surface_contact *c)
{
	const bool turned = !cr_has_outside(world, mesh_a, mesh_b);
	if (!c->through || c->age > 0 || (turned && !cr_has_outside(world, mesh_b, mesh_a)))
		return false;
	const v3d normal = turned ? v3d_neg(c->normal) : c->normal;
	bool on_the_way = false;
	for (int k = 0; k < 2 && !on_the_way; k++) {
		const cr_belonging end = {
			.mesh_a = turned ? mesh_b : mesh_a, .mesh_b = turned ? mesh_a : mesh_b, .vertex = c->vertices[turned ? 2 + k : k]
		};
		on_the_way = v3d_dot(way_of_last_step(world, &end), normal) < CR_AWAY;
	}
	return on_the_way;
}
