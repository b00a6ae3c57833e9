/// See shape_contacts.h. A pipeline lives for one call: its stages are those of a world, so
/// contacts are too. Pairs remember nothing, and everything runs on the calling thread, so that
/// calls on many threads do not wait for each other.

#include "world/shape_contacts.h"
#include "carom/collide.h"

enum {
	QUERY_CATEGORY = 1,
	OTHER_CATEGORY = 2,
	// Bytes of one block that a call cuts its memory from. Two dozen blocks took nearly as long as
	// the contacts of two cubes of 12 triangles (carom_pair_peers). A third each is for the lists
	// of the stages, for the walk over two trees (pair_kernels.c), and for the block by which its
	// arena grows behind that.
	ROOM = 176 * 1024,
};

carom_result cr_begin_contacts(cr_contact_query *q, carom_context *context, int32_t capacity)
{
	*q = (cr_contact_query){ .capacity = capacity };
	cr_context_init_child(&q->memory, context, 0);
	q->memory.thread_count = 1;
	if (cr_context_make_room(&q->memory, ROOM))
		q->bodies = cr_alloc_array(&q->memory, (size_t)capacity, sizeof *q->bodies);
	if (q->bodies)
		return CAROM_SUCCESS;
	cr_context_drop_room(&q->memory);
	return cr_fail_memory(context, "the contacts of a shape");
}

/// Filters were asked already: the first body meets all others, and these do not meet each other.
static void set_filter(cr_contact_query *q, cr_body *body)
{
	const bool is_query = q->count == 0;
	body->category = is_query ? QUERY_CATEGORY : OTHER_CATEGORY;
	body->mask = is_query ? OTHER_CATEGORY : QUERY_CATEGORY;
	body->group = 0;
	body->alive = body->moved = true;
	body->generation = 0;
	body->part = 0; // a copy of a part stands alone here
	body->compound = NULL;
	q->count++;
}

void cr_add_contact_shape(cr_contact_query *q, const carom_shape *shape, const carom_pose *pose, carom_body_kind kind)
{
	cr_body *body = &q->bodies[q->count];
	*body = (cr_body){ .kind = (uint8_t)kind, .pose = *pose, .last_pose = *pose };
	body->rotation = body->last_rotation = m3d_from_quat(pose->orientation);
	cr_shape_init(shape, &body->shape);
	q->shapes++;
	set_filter(q, body);
}

void cr_add_contact_body(cr_contact_query *q, const cr_body *body)
{
	q->bodies[q->count] = *body;
	set_filter(q, &q->bodies[q->count]);
}

/// A cr_mesh_maker_fn: boxes of a world that have no mesh yet get one for the query.
static carom_result make_mesh(void *user, cr_body *body)
{
	cr_contact_query *q = user;
	return cr_make_box_mesh(&q->memory, q->box_meshes, &body->shape);
}

/// Must the shape of a body be given up? The query's own, and a copy of a world's where its mesh
/// was made here.
static bool is_owner(const cr_contact_query *q, int32_t body)
{
	const carom_mesh *mesh = q->bodies[body].shape.mesh;
	return body < q->shapes || (mesh && mesh->context == &q->memory);
}

static carom_result run_pipeline(cr_contact_query *q, cr_pipeline *pipeline, const cr_settings *settings)
{
	carom_stats stats = { 0 };
	carom_result result = cr_pipeline_init(pipeline, &q->memory, settings, &cr_cpu_stages);
	if (result != CAROM_SUCCESS)
		return result;
	pipeline->untimed = true;
	pipeline->make_mesh = make_mesh;
	pipeline->make_mesh_user = q;
	const cr_results none = { .contacts = { .count = 0 } };
	result = cr_pipeline_run(pipeline, q->bodies, q->count, &stats);
	if (result == CAROM_SUCCESS)
		result = cr_merge(pipeline, &none, &q->results);
	cr_pipeline_free(pipeline);
	return result;
}

carom_result cr_find_contacts(cr_contact_query *q, const cr_settings *settings)
{
	cr_settings own = *settings;
	own.world.temporal = CAROM_TEMPORAL_NONE;
	own.world.pair_filter = NULL;
	own.lab.tools = NULL;
	own.lab.worker_groups = 0;
	// not on the stack: see CAROM_STACK_BYTES
	cr_pipeline *pipeline = cr_alloc(&q->memory, sizeof *pipeline);
	if (!pipeline)
		return cr_fail_memory(&q->memory, "the contacts of a shape");
	const carom_result result = run_pipeline(q, pipeline, &own);
	cr_free(&q->memory, pipeline, sizeof *pipeline);
	return result;
}

void cr_end_contacts(cr_contact_query *q)
{
	for (int32_t i = 0; i < q->count; i++) {
		if (is_owner(q, i))
			cr_shape_free(&q->bodies[i].shape);
	}
	cr_release_box_meshes(q->box_meshes);
	cr_results_free(&q->memory, &q->results);
	cr_free(&q->memory, q->bodies, (size_t)q->capacity * sizeof *q->bodies);
	cr_context_drop_room(&q->memory);
}

// ---- Two shapes ----

static carom_result find_pair(cr_contact_query *q, const carom_shape *const shapes[2], const carom_pose poses[2], double margin)
{
	const carom_world_def def = carom_default_world_def();
	cr_settings settings = cr_join_settings(&def);
	settings.world.speculative_distance = margin;
	for (int i = 0; i < 2; i++) {
		// A is the one that moves, unless it is a plane.
		const bool moves = i == 0 ? shapes[0]->type != CAROM_PLANE : shapes[0]->type == CAROM_PLANE;
		cr_add_contact_shape(q, shapes[i], &poses[i], moves ? CAROM_DYNAMIC : CAROM_STATIC);
	}
	return cr_find_contacts(q, &settings);
}

carom_result cr_check_two_shapes(carom_context *context, const char *function, const carom_shape *const shapes[2],
	const carom_pose *const given[2], carom_pose poses[2])
{
	static const char *const fields[2] = { "pose_a", "pose_b" };
	for (int i = 0; i < 2; i++) {
		if (!shapes[i])
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: a shape is NULL", function);
		carom_result result = cr_check_shape(context, shapes[i], function);
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
	for (int i = 0; i < 2; i++) {
		bodies[i].pose = poses[i];
		bodies[i].rotation = m3d_from_quat(poses[i].orientation);
		cr_shape_init(shapes[i], &bodies[i].shape);
	}
	const bool far = !cr_pair_is_near(margin, &bodies[0], &bodies[1]);
	for (int i = 0; i < 2; i++)
		cr_shape_free(&bodies[i].shape);
	return far;
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
	cr_contact_query q;
	carom_result result = cr_check_two_shapes(context, name, shapes, (const carom_pose *[2]){ pose_a, pose_b }, poses);
	if (result == CAROM_SUCCESS && a->type == CAROM_PLANE && b->type == CAROM_PLANE)
		result = cr_fail(context, CAROM_UNSUPPORTED, "%s: two planes have no contacts", name);
	if (result != CAROM_SUCCESS || cr_shapes_are_far(shapes, poses, margin))
		return result;
	result = cr_begin_contacts(&q, context, 2);
	if (result != CAROM_SUCCESS)
		return result;
	result = find_pair(&q, shapes, poses, margin);
	if (result == CAROM_SUCCESS) {
		*count = (int32_t)q.results.contacts.count;
		for (int32_t i = 0; i < *count && i < capacity; i++) {
			contacts[i] = q.results.contacts.data[i];
			contacts[i].body_a = contacts[i].body_b = (carom_body_id){ 0, 0 };
		}
	}
	cr_end_contacts(&q);
	return result;
}
