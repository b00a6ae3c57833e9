/// Sets of items that grow together (union-find). parent [items]: at first each item is its own.
#ifndef CR_BASE_UNION_FIND_H
#define CR_BASE_UNION_FIND_H

#include <stdint.h>

/// The smallest item of a set, which names it. By path halving.
static inline uint32_t cr_find_root(uint32_t *parent, uint32_t item)
{
	while (parent[item] != item) {
		parent[item] = parent[parent[item]];
		item = parent[item];
	}
	return item;
}

/// Join two sets. The smaller root stays, so the result does not depend on the order.
static inline void cr_unite(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = cr_find_root(parent, a);
	b = cr_find_root(parent, b);
	parent[a < b ? b : a] = a < b ? a : b;
}

#endif
