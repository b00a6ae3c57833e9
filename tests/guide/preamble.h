/// What every program of a page of docs/guide begins with. docs/guide/README.md shows it.
#include <carom/carom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static carom_context *context;

static void check(carom_result result)
{
	if (result == CAROM_SUCCESS)
		return;
	fprintf(stderr, "%s\n", carom_error_text(context));
	exit(1);
}
