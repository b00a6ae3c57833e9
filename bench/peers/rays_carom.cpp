/// Rays through Carom's own casters, one batch for each ordered pair, as the ray step casts them.

#include "rays.h"

#include "carom/lab.h"

namespace bench {
namespace {

class CaromCaster final : public Caster {
  public:
	CaromCaster(const Mesh &mesh, carom_ray_method method) : method(method), hits(0)
	{
		carom_context_def context_def = carom_default_context_def();
		context_def.thread_count = 1;
		if (carom_create_context(&context_def, &context) != CAROM_SUCCESS) {
			fail("Carom cannot make a context");
		}
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices.data = mesh.vertices.data();
		def.vertices.type = CAROM_FLOAT32;
		def.vertex_count = mesh.vertex_count();
		def.triangles = mesh.triangles.data();
		def.triangle_count = mesh.triangle_count();
		if (carom_create_mesh(context, &def, nullptr, &target) != CAROM_SUCCESS) {
			fail(std::string("Carom: ") + carom_error_text(context));
		}
	}

	~CaromCaster() override
	{
		carom_release_mesh(target);
		carom_destroy_context(context);
	}

	void prepare(const RaySet &rays) override { hits = RayHits(rays.count()); }

	void cast(const RaySet &rays) override
	{
		for (size_t block = 0; block + 1 < rays.first.size(); block++) {
			const carom_ray_batch batch = ray_batch(rays, block);
			const carom_hit_batch out = hit_batch(rays, block, hits);
			if (carom_lab_cast_rays(target, method, &batch, &out) != CAROM_SUCCESS) {
				fail(std::string("Carom: ") + carom_error_text(context));
			}
		}
	}

	void collect(RayHits &out) override { out = hits; }

  private:
	carom_ray_method method;
	RayHits hits;
	carom_context *context = nullptr;
	carom_mesh *target = nullptr;
};

} // namespace

std::unique_ptr<Caster> create_carom_caster(const Mesh &mesh) { return std::make_unique<CaromCaster>(mesh, CAROM_RAYS_WIDE); }

std::unique_ptr<Caster> create_carom_binary_caster(const Mesh &mesh)
{
	return std::make_unique<CaromCaster>(mesh, CAROM_RAYS_BINARY);
}

} // namespace bench
