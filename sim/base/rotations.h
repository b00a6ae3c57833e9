/// @file rotations.h
/// Rotations and random numbers for the start of a scene, which must be the same bits on every
/// machine: no trigonometry of the C library, whose last bit differs between them.
#ifndef SIM_ROTATIONS_H
#define SIM_ROTATIONS_H

#include "carom/math.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_PI 3.14159265358979323846

/// Sine of an angle in radians.
double sim_sine(double x);
/// Cosine of an angle in radians.
double sim_cosine(double x);

double sim_length3(const double v[3]);

/// Rotation by an angle (radians) about an axis that is not zero.
carom_quat sim_axis_angle(const double axis[3], double angle);

/// First b, then a.
carom_quat sim_multiply(carom_quat a, carom_quat b);

/// Scale a quaternion to length 1: it is still that rotation. q must not be zero.
carom_quat sim_unit_quat(carom_quat q);

/// The rotation back.
static inline carom_quat sim_conjugate(carom_quat q) { return (carom_quat){ -q.x, -q.y, -q.z, q.w }; }

/// A symmetric tensor, as carom_mass has inertia [6], times a vector.
carom_vec3 sim_apply_tensor(const double tensor[6], carom_vec3 v);

/// A tensor of the frame of a body that is turned by q, times a vector of the world.
carom_vec3 sim_apply_turned_tensor(const double tensor[6], carom_quat q, carom_vec3 v);

/// That tensor in the world's frame.
void sim_turn_tensor(const double tensor[6], carom_quat q, double turned[6]);

/// The inverse of a symmetric tensor, by cofactors. False where it is not positive.
bool sim_invert_tensor(const double tensor[6], double inverse[6]);

/// The shortest rotation that takes z to a unit vector.
carom_quat sim_rotation_to_normal(const double n[3]);

/// The next number of a sequence, uniform in [-1, 1). *state is the seed at first.
double sim_random_unit(uint64_t *state);

/// A rotation by an angle uniform in -most..most (radians) about an axis uniform on the sphere.
carom_quat sim_random_rotation(uint64_t *state, double most);

#endif
