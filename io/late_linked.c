// Stands in for late_library.c where a program is linked with the libraries themselves.
#include "io/late_library.h"

#include <stddef.h>

const char *io_late_problem(io_late library)
{
	(void)library;
	return NULL;
}
