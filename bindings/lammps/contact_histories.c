/// A contact's history is kept by the smaller of both spheres (of equal ones by that with the lower
/// id), its keeper: so none keeps many. A process that owns only the other sphere has the keeper as
/// a ghost. LAMMPS copies rows to ghosts when it makes its ghosts, and from then on each process
/// advances its copy: all compute it from equal numbers. Rows of ghosts also hold contacts that
/// this process does not see, which it leaves alone.
///
/// A row holds a stamp, the partners' ids, and the springs. Ids: 0 is free, as is all behind it;
/// below 0 is free. The stamp of an owned sphere is 0, and so LAMMPS writes it to ghosts; in these
/// it is then 1 + 2 * the bits of the slots whose partner is owned here.
#include "contact_histories.h"
#include <stdlib.h>
#include <string.h>

// ---- Owned ids ----

static uint64_t scatter(uint64_t id) { return (id * 0x9e3779b97f4a7c15u) >> 20; }

static bool make_set(histories *h, atom_ids ids)
{
	h->set_size = 64;
	while (h->set_size < 2 * h->owned)
		h->set_size *= 2;
	if (h->set_size > h->set_capacity) {
		free(h->set);
		h->set_capacity = h->set_size;
		h->set = malloc((size_t)h->set_size * sizeof *h->set);
		if (!h->set)
			return false;
	}
	memset(h->set, 0, (size_t)h->set_size * sizeof *h->set);
	for (int64_t i = 0; i < h->owned; i++) {
		uint64_t at = scatter(get_id(ids, i)) & (uint64_t)(h->set_size - 1);
		while (h->set[at] != 0)
			at = (at + 1) & (uint64_t)(h->set_size - 1);
		h->set[at] = get_id(ids, i);
	}
	return true;
}

static bool is_owned(const histories *h, uint64_t id)
{
	uint64_t at = scatter(id) & (uint64_t)(h->set_size - 1);
	while (h->set[at] != 0 && h->set[at] != id)
		at = (at + 1) & (uint64_t)(h->set_size - 1);
	return h->set[at] == id;
}

// ---- A step ----

static uint32_t bits_of(const double *row) { return (uint32_t)row[0] >> 1; }
static void set_bits(double *row, uint32_t bits) { row[0] = 1 + 2.0 * bits; }

static bool reserve(histories *h, int64_t count)
{
	if (count <= h->capacity)
		return true;
	h->capacity = count + count / 2;
	free(h->seen);
	free(h->pairs);
	h->seen = malloc((size_t)h->capacity * sizeof *h->seen);
	h->pairs = malloc((size_t)h->capacity * HISTORY_SLOTS * sizeof *h->pairs);
	if (!h->seen || !h->pairs)
		h->capacity = 0;
	return h->capacity > 0;
}

bool begin_histories(histories *h, double **rows, atom_ids ids, int64_t owned, int64_t count)
{
	if (!reserve(h, count))
		return false;
	h->rows = rows;
	h->owned = owned;
	h->count = count;
	h->full = -1;
	memset(h->seen, 0, (size_t)count * sizeof *h->seen);
	bool has_set = false;
	for (int64_t i = owned; i < count; i++) {
		double *row = rows[i], *partners = row + HISTORY_PARTNERS;
		if (row[0] != 0)
			continue;
		uint32_t bits = 0;
		if (partners[0] != 0 && !has_set && !(has_set = make_set(h, ids)))
			return false;
		for (int slot = 0; slot < HISTORY_SLOTS && partners[slot] != 0; slot++)
			bits |= (uint32_t)(partners[slot] > 0 && is_owned(h, (uint64_t)partners[slot])) << slot;
		set_bits(row, bits);
	}
	return true;
}

history_slot find_history(histories *h, uint32_t keeper, uint64_t partner)
{
	double *row = h->rows[keeper], *partners = row + HISTORY_PARTNERS;
	int slot = 0, unused = HISTORY_SLOTS;
	while (slot < HISTORY_SLOTS && partners[slot] != (double)partner && partners[slot] != 0) {
		if (partners[slot] < 0 && unused == HISTORY_SLOTS)
			unused = slot;
		slot++;
	}
	const bool found = slot < HISTORY_SLOTS && partners[slot] != 0;
	if (!found && unused < slot)
		slot = unused;
	if (slot == HISTORY_SLOTS) {
		h->full = keeper;
		return (history_slot){ 0 };
	}
	double *spring = row + HISTORY_SPRINGS + 3 * slot;
	if (!found) {
		partners[slot] = (double)partner;
		spring[0] = spring[1] = spring[2] = 0;
	}
	const uint32_t bit = 1u << slot;
	const bool seen = h->seen[keeper] & bit;
	h->seen[keeper] |= bit;
	if (keeper >= h->owned)
		set_bits(row, bits_of(row) | bit);
	return (history_slot){ spring, h->pairs[HISTORY_SLOTS * (size_t)keeper + (size_t)slot], seen };
}

/// Of an owned sphere: contacts that are there move forward.
static void close_ranks(double *row, uint32_t seen)
{
	double *partners = row + HISTORY_PARTNERS, *springs = row + HISTORY_SPRINGS;
	int kept = 0;
	for (int slot = 0; slot < HISTORY_SLOTS && partners[slot] != 0; slot++) {
		if (!(seen >> slot & 1))
			continue;
		partners[kept] = partners[slot];
		memmove(springs + 3 * kept, springs + 3 * slot, 3 * sizeof *springs);
		kept++;
	}
	for (int slot = kept; slot < HISTORY_SLOTS; slot++)
		partners[slot] = 0;
}

void end_histories(histories *h)
{
	for (int64_t i = 0; i < h->owned; i++) {
		const uint32_t seen = h->seen[i];
		// Nothing has ended where the slots seen are the first ones, and no other is in use.
		const int next = __builtin_popcount(seen);
		h->rows[i][0] = 0;
		if ((seen & (seen + 1)) != 0 || (next < HISTORY_SLOTS && h->rows[i][HISTORY_PARTNERS + next] != 0))
			close_ranks(h->rows[i], seen);
	}
	for (int64_t i = h->owned; i < h->count; i++) {
		uint32_t ended = bits_of(h->rows[i]) & ~h->seen[i];
		if (ended)
			set_bits(h->rows[i], h->seen[i]);
		for (; ended; ended &= ended - 1)
			h->rows[i][HISTORY_PARTNERS + __builtin_ctz(ended)] = -1;
	}
}

void free_histories(histories *h)
{
	free(h->seen);
	free(h->pairs);
	free(h->set);
	*h = (histories){ 0 };
}
