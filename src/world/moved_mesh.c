/// Meshes of bodies that deform, refitted in place.
///
/// A copy keeps the edges and the trees of the mesh that it was made of: its boxes, normals and
/// facets follow the vertices. It stands for a mesh that is made of these as long as edges and
/// samples would be that mesh's: vertices that are welded are together, and triangles keep an area.
/// O(n) but for the facets, which are grown in the order of their areas: O(n log n).

#include "tree/quality.h"
#include "world/baked.h"

/// A tree of so many times the cost of the mesh's is worth making one along the Morton curve.
static const double WORSE = 2;

bool cr_can_refit_moved(const carom_mesh *mesh)
{
	const carom_mesh_report *r = &mesh->report;
	return mesh->collider.triangle_count == mesh->topology.triangle_count && r->normalless_vertices == 0;
}

carom_result cr_copy_moved_mesh(carom_context *context, const carom_mesh *mesh, carom_mesh **copy)
{
	const carom_result result = cr_copy_mesh(context, mesh, true, copy);
	if (result != CAROM_SUCCESS)
		return result;
	// Its facets are made beside the block that it lies in.
	(*copy)->facets = (cr_facets){ 0 };
	(*copy)->edited = true;
	(*copy)->collider.exits_by_need = true;
	return CAROM_SUCCESS;
}

static bool welds_hold(const cr_topology *t, const float *vertices)
{
	bool hold = true;
	for (int64_t i = 0; i < t->vertex_count && hold; i++) {
		const float *p = &vertices[3 * i], *q = &vertices[3 * (int64_t)t->weld[i]];
		hold = t->weld[i] == i || (p[0] == q[0] && p[1] == q[1] && p[2] == q[2]);
	}
	return hold;
}

carom_result cr_refit_moved_mesh(carom_mesh *copy, const carom_mesh *mesh, const float *vertices)
{
	carom_context *context = copy->context;
	if (!welds_hold(&copy->topology, vertices))
		return CAROM_INVALID_MESH;
	carom_result result = cr_topology_refit_all(context, &copy->topology, vertices);
	if (result == CAROM_SUCCESS)
		result = cr_collider_refit(context, &copy->collider, NULL, false, 0);
	if (result != CAROM_SUCCESS)
		return result;
	if (cr_tree8_sah_cost(&copy->collider.tree) > WORSE * cr_tree8_sah_cost(&mesh->collider.tree))
		return CAROM_INVALID_MESH;
	cr_facets_free(context, &copy->facets);
	const bool whole = copy->report.closed && copy->report.components == 1;
	if (!cr_facets_build(context, &copy->topology, whole, &copy->facets))
		result = cr_fail_memory(context, "the facets of a mesh");
	return result;
}
