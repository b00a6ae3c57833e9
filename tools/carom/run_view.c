// The page of a run that goes on. A frame is JSON about the step, and the state of each part in
// whole numbers, packed as in pages of recordings (web/track.h), a block of one frame each.
#include "run_view.h"

#include "page_parts.h"
#include "program.h"
#include "report.h"
#include "picture.h"
#include "run_picture.h"
#include "sim/base/sim_clock.h"
#include "sim/base/vectors.h"
#include "sim/grains/granular_output.h"
#include "web/server.h"
#include "web/track.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double FRAME_MS = 1000.0 / 60; // between frames, at least
// A frame costs no more than this part of the time, about.
enum { SHARE = 20 };

struct run_view {
	web_server server; // none: it is gone
	int32_t row_count; // of shapes
	double pose_quantum, vertex_quantum, sphere_quantum;
	double due;         // ms: of the next frame
	int64_t shown_step; // -1: none yet
};

// ---- Opening ----

/// Open the page where a person sits at a terminal with a desktop. Failure says nothing: the
/// address is printed in any case.
static void open_browser(const char *address)
{
	char *const arguments[] = { "xdg-open", (char *)address, NULL };
	posix_spawn_file_actions_t actions;
	pid_t process;
	if (!isatty(STDOUT_FILENO) || (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")))
		return;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return;
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
	posix_spawnp(&process, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
}

run_view *run_open_view(const run *r)
{
	char address[48];
	sim_error error;
	run_view *view = calloc(1, sizeof *view);
	if (!view) {
		report_error(NULL, "out of memory");
		return NULL;
	}
	if (!web_server_start(&view->server, r->options->view_port > 0 ? (int)r->options->view_port : 0, &error)) {
		report_error(NULL, "--view: %s", error.text);
		free(view);
		return NULL;
	}
	view->shown_step = -1;
	snprintf(address, sizeof address, "http://127.0.0.1:%d/", view->server.port);
	fprintf(stderr, "carom: view: %s\n", address);
	open_browser(address);
	return view;
}

void run_close_view(run_view *view, const char *how)
{
	if (!view)
		return;
	web_server_stop(&view->server, how);
	free(view);
}

// ---- The page ----

/// A shape of a body, and its mesh, where it has one: of a hull that of the hull.
typedef struct shape_row {
	io_recorded_body body;
	io_recorded_mesh mesh;
} shape_row;

static shape_row row_of(const run *r, int32_t body, int32_t k)
{
	const carom_body_def def = scene_simulation_body_def(r->parts.simulation, body);
	const carom_shape *shape = def.part_count > 0 ? &def.parts[k].shape : &def.shape;
	shape_row row = { .body = scene_recorded_body(&r->scene, body, k) };
	if (!shape->mesh)
		return row;
	const carom_mesh_report *report = carom_mesh_get_report(shape->mesh);
	row.mesh = (io_recorded_mesh){ .vertex_count = report->vertex_count,
		.triangle_count = report->triangle_count,
		.vertices = carom_mesh_get_vertices(shape->mesh),
		.triangles = carom_mesh_get_triangles(shape->mesh) };
	return row;
}

/// The meshes of a body that are not in the page yet. added [2*meshes]: which are.
static bool add_meshes_of(const run *r, int32_t body, bool *added, web_page *page, sim_error *error)
{
	for (int32_t k = 0; k < scene_shape_count(&r->scene.rigid.bodies[body]); k++) {
		const shape_row row = row_of(r, body, k);
		const int32_t number = row.body.mesh + (row.body.type == CAROM_HULL ? r->scene.mesh_count : 0);
		if (row.mesh.vertex_count == 0 || added[number])
			continue;
		added[number] = true;
		if (!page_add_mesh(page, number, &row.mesh, error))
			return false;
	}
	return true;
}

static bool add_meshes(const run *r, web_page *page, sim_error *error)
{
	bool *added = calloc(2 * (size_t)r->scene.mesh_count + 1, sizeof *added);
	bool done = added || sim_fail(error, "out of memory");
	for (int32_t i = 0; i < r->scene.rigid.body_count && done; i++)
		done = add_meshes_of(r, i, added, page, error);
	free(added);
	return done;
}

static bool add_rows(const run_view *view, const run *r, web_page *page, sim_error *error)
{
	double *numbers = malloc((size_t)view->row_count * PAGE_ROW_NUMBERS * sizeof *numbers + 1), *to = numbers;
	if (!numbers)
		return sim_fail(error, "out of memory");
	for (int32_t i = 0; i < r->scene.rigid.body_count; i++) {
		for (int32_t k = 0; k < scene_shape_count(&r->scene.rigid.bodies[i]); k++, to += PAGE_ROW_NUMBERS) {
			const io_recorded_body body = scene_recorded_body(&r->scene, i, k);
			page_fill_row(&body, r->scene.mesh_count, i, to);
		}
	}
	const bool done = web_page_add(page, "bodies", numbers, (size_t)view->row_count * PAGE_ROW_NUMBERS * sizeof *numbers, error);
	free(numbers);
	return done;
}

static bool add_radii(const run *r, web_page *page, sim_error *error)
{
	sim_granular_frame frame;
	if (!sim_take_granular_frame(r->parts.granular, &frame))
		return sim_fail(error, "out of memory");
	float *radii = malloc((size_t)frame.count * sizeof *radii + 1);
	for (int64_t i = 0; radii && i < frame.count; i++)
		radii[i] = (float)frame.radii[i];
	const bool done = radii ? web_page_add(page, "radii", radii, (size_t)frame.count * sizeof *radii, error)
							: sim_fail(error, "out of memory");
	free(radii);
	sim_free_granular_frame(&frame);
	return done;
}

static bool add_triangles(const run *r, web_page *page, sim_error *error)
{
	const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
	return web_page_add(page, "triangles", surface.triangles, 12 * (size_t)surface.triangle_count, error);
}

static void add_track(cJSON *tracks, const char *name, int64_t count, int stride, double quantum)
{
	cJSON *track = cJSON_AddObjectToObject(tracks, name);
	cJSON_AddNumberToObject(track, "frames", 0);
	cJSON_AddNumberToObject(track, "count", (double)count);
	cJSON_AddNumberToObject(track, "stride", stride);
	cJSON_AddNumberToObject(track, "frames_per_block", 1);
	cJSON_AddNumberToObject(track, "quantum", quantum);
	cJSON_AddNumberToObject(track, "recorded_frames", 0);
	cJSON_AddNumberToObject(track, "every", 1);
	if (stride == PAGE_POSE_NUMBERS)
		cJSON_AddNumberToObject(track, "turn_quantum", PAGE_TURN_QUANTUM);
	else
		page_describe_points(track, quantum);
}

static void describe_bodies(const run_view *view, const run *r, cJSON *head, cJSON *tracks)
{
	add_track(tracks, "poses", PAGE_POSE_NUMBERS * (int64_t)r->scene.rigid.body_count, PAGE_POSE_NUMBERS, view->pose_quantum);
	page_describe_contacts(head, view->pose_quantum, 1);
	cJSON *meshes = cJSON_AddArrayToObject(head, "meshes");
	for (int32_t i = 0; i < r->scene.mesh_count; i++)
		cJSON_AddItemToArray(meshes, cJSON_CreateString(r->scene.meshes[i].name));
}

static void describe_spheres(const run_view *view, const run *r, cJSON *head, cJSON *tracks)
{
	const int64_t count = sim_granular_get_info(r->parts.granular).count;
	add_track(tracks, "spheres", 3 * count, 3, view->sphere_quantum);
	cJSON_AddNumberToObject(head, "recorded_spheres", (double)count);
	cJSON_AddNumberToObject(head, "spheres_every", 1);
	report_add_vector(head, "box_lower", r->scene.spheres.def.lower);
	report_add_vector(head, "box_upper", r->scene.spheres.def.upper);
}

static void describe_soft(const run_view *view, const run *r, cJSON *head, cJSON *tracks)
{
	const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
	add_track(tracks, "vertices", 3 * (int64_t)surface.vertex_count, 3, view->vertex_quantum);
	cJSON_AddNumberToObject(head, "triangles", surface.triangle_count);
}

/// Widen a box by where its corners would land on a plane.
static void drop_to_plane(carom_aabb *box, const carom_pose *plane, carom_vec3 up)
{
	const carom_aabb from = *box;
	const carom_vec3 normal = carom_rotate(plane->orientation, (carom_vec3){ 0, 0, 1 });
	const double slope = sim_dot(normal, up);
	for (int i = 0; i < 8 && slope > 0.1; i++) {
		const carom_vec3 corner = { i & 1 ? from.upper.x : from.lower.x, i & 2 ? from.upper.y : from.lower.y,
			i & 4 ? from.upper.z : from.lower.z };
		const double height = sim_dot(sim_subtract(corner, plane->position), normal) / slope;
		const carom_vec3 foot = sim_subtract(corner, sim_scale(up, fmax(height, 0)));
		view_widen_box(box, &(carom_aabb){ foot, foot });
	}
}

/// What the first view should show: all that moves, and where it falls.
static carom_aabb first_view(const run *r)
{
	carom_aabb box = run_bounds(r);
	const carom_vec3 up = sim_normalize(run_up(r));
	for (int32_t i = 0; i < r->scene.rigid.body_count; i++) {
		const scene_body *body = &r->scene.rigid.bodies[i];
		if (body->part_count == 0 && body->shape.type == CAROM_PLANE)
			drop_to_plane(&box, &body->pose, up);
	}
	return box;
}

static char *write_head(const run_view *view, const run *r, const char *columns)
{
	cJSON *head = page_start_head(r->scene.name[0] ? r->scene.name : "carom"), *tracks, *bounds;
	const carom_aabb box = first_view(r);
	cJSON_AddTrueToObject(head, "live");
	cJSON_AddNumberToObject(head, "steps", (double)r->scene.steps);
	cJSON_AddStringToObject(head, "columns", columns);
	cJSON_AddArrayToObject(head, "notes");
	report_add_vector(head, "gravity", (const double[3]){ r->scene.gravity.x, r->scene.gravity.y, r->scene.gravity.z });
	bounds = cJSON_AddObjectToObject(head, "bounds");
	report_add_vector(bounds, "lower", (const double[3]){ box.lower.x, box.lower.y, box.lower.z });
	report_add_vector(bounds, "upper", (const double[3]){ box.upper.x, box.upper.y, box.upper.z });
	page_describe_camera(head, &r->scene.camera);
	tracks = cJSON_AddObjectToObject(head, "tracks");
	if (r->parts.simulation)
		describe_bodies(view, r, head, tracks);
	if (r->parts.soft)
		describe_soft(view, r, head, tracks);
	if (r->parts.granular)
		describe_spheres(view, r, head, tracks);
	char *text = report_json_text(head, true);
	cJSON_Delete(head);
	return text;
}

// ---- Quanta ----

static void find_pose_quantum(run_view *view, const run *r)
{
	double least = INFINITY;
	view->row_count = 0;
	for (int32_t i = 0; i < r->scene.rigid.body_count; i++) {
		const int32_t rows = scene_shape_count(&r->scene.rigid.bodies[i]);
		view->row_count += rows;
		for (int32_t k = 0; k < rows && r->scene.rigid.bodies[i].kind != CAROM_STATIC; k++) {
			const shape_row row = row_of(r, i, k);
			const double extent = page_extent(&row.body, &row.mesh);
			if (extent > 0 && extent < least)
				least = extent;
		}
	}
	view->pose_quantum = page_body_quantum(least);
}

static bool find_vertex_quantum(run_view *view, const run *r)
{
	const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
	const size_t count = 3 * (size_t)surface.vertex_count;
	float *floats = malloc(count * sizeof *floats + 1);
	for (size_t i = 0; floats && i < count; i++)
		floats[i] = (float)surface.places[i];
	const sim_mesh mesh = { .vertex_count = surface.vertex_count,
		.triangle_count = surface.triangle_count,
		.vertices = floats,
		.triangles = (int32_t *)surface.triangles };
	if (floats)
		view->vertex_quantum = page_vertex_quantum(page_middle_edge(&mesh));
	free(floats);
	return floats != NULL;
}

static bool find_sphere_quantum(run_view *view, const run *r)
{
	sim_granular_frame frame;
	double sum = 0;
	if (!sim_take_granular_frame(r->parts.granular, &frame))
		return false;
	for (int64_t i = 0; i < frame.count; i++)
		sum += frame.radii[i];
	view->sphere_quantum = page_sphere_quantum(frame.count > 0 ? sum / (double)frame.count : 0);
	sim_free_granular_frame(&frame);
	return true;
}

static bool find_quanta(run_view *view, const run *r, sim_error *error)
{
	if (r->parts.simulation)
		find_pose_quantum(view, r);
	return ((!r->parts.soft || find_vertex_quantum(view, r)) && (!r->parts.granular || find_sphere_quantum(view, r))) ||
		sim_fail(error, "out of memory");
}

static bool write_page(run_view *view, const run *r, const char *columns, FILE *to, sim_error *error)
{
	web_page page;
	char *head = find_quanta(view, r, error) ? write_head(view, r, columns) : NULL;
	if (!head)
		return sim_fail(error, "out of memory");
	web_page_begin_live(&page, to, r->scene.name[0] ? r->scene.name : "carom", head);
	free(head);
	const bool done = (!r->parts.simulation || (add_rows(view, r, &page, error) && add_meshes(r, &page, error))) &&
		(!r->parts.soft || add_triangles(r, &page, error)) && (!r->parts.granular || add_radii(r, &page, error));
	web_page_add_viewer(&page);
	web_page_finish(&page);
	return done;
}

int run_begin_view(run_view *view, const run *r, const char *columns)
{
	char *text = NULL;
	size_t size = 0;
	sim_error error;
	FILE *memory = open_memstream(&text, &size);
	bool done = memory ? write_page(view, r, columns, memory, &error) : sim_fail(&error, "out of memory");
	if (memory && fclose(memory) != 0)
		done = sim_fail(&error, "out of memory");
	if (done)
		web_server_set_page(&view->server, text, size);
	free(text);
	return done ? EXIT_DONE : report_error(NULL, "--view: %s", error.text);
}

// ---- Frames ----

/// A frame that is being put together.
typedef struct frame {
	cJSON *blocks;
	FILE *bytes;
	bool short_of_memory;
} frame;

/// Add numbers [count] as a block, and free them.
static void put_block(frame *f, const char *name, int32_t *values, int64_t count, int32_t stride)
{
	const size_t size = web_packed_size(1, count);
	unsigned char *packed = values ? malloc(size) : NULL;
	f->short_of_memory |= !packed;
	if (packed) {
		cJSON *block = cJSON_CreateArray();
		web_pack(values, 1, count, stride, packed);
		fwrite(packed, 1, size, f->bytes);
		cJSON_AddItemToArray(block, cJSON_CreateString(name));
		cJSON_AddItemToArray(block, cJSON_CreateNumber((double)size));
		cJSON_AddItemToArray(f->blocks, block);
	}
	free(packed);
	free(values);
}

static int32_t *new_numbers(int64_t count) { return malloc((size_t)count * sizeof(int32_t) + 1); }

/// Bodies that are still to come are at no place.
static void put_poses(frame *f, const run_view *view, const run *r)
{
	const carom_pose nowhere = { { NAN, NAN, NAN }, { 0, 0, 0, 1 } }, *poses = scene_simulation_poses(r->parts.simulation);
	const int32_t count = r->scene.rigid.body_count, there = scene_simulation_body_count(r->parts.simulation);
	int32_t *values = new_numbers(PAGE_POSE_NUMBERS * (int64_t)count);
	for (int32_t i = 0; values && i < count; i++)
		page_fill_pose(i < there ? &poses[i] : &nowhere, view->pose_quantum, values + PAGE_POSE_NUMBERS * (int64_t)i);
	put_block(f, "poses", values, PAGE_POSE_NUMBERS * (int64_t)count, PAGE_POSE_NUMBERS);
}

static void put_contacts(frame *f, const run_view *view, const run *r)
{
	int32_t count;
	const io_recorded_contact *contacts = scene_simulation_contacts(r->parts.simulation, &count);
	int32_t *values = new_numbers(PAGE_CONTACT_NUMBERS * (int64_t)count);
	for (int32_t i = 0; values && i < count; i++)
		page_fill_contact(&contacts[i], view->pose_quantum, values + PAGE_CONTACT_NUMBERS * (int64_t)i);
	put_block(f, "contacts", values, PAGE_CONTACT_NUMBERS * (int64_t)count, PAGE_CONTACT_NUMBERS);
}

static void put_places(frame *f, const char *name, const double *places, int64_t count, double quantum)
{
	int32_t *values = new_numbers(count);
	for (int64_t i = 0; values && i < count; i++)
		values[i] = web_quantise(places[i], quantum);
	put_block(f, name, values, count, 3);
}

static void put_vertices(frame *f, const run_view *view, const run *r)
{
	const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
	put_places(f, "vertices", surface.places, 3 * (int64_t)surface.vertex_count, view->vertex_quantum);
}

/// Add the points of a track. listed: is there memory for them?
static void put_points(frame *f, const char *name, sim_contact_points *points, bool listed, double quantum)
{
	int64_t count = 0;
	int32_t *values = listed ? page_fill_points(points, quantum, &count) : NULL;
	sim_free_contact_points(points);
	put_block(f, name, values, count, PAGE_POINT_NUMBERS);
}

static void put_soft_points(frame *f, const run_view *view, const run *r)
{
	sim_contact_points points = { 0 };
	const bool listed = sim_soft_list_contacts(r->parts.soft, &points);
	put_points(f, "points-vertices", &points, listed, view->vertex_quantum);
}

static void put_spheres(frame *f, const run_view *view, const run *r)
{
	sim_error error;
	sim_granular_frame now;
	sim_contact_points points = { 0 };
	if (!sim_take_granular_frame(r->parts.granular, &now)) {
		f->short_of_memory = true;
		return;
	}
	put_places(f, "spheres", now.centres, 3 * now.count, view->sphere_quantum);
	const bool listed = sim_granular_list_contacts(r->parts.granular, &now, &points, &error);
	put_points(f, "points-spheres", &points, listed, view->sphere_quantum);
	sim_free_granular_frame(&now);
}

static void put_parts(frame *f, const run_view *view, const run *r)
{
	if (r->parts.simulation) {
		put_poses(f, view, r);
		put_contacts(f, view, r);
	}
	if (r->parts.soft) {
		put_vertices(f, view, r);
		put_soft_points(f, view, r);
	}
	if (r->parts.granular)
		put_spheres(f, view, r);
}

/// u32 size of the JSON, the JSON, the blocks that it lists. NULL when memory is short.
static char *join(const char *json, const char *blocks, size_t block_size, size_t *size)
{
	const size_t length = strlen(json);
	char *bytes = malloc(4 + length + block_size + 1);
	*size = 4 + length + block_size;
	if (!bytes)
		return NULL;
	for (int k = 0; k < 4; k++)
		bytes[k] = (char)(length >> 8 * k);
	memcpy(bytes + 4, json, length);
	if (block_size > 0)
		memcpy(bytes + 4 + length, blocks, block_size);
	return bytes;
}

/// The present state as the bytes of a frame; NULL when memory is short.
static char *take_frame(const run_view *view, const run *r, const char *row, size_t *size)
{
	char *blocks = NULL, *bytes = NULL;
	size_t block_size = 0;
	cJSON *json = cJSON_CreateObject();
	frame f = { .bytes = open_memstream(&blocks, &block_size) };
	cJSON_AddNumberToObject(json, "step", (double)r->parts.steps);
	cJSON_AddNumberToObject(json, "time", run_time(r));
	cJSON_AddStringToObject(json, "row", row);
	f.blocks = cJSON_AddArrayToObject(json, "blocks");
	if (f.bytes && f.blocks)
		put_parts(&f, view, r);
	const bool whole = f.bytes && fclose(f.bytes) == 0 && f.blocks && !f.short_of_memory;
	char *text = whole ? report_json_text(json, true) : NULL;
	if (text)
		bytes = join(text, blocks, block_size, size);
	cJSON_Delete(json);
	free(text);
	free(blocks);
	return bytes;
}

void run_show(run_view *view, const run *r, const char *row, bool always)
{
	const double begin = sim_now_ms();
	size_t size;
	if (view->server.process <= 0 || r->parts.steps == view->shown_step || (!always && begin < view->due))
		return;
	view->shown_step = r->parts.steps;
	char *bytes = take_frame(view, r, row, &size);
	const bool sent = bytes && web_server_add_frame(&view->server, bytes, size);
	if (!bytes)
		report_warning(NULL, "--view: a frame is left out, for memory is short");
	else if (!sent)
		report_warning(NULL, "--view: the server is gone, and the run goes on without it");
	free(bytes);
	const double end = sim_now_ms();
	view->due = end + fmax(FRAME_MS, (SHARE - 1) * (end - begin));
}
