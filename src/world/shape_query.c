/// Queries of one shape against the bodies of a world: its contacts (carom_world_collide_shape).
/// Everything here takes a const world and may run on many threads at once.

#include "world/query_index.h"
#include "world/shape_contacts.h"
#include "world/single_query.h"

/// Leave out pairs without contacts.
static void drop_others(const carom_world *world, cr_body_list *near)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < near->count; i++) {
		const cr_body *body = &world->bodies.data[near->data[i]];
		if (!body->sensor && !body->deforming)
			near->data[kept++] = near->data[i];
	}
	near->count = kept;
}

static carom_result find_contacts(
	cr_contact_query *q, const carom_world *world, const carom_shape *shape, const carom_pose *pose, const cr_body_list *near)
{
	cr_add_contact_shape(q, shape, pose, CAROM_DYNAMIC);
	for (int64_t i = 0; i < near->count; i++)
		cr_add_contact_body(q, &world->bodies.data[near->data[i]]);
	return cr_find_contacts(q, &world->pipeline.settings);
}

/// Appends the contacts that were found.
static carom_result keep_contacts(
	const cr_contact_query *q, const carom_world *world, const cr_body_list *near, cr_contact_list *contacts)
{
	const int64_t count = q->results.contacts.count;
	if (count == 0)
		return CAROM_SUCCESS;
	if (!cr_array_reserve(world->context, contacts, contacts->count + count))
		return cr_fail_memory(world->context, "the contacts of a shape");
	for (int64_t i = 0; i < count; i++) {
		carom_contact c = q->results.contacts.data[i];
		const int32_t body = near->data[c.body_b.index1 - 2]; // the query's shape is number 1
		c.body_a = (carom_body_id){ 0, 0 };
		c.body_b = cr_id_of(world->bodies.data, body);
		c.shape_b = world->bodies.data[body].part;
		contacts->data[contacts->count++] = c;
	}
	return CAROM_SUCCESS;
}

carom_result cr_ask_contacts(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, const char *name, cr_contact_list *contacts)
{
	carom_pose at;
	cr_body_list near;
	cr_contact_query *q;
	carom_result result = cr_check_query_shape(world, shape, pose, name, &at);
	if (result == CAROM_SUCCESS)
		result = cr_list_near_bodies(world, name, shape, &at, world->def.speculative_distance, filter, &near);
	if (result != CAROM_SUCCESS)
		return result;
	drop_others(world, &near);
	if (near.count > 0)
		result = cr_begin_contacts(world->context, (int32_t)near.count + 1, &q);
	if (result == CAROM_SUCCESS && near.count > 0) {
		result = find_contacts(q, world, shape, &at, &near);
		if (result == CAROM_SUCCESS)
			result = keep_contacts(q, world, &near, contacts);
		cr_end_contacts(q);
	}
	cr_array_free(world->context, &near);
	return result;
}

carom_result carom_world_collide_shape(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, int32_t capacity, carom_contact *contacts, int32_t *count)
{
	static const char *const name = "carom_world_collide_shape";
	if (!world)
		return CAROM_INVALID_ARGUMENT;
	if (!count || (capacity > 0 && !contacts))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, count ? "contacts" : "count");
	*count = 0;
	if (capacity < 0)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: capacity is %d", name, capacity);
	cr_contact_list found = { .count = 0 };
	const carom_result result = cr_ask_contacts(world, shape, pose, filter, name, &found);
	if (result == CAROM_SUCCESS)
		*count = (int32_t)found.count;
	for (int32_t i = 0; i < *count && i < capacity; i++)
		contacts[i] = found.data[i];
	cr_array_free(world->context, &found);
	return result;
}
