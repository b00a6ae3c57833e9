// The command `carom-mpi`: `carom run` of scenes of spheres on the processes that mpirun starts
// (CAROM_MPI). It links MPI, and no more than that: what knows of ranks knows a table of calls
// (sim/base/ranks.h).
//
// All ranks do what the command line says; rank 0 prints and writes for all. Where all fail alike,
// its message is enough: others hold theirs back for a moment, in which it ends them.
#include "commands.h"
#include "options.h"

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool most(void *user, int64_t n, double *values)
{
	(void)user;
	return n <= INT_MAX && MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS;
}

static bool sum(void *user, int64_t n, int64_t *values)
{
	(void)user;
	return n <= INT_MAX && MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS;
}

static bool tell(void *user, const int64_t *mine, int64_t *theirs)
{
	(void)user;
	return MPI_Alltoall(mine, 1, MPI_INT64_T, theirs, 1, MPI_INT64_T, MPI_COMM_WORLD) == MPI_SUCCESS;
}

// Messages are no longer than this: MPI counts with ints.
enum { MOST_BYTES = 1 << 30 };

static int64_t messages_for(int64_t bytes) { return (bytes + MOST_BYTES - 1) / MOST_BYTES; }

/// Begin to receive from a rank, or to send to it. Returns how many messages.
static int begin(char *data, int64_t bytes, int rank, bool sending, MPI_Request *requests)
{
	int count = 0;
	for (int64_t at = 0; at < bytes; at += MOST_BYTES, count++) {
		const int size = (int)(bytes - at < MOST_BYTES ? bytes - at : MOST_BYTES);
		if (sending)
			MPI_Isend(data + at, size, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[count]);
		else
			MPI_Irecv(data + at, size, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &requests[count]);
	}
	return count;
}

static bool swap(void *user, const void *out, const int64_t *out_first, void *in, const int64_t *in_first)
{
	const sim_ranks *ranks = user;
	const int me = ranks->rank;
	int64_t messages = 0;
	for (int r = 0; r < ranks->count; r++)
		messages += messages_for(out_first[r + 1] - out_first[r]) + messages_for(in_first[r + 1] - in_first[r]);
	MPI_Request *requests = malloc((size_t)(messages + 1) * sizeof *requests);
	if (!requests)
		return false;
	int count = 0;
	for (int r = 0; r < ranks->count; r++) {
		if (r != me)
			count += begin((char *)in + in_first[r], in_first[r + 1] - in_first[r], r, false, requests + count);
	}
	for (int r = 0; r < ranks->count; r++) {
		if (r != me)
			count += begin((char *)out + out_first[r], out_first[r + 1] - out_first[r], r, true, requests + count);
	}
	if (out_first[me + 1] > out_first[me])
		memcpy((char *)in + in_first[me], (const char *)out + out_first[me], (size_t)(out_first[me + 1] - out_first[me]));
	const bool done = MPI_Waitall(count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS;
	free(requests);
	return done;
}

static bool write_piece(MPI_File file, const sim_piece *piece)
{
	for (int64_t at = 0; at < piece->size; at += MOST_BYTES) {
		const int size = (int)(piece->size - at < MOST_BYTES ? piece->size - at : MOST_BYTES);
		MPI_Status status;
		int written = 0;
		if (MPI_File_write_at(file, piece->offset + at, (const char *)piece->data + at, size, MPI_BYTE, &status) != MPI_SUCCESS ||
			MPI_Get_count(&status, MPI_BYTE, &written) != MPI_SUCCESS || written != size)
			return false;
	}
	return true;
}

static bool write_file(void *user, const char *path, bool keep, int64_t size, int count, const sim_piece *pieces)
{
	MPI_File file;
	(void)user;
	const int mode = MPI_MODE_WRONLY | (keep ? 0 : MPI_MODE_CREATE);
	if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
		return false;
	bool done = keep || MPI_File_set_size(file, size) == MPI_SUCCESS;
	for (int i = 0; i < count && done; i++)
		done = write_piece(file, &pieces[i]);
	return MPI_File_close(&file) == MPI_SUCCESS && done;
}

/// What a rank but the first would print is kept until it is known that nobody has said it.
static FILE *hold_back(int rank)
{
	FILE *held = rank > 0 ? tmpfile() : NULL;
	if (rank > 0 && !freopen("/dev/null", "w", stdout))
		return held;
	if (held) {
		const int terminal = dup(STDERR_FILENO);
		fflush(stderr);
		dup2(fileno(held), STDERR_FILENO);
		fclose(held);
		held = fdopen(terminal, "w");
	}
	return held;
}

/// Print what was held back, unless rank 0 ends everything before that.
static void let_go(FILE *terminal, int rank)
{
	char line[4096];
	const struct timespec moment = { 0, 500000000 };
	nanosleep(&moment, NULL);
	fflush(stderr);
	FILE *held = fdopen(dup(STDERR_FILENO), "r");
	if (held)
		rewind(held);
	while (held && fgets(line, sizeof line, held))
		fprintf(terminal, "carom-mpi: rank %d: %s", rank, line);
	fflush(terminal);
}

static int run_command(const sim_ranks *ranks, int argc, char **argv)
{
	const bool first = sim_is_first_rank(ranks);
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		return cmd_run_on(ranks, argc - 1, argv + 1);
	if (first && argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		puts(
			"mpirun -n N carom-mpi run SCENE.json [options]\n\n`carom run SCENE.json --ranks N` starts it; see `carom run --help`.");
	else if (first)
		return options_misuse("run", "carom-mpi does `run` alone: mpirun -n N carom-mpi run SCENE.json [options]");
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	// a file that would get too large is a write that fails, with a message
	signal(SIGXFSZ, SIG_IGN);
	int provided;
	if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
		return EXIT_FAILED;
	sim_ranks ranks = { .most = most, .sum = sum, .tell = tell, .swap = swap, .write = write_file, .user = &ranks };
	MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
	FILE *terminal = hold_back(ranks.rank);
	const int status = run_command(&ranks, argc, argv);
	if (status != EXIT_DONE) {
		if (terminal)
			let_go(terminal, ranks.rank);
		MPI_Abort(MPI_COMM_WORLD, status);
	}
	MPI_Finalize();
	return status;
}
