/// The springs of contacts, kept by own spheres: each side of a contact keeps its own, and both are
/// exact opposites. So nothing is sent but with a sphere that moves to another process.
#ifndef CAROM_LAMMPS_SPRING_STORE_H
#define CAROM_LAMMPS_SPRING_STORE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SPRING_NUMBERS = 4, ///< a spring is so many numbers where it is packed: its partner, x, y, z
};

/// Springs of sphere i: those from first[i] on, number[i] of them, sorted by partners. All zero at
/// first; free with spring_store_free.
///
/// While a list of neighbours holds, entries of the list say where springs are, and new springs and
/// those that ended make first and number untrue (`entries`); spring_store_settle makes them true
/// again. All functions that read them do so first.
typedef struct spring_store {
	int64_t *first;
	int32_t *number;
	int64_t places; ///< of first and number
	double (*values)[3];
	uint64_t *partners; ///< ids of the other spheres
	int64_t count;      ///< of values and partners; those with index 0 are nobody's
	int64_t capacity;
	uint32_t unused; ///< one that ended; its partner is the next such one; 0: none
	int32_t most;    ///< springs of one sphere, at most; or more

	uint32_t *entries; ///< of rows: where the spring is; 0: there is none. NULL: no list holds
	int64_t entry_capacity;
	const int64_t *row_first; ///< [rows+1] the first entry of each row
	int64_t rows;
} spring_store;

void spring_store_free(spring_store *store);
/// Room for so many spheres; new ones have no springs. False: out of memory.
bool spring_store_grow(spring_store *store, int64_t places);

/// A list of `rows` rows begins; entries are for the caller to fill. False: out of memory, or more
/// than 2^32 entries.
bool spring_store_open(spring_store *store, const int64_t *row_first, int64_t rows);
/// No list holds: springs of each sphere stand together, in the order of its row. False: out of
/// memory.
bool spring_store_settle(spring_store *store);
/// A spring of no length. 0: out of memory.
uint32_t spring_store_new(spring_store *store, uint64_t partner);
/// It has ended.
static inline void spring_store_end(spring_store *store, uint32_t spring)
{
	store->partners[spring] = store->unused;
	store->unused = spring;
}

// The following want a store that is settled.

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
	return 1 + SPRING_NUMBERS * (int64_t)store->number[i];
}
/// Write sphere i as numbers. Returns how many.
int64_t spring_store_pack(const spring_store *store, int64_t i, double *numbers);
/// Read sphere i from numbers. Returns how many; -1: out of memory; -2: these are no springs.
int64_t spring_store_unpack(spring_store *store, int64_t i, const double *numbers);

#ifdef __cplusplus
}
#endif
#endif
