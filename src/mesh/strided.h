/// Reading of the caller's arrays of numbers (carom_strided), at any address and stride.
#ifndef CR_MESH_STRIDED_H
#define CR_MESH_STRIDED_H

#include "base/context.h"
#include "carom/mesh.h"
#include <string.h>

/// Bytes from one item of width numbers to the next.
static inline int64_t cr_strided_pitch(const carom_strided *view, int width)
{
	return view->stride != 0 ? view->stride : width * (int64_t)(view->type == CAROM_FLOAT64 ? sizeof(double) : sizeof(float));
}

/// Read the numbers [width <= 4] of an item.
static inline void cr_read_strided(const carom_strided *view, int width, int64_t item, double *numbers)
{
	const char *source = (const char *)view->data + item * cr_strided_pitch(view, width);
	if (view->type == CAROM_FLOAT64) {
		memcpy(numbers, source, (size_t)width * sizeof(double));
		return;
	}
	float narrow[4];
	memcpy(narrow, source, (size_t)width * sizeof(float));
	for (int k = 0; k < width; k++)
		numbers[k] = narrow[k];
}

/// Check an array of width numbers (1 or 3) for each of count items, reading none of them.
/// CAROM_INVALID_ARGUMENT with a text that begins with field; items: "vertices" or the like.
carom_result cr_check_strided(
	carom_context *context, const char *field, const carom_strided *view, int64_t count, const char *items, int width);

#endif
