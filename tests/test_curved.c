/// Separations of curved bodies by Newton steps, against the plain descent: of every pair of forms, of ellipsoids without any thickness
/// and of any size, and where nearest points are hard to tell.
#include "fixture.h"

#include "geom/convex_query.h"
#include "geom/separation.h"

#include <stdio.h>
#include <string.h>

static v3d random_unit(uint64_t *seed)
{
	for (;;) {
		const v3d d = { test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), test_random_double(seed, -1, 1) };
		const double length = v3d_length(d);
		if (length > 0.1 && length < 1)
			return v3d_scale(d, 1 / length);
	}
}

static cr_convex ellipsoid(double x, double y, double z)
{
	return (cr_convex){ .core = CR_CORE_ELLIPSOID, .half = { x, y, z } };
}

enum { PARTNERS = 10 };

/// Another body, about as large as 1: every core, flat triangles and edges without a length.
static cr_convex partner(uint64_t *seed, int number)
{
	const double x = test_random_double(seed, 0.1, 1), y = test_random_double(seed, 0.1, 1),
				 z = test_random_double(seed, 0.1, 1);
	const v3d p = v3d_scale(random_unit(seed), x), q = v3d_scale(random_unit(seed), y);
	switch (number) {
	case 0: return (cr_convex){ .core = CR_CORE_POINT };
	case 1: return (cr_convex){ .core = CR_CORE_SEGMENT, .half_length = x, .rounding = y };
	case 2: return (cr_convex){ .core = CR_CORE_BOX, .half = { x, y, z } };
	case 3: return (cr_convex){ .core = CR_CORE_TRIANGLE, .corner = { { 0, 0, 0 }, p, q } };
	case 4: return (cr_convex){ .core = CR_CORE_TRIANGLE, .corner = { { 0, 0, 0 }, p, v3d_scale(p, z) } };
	case 5: return (cr_convex){ .core = CR_CORE_TRIANGLE, .corner = { { 0, 0, 0 }, p, p } };
	case 6: return (cr_convex){ .core = CR_CORE_TRIANGLE, .corner = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } } };
	case 7: return (cr_convex){ .core = CR_CORE_CYLINDER, .radius = x, .half_length = y };
	case 8: return (cr_convex){ .core = CR_CORE_CONE, .radius = x, .half_length = y, .rounding = 0.1 * z };
	default: return ellipsoid(x, y, z);
	}
}

enum { PLACES = 6 };

/// Where the other body lies: anywhere near, far, about one centre, on an axis, or with its surface in that of a.
static cr_relative place(uint64_t *seed, const cr_convex *a, const cr_convex *b, int number)
{
	cr_relative at = { m3d_from_quat(fixture_random_pose(seed, 1).orientation), { 0, 0, 0 } };
	const double size = cr_convex_size(a) + cr_convex_size(b), far = test_random_double(seed, 0, 1.2);
	const v3d n = random_unit(seed);
	switch (number) {
	case 0: at.position = v3d_scale(n, far * size); break;
	case 1: at.position = v3d_scale(n, 100 * far * size); break;
	case 2: break;
	case 3:
		at.position = (v3d){ test_random(seed) % 2 ? far * size : 0, 0, 0 };
		at.position = test_random(seed) % 2 ? at.position : (v3d){ 0, at.position.x, far * size };
		at.rotation = test_random(seed) % 2 ? at.rotation : m3d_from_quat((carom_quat){ 0, 0, 0, 1 });
		break;
	default:
		// along n the bodies touch, up to rounding, or nearly
		at.position = v3d_sub(v3d_mad(cr_convex_support(a, n), a->rounding + b->rounding, n),
			m3d_mul(&at.rotation, cr_convex_support(b, m3d_tmul(&at.rotation, v3d_neg(n)))));
		if (number == 5)
			at.position = v3d_mad(at.position, size * (test_random(seed) % 2 ? 1e-3 : -1e-3) * far, n);
		break;
	}
	return at;
}

typedef struct tally {
	int count, apart, converged, converged_slow;
	double gap, points, inside, inside_slow; // the worst, in sizes
} tally;

/// How far the farther one of the deepest points lies outside of its body; negative: both lie inside.
static double farther_out(const cr_convex *a, const cr_convex *b, const cr_relative *at, const cr_separation *s)
{
	v3d on, normal;
	const double of_a = cr_convex_distance(a, s->on_a, &on, &normal);
	const double of_b = cr_convex_distance(b, m3d_tmul(&at->rotation, v3d_sub(s->on_b, at->position)), &on, &normal);
	return fmax(of_a, of_b);
}

/// Two answers to one question: each proves its gap, and they agree as well as the slow one is known.
static void compare(const cr_convex *a, const cr_convex *b, const cr_relative *at, tally *t)
{
	cr_separation s, slow;
	cr_convex_separation(a, b, at, &s);
	cr_convex_separation_slow(a, b, at, &slow);
	const double size = cr_convex_size(a) + cr_convex_size(b) + a->rounding + b->rounding + v3d_length(at->position);
	const v3d n = s.normal, low = cr_convex_support(a, v3d_neg(n)),
			  high = v3d_add(m3d_mul(&at->rotation, cr_convex_support(b, m3d_tmul(&at->rotation, n))), at->position);
	CHECK_NEAR(v3d_length(n), 1, 1e-12);
	const double along = v3d_dot(n, v3d_sub(low, high)) - a->rounding - b->rounding;
	CHECK(fabs(along - s.gap) <= 1e-12 * size); // the plane, or the way out, is as told
	CHECK(s.error >= 0);
	CHECK(s.gap >= slow.gap - (slow.gap > 0 ? 1e-12 : 1e-9) * size);
	// The plain descent may stop a hair early on a simplex that rounding shortens.
	CHECK(s.gap <= slow.gap + slow.error + 1e-9 * size);
	const double off = v3d_length(v3d_sub(v3d_sub(s.on_a, s.on_b), v3d_scale(n, s.gap)));
	if (s.gap > 0)
		CHECK(off <= 5e-7 * size);
	t->count++;
	t->apart += s.gap > 0;
	t->converged += s.converged;
	t->converged_slow += slow.converged;
	t->gap = fmax(t->gap, fabs(s.gap - slow.gap) / size);
	t->points = fmax(t->points, s.gap > 0 ? off / size : 0);
	if (s.gap < 0) {
		t->inside = fmax(t->inside, farther_out(a, b, at, &s) / size);
		t->inside_slow = fmax(t->inside_slow, farther_out(a, b, at, &slow) / size);
	}
}

static void check_ellipsoids(double x, double y, double z, double scale)
{
	uint64_t seed = 51;
	tally all = { 0 };
	for (int i = 0; i < 100 * PARTNERS * PLACES / TEST_FEWER; i++) {
		cr_convex a = ellipsoid(scale * x, scale * y, scale * z), b = partner(&seed, i % PARTNERS);
		for (int k = 0; k < 3; k++) {
			b.half[k] *= scale;
			b.corner[k] = v3d_scale(b.corner[k], scale);
		}
		b.rounding *= scale;
		b.radius *= scale;
		b.half_length *= scale;
		const cr_relative at = place(&seed, &a, &b, i / PARTNERS % PLACES);
		compare(&a, &b, &at, &all);
		const cr_relative back = { m3d_transposed(&at.rotation), v3d_neg(m3d_tmul(&at.rotation, at.position)) };
		compare(&b, &a, &back, &all);
	}
	printf("%g %g %g by %g: %d pairs, %d apart, converged %d and %d, gaps to %.1e, points to %.1e, out %.1e and %.1e\n", x, y,
		z, scale, all.count, all.apart, all.converged, all.converged_slow, all.gap, all.points, all.inside, all.inside_slow);
	CHECK(all.converged >= all.converged_slow);
	CHECK(all.inside < 1e-6);
}

TEST(curved, ellipsoids_of_many_ratios)
{
	static const double halves[][3] = { { 1, 0.7, 0.4 }, { 1, 1, 1 }, { 0.3, 1, 1 }, { 1, 0.05, 0.05 }, { 1e-6, 1, 1 },
		{ 1, 1, 1e-3 }, { 1e-6, 1e-6, 1 }, { 1e-6, 1e-3, 1 } };
	for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
		check_ellipsoids(halves[i][0], halves[i][1], halves[i][2], 1);
}

TEST(curved, ellipsoids_of_many_sizes)
{
	static const double scales[] = { 1e-30, 1e-6, 1e6, 1e30 };
	for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
		check_ellipsoids(1, 0.6, 0.3, scales[i]);
}

TEST(curved, rims)
{
	uint64_t seed = 52;
	tally all = { 0 };
	for (int i = 0; i < 400 * PARTNERS * PLACES / TEST_FEWER; i++) {
		const cr_convex a = partner(&seed, 7 + i % 2), b = partner(&seed, i / 2 % PARTNERS);
		const cr_relative at = place(&seed, &a, &b, i / 2 / PARTNERS % PLACES);
		compare(&a, &b, &at, &all);
	}
	printf("%d pairs, %d apart, converged %d and %d, gaps to %.1e, points to %.1e, out %.1e and %.1e\n", all.count, all.apart,
		all.converged, all.converged_slow, all.gap, all.points, all.inside, all.inside_slow);
	CHECK(all.converged >= all.converged_slow);
	CHECK(all.inside < 1e-4);
}

/// The parts of a cylinder, a cone and an ellipsoid reach as far as the body, and their curvature is the change of the farthest point.
TEST(curved, curvature_is_the_change_of_the_farthest_point)
{
	uint64_t seed = 53;
	const double step = 1e-6;
	for (int i = 0; i < 3000; i++) {
		cr_convex c = partner(&seed, 7 + i % 3);
		c.inset = c.core == CR_CORE_ELLIPSOID ? 0.005 : 0;
		const v3d d = random_unit(&seed), across = v3d_normalize(v3d_cross(d, random_unit(&seed)));
		const v3d axes[2] = { across, v3d_cross(d, across) }, farthest = cr_convex_support(&c, d);
		if (!cr_convex_part_bends(&c, farthest) || d.x * d.x + d.y * d.y < 0.01)
			continue;
		double radii[3];
		cr_convex_curvature(&c, farthest, d, axes, radii);
		for (int k = 0; k < 2; k++) {
			const v3d beside = v3d_mad(d, step, axes[k]), there = cr_convex_support(&c, beside);
			const v3d moved = v3d_scale(v3d_sub(cr_convex_part_support(&c, farthest, there, beside), farthest), 1 / step);
			CHECK_NEAR(v3d_dot(moved, axes[0]), k == 0 ? radii[0] : radii[1], 1e-3);
			CHECK_NEAR(v3d_dot(moved, axes[1]), k == 0 ? radii[1] : radii[2], 1e-3);
		}
	}
}

/// A search that may end early: up to enough it has the bits of the whole one, and what is farther apart is told to be farther
/// apart than enough, by no more than the distance.
TEST(curved, a_search_that_may_end_early)
{
	uint64_t seed = 29;
	int early = 0, whole = 0;
	for (int i = 0; i < 20000; i++) {
		const cr_convex a = partner(&seed, i % PARTNERS), b = partner(&seed, i / PARTNERS % PARTNERS);
		const cr_relative at = place(&seed, &a, &b, i / (PARTNERS * PARTNERS) % PLACES);
		const double enough = test_random_double(&seed, 0, 0.3);
		cr_separation all, some;
		cr_convex_separation(&a, &b, &at, &all);
		cr_convex_separation_to(&a, &b, &at, enough, &some);
		if (all.gap <= enough || some.gap <= enough) {
			whole++;
			CHECK(memcmp(&all.gap, &some.gap, sizeof all.gap) == 0 && memcmp(&all.normal, &some.normal, sizeof all.normal) == 0);
			CHECK(memcmp(&all.on_a, &some.on_a, sizeof all.on_a) == 0 && memcmp(&all.on_b, &some.on_b, sizeof all.on_b) == 0);
			CHECK(all.error == some.error && all.converged == some.converged);
		} else {
			early += some.gap < all.gap;
			CHECK(some.gap > enough && some.gap <= all.gap + all.error);
		}
	}
	CHECK(early > 1000);
	CHECK(whole > 5000);
}

/// Bodies with a rim that overlap a little, most often by a flat side: the depth is that of the plain polytope, up to what the
/// two say they may be off, and a move by it parts the bodies.
TEST(curved, depths_by_flat_sides)
{
	uint64_t seed = 31;
	int overlap = 0;
	for (int i = 0; i < 12000; i++) {
		cr_convex a = partner(&seed, 7 + i % 2), b = partner(&seed, (const int[5]){ 2, 3, 7, 8, 1 }[i / 2 % 5]);
		if (i / 10 % 2) {
			const cr_convex swapped = a;
			a = b;
			b = swapped;
		}
		cr_relative at = place(&seed, &a, &b, i % 3 ? 0 : 3);
		cr_separation s, slow;
		if (i % 4) { // in line, or nearly so
			const v3d n = random_unit(&seed);
			const double turn = (const double[3]){ 0, 1e-6, 1e-3 }[i % 3];
			at.rotation = m3d_from_quat(fixture_turn(n, turn));
		}
		cr_convex_separation(&a, &b, &at, &s);
		const double size = cr_convex_size(&a) + cr_convex_size(&b);
		at.position = v3d_mad(at.position, s.gap + test_random_double(&seed, 0, 0.05) * size, s.normal);
		cr_convex_separation(&a, &b, &at, &s);
		cr_convex_separation_slow(&a, &b, &at, &slow);
		if (!(s.gap < 0))
			continue;
		overlap++;
		CHECK(s.gap <= slow.gap + slow.error + 3e-9 * size);
		CHECK(slow.gap <= s.gap + s.error + 3e-9 * size);
		at.position = v3d_mad(at.position, s.gap - 1e-8 * size, s.normal);
		cr_convex_separation_slow(&a, &b, &at, &slow);
		CHECK(slow.gap > 0);
	}
	CHECK(overlap > 6000);
}
