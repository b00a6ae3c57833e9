/// @file server.h
/// The server of a live page: a process of its own, on the loopback address alone, which answers
/// browsers while a run goes on. The run hands it a page and frames, and never waits for a browser:
/// the process takes what it gets at once, and keeps the frames in memory for those who come late.
/// It ends with the run, however that ends.
///
/// Browsers get / (the page) and /frames?after=N: the frames with numbers above N, or the next one
/// as soon as there is one. An answer is any number of records, little endian: u32 kind (1: frame,
/// 2: the run has ended), u32 number, u32 size, u32 frames so far, and size bytes: those of the
/// frame, or UTF-8 about the end.
#ifndef WEB_SERVER_H
#define WEB_SERVER_H

#include "sim/base/sim_error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// A server that was started. All zero is none.
typedef struct web_server {
	pid_t process;
	int channel; ///< to the process
	int port;
} web_server;

/// Start it at a port; 0: one that is free. Call it before other threads are there. False, with the
/// reason in error, when the port is taken, or the system refuses.
bool web_server_start(web_server *server, int port, sim_error *error);

/// Set the page, or add a frame: bytes [size], copied. False when the process is gone; it is none
/// then.
bool web_server_set_page(web_server *server, const void *page, size_t size);
bool web_server_add_frame(web_server *server, const void *frame, size_t size);

/// Tell browsers that the run has ended, and how, and wait for the process. It goes at once when
/// nobody looks, else when they have what there is, after 5 s at most. None is fine.
void web_server_stop(web_server *server, const char *how);

#endif
