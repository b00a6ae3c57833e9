/// Bodies of several parts: their records, where they are put, and the numbers that they get.
///
/// Each part is a body of detection at its own pose, so a pair of parts costs as much as a pair of
/// bodies. Parts lie side by side in the array of bodies: the order of parts is the order of their
/// bodies, and A of a pair of parts belongs to the body with the lower number.
#ifndef CR_WORLD_COMPOUND_H
#define CR_WORLD_COMPOUND_H

#include "frame/body.h"
#include "world/courses.h"

/// Numbers side by side.
typedef struct cr_range {
	int32_t first;
	int32_t count;
} cr_range;

/// Makes the record of the parts of a body, from a checked definition. memory pays.
carom_result cr_create_compound(carom_context *memory, const carom_body_def *def, cr_compound **compound);
/// Gives up one reference; NULL does nothing.
void cr_release_compound(carom_context *memory, cr_compound *compound);
/// Lets the body of a first part have its record alone: a copy, if snapshots share it. False: out
/// of memory, nothing has changed. O(parts).
bool cr_own_compound(carom_context *memory, cr_body *first);

/// Puts all parts of a body where its pose (normalised) takes them. first: its first part. What
/// they come from stays (cr_leave_pose).
void cr_place_body(cr_body *first, const carom_pose *pose);
/// Where a body at a pose has a part, at local in the body.
carom_pose cr_pose_to_part(const carom_pose *body, const carom_pose *local);
/// The pose of a body of which a part, at local in the body, is at a pose.
carom_pose cr_pose_from_part(const carom_pose *part, const carom_pose *local);
bool cr_are_equal_poses(const carom_pose *a, const carom_pose *b);
/// Lets the coming step of a body begin at a pose (normalised), for all its parts, which have left
/// theirs (cr_leave_pose).
void cr_begin_body(cr_body *first, const carom_pose *pose);
/// Lets a body rest where it is: its last pose is the present one.
void cr_rest_body(cr_courses *courses, cr_body *first);

/// How many parts a body has, and how many numbers it takes: those of parts to come are among them.
static inline int32_t cr_def_parts(const carom_body_def *def) { return def->part_count > 1 ? def->part_count : 1; }
static inline int32_t cr_def_numbers(const carom_body_def *def)
{
	return def->part_room > cr_def_parts(def) ? def->part_room : cr_def_parts(def);
}
/// Makes room for a body of count parts, so that cr_take_numbers cannot fail, nor cr_free_numbers
/// when the body goes.
carom_result cr_reserve_numbers(carom_world *world, int32_t count);
/// Finds the first of count numbers side by side: free ones (of several parts those that fit best),
/// or behind all bodies.
int32_t cr_find_numbers(const carom_world *world, int32_t count);
/// Takes the numbers that cr_find_numbers found.
void cr_take_numbers(carom_world *world, int32_t first, int32_t count);
/// Is no body's a number, nor kept by one for parts to come?
bool cr_is_free_number(const carom_world *world, int32_t number);
/// As cr_reserve_numbers and cr_take_numbers, for free numbers that the caller has chosen.
carom_result cr_reserve_chosen_numbers(carom_world *world, int32_t first, int32_t count);
void cr_take_chosen_numbers(carom_world *world, int32_t first, int32_t count);
/// Frees the numbers of a body.
void cr_free_numbers(carom_world *world, int32_t first, int32_t count);
/// Gives back many ranges of numbers of more than one part, in any order, as so many calls of
/// cr_free_numbers would: begin, then later for each range, whose parts have ended, then end. Costs
/// O(numbers of the world) in all, and takes no memory. Other numbers may be given back between.
void cr_begin_free_ranges(carom_world *world);
void cr_free_range_later(carom_world *world, int32_t first, int32_t count);
void cr_end_free_ranges(carom_world *world);

#endif
