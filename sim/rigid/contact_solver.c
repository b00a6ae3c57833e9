// Contacts by projected Gauss-Seidel with over-relaxation: the equations of ODE's quick step, begun
// with the impulses of the last step (warm start, as in E. Catto, Iterative dynamics with temporal
// coherence, 2005). A tower of N bodies needs about N^2 iterations from zero, and hardly any from
// the impulses that carried it a step ago.
//
// Each contact has three rows: the normal n, friction along the direction of sliding, and across
// both. A row with direction d wants the relative velocity d . (va + wa x ra - vb - wb x rb) to
// become wanted - softness * p, where p is the impulse of the row; p of the normal is not negative,
// and the two of friction are at most friction times that. Rows are visited in the order of the
// contacts, there and back by turns: what presses on a tower goes from its top to the ground in
// one iteration. Islands (bodies that touch, over bodies that contacts move) are solved one by
// one, each until it is accurate or has had its iterations, and then once more for the velocities
// after the step: without what takes penetrations back, and not soft (the "relax" iterations of
// E. Catto, Solver2D, 2024).
#include "sim/rigid/contact_solver.h"

#include "sim/base/rotations.h"
#include "sim/base/vectors.h"

#include <math.h>
#include <stdlib.h>

// A light body under a heavy one hands on its own weight in each iteration, so 100 times its mass
// takes some hundred. An island with two bodies of masses UNEVEN apart on each other gets more of
// them while it changes by ROUGH (m/s): at most MORE times as many, and not more than VISITS of
// contacts, so that the work of an island is bounded.
enum { UNEVEN = 4, MORE = 16, VISITS = 4000 };
static const double ROUGH = 1e-4;

typedef struct solver_row {
	carom_vec3 direction, turn_a, turn_b; // turns: r x direction
	carom_vec3 spin_a, spin_b;            // what one N s changes of the angular velocities
	double wanted;
	double inverse; // effective mass
	double gain;    // over-relaxation through (inverse effective mass + softness)
	double impulse;
} solver_row;

typedef struct contact_rows {
	solver_row rows[3];
	int32_t body_a, body_b;
	int32_t contact;
	double friction;
} contact_rows;

struct sim_contact_solver {
	contact_rows *rows; // sorted by islands
	int32_t *starts;    // of the islands' contacts, by the root's number
	int32_t row_room, body_room;
};

sim_contact_solver *sim_create_contact_solver(void) { return calloc(1, sizeof(sim_contact_solver)); }

void sim_destroy_contact_solver(sim_contact_solver *solver)
{
	if (!solver)
		return;
	free(solver->rows);
	free(solver->starts);
	free(solver);
}

/// Make room for count elements of that size. *array stays as it is when memory is short.
static bool reserve(void **array, int32_t *room, int32_t count, size_t size)
{
	if (count <= *room)
		return true;
	const int64_t larger = (int64_t)count + count / 2 + 64;
	void *grown = larger <= INT32_MAX ? realloc(*array, (size_t)larger * size) : NULL;
	if (!grown)
		return false;
	*array = grown;
	*room = (int32_t)larger;
	return true;
}

// ---- Islands ----

static int32_t root_of(sim_solved_body *bodies, int32_t i)
{
	while (bodies[i].parent != i)
		i = bodies[i].parent = bodies[bodies[i].parent].parent;
	return i;
}

/// Join what touches; an island is awake when one of it is.
static void find_islands(sim_solved_body *bodies, int32_t body_count, const sim_solved_contact *contacts, int32_t count)
{
	for (int32_t i = 0; i < body_count; i++)
		bodies[i].parent = i;
	for (int32_t i = 0; i < count; i++) {
		const int32_t a = contacts[i].body_a, b = contacts[i].body_b;
		if (bodies[a].inverse_mass == 0 || bodies[b].inverse_mass == 0) {
			const int32_t moved = bodies[a].inverse_mass == 0 ? b : a;
			bodies[root_of(bodies, moved)].awake |= bodies[a + b - moved].awake;
			continue;
		}
		const int32_t x = root_of(bodies, a), y = root_of(bodies, b);
		const int32_t first = x < y ? x : y, second = x + y - first;
		bodies[second].parent = first;
		bodies[first].awake |= bodies[second].awake;
	}
}

static int32_t island_of(sim_solved_body *bodies, const sim_solved_contact *contact)
{
	return root_of(bodies, bodies[contact->body_a].inverse_mass > 0 ? contact->body_a : contact->body_b);
}

// ---- Rows ----

static double fill_row(solver_row *row, const sim_solved_body *a, const sim_solved_body *b, carom_vec3 point)
{
	row->turn_a = sim_cross(sim_subtract(point, a->centre), row->direction);
	row->turn_b = sim_cross(sim_subtract(point, b->centre), row->direction);
	row->spin_a = sim_apply_tensor(a->inverse_inertia, row->turn_a);
	row->spin_b = sim_apply_tensor(b->inverse_inertia, row->turn_b);
	return a->inverse_mass + b->inverse_mass + sim_dot(row->turn_a, row->spin_a) + sim_dot(row->turn_b, row->spin_b);
}

static void push(const solver_row *row, sim_solved_body *a, sim_solved_body *b, double impulse)
{
	a->velocity = sim_add(a->velocity, sim_scale(row->direction, a->inverse_mass * impulse));
	b->velocity = sim_subtract(b->velocity, sim_scale(row->direction, b->inverse_mass * impulse));
	a->spin = sim_add(a->spin, sim_scale(row->spin_a, impulse));
	b->spin = sim_subtract(b->spin, sim_scale(row->spin_b, impulse));
}

static double limit_to(double x, double most) { return x > most ? most : x < -most ? -most : x; }

static void make_rows(
	const sim_contact_rules *rules, sim_solved_body *bodies, const sim_solved_contact *contact, contact_rows *rows)
{
	sim_solved_body *a = &bodies[contact->body_a], *b = &bodies[contact->body_b];
	const carom_vec3 directions[3] = { contact->normal, contact->along, sim_cross(contact->normal, contact->along) };
	rows->body_a = contact->body_a;
	rows->body_b = contact->body_b;
	rows->friction = contact->friction;
	for (int k = 0; k < 3; k++) {
		solver_row *row = &rows->rows[k];
		row->direction = directions[k];
		row->inverse = fill_row(row, a, b, contact->point);
		row->gain = rules->over_relaxation / (row->inverse + rules->softness);
		row->wanted = (k == 0 ? contact->speed : 0) - sim_dot(contact->surface, row->direction);
		row->impulse = sim_dot(contact->impulse, row->direction);
	}
	rows->rows[0].impulse = fmax(rows->rows[0].impulse, 0);
	const double most = rows->friction * rows->rows[0].impulse;
	for (int k = 0; k < 3; k++) {
		if (k > 0)
			rows->rows[k].impulse = limit_to(rows->rows[k].impulse, most);
		push(&rows->rows[k], a, b, rows->rows[k].impulse);
	}
}

/// The rows of awake islands, sorted by them. Impulses of the others become 0.
static int32_t sort_rows(sim_contact_solver *solver, const sim_contact_rules *rules, sim_solved_body *bodies,
	int32_t body_count, sim_solved_contact *contacts, int32_t count)
{
	int32_t *starts = solver->starts, total = 0;
	for (int32_t i = 0; i <= body_count; i++)
		starts[i] = 0;
	for (int32_t i = 0; i < count; i++)
		starts[island_of(bodies, &contacts[i])]++;
	for (int32_t i = 0; i <= body_count; i++) {
		const int32_t here = i < body_count && bodies[i].awake ? starts[i] : 0;
		starts[i] = total;
		total += here;
	}
	for (int32_t i = 0; i < count; i++) {
		const int32_t island = island_of(bodies, &contacts[i]);
		if (!bodies[island].awake) {
			contacts[i].impulse = (carom_vec3){ 0, 0, 0 };
			continue;
		}
		contact_rows *rows = &solver->rows[starts[island]++];
		rows->contact = i;
		make_rows(rules, bodies, &contacts[i], rows);
	}
	for (int32_t i = body_count; i > 0; i--) // each start was moved to its end
		starts[i] = starts[i - 1];
	starts[0] = 0;
	return total;
}

// ---- Iterations ----

/// Solve one row alone; returns the change of its velocity.
static double solve_row(double softness, solver_row *row, sim_solved_body *a, sim_solved_body *b, double least, double most)
{
	const double speed = sim_dot(row->direction, sim_subtract(a->velocity, b->velocity)) + sim_dot(row->turn_a, a->spin) -
		sim_dot(row->turn_b, b->spin);
	const double next = row->impulse + row->gain * (row->wanted - speed - softness * row->impulse);
	const double impulse = next < least ? least : next > most ? most : next, change = impulse - row->impulse;
	row->impulse = impulse;
	push(row, a, b, change);
	return fabs(change) / row->gain;
}

static double solve_contact(double softness, contact_rows *rows, sim_solved_body *bodies)
{
	sim_solved_body *a = &bodies[rows->body_a], *b = &bodies[rows->body_b];
	double change = solve_row(softness, &rows->rows[0], a, b, 0, INFINITY);
	const double most = rows->friction * rows->rows[0].impulse;
	for (int k = 1; k < 3; k++)
		change = fmax(change, solve_row(softness, &rows->rows[k], a, b, -most, most));
	return change;
}

static bool are_uneven(const sim_solved_body *a, const sim_solved_body *b)
{
	return a->inverse_mass > 0 && b->inverse_mass > 0 &&
		fmax(a->inverse_mass, b->inverse_mass) > UNEVEN * fmin(a->inverse_mass, b->inverse_mass);
}

/// How many iterations an island gets at most.
static int most_iterations(
	const sim_contact_rules *rules, const contact_rows *rows, int32_t count, const sim_solved_body *bodies)
{
	const int64_t visits = VISITS / count, more = (int64_t)MORE * rules->iterations, most = visits < more ? visits : more;
	if (most <= rules->iterations)
		return rules->iterations;
	for (int32_t i = 0; i < count; i++) {
		if (are_uneven(&bodies[rows[i].body_a], &bodies[rows[i].body_b]))
			return (int)most;
	}
	return rules->iterations;
}

static void iterate(const sim_contact_rules *rules, double softness, contact_rows *rows, int32_t count, sim_solved_body *bodies)
{
	const int most = most_iterations(rules, rows, count, bodies);
	double change = INFINITY;
	for (int n = 0; n < most && change >= (n < rules->iterations ? rules->accuracy : ROUGH); n++) {
		change = 0;
		for (int32_t i = 0; i < count; i++)
			change = fmax(change, solve_contact(softness, &rows[n % 2 ? count - 1 - i : i], bodies));
	}
}

static void keep_motion(
	const sim_contact_rules *rules, contact_rows *rows, sim_solved_body *bodies, const sim_solved_contact *contacts)
{
	rows->rows[0].wanted =
		contacts[rows->contact].speed_after - sim_dot(contacts[rows->contact].surface, rows->rows[0].direction);
	for (int k = 0; k < 3; k++)
		rows->rows[k].gain = rules->over_relaxation / rows->rows[k].inverse;
	sim_solved_body *pair[2] = { &bodies[rows->body_a], &bodies[rows->body_b] };
	for (int side = 0; side < 2; side++) {
		pair[side]->moving = pair[side]->velocity;
		pair[side]->turning = pair[side]->spin;
		pair[side]->touched = true;
	}
}

static void solve_island(const sim_contact_rules *rules, contact_rows *rows, int32_t count, sim_solved_body *bodies,
	const sim_solved_contact *contacts)
{
	iterate(rules, rules->softness, rows, count, bodies);
	for (int32_t i = 0; i < count; i++)
		keep_motion(rules, &rows[i], bodies, contacts);
	if (!rules->springs)
		iterate(rules, 0, rows, count, bodies);
}

static carom_vec3 impulse_of(const contact_rows *rows)
{
	carom_vec3 sum = { 0, 0, 0 };
	for (int k = 0; k < 3; k++)
		sum = sim_add(sum, sim_scale(rows->rows[k].direction, rows->rows[k].impulse));
	return sum;
}

bool sim_solve_contacts(sim_contact_solver *solver, const sim_contact_rules *rules, sim_solved_body *bodies, int32_t body_count,
	sim_solved_contact *contacts, int32_t count)
{
	if (!reserve((void **)&solver->rows, &solver->row_room, count, sizeof *solver->rows) ||
		!reserve((void **)&solver->starts, &solver->body_room, body_count + 1, sizeof *solver->starts))
		return false;
	find_islands(bodies, body_count, contacts, count);
	for (int32_t i = 0; i < body_count; i++) {
		bodies[i].moving = bodies[i].start_velocity = bodies[i].velocity;
		bodies[i].turning = bodies[i].start_spin = bodies[i].spin;
	}
	const int32_t total = sort_rows(solver, rules, bodies, body_count, contacts, count);
	for (int32_t i = 0; i < body_count; i++) {
		if (solver->starts[i + 1] > solver->starts[i])
			solve_island(rules, &solver->rows[solver->starts[i]], solver->starts[i + 1] - solver->starts[i], bodies, contacts);
	}
	for (int32_t i = 0; i < total; i++)
		contacts[solver->rows[i].contact].impulse = impulse_of(&solver->rows[i]);
	return true;
}
