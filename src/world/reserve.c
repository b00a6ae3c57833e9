/// Making room ahead (carom_world_reserve).
///
/// Each array that a step fills by numbers of bodies, pairs or contacts gets its room here, with
/// scratch of the merge stage for as many contacts. Lists whose lengths depend on meshes (rays, the
/// memory of pairs of meshes) are left to the steps, which let them grow and keep them.

#include "world/world.h"

static const char *const name = "carom_world_reserve";

static bool reserve_bodies(carom_world *world, int32_t count)
{
	carom_context *memory = &world->memory;
	return cr_array_reserve(memory, &world->bodies, count) && cr_array_reserve(memory, &world->free_bodies, count) &&
		cr_array_reserve(memory, &world->free_ranges, (count + (int64_t)1) / 2) &&
		cr_reserve_sure_courses(memory, &world->courses, count);
}

/// The results of the last step: the next one writes over them where they are long enough.
static bool reserve_results(carom_world *world, int32_t pairs, int32_t contacts)
{
	carom_context *memory = &world->memory;
	cr_results *r = &world->results[world->current];
	// All pairs of a step may end while as many begin.
	const int64_t events = 2 * (int64_t)pairs;
	const bool by_body = world->pipeline.settings.body_pairs;
	return cr_array_reserve(memory, &r->pairs, pairs) && cr_array_reserve(memory, &r->contacts, contacts) &&
		cr_array_reserve(memory, &r->events, events) &&
		(!by_body || (cr_array_reserve(memory, &r->body_pairs, pairs) && cr_array_reserve(memory, &r->body_events, events)));
}

carom_result carom_world_reserve(carom_world *world, int32_t parts, int32_t pairs, int32_t contacts)
{
	const carom_result result = cr_check_may_change(world, name);
	if (result != CAROM_SUCCESS)
		return result;
	if (parts < 0 || pairs < 0 || contacts < 0)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is %d", name,
			parts < 0       ? "parts"
				: pairs < 0 ? "pairs"
							: "contacts",
			(int)(parts < 0     ? parts
					: pairs < 0 ? pairs
								: contacts));
	const unsigned refusals = cr_count_refusals(world);
	if (reserve_bodies(world, parts) && reserve_results(world, pairs, contacts) &&
		cr_pipeline_reserve(&world->pipeline, parts, pairs, contacts))
		return CAROM_SUCCESS;
	return cr_explain_failure(world, name, refusals, cr_fail_memory(world->context, "room for a world"));
}
