/// Growing arrays of plain data. Growth may fail; the old content is then untouched.
#ifndef CR_BASE_ARRAY_H
#define CR_BASE_ARRAY_H

#include "base/context.h"

/// Declare an array type: CR_ARRAY(int32_t) indices; zero is empty.
#define CR_ARRAY(type)    \
	struct {              \
		type *data;       \
		int64_t count;    \
		int64_t capacity; \
	}

/// Make room for at least want elements in all; false when out of memory. Grows by half at least,
/// while there is room for that.
#define cr_array_reserve(context, array, want) \
	cr_array_reserve_bytes((context), &(array)->data, &(array)->capacity, (want), sizeof *(array)->data)
/// Make room where the elements may be lost: never both old and new memory at once, and nothing is
/// copied.
#define cr_array_reserve_fresh(context, array, want) \
	((want) <= (array)->capacity || (cr_array_free((context), (array)), cr_array_reserve((context), (array), (want))))
/// Room for one more element: no call while there is some.
#define cr_array_reserve_one(context, array) \
	((array)->count < (array)->capacity || cr_array_reserve((context), (array), (array)->count + 1))
/// Give back the memory behind the first `room` elements, or all behind those that there are. Where
/// there is no memory for the smaller copy, the array stays as it is.
#define cr_array_trim(context, array, room) \
	cr_array_trim_bytes((context), &(array)->data, (array)->count, &(array)->capacity, (room), sizeof *(array)->data)
/// Release the memory and make the array empty.
#define cr_array_free(context, array)                                                                            \
	(cr_free((context), (array)->data, (size_t)(array)->capacity * sizeof *(array)->data), (array)->data = NULL, \
		(array)->count = (array)->capacity = 0)

/// The function behind cr_array_reserve. data is the address of the pointer.
bool cr_array_reserve_bytes(carom_context *context, void *data, int64_t *capacity, int64_t want, size_t element);
/// That behind cr_array_trim.
void cr_array_trim_bytes(carom_context *context, void *data, int64_t count, int64_t *capacity, int64_t room, size_t element);

#endif
