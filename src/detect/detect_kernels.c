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
const cr_detect_kernels CR_ISA_NAME(cr_detect_kernels) = { collect, bounds };
