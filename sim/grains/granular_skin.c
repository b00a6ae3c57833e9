// The skin of the list of neighbours, by measured times. A thin skin makes short rows and frequent
// lists, a thick one the reverse. The time of a step, lists included, over the life of one list, is
// the cost of a skin; the next list tries one 1.4 times thicker or thinner and stays where it was
// cheapest. Motions do not depend on it.
#include "sim/grains/granular_state.h"

enum { FIRST_REST = 4, LONGEST_REST = 64 };
#define TRIAL_FACTOR 1.4
// A trial counts as better when it saves more than the noise of a timer.
#define GAIN 0.97

void granular_start_skin(sim_granular *g)
{
	granular_skin *s = &g->choice;
	*s = (granular_skin){
		.least = 0.01 * g->mean_radius, .most = 16 * g->largest_radius, .factor = TRIAL_FACTOR, .rest_length = FIRST_REST
	};
	for (int k = 0; k < 3; k++) {
		if (!g->def.periodic[k])
			continue;
		// The detector wants more than 2 (2 r + skin).
		const double room = (g->def.upper[k] - g->def.lower[k]) / 2 - 2 * g->largest_radius;
		s->most = 0.99 * room < s->most ? 0.99 * room : s->most;
	}
	s->least = s->least < s->most ? s->least : s->most;
	const double first = 0.6 * g->mean_radius;
	g->skin = g->def.skin >= 0 ? g->def.skin : first < s->most ? first : s->most;
}

/// The next skin to try; at the end of the allowed range, in the other direction.
static double next_trial(granular_skin *s)
{
	double skin = s->best * s->factor;
	if (skin < s->least || skin > s->most) {
		s->factor = 1 / s->factor;
		skin = s->best * s->factor;
	}
	return skin < s->least ? s->least : skin > s->most ? s->most : skin;
}

double granular_next_skin(sim_granular *g)
{
	granular_skin *s = &g->choice;
	if (g->def.skin >= 0 || s->steps == 0)
		return g->skin;
	const double ms = s->ms / (double)s->steps;
	s->ms = 0;
	s->steps = 0;
	if (s->rest > 0) {
		// The scene changes: the cheapest skin is measured again and again.
		s->best_ms = ms;
		s->rest--;
		return g->skin;
	}
	if (s->best == 0 || ms < GAIN * s->best_ms) {
		s->best = g->skin;
		s->best_ms = ms;
		s->failures = 0;
		s->rest_length = FIRST_REST;
		return next_trial(s);
	}
	if (g->skin == s->best) { // a rest is over: the next trial
		s->best_ms = ms;
		return next_trial(s);
	}
	s->factor = 1 / s->factor;
	if (++s->failures < 2)
		return next_trial(s);
	s->failures = 0;
	s->rest = s->rest_length;
	s->rest_length = 2 * s->rest_length < LONGEST_REST ? 2 * s->rest_length : LONGEST_REST;
	return s->best;
}
