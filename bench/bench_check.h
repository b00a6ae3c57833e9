/// @file bench_check.h
/// Calls of the library in benches.
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "carom/carom.h"

#include <stdio.h>
#include <stdlib.h>

/// End the program, with the words of the library, where a call has failed. context: NULL where
/// there is none.
static inline void bench_check(const char *program, const carom_context *context, carom_result result)
{
	if (result == CAROM_SUCCESS)
		return;
	fprintf(stderr, "%s: %s\n", program, context ? carom_error_text(context) : "no context");
	exit(1);
}

#endif
