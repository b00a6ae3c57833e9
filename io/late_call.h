/// @file late_call.h
/// The body of a function that hands its call to the one of its name in a library that is loaded
/// late. Where there is none it does nothing, and returns `absent`.
#ifndef IO_LATE_CALL_H
#define IO_LATE_CALL_H

#include "io/late_library.h"

#include <string.h>

/// A pointer `real` to the function; memcpy, since C has no cast from data to a function.
#define IO_LATE_REAL(library, type, name, types)                      \
	static type(*real) types;                                         \
	void *const found = real ? NULL : io_late_symbol(library, #name); \
	if (found)                                                        \
	memcpy(&real, &found, sizeof real)

#define IO_LATE_CALL(library, type, absent, name, types, arguments) \
	{                                                               \
		IO_LATE_REAL(library, type, name, types);                   \
		return real ? real arguments : (absent);                    \
	}

#endif
