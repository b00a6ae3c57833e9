// Reader of RBTRAJ1 files through zlib, which passes files that are not gzipped through unchanged.
#include "io/trajectory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { HEADER_BYTES = 128, POSE_BYTES = 28, BLOCK_POSES = 32768 };

static uint32_t get_u32(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static float get_float(const unsigned char *bytes)
{
	const uint32_t bits = get_u32(bytes);
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static bool all_finite(const double *values, int count)
{
	for (int i = 0; i < count; i++) {
		if (!isfinite(values[i]))
			return false;
	}
	return true;
}

/// Fill everything but the poses. Returns what is wrong, or NULL.
static const char *parse_header(const unsigned char *h, io_trajectory *t)
{
	if (memcmp(h, "RBTRAJ1", 8) != 0)
		return "is not a recorded motion: it does not begin with RBTRAJ1";
	if (get_u32(h + 8) != 1 || get_u32(h + 12) != HEADER_BYTES)
		return "is of another version of the format; version 1 with 128 bytes of header is read";
	if (get_u32(h + 16) > INT32_MAX || get_u32(h + 20) > INT32_MAX || get_u32(h + 56) > INT32_MAX || get_u32(h + 60) > INT32_MAX)
		return "has a damaged header: a count is beyond 2147483647";
	t->body_count = (int32_t)get_u32(h + 16);
	t->frame_count = (int32_t)get_u32(h + 20);
	t->mesh_vertex_count = (int32_t)get_u32(h + 56);
	t->mesh_triangle_count = (int32_t)get_u32(h + 60);
	if (t->body_count == 0 || t->frame_count == 0)
		return "holds no bodies or no frames";
	// time step, gravity, ground; beyond the two counts: scale, margin, friction, restitution
	double numbers[12];
	for (int i = 0; i < 12; i++)
		numbers[i] = (double)get_float(h + (i < 8 ? 24 : 32) + 4 * i);
	t->time_step = numbers[0];
	memcpy(t->gravity, numbers + 1, sizeof t->gravity);
	memcpy(t->ground, numbers + 4, sizeof t->ground);
	t->mesh_scale = numbers[8];
	t->margin = numbers[9];
	t->friction = numbers[10];
	t->restitution = numbers[11];
	memcpy(t->mesh_name, h + 96, 32);
	const double length = sqrt(t->ground[0] * t->ground[0] + t->ground[1] * t->ground[1] + t->ground[2] * t->ground[2]);
	if (!all_finite(numbers, 12) || !(length > 0) || !(t->mesh_scale > 0))
		return "has a damaged header: a number is not finite, the ground has no normal, or the scale of the mesh is not above 0";
	for (int i = 0; i < 4; i++)
		t->ground[i] /= length;
	return NULL;
}

/// Why a read ended before its time.
static const char *reason_of(gzFile file)
{
	int code;
	const char *text = gzerror(file, &code);
	return code == Z_OK || code == Z_BUF_ERROR ? "the file ends too early" : code == Z_ERRNO ? strerror(errno) : text;
}

/// Bring poses to the byte order of the machine and look at each. Returns the index of the first
/// that is none, or count.
static int64_t check_poses(float *poses, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		float *pose = poses + 7 * i;
		double p[7];
		for (int k = 0; k < 7; k++)
			p[k] = (double)(pose[k] = get_float((const unsigned char *)(pose + k)));
		const double length = sqrt(p[3] * p[3] + p[4] * p[4] + p[5] * p[5] + p[6] * p[6]);
		if (!all_finite(p, 7) || !(fabs(length - 1) <= 1e-3))
			return i;
	}
	return count;
}

/// Room for one more block of poses, behind done ones. Doubled, but never more than all.
static bool reserve_poses(io_trajectory *t, int64_t done, int64_t all, int64_t *room)
{
	if (done < *room)
		return true;
	const int64_t wanted = *room < BLOCK_POSES / 2 ? BLOCK_POSES : 2 * *room, most = INT64_MAX / POSE_BYTES;
	*room = wanted < all ? wanted : all;
	float *larger = *room > most ? NULL : realloc(t->poses, (size_t)*room * POSE_BYTES);
	if (!larger)
		return false;
	t->poses = larger;
	return true;
}

/// Read all poses. Memory grows with poses that have arrived and are sound: neither a damaged count
/// nor a file of zeros can ask for more.
static bool read_poses(gzFile file, io_trajectory *t, sim_error *error)
{
	const int64_t all = (int64_t)t->frame_count * t->body_count;
	int64_t room = 0;
	for (int64_t done = 0; done < all;) {
		if (!reserve_poses(t, done, all, &room)) {
			return sim_fail(error, "out of memory after %lld of %d frames", (long long)(done / t->body_count), t->frame_count);
		}
		const int64_t wanted = room - done < BLOCK_POSES ? room - done : BLOCK_POSES;
		const int got = gzread(file, t->poses + 7 * done, (unsigned)(wanted * POSE_BYTES));
		const int64_t whole = got > 0 ? got / POSE_BYTES : 0, sound = check_poses(t->poses + 7 * done, whole);
		done += sound;
		if (sound < whole) {
			return sim_fail(error, "frame %d, body %d: the pose is not a finite position and a unit quaternion",
				(int)(done / t->body_count), (int)(done % t->body_count));
		}
		if (whole < wanted) {
			return sim_fail(error, "is damaged in frame %d of %d: %s; fetch it again", (int)(done / t->body_count),
				t->frame_count, reason_of(file));
		}
	}
	return true;
}

/// Behind the last frame comes the end; that of a gzipped file has a sum of all bytes, which is
/// compared when it is reached.
static bool check_end(gzFile file, sim_error *error)
{
	char more;
	int code;
	const int got = gzread(file, &more, 1);
	gzerror(file, &code);
	if (got == 0 && code == Z_OK)
		return true;
	return sim_fail(error, "is damaged behind its last frame: %s; fetch it again", got > 0 ? "it goes on" : reason_of(file));
}

bool io_load_trajectory(const char *path, io_trajectory *trajectory, sim_error *error)
{
	memset(trajectory, 0, sizeof *trajectory);
	gzFile file = gzopen(path, "rb");
	if (!file) {
		return sim_fail(error, "cannot be opened: %s", strerror(errno));
	}
	unsigned char header[HEADER_BYTES];
	bool done = gzread(file, header, sizeof header) == (int)sizeof header;
	if (!done) {
		sim_fail(error, "is not a recorded motion: %s", reason_of(file));
	} else {
		const char *fault = parse_header(header, trajectory);
		if (fault)
			sim_fail(error, "%s", fault);
		done = !fault && read_poses(file, trajectory, error) && check_end(file, error);
	}
	gzclose(file);
	if (!done)
		io_free_trajectory(trajectory);
	return done;
}

void io_free_trajectory(io_trajectory *trajectory)
{
	free(trajectory->poses);
	memset(trajectory, 0, sizeof *trajectory);
}

void io_trajectory_poses(const io_trajectory *trajectory, int32_t frame, carom_pose *poses)
{
	const float *from = trajectory->poses + 7 * (size_t)frame * (size_t)trajectory->body_count;
	for (int32_t i = 0; i < trajectory->body_count; i++, from += 7) {
		const double x = from[3], y = from[4], z = from[5], w = from[6];
		const double length = sqrt(x * x + y * y + z * z + w * w);
		poses[i].position = (carom_vec3){ from[0], from[1], from[2] };
		poses[i].orientation = (carom_quat){ x / length, y / length, z / length, w / length };
	}
}

carom_pose io_trajectory_ground_pose(const io_trajectory *trajectory)
{
	const double *n = trajectory->ground;
	carom_pose pose = carom_pose_identity();
	pose.position = (carom_vec3){ n[3] * n[0], n[3] * n[1], n[3] * n[2] };
	// The shortest turn from z to n is about z x n: the quaternion (z x n, 1 + z . n), to be
	// brought to unit length. Opposite directions leave the axis open: half a turn about x.
	const double w = 1 + n[2];
	const double length = sqrt(n[0] * n[0] + n[1] * n[1] + w * w);
	if (length > 1e-6)
		pose.orientation = (carom_quat){ -n[1] / length, n[0] / length, 0, w / length };
	else
		pose.orientation = (carom_quat){ 1, 0, 0, 0 };
	return pose;
}
