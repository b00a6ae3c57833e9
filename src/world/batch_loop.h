/// Batches of queries (carom/batch.h): one loop over all workers, and lists of answers of any
/// length.
#ifndef CR_WORLD_BATCH_LOOP_H
#define CR_WORLD_BATCH_LOOP_H

#include "base/array.h"
#include "carom/batch.h"

/// A call that asks one question for each record.
typedef struct cr_batch {
	carom_context *context;
	const char *function;
	const char *records; // the name of their array
	const carom_batch *given;
	int64_t min_range; // queries that a worker takes at once, at least
	/// Asks query i and writes its answer. name begins the error text. It changes only data
	/// of query i or of the worker, and may be called again.
	carom_result (*ask)(void *user, int64_t i, int worker, const char *name);
	/// After the last query of a piece was asked, if no memory was wanting: does the work that ask
	/// has put off. NULL: none.
	carom_result (*end_piece)(void *user, int worker);
	void *user;
	void *answers; // [count] of answer_size bytes each, zero until they are told
	size_t answer_size;
} cr_batch;

/// An array that must be there if count is not 0.
typedef struct cr_batch_array {
	const void *data;
	const char *name;
} cr_batch_array;

/// Checks the arguments that all batches share.
carom_result cr_check_batch(
	carom_context *context, const char *function, const carom_batch *batch, const cr_batch_array *arrays, int array_count);

/// Checks the arguments that all batches without a world share. answers [count]: of answer_size
/// bytes each, zero where they are there and the check fails for an argument that all queries
/// share.
carom_result cr_check_shape_batch(carom_context *context, const char *function, const carom_batch *batch,
	const cr_batch_array *arrays, int array_count, void *answers, size_t answer_size);

/// Asks all queries, as carom/batch.h says of errors.
carom_result cr_run_batch(const cr_batch *batch);

/// Sets all answers to zero and all results to the one given, which it returns.
carom_result cr_fail_batch(const carom_batch *given, void *answers, size_t answer_size, carom_result result);

/// The items of one query in the list of a worker.
typedef struct cr_batch_place {
	int64_t first;
	int64_t count;
	int32_t worker;
} cr_batch_place;

/// Answers of any length: each worker appends to its own list.
typedef struct cr_batch_lists {
	carom_context *context;
	size_t item_size;
	cr_batch_place *places; // [query_count]
	int64_t query_count;
	CR_ARRAY(uint8_t) * lists; // [worker_count]
	int worker_count;
} cr_batch_lists;

/// Where a call writes lists of answers.
typedef struct cr_list_output {
	int64_t capacity;
	void *items; // [capacity] of item_size bytes
	const char *name;
	size_t item_size;
	int64_t *first; // [count + 1]
} cr_list_output;

/// Checks the arrays of a batch that tells lists. records: of its queries. Where first is there and
/// the check of another argument that all queries share fails, first is zero.
carom_result cr_check_list_batch(carom_context *context, const char *function, const carom_batch *batch,
	const cr_batch_array *records, const cr_list_output *output);

/// Makes empty lists. Nothing is to be freed on failure.
carom_result cr_open_lists(cr_batch_lists *lists, carom_context *context, int64_t query_count, size_t item_size);
/// Appends the items of a query, at most once for each. Returns where they are to be written; NULL
/// when out of memory. count is not 0.
void *cr_append_items(cr_batch_lists *lists, int64_t query, int worker, int64_t count);
/// Writes where the items of each query begin in all of them, first [query_count + 1], and the
/// first capacity items.
void cr_write_items(const cr_batch_lists *lists, int64_t capacity, void *items, int64_t *first);
void cr_close_lists(cr_batch_lists *lists);

#endif
