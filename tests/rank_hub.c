/// Ranks as threads: see rank_hub.h. Each call is three meetings: what is given lies ready, all have read it, all may go on.
#include "rank_hub.h"
#include "base/thread.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hub hub;

/// A rank, and what it gives in the present call.
typedef struct member {
	hub *hub;
	sim_ranks ranks;
	rank_hub_fn *fn;
	void *user;
	const void *given;
	const int64_t *first;
	int64_t calls, last_call;
	bool failed;
} member;

struct hub {
	pthread_mutex_t lock;
	pthread_cond_t met;
	int count, waiting;
	unsigned meeting;
	bool broken;
	member members[RANK_HUB_MOST];
};

static void leave(hub *h)
{
	pthread_mutex_lock(&h->lock);
	h->broken = true;
	pthread_cond_broadcast(&h->met);
	pthread_mutex_unlock(&h->lock);
}

/// Wait until all ranks are here. False: one never comes.
static bool meet(hub *h)
{
	pthread_mutex_lock(&h->lock);
	const unsigned meeting = h->meeting;
	if (++h->waiting == h->count) {
		h->waiting = 0;
		h->meeting++;
		pthread_cond_broadcast(&h->met);
	}
	while (h->meeting == meeting && !h->broken)
		pthread_cond_wait(&h->met, &h->lock);
	const bool whole = !h->broken;
	pthread_mutex_unlock(&h->lock);
	return whole;
}

static bool give(member *m, const void *given, const int64_t *first)
{
	if (m->last_call >= 0 && m->calls >= m->last_call)
		leave(m->hub);
	m->calls++;
	m->given = given;
	m->first = first;
	return meet(m->hub);
}

static bool most(void *user, int64_t n, double *values)
{
	member *m = user;
	double *all = malloc((size_t)n * sizeof *all + 1);
	bool done = all && give(m, values, NULL);
	for (int r = 0; done && r < m->hub->count; r++) {
		const double *theirs = m->hub->members[r].given;
		for (int64_t i = 0; i < n; i++)
			all[i] = r == 0 || theirs[i] > all[i] ? theirs[i] : all[i];
	}
	done = done && meet(m->hub);
	if (done && n > 0)
		memcpy(values, all, (size_t)n * sizeof *all);
	free(all);
	return done;
}

static bool sum(void *user, int64_t n, int64_t *values)
{
	member *m = user;
	int64_t *all = calloc((size_t)n + 1, sizeof *all);
	bool done = all && give(m, values, NULL);
	for (int r = 0; done && r < m->hub->count; r++) {
		const int64_t *theirs = m->hub->members[r].given;
		for (int64_t i = 0; i < n; i++)
			all[i] = (int64_t)((uint64_t)all[i] + (uint64_t)theirs[i]);
	}
	done = done && meet(m->hub);
	if (done && n > 0)
		memcpy(values, all, (size_t)n * sizeof *all);
	free(all);
	return done;
}

static bool tell(void *user, const int64_t *mine, int64_t *theirs)
{
	member *m = user;
	if (!give(m, mine, NULL))
		return false;
	for (int r = 0; r < m->hub->count; r++)
		theirs[r] = ((const int64_t *)m->hub->members[r].given)[m->ranks.rank];
	return meet(m->hub);
}

static bool swap(void *user, const void *out, const int64_t *out_first, void *in, const int64_t *in_first)
{
	member *m = user;
	const int me = m->ranks.rank;
	bool fits = true;
	if (!give(m, out, out_first))
		return false;
	for (int r = 0; r < m->hub->count; r++) {
		const member *from = &m->hub->members[r];
		const int64_t size = from->first[me + 1] - from->first[me];
		fits = fits && size == in_first[r + 1] - in_first[r];
		if (fits && size > 0)
			memcpy((char *)in + in_first[r], (const char *)from->given + from->first[me], (size_t)size);
	}
	if (!fits)
		leave(m->hub);
	return meet(m->hub) && fits;
}

static bool write_pieces(FILE *file, int count, const sim_piece *pieces)
{
	bool done = file;
	for (int i = 0; i < count && done; i++)
		done = fseek(file, (long)pieces[i].offset, SEEK_SET) == 0 &&
			fwrite(pieces[i].data, 1, (size_t)pieces[i].size, file) == (size_t)pieces[i].size;
	return file && fclose(file) == 0 && done;
}

static bool write_file(void *user, const char *path, bool keep, int64_t size, int count, const sim_piece *pieces)
{
	member *m = user;
	(void)size; // the last piece ends there
	if (m->ranks.rank == 0 && !keep && !write_pieces(fopen(path, "wb"), 0, NULL))
		leave(m->hub);
	if (!give(m, NULL, NULL))
		return false;
	const bool done = write_pieces(fopen(path, "r+b"), count, pieces);
	return meet(m->hub) && done;
}

static void *run_member(void *user)
{
	member *m = user;
	m->failed = !m->fn(&m->ranks, m->user);
	if (m->failed)
		leave(m->hub);
	return NULL;
}

int rank_hub_run(int count, rank_hub_fn *fn, void *const *users)
{
	if (!CR_THREADS)
		test_skip("built without threads (CAROM_THREADS=OFF)");
	hub h = { .count = count };
	pthread_t threads[RANK_HUB_MOST];
	pthread_mutex_init(&h.lock, NULL);
	pthread_cond_init(&h.met, NULL);
	for (int r = 0; r < count; r++) {
		member *m = &h.members[r];
		*m = (member){ .hub = &h, .fn = fn, .user = users[r], .last_call = -1 };
		m->ranks = (sim_ranks){ r, count, most, sum, tell, swap, write_file, m };
	}
	for (int r = 1; r < count; r++) {
		if (pthread_create(&threads[r], NULL, run_member, &h.members[r]) != 0)
			abort(); // the others would wait for ever
	}
	run_member(&h.members[0]);
	int failed = h.members[0].failed;
	for (int r = 1; r < count; r++) {
		pthread_join(threads[r], NULL);
		failed += h.members[r].failed;
	}
	pthread_cond_destroy(&h.met);
	pthread_mutex_destroy(&h.lock);
	return failed;
}

int64_t rank_hub_calls(const sim_ranks *ranks) { return ((const member *)ranks->user)->calls; }

void rank_hub_cut(const sim_ranks *ranks, int64_t nth) { ((member *)ranks->user)->last_call = nth; }
