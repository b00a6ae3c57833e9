/// @file serve.h
/// The work of the server's process: see server.h.
#ifndef WEB_SERVE_H
#define WEB_SERVE_H

#include <stddef.h>
#include <stdint.h>

/// Kinds of messages of the run: a head, and size bytes.
typedef enum web_message_kind { WEB_PAGE = 1, WEB_FRAME, WEB_END } web_message_kind;

typedef struct web_message_head {
	uint32_t kind;
	uint32_t spare;
	uint64_t size;
} web_message_head;

enum {
	WEB_CONNECTIONS = 16, ///< at a time
	WEB_FRAME_MB = 256,   ///< of frames; beyond it each second one is dropped
};

/// Answer browsers at listener (a socket that listens at port) and take messages from channel until
/// the run has ended. Does not touch anything else of the process.
void web_serve(int listener, int channel, int port);

#endif
