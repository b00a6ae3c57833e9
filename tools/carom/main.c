// The command `carom`: finds the sub-command and hands over.
#include "commands.h"
#include "manual.h"
#include "options.h"
#include "report.h"

#include "io/json_memory.h"
#include "sim/base/words.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "run", cmd_run, "simulate a scene: statistics, recording, picture" },
	{ "replay", cmd_replay, "detect collisions over recorded poses: times, pairs, contacts" },
	{ "check", cmd_check, "do two meshes, or one with itself, collide: where, how deep" },
	{ "spheres", cmd_spheres, "all pairs of touching spheres of a snapshot, CSV or PLY file: count, times" },
	{ "ccd", cmd_ccd, "impacts of a deforming mesh between frames: features, times" },
	{ "bench", cmd_bench, "reproduce the tables and figures of the papers" },
	{ "make", cmd_make, "make a closed concave mesh of a wanted size, or spheres" },
	{ "bake", cmd_bake, "make the trees of a mesh once, into a file that is loaded instead of made" },
	{ "render", cmd_render, "draw a recording as pictures or a movie" },
	{ "export", cmd_export, "make one page of a recording that plays it in a browser, offline" },
	{ "info", cmd_info, "what a mesh, a motion, a recording or a file of spheres holds, and what is wrong with it" },
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static int print_help(void)
{
	puts("carom COMMAND [arguments]\n\nFinds every collision between rigid concave meshes, within deforming ones, and between\n"
		 "millions of spheres.\n\nCommands:");
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].summary);
	puts("\n`carom COMMAND --help` explains a command. All take --json. `carom --version` names the version.\n"
		 "`carom --help=bash` (zsh, fish) prints completion for that shell, `carom [COMMAND] --help=man` a manual page.\n"
		 "Exit code: 0 done, 1 bad input or failure, 2 wrong use.");
	return report_end_of_text();
}

/// `carom --help=FORM`: all commands in a form for other programs.
static int print_form(const char *form)
{
	manual_entry entries[COMMAND_COUNT + 1];
	for (int i = 0; i < COMMAND_COUNT; i++)
		entries[i] = (manual_entry){ commands[i].name, commands[i].summary };
	entries[COMMAND_COUNT] = (manual_entry){ "make spheres", "fill a mesh with spheres, or strew spheres at random" };
	if (!manual_print_head(form, entries, COMMAND_COUNT + 1))
		return manual_misuse(NULL, form);
	char help[32], below[] = "spheres";
	snprintf(help, sizeof help, "--help=%s", form);
	for (int i = 0; i < COMMAND_COUNT && manual_has_parts(form); i++) {
		char name[16];
		snprintf(name, sizeof name, "%s", commands[i].name);
		commands[i].run(2, (char *[]){ name, help, NULL });
		if (commands[i].run == cmd_make)
			cmd_make(3, (char *[]){ name, below, help, NULL });
	}
	manual_print_tail(form, entries, COMMAND_COUNT + 1);
	return report_end_of_text();
}

static int print_version(void)
{
	const carom_version version = carom_get_version();
	printf("carom %d.%d.%d\n", version.major, version.minor, version.patch);
	return report_end_of_text();
}

static int unknown_command(const char *word)
{
	const char *names[COMMAND_COUNT + 3] = { "--help", "--version" };
	for (int i = 0; i < COMMAND_COUNT; i++)
		names[i + 2] = commands[i].name;
	const char *nearest = sim_nearest_word(word, names);
	const char *what = word[0] == '-' ? "option" : "command";
	if (nearest)
		return options_misuse(NULL, "there is no %s %s; did you mean %s?", what, word, nearest);
	return options_misuse(NULL, "there is no %s %s", what, word);
}

/// Is the option --json among the words of a command?
static bool wants_json(int argc, char **argv)
{
	for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	io_json_failures(); // counts from now on
	// a file that would get too large is a write that fails, with a message
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2)
		return options_misuse(NULL, "a command is missing");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_help();
	if (strncmp(argv[1], "--help=", 7) == 0)
		return print_form(argv[1] + 7);
	if (strcmp(argv[1], "--version") == 0)
		return print_version();
	for (int i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		const int status = commands[i].run(argc - 1, argv + 1);
		return wants_json(argc, argv) ? report_failure(status) : status;
	}
	return unknown_command(argv[1]);
}
