// Scene files: JSON to sim_scene. docs/scenes.md is the description for users; the lists of field names below are the schema.
#include "scene/scene.h"

#include "sim/base/rotations.h"
#include "scene/scene_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	sim_forbid_both(node, "stiffness", "error_reduction");
	sim_forbid_both(node, "stiffness", "softness");
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
	sim_read_int32(&node, "iterations", 1, 100000, &solver->iterations);
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

sim_scene_camera sim_default_scene_camera(void)
{
	return (sim_scene_camera){ .up = { 0, 1, 0 }, .field_of_view = 40, .width = 1280, .height = 720 };
}

void sim_read_camera(const sim_json_node *root, sim_scene_camera *camera)
{
	static const char *const fields[] = { "position", "target", "up", "field_of_view", "width", "height", NULL };
	sim_json_node node;
	if (!sim_json_member(root, "camera", &node) || !sim_json_fields(&node, fields))
		return;
	sim_read_vec3(&node, "position", SIM_FARTHEST, &camera->position);
	sim_read_vec3(&node, "target", SIM_FARTHEST, &camera->target);
	sim_read_vec3(&node, "up", 1e6, &camera->up);
	sim_json_number(&node, "field_of_view", 1, 170, &camera->field_of_view);
	sim_read_int32(&node, "width", 16, 8192, &camera->width);
	sim_read_int32(&node, "height", 16, 8192, &camera->height);
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
	if (!(sim_length3(cross) > 1e-6 * sim_length3(sight) * sim_length3(up)))
		sim_json_error(&node, "\"target\" must differ from \"position\", and \"up\" must not lie along the line of sight");
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
	scene->camera = sim_default_scene_camera();
}

static void read_substeps(const sim_json_node *root, sim_scene *scene)
{
	sim_read_int32(root, "substeps", 1, 1000, &scene->substeps);
	scene->max_substeps = scene->substeps;
	if (sim_json_has(root, "max_substeps") != sim_json_has(root, "substep_travel")) {
		sim_json_error(root, "\"max_substeps\" and \"substep_travel\" must be given together");
		return;
	}
	sim_read_int32(root, "max_substeps", scene->substeps, 1000, &scene->max_substeps);
	sim_json_positive(root, "substep_travel", &scene->substep_travel);
}

static void read_scene(const sim_json_node *root, sim_scene *scene)
{
	static const char *const fields[] = { "name", "description", "gravity", "time_step", "steps", "substeps", "max_substeps",
		"substep_travel", "solver", "detection", "meshes", "planes", "bodies", "grids", "sources", "camera", "record_contacts",
		NULL };
	char *description = NULL;
	if (!sim_json_fields(root, fields))
		return;
	sim_read_name(root, "name", scene->name);
	sim_json_string(root, "description", &description); // for readers of the file only
	free(description);
	sim_read_vec3(root, "gravity", 1e6, &scene->gravity);
	sim_json_number(root, "time_step", 1e-9, 1, &scene->time_step);
	sim_json_integer(root, "steps", 1, 1000000000, &scene->steps);
	read_substeps(root, scene);
	sim_json_bool(root, "record_contacts", &scene->record_contacts);
	read_solver(root, &scene->solver);
	sim_read_detection(root, &scene->detection);
	sim_read_camera(root, &scene->camera);
	sim_read_meshes(root, scene);
	sim_read_planes(root, scene);
	sim_read_bodies(root, scene);
	sim_read_grids(root, scene);
	sim_read_sources(root, scene);
	if (!root->json->failed && scene->body_count == 0)
		sim_json_error(root, "the scene has no bodies: \"bodies\", \"grids\", \"sources\" or \"planes\" must hold some");
}

bool sim_parse_scene(const char *file, const char *text, size_t size, sim_scene *scene, sim_error *error)
{
	sim_json json;
	sim_json_node root;
	*scene = (sim_scene){ .file = strdup(file), .text = malloc(size + 1), .text_size = size };
	if (!scene->file || !scene->text) {
		sim_fail(error, "%s: out of memory", file);
		sim_destroy_scene(scene);
		return false;
	}
	memcpy(scene->text, text, size);
	scene->text[size] = 0;
	set_defaults(scene);
	bool done = sim_json_parse(scene->file, text, size, error, &json, &root);
	if (done) {
		read_scene(&root, scene);
		done = !json.failed;
	}
	sim_json_close(&json);
	if (!done)
		sim_destroy_scene(scene);
	return done;
}

bool sim_load_scene(const char *path, sim_scene *scene, sim_error *error)
{
	size_t size;
	*scene = (sim_scene){ 0 };
	char *text = sim_read_text(path, &size, error);
	const bool done = text && sim_parse_scene(path, text, size, scene, error);
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
	free(scene->parts);
	free(scene->bodies);
	free(scene->file);
	free(scene->text);
	*scene = (sim_scene){ 0 };
}
