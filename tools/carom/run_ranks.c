// `carom run` on several processes: see run_ranks.h.
#include "run_ranks.h"

#include "devices.h"
#include "report.h"
#include "io/own_place.h"
#include "sim/grains/granular_ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int run_check_ranks(const run_options *o, const scene_description *scene)
{
	const struct {
		bool asked;
		const char *what;
	} faults[] = {
		{ scene->has_deforming, "the scene has \"deforming\", and only spheres are shared by ranks" },
		{ !scene->has_spheres, "the scene has no \"spheres\", and these alone are shared by ranks" },
		{ scene->spheres.two_way,
			"the spheres of the scene push its \"bodies\" (\"two_way\"), and ranks share spheres only where bodies push them" },
		{ scene->output.contacts, "points of contact are not written by several ranks (--contacts, \"output\")" },
		{ o->backend == BACKEND_VULKAN, "several ranks run on processors (--backend cpu)" },
		{ o->view || o->view_port >= 0, "a run on several ranks is not shown (--view)" },
	};
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		if (faults[i].asked)
			return report_error(o->scene, "--ranks: %s", faults[i].what);
	}
	return EXIT_DONE;
}

int run_share(run *r)
{
	sim_error error;
	const sim_ranks *ranks = r->options->ranks;
	if (!ranks || sim_granular_get_ranks(r->parts.granular) || sim_granular_share(r->parts.granular, ranks, &error))
		return EXIT_DONE;
	return report_error(NULL, "%s", error.text);
}

bool run_ranks_go_on(const run *r, bool interrupted)
{
	return r->options->ranks ? sim_all_ranks(r->options->ranks, !interrupted) : !interrupted;
}

// ---- Starting ----

/// Is there a program of that name in PATH?
static bool is_in_path(const char *name)
{
	char file[IO_PATH_MAX];
	const char *path = getenv("PATH");
	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	while (path && *path) {
		const size_t length = strcspn(path, ":");
		snprintf(file, sizeof file, "%.*s/%s", (int)length, path, name);
		if (access(file, X_OK) == 0)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

/// carom-mpi: beside this program, or in PATH. False when it is nowhere.
static bool find_program(char program[IO_PATH_MAX])
{
	if (io_own_place("carom-mpi", program) && access(program, X_OK) == 0)
		return true;
	strcpy(program, "carom-mpi");
	return is_in_path(program);
}

enum { MOST_WORDS = 32 }; // of CAROM_MPIRUN

/// The words of CAROM_MPIRUN, or mpirun. text holds them. Returns how many.
static int split_launcher(char *text, size_t size, char *words[MOST_WORDS])
{
	const char *given = getenv("CAROM_MPIRUN");
	int count = 0;
	snprintf(text, size, "%s", given && *given ? given : "mpirun");
	for (char *rest = text, *word; count < MOST_WORDS && (word = strtok_r(rest, " ", &rest)) != NULL;)
		words[count++] = word;
	return count;
}

/// Copy the arguments of `run` without --ranks. Returns how many.
static int copy_arguments(int argc, char **argv, char **to)
{
	int count = 0;
	bool options = true; // behind "--" there are none
	for (int i = 0; i < argc; i++) {
		options = options && strcmp(argv[i], "--") != 0;
		if (options && strcmp(argv[i], "--ranks") == 0)
			i++;
		else if (!options || strncmp(argv[i], "--ranks=", 8) != 0)
			to[count++] = argv[i];
	}
	return count;
}

static int start(int64_t ranks, char *program, int argc, char **argv)
{
	char text[1024], number[24], *words[MOST_WORDS];
	int count = split_launcher(text, sizeof text, words);
	char **all = calloc((size_t)(count + argc + 4), sizeof *all);
	if (!all)
		return report_error(NULL, "out of memory");
	if (count == 0 || !is_in_path(words[0])) {
		free(all);
		return report_error(NULL, "--ranks: %s is not found: install MPI (Debian: openmpi-bin), or name it in CAROM_MPIRUN",
			count > 0 ? words[0] : "CAROM_MPIRUN");
	}
	memcpy(all, words, (size_t)count * sizeof *words);
	snprintf(number, sizeof number, "%lld", (long long)ranks);
	all[count++] = (char[]){ "-n" };
	all[count++] = number;
	all[count++] = program;
	copy_arguments(argc, argv, all + count);
	// Open MPI counts cores; who asks for more processes on this machine means it.
	setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
	execvp(all[0], all);
	const int status = report_error(NULL, "--ranks: %s cannot be started: %s", all[0], strerror(errno));
	free(all);
	return status;
}

int run_start_ranks(const run_options *options, int argc, char **argv)
{
	char program[IO_PATH_MAX];
	const int status = run_check_scene(options);
	if (status != EXIT_DONE)
		return status;
	if (!find_program(program))
		return report_error(NULL, "--ranks: carom-mpi is not there: build Carom with CAROM_MPI=ON (docs/guide/ranks.md)");
	return start(options->rank_count, program, argc, argv);
}
