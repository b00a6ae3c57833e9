/// Vertices of cloth that come out of a closed mesh beside the face where they came in.
///
/// Within a step a vertex may come in at a face and out at one that looks to the side, as two faces
/// of a crate do (surface_passing.c). Either the cloth has passed the mesh near the border of it,
/// and goes back. Or it has slid over an edge of the mesh, and belongs where it is: nothing crosses
/// any more. Led back, such a vertex would hang on the mesh wherever that goes, with the whole of
/// the mesh between the two.
///
/// The cloth around tells. The vertex goes back if edges of the cloth join it, over vertices that
/// have come out as well, with one that came out at a face that looks away.
///
/// Cost: nothing where there is no such vertex, else for each cloth and mesh with one O(vertices
/// and triangles of the cloth).
#include "base/union_find.h"
#include "world/surface_contacts.h"
#include "world/world.h"

// Of a place of the cloth, and of a set of places that edges join.
enum { HAS_COME_OUT = 1, IS_SURE = 2, SET_IS_SURE = 4 };

/// A cloth and a closed mesh.
typedef struct work {
	carom_world *world;
	const carom_proximity_view *view; // pairs of features that are near
	const cr_topology *cloth;
	int32_t mesh_a, mesh_b;
} work;

static bool is_of_pair(const work *w, const cr_belonging *b) { return b->mesh_a == w->mesh_a && b->mesh_b == w->mesh_b; }

/// Each place of the cloth is a set of its own, without a mark. False: out of memory.
static bool begin_sets(const work *w)
{
	cr_grazing_lists *lists = &w->world->surface_contacts.grazing;
	const int32_t vertices = w->cloth->vertex_count;
	if (!cr_array_reserve_fresh(&w->world->memory, &lists->roots, vertices) ||
		!cr_array_reserve_fresh(&w->world->memory, &lists->marks, vertices))
		return false;
	for (int32_t v = 0; v < vertices; v++) {
		lists->roots.data[v] = (uint32_t)v;
		lists->marks.data[v] = 0;
	}
	return true;
}

static void mark(const work *w, const cr_belongings *list)
{
	for (int64_t i = 0; i < list->count; i++) {
		const cr_belonging *b = &list->data[i];
		if (is_of_pair(w, b) && (cr_has_passed(w->world, w->view, b) || cr_has_gone_through(w->world, b)))
			w->world->surface_contacts.grazing.marks.data[w->cloth->weld[b->vertex]] |=
				HAS_COME_OUT | (b->doubtful ? 0 : IS_SURE);
	}
}

/// Join places that have come out where an edge joins them, and mark the sets with a sure one.
static void join(const work *w)
{
	cr_grazing_lists *lists = &w->world->surface_contacts.grazing;
	uint32_t *roots = lists->roots.data;
	for (int64_t i = 0; i < 3 * (int64_t)w->cloth->triangle_count; i++) {
		const int32_t from = w->cloth->weld[w->cloth->triangles[i]],
					  to = w->cloth->weld[w->cloth->triangles[i % 3 == 2 ? i - 2 : i + 1]];
		if (lists->marks.data[from] && lists->marks.data[to])
			cr_unite(roots, (uint32_t)from, (uint32_t)to);
	}
	for (int32_t v = 0; v < w->cloth->vertex_count; v++) {
		if (lists->marks.data[v] & IS_SURE)
			lists->marks.data[cr_find_root(roots, (uint32_t)v)] |= SET_IS_SURE;
	}
}

/// Let the doubtful ones of the pair be sure, or not held.
static void settle(const work *w, cr_belongings *list)
{
	cr_grazing_lists *lists = &w->world->surface_contacts.grazing;
	const cr_placed surface = cr_placed_member(w->world, w->mesh_b), cloth = cr_placed_member(w->world, w->mesh_a);
	for (int64_t i = 0; i < list->count; i++) {
		cr_belonging *b = &list->data[i];
		if (!is_of_pair(w, b) || !b->held || !b->doubtful)
			continue;
		if (lists->marks.data[cr_find_root(lists->roots.data, (uint32_t)w->cloth->weld[b->vertex])] & SET_IS_SURE) {
			b->doubtful = false;
			continue;
		}
		b->held = false;
		b->foot = cr_follow_surface(&surface, b->triangle, cr_placed_vertex(&cloth, b->vertex));
		b->through = cr_side_of_foot(&surface, &b->foot) == -b->side;
	}
}

bool cr_settle_doubtful(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	for (int64_t i = 0; i < m->crossing.count; i++) {
		const cr_belonging *b = &m->crossing.data[i];
		if (!b->held || !b->doubtful)
			continue;
		const work w = { world, view, &cr_body_of_member(world, b->mesh_a)->shape.mesh->topology, b->mesh_a, b->mesh_b };
		if (!begin_sets(&w))
			return false;
		mark(&w, &m->remembered);
		mark(&w, &m->crossing);
		join(&w);
		settle(&w, &m->crossing);
	}
	return true;
}
