// Mass and inertia of volumes at density 1: closed forms, and a sum over the surface for rounded
// ones. Hulls of meshes.
#include "scene/volumes.h"
#include "sim/base/rotations.h"
#include "sim/base/vectors.h"

#include <math.h>
#include <stdlib.h>

// Directions around and from pole to pole in which the surface of a rounded volume is found.
enum { AROUND = 128, ACROSS = 64 };

static carom_mass sphere_mass(double r)
{
	const double mass = 4.0 / 3.0 * SIM_PI * r * r * r;
	const double i = 0.4 * mass * r * r;
	return (carom_mass){ .mass = mass, .inertia = { i, i, i } };
}

static carom_mass box_mass(const double h[3])
{
	const double mass = 8 * h[0] * h[1] * h[2];
	return (carom_mass){ .mass = mass,
		.inertia = { mass / 3 * (h[1] * h[1] + h[2] * h[2]), mass / 3 * (h[0] * h[0] + h[2] * h[2]),
			mass / 3 * (h[0] * h[0] + h[1] * h[1]) } };
}

static carom_mass ellipsoid_mass(const double h[3])
{
	const double mass = 4.0 / 3.0 * SIM_PI * h[0] * h[1] * h[2];
	return (carom_mass){ .mass = mass,
		.inertia = { mass / 5 * (h[1] * h[1] + h[2] * h[2]), mass / 5 * (h[0] * h[0] + h[2] * h[2]),
			mass / 5 * (h[0] * h[0] + h[1] * h[1]) } };
}

/// A cylinder of half length l about z, and two half spheres whose centres of mass lie 3/8 r beyond
/// its ends.
static carom_mass capsule_mass(double r, double l)
{
	const double cylinder = 2 * SIM_PI * r * r * l;
	const double caps = 4.0 / 3.0 * SIM_PI * r * r * r;
	const double along = cylinder * r * r / 2 + caps * 0.4 * r * r;
	const double across = cylinder * (r * r / 4 + l * l / 3) + caps * (0.4 * r * r + l * l + 0.75 * l * r);
	return (carom_mass){ .mass = cylinder + caps, .inertia = { across, across, along } };
}

static carom_mass cylinder_mass(double r, double l)
{
	const double mass = 2 * SIM_PI * r * r * l, across = mass * (r * r / 4 + l * l / 3);
	return (carom_mass){ .mass = mass, .inertia = { across, across, mass * r * r / 2 } };
}

/// The centre of a cone of height 2 l lies a quarter of it above the base.
static carom_mass cone_mass(double r, double l)
{
	const double mass = 2.0 / 3.0 * SIM_PI * r * r * l, across = mass * (0.15 * r * r + 0.15 * l * l);
	return (carom_mass){ .mass = mass, .centre = { 0, 0, -0.5 * l }, .inertia = { across, across, 0.3 * mass * r * r } };
}

// ---- Rounded volumes ----

static carom_vec3 farthest_vertex(const carom_mesh *mesh, carom_vec3 d)
{
	const float *v = carom_mesh_get_vertices(mesh), *best = v;
	const int32_t count = carom_mesh_get_report(mesh)->vertex_count;
	double most = -INFINITY;
	for (int32_t i = 0; i < count; i++) {
		const double along = d.x * v[3 * i] + d.y * v[3 * i + 1] + d.z * v[3 * i + 2];
		if (along > most) {
			most = along;
			best = v + 3 * i;
		}
	}
	return (carom_vec3){ best[0], best[1], best[2] };
}

/// The point of the volume without its rounding that lies farthest along a unit direction.
static carom_vec3 farthest(const carom_shape *s, carom_vec3 d)
{
	const double *h = s->half_extents, across = sqrt(d.x * d.x + d.y * d.y), l = s->half_length;
	const carom_vec3 rim = { across > 0 ? s->radius * d.x / across : 0, across > 0 ? s->radius * d.y / across : 0, -l };
	switch (s->type) {
	case CAROM_BOX: return (carom_vec3){ copysign(h[0], d.x), copysign(h[1], d.y), copysign(h[2], d.z) };
	case CAROM_HULL: return farthest_vertex(s->mesh, d);
	case CAROM_CYLINDER: return (carom_vec3){ rim.x, rim.y, copysign(l, d.z) };
	case CAROM_CONE: return sim_dot(rim, d) > l * d.z ? rim : (carom_vec3){ 0, 0, l };
	default: {
		const carom_vec3 scaled = { h[0] * d.x, h[1] * d.y, h[2] * d.z };
		const double length = sqrt(sim_dot(scaled, scaled));
		return (carom_vec3){ h[0] * scaled.x / length, h[1] * scaled.y / length, h[2] * scaled.z / length };
	}
	}
}

static carom_vec3 surface_point(const carom_shape *s, int row, int column)
{
	const double tilt = SIM_PI * row / ACROSS, turn = 2 * SIM_PI * (column % AROUND + 0.5) / AROUND, across = sim_sine(tilt);
	carom_vec3 d = { across * sim_cosine(turn), across * sim_sine(turn), sim_cosine(tilt) };
	if (row == 0 || row == ACROSS) // the poles are one point each, whatever the column
		d = (carom_vec3){ 0, 0, row == 0 ? 1 : -1 };
	return sim_add(farthest(s, d), sim_scale(d, s->rounding));
}

// Sums of volume, first and second moments (xx, yy, zz, xy, xz, yz).
typedef struct moments {
	double volume;
	carom_vec3 first;
	double second[6];
} moments;

/// Add the tetrahedron of a triangle and the origin.
static void add_triangle(moments *m, carom_vec3 a, carom_vec3 b, carom_vec3 c)
{
	const double volume = sim_dot(a, sim_cross(b, c)) / 6;
	const carom_vec3 p[4] = { a, b, c, sim_add(sim_add(a, b), c) };
	m->volume += volume;
	m->first = sim_add(m->first, sim_scale(p[3], volume / 4));
	for (int i = 0; i < 4; i++) {
		const double products[6] = { p[i].x * p[i].x, p[i].y * p[i].y, p[i].z * p[i].z, p[i].x * p[i].y, p[i].x * p[i].z,
			p[i].y * p[i].z };
		for (int k = 0; k < 6; k++)
			m->second[k] += volume / 20 * products[k];
	}
}

/// The surface is found in many directions and joined by triangles, which all lie inside: up to
/// some thousandths are missing.
static carom_mass rounded_mass(const carom_shape *s)
{
	moments m = { 0 };
	for (int row = 0; row < ACROSS; row++) {
		for (int column = 0; column < AROUND; column++) {
			const carom_vec3 p = surface_point(s, row, column), q = surface_point(s, row + 1, column),
							 r = surface_point(s, row + 1, column + 1), t = surface_point(s, row, column + 1);
			add_triangle(&m, p, q, r);
			add_triangle(&m, p, r, t);
		}
	}
	const carom_vec3 c = sim_scale(m.first, 1 / m.volume);
	const double *i = m.second, v = m.volume;
	const double xx = i[0] - v * c.x * c.x, yy = i[1] - v * c.y * c.y, zz = i[2] - v * c.z * c.z;
	return (carom_mass){ v, c, { yy + zz, xx + zz, xx + yy, v * c.x * c.y - i[3], v * c.x * c.z - i[4], v * c.y * c.z - i[5] } };
}

/// R I R^T of a tensor xx, yy, zz, xy, xz, yz.
static void turn_inertia(carom_quat turn, const double from[6], double to[6])
{
	const double full[3][3] = { { from[0], from[3], from[4] }, { from[3], from[1], from[5] }, { from[4], from[5], from[2] } };
	const carom_vec3 axes[3] = { carom_rotate(turn, (carom_vec3){ 1, 0, 0 }), carom_rotate(turn, (carom_vec3){ 0, 1, 0 }),
		carom_rotate(turn, (carom_vec3){ 0, 0, 1 }) };
	static const int places[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
	for (int k = 0; k < 6; k++) {
		to[k] = 0;
		for (int i = 0; i < 3; i++) {
			for (int j = 0; j < 3; j++) {
				const double a[3] = { axes[i].x, axes[i].y, axes[i].z }, b[3] = { axes[j].x, axes[j].y, axes[j].z };
				to[k] += a[places[k][0]] * full[i][j] * b[places[k][1]];
			}
		}
	}
}

/// Two masses have the inertia of each and that of two points with their reduced mass (Steiner).
void scene_add_mass(carom_mass *sum, const carom_mass *part, const carom_pose *pose)
{
	double turned[6];
	const double total = sum->mass + part->mass, reduced = sum->mass * part->mass / total;
	const carom_vec3 d = sim_subtract(carom_transform_point(*pose, part->centre), sum->centre);
	const double across[6] = { d.y * d.y + d.z * d.z, d.x * d.x + d.z * d.z, d.x * d.x + d.y * d.y, -d.x * d.y, -d.x * d.z,
		-d.y * d.z };
	turn_inertia(pose->orientation, part->inertia, turned);
	for (int k = 0; k < 6; k++)
		sum->inertia[k] += turned[k] + reduced * across[k];
	sum->centre = sim_add(sum->centre, sim_scale(d, part->mass / total));
	sum->mass = total;
}

carom_result scene_hull_of(carom_context *context, const carom_mesh *mesh, carom_mesh **hull)
{
	if (*hull)
		return CAROM_SUCCESS;
	const carom_strided points = { .data = carom_mesh_get_vertices(mesh), .type = CAROM_FLOAT32 };
	return carom_create_hull(context, &points, carom_mesh_get_report(mesh)->vertex_count, hull);
}

static carom_result recorded_shape(
	carom_context *context, const io_recorded_body *body, carom_mesh *const *meshes, carom_mesh **hulls, carom_shape *shape)
{
	*shape = (carom_shape){ .type = body->type,
		.radius = body->radius,
		.half_length = body->half_length,
		.half_extents = { body->half_extents[0], body->half_extents[1], body->half_extents[2] },
		.mesh = body->mesh >= 0 ? meshes[body->mesh] : NULL,
		.rounding = body->rounding };
	if (body->type != CAROM_HULL)
		return CAROM_SUCCESS;
	const carom_result result = scene_hull_of(context, meshes[body->mesh], &hulls[body->mesh]);
	shape->mesh = hulls[body->mesh];
	return result;
}

int32_t scene_recorded_rows(const io_recording *recording, int32_t row)
{
	const int32_t count = io_recording_body_count(recording);
	int32_t rows = 1;
	while (row + rows < count && io_recording_get_body(recording, row + rows)->part > 1)
		rows++;
	return rows;
}

carom_result scene_recorded_def(carom_context *context, const io_recording *recording, int32_t row, carom_mesh *const *meshes,
	carom_mesh **hulls, carom_body_def *def)
{
	const io_recorded_body *body = io_recording_get_body(recording, row);
	const int32_t rows = scene_recorded_rows(recording, row);
	def->kind = body->kind;
	if (body->part == 0)
		return recorded_shape(context, body, meshes, hulls, &def->shape);
	carom_part *parts = calloc((size_t)rows, sizeof *parts);
	carom_result result = parts ? CAROM_SUCCESS : CAROM_OUT_OF_MEMORY;
	for (int32_t k = 0; k < rows && result == CAROM_SUCCESS; k++) {
		parts[k].pose = body[k].place;
		result = recorded_shape(context, &body[k], meshes, hulls, &parts[k].shape);
	}
	def->parts = parts;
	def->part_count = rows;
	return result;
}

carom_mass scene_volume_mass(const carom_shape *shape)
{
	const double r = shape->radius;
	const bool is_round = shape->type == CAROM_SPHERE || shape->type == CAROM_CAPSULE;
	if (!is_round && shape->rounding > 0)
		return rounded_mass(shape);
	carom_mass mass = { 0 };
	switch (shape->type) {
	case CAROM_SPHERE: return sphere_mass(r);
	case CAROM_CAPSULE: return capsule_mass(r, shape->half_length);
	case CAROM_CYLINDER: return cylinder_mass(r, shape->half_length);
	case CAROM_CONE: return cone_mass(r, shape->half_length);
	case CAROM_ELLIPSOID: return ellipsoid_mass(shape->half_extents);
	case CAROM_HULL: carom_mesh_get_mass(shape->mesh, &mass); return mass;
	default: return box_mass(shape->half_extents);
	}
}
