/// The force between two spheres that touch, after Silbert et al. 2001 and Brilliantov et al. 1996,
/// as LAMMPS' granular pair styles have it. Seen from the other sphere every number is the exact
/// opposite, so that each of two processes may compute its own side.
#ifndef CAROM_LAMMPS_GRAIN_LAW_H
#define CAROM_LAMMPS_GRAIN_LAW_H

#include "carom_lammps.h"
#include <math.h>

typedef struct vec3 {
	double x, y, z;
} vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){ a.x + b.x, a.y + b.y, a.z + b.z }; }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){ a.x - b.x, a.y - b.y, a.z - b.z }; }
static inline vec3 vec3_scale(vec3 a, double s) { return (vec3){ s * a.x, s * a.y, s * a.z }; }
static inline double vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static inline vec3 vec3_cross(vec3 a, vec3 b)
{
	return (vec3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}

static inline vec3 vec3_read(const double *values) { return (vec3){ values[0], values[1], values[2] }; }

/// Where the force of a contact of meshes acts: both surfaces are as far from here.
static inline vec3 rigid_middle(vec3 point, vec3 normal, double depth)
{
	return vec3_add(point, vec3_scale(normal, 0.5 * depth));
}

/// Of spheres a and b, seen from a.
typedef struct grain_contact {
	vec3 normal;    ///< from b to a
	double overlap; ///< above 0
	vec3 velocity;  ///< of a less that of b
	vec3 spin;      ///< r_a omega_a + r_b omega_b
	double mass;    ///< m_a m_b / (m_a + m_b)
	double radius;  ///< r_a r_b / (r_a + r_b)
} grain_contact;

typedef struct grain_force {
	vec3 force;    ///< on a
	vec3 friction; ///< the part of it along the surface; a's torque is -r_a normal x friction
} grain_force;

/// Sliding friction without memory.
static inline vec3 grain_rub(const carom_lammps_law *law, vec3 slip, double mass, double push)
{
	const double speed = sqrt(vec3_dot(slip, slip));
	const double most = law->xmu * fabs(push), viscous = mass * law->gammat * speed;
	const double size = viscous < most ? viscous : most;
	return vec3_scale(slip, speed > 0 ? -size / speed : 0);
}

/// A spring along the surface, which follows the turning contact and yields beyond the limit of
/// friction. time_step 0: it is not stretched.
static inline vec3 grain_stretch(const carom_lammps_law *law, vec3 normal, vec3 slip, double damping, double scale, double push,
	double time_step, vec3 *spring)
{
	vec3 s = vec3_add(*spring, vec3_scale(slip, time_step));
	const bool stretched = vec3_dot(s, s) > 0;
	const double along = time_step > 0 ? vec3_dot(s, normal) : 0;
	s = vec3_sub(s, vec3_scale(normal, along));
	const vec3 viscous = vec3_scale(slip, damping);
	const vec3 friction = vec3_scale(vec3_add(vec3_scale(s, law->kt), viscous), -scale);
	const double size = sqrt(vec3_dot(friction, friction)), most = law->xmu * fabs(push);
	// Where it slides, the spring is as long as the friction that is left. Choices between numbers,
	// not branches: compilers then do several contacts at once.
	const double share = size > most ? most / size : 1, left = stretched ? 1 : 0;
	const double soft = law->kt > 0 ? 1 / law->kt : 0, yields = size > most ? left * law->kt : 0;
	const vec3 rest = vec3_scale(viscous, soft);
	const vec3 cut = vec3_sub(vec3_scale(vec3_add(s, rest), share), rest);
	spring->x = yields > 0 ? cut.x : s.x;
	spring->y = yields > 0 ? cut.y : s.y;
	spring->z = yields > 0 ? cut.z : s.z;
	const double kept = size > most ? share * left : 1;
	return vec3_scale(friction, kept);
}

/// What a spring against motion along the surface, or against rolling, gives: it turns with the
/// contact and keeps its length (Luding 2008), and yields beyond a limit. time_step 0: it stays.
static inline vec3 grain_hold(
	vec3 normal, vec3 slip, double stiffness, double damping, double most, double time_step, vec3 *spring)
{
	const double along = vec3_dot(*spring, normal), length = sqrt(vec3_dot(*spring, *spring));
	const vec3 flat = vec3_sub(*spring, vec3_scale(normal, along));
	const double left = sqrt(vec3_dot(flat, flat));
	// As LAMMPS does, a spring that lies along the surface already stays as it is.
	const bool turns = time_step > 0 && fabs(along) * stiffness > 1e-10 * most;
	const double grown = left > 0 ? length / left : 0;
	vec3 s = { turns ? flat.x * grown : spring->x, turns ? flat.y * grown : spring->y, turns ? flat.z * grown : spring->z };
	s = vec3_add(s, vec3_scale(slip, time_step));
	const vec3 viscous = vec3_scale(slip, damping), force = vec3_scale(vec3_add(vec3_scale(s, stiffness), viscous), -1);
	const double size = sqrt(vec3_dot(force, force));
	const bool yields = size > most, stretched = vec3_dot(s, s) > 0;
	const double share = yields ? most / size : 1, soft = stiffness > 0 ? -1 / stiffness : 0;
	const vec3 cut = vec3_scale(vec3_add(vec3_scale(force, share), viscous), soft);
	const bool shortens = yields && stretched;
	spring->x = shortens ? cut.x : s.x;
	spring->y = shortens ? cut.y : s.y;
	spring->z = shortens ? cut.z : s.z;
	return vec3_scale(force, yields && !stretched ? 0 : share);
}

/// What a contact with rolling friction does, beside its force: turns of both ends.
typedef struct grain_rolling {
	vec3 spin;           ///< omega_a less omega_b
	double near, far;    ///< radii of a and b
	vec3 turn_a, turn_b; ///< torques on a and b, by their radii, with the sign changed
} grain_rolling;

/// pair_style granular with hooke, mass_velocity, linear_history and rolling sds: rolling as of
/// Wang et al. 2015, springs along the surface and of rolling. Friction acts in the middle of the
/// overlap.
static inline grain_force grain_roll(
	const carom_lammps_law *law, const grain_contact *c, double time_step, vec3 *spring, vec3 *rolled, grain_rolling *roll)
{
	const double approach = vec3_dot(c->velocity, c->normal), damping = c->mass * law->gamman;
	const vec3 along = vec3_sub(c->velocity, vec3_scale(c->normal, approach));
	const vec3 slip = vec3_sub(along, vec3_cross(c->spin, c->normal));
	const double push = law->kn * c->overlap - damping * approach, press = fabs(push);
	grain_force result;
	result.friction = grain_hold(c->normal, slip, law->kt, c->mass * law->gammat, law->xmu * press, time_step, spring);
	result.force = vec3_add(vec3_scale(c->normal, push), result.friction);
	const vec3 rolling = vec3_scale(vec3_cross(roll->spin, c->normal), c->radius);
	const vec3 drag = grain_hold(c->normal, rolling, law->kroll, law->gammaroll, law->muroll * press, time_step, rolled);
	const vec3 twist = vec3_cross(c->normal, result.friction), brake = vec3_scale(vec3_cross(c->normal, drag), c->radius);
	const vec3 middle = vec3_scale(twist, 0.5 * c->overlap);
	roll->turn_a = vec3_sub(twist, vec3_scale(vec3_add(middle, brake), 1 / roll->near));
	roll->turn_b = vec3_sub(twist, vec3_scale(vec3_sub(middle, brake), 1 / roll->far));
	return result;
}

/// spring: of laws with history, as it is now; else it is left alone.
static inline grain_force grain_push(
	carom_lammps_style style, const carom_lammps_law *law, const grain_contact *c, double time_step, vec3 *spring)
{
	const double approach = vec3_dot(c->velocity, c->normal);
	const vec3 along = vec3_sub(c->velocity, vec3_scale(c->normal, approach));
	const vec3 slip = vec3_sub(along, vec3_cross(c->spin, c->normal));
	const double scale = style == CAROM_LAMMPS_HERTZ_HISTORY ? sqrt(c->overlap * c->radius) : 1;
	const double push = scale * (law->kn * c->overlap - c->mass * law->gamman * approach);
	grain_force result;
	if (style == CAROM_LAMMPS_HOOKE)
		result.friction = grain_rub(law, slip, c->mass, push);
	else
		result.friction = grain_stretch(law, c->normal, slip, c->mass * law->gammat, scale, push, time_step, spring);
	result.force = vec3_add(vec3_scale(c->normal, push), result.friction);
	return result;
}

#endif
