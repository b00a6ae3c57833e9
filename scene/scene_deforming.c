// The section "deforming" of a scene file: cloth and soft bodies, and the movers that push them.
#include "sim/base/rotations.h"
#include "scene/scene_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_vector(const io_json_node *object, const char *name, double most, double v[3])
{
	io_json_numbers(object, name, 3, -most, most, v);
}

// ---- Forms ----

enum { SIZE = 1, RADIUS = 2, LENGTH = 4, HEM = 8, DIVISIONS = 16, COUNT = 32, POINTS = 64 };

static const char *const FORM_WORDS[] = { "sheet", "skirt", "sphere", "cone", "capsule", "rope", "bowl", "triangles", NULL };
// In the order of sim_form_kind: which fields a form has.
static const int FORM_FIELDS[] = { SIZE | DIVISIONS, RADIUS | LENGTH | HEM | DIVISIONS, RADIUS | DIVISIONS,
	RADIUS | LENGTH | DIVISIONS, RADIUS | LENGTH | DIVISIONS, RADIUS | POINTS | DIVISIONS, RADIUS | LENGTH | DIVISIONS,
	SIZE | RADIUS | COUNT };

/// A field that the form needs is there, one that it does not know is not.
static void check_form_fields(const io_json_node *node, sim_form_kind kind)
{
	static const struct {
		const char *name;
		int bit;
	} fields[] = { { "size", SIZE }, { "radius", RADIUS }, { "length", LENGTH }, { "hem_radius", HEM },
		{ "divisions", DIVISIONS }, { "count", COUNT }, { "points", POINTS } };
	static const char *const optional[] = { "folds", "fold_depth" };
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const bool given = io_json_has(node, fields[i].name), wanted = FORM_FIELDS[kind] & fields[i].bit;
		if (wanted && !given)
			io_json_member_error(node, fields[i].name, "is missing: a %s needs it", FORM_WORDS[kind]);
		else if (given && !wanted)
			io_json_member_error(node, fields[i].name, "does not belong to a %s", FORM_WORDS[kind]);
	}
	for (int i = 0; i < 2; i++) {
		if (io_json_has(node, optional[i]) && kind != SIM_FORM_SKIRT)
			io_json_member_error(node, optional[i], "does not belong to a %s", FORM_WORDS[kind]);
	}
	if (io_json_has(node, "seed") && kind != SIM_FORM_TRIANGLES)
		io_json_member_error(node, "seed", "does not belong to a %s", FORM_WORDS[kind]);
}

/// A sheet's size is two numbers, a box's three.
static void read_size(const io_json_node *node, sim_form *form)
{
	if (form->kind != SIM_FORM_SHEET) {
		io_json_numbers(node, "size", 3, 1e-6, 1e6, form->size);
		return;
	}
	double size[2] = { 1, 1 };
	io_json_numbers(node, "size", 2, 1e-6, 1e6, size);
	form->size[0] = size[0];
	form->size[2] = size[1];
}

static void read_divisions(const io_json_node *node, sim_form *form)
{
	double divisions[2] = { 1, 1 };
	io_json_numbers(node, "divisions", 2, 1, 10000, divisions);
	for (int i = 0; i < 2; i++) {
		form->divisions[i] = (int32_t)divisions[i];
		if (divisions[i] != floor(divisions[i]))
			io_json_member_error(node, "divisions", "must be whole numbers");
	}
}

/// The points of a rope, three numbers each.
static void read_points(const io_json_node *node, scene_soft_source *source)
{
	io_json_node list;
	if (!io_json_member(node, "points", &list))
		return;
	const int count = io_json_count(&list, true);
	if (count < 6 || count > 30000 || count % 3 != 0) {
		io_json_error(&list, "must be three numbers for each of 2 to 10000 points");
		return;
	}
	double *points = malloc((size_t)count * sizeof *points);
	source->points = points;
	if (!points) {
		io_json_error(&list, "out of memory");
		return;
	}
	if (!io_json_numbers(node, "points", count, -SCENE_FARTHEST, SCENE_FARTHEST, points))
		return;
	for (int i = 3; i < count; i += 3) {
		const double way[3] = { points[i] - points[i - 3], points[i + 1] - points[i - 2], points[i + 2] - points[i - 1] };
		if (sim_length3(way) < 1e-6)
			io_json_error(&list, "points %d and %d are nearer than 1e-6 m", i / 3 - 1, i / 3);
	}
	source->form.points = points;
	source->form.point_count = count / 3;
}

static void read_form(const io_json_node *node, scene_soft_source *source)
{
	sim_form *form = &source->form;
	int kind = 0;
	io_json_choice(node, "form", FORM_WORDS, &kind);
	*form = (sim_form){ .kind = (sim_form_kind)kind, .seed = 1 };
	check_form_fields(node, form->kind);
	read_size(node, form);
	io_json_number(node, "radius", 1e-6, 1e6, &form->radius);
	io_json_number(node, "length", 1e-6, 1e6, &form->length);
	io_json_number(node, "hem_radius", 1e-6, 1e6, &form->hem_radius);
	scene_read_int32(node, "folds", 0, 10000, &form->folds);
	io_json_number(node, "fold_depth", 0, 1e6, &form->fold_depth);
	read_divisions(node, form);
	read_points(node, source);
	scene_read_int32(node, "count", 1, 1000000, &form->count);
	io_json_bits(node, "seed", &form->seed);
	if (form->kind == SIM_FORM_CAPSULE && form->length < 2 * form->radius)
		io_json_member_error(node, "length", "holds the round ends too: at least twice the radius");
}

static void refuse_form_fields(const io_json_node *node, const char *surface)
{
	static const char *const fields[] = { "size", "radius", "length", "hem_radius", "divisions", "count", "points", "folds",
		"fold_depth", "seed" };
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (io_json_has(node, fields[i]))
			io_json_member_error(node, fields[i], "does not belong to %s", surface);
	}
}

static void read_named_mesh(const io_json_node *node, const scene_description *scene, scene_soft_source *source)
{
	io_json_node name;
	refuse_form_fields(node, "a mesh");
	io_json_member(node, "mesh", &name);
	source->mesh = scene_find_mesh(&name, scene);
	if (source->mesh >= 0 && scene->meshes[source->mesh].kind == SCENE_MESH_HEIGHT_FIELD)
		io_json_error(&name, "a height field cannot be used here");
}

static void read_surface(const io_json_node *node, const scene_description *scene, scene_soft_source *source)
{
	source->mesh = -1;
	source->scale[0] = source->scale[1] = source->scale[2] = 1;
	if (io_json_has(node, "form") + io_json_has(node, "mesh") + io_json_has(node, "animation") != 1) {
		io_json_error(node, "needs one of \"form\" and \"mesh\"%s", source->rigid ? ", or \"animation\"" : "");
		return;
	}
	if (io_json_has(node, "animation")) {
		refuse_form_fields(node, "an animation");
		scene_read_animation(node, scene, &source->animation);
	} else if (io_json_has(node, "form"))
		read_form(node, source);
	else
		read_named_mesh(node, scene, source);
	io_json_numbers(node, "scale", 3, 1e-6, 1e6, source->scale);
	read_vector(node, "offset", SCENE_FARTHEST, source->offset);
}

// ---- Movers ----

static void read_axis(const io_json_node *node, double axis[3])
{
	axis[1] = 1;
	read_vector(node, "axis", 1e6, axis);
	if (sim_length3(axis) < 1e-9)
		io_json_member_error(node, "axis", "must not be zero");
}

static void read_swing(const io_json_node *motion_node, sim_soft_motion *motion)
{
	static const char *const fields[] = { "axis", "degrees", "shift", "period", "phase_degrees", NULL };
	io_json_node node;
	double degrees = 0, phase = 0;
	if (!io_json_member(motion_node, "swing", &node) || !io_json_fields(&node, fields))
		return;
	read_axis(&node, motion->swing_axis);
	io_json_number(&node, "degrees", 0, 3600, &degrees);
	read_vector(&node, "shift", 1e6, motion->shift);
	motion->period = 1;
	io_json_number(&node, "period", 1e-6, 1e6, &motion->period);
	io_json_number(&node, "phase_degrees", -3600, 3600, &phase);
	motion->swing = degrees * SIM_PI / 180;
	motion->phase = phase * SIM_PI / 180;
}

static void read_motion(const io_json_node *body, sim_soft_motion *motion)
{
	static const char *const fields[] = { "velocity", "spin", "swing", "ramp", "from", "until", NULL };
	static const char *const spin_fields[] = { "axis", "degrees_per_second", NULL };
	io_json_node node, spin;
	double degrees = 0;
	if (!io_json_member(body, "motion", &node) || !io_json_fields(&node, fields))
		return;
	read_vector(&node, "velocity", 1e6, motion->velocity);
	io_json_number(&node, "ramp", 0, 1e6, &motion->ramp);
	io_json_number(&node, "from", 0, 1e6, &motion->from);
	io_json_number(&node, "until", 0, 1e6, &motion->until);
	if (io_json_has(&node, "until") && !(motion->until > motion->from))
		io_json_member_error(&node, "until", "must be above \"from\"");
	read_swing(&node, motion);
	if (!io_json_member(&node, "spin", &spin) || !io_json_fields(&spin, spin_fields))
		return;
	read_axis(&spin, motion->spin_axis);
	io_json_number(&spin, "degrees_per_second", -1e6, 1e6, &degrees);
	motion->spin = degrees * SIM_PI / 180;
}

// ---- Deforming bodies ----

/// Is there a body of this name for vertices to go with?
static bool has_holder(const io_json_node *node, const scene_description *scene, const char *name)
{
	const scene_deforming *deforming = &scene->deforming;
	for (int32_t k = 0; k < deforming->source_count; k++) {
		if (deforming->sources[k].rigid && !strcmp(deforming->sources[k].name, name))
			return true;
	}
	for (int32_t k = 0; k < deforming->obstacle_count; k++) {
		const scene_body *obstacle = &scene->rigid.bodies[deforming->obstacles[k]];
		if (strcmp(obstacle->name, name) != 0)
			continue;
		if (deforming->two_way && obstacle->kind == CAROM_DYNAMIC)
			return io_json_member_error(node, "to", "\"%s\" is pushed by what deforms (\"two_way\"): it can hold nothing", name);
		return true;
	}
	return io_json_member_error(node, "to", "there is no mover or obstacle \"%s\"", name);
}

/// A field by which cloth or its pins break. What pulls shows as stretch, so nothing limits that.
static void allow_breaking(const io_json_node *body, const io_json_node *node, const char *field, scene_soft_source *source)
{
	if (source->body.kind != SIM_SOFT_CLOTH)
		io_json_member_error(node, field, "is for cloth, not for a body that keeps its volume");
	else if (io_json_has(body, "stretch_limit") && source->body.stretch_limit > 0)
		io_json_member_error(node, field, "needs a \"stretch_limit\" of 0: cloth that may not stretch shows no force");
	source->body.stretch_limit = 0;
}

static void read_pins(const io_json_node *body, const scene_description *scene, scene_soft_source *source)
{
	static const char *const fields[] = { "lower", "upper", "to", "until", "break_force", NULL };
	io_json_node list;
	if (!io_json_member(body, "pins", &list))
		return;
	const int count = io_json_count(&list, true);
	for (int i = 0; i < count && !body->json->failed; i++) {
		const io_json_node node = io_json_child(&list, i);
		scene_soft_pin *pin = scene_append(&node, (void **)&source->pins, &source->pin_count, sizeof *pin);
		if (!pin || !io_json_fields(&node, fields))
			return;
		for (int k = 0; k < 3; k++) {
			pin->lower[k] = -SCENE_FARTHEST;
			pin->upper[k] = SCENE_FARTHEST;
		}
		read_vector(&node, "lower", SCENE_FARTHEST, pin->lower);
		read_vector(&node, "upper", SCENE_FARTHEST, pin->upper);
		pin->until = INFINITY;
		io_json_number(&node, "until", 0, 1e6, &pin->until);
		pin->break_force = INFINITY;
		io_json_number(&node, "break_force", 1e-9, 1e12, &pin->break_force);
		if (pin->break_force < INFINITY)
			allow_breaking(body, &node, "break_force", source);
		scene_read_name(&node, "to", pin->to);
		if (pin->to[0])
			has_holder(&node, scene, pin->to);
	}
}

static void read_copies(const io_json_node *body, scene_soft_source *source)
{
	static const char *const fields[] = { "count", "spacing", NULL },
							 *const jitter_fields[] = { "degrees", "shift", "seed", NULL };
	io_json_node grid, jitter;
	if (io_json_member(body, "grid", &grid) && io_json_fields(&grid, fields)) {
		double count[3] = { 1, 1, 1 };
		io_json_numbers(&grid, "count", 3, 1, 10000, count);
		for (int k = 0; k < 3; k++)
			source->count[k] = (int32_t)count[k];
		for (int k = 0; k < 3; k++) {
			if (count[k] != source->count[k])
				io_json_member_error(&grid, "count", "must be whole numbers");
		}
		if (count[0] * count[1] * count[2] > 100000)
			io_json_member_error(&grid, "count", "makes more than 100000 bodies");
		read_vector(&grid, "spacing", 1e6, source->spacing);
	}
	if (io_json_member(body, "jitter", &jitter) && io_json_fields(&jitter, jitter_fields)) {
		io_json_number(&jitter, "degrees", 0, 180, &source->degrees);
		io_json_number(&jitter, "shift", 0, 1e6, &source->shift);
		io_json_bits(&jitter, "seed", &source->jitter_seed);
	}
}

/// A field that says that a body is closed.
static bool read_closed(const io_json_node *node, const char *field, const scene_soft_source *source)
{
	bool is = false;
	io_json_bool(node, field, &is);
	if (is && source->mesh < 0 && (source->form.kind < SIM_FORM_SPHERE || source->form.kind > SIM_FORM_ROPE))
		io_json_member_error(node, field, "a %s is not closed", FORM_WORDS[source->form.kind]);
	return is;
}

/// A rigid body with mass has no field of deforming bodies.
static void read_rigid(const io_json_node *node, sim_soft_body *body)
{
	static const char *const others[] = { "keeps_volume", "density", "stiffness", "stretch_limit", "tear_stretch", "bending",
		"bulk", "shear", "flat", "pins" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (io_json_has(node, others[i]))
			io_json_member_error(node, others[i], "a rigid body has none");
	}
	body->kind = SIM_SOFT_SOLID;
	if (!io_json_has(node, "mass"))
		io_json_member_error(node, "mass", "a rigid body needs one");
	io_json_number(node, "mass", 1e-12, 1e12, &body->mass);
	read_vector(node, "velocity", 1e6, body->velocity);
}

static void read_material(const io_json_node *node, const scene_soft_source *source, sim_soft_body *body)
{
	if (read_closed(node, "rigid", source)) {
		read_rigid(node, body);
		return;
	}
	if (io_json_has(node, "mass"))
		io_json_member_error(node, "mass", "needs \"rigid\"");
	const bool keeps_volume = read_closed(node, "keeps_volume", source);
	body->kind = keeps_volume ? SIM_SOFT_DEFORMABLE : SIM_SOFT_CLOTH;
	if (!keeps_volume && io_json_has(node, "bulk"))
		io_json_member_error(node, "bulk", "needs \"keeps_volume\"");
	if (!keeps_volume && io_json_has(node, "shear"))
		io_json_member_error(node, "shear", "needs \"keeps_volume\"");
	io_json_number(node, "density", 1e-6, 1e9, &body->density);
	io_json_number(node, "stiffness", 1e-9, 1e12, &body->stiffness);
	// What keeps its volume becomes longer where it is pressed.
	body->stretch_limit = keeps_volume ? 0 : body->stretch_limit;
	io_json_number(node, "stretch_limit", 0, 1e6, &body->stretch_limit);
	io_json_number(node, "bending", 0, 1e12, &body->bending);
	io_json_number(node, "bulk", 1e-9, 1e15, &body->bulk);
	io_json_number(node, "shear", 0, 1e15, &body->shear);
	io_json_number(node, "tear_stretch", 1e-6, 1e6, &body->tear_stretch);
	io_json_bool(node, "flat", &body->flat);
	read_vector(node, "velocity", 1e6, body->velocity);
}

// ---- Lists of bodies ----

#define SURFACE_FIELDS                                                                                                       \
	"name", "form", "mesh", "size", "radius", "length", "hem_radius", "folds", "fold_depth", "divisions", "count", "points", \
		"seed", "scale", "offset", "position", "orientation", "rotation", "friction"

static void read_bodies(const io_json_node *section, const char *name, bool rigid, scene_description *scene)
{
	static const char *const mover_fields[] = { SURFACE_FIELDS, "motion", "keys", "animation", "pushes_bodies", NULL };
	static const char *const list_fields[] = { SURFACE_FIELDS, "rigid", "mass", "keeps_volume", "density", "stiffness",
		"stretch_limit", "tear_stretch", "bending", "bulk", "shear", "flat", "velocity", "pins", "grid", "jitter", NULL };
	io_json_node list;
	if (!io_json_member(section, name, &list))
		return;
	const int count = io_json_count(&list, true);
	for (int i = 0; i < count && !section->json->failed; i++) {
		const io_json_node node = io_json_child(&list, i);
		scene_soft_source *source =
			scene_append(&node, (void **)&scene->deforming.sources, &scene->deforming.source_count, sizeof *source);
		if (!source || !io_json_fields(&node, rigid ? mover_fields : list_fields))
			return;
		*source = (scene_soft_source){ .rigid = rigid,
			.body = sim_default_soft_body(),
			.count = { 1, 1, 1 },
			.spacing = { 1, 1, 1 },
			.jitter_seed = 1,
			.line = io_json_line(&node),
			.number = i };
		scene_read_name(&node, "name", source->name);
		read_surface(&node, scene, source);
		scene_read_vec3(&node, "position", SCENE_FARTHEST, &source->body.motion.start.position);
		scene_read_orientation(&node, &source->body.motion.start.orientation);
		io_json_number(&node, "friction", 0, 1e6, &source->body.friction);
		if (rigid) {
			source->body.kind = SIM_SOFT_RIGID;
			read_motion(&node, &source->body.motion);
			source->keys = scene_read_keys(&node, &source->body.motion.keys);
			io_json_bool(&node, "pushes_bodies", &source->pushes_bodies);
			if (source->pushes_bodies && !scene->has_bodies)
				io_json_member_error(&node, "pushes_bodies", "needs the section \"bodies\"");
		} else {
			read_material(&node, source, &source->body);
			if (io_json_has(&node, "tear_stretch"))
				allow_breaking(&node, &node, "tear_stretch", source);
			read_pins(&node, scene, source);
			read_copies(&node, source);
		}
	}
}

// ---- Obstacles ----

/// The reason why a rigid body cannot push deforming bodies; NULL: it can.
static const char *fault_of_obstacle(const scene_description *scene, const scene_body *body)
{
	(void)scene;
	return body->first_step > 0 ? "is of a source: it must be there from the beginning" : NULL;
}

// ---- The section ----

void scene_set_deforming_defaults(scene_deforming *deforming)
{
	deforming->substeps = 1;
	deforming->def = sim_default_soft_def();
	deforming->resolution = 1;
}

static void read_solver(const io_json_node *section, sim_soft_def *def)
{
	static const char *const fields[] = { "substeps", "solves", "rounds", "damping", "lead_apart", NULL };
	io_json_node node;
	if (!io_json_member(section, "solver", &node) || !io_json_fields(&node, fields))
		return;
	scene_read_int32(&node, "substeps", 1, 10000, &def->substeps);
	scene_read_int32(&node, "solves", 1, 100, &def->solves);
	scene_read_int32(&node, "rounds", 0, 1000, &def->rounds);
	io_json_number(&node, "damping", 0, 1e6, &def->damping);
	io_json_bool(&node, "lead_apart", &def->lead_apart);
}

static void read_wind(const io_json_node *section, sim_soft_wind *wind)
{
	static const char *const fields[] = { "velocity", "air_density", "drag", "lift", "gusts", NULL };
	static const char *const gust_fields[] = { "strength", "period", "seed", NULL };
	io_json_node node, gusts;
	if (!io_json_member(section, "wind", &node) || !io_json_fields(&node, fields))
		return;
	*wind = (sim_soft_wind){ .density = 1.2, .drag = 1, .lift = 1, .seed = 1 };
	read_vector(&node, "velocity", 1e4, wind->velocity);
	io_json_number(&node, "air_density", 0, 1e6, &wind->density);
	io_json_number(&node, "drag", 0, 1e3, &wind->drag);
	io_json_number(&node, "lift", 0, 1e3, &wind->lift);
	if (!io_json_member(&node, "gusts", &gusts) || !io_json_fields(&gusts, gust_fields))
		return;
	wind->gusts = 0.5;
	wind->period = 1;
	io_json_number(&gusts, "strength", 0, 10, &wind->gusts);
	io_json_number(&gusts, "period", 1e-6, 1e6, &wind->period);
	io_json_bits(&gusts, "seed", &wind->seed);
}

void scene_read_deforming_section(const io_json_node *section, scene_description *scene)
{
	static const char *const fields[] = { "substeps", "resolution", "thickness", "solver", "wind", "movers", "obstacles",
		"two_way", "list", NULL };
	scene_deforming *deforming = &scene->deforming;
	sim_soft_def *def = &deforming->def;
	if (!io_json_fields(section, fields))
		return;
	scene_read_int32(section, "substeps", 1, 1000, &deforming->substeps);
	def->time_step = scene->time_step / deforming->substeps;
	def->gravity[0] = scene->gravity.x;
	def->gravity[1] = scene->gravity.y;
	def->gravity[2] = scene->gravity.z;
	io_json_number(section, "resolution", 1e-3, 1e3, &deforming->resolution);
	io_json_number(section, "thickness", 1e-6, 1, &def->thickness);
	read_solver(section, def);
	read_wind(section, &def->wind);
	read_bodies(section, "movers", true, scene);
	const int32_t movers = deforming->source_count;
	scene_read_obstacles(section, scene, fault_of_obstacle,
		(scene_obstacle_list){ &deforming->obstacles, &deforming->obstacle_count, &deforming->two_way });
	read_bodies(section, "list", false, scene);
	if (!section->json->failed && deforming->source_count == movers)
		io_json_member_error(section, "list", "holds no bodies");
}
