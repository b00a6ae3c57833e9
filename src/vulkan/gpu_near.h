/// Near triangles of pairs of meshes on a device: walks over two trees
/// (shaders/mesh_near_nodes.comp, mesh_near_leaves.comp, mesh_near_test.comp). Meshes are where
/// gpu_casts.h has them, with a head and the cells of their grids behind.
#ifndef CR_VULKAN_GPU_NEAR_H
#define CR_VULKAN_GPU_NEAR_H

#include "base/array.h"
#include "vulkan/gpu_casts.h"

enum {
	CR_GPU_MOST_NEAR_WALKS = 1 << 14, // first ones at once
	CR_GPU_NEAR_WAVES = 8,            // a walk, and those that may follow it
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
/// frame. One that follows another is made where that has found nothing.
typedef struct cr_gpu_near_job {
	uint64_t source_nodes, source_blocks; // addresses
	uint64_t target_nodes, target_blocks, target_head;
	float rotation[3][3], translation[3];
	float margin; // cr_pair_margin
	float growth; // margin + reach
	float reach;
	uint32_t most;  // above 0: of more finds only their number is of use
	uint32_t after; // the job that this one follows, or CR_GPU_NO_JOB
	// its pair's word of cr_gpu_casts.touched, and 1: no walk is made where that is set; 0: none
	uint32_t touched;
} cr_gpu_near_job;
#define CR_GPU_NO_JOB UINT32_MAX

/// Walks by waves: each follows one of a wave before its own. Rays may go before them, in the same
/// submission.
typedef struct cr_gpu_near_list {
	const cr_gpu_near_job *jobs;
	uint32_t waves;
	uint32_t first[CR_GPU_NEAR_WAVES + 1]; // job of each wave; behind the last one their number
	uint32_t levels;                       // of the deepest tree of a source
	cr_gpu_casts *casts;                   // NULL: no rays
	const cr_gpu_cast_batch *batch;        // of an open batch; cr_gpu_take_casts takes the hits
} cr_gpu_near_list;

/// The outcome of a walk.
typedef struct cr_gpu_near_state {
	uint32_t count;    // finds; no more than most and one were written
	uint32_t doubtful; // CR_GPU_NEAR_DOUBTFUL, CR_GPU_NEAR_LEFT_OUT; 0: it was made
} cr_gpu_near_state;
// The processor must do the walk; nobody has done it.
enum { CR_GPU_NEAR_DOUBTFUL = 1, CR_GPU_NEAR_LEFT_OUT = 2 };

/// A pair of triangles by their places, and how far apart they are at least. In no order.
typedef struct cr_gpu_near_find {
	uint32_t job;
	uint32_t source, target;
	float gap;
} cr_gpu_near_find;

/// The lists of the walks, and the outcome of the last ones.
typedef struct cr_gpu_near {
	cr_gpu_twin jobs, states;
	cr_gpu_buffer counters;
	cr_gpu_buffer nodes[2]; // of the source: of a level and of the next one
	cr_gpu_buffer blocks;   // of the source
	cr_gpu_buffer lanes;    // triangles of the source, each with a leaf of the target
	cr_gpu_buffer finds;    // that the processor reaches
	// The outcome of the last walks, until the next ones.
	const cr_gpu_near_state *outcomes; // [jobs]
	const cr_gpu_near_find *found;     // [found_count]
	int64_t found_count;
	CR_ARRAY(cr_gpu_near_state) state_copy; // where the processor does not reach them
	CR_ARRAY(cr_gpu_near_find) find_copy;
	uint32_t most_room; // entries of a list; 0: CR_GPU_MOST_NEAR_ROOM
} cr_gpu_near;

// The device is locked in all of these (vk_commands.h).

/// Make all walks of a list in one submission, or more where lists must grow. *fits false: one
/// would be too long, and nothing was done.
carom_result cr_gpu_find_near(carom_device *device, cr_gpu_near *near, const cr_gpu_near_list *list, bool *fits);
void cr_gpu_free_near(carom_device *device, cr_gpu_near *near);

#endif
