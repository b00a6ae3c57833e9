// `carom check A B`: do two meshes collide; where, how deep, or how far apart?
//
// Whether they do is decided by the numbers of the files. Contacts and distances are measured on
// floats about the middle of each mesh.
#include "check.h"

#include "carom/carom.h"
#include "tool_oracle.h"
#include "options.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

// The findings about two meshes.
typedef struct pair_answer {
	bool collides;
	int32_t intersections;   // pairs of triangles
	carom_contact *contacts; // [count] deepest first
	int32_t count;
	bool has_gap;
	carom_mesh_gap gap; // of meshes that do not collide
	const char *scalar;
	oracle_difference difference;
} pair_answer;

static int print_json(const check_options *o, const pair_answer *a, cJSON *warnings)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddBoolToObject(json, "collides", a->collides);
	cJSON_AddNumberToObject(json, "contacts", a->count);
	cJSON_AddNumberToObject(json, "depth", a->count ? (double)a->contacts[0].depth : 0);
	cJSON_AddNumberToObject(json, "intersections", a->intersections);
	cJSON_AddStringToObject(json, "scalar", a->scalar);
	if (a->count)
		add_contact(json, "deepest", &a->contacts[0]);
	if (a->has_gap) {
		cJSON_AddNumberToObject(json, "distance", a->gap.distance);
		add_side(json, "nearest_a", &a->gap.on_a, a->gap.triangle_a);
		add_side(json, "nearest_b", &a->gap.on_b, a->gap.triangle_b);
	}
	if (o->oracle)
		oracle_add_json(json, &a->difference);
	cJSON_AddItemToObject(json, "warnings", warnings);
	return report_json(json);
}

static void print_contacts(const check_options *o, const pair_answer *a)
{
	// Adding 0 makes 0 of -0, a depth of surfaces that just touch.
	printf("%s and %s collide: %d contact%s, deepest %.6g\n\n", o->path[0], o->path[1], a->count, a->count == 1 ? "" : "s",
		(double)a->contacts[0].depth + 0.0);
	printf("%11s   %11s %11s %11s   %9s %9s %9s\n", "depth", "point x", "y", "z", "out of B x", "y", "z");
	for (int32_t i = 0; i < a->count && i < CHECK_LISTED_MAX; i++) {
		const carom_contact *c = &a->contacts[i];
		printf("%11.5g   %11.5g %11.5g %11.5g   %9.4f %9.4f %9.4f\n", (double)c->depth + 0.0, c->point[0], c->point[1],
			c->point[2], (double)c->normal[0], (double)c->normal[1], (double)c->normal[2]);
	}
	if (a->count > CHECK_LISTED_MAX)
		printf("... and %d more (--contacts FILE writes all)\n", a->count - CHECK_LISTED_MAX);
}

static int print_text(const check_options *o, const pair_answer *a)
{
	const carom_mesh_gap *gap = &a->gap;
	if (a->count) {
		print_contacts(o, a);
	} else if (a->collides) {
		printf("%s and %s collide: %d pairs of triangles intersect, by so little that floats show no contact\n", o->path[0],
			o->path[1], a->intersections);
	} else {
		printf("%s and %s do not collide", o->path[0], o->path[1]);
		if (a->has_gap)
			printf(": they are %.6g apart, at %.6g %.6g %.6g and %.6g %.6g %.6g", gap->distance, gap->on_a.point.x,
				gap->on_a.point.y, gap->on_a.point.z, gap->on_b.point.x, gap->on_b.point.y, gap->on_b.point.z);
		printf("\n");
	}
	if (o->oracle)
		printf("the oracle, every pair of triangles: the same %d that intersect\n", a->intersections);
	return report_end_of_text();
}

static int write_contacts(const char *path, const carom_contact *contacts, int32_t count)
{
	io_output_file file;
	if (report_open(&file, path) != EXIT_DONE)
		return EXIT_FAILED;
	for (int32_t i = 0; i < count; i++)
		report_contact(file.stream, &contacts[i], 0, 1);
	return report_commit(&file);
}

// ---- Do they collide? ----

/// B where it stands, in double.
static bool place_mesh(const sim_mesh *mesh, const carom_pose *pose, sim_mesh *placed)
{
	const size_t corners = 3 * (size_t)mesh->triangle_count;
	*placed = (sim_mesh){ .vertex_count = mesh->vertex_count, .triangle_count = mesh->triangle_count };
	placed->doubles = malloc(3 * (size_t)mesh->vertex_count * sizeof *placed->doubles + 1);
	placed->triangles = malloc(corners * sizeof *placed->triangles + 1);
	if (!placed->doubles || !placed->triangles)
		return false;
	if (corners > 0)
		memcpy(placed->triangles, mesh->triangles, corners * sizeof *placed->triangles);
	for (int32_t v = 0; v < mesh->vertex_count; v++) {
		const carom_vec3 p = { mesh_input_coordinate(mesh, v, 0), mesh_input_coordinate(mesh, v, 1),
			mesh_input_coordinate(mesh, v, 2) };
		const carom_vec3 q = carom_transform_point(*pose, p);
		const double place[3] = { q.x, q.y, q.z };
		memcpy(placed->doubles + 3 * (size_t)v, place, sizeof place);
	}
	return sim_mesh_round(placed);
}

static int compare_with_oracle(
	const check_options *o, carom_mesh *const exact[2], const sim_mesh *const sources[2], pair_answer *a)
{
	oracle_pairs dull = { 0 };
	int32_t count = 0, (*pairs)[2] = malloc(((size_t)a->intersections + 1) * sizeof *pairs);
	int status = EXIT_DONE;
	if (!pairs || !oracle_find_mesh_pairs(sources[0], sources[1], &dull) ||
		carom_mesh_intersections(exact[0], NULL, exact[1], NULL, a->intersections, pairs, &count) != CAROM_SUCCESS) {
		status = report_error(NULL, "out of memory");
	} else {
		oracle_compare_pairs("triangles", (const int32_t(*)[2])pairs, count, &dull, &a->difference);
		status = oracle_report(o->path[0], -1, &a->difference);
	}
	oracle_free_pairs(&dull);
	free(pairs);
	return status;
}

/// Do the surfaces intersect, or does one mesh lie in the other? By the numbers of the files,
/// exactly once B is placed.
static int decide(
	const check_options *o, carom_context *context, const check_mesh meshes[2], const sim_mesh *placed, pair_answer *a)
{
	const sim_mesh *const sources[2] = { &meshes[0].source, placed };
	carom_mesh *exact[2] = { NULL, NULL };
	carom_result result = CAROM_SUCCESS;
	int status = EXIT_DONE;
	for (int i = 0; i < 2 && status == EXIT_DONE; i++) {
		carom_mesh_def def = io_mesh_def(sources[i]);
		def.grid_resolution = 0;
		result = carom_create_mesh(context, &def, NULL, &exact[i]);
		// The files have been checked: only a pose that leads far away is left.
		if (result != CAROM_SUCCESS)
			status = report_error(o->path[i], "at its pose: %s", carom_error_text(context));
	}
	if (status == EXIT_DONE)
		result = carom_mesh_intersections(exact[0], NULL, exact[1], NULL, 0, NULL, &a->intersections);
	if (status == EXIT_DONE && result != CAROM_SUCCESS)
		status = report_error(NULL, "%s", carom_error_text(context));
	a->collides = a->intersections > 0;
	for (int outer = 0; outer < 2 && status == EXIT_DONE && !a->collides; outer++) {
		if (carom_mesh_get_report(meshes[outer].mesh)->closed &&
			!oracle_lies_inside(sources[!outer], sources[outer], &a->collides))
			status = report_error(NULL, "out of memory");
	}
	if (status == EXIT_DONE && o->oracle)
		status = compare_with_oracle(o, exact, sources, a);
	carom_release_mesh(exact[0]);
	carom_release_mesh(exact[1]);
	return status;
}

// ---- Where, how deep? ----

/// Both bodies dynamic, so that they are tested against each other.
static bool collide(carom_world *world, const check_mesh meshes[2], const carom_pose poses[2])
{
	for (int i = 0; i < 2; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape.type = CAROM_MESH;
		def.shape.mesh = meshes[i].mesh;
		def.kind = CAROM_DYNAMIC;
		def.pose = poses[i];
		carom_body_id id;
		if (carom_world_add_body(world, &def, &id) != CAROM_SUCCESS)
			return false;
	}
	return carom_world_step(world) == CAROM_SUCCESS;
}

/// Contacts of meshes that collide, or the gap between others.
static int measure(const check_options *o, carom_context *context, const check_mesh meshes[2], pair_answer *a)
{
	carom_pose poses[2] = { carom_pose_identity(), o->pose_b };
	for (int i = 0; i < 2; i++)
		poses[i].position = carom_transform_point(i ? o->pose_b : carom_pose_identity(),
			(carom_vec3){ meshes[i].middle[0], meshes[i].middle[1], meshes[i].middle[2] });
	if (!a->collides) {
		if (carom_mesh_distance(meshes[0].mesh, &poses[0], meshes[1].mesh, &poses[1], INFINITY, &a->has_gap, &a->gap) !=
			CAROM_SUCCESS)
			return report_error(NULL, "%s", carom_error_text(context));
		return EXIT_DONE;
	}
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE; // there is one step
	def.max_contacts_per_pair = 0;
	carom_world *world;
	int status = EXIT_DONE;
	if (carom_create_world(context, &def, &world) != CAROM_SUCCESS || !collide(world, meshes, poses)) {
		status = report_error(NULL, "%s", carom_error_text(context));
	} else {
		const carom_contact_view view = carom_world_contacts(world);
		a->contacts = malloc(((size_t)view.count + 1) * sizeof *a->contacts);
		if (!a->contacts)
			status = report_error(NULL, "out of memory");
		else if (view.count)
			memcpy(a->contacts, view.data, (size_t)view.count * sizeof *a->contacts);
		a->count = a->contacts ? view.count : 0;
	}
	carom_destroy_world(world);
	return status;
}

int check_pair(const check_options *o, carom_context *context, const check_mesh meshes[2], cJSON *warnings)
{
	pair_answer a = { .scalar = mesh_input_scalar(&meshes[meshes[0].source.doubles == NULL].source) };
	sim_mesh placed;
	int status = place_mesh(&meshes[1].source, &o->pose_b, &placed) ? EXIT_DONE : report_error(NULL, "out of memory");
	if (status == EXIT_DONE)
		status = decide(o, context, meshes, &placed, &a);
	sim_mesh_free(&placed);
	if (status == EXIT_DONE)
		status = measure(o, context, meshes, &a);
	if (status == EXIT_DONE && o->contacts)
		status = write_contacts(o->contacts, a.contacts, a.count);
	if (a.count)
		qsort(a.contacts, (size_t)a.count, sizeof *a.contacts, deeper_first);
	if (status == EXIT_DONE && o->json) {
		status = print_json(o, &a, warnings);
	} else {
		cJSON_Delete(warnings);
		if (status == EXIT_DONE)
			status = print_text(o, &a);
	}
	free(a.contacts);
	return status;
}
