/// The tree over bodies that user queries walk. It is made at the first query after a change of the
/// world, behind a const world and under a lock, so that queries may come from many threads at
/// once.
#ifndef CR_WORLD_WORLD_QUERY_H
#define CR_WORLD_WORLD_QUERY_H

#include "carom/query.h"

typedef struct cr_query_index cr_query_index;

/// Make an index without content. memory pays for it and its content. NULL when out of memory.
cr_query_index *cr_query_index_create(carom_context *memory);
void cr_query_index_destroy(cr_query_index *index);
/// Boxes changed: bodies were added, removed or moved. The next query makes another tree.
void cr_query_index_invalidate(cr_query_index *index);

#endif
