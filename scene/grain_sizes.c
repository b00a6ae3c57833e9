// Radii by a distribution: see grain_sizes.h. A normal one is drawn by rejection: a place uniform
// between the cut-offs is taken with the probability exp((p^2 - z^2) / 2), where z is its distance
// from the middle in deviations, and p the least distance that is allowed. So cut-offs need no
// care, and nothing but an exponential is computed, whose bits depend on no C library. A place
// beyond 9 deviations has a probability below 10^-18 and is never drawn.
#include "scene/grain_sizes.h"

#include "sim/base/rotations.h"

#include <math.h>

enum { FARTHEST = 9 };

/// e^x for |x| below 700, by halving and the series.
static double exponential(double x)
{
	const double ln2 = 0.69314718055994530942;
	const double halvings = floor(x / ln2 + 0.5), rest = x - halvings * ln2;
	double sum = 1, term = 1;
	for (int k = 1; k < 20; k++) {
		term *= rest / k;
		sum += term;
	}
	return ldexp(sum, (int)halvings);
}

/// Uniform in [0, 1).
static double draw(uint64_t *state) { return 0.5 * sim_random_unit(state) + 0.5; }

/// The radius at so many deviations from the middle.
static double radius_at(const scene_grain_sizes *s, double z)
{
	return s->kind == SCENE_SIZES_LOGNORMAL ? s->middle * exponential(s->deviation * z) : s->middle + s->deviation * z;
}

/// The deviation of a radius, within FARTHEST, by bisection: no logarithm.
static double deviation_of(const scene_grain_sizes *s, double radius)
{
	double low = -FARTHEST, high = FARTHEST;
	for (int i = 0; i < 80; i++) {
		const double middle = 0.5 * (low + high);
		if (radius_at(s, middle) < radius)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double draw_normal(const scene_sphere_source *source, uint64_t *state)
{
	const scene_grain_sizes *s = &source->sizes;
	const double low = s->low, high = s->high;
	const double peak = low > 0 ? low : high < 0 ? high : 0;
	for (;;) {
		const double z = low + (high - low) * draw(state);
		if (draw(state) < exponential(0.5 * (peak * peak - z * z)))
			return fmin(fmax(radius_at(s, z), source->radius[0]), source->radius[1]);
	}
}

/// One of the list. Equal masses of a size are fewer spheres, the larger these are.
static double draw_listed(const scene_grain_sizes *s, uint64_t *state)
{
	double weights[SCENE_MOST_SIZES], total = 0;
	for (int i = 0; i < s->count; i++) {
		const double r = s->radii[i] / s->radii[0];
		weights[i] = s->by_mass ? s->shares[i] / (r * r * r) : s->shares[i];
		total += weights[i];
	}
	double at = total * draw(state);
	for (int i = 0; i + 1 < s->count; i++) {
		if (at < weights[i])
			return s->radii[i];
		at -= weights[i];
	}
	return s->radii[s->count - 1];
}

double scene_next_radius(const scene_sphere_source *source, uint64_t *state)
{
	switch (source->sizes.kind) {
	case SCENE_SIZES_NORMAL:
	case SCENE_SIZES_LOGNORMAL: return draw_normal(source, state);
	case SCENE_SIZES_LIST: return draw_listed(&source->sizes, state);
	default: return source->radius[0] + (source->radius[1] - source->radius[0]) * draw(state);
	}
}

bool scene_find_cut_offs(scene_sphere_source *source)
{
	scene_grain_sizes *s = &source->sizes;
	s->low = deviation_of(s, source->radius[0]);
	s->high = deviation_of(s, source->radius[1]);
	return source->radius[0] <= radius_at(s, SCENE_MOST_DEVIATIONS) && source->radius[1] >= radius_at(s, -SCENE_MOST_DEVIATIONS);
}
