// Pins that let go. Which constraints may share a colour is decided with such vertices as free
// ones, so colours hold for the whole run. The coarse levels are made again from the places at the
// start, as if these vertices had never been held: they depend on who is free alone, and a run that
// goes on from a checkpoint has them in equal bits.
#include "sim/cloth/soft_levels.h"
#include "sim/cloth/soft_regions.h"

#include <math.h>
#include <string.h>

void soft_note_pins(sim_soft *s, const sim_soft_body *body, int32_t first)
{
	for (int32_t i = 0; i < body->vertex_count && s->lets_go; i++) {
		s->until[first + i] = body->pins && body->until ? body->until[i] : INFINITY;
		s->holder[first + i] = s->carrier[first + i];
	}
}

bool soft_is_held_for_good(const sim_soft *s, int32_t vertex)
{
	return s->carrier[vertex] != SIM_SOFT_FREE && !(s->lets_go && s->until[vertex] < INFINITY);
}

void soft_hold_pins(sim_soft *s)
{
	if (!s->lets_go)
		return;
	memcpy(s->let_go_mass, s->inverse_mass, (size_t)s->vertex_count * sizeof *s->inverse_mass);
	s->released = -INFINITY;
	for (int32_t i = 0; i < s->vertex_count; i++) {
		if (s->carrier[i] != SIM_SOFT_FREE)
			s->inverse_mass[i] = 0;
	}
}

/// Let vertices be free, or held as before, whose time is within the limits. Returns how many.
static int64_t set_free(sim_soft *s, double after, double up_to, bool is_free)
{
	int64_t count = 0;
	for (int32_t i = 0; i < s->vertex_count; i++) {
		if (s->holder[i] == SIM_SOFT_FREE || !(s->until[i] > after && s->until[i] <= up_to))
			continue;
		s->carrier[i] = is_free ? SIM_SOFT_FREE : s->holder[i];
		s->inverse_mass[i] = is_free ? s->let_go_mass[i] : 0;
		count++;
	}
	return count;
}

bool soft_release_pins(sim_soft *s, double time)
{
	const double due = time + 1e-6 * s->def.time_step; // a step that begins then, up to roundings
	if (!s->lets_go || set_free(s, s->released, due, true) == 0)
		return true;
	double *now = s->place;
	s->place = s->rest;
	soft_levels *levels = soft_create_levels(s);
	s->place = now;
	if (!levels) {
		set_free(s, s->released, due, false);
		return false;
	}
	soft_destroy_levels(s, s->levels);
	s->levels = levels;
	soft_weigh_regions(s, s->regions);
	s->released = due;
	return true;
}
