/// Spheres along the Morton curve. See spheres/sphere_order.h.
#include "spheres/sphere_order.h"
#include "base/parallel.h"

enum { CHUNK_SIZE = 8192 };

typedef struct code_task {
	const cr_sphere_set *set;
	cr_morton_frame frame;
	cr_key *keys;
} code_task;

static void make_codes(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	(void)worker;
	const code_task *task = task_pointer;
	for (int64_t i = begin; i < end;) {
		const uint64_t ghost = (uint64_t)cr_is_ghost(task->set, (uint32_t)i) << CR_MORTON_BITS;
		for (const int64_t run = cr_run_end(task->set, i, end); i < run; i++) {
			const cr_sphere *s = &task->set->spheres[i];
			task->keys[i] = (cr_key){ cr_morton_code(&task->frame, s->x, s->y, s->z) | ghost, (uint32_t)i };
		}
	}
}

carom_result cr_morton_sort(const cr_sphere_set *set, uint32_t count, cr_key *keys, cr_key *scratch)
{
	code_task task = { set, cr_make_morton_frame(set->lower, set->upper), keys };
	cr_parallel_for(set->context, make_codes, count, CHUNK_SIZE, &task);
	return cr_sort_keys(set->context, keys, scratch, count, CR_MORTON_BITS + (set->ghosts > 0));
}

typedef struct order_task {
	const cr_key *keys;
	uint32_t *order;
} order_task;

static void copy_order(int64_t begin, int64_t end, int worker, void *task_pointer)
{
	(void)worker;
	const order_task *task = task_pointer;
	for (int64_t i = begin; i < end; i++)
		task->order[i] = task->keys[i].value;
}

carom_result cr_morton_order(carom_context *context, const cr_sphere_set *set, uint32_t *order)
{
	const size_t bytes = set->real * sizeof(cr_key);
	cr_key *keys = cr_alloc(context, bytes), *scratch = cr_alloc(context, bytes);
	carom_result result = CAROM_SUCCESS;
	if (set->real > 0 && (!keys || !scratch))
		result = cr_fail_memory(context, "the order of spheres");
	if (result == CAROM_SUCCESS)
		result = cr_morton_sort(set, set->real, keys, scratch);
	if (result == CAROM_SUCCESS)
		cr_parallel_for(context, copy_order, set->real, CHUNK_SIZE, &(order_task){ keys, order });
	cr_free(context, keys, bytes);
	cr_free(context, scratch, bytes);
	return result;
}
