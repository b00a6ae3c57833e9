/// Spheres as the detectors see them, and how detectors hand on pairs. All detectors take the same
/// input and give the same pairs; which one runs is decided in spheres.c.
#ifndef CR_SPHERES_SPHERE_SET_H
#define CR_SPHERES_SPHERE_SET_H

#include "base/context.h"
#include "carom/spheres.h"

/// Centre and radius in the set's frame.
typedef struct cr_sphere {
	float x, y, z, r;
} cr_sphere;

/// The spheres of one update. Single precision decides almost every pair; one within its margin of
/// error is decided in double from the coordinates as they were given (cr_spheres_touch).
typedef struct cr_sphere_set {
	carom_context *context;
	uint32_t count; // with images
	uint32_t real;  // the caller's; those behind are periodic images
	// Ghosts, copies of another process's spheres: the last so many of the caller's, and the last
	// so many images, which are theirs. Pairs of two ghosts are not wanted.
	uint32_t ghosts, ghost_images;
	// [count] rounded to nearest from the input, less an origin when exact is not NULL, or with
	// gaps cut out (sphere_frame.h)
	const cr_sphere *spheres;
	// [4*count] x, y, z, r as given (images shifted); NULL: spheres are as given, exactly
	const double *exact;
	// [count-real] of which sphere each image is one (CR_IMAGE_INDEX), and in which axes (above)
	const uint32_t *owner;
	// of the rounded centres; where they needed looking at (sphere_frame.h), without a few far out
	float lower[3], upper[3];
	float r_min, r_max; // of the rounded radii
	// At most |rounded distance - true distance| and |rounded r_i + r_j - true one| together,
	// beside relative errors of a few 2^-24; 0 without exact.
	float slack;
	double skin; // pairs with distance <= r_i + r_j + skin are found
	// [4*real] the caller's spheres, where gaps have been cut out; NULL: rounded ones tell
	const double *reference;
	carom_device *device; // of method DEVICE; NULL: none
	// [device_count] where it has several, of which `device` is the first
	carom_device *const *devices;
	int32_t device_count;
} cr_sphere_set;

/// Of the caller's spheres, those that are no ghosts.
static inline uint32_t cr_owned_spheres(const cr_sphere_set *set) { return set->real - set->ghosts; }

static inline bool cr_is_ghost(const cr_sphere_set *set, uint32_t place)
{
	return place < set->real ? place >= cr_owned_spheres(set) : place >= set->count - set->ghost_images;
}

/// Where the run of places that are ghosts, or are not, as this one is, ends: end at most.
static inline int64_t cr_run_end(const cr_sphere_set *set, int64_t place, int64_t end)
{
	const int64_t borders[3] = { cr_owned_spheres(set), set->real, set->count - set->ghost_images };
	for (int k = 0; k < 3; k++) {
		if (place < borders[k])
			return borders[k] < end ? borders[k] : end;
	}
	return end;
}

/// A sphere in double as it was given.
typedef struct cr_exact_sphere {
	double x, y, z, r;
} cr_exact_sphere;

static inline cr_exact_sphere cr_read_sphere(const cr_sphere_set *set, uint32_t index)
{
	if (set->exact) {
		const double *s = set->exact + 4 * (size_t)index;
		return (cr_exact_sphere){ s[0], s[1], s[2], s[3] };
	}
	const cr_sphere *s = &set->spheres[index];
	return (cr_exact_sphere){ s->x, s->y, s->z, s->r };
}

/// The definition of touching, in double: dx*dx + dy*dy + dz*dz <= (r_a + r_b + skin)^2, summed in
/// this order, differences taken of the values as given. No fused operations.
bool cr_spheres_touch(const cr_sphere_set *set, uint32_t a, uint32_t b);

/// Takes pairs a < b < real of one worker, each pair once in all. False: stop, the search fails
/// with out of memory or was ended.
typedef struct cr_pair_sink {
	bool (*take)(const carom_sphere_pair *pairs, int64_t count, int worker, void *user);
	void *user;
} cr_pair_sink;

enum { CR_PAIR_BATCH = 512 };

/// The pairs that one worker has found and not yet handed on. One for each worker, made by the
/// detector for the time of a search.
typedef struct cr_pair_batch {
	carom_sphere_pair pairs[CR_PAIR_BATCH];
	int32_t count;
	bool stopped;  // the sink wants no more
	int64_t tests; // distances computed
} cr_pair_batch;

/// Hand on the pairs in the batch and empty it.
void cr_flush_pairs(cr_pair_batch *batch, const cr_pair_sink *sink, int worker);

// An image stands a period below its owner in each axis whose bit (29 + axis) is set in owner.
// Images are only made downwards: of two spheres that touch across a border, the upper one is
// shifted. In a corner that may be one sphere in x and the other in y, so that two images meet.
#define CR_IMAGE_INDEX ((1u << 29) - 1)

static inline uint32_t cr_pack_owner(uint32_t index, uint32_t axes) { return index | axes << 29; }

/// The caller's sphere behind a place of the set, and the axes in which the place is shifted.
static inline uint32_t cr_place_owner(const cr_sphere_set *set, uint32_t place, uint32_t *axes)
{
	if (place < set->real) {
		*axes = 0;
		return place;
	}
	const uint32_t packed = set->owner[place - set->real];
	*axes = packed & ~CR_IMAGE_INDEX;
	return packed & CR_IMAGE_INDEX;
}

/// Two places of the set touch: names of the pair into *pair (a < b, images replaced by their
/// owners); false when this is not the place to report it: both places are shifted in the same axis
/// (the pair is met again, once, without that), or both spheres are ghosts.
static inline bool cr_name_pair(const cr_sphere_set *set, uint32_t i, uint32_t j, carom_sphere_pair *pair)
{
	if (i >= set->real || j >= set->real) {
		uint32_t axes_i, axes_j;
		i = cr_place_owner(set, i, &axes_i);
		j = cr_place_owner(set, j, &axes_j);
		if ((axes_i & axes_j) != 0 || i == j)
			return false;
	}
	pair->a = i < j ? i : j;
	pair->b = i < j ? j : i;
	return set->ghosts == 0 || pair->a < cr_owned_spheres(set);
}

#endif
