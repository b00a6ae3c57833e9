// Calls on worlds, decoded from bytes, with ordinary and extreme numbers. Two worlds are told the same and must answer with the same
// bits: one with the widest kernels, tree, lists; the other scalar, with another broad phase, other rays, groups, naive stages. Target
// failing lets allocations of the first one fail; a call that found no memory is made again and must then do what it should.
#include "labs.h"
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MESHES = 10, MOST_BODIES = 20, MOST_STEPS = 10, MOST_VERTICES = 64, MOST_HITS = 64 };

// ---- Memory that fails ----

static struct {
	bool armed;
	uint32_t state, one_in;
} heap;

static void *allocate(size_t size, size_t alignment, void *user)
{
	(void)user;
	heap.state = heap.state * 1664525u + 1013904223u;
	if (heap.armed && (heap.state >> 16) % heap.one_in == 0)
		return NULL;
	return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment, (void)user;
	free(pointer);
}

// ---- Meshes ----

typedef struct soup {
	float vertices[3 * MOST_VERTICES];
	int32_t triangles[3 * 2 * MOST_VERTICES];
	int32_t vertex_count, triangle_count;
} soup;

static void add_cube(soup *s, const float size[3], float shift, bool inward)
{
	static const int32_t corners[12][3] = { { 0, 2, 3 }, { 0, 3, 1 }, { 4, 5, 7 }, { 4, 7, 6 }, { 0, 1, 5 }, { 0, 5, 4 },
		{ 2, 6, 7 }, { 2, 7, 3 }, { 0, 4, 6 }, { 0, 6, 2 }, { 1, 3, 7 }, { 1, 7, 5 } };
	const int32_t first = s->vertex_count;
	for (int i = 0; i < 8; i++) {
		float *v = s->vertices + 3 * s->vertex_count++;
		for (int k = 0; k < 3; k++)
			v[k] = size[k] * ((i >> k & 1) - 0.5f) + (k == 0 ? shift : 0);
	}
	for (int i = 0; i < 12; i++) {
		int32_t *t = s->triangles + 3 * s->triangle_count++;
		for (int k = 0; k < 3; k++)
			t[k] = first + corners[i][inward ? 2 - k : k];
	}
}

static void add_torus(soup *s)
{
	enum { N = 8 };
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			const double a = i * 0.78539816339744831, b = j * 0.78539816339744831;
			const double r = 1 + 0.4 * cos(b);
			const float v[3] = { (float)(r * cos(a)), (float)(r * sin(a)), (float)(0.4 * sin(b)) };
			memcpy(s->vertices + 3 * s->vertex_count++, v, sizeof v);
			const int32_t q[4] = { N * i + j, N * ((i + 1) % N) + j, N * ((i + 1) % N) + (j + 1) % N, N * i + (j + 1) % N };
			const int32_t t[6] = { q[0], q[1], q[2], q[0], q[2], q[3] };
			memcpy(s->triangles + 3 * s->triangle_count, t, sizeof t);
			s->triangle_count += 2;
		}
}

static const carom_mesh *make_mesh(carom_context *context, int number)
{
	// Ordinary, tiny, huge, thin, open, empty, far from its own origin, of denormal width; then a shell and a torus.
	static const float sizes[8][3] = { { 1, 1, 1 }, { 1e-20f, 1e-20f, 1e-20f }, { 1e12f, 1e12f, 1e12f }, { 1, 1, 1e-6f },
		{ 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 }, { 1e-40f, 1, 1 } };
	static const float outer[3] = { 1, 1, 1 }, inner[3] = { 0.8f, 0.8f, 0.8f };
	soup s = { .vertex_count = 0 };
	if (number < 8)
		add_cube(&s, sizes[number], number == 6 ? 1e6f : 0, false);
	else if (number == 8) {
		add_cube(&s, outer, 0, false);
		add_cube(&s, inner, 0, true);
	} else
		add_torus(&s);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ s.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = s.vertex_count;
	def.triangles = s.triangles;
	def.triangle_count = number == 4 ? 4 : number == 5 ? 0 : s.triangle_count;
	def.grid_resolution = number % 3 * 4;
	carom_mesh *mesh;
	FUZZ_REQUIRE(
		carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS, "mesh %d: %s", number, carom_error_text(context));
	return mesh;
}

// ---- Two worlds ----

static carom_context *contexts[2];
static const carom_mesh *meshes[2][MESHES];

typedef struct twins {
	carom_world *world[2];
	carom_body_id ids[MOST_BODIES];
	int id_count, steps;
	bool failing;
	fuzz_bytes bytes;
} twins;

static void set_up(void)
{
	if (contexts[0])
		return;
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	def.allocator = (carom_allocator){ allocate, release, NULL };
	FUZZ_REQUIRE(carom_create_context(&def, &contexts[0]) == CAROM_SUCCESS, "%s", carom_error_text(NULL));
	contexts[1] = fuzz_context(CAROM_SIMD_SCALAR);
	for (int w = 0; w < 2; w++)
		for (int i = 0; i < MESHES; i++)
			meshes[w][i] = make_mesh(contexts[w], i);
}

// Make a call, in which w is the number of the world, on both worlds; their answers go to result[2] and must be equal.
#define ON_BOTH(t, result, call)                                                                                             \
	do {                                                                                                                     \
		for (int w = 0; w < 2; w++) {                                                                                        \
			heap.armed = (t)->failing && w == 0;                                                                             \
			(result)[w] = (call);                                                                                            \
			heap.armed = false;                                                                                              \
			if ((t)->failing && w == 0 && (result)[w] == CAROM_OUT_OF_MEMORY)                                                \
				(result)[w] = (call);                                                                                        \
		}                                                                                                                    \
		FUZZ_REQUIRE((result)[0] == (result)[1], "%s and %s", carom_error_text(contexts[0]), carom_error_text(contexts[1])); \
	} while (0)

static void make_worlds(twins *t)
{
	static const int kept[] = { 8, 0, 1, 4 };
	fuzz_bytes *b = &t->bytes;
	const uint8_t f = fuzz_byte(b), g = fuzz_byte(b), h = fuzz_byte(b);
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = kept[f & 3];
	fixture_lab(&def)->complete = (f & 12) != 12;
	fixture_lab(&def)->exit_distance_test = f & 16;
	def.speculative_distance = f & 32 ? 0.05 : 0;
	// A step that fails may make pairs forget, and a full step may find other contacts than a continued one.
	def.temporal = t->failing || f & 64 ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_PREDICTIVE;
	if (f & 128 && def.temporal != CAROM_TEMPORAL_NONE)
		def.temporal = CAROM_TEMPORAL_ITERATIVE;
	def.contact_normal = g & 1 ? CAROM_NORMAL_TRIANGLE : CAROM_NORMAL_RAY;
	fixture_lab(&def)->max_depth_ratio = g & 2 ? 0 : 2;
	fixture_lab(&def)->lost_rays = g & 4 ? CAROM_LOST_DROP : CAROM_LOST_RECAST;
	def.internal_edge_angle = g & 8 ? 0 : def.internal_edge_angle;
	def.match_distance = g & 16 ? 0.5 : 0.02;
	fixture_lab(&def)->displacement_threshold = g & 32 ? 0.1 : 0;
	heap.state = (uint32_t)(f << 16 | g << 8 | h);
	heap.one_in = (const uint32_t[]){ 3, 9, 30, 100 }[h & 3];
	carom_world_def other = def;
	fixture_set_broad(&other, h & 4 ? FIXTURE_BROAD_BRUTE : CAROM_BROAD_SWEEP);
	fixture_lab(&other)->ray_method = h & 8 ? CAROM_RAYS_BASIC : CAROM_RAYS_BINARY;
	fixture_lab(&other)->worker_groups = h & 16 ? 3 : 0;
	fixture_lab(&other)->ray_buffers = h & 32 ? CAROM_BUFFERS_BACKTRACK : CAROM_BUFFERS_EXACT;
	if (h & 64 && def.temporal == CAROM_TEMPORAL_NONE && !fixture_lab(&other)->worker_groups && !(h & 32))
		fixture_lab(&other)->stages = CAROM_STAGES_NAIVE;
	other.sweep.method = h & 128 ? CAROM_SWEEP_SORT : CAROM_SWEEP_BVH;
	carom_result result[2];
	ON_BOTH(t, result, carom_create_world(contexts[w], w ? &other : &def, &t->world[w]));
	FUZZ_REQUIRE(result[0] == CAROM_SUCCESS, "%s", carom_error_text(contexts[0]));
}

// ---- Calls ----

static carom_shape read_shape(fuzz_bytes *b, int *mesh)
{
	static const carom_shape_type types[] = { CAROM_SPHERE, CAROM_BOX, CAROM_CAPSULE, CAROM_PLANE, CAROM_CYLINDER, CAROM_CONE,
		CAROM_ELLIPSOID };
	carom_shape shape = { .type = types[fuzz_choose(b, 7)] };
	if (fuzz_byte(b) % 2)
		shape.type = CAROM_MESH;
	shape.radius = fuzz_length(b);
	shape.half_length = fuzz_length(b);
	for (int k = 0; k < 3; k++)
		shape.half_extents[k] = fuzz_length(b);
	shape.rounding = fuzz_byte(b) % 4 == 0 && shape.type >= CAROM_CYLINDER ? fuzz_length(b) : 0;
	*mesh = fuzz_choose(b, MESHES);
	return shape;
}

enum { MOST_PARTS = 4 };

// Give a definition parts, which each world needs with meshes of its own.
static void read_parts(fuzz_bytes *b, int count, carom_body_def def[2], carom_part parts[2][MOST_PARTS])
{
	for (int i = 0; i < count; i++) {
		int mesh;
		parts[0][i] = (carom_part){ read_shape(b, &mesh), fuzz_pose(b), 0 };
		parts[1][i] = parts[0][i];
		for (int w = 0; w < 2; w++)
			parts[w][i].shape.mesh = parts[0][i].shape.type == CAROM_MESH ? meshes[w][mesh] : NULL;
	}
	for (int w = 0; w < 2; w++) {
		def[w].shape = (carom_shape){ 0 };
		def[w].parts = parts[w];
		def[w].part_count = count;
	}
}

static void add_body(twins *t)
{
	fuzz_bytes *b = &t->bytes;
	int mesh;
	carom_part parts[2][MOST_PARTS];
	carom_body_def def[2] = { carom_default_body_def() };
	def[0].shape = read_shape(b, &mesh);
	const int kind = fuzz_byte(b);
	def[0].kind = kind < 160 ? CAROM_DYNAMIC : (carom_body_kind)(kind % 5);
	if (def[0].shape.type == CAROM_PLANE && def[0].kind == CAROM_DYNAMIC)
		def[0].kind = CAROM_STATIC;
	def[0].pose = fuzz_pose(b);
	const int flags = fuzz_byte(b);
	def[0].sensor = flags % 16 == 1;
	def[0].self_collision = flags & 16;
	def[0].group = flags >= 240 ? 1 : flags >= 224 ? -1 : 0;
	def[0].user_data = (uint64_t)flags;
	def[1] = def[0];
	if (t->id_count == MOST_BODIES)
		return;
	for (int w = 0; w < 2; w++)
		def[w].shape.mesh = def[0].shape.type == CAROM_MESH ? meshes[w][mesh] : NULL;
	if (flags % 16 >= 12)
		read_parts(b, 1 + flags % MOST_PARTS, def, parts);
	carom_result result[2];
	carom_body_id ids[2];
	ON_BOTH(t, result, carom_world_add_body(t->world[w], &def[w], &ids[w]));
	if (result[0] != CAROM_SUCCESS)
		return;
	FUZZ_REQUIRE(
		ids[0].index1 == ids[1].index1 && ids[0].generation == ids[1].generation, "ids %u %u", ids[0].index1, ids[1].index1);
	t->ids[t->id_count++] = ids[0];
}

// Some id that was given once; the body may be gone.
static carom_body_id any_id(twins *t)
{
	return t->id_count ? t->ids[fuzz_choose(&t->bytes, t->id_count)] : (carom_body_id){ 0 };
}

static void remove_body(twins *t)
{
	carom_result result[2];
	const carom_body_id id = any_id(t);
	ON_BOTH(t, result, carom_world_remove_body(t->world[w], id));
	if (t->id_count && fuzz_byte(&t->bytes) % 2) {
		const int gone = fuzz_choose(&t->bytes, t->id_count);
		t->ids[gone] = t->ids[--t->id_count];
	}
}

static void set_pose(twins *t)
{
	carom_result result[2];
	const carom_body_id id = any_id(t);
	const carom_pose pose = fuzz_pose(&t->bytes);
	ON_BOTH(t, result, carom_world_set_pose(t->world[w], id, &pose));
}

static void set_filter(twins *t)
{
	carom_result result[2];
	const carom_body_id id = any_id(t);
	const uint64_t category = fuzz_byte(&t->bytes), mask = fuzz_byte(&t->bytes);
	const int32_t group = (int8_t)fuzz_byte(&t->bytes);
	ON_BOTH(t, result, carom_world_set_filter(t->world[w], id, category, mask, group));
}

static bool deforms(const twins *t, carom_body_id id)
{
	carom_body_def def;
	return carom_world_get_body_def(t->world[0], id, &def) == CAROM_SUCCESS &&
		(def.kind == CAROM_DEFORMABLE || def.kind == CAROM_CLOTH);
}

// Another mesh for a body that deforms, with a good map, none, or a bad one.
static void set_mesh(twins *t, carom_body_id id, int mesh)
{
	fuzz_bytes *b = &t->bytes;
	carom_vertex_view view;
	FUZZ_REQUIRE(carom_world_get_vertices(t->world[0], id, &view) == CAROM_SUCCESS, "no vertices");
	const int how = fuzz_choose(b, 8);
	const double place = fuzz_number(b);
	int32_t from[MOST_VERTICES];
	double places[3 * MOST_VERTICES];
	for (int i = 0; i < MOST_VERTICES; i++) {
		from[i] = view.count > 0 && i % 5 != 4 ? i * 7 % view.count : -1;
		places[3 * i] = places[3 * i + 1] = place;
		places[3 * i + 2] = 0.1 * i;
	}
	if (how == 7)
		from[fuzz_choose(b, MOST_VERTICES)] = view.count;
	const carom_strided strided = { places, 0, CAROM_FLOAT64 };
	carom_result result[2];
	ON_BOTH(t, result, carom_world_set_mesh(t->world[w], id, meshes[w][mesh], how < 2 ? NULL : from, how % 2 ? &strided : NULL));
}

// Another shape, or as many other parts, whatever the body is.
static void reshape(twins *t)
{
	fuzz_bytes *b = &t->bytes;
	const carom_body_id id = any_id(t);
	int mesh;
	carom_part parts[2][MOST_PARTS];
	carom_body_def def[2] = { carom_default_body_def(), carom_default_body_def() };
	const carom_shape shape = read_shape(b, &mesh);
	const int count = fuzz_choose(b, MOST_PARTS + 1);
	carom_result result[2];
	if (count > 0) {
		read_parts(b, count, def, parts);
		ON_BOTH(t, result, carom_world_set_parts(t->world[w], id, parts[w], count));
		return;
	}
	if (shape.type == CAROM_MESH && deforms(t, id)) {
		set_mesh(t, id, mesh);
		return;
	}
	for (int w = 0; w < 2; w++) {
		def[w].shape = shape;
		def[w].shape.mesh = shape.type == CAROM_MESH ? meshes[w][mesh] : NULL;
	}
	ON_BOTH(t, result, carom_world_set_shape(t->world[w], id, &def[w].shape));
}

static void set_traits(twins *t)
{
	fuzz_bytes *b = &t->bytes;
	const carom_body_id id = any_id(t);
	carom_body_def def;
	if (carom_world_get_body_def(t->world[0], id, &def) != CAROM_SUCCESS)
		return;
	const int flags = fuzz_choose(b, 32);
	if (fuzz_choose(b, 4) > 0)
		def.kind = (carom_body_kind)fuzz_choose(b, 7);
	def.sensor = flags & 1;
	def.self_collision = flags & 2;
	def.continuous = flags & 4;
	def.contacts = flags & 8;
	def.shape_impacts = flags & 16;
	def.thickness = 0.1 * fuzz_choose(b, 4) - 0.05 * (fuzz_choose(b, 16) == 0);
	carom_result result[2];
	ON_BOTH(t, result, carom_world_set_traits(t->world[w], id, &def));
}

static void set_asleep(twins *t)
{
	const carom_body_id ids[2] = { any_id(t), any_id(t) };
	const bool asleep = fuzz_choose(&t->bytes, 3) > 0;
	carom_result result[2];
	ON_BOTH(t, result, carom_world_set_asleep(t->world[w], 2, ids, asleep));
}

static void shift_origin(twins *t)
{
	static const double offsets[][3] = { { 64, 0, -8 }, { -64, 0, 8 }, { 0.1, 1e5, 0 }, { 0, INFINITY, 0 } };
	const double *offset = offsets[fuzz_choose(&t->bytes, 4)];
	carom_result result[2];
	ON_BOTH(t, result, carom_world_shift_origin(t->world[w], offset));
}

static void set_vertices(twins *t)
{
	fuzz_bytes *b = &t->bytes;
	const carom_body_id id = any_id(t);
	carom_body_def def;
	if (carom_world_get_body_def(t->world[0], id, &def) != CAROM_SUCCESS || def.shape.type != CAROM_MESH)
		return;
	double places[3 * MOST_VERTICES] = { 0 };
	const carom_pose pose = fuzz_pose(b);
	const double wobble = 0.1 * fuzz_number(b);
	const int32_t count = carom_mesh_get_report(def.shape.mesh)->vertex_count;
	const float *from = carom_mesh_get_vertices(def.shape.mesh);
	for (int32_t i = 0; i < count; i++) {
		const carom_vec3 local = { (double)from[3 * i], (double)from[3 * i + 1], (double)from[3 * i + 2] };
		const carom_vec3 p = carom_transform_point(pose, local);
		places[3 * i] = p.x + wobble * (i % 3);
		places[3 * i + 1] = p.y - wobble * (i % 2);
		places[3 * i + 2] = p.z;
	}
	const carom_strided strided = { places, 0, CAROM_FLOAT64 };
	const int how = fuzz_choose(b, 3);
	carom_result result[2];
	ON_BOTH(t, result, carom_world_set_vertices(t->world[w], id, how == 1 ? NULL : &strided, how == 2 ? NULL : &strided));
}

static void cast_ray(twins *t)
{
	carom_ray ray = { .origin = fuzz_vector(&t->bytes) };
	ray.direction = fuzz_vector(&t->bytes);
	ray.t_max = fuzz_byte(&t->bytes) % 2 ? INFINITY : 5;
	carom_result result[2];
	carom_ray_hit hits[2], all[MOST_HITS];
	bool found[2] = { false, false }, any[2] = { false, false };
	int32_t count[2] = { 0, 0 };
	ON_BOTH(t, result, carom_world_cast_ray(t->world[w], &ray, NULL, &found[w], &hits[w]));
	ON_BOTH(t, result, carom_world_cast_ray_any(t->world[w], &ray, NULL, &any[w]));
	ON_BOTH(t, result, carom_world_cast_ray_all(t->world[w], &ray, NULL, MOST_HITS, all, &count[w]));
	FUZZ_REQUIRE(found[0] == found[1] && any[0] == found[0] && any[1] == found[0], "hit or not");
	FUZZ_REQUIRE(count[0] == count[1] && (count[0] > 0) == found[0], "%d and %d hits", count[0], count[1]);
	if (result[0] != CAROM_SUCCESS || !found[0])
		return;
	FUZZ_REQUIRE(hits[0].t == hits[1].t && hits[0].triangle == hits[1].triangle && hits[0].body.index1 == hits[1].body.index1,
		"body %u and %u", hits[0].body.index1, hits[1].body.index1);
	// Where a ray meets an edge, the triangles around it differ by roundings: of coordinates that may be 1e12.
	const double length = hypot(hypot(ray.direction.x, ray.direction.y), ray.direction.z), way = hits[1].t * length;
	const double rounding = (1e-5 * (way + hypot(hypot(ray.origin.x, ray.origin.y), ray.origin.z)) + 1e-3) / length;
	FUZZ_REQUIRE(all[0].t <= hits[1].t && hits[1].t - all[0].t <= rounding, "t %.17g and %.17g", all[0].t, hits[1].t);
	FUZZ_REQUIRE(fuzz_is_unit(hits[0].normal.x, hits[0].normal.y, hits[0].normal.z), "body %u", hits[0].body.index1);
}

static void find_closest_point(twins *t)
{
	const carom_vec3 point = fuzz_vector(&t->bytes);
	const double distance = fuzz_length(&t->bytes);
	carom_result result[2];
	carom_closest_point nearest[2];
	bool found[2] = { false, false };
	ON_BOTH(t, result, carom_world_closest_point(t->world[w], point, distance, NULL, &found[w], &nearest[w]));
	FUZZ_REQUIRE(found[0] == found[1], "found or not");
	if (result[0] == CAROM_SUCCESS && found[0])
		FUZZ_REQUIRE(nearest[0].distance == nearest[1].distance && nearest[0].body.index1 == nearest[1].body.index1,
			"distance %.17g and %.17g", nearest[0].distance, nearest[1].distance);
}

static void find_overlaps(twins *t)
{
	fuzz_bytes *b = &t->bytes;
	carom_aabb box = { .lower = fuzz_vector(b) };
	box.upper.x = box.lower.x + fuzz_length(b);
	box.upper.y = box.lower.y + fuzz_length(b);
	box.upper.z = box.lower.z + fuzz_length(b);
	carom_result result[2];
	carom_body_id ids[2][MOST_BODIES];
	int32_t count[2] = { 0, 0 };
	ON_BOTH(t, result, carom_world_overlap_aabb(t->world[w], &box, NULL, MOST_BODIES, ids[w], &count[w]));
	FUZZ_REQUIRE(count[0] == count[1], "%d and %d bodies", count[0], count[1]);
	int mesh;
	carom_shape shape[2] = { read_shape(b, &mesh) };
	shape[1] = shape[0];
	for (int w = 0; w < 2; w++)
		shape[w].mesh = shape[0].type == CAROM_MESH ? meshes[w][mesh] : NULL;
	const carom_pose pose = fuzz_pose(b);
	count[0] = count[1] = 0;
	ON_BOTH(t, result, carom_world_overlap_shape(t->world[w], &shape[w], &pose, NULL, MOST_BODIES, ids[w], &count[w]));
	FUZZ_REQUIRE(count[0] == count[1], "%d and %d bodies", count[0], count[1]);
	for (int32_t i = 0; i < count[0]; i++)
		FUZZ_REQUIRE(ids[0][i].index1 == ids[1][i].index1, "body %u and %u", ids[0][i].index1, ids[1][i].index1);
}

static void check_contacts(const twins *t)
{
	const carom_contact_view contacts = carom_world_contacts(t->world[0]);
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		FUZZ_REQUIRE(fuzz_is_unit((double)c->normal[0], (double)c->normal[1], (double)c->normal[2]) && isfinite(c->depth) &&
				isfinite(c->point[0]) && isfinite(c->point[1]) && isfinite(c->point[2]),
			"contact %d of bodies %u and %u, kind %d, depth %g", i, c->body_a.index1, c->body_b.index1, (int)c->kind,
			(double)c->depth);
	}
	const carom_impact_view impacts = carom_world_impacts(t->world[0]);
	for (int64_t i = 0; i < impacts.count; i++) {
		const carom_impact *m = &impacts.data[i];
		FUZZ_REQUIRE(m->time >= 0 && m->time <= 1 && fuzz_is_unit(m->normal[0], m->normal[1], m->normal[2]), "impact %lld",
			(long long)i);
	}
}

// The pairs of bodies of both worlds, whose contacts lie side by side.
static void check_body_pairs(const twins *t)
{
	const carom_body_pair_view views[2] = { carom_world_body_pairs(t->world[0]), carom_world_body_pairs(t->world[1]) };
	FUZZ_REQUIRE(views[0].count == views[1].count &&
			carom_world_body_events(t->world[0]).count == carom_world_body_events(t->world[1]).count,
		"%d and %d pairs of bodies", views[0].count, views[1].count);
	int32_t pairs = 0, contacts = 0;
	for (int32_t i = 0; i < views[0].count; i++) {
		const carom_body_pair *a = &views[0].data[i], *b = &views[1].data[i];
		FUZZ_REQUIRE(a->first_pair == pairs && a->first_contact == contacts && a->pair_count > 0, "pair of bodies %d", i);
		FUZZ_REQUIRE(a->contact_count == b->contact_count && a->pair_count == b->pair_count && a->age == b->age &&
				a->user_data == b->user_data,
			"pair of bodies %d", i);
		pairs += a->pair_count;
		contacts += a->contact_count;
	}
	FUZZ_REQUIRE(views[0].count == 0 ||
			(pairs == carom_world_pairs(t->world[0]).count && contacts == carom_world_contacts(t->world[0]).count),
		"%d pairs of %d", pairs, carom_world_pairs(t->world[0]).count);
}

static void step(twins *t)
{
	carom_result result[2];
	ON_BOTH(t, result, carom_world_step(t->world[w]));
	t->steps++;
	if (result[0] != CAROM_SUCCESS)
		return;
	const carom_world *a = t->world[0], *b = t->world[1];
	FUZZ_REQUIRE(carom_world_contacts(a).count == carom_world_contacts(b).count, "%d and %d contacts in step %d",
		carom_world_contacts(a).count, carom_world_contacts(b).count, t->steps);
	FUZZ_REQUIRE(carom_world_impacts(a).count == carom_world_impacts(b).count, "%lld and %lld impacts in step %d",
		(long long)carom_world_impacts(a).count, (long long)carom_world_impacts(b).count, t->steps);
	FUZZ_REQUIRE(carom_world_hash(a) == carom_world_hash(b), "other contacts or impacts in step %d", t->steps);
	const carom_event_view events[2] = { carom_world_events(a), carom_world_events(b) };
	FUZZ_REQUIRE(events[0].count == events[1].count && carom_world_pairs(a).count == carom_world_pairs(b).count,
		"%d and %d events", events[0].count, events[1].count);
	for (int32_t i = 0; i < events[0].count; i++)
		FUZZ_REQUIRE(events[0].data[i].kind == events[1].data[i].kind, "event %d", i);
	check_contacts(t);
	check_body_pairs(t);
}

// Pairs of bodies are listed or not, and have a limit or none. One limit of twelve is -1, which is refused.
static void set_body_pairs(twins *t, int how)
{
	const int32_t limit = how % 3 == 0 ? 0 : (int32_t)fuzz_byte(&t->bytes) % 12 - 1;
	carom_result result[2];
	ON_BOTH(t, result, carom_world_set_body_pairs(t->world[w], how % 2, limit));
	const int32_t pair = fuzz_byte(&t->bytes) % 8;
	ON_BOTH(t, result, carom_world_set_body_pair_data(t->world[w], pair, (uint64_t)how));
}

static void set_part_data(twins *t, int how)
{
	const carom_body_id id = any_id(t);
	carom_result result[2];
	uint64_t data[2] = { 0, 0 };
	ON_BOTH(t, result, carom_world_set_part_data(t->world[w], id, how % MOST_PARTS, (uint64_t)how));
	const bool set = result[0] == CAROM_SUCCESS;
	ON_BOTH(t, result, carom_world_get_part_data(t->world[w], id, how % MOST_PARTS, &data[w]));
	FUZZ_REQUIRE(data[0] == data[1] && (!set || data[0] == (uint64_t)how), "part %d", how % MOST_PARTS);
}

// Worlds as small as these have no contacts of the highest numbers: they stand for other calls that hand data back.
static void set_impulse(twins *t)
{
	const int32_t contact = fuzz_byte(&t->bytes);
	if (contact >= 240) {
		set_part_data(t, contact);
		return;
	}
	if (contact >= 200) {
		set_body_pairs(t, contact);
		return;
	}
	const float impulse[3] = { (float)fuzz_number(&t->bytes), 1, 2 };
	carom_result result[2];
	ON_BOTH(t, result, carom_world_set_impulse(t->world[w], contact, impulse));
}

// ---- Recording ----

typedef struct tape {
	uint8_t *bytes;
	size_t size, room, at;
} tape;

static bool write_tape(const void *bytes, size_t count, void *user)
{
	tape *r = user;
	if (count > r->room - r->size) {
		r->room = 2 * (r->size + count);
		r->bytes = realloc(r->bytes, r->room);
		FUZZ_REQUIRE(r->bytes, "out of memory");
	}
	memcpy(r->bytes + r->size, bytes, count);
	r->size += count;
	return true;
}

static bool read_tape(void *bytes, size_t count, void *user)
{
	tape *r = user;
	if (count > r->size - r->at)
		return false;
	memcpy(bytes, r->bytes + r->at, count);
	r->at += count;
	return true;
}

// A recording that was not ended by a lack of memory replays to the same results, in the other context.
static void end_recording(twins *t, tape *r)
{
	const carom_result result = carom_world_record(t->world[0], NULL, NULL);
	FUZZ_REQUIRE(
		result == CAROM_SUCCESS || (t->failing && result == CAROM_INVALID_RECORDING), "%s", carom_error_text(contexts[0]));
	carom_replay_result replayed;
	if (result == CAROM_SUCCESS) {
		FUZZ_REQUIRE(carom_lab_replay_recording(contexts[1], read_tape, r, &replayed) == CAROM_SUCCESS, "%s",
			carom_error_text(contexts[1]));
		FUZZ_REQUIRE(
			replayed.steps == 0 || replayed.hash == carom_world_hash(t->world[0]), "step %lld", (long long)replayed.steps);
	}
}

// ---- Targets ----

static bool play(const uint8_t *data, size_t size, bool failing)
{
	static void (*const calls[])(twins *) = { add_body, add_body, remove_body, set_pose, set_pose, set_filter, set_vertices,
		cast_ray, find_closest_point, find_overlaps, step, step, set_impulse, add_body, reshape, set_traits, set_asleep,
		set_asleep, shift_origin };
	set_up();
	const size_t before[2] = { carom_memory_in_use(contexts[0]), carom_memory_in_use(contexts[1]) };
	twins t = { .failing = failing, .bytes = { data, data + size } };
	make_worlds(&t);
	tape r = { 0 };
	heap.armed = failing;
	const bool recorded = fuzz_byte(&t.bytes) % 2 && carom_world_record(t.world[0], write_tape, &r) == CAROM_SUCCESS;
	heap.armed = false;
	// A recording begins with a world that has forgotten what its pairs remember: here that is nothing.
	while (t.bytes.at < t.bytes.end && t.steps < MOST_STEPS)
		calls[fuzz_choose(&t.bytes, sizeof calls / sizeof calls[0])](&t);
	if (recorded)
		end_recording(&t, &r);
	free(r.bytes);
	for (int w = 0; w < 2; w++) {
		carom_destroy_world(t.world[w]);
		FUZZ_REQUIRE(carom_memory_in_use(contexts[w]) == before[w], "world %d leaves something", w);
	}
	return true;
}

FUZZ(world) { return play(data, size, false); }
FUZZ(failing) { return play(data, size, true); }
