/// All that pairs of meshes remember (frame/temporal.h), beside the pipeline, in flat arrays.
/// Snapshots keep it there; a trim takes it there and back, to lay it into lists that fit.
#ifndef CR_WORLD_PAIR_COPY_H
#define CR_WORLD_PAIR_COPY_H

#include "base/radix.h"
#include "frame/pipeline.h"

typedef struct cr_pair_copy {
	cr_pair_list pairs;      // that remember something, parked ones among them; in order
	CR_ARRAY(cr_key) parked; // while they are copied: parked pairs and their slots, then scratch
	// [pairs]; where their lists begin is set by cr_lay_pairs alone
	CR_ARRAY(cr_pair_memory) memories;
	CR_ARRAY(uint8_t) lists; // of the memories, one after the other
} cr_pair_copy;

/// The bodies of a world between two steps: pairs of one that is gone are left out, since no step
/// asks for them again.
typedef struct cr_copy_source {
	const cr_pipeline *pipeline;
	const cr_body *bodies; // [count]
	int64_t count;
} cr_copy_source;

/// Make room for the memory of a pipeline. false: out of memory, and the copy is as it was.
bool cr_reserve_pair_copy(carom_context *context, const cr_copy_source *source, cr_pair_copy *copy);
/// Copy the memory into that room.
void cr_fill_pair_copy(const cr_copy_source *source, cr_pair_copy *copy);
/// Bytes that a copy holds.
int64_t cr_pair_copy_bytes(const cr_pair_copy *copy);
void cr_free_pair_copy(carom_context *context, cr_pair_copy *copy);

/// Make room in a pipeline for the memories of a copy, beside their lists. false: out of memory.
bool cr_reserve_for_pairs(cr_pipeline *pipeline, const cr_pair_copy *copy);
/// Lay the lists of all memories into the lists that are not in use: of the kept ones, and of the
/// contacts, those of the step before the last. The memories name them then. false: out of memory.
bool cr_lay_pairs(cr_pipeline *pipeline, cr_pair_copy *copy, cr_kept_tails *tails);
/// Let the pipeline use the lists that cr_lay_pairs made. There is room (cr_reserve_for_pairs).
void cr_adopt_pairs(cr_pipeline *pipeline, const cr_pair_copy *copy, cr_kept_tails tails);

#endif
