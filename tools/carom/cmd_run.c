// `carom run`: simulate a scene. What the scene describes decides who does it: run_bodies.c, run_spheres.c or
// run_cloth.c.
#include "commands.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "scene/granular_scene.h"
#include "io/json_reader.h"
#include "scene/soft_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

// Set by an interrupt (Ctrl-C): the run ends after the present step, and what there is so far is written.
static volatile sig_atomic_t interrupted;
static time_t interrupted_at; // the handler alone uses it

/// One that comes a second later ends the program at once. Sooner it is the same one: `timeout` sends each signal twice.
static void on_interrupt(int number)
{
	const time_t now = time(NULL);
	if (interrupted && now - interrupted_at > 1) {
		signal(number, SIG_DFL);
		raise(number);
	}
	if (!interrupted)
		interrupted_at = now;
	interrupted = 1;
}

void run_watch_interrupts(bool watch)
{
	struct sigaction action = { .sa_handler = watch ? on_interrupt : SIG_DFL };
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool run_interrupted(void) { return interrupted; }

static int parse(run_options *o, int argc, char **argv)
{
	const option options[] = {
		{ .name = "steps",
			.letter = 's',
			.argument = "N",
			.kind = OPTION_INTEGER,
			.value = &o->steps,
			.minimum = 1,
			.maximum = 1e9,
			.help = "steps to do in all (the scene's)" },
		{ .name = "threads",
			.letter = 't',
			.argument = "N",
			.kind = OPTION_INTEGER,
			.value = &o->threads,
			.maximum = 256,
			.help = "threads of the detection (0: one for each core); results do not depend on it" },
		{ .name = "mesh",
			.letter = 'm',
			.argument = "NAME=FILE",
			.kind = OPTION_LIST,
			.value = &o->meshes,
			.help = "take the scene's mesh NAME from a file" },
		{ .name = "out",
			.letter = 'o',
			.argument = "DIR",
			.kind = OPTION_TEXT,
			.value = &o->out,
			.help = "write stats.csv, summary.json, last.png and recording.h5 (spheres: checkpoint.h5; cloth: frames) there" },
		{ .name = "contacts",
			.letter = 'c',
			.kind = OPTION_FLAG,
			.value = &o->contacts,
			.help = "bodies: record the contacts too, whatever the scene says" },
		{ .name = "count",
			.argument = "N",
			.kind = OPTION_INTEGER,
			.value = &o->count,
			.minimum = 1,
			.maximum = CAROM_MAX_SPHERES,
			.help = "spheres: how many random ones (the scene's)" },
		{ .name = "snapshots",
			.argument = "N",
			.kind = OPTION_INTEGER,
			.value = &o->snapshots,
			.minimum = 0,
			.maximum = 1e9,
			.help = "spheres: write spheres.pvd for ParaView, a file every N steps; 0: none (the scene's)" },
		{ .name = "checkpoint",
			.argument = "N",
			.kind = OPTION_INTEGER,
			.value = &o->checkpoints,
			.minimum = 0,
			.maximum = 1e9,
			.help = "spheres: write checkpoint.h5 every N steps too; 0: at the end only (the scene's)" },
		{ .name = "restart",
			.argument = "FILE",
			.kind = OPTION_TEXT,
			.value = &o->restart,
			.help = "spheres: go on from a checkpoint, bit for bit, up to the same number of steps" },
		{ .name = "resolution",
			.argument = "R",
			.kind = OPTION_REAL,
			.value = &o->resolution,
			.minimum = 1e-3,
			.maximum = 1e3,
			.help = "cloth: factor of the divisions of all surfaces (the scene's)" },
		{ .name = "frames",
			.argument = "N",
			.kind = OPTION_INTEGER,
			.value = &o->frames,
			.minimum = 0,
			.maximum = 1e9,
			.help = "cloth: write frames/*.ply (or .obj, as the scene says) every N steps; 0: none (the scene's)" },
		{ .name = "movie",
			.kind = OPTION_FLAG,
			.value = &o->movie,
			.help = "cloth: write movie.mp4 too, a picture for each step (needs ffmpeg)" },
		{ .name = "no-picture", .kind = OPTION_FLAG, .value = &o->no_picture, .help = "leave out last.png" },
		{ .name = "simd",
			.argument = "SET",
			.kind = OPTION_CHOICE,
			.value = &o->simd,
			.choices = options_simd_words,
			.help = "instruction set (auto); results do not depend on it" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print the summary as one JSON object" },
		{ 0 },
	};
	const command_line line = {
		.command = "run",
		.synopsis = "SCENE.json [options]",
		.summary = "Simulate a scene: rigid bodies, millions of spheres, or cloth fall, collide and come to rest.",
		.details =
			"docs/scenes.md describes scene files and what a run writes. Coordinates of mesh files are moved and scaled as the\n"
			"scene asks and then rounded to float: simulations compute with floats about the origin of each mesh.",
		.options = options,
		.least = 1,
		.most = 1,
	};
	int count;
	return options_parse(&line, argc, argv, &o->scene, &count);
}

// ---- What all kinds share ----

/// The lock is one on the folder itself: no file is left over, and the system gives it up with the program, however that ends.
int run_open_folder(const run_options *options)
{
	if (!options->out)
		return EXIT_DONE;
	if (report_make_folder(options->out) != EXIT_DONE)
		return EXIT_FAILED;
	const int folder = open(options->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC); // stays open
	if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0)
		return EXIT_DONE;
	if (folder >= 0 && errno == EWOULDBLOCK)
		return report_error(options->out, "another run is writing into this folder: wait for its end, or take another --out");
	report_warning(options->out, "cannot be locked (%s): see to it that no other run writes there", strerror(errno));
	return EXIT_DONE;
}

void run_out_path(const run_options *options, const char *name, char path[SIM_PATH_MAX])
{
	snprintf(path, SIM_PATH_MAX, "%s/%s", options->out, name);
}

int run_write_summary(const run_options *options, cJSON *json)
{
	char path[SIM_PATH_MAX];
	sim_output_file file;
	char *text = json ? cJSON_Print(json) : NULL;
	cJSON_Delete(json);
	if (!text)
		return report_error(NULL, "out of memory");
	run_out_path(options, "summary.json", path);
	int status = report_open(&file, path);
	if (status == EXIT_DONE) {
		fprintf(file.stream, "%s\n", text);
		status = report_commit(&file);
	}
	free(text);
	return status;
}

int run_end(int status, int64_t done, int64_t wanted)
{
	if (interrupted)
		return report_error(
			NULL, "interrupted after %lld of %lld steps; what is written covers these", (long long)done, (long long)wanted);
	return status;
}

int run_replace_meshes(const run_options *options, sim_scene *scene)
{
	sim_error error;
	for (int i = 0; i < options->meshes.count; i++) {
		if (!sim_scene_replace_mesh(scene, options->meshes.items[i], &error)) {
			return report_error(NULL, "--mesh: %s", error.text);
		}
	}
	return EXIT_DONE;
}

int run_write_picture(const run_options *options, const char *name, sim_image *image)
{
	char path[SIM_PATH_MAX];
	sim_error error;
	run_out_path(options, name, path);
	const bool done = sim_write_png(path, image, &error);
	sim_destroy_image(image);
	return done ? EXIT_DONE : report_error(path, "%s", error.text);
}

int run_go(const run_stages *stages, void *run, sim_output_file *stats)
{
	int status = stages->prepare(run);
	if (status == EXIT_DONE) {
		run_watch_interrupts(true);
		status = stages->simulate(run);
		if (status == EXIT_DONE) {
			status = stages->finish(run);
		}
		if (stats->stream) {
			report_commit(stats);
		}
		run_watch_interrupts(false);
	}
	sim_output_abandon(stats);
	return status;
}

// ---- The command ----

typedef enum scene_kind { SCENE_BODIES = 1, SCENE_SPHERES = 2, SCENE_CLOTH = 4 } scene_kind;

static const char *kind_word(scene_kind kind)
{
	return kind == SCENE_BODIES ? "bodies" : (kind == SCENE_SPHERES ? "spheres" : "cloth");
}

/// Options that the kind of scene does not know: better said than ignored.
static int check_kind(const run_options *o, scene_kind kind)
{
	const struct {
		const char *name;
		bool given;
		scene_kind of;
	} options[] = {
		{ "contacts", o->contacts, SCENE_BODIES },
		{ "count", o->count > 0, SCENE_SPHERES },
		{ "snapshots", o->snapshots >= 0, SCENE_SPHERES },
		{ "checkpoint", o->checkpoints >= 0, SCENE_SPHERES },
		{ "restart", o->restart != NULL, SCENE_SPHERES },
		{ "resolution", o->resolution > 0, SCENE_CLOTH },
		{ "frames", o->frames >= 0, SCENE_CLOTH },
		{ "movie", o->movie, SCENE_CLOTH },
	};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		if (options[i].given && kind != options[i].of)
			return options_misuse("run", "--%s is for scenes of %s; %s is one of %s", options[i].name, kind_word(options[i].of),
				o->scene, kind_word(kind));
	}
	return EXIT_DONE;
}

int cmd_run(int argc, char **argv)
{
	run_options o = { .snapshots = -1, .checkpoints = -1, .frames = -1 };
	sim_error error;
	int status = parse(&o, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	char *text = sim_read_text(o.scene, &o.text_size, &error);
	if (!text)
		return report_error(NULL, "%s", error.text);
	o.text = text;
	const scene_kind kind = sim_is_granular_scene(text, o.text_size) ? SCENE_SPHERES
		: sim_is_soft_scene(text, o.text_size)                       ? SCENE_CLOTH
																	 : SCENE_BODIES;
	status = check_kind(&o, kind);
	if (status == EXIT_DONE)
		status = kind == SCENE_SPHERES ? run_spheres(&o) : (kind == SCENE_CLOTH ? run_cloth(&o) : run_bodies(&o));
	free(text);
	return status;
}
