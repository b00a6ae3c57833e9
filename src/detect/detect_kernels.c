/// Wide kernels of the stages. Compiled once for each instruction set (CR_ISA); see math/simd.h for why the bits agree.

#include "detect/detect_kernels.h"
#include "bvh/grid8.h"
#include "math/box8.h"

enum { SAMPLE_STACK = CR_MAX_DEPTH * (CR_WIDTH - 1) + 1 };

typedef struct collector {
	const cr_collider *source;
	const cr_transform *to_target;
	const cr_grid *grid;
	float lower[3]; // of the target's box, grown
	float upper[3];
	float far_distance; // cells at least this far from the surface, outside, need no ray
	bool exit_limit;
	const cr_sample_rays *rays;
	int32_t count;
} collector;

static inline f8 rotate_row(const cr_transform *m, int row, const f8 v[3])
{
	return f8_add(
		f8_add(f8_mul(f8_set1(m->r[row][0]), v[0]), f8_mul(f8_set1(m->r[row][1]), v[1])), f8_mul(f8_set1(m->r[row][2]), v[2]));
}

static void collect_block(collector *c, int32_t number)
{
	const cr_sample8 *block = &c->source->samples[number];
	const f8 own[3] = { f8_load(block->point[0]), f8_load(block->point[1]), f8_load(block->point[2]) };
	f8 p[3];
	m8 inside = f8_eq(own[0], own[0]);
	for (int k = 0; k < 3; k++) {
		p[k] = f8_add(rotate_row(c->to_target, k, own), f8_set1(c->to_target->t[k]));
		inside = m8_and(inside, m8_and(f8_le(f8_set1(c->lower[k]), p[k]), f8_le(p[k], f8_set1(c->upper[k]))));
	}
	uint32_t lanes = m8_bits(inside) & ((1u << block->count) - 1);
	if (!lanes)
		return;
	uint32_t certain = 0;
	if (c->grid->cells) {
		const f8 known = grid_at(c->grid, p), side = f8_set1(CR_CELL_INSIDE);
		certain = m8_bits(f8_le(side, known));
		lanes &= certain | m8_bits(f8_lt(known, f8_set1(c->far_distance)));
		if (!lanes)
			return;
	}
	float origin[3][CR_WIDTH];
	for (int k = 0; k < 3; k++)
		f8_store(origin[k], p[k]);
	const cr_sample_rays *r = c->rays;
	do {
		const int i = cr_take_lowest_bit(&lanes);
		const int32_t at = c->count++;
		for (int k = 0; k < 3; k++) {
			const float *m = c->to_target->r[k];
			r->origin[k][at] = origin[k][i];
			r->direction[k][at] = (m[0] * block->inward[0][i] + m[1] * block->inward[1][i]) + m[2] * block->inward[2][i];
		}
		r->t_max[at] = c->exit_limit ? block->exit[i] : INFINITY;
		r->sample[at] = CR_WIDTH * number + i;
		r->certain[at] = (uint8_t)(certain >> i & 1);
	} while (lanes);
}

static int32_t collect(const cr_collider *source, const cr_collider *target, const cr_transform *to_target,
	const cr_transform *to_source, float margin, bool exit_limit, const cr_sample_rays *rays, int32_t first, int64_t *tested)
{
	if (source->sample_tree.node_count == 0 || target->tree.node_count == 0)
		return 0;
	collector c = { source, to_target, &target->grid, { 0 }, { 0 }, 1, exit_limit, rays, first };
	for (int k = 0; k < 3; k++) {
		c.lower[k] = target->lower[k] - margin;
		c.upper[k] = target->upper[k] + margin;
	}
	if (margin > 0) {
		// A point at distance d in cells is at least d - 1 cells away.
		const float cells = target->grid.cells ? margin * target->grid.inverse_cell * 1.001f : 0;
		c.far_distance = cells + 1;
	}
	// As in the walk for pairs of triangles: 20 roundings of 2^-24 at worst.
	const float rounding = (source->scale + target->scale) * 0x1p-19f;
	float lower[3], upper[3], store_lower[3][CR_WIDTH], store_upper[3][CR_WIDTH];
	const box8 grown = spread_box(c.lower, c.upper);
	const box8 in_source = transform_boxes(&grown, to_source, f8_set1(rounding));
	store_boxes(&in_source, store_lower, store_upper);
	for (int k = 0; k < 3; k++) {
		lower[k] = store_lower[k][0];
		upper[k] = store_upper[k][0];
	}
	uint32_t stack[SAMPLE_STACK];
	int top = 0;
	stack[top++] = 0;
	while (top > 0) {
		const cr_node8 *node = &source->sample_tree.nodes[stack[--top]];
		const box8 boxes = load_boxes(node->lower, node->upper);
		uint32_t met = overlap_one(&boxes, lower, upper);
		if (met) {
			const box8 boxes_in_target = transform_boxes(&boxes, to_target, f8_set1(rounding));
			met &= overlap_one(&boxes_in_target, c.lower, c.upper);
			if (met)
				met &= ~grid_outside(c.grid, &boxes_in_target, margin);
		}
		while (met) {
			const uint32_t child = node->child[cr_take_lowest_bit(&met)];
			if (child & CR_LEAF_BIT) {
				const int32_t block = (int32_t)(child & ~CR_LEAF_BIT);
				*tested += source->samples[block].count;
				collect_block(&c, block);
			} else {
				stack[top++] = child;
			}
		}
	}
	return c.count - first;
}

// ---- Iterative rays ----

enum { SAMPLE_FLOATS = sizeof(cr_sample8) / sizeof(float) };

/// Of eight watched samples from first on: those whose gap may be used up. now: where they are in the target's frame.
static inline uint32_t find_free(const cr_collider *source, const cr_transform *to_target, const cr_transform *then,
	const cr_watch *watched, int32_t used, float margin, float now[3][CR_WIDTH])
{
	int32_t at[CR_WIDTH];
	float gaps[CR_WIDTH];
	for (int i = 0; i < CR_WIDTH; i++) {
		const cr_watch *w = &watched[i < used ? i : 0];
		at[i] = w->sample / CR_WIDTH * SAMPLE_FLOATS + w->sample % CR_WIDTH;
		gaps[i] = w->gap;
	}
	const i8 index = i8_load(at);
	f8 own[3], squares = f8_set1(0), size = f8_set1(source->scale);
	for (int k = 0; k < 3; k++)
		own[k] = f8_gather(&source->samples[0].point[k][0], index);
	for (int k = 0; k < 3; k++) {
		const f8 here = f8_add(rotate_row(to_target, k, own), f8_set1(to_target->t[k]));
		const f8 moved = f8_sub(here, f8_add(rotate_row(then, k, own), f8_set1(then->t[k])));
		squares = f8_add(squares, f8_mul(moved, moved));
		size = f8_add(size, f8_abs(here));
		f8_store(now[k], here);
	}
	// Less the roundings of the two points and of the gap.
	const f8 allowed = f8_sub(f8_sub(f8_load(gaps), f8_set1(margin)), f8_mul(size, f8_set1(0x1p-20f)));
	const m8 held = m8_and(f8_lt(f8_set1(0), allowed), f8_lt(squares, f8_mul(allowed, allowed)));
	return ~m8_bits(held) & ((1u << used) - 1);
}

static int32_t follow(const cr_collider *source, const cr_transform *to_target, const cr_transform *then,
	const cr_watch *watched, int32_t count, float margin, bool exit_limit, const cr_sample_rays *rays, int32_t *place,
	int32_t *entry, int32_t first)
{
	int32_t at = first;
	for (int32_t begin = 0; begin < count; begin += CR_WIDTH) {
		float now[3][CR_WIDTH];
		const int32_t used = count - begin < CR_WIDTH ? count - begin : CR_WIDTH;
		uint32_t lanes = find_free(source, to_target, then, watched + begin, used, margin, now);
		while (lanes) {
			const int i = cr_take_lowest_bit(&lanes);
			const cr_watch *w = &watched[begin + i];
			const cr_sample8 *block = &source->samples[w->sample / CR_WIDTH];
			const int lane = w->sample % CR_WIDTH;
			for (int k = 0; k < 3; k++) {
				const float *m = to_target->r[k];
				rays->origin[k][at] = now[k][i];
				rays->direction[k][at] =
					(m[0] * block->inward[0][lane] + m[1] * block->inward[1][lane]) + m[2] * block->inward[2][lane];
			}
			rays->t_max[at] = exit_limit ? block->exit[lane] : INFINITY;
			rays->sample[at] = w->sample;
			rays->certain[at] = 0;
			place[at] = w->place;
			entry[at] = begin + i;
			at++;
		}
	}
	return at - first;
}

// ---- Separation of triangles ----

enum { BLOCK_FLOATS = sizeof(cr_tri8) / sizeof(float) };

/// Corners of eight triangles, corner by axis, one in each lane.
static inline void gather_triangles(const cr_collider *c, const int32_t number[CR_WIDTH], f8 corner[3][3])
{
	int32_t at[CR_WIDTH];
	for (int i = 0; i < CR_WIDTH; i++) {
		const int32_t place = c->place[number[i]];
		at[i] = place / CR_WIDTH * BLOCK_FLOATS + place % CR_WIDTH;
	}
	const i8 index = i8_load(at);
	for (int k = 0; k < 3; k++) {
		for (int x = 0; x < 3; x++)
			corner[k][x] = f8_gather(&c->blocks[0].corner[k][x][0], index);
	}
}

static inline f8 dot3(const f8 a[3], const f8 b[3])
{
	return f8_add(f8_add(f8_mul(a[0], b[0]), f8_mul(a[1], b[1])), f8_mul(a[2], b[2]));
}

static inline void cross3(const f8 a[3], const f8 b[3], f8 r[3])
{
	for (int k = 0; k < 3; k++) {
		const int l = (k + 1) % 3, m = (k + 2) % 3;
		r[k] = f8_sub(f8_mul(a[l], b[m]), f8_mul(a[m], b[l]));
	}
}

/// Distance of two triangles along an axis of any length; not more than 0 where they overlap along it, or where the axis has no
/// direction.
static inline f8 gap_along(const f8 axis[3], const f8 p[3][3], const f8 q[3][3])
{
	const f8 a0 = dot3(axis, p[0]), a1 = dot3(axis, p[1]), a2 = dot3(axis, p[2]);
	const f8 b0 = dot3(axis, q[0]), b1 = dot3(axis, q[1]), b2 = dot3(axis, q[2]);
	const f8 gap = f8_max(f8_sub(f8_min(f8_min(b0, b1), b2), f8_max(f8_max(a0, a1), a2)),
		f8_sub(f8_min(f8_min(a0, a1), a2), f8_max(f8_max(b0, b1), b2)));
	// Edges that are all but parallel give an axis whose squares are lost in the smallest numbers: taken as longer it gives no
	// gap too large.
	return f8_div(gap, f8_sqrt(f8_max(dot3(axis, axis), f8_set1(0x1p-120f))));
}

/// Distance of two triangles along that of their eleven separating axes where it is largest, or along a normal where that is
/// more than enough in all lanes. p's first corner is the origin.
static f8 largest_gap(const f8 p[3][3], const f8 q[3][3], f8 enough)
{
	f8 e[3][3], f[3][3], axis[3], gap = f8_set1(0);
	for (int k = 0; k < 3; k++) {
		for (int x = 0; x < 3; x++) {
			e[k][x] = f8_sub(p[(k + 1) % 3][x], p[k][x]);
			f[k][x] = f8_sub(q[(k + 1) % 3][x], q[k][x]);
		}
	}
	cross3(e[0], e[1], axis);
	gap = f8_max(gap_along(axis, p, q), gap);
	cross3(f[0], f[1], axis);
	gap = f8_max(gap_along(axis, p, q), gap);
	// Far enough by the normals alone: the edges could only tell of a larger gap.
	if (m8_bits(f8_lt(enough, gap)) == 0xff)
		return gap;
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++) {
			cross3(e[i], f[j], axis);
			gap = f8_max(gap_along(axis, p, q), gap);
		}
	}
	return gap;
}

static void separate(const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a, cr_candidate *candidates,
	int32_t count, float enough)
{
	// Twice that of the walk for candidates: the axes' products round as well.
	const f8 margin = f8_set1((a->scale + b->scale) * 0x1p-18f);
	for (int32_t first = 0; first < count; first += CR_WIDTH) {
		const int32_t used = count - first < CR_WIDTH ? count - first : CR_WIDTH;
		int32_t of_a[CR_WIDTH], of_b[CR_WIDTH];
		for (int i = 0; i < CR_WIDTH; i++) {
			of_a[i] = candidates[first + (i < used ? i : 0)].a;
			of_b[i] = candidates[first + (i < used ? i : 0)].b;
		}
		f8 p[3][3], own[3][3], q[3][3], origin[3];
		gather_triangles(a, of_a, p);
		gather_triangles(b, of_b, own);
		for (int x = 0; x < 3; x++)
			origin[x] = p[0][x];
		for (int k = 0; k < 3; k++) {
			for (int x = 0; x < 3; x++) {
				q[k][x] = f8_sub(f8_add(rotate_row(b_to_a, x, own[k]), f8_set1(b_to_a->t[x])), origin[x]);
				p[k][x] = f8_sub(p[k][x], origin[x]);
			}
		}
		float gaps[CR_WIDTH];
		f8_store(gaps, f8_max(f8_sub(largest_gap(p, q, f8_set1(enough)), margin), f8_set1(0)));
		for (int i = 0; i < used; i++)
			candidates[first + i].gap = gaps[i];
	}
}

/// Smallest box around the turned boxes of the outline.
static void bounds(const cr_collider *collider, const cr_transform *rotation, float lower[3], float upper[3])
{
	const f8 margin = f8_set1(collider->scale * 0x1p-20f);
	box8 all = spread_box((const float[3]){ 0, 0, 0 }, (const float[3]){ 0, 0, 0 });
	for (int i = 0; i < collider->outline_count; i++) {
		const box8 own = load_boxes(collider->outline[i].lower, collider->outline[i].upper);
		const box8 turned = transform_boxes(&own, rotation, margin);
		for (int k = 0; k < 3; k++) {
			all.lower[k] = i == 0 ? turned.lower[k] : f8_min(turned.lower[k], all.lower[k]);
			all.upper[k] = i == 0 ? turned.upper[k] : f8_max(turned.upper[k], all.upper[k]);
		}
	}
	float l[3][CR_WIDTH], u[3][CR_WIDTH];
	store_boxes(&all, l, u);
	for (int k = 0; k < 3; k++) {
		lower[k] = l[k][0];
		upper[k] = u[k][0];
		for (int i = 1; i < CR_WIDTH; i++) {
			lower[k] = l[k][i] < lower[k] ? l[k][i] : lower[k];
			upper[k] = u[k][i] > upper[k] ? u[k][i] : upper[k];
		}
	}
}

extern const cr_detect_kernels CR_ISA_NAME(cr_detect_kernels);
const cr_detect_kernels CR_ISA_NAME(cr_detect_kernels) = { collect, follow, separate, bounds };
