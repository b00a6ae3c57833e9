/// @file soft_levels.h
/// Coarse levels of the cloth, so that a pull at one end of a large sheet is felt at the other at
/// once (after Mueller, Hierarchical Position Based Dynamics, 2008). A level is a part of the
/// vertices of the one below it. Its neighbours are tied by tethers that let them come nearer but
/// not go farther apart than along the surface at the start; so a cloth in folds does not feel
/// them.
#ifndef SIM_SOFT_LEVELS_H
#define SIM_SOFT_LEVELS_H

#include "sim/cloth/soft_state.h"

enum { SOFT_MOST_LEVELS = 12, SOFT_MOST_PARENTS = 4 };

typedef struct soft_tether {
	int32_t vertices[2]; ///< of the level
	double taut;         ///< metres; farther apart they are pulled together by the solver
	double most;         ///< metres; farther apart, an edge between them is too long
} soft_tether;

/// Vertices of the level, or of the mesh, below move along with parents in this one.
typedef struct soft_parents {
	int32_t parent[SOFT_MOST_PARENTS];
	double weight[SOFT_MOST_PARENTS]; ///< of sum 1, or all 0
} soft_parents;

typedef struct soft_level {
	int32_t count;
	int32_t *vertices; ///< [count] of the mesh
	double *inverse_mass;
	double *place, *shift; ///< [3*count] of a visit
	soft_tether *tethers;  ///< by colour
	int64_t tether_count;
	soft_colors colors;
	soft_parents *parents; ///< [below]
	int32_t below;         ///< vertices of the level below; level 0 stands on the whole mesh
	void *memory;
	size_t size;
} soft_level;

struct soft_levels {
	soft_level level[SOFT_MOST_LEVELS]; ///< from fine to coarse
	int32_t count;
};

/// The levels of all surfaces whose stretch is limited, as they are now. NULL when memory is short.
soft_levels *soft_create_levels(const sim_soft *soft);
void soft_destroy_levels(const sim_soft *soft, soft_levels *levels);

#endif
