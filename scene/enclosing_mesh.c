// Triangles around a basic volume: see enclosing_mesh.h.
//
// A volume is a polytope Q with a ball of radius r added (r = 0: none). Q is one point for a
// sphere, two for a capsule, the corners of a box or hull, a prism or pyramid around the circle of
// a cylinder or cone. An ellipsoid is the image of a ball.
//
// Let directions D be so dense that any direction u has one within the angle t. Then the hull of
// the points q + r / cos(t) d, of all q in Q and d in D, encloses Q + ball: for a direction u
// let q be the corner of Q that is farthest along it, and d within t of u. The point of these two
// has the height q u + r cos(d, u) / cos(t) >= q u + r, which is that of the volume. The hull is
// convex, so it encloses the volume. No point of it is farther out than r / cos(t) - r.
//
// Pairs that cannot be needed are left out. With R the radius of Q about its middle,
// max over Q of q' d - q d <= 2 R |d - u| <= 2 R t for a pair of the proof.
#include "scene/enclosing_mesh.h"

#include "scene/volumes.h"
#include "sim/base/rotations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Points that grow.
typedef struct point_list {
	double (*data)[3];
	int64_t count, room;
	bool failed; // memory was short
} point_list;

static void add_point(point_list *list, double x, double y, double z)
{
	if (list->count == list->room && !list->failed) {
		const int64_t room = list->room ? 2 * list->room : 256;
		double(*more)[3] = realloc(list->data, (size_t)room * sizeof *more);
		list->failed = !more;
		list->data = more ? more : list->data;
		list->room = more ? room : list->room;
	}
	if (list->failed)
		return;
	const double p[3] = { x, y, z };
	memcpy(list->data[list->count++], p, sizeof p);
}

/// The angle at which a circle around another one of a radius is farther out by a length.
static double angle_of(double radius, double tolerance) { return acos(radius / (radius + tolerance)); }

/// Directions, so dense that any one has another within angle. Rings are apart by less than
/// sqrt(2) times the angle, and so are the directions on a ring at its widest.
static void add_directions(point_list *list, double angle)
{
	const double wanted = 1.4 * angle;
	const int rings = (int)fmax(ceil(SIM_PI / wanted), 2);
	const double apart = SIM_PI / rings;
	add_point(list, 0, 0, -1);
	for (int k = 1; k < rings; k++) {
		const double latitude = -SIM_PI / 2 + k * apart, widest = cos(fmax(fabs(latitude) - apart / 2, 0));
		const int count = (int)fmax(ceil(2 * SIM_PI * widest / wanted), 3);
		for (int i = 0; i < count; i++) {
			const double around = 2 * SIM_PI * (i + 0.5 * (k % 2)) / count;
			add_point(list, cos(latitude) * cos(around), cos(latitude) * sin(around), sin(latitude));
		}
	}
	add_point(list, 0, 0, 1);
}

/// A regular polygon around a circle, level at z.
static void add_circle(point_list *list, double radius, double z, double tolerance)
{
	const int count = (int)fmax(ceil(SIM_PI / angle_of(radius, tolerance)), 8);
	const double out = radius / cos(SIM_PI / count);
	for (int i = 0; i < count; i++)
		add_point(list, out * cos(2 * SIM_PI * i / count), out * sin(2 * SIM_PI * i / count), z);
}

static void add_ellipsoid(point_list *list, const double half[3], double tolerance)
{
	const double angle = angle_of(fmax(half[0], fmax(half[1], half[2])), tolerance);
	const int64_t first = list->count;
	add_directions(list, angle);
	for (int64_t i = first; i < list->count; i++) {
		for (int k = 0; k < 3; k++)
			list->data[i][k] *= half[k] / cos(angle);
	}
}

/// The corners of a mesh of the scene. False after an error.
static bool add_vertices(point_list *list, const scene_description *scene, int32_t mesh, sim_error *error)
{
	sim_mesh triangles;
	if (!scene_build_mesh(scene, mesh, &triangles, error))
		return false;
	for (int64_t i = 0; i < triangles.vertex_count; i++) {
		const float *v = triangles.vertices + 3 * i;
		add_point(list, v[0], v[1], v[2]);
	}
	sim_mesh_free(&triangles);
	return true;
}

/// The polytope of a volume. False after an error.
static bool add_core(
	point_list *core, const scene_description *scene, const scene_shape *shape, double tolerance, sim_error *error)
{
	const double *half = shape->half_extents;
	switch (shape->type) {
	case CAROM_HULL: return add_vertices(core, scene, shape->mesh, error);
	case CAROM_SPHERE: add_point(core, 0, 0, 0); break;
	case CAROM_CAPSULE:
		add_point(core, 0, 0, -shape->half_length);
		add_point(core, 0, 0, shape->half_length);
		break;
	case CAROM_BOX:
		for (int i = 0; i < 8; i++)
			add_point(core, (i & 1) ? half[0] : -half[0], (i & 2) ? half[1] : -half[1], (i & 4) ? half[2] : -half[2]);
		break;
	case CAROM_CYLINDER:
		add_circle(core, shape->radius, -shape->half_length, tolerance);
		add_circle(core, shape->radius, shape->half_length, tolerance);
		break;
	case CAROM_CONE:
		add_circle(core, shape->radius, -shape->half_length, tolerance);
		add_point(core, 0, 0, shape->half_length);
		break;
	default: add_ellipsoid(core, half, tolerance);
	}
	return true;
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// The radius of points about their mean.
static double radius_of(const point_list *core)
{
	double mean[3] = { 0, 0, 0 }, most = 0;
	for (int64_t i = 0; i < core->count; i++) {
		for (int k = 0; k < 3; k++)
			mean[k] += core->data[i][k] / (double)core->count;
	}
	for (int64_t i = 0; i < core->count; i++) {
		const double *p = core->data[i], way[3] = { p[0] - mean[0], p[1] - mean[1], p[2] - mean[2] };
		most = fmax(most, dot(way, way));
	}
	return sqrt(most);
}

/// Points whose hull encloses a polytope with a ball added.
static void add_ball(const point_list *core, double radius, double tolerance, point_list *points)
{
	point_list directions = { 0 };
	const double angle = angle_of(radius, tolerance), out = radius / cos(angle), slack = 2.001 * radius_of(core) * angle;
	add_directions(&directions, angle);
	for (int64_t j = 0; j < directions.count; j++) {
		const double *d = directions.data[j];
		double highest = -INFINITY;
		for (int64_t i = 0; i < core->count; i++)
			highest = fmax(highest, dot(core->data[i], d));
		for (int64_t i = 0; i < core->count; i++) {
			const double *q = core->data[i];
			if (highest - dot(q, d) <= slack)
				add_point(points, q[0] + out * d[0], q[1] + out * d[1], q[2] + out * d[2]);
		}
	}
	points->failed |= directions.failed;
	free(directions.data);
}

// ---- Meshes ----

/// Add places, moved by a pose, and triangles that count from the first of them.
static bool append(sim_form_mesh *mesh, int32_t vertex_count, const double (*places)[3], int32_t triangle_count,
	const int32_t *triangles, const carom_pose *pose, sim_error *error)
{
	const size_t vertices = (size_t)mesh->vertex_count + (size_t)vertex_count;
	const size_t all = (size_t)mesh->triangle_count + (size_t)triangle_count;
	double *more_places = realloc(mesh->places, 3 * vertices * sizeof *more_places + 1);
	mesh->places = more_places ? more_places : mesh->places;
	int32_t *more = realloc(mesh->triangles, 3 * all * sizeof *more + 1);
	mesh->triangles = more ? more : mesh->triangles;
	if (!more_places || !more)
		return sim_fail(error, "out of memory");
	for (int32_t i = 0; i < vertex_count; i++) {
		const carom_vec3 p = carom_transform_point(*pose, (carom_vec3){ places[i][0], places[i][1], places[i][2] });
		const double moved[3] = { p.x, p.y, p.z };
		memcpy(mesh->places + 3 * ((size_t)mesh->vertex_count + (size_t)i), moved, sizeof moved);
	}
	for (size_t i = 0; i < 3 * (size_t)triangle_count; i++)
		mesh->triangles[3 * (size_t)mesh->triangle_count + i] = triangles[i] + mesh->vertex_count;
	mesh->vertex_count = (int32_t)vertices;
	mesh->triangle_count = (int32_t)all;
	return true;
}

/// Add a mesh of the library.
static bool append_made(sim_form_mesh *mesh, const carom_mesh *made, const carom_pose *pose, sim_error *error)
{
	const carom_mesh_report *report = carom_mesh_get_report(made);
	const float *vertices = carom_mesh_get_vertices(made);
	double(*places)[3] = malloc((size_t)report->vertex_count * sizeof *places + 1);
	if (!places)
		return sim_fail(error, "out of memory");
	for (int64_t i = 0; i < 3 * (int64_t)report->vertex_count; i++)
		places[i / 3][i % 3] = vertices[i];
	const bool done = append(mesh, report->vertex_count, (const double(*)[3])places, report->triangle_count,
		carom_mesh_get_triangles(made), pose, error);
	free(places);
	return done;
}

static bool append_plane(sim_form_mesh *mesh, const carom_pose *pose, carom_vec3 middle, double reach, sim_error *error)
{
	static const int32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
	const carom_vec3 at = carom_inverse_transform_point(*pose, middle);
	const double places[4][3] = { { at.x - reach, at.y - reach, 0 }, { at.x + reach, at.y - reach, 0 },
		{ at.x + reach, at.y + reach, 0 }, { at.x - reach, at.y + reach, 0 } };
	return append(mesh, 4, places, 2, triangles, pose, error);
}

static bool append_field(carom_context *context, const scene_description *scene, int32_t number, const carom_pose *pose,
	sim_form_mesh *mesh, sim_error *error)
{
	const scene_mesh_source *source = &scene->meshes[number];
	carom_mesh *made = NULL;
	if (carom_create_height_field(context, source->columns, source->rows, source->heights, source->spacing, source->thickness,
			&made) != CAROM_SUCCESS)
		return sim_fail(error, "%s", carom_error_text(context));
	const bool done = append_made(mesh, made, pose, error);
	carom_release_mesh(made);
	return done;
}

static bool append_triangles(
	const scene_description *scene, int32_t number, const carom_pose *pose, sim_form_mesh *mesh, sim_error *error)
{
	sim_mesh triangles;
	if (!scene_build_mesh(scene, number, &triangles, error))
		return false;
	double(*places)[3] = malloc((size_t)triangles.vertex_count * sizeof *places + 1);
	for (int64_t i = 0; places && i < 3 * (int64_t)triangles.vertex_count; i++)
		places[i / 3][i % 3] = triangles.vertices[i];
	const bool done = places ? append(mesh, triangles.vertex_count, (const double(*)[3])places, triangles.triangle_count,
								   triangles.triangles, pose, error)
							 : sim_fail(error, "out of memory");
	free(places);
	sim_mesh_free(&triangles);
	return done;
}

/// How far a volume reaches, m.
static double size_of(const scene_shape *s)
{
	const double *half = s->half_extents;
	return fmax(fmax(s->radius + s->half_length, s->rounding), fmax(half[0], fmax(half[1], half[2])));
}

static bool append_volume(carom_context *context, const scene_description *scene, const scene_shape *shape,
	const carom_pose *pose, double tolerance, sim_form_mesh *mesh, sim_error *error)
{
	point_list core = { 0 }, points = { 0 };
	const bool round = shape->type == CAROM_SPHERE || shape->type == CAROM_CAPSULE;
	const double radius = round ? shape->radius : shape->rounding;
	tolerance = fmax(tolerance, size_of(shape) / 2000);
	carom_mesh *made = NULL;
	bool done = add_core(&core, scene, shape, tolerance, error);
	if (done && radius > 0)
		add_ball(&core, radius, tolerance, &points);
	const point_list *corners = radius > 0 ? &points : &core;
	if (done && (core.failed || points.failed || corners->count > INT32_MAX))
		done = sim_fail(error, "out of memory");
	const carom_strided places = { corners->data, 0, CAROM_FLOAT64 };
	if (done && carom_create_hull(context, &places, (int32_t)corners->count, &made) != CAROM_SUCCESS)
		done = sim_fail(error, "%s", carom_error_text(context));
	done = done && append_made(mesh, made, pose, error);
	carom_release_mesh(made);
	free(core.data);
	free(points.data);
	return done;
}

bool scene_enclose_shape(carom_context *context, const scene_description *scene, const scene_shape *shape,
	const carom_pose *pose, double tolerance, carom_vec3 middle, double reach, sim_form_mesh *mesh, sim_error *error)
{
	if (shape->type == CAROM_PLANE)
		return append_plane(mesh, pose, middle, reach, error);
	if (shape->type != CAROM_MESH)
		return append_volume(context, scene, shape, pose, tolerance, mesh, error);
	if (scene->meshes[shape->mesh].kind == SCENE_MESH_HEIGHT_FIELD)
		return append_field(context, scene, shape->mesh, pose, mesh, error);
	return append_triangles(scene, shape->mesh, pose, mesh, error);
}

bool scene_is_behind(const sim_form_mesh *mesh, int32_t first_triangle, const double point[3])
{
	for (int32_t t = first_triangle; t < mesh->triangle_count; t++) {
		const int32_t *corner = mesh->triangles + 3 * (size_t)t;
		const double *a = mesh->places + 3 * (size_t)corner[0], *b = mesh->places + 3 * (size_t)corner[1],
					 *c = mesh->places + 3 * (size_t)corner[2];
		const double u[3] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] }, v[3] = { c[0] - a[0], c[1] - a[1], c[2] - a[2] };
		const double n[3] = { u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0] };
		const double way[3] = { point[0] - a[0], point[1] - a[1], point[2] - a[2] };
		if (!(dot(n, way) < 0))
			return false;
	}
	return true;
}
