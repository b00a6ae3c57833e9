/// Contacts that a solver can use: patches, each with the direction that belongs to it.
#ifndef CR_CONTACT_MANIFOLD_H
#define CR_CONTACT_MANIFOLD_H

#include "contact/common_part.h"

/// Facets of so many triangles are asked triangle by triangle, without the tree.
enum { CR_FEW_TRIANGLES = 8 };

// Depths are as good as each other within this share; a plane settles corners that are deeper by no
// more.
#define CR_SAME_DEPTH 1e-3

/// Edges of each body that are tried against each other as planes.
enum { CR_MOST_RIDGES = 64 };

/// A facet that is asked about many points. The heights above the edges of its triangles tell
/// nearly always; where rounding could matter, each triangle is asked as for a single point.
typedef struct cr_facet_test {
	const cr_completion *completion;
	int side;
	int32_t facet;
	double tolerance;
	cr_edge_height *edges; // of each triangle three, for at most CR_FEW_TRIANGLES
} cr_facet_test;

/// A plane that may part the two bodies where they overlap: that of a facet, or one along two edges
/// that cross.
typedef struct cr_reference_plane {
	int side;        // the body whose facet it is; 1 for edges
	int32_t facet;   // -1: edges
	int32_t edge[2]; // half-edges of A and of B
	v3d normal;      // out of that body, A's frame, unit
	double offset;   // normal . p on the plane
	double area;     // of the facet; 0 for edges, -1 where they are nearest at an end
	// of small hulls: of all that is below, once it is measured; else that of edges, and 0 of a
	// facet
	double depth;
	double led;          // how far its patch leads out; 0: it has none
	cr_facet_test *test; // of the facet, of a body that is not convex; NULL: not made yet
	int32_t known;       // so many corners are measured: the elements, or all
	int32_t deepest_at;  // m->settled for which deepest is told, -1: it is not
	float deepest;       // of the known depths of corners that wait (deepest_known)
	bool left;           // depths of corners below it may be left to be proved
	bool slips;          // along an open mesh
	bool measured;       // small hulls: depth is known
	bool chosen;
} cr_reference_plane;

/// A plane that may be chosen, and what it costs: at first the least that this can be.
typedef struct cr_candidate_plane {
	double cost;
	int32_t plane;
} cr_candidate_plane;

enum { CR_MOST_HOLLOW = 6 };

/// A vertex inside the other body, or the middle of a piece of an edge inside it, below a hollow
/// edge or corner of that body: its feet on the facets there lie beyond the edge, and it must come
/// up through all of them.
typedef struct cr_hollow_vertex {
	int32_t corner;
	int32_t count;
	int32_t plane[CR_MOST_HOLLOW];
	bool done; // it need not wait for another plane
} cr_hollow_vertex;

/// A way along which two bodies part altogether (parting_bound.c).
typedef struct cr_parting_way {
	double depth;  // how far
	int side;      // the body that the normal leads out of
	v3d normal;    // A's frame, unit
	double top;    // the greatest normal . p of that body
	double bottom; // the least one of the other body
} cr_parting_way;

/// A facet of each body that lies flat on the other one (flat_faces.c).
typedef struct cr_flat_pair {
	int32_t plane[2]; // of A's facet and of B's
	double depth;     // of the deepest corner between them
} cr_flat_pair;

/// The work on one pair.
typedef struct cr_manifold {
	cr_completion *completion;
	const cr_overlap *overlap;
	double tolerance; // metres: nearer points count as touching
	cr_reference_plane *planes;
	int32_t plane_count;
	int32_t facet_planes;      // of facets; those of edges follow them
	cr_corner_columns columns; // the corners
	int32_t stride;            // their number, filled up to a multiple of CR_WIDTH
	// [plane_count][stride] The depths of corners below planes; negative: the plane does not stand
	// for the corner, or that is not proved yet. All that a patch may take is proved of its plane.
	float *depth;
	// likewise: the depth if the plane stands for the corner, INFINITY: to be measured; negative:
	// it is proved
	float *unproved;
	// likewise: the triangle at the end of a way that was measured from a vertex on the plane; set
	// with its depth. NULL of small hulls
	int32_t *way_triangle;
	// [plane_count][stride / CR_WIDTH] lanes that may be left to be proved
	uint8_t *left;
	int32_t *waits;                 // [stride] -1: the corner has no patch yet; else 0
	int32_t settled;                // how often waits has changed
	float *own;                     // [stride] depths of elements in the other body; 0: not known
	cr_candidate_plane *candidates; // [facet_planes + 1] of a choice
	cr_hollow_vertex *hollow;       // those found (hollow.c)
	int32_t hollow_count;
	cr_flat_pair *flat;
	int32_t flat_count;
	bool flat_known;      // they were looked for
	cr_parting_way apart; // the shortest one that was found
	bool apart_known;     // it was looked for
	bool failed;
} cr_manifold;

/// The entry of a corner below a plane in the depths.
static inline size_t cr_entry_of(const cr_manifold *m, int32_t plane, int32_t corner)
{
	return (size_t)plane * (size_t)m->stride + (size_t)corner;
}

/// Lanes of the corners below a plane that are left to be proved, of each eight.
static inline uint8_t *cr_left_of(const cr_manifold *m, int32_t plane)
{
	return m->left + (size_t)plane * (size_t)m->stride / CR_WIDTH;
}

/// The depth of a corner below a plane; negative: the plane does not stand for it. Finds out what
/// is not known yet.
float cr_depth_below(cr_manifold *manifold, int32_t plane, int32_t corner);
/// How far to go along a plane's normal: the deepest corner of those not settled below it; of small
/// hulls, of all that is. Where that is more than limit, something above limit.
double cr_depth_of_plane(cr_manifold *manifold, int32_t plane, double limit);
/// Does a point (A's frame) lie over or under the facet of a plane?
bool cr_facet_of_plane_has(cr_manifold *manifold, int32_t plane, v3d at);

/// Do two meshes make patches where their surfaces cross? Their facets are then to be made.
bool cr_bodies_make_patches(const cr_pipeline *pipeline, const cr_body *a, const cr_body *b);
/// Is a pair of meshes one for cr_make_manifold?
bool cr_wants_manifold(const cr_pipeline *pipeline, const cr_pair_work *work);
/// Make the contacts of a pair whose crossings are found. Returns whether there is one.
bool cr_make_manifold(cr_completion *completion, const cr_candidates *crossing);

/// Add the planes along two ridges that cross. Of bodies that are not both convex: those that may
/// be chosen for the middle of a piece; all: those for a pierce too. capacity: of the planes.
/// false: out of memory (ridges.c).
bool cr_add_ridge_planes(cr_manifold *manifold, int32_t capacity, bool all);

/// Are both bodies of a pair small hulls, which cr_collide_hulls can decide?
bool cr_are_hulls(const cr_pipeline *pipeline, const cr_pair_work *work);
/// Decide a pair of small hulls by their planes and edges, and make its contacts. false: rounding
/// leaves it open, or one lies inside the other; it is then to be decided by triangles, and nothing
/// is changed. Sets worker->failed when out of memory. (hull_pair.c)
bool cr_collide_hulls(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work);
/// The patch of two small hulls that cross. lowest: of each facet, the height of the other body's
/// lowest corner over it. false: out of memory.
bool cr_make_hull_patch(cr_completion *completion, const cr_overlap *overlap, const double *const lowest[2]);

/// The triangle of a facet that a point (A's frame) lies over or under, within tolerance; -1: none
/// (manifold_points.c).
int32_t cr_facet_triangle_at(const cr_completion *completion, int side, int32_t facet, v3d point, double tolerance);
/// Make a facet ready for cr_facet_has: the answers of cr_facet_triangle_at, of many points
/// (manifold_points.c). edges: room for three heights of each triangle of the facet, if these are
/// few.
void cr_begin_facet_test(
	const cr_completion *completion, int side, int32_t facet, double tolerance, cr_edge_height *edges, cr_facet_test *test);
/// Does a point (A's frame) lie over or under a triangle of the facet?
bool cr_facet_has(const cr_facet_test *test, v3d point);
/// As cr_facet_triangle_at, of a point in the frame of the facet's mesh.
int32_t cr_triangle_of_facet_at(const cr_bvh_kernels *kernels, const cr_collider *collider, const cr_facets *facets,
	int32_t facet, v3d point, double tolerance);
/// How far it is from a point of a body (A's frame) to its surface along a direction, and the
/// triangle there; 0, and -1, where that is not known (manifold_points.c).
double cr_way_through(const cr_completion *completion, int side, v3d point, v3d direction, int32_t *triangle);
/// Add the contacts of a plane that was chosen, none deeper than deepest (manifold_points.c).
void cr_add_patch(cr_manifold *manifold, int32_t plane, double deepest);

/// Find the elements below hollow edges, and give them depths. false: out of memory (hollow.c).
bool cr_find_hollow(cr_manifold *manifold);
/// The record of such an element; NULL: it is none.
cr_hollow_vertex *cr_hollow_at(const cr_manifold *manifold, int32_t corner);
/// After a plane settled corners: let those elements wait that have another plane to come through.
void cr_wait_for_hollow(cr_manifold *manifold, int32_t plane);

/// The plane to take where an element has chosen one: that plane, or the facet of a flat pair that
/// leads out all which the plane would; -1: none, the patch of a flat pair does it. Sets
/// manifold->failed when out of memory (flat_faces.c).
int32_t cr_prefer_flat(cr_manifold *manifold, int32_t plane);

/// Does a piece of an edge, which has chosen a plane, need no patch of its own: does that lean away
/// from the surface there, and does a patch that was made lead it out? (served.c)
bool cr_is_served(const cr_manifold *manifold, int32_t element, int32_t plane);
/// Metres: points so far from a plane count as on it. Triangles of a facet lie off its plane by the
/// facets' slack.
static inline double cr_plane_tolerance(const cr_manifold *manifold, const cr_reference_plane *plane)
{
	return manifold->tolerance + (plane->facet < 0 ? 0 : manifold->overlap->facets[plane->side]->slack);
}

/// The shortest way that parts two bodies altogether among the axes of both bodies' boxes. O(parts
/// of the bodies) (parting_bound.c).
cr_parting_way cr_begin_parting_way(const cr_completion *completion);
/// Is there a way that parts two closed bodies altogether, and is shorter than a depth? Only asked
/// of depths that are more than small (parting_bound.c).
bool cr_parts_sooner(cr_manifold *manifold, double depth);
/// Add the contact of a corner along that way.
void cr_add_parting_contact(cr_manifold *manifold, int32_t corner);

/// Does a plane push along an open mesh that has a front, not to it? (open_front.c)
bool cr_slips_along(const cr_manifold *manifold, const cr_reference_plane *plane);
/// Does the open mesh end, or turn away, wherever it lies deepest below such a plane? row: the
/// depths of the corners below it (open_front.c).
bool cr_leads_clear(const cr_manifold *manifold, const cr_reference_plane *plane, const float *row);
/// Add the contacts that lead a body's vertices behind an open mesh to its front, where no plane
/// gave a contact (open_front.c).
void cr_add_way_to_front(cr_manifold *manifold);

#endif
