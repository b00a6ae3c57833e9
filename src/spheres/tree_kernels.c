/// Wide searches of trees over spheres. Compiled once for each instruction set (CR_ISA); see
/// math/simd.h for why the bits agree.
#include "spheres/tree_isa.h"
#include "math/box8.h"

enum {
	POINT_STACK = CR_TREE_MAX_DEPTH * (CR_TREE_WIDTH - 1) + 1,
};

// Relative errors of squares of distances and of sums of radii in single precision, at most 12
// roundings (2^-24 each) together, and those that the set's spheres may have beside the slack.
static const float ABOVE = 1 + 0x1p-19f, BELOW = 1 - 0x1p-19f;
// Covers the loss of products where they leave the range of normal numbers, flushed to zero or not.
static const float TINY = 0x1p-120f;

static inline uint32_t lanes_below(uint32_t count) { return (1u << count) - 1; }

static inline const cr_sphere_node *node_of(const cr_tree_search *search, uint32_t child)
{
	return &search->tree->nodes.data[child / CR_TREE_WIDTH];
}

/// Lanes of the spheres from place first on that are no ghosts.
static inline uint32_t owned_lanes(const cr_sphere_tree *tree, uint32_t first)
{
	const uint32_t left = first < tree->owned ? tree->owned - first : 0;
	return lanes_below(left < CR_TREE_WIDTH ? left : CR_TREE_WIDTH);
}

/// Eight spheres from a place on.
typedef struct sphere8 {
	f8 x, y, z, r;
} sphere8;

static inline sphere8 load_spheres(const cr_sphere_tree *tree, uint32_t first)
{
	return (sphere8){ f8_load(tree->x + first), f8_load(tree->y + first), f8_load(tree->z + first), f8_load(tree->r + first) };
}

static inline f8 square8(f8 a) { return f8_mul(a, a); }

/// Squared distances of eight centres from a point.
static inline f8 distances2(const sphere8 *s, float x, float y, float z)
{
	const f8 dx = f8_sub(s->x, f8_set1(x)), dy = f8_sub(s->y, f8_set1(y)), dz = f8_sub(s->z, f8_set1(z));
	return f8_add(f8_add(square8(dx), square8(dy)), square8(dz));
}

/// Which spheres of two leaves touch, bit 8 * row + lane: maybe (in single precision it cannot be
/// told), and of these surely. One word for all, since loops whose ends cannot be foreseen cost
/// more here than the tests.
typedef struct touching {
	uint64_t maybe, sure;
} touching;

/// Sphere at place a against eight, of which the lanes are wanted, into a row.
static inline void test_row(
	const cr_tree_search *search, uint32_t a, const sphere8 *s, uint32_t lanes, uint32_t row, touching *found)
{
	const cr_sphere_tree *tree = search->tree;
	const f8 d2 = distances2(s, tree->x[a], tree->y[a], tree->z[a]);
	const f8 far = f8_add(s->r, f8_set1(tree->r[a] + search->far));
	const f8 near = f8_max(f8_add(s->r, f8_set1(tree->r[a] + search->near)), f8_set1(0));
	const f8 outer = f8_add(f8_mul(square8(far), f8_set1(ABOVE)), f8_set1(TINY));
	const f8 inner = f8_sub(f8_mul(square8(near), f8_set1(BELOW)), f8_set1(TINY));
	found->maybe |= (uint64_t)(m8_bits(f8_le(d2, outer)) & lanes) << (CR_TREE_WIDTH * row);
	found->sure |= (uint64_t)m8_bits(f8_lt(d2, inner)) << (CR_TREE_WIDTH * row);
}

/// Hand on the pairs found among the spheres from places first and other on.
static inline void take_found(const cr_tree_search *search, uint32_t first, uint32_t other, touching found)
{
	while (found.maybe) {
		const uint32_t bit = (uint32_t)__builtin_ctzll(found.maybe);
		found.maybe &= found.maybe - 1;
		cr_tree_take_pair(search, first + bit / CR_TREE_WIDTH, other + bit % CR_TREE_WIDTH, found.sure >> bit & 1);
	}
}

static void search_leaf(const cr_tree_search *search, uint32_t first, uint32_t count)
{
	const sphere8 s = load_spheres(search->tree, first);
	touching found = { 0, 0 };
	const uint32_t end = first + count, ghosts = end > search->tree->owned ? end - search->tree->owned : 0;
	const uint32_t rows = ghosts > 0 ? count - ghosts : count - 1;
	for (uint32_t i = 0; i < rows; i++)
		test_row(search, first + i, &s, lanes_below(count) & ~lanes_below(i + 1), i, &found);
	take_found(search, first, first, found);
	search->batch->tests += (count * (count - 1) - ghosts * (ghosts - 1)) / 2;
}

/// Spheres of a leaf that can reach spheres in a box. If spheres touch, the distance from the
/// centre of one to the box of the other, which contains a ball as wide as its reach, is at most
/// its own reach.
static inline uint32_t reach_box(
	const cr_tree_search *search, const sphere8 *s, uint32_t count, const cr_sphere_node *node, int lane)
{
	const f8 *const at[3] = { &s->x, &s->y, &s->z };
	f8 d2 = f8_set1(0);
	for (int k = 0; k < 3; k++) {
		const f8 below = f8_sub(f8_set1(node->lower[k][lane]), *at[k]), above = f8_sub(*at[k], f8_set1(node->upper[k][lane]));
		d2 = f8_add(d2, square8(f8_max(f8_max(below, above), f8_set1(0))));
	}
	const cr_sphere_tree *tree = search->tree;
	const f8 reach = f8_mul(f8_add(f8_mul(s->r, f8_set1(tree->reach.scale)), f8_set1(tree->add)), f8_set1(ABOVE));
	return m8_bits(f8_le(d2, f8_add(square8(reach), f8_set1(TINY)))) & lanes_below(count);
}

/// One of two leaves may hold ghosts alone: it meets the others of the other leaf, which may be the
/// one that holds both.
static void leave_out_ghosts(const cr_sphere_tree *tree, uint32_t first_a, uint32_t first_b, uint32_t *rows, uint32_t *lanes)
{
	if (first_a >= tree->owned)
		*lanes &= owned_lanes(tree, first_b);
	else if (first_b >= tree->owned)
		*rows &= owned_lanes(tree, first_a);
}

static void search_leaves(const cr_tree_search *search, const cr_sphere_node *a, int la, const cr_sphere_node *b, int lb)
{
	const uint32_t first_a = a->child[la], first_b = b->child[lb];
	const sphere8 sa = load_spheres(search->tree, first_a), sb = load_spheres(search->tree, first_b);
	uint32_t lanes = reach_box(search, &sb, b->size[lb], a, la);
	uint32_t rows = lanes ? reach_box(search, &sa, a->size[la], b, lb) : 0;
	if (search->has_ghosts)
		leave_out_ghosts(search->tree, first_a, first_b, &rows, &lanes);
	search->batch->tests += __builtin_popcount(rows) * __builtin_popcount(lanes);
	touching found = { 0, 0 };
	while (rows) {
		const uint32_t row = (uint32_t)cr_take_lowest_bit(&rows);
		test_row(search, first_a + row, &sb, lanes, row, &found);
	}
	take_found(search, first_a, first_b, found);
}

/// Two children that overlap: searched when both are leaves, else appended to out.
static inline int32_t meet(const cr_tree_search *search, uint32_t a, uint32_t b, cr_tree_pair *out, int32_t count)
{
	const cr_sphere_node *na = node_of(search, a), *nb = node_of(search, b);
	const int la = a % CR_TREE_WIDTH, lb = b % CR_TREE_WIDTH;
	if (na->size[la] == CR_TREE_INNER || nb->size[lb] == CR_TREE_INNER)
		out[count++] = (cr_tree_pair){ a, b };
	else
		search_leaves(search, na, la, nb, lb);
	return count;
}

/// A node in itself: its children in themselves, and each with those behind it that it overlaps.
static int32_t open_self(const cr_tree_search *search, uint32_t number, cr_tree_pair *out)
{
	const cr_sphere_node *node = &search->tree->nodes.data[number];
	const box8 boxes = load_boxes(node->lower, node->upper);
	int32_t count = 0;
	// children of ghosts alone are behind them
	const uint32_t owned = (uint32_t)__builtin_popcount(node->owned);
	for (uint32_t i = 0; i < owned; i++) {
		if (node->size[i] == CR_TREE_INNER)
			out[count++] = (cr_tree_pair){ node->child[i], CR_TREE_SELF };
		else
			search_leaf(search, node->child[i], node->size[i]);
		uint32_t others = overlap_lane(&boxes, node->lower, node->upper, (int)i) & ~lanes_below(i + 1);
		while (others)
			count = meet(
				search, number * CR_TREE_WIDTH + i, number * CR_TREE_WIDTH + (uint32_t)cr_take_lowest_bit(&others), out, count);
	}
	return count;
}

/// One child a, or all children of it that reach b, against the children of b, which is an inner
/// node.
static int32_t open_both(const cr_tree_search *search, uint32_t a, uint32_t b, cr_tree_pair *out)
{
	const cr_sphere_node *na = node_of(search, a), *nb = node_of(search, b);
	const int la = a % CR_TREE_WIDTH, lb = b % CR_TREE_WIDTH;
	const uint32_t number_b = nb->child[lb];
	const cr_sphere_node *inner_b = &search->tree->nodes.data[number_b];
	const box8 boxes_b = load_boxes(inner_b->lower, inner_b->upper);
	uint32_t number_a = a / CR_TREE_WIDTH, opened = 1u << la;
	if (na->size[la] == CR_TREE_INNER) {
		number_a = na->child[la];
		na = &search->tree->nodes.data[number_a];
		const box8 boxes_a = load_boxes(na->lower, na->upper);
		opened = overlap_lane(&boxes_a, nb->lower, nb->upper, lb);
	}
	int32_t count = 0;
	while (opened) {
		const int i = cr_take_lowest_bit(&opened);
		uint32_t others = overlap_lane(&boxes_b, na->lower, na->upper, i);
		if (search->has_ghosts && !(na->owned >> i & 1))
			others &= inner_b->owned;
		while (others)
			count = meet(search, number_a * CR_TREE_WIDTH + (uint32_t)i,
				number_b * CR_TREE_WIDTH + (uint32_t)cr_take_lowest_bit(&others), out, count);
	}
	return count;
}

static int32_t open_pair(const cr_tree_search *search, cr_tree_pair pair, cr_tree_pair *out)
{
	if (pair.b == CR_TREE_SELF)
		return open_self(search, pair.a, out);
	if (node_of(search, pair.b)->size[pair.b % CR_TREE_WIDTH] == CR_TREE_INNER)
		return open_both(search, pair.a, pair.b, out);
	return open_both(search, pair.b, pair.a, out);
}

static void search_pair(const cr_tree_search *search, cr_tree_pair pair)
{
	cr_tree_pair *stack = search->stack;
	int32_t count = 1;
	stack[0] = pair;
	while (count > 0 && !search->batch->stopped) {
		count--;
		count += open_pair(search, stack[count], stack + count);
	}
}

// ---- Rays of no length ----

/// Lanes of eight spheres whose proxy boxes contain the centre at place i, and that are near enough
/// to touch its sphere.
static inline void hit_leaf(const cr_tree_search *search, uint32_t i, bool ghost, uint32_t first, uint32_t count)
{
	const cr_sphere_tree *tree = search->tree;
	const sphere8 s = load_spheres(tree, first);
	const f8 reach = f8_mul(f8_add(f8_mul(s.r, f8_set1(tree->reach.scale)), f8_set1(tree->add)), f8_set1(1 + 0x1p-20f));
	const f8 dx = f8_sub(s.x, f8_set1(tree->x[i])), dy = f8_sub(s.y, f8_set1(tree->y[i])), dz = f8_sub(s.z, f8_set1(tree->z[i]));
	const m8 in_box = m8_and(m8_and(f8_le(f8_abs(dx), reach), f8_le(f8_abs(dy), reach)), f8_le(f8_abs(dz), reach));
	uint32_t hits = m8_bits(in_box) & lanes_below(count);
	if (ghost)
		hits &= owned_lanes(tree, first);
	if (!hits)
		return;
	search->batch->tests += __builtin_popcount(hits);
	const f8 d2 = f8_add(f8_add(square8(dx), square8(dy)), square8(dz));
	const f8 sum = f8_add(f8_add(s.r, f8_set1(tree->r[i])), f8_set1(search->far));
	uint32_t maybe = hits & m8_bits(f8_le(d2, f8_add(f8_mul(square8(sum), f8_set1(ABOVE)), f8_set1(TINY))));
	while (maybe)
		cr_tree_take_hit(search, i, first + (uint32_t)cr_take_lowest_bit(&maybe));
}

static inline void cast_point(const cr_tree_search *search, uint32_t i, bool ghost)
{
	const cr_sphere_tree *tree = search->tree;
	const float at[3] = { tree->x[i], tree->y[i], tree->z[i] };
	uint32_t stack[POINT_STACK];
	int32_t count = 1;
	stack[0] = 0;
	while (count > 0) {
		const cr_sphere_node *node = &tree->nodes.data[stack[--count]];
		const box8 boxes = load_boxes(node->lower, node->upper);
		uint32_t met = overlap_one(&boxes, at, at);
		if (ghost)
			met &= node->owned;
		while (met) {
			const int lane = cr_take_lowest_bit(&met);
			if (node->size[lane] == CR_TREE_INNER)
				stack[count++] = node->child[lane];
			else
				hit_leaf(search, i, ghost, node->child[lane], node->size[lane]);
		}
	}
}

static void cast_points(const cr_tree_search *search, uint32_t begin, uint32_t end)
{
	const uint32_t ghosts = search->tree->owned > begin ? search->tree->owned : begin;
	for (uint32_t i = begin; i < end && i < ghosts && !search->batch->stopped; i++)
		cast_point(search, i, false);
	for (uint32_t i = ghosts; i < end && !search->batch->stopped; i++)
		cast_point(search, i, true);
}

const cr_tree_kernels CR_ISA_NAME(cr_tree_kernels) = { open_pair, search_pair, cast_points };
