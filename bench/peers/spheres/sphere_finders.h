/// The form of every library in the comparison on spheres: it makes its search structure for one
/// set, and finds all pairs of spheres that touch. Each library is one file, find_<name>.cpp.
#ifndef BENCH_SPHERE_FINDERS_H
#define BENCH_SPHERE_FINDERS_H

#include "io/sphere_file.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// One sphere, as snapshots have it.
struct Sphere {
	float x, y, z, r;
};

/// The set that all work on. The spheres stay where they are.
struct SphereView {
	const Sphere *spheres;
	int64_t count;
};

/// The definition of touching, which all use: in double, from the floats.
inline bool touch(const Sphere &a, const Sphere &b)
{
	const double x = static_cast<double>(a.x) - static_cast<double>(b.x);
	const double y = static_cast<double>(a.y) - static_cast<double>(b.y);
	const double z = static_cast<double>(a.z) - static_cast<double>(b.z);
	const double reach = static_cast<double>(a.r) + static_cast<double>(b.r);
	return x * x + y * y + z * z <= reach * reach;
}

/// The pairs that each thread found. On the clock like the search: all write a list.
using PairLists = std::vector<std::vector<carom_sphere_pair>>;

/// The findings: the number, and the sum of the pairs' hashes, whatever their order.
struct Found {
	int64_t pairs = 0;
	uint64_t hash = 0;
	bool operator==(const Found &other) const { return pairs == other.pairs && hash == other.hash; }
};

inline Found summary_of(const PairLists &lists)
{
	Found found;
	for (const std::vector<carom_sphere_pair> &list : lists) {
		found.pairs += static_cast<int64_t>(list.size());
		found.hash += io_hash_sphere_pairs(list.data(), static_cast<int64_t>(list.size()));
	}
	return found;
}

/// One library at work on one set with so many threads.
class SphereFinder {
  public:
	virtual ~SphereFinder() = default;
	/// Make the structure again. On the clock.
	virtual void build() = 0;
	/// Find and store all pairs. On the clock.
	virtual void find() = 0;
	/// Milliseconds of the last find that are not for finding: sorting, which only Carom does.
	virtual double sorting_ms() const { return 0; }
	/// Off the clock: the findings of the last find.
	virtual Found found() = 0;
};

struct FinderEntry {
	const char *name;
	std::unique_ptr<SphereFinder> (*create)(const SphereView &set, int threads);
};

/// All that were found when the program was built; Carom is the first.
const std::vector<FinderEntry> &finder_table();

std::unique_ptr<SphereFinder> create_carom_finder(const SphereView &set, int threads);
std::unique_ptr<SphereFinder> create_embree_finder(const SphereView &set, int threads);
std::unique_ptr<SphereFinder> create_nanoflann_finder(const SphereView &set, int threads);

/// Monotonic clock, ms.
double wall_ms();

double median(std::vector<double> values);

/// Print to stderr and end the program.
[[noreturn]] void fail(const std::string &what);

} // namespace bench
#endif
