/// Bodies asleep in a world whose meshes are tested on a graphics device: its results are those of the processor.
#include "device_fixture.h"
#include "fixture.h"

enum { BODIES = 24, STEPS = 12 };

/// Tori in a heap on a floor; each third one is never at rest.
static void fill(carom_world *world, const carom_mesh *torus, carom_body_id ids[BODIES])
{
	uint64_t seed = 8;
	for (int i = 0; i < BODIES; i++) {
		carom_pose pose = fixture_random_pose(&seed, 2);
		pose.position.z = 0.3 * pose.position.z;
		ids[i] = fixture_add(world, fixture_of_mesh(torus), pose, CAROM_DYNAMIC);
	}
	fixture_add(world, fixture_box(9, 9, 1), fixture_at(0, 0, -1.5), CAROM_STATIC);
}

static void live(carom_world *world, const carom_body_id ids[BODIES], int step, uint64_t *seed)
{
	for (int i = 0; i < BODIES; i++) {
		carom_pose pose;
		REQUIRE(carom_world_get_pose(world, ids[i], &pose) == CAROM_SUCCESS);
		pose.position.x += test_random_double(seed, -0.02, 0.02);
		if (i % 3 == 0)
			REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
		else if (step == 3 || (step == 7 && i < BODIES / 2))
			REQUIRE(carom_world_set_asleep(world, 1, &ids[i], step == 3) == CAROM_SUCCESS);
	}
	fixture_step(world);
}

TEST(device_sleep, results_are_those_of_the_processor)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 16, 8, 0.3, 0.1);
	carom_world *worlds[2] = { fixture_world(context, NULL), fixture_world(context, NULL) };
	carom_device *device = fixture_device(context, NULL);
	REQUIRE(carom_world_set_device(worlds[1], device, false) == CAROM_SUCCESS);
	carom_body_id ids[2][BODIES];
	uint64_t seed[2] = { 3, 3 };
	int32_t most = 0, least = INT32_MAX;
	for (int w = 0; w < 2; w++)
		fill(worlds[w], torus, ids[w]);
	for (int step = 0; step < STEPS; step++) {
		for (int w = 0; w < 2; w++)
			live(worlds[w], ids[w], step, &seed[w]);
		const int32_t pairs = carom_world_pairs(worlds[0]).count;
		CHECK(carom_world_hash(worlds[1]) == carom_world_hash(worlds[0]));
		CHECK_INT(carom_world_pairs(worlds[1]).count, pairs);
		most = pairs > most ? pairs : most;
		least = pairs < least ? pairs : least;
	}
	CHECK(least > 0 && least < most);
	for (int w = 0; w < 2; w++)
		carom_destroy_world(worlds[w]);
	carom_destroy_device(device);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}
