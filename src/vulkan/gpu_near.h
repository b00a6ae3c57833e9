/// Near triangles of pairs of meshes on a device: walks over two trees
/// (shaders/mesh_near_nodes.comp, mesh_near_leaves.comp, mesh_near_test.comp). Meshes are where
/// gpu_casts.h has them, with a head and the cells of their grids behind.
#ifndef CR_VULKAN_GPU_NEAR_H
#define CR_VULKAN_GPU_NEAR_H

#include "base/array.h"
#include "vulkan/vk_memory.h"

enum {
	CR_GPU_MOST_NEAR_JOBS = 1 << 14, // at once
	// Entries of a list: where a step would need more, it is to be cut.
	CR_GPU_MOST_NEAR_ROOM = 1 << 24,
};

/// The box of a mesh, and its inside-outside grid. The bytes of the cells follow.
typedef struct cr_gpu_mesh_head {
	float lower[3], upper[3];
	float origin[3], inverse_cell;
	uint32_t size[3];
	uint32_t has_cells;
	uint32_t unused[2];
} cr_gpu_mesh_head;

/// A walk: all pairs of triangles within reach. Transform: of the source's points to the target's
/// frame.
typedef struct cr_gpu_near_job {
	uint64_t source_nodes, source_blocks; // addresses
	uint64_t target_nodes, target_blocks, target_head;
	float rotation[3][3], translation[3];
	float margin; // cr_pair_margin
	float growth; // margin + reach
	float reach;
	uint32_t most; // above 0: of more finds only their number is of use
} cr_gpu_near_job;

/// The outcome of a walk.
typedef struct cr_gpu_near_state {
	uint32_t count;    // finds; no more than most and one were written
	uint32_t doubtful; // above 0: the processor must do the walk
} cr_gpu_near_state;

/// A pair of triangles by their places, and how far apart they are at least. In no order.
typedef struct cr_gpu_near_find {
	uint32_t job;
	uint32_t source, target;
	float gap;
} cr_gpu_near_find;

/// The lists of the walks, and the outcome of the last ones.
typedef struct cr_gpu_near {
	cr_gpu_buffer jobs, states, counters;
	cr_gpu_buffer nodes[2]; // of the source: of a level and of the next one
	cr_gpu_buffer blocks;   // of the source
	cr_gpu_buffer lanes;    // triangles of the source, each with a leaf of the target
	cr_gpu_buffer finds;
	CR_ARRAY(cr_gpu_near_state) state_copy; // [jobs]
	CR_ARRAY(cr_gpu_near_find) find_copy;
	uint32_t most_room; // entries of a list; 0: CR_GPU_MOST_NEAR_ROOM
} cr_gpu_near;

// The device is locked in all of these (vk_commands.h).

/// Make all walks of jobs; levels: of the deepest tree of a source. *fits false: a list would be
/// too long, and nothing was done.
carom_result cr_gpu_find_near(
	carom_device *device, cr_gpu_near *near, const cr_gpu_near_job *jobs, uint32_t count, uint32_t levels, bool *fits);
void cr_gpu_free_near(carom_device *device, cr_gpu_near *near);

#endif
