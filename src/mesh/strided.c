/// See strided.h.
#include "mesh/strided.h"

carom_result cr_check_strided(
	carom_context *context, const char *field, const carom_strided *view, int64_t count, const char *items, int width)
{
	if (view->type != CAROM_FLOAT32 && view->type != CAROM_FLOAT64)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "%s.type is %d, neither CAROM_FLOAT32 nor CAROM_FLOAT64", field, (int)view->type);
	if (count > 0 && !view->data)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "%s.data is NULL, but there are %lld %s", field, (long long)count, items);
	// A negative stride walks backwards; one shorter than an element is a stride given in elements.
	const int64_t packed = width * (int64_t)(view->type == CAROM_FLOAT64 ? sizeof(double) : sizeof(float));
	if (view->stride != 0 && view->stride < packed && view->stride > -packed)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s.stride is %lld bytes, less than the %lld of %s", field,
			(long long)view->stride, (long long)packed, width == 3 ? "three coordinates" : "a number");
	return CAROM_SUCCESS;
}
