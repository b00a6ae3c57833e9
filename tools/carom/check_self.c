// `carom check A`: where does a mesh pass through itself?
#include "check.h"

#include "carom/carom.h"
#include "tool_oracle.h"
#include "options.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>

typedef struct self_answer {
	int32_t (*pairs)[2]; // [count]
	int32_t count;
	int32_t split; // of these, pairs that have a position in common, each with a vertex of its own
	oracle_difference difference;
} self_answer;

/// The middle of the space that the boxes of two triangles share: near where they meet.
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

static bool is_at_one_position(const sim_mesh *mesh, int32_t v, int32_t w)
{
	for (int axis = 0; axis < 3; axis++) {
		if (mesh_input_coordinate(mesh, v, axis) != mesh_input_coordinate(mesh, w, axis))
			return false;
	}
	return true;
}

/// Pairs that --weld would make neighbours.
static int32_t count_split(const sim_mesh *mesh, const int32_t (*pairs)[2], int32_t count)
{
	int32_t split = 0;
	for (int32_t i = 0; i < count; i++) {
		const int32_t *a = mesh->triangles + 3 * (size_t)pairs[i][0], *b = mesh->triangles + 3 * (size_t)pairs[i][1];
		bool common = false;
		for (int k = 0; k < 9; k++)
			common = common || is_at_one_position(mesh, a[k / 3], b[k % 3]);
		split += common;
	}
	return split;
}

static int write_pairs(const char *path, const self_answer *a)
{
	io_output_file file;
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	for (int32_t i = 0; i < a->count; i++)
		fprintf(file.stream, "%d %d\n", a->pairs[i][0], a->pairs[i][1]);
	return report_commit(&file);
}

static int print_json(const check_options *o, const sim_mesh *mesh, const self_answer *a, cJSON *warnings)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddBoolToObject(json, "collides", a->count > 0);
	cJSON_AddNumberToObject(json, "contacts", a->count);
	cJSON_AddNumberToObject(json, "depth", 0);
	cJSON_AddStringToObject(json, "scalar", mesh_input_scalar(mesh));
	cJSON_AddNumberToObject(json, "at_split_vertices", a->split);
	if (a->count) {
		double place[3];
		meeting_place(mesh, a->pairs[0], place);
		cJSON *first = cJSON_AddObjectToObject(json, "first");
		cJSON_AddItemToObject(first, "triangles", cJSON_CreateIntArray(a->pairs[0], 2));
		report_add_vector(first, "point", place);
	}
	if (o->oracle)
		oracle_add_json(json, &a->difference);
	cJSON_AddItemToObject(json, "warnings", warnings);
	return report_json(json);
}

static int print_text(const check_options *o, const sim_mesh *mesh, const self_answer *a)
{
	if (!a->count)
		printf("%s does not intersect itself\n", o->path[0]);
	else
		printf("%s intersects itself: %d pair%s of triangles\n", o->path[0], a->count, a->count == 1 ? "" : "s");
	if (a->split)
		printf(
			"%d of them meet at split vertices, where each has a vertex of its own: with --weld such triangles are neighbours\n",
			a->split);
	if (o->oracle)
		printf("the oracle, every pair of triangles: the same %d\n", a->count);
	if (a->count)
		printf("\n%9s %9s   %11s %11s %11s\n", "triangle", "triangle", "near x", "y", "z");
	for (int32_t i = 0; i < a->count && i < CHECK_LISTED_MAX; i++) {
		double place[3];
		meeting_place(mesh, a->pairs[i], place);
		printf("%9d %9d   %11.5g %11.5g %11.5g\n", a->pairs[i][0], a->pairs[i][1], place[0], place[1], place[2]);
	}
	if (a->count > CHECK_LISTED_MAX)
		printf("... and %d more (--pairs FILE writes all)\n", a->count - CHECK_LISTED_MAX);
	return report_end_of_text();
}

/// All pairs; again with room for all when there are more than were expected.
static bool find_pairs(const carom_mesh *mesh, self_answer *a)
{
	int32_t room = 4096;
	for (;;) {
		a->pairs = malloc((size_t)room * sizeof *a->pairs);
		if (!a->pairs || carom_mesh_self_intersections(mesh, room, a->pairs, &a->count) != CAROM_SUCCESS)
			return false;
		if (a->count <= room)
			return true;
		room = a->count;
		free(a->pairs);
	}
}

static int ask_oracle(const check_options *o, const sim_mesh *mesh, self_answer *a)
{
	oracle_pairs dull;
	if (!oracle_find_self_pairs(mesh, &dull)) {
		oracle_free_pairs(&dull);
		return report_error(o->path[0], "out of memory");
	}
	oracle_compare_pairs("triangles", (const int32_t(*)[2])a->pairs, a->count, &dull, &a->difference);
	oracle_free_pairs(&dull);
	return oracle_report(o->path[0], -1, &a->difference);
}

int check_self(const check_options *o, carom_context *context, const check_mesh *mesh, cJSON *warnings)
{
	(void)context;
	self_answer a = { 0 };
	int status = find_pairs(mesh->mesh, &a) ? EXIT_DONE : report_error(o->path[0], "out of memory");
	if (status == EXIT_DONE && o->oracle)
		status = ask_oracle(o, &mesh->source, &a);
	if (status == EXIT_DONE && o->pairs)
		status = write_pairs(o->pairs, &a);
	if (status == EXIT_DONE)
		a.split = count_split(&mesh->source, (const int32_t(*)[2])a.pairs, a.count);
	if (status == EXIT_DONE && o->json) {
		status = print_json(o, &mesh->source, &a, warnings);
	} else {
		cJSON_Delete(warnings);
		if (status == EXIT_DONE)
			status = print_text(o, &mesh->source, &a);
	}
	free(a.pairs);
	return status;
}
