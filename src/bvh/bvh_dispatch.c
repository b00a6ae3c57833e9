/// Choice of the wide kernels at run time, and the lists that they write.

#include "base/dispatch.h"
#include "bvh/bvh_kernels.h"
#include <string.h>

CR_DEFINE_KERNEL_GETTER(cr_bvh_kernels, cr_get_bvh_kernels)

bool cr_candidates_grow(cr_candidates *c, int32_t more)
{
	int64_t capacity = (int64_t)c->capacity * 2;
	if (capacity < (int64_t)c->count + more || !cr_has_room(c->arena->context, (size_t)capacity * sizeof(cr_candidate)))
		capacity = (int64_t)c->count + more + 192;
	cr_candidate *data = capacity <= INT32_MAX ? cr_arena_alloc(c->arena, (size_t)capacity * sizeof *data) : NULL;
	if (!data) {
		c->failed = true;
		return false;
	}
	if (c->count > 0)
		memcpy(data, c->data, (size_t)c->count * sizeof *data);
	c->data = data;
	c->capacity = (int32_t)capacity;
	return true;
}
