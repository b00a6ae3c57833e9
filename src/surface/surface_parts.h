/// Parts of a surface that moves, and how far each has moved since one of its last steps: so that a
/// pair of bodies asks only about the parts that could touch.
#ifndef CR_SURFACE_SURFACE_PARTS_H
#define CR_SURFACE_SURFACE_PARTS_H

#include "bvh/collider.h"

enum { CR_PART_STEPS = 8 };

/// Some triangles that lie side by side. A point of one of them moves no farther than its farthest
/// corner.
typedef struct cr_surface_part {
	double lower[3]; // box of the triangles now
	double upper[3];
	double stir; // how far any of their points may have moved since the last turn
	double path; // the sum of that over all turns
	// path after each of the last turns, and after each of the last whose number CR_PART_STEPS
	// divides; by the number modulo CR_PART_STEPS, and the number of the latter in their row
	double late[CR_PART_STEPS];
	double early[CR_PART_STEPS];
	// stir, path, and the numbers of late and of early that the last turn has replaced
	double before[4];
} cr_surface_part;

typedef struct cr_surface_parts {
	int32_t count;     // 0: the surface has none
	uint32_t turns;    // steps in which it moved
	bool turning;      // the step of the last turn has not ended
	int32_t *first;    // [count + 1] number of each part's first vertex among these:
	int32_t *vertices; // corners of its triangles, each once
	float *moved;      // [vertex_count] squares of how far vertices have moved by the last change
	int32_t moved_count;
	cr_surface_part *data;
} cr_surface_parts;

/// Share the triangles of a collider out among parts. false: out of memory, there are none.
bool cr_parts_build(carom_context *memory, const cr_collider *rest, cr_surface_parts *parts);
void cr_parts_free(carom_context *memory, cr_surface_parts *parts);

/// The square of the way of a vertex, no smaller.
static inline float cr_part_square(double square) { return square > 0 ? (float)(square * (1 + 0x1p-22)) + 0x1p-148f : 0; }
/// Vertices were set: measure the boxes; and, unless slack is negative, by parts->moved how far
/// the parts have moved. slack: how far a point may be from where its corners say, before and after
/// together.
void cr_parts_measure(const double *places, double slack, cr_surface_parts *parts);
/// A step begins: the ways since the last one become path.
void cr_parts_turn(cr_surface_parts *parts);
/// The step has failed: the ways are as if it had not begun, so that another try finds them.
void cr_parts_turn_back(cr_surface_parts *parts);
/// Numbers that hold the ways of all parts, for those who keep them: of one record that tells their
/// count, which is its first.
static inline int64_t cr_part_numbers(int32_t count) { return 2 + (2 + 2 * CR_PART_STEPS) * (int64_t)count; }
/// All ways are as if the surface had never moved.
void cr_parts_forget(cr_surface_parts *parts);
void cr_parts_save(const cr_surface_parts *parts, double *numbers);
/// Take them back. Those of another number of parts are left out.
void cr_parts_restore(const double *numbers, cr_surface_parts *parts);
/// How far any point of a part may have moved since so many turns were done; most, where that is
/// too long ago, or less.
double cr_part_growth(const cr_surface_parts *parts, int32_t part, uint32_t turns, double most);

#endif
