/// When two things that move first come near each other: convex bodies, meshes or planes, in any
/// pair but two planes. No impact is missed; the proof is at the head of the source. Nothing here
/// allocates; everything may run on many threads at once.
#ifndef CR_BVH_MOVER_H
#define CR_BVH_MOVER_H

#include "bvh/collider_query.h"
#include "geom/guard.h"

/// A convex body, a mesh or a plane on its way.
typedef struct cr_mover {
	const cr_convex *convex;     // NULL: none
	const cr_collider *collider; // of a mesh; NULL: none
	cr_motion motion;            // neither: a plane, the half space z <= 0 of its frame
	bool two_sided;              // of a mesh: its triangles have no front
	bool many_pieces;            // of a mesh: one may lie in another body, and others beside it
	double padding;              // of a mesh: radius of a ball that is added to it
	// of a body that touches another: how much deeper it may get; 0: half of the tolerance
	double sinking;
	// It gets no deeper at all than it is, and comes into nothing that it touches: so a shape that
	// goes on from where it was stopped, time and again, does not creep in.
	bool held;
} cr_mover;

typedef struct cr_mover_impact {
	cr_impact impact;
	int32_t triangle[2]; // of meshes, numbers in file order; -1: no mesh, or nothing is near
	bool inside;         // one begins inside the other, a closed mesh: separation leads it out
	bool deep;           // of cr_find_later_impact: they overlap too deeply to tell an impact
	// of cr_find_mover_impact_within: separation and triangles are told; no work was left
	bool told, out_of_work;
} cr_mover_impact;

/// Nothing comes within a motion.
static inline cr_mover_impact cr_no_impact(void)
{
	return (cr_mover_impact){ { .state = CR_IMPACT_NONE, .time = 1, .separation_time = 1 }, .triangle = { -1, -1 } };
}

/// Is it a mesh without triangles?
static inline bool cr_is_empty(const cr_mover *m) { return m->collider && m->collider->triangle_count == 0; }

/// Two parts that wait. Smaller keys go first.
typedef struct cr_part_pair {
	float key; // rounded down: floats save a quarter of the room
	uint32_t part[2];
} cr_part_pair;

/// Room for a search, 11 KB, which need not be set. Apart, for some callers have no such stack
/// left.
typedef struct cr_mover_scratch {
	cr_part_pair stack[CR_TWO_TREES_STACK];
} cr_mover_scratch;

/// Finds the first time before limit (0 to 1) at which A and B come within tolerance (above 0) of
/// each other. Those that begin within it are CR_IMPACT_TOUCHING, whatever they are and wherever
/// the motions lead. A closed mesh is solid: a body that begins inside is CR_IMPACT_TOUCHING, and
/// separation leads its middle out through the nearest point of the surface. Else with a mesh
/// separation is not set: cr_find_nearest_parts tells it. A mesh without triangles is near nothing.
void cr_find_mover_impact(const cr_bvh_kernels *kernels, cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b,
	double tolerance, double limit, cr_mover_impact *impact);

/// Does so with a limit of work: looks at pairs of parts and separations. work counts down. Where
/// more than that is needed, impact is CR_IMPACT_UNDECIDED with out_of_work: the way is clear up to
/// its time, and nothing is known beyond. A search that is long goes span by span of time
/// (mover_spans.c), so that this time is of use; then separation and triangles are those of the
/// nearest parts (told). The time of such a search may be another one than cr_find_mover_impact
/// tells, within the promise of both.
void cr_find_mover_impact_within(const cr_bvh_kernels *kernels, cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b,
	double tolerance, double limit, int64_t *work, cr_mover_impact *impact);

/// Sets separation and triangles to the parts of A and B that are nearest to each other at
/// separation_time. Overlapping parts count by their depth. False: a mesh has no triangles.
bool cr_find_nearest_parts(cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b, cr_mover_impact *impact);

/// Does one of A and B, neither a mesh without triangles, begin inside the other, a closed mesh?
/// Then impact is CR_IMPACT_TOUCHING, and separation leads it out; else impact stays.
bool cr_find_inside(const cr_bvh_kernels *kernels, const cr_mover *a, const cr_mover *b, cr_mover_impact *impact);

enum { CR_MOST_OPEN_WAYS = 4 };

/// Directions along which two movers may be near each other, although they may be apart at the
/// beginning: a part beside one of them carries the other there. Neither mover is a plane.
typedef struct cr_open_ways {
	cr_guard guard[CR_MOST_OPEN_WAYS];
	int count;
} cr_open_ways;

/// How much deeper two movers that touch may get.
static inline double cr_sinking_of(const cr_mover *a, const cr_mover *b, double tolerance)
{
	const double least = a->sinking < b->sinking ? a->sinking : b->sinking, half = 0.5 * tolerance;
	return least > half && least < INFINITY ? least : half;
}

/// Do A and B touch at the beginning (within tolerance of each other, or overlapping)? Then finds
/// the next meeting: the first time before limit at which parts that were apart come within
/// tolerance of each other, or parts that touched push on into each other (touching.c), with
/// separation and triangles of the two parts. CR_IMPACT_TOUCHING: nothing comes, or they overlap so
/// deeply that nothing can be told (deep); then separation and triangles are those of the nearest
/// parts. ways (NULL: none): along these they may be near each other too. With some it does all
/// this for two that are apart at the beginning, and so it does where a mover is held;
/// CR_IMPACT_NONE then: nothing comes. Of those that are held and deep, and not both meshes,
/// separation is that of the parts that approach each other fastest (zero: none do). Of those that
/// are held and touch an impact may lie behind limit, and separation is along the way out that the
/// motion goes into least, of those that are about as near.
bool cr_find_later_impact(cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b, double tolerance, double limit,
	const cr_open_ways *ways, cr_mover_impact *impact);

/// Finds the stop of A or B, one of which is held: the impact of cr_find_later_impact; where they
/// overlap more deeply than that tells of, or one is inside the other, they are CR_IMPACT_TOUCHING
/// if they go deeper at once, by separation. CR_IMPACT_NONE: nothing stops them. The impact may lie
/// behind limit.
void cr_find_stop(const cr_bvh_kernels *kernels, cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b,
	double tolerance, double limit, cr_mover_impact *impact);
/// Returns how fast the gap of an impact changes at separation_time, along its normal.
double cr_impact_rate(const cr_mover *a, const cr_mover *b, const cr_impact *impact);

/// Tells the easy cases of a ball and a mesh that does not turn, with limit 1, much sooner: the
/// ball stays apart, begins inside, or touches at the beginning and meets nothing else
/// (ball_way.c).
/// False: these are no such two, or something more may happen; impact has nothing of use.
bool cr_find_ball_way(
	const cr_bvh_kernels *kernels, const cr_mover *a, const cr_mover *b, double tolerance, cr_mover_impact *impact);

/// A box in a mover's frame, and how far the farthest point in it lies from the origin.
typedef struct cr_mover_box {
	v3d centre;
	v3d extent;
	double reach;
} cr_mover_box;

/// Returns the box around a convex body or a mesh with triangles.
cr_mover_box cr_mover_bounds(const cr_mover *mover);
/// Returns a time before which a mover within a box of its frame stays farther than half the
/// tolerance from an axis-aligned box at rest; 0: perhaps not at all, 1 or more: all the way.
double cr_mover_box_time(const cr_motion *motion, const cr_mover_box *box, const carom_aabb *rest, double tolerance);

#endif
