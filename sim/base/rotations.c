// Rotations and random numbers: see rotations.h.
#include "sim/base/rotations.h"

#include <math.h>

/// By its Taylor series, |x| <= pi / 2 after folding.
double sim_sine(double x)
{
	x -= 2 * SIM_PI * floor(x / (2 * SIM_PI) + 0.5);
	if (x > SIM_PI / 2)
		x = SIM_PI - x;
	if (x < -SIM_PI / 2)
		x = -SIM_PI - x;
	double term = x, sum = x;
	for (int k = 1; k < 14; k++) {
		term *= -x * x / ((2 * k) * (2 * k + 1));
		sum += term;
	}
	return sum;
}

double sim_cosine(double x) { return sim_sine(x + SIM_PI / 2); }

double sim_length3(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

carom_quat sim_axis_angle(const double axis[3], double angle)
{
	const double s = sim_sine(angle / 2) / sim_length3(axis);
	return (carom_quat){ axis[0] * s, axis[1] * s, axis[2] * s, sim_cosine(angle / 2) };
}

carom_quat sim_multiply(carom_quat a, carom_quat b)
{
	return (carom_quat){
		a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
		a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
		a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
		a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
	};
}

carom_quat sim_unit_quat(carom_quat q)
{
	const double s = 1 / sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
	return (carom_quat){ q.x * s, q.y * s, q.z * s, q.w * s };
}

carom_vec3 sim_apply_tensor(const double t[6], carom_vec3 v)
{
	return (carom_vec3){ t[0] * v.x + t[3] * v.y + t[4] * v.z, t[3] * v.x + t[1] * v.y + t[5] * v.z,
		t[4] * v.x + t[5] * v.y + t[2] * v.z };
}

carom_vec3 sim_apply_turned_tensor(const double tensor[6], carom_quat q, carom_vec3 v)
{
	return carom_rotate(q, sim_apply_tensor(tensor, carom_rotate(sim_conjugate(q), v)));
}

void sim_turn_tensor(const double tensor[6], carom_quat q, double turned[6])
{
	const carom_vec3 x = sim_apply_turned_tensor(tensor, q, (carom_vec3){ 1, 0, 0 });
	const carom_vec3 y = sim_apply_turned_tensor(tensor, q, (carom_vec3){ 0, 1, 0 });
	const carom_vec3 z = sim_apply_turned_tensor(tensor, q, (carom_vec3){ 0, 0, 1 });
	turned[0] = x.x;
	turned[1] = y.y;
	turned[2] = z.z;
	turned[3] = x.y;
	turned[4] = x.z;
	turned[5] = y.z;
}

bool sim_invert_tensor(const double a[6], double inverse[6])
{
	const double xx = a[1] * a[2] - a[5] * a[5], xy = a[4] * a[5] - a[3] * a[2], xz = a[3] * a[5] - a[4] * a[1];
	const double determinant = a[0] * xx + a[3] * xy + a[4] * xz;
	const double cofactors[6] = { xx, a[0] * a[2] - a[4] * a[4], a[0] * a[1] - a[3] * a[3], xy, xz, a[3] * a[4] - a[0] * a[5] };
	for (int k = 0; k < 6; k++)
		inverse[k] = cofactors[k] / determinant;
	return determinant > 0;
}

/// (z x n, 1 + z . n), made unit.
carom_quat sim_rotation_to_normal(const double n[3])
{
	if (n[2] < -1 + 1e-12)
		return (carom_quat){ 1, 0, 0, 0 };
	return sim_unit_quat((carom_quat){ -n[1], n[0], 0, 1 + n[2] });
}

/// Splitmix64 (Steele, Lea, Flood 2014).
double sim_random_unit(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return (double)(int64_t)(z >> 11) * (2.0 / 9007199254740992.0) - 1.0;
}

carom_quat sim_random_rotation(uint64_t *state, double most)
{
	double axis[3];
	double length;
	do {
		for (int i = 0; i < 3; i++)
			axis[i] = sim_random_unit(state);
		length = sim_length3(axis);
	} while (length > 1 || length < 0.1);
	return sim_axis_angle(axis, most * sim_random_unit(state));
}
