/// The walk over all that queries of a world may meet: bodies, and spheres of granular bodies.
#ifndef CR_WORLD_QUERY_INDEX_H
#define CR_WORLD_QUERY_INDEX_H

#include "carom/query.h"
#include "world/world.h"

/// An item that a query may meet: a part of a body, or a sphere of a granular body.
typedef struct cr_query_item {
	int32_t body;   // number of the part; -1: none
	int32_t sphere; // -1: of no granular body
} cr_query_item;

/// The number that results name beside the body (their member shape).
static inline int32_t cr_item_shape(const carom_world *world, cr_query_item item)
{
	return item.sphere >= 0 ? item.sphere : world->bodies.data[item.body].part;
}

/// The order in which equal answers count: below, at or above 0 as a comes before b.
static inline int cr_compare_items(cr_query_item a, cr_query_item b)
{
	return a.body != b.body ? (a.body < b.body ? -1 : 1) : (a.sphere > b.sphere) - (a.sphere < b.sphere);
}

/// A search among bodies and spheres, nearest first: key, keys and limit as in cr_box_search.
typedef struct cr_index_search {
	// one of them
	double (*key)(const void *user, const double lower[3], const double upper[3]);
	uint32_t (*keys)(const void *user, const cr_boxes8 *boxes, double key[CR_WIDTH]);
	/// Look at an item, in the form that queries see, which lives while the call runs; false to
	/// stop.
	bool (*visit)(void *user, cr_query_item item, const cr_body *seen, double *limit);
	void *user;
	const carom_query_filter *filter; // NULL: all
	/// Is a body that the filter lets through to be looked at? Of a granular body it is asked
	/// before the first sphere and behind each one. NULL: always.
	bool (*wants)(const void *user, int32_t body);
	double limit;
	/// The visit asks the filter's function: it passes over most items before.
	bool visit_asks;
	bool takes_lone; // as in cr_box_search
} cr_index_search;

/// Does the filter, without its function, let a part of a body through? NULL: always.
bool cr_query_passes(const carom_query_filter *filter, const carom_world *world, int32_t index);
/// Ask the function of a filter that there is, about an item that passes.
bool cr_ask_body_filter(const carom_query_filter *filter, const carom_world *world, cr_query_item item);
/// Does the function of a filter let an item through, if there is one?
static inline bool cr_query_accepts(const carom_query_filter *filter, const carom_world *world, cr_query_item item)
{
	return !filter || !filter->body_filter || cr_ask_body_filter(filter, world, item);
}

/// Make the tree if the world changed, and those over spheres that the search comes near, then
/// search. Any thread. Bodies without end come first.
carom_result cr_query_index_search(const carom_world *world, cr_index_search *search);

/// Search among the boxes of bodies alone, whatever they are. Any thread.
carom_result cr_search_body_boxes(const carom_world *world, cr_box_search *search);

/// Show a sphere of a granular body as a body of its own, in room, and any other body in the form
/// that queries see. NULL: *result tells why not.
const cr_body *cr_see_item(const carom_world *world, cr_query_item item, cr_body *room, carom_result *result);

/// Checks the shape of a query (no plane) and its pose, which is normalised; the text names the
/// function and the field.
carom_result cr_check_query_shape(
	const carom_world *world, const carom_shape *shape, const carom_pose *given, const char *function, carom_pose *pose);

/// Numbers of bodies, or items, which the context of the world pays for: cr_array_free.
typedef CR_ARRAY(int32_t) cr_body_list;
typedef CR_ARRAY(cr_query_item) cr_item_list;

/// Lists the parts of bodies, and the spheres of granular ones, that the filter lets through and
/// whose boxes come within margin of the box of a checked shape (no plane) at a checked pose,
/// sorted. Any thread. Nothing is to be freed on failure.
carom_result cr_list_near_items(const carom_world *world, const char *function, const carom_shape *shape,
	const carom_pose *pose, double margin, const carom_query_filter *filter, cr_item_list *list);

#endif
