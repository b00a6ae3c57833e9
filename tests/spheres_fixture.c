/// Clouds, sets, the dull search and the collecting sink of the sphere tests. See spheres_fixture.h.
#include "spheres_fixture.h"
#include "fixture.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must_alloc(size_t size)
{
	void *memory = malloc(size ? size : 1);
	REQUIRE(memory);
	return memory;
}

// ---- Clouds ----

static const char *const cloud_names[CLOUD_ALL_KINDS] = { "free fall", "dense", "wide", "power law", "clusters",
	"touching lattice", "coincident", "zero radii", "collinear", "coplanar", "far away", "two sizes", "strays", "far heaps",
	"all scales", "planet" };

static void put_sphere(fixture_cloud *cloud, int64_t i, double x, double y, double z, double r)
{
	double *s = cloud->spheres + 4 * i;
	s[0] = x, s[1] = y, s[2] = z, s[3] = r;
}

/// Somewhere in a box of the given side around a place.
static void put_near(fixture_cloud *cloud, int64_t i, uint64_t *seed, const double place[3], double side, double r)
{
	double at[3];
	for (int k = 0; k < 3; k++)
		at[k] = place[k] + test_random_double(seed, -side / 2, side / 2);
	put_sphere(cloud, i, at[0], at[1], at[2], r);
}

/// Side of a box in which count spheres of uniform radii touch about three others each.
static double dense_side(double count, double r_low, double r_high)
{
	// Expected pairs: count^2 / 2 * (4/3 pi) * mean (r_a + r_b)^3 / volume.
	const double m1 = (r_low + r_high) / 2, m2 = (r_low * r_low + r_low * r_high + r_high * r_high) / 3,
				 m3 = (r_low + r_high) * (r_low * r_low + r_high * r_high) / 4;
	return cbrt(count / 6 * 4.19 * (2 * m3 + 6 * m1 * m2));
}

static void fill_uniform(fixture_cloud *cloud, uint64_t *seed, double side, double r_low, double r_high, double offset)
{
	const double place[3] = { offset, offset, offset };
	for (int64_t i = 0; i < cloud->count; i++)
		put_near(cloud, i, seed, place, side, test_random_double(seed, r_low, r_high));
}

static void fill_power_law(fixture_cloud *cloud, uint64_t *seed)
{
	// The largest would swallow all others in one place: room for a few dozen of them.
	const double origin[3] = { 0, 0, 0 };
	for (int64_t i = 0; i < cloud->count; i++)
		put_near(cloud, i, seed, origin, 10, 1e-4 * pow(10, test_random_double(seed, 0, 4)) * 0.5);
}

static void fill_clusters(fixture_cloud *cloud, uint64_t *seed)
{
	enum { HEAPS = 7 };
	double heap[HEAPS][3];
	for (int h = 0; h < HEAPS; h++) {
		for (int k = 0; k < 3; k++)
			heap[h][k] = test_random_double(seed, -50, 50);
	}
	const double side = dense_side((double)cloud->count / HEAPS, 0.01, 0.02);
	for (int64_t i = 0; i < cloud->count; i++)
		put_near(cloud, i, seed, heap[test_random(seed) % HEAPS], side, test_random_double(seed, 0.01, 0.02));
	for (int64_t i = 0; i < cloud->count / 200; i++)
		put_near(cloud, i, seed, heap[0], 1e5, 0.015);
}

static void fill_lattice(fixture_cloud *cloud)
{
	const int64_t side = (int64_t)ceil(cbrt((double)cloud->count));
	for (int64_t i = 0; i < cloud->count; i++)
		put_sphere(
			cloud, i, 0.25 * (double)(i % side), 0.25 * (double)(i / side % side), 0.25 * (double)(i / side / side), 0.125);
}

static void fill_coincident(fixture_cloud *cloud, uint64_t *seed)
{
	const double place_count = fmax(1, (double)cloud->count / 10);
	for (int64_t i = 0; i < cloud->count; i++) {
		uint64_t place = test_random(seed) % (uint64_t)place_count;
		const double side = cbrt(place_count) * 0.3, r = test_random_double(seed, 0.05, 0.1);
		double at[3];
		for (int k = 0; k < 3; k++)
			at[k] = test_random_double(&place, 0, side);
		put_sphere(cloud, i, at[0], at[1], at[2], r);
	}
}

static void fill_zero_radii(fixture_cloud *cloud, uint64_t *seed)
{
	const double origin[3] = { 0, 0, 0 };
	for (int64_t i = 0; i < cloud->count; i++) {
		put_near(cloud, i, seed, origin, 1, 0);
		if (i % 10 == 9)
			memcpy(cloud->spheres + 4 * i, cloud->spheres + 4 * (i - 5), 4 * sizeof(double));
		if (i % 50 == 13)
			cloud->spheres[4 * i + 3] = 0.05;
	}
}

static void fill_flat(fixture_cloud *cloud, uint64_t *seed, int axes)
{
	const double side = axes == 1 ? (double)cloud->count * 0.01 : sqrt((double)cloud->count) * 0.02;
	for (int64_t i = 0; i < cloud->count; i++) {
		const double x = test_random_double(seed, 0, side), y = test_random_double(seed, 0, side);
		put_sphere(cloud, i, x, axes == 1 ? 3 : y, -2, test_random_double(seed, 0.005, 0.02));
	}
}

static void fill_two_sizes(fixture_cloud *cloud, uint64_t *seed)
{
	const double origin[3] = { 0, 0, 0 }, side = fmax(dense_side((double)cloud->count, 0.009, 0.011), 1);
	for (int64_t i = 0; i < cloud->count; i++)
		put_near(cloud, i, seed, origin, side, i % 500 == 250 ? 1 : 0.01);
}

static void fill_strays(fixture_cloud *cloud, uint64_t *seed)
{
	fill_uniform(cloud, seed, dense_side((double)cloud->count, 0.0005, 0.0006), 0.0005, 0.0006, 0);
	for (int64_t i = 0; i < 10 && i < cloud->count; i++)
		cloud->spheres[4 * i + (int64_t)(test_random(seed) % 3)] = (i % 2 ? 1 : -1) * pow(10, 3 + (double)i);
}

/// Heaps around places that lie side by side, one sphere in turn for each.
static void fill_heaps(fixture_cloud *cloud, uint64_t *seed, const double (*places)[3], int64_t heaps)
{
	const double side = dense_side((double)cloud->count / (double)heaps, 0.0005, 0.0006);
	for (int64_t i = 0; i < cloud->count; i++)
		put_near(cloud, i, seed, places[i % heaps], side, test_random_double(seed, 0.0005, 0.0006));
}

static void fill_planet(fixture_cloud *cloud, uint64_t *seed)
{
	static const double places[2][3] = { { 0, 0, 6.4e6 }, { 1, 6.4e6, 2 } };
	fill_heaps(cloud, seed, places, 2);
	if (cloud->count > 0)
		put_sphere(cloud, cloud->count / 2, 0, 0, 0, 6.4e6);
}

static void fill_all_scales(fixture_cloud *cloud, uint64_t *seed)
{
	for (int64_t i = 0; i < cloud->count; i++) {
		const double distance = 1e-3 * pow(1e15, test_random_double(seed, 0, 1));
		double d[3], length = 0;
		while (length < 0.1) {
			for (int k = 0; k < 3; k++)
				d[k] = test_random_double(seed, -1, 1);
			length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
		}
		for (int k = 0; k < 3; k++)
			d[k] *= distance / length;
		put_sphere(cloud, i, d[0], d[1], d[2], 0.02 * distance);
	}
}

static void fill_cloud(fixture_cloud *cloud, uint64_t *seed)
{
	static const double far_apart[3][3] = { { -1e9, 3, 0 }, { 1e9, -2, 5e8 }, { 0, 0, 0 } };
	const double count = (double)cloud->count;
	switch (cloud->kind) {
	case CLOUD_FREE_FALL: fill_uniform(cloud, seed, 1, 0.0005, 0.0006, 0.5); break;
	case CLOUD_DENSE: fill_uniform(cloud, seed, dense_side(count, 0.0005, 0.0006), 0.0005, 0.0006, 0.5); break;
	case CLOUD_WIDE: fill_uniform(cloud, seed, dense_side(count, 0.0005, 0.06), 0.0005, 0.06, 0); break;
	case CLOUD_POWER_LAW: fill_power_law(cloud, seed); break;
	case CLOUD_CLUSTERS: fill_clusters(cloud, seed); break;
	case CLOUD_TOUCHING: fill_lattice(cloud); break;
	case CLOUD_COINCIDENT: fill_coincident(cloud, seed); break;
	case CLOUD_ZERO_RADII: fill_zero_radii(cloud, seed); break;
	case CLOUD_COLLINEAR: fill_flat(cloud, seed, 1); break;
	case CLOUD_COPLANAR: fill_flat(cloud, seed, 2); break;
	case CLOUD_FAR_AWAY: fill_uniform(cloud, seed, dense_side(count, 0.0005, 0.0006), 0.0005, 0.0006, 1e6); break;
	case CLOUD_TWO_SIZES: fill_two_sizes(cloud, seed); break;
	case CLOUD_STRAYS: fill_strays(cloud, seed); break;
	case CLOUD_FAR_HEAPS: fill_heaps(cloud, seed, far_apart, 3); break;
	case CLOUD_ALL_SCALES: fill_all_scales(cloud, seed); break;
	case CLOUD_PLANET: fill_planet(cloud, seed); break;
	default: test_stop();
	}
}

fixture_cloud fixture_make_cloud(fixture_cloud_kind kind, int64_t count, uint64_t seed)
{
	fixture_cloud cloud = { .kind = kind, .name = cloud_names[kind], .count = count, .seed = seed };
	cloud.spheres = must_alloc((size_t)count * 4 * sizeof(double));
	cloud.single = kind != CLOUD_FAR_AWAY && kind < CLOUD_KINDS;
	fill_cloud(&cloud, &seed);
	for (int64_t i = 0; cloud.single && i < 4 * count; i++)
		cloud.spheres[i] = (float)cloud.spheres[i];
	return cloud;
}

fixture_cloud fixture_make_periodic_cloud(const double period[3], int64_t count, uint64_t seed)
{
	fixture_cloud cloud = { .kind = CLOUD_DENSE, .name = "periodic", .count = count, .seed = seed };
	cloud.spheres = must_alloc((size_t)count * 4 * sizeof(double));
	double volume = 1;
	for (int k = 0; k < 3; k++)
		volume *= period[k] > 0 ? period[k] : 1;
	const double unit_side = dense_side((double)count, 1, 1), r = cbrt(volume) / unit_side;
	for (int64_t i = 0; i < count; i++) {
		double *s = cloud.spheres + 4 * i;
		for (int k = 0; k < 3; k++) {
			const double length = period[k] > 0 ? period[k] : 1;
			s[k] = ldexp(floor(ldexp(test_random_double(&seed, 0, length), 24)), -24);
			if (period[k] > 0 && i % 5 == 3)
				s[k] += length * (double)(int64_t)(test_random(&seed) % 9 - 4);
		}
		s[3] = test_random_double(&seed, 0.5, 1.4) * r;
	}
	return cloud;
}

void fixture_free_cloud(fixture_cloud *cloud)
{
	free(cloud->spheres);
	*cloud = (fixture_cloud){ 0 };
}

// ---- The dull search ----

static void append_pair(fixture_pairs *pairs, uint32_t i, uint32_t j)
{
	if (pairs->count == pairs->capacity) {
		pairs->capacity = 2 * pairs->capacity + 1024;
		pairs->pairs = realloc(pairs->pairs, (size_t)pairs->capacity * sizeof *pairs->pairs);
		REQUIRE(pairs->pairs);
	}
	pairs->pairs[pairs->count++] = i < j ? (carom_sphere_pair){ i, j } : (carom_sphere_pair){ j, i };
}

static int compare_pairs(const void *p, const void *q)
{
	const carom_sphere_pair *a = p, *b = q;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

/// A digit of 8 bits of the number that a pair is: 0 to 3 are those of b, 4 to 7 those of a.
static int digit_of(const carom_sphere_pair *pair, int digit)
{
	return (digit < 4 ? pair->b : pair->a) >> 8 * (digit % 4) & 255;
}

/// Put pairs in the order of a digit; equal ones stay in theirs. False where all have the same: nothing is done then.
static bool sort_by_digit(const carom_sphere_pair *from, int64_t count, int digit, carom_sphere_pair *to)
{
	int64_t places[256] = { 0 }, place = 0;
	for (int64_t i = 0; i < count; i++)
		places[digit_of(&from[i], digit)]++;
	if (places[digit_of(&from[0], digit)] == count)
		return false;
	for (int value = 0; value < 256; value++) {
		const int64_t of_value = places[value];
		places[value] = place;
		place += of_value;
	}
	for (int64_t i = 0; i < count; i++)
		to[places[digit_of(&from[i], digit)]++] = from[i];
	return true;
}

/// By digits from the lowest on: half of some topics was spent in qsort. Numbers may be any, and pairs may be there twice.
static void sort_pairs(fixture_pairs *pairs)
{
	if (pairs->count < 2)
		return;
	carom_sphere_pair *other = malloc((size_t)pairs->count * sizeof *other);
	REQUIRE(other);
	for (int digit = 0; digit < 8; digit++) {
		if (!sort_by_digit(pairs->pairs, pairs->count, digit, other))
			continue;
		carom_sphere_pair *sorted = other;
		other = pairs->pairs;
		pairs->pairs = sorted;
		pairs->capacity = pairs->count;
	}
	free(other);
	for (int64_t i = 1; i < pairs->count; i++)
		REQUIRE(compare_pairs(&pairs->pairs[i - 1], &pairs->pairs[i]) <= 0);
}

/// Difference along a repeating axis: of whole periods, that which leaves least.
static double nearest(double d, double period) { return period > 0 ? d - period * round(d / period) : d; }

static bool touch(const double *p, const double *q, double skin, const double period[3])
{
	const double reach = p[3] + q[3] + skin;
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double d = nearest(p[k] - q[k], period ? period[k] : 0);
		sum += d * d;
	}
	return sum <= reach * reach;
}

fixture_pairs fixture_brute_pairs(const fixture_cloud *cloud, double skin, const double period[3])
{
	fixture_pairs pairs = { 0 };
	for (int64_t i = 0; i < cloud->count; i++) {
		for (int64_t j = i + 1; j < cloud->count; j++) {
			if (touch(cloud->spheres + 4 * i, cloud->spheres + 4 * j, skin, period))
				append_pair(&pairs, (uint32_t)i, (uint32_t)j);
		}
	}
	sort_pairs(&pairs);
	return pairs;
}

typedef struct sweep_entry {
	double low, high;
	uint32_t index;
} sweep_entry;

static int compare_entries(const void *p, const void *q)
{
	const sweep_entry *a = p, *b = q;
	return (a->low > b->low) - (a->low < b->low);
}

static int longest_axis(const fixture_cloud *cloud)
{
	double length[3];
	for (int k = 0; k < 3; k++) {
		double low = INFINITY, high = -INFINITY;
		for (int64_t i = 0; i < cloud->count; i++) {
			low = fmin(low, cloud->spheres[4 * i + k]);
			high = fmax(high, cloud->spheres[4 * i + k]);
		}
		length[k] = high - low;
	}
	return length[0] >= length[1] && length[0] >= length[2] ? 0 : length[1] >= length[2] ? 1 : 2;
}

fixture_pairs fixture_oracle_pairs(const fixture_cloud *cloud, double skin, const double period[3])
{
	if (period && (period[0] > 0 || period[1] > 0 || period[2] > 0))
		return fixture_brute_pairs(cloud, skin, period);
	const int axis = longest_axis(cloud);
	sweep_entry *entries = must_alloc((size_t)cloud->count * sizeof *entries);
	for (int64_t i = 0; i < cloud->count; i++) {
		const double *s = cloud->spheres + 4 * i;
		const double reach = (s[3] + skin / 2) * 1.000001, margin = fabs(s[axis]) * 1e-15;
		entries[i] = (sweep_entry){ s[axis] - reach - margin, s[axis] + reach + margin, (uint32_t)i };
	}
	qsort(entries, (size_t)cloud->count, sizeof *entries, compare_entries);
	fixture_pairs pairs = { 0 };
	for (int64_t i = 0; i < cloud->count; i++) {
		const double *p = cloud->spheres + 4 * (size_t)entries[i].index;
		for (int64_t j = i + 1; j < cloud->count && entries[j].low <= entries[i].high; j++) {
			if (touch(p, cloud->spheres + 4 * (size_t)entries[j].index, skin, NULL))
				append_pair(&pairs, entries[i].index, entries[j].index);
		}
	}
	free(entries);
	sort_pairs(&pairs);
	return pairs;
}

void fixture_free_pairs(fixture_pairs *pairs)
{
	free(pairs->pairs);
	*pairs = (fixture_pairs){ 0 };
}

// ---- Sets ----

/// Append the images of sphere i: below each border that it can reach a sphere from the other side across.
static void append_images(fixture_set *made, const double *s, uint32_t i, double reach, const double period[3])
{
	for (uint32_t axes = 1; axes < 8; axes++) {
		double image[4] = { s[0], s[1], s[2], s[3] };
		bool wanted = true;
		for (int k = 0; k < 3; k++) {
			if (axes >> k & 1) {
				wanted = wanted && period[k] > 0 && period[k] - s[k] <= reach;
				image[k] -= period[k];
			}
		}
		if (!wanted)
			continue;
		memcpy(made->exact + 4 * (size_t)made->set.count, image, sizeof image);
		made->owner[made->set.count - made->set.real] = i | axes << 29;
		made->set.count++;
	}
}

static void measure_set(cr_sphere_set *set)
{
	set->r_min = set->count ? INFINITY : 0, set->r_max = 0;
	for (uint32_t i = 0; i < set->count; i++) {
		const float c[3] = { set->spheres[i].x, set->spheres[i].y, set->spheres[i].z };
		for (int k = 0; k < 3; k++) {
			set->lower[k] = i == 0 ? c[k] : fminf(set->lower[k], c[k]);
			set->upper[k] = i == 0 ? c[k] : fmaxf(set->upper[k], c[k]);
		}
		set->r_min = fminf(set->r_min, set->spheres[i].r);
		set->r_max = fmaxf(set->r_max, set->spheres[i].r);
	}
}

/// Round what lies in exact, less the middle of its box.
static void round_exact(fixture_set *made)
{
	double origin[3], largest = 0;
	const double *exact = made->exact;
	for (int k = 0; k < 3; k++) {
		double low = INFINITY, high = -INFINITY;
		for (uint32_t i = 0; i < made->set.count; i++) {
			low = fmin(low, exact[4 * (size_t)i + (size_t)k]);
			high = fmax(high, exact[4 * (size_t)i + (size_t)k]);
		}
		origin[k] = made->set.count ? (low + high) / 2 : 0;
		largest = fmax(largest, made->set.count ? (high - low) / 2 : 0);
	}
	for (uint32_t i = 0; i < made->set.count; i++) {
		const double *s = exact + 4 * (size_t)i;
		made->spheres[i] =
			(cr_sphere){ (float)(s[0] - origin[0]), (float)(s[1] - origin[1]), (float)(s[2] - origin[2]), (float)s[3] };
	}
	made->set.slack = (float)(largest * 2 * 1.7320509 * 1.001 * 0x1p-24) + FLT_MIN;
}

fixture_set fixture_make_set(carom_context *context, const fixture_cloud *cloud, bool exact, double skin, const double period[3])
{
	const size_t count = (size_t)cloud->count, most = period ? 8 * count : count;
	fixture_set made = { .set = { .context = context, .count = (uint32_t)count, .real = (uint32_t)count, .skin = skin } };
	made.spheres = must_alloc(most * sizeof *made.spheres);
	made.exact = exact ? must_alloc(most * 4 * sizeof *made.exact) : NULL;
	made.owner = must_alloc((most - count) * sizeof *made.owner);
	REQUIRE(exact || (cloud->single && !period));
	double r_max = 0;
	for (size_t i = 0; i < count; i++) {
		const double *s = cloud->spheres + 4 * i;
		r_max = fmax(r_max, s[3]);
		if (!exact) {
			made.spheres[i] = (cr_sphere){ (float)s[0], (float)s[1], (float)s[2], (float)s[3] };
			continue;
		}
		memcpy(made.exact + 4 * i, s, 4 * sizeof(double));
		for (int k = 0; period && k < 3; k++) {
			if (period[k] > 0)
				made.exact[4 * i + (size_t)k] -= period[k] * floor(s[k] / period[k]);
		}
	}
	for (size_t i = 0; period && i < count; i++)
		append_images(&made, made.exact + 4 * i, (uint32_t)i, 2 * r_max + skin, period);
	if (exact)
		round_exact(&made);
	made.set.spheres = made.spheres;
	made.set.exact = made.exact;
	made.set.owner = made.owner;
	measure_set(&made.set);
	return made;
}

void fixture_free_set(fixture_set *set)
{
	free(set->spheres);
	free(set->exact);
	free(set->owner);
	*set = (fixture_set){ 0 };
}

// ---- Collecting ----

static bool collect(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	fixture_collector *collector = user;
	fixture_pairs *found = &collector->found[worker];
	for (int64_t i = 0; i < count; i++)
		append_pair(found, pairs[i].a, pairs[i].b);
	return collector->stop_after < 0 || found->count <= collector->stop_after;
}

fixture_collector *fixture_make_collector(void)
{
	fixture_collector *collector = must_alloc(sizeof *collector);
	memset(collector, 0, sizeof *collector);
	collector->sink = (cr_pair_sink){ collect, collector };
	collector->stop_after = -1;
	return collector;
}

fixture_pairs fixture_collected(const fixture_collector *collector)
{
	fixture_pairs all = { 0 };
	for (int worker = 0; worker < CR_MAX_WORKERS; worker++) {
		const fixture_pairs *found = &collector->found[worker];
		for (int64_t i = 0; i < found->count; i++)
			append_pair(&all, found->pairs[i].a, found->pairs[i].b);
	}
	sort_pairs(&all);
	return all;
}

void fixture_free_collector(fixture_collector *collector)
{
	if (!collector)
		return;
	for (int worker = 0; worker < CR_MAX_WORKERS; worker++)
		fixture_free_pairs(&collector->found[worker]);
	free(collector);
}

// ---- Comparing ----

bool fixture_check_pairs(const fixture_pairs *actual, const fixture_pairs *expected, const char *what)
{
	for (int64_t i = 0; i < actual->count || i < expected->count; i++) {
		const carom_sphere_pair *a = i < actual->count ? &actual->pairs[i] : NULL;
		const carom_sphere_pair *e = i < expected->count ? &expected->pairs[i] : NULL;
		if (a && e && a->a == e->a && a->b == e->b)
			continue;
		const bool missing = !a || (e && compare_pairs(e, a) < 0);
		printf("%s: %lld pairs, expected %lld; %s is (%u, %u)\n", what, (long long)actual->count, (long long)expected->count,
			missing ? "the first missing" : "the first too many", missing ? e->a : a->a, missing ? e->b : a->b);
		const bool same_pairs = false;
		return CHECK(same_pairs);
	}
	return true;
}

bool fixture_check_found(
	const cr_sphere_detector *detector, void *state, const cr_sphere_set *set, const fixture_pairs *expected, const char *what)
{
	fixture_collector *collector = fixture_make_collector();
	int64_t tests = -1;
	bool passed = CHECK_INT(detector->find(state, set, &collector->sink, &tests), CAROM_SUCCESS);
	passed = CHECK(tests >= 0) && passed;
	fixture_pairs found = fixture_collected(collector);
	bool named_well = true;
	for (int64_t i = 0; i < found.count; i++)
		named_well = named_well && found.pairs[i].a < found.pairs[i].b && found.pairs[i].b < set->real;
	passed = CHECK(named_well) && passed;
	passed = fixture_check_pairs(&found, expected, what) && passed;
	fixture_free_pairs(&found);
	fixture_free_collector(collector);
	return passed;
}

bool fixture_check_detector(
	const cr_sphere_detector *detector, const cr_sphere_set *set, const fixture_pairs *expected, const char *what)
{
	void *state = NULL;
	bool passed = CHECK_INT(detector->build(&state, set), CAROM_SUCCESS);
	passed = passed && fixture_check_found(detector, state, set, expected, what);
	detector->release(set->context, state);
	return passed;
}

static void check_cloud(
	const cr_sphere_detector *detector, carom_context *context, const fixture_cloud *cloud, const double period[3], double skin)
{
	fixture_pairs expected = fixture_oracle_pairs(cloud, skin, period);
	for (int exact = cloud->single && !period ? 0 : 1; exact < 2; exact++) {
		char what[128];
		snprintf(what, sizeof what, "%s, %lld, seed %llu, %s, skin %g%s", cloud->name, (long long)cloud->count,
			(unsigned long long)cloud->seed, exact ? "double" : "float", skin, period ? ", periodic" : "");
		fixture_set made = fixture_make_set(context, cloud, exact == 1, skin, period);
		fixture_check_detector(detector, &made.set, &expected, what);
		fixture_free_set(&made);
	}
	fixture_free_pairs(&expected);
}

void fixture_check_detector_everywhere(const cr_sphere_detector *detector, carom_context *context, int64_t count)
{
	fixture_check_detector_on_some(detector, context, count, 1);
}

void fixture_check_detector_on_some(const cr_sphere_detector *detector, carom_context *context, int64_t count, int stride)
{
	for (int kind = 0; kind < CLOUD_KINDS; kind += stride) {
		fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, count, 7 + (uint64_t)kind);
		check_cloud(detector, context, &cloud, NULL, 0);
		check_cloud(detector, context, &cloud, NULL, 0.0003);
		fixture_free_cloud(&cloud);
	}
	for (int axes = 1; axes < 8; axes += stride) {
		const double lengths[3] = { 1, 0.75, 1.5 };
		double period[3];
		for (int k = 0; k < 3; k++)
			period[k] = axes >> k & 1 ? lengths[k] : 0;
		fixture_cloud cloud = fixture_make_periodic_cloud(period, count < 2000 ? count : 2000, 100 + (uint64_t)axes);
		// Of very few the radii would be half a period and more: such periods are refused.
		for (int64_t i = 0; count < 100 && i < cloud.count; i++)
			cloud.spheres[4 * i + 3] = 0.15;
		check_cloud(detector, context, &cloud, period, 0);
		check_cloud(detector, context, &cloud, period, 0.01);
		fixture_free_cloud(&cloud);
	}
}

void fixture_check_detector_on_threads(const cr_sphere_detector *detector, int64_t count)
{
	for (int threads = 1; threads <= 3; threads += 2) {
		if (!test_wants_threads(threads))
			continue;
		carom_context *context = fixture_context(threads);
		fixture_check_detector_everywhere(detector, context, count);
		carom_destroy_context(context);
	}
}

void fixture_check_detector_of_few(const cr_sphere_detector *detector)
{
	carom_context *context = fixture_context(1);
	for (int64_t count = 0; count <= 40; count += count < 20 ? 1 : 5)
		fixture_check_detector_everywhere(detector, context, count);
	carom_destroy_context(context);
}

// ---- Input ----

static void write_values(char *to, const double *values, int count, carom_scalar type)
{
	for (int k = 0; k < count; k++) {
		const float narrow = (float)values[k];
		if (type == CAROM_FLOAT64)
			memcpy(to + sizeof(double) * (size_t)k, &values[k], sizeof(double));
		else
			memcpy(to + sizeof(float) * (size_t)k, &narrow, sizeof(float));
	}
}

fixture_arrays fixture_lay_out(const fixture_cloud *cloud, fixture_layout layout)
{
	// Of each layout: types, strides, and where the first centre and the first radius are.
	const int64_t n = cloud->count;
	const carom_scalar f = CAROM_FLOAT32, d = CAROM_FLOAT64;
	const struct {
		carom_scalar centre_type, radius_type;
		int64_t centre_stride, radius_stride, centre_at, radius_at;
	} layouts[LAYOUTS] = {
		[LAYOUT_PACKED] = { f, f, 12, 4, 0, 12 * n },
		[LAYOUT_RECORDS] = { f, f, 16, 16, 0, 12 },
		[LAYOUT_STRIDED] = { f, f, 40, 40, 8, 36 },
		[LAYOUT_BACKWARDS] = { f, f, -12, -8, 12 * (n - 1), 12 * n + 8 * (n - 1) },
		[LAYOUT_UNALIGNED] = { f, f, 17, 17, 1, 13 },
		[LAYOUT_DOUBLES] = { d, d, 24, 8, 0, 24 * n },
		[LAYOUT_DOUBLE_RECORDS] = { d, d, 32, 32, 0, 24 },
		[LAYOUT_MIXED] = { f, d, 12, 8, 0, 12 * n + 4 },
	}, l = layouts[layout];
	fixture_arrays arrays = { carom_default_sphere_input(), must_alloc(48 * (size_t)n + 64) };
	// Strides that mean "packed" are left to the library.
	const bool packed = layout == LAYOUT_PACKED || layout == LAYOUT_DOUBLES;
	arrays.input.count = n;
	arrays.input.centres =
		(carom_strided){ arrays.memory + (n > 0 ? l.centre_at : 0), packed ? 0 : l.centre_stride, l.centre_type };
	arrays.input.radii =
		(carom_strided){ arrays.memory + (n > 0 ? l.radius_at : 0), packed ? 0 : l.radius_stride, l.radius_type };
	for (int64_t i = 0; i < n; i++) {
		write_values(arrays.memory + l.centre_at + i * l.centre_stride, cloud->spheres + 4 * i, 3, l.centre_type);
		write_values(arrays.memory + l.radius_at + i * l.radius_stride, cloud->spheres + 4 * i + 3, 1, l.radius_type);
	}
	return arrays;
}

void fixture_free_arrays(fixture_arrays *arrays)
{
	free(arrays->memory);
	*arrays = (fixture_arrays){ 0 };
}

bool fixture_check_spheres(carom_spheres *spheres, const fixture_cloud *cloud, const double period[3], const char *what)
{
	fixture_arrays arrays = fixture_lay_out(cloud, cloud->single ? LAYOUT_RECORDS : LAYOUT_DOUBLES);
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	fixture_free_arrays(&arrays); // the library has copied
	carom_sphere_pairs found;
	REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
	fixture_pairs actual = { 0 }, expected = fixture_oracle_pairs(cloud, 0, period);
	for (int64_t i = 0; i < found.count; i++)
		append_pair(&actual, found.pairs[i].a, found.pairs[i].b);
	const bool same = fixture_check_pairs(&actual, &expected, what);
	fixture_free_pairs(&actual);
	fixture_free_pairs(&expected);
	return same;
}

uint64_t fixture_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}
