/// @file pieces.h
/// Which vertices of a mesh are connected: union-find with path halving. The lowest vertex of a
/// piece stands for it, whatever the order of the joins.
#ifndef CAROM_TOOL_PIECES_H
#define CAROM_TOOL_PIECES_H

#include <stdint.h>

/// The lowest vertex of the piece that holds a vertex. parents: each vertex its own at first.
static inline int32_t pieces_find(int32_t *parents, int32_t vertex)
{
	while (parents[vertex] != vertex) {
		parents[vertex] = parents[parents[vertex]];
		vertex = parents[vertex];
	}
	return vertex;
}

/// Make one piece of those that hold a and b.
static inline void pieces_join(int32_t *parents, int32_t a, int32_t b)
{
	a = pieces_find(parents, a);
	b = pieces_find(parents, b);
	parents[a > b ? a : b] = a > b ? b : a;
}

#endif
