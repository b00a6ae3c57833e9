/// The Vulkan loader and instances. See vulkan/vk_loader.h.
#include "vulkan/vk_loader.h"
#include <dlfcn.h>
#include <string.h>

static const char LAYER[] = "VK_LAYER_KHRONOS_validation";

// ---- Memory of the user for the driver ----

/// Before each piece of memory that Vulkan gets lies where its block begins, and how long that is.
typedef struct block_head {
	void *block;
	size_t block_size, size;
} block_head;

static void *VKAPI_PTR allocate(void *context, size_t size, size_t alignment, VkSystemAllocationScope scope)
{
	(void)scope;
	const size_t align = alignment > CR_CACHE_LINE ? alignment : CR_CACHE_LINE;
	// Mesa asks for nothing at times, and takes NULL for a failure.
	if (size > SIZE_MAX - 2 * align)
		return NULL;
	const size_t block_size = size + 2 * align;
	char *block = cr_alloc(context, block_size);
	if (!block)
		return NULL;
	const size_t past = ((uintptr_t)block + align) % align;
	char *memory = block + align + (past ? align - past : 0);
	const block_head head = { block, block_size, size };
	memcpy(memory - sizeof head, &head, sizeof head);
	return memory;
}

static block_head head_of(const void *memory)
{
	block_head head;
	memcpy(&head, (const char *)memory - sizeof head, sizeof head);
	return head;
}

static void VKAPI_PTR release(void *context, void *memory)
{
	if (!memory)
		return;
	const block_head head = head_of(memory);
	cr_free(context, head.block, head.block_size);
}

static void *VKAPI_PTR reallocate(void *context, void *memory, size_t size, size_t alignment, VkSystemAllocationScope scope)
{
	if (!memory)
		return allocate(context, size, alignment, scope);
	if (size == 0) {
		release(context, memory);
		return NULL;
	}
	void *moved = allocate(context, size, alignment, scope);
	if (!moved)
		return NULL;
	const size_t old = head_of(memory).size;
	memcpy(moved, memory, old < size ? old : size);
	release(context, memory);
	return moved;
}

// ---- Failures ----

static const char *name_of(VkResult result)
{
	switch (result) {
	case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of memory";
	case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
	case VK_ERROR_DEVICE_LOST: return "the device was lost";
	case VK_ERROR_INITIALIZATION_FAILED: return "initialization failed";
	case VK_ERROR_MEMORY_MAP_FAILED: return "memory cannot be mapped";
	case VK_ERROR_LAYER_NOT_PRESENT: return "a layer is missing";
	case VK_ERROR_EXTENSION_NOT_PRESENT: return "an extension is missing";
	case VK_ERROR_FEATURE_NOT_PRESENT: return "a feature is missing";
	case VK_ERROR_TOO_MANY_OBJECTS: return "too many objects";
	default: return "the driver failed";
	}
}

carom_result cr_fail_vulkan(carom_context *context, const char *device, const char *call, VkResult result)
{
	const bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
	return cr_fail(context, memory ? CAROM_OUT_OF_MEMORY : CAROM_DEVICE_FAILED, "%s: %s: %s (VkResult %d)", device, call,
		name_of(result), (int)result);
}

// ---- The loader ----

/// dlsym gives a pointer to an object, and ISO C has no way from there to one to a function.
static PFN_vkGetInstanceProcAddr find_entry(void *library)
{
	PFN_vkGetInstanceProcAddr entry = NULL;
	void *symbol = dlsym(library, "vkGetInstanceProcAddr");
	memcpy(&entry, &symbol, sizeof entry);
	return entry;
}

static bool open_loader(cr_vk_instance *instance)
{
	instance->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!instance->library)
		return false;
	instance->get_function = find_entry(instance->library);
	if (!instance->get_function)
		return false;
	cr_vk *vk = &instance->vk;
#define CR_VK_FIND(name) vk->name = (PFN_vk##name)instance->get_function(NULL, "vk" #name);
	CR_VK_LOADER_FUNCTIONS(CR_VK_FIND)
#undef CR_VK_FIND
	// A loader without the second one knows Vulkan 1.0 alone.
	return vk->CreateInstance && vk->EnumerateInstanceVersion;
}

// ---- The instance ----

void (*cr_vk_patch)(cr_vk *vk) = NULL;

static VkBool32 VKAPI_PTR take_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
	const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
	(void)severity;
	(void)type;
	cr_vk_instance *instance = user;
	atomic_fetch_add(&instance->messages, 1);
	cr_log(instance->context, CAROM_LOG_ERROR, "Vulkan validation: %s", data->pMessage);
	return VK_FALSE;
}

static VkDebugUtilsMessengerCreateInfoEXT messenger_info(cr_vk_instance *instance)
{
	return (VkDebugUtilsMessengerCreateInfoEXT){
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
		.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
		.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
		.pfnUserCallback = take_message,
		.pUserData = instance,
	};
}

static VkResult make_instance(cr_vk_instance *instance, bool validation)
{
	const char *layers[] = { LAYER }, *extensions[] = { VK_EXT_DEBUG_UTILS_EXTENSION_NAME };
	const VkApplicationInfo application = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pEngineName = "Carom", .apiVersion = VK_API_VERSION_1_2
	};
	const VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(instance);
	const VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		// for messages while the instance is made and destroyed
		.pNext = validation ? &messenger : NULL,
		.pApplicationInfo = &application,
		.enabledLayerCount = validation,
		.ppEnabledLayerNames = layers,
		.enabledExtensionCount = validation,
		.ppEnabledExtensionNames = extensions,
	};
	return instance->vk.CreateInstance(&info, instance->memory, &instance->instance);
}

static bool find_instance_functions(cr_vk_instance *instance)
{
	cr_vk *vk = &instance->vk;
	bool all = true;
#define CR_VK_FIND(name)                                                             \
	vk->name = (PFN_vk##name)instance->get_function(instance->instance, "vk" #name); \
	all = all && vk->name;
	CR_VK_INSTANCE_FUNCTIONS(CR_VK_FIND)
#undef CR_VK_FIND
	return all;
}

static carom_result listen(cr_vk_instance *instance)
{
	const PFN_vkCreateDebugUtilsMessengerEXT create =
		(PFN_vkCreateDebugUtilsMessengerEXT)instance->get_function(instance->instance, "vkCreateDebugUtilsMessengerEXT");
	const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(instance);
	const VkResult result =
		create ? create(instance->instance, &info, instance->memory, &instance->messenger) : VK_ERROR_EXTENSION_NOT_PRESENT;
	return result == VK_SUCCESS ? CAROM_SUCCESS
								: cr_fail_vulkan(instance->context, "Vulkan", "vkCreateDebugUtilsMessengerEXT", result);
}

static void clear_instance(carom_context *context, const carom_device_def *def, cr_vk_instance *instance)
{
	memset(instance, 0, sizeof *instance);
	instance->context = context;
	instance->callbacks = (VkAllocationCallbacks){
		.pUserData = context, .pfnAllocation = allocate, .pfnReallocation = reallocate, .pfnFree = release
	};
	instance->memory = def->driver_memory ? &instance->callbacks : NULL;
}

carom_result cr_adopt_instance(carom_context *context, const carom_device_def *def, cr_vk_instance *instance)
{
	clear_instance(context, def, instance);
	instance->adopted = true;
	instance->get_function = (PFN_vkGetInstanceProcAddr)def->vulkan->get_instance_proc_addr;
	instance->instance = def->vulkan->instance;
	if (!find_instance_functions(instance))
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"carom_device_def.vulkan: get_instance_proc_addr finds no functions of Vulkan 1.2 for the instance");
	return CAROM_SUCCESS;
}

carom_result cr_open_instance(carom_context *context, const carom_device_def *def, cr_vk_instance *instance)
{
	const bool validation = def->validation;
	clear_instance(context, def, instance);
	if (!open_loader(instance))
		return CAROM_SUCCESS; // no loader, no devices
	const VkResult result = make_instance(instance, validation);
	if (result != VK_SUCCESS)
		instance->instance = NULL;
	if (result == VK_ERROR_LAYER_NOT_PRESENT)
		return cr_fail(context, CAROM_UNSUPPORTED, "carom_device_def.validation: the layer %s is not installed", LAYER);
	if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
		return CAROM_SUCCESS; // no driver, no devices
	if (result != VK_SUCCESS)
		return cr_fail_vulkan(context, "Vulkan", "vkCreateInstance", result);
	if (!find_instance_functions(instance))
		return cr_fail(context, CAROM_DEVICE_FAILED, "Vulkan: the loader lacks functions of Vulkan 1.2");
	if (cr_vk_patch)
		cr_vk_patch(&instance->vk);
	return validation ? listen(instance) : CAROM_SUCCESS;
}

void cr_close_instance(cr_vk_instance *instance)
{
	if (instance->messenger) {
		const PFN_vkDestroyDebugUtilsMessengerEXT destroy =
			(PFN_vkDestroyDebugUtilsMessengerEXT)instance->get_function(instance->instance, "vkDestroyDebugUtilsMessengerEXT");
		destroy(instance->instance, instance->messenger, instance->memory);
	}
	if (instance->instance && instance->vk.DestroyInstance && !instance->adopted)
		instance->vk.DestroyInstance(instance->instance, instance->memory);
	if (instance->library)
		dlclose(instance->library);
	memset(instance, 0, sizeof *instance);
}
