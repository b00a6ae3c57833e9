// Poses between keys: see keys.h.
#include "sim/base/keys.h"

#include "carom/mesh.h"
#include "sim/base/rotations.h"
#include "sim/base/vectors.h"

#include <math.h>

// ---- Rotations ----

/// q = (sin(a / 2) n, cos(a / 2)) with a from 0 to pi. Three square roots of it are within a
/// sixteenth of pi, where the series of the arc sine is short.
carom_vec3 sim_rotation_vector(carom_quat q)
{
	enum { ROOTS = 3, TERMS = 14 };
	if (q.w < 0)
		q = (carom_quat){ -q.x, -q.y, -q.z, -q.w };
	for (int i = 0; i < ROOTS; i++)
		q = sim_unit_quat((carom_quat){ q.x, q.y, q.z, q.w + 1 });
	const carom_vec3 v = { q.x, q.y, q.z };
	const double square = sim_dot(v, v);
	double ratio = 1; // of the arc sine to the sine
	for (int k = TERMS; k > 0; k--) {
		const double odd = 2 * k - 1, even = 2 * k;
		ratio = 1 + ratio * square * odd * odd / (even * (even + 1));
	}
	return sim_scale(v, ratio * 2 * (1 << ROOTS));
}

static carom_quat rotation_of(carom_vec3 v)
{
	const double angle = sim_length(v);
	if (angle < 1e-12)
		return sim_unit_quat((carom_quat){ 0.5 * v.x, 0.5 * v.y, 0.5 * v.z, 1 });
	return sim_axis_angle((const double[3]){ v.x, v.y, v.z }, angle);
}

/// From a to b, in the frame of a (and of b: it leaves its axis alone).
static carom_vec3 turn_between(carom_quat a, carom_quat b) { return sim_rotation_vector(sim_multiply(sim_conjugate(a), b)); }

void sim_pose_velocity(const carom_pose *from, const carom_pose *to, double seconds, carom_vec3 *velocity, carom_vec3 *spin)
{
	const carom_quat turn = sim_multiply(to->orientation, sim_conjugate(from->orientation));
	*velocity = sim_scale(sim_subtract(to->position, from->position), 1 / seconds);
	*spin = sim_scale(sim_rotation_vector(turn), 1 / seconds);
}

// ---- Slopes ----

/// Between two keys: how long it takes, and the mean velocities.
typedef struct span {
	double seconds;
	carom_vec3 velocity, turn;
} span;

static span span_from(const sim_keys *keys, int32_t k)
{
	const sim_key *a = &keys->list[k], *b = &keys->list[k + 1];
	const double seconds = b->time - a->time;
	return (span){ seconds, sim_scale(sim_subtract(b->pose.position, a->pose.position), 1 / seconds),
		sim_scale(turn_between(a->pose.orientation, b->pose.orientation), 1 / seconds) };
}

/// The slope between two spans of a number: none where it turns back, else a weighted harmonic
/// mean, at most three times the smaller one.
static double slope(double h0, double d0, double h1, double d1)
{
	if (!(d0 * d1 > 0))
		return 0;
	const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
	return (w0 + w1) / (w0 / d0 + w1 / d1);
}

static carom_vec3 slopes(double h0, carom_vec3 a, double h1, carom_vec3 b)
{
	return (carom_vec3){ slope(h0, a.x, h1, b.x), slope(h0, a.y, h1, b.y), slope(h0, a.z, h1, b.z) };
}

/// Velocities at a key.
static span at_key(const sim_keys *keys, int32_t k)
{
	const bool end = k == 0 || k == keys->count - 1;
	if (end && !keys->loop)
		return (span){ 0 };
	const span before = span_from(keys, end ? keys->count - 2 : k - 1), after = span_from(keys, end ? 0 : k);
	return (span){ 0, slopes(before.seconds, before.velocity, after.seconds, after.velocity),
		slopes(before.seconds, before.turn, after.seconds, after.turn) };
}

// ---- Poses ----

static double hermite(double a, double va, double b, double vb, double u)
{
	const double v = 1 - u;
	return a + (b - a) * u * u * (1 + 2 * v) + va * u * v * v - vb * u * u * v;
}

/// A part u of the way from key k on.
static carom_pose smooth_pose(const sim_keys *keys, int32_t k, double u)
{
	const carom_pose *a = &keys->list[k].pose, *b = &keys->list[k + 1].pose;
	const double h = keys->list[k + 1].time - keys->list[k].time, v = 1 - u;
	const span from = at_key(keys, k), to = at_key(keys, k + 1);
	const carom_vec3 p = a->position, q = b->position;
	const carom_vec3 position = { hermite(p.x, h * from.velocity.x, q.x, h * to.velocity.x, u),
		hermite(p.y, h * from.velocity.y, q.y, h * to.velocity.y, u),
		hermite(p.z, h * from.velocity.z, q.z, h * to.velocity.z, u) };
	// Cumulative Bernstein polynomials of the three turns.
	const carom_vec3 first = sim_scale(from.turn, h / 3), last = sim_scale(to.turn, h / 3);
	const carom_quat begin = sim_multiply(a->orientation, rotation_of(first));
	const carom_quat end = sim_multiply(b->orientation, rotation_of(sim_scale(last, -1)));
	carom_quat turned = sim_multiply(a->orientation, rotation_of(sim_scale(first, 1 - v * v * v)));
	turned = sim_multiply(turned, rotation_of(sim_scale(turn_between(begin, end), u * u * (3 - 2 * u))));
	turned = sim_multiply(turned, rotation_of(sim_scale(last, u * u * u)));
	return (carom_pose){ position, sim_unit_quat(turned) };
}

static carom_pose straight_pose(const sim_keys *keys, int32_t k, double u)
{
	const carom_pose *a = &keys->list[k].pose, *b = &keys->list[k + 1].pose;
	const carom_vec3 way = sim_subtract(b->position, a->position);
	const carom_quat turn = rotation_of(sim_scale(turn_between(a->orientation, b->orientation), u));
	return (carom_pose){ sim_add(a->position, sim_scale(way, u)), sim_unit_quat(sim_multiply(a->orientation, turn)) };
}

/// The last key at a time or before it; there is one.
static int32_t key_before(const sim_keys *keys, double time)
{
	int32_t low = 0, high = keys->count; // the answer is in [low, high)
	while (high - low > 1) {
		const int32_t middle = low + (high - low) / 2;
		if (keys->list[middle].time <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

carom_pose sim_keys_pose(const sim_keys *keys, double time)
{
	const double first = keys->list[0].time, length = keys->list[keys->count - 1].time - first;
	if (keys->loop)
		time = fmin(time - length * floor((time - first) / length), first + length);
	if (time <= first)
		return keys->list[0].pose;
	if (time >= first + length)
		return keys->list[keys->count - 1].pose;
	const int32_t k = key_before(keys, time);
	const double u = (time - keys->list[k].time) / (keys->list[k + 1].time - keys->list[k].time);
	return u > 0 ? (keys->smooth ? smooth_pose : straight_pose)(keys, k, fmin(u, 1)) : keys->list[k].pose;
}

// ---- Faults ----

static bool is_pose_of_loop(const carom_pose *a, const carom_pose *b)
{
	static const double METRES = 1e-6, RADIANS = 1e-5;
	return sim_length(sim_subtract(a->position, b->position)) <= METRES &&
		sim_length(turn_between(a->orientation, b->orientation)) <= RADIANS;
}

const char *sim_keys_fault(const sim_keys *keys, int32_t *key)
{
	for (int32_t i = 0; i < keys->count; i++) {
		const sim_key *k = &keys->list[i];
		const carom_vec3 p = k->pose.position;
		const carom_quat q = k->pose.orientation;
		const double square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
		*key = i;
		if (!(k->time >= (i > 0 ? k[-1].time + 1e-9 : 0) && k->time <= 1e6))
			return "time";
		if (!(fabs(p.x) <= CAROM_MAX_COORDINATE && fabs(p.y) <= CAROM_MAX_COORDINATE && fabs(p.z) <= CAROM_MAX_COORDINATE))
			return "pose.position";
		if (!(fabs(square - 1) <= 1e-6))
			return "pose.orientation";
	}
	if (keys->loop && (keys->count < 2 || !is_pose_of_loop(&keys->list[0].pose, &keys->list[keys->count - 1].pose)))
		return "loop";
	return NULL;
}
