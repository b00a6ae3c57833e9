// Output files that appear whole or not at all.
#include "io/output_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool open_part(sim_output_file *file, const char *path, const char *suffix, char *error, size_t error_size)
{
	memset(file, 0, sizeof *file);
	if (strlen(path) >= sizeof file->path) {
		snprintf(error, error_size, "the path is longer than %d characters", SIM_PATH_MAX - 1);
		return false;
	}
	strcpy(file->path, path);
	struct stat status;
	const bool exists = stat(path, &status) == 0;
	if (exists && S_ISDIR(status.st_mode)) {
		snprintf(error, error_size, "is a folder; name a file");
		return false;
	}
	// Renaming would replace a write-protected file or a device without a word.
	const bool direct = exists && !S_ISREG(status.st_mode);
	const bool refused = exists && access(path, W_OK) != 0;
	if (!direct)
		snprintf(file->part, sizeof file->part, "%s%s", path, suffix);
	if (!refused)
		file->stream = fopen(direct ? path : file->part, "wb");
	if (!file->stream)
		snprintf(error, error_size, "cannot be written: %s", strerror(errno));
	return file->stream != NULL;
}

bool sim_output_open(sim_output_file *file, const char *path, char *error, size_t error_size)
{
	return open_part(file, path, ".part", error, error_size);
}

bool sim_output_open_beside(sim_output_file *file, const char *path, char *error, size_t error_size)
{
	return open_part(file, path, ".part.new", error, error_size);
}

bool sim_output_take_part(sim_output_file *file, char *error, size_t error_size)
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
	snprintf(error, error_size, "cannot be written: %s", strerror(errno ? errno : EIO));
	return false;
}

bool sim_output_commit(sim_output_file *file, char *error, size_t error_size)
{
	errno = 0;
	bool done = fflush(file->stream) == 0 && !ferror(file->stream);
	done = fclose(file->stream) == 0 && done;
	file->stream = NULL;
	if (done && file->part[0])
		done = rename(file->part, file->path) == 0;
	if (done)
		return true;
	snprintf(error, error_size, "cannot be written: %s", strerror(errno ? errno : EIO));
	if (file->part[0])
		remove(file->part);
	return false;
}

void sim_output_abandon(sim_output_file *file)
{
	if (!file->stream)
		return;
	fclose(file->stream);
	file->stream = NULL;
	if (file->part[0])
		remove(file->part);
}
