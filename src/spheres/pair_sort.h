/// Pairs as they come from the workers, put in order: sorted by a, then b, or as rows of
/// neighbours.
///
/// A row is a sphere. While the pairs come they are dealt into buckets of some thousand rows each,
/// for each worker apart; then the buckets are sorted in parallel, each by itself in the cache: row
/// and name of the other packed into one number, digit by digit. The result does not depend on the
/// order in which the pairs came. O(pairs + rows).
#ifndef CR_SPHERES_PAIR_SORT_H
#define CR_SPHERES_PAIR_SORT_H

#include "base/array.h"
#include "spheres/sphere_set.h"

typedef struct cr_pair_store cr_pair_store;

typedef CR_ARRAY(carom_sphere_pair) cr_pair_array;

/// Rows of neighbours as in carom_sphere_neighbours.
typedef struct cr_neighbour_rows {
	CR_ARRAY(int64_t) first;
	CR_ARRAY(uint32_t) other;
} cr_neighbour_rows;

/// Make an empty store, NULL when out of memory.
cr_pair_store *cr_make_pair_store(carom_context *context);
void cr_free_pair_store(cr_pair_store *store);
/// Give back its memory: the store is then empty.
void cr_empty_pair_store(cr_pair_store *store);
/// Bytes held.
size_t cr_pair_store_bytes(const cr_pair_store *store);

/// Forget the stored pairs, and get ready for pairs of count spheres, of which the first `rows`
/// have rows; the other sphere of a pair may have none. symmetric: each pair goes into the rows of
/// both. Memory of the last use is kept for this one, no more. False when out of memory.
bool cr_open_pair_store(cr_pair_store *store, uint32_t count, uint32_t rows, bool symmetric);

/// A sink that stores; it refuses when out of memory.
cr_pair_sink cr_store_sink(cr_pair_store *store);
/// Has the sink refused a pair?
bool cr_pair_store_failed(const cr_pair_store *store);
/// Pairs that the sink has taken since the store was opened.
int64_t cr_pair_store_count(const cr_pair_store *store);

/// The pairs sorted by a, then b. False when out of memory. Not symmetric.
bool cr_sort_pairs(cr_pair_store *store, cr_pair_array *pairs);

/// The rows, each sorted by the ids of the others (NULL: by the others); equal ids are in no fixed
/// order. False when out of memory. Symmetric.
bool cr_sort_rows(cr_pair_store *store, const uint32_t *ids, cr_neighbour_rows *rows);

void cr_free_rows(carom_context *context, cr_neighbour_rows *rows);

/// Sort others[count] by ids[others[i]]. n log n.
void cr_sort_row(uint32_t *others, int64_t count, const uint32_t *ids);

#endif
