// Limits of stretch. After the solver, edges that are longer than they may be are pulled short, the
// features of contacts put apart, and so on in turn until all hold: the sets of places that satisfy
// one of them are convex (contacts with their normals), so each pull brings places nearer to those
// that satisfy all (projections onto convex sets; Bregman 1965).
#include "sim/cloth/soft_colors.h"
#include "sim/cloth/soft_levels.h"

// An edge that is too long is pulled to this part of the stretch that it may have. So a chain of
// such edges has room to share: cloth_ball at 0.4 of its fineness takes 8.7 turns instead of 14.5
// with 0.92, at most 59 instead of 119.
static const double AIM = 0.5;

enum {
	MOST_SWEEPS = 400,
	CROSSED_SWEEPS = 30, // where bodies cross, edges may be held too long
	SWEEPS_A_LEVEL = 4,  // sweeps over the edges for one over the coarse levels
	MIN_VERTICES = 2048,
};

/// Pull two vertices together that are farther apart than most, to aim. Returns whether they were.
static bool pull(double *place, const double *inverse_mass, const int32_t v[2], double most, double aim)
{
	double *a = place + 3 * (int64_t)v[0], *b = place + 3 * (int64_t)v[1];
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
	const double square = soft_dot(d, d), wa = inverse_mass[v[0]], wb = inverse_mass[v[1]];
	if (!(square > most * most) || wa + wb == 0)
		return false;
	const double length = sqrt(square), push = (length - aim) / ((wa + wb) * length);
	for (int k = 0; k < 3 && wa > 0; k++)
		a[k] -= wa * push * d[k];
	for (int k = 0; k < 3 && wb > 0; k++)
		b[k] += wb * push * d[k];
	return true;
}

// ---- Coarse levels ----

typedef struct level_task {
	sim_soft *soft;
	const soft_level *level, *above;
	bool settle; // above: NULL over the coarsest; level: NULL for the mesh
} level_task;

static void add_shift(const soft_level *above, const soft_parents *of, double shift[3])
{
	for (int i = 0; i < SOFT_MOST_PARENTS; i++) {
		for (int k = 0; k < 3; k++)
			shift[k] += of->weight[i] * above->shift[3 * (int64_t)of->parent[i] + k];
	}
}

/// Where the vertices of a level are, as far as the levels above it have moved them.
static void place_level(int64_t begin, int64_t end, int worker, void *task)
{
	const level_task *t = task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		double shift[3] = { 0, 0, 0 };
		if (t->above && t->level->inverse_mass[i] > 0)
			add_shift(t->above, &t->above->parents[i], shift);
		for (int k = 0; k < 3; k++)
			t->level->place[3 * i + k] = t->soft->place[3 * (int64_t)t->level->vertices[i] + k] + shift[k];
	}
}

static void take_shifts(int64_t begin, int64_t end, int worker, void *task)
{
	const level_task *t = task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		for (int k = 0; k < 3; k++)
			t->level->shift[3 * i + k] = t->level->place[3 * i + k] - t->soft->place[3 * (int64_t)t->level->vertices[i] + k];
	}
}

static void move_vertices(int64_t begin, int64_t end, int worker, void *task)
{
	const level_task *t = task;
	(void)worker;
	for (int64_t i = begin; i < end; i++) {
		double shift[3] = { 0, 0, 0 };
		if (t->soft->inverse_mass[i] == 0)
			continue;
		add_shift(t->above, &t->above->parents[i], shift);
		for (int k = 0; k < 3; k++)
			t->soft->place[3 * i + k] += shift[k];
	}
}

static void limit_tethers(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	const level_task *task = visit->task;
	const soft_level *level = task->level;
	int64_t long_ones = 0;
	for (int64_t i = begin; i < end; i++) {
		const soft_tether *t = &level->tethers[soft_position(visit, begin, end, i)];
		const double most = task->settle ? t->most : t->taut;
		long_ones += pull(level->place, level->inverse_mass, t->vertices, most, most);
	}
	visit->soft->tallies[worker].count += long_ones;
}

int64_t soft_limit_levels(sim_soft *s, bool settle)
{
	soft_clear_tallies(s);
	level_task task = { .soft = s, .settle = settle };
	for (int32_t i = s->levels->count; i-- > 0; task.above = task.level) {
		task.level = &s->levels->level[i];
		soft_visit visit = { .soft = s, .colors = &task.level->colors, .run = limit_tethers, .task = &task };
		carom_parallel_for(s->context, place_level, task.level->count, MIN_VERTICES, &task);
		soft_run_visit(&visit);
		visit.back = true;
		soft_run_visit(&visit);
		carom_parallel_for(s->context, take_shifts, task.level->count, MIN_VERTICES, &task);
	}
	const int64_t long_ones = soft_sum_tallies(s);
	if (long_ones > 0)
		carom_parallel_for(s->context, move_vertices, s->vertex_count, MIN_VERTICES, &task);
	return long_ones;
}

// ---- Edges ----

static void limit_edges(const soft_visit *visit, int64_t begin, int64_t end, int worker)
{
	sim_soft *s = visit->soft;
	int64_t long_ones = 0;
	for (int64_t i = begin; i < end; i++) {
		const soft_edge *edge = &s->edges[soft_position(visit, begin, end, i)];
		long_ones +=
			pull(s->place, s->inverse_mass, edge->vertices, edge->most, edge->length + AIM * (edge->most - edge->length));
	}
	s->tallies[worker].count += long_ones;
}

/// Pull all edges to their limits, there and back. Returns how often one was too long.
static int64_t limit_all(sim_soft *s)
{
	soft_visit visit = { .soft = s, .colors = &s->edge_colors, .run = limit_edges };
	soft_clear_tallies(s);
	soft_run_visit(&visit);
	visit.back = true;
	soft_run_visit(&visit);
	return soft_sum_tallies(s);
}

void soft_settle(sim_soft *s, double duration)
{
	bool settled = false;
	const int most = s->step.crossings > 0 ? CROSSED_SWEEPS : MOST_SWEEPS;
	for (int sweep = 0; sweep < most && !settled; sweep++) {
		if (sweep % SWEEPS_A_LEVEL == 1)
			soft_limit_levels(s, true);
		settled = limit_all(s) == 0;
		settled = soft_part_contacts(s, duration) == 0 && settled;
		settled = soft_part_spheres(s) == 0 && settled;
		// Spheres push by less than what counts, too.
		soft_correct_solids(s);
	}
}
