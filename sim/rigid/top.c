// Free turning of a rigid body: see top.h.
//
// The angular momentum L stays in the world, so the orientation alone is to be found. Euler's
// equations have the energy l.l / 2Ix + (1/Iy - 1/Ix) ly^2 / 2 + (1/Iz - 1/Ix) lz^2 / 2, where l is
// L in the principal axes. Each of the three parts alone is a turn at a constant rate: the first
// about L in the world, the others about y and about z in the body. Turns of the first kind commute
// with the others, since they leave l as it is; so they are one turn of the whole way. The others
// are composed symmetrically, z y z (Strang), and five of these make the fourth order (M. Suzuki,
// Fractal decomposition of exponential operators, Phys. Lett. A 146, 1990). That is the splitting
// of A. Dullweber, B. Leimkuhler and R. McLachlan (Symplectic splitting methods for rigid body
// molecular dynamics, J. Chem. Phys. 107, 1997), with the symmetric top as the large part.
//
// So |L| is kept to round-off. The energy has no drift, since the method is symplectic and can be
// run backwards, and it cannot leave the range from |L|^2 / 2 Imax to |L|^2 / 2 Imin, however fast
// the body spins. Symmetric tops (Ix = Iy) turn exactly.
#include "sim/rigid/top.h"

#include "sim/base/rotations.h"
#include "sim/base/vectors.h"

#include <math.h>

// ---- Principal axes ----

/// One turn of Jacobi's method in the plane of the axes i and j: it makes m[i][j] zero.
static void turn_plane(double m[3][3], int i, int j, carom_quat *axes)
{
	if (m[i][j] == 0)
		return;
	const int k = 3 - i - j;
	const double theta = (m[j][j] - m[i][i]) / (2 * m[i][j]);
	const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
	const double c = 1 / sqrt(t * t + 1), s = t * c;
	const double ki = m[k][i], kj = m[k][j];
	m[i][i] -= t * m[i][j];
	m[j][j] += t * m[i][j];
	m[i][j] = m[j][i] = 0;
	m[k][i] = m[i][k] = c * ki - s * kj;
	m[k][j] = m[j][k] = s * ki + c * kj;
	// The new axis i is c i - s j: a turn from j to i, about -k where i, j, k are right-handed.
	const double half = sqrt((1 + c) / 2), sine = s / (2 * half) * ((j - i + 3) % 3 == 1 ? -1 : 1);
	*axes = sim_unit_quat(sim_multiply(*axes, (carom_quat){ k == 0 ? sine : 0, k == 1 ? sine : 0, k == 2 ? sine : 0, half }));
}

static void find_axes(const double inertia[6], double moments[3], carom_quat *axes)
{
	double m[3][3] = { { inertia[0], inertia[3], inertia[4] }, { inertia[3], inertia[1], inertia[5] },
		{ inertia[4], inertia[5], inertia[2] } };
	*axes = (carom_quat){ 0, 0, 0, 1 };
	for (int sweep = 0; sweep < 10; sweep++) {
		turn_plane(m, 0, 1, axes);
		turn_plane(m, 0, 2, axes);
		turn_plane(m, 1, 2, axes);
	}
	for (int i = 0; i < 3; i++)
		moments[i] = m[i][i];
}

/// Name the axes so that x and y are those whose 1 / I are next to each other, x nearer to z.
static void order_axes(double r[3], carom_quat *axes)
{
	int odd = 0;
	for (int i = 1; i < 3; i++) {
		if (fabs(r[(i + 1) % 3] - r[(i + 2) % 3]) < fabs(r[(odd + 1) % 3] - r[(odd + 2) % 3]))
			odd = i;
	}
	for (int turns = (odd + 1) % 3; turns > 0; turns--) {
		const double first = r[0];
		r[0] = r[1];
		r[1] = r[2];
		r[2] = first;
		*axes = sim_multiply(*axes, (carom_quat){ 0.5, 0.5, 0.5, 0.5 });
	}
	if (fabs(r[1] - r[2]) < fabs(r[0] - r[2])) {
		const double first = r[0];
		r[0] = r[1];
		r[1] = first;
		*axes = sim_multiply(*axes, (carom_quat){ 0, 0, sqrt(0.5), sqrt(0.5) });
	}
	*axes = sim_unit_quat(*axes);
}

bool sim_make_top(const double inertia[6], sim_top *top)
{
	double r[3];
	find_axes(inertia, r, &top->axes);
	if (!(r[0] > 0 && r[1] > 0 && r[2] > 0) || !sim_invert_tensor(inertia, top->inverse))
		return false;
	for (int i = 0; i < 3; i++)
		r[i] = 1 / r[i];
	order_axes(r, &top->axes);
	for (int i = 0; i < 6; i++)
		top->inertia[i] = inertia[i];
	top->round = r[0];
	top->flat = r[1] - r[0];
	top->odd = r[2] - r[0];
	return true;
}

// ---- Turning ----

/// Sine and cosine: by a short series where the angle is small, as it nearly always is. Its error
/// is below 1e-17 there.
static void sine_cosine(double x, double *sine, double *cosine)
{
	const double s = x * x;
	if (!(s < 0.04)) {
		*sine = sim_sine(x);
		*cosine = sim_cosine(x);
		return;
	}
	*sine = x * (1 - s * (1.0 / 6) * (1 - s * (1.0 / 20) * (1 - s * (1.0 / 42) * (1 - s * (1.0 / 72) * (1 - s * (1.0 / 110))))));
	const double last = 1 - s * (1.0 / 56) * (1 - s * (1.0 / 90) * (1 - s * (1.0 / 132)));
	*cosine = 1 - s * 0.5 * (1 - s * (1.0 / 12) * (1 - s * (1.0 / 30) * last));
}

/// A turn of the body in its own principal axes, and L in these.
typedef struct top_turn {
	carom_quat q;
	carom_vec3 l;
} top_turn;

static void turn_about_z(top_turn *turn, double angle)
{
	const carom_quat q = turn->q;
	const carom_vec3 l = turn->l;
	double s, c;
	sine_cosine(0.5 * angle, &s, &c);
	turn->q = (carom_quat){ q.x * c + q.y * s, q.y * c - q.x * s, q.z * c + q.w * s, q.w * c - q.z * s };
	const double sine = 2 * s * c, cosine = 1 - 2 * s * s;
	turn->l.x = cosine * l.x + sine * l.y;
	turn->l.y = cosine * l.y - sine * l.x;
}

static void turn_about_y(top_turn *turn, double angle)
{
	const carom_quat q = turn->q;
	const carom_vec3 l = turn->l;
	double s, c;
	sine_cosine(0.5 * angle, &s, &c);
	turn->q = (carom_quat){ q.x * c - q.z * s, q.y * c + q.w * s, q.z * c + q.x * s, q.w * c - q.y * s };
	const double sine = 2 * s * c, cosine = 1 - 2 * s * s;
	turn->l.x = cosine * l.x - sine * l.z;
	turn->l.z = cosine * l.z + sine * l.x;
}

/// Of the fourth order, in steps of at most 0.25 radians of what a symmetric top would turn in its
/// own axes; slow turns in one step of the second order.
static void turn_in_axes(const sim_top *top, top_turn *turn, double most, double duration)
{
	enum { MAX_STEPS = 64 };
	static const double suzuki = 0.41449077179437573714, middle = -0.65796308717750294857;
	const bool slow = most < 0.01;
	const int steps = most < 0.25 ? 1 : most < 0.25 * MAX_STEPS ? (int)(most / 0.25) + 1 : MAX_STEPS;
	const int count = slow ? 1 : 5 * steps;
	double before = 0; // the part of a step that its last turn about z still waits for
	for (int i = 0; i < count; i++) {
		const double part = slow ? duration : duration / steps * (i % 5 == 2 ? middle : suzuki);
		turn_about_z(turn, 0.5 * (before + part) * top->odd * turn->l.z);
		turn_about_y(turn, part * top->flat * turn->l.y);
		before = part;
	}
	turn_about_z(turn, 0.5 * before * top->odd * turn->l.z);
}

/// The turn about an axis of that length, which is above 0.
static carom_quat turn_about(carom_vec3 axis, double length, double angle)
{
	double s, c;
	sine_cosine(0.5 * angle, &s, &c);
	s /= length;
	return (carom_quat){ axis.x * s, axis.y * s, axis.z * s, c };
}

carom_quat sim_turn_by(carom_quat q, carom_vec3 spin, double duration)
{
	const double speed = sim_length(spin);
	if (!(speed > 0) || !isfinite(speed))
		return q;
	return sim_unit_quat(sim_multiply(turn_about(spin, speed, speed * duration), q));
}

carom_quat sim_turn_freely(const sim_top *top, carom_quat q, carom_vec3 momentum, double duration)
{
	const double length = sim_length(momentum);
	if (!(length > 0) || !isfinite(length))
		return q;
	const carom_quat about = turn_about(momentum, length, length * top->round * duration);
	const double most = length * fmax(fabs(top->flat), fabs(top->odd)) * fabs(duration);
	if (most < 1e-15)
		return sim_unit_quat(sim_multiply(about, q));
	const carom_quat principal = sim_multiply(q, top->axes);
	top_turn turn = { { 0, 0, 0, 1 }, carom_rotate(sim_conjugate(principal), momentum) };
	turn_in_axes(top, &turn, most, duration);
	const carom_quat turned = sim_multiply(sim_multiply(principal, turn.q), sim_conjugate(top->axes));
	return sim_unit_quat(sim_multiply(about, turned));
}

carom_vec3 sim_spin_to_momentum(const sim_top *top, carom_quat q, carom_vec3 spin)
{
	return sim_apply_turned_tensor(top->inertia, q, spin);
}

carom_vec3 sim_momentum_to_spin(const sim_top *top, carom_quat q, carom_vec3 momentum)
{
	return sim_apply_turned_tensor(top->inverse, q, momentum);
}
