// Scene files: JSON to sim_scene. docs/scenes.md is the description for users; the lists of field names below are the schema.
//
// Every reader below goes on after an error: the JSON reader keeps the first one and turns the later reads into nothing, so the
// result is looked at once, in sim_parse_scene.
#include "sim/scene.h"

#include "sim/json_reader.h"
#include "sim/mesh_file.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FARTHEST 1e9 // metres: positions are double, and a float of the relative pose still resolves 64 m there
#define MOST_BODIES 1000000

static const double pi = 3.14159265358979323846;

// ---- Rotations ----

// Sine by its Taylor series, |x| <= pi / 2 after folding. The C library's may differ in the last bit between machines, and the start
// of a scene must not.
static double sine(double x)
{
	x -= 2 * pi * floor(x / (2 * pi) + 0.5);
	if (x > pi / 2)
		x = pi - x;
	if (x < -pi / 2)
		x = -pi - x;
	double term = x, sum = x;
	for (int k = 1; k < 14; k++) {
		term *= -x * x / ((2 * k) * (2 * k + 1));
		sum += term;
	}
	return sum;
}

static double length3(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// Rotation by an angle (radians) about an axis that is not zero.
static carom_quat axis_angle(const double axis[3], double angle)
{
	const double s = sine(angle / 2) / length3(axis);
	return (carom_quat){ axis[0] * s, axis[1] * s, axis[2] * s, sine(angle / 2 + pi / 2) };
}

static carom_quat multiply(carom_quat a, carom_quat b)
{
	return (carom_quat){
		a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
		a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
		a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
		a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
	};
}

static carom_quat unit(carom_quat q)
{
	const double s = 1 / sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return (carom_quat){ q.x * s, q.y * s, q.z * s, q.w * s };
}

// The shortest rotation that takes z to a unit vector n: (z x n, 1 + z . n), made unit.
static carom_quat rotation_to_normal(const double n[3])
{
	if (n[2] < -1 + 1e-12)
		return (carom_quat){ 1, 0, 0, 0 };
	return unit((carom_quat){ -n[1], n[0], 0, 1 + n[2] });
}

// Splitmix64 (Steele, Lea, Flood 2014), uniform in [-1, 1).
static double random_unit(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return (double)(int64_t)(z >> 11) * (2.0 / 9007199254740992.0) - 1.0;
}

// A rotation by an angle uniform in -most..most about an axis uniform on the sphere.
static carom_quat random_rotation(uint64_t *state, double most)
{
	double axis[3];
	double length;
	do {
		for (int i = 0; i < 3; i++)
			axis[i] = random_unit(state);
		length = length3(axis);
	} while (length > 1 || length < 0.1);
	return axis_angle(axis, most * random_unit(state));
}

// ---- Small readers ----

static void read_vec3(const sim_json_node *object, const char *name, double most, carom_vec3 *value)
{
	double v[3] = { value->x, value->y, value->z };
	if (sim_json_numbers(object, name, 3, -most, most, v))
		*value = (carom_vec3){ v[0], v[1], v[2] };
}

static void read_int32(const sim_json_node *object, const char *name, int32_t low, int32_t high, int32_t *value)
{
	int64_t wide = *value;
	if (sim_json_integer(object, name, low, high, &wide))
		*value = (int32_t)wide;
}

// A name of at most SIM_NAME_SIZE - 1 bytes.
static void read_name(const sim_json_node *object, const char *name, char value[SIM_NAME_SIZE])
{
	char *text = NULL;
	if (sim_json_string(object, name, &text) && text) {
		if (strlen(text) >= SIM_NAME_SIZE)
			sim_json_member_error(object, name, "is longer than %d bytes", SIM_NAME_SIZE - 1);
		else
			snprintf(value, SIM_NAME_SIZE, "%s", text);
	}
	free(text);
}

// Two fields that say the same in different ways.
static void forbid_both(const sim_json_node *object, const char *a, const char *b)
{
	if (sim_json_has(object, a) && sim_json_has(object, b))
		sim_json_member_error(object, b, "cannot be given together with \"%s\"", a);
}

// A new zeroed element at the end of an array whose room doubles when it is full. NULL with an error when memory is short.
static void *append(const sim_json_node *node, void **array, int32_t *count, size_t size)
{
	if ((*count & (*count - 1)) == 0) {
		const size_t room = *count ? 2 * (size_t)*count : 1;
		void *larger = realloc(*array, room * size);
		if (!larger) {
			sim_json_error(node, "out of memory");
			return NULL;
		}
		*array = larger;
	}
	char *element = (char *)*array + (size_t)(*count)++ * size;
	memset(element, 0, size);
	return element;
}

// ---- Settings ----

static sim_solver_settings default_solver(void)
{
	return (sim_solver_settings){
		.iterations = 50,
		.over_relaxation = 1.3,
		.error_reduction = 0.2,
		.softness = 1e-6,
		.slop = 0.001,
		.max_correcting_speed = 2,
		.friction = 0.5,
		.restitution = 0,
		.restitution_speed = 0.5,
		.linear_damping = 0,
		.angular_damping = 0.05,
		.max_angular_speed = INFINITY,
		.sleep_linear_speed = 0.05,
		.sleep_angular_speed = 0.1,
		.sleep_time = 0.5,
	};
}

static void read_spring(const sim_json_node *node, sim_solver_settings *solver)
{
	if (!sim_json_has(node, "stiffness") && !sim_json_has(node, "damping"))
		return;
	forbid_both(node, "stiffness", "error_reduction");
	forbid_both(node, "stiffness", "softness");
	if (!sim_json_has(node, "stiffness") || !sim_json_has(node, "damping")) {
		sim_json_error(node, "\"stiffness\" and \"damping\" must be given together");
		return;
	}
	sim_json_number(node, "stiffness", 1e-3, 1e15, &solver->stiffness);
	sim_json_number(node, "damping", 0, 1e15, &solver->damping);
}

static void read_sleep(const sim_json_node *solver_node, sim_solver_settings *solver)
{
	sim_json_node node;
	static const char *const fields[] = { "linear_speed", "angular_speed", "time", NULL };
	if (!sim_json_member(solver_node, "sleep", &node) || !sim_json_fields(&node, fields))
		return;
	solver->sleep = true;
	sim_json_number(&node, "linear_speed", 0, 1e6, &solver->sleep_linear_speed);
	sim_json_number(&node, "angular_speed", 0, 1e6, &solver->sleep_angular_speed);
	sim_json_number(&node, "time", 0, 1e6, &solver->sleep_time);
}

static void read_solver(const sim_json_node *root, sim_solver_settings *solver)
{
	static const char *const fields[] = { "iterations", "over_relaxation", "error_reduction", "softness", "stiffness",
		"damping", "slop", "max_correcting_speed", "friction", "restitution", "restitution_speed", "linear_damping",
		"angular_damping", "max_angular_speed", "sleep", NULL };
	sim_json_node node;
	if (!sim_json_member(root, "solver", &node) || !sim_json_fields(&node, fields))
		return;
	read_int32(&node, "iterations", 1, 100000, &solver->iterations);
	sim_json_number(&node, "over_relaxation", 0.1, 1.9, &solver->over_relaxation);
	sim_json_number(&node, "error_reduction", 0, 1, &solver->error_reduction);
	sim_json_number(&node, "softness", 0, 1e6, &solver->softness);
	read_spring(&node, solver);
	sim_json_number(&node, "slop", 0, 1e6, &solver->slop);
	sim_json_positive(&node, "max_correcting_speed", &solver->max_correcting_speed);
	sim_json_number(&node, "friction", 0, 1e6, &solver->friction);
	sim_json_number(&node, "restitution", 0, 1, &solver->restitution);
	sim_json_number(&node, "restitution_speed", 0, 1e6, &solver->restitution_speed);
	sim_json_number(&node, "linear_damping", 0, 1e6, &solver->linear_damping);
	sim_json_number(&node, "angular_damping", 0, 1e6, &solver->angular_damping);
	sim_json_positive(&node, "max_angular_speed", &solver->max_angular_speed);
	read_sleep(&node, solver);
}

static void read_detection(const sim_json_node *root, carom_world_def *detection)
{
	static const char *const fields[] = { "max_contacts_per_pair", "complete", "exit_distance_test", "speculative_distance",
		"match_distance", "broad_phase", "ray_method", NULL };
	static const char *const broad_words[] = { "tree", "sweep", "brute", NULL }; // in the order of carom_broad_phase
	static const char *const ray_words[] = { "wide", "binary", "basic", "moller_trumbore", NULL }; // of carom_ray_method
	sim_json_node node;
	if (!sim_json_member(root, "detection", &node) || !sim_json_fields(&node, fields))
		return;
	int broad = (int)detection->broad_phase;
	int ray = (int)detection->ray_method;
	read_int32(&node, "max_contacts_per_pair", 0, 256, &detection->max_contacts_per_pair);
	sim_json_bool(&node, "complete", &detection->complete);
	sim_json_bool(&node, "exit_distance_test", &detection->exit_distance_test);
	sim_json_number(&node, "speculative_distance", 0, 1e6, &detection->speculative_distance);
	sim_json_number(&node, "match_distance", 0, 1e6, &detection->match_distance);
	sim_json_choice(&node, "broad_phase", broad_words, &broad);
	sim_json_choice(&node, "ray_method", ray_words, &ray);
	detection->broad_phase = (carom_broad_phase)broad;
	detection->ray_method = (carom_ray_method)ray;
}

static void read_camera(const sim_json_node *root, sim_scene_camera *camera)
{
	static const char *const fields[] = { "position", "target", "up", "field_of_view", "width", "height", NULL };
	sim_json_node node;
	if (!sim_json_member(root, "camera", &node) || !sim_json_fields(&node, fields))
		return;
	read_vec3(&node, "position", FARTHEST, &camera->position);
	read_vec3(&node, "target", FARTHEST, &camera->target);
	read_vec3(&node, "up", 1e6, &camera->up);
	sim_json_number(&node, "field_of_view", 1, 170, &camera->field_of_view);
	read_int32(&node, "width", 16, 8192, &camera->width);
	read_int32(&node, "height", 16, 8192, &camera->height);
	camera->given = sim_json_has(&node, "position") || sim_json_has(&node, "target");
	if (!camera->given)
		return;
	if (!sim_json_has(&node, "position") || !sim_json_has(&node, "target")) {
		sim_json_error(&node, "\"position\" and \"target\" must be given together");
		return;
	}
	const double sight[3] = { camera->target.x - camera->position.x, camera->target.y - camera->position.y,
		camera->target.z - camera->position.z };
	const double up[3] = { camera->up.x, camera->up.y, camera->up.z };
	const double cross[3] = { sight[1] * up[2] - sight[2] * up[1], sight[2] * up[0] - sight[0] * up[2],
		sight[0] * up[1] - sight[1] * up[0] };
	if (!(length3(cross) > 1e-6 * length3(sight) * length3(up)))
		sim_json_error(&node, "\"target\" must differ from \"position\", and \"up\" must not lie along the line of sight");
}

// ---- Meshes ----

// A mesh name becomes the name of a group in recordings, and stands before '=' on command lines.
static bool is_mesh_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const size_t length = strlen(name);
	return length > 0 && length < SIM_NAME_SIZE && strspn(name, letters) == length;
}

// A relative path counts from the folder of the scene file.
static char *resolve_path(const char *scene_file, const char *path)
{
	const char *slash = strrchr(scene_file, '/');
	const size_t folder = *path == '/' || !slash ? 0 : (size_t)(slash - scene_file) + 1;
	char *full = malloc(folder + strlen(path) + 1);
	if (full) {
		memcpy(full, scene_file, folder);
		strcpy(full + folder, path);
	}
	return full;
}

static void read_heights(const sim_json_node *node, sim_mesh_source *mesh)
{
	const int count = mesh->columns * mesh->rows;
	double *heights = malloc((size_t)count * sizeof *heights);
	mesh->heights = malloc((size_t)count * sizeof *mesh->heights);
	if (!heights || !mesh->heights)
		sim_json_error(node, "out of memory");
	else if (sim_json_numbers(node, "heights", count, -1e6, 1e6, heights))
		for (int i = 0; i < count; i++)
			mesh->heights[i] = (float)heights[i];
	free(heights);
}

// Heights from two crossing waves: enough of hills and hollows to roll on, and the same on every machine.
static void make_hills(const sim_json_node *node, sim_mesh_source *mesh)
{
	static const char *const fields[] = { "height", "length", NULL };
	double height = 1, length = 10;
	if (!sim_json_fields(node, fields))
		return;
	sim_json_number(node, "height", -1e6, 1e6, &height);
	sim_json_positive(node, "length", &length);
	mesh->heights = malloc((size_t)mesh->columns * (size_t)mesh->rows * sizeof *mesh->heights);
	if (!mesh->heights) {
		sim_json_error(node, "out of memory");
		return;
	}
	for (int32_t row = 0; row < mesh->rows; row++)
		for (int32_t column = 0; column < mesh->columns; column++) {
			const double x = 2 * pi * column * mesh->spacing[0] / length;
			const double y = 2 * pi * row * mesh->spacing[1] / length;
			mesh->heights[(size_t)row * (size_t)mesh->columns + (size_t)column] = (float)(height * sine(x) * sine(y));
		}
}

static void read_height_field(const sim_json_node *parent, sim_mesh_source *mesh)
{
	static const char *const fields[] = { "columns", "rows", "spacing", "thickness", "heights", "hills", NULL };
	sim_json_node node, hills;
	sim_json_member(parent, "height_field", &node);
	mesh->kind = SIM_MESH_HEIGHT_FIELD;
	mesh->columns = mesh->rows = 2;
	mesh->spacing[0] = mesh->spacing[1] = mesh->thickness = 1;
	if (!sim_json_fields(&node, fields))
		return;
	read_int32(&node, "columns", 2, 4096, &mesh->columns);
	read_int32(&node, "rows", 2, 4096, &mesh->rows);
	sim_json_numbers(&node, "spacing", 2, 1e-6, 1e6, mesh->spacing);
	sim_json_number(&node, "thickness", 1e-6, 1e6, &mesh->thickness);
	forbid_both(&node, "heights", "hills");
	if (sim_json_member(&node, "hills", &hills))
		make_hills(&hills, mesh);
	else if (sim_json_has(&node, "heights"))
		read_heights(&node, mesh);
	else
		sim_json_error(&node, "needs \"heights\" or \"hills\"");
}

static void read_scale(const sim_json_node *node, sim_mesh_source *mesh)
{
	sim_json_node scale;
	forbid_both(node, "scale", "fit");
	if (sim_json_member(node, "scale", &scale)) {
		double factor = 1;
		if (cJSON_IsArray(scale.item)) {
			sim_json_numbers(node, "scale", 3, 1e-9, 1e9, mesh->scale);
		} else if (sim_json_number(node, "scale", 1e-9, 1e9, &factor)) {
			mesh->scale[0] = mesh->scale[1] = mesh->scale[2] = factor;
		}
	}
	sim_json_numbers(node, "fit", 3, 1e-9, 1e9, mesh->fit);
	sim_json_bool(node, "centre", &mesh->centre);
}

static void read_mesh(const sim_json_node *node, sim_scene *scene)
{
	static const char *const fields[] = { "shape", "triangles", "seed", "file", "height_field", "scale", "fit", "centre", NULL };
	sim_mesh_source *mesh = append(node, (void **)&scene->meshes, &scene->mesh_count, sizeof *mesh);
	if (!mesh)
		return;
	mesh->scale[0] = mesh->scale[1] = mesh->scale[2] = 1;
	mesh->triangles = 902;
	mesh->seed = 1;
	if (!is_mesh_name(node->item->string)) {
		sim_json_error(node, "a mesh is named by 1 to %d letters, digits, '_' and '-'", SIM_NAME_SIZE - 1);
		return;
	}
	snprintf(mesh->name, sizeof mesh->name, "%s", node->item->string);
	if (!sim_json_fields(node, fields))
		return;
	if (sim_json_has(node, "shape") + sim_json_has(node, "file") + sim_json_has(node, "height_field") != 1) {
		sim_json_error(node, "needs one of \"shape\", \"file\" and \"height_field\"");
		return;
	}
	if (sim_json_has(node, "height_field")) {
		static const char *const other[] = { "triangles", "seed", "scale", "fit", "centre", NULL };
		for (int i = 0; other[i]; i++)
			forbid_both(node, "height_field", other[i]);
		read_height_field(node, mesh);
		return;
	}
	read_scale(node, mesh);
	if (sim_json_has(node, "file")) {
		mesh->kind = SIM_MESH_FILE;
		forbid_both(node, "file", "triangles");
		forbid_both(node, "file", "seed");
		char *path = NULL;
		if (sim_json_string(node, "file", &path) && !(mesh->file = resolve_path(scene->file, path)))
			sim_json_error(node, "out of memory");
		free(path);
		return;
	}
	mesh->kind = SIM_MESH_SHAPE;
	sim_json_string(node, "shape", &mesh->shape);
	read_int32(node, "triangles", 4, 100000000, &mesh->triangles);
	sim_json_bits(node, "seed", &mesh->seed);
}

static void read_meshes(const sim_json_node *root, sim_scene *scene)
{
	sim_json_node node;
	if (!sim_json_member(root, "meshes", &node))
		return;
	const int count = sim_json_count(&node, false);
	for (int i = 0; i < count && !root->json->failed; i++) {
		const sim_json_node mesh = sim_json_child(&node, i);
		for (int32_t k = 0; k < scene->mesh_count; k++)
			if (!strcmp(scene->meshes[k].name, mesh.item->string))
				sim_json_error(&mesh, "given twice");
		read_mesh(&mesh, scene);
	}
}

// The number of the mesh that a text node names, or -1 with an error.
static int32_t find_mesh(const sim_json_node *node, const sim_scene *scene)
{
	if (!cJSON_IsString(node->item)) {
		sim_json_error(node, "must be the name of a mesh");
		return -1;
	}
	const char *name = node->item->valuestring;
	for (int32_t i = 0; i < scene->mesh_count; i++)
		if (!strcmp(scene->meshes[i].name, name))
			return i;
	const char **names = calloc((size_t)scene->mesh_count + 1, sizeof *names);
	for (int32_t i = 0; names && i < scene->mesh_count; i++)
		names[i] = scene->meshes[i].name;
	const char *nearest = names ? sim_json_nearest(name, names) : NULL;
	if (nearest)
		sim_json_error(node, "there is no mesh \"%.100s\"; did you mean \"%s\"?", name, nearest);
	else
		sim_json_error(node, "there is no mesh \"%.100s\"; \"meshes\" must hold it", name);
	free(names);
	return -1;
}

// ---- Bodies ----

#define BODY_FIELDS                                                                                                  \
	"name", "shape", "mesh", "radius", "half_length", "half_extents", "kind", "position", "orientation", "rotation", \
		"velocity", "angular_velocity", "density", "mass", "friction", "restitution", "category", "mask", "group"

static sim_scene_body default_body(const sim_scene *scene)
{
	const carom_body_def def = carom_default_body_def();
	return (sim_scene_body){
		.type = CAROM_MESH,
		.mesh = -1,
		.kind = CAROM_DYNAMIC,
		.pose = carom_pose_identity(),
		.density = 1000,
		.friction = scene->solver.friction,
		.restitution = scene->solver.restitution,
		.category = def.category,
		.mask = def.mask,
		.group = def.group,
	};
}

// Sizes: those that a shape needs must be there, others must not.
static void read_size(const sim_json_node *node, sim_scene_body *body)
{
	static const struct {
		const char *name;
		carom_shape_type types[2];
	} sizes[] = {
		{ "radius", { CAROM_SPHERE, CAROM_CAPSULE } },
		{ "half_length", { CAROM_CAPSULE, CAROM_CAPSULE } },
		{ "half_extents", { CAROM_BOX, CAROM_BOX } },
		{ "mesh", { CAROM_MESH, CAROM_MESH } },
	};
	for (int i = 0; i < 4; i++) {
		const bool wanted = body->type == sizes[i].types[0] || body->type == sizes[i].types[1];
		const bool given = sim_json_has(node, sizes[i].name);
		if (wanted && !given)
			sim_json_member_error(node, sizes[i].name, "is missing: this shape needs it");
		else if (given && !wanted)
			sim_json_member_error(node, sizes[i].name, "does not belong to this shape");
	}
	sim_json_number(node, "radius", 1e-6, 1e6, &body->radius);
	sim_json_number(node, "half_length", 1e-6, 1e6, &body->half_length);
	sim_json_numbers(node, "half_extents", 3, 1e-6, 1e6, body->half_extents);
}

static void read_orientation(const sim_json_node *node, carom_quat *orientation)
{
	sim_json_node rotation;
	forbid_both(node, "orientation", "rotation");
	if (sim_json_has(node, "orientation")) {
		double q[4] = { 0, 0, 0, 1 };
		if (!sim_json_numbers(node, "orientation", 4, -2, 2, q))
			return;
		const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
		if (fabs(length - 1) > 1e-3)
			sim_json_member_error(node, "orientation", "must be a unit quaternion x, y, z, w; its length is %.6g", length);
		else
			*orientation = unit((carom_quat){ q[0], q[1], q[2], q[3] });
	}
	static const char *const fields[] = { "axis", "degrees", NULL };
	if (!sim_json_member(node, "rotation", &rotation) || !sim_json_fields(&rotation, fields))
		return;
	double axis[3] = { 0, 1, 0 }, degrees = 0;
	sim_json_numbers(&rotation, "axis", 3, -1e6, 1e6, axis);
	sim_json_number(&rotation, "degrees", -3600, 3600, &degrees);
	if (length3(axis) < 1e-9)
		sim_json_member_error(&rotation, "axis", "must not be zero");
	else
		*orientation = unit(axis_angle(axis, degrees * pi / 180));
}

static void check_kind(const sim_json_node *node, const sim_scene *scene, const sim_scene_body *body)
{
	if (body->kind == CAROM_DYNAMIC && body->type == CAROM_PLANE)
		sim_json_member_error(node, "kind", "a plane must be \"static\" or \"kinematic\"");
	if (body->kind == CAROM_DYNAMIC && body->type == CAROM_MESH && body->mesh >= 0 &&
		scene->meshes[body->mesh].kind == SIM_MESH_HEIGHT_FIELD)
		sim_json_member_error(node, "kind", "a height field must be \"static\" or \"kinematic\"");
	if (body->kind == CAROM_STATIC && (sim_json_has(node, "velocity") || sim_json_has(node, "angular_velocity")))
		sim_json_member_error(node, sim_json_has(node, "velocity") ? "velocity" : "angular_velocity",
			"a static body does not move; \"kind\": \"kinematic\" does");
	if (body->kind != CAROM_DYNAMIC && (sim_json_has(node, "density") || sim_json_has(node, "mass")))
		sim_json_member_error(node, sim_json_has(node, "mass") ? "mass" : "density", "only dynamic bodies have a mass");
}

// All fields of a body except "mesh", which a grid reads in its own way.
static void read_body_fields(const sim_json_node *node, sim_scene_body *body)
{
	static const char *const shapes[] = { "sphere", "box", "capsule", "plane", "mesh",
		NULL };                                                                    // in the order of carom_shape_type
	static const char *const kinds[] = { "static", "kinematic", "dynamic", NULL }; // of carom_body_kind
	int type = (int)body->type, kind;
	read_name(node, "name", body->name);
	sim_json_choice(node, "shape", shapes, &type);
	body->type = (carom_shape_type)type;
	kind = body->type == CAROM_PLANE ? (int)CAROM_STATIC : (int)body->kind;
	sim_json_choice(node, "kind", kinds, &kind);
	body->kind = (carom_body_kind)kind;
	read_size(node, body);
	read_vec3(node, "position", FARTHEST, &body->pose.position);
	read_orientation(node, &body->pose.orientation);
	read_vec3(node, "velocity", 1e6, &body->velocity);
	read_vec3(node, "angular_velocity", 1e6, &body->angular_velocity);
	forbid_both(node, "density", "mass");
	sim_json_positive(node, "density", &body->density);
	sim_json_positive(node, "mass", &body->mass);
	sim_json_number(node, "friction", 0, 1e6, &body->friction);
	sim_json_number(node, "restitution", 0, 1, &body->restitution);
	sim_json_bits(node, "category", &body->category);
	sim_json_bits(node, "mask", &body->mask);
	read_int32(node, "group", INT32_MIN, INT32_MAX, &body->group);
	snprintf(body->where, sizeof body->where, "%.*s", SIM_NAME_SIZE - 1, node->path);
	body->line = sim_json_line(node);
}

static sim_scene_body *append_body(const sim_json_node *node, sim_scene *scene, const sim_scene_body *body)
{
	sim_scene_body *added = append(node, (void **)&scene->bodies, &scene->body_count, sizeof *added);
	if (added)
		*added = *body;
	return added;
}

static void read_planes(const sim_json_node *root, sim_scene *scene)
{
	static const char *const fields[] = { "name", "normal", "offset", "friction", "restitution", NULL };
	sim_json_node list;
	if (!sim_json_member(root, "planes", &list))
		return;
	const int count = sim_json_count(&list, true);
	for (int i = 0; i < count && !root->json->failed; i++) {
		const sim_json_node node = sim_json_child(&list, i);
		sim_scene_body body = default_body(scene);
		double normal[3] = { 0, 1, 0 }, offset = 0;
		if (!sim_json_fields(&node, fields))
			return;
		read_name(&node, "name", body.name);
		sim_json_numbers(&node, "normal", 3, -1e6, 1e6, normal);
		sim_json_number(&node, "offset", -FARTHEST, FARTHEST, &offset);
		sim_json_number(&node, "friction", 0, 1e6, &body.friction);
		sim_json_number(&node, "restitution", 0, 1, &body.restitution);
		const double length = length3(normal);
		if (length < 1e-9)
			sim_json_member_error(&node, "normal", "must not be zero");
		for (int k = 0; k < 3; k++)
			normal[k] /= length;
		body.type = CAROM_PLANE;
		body.kind = CAROM_STATIC;
		body.pose.position = (carom_vec3){ normal[0] * offset, normal[1] * offset, normal[2] * offset };
		body.pose.orientation = rotation_to_normal(normal);
		snprintf(body.where, sizeof body.where, "planes[%d]", i);
		body.line = sim_json_line(&node);
		append_body(&node, scene, &body);
	}
}

static void read_bodies(const sim_json_node *root, sim_scene *scene)
{
	static const char *const fields[] = { BODY_FIELDS, NULL };
	sim_json_node list, name;
	if (!sim_json_member(root, "bodies", &list))
		return;
	const int count = sim_json_count(&list, true);
	for (int i = 0; i < count && !root->json->failed; i++) {
		const sim_json_node node = sim_json_child(&list, i);
		sim_scene_body body = default_body(scene);
		if (!sim_json_fields(&node, fields))
			return;
		read_body_fields(&node, &body);
		if (sim_json_member(&node, "mesh", &name))
			body.mesh = find_mesh(&name, scene);
		check_kind(&node, scene, &body);
		append_body(&node, scene, &body);
	}
}

// ---- Grids ----

typedef struct grid {
	int32_t count[3];
	double spacing[3];
	double angle; // most degrees of the random rotations
	double shift; // most metres of the random shifts along each axis
	uint64_t seed;
	int32_t meshes[64]; // taken in turn
	int mesh_count;
} grid;

static void read_grid_meshes(const sim_json_node *node, const sim_scene *scene, grid *g)
{
	sim_json_node list;
	if (!sim_json_member(node, "mesh", &list))
		return;
	if (!cJSON_IsArray(list.item)) {
		g->meshes[g->mesh_count++] = find_mesh(&list, scene);
		return;
	}
	const int count = sim_json_count(&list, true);
	if (count < 1 || count > 64)
		sim_json_error(&list, "must name 1 to 64 meshes");
	for (int i = 0; i < count && !node->json->failed; i++) {
		const sim_json_node name = sim_json_child(&list, i);
		g->meshes[g->mesh_count++] = find_mesh(&name, scene);
	}
}

static void read_grid(const sim_json_node *node, grid *g)
{
	static const char *const fields[] = { "degrees", "shift", "seed", NULL };
	double count[3] = { 1, 1, 1 };
	sim_json_node jitter;
	sim_json_numbers(node, "count", 3, 1, 10000, count);
	sim_json_numbers(node, "spacing", 3, -1e6, 1e6, g->spacing);
	for (int k = 0; k < 3; k++) {
		g->count[k] = (int32_t)count[k];
		if (count[k] != floor(count[k]))
			sim_json_member_error(node, "count", "must be three whole numbers");
	}
	if (sim_json_member(node, "jitter", &jitter) && sim_json_fields(&jitter, fields)) {
		sim_json_number(&jitter, "degrees", 0, 180, &g->angle);
		sim_json_number(&jitter, "shift", 0, 1e6, &g->shift);
		sim_json_bits(&jitter, "seed", &g->seed);
	}
}

// x runs fastest, then z, then y: bodies come layer by layer from below, as in the recorded motions.
static void unroll_grid(const sim_json_node *node, sim_scene *scene, const grid *g, const sim_scene_body *first)
{
	const int64_t total = (int64_t)g->count[0] * g->count[1] * g->count[2];
	uint64_t state = g->seed;
	if (total + scene->body_count > MOST_BODIES)
		sim_json_member_error(node, "count", "makes more than %d bodies", MOST_BODIES);
	for (int64_t i = 0; i < total && !node->json->failed; i++) {
		const int64_t x = i % g->count[0], z = i / g->count[0] % g->count[2], y = i / g->count[0] / g->count[2];
		sim_scene_body body = *first;
		const carom_quat turn = random_rotation(&state, g->angle * pi / 180);
		body.pose.orientation = unit(multiply(turn, first->pose.orientation));
		body.pose.position.x += (double)x * g->spacing[0] + g->shift * random_unit(&state);
		body.pose.position.y += (double)y * g->spacing[1] + g->shift * random_unit(&state);
		body.pose.position.z += (double)z * g->spacing[2] + g->shift * random_unit(&state);
		if (g->mesh_count > 0)
			body.mesh = g->meshes[i % g->mesh_count];
		append_body(node, scene, &body);
	}
}

static void read_grids(const sim_json_node *root, sim_scene *scene)
{
	static const char *const fields[] = { "count", "spacing", "jitter", BODY_FIELDS, NULL };
	sim_json_node list;
	if (!sim_json_member(root, "grids", &list))
		return;
	const int count = sim_json_count(&list, true);
	for (int i = 0; i < count && !root->json->failed; i++) {
		const sim_json_node node = sim_json_child(&list, i);
		sim_scene_body first = default_body(scene);
		grid g = { .spacing = { 1, 1, 1 }, .seed = 1 };
		if (!sim_json_fields(&node, fields))
			return;
		read_body_fields(&node, &first);
		read_grid(&node, &g);
		read_grid_meshes(&node, scene, &g);
		for (int k = 0; k < g.mesh_count; k++) {
			first.mesh = g.meshes[k];
			check_kind(&node, scene, &first);
		}
		if (!root->json->failed)
			unroll_grid(&node, scene, &g, &first);
	}
}

// ---- The whole ----

static void set_defaults(sim_scene *scene)
{
	snprintf(scene->name, sizeof scene->name, "scene");
	scene->gravity = (carom_vec3){ 0, -9.81, 0 };
	scene->time_step = 1.0 / 60.0;
	scene->steps = 600;
	scene->substeps = 1;
	scene->substep_travel = INFINITY;
	scene->solver = default_solver();
	scene->detection = carom_default_world_def();
	scene->detection.max_contacts_per_pair = 8;
	// Without it a ray that grazes a large body (ground, say) runs on far inside it: a deep contact in a useless direction.
	scene->detection.exit_distance_test = true;
	scene->camera = (sim_scene_camera){ .up = { 0, 1, 0 }, .field_of_view = 40, .width = 1280, .height = 720 };
}

static void read_substeps(const sim_json_node *root, sim_scene *scene)
{
	read_int32(root, "substeps", 1, 1000, &scene->substeps);
	scene->max_substeps = scene->substeps;
	if (sim_json_has(root, "max_substeps") != sim_json_has(root, "substep_travel")) {
		sim_json_error(root, "\"max_substeps\" and \"substep_travel\" must be given together");
		return;
	}
	read_int32(root, "max_substeps", scene->substeps, 1000, &scene->max_substeps);
	sim_json_positive(root, "substep_travel", &scene->substep_travel);
}

static void read_scene(const sim_json_node *root, sim_scene *scene)
{
	static const char *const fields[] = { "name", "description", "gravity", "time_step", "steps", "substeps", "max_substeps",
		"substep_travel", "solver", "detection", "meshes", "planes", "bodies", "grids", "camera", "record_contacts", NULL };
	char *description = NULL;
	if (!sim_json_fields(root, fields))
		return;
	read_name(root, "name", scene->name);
	sim_json_string(root, "description", &description); // for readers of the file only
	free(description);
	read_vec3(root, "gravity", 1e6, &scene->gravity);
	sim_json_number(root, "time_step", 1e-9, 1, &scene->time_step);
	sim_json_integer(root, "steps", 1, 1000000000, &scene->steps);
	read_substeps(root, scene);
	sim_json_bool(root, "record_contacts", &scene->record_contacts);
	read_solver(root, &scene->solver);
	read_detection(root, &scene->detection);
	read_camera(root, &scene->camera);
	read_meshes(root, scene);
	read_planes(root, scene);
	read_bodies(root, scene);
	read_grids(root, scene);
	if (!root->json->failed && scene->body_count == 0)
		sim_json_error(root, "the scene has no bodies: \"bodies\", \"grids\" or \"planes\" must hold some");
}

bool sim_parse_scene(const char *file, const char *text, size_t size, sim_scene *scene, char *error, size_t error_size)
{
	sim_json json;
	sim_json_node root;
	*scene = (sim_scene){ .file = strdup(file), .text = malloc(size + 1), .text_size = size };
	if (!scene->file || !scene->text) {
		snprintf(error, error_size, "%s: out of memory", file);
		sim_destroy_scene(scene);
		return false;
	}
	memcpy(scene->text, text, size);
	scene->text[size] = 0;
	set_defaults(scene);
	bool done = sim_json_parse(scene->file, text, size, error, error_size, &json, &root);
	if (done) {
		read_scene(&root, scene);
		done = !json.failed;
	}
	sim_json_close(&json);
	if (!done)
		sim_destroy_scene(scene);
	return done;
}

bool sim_load_scene(const char *path, sim_scene *scene, char *error, size_t error_size)
{
	size_t size;
	*scene = (sim_scene){ 0 };
	char *text = sim_read_text(path, &size, error, error_size);
	const bool done = text && sim_parse_scene(path, text, size, scene, error, error_size);
	free(text);
	return done;
}

void sim_destroy_scene(sim_scene *scene)
{
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		free(scene->meshes[i].shape);
		free(scene->meshes[i].file);
		free(scene->meshes[i].heights);
	}
	free(scene->meshes);
	free(scene->bodies);
	free(scene->file);
	free(scene->text);
	*scene = (sim_scene){ 0 };
}

// ---- Making the meshes ----

bool sim_scene_replace_mesh(sim_scene *scene, const char *assignment, char *error, size_t error_size)
{
	const char *equals = strchr(assignment, '=');
	if (!equals || equals == assignment || !equals[1]) {
		snprintf(error, error_size, "\"%s\": must be NAME=FILE", assignment);
		return false;
	}
	const size_t length = (size_t)(equals - assignment);
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		sim_mesh_source *mesh = &scene->meshes[i];
		if (strlen(mesh->name) != length || strncmp(mesh->name, assignment, length) != 0)
			continue;
		char *file = strdup(equals + 1);
		if (!file) {
			snprintf(error, error_size, "out of memory");
			return false;
		}
		free(mesh->file);
		mesh->file = file;
		mesh->kind = SIM_MESH_FILE;
		return true;
	}
	char names[300] = "";
	for (int32_t i = 0; i < scene->mesh_count && strlen(names) < 200; i++)
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", scene->meshes[i].name);
	snprintf(error, error_size, "%s: has no mesh \"%.*s\"; it has: %s", scene->file, (int)length, assignment,
		*names ? names : "none");
	return false;
}

static void mesh_box(const sim_mesh *mesh, double lower[3], double upper[3])
{
	for (int k = 0; k < 3; k++) {
		lower[k] = DBL_MAX;
		upper[k] = -DBL_MAX;
	}
	for (int32_t i = 0; i < 3 * mesh->vertex_count; i++) {
		lower[i % 3] = fmin(lower[i % 3], (double)mesh->vertices[i]);
		upper[i % 3] = fmax(upper[i % 3], (double)mesh->vertices[i]);
	}
}

static void place_mesh(const sim_mesh_source *source, sim_mesh *mesh)
{
	double lower[3], upper[3], scale[3];
	mesh_box(mesh, lower, upper);
	double fit = INFINITY;
	for (int k = 0; k < 3; k++) {
		scale[k] = source->scale[k];
		if (upper[k] > lower[k])
			fit = fmin(fit, source->fit[k] / (upper[k] - lower[k]));
	}
	if (fit > 0 && fit < INFINITY)
		scale[0] = scale[1] = scale[2] = fit;
	for (int32_t i = 0; i < 3 * mesh->vertex_count; i++) {
		const int k = i % 3;
		const double middle = source->centre ? 0.5 * (lower[k] + upper[k]) : 0;
		mesh->vertices[i] = (float)(((double)mesh->vertices[i] - middle) * scale[k]);
	}
}

bool sim_scene_build_mesh(const sim_scene *scene, int32_t index, sim_mesh *mesh, char *error, size_t error_size)
{
	const sim_mesh_source *source = &scene->meshes[index];
	char reason[400] = "";
	bool made;
	if (source->kind == SIM_MESH_FILE) {
		made = sim_load_mesh(source->file, mesh, reason, sizeof reason);
		if (!made)
			snprintf(error, error_size, "%s: %s", source->file, reason);
	} else {
		made = sim_make_shape(source->shape, source->triangles, source->seed, mesh, reason, sizeof reason);
		if (!made)
			snprintf(error, error_size, "%s: field \"meshes.%s\": %s", scene->file, source->name, reason);
	}
	if (made)
		place_mesh(source, mesh);
	return made;
}
