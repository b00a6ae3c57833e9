// `carom check`: do two meshes collide, or one with itself; where, how deep.
#include "check.h"
#include "commands.h"
#include "options.h"
#include "report.h"

#include <math.h>

static int parse(check_options *o, int argc, char **argv)
{
	// clang-format off
	const option options[] = {
		{ .name = "pose-b", .argument = "POSE", .kind = OPTION_TEXT, .value = &o->pose,
			.help = "pose of B: x,y,z,qx,qy,qz,qw (0,0,0,0,0,0,1)" },
		{ .name = "weld", .kind = OPTION_FLAG, .value = &o->weld,
			.help = "make vertices at equal positions one: triangles that meet there are neighbours" },
		{ .name = "contacts", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->contacts, .file = OPTION_WRITES,
			.help = "two meshes: write the contacts: `a b vertex triangle p n depth`" },
		{ .name = "pairs", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->pairs, .file = OPTION_WRITES,
			.help = "one mesh: write the pairs of triangles that intersect: `i j`" },
		{ .name = "scalar", .argument = "TYPE", .kind = OPTION_CHOICE, .value = &o->scalar, .choices = mesh_scalar_words,
			.help = "float32: round what the files hold to float first (auto: decide by it as it is)" },
		{ .name = "oracle", .kind = OPTION_FLAG, .value = &o->oracle,
			.help = "compare with every pair of triangles, without trees: slow; a difference is an error" },
		{ .name = "threads", .letter = 't', .argument = "N", .kind = OPTION_INTEGER, .value = &o->threads, .maximum = 256,
			.help = "threads (0: one for each core)" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print one JSON object" },
		{ 0 },
	};
	// clang-format on
	const command_line line = {
		.command = "check",
		.synopsis = "A [B] [--pose-b x,y,z,qx,qy,qz,qw] [options]",
		.summary = "Do two meshes collide, where, how deep? With one mesh: does its surface pass through itself?",
		.details =
			"A stands at the origin, B at its pose. With one mesh, pairs of triangles that share no vertex and intersect are found,\n"
			"exactly, by the numbers of the file: doubles stay doubles, and so do numbers in text that a float does not hold.\n"
			"Whether two meshes collide is decided so too, once B's numbers are moved to its pose. Contacts, depths and distances\n"
			"are measured on floats about the middle of each mesh.\n"
			"Meshes: .obj, .ply, .stl, .off and what assimp reads.",
		.options = options,
		.least = 1,
		.most = 2,
	};
	return options_parse(&line, argc, argv, o->path, &o->path_count);
}

/// Check that the options fit together, and the pose.
static int check_use(check_options *o)
{
	if (o->path_count == 1 && (o->pose || o->contacts))
		return options_misuse("check", "--pose-b and --contacts need a second mesh");
	if (o->path_count == 2 && o->pairs)
		return options_misuse("check", "--pairs is for one mesh; two meshes have --contacts");
	o->pose_b = carom_pose_identity();
	if (!o->pose)
		return OPTIONS_GO_ON;
	double p[7];
	if (!options_parse_reals(o->pose, 7, p))
		return options_misuse("check", "--pose-b %s: must be seven numbers x,y,z,qx,qy,qz,qw", o->pose);
	const double length = sqrt(p[3] * p[3] + p[4] * p[4] + p[5] * p[5] + p[6] * p[6]);
	if (!(fabs(length - 1) <= 1e-3))
		return options_misuse("check", "--pose-b %s: the quaternion has length %.6g; it must be 1", o->pose, length);
	o->pose_b.position = (carom_vec3){ p[0], p[1], p[2] };
	o->pose_b.orientation = (carom_quat){ p[3] / length, p[4] / length, p[5] / length, p[6] / length };
	return OPTIONS_GO_ON;
}

/// The mesh from its file. One of two is made about the middle of its doubles: floats, which
/// contacts are measured on, hold them best there. One alone is made of the numbers as they are,
/// for its intersections are decided by them.
static bool load(const check_options *o, carom_context *context, int i, cJSON *warnings, check_mesh *mesh)
{
	const mesh_input input = { .path = o->path[i],
		.scalar = (mesh_scalar)o->scalar,
		.scale = 1,
		.weld = o->weld,
		.grid_resolution = -1,
		.middle = o->path_count == 2 ? mesh->middle : NULL,
		.by_doubles = true,
		.warnings = warnings };
	mesh->mesh = mesh_input_load(context, &input, &mesh->source);
	return mesh->mesh != NULL;
}

int cmd_check(int argc, char **argv)
{
	check_options o = { 0 };
	int status = parse(&o, argc, argv);
	if (status == OPTIONS_GO_ON)
		status = check_use(&o);
	if (status != OPTIONS_GO_ON)
		return status;
	carom_context *context = report_create_context(o.threads, CAROM_SIMD_AUTO);
	if (!context)
		return EXIT_FAILED;
	cJSON *warnings = cJSON_CreateArray();
	check_mesh meshes[2] = { { .mesh = NULL }, { .mesh = NULL } };
	bool loaded = true;
	for (int i = 0; loaded && i < o.path_count; i++)
		loaded = load(&o, context, i, warnings, &meshes[i]);
	status = EXIT_FAILED;
	if (!loaded)
		cJSON_Delete(warnings);
	else
		status = o.path_count == 2 ? check_pair(&o, context, meshes, warnings) : check_self(&o, context, &meshes[0], warnings);
	for (int i = 0; i < 2; i++) {
		carom_release_mesh(meshes[i].mesh);
		sim_mesh_free(&meshes[i].source);
	}
	carom_destroy_context(context);
	return status;
}
