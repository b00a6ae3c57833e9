/// What the tests of spheres share: clouds of all kinds, sets as the detectors see them, a dull search in double to compare with,
/// and a sink that collects. A failure of any of them ends the case.
#ifndef TESTS_SPHERES_FIXTURE_H
#define TESTS_SPHERES_FIXTURE_H

#include "spheres/sphere_detector.h"
#include "test.h"

typedef enum fixture_cloud_kind {
	CLOUD_FREE_FALL,  // unit box, radii 0.0005 to 0.0006: hardly any pair
	CLOUD_DENSE,      // the same radii, about three pairs a sphere
	CLOUD_WIDE,       // radii 0.0005 to 0.06, uniform, about three pairs a sphere
	CLOUD_POWER_LAW,  // radii 1 to 10,000, as many in each octave
	CLOUD_CLUSTERS,   // dense heaps in much empty space, and a few flyers far away
	CLOUD_TOUCHING,   // a cubic lattice of equal spheres, each exactly touching its six neighbours
	CLOUD_COINCIDENT, // few places, many spheres in each
	CLOUD_ZERO_RADII, // points, some of them at the same place, among some spheres
	CLOUD_COLLINEAR,  // along x
	CLOUD_COPLANAR,   // z constant
	CLOUD_FAR_AWAY,   // dense, 1e6 away, in double: differences are lost in float
	CLOUD_TWO_SIZES,  // one large sphere for 500 small ones that is 100 times as wide
	CLOUD_KINDS,
	// In double, and such that no single origin tells the spheres apart: for carom_spheres, whose frames are made for them.
	CLOUD_STRAYS = CLOUD_KINDS, // dense, and a few from 1e3 to 1e12 away
	CLOUD_FAR_HEAPS,            // three dense heaps, 1e9 apart
	CLOUD_ALL_SCALES,           // around a place, from 1e-3 to 1e12, radii a fiftieth of how far they are
	CLOUD_PLANET,               // dense, on the surface of a sphere of 6.4e6, and another heap on the other side
	CLOUD_ALL_KINDS,
} fixture_cloud_kind;

/// x, y, z, radius of each in double. Free with fixture_free_cloud.
typedef struct fixture_cloud {
	fixture_cloud_kind kind;
	const char *name;
	int64_t count;
	double *spheres; // [4*count]
	bool single;     // every value is a float
	uint64_t seed;
} fixture_cloud;

fixture_cloud fixture_make_cloud(fixture_cloud_kind kind, int64_t count, uint64_t seed);
/// A cloud that fills a box of the given periods with room for others (0: not periodic), dense, coordinates multiples of 2^-24 of
/// a few, some far outside of the first period. Periods should be multiples of 2^-10 below 16.
fixture_cloud fixture_make_periodic_cloud(const double period[3], int64_t count, uint64_t seed);
void fixture_free_cloud(fixture_cloud *cloud);

/// Touching pairs, sorted. Free with fixture_free_pairs.
typedef struct fixture_pairs {
	carom_sphere_pair *pairs;
	int64_t count, capacity;
} fixture_pairs;

/// Every pair of the cloud with distance <= r_a + r_b + skin, in double, by a sorted sweep along the longest side. period[k] 0:
/// axis k does not repeat; NULL: none does; periodic ones are compared pair by pair (keep the count low).
fixture_pairs fixture_oracle_pairs(const fixture_cloud *cloud, double skin, const double period[3]);
/// The same pair by pair: what the sweep is tested with.
fixture_pairs fixture_brute_pairs(const fixture_cloud *cloud, double skin, const double period[3]);
void fixture_free_pairs(fixture_pairs *pairs);

/// A set over memory of its own. Free with fixture_free_set.
typedef struct fixture_set {
	cr_sphere_set set;
	cr_sphere *spheres;
	double *exact;
	uint32_t *owner;
} fixture_set;

/// As carom_spheres_update would make it. exact: with doubles, an origin and a slack (needed where the cloud is not single or has
/// periods, see cloud.single); period as in fixture_oracle_pairs.
fixture_set fixture_make_set(
	carom_context *context, const fixture_cloud *cloud, bool exact, double skin, const double period[3]);
void fixture_free_set(fixture_set *set);

/// A sink that keeps what it gets, for each worker apart. Free with fixture_free_collector.
typedef struct fixture_collector {
	fixture_pairs found[CR_MAX_WORKERS];
	cr_pair_sink sink;  // take and user: hand this on
	int64_t stop_after; // a worker that has more refuses the next; below 0: never
} fixture_collector;
fixture_collector *fixture_make_collector(void);
/// All that was taken, sorted (duplicates stay). The caller frees it.
fixture_pairs fixture_collected(const fixture_collector *collector);
void fixture_free_collector(fixture_collector *collector);

/// Are both lists the same? If not, the check fails and names the first pair that is missing or too many.
bool fixture_check_pairs(const fixture_pairs *actual, const fixture_pairs *expected, const char *what);

/// Find with a state that was built for the set: each pair of expected exactly once.
bool fixture_check_found(
	const cr_sphere_detector *detector, void *state, const cr_sphere_set *set, const fixture_pairs *expected, const char *what);
/// Build, find, compare, release; the detector must not touch more than expected, nor twice.
bool fixture_check_detector(
	const cr_sphere_detector *detector, const cr_sphere_set *set, const fixture_pairs *expected, const char *what);
/// fixture_check_detector on every kind of cloud, as floats where it can be and as doubles, without and with a skin, and on
/// clouds that are periodic along one, two and three axes.
void fixture_check_detector_everywhere(const cr_sphere_detector *detector, carom_context *context, int64_t count);
/// On every so many-th kind of cloud and choice of axes.
void fixture_check_detector_on_some(const cr_sphere_detector *detector, carom_context *context, int64_t count, int stride);
/// On all, on one thread and on three.
void fixture_check_detector_on_threads(const cr_sphere_detector *detector, int64_t count);
/// So with each small number of spheres.
void fixture_check_detector_of_few(const cr_sphere_detector *detector);

/// How a caller may hold spheres in memory.
typedef enum fixture_layout {
	LAYOUT_PACKED,         // float32 x, y, z; r apart
	LAYOUT_RECORDS,        // float32 x, y, z, r
	LAYOUT_STRIDED,        // float32 in records of 40 bytes
	LAYOUT_BACKWARDS,      // float32, the last sphere first in memory
	LAYOUT_UNALIGNED,      // float32 from an odd address, records of 17 bytes
	LAYOUT_DOUBLES,        // float64 x, y, z; r apart
	LAYOUT_DOUBLE_RECORDS, // float64 x, y, z, r
	LAYOUT_MIXED,          // float32 centres, float64 radii
	LAYOUTS
} fixture_layout;

/// A cloud as input of carom_spheres_update, over memory of its own. Free with fixture_free_arrays.
typedef struct fixture_arrays {
	carom_sphere_input input;
	char *memory;
} fixture_arrays;
fixture_arrays fixture_lay_out(const fixture_cloud *cloud, fixture_layout layout);
void fixture_free_arrays(fixture_arrays *arrays);

/// Update with a cloud as doubles (float32 records if it is single), find, compare with the oracle. Ends the case when a call fails.
bool fixture_check_spheres(carom_spheres *spheres, const fixture_cloud *cloud, const double period[3], const char *what);

/// splitmix64's step, for sums over pairs that do not depend on their order.
uint64_t fixture_mix(uint64_t x);

#endif
