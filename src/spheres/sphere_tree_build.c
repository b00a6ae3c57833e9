/// Building and refitting of trees over spheres. See spheres/sphere_tree.h.
///
/// The nodes above ranges of a few thousand spheres are made first, by one worker; the subtrees
/// below are jobs: each worker opens ranges, then gathers the spheres of the job and fits its boxes
/// while they are in its cache. A job takes its nodes from a range that is wide enough for spheres
/// that are scattered; if one is not, the nodes are made again with room for the worst case.
#include "spheres/sphere_tree.h"
#include "base/parallel.h"
#include "math/box3.h"
#include "tree/quality.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	MIN_JOB_SIZE = 1024,
	JOBS = 512, // about as many subtrees, once there are spheres enough
	// guess; scattered spheres need a node for 14 to 26, by how their number lies between powers of
	// 8
	SPHERES_A_NODE = 12,
	MIN_NODES = 8,
	COPY_SIZE = 16384,
	// size of a child of a top node until the jobs have their places
	CHILD_IS_JOB = CR_TREE_INNER - 1,
};

typedef struct range {
	uint32_t begin, end;
} range;

typedef struct node_builder {
	cr_sphere_tree *tree;
	const cr_key *keys;
	atomic_bool overflow; // a job ran out of nodes
} node_builder;

// ---- The shape ----

/// Halve a range, and then always the most populous of its parts, until there are eight or all can
/// be leaves. Parts in order.
static int open_range(const cr_key *keys, range whole, range parts[CR_TREE_WIDTH])
{
	int count = 1;
	parts[0] = whole;
	while (count < CR_TREE_WIDTH) {
		int widest = 0;
		for (int i = 1; i < count; i++) {
			if (parts[i].end - parts[i].begin > parts[widest].end - parts[widest].begin)
				widest = i;
		}
		const range part = parts[widest];
		if (part.end - part.begin <= CR_TREE_WIDTH)
			break;
		const uint32_t middle = cr_morton_split(keys, part.begin, part.end);
		memmove(parts + widest + 2, parts + widest + 1, (size_t)(count - widest - 1) * sizeof *parts);
		parts[widest] = (range){ part.begin, middle };
		parts[widest + 1] = (range){ middle, part.end };
		count++;
	}
	return count;
}

/// Bits of the parts that hold spheres which are no ghosts.
static uint8_t owned_parts(const cr_sphere_tree *tree, const range *parts, int count)
{
	unsigned bits = 0;
	for (int i = 0; i < count; i++)
		bits |= (unsigned)(parts[i].begin < tree->owned) << i;
	return (uint8_t)bits;
}

/// Nodes that can be needed at most: one with eight children stands for 7 halvings, of which there
/// are fewer than spheres; one with less has only leaves below, and 9 spheres at least.
static uint32_t most_nodes(uint32_t spheres) { return spheres / 7 + spheres / 9 + 1; }

/// Make the node of a range of the job, and those below. False: out of nodes.
static bool build_node(node_builder *builder, cr_tree_job *job, range whole)
{
	if (job->node_count == job->node_capacity)
		return false;
	cr_sphere_node *node = &builder->tree->nodes.data[job->first_node + job->node_count++];
	range parts[CR_TREE_WIDTH];
	const int count = open_range(builder->keys, whole, parts);
	memset(node->size, 0, sizeof node->size);
	node->child_count = (uint8_t)count;
	node->owned = owned_parts(builder->tree, parts, count);
	for (int i = 0; i < count; i++) {
		const uint32_t size = parts[i].end - parts[i].begin;
		node->size[i] = (uint8_t)(size <= CR_TREE_WIDTH ? size : CR_TREE_INNER);
		node->child[i] = size <= CR_TREE_WIDTH ? parts[i].begin : job->first_node + job->node_count;
		if (size > CR_TREE_WIDTH && !build_node(builder, job, parts[i]))
			return false;
	}
	return true;
}

static void build_jobs(int64_t begin, int64_t end, int worker, void *builder_pointer)
{
	(void)worker;
	node_builder *builder = builder_pointer;
	for (int64_t i = begin; i < end; i++) {
		cr_tree_job *job = &builder->tree->jobs.data[i];
		job->node_count = 0;
		if (!build_node(builder, job, (range){ job->begin, job->end })) {
			job->node_capacity = most_nodes(job->end - job->begin);
			atomic_store(&builder->overflow, true);
		}
	}
}

static void add_job(cr_sphere_tree *tree, range places)
{
	const uint32_t guess = (places.end - places.begin) / SPHERES_A_NODE + MIN_NODES;
	tree->jobs.data[tree->jobs.count++] = (cr_tree_job){ .begin = places.begin, .end = places.end, .node_capacity = guess };
}

/// A child of a top node: a leaf, the next top node (whose range is noted in its own slot until it
/// is opened), or a job.
static bool add_top_child(node_builder *builder, uint32_t parent, int lane, range part, uint32_t job_size)
{
	cr_sphere_tree *tree = builder->tree;
	const uint32_t size = part.end - part.begin;
	uint32_t child = part.begin;
	uint8_t kind = (uint8_t)size;
	if (size > job_size) {
		kind = CR_TREE_INNER;
		if (!cr_array_reserve(tree->context, &tree->nodes, tree->nodes.count + 1))
			return false;
		child = (uint32_t)tree->nodes.count++;
		tree->nodes.data[child].child[0] = part.begin;
		tree->nodes.data[child].child[1] = part.end;
	} else if (size > CR_TREE_WIDTH) {
		kind = CHILD_IS_JOB;
		child = (uint32_t)tree->jobs.count;
		if (!cr_array_reserve(tree->context, &tree->jobs, tree->jobs.count + 1))
			return false;
		add_job(tree, part);
	}
	tree->nodes.data[parent].child[lane] = child;
	tree->nodes.data[parent].size[lane] = kind;
	return true;
}

/// The nodes above the jobs, from the root down; children that are jobs hold its number.
static bool build_top(node_builder *builder)
{
	cr_sphere_tree *tree = builder->tree;
	const uint32_t share = tree->count / JOBS, job_size = share > MIN_JOB_SIZE ? share : MIN_JOB_SIZE;
	tree->nodes.count = tree->jobs.count = 0;
	if (!cr_array_reserve(tree->context, &tree->nodes, 1) || !cr_array_reserve(tree->context, &tree->jobs, 1))
		return false;
	if (tree->count <= job_size) {
		add_job(tree, (range){ 0, tree->count });
		tree->top_count = 0;
		return true;
	}
	tree->nodes.data[0].child[0] = 0;
	tree->nodes.data[0].child[1] = tree->count;
	tree->nodes.count = 1;
	for (uint32_t n = 0; n < tree->nodes.count; n++) {
		cr_sphere_node *node = &tree->nodes.data[n];
		range parts[CR_TREE_WIDTH];
		const int count = open_range(builder->keys, (range){ node->child[0], node->child[1] }, parts);
		memset(node->size, 0, sizeof node->size);
		node->child_count = (uint8_t)count;
		node->owned = owned_parts(tree, parts, count);
		for (int i = 0; i < count; i++) {
			if (!add_top_child(builder, n, i, parts[i], job_size))
				return false;
		}
	}
	tree->top_count = (uint32_t)tree->nodes.count;
	return true;
}

/// Room for so many nodes, of which the top ones are kept: never the old and the new ones in memory
/// at once, and no more than asked for, since these are a good part of all the tree's memory.
static bool reserve_nodes(cr_sphere_tree *tree, int64_t count)
{
	carom_context *context = tree->context;
	if (count <= tree->nodes.capacity)
		return true;
	const size_t top_bytes = tree->top_count * sizeof *tree->nodes.data;
	cr_sphere_node *top = cr_alloc(context, top_bytes);
	if (!top && top_bytes > 0)
		return false;
	if (top_bytes > 0)
		memcpy(top, tree->nodes.data, top_bytes);
	const bool done = cr_array_reserve_fresh(context, &tree->nodes, count);
	if (done && top_bytes > 0)
		memcpy(tree->nodes.data, top, top_bytes);
	cr_free(context, top, top_bytes);
	return done;
}

/// Give each job its nodes.
static bool place_jobs(cr_sphere_tree *tree)
{
	int64_t next = tree->top_count;
	for (int64_t i = 0; i < tree->jobs.count; i++) {
		tree->jobs.data[i].first_node = (uint32_t)next;
		next += tree->jobs.data[i].node_capacity;
	}
	if (!reserve_nodes(tree, next))
		return false;
	tree->nodes.count = next;
	return true;
}

static void name_jobs(cr_sphere_tree *tree)
{
	for (uint32_t n = 0; n < tree->top_count; n++) {
		cr_sphere_node *node = &tree->nodes.data[n];
		for (int i = 0; i < node->child_count; i++) {
			if (node->size[i] == CHILD_IS_JOB) {
				node->child[i] = tree->jobs.data[node->child[i]].first_node;
				node->size[i] = CR_TREE_INNER;
			}
		}
	}
}

static bool build_nodes(cr_sphere_tree *tree)
{
	node_builder builder = { .tree = tree, .keys = tree->keys.data };
	if (!build_top(&builder))
		return false;
	do {
		atomic_store(&builder.overflow, false);
		if (!place_jobs(tree))
			return false;
		cr_parallel_for(tree->context, build_jobs, tree->jobs.count, 1, &builder);
	} while (atomic_load(&builder.overflow));
	name_jobs(tree);
	return true;
}

// ---- Boxes ----

static inline float lesser(float a, float b) { return a < b ? a : b; }
static inline float greater(float a, float b) { return a > b ? a : b; }

/// Around the spheres of a leaf. The planes are moved outward by four times the rounding of the
/// difference, and of this line.
static box3f leaf_box(const cr_sphere_tree *tree, uint32_t first, uint32_t count)
{
	box3f b = BOX3F_NONE;
	for (uint32_t i = first; i < first + count; i++) {
		const float at[3] = { tree->x[i], tree->y[i], tree->z[i] }, reach = cr_tree_reach_of(tree, tree->r[i]);
		for (int k = 0; k < 3; k++) {
			b.lower[k] = lesser(b.lower[k], at[k] - reach);
			b.upper[k] = greater(b.upper[k], at[k] + reach);
		}
	}
	for (int k = 0; k < 3; k++) {
		b.lower[k] -= fabsf(b.lower[k]) * 0x1p-22f;
		b.upper[k] += fabsf(b.upper[k]) * 0x1p-22f;
	}
	return b;
}

static box3f node_box(const cr_sphere_node *node)
{
	box3f b = BOX3F_NONE;
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < CR_TREE_WIDTH; i++) {
			b.lower[k] = lesser(b.lower[k], node->lower[k][i]);
			b.upper[k] = greater(b.upper[k], node->upper[k][i]);
		}
	}
	return b;
}

/// Make the boxes of a node's children fit. Returns their cost, as tree/quality.h has it: a leaf
/// costs a test for each of its spheres.
static double fit_node(const cr_sphere_tree *tree, cr_sphere_node *node)
{
	double cost = 0;
	for (int i = 0; i < CR_TREE_WIDTH; i++) {
		const bool inner = node->size[i] == CR_TREE_INNER;
		box3f b = BOX3F_NONE;
		if (inner)
			b = node_box(&tree->nodes.data[node->child[i]]);
		else if (node->size[i] > 0)
			b = leaf_box(tree, node->child[i], node->size[i]);
		for (int k = 0; k < 3; k++) {
			node->lower[k][i] = b.lower[k];
			node->upper[k][i] = b.upper[k];
		}
		if (node->size[i] > 0)
			cost += box3f_area(&b) * (inner ? CR_BOX_COST : CR_BLOCK_COST * node->size[i]);
	}
	return cost;
}

typedef struct fit_task {
	cr_sphere_tree *tree;
	const cr_sphere_set *set;
} fit_task;

static void gather_spheres(cr_sphere_tree *tree, const cr_sphere_set *set, uint32_t begin, uint32_t end)
{
	for (uint32_t k = begin; k < end; k++) {
		const cr_sphere s = set->spheres[tree->id[k]];
		tree->x[k] = s.x;
		tree->y[k] = s.y;
		tree->z[k] = s.z;
		tree->r[k] = s.r;
	}
}

static void fit_jobs(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	(void)worker;
	const fit_task *task = task_pointer;
	cr_sphere_tree *tree = task->tree;
	for (int64_t i = begin; i < end; i++) {
		cr_tree_job *job = &tree->jobs.data[i];
		gather_spheres(tree, task->set, job->begin, job->end);
		job->cost = 0;
		for (uint32_t n = job->node_count; n-- > 0;)
			job->cost += fit_node(tree, &tree->nodes.data[job->first_node + n]);
	}
}

/// Leaves right below top nodes belong to no job.
static void gather_top_leaves(cr_sphere_tree *tree, const cr_sphere_set *set)
{
	for (uint32_t n = 0; n < tree->top_count; n++) {
		const cr_sphere_node *node = &tree->nodes.data[n];
		for (int i = 0; i < node->child_count; i++) {
			if (node->size[i] != CR_TREE_INNER)
				gather_spheres(tree, set, node->child[i], node->child[i] + node->size[i]);
		}
	}
}

carom_result cr_refit_sphere_tree(void *state, const cr_sphere_set *set)
{
	cr_sphere_tree *tree = state;
	assert(set->count == tree->count);
	// Rounded up; the smallest part keeps spheres whose squares vanish in double together.
	tree->add =
		(float)((tree->reach.skin_share * set->skin + tree->reach.scale * (double)set->slack) * (1 + 0x1p-20)) + 0x1p-100f;
	tree->cost = 0;
	if (tree->count == 0)
		return CAROM_SUCCESS;
	cr_parallel_for(tree->context, fit_jobs, tree->jobs.count, 1, &(fit_task){ tree, set });
	gather_top_leaves(tree, set);
	for (uint32_t n = tree->top_count; n-- > 0;)
		tree->cost += fit_node(tree, &tree->nodes.data[n]);
	for (int64_t i = 0; i < tree->jobs.count; i++)
		tree->cost += tree->jobs.data[i].cost;
	const box3f root = node_box(&tree->nodes.data[0]);
	tree->cost = CR_BOX_COST + tree->cost / box3f_area(&root);
	return CAROM_SUCCESS;
}

// ---- Making ----

static void free_places(cr_sphere_tree *tree)
{
	cr_free(tree->context, tree->x, 4 * (size_t)tree->capacity * sizeof *tree->x);
	cr_free(tree->context, tree->id, (size_t)tree->capacity * sizeof *tree->id);
	tree->x = tree->y = tree->z = tree->r = NULL;
	tree->id = NULL;
	tree->capacity = 0;
}

static bool reserve_places(cr_sphere_tree *tree, int64_t count)
{
	if (count + CR_TREE_WIDTH <= tree->capacity)
		return true;
	free_places(tree);
	tree->capacity = count + count / 16 + CR_TREE_WIDTH;
	const size_t capacity = (size_t)tree->capacity;
	tree->x = cr_alloc(tree->context, 4 * capacity * sizeof *tree->x);
	tree->id = cr_alloc_array(tree->context, capacity, sizeof *tree->id);
	if (!tree->x || !tree->id) {
		free_places(tree);
		return false;
	}
	tree->y = tree->x + capacity;
	tree->z = tree->y + capacity;
	tree->r = tree->z + capacity;
	return true;
}

static void clear_surplus(cr_sphere_tree *tree, int64_t count)
{
	float *columns[4] = { tree->x, tree->y, tree->z, tree->r };
	for (int k = 0; k < 4; k++)
		memset(columns[k] + count, 0, CR_TREE_WIDTH * sizeof *columns[k]);
}

static void copy_ids(int64_t begin, int64_t end, int worker, void *tree_pointer)
{
	(void)worker;
	const cr_sphere_tree *tree = tree_pointer;
	for (int64_t i = begin; i < end; i++)
		tree->id[i] = tree->keys.data[i].value;
}

static carom_result make_tree(cr_sphere_tree *tree, const cr_sphere_set *set)
{
	carom_context *context = tree->context;
	const int64_t count = set->count;
	if (!reserve_places(tree, count) || !cr_array_reserve_fresh(context, &tree->keys, count))
		return cr_fail_memory(context, "the tree of spheres");
	// The columns are filled later: until then their memory is the sort's.
	_Static_assert(sizeof(cr_key) == 4 * sizeof(float), "the four columns are as wide as a key");
	const carom_result result = cr_morton_sort(set, set->count, tree->keys.data, (cr_key *)(void *)tree->x);
	if (result != CAROM_SUCCESS)
		return result;
	clear_surplus(tree, count);
	cr_parallel_for(context, copy_ids, count, COPY_SIZE, tree);
	tree->count = set->count;
	tree->owned = set->count - set->ghosts - set->ghost_images;
	if (!build_nodes(tree))
		return cr_fail_memory(context, "the tree of spheres");
	return cr_refit_sphere_tree(tree, set);
}

carom_result cr_build_sphere_tree(void **state, const cr_sphere_set *set, cr_tree_reach reach)
{
	cr_sphere_tree *tree = *state;
	if (!tree) {
		*state = tree = cr_alloc_zero(set->context, sizeof *tree);
		if (!tree)
			return cr_fail_memory(set->context, "the tree of spheres");
		tree->context = set->context;
		tree->reach = reach;
	}
	tree->count = 0;
	tree->cost = 0;
	const carom_result result = set->count > 0 ? make_tree(tree, set) : CAROM_SUCCESS;
	if (result != CAROM_SUCCESS)
		tree->count = 0;
	return result;
}

double cr_sphere_tree_cost(const void *tree_pointer)
{
	const cr_sphere_tree *tree = tree_pointer;
	return tree->cost;
}

size_t cr_sphere_tree_bytes(const void *tree_pointer)
{
	const cr_sphere_tree *tree = tree_pointer;
	return sizeof *tree + (size_t)tree->capacity * (4 * sizeof *tree->x + sizeof *tree->id) +
		(size_t)tree->nodes.capacity * sizeof *tree->nodes.data + (size_t)tree->jobs.capacity * sizeof *tree->jobs.data +
		(size_t)tree->keys.capacity * sizeof(cr_key);
}

void cr_release_sphere_tree(carom_context *context, void *tree_pointer)
{
	cr_sphere_tree *tree = tree_pointer;
	if (!tree)
		return;
	free_places(tree);
	cr_array_free(context, &tree->nodes);
	cr_array_free(context, &tree->jobs);
	cr_array_free(context, &tree->keys);
	cr_free(context, tree, sizeof *tree);
}
