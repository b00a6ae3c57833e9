/// @file json_memory.h
/// Memory of cJSON. Its calls that add to an object say nothing where memory is short: a member is
/// missing, and the text looks whole. So its allocations are counted here where they fail.
#ifndef IO_JSON_MEMORY_H
#define IO_JSON_MEMORY_H

/// How often memory was short for cJSON on this thread so far. The first call of the process, which
/// must come before cJSON is used, begins to count and returns 0.
int io_json_failures(void);

#endif
