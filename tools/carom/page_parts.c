// What pages of recordings and of runs that go on have alike: see page_parts.h.
#include "page_parts.h"

#include "report.h"

#include "web/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NORMAL_QUANTUM = 1.0 / 1024;

// ---- Sizes ----

double page_quantum(double length)
{
	return length > 0 && isfinite(length) ? ldexp(1, (int)floor(log2(length))) : ldexp(1, -10);
}

double page_body_quantum(double least_extent) { return page_quantum(least_extent / 2048); }

double page_vertex_quantum(double edge) { return page_quantum(edge / 256); }

double page_sphere_quantum(double mean_radius) { return page_quantum(mean_radius / 64); }

static int compare_lengths(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double page_middle_edge(const sim_mesh *mesh)
{
	enum { MOST = 1000 };
	const int32_t step = 1 + mesh->triangle_count / MOST;
	double lengths[MOST + 1];
	int count = 0;
	for (int32_t i = 0; i < mesh->triangle_count; i += step) {
		const float *a = mesh->vertices + 3 * (size_t)mesh->triangles[3 * (size_t)i];
		const float *b = mesh->vertices + 3 * (size_t)mesh->triangles[3 * (size_t)i + 1];
		const double length = hypot(hypot(b[0] - a[0], b[1] - a[1]), b[2] - a[2]);
		lengths[count] = length;
		count += length > 0; // a surface that is not there yet is a point
	}
	qsort(lengths, (size_t)count, sizeof *lengths, compare_lengths);
	return count > 0 ? lengths[count / 2] : 0;
}

static double mesh_extent(const io_recorded_mesh *mesh)
{
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY }, extent = 0;
	for (int64_t i = 0; i < 3 * (int64_t)mesh->vertex_count; i++) {
		lower[i % 3] = fmin(lower[i % 3], mesh->vertices[i]);
		upper[i % 3] = fmax(upper[i % 3], mesh->vertices[i]);
	}
	for (int k = 0; k < 3; k++)
		extent = fmax(extent, (upper[k] - lower[k]) / 2);
	return extent;
}

double page_extent(const io_recorded_body *body, const io_recorded_mesh *mesh)
{
	const double *half = body->half_extents;
	switch (body->type) {
	case CAROM_MESH:
	case CAROM_HULL: return mesh_extent(mesh);
	case CAROM_BOX:
	case CAROM_ELLIPSOID: return fmax(half[0], fmax(half[1], half[2]));
	case CAROM_PLANE: return 0;
	default: return fmax(body->radius, body->half_length);
	}
}

// ---- The head ----

cJSON *page_start_head(const char *title)
{
	const carom_version version = carom_get_version();
	char made_by[48];
	snprintf(made_by, sizeof made_by, "carom %d.%d.%d", version.major, version.minor, version.patch);
	cJSON *head = cJSON_CreateObject();
	cJSON_AddStringToObject(head, "format", "carom-page");
	cJSON_AddNumberToObject(head, "version", 1);
	cJSON_AddStringToObject(head, "made_by", made_by);
	cJSON_AddStringToObject(head, "title", title);
	return head;
}

void page_describe_contacts(cJSON *head, double quantum, int frames_per_block)
{
	cJSON *contacts = cJSON_AddObjectToObject(head, "contacts");
	cJSON_AddNumberToObject(contacts, "frames_per_block", frames_per_block);
	cJSON_AddNumberToObject(contacts, "normal_quantum", NORMAL_QUANTUM);
	cJSON_AddNumberToObject(contacts, "depth_quantum", quantum / 16);
}

void page_describe_camera(cJSON *head, const scene_camera *camera)
{
	const carom_vec3 p = camera->position, t = camera->target;
	if (!camera->given)
		return;
	cJSON *object = cJSON_AddObjectToObject(head, "camera");
	report_add_vector(object, "position", (const double[3]){ p.x, p.y, p.z });
	report_add_vector(object, "target", (const double[3]){ t.x, t.y, t.z });
	cJSON_AddNumberToObject(object, "field_of_view", camera->field_of_view);
}

// ---- Bodies ----

void page_fill_row(const io_recorded_body *body, int32_t mesh_count, int32_t number, double to[PAGE_ROW_NUMBERS])
{
	const carom_pose place = body->part ? body->place : (carom_pose){ .orientation = { 0, 0, 0, 1 } };
	const int32_t mesh = body->mesh + (body->type == CAROM_HULL ? mesh_count : 0);
	const double numbers[PAGE_ROW_NUMBERS] = { (double)body->kind, (double)body->type, mesh, body->radius, body->half_length,
		body->half_extents[0], body->half_extents[1], body->half_extents[2], body->rounding, body->part, place.position.x,
		place.position.y, place.position.z, place.orientation.x, place.orientation.y, place.orientation.z, place.orientation.w,
		number };
	memcpy(to, numbers, sizeof numbers);
}

bool page_add_mesh(web_page *page, int32_t number, const io_recorded_mesh *mesh, sim_error *error)
{
	char name[32];
	const uint32_t head[2] = { (uint32_t)mesh->vertex_count, (uint32_t)mesh->triangle_count };
	const size_t places = 12 * (size_t)mesh->vertex_count, corners = 12 * (size_t)mesh->triangle_count;
	char *bytes = malloc(sizeof head + places + corners);
	if (!bytes)
		return sim_fail(error, "out of memory");
	memcpy(bytes, head, sizeof head);
	memcpy(bytes + sizeof head, mesh->vertices, places);
	memcpy(bytes + sizeof head + places, mesh->triangles, corners);
	snprintf(name, sizeof name, "mesh-%d", (int)number);
	const bool done = web_page_add(page, name, bytes, sizeof head + places + corners, error);
	free(bytes);
	return done;
}

bool page_add_values(web_page *page, const char *name, const int32_t *values, int64_t count, int32_t stride, sim_error *error)
{
	const size_t size = web_packed_size(1, count);
	unsigned char *packed = malloc(size);
	if (!packed)
		return sim_fail(error, "out of memory");
	web_pack(values, 1, count, stride, packed);
	const bool done = web_page_add(page, name, packed, size, error);
	free(packed);
	return done;
}

void page_fill_pose(const carom_pose *pose, double quantum, int32_t to[PAGE_POSE_NUMBERS])
{
	const double place[3] = { pose->position.x, pose->position.y, pose->position.z };
	const carom_quat q = pose->orientation;
	// of the two quaternions of a turn the one with w >= 0: neighbours have near numbers
	const double sign = q.w < 0 ? -1 : 1, turn[4] = { q.x, q.y, q.z, q.w };
	for (int k = 0; k < 3; k++)
		to[k] = web_quantise(place[k], quantum);
	for (int k = 0; k < 4; k++)
		to[3 + k] = web_quantise(sign * turn[k], PAGE_TURN_QUANTUM);
}

void page_fill_contact(const io_recorded_contact *contact, double quantum, int32_t to[PAGE_CONTACT_NUMBERS])
{
	to[0] = contact->body_a;
	to[1] = contact->body_b;
	for (int k = 0; k < 3; k++) {
		to[2 + k] = web_quantise(contact->point[k], quantum);
		to[5 + k] = web_quantise(contact->normal[k], NORMAL_QUANTUM);
	}
	to[8] = web_quantise(contact->depth, quantum / 16);
}

// ---- Points ----

/// Depths of spheres are thousandths of a radius, and less.
static double point_depth_quantum(double quantum) { return quantum / 4096; }

void page_describe_points(cJSON *track, double quantum)
{
	cJSON *points = cJSON_AddObjectToObject(track, "points");
	cJSON_AddNumberToObject(points, "normal_quantum", NORMAL_QUANTUM);
	cJSON_AddNumberToObject(points, "depth_quantum", point_depth_quantum(quantum));
}

static void fill_point(const sim_contact_point *point, double quantum, int32_t to[PAGE_POINT_NUMBERS])
{
	to[0] = (int32_t)point->kind;
	for (int k = 0; k < 3; k++) {
		to[1 + k] = web_quantise(point->point[k], quantum);
		to[4 + k] = web_quantise(point->normal[k], NORMAL_QUANTUM);
	}
	to[7] = web_quantise(point->depth, point_depth_quantum(quantum));
}

int32_t *page_fill_points(const sim_contact_points *points, double quantum, int64_t *count)
{
	const int64_t all = points ? points->count : 0, step = 1 + (all - 1) / PAGE_POINTS, kept = (all + step - 1) / step;
	int32_t *values = calloc((size_t)(kept + 1) * PAGE_POINT_NUMBERS, sizeof *values), *to = values;
	*count = (kept + 1) * PAGE_POINT_NUMBERS;
	if (!values)
		return NULL;
	values[0] = points != NULL;
	values[1 + SIM_CONTACT_KINDS] = (int32_t)kept;
	for (int64_t i = 0; i < all; i++) {
		values[1 + points->data[i].kind]++;
		if (i % step == 0)
			fill_point(&points->data[i], quantum, to += PAGE_POINT_NUMBERS);
	}
	return values;
}
