// Reader of RBTRAJ1 files through zlib, which passes files that are not gzipped through unchanged.
#include "sim/trajectory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { HEADER_BYTES = 128, POSE_BYTES = 28 };

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
	for (int i = 0; i < count; i++)
		if (!isfinite(values[i]))
			return false;
	return true;
}

// Fill everything but the poses. Returns what is wrong, or NULL.
static const char *parse_header(const unsigned char *h, sim_trajectory *t)
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
	double numbers[12]; // time step, gravity, ground; beyond the two counts: scale, margin, friction, restitution
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

// Read count bytes; false at the end of the file, on damage and on errors, with the reason in *reason.
static bool read_bytes(gzFile file, void *bytes, size_t count, const char **reason)
{
	char *to = bytes;
	while (count > 0) {
		const unsigned piece = count < 1u << 30 ? (unsigned)count : 1u << 30;
		const int got = gzread(file, to, piece);
		if (got <= 0 || (unsigned)got < piece) {
			int code;
			const char *text = gzerror(file, &code);
			*reason = code == Z_OK || code == Z_BUF_ERROR ? "the file ends too early"
				: code == Z_ERRNO                         ? strerror(errno)
														  : text;
			return false;
		}
		to += got;
		count -= (size_t)got;
	}
	return true;
}

// Read all frames. Memory grows with what arrives, so that a damaged count cannot ask for more than the file holds.
static bool read_poses(gzFile file, sim_trajectory *t, char *error, size_t error_size)
{
	const size_t frame_bytes = (size_t)t->body_count * POSE_BYTES;
	size_t capacity = 0;
	for (int32_t frame = 0; frame < t->frame_count; frame++) {
		if ((size_t)frame == capacity) {
			capacity = capacity ? 2 * capacity : 1;
			if (capacity > (size_t)t->frame_count)
				capacity = (size_t)t->frame_count;
			float *larger = capacity > SIZE_MAX / frame_bytes ? NULL : realloc(t->poses, capacity * frame_bytes);
			if (!larger) {
				snprintf(error, error_size, "out of memory after %d of %d frames", frame, t->frame_count);
				return false;
			}
			t->poses = larger;
		}
		const char *reason;
		if (!read_bytes(file, t->poses + 7 * (size_t)frame * (size_t)t->body_count, frame_bytes, &reason)) {
			snprintf(error, error_size, "is damaged in frame %d of %d: %s; fetch it again", frame, t->frame_count, reason);
			return false;
		}
	}
	return true;
}

// Bring the poses to the byte order of the machine and look at each.
static bool check_poses(sim_trajectory *t, char *error, size_t error_size)
{
	for (int32_t frame = 0; frame < t->frame_count; frame++) {
		for (int32_t body = 0; body < t->body_count; body++) {
			float *pose = t->poses + 7 * ((size_t)frame * (size_t)t->body_count + (size_t)body);
			double p[7];
			for (int i = 0; i < 7; i++)
				p[i] = (double)(pose[i] = get_float((const unsigned char *)(pose + i)));
			const double length = sqrt(p[3] * p[3] + p[4] * p[4] + p[5] * p[5] + p[6] * p[6]);
			if (all_finite(p, 7) && fabs(length - 1) <= 1e-3)
				continue;
			snprintf(
				error, error_size, "frame %d, body %d: the pose is not a finite position and a unit quaternion", frame, body);
			return false;
		}
	}
	return true;
}

bool sim_load_trajectory(const char *path, sim_trajectory *trajectory, char *error, size_t error_size)
{
	memset(trajectory, 0, sizeof *trajectory);
	gzFile file = gzopen(path, "rb");
	if (!file) {
		snprintf(error, error_size, "cannot be opened: %s", strerror(errno));
		return false;
	}
	unsigned char header[HEADER_BYTES];
	const char *reason;
	bool done = read_bytes(file, header, sizeof header, &reason);
	if (!done) {
		snprintf(error, error_size, "is not a recorded motion: %s", reason);
	} else {
		const char *fault = parse_header(header, trajectory);
		if (fault)
			snprintf(error, error_size, "%s", fault);
		done = !fault && read_poses(file, trajectory, error, error_size) && check_poses(trajectory, error, error_size);
	}
	gzclose(file);
	if (!done)
		sim_free_trajectory(trajectory);
	return done;
}

void sim_free_trajectory(sim_trajectory *trajectory)
{
	free(trajectory->poses);
	memset(trajectory, 0, sizeof *trajectory);
}

void sim_trajectory_poses(const sim_trajectory *trajectory, int32_t frame, carom_pose *poses)
{
	const float *from = trajectory->poses + 7 * (size_t)frame * (size_t)trajectory->body_count;
	for (int32_t i = 0; i < trajectory->body_count; i++, from += 7) {
		const double x = from[3], y = from[4], z = from[5], w = from[6];
		const double length = sqrt(x * x + y * y + z * z + w * w);
		poses[i].position = (carom_vec3){ from[0], from[1], from[2] };
		poses[i].orientation = (carom_quat){ x / length, y / length, z / length, w / length };
	}
}

carom_pose sim_trajectory_ground_pose(const sim_trajectory *trajectory)
{
	const double *n = trajectory->ground;
	carom_pose pose = carom_pose_identity();
	pose.position = (carom_vec3){ n[3] * n[0], n[3] * n[1], n[3] * n[2] };
	// The shortest turn from z to n is about z x n: the quaternion (z x n, 1 + z . n), to be brought to unit length. Opposite
	// directions leave the axis open: half a turn about x.
	const double w = 1 + n[2];
	const double length = sqrt(n[0] * n[0] + n[1] * n[1] + w * w);
	if (length > 1e-6)
		pose.orientation = (carom_quat){ -n[1] / length, n[0] / length, 0, w / length };
	else
		pose.orientation = (carom_quat){ 1, 0, 0, 0 };
	return pose;
}
