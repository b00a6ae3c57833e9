/// Meshes on a device: their trees and triangles stay there. Rays and pairs of triangles go up,
/// hits and pierces come down (shaders/mesh_cast.comp, mesh_walk.comp, mesh_pierce.comp).
///
/// A mesh is the bytes of its wide tree, of its blocks, and of their neighbours, as they lie in
/// host memory (bvh/collider.h). All lie in one buffer, at places that the caller deals out.
#ifndef CR_VULKAN_GPU_CASTS_H
#define CR_VULKAN_GPU_CASTS_H

#include "base/array.h"
#include "vulkan/gpu_pierced.h"
#include "vulkan/vk_memory.h"
#include "vulkan/vk_rays.h"

enum {
	CR_GPU_TREE_DEPTH = 32,     // levels that a tree may have: mesh_cast.comp
	CR_GPU_SURFACE_ALIGN = 256, // of a place
	// The greatest absolute coordinate of a mesh is 2 to this power, and none but 0 is below the
	// least normal float.
	CR_GPU_MESH_EXPONENT = 40,
	CR_GPU_MOST_CASTS = 1 << 20, // rays, or couples, at once
};

typedef struct cr_gpu_ray {
	float origin[3];
	union {
		float t_max;   // of a cast; finite
		int32_t place; // of a walk: where it begins (cr_collider.place); negative: nowhere
	};
	float direction[3];
	uint32_t job;
} cr_gpu_ray;

/// Common to rays of one kind: their mesh, and how far casts are followed backward (0: not at
/// all). Of the tiers of rays: the driver's structure, the boxes of the blocks that it is made of,
/// and the greatest absolute coordinate of the mesh.
typedef struct cr_gpu_cast_job {
	uint64_t nodes, blocks, across; // addresses: cr_gpu_surface_address
	uint64_t structure, boxes;
	float reach;
	float size;
} cr_gpu_cast_job;

/// Boxes are wider than the triangles of a block, on each side, by this part of the size:
/// shaders/mesh_line.glsl.
#define CR_GPU_BOX_PAD 0x1p-15

/// The nearest hits of a cast. CR_GPU_NO_HIT: none, its t is 0; else the number of the triangle,
/// with CR_GPU_BACK for a back face. Both CR_GPU_DOUBTFUL: the processor must cast the ray.
typedef struct cr_gpu_hit {
	uint32_t triangle;
	float t;
	uint32_t behind;
	float behind_t;
} cr_gpu_hit;
#define CR_GPU_BACK (1u << 31)
#define CR_GPU_NO_HIT 0x7fffffffu
#define CR_GPU_DOUBTFUL 0xffffffffu

/// How a walk ended: as cr_walk of bvh/bvh_kernels.h has it, or CR_GPU_DOUBTFUL.
typedef struct cr_gpu_walked {
	int32_t place;
	float t;
	uint32_t end;
	uint32_t visited; // triangles
} cr_gpu_walked;

/// Two triangles, by their places in the blocks of the two meshes of a job.
typedef struct cr_gpu_couple {
	int32_t place[2];
	uint32_t job;
	uint32_t unused;
} cr_gpu_couple;

/// Common to the couples of a pair of meshes. The second one is turned and moved into the frame of
/// the first.
typedef struct cr_gpu_couple_job {
	uint64_t blocks[2];
	double rotation[3][3], translation[3];
} cr_gpu_couple_job;

/// Items that go up, with jobs that several have in common, and a result of each that comes down.
typedef struct cr_gpu_lists {
	cr_gpu_buffer items, jobs, results;
	// In the place of those that the processor does not reach.
	CR_ARRAY(char) item_copy;
	CR_ARRAY(char) job_copy;
	CR_ARRAY(char) result_copy;
} cr_gpu_lists;

typedef struct cr_gpu_casts {
	cr_gpu_buffer surfaces;
	cr_gpu_buffer structures, scratch; // of the tiers of rays (vk_rays.h)
	cr_gpu_lists rays, couples;
	cr_gpu_buffer touched; // a word of a pair: set where one of its rays has hit
} cr_gpu_casts;

/// Rays of one submission: casts, then walks.
typedef struct cr_gpu_cast_batch {
	uint32_t casts, walks, jobs;
	uint32_t max_walk; // triangles that a walk may look at
	uint32_t pairs;    // of which it is noted whether they touch
	// Of casts. AUTO stands for COMPUTE; for the others all meshes have structures.
	carom_device_tier tier;
} cr_gpu_cast_batch;

// The device is locked in all of these (vk_commands.h).

/// Make room for bytes of meshes. Those that were there are gone if it was not large enough.
carom_result cr_gpu_reserve_surfaces(carom_device *device, cr_gpu_casts *casts, uint64_t bytes);
static inline uint64_t cr_gpu_surface_address(const cr_gpu_casts *casts, uint64_t place)
{
	return casts->surfaces.address + place;
}

/// Room for the rays and jobs of a batch: *rays and *jobs are to be written.
carom_result cr_gpu_open_casts(
	carom_device *device, cr_gpu_casts *casts, const cr_gpu_cast_batch *batch, cr_gpu_ray **rays, cr_gpu_cast_job **jobs);
/// With pairs: a word to be written for each ray: the number of its pair and 1 where a back face
/// ahead of it means that the pair touches, else 0. NULL: there are no pairs.
uint32_t *cr_gpu_cast_marks(cr_gpu_ray *rays, const cr_gpu_cast_batch *batch);
/// Begin to cast and walk them.
carom_result cr_gpu_start_casts(carom_device *device, cr_gpu_casts *casts, const cr_gpu_cast_batch *batch);
/// Wait until that is done, where it was begun with success. *hits [casts] and *walked [walks] hold
/// until the next batch is opened.
carom_result cr_gpu_end_casts(carom_device *device, cr_gpu_casts *casts, const cr_gpu_cast_batch *batch,
	const cr_gpu_hit **hits, const cr_gpu_walked **walked);

/// The parts of these, for rays in a submission with other work: bring the rays before it is
/// recorded, record, and take the hits when it is done.
carom_result cr_gpu_send_casts(carom_device *device, cr_gpu_casts *casts, const cr_gpu_cast_batch *batch);
void cr_gpu_record_casts(carom_device *device, cr_gpu_casts *casts, const cr_gpu_cast_batch *batch);
carom_result cr_gpu_take_casts(carom_device *device, cr_gpu_casts *casts, const cr_gpu_cast_batch *batch,
	const cr_gpu_hit **hits, const cr_gpu_walked **walked);

/// Room for couples and jobs: *couples [count] and *jobs [job_count] are to be written.
carom_result cr_gpu_open_couples(carom_device *device, cr_gpu_casts *casts, uint32_t count, uint32_t job_count,
	cr_gpu_couple **couples, cr_gpu_couple_job **jobs);
/// Test them. *pierced [count] holds until the next ones are opened.
carom_result cr_gpu_pierce(
	carom_device *device, cr_gpu_casts *casts, uint32_t count, uint32_t job_count, const cr_gpu_pierced **pierced);

void cr_gpu_free_casts(carom_device *device, cr_gpu_casts *casts);

#endif
