/// @file granular_law.h
/// Force and torque of one contact by the laws of granular.h. Inline: the passes are made once for
/// each kind of law.
///
/// Every formula is odd or even in the exchange of the sides: normals, velocities and histories are
/// exact opposites for (b, a), and so are the forces, since IEEE arithmetic is symmetric in the
/// sign and sums of two terms commute.
#ifndef SIM_GRANULAR_LAW_H
#define SIM_GRANULAR_LAW_H

#include "sim/grains/granular_state.h"

#include <math.h>

// The passes hand constants down to these, which make a loop for each law only when nothing stays a
// call.
#if defined(__GNUC__)
#define GRANULAR_INLINE static inline __attribute__((always_inline))
#define GRANULAR_PREFETCH(address) __builtin_prefetch(address)
#else
#define GRANULAR_INLINE static inline
#define GRANULAR_PREFETCH(address) ((void)(address))
#endif

/// Take the nearest image along periodic axes. d: from one centre to another, both in the box.
GRANULAR_INLINE void granular_nearest_image(const sim_granular *g, double d[3])
{
	for (int k = 0; k < 3; k++) {
		if (!g->def.periodic[k])
			continue;
		const double period = g->def.upper[k] - g->def.lower[k];
		if (d[k] > period / 2)
			d[k] -= period;
		else if (d[k] < -period / 2)
			d[k] += period;
	}
}

/// A contact as one side sees it.
typedef struct granular_contact {
	double normal[3];       // unit, from the other
	double overlap;         // not negative
	double velocity[3];     // of this side less the other's, at the contact point
	double lever;           // from this centre to the contact point
	double rolling[3];      // angular velocity of this side less the other's
	double mass_root;       // of m
	double inverse_inertia; // sum of both sides
	double radius;          // R
} granular_contact;

/// The results of the normal law that the tangential one takes.
typedef struct granular_pressure {
	double force;     // on this side along the normal
	double stiffness; // tangential spring
	double damping;   // tangential dashpot
} granular_pressure;

GRANULAR_INLINE double granular_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Normal force at this overlap and speed of parting.
GRANULAR_INLINE granular_pressure granular_press(
	const granular_coefficients *law, bool hertz, double overlap, double parting, double mass_root, double radius)
{
	if (hertz) {
		const double root = sqrt(radius * overlap);
		const double slope = 2 * law->modulus * root;
		const double shear = 8 * law->shear * root;
		return (granular_pressure){ 2.0 / 3.0 * slope * overlap - law->damping * sqrt(slope) * mass_root * parting, shear,
			law->damping * sqrt(shear) * mass_root };
	}
	// Where the stiffness does not depend on the radii its root is known
	// (granular_make_coefficients).
	const double scale = law->scaled ? radius : 1, scale_root = law->scaled ? sqrt(radius) : 1;
	const double damping = law->damping_root * mass_root * scale_root;
	return (granular_pressure){ law->stiffness * scale * overlap - damping * parting, law->tangential_stiffness * scale,
		damping * law->tangential_damping };
}

/// Turn the spring with the contact: back into the plane across the normal, as long as it was
/// (Luding 2008).
GRANULAR_INLINE void granular_turn_spring(const double normal[3], double spring[3])
{
	const double before = granular_dot(spring, spring);
	const double along = granular_dot(spring, normal);
	for (int k = 0; k < 3; k++)
		spring[k] -= along * normal[k];
	const double after = granular_dot(spring, spring);
	const double scale = after > 0 ? sqrt(before / after) : 0;
	for (int k = 0; k < 3; k++)
		spring[k] *= scale;
}

/// Force across the normal; goes on with the spring.
GRANULAR_INLINE void granular_rub(const granular_coefficients *law, const granular_contact *contact,
	const granular_pressure *pressure, double time_step, double spring[3], double force[3])
{
	granular_turn_spring(contact->normal, spring);
	const double parting = granular_dot(contact->velocity, contact->normal);
	double sliding[3];
	for (int k = 0; k < 3; k++) {
		sliding[k] = contact->velocity[k] - parting * contact->normal[k];
		spring[k] += sliding[k] * time_step;
		force[k] = -pressure->stiffness * spring[k] - pressure->damping * sliding[k];
	}
	const double most = pressure->force > 0 ? law->friction * pressure->force : 0;
	const double squared = granular_dot(force, force);
	if (squared <= most * most)
		return;
	const double scale = most / sqrt(squared);
	for (int k = 0; k < 3; k++) {
		force[k] *= scale;
		// The spring that, with the dashpot, pulls just so much.
		spring[k] = pressure->stiffness > 0 ? -(force[k] + pressure->damping * sliding[k]) / pressure->stiffness : 0;
	}
}

/// Torque against rolling, on this side.
GRANULAR_INLINE void granular_roll(const granular_coefficients *law, const granular_contact *contact,
	const granular_pressure *pressure, double time_step, double torque[3])
{
	const double along = granular_dot(contact->rolling, contact->normal);
	double rolling[3];
	for (int k = 0; k < 3; k++)
		rolling[k] = contact->rolling[k] - along * contact->normal[k];
	const double speed = sqrt(granular_dot(rolling, rolling));
	if (!(speed > 0) || !(pressure->force > 0))
		return;
	const double most = law->rolling_friction * contact->radius * pressure->force;
	const double stopping = speed / (contact->inverse_inertia * time_step);
	const double scale = (most < stopping ? most : stopping) / speed;
	for (int k = 0; k < 3; k++)
		torque[k] = -scale * rolling[k];
}

/// The effect of a contact on this side; to the other side force and rolling are the opposite,
/// twist is the same.
typedef struct granular_reply {
	double force[3];
	double twist[3];   // normal x force: the torque is this times minus the lever
	double rolling[3]; // torque against rolling
} granular_reply;

/// The reply of a contact. spring: NULL without a tangential force.
GRANULAR_INLINE granular_reply granular_touch(
	const granular_coefficients *law, bool hertz, bool turns, const granular_contact *contact, double time_step, double *spring)
{
	const double *n = contact->normal;
	const granular_pressure pressure =
		granular_press(law, hertz, contact->overlap, granular_dot(contact->velocity, n), contact->mass_root, contact->radius);
	granular_reply reply = { { pressure.force * n[0], pressure.force * n[1], pressure.force * n[2] }, { 0 }, { 0 } };
	if (!turns)
		return reply;
	if (law->tangential) {
		double f[3];
		granular_rub(law, contact, &pressure, time_step, spring, f);
		for (int k = 0; k < 3; k++)
			reply.force[k] += f[k];
		reply.twist[0] = n[1] * f[2] - n[2] * f[1];
		reply.twist[1] = n[2] * f[0] - n[0] * f[2];
		reply.twist[2] = n[0] * f[1] - n[1] * f[0];
	}
	if (law->rolling)
		granular_roll(law, contact, &pressure, time_step, reply.rolling);
	return reply;
}

/// A sphere against a body without end, at an overlap along a unit normal that points to the
/// sphere: adds force and torque on the sphere to load [load_width], and goes on with the spring
/// (NULL: none). velocity: of the body where they touch. Returns the effect on the sphere
/// (granular_walls.c).
granular_reply granular_press_sphere(const sim_granular *granular, int64_t index, const double normal[3], double overlap,
	const double velocity[3], double *spring, double *load);

/// Energy of a contact's springs.
GRANULAR_INLINE double granular_spring_energy(
	const granular_coefficients *law, double overlap, double radius, const double *spring)
{
	const granular_pressure pressure = granular_press(law, law->hertz, overlap, 0, 0, radius);
	const double normal = (law->hertz ? 0.4 : 0.5) * pressure.force * overlap;
	return spring ? normal + 0.5 * pressure.stiffness * granular_dot(spring, spring) : normal;
}

#endif
