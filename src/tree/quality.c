/// Quality of trees: surface area heuristic and end-point overlap.

#include "tree/quality.h"
#include <assert.h>
#include <string.h>

static double area_of(const float lower[3], const float upper[3])
{
	const double x = (double)upper[0] - lower[0], y = (double)upper[1] - lower[1], z = (double)upper[2] - lower[2];
	return 2 * (x * y + y * z + z * x);
}

static double cost_of(const cr_node2 *n) { return n->count > 0 ? CR_BLOCK_COST * n->count : CR_BOX_COST; }

double cr_tree2_sah_cost(const cr_tree2 *tree)
{
	if (tree->node_count == 0)
		return 0;
	const double root = area_of(tree->nodes[0].lower, tree->nodes[0].upper);
	double sum = 0;
	for (int32_t i = 0; i < tree->node_count; i++) {
		const cr_node2 *n = &tree->nodes[i];
		sum += root > 0 ? area_of(n->lower, n->upper) / root * cost_of(n) : cost_of(n);
	}
	return sum;
}

static double area_of_child(const cr_node8 *n, uint32_t i)
{
	const float lower[3] = { n->lower[0][i], n->lower[1][i], n->lower[2][i] };
	const float upper[3] = { n->upper[0][i], n->upper[1][i], n->upper[2][i] };
	return area_of(lower, upper);
}

double cr_tree8_sah_cost(const cr_tree8 *tree)
{
	float lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	double sum = 0;
	if (tree->node_count == 0)
		return 0;
	for (int32_t n = 0; n < tree->node_count; n++) {
		const cr_node8 *node = &tree->nodes[n];
		for (uint32_t i = 0; i < node->child_count; i++)
			sum += area_of_child(node, i) * (node->child[i] & CR_LEAF_BIT ? CR_BLOCK_COST : CR_BOX_COST);
	}
	for (uint32_t i = 0; i < 3 * tree->nodes[0].child_count; i++) {
		const float low = tree->nodes[0].lower[i % 3][i / 3], high = tree->nodes[0].upper[i % 3][i / 3];
		lower[i % 3] = low < lower[i % 3] ? low : lower[i % 3];
		upper[i % 3] = high > upper[i % 3] ? high : upper[i % 3];
	}
	const double root = area_of(lower, upper);
	return CR_BOX_COST + (root > 0 ? sum / root : 0);
}

// ---- End-point overlap ----

/// Corners of a triangle after the six sides of a box. A side leaves a convex polygon one corner
/// more at most, but rounded corners bend the polygon, and then a side can cut it more than twice.
/// For any polygon of n corners: the corners outside form r runs around it. A run has a corner
/// outside and is followed by one inside, so 2 r <= n (or all are outside, and nothing is kept).
/// Each run is replaced by two corners at most, so at most n - r + 2 r <= n + n / 2 are kept: 3, 4,
/// 6, 9, 13, 19, 28.
enum { MAX_CORNERS = 28 };

/// Clip a polygon by one side of a box (Sutherland, Hodgman, Reentrant Polygon Clipping, 1974).
/// Returns the number of corners of out, count + count / 2 at most.
static int clip_side(const v3d *in, int count, int axis, double bound, double sign, v3d *out)
{
	int kept = 0;
	for (int i = 0; i < count; i++) {
		const v3d p = in[i], q = in[(i + 1) % count];
		const double dp = sign * (bound - v3d_get(p, axis)), dq = sign * (bound - v3d_get(q, axis));
		if (dp >= 0)
			out[kept++] = p;
		if ((dp > 0 && dq < 0) || (dp < 0 && dq > 0))
			out[kept++] = v3d_mad(p, dp / (dp - dq), v3d_sub(q, p));
	}
	assert(kept <= count + count / 2);
	return kept;
}

static double clipped_area(const v3d triangle[3], const float lower[3], const float upper[3])
{
	v3d a[MAX_CORNERS], b[MAX_CORNERS];
	memcpy(a, triangle, 3 * sizeof *a);
	int count = 3;
	for (int axis = 0; axis < 3 && count > 0; axis++) {
		count = clip_side(a, count, axis, upper[axis], 1, b);
		count = count > 0 ? clip_side(b, count, axis, lower[axis], -1, a) : 0;
	}
	v3d sum = { 0, 0, 0 };
	for (int i = 2; i < count; i++)
		sum = v3d_add(sum, v3d_cross(v3d_sub(a[i - 1], a[0]), v3d_sub(a[i], a[0])));
	return 0.5 * v3d_length(sum);
}

static bool boxes_meet(const cr_node2 *n, const v3d t[3])
{
	for (int k = 0; k < 3; k++) {
		const double p = v3d_get(t[0], k), q = v3d_get(t[1], k), r = v3d_get(t[2], k);
		if (fmax(fmax(p, q), r) < n->lower[k] || fmin(fmin(p, q), r) > n->upper[k])
			return false;
	}
	return true;
}

/// First position in leaf order of a node's subtree: that of the first leaf from there in
/// depth-first order.
static int32_t first_position(const cr_tree2 *tree, int32_t at)
{
	while (tree->nodes[at].count == 0)
		at++;
	return tree->nodes[at].first;
}

/// Area of triangle number position (in leaf order) inside the boxes of nodes that do not hold it,
/// weighted by their cost. A subtree holds the positions from its first leaf to its last, so the
/// walk knows which boxes are foreign.
static double foreign_overlap(const cr_tree2 *tree, int32_t position, const v3d t[3])
{
	double sum = 0;
	for (int32_t at = 0; at < tree->node_count;) {
		const cr_node2 *n = &tree->nodes[at];
		if (!boxes_meet(n, t)) {
			at = n->skip;
			continue;
		}
		const int32_t end = n->skip < tree->node_count ? first_position(tree, n->skip) : tree->primitive_count;
		if (position < first_position(tree, at) || position >= end)
			sum += cost_of(n) * clipped_area(t, n->lower, n->upper);
		at = n->count > 0 ? n->skip : at + 1;
	}
	return sum;
}

double cr_tree2_epo(const cr_tree2 *tree, cr_corners_fn *corners, const void *user)
{
	double sum = 0, area = 0;
	for (int32_t position = 0; position < tree->primitive_count; position++) {
		v3d t[3];
		corners(user, tree->order[position], t);
		sum += foreign_overlap(tree, position, t);
		area += 0.5 * v3d_length(v3d_cross(v3d_sub(t[1], t[0]), v3d_sub(t[2], t[0])));
	}
	return area > 0 ? sum / area : 0;
}
