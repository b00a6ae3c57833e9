// Memory of cJSON: see json_memory.h.
#include "io/json_memory.h"

#include <cjson/cJSON.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static _Thread_local int s_failures;

static void *CJSON_CDECL allocate(size_t size)
{
	void *memory = malloc(size);
	s_failures += !memory;
	return memory;
}

static void CJSON_CDECL release(void *memory) { free(memory); }

int io_json_failures(void)
{
	static atomic_bool s_watched;
	cJSON_Hooks hooks = { allocate, release };
	if (!atomic_exchange(&s_watched, true))
		cJSON_InitHooks(&hooks); // memory from before is of malloc, too
	return s_failures;
}
