// Scene files: JSON to scene_description. docs/scenes.md is the description for users; the lists of
// field names here and in the readers of the sections (scene_rigid.c, scene_deforming.c,
// scene_spheres.c) are the schema.
#include "scene/scene.h"

#include "sim/base/rotations.h"
#include "scene/scene_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Camera, picture, output ----

scene_camera scene_default_scene_camera(void)
{
	return (scene_camera){ .up = { 0, 1, 0 }, .field_of_view = 40, .width = 1280, .height = 720 };
}

void scene_read_camera(const io_json_node *root, scene_camera *camera)
{
	static const char *const fields[] = { "position", "target", "up", "field_of_view", "width", "height", NULL };
	io_json_node node;
	if (!io_json_member(root, "camera", &node) || !io_json_fields(&node, fields))
		return;
	scene_read_vec3(&node, "position", SCENE_FARTHEST, &camera->position);
	scene_read_vec3(&node, "target", SCENE_FARTHEST, &camera->target);
	scene_read_vec3(&node, "up", 1e6, &camera->up);
	io_json_number(&node, "field_of_view", 1, 170, &camera->field_of_view);
	scene_read_int32(&node, "width", 16, 8192, &camera->width);
	scene_read_int32(&node, "height", 16, 8192, &camera->height);
	camera->given = io_json_has(&node, "position") || io_json_has(&node, "target");
	if (!camera->given)
		return;
	if (!io_json_has(&node, "position") || !io_json_has(&node, "target")) {
		io_json_error(&node, "\"position\" and \"target\" must be given together");
		return;
	}
	const double sight[3] = { camera->target.x - camera->position.x, camera->target.y - camera->position.y,
		camera->target.z - camera->position.z };
	const double up[3] = { camera->up.x, camera->up.y, camera->up.z };
	const double cross[3] = { sight[1] * up[2] - sight[2] * up[1], sight[2] * up[0] - sight[0] * up[2],
		sight[0] * up[1] - sight[1] * up[0] };
	if (!(sim_length3(cross) > 1e-6 * sim_length3(sight) * sim_length3(up)))
		io_json_error(&node, "\"target\" must differ from \"position\", and \"up\" must not lie along the line of sight");
}

/// A field of a section that is not there is a mistake.
static void check_belongs(const io_json_node *node, const char *field, bool section_there, const char *section)
{
	if (io_json_has(node, field) && !section_there)
		io_json_member_error(node, field, "is for \"%s\", which this scene does not have", section);
}

static void read_output(const io_json_node *root, scene_description *scene)
{
	static const char *const fields[] = { "contacts", "frames", "format", "snapshots", "checkpoints", "energy", "forces", NULL };
	static const char *const formats[] = { "ply", "obj", NULL };
	scene_output *output = &scene->output;
	io_json_node node;
	int format = 0;
	if (!io_json_member(root, "output", &node) || !io_json_fields(&node, fields))
		return;
	for (int i = 1; i < 3; i++)
		check_belongs(&node, fields[i], scene->has_deforming, "deforming");
	check_belongs(&node, "snapshots", scene->has_spheres, "spheres");
	check_belongs(&node, "energy", scene->has_spheres, "spheres");
	check_belongs(&node, "forces", scene->has_spheres, "spheres");
	io_json_bool(&node, "contacts", &output->contacts);
	io_json_integer(&node, "frames", 0, 1000000000, &output->frames);
	io_json_choice(&node, "format", formats, &format);
	output->frames_as_obj = format == 1;
	io_json_integer(&node, "snapshots", 0, 1000000000, &output->snapshots);
	io_json_integer(&node, "checkpoints", 0, 1000000000, &output->checkpoints);
	io_json_integer(&node, "energy", 1, 1000000000, &output->energy);
	io_json_integer(&node, "forces", 0, 1000000000, &output->forces);
}

static void read_picture(const io_json_node *root, scene_description *scene)
{
	static const char *const fields[] = { "color", "box", "ground", NULL };
	static const char *const colors[] = { "id", "speed", "radius", "copy", NULL };
	io_json_node node;
	int color = 0;
	if (!io_json_member(root, "picture", &node) || !io_json_fields(&node, fields))
		return;
	for (int i = 0; i < 2; i++)
		check_belongs(&node, fields[i], scene->has_spheres, "spheres");
	check_belongs(&node, "ground", scene->has_spheres || scene->has_deforming, "deforming");
	io_json_choice(&node, "color", colors, &color);
	scene->picture.color_copies = color == 3;
	scene->picture.color = scene->picture.color_copies ? SIM_COLOR_ID : (sim_sphere_color)color;
	io_json_bool(&node, "box", &scene->picture.box);
	io_json_bool(&node, "ground", &scene->picture.ground);
}

// ---- Gravity and time ----

static void read_turning_gravity(const io_json_node *node, scene_description *scene)
{
	static const char *const fields[] = { "magnitude", "direction", "axis", "degrees_per_second", NULL };
	double magnitude = 9.81, direction[3] = { 1, 0, 0 }, degrees = 0;
	if (!io_json_fields(node, fields))
		return;
	io_json_number(node, "magnitude", 0, 1e6, &magnitude);
	io_json_numbers(node, "direction", 3, -1e6, 1e6, direction);
	io_json_numbers(node, "axis", 3, -1e6, 1e6, scene->gravity_axis);
	io_json_number(node, "degrees_per_second", -1e6, 1e6, &degrees);
	const double length = sim_length3(direction);
	if (!(length > 0))
		io_json_member_error(node, "direction", "must not be zero");
	else if (!(sim_length3(scene->gravity_axis) > 0))
		io_json_member_error(node, "axis", "must not be zero");
	else
		scene->gravity = (carom_vec3){ magnitude * direction[0] / length, magnitude * direction[1] / length,
			magnitude * direction[2] / length };
	scene->gravity_rate = degrees * SIM_PI / 180;
	if (degrees != 0 && (scene->has_bodies || scene->has_deforming))
		io_json_member_error(node, "degrees_per_second", "is for scenes of spheres alone so far");
}

static void read_gravity(const io_json_node *root, scene_description *scene)
{
	io_json_node node;
	if (io_json_member(root, "gravity", &node) && cJSON_IsObject(node.item))
		read_turning_gravity(&node, scene);
	else
		scene_read_vec3(root, "gravity", 1e6, &scene->gravity);
}

/// The shortest steps differ: those of spheres have to be short, and bodies lose digits in such.
static void read_time(const io_json_node *root, scene_description *scene)
{
	const double least = scene->has_deforming ? 1e-6 : (scene->has_bodies ? 1e-9 : 1e-12);
	io_json_number(root, "time_step", least, 1, &scene->time_step);
	io_json_integer(root, "steps", 1, 1000000000, &scene->steps);
}

// ---- The whole ----

/// Scenes were of three kinds once, each with its fields at the top level. Say where these have
/// gone.
static bool check_form(const io_json_node *root)
{
	static const struct {
		const char *name, *now;
	} moved[] = {
		{ "planes", "belongs into \"bodies\"" },
		{ "grids", "belongs into \"bodies\"" },
		{ "sources", "belongs into \"bodies\"" },
		{ "substeps", "belongs into \"bodies\"" },
		{ "max_substeps", "belongs into \"bodies\"" },
		{ "substep_travel", "belongs into \"bodies\"" },
		{ "record_contacts", "is \"contacts\" in \"output\" now" },
		{ "solver", "belongs into \"bodies\" or \"deforming\"" },
		{ "detection", "belongs into \"bodies\" or \"spheres\"" },
		{ "rigid", "is \"movers\" in \"deforming\" now" },
		{ "cloth", "is \"list\" in \"deforming\" now" },
		{ "resolution", "belongs into \"deforming\"" },
		{ "thickness", "belongs into \"deforming\"" },
		{ "box", "belongs into \"spheres\"" },
		{ "moving_walls", "belongs into \"spheres\"" },
		{ "material", "belongs into \"spheres\"" },
		{ "wall_material", "belongs into \"spheres\"" },
		{ "stability", "belongs into \"spheres\"" },
	};
	static const char *const sections[] = { "bodies", "spheres" };
	io_json_node node;
	for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
		if (io_json_has(root, moved[i].name))
			return io_json_member_error(root, moved[i].name, "%s (docs/scenes.md)", moved[i].now);
	}
	for (int i = 0; i < 2; i++) {
		if (io_json_member(root, sections[i], &node) && cJSON_IsArray(node.item))
			return io_json_error(&node, "is an object now, and this array its \"list\" (docs/scenes.md)");
	}
	return true;
}

static void set_defaults(scene_description *scene)
{
	snprintf(scene->name, sizeof scene->name, "scene");
	scene->gravity = (carom_vec3){ 0, -9.81, 0 };
	scene->gravity_axis[1] = 1;
	scene->time_step = 1.0 / 60.0;
	scene->steps = 600;
	scene->output = (scene_output){ .frames = 1, .snapshots = -1, .energy = 10 };
	scene->picture = (scene_picture){ .box = true, .ground = true };
	scene->camera = scene_default_scene_camera();
	scene_set_rigid_defaults(&scene->rigid);
	scene_set_deforming_defaults(&scene->deforming);
	scene_set_spheres_defaults(&scene->spheres);
}

/// After everything that they share.
static void read_sections(const io_json_node *root, scene_description *scene)
{
	io_json_node section;
	if (io_json_member(root, "bodies", &section))
		scene_read_rigid_section(&section, scene);
	if (io_json_member(root, "deforming", &section))
		scene_read_deforming_section(&section, scene);
	if (io_json_member(root, "spheres", &section))
		scene_read_sphere_section(&section, scene);
	if (!root->json->failed && !scene->has_bodies && !scene->has_deforming && !scene->has_spheres)
		io_json_error(root, "the scene is empty: it needs \"bodies\", \"deforming\" or \"spheres\"");
}

static void read_scene(const io_json_node *root, scene_description *scene)
{
	static const char *const fields[] = { "name", "description", "gravity", "time_step", "steps", "meshes", "bodies",
		"deforming", "spheres", "output", "picture", "camera", NULL };
	char *description = NULL;
	if ((cJSON_IsObject(root->item) && !check_form(root)) || !io_json_fields(root, fields))
		return;
	scene->has_bodies = io_json_has(root, "bodies");
	scene->has_deforming = io_json_has(root, "deforming");
	scene->has_spheres = io_json_has(root, "spheres");
	scene_read_name(root, "name", scene->name);
	io_json_string(root, "description", &description); // for readers of the file only
	free(description);
	read_gravity(root, scene);
	read_time(root, scene);
	read_output(root, scene);
	read_picture(root, scene);
	scene_read_camera(root, &scene->camera);
	scene_read_meshes(root, scene);
	read_sections(root, scene);
}

/// A recording of a version before the sections: everything was at the top level.
static void read_recorded_scene(const io_json_node *root, scene_description *scene)
{
	io_json_node section;
	if (io_json_member(root, "bodies", &section) && cJSON_IsObject(section.item)) {
		read_scene(root, scene);
		return;
	}
	scene_read_camera(root, &scene->camera);
	scene_read_recorded_detection(root, &scene->rigid.detection, &scene->rigid.lab);
}

static bool parse(const char *file, const char *text, size_t size, void (*read)(const io_json_node *, scene_description *),
	scene_description *scene, sim_error *error)
{
	io_json json;
	io_json_node root;
	*scene = (scene_description){ .file = strdup(file), .text = malloc(size + 1), .text_size = size };
	if (!scene->file || !scene->text) {
		sim_fail(error, "%s: out of memory", file);
		scene_destroy(scene);
		return false;
	}
	memcpy(scene->text, text, size);
	scene->text[size] = 0;
	set_defaults(scene);
	bool done = io_json_parse(scene->file, text, size, error, &json, &root);
	if (done) {
		read(&root, scene);
		done = !json.failed;
	}
	io_json_close(&json);
	if (!done)
		scene_destroy(scene);
	return done;
}

bool scene_parse(const char *file, const char *text, size_t size, scene_description *scene, sim_error *error)
{
	return parse(file, text, size, read_scene, scene, error);
}

bool scene_parse_recorded(const char *file, const char *text, size_t size, scene_description *scene, sim_error *error)
{
	return parse(file, text, size, read_recorded_scene, scene, error);
}

bool scene_load(const char *path, scene_description *scene, sim_error *error)
{
	size_t size;
	*scene = (scene_description){ 0 };
	char *text = io_read_text(path, &size, error);
	const bool done = text && scene_parse(path, text, size, scene, error);
	free(text);
	return done;
}

void scene_destroy(scene_description *scene)
{
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		free(scene->meshes[i].shape);
		free(scene->meshes[i].file);
		free(scene->meshes[i].heights);
		scene_forget_shape(&scene->meshes[i]);
	}
	for (int32_t i = 0; i < scene->deforming.source_count; i++) {
		free(scene->deforming.sources[i].pins);
		free(scene->deforming.sources[i].points);
		free(scene->deforming.sources[i].keys);
		free(scene->deforming.sources[i].animation.files);
	}
	for (int32_t i = 0; i < scene->spheres.source_count; i++)
		free(scene->spheres.sources[i].file);
	for (int32_t i = 0; i < scene->rigid.keyed_count; i++)
		free(scene->rigid.keyed[i].list);
	free(scene->meshes);
	free(scene->rigid.keyed);
	free(scene->rigid.parts);
	free(scene->rigid.bodies);
	free(scene->deforming.sources);
	free(scene->deforming.obstacles);
	free(scene->spheres.obstacles);
	free(scene->spheres.sources);
	free(scene->file);
	free(scene->text);
	*scene = (scene_description){ 0 };
}

int64_t scene_snapshot_steps(const scene_description *scene, int64_t sphere_count)
{
	enum { MOST_FREELY = 100000, FILES = 100 };
	const int64_t steps = scene->steps;
	if (scene->output.snapshots >= 0)
		return scene->output.snapshots;
	if (!scene->has_bodies && !scene->has_deforming)
		return 0;
	return sphere_count > MOST_FREELY ? steps : (steps + FILES - 1) / FILES;
}
