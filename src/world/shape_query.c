/// Queries of one shape against the bodies of a world: its contacts (carom_world_collide_shape).
/// Everything here takes a const world and may run on many threads at once.

#include "world/query_index.h"
#include "world/shape_contacts.h"
#include "world/single_query.h"

/// Meshes that solids have for a query alone.
typedef CR_ARRAY(carom_mesh *) mesh_list;

/// Leave out pairs without contacts. Returns how many solids that deform stay.
static int64_t drop_others(const carom_world *world, cr_item_list *near)
{
	int64_t kept = 0, solids = 0;
	for (int64_t i = 0; i < near->count; i++) {
		const cr_body *body = &world->bodies.data[near->data[i].body];
		if (body->sensor || !body->contacts || body->kind == CAROM_CLOTH)
			continue;
		near->data[kept++] = near->data[i];
		solids += cr_deforming_of(body) != NULL;
	}
	near->count = kept;
	return solids;
}

/// Add a solid that deforms, at its present places. There is room among the meshes.
static carom_result add_solid(cr_contact_query *q, const carom_world *world, const cr_body *solid, mesh_list *made)
{
	cr_body seen;
	carom_mesh *mesh;
	const carom_result result = cr_see_solid(world->context, solid, &seen, &mesh);
	if (result != CAROM_SUCCESS)
		return result;
	if (mesh)
		made->data[made->count++] = mesh;
	cr_add_contact_body(q, &seen, false);
	return CAROM_SUCCESS;
}

/// Add a part of a rigid body, or a sphere, which meets what a dynamic body of its shape meets.
static carom_result add_item(cr_contact_query *q, const carom_world *world, cr_query_item item, bool joins)
{
	carom_result result = CAROM_SUCCESS;
	cr_body ball;
	const cr_body *body = item.sphere >= 0 ? cr_see_item(world, item, &ball, &result) : &world->bodies.data[item.body];
	if (!body)
		return result;
	if (item.sphere >= 0) {
		ball.contacts = true;
		ball.kind = CAROM_DYNAMIC;
		ball.course = NULL;
	}
	if (body == &ball)
		cr_add_contact_body(q, body, joins);
	else
		cr_add_contact_part(q, body, joins);
	return result;
}

/// Is an item a part of the rigid body that the one before it is a part of?
static bool joins_last(const carom_world *world, const cr_item_list *near, int64_t i)
{
	const cr_body *bodies = world->bodies.data;
	return i > 0 && cr_same_body(&bodies[near->data[i - 1].body], &bodies[near->data[i].body]);
}

static carom_result find_contacts(cr_contact_query *q, const carom_world *world, const carom_shape *shape,
	const carom_pose *pose, const cr_item_list *near, mesh_list *made)
{
	carom_result result = CAROM_SUCCESS;
	q->pipeline.keeps_covered = world->pipeline.keeps_covered;
	cr_add_contact_shape(q, shape, pose, CAROM_DYNAMIC);
	for (int64_t i = 0; i < near->count && result == CAROM_SUCCESS; i++) {
		const cr_body *body = &world->bodies.data[near->data[i].body];
		result = cr_deforming_of(body) ? add_solid(q, world, body, made)
									   : add_item(q, world, near->data[i], joins_last(world, near, i));
	}
	return result == CAROM_SUCCESS ? cr_find_contacts(q, &world->pipeline.settings) : result;
}

/// Appends the contacts that were found.
static carom_result keep_contacts(
	const cr_contact_query *q, const carom_world *world, const cr_item_list *near, cr_contact_list *contacts)
{
	const int64_t count = q->results.contacts.count;
	if (count == 0)
		return CAROM_SUCCESS;
	if (!cr_array_reserve(world->context, contacts, contacts->count + count))
		return cr_fail_memory(world->context, "the contacts of a shape");
	for (int64_t i = 0; i < count; i++) {
		carom_contact c = q->results.contacts.data[i];
		// The query's shape is number 1.
		const cr_query_item met = near->data[c.body_b.index1 - 2 + (uint32_t)c.shape_b];
		c.body_a = (carom_body_id){ 0, 0 };
		c.body_b = cr_id_of(world->bodies.data, met.body);
		c.shape_b = cr_item_shape(world, met);
		contacts->data[contacts->count++] = c;
	}
	return CAROM_SUCCESS;
}

/// The contacts with the bodies near a shape, of which so many are solids that deform.
static carom_result ask_near(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const cr_item_list *near, int64_t solids, cr_contact_list *contacts)
{
	cr_contact_query *q;
	mesh_list made = { .count = 0 };
	if (!cr_array_reserve(world->context, &made, solids))
		return cr_fail_memory(world->context, "the contacts of a shape");
	carom_result result = cr_begin_contacts(world->context, (int32_t)near->count + 1, &q);
	if (result == CAROM_SUCCESS) {
		result = find_contacts(q, world, shape, pose, near, &made);
		if (result == CAROM_SUCCESS)
			result = keep_contacts(q, world, near, contacts);
		cr_end_contacts(q);
	}
	for (int64_t i = 0; i < made.count; i++)
		carom_release_mesh(made.data[i]);
	cr_array_free(world->context, &made);
	return result;
}

carom_result cr_ask_contacts(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, const char *name, cr_contact_list *contacts)
{
	carom_pose at;
	cr_item_list near;
	carom_result result = cr_check_query_shape(world, shape, pose, name, &at);
	if (result == CAROM_SUCCESS)
		result = cr_refuse_padding(world->context, shape, name);
	if (result == CAROM_SUCCESS)
		result = cr_list_near_items(world, name, shape, &at, world->def.speculative_distance, filter, &near);
	if (result != CAROM_SUCCESS)
		return result;
	const int64_t solids = drop_others(world, &near);
	if (near.count > 0)
		result = ask_near(world, shape, &at, &near, solids, contacts);
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
