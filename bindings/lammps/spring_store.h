/// The springs of contacts between lists, kept by own spheres: each side of a contact keeps its
/// own, and both are exact opposites. So nothing is sent but with a sphere that moves to another
/// process.
#ifndef CAROM_LAMMPS_SPRING_STORE_H
#define CAROM_LAMMPS_SPRING_STORE_H

#include "grain_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Springs of sphere i: those from first[i] on, number[i] of them, sorted by partners. All zero but
/// numbers at first; free with spring_store_free.
///
/// While a list of contacts holds, it has the springs, and first and number are untrue;
/// spring_store_settle makes them true again. All functions that read them do so first.
typedef struct spring_store {
	int64_t *first;
	int32_t *number;
	int64_t places;     ///< of first and number
	int numbers;        ///< of a spring, as in a list: GRAIN_SLIDES or GRAIN_ROLLS
	double *values;     ///< [numbers*count]
	uint64_t *partners; ///< ids of the other spheres
	int64_t count;      ///< of springs
	int64_t capacity;   ///< springs
	int32_t most;       ///< springs of one sphere, at most; or more
	grain_list *list;   ///< that has the springs; NULL: none
	int64_t taken;      ///< list->steps when first and number were made true
} spring_store;

void spring_store_free(spring_store *store);
/// Forget all springs; those to come are of so many numbers.
void spring_store_reset(spring_store *store, int numbers);
/// Numbers of a packed spring: its partner, and what it is.
static inline int spring_store_width(const spring_store *store) { return 1 + store->numbers; }
/// Room for so many spheres; new ones have no springs. False: out of memory.
bool spring_store_grow(spring_store *store, int64_t places);

/// The springs go to a new list; until spring_store_take_back it has them.
void spring_store_hand_over(spring_store *store, grain_list *list);
/// Copy the springs from the list, which goes on: those of each sphere stand together, sorted by
/// partners. Both ends of a contact have one, and they are opposites. False: out of memory.
bool spring_store_settle(spring_store *store);
/// Settle, and the list has none any more. False: out of memory.
bool spring_store_take_back(spring_store *store);

// The following want a store that is settled; those that change it, one that no list has.

/// Sphere `to` is what `from` was.
static inline void spring_store_copy(spring_store *store, int64_t from, int64_t to)
{
	store->first[to] = store->first[from];
	store->number[to] = store->number[from];
}
/// A new sphere.
static inline void spring_store_clear(spring_store *store, int64_t i) { store->number[i] = 0; }
/// How many numbers a sphere is, packed.
static inline int64_t spring_store_size(const spring_store *store, int64_t i)
{
	return 1 + spring_store_width(store) * (int64_t)store->number[i];
}
/// Write sphere i as numbers. Returns how many.
int64_t spring_store_pack(const spring_store *store, int64_t i, double *numbers);
/// Read sphere i from numbers. Returns how many; -1: out of memory; -2: these are no springs.
int64_t spring_store_unpack(spring_store *store, int64_t i, const double *numbers);

#ifdef __cplusplus
}
#endif
#endif
