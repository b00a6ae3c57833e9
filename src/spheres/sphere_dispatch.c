/// Choice of the grids' wide kernels at run time, and their common functions that are not wide.

#include "base/dispatch.h"
#include "spheres/sphere_kernels.h"

CR_DEFINE_KERNEL_GETTER(cr_sphere_kernels, cr_get_sphere_kernels)

void cr_clear_batches(cr_pair_batch *batches, int count)
{
	for (int i = 0; i < count; i++) {
		batches[i].count = 0;
		batches[i].stopped = false;
		batches[i].tests = 0;
	}
}

int64_t cr_sum_tests(const cr_pair_batch *batches, int count)
{
	int64_t tests = 0;
	for (int i = 0; i < count; i++)
		tests += batches[i].tests;
	return tests;
}

void cr_hand_on_pairs(const cr_sphere_search *search)
{
	cr_pair_batch *batch = search->batch;
	if (search->set->real < search->set->count) {
		int32_t kept = 0;
		for (int32_t i = 0; i < batch->count; i++)
			kept += cr_name_pair(search->set, batch->pairs[i].a, batch->pairs[i].b, &batch->pairs[kept]);
		batch->count = kept;
	}
	cr_flush_pairs(batch, search->sink, search->worker);
}
