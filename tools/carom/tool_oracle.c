// Every pair of triangles, every pair of spheres, and messages about differences. See
// tool_oracle.h.
#include "tool_oracle.h"

#include "mesh_input.h"
#include "options.h"
#include "oracle_boxes.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Lists of pairs ----

void oracle_free_pairs(oracle_pairs *pairs)
{
	free(pairs->data);
	*pairs = (oracle_pairs){ 0 };
}

static bool add_pair(oracle_pairs *pairs, int32_t a, int32_t b)
{
	if (pairs->count == pairs->capacity) {
		const int64_t larger = 2 * pairs->capacity + 1024;
		void *memory = realloc(pairs->data, (size_t)larger * sizeof *pairs->data);
		if (!memory)
			return false;
		pairs->data = memory;
		pairs->capacity = larger;
	}
	pairs->data[pairs->count][0] = a;
	pairs->data[pairs->count++][1] = b;
	return true;
}

static int by_numbers(const void *first, const void *second)
{
	const int32_t *a = first, *b = second;
	const int k = a[0] == b[0];
	return (a[k] > b[k]) - (a[k] < b[k]);
}

static void sort_pairs(oracle_pairs *pairs)
{
	if (pairs->count > 0)
		qsort(pairs->data, (size_t)pairs->count, sizeof *pairs->data, by_numbers);
}

void oracle_compare_pairs(
	const char *name, const int32_t (*fast)[2], int64_t count, const oracle_pairs *dull, oracle_difference *difference)
{
	difference->count += dull->count;
	for (int64_t i = 0, k = 0; i < count || k < dull->count;) {
		const int order = i == count ? 1 : k == dull->count ? -1 : by_numbers(fast[i], dull->data[k]);
		const int32_t *pair = order > 0 ? dull->data[k] : fast[i];
		if (order != 0 && !difference->first[0])
			snprintf(difference->first, sizeof difference->first, "%s %d and %d are %s", name, pair[0], pair[1],
				order > 0 ? "missed" : "invented");
		difference->missed += order > 0;
		difference->invented += order < 0;
		i += order <= 0;
		k += order >= 0;
	}
}

// ---- Triangles ----

static carom_vec3 corner_of(const sim_mesh *mesh, int32_t triangle, int k)
{
	const int32_t v = mesh->triangles[3 * (size_t)triangle + (size_t)k];
	return (
		carom_vec3){ mesh_input_coordinate(mesh, v, 0), mesh_input_coordinate(mesh, v, 1), mesh_input_coordinate(mesh, v, 2) };
}

static void corners_of(const sim_mesh *mesh, int32_t triangle, carom_vec3 corners[3])
{
	for (int k = 0; k < 3; k++)
		corners[k] = corner_of(mesh, triangle, k);
}

/// Corners on one line lie in one plane with any point. Others with none of four points that lie in
/// no plane together.
static bool is_flat(const carom_vec3 c[3])
{
	static const carom_vec3 points[4] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
	for (int i = 0; i < 4; i++) {
		if (carom_orientation(c[0], c[1], c[2], points[i]) != 0)
			return false;
	}
	return true;
}

static bool is_same_point(carom_vec3 a, carom_vec3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

static bool is_repetition(const carom_vec3 a[3], const carom_vec3 b[3])
{
	for (int turn = 0; turn < 3; turn++) {
		if (is_same_point(a[0], b[turn]) && is_same_point(a[1], b[(turn + 1) % 3]) && is_same_point(a[2], b[(turn + 2) % 3]))
			return true;
	}
	return false;
}

// The triangles of a mesh, with boxes of those that take part.
typedef struct triangle_list {
	const sim_mesh *mesh;
	bool *left_out;
	oracle_box *boxes;
	int64_t count;
} triangle_list;

static bool mark_repetition(int32_t a, int32_t b, void *user)
{
	triangle_list *list = user;
	carom_vec3 p[3], q[3];
	corners_of(list->mesh, a, p);
	corners_of(list->mesh, b, q);
	if (is_repetition(p, q))
		list->left_out[a > b ? a : b] = true;
	return true;
}

static void close_list(triangle_list *list)
{
	free(list->left_out);
	free(list->boxes);
}

static bool open_list(const sim_mesh *mesh, triangle_list *list)
{
	const int32_t count = mesh->triangle_count;
	*list = (triangle_list){ .mesh = mesh };
	list->left_out = calloc((size_t)count + 1, sizeof *list->left_out);
	list->boxes = malloc(((size_t)count + 1) * sizeof *list->boxes);
	if (!list->left_out || !list->boxes)
		return false;
	for (int32_t t = 0; t < count; t++) {
		carom_vec3 c[3];
		corners_of(mesh, t, c);
		if ((list->left_out[t] = is_flat(c)))
			continue;
		oracle_box *box = &list->boxes[list->count++];
		*box = oracle_empty_box(t);
		for (int k = 0; k < 3; k++)
			oracle_grow_box(box, (const double[3]){ c[k].x, c[k].y, c[k].z });
	}
	return oracle_visit_overlaps(list->boxes, list->count, list->boxes, list->count, mark_repetition, list);
}

typedef struct triangle_search {
	const triangle_list *a, *b;
	oracle_pairs *found;
} triangle_search;

static bool share_vertex(const sim_mesh *mesh, int32_t a, int32_t b)
{
	const int32_t *p = mesh->triangles + 3 * (size_t)a, *q = mesh->triangles + 3 * (size_t)b;
	for (int k = 0; k < 9; k++) {
		if (p[k / 3] == q[k % 3])
			return true;
	}
	return false;
}

static bool test_triangles(int32_t a, int32_t b, void *user)
{
	const triangle_search *s = user;
	const bool within = s->a == s->b;
	if (s->a->left_out[a] || s->b->left_out[b] || (within && share_vertex(s->a->mesh, a, b)))
		return true;
	carom_vec3 p[3], q[3];
	corners_of(s->a->mesh, a, p);
	corners_of(s->b->mesh, b, q);
	if (!carom_triangles_intersect(p, q))
		return true;
	return within && b < a ? add_pair(s->found, b, a) : add_pair(s->found, a, b);
}

bool oracle_find_self_pairs(const sim_mesh *mesh, oracle_pairs *found)
{
	triangle_list list;
	*found = (oracle_pairs){ 0 };
	triangle_search search = { &list, &list, found };
	const bool done = open_list(mesh, &list) &&
		oracle_visit_overlaps(list.boxes, list.count, list.boxes, list.count, test_triangles, &search);
	close_list(&list);
	sort_pairs(found);
	return done;
}

bool oracle_find_mesh_pairs(const sim_mesh *a, const sim_mesh *b, oracle_pairs *found)
{
	triangle_list lists[2] = { { 0 }, { 0 } };
	*found = (oracle_pairs){ 0 };
	triangle_search search = { &lists[0], &lists[1], found };
	const bool done = open_list(a, &lists[0]) && open_list(b, &lists[1]) &&
		oracle_visit_overlaps(lists[0].boxes, lists[0].count, lists[1].boxes, lists[1].count, test_triangles, &search);
	close_list(&lists[0]);
	close_list(&lists[1]);
	sort_pairs(found);
	return done;
}

// ---- Spheres ----

typedef struct sphere_search {
	const io_sphere_set *set;
	oracle_pairs *found;
} sphere_search;

static void read_sphere(const io_sphere_set *set, int64_t i, double sphere[4])
{
	for (int k = 0; k < 4; k++)
		sphere[k] = set->wide ? ((const double *)set->values)[4 * i + k] : (double)((const float *)set->values)[4 * i + k];
}

static bool test_spheres(int32_t a, int32_t b, void *user)
{
	const sphere_search *s = user;
	double p[4], q[4];
	// The lower number first, so that the sums are rounded alike.
	read_sphere(s->set, a < b ? a : b, p);
	read_sphere(s->set, a < b ? b : a, q);
	const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2], reach = p[3] + q[3];
	return !(x * x + y * y + z * z <= reach * reach) || add_pair(s->found, a < b ? a : b, a < b ? b : a);
}

bool oracle_find_sphere_pairs(const io_sphere_set *spheres, oracle_pairs *found)
{
	*found = (oracle_pairs){ 0 };
	oracle_box *boxes = malloc(((size_t)spheres->count + 1) * sizeof *boxes);
	if (!boxes)
		return false;
	for (int64_t i = 0; i < spheres->count; i++) {
		double s[4];
		read_sphere(spheres, i, s);
		boxes[i].item = (int32_t)i;
		for (int k = 0; k < 3; k++) {
			// A little wider, for the sum is rounded.
			const double slack = 0x1p-50 * (fabs(s[k]) + s[3]);
			boxes[i].lower[k] = s[k] - s[3] - slack;
			boxes[i].upper[k] = s[k] + s[3] + slack;
		}
	}
	sphere_search search = { spheres, found };
	const bool done = oracle_visit_overlaps(boxes, spheres->count, boxes, spheres->count, test_spheres, &search);
	free(boxes);
	sort_pairs(found);
	return done;
}

// ---- Messages ----

void oracle_add_json(cJSON *json, const oracle_difference *d)
{
	cJSON *object = cJSON_AddObjectToObject(json, "oracle");
	cJSON_AddNumberToObject(object, "found", (double)d->count);
	cJSON_AddNumberToObject(object, "missed", (double)d->missed);
	cJSON_AddNumberToObject(object, "invented", (double)d->invented);
	cJSON_AddNumberToObject(object, "at_other_times", (double)d->other);
}

int oracle_report(const char *file, int64_t step, const oracle_difference *d)
{
	char of_step[32] = "";
	if (d->missed + d->invented + d->other == 0)
		return EXIT_DONE;
	if (step >= 0)
		snprintf(of_step, sizeof of_step, "step %lld: ", (long long)step);
	return report_error(file,
		"%sdiffers from the oracle, which finds %lld: %lld missed, %lld at another time, %lld invented; %s", of_step,
		(long long)d->count, (long long)d->missed, (long long)d->other, (long long)d->invented, d->first);
}
