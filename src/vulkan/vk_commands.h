/// Work for a device: kernels one after the other in one submission, with a barrier after each, and
/// the time of each.
///
///     cr_gpu_lock(device);
///     result = cr_gpu_begin(device);
///     cr_gpu_run(device, CR_KERNEL_GATHER, groups, &arguments);
///     ...
///     result = cr_gpu_finish(device);
///     result = cr_gpu_unlock(device, result);
///
/// A failure while work is recorded is remembered, and cr_gpu_finish returns it.
#ifndef CR_VULKAN_VK_COMMANDS_H
#define CR_VULKAN_VK_COMMANDS_H

#include "vulkan/vk_device.h"

/// The push constants of every kernel; the head of each shader says what they mean to it.
typedef struct cr_gpu_arguments {
	VkDeviceAddress address[12];
	uint32_t word[8];
} cr_gpu_arguments;

carom_result cr_gpu_open_commands(carom_device *device);
void cr_gpu_close_commands(carom_device *device);

/// Every use of a device is between these two: buffers, copies, work. Unlocking settles. result is
/// the outcome of the use; cr_gpu_unlock returns it as cr_gpu_settle does.
void cr_gpu_lock(carom_device *device);
carom_result cr_gpu_unlock(carom_device *device, carom_result result);
/// Wait for copies that are under way, as before buffers that they use are freed. result is the
/// outcome so far. Returns it; where it is CAROM_SUCCESS and a wait fails, that failure.
carom_result cr_gpu_settle(carom_device *device, carom_result result);

/// A gate: kernels that are recorded while device->gate is set start with the numbers of workgroups
/// that stand in a table on the device by then, three words each; so a kernel before them decides
/// whether they run. The numbers that are wanted are noted here, to be brought to the device before
/// the work is submitted. cr_gpu_begin closes gates.
struct cr_gpu_gate {
	const cr_gpu_buffer *groups; // of CR_GPU_GATE_SLOTS entries
	uint32_t used;
	uint32_t wanted[CR_GPU_GATE_SLOTS][3];
};

/// Begin to record. Refused when the device is lost.
carom_result cr_gpu_begin(carom_device *device);
/// A kernel over count items, threads of them in a workgroup.
void cr_gpu_run(carom_device *device, cr_kernel kernel, uint64_t count, uint32_t threads, const cr_gpu_arguments *arguments);
/// Begin and end to measure the commands that are recorded between, as a call of a kernel, and end
/// it with a barrier: for commands that cr_gpu_run does not record. Begin only where nothing has
/// failed.
void cr_gpu_begin_kernel(carom_device *device, cr_kernel kernel);
void cr_gpu_end_kernel(carom_device *device, cr_kernel kernel);
/// Zero the first bytes of a buffer; a multiple of 4.
void cr_gpu_clear(carom_device *device, const cr_gpu_buffer *buffer, uint64_t size);
/// Write the first bytes of a buffer, a multiple of 4 and at most CR_GPU_WRITE_SIZE. They travel
/// with the recorded work; a copy (vk_memory.h) is a submission of its own. data is copied now.
void cr_gpu_write(carom_device *device, const cr_gpu_buffer *buffer, const void *data, uint32_t size);
enum { CR_GPU_WRITE_SIZE = 65536 }; // of Vulkan
/// Bring data [size] to the beginning of a buffer. Up to CR_GPU_SLOT_SIZE bytes travel with the
/// recorded work; more are copied as by cr_gpu_upload. data is the caller's again on return.
void cr_gpu_send(carom_device *device, const cr_gpu_buffer *buffer, const void *data, uint64_t size);
/// Copy the first bytes of a buffer to another one.
void cr_gpu_copy(carom_device *device, const cr_gpu_buffer *from, const cr_gpu_buffer *to, uint64_t size);
/// Copy size bytes from a place of a buffer to where the processor finds them after cr_gpu_finish:
/// the address is returned, until then with other contents. NULL: recording has failed.
const void *cr_gpu_read(carom_device *device, const cr_gpu_buffer *buffer, uint64_t at, uint32_t size);
/// Submit the recorded work, for cr_gpu_complete to wait until it is done, and the copies that were
/// sent before it: another device may be given work between them.
carom_result cr_gpu_submit(carom_device *device);
carom_result cr_gpu_complete(carom_device *device);
/// Both.
carom_result cr_gpu_finish(carom_device *device);

// For copies (vk_memory.c): a piece of work of its own.
carom_result cr_gpu_start_work(carom_device *device, cr_gpu_work *work);
carom_result cr_gpu_submit_work(carom_device *device, cr_gpu_work *work);
carom_result cr_gpu_wait(carom_device *device, cr_gpu_work *work);
/// What comes before is done, and seen, before what comes after: kernels, copies, the processor's
/// reads. The only barrier of the library.
void cr_gpu_barrier(const carom_device *device, VkCommandBuffer commands);

#endif
