/// The memory of pairs of meshes: whether it still holds, and its renewal.
#ifndef CR_FRAME_MEMORY_H
#define CR_FRAME_MEMORY_H

#include "frame/pipeline.h"

/// Empty a memory unless it is of these bodies, with the shapes that they had.
void cr_claim_memory(const cr_body *a, const cr_body *b, cr_pair_memory *memory);
/// May a pair keep lists of samples and triangles? Not where a solid gets a mesh made once more,
/// whose samples have other numbers.
bool cr_pair_keeps_numbers(const cr_body *a, const cr_body *b);
/// Do the paths of the bodies alone say that the pair is still apart?
bool cr_is_known_apart(const cr_body *a, const cr_body *b, const cr_pair_memory *memory);
/// Is the pair still as far apart as when it was found to be? Notes the answer, and up to which
/// paths it holds.
bool cr_is_still_apart(const cr_pipeline *pipeline, const cr_body *a, const cr_body *b, const cr_shared_region *region,
	const m3d *now_rotation, cr_pair_memory *memory);
/// Is a pair that deforms, of which no pose is needed, still as far apart as it was found to be?
bool cr_parts_are_still_apart(const cr_pipeline *pipeline, const cr_body *a, const cr_body *b, cr_pair_memory *memory);
/// Let a memory have a pose for a role. false: out of memory; the pose that it had is gone then,
/// and the memory must not be used for that role.
bool cr_remember_pose(cr_worker *worker, cr_pair_memory *memory, cr_role role, const cr_reference *now);
/// Set the displacement that the memory of a full pair shall bear, and how far its rays are
/// followed outward.
void cr_choose_allowed(const cr_pipeline *pipeline, cr_pair_work *work);
/// How the samples of one side of an iterative pair have moved since its last full step. then: room
/// for the transform that it may point to.
cr_motion_since cr_motion_since_full(const cr_pipeline *pipeline, const cr_pair_work *work, int side, cr_transform *then);
/// How near a sample outside must be at a full step to be watched or told of.
float cr_entry_reach(const cr_pipeline *pipeline, const cr_pair_work *work);
/// Remember that a pair is apart by gap now, if there is memory for that.
void cr_remember_apart(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work, double gap);
/// Bring the memory of a pair, which has one, up to date after all its stages.
void cr_update_memory(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work, bool touched);

#endif
