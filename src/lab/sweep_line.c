/// The order of boxes along an axis. See lab/sweep_line.h. Cost: a radix sort of the triangles.
#include "lab/sweep_line.h"
#include "base/dispatch.h"

#include <math.h>
#include <string.h>

static float begin_of(const cr_sweep_tree *tree, int64_t node, int axis)
{
	return tree->node_boxes.main[(tree->volume == CAROM_SWEEP_DOP18 ? CR_DOP_STRIDE : CR_AABB_STRIDE) * node + axis];
}

static float end_of(const cr_sweep_tree *tree, int64_t node, int axis)
{
	const bool dop = tree->volume == CAROM_SWEEP_DOP18;
	return tree->node_boxes.main[(dop ? CR_DOP_STRIDE : CR_AABB_STRIDE) * node + (dop ? 8 : 4) + axis];
}

/// The axis along which the middles of the leaves vary most.
static int pick_axis(const cr_sweep_tree *tree)
{
	double sum[3] = { 0 }, squares[3] = { 0 };
	// From the middle of the whole, so that squares do not swallow each other far from the origin.
	for (int32_t i = 0; i < tree->node_count; i++) {
		if (!cr_is_leaf(&tree->nodes[i]))
			continue;
		for (int k = 0; k < 3; k++) {
			const double whole = 0.5 * begin_of(tree, 0, k) + 0.5 * end_of(tree, 0, k);
			const double middle = 0.5 * begin_of(tree, i, k) + 0.5 * end_of(tree, i, k) - whole;
			sum[k] += middle;
			squares[k] += middle * middle;
		}
	}
	int axis = 0;
	double most = -1;
	for (int k = 0; k < 3; k++) {
		const double variance = squares[k] - sum[k] * sum[k] / (tree->node_count / 2 + 1);
		if (variance > most) {
			most = variance;
			axis = k;
		}
	}
	return axis;
}

/// Bits of a float in the order of its value.
static uint32_t ordered_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static void fill(const cr_sweep_tree *tree, int axis, cr_sweep_line *line)
{
	for (int32_t i = 0; i < line->count; i++) {
		const int32_t node = (int32_t)line->keys.data[i].value;
		line->nodes.data[i] = node;
		for (int k = 0; k < 3; k++) {
			line->bounds.data[(int64_t)line->stride * 2 * k + i] = begin_of(tree, node, (axis + k) % 3);
			line->bounds.data[(int64_t)line->stride * (2 * k + 1) + i] = end_of(tree, node, (axis + k) % 3);
		}
	}
	for (int list = 0; list < 6; list++) {
		for (int32_t i = line->count; i < line->stride; i++)
			line->bounds.data[(int64_t)line->stride * list + i] = INFINITY;
	}
}

CR_DEFINE_KERNEL_GETTER(cr_line_kernels, cr_get_line_kernels)

bool cr_sort_line(carom_context *context, const cr_sweep_tree *tree, cr_sweep_line **made)
{
	if (!*made)
		*made = cr_alloc_zero(context, sizeof **made);
	cr_sweep_line *line = *made;
	if (!line)
		return false;
	line->kernels = cr_get_line_kernels(context->simd);
	line->count = tree->node_count / 2 + 1;
	line->stride = line->count + CR_LINE_PADDING;
	if (!cr_array_reserve(context, &line->keys, line->count) || !cr_array_reserve(context, &line->scratch, line->count) ||
		!cr_array_reserve(context, &line->nodes, line->count) ||
		!cr_array_reserve(context, &line->bounds, 6 * (int64_t)line->stride))
		return false;
	const int axis = pick_axis(tree);
	int32_t count = 0;
	for (int32_t i = 0; i < tree->node_count; i++) {
		if (cr_is_leaf(&tree->nodes[i]))
			line->keys.data[count++] = (cr_key){ ordered_bits(begin_of(tree, i, axis)), (uint32_t)i };
	}
	cr_radix_sort(line->keys.data, line->scratch.data, count, 32);
	fill(tree, axis, line);
	return true;
}

void cr_pass_line(const cr_sweep_kernels *kernels, cr_sweep_walk *walk, const cr_sweep_line *line, int32_t begin, int32_t end)
{
	line->kernels->pass(kernels, walk, line, begin, end);
}

void cr_drop_line(carom_context *context, cr_sweep_line *line)
{
	if (!line)
		return;
	cr_array_free(context, &line->keys);
	cr_array_free(context, &line->scratch);
	cr_array_free(context, &line->nodes);
	cr_array_free(context, &line->bounds);
	cr_free(context, line, sizeof *line);
}
