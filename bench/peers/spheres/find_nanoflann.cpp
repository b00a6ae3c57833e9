/// nanoflann: a k-d tree of the centres; the larger sphere of a pair finds the other one within
/// twice its radius. Its build has one thread, the queries have all.

#include "sphere_finders.h"

#include <atomic>
#include <nanoflann.hpp>
#include <thread>

namespace bench {
namespace {

/// The centres, in the form that nanoflann asks for.
struct Cloud {
	SphereView set;
	size_t kdtree_get_point_count() const { return static_cast<size_t>(set.count); }
	float kdtree_get_pt(size_t i, size_t axis) const { return (&set.spheres[i].x)[axis]; }
	template <class Box> bool kdtree_get_bbox(Box &) const { return false; }
};

using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Cloud>, Cloud, 3, uint32_t>;

/// Takes the spheres near sphere i: of two, the larger one reports, and the one with the lower
/// number when they are alike.
struct Collect {
	const Sphere *spheres;
	uint32_t i;
	float squared_radius;
	std::vector<carom_sphere_pair> &list;

	size_t size() const { return 0; }
	bool full() const { return true; }
	float worstDist() const { return squared_radius; }
	bool addPoint(float squared_distance, uint32_t j)
	{
		const Sphere &a = spheres[i], &b = spheres[j];
		const bool reports = b.r < a.r || (b.r == a.r && i < j);
		if (squared_distance < squared_radius && reports && touch(a, b)) {
			list.push_back({ std::min(i, j), std::max(i, j) });
		}
		return true;
	}
};

constexpr int64_t block = 1024;

class NanoflannFinder final : public SphereFinder {
  public:
	NanoflannFinder(const SphereView &set, int threads) : cloud{ set }, lists(static_cast<size_t>(threads)) {}

	void build() override { tree = std::make_unique<Tree>(3, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(10)); }

	void find() override
	{
		next = 0;
		std::vector<std::thread> others;
		for (size_t k = 1; k < lists.size(); k++) {
			others.emplace_back([this, k] { work(lists[k]); });
		}
		work(lists[0]);
		for (std::thread &other : others) {
			other.join();
		}
	}

	Found found() override { return summary_of(lists); }

  private:
	void work(std::vector<carom_sphere_pair> &list)
	{
		const Sphere *spheres = cloud.set.spheres;
		list.clear();
		for (int64_t begin; (begin = next.fetch_add(block)) < cloud.set.count;) {
			const int64_t end = std::min(begin + block, cloud.set.count);
			for (int64_t i = begin; i < end; i++) {
				const float radius = 2 * spheres[i].r * 1.00001f; // so that rounding loses nothing
				Collect collect{ spheres, static_cast<uint32_t>(i), radius * radius, list };
				tree->findNeighbors(collect, &spheres[i].x, nanoflann::SearchParams());
			}
		}
	}

	Cloud cloud;
	PairLists lists;
	std::unique_ptr<Tree> tree;
	std::atomic<int64_t> next{ 0 };
};

} // namespace

std::unique_ptr<SphereFinder> create_nanoflann_finder(const SphereView &set, int threads)
{
	return std::make_unique<NanoflannFinder>(set, threads);
}

} // namespace bench
