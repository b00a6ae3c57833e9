/// Wide kernels over colliders: one table for each instruction set, all with the same bits.
#ifndef CR_BVH_BVH_KERNELS_H
#define CR_BVH_BVH_KERNELS_H

#include "base/arena.h"
#include "bvh/collider.h"
#include "carom/mesh_query.h"
#include "geom/triangle.h"
#include "math/transform.h"

/// Triangles of two colliders that may intersect, or come within reach of each other.
typedef struct cr_candidate {
	int32_t a; // triangle numbers, file order
	int32_t b;
	float gap; // they are at least this far apart; 0: they may cross
} cr_candidate;

/// Is a triangle of a body (0: a, 1: b) none that a walk shall find?
typedef bool cr_skip_fn(const void *user, int body, int32_t triangle);

typedef struct cr_candidates {
	cr_candidate *data;
	int32_t count;
	int32_t capacity;
	cr_arena *arena;
	void *room;       // in the arena, of the walk: NULL until the first one
	int32_t most;     // above 0: a walk that has found more gives up, and the list is incomplete
	bool failed;      // out of memory: the list is incomplete
	cr_skip_fn *skip; // of the walk; NULL: it finds all
	const void *skip_user;
} cr_candidates;

/// Make room for more candidates (copies within the arena). Sets failed.
bool cr_candidates_grow(cr_candidates *candidates, int32_t more);

// The loss of float in a transform or in the height over a plane, of the largest coordinate. A
// coordinate is a sum of up to three products and a translation, each up to sqrt(3) of the
// coordinates there are: about 20 roundings of 2^-24 at worst, a plane distance 24. 2^-19 is 32.
#define CR_PAIR_ROUNDING 0x1p-19f

/// That loss in the lengths of two bodies, in a walk of cr_bvh_kernels.pairs.
static inline float cr_pair_margin(const cr_collider *a, const cr_collider *b, float reach)
{
	return (a->scale + b->scale + reach) * CR_PAIR_ROUNDING;
}

/// Does a walk take the collider with fewer triangles, b, through the other one's tree?
static inline bool cr_is_b_source(const cr_collider *a, const cr_collider *b) { return b->triangle_count < a->triangle_count; }

/// The hits of lines: forward as carom_hit_batch; backward the nearest hit behind the origin.
typedef struct cr_line_hits {
	int32_t *triangle; // forward: number in file order, -1: none
	float *t;
	uint8_t *back;
	int32_t *behind_triangle; // backward; -1: none within reach
	float *behind_t;          // >= 0: how far behind
	uint8_t *behind_back;     // as back, of the forward direction: leaving the solid along it
} cr_line_hits;

/// How a walk ended.
typedef enum cr_walk_end {
	CR_WALK_LOST,  // max_walk triangles, a border edge, or a triangle along the line
	CR_WALK_BACK,  // a triangle met from behind: the line leaves the solid there
	CR_WALK_FRONT, // a triangle met from the front
} cr_walk_end;

/// Lines and where their walks begin and end. Rows of equal length.
typedef struct cr_walk_lines {
	const float *origin[3];
	const float *direction[3]; // need not have unit length; t counts in its lengths
	// in: the place (cr_collider) to start from, negative: none; out: where the walk ended, unless
	// lost
	int32_t *place;
	float *t;     // out: signed: negative behind the origin; 0 when lost
	uint8_t *end; // out: cr_walk_end
} cr_walk_lines;

/// The surface point nearest to a point.
typedef struct cr_near_point {
	double distance2; // squared
	int32_t triangle; // file order
	cr_triangle_point on;
} cr_near_point;

/// Where two colliders are nearest, in the frame of the first.
typedef struct cr_collider_gap {
	double distance2; // squared
	int32_t a, b;     // triangle numbers, file order
	cr_triangle_point on_a, on_b;
} cr_collider_gap;

enum { CR_SLIDE_AXES = 8 };

/// Axes along which two bodies are measured, of which A slides along a direction.
typedef struct cr_slide_axes {
	double axis[2][3][CR_SLIDE_AXES]; // unit, in the frame of A and of B: x, y and z of each
	double shift[2][CR_SLIDE_AXES];   // of the body's origin along the axes: 0 for A
	double slope[CR_SLIDE_AXES];      // of the direction along the axes; 0: across
	double inverse[CR_SLIDE_AXES];    // of the slope
	double slack;                     // both ends of all moves give way by it
} cr_slide_axes;

/// The reach of a part along each axis, in A's frame.
typedef struct cr_slide_span {
	double low[CR_SLIDE_AXES];
	double high[CR_SLIDE_AXES];
} cr_slide_span;

/// The hit of a ray.
typedef struct cr_packed_hit {
	int32_t triangle; // -1: none
	float t;
	bool back;
} cr_packed_hit;

/// A ray in double; direction need not have unit length, but must be finite and not zero.
typedef struct cr_query_ray {
	v3d origin;
	v3d direction;
	double t_min;
	double t_max;
} cr_query_ray;

/// Up to eight boxes: floats relative to a place, rounded outward.
typedef struct cr_boxes8 {
	const float (*lower)[CR_WIDTH]; // [3]
	const float (*upper)[CR_WIDTH]; // [3]
	const double *origin;           // [3] the place
} cr_boxes8;

/// One of the boxes where it is, grown by more than the addition of the origin rounds.
static inline void cr_box_in_place(const cr_boxes8 *boxes, int lane, double lower[3], double upper[3])
{
	for (int k = 0; k < 3; k++) {
		const double l = (double)boxes->lower[k][lane] + boxes->origin[k], u = (double)boxes->upper[k][lane] + boxes->origin[k];
		lower[k] = l - fabs(l) * 0x1p-51;
		upper[k] = u + fabs(u) * 0x1p-51;
	}
}

typedef struct cr_bvh_kernels {
	/// Nearest hit of rays begin..end-1 by the wide tree, watertight. Equal t: by cr_hit_precedes.
	void (*cast)(
		const cr_collider *collider, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits);
	/// The nearest hit of one ray among all triangles of a collider, which have been copied into
	/// blocks (cr_pack_triangles), with the bits of cast. triangle: -1, and t 0, where there is
	/// none.
	void (*cast_packed)(const cr_collider *collider, const cr_tri8 *blocks, int32_t count, const float origin[3],
		const float direction[3], cr_packed_hit *hit);
	/// How far a ray travels before it leaves the solid through a back face; triangles with a
	/// corner at the origin do not count. Infinite where there is none, or where the direction is
	/// zero.
	float (*exit)(const cr_collider *collider, const float origin[3], const float direction[3]);
	/// How often a closed surface winds around the origin of a ray: crossings from inside minus
	/// crossings from outside, points of edges given to one side by symbolic perturbation so that
	/// none counts twice. 0: outside.
	int (*winding)(const cr_collider *collider, const float origin[3], const float direction[3]);
	/// Nearest hits of lines begin..end-1: forward as cast, to t_max, and in the same traversal
	/// backward, to reach (>= 0, finite). Watertight. A hit at the origin counts as forward. Equal
	/// t: by cr_hit_precedes, behind as of the turned ray.
	void (*cast_lines)(const cr_collider *collider, const carom_ray_batch *rays, int32_t begin, int32_t end, float reach,
		const cr_line_hits *hits);
	/// Walk lines begin..end-1 over the triangles of a collider, at most max_walk each
	/// (walk_kernels.c). visited grows by the triangles looked at.
	void (*walk)(const cr_collider *collider, const cr_walk_lines *lines, int32_t begin, int32_t end, int32_t max_walk,
		int64_t *visited);
	/// Candidate pairs of triangles of a and b that may be within reach (>= 0, finite) of each
	/// other, from boxes and planes with a margin for rounding. Triangles that are not among them
	/// are farther apart than reach. b_to_a is the transform of b's points to a's frame, a_to_b its
	/// inverse.
	void (*pairs)(const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a, const cr_transform *a_to_b,
		float reach, cr_candidates *candidates);
	/// Triangles whose box overlaps a box (own frame), as blocks of the tree: up to capacity
	/// written, returns how many there are.
	int32_t (*blocks_in_box)(
		const cr_collider *collider, const float lower[3], const float upper[3], int32_t capacity, int32_t *blocks);
	/// Distance from a point to the nearest triangle within max_distance, and its number; infinite
	/// and -1 when there is none. Float: off by a few roundings of the coordinates. Equal
	/// distances: by cr_triangle_precedes.
	float (*nearest)(const cr_collider *collider, const float point[3], float max_distance, int32_t *triangle);
	/// The surface point nearest to a point, in double, not further than max_distance (>= 0, may be
	/// infinite); false when there is none (closest_kernels.c). Of triangles equally near the
	/// lowest number. expected: whether one is likely to be found; where it is not, no guess is
	/// made first.
	bool (*closest)(const cr_collider *collider, v3d point, double max_distance, bool expected, cr_near_point *nearest);
	/// Triangles that may be within reach (>= 0, finite) of a point, by number in file order: up to
	/// capacity written, in the order of the tree; returns how many there are. Those that are not
	/// among them are farther away, as cr_closest_on_triangle rounds it (closest_kernels.c).
	int32_t (*around)(const cr_collider *collider, v3d point, double reach, int32_t capacity, int32_t *triangles);
	/// Nearest points of the surfaces of a and b, not further apart than max_distance (>= 0, may be
	/// infinite); false when there are none (gap_kernels.c). b's points go to a's frame by b_to_a,
	/// then b_in_a is added. Of pairs equally near, the lowest numbers, a's first; of pairs that
	/// intersect (cr_triangles_intersect), the one met first, the same on every machine.
	bool (*gap)(
		const cr_collider *a, const cr_collider *b, const m3d *b_to_a, v3d b_in_a, double max_distance, cr_collider_gap *gap);
	/// Bring blocks and boxes of the tree of a collider up to date whose vertices have all moved;
	/// boxes of triangles grow by pad. Counts the triangles of each class of lengths [CR_LENGTHS].
	/// Returns false, with the work left half done, where a triangle has lost its area
	/// (refit_kernels.c).
	bool (*refit)(cr_collider *collider, float pad, int32_t *lengths);
	/// Bring the places of the samples of a collider, and the boxes of their tree, up to date: they
	/// are those of the vertices of its topology (refit_kernels.c).
	void (*refit_samples)(cr_collider *collider);
	/// Bounds of the moves at which a part of one body overlaps each of eight parts of the other, a
	/// mesh: the boxes of a node of its tree, or the triangles of a block (child, as nodes name
	/// them). side: 0 if that body is A, which moves. Returns the lanes for which there are any
	/// (slide_kernels.c).
	uint32_t (*slide)(const cr_slide_axes *axes, const cr_collider *collider, int side, uint32_t child,
		const cr_slide_span *other, double enter[CR_WIDTH], double leave[CR_WIDTH]);
	/// The parameters at which a ray enters eight boxes, with the bits of cr_ray_box for each of
	/// them where it is (cr_box_in_place). Returns the lanes that it meets; the parameters of the
	/// others mean nothing (ray_box_kernels.c).
	uint32_t (*ray_boxes)(const cr_query_ray *ray, const cr_boxes8 *boxes, double enter[CR_WIDTH]);
} cr_bvh_kernels;

/// The table for an instruction set that was built in.
const cr_bvh_kernels *cr_get_bvh_kernels(carom_simd simd);

#endif
