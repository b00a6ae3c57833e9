// HTTP/1.1 of a live page: see http.h. A request is read from the beginning each time that more of
// it has come: they are short.
#include "web/http.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HOST_MOST = 64 };

/// A piece of the request.
typedef struct piece {
	const char *at;
	size_t size;
} piece;

static bool is_text(piece p, const char *text) { return p.size == strlen(text) && !memcmp(p.at, text, p.size); }

static bool is_word(piece p, const char *word) { return p.size == strlen(word) && !strncasecmp(p.at, word, p.size); }

/// Take what is before a mark off the front, and the mark. Without the mark that is all.
static piece take(piece *rest, const char *mark)
{
	const size_t length = strlen(mark);
	piece taken = { rest->at, 0 };
	while (taken.size + length <= rest->size && memcmp(rest->at + taken.size, mark, length) != 0)
		taken.size++;
	const bool found = taken.size + length <= rest->size;
	const size_t gone = found ? taken.size + length : rest->size;
	if (!found)
		taken.size = rest->size;
	*rest = (piece){ rest->at + gone, rest->size - gone };
	return taken;
}

static piece trim(piece p)
{
	while (p.size > 0 && (*p.at == ' ' || *p.at == '\t'))
		p = (piece){ p.at + 1, p.size - 1 };
	while (p.size > 0 && (p.at[p.size - 1] == ' ' || p.at[p.size - 1] == '\t'))
		p.size--;
	return p;
}

/// No control characters: a line end that stands alone, or a zero byte, has no business here.
static bool is_clean(piece line)
{
	for (size_t i = 0; i < line.size; i++) {
		const unsigned char c = (unsigned char)line.at[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/// A whole number of at most 18 digits.
static bool read_number(piece text, uint64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (!isdigit((unsigned char)text.at[i]))
			return false;
		*number = 10 * *number + (uint64_t)(text.at[i] - '0');
	}
	return text.size > 0 && text.size <= 18;
}

static int read_target(piece target, web_request *request)
{
	if (is_text(target, "/"))
		return 200;
	const piece path = take(&target, "?");
	if (!is_text(path, "/frames"))
		return 404;
	request->is_frames = true;
	const piece name = take(&target, "=");
	return is_text(name, "after") && read_number(target, &request->after) ? 200 : 400;
}

static int read_first_line(piece line, web_request *request)
{
	const piece method = take(&line, " "), target = take(&line, " ");
	request->only_head = is_text(method, "HEAD");
	request->stays = is_text(line, "HTTP/1.1");
	if (!request->stays && !is_text(line, "HTTP/1.0"))
		return line.size > 5 && !memcmp(line.at, "HTTP/", 5) ? 505 : 400;
	if (!request->only_head && !is_text(method, "GET"))
		return 405;
	return read_target(target, request);
}

static bool is_here(piece host, int port)
{
	static const char *const names[] = { "127.0.0.1", "localhost" };
	char text[HOST_MOST];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(text, sizeof text, "%s:%d", names[i], port);
		if (is_word(host, text) || (port == 80 && is_word(host, names[i])))
			return true;
	}
	return false;
}

/// Read one field. Returns 200, or why the request is refused.
static int read_field(piece line, int port, int *hosts, web_request *request)
{
	const piece name = take(&line, ":"), value = trim(line);
	uint64_t length;
	if (name.size == 0 || isspace((unsigned char)name.at[name.size - 1]) || isspace((unsigned char)name.at[0]))
		return 400;
	if (is_word(name, "host")) {
		++*hosts;
		return is_here(value, port) ? 200 : 403;
	}
	if (is_word(name, "transfer-encoding"))
		return 400;
	if (is_word(name, "content-length"))
		return read_number(value, &length) && length == 0 ? 200 : 400;
	if (is_word(name, "connection") && is_word(value, "close"))
		request->stays = false;
	return 200;
}

/// The refusals of fields go before that of the path: a foreign host is not told which paths there
/// are.
static int read_fields(piece fields, int port, web_request *request)
{
	int hosts = 0, status = 200;
	while (fields.size > 0 && status == 200) {
		const piece line = take(&fields, "\r\n");
		status = is_clean(line) ? read_field(line, port, &hosts, request) : 400;
	}
	return status == 200 && hosts != 1 ? 400 : status;
}

web_request web_read_request(const char *bytes, size_t size, int port)
{
	web_request request = { 0 };
	piece rest = { bytes, size };
	piece head = take(&rest, "\r\n\r\n");
	request.size = (size_t)(rest.at - bytes);
	if (head.size == size) {
		request.status = size >= WEB_REQUEST_MOST ? 431 : 0;
		return request;
	}
	const piece first = take(&head, "\r\n");
	const int line = is_clean(first) ? read_first_line(first, &request) : 400;
	const int fields = read_fields(head, port, &request);
	request.status = fields != 200 ? fields : line;
	if (request.status != 200)
		request.stays = false;
	return request;
}

static const char *words_of(int status)
{
	switch (status) {
	case 200: return "OK";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 431: return "Request Header Fields Too Large";
	case 503: return "Service Unavailable";
	case 505: return "HTTP Version Not Supported";
	default: return "Bad Request";
	}
}

/// The body of a refusal. A page that is not there yet asks again by itself, and for no icon.
static const char *refuse(int status, char *body, size_t room)
{
	if (status == 503) {
		snprintf(body, room,
			"<!doctype html>\n<meta http-equiv=\"refresh\" content=\"1\">\n<link rel=\"icon\" href=\"data:,\">\n"
			"<title>carom</title>\n<p>The run is making its bodies. This page will show it.\n");
		return "text/html; charset=utf-8";
	}
	snprintf(body, room, "%d %s\n", status, words_of(status));
	return "text/plain; charset=utf-8";
}

/// What a refusal says in its head beside its status.
static const char *field_of(int status)
{
	return status == 405 ? "Allow: GET, HEAD\r\n" : status == 503 ? "Retry-After: 1\r\n" : "";
}

size_t web_write_answer(char *text, size_t room, const web_request *request, const char *type, uint64_t length)
{
	char body[200] = "";
	if (!type) {
		type = refuse(request->status, body, sizeof body);
		length = strlen(body);
	}
	const int written = snprintf(text, room,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %llu\r\nConnection: %s\r\n%sCache-Control: no-store\r\n"
		"X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n"
		"Referrer-Policy: no-referrer\r\n\r\n%s",
		request->status, words_of(request->status), type, (unsigned long long)length, request->stays ? "keep-alive" : "close",
		field_of(request->status), request->only_head ? "" : body);
	return written > 0 && (size_t)written < room ? (size_t)written : 0;
}
