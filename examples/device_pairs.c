// A program with a Vulkan device of its own hands it to Carom, which finds touching pairs there and
// leaves them there. A kernel of the program (device_pairs.comp) sums the overlaps over them. No
// pair is copied to the processor.
#include <carom/carom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include <device_pairs.spv.h>

enum { SIDE = 20, COUNT = SIDE * SIDE * SIDE, GROUPS = 16, SKIPPED = 77 };

// ---- The program's own Vulkan ----

static VkInstance instance;
static VkPhysicalDevice physical;
static VkPhysicalDeviceMemoryProperties memory_types;
static VkDevice device;
static VkQueue queue;
static uint32_t family;

static void must(VkResult result, const char *call)
{
	if (result == VK_SUCCESS)
		return;
	printf("%s: %d\n", call, (int)result);
	exit(1);
}

static bool find_family(void)
{
	VkQueueFamilyProperties families[16];
	uint32_t count = 16;
	vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
	for (family = 0; family < count; family++) {
		if (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)
			return true;
	}
	return false;
}

/// The first device of Vulkan 1.3 with a queue for compute. False: there is none.
static bool open_vulkan(void)
{
	const VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3 };
	const VkInstanceCreateInfo instance_info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		.pApplicationInfo = &application };
	uint32_t one = 1;
	if (vkCreateInstance(&instance_info, NULL, &instance) != VK_SUCCESS)
		return false;
	const VkResult listed = vkEnumeratePhysicalDevices(instance, &one, &physical);
	VkPhysicalDeviceProperties properties = { .apiVersion = 0 };
	if ((listed == VK_SUCCESS || listed == VK_INCOMPLETE) && one == 1)
		vkGetPhysicalDeviceProperties(physical, &properties);
	if (properties.apiVersion < VK_API_VERSION_1_3 || !find_family())
		return false;
	vkGetPhysicalDeviceMemoryProperties(physical, &memory_types);
	VkPhysicalDeviceVulkan13Features features13 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
		.subgroupSizeControl = VK_TRUE,
		.computeFullSubgroups = VK_TRUE };
	const VkPhysicalDeviceVulkan12Features features12 = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &features13, .bufferDeviceAddress = VK_TRUE
	};
	const VkPhysicalDeviceFeatures features = { .shaderInt64 = VK_TRUE };
	const float priority = 1;
	const VkDeviceQueueCreateInfo queue_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueFamilyIndex = family,
		.queueCount = 1,
		.pQueuePriorities = &priority };
	const VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = &features12,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue_info,
		.pEnabledFeatures = &features };
	must(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
	vkGetDeviceQueue(device, family, 0, &queue);
	return true;
}

/// A buffer that kernels reach by its address and the processor by *mapped.
typedef struct own_buffer {
	VkBuffer buffer;
	VkDeviceMemory memory;
	VkDeviceAddress address;
	void *mapped;
} own_buffer;

static own_buffer make_buffer(VkDeviceSize size)
{
	own_buffer b = { 0 };
	const VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = size,
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT };
	must(vkCreateBuffer(device, &info, NULL, &b.buffer), "vkCreateBuffer");
	VkMemoryRequirements needs;
	vkGetBufferMemoryRequirements(device, b.buffer, &needs);
	const VkMemoryPropertyFlags reached = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	uint32_t type = 0;
	while (!(needs.memoryTypeBits >> type & 1) || (memory_types.memoryTypes[type].propertyFlags & reached) != reached)
		type++;
	const VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
		.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
	const VkMemoryAllocateInfo memory = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags, .allocationSize = needs.size, .memoryTypeIndex = type
	};
	must(vkAllocateMemory(device, &memory, NULL, &b.memory), "vkAllocateMemory");
	must(vkBindBufferMemory(device, b.buffer, b.memory, 0), "vkBindBufferMemory");
	must(vkMapMemory(device, b.memory, 0, VK_WHOLE_SIZE, 0, &b.mapped), "vkMapMemory");
	const VkBufferDeviceAddressInfo address = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = b.buffer };
	b.address = vkGetBufferDeviceAddress(device, &address);
	return b;
}

static void free_buffer(own_buffer b)
{
	vkDestroyBuffer(device, b.buffer, NULL);
	vkFreeMemory(device, b.memory, NULL);
}

// ---- The program's kernel ----

typedef struct kernel_arguments {
	uint64_t pairs, spheres, sums;
	uint32_t count;
} kernel_arguments;

typedef struct kernel {
	VkPipelineLayout layout;
	VkPipeline pipeline;
	VkCommandPool pool;
} kernel;

static kernel make_kernel(void)
{
	kernel k;
	VkShaderModule module;
	const VkShaderModuleCreateInfo code = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof device_pairs_spv, .pCode = device_pairs_spv
	};
	must(vkCreateShaderModule(device, &code, NULL, &module), "vkCreateShaderModule");
	const VkPushConstantRange range = { VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(kernel_arguments) };
	const VkPipelineLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .pushConstantRangeCount = 1, .pPushConstantRanges = &range
	};
	must(vkCreatePipelineLayout(device, &layout, NULL, &k.layout), "vkCreatePipelineLayout");
	const VkComputePipelineCreateInfo info = { .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.module = module,
			.pName = "main" },
		.layout = k.layout };
	must(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &k.pipeline), "vkCreateComputePipelines");
	vkDestroyShaderModule(device, module, NULL);
	const VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family };
	must(vkCreateCommandPool(device, &pool, NULL, &k.pool), "vkCreateCommandPool");
	return k;
}

static void free_kernel(kernel k)
{
	vkDestroyCommandPool(device, k.pool, NULL);
	vkDestroyPipeline(device, k.pipeline, NULL);
	vkDestroyPipelineLayout(device, k.layout, NULL);
}

static void run_kernel(kernel k, const kernel_arguments *arguments)
{
	VkCommandBuffer commands;
	const VkCommandBufferAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = k.pool, .commandBufferCount = 1
	};
	must(vkAllocateCommandBuffers(device, &allocate, &commands), "vkAllocateCommandBuffers");
	const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	must(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, k.pipeline);
	vkCmdPushConstants(commands, k.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *arguments, arguments);
	vkCmdDispatch(commands, GROUPS, 1, 1);
	must(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
	const VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands };
	must(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
	must(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
}

// ---- Carom ----

static carom_context *context;
static carom_device *lent;
static carom_spheres *spheres;

/// Carom's view of the program's device, and a detector there. False: the device lacks something.
static bool open_carom(void)
{
	carom_vulkan_handles handles = {
		.instance = instance, .physical_device = physical, .device = device, .queue = queue, .queue_family = family
	};
	const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
	memcpy(&handles.get_instance_proc_addr, &get, sizeof get);
	carom_device_def def = carom_default_device_def();
	def.vulkan = &handles;
	if (carom_create_context(NULL, &context) || carom_create_device(context, &def, &lent))
		return false;
	carom_spheres_def spheres_def = carom_default_spheres_def();
	spheres_def.method = CAROM_SPHERES_DEVICE;
	spheres_def.device = lent;
	return !carom_create_spheres(context, &spheres_def, &spheres);
}

/// A cube of spheres, each of which overlaps its neighbours by a quarter.
static carom_sphere_input place_spheres(float (*places)[4])
{
	for (int i = 0; i < COUNT; i++) {
		places[i][0] = 0.75f * (float)(i % SIDE);
		places[i][1] = 0.75f * (float)(i / SIDE % SIDE);
		places[i][2] = 0.75f * (float)(i / SIDE / SIDE);
		places[i][3] = 0.5f;
	}
	carom_sphere_input input = carom_default_sphere_input();
	input.count = COUNT;
	input.centres = (carom_strided){ places, sizeof *places, CAROM_FLOAT32 };
	input.radii = (carom_strided){ &places[0][3], sizeof *places, CAROM_FLOAT32 };
	return input;
}

int main(void)
{
	if (!open_vulkan()) {
		printf("there is no device of Vulkan 1.3\n");
		return SKIPPED;
	}
	if (!open_carom()) {
		printf("%s\n", carom_error_text(context));
		return SKIPPED;
	}
	own_buffer places = make_buffer(COUNT * sizeof(float[4])), sums = make_buffer(GROUPS * sizeof(float));
	const kernel k = make_kernel();
	const carom_sphere_input input = place_spheres(places.mapped);
	carom_sphere_device_pairs pairs;
	if (carom_spheres_update(spheres, &input) || carom_spheres_find_device_pairs(spheres, &pairs)) {
		printf("%s\n", carom_error_text(context));
		return 1;
	}
	run_kernel(k, &(kernel_arguments){ pairs.pairs.address, places.address, sums.address, (uint32_t)pairs.count });
	float sum = 0;
	for (int i = 0; i < GROUPS; i++)
		sum += ((const float *)sums.mapped)[i];
	printf("%lld pairs, which overlap by %.0f in all\n", (long long)pairs.count, sum);

	carom_destroy_spheres(spheres);
	carom_destroy_device(lent); // the program's own one stays
	carom_destroy_context(context);
	free_kernel(k);
	free_buffer(places);
	free_buffer(sums);
	vkDestroyDevice(device, NULL);
	vkDestroyInstance(instance, NULL);
}
