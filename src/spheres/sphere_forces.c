/// carom_spheres_sum_forces: for each sphere, the forces of the touching spheres of its row, in the
/// order of the row.
///
/// Rows are sorted by ids, distances and directions are the same from both sides except the sign,
/// and pairs that do not touch are left out by the exact test: so the sums have the same bits
/// however the rows were made. Each pair is computed twice, and nothing is shared between threads.
#include "base/parallel.h"
#include "base/time.h"
#include "spheres/sphere_state.h"
#include "spheres/sphere_forces.h"
#include <float.h>
#include <math.h>

enum { MIN_ROWS = 256 };

typedef struct force_task {
	const carom_spheres *spheres;
	carom_sphere_force_fn *fn;
	void *user;
	double *forces, *torques;
	atomic_llong touching;
} force_task;

static uint32_t id_of(const carom_spheres *spheres, uint32_t i) { return spheres->has_ids ? spheres->ids.data[i] : i; }

/// Unit vector along d, and its length.
static double normalise(double d[3], double d2)
{
	// Squares of tiny numbers lose digits or vanish: enlarge them before.
	double scale = 1;
	if (d2 < DBL_MIN / DBL_EPSILON) {
		scale = 0x1p600;
		for (int k = 0; k < 3; k++)
			d[k] *= scale;
		d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
	}
	const double length = sqrt(d2);
	for (int k = 0; k < 3 && length > 0; k++)
		d[k] /= length;
	return length / scale;
}

static int64_t sum_row(const force_task *task, uint32_t row, double force[3], double torque[3])
{
	const carom_spheres *spheres = task->spheres;
	double a[4], b[4], d[3], d2;
	int64_t touching = 0; // twice the pairs that are this row's to count
	cr_read_now(spheres, row, a);
	for (int64_t k = spheres->rows.first.data[row]; k < spheres->rows.first.data[row + 1]; k++) {
		const uint32_t other = spheres->rows.other.data[k];
		cr_read_now(spheres, other, b);
		if (!cr_touch_now(&spheres->space, a, b, d, &d2))
			continue;
		const double distance = normalise(d, d2);
		if (distance == 0)
			d[0] = id_of(spheres, row) < id_of(spheres, other) ? 1 : -1;
		// The root may be rounded up beyond the sum of radii.
		task->fn(row, other, d, fmax(a[3] + b[3] - distance, 0), force, torque, task->user);
		// a ghost has no row for its side
		touching += other < cr_owned_spheres(&spheres->set) ? 1 : 2;
	}
	return touching;
}

static void force_piece(int64_t begin, int64_t end, int worker, void *user)
{
	(void)worker;
	force_task *task = user;
	int64_t touching = 0;
	for (int64_t row = begin; row < end; row++) {
		double force[3] = { 0 }, torque[3] = { 0 };
		touching += sum_row(task, (uint32_t)row, force, torque);
		for (int k = 0; k < 3; k++) {
			task->forces[3 * row + k] = force[k];
			if (task->torques)
				task->torques[3 * row + k] = torque[k];
		}
	}
	atomic_fetch_add(&task->touching, touching);
}

void cr_sum_forces(carom_spheres *spheres, carom_sphere_force_fn *fn, void *user, double *forces, double *torques)
{
	force_task task = { .spheres = spheres, .fn = fn, .user = user, .forces = forces, .torques = torques };
	const double start = cr_time_ms();
	cr_parallel_for(spheres->context, force_piece, cr_owned_spheres(&spheres->set), MIN_ROWS, &task);
	spheres->stats.ms_find += cr_time_ms() - start;
	spheres->stats.pairs = atomic_load(&task.touching) / 2;
	spheres->stats.tests += spheres->list_pairs;
}
