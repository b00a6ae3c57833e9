/// Where the bodies come from that move in the coming step.
///
/// A body at rest has its pose alone. One that is moved gets a record of its last pose until the
/// step is made. Records lie in blocks, which grow and shrink with the number of bodies that move,
/// so that the many bodies of a world at rest do not pay for it.
#ifndef CR_WORLD_COURSES_H
#define CR_WORLD_COURSES_H

#include "base/array.h"
#include "frame/body.h"

/// The records of a world.
typedef struct cr_courses {
	CR_ARRAY(cr_course *) blocks; // each of CR_COURSES_EACH
	int64_t used;                 // of their records, from the first on
	cr_course *spare;             // of these: a list of those that no part has any more
	int64_t spare_count;
} cr_courses;

enum {
	CR_COURSES_EACH = 64,
	// So many parts always have room for theirs, so that to move them cannot fail.
	CR_COURSES_SURE = 4096,
};

/// Make room for count more records. false: out of memory.
bool cr_reserve_courses(carom_context *memory, cr_courses *courses, int64_t count);
/// Make room for those of all parts of a world, up to CR_COURSES_SURE. false: out of memory.
bool cr_reserve_sure_courses(carom_context *memory, cr_courses *courses, int64_t parts);
/// Take a record, for which there is room.
cr_course *cr_take_course(cr_courses *courses);
/// Let a part come from where it is: it has no record any more.
void cr_drop_course(cr_courses *courses, cr_body *part);
/// Let all parts of a body come from where they are now, but those that come from elsewhere
/// already. There is room for a record each. To be called before they get another pose.
void cr_leave_pose(cr_courses *courses, cr_body *first);
/// Forget all records, which no part has any more.
void cr_forget_courses(cr_courses *courses);
/// Forget them, and give back the memory of those that were not used. Parts keep the ones that they
/// shall always have.
void cr_reset_courses(carom_context *memory, cr_courses *courses, int64_t parts);
void cr_free_courses(carom_context *memory, cr_courses *courses);

#endif
