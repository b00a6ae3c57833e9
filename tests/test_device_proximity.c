/// Near pairs on a device: those of the processor, bit for bit, in scenes of all kinds and sizes, beside shapes; windows; failures of
/// every kind.
#include "device_failures.h"
#include "device_fixture.h"
#include "device_ring.h"
#include "fixture.h"
#include "io/mesh_file.h"
#include "near_fixture.h"
#include "sweep_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A world of swept meshes, which rest at their beginnings, with a ball and a plane.
static carom_proximity *load(carom_context *context, const carom_proximity_def *def, const sweep_world *world, double size)
{
	carom_proximity *scene;
	REQUIRE(carom_create_proximity(context, def, &scene) == CAROM_SUCCESS);
	for (int i = 0; i < world->count; i++) {
		const sweep_mesh *m = &world->meshes[i];
		carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
		mesh.vertices = (carom_strided){ m->begin, 0, CAROM_FLOAT64 };
		mesh.vertex_count = m->vertex_count;
		mesh.triangles = m->triangles;
		mesh.triangle_count = m->triangle_count;
		mesh.self = m->self;
		mesh.is_rigid = m->is_rigid;
		mesh.category = m->category;
		mesh.mask = m->mask;
		mesh.group = m->group;
		int32_t number;
		REQUIRE(carom_proximity_add_mesh(scene, &mesh, &number) == CAROM_SUCCESS);
	}
	carom_proximity_shape_def shape = carom_default_proximity_shape_def();
	shape.shape.radius = 0.3 * size;
	int32_t number;
	REQUIRE(carom_proximity_add_shape(scene, &shape, &number) == CAROM_SUCCESS);
	return scene;
}

static void place(carom_proximity *scene, const sweep_world *world)
{
	for (int i = 0; i < world->count; i++) {
		const carom_strided places = { world->meshes[i].begin, 0, CAROM_FLOAT64 };
		REQUIRE(carom_proximity_place_mesh(scene, i, &places) == CAROM_SUCCESS);
	}
}

static bool is_same_shape_pair(const carom_proximity_shape_pair *a, const carom_proximity_shape_pair *b)
{
	return a->shape == b->shape && a->mesh == b->mesh && memcmp(a->vertices, b->vertices, sizeof a->vertices) == 0 &&
		a->triangle == b->triangle && memcmp(a->weight, b->weight, sizeof a->weight) == 0 &&
		fixture_same_vector(a->point, b->point) && fixture_same_vector(a->normal, b->normal) && a->gap == b->gap;
}

static void check_views(const carom_proximity_view *expected, const carom_proximity_view *view, const char *what)
{
	bool same =
		CHECK_INT(view->pair_count, expected->pair_count) && CHECK_INT(view->shape_pair_count, expected->shape_pair_count);
	for (int64_t i = 0; same && i < view->pair_count; i++)
		same = CHECK(near_is_same(&view->pairs[i], &expected->pairs[i]));
	for (int64_t i = 0; same && i < view->shape_pair_count; i++)
		same = CHECK(is_same_shape_pair(&view->shape_pairs[i], &expected->shape_pairs[i]));
	if (!same)
		printf("%s\n", what);
}

/// Search twins within a distance, and compare. Returns the number of pairs of meshes; *shape_pairs is added to.
static int64_t check_search(carom_proximity *scenes[2], double distance, int64_t *shape_pairs, const char *what)
{
	carom_proximity_view views[2];
	for (int d = 0; d < 2; d++)
		REQUIRE(carom_proximity_find(scenes[d], distance, &views[d]) == CAROM_SUCCESS);
	check_views(&views[0], &views[1], what);
	const carom_sweep_stats stats = carom_proximity_get_stats(scenes[1]);
	CHECK(stats.device_fallbacks == 0 && stats.device_left >= views[1].pair_count);
	*shape_pairs += views[1].shape_pair_count;
	return views[1].pair_count;
}

static void make_world(sweep_world *world, uint64_t *random)
{
	const int count = 1 + (int)(test_random(random) % 4);
	for (int i = 0; i < count; i++) {
		sweep_mesh *mesh = sweep_add_random(world, random);
		mesh->self = test_random(random) % 4 != 0;
		mesh->is_rigid = test_random(random) % 5 == 0;
		mesh->mask = test_random(random) % 6 == 0 ? 2 : mesh->mask;
		mesh->group = test_random(random) % 6 == 0 ? -1 : 0;
		sweep_shift(mesh, 0.7 * i, 0.1 * i, 0);
	}
}

static carom_device *open_device(carom_context *context, bool staging)
{
	carom_device_def def = carom_default_device_def();
	def.staging = staging;
	return fixture_device(context, &def);
}

/// Twins of a world: on the processor and on a device.
static void load_twins(
	carom_context *context, carom_device *device, const sweep_world *world, double size, carom_proximity *scenes[2])
{
	carom_proximity_def def = carom_default_proximity_def();
	scenes[0] = load(context, &def, world, size);
	def.device = device;
	scenes[1] = load(context, &def, world, size);
}

static void check_random(bool staging, int rounds, uint64_t random)
{
	static const double DISTANCES[] = { 0.05, 0.2, 0.2, 1e-7 }; // the third search is of the same boxes
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, staging);
	int64_t total = 0, beside_shapes = 0;
	for (int round = 0; round < rounds && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		make_world(&world, &random);
		carom_proximity *scenes[2];
		load_twins(context, device, &world, 1, scenes);
		for (int step = 0; step < 4; step++) {
			if (step != 2)
				sweep_move(&world, 0.1, step ? 0.02 : 0, &random);
			char what[64];
			snprintf(what, sizeof what, "round %d, step %d", round, step);
			for (int d = 0; d < 2 && step != 2; d++)
				place(scenes[d], &world);
			total += check_search(scenes, DISTANCES[step], &beside_shapes, what);
		}
		for (int d = 0; d < 2; d++)
			carom_destroy_proximity(scenes[d]);
		sweep_free_world(&world);
	}
	CHECK(total > 100 * rounds && beside_shapes > rounds);
	carom_destroy_device(device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(device_proximity, pairs_are_those_of_the_processor) { check_random(false, 30 / TEST_FEWER, 1); }
TEST(device_proximity, pairs_are_those_of_the_processor_through_the_ring) { check_random(true, 6, 2); }

/// Sizes over what floats hold, and distances down to what differences of places are rounded by.
TEST(device_proximity, scenes_of_all_sizes)
{
	static const double SIZES[] = { 1e-150, 1e-60, 1e-30, 1e-9, 1e6, 1e11 };
	static const double SHARES[] = { 0.1, 1e-3, 1e-9, 1e-15 };
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, false);
	uint64_t random = 3;
	int64_t total = 0, beside_shapes = 0;
	for (size_t size = 0; size < sizeof SIZES / sizeof *SIZES; size++) {
		sweep_world world = { 0 };
		sweep_add_sheet(&world, 7, 7, 1);
		sweep_add_torus(&world, 6, 5);
		sweep_add_mess(&world, 12, 20, &random);
		for (int i = 0; i < world.count; i++) {
			for (int32_t k = 0; k < 3 * world.meshes[i].vertex_count; k++)
				world.meshes[i].begin[k] *= SIZES[size];
		}
		carom_proximity *scenes[2];
		load_twins(context, device, &world, SIZES[size], scenes);
		for (size_t share = 0; share < sizeof SHARES / sizeof *SHARES; share++) {
			char what[64];
			snprintf(what, sizeof what, "size %g, distance %g of it", SIZES[size], SHARES[share]);
			total += check_search(scenes, SHARES[share] * SIZES[size], &beside_shapes, what);
		}
		for (int d = 0; d < 2; d++)
			carom_destroy_proximity(scenes[d]);
		sweep_free_world(&world);
	}
	CHECK(total > 1000 && beside_shapes > 10);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_proximity, scenes_of_nothing_have_no_pairs)
{
	carom_context *context = fixture_context(1);
	carom_device *device = open_device(context, false);
	sweep_world world = { 0 };
	carom_proximity *scenes[2];
	int64_t none = 0;
	load_twins(context, device, &world, 1, scenes);
	CHECK_INT(check_search(scenes, 1, &none, "no mesh"), 0);
	for (int d = 0; d < 2; d++)
		carom_destroy_proximity(scenes[d]);
	sweep_add_tetrahedron(&world)->triangle_count = 1; // beside which there is none
	load_twins(context, device, &world, 10, scenes);
	CHECK_INT(check_search(scenes, 1, &none, "a triangle"), 0);
	CHECK(none > 0);
	for (int d = 0; d < 2; d++)
		carom_destroy_proximity(scenes[d]);
	sweep_free_world(&world);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_proximity, safe_displacements_and_the_bound_on_pairs_hold)
{
	enum { NODES = 8 };
	carom_context *context = fixture_context(1);
	carom_device *device = open_device(context, false);
	sweep_world world = { 0 };
	sweep_add_sheet(&world, NODES, NODES, 1);
	sweep_shift(sweep_add_sheet(&world, NODES, NODES, 1), 0.03, 0.05, 0.02);
	carom_proximity *scenes[2];
	int64_t beside_shapes = 0;
	load_twins(context, device, &world, 1, scenes);
	const int64_t count = check_search(scenes, 0.1, &beside_shapes, "sheets");
	double safe[2][NODES * NODES];
	for (int mesh = 0; mesh < 2; mesh++) {
		for (int d = 0; d < 2; d++)
			REQUIRE(carom_proximity_get_safe_displacements(scenes[d], mesh, safe[d]) == CAROM_SUCCESS);
		CHECK(memcmp(safe[0], safe[1], sizeof safe[0]) == 0);
	}
	carom_proximity_def def = carom_default_proximity_def();
	def.device = device;
	def.max_pairs = count - 1;
	carom_proximity *bounded = load(context, &def, &world, 1e-9);
	carom_proximity_view view;
	fixture_expect_error(context, carom_proximity_find(bounded, 0.1, &view), CAROM_OVER_BUDGET, "max_pairs");
	CHECK(carom_proximity_find(bounded, 0.01, &view) == CAROM_SUCCESS);
	carom_destroy_proximity(bounded);
	for (int d = 0; d < 2; d++)
		carom_destroy_proximity(scenes[d]);
	sweep_free_world(&world);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_proximity, more_candidates_than_there_is_room_for_come_in_windows)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	sweep_world world = { 0 };
	sweep_add_sheet(&world, 14, 14, 1);
	carom_device_def device_def = carom_default_device_def();
	device_def.memory_budget =
		(size_t)CR_GPU_READBACK_SIZE + fixture_ring_size(context) + 700000; // 150,000 candidates would take 2.4 MB
	carom_device *device = fixture_device(context, &device_def);
	carom_proximity *scenes[2];
	int64_t beside_shapes = 0;
	load_twins(context, device, &world, 1, scenes);
	for (int step = 0; step < 2; step++) // the second one knows how many there are
		CHECK(check_search(scenes, 2, &beside_shapes, "windows") > 150000);
	CHECK(carom_device_get_stats(device).bytes_peak <= device_def.memory_budget);
	CHECK(carom_device_get_stats(device).submissions > 8);
	for (int d = 0; d < 2; d++)
		carom_destroy_proximity(scenes[d]);
	sweep_free_world(&world);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_proximity, cloth_ball_is_that_of_the_processor)
{
	sim_error error;
	sim_mesh frame;
	REQUIRE(io_load_mesh(test_data_path("ccd/cloth-ball/frames/cloth_ball92.ply"), &frame, &error));
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	carom_device *device = open_device(context, false);
	carom_proximity *scenes[2];
	for (int d = 0; d < 2; d++) {
		carom_proximity_def def = carom_default_proximity_def();
		def.device = d ? device : NULL;
		REQUIRE(carom_create_proximity(context, &def, &scenes[d]) == CAROM_SUCCESS);
		carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
		mesh.vertices = (carom_strided){ frame.vertices, 0, CAROM_FLOAT32 };
		mesh.vertex_count = frame.vertex_count;
		mesh.triangles = frame.triangles;
		mesh.triangle_count = frame.triangle_count;
		int32_t id;
		REQUIRE(carom_proximity_add_mesh(scenes[d], &mesh, &id) == CAROM_SUCCESS);
	}
	int64_t none = 0;
	CHECK(check_search(scenes, 0.01, &none, "cloth-ball") > 10000);
	// A lost order along the curve would show in the number of boxes that are looked at.
	const carom_sweep_stats stats = carom_proximity_get_stats(scenes[1]);
	CHECK(stats.volume_tests < 100 * (stats.tests_vf + stats.tests_ee + stats.edges));
	for (int d = 0; d < 2; d++)
		carom_destroy_proximity(scenes[d]);
	sim_mesh_free(&frame);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

// ---- Misuse and failures ----

TEST(device_proximity, a_device_of_another_context_is_refused)
{
	carom_context *one = fixture_context(1), *other = fixture_context(1);
	carom_proximity_def def = carom_default_proximity_def();
	def.device = fixture_device(one, NULL);
	carom_proximity *scene;
	fixture_expect_wrong(other, carom_create_proximity(other, &def, &scene), "carom_proximity_def.device is of another context");
	carom_destroy_device(def.device);
	carom_destroy_context(one);
	carom_destroy_context(other);
}

static void make_small(sweep_world *world)
{
	sweep_add_sheet(world, 4, 4, 1);
	sweep_shift(sweep_add_tetrahedron(world), 0, 0, 0.1);
}

/// The scene of failing calls, and what was found in it.
typedef struct failing_scene {
	carom_context *context;
	carom_device *device;
	sweep_world world;
	carom_proximity_view truth, view;
} failing_scene;

static void *make_failing(void *user, bool fallback)
{
	failing_scene *scene = user;
	carom_proximity_def def = carom_default_proximity_def();
	def.device = scene->device;
	def.device_fallback = fallback;
	return load(scene->context, &def, &scene->world, 1);
}

static carom_result find_failing(void *detector, void *user)
{
	return carom_proximity_find(detector, 0.2, &((failing_scene *)user)->view);
}

static bool is_failing_right(const void *user)
{
	const failing_scene *scene = user;
	check_views(&scene->truth, &scene->view, "a call that fails");
	return scene->view.pair_count == scene->truth.pair_count;
}

static int64_t failing_fallbacks(const void *detector) { return carom_proximity_get_stats(detector).device_fallbacks; }
static void destroy_failing(void *detector) { carom_destroy_proximity(detector); }

static void check_failing_calls(VkResult failure, carom_result expected, bool fallback, int stride)
{
	static const failing_detector kind = { make_failing, find_failing, is_failing_right, failing_fallbacks, destroy_failing };
	failing_scene scene = { .context = fixture_context(1) };
	carom_device_def device_def = carom_default_device_def();
	device_def.staging = device_def.timing = true;
	scene.device = fixture_device(scene.context, &device_def);
	make_small(&scene.world);
	carom_proximity *plain = load(scene.context, NULL, &scene.world, 1);
	REQUIRE(carom_proximity_find(plain, 0.2, &scene.truth) == CAROM_SUCCESS);
	CHECK(scene.truth.pair_count > 20 && scene.truth.shape_pair_count > 4);
	check_each_failing_call(scene.device, &kind, &scene, &(failing_way){ failure, expected, fallback, 40, stride });
	carom_destroy_proximity(plain);
	sweep_free_world(&scene.world);
	carom_destroy_device(scene.device);
	CHECK_INT(carom_memory_in_use(scene.context), scene.context->size);
	carom_destroy_context(scene.context);
}

TEST(device_proximity, every_call_may_run_out_of_device_memory)
{
	check_failing_calls(VK_ERROR_OUT_OF_DEVICE_MEMORY, CAROM_OUT_OF_MEMORY, false, 9);
}

TEST(device_proximity, a_lost_device_is_an_error_that_names_the_call)
{
	check_failing_calls(VK_ERROR_DEVICE_LOST, CAROM_DEVICE_FAILED, false, 9);
}

TEST(device_proximity, the_processor_takes_over_where_it_is_asked_to)
{
	check_failing_calls(VK_ERROR_DEVICE_LOST, CAROM_SUCCESS, true, 9);
}

TEST(device_proximity, every_allocation_may_fail)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	sweep_world world = { 0 };
	make_small(&world);
	carom_proximity_def def = carom_default_proximity_def();
	carom_proximity *plain = load(context, &def, &world, 1);
	carom_proximity_view truth, view;
	REQUIRE(carom_proximity_find(plain, 0.2, &truth) == CAROM_SUCCESS);
	def.device = open_device(context, true);
	failing_calls calls = failing_calls_of_preset();
	int failures = 0;
	for (bool failed = true; failed; failures += failed) {
		carom_proximity *scene = load(context, &def, &world, 1);
		fixture_begin_failing(&heap, &calls);
		const carom_result result = carom_proximity_find(scene, 0.2, &view);
		failed = fixture_end_failing(&heap);
		CHECK_INT(result, failed ? CAROM_OUT_OF_MEMORY : CAROM_SUCCESS);
		if (CHECK_INT(carom_proximity_find(scene, 0.2, &view), CAROM_SUCCESS))
			check_views(&truth, &view, "after a failed allocation");
		carom_destroy_proximity(scene);
	}
	CHECK(failures > (calls.by_stack ? 8 : 20));
	failing_calls_free(&calls);
	carom_destroy_proximity(plain);
	sweep_free_world(&world);
	carom_destroy_device(def.device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}
