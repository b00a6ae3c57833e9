/// Exit distances: how far the inward ray of each sample travels inside its own body.

#include "base/parallel.h"
#include "bvh/bvh_kernels.h"

enum { BLOCKS_PER_TASK = 256 };

typedef struct exit_task {
	const cr_collider *collider;
	const cr_bvh_kernels *kernels;
	const cr_change *change; // NULL: all samples
	float lower[3];          // box of the change, with a margin for rounding
	float upper[3];
} exit_task;

/// Does the way out of a sample, a little longer than it was, begin and end on one side of the box
/// of the change, along some axis? Told without a division: so it is of nearly all samples.
static bool passes_beside(const exit_task *t, const float origin[3], const float direction[3], float exit)
{
	const float far = exit * 1.001f + t->collider->scale * 1e-4f;
	bool beside = false;
	for (int k = 0; k < 3 && !beside; k++) {
		const float end = origin[k] + far * direction[k];
		beside = (origin[k] < t->lower[k] && end < t->lower[k]) || (origin[k] > t->upper[k] && end > t->upper[k]);
	}
	return beside;
}

/// May the way out of a sample, as it was, meet the box of the change?
static bool meets(const exit_task *t, const float origin[3], const float direction[3], float exit)
{
	float enter = 0, leave = exit;
	if (passes_beside(t, origin, direction, exit))
		return false;
	for (int k = 0; k < 3; k++) {
		if (direction[k] == 0) {
			if (origin[k] < t->lower[k] || origin[k] > t->upper[k])
				return false;
			continue;
		}
		const float a = (t->lower[k] - origin[k]) / direction[k], b = (t->upper[k] - origin[k]) / direction[k];
		const float first = a < b ? a : b, last = a < b ? b : a;
		enter = first > enter ? first : enter;
		leave = last < leave ? last : leave;
	}
	return enter <= leave * 1.0001f + t->collider->scale * 1e-5f;
}

static void measure_exits_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const exit_task *t = task;
	for (int64_t b = begin; b < end; b++) {
		cr_sample8 *block = &t->collider->samples[b];
		for (int lane = 0; lane < block->count; lane++) {
			const float origin[3] = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
			const float direction[3] = { block->inward[0][lane], block->inward[1][lane], block->inward[2][lane] };
			if (!t->change || cr_changed_normal(t->change, block->number[lane]) >= 0 ||
				meets(t, origin, direction, block->exit[lane]))
				block->exit[lane] = t->kernels->exit(t->collider, origin, direction);
		}
	}
}

void cr_collider_measure_exits(carom_context *context, cr_collider *c)
{
	exit_task task = { .collider = c, .kernels = cr_get_bvh_kernels(context->simd) };
	cr_parallel_for(context, measure_exits_task, c->sample_tree.block_count, BLOCKS_PER_TASK, &task);
}

void cr_collider_measure_exits_near(carom_context *context, cr_collider *c, const cr_change *change)
{
	exit_task task = { .collider = c, .kernels = cr_get_bvh_kernels(context->simd), .change = change };
	for (int k = 0; k < 3; k++) {
		task.lower[k] = change->lower[k] - c->scale * 1e-5f;
		task.upper[k] = change->upper[k] + c->scale * 1e-5f;
	}
	cr_parallel_for(context, measure_exits_task, c->sample_tree.block_count, BLOCKS_PER_TASK, &task);
}
