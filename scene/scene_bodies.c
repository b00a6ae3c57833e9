// The "planes", "bodies" and "grids" of a scene file.
#include "sim/base/rotations.h"
#include "scene/scene_parts.h"
#include "sim/base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The number of the mesh that a text node names, or -1 with an error.
int32_t scene_find_mesh(const io_json_node *node, const scene_description *scene)
{
	if (!cJSON_IsString(node->item)) {
		io_json_error(node, "must be the name of a mesh");
		return -1;
	}
	const char *name = node->item->valuestring;
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		if (!strcmp(scene->meshes[i].name, name))
			return i;
	}
	const char **names = calloc((size_t)scene->mesh_count + 1, sizeof *names);
	for (int32_t i = 0; names && i < scene->mesh_count; i++)
		names[i] = scene->meshes[i].name;
	const char *nearest = names ? sim_nearest_word(name, names) : NULL;
	if (nearest)
		io_json_error(node, "there is no mesh \"%.100s\"; did you mean \"%s\"?", name, nearest);
	else
		io_json_error(node, "there is no mesh \"%.100s\"; \"meshes\" must hold it", name);
	free(names);
	return -1;
}

static scene_body default_body(const scene_description *scene)
{
	const carom_body_def def = carom_default_body_def();
	return (scene_body){
		.shape = { .type = CAROM_MESH, .mesh = -1 },
		.kind = CAROM_DYNAMIC,
		.pose = carom_pose_identity(),
		.density = 1000,
		.friction = scene->rigid.solver.friction,
		.restitution = scene->rigid.solver.restitution,
		.category = def.category,
		.mask = def.mask,
		.group = def.group,
		.opacity = 1,
	};
}

#define SHAPE(type) (1u << (type))

// In the order of carom_shape_type.
static const char *const SHAPE_NAMES[] = { "sphere", "box", "capsule", "plane", "mesh", "hull", "cylinder", "cone", "ellipsoid",
	NULL };

/// Sizes: those that a shape needs must be there, others must not.
static void read_size(const io_json_node *node, scene_shape *shape)
{
	static const unsigned upright = SHAPE(CAROM_CAPSULE) | SHAPE(CAROM_CYLINDER) | SHAPE(CAROM_CONE);
	static const unsigned cornered = SHAPE(CAROM_BOX) | SHAPE(CAROM_HULL) | SHAPE(CAROM_CYLINDER) | SHAPE(CAROM_CONE);
	const struct {
		const char *name;
		unsigned types;
		bool needed;
	} sizes[] = {
		{ "radius", SHAPE(CAROM_SPHERE) | upright, true },
		{ "half_length", upright, true },
		{ "half_extents", SHAPE(CAROM_BOX) | SHAPE(CAROM_ELLIPSOID), true },
		{ "mesh", SHAPE(CAROM_MESH) | SHAPE(CAROM_HULL), true },
		{ "rounding", cornered | SHAPE(CAROM_ELLIPSOID), false },
	};
	for (int i = 0; i < 5; i++) {
		const bool wanted = (sizes[i].types & SHAPE(shape->type)) != 0;
		const bool given = io_json_has(node, sizes[i].name);
		if (wanted && !given && sizes[i].needed)
			io_json_member_error(node, sizes[i].name, "is missing: this shape needs it");
		else if (given && !wanted)
			io_json_member_error(node, sizes[i].name, "does not belong to this shape");
	}
	io_json_number(node, "radius", 1e-6, 1e6, &shape->radius);
	io_json_number(node, "half_length", 1e-6, 1e6, &shape->half_length);
	io_json_numbers(node, "half_extents", 3, 1e-6, 1e6, shape->half_extents);
	io_json_number(node, "rounding", 0, 1e6, &shape->rounding);
}

/// "shape" and sizes. The mesh is left to the caller.
static void read_shape(const io_json_node *node, scene_shape *shape)
{
	int type = (int)shape->type;
	io_json_choice(node, "shape", SHAPE_NAMES, &type);
	shape->type = (carom_shape_type)type;
	read_size(node, shape);
}

void scene_read_orientation(const io_json_node *node, carom_quat *orientation)
{
	io_json_node rotation;
	scene_forbid_both(node, "orientation", "rotation");
	if (io_json_has(node, "orientation")) {
		double q[4] = { 0, 0, 0, 1 };
		if (!io_json_numbers(node, "orientation", 4, -2, 2, q))
			return;
		const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
		if (fabs(length - 1) > 1e-3)
			io_json_member_error(node, "orientation", "must be a unit quaternion x, y, z, w; its length is %.6g", length);
		else
			*orientation = sim_unit_quat((carom_quat){ q[0], q[1], q[2], q[3] });
	}
	static const char *const fields[] = { "axis", "degrees", NULL };
	if (!io_json_member(node, "rotation", &rotation) || !io_json_fields(&rotation, fields))
		return;
	double axis[3] = { 0, 1, 0 }, degrees = 0;
	io_json_numbers(&rotation, "axis", 3, -1e6, 1e6, axis);
	io_json_number(&rotation, "degrees", -3600, 3600, &degrees);
	if (sim_length3(axis) < 1e-9)
		io_json_member_error(&rotation, "axis", "must not be zero");
	else
		*orientation = sim_unit_quat(sim_axis_angle(axis, degrees * SIM_PI / 180));
}

static bool is_height_field(const scene_description *scene, const scene_shape *shape)
{
	return shape->mesh >= 0 && scene->meshes[shape->mesh].kind == SCENE_MESH_HEIGHT_FIELD;
}

/// Refuse shapes that a body of this kind cannot have. kind_field is where node says the kind; of a
/// part it is "shape".
static void check_shape(const io_json_node *node, const char *kind_field, const scene_description *scene,
	const scene_shape *shape, carom_body_kind kind)
{
	if (kind == CAROM_DYNAMIC && shape->type == CAROM_PLANE)
		io_json_member_error(node, kind_field, "a plane must be \"static\" or \"kinematic\"");
	if (kind == CAROM_DYNAMIC && shape->type == CAROM_MESH && is_height_field(scene, shape))
		io_json_member_error(node, kind_field, "a height field must be \"static\" or \"kinematic\"");
	if (shape->type == CAROM_HULL && is_height_field(scene, shape))
		io_json_member_error(node, "mesh", "a height field has no hull");
}

static void check_kind(const io_json_node *node, const scene_description *scene, const scene_body *body)
{
	if (body->part_count == 0)
		check_shape(node, "kind", scene, &body->shape, body->kind);
	if (body->kind == CAROM_STATIC && (io_json_has(node, "velocity") || io_json_has(node, "angular_velocity")))
		io_json_member_error(node, io_json_has(node, "velocity") ? "velocity" : "angular_velocity",
			"a static body does not move; \"kind\": \"kinematic\" does");
	if (body->kind != CAROM_DYNAMIC && (io_json_has(node, "density") || io_json_has(node, "mass")))
		io_json_member_error(node, io_json_has(node, "mass") ? "mass" : "density", "only dynamic bodies have a mass");
	if (body->kind != CAROM_DYNAMIC && body->continuous)
		io_json_member_error(
			node, "continuous", "only dynamic bodies are stopped; they also are by a \"kinematic\" one that is fast");
}

static void read_part(const io_json_node *node, scene_description *scene, const scene_body *body)
{
	static const char *const fields[] = { "shape", "mesh", "radius", "half_length", "half_extents", "rounding", "position",
		"orientation", "rotation", "density", NULL };
	io_json_node name;
	scene_part part = {
		.shape = { .type = CAROM_MESH, .mesh = -1 },
		.pose = carom_pose_identity(),
		.density = body->density,
	};
	if (!io_json_fields(node, fields))
		return;
	read_shape(node, &part.shape);
	if (io_json_member(node, "mesh", &name))
		part.shape.mesh = scene_find_mesh(&name, scene);
	check_shape(node, "shape", scene, &part.shape, body->kind);
	scene_read_vec3(node, "position", CAROM_MAX_COORDINATE, &part.pose.position);
	scene_read_orientation(node, &part.pose.orientation);
	io_json_positive(node, "density", &part.density);
	if (body->kind != CAROM_DYNAMIC && io_json_has(node, "density"))
		io_json_member_error(node, "density", "only dynamic bodies have a mass");
	scene_part *added = scene_append(node, (void **)&scene->rigid.parts, &scene->rigid.part_count, sizeof *added);
	if (added)
		*added = part;
}

/// "parts" stands in place of a shape and its sizes.
static void read_parts(const io_json_node *node, scene_description *scene, scene_body *body)
{
	static const char *const others[] = { "shape", "mesh", "radius", "half_length", "half_extents", "rounding" };
	io_json_node list;
	io_json_member(node, "parts", &list);
	for (int i = 0; i < 6; i++)
		scene_forbid_both(node, "parts", others[i]);
	const int count = io_json_count(&list, true);
	if (count < 1 || count > SCENE_MOST_PARTS)
		io_json_error(&list, "must hold 1 to %d parts", SCENE_MOST_PARTS);
	body->first_part = scene->rigid.part_count;
	for (int i = 0; i < count && !node->json->failed; i++) {
		const io_json_node part = io_json_child(&list, i);
		read_part(&part, scene, body);
	}
	body->part_count = scene->rigid.part_count - body->first_part;
}

static void read_mass(const io_json_node *node, scene_body *body)
{
	scene_forbid_both(node, "density", "mass");
	io_json_positive(node, "density", &body->density);
	io_json_positive(node, "mass", &body->mass);
}

/// All fields of a body except "mesh", which a grid reads in its own way.
static void read_body_fields(const io_json_node *node, scene_description *scene, scene_body *body)
{
	// of carom_body_kind
	static const char *const kinds[] = { "static", "kinematic", "dynamic", NULL };
	const bool has_parts = io_json_has(node, "parts");
	scene_read_name(node, "name", body->name);
	if (!has_parts)
		read_shape(node, &body->shape);
	int kind = body->shape.type == CAROM_PLANE ? (int)CAROM_STATIC : (int)body->kind;
	if (io_json_has(node, "keys"))
		kind = (int)CAROM_KINEMATIC;
	io_json_choice(node, "kind", kinds, &kind);
	body->kind = (carom_body_kind)kind;
	read_mass(node, body);
	if (has_parts)
		read_parts(node, scene, body);
	scene_read_vec3(node, "position", SCENE_FARTHEST, &body->pose.position);
	scene_read_orientation(node, &body->pose.orientation);
	scene_read_vec3(node, "velocity", 1e6, &body->velocity);
	scene_read_vec3(node, "angular_velocity", 1e6, &body->angular_velocity);
	io_json_number(node, "friction", 0, 1e6, &body->friction);
	io_json_number(node, "restitution", 0, 1, &body->restitution);
	io_json_bits(node, "category", &body->category);
	io_json_bits(node, "mask", &body->mask);
	scene_read_int32(node, "group", INT32_MIN, INT32_MAX, &body->group);
	io_json_bool(node, "continuous", &body->continuous);
	io_json_number(node, "opacity", 0, 1, &body->opacity);
	snprintf(body->where, sizeof body->where, "%.*s", SCENE_NAME_SIZE - 1, node->path);
	body->line = io_json_line(node);
}

static scene_body *append_body(const io_json_node *node, scene_description *scene, const scene_body *body)
{
	scene_body *added = scene_append(node, (void **)&scene->rigid.bodies, &scene->rigid.body_count, sizeof *added);
	if (added)
		*added = *body;
	return added;
}

void scene_read_planes(const io_json_node *section, scene_description *scene)
{
	static const char *const fields[] = { "name", "normal", "offset", "friction", "restitution", "opacity", NULL };
	io_json_node list;
	if (!io_json_member(section, "planes", &list))
		return;
	const int count = io_json_count(&list, true);
	for (int i = 0; i < count && !section->json->failed; i++) {
		const io_json_node node = io_json_child(&list, i);
		scene_body body = default_body(scene);
		double normal[3] = { 0, 1, 0 }, offset = 0;
		if (!io_json_fields(&node, fields))
			return;
		scene_read_name(&node, "name", body.name);
		io_json_numbers(&node, "normal", 3, -1e6, 1e6, normal);
		io_json_number(&node, "offset", -SCENE_FARTHEST, SCENE_FARTHEST, &offset);
		io_json_number(&node, "friction", 0, 1e6, &body.friction);
		io_json_number(&node, "restitution", 0, 1, &body.restitution);
		io_json_number(&node, "opacity", 0, 1, &body.opacity);
		const double length = sim_length3(normal);
		if (length < 1e-9)
			io_json_member_error(&node, "normal", "must not be zero");
		for (int k = 0; k < 3; k++)
			normal[k] /= length;
		body.shape.type = CAROM_PLANE;
		body.kind = CAROM_STATIC;
		body.pose.position = (carom_vec3){ normal[0] * offset, normal[1] * offset, normal[2] * offset };
		body.pose.orientation = sim_rotation_to_normal(normal);
		snprintf(body.where, sizeof body.where, "%.*s", SCENE_NAME_SIZE - 1, node.path);
		body.line = io_json_line(&node);
		append_body(&node, scene, &body);
	}
}

/// "keys" make a body a kinematic one that begins at the first of them.
static void read_body_keys(const io_json_node *node, scene_description *scene, scene_body *body)
{
	if (!io_json_has(node, "keys"))
		return;
	if (body->kind != CAROM_KINEMATIC)
		io_json_member_error(node, "kind", "a body with \"keys\" is \"kinematic\"");
	scene_keyed_body *keyed = scene_append(node, (void **)&scene->rigid.keyed, &scene->rigid.keyed_count, sizeof *keyed);
	if (!keyed)
		return;
	keyed->body = scene->rigid.body_count;
	keyed->list = scene_read_keys(node, &keyed->keys);
	if (keyed->keys.count > 0)
		body->pose = sim_keys_pose(&keyed->keys, 0);
}

void scene_read_bodies(const io_json_node *section, scene_description *scene)
{
	static const char *const fields[] = { SCENE_BODY_FIELDS, "keys", NULL };
	io_json_node list, name;
	if (!io_json_member(section, "list", &list))
		return;
	const int count = io_json_count(&list, true);
	for (int i = 0; i < count && !section->json->failed; i++) {
		const io_json_node node = io_json_child(&list, i);
		scene_body body = default_body(scene);
		if (!io_json_fields(&node, fields))
			return;
		read_body_fields(&node, scene, &body);
		read_body_keys(&node, scene, &body);
		if (io_json_member(&node, "mesh", &name))
			body.shape.mesh = scene_find_mesh(&name, scene);
		check_kind(&node, scene, &body);
		append_body(&node, scene, &body);
	}
}

// ---- Many bodies at a time ----

static void read_meshes_in_turn(const io_json_node *node, const scene_description *scene, scene_variation *v)
{
	io_json_node list;
	if (!io_json_member(node, "mesh", &list))
		return;
	if (!cJSON_IsArray(list.item)) {
		v->meshes[v->mesh_count++] = scene_find_mesh(&list, scene);
		return;
	}
	const int count = io_json_count(&list, true);
	if (count < 1 || count > SCENE_MOST_MESHES_IN_TURN)
		io_json_error(&list, "must name 1 to %d meshes", SCENE_MOST_MESHES_IN_TURN);
	for (int i = 0; i < count && !node->json->failed; i++) {
		const io_json_node name = io_json_child(&list, i);
		v->meshes[v->mesh_count++] = scene_find_mesh(&name, scene);
	}
}

void scene_read_varied_body(const io_json_node *node, scene_description *scene, scene_body *body, scene_variation *variation)
{
	static const char *const fields[] = { "degrees", "shift", "seed", NULL };
	io_json_node jitter;
	*body = default_body(scene);
	*variation = (scene_variation){ .state = 1 };
	read_body_fields(node, scene, body);
	if (io_json_member(node, "jitter", &jitter) && io_json_fields(&jitter, fields)) {
		io_json_number(&jitter, "degrees", 0, 180, &variation->degrees);
		io_json_number(&jitter, "shift", 0, 1e6, &variation->shift);
		io_json_bits(&jitter, "seed", &variation->state);
	}
	read_meshes_in_turn(node, scene, variation);
	for (int k = 0; k < variation->mesh_count; k++) {
		body->shape.mesh = variation->meshes[k];
		check_kind(node, scene, body);
	}
	if (variation->mesh_count == 0)
		check_kind(node, scene, body);
}

void scene_add_varied_body(const io_json_node *node, scene_description *scene, const scene_body *body,
	scene_variation *variation, int64_t i, carom_vec3 offset)
{
	scene_body made = *body;
	const carom_quat turn = sim_random_rotation(&variation->state, variation->degrees * SIM_PI / 180);
	made.pose.orientation = sim_unit_quat(sim_multiply(turn, body->pose.orientation));
	made.pose.position.x += offset.x + variation->shift * sim_random_unit(&variation->state);
	made.pose.position.y += offset.y + variation->shift * sim_random_unit(&variation->state);
	made.pose.position.z += offset.z + variation->shift * sim_random_unit(&variation->state);
	if (variation->mesh_count > 0)
		made.shape.mesh = variation->meshes[i % variation->mesh_count];
	append_body(node, scene, &made);
}

bool scene_check_body_count(const io_json_node *node, const scene_description *scene, int64_t more)
{
	if (more + scene->rigid.body_count > SCENE_MOST_BODIES)
		return io_json_member_error(node, "count", "makes more than %d bodies", SCENE_MOST_BODIES);
	return !node->json->failed;
}

// ---- Grids ----

/// x runs fastest, then z, then y: bodies come layer by layer from below, as in the recorded
/// motions.
static void read_grid(const io_json_node *node, scene_description *scene)
{
	double count[3] = { 1, 1, 1 }, spacing[3] = { 1, 1, 1 };
	scene_body first;
	scene_variation variation;
	scene_read_varied_body(node, scene, &first, &variation);
	io_json_numbers(node, "count", 3, 1, 10000, count);
	io_json_numbers(node, "spacing", 3, -1e6, 1e6, spacing);
	for (int k = 0; k < 3; k++) {
		if (count[k] != floor(count[k]))
			io_json_member_error(node, "count", "must be three whole numbers");
	}
	const int64_t columns = (int64_t)count[0], rows = (int64_t)count[2], total = columns * rows * (int64_t)count[1];
	if (!scene_check_body_count(node, scene, total))
		return;
	for (int64_t i = 0; i < total && !node->json->failed; i++) {
		const int64_t x = i % columns, z = i / columns % rows, y = i / columns / rows;
		const carom_vec3 offset = { (double)x * spacing[0], (double)y * spacing[1], (double)z * spacing[2] };
		scene_add_varied_body(node, scene, &first, &variation, i, offset);
	}
}

void scene_read_grids(const io_json_node *section, scene_description *scene)
{
	static const char *const fields[] = { "count", "spacing", "jitter", SCENE_BODY_FIELDS, NULL };
	io_json_node list;
	if (!io_json_member(section, "grids", &list))
		return;
	const int count = io_json_count(&list, true);
	for (int i = 0; i < count && !section->json->failed; i++) {
		const io_json_node node = io_json_child(&list, i);
		if (!io_json_fields(&node, fields))
			return;
		read_grid(&node, scene);
	}
}
