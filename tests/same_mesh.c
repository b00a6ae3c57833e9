/// Comparing the parts of two meshes. See same_mesh.h.
#include "same_mesh.h"
#include "fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void same_faces(const cr_topology *a, const cr_topology *b, const float *heights, int32_t samples)
{
	REQUIRE(a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count);
	for (int32_t i = 0; i < a->vertex_count; i++) {
		if (i >= samples || !isnan(heights[i])) // where a hole's vertices lie matters to nothing
			CHECK_SAME(&a->vertices[3 * i], &b->vertices[3 * i], 3);
	}
	CHECK_SAME(a->triangles, b->triangles, 3 * a->triangle_count);
	CHECK_SAME(a->weld, b->weld, a->vertex_count);
	CHECK_SAME(a->used, b->used, a->triangle_count);
	CHECK_SAME(a->neighbours, b->neighbours, 3 * a->triangle_count);
}

void same_topology(const cr_topology *a, const cr_topology *b, const float *heights, int32_t samples)
{
	same_faces(a, b, heights, samples);
	CHECK_SAME(a->normals, b->normals, 3 * a->vertex_count);
	CHECK(!a->edge_normals == !b->edge_normals);
	CHECK_SAME(a->edge_normals, b->edge_normals, a->edge_normals ? 9 * a->triangle_count : 0);
}

/// Thin facets are alike up to their numbers.
static void same_thin_facets(const cr_facets *a, const cr_facets *b)
{
	CHECK_SAME(a->crease, b->crease, a->triangle_count);
	CHECK_SAME(a->corner, b->corner, a->vertex_count);
	CHECK(a->convex == b->convex && a->few_count == b->few_count && a->edge_count == b->edge_count);
	int32_t listed = 0, with_record = 0;
	for (int32_t i = 0; i < a->triangle_count; i++) {
		const int32_t own = a->of_triangle[i], other = b->of_triangle[i];
		REQUIRE((own < 0) == (other < 0));
		if (own < 0)
			continue;
		REQUIRE(cr_facet_size(a, own) == cr_facet_size(b, other));
		CHECK_INT(cr_first_of_facet(a, own), cr_first_of_facet(b, other));
		with_record += own < a->count;
	}
	for (int32_t i = 0; i < a->count; i++) {
		const cr_facet *own = &a->data[i];
		listed += own->count;
		if (own->count == 0)
			continue; // was edited away
		const int32_t number = b->of_triangle[a->triangles[own->first]];
		REQUIRE(number >= 0 && number < b->count);
		const cr_facet *other = &b->data[number];
		CHECK(own->count > 1 && own->count == other->count);
		CHECK(own->offset == other->offset && own->area == other->area);
		CHECK(own->normal.x == other->normal.x && own->normal.y == other->normal.y && own->normal.z == other->normal.z);
		CHECK_SAME(a->triangles + own->first, b->triangles + other->first, own->count);
	}
	CHECK_INT(listed, with_record);
}

void same_facets(const cr_facets *a, const cr_facets *b)
{
	CHECK(!a->thin == !b->thin);
	if (a->thin && b->thin) {
		same_thin_facets(a, b);
		return;
	}
	REQUIRE(a->count == b->count);
	CHECK_SAME(a->of_triangle, b->of_triangle, a->triangle_count);
	CHECK_SAME(a->crease, b->crease, a->triangle_count);
	CHECK_SAME(a->corner, b->corner, a->vertex_count);
	for (int32_t i = 0; i < a->count; i++) {
		CHECK(a->data[i].offset == b->data[i].offset && a->data[i].area == b->data[i].area);
		CHECK(a->data[i].normal.x == b->data[i].normal.x && a->data[i].normal.z == b->data[i].normal.z);
		CHECK(a->data[i].first == b->data[i].first && a->data[i].count == b->data[i].count);
		CHECK_SAME(a->triangles + a->data[i].first, b->triangles + a->data[i].first, a->data[i].count);
	}
	CHECK(a->convex == b->convex && a->few_count == b->few_count);
	CHECK_SAME(a->few, b->few, a->few_count);
	CHECK(a->edge_count == b->edge_count && a->slack == b->slack);
	CHECK_SAME(a->edges, b->edges, a->edge_count);
}

/// The boxes of a wide node hold those below, which hold the triangles as they are. Counts how often a triangle comes.
static void check_below(const cr_collider *c, uint32_t n, uint8_t *seen)
{
	const cr_node8 *node = &c->tree.nodes[n];
	for (uint32_t i = 0; i < node->child_count; i++) {
		const uint32_t child = node->child[i] & ~CR_LEAF_BIT;
		if (!(node->child[i] & CR_LEAF_BIT)) {
			const cr_node8 *below = &c->tree.nodes[child];
			for (uint32_t k = 0; k < 3 * below->child_count; k++) {
				CHECK(below->lower[k % 3][k / 3] >= node->lower[k % 3][i]);
				CHECK(below->upper[k % 3][k / 3] <= node->upper[k % 3][i]);
			}
			check_below(c, child, seen);
			continue;
		}
		const cr_tri8 *block = &c->blocks[child];
		for (int32_t k = 0; k < 9 * block->count; k++) {
			const int32_t lane = k / 9, corner = k / 3 % 3, number = block->number[lane];
			const float x = block->corner[corner][k % 3][lane];
			CHECK(x == c->topology->vertices[3 * c->topology->triangles[3 * number + corner] + k % 3]);
			CHECK(x > node->lower[k % 3][i] && x < node->upper[k % 3][i]);
			seen[number] += k % 9 == 0;
			CHECK_INT(c->place[number], CR_WIDTH * (int32_t)child + lane);
		}
	}
}

/// The wide tree of a collider without a binary one.
static void check_wide_tree(const cr_collider *c)
{
	uint8_t *seen = calloc((size_t)c->triangle_count, 1);
	REQUIRE(seen);
	check_below(c, 0, seen);
	int32_t once = 0;
	for (int32_t i = 0; i < c->triangle_count; i++)
		once += seen[i] == 1;
	CHECK_INT(once, c->triangle_count);
	free(seen);
}

void same_trees(const cr_collider *a, const cr_collider *b)
{
	CHECK_SAME(a->lower, b->lower, 3);
	CHECK_SAME(a->upper, b->upper, 3);
	CHECK(a->scale == b->scale && a->diagonal == b->diagonal && a->extent == b->extent);
	const size_t n = (size_t)a->triangle_count;
	CHECK((a->binary.node_count == 0) == (b->binary.node_count == 0));
	if (a->binary.node_count == 0) {
		check_wide_tree(a);
		return;
	}
	float *rows = malloc(6 * n * sizeof *rows);
	REQUIRE(rows);
	for (size_t i = 0; i < n; i++) {
		v3d p[3];
		cr_collider_triangle(a, a->triangle_number[i], p);
		for (int k = 0; k < 3; k++) {
			const double x = v3d_get(p[0], k), y = v3d_get(p[1], k), z = v3d_get(p[2], k);
			rows[(size_t)k * n + i] = (float)fmin(fmin(x, y), z);
			rows[(size_t)(k + 3) * n + i] = (float)fmax(fmax(x, y), z);
		}
	}
	const cr_build_boxes boxes = { { rows, rows + n, rows + 2 * n }, { rows + 3 * n, rows + 4 * n, rows + 5 * n }, (int32_t)n };
	CHECK(cr_tree2_check(&a->binary, &boxes));
	CHECK(cr_tree8_check(&a->tree, &a->binary));
	free(rows);
}
