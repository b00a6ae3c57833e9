/// Queries of one shape against the bodies of a world: its contacts (carom_world_collide_shape).
/// Everything here takes a const world and may run on many threads at once.

#include "world/query_index.h"
#include "world/shape_contacts.h"

/// Leave out what has no contacts.
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
	carom_result result = cr_add_contact_shape(q, shape, pose, CAROM_DYNAMIC);
	for (int64_t i = 0; i < near->count; i++)
		cr_add_contact_body(q, &world->bodies.data[near->data[i]]);
	return result == CAROM_SUCCESS ? cr_find_contacts(q, &world->def) : result;
}

static void write_contacts(const cr_contact_query *q, const carom_world *world, const cr_body_list *near, int32_t capacity,
	carom_contact *contacts, int32_t *count)
{
	*count = (int32_t)q->results.contacts.count;
	for (int32_t i = 0; i < *count && i < capacity; i++) {
		const carom_contact *c = &q->results.contacts.data[i];
		const int32_t body = near->data[c->body_b.index1 - 2]; // the query's shape is number 1
		contacts[i] = *c;
		contacts[i].body_a = (carom_body_id){ 0, 0 };
		contacts[i].body_b = cr_id_of(world->bodies.data, body);
		contacts[i].shape_b = world->bodies.data[body].part;
	}
}

carom_result carom_world_collide_shape(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, int32_t capacity, carom_contact *contacts, int32_t *count)
{
	static const char *const name = "carom_world_collide_shape";
	carom_pose at;
	if (!world)
		return CAROM_INVALID_ARGUMENT;
	if (!count || (capacity > 0 && !contacts))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, count ? "contacts" : "count");
	*count = 0;
	if (capacity < 0)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: capacity is %d", name, capacity);
	cr_body_list near;
	cr_contact_query q;
	carom_result result = cr_check_query_shape(world, shape, pose, name, &at);
	if (result == CAROM_SUCCESS)
		result = cr_list_near_bodies(world, name, shape, &at, world->def.speculative_distance, filter, &near);
	if (result != CAROM_SUCCESS)
		return result;
	drop_others(world, &near);
	if (near.count > 0)
		result = cr_begin_contacts(&q, world->context, (int32_t)near.count + 1);
	if (result == CAROM_SUCCESS && near.count > 0) {
		result = find_contacts(&q, world, shape, &at, &near);
		if (result == CAROM_SUCCESS)
			write_contacts(&q, world, &near, capacity, contacts, count);
		cr_end_contacts(&q);
	}
	cr_array_free(world->context, &near);
	return result;
}
