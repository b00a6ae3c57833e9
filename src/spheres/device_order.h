/// Pairs of spheres in order, as detectors on devices find them (vulkan/gpu_pairs.h): the processor
/// decides about pairs in doubt, and sorts rows that are too long for the device.
#ifndef CR_SPHERES_DEVICE_ORDER_H
#define CR_SPHERES_DEVICE_ORDER_H

#include "spheres/sphere_detector.h"
#include "vulkan/gpu_pairs.h"

typedef struct cr_device_order {
	cr_gpu_sorted sorted;
	CR_ARRAY(cr_gpu_doubt) doubts;
	CR_ARRAY(uint32_t) verdicts;
} cr_device_order;

/// The spheres of a tree: a set, or the part of it that is on one device.
typedef struct cr_device_places {
	const cr_sphere_set *set;
	cr_gpu_naming naming;
	const uint32_t *places; // of the set, [count of the tree]; NULL: they are those of the tree
	bool parallel;          // no other worker of the context is at it
} cr_device_places;

/// Room for the pairs of a search: known by the last one, which found so many; else for spheres.
static inline uint64_t cr_expected_pairs(uint64_t last, uint64_t spheres)
{
	enum { PAIRS_A_SPHERE = 4 };
	return last > 0 ? last + last / 8 : PAIRS_A_SPHERE * spheres;
}

/// Reaches of boxes and margins of tests, as sphere_tree_build.c and tree_search.c have them, with
/// relative parts for the device's roundings.
cr_gpu_reach cr_device_reach(const cr_sphere_set *set);

/// Find pairs and put them in order; `want` pairs are expected. search->done is false where the
/// device had no room: then they can be had in windows of the tree. The device is locked by the
/// caller.
carom_result cr_order_pairs(carom_device *device, cr_gpu_tree *tree, uint64_t want, const cr_device_places *places,
	cr_device_order *order, cr_sorted_search *search, cr_gpu_search *found);

/// Bytes of the processor's memory.
size_t cr_device_order_bytes(const cr_device_order *order);
/// The device is locked by the caller.
void cr_free_device_order(carom_context *context, carom_device *device, cr_device_order *order);

#endif
