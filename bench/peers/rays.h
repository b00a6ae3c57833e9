/// Rays alone: those that the vertex step asks for, through Carom's wide caster and through Embree.
#ifndef BENCH_RAYS_H
#define BENCH_RAYS_H

#include "peers.h"

namespace bench {

/// The rays of one frame in the mesh's frame, by planes. The rays of one ordered pair of bodies
/// follow each other.
struct RaySet {
	std::vector<float> origin[3], direction[3], t_max;
	std::vector<int> first; ///< of each ordered pair that has rays, and the end
	int count() const { return static_cast<int>(t_max.size()); }
};

/// Vertices of A inside the local box of B, for each pair in both orders, along the inward vertex
/// normal, without an end.
RaySet collect_rays(const Mesh &mesh, const Frame &frame);

/// The hits, as in carom_hit_batch.
struct RayHits {
	std::vector<int32_t> triangle;
	std::vector<float> t;
	std::vector<uint8_t> back_face;
	explicit RayHits(int count) : triangle(count), t(count), back_face(count) {}
};

/// The rays of one ordered pair, and where their results go, as the library takes them. The arrays
/// stay where they are.
carom_ray_batch ray_batch(const RaySet &rays, size_t block);
carom_hit_batch hit_batch(const RaySet &rays, size_t block, RayHits &hits);

/// One way to cast. prepare is off the clock.
class Caster {
  public:
	virtual ~Caster() = default;
	virtual void prepare(const RaySet &rays) = 0;
	virtual void cast(const RaySet &rays) = 0;
	/// Off the clock: write out the hits of the last cast.
	virtual void collect(RayHits &hits) = 0;
};

struct CasterEntry {
	const char *name;
	std::unique_ptr<Caster> (*create)(const Mesh &mesh);
};

/// Carom first.
const std::vector<CasterEntry> &caster_table();

std::unique_ptr<Caster> create_carom_caster(const Mesh &mesh);
std::unique_ptr<Caster> create_carom_binary_caster(const Mesh &mesh);
std::unique_ptr<Caster> create_embree_plugin(const Mesh &mesh);
std::unique_ptr<Caster> create_embree_single(const Mesh &mesh);
std::unique_ptr<Caster> create_embree_packet(const Mesh &mesh);

} // namespace bench
#endif
