/// Broad phase by brute force: every body against every other, O(n^2), serial. The oracle of the
/// two others, and so as dull as can be.
#include "lab/lab_state.h"

static carom_result find_brute(cr_broad *broad, const cr_body *bodies, int32_t count, cr_pair_list *pairs)
{
	pairs->count = broad->met = 0;
	for (int32_t a = 0; a < count; a++) {
		for (int32_t b = a + 1; b < count; b++) {
			if (!bodies[a].alive || !bodies[b].alive)
				continue;
			if (!cr_bodies_may_collide(&bodies[a], &bodies[b]) || !cr_broad_meet(broad, &bodies[a], &bodies[b]))
				continue;
			broad->met++;
			if (!cr_broad_ask(broad, a, b))
				continue;
			if (!cr_array_reserve(broad->context, pairs, pairs->count + 1)) {
				pairs->count = 0;
				return cr_fail_memory(broad->context, "pairs of bodies");
			}
			pairs->data[pairs->count++] = (cr_body_pair){ a, b };
		}
	}
	broad->compared = (int64_t)count * (count - 1) / 2;
	return CAROM_SUCCESS;
}

static void destroy_brute(cr_broad *broad) { cr_free(broad->context, broad, sizeof *broad); }

carom_result cr_broad_create_brute(carom_context *context, cr_broad **broad)
{
	*broad = cr_alloc(context, sizeof **broad);
	if (!*broad)
		return cr_fail_memory(context, "a broad phase");
	**broad = (cr_broad){ .find = find_brute, .destroy = destroy_brute, .context = context };
	return CAROM_SUCCESS;
}
