/// @file collide.h
/// Shapes without a world. Two shapes at two poses: how far apart they are, where they touch, and
/// when they first meet. One shape: where a ray hits it, its point nearest to another, its mass.
///
/// Shapes: sphere, box, capsule, hull, cylinder, cone, ellipsoid, meshes and height fields, in any
/// pair; a plane against any of these. Each has its rounding, meshes and height fields in
/// carom_distance, carom_overlap and carom_time_of_impact. carom_collide_convex alone takes no
/// meshes (CAROM_UNSUPPORTED). A pose or motion may be NULL: the identity. Positions are first
/// taken relative to each other, so places far from the origin lose nothing.
///
/// All calls are thread-safe and give equal bits on every machine. They return
/// CAROM_INVALID_ARGUMENT for wrong arguments; carom_error_text(context) names the call and the
/// field. The context is used for that text, for its instruction set, and for memory. These calls
/// alone take memory: carom_collide, carom_overlap of two meshes, and carom_distance of a mesh of
/// several pieces (30 bytes a triangle while it runs).
#ifndef CAROM_COLLIDE_H
#define CAROM_COLLIDE_H

#include "carom/results.h"
#include "carom/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How far two shapes are apart, or how far one must move to come out of the other.
typedef struct carom_separation {
	/// Signed distance, metres. Negative: moving A by -distance along normal parts the shapes. It
	/// is never above the true one: shapes that are apart have a plane across normal between them,
	/// and a move by -distance always parts shapes that overlap.
	double distance;
	/// The true signed distance lies between distance and distance + error. error is a millionth of
	/// the sizes or less, except in some deep overlaps of two curved shapes.
	double error;
	carom_vec3 normal;  ///< unit, world frame, from B to A
	carom_vec3 point_a; ///< the nearest point of A's surface, or the deepest; world frame
	carom_vec3 point_b; ///< and of B's
} carom_separation;

/// Tell the separation of two shapes. Sources: Gilbert, Johnson and Keerthi (1988) for shapes that
/// are apart, with steps of sequential quadratic programming (Wilson 1963) where they are curved;
/// van den Bergen (2001) for shapes that overlap.
///
/// Meshes and height fields, concave or not, may be A, B or both. They are seen as worlds see them,
/// in float.
/// - Apart: the nearest points of the surfaces, and normal along the line between them.
/// - Overlapping: moving A by -distance along normal parts the two, whatever their form, also where
///   one lies wholly inside the other, and also the doubles that a mesh was made from. The move is
///   near the shortest one, but need not be the shortest: error is all of the depth. point_a and
///   point_b are told before the move, and touch after it.
/// - A closed mesh is solid. An open one has no inside: it is met where its triangles are, and a
///   shape behind it is apart. A mesh without triangles is infinitely far from everything.
/// - With a rounding, the distance of shapes that are apart is that of the bare surfaces less the
///   roundings. Where the sums overlap, the way out parts the sums.
///
/// Cost with meshes: apart as carom_mesh_distance. Overlapping some forty searches along
/// directions: tenths of a millisecond for a convex shape and a mesh, one or two milliseconds for
/// two meshes of a thousand triangles that stand deep in each other. Where hundreds of triangles
/// are near, as those of a hole around a peg, it takes tens of milliseconds, and of a nut on its
/// bolt hundreds. CAROM_OUT_OF_MEMORY is possible for a mesh of several pieces. Source: Je et al.,
/// PolyDepth: Real-Time Penetration Depth Computation Using Iterative Contact-Space Projection
/// (2012).
CAROM_API carom_result carom_distance(carom_context *context, const carom_shape *a,
	const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b,
	carom_separation *separation);
/// Most contacts of a manifold.
#define CAROM_MAX_MANIFOLD 8

/// A point of a manifold.
typedef struct carom_manifold_point {
	carom_vec3 point; ///< on A's surface, world frame
	double depth;     ///< along the normal; negative: so far apart
} carom_manifold_point;

/// The patch in which two shapes meet.
typedef struct carom_manifold {
	carom_vec3 normal; ///< unit, world frame, from B to A; of all points
	int32_t count;     ///< 0: the shapes are farther apart than the margin
	carom_manifold_point points[CAROM_MAX_MANIFOLD];
} carom_manifold;

/// Find the nearest hit of a ray on any shape, as carom_world_cast_ray tells it of a world with
/// this one body, to the bit. *found tells whether there is one; the body of hit is null. Takes no
/// memory.
CAROM_API carom_result carom_shape_cast_ray(carom_context *context, const carom_shape *shape,
	const carom_pose *pose, const carom_ray *ray, bool *found, carom_ray_hit *hit);

/// Find the point of a shape's surface that is nearest to point, if it lies within max_distance (0
/// or more, may be INFINITY), as carom_world_closest_point tells it of a world with this one body,
/// to the bit. The body of result is null. Takes no memory.
CAROM_API carom_result carom_shape_closest_point(carom_context *context, const carom_shape *shape,
	const carom_pose *pose, carom_vec3 point, double max_distance, bool *found,
	carom_closest_point *result);

/// Tell whether two shapes overlap, as carom_world_overlap_shape asks it of a body. Touching
/// counts. Of meshes it is far cheaper than contacts or a distance, since it ends at the first two
/// triangles that intersect. Of two convex shapes it takes as long as their distance.
/// - A closed mesh is solid: each piece of another mesh that lies inside it overlaps it. An open
///   mesh is met at its triangles.
/// - Meshes are seen as worlds see them, in float. Whether triangles intersect is decided exactly.
/// - Two planes: CAROM_UNSUPPORTED.
///
/// Two meshes take memory (CAROM_OUT_OF_MEMORY is possible). *overlap is false on failure.
/// Thread-safe.
CAROM_API carom_result carom_overlap(carom_context *context, const carom_shape *a,
	const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b, bool *overlap);

/// Find the manifold of two convex shapes, or of one and a plane: points with a depth of at least
/// -margin (margin 0 or more). Faces that lie on each other give the corners of their common part,
/// edges side by side its two ends, all else one point. For a narrow phase of your own: it takes no
/// memory. A mesh is CAROM_UNSUPPORTED; carom_collide takes it. Source: Gregorius, Robust Contact
/// Creation for Physics Simulations (2015).
CAROM_API carom_result carom_collide_convex(carom_context *context, const carom_shape *a,
	const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b, double margin,
	carom_manifold *manifold);

/// Find the contacts of any two shapes but two planes, meshes and height fields included. They are
/// those of the first step of a world with default settings and a speculative_distance of margin (0
/// or more), in which A is a dynamic body and B a static one (where A is a plane, A is the static
/// one). There are at most 8, in the order and with the meaning that worlds give them; body ids are
/// null. *count is the number of contacts there are; the first capacity of them are written.
/// contacts may be NULL when capacity is 0.
///
/// It runs on the calling thread alone: for many pairs a world is cheaper. It takes memory from the
/// context, which keeps the lists of up to 16 calls, up to 512 KB each, for later calls, and frees
/// them at its end. Thread-safe. CAROM_OUT_OF_MEMORY is possible; *count is 0 on failure.
CAROM_API carom_result carom_collide(carom_context *context, const carom_shape *a,
	const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b, double margin,
	int32_t capacity, carom_contact *contacts, int32_t *count);

/// The pose of a motion at a time from 0 to 1. Poses must be valid (carom_pose). Thread-safe, the
/// same bits on every machine.
CAROM_API carom_pose carom_motion_pose(const carom_motion *motion, double time);
/// The answer of carom_time_of_impact.
typedef struct carom_toi {
	carom_toi_status status;
	double time; ///< in [0, 1], never later than the true impact; 1 for CAROM_TOI_APART
	/// At time, where the shapes come near each other. For CAROM_TOI_APART without meshes: as the
	/// search saw it last.
	carom_separation separation;
	int32_t steps; ///< how many separations it took
	/// The triangle of A's mesh that separation is about; -1 where A is no mesh or has no
	/// triangles.
	int32_t triangle_a;
	int32_t triangle_b; ///< of B's, likewise
} carom_toi;

/// Find when two moving shapes meet: a time at which they are within tolerance (above 0) of each
/// other, or within 1e-10 of their sizes more, which is left to rounding, and before which they
/// were never nearer than half of tolerance. No impact is missed, however fast they turn: each step
/// of the search is proved to be free of impacts. A motion of NULL is rest at the identity. A shape
/// cast is a carom_straight_motion. Source: Mirtich, Impulse-based Dynamic Simulation (1996),
/// conservative advancement.
///
/// Any two shapes but two planes (CAROM_UNSUPPORTED). A plane may move and turn; it is solid below.
/// Meshes and height fields, concave or not, may be A, B or both; they are seen as worlds see them,
/// in float.
/// - Shapes that begin within tolerance of each other are CAROM_TOI_TOUCHING, wherever they move.
/// - separation is that of the two triangles, or the triangle and the other shape, that are nearest
///   to each other at time (for CAROM_TOI_APART at time 1).
/// - A closed mesh is solid. A shape whose middle begins inside (of a mesh: a corner of any of its
///   pieces) is CAROM_TOI_TOUCHING, and separation leads it out, by the way to the nearest point of
///   the surface.
/// - A mesh without triangles meets nothing; separation is zero then.
///
/// Cost: O(log n) where the surfaces come near each other in one place, and O(n) more for a mesh of
/// several pieces near a closed one. Surfaces that stay close to each other all the way, as those
/// of a peg in its hole or a nut on its bolt, are looked at span by span of time: the triangles
/// that are close, times a number of spans that grows with the root of the turn and of one over the
/// gap. That is some milliseconds for a peg that turns in its hole, and some tenths of a second for
/// ten thousand triangles of a nut and its bolt. carom_time_of_impact_within takes a budget.
CAROM_API carom_result carom_time_of_impact(carom_context *context, const carom_shape *a,
	const carom_motion *motion_a, const carom_shape *b, const carom_motion *motion_b,
	double tolerance, carom_toi *toi);

/// Find when two moving shapes meet, as carom_time_of_impact, with a budget. *work (0 or more) is
/// how much may be done: a look at two parts of the shapes counts 1, a separation 16. It is not a
/// time, so results are the same on every machine; a million takes a few tenths of a second. *work
/// counts down by the work done, to 0 at least: several calls may share it.
/// - Where the budget is used up, status is CAROM_TOI_UNDECIDED: the way is proved to be clear up
///   to toi->time, nothing is known beyond, and separation is zero. A longer budget leads farther.
///   A caller moves so far and asks again from there, or takes it for an impact.
/// - Where the budget is enough, the answer is one that carom_time_of_impact may give; where the
///   search takes less than half of the budget and is short, to the bit.
///
/// Two shapes without meshes take 13,000 at most, and are not broken off once they are begun. The
/// nearest triangles of separation are sought after the time is known, and do not count; nor does
/// whether one shape begins inside the other. Errors: those of carom_time_of_impact; work is NULL,
/// or *work is negative. On failure *work stays. Takes no memory.
CAROM_API carom_result carom_time_of_impact_within(carom_context *context, const carom_shape *a,
	const carom_motion *motion_a, const carom_shape *b, const carom_motion *motion_b,
	double tolerance, int64_t *work, carom_toi *toi);

/// Tell the mass, centre of mass and inertia of a shape at density 1, in its own frame: mass is its
/// volume. Multiply mass and inertia by the density. A solver needs nothing more.
/// - Spheres, boxes, capsules, cylinders, cones and ellipsoids, rounded boxes and rounded hulls
///   have closed forms. Rounded cylinders and cones are integrated along their outline, as exactly.
/// - A rounded ellipsoid is integrated over 1,600 directions of an octant. It is within a part in
///   10^6 where no semi-axis is more than 5 times another, in 10^4 up to 10 times, and in 100 up to
///   100 times.
/// - A hull or a mesh is as carom_mesh_get_mass tells it, of its vertices in float. A mesh that
///   carom_create_scaled_mesh made is that of its new size.
///
/// CAROM_INVALID_ARGUMENT: a plane, which has no end, or a field of shape is wrong (the text names
/// it). CAROM_INVALID_MESH: a mesh of type CAROM_MESH is not closed or has no volume. On failure
/// *mass is not written. Takes no memory. Thread-safe. (Parts of a rounded hull: Steiner, Ueber
/// parallele Flaechen, 1840.)
CAROM_API carom_result carom_shape_get_mass(
	carom_context *context, const carom_shape *shape, carom_mass *mass);

/// Tell the mass, centre of mass and inertia of a body made of parts [part_count], in the frame of
/// the body. densities [part_count] are those of the parts, all above 0; NULL: they are 1. Where
/// parts overlap, their common volume counts for each.
///
/// part_count must be above 0. Errors and threads as of carom_shape_get_mass; the text names the
/// part. Each pose must be finite, with a unit quaternion; user_data is not read.
CAROM_API carom_result carom_parts_get_mass(carom_context *context, const carom_part *parts,
	int32_t part_count, const double *densities, carom_mass *mass);

#ifdef __cplusplus
}
#endif
#endif
