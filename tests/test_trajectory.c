// Recorded motions: reading, checking, and the pose of the ground.

#include "test.h"

#include "io/trajectory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

enum { HEADER = 128, BODIES = 2, FRAMES = 3, SIZE = HEADER + FRAMES * BODIES * 28 };

static void put_u32(unsigned char *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

static void put_float(unsigned char *to, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	put_u32(to, bits);
}

// Two bodies over three frames: body b of frame k at (k, b, 0.5), turned by a quaternion that is 1.0005 long.
static void make_file(unsigned char *bytes)
{
	memset(bytes, 0, SIZE);
	memcpy(bytes, "RBTRAJ1", 7);
	put_u32(bytes + 8, 1);
	put_u32(bytes + 12, HEADER);
	put_u32(bytes + 16, BODIES);
	put_u32(bytes + 20, FRAMES);
	static const float numbers[] = { 0.25f, 0, -9.81f, 0, 0, 2, 0, 3 }; // ground: 2 y = 3
	for (int i = 0; i < 8; i++)
		put_float(bytes + 24 + 4 * i, numbers[i]);
	put_u32(bytes + 56, 453);
	put_u32(bytes + 60, 902);
	put_float(bytes + 64, 0.5f);
	put_float(bytes + 68, 0.125f);
	put_float(bytes + 72, 0.75f);
	put_float(bytes + 76, 0.0625f);
	memcpy(bytes + 96, "name-of-exactly-thirty-two-bytes", 32);
	for (int row = 0; row < FRAMES * BODIES; row++) {
		const float pose[7] = { (float)(row / BODIES), (float)(row % BODIES), 0.5f, 0, 0.6f * 1.0005f, 0, 0.8f * 1.0005f };
		for (int i = 0; i < 7; i++)
			put_float(bytes + HEADER + 28 * row + 4 * i, pose[i]);
	}
}

static bool load(const unsigned char *bytes, size_t size, bool zipped, io_trajectory *trajectory, sim_error *error)
{
	char path[] = "/tmp/carom-motion-XXXXXX";
	const int handle = mkstemp(path);
	REQUIRE(handle >= 0);
	if (zipped) {
		gzFile file = gzdopen(handle, "wb");
		CHECK_INT(gzwrite(file, bytes, (unsigned)size), size);
		gzclose(file);
	} else {
		CHECK_INT(write(handle, bytes, size), size);
		close(handle);
	}
	const bool done = io_load_trajectory(path, trajectory, error);
	remove(path);
	return done;
}

// The file with one byte pattern put in must be refused with this sentence.
static void check_refused(int offset, const void *patch, size_t patch_size, size_t size, const char *sentence)
{
	unsigned char bytes[SIZE];
	io_trajectory trajectory;
	sim_error error = { "" };
	make_file(bytes);
	memcpy(bytes + offset, patch, patch_size);
	CHECK(!load(bytes, size, true, &trajectory, &error));
	CHECK_STR(error.text, sentence);
	CHECK(trajectory.poses == NULL);
}

TEST(trajectory, reads_gzipped_and_plain_files)
{
	unsigned char bytes[SIZE];
	make_file(bytes);
	for (int zipped = 0; zipped < 2; zipped++) {
		io_trajectory t;
		sim_error error;
		REQUIRE(load(bytes, SIZE, zipped, &t, &error));
		CHECK_INT(t.body_count, 2);
		CHECK_INT(t.frame_count, 3);
		CHECK_NEAR(t.time_step, 0.25, 0);
		CHECK_NEAR(t.gravity[1], -9.81f, 0);
		CHECK_NEAR(t.ground[1], 1, 0);
		CHECK_NEAR(t.ground[3], 1.5, 0);
		CHECK_INT(t.mesh_vertex_count, 453);
		CHECK_INT(t.mesh_triangle_count, 902);
		CHECK_NEAR(t.mesh_scale, 0.5, 0);
		CHECK_NEAR(t.margin, 0.125, 0);
		CHECK_NEAR(t.friction, 0.75, 0);
		CHECK_NEAR(t.restitution, 0.0625, 0);
		CHECK_STR(t.mesh_name, "name-of-exactly-thirty-two-bytes");
		for (int frame = 0; frame < FRAMES; frame++) {
			carom_pose poses[BODIES];
			io_trajectory_poses(&t, frame, poses);
			for (int body = 0; body < BODIES; body++) {
				CHECK_NEAR(poses[body].position.x, frame, 0);
				CHECK_NEAR(poses[body].position.y, body, 0);
				CHECK_NEAR(poses[body].position.z, 0.5, 0);
				CHECK_NEAR(poses[body].orientation.y, 0.6, 1e-7);
				const carom_quat q = poses[body].orientation;
				CHECK_NEAR(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w, 1, 1e-15);
			}
		}
		io_free_trajectory(&t);
		io_free_trajectory(&t);
	}
}

TEST(trajectory, refuses_damaged_files)
{
	const unsigned char zero[4] = { 0 }, two[4] = { 2 }, all_ones[4] = { 255, 255, 255, 255 }, most[4] = { 255, 255, 255, 127 };
	unsigned char nan_bytes[4];
	put_float(nan_bytes, NAN);
	check_refused(0, "X", 1, SIZE, "is not a recorded motion: it does not begin with RBTRAJ1");
	check_refused(0, "R", 1, 100, "is not a recorded motion: the file ends too early");
	check_refused(0, "R", 1, 0, "is not a recorded motion: the file ends too early");
	check_refused(8, two, 4, SIZE, "is of another version of the format; version 1 with 128 bytes of header is read");
	check_refused(16, all_ones, 4, SIZE, "has a damaged header: a count is beyond 2147483647");
	check_refused(16, zero, 4, SIZE, "holds no bodies or no frames");
	check_refused(20, zero, 4, SIZE, "holds no bodies or no frames");
	static const char *const header =
		"has a damaged header: a number is not finite, the ground has no normal, or the scale of the mesh is not above 0";
	check_refused(24, nan_bytes, 4, SIZE, header);
	check_refused(44, zero, 4, SIZE, header);
	check_refused(64, zero, 4, SIZE, header);
	check_refused(0, "R", 1, SIZE - 1, "is damaged in frame 2 of 3: the file ends too early; fetch it again");
	check_refused(20, most, 4, SIZE, "is damaged in frame 3 of 2147483647: the file ends too early; fetch it again");
	check_refused(
		HEADER + 28 * 3 + 4, nan_bytes, 4, SIZE, "frame 1, body 1: the pose is not a finite position and a unit quaternion");
	check_refused(
		HEADER + 28 * 5 + 24, zero, 4, SIZE, "frame 2, body 1: the pose is not a finite position and a unit quaternion");
}

static size_t zip(const unsigned char *bytes, size_t size, unsigned char *zipped, size_t room)
{
	z_stream stream = { .next_in = (Bytef *)bytes, .avail_in = (uInt)size, .next_out = zipped, .avail_out = (uInt)room };
	REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
	deflateEnd(&stream);
	return stream.total_out;
}

// The sum of a gzipped file lies behind all that is read from it.
TEST(trajectory, every_cut_and_flip_of_a_gzipped_file_is_found)
{
	unsigned char bytes[SIZE + 1], zipped[2 * SIZE];
	io_trajectory t;
	sim_error error;
	make_file(bytes);
	const size_t size = zip(bytes, SIZE, zipped, sizeof zipped);
	REQUIRE(load(zipped, size, false, &t, &error));
	io_free_trajectory(&t);
	for (size_t length = 0; length < size; length++)
		CHECK(!load(zipped, length, false, &t, &error));
	CHECK(!load(zipped, size - 1, false, &t, &error));
	CHECK_STR(error.text, "is damaged behind its last frame: the file ends too early; fetch it again");
	for (size_t i = size - 8; i < size; i++) { // sum and length
		zipped[i] ^= 1;
		CHECK(!load(zipped, size, false, &t, &error));
		zipped[i] ^= 1;
	}
	bytes[SIZE] = 0;
	for (int way = 0; way < 2; way++) {
		CHECK(!load(bytes, SIZE + 1, way == 1, &t, &error));
		CHECK_STR(error.text, "is damaged behind its last frame: it goes on; fetch it again");
	}
}

// 40 KB that unpack to 40 MB of zeros, in one frame of as many bodies, which are no poses: memory is not taken for what follows
// the first of them.
TEST(trajectory, a_file_of_zeros_takes_no_memory)
{
	const size_t size = (size_t)40 << 20;
	unsigned char *bytes = calloc(1, size), start[SIZE];
	io_trajectory t;
	sim_error error;
	REQUIRE(bytes != NULL);
	make_file(start);
	memcpy(bytes, start, HEADER);
	put_u32(bytes + 16, (uint32_t)((size - HEADER) / 28));
	put_u32(bytes + 20, 1);
	unsigned char *zipped = malloc(size / 100);
	REQUIRE(zipped != NULL);
	const size_t zipped_size = zip(bytes, size, zipped, size / 100);
	free(bytes);
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	CHECK(!load(zipped, zipped_size, false, &t, &error));
	getrusage(RUSAGE_SELF, &after);
	CHECK_STR(error.text, "frame 0, body 0: the pose is not a finite position and a unit quaternion");
	CHECK(after.ru_maxrss - before.ru_maxrss < 16000); // KB
	free(zipped);
}

TEST(trajectory, a_file_that_is_not_there_is_an_error)
{
	io_trajectory t;
	sim_error error;
	CHECK(!io_load_trajectory("/tmp/carom-no-such-file", &t, &error));
	CHECK_STR(error.text, "cannot be opened: No such file or directory");
}

// The half space z <= 0 of the pose must be n . x <= d.
TEST(trajectory, ground_pose_turns_the_plane_to_its_normal)
{
	uint64_t state = 11;
	for (int i = 0; i < 200; i++) {
		io_trajectory t = { 0 };
		double length = 0;
		for (int k = 0; k < 3; k++) {
			// First the six axes, then anything.
			t.ground[k] = i < 6 ? (i / 2 == k) * (i % 2 ? -1.0 : 1.0) : test_random_double(&state, -1, 1);
			length += t.ground[k] * t.ground[k];
		}
		length = sqrt(length);
		for (int k = 0; k < 3; k++)
			t.ground[k] /= length;
		t.ground[3] = test_random_double(&state, -5, 5);
		const carom_pose pose = io_trajectory_ground_pose(&t);
		const carom_vec3 normal = carom_rotate(pose.orientation, (carom_vec3){ 0, 0, 1 });
		CHECK_NEAR(normal.x, t.ground[0], 1e-9);
		CHECK_NEAR(normal.y, t.ground[1], 1e-9);
		CHECK_NEAR(normal.z, t.ground[2], 1e-9);
		const carom_vec3 p = pose.position;
		CHECK_NEAR(p.x * t.ground[0] + p.y * t.ground[1] + p.z * t.ground[2], t.ground[3], 1e-12);
	}
}

TEST(trajectory, reads_the_recorded_avalanche)
{
	io_trajectory t;
	sim_error error;
	REQUIRE(io_load_trajectory(test_data_path("trajectories/scene1.rbt.gz"), &t, &error));
	CHECK_INT(t.body_count, 512);
	CHECK_INT(t.frame_count, 600);
	CHECK_INT(t.mesh_triangle_count, 902);
	CHECK_STR(t.mesh_name, "bullet-bunny-902.obj");
	CHECK_NEAR(t.ground[1], 1, 0);
	io_free_trajectory(&t);
}
