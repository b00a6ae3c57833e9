/// Rays through Embree 3, robust scene, high quality build, one thread. Plug-in: the same arrays in
/// and out as Carom's own casters. The others look at Embree alone: ray records are filled and read
/// off the clock, denormals flushed as its manual advises. Single: rtcIntersect1. Packet:
/// rtcIntersect8 on the rays of one ordered pair.

#include "rays.h"

#include "plugins/embree.h"

#include <algorithm>
#include <cstring>
#include <embree3/rtcore.h>
#include <numeric>
#include <xmmintrin.h>

namespace bench {
namespace {

constexpr int width = 8;

/// Flush denormals while it lives: Carom must not see the mode.
class FlushDenormals {
  public:
	FlushDenormals() : saved(_mm_getcsr()) { _mm_setcsr(saved | 0x8040); }
	~FlushDenormals() { _mm_setcsr(saved); }

  private:
	unsigned saved;
};

class PluginCaster final : public Caster {
  public:
	explicit PluginCaster(const Mesh &mesh) : hits(0), plugin(carom_create_embree_plugin())
	{
		std::vector<int32_t> number(mesh.triangle_count());
		std::iota(number.begin(), number.end(), 0);
		if (plugin != nullptr) {
			state = plugin->build(mesh.vertices.data(), mesh.vertex_count(), mesh.triangles.data(), number.data(),
				mesh.triangle_count(), plugin->user);
		}
		if (state == nullptr) {
			fail("the Embree plug-in cannot be started");
		}
	}

	~PluginCaster() override
	{
		plugin->destroy(state, plugin->user);
		carom_destroy_embree_plugin(plugin);
	}

	void prepare(const RaySet &rays) override { hits = RayHits(rays.count()); }

	void cast(const RaySet &rays) override
	{
		for (size_t block = 0; block + 1 < rays.first.size(); block++) {
			const carom_ray_batch batch = ray_batch(rays, block);
			const carom_hit_batch out = hit_batch(rays, block, hits);
			plugin->cast(state, &batch, &out, plugin->user);
		}
	}

	void collect(RayHits &out) override { out = hits; }

  private:
	RayHits hits;
	const carom_ray_plugin *plugin;
	void *state = nullptr;
};

class EmbreeCaster : public Caster {
  public:
	explicit EmbreeCaster(const Mesh &mesh)
	{
		device = rtcNewDevice("threads=1");
		if (device == nullptr) {
			fail("Embree cannot be started");
		}
		scene = rtcNewScene(device);
		rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST);
		rtcSetSceneBuildQuality(scene, RTC_BUILD_QUALITY_HIGH);
		RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
		size_t vertex_bytes = mesh.vertices.size() * sizeof(float), index_bytes = mesh.triangles.size() * sizeof(int32_t);
		void *vertices = rtcSetNewGeometryBuffer(
			geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 3 * sizeof(float), mesh.vertex_count());
		void *indices = rtcSetNewGeometryBuffer(
			geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(uint32_t), mesh.triangle_count());
		if (vertices == nullptr || indices == nullptr) {
			fail("Embree is out of memory");
		}
		std::memcpy(vertices, mesh.vertices.data(), vertex_bytes);
		std::memcpy(indices, mesh.triangles.data(), index_bytes);
		rtcCommitGeometry(geometry);
		rtcAttachGeometry(scene, geometry);
		rtcReleaseGeometry(geometry);
		rtcCommitScene(scene);
	}

	~EmbreeCaster() override
	{
		rtcReleaseScene(scene);
		rtcReleaseDevice(device);
	}

  protected:
	RTCScene scene;

  private:
	RTCDevice device;
};

class SingleCaster final : public EmbreeCaster {
  public:
	using EmbreeCaster::EmbreeCaster;

	void prepare(const RaySet &rays) override
	{
		records.resize(rays.count());
		for (int i = 0; i < rays.count(); i++) {
			RTCRayHit &r = records[i];
			r.ray = { rays.origin[0][i], rays.origin[1][i], rays.origin[2][i], 0, rays.direction[0][i], rays.direction[1][i],
				rays.direction[2][i], 0, rays.t_max[i], ~0U, 0, 0 };
			r.hit.geomID = r.hit.primID = r.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
		}
	}

	void cast(const RaySet &) override
	{
		FlushDenormals flush;
		RTCIntersectContext context;
		rtcInitIntersectContext(&context);
		for (RTCRayHit &record : records) {
			rtcIntersect1(scene, &context, &record);
		}
	}

	void collect(RayHits &hits) override
	{
		for (size_t i = 0; i < records.size(); i++) {
			const RTCRay &ray = records[i].ray;
			const RTCHit &hit = records[i].hit;
			bool found = hit.geomID != RTC_INVALID_GEOMETRY_ID;
			float along = ray.dir_x * hit.Ng_x + ray.dir_y * hit.Ng_y + ray.dir_z * hit.Ng_z;
			hits.triangle[i] = found ? static_cast<int32_t>(hit.primID) : -1;
			hits.t[i] = ray.tfar;
			hits.back_face[i] = found && along > 0;
		}
	}

  private:
	std::vector<RTCRayHit> records;
};

class PacketCaster final : public EmbreeCaster {
  public:
	using EmbreeCaster::EmbreeCaster;

	void prepare(const RaySet &rays) override
	{
		packets.clear();
		for (size_t block = 0; block + 1 < rays.first.size(); block++) {
			for (int i = rays.first[block]; i < rays.first[block + 1]; i += width) {
				packets.push_back(make_packet(rays, i, std::min(width, rays.first[block + 1] - i)));
			}
		}
	}

	void cast(const RaySet &) override
	{
		FlushDenormals flush;
		RTCIntersectContext context;
		rtcInitIntersectContext(&context);
		for (Packet &packet : packets) {
			rtcIntersect8(packet.valid, scene, &context, &packet.record);
		}
	}

	void collect(RayHits &hits) override
	{
		for (const Packet &packet : packets) {
			const RTCRay8 &ray = packet.record.ray;
			const RTCHit8 &hit = packet.record.hit;
			for (int k = 0; k < packet.count; k++) {
				int i = packet.first + k;
				bool found = hit.geomID[k] != RTC_INVALID_GEOMETRY_ID;
				float along = ray.dir_x[k] * hit.Ng_x[k] + ray.dir_y[k] * hit.Ng_y[k] + ray.dir_z[k] * hit.Ng_z[k];
				hits.triangle[i] = found ? static_cast<int32_t>(hit.primID[k]) : -1;
				hits.t[i] = ray.tfar[k];
				hits.back_face[i] = found && along > 0;
			}
		}
	}

  private:
	struct alignas(32) Packet {
		RTCRayHit8 record;
		alignas(32) int valid[width];
		int first, count;
	};

	static Packet make_packet(const RaySet &rays, int first, int count)
	{
		Packet packet = {};
		packet.first = first;
		packet.count = count;
		RTCRay8 &ray = packet.record.ray;
		for (int k = 0; k < width; k++) {
			// lanes left over repeat the last ray, switched off
			int i = first + std::min(k, count - 1);
			packet.valid[k] = k < count ? -1 : 0;
			ray.org_x[k] = rays.origin[0][i];
			ray.org_y[k] = rays.origin[1][i];
			ray.org_z[k] = rays.origin[2][i];
			ray.dir_x[k] = rays.direction[0][i];
			ray.dir_y[k] = rays.direction[1][i];
			ray.dir_z[k] = rays.direction[2][i];
			ray.tfar[k] = rays.t_max[i];
			ray.mask[k] = ~0U;
			packet.record.hit.geomID[k] = packet.record.hit.primID[k] = RTC_INVALID_GEOMETRY_ID;
			packet.record.hit.instID[0][k] = RTC_INVALID_GEOMETRY_ID;
		}
		return packet;
	}

	std::vector<Packet> packets;
};

} // namespace

std::unique_ptr<Caster> create_embree_plugin(const Mesh &mesh) { return std::make_unique<PluginCaster>(mesh); }

std::unique_ptr<Caster> create_embree_single(const Mesh &mesh) { return std::make_unique<SingleCaster>(mesh); }

std::unique_ptr<Caster> create_embree_packet(const Mesh &mesh) { return std::make_unique<PacketCaster>(mesh); }

} // namespace bench
