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

double soft_weigh_contact(const sim_soft *s, const soft_contact *c)
{
	double sum = 0;
	for (int i = 0; i < 4; i++)
		sum += c->weight[i] * c->weight[i] * s->inverse_mass[c->vertices[i]];
	return sum > 0 ? 1 / sum : 0;
}

/// Move the features of a contact within so many seconds.
static void move_contact(const sim_soft *s, soft_contact *c, const double by[3], double duration)
{
	for (int k = 0; k < 3; k++)
		c->impulse[k] += c->inverse * by[k] / duration;
	for (int i = 0; i < 4; i++) {
		const double share = c->weight[i] * s->inverse_mass[c->vertices[i]] * c->inverse;
		double *p = s->place + 3 * (int64_t)c->vertices[i];
		for (int k = 0; k < 3 && share != 0; k++)
			p[k] += share * by[k];
	}
}

/// Take back the slide of the features along each other in this substep, at most friction times the
/// push.
static void hold_contact(const sim_soft *s, soft_contact *c, double duration)
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
	// What was held before counts: all of it is at most friction times all of the push.
	for (int k = 0; k < 3; k++)
		slid[k] -= c->held[k];
	const double way = sqrt(soft_dot(slid, slid)), most = c->friction * c->pushed;
	if (way == 0)
		return;
	const double part = way > most ? -most / way : -1;
	double back[3];
	for (int k = 0; k < 3; k++) {
		back[k] = part * slid[k] - c->held[k];
		c->held[k] = part * slid[k];
	}
	move_contact(s, c, back, duration);
}

/// The gap up to which features are taken apart. Those that are neighbours at rest come no nearer,
/// but their surface alone says how far apart they are.
static double comfort_of(const sim_soft *s, const soft_contact *c)
{
	return c->thickness < s->def.thickness ? 0 : COMFORT * c->thickness;
}

/// A substep: progress of the step at its end is from 0 to 1.
typedef struct pushing {
	double progress, duration;
	bool again;
} pushing;

/// Keep the gap of one contact.
static void push_contact(const sim_soft *s, soft_contact *c, const pushing *p)
{
	const double thickness = c->thickness, least = comfort_of(s, c);
	const double wanted = c->start < least ? c->start + p->progress * RECOVERY * (least - c->start) : fmin(c->start, thickness);
	const double before = p->again ? c->pushed : 0;
	c->pushed = before + (wanted - soft_gap(c, s->place));
	if (!p->again)
		c->held[0] = c->held[1] = c->held[2] = 0;
	if ((!(c->pushed > 0) && before == 0) || c->inverse == 0) {
		c->pushed = 0;
		return;
	}
	c->pushed = c->pushed > 0 ? c->pushed : 0;
	const double push = c->pushed - before, by[3] = { push * c->normal[0], push * c->normal[1], push * c->normal[2] };
	move_contact(s, c, by, p->duration);
	if (c->friction > 0)
		hold_contact(s, c, p->duration);
}

static void push_contacts(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	const sim_soft *s = visit->soft;
	const pushing *p = visit->task;
	(void)worker;
	for (int64_t i = begin; i < end; i++)
		push_contact(s, &s->contacts.data[s->contact_order[i]], p);
}

void soft_push_contacts(sim_soft *s, double progress, double duration, bool again)
{
	pushing p = { progress, duration, again };
	soft_run_visit(&(soft_visit){ .soft = s, .colors = &s->contact_colors, .run = push_contacts, .task = &p });
}

/// Take away the velocity of parting, or of approach where it is negative.
static void stop_contact(const sim_soft *s, soft_contact *c, double parting)
{
	for (int k = 0; k < 3; k++)
		c->impulse[k] -= c->inverse * parting * c->normal[k];
	for (int k = 0; k < 4; k++) {
		const double share = c->weight[k] * s->inverse_mass[c->vertices[k]] * c->inverse * parting;
		double *v = s->velocity + 3 * (int64_t)c->vertices[k];
		for (int axis = 0; axis < 3 && share != 0; axis++)
			v[axis] -= share * c->normal[axis];
	}
}

static void damp_contact(const sim_soft *s, soft_contact *c)
{
	const double parting = c->pushed > 0 ? soft_gap(c, s->velocity) : 0;
	if (parting > 0)
		stop_contact(s, c, parting);
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
static bool part_contact(const sim_soft *s, soft_contact *c)
{
	const double wanted = SEPARATION * c->thickness, enough = 0.9 * wanted;
	const double gap = c->inverse > 0 ? soft_gap(c, s->place) : wanted;
	// A pair that began nearer may stay so.
	const double more = c->thickness < s->def.thickness ? 0 : RECOVERY * (wanted - c->start);
	const double needed = c->start < wanted ? c->start + more : wanted;
	const double push = needed - gap;
	if (!(push > wanted - enough))
		return false;
	const double by[3] = { push * c->normal[0], push * c->normal[1], push * c->normal[2] };
	move_contact(s, c, by, INFINITY); // without an impulse
	for (int k = 0; k < 3; k++)
		c->corrected[k] += c->inverse * by[k];
	c->parted = true;
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

static void slow_contacts(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	const sim_soft *s = visit->soft;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		soft_contact *c = &s->contacts.data[s->contact_order[i]];
		const double parting = c->inverse > 0 && (c->parted || c->pushed > 0) ? soft_gap(c, s->velocity) : 0;
		if (parting < 0)
			stop_contact(s, c, parting);
	}
}

void soft_slow_contacts(sim_soft *s)
{
	soft_run_visit(&(soft_visit){ .soft = s, .colors = &s->contact_colors, .run = slow_contacts });
}

// ---- What rigid bodies feel ----

void soft_clear_impulses(sim_soft *s)
{
	for (int64_t i = 0; i < s->contacts.count; i++) {
		for (int k = 0; k < 3; k++)
			s->contacts.data[i].impulse[k] = s->contacts.data[i].corrected[k] = 0;
	}
}

void soft_push_body(soft_part *part, const double place[3], const double impulse[3])
{
	const carom_vec3 o = part->to.position;
	const double r[3] = { place[0] - o.x, place[1] - o.y, place[2] - o.z };
	for (int k = 0; k < 3; k++) {
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		part->reaction.impulse[k] += impulse[k];
		part->reaction.angular_impulse[k] += r[u] * impulse[v] - r[v] * impulse[u];
	}
}

void soft_sum_reactions(sim_soft *s)
{
	for (int64_t i = 0; i < s->contacts.count; i++) {
		const soft_contact *c = &s->contacts.data[i];
		for (int k = 0; k < 4; k++) {
			const int32_t carrier = s->carrier[c->vertices[k]];
			const double given[3] = { c->weight[k] * c->impulse[0], c->weight[k] * c->impulse[1], c->weight[k] * c->impulse[2] };
			if (carrier >= 0)
				soft_push_body(&s->parts[carrier], s->carried + 3 * (int64_t)c->vertices[k], given);
		}
	}
}

// ---- Looking ----

// Features that were nearer than this as the part of the step began, in thicknesses, rest upon each
// other; those from farther away have met.
static const double REST = 1.1;

/// The middle between the places of the two features.
static sim_contact_point point_of(const sim_soft *s, const soft_contact *c)
{
	sim_contact_point point = { .kind = c->start < REST * s->def.thickness ? SIM_CONTACT_CLOTH : SIM_CONTACT_IMPACT,
		.depth = s->def.thickness - soft_gap(c, s->committed) };
	for (int k = 0; k < 3; k++) {
		point.normal[k] = c->normal[k];
		for (int i = 0; i < 4; i++)
			point.point[k] += 0.5 * fabs(c->weight[i]) * s->committed[3 * (int64_t)c->vertices[i] + k];
	}
	return point;
}

bool sim_soft_list_contacts(const sim_soft *s, sim_contact_points *points)
{
	for (int64_t i = 0; i < s->contacts.count; i++) {
		const sim_contact_point point = point_of(s, &s->contacts.data[i]);
		if (!sim_add_contact_point(points, &point))
			return false;
	}
	return soft_list_spheres(s, points);
}
