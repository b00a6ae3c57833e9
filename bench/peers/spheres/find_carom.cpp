/// Carom: carom_spheres_update and carom_spheres_find_pairs with the automatic choice of the
/// method.

#include "sphere_finders.h"

namespace bench {
namespace {

class CaromFinder final : public SphereFinder {
  public:
	CaromFinder(const SphereView &set, int threads)
	{
		carom_context_def context_def = carom_default_context_def();
		context_def.thread_count = threads;
		if (carom_create_context(&context_def, &context) != CAROM_SUCCESS) {
			fail("Carom: no context");
		}
		carom_spheres_def def = carom_default_spheres_def();
		def.upkeep = CAROM_UPKEEP_REBUILD;
		check(carom_create_spheres(context, &def, &spheres));
		input = carom_default_sphere_input();
		input.count = set.count;
		input.centres.data = &set.spheres->x;
		input.radii.data = &set.spheres->r;
		input.centres.stride = input.radii.stride = sizeof(Sphere);
		input.centres.type = input.radii.type = CAROM_FLOAT32;
	}

	~CaromFinder() override
	{
		carom_destroy_spheres(spheres);
		carom_destroy_context(context);
	}

	void build() override { check(carom_spheres_update(spheres, &input)); }
	void find() override { check(carom_spheres_find_pairs(spheres, &pairs)); }
	double sorting_ms() const override { return carom_spheres_get_stats(spheres).ms_sort; }
	Found found() override { return { pairs.count, io_hash_sphere_pairs(pairs.pairs, pairs.count) }; }

  private:
	void check(carom_result result)
	{
		if (result != CAROM_SUCCESS) {
			fail(std::string("Carom: ") + carom_error_text(context));
		}
	}

	carom_context *context = nullptr;
	carom_spheres *spheres = nullptr;
	carom_sphere_input input;
	carom_sphere_pairs pairs = {};
};

} // namespace

std::unique_ptr<SphereFinder> create_carom_finder(const SphereView &set, int threads)
{
	return std::make_unique<CaromFinder>(set, threads);
}

} // namespace bench
