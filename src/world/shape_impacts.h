/// Impacts of deforming bodies with rigid bodies of other shapes than meshes: which of their
/// vertices, edges and triangles meet a sphere, a box, a plane ... on the way through a step.
#ifndef CR_WORLD_SHAPE_IMPACTS_H
#define CR_WORLD_SHAPE_IMPACTS_H

#include "base/radix.h"
#include "frame/broad.h"
#include "geom/time_of_impact.h"
#include "surface/surface.h"

/// What a box stands for: a deforming body, or a part of a rigid one.
typedef struct cr_swept_body {
	int32_t part;     // number
	double travel[3]; // of a deforming body: how far its vertices move along each axis at most
	double lower[3];  // box of the motion
	double upper[3];
} cr_swept_body;

/// A vertex or a triangle that may meet a shape.
typedef struct cr_shape_candidate {
	int32_t pair;
	int32_t triangle; // -1: a vertex
	int32_t vertex;
} cr_shape_candidate;

typedef CR_ARRAY(carom_shape_impact) cr_shape_impact_list;
typedef CR_ARRAY(int32_t) cr_block_list;

typedef struct cr_shape_impacts {
	int32_t body_count; // deforming bodies that ask for these impacts
	cr_broad *broad;    // NULL: none made
	// Of the step that runs:
	CR_ARRAY(cr_body) boxes; // stand-ins of bodies, with boxes of their motions
	CR_ARRAY(cr_swept_body) bodies;
	cr_pair_list pairs;
	CR_ARRAY(cr_key) order;    // of pairs; of impacts of a pair
	cr_block_list blocks;      // of a tree, near a shape
	CR_ARRAY(uint8_t) used;    // by vertex: a triangle has it
	CR_ARRAY(cr_key) vertices; // near a shape
	CR_ARRAY(cr_shape_candidate) candidates;
	cr_shape_impact_list tested; // of a piece of the candidates
	cr_shape_impact_list next;
	int64_t tests;
	cr_shape_impact_list found; // of the last good step
} cr_shape_impacts;

/// Bound the motion of a surface: travel, and its box. False: it has no triangles.
bool cr_bound_surface(const cr_surface *surface, cr_swept_body *bounds);
/// The motion of a triangle of a surface through the step, about an origin.
cr_moving_triangle cr_surface_motion(const cr_surface *surface, int32_t triangle, v3d origin);
/// List the blocks of a surface's tree, seen as at the end of the step, whose triangles may be in a
/// box at any time of it. Returns how many there are, or -1 when out of memory. Any thread.
int32_t cr_find_swept_blocks(carom_world *world, const cr_surface *surface, const cr_body *seen, const double travel[3],
	const double lower[3], const double upper[3], cr_block_list *blocks);

/// Finds these impacts, into next. On failure found stays.
carom_result cr_find_shape_impacts(carom_world *world);
/// Makes next the impacts of the last good step. Cannot fail.
void cr_take_shape_impacts(cr_shape_impacts *impacts);
/// Adds to a hash, which stays as it is where there are none.
uint64_t cr_hash_shape_impacts(const cr_shape_impacts *impacts, uint64_t hash);
/// Give back all memory but that of the impacts of the last good step.
void cr_trim_shape_impacts(carom_context *memory, cr_shape_impacts *impacts);
void cr_shape_impacts_free(carom_context *memory, cr_shape_impacts *impacts);

#endif
