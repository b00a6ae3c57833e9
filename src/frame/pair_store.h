/// Pairs of bodies that are put aside: found by their two bodies, and listed for one of them.
///
/// Each pair is a record of two lists, one for each body. So pairs are added and taken out without
/// looking at the others. A record keeps its number while the pair is in the store, so that arrays
/// beside the store hold more of each pair.
#ifndef CR_FRAME_PAIR_STORE_H
#define CR_FRAME_PAIR_STORE_H

#include "base/array.h"

/// A place in the list of a body: 2 * record + side, where side 0 is that of a; -1: none.
typedef int32_t cr_pair_link;

typedef struct cr_stored_pair {
	int32_t a; // -1: the record is free, and next[0] is the next one that is
	int32_t b;
	cr_pair_link next[2], previous[2];
} cr_stored_pair;

typedef struct cr_pair_store {
	CR_ARRAY(cr_stored_pair) records;
	CR_ARRAY(cr_pair_link) first; // of each body
	int32_t free;                 // record; -1: none
	int32_t count;                // of pairs
} cr_pair_store;

void cr_pair_store_init(cr_pair_store *store);
void cr_pair_store_free(carom_context *memory, cr_pair_store *store);
/// Make room for bodies of numbers below bodies, and so many more pairs. false: out of memory.
bool cr_pair_store_reserve(carom_context *memory, cr_pair_store *store, int64_t bodies, int64_t more);
/// Add a pair, for which there is room and which is not there. Returns its record.
int32_t cr_pair_store_add(cr_pair_store *store, int32_t a, int32_t b);
/// The record of a pair; -1: none. Cost: the pairs of that of both bodies which has fewer.
int32_t cr_pair_store_find(const cr_pair_store *store, int32_t a, int32_t b);
void cr_pair_store_remove(cr_pair_store *store, int32_t record);
/// Take all pairs out.
void cr_pair_store_clear(cr_pair_store *store);

/// The first place in the list of a body.
static inline cr_pair_link cr_first_stored(const cr_pair_store *store, int64_t body)
{
	return body < store->first.count ? store->first.data[body] : -1;
}
/// The place behind one.
static inline cr_pair_link cr_next_stored(const cr_pair_store *store, cr_pair_link at)
{
	return store->records.data[at / 2].next[at % 2];
}

#endif
