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
#include "frame/shape_table.h"
#include <stdio.h>

enum {
	QUERY_CATEGORY = 1,
	OTHER_CATEGORY = 2,
	// Bytes that a query which is kept may hold. Meshes so large that they need more take longer
	// than its lists.
	MOST_KEPT = 512 * 1024,
	// Likewise while a batch goes on: the meshes of many boxes must not heap up.
	MOST_IN_BATCH = 8 * 1024 * 1024,
};

// ---- Broad phase ----

/// Each two bodies of a query of pairs. All filters let them pass.
static carom_result find_pairs_of_two(cr_broad *broad, const cr_body *bodies, int32_t count, cr_pair_list *pairs)
{
	pairs->count = broad->met = 0;
	broad->compared = count / 2;
	if (!cr_array_reserve(broad->context, pairs, count / 2))
		return cr_fail_memory(broad->context, "pairs of bodies");
	for (int32_t i = 0; i + 1 < count; i += 2) {
		if (cr_broad_meet(broad, &bodies[i], &bodies[i + 1]))
			pairs->data[pairs->count++] = (cr_body_pair){ i, i + 1 };
	}
	broad->met = pairs->count;
	return CAROM_SUCCESS;
}

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
	q->has_parts = q->in_pairs = false;
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

static void clear_bodies(cr_contact_query *q)
{
	for (int64_t i = 0; i < q->bodies.count; i++) {
		if (is_owner(q, i))
			cr_shape_free(&q->bodies.data[i].shape);
	}
	q->bodies.count = q->shapes = 0;
}

void cr_end_contacts(cr_contact_query *q)
{
	clear_bodies(q);
	if (q->failed || carom_memory_in_use(&q->memory) > MOST_KEPT)
		destroy_query(&q->spare);
	else
		cr_leave_spare(q->context, &q->spare);
}

void cr_rest_contacts(cr_contact_query **query)
{
	clear_bodies(*query);
	if (!(*query)->failed && carom_memory_in_use(&(*query)->memory) <= MOST_IN_BATCH)
		return;
	destroy_query(&(*query)->spare);
	*query = NULL;
}

// ---- Bodies ----

/// Filters were asked already: the first body, or the first one of each pair, meets the others, and
/// these do not meet each other.
static void set_filter(cr_contact_query *q, cr_body *body)
{
	const bool is_query = q->in_pairs ? q->bodies.count % 2 == 0 : q->bodies.count == 0;
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
	q->pipeline.broad->find = q->in_pairs ? find_pairs_of_two : find_pairs_of_first;
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

// ---- Pairs of shapes ----

carom_result cr_check_contact_margin(carom_context *context, double margin, const char *function)
{
	if (margin >= 0 && margin <= CAROM_MAX_COORDINATE)
		return CAROM_SUCCESS;
	return cr_fail(
		context, CAROM_INVALID_ARGUMENT, "%s: margin is %g; it must be 0 to %g", function, margin, CAROM_MAX_COORDINATE);
}

carom_result cr_check_contact_pair(carom_context *context, const char *function, const carom_shape *const shapes[2],
	const carom_pose *const given[2], cr_shape_pair *pair)
{
	const carom_result result = cr_check_two_shapes(context, function, shapes, given, pair->poses);
	if (result != CAROM_SUCCESS)
		return result;
	if (shapes[0]->type == CAROM_PLANE && shapes[1]->type == CAROM_PLANE)
		return cr_fail(context, CAROM_UNSUPPORTED, "%s: two planes have no contacts", function);
	for (int i = 0; i < 2; i++) {
		if (cr_padding_of(shapes[i]) > 0) {
			char name[96];
			snprintf(name, sizeof name, "%s: %s", function, i ? "b" : "a");
			return cr_refuse_padding(context, shapes[i], name);
		}
		pair->shapes[i] = shapes[i];
	}
	return CAROM_SUCCESS;
}

/// Begins a query of up to so many pairs, unless there is one.
static carom_result begin_pairs(carom_context *context, int32_t capacity, cr_contact_query **query)
{
	if (*query)
		return CAROM_SUCCESS;
	const carom_result result = cr_begin_contacts(context, 2 * capacity, query);
	if (result == CAROM_SUCCESS)
		(*query)->in_pairs = true;
	else
		*query = NULL;
	return result;
}

carom_result cr_add_contact_pair(
	carom_context *context, const cr_shape_pair *pair, double margin, int32_t capacity, cr_contact_query **query, bool *added)
{
	cr_body placed[2];
	place_two(pair->shapes, pair->poses, placed);
	*added = cr_pair_is_near(margin, &placed[0], &placed[1]);
	const carom_result result = *added ? begin_pairs(context, capacity, query) : CAROM_SUCCESS;
	*added = *added && result == CAROM_SUCCESS;
	if (!*added)
		free_two(placed);
	for (int i = 0; i < 2 && *added; i++) {
		// A is the one that moves, unless it is a plane.
		const bool moves = (pair->shapes[0]->type == CAROM_PLANE) == (i == 1);
		add_shape(*query, &placed[i].shape, &placed[i].pose, moves ? CAROM_DYNAMIC : CAROM_STATIC);
	}
	return result;
}

carom_result cr_find_pair_contacts(cr_contact_query *q, double margin)
{
	const carom_world_def def = carom_default_world_def();
	cr_settings settings = cr_join_settings(&def);
	settings.world.speculative_distance = margin;
	q->pipeline.near = true;
	const carom_result result = cr_find_contacts(q, &settings);
	q->pipeline.near = false;
	for (int64_t i = 0; i < q->results.contacts.count && result == CAROM_SUCCESS; i++)
		q->results.contacts.data[i].body_a = q->results.contacts.data[i].body_b = (carom_body_id){ 0, 0 };
	return result;
}

carom_result carom_collide(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, double margin, int32_t capacity, carom_contact *contacts, int32_t *count)
{
	static const char *const name = "carom_collide";
	cr_shape_pair pair;
	cr_contact_query *q = NULL;
	bool added;
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!count || (capacity > 0 && !contacts))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, count ? "contacts" : "count");
	*count = 0;
	if (capacity < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: capacity is %d", name, capacity);
	carom_result result = cr_check_contact_margin(context, margin, name);
	if (result == CAROM_SUCCESS)
		result = cr_check_contact_pair(
			context, name, (const carom_shape *[2]){ a, b }, (const carom_pose *[2]){ pose_a, pose_b }, &pair);
	if (result == CAROM_SUCCESS)
		result = cr_add_contact_pair(context, &pair, margin, 1, &q, &added);
	if (result == CAROM_SUCCESS && added)
		result = cr_find_pair_contacts(q, margin);
	if (result == CAROM_SUCCESS && added) {
		*count = (int32_t)q->results.contacts.count;
		for (int32_t i = 0; i < *count && i < capacity; i++)
			contacts[i] = q->results.contacts.data[i];
	}
	if (q)
		cr_end_contacts(q);
	return result;
}
