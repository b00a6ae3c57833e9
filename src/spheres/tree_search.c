/// The common part of searches of trees: margins, batches, names. See spheres/tree_search.h.
#include "spheres/tree_search.h"

bool cr_begin_find(cr_tree_find *find, const cr_sphere_tree *tree, const cr_sphere_set *set, const cr_pair_sink *sink)
{
	*find = (cr_tree_find){ .tree = tree, .set = set, .sink = sink, .kernels = cr_get_tree_kernels(set->context->simd) };
	find->batches = cr_alloc_zero(set->context, (size_t)set->context->thread_count * sizeof *find->batches);
	return find->batches != NULL;
}

void cr_end_find(cr_tree_find *find, int64_t *tests)
{
	carom_context *context = find->set->context;
	for (int w = 0; find->batches && w < context->thread_count; w++) {
		cr_flush_pairs(&find->batches[w], find->sink, w);
		*tests += find->batches[w].tests;
	}
	cr_free(context, find->batches, (size_t)context->thread_count * sizeof *find->batches);
	cr_array_free(context, &find->front);
	cr_array_free(context, &find->next);
	cr_array_free(context, &find->stacks);
}

cr_tree_search cr_make_tree_search(const cr_tree_find *find, int worker)
{
	const cr_sphere_set *set = find->set;
	// The differences of radii and slack are rounded relative to the widest sum of radii: that goes
	// to the slack.
	const double slack = set->slack > 0 ? set->slack + (2.0 * set->r_max + set->skin + set->slack) * 0x1p-20 : 0;
	cr_tree_pair *stack = find->stacks.data ? find->stacks.data + (size_t)worker * CR_TREE_PAIR_STACK : NULL;
	return (cr_tree_search){ find->tree, set, find->sink, &find->batches[worker], worker, stack, (float)(set->skin - slack),
		(float)(set->skin + slack), set->ghosts > 0 };
}

void cr_put_pair(const cr_tree_search *search, uint32_t i, uint32_t j)
{
	cr_pair_batch *batch = search->batch;
	if (!cr_name_pair(search->set, i, j, &batch->pairs[batch->count]))
		return;
	if (++batch->count == CR_PAIR_BATCH)
		cr_flush_pairs(batch, search->sink, search->worker);
}

void cr_tree_take_pair(const cr_tree_search *search, uint32_t a, uint32_t b, bool sure)
{
	const uint32_t i = search->tree->id[a], j = search->tree->id[b];
	if (sure || cr_spheres_touch(search->set, i, j))
		cr_put_pair(search, i, j);
}
