// A moment of a scene as a world to be drawn: see picture.h.
#include "picture.h"

#include "options.h"
#include "report.h"
#include "sim/base/rotations.h"
#include "sim/base/sphere_cloud.h"
#include "sim/base/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int say(const picture *p) { return report_error(NULL, "%s", carom_error_text(p->context)); }

// ---- Boxes ----

carom_aabb picture_empty_box(void)
{
	return (carom_aabb){ { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
}

bool picture_box_is_empty(const carom_aabb *box) { return !(box->lower.x <= box->upper.x); }

/// Place number i of some, and its radius, 0 without radii.
static carom_vec3 read_place(const carom_strided *places, const carom_strided *radii, int64_t i, double *radius)
{
	double p[3];
	sim_cloud_read(places, 3, i, p);
	*radius = 0;
	if (radii)
		sim_cloud_read(radii, 1, i, radius);
	return (carom_vec3){ p[0], p[1], p[2] };
}

void picture_widen_box_by(carom_aabb *box, int64_t count, const carom_strided *places, const carom_strided *radii)
{
	for (int64_t i = 0; i < count; i++) {
		double r;
		const carom_vec3 p = read_place(places, radii, i, &r);
		view_widen_box(box, &(carom_aabb){ { p.x - r, p.y - r, p.z - r }, { p.x + r, p.y + r, p.z + r } });
	}
}

carom_vec3 picture_middle_of(const carom_aabb *box) { return sim_scale(sim_add(box->lower, box->upper), 0.5); }

double picture_lower(
	double lowest, int64_t count, const carom_strided *places, const carom_strided *radii, carom_vec3 up, carom_vec3 middle)
{
	for (int64_t i = 0; i < count; i++) {
		double r;
		const carom_vec3 p = read_place(places, radii, i, &r);
		lowest = fmin(lowest, sim_dot(up, sim_subtract(p, middle)) - r);
	}
	return lowest;
}

// ---- Bodies ----

int picture_open(picture *p, carom_context *context, int64_t looks, int64_t surfaces)
{
	*p = (picture){ .context = context, .look_room = (int32_t)looks };
	p->looks = calloc((size_t)looks + 1, sizeof *p->looks);
	p->smooth = calloc((size_t)surfaces + 1, sizeof *p->smooth);
	if (!p->looks || !p->smooth)
		return report_error(NULL, "out of memory");
	return carom_create_world(context, NULL, &p->world) == CAROM_SUCCESS ? EXIT_DONE : say(p);
}

void picture_close(picture *p)
{
	carom_destroy_world(p->world);
	for (int32_t i = 0; i < p->surface_count; i++)
		view_destroy_smooth_mesh(&p->smooth[i]);
	free(p->smooth);
	free(p->looks);
	*p = (picture){ 0 };
}

static void add_looks(picture *p, const view_look *looks, int32_t count)
{
	for (int32_t i = 0; i < count && p->look_count < p->look_room; i++)
		p->looks[p->look_count++] = looks[i];
}

void picture_take_world(picture *p, carom_world *world, const view_look *looks, int32_t count)
{
	carom_destroy_world(p->world);
	p->world = world;
	add_looks(p, looks, count);
}

int picture_add_body(picture *p, const carom_body_def *def, const view_look *looks, int32_t count)
{
	carom_body_id id;
	add_looks(p, looks, count);
	return carom_world_add_body(p->world, def, &id) == CAROM_SUCCESS ? EXIT_DONE : say(p);
}

/// Meshes count from their first vertex. NULL after a message.
static carom_mesh *make_mesh(const picture *p, const picture_surface *surface)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = surface->places;
	def.vertex_count = surface->vertex_count;
	def.triangle_count = surface->triangle_count;
	def.grid_resolution = 0;
	int32_t *triangles = malloc((size_t)def.triangle_count * 3 * sizeof *triangles + 1);
	carom_mesh *mesh = NULL;
	if (!triangles) {
		report_error(NULL, "out of memory");
		return NULL;
	}
	for (int64_t i = 0; i < 3 * (int64_t)def.triangle_count; i++)
		triangles[i] = surface->triangles[i] - surface->first_vertex;
	def.triangles = triangles;
	if (carom_create_mesh(p->context, &def, NULL, &mesh) != CAROM_SUCCESS)
		say(p);
	free(triangles);
	return mesh;
}

int picture_add_surface(picture *p, const picture_surface *surface, view_look look, bool smooth)
{
	carom_mesh *mesh = make_mesh(p, surface);
	if (!mesh)
		return EXIT_FAILED;
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	view_smooth_mesh *normals = &p->smooth[p->surface_count];
	int status = EXIT_DONE;
	if (smooth) {
		look.surface = normals;
		if (view_create_smooth_mesh(mesh, normals))
			p->surface_count++;
		else
			status = report_error(NULL, "out of memory");
	}
	if (status == EXIT_DONE)
		status = picture_add_body(p, &def, &look, 1);
	carom_release_mesh(mesh); // the body keeps it
	return status;
}

int picture_add_ground(picture *p, const carom_aabb *box, carom_vec3 up, double lowest)
{
	if (!(lowest < INFINITY))
		return EXIT_DONE;
	const double size = sim_length(sim_subtract(box->upper, box->lower));
	const carom_vec3 below = sim_add(picture_middle_of(box), sim_scale(up, lowest - 0.02 * size));
	const double normal[3] = { up.x, up.y, up.z };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_PLANE };
	def.pose = (carom_pose){ below, sim_rotation_to_normal(normal) };
	const view_look look = view_make_look(CAROM_PLANE, CAROM_STATIC, 0);
	return picture_add_body(p, &def, &look, 1);
}

int picture_add_spheres(picture *p, int64_t count, const carom_strided *centres, const carom_strided *radii)
{
	if (count == 0)
		return EXIT_DONE;
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = (int32_t)count;
	def.centres = *centres;
	def.radii = *radii;
	def.contacts = false;
	return picture_add_body(p, &def, NULL, 0);
}

view_look picture_scene_look(const scene_description *scene, int32_t body, int32_t shape, int number)
{
	const scene_body *b = &scene->rigid.bodies[body];
	view_look look = view_make_look(scene_shape_of(scene, b, shape)->type, b->kind, number);
	look.clear = (float)(1 - b->opacity);
	return look;
}
