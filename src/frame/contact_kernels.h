/// Wide kernels of the stages: one table for each instruction set, all with the same bits.
#ifndef CR_FRAME_CONTACT_KERNELS_H
#define CR_FRAME_CONTACT_KERNELS_H

#include "bvh/bvh_kernels.h"
#include "mesh/facets.h"

/// A sample that is watched, and the place of the triangle that its line met last, or that was
/// nearest.
typedef struct cr_watch {
	int32_t sample; // 8 * block + lane in the source's samples
	int32_t place;  // in the target's blocks
	// distance from the surface at the last full step; negative: inside then or since
	float gap;
} cr_watch;

/// How a source has moved against a target since the last full step of their pair.
typedef struct cr_motion_since {
	const cr_transform *then; // to the target's frame at that step; NULL: of a pair that deforms
	float any;                // then: how far any two points may have moved against each other
} cr_motion_since;

/// Room for a list whose last lanes are filled up.
static inline int32_t cr_lanes_of(int32_t count) { return (count + CR_WIDTH - 1) / CR_WIDTH * CR_WIDTH; }

/// Rays made from samples, in the target's frame. Rows of equal length.
typedef struct cr_sample_rays {
	float *origin[3];
	float *direction[3];
	float *t_max;
	int32_t *sample; // 8 * block + lane in the source's samples
	int8_t *side;    // of the origin, as the grid says: 1 inside, -1 outside, 0 not known
	// full rays, where the vertex stage asked: distance from the surface; 0: not known
	float *gap;
} cr_sample_rays;

// Of a product of three differences, or the dot of one with the cross product of two: six products,
// each off by at most seven roundings of 2^-53, and as much again for safety. In the product of the
// largest components.
#define CR_PRODUCT_ERROR 1e-14

/// Where the edges of up to eight pairs of triangles pierce the other triangle; by body, a first,
/// then by edge or corner.
typedef struct cr_pierces8 {
	// of the corners over the other triangle's plane, times twice its area
	double height[2][3][CR_WIDTH];
	// lanes in which a corner lies above the plane; else it lies below
	uint32_t above[2][3];
	uint32_t pierces[2][3]; // lanes in which edge k, from corner k on, pierces the triangle
	// lanes that rounding leaves open; the masks are then not to be used
	uint32_t open;
	uint32_t crossing; // lanes that are open, or have a pierce; where it is 0, nothing else is set
} cr_pierces8;

/// The corners of a common part (contact/common_part.h), filled up to a multiple of CR_WIDTH.
typedef struct cr_corner_columns {
	int32_t count;
	double *place[2][3]; // in the frames of A and of B
	double *size[2];     // |x| + |y| + |z| there
	int32_t *pierced;    // of a place where an edge pierces: the facet of the other body; else -1
	// of each eight, by the body whose they are: lanes of such places, and of other corners
	uint8_t *pierces_of[2];
	uint8_t *vertices_of[2];
} cr_corner_columns;

/// How far a point lies inward of an edge of a triangle: inward . p - offset, mesh's frame.
typedef struct cr_edge_height {
	v3d inward; // unit
	double offset;
} cr_edge_height;

// Of the coordinates: heights above an edge are told from each other down to a hundredth of this,
// whichever way they are worked out.
#define CR_HEIGHT_ROUNDING 1e-12

/// A small hull (cr_facets.edges) in the frame of A.
typedef struct cr_hull_side {
	int32_t corner_count;
	int32_t plane_count;
	double corner[3][CR_FEW_CORNERS]; // filled up to a multiple of CR_WIDTH by the first one
	v3d normal[CR_FEW_FACETS];        // of its facets, outward
	double offset[CR_FEW_FACETS];
} cr_hull_side;

/// How high the corners of a small hull lie over the planes of another one.
typedef struct cr_hull_heights {
	double height[CR_FEW_FACETS][CR_FEW_CORNERS]; // [plane][corner]
	double lowest[CR_FEW_FACETS];                 // of all corners over a plane
	double most[CR_FEW_CORNERS];                  // of a corner over all planes
} cr_hull_heights;

/// A plane as the corners below it are measured.
typedef struct cr_plane_row {
	v3d normal; // A's frame
	double offset;
	double tolerance; // corners so far above count as touching it
	int side;         // the body whose facet it is
	int32_t facet;    // -1: a plane along two edges
	bool stands_for_all;
	const uint8_t *only; // of each eight: the lanes that it may stand for; NULL: all
	// Of the triangles of its facet, three each, where it does not stand for all; triangles 0: they
	// are not asked here.
	const cr_edge_height *edges;
	int32_t triangles;
	double rim;   // points so far beyond an edge count as over the facet
	double scale; // of the mesh
} cr_plane_row;

/// What measure finds of a row: a corner above the plane; one that is left to be proved; one of
/// these of which it is not known whether the plane stands for it.
enum { CR_ROW_ABOVE = 1, CR_ROW_LEFT = 2, CR_ROW_UNDECIDED = 4 };

/// How often the surface of a collider winds around a point (cr_bvh_kernels.winding).
typedef int cr_winding_fn(const cr_collider *collider, const float origin[3], const float direction[3]);

typedef struct cr_contact_kernels {
	/// Rays from the samples of source that lie in the box of target grown by margin and are not
	/// certainly farther than margin outside its surface. Walks the source's sample tree.
	/// exit_limit: t_max is the sample's exit distance, else infinite. winding: that of
	/// cr_bvh_kernels, which tells the sides of samples where a closed target has no grid. Writes
	/// from position first on; room for all samples of source must be there. Adds the samples
	/// reached to *tested. Returns the number of rays.
	int32_t (*collect)(const cr_collider *source, const cr_collider *target, const cr_transform *to_target,
		const cr_transform *to_source, float margin, bool exit_limit, cr_winding_fn *winding, const cr_sample_rays *rays,
		int32_t first, int64_t *tested);
	/// Rays from those watched samples of source that may be inside, with the places where their
	/// walks begin and the numbers of their entries: rows from position first on. Left out are
	/// samples that have moved by less than their gap, and margin, since the last full step; and,
	/// where margin is 0, those that were outside and have no place to begin, while the target's
	/// grid knows it outside. Returns the number of rays. exit_limit as above.
	int32_t (*follow)(const cr_collider *source, const cr_collider *target, const cr_transform *to_target,
		const cr_motion_since *since, const cr_watch *watched, int32_t count, float margin, bool exit_limit,
		const cr_sample_rays *rays, int32_t *place, int32_t *entry, int32_t first);
	/// Of a list of gaps, filled up with infinite ones to a multiple of CR_WIDTH, the numbers of
	/// the gaps that are at most moved, in their order; room for count + CR_WIDTH. Returns how
	/// many; the smallest of the others, infinite where there is none, goes to *beyond.
	int32_t (*sift)(const float *gaps, int32_t count, float moved, int32_t *number, float *beyond);
	/// Box (own frame) around the triangles of b in a list of candidates, at least one.
	void (*enclose)(const cr_collider *b, const cr_candidate *listed, int32_t count, float lower[3], float upper[3]);
	/// How far apart the triangles of candidates are now: sets their gap to a lower bound of the
	/// distance, 0 where they may meet. From the separating axes of two triangles (both normals,
	/// the nine products of edges; Gottschalk, Lin, Manocha 1996), less a margin for rounding. A
	/// gap beyond enough need not be the largest; enough 0: only triangles that may meet are
	/// certain to be found.
	void (*separate)(const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a, cr_candidate *candidates,
		int32_t count, float enough);
	/// Pierces of up to eight pairs, at least one. rotation and translation: of b in a's frame.
	void (*pierce)(const cr_collider *a, const cr_collider *b, const m3d *rotation, v3d translation, const cr_candidate *pairs,
		int32_t count, cr_pierces8 *found);
	/// The depths of corners first to end - 1 below a plane, into rows with room for the lanes that
	/// are filled up; first is a multiple of CR_WIDTH, and end too, or the number of corners.
	/// depth: -1 where the plane does not stand for a corner, or that is left to be proved.
	/// unproved: of the latter the depth if the plane stands for the corner, INFINITY where it must
	/// be measured from the corner; else -1. left: of each eight, the lanes that are left. nearest:
	/// the least depths so far of corners below facets of the other body, brought up to date.
	/// Returns what it found.
	uint32_t (*measure)(const cr_corner_columns *corners, const cr_plane_row *row, int32_t first, int32_t end, float *depth,
		float *unproved, uint8_t *left, float *nearest);
	/// The greatest of count depths where waits is -1 and not 0; 0 where there is none. Room for
	/// count filled up to a multiple of CR_WIDTH; waits is 0 there.
	float (*deepest)(const float *depth, const int32_t *waits, int32_t count);
	/// Sets waits to 0 where a depth is at least 0 and at most most. Room as for deepest.
	void (*settle)(const float *depth, float most, int32_t count, int32_t *waits);
	/// The heights of the corners of a small hull over the planes of another one.
	void (*hull_heights)(const cr_hull_side *corners, const cr_hull_side *planes, cr_hull_heights *heights);
	/// The plane that a point is highest above, the first of equal ones, and its height there.
	/// count: of the planes, a multiple of CR_WIDTH.
	int32_t (*highest)(const double *const normal[3], const double *offset, int32_t count, v3d at, double *most);
	/// Box around a turned collider (not moved: the position is added in double), from its outline,
	/// rounded outward.
	void (*bounds)(const cr_collider *collider, const cr_transform *rotation, float lower[3], float upper[3]);
} cr_contact_kernels;

/// The table for an instruction set that was built in.
const cr_contact_kernels *cr_get_contact_kernels(carom_simd simd);

#endif
