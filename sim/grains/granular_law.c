// Coefficients of the contact laws, and the bound on the time step. The formulas' sources are in
// granular.h.
#include "sim/grains/granular_law.h"

#include "sim/base/rotations.h"

/// Natural logarithm of x > 0 by the series of the inverse hyperbolic tangent, because the C
/// library's last bit differs between machines.
static double logarithm(double x)
{
	int exponent;
	double m = frexp(x, &exponent); // 0.5 <= m < 1
	if (m < 0.70710678118654752440) {
		m *= 2;
		exponent--;
	}
	const double t = (m - 1) / (m + 1), t2 = t * t;
	double sum = 0, power = t;
	for (int k = 1; k < 40; k += 2) {
		sum += power / k;
		power *= t2;
	}
	return 2 * sum + exponent * 0.69314718055994530942;
}

/// The part of critical damping with which a contact gives back that part of the speed.
static double damping_ratio(double restitution)
{
	if (restitution <= 0)
		return 1;
	const double l = logarithm(restitution);
	return -l / sqrt(SIM_PI * SIM_PI + l * l);
}

granular_coefficients granular_make_coefficients(const sim_granular_law *law)
{
	granular_coefficients c = { .hertz = law->normal == SIM_GRANULAR_HERTZ,
		.scaled = law->stiffness_radius > 0,
		.tangential = law->tangential != SIM_GRANULAR_SMOOTH,
		.rolling = law->rolling_friction > 0,
		.stiffness = law->stiffness,
		.friction = law->friction,
		.rolling_friction = law->rolling_friction };
	const double ratio = damping_ratio(law->restitution);
	c.damping = 2 * (c.hertz ? sqrt(5.0 / 6.0) : 1) * ratio;
	// R is half the radius where two equal spheres touch.
	if (c.scaled)
		c.stiffness *= 2 / law->stiffness_radius;
	c.damping_root = c.damping * sqrt(c.stiffness);
	if (c.tangential) {
		c.tangential_stiffness = law->tangential_ratio * c.stiffness;
		// Sliding moves 7/2 times as easily as parting (solid spheres turn with it), hence 2/7 of
		// the mass.
		c.tangential_damping = sqrt(law->tangential_ratio * (2.0 / 7.0));
	}
	if (c.hertz) {
		c.modulus = law->young / (2 * (1 - law->poisson * law->poisson));
		c.shear = c.tangential ? law->young / (4 * (2 - law->poisson) * (1 + law->poisson)) : 0;
	}
	return c;
}

/// Semi-implicit Euler of x'' + 2 b w x' + w^2 x = 0 has both roots within the unit circle for w dt
/// < 2 (sqrt(1 + b^2) - b): the condition 4 - (w dt)^2 - 4 b w dt > 0 on the characteristic
/// polynomial (Jury). contact_mass belongs to one contact; the mode in question has the frequency
/// of share * k / contact_mass, and a dashpot's part of critical damping grows with the frequency.
static double oscillator_limit(const granular_coefficients *law, double stiffness, double contact_mass, double share)
{
	const double frequency = sqrt(share * stiffness / contact_mass);
	const double damping = law->damping / 2 * sqrt(share);
	return 2 / frequency * (sqrt(1 + damping * damping) - damping);
}

/// Stiffness of a contact against an infinitesimal overlap more, the largest of both directions.
static double largest_stiffness(const granular_coefficients *law, double radius, double overlap)
{
	if (law->hertz) {
		const double root = sqrt(radius * overlap);
		const double normal = 2 * law->modulus * root, tangential = 3.5 * 8 * law->shear * root;
		return normal > tangential ? normal : tangential;
	}
	const double k = law->scaled ? law->stiffness * radius : law->stiffness;
	const double tangential = 3.5 * law->tangential_stiffness * (law->scaled ? radius : 1);
	return k > tangential ? k : tangential;
}

/// A sphere of z contacts: the largest eigenvalue of the stiffness over the mass is at most 2 z k /
/// m, since (u_i - u_j)^2 <= 2 u_i^2 + 2 u_j^2 in the energy of each contact; for a pair (z = 1)
/// that is k / m_eff exactly. A wall does not move, so a contact with one counts half. Sliding
/// counts 7/2, because the sphere turns as well.
double granular_step_limit(const sim_granular *granular, double contacts, double overlap)
{
	const double r = granular->least_radius;
	const double mass = granular->def.density * (4.0 / 3.0 * SIM_PI) * r * r * r;
	double limit = INFINITY;
	if (!granular->def.force && granular->total > 1) {
		const double k = largest_stiffness(&granular->between, r / 2, overlap * r);
		limit = oscillator_limit(&granular->between, k, mass / 2, contacts);
	}
	if (granular->plane_count > 0 || granular->def.touches) {
		const double k = largest_stiffness(&granular->against, r, overlap * r);
		const double wall = oscillator_limit(&granular->against, k, mass, 1);
		limit = wall < limit ? wall : limit;
	}
	return limit;
}
