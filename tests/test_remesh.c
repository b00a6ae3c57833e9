// carom_world_set_mesh: a body with another mesh against a world in which it had that mesh from the
// beginning; places, misuse, failed allocations, recordings, snapshots.
#include "fixture.h"

#include "base/hash.h"
#include "world/recording_format.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 9, OLD = SIDE * SIDE, CUT = SIDE, NEW = OLD + CUT + 1 };

/// A sheet of SIDE x SIDE vertices. Torn: along its middle row the vertices are split in two, one
/// corner triangle is gone, and one is parted in three by a new vertex.
static carom_mesh *make_sheet(carom_context *context, bool torn, int32_t from[NEW])
{
	float vertices[NEW][3];
	int32_t triangles[2 * OLD + 4][3], count = 0;
	for (int i = 0; i < OLD; i++) {
		vertices[i][0] = (float)(i % SIDE) / (SIDE - 1) - 0.5f;
		vertices[i][1] = (float)(i / SIDE) / (SIDE - 1) - 0.5f;
		vertices[i][2] = 0;
		from[i] = i;
	}
	const int middle = SIDE / 2;
	for (int i = 0; i < CUT; i++) {
		memcpy(vertices[OLD + i], vertices[middle * SIDE + i], sizeof vertices[0]);
		from[OLD + i] = middle * SIDE + i;
	}
	const float added[3] = { -0.45f, -0.42f, 0 };
	memcpy(vertices[NEW - 1], added, sizeof added);
	from[NEW - 1] = -1;
	for (int v = 0; v < OLD - SIDE; v++) {
		if (v % SIDE == SIDE - 1)
			continue;
		const int row = v / SIDE, column = v % SIDE;
		const int32_t low = torn && row == middle ? OLD + column : v; // above the tear
		const int32_t cell[2][3] = { { low, low + 1, v + SIDE + 1 }, { low, v + SIDE + 1, v + SIDE } };
		memcpy(triangles[count], cell, sizeof cell);
		count += 2;
		if (torn && v == 0) { // the first is gone, the second in three
			const int32_t parts[3][3] = { { 0, SIDE + 1, NEW - 1 }, { SIDE + 1, SIDE, NEW - 1 }, { SIDE, 0, NEW - 1 } };
			count -= 2;
			memcpy(triangles[count], parts, sizeof parts);
			count += 3;
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = torn ? NEW : OLD;
	def.triangles = triangles[0];
	def.triangle_count = count;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

typedef struct scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *whole, *torn, *ball;
	carom_body_id cloth, ground;
	int32_t from[NEW];
} scene;

static carom_strided doubles(const double *places) { return (carom_strided){ places, 0, CAROM_FLOAT64 }; }

static void open_scene(scene *s, carom_context *context, bool torn)
{
	*s = (scene){ .context = context };
	s->whole = make_sheet(context, false, s->from);
	s->torn = make_sheet(context, true, s->from);
	s->ball = fixture_sphere_mesh(context, 0.3, 8);
	s->world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(torn ? s->torn : s->whole);
	def.pose = fixture_at(0, 0, 1);
	def.user_data = 77;
	def.group = 3;
	REQUIRE(carom_world_add_body(s->world, &def, &s->cloth) == CAROM_SUCCESS);
	s->ground = fixture_add(s->world, fixture_of_mesh(s->ball), fixture_at(0, 0, 0), CAROM_STATIC);
}

static void close_scene(scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->whole);
	carom_release_mesh(s->torn);
	carom_release_mesh(s->ball);
}

/// Where a vertex is at a time: falling, with ripples; the torn halves go apart.
static void places_at(const scene *s, bool torn, int step, double places[3 * NEW])
{
	const float *rest = carom_mesh_get_vertices(torn ? s->torn : s->whole);
	for (int i = 0; i < (torn ? NEW : OLD); i++) {
		const double x = rest[3 * i], y = rest[3 * i + 1];
		places[3 * i] = x;
		places[3 * i + 1] = y + (torn && i >= OLD ? 0.02 * step : 0);
		places[3 * i + 2] = 1 - 0.15 * step + 0.02 * sin(9 * x + 5 * y + step);
	}
}

static void move(const scene *s, bool torn, int step)
{
	double end[3 * NEW];
	places_at(s, torn, step, end);
	const carom_strided view = doubles(end);
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, NULL, &view) == CAROM_SUCCESS);
}

static carom_result tear(const scene *s, const carom_strided *places)
{
	return carom_world_set_mesh(s->world, s->cloth, s->torn, s->from, places);
}

/// Tear, with the new vertex where it was not by the pose.
static void tear_at(const scene *s, int step)
{
	double places[3 * NEW];
	places_at(s, true, step, places);
	const carom_strided view = doubles(places);
	REQUIRE(tear(s, &view) == CAROM_SUCCESS);
}

static uint64_t hash_impacts(const carom_world *world) { return cr_hash_impacts(&world->impacts, CR_HASH_SEED); }

// ---- What is found ----

TEST(remesh, finds_what_a_body_with_that_mesh_finds)
{
	carom_context *context = fixture_context(1);
	scene a, b;
	open_scene(&a, context, false);
	open_scene(&b, context, true);
	int64_t impacts = 0;
	for (int step = 1; step <= 8; step++) {
		if (step <= 3) {
			move(&a, false, step);
		} else {
			if (step == 4)
				tear_at(&a, 3);
			move(&a, true, step);
		}
		carom_vertex_view now;
		REQUIRE(carom_world_get_vertices(a.world, a.cloth, &now) == CAROM_SUCCESS);
		CHECK_INT(now.count, step <= 3 ? OLD : NEW);
		if (step >= 4) { // from the same places
			const cr_surface *s = &cr_deforming_of(&a.world->bodies.data[a.cloth.index1 - 1])->surface;
			const carom_strided begin = doubles(s->begin), end = doubles(s->end);
			REQUIRE(carom_world_set_vertices(b.world, b.cloth, &begin, &end) == CAROM_SUCCESS);
			fixture_step(b.world);
		}
		fixture_step(a.world);
		if (step < 4)
			continue;
		CHECK(hash_impacts(a.world) == hash_impacts(b.world));
		CHECK_INT(carom_world_impacts(a.world).count, carom_world_impacts(b.world).count);
		impacts += carom_world_impacts(a.world).count;
		uint64_t seed = (uint64_t)step;
		for (int i = 0; i < 50; i++) {
			const carom_ray ray = { { test_random_double(&seed, -0.6, 0.6), test_random_double(&seed, -0.6, 0.6), 3 },
				{ 0.01, 0.02, -1 }, 0, 9 };
			bool found[2];
			carom_ray_hit hit[2];
			REQUIRE(carom_world_cast_ray(a.world, &ray, NULL, &found[0], &hit[0]) == CAROM_SUCCESS);
			REQUIRE(carom_world_cast_ray(b.world, &ray, NULL, &found[1], &hit[1]) == CAROM_SUCCESS);
			CHECK_INT(found[0], found[1]);
			CHECK(!found[0] || (hit[0].t == hit[1].t && hit[0].triangle == hit[1].triangle));
		}
	}
	CHECK(impacts > 10);
	// Everything else of the body has stayed.
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(a.world, a.cloth, &def) == CAROM_SUCCESS);
	CHECK(def.shape.mesh == a.torn && def.kind == CAROM_CLOTH && def.group == 3 && def.user_data == 77);
	close_scene(&a);
	close_scene(&b);
	carom_destroy_context(context);
}

/// Vertices that stay keep both their places; new ones rest where they are said to be, or by the pose.
TEST(remesh, carries_places_over)
{
	carom_context *context = fixture_context(1);
	for (int given = 0; given < 2; given++) {
		scene s;
		open_scene(&s, context, false);
		move(&s, false, 1);
		fixture_step(s.world);
		move(&s, false, 2);
		double begin[3 * NEW], end[3 * NEW];
		places_at(&s, false, 1, begin);
		places_at(&s, false, 2, end);
		if (given)
			tear_at(&s, 5);
		else
			REQUIRE(tear(&s, NULL) == CAROM_SUCCESS);
		const cr_surface *surface = &cr_deforming_of(&s.world->bodies.data[s.cloth.index1 - 1])->surface;
		for (int i = 0; i < 3 * (NEW - 1); i++) {
			const int from = 3 * s.from[i / 3] + i % 3;
			CHECK(surface->begin[i] == begin[from] && surface->end[i] == end[from]);
		}
		double fifth[3 * NEW];
		places_at(&s, true, 5, fifth);
		const float *rest = &carom_mesh_get_vertices(s.torn)[3 * (NEW - 1)];
		const double expected[3] = { rest[0], rest[1], rest[2] + 1.0 };
		for (int k = 0; k < 3; k++) {
			const double place = surface->end[3 * (NEW - 1) + k];
			CHECK(place == (given ? fifth[3 * (NEW - 1) + k] : expected[k]));
			CHECK(surface->begin[3 * (NEW - 1) + k] == place);
		}
		carom_aabb box;
		REQUIRE(carom_world_get_aabb(s.world, s.cloth, &box) == CAROM_SUCCESS);
		CHECK(box.lower.z == surface->lower[2] && box.upper.z == surface->upper[2]);
		close_scene(&s);
	}
	carom_destroy_context(context);
}

/// Without a map vertices keep their numbers, and a mesh of these triangles goes on with the scene.
TEST(remesh, equal_triangles_keep_the_search)
{
	carom_context *context = fixture_context(1);
	scene s;
	int32_t from[NEW];
	open_scene(&s, context, false);
	carom_mesh *again = make_sheet(context, false, from);
	move(&s, false, 1);
	fixture_step(s.world);
	const carom_sweep *sweep = s.world->impacts.sweep;
	REQUIRE(carom_world_set_mesh(s.world, s.cloth, again, NULL, NULL) == CAROM_SUCCESS);
	CHECK(s.world->impacts.sweep == sweep);
	for (int step = 2; step < 7; step++) {
		move(&s, false, step);
		fixture_step(s.world);
		CHECK(s.world->impacts.sweep == sweep);
	}
	CHECK(carom_world_impacts(s.world).count > 0);
	// Two vertices change their numbers: the scene begins again.
	from[0] = 1;
	from[1] = 0;
	REQUIRE(carom_world_set_mesh(s.world, s.cloth, again, from, NULL) == CAROM_SUCCESS);
	CHECK(s.world->impacts.sweep == NULL);
	fixture_step(s.world);
	// More vertices without a map: those beyond the old ones are new.
	REQUIRE(carom_world_set_mesh(s.world, s.cloth, s.torn, NULL, NULL) == CAROM_SUCCESS);
	fixture_step(s.world);
	carom_release_mesh(again);
	close_scene(&s);
	carom_destroy_context(context);
}

// ---- Misuse and failures ----

TEST(remesh, refuses_bad_calls)
{
	carom_context *context = fixture_context(1);
	scene s;
	open_scene(&s, context, false);
	carom_mesh *closed = fixture_sphere_mesh(context, 1, 6);
	const carom_body_id solid = fixture_add(s.world, fixture_of_mesh(closed), fixture_at(5, 0, 0), CAROM_DEFORMABLE);
	const carom_body_id strange = { 99, 1 };
	CHECK_INT(carom_world_set_mesh(s.world, strange, s.torn, s.from, NULL), CAROM_INVALID_BODY);
	CHECK(strstr(carom_error_text(context), "carom_world_set_mesh: no body has the id (99, 1)") != NULL);
	CHECK_INT(carom_world_set_mesh(s.world, s.cloth, NULL, s.from, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_set_mesh: mesh is NULL");
	CHECK_INT(carom_world_set_mesh(s.world, s.ground, s.torn, NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_set_mesh: the body is rigid: carom_world_set_shape changes its shape");
	CHECK_INT(carom_world_set_mesh(s.world, solid, s.whole, NULL, NULL), CAROM_INVALID_MESH);
	CHECK(strstr(carom_error_text(context), "carom_world_set_mesh: kind is CAROM_DEFORMABLE, but the mesh is open") != NULL);
	s.from[20] = OLD;
	CHECK_INT(tear(&s, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_set_mesh: from[20] is 81; it must be -1 or one of the body's 81 vertices");
	s.from[20] = -2;
	CHECK_INT(tear(&s, NULL), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "from[20] is -2") != NULL);
	s.from[20] = 20;
	double places[3 * NEW] = { 0 };
	places[3 * (NEW - 1) + 2] = NAN;
	const carom_strided bad = doubles(places), none = { 0 };
	CHECK_INT(tear(&s, &bad), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_set_mesh: places: z of vertex 90 is ") != NULL);
	CHECK_INT(tear(&s, &none), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_set_mesh: places.data is NULL") != NULL);
	// set_shape and set_parts say whom to ask.
	const carom_shape shape = fixture_of_mesh(s.torn);
	CHECK_INT(carom_world_set_shape(s.world, s.cloth, &shape), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_world_set_mesh gives it another mesh") != NULL);
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(s.world, s.cloth, &view) == CAROM_SUCCESS);
	CHECK_INT(view.count, OLD);
	fixture_step(s.world);
	carom_release_mesh(closed);
	close_scene(&s);
	carom_destroy_context(context);
}

TEST(remesh, every_allocation_may_fail)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	scene s;
	open_scene(&s, context, false);
	move(&s, false, 1);
	fixture_step(s.world);
	move(&s, false, 5);
	int failed = 0;
	for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS;) {
		carom_body_def def;
		REQUIRE(carom_world_get_body_def(s.world, s.cloth, &def) == CAROM_SUCCESS);
		CHECK(def.shape.mesh == s.whole);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		result = tear(&s, NULL);
		atomic_store(&heap.fail_at, -1);
		CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
		failed += result != CAROM_SUCCESS;
	}
	CHECK(failed >= 3);
	fixture_step(s.world);
	CHECK(carom_world_impacts(s.world).count > 0);
	close_scene(&s);
	CHECK_INT(atomic_load(&heap.blocks), 1);
	carom_destroy_context(context);
}

// ---- Recordings and snapshots ----

enum { STEPS = 8 };

/// Fall; tear in step 4; be whole again in step 7.
static void live(const scene *s, int first, int last, uint64_t hashes[STEPS + 1])
{
	for (int step = first; step <= last; step++) {
		if (step == 4)
			tear_at(s, 3);
		if (step == 7)
			REQUIRE(carom_world_set_mesh(s->world, s->cloth, s->whole, NULL, NULL) == CAROM_SUCCESS);
		move(s, step >= 4 && step < 7, step);
		fixture_step(s->world);
		hashes[step] = carom_world_hash(s->world);
	}
}

TEST(remesh, recordings_replay)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 2);
	for (int begun = 0; begun < 2; begun++) { // before the tear, and after it
		scene s;
		fixture_tape tape = { 0 };
		uint64_t hashes[STEPS + 1];
		open_scene(&s, context, false);
		live(&s, 1, begun ? 5 : 1, hashes);
		REQUIRE(carom_world_record(s.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		live(&s, begun ? 6 : 2, STEPS, hashes);
		REQUIRE(carom_world_record(s.world, NULL, NULL) == CAROM_SUCCESS);
		close_scene(&s);
		const long long blocks = heap.blocks;
		carom_replay_result result;
		if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
			CHECK_STR(carom_error_text(context), "");
		CHECK_INT(result.steps, begun ? STEPS - 5 : STEPS - 1);
		CHECK(result.hash == hashes[STEPS]);
		// Forged calls are refused, or do what they say; nothing crashes or leaks.
		int calls = 0, refusals = 0;
		for (size_t at = 12; at < tape.count;) {
			const uint32_t opcode = (uint32_t)cr_load_le(tape.bytes + at, 4);
			const size_t size = (size_t)cr_load_le(tape.bytes + at + 4, 8), payload = at + CR_RECORD_HEAD_SIZE;
			calls += opcode == CR_RECORD_SET_MESH;
			for (size_t i = 0; opcode == CR_RECORD_SET_MESH && i < size; i += i < 24 ? 1 : 7) {
				const uint8_t good = tape.bytes[payload + i];
				tape.bytes[payload + i] ^= (uint8_t)(i % 3 ? 1 : 0x82);
				fixture_repair_tape(&tape);
				tape.at = 0;
				const carom_result outcome = carom_replay_recording(context, fixture_read_tape, &tape, &result);
				CHECK(outcome == CAROM_SUCCESS || outcome == CAROM_INVALID_RECORDING);
				refusals += outcome != CAROM_SUCCESS;
				CHECK_INT(heap.blocks, blocks);
				tape.bytes[payload + i] = good;
			}
			at = payload + size + CR_RECORD_CHECK_SIZE;
		}
		CHECK_INT(calls, begun ? 1 : 2);
		CHECK(refusals > 10);
		cr_store_le(tape.bytes + CR_RECORDING_MAGIC_SIZE, 5, 4);
		fixture_repair_tape(&tape);
		tape.at = 0;
		CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_INVALID_RECORDING);
		free(tape.bytes);
	}
	carom_destroy_context(context);
}

TEST(remesh, snapshots_bring_back_meshes)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	scene s;
	uint64_t first[STEPS + 1], again[STEPS + 1];
	open_scene(&s, context, false);
	carom_snapshot *snapshots[2]; // whole, and torn
	live(&s, 1, 2, first);
	REQUIRE(carom_create_snapshot(s.world, &snapshots[0]) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(s.world, snapshots[0]) == CAROM_SUCCESS);
	live(&s, 3, 5, first);
	REQUIRE(carom_create_snapshot(s.world, &snapshots[1]) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(s.world, snapshots[1]) == CAROM_SUCCESS);
	live(&s, 6, STEPS, first);
	for (int round = 0; round < 4; round++) {
		const int from = round % 2 ? 5 : 2;
		REQUIRE(carom_world_restore(s.world, snapshots[round % 2]) == CAROM_SUCCESS);
		live(&s, from + 1, STEPS, again);
		CHECK(memcmp(&first[from + 1], &again[from + 1], (size_t)(STEPS - from) * sizeof *first) == 0);
	}
	for (int i = 0; i < 2; i++)
		carom_destroy_snapshot(snapshots[i]);
	close_scene(&s);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(remesh, every_thread_count_finds_the_same)
{
	uint64_t hashes[3][STEPS + 1];
	for (int i = 0; i < 3; i++) {
		carom_context *context = fixture_context(1 + i);
		scene s;
		open_scene(&s, context, false);
		live(&s, 1, STEPS, hashes[i]);
		close_scene(&s);
		carom_destroy_context(context);
		CHECK(memcmp(&hashes[0][1], &hashes[i][1], STEPS * sizeof(uint64_t)) == 0);
	}
}
