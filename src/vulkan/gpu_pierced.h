/// The findings of a device about two triangles (shaders/mesh_pierce.comp), for files that know
/// nothing of Vulkan.
#ifndef CR_VULKAN_GPU_PIERCED_H
#define CR_VULKAN_GPU_PIERCED_H

#include <stdint.h>

// Bits of a cr_gpu_pierced: of the three edges of the first triangle that pierce the second, and of
// those of the second; of the corners of the first that lie above the plane of the second, and of
// those of the second; that rounding leaves open; that are open, or have a pierce.
enum {
	CR_GPU_PIERCES = 0,
	CR_GPU_ABOVE = 6,
	CR_GPU_OPEN = 1 << 12,
	CR_GPU_CROSSING = 1 << 13,
};

typedef struct cr_gpu_pierced {
	double height[2][3]; // of the corners over the other triangle's plane, times twice its area
	uint32_t bits;
	uint32_t unused;
} cr_gpu_pierced;

#endif
