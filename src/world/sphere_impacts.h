/// Impacts of continuous granular bodies: when their spheres meet bodies of other kinds on their
/// ways through a step.
#ifndef CR_WORLD_SPHERE_IMPACTS_H
#define CR_WORLD_SPHERE_IMPACTS_H

#include "world/continuous.h"
#include "world/granular_bodies.h"
#include "world/part_tree.h"
#include "world/shape_impacts.h"

/// A part that spheres may meet on their ways.
typedef struct cr_impact_part {
	int32_t part;
	bool moves;
	cr_swept_body swept; // if it deforms
	const cr_body *seen; // if it deforms: its form at the end of the step; else NULL
} cr_impact_part;

typedef struct cr_sphere_impact_worker {
	cr_mover_scratch scratch;
	cr_body_impacts impacts;
	cr_block_list blocks;
	int64_t tests;
	bool failed; // out of memory
} cr_sphere_impact_worker;

/// Of the step that runs. The impacts themselves are among those of continuous bodies.
typedef struct cr_sphere_impacts {
	cr_listed_bodies bodies; // continuous granular ones, by number
	cr_listed_firsts first;
	CR_ARRAY(cr_impact_part) parts;
	CR_ARRAY(uint8_t) passes; // [bodies*parts] may they meet?
	cr_part_tree tree;        // of parts
	CR_ARRAY(cr_key) order;
	cr_sphere_impact_worker *workers; // [worker_count]; NULL: none made
	int32_t worker_count;
} cr_sphere_impacts;

/// Where a sphere of a granular body begins the step.
static inline v3d cr_sphere_begin(const cr_granular *g, int64_t number) { return v3d_from_doubles(cr_sphere_from(g, number)); }

/// Appends these impacts, and those of spheres with each other (world/meeting_spheres.h), to those
/// of continuous bodies, which were found, and puts all in order. On failure those of the last good
/// step stay.
carom_result cr_find_sphere_impacts(carom_world *world);
void cr_free_sphere_impacts(carom_context *memory, cr_sphere_impacts *impacts);

#endif
