/// Meshes of bodies that deform, refitted in place.
///
/// A copy keeps the edges and the trees of the mesh that it was made of: its boxes and the places
/// of its samples follow the vertices. It stands for a mesh that is made of these as long as edges
/// and samples would be that mesh's: vertices that are welded are together, and triangles keep an
/// area. Normals are worked out for those that are asked for (mesh/fans.h). So are exits of samples
/// (contact/ray.c). Facets are made at once where they may be few, since pairs are told apart by
/// that, and else when a pair asks for them. O(n), and with facets O(n log n).

#include "contact/contact_vertices.h"
#include "tree/quality.h"
#include "world/baked.h"
#include <string.h>

/// A tree of so many times the cost of the mesh's is worth making one along the Morton curve.
static const double WORSE = 2;

bool cr_can_refit_moved(const carom_mesh *mesh)
{
	const carom_mesh_report *r = &mesh->report;
	return mesh->collider.triangle_count > 0 && mesh->collider.triangle_count == mesh->topology.triangle_count &&
		r->normalless_vertices == 0;
}

// ---- The parts of a copy ----

static int32_t count_welded(const cr_topology *t)
{
	int32_t count = 0;
	for (int32_t i = 0; i < t->vertex_count; i++)
		count += t->weld[i] != i;
	return count;
}

static bool fill_moving(carom_context *context, const carom_mesh *mesh, cr_moving *m)
{
	const cr_topology *t = &mesh->topology;
	const int32_t welded = count_welded(t);
	*m = (cr_moving){ .welded = cr_alloc_array(context, (size_t)welded, sizeof *m->welded),
		.strays = mesh->report.unreferenced_vertices > 0,
		.cost = cr_tree8_sah_cost(&mesh->collider.tree) };
	if ((!m->welded && welded > 0) || !cr_fans_build(context, t, &m->fans)) {
		cr_free(context, m->welded, (size_t)welded * sizeof *m->welded);
		return false;
	}
	for (int32_t i = 0; i < t->vertex_count; i++) {
		if (t->weld[i] != i)
			m->welded[m->welded_count++] = i;
	}
	return true;
}

void cr_free_moving(carom_mesh *copy)
{
	cr_moving *m = copy->moving;
	if (!m)
		return;
	cr_fans_free(copy->context, &m->fans);
	cr_free(copy->context, m->welded, (size_t)m->welded_count * sizeof *m->welded);
	cr_free(copy->context, m, sizeof *m);
	copy->moving = NULL;
}

size_t cr_moving_bytes(const carom_mesh *mesh)
{
	const cr_moving *m = mesh->moving;
	if (!m)
		return 0;
	const size_t corners = (size_t)m->fans.first[m->fans.vertex_count];
	return sizeof *m + (size_t)m->welded_count * sizeof *m->welded +
		((size_t)m->fans.vertex_count + 1 + corners) * sizeof(int32_t);
}

carom_result cr_copy_moved_mesh(carom_context *context, const carom_mesh *mesh, carom_mesh **copy)
{
	cr_moving *moving = cr_alloc(context, sizeof *moving);
	if (!moving || !fill_moving(context, mesh, moving)) {
		cr_free(context, moving, sizeof *moving);
		*copy = NULL;
		return cr_fail_memory(context, "a copy of a mesh");
	}
	const carom_result result = cr_copy_mesh(context, mesh, CR_COPY_BARE, copy);
	if (result != CAROM_SUCCESS) {
		carom_mesh none = { .context = context, .moving = moving };
		cr_free_moving(&none);
		*copy = NULL;
		return result;
	}
	(*copy)->moving = moving;
	cr_note_edges_of(*copy, mesh);
	(*copy)->collider.fans = &moving->fans;
	(*copy)->edited = true; // its facets are made beside the block that it lies in
	return CAROM_SUCCESS;
}

// ---- Inside out ----

static void swap_numbers(int32_t *a, int32_t *b)
{
	const int32_t kept = *a;
	*a = *b;
	*b = kept;
}

carom_result cr_turn_mesh(carom_context *context, const carom_mesh *mesh, carom_mesh **turned)
{
	const carom_result result = cr_copy_mesh(context, mesh, CR_COPY_OWN, turned);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_topology *t = &(*turned)->topology;
	for (int64_t i = 0; i < t->triangle_count; i++) {
		// The edge of corner k becomes that of corner 2 - k.
		swap_numbers(&t->triangles[3 * i + 1], &t->triangles[3 * i + 2]);
		swap_numbers(&t->neighbours[3 * i], &t->neighbours[3 * i + 2]);
	}
	const cr_collider *c = &(*turned)->collider;
	for (int32_t i = 0; i < c->tree.block_count; i++) {
		for (int lane = 0; lane < CR_WIDTH; lane++)
			swap_numbers(&c->across[i].edge[0][lane], &c->across[i].edge[2][lane]);
	}
	return CAROM_SUCCESS;
}

// ---- Other places ----

static bool welds_hold(const carom_mesh *copy)
{
	const cr_topology *t = &copy->topology;
	bool hold = true;
	for (int32_t i = 0; i < copy->moving->welded_count && hold; i++) {
		const int32_t vertex = copy->moving->welded[i];
		const float *p = &t->vertices[3 * (int64_t)vertex], *q = &t->vertices[3 * (int64_t)t->weld[vertex]];
		hold = p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
	}
	return hold;
}

carom_result cr_make_moved_facets(carom_mesh *copy)
{
	const bool whole = copy->report.closed && copy->report.components == 1;
	cr_facets_free(copy->context, &copy->facets);
	if (cr_facets_build(copy->context, &copy->topology, whole, &copy->facets))
		return CAROM_SUCCESS;
	copy->facets.put_off = true;
	return cr_fail_memory(copy->context, "the facets of a mesh");
}

carom_result cr_refit_moved_mesh(carom_mesh *copy, const float *vertices)
{
	cr_topology *t = &copy->topology;
	if (t->vertices != vertices)
		memcpy(t->vertices, vertices, 3 * (size_t)t->vertex_count * sizeof *vertices);
	if (!welds_hold(copy) || !cr_collider_refit_all(copy->context->simd, copy->moving->strays, &copy->collider))
		return CAROM_INVALID_MESH;
	if (cr_tree8_sah_cost(&copy->collider.tree) > WORSE * copy->moving->cost)
		return CAROM_INVALID_MESH;
	cr_facets_free(copy->context, &copy->facets);
	copy->facets.put_off = cr_has_many_facets(t);
	return copy->facets.put_off ? CAROM_SUCCESS : cr_make_moved_facets(copy);
}
