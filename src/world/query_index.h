/// The walk of the tree over bodies. world_query.h says when the tree is made.
#ifndef CR_WORLD_QUERY_INDEX_H
#define CR_WORLD_QUERY_INDEX_H

#include "world/world.h"

/// A search among bodies, nearest first by a key that the searcher gives to boxes (a ray's t, a
/// distance; 0 where order does not matter).
typedef struct cr_index_search {
	/// Key of a box in the world, or infinite to leave it out. Must not exceed the keys of the
	/// box's content.
	double (*key)(const void *user, const double lower[3], const double upper[3]);
	/// Look at a body; false to stop. May lower *limit: boxes with a higher key are passed over.
	bool (*visit)(void *user, int32_t body, double *limit);
	void *user;
	double limit;
} cr_index_search;

/// Make the tree if the world changed, then search. Any thread. Bodies without end come first.
carom_result cr_query_index_search(const carom_world *world, cr_index_search *search);

/// Checks the shape of a query (no plane) and its pose, which is normalised; the text names the
/// function and the field.
carom_result cr_check_query_shape(
	const carom_world *world, const carom_shape *shape, const carom_pose *given, const char *function, carom_pose *pose);

/// Numbers of parts of bodies, which the context of the world pays for: cr_array_free.
typedef CR_ARRAY(int32_t) cr_body_list;

/// Lists the parts of bodies that the filter lets through and whose boxes come within margin of the
/// box of a checked shape (no plane) at a checked pose, sorted. Any thread. Nothing is to be freed
/// on failure.
carom_result cr_list_near_bodies(const carom_world *world, const char *function, const carom_shape *shape,
	const carom_pose *pose, double margin, const carom_query_filter *filter, cr_body_list *list);

#endif
