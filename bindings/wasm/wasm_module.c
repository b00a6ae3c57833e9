// The library as a module of WebAssembly: calls with numbers and addresses alone, which carom.js
// wraps. One context, one thread. Records of results are copied out as doubles, ROW_... of each.
#include "carom/carom.h"
#include "carom/collide.h"
#include "carom/proximity.h"
#include "carom/query.h"
#include "carom/spheres.h"
#include "carom/sweep.h"

#include "web/contact_hash.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

enum {
	// type, mesh, radius, half_length, half_extents, rounding; pose in the body
	SHAPE_NUMBERS = 8 + 7,
	CONTACT_NUMBERS = 16,
	HIT_NUMBERS = 16,
	NEAR_NUMBERS = 20,
};

static carom_context *context;

// ---- Memory, errors ----

int EXPORT(cw_start)(void)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	return (int)carom_create_context(&def, &context);
}

const char *EXPORT(cw_error)(void) { return carom_error_text(context); }
const char *EXPORT(cw_result_name)(int result) { return carom_result_name((carom_result)result); }
void *EXPORT(cw_allocate)(size_t size) { return malloc(size ? size : 1); }
void EXPORT(cw_free)(void *pointer) { free(pointer); }
double EXPORT(cw_memory)(void) { return (double)carom_memory_in_use(context); }
int EXPORT(cw_version)(void) { return CAROM_VERSION_MAJOR * 10000 + CAROM_VERSION_MINOR * 100 + CAROM_VERSION_PATCH; }

static void put_vector(double *to, carom_vec3 v) { memcpy(to, (const double[3]){ v.x, v.y, v.z }, 3 * sizeof *to); }
static carom_vec3 vector(const double *v) { return (carom_vec3){ v[0], v[1], v[2] }; }
static carom_pose pose_of(const double *p) { return (carom_pose){ { p[0], p[1], p[2] }, { p[3], p[4], p[5], p[6] } }; }
static carom_strided doubles(const double *data) { return (carom_strided){ .data = data, .type = CAROM_FLOAT64 }; }

// ---- Meshes ----

int EXPORT(cw_create_mesh)(const void *vertices, int type, int vertex_count, const int32_t *triangles, int triangle_count,
	int sides, carom_mesh **mesh)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = type ? CAROM_FLOAT64 : CAROM_FLOAT32 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	def.sides = (carom_mesh_sides)sides;
	return (int)carom_create_mesh(context, &def, NULL, mesh);
}

int EXPORT(cw_create_hull)(const void *points, int type, int count, carom_mesh **mesh)
{
	const carom_strided all = { .data = points, .type = type ? CAROM_FLOAT64 : CAROM_FLOAT32 };
	return (int)carom_create_hull(context, &all, count, mesh);
}

void EXPORT(cw_release_mesh)(carom_mesh *mesh) { carom_release_mesh(mesh); }

/// vertices, triangles, closed, usable, components, border edges, volume, area, lower, upper.
void EXPORT(cw_mesh_report)(const carom_mesh *mesh, double *to)
{
	const carom_mesh_report *r = carom_mesh_get_report(mesh);
	const double numbers[14] = { r->vertex_count, r->triangle_count, r->closed, r->usable, r->components, r->border_edges,
		r->volume, r->area, r->lower[0], r->lower[1], r->lower[2], r->upper[0], r->upper[1], r->upper[2] };
	memcpy(to, numbers, sizeof numbers);
}

/// Nearest points of two meshes at poses: found, distance, on a, on b, triangles, a in b, b in a.
int EXPORT(cw_mesh_distance)(
	const carom_mesh *a, const double *pose_a, const carom_mesh *b, const double *pose_b, double most, double *to)
{
	const carom_pose poses[2] = { pose_of(pose_a), pose_of(pose_b) };
	carom_mesh_gap gap;
	bool found = false;
	const carom_result result = carom_mesh_distance(a, &poses[0], b, &poses[1], most, &found, &gap);
	to[0] = found;
	if (result != CAROM_SUCCESS || !found)
		return (int)result;
	to[1] = gap.distance;
	put_vector(to + 2, gap.on_a.point);
	put_vector(to + 5, gap.on_b.point);
	to[8] = gap.triangle_a;
	to[9] = gap.triangle_b;
	to[10] = gap.a_inside_b;
	to[11] = gap.b_inside_a;
	return 0;
}

// ---- Worlds ----

/// settings: broad_phase, max_contacts_per_pair, speculative_distance, match_distance, temporal,
/// contact_normal, internal_edge_angle, toi_tolerance; NULL: the defaults.
int EXPORT(cw_create_world)(const double *settings, carom_world **world)
{
	carom_world_def def = carom_default_world_def();
	if (settings) {
		def.broad_phase = (carom_broad_phase)settings[0];
		def.max_contacts_per_pair = (int32_t)settings[1];
		def.speculative_distance = settings[2];
		def.match_distance = settings[3];
		def.temporal = (carom_temporal)settings[4];
		def.contact_normal = (carom_contact_normal)settings[5];
		def.internal_edge_angle = settings[6];
		def.toi_tolerance = settings[7];
	}
	return (int)carom_create_world(context, &def, world);
}

/// The numbers of cw_create_world's settings as they are by default.
void EXPORT(cw_default_settings)(double *to)
{
	const carom_world_def d = carom_default_world_def();
	const double numbers[8] = { d.broad_phase, d.max_contacts_per_pair, d.speculative_distance, d.match_distance, d.temporal,
		d.contact_normal, d.internal_edge_angle, d.toi_tolerance };
	memcpy(to, numbers, sizeof numbers);
}

void EXPORT(cw_destroy_world)(carom_world *world) { carom_destroy_world(world); }

static carom_shape shape_of(const double *n)
{
	return (carom_shape){ .type = (carom_shape_type)n[0],
		.mesh = (const carom_mesh *)(uintptr_t)n[1],
		.radius = n[2],
		.half_length = n[3],
		.half_extents = { n[4], n[5], n[6] },
		.rounding = n[7] };
}

/// shapes [SHAPE_NUMBERS*count]; more than one, or is_compound: they are parts. id: index1,
/// generation.
int EXPORT(cw_add_body)(carom_world *world, int kind, const double *shapes, int count, int is_compound, const double *pose,
	int flags, int group, uint32_t *id)
{
	carom_body_def def = carom_default_body_def();
	carom_part *parts = is_compound ? calloc((size_t)count, sizeof *parts) : NULL;
	carom_body_id made = { 0 };
	if (is_compound && !parts)
		return CAROM_OUT_OF_MEMORY;
	for (int i = 0; parts && i < count; i++)
		parts[i] = (carom_part){ shape_of(shapes + i * SHAPE_NUMBERS), pose_of(shapes + i * SHAPE_NUMBERS + 8) };
	if (parts) {
		def.parts = parts;
		def.part_count = count;
	} else {
		def.shape = shape_of(shapes);
	}
	def.kind = (carom_body_kind)kind;
	def.pose = pose_of(pose);
	def.sensor = flags & 1;
	def.continuous = flags & 2;
	def.group = group;
	const carom_result result = carom_world_add_body(world, &def, &made);
	free(parts);
	memcpy(id, &made, sizeof made);
	return (int)result;
}

static carom_body_id body_id(uint32_t index1, uint32_t generation)
{
	const uint32_t words[2] = { index1, generation };
	carom_body_id id;
	memcpy(&id, words, sizeof id);
	return id;
}

int EXPORT(cw_remove_body)(carom_world *world, uint32_t index1, uint32_t generation)
{
	return (int)carom_world_remove_body(world, body_id(index1, generation));
}

/// ids [2*count], poses [7*count].
int EXPORT(cw_set_poses)(carom_world *world, int count, const uint32_t *ids, const double *poses)
{
	return (int)carom_world_set_poses(world, count, (const carom_body_id *)ids, (const carom_pose *)poses);
}

int EXPORT(cw_get_pose)(const carom_world *world, uint32_t index1, uint32_t generation, double *pose)
{
	return (int)carom_world_get_pose(world, body_id(index1, generation), (carom_pose *)pose);
}

int EXPORT(cw_step)(carom_world *world) { return (int)carom_world_step(world); }

int EXPORT(cw_contact_count)(const carom_world *world) { return carom_world_contacts(world).count; }

/// body a, body b (index1), point, normal, depth, feature a, feature b, kind, part a, part b, age,
/// pair.
static void put_contact(double *to, const carom_contact *c)
{
	const double numbers[CONTACT_NUMBERS] = { c->body_a.index1, c->body_b.index1, c->point[0], c->point[1], c->point[2],
		c->normal[0], c->normal[1], c->normal[2], c->depth, c->feature_a, c->feature_b, c->kind, c->shape_a, c->shape_b, c->age,
		c->pair };
	memcpy(to, numbers, sizeof numbers);
}

void EXPORT(cw_get_contacts)(const carom_world *world, double *to)
{
	const carom_contact_view view = carom_world_contacts(world);
	for (int32_t i = 0; i < view.count; i++)
		put_contact(to + (size_t)CONTACT_NUMBERS * (size_t)i, &view.data[i]);
}

void EXPORT(cw_hash_contacts)(const carom_world *world, uint64_t *hash)
{
	const carom_contact_view view = carom_world_contacts(world);
	*hash = web_hash_contacts(&view);
}

int EXPORT(cw_pair_count)(const carom_world *world) { return carom_world_pairs(world).count; }

/// body a, body b (index1), first contact, contacts.
void EXPORT(cw_get_pairs)(const carom_world *world, int32_t *to)
{
	const carom_pair_view view = carom_world_pairs(world);
	for (int32_t i = 0; i < view.count; i++, to += 4) {
		const carom_pair *p = &view.data[i];
		to[0] = (int32_t)p->body_a.index1;
		to[1] = (int32_t)p->body_b.index1;
		to[2] = p->first_contact;
		to[3] = p->contact_count;
	}
}

// ---- Queries ----

/// ray: origin, direction, t_min, t_max. to: found, body (index1, generation), t, point, normal,
/// triangle, part, back face.
int EXPORT(cw_cast_ray)(const carom_world *world, const double *ray, double *to)
{
	const carom_ray r = { vector(ray), vector(ray + 3), ray[6], ray[7] };
	carom_ray_hit hit;
	bool found = false;
	const carom_result result = carom_world_cast_ray(world, &r, NULL, &found, &hit);
	to[0] = found;
	if (result != CAROM_SUCCESS || !found)
		return (int)result;
	to[1] = hit.body.index1;
	to[2] = hit.body.generation;
	to[3] = hit.t;
	put_vector(to + 4, hit.point);
	put_vector(to + 7, hit.normal);
	to[10] = hit.triangle;
	to[11] = hit.shape;
	to[12] = hit.back_face;
	return 0;
}

/// to: found, body (index1, generation), point, normal, distance, triangle, part.
int EXPORT(cw_closest_point)(const carom_world *world, double x, double y, double z, double most, double *to)
{
	carom_closest_point near;
	bool found = false;
	const carom_result result = carom_world_closest_point(world, (carom_vec3){ x, y, z }, most, NULL, &found, &near);
	to[0] = found;
	if (result != CAROM_SUCCESS || !found)
		return (int)result;
	to[1] = near.body.index1;
	to[2] = near.body.generation;
	put_vector(to + 3, near.point);
	put_vector(to + 6, near.normal);
	to[9] = near.distance;
	to[10] = near.triangle;
	to[11] = near.shape;
	return 0;
}

/// ids [2*capacity] of bodies whose boxes or shapes overlap; *count is how many there are.
int EXPORT(cw_overlap_box)(const carom_world *world, const double *box, int capacity, uint32_t *ids, int32_t *count)
{
	const carom_aabb b = { vector(box), vector(box + 3) };
	return (int)carom_world_overlap_aabb(world, &b, NULL, capacity, (carom_body_id *)ids, count);
}

int EXPORT(cw_overlap_shape)(
	const carom_world *world, const double *numbers, const double *pose, int capacity, uint32_t *ids, int32_t *count)
{
	const carom_shape shape = shape_of(numbers);
	const carom_pose p = pose_of(pose);
	return (int)carom_world_overlap_shape(world, &shape, &p, NULL, capacity, (carom_body_id *)ids, count);
}

// ---- Impacts of deforming meshes ----

int EXPORT(cw_create_sweep)(double min_separation, carom_sweep **sweep)
{
	carom_sweep_def def = carom_default_sweep_def();
	def.min_separation = min_separation;
	return (int)carom_create_sweep(context, &def, sweep);
}

void EXPORT(cw_destroy_sweep)(carom_sweep *sweep) { carom_destroy_sweep(sweep); }

static carom_sweep_mesh_def mesh_def(
	const double *vertices, int vertex_count, const int32_t *triangles, int triangle_count, int self)
{
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = doubles(vertices);
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	def.self = self;
	return def;
}

int EXPORT(cw_sweep_add_mesh)(carom_sweep *sweep, const double *vertices, int vertex_count, const int32_t *triangles,
	int triangle_count, int self, int32_t *mesh)
{
	const carom_sweep_mesh_def def = mesh_def(vertices, vertex_count, triangles, triangle_count, self);
	return (int)carom_sweep_add_mesh(sweep, &def, mesh);
}

int EXPORT(cw_sweep_move)(carom_sweep *sweep, int mesh, const double *vertices)
{
	const carom_strided end = doubles(vertices);
	return (int)carom_sweep_move_mesh(sweep, mesh, &end);
}

/// *hits: records of HIT_NUMBERS doubles, to be freed: kind, status, mesh a, mesh b, vertices [4],
/// time, weights [4], normal.
int EXPORT(cw_sweep_find)(carom_sweep *sweep, double **hits, int32_t *count)
{
	carom_sweep_hits found = { 0 };
	const carom_result result = carom_sweep_find(sweep, &found);
	*count = (int32_t)found.count;
	*hits = malloc((size_t)found.count * HIT_NUMBERS * sizeof **hits + 1);
	if (result != CAROM_SUCCESS || !*hits)
		return result != CAROM_SUCCESS ? (int)result : CAROM_OUT_OF_MEMORY;
	double *to = *hits;
	for (int64_t i = 0; i < found.count; i++, to += HIT_NUMBERS) {
		const carom_sweep_hit *h = &found.data[i];
		const double numbers[HIT_NUMBERS] = { h->kind, h->status, h->mesh_a, h->mesh_b, h->vertices[0], h->vertices[1],
			h->vertices[2], h->vertices[3], h->time, h->weight[0], h->weight[1], h->weight[2], h->weight[3], h->normal[0],
			h->normal[1], h->normal[2] };
		memcpy(to, numbers, sizeof numbers);
	}
	return 0;
}

// ---- Features near each other ----

int EXPORT(cw_create_proximity)(carom_proximity **proximity) { return (int)carom_create_proximity(context, NULL, proximity); }

void EXPORT(cw_destroy_proximity)(carom_proximity *proximity) { carom_destroy_proximity(proximity); }

int EXPORT(cw_proximity_add_mesh)(carom_proximity *proximity, const double *vertices, int vertex_count,
	const int32_t *triangles, int triangle_count, int self, int32_t *mesh)
{
	const carom_sweep_mesh_def def = mesh_def(vertices, vertex_count, triangles, triangle_count, self);
	return (int)carom_proximity_add_mesh(proximity, &def, mesh);
}

int EXPORT(cw_proximity_place)(carom_proximity *proximity, int mesh, const double *vertices)
{
	const carom_strided places = doubles(vertices);
	return (int)carom_proximity_place_mesh(proximity, mesh, &places);
}

/// *pairs: records of NEAR_NUMBERS doubles, to be freed: kind, type, mesh a, mesh b, vertices [4],
/// weights [4], point a, point b, squared distance, gap.
int EXPORT(cw_proximity_find)(carom_proximity *proximity, double distance, double **pairs, int32_t *count)
{
	carom_proximity_view view = { 0 };
	const carom_result result = carom_proximity_find(proximity, distance, &view);
	*count = (int32_t)view.pair_count;
	*pairs = malloc((size_t)view.pair_count * NEAR_NUMBERS * sizeof **pairs + 1);
	if (result != CAROM_SUCCESS || !*pairs)
		return result != CAROM_SUCCESS ? (int)result : CAROM_OUT_OF_MEMORY;
	double *to = *pairs;
	for (int64_t i = 0; i < view.pair_count; i++, to += NEAR_NUMBERS) {
		const carom_proximity_pair *p = &view.pairs[i];
		const double numbers[12] = { p->kind, p->type, p->mesh_a, p->mesh_b, p->vertices[0], p->vertices[1], p->vertices[2],
			p->vertices[3], p->weight[0], p->weight[1], p->weight[2], p->weight[3] };
		memcpy(to, numbers, sizeof numbers);
		put_vector(to + 12, p->point_a);
		put_vector(to + 15, p->point_b);
		to[18] = p->distance2;
		to[19] = p->gap;
	}
	return 0;
}

// ---- Spheres ----

int EXPORT(cw_create_spheres)(carom_spheres **spheres) { return (int)carom_create_spheres(context, NULL, spheres); }

void EXPORT(cw_destroy_spheres)(carom_spheres *spheres) { carom_destroy_spheres(spheres); }

/// *pairs [2*count]: numbers of touching spheres; they belong to the detector, until its next call.
int EXPORT(cw_spheres_find)(carom_spheres *spheres, const double *centres, const double *radii, int count,
	const carom_sphere_pair **pairs, int32_t *pair_count)
{
	carom_sphere_input input = carom_default_sphere_input();
	carom_sphere_pairs found = { 0 };
	input.count = count;
	input.centres = doubles(centres);
	input.radii = doubles(radii);
	carom_result result = carom_spheres_update(spheres, &input);
	if (result == CAROM_SUCCESS)
		result = carom_spheres_find_pairs(spheres, &found);
	*pairs = found.pairs;
	*pair_count = (int32_t)found.count;
	return (int)result;
}
