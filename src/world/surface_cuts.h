/// Cloth and a closed mesh that cross: where edges of the one pierce faces of the other.
/// surface_cuts.c lists them, surface_caps.c leads parts of the mesh back that have come through
/// faces of the cloth, surface_arches.c leads edges of the cloth out of the mesh.
#ifndef CR_WORLD_SURFACE_CUTS_H
#define CR_WORLD_SURFACE_CUTS_H

#include "proximity/proximity_state.h"
#include "world/surface_contacts.h"

/// A cloth and a closed mesh that cross.
typedef struct cr_cut_pair {
	carom_world *world;
	int32_t cloth, solid; // members of the scene
	cr_placed of_cloth, of_solid;
	const cr_piercings *cloth_edges, *solid_edges; // by ends, then place, then triangle; each once
} cr_cut_pair;

/// Called for each pair that crosses. False when out of memory.
typedef bool cr_cut_pair_fn(const cr_cut_pair *pair, void *user);
/// Call it for all pairs of the last search, in order. False as soon as a call is false, or when
/// out of memory.
bool cr_visit_cut_pairs(carom_world *world, cr_cut_pair_fn *fn, void *user);

/// Where the piercings of an edge begin, lower end first, or would.
int64_t cr_first_piercing(const cr_piercings *list, int32_t low, int32_t high);

/// How many directions are tried for a way out.
enum { CR_DIRECTIONS = 26 };

/// A unit direction across a unit one.
static inline v3d cr_across(v3d along)
{
	return v3d_normalize(v3d_cross(along, fabs(along.x) < 0.5 ? (v3d){ 1, 0, 0 } : (v3d){ 0, 1, 0 }));
}

/// Directions to the faces, edges and corners of a cube whose axes are two unit vectors at right
/// angles, and the one across both.
void cr_look_around(v3d normal, v3d along, v3d around[CR_DIRECTIONS]);

// ---- The direction along which a region of cloth leaves ----

// About so many vertices of a region, and so many of the mesh around it, judge a direction.
enum { CR_REGION_SAMPLES = 64 };
// Cosine of the half of the cone in which nearest ways agree.
#define CR_WITHIN_CONE 0.5
// Cosine from which on a direction is against the cloth around the region: below it the cloth there
// goes over the shape rather than into it.
#define CR_AGAINST_RIM -0.4
// Nearest ways are not kept where they are against one of so many places around.
#define CR_LEAST_AGAINST 4
// One feature of so many may have another side than the others.
#define CR_LEAST_ALONG 8

/// How many features of a region have their way out on each side of the cloth.
typedef struct cr_sides_along {
	int64_t sides[2];
	int64_t count; // of all, also of those whose ways lead along the cloth
} cr_sides_along;

/// Count a feature by the normal of the cloth around it and its way out.
static inline void cr_count_side(cr_sides_along *along, v3d normal, v3d way)
{
	const double rise = v3d_dot(v3d_normalize(normal), way);
	along->count++;
	if (fabs(rise) >= CR_WITHIN_CONE)
		along->sides[rise > 0]++;
}
/// Are nearly all on one side?
static inline bool cr_lie_along(const cr_sides_along *along)
{
	const int64_t most = along->sides[0] > along->sides[1] ? along->sides[0] : along->sides[1];
	return CR_LEAST_ALONG * (along->count - most) <= along->count;
}

// Regions of one cloth would rather leave one shape to one side: a way against those of others
// counts as so many times as long.
#define CR_OPPOSED 3

/// Every how many of count are asked.
static inline int64_t cr_sample_stride(int64_t count) { return (count + CR_REGION_SAMPLES - 1) / CR_REGION_SAMPLES; }

/// How a direction does for a region: what speaks against it, and the sum of the ways out.
typedef struct cr_way_score {
	int64_t against;
	double lengths;
} cr_way_score;

typedef cr_way_score cr_way_score_fn(const void *region, v3d direction);
/// The best direction about a normal of the cloth: as little as possible speaks against it, then
/// the ways out are shortest.
v3d cr_best_way(v3d normal, cr_way_score_fn *score, const void *region);
/// The sum of the normals of the triangles around a place of a cloth.
v3d cr_normals_around(const cr_placed *cloth, const cr_fans *fans, int32_t place);

#endif
