/// Impacts of the spheres of granular bodies with each other.
#ifndef CR_WORLD_MEETING_SPHERES_H
#define CR_WORLD_MEETING_SPHERES_H

#include "base/array.h"
#include "base/radix.h"
#include "carom/spheres.h"
#include "geom/ball_time.h"
#include "world/granular_bodies.h"

/// Two spheres that meet on their ways, by number among those of all bodies, a < b.
typedef struct cr_sphere_meeting {
	uint32_t a, b;
	double time; // infinite: left out
} cr_sphere_meeting;

typedef CR_ARRAY(cr_sphere_meeting) cr_meeting_list;

/// Of one worker.
typedef struct cr_meeting_worker {
	cr_meeting_list found;
	int64_t tests;
	bool failed; // out of memory
} cr_meeting_worker;

/// Of the step that runs; the detector is kept.
typedef struct cr_meeting_spheres {
	carom_spheres *detector; // NULL: none made
	cr_listed_bodies bodies; // granular ones, by number
	cr_listed_firsts first;
	CR_ARRAY(double) ways;      // [4*spheres] balls around whole ways
	cr_meeting_worker *workers; // [worker_count]; NULL: none made
	int32_t worker_count;
	cr_meeting_list all;
	CR_ARRAY(uint32_t) earliest; // [spheres] numbers of meetings; UINT32_MAX: none
	CR_ARRAY(cr_key) keys;       // [2*meetings] by their two bodies
} cr_meeting_spheres;

/// Appends the first impact of each sphere with another one to those of continuous bodies, in no
/// order. There is a continuous granular body. On failure those of the last good step stay.
carom_result cr_find_sphere_meetings(carom_world *world);
void cr_free_sphere_meetings(carom_context *memory, cr_meeting_spheres *meetings);

#endif
