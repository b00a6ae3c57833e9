/// Impacts of a vertex with a face, and of two edges, while all four vertices move on straight
/// lines during a step.
///
/// The vertices of a query are at begin[3 v] .. at time 0 and at end[3 v] .. at time 1; in between
/// they are on the line from one to the other. Truth is the exact real motion of the doubles given.
/// The default method misses nothing: whatever is not reported has been proved, in floating point
/// with error bounds, to stay more than min_separation apart during [0, t_max]. Features that are
/// reported without a true impact come within tolerance, or within the rounding of the differences
/// of its vertices where that is larger (2^-43 of the longest difference or motion).
///
/// The ladder (each rung sees the queries that those before it left open):
///  1. wide filters over eight queries at a time (swept_kernels.c): relative motion along x, y, z;
///     sign of the coplanarity cubic's Bernstein coefficients with error bounds (Tang, Manocha and
///     Tong 2010); relative motion along the six other axes of the 18-DOP;
///  2. certified root intervals of the cubic (swept_cubic.c) and advancement along certified
///     separating directions (swept_advance.c), which decide nearly all;
///  3. for queries that are still undecided: inclusion-based bisection (swept_inclusion.c; Wang,
///     Ferguson, Schneider, Jiang, Attene and Panozzo 2021, "A large-scale benchmark and an
///     inclusion-based algorithm for continuous collision detection").
///
/// For whom builds trees and fronts on this: gather candidates of one kind as vertices, a few
/// thousand at a time, and hand each piece to cr_swept_find with room for as many impacts; nothing
/// else is shared between threads but the read-only positions. Counts go to a cr_swept_stats of the
/// thread. Name the vertices of a candidate in a fixed order (ends ascending, lower edge first):
/// then every candidate gives the same bits wherever it is found. Static features take part like
/// others, with equal positions at both ends. Neighbours that share a vertex always touch: leave
/// them out.
///
/// Separations. Two features keep s apart, where s is min_separation, and halves of thicknesses
/// where these are given; with relative_separation r it is r d where that is less, d being their
/// distance at time 0 as cr_swept_motion has it (plain floating point). All proofs are of the s
/// that was computed, whatever it is. The filters are asked with the largest s of all queries
/// first, then with that of the query before it is limited by r d: features that keep more keep s.
/// A tolerance of (1 - r) / 2 of d is the most that such a query has, so that features that stay d
/// apart are not within tolerance of s.
///
/// The functions change nothing except the boxes that they are lent. They allocate nothing, and may
/// run on any number of threads. Results are the same bits for every instruction set and compiler,
/// and do not depend on how the queries are cut into calls.
#ifndef CR_GEOM_SWEPT_H
#define CR_GEOM_SWEPT_H

#include "carom/base.h"

/// Vertices of a query: vertex, then the three corners of the face; or both ends of edge a, then
/// both ends of edge b.
typedef enum cr_swept_kind {
	CR_SWEPT_VERTEX_FACE,
	CR_SWEPT_EDGE_EDGE,
} cr_swept_kind;

typedef enum cr_swept_status {
	CR_SWEPT_CLEAR,    // proved: no impact during [0, t_max]
	CR_SWEPT_IMPACT,   // converged: clear before time, at time within tolerance of an impact
	CR_SWEPT_TOUCHING, // as IMPACT, but at time 0 already
	// out of iterations, or not finite: clear before time, nothing known beyond; treat as an impact
	CR_SWEPT_UNDECIDED,
} cr_swept_status;

typedef enum cr_swept_method {
	CR_SWEPT_CERTIFIED, // the ladder
	CR_SWEPT_INCLUSION, // filters, then inclusion-based bisection alone; certified as well, slower
} cr_swept_method;

/// A box of parameters of rung 3: ranges of t, s, r. All bounds are multiples of 2^-50, so halving
/// is exact.
typedef struct cr_swept_box {
	double low[3], high[3];
	int32_t depth;
} cr_swept_box;

enum { CR_SWEPT_MAX_BOXES = 1024 };

/// Boxes by ascending time, deeper ones first among equals: a binary heap. More than a stack should
/// hold.
typedef struct cr_swept_boxes {
	int count;
	cr_swept_box box[CR_SWEPT_MAX_BOXES];
} cr_swept_boxes;

typedef struct cr_swept_motion cr_swept_motion;
typedef struct cr_swept_options cr_swept_options;
typedef struct cr_swept_impact cr_swept_impact;

/// A test that takes the place of filters and ladder: fills time and time_high of the impact.
typedef cr_swept_status cr_swept_solve_fn(
	const cr_swept_motion *motion, const cr_swept_options *options, cr_swept_impact *impact);

struct cr_swept_options {
	// >= 0: features that come this near (beyond min_separation) may be reported
	double tolerance;
	double min_separation; // >= 0: impact is when features come this near
	// in [0, 1): features that begin nearer than min_separation / relative_separation keep this
	// share of their first distance instead; 0: none
	double relative_separation;
	double t_max;           // in [0, 1]: later impacts are not looked for
	int32_t max_iterations; // >= 1: of the inclusion-based bisection, each query
	cr_swept_method method;
	carom_simd simd;       // a set that this machine has; any gives the same bits
	cr_swept_boxes *boxes; // that rung 3 works in, of one thread at a time
	// NULL: filters and ladder. Else it alone answers, with its own promise: for comparison
	cr_swept_solve_fn *solve;
};

/// Tolerance 1e-6, no separation, the whole step, 4096 iterations, certified, scalar filters.
cr_swept_options cr_swept_default_options(cr_swept_boxes *boxes);

/// Many queries of one kind. Vertices must be below INT32_MAX / 3. Finite coordinates up to 1e90 in
/// magnitude get exact treatment; a query with larger or not finite ones is reported UNDECIDED or
/// decided rightly, never wrongly clear.
typedef struct cr_swept_queries {
	cr_swept_kind kind;
	const double *begin; // 3 for each vertex
	const double *end;   // 3 for each vertex
	const int32_t (*vertices)[4];
	// NULL: none; else of each vertex half of the thickness of its features, by which two of them
	// keep more than min_separation apart; and the most that two halves come to
	const double *halves;
	double most_thickness;
} cr_swept_queries;

struct cr_swept_impact {
	int64_t query;    // number of the query; 0 from cr_swept_test
	double time;      // proved clear before it, so never later than the true impact; in [0, t_max]
	double time_high; // the features come within tolerance no later than this; 1 when UNDECIDED
	double distance;  // of the features at time, up to rounding
	// of the vertices, nearest points at time: first feature's sum to 1, second's sum to 1
	double weight[4];
	// unit, from the second feature (face, edge b) to the first, side of the begin of the step;
	// along z where the features touch and give no direction
	double normal[3];
	uint8_t status; // cr_swept_status, not CLEAR
	uint8_t rung;   // 1..3 of the ladder that decided (0: options.solve)
};

/// Counters, added to by each call; a caller sums those of its threads.
typedef struct cr_swept_stats {
	int64_t queries;
	int64_t by_axes;      // ruled out by relative motion along x, y, z
	int64_t by_diagonals; // ... along the other six axes
	int64_t by_cubic;     // ... by the sign of the cubic
	int64_t advanced;     // reached rung 2
	int64_t advances;     // steps of rung 2
	int64_t bisected;     // reached rung 3
	int64_t bisections;   // boxes that rung 3 looked at
	int64_t clear;        // proved clear by rungs 2 and 3
	int64_t impacts;      // reported, of any status
	int64_t touching;     // of these TOUCHING
	int64_t undecided;    // of these UNDECIDED
} cr_swept_stats;

void cr_swept_add_stats(cr_swept_stats *sum, const cr_swept_stats *more);

/// One query without the filters of rung 1. Returns the status; fills *impact unless CLEAR. stats
/// may be NULL. The same status in whatever order the query names its edges, their ends, or the
/// corners of its face; cr_swept_find may in addition rule out, by proof, a few queries that are
/// reported here within tolerance.
cr_swept_status cr_swept_test(cr_swept_kind kind, const double begin[4][3], const double end[4][3],
	const cr_swept_options *options, cr_swept_impact *impact, cr_swept_stats *stats);

/// Impacts of queries begin..begin+count-1, in the order of the queries. impacts has room for count
/// of them; returns how many were written. Each equals that of the same query in any other call.
int32_t cr_swept_find(const cr_swept_queries *queries, int64_t begin, int32_t count, const cr_swept_options *options,
	cr_swept_impact *impacts, cr_swept_stats *stats);

/// The filters of rung 1 alone: the queries begin..begin+count-1, count at most CR_SWEPT_PIECE,
/// that are not proved to stay farther apart than separation, as offsets from begin, ascending.
/// Returns how many there are.
enum { CR_SWEPT_PIECE = 512 };
int32_t cr_swept_filter(const cr_swept_queries *queries, int64_t begin, int32_t count, double separation, carom_simd simd,
	int32_t left[CR_SWEPT_PIECE], cr_swept_stats *stats);

/// The earliest impact of queries begin..begin+count-1 (equal times: the lower query). *best holds
/// the earliest so far, or has time = infinite (query: INT64_MAX); it is replaced by an earlier
/// one, and queries stop as soon as they are proved clear up to it. The outcome over many calls
/// does not depend on their order, so that threads may each keep their own best and merge by
/// cr_swept_is_earlier.
void cr_swept_find_earliest(const cr_swept_queries *queries, int64_t begin, int32_t count, const cr_swept_options *options,
	cr_swept_impact *best, cr_swept_stats *stats);

/// An impact at infinite time, to begin a search for the earliest with.
cr_swept_impact cr_swept_no_impact(void);

/// Whether a comes before b: by time, then by query.
bool cr_swept_is_earlier(const cr_swept_impact *a, const cr_swept_impact *b);

#endif
