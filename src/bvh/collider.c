/// Building a collider: trees over triangles and samples, blocks, exits, grid. Each part costs O(n
/// log n) at most.

#include "bvh/collider.h"
#include "base/radix.h"
#include "bvh/bvh_kernels.h"
#include "bvh/ray_scalar.h"
#include <string.h>

/// Boxes of primitives under construction.
typedef struct box_list {
	float *rows; // lower x y z, upper x y z, each [count]
	int32_t count;
} box_list;

static bool alloc_boxes(carom_context *context, int32_t count, box_list *list)
{
	list->count = count;
	list->rows = count > 0 ? cr_alloc_array(context, 6 * (size_t)count, sizeof(float)) : NULL;
	return count == 0 || list->rows;
}

static void free_boxes(carom_context *context, box_list *list)
{
	cr_free(context, list->rows, 6 * (size_t)list->count * sizeof(float));
}

static cr_build_boxes view_boxes(const box_list *list)
{
	const size_t n = (size_t)list->count;
	const float *r = list->rows;
	if (!r)
		return (cr_build_boxes){ .count = 0 }; // an offset from NULL is undefined, 0 too
	return (cr_build_boxes){ { r, r + n, r + 2 * n }, { r + 3 * n, r + 4 * n, r + 5 * n }, list->count };
}

static void set_box(box_list *list, int32_t i, const float lower[3], const float upper[3])
{
	for (int k = 0; k < 3; k++) {
		list->rows[(size_t)k * (size_t)list->count + (size_t)i] = lower[k];
		list->rows[(size_t)(k + 3) * (size_t)list->count + (size_t)i] = upper[k];
	}
}

/// The binary tree over boxes, as the mesh asks for it; traversal_cost as in cr_tree2_build. rows:
/// the grid that the boxes are, or NULL.
static carom_result build_tree(carom_context *context, const cr_collider *c, const cr_rows *rows, const box_list *boxes,
	float traversal_cost, cr_tree2 *tree)
{
	const cr_build_boxes view = view_boxes(boxes);
	if (rows)
		return cr_tree2_build_rows(context, rows, &view, traversal_cost, tree);
	switch (c->build) {
	case CAROM_MESH_HLBVH:
	case CAROM_MESH_LBVH: return cr_tree2_build_morton(context, &view, c->build == CAROM_MESH_HLBVH, tree);
	case CAROM_MESH_TRBVH: return cr_tree2_build_treelets(context, &view, traversal_cost, tree);
	case CAROM_MESH_PLOC: return cr_tree2_build_ploc(context, &view, traversal_cost, tree);
	default: return cr_tree2_build(context, &view, traversal_cost, tree);
	}
}

// ---- Triangles ----

static void triangle_box(const cr_topology *t, int32_t number, float lower[3], float upper[3])
{
	for (int k = 0; k < 3; k++) {
		lower[k] = INFINITY;
		upper[k] = -INFINITY;
		for (int c = 0; c < 3; c++) {
			const float x = t->vertices[3 * (int64_t)t->triangles[3 * (int64_t)number + c] + k];
			lower[k] = x < lower[k] ? x : lower[k];
			upper[k] = x > upper[k] ? x : upper[k];
		}
	}
}

static const double EXTENT = 2;
enum { CLASSES = 64 };

/// The class of the longest side of a box.
static uint32_t length_class(const float lower[3], const float upper[3])
{
	float longest = 0;
	for (int k = 0; k < 3; k++)
		longest = upper[k] - lower[k] > longest ? upper[k] - lower[k] : longest;
	return cr_length_class(longest);
}

/// Find the class of lengths that half of the triangles reach. counts: triangles of each class.
static void find_median(cr_collider *c, const int32_t counts[CR_LENGTHS])
{
	int32_t shorter = 0;
	uint32_t number = 0;
	// Many at once: a thousand empty classes took a twentieth of the time of a small mesh.
	for (; number + CLASSES < CR_LENGTHS; number += CLASSES) {
		int32_t sum = 0;
		for (int i = 0; i < CLASSES; i++)
			sum += counts[number + (uint32_t)i];
		if (2 * ((int64_t)shorter + sum) >= c->triangle_count)
			break;
		shorter += sum;
	}
	for (; number < CR_LENGTHS - 1 && 2 * ((int64_t)shorter + counts[number]) < c->triangle_count; number++)
		shorter += counts[number];
	c->median = (cr_median){ number, shorter, counts[number] };
}

/// Set the diagonal, and the extent: twice the root of n triangles times the length that half of
/// them reach, but no more than the diagonal. It is the extent of most triangles of a mesh, unless
/// it is some forty times as long as wide, whatever the others do.
static void set_extent(cr_collider *c)
{
	v3d size = { 0, 0, 0 };
	if (c->triangle_count > 0)
		size = v3d_sub(v3d_from_floats(c->upper), v3d_from_floats(c->lower));
	c->diagonal = (float)v3d_length(size);
	// of the upper end of the class
	const uint32_t bits = (c->median.number + 1) << CR_LENGTH_SHIFT;
	float length;
	memcpy(&length, &bits, sizeof length);
	const double extent = EXTENT * sqrt(c->triangle_count) * length;
	c->extent = extent < c->diagonal ? (float)extent : c->diagonal;
}

void cr_collider_measure_extent(cr_collider *c, const int32_t lengths[CR_LENGTHS])
{
	find_median(c, lengths);
	set_extent(c);
}

static void set_scale(cr_collider *c)
{
	c->scale = 0;
	for (int k = 0; k < 3 && c->triangle_count > 0; k++)
		c->scale = fmaxf(c->scale, fmaxf(fabsf(c->lower[k]), fabsf(c->upper[k])));
}

/// Measure the box, scale and extents; boxes: where those of the triangles go, or NULL.
static void measure_triangles(cr_collider *c, box_list *boxes)
{
	for (int k = 0; k < 3; k++) {
		c->lower[k] = INFINITY;
		c->upper[k] = -INFINITY;
	}
	int32_t lengths[CR_LENGTHS] = { 0 };
	for (int32_t i = 0; i < c->triangle_count; i++) {
		float lower[3], upper[3];
		triangle_box(c->topology, cr_used_triangle(c, i), lower, upper);
		if (boxes)
			set_box(boxes, i, lower, upper);
		lengths[length_class(lower, upper)]++;
		for (int k = 0; k < 3; k++) {
			c->lower[k] = lower[k] < c->lower[k] ? lower[k] : c->lower[k];
			c->upper[k] = upper[k] > c->upper[k] ? upper[k] : c->upper[k];
		}
	}
	set_scale(c);
	cr_collider_measure_extent(c, lengths);
}

/// Bring the corners of a block up to date, whose numbers are set.
static void fill_corners(const cr_topology *t, cr_tri8 *block)
{
	for (int lane = 0; lane < CR_WIDTH; lane++) {
		for (int corner = 0; corner < 3; corner++) {
			const int64_t v = t->triangles[3 * (int64_t)block->number[lane] + corner];
			for (int k = 0; k < 3; k++)
				block->corner[corner][k][lane] = t->vertices[3 * v + k];
		}
	}
}

static void fill_triangle_block(const cr_collider *c, int32_t b)
{
	cr_tri8 *block = &c->blocks[b];
	const int32_t first = c->tree.block_first[b], count = c->tree.block_size[b];
	memset(block, 0, sizeof *block);
	block->count = count;
	for (int lane = 0; lane < CR_WIDTH; lane++)
		block->number[lane] = cr_used_triangle(c, c->binary.order[first + (lane < count ? lane : 0)]);
	fill_corners(c->topology, block);
}

static void set_outline_box(cr_outline8 *outline, int lane, const cr_node8 *node, uint32_t child)
{
	for (int k = 0; k < 3; k++) {
		outline->lower[k][lane] = node->lower[k][child];
		outline->upper[k][lane] = node->upper[k][child];
	}
}

/// Boxes of the outline, before it is filled up: grandchildren of the root, or children that are
/// leaves.
static int32_t count_outline_boxes(const cr_collider *c)
{
	const cr_node8 *root = &c->tree.nodes[0];
	int32_t count = 0;
	for (uint32_t i = 0; i < root->child_count; i++)
		count += root->child[i] & CR_LEAF_BIT ? 1 : (int32_t)c->tree.nodes[root->child[i]].child_count;
	return count;
}

/// The last group is filled up with copies.
void cr_collider_outline(cr_collider *c)
{
	const cr_node8 *root = &c->tree.nodes[0];
	int count = 0;
	for (uint32_t i = 0; i < root->child_count; i++) {
		const bool leaf = root->child[i] & CR_LEAF_BIT;
		const cr_node8 *node = leaf ? root : &c->tree.nodes[root->child[i]];
		for (uint32_t j = leaf ? i : 0; j < (leaf ? i + 1 : node->child_count); j++, count++)
			set_outline_box(&c->outline[count / CR_WIDTH], count % CR_WIDTH, node, j);
	}
	for (; count % CR_WIDTH != 0; count++) {
		for (int k = 0; k < 3; k++) {
			c->outline[count / CR_WIDTH].lower[k][count % CR_WIDTH] = c->outline[0].lower[k][0];
			c->outline[count / CR_WIDTH].upper[k][count % CR_WIDTH] = c->outline[0].upper[k][0];
		}
	}
}

static void fill_places(cr_collider *c)
{
	for (int32_t i = 0; i < c->topology->triangle_count; i++)
		c->place[i] = -1;
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		for (int lane = 0; lane < c->blocks[b].count; lane++)
			c->place[c->blocks[b].number[lane]] = CR_WIDTH * b + lane;
	}
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		for (int lane = 0; lane < CR_WIDTH; lane++) {
			const int32_t *neighbours = &c->topology->neighbours[3 * (int64_t)c->blocks[b].number[lane]];
			for (int k = 0; k < 3; k++)
				c->across[b].edge[k][lane] = neighbours[k] < 0 ? -1 : c->place[neighbours[k]];
		}
	}
}

/// The rows of the triangles of cells.
static cr_rows rows_of_cells(const cr_rows *samples)
{
	return (cr_rows){ samples->columns - 1, samples->rows - 1, 2, { samples->spacing[0], samples->spacing[1] } };
}

/// across: make the data for walks over triangles. rows: of samples, if the triangles are those of
/// their cells and others behind them; else NULL.
static carom_result build_triangles(carom_context *context, bool across, const cr_rows *rows, cr_collider *c)
{
	box_list boxes;
	cr_rows cells = { 0 };
	if (rows)
		cells = rows_of_cells(rows);
	if (!alloc_boxes(context, c->triangle_count, &boxes))
		return cr_fail_memory(context, "the boxes of a mesh");
	measure_triangles(c, &boxes);
	carom_result result = build_tree(context, c, rows ? &cells : NULL, &boxes, CR_SAH_TRAVERSAL, &c->binary);
	free_boxes(context, &boxes);
	if (result == CAROM_SUCCESS)
		result = cr_tree8_build(context, &c->binary, cr_ray_pad(c), &c->tree);
	if (result != CAROM_SUCCESS || c->tree.block_count == 0)
		return result;
	c->blocks = cr_alloc_array(context, (size_t)c->tree.block_count, sizeof(cr_tri8));
	c->across = across ? cr_alloc_array(context, (size_t)c->tree.block_count, sizeof(cr_across8)) : NULL;
	c->place = across ? cr_alloc_array(context, (size_t)c->topology->triangle_count, sizeof(int32_t)) : NULL;
	c->outline_count = (count_outline_boxes(c) + CR_WIDTH - 1) / CR_WIDTH;
	c->outline = cr_alloc_array(context, (size_t)c->outline_count, sizeof(cr_outline8));
	if (!c->blocks || (across && (!c->across || !c->place)) || !c->outline)
		return cr_fail_memory(context, "the triangles of a mesh");
	for (int32_t b = 0; b < c->tree.block_count; b++)
		fill_triangle_block(c, b);
	if (across)
		fill_places(c);
	cr_collider_outline(c);
	return CAROM_SUCCESS;
}

// ---- Samples ----

static void fill_sample_block(cr_collider *c, const cr_sample_set *set, const int32_t *kept, const int32_t *order, int32_t b)
{
	cr_sample8 *block = &c->samples[b];
	const int32_t first = c->sample_tree.block_first[b], count = c->sample_tree.block_size[b];
	memset(block, 0, sizeof *block);
	block->count = count;
	for (int lane = 0; lane < CR_WIDTH; lane++) {
		const int64_t i = kept[order[first + (lane < count ? lane : 0)]];
		block->number[lane] = set->numbers[i];
		block->exit[lane] = INFINITY;
		for (int k = 0; k < 3; k++) {
			block->point[k][lane] = set->points[3 * i + k];
			block->inward[k][lane] = -set->normals[3 * i + k];
		}
	}
}

static carom_result build_sample_tree(
	carom_context *context, const cr_rows *rows, cr_collider *c, const cr_sample_set *set, const int32_t *kept)
{
	box_list boxes;
	if (!alloc_boxes(context, c->sample_count, &boxes))
		return cr_fail_memory(context, "the samples of a mesh");
	for (int32_t i = 0; i < c->sample_count; i++)
		set_box(&boxes, i, &set->points[3 * (int64_t)kept[i]], &set->points[3 * (int64_t)kept[i]]);
	cr_tree2 binary;
	carom_result result = build_tree(context, c, rows, &boxes, CR_FULL_LEAVES, &binary);
	free_boxes(context, &boxes);
	if (result == CAROM_SUCCESS)
		result = cr_tree8_build(context, &binary, 0, &c->sample_tree);
	if (result == CAROM_SUCCESS && c->sample_tree.block_count > 0) {
		c->samples = cr_alloc_array(context, (size_t)c->sample_tree.block_count, sizeof(cr_sample8));
		if (!c->samples)
			result = cr_fail_memory(context, "the samples of a mesh");
		for (int32_t b = 0; c->samples && b < c->sample_tree.block_count; b++)
			fill_sample_block(c, set, kept, binary.order, b);
	}
	cr_tree2_free(context, &binary);
	return result;
}

static carom_result build_samples(carom_context *context, const cr_rows *rows, cr_collider *c, const cr_sample_set *set)
{
	const size_t bytes = (size_t)set->count * sizeof(int32_t);
	int32_t *kept = cr_alloc(context, bytes);
	if (!kept && set->count > 0)
		return cr_fail_memory(context, "the samples of a mesh");
	for (int32_t i = 0; i < set->count; i++) {
		if (set->numbers[i] >= 0)
			kept[c->sample_count++] = i;
	}
	const carom_result result = build_sample_tree(context, rows, c, set, kept);
	cr_free(context, kept, bytes);
	return result;
}

/// The vertices of a mesh as samples: one for each position that a triangle uses.
static carom_result build_vertex_samples(carom_context *context, const cr_rows *rows, cr_collider *c)
{
	const cr_topology *t = c->topology;
	const size_t bytes = (size_t)t->vertex_count * sizeof(int32_t);
	int32_t *numbers = cr_alloc(context, bytes);
	if (!numbers && bytes > 0)
		return cr_fail_memory(context, "the samples of a mesh");
	for (int32_t i = 0; i < t->vertex_count; i++)
		numbers[i] = -1;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		for (int corner = 0; corner < 3; corner++) {
			const int32_t v = t->weld[t->triangles[3 * (int64_t)cr_used_triangle(c, i) + corner]];
			numbers[v] = v;
		}
	}
	const cr_sample_set set = { t->vertices, t->normals, numbers, t->vertex_count };
	const carom_result result = build_samples(context, rows, c, &set);
	cr_free(context, numbers, bytes);
	return result;
}

// ---- All ----

/// rows: as in build_triangles.
static carom_result list_triangles(carom_context *context, const cr_rows *rows, cr_collider *c)
{
	const cr_topology *t = c->topology;
	if (rows) {
		c->triangle_count = t->triangle_count;
		return CAROM_SUCCESS;
	}
	for (int32_t i = 0; i < t->triangle_count; i++)
		c->triangle_count += t->used[i];
	if (c->triangle_count == 0)
		return CAROM_SUCCESS;
	c->triangle_number = cr_alloc_array(context, (size_t)c->triangle_count, sizeof(int32_t));
	if (!c->triangle_number)
		return cr_fail_memory(context, "the triangles of a mesh");
	int32_t count = 0;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		if (t->used[i])
			c->triangle_number[count++] = i;
	}
	return CAROM_SUCCESS;
}

static carom_result build_all(
	carom_context *context, const cr_rows *rows, const cr_sample_set *samples, int32_t grid_resolution, cr_collider *collider)
{
	carom_result result = list_triangles(context, rows, collider);
	if (result == CAROM_SUCCESS)
		result = build_triangles(context, true, rows, collider);
	if (result == CAROM_SUCCESS)
		result = samples ? build_samples(context, NULL, collider, samples) : build_vertex_samples(context, rows, collider);
	if (result == CAROM_SUCCESS && collider->closed && collider->triangle_count > 0) {
		if (!collider->lean)
			cr_collider_measure_exits(context, collider);
		result = cr_grid_build(context, collider, grid_resolution, &collider->grid);
	}
	if (result != CAROM_SUCCESS)
		cr_collider_free(context, collider);
	return result;
}

/// Give up the lists of the beginnings and sizes of blocks.
static void drop_block_lists(carom_context *context, cr_tree8 *tree)
{
	const size_t bytes = (size_t)tree->block_count * sizeof(int32_t);
	cr_free(context, tree->block_first, bytes);
	cr_free(context, tree->block_size, bytes);
	tree->block_first = tree->block_size = NULL;
}

carom_result cr_collider_build(carom_context *context, const cr_topology *topology, bool closed, const cr_sample_set *samples,
	int32_t grid_resolution, carom_mesh_build build, cr_collider *collider)
{
	*collider = (cr_collider){ .topology = topology, .build = build, .closed = closed, .revision = cr_next_serial() };
	return build_all(context, NULL, samples, grid_resolution, collider);
}

carom_result cr_collider_build_lean(
	carom_context *context, const cr_topology *topology, const cr_rows *rows, int32_t grid_resolution, cr_collider *collider)
{
	*collider = (cr_collider){ .topology = topology, .closed = true, .lean = true, .revision = cr_next_serial() };
	const carom_result result = build_all(context, rows, NULL, grid_resolution, collider);
	if (result == CAROM_SUCCESS && rows) {
		cr_tree2_free(context, &collider->binary);
		drop_block_lists(context, &collider->tree);
		drop_block_lists(context, &collider->sample_tree);
	}
	return result;
}

carom_result cr_collider_build_tree(
	carom_context *context, const cr_topology *topology, bool closed, carom_mesh_build build, cr_collider *collider)
{
	*collider = (cr_collider){ .topology = topology, .build = build, .closed = closed, .revision = cr_next_serial() };
	carom_result result = list_triangles(context, NULL, collider);
	if (result == CAROM_SUCCESS)
		result = build_triangles(context, false, NULL, collider);
	cr_tree2_free(context, &collider->binary);
	if (result == CAROM_SUCCESS)
		drop_block_lists(context, &collider->tree);
	else
		cr_collider_free(context, collider);
	return result;
}

carom_result cr_collider_binary(carom_context *context, const cr_collider *c, const cr_rows *rows, cr_tree2 *binary)
{
	box_list boxes;
	const cr_rows cells = rows_of_cells(rows);
	*binary = (cr_tree2){ 0 };
	if (!alloc_boxes(context, c->triangle_count, &boxes))
		return cr_fail_memory(context, "the boxes of a mesh");
	for (int32_t i = 0; i < c->triangle_count; i++) {
		float lower[3], upper[3];
		triangle_box(c->topology, i, lower, upper);
		set_box(&boxes, i, lower, upper);
	}
	const carom_result result = build_tree(context, c, &cells, &boxes, CR_SAH_TRAVERSAL, binary);
	free_boxes(context, &boxes);
	return result;
}

void cr_collider_free(carom_context *context, cr_collider *c)
{
	cr_free(context, c->triangle_number, c->triangle_number ? (size_t)c->triangle_count * sizeof(int32_t) : 0);
	cr_free(context, c->blocks, (size_t)c->tree.block_count * sizeof(cr_tri8));
	cr_free(context, c->across, c->across ? (size_t)c->tree.block_count * sizeof(cr_across8) : 0);
	cr_free(context, c->place, c->place ? (size_t)c->topology->triangle_count * sizeof(int32_t) : 0);
	cr_free(context, c->outline, (size_t)c->outline_count * sizeof(cr_outline8));
	cr_free(context, c->samples, (size_t)c->sample_tree.block_count * sizeof(cr_sample8));
	cr_tree2_free(context, &c->binary);
	cr_tree8_free(context, &c->tree);
	cr_tree8_free(context, &c->sample_tree);
	cr_grid_free(context, &c->grid);
	*c = (cr_collider){ 0 };
}

// ---- Refitting ----

/// A collider that is brought up to date.
typedef struct refit {
	cr_collider *collider;
	const cr_change *change;
	bool all; // the boxes of all triangles are to grow
} refit;

static box3f box_of_lane(const cr_tri8 *block, int lane)
{
	box3f box = BOX3F_NONE;
	for (int i = 0; i < 9; i++) {
		const float x = block->corner[i / 3][i % 3][lane];
		box.lower[i % 3] = x < box.lower[i % 3] ? x : box.lower[i % 3];
		box.upper[i % 3] = x > box.upper[i % 3] ? x : box.upper[i % 3];
	}
	return box;
}

/// Count the triangles of a block among the lengths around the median; times: 1, or -1 to take them
/// away.
static void count_lengths(cr_median *m, const cr_tri8 *block, int32_t times)
{
	for (int lane = 0; lane < block->count; lane++) {
		const box3f box = box_of_lane(block, lane);
		const uint32_t number = length_class(box.lower, box.upper);
		m->shorter += number < m->number ? times : 0;
		m->within += number == m->number ? times : 0;
	}
}

static bool refit_triangle_block(void *user, int32_t b, float lower[3], float upper[3])
{
	const refit *r = user;
	cr_collider *c = r->collider;
	cr_tri8 *block = &c->blocks[b];
	bool moved = false;
	for (int lane = 0; lane < block->count; lane++)
		moved = moved || cr_has_changed(r->change, block->number[lane]);
	if (!moved && !r->all)
		return false;
	if (moved) {
		count_lengths(&c->median, block, -1);
		fill_corners(c->topology, block);
		count_lengths(&c->median, block, 1);
	}
	box3f box = BOX3F_NONE;
	for (int lane = 0; lane < block->count; lane++) {
		const box3f one = box_of_lane(block, lane);
		box = box3f_join(&box, &one);
	}
	memcpy(lower, box.lower, sizeof box.lower);
	memcpy(upper, box.upper, sizeof box.upper);
	return true;
}

static void bound_triangle(const void *user, int32_t primitive, float lower[3], float upper[3])
{
	const cr_collider *c = user;
	triangle_box(c->topology, cr_used_triangle(c, primitive), lower, upper);
}

/// Does half of the triangles still reach the class of lengths that it reached?
static bool holds_median(const cr_collider *c)
{
	const int64_t shorter = c->median.shorter, n = c->triangle_count;
	return 2 * shorter < n && 2 * (shorter + c->median.within) >= n;
}

/// Find the top of the box of a collider without a binary tree. It is that of a field, whose
/// vertices move up and down alone, and whose bottom stays. Only where a vertex was at the top, and
/// none is any more, all are asked.
static void find_top(cr_collider *c, const box3f *region)
{
	const cr_topology *t = c->topology;
	if (region->upper[2] != c->upper[2]) {
		c->upper[2] = fmaxf(c->upper[2], region->upper[2]);
		return;
	}
	float top = -INFINITY;
	for (int64_t v = 0; v < t->vertex_count && top < c->upper[2]; v++)
		top = t->vertices[3 * v + 2] > top ? t->vertices[3 * v + 2] : top;
	c->upper[2] = top;
}

/// Bring the box of all triangles up to date. Returns the number of nodes that were refitted.
static int32_t refit_box(cr_collider *c, const box3f *region)
{
	if (c->binary.node_count == 0) {
		find_top(c, region);
		return 0;
	}
	const int32_t nodes = cr_tree2_refit_near(&c->binary, region, bound_triangle, c);
	memcpy(c->lower, c->binary.nodes[0].lower, sizeof c->lower);
	memcpy(c->upper, c->binary.nodes[0].upper, sizeof c->upper);
	return nodes;
}

/// Returns the number of nodes that were refitted.
static int32_t refit_triangles(cr_collider *c, const cr_change *change, const box3f *region)
{
	const float pad = cr_ray_pad(c);
	const bool known = c->median.within > 0;
	int32_t nodes = refit_box(c, region);
	set_scale(c);
	// Boxes that are larger than they need be do no harm.
	refit r = { c, change, cr_ray_pad(c) > pad };
	const box3f everywhere = { { -INFINITY, -INFINITY, -INFINITY }, { INFINITY, INFINITY, INFINITY } };
	nodes += cr_tree8_refit_near(&c->tree, r.all ? &everywhere : region, r.all ? cr_ray_pad(c) : pad, refit_triangle_block, &r);
	if (known && holds_median(c))
		set_extent(c);
	else
		measure_triangles(c, NULL);
	cr_collider_outline(c);
	return nodes;
}

static bool refit_sample_block(void *user, int32_t b, float lower[3], float upper[3])
{
	const refit *r = user;
	const cr_topology *t = r->collider->topology;
	cr_sample8 *block = &r->collider->samples[b];
	bool moved = false;
	for (int lane = 0; lane < CR_WIDTH; lane++) {
		const int64_t v = block->number[lane];
		if (cr_changed_normal(r->change, (int32_t)v) < 0)
			continue;
		for (int k = 0; k < 3; k++) {
			block->point[k][lane] = t->vertices[3 * v + k];
			block->inward[k][lane] = -t->normals[3 * v + k];
		}
		moved = true;
	}
	if (!moved)
		return false;
	for (int k = 0; k < 3; k++) {
		lower[k] = upper[k] = block->point[k][0];
		for (int i = 1; i < block->count; i++) {
			const float x = block->point[k][i];
			lower[k] = x < lower[k] ? x : lower[k];
			upper[k] = x > upper[k] ? x : upper[k];
		}
	}
	return true;
}

int32_t cr_collider_refit_trees(cr_collider *c, const cr_change *change)
{
	c->revision = cr_next_serial();
	refit r = { c, change, false };
	box3f region;
	memcpy(region.lower, change->lower, sizeof region.lower);
	memcpy(region.upper, change->upper, sizeof region.upper);
	const int32_t nodes = refit_triangles(c, change, &region);
	return nodes + cr_tree8_refit_near(&c->sample_tree, &region, 0, refit_sample_block, &r);
}

// ---- What lies near vertices ----

static bool has_corner_in(const cr_collider *c, int32_t triangle, const box3f *box)
{
	for (int k = 0; k < 3; k++) {
		const float *p = &c->topology->vertices[3 * (int64_t)c->topology->triangles[3 * (int64_t)triangle + k]];
		if (p[0] >= box->lower[0] && p[0] <= box->upper[0] && p[1] >= box->lower[1] && p[1] <= box->upper[1] &&
			p[2] >= box->lower[2] && p[2] <= box->upper[2])
			return true;
	}
	return false;
}

typedef struct gathering {
	const cr_collider *collider;
	const cr_bvh_kernels *kernels;
	int32_t *blocks; // [room]
	int32_t room;
} gathering;

/// Make room for the blocks that meet a box. false: out of memory.
static bool make_room(carom_context *context, gathering *g, const box3f *box)
{
	const int32_t count = g->kernels->blocks_in_box(g->collider, box->lower, box->upper, g->room, g->blocks);
	if (count <= g->room)
		return true;
	cr_free(context, g->blocks, (size_t)g->room * sizeof *g->blocks);
	g->blocks = cr_alloc_array(context, (size_t)count, sizeof *g->blocks);
	g->room = g->blocks ? count : 0;
	return g->blocks != NULL;
}

/// List the triangles with a corner in a box; numbers NULL: only count them. reach: joined with
/// their boxes.
static int32_t gather(const gathering *g, const box3f *box, cr_key *numbers, box3f *reach)
{
	const cr_collider *c = g->collider;
	int32_t found = 0;
	const int32_t count = g->kernels->blocks_in_box(c, box->lower, box->upper, g->room, g->blocks);
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &c->blocks[g->blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			if (!has_corner_in(c, block->number[lane], box))
				continue;
			if (numbers)
				numbers[found] = (cr_key){ (uint64_t)block->number[lane], 0 };
			const box3f own = box_of_lane(block, lane);
			*reach = box3f_join(reach, &own);
			found++;
		}
	}
	return found;
}

/// List the triangles with a corner in a box, sorted. false: out of memory.
static bool list_in(carom_context *context, const gathering *g, const box3f *box, cr_surroundings *s)
{
	box3f reach = BOX3F_NONE;
	s->count = gather(g, box, NULL, &reach);
	const size_t bytes = 2 * (size_t)s->count * sizeof(cr_key);
	cr_key *keys = cr_alloc(context, bytes);
	s->triangles = cr_alloc_array(context, (size_t)s->count, sizeof *s->triangles);
	const bool enough = s->count == 0 || (keys && s->triangles);
	if (enough) {
		gather(g, box, keys, &reach);
		cr_radix_sort(keys, keys + s->count, s->count, 32);
		for (int32_t i = 0; i < s->count; i++)
			s->triangles[i] = (int32_t)keys[i].key;
	}
	cr_free(context, keys, bytes);
	return enough;
}

carom_result cr_collider_surroundings(
	carom_context *context, const cr_collider *c, const int32_t *vertices, int32_t count, cr_surroundings *s)
{
	*s = (cr_surroundings){ 0 };
	box3f own = BOX3F_NONE, reach = BOX3F_NONE;
	for (int32_t i = 0; i < count; i++) {
		box3f one;
		memcpy(one.lower, &c->topology->vertices[3 * (int64_t)vertices[i]], sizeof one.lower);
		memcpy(one.upper, one.lower, sizeof one.upper);
		own = box3f_join(&own, &one);
	}
	gathering g = { c, cr_get_bvh_kernels(context->simd), NULL, 0 };
	bool enough = true;
	if (count > 0)
		enough = make_room(context, &g, &own);
	if (count > 0 && enough) {
		gather(&g, &own, NULL, &reach);
		enough = make_room(context, &g, &reach) && list_in(context, &g, &reach, s);
	}
	cr_free(context, g.blocks, (size_t)g.room * sizeof *g.blocks);
	if (enough)
		return CAROM_SUCCESS;
	cr_surroundings_free(context, s);
	return cr_fail_memory(context, "what changed in a mesh");
}

/// Compare two points by x, then y, then z.
static int compare_points(const float *p, const float *q)
{
	for (int k = 0; k < 3; k++) {
		if (p[k] != q[k])
			return p[k] < q[k] ? -1 : 1;
	}
	return 0;
}

/// The corners of a triangle around from the lowest one.
static void list_corners(const cr_topology *t, int32_t triangle, const float *corners[3])
{
	const float *p[3];
	int lowest = 0;
	for (int k = 0; k < 3; k++) {
		p[k] = &t->vertices[3 * (int64_t)t->triangles[3 * (int64_t)triangle + k]];
		lowest = compare_points(p[k], p[lowest]) < 0 ? k : lowest;
	}
	for (int k = 0; k < 3; k++)
		corners[k] = p[(lowest + k) % 3];
}

bool cr_triangle_precedes(const cr_collider *c, int32_t triangle, int32_t other)
{
	const float *p[3], *q[3];
	list_corners(c->topology, triangle, p);
	list_corners(c->topology, other, q);
	for (int k = 0; k < 3; k++) {
		const int order = compare_points(p[k], q[k]);
		if (order != 0)
			return order < 0;
	}
	return triangle < other;
}

static size_t tree8_bytes(const cr_tree8 *t)
{
	const size_t lists = t->block_first ? 2 * (size_t)t->block_count * sizeof(int32_t) : 0;
	return (size_t)t->node_count * sizeof(cr_node8) + lists;
}

size_t cr_collider_bytes(const cr_collider *c)
{
	const size_t n = (size_t)c->triangle_count;
	size_t bytes = (size_t)c->tree.block_count * (sizeof(cr_tri8) + sizeof(cr_across8));
	if (c->triangle_number)
		bytes += n * sizeof(int32_t);
	if (c->place)
		bytes += (size_t)c->topology->triangle_count * sizeof(int32_t);
	bytes += (size_t)c->outline_count * sizeof(cr_outline8) + (size_t)c->sample_tree.block_count * sizeof(cr_sample8) +
		tree8_bytes(&c->tree) + tree8_bytes(&c->sample_tree);
	if (c->binary.node_count > 0)
		bytes += (size_t)c->binary.node_count * sizeof(cr_node2) + n * sizeof(int32_t);
	return bytes + cr_grid_bytes(&c->grid);
}

int32_t cr_pack_triangles(const cr_collider *collider, cr_tri8 blocks[CR_PACKED_BLOCKS])
{
	// Rows of all triangles. Whole blocks are copied, each over the unused lanes of the one before.
	float corner[9][CR_WIDTH * (CR_PACKED_BLOCKS + 1)];
	int32_t number[CR_WIDTH * (CR_PACKED_BLOCKS + 1)], count = 0;
	const int32_t end = collider->tree.block_count;
	// The last one comes twice, so that all lanes in use are set.
	for (int32_t i = 0; i <= end && end > 0; i++) {
		const cr_tri8 *from = &collider->blocks[i < end ? i : end - 1];
		for (int k = 0; k < 9; k++)
			memcpy(&corner[k][count], from->corner[k / 3][k % 3], sizeof from->corner[0][0]);
		memcpy(&number[count], from->number, sizeof from->number);
		count += i < end ? from->count : 0;
	}
	const int32_t used = (count + CR_WIDTH - 1) / CR_WIDTH;
	for (int32_t i = 0; i < used; i++) {
		for (int k = 0; k < 9; k++)
			memcpy(blocks[i].corner[k / 3][k % 3], &corner[k][CR_WIDTH * i], sizeof blocks[i].corner[0][0]);
		memcpy(blocks[i].number, &number[CR_WIDTH * i], sizeof blocks[i].number);
		blocks[i].count = count - CR_WIDTH * i < CR_WIDTH ? count - CR_WIDTH * i : CR_WIDTH;
	}
	return used;
}
