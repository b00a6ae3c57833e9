/// Growth of arrays. See base/array.h.
#include "base/array.h"
#include <string.h>

bool cr_array_reserve_bytes(carom_context *context, void *data, int64_t *capacity, int64_t want, size_t element)
{
	if (want <= *capacity)
		return true;
	// Half as much again. Where a budget has no room for that, as large a part of it as there is
	// room for: an array that grew by one element at a time would be copied each time.
	int64_t extra = *capacity / 2;
	while (*capacity + extra > want && !cr_has_room(context, (size_t)(*capacity + extra) * element))
		extra /= 2;
	const int64_t grown = *capacity + extra > want ? *capacity + extra : want;
	void *bigger = cr_alloc_array(context, (size_t)grown, element);
	if (!bigger)
		return false;
	// data is the address of a pointer of another type: copied as bytes, which is allowed for any
	// type.
	void *old;
	memcpy(&old, data, sizeof old);
	if (old)
		memcpy(bigger, old, (size_t)*capacity * element);
	cr_free(context, old, (size_t)*capacity * element);
	memcpy(data, &bigger, sizeof bigger);
	*capacity = grown;
	return true;
}

void cr_array_trim_bytes(carom_context *context, void *data, int64_t count, int64_t *capacity, int64_t room, size_t element)
{
	const int64_t kept = room > count ? room : count;
	if (kept >= *capacity)
		return;
	void *smaller = cr_alloc_array(context, (size_t)kept, element);
	if (!smaller && kept > 0)
		return;
	void *old; // as in cr_array_reserve_bytes
	memcpy(&old, data, sizeof old);
	if (count > 0)
		memcpy(smaller, old, (size_t)count * element);
	cr_free(context, old, (size_t)*capacity * element);
	memcpy(data, &smaller, sizeof smaller);
	*capacity = kept;
}
