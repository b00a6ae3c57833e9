/// @file top.h
/// How a rigid body turns that nothing pushes: its angular momentum stays, its energy too. Not
/// thread-safe for one top; the same bits on every machine.
#ifndef SIM_TOP_H
#define SIM_TOP_H

#include "carom/math.h"

#include <stdbool.h>

/// A rigid body's inertia, made ready.
typedef struct sim_top {
	double inertia[6]; ///< xx, yy, zz, xy, xz, yz in the body's frame, kg m2
	double inverse[6]; ///< of the inertia
	carom_quat axes;   ///< takes x, y, z to the principal axes in the body's frame; z is the odd
	/// 1 / Ix, and what 1 / Iy and 1 / Iz are above it; 1 / (kg m2)
	double round, flat, odd;
} sim_top;

/// Make a top of an inertia. False where it is not positive definite.
bool sim_make_top(const double inertia[6], sim_top *top);

/// The orientation after so many seconds of free turning, from the orientation q. The angular
/// momentum (kg m2 / s) is that about the centre of mass, in the world's frame.
carom_quat sim_turn_freely(const sim_top *top, carom_quat q, carom_vec3 momentum, double duration);

/// The orientation after so many seconds of turning at a constant angular velocity (world frame).
carom_quat sim_turn_by(carom_quat q, carom_vec3 spin, double duration);

/// Angular momentum of a body in the orientation q, from its angular velocity; world frame.
carom_vec3 sim_spin_to_momentum(const sim_top *top, carom_quat q, carom_vec3 spin);

/// Angular velocity of a body in the orientation q, from its angular momentum; world frame.
carom_vec3 sim_momentum_to_spin(const sim_top *top, carom_quat q, carom_vec3 momentum);

#endif
