// Input files. See input_file.h.
#include "io/input_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { START_BYTES = 1 << 16 };

static bool give_up(io_input *input, sim_error *error, const char *what, int code)
{
	if (code)
		sim_fail(error, "%s: %s", what, strerror(code));
	else
		sim_fail(error, "%s", what);
	io_close_input(input);
	return false;
}

bool io_open_input(io_input *input, const char *path, sim_error *error)
{
	*input = (io_input){ .path = path, .stream = fopen(path, "rb") };
	if (!input->stream)
		return give_up(input, error, "cannot be opened", errno);
	struct stat status;
	input->regular = fstat(fileno(input->stream), &status) == 0 && S_ISREG(status.st_mode);
	input->size = input->regular ? (int64_t)status.st_size : INT64_MAX;
	input->start = malloc(START_BYTES + 1);
	if (!input->start)
		return give_up(input, error, "out of memory", 0);
	input->start_size = fread(input->start, 1, START_BYTES, input->stream);
	if (ferror(input->stream))
		return give_up(input, error, "cannot be read", errno);
	if (input->start_size == 0)
		return give_up(input, error, "is empty", 0);
	input->start[input->start_size] = '\0';
	return true;
}

size_t io_take_input(io_input *input, void *bytes, size_t size)
{
	const size_t kept = input->start_size - input->taken;
	const size_t first = size < kept ? size : kept;
	memcpy(bytes, input->start + input->taken, first);
	input->taken += first;
	return first < size ? first + fread((char *)bytes + first, 1, size - first, input->stream) : first;
}

char *io_take_rest(io_input *input, size_t *size, sim_error *error)
{
	size_t used = 0, capacity = 2 * START_BYTES;
	char *bytes = malloc(capacity);
	while (bytes) {
		const size_t wanted = capacity - used - 1;
		const size_t taken = io_take_input(input, bytes + used, wanted);
		used += taken;
		if (taken < wanted)
			break;
		capacity *= 2;
		char *larger = realloc(bytes, capacity);
		if (!larger)
			free(bytes);
		bytes = larger;
	}
	if (!bytes) {
		sim_fail(error, "out of memory");
		return NULL;
	}
	if (ferror(input->stream)) {
		sim_fail(error, "cannot be read: %s", strerror(errno));
		free(bytes);
		return NULL;
	}
	bytes[used] = '\0';
	*size = used;
	return bytes;
}

void io_close_input(io_input *input)
{
	if (input->stream)
		fclose(input->stream);
	free(input->start);
	*input = (io_input){ 0 };
}

bool io_has_extension(const char *path, const char *extension)
{
	const size_t length = strlen(path), tail = strlen(extension);
	return length > tail && strcasecmp(path + length - tail, extension) == 0;
}
