/// Small vectors and rotations, float (v3f) and double (v3d). Plain loops of plain operations: the
/// compiler may not contract them (-ffp-contract=off), so every compiler gives the same bits.
#ifndef CR_MATH_VEC_H
#define CR_MATH_VEC_H

#include "base/float_mode.h"
#include "carom/math.h"
#include <math.h>

typedef carom_vec3 v3d;
typedef struct v3f {
	float x, y, z;
} v3f;
/// Rows of a 3x3 matrix.
typedef struct m3d {
	v3d row[3];
} m3d;

static inline v3d v3d_make(double x, double y, double z) { return (v3d){ x, y, z }; }
static inline v3d v3d_add(v3d a, v3d b) { return (v3d){ a.x + b.x, a.y + b.y, a.z + b.z }; }
static inline v3d v3d_sub(v3d a, v3d b) { return (v3d){ a.x - b.x, a.y - b.y, a.z - b.z }; }
static inline v3d v3d_scale(v3d a, double s) { return (v3d){ a.x * s, a.y * s, a.z * s }; }
static inline v3d v3d_neg(v3d a) { return (v3d){ -a.x, -a.y, -a.z }; }
static inline double v3d_dot(v3d a, v3d b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline v3d v3d_cross(v3d a, v3d b)
{
	return (v3d){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}
static inline double v3d_length(v3d a) { return sqrt(v3d_dot(a, a)); }
/// a / |a|, or zero for a zero vector.
static inline v3d v3d_normalize(v3d a)
{
	double length = v3d_length(a);
	return length > 0 ? v3d_scale(a, 1 / length) : (v3d){ 0, 0, 0 };
}
/// a + s b
static inline v3d v3d_mad(v3d a, double s, v3d b) { return (v3d){ a.x + s * b.x, a.y + s * b.y, a.z + s * b.z }; }
static inline v3d v3d_from_floats(const float *p) { return (v3d){ p[0], p[1], p[2] }; }
static inline v3d v3d_from_doubles(const double *p) { return (v3d){ p[0], p[1], p[2] }; }
static inline v3d v3d_from_v3f(v3f a) { return (v3d){ a.x, a.y, a.z }; }
static inline v3f v3f_from_v3d(v3d a) { return (v3f){ (float)a.x, (float)a.y, (float)a.z }; }
static inline double v3d_get(v3d a, int axis) { return axis == 0 ? a.x : axis == 1 ? a.y : a.z; }

static inline v3f v3f_sub(v3f a, v3f b) { return (v3f){ a.x - b.x, a.y - b.y, a.z - b.z }; }
static inline float v3f_dot(v3f a, v3f b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline v3f v3f_cross(v3f a, v3f b)
{
	return (v3f){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}

/// Turns by b first, then by a.
static inline carom_quat quat_mul(carom_quat a, carom_quat b)
{
	return (carom_quat){ a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
		a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z };
}

/// Matrix of a unit quaternion.
static inline m3d m3d_from_quat(carom_quat q)
{
	double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
	double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
	return (m3d){ { { 1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy) }, { 2 * (xy + wz), 1 - 2 * (xx + zz), 2 * (yz - wx) },
		{ 2 * (xz - wy), 2 * (yz + wx), 1 - 2 * (xx + yy) } } };
}
static inline v3d m3d_mul(const m3d *m, v3d v)
{
	return (v3d){ v3d_dot(m->row[0], v), v3d_dot(m->row[1], v), v3d_dot(m->row[2], v) };
}
/// Transposed matrix times v.
static inline v3d m3d_tmul(const m3d *m, v3d v)
{
	return v3d_mad(v3d_mad(v3d_scale(m->row[0], v.x), v.y, m->row[1]), v.z, m->row[2]);
}
static inline m3d m3d_transposed(const m3d *m)
{
	return (m3d){ { { m->row[0].x, m->row[1].x, m->row[2].x }, { m->row[0].y, m->row[1].y, m->row[2].y },
		{ m->row[0].z, m->row[1].z, m->row[2].z } } };
}
/// a^T b
static inline m3d m3d_transpose_mul(const m3d *a, const m3d *b)
{
	m3d r;
	for (int i = 0; i < 3; i++) {
		v3d column = { v3d_get(a->row[0], i), v3d_get(a->row[1], i), v3d_get(a->row[2], i) };
		r.row[i] = m3d_tmul(b, column);
	}
	return r;
}

/// The pose of b in the frame of a.
static inline void cr_relative_pose(const carom_pose *a, const carom_pose *b, m3d *rotation, v3d *position)
{
	const m3d ra = m3d_from_quat(a->orientation), rb = m3d_from_quat(b->orientation);
	*rotation = m3d_transpose_mul(&ra, &rb);
	*position = m3d_tmul(&ra, v3d_sub(b->position, a->position));
}

/// Next float below / above a double: for boxes rounded outward.
static inline float cr_round_down(double x)
{
	float f = (float)x;
	return (double)f <= x ? f : nextafterf(f, -INFINITY);
}
static inline float cr_round_up(double x)
{
	float f = (float)x;
	return (double)f >= x ? f : nextafterf(f, INFINITY);
}

#endif
