/// The command carom_lammps: LAMMPS, its forces between spheres by Carom.
#define LAMMPS_LIB_MPI
#include <mpi.h>

#include "carom_lammps.h"
#include <lammps/library.h>
#include <stdio.h>
#include <stdlib.h>

static const char USAGE[] =
	"usage: carom_lammps LAW SKIN SETUP RUN [LAMMPS OPTION...]\n"
	"\n"
	"Runs the LAMMPS script SETUP, which makes the box and the atoms, then lets Carom compute the forces\n"
	"between spheres, then runs the script RUN. Start it by mpirun for several processes.\n"
	"LAW: as behind pair_style in a script: \"gran/hooke 2e5 NULL 50.0 NULL 0.5 1\"; also gran/hooke/history\n"
	"and gran/hertz/history. SKIN: how much further than they touch neighbours are listed, a length.\n";

/// Nobody may go on alone: the other processes would wait for ever.
_Noreturn static void fail(int rank, const char *text)
{
	if (rank == 0)
		fprintf(stderr, "carom_lammps: error: %s\n", text);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1); // MPI does not say that it never returns
}

static void run_script(void *lammps, int rank, const char *path)
{
	char text[600] = "", reason[512] = "";
	FILE *file = fopen(path, "r");
	if (!file) {
		snprintf(text, sizeof text, "cannot open the script %s", path);
		fail(rank, text);
	}
	fclose(file);
	lammps_file(lammps, path);
	if (!lammps_has_error(lammps))
		return;
	lammps_get_last_error_message(lammps, reason, sizeof reason);
	snprintf(text, sizeof text, "%s: %s", path, reason);
	fail(rank, text);
}

static void print_stats(const carom_lammps *attached, int rank, double seconds)
{
	const carom_lammps_stats stats = carom_lammps_get_stats(attached);
	long long sums[3] = { stats.owned, stats.ghosts, stats.tests }, all[3], most;
	double ms;
	MPI_Reduce(sums, all, 3, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(&sums[2], &most, 1, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&stats.ms, &ms, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	int size;
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == 0)
		printf("carom_lammps: %d processes, %lld spheres, %lld ghosts, %lld force computations, %lld with a new list\n"
			   "carom_lammps: %lld tests, most of a process %.3f of the mean; forces %.3f ms a computation, the run %.2f s\n",
			size, all[0], all[1], (long long)stats.calls, (long long)stats.list_builds, all[2],
			all[2] > 0 ? (double)most * size / (double)all[2] : 1, stats.calls > 0 ? ms / (double)stats.calls : 0, seconds);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc < 5) {
		if (rank == 0)
			fputs(USAGE, stderr);
		MPI_Finalize();
		return 2;
	}
	char error[600], *end;
	carom_lammps_law law;
	if (!carom_lammps_read_law(argv[1], &law, error, sizeof error))
		fail(rank, error);
	const double skin = strtod(argv[2], &end);
	if (*end != 0)
		fail(rank, "SKIN is not a number");
	char *const setup = argv[3], *const run = argv[4];
	argv[4] = argv[0]; // LAMMPS reads its options behind it
	void *lammps = lammps_open(argc - 4, argv + 4, MPI_COMM_WORLD, NULL);
	if (!lammps)
		fail(rank, "LAMMPS does not start");
	run_script(lammps, rank, setup);
	carom_lammps *attached = carom_lammps_attach(lammps, &law, skin, error, sizeof error);
	if (!attached)
		fail(rank, error);
	const double start = MPI_Wtime();
	run_script(lammps, rank, run);
	print_stats(attached, rank, MPI_Wtime() - start);
	carom_lammps_detach(attached);
	lammps_close(lammps);
	MPI_Finalize();
	return 0;
}
