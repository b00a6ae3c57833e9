/// @file rotations.h
/// Rotations and random numbers for the start of a scene, which must be the same bits on every
/// machine: no trigonometry of the C library, whose last bit differs between them.
#ifndef SIM_ROTATIONS_H
#define SIM_ROTATIONS_H

#include "carom/math.h"

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

/// The shortest rotation that takes z to a unit vector.
carom_quat sim_rotation_to_normal(const double n[3]);

/// The next number of a sequence, uniform in [-1, 1). *state is the seed at first.
double sim_random_unit(uint64_t *state);

/// A rotation by an angle uniform in -most..most (radians) about an axis uniform on the sphere.
carom_quat sim_random_rotation(uint64_t *state, double most);

#endif
