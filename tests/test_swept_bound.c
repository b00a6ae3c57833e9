/// A search that looks no farther than some time (t_max) must find what the whole search found by then: an impact that is reported at a
/// time is reported again when that time is the bound. The search for the earliest impact looks twice, the second time with such a bound.
#include "fixture.h"
#include "test.h"
#include "carom/sweep.h"
#include "geom/swept.h"
#include "swept_fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double tolerances[] = { 1e-6, 1e-3, 1e-12, 1e-300, 5e-324 };

/// Whole search, then one bounded by its time, and one by a time just before. Returns the status of the first.
static cr_swept_status check_bound(
	cr_swept_kind kind, const double begin[4][3], const double end[4][3], const cr_swept_options *options)
{
	cr_swept_impact whole, bounded;
	const cr_swept_status status = cr_swept_test(kind, begin, end, options, &whole, NULL);
	if (status == CR_SWEPT_CLEAR)
		return status;
	cr_swept_options until = *options;
	until.t_max = whole.time;
	CHECK_INT(cr_swept_test(kind, begin, end, &until, &bounded, NULL), status);
	CHECK_NEAR(bounded.time, whole.time, 0);
	CHECK(memcmp(bounded.normal, whole.normal, sizeof whole.normal) == 0);
	if (whole.time > 0) {
		until.t_max = nextafter(whole.time, 0);
		CHECK_INT(cr_swept_test(kind, begin, end, &until, &bounded, NULL), CR_SWEPT_CLEAR);
	}
	return status;
}

/// An edge whose end comes down on another edge exactly at the end of the step: with no tolerance it stays undecided, and the bounded
/// search went on to a time that the whole one had proved clear, too, but did not report.
static const double edges_begin[4][3] = { { -1, -1, 0 }, { -0.5, -1, -1 }, { -0.68, -1, -1 }, { -2, -1, -1 } };
static const double edges_end[4][3] = { { -1, -1, -1 }, { -0.5, -1, -1 }, { -0.68, -1, -1 }, { -2, -1, -1 } };

TEST(swept_bound, an_undecided_query_is_undecided_up_to_its_own_time)
{
	cr_swept_options options = cr_swept_default_options(swept_boxes());
	for (size_t i = 0; i < sizeof tolerances / sizeof tolerances[0]; i++) {
		options.tolerance = tolerances[i];
		CHECK(check_bound(CR_SWEPT_EDGE_EDGE, edges_begin, edges_end, &options) != CR_SWEPT_CLEAR);
	}
}

/// Coordinates on a coarse grid, so that features meet exactly, in planes, along lines and in points.
TEST(swept_bound, random_queries_are_found_up_to_their_own_time)
{
	cr_swept_options options = cr_swept_default_options(swept_boxes());
	uint64_t seed = 5;
	int64_t found[4] = { 0, 0, 0, 0 };
	for (int round = 0; round < 200000; round++) {
		double begin[4][3], end[4][3];
		for (int k = 0; k < 12; k++) {
			begin[k / 3][k % 3] = (double)(test_random(&seed) % 5) / 2 - 1;
			end[k / 3][k % 3] = test_random(&seed) % 3 ? begin[k / 3][k % 3] : (double)(test_random(&seed) % 5) / 2 - 1;
		}
		options.tolerance = tolerances[round % 5];
		options.max_iterations = round % 7 ? 4096 : 5;
		const cr_swept_kind kind = round % 2 ? CR_SWEPT_EDGE_EDGE : CR_SWEPT_VERTEX_FACE;
		const int failures = test_failures();
		found[check_bound(kind, begin, end, &options)]++;
		if (test_failures() > failures) {
			printf("  round %d\n", round);
			break;
		}
	}
	CHECK(found[CR_SWEPT_CLEAR] > 1000 && found[CR_SWEPT_IMPACT] > 1000 && found[CR_SWEPT_TOUCHING] > 1000);
	CHECK(found[CR_SWEPT_UNDECIDED] > 20);
}

TEST(swept_bound, the_earliest_impact_is_not_lost_when_it_is_undecided)
{
	carom_context *context = fixture_context(1);
	carom_sweep_def def = carom_default_sweep_def();
	def.tolerance = 5e-324;
	carom_sweep *sweep;
	REQUIRE(carom_create_sweep(context, &def, &sweep) == CAROM_SUCCESS);
	// Each edge is one of a triangle whose third vertex is far away.
	static const int32_t triangles[6] = { 0, 1, 4, 2, 3, 5 };
	double places[18] = { 0 };
	memcpy(places, edges_begin, sizeof edges_begin);
	places[12] = 5, places[13] = 7, places[14] = 9;
	places[15] = -5, places[16] = 6, places[17] = -8;
	carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
	mesh.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	mesh.vertex_count = 6;
	mesh.triangles = triangles;
	mesh.triangle_count = 2;
	int32_t number;
	REQUIRE(carom_sweep_add_mesh(sweep, &mesh, &number) == CAROM_SUCCESS);
	memcpy(places, edges_end, sizeof edges_end);
	REQUIRE(carom_sweep_move_mesh(sweep, number, &mesh.vertices) == CAROM_SUCCESS);
	carom_sweep_hits hits;
	carom_sweep_hit hit;
	bool found = false;
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	REQUIRE(hits.count > 0);
	double earliest = 2;
	for (int64_t i = 0; i < hits.count; i++)
		earliest = fmin(earliest, hits.data[i].time);
	REQUIRE(carom_sweep_find_earliest(sweep, &hit, &found) == CAROM_SUCCESS);
	CHECK(found);
	CHECK_NEAR(hit.time, earliest, 0);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
}
