/// Near pairs, compared by their bits.
#ifndef TESTS_NEAR_FIXTURE_H
#define TESTS_NEAR_FIXTURE_H

#include "carom/proximity.h"
#include "fixture.h"
#include <string.h>

static inline bool near_is_same(const carom_proximity_pair *a, const carom_proximity_pair *b)
{
	return a->kind == b->kind && a->type == b->type && a->mesh_a == b->mesh_a && a->mesh_b == b->mesh_b &&
		memcmp(a->vertices, b->vertices, sizeof a->vertices) == 0 && a->triangle == b->triangle &&
		memcmp(a->weight, b->weight, sizeof a->weight) == 0 && fixture_same_vector(a->point_a, b->point_a) &&
		fixture_same_vector(a->point_b, b->point_b) && a->distance2 == b->distance2 && a->gap == b->gap;
}

#endif
