/// @file movie.h
/// A movie from pictures, made by the program ffmpeg: it is started with a pipe and fed raw frames.
#ifndef CAROM_TOOL_MOVIE_H
#define CAROM_TOOL_MOVIE_H

#include "view/image.h"

#include <signal.h>
#include <sys/types.h>

/// A movie being made. All zero is none.
typedef struct movie {
	const char *path; ///< the caller's; must stay valid
	char part[4104];  ///< where ffmpeg writes; renamed to path when all went well
	int pipe;         ///< to ffmpeg's input
	pid_t process;    ///< of ffmpeg, 0 when none runs
	struct sigaction old_sigpipe;
} movie;

/// Start ffmpeg for frames of width x height pixels, rate of them in a second. EXIT_DONE, or
/// EXIT_FAILED after a message. While a movie is open SIGPIPE is ignored, so that an ffmpeg that
/// ends early is an error and not our end.
int movie_open(movie *film, const char *path, int width, int height, double rate);

/// Add a frame, of the size given before. EXIT_DONE, or EXIT_FAILED after a message; abandon the
/// movie then.
int movie_add(movie *film, const view_image *image);

/// Finish the movie and give it its name. EXIT_DONE, or EXIT_FAILED after a message; nothing is
/// open in both cases.
int movie_close(movie *film);

/// End ffmpeg and remove the unfinished file. Nothing happens when no movie is open.
void movie_abandon(movie *film);

#endif
