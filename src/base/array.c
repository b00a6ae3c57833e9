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
