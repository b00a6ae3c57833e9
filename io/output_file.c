// Output files that appear whole or not at all.
#include "io/output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Where /dev/stdout leads: elsewhere than printing does once that was diverted.
static int stdout_stream = STDOUT_FILENO;

bool io_divert_stdout(void)
{
	if (stdout_stream != STDOUT_FILENO)
		return true;
	fflush(stdout);
	const int kept = dup(STDOUT_FILENO);
	if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return false;
	stdout_stream = kept;
	return true;
}

bool io_is_device(const char *path)
{
	struct stat status;
	return io_standard_stream(path) >= 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

int io_standard_stream(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	if (!strcmp(path, "/dev/stdout"))
		return stdout_stream;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (int i = 0; i < 2; i++) {
		const size_t length = strlen(folders[i]);
		char *end;
		if (strncmp(path, folders[i], length) != 0 || path[length] < '0' || path[length] > '9')
			continue;
		const long number = strtol(path + length, &end, 10);
		if (*end == 0 && number <= 1 << 20)
			return number == STDOUT_FILENO ? stdout_stream : (int)number;
	}
	return -1;
}

/// A stream of this process goes on where it is: a file behind it is neither cut nor replaced.
static bool open_stream(io_output_file *file, int number, sim_error *error)
{
	const int copy = dup(number);
	file->stream = copy < 0 ? NULL : fdopen(copy, "wb");
	if (file->stream)
		return true;
	sim_fail(error, "cannot be written: %s", strerror(errno));
	if (copy >= 0)
		close(copy);
	return false;
}

static bool open_part(io_output_file *file, const char *path, const char *suffix, sim_error *error)
{
	memset(file, 0, sizeof *file);
	if (strlen(path) >= sizeof file->path) {
		return sim_fail(error, "the path is longer than %d characters", IO_PATH_MAX - 1);
	}
	strcpy(file->path, path);
	const int number = io_standard_stream(path);
	if (number >= 0)
		return open_stream(file, number, error);
	struct stat status;
	const bool exists = stat(path, &status) == 0;
	if (exists && S_ISDIR(status.st_mode)) {
		return sim_fail(error, "is a folder; name a file");
	}
	// Renaming would replace a write-protected file or a device without a word.
	const bool direct = exists && !S_ISREG(status.st_mode);
	const bool refused = exists && access(path, W_OK) != 0;
	if (!direct)
		snprintf(file->part, sizeof file->part, "%s%s", path, suffix);
	if (!refused)
		file->stream = fopen(direct ? path : file->part, "wb");
	if (!file->stream)
		sim_fail(error, "cannot be written: %s", strerror(errno));
	return file->stream != NULL;
}

bool io_output_open(io_output_file *file, const char *path, sim_error *error) { return open_part(file, path, ".part", error); }

bool io_output_open_beside(io_output_file *file, const char *path, sim_error *error)
{
	return open_part(file, path, ".part.new", error);
}

bool io_output_take_part(io_output_file *file, sim_error *error)
{
	char part[sizeof file->part];
	if (!file->part[0]) // written directly
		return true;
	snprintf(part, sizeof part, "%s.part", file->path);
	errno = 0;
	if (fflush(file->stream) == 0 && !ferror(file->stream) && rename(file->part, part) == 0) {
		strcpy(file->part, part);
		return true;
	}
	return sim_fail(error, "cannot be written: %s", strerror(errno ? errno : EIO));
}

bool io_output_commit(io_output_file *file, sim_error *error)
{
	errno = 0;
	bool done = fflush(file->stream) == 0 && !ferror(file->stream);
	done = fclose(file->stream) == 0 && done;
	file->stream = NULL;
	if (done && file->part[0])
		done = rename(file->part, file->path) == 0;
	if (done)
		return true;
	sim_fail(error, "cannot be written: %s", strerror(errno ? errno : EIO));
	if (file->part[0])
		remove(file->part);
	return false;
}

void io_output_abandon(io_output_file *file)
{
	if (!file->stream)
		return;
	fclose(file->stream);
	file->stream = NULL;
	if (file->part[0])
		remove(file->part);
}
