// A moment of the files that a run left, drawn: see render_moment.h.
#include "render_moment.h"

#include "camera.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "sim/base/vectors.h"
#include "view/sphere_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- The view ----

static bool read_vector(const cJSON *object, const char *name, carom_vec3 *v)
{
	const cJSON *list = cJSON_GetObjectItem(object, name);
	double numbers[3];
	if (cJSON_GetArraySize(list) != 3)
		return false;
	for (int k = 0; k < 3; k++) {
		const cJSON *item = cJSON_GetArrayItem(list, k);
		if (!cJSON_IsNumber(item))
			return false;
		numbers[k] = item->valuedouble;
	}
	*v = (carom_vec3){ numbers[0], numbers[1], numbers[2] };
	return true;
}

/// A whole number of pixels, or what was there.
static int read_pixels(const cJSON *object, const char *name, int without)
{
	const cJSON *item = cJSON_GetObjectItem(object, name);
	return cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble <= VIEW_MAX_IMAGE_SIZE ? (int)item->valuedouble
																									  : without;
}

static void read_summary(const export_source *source, render_view *view)
{
	const cJSON *object = export_find_in_summary(source, "view"), *color = cJSON_GetObjectItem(object, "color");
	const cJSON *angle = cJSON_GetObjectItem(object, "field_of_view");
	view_camera *camera = &view->camera;
	read_vector(object, "up", &camera->up);
	view->has_camera = read_vector(object, "position", &camera->position) && read_vector(object, "target", &camera->target) &&
		cJSON_IsNumber(angle);
	camera->field_of_view = view->has_camera ? angle->valuedouble : 45;
	view->width = read_pixels(object, "width", view->width);
	view->height = read_pixels(object, "height", view->height);
	for (int i = 0; cJSON_IsString(color) && run_color_words[i]; i++) {
		if (!strcmp(color->valuestring, run_color_words[i]))
			view->color = (sim_sphere_color)i;
	}
	view->box = !cJSON_IsFalse(cJSON_GetObjectItem(object, "box"));
	view->ground = !cJSON_IsFalse(cJSON_GetObjectItem(object, "ground"));
}

render_view render_read_view(const export_source *source)
{
	render_view view = {
		.camera = { .up = { 0, 1, 0 }, .field_of_view = 45 }, .width = 1280, .height = 720, .box = true, .ground = true
	};
	const scene_description *scene = source->bodies ? &source->bodies->play.scene : NULL;
	read_summary(source, &view);
	const cJSON *walls = source->summary;
	view.has_walls = walls && cJSON_GetArraySize(export_find_in_summary(source, "box_lower")) == 3;
	if (view.has_walls) {
		const cJSON *section = cJSON_GetObjectItem(walls, "spheres");
		section = cJSON_IsObject(section) ? section : walls;
		view.has_walls =
			read_vector(section, "box_lower", &view.walls.lower) && read_vector(section, "box_upper", &view.walls.upper);
	}
	if (source->bodies)
		view.camera.up = playback_up(&source->bodies->play);
	if (scene && scene->text) {
		view.has_camera = scene->camera.given;
		if (view.has_camera)
			view.camera = camera_of_scene(&scene->camera);
		view.width = scene->camera.width;
		view.height = scene->camera.height;
		view.ground = scene->picture.ground;
	}
	return view;
}

// ---- Reading ----

static double time_of(const export_track *track, int64_t frame) { return track->times[frame]; }

/// The frame nearest to a time, of two the earlier one.
static int64_t nearest_frame(const export_track *track, double time)
{
	int64_t low = 0, high = track->frames - 1; // the last one that is not later
	while (low < high) {
		const int64_t middle = low + (high - low + 1) / 2;
		if (time_of(track, middle) <= time)
			low = middle;
		else
			high = middle - 1;
	}
	if (low + 1 < track->frames && time_of(track, low + 1) - time < time - time_of(track, low))
		low++;
	return low;
}

static int grow_marks(render_moment *m, int64_t more)
{
	view_contact_mark *marks = realloc(m->marks, ((size_t)m->mark_count + (size_t)more + 1) * sizeof *marks);
	if (!marks)
		return report_error(NULL, "out of memory");
	m->marks = marks;
	return EXIT_DONE;
}

static int take_body_marks(render_moment *m)
{
	playback *play = &m->source->bodies->play;
	if (playback_find_contacts(play, m->world, (int32_t)m->frame) != EXIT_DONE || grow_marks(m, play->mark_count) != EXIT_DONE)
		return EXIT_FAILED;
	for (int i = 0; i < play->mark_count; i++)
		m->marks[m->mark_count++] = play->marks[i];
	return EXIT_DONE;
}

static int take_points(render_moment *m, const export_track *track, int64_t frame)
{
	sim_contact_points points = { 0 };
	bool there;
	int status = export_load_points(m->source, track, frame, &points, &there);
	if (status == EXIT_DONE)
		status = grow_marks(m, points.count);
	for (int64_t i = 0; i < points.count && status == EXIT_DONE; i++) {
		const sim_contact_point *p = &points.data[i];
		m->marks[m->mark_count++] = (view_contact_mark){ { p->point[0], p->point[1], p->point[2] },
			{ p->normal[0], p->normal[1], p->normal[2] }, p->depth };
	}
	sim_free_contact_points(&points);
	return status;
}

static int read_bodies(render_moment *m, bool contacts)
{
	m->world = playback_create_world(&m->source->bodies->play, (int32_t)m->frame);
	if (!m->world)
		return EXIT_FAILED;
	return contacts ? take_body_marks(m) : EXIT_DONE;
}

/// Read the frame of a track that belongs to the moment.
static int read_track(render_moment *m, const export_track *track, bool contacts)
{
	export_source *s = m->source;
	if (s->bodies && track == &s->bodies->track)
		return read_bodies(m, contacts);
	const int64_t frame = nearest_frame(track, m->time);
	m->farthest = fmax(m->farthest, fabs(time_of(track, frame) - m->time));
	const int status = s->deforming && track == &s->deforming->track ? export_load_deforming(s->deforming, frame, &m->mesh)
																	 : export_load_spheres(s->spheres, frame, &m->spheres);
	return status == EXIT_DONE && contacts ? take_points(m, track, frame) : status;
}

const export_track *render_clock(export_source *source)
{
	export_track *tracks[EXPORT_MOST_TRACKS];
	const int count = export_list_tracks(source, tracks);
	const export_track *clock = tracks[0];
	for (int i = 1; i < count && !source->bodies; i++)
		clock = tracks[i]->frames > clock->frames ? tracks[i] : clock;
	return clock;
}

int render_read_moment(render_moment *m, export_source *source, int64_t frame, bool contacts)
{
	export_track *tracks[EXPORT_MOST_TRACKS];
	const int count = export_list_tracks(source, tracks);
	*m = (render_moment){ .source = source, .frame = frame, .time = time_of(render_clock(source), frame) };
	int status = EXIT_DONE;
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		status = read_track(m, tracks[i], contacts);
	return status;
}

void render_free_moment(render_moment *m)
{
	carom_destroy_world(m->world);
	sim_mesh_free(&m->mesh);
	io_free_vtk_spheres(&m->spheres);
	free(m->marks);
	*m = (render_moment){ 0 };
}

// ---- What is seen ----

static carom_strided places_of(const render_moment *m) { return (carom_strided){ m->mesh.vertices, 0, CAROM_FLOAT32 }; }

carom_aabb render_bounds(const render_moment *m, const render_view *view)
{
	carom_aabb box = picture_empty_box(), more;
	const carom_strided places = places_of(m), centres = { m->spheres.centres, 0, CAROM_FLOAT32 },
						radii = { m->spheres.radii, 0, CAROM_FLOAT32 };
	picture_widen_box_by(&box, m->mesh.vertex_count, &places, NULL);
	if (m->world) {
		const playback *play = &m->source->bodies->play;
		if (view_bounds_of_moving(m->world, play->ids, play->body_count, &more))
			view_widen_box(&box, &more);
	}
	if (m->spheres.count > 0 && view->has_walls && (view->box || m->world || m->mesh.vertex_count > 0))
		view_widen_box(&box, &view->walls);
	else
		picture_widen_box_by(&box, m->spheres.count, &centres, &radii);
	return box;
}

// ---- Drawing ----

/// Bodies of the frames have numbers before those of the recording, as in a picture of the run.
static int add_surfaces(const render_moment *m, bool flat, picture *p)
{
	const export_deforming *d = m->source->deforming;
	int32_t vertex = 0, triangle = 0;
	for (int32_t i = 0; i < d->surface_count; i++) {
		const export_surface *s = &d->surfaces[i];
		const bool told = !strcmp(s->kind, "mover") || !strcmp(s->kind, "obstacle");
		const picture_surface surface = { .places = { m->mesh.vertices + 3 * (int64_t)vertex, 0, CAROM_FLOAT32 },
			.vertex_count = s->vertex_count,
			.triangles = m->mesh.triangles + 3 * (int64_t)triangle,
			.triangle_count = s->triangle_count,
			.first_vertex = vertex };
		if (picture_add_surface(p, &surface, view_make_look(CAROM_MESH, told ? CAROM_STATIC : CAROM_DYNAMIC, i), !flat) !=
			EXIT_DONE)
			return EXIT_FAILED;
		vertex += s->vertex_count;
		triangle += s->triangle_count;
	}
	return EXIT_DONE;
}

static bool has_plane(const export_source *source)
{
	const io_recording *recording = source->bodies ? source->bodies->play.recording : NULL;
	for (int32_t i = 0; recording && i < io_recording_body_count(recording); i++) {
		if (io_recording_get_body(recording, i)->type == CAROM_PLANE)
			return true;
	}
	return false;
}

static int add_ground(const render_moment *m, const render_view *view, picture *p)
{
	const carom_strided places = places_of(m), centres = { m->spheres.centres, 0, CAROM_FLOAT32 },
						radii = { m->spheres.radii, 0, CAROM_FLOAT32 };
	if (!view->ground || has_plane(m->source))
		return EXIT_DONE;
	carom_aabb box = picture_empty_box();
	picture_widen_box_by(&box, m->mesh.vertex_count, &places, NULL);
	if (picture_box_is_empty(&box))
		box = render_bounds(m, view);
	const carom_vec3 up = sim_normalize(view->camera.up), middle = picture_middle_of(&box);
	double lowest = picture_lower(INFINITY, m->mesh.vertex_count, &places, NULL, up, middle);
	lowest = picture_lower(lowest, m->spheres.count, &centres, &radii, up, middle);
	return picture_add_ground(p, &box, up, lowest);
}

static int fill(render_moment *m, const render_view *view, bool flat, picture *p)
{
	const carom_strided centres = { m->spheres.centres, 0, CAROM_FLOAT32 }, radii = { m->spheres.radii, 0, CAROM_FLOAT32 };
	if (m->world) {
		picture_take_world(p, m->world, m->source->bodies->play.looks, m->source->bodies->play.look_count);
		m->world = NULL;
	}
	if ((m->source->deforming && add_surfaces(m, flat, p) != EXIT_DONE) || add_ground(m, view, p) != EXIT_DONE)
		return EXIT_FAILED;
	return picture_add_spheres(p, m->spheres.count, &centres, &radii);
}

static int draw_world(render_moment *m, const render_view *view, const view_camera *camera, const view_picture_options *wanted,
	bool flat, view_image *image)
{
	sim_error error;
	picture p = { 0 };
	const export_source *s = m->source;
	carom_context *own = s->bodies ? NULL : report_create_context(wanted->threads, CAROM_SIMD_AUTO);
	carom_context *context = s->bodies ? s->bodies->play.context : own;
	const int64_t surfaces = s->deforming ? s->deforming->surface_count : 0;
	int status = context ? picture_open(&p, context, 1 + surfaces + (s->bodies ? s->bodies->play.look_count : 0), surfaces)
						 : EXIT_FAILED;
	if (status == EXIT_DONE)
		status = fill(m, view, flat, &p);
	view_picture_options options = *wanted;
	options.looks = p.looks;
	options.look_count = p.look_count;
	options.contacts = m->marks;
	options.contact_count = m->mark_count;
	if (status == EXIT_DONE && !view_render_world(p.world, camera, &options, image, &error))
		status = report_error(s->path, "frame %lld: %s", (long long)m->frame, error.text);
	picture_close(&p);
	carom_destroy_context(own);
	return status;
}

/// The lowest corner of a box along up.
static double lowest_corner(const carom_aabb *box, carom_vec3 up)
{
	const carom_vec3 l = box->lower, u = box->upper, n = sim_normalize(up);
	return fmin(n.x * l.x, n.x * u.x) + fmin(n.y * l.y, n.y * u.y) + fmin(n.z * l.z, n.z * u.z);
}

/// Spheres alone have a way of drawing that takes tens of millions.
static int draw_spheres(const render_moment *m, const render_view *view, const view_camera *camera,
	const view_picture_options *wanted, view_image *image)
{
	sim_error error;
	const io_vtk_spheres *s = &m->spheres;
	const sim_sphere_cloud cloud = { .count = s->count,
		.centres = { s->centres, 0, CAROM_FLOAT32 },
		.radii = { s->radii, 0, CAROM_FLOAT32 },
		.velocities = { s->velocities, 0, CAROM_FLOAT32 } };
	view_sphere_picture_options options = view_default_sphere_picture();
	options.width = wanted->width;
	options.height = wanted->height;
	options.samples = wanted->samples;
	options.threads = wanted->threads;
	options.color = view->color == SIM_COLOR_SPEED && !s->velocities ? SIM_COLOR_ID : view->color;
	options.box = view->has_walls ? view->walls : render_bounds(m, view);
	options.draw_box = view->box && view->has_walls;
	options.draw_ground = view->ground;
	options.ground = lowest_corner(&options.box, camera->up);
	options.caption = wanted->caption;
	if (view_draw_spheres(&cloud, camera, &options, image, &error))
		return EXIT_DONE;
	return report_error(m->source->path, "frame %lld: %s", (long long)m->frame, error.text);
}

int render_draw(render_moment *m, const render_view *view, const view_camera *camera, const view_picture_options *options,
	bool flat, view_image *image)
{
	const bool spheres_alone = !m->source->bodies && !m->source->deforming && m->mark_count == 0;
	*image = (view_image){ 0 };
	return spheres_alone ? draw_spheres(m, view, camera, options, image) : draw_world(m, view, camera, options, flat, image);
}
