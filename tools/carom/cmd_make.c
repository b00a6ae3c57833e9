// `carom make`: the project's own closed concave meshes of a wanted size. `carom make spheres` is
// in make_spheres.c.
#include "commands.h"
#include "make_spheres.h"
#include "options.h"
#include "report.h"
#include "io/mesh_file.h"
#include "sim/base/words.h"

#include <string.h>

typedef struct make_options {
	const char *shape;
	const char *output;
	int64_t triangles;
	int64_t seed;
	bool list, json;
} make_options;

enum { SHAPES_MAX = 64 };

/// The names of all shapes, ended by NULL.
static void name_shapes(const char *names[SHAPES_MAX + 1])
{
	int32_t count;
	const sim_shape_info *shapes = sim_shape_list(&count);
	for (int32_t i = 0; i <= SHAPES_MAX; i++)
		names[i] = i < count && i < SHAPES_MAX ? shapes[i].name : NULL;
}

static int parse(make_options *o, int argc, char **argv)
{
	// clang-format off
	const option options[] = {
		{ .name = "triangles", .letter = 'n', .argument = "N", .kind = OPTION_INTEGER, .value = &o->triangles,
			.minimum = SIM_MIN_SHAPE_TRIANGLES, .maximum = SIM_MAX_SHAPE_TRIANGLES,
			.help = "exact number of triangles" },
		{ .name = "seed", .letter = 's', .argument = "S", .kind = OPTION_INTEGER, .value = &o->seed,
			.maximum = 9007199254740992.0,
			.help = "varies the shapes that can vary (1)" },
		{ .name = "output", .letter = 'o', .argument = "FILE", .kind = OPTION_TEXT, .value = &o->output, .file = OPTION_WRITES,
			.help = "where to: .obj, .ply or .stl" },
		{ .name = "list", .letter = 'l', .kind = OPTION_FLAG, .value = &o->list, .help = "list the shapes" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print one JSON object" },
		{ 0 },
	};
	// clang-format on
	const char *shapes[SHAPES_MAX + 1];
	name_shapes(shapes);
	const command_line line = {
		.command = "make",
		.synopsis = "SHAPE --triangles N [--seed S] -o FILE",
		.summary = "Make a closed concave mesh with exactly N triangles; the same words give the same bytes on every machine.",
		.details = "`carom make --list` names the shapes. `carom make spheres --help` explains how spheres are made.",
		.options = options,
		.least = 0,
		.most = 1,
		.words = shapes,
	};
	int count;
	return options_parse(&line, argc, argv, &o->shape, &count);
}

static int list_shapes(bool as_json)
{
	int32_t count;
	const sim_shape_info *shapes = sim_shape_list(&count);
	if (as_json) {
		cJSON *json = cJSON_CreateObject();
		cJSON *list = cJSON_AddArrayToObject(json, "shapes");
		for (int32_t i = 0; i < count; i++) {
			cJSON *shape = cJSON_CreateObject();
			cJSON_AddStringToObject(shape, "name", shapes[i].name);
			cJSON_AddStringToObject(shape, "description", shapes[i].description);
			cJSON_AddItemToArray(list, shape);
		}
		return report_json(json);
	}
	for (int32_t i = 0; i < count; i++)
		printf("%-12s %s\n", shapes[i].name, shapes[i].description);
	return report_end_of_text();
}

static int check_use(const make_options *o)
{
	if (!o->shape)
		return options_misuse("make", "a shape is missing; `carom make --list` names them");
	if (strcmp(o->shape, "spheres") == 0)
		return options_misuse("make", "`spheres` must be the first word: carom make spheres ...");
	const char *names[SHAPES_MAX + 1];
	int32_t i = 0;
	name_shapes(names);
	while (names[i] && strcmp(names[i], o->shape) != 0)
		i++;
	const char *nearest = names[i] ? NULL : sim_nearest_word(o->shape, names);
	if (nearest)
		return options_misuse("make", "there is no shape %s; did you mean %s?", o->shape, nearest);
	if (!names[i])
		return options_misuse("make", "there is no shape %s; `carom make --list` names them", o->shape);
	if (!o->triangles)
		return options_misuse("make", "--triangles N is missing");
	return o->output ? OPTIONS_GO_ON : options_misuse("make", "-o FILE is missing");
}

int cmd_make(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "spheres") == 0)
		return make_spheres(argc - 1, argv + 1);
	make_options o = { .seed = 1 };
	int status = parse(&o, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o.list)
		return list_shapes(o.json);
	status = check_use(&o);
	if (status != OPTIONS_GO_ON)
		return status;
	sim_mesh mesh;
	sim_error error;
	if (!sim_make_shape(o.shape, (int32_t)o.triangles, (uint64_t)o.seed, &mesh, &error))
		return report_error(NULL, "%s", error.text);
	const int32_t vertices = mesh.vertex_count, triangles = mesh.triangle_count;
	const bool saved = io_save_mesh(o.output, &mesh, &error);
	sim_mesh_free(&mesh);
	if (!saved)
		return report_error(o.output, "%s", error.text);
	if (!o.json) {
		printf("%s: %d vertices, %d triangles\n", o.output, vertices, triangles);
		return report_end_of_text();
	}
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "shape", o.shape);
	cJSON_AddStringToObject(json, "file", o.output);
	cJSON_AddNumberToObject(json, "vertices", vertices);
	cJSON_AddNumberToObject(json, "triangles", triangles);
	return report_json(json);
}
