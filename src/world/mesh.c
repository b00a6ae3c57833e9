/// Meshes as users hold them: topology, trees, references.

#include "contact/contact_vertices.h"
#include "mesh/field_topology.h"
#include "mesh/mesh_check.h"
#include "mesh/thin_facets.h"
#include "tree/quality.h"
#include "world/baked.h"
#include <string.h>

// Of a mesh of some 150 triangles. A mesh has some thirty arrays, each of which takes whole cache
// lines and what the allocator keeps beside it.
enum { PACKED_BYTES = 1 << 16 };

/// The topology and the report. That of a field without holes is known.
static carom_result build_topology(carom_mesh *mesh, const carom_mesh_def *def, const cr_rows *field)
{
	bool done = false;
	carom_result result = CAROM_SUCCESS;
	if (field && (int64_t)def->vertex_count < 2 * (int64_t)field->columns * field->rows)
		result = cr_field_topology(mesh->context, field->columns, field->rows, def, &mesh->report, &mesh->topology, &done);
	if (result != CAROM_SUCCESS || done)
		return result;
	return cr_topology_build(mesh->context, def, &mesh->report, &mesh->topology);
}

/// field: the rows of the samples of a field, which has a lean collider; else NULL.
static carom_result build_mesh(carom_mesh *mesh, const carom_mesh_def *def, const cr_sample_set *samples, const cr_rows *field)
{
	carom_context *context = mesh->context;
	mesh->sides = def->sides;
	mesh->build = def->build;
	mesh->centre = def->centre;
	carom_result result = build_topology(mesh, def, field);
	if (result != CAROM_SUCCESS)
		return result;
	if (!mesh->report.usable)
		return cr_fail(context, CAROM_INVALID_MESH, "carom_create_mesh: %s", mesh->report.first_finding);
	const bool solid = cr_is_solid(&mesh->report);
	if (mesh->report.closed && !solid)
		mesh->sides = CAROM_SIDES_BOTH;
	const bool one = solid && mesh->report.components == 1;
	if (!(field ? cr_thin_facets_build : cr_facets_build)(context, &mesh->topology, one, &mesh->facets))
		return cr_fail_memory(context, "the facets of a mesh");
	const bool whole = mesh->report.degenerate_triangles == 0;
	if (field && solid)
		return cr_collider_build_lean(context, &mesh->topology, whole ? field : NULL, def->grid_resolution, &mesh->collider);
	return cr_collider_build(context, &mesh->topology, solid, samples, def->grid_resolution, def->build, &mesh->collider);
}

static size_t exact_bytes(const carom_mesh *mesh)
{
	return mesh->exact ? 3 * (size_t)mesh->topology.vertex_count * sizeof *mesh->exact : 0;
}

/// Keep the vertices as they were given, if float does not hold them.
static carom_result keep_exact(carom_mesh *mesh, const carom_mesh_def *def)
{
	const int32_t count = mesh->topology.vertex_count;
	if (mesh->report.rounded_vertices == 0)
		return CAROM_SUCCESS;
	mesh->exact = cr_alloc_array(mesh->context, 3 * (size_t)count, sizeof *mesh->exact);
	if (!mesh->exact)
		return cr_fail_memory(mesh->context, "a mesh");
	for (int32_t i = 0; i < count; i++)
		cr_read_vertex(&def->vertices, i, mesh->exact + 3 * (int64_t)i);
	return CAROM_SUCCESS;
}

static size_t material_bytes(const carom_mesh *mesh, int32_t count)
{
	return mesh->materials ? (size_t)count * sizeof *mesh->materials : 0;
}

void cr_find_vertex_materials(const cr_topology *t, const uint32_t *materials, uint32_t *of_vertex)
{
	memset(of_vertex, 0, (size_t)t->vertex_count * sizeof *of_vertex);
	// From the last to the first, so that the lowest number stays.
	for (int32_t i = t->triangle_count - 1; i >= 0; i--) {
		for (int k = 0; k < 3 && t->used[i]; k++)
			of_vertex[t->weld[t->triangles[3 * (int64_t)i + k]]] = materials[i];
	}
	for (int32_t i = 0; i < t->vertex_count; i++)
		of_vertex[i] = of_vertex[t->weld[i]];
}

carom_result cr_keep_materials(carom_mesh *mesh, const uint32_t *materials)
{
	const cr_topology *t = &mesh->topology;
	if (!materials || t->triangle_count == 0)
		return CAROM_SUCCESS;
	mesh->materials = cr_alloc_array(mesh->context, (size_t)t->triangle_count, sizeof *materials);
	if (!mesh->materials)
		return cr_fail_memory(mesh->context, "the materials of a mesh");
	memcpy(mesh->materials, materials, material_bytes(mesh, t->triangle_count));
	mesh->vertex_materials = cr_alloc_array(mesh->context, (size_t)t->vertex_count, sizeof *materials);
	if (!mesh->vertex_materials)
		return cr_fail_memory(mesh->context, "the materials of a mesh");
	cr_find_vertex_materials(t, mesh->materials, mesh->vertex_materials);
	mesh->one_material = cr_is_one_material(materials, t->triangle_count);
	return CAROM_SUCCESS;
}

/// Does an array of an edited mesh lie in its block?
static bool is_in_block(const carom_mesh *mesh, const void *array)
{
	const uintptr_t at = (uintptr_t)array, block = (uintptr_t)mesh->baked;
	return at >= block && at < block + mesh->baked_bytes;
}

/// Free the arrays of the grid that lie beside the block.
static void free_grid(carom_mesh *mesh)
{
	cr_grid *g = &mesh->collider.grid;
	if (!is_in_block(mesh, g->cells))
		cr_grid_free(mesh->context, g);
	else if (!is_in_block(mesh, g->touched))
		cr_free(mesh->context, g->touched, cr_touched_bytes(g));
}

/// Free the arrays beside the block of an edited mesh.
static void free_edited(carom_mesh *mesh)
{
	cr_facets_free(mesh->context, &mesh->facets);
	cr_free_moving(mesh);
	free_grid(mesh);
}

void cr_take_grid(carom_mesh *mesh, const cr_grid *grid)
{
	free_grid(mesh);
	mesh->collider.grid = *grid;
}

static size_t edited_bytes(const carom_mesh *mesh)
{
	const cr_grid *g = &mesh->collider.grid;
	const size_t touched = is_in_block(mesh, g->touched) ? 0 : cr_touched_bytes(g);
	return cr_facets_bytes(&mesh->facets) + cr_moving_bytes(mesh) + (is_in_block(mesh, g->cells) ? touched : cr_grid_bytes(g));
}

static size_t hole_bytes(const carom_mesh *mesh)
{
	return mesh->field.holes ? (size_t)mesh->field.columns * (size_t)mesh->field.rows : 0;
}

static void free_mesh(carom_mesh *mesh)
{
	carom_context *context = mesh->context;
	if (mesh->hull && mesh->baked_bytes == 0)
		cr_hull_free(context, mesh->hull);
	else if (mesh->hull)
		cr_hull_free_rows(context, &mesh->hull->hull);
	cr_free(context, mesh->hull, sizeof *mesh->hull);
	cr_free(context, mesh->support, sizeof *mesh->support);
	if (mesh->baked_bytes > 0) {
		if (mesh->edited)
			free_edited(mesh);
		carom_release_mesh(mesh->shared);
		cr_free(context, mesh->baked, mesh->baked_bytes);
		cr_free(context, mesh, sizeof *mesh);
		return;
	}
	cr_free(context, mesh->vertex_materials, material_bytes(mesh, mesh->topology.vertex_count));
	cr_free(context, mesh->materials, material_bytes(mesh, mesh->topology.triangle_count));
	cr_collider_free(context, &mesh->collider);
	cr_facets_free(context, &mesh->facets);
	cr_free(context, mesh->exact, exact_bytes(mesh));
	cr_topology_free(context, &mesh->topology);
	cr_free(context, mesh->field.holes, hole_bytes(mesh));
	cr_free(context, mesh, sizeof *mesh);
}

carom_result cr_make_support_map(carom_mesh *mesh)
{
	const cr_topology *t = &mesh->topology;
	if (mesh->field.columns > 0 || !cr_wants_support_map(mesh->collider.triangle_count, t->vertex_count))
		return CAROM_SUCCESS;
	mesh->support = cr_alloc(mesh->context, sizeof *mesh->support);
	if (!mesh->support)
		return cr_fail_memory(mesh->context, "the hull of a mesh");
	cr_fill_support_map(mesh->support, t->vertices, t->vertex_count);
	return CAROM_SUCCESS;
}

static carom_result create_mesh(carom_context *context, const carom_mesh_def *def, const cr_sample_set *samples,
	const cr_rows *field, carom_mesh_report *report, carom_mesh **mesh)
{
	*mesh = NULL;
	carom_mesh *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "a mesh");
	made->context = context;
	atomic_init(&made->references, 1);
	carom_result result = build_mesh(made, def, samples, field);
	if (result == CAROM_SUCCESS)
		result = keep_exact(made, def);
	if (result == CAROM_SUCCESS)
		result = cr_keep_materials(made, def->materials);
	if (result == CAROM_SUCCESS && !field)
		result = cr_make_support_map(made);
	if (report)
		*report = made->report;
	if (result != CAROM_SUCCESS) {
		free_mesh(made);
		return result;
	}
	atomic_fetch_add(&context->live_objects, 1);
	*mesh = made;
	return CAROM_SUCCESS;
}

carom_result cr_create_mesh(carom_context *context, const carom_mesh_def *def, const cr_sample_set *samples,
	carom_mesh_report *report, carom_mesh **mesh)
{
	return create_mesh(context, def, samples, NULL, report, mesh);
}

carom_result cr_create_field_mesh(carom_context *context, const carom_mesh_def *def, const cr_rows *rows, carom_mesh **mesh)
{
	return create_mesh(context, def, NULL, rows, NULL, mesh);
}

/// Fill a mesh of the triangles of another one with other vertices.
static carom_result build_moved(carom_mesh *mesh, const carom_mesh *before, const float *vertices)
{
	const cr_topology *t = &before->topology;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = t->vertex_count;
	def.triangles = t->triangles;
	def.triangle_count = t->triangle_count;
	def.sides = mesh->sides = before->sides;
	def.build = mesh->build = CAROM_MESH_LBVH;
	carom_result result = cr_topology_build_moved(mesh->context, &def, t, &mesh->report, &mesh->topology);
	if (result != CAROM_SUCCESS)
		return result;
	const bool whole = mesh->report.closed && mesh->report.components == 1;
	if (!cr_facets_build(mesh->context, &mesh->topology, whole, &mesh->facets))
		return cr_fail_memory(mesh->context, "the facets of a mesh");
	result = cr_collider_build(mesh->context, &mesh->topology, before->report.closed, NULL, 0, def.build, &mesh->collider);
	return result == CAROM_SUCCESS ? cr_keep_materials(mesh, before->materials) : result;
}

carom_result cr_create_moved_mesh(carom_context *context, const carom_mesh *before, const float *vertices, carom_mesh **mesh)
{
	*mesh = NULL;
	carom_mesh *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "a mesh");
	made->context = context;
	atomic_init(&made->references, 1);
	const carom_result result = build_moved(made, before, vertices);
	if (result != CAROM_SUCCESS) {
		free_mesh(made);
		return result;
	}
	cr_note_edges_of(made, before);
	atomic_fetch_add(&context->live_objects, 1);
	*mesh = made;
	return CAROM_SUCCESS;
}

carom_result carom_create_mesh(carom_context *context, const carom_mesh_def *def, carom_mesh_report *report, carom_mesh **mesh)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!mesh)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_mesh: mesh is NULL");
	*mesh = NULL;
	if (!def)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_mesh: def is NULL");
	cr_welded_def welded;
	const carom_mesh_def *used = cr_begin_weld(context, def, &welded);
	const carom_result result = used ? cr_create_mesh(context, used, NULL, report, mesh) : CAROM_OUT_OF_MEMORY;
	cr_end_weld(context, &welded);
	return result == CAROM_SUCCESS ? cr_pack_mesh(mesh) : result;
}

carom_mesh *carom_retain_mesh(const carom_mesh *mesh)
{
	// The count of references is no part of what const promises.
	carom_mesh *kept = (carom_mesh *)mesh;
	if (kept)
		atomic_fetch_add(&kept->references, 1);
	return kept;
}

void carom_release_mesh(carom_mesh *mesh)
{
	if (!mesh || atomic_fetch_sub(&mesh->references, 1) > 1)
		return;
	carom_context *context = mesh->context;
	free_mesh(mesh);
	atomic_fetch_sub(&context->live_objects, 1);
}

const carom_mesh_report *carom_mesh_get_report(const carom_mesh *mesh) { return &mesh->report; }

carom_result carom_mesh_get_mass(const carom_mesh *mesh, carom_mass *mass)
{
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	if (!mass)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "carom_mesh_get_mass: mass is NULL");
	if (!mesh->report.closed) {
		char why[CR_WHY_OPEN];
		cr_say_why_open(&mesh->topology, &mesh->report, why);
		return cr_fail(mesh->context, CAROM_INVALID_MESH, "carom_mesh_get_mass: the mesh is open: %s", why);
	}
	if (!(mesh->report.volume != 0))
		return cr_fail(mesh->context, CAROM_INVALID_MESH, "carom_mesh_get_mass: the mesh encloses no volume");
	cr_topology_mass(&mesh->topology, mass);
	return CAROM_SUCCESS;
}

static size_t bytes_of(const carom_mesh *mesh)
{
	const size_t own = sizeof *mesh + (mesh->hull ? sizeof *mesh->hull : 0) + (mesh->support ? sizeof *mesh->support : 0);
	if (mesh->baked_bytes > 0)
		return own + mesh->baked_bytes + (mesh->hull ? cr_hull_row_bytes(&mesh->hull->hull) : 0) +
			(mesh->edited ? edited_bytes(mesh) : 0);
	return own + exact_bytes(mesh) + material_bytes(mesh, mesh->topology.triangle_count) +
		material_bytes(mesh, mesh->topology.vertex_count) + cr_topology_bytes(&mesh->topology) + cr_facets_bytes(&mesh->facets) +
		cr_collider_bytes(&mesh->collider) + (mesh->hull ? cr_hull_bytes(mesh->hull) : 0) + hole_bytes(mesh);
}

carom_result cr_pack_mesh(carom_mesh **mesh)
{
	carom_mesh *packed = NULL;
	if (bytes_of(*mesh) > PACKED_BYTES)
		return CAROM_SUCCESS;
	const carom_result result = cr_copy_mesh((*mesh)->context, *mesh, CR_COPY_ALL, &packed);
	carom_release_mesh(*mesh);
	*mesh = packed;
	return result;
}

carom_result carom_mesh_get_tree_info(const carom_mesh *mesh, bool with_epo, carom_tree_info *info)
{
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	if (!info)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "carom_mesh_get_tree_info: info is NULL");
	const cr_collider *c = &mesh->collider;
	cr_collider with = *c;
	const cr_field *f = &mesh->field;
	const bool made = c->binary.node_count == 0 && f->columns > 0;
	if (made) {
		const cr_rows rows = cr_rows_of_samples(f->columns, f->rows, f->spacing);
		const carom_result result = cr_collider_binary(mesh->context, c, &rows, &with.binary);
		if (result != CAROM_SUCCESS)
			return result;
	}
	*info = (carom_tree_info){
		.binary_nodes = with.binary.node_count,
		.wide_nodes = c->tree.node_count,
		.depth = c->tree.depth,
		.sah_cost = cr_tree2_sah_cost(&with.binary),
		.epo = with_epo ? cr_collider_epo(&with) : 0,
		.bytes = bytes_of(mesh),
		.grid_cells = c->grid.cells ? c->grid.size[0] * c->grid.size[1] * c->grid.size[2] : 0,
	};
	if (made)
		cr_tree2_free(mesh->context, &with.binary);
	return CAROM_SUCCESS;
}

const float *carom_mesh_get_vertices(const carom_mesh *mesh) { return mesh->topology.vertices; }

const int32_t *carom_mesh_get_triangles(const carom_mesh *mesh) { return mesh->topology.triangles; }

const double *carom_mesh_get_doubles(const carom_mesh *mesh) { return mesh->exact; }

carom_vec3 carom_mesh_get_centre(const carom_mesh *mesh) { return mesh->centre; }

carom_mesh_sides carom_mesh_get_sides(const carom_mesh *mesh) { return mesh->sides; }

carom_result carom_mesh_get_material(const carom_mesh *mesh, int32_t triangle, uint32_t *material)
{
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	if (!material)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "carom_mesh_get_material: material is NULL");
	if (triangle < 0 || triangle >= mesh->topology.triangle_count)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT,
			"carom_mesh_get_material: triangle is %d, but there are %d triangles", triangle, mesh->topology.triangle_count);
	*material = mesh->materials ? mesh->materials[triangle] : 0;
	return CAROM_SUCCESS;
}
