/// Embree 3: the spheres' boxes as user geometry in a scene of low build quality (Morton order,
/// made for scenes that change), collided with itself by rtcCollide. Its point queries and rays,
/// which are the mapping of Mochi, are several times slower.

#include "sphere_finders.h"

#include <atomic>
#include <embree3/rtcore.h>
#include <mutex>

namespace bench {
namespace {

class EmbreeFinder final : public SphereFinder {
  public:
	EmbreeFinder(const SphereView &view, int threads) : set(view)
	{
		device = rtcNewDevice(("threads=" + std::to_string(threads) + ",set_affinity=0").c_str());
		if (device == nullptr) {
			fail("Embree cannot be started");
		}
	}

	~EmbreeFinder() override
	{
		release();
		rtcReleaseDevice(device);
	}

	void build() override
	{
		release();
		scene = rtcNewScene(device);
		rtcSetSceneBuildQuality(scene, RTC_BUILD_QUALITY_LOW);
		rtcSetSceneFlags(scene, RTC_SCENE_FLAG_DYNAMIC);
		RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_USER);
		rtcSetGeometryBuildQuality(geometry, RTC_BUILD_QUALITY_LOW);
		rtcSetGeometryUserPrimitiveCount(geometry, static_cast<unsigned>(set.count));
		rtcSetGeometryUserData(geometry, this);
		rtcSetGeometryBoundsFunction(geometry, bounds, nullptr);
		rtcCommitGeometry(geometry);
		rtcAttachGeometry(scene, geometry);
		rtcReleaseGeometry(geometry);
		rtcCommitScene(scene);
	}

	void find() override
	{
		for (const std::unique_ptr<List> &list : lists) {
			list->clear();
		}
		rtcCollide(scene, scene, collide, this);
		if (rtcGetDeviceError(device) != RTC_ERROR_NONE) {
			fail("Embree: rtcCollide failed");
		}
	}

	Found found() override
	{
		Found sum;
		for (const std::unique_ptr<List> &list : lists) {
			sum.pairs += static_cast<int64_t>(list->size());
			sum.hash += io_hash_sphere_pairs(list->data(), static_cast<int64_t>(list->size()));
		}
		return sum;
	}

  private:
	using List = std::vector<carom_sphere_pair>;

	void release()
	{
		if (scene != nullptr) {
			rtcReleaseScene(scene);
		}
		scene = nullptr;
	}

	static void bounds(const RTCBoundsFunctionArguments *arguments)
	{
		const Sphere &s = static_cast<EmbreeFinder *>(arguments->geometryUserPtr)->set.spheres[arguments->primID];
		const float half = s.r * 1.000001f; // so that rounding cuts nothing off
		RTCBounds &box = *arguments->bounds_o;
		box.lower_x = s.x - half, box.lower_y = s.y - half, box.lower_z = s.z - half;
		box.upper_x = s.x + half, box.upper_y = s.y + half, box.upper_z = s.z + half;
	}

	/// Called from the workers of Embree. Every pair comes in both orders.
	static void collide(void *user, RTCCollision *collisions, unsigned count)
	{
		EmbreeFinder &finder = *static_cast<EmbreeFinder *>(user);
		List &list = finder.own_list();
		for (unsigned k = 0; k < count; k++) {
			const uint32_t a = collisions[k].primID0, b = collisions[k].primID1;
			if (a < b && touch(finder.set.spheres[a], finder.set.spheres[b])) {
				list.push_back({ a, b });
			}
		}
	}

	/// The list of the calling thread. A thread that has worked for another finder before gets a
	/// new one.
	List &own_list()
	{
		thread_local uint64_t owner = 0;
		thread_local List *list = nullptr;
		if (owner != number) {
			const std::lock_guard<std::mutex> guard(mutex);
			lists.push_back(std::make_unique<List>());
			owner = number;
			list = lists.back().get();
		}
		return *list;
	}

	static inline std::atomic<uint64_t> finders{ 0 };

	const uint64_t number = ++finders; ///< unlike an address, never used twice
	SphereView set;
	RTCDevice device = nullptr;
	RTCScene scene = nullptr;
	std::mutex mutex;
	std::vector<std::unique_ptr<List>> lists;
};

} // namespace

std::unique_ptr<SphereFinder> create_embree_finder(const SphereView &set, int threads)
{
	return std::make_unique<EmbreeFinder>(set, threads);
}

} // namespace bench
