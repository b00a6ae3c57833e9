// What is installed beside the running program: see own_place.h.
#include "io/own_place.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool io_own_place(const char *name, char path[IO_PATH_MAX])
{
	const ssize_t length = readlink("/proc/self/exe", path, IO_PATH_MAX - 1);
	path[length > 0 ? length : 0] = 0;
	char *slash = strrchr(path, '/');
	char *end = slash ? slash + 1 : path;
	const size_t room = IO_PATH_MAX - (size_t)(end - path);
	if (slash && (size_t)snprintf(end, room, "%s", name) < room)
		return true;
	path[0] = 0;
	return false;
}
