// `carom check`: do two meshes collide, or one with itself; where, how deep.
#include "carom/query.h"
#include "commands.h"
#include "mesh_input.h"
#include "options.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Contacts and pairs that the text output lists; the files of --contacts and --pairs hold all.
enum { LISTED_MAX = 10 };

typedef struct check_options {
	const char *path[2];
	int path_count;
	const char *pose;
	carom_pose pose_b;
	int64_t threads;
	bool weld, json;
	int scalar;
	const char *contacts, *pairs;
} check_options;

static int parse(check_options *o, int argc, char **argv)
{
	// clang-format off
	const option options[] = {
		{ .name = "pose-b", .argument = "POSE", .kind = OPTION_TEXT, .value = &o->pose,
			.help = "pose of B: x,y,z,qx,qy,qz,qw (0,0,0,0,0,0,1)" },
		{ .name = "weld", .kind = OPTION_FLAG, .value = &o->weld,
			.help = "make vertices at equal positions one: triangles that meet there are neighbours" },
		{ .name = "contacts", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->contacts,
			.help = "two meshes: write the contacts: `a b vertex triangle p n depth`" },
		{ .name = "pairs", .argument = "FILE", .kind = OPTION_TEXT, .value = &o->pairs,
			.help = "one mesh: write the pairs of triangles that intersect: `i j`" },
		{ .name = "scalar", .argument = "TYPE", .kind = OPTION_CHOICE, .value = &o->scalar, .choices = mesh_scalar_words,
			.help = "float32: round what the files hold to float first (auto: decide by it as it is)" },
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
			"Meshes: .obj, .ply, .stl, .off and what assimp reads.",
		.options = options,
		.least = 1,
		.most = 2,
	};
	return options_parse(&line, argc, argv, o->path, &o->path_count);
}

// What does not fit together, and the pose.
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

// ---- Two meshes ----

static int deeper_first(const void *a, const void *b)
{
	const carom_contact *x = a, *y = b;
	return (y->depth > x->depth) - (y->depth < x->depth);
}

static void add_contact(cJSON *json, const char *name, const carom_contact *contact)
{
	cJSON *object = cJSON_AddObjectToObject(json, name);
	const double normal[3] = { (double)contact->normal[0], (double)contact->normal[1], (double)contact->normal[2] };
	report_add_vector(object, "point", contact->point);
	report_add_vector(object, "normal", normal);
	cJSON_AddNumberToObject(object, "depth", (double)contact->depth);
}

static void add_side(cJSON *json, const char *name, const carom_triangle_point *on, int32_t triangle)
{
	static const char *const features[] = { "face", "edge", "vertex" };
	cJSON *object = cJSON_AddObjectToObject(json, name);
	const double point[3] = { on->point.x, on->point.y, on->point.z };
	report_add_vector(object, "point", point);
	cJSON_AddNumberToObject(object, "triangle", triangle);
	cJSON_AddStringToObject(object, "feature", features[on->feature]);
}

// gap: of meshes without contacts; NULL where a mesh has no surface.
static int print_pair_json(carom_contact *contacts, int32_t count, const carom_mesh_gap *gap, cJSON *warnings)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddBoolToObject(json, "collides", count > 0);
	cJSON_AddNumberToObject(json, "contacts", count);
	cJSON_AddNumberToObject(json, "depth", count ? (double)contacts[0].depth : 0);
	if (count)
		add_contact(json, "deepest", &contacts[0]);
	if (gap) {
		cJSON_AddNumberToObject(json, "distance", gap->distance);
		add_side(json, "nearest_a", &gap->on_a, gap->triangle_a);
		add_side(json, "nearest_b", &gap->on_b, gap->triangle_b);
	}
	cJSON_AddItemToObject(json, "warnings", warnings);
	return report_json(json);
}

static int print_pair_text(const check_options *o, const carom_contact *contacts, int32_t count, const carom_mesh_gap *gap)
{
	if (!count) {
		printf("%s and %s do not collide", o->path[0], o->path[1]);
		if (gap)
			printf(": they are %.6g apart, at %.6g %.6g %.6g and %.6g %.6g %.6g", gap->distance, gap->on_a.point.x,
				gap->on_a.point.y, gap->on_a.point.z, gap->on_b.point.x, gap->on_b.point.y, gap->on_b.point.z);
		printf("\n");
		return report_end_of_text();
	}
	// Adding 0 makes 0 of -0, a depth of surfaces that just touch.
	printf("%s and %s collide: %d contact%s, deepest %.6g\n\n", o->path[0], o->path[1], count, count == 1 ? "" : "s",
		(double)contacts[0].depth + 0.0);
	printf("%11s   %11s %11s %11s   %9s %9s %9s\n", "depth", "point x", "y", "z", "out of B x", "y", "z");
	for (int32_t i = 0; i < count && i < LISTED_MAX; i++)
		printf("%11.5g   %11.5g %11.5g %11.5g   %9.4f %9.4f %9.4f\n", (double)contacts[i].depth + 0.0, contacts[i].point[0],
			contacts[i].point[1], contacts[i].point[2], (double)contacts[i].normal[0], (double)contacts[i].normal[1],
			(double)contacts[i].normal[2]);
	if (count > LISTED_MAX)
		printf("... and %d more (--contacts FILE writes all)\n", count - LISTED_MAX);
	return report_end_of_text();
}

static int write_contacts(const char *path, const carom_contact_view *contacts)
{
	sim_output_file file;
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	for (int32_t i = 0; i < contacts->count; i++)
		report_contact(file.stream, &contacts->data[i], 0, 1);
	return report_commit(&file);
}

// Both bodies dynamic, so that they are tested against each other.
static bool collide(carom_world *world, carom_mesh *const meshes[2], const carom_pose *pose_b)
{
	for (int i = 0; i < 2; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape.type = CAROM_MESH;
		def.shape.mesh = meshes[i];
		def.kind = CAROM_DYNAMIC;
		if (i == 1)
			def.pose = *pose_b;
		carom_body_id id;
		if (carom_world_add_body(world, &def, &id) != CAROM_SUCCESS)
			return false;
	}
	return carom_world_step(world) == CAROM_SUCCESS;
}

static bool find_gap(carom_mesh *const meshes[2], const carom_pose *pose_b, carom_mesh_gap *gap)
{
	bool found;
	return carom_mesh_distance(meshes[0], NULL, meshes[1], pose_b, INFINITY, &found, gap) == CAROM_SUCCESS && found;
}

// Takes the warnings over.
static int report_pair(const check_options *o, const carom_world *world, carom_mesh *const meshes[2], cJSON *warnings)
{
	const carom_contact_view view = carom_world_contacts(world);
	carom_contact *sorted = malloc(((size_t)view.count + 1) * sizeof *sorted);
	int status = sorted ? EXIT_DONE : report_error(NULL, "out of memory");
	if (status == EXIT_DONE && o->contacts)
		status = write_contacts(o->contacts, &view);
	if (status != EXIT_DONE) {
		cJSON_Delete(warnings);
		free(sorted);
		return status;
	}
	if (view.count)
		memcpy(sorted, view.data, (size_t)view.count * sizeof *sorted);
	qsort(sorted, (size_t)view.count, sizeof *sorted, deeper_first);
	carom_mesh_gap nearest;
	const carom_mesh_gap *gap = view.count == 0 && find_gap(meshes, &o->pose_b, &nearest) ? &nearest : NULL;
	if (o->json) {
		status = print_pair_json(sorted, view.count, gap, warnings);
	} else {
		status = print_pair_text(o, sorted, view.count, gap);
		cJSON_Delete(warnings);
	}
	free(sorted);
	return status;
}

static int check_pair(const check_options *o, carom_context *context, carom_mesh *const meshes[2], cJSON *warnings)
{
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE; // there is one step
	def.max_contacts_per_pair = 0;
	def.complete = true;
	carom_world *world;
	int status;
	if (carom_create_world(context, &def, &world) != CAROM_SUCCESS || !collide(world, meshes, &o->pose_b)) {
		status = report_error(NULL, "%s", carom_error_text(context));
		cJSON_Delete(warnings);
	} else {
		status = report_pair(o, world, meshes, warnings);
	}
	carom_destroy_world(world);
	return status;
}

// ---- One mesh ----

// The middle of what the boxes of two triangles have in common: near where they meet.
static void meeting_place(const sim_mesh *mesh, const int32_t pair[2], double place[3])
{
	for (int axis = 0; axis < 3; axis++) {
		double lower = -INFINITY, upper = INFINITY;
		for (int k = 0; k < 2; k++) {
			const int32_t *t = mesh->triangles + 3 * (size_t)pair[k];
			const double a = mesh_input_coordinate(mesh, t[0], axis), b = mesh_input_coordinate(mesh, t[1], axis),
						 c = mesh_input_coordinate(mesh, t[2], axis);
			lower = fmax(lower, fmin(a, fmin(b, c)));
			upper = fmin(upper, fmax(a, fmax(b, c)));
		}
		place[axis] = 0.5 * (lower + upper);
	}
}

static int write_pairs(const char *path, int32_t (*pairs)[2], int32_t count)
{
	sim_output_file file;
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	for (int32_t i = 0; i < count; i++)
		fprintf(file.stream, "%d %d\n", pairs[i][0], pairs[i][1]);
	return report_commit(&file);
}

static int print_self_json(const sim_mesh *mesh, int32_t (*pairs)[2], int32_t count, cJSON *warnings)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddBoolToObject(json, "collides", count > 0);
	cJSON_AddNumberToObject(json, "contacts", count);
	cJSON_AddNumberToObject(json, "depth", 0);
	cJSON_AddStringToObject(json, "scalar", mesh_input_scalar(mesh));
	if (count) {
		double place[3];
		meeting_place(mesh, pairs[0], place);
		cJSON *first = cJSON_AddObjectToObject(json, "first");
		cJSON_AddItemToObject(first, "triangles", cJSON_CreateIntArray(pairs[0], 2));
		report_add_vector(first, "point", place);
	}
	cJSON_AddItemToObject(json, "warnings", warnings);
	return report_json(json);
}

static int print_self_text(const check_options *o, const sim_mesh *mesh, int32_t (*pairs)[2], int32_t count)
{
	if (!count) {
		printf("%s does not intersect itself\n", o->path[0]);
		return report_end_of_text();
	}
	printf("%s intersects itself: %d pair%s of triangles\n\n", o->path[0], count, count == 1 ? "" : "s");
	printf("%9s %9s   %11s %11s %11s\n", "triangle", "triangle", "near x", "y", "z");
	for (int32_t i = 0; i < count && i < LISTED_MAX; i++) {
		double place[3];
		meeting_place(mesh, pairs[i], place);
		printf("%9d %9d   %11.5g %11.5g %11.5g\n", pairs[i][0], pairs[i][1], place[0], place[1], place[2]);
	}
	if (count > LISTED_MAX)
		printf("... and %d more (--pairs FILE writes all)\n", count - LISTED_MAX);
	return report_end_of_text();
}

// All pairs, in two calls: the first one tells how many there are. NULL when that fails.
static int32_t (*find_pairs(const carom_mesh *mesh, int32_t *count))[2]
{
	if (carom_mesh_self_intersections(mesh, 0, NULL, count) != CAROM_SUCCESS)
		return NULL;
	int32_t(*pairs)[2] = malloc(((size_t)*count + 1) * sizeof *pairs);
	if (pairs && carom_mesh_self_intersections(mesh, *count, pairs, count) == CAROM_SUCCESS)
		return pairs;
	free(pairs);
	return NULL;
}

static int check_self(const check_options *o, const carom_mesh *mesh, const sim_mesh *source, cJSON *warnings)
{
	int32_t count;
	int32_t(*pairs)[2] = find_pairs(mesh, &count);
	int status = pairs ? EXIT_DONE : report_error(o->path[0], "out of memory");
	if (status == EXIT_DONE && o->pairs)
		status = write_pairs(o->pairs, pairs, count);
	if (status == EXIT_DONE && o->json) {
		status = print_self_json(source, pairs, count, warnings);
	} else {
		cJSON_Delete(warnings);
		if (status == EXIT_DONE)
			status = print_self_text(o, source, pairs, count);
	}
	free(pairs);
	return status;
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
	carom_mesh *meshes[2] = { NULL, NULL };
	sim_mesh sources[2] = { { 0 }, { 0 } };
	bool loaded = true;
	for (int i = 0; loaded && i < o.path_count; i++) {
		const mesh_input input = { .path = o.path[i],
			.scalar = (mesh_scalar)o.scalar,
			.scale = 1,
			.weld = o.weld,
			.grid_resolution = -1,
			.warnings = warnings };
		meshes[i] = mesh_input_load(context, &input, &sources[i]);
		loaded = meshes[i] != NULL;
	}
	status = EXIT_FAILED;
	if (!loaded)
		cJSON_Delete(warnings);
	else
		status =
			o.path_count == 2 ? check_pair(&o, context, meshes, warnings) : check_self(&o, meshes[0], &sources[0], warnings);
	for (int i = 0; i < 2; i++) {
		carom_release_mesh(meshes[i]);
		sim_mesh_free(&sources[i]);
	}
	carom_destroy_context(context);
	return status;
}
