/// See elements.h.

#include "mesh/elements.h"
#include "base/context.h"
#include "base/parallel.h"
#include <math.h>

enum { MIN_RECORDS = 1024 }; // of a piece: some microseconds

typedef struct record_check {
	const carom_elements *elements;
	int size;
	const double *places[2]; // whose coordinates are checked; NULL: none
	atomic_llong first_wrong;
} record_check;

static bool is_wrong_place(const double *place)
{
	return !(fabs(place[0]) <= CAROM_MAX_COORDINATE && fabs(place[1]) <= CAROM_MAX_COORDINATE &&
		fabs(place[2]) <= CAROM_MAX_COORDINATE);
}

static bool is_wrong_record(const record_check *c, int64_t i)
{
	bool wrong = false;
	for (int k = 0; k < c->size && !wrong; k++) {
		const int64_t vertex = cr_element_vertex(c->elements, c->size, i, k);
		wrong = vertex < 0 || vertex >= c->elements->vertex_count;
		for (int j = 0; j < 2 && !wrong; j++)
			wrong = c->places[j] && is_wrong_place(c->places[j] + 3 * vertex);
	}
	return wrong;
}

static void check_piece(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	record_check *c = task;
	for (int64_t i = begin; i < end; i++) {
		if (!is_wrong_record(c, i))
			continue;
		cr_atomic_lower(&c->first_wrong, i);
		return;
	}
}

static carom_result tell_wrong(carom_context *context, const char *function, const record_check *c, int64_t i)
{
	static const char *const names[2] = { "positions", "end" };
	for (int k = 0; k < c->size; k++) {
		const int64_t vertex = cr_element_vertex(c->elements, c->size, i, k);
		if (vertex < 0 || vertex >= c->elements->vertex_count)
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: vertex %d of record %lld is %lld; there are %d vertices",
				function, k, (long long)i, (long long)vertex, (int)c->elements->vertex_count);
		for (int j = 0; j < 2; j++) {
			const double *p = c->places[j] ? c->places[j] + 3 * vertex : NULL;
			if (p && is_wrong_place(p))
				return cr_fail(context, CAROM_INVALID_ARGUMENT,
					"%s: %s[%lld] is (%g, %g, %g), not finite or beyond %g; record %lld has it", function, names[j],
					(long long)vertex, p[0], p[1], p[2], CAROM_MAX_COORDINATE, (long long)i);
		}
	}
	return CAROM_SUCCESS;
}

static carom_result check_arrays(carom_context *context, const char *function, const carom_elements *e, int size)
{
	if (!e)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: elements is NULL", function);
	if (e->count < 0 || e->vertex_count < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: elements->%s is %lld", function,
			e->count < 0 ? "count" : "vertex_count", e->count < 0 ? (long long)e->count : (long long)e->vertex_count);
	if (e->count > 0 && !e->positions)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: elements->positions is NULL", function);
	if (!e->vertices && e->count > e->vertex_count / size)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %lld records of %d vertices, but elements->vertex_count is %d",
			function, (long long)e->count, size, (int)e->vertex_count);
	return CAROM_SUCCESS;
}

carom_result cr_check_elements(
	carom_context *context, const char *function, const carom_elements *elements, int size, const double *end, bool bounded)
{
	const carom_result result = check_arrays(context, function, elements, size);
	if (result != CAROM_SUCCESS || (!elements->vertices && !bounded))
		return result;
	record_check c = { .elements = elements, .size = size, .places = { bounded ? elements->positions : NULL, end } };
	atomic_init(&c.first_wrong, elements->count);
	cr_parallel_for(context, check_piece, elements->count, MIN_RECORDS, &c);
	const int64_t wrong = atomic_load(&c.first_wrong);
	return wrong < elements->count ? tell_wrong(context, function, &c, wrong) : CAROM_SUCCESS;
}
