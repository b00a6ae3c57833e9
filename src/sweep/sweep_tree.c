/// Building and refitting of the tree of a swept scene. See sweep/sweep_tree.h. The refit does
/// vertices, then subtrees of CR_SWEEP_PART_NODES nodes at most, each in parallel, then the few
/// nodes above in one thread (MCCD, section 4.2: equation 9).
#include "sweep/sweep_tree.h"
#include "base/parallel.h"
#include "sweep/sweep_kernels.h"

#include <math.h>
#include <string.h>

// ---- Building ----

typedef struct builder {
	cr_sweep_tree *tree;
	carom_sweep_build build;
	const int32_t *triangles; // [3*triangle_count]
	int32_t triangle_count;
	const int32_t *groups;
	float *low, *high; // [3*triangle_count]
	int32_t *order;
} builder;

static void bound_triangles(builder *b, const double *positions)
{
	for (int32_t i = 0; i < b->triangle_count; i++) {
		const int32_t *t = &b->triangles[3 * (int64_t)i];
		for (int k = 0; k < 3; k++) {
			const float p[3] = { (float)positions[3 * (int64_t)t[0] + k], (float)positions[3 * (int64_t)t[1] + k],
				(float)positions[3 * (int64_t)t[2] + k] };
			const float low = p[0] < p[1] ? p[0] : p[1], high = p[0] > p[1] ? p[0] : p[1];
			b->low[3 * (int64_t)i + k] = p[2] < low ? p[2] : low;
			b->high[3 * (int64_t)i + k] = p[2] > high ? p[2] : high;
		}
		b->order[i] = i;
	}
}

typedef struct task {
	int32_t node, first, count;
	int depth;
} task;

/// Nodes in depth-first order: a subtree of c triangles has 2 c - 1 nodes, so every place is known
/// beforehand.
static void make_nodes(builder *b)
{
	task stack[CR_SWEEP_MAX_DEPTH + 1];
	int top = 0;
	stack[top++] = (task){ 0, 0, b->triangle_count, 0 };
	b->tree->nodes[0].parent = -1;
	while (top > 0) {
		const task t = stack[--top];
		cr_sweep_node *node = &b->tree->nodes[t.node];
		node->size = 2 * t.count - 1;
		if (t.count == 1) {
			node->right = ~b->order[t.first];
			node->group = b->groups[b->order[t.first]];
			continue;
		}
		const int32_t left = cr_sweep_split(b->build, b->low, b->high, b->order + t.first, t.count, t.depth);
		node->right = t.node + 2 * left;
		b->tree->nodes[node->right].parent = b->tree->nodes[t.node + 1].parent = t.node;
		stack[top++] = (task){ node->right, t.first + left, t.count - left, t.depth + 1 };
		stack[top++] = (task){ t.node + 1, t.first, left, t.depth + 1 };
	}
}

static void join_groups(cr_sweep_tree *tree)
{
	for (int32_t i = tree->node_count - 1; i >= 0; i--) {
		cr_sweep_node *node = &tree->nodes[i];
		if (!cr_is_leaf(node)) {
			const int32_t left = tree->nodes[i + 1].group;
			node->group = left == tree->nodes[node->right].group ? left : -1;
		}
		tree->grouped |= node->group >= 0;
	}
}

/// Cut into subtrees of at most CR_SWEEP_PART_NODES nodes, and the nodes above them. Counts only
/// when the lists are NULL.
static void make_parts(cr_sweep_tree *tree)
{
	tree->part_count = tree->joint_count = 0;
	for (int32_t i = 0; i < tree->node_count;) {
		if (tree->nodes[i].size <= CR_SWEEP_PART_NODES) {
			if (tree->parts)
				tree->parts[tree->part_count] = i;
			tree->part_count++;
			i += tree->nodes[i].size;
		} else {
			if (tree->joints)
				tree->joints[tree->joint_count] = i;
			tree->joint_count++;
			i++;
		}
	}
}

static bool alloc_boxes(carom_context *context, carom_sweep_volume volume, int64_t count, cr_sweep_boxes *boxes)
{
	const size_t stride = volume == CAROM_SWEEP_DOP18 ? CR_DOP_STRIDE : CR_AABB_STRIDE;
	boxes->count = count;
	boxes->main = cr_alloc_array(context, (size_t)count, stride * sizeof(float));
	if (volume == CAROM_SWEEP_DOP18)
		boxes->last = cr_alloc_array(context, (size_t)count, 2 * sizeof(float));
	return boxes->main && (volume == CAROM_SWEEP_AABB || boxes->last);
}

static void free_boxes(carom_context *context, carom_sweep_volume volume, cr_sweep_boxes *boxes)
{
	const size_t stride = volume == CAROM_SWEEP_DOP18 ? CR_DOP_STRIDE : CR_AABB_STRIDE;
	cr_free(context, boxes->main, (size_t)boxes->count * stride * sizeof(float));
	cr_free(context, boxes->last, (size_t)boxes->count * 2 * sizeof(float));
}

static bool build_tree(carom_context *context, builder *b, const double *positions)
{
	cr_sweep_tree *tree = b->tree;
	const size_t bytes = 3 * (size_t)b->triangle_count * sizeof(float);
	b->low = cr_alloc(context, bytes);
	b->high = cr_alloc(context, bytes);
	b->order = cr_alloc(context, bytes / 3);
	const bool done = b->low && b->high && b->order;
	if (done) {
		bound_triangles(b, positions);
		make_nodes(b);
		join_groups(tree);
		make_parts(tree);
	}
	cr_free(context, b->low, bytes);
	cr_free(context, b->high, bytes);
	cr_free(context, b->order, bytes / 3);
	return done;
}

bool cr_sweep_tree_build(carom_context *context, const int32_t *triangles, int32_t triangle_count, const double *positions,
	const int32_t *groups, carom_sweep_build build, cr_sweep_tree *tree)
{
	*tree = (cr_sweep_tree){ .node_count = 2 * triangle_count - 1 };
	builder b = { .tree = tree, .build = build, .triangles = triangles, .triangle_count = triangle_count, .groups = groups };
	tree->nodes = cr_alloc_array(context, (size_t)tree->node_count, sizeof *tree->nodes);
	bool done = tree->nodes && build_tree(context, &b, positions);
	if (done) {
		tree->parts = cr_alloc_array(context, (size_t)tree->part_count, sizeof *tree->parts);
		// One more than there are, since there may be none.
		tree->joints = cr_alloc_array(context, (size_t)tree->joint_count + 1, sizeof *tree->joints);
		done = tree->parts && tree->joints;
	}
	if (done)
		make_parts(tree);
	else
		cr_sweep_tree_free(context, tree);
	return done;
}

bool cr_sweep_tree_attach(carom_context *context, const cr_sweep_scene *scene, carom_sweep_volume volume, cr_sweep_tree *tree)
{
	tree->scene = scene;
	tree->volume = volume;
	return alloc_boxes(context, volume, tree->node_count, &tree->node_boxes) &&
		alloc_boxes(context, volume, scene->vertex_count, &tree->vertex_boxes);
}

void cr_sweep_tree_free(carom_context *context, cr_sweep_tree *tree)
{
	cr_free(context, tree->nodes, (size_t)tree->node_count * sizeof *tree->nodes);
	cr_free(context, tree->parts, (size_t)tree->part_count * sizeof *tree->parts);
	cr_free(context, tree->joints, ((size_t)tree->joint_count + 1) * sizeof *tree->joints);
	free_boxes(context, tree->volume, &tree->node_boxes);
	free_boxes(context, tree->volume, &tree->vertex_boxes);
	*tree = (cr_sweep_tree){ 0 };
}

// ---- Refitting ----

typedef struct refit {
	cr_sweep_tree *tree;
	const cr_sweep_kernels *kernels;
	cr_sweep_motion motion;
} refit;

static void bound_vertices(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const refit *r = context;
	r->kernels->bound_vertices(r->tree, &r->motion, begin, end);
}

static void bound_parts(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const refit *r = context;
	for (int64_t i = begin; i < end; i++) {
		const int32_t root = r->tree->parts[i];
		r->kernels->bound_nodes(r->tree, root, root + r->tree->nodes[root].size);
	}
}

void cr_sweep_tree_refit(carom_context *context, cr_sweep_tree *tree, const cr_sweep_bounds *bounds)
{
	// Features within min_separation of each other differ by at most that along an axis of length
	// 1, and by the root of 2 times that along the diagonal ones. Sums are off by a rounding: the
	// filters allow for 2^-49 of the largest coordinate.
	//
	// The largest coordinate is that of the two features alone. So it need only be that of the mesh
	// of each: of a pair from two meshes the boxes get both allowances, and each box at least that
	// of its own mesh. A mesh parked at 1e12 then widens no box but its own.
	double base = 0.5 * bounds->min_separation * (1 + 0x1p-20), share = 0;
	if (bounds->until < 1) {
		// Tests report features that come as near as the tolerance, or as 2^-43 of their size
		// (which is at most 48 times the largest coordinate): rung 3 within a hull of half of it
		// and that far from the origin along each axis. Twice that is taken. The places at the end
		// of the part are off by three roundings.
		base += 2 * bounds->tolerance;
		share = 0x1p-36;
	}
	const double straight = base + share * bounds->largest;
	refit r = { tree, cr_get_sweep_kernels(context->simd),
		{ bounds->begin, bounds->end, bounds->until, straight,
			straight * CR_SWEEP_DIAGONAL + bounds->largest * CR_SWEEP_DIAGONAL_ROUNDING, bounds->sizes, base, share,
			bounds->halves } };
	const int64_t piece = 2048; // about 20 microseconds
	cr_parallel_for(context, bound_vertices, tree->scene->vertex_count, piece, &r);
	cr_parallel_for(context, bound_parts, tree->part_count, 1, &r);
	for (int32_t i = tree->joint_count - 1; i >= 0; i--)
		r.kernels->bound_nodes(tree, tree->joints[i], tree->joints[i] + 1);
}
