/// Edges and triangles that intersect where a step ends (carom_sweep_find_crossings).
///
/// The tree is walked from its root with boxes of the places at rest. An edge belongs to the first
/// of its triangles. Where it meets a triangle, the boxes of both triangles overlap, so the walk
/// hands their pair on once, and the test of the edge is made there: each pair once, none left out.
/// Triangles that share a vertex are walked too: one may go through its neighbour's opposite side.
/// The test is exact (geom/triangle.h), so no order of the corners matters.
///
/// Ways apart (carom_sweep_find_ways_apart). The surfaces cross along segments, one for each pair
/// of triangles, and each end of a segment is a crossing x of an edge with a triangle. From x one
/// segment begins in each triangle i of the edge, along a unit vector r_i. So the gradient of the
/// length by x is g = -sum r_i. Let e be the direction of the edge and n the normal of the
/// triangle. If the edge moves by d, x moves by d - (n.d / n.e) e, to stay in the plane. If the
/// triangle moves by d, x moves by (n.d / n.e) e along the edge. So the gradient is
/// g - (g.e / n.e) n by the place of the edge, and (g.e / n.e) n by that of the triangle.
#include "base/stable_sort.h"
#include "geom/triangle.h"
#include "sweep/sweep_state.h"

#include <math.h>
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

static int64_t count_cuts(const crossing_search *c)
{
	int64_t count = 0;
	for (int i = 0; i < c->sweep->context.thread_count; i++)
		count += c->found[i].count;
	return count;
}

/// From the lists of the workers to crossings in order. False when out of memory.
static bool sort_crossings(crossing_search *c)
{
	carom_sweep *s = c->sweep;
	const int64_t count = count_cuts(c);
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

// ---- Ways apart ----

/// Sum of the directions in which the lines of crossing begin at an edge e (unit) that crosses a
/// triangle with the normal n (unit), one in each triangle of the edge.
static v3d sum_lines(const carom_sweep *s, int32_t edge, v3d e, v3d n)
{
	const int32_t *ends = &s->scene.edges[2 * (int64_t)edge];
	const v3d from = place_of(s, ends[0]);
	v3d sum = { 0, 0, 0 };
	for (int32_t i = s->scene.edge_first[edge]; i < s->scene.edge_first[edge + 1]; i++) {
		const int32_t *corners = &s->scene.triangles[3 * (int64_t)s->scene.edge_triangles[i]];
		int k = 0;
		while (k < 2 && (corners[k] == ends[0] || corners[k] == ends[1]))
			k++;
		const v3d to_third = v3d_sub(place_of(s, corners[k]), from);
		const v3d line = v3d_cross(v3d_cross(e, to_third), n);
		const double length = v3d_length(line), inward = v3d_dot(line, v3d_mad(to_third, -v3d_dot(to_third, e), e));
		if (length > 0)
			sum = v3d_mad(sum, (inward < 0 ? -1 : 1) / length, line);
	}
	return sum;
}

static void copy_vector(double to[3], v3d from)
{
	to[0] = from.x;
	to[1] = from.y;
	to[2] = from.z;
}

/// The weights of a triangle's corners at a point of its plane.
static void set_weights(const v3d t[3], v3d normal, v3d point, double weights[3])
{
	const double square = v3d_dot(normal, normal);
	for (int k = 0; k < 3; k++) {
		const v3d a = t[(k + 1) % 3], b = t[(k + 2) % 3];
		weights[k] = square > 0 ? v3d_dot(normal, v3d_cross(v3d_sub(b, a), v3d_sub(point, a))) / square : 1.0 / 3;
	}
}

/// Square of a sine: an edge that is nearer to the plane of a triangle lies in it.
static const double IN_PLANE = 1e-20;

static carom_sweep_way_apart make_way(const carom_sweep *s, cut c)
{
	const int32_t *ends = &s->scene.edges[2 * (int64_t)c.edge], *corners = &s->scene.triangles[3 * (int64_t)c.triangle];
	const v3d p = place_of(s, ends[0]), q = place_of(s, ends[1]);
	const v3d t[3] = { place_of(s, corners[0]), place_of(s, corners[1]), place_of(s, corners[2]) };
	const v3d normal = v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0])), edge = v3d_sub(q, p);
	const double across = v3d_dot(normal, edge);
	carom_sweep_way_apart way = { .crossing = make_crossing(s, c), .along = 0.5 };
	const bool in_plane = !(across * across > IN_PLANE * v3d_dot(normal, normal) * v3d_dot(edge, edge));
	if (!in_plane)
		way.along = fmin(fmax(v3d_dot(normal, v3d_sub(t[0], p)) / across, 0), 1);
	const v3d point = v3d_mad(p, way.along, edge);
	copy_vector(way.point, point);
	set_weights(t, normal, point, way.weights);
	if (in_plane)
		return way;
	const v3d e = v3d_normalize(edge), n = v3d_normalize(normal), lines = sum_lines(s, c.edge, e, n);
	const v3d of_triangle = v3d_scale(n, v3d_dot(lines, e) / v3d_dot(n, e));
	copy_vector(way.triangle_way, of_triangle);
	copy_vector(way.edge_way, v3d_sub(lines, of_triangle));
	return way;
}

/// From the lists of the workers to ways in order. False when out of memory.
static bool sort_ways(crossing_search *c)
{
	carom_sweep *s = c->sweep;
	const int64_t count = count_cuts(c);
	if (!cr_array_reserve(&s->context, &s->ways_apart, count))
		return false;
	for (int i = 0; i < s->context.thread_count; i++) {
		for (int64_t k = 0; k < c->found[i].count; k++)
			s->ways_apart.data[s->ways_apart.count++] = make_way(s, c->found[i].data[k]);
	}
	// A way begins with its crossing.
	if (count > 1)
		cr_sort_stably(s->ways_apart.data, count, sizeof *s->ways_apart.data, compare_crossings);
	return true;
}

// ---- Calls ----

static carom_result search_crossings(crossing_search *c, const char *call, bool (*sort)(crossing_search *))
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
	result = cr_check_found(s, call, "crossings");
	if (result == CAROM_SUCCESS && !sort(c))
		result = cr_fail_memory(&s->context, what);
	return result;
}

/// Search, and let sort put the finds in order.
static carom_result find_sorted(carom_sweep *sweep, const char *call, bool (*sort)(crossing_search *))
{
	carom_context *context = &sweep->context;
	sweep->crossings.count = sweep->ways_apart.count = sweep->hits.count = 0;
	if (sweep->triangle_numbers.count == 0)
		return CAROM_SUCCESS;
	const size_t workers = (size_t)context->thread_count;
	crossing_search c = { sweep, cr_alloc_zero(context, workers * sizeof *c.found) };
	if (!c.found)
		return cr_fail_memory(context, "the crossings of a sweep");
	const carom_result result = search_crossings(&c, call, sort);
	for (size_t i = 0; i < workers; i++)
		cr_array_free(context, &c.found[i]);
	cr_free(context, c.found, workers * sizeof *c.found);
	return result;
}

carom_result carom_sweep_find_crossings(carom_sweep *sweep, carom_sweep_crossings *crossings)
{
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	if (!crossings)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "carom_sweep_find_crossings: crossings is NULL");
	*crossings = (carom_sweep_crossings){ 0 };
	const carom_result result = find_sorted(sweep, "carom_sweep_find_crossings", sort_crossings);
	if (result == CAROM_SUCCESS)
		*crossings = (carom_sweep_crossings){ sweep->crossings.data, sweep->crossings.count };
	return result;
}

carom_result carom_sweep_find_ways_apart(carom_sweep *sweep, carom_sweep_ways_apart *ways)
{
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	if (!ways)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "carom_sweep_find_ways_apart: ways is NULL");
	*ways = (carom_sweep_ways_apart){ 0 };
	const carom_result result = find_sorted(sweep, "carom_sweep_find_ways_apart", sort_ways);
	if (result == CAROM_SUCCESS)
		*ways = (carom_sweep_ways_apart){ sweep->ways_apart.data, sweep->ways_apart.count };
	return result;
}
