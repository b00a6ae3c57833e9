// Input files as one piece of memory.
#include "sim/input_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Free what was read; the errno of the caller's failure survives.
static char *give_up(char *bytes, int code)
{
	free(bytes);
	errno = code;
	return NULL;
}

char *sim_read_rest(FILE *stream, const char *start, size_t start_size, size_t *size)
{
	size_t used = start_size, capacity = start_size + (1 << 16);
	char *bytes = malloc(capacity);
	if (!bytes)
		return give_up(NULL, ENOMEM);
	if (start_size)
		memcpy(bytes, start, start_size);
	while (!feof(stream) && !ferror(stream)) {
		if (used + 1 == capacity) {
			capacity *= 2;
			char *larger = realloc(bytes, capacity);
			if (!larger)
				return give_up(bytes, ENOMEM);
			bytes = larger;
		}
		used += fread(bytes + used, 1, capacity - used - 1, stream);
	}
	if (ferror(stream))
		return give_up(bytes, errno);
	bytes[used] = '\0';
	*size = used;
	return bytes;
}
