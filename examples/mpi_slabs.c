/// Spheres on several processes, by MPI alone: each process owns a slab of the box, and has copies
/// of its neighbours' spheres that are near the border (ghosts). The result has equal bits for any
/// number of processes.
///
///     mpirun -n 4 mpi_slabs [SPHERES [STEPS]]
#include <carom/carom.h>
#include <carom/spheres.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double RADIUS = 0.5, STIFFNESS = 1e4, DAMPING = 4, TIME_STEP = 1e-3, GRAVITY = 10;
enum { LEFT, RIGHT };

typedef struct sphere {
	uint64_t name;
	double at[3], velocity[3];
} sphere;

/// A list that grows.
typedef struct spheres {
	sphere *data;
	int count, capacity;
} spheres;

/// This process: its slab is lower <= x < upper. Spheres in all: the owned ones first, then ghosts.
typedef struct process {
	int rank, size;
	double lower, upper;
	spheres all;
	int owned;
	int handed_over; // spheres that have left the slab so far
} process;

static void check(carom_context *context, carom_result result)
{
	if (result == CAROM_SUCCESS)
		return;
	fprintf(stderr, "mpi_slabs: %s\n", context ? carom_error_text(context) : "no context");
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void add(spheres *list, const sphere *one)
{
	if (list->count == list->capacity) {
		list->capacity = 2 * list->capacity + 64;
		list->data = realloc(list->data, (size_t)list->capacity * sizeof *list->data);
		if (!list->data)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	list->data[list->count++] = *one;
}

/// Send a list each to the left and to the right; what comes from there goes behind p->all.
static void exchange(process *p, const spheres send[2])
{
	for (int side = LEFT; side <= RIGHT; side++) {
		const int to = side == LEFT ? p->rank - 1 : p->rank + 1, from = side == LEFT ? p->rank + 1 : p->rank - 1;
		const int target = to < 0 || to >= p->size ? MPI_PROC_NULL : to;
		const int source = from < 0 || from >= p->size ? MPI_PROC_NULL : from;
		int incoming = 0;
		MPI_Sendrecv(
			&send[side].count, 1, MPI_INT, target, 0, &incoming, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sphere *come = malloc((size_t)incoming * sizeof *come + 1);
		if (!come)
			MPI_Abort(MPI_COMM_WORLD, 1);
		MPI_Sendrecv(send[side].data, send[side].count * (int)sizeof(sphere), MPI_BYTE, target, 1, come,
			incoming * (int)sizeof(sphere), MPI_BYTE, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < incoming; i++)
			add(&p->all, &come[i]);
		free(come);
	}
}

/// Hand over what has left the slab. A sphere goes no further than to the next process in one step.
static void migrate(process *p)
{
	spheres leaving[2] = { { 0 } };
	int kept = 0;
	for (int i = 0; i < p->owned; i++) {
		const sphere *s = &p->all.data[i];
		if (s->at[0] < p->lower && p->rank > 0)
			add(&leaving[LEFT], s);
		else if (s->at[0] >= p->upper && p->rank < p->size - 1)
			add(&leaving[RIGHT], s);
		else
			p->all.data[kept++] = *s;
	}
	p->all.count = kept; // ghosts are forgotten
	exchange(p, leaving);
	p->owned = p->all.count;
	p->handed_over += leaving[LEFT].count + leaving[RIGHT].count;
	free(leaving[LEFT].data);
	free(leaving[RIGHT].data);
}

/// Fetch all that may touch an owned sphere.
static void fetch_ghosts(process *p)
{
	spheres near[2] = { { 0 } };
	for (int i = 0; i < p->owned; i++) {
		const sphere *s = &p->all.data[i];
		if (s->at[0] < p->lower + 2 * RADIUS)
			add(&near[LEFT], s);
		if (s->at[0] >= p->upper - 2 * RADIUS)
			add(&near[RIGHT], s);
	}
	exchange(p, near);
	free(near[LEFT].data);
	free(near[RIGHT].data);
}

/// A spring and a dashpot along the line of centres.
static void push(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	const process *p = user;
	const double *va = p->all.data[a].velocity, *vb = p->all.data[b].velocity;
	double speed = 0;
	(void)torque;
	for (int k = 0; k < 3; k++)
		speed += (va[k] - vb[k]) * direction[k];
	for (int k = 0; k < 3; k++)
		force[k] += (STIFFNESS * overlap - DAMPING * speed) * direction[k];
}

/// A wall pushes back what is beyond lower or upper.
static double wall(double at, double velocity, double lower, double upper)
{
	if (at - RADIUS < lower)
		return STIFFNESS * (lower - (at - RADIUS)) - DAMPING * velocity;
	return at + RADIUS > upper ? STIFFNESS * (upper - (at + RADIUS)) - DAMPING * velocity : 0;
}

static void step(process *p, carom_context *context, carom_spheres *detector, double width)
{
	migrate(p);
	fetch_ghosts(p);
	uint64_t *names = malloc((size_t)p->all.count * sizeof *names + 1);
	double *force = malloc(3 * (size_t)p->owned * sizeof *force + 1), *radii = malloc((size_t)p->all.count * sizeof *radii + 1);
	if (!names || !force || !radii)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < p->all.count; i++) {
		names[i] = p->all.data[i].name;
		radii[i] = RADIUS;
	}
	carom_sphere_input input = carom_default_sphere_input();
	input.count = p->all.count;
	input.owned = p->owned;
	input.ids64 = names;
	input.centres = (carom_strided){ p->all.data ? p->all.data->at : NULL, sizeof(sphere), CAROM_FLOAT64 };
	input.radii = (carom_strided){ radii, 0, CAROM_FLOAT64 };
	check(context, carom_spheres_update(detector, &input));
	check(context, carom_spheres_sum_forces(detector, push, p, force, NULL));
	for (int i = 0; i < p->owned; i++) {
		sphere *s = &p->all.data[i];
		for (int k = 0; k < 3; k++) {
			const double gravity = k == 2 ? -GRAVITY : 0, top = k == 2 ? 1e6 : width;
			s->velocity[k] += TIME_STEP * (force[3 * i + k] + wall(s->at[k], s->velocity[k], 0, top) + gravity);
			s->at[k] += TIME_STEP * s->velocity[k];
		}
	}
	free(names);
	free(force);
	free(radii);
}

static int by_name(const void *a, const void *b)
{
	const uint64_t p = ((const sphere *)a)->name, q = ((const sphere *)b)->name;
	return p < q ? -1 : p > q;
}

/// All spheres to process 0, which prints a hash of their places and velocities (FNV-1a).
static void print_hash(const process *p, int ghosts)
{
	int bytes = p->owned * (int)sizeof(sphere), total = 0, most = 0, handed_over = 0;
	int *counts = calloc((size_t)p->size, sizeof *counts), *starts = calloc((size_t)p->size, sizeof *starts);
	if (!counts || !starts)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Gather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Reduce(&ghosts, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&p->handed_over, &handed_over, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	for (int i = 0; i < p->size; i++) {
		starts[i] = total;
		total += counts[i];
	}
	sphere *all = malloc((size_t)total + 1);
	if (!all)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Gatherv(p->all.data, bytes, MPI_BYTE, all, counts, starts, MPI_BYTE, 0, MPI_COMM_WORLD);
	if (p->rank == 0) {
		const size_t count = (size_t)total / sizeof *all;
		uint64_t hash = 0xcbf29ce484222325u;
		qsort(all, count, sizeof *all, by_name);
		for (size_t i = 0; i < count * sizeof *all; i++)
			hash = (hash ^ ((const unsigned char *)all)[i]) * 0x100000001b3u;
		printf("%zu spheres on %d processes, at most %d ghosts on one, %d handed over\nhash %016llx\n", count, p->size, most,
			handed_over, (unsigned long long)hash);
	}
	free(all);
	free(counts);
	free(starts);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	const int count = argc > 1 ? atoi(argv[1]) : 4000, steps = argc > 2 ? atoi(argv[2]) : 200, side = 16;
	const double width = 1.05 * side;
	process p = { 0 };
	MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &p.size);
	p.lower = width * p.rank / p.size;
	p.upper = width * (p.rank + 1) / p.size;
	if (p.size > 1 && p.upper - p.lower < 2 * RADIUS) {
		fprintf(stderr, "mpi_slabs: slabs are narrower than a sphere; use fewer processes\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	// layers, each shifted a little, so that they fall over each other
	for (int i = 0; i < count; i++) {
		sphere s = { .name = (uint64_t)i };
		const int layer = i / (side * side);
		s.at[0] = 0.525 + 1.05 * (i % side) + 0.02 * (layer % 3 - 1);
		s.at[1] = 0.525 + 1.05 * (i / side % side) + 0.015 * (layer % 5 - 2);
		s.at[2] = 0.6 + 1.1 * layer;
		s.velocity[0] = layer % 2 ? 6 : -6;
		if ((s.at[0] >= p.lower || p.rank == 0) && (s.at[0] < p.upper || p.rank == p.size - 1))
			add(&p.all, &s);
	}
	p.owned = p.all.count;
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = 1; // the processes share the machine
	carom_context *context = NULL;
	carom_spheres *detector = NULL;
	check(NULL, carom_create_context(&context_def, &context));
	check(context, carom_create_spheres(context, NULL, &detector));
	int most_ghosts = 0;
	for (int i = 0; i < steps; i++) {
		step(&p, context, detector, width);
		const int ghosts = p.all.count - p.owned;
		most_ghosts = ghosts > most_ghosts ? ghosts : most_ghosts;
	}
	print_hash(&p, most_ghosts);
	carom_destroy_spheres(detector);
	carom_destroy_context(context);
	free(p.all.data);
	MPI_Finalize();
	return 0;
}
