/// The common part of queries of a shape at a pose: its box, which bodies they see, and whether it
/// touches one.
#ifndef CR_WORLD_OVERLAP_QUERY_H
#define CR_WORLD_OVERLAP_QUERY_H

#include "world/query_index.h"

/// A search for the bodies that touch a shape or a box.
typedef struct cr_overlap_search {
	const carom_world *world;
	const carom_query_filter *filter;
	const carom_shape *shape; // NULL: the box lower..upper itself
	carom_pose pose;
	double lower[3]; // of the box around the shape
	double upper[3];
	CR_ARRAY(int32_t) found; // each body once
	cr_item_list items;      // whose boxes are near, where these alone are asked for
	carom_result result;
} cr_overlap_search;

/// Searches with memory of the world; *visits is the result of the visits, NULL where they cannot
/// fail.
carom_result cr_search_bodies(
	const carom_world *world, const char *function, cr_index_search *search, const carom_result *visits);

/// Is a shape a mesh without triangles?
static inline bool cr_is_empty_shape(const carom_shape *shape)
{
	return shape->type == CAROM_MESH && shape->mesh->collider.triangle_count == 0;
}

/// Sets the box of the search to that of its shape at its pose.
void cr_bound_query(cr_overlap_search *search);
/// Does a body touch the shape or the box?
carom_result cr_test_overlap(const cr_overlap_search *search, const cr_body *body, bool *overlap);

#endif
