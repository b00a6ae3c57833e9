/// Buffers of a device, and copies to and from them.
#ifndef CR_VULKAN_VK_MEMORY_H
#define CR_VULKAN_VK_MEMORY_H

#include "vulkan/vk_device.h"

/// Make room for at least size bytes; what was in the buffer may be lost. Grows by half at least
/// where the budget allows it. CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET, or CAROM_UNSUPPORTED where
/// the device has no buffers as large; the buffer is then none.
carom_result cr_gpu_reserve(carom_device *device, cr_gpu_buffer *buffer, uint64_t size);
/// Likewise, for what one of both writes once in a step and the other one reads once. It lies where
/// the processor reaches it (mapped), for a card in the processor's memory: a copy would be a
/// submission, which takes longer than a kernel that reads a small list from there. Where copies
/// are forced (carom_device_def.staging) this is cr_gpu_reserve.
carom_result cr_gpu_reserve_shared(carom_device *device, cr_gpu_buffer *buffer, uint64_t size);
void cr_gpu_free(carom_device *device, cr_gpu_buffer *buffer);

/// A list that kernels read or change often, and its copy that the processor reaches where it does
/// not reach the list itself. The copy is made in the submission that uses the list. Where copies
/// are forced there is none.
typedef struct cr_gpu_twin {
	cr_gpu_buffer own, reached;
} cr_gpu_twin;

carom_result cr_gpu_reserve_twin(carom_device *device, cr_gpu_twin *twin, uint64_t size);
void cr_gpu_free_twin(carom_device *device, cr_gpu_twin *twin);
/// Bring data: first this, then, in the recorded work, cr_gpu_record_up.
carom_result cr_gpu_send_twin(carom_device *device, const cr_gpu_twin *twin, const void *data, uint64_t size);
void cr_gpu_record_up(carom_device *device, const cr_gpu_twin *twin, uint64_t size);
/// Take data: first, at the end of the recorded work, this; then cr_gpu_take, once it is done.
void cr_gpu_record_down(carom_device *device, const cr_gpu_twin *twin, uint64_t size);
/// *data: the first bytes of a buffer where the processor reaches it, else a copy of them in room
/// [size].
carom_result cr_gpu_take(carom_device *device, const cr_gpu_buffer *buffer, void *room, uint64_t size, const void **data);
/// The buffer of a twin that is taken.
static inline const cr_gpu_buffer *cr_gpu_reached(const cr_gpu_twin *twin)
{
	return twin->reached.buffer ? &twin->reached : &twin->own;
}

/// Copy memory of the processor's, by all threads of the device's context where there is much.
void cr_gpu_copy_bytes(const carom_device *device, void *to, const void *from, uint64_t size);
/// Copy to the beginning of a buffer, or to a place of it. The memory is the caller's again when it
/// returns.
carom_result cr_gpu_upload(carom_device *device, const cr_gpu_buffer *buffer, const void *data, uint64_t size);
carom_result cr_gpu_upload_at(
	carom_device *device, const cr_gpu_buffer *buffer, uint64_t place, const void *data, uint64_t size);
/// Copy from the beginning of a buffer, or from a place of it. These copies leave bytes alone that
/// are in their place already, since the processor reaches them there (mapped), and count them.
carom_result cr_gpu_download(carom_device *device, const cr_gpu_buffer *buffer, void *data, uint64_t size);
carom_result cr_gpu_download_from(carom_device *device, const cr_gpu_buffer *buffer, uint64_t place, void *data, uint64_t size);

/// A buffer as callers see it.
static inline carom_device_buffer cr_show_buffer(const cr_gpu_buffer *buffer)
{
	return (carom_device_buffer){ (uint64_t)(uintptr_t)buffer->buffer, buffer->address, buffer->size };
}

/// A buffer that the processor reaches, for the staging ring and for results.
carom_result cr_gpu_make_staging(carom_device *device, cr_gpu_buffer *buffer, uint64_t size);

#endif
