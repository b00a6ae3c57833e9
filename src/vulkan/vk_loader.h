/// The Vulkan loader, opened at run time, and an instance of Vulkan with its functions.
///
/// Nothing of Vulkan is linked. A machine without loader or driver has no devices: that is an
/// answer, no failure.
#ifndef CR_VULKAN_VK_LOADER_H
#define CR_VULKAN_VK_LOADER_H

#include "base/context.h"
#include "carom/vulkan.h"
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

// Functions of the loader, of an instance, and of a device. Each is a member of cr_vk.
#define CR_VK_LOADER_FUNCTIONS(X) X(CreateInstance) X(EnumerateInstanceVersion)
#define CR_VK_INSTANCE_FUNCTIONS(X)           \
	X(DestroyInstance)                        \
	X(EnumeratePhysicalDevices)               \
	X(GetPhysicalDeviceProperties)            \
	X(GetPhysicalDeviceProperties2)           \
	X(GetPhysicalDeviceFeatures2)             \
	X(GetPhysicalDeviceMemoryProperties)      \
	X(GetPhysicalDeviceQueueFamilyProperties) \
	X(EnumerateDeviceExtensionProperties)     \
	X(CreateDevice)                           \
	X(GetDeviceProcAddr)
#define CR_VK_DEVICE_FUNCTIONS(X)  \
	X(DestroyDevice)               \
	X(GetDeviceQueue)              \
	X(CreateBuffer)                \
	X(DestroyBuffer)               \
	X(GetBufferMemoryRequirements) \
	X(AllocateMemory)              \
	X(FreeMemory)                  \
	X(BindBufferMemory)            \
	X(MapMemory)                   \
	X(GetBufferDeviceAddress)      \
	X(CreateShaderModule)          \
	X(DestroyShaderModule)         \
	X(CreatePipelineCache)         \
	X(DestroyPipelineCache)        \
	X(GetPipelineCacheData)        \
	X(CreatePipelineLayout)        \
	X(DestroyPipelineLayout)       \
	X(CreateComputePipelines)      \
	X(DestroyPipeline)             \
	X(CreateCommandPool)           \
	X(DestroyCommandPool)          \
	X(ResetCommandPool)            \
	X(AllocateCommandBuffers)      \
	X(BeginCommandBuffer)          \
	X(EndCommandBuffer)            \
	X(QueueSubmit)                 \
	X(CreateFence)                 \
	X(DestroyFence)                \
	X(WaitForFences)               \
	X(GetFenceStatus)              \
	X(ResetFences)                 \
	X(DeviceWaitIdle)              \
	X(CreateQueryPool)             \
	X(DestroyQueryPool)            \
	X(GetQueryPoolResults)         \
	X(CmdResetQueryPool)           \
	X(CmdWriteTimestamp)           \
	X(CmdBindPipeline)             \
	X(CmdPushConstants)            \
	X(CmdDispatch)                 \
	X(CmdDispatchIndirect)         \
	X(CmdPipelineBarrier)          \
	X(CmdFillBuffer)               \
	X(CmdUpdateBuffer)             \
	X(CmdCopyBuffer)
// Functions of devices that trace rays; and of those that have pipelines for it.
#define CR_VK_RAY_FUNCTIONS(X)                  \
	X(CreateAccelerationStructureKHR)           \
	X(DestroyAccelerationStructureKHR)          \
	X(GetAccelerationStructureBuildSizesKHR)    \
	X(GetAccelerationStructureDeviceAddressKHR) \
	X(CmdBuildAccelerationStructuresKHR)
#define CR_VK_TRACE_FUNCTIONS(X)          \
	X(CreateRayTracingPipelinesKHR)       \
	X(GetRayTracingShaderGroupHandlesKHR) \
	X(CmdTraceRaysKHR)

/// The functions of Vulkan. Tests put failing ones in their place.
typedef struct cr_vk {
#define CR_VK_MEMBER(name) PFN_vk##name name;
	CR_VK_LOADER_FUNCTIONS(CR_VK_MEMBER)
	CR_VK_INSTANCE_FUNCTIONS(CR_VK_MEMBER)
	CR_VK_DEVICE_FUNCTIONS(CR_VK_MEMBER)
	CR_VK_RAY_FUNCTIONS(CR_VK_MEMBER)
	CR_VK_TRACE_FUNCTIONS(CR_VK_MEMBER)
#undef CR_VK_MEMBER
} cr_vk;

/// An instance. It stays in place while it is open, because Vulkan has its address.
typedef struct cr_vk_instance {
	carom_context *context;
	void *library; // of the system; NULL: there is no loader
	PFN_vkGetInstanceProcAddr get_function;
	// What Vulkan is told of the host's memory: the context's, or NULL, then it takes its own.
	const VkAllocationCallbacks *memory;
	VkAllocationCallbacks callbacks;
	VkInstance instance; // NULL: there is no driver
	bool adopted;        // it is the caller's
	cr_vk vk;
	VkDebugUtilsMessengerEXT messenger;
	atomic_llong messages; // of the validation layer
} cr_vk_instance;

/// For tests: changes the functions of an instance once they are found, so that a driver seems to
/// lack something. NULL: nothing does.
extern void (*cr_vk_patch)(cr_vk *vk);

/// Open the loader and make an instance. CAROM_SUCCESS with instance->instance NULL where there is
/// no loader or no driver. With def->validation CAROM_UNSUPPORTED where the layer is missing.
carom_result cr_open_instance(carom_context *context, const carom_device_def *def, cr_vk_instance *instance);
/// Use an instance of the caller's in place of one of our own.
carom_result cr_adopt_instance(carom_context *context, const carom_device_def *def, cr_vk_instance *instance);
/// Close what cr_open_instance opened, be it half of it.
void cr_close_instance(cr_vk_instance *instance);

/// The failure of a call of Vulkan as the library's: device names it; call is "vkCreateDevice".
carom_result cr_fail_vulkan(carom_context *context, const char *device, const char *call, VkResult result);

#endif
