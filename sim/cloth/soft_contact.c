// Impacts as constraints: a gap along a normal, Coulomb friction beside it (Bridson, Fedkiw and
// Anderson 2002; as positions: Mueller et al., Detailed Rigid Body Simulation with Extended
// Position Based Dynamics, 2020).
#include "sim/cloth/soft_state.h"

// Features nearer than this at the begin, in thicknesses (a search finds those that come nearer
// than half of one), are taken apart over some steps, by this share in each, lest they fly apart.
// Features farther away only come no nearer: pushing them too would be felt as friction.
static const double COMFORT = 0.6, RECOVERY = 0.3;
// Features that only keep their distance are put so far apart, in thicknesses.
static const double SEPARATION = 0.75;

enum { MOST_SWEEPS = 30 };

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
		for (int k = 0; k < 3; k++)
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

void soft_push_contacts(sim_soft *s, double progress)
{
	const double thickness = s->def.thickness;
	for (int64_t i = 0; i < s->contacts.count; i++) {
		soft_contact *c = &s->contacts.data[i];
		const double least = COMFORT * thickness;
		const double wanted = c->start < least ? c->start + progress * RECOVERY * (least - c->start) : fmin(c->start, thickness);
		c->pushed = wanted - soft_gap(c, s->place);
		if (!(c->pushed > 0) || c->inverse == 0) {
			c->pushed = 0;
			continue;
		}
		const double by[3] = { c->pushed * c->normal[0], c->pushed * c->normal[1], c->pushed * c->normal[2] };
		move_contact(s, c, by);
		if (c->friction > 0)
			hold_contact(s, c);
	}
}

void soft_damp_contacts(sim_soft *s)
{
	for (int64_t i = 0; i < s->contacts.count; i++) {
		const soft_contact *c = &s->contacts.data[i];
		const double parting = c->pushed > 0 ? soft_gap(c, s->velocity) : 0;
		if (!(parting > 0))
			continue;
		for (int k = 0; k < 4; k++) {
			const double share = c->weight[k] * s->inverse_mass[c->vertices[k]] * c->inverse * parting;
			double *v = s->velocity + 3 * (int64_t)c->vertices[k];
			for (int axis = 0; axis < 3; axis++)
				v[axis] -= share * c->normal[axis];
		}
	}
}

void soft_separate(sim_soft *s)
{
	const double wanted = SEPARATION * s->def.thickness, enough = 0.9 * wanted;
	bool apart = false;
	for (int sweep = 0; sweep < MOST_SWEEPS && !apart; sweep++) {
		apart = true;
		for (int64_t i = 0; i < s->contacts.count; i++) {
			const soft_contact *c = &s->contacts.data[i];
			const double gap = c->inverse > 0 ? soft_gap(c, s->place) : wanted;
			// A pair that began nearer may stay so.
			const double needed = c->start < wanted ? c->start + RECOVERY * (wanted - c->start) : wanted;
			const double push = needed - gap;
			if (!(push > wanted - enough))
				continue;
			apart = false;
			const double by[3] = { push * c->normal[0], push * c->normal[1], push * c->normal[2] };
			move_contact(s, c, by);
		}
	}
}
