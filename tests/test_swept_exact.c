/// Swept queries against exact arithmetic: random and degenerate ones of all families. CAROM_SWEPT_QUERIES: how many (default
/// 16000, a quarter of it under sanitizers).
#include "test.h"
#include "swept_fixture.h"
#include "swept_oracle.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t query_count(int64_t usual)
{
	const char *text = getenv("CAROM_SWEPT_QUERIES");
	return text ? atoll(text) : usual / TEST_FAR_FEWER;
}

typedef struct tally {
	int64_t queries, true_impacts, missed, late, false_impacts, beyond_tolerance, undecided;
} tally;

/// One query as a list of its own, through all rungs.
static bool find_one(const swept_query *q, const cr_swept_options *options, cr_swept_impact *impact)
{
	static const int32_t vertices[1][4] = { { 0, 1, 2, 3 } };
	const cr_swept_queries list = { q->kind, &q->begin[0][0], &q->end[0][0], vertices, NULL, 0 };
	cr_swept_stats stats = { 0 };
	return cr_swept_find(&list, 0, 1, options, impact, &stats) == 1;
}

static void count_verdict(tally *t, const swept_query *q, const cr_swept_options *options, const char *what)
{
	cr_swept_impact impact = { .time = 0 };
	bool time_holds;
	const bool found = find_one(q, options, &impact);
	const bool meets = swept_oracle_meets(q->kind, q->begin, q->end, impact.time, &time_holds);
	t->queries++;
	t->true_impacts += meets;
	t->false_impacts += found && !meets;
	const bool missed = meets && !found, late = meets && found && !time_holds;
	bool beyond = false;
	if (found && impact.status == CR_SWEPT_UNDECIDED)
		t->undecided++;
	else if (found)
		beyond = swept_dull_distance(q, impact.time) >
			options->tolerance * 1.001 + 0x1p-43 * swept_query_size(q) + 0x1p-60 * swept_query_reach(q) + 1e-300;
	t->missed += missed;
	t->late += late;
	t->beyond_tolerance += beyond;
	if (!missed && !late && !beyond)
		return;
	printf("  %s: %s, tolerance %g, status %d, rung %d, time %a\n", what,
		missed     ? "missed"
			: late ? "late"
				   : "not near",
		options->tolerance, impact.status, impact.rung, impact.time);
	swept_print_query(q);
}

static tally run_families(cr_swept_method method, int64_t count, uint64_t seed)
{
	static const double tolerances[3] = { 1e-6, 1e-6, 0 };
	tally t = { 0 };
	if (!swept_oracle_exists())
		test_skip("built without GMP");
	for (int64_t i = 0; i < count && t.missed + t.late + t.beyond_tolerance < 10; i++) {
		const int family = (int)(i / 2 % SWEPT_FAMILY_COUNT), change = (int)(i / 2 / SWEPT_FAMILY_COUNT % SWEPT_CHANGE_COUNT);
		uint64_t random = seed + (uint64_t)i * 0x9e3779b97f4a7c15u;
		swept_query q;
		cr_swept_options options = cr_swept_default_options(swept_boxes());
		char what[96];
		swept_make_query(
			i % 2 ? CR_SWEPT_EDGE_EDGE : CR_SWEPT_VERTEX_FACE, (swept_family)family, (swept_change)change, &random, &q);
		options.method = method;
		options.tolerance = tolerances[test_random(&random) % 3];
		snprintf(what, sizeof what, "query %lld, %s, %s", (long long)i, SWEPT_FAMILY_NAMES[family], SWEPT_CHANGE_NAMES[change]);
		count_verdict(&t, &q, &options, what);
	}
	printf("  %lld queries, %lld true, %lld missed, %lld late, %lld false, %lld of them not near, %lld undecided\n",
		(long long)t.queries, (long long)t.true_impacts, (long long)t.missed, (long long)t.late, (long long)t.false_impacts,
		(long long)t.beyond_tolerance, (long long)t.undecided);
	return t;
}

TEST(swept_exact, ladder)
{
	const tally t = run_families(CR_SWEPT_CERTIFIED, query_count(16000), 1);
	CHECK_INT(t.missed, 0);
	CHECK_INT(t.late, 0);
	CHECK_INT(t.beyond_tolerance, 0);
	CHECK(t.undecided * 200 <= t.queries);
	CHECK(t.true_impacts * 8 > t.queries);
}

TEST(swept_exact, bisection)
{
	const tally t = run_families(CR_SWEPT_INCLUSION, query_count(16000) / 8, 2);
	CHECK_INT(t.missed, 0);
	CHECK_INT(t.late, 0);
	CHECK_INT(t.beyond_tolerance, 0);
	CHECK(t.true_impacts * 8 > t.queries);
}
