/// Single queries, as the calls of the interface and the batches ask them. name begins their error
/// texts. Outputs that the interface checks for NULL are given. A query that fails finds nothing.
#ifndef CR_WORLD_SINGLE_QUERY_H
#define CR_WORLD_SINGLE_QUERY_H

#include "bvh/mover.h"
#include "carom/collide.h"
#include "world/query_index.h"

/// Hits, which the context of the world pays for: cr_array_free.
typedef CR_ARRAY(carom_ray_hit) cr_hit_list;

/// Hits of shapes, likewise.
typedef CR_ARRAY(carom_shape_hit) cr_shape_hit_list;

/// Contacts, likewise.
typedef CR_ARRAY(carom_contact) cr_contact_list;

/// May a query start at p? Farther away squares of distances leave the range of double, and nothing
/// is told from anything long before.
carom_result cr_check_position(carom_context *context, v3d p, const char *function, const char *field);
/// Checks a ray. The taken one's direction is in range; its t counts in scale of the caller's.
carom_result cr_take_ray(carom_context *context, const carom_ray *ray, const char *function, cr_query_ray *taken, double *scale);
/// Checks an array for results [capacity] and their number; field names the array.
carom_result cr_check_output(const carom_world *world, int32_t capacity, const void *output, const int32_t *count,
	const char *function, const char *field);
carom_result cr_check_max_distance(carom_context *context, double max_distance, const char *function);
carom_result cr_check_cast_tolerance(carom_context *context, double tolerance, const char *function);

carom_result cr_ask_ray(const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, const char *name,
	bool *found, carom_ray_hit *hit);
carom_result cr_ask_any_hit(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, const char *name, bool *found);
/// Appends all hits, sorted.
carom_result cr_ask_all_hits(
	const carom_world *world, const carom_ray *ray, const carom_query_filter *filter, const char *name, cr_hit_list *hits);
/// max_distance is checked.
carom_result cr_ask_closest_point(const carom_world *world, carom_vec3 point, double max_distance,
	const carom_query_filter *filter, const char *name, bool *found, carom_closest_point *result);
/// Makes the list of the numbers of the first parts of the bodies that touch a shape; empty on
/// failure.
carom_result cr_ask_overlap(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, const char *name, cr_body_list *list);
/// Does so for a box.
carom_result cr_ask_overlap_box(
	const carom_world *world, const carom_aabb *box, const carom_query_filter *filter, const char *name, cr_body_list *list);
/// Appends the contacts of a shape with bodies.
carom_result cr_ask_contacts(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	const carom_query_filter *filter, const char *name, cr_contact_list *contacts);
/// max_distance is checked.
carom_result cr_ask_closest_body(const carom_world *world, const carom_shape *shape, const carom_pose *pose,
	double max_distance, const carom_query_filter *filter, const char *name, bool *found, carom_closest_body *result);
/// tolerance is checked.
carom_result cr_ask_cast(const carom_world *world, const carom_shape *shape, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, cr_mover_scratch *scratch, const char *name, bool *found, carom_shape_hit *hit);
/// Appends the first hits of all bodies, sorted. tolerance is checked.
carom_result cr_ask_cast_all(const carom_world *world, const carom_shape *shape, const carom_motion *motion, double tolerance,
	const carom_query_filter *filter, cr_mover_scratch *scratch, const char *name, cr_shape_hit_list *hits);

// The answers of a batch where a query finds nothing (carom/batch.h).
static inline carom_ray_hit cr_no_ray_hit(void) { return (carom_ray_hit){ .t = INFINITY, .triangle = -1 }; }
static inline carom_closest_point cr_no_closest_point(void)
{
	return (carom_closest_point){ .distance = INFINITY, .triangle = -1 };
}
static inline carom_closest_body cr_no_closest_body(void) { return (carom_closest_body){ .distance = INFINITY }; }
static inline carom_shape_hit cr_no_shape_hit(void)
{
	return (carom_shape_hit){ .time = 1, .distance = INFINITY, .triangle = -1, .own_triangle = -1 };
}

carom_result cr_check_margin(carom_context *context, double margin, const char *function);
carom_result cr_check_tolerance(carom_context *context, double tolerance, const char *function);

// Of two shapes. The context is not NULL. margin and tolerance are checked.
carom_result cr_ask_distance(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, const char *name, carom_separation *separation);
/// carom_distance of two checked shapes that are no meshes, and not both planes, at poses that are
/// normalised.
void cr_separate_shapes(const carom_shape *const shapes[2], const carom_pose poses[2], carom_separation *separation);
/// *overlap is false on failure.
carom_result cr_ask_pair_overlap(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, const char *name, bool *overlap);
carom_result cr_ask_manifold(carom_context *context, const carom_shape *a, const carom_pose *pose_a, const carom_shape *b,
	const carom_pose *pose_b, double margin, const char *name, carom_manifold *manifold);
carom_result cr_ask_impact(carom_context *context, const carom_shape *a, const carom_motion *motion_a, const carom_shape *b,
	const carom_motion *motion_b, double tolerance, int64_t *work, const char *name, carom_toi *toi);

#endif
