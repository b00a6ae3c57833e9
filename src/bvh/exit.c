/// Exit distances: how far the inward ray of each sample travels inside its own body.

#include "base/parallel.h"
#include "bvh/bvh_kernels.h"

enum { BLOCKS_PER_TASK = 256 };

typedef struct exit_task {
	const cr_collider *collider;
	const cr_bvh_kernels *kernels;
} exit_task;

static void measure_exits_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const exit_task *t = task;
	for (int64_t b = begin; b < end; b++) {
		cr_sample8 *block = &t->collider->samples[b];
		for (int lane = 0; lane < block->count; lane++) {
			const float origin[3] = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
			const float direction[3] = { block->inward[0][lane], block->inward[1][lane], block->inward[2][lane] };
			block->exit[lane] = t->kernels->exit(t->collider, origin, direction);
		}
	}
}

void cr_collider_measure_exits(carom_context *context, cr_collider *c)
{
	exit_task task = { .collider = c, .kernels = cr_get_bvh_kernels(context->simd) };
	cr_parallel_for(context, measure_exits_task, c->sample_tree.block_count, BLOCKS_PER_TASK, &task);
}
