// `carom bake`: a mesh made once, trees and all, into a file that the library loads instead.
#include "commands.h"
#include "mesh_input.h"
#include "options.h"
#include "report.h"
#include "io/mesh_file.h"
#include "sim/base/sim_clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bake_options {
	const char *path, *output, *scale;
	int scalar, sides, build;
	int64_t grid;
	double factors[3], weld_distance;
	bool hull, weld, json;
} bake_options;

typedef struct bake_facts {
	carom_mesh_report report;
	size_t bytes;
	double ms_read, ms_make;
	double ms_load; // NAN: a pipe cannot be read again
} bake_facts;

enum { SIDES_OF_FILE = -1, BUILD_OF_FILE = -1 };

static int parse(bake_options *o, int argc, char **argv)
{
	// clang-format off
	const option options[] = {
		{ .name = "output", .letter = 'o', .argument = "FILE", .kind = OPTION_TEXT, .value = &o->output, .file = OPTION_WRITES,
			.help = "where to: a name that ends in .cmesh, or a pipe (- is the standard output)" },
		{ .name = "hull", .kind = OPTION_FLAG, .value = &o->hull, .help = "the convex hull of the vertices, for CAROM_HULL" },
		{ .name = "sides", .argument = "WHICH", .kind = OPTION_CHOICE, .value = &o->sides, .choices = mesh_sides_words,
			.help = "way out of an open mesh (auto), or a closed one that holds things" },
		{ .name = "build", .argument = "WHICH", .kind = OPTION_CHOICE, .value = &o->build, .choices = mesh_build_words,
			.help = "how its trees are built: sah (default), hlbvh, lbvh, trbvh, ploc" },
		{ .name = "scale", .argument = "S|X,Y,Z", .kind = OPTION_TEXT, .value = &o->scale,
			.help = "factor of all coordinates, or one for each axis; negative ones mirror (1)" },
		{ .name = "grid", .argument = "N", .kind = OPTION_INTEGER, .value = &o->grid, .minimum = 0, .maximum = 1024,
			.help = "cells of the inside-outside grid along the longest side (by the number of triangles)" },
		{ .name = "scalar", .argument = "TYPE", .kind = OPTION_CHOICE, .value = &o->scalar, .choices = mesh_scalar_words,
			.help = "auto (default): keep the file's numbers; float32: round them to float" },
		{ .name = "weld", .kind = OPTION_FLAG, .value = &o->weld, .help = "make vertices at equal positions one first" },
		{ .name = "weld-distance", .argument = "D", .kind = OPTION_REAL, .value = &o->weld_distance, .minimum = 0, .maximum = CAROM_MAX_COORDINATE,
			.help = "put vertices nearer to each other than this to one place (0)" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print one JSON object" },
		{ 0 },
	};
	// clang-format on
	const command_line line = {
		.command = "bake",
		.synopsis = "MESH -o FILE.cmesh [options]",
		.summary = "Make the trees of a mesh once, into a file that carom_mesh_load takes, and every command that reads a mesh.",
		.details = "Materials of an OBJ file (usemtl) become numbers from 1 on, in the order of their first use; 0: none.\n"
				   "The file is a cache for this version of the library: keep the mesh that it was made from.",
		.options = options,
		.least = 1,
		.most = 1,
	};
	int count;
	return options_parse(&line, argc, argv, &o->path, &count);
}

static int check_use(bake_options *o)
{
	if (!o->output)
		return options_misuse("bake", "-o FILE is missing");
	if (!io_is_device(o->output) && !io_has_extension(o->output, IO_BAKED_EXTENSION))
		return options_misuse("bake", "-o %s: the name must end in %s", o->output, IO_BAKED_EXTENSION);
	if (o->hull && (o->sides != SIDES_OF_FILE || o->grid >= 0))
		return options_misuse("bake", "--hull goes with neither --sides nor --grid: a hull is closed, and has its own grid");
	if (o->hull && o->weld_distance > 0)
		return options_misuse("bake", "--hull does not go with --weld-distance: a hull has no cracks");
	if (o->build != BUILD_OF_FILE && (o->hull || o->scale))
		return options_misuse("bake", "--build goes with neither --hull nor --scale: their trees are built by sah");
	for (int k = 0; k < 3; k++)
		o->factors[k] = 1;
	if (o->scale && !options_parse_reals(o->scale, 3, o->factors)) {
		if (!options_parse_reals(o->scale, 1, o->factors))
			return options_misuse("bake", "--scale %s: must be one number, or three: X,Y,Z", o->scale);
		o->factors[1] = o->factors[2] = o->factors[0];
	}
	for (int k = 0; k < 3; k++) {
		if (o->factors[k] == 0)
			return options_misuse("bake", "--scale %s: must not be 0", o->scale);
	}
	return OPTIONS_GO_ON;
}

/// The mesh of the file as the options want it.
static bool read_source(const bake_options *o, sim_mesh *mesh)
{
	sim_error error;
	if (!io_load_mesh(o->path, mesh, &error)) {
		report_error(o->path, "%s", error.text);
		return false;
	}
	if (o->scalar == SCALAR_FLOAT32)
		mesh_input_drop_doubles(mesh);
	if (o->sides != SIDES_OF_FILE) {
		io_forget_baked(mesh);
		mesh->sides = o->sides;
	}
	if (o->weld_distance > 0)
		io_forget_baked(mesh);
	if (!o->weld || io_weld_mesh(mesh))
		return true;
	report_error(o->path, "out of memory");
	sim_mesh_free(mesh);
	return false;
}

static carom_result make(const bake_options *o, carom_context *context, const sim_mesh *source, carom_mesh **mesh)
{
	carom_mesh_report report;
	if (o->hull) {
		const carom_strided points = io_mesh_vertices(source);
		return carom_create_hull(context, &points, source->vertex_count, mesh);
	}
	if (source->baked && o->grid < 0 && o->build == BUILD_OF_FILE)
		return io_create_mesh(context, source, CAROM_GRID_BY_SIZE, &report, mesh);
	carom_mesh_def def = io_mesh_def(source);
	def.materials = source->materials;
	def.grid_resolution = (int32_t)o->grid;
	def.weld_distance = o->weld_distance;
	if (o->build != BUILD_OF_FILE)
		def.build = (carom_mesh_build)o->build;
	return carom_create_mesh(context, &def, &report, mesh);
}

/// Make the mesh, scaled. NULL after a message.
static carom_mesh *make_scaled(const bake_options *o, carom_context *context, const sim_mesh *source)
{
	carom_mesh *mesh = NULL, *scaled = NULL;
	carom_result result = make(o, context, source, &mesh);
	if (result == CAROM_SUCCESS && o->scale) {
		result = carom_create_scaled_mesh(context, mesh, o->factors, &scaled);
		carom_release_mesh(mesh);
		mesh = scaled;
	}
	if (result == CAROM_INVALID_MESH)
		report_error(o->path, "%s; `carom info` lists all that is wrong with a mesh", carom_error_text(context));
	else if (result != CAROM_SUCCESS)
		report_error(o->path, "%s", carom_error_text(context));
	return result == CAROM_SUCCESS ? mesh : NULL;
}

/// Load the written file, as a program will: the file is whole, and the time is known.
static int load_again(const bake_options *o, carom_context *context, bake_facts *f)
{
	sim_error error;
	io_input input;
	carom_mesh *mesh;
	size_t size;
	if (!io_open_input(&input, o->output, &error))
		return report_error(o->output, "%s", error.text);
	char *bytes = io_take_rest(&input, &size, &error);
	io_close_input(&input);
	if (!bytes)
		return report_error(o->output, "%s", error.text);
	const char *text;
	const double begin = sim_now_ms();
	const carom_result result = io_load_baked(context, bytes, size, &mesh, &text);
	f->ms_load = sim_now_ms() - begin;
	free(bytes);
	if (result != CAROM_SUCCESS)
		return report_error(o->output, "%s", text);
	carom_release_mesh(mesh);
	return EXIT_DONE;
}

/// A closed mesh would ignore them.
static int refuse_sides(const bake_options *o)
{
	return report_error(o->path, "--sides %s: the mesh is closed%s", mesh_sides_words[o->sides],
		o->sides == CAROM_SIDES_CONTAINER
			? ", but it encloses nothing, so it is no container"
			: ", so it has an inside and no sides; --sides container makes a closed mesh collide from within");
}

static int bake(const bake_options *o, carom_context *context, const sim_mesh *source, bake_facts *f)
{
	char findings[600];
	sim_error error;
	const double begin = sim_now_ms();
	carom_mesh *mesh = make_scaled(o, context, source);
	f->ms_make = sim_now_ms() - begin;
	if (!mesh)
		return EXIT_FAILED;
	f->report = *carom_mesh_get_report(mesh);
	if (o->sides > CAROM_SIDES_AUTO && f->report.closed) {
		carom_release_mesh(mesh);
		return refuse_sides(o);
	}
	mesh_input_findings(&f->report, findings, sizeof findings);
	if (findings[0])
		report_warning(o->path, "%s", findings);
	const bool saved = io_save_baked(context, mesh, o->output, &f->bytes, &error);
	carom_release_mesh(mesh);
	if (!saved)
		return report_error(o->output, "%s", error.text);
	f->ms_load = NAN;
	return io_is_device(o->output) ? EXIT_DONE : load_again(o, context, f);
}

// ---- Printing ----

static int print_json(const bake_options *o, const sim_mesh *source, const bake_facts *f)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "source", o->path);
	cJSON_AddStringToObject(json, "file", o->output);
	cJSON_AddNumberToObject(json, "bytes", (double)f->bytes);
	cJSON_AddNumberToObject(json, "vertices", f->report.vertex_count);
	cJSON_AddNumberToObject(json, "triangles", f->report.triangle_count);
	cJSON_AddBoolToObject(json, "hull", o->hull);
	cJSON_AddBoolToObject(json, "closed", f->report.closed);
	cJSON_AddStringToObject(json, "sides", mesh_sides_words[source->sides]);
	cJSON *materials = cJSON_AddArrayToObject(json, "materials");
	const char *name = source->material_names;
	for (int32_t i = 0; i < source->material_count && !o->hull; i++, name += strlen(name) + 1)
		cJSON_AddItemToArray(materials, cJSON_CreateString(name));
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "read", f->ms_read);
	cJSON_AddNumberToObject(ms, "make", f->ms_make);
	if (isfinite(f->ms_load))
		cJSON_AddNumberToObject(ms, "load", f->ms_load);
	return report_json(json);
}

static int print_text(const bake_options *o, const sim_mesh *source, const bake_facts *f)
{
	printf("%s: %s%d vertices, %d triangles, %.1f KiB\n", o->output, o->hull ? "a hull, " : "", f->report.vertex_count,
		f->report.triangle_count, (double)f->bytes / 1024);
	printf("  %-12s %.3f ms to read the source, %.3f to make the mesh", "times", f->ms_read, f->ms_make);
	if (isfinite(f->ms_load))
		printf(", %.3f to load the baked one", f->ms_load);
	putchar('\n');
	const char *name = source->material_names;
	for (int32_t i = 0; i < source->material_count && !o->hull; i++, name += strlen(name) + 1)
		printf("  %-12s %d: %s\n", i ? "" : "materials", i + 1, name);
	return report_end_of_text();
}

int cmd_bake(int argc, char **argv)
{
	bake_options o = { .sides = SIDES_OF_FILE, .build = BUILD_OF_FILE, .grid = CAROM_GRID_BY_SIZE };
	int status = parse(&o, argc, argv);
	if (status == OPTIONS_GO_ON)
		status = check_use(&o);
	if (status != OPTIONS_GO_ON)
		return status;
	bake_facts facts = { 0 };
	sim_mesh source;
	const double begin = sim_now_ms();
	if (!read_source(&o, &source))
		return EXIT_FAILED;
	facts.ms_read = sim_now_ms() - begin;
	carom_context *context = report_create_context(1, CAROM_SIMD_AUTO);
	status = context ? bake(&o, context, &source, &facts) : EXIT_FAILED;
	if (status == EXIT_DONE)
		status = (o.json ? print_json : print_text)(&o, &source, &facts);
	carom_destroy_context(context);
	sim_mesh_free(&source);
	return status;
}
