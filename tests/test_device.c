/// Graphics devices as a user sees them: list, choice, misuse, the file of compiled kernels, memory.
#include "carom/spheres.h"
#include "device_fixture.h"
#include "fixture.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CR_HAVE_VULKAN
enum { BUILT_WITH = 1 };
#else
enum { BUILT_WITH = 0 };
#endif

enum { MOST = 16 };

static bool contains(const char *text, const char *part) { return strstr(text, part) != NULL; }

/// Making a device fails, says so, and gives none.
static void check_refused(carom_context *context, const carom_device_def *def, carom_result expected, const char *part)
{
	carom_device *device = (carom_device *)&device;
	CHECK_INT(carom_create_device(context, def, &device), expected);
	CHECK(device == NULL);
	if (!CHECK(contains(carom_error_text(context), part)))
		printf("the text is \"%s\", without \"%s\"\n", carom_error_text(context), part);
}

TEST(device, misuse_is_named)
{
	carom_context *context = fixture_context(1);
	carom_device *device;
	int32_t count = 7;
	CHECK_INT(carom_create_device(NULL, NULL, &device), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_create_device(context, NULL, NULL), CAROM_INVALID_ARGUMENT);
	check_refused(context, &(carom_device_def){ 0 }, CAROM_INVALID_ARGUMENT, "carom_device_def.cookie");
	CHECK_INT(carom_list_devices(NULL, NULL, 0, &count), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_list_devices(context, NULL, 0, NULL), CAROM_INVALID_ARGUMENT);
	CHECK(contains(carom_error_text(context), "count is NULL"));
	if (BUILT_WITH) {
		CHECK_INT(carom_list_devices(context, NULL, 3, &count), CAROM_INVALID_ARGUMENT);
		CHECK_INT(carom_list_devices(context, NULL, -1, &count), CAROM_INVALID_ARGUMENT);
	}
	carom_destroy_device(NULL);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(device, spheres_without_a_device_are_refused)
{
	carom_context *context = fixture_context(1);
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	carom_spheres *spheres;
	CHECK_INT(carom_create_spheres(context, &def, &spheres), CAROM_INVALID_ARGUMENT);
	CHECK(contains(carom_error_text(context), "carom_spheres_def.device is NULL"));
	CHECK_STR(carom_sphere_method_name(CAROM_SPHERES_DEVICE), "device");
	CHECK_STR(carom_result_name(CAROM_DEVICE_FAILED), "device failed");
	carom_destroy_context(context);
}

TEST(device, a_library_without_vulkan_says_so)
{
	if (BUILT_WITH)
		test_skip("this library was built with Vulkan");
	carom_context *context = fixture_context(1);
	int32_t count = 7;
	CHECK_INT(carom_list_devices(context, NULL, 0, &count), CAROM_SUCCESS);
	CHECK_INT(count, 0);
	check_refused(context, NULL, CAROM_UNSUPPORTED, "built without Vulkan");
	carom_destroy_context(context);
}

/// A driver on the processor is for those who name it.
static void check_auto(carom_context *context, const carom_device_info *infos, int32_t count)
{
	bool cards = false;
	for (int32_t i = 0; i < count; i++)
		cards = cards || (infos[i].usable && infos[i].kind != CAROM_DEVICE_CPU);
	carom_device_def def = carom_default_device_def();
	if (!cards) {
		check_refused(context, NULL, CAROM_UNSUPPORTED, "device");
		def.choice = "auto";
		check_refused(context, &def, CAROM_UNSUPPORTED, "device");
		return;
	}
	carom_device *device;
	REQUIRE(carom_create_device(context, NULL, &device) == CAROM_SUCCESS);
	CHECK(carom_device_get_info(device).kind != CAROM_DEVICE_CPU);
	carom_destroy_device(device);
}

TEST(device, is_chosen_by_index_and_name_and_never_a_processor_by_itself)
{
	carom_context *context = fixture_context(1);
	static carom_device_info infos[MOST];
	const char *choice = fixture_device_choice(context);
	int32_t count, again;
	REQUIRE(carom_list_devices(context, infos, MOST, &count) == CAROM_SUCCESS);
	REQUIRE(carom_list_devices(context, NULL, 0, &again) == CAROM_SUCCESS);
	CHECK_INT(again, count);
	check_auto(context, infos, count);
	const carom_device_info *info = &infos[atoi(choice)];
	CHECK(info->name[0] && info->subgroup_size > 0 && info->memory > 0 && info->largest_buffer > 0 && info->lacks[0] == 0);
	char shouted[8];
	for (int i = 0; i < 7; i++)
		shouted[i] = (char)(info->name[i] >= 'a' && info->name[i] <= 'z' ? info->name[i] - 'a' + 'A' : info->name[i]);
	shouted[strlen(info->name) < 7 ? strlen(info->name) : 7] = 0;
	const char *choices[] = { choice, info->name, shouted };
	for (int i = 0; i < 3; i++) {
		carom_device_def def = carom_default_device_def();
		def.choice = choices[i];
		carom_device *device;
		REQUIRE(carom_create_device(context, &def, &device) == CAROM_SUCCESS);
		CHECK_STR(carom_device_get_info(device).name, info->name);
		CHECK_INT(carom_device_get_kernels(device, NULL, 0), 0);
		carom_destroy_device(device);
	}
	carom_device_def def = carom_default_device_def();
	def.choice = "99";
	check_refused(context, &def, CAROM_UNSUPPORTED, "beyond the last index");
	def.choice = "no such device";
	check_refused(context, &def, CAROM_UNSUPPORTED, "which no device has in its name");
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

static void count_warnings(carom_log_level level, const char *text, void *user)
{
	(void)text;
	*(int *)user += level == CAROM_LOG_WARNING;
}

/// One pair, so that kernels are compiled.
static void find_one_pair(carom_context *context, carom_device *device)
{
	static const float centres[6] = { 0, 0, 0, 1, 0, 0 }, radii[2] = { 1, 1 };
	carom_spheres_def def = carom_default_spheres_def();
	def.method = CAROM_SPHERES_DEVICE;
	def.device = device;
	carom_spheres *spheres;
	carom_sphere_pairs pairs;
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	carom_sphere_input input = carom_default_sphere_input();
	input.count = 2;
	input.centres = (carom_strided){ .data = centres };
	input.radii = (carom_strided){ .data = radii };
	REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_find_pairs(spheres, &pairs) == CAROM_SUCCESS);
	CHECK_INT(pairs.count, 1);
	carom_destroy_spheres(spheres);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "wb");
	REQUIRE(file);
	fputs(text, file);
	fclose(file);
}

/// Change the last byte of a file, or cut it off.
static void damage(const char *path, bool cut)
{
	char bytes[4096];
	FILE *file = fopen(path, "rb");
	REQUIRE(file);
	const size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	REQUIRE(size > 40);
	bytes[size - 1] ^= 1;
	file = fopen(path, "wb");
	REQUIRE(file);
	fwrite(bytes, 1, cut ? size - 1 : size, file);
	fclose(file);
}

TEST(device, compiled_kernels_are_kept_in_a_file)
{
	static const char path[] = "device_kernels.cache";
	int warnings = 0;
	carom_context_def context_def = carom_default_context_def();
	context_def.log = count_warnings;
	context_def.log_user = &warnings;
	carom_context *context;
	REQUIRE(carom_create_context(&context_def, &context) == CAROM_SUCCESS);
	carom_device_def def = carom_default_device_def();
	remove(path);
	for (int round = 0; round < 8; round++) {
		if (round == 2)
			write_text(path, "no cache at all");
		if (round >= 4 && round % 2 == 0)
			damage(path, round == 4);
		def.cache_path = path;
		carom_device *device = fixture_device(context, &def);
		CHECK_INT(carom_device_get_stats(device).cache_used, round % 2 == 1);
		CHECK_INT(warnings, round / 2);
		find_one_pair(context, device);
		carom_destroy_device(device);
	}
	remove(path);
	def.cache_path = "no_such_folder/kernels.cache";
	carom_destroy_device(fixture_device(context, &def));
	CHECK_INT(warnings, 4);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

/// Without a path it is in the user's cache folder, and nobody is warned of that.
TEST(device, compiled_kernels_have_a_default_place)
{
	static const char folder[] = "device_cache";
	char here[512], path[1024];
	int warnings = 0;
	carom_context_def context_def = carom_default_context_def();
	context_def.log = count_warnings;
	context_def.log_user = &warnings;
	carom_context *context;
	REQUIRE(carom_create_context(&context_def, &context) == CAROM_SUCCESS);
	carom_device_def def = carom_default_device_def();
	def.choice = fixture_device_choice(context);
	REQUIRE(getcwd(here, sizeof here) != NULL);
	char *before = getenv("XDG_CACHE_HOME"), *kept = before ? strdup(before) : NULL;
	snprintf(path, sizeof path, "%s/%s", here, folder);
	setenv("XDG_CACHE_HOME", path, 1);
	setenv("MESA_SHADER_CACHE_DISABLE", "true", 1); // the driver would put its own there
	for (int round = 0; round < 3; round++) {
		carom_device *device;
		def.cache_path = round == 2 ? "" : NULL;
		REQUIRE(carom_create_device(context, &def, &device) == CAROM_SUCCESS);
		CHECK_INT(carom_device_get_stats(device).cache_used, round == 1);
		find_one_pair(context, device);
		carom_destroy_device(device);
		glob_t found;
		REQUIRE(glob("device_cache/carom/kernels-*.bin", 0, NULL, &found) == 0);
		CHECK_INT(found.gl_pathc, 1);
		CHECK(round < 2 || remove(found.gl_pathv[0]) == 0);
		globfree(&found);
	}
	// A place where nothing can be made, and none at all.
	for (int way = 0; way < 2; way++) {
		carom_device *device;
		setenv("XDG_CACHE_HOME", way == 0 ? "/dev/null/nowhere" : "not absolute", 1);
		char *home = getenv("HOME"), *kept_home = home ? strdup(home) : NULL;
		unsetenv("HOME");
		def.cache_path = NULL;
		REQUIRE(carom_create_device(context, &def, &device) == CAROM_SUCCESS);
		carom_destroy_device(device);
		if (kept_home)
			setenv("HOME", kept_home, 1);
		free(kept_home);
	}
	if (kept)
		setenv("XDG_CACHE_HOME", kept, 1);
	else
		unsetenv("XDG_CACHE_HOME");
	unsetenv("MESA_SHADER_CACHE_DISABLE");
	free(kept);
	CHECK_INT(warnings, 0);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
	CHECK(rmdir("device_cache/carom") == 0 && rmdir("device_cache") == 0);
}

TEST(device, a_device_left_over_is_told)
{
	carom_context *context = fixture_context(1);
	carom_device *device = fixture_device(context, NULL);
	CHECK_INT(atomic_load(&context->live_objects), 1);
	carom_destroy_device(device);
	CHECK_INT(atomic_load(&context->live_objects), 0);
	carom_destroy_context(context);
}

TEST(device, drivers_take_memory_of_the_context_where_they_are_told_to)
{
	carom_context *context = fixture_context(1);
	carom_device_def def = carom_default_device_def();
	size_t held[2];
	for (int own = 0; own < 2; own++) {
		def.driver_memory = own;
		carom_device *device = fixture_device(context, &def);
		find_one_pair(context, device);
		held[own] = carom_memory_in_use(context);
		carom_destroy_device(device);
		CHECK_INT(carom_memory_in_use(context), context->size);
	}
	CHECK(held[1] > held[0]);
	carom_destroy_context(context);
}

// ---- Memory that fails ----

TEST(device, every_allocation_may_fail)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_device_def def = carom_default_device_def();
	def.choice = fixture_device_choice(context);
	def.cache_path = "device_allocations.cache";
	failing_calls calls = failing_calls_of_preset();
	for (bool failed = true; failed;) {
		carom_device *device;
		fixture_begin_failing(&heap, &calls);
		const carom_result result = carom_create_device(context, &def, &device);
		failed = fixture_end_failing(&heap);
		CHECK_INT(result, failed ? CAROM_OUT_OF_MEMORY : CAROM_SUCCESS);
		carom_destroy_device(device);
		CHECK_INT(carom_memory_in_use(context), context->size);
	}
	failing_calls_free(&calls);
	remove(def.cache_path);
	carom_destroy_context(context);
}
