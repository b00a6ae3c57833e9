/// Drivers that lack something: the features that a driver tells are masked, and what the list, the making of a device and its users say
/// of it names what is missing. Nothing is used that the driver did not tell.
#include "device_fixture.h"
#include "fixture.h"
#include "vulkan/vk_loader.h"
#include <stdio.h>
#include <string.h>

typedef enum lack {
	LACKS_NOTHING,
	LACKS_VERSION,
	LACKS_QUEUE,
	LACKS_ADDRESSES,
	LACKS_LONGS,
	LACKS_BALLOT,
	LACKS_SIZES,
	LACKS_STRUCTURES, // what follows is usable
	LACKS_QUERY,
	LACKS_PIPELINE,
	LACKS_DOUBLES,
	LACKS,
} lack;

static lack s_lack;
static cr_vk s_driver; // its own functions

/// The structure of a type in a chain; NULL: it was not asked for.
static void *find_structure(void *head, VkStructureType type)
{
	for (VkBaseOutStructure *at = head; at; at = at->pNext) {
		if (at->sType == type)
			return at;
	}
	return NULL;
}

static void VKAPI_PTR masked_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *features)
{
	s_driver.GetPhysicalDeviceFeatures2(physical, features);
	VkPhysicalDeviceVulkan12Features *f12 = find_structure(features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
	VkPhysicalDeviceAccelerationStructureFeaturesKHR *structures =
		find_structure(features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR);
	VkPhysicalDeviceRayQueryFeaturesKHR *query =
		find_structure(features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR);
	VkPhysicalDeviceRayTracingPipelineFeaturesKHR *pipeline =
		find_structure(features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR);
	VkPhysicalDeviceSubgroupSizeControlFeatures *sizes =
		find_structure(features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
	if (s_lack == LACKS_ADDRESSES && f12)
		f12->bufferDeviceAddress = VK_FALSE;
	if (s_lack == LACKS_LONGS)
		features->features.shaderInt64 = VK_FALSE;
	if (s_lack == LACKS_DOUBLES)
		features->features.shaderFloat64 = VK_FALSE;
	if (s_lack == LACKS_STRUCTURES && structures)
		structures->accelerationStructure = VK_FALSE;
	if (s_lack == LACKS_QUERY && query)
		query->rayQuery = VK_FALSE;
	if (s_lack == LACKS_PIPELINE && pipeline)
		pipeline->rayTracingPipeline = VK_FALSE;
	if (s_lack == LACKS_SIZES && sizes)
		sizes->subgroupSizeControl = VK_FALSE;
}

static void VKAPI_PTR masked_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *properties)
{
	s_driver.GetPhysicalDeviceProperties2(physical, properties);
	VkPhysicalDeviceVulkan11Properties *p11 =
		find_structure(properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
	if (s_lack == LACKS_BALLOT && p11)
		p11->subgroupSupportedOperations &= ~(VkSubgroupFeatureFlags)VK_SUBGROUP_FEATURE_BALLOT_BIT;
}

static void VKAPI_PTR masked_version(VkPhysicalDevice physical, VkPhysicalDeviceProperties *properties)
{
	s_driver.GetPhysicalDeviceProperties(physical, properties);
	if (s_lack == LACKS_VERSION)
		properties->apiVersion = VK_API_VERSION_1_1;
}

static void VKAPI_PTR masked_families(VkPhysicalDevice physical, uint32_t *count, VkQueueFamilyProperties *families)
{
	s_driver.GetPhysicalDeviceQueueFamilyProperties(physical, count, families);
	for (uint32_t i = 0; s_lack == LACKS_QUEUE && families && i < *count; i++)
		families[i].queueFlags &= ~(VkQueueFlags)VK_QUEUE_COMPUTE_BIT;
}

static void patch(cr_vk *vk)
{
	s_driver = *vk;
	vk->GetPhysicalDeviceFeatures2 = masked_features;
	vk->GetPhysicalDeviceProperties2 = masked_properties;
	vk->GetPhysicalDeviceProperties = masked_version;
	vk->GetPhysicalDeviceQueueFamilyProperties = masked_families;
}

/// What the error says of a device that cannot be used.
static const char *const WORDS[LACKS_STRUCTURES] = { "", "its driver knows Vulkan below 1.2",
	"it has no queue for compute kernels", "it has no buffer device addresses", "it has no 64-bit integers in shaders",
	"its subgroups cannot vote by ballot and add", "the size of its subgroups cannot be set" };

TEST(device_lacks, what_a_driver_lacks_is_named)
{
	carom_context *context = fixture_context(1);
	const char *choice = fixture_device_choice(context);
	cr_vk_patch = patch;
	for (s_lack = LACKS_VERSION; s_lack < LACKS_STRUCTURES; s_lack++) {
		carom_device_info infos[16];
		int32_t count;
		REQUIRE(carom_list_devices(context, infos, 16, &count) == CAROM_SUCCESS);
		for (int32_t i = 0; i < count && i < 16; i++)
			CHECK(!infos[i].usable && strcmp(infos[i].lacks, WORDS[s_lack]) == 0);
		carom_device_def def = carom_default_device_def();
		carom_device *device;
		def.choice = choice;
		fixture_expect_error(context, carom_create_device(context, &def, &device), CAROM_UNSUPPORTED, WORDS[s_lack]);
		CHECK(device == NULL && strstr(carom_error_text(context), "cannot be used") != NULL);
	}
	cr_vk_patch = NULL;
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

/// A device without a tier, or without doubles, is made; what needs them says so, under the validation layer where there is one.
TEST(device_lacks, what_a_usable_device_lacks_is_not_used)
{
	carom_context *context = fixture_context(1);
	const char *choice = fixture_device_choice(context);
	carom_world *world = fixture_world(context, NULL);
	cr_vk_patch = patch;
	for (s_lack = LACKS_STRUCTURES; s_lack < LACKS; s_lack++) {
		carom_device_def def = carom_default_device_def();
		carom_device *device;
		def.choice = choice;
		def.cache_path = "";
		REQUIRE(carom_create_device(context, &def, &device) == CAROM_SUCCESS);
		const carom_device_info info = carom_device_get_info(device);
		CHECK(s_lack == LACKS_DOUBLES || s_lack == LACKS_PIPELINE || !info.ray_query);
		CHECK(s_lack == LACKS_DOUBLES || s_lack == LACKS_QUERY || !info.ray_pipeline);
		CHECK(s_lack != LACKS_DOUBLES || !info.doubles);
		if (s_lack == LACKS_DOUBLES)
			fixture_expect_error(
				context, carom_world_set_device(world, device, false), CAROM_UNSUPPORTED, "has no double precision");
		else
			CHECK_INT(carom_world_set_device(world, device, false), CAROM_SUCCESS);
		REQUIRE(carom_world_set_device(world, NULL, false) == CAROM_SUCCESS);
		carom_destroy_device(device);
		for (int tier = CAROM_TIER_QUERY; tier <= CAROM_TIER_PIPELINE; tier++) {
			if (s_lack == LACKS_DOUBLES || (tier == CAROM_TIER_QUERY ? info.ray_query : info.ray_pipeline))
				continue;
			def.tier = (carom_device_tier)tier;
			fixture_expect_error(context, carom_create_device(context, &def, &device), CAROM_UNSUPPORTED,
				tier == CAROM_TIER_QUERY ? "has no ray queries" : "has no ray-tracing pipelines");
		}
	}
	cr_vk_patch = NULL;
	carom_destroy_world(world);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}
