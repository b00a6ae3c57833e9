/// Kernels under GPU-assisted validation: the layer puts a check before each access that goes through an address, which plain validation
/// cannot see. It compiles every kernel anew, which takes Mesa's driver seconds each: so few kernels run, those that most others rest on.
#include "device_fixture.h"
#include "fixture.h"
#include "vulkan/gpu_sort.h"
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_memory.h"
#include <stdlib.h>

static void count_errors(carom_log_level level, const char *text, void *user)
{
	(void)text;
	*(int *)user += level == CAROM_LOG_ERROR;
}

/// A device under that layer, which reads the variable when it is loaded.
static carom_device *open_assisted(carom_context *context)
{
	carom_device_def def = carom_default_device_def();
	def.validation = true;
	setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT", 1);
	carom_device *device = fixture_device(context, &def);
	unsetenv("VK_LAYER_ENABLES");
	return device;
}

static void put_in_order(
	carom_device *device, const cr_gpu_buffer *spheres, const cr_gpu_buffer *order, const cr_gpu_buffer *sorted)
{
	enum { COUNT = 64 };
	REQUIRE(cr_gpu_begin(device) == CAROM_SUCCESS);
	const cr_gpu_arguments arguments = { { spheres->address, order->address, sorted->address }, { COUNT } };
	cr_gpu_run(device, CR_KERNEL_GATHER, COUNT, CR_GPU_THREADS, &arguments);
	REQUIRE(cr_gpu_finish(device) == CAROM_SUCCESS);
}

/// A sum is right and nothing is told of it; a kernel that reads behind the end of a buffer is told.
TEST(device_assisted, only_kernels_that_leave_their_buffers_are_told)
{
	enum { COUNT = 300 };
	int errors = 0;
	carom_context_def context_def = carom_default_context_def();
	context_def.log = count_errors;
	context_def.log_user = &errors;
	carom_context *context;
	REQUIRE(carom_create_context(&context_def, &context) == CAROM_SUCCESS);
	carom_device *device = open_assisted(context);
	cr_gpu_buffer items = { 0 }, sums = { 0 }, scratch = { 0 }, spheres = { 0 };
	uint32_t given[COUNT];
	uint64_t found[COUNT];
	for (uint32_t i = 0; i < COUNT; i++)
		given[i] = i % 7;
	cr_gpu_lock(device);
	REQUIRE(cr_gpu_reserve(device, &items, sizeof given) == CAROM_SUCCESS);
	REQUIRE(cr_gpu_reserve(device, &sums, sizeof found) == CAROM_SUCCESS);
	REQUIRE(cr_gpu_reserve(device, &spheres, sizeof given * 8) == CAROM_SUCCESS);
	REQUIRE(cr_gpu_reserve(device, &scratch, cr_gpu_scan_scratch(COUNT)) == CAROM_SUCCESS);
	REQUIRE(cr_gpu_upload(device, &items, given, sizeof given) == CAROM_SUCCESS);
	REQUIRE(cr_gpu_begin(device) == CAROM_SUCCESS);
	cr_gpu_scan(device, items.address, sums.address, COUNT, scratch.address);
	REQUIRE(cr_gpu_finish(device) == CAROM_SUCCESS);
	REQUIRE(cr_gpu_download(device, &sums, found, sizeof found) == CAROM_SUCCESS);
	uint64_t sum = 0;
	bool same = true;
	for (uint32_t i = 0; i < COUNT; i++) {
		same = same && found[i] == sum;
		sum += given[i];
	}
	CHECK(same);
	put_in_order(device, &spheres, &items, &spheres);
	CHECK_INT(errors, 0);
	const cr_gpu_buffer behind = { .address = items.address + items.size }; // seven spheres are read there
	put_in_order(device, &behind, &items, &spheres);
	CHECK(errors > 0);
	cr_gpu_buffer *const all[] = { &items, &sums, &scratch, &spheres };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		cr_gpu_free(device, all[i]);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
	const int before = errors;
	carom_destroy_device(device);
	CHECK_INT(errors, before);
	carom_destroy_context(context);
}
