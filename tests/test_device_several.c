/// Several devices in one world (one driver's device, opened several times): contacts of the processor, bit for bit; pairs that stay
/// where they are; work that is shared; devices that fail or are lost; misuse.
#include "device_failures.h"
#include "device_fixture.h"
#include "fixture.h"
#include "world/world.h"
#include <string.h>

enum { BODIES = 24, MOST = 3 };

/// Worlds with the same bodies: the processor's, then one with devices.
typedef struct twins {
	carom_context *context;
	carom_device *devices[MOST];
	carom_mesh *meshes[3];
	carom_world *worlds[2];
	carom_body_id ids[2][BODIES];
	carom_pose poses[BODIES];
	uint64_t seed;
} twins;

static twins make_twins(int threads, int count, bool fallback)
{
	twins t = { .context = fixture_context(threads), .seed = 11 };
	for (int i = 0; i < MOST; i++)
		t.devices[i] = fixture_device(t.context, NULL);
	t.meshes[0] = fixture_torus_mesh(t.context, 14, 8, 0.35, 0.1);
	t.meshes[1] = fixture_sphere_mesh(t.context, 0.8, 8);
	t.meshes[2] = fixture_box_mesh(t.context, 0.7, 0.5, 0.6);
	for (int i = 0; i < 2; i++)
		t.worlds[i] = fixture_world(t.context, NULL);
	REQUIRE(carom_world_set_devices(t.worlds[1], t.devices, count, fallback) == CAROM_SUCCESS);
	for (int b = 0; b < BODIES; b++) {
		t.poses[b] = fixture_random_pose(&t.seed, 2);
		for (int i = 0; i < 2; i++)
			t.ids[i][b] = fixture_add(t.worlds[i], fixture_of_mesh(t.meshes[b % 3]), t.poses[b], CAROM_DYNAMIC);
	}
	return t;
}

static void shake(twins *t, double most)
{
	for (int b = 0; b < BODIES; b++) {
		t->poses[b].position.x += test_random_double(&t->seed, -most, most);
		t->poses[b].position.y += test_random_double(&t->seed, -most, most);
	}
	for (int i = 0; i < 2; i++)
		REQUIRE(carom_world_set_poses(t->worlds[i], BODIES, t->ids[i], t->poses) == CAROM_SUCCESS);
}

static void step_both(twins *t)
{
	for (int i = 0; i < 2; i++)
		fixture_step(t->worlds[i]);
	CHECK(carom_world_hash(t->worlds[0]) == carom_world_hash(t->worlds[1]));
	const carom_contact_view a = carom_world_contacts(t->worlds[0]), b = carom_world_contacts(t->worlds[1]);
	CHECK(a.count == b.count && a.count > 20 && memcmp(a.data, b.data, (size_t)a.count * sizeof *a.data) == 0);
}

static void end_twins(twins *t)
{
	for (int i = 0; i < 2; i++)
		carom_destroy_world(t->worlds[i]);
	for (int m = 0; m < 3; m++)
		carom_release_mesh(t->meshes[m]);
	for (int i = 0; i < MOST; i++)
		carom_destroy_device(t->devices[i]);
	CHECK_INT(carom_memory_in_use(t->context), t->context->size);
	carom_destroy_context(t->context);
}

static int64_t dispatches(const twins *t, int device) { return carom_device_get_stats(t->devices[device]).dispatches; }

static void check_scene(int threads, int count)
{
	twins t = make_twins(threads, count, false);
	const int64_t before = dispatches(&t, MOST - 1);
	int64_t cast = 0;
	for (int step = 0; step < (TEST_FEWER > 1 ? 5 : 7); step++) {
		step_both(&t);
		const carom_stats stats = carom_world_stats(t.worlds[1]);
		cast += stats.rays_on_device;
		CHECK_INT(stats.device_fallbacks, 0);
		shake(&t, step % 4 == 3 ? 0.2 : 0.003);
	}
	CHECK(cast > 500);
	for (int i = 0; i < count; i++)
		CHECK(dispatches(&t, i) > 3);
	CHECK(count == MOST || dispatches(&t, MOST - 1) == before);
	end_twins(&t);
}

TEST(device_several, contacts_do_not_depend_on_the_number_of_devices)
{
	for (int count = 1; count <= MOST; count++)
		check_scene(1, count);
}

TEST(device_several, contacts_do_not_depend_on_threads) { check_scene(3, 3); }

TEST(device_several, devices_may_change_between_steps)
{
	twins t = make_twins(2, 3, false);
	for (int step = 0; step < 6; step++) {
		step_both(&t);
		shake(&t, 0.05);
		carom_device *turned[MOST] = { t.devices[step % 3], t.devices[(step + 1) % 3], t.devices[(step + 2) % 3] };
		REQUIRE(carom_world_set_devices(t.worlds[1], turned, step % 4, false) == CAROM_SUCCESS);
	}
	end_twins(&t);
}

/// A device that is lost leaves its pairs to the others, without any fallback; where none is left the flag decides.
TEST(device_several, others_do_the_work_of_one_that_is_lost)
{
	twins t = make_twins(1, 3, false);
	step_both(&t);
	for (int lost = 0; lost < MOST; lost++) {
		shake(&t, 0.1);
		failing_calls calls = failing_calls_all(); // the first one
		begin_failing(t.devices[lost], &calls, VK_ERROR_DEVICE_LOST);
		if (lost < MOST - 1) {
			step_both(&t);
			CHECK(carom_world_stats(t.worlds[1]).device_fallbacks > 0);
		} else {
			fixture_step(t.worlds[0]);
			const carom_result result = carom_world_step(t.worlds[1]);
			fixture_expect_error(t.context, result, CAROM_DEVICE_FAILED, s_failed);
		}
		CHECK(end_failing(t.devices[lost]));
		CHECK(carom_device_get_stats(t.devices[lost]).lost);
	}
	REQUIRE(carom_world_set_devices(t.worlds[1], t.devices, 3, true) == CAROM_SUCCESS);
	fixture_step(t.worlds[1]); // the processor's work alone
	CHECK(carom_world_stats(t.worlds[1]).rays_on_device == 0 && carom_world_stats(t.worlds[1]).device_fallbacks > 0);
	CHECK(carom_world_hash(t.worlds[0]) == carom_world_hash(t.worlds[1]));
	for (int i = 0; i < MOST; i++)
		t.devices[i]->stats.lost = false; // it is not, really
	shake(&t, 0.1);
	step_both(&t);
	end_twins(&t);
}

/// Every call of one of two devices fails once: the other one does its work.
TEST(device_several, every_call_of_one_device_may_fail)
{
	twins t = make_twins(1, 2, false);
	step_both(&t);
	failing_calls calls = failing_calls_of_preset();
	int failures = 0;
	for (bool failed = true; failed && failures < 300; failures += failed) {
		REQUIRE(carom_world_set_devices(t.worlds[1], NULL, 0, false) == CAROM_SUCCESS); // its buffers are new
		REQUIRE(carom_world_set_devices(t.worlds[1], t.devices, 2, false) == CAROM_SUCCESS);
		shake(&t, 0.1);
		carom_device *one = t.devices[failures % 2];
		begin_failing(one, &calls, VK_ERROR_OUT_OF_DEVICE_MEMORY);
		step_both(&t);
		failed = end_failing(one);
		CHECK(!failed || carom_world_stats(t.worlds[1]).device_fallbacks > 0);
	}
	CHECK(calls.failed < 0 && failures > (calls.by_stack ? 5 : 10));
	failing_calls_free(&calls);
	end_twins(&t);
}

TEST(device_several, misuse_names_the_device)
{
	twins t = make_twins(1, 3, false);
	carom_context *other = fixture_context(1);
	carom_device *wrong[MOST] = { t.devices[0], t.devices[1], t.devices[0] };
	fixture_expect_wrong(t.context, carom_world_set_devices(t.worlds[1], wrong, 3, false), "devices[2] is devices[0] again");
	wrong[2] = NULL;
	fixture_expect_wrong(t.context, carom_world_set_devices(t.worlds[1], wrong, 3, false), "devices[2] is NULL");
	wrong[2] = fixture_device(other, NULL);
	fixture_expect_wrong(t.context, carom_world_set_devices(t.worlds[1], wrong, 3, false), "another context");
	fixture_expect_wrong(t.context, carom_world_set_devices(t.worlds[1], wrong, 17, false), "count is 17");
	fixture_expect_wrong(t.context, carom_world_set_devices(t.worlds[1], wrong, -1, false), "count is -1");
	fixture_expect_wrong(t.context, carom_world_set_devices(t.worlds[1], NULL, 1, false), "devices is NULL");
	CHECK(carom_world_set_devices(NULL, wrong, 1, false) == CAROM_INVALID_ARGUMENT);
	step_both(&t); // with the devices that there were
	CHECK(carom_world_stats(t.worlds[1]).rays_on_device > 0);
	carom_destroy_device(wrong[2]);
	carom_destroy_context(other);
	end_twins(&t);
}
