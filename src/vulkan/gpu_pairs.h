/// Pairs of spheres in order on a device: named, counted for each sphere, summed, dealt into rows,
/// and each row sorted. So a pair is written twice, 4 bytes scattered and 8 in order, where a radix
/// sort of whole pairs would scatter it five times.
///
/// A search (gpu_tree.h) leaves pairs of places, some of them in doubt. A device that computes with
/// doubles as the processor does decides about these itself, where floats hold the spheres. Else
/// all are taken for pairs at first. The processor then decides about the doubtful ones, and the
/// pairs are put in order again. O(pairs + spheres), and a row of n takes n log n.
#ifndef CR_VULKAN_GPU_PAIRS_H
#define CR_VULKAN_GPU_PAIRS_H

#include "vulkan/gpu_tree.h"

/// Which spheres stand at the places of a tree.
typedef struct cr_gpu_naming {
	// [places] the sphere at a place, and in the upper three bits the axes along which it is an
	// image of it; NULL: each place is its own sphere
	const uint32_t *names;
	uint32_t spheres;    // numbers are below this
	uint32_t owned;      // pairs of two spheres that are not below this are not wanted
	uint32_t own_places; // nor those of two places that are not below this
	// The spheres of the tree are the exact ones, so the device may decide about pairs in doubt:
	// they touch where they are no further apart than the sum of both radii and the skin.
	bool judged;
	double skin;
} cr_gpu_naming;

/// A pair in doubt: its number in the list of pairs of places, and both places.
typedef struct cr_gpu_doubt {
	uint32_t number, a, b;
} cr_gpu_doubt;

typedef struct cr_gpu_sorted {
	cr_gpu_buffer names, counts, first, rows; // shaders/pairs_*.comp
	cr_gpu_buffer pairs;                      // [count] the answer
	cr_gpu_buffer doubts, verdicts;           // in memory of the processor
	cr_gpu_buffer tally, scratch;
	cr_gpu_buffer reached; // the answer where the processor reaches it, if it does not reach pairs
	uint64_t room;         // pairs that fit
	uint32_t doubt_room;   // doubts that fit
	uint64_t count;
	uint32_t doubt_count; // that are not decided
	bool judges;          // the device decides about doubts
	uint32_t long_rows;   // rows longer than CR_GPU_LONG_ROW, which are left to the processor
} cr_gpu_sorted;

enum { CR_GPU_LONG_ROW = 512 };

/// cr_gpu_find_pairs, and the pairs in order. *done is false where there was no room for them all:
/// then `found` is that of cr_gpu_find_pairs, and pairs can be had in windows.
carom_result cr_gpu_find_sorted(carom_device *device, cr_gpu_tree *tree, uint64_t want, const cr_gpu_naming *naming,
	cr_gpu_sorted *sorted, cr_gpu_search *found, bool *done);
/// The pairs in doubt [doubt_count], in no order.
carom_result cr_gpu_read_doubts(carom_device *device, const cr_gpu_sorted *sorted, cr_gpu_doubt *doubts);
/// Say of each of them whether it is a pair (1) or not (0): verdicts [doubt_count].
carom_result cr_gpu_settle_doubts(
	carom_device *device, cr_gpu_tree *tree, const cr_gpu_naming *naming, cr_gpu_sorted *sorted, const uint32_t *verdicts);
/// Bring pairs that the processor has found, sorted, to the device, with the first pair of each of
/// so many spheres [spheres+1].
carom_result cr_gpu_bring_sorted(
	carom_device *device, cr_gpu_sorted *sorted, const cr_gpu_pair *pairs, const uint64_t *first, uint32_t spheres);

/// Where the processor reads and may change the answer, [sorted->count]; *pairs is NULL where it
/// has to be downloaded. They stay there until the next call that is given `sorted`.
carom_result cr_gpu_reach_sorted(carom_device *device, cr_gpu_sorted *sorted, cr_gpu_pair **pairs);

void cr_gpu_free_sorted(carom_device *device, cr_gpu_sorted *sorted);

#endif
