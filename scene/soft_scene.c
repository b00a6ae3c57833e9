// Scene files of cloth: JSON to sim_soft_scene. docs/scenes.md is the description for users; the lists of field names below are the
// schema.
#include "scene/soft_scene.h"

#include "sim/base/rotations.h"
#include "scene/scene_parts.h"
#include "sim/base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_vector(const sim_json_node *object, const char *name, double most, double v[3])
{
	sim_json_numbers(object, name, 3, -most, most, v);
}

// ---- Forms ----

enum { SIZE = 1, RADIUS = 2, LENGTH = 4, HEM = 8, DIVISIONS = 16, COUNT = 32 };

static const char *const FORM_WORDS[] = { "sheet", "skirt", "sphere", "cone", "capsule", "bowl", "triangles", NULL };
// In the order of sim_form_kind: which fields a form has.
static const int FORM_FIELDS[] = { SIZE | DIVISIONS, RADIUS | LENGTH | HEM | DIVISIONS, RADIUS | DIVISIONS,
	RADIUS | LENGTH | DIVISIONS, RADIUS | LENGTH | DIVISIONS, RADIUS | LENGTH | DIVISIONS, SIZE | RADIUS | COUNT };

/// A field that the form needs is there, one that it does not know is not.
static void check_form_fields(const sim_json_node *node, sim_form_kind kind)
{
	static const struct {
		const char *name;
		int bit;
	} fields[] = { { "size", SIZE }, { "radius", RADIUS }, { "length", LENGTH }, { "hem_radius", HEM },
		{ "divisions", DIVISIONS }, { "count", COUNT } };
	static const char *const optional[] = { "folds", "fold_depth" };
	for (int i = 0; i < 6; i++) {
		const bool given = sim_json_has(node, fields[i].name), wanted = FORM_FIELDS[kind] & fields[i].bit;
		if (wanted && !given)
			sim_json_member_error(node, fields[i].name, "is missing: a %s needs it", FORM_WORDS[kind]);
		else if (given && !wanted)
			sim_json_member_error(node, fields[i].name, "does not belong to a %s", FORM_WORDS[kind]);
	}
	for (int i = 0; i < 2; i++) {
		if (sim_json_has(node, optional[i]) && kind != SIM_FORM_SKIRT)
			sim_json_member_error(node, optional[i], "does not belong to a %s", FORM_WORDS[kind]);
	}
	if (sim_json_has(node, "seed") && kind != SIM_FORM_TRIANGLES)
		sim_json_member_error(node, "seed", "does not belong to a %s", FORM_WORDS[kind]);
}

/// A sheet's size is two numbers, a box's three.
static void read_size(const sim_json_node *node, sim_form *form)
{
	if (form->kind != SIM_FORM_SHEET) {
		sim_json_numbers(node, "size", 3, 1e-6, 1e6, form->size);
		return;
	}
	double size[2] = { 1, 1 };
	sim_json_numbers(node, "size", 2, 1e-6, 1e6, size);
	form->size[0] = size[0];
	form->size[2] = size[1];
}

static void read_divisions(const sim_json_node *node, sim_form *form)
{
	double divisions[2] = { 1, 1 };
	sim_json_numbers(node, "divisions", 2, 1, 10000, divisions);
	for (int i = 0; i < 2; i++) {
		form->divisions[i] = (int32_t)divisions[i];
		if (divisions[i] != floor(divisions[i]))
			sim_json_member_error(node, "divisions", "must be whole numbers");
	}
}

static void read_form(const sim_json_node *node, sim_soft_source *source)
{
	sim_form *form = &source->form;
	int kind = 0;
	sim_json_choice(node, "form", FORM_WORDS, &kind);
	*form = (sim_form){ .kind = (sim_form_kind)kind, .seed = 1 };
	check_form_fields(node, form->kind);
	read_size(node, form);
	sim_json_number(node, "radius", 1e-6, 1e6, &form->radius);
	sim_json_number(node, "length", 1e-6, 1e6, &form->length);
	sim_json_number(node, "hem_radius", 1e-6, 1e6, &form->hem_radius);
	sim_read_int32(node, "folds", 0, 10000, &form->folds);
	sim_json_number(node, "fold_depth", 0, 1e6, &form->fold_depth);
	read_divisions(node, form);
	sim_read_int32(node, "count", 1, 1000000, &form->count);
	sim_json_bits(node, "seed", &form->seed);
	if (form->kind == SIM_FORM_CAPSULE && form->length < 2 * form->radius)
		sim_json_member_error(node, "length", "holds the round ends too: at least twice the radius");
}

static void read_mesh_name(const sim_json_node *node, const sim_soft_scene *scene, sim_soft_source *source)
{
	static const char *const fields[] = { "size", "radius", "length", "hem_radius", "divisions", "count", "folds", "fold_depth",
		"seed" };
	char name[SIM_NAME_SIZE] = "";
	const char *names[65] = { NULL };
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (sim_json_has(node, fields[i]))
			sim_json_member_error(node, fields[i], "does not belong to a mesh");
	}
	sim_read_name(node, "mesh", name);
	for (int32_t i = 0; i < scene->base.mesh_count; i++) {
		if (!strcmp(scene->base.meshes[i].name, name))
			source->mesh = i;
		if (i < 64)
			names[i] = scene->base.meshes[i].name;
	}
	const char *nearest = sim_nearest_word(name, names);
	if (source->mesh < 0)
		sim_json_member_error(node, "mesh", "there is no mesh \"%s\"%s%s%s", name, nearest ? "; did you mean \"" : "",
			nearest ? nearest : "", nearest ? "\"?" : "");
	else if (scene->base.meshes[source->mesh].kind == SIM_MESH_HEIGHT_FIELD)
		sim_json_member_error(node, "mesh", "a height field cannot be used here");
}

static void read_surface(const sim_json_node *node, const sim_soft_scene *scene, sim_soft_source *source)
{
	source->mesh = -1;
	source->scale[0] = source->scale[1] = source->scale[2] = 1;
	if (sim_json_has(node, "form") == sim_json_has(node, "mesh")) {
		sim_json_error(node, "needs one of \"form\" and \"mesh\"");
		return;
	}
	if (sim_json_has(node, "form"))
		read_form(node, source);
	else
		read_mesh_name(node, scene, source);
	sim_json_numbers(node, "scale", 3, 1e-6, 1e6, source->scale);
	read_vector(node, "offset", SIM_FARTHEST, source->offset);
}

// ---- Rigid bodies ----

static void read_axis(const sim_json_node *node, double axis[3])
{
	axis[1] = 1;
	read_vector(node, "axis", 1e6, axis);
	if (sim_length3(axis) < 1e-9)
		sim_json_member_error(node, "axis", "must not be zero");
}

static void read_swing(const sim_json_node *motion_node, sim_soft_motion *motion)
{
	static const char *const fields[] = { "axis", "degrees", "shift", "period", "phase_degrees", NULL };
	sim_json_node node;
	double degrees = 0, phase = 0;
	if (!sim_json_member(motion_node, "swing", &node) || !sim_json_fields(&node, fields))
		return;
	read_axis(&node, motion->swing_axis);
	sim_json_number(&node, "degrees", 0, 3600, &degrees);
	read_vector(&node, "shift", 1e6, motion->shift);
	motion->period = 1;
	sim_json_number(&node, "period", 1e-6, 1e6, &motion->period);
	sim_json_number(&node, "phase_degrees", -3600, 3600, &phase);
	motion->swing = degrees * SIM_PI / 180;
	motion->phase = phase * SIM_PI / 180;
}

static void read_motion(const sim_json_node *body, sim_soft_motion *motion)
{
	static const char *const fields[] = { "velocity", "spin", "swing", "ramp", NULL };
	static const char *const spin_fields[] = { "axis", "degrees_per_second", NULL };
	sim_json_node node, spin;
	double degrees = 0;
	if (!sim_json_member(body, "motion", &node) || !sim_json_fields(&node, fields))
		return;
	read_vector(&node, "velocity", 1e6, motion->velocity);
	sim_json_number(&node, "ramp", 0, 1e6, &motion->ramp);
	read_swing(&node, motion);
	if (!sim_json_member(&node, "spin", &spin) || !sim_json_fields(&spin, spin_fields))
		return;
	read_axis(&spin, motion->spin_axis);
	sim_json_number(&spin, "degrees_per_second", -1e6, 1e6, &degrees);
	motion->spin = degrees * SIM_PI / 180;
}

// ---- Deforming bodies ----

static void read_pins(const sim_json_node *body, const sim_soft_scene *scene, sim_soft_source *source)
{
	static const char *const fields[] = { "lower", "upper", "to", NULL };
	sim_json_node list;
	if (!sim_json_member(body, "pins", &list))
		return;
	const int count = sim_json_count(&list, true);
	for (int i = 0; i < count && !body->json->failed; i++) {
		const sim_json_node node = sim_json_child(&list, i);
		sim_soft_pin *pin = sim_append(&node, (void **)&source->pins, &source->pin_count, sizeof *pin);
		if (!pin || !sim_json_fields(&node, fields))
			return;
		for (int k = 0; k < 3; k++) {
			pin->lower[k] = -SIM_FARTHEST;
			pin->upper[k] = SIM_FARTHEST;
		}
		read_vector(&node, "lower", SIM_FARTHEST, pin->lower);
		read_vector(&node, "upper", SIM_FARTHEST, pin->upper);
		sim_read_name(&node, "to", pin->to);
		bool found = !pin->to[0];
		for (int32_t k = 0; k < scene->source_count; k++)
			found |= scene->sources[k].rigid && !strcmp(scene->sources[k].name, pin->to);
		if (!found)
			sim_json_member_error(&node, "to", "there is no rigid body \"%s\"", pin->to);
	}
}

static void read_copies(const sim_json_node *body, sim_soft_source *source)
{
	static const char *const fields[] = { "count", "spacing", NULL },
							 *const jitter_fields[] = { "degrees", "shift", "seed", NULL };
	sim_json_node grid, jitter;
	if (sim_json_member(body, "grid", &grid) && sim_json_fields(&grid, fields)) {
		double count[3] = { 1, 1, 1 };
		sim_json_numbers(&grid, "count", 3, 1, 10000, count);
		for (int k = 0; k < 3; k++)
			source->count[k] = (int32_t)count[k];
		for (int k = 0; k < 3; k++) {
			if (count[k] != source->count[k])
				sim_json_member_error(&grid, "count", "must be whole numbers");
		}
		if (count[0] * count[1] * count[2] > 100000)
			sim_json_member_error(&grid, "count", "makes more than 100000 bodies");
		read_vector(&grid, "spacing", 1e6, source->spacing);
	}
	if (sim_json_member(body, "jitter", &jitter) && sim_json_fields(&jitter, jitter_fields)) {
		sim_json_number(&jitter, "degrees", 0, 180, &source->degrees);
		sim_json_number(&jitter, "shift", 0, 1e6, &source->shift);
		sim_json_bits(&jitter, "seed", &source->jitter_seed);
	}
}

static void read_material(const sim_json_node *node, const sim_soft_source *source, sim_soft_body *body)
{
	bool keeps_volume = false;
	sim_json_bool(node, "keeps_volume", &keeps_volume);
	body->kind = keeps_volume ? SIM_SOFT_DEFORMABLE : SIM_SOFT_CLOTH;
	if (keeps_volume && source->mesh < 0 && (source->form.kind < SIM_FORM_SPHERE || source->form.kind > SIM_FORM_CAPSULE))
		sim_json_member_error(node, "keeps_volume", "a %s is not closed", FORM_WORDS[source->form.kind]);
	if (!keeps_volume && sim_json_has(node, "bulk"))
		sim_json_member_error(node, "bulk", "needs \"keeps_volume\"");
	sim_json_number(node, "density", 1e-6, 1e9, &body->density);
	sim_json_number(node, "stiffness", 1e-9, 1e12, &body->stiffness);
	sim_json_number(node, "bending", 0, 1e12, &body->bending);
	sim_json_number(node, "bulk", 1e-9, 1e15, &body->bulk);
	sim_json_bool(node, "flat", &body->flat);
	read_vector(node, "velocity", 1e6, body->velocity);
}

// ---- Lists of bodies ----

#define SURFACE_FIELDS                                                                                                     \
	"name", "form", "mesh", "size", "radius", "length", "hem_radius", "folds", "fold_depth", "divisions", "count", "seed", \
		"scale", "offset", "position", "orientation", "rotation", "friction"

static void read_bodies(const sim_json_node *root, const char *name, bool rigid, sim_soft_scene *scene)
{
	static const char *const rigid_fields[] = { SURFACE_FIELDS, "motion", NULL };
	static const char *const cloth_fields[] = { SURFACE_FIELDS, "keeps_volume", "density", "stiffness", "bending", "bulk",
		"flat", "velocity", "pins", "grid", "jitter", NULL };
	sim_json_node list;
	if (!sim_json_member(root, name, &list))
		return;
	const int count = sim_json_count(&list, true);
	for (int i = 0; i < count && !root->json->failed; i++) {
		const sim_json_node node = sim_json_child(&list, i);
		sim_soft_source *source = sim_append(&node, (void **)&scene->sources, &scene->source_count, sizeof *source);
		if (!source || !sim_json_fields(&node, rigid ? rigid_fields : cloth_fields))
			return;
		*source = (sim_soft_source){ .rigid = rigid,
			.body = sim_default_soft_body(),
			.count = { 1, 1, 1 },
			.spacing = { 1, 1, 1 },
			.jitter_seed = 1,
			.line = sim_json_line(&node),
			.number = i };
		sim_read_name(&node, "name", source->name);
		read_surface(&node, scene, source);
		sim_read_vec3(&node, "position", SIM_FARTHEST, &source->body.motion.start.position);
		sim_read_orientation(&node, &source->body.motion.start.orientation);
		sim_json_number(&node, "friction", 0, 1e6, &source->body.friction);
		if (rigid) {
			source->body.kind = SIM_SOFT_RIGID;
			read_motion(&node, &source->body.motion);
		} else {
			read_material(&node, source, &source->body);
			read_pins(&node, scene, source);
			read_copies(&node, source);
		}
	}
}

// ---- The whole ----

static void set_defaults(sim_soft_scene *scene)
{
	snprintf(scene->base.name, sizeof scene->base.name, "scene");
	scene->base.steps = 120;
	scene->base.camera = sim_default_scene_camera();
	scene->def = sim_default_soft_def();
	scene->resolution = 1;
	scene->frame_interval = 1;
	scene->ground = true;
}

static void read_output(const sim_json_node *root, sim_soft_scene *scene)
{
	static const char *const fields[] = { "frames", "format", "ground", NULL }, *const formats[] = { "ply", "obj", NULL };
	sim_json_node node;
	int format = 0;
	if (!sim_json_member(root, "output", &node) || !sim_json_fields(&node, fields))
		return;
	sim_json_integer(&node, "frames", 0, 1000000000, &scene->frame_interval);
	sim_json_choice(&node, "format", formats, &format);
	sim_json_bool(&node, "ground", &scene->ground);
	scene->frames_as_obj = format == 1;
}

static void read_solver(const sim_json_node *root, sim_soft_def *def)
{
	static const char *const fields[] = { "substeps", "solves", "rounds", "damping", NULL };
	sim_json_node node;
	if (!sim_json_member(root, "solver", &node) || !sim_json_fields(&node, fields))
		return;
	sim_read_int32(&node, "substeps", 1, 10000, &def->substeps);
	sim_read_int32(&node, "solves", 1, 100, &def->solves);
	sim_read_int32(&node, "rounds", 0, 1000, &def->rounds);
	sim_json_number(&node, "damping", 0, 1e6, &def->damping);
}

static void read_scene(const sim_json_node *root, sim_soft_scene *scene)
{
	static const char *const fields[] = { "name", "description", "gravity", "time_step", "steps", "resolution", "thickness",
		"solver", "output", "camera", "meshes", "rigid", "cloth", NULL };
	char *description = NULL;
	if (!sim_json_fields(root, fields))
		return;
	sim_read_name(root, "name", scene->base.name);
	sim_json_string(root, "description", &description); // for readers of the file only
	free(description);
	read_vector(root, "gravity", 1e6, scene->def.gravity);
	sim_json_number(root, "time_step", 1e-6, 1, &scene->def.time_step);
	scene->base.time_step = scene->def.time_step;
	sim_json_integer(root, "steps", 1, 1000000000, &scene->base.steps);
	sim_json_number(root, "resolution", 1e-3, 1e3, &scene->resolution);
	sim_json_number(root, "thickness", 1e-6, 1, &scene->def.thickness);
	read_solver(root, &scene->def);
	read_output(root, scene);
	sim_read_camera(root, &scene->base.camera);
	sim_read_meshes(root, &scene->base);
	read_bodies(root, "rigid", true, scene);
	const int32_t rigid = scene->source_count;
	read_bodies(root, "cloth", false, scene);
	if (!root->json->failed && scene->source_count == rigid)
		sim_json_member_error(root, "cloth", "holds no bodies");
}

bool sim_is_soft_scene(const char *text, size_t size)
{
	cJSON *root = cJSON_ParseWithLength(text, size);
	// "rigid" is a field of no other kind: who forgot "cloth" is told so.
	const bool found =
		root && (cJSON_GetObjectItemCaseSensitive(root, "cloth") || cJSON_GetObjectItemCaseSensitive(root, "rigid"));
	cJSON_Delete(root);
	return found;
}

bool sim_parse_soft_scene(const char *file, const char *text, size_t size, sim_soft_scene *scene, sim_error *error)
{
	sim_json json;
	sim_json_node root;
	*scene = (sim_soft_scene){ .base = { .file = strdup(file), .text = malloc(size + 1), .text_size = size } };
	if (!scene->base.file || !scene->base.text) {
		sim_fail(error, "%s: out of memory", file);
		sim_destroy_soft_scene(scene);
		return false;
	}
	memcpy(scene->base.text, text, size);
	scene->base.text[size] = 0;
	set_defaults(scene);
	bool done = sim_json_parse(scene->base.file, text, size, error, &json, &root);
	if (done) {
		read_scene(&root, scene);
		done = !json.failed;
	}
	sim_json_close(&json);
	if (!done)
		sim_destroy_soft_scene(scene);
	return done;
}

void sim_destroy_soft_scene(sim_soft_scene *scene)
{
	for (int32_t i = 0; i < scene->source_count; i++)
		free(scene->sources[i].pins);
	free(scene->sources);
	sim_destroy_scene(&scene->base);
	*scene = (sim_soft_scene){ 0 };
}
