/// The memory of pairs of meshes from step to step, and how long it holds.
///
/// A pair that was worked out in full remembers the samples, and where it needed them the
/// triangles, that were near the other surface. While no two points that could touch have moved
/// against each other by more than that, nothing else can have come into contact, and a step only
/// looks at the remembered ones: the pair is iterative. Where nothing was near, the pair is known
/// to be apart. (Lehericey, Iterative and Predictive Ray-Traced Collision Detection for Multi-GPU
/// Architectures, 2013; the bound on the motion and the memory of triangles and of pairs apart are
/// ours. docs/temporal.md)
#ifndef CR_FRAME_TEMPORAL_H
#define CR_FRAME_TEMPORAL_H

#include "frame/broad.h"
#include "frame/changes.h"
#include "frame/frame.h"
#include "frame/pair_store.h"
#include "frame/settings.h"

/// A relative pose, from which displacements are measured.
typedef struct cr_reference {
	m3d rotation; // of b in a's frame
	v3d translation;
	// Of a and b: their paths, and the turns of their parts (cr_surface_parts). Nothing else counts
	// where one of them deforms.
	double path[2];
	uint32_t turns[2];
} cr_reference;

/// What a pair remembers a pose for.
typedef enum cr_role {
	CR_ROLE_APART, // a step in which the pair was apart: it still is
	CR_ROLE_FULL,  // the last full step: no sample can be inside but those watched
	CR_ROLE_NEAR,  // of its near triangles: a step without a ray hit
	CR_ROLE_GAPS,  // that step, or a later one in which the gaps were renewed
	CR_ROLES,
} cr_role;

/// The poses that a pair remembers: those of one step are kept once.
typedef struct cr_pose_set {
	uint32_t kept[CR_ROLES]; // of cr_kept.poses, the number + 1; 0: none
	uint8_t of[CR_ROLES];    // which of these a role has
} cr_pose_set;

/// A box in a body's frame.
typedef struct cr_part {
	v3d middle;
	v3d half;
} cr_part;

/// Triangles of two bodies that may touch, and until when no others can.
typedef struct cr_near_list {
	cr_span pairs;  // of cr_kept.near
	float lower[3]; // box of the triangles of b, in its frame
	float upper[3];
	double allowed;    // displacement from its pose up to which it holds
	double most_reach; // farther out the list was too long; 0: it never was
	// Of a pair whose vertices have contacts: the number of their set, which speaks for triangles.
	// Those have infinite gaps in the list. 0: there are none (contact/contact_vertices.h)
	uint64_t spoken;
	bool holds;
	bool wide;    // the numbers of two triangles do not fit in one word: those of b stand behind
	uint8_t bits; // else: of the number of b, which is the lower part
} cr_near_list;

/// Entries of cr_kept.near that a list of so many pairs takes.
static inline int32_t cr_near_room(const cr_near_list *list, int32_t count)
{
	return list->wide ? 2 * cr_lanes_of(count) : cr_lanes_of(count);
}

/// The contacts of a pair that followed from the poses and shapes alone.
typedef struct cr_rest {
	uint64_t run;     // the step that they are of (cr_pipeline.run); 0: there are none
	cr_span contacts; // of its list
	int32_t found;    // before they were reduced
} cr_rest;

/// Memory of one pair a < b of the broad phase. The fields that most pairs need come first.
typedef struct cr_pair_memory {
	bool valid;     // its full step and watched hold, and bodies and shapes are still those
	bool apart;     // up to the displacement apart_allowed
	bool touched;   // had contacts when it was last looked at
	bool ungrouped; // no worker group (src/lab) holds the pair yet
	uint8_t group;  // the one that does
	uint32_t generation[2];
	// sum of the bodies' paths up to which it is apart without a closer look
	double apart_until;
	double apart_allowed;
	cr_pose_set poses;
	double full_allowed;
	cr_span watched[2]; // of cr_kept.watches: samples of a against b, and of b against a
	cr_near_list near;
	cr_rest rest;
} cr_pair_memory;

/// Ask for memory that is soon read.
static inline void cr_prefetch(const void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += CR_CACHE_LINE)
		__builtin_prefetch((const char *)p + i);
}

typedef CR_ARRAY(int32_t) cr_slot_list;

typedef struct cr_temporal {
	CR_ARRAY(cr_pair_memory) slots;
	CR_ARRAY(int32_t) free;
	cr_pair_list pairs;     // of the last step, sorted
	cr_slot_list slot;      // [pairs] of the last step's pairs
	cr_slot_list next_slot; // [pairs of this step]
	// Pairs of two bodies at rest, whose slots wait until the pairs are looked at again.
	cr_pair_store parked;
	cr_slot_list parked_slot; // [records of parked]
} cr_temporal;

void cr_temporal_init(cr_temporal *temporal);

void cr_temporal_free(carom_context *context, cr_temporal *temporal);
/// The bodies of a step.
typedef struct cr_temporal_bodies {
	const cr_body *data;
	int64_t count;
	const cr_changes *changes; // as in a pipeline
} cr_temporal_bodies;

/// Give each pair of this step its slot (next_slot): that of the last step's, a parked one or a new
/// one. Slots of pairs that are no longer there are parked where both bodies are at rest, else
/// free. Both lists are sorted. False: out of memory, nothing has changed.
bool cr_temporal_match(
	carom_context *context, cr_temporal *temporal, const cr_temporal_bodies *bodies, const cr_pair_list *pairs);
/// Make this step's pairs the last step's, after it succeeded. False: out of memory; then forget.
bool cr_temporal_keep(carom_context *context, cr_temporal *temporal, const cr_pair_list *pairs);
/// How many numbers the memories of pairs have, the parked ones among them. Some have no memory.
static inline int64_t cr_count_memories(const cr_temporal *t) { return t->slot.count + t->parked.records.count; }
/// The memory of a number; NULL: none.
static inline cr_pair_memory *cr_memory_at(const cr_temporal *t, int64_t number)
{
	if (number < t->slot.count)
		return &t->slots.data[t->slot.data[number]];
	const int64_t record = number - t->slot.count;
	return t->parked.records.data[record].a < 0 ? NULL : &t->slots.data[t->parked_slot.data[record]];
}
/// Forget everything, after a step that failed half way.
void cr_temporal_forget(cr_temporal *temporal);

/// Transform of points of a to b's frame (side 0) or of b to a's (side 1), in float.
cr_transform cr_reference_transform(const cr_reference *reference, int side);

/// Where two bodies could touch: a ball around the part that their world boxes share.
typedef struct cr_shared_region {
	v3d centre; // world
	v3d half;   // of the box that the world boxes share
	double radius;
} cr_shared_region;

cr_shared_region cr_find_shared_region(const cr_body *a, const cr_body *b);

/// Upper bound of how far two points, one of each body, that now coincide in the region were apart
/// at a reference; now_rotation: of b in a's frame now. allowed: the displacement that whoever asks
/// can bear. Holds for both directions of the pair at once. (Lehericey 2013, Eq. 2.1, bounds it by
/// the largest radius of the two objects and the arc; that fails for points of the boxes' corners,
/// and is needlessly large elsewhere. Here the motion is taken at the centre of the region, and the
/// turn by its chord: |R x - R0 x| <= |R - R0|_F / sqrt(2) * |x|, since |R - R0|_F^2 = 8
/// sin^2(angle / 2).) Where that is more than is allowed, it is the greatest motion of a corner of
/// the box that the world boxes share, which costs more to find and is up to three times less. Of a
/// pair that deforms it is the growth of the paths of their parts in reach (temporal.c).
double cr_displacement(const cr_body *a, const cr_body *b, const cr_shared_region *region, const m3d *now_rotation,
	const cr_reference *reference, double allowed);

/// May the points of a pair move against each other otherwise than its relative pose does?
static inline bool cr_pair_deforms(const cr_body *a, const cr_body *b) { return cr_deforming_of(a) || cr_deforming_of(b); }
/// Note the paths of a pair, of which one may deform.
void cr_note_paths(const cr_body *a, const cr_body *b, cr_reference *now);
/// How far two points of a pair that deforms may have moved against each other since a reference,
/// if they are now within reach of each other or have passed each other.
double cr_motion_of_parts(
	const cr_body *a, const cr_body *b, const cr_shared_region *region, double reach, const cr_reference *then);

/// The greatest distance that a point of a part of b has moved in a's frame since a reference: that
/// of a corner, since the motion is affine.
double cr_part_displacement(const cr_part *part, const cr_reference *now, const cr_reference *reference);

/// Chord of the turn between two rotations: how far it moves a point at distance 1.
double cr_turn(const m3d *p, const m3d *q);
/// How far a point of the body may have moved since the last step. For bodies with a collider.
double cr_step_length(const cr_body *body);
/// The path after a step: never less than the true sum, however short the step is beside it.
double cr_path_after(double path, double step);
/// Sum of the paths of two bodies, path now, up to which the surfaces of a pair cannot have met
/// that has slack metres left of a displacement; turn: that of the pair since the reference.
double cr_path_until(double path, double slack, double turn);
/// How far the bodies have moved against each other since the last step, about, from which
/// thresholds are chosen (metres).
double cr_last_motion(const cr_body *a, const cr_body *b, const cr_shared_region *region);

/// The displacement to allow a pair until its next full step, from its last motion and the size
/// (extent) of the smaller body; 0: not worth remembering. A full step of cost F serves m / v steps
/// when m is allowed at v a step, and each of these looks at the samples within m, at a cost that
/// grows with m: F v / m + b m is least at m = sqrt(F v / b). F / b is a length: a share of the
/// body's size, measured on the avalanche (docs/measured/coherence.md).
double cr_choose_threshold(double motion, double size);
/// Does memory that bears a displacement last for enough steps at this motion?
bool cr_is_threshold_useful(double threshold, double motion);

/// The threshold of a pair: that of the settings, or share of the one chosen from its last motion.
/// ahead: of rays that are followed outward as far as that.
double cr_threshold_of(
	const cr_settings *settings, const cr_body *a, const cr_body *b, const cr_shared_region *region, double share, bool ahead);

#endif
