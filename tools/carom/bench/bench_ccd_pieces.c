// Motions taken apart into connected pieces, so that impacts within a piece can be told from those
// between pieces.
#include "bench_ccd.h"

#include "tools/carom/pieces.h"

#include <stdlib.h>

/// Number the pieces in the order of their lowest vertices. piece [vertex_count] is filled; returns
/// how many there are.
static int32_t number_pieces(int32_t *parent, int32_t vertex_count, int32_t *piece)
{
	int32_t count = 0;
	for (int32_t i = 0; i < vertex_count; i++) {
		const int32_t root = pieces_find(parent, i);
		// the root is the lowest, so it has its number
		piece[i] = root == i ? count++ : piece[root];
	}
	return count;
}

/// first [count + 1]: where the items of each group begin when they are ordered by group.
static void find_firsts(const int32_t *group, int64_t items, int32_t count, int32_t *first)
{
	for (int64_t i = 0; i < items; i++)
		first[group[i] + 1]++;
	for (int32_t i = 0; i < count; i++)
		first[i + 1] += first[i];
}

void bench_find_pieces(const ccd_motion *motion, ccd_pieces *pieces)
{
	const int32_t vertices = motion->vertex_count, triangles = motion->triangle_count;
	int32_t *parent = bench_allocate((size_t)vertices, sizeof *parent);
	int32_t *piece = bench_allocate((size_t)vertices, sizeof *piece);
	int32_t *piece_of_triangle = bench_allocate((size_t)triangles, sizeof *piece_of_triangle);
	int32_t *local = bench_allocate((size_t)vertices, sizeof *local);
	for (int32_t i = 0; i < vertices; i++)
		parent[i] = i;
	for (int64_t i = 0; i < 3 * (int64_t)triangles; i++)
		pieces_join(parent, motion->triangles[i], motion->triangles[i - i % 3]);
	const int32_t count = number_pieces(parent, vertices, piece);
	for (int64_t i = 0; i < triangles; i++)
		piece_of_triangle[i] = piece[motion->triangles[3 * i]];

	*pieces = (ccd_pieces){ .count = count };
	pieces->first_vertex = bench_allocate((size_t)count + 1, sizeof *pieces->first_vertex);
	pieces->first_triangle = bench_allocate((size_t)count + 1, sizeof *pieces->first_triangle);
	pieces->vertices = bench_allocate((size_t)vertices, sizeof *pieces->vertices);
	pieces->triangles = bench_allocate((size_t)triangles, 3 * sizeof *pieces->triangles);
	find_firsts(piece, vertices, count, pieces->first_vertex);
	find_firsts(piece_of_triangle, triangles, count, pieces->first_triangle);

	int32_t *filled = bench_allocate((size_t)count, sizeof *filled);
	for (int32_t i = 0; i < vertices; i++) {
		local[i] = filled[piece[i]]++;
		pieces->vertices[pieces->first_vertex[piece[i]] + local[i]] = i;
	}
	for (int32_t i = 0; i < count; i++)
		filled[i] = 0;
	for (int64_t i = 0; i < triangles; i++) {
		const int32_t p = piece_of_triangle[i];
		int32_t *to = &pieces->triangles[3 * (int64_t)(pieces->first_triangle[p] + filled[p]++)];
		for (int k = 0; k < 3; k++)
			to[k] = local[motion->triangles[3 * i + k]];
	}
	free(filled);
	free(local);
	free(piece_of_triangle);
	free(piece);
	free(parent);
}

void bench_free_pieces(ccd_pieces *pieces)
{
	free(pieces->first_vertex);
	free(pieces->first_triangle);
	free(pieces->vertices);
	free(pieces->triangles);
	*pieces = (ccd_pieces){ 0 };
}
