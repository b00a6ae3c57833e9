/// Edges and triangles that intersect where a step ends (carom_sweep_find_crossings).
///
/// The tree is walked from its root with boxes of the places at rest. An edge belongs to the first
/// of its triangles. Where it meets a triangle, the boxes of both triangles overlap, so the walk
/// hands their pair on once, and the test of the edge is made there: each pair once, none left out.
/// Triangles that share a vertex are walked too: one may go through its neighbour's opposite side.
/// The test is exact (geom/triangle.h), so no order of the corners matters.
#include "base/stable_sort.h"
#include "geom/triangle.h"
#include "sweep/sweep_state.h"

#include <string.h>

/// Pairs of an edge and a triangle, by the numbers of the scene.
typedef struct cut {
	int32_t edge, triangle;
} cut;

typedef CR_ARRAY(cut) cut_list;

typedef struct crossing_search {
	carom_sweep *sweep;
	cut_list *found; // [thread_count]
} crossing_search;

static v3d place_of(const carom_sweep *s, int32_t vertex) { return v3d_from_doubles(&s->scene_end[3 * (int64_t)vertex]); }

static bool has_corner(const int32_t corners[3], int32_t v) { return corners[0] == v || corners[1] == v || corners[2] == v; }

/// Keep the sides of triangle a that meet triangle b, of which a is the first. Those that are too
/// many are counted alone. False when out of memory.
static bool cut_sides(crossing_search *c, int worker, int32_t a, int32_t b)
{
	carom_sweep *s = c->sweep;
	cr_sweep_worker *w = s->workers[worker];
	const int32_t *of_a = &s->scene.triangles[3 * (int64_t)a], *of_b = &s->scene.triangles[3 * (int64_t)b];
	const v3d triangle[3] = { place_of(s, of_b[0]), place_of(s, of_b[1]), place_of(s, of_b[2]) };
	for (int k = 0; k < 3; k++) {
		const int32_t p = of_a[k], q = of_a[(k + 1) % 3];
		const bool own = s->scene.first_of[a] >> CR_SIDES_SHIFT >> k & 1;
		if (!own || has_corner(of_b, p) || has_corner(of_b, q) ||
			!cr_segment_meets_triangle(place_of(s, p), place_of(s, q), triangle))
			continue;
		if (++w->total > s->job.most_found)
			continue;
		cut_list *list = &c->found[worker];
		if (!cr_array_reserve_one(&s->context, list))
			return false;
		list->data[list->count++] = (cut){ s->scene.triangle_edges[3 * (int64_t)a + k], b };
	}
	return true;
}

static bool take_leaves(void *user, int worker, const cr_leaf_pair *leaves, int32_t count)
{
	crossing_search *c = user;
	const cr_sweep_node *nodes = c->sweep->tree.nodes;
	bool enough = true;
	for (int32_t i = 0; i < count && enough; i++) {
		const int32_t a = ~nodes[leaves[i].nodes.a].right, b = ~nodes[leaves[i].nodes.b].right;
		enough = cut_sides(c, worker, a, b) && cut_sides(c, worker, b, a);
	}
	return enough;
}

static carom_sweep_crossing make_crossing(const carom_sweep *s, cut c)
{
	const int32_t *ends = &s->scene.edges[2 * (int64_t)c.edge], *first = s->mesh_vertices.data;
	const int32_t p = s->order.given_vertices[ends[0]], q = s->order.given_vertices[ends[1]];
	const int32_t corner = s->order.given_vertices[s->scene.triangles[3 * (int64_t)c.triangle]];
	const int32_t mesh = cr_mesh_of_vertex(first, (int32_t)s->meshes.count, p);
	return (carom_sweep_crossing){ .mesh_a = mesh,
		.mesh_b = cr_mesh_of_vertex(first, (int32_t)s->meshes.count, corner),
		.vertices = { p - first[mesh], q - first[mesh] },
		.triangle = s->triangle_numbers.data[s->order.given_triangles[c.triangle]] };
}

static int compare_crossings(const void *a, const void *b)
{
	const carom_sweep_crossing *x = a, *y = b;
	const int32_t of_x[5] = { x->mesh_a, x->mesh_b, x->vertices[0], x->vertices[1], x->triangle };
	const int32_t of_y[5] = { y->mesh_a, y->mesh_b, y->vertices[0], y->vertices[1], y->triangle };
	int order = 0;
	for (int k = 0; k < 5 && order == 0; k++)
		order = of_x[k] < of_y[k] ? -1 : of_x[k] > of_y[k];
	return order;
}

/// From the lists of the workers to crossings in order. False when out of memory.
static bool sort_crossings(crossing_search *c)
{
	carom_sweep *s = c->sweep;
	int64_t count = 0;
	for (int i = 0; i < s->context.thread_count; i++)
		count += c->found[i].count;
	if (!cr_array_reserve(&s->context, &s->crossings, count))
		return false;
	for (int i = 0; i < s->context.thread_count; i++) {
		for (int64_t k = 0; k < c->found[i].count; k++)
			s->crossings.data[s->crossings.count++] = make_crossing(s, c->found[i].data[k]);
	}
	if (count > 1)
		cr_sort_stably(s->crossings.data, count, sizeof *s->crossings.data, compare_crossings);
	return true;
}

static carom_result search_crossings(crossing_search *c)
{
	static const char *const what = "the crossings of a sweep";
	carom_sweep *s = c->sweep;
	carom_result result = cr_place_at_rest(s);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_sweep_bounds bounds = { s->scene_begin, s->scene_end, cr_sweep_largest(s), 0, s->def.tolerance, 1,
		s->sizes.count > 0 ? s->sizes.data : NULL, NULL };
	cr_sweep_tree_refit(&s->context, &s->tree, &bounds);
	if (!cr_walk_sweep_leaves(s, (cr_sweep_taker){ .leaves = take_leaves, .user = c }))
		return cr_fail_memory(&s->context, what);
	result = cr_check_found(s, "carom_sweep_find_crossings", "crossings");
	if (result == CAROM_SUCCESS && !sort_crossings(c))
		result = cr_fail_memory(&s->context, what);
	return result;
}

carom_result carom_sweep_find_crossings(carom_sweep *sweep, carom_sweep_crossings *crossings)
{
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	carom_context *context = &sweep->context;
	if (!crossings)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sweep_find_crossings: crossings is NULL");
	*crossings = (carom_sweep_crossings){ 0 };
	sweep->crossings.count = sweep->hits.count = 0;
	if (sweep->triangle_numbers.count == 0)
		return CAROM_SUCCESS;
	const size_t workers = (size_t)context->thread_count;
	crossing_search c = { sweep, cr_alloc_zero(context, workers * sizeof *c.found) };
	if (!c.found)
		return cr_fail_memory(context, "the crossings of a sweep");
	const carom_result result = search_crossings(&c);
	for (size_t i = 0; i < workers; i++)
		cr_array_free(context, &c.found[i]);
	cr_free(context, c.found, workers * sizeof *c.found);
	if (result == CAROM_SUCCESS)
		*crossings = (carom_sweep_crossings){ sweep->crossings.data, sweep->crossings.count };
	return result;
}
