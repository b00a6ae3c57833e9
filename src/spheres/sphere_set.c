/// The exact test of two spheres, and the emptying of batches. See spheres/sphere_set.h.
#include "spheres/sphere_set.h"

bool cr_spheres_touch(const cr_sphere_set *set, uint32_t a, uint32_t b)
{
	const cr_exact_sphere p = cr_read_sphere(set, a), q = cr_read_sphere(set, b);
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
