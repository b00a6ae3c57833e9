/// Scenes that are run: their parts go through the steps as when each is led by hand, a failure of memory leaves nothing behind.
#include "test.h"

#include "scene/granular_checkpoint.h"
#include "scene/scene_resume.h"
#include "scene/scene_run.h"
#include "scene/soft_fill.h"
#include "sim/base/state_hash.h"
#include "sim/grains/granular_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char MIXED[] =
	"{\"time_step\":0.002,\"meshes\":{\"lump\":{\"shape\":\"lumpy\",\"triangles\":100,\"fit\":[0.2,0.2,0.2],\"centre\":true}},"
	"\"bodies\":{\"list\":[{\"name\":\"ball\",\"shape\":\"mesh\",\"mesh\":\"lump\",\"position\":[0.5,0.7,0.5],\"mass\":2}]},"
	"\"deforming\":{\"substeps\":2,\"obstacles\":[\"ball\"],\"two_way\":true,"
	"\"list\":[{\"form\":\"sheet\",\"size\":[0.6,0.6],\"divisions\":[4,4],\"position\":[0.5,0.59,0.5]}]},"
	"\"spheres\":{\"substeps\":50,\"box\":{\"lower\":[0,0,0],\"upper\":[1,1,1]},\"obstacles\":[\"ball\"],\"two_way\":true,"
	"\"list\":[{\"random\":40,\"radius\":[0.02,0.03],\"seed\":7}]}}";

static const char GRAINS[] = "{\"time_step\":0.0001,\"spheres\":{\"box\":{\"lower\":[0,0,0],\"upper\":[1,1,1]},"
							 "\"list\":[{\"random\":40,\"radius\":[0.02,0.03],\"seed\":7}]}}";

static void parse(const char *text, scene_description *scene)
{
	sim_error error = { "" };
	const bool parsed = scene_parse("test.json", text, strlen(text), scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(parsed);
}

TEST(scene_run, all_parts_go_as_when_they_are_led_by_hand)
{
	enum { STEPS = 8 };
	scene_description scene;
	sim_error error = { "" };
	parse(MIXED, &scene);
	scene_run run = { .scene = &scene }, hand = { .scene = &scene };
	REQUIRE(carom_create_context(NULL, &run.context) == CAROM_SUCCESS);
	hand.context = run.context;
	REQUIRE(scene_run_add_all(&run, NULL, NULL, &error) && scene_run_add_all(&hand, NULL, NULL, &error));
	scene_run_step step;
	for (int i = 0; i < STEPS; i++)
		CHECK(scene_run_step_all(&run, &step, &error));
	CHECK_INT(run.steps, STEPS);
	CHECK(step.bodies.step == STEPS - 1 && step.deforming.step == STEPS && step.spheres.step == STEPS);

	sim_soft_step part;
	for (int i = 0; i < STEPS; i++) {
		CHECK(scene_simulate_step(hand.simulation, NULL, &error));
		sim_soft_guide(hand.soft, 1, scene_simulation_poses(hand.simulation)[0], 0.002);
		double p[3] = { 0 }, l[3] = { 0 }, velocity[3], spin[3];
		for (int k = 1; k <= 2; k++) {
			CHECK(sim_soft_advance(hand.soft, &part, &error));
			const sim_soft_reaction back = sim_soft_get_reaction(hand.soft, 1);
			for (int axis = 0; axis < 3; axis++) {
				p[axis] += back.impulse[axis];
				l[axis] += back.angular_impulse[axis];
			}
		}
		if (p[0] != 0 || p[1] != 0 || p[2] != 0) {
			carom_pose pose = sim_soft_get_solid(hand.soft, 1, velocity, spin);
			const carom_vec3 arm = carom_rotate(pose.orientation, scene_simulation_mass(hand.simulation, 0).centre);
			pose.position = (carom_vec3){ pose.position.x - arm.x, pose.position.y - arm.y, pose.position.z - arm.z };
			scene_simulation_kick(hand.simulation, 0, (carom_vec3){ p[0], p[1], p[2] }, (carom_vec3){ l[0], l[1], l[2] });
			CHECK(scene_simulation_place(hand.simulation, 0, &pose, &error));
		}
		for (int32_t k = 0; k < 50; k++)
			CHECK(scene_meeting_advance(hand.sphere_meeting, k, NULL, &error));
	}
	CHECK_STR(error.text, "");
	sim_granular_frame frame;
	REQUIRE(sim_take_granular_frame(hand.granular, &frame));
	uint64_t wanted = sim_hash_word(SIM_HASH_START, scene_summarise(hand.simulation).hash), hash;
	wanted = sim_hash_word(sim_hash_word(wanted, sim_soft_hash(hand.soft)), sim_hash_granular_frame(&frame));
	sim_free_granular_frame(&frame);
	CHECK(scene_run_hash(&run, &hash, &error) && hash == wanted);
	scene_run_end(&run);
	scene_run_end(&hand);
	carom_destroy_context(run.context);
	scene_destroy(&scene);
}

TEST(scene_run, a_checkpoint_goes_on_at_its_step)
{
	scene_description scene;
	sim_error error = { "" };
	char path[] = "/tmp/carom-scene-run-XXXXXX";
	const int file = mkstemp(path);
	REQUIRE(file >= 0 && close(file) == 0);
	parse(GRAINS, &scene);
	scene_run run = { .scene = &scene }, other = { .scene = &scene };
	REQUIRE(carom_create_context(NULL, &run.context) == CAROM_SUCCESS);
	other.context = run.context;
	CHECK(scene_run_add_all(&run, NULL, NULL, &error));
	for (int i = 0; i < 3; i++)
		CHECK(scene_run_step_all(&run, NULL, &error));
	CHECK(scene_granular_write(run.granular, path, &error));
	CHECK(scene_run_add_all(&other, NULL, path, &error));
	CHECK_INT(other.steps, 3);
	uint64_t hash, again;
	CHECK(scene_run_step_all(&run, NULL, &error) && scene_run_step_all(&other, NULL, &error));
	CHECK(scene_run_hash(&run, &hash, &error) && scene_run_hash(&other, &again, &error) && hash == again);
	CHECK_STR(error.text, "");
	scene_run_end(&other);
	scene.spheres.substeps = 2; // of which it has done one and a half steps
	CHECK(!scene_run_add_all(&other, NULL, path, &error));
	CHECK(strstr(error.text, "has done 3 substeps, which is not a whole number of steps of 2"));
	scene_run_end(&other);
	scene_run_end(&run);
	carom_destroy_context(run.context);
	scene_destroy(&scene);
	remove(path);
}

/// Save a run, make another one of the file, and let both do one step more: their hashes must agree.
static bool goes_on(scene_run *run, const char *path, sim_error *error)
{
	scene_run other = { .scene = run->scene, .context = run->context };
	uint64_t hash, again;
	const bool done = scene_save_run(run, path, NULL, error) && scene_run_add_all(&other, NULL, path, error) &&
		scene_run_step_all(run, NULL, error) && scene_run_step_all(&other, NULL, error) && scene_run_hash(run, &hash, error) &&
		scene_run_hash(&other, &again, error);
	if (done)
		CHECK(hash == again && other.steps == run->steps);
	scene_run_end(&other);
	return done;
}

TEST(scene_run, checkpoints_of_all_parts_go_on)
{
	scene_description scene;
	sim_error error = { "" };
	char path[] = "/tmp/carom-scene-run-XXXXXX";
	const int file = mkstemp(path);
	REQUIRE(file >= 0 && close(file) == 0);
	parse(MIXED, &scene);
	scene_run run = { .scene = &scene };
	REQUIRE(carom_create_context(NULL, &run.context) == CAROM_SUCCESS);
	CHECK(scene_run_add_all(&run, NULL, NULL, &error));
	for (int i = 0; i < 8; i++)
		CHECK(goes_on(&run, path, &error));
	CHECK_STR(error.text, "");

	// What a caller adds comes back, and may be nothing.
	sim_tape report = { .writing = true };
	double number = 7.5;
	sim_tape_move(&report, &number, sizeof number);
	scene_resume resume = { 0 };
	CHECK(scene_save_run(&run, path, &report, &error) && scene_open_resume(&resume, &run, path, &error));
	number = 0;
	REQUIRE(scene_resume_report(&resume) != NULL);
	sim_tape_move(scene_resume_report(&resume), &number, sizeof number);
	CHECK(number == 7.5 && sim_tape_is_done(scene_resume_report(&resume)));
	scene_close_resume(&resume);
	CHECK(scene_save_run(&run, path, NULL, &error) && scene_open_resume(&resume, &run, path, &error));
	CHECK(scene_resume_report(&resume) == NULL && scene_resume_grains(&resume) != NULL);
	scene_close_resume(&resume);
	sim_free_tape(&report);
	scene_run_end(&run);
	carom_destroy_context(run.context);
	scene_destroy(&scene);
	remove(path);
}

typedef struct meagre {
	int64_t left, asked;
} meagre;

static void *give(size_t size, size_t alignment, void *user)
{
	meagre *memory = user;
	memory->asked++;
	return memory->left-- > 0 ? test_allocate(size, alignment) : NULL;
}

static void take_back(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment, (void)user;
	test_release(pointer);
}

/// Each failure of the context's memory ends the making of the parts, a step, a checkpoint or a restart with a text; the sanitizers see that all is given back.
TEST(scene_run, failures_of_memory_are_told)
{
	scene_description scene;
	char path[] = "/tmp/carom-scene-run-XXXXXX";
	const int file = mkstemp(path);
	REQUIRE(file >= 0 && close(file) == 0);
	parse(MIXED, &scene);
	int64_t most = 1;
	for (int64_t count = 0; count < most; count += 1 + most / 9) {
		meagre memory = { count, 0 };
		carom_context_def def = carom_default_context_def();
		def.allocator = (carom_allocator){ .allocate = give, .release = take_back, .user = &memory };
		def.thread_count = 1;
		scene_run run = { .scene = &scene };
		sim_error error = { "" };
		memory.left = INT64_MAX;
		REQUIRE(carom_create_context(&def, &run.context) == CAROM_SUCCESS);
		memory = (meagre){ most == 1 ? INT64_MAX : count, 0 };
		const bool done = scene_run_add_all(&run, NULL, NULL, &error) && scene_run_step_all(&run, NULL, &error) &&
			goes_on(&run, path, &error);
		CHECK(done == (most == 1));
		CHECK(done == !*error.text);
		if (most == 1)
			most = memory.asked;
		memory.left = INT64_MAX;
		scene_run_end(&run);
		carom_destroy_context(run.context);
	}
	CHECK(most > 20);
	scene_destroy(&scene);
	remove(path);
}
