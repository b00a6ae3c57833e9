/// Broad phase by dynamic trees of widened boxes (Catto, Dynamic Bounding Volume Hierarchies, GDC
/// 2019).
///
/// Input: the tight boxes of all bodies and which of them moved. Output: overlapping pairs. Dynamic
/// bodies are the leaves of one tree, static and kinematic ones of another, those asleep of a third
/// one. Only the first tree is tested against itself, and the second one against the third only for
/// its few bodies that are not quiet (cr_is_quiet). So bodies asleep have no pairs but those with
/// bodies awake. A leaf's box is wider than its body's, so most motion changes no tree; a leaf is
/// put in again when its body leaves the box. The pairs of overlapping leaf boxes are kept from
/// step to step: those of changed leaves are asked of the trees again, or all pairs at once when
/// much has changed. The tight boxes decide each step which of the kept pairs come out. Cost: O(n +
/// p) for p kept pairs when nothing leaves its box, O(c log n) more for c changed leaves. Only
/// bodies that may have changed are looked at (cr_broad.changes). Serial: updates of the trees.
/// Parallel: asking for pairs. All boxes are in double, so that neither a world far from its origin
/// nor one far body costs more than another. Boxes without end (planes) are in no tree and pair
/// with all bodies.
///
/// Pairs that may not collide are never listed, and subtrees in which no two bodies may are not
/// walked. Where leaves have very many pairs that boxes or the user's filter then refuse, keeping
/// them would cost more memory than the bodies: beyond a limit the trees are walked in each step,
/// and only pairs that pass everything are listed.
#include "base/parallel.h"
#include "contact/broad_pairs.h"
#include "tree/dynamic.h"
#include <string.h>

enum {
	// A tree is rebuilt when at least 1 in REBUILD_SHARE of its leaves change (20,000 boxes in a
	// cube: an insertion costs 3 to 4 times as much as a leaf in a build).
	REBUILD_SHARE = 4,
	// All pairs are asked for when at least 1 in REQUERY_SHARE of the bodies changed.
	REQUERY_SHARE = 8,
	MIN_RANGE = 64,
	PAIRS_PER_TASK = 1024,
	// No more pairs of leaves are kept than MANY_PAIRS and MANY_EACH for each leaf (spheres packed
	// at random have 7 each).
	MANY_PAIRS = 1 << 18,
	MANY_EACH = 16,
	// Bodies from which the memory that only a build needs is given back after it: the build takes
	// far longer than that.
	MANY_BODIES = 1 << 16,
	// Pairs of nodes that a walk is given room for ahead: of trees that are 100 deep.
	STACK_AHEAD = 512,
	// Whether a tree is worn out takes a look at all of its nodes. It is asked when at least 1 in
	// WEAR_SHARE of its leaves have changed since.
	WEAR_SHARE = 16,
	// The filters of nodes are asked when more than 1 in FEW_SHARE of the leaves have changed, or
	// once the walks of few have looked at CROWDED pairs of nodes for each leaf of the trees.
	FEW_SHARE = 256,
	CROWDED = 2,
};

// Margin of leaf boxes in lengths of the tight box's longest side.
static const double MARGIN = 0.125;
// Boxes that reach further than this count as endless: the sizes of nodes stay finite below.
static const double END_OF_WORLD = 1e29;

/// Bounds on the filters of all bodies below a node, for cr_filters_pass.
typedef struct filters {
	uint64_t category; // of any of them
	uint64_t mask;
	int32_t group; // of all of them; 0: they have none, or not one
} filters;

/// Where a body is.
typedef enum place { NOWHERE, IN_DYNAMIC, IN_FIXED, IN_ASLEEP, ENDLESS } place;
enum { TREES = 3, DYNAMIC = 0, FIXED = 1, ASLEEP = 2 };

typedef enum change { UNCHANGED, REMOVED, PLACED } change;

typedef struct member {
	int32_t leaf;
	uint8_t place;
	uint8_t change; // of the call being served; UNCHANGED between calls
	bool choosy;    // its filter refuses some bodies
	bool quiet;     // at the last call
	bool waits;     // it is in the list waiting
} member;

/// A worker's walks through the trees.
typedef struct walker {
	_Alignas(CR_CACHE_LINE) cr_dynamic_stack stack;
	int64_t seen; // pairs of leaves that may collide
	bool failed;
} walker;

typedef struct broad_tree {
	cr_broad base;
	cr_pair_sink sink;
	walker *walkers;                  // [thread_count]
	cr_dynamic_tree trees[TREES];     // of place - IN_DYNAMIC
	CR_ARRAY(filters) filters[TREES]; // of nodes
	bool gathered[TREES];             // those of a tree are up to date
	int64_t worn[TREES];              // changes since a tree was asked whether it is worn out
	CR_ARRAY(member) members;
	CR_ARRAY(int32_t) changed; // bodies that changed in this call
	CR_ARRAY(int32_t) waiting; // that may be quiet in the next call, and were not in this one
	int64_t restless;          // members in the fixed tree that were not quiet
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
	bool crowded;             // walks of few changed leaves have met very many others
	bool has_quiet;           // kept may hold pairs of two bodies that are quiet
	bool moves_endless;       // a changed body is or was one without end
	bool partial;             // only the pairs of changed bodies are asked for
	// there are too many to be kept: pairs that pass everything are listed at once
	bool direct;
	const cr_body *bodies;
} broad_tree;

// ---- Boxes ----

static inline bool contains_tight(const cr_dynamic_node *leaf, const cr_body *body)
{
	const box3d tight = { { body->lower[0], body->lower[1], body->lower[2] },
		{ body->upper[0], body->upper[1], body->upper[2] } },
				box = cr_dynamic_box(leaf);
	return box3d_contains(&box, &tight);
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

// ---- Bodies in and out ----

static place place_of(const cr_body *body)
{
	if (is_endless(body))
		return ENDLESS;
	return !cr_is_free(body) ? IN_FIXED : cr_is_quiet(body) ? IN_ASLEEP : IN_DYNAMIC;
}

static bool is_in_tree(const member *m) { return m->place >= IN_DYNAMIC && m->place <= IN_ASLEEP; }
static bool is_restless(const member *m) { return m->place == IN_FIXED && !m->quiet; }

static int64_t count_leaves(const broad_tree *t)
{
	return (int64_t)t->trees[DYNAMIC].leaves + t->trees[FIXED].leaves + t->trees[ASLEEP].leaves;
}

static cr_dynamic_tree *tree_of(broad_tree *t, const member *m) { return &t->trees[m->place - IN_DYNAMIC]; }

/// The pending work on a body. Its member still says where it was.
static change judge(broad_tree *t, const cr_body *body, const member *m)
{
	const bool alive = body && body->alive;
	// Most bodies: one look at their flags.
	const bool quiet = alive && cr_is_quiet(body);
	if (alive && !body->moved && !body->refiltered && !t->stale && m->place != NOWHERE && quiet == m->quiet)
		return UNCHANGED;
	if (!alive)
		return m->place == NOWHERE ? UNCHANGED : REMOVED;
	if (m->place == NOWHERE || body->refiltered)
		return PLACED;
	const place now = place_of(body);
	if (now != m->place)
		return PLACED;
	// One that nothing moves by itself meets those asleep from now on.
	if (m->quiet && !quiet && t->trees[ASLEEP].leaves > 0)
		return PLACED;
	return now == ENDLESS || contains_tight(&tree_of(t, m)->nodes.data[m->leaf], body) ? UNCHANGED : PLACED;
}

/// Let an unchanged member be quiet or not, as its body is.
static void set_quiet(broad_tree *t, member *m, bool quiet)
{
	t->has_quiet = t->has_quiet || (quiet && !m->quiet);
	t->restless -= is_restless(m);
	m->quiet = quiet;
	t->restless += is_restless(m);
}

/// Will the next call find a body quiet, though nothing more is done to it?
static bool is_waiting(const cr_body *body) { return (body->asleep || body->kind == CAROM_STATIC) && body->changed; }

/// Judge a member, and list it if it has changed. body: NULL: there is none. false: out of memory.
static bool list_change(broad_tree *t, const cr_body *body, int32_t index)
{
	member *m = &t->members.data[index];
	const bool alive = body && body->alive;
	if (m->change != UNCHANGED)
		return true; // listed already
	m->change = (uint8_t)judge(t, body, m);
	if (alive && is_waiting(body) && !m->waits) {
		if (!cr_array_reserve_one(t->base.context, &t->waiting))
			return false;
		m->waits = true;
		t->waiting.data[t->waiting.count++] = index;
	}
	if (m->change == UNCHANGED) {
		set_quiet(t, m, alive && cr_is_quiet(body));
		return true;
	}
	if (!cr_array_reserve_one(t->base.context, &t->changed))
		return false;
	t->changed.data[t->changed.count++] = index;
	return true;
}

/// false: out of memory.
static bool list_changes(broad_tree *t, const cr_body *bodies, int32_t count)
{
	const cr_changes *changes = t->stale ? NULL : t->base.changes;
	const int32_t members = (int32_t)t->members.count;
	const int64_t waiting = t->waiting.count;
	bool good = true;
	t->changed.count = 0;
	// Bodies beyond the count are gone; so few calls find some that all are looked at.
	for (int32_t i = count; i < members && good; i++)
		good = list_change(t, NULL, i);
	for (int64_t i = 0; i < waiting; i++)
		t->members.data[t->waiting.data[i]].waits = false;
	for (int64_t i = 0; i < waiting && good; i++) {
		if (t->waiting.data[i] < count)
			good = list_change(t, &bodies[t->waiting.data[i]], t->waiting.data[i]);
	}
	for (int64_t i = cr_next_change(changes, 0, count); i < count && good; i = cr_next_change(changes, i + 1, count))
		good = list_change(t, &bodies[i], (int32_t)i);
	t->waiting.count -= waiting;
	if (t->waiting.count > 0)
		memmove(t->waiting.data, t->waiting.data + waiting, (size_t)t->waiting.count * sizeof *t->waiting.data);
	return good;
}

/// After a failure: the next call looks at all bodies.
static void give_up_changes(broad_tree *t)
{
	for (int64_t i = 0; i < t->members.count; i++) {
		t->members.data[i].change = UNCHANGED;
		t->members.data[i].waits = false;
	}
	t->changed.count = t->waiting.count = 0;
	t->stale = true;
}

/// The next call finds members without a change.
static void forget_changes(broad_tree *t)
{
	for (int64_t i = 0; i < t->changed.count; i++)
		t->members.data[t->changed.data[i]].change = UNCHANGED;
	t->changed.count = 0;
}

/// Note that a tree gets or loses a leaf.
static void note_wear(broad_tree *t, int tree)
{
	t->worn[tree]++;
	t->gathered[tree] = false;
}

/// Take the changed bodies of all places out of the trees one by one, or leave that to the build of
/// the trees that get one.
static void take_out(broad_tree *t, const bool build[TREES])
{
	for (int64_t i = 0; i < t->changed.count; i++) {
		member *m = &t->members.data[t->changed.data[i]];
		if (is_in_tree(m))
			note_wear(t, m->place - IN_DYNAMIC);
		if (is_in_tree(m) && !build[m->place - IN_DYNAMIC])
			cr_dynamic_remove(tree_of(t, m), m->leaf);
		t->moves_endless = t->moves_endless || m->place == ENDLESS;
		t->restless -= is_restless(m);
		t->choosy -= m->choosy;
		m->choosy = false;
		m->quiet = false;
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
		m->choosy = is_choosy(body);
		t->choosy += m->choosy;
		m->place = (uint8_t)place_of(body);
		m->quiet = cr_is_quiet(body);
		t->restless += is_restless(m);
		t->moves_endless = t->moves_endless || m->place == ENDLESS;
		if (is_in_tree(m))
			note_wear(t, m->place - IN_DYNAMIC);
		if (!is_in_tree(m) || build[m->place - IN_DYNAMIC])
			continue;
		const box3d bounds = widened_box(body);
		m->leaf = cr_dynamic_insert(tree_of(t, m), index, &bounds);
	}
}

/// Build a tree from its members: the unchanged ones keep their boxes, since kept pairs rely on
/// them.
static void build_tree(broad_tree *t, place where)
{
	cr_dynamic_tree *target = &t->trees[where - IN_DYNAMIC];
	int32_t count = 0;
	for (int32_t i = 0; i < (int32_t)t->members.count; i++) {
		member *m = &t->members.data[i];
		if (m->place != where)
			continue;
		t->build_boxes.data[count] =
			m->change == PLACED ? widened_box(&t->bodies[i]) : cr_dynamic_box(&target->nodes.data[m->leaf]);
		t->build.data[count] = i;
		m->leaf = count++;
	}
	cr_dynamic_build(target, t->build.data, t->build_boxes.data, count);
	t->gathered[where - IN_DYNAMIC] = false;
	t->worn[where - IN_DYNAMIC] = 0;
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

/// Room for a build of any tree. false: out of memory.
static bool reserve_build(broad_tree *t)
{
	return cr_array_reserve(t->base.context, &t->build, t->members.count) &&
		cr_array_reserve(t->base.context, &t->build_boxes, t->members.count);
}

/// Has a tree, which has changed, to be built once more? One that is worn out serves on where there
/// is no memory for that.
static bool is_worn_out(broad_tree *t, int tree)
{
	if (t->worn[tree] == 0 || t->worn[tree] * WEAR_SHARE < t->trees[tree].leaves)
		return false;
	t->worn[tree] = 0;
	return cr_dynamic_is_worn_out(&t->trees[tree]) && reserve_build(t);
}

/// Give back the list of changed bodies after a build, if it is long. many: they were.
static void release_changed(broad_tree *t, bool many)
{
	if (t->changed.capacity >= MANY_BODIES && many)
		cr_array_free(t->base.context, &t->changed);
}

/// Give back the memory of builds, if it is much.
static void release_build(broad_tree *t)
{
	if (t->build_boxes.capacity < MANY_BODIES)
		return;
	cr_array_free(t->base.context, &t->build);
	cr_array_free(t->base.context, &t->build_boxes);
}

/// build: which trees are built; for these there is room (reserve_build).
static void update_trees(broad_tree *t, const bool build[TREES])
{
	t->moves_endless = false;
	take_out(t, build);
	put_in(t, build);
	for (int k = 0; k < TREES; k++) {
		if (build[k] || is_worn_out(t, k))
			build_tree(t, (place)(IN_DYNAMIC + k));
	}
	release_build(t);
	if (!t->moves_endless)
		return;
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
	return t->sink.workers[worker].failed || (!t->direct && t->walkers[worker].seen > t->limit);
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
	t->walkers[worker].seen++;
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

/// A worker's walk through two trees.
typedef struct search {
	broad_tree *tree;
	int worker;
	const filters *filters_a, *filters_b; // of nodes
} search;

static bool may_pair(void *user, int32_t a, int32_t b)
{
	const search *s = user;
	return filters_may_pass(&s->filters_a[a], &s->filters_b[b]);
}

static bool take_pair(void *user, int32_t a, int32_t b)
{
	const search *s = user;
	emit(s->tree, s->worker, a, b);
	return !has_too_many(s->tree, s->worker);
}

/// Pairs of leaves below node a of tree k and node b of tree l.
static void walk(broad_tree *t, int worker, int k, int32_t a, int l, int32_t b)
{
	if (has_too_many(t, worker))
		return;
	walker *own = &t->walkers[worker];
	search s = { t, worker, t->filters[k].data, t->filters[l].data };
	cr_dynamic_walk w = { .context = t->base.context,
		.a = &t->trees[k],
		.b = &t->trees[l],
		.stack = &own->stack,
		.may = t->choosy > 0 && t->gathered[k] && t->gathered[l] ? may_pair : NULL,
		.pair = take_pair,
		.user = &s };
	own->failed = !cr_dynamic_pairs(&w, a, b) || own->failed;
	t->sink.workers[worker].compared += w.compared;
}

/// All pairs of the dynamic tree are those between the two children of each of its nodes.
static void pair_nodes(int64_t begin, int64_t end, int worker, void *task)
{
	broad_tree *t = task;
	for (int64_t i = begin; i < end; i++) {
		const cr_dynamic_node *n = &t->trees[DYNAMIC].nodes.data[i];
		if (!cr_dynamic_is_leaf(n))
			walk(t, worker, DYNAMIC, n->child[0], DYNAMIC, n->child[1]);
		for (int k = FIXED; k < TREES && cr_dynamic_item(n) != CR_NO_NODE; k++) {
			if (t->trees[k].root != CR_NO_NODE)
				walk(t, worker, DYNAMIC, (int32_t)i, k, t->trees[k].root);
		}
	}
}

/// Those of the fixed tree that are not quiet with those asleep.
static void pair_restless(int64_t begin, int64_t end, int worker, void *task)
{
	broad_tree *t = task;
	for (int64_t i = begin; i < end; i++) {
		const int32_t body = cr_dynamic_item(&t->trees[FIXED].nodes.data[i]);
		if (body != CR_NO_NODE && is_restless(&t->members.data[body]))
			walk(t, worker, FIXED, (int32_t)i, ASLEEP, t->trees[ASLEEP].root);
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

/// Are the bodies of a tree to be asked about a changed member of one?
static bool may_meet_tree(const broad_tree *t, const member *m, int tree)
{
	if (t->trees[tree].root == CR_NO_NODE)
		return false;
	if (m->place == IN_FIXED)
		return tree == DYNAMIC || (tree == ASLEEP && !m->quiet);
	return m->place == IN_DYNAMIC || tree == DYNAMIC || (tree == FIXED && t->restless > 0);
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
		for (int k = 0; k < TREES; k++) {
			if (may_meet_tree(t, m, k))
				walk(t, worker, m->place - IN_DYNAMIC, m->leaf, k, t->trees[k].root);
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
		failed = failed || t->walkers[w].failed;
		t->seen += t->walkers[w].seen;
		t->walkers[w].failed = false;
		t->walkers[w].seen = 0;
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

/// The filters of a node, after those of its children. user is the broad phase.
static void gather_filters(void *user, const cr_dynamic_tree *target, int32_t node)
{
	const broad_tree *t = user;
	const cr_dynamic_node *n = &target->nodes.data[node];
	filters *all = t->filters[target - t->trees].data;
	if (cr_dynamic_is_leaf(n)) {
		all[node] = filters_of(&t->bodies[cr_dynamic_item(n)]);
		return;
	}
	const filters *a = &all[n->child[0]], *b = &all[n->child[1]];
	all[node] = (filters){ a->category | b->category, a->mask | b->mask, a->group == b->group ? a->group : 0 };
}

/// Bring the filters of the nodes of all trees up to date. false: out of memory.
static bool gather_all(broad_tree *t)
{
	for (int k = 0; k < TREES; k++) {
		if (t->gathered[k])
			continue;
		if (!cr_array_reserve(t->base.context, &t->filters[k], t->trees[k].nodes.count))
			return false;
		cr_dynamic_visit_up(&t->trees[k], gather_filters, t);
		t->gathered[k] = true;
	}
	return true;
}

/// Are walks to leave out subtrees that may not meet? That takes a look at all nodes of a tree that
/// has changed. A few leaves walk as soon through all that they overlap, unless these are many.
static bool wants_filters(const broad_tree *t)
{
	return t->choosy > 0 && (!t->partial || t->crowded || t->changed.count * FEW_SHARE > count_leaves(t));
}

/// Walk the trees for the pairs of leaves that may collide, or those of changed leaves, into list.
/// false: out of memory, or there are more than the limit.
static bool list_pairs(broad_tree *t, cr_pair_list *list)
{
	bool good = !wants_filters(t) || gather_all(t);
	if (good && t->partial) {
		cr_parallel_for(t->base.context, pair_changed, t->changed.count, 1, t);
	} else if (good) {
		cr_parallel_for(t->base.context, pair_nodes, t->trees[DYNAMIC].nodes.count, MIN_RANGE, t);
		if (t->restless > 0 && t->trees[ASLEEP].root != CR_NO_NODE)
			cr_parallel_for(t->base.context, pair_restless, t->trees[FIXED].nodes.count, MIN_RANGE, t);
		pair_endless(t);
	}
	good = !take_walk_failures(t) && good;
	cr_pair_sink_count(&t->sink, &t->base);
	t->crowded = t->crowded || (t->partial && t->base.compared > CROWDED * count_leaves(t));
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

/// Drop the kept pairs of two bodies that are quiet.
static void drop_quiet(broad_tree *t)
{
	int64_t left = 0;
	for (int64_t i = 0; i < t->kept.count; i++) {
		const cr_body_pair p = t->kept.data[i];
		if (!(cr_is_quiet(&t->bodies[p.a]) && cr_is_quiet(&t->bodies[p.b])))
			t->kept.data[left++] = p;
	}
	t->kept.count = left;
	t->has_quiet = false;
}

/// Bring the kept pairs up to date with the trees. Where there are too many it says so and keeps
/// none. false: out of memory.
static bool update_kept(broad_tree *t)
{
	t->base.compared = 0;
	if (t->kept_valid && t->has_quiet)
		drop_quiet(t);
	if (t->kept_valid && t->changed.count == 0)
		return true;
	t->partial = t->kept_valid && t->changed.count * REQUERY_SHARE < count_leaves(t);
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

/// A member for each body. false: out of memory.
static bool reserve_members(broad_tree *t, int32_t count)
{
	const int64_t most = count > t->members.count ? count : t->members.count;
	if (!cr_array_reserve(t->base.context, &t->members, most))
		return false;
	while (t->members.count < most)
		t->members.data[t->members.count++] = (member){ 0 };
	return true;
}

/// Room for all that the update of the trees needs, so that it cannot stop half way, once the
/// changes are known.
static bool reserve_trees(broad_tree *t)
{
	// Changed bodies leave their tree before they come back, so the leaves of the last step and of
	// this one never add up.
	int64_t need[TREES];
	for (int k = 0; k < TREES; k++)
		need[k] = t->trees[k].leaves;
	for (int64_t i = 0; i < t->changed.count; i++) {
		const int32_t index = t->changed.data[i];
		const member *m = &t->members.data[index];
		const place next = m->change == PLACED ? place_of(&t->bodies[index]) : NOWHERE;
		for (int k = 0; k < TREES; k++)
			need[k] += (next == (place)(IN_DYNAMIC + k)) - (m->place == IN_DYNAMIC + k);
	}
	bool ok = true;
	for (int k = 0; k < TREES; k++)
		ok = ok &&
			cr_dynamic_reserve(t->base.context, &t->trees[k], need[k] > t->trees[k].leaves ? need[k] : t->trees[k].leaves);
	return ok;
}

/// Room for all endless bodies, once the changes are known. false: out of memory.
static bool reserve_endless(broad_tree *t)
{
	int64_t most = t->endless.count;
	for (int64_t i = 0; i < t->changed.count; i++) {
		const int32_t index = t->changed.data[i];
		most += t->members.data[index].change == PLACED && place_of(&t->bodies[index]) == ENDLESS;
	}
	return cr_array_reserve(t->base.context, &t->endless, most);
}

static carom_result find_tree(cr_broad *broad, const cr_body *bodies, int32_t count, cr_pair_list *pairs)
{
	broad_tree *t = (broad_tree *)broad;
	pairs->count = 0;
	t->bodies = bodies;
	bool build[TREES], ready = reserve_members(t, count) && list_changes(t, bodies, count) && reserve_trees(t);
	if (ready) {
		choose_builds(t, build);
		ready = reserve_endless(t) && (!(build[DYNAMIC] || build[FIXED] || build[ASLEEP]) || reserve_build(t));
	}
	if (!ready) {
		give_up_changes(t);
		return cr_fail_memory(broad->context, "the tree of bodies");
	}
	t->kept_valid = t->kept_valid && !t->stale; // bodies whose filter changed are not known then
	t->stale = false;
	if (t->changed.count > 0)
		update_trees(t, build);
	t->limit = MANY_PAIRS + (int64_t)MANY_EACH * count_leaves(t);
	bool good = t->direct || update_kept(t);
	if (good)
		good = t->direct ? list_directly(t, pairs) : keep_overlapping(t, pairs);
	const bool many = t->changed.count * REBUILD_SHARE >= t->members.count;
	forget_changes(t);
	release_changed(t, many);
	if (!good)
		return cr_fail_memory(broad->context, "pairs of bodies");
	return CAROM_SUCCESS;
}

static bool reserve_tree(cr_broad *broad, int64_t bodies, int64_t pairs)
{
	broad_tree *t = (broad_tree *)broad;
	carom_context *context = broad->context;
	bool made = cr_pair_sink_reserve(&t->sink, bodies, pairs) && cr_array_reserve(context, &t->members, bodies) &&
		cr_array_reserve(context, &t->changed, bodies) && cr_array_reserve(context, &t->waiting, bodies) &&
		cr_array_reserve(context, &t->build, bodies) && cr_array_reserve(context, &t->endless, bodies) &&
		cr_array_reserve(context, &t->build_boxes, bodies) && cr_array_reserve(context, &t->kept, pairs) &&
		cr_array_reserve(context, &t->fresh, pairs) && cr_array_reserve(context, &t->merged, pairs) &&
		(!broad->verdict || cr_array_reserve(context, &t->passed, pairs));
	// How many will be free or asleep is not known: each tree gets room for all.
	for (int k = 0; made && k < TREES; k++)
		made = cr_dynamic_reserve(context, &t->trees[k], bodies) && cr_array_reserve(context, &t->filters[k], 2 * bodies);
	for (int w = 0; made && w < context->thread_count; w++)
		made = cr_array_reserve(context, &t->walkers[w].stack, STACK_AHEAD);
	return made;
}

// ---- Life ----

/// Let no body be in a tree, as at first.
static void trim_tree(cr_broad *broad)
{
	broad_tree *t = (broad_tree *)broad;
	carom_context *context = broad->context;
	if (t->sink.workers)
		cr_pair_sink_release(&t->sink);
	for (int w = 0; t->walkers && w < context->thread_count; w++)
		cr_array_free(context, &t->walkers[w].stack);
	for (int k = 0; k < TREES; k++) {
		cr_dynamic_free(context, &t->trees[k]);
		cr_array_free(context, &t->filters[k]);
	}
	cr_array_free(context, &t->members);
	cr_array_free(context, &t->changed);
	cr_array_free(context, &t->waiting);
	cr_array_free(context, &t->build);
	cr_array_free(context, &t->build_boxes);
	cr_array_free(context, &t->endless);
	cr_array_free(context, &t->kept);
	cr_array_free(context, &t->fresh);
	cr_array_free(context, &t->merged);
	cr_array_free(context, &t->passed);
	t->choosy = t->seen = t->limit = 0;
	t->kept_valid = t->direct = false;
	t->stale = true; // all bodies are new to it
}

static void destroy_tree(cr_broad *broad)
{
	broad_tree *t = (broad_tree *)broad;
	carom_context *context = broad->context;
	trim_tree(broad);
	cr_pair_sink_free(&t->sink);
	cr_free(context, t->walkers, (size_t)context->thread_count * sizeof *t->walkers);
	cr_free(context, t, sizeof *t);
}

carom_result cr_broad_create_tree(carom_context *context, cr_broad **broad)
{
	*broad = NULL;
	broad_tree *t = cr_alloc_zero(context, sizeof *t);
	if (!t)
		return cr_fail_memory(context, "a broad phase");
	t->base =
		(cr_broad){ .find = find_tree, .destroy = destroy_tree, .reserve = reserve_tree, .trim = trim_tree, .context = context };
	for (int k = 0; k < TREES; k++)
		cr_dynamic_clear(&t->trees[k]);
	t->walkers = cr_alloc_zero(context, (size_t)context->thread_count * sizeof *t->walkers);
	if (!t->walkers || !cr_pair_sink_init(&t->sink, context)) {
		destroy_tree(&t->base);
		return cr_fail_memory(context, "a broad phase");
	}
	*broad = &t->base;
	return CAROM_SUCCESS;
}
