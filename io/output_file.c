// Output files that appear whole or not at all.
#include "io/output_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool open_part(io_output_file *file, const char *path, const char *suffix, sim_error *error)
{
	memset(file, 0, sizeof *file);
	if (strlen(path) >= sizeof file->path) {
		return sim_fail(error, "the path is longer than %d characters", IO_PATH_MAX - 1);
	}
	strcpy(file->path, path);
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
