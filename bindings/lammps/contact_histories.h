/// Springs along the surface of contacts, remembered from step to step in an array of LAMMPS.
#ifndef CAROM_LAMMPS_CONTACT_HISTORIES_H
#define CAROM_LAMMPS_CONTACT_HISTORIES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	// Contacts with larger spheres, or as large ones, that a sphere keeps: twelve fit around it.
	HISTORY_SLOTS = 14,
	HISTORY_PARTNERS = 1,
	HISTORY_SPRINGS = HISTORY_PARTNERS + HISTORY_SLOTS,
	// Numbers of a row: see contact_histories.c.
	HISTORY_ROW = HISTORY_SPRINGS + 3 * HISTORY_SLOTS,
};

/// Ids of atoms as LAMMPS has them: owned ones, then ghosts.
typedef struct atom_ids {
	const void *data;
	bool wide; // 64 bits, else 32
} atom_ids;

static inline uint64_t get_id(atom_ids ids, int64_t i)
{
	return ids.wide ? ((const uint64_t *)ids.data)[i] : ((const uint32_t *)ids.data)[i];
}

/// All zero at first; free with free_histories.
typedef struct histories {
	double **rows; // [count][HISTORY_ROW] of LAMMPS
	int64_t owned, count, capacity;
	uint32_t *seen; // [count] bits of slots whose contact is there in this step
	// [count * HISTORY_SLOTS] force and friction on the keeper, of slots that are seen
	double (*pairs)[6];
	uint64_t *set; // [set_size] a hash set of owned ids, where it was needed; 0: free
	int64_t set_size, set_capacity;
	int64_t full; // a keeper that has no slot left; below 0: none
} histories;

/// A slot of a keeper.
typedef struct history_slot {
	double *spring; // [3] force on the keeper comes from it; NULL: none is left
	// [6] force and friction that the other side of the contact has computed in this step, if seen
	double *pair;
	bool seen;
} history_slot;

/// A step begins. False: out of memory.
bool begin_histories(histories *h, double **rows, atom_ids ids, int64_t owned, int64_t count);
/// The contact of a keeper with another sphere, in this step. New contacts have a spring of zeros.
history_slot find_history(histories *h, uint32_t keeper, uint64_t partner);
/// The step is over: contacts that were not found are forgotten.
void end_histories(histories *h);
void free_histories(histories *h);

#endif
