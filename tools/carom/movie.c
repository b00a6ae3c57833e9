// Movies through ffmpeg. No shell is involved: the arguments go to the program as they are,
// whatever characters a file name has.
#include "movie.h"

#include "options.h"
#include "program.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// Start ffmpeg with `input` as its standard input, and its output on our standard error. Returns
/// an errno, 0 when it runs.
static int start_ffmpeg(char *const arguments[], int input, pid_t *process)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	int failure = posix_spawn_file_actions_init(&actions);
	if (failure)
		return failure;
	failure = posix_spawnattr_init(&attributes);
	if (!failure) {
		failure = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
		failure = failure ? failure : posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
		failure = failure ? failure : posix_spawnattr_setsigdefault(&attributes, &defaults);
		failure = failure ? failure : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
		failure = failure ? failure : posix_spawnp(process, arguments[0], &actions, &attributes, arguments, environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return failure;
}

static int spawn_with_pipe(movie *film, char *const arguments[])
{
	int ends[2];
	if (pipe(ends) != 0)
		return errno;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	const int failure = start_ffmpeg(arguments, ends[0], &film->process);
	close(ends[0]);
	if (failure) {
		close(ends[1]);
		film->process = 0;
		return failure;
	}
	film->pipe = ends[1];
	return 0;
}

int movie_open(movie *film, const char *path, int width, int height, double rate)
{
	memset(film, 0, sizeof *film);
	film->path = path;
	if (strlen(path) > 4090)
		return report_error(path, "the path is too long");
	snprintf(film->part, sizeof film->part, "%s.part", path);
	struct stat status;
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return report_error(path, "a movie can only be written to a file");
	// Give now the error that ffmpeg would give after the first frames.
	FILE *probe = fopen(film->part, "wb");
	if (!probe)
		return report_error(path, "cannot be written: %s", strerror(errno));
	fclose(probe);

	char size[32], frames[32], output[4112];
	snprintf(size, sizeof size, "%dx%d", width, height);
	snprintf(frames, sizeof frames, "%.6g", rate);
	snprintf(output, sizeof output, "file:%s", film->part);
	// Players want even sizes and 4:2:0; the index goes to the front so that a browser can start
	// before all has arrived.
	char *const arguments[] = { "ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pixel_format",
		"rgb24", "-video_size", size, "-framerate", frames, "-i", "pipe:0", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt",
		"yuv420p", "-movflags", "+faststart", "-f", "mp4", output, NULL };
	const int failure = spawn_with_pipe(film, arguments);
	if (failure) {
		remove(film->part);
		if (failure == ENOENT)
			return report_error(path,
				"ffmpeg makes movies, and it is not installed (Debian: apt-get install ffmpeg); "
				"-o NAME%%04d.png writes a picture for each frame instead");
		return report_error(path, "cannot start ffmpeg: %s", strerror(failure));
	}
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigaction(SIGPIPE, &ignore, &film->old_sigpipe);
	return EXIT_DONE;
}

int movie_add(movie *film, const view_image *image)
{
	const uint8_t *bytes = image->pixels;
	size_t left = 3 * (size_t)image->width * (size_t)image->height;
	while (left > 0) {
		const ssize_t count = write(film->pipe, bytes, left);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return report_error(film->path, "ffmpeg stopped before the end of the movie");
		bytes += count;
		left -= (size_t)count;
	}
	return EXIT_DONE;
}

/// Close the pipe and wait. Returns whether ffmpeg says that all went well.
static bool end_ffmpeg(movie *film)
{
	close(film->pipe);
	int status = 0;
	pid_t ended;
	do
		ended = waitpid(film->process, &status, 0);
	while (ended < 0 && errno == EINTR);
	sigaction(SIGPIPE, &film->old_sigpipe, NULL);
	film->process = 0;
	return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int movie_close(movie *film)
{
	if (!end_ffmpeg(film)) {
		remove(film->part);
		return report_error(film->path, "ffmpeg failed to make the movie (its message stands above)");
	}
	if (rename(film->part, film->path) == 0)
		return EXIT_DONE;
	const int reason = errno;
	remove(film->part);
	return report_error(film->path, "cannot be written: %s", strerror(reason));
}

void movie_abandon(movie *film)
{
	if (film->process == 0)
		return;
	end_ffmpeg(film);
	remove(film->part);
}
