/// A device without double precision: which kernels need it, what such a device finds, and what it refuses. Devices are opened
/// without the feature, under the validation layer where there is one, so that a kernel that used it would be told.
#include "device_fixture.h"
#include "device_spirv.h"
#include "fixture.h"
#include "near_fixture.h"
#include "spheres_fixture.h"
#include "sweep_fixture.h"
#include "carom/grains.h"
#include <stdio.h>

enum { SPIRV_CAPABILITY = 17, SPIRV_FLOAT64 = 10 };

static bool needs_doubles(cr_kernel kernel)
{
	size_t size;
	const uint32_t *words = cr_kernel_code(kernel, &size);
	for (size_t at = SPIRV_HEAD; at < size / 4; at += words[at] >> 16) {
		if ((words[at] & 0xffff) == SPIRV_CAPABILITY && words[at + 1] == SPIRV_FLOAT64)
			return true;
	}
	return false;
}

TEST(device_single, only_kernels_of_meshes_and_grains_and_doubts_need_doubles)
{
	int needing = 0;
	for (int k = 0; k < CR_KERNELS; k++) {
		const char *name = cr_kernel_name((cr_kernel)k);
		const bool may = strncmp(name, "grains", 6) == 0 || strncmp(name, "mesh", 4) == 0 || strcmp(name, "arithmetic") == 0 || strcmp(name, "pairs_judge") == 0;
		const bool does = needs_doubles((cr_kernel)k);
		needing += does;
		if (!CHECK(may || !does))
			printf("%s needs doubles\n", name);
	}
	CHECK(needing >= 4);
}

/// A device that was made without doubles.
static carom_device *open_single(carom_context *context, bool validation)
{
	carom_device_def def = carom_default_device_def();
	def.without_doubles = true;
	def.validation = validation;
	carom_device *device = fixture_device(context, &def);
	CHECK(!carom_device_get_info(device).doubles);
	return device;
}

static void check_spheres(carom_context *context, carom_device *device)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 600, 2);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
	fixture_pairs truth = fixture_oracle_pairs(&cloud, 0, NULL);
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	def.device = device;
	carom_spheres *spheres;
	carom_sphere_pairs pairs;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_find_pairs(spheres, &pairs) == CAROM_SUCCESS);
	CHECK(truth.count > 100);
	CHECK_INT(pairs.count, truth.count);
	CHECK_INT(carom_spheres_get_stats(spheres).device_fallbacks, 0);
	carom_destroy_spheres(spheres);
	fixture_free_pairs(&truth);
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
}

static void check_impacts(carom_context *context, carom_device *device)
{
	uint64_t random = 7;
	sweep_world world = { 0 };
	sweep_add_sheet(&world, 6, 6, 1);
	sweep_add_tetrahedron(&world);
	sweep_move(&world, 0.1, 0.1, &random);
	carom_sweep_def def = carom_default_sweep_def();
	sweep_list truth = sweep_find_dully(&world, &def);
	def.device = device;
	carom_sweep *sweep = sweep_load(context, &def, &world);
	carom_sweep_hits hits;
	sweep_tell(sweep, &world);
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	CHECK(truth.count > 0);
	sweep_check_same(hits.data, hits.count, &truth, "without doubles");
	carom_destroy_sweep(sweep);
	sweep_free_list(&truth);
	sweep_free_world(&world);
}

TEST(device_single, spheres_and_impacts_need_no_doubles)
{
	carom_context *context = fixture_context(1);
	carom_device *device = open_single(context, true);
	check_spheres(context, device);
	check_impacts(context, device);
	CHECK_INT(carom_device_get_stats(device).validation_messages, 0);
	carom_destroy_device(device);
	carom_destroy_context(context);
}

TEST(device_single, worlds_and_grains_refuse_it_and_go_on)
{
	carom_context *context = fixture_context(1);
	carom_device *device = open_single(context, false);
	carom_world *world = fixture_world(context, NULL);
	for (int fallback = 0; fallback < 2; fallback++)
		fixture_expect_error(
			context, carom_world_set_device(world, device, fallback), CAROM_UNSUPPORTED, "has no double precision");
	fixture_step(world); // on the processor, as before
	CHECK_INT(carom_world_stats(world).rays_on_device, 0);
	carom_destroy_world(world);
	carom_grains_def def = carom_default_grains_def();
	def.device = device;
	def.count = 2;
	def.time_step = 1e-3;
	carom_grains *grains;
	fixture_expect_error(context, carom_create_grains(context, &def, &grains), CAROM_UNSUPPORTED, "double");
	CHECK_INT(carom_device_get_stats(device).dispatches, 0);
	carom_destroy_device(device);
	carom_destroy_context(context);
}
