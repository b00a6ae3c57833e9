/// Moves at which parts of two colliders may overlap, for eight parts of one at once, in double.
/// Compiled once for each instruction set (CR_ISA). See bvh/clear_way.c.
#include "bvh/bvh_isa.h"

/// Eight boxes, as middles and half extents, or eight triangles.
typedef struct part8 {
	d8 middle[3], extent[3]; // of boxes
	d8 corner[3][3];         // of triangles
	bool triangles;
} part8;

static inline void load_boxes(const cr_node8 *node, part8 *p)
{
	const d8 half = d8_set1(0.5);
	p->triangles = false;
	for (int k = 0; k < 3; k++) {
		const d8 lower = d8_load_floats(node->lower[k]), upper = d8_load_floats(node->upper[k]);
		p->middle[k] = d8_mul(d8_add(lower, upper), half);
		p->extent[k] = d8_mul(d8_sub(upper, lower), half);
	}
}

static inline void load_triangles(const cr_tri8 *block, part8 *p)
{
	p->triangles = true;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++)
			p->corner[i][k] = d8_load_floats(block->corner[i][k]);
	}
}

static inline d8 dot(const d8 n[3], const d8 p[3])
{
	return d8_add(d8_add(d8_mul(n[0], p[0]), d8_mul(n[1], p[1])), d8_mul(n[2], p[2]));
}

/// How far the parts reach along an axis.
static inline void reach_along(const part8 *p, const d8 n[3], d8 shift, d8 *low, d8 *high)
{
	if (p->triangles) {
		const d8 x = dot(n, p->corner[0]), y = dot(n, p->corner[1]), z = dot(n, p->corner[2]);
		*low = d8_add(d8_min(d8_min(x, y), z), shift);
		*high = d8_add(d8_max(d8_max(x, y), z), shift);
		return;
	}
	const d8 size[3] = { d8_abs(n[0]), d8_abs(n[1]), d8_abs(n[2]) };
	const d8 middle = d8_add(dot(n, p->middle), shift), reach = dot(size, p->extent);
	*low = d8_sub(middle, reach);
	*high = d8_add(middle, reach);
}

/// Bounds the moves by each axis. Returns the lanes that an axis across the way parts.
static inline uint32_t bound_moves(
	const cr_slide_axes *axes, const part8 *p, int side, const cr_slide_span *other, d8 *enter, d8 *leave)
{
	const d8 slack = d8_set1(axes->slack), zero = d8_set1(0);
	uint32_t parted = 0;
	*enter = d8_set1(-INFINITY);
	*leave = d8_set1(INFINITY);
	for (int i = 0; i < CR_SLIDE_AXES; i++) {
		const double(*axis)[CR_SLIDE_AXES] = axes->axis[side];
		const d8 n[3] = { d8_set1(axis[0][i]), d8_set1(axis[1][i]), d8_set1(axis[2][i]) };
		const d8 other_low = d8_set1(other->low[i]), other_high = d8_set1(other->high[i]);
		d8 low, high;
		reach_along(p, n, d8_set1(axes->shift[side][i]), &low, &high);
		const d8 back = d8_sub(side ? d8_sub(low, other_high) : d8_sub(other_low, high), slack);
		const d8 forth = d8_add(side ? d8_sub(high, other_low) : d8_sub(other_high, low), slack);
		if (axes->slope[i] == 0) {
			parted |= d8_lt(zero, back) | d8_lt(forth, zero);
			continue;
		}
		const d8 inverse = d8_set1(axes->inverse[i]), u = d8_mul(back, inverse), v = d8_mul(forth, inverse);
		*enter = d8_max(*enter, d8_min(u, v));
		*leave = d8_min(*leave, d8_max(u, v));
	}
	return parted;
}

uint32_t CR_ISA_NAME(cr_slide_parts)(const cr_slide_axes *axes, const cr_collider *c, int side, uint32_t child,
	const cr_slide_span *other, double enter[CR_WIDTH], double leave[CR_WIDTH])
{
	part8 p;
	d8 first, last;
	int count;
	if (child & CR_LEAF_BIT) {
		const cr_tri8 *block = &c->blocks[child & ~CR_LEAF_BIT];
		load_triangles(block, &p);
		count = block->count;
	} else {
		load_boxes(&c->tree.nodes[child], &p);
		count = (int)c->tree.nodes[child].child_count;
	}
	const uint32_t parted = bound_moves(axes, &p, side, other, &first, &last) | d8_lt(last, first);
	d8_store(enter, first);
	d8_store(leave, last);
	return ~parted & ((1u << count) - 1);
}
