/// Putting bodies to sleep, and asking about it. Their pairs: sleep.h.

#include "world/world.h"
#include <stdio.h>

static const char *const set_name = "carom_world_set_asleep";
static const char *const get_name = "carom_world_get_asleep";

static carom_result check_arrays(const carom_world *world, const char *name, int count, const carom_body_id *ids)
{
	if (count < 0)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: count is %d", name, count);
	if (count > 0 && !ids)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: ids is NULL", name);
	return CAROM_SUCCESS;
}

/// The error for an id that names no body.
static carom_result refuse_id(const carom_world *world, const char *name, int i, carom_body_id id)
{
	char id_name[64];
	snprintf(id_name, sizeof id_name, "%s: ids[%d]", name, i);
	cr_find_body_const(world, id, id_name); // tells the fault
	return CAROM_INVALID_BODY;
}

static carom_result check_sleepers(const carom_world *world, int count, const carom_body_id *ids)
{
	for (int i = 0; i < count; i++) {
		if (!carom_world_is_body(world, ids[i]))
			return refuse_id(world, set_name, i, ids[i]);
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
		result = check_arrays(world, set_name, count, ids);
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
	const carom_result result = check_arrays(world, get_name, count, ids);
	if (result != CAROM_SUCCESS)
		return result;
	if (count > 0 && !asleep)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: asleep is NULL", get_name);
	for (int i = 0; i < count; i++) {
		if (!carom_world_is_body(world, ids[i]))
			return refuse_id(world, get_name, i, ids[i]);
	}
	for (int i = 0; i < count; i++)
		asleep[i] = world->bodies.data[ids[i].index1 - 1].asleep;
	return CAROM_SUCCESS;
}
