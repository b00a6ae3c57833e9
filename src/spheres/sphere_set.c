/// The exact test of two spheres, and the emptying of batches. See spheres/sphere_set.h.
#include "spheres/sphere_set.h"

/// A sphere in double as it was given.
typedef struct exact_sphere {
	double x, y, z, r;
} exact_sphere;

static inline exact_sphere read_sphere(const cr_sphere_set *set, uint32_t index)
{
	if (set->exact) {
		const double *s = set->exact + 4 * (size_t)index;
		return (exact_sphere){ s[0], s[1], s[2], s[3] };
	}
	const cr_sphere *s = &set->spheres[index];
	return (exact_sphere){ s->x, s->y, s->z, s->r };
}

bool cr_spheres_touch(const cr_sphere_set *set, uint32_t a, uint32_t b)
{
	const exact_sphere p = read_sphere(set, a), q = read_sphere(set, b);
	const double dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
	const double reach = p.r + q.r + set->skin;
	return dx * dx + dy * dy + dz * dz <= reach * reach;
}

void cr_flush_pairs(cr_pair_batch *batch, const cr_pair_sink *sink, int worker)
{
	if (batch->count > 0 && !batch->stopped)
		batch->stopped = !sink->take(batch->pairs, batch->count, worker, sink->user);
	batch->count = 0;
}
