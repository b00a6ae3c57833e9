/// Bodies of a world: adding, removing, moving, asking.

#include "world/trim.h"
#include <stdio.h>

// Numbers that a body may keep beside those of its parts.
enum { MOST_SPARE_PARTS = 65536 };

static const char *const get_part_name = "carom_world_get_part_data";
static const char *const set_part_name = "carom_world_set_part_data";

carom_body_def carom_default_body_def(void)
{
	return (carom_body_def){
		.cookie = CR_BODY_COOKIE,
		.kind = CAROM_DYNAMIC,
		.pose = carom_pose_identity(),
		.category = 1,
		.mask = UINT64_MAX,
		.self_collision = true,
		.contacts = true,
		.shape_impacts = true,
	};
}

const cr_body *cr_find_body_const(const carom_world *world, carom_body_id id, const char *function)
{
	const int64_t index = (int64_t)id.index1 - 1;
	if (index >= 0 && index < world->bodies.count) {
		const cr_body *body = &world->bodies.data[index];
		if (body->alive && body->generation == id.generation && body->part == 0)
			return body;
	}
	if (index < 0)
		cr_fail(world->context, CAROM_INVALID_BODY, "%s: the body id is null", function);
	else
		cr_fail(world->context, CAROM_INVALID_BODY, "%s: no body has the id (%u, %u); it was removed or is of another world",
			function, id.index1, id.generation);
	return NULL;
}

carom_result cr_find_body(carom_world *world, carom_body_id id, const char *function, cr_body **body)
{
	*body = NULL;
	const carom_result result = cr_check_may_change(world, function);
	if (result != CAROM_SUCCESS)
		return result;
	*body = (cr_body *)cr_find_body_const(world, id, function);
	return *body ? CAROM_SUCCESS : CAROM_INVALID_BODY;
}

const char *cr_kind_name(carom_body_kind kind)
{
	static const char *const names[] = { [CAROM_STATIC] = "CAROM_STATIC",
		[CAROM_KINEMATIC] = "CAROM_KINEMATIC",
		[CAROM_DYNAMIC] = "CAROM_DYNAMIC",
		[CAROM_DEFORMABLE] = "CAROM_DEFORMABLE",
		[CAROM_CLOTH] = "CAROM_CLOTH",
		[CAROM_GRANULAR] = "CAROM_GRANULAR" };
	return names[kind];
}

static bool is_deforming(const carom_body_def *def) { return def->kind == CAROM_DEFORMABLE || def->kind == CAROM_CLOTH; }

carom_result cr_check_deforming(carom_context *context, const carom_body_def *def, const char *name)
{
	const char *kind = cr_kind_name(def->kind);
	if (def->part_count > 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: kind is %s, but the body has parts: only rigid bodies may have them", name, kind);
	if (def->shape.type != CAROM_MESH)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: kind is %s, but shape.type is not CAROM_MESH", name, kind);
	if (def->sensor)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: sensor is set, but kind is %s: sensors do not deform", name, kind);
	const carom_mesh *mesh = def->shape.mesh;
	if (def->kind != CAROM_DEFORMABLE || mesh->report.closed)
		return CAROM_SUCCESS;
	char why[CR_WHY_OPEN];
	cr_say_why_open(&mesh->topology, &mesh->report, why);
	return cr_fail(
		context, CAROM_INVALID_MESH, "%s: kind is CAROM_DEFORMABLE, but the mesh is open (CAROM_CLOTH may be): %s", name, why);
}

carom_result cr_check_body_shape(carom_context *context, const carom_shape *shape, carom_body_kind kind, const char *name)
{
	if (shape->type == CAROM_PLANE && kind == CAROM_DYNAMIC)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "%s: kind is CAROM_DYNAMIC, but a plane must be static or kinematic", name);
	return cr_check_shape(context, shape, name);
}

bool cr_is_unset(const carom_shape *s)
{
	return s->type == CAROM_SPHERE && s->radius == 0 && s->half_length == 0 && s->half_extents[0] == 0 &&
		s->half_extents[1] == 0 && s->half_extents[2] == 0 && !s->mesh && s->rounding == 0;
}

static carom_result check_part(
	carom_context *context, const carom_part *part, cr_check_shape_fn *check, const void *user, const char *name)
{
	const carom_vec3 at = part->pose.position;
	carom_pose normalized;
	carom_result result = check(context, &part->shape, user, name);
	if (result == CAROM_SUCCESS)
		result = cr_check_pose(context, &part->pose, name, "pose", &normalized);
	if (result != CAROM_SUCCESS)
		return result;
	if (!(fabs(at.x) <= CAROM_MAX_COORDINATE && fabs(at.y) <= CAROM_MAX_COORDINATE && fabs(at.z) <= CAROM_MAX_COORDINATE))
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: pose.position is (%g, %g, %g); it must lie within %g of the body's origin", name, at.x, at.y, at.z,
			CAROM_MAX_COORDINATE);
	return CAROM_SUCCESS;
}

carom_result cr_check_each_part(carom_context *context, const carom_part *parts, int32_t count, cr_check_shape_fn *check,
	const void *user, const char *name)
{
	if (!parts)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: part_count is %d, but parts is NULL", name, count);
	for (int32_t i = 0; i < count; i++) {
		if (check_part(context, &parts[i], check, user, name) == CAROM_SUCCESS)
			continue;
		// The check is repeated with the number of the part for its text.
		char part_name[64];
		snprintf(part_name, sizeof part_name, "%s: parts[%d]", name, i);
		return check_part(context, &parts[i], check, user, part_name);
	}
	return CAROM_SUCCESS;
}

static carom_result check_shape_of_body(carom_context *context, const carom_shape *shape, const void *def, const char *name)
{
	return cr_check_body_shape(context, shape, ((const carom_body_def *)def)->kind, name);
}

carom_result cr_check_parts(carom_context *context, const carom_body_def *def, const char *name)
{
	if (def->parts && !cr_is_unset(&def->shape))
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "%s: shape is set, and parts too; a body with parts has its shapes there", name);
	return cr_check_each_part(context, def->parts, def->part_count, check_shape_of_body, def, name);
}

carom_result cr_check_body_def(carom_context *context, const carom_body_def *def, const char *name)
{
	if (!def)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: def is NULL", name);
	if (def->cookie != CR_BODY_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: def was not started from carom_default_body_def", name);
	if ((int)def->kind < CAROM_STATIC || def->kind > CAROM_GRANULAR)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: kind is %d, which is none", name, (int)def->kind);
	if (def->part_count < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: part_count is %d", name, def->part_count);
	if (def->parts && def->part_count == 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: part_count is 0, but parts is set", name);
	if (def->part_room != 0 &&
		(def->part_count == 0 || def->part_room < def->part_count || def->part_room - def->part_count > MOST_SPARE_PARTS))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: part_room is %d, but part_count is %d: %s", name, def->part_room,
			def->part_count,
			def->part_count > 0 ? "it must be 0, or from there to 65,536 more" : "only a body with parts has room for more");
	if (def->continuous && def->kind != CAROM_DYNAMIC && def->kind != CAROM_KINEMATIC && def->kind != CAROM_GRANULAR)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: continuous is set, but kind is %s: only dynamic, kinematic and granular bodies may have it", name,
			cr_kind_name(def->kind));
	if (!(def->thickness >= 0 && def->thickness <= CAROM_MAX_COORDINATE))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: thickness is %g; it must be at least 0 and at most %g", name,
			def->thickness, CAROM_MAX_COORDINATE);
	if (def->kind == CAROM_GRANULAR)
		return cr_check_granular(context, def, name);
	const carom_result result =
		def->part_count > 0 ? cr_check_parts(context, def, name) : cr_check_body_shape(context, &def->shape, def->kind, name);
	return result == CAROM_SUCCESS && is_deforming(def) ? cr_check_deforming(context, def, name) : result;
}

// ---- Adding and removing ----

/// Show a shape to the laboratory, if there is one. function names the call in error texts.
static carom_result attach_shape(carom_world *world, cr_shape *shape, const char *function)
{
	const struct cr_laboratory *lab = cr_laboratory_of(&world->pipeline);
	return lab ? lab->attach(&world->pipeline, shape, function) : CAROM_SUCCESS;
}

carom_result cr_init_body_shape(carom_world *world, const carom_shape *def, bool deforming, cr_shape *shape)
{
	cr_shape_init(def, shape);
	const carom_result result = deforming ? CAROM_SUCCESS : attach_shape(world, shape, "carom_world_add_body");
	if (result != CAROM_SUCCESS)
		cr_shape_free(shape);
	return result;
}

carom_result cr_make_body_mesh(void *user, cr_body *body)
{
	carom_world *world = user;
	carom_result result = cr_make_box_mesh(&world->memory, &world->box_meshes, world->pipeline.lab != NULL, &body->shape);
	if (result == CAROM_SUCCESS)
		result = attach_shape(world, &body->shape, "carom_world_step");
	if (result != CAROM_SUCCESS)
		cr_shape_free(&body->shape);
	return result;
}

void cr_drop_body_shape(carom_world *world, cr_shape *shape)
{
	if (world->pipeline.lab)
		world->pipeline.settings.lab.tools->drop(&world->pipeline, shape);
	cr_shape_free(shape);
}

static void drop_shape(carom_world *world, cr_body *body)
{
	if (cr_deforming_of(body))
		cr_shape_free(&body->shape);
	else
		cr_drop_body_shape(world, &body->shape);
}

/// The shapes of a body, in the places of its parts, which are not alive yet. On failure nothing is
/// left.
static carom_result init_shapes(carom_world *world, const carom_body_def *def, cr_body *parts, int32_t count)
{
	for (int32_t i = 0; i < count; i++) {
		const carom_shape *shape = def->part_count > 0 ? &def->parts[i].shape : &def->shape;
		parts[i].kind = (uint8_t)def->kind;
		parts[i].own.deforming = NULL;
		const carom_result result = cr_init_body_shape(world, shape, is_deforming(def), &parts[i].shape);
		if (result == CAROM_SUCCESS)
			continue;
		while (i-- > 0)
			drop_shape(world, &parts[i]);
		return result;
	}
	return CAROM_SUCCESS;
}

/// All of a body that may fail to be made: its shapes, in the places of its parts, and its data
/// beside them.
static carom_result make_body(
	carom_world *world, const carom_body_def *def, const carom_pose *pose, cr_body *parts, int32_t count)
{
	carom_result result = init_shapes(world, def, parts, count);
	if (result != CAROM_SUCCESS)
		return result;
	if (def->kind == CAROM_GRANULAR)
		result = cr_create_granular(world, def, pose, &parts[0].own.granular);
	else if (is_deforming(def))
		result = cr_deforming_create(&world->memory, parts[0].shape.mesh, pose, def->kind == CAROM_DEFORMABLE,
			"carom_world_add_body", &parts[0].own.deforming);
	else if (def->part_count > 0)
		result = cr_create_compound(&world->memory, def, &parts[0].own.compound);
	for (int32_t i = 0; result != CAROM_SUCCESS && i < count; i++) {
		if (is_deforming(def))
			cr_shape_free(&parts[i].shape);
		else
			drop_shape(world, &parts[i]);
	}
	return result;
}

void cr_take_traits(cr_body *part, const carom_body_def *traits)
{
	part->kind = (uint8_t)traits->kind;
	part->sensor = traits->sensor;
	part->self_collision = traits->self_collision;
	part->continuous = traits->continuous;
	part->contacts = traits->contacts;
	part->shape_impacts = traits->shape_impacts;
	part->thickness = traits->thickness;
	part->refiltered = true;
}

void cr_begin_part(cr_body *body, const carom_body_def *def, int32_t part, uint32_t generation)
{
	*body = (cr_body){
		.alive = true,
		.generation = generation,
		.shape = body->shape,
		.own = body->own,
		.category = def->category,
		.mask = def->mask,
		.group = def->group,
		.part = part,
		.user_data = def->user_data,
	};
	// Refiltered as well: after a restore the number and generation may have been another body's.
	cr_take_traits(body, def);
}

void cr_count_body(carom_world *world, const cr_body *body, int sign)
{
	const bool deforms = cr_deforming_of(body) != NULL;
	const cr_granular *granular = cr_granular_of(body);
	world->body_count += sign;
	world->shape_count += sign * cr_part_count(body);
	world->impacts.deforming_count += sign * deforms;
	world->shape_impacts.body_count += sign * (deforms && body->shape_impacts);
	world->surface_contacts.body_count += sign * cr_is_thick(body);
	world->sphere_contacts.body_count += sign * (granular != NULL);
	world->sphere_contacts.sphere_count += granular ? sign * granular->count : 0;
	world->continuous.body_count += sign * (body->continuous && !granular);
	cr_note_members(world);
}

/// Add a checked body at a pose (normalised). chosen: the id that it gets, which is free; null: one
/// is found. On failure nothing is left.
static carom_result add_checked(
	carom_world *world, const carom_body_def *def, carom_pose pose, carom_body_id chosen, carom_body_id *id)
{
	const int32_t count = cr_def_parts(def), numbers = cr_def_numbers(def), given = (int32_t)chosen.index1;
	carom_result result = given ? cr_reserve_chosen_numbers(world, given - 1, numbers) : cr_reserve_numbers(world, numbers);
	if (result != CAROM_SUCCESS)
		return result;
	const int32_t first = given ? given - 1 : cr_find_numbers(world, numbers), old = (int32_t)world->bodies.count;
	cr_body *parts = &world->bodies.data[first];
	result = make_body(world, def, &pose, parts, count);
	if (result != CAROM_SUCCESS)
		return result;
	for (int32_t i = 0; i < count; i++)
		cr_begin_part(&parts[i], def, i, first + i < old ? parts[i].generation : world->first_generation);
	for (int32_t i = count; i < numbers; i++) {
		if (first + i >= old)
			parts[i] = (cr_body){ .generation = world->first_generation, .moved = true };
	}
	if (given) {
		parts[0].generation = chosen.generation;
		cr_take_chosen_numbers(world, first, numbers);
	} else {
		cr_take_numbers(world, first, numbers);
	}
	if (cr_granular_of(parts))
		pose = carom_pose_identity(); // its spheres are in the world's frame
	cr_place_body(parts, &pose);
	cr_rest_body(&world->courses, parts);
	cr_count_body(world, parts, 1);
	*id = cr_id_of(world->bodies.data, first);
	// Numbers between the last body and this one are there now too.
	const int32_t from = first > old ? old : first;
	cr_note_boxes(world, &world->bodies.data[from], first + numbers - from);
	return CAROM_SUCCESS;
}

/// Check what a new body needs. *pose: that of the definition, normalised.
static carom_result check_new_body(carom_world *world, const carom_body_def *def, const char *name, carom_pose *pose)
{
	carom_result result = cr_check_may_change(world, name);
	if (result == CAROM_SUCCESS)
		result = cr_check_body_def(world->context, def, name);
	return result == CAROM_SUCCESS ? cr_check_pose(world->context, &def->pose, name, "pose", pose) : result;
}

/// Add a checked body; where memory is short, once more after the world has given some back.
static carom_result add_or_relieve(carom_world *world, const carom_body_def *def, const carom_pose *pose, const char *name,
	carom_body_id chosen, carom_body_id *id)
{
	const unsigned refusals = cr_count_refusals(world);
	carom_result result = add_checked(world, def, *pose, chosen, id);
	if (cr_relieve(world, name, refusals, result, false))
		result = add_checked(world, def, *pose, chosen, id);
	return result == CAROM_SUCCESS ? result : cr_explain_failure(world, name, refusals, result);
}

carom_result carom_world_add_body(carom_world *world, const carom_body_def *def, carom_body_id *id)
{
	static const char *const name = "carom_world_add_body";
	if (!id)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: id is NULL", name);
	*id = (carom_body_id){ 0, 0 };
	carom_pose pose;
	carom_result result = check_new_body(world, def, name, &pose);
	if (result == CAROM_SUCCESS)
		result = add_or_relieve(world, def, &pose, name, *id, id);
	if (result == CAROM_SUCCESS)
		cr_record_add_body(world->recorder, def, *id, CR_RECORD_ADD_BODY);
	return result;
}

/// May a checked body get an id?
static carom_result check_chosen_id(carom_world *world, const carom_body_def *def, carom_body_id id, const char *name)
{
	carom_context *context = world->context;
	const int32_t numbers = cr_def_numbers(def);
	if (id.index1 == 0 || id.generation == 0)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "%s: id is (%u, %u); both numbers begin with 1", name, id.index1, id.generation);
	if ((int64_t)id.index1 + numbers > INT32_MAX)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: id.index1 is %u; the last number of the body is above %d", name,
			id.index1, INT32_MAX - 1);
	const int32_t first = (int32_t)id.index1 - 1;
	for (int32_t i = first; i < first + numbers; i++) {
		if (!cr_is_free_number(world, i))
			return cr_fail(context, CAROM_INVALID_ARGUMENT,
				"%s: id is (%u, %u), and the body takes %d numbers from index1 on, but a body has the number %d", name,
				id.index1, id.generation, (int)numbers, (int)i + 1);
	}
	const uint32_t least = first < world->bodies.count ? world->bodies.data[first].generation : world->first_generation;
	if (id.generation < least)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"%s: id is (%u, %u), but another body may have had it: id.generation must be at least %u", name, id.index1,
			id.generation, least);
	return CAROM_SUCCESS;
}

carom_result carom_world_add_body_with_id(carom_world *world, const carom_body_def *def, carom_body_id id)
{
	static const char *const name = "carom_world_add_body_with_id";
	carom_pose pose;
	carom_result result = check_new_body(world, def, name, &pose);
	if (result == CAROM_SUCCESS)
		result = check_chosen_id(world, def, id, name);
	if (result == CAROM_SUCCESS)
		result = add_or_relieve(world, def, &pose, name, id, &id);
	if (result == CAROM_SUCCESS)
		cr_record_add_body(world->recorder, def, id, CR_RECORD_ADD_BODY_WITH_ID);
	return result;
}

/// Check the definitions of many bodies; the text names the first at fault.
static carom_result check_defs(const carom_world *world, const char *name, int count, const carom_body_def *defs)
{
	carom_pose pose;
	for (int i = 0; i < count; i++) {
		char def_name[64];
		snprintf(def_name, sizeof def_name, "%s: defs[%d]", name, i);
		carom_result result = cr_check_body_def(world->context, &defs[i], def_name);
		if (result == CAROM_SUCCESS)
			result = cr_check_pose(world->context, &defs[i].pose, def_name, "pose", &pose);
		if (result != CAROM_SUCCESS)
			return result;
	}
	return CAROM_SUCCESS;
}

carom_result carom_world_add_bodies(carom_world *world, int count, const carom_body_def *defs, carom_body_id *ids)
{
	static const char *const name = "carom_world_add_bodies";
	if (count < 0)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: count is %d", name, count);
	if (count > 0 && (!defs || !ids))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, defs ? "ids" : "defs");
	carom_result result = check_defs(world, name, count, defs);
	if (result != CAROM_SUCCESS)
		return result;
	int added = 0;
	while (added < count && result == CAROM_SUCCESS) {
		result = carom_world_add_body(world, &defs[added], &ids[added]);
		added += result == CAROM_SUCCESS;
	}
	while (result != CAROM_SUCCESS && added > 0) {
		carom_world_remove_body(world, ids[--added]);
		ids[added] = (carom_body_id){ 0, 0 };
	}
	return result;
}

void cr_end_part(carom_world *world, cr_body *body)
{
	drop_shape(world, body);
	cr_deforming_free(world, cr_deforming_of(body));
	cr_free_granular(&world->memory, cr_granular_of(body));
	cr_release_compound(&world->memory, cr_compound_of(body));
	body->own.deforming = NULL;
	cr_drop_course(&world->courses, body);
	body->alive = false;
	body->moved = true;
	body->part = 0;
	// 0 is the null id's generation.
	body->generation = body->generation == UINT32_MAX ? 1 : body->generation + 1;
}

bool carom_world_is_body(const carom_world *world, carom_body_id id)
{
	const int64_t index = (int64_t)id.index1 - 1;
	return index >= 0 && index < world->bodies.count && world->bodies.data[index].alive &&
		world->bodies.data[index].generation == id.generation && world->bodies.data[index].part == 0;
}

int carom_world_body_count(const carom_world *world) { return world->body_count; }

int carom_world_body_ids(const carom_world *world, int32_t capacity, carom_body_id *ids)
{
	int32_t written = 0;
	for (int64_t i = 0; i < world->bodies.count && written < capacity; i++) {
		if (world->bodies.data[i].alive && world->bodies.data[i].part == 0)
			ids[written++] = (carom_body_id){ (uint32_t)i + 1, world->bodies.data[i].generation };
	}
	return world->body_count;
}

carom_body_def cr_def_of_body(const cr_body *body)
{
	carom_body_def def = carom_default_body_def();
	if (cr_compound_of(body)) {
		def.parts = cr_compound_of(body)->part;
		def.part_count = cr_compound_of(body)->count;
		def.part_room = cr_compound_of(body)->grows ? cr_compound_of(body)->room : 0;
	} else {
		def.shape = body->shape.def;
	}
	if (cr_granular_of(body)) {
		const double *spheres = cr_granular_of(body)->spheres.data;
		def.sphere_count = cr_granular_of(body)->count;
		def.centres = (carom_strided){ spheres, 4 * sizeof(double), CAROM_FLOAT64 };
		def.radii = (carom_strided){ spheres ? spheres + 3 : NULL, 4 * sizeof(double), CAROM_FLOAT64 };
	}
	def.kind = (carom_body_kind)body->kind;
	def.pose = *cr_pose_of(body);
	def.category = body->category;
	def.mask = body->mask;
	def.group = body->group;
	def.sensor = body->sensor;
	def.self_collision = body->self_collision;
	def.continuous = body->continuous;
	def.contacts = body->contacts;
	def.shape_impacts = body->shape_impacts;
	def.thickness = body->thickness;
	def.user_data = body->user_data;
	return def;
}

carom_result carom_world_get_body_def(const carom_world *world, carom_body_id id, carom_body_def *def)
{
	const cr_body *body = cr_find_body_const(world, id, "carom_world_get_body_def");
	if (!body)
		return CAROM_INVALID_BODY;
	if (!def)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_get_body_def: def is NULL");
	*def = cr_def_of_body(body);
	return CAROM_SUCCESS;
}

// ---- Moving and asking ----

/// May a body be put at a pose? Checked and normalised; the text names the function and the field.
static carom_result check_place(const carom_world *world, carom_body_id id, const carom_pose *pose, const char *function,
	const char *id_field, const char *pose_field, carom_pose *normalized)
{
	const cr_body *body = cr_find_body_const(world, id, function);
	if (!body)
		return CAROM_INVALID_BODY;
	if (cr_deforming_of(body) || cr_granular_of(body))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s names a body %s moves it", function, id_field,
			cr_deforming_of(body) ? "that deforms: carom_world_set_vertices" : "of spheres: carom_world_set_spheres");
	return cr_check_pose(world->context, pose, function, pose_field, normalized);
}

/// Put a body at a pose (normalised). One that is there to the last bit stays as it is: its box and
/// the way that it has gone need no update.
static void put_body(carom_world *world, cr_body *body, const carom_pose *pose)
{
	if (memcmp(cr_pose_of(body), pose, sizeof *pose) == 0)
		return;
	cr_leave_pose(&world->courses, body);
	cr_place_body(body, pose);
	cr_note_boxes(world, body, cr_part_count(body));
}

/// Make room for moving some bodies, which are checked. On failure nothing has changed.
static carom_result reserve_moves(carom_world *world, const char *name, int count, const carom_body_id *ids)
{
	const carom_result result = cr_check_may_change(world, name);
	if (result != CAROM_SUCCESS)
		return result;
	int64_t parts = 0;
	for (int i = 0; i < count; i++) {
		const cr_body *first = &world->bodies.data[ids[i].index1 - 1];
		for (int32_t k = 0; k < cr_part_count(first); k++)
			parts += first[k].course == NULL;
	}
	const unsigned refusals = cr_count_refusals(world);
	if (cr_reserve_courses(&world->memory, &world->courses, parts))
		return CAROM_SUCCESS;
	return cr_explain_failure(world, name, refusals, cr_fail_memory(world->context, "bodies that move"));
}

carom_result carom_world_set_pose(carom_world *world, carom_body_id id, const carom_pose *pose)
{
	static const char *const name = "carom_world_set_pose";
	if (!pose)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: pose is NULL", name);
	carom_pose normalized;
	carom_result result = check_place(world, id, pose, name, "id", "pose", &normalized);
	if (result == CAROM_SUCCESS)
		result = reserve_moves(world, name, 1, &id);
	if (result != CAROM_SUCCESS)
		return result;
	put_body(world, &world->bodies.data[id.index1 - 1], &normalized);
	cr_record_set_poses(world->recorder, 1, &id, pose);
	return CAROM_SUCCESS;
}

/// Fail for element i of a call with many: the same check again, with names for its text. array:
/// "poses[%d]" or the like.
static carom_result refuse_place(
	const carom_world *world, const char *name, const char *array, int i, carom_body_id id, const carom_pose *pose)
{
	char function[64], id_field[32], pose_field[32];
	snprintf(id_field, sizeof id_field, "ids[%d]", i);
	snprintf(pose_field, sizeof pose_field, array, i);
	snprintf(function, sizeof function, "%s: %s", name, id_field);
	carom_pose normalized;
	return check_place(world, id, pose, carom_world_is_body(world, id) ? name : function, id_field, pose_field, &normalized);
}

/// Checks the arrays of a call that moves many bodies.
carom_result cr_check_ids(
	const carom_world *world, const char *name, int count, const carom_body_id *ids, const void *values, const char *field)
{
	if (count < 0)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: count is %d", name, count);
	if (count > 0 && (!ids || !values))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, ids ? field : "ids");
	return CAROM_SUCCESS;
}

carom_result carom_world_set_poses(carom_world *world, int count, const carom_body_id *ids, const carom_pose *poses)
{
	static const char *const name = "carom_world_set_poses";
	carom_result result = cr_check_ids(world, name, count, ids, poses, "poses");
	if (result != CAROM_SUCCESS)
		return result;
	carom_pose normalized;
	for (int i = 0; i < count; i++) {
		if (check_place(world, ids[i], &poses[i], name, "id", "pose", &normalized) != CAROM_SUCCESS)
			return refuse_place(world, name, "poses[%d]", i, ids[i], &poses[i]);
	}
	result = reserve_moves(world, name, count, ids);
	if (result != CAROM_SUCCESS)
		return result;
	for (int i = 0; i < count; i++) {
		cr_check_pose(world->context, &poses[i], name, "pose", &normalized);
		put_body(world, &world->bodies.data[ids[i].index1 - 1], &normalized);
	}
	cr_record_set_poses(world->recorder, count, ids, poses);
	return CAROM_SUCCESS;
}

carom_result carom_world_set_motions(carom_world *world, int count, const carom_body_id *ids, const carom_motion *motions)
{
	static const char *const name = "carom_world_set_motions";
	carom_result result = cr_check_ids(world, name, count, ids, motions, "motions");
	if (result != CAROM_SUCCESS)
		return result;
	carom_pose begin, end;
	for (int i = 0; i < count; i++) {
		if (check_place(world, ids[i], &motions[i].begin, name, "id", "begin", &begin) != CAROM_SUCCESS)
			return refuse_place(world, name, "motions[%d].begin", i, ids[i], &motions[i].begin);
		if (check_place(world, ids[i], &motions[i].end, name, "id", "end", &end) != CAROM_SUCCESS)
			return refuse_place(world, name, "motions[%d].end", i, ids[i], &motions[i].end);
	}
	result = reserve_moves(world, name, count, ids);
	if (result != CAROM_SUCCESS)
		return result;
	for (int i = 0; i < count; i++) {
		cr_body *body = &world->bodies.data[ids[i].index1 - 1];
		cr_check_pose(world->context, &motions[i].begin, name, "begin", &begin);
		cr_check_pose(world->context, &motions[i].end, name, "end", &end);
		cr_leave_pose(&world->courses, body);
		cr_begin_body(body, &begin);
		cr_place_body(body, &end);
		cr_note_boxes(world, body, cr_part_count(body));
	}
	cr_record_set_motions(world->recorder, count, ids, motions);
	return CAROM_SUCCESS;
}

carom_result carom_world_get_pose(const carom_world *world, carom_body_id id, carom_pose *pose)
{
	const cr_body *body = cr_find_body_const(world, id, "carom_world_get_pose");
	if (!body)
		return CAROM_INVALID_BODY;
	if (!pose)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_get_pose: pose is NULL");
	*pose = *cr_pose_of(body);
	return CAROM_SUCCESS;
}

carom_result cr_refuse_id(const carom_world *world, const char *name, int i, const carom_body_id *ids)
{
	char id_name[64];
	snprintf(id_name, sizeof id_name, "%s: ids[%d]", name, i);
	cr_find_body_const(world, ids[i], id_name); // tells the fault
	return CAROM_INVALID_BODY;
}

carom_result carom_world_get_poses(const carom_world *world, int count, const carom_body_id *ids, carom_pose *poses)
{
	static const char *const name = "carom_world_get_poses";
	const carom_result result = cr_check_ids(world, name, count, ids, poses, "poses");
	if (result != CAROM_SUCCESS)
		return result;
	for (int i = 0; i < count; i++) {
		if (!carom_world_is_body(world, ids[i]))
			return cr_refuse_id(world, name, i, ids);
	}
	for (int i = 0; i < count; i++)
		poses[i] = *cr_pose_of(&world->bodies.data[ids[i].index1 - 1]);
	return CAROM_SUCCESS;
}

carom_result carom_world_get_user_data(const carom_world *world, carom_body_id id, uint64_t *user_data)
{
	const cr_body *body = cr_find_body_const(world, id, "carom_world_get_user_data");
	if (!body)
		return CAROM_INVALID_BODY;
	if (!user_data)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_get_user_data: user_data is NULL");
	*user_data = body->user_data;
	return CAROM_SUCCESS;
}

carom_result carom_world_set_user_data(carom_world *world, carom_body_id id, uint64_t user_data)
{
	cr_body *body;
	const carom_result result = cr_find_body(world, id, "carom_world_set_user_data", &body);
	if (result != CAROM_SUCCESS)
		return result;
	for (int32_t i = 0; i < cr_part_count(body); i++)
		body[i].user_data = user_data;
	cr_record_set_user_data(world->recorder, id, user_data);
	return CAROM_SUCCESS;
}

/// May results and queries name a part of a body? The text names the function.
static carom_result check_part_number(const carom_world *world, const cr_body *body, int32_t part, const char *function)
{
	const cr_granular *spheres = cr_granular_of(body);
	const int32_t count = spheres ? spheres->count : cr_part_count(body);
	if (part >= 0 && part < count)
		return CAROM_SUCCESS;
	return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: part is %d, but the body has %d %s%s", function, part, count,
		spheres                    ? "sphere"
			: cr_compound_of(body) ? "part"
								   : "shape",
		count == 1 ? "" : "s");
}

carom_result carom_world_get_part_data(const carom_world *world, carom_body_id id, int32_t part, uint64_t *user_data)
{
	const cr_body *body = cr_find_body_const(world, id, get_part_name);
	if (!body)
		return CAROM_INVALID_BODY;
	const carom_result result = check_part_number(world, body, part, get_part_name);
	if (result != CAROM_SUCCESS)
		return result;
	if (!user_data)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: user_data is NULL", get_part_name);
	const cr_compound *compound = cr_compound_of(body);
	*user_data = compound ? compound->part[part].user_data : 0;
	return CAROM_SUCCESS;
}

carom_result carom_world_set_part_data(carom_world *world, carom_body_id id, int32_t part, uint64_t user_data)
{
	cr_body *body;
	carom_result result = cr_find_body(world, id, set_part_name, &body);
	if (result != CAROM_SUCCESS)
		return result;
	if (!cr_compound_of(body))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"%s: the body was added without parts; carom_world_set_user_data sets its number", set_part_name);
	result = check_part_number(world, body, part, set_part_name);
	if (result != CAROM_SUCCESS)
		return result;
	const unsigned refusals = cr_count_refusals(world);
	if (!cr_own_compound(&world->memory, body))
		return cr_explain_failure(world, set_part_name, refusals, cr_fail_memory(world->context, "the parts of a body"));
	cr_compound_of(body)->part[part].user_data = user_data;
	cr_record_set_part_data(world->recorder, id, part, user_data);
	return CAROM_SUCCESS;
}

carom_result carom_world_set_filter(carom_world *world, carom_body_id id, uint64_t category, uint64_t mask, int32_t group)
{
	cr_body *body;
	const carom_result result = cr_find_body(world, id, "carom_world_set_filter", &body);
	if (result != CAROM_SUCCESS)
		return result;
	for (int32_t i = 0; i < cr_part_count(body); i++) {
		body[i].category = category;
		body[i].mask = mask;
		body[i].group = group;
		body[i].refiltered = true;
	}
	cr_note_members(world);
	cr_note_change(world, body, cr_part_count(body));
	cr_record_set_filter(world->recorder, id, category, mask, group);
	return CAROM_SUCCESS;
}

carom_result carom_world_get_filter(
	const carom_world *world, carom_body_id id, uint64_t *category, uint64_t *mask, int32_t *group)
{
	const cr_body *body = cr_find_body_const(world, id, "carom_world_get_filter");
	if (!body)
		return CAROM_INVALID_BODY;
	if (!category || !mask || !group)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_get_filter: %s is NULL",
			!category   ? "category"
				: !mask ? "mask"
						: "group");
	*category = body->category;
	*mask = body->mask;
	*group = body->group;
	return CAROM_SUCCESS;
}

carom_result carom_world_get_aabb(const carom_world *world, carom_body_id id, carom_aabb *box)
{
	const cr_body *body = cr_find_body_const(world, id, "carom_world_get_aabb");
	if (!body)
		return CAROM_INVALID_BODY;
	if (!box)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "carom_world_get_aabb: box is NULL");
	double all_lower[3] = { INFINITY, INFINITY, INFINITY }, all_upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	for (int32_t i = 0; i < cr_part_count(body); i++) {
		double lower[3], upper[3];
		cr_body_bounds(&body[i], world->context->simd, lower, upper);
		for (int k = 0; k < 3; k++) {
			all_lower[k] = lower[k] < all_lower[k] ? lower[k] : all_lower[k];
			all_upper[k] = upper[k] > all_upper[k] ? upper[k] : all_upper[k];
		}
	}
	*box = (carom_aabb){ { all_lower[0], all_lower[1], all_lower[2] }, { all_upper[0], all_upper[1], all_upper[2] } };
	return CAROM_SUCCESS;
}
