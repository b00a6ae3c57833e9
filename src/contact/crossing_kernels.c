/// Where the edges of eight pairs of triangles pierce the other triangle, in double, with error
/// bounds: cases that they leave open are for the exact predicates (pierces.c). Compiled once for
/// each instruction set (CR_ISA).
///
/// Two edges, one of each triangle, span the same volume whichever of them is asked about the
/// other: nine volumes decide for all six edges.

#include "contact/contact_isa.h"
#include "math/simd.h"

typedef struct point8 {
	d8 c[3];
} point8;

static inline point8 sub8(point8 a, point8 b)
{
	return (point8){ { d8_sub(a.c[0], b.c[0]), d8_sub(a.c[1], b.c[1]), d8_sub(a.c[2], b.c[2]) } };
}

static inline d8 dot8(point8 a, point8 b)
{
	return d8_add(d8_add(d8_mul(a.c[0], b.c[0]), d8_mul(a.c[1], b.c[1])), d8_mul(a.c[2], b.c[2]));
}

static inline point8 cross8(point8 a, point8 b)
{
	return (point8){ { d8_sub(d8_mul(a.c[1], b.c[2]), d8_mul(a.c[2], b.c[1])),
		d8_sub(d8_mul(a.c[2], b.c[0]), d8_mul(a.c[0], b.c[2])), d8_sub(d8_mul(a.c[0], b.c[1]), d8_mul(a.c[1], b.c[0])) } };
}

static inline d8 largest8(point8 a) { return d8_max(d8_max(d8_abs(a.c[0]), d8_abs(a.c[1])), d8_abs(a.c[2])); }

/// Corners of the triangles of one body, in its own frame. The last pair fills up the lanes.
static inline void load_corners(
	const cr_collider *c, bool of_b, const cr_candidate *pairs, int32_t count, double corner[3][3][CR_WIDTH])
{
	for (int32_t i = 0; i < CR_WIDTH; i++) {
		const cr_candidate *pair = &pairs[i < count ? i : count - 1];
		const int32_t *triangle = &c->topology->triangles[3 * (int64_t)(of_b ? pair->b : pair->a)];
		for (int k = 0; k < 3; k++) {
			const float *vertex = &c->topology->vertices[3 * (int64_t)triangle[k]];
			for (int x = 0; x < 3; x++)
				corner[k][x][i] = vertex[x];
		}
	}
}

static inline point8 load_point(double row[3][CR_WIDTH])
{
	return (point8){ { d8_load(row[0]), d8_load(row[1]), d8_load(row[2]) } };
}

static inline d8 place_row(v3d row, double t, point8 p)
{
	const d8 sum = d8_add(d8_mul(d8_set1(row.x), p.c[0]), d8_mul(d8_set1(row.y), p.c[1]));
	return d8_add(d8_add(sum, d8_mul(d8_set1(row.z), p.c[2])), d8_set1(t));
}

/// Lanes in which a number is certainly above 0, and certainly below.
typedef struct sides8 {
	uint32_t above;
	uint32_t below;
} sides8;

static inline sides8 sides_of(d8 x, d8 bound) { return (sides8){ d8_lt(bound, x), d8_lt(x, d8_sub(d8_set1(0), bound)) }; }

/// The corners p of one triangle over the plane of another, in the arithmetic of pierces.c.
/// distance: largest component of any difference of corners of the two.
static inline void measure_heights(const point8 t[3], const point8 p[3], d8 distance, double height[3][CR_WIDTH], sides8 side[3])
{
	const point8 e = sub8(t[1], t[0]), g = sub8(t[2], t[0]), n = cross8(e, g);
	const d8 bound = d8_mul(d8_mul(d8_set1(CR_PRODUCT_ERROR), d8_mul(largest8(e), largest8(g))), distance);
	for (int k = 0; k < 3; k++) {
		const d8 h = dot8(n, sub8(p[k], t[0]));
		d8_store(height[k], h);
		side[k] = sides_of(h, bound);
	}
}

/// Lanes in which edge k pierces, and that are open: from the sides of its ends, and of the volumes
/// it spans with the edges of the other triangle.
static inline uint32_t decide_edge(sides8 first, sides8 last, const sides8 volume[3], uint32_t *open)
{
	const uint32_t straddling = (first.above & last.below) | (first.below & last.above);
	const uint32_t meeting =
		(volume[0].above & volume[1].above & volume[2].above) | (volume[0].below & volume[1].below & volume[2].below);
	const uint32_t passing =
		(volume[0].above | volume[1].above | volume[2].above) & (volume[0].below | volume[1].below | volume[2].below);
	*open |= straddling & ~(meeting | passing);
	return straddling & meeting;
}

/// Lanes in which all corners of a triangle lie surely on one side of the other's plane.
static inline uint32_t lie_apart(const sides8 side[3])
{
	return (side[0].above & side[1].above & side[2].above) | (side[0].below & side[1].below & side[2].below);
}

void CR_ISA_NAME(cr_find_pierces)(const cr_collider *a, const cr_collider *b, const m3d *rotation, v3d translation,
	const cr_candidate *pairs, int32_t count, cr_pierces8 *found)
{
	double corner[3][3][CR_WIDTH];
	point8 p[3], q[3], difference[3][3];
	load_corners(a, false, pairs, count, corner);
	for (int k = 0; k < 3; k++)
		p[k] = load_point(corner[k]);
	load_corners(b, true, pairs, count, corner);
	for (int k = 0; k < 3; k++) {
		const point8 own = load_point(corner[k]);
		q[k] = (point8){ { place_row(rotation->row[0], translation.x, own), place_row(rotation->row[1], translation.y, own),
			place_row(rotation->row[2], translation.z, own) } };
	}
	d8 distance = d8_set1(0), length = d8_set1(0);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++) {
			difference[i][j] = sub8(q[j], p[i]);
			distance = d8_max(largest8(difference[i][j]), distance);
		}
	}
	sides8 side[2][3], volume[3][3];
	measure_heights(q, p, distance, found->height[0], side[0]);
	measure_heights(p, q, distance, found->height[1], side[1]);
	const uint32_t near = ((1u << count) - 1) & ~(lie_apart(side[0]) | lie_apart(side[1]));
	found->open = found->crossing = 0;
	if (!near)
		return;
	point8 edge[3];
	for (int i = 0; i < 3; i++) {
		edge[i] = sub8(p[(i + 1) % 3], p[i]);
		length = d8_max(largest8(edge[i]), length);
	}
	const d8 bound = d8_mul(d8_mul(d8_mul(d8_set1(CR_PRODUCT_ERROR), length), distance), distance);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			volume[i][j] = sides_of(dot8(cross8(edge[i], difference[i][j]), difference[i][(j + 1) % 3]), bound);
	}
	uint32_t open = 0, pierced = 0;
	for (int k = 0; k < 3; k++) {
		const int l = (k + 1) % 3;
		const sides8 across[3] = { volume[0][k], volume[1][k], volume[2][k] };
		open |= ~(side[0][k].above | side[0][k].below) | ~(side[1][k].above | side[1][k].below);
		found->above[0][k] = side[0][k].above;
		found->above[1][k] = side[1][k].above;
		found->pierces[0][k] = decide_edge(side[0][k], side[0][l], volume[k], &open);
		found->pierces[1][k] = decide_edge(side[1][k], side[1][l], across, &open);
		pierced |= found->pierces[0][k] | found->pierces[1][k];
	}
	found->open = open & near;
	found->crossing = (open | pierced) & near;
}
