// Recorded motions: trajectories, recordings of bodies and checkpoints of spheres.
#include "fuzz.h"

#include "scene/granular_checkpoint.h"
#include "io/recording.h"
#include "io/trajectory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MOST_BODIES = 2000, MOST_FRAMES = 4, MOST_CONTACTS = 5000 };

// Hand the bytes of a file on as a seed.
static void keep_file(const char *path, const char *name, fuzz_keep_fn *keep, void *user)
{
	enum { ROOM = 1 << 20 };
	uint8_t *bytes = malloc(ROOM);
	FILE *file = fopen(path, "rb");
	const size_t size = file && bytes ? fread(bytes, 1, ROOM, file) : 0;
	FUZZ_REQUIRE(size > 0 && size < ROOM, "%s", path);
	fclose(file);
	keep(name, bytes, size, user);
	free(bytes);
}

// ---- Trajectories ----

static void put_float(uint8_t *bytes, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
}

static void seeds_trajectory(fuzz_keep_fn *keep, void *user)
{
	enum { HEADER = 128, BODIES = 3, FRAMES = 2, SIZE = HEADER + BODIES * FRAMES * 28 };
	uint8_t bytes[SIZE] = "RBTRAJ1";
	bytes[8] = 1;
	bytes[12] = HEADER;
	bytes[16] = BODIES;
	bytes[20] = FRAMES;
	put_float(bytes + 24, 1.0f / 60);
	put_float(bytes + 32, -9.81f);
	put_float(bytes + 44, 1);
	bytes[56] = bytes[60] = 4;
	put_float(bytes + 64, 1);
	memcpy(bytes + 96, "mesh.obj", 8);
	for (int i = 0; i < BODIES * FRAMES; i++) {
		put_float(bytes + HEADER + 28 * i, (float)i);
		put_float(bytes + HEADER + 28 * i + 24, 1);
	}
	keep("three_bodies.rbt", bytes, SIZE, user);
	const char *path = fuzz_file(bytes, 0, ".rbt.gz");
	gzFile file = gzopen(path, "wb");
	FUZZ_REQUIRE(file && gzwrite(file, bytes, SIZE) == SIZE && gzclose(file) == Z_OK, "%s", path);
	keep_file(path, "three_bodies.rbt.gz", keep, user);
}

FUZZ_TARGET(trajectory, seeds_trajectory, false)
{
	io_trajectory t;
	sim_error error = { "" };
	if (!io_load_trajectory(fuzz_file(data, size, ".rbt"), &t, &error)) {
		FUZZ_REQUIRE(error.text[0] && !t.poses, "a failure without a word, or with poses: %s", error.text);
		return false;
	}
	carom_pose *poses = malloc((size_t)t.body_count * sizeof *poses);
	FUZZ_REQUIRE(poses, "out of memory");
	for (int32_t frame = 0; frame < t.frame_count && frame < MOST_FRAMES; frame++) {
		io_trajectory_poses(&t, frame, poses);
		for (int32_t i = 0; i < t.body_count; i++) {
			const carom_quat q = poses[i].orientation;
			FUZZ_REQUIRE(
				isfinite(poses[i].position.x) && fabs(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w - 1) < 1e-9, "body %d", i);
		}
	}
	(void)io_trajectory_ground_pose(&t);
	free(poses);
	io_free_trajectory(&t);
	return true;
}

// ---- Recordings ----

static void seeds_recording(fuzz_keep_fn *keep, void *user)
{
	static const float vertices[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	static const int32_t triangles[12] = { 0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2 };
	sim_error error;
	const char *path = fuzz_file((const uint8_t *)"", 0, ".h5");
	const io_recording_info info = { .time_step = 0.1, .contacts = true, .scene_text = "{}", .scene_name = "seed" };
	io_recorder *recorder = io_create_recorder(path, &info, &error);
	FUZZ_REQUIRE(recorder, "%s", error.text);
	const io_recorded_mesh mesh = { "tetra", 4, 4, vertices, triangles };
	bool done = io_recorder_add_mesh(recorder, &mesh, &error);
	const io_recorded_body bodies[2] = { { .kind = CAROM_DYNAMIC, .type = CAROM_MESH, .mesh = 0 },
		{ .kind = CAROM_STATIC, .type = CAROM_PLANE, .mesh = -1 } };
	for (int i = 0; i < 2; i++)
		done = done && io_recorder_add_body(recorder, &bodies[i], &error);
	const carom_pose poses[2] = { carom_pose_identity(), carom_pose_identity() };
	const io_recorded_contact contact = { 0, 1, { 0, 0, 0 }, { 0, 0, 1 }, 0.1f, 2, 0, CAROM_VOLUMES };
	for (int i = 0; i < 3; i++)
		done = done && io_recorder_add_frame(recorder, 0.1 * i, poses, &contact, i % 2, &error);
	FUZZ_REQUIRE(io_close_recorder(recorder, &error) && done, "%s", error.text);
	keep_file(path, "two_bodies.h5", keep, user);
}

static void read_frames(io_recording *recording)
{
	sim_error error;
	carom_pose *poses = malloc((size_t)io_recording_body_count(recording) * sizeof *poses + 1);
	io_recorded_contact *contacts = malloc(MOST_CONTACTS * sizeof *contacts);
	FUZZ_REQUIRE(poses && contacts, "out of memory");
	for (int32_t i = 0; i < io_recording_frame_count(recording) && i < MOST_FRAMES; i++) {
		(void)io_recording_get_time(recording, i);
		(void)io_recording_read_poses(recording, i, poses, &error);
		if (io_recording_contact_count(recording, i) <= MOST_CONTACTS)
			(void)io_recording_read_contacts(recording, i, contacts, &error);
	}
	free(poses);
	free(contacts);
}

FUZZ_TARGET(recording, seeds_recording, true)
{
	sim_error error = { "" };
	io_recording *recording = io_open_recording(fuzz_file(data, size, ".h5"), &error);
	FUZZ_REQUIRE(recording || error.text[0], "a failure without a word");
	if (recording && io_recording_body_count(recording) <= MOST_BODIES)
		read_frames(recording);
	io_close_recording(recording);
	return recording != NULL;
}

// ---- Checkpoints ----

static carom_context *the_context(void)
{
	static carom_context *context;
	if (!context)
		context = fuzz_context(CAROM_SIMD_AUTO);
	return context;
}

static void seeds_checkpoint(fuzz_keep_fn *keep, void *user)
{
	static const double centres[9] = { 0.5, 0.5, 0.5, 0.58, 0.5, 0.5, 0.5, 0.05, 0.5 };
	static const double radii[3] = { 0.05, 0.05, 0.06 };
	sim_error error;
	sim_granular_def def = sim_default_granular_def();
	def.count = 3;
	def.centres = (carom_strided){ centres, 0, CAROM_FLOAT64 };
	def.radii = (carom_strided){ radii, 0, CAROM_FLOAT64 };
	sim_granular *granular = sim_create_granular(the_context(), &def, &error);
	FUZZ_REQUIRE(granular, "%s", error.text);
	FUZZ_REQUIRE(sim_granular_advance(granular, NULL, &error), "%s", error.text);
	const char *path = fuzz_file((const uint8_t *)"", 0, ".h5");
	FUZZ_REQUIRE(scene_granular_write(granular, path, &error), "%s", error.text);
	keep_file(path, "three_spheres.h5", keep, user);
	sim_destroy_granular(granular);
}

FUZZ_TARGET(checkpoint, seeds_checkpoint, true)
{
	sim_error error = { "" };
	const size_t before = carom_memory_in_use(the_context());
	sim_granular *granular = scene_granular_read(the_context(), fuzz_file(data, size, ".h5"), NULL, &error);
	FUZZ_REQUIRE(granular || error.text[0], "a failure without a word");
	if (granular)
		(void)sim_granular_advance(granular, NULL, &error);
	sim_destroy_granular(granular);
	FUZZ_REQUIRE(carom_memory_in_use(the_context()) == before, "something is left");
	return granular != NULL;
}
