/// Broad phase by dynamic trees of widened boxes (Catto, Dynamic Bounding Volume Hierarchies, GDC
/// 2019).
///
/// Input: the tight boxes of all bodies and which of them moved. Output: overlapping pairs. Dynamic
/// bodies are the leaves of one tree, static and kinematic ones of another, which is never tested
/// against itself. A leaf's box is wider than its body's, so most motion changes no tree; a leaf is
/// put in again when its body leaves the box. The pairs of overlapping leaf boxes are kept from
/// step to step: those of changed leaves are asked of the trees again, or all pairs at once when
/// much has changed. The tight boxes decide each step which of the kept pairs come out. Cost: O(n +
/// p) for p kept pairs when nothing leaves its box, O(c log n) more for c changed leaves. Serial:
/// updates of the trees. Parallel: asking for pairs. All boxes are in double, so that neither a
/// world far from its origin nor one far body costs more than another. Boxes without end (planes)
/// are in no tree and pair with all bodies.
///
/// Pairs that may not collide are never listed, and subtrees in which no two bodies may are not
/// walked. Where leaves have very many pairs that boxes or the user's filter then refuse, keeping
/// them would cost more memory than the bodies: beyond a limit the trees are walked in each step,
/// and only pairs that pass everything are listed.
#include "base/parallel.h"
#include "contact/broad_pairs.h"
#include "math/box3.h"
#include <string.h>

enum {
	NO_NODE = -1,
	// A tree is rebuilt when at least 1 in REBUILD_SHARE of its leaves change (20,000 boxes in a
	// cube: an insertion costs 3 to 4 times as much as a leaf in a build).
	REBUILD_SHARE = 4,
	// All pairs are asked for when at least 1 in REQUERY_SHARE of the bodies changed.
	REQUERY_SHARE = 8,
	// From this depth on a build halves the leaves, which bounds the depth for any input.
	HALVE_DEPTH = 40,
	MIN_RANGE = 64,
	PAIRS_PER_TASK = 1024,
	// No more pairs of leaves are kept than MANY_PAIRS and MANY_EACH for each leaf (spheres packed
	// at random have 7 each).
	MANY_PAIRS = 1 << 18,
	MANY_EACH = 16,
};

// Margin of leaf boxes in lengths of the tight box's longest side.
static const double MARGIN = 0.125;
// Inner area relative to the root's may grow by this factor before the tree is rebuilt.
static const double WORN_OUT = 1.5;
// Boxes that reach further than this count as endless: areas stay finite below.
static const double END_OF_WORLD = 1e100;

typedef struct node {
	box3d bounds;
	int32_t parent;
	int32_t child[2]; // NO_NODE: leaf or free
	int32_t body;     // of a leaf; NO_NODE: inner or free
} node;

/// An entry of the search for the best sibling.
typedef struct candidate {
	double inherited; // growth of the ancestors' areas
	int32_t node;
} candidate;

/// Bounds on the filters of all bodies below a node, for cr_filters_pass.
typedef struct filters {
	uint64_t category; // of any of them
	uint64_t mask;
	int32_t group; // of all of them; 0: they have none, or not one
} filters;

typedef struct tree {
	CR_ARRAY(node) nodes;      // count: high-water mark
	CR_ARRAY(candidate) queue; // as large as nodes
	// of nodes; valid while pairs are asked for in a world where not all may collide
	CR_ARRAY(filters) filters;
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
	bool choosy;    // its filter refuses some bodies
} member;

/// A stack of one worker's walk through two trees.
typedef struct walk_entry {
	int32_t a;
	int32_t b;
} walk_entry;
typedef struct walk_stack {
	_Alignas(CR_CACHE_LINE) CR_ARRAY(walk_entry) entries;
	int64_t seen; // pairs of leaves that may collide
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
	CR_ARRAY(box3d) build_boxes;
	CR_ARRAY(int32_t) endless;
	cr_pair_list kept;        // pairs of overlapping leaf boxes, sorted
	cr_pair_list fresh;       // pairs of changed leaves
	cr_pair_list merged;      // the next kept
	CR_ARRAY(uint8_t) passed; // [kept] the verdict of the user's filter
	int64_t choosy;           // members that are
	int64_t limit;            // of pairs that are kept
	int64_t seen;             // pairs of leaves by the last walks
	bool stale;               // a call failed: flags of changed bodies may have been lost
	bool kept_valid;          // kept holds the pairs of the trees before this call
	bool partial;             // only the pairs of changed bodies are asked for
	// there are too many to be kept: pairs that pass everything are listed at once
	bool direct;
	const cr_body *bodies;
} broad_tree;

// ---- Boxes ----

static inline bool box_equal(const box3d *a, const box3d *b) { return memcmp(a, b, sizeof *a) == 0; }

static bool contains_tight(const box3d *b, const cr_body *body)
{
	bool inside = true;
	for (int k = 0; k < 3; k++)
		inside = inside && body->lower[k] >= b->lower[k] && body->upper[k] <= b->upper[k];
	return inside;
}

/// Rounding to nearest never takes a bound back over the tight one.
static box3d widened_box(const cr_body *body)
{
	double longest = 0;
	for (int k = 0; k < 3; k++) {
		const double side = body->upper[k] - body->lower[k];
		longest = side > longest ? side : longest;
	}
	box3d b;
	for (int k = 0; k < 3; k++) {
		b.lower[k] = body->lower[k] - MARGIN * longest;
		b.upper[k] = body->upper[k] + MARGIN * longest;
	}
	return b;
}

static bool is_endless(const cr_body *body)
{
	// Written so that NaN counts as endless; the empty box (inf to -inf) too.
	bool near = true;
	for (int k = 0; k < 3; k++)
		near = near && fabs(body->lower[k]) < END_OF_WORLD && fabs(body->upper[k]) < END_OF_WORLD;
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

static int32_t make_leaf(tree *t, int32_t body, const box3d *bounds)
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

/// The node beside which a leaf adds least area to the tree: branch and bound (Bittner, Hapala,
/// Havran, Fast Insertion-Based Optimization of Bounding Volume Hierarchies, 2013, section 3.2).
static int32_t find_sibling(tree *t, const box3d *leaf)
{
	const node *nodes = t->nodes.data;
	const double leaf_area = box3d_area(leaf);
	int32_t best = t->root;
	double best_cost = INFINITY;
	t->queue.count = 0;
	queue_push(t, (candidate){ 0, t->root });
	while (t->queue.count > 0) {
		const candidate c = queue_pop(t);
		if (c.inherited + leaf_area >= best_cost)
			break;
		const node *n = &nodes[c.node];
		const box3d joined = box3d_join(&n->bounds, leaf);
		const double joined_area = box3d_area(&joined), cost = c.inherited + joined_area;
		if (cost < best_cost) {
			best_cost = cost;
			best = c.node;
		}
		const double below = c.inherited + (joined_area - box3d_area(&n->bounds));
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

/// Exchange a child with a grandchild on the other side when that makes the inner box between them
/// smaller; of the four ways the best.
static void rotate(tree *t, int32_t top)
{
	node *nodes = t->nodes.data;
	double best_gain = 0;
	int best_side = -1, best_grandchild = 0;
	for (int side = 0; side < 2; side++) {
		const node *moved_down = &nodes[nodes[top].child[side]], *other = &nodes[nodes[top].child[1 - side]];
		if (is_leaf(other))
			continue;
		for (int g = 0; g < 2; g++) {
			const box3d joined = box3d_join(&moved_down->bounds, &nodes[other->child[1 - g]].bounds);
			const double gain = box3d_area(&other->bounds) - box3d_area(&joined);
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
	nodes[inner].bounds = box3d_join(&nodes[nodes[inner].child[0]].bounds, &nodes[nodes[inner].child[1]].bounds);
}

static void tree_insert(tree *t, int32_t leaf)
{
	t->leaves++;
	if (t->root == NO_NODE) {
		t->root = leaf;
		t->nodes.data[leaf].parent = NO_NODE;
		return;
	}
	const box3d bounds = t->nodes.data[leaf].bounds;
	const int32_t sibling = find_sibling(t, &bounds);
	const int32_t inner = take_node(t);
	node *nodes = t->nodes.data;
	replace_child(t, nodes[sibling].parent, sibling, inner);
	nodes[inner].child[0] = sibling;
	nodes[inner].child[1] = leaf;
	nodes[inner].body = NO_NODE;
	nodes[sibling].parent = nodes[leaf].parent = inner;
	nodes[inner].bounds = box3d_join(&nodes[sibling].bounds, &bounds);
	for (int32_t at = nodes[inner].parent; at != NO_NODE; at = nodes[at].parent) {
		nodes[at].bounds = box3d_join(&nodes[at].bounds, &bounds);
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
			const box3d tight = box3d_join(&nodes[nodes[at].child[0]].bounds, &nodes[nodes[at].child[1]].bounds);
			if (box_equal(&tight, &nodes[at].bounds))
				break;
			nodes[at].bounds = tight;
		}
	}
	give_node(t, leaf);
}

/// Areas of the inner nodes relative to the root's: the surface area heuristic without its
/// constants.
static double tree_cost(const tree *t)
{
	if (t->leaves < 2)
		return 0;
	double sum = 0;
	for (int64_t i = 0; i < t->nodes.count; i++) {
		if (!is_leaf(&t->nodes.data[i]))
			sum += box3d_area(&t->nodes.data[i].bounds);
	}
	const double root = box3d_area(&t->nodes.data[t->root].bounds);
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

static double leaf_centre(const tree *t, int32_t leaf, int axis)
{
	return 0.5 * t->nodes.data[leaf].bounds.lower[axis] + 0.5 * t->nodes.data[leaf].bounds.upper[axis];
}

/// How leaves are put in bins: along the longest axis of their centres.
typedef struct split_map {
	const tree *tree;
	int axis;
	double origin;
	double scale; // 0: all centres are the same
} split_map;

enum { SPLIT_BINS = 8 };
typedef int32_t split_item;
typedef box3d split_box;
typedef double split_real;
#define SPLIT_NONE BOX3D_NONE

static inline int split_bin(const split_map *map, const int32_t *leaf, int axis)
{
	const int i = (int)((leaf_centre(map->tree, *leaf, axis) - map->origin) * map->scale);
	return i < SPLIT_BINS ? i : SPLIT_BINS - 1;
}

static inline box3d split_join(box3d a, box3d b) { return box3d_join(&a, &b); }

static inline double split_area(box3d b) { return box3d_area(&b); }

static inline double split_weight(int32_t count) { return count; }

#include "tree/split.h"

static split_map choose_map(const tree *t, const build_job *job)
{
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	for (int32_t i = 0; i < job->count; i++) {
		for (int k = 0; k < 3; k++) {
			const double c = leaf_centre(t, job->leaves[i], k);
			lower[k] = c < lower[k] ? c : lower[k];
			upper[k] = c > upper[k] ? c : upper[k];
		}
	}
	int axis = upper[1] - lower[1] > upper[0] - lower[0] ? 1 : 0;
	axis = upper[2] - lower[2] > upper[axis] - lower[axis] ? 2 : axis;
	const double scale = SPLIT_BINS / (upper[axis] - lower[axis]);
	return (split_map){ t, axis, lower[axis], isfinite(scale) ? scale : 0 };
}

/// Move the leaves of the left side to the front and return their number, 1 to count - 1.
static int32_t split_leaves(const tree *t, const build_job *job)
{
	const split_map map = choose_map(t, job);
	if (map.scale == 0 || job->depth >= HALVE_DEPTH)
		return job->count / 2;
	split_row row;
	split_clear(&row);
	for (int32_t i = 0; i < job->count; i++)
		split_add(&row, split_bin(&map, &job->leaves[i], map.axis), t->nodes.data[job->leaves[i]].bounds, 1);
	split best = { map.axis, 1, INFINITY };
	split_axis(&row, map.axis, &best);
	const int32_t left = split_part(&map, job->leaves, job->count, best.axis, best.bin);
	return left > 0 && left < job->count ? left : job->count / 2;
}

/// Build over leaves that are nodes already; they come in any order and leave in another. Room for
/// all nodes was reserved.
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
		n->bounds = box3d_join(&t->nodes.data[n->child[0]].bounds, &t->nodes.data[n->child[1]].bounds);
	}
	t->built_cost = tree_cost(t);
	t->built_leaves = count;
}

// ---- Bodies in and out ----

static place place_of(const cr_body *body)
{
	if (is_endless(body))
		return ENDLESS;
	return cr_is_free(body) ? IN_DYNAMIC : IN_FIXED;
}

static bool is_in_tree(const member *m) { return m->place == IN_DYNAMIC || m->place == IN_FIXED; }

static tree *tree_of(broad_tree *t, const member *m) { return &t->trees[m->place - IN_DYNAMIC]; }

/// The pending work on a body. Its member still says where it was.
static change judge(broad_tree *t, const cr_body *body, const member *m)
{
	const bool alive = body && body->alive;
	if (!alive)
		return m->place == NOWHERE ? UNCHANGED : REMOVED;
	if (m->place == NOWHERE || m->generation != body->generation || body->refiltered)
		return PLACED;
	if (!body->moved && !t->stale)
		return UNCHANGED;
	const place now = place_of(body);
	if (now != m->place)
		return PLACED;
	return now == ENDLESS || contains_tight(&tree_of(t, m)->nodes.data[m->leaf].bounds, body) ? UNCHANGED : PLACED;
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

/// Take the changed bodies of all places out of the trees one by one, or leave that to the build of
/// the trees that get one.
static void take_out(broad_tree *t, const bool build[TREES])
{
	for (int64_t i = 0; i < t->changed.count; i++) {
		member *m = &t->members.data[t->changed.data[i]];
		if (is_in_tree(m) && !build[m->place - IN_DYNAMIC])
			tree_remove(tree_of(t, m), m->leaf);
		t->choosy -= m->choosy;
		m->choosy = false;
		m->place = NOWHERE;
	}
}

/// May a body refuse another by cr_filters_pass? (One that is refused by others is among choosy
/// ones, or has no category.)
static bool is_choosy(const cr_body *body)
{
	return body->mask != UINT64_MAX || body->category == 0 || body->group != 0 || !cr_has_contacts(body);
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
		m->choosy = is_choosy(body);
		t->choosy += m->choosy;
		m->place = (uint8_t)place_of(body);
		if (!is_in_tree(m) || build[m->place - IN_DYNAMIC])
			continue;
		const box3d bounds = widened_box(body);
		m->leaf = make_leaf(tree_of(t, m), index, &bounds);
		tree_insert(tree_of(t, m), m->leaf);
	}
}

/// Build a tree from its members: the unchanged ones keep their boxes, since kept pairs rely on
/// them.
static void build_tree(broad_tree *t, place where)
{
	tree *target = &t->trees[where - IN_DYNAMIC];
	int32_t count = 0;
	for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
		const member *m = &t->members.data[i];
		if (m->place != where)
			continue;
		t->build_boxes.data[count] = m->change == PLACED ? widened_box(&t->bodies[i]) : target->nodes.data[m->leaf].bounds;
		t->build.data[count++] = i;
	}
	tree_clear(target);
	for (int32_t i = 0; i < count; i++) {
		const int32_t index = t->build.data[i];
		t->build.data[i] = t->members.data[index].leaf = make_leaf(target, index, &t->build_boxes.data[i]);
	}
	tree_build(target, t->build.data, count);
}

/// Which trees have changed so much that they are rebuilt.
static void choose_builds(const broad_tree *t, bool build[TREES])
{
	int64_t affected[TREES] = { 0 };
	for (int64_t i = 0; i < t->changed.count; i++) {
		const int32_t index = t->changed.data[i];
		const member *m = &t->members.data[index];
		const place next = m->change == REMOVED ? NOWHERE : place_of(&t->bodies[index]);
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

// ---- Pairs ----

/// May two nodes hold bodies that may collide? For nodes of a world in which not all may.
static bool filters_may_pass(const filters *a, const filters *b)
{
	if (a->group != 0 && a->group == b->group)
		return a->group > 0;
	return (a->category & b->mask) != 0 && (b->category & a->mask) != 0;
}

/// Has this worker met more pairs than are kept, or run out of memory? Then its list is of no use.
static bool has_too_many(const broad_tree *t, int worker)
{
	return t->sink.workers[worker].failed || (!t->direct && t->stacks[worker].seen > t->limit);
}

/// A pair of leaves: into the list of its worker, if the bodies may collide; where pairs are not
/// kept, if it passes everything.
static void emit(broad_tree *t, int worker, int32_t a, int32_t b)
{
	// Two changed bodies find each other twice.
	if (a == b || (t->partial && a > b && t->members.data[b].change != UNCHANGED))
		return;
	if (!cr_bodies_may_collide(&t->bodies[a], &t->bodies[b]))
		return;
	t->stacks[worker].seen++;
	if (has_too_many(t, worker))
		return;
	if (t->direct) {
		if (!cr_broad_meet(&t->base, &t->bodies[a], &t->bodies[b]))
			return;
		t->sink.workers[worker].met++;
		if (!cr_broad_ask(&t->base, a, b))
			return;
	}
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
	stack->entries.count = 0; // a walk that met too many was left
	walk_push(t, stack, a, b);
	int64_t compared = 0;
	while (stack->entries.count > 0 && !has_too_many(t, worker)) {
		compared++;
		const walk_entry e = stack->entries.data[--stack->entries.count];
		const node *na = &tree_a->nodes.data[e.a], *nb = &tree_b->nodes.data[e.b];
		if (!box3d_overlap(&na->bounds, &nb->bounds))
			continue;
		if (t->choosy > 0 && !filters_may_pass(&tree_a->filters.data[e.a], &tree_b->filters.data[e.b]))
			continue;
		if (is_leaf(na) && is_leaf(nb)) {
			emit(t, worker, na->body, nb->body);
		} else if (is_leaf(nb) || (!is_leaf(na) && box3d_area(&na->bounds) > box3d_area(&nb->bounds))) {
			walk_push(t, stack, na->child[0], e.b);
			walk_push(t, stack, na->child[1], e.b);
		} else {
			walk_push(t, stack, e.a, nb->child[0]);
			walk_push(t, stack, e.a, nb->child[1]);
		}
	}
	t->sink.workers[worker].compared += compared;
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
	const bool fixed = !cr_is_free(&t->bodies[body]);
	for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
		if (t->members.data[i].place != NOWHERE && !(fixed && !cr_is_free(&t->bodies[i])))
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
			if (!(fixed && !cr_is_free(&t->bodies[t->endless.data[e]])))
				emit(t, worker, body, t->endless.data[e]);
		}
	}
}

/// Two endless bodies would find each other twice, so the lower one does it.
static void pair_endless(broad_tree *t)
{
	for (int64_t e = 0; e < t->endless.count; e++) {
		const int32_t body = t->endless.data[e];
		const bool fixed = !cr_is_free(&t->bodies[body]);
		for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
			const uint8_t other = t->members.data[i].place;
			if (other != NOWHERE && !(other == ENDLESS && i <= body) && !(fixed && !cr_is_free(&t->bodies[i])))
				emit(t, 0, body, i);
		}
	}
}

/// Did a worker fail? seen: the sum of the counts of all.
static bool take_walk_failures(broad_tree *t)
{
	bool failed = false;
	t->seen = 0;
	for (int w = 0; w < t->base.context->thread_count; w++) {
		failed = failed || t->stacks[w].failed;
		t->seen += t->stacks[w].seen;
		t->stacks[w].failed = false;
		t->stacks[w].seen = 0;
	}
	return failed;
}

static filters filters_of(const cr_body *body)
{
	if (!cr_has_contacts(body))
		return (filters){ 0 }; // collides with nothing
	// A positive group beats the masks, whatever else is below a node.
	if (body->group > 0)
		return (filters){ UINT64_MAX, UINT64_MAX, body->group };
	return (filters){ body->category, body->mask, body->group };
}

/// The filters of all nodes, from the leaves up. The queue serves as the list of nodes, parents
/// first. false: out of memory.
static bool gather_filters(broad_tree *t, tree *target)
{
	if (target->root == NO_NODE)
		return true;
	if (!cr_array_reserve(t->base.context, &target->filters, target->nodes.count))
		return false;
	candidate *order = target->queue.data;
	int64_t count = 0;
	order[count++].node = target->root;
	for (int64_t i = 0; i < count; i++) {
		const node *n = &target->nodes.data[order[i].node];
		if (is_leaf(n))
			continue;
		order[count++].node = n->child[0];
		order[count++].node = n->child[1];
	}
	filters *all = target->filters.data;
	while (count-- > 0) {
		const node *n = &target->nodes.data[order[count].node];
		if (is_leaf(n)) {
			all[order[count].node] = filters_of(&t->bodies[n->body]);
			continue;
		}
		const filters *a = &all[n->child[0]], *b = &all[n->child[1]];
		all[order[count].node] = (filters){ a->category | b->category, a->mask | b->mask, a->group == b->group ? a->group : 0 };
	}
	return true;
}

/// Walk the trees for the pairs of leaves that may collide, or those of changed leaves, into list.
/// false: out of memory, or there are more than the limit.
static bool list_pairs(broad_tree *t, cr_pair_list *list)
{
	bool good = true;
	for (int k = 0; k < TREES && t->choosy > 0; k++)
		good = good && gather_filters(t, &t->trees[k]);
	if (good && t->partial) {
		cr_parallel_for(t->base.context, pair_changed, t->changed.count, 1, t);
	} else if (good) {
		cr_parallel_for(t->base.context, pair_nodes, t->trees[0].nodes.count, MIN_RANGE, t);
		pair_endless(t);
	}
	good = !take_walk_failures(t) && good;
	cr_pair_sink_count(&t->sink, &t->base);
	if (t->direct || t->seen <= t->limit)
		return cr_pair_sink_drain(&t->sink, (int32_t)t->members.count, list) && good;
	cr_pair_sink_clear(&t->sink);
	return false;
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

/// Bring the kept pairs up to date with the trees. Where there are too many it says so and keeps
/// none. false: out of memory.
static bool update_kept(broad_tree *t)
{
	t->base.compared = 0;
	if (t->kept_valid && t->changed.count == 0)
		return true;
	t->partial = t->kept_valid && t->changed.count * REQUERY_SHARE < t->trees[0].leaves + t->trees[1].leaves;
	t->kept_valid = false;
	const bool listed = list_pairs(t, t->partial ? &t->fresh : &t->kept);
	t->direct = t->seen > t->limit || (t->partial && listed && t->kept.count + t->fresh.count > 2 * t->limit);
	if (!t->direct)
		t->kept_valid = listed && (!t->partial || merge_kept(t));
	return t->direct || t->kept_valid;
}

/// Ask the user's filter about kept pairs whose tight boxes meet: 0: they do not, 1: refused, 2: it
/// passes.
static void ask_kept(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	broad_tree *t = task;
	for (int64_t i = begin; i < end; i++) {
		const cr_body_pair p = t->kept.data[i];
		const bool met = cr_broad_meet(&t->base, &t->bodies[p.a], &t->bodies[p.b]);
		t->passed.data[i] = (uint8_t)(met ? 1 + cr_broad_ask(&t->base, p.a, p.b) : 0);
	}
}

/// The kept pairs that come out in this step. false: out of memory.
static bool keep_overlapping(broad_tree *t, cr_pair_list *pairs)
{
	if (!cr_array_reserve(t->base.context, pairs, t->kept.count))
		return false;
	t->base.met = 0;
	if (!t->base.verdict) {
		for (int64_t i = 0; i < t->kept.count; i++) {
			const cr_body_pair p = t->kept.data[i];
			if (cr_broad_meet(&t->base, &t->bodies[p.a], &t->bodies[p.b]))
				pairs->data[pairs->count++] = p;
		}
		t->base.met = pairs->count;
		return true;
	}
	if (!cr_array_reserve(t->base.context, &t->passed, t->kept.count))
		return false;
	cr_parallel_for(t->base.context, ask_kept, t->kept.count, PAIRS_PER_TASK, t);
	for (int64_t i = 0; i < t->kept.count; i++) {
		t->base.met += t->passed.data[i] > 0;
		if (t->passed.data[i] > 1)
			pairs->data[pairs->count++] = t->kept.data[i];
	}
	return true;
}

/// The pairs that come out in this step, where there are too many to be kept. Keeps them again when
/// there are far fewer. false: out of memory.
static bool list_directly(broad_tree *t, cr_pair_list *pairs)
{
	t->partial = t->kept_valid = false;
	if (!list_pairs(t, pairs)) {
		pairs->count = 0;
		return false;
	}
	t->direct = t->seen > t->limit / 2;
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
		fixed += t->bodies[i].alive && !cr_is_free(&t->bodies[i]);
	// Changed bodies leave their tree before they come back, so the leaves of the last step and of
	// this one never add up.
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
	list_changes(t, bodies, count);
	t->kept_valid = t->kept_valid && !t->stale; // bodies whose filter changed are not known then
	t->stale = false;
	if (t->changed.count > 0)
		update_trees(t);
	t->limit = MANY_PAIRS + (int64_t)MANY_EACH * (t->trees[0].leaves + t->trees[1].leaves);
	bool good = t->direct || update_kept(t);
	if (good)
		good = t->direct ? list_directly(t, pairs) : keep_overlapping(t, pairs);
	if (!good)
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
		cr_array_free(context, &t->trees[k].filters);
	}
	cr_array_free(context, &t->members);
	cr_array_free(context, &t->changed);
	cr_array_free(context, &t->build);
	cr_array_free(context, &t->build_boxes);
	cr_array_free(context, &t->endless);
	cr_array_free(context, &t->kept);
	cr_array_free(context, &t->fresh);
	cr_array_free(context, &t->merged);
	cr_array_free(context, &t->passed);
	cr_free(context, t, sizeof *t);
}

carom_result cr_broad_create_tree(carom_context *context, cr_broad **broad)
{
	*broad = NULL;
	broad_tree *t = cr_alloc_zero(context, sizeof *t);
	if (!t)
		return cr_fail_memory(context, "a broad phase");
	t->base = (cr_broad){ .find = find_tree, .destroy = destroy_tree, .context = context };
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
