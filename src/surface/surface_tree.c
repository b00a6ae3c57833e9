/// Trees of surfaces that move. See surface/surface_tree.h.
///
/// A surface is plain as long as the mesh check would judge it as it judged the mesh: vertices that
/// were one place still are, and the triangles in use are the same. Then edges and neighbours are
/// the mesh's; its tree is refitted. Otherwise everything is built as from a new mesh. The check
/// costs one sweep over all that may change: the areas of triangles (the refit sees them), welded
/// vertices, and triangles out of use that might get an area.
#include "surface/surface_tree.h"
#include "tree/quality.h"

/// A tree whose cost has grown so many times since it was made is rebuilt.
/// docs/internals/surface.md has the measurement.
static const double WORSE = 2;

void cr_surface_tree_init(cr_surface_tree *tree, const cr_collider *rest, const carom_mesh_report *given, bool solid)
{
	*tree = (cr_surface_tree){ .rest = rest, .given = given, .solid = solid };
}

// ---- Parts that depend on the mesh alone ----

static void free_numbers(carom_context *memory, cr_numbers *n)
{
	cr_free(memory, n->data, (size_t)n->count * sizeof *n->data);
	*n = (cr_numbers){ 0 };
}

static bool is_welded(const cr_topology *t, const uint8_t *marks, int32_t i)
{
	(void)marks;
	return t->weld[i] != i;
}

static bool is_stray(const cr_topology *t, const uint8_t *marks, int32_t i)
{
	(void)t;
	return !marks[i];
}

static bool has_area(const cr_topology *t, int32_t triangle)
{
	v3d p[3];
	for (int k = 0; k < 3; k++)
		p[k] = v3d_from_floats(&t->vertices[3 * (int64_t)t->triangles[3 * (int64_t)triangle + k]]);
	const v3d area = v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]));
	return area.x != 0 || area.y != 0 || area.z != 0;
}

/// Triangles that repeat an earlier one have an area, and stay out of use as long as welded
/// vertices are together.
static bool is_left_out(const cr_topology *t, const uint8_t *marks, int32_t i)
{
	(void)marks;
	const int32_t *c = &t->triangles[3 * (int64_t)i];
	const int32_t w[3] = { t->weld[c[0]], t->weld[c[1]], t->weld[c[2]] };
	return !t->used[i] && w[0] != w[1] && w[1] != w[2] && w[2] != w[0] && !has_area(t, i);
}

/// List those of count numbers that a rule takes.
static bool list_numbers(carom_context *memory, const cr_topology *t, const uint8_t *marks, int32_t count,
	bool (*rule)(const cr_topology *, const uint8_t *, int32_t), cr_numbers *list)
{
	int32_t taken = 0;
	for (int32_t i = 0; i < count; i++)
		taken += rule(t, marks, i);
	*list = (cr_numbers){ cr_alloc_array(memory, (size_t)taken, sizeof *list->data), 0 };
	if (!list->data)
		return taken == 0;
	for (int32_t i = 0; i < count; i++) {
		if (rule(t, marks, i))
			list->data[list->count++] = i;
	}
	return true;
}

static bool list_all(carom_context *memory, cr_surface_tree *tree)
{
	const cr_topology *t = tree->rest->topology;
	uint8_t *marks = cr_alloc_zero(memory, (size_t)t->vertex_count);
	if (!marks && t->vertex_count > 0)
		return false;
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count; i++)
		marks[t->triangles[i]] |= t->used[i / 3];
	const bool done = list_numbers(memory, t, marks, t->vertex_count, is_welded, &tree->welded) &&
		list_numbers(memory, t, marks, t->vertex_count, is_stray, &tree->strays) &&
		list_numbers(memory, t, marks, t->triangle_count, is_left_out, &tree->left_out) &&
		cr_fans_build(memory, t, &tree->fans);
	cr_free(memory, marks, (size_t)t->vertex_count);
	return done;
}

/// Borrow from the mesh the parts that a plain surface shares with it.
static carom_result prepare(carom_context *memory, cr_surface_tree *tree)
{
	const cr_topology *t = tree->rest->topology;
	tree->now = (cr_topology){ .vertex_count = t->vertex_count,
		.triangle_count = t->triangle_count,
		.vertices = cr_alloc_array(memory, 3 * (size_t)t->vertex_count, sizeof(float)),
		.triangles = t->triangles,
		.weld = t->weld,
		.used = t->used,
		.neighbours = t->neighbours };
	tree->ready = (tree->now.vertices || t->vertex_count == 0) && list_all(memory, tree);
	if (tree->ready)
		return CAROM_SUCCESS;
	cr_surface_tree_free(memory, tree);
	return cr_fail_memory(memory, "the tree of a surface");
}

void cr_surface_tree_free(carom_context *memory, cr_surface_tree *tree)
{
	cr_collider_free(memory, &tree->collider);
	if (tree->apart)
		cr_topology_free(memory, &tree->now);
	else
		cr_free(memory, tree->now.vertices, 3 * (size_t)tree->now.vertex_count * sizeof(float));
	cr_fans_free(memory, &tree->fans);
	free_numbers(memory, &tree->welded);
	free_numbers(memory, &tree->strays);
	free_numbers(memory, &tree->left_out);
	tree->now = (cr_topology){ 0 };
	tree->ready = tree->apart = false;
}

// ---- Places ----

void cr_round_places(const double *places, v3d middle, int32_t count, float *vertices)
{
	const double m[3] = { middle.x, middle.y, middle.z }, most = CAROM_MAX_COORDINATE;
	for (int64_t i = 0; i < count; i++) {
		for (int k = 0; k < 3; k++) {
			const double x = places[3 * i + k] - m[k];
			const double low = x > -most ? x : -most;
			vertices[3 * i + k] = (float)(low < most ? low : most);
		}
	}
}

v3d cr_middle_of_box(const double lower[3], const double upper[3])
{
	if (!(lower[0] <= upper[0]))
		return (v3d){ 0, 0, 0 };
	return (v3d){ 0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]) };
}

/// Are welded vertices still together, and flat triangles still flat? Areas of triangles in use the
/// refit sees.
static bool may_be_plain(const cr_surface_tree *tree)
{
	const cr_topology *t = &tree->now;
	bool plain = tree->rest->triangle_count > 0;
	for (int32_t i = 0; i < tree->welded.count && plain; i++) {
		const float *p = &t->vertices[3 * (int64_t)tree->welded.data[i]];
		const float *q = &t->vertices[3 * (int64_t)t->weld[tree->welded.data[i]]];
		plain = p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
	}
	for (int32_t i = 0; i < tree->left_out.count && plain; i++)
		plain = !has_area(t, tree->left_out.data[i]);
	return plain;
}

/// Put vertices of no triangle in use where one of a triangle is: the box is that of the triangles
/// then.
static void gather_strays(cr_surface_tree *tree)
{
	const cr_topology *t = &tree->now;
	const int32_t some = t->triangles[3 * (int64_t)cr_used_triangle(tree->rest, 0)];
	for (int32_t i = 0; i < tree->strays.count; i++)
		memcpy(&t->vertices[3 * (int64_t)tree->strays.data[i]], &t->vertices[3 * (int64_t)some], 3 * sizeof(float));
}

// ---- Updating ----

/// Replace the tree by one along the Morton curve.
static carom_result rebuild(carom_context *memory, cr_surface_tree *tree)
{
	cr_collider_free(memory, &tree->collider);
	const carom_result result = cr_collider_build_tree(memory, &tree->now, tree->solid, CAROM_MESH_LBVH, &tree->collider);
	tree->rebuilds += result == CAROM_SUCCESS;
	return result;
}

/// Refit the tree of a surface that may be plain. *plain: it was one, and all is well.
static carom_result update_plain(carom_context *memory, cr_surface_tree *tree, bool *plain)
{
	gather_strays(tree);
	tree->report = *tree->given;
	if (!tree->collider.blocks) {
		const carom_result result = cr_collider_copy_tree(memory, tree->rest, &tree->now, tree->solid, &tree->collider);
		if (result != CAROM_SUCCESS)
			return result;
		tree->cost = cr_tree8_sah_cost(&tree->rest->tree);
	}
	*plain = cr_collider_refit_all(memory->simd, false, &tree->collider);
	tree->refits += *plain;
	if (!*plain || !(cr_tree8_sah_cost(&tree->collider.tree) > WORSE * tree->cost))
		return CAROM_SUCCESS;
	const carom_result result = rebuild(memory, tree);
	tree->cost = cr_tree8_sah_cost(&tree->collider.tree);
	return result;
}

/// Build everything as from a new mesh, whose triangles stay as they are turned.
static carom_result build_apart(carom_context *memory, cr_surface_tree *tree, const float *vertices)
{
	const cr_topology *t = tree->rest->topology;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = t->vertex_count;
	def.triangles = t->triangles;
	def.triangle_count = t->triangle_count;
	const carom_result result = cr_topology_build_moved(memory, &def, t, &tree->report, &tree->now);
	tree->apart = result == CAROM_SUCCESS;
	if (result != CAROM_SUCCESS)
		return result;
	return cr_collider_build_tree(memory, &tree->now, tree->solid, CAROM_MESH_LBVH, &tree->collider);
}

static carom_result update_apart(carom_context *memory, cr_surface_tree *tree, const double *places)
{
	const int32_t count = tree->rest->topology->vertex_count;
	const size_t bytes = 3 * (size_t)count * sizeof(float);
	cr_surface_tree_free(memory, tree);
	float *vertices = cr_alloc(memory, bytes);
	if (!vertices && bytes > 0)
		return cr_fail_memory(memory, "the tree of a surface");
	cr_round_places(places, tree->middle, count, vertices);
	const carom_result result = build_apart(memory, tree, vertices);
	cr_free(memory, vertices, bytes);
	return result;
}

static carom_result update(carom_context *memory, cr_surface_tree *tree, const double *places)
{
	if (tree->apart)
		cr_surface_tree_free(memory, tree);
	if (!tree->ready) {
		const carom_result result = prepare(memory, tree);
		if (result != CAROM_SUCCESS)
			return result;
	}
	cr_round_places(places, tree->middle, tree->now.vertex_count, tree->now.vertices);
	bool plain = may_be_plain(tree);
	if (plain) {
		const carom_result result = update_plain(memory, tree, &plain);
		if (result != CAROM_SUCCESS || plain)
			return result;
	}
	return update_apart(memory, tree, places);
}

carom_result cr_surface_tree_update(
	carom_context *memory, cr_surface_tree *tree, const double *places, const double lower[3], const double upper[3])
{
	tree->middle = cr_middle_of_box(lower, upper);
	const carom_result result = update(memory, tree, places);
	if (result == CAROM_SUCCESS)
		tree->collider.fans = tree->apart ? NULL : &tree->fans;
	else
		cr_surface_tree_free(memory, tree);
	return result;
}
