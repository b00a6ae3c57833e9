// Wind: see sim_soft_wind. Each face has its force, then each vertex takes a third of those of its
// faces, in the order of their list: threads share no sums. No force is so large that it would turn
// the motion against the air round within a substep, so light cloth in a storm stays stable.
#include "sim/base/rotations.h"
#include "sim/cloth/soft_state.h"

#include <math.h>

enum { MIN_FACES = 1024, MIN_VERTICES = 2048 };

typedef struct blow {
	sim_soft *soft;
	double time, duration;
	double speed; // of the wind without gusts
} blow;

const char *soft_wind_fault(const sim_soft_wind *w)
{
	const struct {
		const char *name;
		bool fits;
	} fields[] = {
		{ "wind.density", w->density >= 0 && w->density <= 1e6 },
		{ "wind.velocity", fabs(w->velocity[0]) <= 1e4 && fabs(w->velocity[1]) <= 1e4 && fabs(w->velocity[2]) <= 1e4 },
		{ "wind.drag", w->drag >= 0 && w->drag <= 1e3 },
		{ "wind.lift", w->lift >= 0 && w->lift <= 1e3 },
		{ "wind.gusts", w->gusts >= 0 && w->gusts <= 10 },
		{ "wind.period", (w->gusts == 0 && w->period == 0) || (w->period >= 1e-6 && w->period <= 1e6) },
	};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (!fields[i].fits)
			return fields[i].name;
	}
	return NULL;
}

/// A random number in [-1, 1) that belongs to a whole number.
static double noise_at(uint64_t seed, double number)
{
	uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(int64_t)number;
	return sim_random_unit(&state);
}

/// From one number to the next without a kink.
static double smooth_noise(uint64_t seed, double x)
{
	const double whole = floor(x), u = x - whole, a = noise_at(seed, whole), b = noise_at(seed, whole + 1);
	return a + (b - a) * u * u * (3 - 2 * u);
}

/// How strong the wind is at a place, as a part of its speed. A gust comes with the wind.
static double strength(const blow *b, const double place[3])
{
	const sim_soft_wind *w = &b->soft->def.wind;
	if (w->gusts == 0)
		return 1;
	const double delay = b->speed > 0 ? soft_dot(place, w->velocity) / (b->speed * b->speed) : 0;
	const double x = fmin(fmax((b->time - delay) / w->period, -1e15), 1e15);
	return 1 + w->gusts * smooth_noise(w->seed, x);
}

/// The middle of a face, its mean velocity, and its normal, twice its area long.
static void measure_face(const sim_soft *s, const int32_t *v, double middle[3], double velocity[3], double normal[3])
{
	const double *a = s->place + 3 * (int64_t)v[0], *b = s->place + 3 * (int64_t)v[1], *c = s->place + 3 * (int64_t)v[2];
	double ab[3], ac[3];
	for (int k = 0; k < 3; k++) {
		ab[k] = b[k] - a[k];
		ac[k] = c[k] - a[k];
		middle[k] = (a[k] + b[k] + c[k]) / 3;
		velocity[k] =
			(s->velocity[3 * (int64_t)v[0] + k] + s->velocity[3 * (int64_t)v[1] + k] + s->velocity[3 * (int64_t)v[2] + k]) / 3;
	}
	soft_cross(ab, ac, normal);
}

static void blow_on(const blow *b, int32_t t, double force[3])
{
	const sim_soft *s = b->soft;
	const sim_soft_wind *w = &s->def.wind;
	const int32_t *v = s->triangles + 3 * (int64_t)t;
	double middle[3], velocity[3], n[3], u[3];
	force[0] = force[1] = force[2] = 0;
	measure_face(s, v, middle, velocity, n);
	const double part = strength(b, middle), twice = sqrt(soft_dot(n, n));
	for (int k = 0; k < 3; k++)
		u[k] = part * w->velocity[k] - velocity[k];
	const double speed = sqrt(soft_dot(u, u));
	if (twice == 0 || speed == 0)
		return;
	double through = soft_dot(u, n) / twice;
	if (through > 0 && s->parts[s->part_of[v[0]]].kind == SIM_SOFT_DEFORMABLE)
		return; // it is on the lee side of something closed
	const double side = through < 0 ? -1 : 1, across = fabs(through);
	double inverse = 0; // of the lightest vertex, whose faces weigh up to twice as much together
	for (int i = 0; i < 3; i++)
		inverse = fmax(inverse, s->inverse_mass[v[i]]);
	const double push = 0.25 * w->density * twice * across, rate = 2 * push * (w->drag + w->lift) * inverse;
	const double kept = push / fmax(rate * b->duration, 1);
	for (int k = 0; k < 3; k++)
		force[k] = kept * (w->drag * u[k] + w->lift * (speed * side * n[k] / twice - across * u[k] / speed));
}

static void blow_on_faces(int64_t begin, int64_t end, int worker, void *task)
{
	const blow *b = task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		const soft_part *part = &b->soft->parts[b->soft->part_of[b->soft->triangles[3 * i]]];
		if (!soft_keeps_form(part))
			blow_on(b, (int32_t)i, b->soft->blows + 3 * i);
	}
}

static void move_vertices(int64_t begin, int64_t end, int worker, void *task)
{
	const blow *b = task;
	sim_soft *s = b->soft;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		double sum[3] = { 0, 0, 0 };
		if (s->inverse_mass[i] == 0 || soft_keeps_form(&s->parts[s->part_of[i]]))
			continue;
		for (int64_t k = s->around_first[i]; k < s->around_first[i + 1]; k++) {
			const double *force = s->blows + 3 * (int64_t)s->around[k];
			for (int c = 0; c < 3; c++)
				sum[c] += force[c];
		}
		for (int c = 0; c < 3; c++)
			s->velocity[3 * i + c] += b->duration * s->inverse_mass[i] * sum[c] / 3;
	}
}

void soft_blow(sim_soft *s, double time, double duration)
{
	if (s->def.wind.density == 0)
		return;
	blow b = { s, time, duration, sqrt(soft_dot(s->def.wind.velocity, s->def.wind.velocity)) };
	carom_parallel_for(s->context, blow_on_faces, s->triangle_count, MIN_FACES, &b);
	carom_parallel_for(s->context, move_vertices, s->vertex_count, MIN_VERTICES, &b);
}
