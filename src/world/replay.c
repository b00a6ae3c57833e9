/// Replay of a recording: read record by record, check each, carry it out in a world of its own,
/// compare the hash after each step. The stream may be damaged or made up: nothing in it is
/// believed before it was checked, and memory grows only with bytes that came.
#include "frame/shape_table.h"
#include "base/array.h"
#include "base/radix.h"
#include "world/height_field.h"
#include "world/recording_format.h"
#include "world/world.h"
#include <string.h>

enum {
	READ_PIECE = 1 << 16,
	SPHERE_BYTES = 4 * 8,
	PART_BYTES = 4 + 8 + 8 + 3 * 8 + 4 + 8 + 56, // of a part of a body: shape, rounding, pose
	PART_DATA_BYTES = 8,                         // and since version 15 its number
};

typedef struct replay {
	carom_context *context;
	carom_read_fn *read;
	void *user;
	carom_watch_fn *watch; // NULL: nobody looks
	void *watch_user;
	bool ended; // by watch
	uint64_t check;
	uint32_t version; // of the stream
	int64_t record_number;
	CR_ARRAY(uint8_t) payload;
	int64_t at;                        // next byte of the payload
	bool short_payload;                // more was asked for than there is
	bool out_of_memory;                // while a body was read
	const struct cr_laboratory *tools; // NULL: no laboratory
	carom_world *world;
	bool has_state;
	CR_ARRAY(carom_mesh *) meshes;
	CR_ARRAY(uint64_t) rejected; // pairs of the step: a << 32 | b, sorted
	// contacts of the step: a << 32 | b, and the number in the pair, sorted by both
	CR_ARRAY(cr_key) dropped;
	CR_ARRAY(cr_sphere_drop) sphere_drops;
	CR_ARRAY(carom_body_id) ids;
	CR_ARRAY(carom_pose) poses;
	CR_ARRAY(carom_motion) motions;
	CR_ARRAY(carom_part) parts; // of the body that get_body read last
	CR_ARRAY(double) places[2];
	CR_ARRAY(int32_t) numbers; // of vertices
	carom_replay_result *result;
} replay;

static carom_result damaged(replay *r, const char *what)
{
	return cr_fail(
		r->context, CAROM_INVALID_RECORDING, "carom_replay_recording: record %lld: %s", (long long)r->record_number, what);
}

/// Judge the result of a call on the world: memory may run out, or the laboratory be missing; all
/// else is the recording's fault.
static carom_result judge(replay *r, carom_result result)
{
	if (result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY || result == CAROM_UNSUPPORTED)
		return result;
	return damaged(r, carom_error_text(r->context));
}

// ---- Bytes ----

static bool read_bytes(replay *r, uint8_t *bytes, size_t count)
{
	if (!r->read(bytes, count, r->user))
		return false;
	r->check = cr_check_bytes(r->check, bytes, count);
	return true;
}

static uint64_t get(replay *r, int size)
{
	if (r->payload.count - r->at < size) {
		r->short_payload = true;
		return 0;
	}
	const uint64_t value = cr_load_le(r->payload.data + r->at, size);
	r->at += size;
	return value;
}

static uint32_t get_u32(replay *r) { return (uint32_t)get(r, 4); }
static uint64_t get_u64(replay *r) { return get(r, 8); }

/// A truth value; others than 0 and 1 count as missing.
static bool get_bool(replay *r)
{
	const uint64_t value = get(r, 1);
	r->short_payload = r->short_payload || value > 1;
	return value == 1;
}

static float get_f32(replay *r)
{
	const uint32_t bits = get_u32(r);
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static double get_f64(replay *r)
{
	const uint64_t bits = get_u64(r);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static carom_body_id get_id(replay *r)
{
	const uint32_t index1 = get_u32(r);
	return (carom_body_id){ index1, get_u32(r) };
}

static carom_pose get_pose(replay *r)
{
	double v[7];
	for (int i = 0; i < 7; i++)
		v[i] = get_f64(r);
	return (carom_pose){ { v[0], v[1], v[2] }, { v[3], v[4], v[5], v[6] } };
}

/// A count of things that take at least size bytes each; false when the payload cannot hold them.
static bool get_count(replay *r, int64_t size, int32_t *count)
{
	const uint32_t value = get_u32(r);
	if (r->short_payload || (int64_t)value * size > r->payload.count - r->at)
		return false;
	*count = (int32_t)value;
	return (int64_t)value <= INT32_MAX;
}

/// Was the payload read to its last byte, and no further?
static bool used_up(const replay *r) { return !r->short_payload && r->at == r->payload.count; }

/// Read the next record into the payload.
static carom_result read_record(replay *r, uint32_t *opcode)
{
	uint8_t head[CR_RECORD_HEAD_SIZE], check[CR_RECORD_CHECK_SIZE];
	if (!read_bytes(r, head, sizeof head))
		return damaged(r, "the stream ends without an end mark");
	*opcode = (uint32_t)cr_load_le(head, 4);
	uint64_t left = cr_load_le(head + 4, 8);
	if (*opcode >= CR_RECORD_OPCODES)
		return damaged(r, "unknown kind of record");
	r->payload.count = r->at = 0;
	r->short_payload = false;
	while (left > 0) {
		const int64_t piece = left < READ_PIECE ? (int64_t)left : READ_PIECE;
		if (!cr_array_reserve(r->context, &r->payload, r->payload.count + piece))
			return cr_fail_memory(r->context, "a recording");
		if (!read_bytes(r, r->payload.data + r->payload.count, (size_t)piece))
			return damaged(r, "the stream ends within it");
		r->payload.count += piece;
		left -= (uint64_t)piece;
	}
	const uint64_t expected = r->check;
	if (!read_bytes(r, check, sizeof check))
		return damaged(r, "the stream ends within it");
	return cr_load_le(check, sizeof check) == expected ? CAROM_SUCCESS : damaged(r, "its check sum is wrong");
}

// ---- World, meshes, state ----

static bool is_before(const cr_key *x, const cr_key *y) { return x->key != y->key ? x->key < y->key : x->value < y->value; }

/// The verdicts of the recorded filter: the contacts that it left out are in the record of the
/// step.
static bool replay_verdict(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b;
	const replay *r = user;
	const uint64_t wanted = (uint64_t)(a.index1 - 1) << 32 | (b.index1 - 1);
	int64_t low = 0, high = r->rejected.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (r->rejected.data[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low == r->rejected.count || r->rejected.data[low] != wanted;
}

/// Is a contact of a sphere among those that the filter left out?
static bool is_sphere_dropped(const replay *r, const cr_sphere_drop *wanted)
{
	int64_t low = 0, high = r->sphere_drops.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (cr_compare_sphere_drops(&r->sphere_drops.data[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->sphere_drops.count && cr_compare_sphere_drops(&r->sphere_drops.data[low], wanted) == 0;
}

/// The verdicts of the recorded contact filter.
static bool replay_contact_verdict(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b;
	const replay *r = user;
	const uint64_t a = contact->body_a.index1 - 1 + (uint64_t)contact->shape_a;
	const uint64_t b = contact->body_b.index1 - 1 + (uint64_t)contact->shape_b;
	const cr_body *bodies = r->world->bodies.data;
	if (cr_granular_of(&bodies[a]) || cr_granular_of(&bodies[b])) {
		const int32_t sphere = cr_granular_of(&bodies[a]) ? contact->feature_a : contact->feature_b;
		return !is_sphere_dropped(r, &(cr_sphere_drop){ a << 32 | b, sphere, contact->pair });
	}
	const cr_key wanted = { a << 32 | b, (uint32_t)contact->pair };
	int64_t low = 0, high = r->dropped.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (is_before(&r->dropped.data[middle], &wanted))
			low = middle + 1;
		else
			high = middle;
	}
	return low == r->dropped.count || is_before(&wanted, &r->dropped.data[low]);
}

// Worlds of recordings before version 17 had no contacts of edges beside those of vertices.
static const double NO_LONG_EDGES = 2;

/// Settings of recordings since version 2; before there was one algorithm, in full in every step.
static void get_temporal_settings(replay *r, carom_world_def *def, carom_lab *lab)
{
	if (r->version < 2) {
		def->temporal = CAROM_TEMPORAL_NONE;
		def->contact_normal = CAROM_NORMAL_RAY;
		def->internal_edge_angle = 0;
		return;
	}
	// Two numbers: is anything kept, and is it predictive?
	const uint32_t temporal = get_u32(r);
	const bool predict = get_bool(r);
	def->temporal = (carom_temporal)(temporal + (temporal > 1 || (temporal == 1 && predict)));
	lab->lost_rays = (carom_lost_rays)get_u32(r);
	lab->max_walk = (int32_t)get_u32(r);
	lab->displacement_threshold = get_f64(r);
	lab->distance_extension = get_f64(r);
	def->contact_normal = (carom_contact_normal)get_u32(r);
	def->internal_edge_angle = get_f64(r);
	lab->stages = (carom_stages)get_u32(r);
	lab->ray_buffers = (carom_ray_buffers)get_u32(r);
	lab->ray_predictor = (carom_ray_predictor)get_u32(r);
	lab->buffer_confidence = get_f64(r);
	lab->worker_groups = (int32_t)get_u32(r);
}

/// Settings of recordings since version 3; before it no body deformed.
static void get_sweep_settings(replay *r, carom_sweep_def *def)
{
	if (r->version < 3)
		return;
	def->method = (carom_sweep_method)get_u32(r);
	def->volume = (carom_sweep_volume)get_u32(r);
	def->build = (carom_sweep_build)get_u32(r);
	def->test = (carom_sweep_test)get_u32(r);
	def->tolerance = get_f64(r);
	def->min_separation = get_f64(r);
	def->orphan_sets = get_bool(r);
	def->prune_front = get_bool(r);
	def->rebuild_sprouted = get_f64(r);
	def->rebuild_replaced = get_f64(r);
	def->front_budget = (size_t)get_u64(r);
}

/// Where the methods of a recording are those of the laboratory, which is not here: take the
/// library's own, which find the same contacts. False: they do not.
static bool use_own_methods(carom_lab *lab)
{
	lab->brute_broad_phase = false;
	lab->ray_method = CAROM_RAYS_WIDE;
	lab->stages = CAROM_STAGES_LISTS;
	lab->worker_groups = 0;
	const bool leaves_rays = lab->ray_buffers == CAROM_BUFFERS_IGNORE;
	lab->ray_buffers = CAROM_BUFFERS_EXACT;
	return !leaves_rays;
}

/// As use_own_methods, for the search of impacts. Other values are left for the check.
static bool use_own_sweep(carom_sweep_def *def)
{
	if (def->method == CAROM_SWEEP_PHC || def->method == CAROM_SWEEP_SORT)
		def->method = CAROM_SWEEP_BVH;
	const bool misses_impacts = def->test == CAROM_SWEEP_CUBIC;
	if (misses_impacts)
		def->test = CAROM_SWEEP_CERTIFIED;
	return !misses_impacts;
}

static carom_result create_world(replay *r, const cr_settings *read)
{
	static const char *const name = "carom_replay_recording";
	cr_settings settings = *read;
	// A plugin is code that is not here; its hits are those of the other methods if it is right.
	if (settings.lab.ray_method == CAROM_RAYS_PLUGIN)
		settings.lab.ray_method = CAROM_RAYS_WIDE;
	settings.world.sweep.lab = r->tools ? r->tools->sweep : NULL;
	const bool finds_all = r->tools || use_own_sweep(&settings.world.sweep);
	carom_result result = cr_check_settings(r->context, &settings);
	if (result == CAROM_SUCCESS && !r->tools && (!use_own_methods(&settings.lab) || !finds_all))
		return cr_fail(r->context, CAROM_UNSUPPORTED,
			"%s: the recorded world left %s, which only carom_lab_replay_recording repeats", name,
			finds_all ? "rays out (CAROM_BUFFERS_IGNORE)" : "impacts out (CAROM_SWEEP_CUBIC)");
	return result == CAROM_SUCCESS ? cr_create_world(r->context, &settings, &r->world) : result;
}

static carom_result replay_world(replay *r)
{
	cr_settings settings = { .world = carom_default_world_def(), .lab = cr_plain_lab() };
	carom_world_def *def = &settings.world;
	carom_lab *lab = &settings.lab;
	lab->tools = r->tools;
	const uint32_t broad_phase = get_u32(r);
	lab->brute_broad_phase = broad_phase == CR_RECORD_BRUTE;
	def->broad_phase = lab->brute_broad_phase ? CAROM_BROAD_TREE : (carom_broad_phase)broad_phase;
	lab->ray_method = (carom_ray_method)get_u32(r);
	def->max_contacts_per_pair = (int32_t)get_u32(r);
	lab->complete = get_bool(r);
	lab->exit_distance_test = get_bool(r);
	lab->max_depth_ratio = get_f64(r);
	def->speculative_distance = get_f64(r);
	def->match_distance = get_f64(r);
	get_temporal_settings(r, def, lab);
	settings.predict = def->temporal == CAROM_TEMPORAL_PREDICTIVE;
	get_sweep_settings(r, &def->sweep);
	if (r->version >= 6)
		def->toi_tolerance = get_f64(r);
	if (r->version >= 14) {
		settings.max_contacts_per_body_pair = (int32_t)get_u32(r);
		settings.body_pairs = get_bool(r);
	}
	def->long_edge_share = r->version >= 17 ? get_f64(r) : NO_LONG_EDGES;
	def->pair_filter = replay_verdict;
	def->contact_filter = replay_contact_verdict;
	def->filter_user = r;
	if (!used_up(r) || r->world)
		return damaged(r, r->world ? "a second world" : "its size is wrong");
	return judge(r, create_world(r, &settings));
}

static carom_result make_mesh(replay *r, const carom_mesh_def *def)
{
	if (!cr_array_reserve(r->context, &r->meshes, r->meshes.count + 1))
		return cr_fail_memory(r->context, "a recording");
	carom_mesh *mesh;
	const carom_result result = carom_create_mesh(r->context, def, NULL, &mesh);
	if (result == CAROM_SUCCESS)
		r->meshes.data[r->meshes.count++] = mesh;
	return judge(r, result);
}

static carom_result replay_mesh(replay *r)
{
	const uint32_t vertex_count = get_u32(r), triangle_count = get_u32(r), all = get_u32(r);
	const uint32_t build = r->version >= 19 ? all >> CR_RECORD_BUILD_SHIFT : (uint32_t)CAROM_MESH_SAH;
	const uint32_t grid_and_sides = r->version >= 19 ? all & ((1u << CR_RECORD_BUILD_SHIFT) - 1) : all;
	const bool has_materials = r->version >= 4 && (grid_and_sides & CR_RECORD_HAS_MATERIALS);
	// Of each triangle: its corners, and its material behind the corners of all.
	const int64_t of_triangle = has_materials ? 4 : 3, numbers = 3 * (int64_t)vertex_count + of_triangle * triangle_count;
	if (r->short_payload || vertex_count > INT32_MAX || triangle_count > INT32_MAX || 4 * numbers != r->payload.count - r->at)
		return damaged(r, "its size is wrong");
	const size_t vertex_bytes = 12 * (size_t)vertex_count, triangle_bytes = 4 * (size_t)(of_triangle * triangle_count);
	float *vertices = cr_alloc(r->context, vertex_bytes);
	int32_t *triangles = cr_alloc(r->context, triangle_bytes);
	carom_result result;
	if ((!vertices && vertex_count > 0) || (!triangles && triangle_count > 0)) {
		result = cr_fail_memory(r->context, "a recording");
	} else {
		for (int64_t i = 0; i < 3 * (int64_t)vertex_count; i++)
			vertices[i] = get_f32(r);
		for (int64_t i = 0; i < of_triangle * triangle_count; i++)
			triangles[i] = (int32_t)get_u32(r);
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
		def.vertex_count = (int32_t)vertex_count;
		def.triangles = triangles;
		def.triangle_count = (int32_t)triangle_count;
		def.grid_resolution = (int32_t)(grid_and_sides & 0xffff);
		def.sides = (carom_mesh_sides)((has_materials ? grid_and_sides & ~CR_RECORD_HAS_MATERIALS : grid_and_sides) >> 16);
		def.build = (carom_mesh_build)build;
		def.materials = has_materials ? (const uint32_t *)(triangles + 3 * (int64_t)triangle_count) : NULL;
		result = make_mesh(r, &def);
	}
	cr_free(r->context, vertices, vertex_bytes);
	cr_free(r->context, triangles, triangle_bytes);
	return result;
}

/// Give a hull or field the materials that its record ends with, count if there are any.
static carom_result paint(replay *r, int64_t count, carom_mesh **mesh)
{
	const int64_t left = r->payload.count - r->at;
	if (left == 0)
		return CAROM_SUCCESS;
	if (left != 4 * count || r->version < 20)
		return damaged(r, "its size is wrong, or its version has no materials of hulls");
	const size_t bytes = (size_t)left;
	uint32_t *materials = cr_alloc(r->context, bytes);
	if (!materials)
		return cr_fail_memory(r->context, "a recording");
	for (int64_t i = 0; i < count; i++)
		materials[i] = get_u32(r);
	carom_mesh *painted;
	const carom_result result = carom_create_painted_mesh(r->context, *mesh, materials, (int32_t)count, &painted);
	cr_free(r->context, materials, bytes);
	if (result != CAROM_SUCCESS)
		return judge(r, result);
	carom_release_mesh(*mesh);
	*mesh = painted;
	return CAROM_SUCCESS;
}

/// Room for one more mesh, and count numbers of its record, which holds so many. NULL: out of
/// memory. Free them.
static float *get_floats(replay *r, int64_t count)
{
	float *numbers = cr_alloc(r->context, (size_t)count * sizeof *numbers);
	if (!numbers || !cr_array_reserve(r->context, &r->meshes, r->meshes.count + 1)) {
		cr_free(r->context, numbers, (size_t)count * sizeof *numbers);
		return NULL;
	}
	for (int64_t i = 0; i < count; i++)
		numbers[i] = get_f32(r);
	return numbers;
}

/// A hull, of the vertices of the recorded one: the hull of these is that hull again.
static carom_result replay_hull(replay *r)
{
	const uint32_t vertex_count = get_u32(r);
	if (r->short_payload || vertex_count > INT32_MAX || 12 * (int64_t)vertex_count > r->payload.count - r->at || r->version < 4)
		return damaged(r, "its size is wrong, or its version has no such record");
	float *vertices = get_floats(r, 3 * (int64_t)vertex_count);
	if (!vertices)
		return cr_fail_memory(r->context, "a recording");
	carom_mesh *mesh;
	const carom_strided points = { vertices, 0, CAROM_FLOAT32 };
	carom_result result = judge(r, carom_create_hull(r->context, &points, (int32_t)vertex_count, &mesh));
	cr_free(r->context, vertices, 3 * (size_t)vertex_count * sizeof *vertices);
	if (result != CAROM_SUCCESS)
		return result;
	result = paint(r, mesh->topology.triangle_count, &mesh);
	r->meshes.data[r->meshes.count++] = mesh;
	return result;
}

/// A height field, which has the trees that it had.
static carom_result replay_field(replay *r)
{
	cr_field_plan plan = { .columns = (int32_t)get_u32(r), .rows = 0 };
	plan.rows = (int32_t)get_u32(r);
	double spacing[2];
	for (int k = 0; k < 2; k++)
		spacing[k] = get_f64(r);
	plan.spacing = spacing;
	plan.bottom = get_f64(r);
	const int64_t samples = plan.columns > 0 && plan.rows > 0 ? (int64_t)plan.columns * plan.rows : 0;
	if (r->short_payload || samples == 0 || samples > (r->payload.count - r->at) / 4 || r->version < 21)
		return damaged(r, "its size is wrong, or its version has no such record");
	float *heights = get_floats(r, samples);
	if (!heights)
		return cr_fail_memory(r->context, "a recording");
	plan.heights = heights;
	carom_mesh *mesh;
	carom_result result = judge(r, cr_restore_field(r->context, &plan, &mesh));
	cr_free(r->context, heights, (size_t)samples * sizeof *heights);
	if (result != CAROM_SUCCESS)
		return result;
	result = paint(r, cr_surface_triangles(&mesh->field), &mesh);
	r->meshes.data[r->meshes.count++] = mesh;
	return result;
}

/// Reads a shape up to its mesh, which is the result.
static uint32_t get_shape(replay *r, carom_shape *shape)
{
	*shape = (carom_shape){ .type = (carom_shape_type)get_u32(r) };
	shape->radius = get_f64(r);
	shape->half_length = get_f64(r);
	for (int k = 0; k < 3; k++)
		shape->half_extents[k] = get_f64(r);
	return get_u32(r);
}

/// Gives a shape its mesh, if it has one. Returns false when there is no mesh of this number.
static bool set_mesh(const replay *r, carom_shape *shape, uint32_t mesh)
{
	if (!cr_has_mesh(shape))
		return true;
	if (mesh >= r->meshes.count)
		return false;
	shape->mesh = r->meshes.data[mesh];
	return true;
}

/// Reads the rounding of a shape. Earlier versions did not use that of some types.
static void get_rounding(replay *r, carom_shape *shape)
{
	const bool was_used =
		shape->type != CAROM_SPHERE && shape->type != CAROM_CAPSULE && shape->type != CAROM_PLANE && shape->type != CAROM_MESH;
	shape->rounding = get_f64(r);
	if (r->version < 19 && !was_used)
		shape->rounding = 0;
}

/// Reads the parts of a body into r->parts. Returns false when a field is out of range or memory
/// ran out.
static bool get_parts(replay *r, carom_body_def *def)
{
	int32_t count;
	const bool have_data = r->version >= 15;
	if (!get_count(r, PART_BYTES + (have_data ? PART_DATA_BYTES : 0), &count))
		return false;
	if (!cr_array_reserve(r->context, &r->parts, count)) {
		r->out_of_memory = true;
		return false;
	}
	for (int32_t i = 0; i < count; i++) {
		carom_part *part = &r->parts.data[i];
		const uint32_t mesh = get_shape(r, &part->shape);
		get_rounding(r, &part->shape);
		part->pose = get_pose(r);
		part->user_data = have_data ? get_u64(r) : 0;
		if (!set_mesh(r, &part->shape, mesh))
			return false;
	}
	def->parts = count > 0 ? r->parts.data : NULL;
	def->part_count = count;
	return true;
}

/// The error of a call that could not read a body.
static carom_result refuse_body(replay *r)
{
	return r->out_of_memory ? cr_fail_memory(r->context, "a recording") : damaged(r, "a body with a field out of range");
}

/// Reads spheres. The views show them until the next places are read. False as get_parts.
static bool get_spheres(replay *r, int32_t *count, carom_strided *centres, carom_strided *radii)
{
	if (!get_count(r, SPHERE_BYTES, count))
		return false;
	if (!cr_array_reserve(r->context, &r->places[0], 4 * (int64_t)*count + 1)) {
		r->out_of_memory = true;
		return false;
	}
	for (int64_t i = 0; i < 4 * (int64_t)*count; i++)
		r->places[0].data[i] = get_f64(r);
	*centres = (carom_strided){ r->places[0].data, 4 * sizeof(double), CAROM_FLOAT64 };
	*radii = (carom_strided){ r->places[0].data + 3, 4 * sizeof(double), CAROM_FLOAT64 };
	return true;
}

/// False when a field has a value that the type of the field cannot hold (refuse_body). Ranges are
/// the world's to check.
static bool get_body(replay *r, carom_body_def *def)
{
	*def = carom_default_body_def();
	const uint32_t mesh = get_shape(r, &def->shape);
	def->kind = (carom_body_kind)get_u32(r);
	def->pose = get_pose(r);
	def->category = get_u64(r);
	def->mask = get_u64(r);
	def->group = (int32_t)get_u32(r);
	def->sensor = get_bool(r);
	def->user_data = get_u64(r);
	if (r->version >= 3)
		def->self_collision = get_bool(r);
	if (r->version >= 4)
		get_rounding(r, &def->shape);
	if (!set_mesh(r, &def->shape, mesh) || (r->version >= 5 && !get_parts(r, def)))
		return false;
	if (r->version >= 19 && def->part_count > 0)
		def->part_room = (int32_t)get_u32(r);
	if (r->version >= 6)
		def->continuous = get_bool(r);
	def->contacts = r->version >= 7 ? get_bool(r) : def->kind != CAROM_DEFORMABLE;
	def->shape_impacts = r->version >= 8 && get_bool(r);
	def->thickness = r->version >= 9 ? get_f64(r) : 0;
	if (r->version >= 10 && def->kind == CAROM_GRANULAR && !get_spheres(r, &def->sphere_count, &def->centres, &def->radii))
		return false;
	return !r->short_payload;
}

/// Read count places of vertices. *view shows them until the next read into the same list.
static carom_result get_places(replay *r, int list, int32_t count, carom_strided *view)
{
	if (24 * (int64_t)count > r->payload.count - r->at)
		return damaged(r, "its size is wrong");
	if (!cr_array_reserve(r->context, &r->places[list], 3 * (int64_t)count))
		return cr_fail_memory(r->context, "a recording");
	for (int64_t i = 0; i < 3 * (int64_t)count; i++)
		r->places[list].data[i] = get_f64(r);
	*view = (carom_strided){ r->places[list].data, 0, CAROM_FLOAT64 };
	return CAROM_SUCCESS;
}

static carom_result replay_deforming_motion(replay *r, int32_t index, carom_body_id id, bool moved)
{
	const int32_t count = cr_deforming_of(&r->world->bodies.data[index])->surface.vertex_count;
	carom_strided begin, end;
	carom_result result = get_places(r, 0, count, &end);
	if (result == CAROM_SUCCESS && moved)
		result = get_places(r, 1, count, &begin);
	if (result != CAROM_SUCCESS)
		return result;
	// At rest it is put where it ended.
	return judge(
		r, moved ? carom_world_set_vertices(r->world, id, &begin, &end) : carom_world_set_vertices(r->world, id, &end, NULL));
}

/// Read the pose of a part of a body at another time than now.
static carom_result get_part_pose(replay *r, const cr_body *body, carom_pose *pose)
{
	*pose = get_pose(r);
	carom_pose checked = *pose;
	if (cr_compound_of(body)) // a part may lie beyond CAROM_MAX_POSITION, by less than that
		checked.position = v3d_scale(pose->position, 0.5);
	return judge(r, cr_check_pose(r->context, &checked, "carom_world_set_pose", "pose", &checked));
}

/// The motion of a body that was pending when the recording began. Before version 3 that was
/// nothing.
static carom_result replay_motion(replay *r, int32_t index, carom_body_id id)
{
	if (r->version < 3)
		return CAROM_SUCCESS;
	const bool moved = get_bool(r);
	cr_body *body = &r->world->bodies.data[index];
	if (cr_deforming_of(body))
		return replay_deforming_motion(r, index, id, moved);
	if (!moved)
		return CAROM_SUCCESS;
	if (!cr_reserve_courses(&r->world->memory, &r->world->courses, cr_part_count(body)))
		return cr_fail_memory(r->context, "a body that moves");
	cr_leave_pose(&r->world->courses, body);
	for (int32_t i = 0; i < cr_part_count(body); i++) {
		const carom_result result = get_part_pose(r, body, &body[i].course->last);
		if (result != CAROM_SUCCESS)
			return result;
	}
	const bool has_begin = r->version >= 6 && get_bool(r);
	for (int32_t i = 0; has_begin && i < cr_part_count(body); i++) {
		const carom_result result = get_part_pose(r, body, &body[i].course->begin);
		if (result != CAROM_SUCCESS)
			return result;
		body[i].course->has_begin = true;
	}
	return CAROM_SUCCESS;
}

/// Is the body asleep, and has a call changed it since the last step? Before version 17 none was
/// asleep.
static carom_result replay_rest(replay *r, int32_t first)
{
	cr_body *body = &r->world->bodies.data[first];
	if (r->version < 17)
		return CAROM_SUCCESS;
	const bool asleep = get_bool(r), changed = get_bool(r);
	if (r->short_payload || (asleep && body->kind != CAROM_DYNAMIC && body->kind != CAROM_KINEMATIC))
		return damaged(r, "a body asleep that cannot sleep, or its size is wrong");
	for (int32_t i = 0; i < cr_part_count(body); i++) {
		body[i].asleep = asleep;
		body[i].changed = changed;
	}
	r->world->sleep.count += asleep;
	return CAROM_SUCCESS;
}

/// Recorded poses are normalised; once more could change their last bits.
static void take_poses(cr_courses *courses, cr_body *body, const carom_body_def *def)
{
	for (int32_t i = 0; i < def->part_count; i++)
		cr_compound_of(body)->part[i].pose = def->parts[i].pose;
	cr_place_body(body, &def->pose);
	cr_rest_body(courses, body);
}

/// Read a number and the entry under it, up to the body.
static carom_result get_slot(replay *r, int32_t index, uint32_t *kind)
{
	const uint32_t generation = get_u32(r);
	*kind = (uint32_t)get(r, 1);
	if (r->short_payload || generation == 0 || *kind > (r->version >= 5 ? CR_RECORD_FURTHER_PART : CR_RECORD_BODY))
		return damaged(r, "a body without generation, or neither there nor not");
	r->world->bodies.data[index].generation = generation;
	return CAROM_SUCCESS;
}

/// Fill the numbers of one body, or one that is free: by adding the body when these are the only
/// free ones. *index: the next one.
static carom_result replay_slot(replay *r, int32_t *index)
{
	carom_world *world = r->world;
	const int32_t first = (*index)++;
	uint32_t kind;
	carom_result result = get_slot(r, first, &kind);
	if (result != CAROM_SUCCESS || kind == CR_RECORD_NO_BODY)
		return result;
	carom_body_def def;
	if (kind == CR_RECORD_FURTHER_PART)
		return damaged(r, "a part without its body");
	if (!get_body(r, &def))
		return refuse_body(r);
	const int32_t count = cr_def_parts(&def), numbers = cr_def_numbers(&def);
	if (numbers > world->bodies.count - first)
		return damaged(r, "a body with more parts than there are numbers");
	// So that its numbers are found: of one part in one list, of more in the other, which has room
	// for one.
	world->free_bodies.count = world->free_ranges.count = 0;
	cr_free_numbers(world, first, numbers);
	carom_body_id id;
	result = carom_world_add_body(world, &def, &id);
	world->free_bodies.count = world->free_ranges.count = 0;
	if (result != CAROM_SUCCESS)
		return judge(r, result);
	cr_body *body = &world->bodies.data[first];
	take_poses(&r->world->courses, body, &def);
	result = replay_motion(r, first, id);
	if (result == CAROM_SUCCESS)
		result = replay_rest(r, first);
	while (result == CAROM_SUCCESS && *index < first + numbers) {
		result = get_slot(r, *index, &kind);
		if (result == CAROM_SUCCESS && kind != (*index < first + count ? CR_RECORD_FURTHER_PART : CR_RECORD_NO_BODY))
			result = damaged(r, "a body whose parts are not side by side");
		// Those that it keeps for more parts are not among the free ones.
		if (*index >= first + count)
			world->bodies.data[*index].moved = false;
		(*index)++;
	}
	return result;
}

/// Note a number that is to be used again. moved marks numbers not noted yet: every slot of the new
/// world was set to it. Returns whether it was free.
static bool note_free(carom_world *world, int64_t index)
{
	if (index >= world->bodies.count || world->bodies.data[index].alive || !world->bodies.data[index].moved)
		return false;
	world->bodies.data[index].moved = false;
	return true;
}

static carom_result replay_free_ranges(replay *r)
{
	carom_world *world = r->world;
	int32_t count;
	if (!get_count(r, 8, &count) || count > (world->bodies.count + 1) / 2)
		return damaged(r, "the list of free ranges is too long");
	int64_t end = -1; // of the last one
	for (int32_t i = 0; i < count; i++) {
		const int64_t first = get_u32(r), length = get_u32(r);
		bool is_free = first > end && length > 0 && length <= world->bodies.count;
		for (int64_t k = 0; k < length && is_free; k++)
			is_free = note_free(world, first + k);
		if (!is_free)
			return damaged(r, "the list of free ranges names a body that is not free, or twice");
		end = first + length;
		world->free_ranges.data[world->free_ranges.count++] = (cr_range){ (int32_t)first, (int32_t)length };
	}
	return CAROM_SUCCESS;
}

/// The numbers to use again: every dead slot once, in the order of the recorded world.
static carom_result replay_free_list(replay *r)
{
	carom_world *world = r->world;
	int32_t count;
	const int64_t dead = world->bodies.count - world->shape_count;
	if (!get_count(r, 4, &count) || count > dead || (r->version < 5 && count < dead))
		return damaged(r, "the list of free bodies has the wrong length");
	for (int32_t i = 0; i < count; i++) {
		const uint32_t index = get_u32(r);
		if (!note_free(world, index))
			return damaged(r, "the list of free bodies names a body that is not free, or twice");
		world->free_bodies.data[world->free_bodies.count++] = (int32_t)index;
	}
	const carom_result result = r->version >= 5 ? replay_free_ranges(r) : CAROM_SUCCESS;
	if (result != CAROM_SUCCESS)
		return result;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		cr_body *body = &world->bodies.data[i];
		if (!body->alive && body->moved)
			return damaged(r, "the lists of free bodies lack one");
		body->moved = body->moved || !body->alive;
	}
	return used_up(r) ? CAROM_SUCCESS : damaged(r, "its size is wrong");
}

static carom_result replay_state(replay *r)
{
	carom_world *world = r->world;
	int32_t count;
	if (r->has_state || !get_count(r, 5, &count))
		return damaged(r, r->has_state ? "a second state" : "its size is wrong");
	if (!cr_array_reserve(&world->memory, &world->bodies, count) ||
		!cr_reserve_changes(&world->memory, &world->changes, count) ||
		!cr_array_reserve(&world->memory, &world->free_bodies, count) ||
		!cr_array_reserve(&world->memory, &world->free_ranges, (count + (int64_t)1) / 2))
		return cr_fail_memory(r->context, "a recording");
	r->has_state = true;
	for (int32_t i = 0; i < count; i++)
		world->bodies.data[i] = (cr_body){ .generation = 1, .moved = true };
	world->bodies.count = count;
	cr_add_all_changes(&world->changes, count);
	for (int32_t i = 0; i < count;) {
		const carom_result result = replay_slot(r, &i);
		if (result != CAROM_SUCCESS)
			return result;
	}
	cr_forget_ways(world);
	return replay_free_list(r);
}

// ---- Calls ----

static carom_result replay_add_body(replay *r)
{
	carom_body_def def;
	carom_body_id id;
	if (!get_body(r, &def))
		return refuse_body(r);
	const carom_body_id recorded = get_id(r);
	if (!used_up(r))
		return damaged(r, "its size is wrong");
	const carom_result result = carom_world_add_body(r->world, &def, &id);
	if (result != CAROM_SUCCESS)
		return judge(r, result);
	if (id.index1 != recorded.index1 || id.generation != recorded.generation)
		return damaged(r, "the body got another id than in the recorded world");
	return CAROM_SUCCESS;
}

static carom_result replay_add_body_with_id(replay *r)
{
	carom_body_def def;
	if (!get_body(r, &def))
		return refuse_body(r);
	const carom_body_id id = get_id(r);
	if (!used_up(r) || r->version < 21)
		return damaged(r, "its size is wrong, or its version has no such record");
	return judge(r, carom_world_add_body_with_id(r->world, &def, id));
}

static carom_result replay_remove_body(replay *r)
{
	const carom_body_id id = get_id(r);
	return used_up(r) ? judge(r, carom_world_remove_body(r->world, id)) : damaged(r, "its size is wrong");
}

static carom_result replay_set_poses(replay *r)
{
	int32_t count;
	if (!get_count(r, 8 + 56, &count))
		return damaged(r, "its size is wrong");
	if (!cr_array_reserve(r->context, &r->ids, count) || !cr_array_reserve(r->context, &r->poses, count))
		return cr_fail_memory(r->context, "a recording");
	for (int32_t i = 0; i < count; i++) {
		r->ids.data[i] = get_id(r);
		r->poses.data[i] = get_pose(r);
	}
	return used_up(r) ? judge(r, carom_world_set_poses(r->world, count, r->ids.data, r->poses.data))
					  : damaged(r, "its size is wrong");
}

static carom_result replay_set_motions(replay *r)
{
	int32_t count;
	if (r->version < 6 || !get_count(r, 8 + 2 * 56, &count))
		return damaged(r, "its size is wrong, or its version has no such record");
	if (!cr_array_reserve(r->context, &r->ids, count) || !cr_array_reserve(r->context, &r->motions, count))
		return cr_fail_memory(r->context, "a recording");
	for (int32_t i = 0; i < count; i++) {
		r->ids.data[i] = get_id(r);
		r->motions.data[i].begin = get_pose(r);
		r->motions.data[i].end = get_pose(r);
	}
	return used_up(r) ? judge(r, carom_world_set_motions(r->world, count, r->ids.data, r->motions.data))
					  : damaged(r, "its size is wrong");
}

static carom_result replay_set_vertices(replay *r)
{
	const carom_body_id id = get_id(r);
	const uint32_t given = get_u32(r), count = get_u32(r);
	if (r->short_payload || r->version < 3 || given > (CR_RECORD_HAS_BEGIN | CR_RECORD_HAS_END) || count > INT32_MAX)
		return damaged(r, "its size is wrong, or its version has no such record");
	const cr_body *body = cr_find_body_const(r->world, id, "carom_world_set_vertices");
	if (!body)
		return judge(r, CAROM_INVALID_BODY);
	if (cr_deforming_of(body) && cr_deforming_of(body)->surface.vertex_count != (int32_t)count)
		return damaged(r, "the body has another number of vertices");
	const bool has_begin = given & CR_RECORD_HAS_BEGIN, has_end = given & CR_RECORD_HAS_END;
	carom_strided begin, end;
	carom_result result = has_begin ? get_places(r, 0, (int32_t)count, &begin) : CAROM_SUCCESS;
	if (result == CAROM_SUCCESS && has_end)
		result = get_places(r, 1, (int32_t)count, &end);
	if (result != CAROM_SUCCESS)
		return result;
	if (!used_up(r))
		return damaged(r, "its size is wrong");
	return judge(r, carom_world_set_vertices(r->world, id, has_begin ? &begin : NULL, has_end ? &end : NULL));
}

static carom_result replay_set_spheres(replay *r)
{
	const carom_body_id id = get_id(r);
	int32_t count;
	carom_strided centres, radii;
	if (r->version < 10)
		return damaged(r, "its version has no such record");
	if (!get_spheres(r, &count, &centres, &radii))
		return r->out_of_memory ? cr_fail_memory(r->context, "a recording") : damaged(r, "its size is wrong");
	return used_up(r) ? judge(r, carom_world_set_spheres(r->world, id, count, &centres, &radii))
					  : damaged(r, "its size is wrong");
}

static carom_result replay_set_spheres_by_id(replay *r)
{
	const carom_body_id id = get_id(r);
	int32_t count;
	carom_strided centres, radii;
	if (r->version < 18)
		return damaged(r, "its version has no such record");
	if (!get_spheres(r, &count, &centres, &radii))
		return r->out_of_memory ? cr_fail_memory(r->context, "a recording") : damaged(r, "its size is wrong");
	const size_t bytes = ((size_t)count + 1) * sizeof(uint64_t);
	uint64_t *ids = cr_alloc(r->context, bytes);
	if (!ids)
		return cr_fail_memory(r->context, "a recording");
	for (int32_t i = 0; i < count; i++)
		ids[i] = get_u64(r);
	const carom_result result = used_up(r) ? judge(r, carom_world_set_spheres_by_id(r->world, id, count, &centres, &radii, ids))
										   : damaged(r, "its size is wrong");
	cr_free(r->context, ids, bytes);
	return result;
}

static carom_result replay_set_sphere_begins(replay *r)
{
	const carom_body_id id = get_id(r);
	const uint32_t count = get_u32(r);
	if (r->short_payload || r->version < 13)
		return damaged(r, "its size is wrong, or its version has no such record");
	const cr_body *body = cr_find_body_const(r->world, id, "carom_world_set_sphere_begins");
	if (!body)
		return judge(r, CAROM_INVALID_BODY);
	if (cr_granular_of(body) && cr_granular_of(body)->count != (int64_t)count)
		return damaged(r, "the body has another number of spheres");
	carom_strided begins;
	const carom_result result = get_places(r, 0, cr_granular_of(body) ? (int32_t)count : 0, &begins);
	if (result != CAROM_SUCCESS)
		return result;
	return used_up(r) ? judge(r, carom_world_set_sphere_begins(r->world, id, &begins)) : damaged(r, "its size is wrong");
}

static carom_result replay_set_user_data(replay *r)
{
	const carom_body_id id = get_id(r);
	const uint64_t user_data = get_u64(r);
	return used_up(r) ? judge(r, carom_world_set_user_data(r->world, id, user_data)) : damaged(r, "its size is wrong");
}

static carom_result replay_set_part_data(replay *r)
{
	const carom_body_id id = get_id(r);
	const int32_t part = (int32_t)get_u32(r);
	const uint64_t user_data = get_u64(r);
	if (!used_up(r) || r->version < 15)
		return damaged(r, "its size is wrong, or its version has no such record");
	return judge(r, carom_world_set_part_data(r->world, id, part, user_data));
}

static carom_result replay_set_filter(replay *r)
{
	const carom_body_id id = get_id(r);
	const uint64_t category = get_u64(r), mask = get_u64(r);
	const int32_t group = (int32_t)get_u32(r);
	return used_up(r) ? judge(r, carom_world_set_filter(r->world, id, category, mask, group)) : damaged(r, "its size is wrong");
}

static carom_result replay_set_traits(replay *r)
{
	const carom_body_id id = get_id(r);
	carom_body_def traits = carom_default_body_def();
	traits.kind = (carom_body_kind)get_u32(r);
	traits.sensor = get_bool(r);
	traits.self_collision = get_bool(r);
	traits.continuous = get_bool(r);
	traits.contacts = get_bool(r);
	traits.shape_impacts = get_bool(r);
	traits.thickness = get_f64(r);
	if (!used_up(r) || r->version < 16)
		return damaged(r, "its size is wrong, or its version has no such record");
	return judge(r, carom_world_set_traits(r->world, id, &traits));
}

static carom_result replay_shift_origin(replay *r)
{
	double offset[3];
	for (int k = 0; k < 3; k++)
		offset[k] = get_f64(r);
	if (!used_up(r) || r->version < 17)
		return damaged(r, "its size is wrong, or its version has no such record");
	return judge(r, carom_world_shift_origin(r->world, offset));
}

static carom_result replay_set_asleep(replay *r)
{
	int32_t count;
	if (r->version < 17 || !get_count(r, 8, &count))
		return damaged(r, "its size is wrong, or its version has no such record");
	const bool asleep = get_bool(r);
	if (!cr_array_reserve(r->context, &r->ids, count))
		return cr_fail_memory(r->context, "a recording");
	for (int32_t i = 0; i < count; i++)
		r->ids.data[i] = get_id(r);
	return used_up(r) ? judge(r, carom_world_set_asleep(r->world, count, r->ids.data, asleep)) : damaged(r, "its size is wrong");
}

static carom_result replay_set_shape(replay *r)
{
	const carom_body_id id = get_id(r);
	carom_shape shape;
	const uint32_t mesh = get_shape(r, &shape);
	get_rounding(r, &shape);
	if (!used_up(r) || r->version < 6 || !set_mesh(r, &shape, mesh))
		return damaged(r, "a shape with a field out of range, or its version has no such record");
	return judge(r, carom_world_set_shape(r->world, id, &shape));
}

static carom_result replay_set_parts(replay *r)
{
	const carom_body_id id = get_id(r);
	carom_body_def def;
	if (r->version < 6 || !get_parts(r, &def))
		return refuse_body(r);
	if (!used_up(r))
		return damaged(r, "its size is wrong");
	return judge(r, carom_world_set_parts(r->world, id, def.parts, def.part_count));
}

static carom_result replay_set_mesh(replay *r)
{
	const carom_body_id id = get_id(r);
	const uint32_t mesh = get_u32(r), count = get_u32(r);
	const bool has_places = get_bool(r);
	if (r->short_payload || r->version < 6 || mesh >= r->meshes.count ||
		count != (uint32_t)r->meshes.data[mesh]->topology.vertex_count || 4 * (int64_t)count > r->payload.count - r->at)
		return damaged(r, "a mesh with a field out of range, or its version has no such record");
	if (!cr_array_reserve(r->context, &r->numbers, (int64_t)count) ||
		!cr_array_reserve(r->context, &r->places[0], 3 * (int64_t)count))
		return cr_fail_memory(r->context, "a recording");
	for (int64_t i = 0; i < (int64_t)count; i++) {
		r->numbers.data[i] = (int32_t)get_u32(r);
		const bool is_given = has_places && r->numbers.data[i] < 0;
		for (int k = 0; k < 3; k++)
			r->places[0].data[3 * i + k] = is_given ? get_f64(r) : 0;
	}
	if (!used_up(r))
		return damaged(r, "its size is wrong");
	const carom_strided places = { r->places[0].data, 0, CAROM_FLOAT64 };
	return judge(r, carom_world_set_mesh(r->world, id, r->meshes.data[mesh], r->numbers.data, has_places ? &places : NULL));
}

static carom_result replay_set_impulse(replay *r)
{
	const int32_t contact = (int32_t)get_u32(r);
	float impulse[3];
	for (int k = 0; k < 3; k++)
		impulse[k] = get_f32(r);
	return used_up(r) ? judge(r, carom_world_set_impulse(r->world, contact, impulse)) : damaged(r, "its size is wrong");
}

static carom_result replay_set_listed_impulse(replay *r)
{
	static carom_result (*const calls[])(carom_world *, int64_t, const float[3]) = {
		[CR_IMPULSE_OF_SURFACE] = carom_world_set_surface_impulse,
		[CR_IMPULSE_OF_SURFACE_SHAPE] = carom_world_set_surface_shape_impulse,
		[CR_IMPULSE_OF_SPHERE] = carom_world_set_sphere_impulse,
	};
	const uint32_t list = get_u32(r);
	const int32_t contact = (int32_t)get_u32(r);
	float impulse[3];
	for (int k = 0; k < 3; k++)
		impulse[k] = get_f32(r);
	if (!used_up(r) || r->version < 12)
		return damaged(r, "its size is wrong, or its version has no such record");
	if (list < CR_IMPULSE_OF_SURFACE || list > CR_IMPULSE_OF_SPHERE)
		return damaged(r, "there is no such list of contacts");
	return judge(r, calls[list](r->world, contact, impulse));
}

static carom_result replay_set_body_pairs(replay *r)
{
	const int32_t max_contacts = (int32_t)get_u32(r);
	const bool listed = get_bool(r);
	if (!used_up(r) || r->version < 14)
		return damaged(r, "its size is wrong, or its version has no such record");
	return judge(r, carom_world_set_body_pairs(r->world, listed, max_contacts));
}

static carom_result replay_set_body_pair_data(replay *r)
{
	const int32_t pair = (int32_t)get_u32(r);
	const uint64_t user_data = get_u64(r);
	if (!used_up(r) || r->version < 14)
		return damaged(r, "its size is wrong, or its version has no such record");
	return judge(r, carom_world_set_body_pair_data(r->world, pair, user_data));
}

static carom_result replay_set_pair_data(replay *r)
{
	const int32_t pair = (int32_t)get_u32(r);
	const uint64_t user_data = get_u64(r);
	if (!used_up(r) || r->version < 4)
		return damaged(r, "its size is wrong, or its version has no such record");
	return judge(r, carom_world_set_pair_data(r->world, pair, user_data));
}

static carom_result get_rejections(replay *r)
{
	int32_t count;
	if (!get_count(r, 8, &count))
		return damaged(r, "its size is wrong");
	if (!cr_array_reserve(r->context, &r->rejected, count))
		return cr_fail_memory(r->context, "a recording");
	r->rejected.count = 0;
	for (int32_t i = 0; i < count; i++) {
		const uint64_t a = get_u32(r), b = get_u32(r), pair = a << 32 | b;
		if (a >= b || (i > 0 && r->rejected.data[i - 1] >= pair))
			return damaged(r, "the pairs that the filter left out are not in order");
		r->rejected.data[r->rejected.count++] = pair;
	}
	return CAROM_SUCCESS;
}

/// Before version 6 there were none. Those within a body are surface contacts.
static carom_result get_drops(replay *r)
{
	int32_t count;
	r->dropped.count = 0;
	if (r->version < 6)
		return CAROM_SUCCESS;
	if (!get_count(r, 12, &count))
		return damaged(r, "its size is wrong");
	if (!cr_array_reserve(r->context, &r->dropped, count))
		return cr_fail_memory(r->context, "a recording");
	for (int32_t i = 0; i < count; i++) {
		const uint64_t a = get_u32(r), b = get_u32(r);
		const cr_key drop = { a << 32 | b, get_u32(r) };
		if (a > b || (i > 0 && !is_before(&r->dropped.data[i - 1], &drop)))
			return damaged(r, "the contacts that the filter left out are not in order");
		r->dropped.data[r->dropped.count++] = drop;
	}
	return CAROM_SUCCESS;
}

/// Before version 12 there were none.
static carom_result get_sphere_drops(replay *r)
{
	int32_t count;
	r->sphere_drops.count = 0;
	if (r->version < 12)
		return CAROM_SUCCESS;
	if (!get_count(r, 16, &count))
		return damaged(r, "its size is wrong");
	if (!cr_array_reserve(r->context, &r->sphere_drops, count))
		return cr_fail_memory(r->context, "a recording");
	for (int32_t i = 0; i < count; i++) {
		const uint64_t a = get_u32(r), b = get_u32(r);
		const int32_t sphere = (int32_t)get_u32(r), number = (int32_t)get_u32(r);
		const cr_sphere_drop drop = { a << 32 | b, sphere, number };
		if (a >= b || (i > 0 && cr_compare_sphere_drops(&r->sphere_drops.data[i - 1], &drop) >= 0))
			return damaged(r, "the contacts of spheres that the filter left out are not in order");
		r->sphere_drops.data[r->sphere_drops.count++] = drop;
	}
	return CAROM_SUCCESS;
}

/// Let the caller look at the world after a step.
static void show(replay *r)
{
	if (!r->watch)
		return;
	r->world->watched = true;
	r->ended = !r->watch(r->world, r->result->steps - 1, r->watch_user);
	r->world->watched = false;
}

static carom_result replay_step(replay *r)
{
	carom_result result = get_rejections(r);
	if (result == CAROM_SUCCESS)
		result = get_drops(r);
	if (result == CAROM_SUCCESS)
		result = get_sphere_drops(r);
	if (result != CAROM_SUCCESS)
		return result;
	const uint64_t recorded = get_u64(r);
	if (!used_up(r))
		return damaged(r, "its size is wrong");
	result = judge(r, carom_world_step(r->world));
	if (result != CAROM_SUCCESS)
		return result;
	carom_replay_result *out = r->result;
	out->hash = carom_world_hash(r->world);
	out->first_difference = out->hash == recorded ? -1 : out->steps;
	out->steps++;
	show(r);
	if (out->hash == recorded)
		return CAROM_SUCCESS;
	return cr_fail(r->context, CAROM_INVALID_RECORDING,
		"carom_replay_recording: record %lld: step %lld gives the hash %016llx, recorded was %016llx",
		(long long)r->record_number, (long long)out->first_difference, (unsigned long long)out->hash,
		(unsigned long long)recorded);
}

static carom_result replay_forget(replay *r)
{
	if (!used_up(r) || r->version < 2)
		return damaged(r, "its size is wrong, or its version has no such record");
	cr_world_forget(r->world);
	return CAROM_SUCCESS;
}

static carom_result replay_trim(replay *r)
{
	if (!used_up(r) || r->version < 17)
		return damaged(r, "its size is wrong, or its version has no such record");
	return judge(r, carom_world_trim(r->world));
}

static carom_result replay_generation(replay *r)
{
	const uint32_t generation = get_u32(r);
	if (!used_up(r) || generation == 0 || r->version < 17)
		return damaged(r, "its size is wrong, its version has no such record, or no generation is 0");
	r->world->first_generation = generation;
	return CAROM_SUCCESS;
}

// ---- The stream ----

static carom_result replay_record(replay *r, uint32_t opcode)
{
	static carom_result (*const handlers[CR_RECORD_OPCODES])(replay *) = {
		[CR_RECORD_WORLD] = replay_world,
		[CR_RECORD_MESH] = replay_mesh,
		[CR_RECORD_HULL] = replay_hull,
		[CR_RECORD_FIELD] = replay_field,
		[CR_RECORD_STATE] = replay_state,
		[CR_RECORD_ADD_BODY] = replay_add_body,
		[CR_RECORD_ADD_BODY_WITH_ID] = replay_add_body_with_id,
		[CR_RECORD_REMOVE_BODY] = replay_remove_body,
		[CR_RECORD_SET_POSES] = replay_set_poses,
		[CR_RECORD_SET_USER_DATA] = replay_set_user_data,
		[CR_RECORD_SET_PART_DATA] = replay_set_part_data,
		[CR_RECORD_SET_FILTER] = replay_set_filter,
		[CR_RECORD_SET_TRAITS] = replay_set_traits,
		[CR_RECORD_SET_ASLEEP] = replay_set_asleep,
		[CR_RECORD_SHIFT_ORIGIN] = replay_shift_origin,
		[CR_RECORD_SET_SHAPE] = replay_set_shape,
		[CR_RECORD_SET_PARTS] = replay_set_parts,
		[CR_RECORD_SET_IMPULSE] = replay_set_impulse,
		[CR_RECORD_SET_PAIR_DATA] = replay_set_pair_data,
		[CR_RECORD_SET_BODY_PAIRS] = replay_set_body_pairs,
		[CR_RECORD_SET_BODY_PAIR_DATA] = replay_set_body_pair_data,
		[CR_RECORD_STEP] = replay_step,
		[CR_RECORD_FORGET] = replay_forget,
		[CR_RECORD_TRIM] = replay_trim,
		[CR_RECORD_GENERATION] = replay_generation,
		[CR_RECORD_SET_VERTICES] = replay_set_vertices,
		[CR_RECORD_SET_MOTIONS] = replay_set_motions,
		[CR_RECORD_SET_MESH] = replay_set_mesh,
		[CR_RECORD_SET_SPHERES] = replay_set_spheres,
		[CR_RECORD_SET_SPHERES_BY_ID] = replay_set_spheres_by_id,
		[CR_RECORD_SET_SPHERE_BEGINS] = replay_set_sphere_begins,
		[CR_RECORD_SET_LISTED_IMPULSE] = replay_set_listed_impulse,
	};
	if (opcode != CR_RECORD_WORLD && !r->world)
		return damaged(r, "it comes before the world");
	if (opcode > CR_RECORD_STATE && opcode != CR_RECORD_HULL && opcode != CR_RECORD_FIELD && !r->has_state)
		return damaged(r, "it comes before the state of the world");
	return handlers[opcode](r);
}

static carom_result replay_all(replay *r)
{
	uint8_t head[CR_RECORDING_MAGIC_SIZE + 4];
	if (!read_bytes(r, head, sizeof head) || memcmp(head, CR_RECORDING_MAGIC, CR_RECORDING_MAGIC_SIZE) != 0)
		return cr_fail(r->context, CAROM_INVALID_RECORDING, "carom_replay_recording: the stream is not a recording");
	r->version = (uint32_t)cr_load_le(head + CR_RECORDING_MAGIC_SIZE, 4);
	if (r->version < 1 || r->version > CR_RECORDING_VERSION)
		return cr_fail(r->context, CAROM_INVALID_RECORDING,
			"carom_replay_recording: the recording is of version %u; this library reads 1 to %d", r->version,
			CR_RECORDING_VERSION);
	for (;; r->record_number++) {
		uint32_t opcode = CR_RECORD_END;
		carom_result result = read_record(r, &opcode);
		if (result != CAROM_SUCCESS)
			return result;
		if (opcode == CR_RECORD_END)
			return r->payload.count == 0 && r->has_state ? CAROM_SUCCESS
														 : damaged(r, "the end mark comes too early or holds bytes");
		result = replay_record(r, opcode);
		if (result != CAROM_SUCCESS || r->ended)
			return result;
	}
}

carom_result carom_replay_recording(carom_context *context, carom_read_fn *read, void *user, carom_replay_result *result)
{
	return cr_replay_recording(context, NULL, read, user, NULL, NULL, result);
}

carom_result carom_watch_recording(carom_context *context, carom_read_fn *read, void *user, carom_watch_fn *watch,
	void *watch_user, carom_replay_result *result)
{
	if (context && !watch)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_watch_recording: watch is NULL");
	return cr_replay_recording(context, NULL, read, user, watch, watch_user, result);
}

carom_result cr_replay_recording(carom_context *context, const struct cr_laboratory *tools, carom_read_fn *read, void *user,
	carom_watch_fn *watch, void *watch_user, carom_replay_result *result)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!read || !result)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_replay_recording: %s is NULL", read ? "result" : "read");
	*result = (carom_replay_result){ .first_difference = -1 };
	replay r = { .context = context,
		.tools = tools,
		.read = read,
		.user = user,
		.watch = watch,
		.watch_user = watch_user,
		.check = CR_CHECK_SEED,
		.result = result };
	const carom_result outcome = replay_all(&r);
	carom_destroy_world(r.world);
	for (int64_t i = 0; i < r.meshes.count; i++)
		carom_release_mesh(r.meshes.data[i]);
	cr_array_free(context, &r.payload);
	cr_array_free(context, &r.meshes);
	cr_array_free(context, &r.rejected);
	cr_array_free(context, &r.dropped);
	cr_array_free(context, &r.sphere_drops);
	cr_array_free(context, &r.ids);
	cr_array_free(context, &r.poses);
	cr_array_free(context, &r.motions);
	cr_array_free(context, &r.parts);
	cr_array_free(context, &r.places[0]);
	cr_array_free(context, &r.places[1]);
	cr_array_free(context, &r.numbers);
	return outcome;
}
