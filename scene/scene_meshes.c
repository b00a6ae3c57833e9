// The "meshes" of a scene file, and how they become triangles.
#include "io/baked_file.h"
#include "io/mesh_file.h"
#include "sim/base/rotations.h"
#include "scene/scene_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES_OF_FILE = -1 };

/// A mesh name becomes the name of a group in recordings, and stands before '=' on command lines.
static bool is_mesh_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const size_t length = strlen(name);
	return length > 0 && length < SCENE_NAME_SIZE && strspn(name, letters) == length;
}

static void read_heights(const io_json_node *node, scene_mesh_source *mesh)
{
	const int count = mesh->columns * mesh->rows;
	double *heights = malloc((size_t)count * sizeof *heights);
	mesh->heights = malloc((size_t)count * sizeof *mesh->heights);
	if (!heights || !mesh->heights)
		io_json_error(node, "out of memory");
	else if (io_json_numbers_or_nulls(node, "heights", count, -1e6, 1e6, heights)) {
		for (int i = 0; i < count; i++)
			mesh->heights[i] = (float)heights[i];
	}
	free(heights);
}

// A wave that runs over the field: its phase at (x, y) is turned[0] x + turned[1] y + shift
// (radians).
typedef struct wave {
	double turned[2];
	double shift;
	double height;
} wave;

enum { MOST_WAVES = 64 };

/// Waves of random directions and phases, each shorter and lower than the one before, down to a
/// quarter: no hill is like another.
static void make_waves(uint64_t seed, int32_t count, double height, double length, wave waves[MOST_WAVES])
{
	double total = 0;
	for (int32_t i = 0; i < count; i++) {
		const double part = 1 - 0.75 * i / count;
		const double direction = SIM_PI * sim_random_unit(&seed);
		const double slope = 2 * SIM_PI / (length * part);
		waves[i] =
			(wave){ { slope * sim_cosine(direction), slope * sim_sine(direction) }, SIM_PI * sim_random_unit(&seed), part };
		total += part;
	}
	for (int32_t i = 0; i < count; i++)
		waves[i].height *= height / total;
}

static double height_at(const wave *waves, int32_t count, double x, double y)
{
	double sum = 0;
	for (int32_t i = 0; i < count; i++)
		sum += waves[i].height * sim_sine(waves[i].turned[0] * x + waves[i].turned[1] * y + waves[i].shift);
	return sum;
}

/// Two crossing waves, or many random ones: enough of hills and hollows to roll on, and the same on
/// every machine.
static void make_hills(const io_json_node *node, scene_mesh_source *mesh)
{
	static const char *const fields[] = { "height", "length", "waves", "seed", NULL };
	double height = 1, length = 10;
	int32_t count = 0;
	uint64_t seed = 1;
	wave waves[MOST_WAVES];
	if (!io_json_fields(node, fields))
		return;
	io_json_number(node, "height", -1e6, 1e6, &height);
	io_json_positive(node, "length", &length);
	scene_read_int32(node, "waves", 1, MOST_WAVES, &count);
	io_json_bits(node, "seed", &seed);
	if (io_json_has(node, "seed") && !io_json_has(node, "waves"))
		io_json_member_error(node, "seed", "needs \"waves\": without them nothing is random");
	mesh->heights = malloc((size_t)mesh->columns * (size_t)mesh->rows * sizeof *mesh->heights);
	if (!mesh->heights) {
		io_json_error(node, "out of memory");
		return;
	}
	make_waves(seed, count, height, length, waves);
	for (int32_t row = 0; row < mesh->rows; row++) {
		for (int32_t column = 0; column < mesh->columns; column++) {
			const double x = column * mesh->spacing[0], y = row * mesh->spacing[1];
			const double crossing = height * sim_sine(2 * SIM_PI * column * mesh->spacing[0] / length) *
				sim_sine(2 * SIM_PI * row * mesh->spacing[1] / length);
			mesh->heights[(size_t)row * (size_t)mesh->columns + (size_t)column] =
				(float)(count > 0 ? height_at(waves, count, x, y) : crossing);
		}
	}
}

static void read_height_field(const io_json_node *parent, scene_mesh_source *mesh)
{
	static const char *const fields[] = { "columns", "rows", "spacing", "thickness", "heights", "hills", NULL };
	io_json_node node, hills;
	io_json_member(parent, "height_field", &node);
	mesh->kind = SCENE_MESH_HEIGHT_FIELD;
	mesh->columns = mesh->rows = 2;
	mesh->spacing[0] = mesh->spacing[1] = mesh->thickness = 1;
	if (!io_json_fields(&node, fields))
		return;
	scene_read_int32(&node, "columns", 2, 4096, &mesh->columns);
	scene_read_int32(&node, "rows", 2, 4096, &mesh->rows);
	io_json_numbers(&node, "spacing", 2, 1e-6, 1e6, mesh->spacing);
	io_json_number(&node, "thickness", 1e-6, 1e6, &mesh->thickness);
	scene_forbid_both(&node, "heights", "hills");
	if (io_json_member(&node, "hills", &hills))
		make_hills(&hills, mesh);
	else if (io_json_has(&node, "heights"))
		read_heights(&node, mesh);
	else
		io_json_error(&node, "needs \"heights\" or \"hills\"");
}

static void read_scale(const io_json_node *node, scene_mesh_source *mesh)
{
	// in the order of carom_mesh_sides
	static const char *const words[] = { "auto", "front", "both", "container", NULL };
	io_json_node scale;
	scene_forbid_both(node, "scale", "fit");
	if (io_json_member(node, "scale", &scale)) {
		double factor = 1;
		if (cJSON_IsArray(scale.item)) {
			io_json_numbers(node, "scale", 3, 1e-9, 1e9, mesh->scale);
		} else if (io_json_number(node, "scale", 1e-9, 1e9, &factor)) {
			mesh->scale[0] = mesh->scale[1] = mesh->scale[2] = factor;
		}
	}
	io_json_numbers(node, "fit", 3, 1e-9, 1e9, mesh->fit);
	if (io_json_has(node, "sides")) {
		int sides = CAROM_SIDES_AUTO;
		io_json_choice(node, "sides", words, &sides);
		mesh->sides = sides;
	}
	io_json_bool(node, "centre", &mesh->centre);
}

static void read_mesh(const io_json_node *node, scene_description *scene)
{
	static const char *const fields[] = { "shape", "triangles", "seed", "file", "height_field", "scale", "fit", "centre",
		"sides", NULL };
	scene_mesh_source *mesh = scene_append(node, (void **)&scene->meshes, &scene->mesh_count, sizeof *mesh);
	if (!mesh)
		return;
	mesh->scale[0] = mesh->scale[1] = mesh->scale[2] = 1;
	mesh->triangles = 902;
	mesh->seed = 1;
	mesh->sides = SIDES_OF_FILE;
	if (!is_mesh_name(node->item->string)) {
		io_json_error(node, "a mesh is named by 1 to %d letters, digits, '_' and '-'", SCENE_NAME_SIZE - 1);
		return;
	}
	snprintf(mesh->name, sizeof mesh->name, "%s", node->item->string);
	if (!io_json_fields(node, fields))
		return;
	if (io_json_has(node, "shape") + io_json_has(node, "file") + io_json_has(node, "height_field") != 1) {
		io_json_error(node, "needs one of \"shape\", \"file\" and \"height_field\"");
		return;
	}
	if (io_json_has(node, "height_field")) {
		static const char *const other[] = { "triangles", "seed", "scale", "fit", "centre", "sides", NULL };
		for (int i = 0; other[i]; i++)
			scene_forbid_both(node, "height_field", other[i]);
		read_height_field(node, mesh);
		return;
	}
	read_scale(node, mesh);
	if (io_json_has(node, "file")) {
		mesh->kind = SCENE_MESH_FILE;
		scene_forbid_both(node, "file", "triangles");
		scene_forbid_both(node, "file", "seed");
		char *path = NULL;
		if (io_json_string(node, "file", &path) && !(mesh->file = scene_resolve_path(scene->file, path)))
			io_json_error(node, "out of memory");
		free(path);
		return;
	}
	mesh->kind = SCENE_MESH_SHAPE;
	io_json_string(node, "shape", &mesh->shape);
	scene_read_int32(node, "triangles", 4, 100000000, &mesh->triangles);
	io_json_bits(node, "seed", &mesh->seed);
}

void scene_read_meshes(const io_json_node *root, scene_description *scene)
{
	io_json_node node;
	if (!io_json_member(root, "meshes", &node))
		return;
	const int count = io_json_count(&node, false);
	for (int i = 0; i < count && !root->json->failed; i++) {
		const io_json_node mesh = io_json_child(&node, i);
		for (int32_t k = 0; k < scene->mesh_count; k++) {
			if (!strcmp(scene->meshes[k].name, mesh.item->string))
				io_json_error(&mesh, "given twice");
		}
		read_mesh(&mesh, scene);
	}
}

// ---- Making the meshes ----

bool scene_replace_mesh(scene_description *scene, const char *assignment, sim_error *error)
{
	const char *equals = strchr(assignment, '=');
	if (!equals || equals == assignment || !equals[1]) {
		return sim_fail(error, "\"%s\": must be NAME=FILE", assignment);
	}
	const size_t length = (size_t)(equals - assignment);
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		scene_mesh_source *mesh = &scene->meshes[i];
		if (strlen(mesh->name) != length || strncmp(mesh->name, assignment, length) != 0)
			continue;
		char *file = strdup(equals + 1);
		if (!file) {
			return sim_fail(error, "out of memory");
		}
		free(mesh->file);
		mesh->file = file;
		mesh->kind = SCENE_MESH_FILE;
		return true;
	}
	char names[300] = "";
	for (int32_t i = 0; i < scene->mesh_count && strlen(names) < 200; i++)
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", scene->meshes[i].name);
	return sim_fail(
		error, "%s: has no mesh \"%.*s\"; it has: %s", scene->file, (int)length, assignment, *names ? names : "none");
}

static double coordinate(const sim_mesh *mesh, int32_t place)
{
	return mesh->doubles ? mesh->doubles[place] : (double)mesh->vertices[place];
}

static void mesh_box(const sim_mesh *mesh, double lower[3], double upper[3])
{
	for (int k = 0; k < 3; k++) {
		lower[k] = DBL_MAX;
		upper[k] = -DBL_MAX;
	}
	for (int32_t i = 0; i < 3 * mesh->vertex_count; i++) {
		lower[i % 3] = fmin(lower[i % 3], coordinate(mesh, i));
		upper[i % 3] = fmax(upper[i % 3], coordinate(mesh, i));
	}
}

/// Move and scale a mesh as its source asks; rounded to float where it stands then.
static void place_mesh(const scene_mesh_source *source, sim_mesh *mesh)
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
	if (!source->centre && scale[0] == 1 && scale[1] == 1 && scale[2] == 1 && mesh->baked)
		return;
	io_forget_baked(mesh);
	for (int32_t i = 0; i < 3 * mesh->vertex_count; i++) {
		const int k = i % 3;
		const double middle = source->centre ? 0.5 * (lower[k] + upper[k]) : 0;
		mesh->vertices[i] = (float)((coordinate(mesh, i) - middle) * scale[k]);
	}
	free(mesh->doubles);
	mesh->doubles = NULL;
}

void scene_forget_shape(scene_mesh_source *source)
{
	if (source->kept)
		sim_mesh_free(source->kept);
	free(source->kept);
	source->kept = NULL;
}

bool scene_keep_shapes(scene_description *scene, sim_error *error)
{
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		scene_mesh_source *source = &scene->meshes[i];
		if (source->kind != SCENE_MESH_SHAPE || source->kept)
			continue;
		sim_mesh made;
		if (!sim_make_shape(source->shape, source->triangles, source->seed, &made, error))
			return sim_fail_in(error, "%s: field \"meshes.%s\": ", scene->file, source->name);
		source->kept = malloc(sizeof made);
		if (!source->kept) {
			sim_mesh_free(&made);
			return sim_fail(error, "out of memory");
		}
		*source->kept = made;
	}
	return true;
}

static void *copy_of(const void *from, size_t size)
{
	void *to = malloc(size + !size);
	return to ? memcpy(to, from, size) : NULL;
}

/// A shape has vertices and triangles, and nothing that files say more.
static bool copy_shape(const sim_mesh *from, sim_mesh *to, sim_error *error)
{
	const size_t numbers = 3 * (size_t)from->vertex_count;
	*to = (sim_mesh){ .vertex_count = from->vertex_count,
		.triangle_count = from->triangle_count,
		.sides = from->sides,
		.vertices = copy_of(from->vertices, numbers * sizeof(float)),
		.triangles = copy_of(from->triangles, 3 * (size_t)from->triangle_count * sizeof(int32_t)),
		.doubles = from->doubles ? copy_of(from->doubles, numbers * sizeof(double)) : NULL };
	if (to->vertices && to->triangles && (to->doubles || !from->doubles))
		return true;
	sim_mesh_free(to);
	return sim_fail(error, "out of memory");
}

bool scene_build_mesh(const scene_description *scene, int32_t index, sim_mesh *mesh, sim_error *error)
{
	const scene_mesh_source *source = &scene->meshes[index];
	bool made;
	if (source->kind == SCENE_MESH_FILE) {
		made = io_load_mesh(source->file, mesh, error);
		if (!made)
			sim_fail_in(error, "%s: field \"meshes.%s\": %s: ", scene->file, source->name, source->file);
	} else {
		made = source->kept ? copy_shape(source->kept, mesh, error)
							: sim_make_shape(source->shape, source->triangles, source->seed, mesh, error);
		if (!made)
			sim_fail_in(error, "%s: field \"meshes.%s\": ", scene->file, source->name);
	}
	if (made)
		place_mesh(source, mesh);
	if (made && source->sides != SIDES_OF_FILE && source->sides != mesh->sides) {
		io_forget_baked(mesh);
		mesh->sides = source->sides;
	}
	return made;
}
