/// @file served_request.h
/// What ask_command.c tells serve_command.c: a process of the command is wanted.
#ifndef TESTS_SERVED_REQUEST_H
#define TESTS_SERVED_REQUEST_H

#include <signal.h>
#include <stdint.h>

/// The environment variable that holds the path of the socket.
#define SERVED_AT "CAROM_SERVED_AT"

enum {
	SERVED_STREAMS = 3,               // standard input, output and error
	SERVED_FOLDER = SERVED_STREAMS,   // index of the working folder among the descriptors that are sent
	SERVED_FILES = SERVED_FOLDER + 1, // descriptors at most
};

/// The head of a request, with the descriptors beside it. Behind it come the words, each with a 0 at its end.
typedef struct served_request {
	uint32_t size;      // bytes of all words
	uint32_t arguments; // how many words are arguments; those behind them are the environment
	uint32_t words;
	uint32_t streams; // bit i: stream i is open
	uint32_t ignored; // bit s: the signal s is ignored
} served_request;

// Answers: each byte to the server is a signal for the process, and the end of the connection means that it is killed. The server's only
// answer is the status of the process as waitpid gives it, an int.

/// Signals that are handed on, and those of which it matters that they are ignored.
static const int served_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE };
enum { SERVED_SIGNALS = sizeof served_signals / sizeof served_signals[0], SERVED_HANDED_ON = SERVED_SIGNALS - 1 };

#endif
