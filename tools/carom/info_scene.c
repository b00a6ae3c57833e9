// `carom info` of scene files: what is in them, and about how much memory a run takes.
//
// The memory is estimated from runs measured with /usr/bin/time, at most resident, release build on
// x86-64 (docs/measured/scenes.md): so many bytes for the program, a rigid body with its shapes, a
// triangle of a mesh, a triangle of a deforming body, a sphere. Contacts come on top.
#include "info_kinds.h"

#include "options.h"
#include "report.h"
#include "io/sphere_file.h"
#include "scene/scene.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const double BYTES_PROGRAM = 8e6, BYTES_SHAPE = 6e3, BYTES_TRIANGLE = 600, BYTES_SOFT_TRIANGLE = 2800, BYTES_SPHERE = 340;

bool info_is_scene(const io_input *input)
{
	size_t at = 0;
	if (input->start_size > 3 && !memcmp(input->start, "\xef\xbb\xbf", 3))
		at = 3;
	while (at < input->start_size && isspace((unsigned char)input->start[at]))
		at++;
	return at < input->start_size && input->start[at] == '{';
}

/// Triangles of a mesh of the scene; below 0: it cannot be made, and why is in error.
static int64_t count_triangles(const scene_description *scene, int32_t number, sim_error *error)
{
	const scene_mesh_source *source = &scene->meshes[number];
	sim_mesh mesh;
	if (source->kind == SCENE_MESH_SHAPE)
		return source->triangles;
	if (source->kind == SCENE_MESH_HEIGHT_FIELD)
		return 2 * (int64_t)(source->columns - 1) * (source->rows - 1);
	if (!scene_build_mesh(scene, number, &mesh, error))
		return -1;
	const int64_t count = mesh.triangle_count;
	sim_mesh_free(&mesh);
	return count;
}

static void add_meshes(cJSON *facts, const scene_description *scene, int64_t *triangles, double *bytes)
{
	static const char *const words[] = { "shape", "file", "height_field" };
	cJSON *list = cJSON_AddArrayToObject(facts, "meshes");
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		const scene_mesh_source *source = &scene->meshes[i];
		sim_error error = { "" };
		cJSON *mesh = cJSON_CreateObject();
		triangles[i] = count_triangles(scene, i, &error);
		cJSON_AddStringToObject(mesh, "name", source->name);
		cJSON_AddStringToObject(mesh, "from", words[source->kind]);
		if (source->file)
			cJSON_AddStringToObject(mesh, "file", source->file);
		if (triangles[i] >= 0)
			cJSON_AddNumberToObject(mesh, "triangles", (double)triangles[i]);
		else
			cJSON_AddStringToObject(mesh, "error", error.text);
		*bytes += BYTES_TRIANGLE * (double)(triangles[i] > 0 ? triangles[i] : 0);
		report_add(list, NULL, mesh);
	}
}

static void add_bodies(cJSON *facts, const scene_description *scene, double *bytes)
{
	const scene_rigid *rigid = &scene->rigid;
	int32_t kinds[3] = { 0 }, late = 0;
	int64_t shapes = 0;
	for (int32_t i = 0; i < rigid->body_count; i++) {
		const scene_body *body = &rigid->bodies[i];
		kinds[body->kind == CAROM_DYNAMIC ? 0 : body->kind == CAROM_KINEMATIC ? 1 : 2]++;
		late += body->first_step > 0;
		shapes += scene_shape_count(body);
	}
	cJSON *object = cJSON_AddObjectToObject(facts, "bodies");
	cJSON_AddNumberToObject(object, "dynamic", kinds[0]);
	cJSON_AddNumberToObject(object, "kinematic", kinds[1]);
	cJSON_AddNumberToObject(object, "static", kinds[2]);
	cJSON_AddNumberToObject(object, "from_sources", late);
	cJSON_AddNumberToObject(object, "shapes", (double)shapes);
	cJSON_AddNumberToObject(object, "substeps", rigid->substeps);
	*bytes += BYTES_SHAPE * (double)shapes;
}

static void add_deforming(cJSON *facts, const scene_description *scene, const int64_t *meshes, double *bytes)
{
	const scene_deforming *section = &scene->deforming;
	int64_t triangles = 0, movers = 0, bodies = 0;
	for (int32_t i = 0; i < section->source_count; i++) {
		const scene_soft_source *source = &section->sources[i];
		const int64_t copies = (int64_t)source->count[0] * source->count[1] * source->count[2];
		const int64_t each = source->mesh >= 0 ? meshes[source->mesh] : sim_form_triangles(&source->form, section->resolution);
		movers += source->rigid;
		bodies += source->rigid ? 0 : copies;
		triangles += copies * (each > 0 ? each : 0);
	}
	cJSON *object = cJSON_AddObjectToObject(facts, "deforming");
	cJSON_AddNumberToObject(object, "bodies", (double)bodies);
	cJSON_AddNumberToObject(object, "movers", (double)movers);
	cJSON_AddNumberToObject(object, "obstacles", section->obstacle_count);
	cJSON_AddNumberToObject(object, "triangles", (double)triangles);
	cJSON_AddNumberToObject(object, "substeps", section->substeps);
	*bytes += BYTES_SOFT_TRIANGLE * (double)triangles;
}

/// The spheres of a source; below 0: nobody knows before they are made.
static int64_t count_source(const scene_sphere_source *source)
{
	if (source->kind == SCENE_SPHERES_RANDOM)
		return source->count;
	if (source->kind == SCENE_SPHERES_MESH)
		return source->count > 0 ? source->count * source->copies : -1;
	const io_sphere_reading reading = { .default_radius = 0 };
	sim_error error;
	io_input input;
	io_sphere_set set;
	if (!io_open_input(&input, source->file, &error))
		return -1;
	const bool read = io_read_spheres(&input, &reading, &set, &error);
	const int64_t count = read ? set.count * source->copies : -1;
	if (read)
		io_free_spheres(&set);
	io_close_input(&input);
	return count;
}

static void add_spheres(cJSON *facts, const scene_description *scene, double *bytes)
{
	const scene_spheres *section = &scene->spheres;
	int64_t count = 0;
	bool known = true;
	for (int32_t i = 0; i < section->source_count; i++) {
		const int64_t more = count_source(&section->sources[i]);
		known &= more >= 0;
		count += more >= 0 ? more : 0;
	}
	cJSON *object = cJSON_AddObjectToObject(facts, "spheres");
	report_add(object, "count", known ? cJSON_CreateNumber((double)count) : cJSON_CreateNull());
	cJSON_AddNumberToObject(object, "sources", section->source_count);
	cJSON_AddNumberToObject(object, "obstacles", section->obstacle_count);
	cJSON_AddBoolToObject(object, "meets_deforming", section->deforming);
	cJSON_AddNumberToObject(object, "substeps", section->substeps);
	*bytes += BYTES_SPHERE * (double)count;
}

static cJSON *describe(const scene_description *scene)
{
	double bytes = BYTES_PROGRAM;
	int64_t *triangles = calloc((size_t)scene->mesh_count + 1, sizeof *triangles);
	cJSON *facts = triangles ? cJSON_CreateObject() : NULL;
	if (!facts) {
		free(triangles);
		return NULL;
	}
	const double gravity[3] = { scene->gravity.x, scene->gravity.y, scene->gravity.z };
	cJSON_AddStringToObject(facts, "kind", "scene");
	cJSON_AddStringToObject(facts, "name", scene->name);
	cJSON_AddNumberToObject(facts, "time_step", scene->time_step);
	cJSON_AddNumberToObject(facts, "steps", (double)scene->steps);
	cJSON_AddNumberToObject(facts, "time", scene->time_step * (double)scene->steps);
	report_add_vector(facts, "gravity", gravity);
	add_meshes(facts, scene, triangles, &bytes);
	if (scene->has_bodies)
		add_bodies(facts, scene, &bytes);
	if (scene->has_deforming)
		add_deforming(facts, scene, triangles, &bytes);
	if (scene->has_spheres)
		add_spheres(facts, scene, &bytes);
	cJSON_AddNumberToObject(facts, "memory_estimate", bytes);
	free(triangles);
	return facts;
}

int info_show_scene(io_input *input, bool as_json)
{
	sim_error error;
	size_t size;
	scene_description scene;
	char *text = io_take_rest(input, &size, &error);
	if (!text)
		return report_error(input->path, "%s", error.text);
	const bool read = scene_parse(input->path, text, size, &scene, &error);
	free(text);
	if (!read)
		return report_error(NULL, "%s", error.text);
	cJSON *facts = describe(&scene);
	scene_destroy(&scene);
	return facts ? info_print(input->path, "a scene; memory in bytes, about", facts, as_json)
				 : report_error(NULL, "out of memory");
}
