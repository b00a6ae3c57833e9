/// Broad phase by dynamic trees of widened boxes (Catto, Dynamic Bounding Volume Hierarchies, GDC 2019).
///
/// Input: the tight boxes of all bodies and which of them moved. Output: overlapping pairs. Dynamic bodies are the leaves of
/// one tree, static and kinematic ones of another, which is never tested against itself. A leaf's box is wider than its body's,
/// so most motion changes no tree; a leaf is put in anew when its body leaves the box. The pairs of overlapping leaf boxes are
/// kept from step to step: those of changed leaves are asked of the trees again, or all pairs at once when much has changed.
/// The tight double boxes decide each step which of the kept pairs come out. Cost: O(n + p) for p kept pairs when nothing
/// leaves its box, O(c log n) more for c changed leaves. Serial: updates of the trees. Parallel: asking for pairs. Leaf boxes
/// are floats relative to an origin near the bodies, rounded outward, so that a world far from its origin loses nothing. Boxes
/// without end (planes) are in no tree and pair with all bodies.
#include "base/parallel.h"
#include "detect/broad_pairs.h"
#include <string.h>

enum {
	NO_NODE = -1,
	// A tree is built anew when at least 1 in REBUILD_SHARE of its leaves change (20,000 boxes in a cube: an insertion costs 3
	// to 4 times what a leaf costs in a build).
	REBUILD_SHARE = 4,
	// All pairs are asked for when at least 1 in REQUERY_SHARE of the bodies changed.
	REQUERY_SHARE = 8,
	SPLIT_BINS = 8,
	// From this depth on a build halves the leaves, which bounds the depth for any input.
	HALVE_DEPTH = 40,
	MIN_RANGE = 64,
};

// Margin of leaf boxes in lengths of the tight box's longest side.
static const double MARGIN = 0.125;
// Inner area relative to the root's may grow by this factor before the tree is built anew.
static const double WORN_OUT = 1.5;
// Boxes that reach further than this from the origin count as endless: areas of floats stay finite below.
static const double END_OF_WORLD = 1e15;
// The origin is chosen anew when the bodies are this many times their extent away: leaf boxes then lose a thousandth of it.
static const float FAR_AWAY = 8192;

typedef struct box {
	float lower[3];
	float upper[3];
} box;

typedef struct node {
	box bounds;
	int32_t parent;
	int32_t child[2]; // NO_NODE: leaf or free
	int32_t body;     // of a leaf; NO_NODE: inner or free
} node;

/// An entry of the search for the best sibling.
typedef struct candidate {
	float inherited; // growth of the ancestors' areas
	int32_t node;
} candidate;

typedef struct tree {
	CR_ARRAY(node) nodes;      // count: high-water mark
	CR_ARRAY(candidate) queue; // as large as nodes
	int32_t root;
	int32_t free_node; // list through parent
	int32_t leaves;
	double built_cost; // of the last build
	int32_t built_leaves;
} tree;

/// Where a body is.
typedef enum place { NOWHERE, IN_DYNAMIC, IN_FIXED, ENDLESS } place;
enum { TREES = 2 };

typedef enum change { UNCHANGED, REMOVED, PLACED } change;

typedef struct member {
	uint32_t generation;
	int32_t leaf;
	uint8_t place;
	uint8_t change; // of the call being served
} member;

/// A stack of one worker's walk through two trees.
typedef struct walk_entry {
	int32_t a;
	int32_t b;
} walk_entry;
typedef struct walk_stack {
	_Alignas(CR_CACHE_LINE) CR_ARRAY(walk_entry) entries;
	bool failed;
} walk_stack;

typedef struct broad_tree {
	cr_broad base;
	cr_pair_sink sink;
	walk_stack *stacks; // [thread_count]
	tree trees[TREES];  // of place - IN_DYNAMIC
	CR_ARRAY(member) members;
	CR_ARRAY(int32_t) changed; // bodies that changed in this call
	CR_ARRAY(int32_t) build;   // bodies, then leaves of a build
	CR_ARRAY(box) build_boxes;
	CR_ARRAY(int32_t) endless;
	cr_pair_list kept;   // pairs of overlapping leaf boxes, sorted
	cr_pair_list fresh;  // pairs of changed leaves
	cr_pair_list merged; // the next kept
	double origin[3];
	bool stale;      // a call failed: flags of moved bodies may have been lost
	bool kept_valid; // kept holds the pairs of the trees before this call
	bool partial;    // only the pairs of changed bodies are asked for
	const cr_body *bodies;
} broad_tree;

// ---- Boxes ----

static inline float box_area(const box *b)
{
	const float x = b->upper[0] - b->lower[0], y = b->upper[1] - b->lower[1], z = b->upper[2] - b->lower[2];
	return x * y + y * z + z * x;
}

static inline box box_union(const box *a, const box *b)
{
	box r;
	for (int k = 0; k < 3; k++) {
		r.lower[k] = a->lower[k] < b->lower[k] ? a->lower[k] : b->lower[k];
		r.upper[k] = a->upper[k] > b->upper[k] ? a->upper[k] : b->upper[k];
	}
	return r;
}

static inline bool boxes_overlap(const box *a, const box *b)
{
	return (a->lower[0] <= b->upper[0]) & (b->lower[0] <= a->upper[0]) & (a->lower[1] <= b->upper[1]) &
		(b->lower[1] <= a->upper[1]) & (a->lower[2] <= b->upper[2]) & (b->lower[2] <= a->upper[2]);
}

static inline bool box_equal(const box *a, const box *b) { return memcmp(a, b, sizeof *a) == 0; }

static bool contains_tight(const broad_tree *t, const box *b, const cr_body *body)
{
	bool inside = true;
	for (int k = 0; k < 3; k++)
		inside = inside && body->lower[k] - t->origin[k] >= (double)b->lower[k] &&
			body->upper[k] - t->origin[k] <= (double)b->upper[k];
	return inside;
}

static box widened_box(const broad_tree *t, const cr_body *body)
{
	double longest = 0;
	for (int k = 0; k < 3; k++) {
		const double side = body->upper[k] - body->lower[k];
		longest = side > longest ? side : longest;
	}
	box b;
	for (int k = 0; k < 3; k++) {
		b.lower[k] = cr_round_down(body->lower[k] - t->origin[k] - MARGIN * longest);
		b.upper[k] = cr_round_up(body->upper[k] - t->origin[k] + MARGIN * longest);
	}
	return b;
}

static bool is_endless(const broad_tree *t, const cr_body *body)
{
	// Written so that NaN counts as endless; the empty box (inf to -inf) too.
	bool near = true;
	for (int k = 0; k < 3; k++) {
		const double lower = body->lower[k] - t->origin[k], upper = body->upper[k] - t->origin[k];
		near = near && fabs(lower) < END_OF_WORLD && fabs(upper) < END_OF_WORLD;
	}
	return !near;
}

// ---- One tree ----

static void tree_clear(tree *t)
{
	t->nodes.count = 0;
	t->root = t->free_node = NO_NODE;
	t->leaves = t->built_leaves = 0;
	t->built_cost = 0;
}

/// Room for leaves, so that nothing below can fail.
static bool tree_reserve(carom_context *context, tree *t, int64_t leaves)
{
	return cr_array_reserve(context, &t->nodes, 2 * leaves) && cr_array_reserve(context, &t->queue, 2 * leaves);
}

static int32_t take_node(tree *t)
{
	int32_t index = t->free_node;
	if (index != NO_NODE)
		t->free_node = t->nodes.data[index].parent;
	else
		index = (int32_t)t->nodes.count++;
	return index;
}

static void give_node(tree *t, int32_t index)
{
	t->nodes.data[index] = (node){ .parent = t->free_node, .child = { NO_NODE, NO_NODE }, .body = NO_NODE };
	t->free_node = index;
}

static inline bool is_leaf(const node *n) { return n->child[0] == NO_NODE; }

static int32_t make_leaf(tree *t, int32_t body, const box *bounds)
{
	const int32_t leaf = take_node(t);
	t->nodes.data[leaf] = (node){ *bounds, NO_NODE, { NO_NODE, NO_NODE }, body };
	return leaf;
}

static void swap_candidates(candidate *a, candidate *b)
{
	const candidate c = *a;
	*a = *b;
	*b = c;
}

static void queue_push(tree *t, candidate c)
{
	candidate *q = t->queue.data;
	int64_t at = t->queue.count++;
	q[at] = c;
	while (at > 0 && q[(at - 1) / 2].inherited > q[at].inherited) {
		swap_candidates(&q[at], &q[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static candidate queue_pop(tree *t)
{
	candidate *q = t->queue.data;
	const candidate top = q[0];
	const int64_t count = --t->queue.count;
	q[0] = q[count];
	for (int64_t at = 0;;) {
		int64_t least = at;
		for (int64_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < count && q[child].inherited < q[least].inherited)
				least = child;
		}
		if (least == at)
			return top;
		swap_candidates(&q[at], &q[least]);
		at = least;
	}
}

/// The node beside which a leaf adds least area to the tree: branch and bound (Bittner, Hapala, Havran, Fast Insertion-Based
/// Optimization of Bounding Volume Hierarchies, 2013, section 3.2).
static int32_t find_sibling(tree *t, const box *leaf)
{
	const node *nodes = t->nodes.data;
	const float leaf_area = box_area(leaf);
	int32_t best = t->root;
	float best_cost = INFINITY;
	t->queue.count = 0;
	queue_push(t, (candidate){ 0, t->root });
	while (t->queue.count > 0) {
		const candidate c = queue_pop(t);
		if (c.inherited + leaf_area >= best_cost)
			break;
		const node *n = &nodes[c.node];
		const box joined = box_union(&n->bounds, leaf);
		const float joined_area = box_area(&joined), cost = c.inherited + joined_area;
		if (cost < best_cost) {
			best_cost = cost;
			best = c.node;
		}
		const float below = c.inherited + (joined_area - box_area(&n->bounds));
		if (!is_leaf(n) && below + leaf_area < best_cost) {
			queue_push(t, (candidate){ below, n->child[0] });
			queue_push(t, (candidate){ below, n->child[1] });
		}
	}
	return best;
}

static void replace_child(tree *t, int32_t parent, int32_t old, int32_t new)
{
	if (parent == NO_NODE)
		t->root = new;
	else
		t->nodes.data[parent].child[t->nodes.data[parent].child[0] == old ? 0 : 1] = new;
	t->nodes.data[new].parent = parent;
}

/// Exchange a child with a grandchild on the other side when that makes the inner box between them smaller; of the four ways
/// the best.
static void rotate(tree *t, int32_t top)
{
	node *nodes = t->nodes.data;
	float best_gain = 0;
	int best_side = -1, best_grandchild = 0;
	for (int side = 0; side < 2; side++) {
		const node *moved_down = &nodes[nodes[top].child[side]], *other = &nodes[nodes[top].child[1 - side]];
		if (is_leaf(other))
			continue;
		for (int g = 0; g < 2; g++) {
			const box joined = box_union(&moved_down->bounds, &nodes[other->child[1 - g]].bounds);
			const float gain = box_area(&other->bounds) - box_area(&joined);
			if (gain > best_gain) {
				best_gain = gain;
				best_side = side;
				best_grandchild = g;
			}
		}
	}
	if (best_side < 0)
		return;
	const int32_t down = nodes[top].child[best_side], inner = nodes[top].child[1 - best_side];
	const int32_t up = nodes[inner].child[best_grandchild];
	nodes[top].child[best_side] = up;
	nodes[up].parent = top;
	nodes[inner].child[best_grandchild] = down;
	nodes[down].parent = inner;
	nodes[inner].bounds = box_union(&nodes[nodes[inner].child[0]].bounds, &nodes[nodes[inner].child[1]].bounds);
}

static void tree_insert(tree *t, int32_t leaf)
{
	t->leaves++;
	if (t->root == NO_NODE) {
		t->root = leaf;
		t->nodes.data[leaf].parent = NO_NODE;
		return;
	}
	const box bounds = t->nodes.data[leaf].bounds;
	const int32_t sibling = find_sibling(t, &bounds);
	const int32_t inner = take_node(t);
	node *nodes = t->nodes.data;
	replace_child(t, nodes[sibling].parent, sibling, inner);
	nodes[inner].child[0] = sibling;
	nodes[inner].child[1] = leaf;
	nodes[inner].body = NO_NODE;
	nodes[sibling].parent = nodes[leaf].parent = inner;
	nodes[inner].bounds = box_union(&nodes[sibling].bounds, &bounds);
	for (int32_t at = nodes[inner].parent; at != NO_NODE; at = nodes[at].parent) {
		nodes[at].bounds = box_union(&nodes[at].bounds, &bounds);
		rotate(t, at);
	}
}

static void tree_remove(tree *t, int32_t leaf)
{
	node *nodes = t->nodes.data;
	const int32_t parent = nodes[leaf].parent;
	t->leaves--;
	if (parent == NO_NODE) {
		t->root = NO_NODE;
	} else {
		const int32_t sibling = nodes[parent].child[nodes[parent].child[0] == leaf ? 1 : 0];
		replace_child(t, nodes[parent].parent, parent, sibling);
		give_node(t, parent);
		for (int32_t at = nodes[sibling].parent; at != NO_NODE; at = nodes[at].parent) {
			const box tight = box_union(&nodes[nodes[at].child[0]].bounds, &nodes[nodes[at].child[1]].bounds);
			if (box_equal(&tight, &nodes[at].bounds))
				break;
			nodes[at].bounds = tight;
		}
	}
	give_node(t, leaf);
}

/// Areas of the inner nodes relative to the root's: the surface area heuristic without its constants.
static double tree_cost(const tree *t)
{
	if (t->leaves < 2)
		return 0;
	double sum = 0;
	for (int64_t i = 0; i < t->nodes.count; i++) {
		if (!is_leaf(&t->nodes.data[i]))
			sum += (double)box_area(&t->nodes.data[i].bounds);
	}
	const double root = (double)box_area(&t->nodes.data[t->root].bounds);
	return root > 0 ? sum / root : 0;
}

// ---- Building from the top down ----

typedef struct build_job {
	int32_t *leaves;
	int32_t count;
	int32_t parent;
	int32_t side;
	int32_t depth;
} build_job;

static float leaf_centre(const tree *t, int32_t leaf, int axis)
{
	return 0.5f * t->nodes.data[leaf].bounds.lower[axis] + 0.5f * t->nodes.data[leaf].bounds.upper[axis];
}

/// How leaves are put in bins: along the longest axis of their centres.
typedef struct binning {
	int axis;
	float origin;
	float scale; // 0: all centres are the same
} binning;

static binning choose_binning(const tree *t, const build_job *job)
{
	float lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	for (int32_t i = 0; i < job->count; i++) {
		for (int k = 0; k < 3; k++) {
			const float c = leaf_centre(t, job->leaves[i], k);
			lower[k] = c < lower[k] ? c : lower[k];
			upper[k] = c > upper[k] ? c : upper[k];
		}
	}
	int axis = upper[1] - lower[1] > upper[0] - lower[0] ? 1 : 0;
	axis = upper[2] - lower[2] > upper[axis] - lower[axis] ? 2 : axis;
	const float scale = (float)SPLIT_BINS / (upper[axis] - lower[axis]);
	return (binning){ axis, lower[axis], isfinite(scale) ? scale : 0 };
}

static int bin_of(const tree *t, const binning *b, int32_t leaf)
{
	const int i = (int)((leaf_centre(t, leaf, b->axis) - b->origin) * b->scale);
	return i < SPLIT_BINS ? i : SPLIT_BINS - 1;
}

/// The first bin of the right side where area times count is least (surface area heuristic).
static int best_bin(const tree *t, const binning *b, const build_job *job)
{
	const box none = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
	box bounds[SPLIT_BINS];
	int32_t counts[SPLIT_BINS] = { 0 };
	for (int i = 0; i < SPLIT_BINS; i++)
		bounds[i] = none;
	for (int32_t i = 0; i < job->count; i++) {
		const int at = bin_of(t, b, job->leaves[i]);
		bounds[at] = box_union(&bounds[at], &t->nodes.data[job->leaves[i]].bounds);
		counts[at]++;
	}
	float right_cost[SPLIT_BINS];
	box grown = none;
	int32_t count = 0;
	for (int i = SPLIT_BINS - 1; i > 0; i--) {
		grown = box_union(&grown, &bounds[i]);
		count += counts[i];
		right_cost[i] = count > 0 ? box_area(&grown) * (float)count : 0;
	}
	int best = 1;
	float best_cost = INFINITY;
	grown = none;
	count = 0;
	for (int i = 1; i < SPLIT_BINS; i++) {
		grown = box_union(&grown, &bounds[i - 1]);
		count += counts[i - 1];
		const float cost = box_area(&grown) * (float)count + right_cost[i];
		if (cost < best_cost) {
			best_cost = cost;
			best = i;
		}
	}
	return best;
}

/// Move the leaves of the left side to the front and return their number, 1 to count - 1.
static int32_t split_leaves(const tree *t, const build_job *job)
{
	const binning b = choose_binning(t, job);
	if (b.scale == 0 || job->depth >= HALVE_DEPTH)
		return job->count / 2;
	const int bin = best_bin(t, &b, job);
	int32_t left = 0, right = job->count - 1;
	while (left <= right) {
		if (bin_of(t, &b, job->leaves[left]) < bin) {
			left++;
		} else {
			const int32_t moved = job->leaves[left];
			job->leaves[left] = job->leaves[right];
			job->leaves[right--] = moved;
		}
	}
	return left > 0 && left < job->count ? left : job->count / 2;
}

/// Build over leaves that are nodes already; they come in any order and leave in another. Room for all nodes was reserved.
static void tree_build(tree *t, int32_t *leaves, int32_t count)
{
	t->root = NO_NODE;
	t->leaves = count;
	const int64_t first_inner = t->nodes.count;
	build_job stack[2 * CR_MAX_DEPTH];
	int depth = 0;
	if (count > 0)
		stack[depth++] = (build_job){ leaves, count, NO_NODE, 0, 0 };
	while (depth > 0) {
		const build_job job = stack[--depth];
		const int32_t index = job.count == 1 ? job.leaves[0] : take_node(t);
		if (job.parent == NO_NODE)
			t->root = index;
		else
			t->nodes.data[job.parent].child[job.side] = index;
		t->nodes.data[index].parent = job.parent;
		if (job.count == 1)
			continue;
		t->nodes.data[index].body = NO_NODE;
		const int32_t left = split_leaves(t, &job);
		stack[depth++] = (build_job){ job.leaves + left, job.count - left, index, 1, job.depth + 1 };
		stack[depth++] = (build_job){ job.leaves, left, index, 0, job.depth + 1 };
	}
	// Children were taken after their parents.
	for (int64_t i = t->nodes.count - 1; i >= first_inner; i--) {
		node *n = &t->nodes.data[i];
		n->bounds = box_union(&t->nodes.data[n->child[0]].bounds, &t->nodes.data[n->child[1]].bounds);
	}
	t->built_cost = tree_cost(t);
	t->built_leaves = count;
}

// ---- Bodies in and out ----

static place place_of(const broad_tree *t, const cr_body *body)
{
	if (is_endless(t, body))
		return ENDLESS;
	return body->kind == CAROM_DYNAMIC ? IN_DYNAMIC : IN_FIXED;
}

static bool is_in_tree(const member *m) { return m->place == IN_DYNAMIC || m->place == IN_FIXED; }

static tree *tree_of(broad_tree *t, const member *m) { return &t->trees[m->place - IN_DYNAMIC]; }

/// What is to be done about a body. Its member still says where it was.
static change judge(broad_tree *t, const cr_body *body, const member *m)
{
	const bool alive = body && body->alive;
	if (!alive)
		return m->place == NOWHERE ? UNCHANGED : REMOVED;
	if (m->place == NOWHERE || m->generation != body->generation)
		return PLACED;
	if (!body->moved && !t->stale)
		return UNCHANGED;
	const place now = place_of(t, body);
	if (now != m->place)
		return PLACED;
	return now == ENDLESS || contains_tight(t, &tree_of(t, m)->nodes.data[m->leaf].bounds, body) ? UNCHANGED : PLACED;
}

static void list_changes(broad_tree *t, const cr_body *bodies, int32_t count)
{
	t->changed.count = 0;
	for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
		member *m = &t->members.data[i];
		m->change = (uint8_t)judge(t, i < count ? &bodies[i] : NULL, m);
		if (m->change != UNCHANGED)
			t->changed.data[t->changed.count++] = i;
	}
}

/// Take the changed bodies of all places out of the trees one by one, or leave that to the build of those trees that get one.
static void take_out(broad_tree *t, const bool build[TREES])
{
	for (int64_t i = 0; i < t->changed.count; i++) {
		member *m = &t->members.data[t->changed.data[i]];
		if (is_in_tree(m) && !build[m->place - IN_DYNAMIC])
			tree_remove(tree_of(t, m), m->leaf);
		m->place = NOWHERE;
	}
}

static void put_in(broad_tree *t, const bool build[TREES])
{
	for (int64_t i = 0; i < t->changed.count; i++) {
		const int32_t index = t->changed.data[i];
		member *m = &t->members.data[index];
		if (m->change == REMOVED)
			continue;
		const cr_body *body = &t->bodies[index];
		m->generation = body->generation;
		m->place = (uint8_t)place_of(t, body);
		if (!is_in_tree(m) || build[m->place - IN_DYNAMIC])
			continue;
		const box bounds = widened_box(t, body);
		m->leaf = make_leaf(tree_of(t, m), index, &bounds);
		tree_insert(tree_of(t, m), m->leaf);
	}
}

/// Build a tree from its members: the unchanged ones keep their boxes, since kept pairs rely on them.
static void build_tree(broad_tree *t, place where)
{
	tree *target = &t->trees[where - IN_DYNAMIC];
	int32_t count = 0;
	for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
		const member *m = &t->members.data[i];
		if (m->place != where)
			continue;
		t->build_boxes.data[count] = m->change == PLACED ? widened_box(t, &t->bodies[i]) : target->nodes.data[m->leaf].bounds;
		t->build.data[count++] = i;
	}
	tree_clear(target);
	for (int32_t i = 0; i < count; i++) {
		const int32_t index = t->build.data[i];
		t->build.data[i] = t->members.data[index].leaf = make_leaf(target, index, &t->build_boxes.data[i]);
	}
	tree_build(target, t->build.data, count);
}

/// Which trees have changed so much that they are built anew.
static void choose_builds(const broad_tree *t, bool build[TREES])
{
	int64_t affected[TREES] = { 0 };
	for (int64_t i = 0; i < t->changed.count; i++) {
		const int32_t index = t->changed.data[i];
		const member *m = &t->members.data[index];
		const place next = m->change == REMOVED ? NOWHERE : place_of(t, &t->bodies[index]);
		for (int k = 0; k < TREES; k++)
			affected[k] += m->place == IN_DYNAMIC + k || next == (place)(IN_DYNAMIC + k);
	}
	for (int k = 0; k < TREES; k++)
		build[k] = affected[k] > 0 && affected[k] * REBUILD_SHARE >= t->trees[k].leaves;
}

static bool is_worn_out(const tree *t) { return t->leaves > 2 * t->built_leaves || tree_cost(t) > WORN_OUT * t->built_cost; }

static void update_trees(broad_tree *t)
{
	bool build[TREES];
	choose_builds(t, build);
	take_out(t, build);
	put_in(t, build);
	for (int k = 0; k < TREES; k++) {
		if (build[k] || is_worn_out(&t->trees[k]))
			build_tree(t, (place)(IN_DYNAMIC + k));
	}
	t->endless.count = 0;
	for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
		if (t->members.data[i].place == ENDLESS)
			t->endless.data[t->endless.count++] = i;
	}
}

/// Begin again around the mean centre of the bodies.
static void start_over(broad_tree *t, const cr_body *bodies, int32_t count)
{
	double sum[3] = { 0 };
	int64_t finite = 0;
	for (int32_t i = 0; i < count; i++) {
		v3d c;
		c.x = 0.5 * bodies[i].lower[0] + 0.5 * bodies[i].upper[0];
		c.y = 0.5 * bodies[i].lower[1] + 0.5 * bodies[i].upper[1];
		c.z = 0.5 * bodies[i].lower[2] + 0.5 * bodies[i].upper[2];
		if (!bodies[i].alive || !isfinite(c.x) || !isfinite(c.y) || !isfinite(c.z))
			continue;
		finite++;
		sum[0] += c.x;
		sum[1] += c.y;
		sum[2] += c.z;
	}
	for (int k = 0; k < 3; k++)
		t->origin[k] = finite > 0 ? sum[k] / (double)finite : 0;
	for (int k = 0; k < TREES; k++)
		tree_clear(&t->trees[k]);
	for (int64_t i = 0; i < t->members.count; i++)
		t->members.data[i].place = NOWHERE;
	t->kept_valid = false;
}

static bool is_far_away(const broad_tree *t)
{
	const tree *a = &t->trees[0], *b = &t->trees[1];
	const int32_t roots = (a->leaves > 0) + (b->leaves > 0);
	if (roots == 0)
		return true;
	const box *first = a->leaves > 0 ? &a->nodes.data[a->root].bounds : &b->nodes.data[b->root].bounds;
	const box all = roots == 2 ? box_union(first, &b->nodes.data[b->root].bounds) : *first;
	float extent = 0, distance = 0;
	for (int k = 0; k < 3; k++) {
		extent = fmaxf(extent, all.upper[k] - all.lower[k]);
		distance = fmaxf(distance, fmaxf(fabsf(all.lower[k]), fabsf(all.upper[k])));
	}
	return distance > FAR_AWAY * extent;
}

// ---- Pairs ----

static void emit(broad_tree *t, int worker, int32_t a, int32_t b)
{
	// Two changed bodies find each other twice.
	if (a == b || (t->partial && a > b && t->members.data[b].change != UNCHANGED))
		return;
	cr_pair_sink_add(&t->sink, worker, a, b);
}

static void walk_push(const broad_tree *t, walk_stack *stack, int32_t a, int32_t b)
{
	if (cr_array_reserve_one(t->base.context, &stack->entries))
		stack->entries.data[stack->entries.count++] = (walk_entry){ a, b };
	else
		stack->failed = true;
}

/// Pairs of leaves below node a of one tree and node b of one.
static void walk(broad_tree *t, int worker, const tree *tree_a, int32_t a, const tree *tree_b, int32_t b)
{
	walk_stack *stack = &t->stacks[worker];
	walk_push(t, stack, a, b);
	while (stack->entries.count > 0) {
		const walk_entry e = stack->entries.data[--stack->entries.count];
		const node *na = &tree_a->nodes.data[e.a], *nb = &tree_b->nodes.data[e.b];
		if (!boxes_overlap(&na->bounds, &nb->bounds))
			continue;
		if (is_leaf(na) && is_leaf(nb)) {
			emit(t, worker, na->body, nb->body);
		} else if (is_leaf(nb) || (!is_leaf(na) && box_area(&na->bounds) > box_area(&nb->bounds))) {
			walk_push(t, stack, na->child[0], e.b);
			walk_push(t, stack, na->child[1], e.b);
		} else {
			walk_push(t, stack, e.a, nb->child[0]);
			walk_push(t, stack, e.a, nb->child[1]);
		}
	}
}

/// All pairs of the dynamic tree are those between the two children of each of its nodes.
static void pair_nodes(int64_t begin, int64_t end, int worker, void *task)
{
	broad_tree *t = task;
	const tree *moving = &t->trees[0], *fixed = &t->trees[1];
	for (int64_t i = begin; i < end; i++) {
		const node *n = &moving->nodes.data[i];
		if (!is_leaf(n))
			walk(t, worker, moving, n->child[0], moving, n->child[1]);
		else if (n->body != NO_NODE && fixed->root != NO_NODE)
			walk(t, worker, moving, (int32_t)i, fixed, fixed->root);
	}
}

static void pair_with_all(broad_tree *t, int worker, int32_t body)
{
	const bool fixed = t->bodies[body].kind != CAROM_DYNAMIC;
	for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
		if (t->members.data[i].place != NOWHERE && !(fixed && t->bodies[i].kind != CAROM_DYNAMIC))
			emit(t, worker, body, i);
	}
}

static void pair_changed(int64_t begin, int64_t end, int worker, void *task)
{
	broad_tree *t = task;
	for (int64_t i = begin; i < end; i++) {
		const int32_t body = t->changed.data[i];
		const member *m = &t->members.data[body];
		if (m->place == ENDLESS)
			pair_with_all(t, worker, body);
		if (!is_in_tree(m))
			continue;
		const bool fixed = m->place == IN_FIXED;
		for (int k = 0; k < (fixed ? 1 : TREES); k++) {
			if (t->trees[k].root != NO_NODE)
				walk(t, worker, tree_of(t, m), m->leaf, &t->trees[k], t->trees[k].root);
		}
		for (int64_t e = 0; e < t->endless.count; e++) {
			if (!(fixed && t->bodies[t->endless.data[e]].kind != CAROM_DYNAMIC))
				emit(t, worker, body, t->endless.data[e]);
		}
	}
}

/// Two endless bodies would find each other twice, so the lower one does it.
static void pair_endless(broad_tree *t)
{
	for (int64_t e = 0; e < t->endless.count; e++) {
		const int32_t body = t->endless.data[e];
		const bool fixed = t->bodies[body].kind != CAROM_DYNAMIC;
		for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
			const uint8_t other = t->members.data[i].place;
			if (other != NOWHERE && !(other == ENDLESS && i <= body) && !(fixed && t->bodies[i].kind != CAROM_DYNAMIC))
				emit(t, 0, body, i);
		}
	}
}

static bool take_walk_failures(broad_tree *t)
{
	bool failed = false;
	for (int w = 0; w < t->base.context->thread_count; w++) {
		failed = failed || t->stacks[w].failed;
		t->stacks[w].failed = false;
		t->stacks[w].entries.count = 0;
	}
	return failed;
}

/// Kept pairs of unchanged bodies and fresh ones, both sorted, in one sorted list.
static bool merge_kept(broad_tree *t)
{
	if (!cr_array_reserve(t->base.context, &t->merged, t->kept.count + t->fresh.count))
		return false;
	const cr_body_pair *fresh = t->fresh.data, *fresh_end = t->fresh.count > 0 ? fresh + t->fresh.count : fresh;
	cr_body_pair *out = t->merged.data;
	for (int64_t i = 0; i < t->kept.count; i++) {
		const cr_body_pair p = t->kept.data[i];
		if (t->members.data[p.a].change != UNCHANGED || t->members.data[p.b].change != UNCHANGED)
			continue;
		while (fresh < fresh_end && (fresh->a < p.a || (fresh->a == p.a && fresh->b < p.b)))
			*out++ = *fresh++;
		*out++ = p;
	}
	while (fresh < fresh_end)
		*out++ = *fresh++;
	t->merged.count = t->merged.data ? out - t->merged.data : 0;
	const cr_pair_list old = t->kept;
	t->kept = t->merged;
	t->merged = old;
	return true;
}

/// Bring the kept pairs up to date with the trees.
static bool update_kept(broad_tree *t)
{
	const int32_t bodies = (int32_t)t->members.count;
	if (t->kept_valid && t->changed.count == 0)
		return true;
	t->partial = t->kept_valid && t->changed.count * REQUERY_SHARE < t->trees[0].leaves + t->trees[1].leaves;
	t->kept_valid = false;
	if (t->partial) {
		cr_parallel_for(t->base.context, pair_changed, t->changed.count, 1, t);
	} else {
		cr_parallel_for(t->base.context, pair_nodes, t->trees[0].nodes.count, MIN_RANGE, t);
		pair_endless(t);
	}
	const bool walked = !take_walk_failures(t);
	const bool drained = cr_pair_sink_drain(&t->sink, bodies, t->partial ? &t->fresh : &t->kept);
	t->kept_valid = walked && drained && (!t->partial || merge_kept(t));
	return t->kept_valid;
}

static bool keep_overlapping(const broad_tree *t, cr_pair_list *pairs)
{
	if (!cr_array_reserve(t->base.context, pairs, t->kept.count))
		return false;
	for (int64_t i = 0; i < t->kept.count; i++) {
		const cr_body_pair p = t->kept.data[i];
		const cr_body *a = &t->bodies[p.a], *b = &t->bodies[p.b];
		if (cr_boxes_overlap(a, b) && cr_bodies_may_collide(a, b))
			pairs->data[pairs->count++] = p;
	}
	return true;
}

/// Room for all that the update of the trees needs, so that it cannot stop half way.
static bool reserve(broad_tree *t, int32_t count)
{
	carom_context *context = t->base.context;
	const int64_t most = count > t->members.count ? count : t->members.count;
	if (!cr_array_reserve(context, &t->members, most))
		return false;
	while (t->members.count < most)
		t->members.data[t->members.count++] = (member){ 0 };
	bool ok = cr_array_reserve(context, &t->changed, most) && cr_array_reserve(context, &t->build, most) &&
		cr_array_reserve(context, &t->build_boxes, most) && cr_array_reserve(context, &t->endless, most);
	int64_t fixed = 0;
	for (int32_t i = 0; i < count; i++)
		fixed += t->bodies[i].alive && t->bodies[i].kind != CAROM_DYNAMIC;
	// Changed bodies leave their tree before they come back, so the leaves of the last step and of this one never add up.
	const int64_t need[TREES] = { count - fixed, fixed };
	for (int k = 0; k < TREES; k++)
		ok = ok && tree_reserve(context, &t->trees[k], need[k] > t->trees[k].leaves ? need[k] : t->trees[k].leaves);
	return ok;
}

static carom_result find_tree(cr_broad *broad, const cr_body *bodies, int32_t count, cr_pair_list *pairs)
{
	broad_tree *t = (broad_tree *)broad;
	pairs->count = 0;
	t->bodies = bodies;
	if (!reserve(t, count)) {
		t->stale = true;
		return cr_fail_memory(broad->context, "the tree of bodies");
	}
	if (is_far_away(t))
		start_over(t, bodies, count);
	list_changes(t, bodies, count);
	t->stale = false;
	if (t->changed.count > 0)
		update_trees(t);
	if (!update_kept(t) || !keep_overlapping(t, pairs))
		return cr_fail_memory(broad->context, "pairs of bodies");
	return CAROM_SUCCESS;
}

// ---- Life ----

static void destroy_tree(cr_broad *broad)
{
	broad_tree *t = (broad_tree *)broad;
	carom_context *context = broad->context;
	cr_pair_sink_free(&t->sink);
	for (int w = 0; t->stacks && w < context->thread_count; w++)
		cr_array_free(context, &t->stacks[w].entries);
	cr_free(context, t->stacks, (size_t)context->thread_count * sizeof *t->stacks);
	for (int k = 0; k < TREES; k++) {
		cr_array_free(context, &t->trees[k].nodes);
		cr_array_free(context, &t->trees[k].queue);
	}
	cr_array_free(context, &t->members);
	cr_array_free(context, &t->changed);
	cr_array_free(context, &t->build);
	cr_array_free(context, &t->build_boxes);
	cr_array_free(context, &t->endless);
	cr_array_free(context, &t->kept);
	cr_array_free(context, &t->fresh);
	cr_array_free(context, &t->merged);
	cr_free(context, t, sizeof *t);
}

carom_result cr_broad_create_tree(carom_context *context, cr_broad **broad)
{
	*broad = NULL;
	broad_tree *t = cr_alloc_zero(context, sizeof *t);
	if (!t)
		return cr_fail_memory(context, "a broad phase");
	t->base = (cr_broad){ find_tree, destroy_tree, context };
	for (int k = 0; k < TREES; k++)
		tree_clear(&t->trees[k]);
	t->stacks = cr_alloc_zero(context, (size_t)context->thread_count * sizeof *t->stacks);
	if (!t->stacks || !cr_pair_sink_init(&t->sink, context)) {
		destroy_tree(&t->base);
		return cr_fail_memory(context, "a broad phase");
	}
	*broad = &t->base;
	return CAROM_SUCCESS;
}
