// Spheres that meet deforming bodies: see soft_meeting.h.
//
// The force that a sphere moves with there is the mean one of its last step: weight, neighbours,
// walls, all but deforming bodies. So one that carries others is held with their weight.
//
// Dealing an impulse J and a way D that it makes over the n substeps h: sphere i of mass m gets
// a + b k before substep k, and its place follows after each. Sums over k from 0 to n - 1:
// sum(a + b k) = J, h / m sum((a + b k) (n - k)) = D.
#include "scene/soft_meeting.h"

#include "sim/base/rotations.h"

#include <stdlib.h>
#include <string.h>

struct scene_soft_meeting {
	const scene_description *scene;
	sim_soft *soft;
	sim_granular *granular;
	int32_t count;
	sim_soft_sphere *spheres;
	double *numbers; // all arrays that follow, [3*count] each
	double *before;  // velocities when the last step began
	double *impulses;
	double *first, *more; // a and b of the text above
	double *kicks, *turns;
	double *places, *velocities, *spins;
	bool begun; // has a step been done?
	carom_vec3 sum;
};

scene_soft_meeting *scene_create_soft_meeting(
	const scene_description *scene, sim_soft *soft, sim_granular *granular, sim_error *error)
{
	const int64_t count = sim_granular_get_info(granular).count;
	scene_soft_meeting *m = calloc(1, sizeof *m);
	if (m && count <= INT32_MAX) {
		*m = (scene_soft_meeting){ .scene = scene, .soft = soft, .granular = granular, .count = (int32_t)count };
		m->spheres = calloc((size_t)count + 1, sizeof *m->spheres);
		m->numbers = calloc((size_t)count * 27 + 1, sizeof *m->numbers);
	}
	if (!m || !m->spheres || !m->numbers) {
		sim_fail(error, "%s: out of memory", scene->file);
		scene_destroy_soft_meeting(m);
		return NULL;
	}
	double **const arrays[] = { &m->before, &m->impulses, &m->first, &m->more, &m->kicks, &m->turns, &m->places, &m->velocities,
		&m->spins };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		*arrays[i] = m->numbers + i * 3 * (size_t)count;
	return m;
}

void scene_destroy_soft_meeting(scene_soft_meeting *m)
{
	if (!m)
		return;
	free(m->spheres);
	free(m->numbers);
	free(m);
}

// ---- To deforming bodies ----

static void fill_sphere(scene_soft_meeting *m, int32_t i, double radius)
{
	const sim_granular_def *def = &m->scene->spheres.def;
	sim_soft_sphere *s = &m->spheres[i];
	s->radius = radius;
	s->mass = def->density * (4.0 / 3) * SIM_PI * radius * radius * radius;
	s->friction = def->walls.tangential == SIM_GRANULAR_SMOOTH ? 0 : def->walls.friction;
	for (int k = 0; k < 3; k++) {
		const int64_t at = 3 * (int64_t)i + k;
		const double gained = s->mass * (m->velocities[at] - m->before[at]) - m->impulses[at];
		s->place[k] = m->places[at];
		s->velocity[k] = m->velocities[at];
		s->spin[k] = m->spins[at];
		s->force[k] = m->begun ? gained / m->scene->time_step : s->mass * def->gravity[k];
	}
}

bool scene_soft_meeting_begin(scene_soft_meeting *m, sim_error *error)
{
	double *radii = m->kicks; // scratch
	sim_granular_get_state(m->granular, m->places, radii, m->velocities, m->spins);
	for (int32_t i = 0; i < m->count; i++)
		fill_sphere(m, i, radii[i]);
	memcpy(m->before, m->velocities, (size_t)m->count * 3 * sizeof *m->before);
	m->begun = true;
	return sim_soft_meet(m->soft, m->count, m->spheres, error) || sim_fail_in(error, "%s: ", m->scene->file);
}

// ---- To the spheres ----

/// Deal an impulse along one axis.
static void deal(const scene_soft_meeting *m, double impulse, double way, double *first, double *more)
{
	const double n = m->scene->spheres.substeps;
	const double s1 = 0.5 * n * (n - 1), w0 = 0.5 * n * (n + 1), w1 = n * (n - 1) * (n + 1) / 6;
	const double determinant = n * w1 - s1 * w0;
	*first = determinant < 0 ? (impulse * w1 - way * s1) / determinant : impulse;
	*more = determinant < 0 ? (n * way - w0 * impulse) / determinant : 0;
}

static void deal_changes(scene_soft_meeting *m)
{
	const double n = m->scene->spheres.substeps, h = m->scene->time_step / n;
	m->sum = (carom_vec3){ 0, 0, 0 };
	for (int32_t i = 0; i < m->count; i++) {
		const sim_soft_sphere_change change = sim_soft_get_change(m->soft, i);
		const sim_soft_sphere *s = &m->spheres[i];
		for (int k = 0; k < 3; k++) {
			const int64_t at = 3 * (int64_t)i + k;
			// Of spheres alone, as they step.
			const double fall = n * h * s->velocity[k] + 0.5 * n * (n + 1) * h * h * s->force[k] / s->mass;
			m->impulses[at] = change.impulse[k];
			m->turns[at] = change.angular_impulse[k] / n;
			m->first[at] = m->more[at] = 0;
			if (change.touched)
				deal(m, change.impulse[k], s->mass * (change.way[k] - fall) / h, &m->first[at], &m->more[at]);
		}
		m->sum.x += change.impulse[0];
		m->sum.y += change.impulse[1];
		m->sum.z += change.impulse[2];
	}
}

bool scene_soft_meeting_push(scene_soft_meeting *m, int32_t substep, sim_error *error)
{
	if (substep == 0)
		deal_changes(m);
	for (int64_t i = 0; i < 3 * (int64_t)m->count; i++)
		m->kicks[i] = m->first[i] + substep * m->more[i];
	return sim_granular_push(m->granular, m->kicks, m->turns, error);
}

carom_vec3 scene_soft_meeting_get_impulse(const scene_soft_meeting *m) { return m->sum; }

void scene_soft_meeting_move_state(scene_soft_meeting *m, sim_tape *tape)
{
	const size_t bytes = (size_t)m->count * 3 * sizeof(double);
	sim_tape_expect(tape, m->count);
	sim_tape_move(tape, &m->begun, sizeof m->begun);
	sim_tape_move(tape, m->before, bytes);
	sim_tape_move(tape, m->impulses, bytes);
	sim_tape_move(tape, &m->sum, sizeof m->sum);
}
