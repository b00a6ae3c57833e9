/// Batches of elementary tests (carom/batch.h): the single ones of carom/geometry.h, over records
/// of vertices.

#include "base/parallel.h"
#include "carom/mesh_query.h"
#include "mesh/elements.h"
#include "world/world.h"

enum { MIN_RECORDS = 128 }; // of a piece: ten microseconds

/// One call. The outputs that it does not have, and those that the caller does not want, are NULL.
typedef struct element_batch {
	const carom_elements *elements;
	int size; // vertices of a record
	void *answers;
	carom_triangle_point *on_triangle[2];
	carom_edge_point *on_edge[2];
	/// Answers record i, whose vertices are at places.
	void (*test)(const struct element_batch *b, int64_t i, const carom_vec3 places[6]);
} element_batch;

static void test_piece(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const element_batch *b = task;
	for (int64_t i = begin; i < end; i++) {
		carom_vec3 places[6] = { { 0, 0, 0 } };
		for (int k = 0; k < b->size; k++)
			places[k] = cr_element_place(b->elements, b->size, i, k);
		b->test(b, i, places);
	}
}

static carom_result run(carom_context *context, const char *function, const char *answers_name, element_batch *b)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	const carom_result result = cr_check_elements(context, function, b->elements, b->size, NULL, false);
	if (result != CAROM_SUCCESS)
		return result;
	if (b->elements->count > 0 && !b->answers)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, answers_name);
	cr_parallel_for(context, test_piece, b->elements->count, MIN_RECORDS, b);
	return CAROM_SUCCESS;
}

/// Where a single test writes its point: the caller's record, zero where the test tells nothing; or
/// a place to forget.
static carom_triangle_point *triangle_out(const element_batch *b, int side, int64_t i, carom_triangle_point *unwanted)
{
	carom_triangle_point *out = b->on_triangle[side] ? &b->on_triangle[side][i] : unwanted;
	*out = (carom_triangle_point){ .number = 0 };
	return out;
}

static carom_edge_point *edge_out(const element_batch *b, int side, int64_t i, carom_edge_point *unwanted)
{
	carom_edge_point *out = b->on_edge[side] ? &b->on_edge[side][i] : unwanted;
	*out = (carom_edge_point){ .number = 0 };
	return out;
}

static void test_point(const element_batch *b, int64_t i, const carom_vec3 p[6])
{
	carom_triangle_point room;
	((double *)b->answers)[i] = carom_point_triangle_distance(p[0], p + 1, triangle_out(b, 0, i, &room));
}

carom_result carom_point_triangle_distances(
	carom_context *context, const carom_elements *elements, double *distances, carom_triangle_point *on_triangle)
{
	element_batch b = { elements, 4, distances, { on_triangle, NULL }, { NULL, NULL }, test_point };
	return run(context, "carom_point_triangle_distances", "distances", &b);
}

static void test_edges(const element_batch *b, int64_t i, const carom_vec3 p[6])
{
	carom_edge_point room[2];
	((double *)b->answers)[i] = carom_edge_edge_distance(p, p + 2, edge_out(b, 0, i, &room[0]), edge_out(b, 1, i, &room[1]));
}

carom_result carom_edge_edge_distances(
	carom_context *context, const carom_elements *elements, double *distances, carom_edge_point *on_a, carom_edge_point *on_b)
{
	element_batch b = { elements, 4, distances, { NULL, NULL }, { on_a, on_b }, test_edges };
	return run(context, "carom_edge_edge_distances", "distances", &b);
}

static void test_triangles(const element_batch *b, int64_t i, const carom_vec3 p[6])
{
	carom_triangle_point room[2];
	((double *)b->answers)[i] =
		carom_triangle_triangle_distance(p, p + 3, triangle_out(b, 0, i, &room[0]), triangle_out(b, 1, i, &room[1]));
}

carom_result carom_triangle_triangle_distances(carom_context *context, const carom_elements *elements, double *distances,
	carom_triangle_point *on_a, carom_triangle_point *on_b)
{
	element_batch b = { elements, 6, distances, { on_a, on_b }, { NULL, NULL }, test_triangles };
	return run(context, "carom_triangle_triangle_distances", "distances", &b);
}

static void test_intersection(const element_batch *b, int64_t i, const carom_vec3 p[6])
{
	((bool *)b->answers)[i] = carom_triangles_intersect(p, p + 3);
}

carom_result carom_triangle_pairs_intersect(carom_context *context, const carom_elements *elements, bool *intersect)
{
	element_batch b = { elements, 6, intersect, { NULL, NULL }, { NULL, NULL }, test_intersection };
	return run(context, "carom_triangle_pairs_intersect", "intersect", &b);
}

static void test_orientation(const element_batch *b, int64_t i, const carom_vec3 p[6])
{
	((int8_t *)b->answers)[i] = (int8_t)carom_orientation(p[0], p[1], p[2], p[3]);
}

carom_result carom_orientations(carom_context *context, const carom_elements *elements, int8_t *signs)
{
	element_batch b = { elements, 4, signs, { NULL, NULL }, { NULL, NULL }, test_orientation };
	return run(context, "carom_orientations", "signs", &b);
}
