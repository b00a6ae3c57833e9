/// The depths of the corners of a common part below a plane, eight at a time (manifold.c). Compiled
/// once for each instruction set (CR_ISA).
///
/// In double, in the arithmetic of manifold_points.c. Lanes in which rounding could change whether
/// a facet stands for a corner are left open: these are asked one by one.

#include "contact/contact_isa.h"
#include "math/simd.h"

typedef struct point8 {
	d8 c[3];
} point8;

static inline point8 load_place(double *const rows[3], int32_t first)
{
	return (point8){ { d8_load(rows[0] + first), d8_load(rows[1] + first), d8_load(rows[2] + first) } };
}

static inline d8 dot8(v3d a, point8 p)
{
	return d8_add(d8_add(d8_mul(d8_set1(a.x), p.c[0]), d8_mul(d8_set1(a.y), p.c[1])), d8_mul(d8_set1(a.z), p.c[2]));
}

/// Lanes of corners first to first + 7 that lie over a triangle of the plane's facet. *open: those
/// that rounding leaves open.
static inline uint32_t lie_over(const cr_corner_columns *c, const cr_plane_row *row, int32_t first, uint32_t *open)
{
	const point8 p = load_place(c->place[row->side], first);
	const d8 rounding = d8_mul(d8_set1(CR_HEIGHT_ROUNDING), d8_add(d8_load(c->size[row->side] + first), d8_set1(row->scale)));
	const d8 below = d8_sub(d8_set1(0), rounding);
	uint32_t over = 0, undecided = 0;
	for (int32_t i = 0; i < row->triangles; i++) {
		const cr_edge_height *e = row->edges + 3 * i;
		d8 lowest = d8_set1(INFINITY);
		for (int k = 0; k < 3; k++)
			lowest = d8_min(d8_sub(dot8(e[k].inward, p), d8_set1(e[k].offset - row->rim)), lowest);
		const uint32_t surely = d8_lt(rounding, lowest);
		over |= surely;
		undecided |= ~(surely | d8_lt(lowest, below));
	}
	*open = undecided & ~over;
	return over;
}

/// Lanes of corners first to first + 7 that the plane stands for, if they lie below it. *open:
/// those that must be asked.
static inline uint32_t stands_for(const cr_corner_columns *c, const cr_plane_row *row, int32_t first, uint32_t *open)
{
	*open = 0;
	if (row->stands_for_all)
		return 0xff;
	const uint32_t pierces =
		m8_bits(i8_eq(i8_load(c->pierced + first), i8_set1(row->facet))) & c->pierces_of[1 - row->side][first / CR_WIDTH];
	*open = 0xff & ~pierces;
	return row->triangles == 0 ? pierces : pierces | lie_over(c, row, first, open);
}

uint32_t CR_ISA_NAME(cr_measure_row)(const cr_corner_columns *c, const cr_plane_row *row, int32_t begin, int32_t end,
	float *depth, float *unproved, uint8_t *left, float *nearest)
{
	const bool facet = row->facet >= 0;
	const f8 none = f8_set1(-1);
	uint32_t found = 0;
	for (int32_t first = begin; first < end; first += CR_WIDTH) {
		const uint32_t used = c->count - first < CR_WIDTH ? (1u << (c->count - first)) - 1 : 0xff;
		const d8 d = d8_sub(d8_set1(row->offset), dot8(row->normal, load_place(c->place[0], first)));
		const uint32_t high = d8_lt(d, d8_set1(-row->tolerance)) & used;
		const uint32_t low = used & ~high & (row->only ? row->only[first / CR_WIDTH] : 0xff);
		found |= high ? CR_ROW_ABOVE : 0;
		uint32_t open = 0, stands = low ? low & stands_for(c, row, first, &open) : 0;
		open &= low & ~stands;
		// The other body's surface below a corner on the plane's own facet counts, not the corner.
		const uint32_t on = facet ? c->vertices_of[row->side][first / CR_WIDTH] & ~d8_lt(d8_set1(row->tolerance), d) : 0;
		const f8 reach = d8_to_floats(d8_max(d, d8_set1(0)));
		const f8 known = f8_select(m8_from_bits(stands & ~on), reach, none);
		f8_store(depth + first, known);
		const f8 unknown = f8_select(m8_from_bits(on), f8_set1(INFINITY), reach);
		f8_store(unproved + first, f8_select(m8_from_bits(open | (stands & on)), unknown, none));
		left[first / CR_WIDTH] = (uint8_t)(open | (stands & on));
		found |= (open | (stands & on) ? CR_ROW_LEFT : 0) | (open & ~on ? CR_ROW_UNDECIDED : 0);
		if (!facet)
			continue;
		const f8 before = f8_load(nearest + first);
		const m8 nearer = m8_and(f8_lt(known, before), m8_from_bits(stands & c->vertices_of[1 - row->side][first / CR_WIDTH]));
		f8_store(nearest + first, f8_select(nearer, known, before));
	}
	return found;
}

float CR_ISA_NAME(cr_find_deepest)(const float *depth, const int32_t *waits, int32_t count)
{
	f8 most = f8_set1(0);
	for (int32_t i = 0; i < count; i += CR_WIDTH)
		most = f8_max(f8_select(i8_lt(i8_load(waits + i), i8_set1(0)), f8_load(depth + i), f8_set1(0)), most);
	return f8_highest(most);
}

void CR_ISA_NAME(cr_settle_corners)(const float *depth, float most, int32_t count, int32_t *waits)
{
	for (int32_t i = 0; i < count; i += CR_WIDTH) {
		const f8 d = f8_load(depth + i);
		const m8 settled = m8_and(f8_le(f8_set1(0), d), f8_le(d, f8_set1(most)));
		i8_store(waits + i, i8_select(settled, i8_set1(0), i8_load(waits + i)));
	}
}

void CR_ISA_NAME(cr_measure_hull_heights)(const cr_hull_side *corners, const cr_hull_side *planes, cr_hull_heights *h)
{
	for (int32_t first = 0; first < corners->corner_count; first += CR_WIDTH) {
		const point8 p = { { d8_load(corners->corner[0] + first), d8_load(corners->corner[1] + first),
			d8_load(corners->corner[2] + first) } };
		d8 most = d8_set1(-INFINITY);
		for (int32_t k = 0; k < planes->plane_count; k++) {
			const d8 height = d8_sub(dot8(planes->normal[k], p), d8_set1(planes->offset[k]));
			d8_store(h->height[k] + first, height);
			most = d8_max(height, most);
		}
		d8_store(h->most + first, most);
	}
	for (int32_t k = 0; k < planes->plane_count; k++) {
		double lowest = INFINITY;
		for (int32_t i = 0; i < corners->corner_count; i++)
			lowest = h->height[k][i] < lowest ? h->height[k][i] : lowest;
		h->lowest[k] = lowest;
	}
}

/// The heights of a point over planes first to first + 7.
static inline d8 heights_over(const double *const normal[3], const double *offset, int32_t first, v3d at)
{
	const d8 x = d8_mul(d8_load(normal[0] + first), d8_set1(at.x)), y = d8_mul(d8_load(normal[1] + first), d8_set1(at.y));
	return d8_sub(d8_add(d8_add(x, y), d8_mul(d8_load(normal[2] + first), d8_set1(at.z))), d8_load(offset + first));
}

int32_t CR_ISA_NAME(cr_find_highest)(const double *const normal[3], const double *offset, int32_t count, v3d at, double *most)
{
	double lanes[CR_WIDTH];
	d8 highest = d8_set1(-INFINITY);
	for (int32_t first = 0; first < count; first += CR_WIDTH)
		highest = d8_max(heights_over(normal, offset, first, at), highest);
	d8_store(lanes, highest);
	*most = lanes[0];
	for (int k = 1; k < CR_WIDTH; k++)
		*most = lanes[k] > *most ? lanes[k] : *most;
	for (int32_t first = 0; first < count; first += CR_WIDTH) {
		const uint32_t there = 0xff & ~d8_lt(heights_over(normal, offset, first, at), d8_set1(*most));
		if (there)
			return first + __builtin_ctz(there);
	}
	return 0;
}
