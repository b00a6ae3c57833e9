/// Devices of this machine: list, choice, making. See carom/vulkan.h.
#include "vulkan/gpu_device.h"
#include "vulkan/vk_cache.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_memory.h"
#include "vulkan/vk_rays.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_COOKIE = 0x43645631, MOST_DEVICES = 64, MOST_FAMILIES = 16, MOST_EXTENSIONS = 512 };
enum { LEAF_SIZE = 4 };       // spheres of a leaf, at most
enum { MOST_RAYS = 1 << 24 }; // that are sent at once: within the bounds of a dimension everywhere

carom_device_def carom_default_device_def(void) { return (carom_device_def){ .cookie = DEVICE_COOKIE }; }

const char *carom_device_kind_name(carom_device_kind kind)
{
	switch (kind) {
	case CAROM_DEVICE_OTHER: return "other";
	case CAROM_DEVICE_INTEGRATED: return "integrated";
	case CAROM_DEVICE_DISCRETE: return "discrete";
	case CAROM_DEVICE_VIRTUAL: return "virtual";
	case CAROM_DEVICE_CPU: return "cpu";
	}
	return "unknown";
}

const char *carom_device_tier_name(carom_device_tier tier)
{
	switch (tier) {
	case CAROM_TIER_AUTO: return "auto";
	case CAROM_TIER_COMPUTE: return "compute";
	case CAROM_TIER_QUERY: return "query";
	case CAROM_TIER_PIPELINE: return "pipeline";
	}
	return "unknown";
}

void cr_gpu_note_loss(carom_device *device, const char *call, VkResult result)
{
	if (result != VK_ERROR_DEVICE_LOST)
		return;
	device->stats.lost = true;
	device->lost_call = call;
}

carom_result cr_gpu_fail(carom_device *device, const char *call, VkResult result)
{
	cr_gpu_note_loss(device, call, result);
	return cr_fail_vulkan(device->context, device->info.name, call, result);
}

// ---- What a device can do ----

// Extensions that are looked for.
enum { SIZE_CONTROL, HOST_OPERATIONS, STRUCTURES, RAY_QUERY, RAY_PIPELINE, EXTENSIONS };
static const char *const EXTENSION_NAMES[EXTENSIONS] = {
	[SIZE_CONTROL] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME,
	[HOST_OPERATIONS] = VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME,
	[STRUCTURES] = VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME,
	[RAY_QUERY] = VK_KHR_RAY_QUERY_EXTENSION_NAME,
	[RAY_PIPELINE] = VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME,
};

/// All that is asked of a driver about one device.
typedef struct capabilities {
	VkPhysicalDeviceProperties2 properties;
	VkPhysicalDeviceVulkan11Properties properties11;
	VkPhysicalDeviceVulkan12Properties properties12;
	VkPhysicalDeviceSubgroupSizeControlProperties sizes;
	VkPhysicalDeviceFeatures2 features;
	VkPhysicalDeviceVulkan12Features features12;
	VkPhysicalDeviceSubgroupSizeControlFeatures size_features;
	VkPhysicalDeviceAccelerationStructurePropertiesKHR structures;
	VkPhysicalDeviceRayTracingPipelinePropertiesKHR pipelines;
	VkPhysicalDeviceAccelerationStructureFeaturesKHR structure_features;
	VkPhysicalDeviceRayQueryFeaturesKHR query_features;
	VkPhysicalDeviceRayTracingPipelineFeaturesKHR pipeline_features;
	bool has[EXTENSIONS];
} capabilities;

static carom_result find_extensions(const cr_vk_instance *instance, VkPhysicalDevice physical, bool has[EXTENSIONS])
{
	const size_t bytes = MOST_EXTENSIONS * sizeof(VkExtensionProperties);
	VkExtensionProperties *extensions = cr_alloc(instance->context, bytes);
	if (!extensions)
		return cr_fail_memory(instance->context, "the extensions of a device");
	uint32_t count = MOST_EXTENSIONS;
	const VkResult result = instance->vk.EnumerateDeviceExtensionProperties(physical, NULL, &count, extensions);
	for (uint32_t i = 0; result >= VK_SUCCESS && i < count; i++) {
		for (int e = 0; e < EXTENSIONS; e++)
			has[e] = has[e] || strcmp(extensions[i].extensionName, EXTENSION_NAMES[e]) == 0;
	}
	cr_free(instance->context, extensions, bytes);
	return result >= VK_SUCCESS ? CAROM_SUCCESS
								: cr_fail_vulkan(instance->context, "Vulkan", "vkEnumerateDeviceExtensionProperties", result);
}

/// Put a structure into the chain behind a head, if its extension is there.
static void chain(void *head, void *item, VkStructureType type, bool there)
{
	VkBaseOutStructure first, next;
	if (!there)
		return;
	memcpy(&first, head, sizeof first);
	memcpy(&next, item, sizeof next);
	next.sType = type;
	next.pNext = first.pNext;
	first.pNext = item;
	memcpy(head, &first, sizeof first);
	memcpy(item, &next, sizeof next);
}

static void ask_features(const cr_vk *vk, VkPhysicalDevice physical, capabilities *c)
{
	VkPhysicalDeviceFeatures2 *head = &c->features;
	head->sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
	chain(head, &c->features12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, true);
	chain(head, &c->size_features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, c->has[SIZE_CONTROL]);
	chain(head, &c->structure_features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR,
		c->has[STRUCTURES]);
	chain(head, &c->query_features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR, c->has[RAY_QUERY]);
	chain(
		head, &c->pipeline_features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR, c->has[RAY_PIPELINE]);
	vk->GetPhysicalDeviceFeatures2(physical, head);
}

static void ask_properties(const cr_vk *vk, VkPhysicalDevice physical, capabilities *c)
{
	VkPhysicalDeviceProperties2 *head = &c->properties;
	chain(head, &c->properties11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, true);
	chain(head, &c->properties12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES, true);
	chain(head, &c->sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES, c->has[SIZE_CONTROL]);
	chain(head, &c->structures, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_PROPERTIES_KHR, c->has[STRUCTURES]);
	chain(head, &c->pipelines, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR, c->has[RAY_PIPELINE]);
	vk->GetPhysicalDeviceProperties2(physical, head);
}

static carom_result ask(const cr_vk_instance *instance, VkPhysicalDevice physical, capabilities *c)
{
	const cr_vk *vk = &instance->vk;
	memset(c, 0, sizeof *c);
	c->properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
	vk->GetPhysicalDeviceProperties(physical, &c->properties.properties);
	// Older ones do not know the structures that follow.
	if (c->properties.properties.apiVersion < VK_API_VERSION_1_2)
		return CAROM_SUCCESS;
	const carom_result result = find_extensions(instance, physical, c->has);
	if (result != CAROM_SUCCESS)
		return result;
	ask_properties(vk, physical, c);
	ask_features(vk, physical, c);
	return CAROM_SUCCESS;
}

/// The abilities of the device with rays.
static cr_gpu_ray_limits find_rays(const capabilities *c)
{
	const bool boxes = c->has[HOST_OPERATIONS] && c->has[STRUCTURES] && c->structure_features.accelerationStructure;
	const VkPhysicalDeviceRayTracingPipelinePropertiesKHR *p = &c->pipelines;
	const uint32_t align = p->shaderGroupHandleAlignment > 0 ? p->shaderGroupHandleAlignment : 1;
	return (cr_gpu_ray_limits){
		.query = boxes && c->has[RAY_QUERY] && c->query_features.rayQuery,
		.pipeline = boxes && c->has[RAY_PIPELINE] && c->pipeline_features.rayTracingPipeline &&
			p->shaderGroupHandleSize <= CR_GPU_MOST_HANDLE && p->shaderGroupBaseAlignment <= CR_GPU_MOST_TABLE_ALIGN,
		.most_boxes = c->structures.maxPrimitiveCount < UINT32_MAX ? c->structures.maxPrimitiveCount : UINT32_MAX,
		.most_rays = p->maxRayDispatchInvocationCount < MOST_RAYS ? p->maxRayDispatchInvocationCount : MOST_RAYS,
		.handle_size = p->shaderGroupHandleSize,
		.handle_stride = (p->shaderGroupHandleSize + align - 1) / align * align,
		.table_align = p->shaderGroupBaseAlignment > CR_GPU_MOST_HANDLE ? p->shaderGroupBaseAlignment : CR_GPU_MOST_HANDLE,
	};
}

/// Can the size of subgroups be set to the one that the driver tells? Else some drivers tell one
/// and use another.
static bool sets_subgroup_size(const capabilities *c)
{
	const uint32_t size = c->properties11.subgroupSize;
	return c->has[SIZE_CONTROL] && c->size_features.subgroupSizeControl && c->size_features.computeFullSubgroups &&
		(c->sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) && size >= c->sizes.minSubgroupSize &&
		size <= c->sizes.maxSubgroupSize;
}

/// The first queue family for compute kernels; -1: none.
static int find_family(const cr_vk *vk, VkPhysicalDevice physical, uint32_t *timestamp_bits)
{
	VkQueueFamilyProperties families[MOST_FAMILIES];
	uint32_t count = MOST_FAMILIES;
	vk->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
	for (uint32_t i = 0; i < count; i++) {
		if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
			*timestamp_bits = families[i].timestampValidBits;
			return (int)i;
		}
	}
	return -1;
}

/// What the device lacks; empty: nothing.
static const char *find_lack(const capabilities *c, int family)
{
	const VkSubgroupFeatureFlags wanted =
		VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
	if (c->properties.properties.apiVersion < VK_API_VERSION_1_2)
		return "its driver knows Vulkan below 1.2";
	if (family < 0)
		return "it has no queue for compute kernels";
	if (!c->features12.bufferDeviceAddress)
		return "it has no buffer device addresses";
	if (!c->features.features.shaderInt64)
		return "it has no 64-bit integers in shaders";
	if ((c->properties11.subgroupSupportedOperations & wanted) != wanted ||
		!(c->properties11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT))
		return "its subgroups cannot vote by ballot and add";
	if (!sets_subgroup_size(c))
		return "the size of its subgroups cannot be set";
	if (c->properties.properties.limits.maxComputeWorkGroupInvocations < 128)
		return "its workgroups hold fewer than 128 invocations";
	return "";
}

static carom_device_kind kind_of(VkPhysicalDeviceType type)
{
	switch (type) {
	case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return CAROM_DEVICE_INTEGRATED;
	case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return CAROM_DEVICE_DISCRETE;
	case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return CAROM_DEVICE_VIRTUAL;
	case VK_PHYSICAL_DEVICE_TYPE_CPU: return CAROM_DEVICE_CPU;
	default: return CAROM_DEVICE_OTHER;
	}
}

static uint64_t own_memory(const VkPhysicalDeviceMemoryProperties *memory)
{
	uint64_t size = 0;
	for (uint32_t i = 0; i < memory->memoryHeapCount; i++)
		size += memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT ? memory->memoryHeaps[i].size : 0;
	return size;
}

static void describe(const cr_vk *vk, VkPhysicalDevice physical, const capabilities *c, carom_device_info *info)
{
	const VkPhysicalDeviceProperties *p = &c->properties.properties;
	VkPhysicalDeviceMemoryProperties memory;
	uint32_t bits;
	vk->GetPhysicalDeviceMemoryProperties(physical, &memory);
	memset(info, 0, sizeof *info);
	snprintf(info->name, sizeof info->name, "%s", p->deviceName);
	snprintf(info->driver, sizeof info->driver, "%.120s %.120s", c->properties12.driverName, c->properties12.driverInfo);
	snprintf(info->lacks, sizeof info->lacks, "%s", find_lack(c, find_family(vk, physical, &bits)));
	info->kind = kind_of(p->deviceType);
	info->vendor_id = p->vendorID;
	info->device_id = p->deviceID;
	info->api_major = (int)VK_API_VERSION_MAJOR(p->apiVersion);
	info->api_minor = (int)VK_API_VERSION_MINOR(p->apiVersion);
	info->memory = own_memory(&memory);
	info->largest_buffer = c->properties11.maxMemoryAllocationSize;
	info->subgroup_size = c->properties11.subgroupSize;
	info->usable = info->lacks[0] == 0;
	info->doubles = c->features.features.shaderFloat64;
	info->ray_query = find_rays(c).query;
	info->ray_pipeline = find_rays(c).pipeline;
}

static carom_result describe_all(
	const cr_vk_instance *instance, const VkPhysicalDevice *physical, uint32_t count, carom_device_info *infos)
{
	carom_result result = CAROM_SUCCESS;
	for (uint32_t i = 0; i < count && result == CAROM_SUCCESS; i++) {
		capabilities c;
		result = ask(instance, physical[i], &c);
		if (result == CAROM_SUCCESS)
			describe(&instance->vk, physical[i], &c, &infos[i]);
	}
	return result;
}

// ---- The list ----

/// The devices of an instance, at most MOST_DEVICES.
static carom_result enumerate(const cr_vk_instance *instance, VkPhysicalDevice physical[MOST_DEVICES], uint32_t *count)
{
	*count = 0;
	if (!instance->instance)
		return CAROM_SUCCESS;
	*count = MOST_DEVICES;
	const VkResult result = instance->vk.EnumeratePhysicalDevices(instance->instance, count, physical);
	if (result == VK_SUCCESS || result == VK_INCOMPLETE)
		return CAROM_SUCCESS;
	*count = 0;
	if (result == VK_ERROR_INITIALIZATION_FAILED)
		return CAROM_SUCCESS; // drivers are installed, and none found a device
	return cr_fail_vulkan(instance->context, "Vulkan", "vkEnumeratePhysicalDevices", result);
}

carom_result carom_list_devices(carom_context *context, carom_device_info *infos, int32_t capacity, int32_t *count)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!count || capacity < 0 || (capacity > 0 && !infos))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_list_devices: %s",
			!count             ? "count is NULL"
				: capacity < 0 ? "capacity is below 0"
							   : "infos is NULL");
	*count = 0;
	const carom_device_def def = carom_default_device_def();
	cr_vk_instance instance;
	VkPhysicalDevice physical[MOST_DEVICES];
	uint32_t found = 0;
	carom_result result = cr_open_instance(context, &def, &instance);
	if (result == CAROM_SUCCESS)
		result = enumerate(&instance, physical, &found);
	if (result == CAROM_SUCCESS)
		result = describe_all(&instance, physical, found < (uint32_t)capacity ? found : (uint32_t)capacity, infos);
	cr_close_instance(&instance);
	*count = result == CAROM_SUCCESS ? (int32_t)found : 0;
	return result;
}

// ---- The choice ----

static bool contains(const char *text, const char *part)
{
	for (; *text; text++) {
		size_t i = 0;
		while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
			i++;
		if (!part[i])
			return true;
	}
	return false;
}

/// Lower is better; below 0: not by itself.
static int rank_of(const carom_device_info *info)
{
	static const int RANKS[] = { [CAROM_DEVICE_OTHER] = 3,
		[CAROM_DEVICE_INTEGRATED] = 1,
		[CAROM_DEVICE_DISCRETE] = 0,
		[CAROM_DEVICE_VIRTUAL] = 2,
		[CAROM_DEVICE_CPU] = -1 };
	return info->usable ? RANKS[info->kind] : -1;
}

/// Does a choice name a device by its index?
static bool is_index(const char *choice) { return choice[0] && strspn(choice, "0123456789") == strlen(choice); }

static int choose(const char *choice, const carom_device_info *infos, int count)
{
	if (is_index(choice)) {
		const unsigned long index = strtoul(choice, NULL, 10);
		return index < (unsigned long)count ? (int)index : -1;
	}
	int best = -1;
	for (int i = 0; i < count; i++) {
		if (strcmp(choice, "auto") != 0) {
			if (contains(infos[i].name, choice))
				return i;
			continue;
		}
		const int rank = rank_of(&infos[i]);
		if (rank >= 0 && (best < 0 || rank < rank_of(&infos[best])))
			best = i;
	}
	return best;
}

/// Why no device was chosen.
static carom_result refuse_choice(carom_context *context, const char *choice, const carom_device_info *infos, int count)
{
	int cpus = 0;
	for (int i = 0; i < count; i++)
		cpus += infos[i].kind == CAROM_DEVICE_CPU;
	if (count == 0)
		return cr_fail(context, CAROM_UNSUPPORTED, "there is no Vulkan device on this machine (no loader, driver or device)");
	if (strcmp(choice, "auto") == 0 && cpus == count)
		return cr_fail(context, CAROM_UNSUPPORTED,
			"there is no graphics device; %s runs on the processor, and is used only where its name or index is given",
			infos[0].name);
	if (strcmp(choice, "auto") == 0)
		return cr_fail(context, CAROM_UNSUPPORTED, "none of the %d Vulkan devices can be used; %s: %s", count, infos[0].name,
			infos[0].usable ? "it runs on the processor" : infos[0].lacks);
	return cr_fail(context, CAROM_UNSUPPORTED, "carom_device_def.choice is \"%.100s\", %s; the %d device%s begin%s with \"%s\"",
		choice, is_index(choice) ? "beyond the last index" : "which no device has in its name", count, count == 1 ? "" : "s",
		count == 1 ? "s" : "", infos[0].name);
}

/// The device that the caller has made.
static carom_result adopt_device(carom_device *device)
{
	device->physical = device->handles.physical_device;
	const carom_result result = describe_all(&device->instance, &device->physical, 1, &device->info);
	if (result != CAROM_SUCCESS || device->info.usable)
		return result;
	return cr_fail(device->context, CAROM_UNSUPPORTED, "%s cannot be used: %s", device->info.name, device->info.lacks);
}

static carom_result choose_device(carom_device *device)
{
	const char *choice = device->def.choice && device->def.choice[0] ? device->def.choice : "auto";
	VkPhysicalDevice physical[MOST_DEVICES];
	uint32_t count;
	carom_result result = enumerate(&device->instance, physical, &count);
	if (result != CAROM_SUCCESS)
		return result;
	const size_t bytes = MOST_DEVICES * sizeof(carom_device_info);
	carom_device_info *infos = cr_alloc(device->context, bytes);
	if (!infos)
		return cr_fail_memory(device->context, "the list of devices");
	result = describe_all(&device->instance, physical, count, infos);
	const int chosen = choose(choice, infos, (int)count);
	if (result != CAROM_SUCCESS) {
		cr_free(device->context, infos, bytes);
		return result;
	}
	if (chosen < 0) {
		result = refuse_choice(device->context, choice, infos, (int)count);
	} else if (!infos[chosen].usable) {
		result = cr_fail(device->context, CAROM_UNSUPPORTED, "%s cannot be used: %s", infos[chosen].name, infos[chosen].lacks);
	} else {
		device->physical = physical[chosen];
		device->info = infos[chosen];
	}
	cr_free(device->context, infos, bytes);
	return result;
}

// ---- Making ----

static bool find_device_functions(carom_device *device)
{
	cr_vk *vk = &device->instance.vk;
	bool all = true;
#define CR_VK_FIND(name)                                                        \
	vk->name = (PFN_vk##name)vk->GetDeviceProcAddr(device->device, "vk" #name); \
	all = all && vk->name;
	CR_VK_DEVICE_FUNCTIONS(CR_VK_FIND)
	if (device->rays.query || device->rays.pipeline) {
		CR_VK_RAY_FUNCTIONS(CR_VK_FIND)
	}
	if (device->rays.pipeline) {
		CR_VK_TRACE_FUNCTIONS(CR_VK_FIND)
	}
#undef CR_VK_FIND
	return all;
}

/// The tier that was asked for is there, or an error; others are left aside.
static carom_result choose_tier(carom_device *device, const cr_gpu_ray_limits *rays)
{
	const carom_device_tier tier = device->def.tier;
	if ((tier == CAROM_TIER_QUERY && !rays->query) || (tier == CAROM_TIER_PIPELINE && !rays->pipeline))
		return cr_fail(device->context, CAROM_UNSUPPORTED, "carom_device_def.tier is %s, but %s (%s) has no %s",
			carom_device_tier_name(tier), device->info.name, device->info.driver,
			tier == CAROM_TIER_QUERY ? "ray queries (VK_KHR_ray_query)" : "ray-tracing pipelines (VK_KHR_ray_tracing_pipeline)");
	device->rays = *rays;
	device->rays.query = rays->query && (tier == CAROM_TIER_AUTO || tier == CAROM_TIER_QUERY);
	device->rays.pipeline = rays->pipeline && (tier == CAROM_TIER_AUTO || tier == CAROM_TIER_PIPELINE);
	return CAROM_SUCCESS;
}

/// Bits of time stamps on a queue of a family.
static uint32_t stamps_of(const cr_vk *vk, VkPhysicalDevice physical, uint32_t family)
{
	VkQueueFamilyProperties families[MOST_FAMILIES];
	uint32_t count = MOST_FAMILIES;
	vk->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
	return family < count ? families[family].timestampValidBits : 0;
}

/// Keep the answers of the driver for later.
static carom_result look_up(carom_device *device)
{
	capabilities c;
	const carom_result known = ask(&device->instance, device->physical, &c);
	if (known != CAROM_SUCCESS)
		return known;
	device->limits = c.properties.properties.limits;
	device->driver = (uint32_t)c.properties12.driverID;
	memcpy(device->cache_uuid, c.properties.properties.pipelineCacheUUID, sizeof device->cache_uuid);
	device->queue_family = (uint32_t)find_family(device->vk, device->physical, &device->timestamp_bits);
	if (device->adopted) {
		device->queue_family = device->handles.queue_family;
		device->timestamp_bits = stamps_of(device->vk, device->physical, device->queue_family);
		device->info.doubles = device->info.doubles && device->handles.doubles;
	}
	device->info.doubles = device->info.doubles && !device->def.without_doubles;
	device->leaf_size = LEAF_SIZE;
	device->fences = c.properties12.driverID != VK_DRIVER_ID_MESA_LLVMPIPE;
	// A driver on the processor needs it meanwhile.
	device->watches = device->info.kind != CAROM_DEVICE_CPU;
	device->vk->GetPhysicalDeviceMemoryProperties(device->physical, &device->memory_types);
	// The caller's device may have been made without its extensions.
	const cr_gpu_ray_limits rays = device->adopted ? (cr_gpu_ray_limits){ 0 } : find_rays(&c);
	return choose_tier(device, &rays);
}

static VkResult make_device(carom_device *device)
{
	const cr_gpu_ray_limits *rays = &device->rays;
	const char *extensions[EXTENSIONS] = { EXTENSION_NAMES[SIZE_CONTROL] };
	const float priority = 1;
	const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueFamilyIndex = device->queue_family,
		.queueCount = 1,
		.pQueuePriorities = &priority };
	VkPhysicalDeviceSubgroupSizeControlFeatures sizes = { .subgroupSizeControl = VK_TRUE, .computeFullSubgroups = VK_TRUE };
	VkPhysicalDeviceVulkan12Features features12 = { .bufferDeviceAddress = VK_TRUE };
	VkPhysicalDeviceAccelerationStructureFeaturesKHR structures = { .accelerationStructure = VK_TRUE };
	VkPhysicalDeviceRayQueryFeaturesKHR query = { .rayQuery = VK_TRUE };
	VkPhysicalDeviceRayTracingPipelineFeaturesKHR pipeline = { .rayTracingPipeline = VK_TRUE };
	VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 };
	features.features.shaderInt64 = VK_TRUE;
	features.features.shaderFloat64 = device->info.doubles;
	const bool boxes = rays->query || rays->pipeline;
	chain(&features, &sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, true);
	chain(&features, &features12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, true);
	chain(&features, &structures, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR, boxes);
	chain(&features, &query, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR, rays->query);
	chain(&features, &pipeline, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR, rays->pipeline);
	uint32_t count = 1;
	const bool wanted[EXTENSIONS] = {
		[HOST_OPERATIONS] = boxes, [STRUCTURES] = boxes, [RAY_QUERY] = rays->query, [RAY_PIPELINE] = rays->pipeline
	};
	for (int e = 0; e < EXTENSIONS; e++) {
		if (wanted[e])
			extensions[count++] = EXTENSION_NAMES[e];
	}
	const VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = &features,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue,
		.enabledExtensionCount = count,
		.ppEnabledExtensionNames = extensions };
	return device->vk->CreateDevice(device->physical, &info, device->instance.memory, &device->device);
}

static carom_result open_queue(carom_device *device)
{
	const carom_result known = look_up(device);
	if (known != CAROM_SUCCESS)
		return known;
	if (device->adopted)
		device->device = device->handles.device;
	const VkResult result = device->adopted ? VK_SUCCESS : make_device(device);
	if (result != VK_SUCCESS) {
		device->device = NULL;
		return cr_gpu_fail(device, "vkCreateDevice", result);
	}
	if (!find_device_functions(device))
		return cr_fail(device->context, CAROM_DEVICE_FAILED, "%s: its driver lacks functions of Vulkan 1.2", device->info.name);
	if (device->adopted)
		device->queue = device->handles.queue;
	else
		device->vk->GetDeviceQueue(device->device, device->queue_family, 0, &device->queue);
	return CAROM_SUCCESS;
}

static carom_result copy_cache_path(carom_device *device)
{
	const char *path = device->def.cache_path;
	device->def.cache_path = NULL;
	device->cache_by_default = !path;
	if (!path || !*path)
		return CAROM_SUCCESS;
	device->cache_path_size = strlen(path) + 1;
	device->cache_path = cr_alloc(device->context, device->cache_path_size);
	if (!device->cache_path)
		return cr_fail_memory(device->context, "the path of the cache");
	memcpy(device->cache_path, path, device->cache_path_size);
	return CAROM_SUCCESS;
}

static carom_result open_device(carom_device *device)
{
	carom_result result = copy_cache_path(device);
	if (result == CAROM_SUCCESS)
		result = (device->adopted ? cr_adopt_instance : cr_open_instance)(device->context, &device->def, &device->instance);
	if (result == CAROM_SUCCESS)
		result = (device->adopted ? adopt_device : choose_device)(device);
	device->def.vulkan = NULL;
	device->def.choice = NULL;
	if (result == CAROM_SUCCESS)
		result = open_queue(device);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_open_kernels(device);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_open_commands(device);
	return result;
}

static void close_device(carom_device *device)
{
	carom_context *context = device->context;
	if (device->device && device->vk->DestroyDevice) {
		// Of the caller's device other queues may be in use. Ours has been waited for.
		if (!device->adopted)
			device->vk->DeviceWaitIdle(device->device);
		cr_gpu_close_commands(device);
		cr_gpu_close_kernels(device);
		if (!device->adopted)
			device->vk->DestroyDevice(device->device, device->instance.memory);
	}
	cr_close_instance(&device->instance);
	cr_mutex_destroy(&device->lock);
	cr_free(context, device->cache_path, device->cache_path_size);
	cr_free(context, device, sizeof *device);
}

static carom_result check_handles(carom_context *context, const carom_device_def *def)
{
	const carom_vulkan_handles *h = def->vulkan;
	const char *wrong = !h->get_instance_proc_addr ? "get_instance_proc_addr is NULL"
		: !h->instance                             ? "instance is NULL"
		: !h->physical_device                      ? "physical_device is NULL"
		: !h->device                               ? "device is NULL"
		: !h->queue                                ? "queue is NULL"
		: def->choice                              ? "choice is not NULL beside it"
		: def->validation                          ? "validation is on, and the instance is the caller's"
		: def->tier > CAROM_TIER_COMPUTE           ? "the tier is one of rays"
												   : NULL;
	return wrong ? cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_device_def.vulkan: %s", wrong) : CAROM_SUCCESS;
}

carom_result carom_create_device(carom_context *context, const carom_device_def *def, carom_device **device)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!device)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_device: device is NULL");
	*device = NULL;
	const carom_device_def default_def = carom_default_device_def();
	if (!def)
		def = &default_def;
	if (def->cookie != DEVICE_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_device_def.cookie: start from carom_default_device_def");
	if ((int)def->tier < CAROM_TIER_AUTO || def->tier > CAROM_TIER_PIPELINE)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "carom_device_def.tier is %d, none of carom_device_tier", (int)def->tier);
	const carom_result fits = def->vulkan ? check_handles(context, def) : CAROM_SUCCESS;
	if (fits != CAROM_SUCCESS)
		return fits;
	carom_device *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "a device");
	made->context = context;
	made->vk = &made->instance.vk;
	made->def = *def;
	made->adopted = def->vulkan != NULL;
	if (def->vulkan)
		made->handles = *def->vulkan;
	cr_mutex_init(&made->lock);
	const carom_result result = open_device(made);
	if (result != CAROM_SUCCESS) {
		close_device(made);
		return result;
	}
	atomic_fetch_add(&context->live_objects, 1);
	*device = made;
	return CAROM_SUCCESS;
}

void carom_destroy_device(carom_device *device)
{
	if (!device)
		return;
	cr_gpu_save_cache(device);
	atomic_fetch_sub(&device->context->live_objects, 1);
	close_device(device);
}

// ---- Numbers ----

const carom_context *cr_device_context(const carom_device *device) { return device->context; }

carom_device_info carom_device_get_info(const carom_device *device) { return device->info; }

carom_device_stats carom_device_get_stats(const carom_device *device)
{
	carom_device_stats stats = device->stats;
	stats.validation_messages = atomic_load(&device->instance.messages);
	return stats;
}

int32_t carom_device_get_kernels(const carom_device *device, carom_kernel_time *times, int32_t capacity)
{
	int32_t count = 0;
	for (int k = 0; k < CR_KERNELS; k++) {
		if (device->kernels[k].calls == 0)
			continue;
		if (count < capacity)
			times[count] = (carom_kernel_time){ cr_kernel_name((cr_kernel)k), device->kernels[k].calls, device->kernels[k].ms };
		count++;
	}
	return count;
}
