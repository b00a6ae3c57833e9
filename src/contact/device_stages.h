/// Shared by the files of the back end on a device (device_stages.c): its state, the meshes that
/// are there, and its stages.
///
/// The trees and triangles of meshes stay on the device, in one buffer, as long as they are those
/// that were copied there (cr_collider.revision). A stage sends its work in the order of the pairs,
/// and puts the results where the processor's own stage would. The processor does the work that the
/// device leaves open, and that of meshes that it cannot hold.
#ifndef CR_CONTACT_DEVICE_STAGES_H
#define CR_CONTACT_DEVICE_STAGES_H

#include "contact/contact.h"
#include "vulkan/gpu_casts.h"

/// A mesh on the device, or one that cannot be there.
typedef struct cr_held_mesh {
	uint64_t revision;           // of the collider; no two are the same
	const cr_collider *collider; // in the step of `run`
	uint64_t run;                // of the pipeline, when it was wanted last
	int64_t place;               // in the buffer; negative: not there yet
	uint64_t bytes;
	bool no_room; // it is too deep, too large or too odd
} cr_held_mesh;

/// Rays side by side in a list of the frame that have one target.
typedef struct cr_ray_group {
	cr_span rays;
	int32_t target; // body
	float reach;    // of casts: how far they are followed backward
	bool walks;
	int32_t job;    // of the batch; CR_NO_JOB: the processor does them
	uint32_t first; // ray of the batch
} cr_ray_group;
enum { CR_NO_JOB = -1 };

/// A pair of which a device tests meetings.
typedef struct cr_couple_group {
	int32_t work;
	uint32_t first; // of its meetings on the device
} cr_couple_group;

typedef struct cr_device_state {
	cr_gpu_casts casts;
	CR_ARRAY(cr_held_mesh) meshes; // sorted by revision
	uint64_t used;                 // bytes of the buffer
	// of the ray stage: casts, then walks; and of the batch that is under way
	CR_ARRAY(cr_ray_group) rays;
	int64_t begin, end;
	cr_gpu_ray *ray_items;
	cr_gpu_cast_job *ray_jobs;
	const cr_gpu_hit *hits;
	const cr_gpu_walked *walked;
	uint32_t cast_count; // of the batch
	// of the crossings stage
	CR_ARRAY(cr_couple_group) couples;
	cr_gpu_couple *couple_items;
	cr_gpu_couple_job *couple_jobs;
} cr_device_state;

/// The state of the back end; NULL: out of memory.
cr_device_state *cr_state_on_device(cr_pipeline *pipeline);
/// The device has failed, and the processor takes over where that is wanted. Returns whether it is.
bool cr_falls_back(cr_pipeline *pipeline);

// ---- Meshes (device_meshes.c) ----

typedef struct cr_mesh_addresses {
	uint64_t nodes, blocks, across;
} cr_mesh_addresses;

/// Note that a mesh is wanted in this step. false: out of memory.
bool cr_want_mesh(const cr_pipeline *pipeline, cr_device_state *state, const cr_collider *collider);
/// Bring the wanted meshes to the device that are not there. The device is locked.
carom_result cr_put_meshes(const cr_pipeline *pipeline, cr_device_state *state);
/// Can a mesh that was wanted be there?
bool cr_is_on_device(const cr_device_state *state, const cr_collider *collider);
/// Where it is, once it was put there.
cr_mesh_addresses cr_addresses_of(const cr_device_state *state, const cr_collider *collider);

// ---- Stages ----

carom_result cr_rays_on_device(cr_pipeline *pipeline);      // device_rays.c
carom_result cr_crossings_on_device(cr_pipeline *pipeline); // device_crossings.c

#endif
