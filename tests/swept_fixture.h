/// Random and degenerate swept queries, shared by the tests of them.
#ifndef CAROM_SWEPT_FIXTURE_H
#define CAROM_SWEPT_FIXTURE_H

#include "geom/swept.h"

typedef struct swept_query {
	cr_swept_kind kind;
	double begin[4][3];
	double end[4][3];
} swept_query;

typedef enum swept_family {
	SWEPT_FREE,       // no two numbers alike
	SWEPT_GRID,       // small whole numbers: all sorts of degenerate cases
	SWEPT_SLOW,       // the same, moving by at most one
	SWEPT_PLANE,      // all in one plane at all times
	SWEPT_LINE,       // all on one line at all times
	SWEPT_PARALLEL,   // parallel edges, faces without area
	SWEPT_STILL,      // no motion
	SWEPT_COINCIDENT, // of two or three different vertices
	SWEPT_TOUCH,      // touching exactly at a time k/8, often on an edge or a corner
	SWEPT_ENDS,       // edges that touch exactly at an end at t = 1/2, coordinates up to 1000
	SWEPT_FAMILY_COUNT,
} swept_family;

typedef enum swept_change {
	SWEPT_AS_IS,
	SWEPT_NUDGED, // some numbers to the next double
	SWEPT_FAR,    // moved by about 1e6, rounded
	SWEPT_LARGE,  // times 1000
	SWEPT_SMALL,  // times 2^-12
	SWEPT_TINY,   // times 2^-1074: denormal numbers
	SWEPT_FLAT,   // times 2^-30 along one axis
	SWEPT_TURNED, // through a rotation, rounded
	SWEPT_CHANGE_COUNT,
} swept_change;

extern const char *const SWEPT_FAMILY_NAMES[SWEPT_FAMILY_COUNT];
extern const char *const SWEPT_CHANGE_NAMES[SWEPT_CHANGE_COUNT];

/// Boxes for rung 3 of the calling thread (cr_swept_options).
cr_swept_boxes *swept_boxes(void);

void swept_make_query(cr_swept_kind kind, swept_family family, swept_change change, uint64_t *random, swept_query *query);

/// Edges that touch exactly at an end of a at t = 1/2: a from (x0, 0, -1) to (x1, 0, -1) rises to z = 1, b from (x1, -y, 0) to
/// (x1, y, 0) rests; x0 in -size [0.1, 1], x1 in size / 2 [0.1, 1], y in [0.025, 0.25].
void swept_make_touching_ends(double size, uint64_t *random, swept_query *query);

/// Distance of the features at a time, by trying everything, in extended precision.
double swept_dull_distance(const swept_query *query, double time);

/// The longest difference of vertices or motion.
double swept_query_size(const swept_query *query);

/// The largest coordinate: what rounds swept_dull_distance.
double swept_query_reach(const swept_query *query);

/// All numbers, so that they can be typed in again.
void swept_print_query(const swept_query *query);

#endif
