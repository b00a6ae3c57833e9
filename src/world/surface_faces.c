/// Faces of cloth that cross a closed mesh leave it with the region that they belong to.
///
/// A region of vertices inside goes out along one direction (surface_regions.c). Its vertices alone
/// do not free it: the faces around it cross the mesh, edges between two vertices that are out
/// already lie under a ridge, and a spike of the mesh stands in a face. So these faces go along
/// that direction too. How far is asked face by face: the highest place of the mesh over the face,
/// as seen along the direction. It is one of three things: where a corner of the face comes out,
/// which is the corner's own contact; where an edge of the face comes out over an edge of the mesh;
/// or a vertex of the mesh under the face. The last two are contacts of this file.
///
/// A face that crosses has the direction of its corners, of this step or of the last one; a face
/// without any has that of its neighbours that cross. So a region goes on in its direction as
/// long as anything crosses, even when no vertex is inside any more.
///
/// Only places count that are over the part of the face that is inside: rays lead there from its
/// edges, and walks go on from where these come out, as long as the mesh looks along the direction.
/// Where edges of the mesh pierce the face, walks begin there as well. The height over a place
/// within a face where one large triangle of the mesh ends the part inside is no pair of features:
/// there the face is led a little less, and again in the next step.
///
/// Cost: nothing where no region is led and none was. Else O(crossing triangles), with a sort, and
/// for each such face some ten rays and walks.
#include "base/parallel.h"
#include "base/stable_sort.h"
#include "world/body_query.h"
#include "world/surface_cuts.h"
#include "world/world.h"
#include <stdlib.h>

enum { NONE = -1, MOST_STEPS = 256, MOST_SEEDS = 16, MOST_VISITED = 96, FACES_PER_TASK = 16 };

// Of the square of an edge's length: as much must be across the direction.
static const double LEAST_ACROSS2 = 0.01;
// Where along the part of an edge that is inside rays go out.
static const double ray_at[3] = { 0.1, 0.5, 0.9 };

typedef struct work {
	const cr_cut_pair *pair;
	cr_led_lists *lists;
	cr_closed_mesh closed;
	const cr_bvh_kernels *kernels;
	int64_t first; // of this pair among the faces
} work;

// ---- Which faces ----

static int compare_triangles(const void *a, const void *b)
{
	return cr_compare_numbers(((const cr_led_face *)a)->triangle, ((const cr_led_face *)b)->triangle);
}

/// Pairs of members come as their cuts do.
static int compare_led_face(const cr_led_face *f, int32_t cloth, int32_t solid, int32_t triangle)
{
	int order = cr_compare_numbers(f->cloth < f->solid ? f->cloth : f->solid, cloth < solid ? cloth : solid);
	if (order == 0)
		order = cr_compare_numbers(f->cloth < f->solid ? f->solid : f->cloth, cloth < solid ? solid : cloth);
	return order != 0 ? order : cr_compare_numbers(f->triangle, triangle);
}

static bool append_face(work *w, int32_t triangle)
{
	const cr_led_face face = { .cloth = w->pair->cloth, .solid = w->pair->solid, .triangle = triangle };
	if (!cr_array_reserve_one(&w->pair->world->memory, &w->lists->faces))
		return false;
	w->lists->faces.data[w->lists->faces.count++] = face;
	return true;
}

/// Let each face know which edges of the mesh pierce it: pierced names them by face.
static bool order_pierced(work *w)
{
	cr_led_lists *lists = w->lists;
	const cr_piercings *edges = w->pair->solid_edges;
	if (!cr_array_reserve_fresh(&w->pair->world->memory, &lists->pierced, 2 * edges->count))
		return false;
	for (int64_t i = 0; i < edges->count; i++)
		lists->pierced.data[i] = (cr_key){ (uint64_t)edges->data[i].triangle, (uint32_t)i };
	cr_radix_sort(lists->pierced.data, lists->pierced.data + edges->count, edges->count, 32);
	int32_t at = 0;
	for (int64_t i = w->first; i < lists->faces.count; i++) {
		cr_led_face *f = &lists->faces.data[i];
		f->first_pierced = at;
		while (at < edges->count && lists->pierced.data[at].key == (uint64_t)f->triangle)
			at++;
		f->end_pierced = at;
	}
	return true;
}

/// List the faces that cross the mesh, by number, each once.
static bool list_faces(work *w)
{
	const cr_cut_pair *pair = w->pair;
	cr_led_lists *lists = w->lists;
	bool enough = true;
	for (int64_t i = 0; i < pair->cloth_edges->count && enough; i++) {
		const cr_piercing *p = &pair->cloth_edges->data[i];
		const int32_t across = pair->of_cloth.faces->neighbours[3 * (int64_t)p->own + p->corner];
		enough = append_face(w, p->own) && (across < 0 || append_face(w, across));
	}
	for (int64_t i = 0; i < pair->solid_edges->count && enough; i++)
		enough = append_face(w, pair->solid_edges->data[i].triangle);
	cr_led_face *faces = lists->faces.data + w->first;
	const int64_t count = lists->faces.count - w->first;
	int64_t once = 0;
	if (count > 1)
		cr_sort_stably(faces, count, sizeof *faces, compare_triangles);
	for (int64_t i = 0; i < count; i++) {
		if (once == 0 || faces[once - 1].triangle != faces[i].triangle)
			faces[once++] = faces[i];
	}
	lists->faces.count = w->first + once;
	return enough && order_pierced(w);
}

const cr_led_face *cr_find_led_face(const carom_world *world, int32_t cloth, int32_t solid, int32_t triangle)
{
	const cr_led_lists *lists = &world->surface_contacts.led;
	int64_t low = 0, high = lists->faces.count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (compare_led_face(&lists->faces.data[middle], cloth, solid, triangle) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const cr_led_face *found = low < lists->faces.count ? &lists->faces.data[low] : NULL;
	return found && compare_led_face(found, cloth, solid, triangle) == 0 ? found : NULL;
}

// ---- Directions ----

/// The sum of the ways of a face's corners, by a list of belongings.
static v3d lead_of_corners(const work *w, const cr_belongings *list, int32_t triangle)
{
	const int32_t *corners = &w->pair->of_cloth.faces->triangles[3 * (int64_t)triangle];
	v3d sum = { 0, 0, 0 };
	for (int k = 0; k < 3; k++)
		sum = v3d_add(sum, cr_lead_of_vertex(list, w->pair->cloth, w->pair->solid, corners[k]));
	return v3d_normalize(sum);
}

static int64_t place_of(const work *w, int32_t triangle)
{
	const cr_led_face wanted = { .triangle = triangle };
	const cr_led_face *faces = w->lists->faces.data + w->first;
	const cr_led_face *found = triangle < 0
		? NULL
		: bsearch(&wanted, faces, (size_t)(w->lists->faces.count - w->first), sizeof *faces, compare_triangles);
	return found ? found - w->lists->faces.data : NONE;
}

/// Give each face its direction; faces next to one that has it take that. order: of faces that have
/// theirs.
static bool direct_faces(work *w)
{
	const cr_surface_contacts *m = &w->pair->world->surface_contacts;
	cr_led_lists *lists = w->lists;
	lists->order.count = 0;
	if (!cr_array_reserve_fresh(&w->pair->world->memory, &lists->order, lists->faces.count - w->first))
		return false;
	for (int64_t i = w->first; i < lists->faces.count; i++) {
		cr_led_face *f = &lists->faces.data[i];
		f->lead = lead_of_corners(w, &m->began, f->triangle);
		if (cr_is_zero(f->lead))
			f->lead = lead_of_corners(w, &m->leads, f->triangle);
		if (!cr_is_zero(f->lead))
			lists->order.data[lists->order.count++] = (int32_t)i;
	}
	for (int64_t next = 0; next < lists->order.count; next++) {
		const cr_led_face *f = &lists->faces.data[lists->order.data[next]];
		for (int k = 0; k < 3; k++) {
			const int64_t beside = place_of(w, w->pair->of_cloth.faces->neighbours[3 * (int64_t)f->triangle + k]);
			if (beside == NONE || !cr_is_zero(lists->faces.data[beside].lead))
				continue;
			lists->faces.data[beside].lead = f->lead;
			lists->order.data[lists->order.count++] = (int32_t)beside;
		}
	}
	int64_t left = w->first;
	for (int64_t i = w->first; i < lists->faces.count; i++) {
		if (!cr_is_zero(lists->faces.data[i].lead))
			lists->faces.data[left++] = lists->faces.data[i];
	}
	lists->faces.count = left;
	return true;
}

// ---- The highest place ----

/// A face, a direction, and the highest places of the mesh over it.
typedef struct face {
	const work *w;
	v3d at[3], lead;
	cr_led_top edge, vertex;
	int32_t seeds[MOST_SEEDS]; // triangles of the mesh to begin at
	int seed_count;
} face;

/// The place on the mesh where a point inside comes out. NONE: nowhere.
static int32_t come_out(const work *w, v3d point, v3d lead)
{
	const cr_query_ray ray = { point, lead, 0, INFINITY };
	carom_ray_hit hit;
	if (!cr_body_cast(w->closed.seen, w->kernels, &ray, CR_RAY_BOTH, &hit) ||
		!(v3d_dot(cr_placed_normal(&w->pair->of_solid, hit.triangle), lead) > 0))
		return NONE;
	return hit.triangle;
}

static void add_seed(face *f, int32_t triangle)
{
	bool found = f->seed_count == MOST_SEEDS || triangle < 0;
	for (int i = 0; i < f->seed_count && !found; i++)
		found = f->seeds[i] == triangle;
	if (!found)
		f->seeds[f->seed_count++] = triangle;
}

/// The plane of an edge of cloth and the direction.
typedef struct plane {
	const cr_placed *solid;
	int32_t ends[2]; // of the edge
	v3d from, edge, lead, normal;
	double begin, end; // the part of the edge that is inside
} plane;

/// Where the plane cuts an edge of a triangle of the mesh. along: there, of the edge of cloth.
static bool meets_edge(const plane *c, int32_t triangle, int k, double *along, cr_led_top *top)
{
	const int32_t *t = &c->solid->faces->triangles[3 * (int64_t)triangle], a = t[k], b = t[(k + 1) % 3];
	const v3d p = v3d_sub(cr_placed_vertex(c->solid, a), c->from), q = v3d_sub(cr_placed_vertex(c->solid, b), c->from);
	const double side_p = v3d_dot(c->normal, p), side_q = v3d_dot(c->normal, q);
	if ((side_p >= 0) == (side_q >= 0))
		return false;
	const double at = side_p / (side_p - side_q), length2 = v3d_dot(c->edge, c->edge), tilt = v3d_dot(c->edge, c->lead);
	const v3d x = v3d_mad(p, at, v3d_sub(q, p));
	const double of_edge = v3d_dot(x, c->edge), of_lead = v3d_dot(x, c->lead);
	*along = (of_edge - tilt * of_lead) / (length2 - tilt * tilt);
	*top = (cr_led_top){ .height = of_lead - *along * tilt,
		.cloth = { c->ends[0], c->ends[1] },
		.cloth_weight = { 1 - *along, *along },
		.solid = { a < b ? a : b, a < b ? b : a },
		.solid_weight = { a < b ? 1 - at : at, a < b ? at : 1 - at } };
	return true;
}

/// Go over the mesh in the plane, from a triangle on, to one end of the edge.
static void walk(face *f, const plane *c, int32_t triangle, int to, double last)
{
	const int32_t *weld = c->solid->faces->weld;
	int32_t entered[2] = { NONE, NONE };
	for (int step = 0; step < MOST_STEPS && triangle >= 0; step++) {
		const int32_t *t = &c->solid->faces->triangles[3 * (int64_t)triangle];
		int next = NONE;
		double along = last, at;
		cr_led_top top, now;
		for (int k = 0; k < 3; k++) {
			const int32_t p = weld[t[k]], q = weld[t[(k + 1) % 3]];
			if ((p == entered[0] && q == entered[1]) || (p == entered[1] && q == entered[0]) ||
				!meets_edge(c, triangle, k, &at, &now) || !(to * (at - along) > 0))
				continue;
			next = k;
			along = at;
			top = now;
		}
		if (next == NONE || along < c->begin || along > c->end)
			return;
		if (top.height > f->edge.height)
			f->edge = top;
		last = along;
		entered[0] = weld[t[next]];
		entered[1] = weld[t[(next + 1) % 3]];
		triangle = c->solid->faces->neighbours[3 * (int64_t)triangle + next];
	}
}

/// The plane of an edge of the face. False: the edge is along the direction.
static bool make_plane(const face *f, int32_t p, int32_t q, plane *c)
{
	const cr_placed *cloth = &f->w->pair->of_cloth;
	*c = (plane){ .solid = &f->w->pair->of_solid, .ends = { p < q ? p : q, p < q ? q : p }, .lead = f->lead };
	c->from = cr_placed_vertex(cloth, c->ends[0]);
	c->edge = v3d_sub(cr_placed_vertex(cloth, c->ends[1]), c->from);
	c->normal = v3d_cross(c->edge, c->lead);
	return v3d_dot(c->normal, c->normal) > LEAST_ACROSS2 * v3d_dot(c->edge, c->edge);
}

/// Look over the part of an edge that is inside.
static void look_over_part(face *f, plane *c, double begin, double end)
{
	c->begin = begin;
	c->end = end;
	for (int i = 0; i < 3; i++) {
		const double at = begin + ray_at[i] * (end - begin);
		const int32_t triangle = come_out(f->w, v3d_mad(c->from, at, c->edge), c->lead);
		if (triangle == NONE)
			continue;
		add_seed(f, triangle);
		walk(f, c, triangle, 1, at);
		walk(f, c, triangle, -1, at);
	}
}

static bool is_entering(const cr_piercing *p) { return p->side[0] > 0 || p->side[1] < 0; }

/// Look over the parts of an edge of cloth that are inside.
static void look_over_edge(face *f, int32_t p, int32_t q)
{
	const cr_piercings *list = f->w->pair->cloth_edges;
	plane c;
	if (!make_plane(f, p, q, &c))
		return;
	int64_t i = cr_first_piercing(list, c.ends[0], c.ends[1]);
	const bool is_cut = i < list->count && list->data[i].ends[0] == c.ends[0] && list->data[i].ends[1] == c.ends[1];
	bool inside = is_cut ? !is_entering(&list->data[i]) : cr_is_in_closed_mesh(&f->w->closed, c.from);
	double begin = 0;
	for (; i < list->count && list->data[i].ends[0] == c.ends[0] && list->data[i].ends[1] == c.ends[1]; i++) {
		const cr_piercing *now = &list->data[i];
		if (inside && !is_entering(now))
			look_over_part(f, &c, begin, now->at);
		begin = !inside && is_entering(now) ? now->at : begin;
		inside = is_entering(now);
	}
	if (inside)
		look_over_part(f, &c, begin, 1);
}

/// Where a vertex of the mesh is over the face, along the direction. False: beside it or under it.
static bool is_over(const face *f, v3d point, double weight[3], double *height)
{
	const v3d a = v3d_sub(f->at[1], f->at[0]), b = v3d_sub(f->at[2], f->at[0]), x = v3d_sub(point, f->at[0]);
	const v3d across = v3d_cross(f->lead, b), beside = v3d_cross(x, a);
	const double volume = v3d_dot(a, across);
	weight[1] = v3d_dot(x, across) / volume;
	weight[2] = v3d_dot(f->lead, beside) / volume;
	weight[0] = 1 - weight[1] - weight[2];
	*height = -v3d_dot(b, beside) / volume;
	return weight[0] >= 0 && weight[1] >= 0 && weight[2] >= 0 && *height > 0;
}

/// Look at the vertices of a triangle of the mesh. Is one over the face?
static bool look_at_corners(face *f, const int32_t corners[3], int32_t triangle)
{
	const cr_placed *solid = &f->w->pair->of_solid;
	const int32_t *t = &solid->faces->triangles[3 * (int64_t)triangle];
	bool any = false;
	for (int k = 0; k < 3; k++) {
		double weight[3], height;
		if (!is_over(f, cr_placed_vertex(solid, t[k]), weight, &height))
			continue;
		any = true;
		if (height > f->vertex.height)
			f->vertex = (cr_led_top){ .height = height,
				.cloth = { corners[0], corners[1], corners[2] },
				.cloth_weight = { weight[0], weight[1], weight[2] },
				.solid = { t[k] },
				.solid_weight = { 1 } };
	}
	return any;
}

/// Look where edges of a triangle of the mesh are over the border of the face.
static void look_at_border(face *f, const int32_t corners[3], int32_t triangle)
{
	for (int i = 0; i < 3; i++) {
		plane c;
		if (!make_plane(f, corners[i], corners[(i + 1) % 3], &c))
			continue;
		for (int k = 0; k < 3; k++) {
			double along;
			cr_led_top top;
			if (meets_edge(&c, triangle, k, &along, &top) && along >= 0 && along <= 1 && top.height > f->edge.height)
				f->edge = top;
		}
	}
}

/// Go over the mesh from the seeds, as far as its vertices are over the face. pierced: the seeds
/// pierce it; else rays come out there, and only places count that look along the direction.
static void look_around(face *f, const int32_t corners[3], bool pierced)
{
	const cr_placed *solid = &f->w->pair->of_solid;
	int32_t visited[MOST_VISITED];
	int count = 0;
	for (; count < f->seed_count; count++)
		visited[count] = f->seeds[count];
	for (int next = 0; next < count; next++) {
		const bool any = look_at_corners(f, corners, visited[next]) || next < f->seed_count;
		if (pierced)
			look_at_border(f, corners, visited[next]);
		for (int k = 0; k < 3 && any && count < MOST_VISITED; k++) {
			const int32_t to = solid->faces->neighbours[3 * (int64_t)visited[next] + k];
			bool found = to < 0 || (!pierced && !(v3d_dot(cr_placed_normal(solid, to), f->lead) > 0));
			for (int i = 0; i < count && !found; i++)
				found = visited[i] == to;
			if (!found)
				visited[count++] = to;
		}
	}
}

/// Begin where edges of the mesh pierce the face.
static void add_pierced(face *f, const cr_led_face *now)
{
	const cr_cut_pair *pair = f->w->pair;
	f->seed_count = 0;
	for (int32_t i = now->first_pierced; i < now->end_pierced; i++) {
		const cr_piercing *p = &pair->solid_edges->data[f->w->lists->pierced.data[i].value];
		add_seed(f, p->own);
		add_seed(f, pair->of_solid.faces->neighbours[3 * (int64_t)p->own + p->corner]);
	}
}

static void look_over(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const work *w = task;
	const cr_placed *cloth = &w->pair->of_cloth;
	for (int64_t i = w->first + begin; i < w->first + end; i++) {
		cr_led_face *now = &w->lists->faces.data[i];
		const int32_t *corners = &cloth->faces->triangles[3 * (int64_t)now->triangle];
		face f = { .w = w, .lead = now->lead };
		for (int k = 0; k < 3; k++)
			f.at[k] = cr_placed_vertex(cloth, corners[k]);
		for (int k = 0; k < 3; k++)
			look_over_edge(&f, corners[k], corners[(k + 1) % 3]);
		look_around(&f, corners, false);
		add_pierced(&f, now);
		look_around(&f, corners, true);
		now->by_vertex = f.vertex.height > f.edge.height;
		now->top = now->by_vertex ? f.vertex : f.edge;
	}
}

// ---- Contacts ----

/// Append the contact of the highest place over a face.
static bool append_contact(const work *w, const cr_led_face *f)
{
	const cr_cut_pair *pair = w->pair;
	cr_surface_contacts *m = &pair->world->surface_contacts;
	const cr_led_top *top = &f->top;
	const bool solid_first = f->by_vertex || pair->solid < pair->cloth;
	const int of_cloth = f->by_vertex ? 3 : 2, of_solid = f->by_vertex ? 1 : 2;
	const int c0 = solid_first ? of_solid : 0, s0 = solid_first ? 0 : of_cloth;
	v3d on_cloth = { 0, 0, 0 }, on_solid = { 0, 0, 0 };
	carom_surface_contact c;
	if (!(top->height > 0))
		return true;
	cr_begin_surface_contact(pair->world, solid_first ? pair->solid : pair->cloth, solid_first ? pair->cloth : pair->solid, &c);
	c.kind = f->by_vertex ? CAROM_SWEEP_VERTEX_FACE : CAROM_SWEEP_EDGE_EDGE;
	c.through = c.led = true;
	for (int k = 0; k < of_cloth; k++) {
		c.vertices[c0 + k] = top->cloth[k];
		c.weight[c0 + k] = top->cloth_weight[k];
		on_cloth = v3d_mad(on_cloth, top->cloth_weight[k], cr_placed_vertex(&pair->of_cloth, top->cloth[k]));
	}
	for (int k = 0; k < of_solid; k++) {
		c.vertices[s0 + k] = top->solid[k];
		c.weight[s0 + k] = top->solid_weight[k];
		on_solid = v3d_mad(on_solid, top->solid_weight[k], cr_placed_vertex(&pair->of_solid, top->solid[k]));
	}
	if (f->by_vertex) {
		c.triangle = f->triangle;
		c.side = v3d_dot(f->lead, cr_placed_normal(&pair->of_cloth, f->triangle)) > 0 ? CR_SIDE_BACK : CR_SIDE_FRONT;
	}
	c.normal = solid_first ? v3d_neg(f->lead) : f->lead;
	c.point_a = solid_first ? on_solid : on_cloth;
	c.point_b = solid_first ? on_cloth : on_solid;
	c.distance = v3d_dot(c.normal, v3d_sub(c.point_a, c.point_b));
	cr_continue_surface_contact(pair->world, &c);
	if (!(c.distance < 0))
		return true;
	if (!cr_array_reserve_one(&pair->world->memory, &m->deep))
		return false;
	m->deep.data[m->deep.count++] = c;
	return true;
}

static bool note_way(carom_world *world, int32_t cloth, int32_t solid, int32_t vertex, v3d lead)
{
	cr_belongings *ways = &world->surface_contacts.led.ways;
	if (!cr_array_reserve_one(&world->memory, ways))
		return false;
	ways->data[ways->count++] = (cr_belonging){ .mesh_a = cloth, .mesh_b = solid, .vertex = vertex, .lead = lead };
	return true;
}

static bool visit(const cr_cut_pair *pair, void *user)
{
	(void)user;
	carom_world *world = pair->world;
	work w = { .pair = pair,
		.lists = &world->surface_contacts.led,
		.kernels = cr_get_bvh_kernels(world->context->simd),
		.first = world->surface_contacts.led.faces.count };
	if (!list_faces(&w) || !direct_faces(&w))
		return false;
	const int64_t count = w.lists->faces.count - w.first;
	if (count == 0)
		return true;
	if (!cr_see_closed_mesh(world, pair->solid, &w.closed))
		return false;
	if (!w.closed.seen->shape.mesh->report.closed) {
		w.lists->faces.count = w.first; // it is torn where vertices of one place have come apart
		return true;
	}
	world->surface_contacts.leading = world->surface_contacts.tangled = true;
	cr_parallel_for(&world->memory, look_over, count, FACES_PER_TASK, &w);
	bool enough = true;
	for (int64_t i = w.first; i < w.lists->faces.count && enough; i++) {
		const cr_led_face *f = &w.lists->faces.data[i];
		const int32_t *corners = &pair->of_cloth.faces->triangles[3 * (int64_t)f->triangle];
		enough = append_contact(&w, f);
		for (int k = 0; k < 3 && enough; k++)
			enough = note_way(world, pair->cloth, pair->solid, corners[k], f->lead);
	}
	return enough;
}

bool cr_lead_faces(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	bool enough = true;
	m->led.faces.count = m->led.ways.count = 0;
	if (!m->leading && m->leads.count == 0)
		return true;
	for (int64_t i = 0; i < m->began.count && enough; i++) {
		const cr_belonging *b = &m->began.data[i];
		enough = cr_is_zero(b->lead) || note_way(world, b->mesh_a, b->mesh_b, b->vertex, b->lead);
	}
	enough = enough && cr_visit_cut_pairs(world, visit, NULL);
	cr_sort_belongings(&m->led.ways);
	return enough;
}

void cr_free_led(carom_context *memory, cr_led_lists *lists)
{
	cr_array_free(memory, &lists->faces);
	cr_array_free(memory, &lists->order);
	cr_array_free(memory, &lists->pierced);
	cr_array_free(memory, &lists->ways);
}
