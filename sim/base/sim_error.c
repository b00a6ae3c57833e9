// The text of a failure: see sim_error.h.
#include "sim/base/sim_error.h"

#include <stdio.h>

bool sim_fail_list(sim_error *error, const char *format, va_list arguments)
{
	if (error) {
		vsnprintf(error->text, sizeof error->text, format, arguments);
	}
	return false;
}

bool sim_fail(sim_error *error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	sim_fail_list(error, format, arguments);
	va_end(arguments);
	return false;
}

bool sim_fail_in(sim_error *error, const char *format, ...)
{
	if (!error) {
		return false;
	}
	char text[SIM_ERROR_SIZE];
	snprintf(text, sizeof text, "%s", error->text);
	va_list arguments;
	va_start(arguments, format);
	const int used = vsnprintf(error->text, sizeof error->text, format, arguments);
	va_end(arguments);
	if (used >= 0 && (size_t)used < sizeof error->text) {
		snprintf(error->text + used, sizeof error->text - (size_t)used, "%s", text);
	}
	return false;
}
