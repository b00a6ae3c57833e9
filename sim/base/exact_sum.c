// Exact sums of forces: see exact_sum.h.
//
// Numbers are cut into whole units of 2^-24 and of 2^-60, and integers are summed, exactly. Fewer
// than 2^27 low terms of less than 2^36 do not overflow; then they are carried into the high ones.
#include "sim/base/exact_sum.h"

#include <math.h>

enum { LOW_BITS = 36, NUMBERS = 14 };

_Static_assert(sizeof(sim_exact_sum) == NUMBERS * sizeof(int64_t), "a sum is a row of numbers");

// 2^24, 2^36, 2^38
static const double HIGH = 16777216.0, LOW = 68719476736.0, MOST = 274877906944.0;

static void add_exactly(sim_exact_sum *s, int k, double value)
{
	if (!(fabs(value) < MOST)) {
		s->beyond = 1;
		return;
	}
	const double high = trunc(value * HIGH);
	s->high[k] += (int64_t)high;
	s->low[k] += (int64_t)((value * HIGH - high) * LOW);
}

void sim_note_force(sim_exact_sum *s, const double point[3], const double force[3], const double torque[3])
{
	for (int k = 0; k < 3; k++) {
		const int i = (k + 1) % 3, j = (k + 2) % 3;
		add_exactly(s, k, force[k]);
		add_exactly(s, 3 + k, point[i] * force[j] - point[j] * force[i] + torque[k]);
	}
	s->touches++;
}

void sim_join_exact_sum(sim_exact_sum *to, const sim_exact_sum *from)
{
	// Low parts are within 0 and 2^36 afterwards.
	for (int k = 0; k < 6; k++) {
		const int64_t low = to->low[k] + from->low[k], rest = low & (((int64_t)1 << LOW_BITS) - 1);
		to->high[k] += from->high[k] + (low - rest) / ((int64_t)1 << LOW_BITS);
		to->low[k] = rest;
	}
	to->touches += from->touches;
	to->beyond |= from->beyond;
}

bool sim_sum_exact_over_ranks(const sim_ranks *ranks, int64_t count, sim_exact_sum *sums)
{
	return ranks->sum(ranks->user, NUMBERS * count, (int64_t *)(void *)sums);
}

void sim_read_exact_sum(const sim_exact_sum *sum, double force[3], double torque[3])
{
	sim_exact_sum s = { .touches = 0 };
	sim_join_exact_sum(&s, sum);
	for (int k = 0; k < 6; k++) {
		const double value = ((double)s.high[k] + (double)s.low[k] / LOW) / HIGH;
		(k < 3 ? force : torque)[k % 3] = s.beyond ? NAN : value;
	}
}
