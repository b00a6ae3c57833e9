/// Another shape for a body, or other parts, while it lives.
///
/// All that may fail is made beside the body and then exchanged: on failure nothing has changed.
/// The memory that pairs have of the old shape is dropped by the next step (cr_body.reshaped);
/// results stay, so that pairs go on. That of surface contacts is carried over
/// (surface_reshape.c). Cost: O(parts), and that of making a shape.

#include "world/height_field.h"

static const char *const shape_name = "carom_world_set_shape";
static const char *const parts_name = "carom_world_set_parts";
static const char *const field_name = "carom_world_edit_field";
static const char *const paint_name = "carom_world_paint_field";

// ---- Effects of a change ----

/// Note that a part has got another shape.
static void note(cr_body *part, cr_reshaping reshaping)
{
	part->moved = true;      // its box is another
	part->refiltered = true; // and so may be the bodies that it can meet
	part->reshaped = part->reshaped > reshaping ? part->reshaped : (uint8_t)reshaping;
}

static void swap_shape(carom_world *world, cr_body *part, const cr_shape *shape)
{
	if (part->shape.def.type == CAROM_MESH && world->impacts.deforming_count > 0)
		cr_forget_scenes(world); // they hold the triangles of rigid meshes too
	cr_drop_carried(&world->surface_contacts, (int32_t)(part - world->bodies.data));
	cr_drop_body_shape(world, &part->shape);
	part->shape = *shape;
}

/// Make room for the memory that is to be carried over. On failure it is given up.
static carom_result reserve_carried(carom_world *world, bool enough, cr_carried *carried)
{
	if (enough && cr_reserve_carried(&world->memory, &world->surface_contacts, carried))
		return CAROM_SUCCESS;
	cr_free_carried(&world->memory, carried);
	return cr_fail_memory(world->context, "the memory of surface contacts");
}

/// count: parts that the body had, or has, the larger one
static void finish(carom_world *world, const cr_body *first, int32_t count, cr_carried *carried)
{
	cr_take_carried(&world->memory, &world->surface_contacts, carried);
	cr_note_members(world);
	cr_note_boxes(world, first, count);
}

/// The body of an id, if it is rigid. NULL after a failure, with *result.
static cr_body *find_rigid(carom_world *world, carom_body_id id, const char *function, carom_result *result)
{
	cr_body *body;
	*result = cr_find_body(world, id, function, &body);
	if (!body || !(cr_deforming_of(body) || cr_granular_of(body)))
		return body;
	if (cr_granular_of(body)) {
		*result = cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"%s: id names a body whose kind is CAROM_GRANULAR: carom_world_set_spheres gives it other spheres", function);
		return NULL;
	}
	*result = cr_fail(world->context, CAROM_INVALID_ARGUMENT,
		"%s: id names a body whose kind is %s: carom_world_set_mesh gives it another mesh, carom_world_set_vertices moves it",
		function, cr_kind_name((carom_body_kind)body->kind));
	return NULL;
}

// ---- One shape ----

static bool are_equal(const carom_shape *a, const carom_shape *b)
{
	return a->type == b->type && a->radius == b->radius && a->half_length == b->half_length &&
		a->half_extents[0] == b->half_extents[0] && a->half_extents[1] == b->half_extents[1] &&
		a->half_extents[2] == b->half_extents[2] && a->mesh == b->mesh && a->rounding == b->rounding;
}

carom_result carom_world_set_shape(carom_world *world, carom_body_id id, const carom_shape *shape)
{
	carom_result result;
	cr_body *body = find_rigid(world, id, shape_name, &result);
	if (!body)
		return result;
	if (!shape)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: shape is NULL", shape_name);
	if (cr_compound_of(body))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"%s: the body has parts, whose shapes carom_world_set_parts changes", shape_name);
	result = cr_check_body_shape(world->context, shape, (carom_body_kind)body->kind, shape_name);
	if (result != CAROM_SUCCESS || are_equal(shape, &body->shape.def))
		return result;
	const unsigned refusals = cr_count_refusals(world);
	cr_shape made;
	result = cr_init_body_shape(world, shape, false, &made);
	if (result != CAROM_SUCCESS)
		return cr_explain_failure(world, shape_name, refusals, result);
	cr_carried carried = { 0 };
	result = reserve_carried(world,
		cr_carry_to_new_shape(world, (int32_t)(body - world->bodies.data), &made, cr_last_pose(body), &carried), &carried);
	if (result != CAROM_SUCCESS) {
		cr_drop_body_shape(world, &made);
		return cr_explain_failure(world, shape_name, refusals, result);
	}
	swap_shape(world, body, &made);
	note(body, CR_SHAPE_CHANGED);
	finish(world, body, 1, &carried);
	cr_record_set_shape(world->recorder, id, shape);
	return CAROM_SUCCESS;
}

// ---- Height fields ----

/// Does nobody but the body look at its field? Recorders and snapshots hold a reference, and a
/// laboratory may have it on a device. Memory of surface contacts is carried from one mesh to
/// another.
static bool holds_alone(const carom_world *world, const cr_body *body)
{
	const carom_mesh *mesh = body->shape.def.mesh;
	return atomic_load(&mesh->references) == 1 && !world->recorder && !world->pipeline.lab &&
		world->impacts.deforming_count == 0;
}

/// Note that the field of a body has changed where it is.
static void note_field(carom_world *world, cr_body *body)
{
	note(body, CR_SHAPE_CHANGED);
	cr_note_members(world);
	cr_note_boxes(world, body, 1);
}

/// Change the field of a body where it is. *done: whether it could.
static carom_result edit_in_place(
	carom_world *world, cr_body *body, const carom_field_region *region, const float *heights, bool *done)
{
	*done = false;
	if (!holds_alone(world, body))
		return CAROM_SUCCESS;
	cr_field_work work;
	const carom_result result = cr_edit_field_in_place(body->shape.mesh, region, heights, &work, done);
	if (result != CAROM_SUCCESS)
		return cr_fail_memory(world->context, "a height field");
	if (*done)
		note_field(world, body);
	return CAROM_SUCCESS;
}

/// Give a body another field.
static carom_result set_field(carom_world *world, carom_body_id id, const cr_body *body, carom_mesh *field)
{
	carom_shape other = body->shape.def;
	other.mesh = field;
	const carom_result result = carom_world_set_shape(world, id, &other);
	carom_release_mesh(field);
	return result;
}

/// The body of an id, whose shape is a field. NULL after a failure, with *result.
static cr_body *find_field(carom_world *world, carom_body_id id, const char *function, carom_result *result)
{
	cr_body *body = find_rigid(world, id, function, result);
	if (!body)
		return NULL;
	const carom_shape *shape = &body->shape.def;
	if (cr_compound_of(body))
		*result = cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"%s: the body has parts, whose shapes carom_world_set_parts changes", function);
	else if (shape->type != CAROM_MESH || shape->mesh->field.columns == 0)
		*result = cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: the shape of the body is no height field", function);
	return *result == CAROM_SUCCESS ? body : NULL;
}

carom_result carom_world_edit_field(carom_world *world, carom_body_id id, const carom_field_region *region, const float *heights)
{
	carom_result result;
	cr_body *body = find_field(world, id, field_name, &result);
	if (!body)
		return result;
	const carom_mesh *field = body->shape.def.mesh;
	result = cr_check_field_edit(world->context, field_name, field, region, heights);
	if (result != CAROM_SUCCESS)
		return result;
	bool done;
	result = edit_in_place(world, body, region, heights, &done);
	if (result != CAROM_SUCCESS || done)
		return result;
	cr_field_work work;
	carom_mesh *edited = NULL;
	result = cr_edit_field(world->context, field_name, field, region, heights, &work, &edited);
	return result == CAROM_SUCCESS ? set_field(world, id, body, edited) : result;
}

carom_result carom_world_paint_field(
	carom_world *world, carom_body_id id, const carom_field_region *region, const uint32_t *materials)
{
	carom_result result;
	cr_body *body = find_field(world, id, paint_name, &result);
	if (!body)
		return result;
	const carom_mesh *field = body->shape.def.mesh;
	result = cr_check_field_paint(world->context, paint_name, field, region, materials);
	if (result != CAROM_SUCCESS)
		return result;
	bool done = false;
	if (holds_alone(world, body))
		result = cr_paint_field_in_place(body->shape.mesh, region, materials, &done);
	if (done)
		note_field(world, body);
	if (result != CAROM_SUCCESS || done)
		return result;
	carom_mesh *painted = NULL;
	result = cr_paint_field(world->context, field, region, materials, &painted);
	return result == CAROM_SUCCESS ? set_field(world, id, body, painted) : result;
}

// ---- Parts ----

typedef struct new_parts {
	int32_t count;
	cr_shape *shapes; // [count]
	cr_compound *compound;
	cr_carried carried; // memory of surface contacts
} new_parts;

static size_t shapes_bytes(int32_t count) { return (size_t)count * sizeof(cr_shape); }

static carom_result make_parts(carom_world *world, const carom_body_def *def, new_parts *made)
{
	*made = (new_parts){ .count = def->part_count, .shapes = cr_alloc(&world->memory, shapes_bytes(def->part_count)) };
	if (!made->shapes)
		return cr_fail_memory(world->context, "the parts of a body");
	int32_t ready = 0;
	carom_result result = CAROM_SUCCESS;
	while (ready < made->count && result == CAROM_SUCCESS) {
		result = cr_init_body_shape(world, &def->parts[ready].shape, false, &made->shapes[ready]);
		ready += result == CAROM_SUCCESS;
	}
	if (result == CAROM_SUCCESS)
		result = cr_create_compound(&world->memory, def, &made->compound);
	if (result == CAROM_SUCCESS)
		return result;
	while (ready-- > 0)
		cr_drop_body_shape(world, &made->shapes[ready]);
	cr_free(&world->memory, made->shapes, shapes_bytes(made->count));
	return result;
}

static void free_parts(carom_world *world, new_parts *made)
{
	for (int32_t i = 0; i < made->count; i++)
		cr_drop_body_shape(world, &made->shapes[i]);
	cr_free(&world->memory, made->shapes, shapes_bytes(made->count));
	cr_release_compound(&world->memory, made->compound);
}

/// Does a part stay as it is, in its body?
static bool is_kept(const cr_compound *old, const new_parts *made, int32_t i)
{
	return i < old->count && cr_are_equal_poses(&made->compound->part[i].pose, &old->part[i].pose) &&
		are_equal(&made->compound->part[i].shape, &old->part[i].shape);
}

/// Where the body of some parts ended the last step.
static carom_pose last_pose_of(const cr_body *first)
{
	return cr_pose_from_part(cr_last_pose(first), &cr_compound_of(first)->part[0].pose);
}

/// The memory of surface contacts with parts that change. False: out of memory.
static bool carry_parts(carom_world *world, const cr_body *first, new_parts *made)
{
	const carom_pose last = last_pose_of(first);
	bool enough = true;
	for (int32_t i = 0; i < made->count && enough; i++) {
		const carom_pose pose = cr_pose_to_part(&last, &made->compound->part[i].pose);
		const int32_t part = (int32_t)(first - world->bodies.data) + i;
		enough = i >= cr_compound_of(first)->count || is_kept(cr_compound_of(first), made, i) ||
			cr_carry_to_new_shape(world, part, &made->shapes[i], &pose, &made->carried);
	}
	return enough;
}

/// Let a part that has another pose in its body come from where it would have been.
static void move_last_pose(cr_body *part, const carom_pose *body, const carom_pose *local)
{
	part->course->last = cr_pose_to_part(body, local);
}

/// Has a body neither moved since the last step nor a way before it? One that was added since then
/// counts as moved.
static bool has_stayed(const cr_body *first)
{
	const bool has_begin = first->course && first->course->has_begin;
	return !first->moved || (!has_begin && cr_are_equal_poses(cr_last_pose(first), &first->pose));
}

/// Let a part come alive under a number that the body has kept, where the body ended the last step.
static void add_part(cr_body *first, int32_t i, const new_parts *made, const carom_pose *last)
{
	cr_body *part = &first[i];
	const uint32_t generation = part->generation;
	carom_body_def def = cr_def_of_body(first);
	part->shape = made->shapes[i];
	part->own.compound = NULL;
	cr_begin_part(part, &def, i, generation);
	part->pose = cr_pose_to_part(last, &made->compound->part[i].pose);
}

/// Exchange the parts of a body. Nothing fails.
static void swap_parts(carom_world *world, cr_body *first, const new_parts *made)
{
	cr_compound *old = cr_compound_of(first);
	const bool rests = has_stayed(first);
	const carom_pose *local_before = &old->part[0].pose;
	const carom_pose last = last_pose_of(first);
	const bool has_begin = first->course && first->course->has_begin;
	const carom_pose begin = has_begin ? cr_pose_from_part(&first->course->begin, local_before) : last;
	if (!rests)
		cr_leave_pose(&world->courses, first);
	made->compound->pose = old->pose;
	for (int32_t i = made->count; i < old->count; i++) {
		if (first[i].shape.def.type == CAROM_MESH && world->impacts.deforming_count > 0)
			cr_forget_impact_scene(&world->impacts);
		cr_drop_carried(&world->surface_contacts, (int32_t)(first - world->bodies.data) + i);
		cr_end_part(world, &first[i]);
	}
	first->own.compound = made->compound;
	for (int32_t i = old->count; i < made->count; i++)
		add_part(first, i, made, &last);
	if (!rests)
		cr_leave_pose(&world->courses, first);
	for (int32_t i = 0; i < made->count && i < old->count; i++) {
		const carom_pose *local = &made->compound->part[i].pose;
		const bool stays = cr_are_equal_poses(local, &old->part[i].pose);
		if (!stays && !rests)
			move_last_pose(&first[i], &last, local);
		if (is_kept(old, made, i)) {
			cr_drop_body_shape(world, &made->shapes[i]);
			continue;
		}
		swap_shape(world, &first[i], &made->shapes[i]);
		note(&first[i], stays ? CR_SHAPE_CHANGED : CR_FRAME_CHANGED);
	}
	const carom_pose pose = old->pose;
	cr_place_body(first, &pose);
	if (has_begin)
		cr_begin_body(first, &begin);
	if (rests)
		cr_rest_body(&world->courses, first);
}

carom_result carom_world_set_parts(carom_world *world, carom_body_id id, const carom_part *parts, int32_t count)
{
	carom_result result;
	cr_body *first = find_rigid(world, id, parts_name, &result);
	if (!first)
		return result;
	if (!cr_compound_of(first))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"%s: the body was added without parts; carom_world_set_shape changes its shape", parts_name);
	const cr_compound *compound = cr_compound_of(first);
	const int32_t before = compound->count, room = compound->room;
	if (count < 1 || count > room)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			compound->grows
				? "%s: count is %d, but the body has room for %d parts (carom_body_def.part_room): it can have from 1 to so many"
				: "%s: count is %d, but the body has %d parts: it can have fewer, from 1 on; more, if it is added with a "
				  "part_room",
			parts_name, count, room);
	if (!parts)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: parts is NULL, but count is %d", parts_name, count);
	carom_body_def def = carom_default_body_def();
	def.kind = (carom_body_kind)first->kind;
	def.parts = parts;
	def.part_count = count;
	def.part_room = compound->grows ? room : 0;
	result = cr_check_parts(world->context, &def, parts_name);
	if (result != CAROM_SUCCESS)
		return result;
	const unsigned refusals = cr_count_refusals(world);
	new_parts made;
	const int32_t most = count > before ? count : before;
	if (!cr_reserve_courses(&world->memory, &world->courses, most))
		return cr_explain_failure(world, parts_name, refusals, cr_fail_memory(world->context, "the parts of a body"));
	result = make_parts(world, &def, &made);
	if (result != CAROM_SUCCESS)
		return cr_explain_failure(world, parts_name, refusals, result);
	result = reserve_carried(world, carry_parts(world, first, &made), &made.carried);
	if (result != CAROM_SUCCESS) {
		free_parts(world, &made);
		return cr_explain_failure(world, parts_name, refusals, result);
	}
	cr_compound *old = cr_compound_of(first);
	swap_parts(world, first, &made);
	cr_release_compound(&world->memory, old);
	cr_free(&world->memory, made.shapes, shapes_bytes(count));
	if (count < before && def.part_room == 0)
		cr_free_numbers(world, (int32_t)(id.index1 - 1) + count, before - count);
	world->shape_count -= before - count;
	finish(world, first, most, &made.carried);
	cr_record_set_parts(world->recorder, id, &def);
	return CAROM_SUCCESS;
}
