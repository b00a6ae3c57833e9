/// The choice of the method. See spheres/choose.h.
#include "spheres/choose.h"
#include "spheres/cell_grid.h"
#include "spheres/level_grid.h"
#include <math.h>

enum {
	// Builds between two looks at a set that seems to be the same: a look takes some hundred
	// microseconds.
	BUILDS_BETWEEN_LOOKS = 16,
	// Uses of a method before another one may replace it, so that measurements settle, trees show
	// the gain of refitting, and nothing flutters.
	LEAST_USES = 6,
};

// Expected time to replace the method in use, as a share of its own.
static const double WORTH_CHANGING = 0.85;
// A method that was never measured is tried, once, where the model says no worse than this share of
// the present time.
static const double WORTH_TRYING = 1.6;
// A measured correction is believed by so much against the value known before.
static const double NEW_SHARE = 0.3;
// The model may be wrong by so much either way: a hiccup of the machine must not rule a method out
// for ever.
static const double MOST_CORRECTION = 8;

static float extent_of(const cr_sphere_set *set)
{
	float extent = 0;
	for (int k = 0; k < 3; k++)
		extent = fmaxf(extent, set->upper[k] - set->lower[k]);
	return extent;
}

static bool differs(float a, float b) { return fabsf(a - b) > 0.1f * fmaxf(fabsf(a), fabsf(b)); }

static bool needs_look(const cr_method_choice *choice, const cr_sphere_set *set)
{
	return choice->method == CAROM_SPHERES_AUTO || choice->builds >= BUILDS_BETWEEN_LOOKS ||
		differs((float)choice->count, (float)set->count) || differs(choice->r_min, set->r_min) ||
		differs(choice->r_max, set->r_max) || differs(choice->extent, extent_of(set));
}

static void look(cr_method_choice *choice, const cr_sphere_set *set)
{
	// Nanoseconds on one thread, fitted to bodies of a million spheres in random order: free fall,
	// settled, radii 1 to 12 and 1 to 120, and to power laws of radii. A tree costs more where
	// there is more to find, and cheaper once it is refitted.
	const double count = set->count, ms = 1e-6 / set->context->thread_count;
	const double in_grid = cr_grid_expected_tests(set), in_levels = cr_levels_expected_tests(set);
	choice->expected_ms[CAROM_SPHERES_GRID] = ms * (38 * count + 0.9 * in_grid);
	choice->expected_ms[CAROM_SPHERES_LEVELS] = ms * (62 * count + 2 * in_levels);
	choice->expected_ms[CAROM_SPHERES_TREE] = ms * (170 * count + 8 * fmin(fmin(in_grid, in_levels), 25 * count));
	choice->count = set->count;
	choice->r_min = set->r_min;
	choice->r_max = set->r_max;
	choice->extent = extent_of(set);
	choice->builds = 0;
}

static double corrected(const cr_method_choice *choice, carom_sphere_method method)
{
	double correction = choice->correction[method];
	// Of one that was never tried half of the present one's error (as a factor) is taken to be the
	// machine's, half that method's own.
	if (correction <= 0)
		correction = choice->correction[choice->method] > 0 ? sqrt(choice->correction[choice->method]) : 1;
	return choice->expected_ms[method] * correction;
}

carom_sphere_method cr_choose_method(cr_method_choice *choice, const cr_sphere_set *set)
{
	static const carom_sphere_method candidates[] = { CAROM_SPHERES_GRID, CAROM_SPHERES_LEVELS, CAROM_SPHERES_TREE };
	const bool another = needs_look(choice, set);
	if (another)
		look(choice, set);
	choice->builds++;
	choice->uses++;
	const carom_sphere_method old = choice->method;
	if (old != CAROM_SPHERES_AUTO && !another && choice->uses <= LEAST_USES)
		return old;
	const double present = old != CAROM_SPHERES_AUTO ? corrected(choice, old) : INFINITY;
	double least = WORTH_CHANGING * present;
	for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
		const carom_sphere_method other = candidates[i];
		const bool try_it = another && old != CAROM_SPHERES_AUTO && choice->correction[other] <= 0 &&
			choice->uses > LEAST_USES && corrected(choice, other) < WORTH_TRYING * present;
		if (other == old || (corrected(choice, other) >= least && !try_it))
			continue;
		least = fmin(least, corrected(choice, other));
		choice->method = other;
		choice->uses = 0;
	}
	return choice->method;
}

void cr_note_cost(cr_method_choice *choice, double ms)
{
	const carom_sphere_method method = choice->method;
	if (method == CAROM_SPHERES_AUTO || choice->expected_ms[method] <= 0)
		return;
	const double measured = fmin(fmax(ms / choice->expected_ms[method], 1 / MOST_CORRECTION), MOST_CORRECTION);
	double *correction = &choice->correction[method];
	*correction = *correction > 0 ? (1 - NEW_SHARE) * *correction + NEW_SHARE * measured : measured;
}
