/// Putting bodies to sleep, and asking about it. Their pairs: sleep.h.

#include "world/world.h"

static const char *const set_name = "carom_world_set_asleep";
static const char *const get_name = "carom_world_get_asleep";

static carom_result check_sleepers(const carom_world *world, int count, const carom_body_id *ids)
{
	for (int i = 0; i < count; i++) {
		if (!carom_world_is_body(world, ids[i]))
			return cr_refuse_id(world, set_name, i, ids);
		const uint8_t kind = world->bodies.data[ids[i].index1 - 1].kind;
		if (kind != CAROM_DYNAMIC && kind != CAROM_KINEMATIC)
			return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
				"%s: ids[%d] names a body whose kind is %s: only CAROM_DYNAMIC and CAROM_KINEMATIC bodies sleep", set_name, i,
				cr_kind_name((carom_body_kind)kind));
	}
	return CAROM_SUCCESS;
}

static void set_asleep(carom_world *world, cr_body *first, bool asleep)
{
	if (first->asleep == asleep)
		return;
	world->sleep.count += asleep ? 1 : -1;
	for (int32_t i = 0; i < cr_part_count(first); i++) {
		first[i].asleep = asleep;
		first[i].refiltered = first[i].refiltered || !asleep; // it meets others
		cr_add_change(&world->changes, first + i - world->bodies.data);
	}
}

carom_result carom_world_set_asleep(carom_world *world, int count, const carom_body_id *ids, bool asleep)
{
	carom_result result = cr_check_may_change(world, set_name);
	if (result == CAROM_SUCCESS)
		result = cr_check_ids(world, set_name, count, ids, ids, "ids");
	if (result == CAROM_SUCCESS)
		result = check_sleepers(world, count, ids);
	if (result != CAROM_SUCCESS)
		return result;
	for (int i = 0; i < count; i++)
		set_asleep(world, &world->bodies.data[ids[i].index1 - 1], asleep);
	cr_record_set_asleep(world->recorder, count, ids, asleep);
	return CAROM_SUCCESS;
}

carom_result carom_world_get_asleep(const carom_world *world, int count, const carom_body_id *ids, bool *asleep)
{
	const carom_result result = cr_check_ids(world, get_name, count, ids, asleep, "asleep");
	if (result != CAROM_SUCCESS)
		return result;
	for (int i = 0; i < count; i++) {
		if (!carom_world_is_body(world, ids[i]))
			return cr_refuse_id(world, get_name, i, ids);
	}
	for (int i = 0; i < count; i++)
		asleep[i] = world->bodies.data[ids[i].index1 - 1].asleep;
	return CAROM_SUCCESS;
}
