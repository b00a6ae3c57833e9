// `carom export`: its options, finding what a run left behind, and which form it gets.
#include "calls.h"
#include "commands.h"
#include "export.h"
#include "export_model.h"
#include "options.h"
#include "report.h"

#include "io/input_file.h"
#include "io/json_memory.h"
#include "io/output_file.h"
#include "io/own_place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static export_options given = { .every = 1, .max_mb = 100, .checks = 24 };

static const option OPTIONS[] = {
	{ .name = "output",
		.letter = 'o',
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.value = &given.output,
		.file = OPTION_WRITES,
		.help = "a page, NAME.html, or a model: NAME.gltf, NAME.glb, NAME.usda" },
	{ .name = "every",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.every,
		.minimum = 1,
		.maximum = 1e9,
		.help = "take each Nth frame (1)" },
	{ .name = "max-mb",
		.argument = "MB",
		.kind = OPTION_REAL,
		.value = &given.max_mb,
		.minimum = 0.1,
		.maximum = 400,
		.help = "largest size of the page, millions of bytes (100): frames, then spheres, are left out until it fits" },
	{ .name = "checks",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.checks,
		.minimum = 1,
		.maximum = 1e6,
		.help = "frames, evenly, whose contacts are found here too, for the page to be compared with (24)" },
	{ .name = "module",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.value = &given.module,
		.file = OPTION_READS,
		.help = "carom.wasm of ./dev wasm, with which the page finds contacts (the one beside the command)" },
	CALLS_OPTIONS,
	{ .name = "json", .kind = OPTION_FLAG, .value = &given.json, .help = "print one JSON object on stdout" },
	{ 0 },
};

// ---- The module ----

/// The module that was named, or the one beside the command: in its folder, or in share/carom.
static bool find_module(char path[IO_PATH_MAX])
{
	static const char *const places[] = { "carom.wasm", "../share/carom/carom.wasm" };
	for (int i = 0; i < 2; i++) {
		if (io_own_place(places[i], path) && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/// Read the module where there are rigid bodies. Without one the page finds no contacts.
static int read_module(export_source *source, const char *given_path, bool quietly)
{
	static const char magic[4] = { 0, 'a', 's', 'm' };
	char found[IO_PATH_MAX];
	sim_error error;
	io_input input;
	const char *path = given_path ? given_path : (find_module(found) ? found : NULL);
	// The contacts of recorded calls depend on filters and on earlier steps, which a page lacks.
	if (!source->bodies || export_is_of_calls(source))
		return EXIT_DONE;
	if (!path) {
		if (!quietly)
			fputs("carom: note: there is no carom.wasm (./dev wasm makes it): the page shows recorded contacts alone\n", stderr);
		return EXIT_DONE;
	}
	if (!io_open_input(&input, path, &error))
		return report_error(path, "%s", error.text);
	export_bodies *b = source->bodies;
	b->module = io_take_rest(&input, &b->module_size, &error);
	io_close_input(&input);
	if (!b->module)
		return report_error(path, "%s", error.text);
	return b->module_size > sizeof magic && !memcmp(b->module, magic, sizeof magic)
		? EXIT_DONE
		: report_error(path, "is no module of WebAssembly");
}

// ---- The command ----

static bool is_gltf(const char *path) { return io_has_extension(path, ".gltf") || io_has_extension(path, ".glb"); }
static bool is_usda(const char *path) { return io_has_extension(path, ".usda"); }
static bool is_page(const char *path)
{
	return io_has_extension(path, ".html") || io_has_extension(path, ".htm") || io_is_device(path);
}

/// Write glTF or USD.
static int write_model(export_source *source, cJSON *report)
{
	model m = { 0 };
	struct stat file = { 0 };
	if (is_gltf(given.output) && !source->bodies && !source->deforming)
		return report_error(source->path, "holds spheres alone, for which glTF has no form: write .usda");
	if (is_gltf(given.output) && source->spheres)
		report_warning(source->path, "the spheres are left out, for glTF has no form for them: .usda has");
	int status = model_open(&m, source, given.every);
	if (status == EXIT_DONE)
		status = is_usda(given.output) ? export_write_usda(&m, given.output) : export_write_gltf(&m, given.output);
	if (status == EXIT_DONE && stat(given.output, &file) == 0 && !report)
		fprintf(stderr, "%s: %.2f MB, %d bodies of %d shapes, each %lld. frame\n", given.output, 1e-6 * (double)file.st_size,
			(int)m.body_count, (int)m.shape_count, (long long)m.every);
	if (report) {
		cJSON_AddStringToObject(report, "output", given.output);
		cJSON_AddNumberToObject(report, "bytes", (double)file.st_size);
		cJSON_AddNumberToObject(report, "every", (double)m.every);
		cJSON_AddNumberToObject(report, "bodies", m.body_count);
		cJSON_AddNumberToObject(report, "shapes", m.shape_count);
	}
	model_close(&m);
	return status;
}

static int parse(int argc, char **argv)
{
	const command_line line = { .command = "export",
		.synopsis = "RECORDING [RECORDING] [options] -o PAGE.html|MODEL.gltf|MODEL.glb|MODEL.usda",
		.summary = "Make one HTML file that plays a run of `carom run` in a browser, or a model of it for other programs.",
		.details =
			"RECORDING is the folder of --out, with rigid bodies, deforming bodies and spheres together; or a recording.h5, or a\n"
			"spheres.pvd alone; or a recording of library calls (carom_world_record), which is replayed.\n"
			"The page shows motions and contacts, lets bodies be picked, and draws the columns of stats.csv.\n"
			"Two RECORDINGs are shown side by side, with one clock and one camera, and the page tells where their tables differ.\n"
			"Places are rounded to a small part of a body, an edge or a radius. docs/guide/browser.md describes the page.\n"
			"Models have all places as floats: glTF rigid bodies, and deforming bodies as morph targets; USD spheres, too.",
		.options = OPTIONS,
		.least = 1,
		.most = 2 };
	int count, status = options_parse(&line, argc, argv, given.recordings, &count);
	if (status != OPTIONS_GO_ON)
		return status;
	if (!given.output)
		return options_misuse("export", "say where it goes: -o PAGE.html, or MODEL.gltf, .glb, .usda");
	if (!is_page(given.output) && !is_gltf(given.output) && !is_usda(given.output))
		return options_misuse("export", "'%s' ends in none of .html, .gltf, .glb, .usda", given.output);
	if (given.recordings[1] && !is_page(given.output))
		return options_misuse("export", "two recordings go into a page; a model is of one");
	return calls_check_options("export");
}

/// Open the sources, and write what is wanted of them.
static int export_all(export_source sources[2], int count, cJSON *report)
{
	int status = EXIT_DONE;
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		status = export_open(&sources[i], given.recordings[i]);
	if (status == EXIT_DONE && !is_page(given.output))
		return write_model(&sources[0], report);
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		status = read_module(&sources[i], given.module, i > 0);
	return status == EXIT_DONE ? export_write_page(&given, sources, count, report) : status;
}

int cmd_export(int argc, char **argv)
{
	export_source sources[2] = { { .threads = 1 }, { .threads = 1 } };
	int status = parse(argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	const int count = given.recordings[1] ? 2 : 1;
	cJSON *report = given.json ? cJSON_CreateObject() : NULL;
	status = export_all(sources, count, report);
	for (int i = 0; i < count; i++)
		export_close(&sources[i]);
	if (status == EXIT_DONE && given.json)
		return report_json(report);
	cJSON_Delete(report);
	return status;
}
