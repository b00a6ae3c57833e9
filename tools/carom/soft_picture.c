// Pictures of cloth: see soft_picture.h.
#include "tools/carom/soft_picture.h"

#include "sim/base/rotations.h"
#include "view/view.h"

#include <stdlib.h>

// What a picture is made of.
typedef struct soft_picture {
	carom_context *context;
	sim_soft_surface surface;
	int32_t body_count;
	carom_world *world;
	sim_smooth_mesh *smooth; // [body_count]
	sim_look *looks;         // [body_count + 1], the last one of the ground
	sim_error *error;
} soft_picture;

static carom_vec3 up_of(const sim_soft_scene *scene)
{
	const double *g = scene->def.gravity;
	const bool none = g[0] == 0 && g[1] == 0 && g[2] == 0;
	return none ? (carom_vec3){ 0, 1, 0 } : sim_normalize((carom_vec3){ -g[0], -g[1], -g[2] });
}

static carom_aabb box_of(const sim_soft_surface *surface)
{
	carom_aabb box = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
	for (int64_t i = 0; i < surface->vertex_count; i++) {
		const double *p = surface->places + 3 * i;
		box.lower = (carom_vec3){ fmin(box.lower.x, p[0]), fmin(box.lower.y, p[1]), fmin(box.lower.z, p[2]) };
		box.upper = (carom_vec3){ fmax(box.upper.x, p[0]), fmax(box.upper.y, p[1]), fmax(box.upper.z, p[2]) };
	}
	return box;
}

sim_camera sim_soft_camera(const sim_soft_scene *scene, const sim_soft *soft)
{
	const sim_scene_camera *given = &scene->base.camera;
	if (given->given)
		return (sim_camera){ given->position, given->target, given->up, given->field_of_view };
	const sim_soft_surface surface = sim_soft_get_surface(soft);
	const carom_aabb box = box_of(&surface);
	return sim_frame_box(&box, up_of(scene), (double)given->width / (double)given->height);
}

static bool say(const soft_picture *p) { return sim_fail(p->error, "%s", carom_error_text(p->context)); }

static bool add_body(soft_picture *p, const carom_shape *shape, carom_pose pose)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_STATIC;
	def.shape = *shape;
	def.pose = pose;
	return carom_world_add_body(p->world, &def, &id) == CAROM_SUCCESS || say(p);
}

/// A surface as a mesh of its own, with normals for smooth shading. Meshes count from their first vertex.
static bool add_surface(soft_picture *p, int32_t number)
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
		return sim_fail(p->error, "out of memory");
	}
	for (int64_t i = 0; i < 3 * (int64_t)def.triangle_count; i++)
		triangles[i] = p->surface.triangles[3 * (int64_t)triangle + i] - vertex;
	def.triangles = triangles;
	bool done = carom_create_mesh(p->context, &def, NULL, &mesh) == CAROM_SUCCESS || say(p);
	free(triangles);
	if (done)
		done = add_body(p, &(carom_shape){ .type = CAROM_MESH, .mesh = mesh }, carom_pose_identity());
	if (done && !sim_create_smooth_mesh(mesh, &p->smooth[number])) {
		sim_fail(p->error, "out of memory");
		done = false;
	}
	p->looks[number].surface = &p->smooth[number];
	carom_release_mesh(mesh); // the body keeps it
	return done;
}

/// Level, a little below all that there is.
static bool add_ground(soft_picture *p, const sim_soft_scene *scene)
{
	const carom_aabb box = box_of(&p->surface);
	const carom_vec3 up = up_of(scene), middle = sim_scale(sim_add(box.lower, box.upper), 0.5);
	double lowest = INFINITY;
	for (int64_t i = 0; i < p->surface.vertex_count; i++) {
		const double *v = p->surface.places + 3 * i;
		lowest = fmin(lowest, sim_dot(up, sim_subtract((carom_vec3){ v[0], v[1], v[2] }, middle)));
	}
	const carom_vec3 below = sim_add(middle, sim_scale(up, lowest - 0.02 * sim_length(sim_subtract(box.upper, box.lower))));
	const double normal[3] = { up.x, up.y, up.z };
	return add_body(p, &(carom_shape){ .type = CAROM_PLANE }, (carom_pose){ below, sim_rotation_to_normal(normal) });
}

static bool fill(soft_picture *p, const sim_soft_scene *scene, const sim_soft *soft)
{
	if (carom_create_world(p->context, NULL, &p->world) != CAROM_SUCCESS)
		return say(p);
	for (int32_t i = 0; i < p->body_count; i++) {
		const bool rigid = sim_soft_is_rigid(soft, i);
		p->looks[i] = sim_make_look(CAROM_MESH, rigid ? CAROM_STATIC : CAROM_DYNAMIC, (int)i);
		if (!add_surface(p, i))
			return false;
	}
	p->looks[p->body_count] = sim_make_look(CAROM_PLANE, CAROM_STATIC, 0);
	return !scene->ground || add_ground(p, scene);
}

bool sim_draw_soft(carom_context *context, const sim_soft_scene *scene, const sim_soft *soft, const sim_camera *camera,
	const char *caption, int threads, sim_image *image, sim_error *error)
{
	soft_picture p = { .context = context, .surface = sim_soft_get_surface(soft), .error = error };
	p.body_count = p.surface.body_count;
	p.smooth = calloc((size_t)p.body_count, sizeof *p.smooth);
	p.looks = calloc((size_t)p.body_count + 1, sizeof *p.looks);
	*image = (sim_image){ 0 };
	bool done = p.smooth && p.looks;
	if (!done)
		sim_fail(error, "out of memory");
	done = done && fill(&p, scene, soft);
	if (done) {
		sim_picture_options options = sim_default_picture_options();
		options.width = scene->base.camera.width;
		options.height = scene->base.camera.height;
		options.threads = threads;
		options.looks = p.looks;
		options.look_count = p.body_count + 1;
		options.caption = caption;
		done = sim_render_world(p.world, camera, &options, image, error);
	}
	carom_destroy_world(p.world);
	for (int32_t i = 0; p.smooth && i < p.body_count; i++)
		sim_destroy_smooth_mesh(&p.smooth[i]);
	free(p.smooth);
	free(p.looks);
	return done;
}
