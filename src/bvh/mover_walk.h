/// The walk over pairs of parts of two movers that the searches for impacts share.
#ifndef CR_BVH_MOVER_WALK_H
#define CR_BVH_MOVER_WALK_H

#include "bvh/mover.h"
#include "bvh/tree_part.h"
#include <math.h>

/// A separation costs as much as so many looks at two boxes.
enum { CR_LOOKS_OF_SEPARATION = 16 };

typedef struct cr_descent cr_descent;
struct cr_descent {
	const cr_mover *mover[2];
	cr_mover_box whole[2]; // of a plane: unused
	double tolerance;
	double limit; // pairs with this key or a higher one are of no use
	/// Returns the least key that anything in two boxes may have; from is that of the parts that
	/// hold them.
	double (*bound)(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from);
	/// Looks at two bodies or triangles.
	void (*meet)(cr_descent *d, const cr_part_pair *pair);
	cr_mover_impact *best;
	int steps;
	int64_t looks;      // that are left before the walk is broken off
	double time;        // of cr_bound_gap
	cr_relative b_in_a; // then
	// of the rotation: its rows and columns as positive numbers, and the axes of B seen from B
	v3d row[3], column[3], own[3];
	bool by_gap;         // bound asks for gaps alone: boxes need no reach
	cr_part_pair *stack; // of the caller's scratch
	int top;
	void *user;
};

static inline bool cr_is_plane(const cr_mover *m) { return !m->convex && !m->collider; }

/// Is a part not to be opened?
static inline bool cr_is_single_part(const cr_mover *m, uint32_t part) { return !m->collider || cr_is_triangle_part(part); }

/// Puts a pair on the stack, among those from base on, the least key on top.
static inline void cr_push_pair(cr_descent *d, int base, const cr_part_pair *pair)
{
	int at = d->top++;
	for (; at > base && d->stack[at - 1].key < pair->key; at--)
		d->stack[at] = d->stack[at - 1];
	d->stack[at] = *pair;
}

static inline int32_t cr_part_triangle(const cr_mover *m, uint32_t part)
{
	return m->collider ? cr_triangle_of_part(part) : -1;
}

/// Do two parts come before those of two triangles, by their numbers?
static inline bool cr_comes_first(const cr_descent *d, const cr_part_pair *pair, const int32_t triangle[2])
{
	const int32_t own[2] = { cr_part_triangle(d->mover[0], pair->part[0]), cr_part_triangle(d->mover[1], pair->part[1]) };
	return own[0] != triangle[0] ? own[0] < triangle[0] : own[1] < triangle[1];
}

/// The limit of a walk that does not leave out a pair with this key.
static inline double cr_just_above(double key) { return nextafter(key, INFINITY); }

/// Returns a time before which two parts that are not to be opened stay apart, by their own boxes:
/// the key of a walk may depend on those that hold them. 0: they may touch at the beginning;
/// INFINITY: never.
double cr_start_of(const cr_descent *d, const cr_part_pair *pair);
/// Returns the convex body of a part that is not to be opened. Of a plane: one that nobody looks
/// at.
cr_convex cr_part_convex(const cr_mover *m, uint32_t part);
/// Returns the box of a part, with its padding. Without a reach where by_gap is set, unless it is
/// the whole.
cr_mover_box cr_part_box(const cr_descent *d, int side, uint32_t part);
/// Measures two such parts at a time. Axes of the world, origin at A's position.
void cr_measure_parts(
	const cr_mover *a, const cr_convex *ca, const cr_mover *b, const cr_convex *cb, double t, cr_separation *separation);
/// Sets up a walk of two movers. Returns false where one is a mesh without triangles.
bool cr_prepare_descent(cr_descent *d, cr_mover_scratch *scratch, const cr_mover *a, const cr_mover *b, cr_mover_impact *best);
/// Sets the time of cr_bound_gap.
void cr_set_descent_time(cr_descent *d, double time);
/// Hands each pair of parts whose key is below the limit to meet.
void cr_descend(cr_descent *d);
/// Does so while looks are left. Returns false when there are none: some pairs are on the stack.
bool cr_descend_within(cr_descent *d);
/// Bounds the loss of a gap to roundings at time 0.
double cr_lost_gap(const cr_descent *d);
/// Keys of a walk: a time before which two boxes are apart by more than half of the tolerance,
/// -INFINITY for 0.
double cr_bound_time(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from);
/// Keys of a walk: how far two boxes are apart at the time of the walk, at least. Where that is
/// beyond the limit, something that is beyond it too.
double cr_bound_gap(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from);
/// Returns that, or something above enough where the gap is.
double cr_bound_gap_to(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, double from, double enough);
/// Returns how far everything in two boxes, none of a plane, stays apart at least while A goes by
/// way (frame of A) from its place at the time of the walk. It keeps the rounding of A, so of a
/// round body it often tells more than the gap of the boxes.
double cr_bound_distance(const cr_descent *d, const cr_mover_box *a, const cr_mover_box *b, v3d way);

#endif
