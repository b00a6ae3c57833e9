#version 460
// Moves each sphere: velocities by its load and gravity, then places (semi-implicit Euler), back
// into the periods. Notes how far any has come since the list was made, and the first one whose
// motion is not finite.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "grains.glsl"

const uint THREADS = 128;
shared float moved[THREADS];
shared uint lost[THREADS];

double wrap(double x, double low, double high, double period)
{
	precise double up = x + period, down = x - period;
	if (x >= low && x < high)
		return x;
	const double y = x < low ? up : down;
	return y >= low && y < high ? y : low;
}

// The squared way since the list was made, not too small.
float way(dvec4 place, uint i)
{
	const dvec4 held = Fours(setup.held).at[i];
	precise double sum = 0;
	for (int k = 0; k < 3; k++) {
		precise double d = place[k] - held[k];
		if ((setup.flags & (PERIODIC << k)) != 0) {
			precise double period = setup.upper[k] - setup.lower[k];
			d -= period * floor(d / period + 0.5lf);
		}
		sum += d * d;
	}
	sum *= 1.000001lf;
	return float(sum);
}

void move(uint i, uint lane)
{
	Moments moments = Moments(setup.moments);
	const uint step = control().at[STEP];
	const double dt = setup.time_step;
	Doubles loads = Doubles(setup.loads);
	dvec4 motion = Fours(setup.motions).at[i], place = Fours(setup.places).at[i];
	precise double scale = dt * motion.w, speed = 0;
	for (int k = 0; k < 3; k++) {
		precise double gain = dt * moments.at[step].gravity[k];
		precise double v = motion[k] + gain;
		v += scale * loads.at[6 * i + k];
		precise double x = place[k] + dt * v;
		if ((setup.flags & (PERIODIC << k)) != 0) {
			precise double period = setup.upper[k] - setup.lower[k];
			x = wrap(x, setup.lower[k], setup.upper[k], period);
		}
		motion[k] = v;
		place[k] = x;
		speed += v * v;
	}
	Fours(setup.motions).at[i] = motion;
	Fours(setup.places).at[i] = place;
	if ((setup.flags & TURNS) != 0) {
		dvec4 spin = Fours(setup.spins).at[i];
		precise double turn = dt * spin.w;
		for (int k = 0; k < 3; k++) {
			precise double w = spin[k] + turn * loads.at[6 * i + 3 + k];
			spin[k] = w;
		}
		Fours(setup.spins).at[i] = spin;
	}
	moved[lane] = way(place, i);
	// No speed can be as large as this and no comparison with a NaN holds.
	lost[lane] = speed < 1e300lf ? NONE_LOST : i;
}

void main()
{
	const uint i = item_number(), lane = gl_LocalInvocationIndex;
	moved[lane] = 0;
	lost[lane] = NONE_LOST;
	if (i < setup.count)
		move(i, lane);
	barrier();
	for (uint part = THREADS / 2; part > 0; part /= 2) {
		if (lane < part) {
			moved[lane] = max(moved[lane], moved[lane + part]);
			lost[lane] = min(lost[lane], lost[lane + part]);
		}
		barrier();
	}
	if (lane == 0 && group_number() < setup.group_count) {
		Tallies(setup.tallies).at[group_number()].moved = moved[0];
		Tallies(setup.tallies).at[group_number()].lost = lost[0];
	}
}
