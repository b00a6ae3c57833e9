/// The detector "tree": a tree of the spheres' own boxes, searched in itself.
///
/// Pairs of boxes are opened together from the root down, both at once when both are inner, so that
/// each pair of boxes is met once and each pair of spheres once. First in width by one worker,
/// until there are pairs enough to share, then in depth.
///
/// Boxes reach r + skin / 2 from the centre: two spheres with |c_a - c_b| <= r_a + r_b + skin have
/// no axis on which their centres are further apart than (r_a + skin / 2) + (r_b + skin / 2), so
/// their boxes overlap on each. The paper's proxy boxes (Mochi) reach 2 r, eight times the volume,
/// because hardware can only ask which boxes hold a point.
#include "spheres/sphere_detector.h"
#include "spheres/tree_search.h"
#include "base/parallel.h"
#include <string.h>

enum { FRONT_SIZE = 1024 };

static const cr_tree_reach REACH = { 1, 0.5f };

static carom_result build(void **state, const cr_sphere_set *set) { return cr_build_sphere_tree(state, set, REACH); }

/// One piece of one item: the parallel loop says which worker this is.
static void widen_front(int64_t begin, int64_t end, int worker, void *find_pointer)
{
	(void)begin;
	(void)end;
	cr_tree_find *find = find_pointer;
	carom_context *context = find->set->context;
	const cr_tree_search search = cr_make_tree_search(find, worker);
	while (find->front.count > 0 && find->front.count < FRONT_SIZE) {
		if (!cr_array_reserve(context, &find->next, find->front.count * CR_TREE_STEP)) {
			find->failed = true;
			return;
		}
		find->next.count = 0;
		for (int64_t i = 0; i < find->front.count; i++)
			find->next.count += find->kernels->open_pair(&search, find->front.data[i], find->next.data + find->next.count);
		if (!cr_array_reserve(context, &find->front, find->next.count)) {
			find->failed = true;
			return;
		}
		memcpy(find->front.data, find->next.data, (size_t)find->next.count * sizeof *find->front.data);
		find->front.count = find->next.count;
	}
}

static void search_front(int64_t begin, int64_t end, int worker, void *find_pointer)
{
	const cr_tree_find *find = find_pointer;
	const cr_tree_search search = cr_make_tree_search(find, worker);
	for (int64_t i = begin; i < end && !search.batch->stopped; i++)
		find->kernels->search_pair(&search, find->front.data[i]);
}

static bool search_tree(cr_tree_find *find)
{
	carom_context *context = find->set->context;
	if (!cr_array_reserve(context, &find->front, 1) ||
		!cr_array_reserve(context, &find->stacks, (int64_t)context->thread_count * CR_TREE_PAIR_STACK))
		return false;
	find->front.data[find->front.count++] = (cr_tree_pair){ 0, CR_TREE_SELF };
	cr_parallel_for(context, widen_front, 1, 1, find);
	if (find->failed)
		return false;
	cr_parallel_for(context, search_front, find->front.count, 1, find);
	return true;
}

static carom_result find_pairs(void *state, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests)
{
	const cr_sphere_tree *tree = state;
	*tests = 0;
	if (tree->count == 0)
		return CAROM_SUCCESS;
	cr_tree_find find;
	const bool done = cr_begin_find(&find, tree, set, sink) && search_tree(&find);
	cr_end_find(&find, tests);
	return done ? CAROM_SUCCESS : cr_fail_memory(set->context, "the search of the tree of spheres");
}

const cr_sphere_detector cr_tree_detector = { build, cr_refit_sphere_tree, find_pairs, cr_sphere_tree_cost,
	cr_sphere_tree_bytes, cr_release_sphere_tree, NULL };
