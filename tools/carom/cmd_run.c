// `carom run`: simulate a scene. What the scene describes decides who does it: run_bodies.c or run_spheres.c.
#include "commands.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "sim/granular_scene.h"
#include "sim/json_reader.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

// Set by an interrupt (Ctrl-C): the run ends after the present step, and what there is so far is written.
static volatile sig_atomic_t interrupted;
static time_t interrupted_at; // the handler alone uses it

// One that comes a second later ends the program at once. Sooner it is the same one: `timeout` sends each signal twice.
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
	static const char *const backends[] = { "cpu", NULL };
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
			.help = "write stats.csv, summary.json, last.png and recording.h5 (spheres: checkpoint.h5) there" },
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
		{ .name = "no-picture", .kind = OPTION_FLAG, .value = &o->no_picture, .help = "leave out last.png" },
		{ .name = "backend",
			.argument = "NAME",
			.kind = OPTION_CHOICE,
			.value = &o->backend,
			.choices = backends,
			.help = "what detects (cpu)" },
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
		.summary = "Simulate a scene: rigid bodies, or millions of spheres, fall, collide and come to rest.",
		.details = "docs/scenes.md describes scene files and what a run writes.",
		.options = options,
		.least = 1,
		.most = 1,
	};
	int count;
	return options_parse(&line, argc, argv, &o->scene, &count);
}

// ---- What both kinds share ----

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

// ---- The command ----

// Options that the kind of scene does not know: better said than ignored.
static int check_kind(const run_options *o, bool spheres)
{
	const char *wrong = NULL;
	if (spheres && o->contacts)
		wrong = "contacts";
	else if (!spheres && o->count > 0)
		wrong = "count";
	else if (!spheres && o->snapshots >= 0)
		wrong = "snapshots";
	else if (!spheres && o->checkpoints >= 0)
		wrong = "checkpoint";
	else if (!spheres && o->restart)
		wrong = "restart";
	if (wrong)
		return options_misuse("run", "--%s is for scenes of %s; %s is one of %s", wrong, spheres ? "bodies" : "spheres",
			o->scene, spheres ? "spheres" : "bodies");
	return EXIT_DONE;
}

int cmd_run(int argc, char **argv)
{
	run_options o = { .snapshots = -1, .checkpoints = -1 };
	char error[600];
	int status = parse(&o, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	char *text = sim_read_text(o.scene, &o.text_size, error, sizeof error);
	if (!text)
		return report_error(NULL, "%s", error);
	o.text = text;
	const bool spheres = sim_is_granular_scene(text, o.text_size);
	status = check_kind(&o, spheres);
	if (status == EXIT_DONE)
		status = spheres ? run_spheres(&o) : run_bodies(&o);
	free(text);
	return status;
}
