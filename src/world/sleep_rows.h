/// Places of rows of pairs, and of pairs of bodies, in their views: by these they are sorted.
#ifndef CR_WORLD_SLEEP_ROWS_H
#define CR_WORLD_SLEEP_ROWS_H

#include "world/sleep.h"

static inline cr_waking cr_place_of_pair(const carom_pair *p, int32_t record)
{
	return (cr_waking){ p->body_a, p->body_b, p->shape_a, p->shape_b, record };
}

static inline cr_waking cr_place_of_bodies(const carom_body_pair *p, int32_t record)
{
	return (cr_waking){ p->body_a, p->body_b, 0, 0, record };
}

/// The order of rows.
static inline int cr_compare_places(const cr_waking *a, const cr_waking *b)
{
	int order = cr_compare_ids(a->body_a, b->body_a);
	if (order == 0)
		order = cr_compare_ids(a->body_b, b->body_b);
	if (order == 0)
		order = (a->shape_a > b->shape_a) - (a->shape_a < b->shape_a);
	return order != 0 ? order : (a->shape_b > b->shape_b) - (a->shape_b < b->shape_b);
}

/// The number of a part of a body.
static inline int32_t cr_number_of_part(carom_body_id id, int32_t part) { return (int32_t)id.index1 - 1 + part; }

#endif
