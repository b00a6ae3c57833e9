// Pictures of all parts of a run: see run_picture.h.
#include "run_picture.h"

#include "camera.h"
#include "picture.h"
#include "report.h"
#include "sim/base/rotations.h"
#include "sim/grains/granular_output.h"
#include "view/sphere_picture.h"
#include "view/view.h"

#include <stdlib.h>

// The content of a picture.
typedef struct moment {
	const run *run;
	sim_soft_surface surface; // of no bodies where nothing deforms
	sim_granular_frame frame; // of no spheres where there are none
	picture picture;
} moment;

carom_vec3 run_up(const run *r)
{
	const double *axis = r->scene.gravity_axis;
	if (r->scene.gravity_rate != 0)
		return (carom_vec3){ axis[0], axis[1], axis[2] };
	return view_up_against(r->scene.gravity, (carom_vec3){ 0, 1, 0 });
}

view_picture_options run_picture_options(const run *r)
{
	view_picture_options options = view_default_picture_options();
	options.width = r->scene.camera.width;
	options.height = r->scene.camera.height;
	options.threads = (int)r->options->threads;
	return options;
}

// ---- Boxes ----

static carom_strided places_of(const sim_soft_surface *surface) { return (carom_strided){ surface->places, 0, CAROM_FLOAT64 }; }

/// Vertices of the surface before those of obstacles, which are rigid bodies, and may be planes.
static int32_t own_vertices(const run *r, const sim_soft_surface *surface)
{
	return surface->body_count > 0 ? surface->body_vertices[surface->body_count - r->scene.deforming.obstacle_count] : 0;
}

static carom_aabb box_of_surface(const run *r, const sim_soft_surface *surface)
{
	carom_aabb box = picture_empty_box();
	const carom_strided places = places_of(surface);
	picture_widen_box_by(&box, own_vertices(r, surface), &places, NULL);
	return box;
}

bool run_rigid_bounds(const run *r, carom_aabb *box)
{
	const carom_world *world = scene_simulation_world(r->parts.simulation);
	const carom_body_id *all = scene_simulation_ids(r->parts.simulation);
	return view_bounds_of_moving(world, all, scene_simulation_body_count(r->parts.simulation), box);
}

carom_aabb run_bounds(const run *r)
{
	carom_aabb box = picture_empty_box(), more;
	if (r->parts.soft) {
		const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
		box = box_of_surface(r, &surface);
	}
	if (r->parts.simulation && run_rigid_bounds(r, &more))
		view_widen_box(&box, &more);
	const sim_granular_def *def = &r->scene.spheres.def;
	if (r->parts.granular)
		view_widen_box(&box,
			&(carom_aabb){ { def->lower[0], def->lower[1], def->lower[2] }, { def->upper[0], def->upper[1], def->upper[2] } });
	if (picture_box_is_empty(&box))
		box = (carom_aabb){ { -1, -1, -1 }, { 1, 1, 1 } };
	return box;
}

view_camera run_camera(const run *r)
{
	const scene_camera *given = &r->scene.camera;
	if (given->given)
		return camera_of_scene(given);
	const carom_aabb box = run_bounds(r);
	return view_frame_box(&box, run_up(r), (double)given->width / (double)given->height);
}

// ---- Bodies of the picture ----

static int add_surface(moment *m, int32_t number)
{
	const sim_soft_surface *s = &m->surface;
	const int32_t vertex = s->body_vertices[number], triangle = s->body_triangles[number];
	const picture_surface surface = { .places = { s->places + 3 * (int64_t)vertex, 0, CAROM_FLOAT64 },
		.vertex_count = s->body_vertices[number + 1] - vertex,
		.triangles = s->triangles + 3 * (int64_t)triangle,
		.triangle_count = s->body_triangles[number + 1] - triangle,
		.first_vertex = vertex };
	const bool told = sim_soft_is_rigid(m->run->parts.soft, number);
	return picture_add_surface(
		&m->picture, &surface, view_make_look(CAROM_MESH, told ? CAROM_STATIC : CAROM_DYNAMIC, number), true);
}

/// Rigid bodies are those of the simulation; the numbers of the parts of a body follow its own.
static int add_rigid_bodies(moment *m)
{
	const run *r = m->run;
	const int32_t count = r->parts.simulation ? scene_simulation_body_count(r->parts.simulation) : 0;
	for (int32_t i = 0; i < count; i++) {
		const scene_body *body = &r->scene.rigid.bodies[i];
		const int32_t shapes = scene_shape_count(body);
		carom_body_def def = scene_simulation_body_def(r->parts.simulation, i);
		view_look *looks = calloc((size_t)shapes, sizeof *looks);
		def.continuous = false;
		for (int32_t k = 0; looks && k < shapes; k++)
			looks[k] = picture_scene_look(&r->scene, i, k, m->surface.body_count + (int)i);
		const int status = looks ? picture_add_body(&m->picture, &def, looks, shapes) : report_error(NULL, "out of memory");
		free(looks);
		if (status != EXIT_DONE)
			return status;
	}
	return EXIT_DONE;
}

/// A scene with a plane has its ground.
static bool has_plane(const scene_description *scene)
{
	for (int32_t i = 0; i < scene->rigid.body_count; i++) {
		if (scene->rigid.bodies[i].part_count == 0 && scene->rigid.bodies[i].shape.type == CAROM_PLANE)
			return true;
	}
	return false;
}

/// Level, a little below all that deforms and all spheres.
static int add_ground(moment *m, const carom_strided *centres, const carom_strided *radii)
{
	if (!m->run->scene.picture.ground || has_plane(&m->run->scene))
		return EXIT_DONE;
	const carom_aabb box = m->surface.body_count > 0 ? box_of_surface(m->run, &m->surface) : run_bounds(m->run);
	const carom_vec3 up = sim_normalize(run_up(m->run)), middle = picture_middle_of(&box);
	const carom_strided places = places_of(&m->surface);
	double lowest = picture_lower(INFINITY, own_vertices(m->run, &m->surface), &places, NULL, up, middle);
	lowest = picture_lower(lowest, m->frame.count, centres, radii, up, middle);
	return picture_add_ground(&m->picture, &box, up, lowest);
}

// ---- The whole ----

/// The state that the parts are in, and room for the bodies of the picture.
static int look_at_parts(moment *m)
{
	const run *r = m->run;
	if (r->parts.soft)
		m->surface = sim_soft_get_surface(r->parts.soft);
	if (r->parts.granular && run_take_spheres(r, &m->frame) != EXIT_DONE)
		return EXIT_FAILED;
	int64_t most = 1 + m->surface.body_count;
	for (int32_t i = 0; i < r->scene.rigid.body_count; i++)
		most += scene_shape_count(&r->scene.rigid.bodies[i]);
	return picture_open(&m->picture, r->parts.context, most, m->surface.body_count);
}

static int fill(moment *m)
{
	const carom_strided centres = { m->frame.centres, 0, CAROM_FLOAT64 }, radii = { m->frame.radii, 0, CAROM_FLOAT64 };
	// The last ones are rigid bodies of the scene, which come next.
	for (int32_t i = 0; i < m->surface.body_count - m->run->scene.deforming.obstacle_count; i++) {
		if (add_surface(m, i) != EXIT_DONE)
			return EXIT_FAILED;
	}
	if (add_rigid_bodies(m) != EXIT_DONE || add_ground(m, &centres, &radii) != EXIT_DONE)
		return EXIT_FAILED;
	return picture_add_spheres(&m->picture, m->frame.count, &centres, &radii);
}

static void write_caption(const moment *m, char *text, size_t size)
{
	const run *r = m->run;
	int length = snprintf(text, size, "%.50s   %.3f s", r->scene.name, run_time(r));
	if (r->parts.simulation)
		length +=
			snprintf(text + length, size - (size_t)length, "   %d bodies", (int)scene_summarise(r->parts.simulation).bodies);
	if (r->parts.soft)
		length += snprintf(text + length, size - (size_t)length, "   %d triangles", (int)m->surface.triangle_count);
	if (r->parts.granular)
		snprintf(text + length, size - (size_t)length, "   %lld spheres", (long long)m->frame.count);
}

static int render(const moment *m, const view_camera *camera, view_image *image)
{
	char caption[160];
	sim_error error;
	view_picture_options options = run_picture_options(m->run);
	write_caption(m, caption, sizeof caption);
	options.looks = m->picture.looks;
	options.look_count = m->picture.look_count;
	options.caption = caption;
	if (view_render_world(m->picture.world, camera, &options, image, &error))
		return EXIT_DONE;
	return report_error(NULL, "%s", error.text);
}

int run_draw_all(const run *r, const view_camera *camera, view_image *image)
{
	moment m = { .run = r };
	*image = (view_image){ 0 };
	int status = look_at_parts(&m);
	if (status == EXIT_DONE && run_is_first(r))
		status = fill(&m);
	if (status == EXIT_DONE && run_is_first(r))
		status = render(&m, camera, image);
	picture_close(&m.picture);
	sim_free_granular_frame(&m.frame);
	return status;
}
