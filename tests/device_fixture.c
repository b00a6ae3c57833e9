/// A device for tests. See device_fixture.h.
#include "device_fixture.h"
#include "carom/base.h"
#include <stdio.h>
#include <stdlib.h>

/// Keep the first device open until the process ends, so that drivers stay loaded: to load it for each device takes time, and what
/// drivers lose when they are unloaded would be told by LeakSanitizer without the name of the driver.
static void keep_drivers(void)
{
	static carom_context *s_context;
	static carom_device *s_device;
	if (s_context || carom_create_context(NULL, &s_context) != CAROM_SUCCESS)
		return;
	carom_device_def def = carom_default_device_def();
	def.choice = "0";
	carom_create_device(s_context, &def, &s_device);
}

const char *fixture_device_choice(carom_context *context)
{
	enum { MOST = 16 };
	static char s_choice[16];
	static carom_device_info s_infos[MOST];
	int32_t count;
	keep_drivers();
	if (!CHECK_INT(carom_list_devices(context, s_infos, MOST, &count), CAROM_SUCCESS)) {
		printf("%s\n", carom_error_text(context));
		test_stop();
	}
	int chosen = -1;
	for (int i = 0; i < count && i < MOST; i++) {
		const bool better = chosen < 0 || (s_infos[chosen].kind == CAROM_DEVICE_CPU && s_infos[i].kind != CAROM_DEVICE_CPU);
		if (s_infos[i].usable && better)
			chosen = i;
	}
	if (chosen < 0)
		test_skip("no Vulkan device that can be used (%d found)", (int)count);
	snprintf(s_choice, sizeof s_choice, "%d", chosen);
	return s_choice;
}

/// Skip the case for the reason in the error text, and leave nothing behind.
static void skip(carom_context *context)
{
	static char s_text[512];
	snprintf(s_text, sizeof s_text, "%s", carom_error_text(context));
	carom_destroy_context(context);
	test_skip("%s", s_text);
}

carom_device *fixture_device(carom_context *context, const carom_device_def *given)
{
	carom_device_def def = given ? *given : carom_default_device_def();
	def.choice = fixture_device_choice(context);
	def.always = true;
	if (!def.cache_path)
		def.cache_path = ""; // tests leave the user's cache folder alone
	def.staging = def.staging || getenv("CAROM_TEST_STAGING");
	const bool rays = def.tier == CAROM_TIER_QUERY || def.tier == CAROM_TIER_PIPELINE;
	if (!rays)
		def.tier = CAROM_TIER_COMPUTE;
	carom_device *device;
	const carom_result result = carom_create_device(context, &def, &device);
	if (result == CAROM_UNSUPPORTED && (rays || def.validation))
		skip(context);
	if (!CHECK_INT(result, CAROM_SUCCESS)) {
		printf("%s\n", carom_error_text(context));
		test_stop();
	}
	return device;
}
