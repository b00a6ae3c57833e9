/// Regions of cloth inside a closed mesh that go out one way.
///
/// A sheet lies across the middle of a mesh. The nearest ways out of its vertices turn around
/// from one to the next: up, to the sides, down. Edges that do not stretch hold a sheet in that
/// goes all these ways. So connected vertices inside, a region, leave along one direction, each
/// as far as the mesh reaches over it. Global intersection analysis (Baraff, Witkin, Kass 2003:
/// Untangling cloth) has such regions too: the contour along which two surfaces cross bounds a
/// region of each, and the two have to part as wholes. Here the contour is that of the vertices
/// inside, and the part of the mesh is the one that the direction meets.
///
/// - A region whose nearest ways lie within a cone about their mean keeps them.
/// - So does one that lies along the surface, as cloth draped over a ball that has sunk in: nearly
///   all of its nearest ways lead to one side of the cloth.
/// - A region that was led in the last step goes on in that direction: the mean of the directions
///   of its vertices, where two regions have become one. Vertices that have come in since, or that
///   were out and have come in again, join it.
/// - Else it takes the best of 26 directions about the normal of the cloth. First, as few vertices
///   and edges of the rim as possible speak against it: a vertex that a ray does not lead out; an
///   edge from the region to beyond it that the direction is against, since the cloth beyond would
///   go in there. So a region with a rim all around leaves across the cloth, and a strip at a
///   border in its plane. Then the lowest way out counts, in the mean, and one to the side that
///   other regions of this cloth leave by.
///
/// While a region leaves, its direction goes before all else that is known there: where its
/// vertices came in; vertices of the mesh that have come through its faces, which stay behind;
/// edges of the mesh that its edges are through.
///
/// Vertices within the kept distance of the surface, which the search tells of, belong to a region
/// as well; those that came in by a way that is known do not join a region that was not led yet.
///
/// Cost: nothing where no vertex inside is unknown. One pass over the nearest ways where they agree
/// and no region was led. Else O(vertices of the cloth), and for each region 26 rays for at most 64
/// of its vertices; a ray for each vertex, in parallel.
#include "base/parallel.h"
#include "world/body_query.h"
#include "world/surface_cuts.h"
#include "world/world.h"

enum { UNSEEN = -1, BEYOND = -2, TAKEN = -3 }; // labels; others: where the vertex stands in began
enum { VERTICES_PER_TASK = 64 };

typedef struct work {
	carom_world *world;
	const cr_closed_mesh *closed;
	const cr_bvh_kernels *kernels;
	const cr_fans *fans; // of the cloth
	cr_region_lists *lists;
	cr_placed of_cloth, of_mesh;
	int32_t mesh_a, mesh_b;
	v3d direction; // of the region in hand
	v3d others;    // the sum of those of regions before it
	bool goes_on;  // some were led in the last step
} work;

// ---- Nearest ways ----

/// The unit way out to the nearest point.
static v3d way_of(const work *w, const cr_belonging *b)
{
	const double distance = sqrt(b->foot.distance2);
	return distance > 0 ? v3d_scale(b->foot.offset, -1 / distance) : cr_placed_normal(&w->of_mesh, b->foot.triangle);
}

/// How many edges of the rim a direction is against, of each strideth.
static int64_t count_against(const work *w, v3d direction, int64_t stride)
{
	const cr_region_lists *lists = w->lists;
	int64_t against = 0;
	for (int64_t i = 0; i < lists->rim.count; i += stride) {
		const cr_region_edge *e = &lists->rim.data[i];
		const v3d out = v3d_sub(cr_placed_vertex(&w->of_cloth, e->beyond), cr_placed_vertex(&w->of_cloth, e->within));
		against += v3d_dot(v3d_normalize(out), direction) < CR_AGAINST_RIM;
	}
	return against;
}

/// Would the cloth around the region go in where it leaves along a direction?
static bool is_against_rim(const work *w, v3d direction)
{
	return CR_LEAST_AGAINST * count_against(w, direction, 1) > w->lists->rim.count;
}

/// Do the nearest ways of the region lie within a cone, and lead away from the cloth around it?
/// Vertices without one do not count.
static bool do_ways_agree(const work *w)
{
	const cr_region_lists *lists = w->lists;
	const cr_belonging *began = w->world->surface_contacts.began.data;
	v3d mean = { 0, 0, 0 };
	bool agree = true;
	for (int64_t i = 0; i < lists->vertices.count; i++) {
		if (lists->vertices.data[i].began >= 0)
			mean = v3d_add(mean, way_of(w, &began[lists->vertices.data[i].began]));
	}
	mean = v3d_normalize(mean);
	for (int64_t i = 0; i < lists->vertices.count && agree; i++) {
		if (lists->vertices.data[i].began >= 0)
			agree = v3d_dot(mean, way_of(w, &began[lists->vertices.data[i].began])) >= CR_WITHIN_CONE;
	}
	return agree && !is_against_rim(w, mean);
}

bool cr_is_beside_lead(const carom_world *world, int32_t mesh_a, int32_t mesh_b, const carom_surface_contact *c)
{
	if (!cr_is_any_led(&world->surface_contacts) || !c->through)
		return false;
	const bool turned = !cr_has_outside(world, mesh_a, mesh_b);
	bool beside = false;
	for (int k = 0; k < 2; k++) {
		const v3d lead = turned ? cr_lead_now(world, mesh_b, mesh_a, c->vertices[2 + k])
								: cr_lead_now(world, mesh_a, mesh_b, c->vertices[k]);
		beside = beside || (!cr_is_zero(lead) && v3d_dot(lead, turned ? v3d_neg(c->normal) : c->normal) < CR_ALONG_LEAD);
	}
	return beside;
}

v3d cr_lead_now(const carom_world *world, int32_t cloth, int32_t solid, int32_t vertex)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const v3d now = cr_lead_of_vertex(&m->led.ways, cloth, solid, vertex);
	return cr_is_zero(now) ? cr_lead_of_vertex(&m->leads, cloth, solid, vertex) : now;
}

v3d cr_lead_of_vertex(const cr_belongings *list, int32_t mesh_a, int32_t mesh_b, int32_t vertex)
{
	const int64_t i = cr_first_belonging(list, mesh_a, mesh_b, vertex);
	const bool found = i < list->count && cr_compare_belonging(&list->data[i], mesh_a, mesh_b, vertex) == 0;
	return found ? list->data[i].lead : (v3d){ 0, 0, 0 };
}

bool cr_was_led(const carom_world *world, int32_t mesh_a, int32_t mesh_b)
{
	const cr_belongings *leads = &world->surface_contacts.leads;
	const int64_t i = cr_first_belonging(leads, mesh_a, mesh_b, 0);
	return i < leads->count && leads->data[i].mesh_a == mesh_a && leads->data[i].mesh_b == mesh_b;
}

// ---- Regions ----

static bool append_vertex(work *w, int32_t vertex, int32_t began)
{
	cr_region_lists *lists = w->lists;
	if (!cr_array_reserve_one(&w->world->memory, &lists->vertices))
		return false;
	lists->vertices.data[lists->vertices.count++] = (cr_region_vertex){ vertex, began };
	lists->labels.data[vertex] = TAKEN;
	return true;
}

static bool append_rim(work *w, int32_t within, int32_t beyond)
{
	cr_region_lists *lists = w->lists;
	if (!cr_array_reserve_one(&w->world->memory, &lists->rim))
		return false;
	lists->rim.data[lists->rim.count++] = (cr_region_edge){ within, beyond };
	return true;
}

/// Is a vertex inside that may belong to a region?
static bool is_inside(const work *w, int32_t vertex)
{
	return cr_is_in_closed_mesh(w->closed, cr_placed_vertex(&w->of_cloth, vertex)) &&
		(w->goes_on || !cr_is_known_inside(w->world, w->mesh_a, w->mesh_b, vertex));
}

/// A neighbour of a vertex of the region: it belongs to it, or the edge to it to the rim.
static bool reach(work *w, int32_t from, int32_t vertex)
{
	int32_t *label = &w->lists->labels.data[vertex];
	if (*label == TAKEN)
		return true;
	if (*label == UNSEEN) {
		if (is_inside(w, vertex))
			return append_vertex(w, vertex, -1);
		*label = BEYOND;
	}
	return *label == BEYOND ? append_rim(w, from, vertex) : append_vertex(w, vertex, *label);
}

/// Gather the vertices inside that edges connect to one.
static bool flood(work *w, int32_t vertex, int32_t began)
{
	const cr_topology *t = w->of_cloth.faces;
	cr_region_lists *lists = w->lists;
	lists->vertices.count = lists->rim.count = 0;
	bool enough = append_vertex(w, vertex, began);
	for (int64_t next = 0; next < lists->vertices.count && enough; next++) {
		const int32_t from = lists->vertices.data[next].vertex, place = t->weld[from];
		for (int32_t f = 3 * w->fans->first[place]; f < 3 * w->fans->first[place + 1] && enough; f++)
			enough = reach(w, from, t->triangles[w->fans->corners[f / 3] / 3 * 3 + f % 3]);
	}
	return enough;
}

// ---- Directions ----

/// The sum of the last directions of the region's vertices; zero: it was not led.
static v3d last_direction(const work *w)
{
	const cr_belongings *leads = &w->world->surface_contacts.leads;
	v3d sum = { 0, 0, 0 };
	for (int64_t i = 0; i < w->lists->vertices.count && leads->count > 0; i++)
		sum = v3d_add(sum, cr_lead_of_vertex(leads, w->mesh_a, w->mesh_b, w->lists->vertices.data[i].vertex));
	return v3d_normalize(sum);
}

/// The normal of the cloth in the region.
static v3d normal_of_region(const work *w)
{
	const cr_topology *t = w->of_cloth.faces;
	v3d sum = { 0, 0, 0 };
	for (int64_t i = 0; i < w->lists->vertices.count; i++) {
		const int32_t place = t->weld[w->lists->vertices.data[i].vertex];
		sum = v3d_add(sum, cr_normals_around(&w->of_cloth, w->fans, place));
	}
	return v3d_normalize(sum);
}

/// Where a vertex leaves the mesh along a direction. False: it does not.
static bool leave(const work *w, int32_t vertex, v3d direction, cr_foot *foot)
{
	const v3d at = cr_placed_vertex(&w->of_cloth, vertex);
	const cr_query_ray ray = { at, direction, 0, INFINITY };
	carom_ray_hit hit;
	if (!cr_body_cast(w->closed->seen, w->kernels, &ray, CR_RAY_BOTH, &hit))
		return false;
	*foot = cr_foot_on_triangle(&w->of_mesh, hit.triangle, v3d_mad(at, hit.t, direction));
	const v3d exit = v3d_sub(v3d_mad(at, hit.t, direction), foot->offset);
	foot->offset = v3d_sub(at, exit);
	foot->distance2 = v3d_dot(foot->offset, foot->offset);
	return cr_side_of_foot(&w->of_mesh, foot) == CR_SIDE_BACK;
}

static cr_way_score try_direction(const void *region, v3d direction)
{
	const work *w = region;
	const cr_region_lists *lists = w->lists;
	cr_way_score s = { 0, 0 };
	for (int64_t i = 0; i < lists->vertices.count; i += cr_sample_stride(lists->vertices.count)) {
		cr_foot foot;
		if (leave(w, lists->vertices.data[i].vertex, direction, &foot))
			s.lengths += sqrt(foot.distance2);
		else
			s.against++;
	}
	s.against += count_against(w, direction, cr_sample_stride(lists->rim.count));
	if (v3d_dot(direction, w->others) < 0)
		s.lengths *= CR_OPPOSED;
	return s;
}

// ---- Ways out ----

/// Those of the region that a ray leads out have it as their way.
static void lead(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const work *w = task;
	for (int64_t i = begin; i < end; i++) {
		const cr_region_vertex *v = &w->lists->vertices.data[i];
		cr_belonging *b = &w->world->surface_contacts.began.data[v->began];
		cr_foot foot;
		if (!leave(w, v->vertex, w->direction, &foot))
			continue;
		b->triangle = foot.triangle;
		b->foot = foot;
		b->through = true;
		b->lead = w->direction;
	}
}

/// Let each vertex of the region have a place in the list of those that began inside. False when
/// out of memory.
static bool add_near_vertices(work *w)
{
	cr_surface_contacts *m = &w->world->surface_contacts;
	for (int64_t i = 0; i < w->lists->vertices.count; i++) {
		cr_region_vertex *v = &w->lists->vertices.data[i];
		const cr_belonging now = { .mesh_a = w->mesh_a, .mesh_b = w->mesh_b, .vertex = v->vertex, .side = CR_SIDE_FRONT };
		if (v->began >= 0)
			continue;
		v->began = (int32_t)m->began.count;
		if (!cr_append_belonging(w->world, &m->began, &now))
			return false;
	}
	return true;
}

/// Does the region lie along the surface of the mesh, so that nearly all of its nearest ways are to
/// one side of the cloth?
static bool lies_along(const work *w)
{
	const cr_region_lists *lists = w->lists;
	cr_sides_along along = { 0 };
	for (int64_t i = 0; i < lists->vertices.count; i++) {
		const int32_t began = lists->vertices.data[i].began, place = w->of_cloth.faces->weld[lists->vertices.data[i].vertex];
		if (began >= 0)
			cr_count_side(&along, cr_normals_around(&w->of_cloth, w->fans, place),
				way_of(w, &w->world->surface_contacts.began.data[began]));
	}
	return cr_lie_along(&along);
}

/// Drop those near the surface, from a place in the list on, that have got no way.
static void drop_without_way(cr_belongings *began, int64_t from)
{
	int64_t left = from;
	for (int64_t i = from; i < began->count; i++) {
		if (began->data[i].through)
			began->data[left++] = began->data[i];
	}
	began->count = left;
}

/// Lead the region in hand out, if its nearest ways do not.
static bool lead_region(work *w)
{
	cr_belongings *began = &w->world->surface_contacts.began;
	const int64_t before = began->count;
	w->direction = last_direction(w);
	if (!(v3d_length(w->direction) > 0)) {
		if (do_ways_agree(w) || lies_along(w))
			return true;
		w->direction = cr_best_way(normal_of_region(w), try_direction, w);
	}
	w->others = v3d_add(w->others, w->direction);
	if (!add_near_vertices(w))
		return false;
	cr_parallel_for(&w->world->memory, lead, w->lists->vertices.count, VERTICES_PER_TASK, w);
	drop_without_way(began, before);
	w->world->surface_contacts.tangled = w->world->surface_contacts.leading = true;
	return true;
}

static bool label_vertices(work *w, int64_t first, int64_t end)
{
	const cr_surface_contacts *m = &w->world->surface_contacts;
	const int32_t count = w->of_cloth.faces->vertex_count;
	if (!cr_make_surface_fans(w->world, m->members.list.data[w->mesh_a].body) ||
		!cr_array_reserve_fresh(&w->world->memory, &w->lists->labels, count))
		return false;
	w->fans = &m->fans.data[w->mesh_a];
	for (int32_t v = 0; v < count; v++)
		w->lists->labels.data[v] = UNSEEN;
	for (int64_t i = first; i < end; i++)
		w->lists->labels.data[m->began.data[i].vertex] = (int32_t)i;
	return true;
}

/// Lead the regions of those that began, and of those that were led in the last step.
static bool lead_all(work *w, int64_t first, int64_t end)
{
	const cr_surface_contacts *m = &w->world->surface_contacts;
	const cr_belongings *leads = &m->leads;
	bool enough = label_vertices(w, first, end);
	for (int64_t i = first; i < end && enough; i++) {
		const int32_t vertex = m->began.data[i].vertex;
		if (w->lists->labels.data[vertex] != TAKEN)
			enough = flood(w, vertex, (int32_t)i) && lead_region(w);
	}
	for (int64_t i = cr_first_belonging(leads, w->mesh_a, w->mesh_b, 0); i < leads->count && enough; i++) {
		const cr_belonging *b = &leads->data[i];
		if (b->mesh_a != w->mesh_a || b->mesh_b != w->mesh_b)
			break;
		if (w->lists->labels.data[b->vertex] == UNSEEN && is_inside(w, b->vertex))
			enough = flood(w, b->vertex, -1) && lead_region(w);
	}
	return enough;
}

bool cr_lead_regions(carom_world *world, const cr_closed_mesh *closed, int32_t mesh_a, int32_t mesh_b, int64_t first)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const int64_t end = m->began.count;
	work w = { .world = world,
		.closed = closed,
		.kernels = cr_get_bvh_kernels(world->context->simd),
		.lists = &m->regions,
		.of_cloth = cr_placed_member(world, mesh_a),
		.of_mesh = cr_placed_member(world, mesh_b),
		.mesh_a = mesh_a,
		.mesh_b = mesh_b };
	w.goes_on = cr_was_led(world, mesh_a, mesh_b);
	return (!w.goes_on && first == end) || lead_all(&w, first, end);
}
