// `carom info`: the content of a file, and its faults.
#include "commands.h"
#include "carom/collide.h"
#include "devices.h"
#include "info_kinds.h"
#include "mesh_input.h"
#include "motion.h"
#include "options.h"
#include "report.h"
#include "sphere_source.h"
#include "io/mesh_file.h"
#include "io/recording.h"
#include "io/trajectory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct info_options {
	const char *path;
	bool json, weld, overlap, devices;
	double weld_distance;
	int build; ///< a carom_mesh_build; BUILD_OF_FILE: that of a baked file, else the default
} info_options;

enum { BUILD_OF_FILE = -1 };

static int parse(info_options *o, int argc, char **argv)
{
	// clang-format off
	const option options[] = {
		{ .name = "weld", .kind = OPTION_FLAG, .value = &o->weld, .help = "mesh: make vertices at equal positions one first" },
		{ .name = "weld-distance", .argument = "D", .kind = OPTION_REAL, .value = &o->weld_distance, .minimum = 0, .maximum = CAROM_MAX_COORDINATE,
			.help = "mesh: put vertices nearer to each other than this to one place (0)" },
		{ .name = "epo", .kind = OPTION_FLAG, .value = &o->overlap, .help = "mesh: compute the end-point overlap of its tree" },
		{ .name = "build", .argument = "WHICH", .kind = OPTION_CHOICE, .value = &o->build, .choices = mesh_build_words,
			.help = "mesh: build its trees by sah (default), hlbvh, lbvh, trbvh or ploc" },
		{ .name = "devices", .kind = OPTION_FLAG, .value = &o->devices,
			.help = "the graphics devices of this machine (no FILE)" },
		{ .name = "json", .kind = OPTION_FLAG, .value = &o->json, .help = "print one JSON object" },
		{ 0 },
	};
	// clang-format on
	const command_line line = {
		.command = "info",
		.synopsis = "FILE [options] | --devices [--json]",
		.summary =
			"What a file holds: a scene, a mesh, spheres, a recorded motion, recorded library calls, or what `carom run` has left.",
		.details = "The folder of --out, recording.h5, checkpoint.h5 and spheres.pvd of a run are told by their contents, too.\n"
				   "A mesh is checked; the exit code is 0 also for a mesh with faults, for they are what was asked for.",
		.options = options,
		.most = 1,
	};
	int count;
	const int status = options_parse(&line, argc, argv, &o->path, &count);
	if (status != OPTIONS_GO_ON || count == !o->devices)
		return status;
	return options_misuse(line.command, "%s; usage: carom info %s",
		o->devices ? "--devices takes no FILE" : "an argument is missing", line.synopsis);
}

// ---- Meshes ----

// The counts of a report, with the names that JSON gives them and the words of the text.
typedef struct finding {
	const char *field;
	const char *words;
	int32_t count;
} finding;

enum { FINDING_COUNT = 13 };

static void list_findings(const carom_mesh_report *r, finding findings[FINDING_COUNT])
{
	const finding all[FINDING_COUNT] = {
		{ "nonfinite_vertices", "vertices with NaN or infinity", r->nonfinite_vertices },
		{ "huge_vertices", "vertices too far away", r->huge_vertices },
		{ "out_of_range_triangles", "triangles with a vertex that does not exist", r->out_of_range_triangles },
		{ "degenerate_triangles", "triangles without area (left out)", r->degenerate_triangles },
		{ "duplicate_triangles", "duplicate triangles (left out)", r->duplicate_triangles },
		{ "unreferenced_vertices", "vertices of no triangle", r->unreferenced_vertices },
		{ "duplicate_vertices", "vertices at the position of another", r->duplicate_vertices },
		{ "border_edges", "border edges", r->border_edges },
		{ "nonmanifold_edges", "edges of more than two triangles", r->nonmanifold_edges },
		{ "inconsistent_edges", "edges with clashing orientation", r->inconsistent_edges },
		{ "unbalanced_edges", "edges of more than two triangles, more often one way than the other", r->unbalanced_edges },
		{ "nonmanifold_vertices", "vertices where parts only touch", r->nonmanifold_vertices },
		{ "normalless_vertices", "vertices without a normal, which cast no rays", r->normalless_vertices },
	};
	memcpy(findings, all, sizeof all);
}

typedef struct mesh_facts {
	int32_t vertices, triangles;
	const char *scalar;
	size_t baked_bytes; ///< 0: it was not baked
	const char *sides;
	bool hull;
	/// different numbers of triangles, 0 among them where some have none; 0: no triangle has one
	int32_t materials;
	carom_mesh_report report;
	bool made; ///< the tree is there
	carom_tree_info tree;
	bool has_mass;
	carom_mass mass;
} mesh_facts;

static int print_mesh_json(const info_options *o, const mesh_facts *f)
{
	const carom_mesh_report *r = &f->report;
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "kind", "mesh");
	cJSON_AddNumberToObject(json, "vertices", f->vertices);
	cJSON_AddNumberToObject(json, "triangles", f->triangles);
	cJSON_AddStringToObject(json, "scalar", f->scalar);
	if (f->baked_bytes) {
		cJSON_AddNumberToObject(json, "baked_bytes", (double)f->baked_bytes);
		cJSON_AddStringToObject(json, "sides", f->sides);
		cJSON_AddBoolToObject(json, "hull", f->hull);
		cJSON_AddNumberToObject(json, "materials", f->materials);
	}
	cJSON_AddNumberToObject(json, "rounded_vertices", r->rounded_vertices);
	cJSON_AddNumberToObject(json, "rounding", r->rounding);
	cJSON_AddBoolToObject(json, "usable", r->usable);
	cJSON_AddBoolToObject(json, "closed", r->closed);
	cJSON_AddBoolToObject(json, "inverted", r->inverted);
	cJSON_AddStringToObject(json, "first_finding", r->first_finding);
	cJSON_AddNumberToObject(json, "first_element", r->first_element);
	finding findings[FINDING_COUNT];
	list_findings(r, findings);
	cJSON *list = cJSON_AddObjectToObject(json, "findings");
	for (int i = 0; i < FINDING_COUNT; i++)
		cJSON_AddNumberToObject(list, findings[i].field, findings[i].count);
	cJSON_AddNumberToObject(json, "components", r->components);
	cJSON_AddNumberToObject(json, "euler", r->euler);
	cJSON_AddNumberToObject(json, "area", r->area);
	cJSON_AddNumberToObject(json, "volume", r->volume);
	report_add_vector(json, "lower", r->lower);
	report_add_vector(json, "upper", r->upper);
	if (f->has_mass) {
		const double centre[3] = { f->mass.centre.x, f->mass.centre.y, f->mass.centre.z };
		report_add_vector(json, "centre_of_mass", centre);
		cJSON_AddItemToObject(json, "inertia", cJSON_CreateDoubleArray(f->mass.inertia, 6));
	}
	if (f->made) {
		cJSON *tree = cJSON_AddObjectToObject(json, "tree");
		cJSON_AddNumberToObject(tree, "binary_nodes", f->tree.binary_nodes);
		cJSON_AddNumberToObject(tree, "wide_nodes", f->tree.wide_nodes);
		cJSON_AddNumberToObject(tree, "depth", f->tree.depth);
		cJSON_AddNumberToObject(tree, "sah_cost", f->tree.sah_cost);
		if (o->overlap)
			cJSON_AddNumberToObject(tree, "epo", f->tree.epo);
		cJSON_AddNumberToObject(tree, "bytes", (double)f->tree.bytes);
		cJSON_AddNumberToObject(tree, "grid_cells", f->tree.grid_cells);
	}
	return report_json(json);
}

static int print_mesh_text(const info_options *o, const mesh_facts *f)
{
	const carom_mesh_report *r = &f->report;
	printf("%s: a %s%s of %d vertices and %d triangles\n", o->path, f->baked_bytes ? "baked " : "", f->hull ? "hull" : "mesh",
		f->vertices, f->triangles);
	printf("  %-12s %s\n", "usable", r->usable ? "yes" : "no");
	if (r->first_finding[0])
		printf("  %-12s %s\n", r->usable ? "note" : "error", r->first_finding);
	if (r->usable) {
		if (r->rounded_vertices)
			printf("  %-12s doubles; as floats %d vertices change, a coordinate by at most %.3g\n", "numbers",
				r->rounded_vertices, r->rounding);
		printf("  %-12s %s%s\n", "closed",
			r->closed                        ? "yes"
				: mesh_input_is_container(r) ? "no: it is a container, which collides from within"
											 : "no: it collides by its triangles, but has no inside",
			r->inverted ? "; inside out, which the library puts right" : "");
		printf("  %-12s %.9g %.9g %.9g to %.9g %.9g %.9g\n", "box", r->lower[0], r->lower[1], r->lower[2], r->upper[0],
			r->upper[1], r->upper[2]);
		printf("  %-12s %.9g\n", "area", r->area);
		if (r->closed)
			printf("  %-12s %.9g\n", "volume", r->volume);
		printf("  %-12s %d, Euler number %d\n", "pieces", r->components, r->euler);
	}
	if (f->materials)
		printf("  %-12s %d different numbers\n", "materials", f->materials);
	if (f->has_mass)
		printf("  %-12s %.9g %.9g %.9g\n", "mass centre", f->mass.centre.x, f->mass.centre.y, f->mass.centre.z);
	if (f->made) {
		printf("  %-12s %d nodes in two, %d in eight, depth %d, SAH cost %.4g, %.1f KiB\n", "tree", f->tree.binary_nodes,
			f->tree.wide_nodes, f->tree.depth, f->tree.sah_cost, (double)f->tree.bytes / 1024);
		if (o->overlap)
			printf("  %-12s %.4g\n", "overlap", f->tree.epo);
	}
	finding findings[FINDING_COUNT];
	list_findings(r, findings);
	for (int i = 0; i < FINDING_COUNT; i++) {
		if (findings[i].count)
			printf("  %-12d %s\n", findings[i].count, findings[i].words);
	}
	return report_end_of_text();
}

/// Is a mesh a hull? Then the library takes it as one.
static bool is_hull(carom_context *context, const carom_mesh *mesh)
{
	const carom_shape shape = { .type = CAROM_HULL, .mesh = mesh };
	carom_closest_point point;
	bool found;
	return carom_shape_closest_point(context, &shape, NULL, (carom_vec3){ 0, 0, 0 }, 0, &found, &point) == CAROM_SUCCESS;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
	return (p > q) - (p < q);
}

/// How many different numbers the triangles have; sorts them.
static int32_t count_materials(sim_mesh *mesh)
{
	int32_t count = 0;
	if (!mesh->materials)
		return 0;
	qsort(mesh->materials, (size_t)mesh->triangle_count, sizeof *mesh->materials, compare_numbers);
	for (int32_t i = 0; i < mesh->triangle_count; i++)
		count += i == 0 || mesh->materials[i] != mesh->materials[i - 1];
	return count;
}

/// Everything the library says about a mesh. False after an error message.
static bool examine(const info_options *o, carom_context *context, sim_mesh *mesh, mesh_facts *f)
{
	if (o->build != BUILD_OF_FILE || o->weld_distance > 0)
		io_forget_baked(mesh);
	carom_mesh_def def = io_mesh_def(mesh);
	if (o->build != BUILD_OF_FILE)
		def.build = (carom_mesh_build)o->build;
	def.weld_distance = o->weld_distance;
	f->vertices = mesh->vertex_count;
	f->triangles = mesh->triangle_count;
	f->scalar = mesh_input_scalar(mesh);
	f->baked_bytes = mesh->baked_size;
	f->sides = mesh_sides_words[mesh->sides];
	carom_mesh *made = NULL;
	carom_result result = mesh->baked ? CAROM_SUCCESS : carom_check_mesh(context, &def, &f->report);
	if (result == CAROM_SUCCESS && (mesh->baked || f->report.usable))
		result = mesh->baked ? io_create_mesh(context, mesh, CAROM_GRID_BY_SIZE, &f->report, &made)
							 : carom_create_mesh(context, &def, &f->report, &made);
	if (result == CAROM_SUCCESS && made) {
		f->made = true;
		result = carom_mesh_get_tree_info(made, o->overlap, &f->tree);
		f->has_mass = carom_mesh_get_mass(made, &f->mass) == CAROM_SUCCESS;
		f->hull = mesh->baked && is_hull(context, made);
		f->materials = mesh->baked ? count_materials(mesh) : 0;
	}
	if (result != CAROM_SUCCESS)
		report_error(o->path, "%s", carom_error_text(context));
	carom_release_mesh(made);
	return result == CAROM_SUCCESS;
}

static int show_mesh(const info_options *o, io_input *input)
{
	sim_error error;
	sim_mesh mesh;
	if (!io_read_mesh(input, &mesh, &error))
		return report_error(o->path, "%s", error.text);
	carom_context *context = NULL;
	mesh_facts facts = { 0 };
	int status = EXIT_FAILED;
	if (o->weld && !io_weld_mesh(&mesh))
		report_error(o->path, "out of memory");
	else if ((context = report_create_context(0, CAROM_SIMD_AUTO)) != NULL && examine(o, context, &mesh, &facts))
		status = (o->json ? print_mesh_json : print_mesh_text)(o, &facts);
	carom_destroy_context(context);
	sim_mesh_free(&mesh);
	return status;
}

// ---- Motions and recordings ----

static int show_trajectory(const info_options *o)
{
	sim_error error;
	io_trajectory t;
	if (!io_load_trajectory(o->path, &t, &error))
		return report_error(o->path, "%s", error.text);
	int status;
	if (o->json) {
		cJSON *json = cJSON_CreateObject();
		cJSON_AddStringToObject(json, "kind", "trajectory");
		cJSON_AddNumberToObject(json, "bodies", t.body_count);
		cJSON_AddNumberToObject(json, "frames", t.frame_count);
		cJSON_AddNumberToObject(json, "time_step", t.time_step);
		report_add_vector(json, "gravity", t.gravity);
		cJSON_AddItemToObject(json, "ground", cJSON_CreateDoubleArray(t.ground, 4));
		cJSON_AddStringToObject(json, "mesh", t.mesh_name);
		cJSON_AddNumberToObject(json, "mesh_vertices", t.mesh_vertex_count);
		cJSON_AddNumberToObject(json, "mesh_triangles", t.mesh_triangle_count);
		cJSON_AddNumberToObject(json, "mesh_scale", t.mesh_scale);
		cJSON_AddNumberToObject(json, "margin", t.margin);
		cJSON_AddNumberToObject(json, "friction", t.friction);
		cJSON_AddNumberToObject(json, "restitution", t.restitution);
		status = report_json(json);
	} else {
		printf("%s: a recorded motion of %d bodies over %d frames\n", o->path, t.body_count, t.frame_count);
		printf("  %-12s %.9g s (%.4g s in all)\n", "time step", t.time_step, t.time_step * t.frame_count);
		printf("  %-12s %s, %d vertices, %d triangles, scale %.9g\n", "mesh", t.mesh_name, t.mesh_vertex_count,
			t.mesh_triangle_count, t.mesh_scale);
		printf("  %-12s %.9g %.9g %.9g\n", "gravity", t.gravity[0], t.gravity[1], t.gravity[2]);
		printf("  %-12s normal %.9g %.9g %.9g, distance %.9g\n", "ground", t.ground[0], t.ground[1], t.ground[2], t.ground[3]);
		printf("  %-12s margin %.9g, friction %.9g, restitution %.9g\n", "made with", t.margin, t.friction, t.restitution);
		status = report_end_of_text();
	}
	io_free_trajectory(&t);
	return status;
}

static int64_t all_contacts(const io_recording *recording)
{
	int64_t count = 0;
	for (int32_t i = 0; i < io_recording_frame_count(recording); i++)
		count += io_recording_contact_count(recording, i);
	return count;
}

static int print_recording_json(const io_recording *recording)
{
	const io_recording_info *info = io_recording_get_info(recording);
	const double gravity[3] = { info->gravity.x, info->gravity.y, info->gravity.z };
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "kind", "recording");
	cJSON_AddStringToObject(json, "scene", info->scene_name);
	const int32_t moving = io_recording_moving_count(recording);
	cJSON_AddNumberToObject(json, "bodies", moving);
	cJSON_AddNumberToObject(json, "other_bodies", io_recording_whole_count(recording) - moving);
	cJSON_AddNumberToObject(json, "frames", io_recording_frame_count(recording));
	cJSON_AddBoolToObject(json, "finished", io_recording_is_finished(recording));
	cJSON_AddNumberToObject(json, "time_step", info->time_step);
	report_add_vector(json, "gravity", gravity);
	cJSON_AddBoolToObject(json, "holds_contacts", info->contacts);
	cJSON_AddNumberToObject(json, "contacts", (double)all_contacts(recording));
	cJSON *meshes = cJSON_AddArrayToObject(json, "meshes");
	for (int32_t i = 0; i < io_recording_mesh_count(recording); i++) {
		const io_recorded_mesh *mesh = io_recording_get_mesh(recording, i);
		cJSON *object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "name", mesh->name);
		cJSON_AddNumberToObject(object, "vertices", mesh->vertex_count);
		cJSON_AddNumberToObject(object, "triangles", mesh->triangle_count);
		cJSON_AddItemToArray(meshes, object);
	}
	return report_json(json);
}

static int print_recording_text(const char *path, const io_recording *recording)
{
	const io_recording_info *info = io_recording_get_info(recording);
	const int32_t frames = io_recording_frame_count(recording), moving = io_recording_moving_count(recording);
	printf("%s: a recording of moving bodies: %d, others: %d, frames: %d%s%s\n", path, moving,
		io_recording_whole_count(recording) - moving, frames, info->scene_name[0] ? ", scene " : "", info->scene_name);
	printf("  %-12s %.9g s (%.4g s in all)\n", "time step", info->time_step, info->time_step * frames);
	printf("  %-12s %.9g %.9g %.9g\n", "gravity", info->gravity.x, info->gravity.y, info->gravity.z);
	if (info->contacts)
		printf("  %-12s %lld\n", "contacts", (long long)all_contacts(recording));
	for (int32_t i = 0; i < io_recording_mesh_count(recording); i++) {
		const io_recorded_mesh *mesh = io_recording_get_mesh(recording, i);
		printf("  %-12s %s, %d vertices, %d triangles\n", "mesh", mesh->name, mesh->vertex_count, mesh->triangle_count);
	}
	return report_end_of_text();
}

static int show_recording(const info_options *o)
{
	sim_error error;
	bool is_checkpoint;
	const int shown = info_show_checkpoint(o->path, o->json, &is_checkpoint);
	if (is_checkpoint)
		return shown;
	io_recording *recording = io_open_recording(o->path, &error);
	if (!recording)
		return report_error(NULL, "%s", error.text);
	if (io_recording_note(recording))
		report_warning(o->path, "%s", io_recording_note(recording));
	const int status = o->json ? print_recording_json(recording) : print_recording_text(o->path, recording);
	io_close_recording(recording);
	return status;
}

/// The kind of the file tells which reader takes it.
static int show(const info_options *o, io_input *input)
{
	const file_kind kind = motion_kind_of(input);
	if (!input->regular && (kind == FILE_TRAJECTORY || kind == FILE_RECORDING))
		return report_error(o->path, "is a recorded motion, and those are read from files, not from pipes");
	switch (kind) {
	case FILE_TRAJECTORY: return show_trajectory(o);
	case FILE_RECORDING: return show_recording(o);
	case FILE_CALLS: return info_show_calls(input, o->json);
	default: break;
	}
	if (info_is_scene(input) && !io_has_extension(o->path, ".gltf"))
		return info_show_scene(input, o->json);
	if (info_is_vtk(input))
		return info_show_vtk(input, o->json);
	return io_holds_spheres(input) ? sphere_source_show(input, o->json) : show_mesh(o, input);
}

int cmd_info(int argc, char **argv)
{
	info_options o = { .build = BUILD_OF_FILE };
	const int status = parse(&o, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o.devices)
		return devices_show(o.json);
	sim_error error;
	io_input input;
	struct stat file;
	if (stat(o.path, &file) == 0 && S_ISDIR(file.st_mode))
		return info_show_run(o.path, o.json);
	if (!io_open_input(&input, o.path, &error))
		return motion_unreadable(o.path, error.text);
	const int code = show(&o, &input);
	io_close_input(&input);
	return code;
}
