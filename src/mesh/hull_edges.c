/// The edges of small hulls: convex closed meshes of few facets and few corners.
///
/// Two facets of a convex body share one edge at most, a straight line from corner to corner. So
/// the half-edges between two facets are pieces of one edge, and its ends are their only corners. A
/// mesh whose creases are otherwise, by rounding, is no small hull. O(creases * edges).

#include "mesh/facets.h"
#include <string.h>

/// An edge while it is put together.
typedef struct open_edge {
	cr_hull_edge edge;
	int32_t facet[2]; // the lower first
	int ends;         // how many are known: from, then to
} open_edge;

typedef struct edge_list {
	const cr_topology *topology;
	const cr_facets *facets;
	open_edge data[CR_FEW_EDGES];
	int32_t count;
} edge_list;

/// The number of a vertex in the list of corners; -1: it is none.
static int32_t corner_number(const edge_list *list, int32_t vertex)
{
	const cr_facets *f = list->facets;
	const int32_t welded = list->topology->weld[vertex];
	for (int32_t i = 0; i < f->few_count && f->corner[welded]; i++) {
		if (f->few[i] == welded)
			return i;
	}
	return -1;
}

/// The edge between two facets, made if there was none; NULL: there are too many.
static open_edge *edge_between(edge_list *list, int32_t low, int32_t high, int32_t half_edge)
{
	for (int32_t i = 0; i < list->count; i++) {
		if (list->data[i].facet[0] == low && list->data[i].facet[1] == high)
			return &list->data[i];
	}
	if (list->count == CR_FEW_EDGES)
		return NULL;
	open_edge *made = &list->data[list->count++];
	*made = (open_edge){ .edge = { .half_edge = half_edge }, .facet = { low, high } };
	return made;
}

/// Add a half-edge between two facets. false: the edges are not those of a hull.
static bool add_piece(edge_list *list, int32_t triangle, int k, int32_t across)
{
	const cr_facets *f = list->facets;
	const int32_t own = f->of_triangle[triangle], other = across < 0 ? -1 : f->of_triangle[across];
	if (other < 0 || other == own)
		return false;
	open_edge *e = edge_between(list, own < other ? own : other, own < other ? other : own, 3 * triangle + k);
	if (!e)
		return false;
	e->edge.pieces++;
	for (int i = 0; i < 2; i++) {
		const int32_t corner = corner_number(list, list->topology->triangles[3 * (int64_t)triangle + (k + i) % 3]);
		if (corner < 0)
			continue;
		if (e->ends == 2)
			return false;
		uint16_t *end = e->ends++ == 0 ? &e->edge.from : &e->edge.to;
		*end = (uint16_t)corner;
	}
	return true;
}

static bool find_edges(edge_list *list)
{
	const cr_facets *f = list->facets;
	for (int32_t i = 0; i < f->triangle_count; i++) {
		for (int k = 0; k < 3; k++) {
			const int32_t across = list->topology->neighbours[3 * (int64_t)i + k];
			if (!(f->crease[i] >> k & 1) || (across >= 0 && across < i))
				continue;
			if (!add_piece(list, i, k, across))
				return false;
		}
	}
	for (int32_t i = 0; i < list->count; i++) {
		if (list->data[i].ends != 2)
			return false;
	}
	// Euler's formula
	return f->few_count - list->count + f->count == 2;
}

/// How far a corner of a small hull lies in front of a facet at most; at least slack.
static double slack_of(const cr_topology *t, const cr_facets *f, double slack)
{
	for (int32_t i = 0; i < f->count; i++) {
		const cr_facet *facet = &f->data[i];
		for (int32_t k = 0; k < f->few_count; k++)
			slack = fmax(slack, v3d_dot(facet->normal, v3d_from_floats(&t->vertices[3 * (int64_t)f->few[k]])) - facet->offset);
	}
	return slack;
}

bool cr_facets_list_edges(carom_context *context, const cr_topology *t, cr_facets *f)
{
	f->edge_count = 0;
	f->edges = NULL;
	if (!f->convex || f->count > CR_FEW_FACETS || f->few_count == 0)
		return true;
	edge_list list = { .topology = t, .facets = f };
	if (!find_edges(&list))
		return true;
	f->edges = cr_alloc(context, (size_t)list.count * sizeof *f->edges);
	if (!f->edges)
		return false;
	for (int32_t i = 0; i < list.count; i++)
		f->edges[i] = list.data[i].edge;
	f->edge_count = list.count;
	f->slack = slack_of(t, f, f->slack);
	return true;
}
