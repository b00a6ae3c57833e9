/// What contacts of bodies remember: the springs of friction. Each body keeps its own, and both
/// bodies of a contact keep equal ones, so nothing is sent but with a body that moves to another
/// process.
#ifndef CAROM_LAMMPS_RIGID_TOUCHES_H
#define CAROM_LAMMPS_RIGID_TOUCHES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A contact of the last step.
typedef struct rigid_touch {
	int64_t partner;                    ///< id of the other body; of walls -1, -2, ...
	int32_t kind, feature_a, feature_b; ///< as in carom_contact
	int32_t unused;                     ///< 0
	double point[3];                    ///< in the frame of the body with the lower id
	double spring[3];                   ///< in the frame of the box
} rigid_touch;

/// A touch is so many numbers where it is packed.
enum { RIGID_TOUCH = sizeof(rigid_touch) / sizeof(double) };

typedef struct rigid_touch_list {
	rigid_touch *data;
	int32_t count, capacity;
} rigid_touch_list;

/// The touches of each place of an array of bodies. All zero at first; free with
/// rigid_touches_free.
typedef struct rigid_touches {
	rigid_touch_list *lists;
	int64_t places;
	int32_t most; ///< of one body, at most, since the caller set it to 0
} rigid_touches;

void rigid_touches_free(rigid_touches *t);
/// Room for so many bodies; new ones have no touches. False: out of memory.
bool rigid_touches_grow(rigid_touches *t, int64_t places);
/// One more touch of body i. False: out of memory.
bool rigid_touches_add(rigid_touches *t, int64_t i, const rigid_touch *touch);
/// Body `to` gets what `from` has. False: out of memory.
bool rigid_touches_copy(rigid_touches *t, int64_t from, int64_t to);
static inline void rigid_touches_clear(rigid_touches *t, int64_t i) { t->lists[i].count = 0; }
/// How many numbers body i is, packed.
static inline int64_t rigid_touches_size(const rigid_touches *t, int64_t i)
{
	return 1 + RIGID_TOUCH * (int64_t)t->lists[i].count;
}
/// Write body i as numbers. Returns how many.
int64_t rigid_touches_pack(const rigid_touches *t, int64_t i, double *numbers);
/// Read body i from numbers. Returns how many; -1: out of memory; -2: these are no touches.
int64_t rigid_touches_unpack(rigid_touches *t, int64_t i, const double *numbers);

#ifdef __cplusplus
}
#endif
#endif
