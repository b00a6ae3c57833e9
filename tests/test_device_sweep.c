/// Impacts on a device: those of the processor, bit for bit, on moving meshes of all kinds and sizes, on recorded ones; windows; filters
/// of meshes; failures of every kind.
#include "device_failures.h"
#include "device_fixture.h"
#include "device_ring.h"
#include "fixture.h"
#include "io/mesh_file.h"
#include "sweep_fixture.h"
#include "vulkan/gpu_sweep.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Search the same step in two scenes; the impacts, which are the same. Returns how many.
static int64_t check_step(carom_sweep *expected_scene, carom_sweep *scene, const char *what)
{
	carom_sweep_hits expected, hits;
	REQUIRE(carom_sweep_find(expected_scene, &expected) == CAROM_SUCCESS);
	REQUIRE(carom_sweep_find(scene, &hits) == CAROM_SUCCESS);
	const sweep_list list = { (carom_sweep_hit *)expected.data, expected.count };
	sweep_check_same(hits.data, hits.count, &list, what);
	return hits.count;
}

static carom_device *open_device(carom_context *context, bool staging)
{
	carom_device_def def = carom_default_device_def();
	def.staging = staging;
	return fixture_device(context, &def);
}

// ---- Random scenes ----

static void make_world(sweep_world *world, uint64_t *random)
{
	const int count = 1 + (int)(test_random(random) % 4);
	for (int i = 0; i < count; i++) {
		sweep_mesh *mesh = sweep_add_random(world, random);
		mesh->self = test_random(random) % 4 != 0;
		mesh->is_rigid = test_random(random) % 5 == 0;
		sweep_shift(mesh, test_random_double(random, -0.6, 0.6), test_random_double(random, -0.6, 0.6),
			test_random_double(random, -0.6, 0.6));
		if (test_random(random) % 6 == 0)
			mesh->group = test_random(random) % 2 ? -1 : 1;
		if (test_random(random) % 6 == 0)
			mesh->mask = 2;
	}
}

static carom_sweep_def random_def(uint64_t *random)
{
	carom_sweep_def def = carom_default_sweep_def();
	def.method = CAROM_SWEEP_BVH;
	if (test_random(random) % 3 == 0)
		def.min_separation = test_random(random) % 2 ? 0.05 : 1e-7;
	if (test_random(random) % 8 == 0)
		def.test = CAROM_SWEEP_INCLUSION;
	return def;
}

static void check_random(bool staging, int rounds, uint64_t random)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, staging);
	int64_t total = 0;
	for (int round = 0; round < rounds && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		make_world(&world, &random);
		carom_sweep_def def = random_def(&random);
		carom_sweep *expected = sweep_load(context, &def, &world);
		def.device = device;
		carom_sweep *sweep = sweep_load(context, &def, &world);
		for (int step = 0; step < 4; step++) {
			// In one step nothing moves.
			sweep_move(&world, step == 2 ? 0 : 0.2, step == 2 ? 0 : step % 2 ? 0.3 : 0.05, &random);
			sweep_tell(expected, &world);
			sweep_tell(sweep, &world);
			char what[64];
			snprintf(what, sizeof what, "round %d, step %d", round, step);
			total += check_step(expected, sweep, what);
		}
		carom_destroy_sweep(expected);
		carom_destroy_sweep(sweep);
		sweep_free_world(&world);
	}
	CHECK(total > 20 * rounds);
	carom_destroy_device(device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(device_sweep, impacts_are_those_of_the_processor) { check_random(false, 30 / TEST_FEWER, 1); }
TEST(device_sweep, impacts_are_those_of_the_processor_through_the_ring) { check_random(true, 6, 2); }

/// Each mesh of the world times a factor, at both ends.
static void scale_world(sweep_world *world, double by)
{
	for (int i = 0; i < world->count; i++) {
		for (int32_t k = 0; k < 3 * world->meshes[i].vertex_count; k++) {
			world->meshes[i].begin[k] *= by;
			world->meshes[i].end[k] *= by;
		}
	}
}

TEST(device_sweep, scenes_of_all_sizes)
{
	// The last one is below what floats hold, and so is its size where the cubic may be asked.
	static const double SIZES[] = { 1e-150, 1e-60, 1e-30, 1e-9, 1e6, 1e11 };
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, false);
	uint64_t random = 3;
	int64_t total = 0;
	for (size_t size = 0; size < sizeof SIZES / sizeof *SIZES; size++) {
		for (int separated = 0; separated < 2; separated++) {
			sweep_world world = { 0 };
			sweep_add_sheet(&world, 7, 7, 1);
			sweep_add_torus(&world, 6, 5);
			sweep_add_mess(&world, 12, 20, &random);
			sweep_move(&world, 0.2, 0.2, &random);
			scale_world(&world, SIZES[size]);
			carom_sweep_def def = carom_default_sweep_def();
			def.tolerance = 1e-6 * SIZES[size];
			def.min_separation = separated ? 0.01 * SIZES[size] : 0;
			carom_sweep *expected = sweep_load(context, &def, &world);
			def.device = device;
			carom_sweep *sweep = sweep_load(context, &def, &world);
			sweep_tell(expected, &world);
			sweep_tell(sweep, &world);
			char what[64];
			snprintf(what, sizeof what, "size %g, separation %g", SIZES[size], def.min_separation);
			total += check_step(expected, sweep, what);
			const carom_sweep_stats stats = carom_sweep_get_stats(sweep);
			CHECK(stats.device_left > 0 && stats.device_left <= stats.tests_vf + stats.tests_ee);
			carom_destroy_sweep(expected);
			carom_destroy_sweep(sweep);
			sweep_free_world(&world);
		}
	}
	CHECK(total > 1000);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_sweep, a_mesh_far_away_changes_nothing)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, false);
	uint64_t random = 4;
	sweep_world world = { 0 };
	sweep_add_sheet(&world, 6, 6, 1);
	sweep_add_torus(&world, 6, 5);
	sweep_shift(sweep_add_box(&world), 1e9, -1e9, 1e9);
	sweep_move(&world, 0.1, 0.2, &random);
	carom_sweep_def def = carom_default_sweep_def();
	carom_sweep *expected = sweep_load(context, &def, &world);
	def.device = device;
	carom_sweep *sweep = sweep_load(context, &def, &world);
	sweep_tell(expected, &world);
	sweep_tell(sweep, &world);
	CHECK(check_step(expected, sweep, "far away") > 10);
	carom_destroy_sweep(expected);
	carom_destroy_sweep(sweep);
	sweep_free_world(&world);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_sweep, the_earliest_impact_is_that_of_the_processor)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, false);
	uint64_t random = 5;
	int finds = 0;
	for (int round = 0; round < 10; round++) {
		sweep_world world = { 0 };
		make_world(&world, &random);
		carom_sweep_def def = random_def(&random);
		carom_sweep *scenes[2];
		scenes[0] = sweep_load(context, &def, &world);
		def.device = device;
		scenes[1] = sweep_load(context, &def, &world);
		sweep_move(&world, 0.2, 0.1, &random);
		carom_sweep_hit hits[2];
		bool found[2];
		for (int d = 0; d < 2; d++) {
			sweep_tell(scenes[d], &world);
			REQUIRE(carom_sweep_find_earliest(scenes[d], &hits[d], &found[d]) == CAROM_SUCCESS);
		}
		CHECK(found[0] == found[1] && (!found[0] || sweep_is_same_hit(&hits[0], &hits[1])));
		finds += found[0];
		// All of the same step, after it.
		check_step(scenes[0], scenes[1], "after the earliest");
		for (int d = 0; d < 2; d++)
			carom_destroy_sweep(scenes[d]);
		sweep_free_world(&world);
	}
	CHECK(finds > 3);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

// ---- Worlds ----

/// A blade that turns in a grid of cloth: ids[0] is the cloth, ids[1] the blade.
static carom_world *make_turning_world(carom_context *context, carom_device *device, carom_body_id ids[2])
{
	enum { SIDE = 6 };
	float grid[SIDE * SIDE][3];
	int32_t cells[2 * (SIDE - 1) * (SIDE - 1)][3], count = 0;
	for (int32_t v = 0; v < SIDE * SIDE; v++) {
		for (int k = 0; k < 3; k++)
			grid[v][k] = k == 2 ? 0 : (float)(k == 0 ? v % SIDE : v / SIDE) - 2.5F;
		if (v % SIDE == SIDE - 1 || v / SIDE == SIDE - 1)
			continue;
		memcpy(cells[count++], (int32_t[3]){ v, v + 1, v + SIDE + 1 }, sizeof cells[0]);
		memcpy(cells[count++], (int32_t[3]){ v, v + SIDE + 1, v + SIDE }, sizeof cells[0]);
	}
	static const float BLADE[3][3] = { { 0, 0, 0 }, { 2, 0, -0.1F }, { 2, 0, 0.1F } };
	const int32_t one[3] = { 0, 1, 2 };
	carom_world_def def = carom_default_world_def();
	def.sweep.device = device;
	carom_world *world;
	REQUIRE(carom_create_world(context, &def, &world) == CAROM_SUCCESS);
	for (int i = 0; i < 2; i++) {
		carom_mesh_def mesh_def = carom_default_mesh_def();
		mesh_def.vertices = (carom_strided){ .data = i ? BLADE[0] : grid[0], .type = CAROM_FLOAT32 };
		mesh_def.vertex_count = i ? 3 : SIDE * SIDE;
		mesh_def.triangles = i ? one : cells[0];
		mesh_def.triangle_count = i ? 1 : count;
		carom_body_def body = carom_default_body_def();
		body.kind = i ? CAROM_DYNAMIC : CAROM_CLOTH;
		carom_mesh *mesh;
		REQUIRE(carom_create_mesh(context, &mesh_def, NULL, &mesh) == CAROM_SUCCESS);
		body.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
		body.pose.orientation = (carom_quat){ i ? 0.70710678118654757 : 0, 0, 0, i ? 0.70710678118654757 : 1 };
		REQUIRE(carom_world_add_body(world, &body, &ids[i]) == CAROM_SUCCESS);
		carom_release_mesh(mesh);
	}
	return world;
}

/// Let the blade turn by a radian and the cloth tremble along z.
static void turn_world(carom_world *world, const carom_body_id ids[2], int step)
{
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, ids[0], &view) == CAROM_SUCCESS);
	double places[36][3];
	REQUIRE(view.count == 36);
	memcpy(places, view.data, sizeof places);
	for (int v = 0; v < 36; v++)
		places[v][2] = 0.05 * ((v + step) % 3 - 1);
	const carom_strided end = { .data = places, .type = CAROM_FLOAT64 };
	const carom_pose pose = { { 0.1, 0.2, 0 }, { 0, 0, sin(0.5 * step), cos(0.5 * step) } };
	REQUIRE(carom_world_set_vertices(world, ids[0], NULL, &end) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_pose(world, ids[1], &pose) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
}

TEST(device_sweep, a_world_finds_the_impacts_of_the_processor)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, false);
	carom_body_id ids[2];
	carom_world *expected = make_turning_world(context, NULL, ids), *world = make_turning_world(context, device, ids);
	int64_t total = 0;
	for (int step = 0; step < 6; step++) {
		turn_world(expected, ids, step);
		turn_world(world, ids, step);
		CHECK(carom_world_hash(world) == carom_world_hash(expected));
		CHECK_INT(carom_world_impacts(world).count, carom_world_impacts(expected).count);
		total += carom_world_impacts(world).count;
	}
	CHECK(total > 20);
	CHECK(carom_device_get_stats(device).dispatches > 0);
	CHECK_INT(carom_world_sweep_stats(world).device_fallbacks, 0);
	carom_destroy_world(expected);
	carom_destroy_world(world);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_sweep, scenes_of_nothing_have_no_impacts)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, false);
	carom_sweep_def def = carom_default_sweep_def();
	def.device = device;
	carom_sweep *sweep;
	carom_sweep_hits hits;
	REQUIRE(carom_create_sweep(context, &def, &sweep) == CAROM_SUCCESS);
	CHECK(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS && hits.count == 0);
	static const int32_t triangle[] = { 0, 1, 2 };
	static const double places[] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
	carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
	mesh.vertex_count = 3;
	mesh.triangles = triangle;
	mesh.triangle_count = 1;
	mesh.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	int32_t number;
	// One triangle, then two in one place: all features touch.
	for (int count = 1; count <= 2; count++) {
		REQUIRE(carom_sweep_add_mesh(sweep, &mesh, &number) == CAROM_SUCCESS);
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		CHECK_INT(hits.count, count == 1 ? 0 : 6 + 9);
	}
	carom_destroy_sweep(sweep);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

// ---- Windows ----

/// The ends of a sheet that turns over: boxes of all features meet at its middle. And back, in every other step.
static void turn_over(sweep_mesh *sheet, int step)
{
	for (int32_t v = 0; v < sheet->vertex_count; v++) {
		const double side = step % 2 ? 1 : -1;
		sheet->end[3 * v] = side * sheet->begin[3 * v];
		sheet->end[3 * v + 1] = side * sheet->begin[3 * v + 1];
		sheet->end[3 * v + 2] = step % 2 ? sheet->begin[3 * v + 2] : 0.001 * v;
	}
}

TEST(device_sweep, more_candidates_than_there_is_room_for_come_in_windows)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_mesh *sheet = sweep_add_sheet(&world, 14, 14, 1);
	carom_sweep_def def = carom_default_sweep_def();
	carom_sweep *expected = sweep_load(context, &def, &world);
	carom_device_def device_def = carom_default_device_def();
	// The trees take 250 KB of it, so that pairs do not fit; 90,000 candidates would take 1.4 MB.
	device_def.memory_budget = (size_t)CR_GPU_READBACK_SIZE + fixture_ring_size(context) + 700000;
	carom_device *device = fixture_device(context, &device_def);
	def.device = device;
	carom_sweep *sweep = sweep_load(context, &def, &world);
	for (int step = 0; step < 2; step++) { // the second one knows how many there are
		turn_over(sheet, step);
		sweep_tell(expected, &world);
		sweep_tell(sweep, &world);
		CHECK(check_step(expected, sweep, "windows") > 1000);
		CHECK(carom_sweep_get_stats(sweep).tests_ee > 90000);
	}
	CHECK(carom_device_get_stats(device).bytes_peak <= device_def.memory_budget);
	CHECK(carom_device_get_stats(device).submissions > 8);
	carom_destroy_sweep(expected);
	carom_destroy_sweep(sweep);
	sweep_free_world(&world);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

static void must(carom_context *context, carom_result result)
{
	if (result != CAROM_SUCCESS)
		printf("%s\n", carom_error_text(context));
	REQUIRE(result == CAROM_SUCCESS);
}

/// The pairs of a search with so much room, sorted.
static cr_gpu_sweep_pair *search_pairs(
	carom_device *device, cr_gpu_sweep *sweep, const cr_gpu_sweep_step *step, uint64_t room, uint64_t *count)
{
	cr_gpu_sweep_window window;
	cr_gpu_sweep_counts counts = { 0 };
	cr_gpu_sweep_pair *all = NULL;
	*count = 0;
	must(device->context, cr_gpu_start_sweep(device, sweep, CR_GPU_SWEEP_EDGES, room, &window));
	while (window.next < window.end) {
		uint64_t here;
		must(device->context, cr_gpu_sweep_next(device, sweep, step, &window, &here, &counts));
		all = realloc(all, (*count + here + 1) * sizeof *all);
		REQUIRE(all);
		must(device->context, cr_gpu_download(device, &sweep->pairs, all + *count, here * sizeof *all));
		*count += here;
	}
	CHECK(counts.pairs == *count && counts.candidates >= *count);
	return all;
}

static int by_pair(const void *p, const void *q)
{
	const cr_gpu_sweep_pair *a = p, *b = q;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

/// Stars: edges that all cross, so that one edge alone has more candidates than a window has room for.
TEST(device_sweep, one_feature_may_have_more_candidates_than_a_window)
{
	enum { TRIANGLES = 400, EDGES = 3 * TRIANGLES };
	carom_context *context = fixture_context(1);
	carom_device_def device_def = carom_default_device_def();
	device_def.memory_budget = fixture_ring_size(context) + (4 << 20);
	carom_device *device = fixture_device(context, &device_def);
	static int32_t faces[3 * TRIANGLES], edges[2 * EDGES];
	static uint32_t groups[3 * TRIANGLES];
	static float places[9 * TRIANGLES];
	for (int i = 0; i < 3 * TRIANGLES; i++) {
		faces[i] = i;
		edges[2 * i] = i;
		edges[2 * i + 1] = i % 3 == 2 ? i - 2 : i + 1;
		places[3 * i + i % 3] = 1 - 0.001f * (float)(i / 3); // corners of a triangle on the axes: all boxes meet
	}
	const cr_gpu_sweep_mesh mesh = { faces, edges, groups, 3 * TRIANGLES, 3 * TRIANGLES, TRIANGLES, EDGES };
	const cr_gpu_sweep_step step = { .begin = places, .end = places, .upper = { 1, 1, 1 }, .margin = 2 };
	cr_gpu_sweep sweep = { 0 };
	cr_gpu_lock(device);
	must(context, cr_gpu_load_sweep(device, &sweep, &mesh));
	must(context, cr_gpu_move_sweep(device, &sweep, &step));
	// Each edge has up to 1,200 candidates; from here on buffers cannot grow.
	device->def.memory_budget = device->stats.bytes + 2 * 1024 * sizeof(cr_gpu_sweep_pair);
	uint64_t count;
	cr_gpu_sweep_pair *pairs = search_pairs(device, &sweep, &step, 1024, &count);
	CHECK_INT(sweep.room, 1024);
	CHECK_INT(count, (uint64_t)EDGES * (EDGES - 1) / 2 - EDGES); // but those that share a vertex
	for (uint64_t i = 0; i < count; i++) {
		if (pairs[i].a > pairs[i].b)
			pairs[i] = (cr_gpu_sweep_pair){ pairs[i].b, pairs[i].a };
	}
	qsort(pairs, (size_t)count, sizeof *pairs, by_pair);
	bool once = true;
	for (uint64_t i = 1; i < count; i++)
		once = once && by_pair(&pairs[i - 1], &pairs[i]) < 0;
	CHECK(once);
	free(pairs);
	cr_gpu_free_sweep(device, &sweep);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

// ---- Recorded scenes ----

/// The step between two frames: every impact of the exact ground truth is found, because the processor finds them.
static void check_frames(const char *folder, const char *first, const char *second, bool staging)
{
	char path[256];
	sim_error error;
	sim_mesh frames[2];
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "ccd/%s/frames/%s", folder, i ? second : first);
		REQUIRE(io_load_mesh(test_data_path(path), &frames[i], &error));
	}
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, staging);
	carom_sweep *scenes[2];
	for (int d = 0; d < 2; d++) {
		carom_sweep_def def = carom_default_sweep_def();
		def.device = d ? device : NULL;
		REQUIRE(carom_create_sweep(context, &def, &scenes[d]) == CAROM_SUCCESS);
		carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
		mesh.vertices = (carom_strided){ frames[0].vertices, 0, CAROM_FLOAT32 };
		mesh.vertex_count = frames[0].vertex_count;
		mesh.triangles = frames[0].triangles;
		mesh.triangle_count = frames[0].triangle_count;
		int32_t id;
		REQUIRE(carom_sweep_add_mesh(scenes[d], &mesh, &id) == CAROM_SUCCESS);
		const carom_strided end = { frames[1].vertices, 0, CAROM_FLOAT32 };
		REQUIRE(carom_sweep_move_mesh(scenes[d], 0, &end) == CAROM_SUCCESS);
	}
	CHECK(check_step(scenes[0], scenes[1], folder) > 1000);
	// A lost order along the curve would show in the number of boxes that are looked at.
	const carom_sweep_stats stats = carom_sweep_get_stats(scenes[1]);
	CHECK(stats.volume_tests < 100 * (stats.tests_vf + stats.tests_ee + stats.edges));
	CHECK(stats.device_left < (stats.tests_vf + stats.tests_ee) / 4);
	for (int d = 0; d < 2; d++) {
		carom_destroy_sweep(scenes[d]);
		sim_mesh_free(&frames[d]);
	}
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_sweep, cloth_ball_is_that_of_the_processor)
{
	check_frames("cloth-ball", "cloth_ball92.ply", "cloth_ball93.ply", true);
}

// ---- Misuse and failures ----

TEST(device_sweep, what_does_not_go_with_a_device_is_refused)
{
	carom_context *one = fixture_context(1), *other = fixture_context(1);
	carom_device *device = fixture_device(one, NULL);
	carom_sweep_def def = carom_default_sweep_def();
	def.device = device;
	carom_sweep *sweep;
	CHECK_INT(carom_create_sweep(other, &def, &sweep), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(other), "carom_sweep_def.device is of another context"));
	def.lab = carom_lab_sweep();
	for (int bad = 0; bad < 3; bad++) {
		carom_sweep_def wrong = def;
		wrong.method = bad == 0 ? CAROM_SWEEP_PHC : bad == 1 ? CAROM_SWEEP_SORT : CAROM_SWEEP_AUTO;
		wrong.test = bad == 2 ? CAROM_SWEEP_CUBIC : CAROM_SWEEP_CERTIFIED;
		CHECK_INT(carom_create_sweep(one, &wrong, &sweep), CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(one), bad == 2 ? "carom_sweep_def.test" : "carom_sweep_def.method"));
		CHECK(strstr(carom_error_text(one), "carom_sweep_def.device"));
	}
	carom_destroy_device(device);
	carom_destroy_context(one);
	carom_destroy_context(other);
}

static void make_small(sweep_world *world, uint64_t *random)
{
	sweep_add_sheet(world, 4, 4, 1);
	sweep_add_tetrahedron(world);
	sweep_move(world, 0.1, 0.1, random);
}

static carom_result tell_and_find(carom_sweep *sweep, const sweep_world *world, carom_sweep_hits *hits)
{
	sweep_tell(sweep, world);
	return carom_sweep_find(sweep, hits);
}

/// The scene of failing calls, and what was found in it.
typedef struct failing_scene {
	carom_context *context;
	carom_device *device;
	sweep_world world;
	sweep_list truth;
	carom_sweep_hits hits;
} failing_scene;

static void *make_failing(void *user, bool fallback)
{
	failing_scene *scene = user;
	carom_sweep_def def = carom_default_sweep_def();
	def.device = scene->device;
	def.device_fallback = fallback;
	carom_sweep *sweep = sweep_load(scene->context, &def, &scene->world);
	sweep_tell(sweep, &scene->world); // all searches are of this step
	return sweep;
}

static carom_result find_failing(void *sweep, void *user) { return carom_sweep_find(sweep, &((failing_scene *)user)->hits); }

static bool is_failing_right(const void *user)
{
	const failing_scene *scene = user;
	return sweep_check_same(scene->hits.data, scene->hits.count, &scene->truth, "a call that fails");
}

static int64_t failing_fallbacks(const void *sweep) { return carom_sweep_get_stats(sweep).device_fallbacks; }
static void destroy_failing(void *sweep) { carom_destroy_sweep(sweep); }

static void check_failing_calls(VkResult failure, carom_result expected, bool fallback, int stride)
{
	static const failing_detector kind = { make_failing, find_failing, is_failing_right, failing_fallbacks, destroy_failing };
	failing_scene scene = { .context = fixture_context(1) };
	carom_device_def device_def = carom_default_device_def();
	device_def.staging = device_def.timing = true;
	scene.device = fixture_device(scene.context, &device_def);
	uint64_t random = 7;
	make_small(&scene.world, &random);
	const carom_sweep_def def = carom_default_sweep_def();
	scene.truth = sweep_find_dully(&scene.world, &def);
	CHECK(scene.truth.count > 0);
	check_each_failing_call(scene.device, &kind, &scene, &(failing_way){ failure, expected, fallback, 40, stride });
	sweep_free_list(&scene.truth);
	sweep_free_world(&scene.world);
	carom_destroy_device(scene.device);
	CHECK_INT(carom_memory_in_use(scene.context), scene.context->size);
	carom_destroy_context(scene.context);
}

TEST(device_sweep, every_call_may_run_out_of_device_memory)
{
	check_failing_calls(VK_ERROR_OUT_OF_DEVICE_MEMORY, CAROM_OUT_OF_MEMORY, false, 7);
}

TEST(device_sweep, a_lost_device_is_an_error_that_names_the_call)
{
	check_failing_calls(VK_ERROR_DEVICE_LOST, CAROM_DEVICE_FAILED, false, 11);
}

TEST(device_sweep, the_processor_takes_over_where_it_is_asked_to)
{
	check_failing_calls(VK_ERROR_DEVICE_LOST, CAROM_SUCCESS, true, 11);
}

TEST(device_sweep, every_allocation_may_fail)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_device *device = open_device(context, true);
	uint64_t random = 7;
	sweep_world world = { 0 };
	make_small(&world, &random);
	carom_sweep_def def = carom_default_sweep_def();
	const sweep_list truth = sweep_find_dully(&world, &def);
	def.device = device;
	failing_calls calls = failing_calls_of_preset();
	int failures = 0;
	for (bool failed = true; failed; failures += failed) {
		carom_sweep *sweep = sweep_load(context, &def, &world);
		carom_sweep_hits hits;
		sweep_tell(sweep, &world);
		fixture_begin_failing(&heap, &calls);
		const carom_result result = carom_sweep_find(sweep, &hits);
		failed = fixture_end_failing(&heap);
		CHECK_INT(result, failed ? CAROM_OUT_OF_MEMORY : CAROM_SUCCESS);
		if (CHECK_INT(carom_sweep_find(sweep, &hits), CAROM_SUCCESS))
			sweep_check_same(hits.data, hits.count, &truth, "after a failed allocation");
		carom_destroy_sweep(sweep);
	}
	CHECK(failures > (calls.by_stack ? 8 : 20));
	failing_calls_free(&calls);
	sweep_free_list((sweep_list *)&truth);
	sweep_free_world(&world);
	carom_destroy_device(device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

/// Messages about objects that were left come when the device is destroyed: the log has them.
static void count_errors(carom_log_level level, const char *text, void *user)
{
	if (level == CAROM_LOG_ERROR)
		printf("%s\n", text);
	*(int *)user += level == CAROM_LOG_ERROR;
}

TEST(device_sweep, the_validation_layer_has_nothing_to_say)
{
	int errors = 0;
	carom_context_def context_def = carom_default_context_def();
	context_def.log = count_errors;
	context_def.log_user = &errors;
	carom_context *context;
	REQUIRE(carom_create_context(&context_def, &context) == CAROM_SUCCESS);
	carom_device_def device_def = carom_default_device_def();
	device_def.validation = device_def.timing = true;
	carom_device *device = fixture_device(context, &device_def);
	uint64_t random = 8;
	sweep_world world = { 0 };
	make_small(&world, &random);
	carom_sweep_def def = carom_default_sweep_def();
	def.device = device;
	carom_sweep *sweep = sweep_load(context, &def, &world);
	carom_sweep_hits hits;
	for (int step = 0; step < 3; step++) {
		CHECK_INT(tell_and_find(sweep, &world, &hits), CAROM_SUCCESS);
		sweep_move(&world, 0.1, 0.1, &random);
	}
	CHECK_INT(carom_device_get_stats(device).validation_messages, 0);
	carom_destroy_sweep(sweep);
	sweep_free_world(&world);
	carom_destroy_device(device);
	CHECK_INT(errors, 0);
	carom_destroy_context(context);
}
