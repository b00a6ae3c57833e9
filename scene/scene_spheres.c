// The section "spheres" of a scene file.
#include "scene/grain_sizes.h"
#include "scene/scene_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const AXIS_WORDS[] = { "x", "y", "z", NULL };
const char *const scene_face_words[] = { "low_x", "high_x", "low_y", "high_y", "low_z", "high_z", NULL };

static bool is_zero(const double v[3]) { return v[0] == 0 && v[1] == 0 && v[2] == 0; }

static void read_vector(const io_json_node *object, const char *name, double most, double v[3])
{
	io_json_numbers(object, name, 3, -most, most, v);
}

/// One number for each axis, or one for all.
static void read_velocity_spread(const io_json_node *object, double spread[3])
{
	io_json_node node;
	if (!io_json_member(object, "velocity_spread", &node) || !cJSON_IsNumber(node.item)) {
		io_json_numbers(object, "velocity_spread", 3, 0, 1e6, spread);
		return;
	}
	if (io_json_number(object, "velocity_spread", 0, 1e6, &spread[0]))
		spread[1] = spread[2] = spread[0];
}

/// The number of a word that an array holds, or -1 after an error.
static int read_word(const io_json_node *node, const char *const *words)
{
	char list[120] = "";
	for (int i = 0; words[i]; ++i) {
		if (cJSON_IsString(node->item) && !strcmp(node->item->valuestring, words[i]))
			return i;
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s\"%s\"", i ? ", " : "", words[i]);
	}
	io_json_error(node, "must be one of %s", list);
	return -1;
}

/// An array of words: given[i] becomes true for those that it holds.
static void read_words(const io_json_node *list, const char *const *words, bool *given)
{
	const int count = io_json_count(list, true);
	for (int i = 0; i < count && !list->json->failed; ++i) {
		const io_json_node node = io_json_child(list, i);
		const int word = read_word(&node, words);
		if (word >= 0 && given[word])
			io_json_error(&node, "given twice");
		else if (word >= 0)
			given[word] = true;
	}
}

// ---- Surroundings ----

static void read_walls(const io_json_node *box, sim_granular_def *def)
{
	io_json_node walls;
	for (int face = 0; face < 6; ++face)
		def->faces[face] = !def->periodic[face / 2];
	if (!io_json_member(box, "walls", &walls))
		return;
	bool all = false, given[6] = { false };
	if (cJSON_IsBool(walls.item)) {
		io_json_bool(box, "walls", &all);
		for (int face = 0; face < 6; ++face)
			def->faces[face] = all && !def->periodic[face / 2];
		return;
	}
	read_words(&walls, scene_face_words, given);
	for (int face = 0; face < 6; ++face) {
		if (given[face] && def->periodic[face / 2])
			io_json_error(&walls, "\"%s\": space repeats along %s, so there can be no wall", scene_face_words[face],
				AXIS_WORDS[face / 2]);
		def->faces[face] = given[face];
	}
}

static void read_box(const io_json_node *section, sim_granular_def *def)
{
	static const char *const fields[] = { "lower", "upper", "walls", "periodic", NULL };
	io_json_node node, periodic;
	for (int face = 0; face < 6; ++face)
		def->faces[face] = true;
	if (!io_json_member(section, "box", &node) || !io_json_fields(&node, fields))
		return;
	read_vector(&node, "lower", SCENE_FARTHEST, def->lower);
	read_vector(&node, "upper", SCENE_FARTHEST, def->upper);
	for (int k = 0; k < 3; ++k) {
		if (!(def->lower[k] < def->upper[k]))
			io_json_member_error(&node, "upper", "must be above \"lower\" along %s", AXIS_WORDS[k]);
	}
	if (io_json_member(&node, "periodic", &periodic))
		read_words(&periodic, AXIS_WORDS, def->periodic);
	read_walls(&node, def);
}

static void read_moving_walls(const io_json_node *section, sim_granular_def *def)
{
	static const char *const fields[] = { "point", "normal", "velocity", "amplitude", "frequency", "phase_degrees", NULL };
	io_json_node list;
	if (!io_json_member(section, "moving_walls", &list))
		return;
	const int count = io_json_count(&list, true);
	if (count > SIM_GRANULAR_MAX_WALLS)
		io_json_error(&list, "holds %d walls; there may be %d", count, SIM_GRANULAR_MAX_WALLS);
	for (int i = 0; i < count && !section->json->failed; ++i) {
		const io_json_node node = io_json_child(&list, i);
		sim_granular_wall *wall = &def->moving[def->moving_count++];
		double hertz = 0, degrees = 0;
		*wall = (sim_granular_wall){ 0 };
		if (!io_json_fields(&node, fields))
			return;
		for (int k = 0; k < 2; ++k) {
			if (!io_json_has(&node, fields[k]))
				io_json_member_error(&node, fields[k], "is needed");
		}
		read_vector(&node, "point", SCENE_FARTHEST, wall->point);
		read_vector(&node, "normal", 1e6, wall->normal);
		read_vector(&node, "velocity", 1e6, wall->velocity);
		read_vector(&node, "amplitude", 1e6, wall->amplitude);
		io_json_number(&node, "frequency", 0, 1e6, &hertz);
		io_json_number(&node, "phase_degrees", -3600, 3600, &degrees);
		if (is_zero(wall->normal))
			io_json_member_error(&node, "normal", "must not be zero");
		wall->frequency = 2 * 3.14159265358979323846 * hertz;
		wall->phase = degrees * 3.14159265358979323846 / 180;
	}
}

// ---- Contact laws ----

#define LAW_FIELDS                                                                                                  \
	"normal", "stiffness", "stiffness_radius", "young", "poisson", "restitution", "tangential", "tangential_ratio", \
		"friction", "rolling_friction"

/// Fields that the chosen normal force does not use are mistakes.
static void check_law(const io_json_node *node, const sim_granular_law *law)
{
	static const char *const linear[] = { "stiffness", "stiffness_radius", "tangential_ratio", NULL };
	static const char *const hertz[] = { "young", "poisson", NULL };
	const bool is_linear = law->normal == SIM_GRANULAR_LINEAR;
	const char *const *unused = is_linear ? hertz : linear;
	for (int i = 0; unused[i]; ++i) {
		if (io_json_has(node, unused[i]))
			io_json_member_error(node, unused[i], "is for \"normal\": \"%s\"", is_linear ? "hertz" : "linear");
	}
	static const char *const across[] = { "friction", "rolling_friction", NULL };
	for (int i = 0; across[i] && law->tangential == SIM_GRANULAR_SMOOTH; i++) {
		if (io_json_has(node, across[i]))
			io_json_member_error(node, across[i], "needs \"tangential\": \"%s\"", is_linear ? "spring" : "mindlin");
	}
	if (law->tangential == (is_linear ? SIM_GRANULAR_MINDLIN : SIM_GRANULAR_SPRING))
		io_json_member_error(node, "tangential", "\"spring\" goes with \"linear\", \"mindlin\" with \"hertz\"");
}

static void read_law(const io_json_node *node, sim_granular_law *law)
{
	static const char *const normals[] = { "linear", "hertz", NULL };
	static const char *const tangentials[] = { "smooth", "spring", "mindlin", NULL };
	int normal = (int)law->normal, tangential = (int)law->tangential;
	io_json_choice(node, "normal", normals, &normal);
	io_json_choice(node, "tangential", tangentials, &tangential);
	law->normal = (sim_granular_normal)normal;
	law->tangential = (sim_granular_tangential)tangential;
	io_json_number(node, "stiffness", 1e-9, 1e15, &law->stiffness);
	io_json_number(node, "stiffness_radius", 0, 1e6, &law->stiffness_radius);
	io_json_number(node, "young", 1e-3, 1e15, &law->young);
	io_json_number(node, "poisson", -0.99, 0.5, &law->poisson);
	io_json_number(node, "restitution", 0, 1, &law->restitution);
	io_json_number(node, "tangential_ratio", 1e-6, 1e3, &law->tangential_ratio);
	io_json_number(node, "friction", 0, 1e6, &law->friction);
	io_json_number(node, "rolling_friction", 0, 1e6, &law->rolling_friction);
	check_law(node, law);
}

static void read_material(const io_json_node *section, sim_granular_def *def)
{
	static const char *const fields[] = { "density", LAW_FIELDS, NULL };
	static const char *const wall_fields[] = { LAW_FIELDS, NULL };
	io_json_node node;
	if (io_json_member(section, "material", &node) && io_json_fields(&node, fields)) {
		io_json_positive(&node, "density", &def->density);
		read_law(&node, &def->spheres);
	}
	def->walls = def->spheres; // unless the file says otherwise
	if (io_json_member(section, "wall_material", &node) && io_json_fields(&node, wall_fields))
		read_law(&node, &def->walls);
}

static void read_stability(const io_json_node *section, sim_granular_def *def)
{
	static const char *const fields[] = { "check", "contacts", "overlap", NULL };
	static const char *const checks[] = { "refuse", "report", NULL };
	io_json_node node;
	int check = (int)def->stability;
	if (!io_json_member(section, "stability", &node) || !io_json_fields(&node, fields))
		return;
	io_json_choice(&node, "check", checks, &check);
	def->stability = (sim_granular_stability)check;
	io_json_number(&node, "contacts", 1, 1000, &def->stability_contacts);
	io_json_number(&node, "overlap", 1e-6, 2, &def->stability_overlap);
}

// ---- Detection ----

static void read_detection(const io_json_node *section, sim_granular_def *def)
{
	static const char *const fields[] = { "method", "skin", NULL };
	static const char *const methods[] = { "auto", "grid", "levels", "tree", "rays", NULL };
	io_json_node node, skin;
	int method = (int)def->method;
	if (!io_json_member(section, "detection", &node) || !io_json_fields(&node, fields))
		return;
	io_json_choice(&node, "method", methods, &method);
	def->method = (carom_sphere_method)method;
	if (!io_json_member(&node, "skin", &skin))
		return;
	static const char *const automatic[] = { "auto", NULL };
	if (cJSON_IsString(skin.item))
		read_word(&skin, automatic);
	else
		io_json_number(&node, "skin", 0, 1e6, &def->skin);
}

// ---- Spheres ----

static void forbid(const io_json_node *node, const char *kind, const char *const *names)
{
	for (int i = 0; names[i]; ++i)
		scene_forbid_both(node, kind, names[i]);
}

/// A radius of a list, and its share.
static void read_share(const io_json_node *pair, scene_sphere_source *source)
{
	scene_grain_sizes *s = &source->sizes;
	double *radius = &s->radii[s->count], *share = &s->shares[s->count];
	if (io_json_count(pair, true) != 2) {
		io_json_error(pair, "must be a radius and its share");
		return;
	}
	const io_json_node nodes[2] = { io_json_child(pair, 0), io_json_child(pair, 1) };
	for (int i = 0; i < 2; i++) {
		const double value = cJSON_IsNumber(nodes[i].item) ? nodes[i].item->valuedouble : 0;
		if (!(value > 1e-12 && value <= 1e6))
			io_json_error(&nodes[i], "must be a number above 0 and at most 1e6");
		*(i == 0 ? radius : share) = value;
	}
	source->radius[0] = s->count == 0 || *radius < source->radius[0] ? *radius : source->radius[0];
	source->radius[1] = s->count == 0 || *radius > source->radius[1] ? *radius : source->radius[1];
	s->count++;
}

static void read_size_list(const io_json_node *node, scene_sphere_source *source)
{
	static const char *const ways[] = { "number", "mass", NULL };
	io_json_node list;
	int by = 0;
	const int count = io_json_member(node, "list", &list) ? io_json_count(&list, true) : 0;
	source->sizes.kind = SCENE_SIZES_LIST;
	io_json_choice(node, "by", ways, &by);
	source->sizes.by_mass = by == 1;
	if (count < 1 || count > SCENE_MOST_SIZES)
		io_json_error(&list, "holds %d sizes; there must be 1 to %d", count, SCENE_MOST_SIZES);
	for (int i = 0; i < count && !node->json->failed; i++) {
		const io_json_node pair = io_json_child(&list, i);
		read_share(&pair, source);
	}
}

/// A normal or lognormal distribution with its cut-offs.
static void read_spread(const io_json_node *node, const char *name, scene_sphere_source *source)
{
	static const char *const needed[] = { "deviation", "least", "most", NULL };
	scene_grain_sizes *s = &source->sizes;
	s->kind = strcmp(name, "normal") == 0 ? SCENE_SIZES_NORMAL : SCENE_SIZES_LOGNORMAL;
	for (int i = 0; needed[i]; i++) {
		if (!io_json_has(node, needed[i]))
			io_json_member_error(node, needed[i], "is needed with \"%s\"", name);
	}
	io_json_positive(node, name, &s->middle);
	io_json_number(node, "deviation", 1e-12, s->kind == SCENE_SIZES_LOGNORMAL ? 10 : 1e6, &s->deviation);
	io_json_positive(node, "least", &source->radius[0]);
	io_json_positive(node, "most", &source->radius[1]);
	if (node->json->failed)
		return;
	if (source->radius[0] >= source->radius[1])
		io_json_member_error(node, "most", "must be above \"least\"");
	else if (!scene_find_cut_offs(source))
		io_json_error(node, "\"least\" to \"most\" lies more than %d deviations beside \"%s\"", SCENE_MOST_DEVIATIONS, name);
}

static void read_sizes(const io_json_node *node, scene_sphere_source *source)
{
	static const char *const fields[] = { "normal", "lognormal", "deviation", "least", "most", "list", "by", NULL };
	static const char *const of_list[] = { "deviation", "least", "most", NULL };
	static const char *const kinds[] = { "normal", "lognormal", "list", NULL };
	int found = 0;
	if (!io_json_fields(node, fields))
		return;
	for (int i = 0; kinds[i]; i++)
		found += io_json_has(node, kinds[i]);
	if (found != 1) {
		io_json_error(node, "needs one of \"normal\", \"lognormal\" and \"list\"");
		return;
	}
	if (io_json_has(node, "list")) {
		forbid(node, "list", of_list);
		read_size_list(node, source);
		return;
	}
	const char *name = io_json_has(node, "normal") ? "normal" : "lognormal";
	scene_forbid_both(node, name, "by");
	read_spread(node, name, source);
}

/// A distribution, a pair of numbers, or one for both.
static void read_radii(const io_json_node *node, scene_sphere_source *source)
{
	double *radius = source->radius;
	io_json_node member;
	if (!io_json_member(node, "radius", &member)) {
		io_json_member_error(node, "radius", "is needed");
		return;
	}
	if (cJSON_IsObject(member.item)) {
		read_sizes(&member, source);
	} else if (!cJSON_IsArray(member.item)) {
		io_json_positive(node, "radius", &radius[0]);
		radius[1] = radius[0];
	} else if (io_json_numbers(node, "radius", 2, 1e-12, 1e6, radius) && radius[0] > radius[1]) {
		io_json_error(&member, "the first is the least and must not be above the second");
	}
}

static void read_random(const io_json_node *node, const sim_granular_def *def, scene_sphere_source *source)
{
	static const char *const other[] = { "copies", "position", "count", "mix", "jitter", "scale", NULL };
	source->kind = SCENE_SPHERES_RANDOM;
	source->apart = true;
	memcpy(source->lower, def->lower, sizeof source->lower);
	memcpy(source->upper, def->upper, sizeof source->upper);
	forbid(node, "random", other);
	io_json_integer(node, "random", 1, CAROM_MAX_SPHERES, &source->count);
	read_radii(node, source);
	read_vector(node, "lower", SCENE_FARTHEST, source->lower);
	read_vector(node, "upper", SCENE_FARTHEST, source->upper);
	io_json_bool(node, "apart", &source->apart);
	for (int k = 0; k < 3 && !node->json->failed; ++k) {
		if (!(source->upper[k] - source->lower[k] > 2 * source->radius[1]))
			io_json_error(node, "the largest sphere has no room between \"lower\" and \"upper\" along %s", AXIS_WORDS[k]);
	}
}

static void read_file(const io_json_node *node, const scene_description *scene, scene_sphere_source *source)
{
	static const char *const other[] = { "count", "mix", "jitter", "apart", "lower", "upper", "seed", NULL };
	char *path = NULL;
	source->kind = SCENE_SPHERES_FILE;
	source->scale = 1;
	source->radius[1] = -1;
	forbid(node, "file", other);
	if (io_json_string(node, "file", &path) && !(source->file = scene_resolve_path(scene->file, path)))
		io_json_error(node, "out of memory");
	free(path);
	io_json_positive(node, "scale", &source->scale);
	io_json_positive(node, "radius", &source->radius[1]);
}

static void read_mesh(const io_json_node *node, const scene_description *scene, scene_sphere_source *source)
{
	static const char *const other[] = { "apart", "lower", "upper", "scale", NULL };
	io_json_node name;
	source->kind = SCENE_SPHERES_MESH;
	source->jitter = 0.1;
	forbid(node, "mesh", other);
	io_json_member(node, "mesh", &name);
	source->mesh = scene_find_mesh(&name, scene);
	if (source->mesh >= 0 && scene->meshes[source->mesh].kind == SCENE_MESH_HEIGHT_FIELD)
		io_json_error(&name, "a height field cannot be filled with spheres");
	io_json_number(node, "radius", 1e-12, 1e6, &source->radius[1]);
	io_json_integer(node, "count", 1, CAROM_MAX_SPHERES, &source->count);
	io_json_bool(node, "mix", &source->mix);
	io_json_number(node, "jitter", 0, 0.999, &source->jitter);
	if (source->count == 0 && !(source->radius[1] > 0))
		io_json_error(node, "needs \"radius\", \"count\", or both");
}

static void read_grid_of_copies(const io_json_node *node, scene_sphere_source *source)
{
	double grid[3] = { 1, 1, 1 };
	source->copies_kind = SCENE_COPIES_GRID;
	if (io_json_numbers(node, "grid", 3, 1, 10000, grid)) {
		for (int k = 0; k < 3; ++k) {
			source->grid[k] = (int32_t)grid[k];
			if (floor(grid[k]) != grid[k])
				io_json_member_error(node, "grid", "must be whole numbers");
		}
	}
	read_vector(node, "spacing", SCENE_FARTHEST, source->spacing);
	const int64_t places = (int64_t)source->grid[0] * source->grid[1] * source->grid[2];
	int64_t count = places;
	io_json_integer(node, "count", 1, places < 1000000 ? places : 1000000, &count);
	if (count > 1000000)
		io_json_member_error(node, "grid", "makes more than a million copies");
	source->copies = (int32_t)count;
}

static void read_copies(const io_json_node *parent, const sim_granular_def *def, scene_sphere_source *source)
{
	static const char *const fields[] = { "count", "grid", "spacing", "lower", "upper", "degrees", "seed", NULL };
	static const char *const random_only[] = { "lower", "upper", NULL };
	io_json_node node;
	if (!io_json_member(parent, "copies", &node) || !io_json_fields(&node, fields))
		return;
	io_json_number(&node, "degrees", 0, 180, &source->degrees);
	io_json_bits(&node, "seed", &source->copies_seed);
	if (io_json_has(&node, "grid")) {
		forbid(&node, "grid", random_only);
		read_grid_of_copies(&node, source);
		return;
	}
	source->copies_kind = SCENE_COPIES_RANDOM;
	scene_forbid_both(parent, "copies", "position");
	if (io_json_has(&node, "spacing"))
		io_json_member_error(&node, "spacing", "needs \"grid\"");
	memcpy(source->copies_lower, def->lower, sizeof def->lower);
	memcpy(source->copies_upper, def->upper, sizeof def->upper);
	scene_read_int32(&node, "count", 1, 1000000, &source->copies);
	read_vector(&node, "lower", SCENE_FARTHEST, source->copies_lower);
	read_vector(&node, "upper", SCENE_FARTHEST, source->copies_upper);
}

static void read_source(const io_json_node *node, scene_description *scene, scene_sphere_source *source)
{
	source->copies = 1;
	source->copies_kind = SCENE_COPIES_GRID;
	for (int k = 0; k < 3; ++k) {
		source->grid[k] = 1;
		source->spacing[k] = 1;
	}
	source->seed = source->copies_seed = source->velocity_seed = 1;
	source->line = io_json_line(node);
	if (io_json_has(node, "random") + io_json_has(node, "file") + io_json_has(node, "mesh") != 1) {
		io_json_error(node, "needs one of \"random\", \"file\" and \"mesh\"");
		return;
	}
	if (io_json_has(node, "random"))
		read_random(node, &scene->spheres.def, source);
	else if (io_json_has(node, "file"))
		read_file(node, scene, source);
	else
		read_mesh(node, scene, source);
	io_json_bits(node, "seed", &source->seed);
	read_vector(node, "position", SCENE_FARTHEST, source->position);
	read_copies(node, &scene->spheres.def, source);
	read_vector(node, "velocity", 1e6, source->velocity);
	read_velocity_spread(node, source->velocity_spread);
	io_json_bits(node, "velocity_seed", &source->velocity_seed);
	read_vector(node, "angular_velocity", 1e6, source->angular_velocity);
}

static void read_list(const io_json_node *section, scene_description *scene)
{
	static const char *const fields[] = { "random", "file", "mesh", "radius", "count", "mix", "jitter", "seed", "apart", "lower",
		"upper", "scale", "position", "copies", "velocity", "velocity_spread", "velocity_seed", "angular_velocity", NULL };
	scene_spheres *spheres = &scene->spheres;
	io_json_node list;
	const int count = io_json_member(section, "list", &list) ? io_json_count(&list, true) : 0;
	if (count == 0)
		io_json_member_error(section, "list", "holds no spheres");
	for (int i = 0; i < count && !section->json->failed; ++i) {
		const io_json_node node = io_json_child(&list, i);
		scene_sphere_source *source = scene_append(&node, (void **)&spheres->sources, &spheres->source_count, sizeof *source);
		if (!source || !io_json_fields(&node, fields))
			return;
		source->number = i;
		read_source(&node, scene, source);
	}
}

// ---- The section ----

void scene_set_spheres_defaults(scene_spheres *spheres)
{
	spheres->substeps = 1;
	spheres->def = sim_default_granular_def();
	spheres->def.spheres.friction = 0.5; // where there is a tangential force
}

/// The reason why spheres cannot meet a rigid body; NULL: they can.
static const char *fault_of_obstacle(const scene_description *scene, const scene_body *body)
{
	(void)scene;
	return body->first_step > 0 ? "is of a source: it must be there from the beginning" : NULL;
}

void scene_read_sphere_section(const io_json_node *section, scene_description *scene)
{
	static const char *const fields[] = { "substeps", "box", "moving_walls", "obstacles", "two_way", "deforming", "material",
		"wall_material", "stability", "detection", "list", NULL };
	scene_spheres *spheres = &scene->spheres;
	sim_granular_def *def = &spheres->def;
	if (!io_json_fields(section, fields))
		return;
	scene_read_int32(section, "substeps", 1, 1000000, &scene->spheres.substeps);
	def->time_step = scene->time_step / scene->spheres.substeps;
	def->gravity[0] = scene->gravity.x;
	def->gravity[1] = scene->gravity.y;
	def->gravity[2] = scene->gravity.z;
	memcpy(def->gravity_axis, scene->gravity_axis, sizeof def->gravity_axis);
	def->gravity_rate = scene->gravity_rate;
	read_box(section, def);
	read_moving_walls(section, def);
	scene_read_obstacles(section, scene, fault_of_obstacle,
		(scene_obstacle_list){ &spheres->obstacles, &spheres->obstacle_count, &spheres->two_way });
	io_json_bool(section, "deforming", &spheres->deforming);
	if (spheres->deforming && !scene->has_deforming)
		io_json_member_error(section, "deforming", "needs the section \"deforming\"");
	def->touches = spheres->obstacle_count > 0 || spheres->deforming;
	read_material(section, def);
	read_stability(section, def);
	read_detection(section, def);
	read_list(section, scene);
}

bool scene_set_sphere_count(scene_description *scene, int64_t count, sim_error *error)
{
	scene_sphere_source *random = NULL;
	int found = 0;
	for (int32_t i = 0; i < scene->spheres.source_count; ++i) {
		if (scene->spheres.sources[i].kind == SCENE_SPHERES_RANDOM) {
			random = &scene->spheres.sources[i];
			++found;
		}
	}
	if (found != 1) {
		return sim_fail(error, "%s: has %d random sources of spheres; a count needs exactly one", scene->file, found);
	}
	if (count < 1 || count > CAROM_MAX_SPHERES) {
		return sim_fail(error, "the count must be from 1 to %d", CAROM_MAX_SPHERES);
	}
	random->count = count;
	return true;
}
