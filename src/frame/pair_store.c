/// Pairs that are put aside. See pair_store.h.
#include "frame/pair_store.h"

void cr_pair_store_init(cr_pair_store *s) { *s = (cr_pair_store){ .free = -1 }; }

void cr_pair_store_free(carom_context *memory, cr_pair_store *s)
{
	cr_array_free(memory, &s->records);
	cr_array_free(memory, &s->first);
	cr_pair_store_init(s);
}

bool cr_pair_store_reserve(carom_context *memory, cr_pair_store *s, int64_t bodies, int64_t more)
{
	const int64_t records = s->count + more;
	if (records > INT32_MAX / 2 || !cr_array_reserve(memory, &s->first, bodies) ||
		!cr_array_reserve(memory, &s->records, records))
		return false;
	while (s->first.count < bodies)
		s->first.data[s->first.count++] = -1;
	return true;
}

static void link_record(cr_pair_store *s, int32_t record, int side)
{
	cr_stored_pair *pair = &s->records.data[record];
	cr_pair_link *first = &s->first.data[side == 0 ? pair->a : pair->b];
	pair->next[side] = *first;
	pair->previous[side] = -1;
	if (*first >= 0)
		s->records.data[*first / 2].previous[*first % 2] = 2 * record + side;
	*first = 2 * record + side;
}

static void unlink_record(cr_pair_store *s, int32_t record, int side)
{
	const cr_stored_pair *pair = &s->records.data[record];
	const cr_pair_link next = pair->next[side], previous = pair->previous[side];
	if (next >= 0)
		s->records.data[next / 2].previous[next % 2] = previous;
	if (previous >= 0)
		s->records.data[previous / 2].next[previous % 2] = next;
	else
		s->first.data[side == 0 ? pair->a : pair->b] = next;
}

int32_t cr_pair_store_add(cr_pair_store *s, int32_t a, int32_t b)
{
	int32_t record = s->free;
	if (record >= 0)
		s->free = s->records.data[record].next[0];
	else
		record = (int32_t)s->records.count++;
	s->records.data[record] = (cr_stored_pair){ .a = a, .b = b };
	link_record(s, record, 0);
	link_record(s, record, 1);
	s->count++;
	return record;
}

int32_t cr_pair_store_find(const cr_pair_store *s, int32_t a, int32_t b)
{
	// Both lists in step, so that the floor below a pile is not searched.
	cr_pair_link of_a = cr_first_stored(s, a), of_b = cr_first_stored(s, b);
	while (of_a >= 0 && of_b >= 0) {
		const cr_stored_pair *x = &s->records.data[of_a / 2], *y = &s->records.data[of_b / 2];
		if (x->a == a && x->b == b)
			return of_a / 2;
		if (y->a == a && y->b == b)
			return of_b / 2;
		of_a = x->next[of_a % 2];
		of_b = y->next[of_b % 2];
	}
	return -1;
}

void cr_pair_store_remove(cr_pair_store *s, int32_t record)
{
	unlink_record(s, record, 0);
	unlink_record(s, record, 1);
	s->records.data[record] = (cr_stored_pair){ .a = -1, .next = { s->free } };
	s->free = record;
	s->count--;
}

void cr_pair_store_clear(cr_pair_store *s)
{
	for (int64_t i = 0; i < s->records.count; i++) {
		const cr_stored_pair *pair = &s->records.data[i];
		if (pair->a >= 0)
			s->first.data[pair->a] = s->first.data[pair->b] = -1;
	}
	s->records.count = s->count = 0;
	s->free = -1;
}
