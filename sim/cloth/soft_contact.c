// Impacts as constraints: a gap along a normal, Coulomb friction beside it (Bridson, Fedkiw and
// Anderson 2002; as positions: Mueller et al., Detailed Rigid Body Simulation with Extended
// Position Based Dynamics, 2020).
#include "sim/cloth/soft_colors.h"

// Features nearer than this at the begin, in thicknesses (a search finds those that come nearer
// than half of one), are taken apart over some steps, by this share in each, lest they fly apart.
// Features farther away only come no nearer: pushing them too would be felt as friction.
static const double COMFORT = 0.6, RECOVERY = 0.3;
// Features that only keep their distance are put so far apart, in thicknesses.
static const double SEPARATION = 0.75;

double soft_gap(const soft_contact *c, const double *places)
{
	double gap = 0;
	for (int i = 0; i < 4; i++)
		gap += c->weight[i] * soft_dot(c->normal, places + 3 * (int64_t)c->vertices[i]);
	return gap;
}

static void move_contact(const sim_soft *s, const soft_contact *c, const double by[3])
{
	for (int i = 0; i < 4; i++) {
		const double share = c->weight[i] * s->inverse_mass[c->vertices[i]] * c->inverse;
		double *p = s->place + 3 * (int64_t)c->vertices[i];
		for (int k = 0; k < 3 && share != 0; k++)
			p[k] += share * by[k];
	}
}

/// Take back the slide of the features along each other in this substep, at most friction times the
/// push.
static void hold_contact(const sim_soft *s, const soft_contact *c)
{
	double slid[3] = { 0, 0, 0 };
	for (int i = 0; i < 4; i++) {
		const double *p = s->place + 3 * (int64_t)c->vertices[i], *q = s->before + 3 * (int64_t)c->vertices[i];
		for (int k = 0; k < 3; k++)
			slid[k] += c->weight[i] * (p[k] - q[k]);
	}
	const double along = soft_dot(slid, c->normal);
	for (int k = 0; k < 3; k++)
		slid[k] -= along * c->normal[k];
	const double way = sqrt(soft_dot(slid, slid)), most = c->friction * c->pushed;
	if (way == 0)
		return;
	const double part = way > most ? -most / way : -1;
	const double back[3] = { part * slid[0], part * slid[1], part * slid[2] };
	move_contact(s, c, back);
}

/// Keep the gap of one contact. progress of the step is from 0 to 1.
static void push_contact(const sim_soft *s, soft_contact *c, double progress)
{
	const double thickness = s->def.thickness, least = COMFORT * thickness;
	const double wanted = c->start < least ? c->start + progress * RECOVERY * (least - c->start) : fmin(c->start, thickness);
	c->pushed = wanted - soft_gap(c, s->place);
	if (!(c->pushed > 0) || c->inverse == 0) {
		c->pushed = 0;
		return;
	}
	const double by[3] = { c->pushed * c->normal[0], c->pushed * c->normal[1], c->pushed * c->normal[2] };
	move_contact(s, c, by);
	if (c->friction > 0)
		hold_contact(s, c);
}

static void push_contacts(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	const sim_soft *s = visit->soft;
	const double *progress = visit->task;
	(void)worker;
	for (int64_t i = begin; i < end; i++)
		push_contact(s, &s->contacts.data[s->contact_order[i]], *progress);
}

void soft_push_contacts(sim_soft *s, double progress)
{
	soft_run_visit(&(soft_visit){ .soft = s, .colors = &s->contact_colors, .run = push_contacts, .task = &progress });
}

static void damp_contact(const sim_soft *s, const soft_contact *c)
{
	const double parting = c->pushed > 0 ? soft_gap(c, s->velocity) : 0;
	if (!(parting > 0))
		return;
	for (int k = 0; k < 4; k++) {
		const double share = c->weight[k] * s->inverse_mass[c->vertices[k]] * c->inverse * parting;
		double *v = s->velocity + 3 * (int64_t)c->vertices[k];
		for (int axis = 0; axis < 3 && share != 0; axis++)
			v[axis] -= share * c->normal[axis];
	}
}

static void damp_contacts(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	(void)worker;
	for (int64_t i = begin; i < end; i++)
		damp_contact(visit->soft, &visit->soft->contacts.data[visit->soft->contact_order[i]]);
}

void soft_damp_contacts(sim_soft *s)
{
	soft_run_visit(&(soft_visit){ .soft = s, .colors = &s->contact_colors, .run = damp_contacts });
}

/// Put the features of a contact apart. Returns whether they were too near.
static bool part_contact(const sim_soft *s, const soft_contact *c)
{
	const double wanted = SEPARATION * s->def.thickness, enough = 0.9 * wanted;
	const double gap = c->inverse > 0 ? soft_gap(c, s->place) : wanted;
	// A pair that began nearer may stay so.
	const double needed = c->start < wanted ? c->start + RECOVERY * (wanted - c->start) : wanted;
	const double push = needed - gap;
	if (!(push > wanted - enough))
		return false;
	const double by[3] = { push * c->normal[0], push * c->normal[1], push * c->normal[2] };
	move_contact(s, c, by);
	return true;
}

static void part_contacts(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	sim_soft *s = visit->soft;
	int64_t near = 0;
	for (int64_t i = begin; i < end; i++)
		near += part_contact(s, &s->contacts.data[s->contact_order[i]]);
	s->tallies[worker].count += near;
}

int64_t soft_part_contacts(sim_soft *s)
{
	soft_clear_tallies(s);
	soft_run_visit(&(soft_visit){ .soft = s, .colors = &s->contact_colors, .run = part_contacts });
	return soft_sum_tallies(s);
}
