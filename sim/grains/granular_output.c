// States of spheres for files and pictures, and sums over them.
#include "sim/grains/granular_output.h"
#include "sim/grains/granular_ranks.h"

#include "sim/base/state_hash.h"

#include <math.h>
#include <stdlib.h>

bool sim_take_granular_frame(sim_granular *granular, sim_granular_frame *frame)
{
	const size_t count = (size_t)sim_granular_get_info(granular).count;
	*frame = (sim_granular_frame){
		.count = (int64_t)count,
		.centres = malloc(count * 3 * sizeof(double) + 1),
		.radii = malloc(count * sizeof(double) + 1),
		.velocities = malloc(count * 3 * sizeof(double) + 1),
		.angular_velocities = malloc(count * 3 * sizeof(double) + 1),
	};
	if (!frame->centres || !frame->radii || !frame->velocities || !frame->angular_velocities) {
		sim_free_granular_frame(frame);
		return false;
	}
	sim_granular_get_state(granular, frame->centres, frame->radii, frame->velocities, frame->angular_velocities);
	return true;
}

void sim_free_granular_frame(sim_granular_frame *frame)
{
	free(frame->centres);
	free(frame->radii);
	free(frame->velocities);
	free(frame->angular_velocities);
	*frame = (sim_granular_frame){ 0 };
}

sim_sphere_cloud sim_granular_frame_cloud(const sim_granular_frame *frame)
{
	return (sim_sphere_cloud){
		.count = frame->count,
		.centres = { frame->centres, 0, CAROM_FLOAT64 },
		.radii = { frame->radii, 0, CAROM_FLOAT64 },
		.velocities = { frame->velocities, 0, CAROM_FLOAT64 },
	};
}

uint64_t sim_hash_granular_frame(const sim_granular_frame *frame)
{
	uint64_t hash = sim_hash_doubles(SIM_HASH_START, frame->centres, 3 * frame->count);
	hash = sim_hash_doubles(hash, frame->radii, frame->count);
	hash = sim_hash_doubles(hash, frame->velocities, 3 * frame->count);
	return sim_hash_doubles(hash, frame->angular_velocities, 3 * frame->count);
}

int64_t sim_count_spheres_inside(const sim_granular_frame *frame, const double lower[3], const double upper[3])
{
	int64_t inside = 0;
	for (int64_t i = 0; i < frame->count; ++i) {
		const double *c = frame->centres + 3 * i;
		inside += c[0] >= lower[0] && c[0] <= upper[0] && c[1] >= lower[1] && c[1] <= upper[1] && c[2] >= lower[2] &&
			c[2] <= upper[2];
	}
	return inside;
}

static double square(const double v[3]) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

static double energy_of(const sim_granular_view *view, int64_t k)
{
	const double *motion = view->motions + 4 * k;
	const double mass = 1 / motion[3], radius = view->spheres[4 * k + 3];
	const double energy = 0.5 * mass * square(motion);
	if (!view->angular_velocities)
		return energy;
	// a solid sphere: 2/5 m r^2
	return energy + 0.5 * 0.4 * mass * radius * radius * square(view->angular_velocities + 4 * k);
}

double sim_granular_kinetic_energy(sim_granular *granular)
{
	const sim_granular_view view = sim_granular_get_view(granular);
	const sim_ranks *ranks = sim_granular_get_ranks(granular);
	double largest = 0;
	for (int64_t k = 0; k < view.count; ++k) {
		const double energy = energy_of(&view, k);
		largest = energy <= largest ? largest : energy <= 1e300 ? energy : INFINITY;
	}
	if (ranks && !ranks->most(ranks->user, 1, &largest))
		return INFINITY;
	if (largest == INFINITY)
		return INFINITY;
	if (largest < 1e-250) // nothing moves
		return 0;
	// In units of 2^-62 of the largest, halves of 31 bits apart: up to 2^26 spheres cannot
	// overflow, and no sum of whole numbers depends on their order.
	int exponent;
	frexp(largest, &exponent);
	const double unit = ldexp(1, exponent - 62), units = ldexp(1, 62 - exponent);
	int64_t sums[2] = { 0, 0 };
	for (int64_t k = 0; k < view.count; ++k) {
		const uint64_t share = (uint64_t)(energy_of(&view, k) * units);
		sums[0] += (int64_t)(share >> 31);
		sums[1] += (int64_t)(share & 0x7fffffff);
	}
	if (ranks && !ranks->sum(ranks->user, 2, sums))
		return INFINITY;
	return ((double)sums[0] * 0x1p31 + (double)sums[1]) * unit;
}
