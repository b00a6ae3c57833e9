// Pins that let go, at a time or by force. Which constraints may share a colour is decided with
// such vertices as free ones, so colours hold for the whole run. The coarse levels are made again
// from the places at the start, as if these vertices had never been held: they depend on who is
// free alone, and a run that goes on from a checkpoint has them in equal bits.
#include "sim/cloth/soft_levels.h"
#include "sim/cloth/soft_regions.h"

#include <math.h>
#include <string.h>

void soft_note_pins(sim_soft *s, const sim_soft_body *body, int32_t first, int32_t first_pin)
{
	for (int32_t i = 0; i < body->vertex_count && s->lets_go; i++) {
		s->until[first + i] = body->pins && body->until ? body->until[i] : INFINITY;
		s->holder[first + i] = s->carrier[first + i];
	}
	for (int32_t i = 0; i < body->vertex_count && s->break_count > 0; i++) {
		const bool breaks = body->break_count > 0 && body->pins[i] != SIM_SOFT_FREE && body->pin_numbers[i] >= 0;
		s->pin_of[first + i] = breaks ? first_pin + body->pin_numbers[i] : -1;
	}
	for (int32_t i = 0; i < body->break_count; i++) {
		s->break_force[first_pin + i] = body->break_forces[i];
		s->broken_at[first_pin + i] = INFINITY;
	}
}

/// The pin that breaks which holds a vertex now; -1: none does.
static int32_t pin_at(const sim_soft *s, int32_t vertex)
{
	return s->carrier[vertex] == SIM_SOFT_FREE ? -1 : s->pin_of[vertex];
}

bool soft_is_held_for_good(const sim_soft *s, int32_t vertex)
{
	const bool breaks = s->break_count > 0 && s->pin_of[vertex] >= 0;
	return s->carrier[vertex] != SIM_SOFT_FREE && !breaks && !(s->lets_go && s->until[vertex] < INFINITY);
}

void soft_hold_masses(sim_soft *s)
{
	for (int32_t i = 0; i < s->vertex_count && s->lets_go; i++)
		s->inverse_mass[i] = s->carrier[i] == SIM_SOFT_FREE ? s->let_go_mass[i] : 0;
}

void soft_hold_pins(sim_soft *s)
{
	if (!s->lets_go)
		return;
	memcpy(s->let_go_mass, s->inverse_mass, (size_t)s->vertex_count * sizeof *s->inverse_mass);
	s->released = -INFINITY;
	soft_hold_masses(s);
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

// ---- Pins that break ----
// What pulls at a pin is the sum of the forces that edges and hinges have in the substeps (their
// Lagrange multipliers over the square of the time), of contacts with its vertices, and of the
// weight of these. So a cloth that hangs still pulls at its pins with its weight. A pin breaks by
// the mean of a step: forces of single substeps are noise of the solver.

void soft_list_pulls(sim_soft *s)
{
	s->pull_edge_count = s->pull_hinge_count = 0;
	for (int64_t i = 0; i < s->edge_count && s->break_count > 0; i++) {
		const int32_t *v = s->edges[i].vertices;
		if (s->pin_of[v[0]] >= 0 || s->pin_of[v[1]] >= 0)
			s->pull_edges[s->pull_edge_count++] = (int32_t)i;
	}
	for (int64_t i = 0; i < s->hinge_count && s->break_count > 0; i++) {
		const int32_t *v = s->hinges[i].vertices;
		if (s->pin_of[v[0]] >= 0 || s->pin_of[v[1]] >= 0 || s->pin_of[v[2]] >= 0 || s->pin_of[v[3]] >= 0)
			s->pull_hinges[s->pull_hinge_count++] = (int32_t)i;
	}
}

void soft_clear_pulls(sim_soft *s)
{
	if (s->break_count > 0)
		memset(s->pull_now, 0, 3 * (size_t)s->break_count * sizeof *s->pull_now);
}

/// Add a share of an impulse to what pulls at the pin of a vertex.
static void add_pull(sim_soft *s, int32_t vertex, double share, const double impulse[3])
{
	const int32_t pin = pin_at(s, vertex);
	for (int k = 0; k < 3 && pin >= 0; k++)
		s->pull_now[3 * (int64_t)pin + k] += share * impulse[k];
}

static void pull_by_edge(sim_soft *s, const soft_edge *edge, double duration)
{
	const double *a = s->place + 3 * (int64_t)edge->vertices[0], *b = s->place + 3 * (int64_t)edge->vertices[1];
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] }, length = sqrt(soft_dot(d, d));
	const double share = length > 0 ? edge->force / (duration * length) : 0;
	add_pull(s, edge->vertices[0], -share, d);
	add_pull(s, edge->vertices[1], share, d);
}

static void pull_by_hinge(sim_soft *s, const soft_hinge *hinge, double duration)
{
	double bend[3] = { 0, 0, 0 };
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 3; k++)
			bend[k] += hinge->weight[i] * s->place[3 * (int64_t)hinge->vertices[i] + k];
	}
	const double length = sqrt(soft_dot(bend, bend));
	for (int i = 0; i < 4 && length > 0; i++)
		add_pull(s, hinge->vertices[i], -hinge->weight[i] * hinge->force / (duration * length), bend);
}

void soft_add_pulls(sim_soft *s, double duration)
{
	for (int32_t i = 0; i < s->pull_edge_count; i++)
		pull_by_edge(s, &s->edges[s->pull_edges[i]], duration);
	for (int32_t i = 0; i < s->pull_hinge_count; i++)
		pull_by_hinge(s, &s->hinges[s->pull_hinges[i]], duration);
}

void soft_end_pulls(sim_soft *s, double duration)
{
	if (s->break_count == 0)
		return;
	for (int64_t i = 0; i < s->contacts.count; i++) {
		const soft_contact *c = &s->contacts.data[i];
		for (int k = 0; k < 4; k++)
			add_pull(s, c->vertices[k], c->weight[k], c->impulse);
	}
	for (int32_t i = 0; i < s->vertex_count; i++) {
		if (pin_at(s, i) >= 0)
			add_pull(s, i, duration / s->let_go_mass[i], s->def.gravity);
	}
	for (int64_t i = 0; i < 3 * (int64_t)s->break_count; i++)
		s->pull[i] += s->pull_now[i];
}

/// The vertices of a pin let go in the next step.
static void free_vertices(sim_soft *s)
{
	for (int32_t i = 0; i < s->vertex_count; i++) {
		if (s->pin_of[i] >= 0)
			s->until[i] = fmin(s->until[i], s->broken_at[s->pin_of[i]]);
	}
}

void soft_break_pins(sim_soft *s)
{
	for (int32_t i = 0; i < s->break_count; i++) {
		const double *pull = s->pull + 3 * (int64_t)i, force = sqrt(soft_dot(pull, pull)) / s->def.time_step;
		s->step.pin_force = fmax(s->step.pin_force, force);
		if (s->broken_at[i] < INFINITY || !(force > s->break_force[i]))
			continue;
		s->broken_at[i] = s->time;
		s->step.pins_broken++;
	}
	if (s->step.pins_broken > 0)
		free_vertices(s);
}

void soft_move_pins(sim_soft *s, sim_tape *tape)
{
	if (s->break_count == 0)
		return;
	sim_tape_move(tape, s->broken_at, (size_t)s->break_count * sizeof *s->broken_at);
	if (!tape->writing)
		free_vertices(s);
}
