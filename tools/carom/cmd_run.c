// `carom run`: simulate a scene. Its options; run.c does the work.
#include "devices.h"
#include "commands.h"
#include "options.h"
#include "run_ranks.h"

static run_options given = { .snapshots = -1, .checkpoints = -1, .frames = -1, .view_port = -1 };

static const option OPTIONS[] = {
	{ .name = "steps",
		.letter = 's',
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.steps,
		.minimum = 1,
		.maximum = 1e9,
		.help = "steps to do in all (the scene's)" },
	{ .name = "threads",
		.letter = 't',
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.threads,
		.maximum = 256,
		.help = "threads of the detection (0: one for each core); results do not depend on it" },
	{ .name = "mesh",
		.letter = 'm',
		.argument = "NAME=FILE",
		.kind = OPTION_LIST,
		.value = &given.meshes,
		.file = OPTION_READS,
		.help = "take the scene's mesh NAME from a file" },
	{ .name = "out",
		.letter = 'o',
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.value = &given.out,
		.file = OPTION_FOLDER,
		.help = "write stats.csv, summary.json, last.png, recording.h5, frames, checkpoint.h5 there, as the scene has it" },
	{ .name = "contacts",
		.letter = 'c',
		.kind = OPTION_FLAG,
		.value = &given.contacts,
		.help = "record the contacts too, whatever the scene says: in recording.h5, and as .csv beside frames" },
	{ .name = "count",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.count,
		.minimum = 1,
		.maximum = CAROM_MAX_SPHERES,
		.help = "spheres: how many random ones (the scene's)" },
	{ .name = "snapshots",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.snapshots,
		.minimum = 0,
		.maximum = 1e9,
		.help = "spheres: write spheres.pvd for ParaView, a file every N steps; 0: none (the scene's)" },
	{ .name = "checkpoint",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.checkpoints,
		.minimum = 0,
		.maximum = 1e9,
		.help = "write checkpoint.h5 every N steps and at the end; 0: at the end only (the scene's)" },
	{ .name = "restart",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.value = &given.restart,
		.file = OPTION_READS,
		.help = "go on from a checkpoint, bit for bit, up to the same number of steps" },
	{ .name = "resolution",
		.argument = "R",
		.kind = OPTION_REAL,
		.value = &given.resolution,
		.minimum = 1e-3,
		.maximum = 1e3,
		.help = "deforming bodies: factor of the divisions of all surfaces (the scene's)" },
	{ .name = "frames",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.frames,
		.minimum = 0,
		.maximum = 1e9,
		.help = "deforming bodies: write frames/*.ply (or .obj, as the scene says) every N steps; 0: none (the scene's)" },
	{ .name = "movie",
		.kind = OPTION_FLAG,
		.value = &given.movie,
		.help = "deforming bodies: write movie.mp4 too, a picture for each step (needs ffmpeg)" },
	{ .name = "view",
		.kind = OPTION_FLAG,
		.value = &given.view,
		.help = "show the run while it goes on, in a browser of this machine; prints the address" },
	{ .name = "view-port",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.view_port,
		.minimum = 0,
		.maximum = 65535,
		.help = "--view at this port of 127.0.0.1 (0: one that is free)" },
	{ .name = "no-picture", .kind = OPTION_FLAG, .value = &given.no_picture, .help = "leave out last.png" },
	{ .name = "simd",
		.argument = "SET",
		.kind = OPTION_CHOICE,
		.value = &given.simd,
		.choices = options_simd_words,
		.help = "instruction set (auto); results do not depend on it" },
	{ .name = "backend",
		.argument = "WHERE",
		.kind = OPTION_CHOICE,
		.value = &given.backend,
		.choices = device_backend_words,
		.help = "cpu (default), or vulkan: spheres, rays of rigid bodies, impacts of deforming ones" },
	{ .name = "device",
		.argument = "WHICH",
		.kind = OPTION_TEXT,
		.value = &given.device,
		.help = "index or a part of the name; `carom info --devices` lists them" },
	{ .name = "tier",
		.argument = "TIER",
		.kind = OPTION_CHOICE,
		.value = &given.tier,
		.choices = device_tier_words,
		.help = "rays: c (our kernels), q or p (the driver's), or the fastest one (auto)" },
	{ .name = "kernels",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.value = &given.kernels,
		.file = OPTION_WRITES,
		.help = "keep compiled kernels there for the next time (a file in the user's cache folder); off: nowhere" },
	{ .name = "ranks",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &given.rank_count,
		.minimum = 1,
		.maximum = 1e6,
		.help = "spheres: share them out to N processes of MPI, with the same results (mpirun, carom-mpi)" },
	{ .name = "json", .kind = OPTION_FLAG, .value = &given.json, .help = "print the summary as one JSON object" },
	{ 0 },
};

int cmd_run_on(const sim_ranks *ranks, int argc, char **argv)
{
	const command_line line = {
		.command = "run",
		.synopsis = "SCENE.json [options]",
		.summary =
			"Simulate a scene: rigid bodies, cloth and soft bodies, and millions of spheres fall, collide and come to rest.",
		.details =
			"docs/scenes.md describes scene files and what a run writes. Rigid bodies, deforming bodies and spheres go through the\n"
			"steps together. Rigid bodies that the scene names obstacles push deforming bodies, or spheres, and are pushed back\n"
			"(two_way). Coordinates of mesh files are moved and scaled as the scene asks and then rounded to float: simulations\n"
			"compute with floats about the origin of each mesh.",
		.options = OPTIONS,
		.least = 1,
		.most = 1,
	};
	int count;
	const int status = options_parse(&line, argc, argv, &given.scene, &count);
	if (status != OPTIONS_GO_ON)
		return status;
	if (given.backend != BACKEND_VULKAN && (given.device || given.kernels || given.tier != CAROM_TIER_AUTO))
		return options_misuse(line.command, "--device, --tier and --kernels need --backend vulkan");
	if (!ranks)
		return given.rank_count > 0 ? run_start_ranks(&given, argc, argv) : run_scene(&given);
	if (given.rank_count > 0)
		return options_misuse(line.command, "--ranks is for carom: mpirun tells carom-mpi how many there are");
	given.ranks = ranks;
	given.threads = given.threads > 0 ? given.threads : 1;
	return run_scene(&given);
}

int cmd_run(int argc, char **argv) { return cmd_run_on(NULL, argc, argv); }
