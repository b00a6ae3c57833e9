/// The meshes of solids that deform: refitted ones beside those that are made of the same places.
#include "fixture.h"
#include "same_mesh.h"
#include "bvh/bvh_kernels.h"
#include "world/world.h"
#include <math.h>
#include <string.h>

enum { MOST = 4000 };

typedef struct moved {
	carom_context *context;
	carom_mesh *rest, *copy;
	float places[3 * MOST];
} moved;

static void open_moved(moved *m, carom_context *context, carom_mesh *rest)
{
	REQUIRE(rest->topology.vertex_count <= MOST);
	*m = (moved){ .context = context, .rest = rest };
	REQUIRE(cr_can_refit_moved(rest));
	REQUIRE(cr_copy_moved_mesh(context, rest, &m->copy) == CAROM_SUCCESS);
}

static void close_moved(moved *m)
{
	carom_release_mesh(m->copy);
	carom_release_mesh(m->rest);
}

static void bend(moved *m, double amount, double phase)
{
	for (int32_t i = 0; i < m->rest->topology.vertex_count; i++) {
		const float *p = m->rest->topology.vertices + 3 * (int64_t)i;
		m->places[3 * i] = (float)(p[0] * (1 + amount * sin(2 * p[1] + phase)));
		m->places[3 * i + 1] = (float)(p[1] + amount * cos(3 * p[2] - phase));
		m->places[3 * i + 2] = (float)(p[2] + amount * sin(2.5 * p[0] + 2 * phase));
	}
}

/// Where a vertex is among the samples: place 8 * block + lane, or -1.
static int32_t sample_of(const cr_collider *c, int32_t vertex)
{
	for (int32_t i = 0; i < c->sample_tree.block_count * CR_WIDTH; i++) {
		if (i % CR_WIDTH < c->samples[i / CR_WIDTH].count && c->samples[i / CR_WIDTH].number[i % CR_WIDTH] == vertex)
			return i;
	}
	return -1;
}

/// Samples are equal, and a ray from each goes as far as the other mesh stores.
static void check_samples(const moved *m, const cr_collider *a, const cr_collider *b)
{
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(m->context->simd);
	CHECK_INT(a->sample_count, b->sample_count);
	for (int32_t vertex = 0; vertex < m->rest->topology.vertex_count && test_failures() == 0; vertex++) {
		const int32_t x = sample_of(a, vertex), y = sample_of(b, vertex);
		REQUIRE((x < 0) == (y < 0));
		if (x < 0)
			continue;
		float point[3], inward[3];
		cr_sample_inward(a, x, inward);
		for (int k = 0; k < 3; k++) {
			point[k] = a->samples[x / CR_WIDTH].point[k][x % CR_WIDTH];
			CHECK(point[k] == b->samples[y / CR_WIDTH].point[k][y % CR_WIDTH]);
			CHECK(inward[k] == b->samples[y / CR_WIDTH].inward[k][y % CR_WIDTH]);
		}
		CHECK(kernels->exit(a, point, inward) == b->samples[y / CR_WIDTH].exit[y % CR_WIDTH]);
	}
}

/// The normals that a copy works out are those that the other mesh stores.
static void check_normals(const cr_collider *a, const cr_topology *made)
{
	CHECK(!a->topology->normals && !a->topology->edge_normals);
	for (int32_t i = 0; i < made->vertex_count; i++) {
		for (int k = 0; k < 3; k++)
			CHECK((float)v3d_get(cr_collider_vertex_normal(a, i), k) == made->normals[3 * i + k]);
	}
	for (int32_t i = 0; i < 3 * made->triangle_count; i++) {
		for (int k = 0; k < 3; k++)
			CHECK(v3d_get(cr_collider_edge_normal(a, i), k) == v3d_get(cr_edge_normal(made, i), k));
	}
}

/// The box of a vertex joins a box.
static void join(const cr_topology *t, int32_t vertex, float lower[3], float upper[3])
{
	for (int k = 0; k < 3; k++) {
		lower[k] = fminf(lower[k], t->vertices[3 * vertex + k]);
		upper[k] = fmaxf(upper[k], t->vertices[3 * vertex + k]);
	}
}

/// The box below child i of a node, by the vertices that the mesh has there; samples: of the tree of
/// samples. It is also what the node says, but for a pad at triangles.
static void check_box(const cr_collider *c, bool samples, const cr_node8 *node, uint32_t i, float lower[3], float upper[3])
{
	const cr_tree8 *tree = samples ? &c->sample_tree : &c->tree;
	const uint32_t child = node->child[i] & ~CR_LEAF_BIT;
	const float pad = samples ? 0 : c->scale * 0x1p-21f;
	const bool leaf = node->child[i] & CR_LEAF_BIT;
	for (int k = 0; k < 3; k++) {
		lower[k] = INFINITY;
		upper[k] = -INFINITY;
	}
	for (int lane = 0; leaf && samples && lane < c->samples[child].count; lane++)
		join(c->topology, c->samples[child].number[lane], lower, upper);
	for (int at = 0; leaf && !samples && at < 3 * c->blocks[child].count; at++)
		join(c->topology, c->topology->triangles[3 * c->blocks[child].number[at / 3] + at % 3], lower, upper);
	for (int k = 0; k < 3 && leaf; k++) {
		lower[k] -= pad;
		upper[k] += pad;
	}
	for (uint32_t j = 0; !leaf && j < tree->nodes[child].child_count; j++) {
		float low[3], high[3];
		check_box(c, samples, &tree->nodes[child], j, low, high);
		for (int k = 0; k < 3; k++) {
			lower[k] = fminf(lower[k], low[k]);
			upper[k] = fmaxf(upper[k], high[k]);
		}
	}
	for (int k = 0; k < 3; k++)
		CHECK(node->lower[k][i] == lower[k] && node->upper[k][i] == upper[k]);
}

/// The trees of a copy are those of the mesh at rest, and their boxes those of the places.
static void check_trees(const moved *m)
{
	const cr_collider *c = &m->copy->collider, *rest = &m->rest->collider;
	float lower[3], upper[3];
	CHECK_INT(c->tree.node_count, rest->tree.node_count);
	CHECK_INT(c->sample_tree.node_count, rest->sample_tree.node_count);
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		CHECK_SAME(c->blocks[b].number, rest->blocks[b].number, CR_WIDTH);
		for (int i = 0; i < 9 * c->blocks[b].count; i++) {
			const int32_t vertex = c->topology->triangles[3 * c->blocks[b].number[i / 9] + i % 3];
			CHECK(c->blocks[b].corner[i % 3][i / 3 % 3][i / 9] == c->topology->vertices[3 * vertex + i / 3 % 3]);
		}
	}
	for (int samples = 0; samples < 2; samples++) {
		const cr_node8 *root = samples ? c->sample_tree.nodes : c->tree.nodes;
		for (uint32_t i = 0; i < root->child_count; i++)
			check_box(c, samples, root, i, lower, upper);
	}
}

/// A refitted copy is the mesh that is made of the places.
static void check_refit(moved *m)
{
	carom_mesh *made = NULL;
	REQUIRE(cr_refit_moved_mesh(m->copy, m->places) == CAROM_SUCCESS);
	REQUIRE(cr_create_moved_mesh(m->context, m->rest, m->places, &made) == CAROM_SUCCESS);
	const cr_collider *a = &m->copy->collider, *b = &made->collider;
	same_faces(&m->copy->topology, &made->topology, NULL, 0);
	check_normals(a, &made->topology);
	CHECK(!m->copy->facets.put_off || made->facets.count > CR_PATCH_FACETS);
	if (m->copy->facets.put_off)
		REQUIRE(cr_make_moved_facets(m->copy) == CAROM_SUCCESS);
	same_facets(&m->copy->facets, &made->facets);
	CHECK_SAME(a->lower, b->lower, 3);
	CHECK_SAME(a->upper, b->upper, 3);
	CHECK(a->scale == b->scale && a->diagonal == b->diagonal && a->extent == b->extent);
	check_trees(m);
	check_samples(m, a, b);
	CHECK(a->closed == b->closed && !a->grid.cells && !b->grid.cells);
	carom_release_mesh(made);
}

TEST(moved_mesh, a_refitted_copy_is_the_mesh_of_the_places)
{
	carom_context *context = fixture_context(1);
	for (int kind = 0; kind < 4; kind++) {
		static moved m;
		carom_mesh *rest[] = { fixture_torus_mesh(context, 24, 12, 0.4, 0.15), fixture_box_mesh(context, 1, 2, 0.5),
			fixture_sphere_mesh(context, 1, 8), fixture_sheet_mesh(context, 7, 2) };
		for (int i = 0; i < 4; i++) {
			if (i != kind)
				carom_release_mesh(rest[i]);
		}
		open_moved(&m, context, rest[kind]);
		for (int step = 0; step < 8 / TEST_FEWER; step++) {
			bend(&m, step == 0 ? 0 : 0.1, 0.7 * step);
			check_refit(&m);
		}
		close_moved(&m);
	}
	carom_destroy_context(context);
}

TEST(moved_mesh, does_not_depend_on_places_before)
{
	carom_context *context = fixture_context(1);
	static moved m;
	carom_mesh *other = NULL;
	open_moved(&m, context, fixture_torus_mesh(context, 30, 12, 0.4, 0.15));
	REQUIRE(cr_copy_moved_mesh(context, m.rest, &other) == CAROM_SUCCESS);
	bend(&m, 0.1, 1);
	REQUIRE(cr_refit_moved_mesh(other, m.places) == CAROM_SUCCESS);
	for (int i = 0; i < 3 * m.rest->topology.vertex_count; i++)
		m.places[i] = 1000 + 3 * m.places[i];
	REQUIRE(cr_refit_moved_mesh(m.copy, m.places) != CAROM_OUT_OF_MEMORY);
	bend(&m, 0.1, 1);
	REQUIRE(cr_refit_moved_mesh(m.copy, m.places) == CAROM_SUCCESS);
	const cr_collider *a = &m.copy->collider, *b = &other->collider;
	CHECK_SAME(a->blocks, b->blocks, a->tree.block_count);
	CHECK_SAME(a->tree.nodes, b->tree.nodes, a->tree.node_count);
	CHECK_SAME(a->outline, b->outline, a->outline_count);
	CHECK_SAME(a->sample_tree.nodes, b->sample_tree.nodes, a->sample_tree.node_count);
	carom_release_mesh(other);
	close_moved(&m);
	carom_destroy_context(context);
}

/// A copy that another mesh has to stand in for says so.
TEST(moved_mesh, says_where_a_mesh_has_to_be_made)
{
	carom_context *context = fixture_context(1);
	static moved m;
	open_moved(&m, context, fixture_torus_mesh(context, 20, 10, 0.4, 0.15));
	const int32_t *t = m.rest->topology.triangles;
	bend(&m, 0, 0);
	memcpy(&m.places[3 * t[1]], &m.places[3 * t[0]], 3 * sizeof(float)); // a triangle without area
	CHECK(cr_refit_moved_mesh(m.copy, m.places) == CAROM_INVALID_MESH);
	uint64_t seed = 3;
	for (int i = 0; i < 3 * m.rest->topology.vertex_count; i++)
		m.places[i] = (float)test_random_double(&seed, -1, 1); // crumpled: a poor tree
	CHECK(cr_refit_moved_mesh(m.copy, m.places) == CAROM_INVALID_MESH);
	close_moved(&m);
	carom_destroy_context(context);
}

/// Two triangles of a square, each with corners of its own.
TEST(moved_mesh, welded_vertices_stay_together)
{
	static const float corners[18] = { 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0 };
	static const int32_t triangles[6] = { 0, 1, 2, 3, 4, 5 };
	carom_context *context = fixture_context(1);
	static moved m;
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 6;
	def.triangles = triangles;
	def.triangle_count = 2;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	open_moved(&m, context, mesh);
	memcpy(m.places, corners, sizeof corners);
	m.places[2] = m.places[11] = 0.5f;
	check_refit(&m);
	m.places[2] = 0.25f;
	CHECK(cr_refit_moved_mesh(m.copy, m.places) == CAROM_INVALID_MESH);
	close_moved(&m);
	carom_destroy_context(context);
}

/// Facets are put off where they are certainly many, and failed allocations leave them so.
TEST(moved_mesh, facets_that_are_many_wait)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *rest[3] = { fixture_box_mesh(context, 1, 2, 0.5), fixture_sheet_mesh(context, 7, 2),
		fixture_torus_mesh(context, 24, 12, 0.4, 0.15) };
	for (int i = 0; i < 3; i++) {
		static moved m;
		open_moved(&m, context, rest[i]);
		bend(&m, i == 2 ? 0.1 : 0, 0.5); // a box and a sheet stay flat
		REQUIRE(cr_refit_moved_mesh(m.copy, m.places) == CAROM_SUCCESS);
		CHECK(m.copy->facets.put_off == (i == 2));
		CHECK((cr_count_facets(&m.copy->facets) > CR_PATCH_FACETS) == (i == 2));
		if (i == 2) {
			heap.fail_at = heap.calls + 3;
			CHECK(cr_make_moved_facets(m.copy) == CAROM_OUT_OF_MEMORY);
			CHECK(m.copy->facets.put_off && m.copy->facets.count == 0);
			heap.fail_at = -1;
			REQUIRE(cr_make_moved_facets(m.copy) == CAROM_SUCCESS);
			CHECK(!m.copy->facets.put_off && m.copy->facets.count > CR_PATCH_FACETS);
		}
		close_moved(&m);
	}
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

/// A vertex of no triangle may lie anywhere: it counts for nothing.
TEST(moved_mesh, vertices_of_no_triangle_may_lie_anywhere)
{
	static const float corners[15] = { 9, 9, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	static const int32_t triangles[12] = { 1, 3, 2, 1, 2, 4, 2, 3, 4, 3, 1, 4 };
	carom_context *context = fixture_context(1);
	static moved m;
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 5;
	def.triangles = triangles;
	def.triangle_count = 4;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	open_moved(&m, context, mesh);
	memcpy(m.places, corners, sizeof corners);
	m.places[0] = -500;
	m.places[14] = 2;
	check_refit(&m);
	CHECK(m.copy->collider.scale == 2);
	close_moved(&m);
	carom_destroy_context(context);
}

TEST(moved_mesh, meshes_that_leave_triangles_out_are_not_refitted)
{
	static const float corners[15] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 3, 0, 0 };
	static const int32_t triangles[6] = { 0, 1, 2, 1, 3, 4 };
	carom_context *context = fixture_context(1);
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *mesh;
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 5;
	def.triangles = triangles;
	def.triangle_count = 2;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	CHECK(!cr_can_refit_moved(mesh));
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
