// Walls: the faces of the box and moving planes, with the contact law of one sphere against a body
// without end. A sphere whose centre has come through a wall is still pushed back.
#include "sim/grains/granular_law.h"

#include "sim/base/rotations.h"

#include <string.h>

static void place_moving(granular_plane *plane, const sim_granular_wall *wall, double time)
{
	const double length = sim_length3(wall->normal);
	const double angle = wall->frequency * time + wall->phase;
	const double shift = sim_sine(angle), rate = wall->frequency * sim_cosine(angle);
	plane->offset = 0;
	for (int k = 0; k < 3; k++) {
		plane->normal[k] = wall->normal[k] / length;
		plane->velocity[k] = wall->velocity[k] + wall->amplitude[k] * rate;
		plane->offset += (wall->point[k] + wall->velocity[k] * time + wall->amplitude[k] * shift) * plane->normal[k];
	}
}

void granular_place_walls(sim_granular *g)
{
	const double time = (double)g->steps * g->def.time_step;
	int32_t count = 0;
	for (int f = 0; f < GRANULAR_FACES; f++) {
		const int axis = f / 2;
		double *limit = f % 2 ? &g->inner_high[axis] : &g->inner_low[axis];
		*limit = f % 2 ? INFINITY : -INFINITY;
		if (!g->def.faces[f])
			continue;
		const double at = f % 2 ? g->def.upper[axis] : g->def.lower[axis];
		// A little further in, for the rounding of the distance.
		const double reach = g->largest_radius * (1 + 1e-9) + 1e-12 * fabs(at);
		*limit = f % 2 ? at - reach : at + reach;
		granular_plane *plane = &g->planes[count++];
		*plane = (granular_plane){ .offset = f % 2 ? -at : at, .bit = 1u << f, .slot = axis };
		plane->normal[axis] = f % 2 ? -1 : 1;
	}
	for (int w = 0; w < g->def.moving_count; w++) {
		granular_plane *plane = &g->planes[count++];
		*plane = (granular_plane){ .bit = 1u << (GRANULAR_FACES + w), .slot = 3 + w };
		place_moving(plane, &g->def.moving[w], time);
	}
	g->plane_count = count;
}

/// Depth of a sphere in a wall: below 0 apart.
static inline double depth(const granular_plane *plane, const granular_place *p)
{
	const double *n = plane->normal;
	return p->r - (n[0] * p->x + n[1] * p->y + n[2] * p->z - plane->offset);
}

/// The sphere's spin in a contact, and the sliding that comes of it.
static void turn_contact(const granular_spin *w, granular_contact *c)
{
	const double *n = c->normal;
	c->velocity[0] -= c->lever * (w->y * n[2] - w->z * n[1]);
	c->velocity[1] -= c->lever * (w->z * n[0] - w->x * n[2]);
	c->velocity[2] -= c->lever * (w->x * n[1] - w->y * n[0]);
	c->rolling[0] = w->x;
	c->rolling[1] = w->y;
	c->rolling[2] = w->z;
	c->inverse_inertia = w->inverse_inertia;
}

granular_reply granular_press_sphere(const sim_granular *g, int64_t i, const double normal[3], double overlap,
	const double velocity[3], double *spring, double *load)
{
	const granular_motion *v = &g->motions[i];
	const double r = g->places[i].r;
	granular_contact c = { .overlap = overlap, .lever = r - overlap, .mass_root = 1 / sqrt(v->inverse_mass), .radius = r };
	memcpy(c.normal, normal, sizeof c.normal);
	c.velocity[0] = v->x - velocity[0];
	c.velocity[1] = v->y - velocity[1];
	c.velocity[2] = v->z - velocity[2];
	if (g->turns)
		turn_contact(&g->spins[i], &c);
	const granular_reply reply = granular_touch(&g->against, g->against.hertz, g->turns, &c, g->def.time_step, spring);
	for (int k = 0; k < 3; k++) {
		load[k] += reply.force[k];
		if (g->turns)
			load[3 + k] += reply.rolling[k] - c.lever * reply.twist[k];
	}
	return reply;
}

/// Add the effect of a sphere on a wall to the sums of the wall.
static void note_wall(
	const granular_place *p, const granular_plane *plane, double overlap, const granular_reply *reply, sim_exact_sum *walls)
{
	const double lever = p->r - overlap, centre[3] = { p->x, p->y, p->z };
	double point[3], force[3], torque[3];
	int number = 0;
	for (uint32_t bit = plane->bit; bit > 1; bit >>= 1)
		number++;
	for (int k = 0; k < 3; k++) {
		point[k] = centre[k] - lever * plane->normal[k];
		force[k] = -reply->force[k];
		torque[k] = -reply->rolling[k];
	}
	sim_note_force(&walls[number], point, force, torque);
}

static void touch_wall(sim_granular *g, int64_t i, const granular_plane *plane, double overlap, uint32_t before, double *load,
	sim_exact_sum *walls)
{
	double *spring = NULL;
	if (g->wall_touched) {
		spring = &g->wall_history[3 * (i * g->wall_slots + plane->slot)];
		if (!(before & plane->bit))
			memset(spring, 0, 3 * sizeof *spring);
	}
	const granular_reply reply = granular_press_sphere(g, i, plane->normal, overlap, plane->velocity, spring, load);
	if (walls)
		note_wall(&g->places[i], plane, overlap, &reply, walls);
}

void granular_add_walls(sim_granular *g, int64_t i, double *load, granular_tally *tally)
{
	const uint32_t before = g->wall_touched ? g->wall_touched[i] : 0;
	uint32_t now = 0;
	for (int w = 0; w < g->plane_count; w++) {
		const granular_plane *plane = &g->planes[w];
		const double overlap = depth(plane, &g->places[i]);
		if (overlap < 0)
			continue;
		now |= plane->bit;
		tally->wall_contacts++;
		touch_wall(g, i, plane, overlap, before, load, tally->walls);
	}
	if (g->wall_touched)
		g->wall_touched[i] = (uint16_t)now;
	if (g->touch_rows)
		granular_add_touches(g, i, load, tally);
}

double granular_wall_energy(const sim_granular *g, int64_t i)
{
	double energy = 0;
	for (int w = 0; w < g->plane_count; w++) {
		const granular_plane *plane = &g->planes[w];
		const double overlap = depth(plane, &g->places[i]);
		if (overlap < 0)
			continue;
		const bool kept = g->wall_touched && (g->wall_touched[i] & plane->bit);
		const double *spring = kept ? &g->wall_history[3 * (i * g->wall_slots + plane->slot)] : NULL;
		energy += granular_spring_energy(&g->against, overlap, g->places[i].r, spring);
	}
	return energy;
}
