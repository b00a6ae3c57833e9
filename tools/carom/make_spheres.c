// `carom make spheres`: a mesh filled with spheres, or spheres strewn at random.
#include "make_spheres.h"

#include "options.h"
#include "report.h"
#include "io/mesh_file.h"
#include "scene/sphere_sampling.h"

#include <math.h>
#include <string.h>

typedef struct make_options {
	const char *mesh;
	const char *output;
	double radius, fit, jitter;
	int64_t count, triangles;
	bool mix;
	int64_t free_count, wide_count;
	double max_radius, box;
	int64_t seed;
	bool json;
} make_options;

// Mochi, sections 4.1.1 and 4.1.3.
static const double LEAST_RADIUS = 0.0005, FREE_MAX_RADIUS = 0.0006, FREE_BOX = 1;

static int parse(make_options *o, int argc, char **argv)
{
	// clang-format off
	const option options[] = {
		{ .name = "radius", .letter = 'r', .argument = "R", .kind = OPTION_REAL, .value = &o->radius, .minimum = 1e-12, .maximum = 1e12,
			.help = "mesh: radius; without --count as many as have room without touching" },
		{ .name = "count", .letter = 'n', .argument = "N", .kind = OPTION_INTEGER, .value = &o->count, .minimum = 1,
			.maximum = CAROM_MAX_SPHERES, .help = "mesh: how many; without --radius as large as they can be without touching" },
		{ .name = "mix", .kind = OPTION_FLAG, .value = &o->mix, .help = "mesh: half of the spheres, by chance, have half the radius" },
		{ .name = "jitter", .argument = "J", .kind = OPTION_REAL, .value = &o->jitter, .minimum = 0, .maximum = 0.99,
			.help = "mesh: spheres stand off the lattice by up to J/2 of its spacing (0.1)" },
		{ .name = "fit", .argument = "SIZE", .kind = OPTION_REAL, .value = &o->fit, .minimum = 1e-9, .maximum = 1e9,
			.help = "mesh: scale it so that the longest side of its box is SIZE" },
		{ .name = "triangles", .argument = "N", .kind = OPTION_INTEGER, .value = &o->triangles,
			.minimum = SIM_MIN_SHAPE_TRIANGLES, .maximum = SIM_MAX_SHAPE_TRIANGLES,
			.help = "triangles of MESH when it is a shape of `carom make --list` (902)" },
		{ .name = "free", .argument = "N", .kind = OPTION_INTEGER, .value = &o->free_count, .minimum = 1,
			.maximum = CAROM_MAX_SPHERES, .help = "N at random in a cube of side 1, radii 0.0005 to 0.0006 (Mochi, 4.1.1)" },
		{ .name = "wide", .argument = "N", .kind = OPTION_INTEGER, .value = &o->wide_count, .minimum = 1,
			.maximum = CAROM_MAX_SPHERES, .help = "N at random in the cube of --box, radii 0.0005 to --max-radius (Mochi, 4.1.3)" },
		{ .name = "max-radius", .argument = "R", .kind = OPTION_REAL, .value = &o->max_radius, .minimum = 0.0005, .maximum = 1e6,
			.help = "--wide: largest radius (0.06)" },
		{ .name = "box", .argument = "L", .kind = OPTION_REAL, .value = &o->box, .minimum = 1e-9, .maximum = 1e9,
			.help = "--wide: side of the cube (16)" },
		{ .name = "seed", .letter = 's', .argument = "S", .kind = OPTION_INTEGER, .value = &o->seed, .maximum = 9007199254740992.0,
			.help = "of all that is random (1)" },
		{ .name = "output", .letter = 'o', .argument = "FILE", .kind = OPTION_TEXT, .value = &o->output, .file = OPTION_WRITES,
			.help = "where to: .sph or .csv" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print one JSON object" },
		{ 0 },
	};
	// clang-format on
	const command_line line = {
		.command = "make spheres",
		.synopsis = "MESH --radius R [--count N] [options] -o FILE | --free N | --wide N",
		.summary =
			"Fill a closed mesh with spheres, or strew spheres at random; the same words give the same bytes on every machine.",
		.details =
			"MESH is a mesh file or a shape of `carom make --list`. The centres lie inside it, on a jittered lattice. Spheres are\n"
			"in random order. Strewn spheres may overlap.",
		.options = options,
		.least = 0,
		.most = 1,
	};
	int count;
	return options_parse(&line, argc, argv, &o->mesh, &count);
}

static int check_use(const make_options *o)
{
	static const char *const name = "make spheres";
	const int sources = (o->mesh != NULL) + (o->free_count > 0) + (o->wide_count > 0);
	if (sources != 1)
		return options_misuse(name, "give one of MESH, --free N and --wide N");
	if (!o->output)
		return options_misuse(name, "-o FILE is missing");
	if (o->mesh && o->radius == 0 && o->count == 0)
		return options_misuse(name, "--radius R or --count N is missing");
	if (!o->mesh && (o->radius > 0 || o->count || o->mix || o->fit > 0 || o->triangles || o->jitter >= 0))
		return options_misuse(name, "--radius, --count, --mix, --jitter, --fit and --triangles need a MESH");
	if (!o->wide_count && (o->max_radius > 0 || o->box > 0))
		return options_misuse(name, "--max-radius and --box need --wide N");
	return OPTIONS_GO_ON;
}

static bool is_shape(const char *name)
{
	int32_t count;
	const sim_shape_info *shapes = sim_shape_list(&count);
	for (int32_t i = 0; i < count; i++) {
		if (strcmp(shapes[i].name, name) == 0)
			return true;
	}
	return false;
}

static void fit_mesh(sim_mesh *mesh, double size)
{
	double longest = 0;
	for (int axis = 0; axis < 3; axis++) {
		double lower = INFINITY, upper = -INFINITY;
		for (int32_t i = 0; i < mesh->vertex_count; i++) {
			const double x = (double)mesh->vertices[3 * (size_t)i + (size_t)axis];
			lower = fmin(lower, x);
			upper = fmax(upper, x);
		}
		longest = fmax(longest, upper - lower);
	}
	for (int64_t i = 0; longest > 0 && i < 3 * (int64_t)mesh->vertex_count; i++)
		mesh->vertices[i] = (float)(size * (double)mesh->vertices[i] / longest);
}

static int fill_mesh(const make_options *o, io_sphere_set *spheres, double *spacing)
{
	sim_error error;
	sim_mesh mesh;
	const bool made = is_shape(o->mesh);
	const int32_t triangles = o->triangles ? (int32_t)o->triangles : 902;
	if (!made && o->triangles)
		return options_misuse("make spheres", "%s is a file, so --triangles has no meaning", o->mesh);
	if (!(made ? sim_make_shape(o->mesh, triangles, (uint64_t)o->seed, &mesh, &error) : io_load_mesh(o->mesh, &mesh, &error)))
		return report_error(made ? NULL : o->mesh, "%s", error.text);
	if (o->fit > 0)
		fit_mesh(&mesh, o->fit);
	scene_sampling sampling = scene_default_sampling();
	sampling.radius = o->radius;
	sampling.count = o->count;
	sampling.mix = o->mix;
	sampling.seed = (uint64_t)o->seed;
	if (o->jitter >= 0)
		sampling.jitter = o->jitter;
	carom_context *context = report_create_context(1, CAROM_SIMD_AUTO);
	int status = context ? EXIT_DONE : EXIT_FAILED;
	if (context && !scene_sample_mesh(context, &mesh, &sampling, spheres, spacing, &error))
		status = report_error(o->mesh, "%s", error.text);
	carom_destroy_context(context);
	sim_mesh_free(&mesh);
	return status;
}

static int strew(const make_options *o, io_sphere_set *spheres)
{
	const int64_t count = o->free_count ? o->free_count : o->wide_count;
	const double wide_max_radius = o->max_radius > 0 ? o->max_radius : 0.06, wide_box = o->box > 0 ? o->box : 16;
	if (scene_strew_spheres(count, LEAST_RADIUS, o->free_count ? FREE_MAX_RADIUS : wide_max_radius,
			o->free_count ? FREE_BOX : wide_box, (uint64_t)o->seed, spheres))
		return EXIT_DONE;
	return report_error(NULL, "out of memory");
}

static int print(const make_options *o, int64_t count, double spacing)
{
	if (o->json) {
		cJSON *json = cJSON_CreateObject();
		cJSON_AddStringToObject(json, "file", o->output);
		cJSON_AddNumberToObject(json, "spheres", (double)count);
		if (o->mesh)
			cJSON_AddNumberToObject(json, "spacing", spacing);
		return report_json(json);
	}
	printf("%s: %lld spheres", o->output, (long long)count);
	if (o->mesh)
		printf(", spacing %.6g", spacing);
	puts("");
	return report_end_of_text();
}

int make_spheres(int argc, char **argv)
{
	make_options o = { .seed = 1, .jitter = -1 };
	int status = parse(&o, argc, argv);
	if (status == OPTIONS_GO_ON)
		status = check_use(&o);
	if (status != OPTIONS_GO_ON)
		return status;
	io_sphere_set spheres = { 0 };
	double spacing = 0;
	status = o.mesh ? fill_mesh(&o, &spheres, &spacing) : strew(&o, &spheres);
	sim_error error;
	if (status == EXIT_DONE && !io_save_spheres(o.output, &spheres, &error))
		status = report_error(o.output, "%s", error.text);
	if (status == EXIT_DONE)
		status = print(&o, spheres.count, spacing);
	io_free_spheres(&spheres);
	return status;
}
