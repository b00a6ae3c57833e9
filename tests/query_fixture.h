/// Answers of queries, compared bit for bit: what the tests of batches and of changes share.
#ifndef TESTS_QUERY_FIXTURE_H
#define TESTS_QUERY_FIXTURE_H

#include "fixture.h"
#include <string.h>

static inline bool query_same_hit(const carom_ray_hit *a, const carom_ray_hit *b)
{
	return fixture_same_id(a->body, b->body) && a->t == b->t && fixture_same_vector(a->point, b->point) &&
		fixture_same_vector(a->normal, b->normal) && a->triangle == b->triangle && a->u == b->u && a->v == b->v &&
		a->back_face == b->back_face && a->shape == b->shape && a->material == b->material && a->user_data == b->user_data;
}

static inline bool query_same_shape_hit(const carom_shape_hit *a, const carom_shape_hit *b)
{
	return fixture_same_id(a->body, b->body) && a->shape == b->shape && a->time == b->time && a->touching == b->touching &&
		a->distance == b->distance && fixture_same_vector(a->point, b->point) && fixture_same_vector(a->normal, b->normal) &&
		a->triangle == b->triangle && a->own_triangle == b->own_triangle && a->undecided == b->undecided &&
		a->material == b->material && a->own_material == b->own_material && a->user_data == b->user_data;
}

static inline bool query_same_closest(const carom_closest_point *a, const carom_closest_point *b)
{
	return fixture_same_id(a->body, b->body) && fixture_same_vector(a->point, b->point) &&
		fixture_same_vector(a->normal, b->normal) && a->distance == b->distance && a->triangle == b->triangle &&
		a->shape == b->shape && a->material == b->material && a->user_data == b->user_data;
}

static inline bool query_same_body(const carom_closest_body *a, const carom_closest_body *b)
{
	return fixture_same_id(a->body, b->body) && a->shape == b->shape && a->distance == b->distance &&
		fixture_same_vector(a->normal, b->normal) && fixture_same_vector(a->on_shape, b->on_shape) &&
		fixture_same_vector(a->on_body, b->on_body);
}

static inline bool query_same_contact(const carom_contact *a, const carom_contact *b)
{
	return fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b) && a->shape_b == b->shape_b &&
		memcmp(a->point, b->point, sizeof a->point) == 0 && memcmp(a->normal, b->normal, sizeof a->normal) == 0 &&
		a->depth == b->depth;
}

#endif
