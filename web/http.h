/// @file http.h
/// Requests of browsers to the server of a live page (web/server.h), and the heads of its answers.
/// The part of HTTP/1.1 that is needed, and a refusal for all else.
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_REQUEST_MOST = 8192 }; ///< bytes of a request

/// Who asks for what.
typedef struct web_request {
	/// 0: the bytes are not a whole request yet; 200: it can be answered; else why it is refused
	int status;
	size_t size;    ///< bytes of the request
	bool only_head; ///< HEAD, not GET
	bool stays;     ///< the connection is kept for the next request
	bool is_frames; ///< /frames, not the page
	uint64_t after; ///< of /frames?after=N
} web_request;

/// Read a request that may be cut off: bytes [size]. It is refused unless it is a GET or HEAD for a
/// path that the server has, without a body, and its Host is this port of the loopback address:
/// other sites, whose names may be made to point here, get nothing.
web_request web_read_request(const char *bytes, size_t size, int port);

/// Write the head of an answer: text [room], a body of length bytes and of a type that follows it,
/// or NULL for one about a refusal, which is put in: 503 is a page that asks again after a second.
/// Returns its length; 0: there is too little room.
size_t web_write_answer(char *text, size_t room, const web_request *request, const char *type, uint64_t length);

#endif
