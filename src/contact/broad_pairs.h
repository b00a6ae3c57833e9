/// Where the broad phases that run on several workers put their pairs: a list for each worker,
/// joined and sorted at the end, so that neither the cut of the work nor the order of the workers
/// shows in the result.
#ifndef CR_CONTACT_BROAD_PAIRS_H
#define CR_CONTACT_BROAD_PAIRS_H

#include "frame/broad.h"

/// The list of one worker, on cache lines of its own.
typedef struct cr_worker_pairs {
	_Alignas(CR_CACHE_LINE) cr_pair_list list;
	int64_t compared; // pairs of rough boxes that the worker looked at
	int64_t met;      // pairs before the verdict
	bool failed;      // out of memory: the list is incomplete
} cr_worker_pairs;

typedef struct cr_pair_sink {
	carom_context *context;
	cr_worker_pairs *workers; // [thread_count]
	cr_pair_list scratch;
	CR_ARRAY(int64_t) first; // [bodies] where the pairs of a body begin
} cr_pair_sink;

/// False when out of memory.
bool cr_pair_sink_init(cr_pair_sink *sink, carom_context *context);
/// Make room for so many pairs of so many bodies, whoever finds them. false: out of memory.
bool cr_pair_sink_reserve(cr_pair_sink *sink, int64_t bodies, int64_t pairs);
/// Give back the memory of all lists, which are empty.
void cr_pair_sink_release(cr_pair_sink *sink);
void cr_pair_sink_free(cr_pair_sink *sink);

/// Add the pair of two bodies in any order. A failure shows in cr_pair_sink_drain.
void cr_pair_sink_add(cr_pair_sink *sink, int worker, int32_t a, int32_t b);

/// The counts of all workers since the last call, into met and compared of the broad phase.
void cr_pair_sink_count(const cr_pair_sink *sink, cr_broad *broad);
/// Forget the pairs and counts since the last call.
void cr_pair_sink_clear(cr_pair_sink *sink);

/// Replace the content of out by all pairs since the last call, a < b, sorted by a, then b, and
/// make the sink empty. Body numbers are below body_count; no pair was added twice. False when out
/// of memory; out and sink are then empty.
bool cr_pair_sink_drain(cr_pair_sink *sink, int32_t body_count, cr_pair_list *out);

#endif
