/// Lists of granular bodies: see granular_bodies.h.
#include "world/granular_bodies.h"
#include "world/world.h"

bool cr_list_granular(carom_world *world, bool (*wanted)(const cr_body *), cr_listed_bodies *bodies, cr_listed_firsts *first)
{
	const int64_t most = world->sphere_contacts.body_count;
	bodies->count = 0;
	if (!cr_array_reserve(&world->memory, bodies, most) || !cr_array_reserve(&world->memory, first, most + 1))
		return false;
	first->data[0] = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		if (!body->alive || !cr_granular_of(body) || (wanted && !wanted(body)))
			continue;
		bodies->data[bodies->count++] = (int32_t)i;
		first->data[bodies->count] = first->data[bodies->count - 1] + cr_granular_of(body)->count;
	}
	return true;
}

void *cr_keep_workers(carom_world *world, void *workers, size_t size, int32_t *count)
{
	if (workers)
		return workers;
	void *made = cr_alloc_zero(&world->memory, (size_t)world->pipeline.worker_count * size);
	*count = made ? world->pipeline.worker_count : 0;
	return made;
}
