/// The impacts of a world's deforming bodies: one swept scene over all of them and over the rigid
/// meshes that they may meet.
#ifndef CR_WORLD_IMPACTS_H
#define CR_WORLD_IMPACTS_H

#include "carom/world.h"
#include "world/members.h"

typedef struct cr_impacts {
	int32_t deforming_count; // bodies that deform
	carom_sweep *sweep;      // NULL: none made
	cr_membership members;
	carom_sweep_hits hits; // of the step that runs, by mesh of the sweep
	// Of the last good step:
	CR_ARRAY(carom_impact) found;
	int64_t earliest; // in found, -1: none
	carom_sweep_stats stats;
} cr_impacts;

/// Find the impacts of the step that bodies have before them: hits. On failure those of the last
/// good step stay, and the call may be made again.
carom_result cr_find_impacts(carom_world *world);
/// Make them those of the last good step. Cannot fail.
void cr_take_impacts(carom_world *world);
/// Add to a hash, which stays as it is when there are none.
uint64_t cr_hash_impacts(const cr_impacts *impacts, uint64_t hash);
/// Drop the scene: triangles of a body in it are others. The next step makes it again.
void cr_forget_impact_scene(cr_impacts *impacts);
/// Give back the scene, and all memory but that of the impacts of the last good step.
void cr_trim_impacts(carom_context *memory, cr_impacts *impacts);
void cr_impacts_free(carom_context *memory, cr_impacts *impacts);

#endif
