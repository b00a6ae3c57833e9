/// Our own sine, cosine and arc cosine against the C library's.
#include "test.h"
#include "math/trig.h"
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static double sincos_error(double angle)
{
	double sine, cosine;
	cr_sincos(angle, &sine, &cosine);
	return fmax(fabs(sine - sin(angle)), fabs(cosine - cos(angle)));
}

TEST(trig, sincos_matches_libm)
{
	uint64_t seed = 1;
	double worst = 0;
	for (int i = 0; i < 200000; i++) {
		double range = i % 2 ? 1e5 : 10;
		worst = fmax(worst, sincos_error(test_random_double(&seed, -range, range)));
	}
	CHECK_NEAR(worst, 0, 1e-11);
	CHECK_NEAR(sincos_error(1e5), 0, 1e-11);
	CHECK_NEAR(sincos_error(-1e5), 0, 1e-11);
}

TEST(trig, sincos_next_to_multiples_of_quarter_pi)
{
	double worst = 0;
	for (int k = -127000; k <= 127000; k += 7) {
		const double angle = k * (pi / 4);
		worst = fmax(worst, sincos_error(angle));
		worst = fmax(worst, sincos_error(nextafter(angle, INFINITY)));
		worst = fmax(worst, sincos_error(nextafter(angle, -INFINITY)));
	}
	CHECK_NEAR(worst, 0, 1e-11);
}

TEST(trig, sincos_of_zero_is_exact)
{
	double sine, cosine;
	cr_sincos(0, &sine, &cosine);
	CHECK(sine == 0);
	CHECK(cosine == 1);
}

TEST(trig, acos_matches_libm)
{
	uint64_t seed = 2;
	double worst = 0;
	for (int i = 0; i < 200000; i++) {
		const double x = test_random_double(&seed, -1, 1);
		worst = fmax(worst, fabs(cr_acos(x) - acos(x)));
	}
	for (double gap = 1; gap > 1e-17; gap *= 0.7) {
		worst = fmax(worst, fabs(cr_acos(1 - gap) - acos(1 - gap)));
		worst = fmax(worst, fabs(cr_acos(gap - 1) - acos(gap - 1)));
		worst = fmax(worst, fabs(cr_acos(0.5 + gap / 2) - acos(0.5 + gap / 2)));
		worst = fmax(worst, fabs(cr_acos(gap / 2 - 0.5) - acos(gap / 2 - 0.5)));
	}
	CHECK_NEAR(worst, 0, 1e-14);
}

TEST(trig, acos_clamps_and_passes_nan_on)
{
	CHECK(cr_acos(1) == 0);
	CHECK(cr_acos(1.0000001) == 0);
	CHECK(cr_acos(INFINITY) == 0);
	CHECK_NEAR(cr_acos(-1), pi, 1e-15);
	CHECK_NEAR(cr_acos(-2), pi, 1e-15);
	CHECK_NEAR(cr_acos(0), pi / 2, 1e-15);
	CHECK(isnan(cr_acos(NAN)));
}

TEST(trig, three_arc_cosines_at_once_are_those_of_one_to_the_bit)
{
	uint64_t seed = 3;
	const double special[12] = { 0, -0.0, 0.5, -0.5, 1, -1, 0x1.0000001p-1, -0x1.0000001p-1, 1 - 0x1p-53, 0x1p-53 - 1, 1.5,
		-INFINITY };
	for (int i = 0; i < 60000; i++) {
		double x[3], angle[3];
		for (int k = 0; k < 3; k++) {
			x[k] = test_random_double(&seed, -1, 1);
			if (test_random_double(&seed, 0, 1) < 0.3)
				x[k] = special[(int)test_random_double(&seed, 0, 11.999)];
		}
		cr_acos_three(x, angle);
		for (int k = 0; k < 3; k++) {
			const double expected = cr_acos(x[k]);
			CHECK(memcmp(&angle[k], &expected, sizeof expected) == 0);
		}
	}
	const double mixed[3] = { NAN, 0.25, NAN };
	double angle[3];
	cr_acos_three(mixed, angle);
	CHECK(isnan(angle[0]) && isnan(angle[2]));
	CHECK(angle[1] == cr_acos(0.25));
}
