// Requests to the server of a live page: whatever bytes come, they are not whole yet, or answered, or refused, and only what the server
// has is ever answered.
#include "fuzz.h"

#include "web/http.h"

#include <string.h>

static void seeds(fuzz_keep_fn *keep, void *user)
{
	static const char *const texts[] = { "GET / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n",
		"GET /frames?after=12 HTTP/1.1\r\nhost: localhost:8000\r\nAccept: */*\r\nConnection: close\r\n\r\n",
		"HEAD / HTTP/1.0\r\nHost: 127.0.0.1:8000\r\nContent-Length: 0\r\n\r\n" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char name[] = { 'r', (char)('0' + i), 0 };
		keep(name, texts[i], strlen(texts[i]), user);
	}
}

/// Does a piece of text stand somewhere in the request, capital or small?
static bool holds(const uint8_t *data, size_t size, const char *text)
{
	const size_t length = strlen(text);
	for (size_t i = 0; i + length <= size; i++) {
		size_t k = 0;
		while (k < length && ((data[i + k] | 0x20) == (uint8_t)(text[k] | 0x20)))
			k++;
		if (k == length)
			return true;
	}
	return false;
}

FUZZ_TARGET(http, seeds, false)
{
	char answer[768];
	const web_request request = web_read_request((const char *)data, size, 8000);
	FUZZ_REQUIRE(request.size <= size, "%zu of %zu bytes", request.size, size);
	if (request.status == 0)
		return false;
	const size_t length = web_write_answer(answer, sizeof answer, &request, request.status == 200 ? "text/html" : NULL, 12345);
	FUZZ_REQUIRE(length > 0 && length < sizeof answer, "%zu", length);
	if (request.status != 200) {
		FUZZ_REQUIRE(!request.stays, "status %d", request.status);
		return false;
	}
	FUZZ_REQUIRE(holds(data, request.size, "host:") &&
			(holds(data, request.size, "127.0.0.1:8000") || holds(data, request.size, "localhost:8000")),
		"a foreign host");
	FUZZ_REQUIRE(holds(data, request.size, "GET ") || holds(data, request.size, "HEAD "), "a method");
	FUZZ_REQUIRE(!request.is_frames || holds(data, request.size, "/frames?after="), "a path");
	return true;
}
