// Pictures of all parts of a run: see run_picture.h.
#include "run_picture.h"

#include "camera.h"
#include "report.h"
#include "sim/base/rotations.h"
#include "sim/grains/granular_output.h"
#include "view/sphere_picture.h"
#include "view/view.h"

#include <stdlib.h>

// A sphere of a picture of all parts is a body of 500 bytes; scenes of spheres alone have a way of
// drawing that takes millions.
enum { MOST_SPHERES = 200000 };

// The content of a picture.
typedef struct picture {
	const run *run;
	sim_soft_surface surface; // of no bodies where nothing deforms
	sim_granular_frame frame; // of no spheres where there are none
	carom_world *world;
	view_smooth_mesh *smooth; // [surface.body_count]
	view_look *looks;         // of the bodies and their parts, in the order of the world
	int32_t look_count;
} picture;

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

static carom_aabb empty_box(void)
{
	return (carom_aabb){ { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
}

void run_widen_box(carom_aabb *box, const carom_aabb *more)
{
	box->lower =
		(carom_vec3){ fmin(box->lower.x, more->lower.x), fmin(box->lower.y, more->lower.y), fmin(box->lower.z, more->lower.z) };
	box->upper =
		(carom_vec3){ fmax(box->upper.x, more->upper.x), fmax(box->upper.y, more->upper.y), fmax(box->upper.z, more->upper.z) };
}

static carom_aabb box_of_surface(const sim_soft_surface *surface)
{
	carom_aabb box = empty_box();
	for (int64_t i = 0; i < surface->vertex_count; i++) {
		const double *p = surface->places + 3 * i;
		const carom_vec3 place = { p[0], p[1], p[2] };
		run_widen_box(&box, &(carom_aabb){ place, place });
	}
	return box;
}

bool run_rigid_bounds(const run *r, carom_aabb *box)
{
	const carom_world *world = scene_simulation_world(r->parts.simulation);
	const carom_body_id *all = scene_simulation_ids(r->parts.simulation);
	const int32_t count = scene_simulation_body_count(r->parts.simulation);
	carom_body_id *moving = malloc(((size_t)count + 1) * sizeof *moving);
	int moving_count = 0;
	for (int32_t i = 0; moving && i < count; i++) {
		if (r->scene.rigid.bodies[i].kind != CAROM_STATIC)
			moving[moving_count++] = all[i];
	}
	const bool found =
		moving && (view_bounds_of_bodies(world, moving, moving_count, box) || view_bounds_of_bodies(world, all, count, box));
	free(moving);
	return found;
}

carom_aabb run_bounds(const run *r)
{
	carom_aabb box = empty_box(), more;
	if (r->parts.soft) {
		const sim_soft_surface surface = sim_soft_get_surface(r->parts.soft);
		box = box_of_surface(&surface);
	}
	if (r->parts.simulation && run_rigid_bounds(r, &more))
		run_widen_box(&box, &more);
	const sim_granular_def *def = &r->scene.spheres.def;
	if (r->parts.granular)
		run_widen_box(&box,
			&(carom_aabb){ { def->lower[0], def->lower[1], def->lower[2] }, { def->upper[0], def->upper[1], def->upper[2] } });
	if (!(box.lower.x <= box.upper.x))
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

static int say(const picture *p) { return report_error(NULL, "%s", carom_error_text(p->run->parts.context)); }

static int add_body(picture *p, const carom_shape *shape, carom_pose pose, view_look look)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_STATIC;
	def.shape = *shape;
	def.pose = pose;
	p->looks[p->look_count++] = look;
	return carom_world_add_body(p->world, &def, &id) == CAROM_SUCCESS ? EXIT_DONE : say(p);
}

/// A surface as a mesh of its own. Meshes count from their first vertex.
static carom_mesh *make_mesh(const picture *p, int32_t number)
{
	const int32_t vertex = p->surface.body_vertices[number], triangle = p->surface.body_triangles[number];
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ p->surface.places + 3 * (int64_t)vertex, 0, CAROM_FLOAT64 };
	def.vertex_count = p->surface.body_vertices[number + 1] - vertex;
	def.triangle_count = p->surface.body_triangles[number + 1] - triangle;
	def.grid_resolution = 0;
	int32_t *triangles = malloc((size_t)def.triangle_count * 3 * sizeof *triangles);
	carom_mesh *mesh = NULL;
	if (!triangles) {
		report_error(NULL, "out of memory");
		return NULL;
	}
	for (int64_t i = 0; i < 3 * (int64_t)def.triangle_count; i++)
		triangles[i] = p->surface.triangles[3 * (int64_t)triangle + i] - vertex;
	def.triangles = triangles;
	if (carom_create_mesh(p->run->parts.context, &def, NULL, &mesh) != CAROM_SUCCESS)
		say(p);
	free(triangles);
	return mesh;
}

static int add_surface(picture *p, int32_t number)
{
	carom_mesh *mesh = make_mesh(p, number);
	if (!mesh)
		return EXIT_FAILED;
	view_look look =
		view_make_look(CAROM_MESH, sim_soft_is_rigid(p->run->parts.soft, number) ? CAROM_STATIC : CAROM_DYNAMIC, number);
	look.surface = &p->smooth[number];
	int status = add_body(p, &(carom_shape){ .type = CAROM_MESH, .mesh = mesh }, carom_pose_identity(), look);
	if (status == EXIT_DONE && !view_create_smooth_mesh(mesh, &p->smooth[number]))
		status = report_error(NULL, "out of memory");
	carom_release_mesh(mesh); // the body keeps it
	return status;
}

/// Rigid bodies are those of the simulation; the numbers of the parts of a body follow its own.
static int add_rigid_bodies(picture *p)
{
	const run *r = p->run;
	const int32_t count = r->parts.simulation ? scene_simulation_body_count(r->parts.simulation) : 0;
	for (int32_t i = 0; i < count; i++) {
		const scene_body *body = &r->scene.rigid.bodies[i];
		carom_body_def def = scene_simulation_body_def(r->parts.simulation, i);
		carom_body_id id;
		def.continuous = false;
		for (int32_t k = 0; k < scene_shape_count(body); k++)
			p->looks[p->look_count++] =
				view_make_look(scene_shape_of(&r->scene, body, k)->type, body->kind, p->surface.body_count + (int)i);
		if (carom_world_add_body(p->world, &def, &id) != CAROM_SUCCESS)
			return say(p);
	}
	return EXIT_DONE;
}

static int add_spheres(picture *p)
{
	for (int64_t i = 0; i < p->frame.count; i++) {
		const double *c = p->frame.centres + 3 * i;
		const carom_pose pose = { { c[0], c[1], c[2] }, { 0, 0, 0, 1 } };
		const view_look look = view_make_look(CAROM_SPHERE, CAROM_DYNAMIC, (int)i);
		if (add_body(p, &(carom_shape){ .type = CAROM_SPHERE, .radius = p->frame.radii[i] }, pose, look) != EXIT_DONE)
			return EXIT_FAILED;
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

/// The height of the lowest point along up, from a point in the middle.
static double lowest_of(const picture *p, carom_vec3 up, carom_vec3 middle)
{
	double lowest = INFINITY;
	for (int64_t i = 0; i < p->surface.vertex_count; i++) {
		const double *v = p->surface.places + 3 * i;
		lowest = fmin(lowest, sim_dot(up, sim_subtract((carom_vec3){ v[0], v[1], v[2] }, middle)));
	}
	for (int64_t i = 0; i < p->frame.count; i++) {
		const double *c = p->frame.centres + 3 * i;
		lowest = fmin(lowest, sim_dot(up, sim_subtract((carom_vec3){ c[0], c[1], c[2] }, middle)) - p->frame.radii[i]);
	}
	return lowest;
}

/// Level, a little below all that deforms and all spheres.
static int add_ground(picture *p)
{
	const carom_aabb box = p->surface.body_count > 0 ? box_of_surface(&p->surface) : run_bounds(p->run);
	const carom_vec3 up = sim_normalize(run_up(p->run)), middle = sim_scale(sim_add(box.lower, box.upper), 0.5);
	const double lowest = lowest_of(p, up, middle);
	if (!p->run->scene.picture.ground || !(lowest < INFINITY) || has_plane(&p->run->scene))
		return EXIT_DONE;
	const carom_vec3 below = sim_add(middle, sim_scale(up, lowest - 0.02 * sim_length(sim_subtract(box.upper, box.lower))));
	const double normal[3] = { up.x, up.y, up.z };
	return add_body(p, &(carom_shape){ .type = CAROM_PLANE }, (carom_pose){ below, sim_rotation_to_normal(normal) },
		view_make_look(CAROM_PLANE, CAROM_STATIC, 0));
}

// ---- The whole ----

/// The state that the parts are in, and room for the bodies of the picture.
static int look_at_parts(picture *p)
{
	const run *r = p->run;
	if (r->parts.soft)
		p->surface = sim_soft_get_surface(r->parts.soft);
	const int64_t spheres = r->parts.granular ? sim_granular_get_info(r->parts.granular).count : 0;
	if (spheres > MOST_SPHERES)
		report_warning(NULL, "the picture leaves out the %lld spheres: beside other things it takes up to %d",
			(long long)spheres, (int)MOST_SPHERES);
	else if (spheres > 0 && !sim_take_granular_frame(r->parts.granular, &p->frame))
		return report_error(NULL, "out of memory");
	int64_t most = 1 + p->surface.body_count + p->frame.count;
	for (int32_t i = 0; i < r->scene.rigid.body_count; i++)
		most += scene_shape_count(&r->scene.rigid.bodies[i]);
	p->looks = calloc((size_t)most, sizeof *p->looks);
	p->smooth = calloc((size_t)p->surface.body_count + 1, sizeof *p->smooth);
	return p->looks && p->smooth ? EXIT_DONE : report_error(NULL, "out of memory");
}

static int fill(picture *p)
{
	if (carom_create_world(p->run->parts.context, NULL, &p->world) != CAROM_SUCCESS)
		return say(p);
	// The last ones are rigid bodies of the scene, which come next.
	for (int32_t i = 0; i < p->surface.body_count - p->run->scene.deforming.obstacle_count; i++) {
		if (add_surface(p, i) != EXIT_DONE)
			return EXIT_FAILED;
	}
	if (add_rigid_bodies(p) != EXIT_DONE || add_spheres(p) != EXIT_DONE)
		return EXIT_FAILED;
	return add_ground(p);
}

static void write_caption(const picture *p, char *text, size_t size)
{
	const run *r = p->run;
	int length = snprintf(text, size, "%.50s   %.3f s", r->scene.name, run_time(r));
	if (r->parts.simulation)
		length +=
			snprintf(text + length, size - (size_t)length, "   %d bodies", (int)scene_summarise(r->parts.simulation).bodies);
	if (r->parts.soft)
		length += snprintf(text + length, size - (size_t)length, "   %d triangles", (int)p->surface.triangle_count);
	if (r->parts.granular)
		snprintf(text + length, size - (size_t)length, "   %lld spheres", (long long)p->frame.count);
}

static int render(const picture *p, const view_camera *camera, view_image *image)
{
	char caption[160];
	sim_error error;
	view_picture_options options = run_picture_options(p->run);
	write_caption(p, caption, sizeof caption);
	options.looks = p->looks;
	options.look_count = p->look_count;
	options.caption = caption;
	if (view_render_world(p->world, camera, &options, image, &error))
		return EXIT_DONE;
	return report_error(NULL, "%s", error.text);
}

int run_draw_all(const run *r, const view_camera *camera, view_image *image)
{
	picture p = { .run = r };
	*image = (view_image){ 0 };
	int status = look_at_parts(&p);
	if (status == EXIT_DONE)
		status = fill(&p);
	if (status == EXIT_DONE)
		status = render(&p, camera, image);
	carom_destroy_world(p.world);
	for (int32_t i = 0; p.smooth && i < p.surface.body_count; i++)
		view_destroy_smooth_mesh(&p.smooth[i]);
	sim_free_granular_frame(&p.frame);
	free(p.smooth);
	free(p.looks);
	return status;
}
