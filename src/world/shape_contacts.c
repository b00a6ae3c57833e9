/// See shape_contacts.h. The stages are those of a world, so contacts are too. Pairs remember
/// nothing, and everything runs on the calling thread, so that calls on many threads do not wait
/// for each other.
///
/// Making and freeing the lists of the stages took as long as the contacts of two cubes of 12
/// triangles (carom_pair_peers). So queries are kept: a call takes one from the context, or makes
/// it, and leaves it there, with its lists, and the meshes of the boxes that it met. One that holds
/// much memory, or has failed, is not kept.

#include "world/shape_contacts.h"
#include "carom/collide.h"

enum {
	QUERY_CATEGORY = 1,
	OTHER_CATEGORY = 2,
	// Bytes that a query which is kept may hold. Meshes so large that they need more take longer
	// than its lists.
	MOST_KEPT = 512 * 1024,
};

// ---- Broad phase ----

/// The first body with each other: a loop in the place of a tree.
static carom_result find_pairs_of_first(cr_broad *broad, const cr_body *bodies, int32_t count, cr_pair_list *pairs)
{
	pairs->count = broad->met = 0;
	broad->compared = count;
	if (!cr_array_reserve(broad->context, pairs, count))
		return cr_fail_memory(broad->context, "pairs of bodies");
	for (int32_t i = 1; i < count; i++) {
		if (cr_bodies_may_collide(&bodies[0], &bodies[i]) && cr_broad_meet(broad, &bodies[0], &bodies[i]))
			pairs->data[pairs->count++] = (cr_body_pair){ 0, i };
	}
	broad->met = pairs->count;
	return CAROM_SUCCESS;
}

static void destroy_broad(cr_broad *broad) { cr_free(broad->context, broad, sizeof *broad); }

/// The stages of the CPU with that broad phase.
static carom_result open_stages(cr_pipeline *p)
{
	p->broad = cr_alloc(p->context, sizeof *p->broad);
	if (!p->broad)
		return cr_fail_memory(p->context, "a broad phase");
	*p->broad = (cr_broad){ .find = find_pairs_of_first, .destroy = destroy_broad, .context = p->context };
	return cr_cpu_stages.open(p);
}

// ---- Life ----

static void destroy_query(cr_spare *spare)
{
	cr_contact_query *q = (cr_contact_query *)spare;
	carom_context *context = q->context;
	cr_pipeline_free(&q->pipeline);
	cr_free_box_meshes(&q->memory, &q->box_meshes);
	cr_results_free(&q->memory, &q->results);
	cr_array_free(&q->memory, &q->bodies);
	cr_array_free(&q->memory, &q->originals);
	cr_free(context, q, sizeof *q);
}

/// A cr_mesh_maker_fn: boxes of a world that have no mesh yet get one for the query.
static carom_result make_mesh(void *user, cr_body *body)
{
	cr_contact_query *q = user;
	return cr_make_box_mesh(&q->memory, &q->box_meshes, false, &body->shape);
}

static carom_result init_query(cr_contact_query *q)
{
	q->stages = cr_cpu_stages;
	q->stages.open = open_stages;
	const carom_world_def def = carom_default_world_def();
	cr_settings settings = cr_join_settings(&def);
	settings.world.temporal = CAROM_TEMPORAL_NONE;
	const carom_result result = cr_pipeline_init(&q->pipeline, &q->memory, &settings, &q->stages);
	q->pipeline.untimed = true;
	q->pipeline.make_mesh = make_mesh;
	q->pipeline.make_mesh_user = q;
	return result;
}

static carom_result make_query(carom_context *context, cr_contact_query **query)
{
	cr_contact_query *q = cr_alloc_zero(context, sizeof *q);
	*query = q;
	if (!q)
		return cr_fail_memory(context, "the contacts of a shape");
	q->spare.destroy = destroy_query;
	q->context = context;
	cr_context_init_child(&q->memory, context, 0);
	q->memory.thread_count = 1;
	const carom_result result = init_query(q);
	if (result != CAROM_SUCCESS)
		destroy_query(&q->spare);
	return result;
}

carom_result cr_begin_contacts(carom_context *context, int32_t capacity, cr_contact_query **query)
{
	carom_result result = CAROM_SUCCESS;
	*query = (cr_contact_query *)cr_take_spare(context);
	if (!*query)
		result = make_query(context, query);
	if (result != CAROM_SUCCESS)
		return result;
	cr_contact_query *q = *query;
	q->bodies.count = q->shapes = 0;
	q->has_parts = false;
	if (cr_array_reserve_fresh(&q->memory, &q->bodies, capacity) && cr_array_reserve_fresh(&q->memory, &q->originals, capacity))
		return CAROM_SUCCESS;
	destroy_query(&q->spare);
	return cr_fail_memory(context, "the contacts of a shape");
}

/// Must the shape of a body be given up? The query's own, and a copy of a world's where its mesh
/// was made here.
static bool is_owner(const cr_contact_query *q, int64_t body)
{
	const carom_mesh *mesh = q->bodies.data[body].shape.mesh;
	return body < q->shapes || (mesh && mesh->context == &q->memory);
}

void cr_end_contacts(cr_contact_query *q)
{
	for (int64_t i = 0; i < q->bodies.count; i++) {
		if (is_owner(q, i))
			cr_shape_free(&q->bodies.data[i].shape);
	}
	if (q->failed || carom_memory_in_use(&q->memory) > MOST_KEPT)
		destroy_query(&q->spare);
	else
		cr_leave_spare(q->context, &q->spare);
}

// ---- Bodies ----

/// Filters were asked already: the first body meets all others, and these do not meet each other.
static void set_filter(cr_contact_query *q, cr_body *body)
{
	const bool is_query = q->bodies.count == 0;
	body->category = is_query ? QUERY_CATEGORY : OTHER_CATEGORY;
	body->mask = is_query ? OTHER_CATEGORY : QUERY_CATEGORY;
	body->group = 0;
	body->alive = body->moved = true;
	body->generation = 0;
	body->part = 0; // parts that are far away are not here
	body->own.compound = NULL;
	body->course = NULL; // nor does it come from anywhere
	q->originals.data[q->bodies.count++] = NULL;
}

/// Adds a body with a shape that is given away.
static void add_shape(cr_contact_query *q, const cr_shape *shape, const carom_pose *pose, carom_body_kind kind)
{
	cr_body *body = &q->bodies.data[q->bodies.count];
	*body = (cr_body){ .kind = (uint8_t)kind, .contacts = true, .shape = *shape, .pose = *pose };
	q->shapes++;
	set_filter(q, body);
}

void cr_add_contact_shape(cr_contact_query *q, const carom_shape *shape, const carom_pose *pose, carom_body_kind kind)
{
	cr_shape made;
	cr_shape_init(shape, &made);
	add_shape(q, &made, pose, kind);
}

void cr_add_contact_body(cr_contact_query *q, const cr_body *body, bool joins)
{
	cr_body *copy = &q->bodies.data[q->bodies.count];
	*copy = *body;
	set_filter(q, copy);
	copy->part = joins ? copy[-1].part + 1 : 0;
	q->has_parts = q->has_parts || joins;
}

void cr_add_contact_part(cr_contact_query *q, const cr_body *part, bool joins)
{
	cr_add_contact_body(q, part, joins);
	q->originals.data[q->bodies.count - 1] = part;
	q->has_parts = q->has_parts || cr_part_count(part - part->part) > 1;
}

carom_result cr_find_contacts(cr_contact_query *q, const cr_settings *settings)
{
	cr_settings own = *settings;
	own.world.temporal = CAROM_TEMPORAL_NONE;
	own.world.pair_filter = NULL;
	own.lab.tools = NULL;
	own.lab.worker_groups = 0;
	cr_pipeline_set(&q->pipeline, &own);
	q->pipeline.has_parts = q->has_parts;
	q->pipeline.originals = q->originals.data;
	carom_stats stats = { 0 };
	cr_results none = { .contacts = { .count = 0 } };
	cr_merging merging;
	carom_result result = cr_pipeline_run(&q->pipeline, q->bodies.data, (int32_t)q->bodies.count, &stats);
	if (result == CAROM_SUCCESS)
		result = cr_begin_merge(&q->pipeline, NULL, &none, &q->results, &merging);
	if (result == CAROM_SUCCESS)
		cr_end_merge(&merging);
	q->failed = result != CAROM_SUCCESS;
	return result;
}

// ---- Two shapes ----

/// Sets the shapes and poses of two bodies, and the members by which these are read.
static void place_two(const carom_shape *const shapes[2], const carom_pose poses[2], cr_body bodies[2])
{
	for (int i = 0; i < 2; i++) {
		bodies[i].kind = CAROM_STATIC;
		bodies[i].own.compound = NULL;
		bodies[i].course = NULL;
		bodies[i].pose = poses[i];
		cr_shape_init(shapes[i], &bodies[i].shape);
	}
}

static void free_two(cr_body bodies[2])
{
	for (int i = 0; i < 2; i++)
		cr_shape_free(&bodies[i].shape);
}

/// Finds the contacts of two bodies that were placed and are near each other; their shapes are
/// given away.
static carom_result find_pair(cr_contact_query *q, const cr_body placed[2], double margin)
{
	for (int i = 0; i < 2; i++) {
		// A is the one that moves, unless it is a plane.
		const bool moves = (placed[0].shape.def.type == CAROM_PLANE) == (i == 1);
		add_shape(q, &placed[i].shape, &placed[i].pose, moves ? CAROM_DYNAMIC : CAROM_STATIC);
	}
	const carom_world_def def = carom_default_world_def();
	cr_settings settings = cr_join_settings(&def);
	settings.world.speculative_distance = margin;
	q->pipeline.near = true;
	const carom_result result = cr_find_contacts(q, &settings);
	q->pipeline.near = false;
	return result;
}

carom_result cr_check_two_shapes(carom_context *context, const char *function, const carom_shape *const shapes[2],
	const carom_pose *const given[2], carom_pose poses[2])
{
	static const char *const fields[2] = { "pose_a", "pose_b" };
	for (int i = 0; i < 2; i++) {
		carom_result result = cr_check_given_shape(context, shapes[i], function, i ? "b" : "a");
		poses[i] = carom_pose_identity();
		if (result == CAROM_SUCCESS && given[i])
			result = cr_check_pose(context, given[i], function, fields[i], &poses[i]);
		if (result != CAROM_SUCCESS)
			return result;
	}
	return CAROM_SUCCESS;
}

bool cr_shapes_are_far(const carom_shape *const shapes[2], const carom_pose poses[2], double margin)
{
	cr_body bodies[2];
	place_two(shapes, poses, bodies);
	const bool far = !cr_pair_is_near(margin, &bodies[0], &bodies[1]);
	free_two(bodies);
	return far;
}

/// Writes the contacts of two placed bodies, which may be near each other; their shapes are given
/// away.
static carom_result collide_two(
	carom_context *context, cr_body placed[2], double margin, int32_t capacity, carom_contact *contacts, int32_t *count)
{
	cr_contact_query *q;
	carom_result result = cr_begin_contacts(context, 2, &q);
	if (result != CAROM_SUCCESS) {
		free_two(placed);
		return result;
	}
	result = find_pair(q, placed, margin);
	if (result == CAROM_SUCCESS) {
		*count = (int32_t)q->results.contacts.count;
		for (int32_t i = 0; i < *count && i < capacity; i++) {
			contacts[i] = q->results.contacts.data[i];
			contacts[i].body_a = contacts[i].body_b = (carom_body_id){ 0, 0 };
		}
	}
	cr_end_contacts(q);
	return result;
}

carom_result carom_collide(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, double margin, int32_t capacity, carom_contact *contacts, int32_t *count)
{
	static const char *const name = "carom_collide";
	const carom_shape *const shapes[2] = { a, b };
	carom_pose poses[2];
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!count || (capacity > 0 && !contacts))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, count ? "contacts" : "count");
	*count = 0;
	if (capacity < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: capacity is %d", name, capacity);
	if (!(margin >= 0 && margin <= CAROM_MAX_COORDINATE))
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "%s: margin is %g; it must be 0 to %g", name, margin, CAROM_MAX_COORDINATE);
	carom_result result = cr_check_two_shapes(context, name, shapes, (const carom_pose *[2]){ pose_a, pose_b }, poses);
	if (result == CAROM_SUCCESS && a->type == CAROM_PLANE && b->type == CAROM_PLANE)
		result = cr_fail(context, CAROM_UNSUPPORTED, "%s: two planes have no contacts", name);
	for (int i = 0; i < 2 && result == CAROM_SUCCESS; i++)
		result = cr_refuse_padding(context, shapes[i], i ? "carom_collide: b" : "carom_collide: a");
	if (result != CAROM_SUCCESS)
		return result;
	cr_body placed[2];
	place_two(shapes, poses, placed);
	if (cr_pair_is_near(margin, &placed[0], &placed[1]))
		return collide_two(context, placed, margin, capacity, contacts, count);
	free_two(placed);
	return CAROM_SUCCESS;
}
