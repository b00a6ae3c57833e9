/// Requests to the server of a live page (web/http.h), as bytes. The server itself is tested by tests/cli/view.sh.
#include "test.h"

#include "web/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 8123 };

/// The bytes are copied to a place of their own size, so that a look behind them is noticed.
static web_request read_request(const char *text, size_t size)
{
	char *bytes = malloc(size + 1);
	REQUIRE(bytes);
	memcpy(bytes, text, size);
	char *exact = realloc(bytes, size ? size : 1);
	const web_request request = web_read_request(exact ? exact : bytes, size, PORT);
	free(exact ? exact : bytes);
	return request;
}

static void check_status(int status, const char *text)
{
	if (!CHECK_INT(read_request(text, strlen(text)).status, status))
		printf("of: %s\n", text);
}

#define HOST "Host: 127.0.0.1:8123\r\n"

TEST(live_page, what_the_server_has_is_answered)
{
	const char *page = "GET / HTTP/1.1\r\n" HOST "Accept: text/html\r\n\r\n",
			   *next = "GET /frames?after=17 HTTP/1.1\r\nhost:LocalHost:8123 \r\n\r\n";
	web_request request = read_request(page, strlen(page));
	CHECK_INT(request.status, 200);
	CHECK(!request.is_frames && !request.only_head && request.stays);
	CHECK_INT(request.size, strlen(page));
	request = read_request(next, strlen(next));
	CHECK_INT(request.status, 200);
	CHECK(request.is_frames && request.after == 17);
	// Two at once: the first one alone is read.
	char both[400];
	snprintf(both, sizeof both, "%s%s", page, next);
	CHECK_INT(read_request(both, strlen(both)).size, strlen(page));
	check_status(200, "HEAD / HTTP/1.1\r\n" HOST "\r\n");
	CHECK(!read_request("GET / HTTP/1.0\r\n" HOST "\r\n", 40).stays);
	const char *closing = "GET / HTTP/1.1\r\n" HOST "Connection: Close\r\n\r\n";
	CHECK(!read_request(closing, strlen(closing)).stays);
	check_status(200, "GET /frames?after=999999999999999999 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
}

TEST(live_page, all_else_is_refused)
{
	static const struct {
		int status;
		const char *text;
	} refused[] = {
		{ 403, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n" },
		{ 403, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" },
		{ 403, "GET / HTTP/1.1\r\nHost: 127.0.0.1:81234\r\n\r\n" },
		{ 403, "GET / HTTP/1.1\r\nHost: 127.0.0.1:8123.example.org\r\n\r\n" },
		{ 403, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 403, "PUT / HTTP/1.1\r\nHost: a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost : 127.0.0.1:8123\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "X: a\nb\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nabcde" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n" },
		{ 400, "GET /\r\n" HOST "\r\n" },
		{ 400, "hello\r\n" HOST "\r\n" },
		{ 400, "\r\n\r\n" },
		{ 405, "POST / HTTP/1.1\r\n" HOST "\r\n" },
		{ 405, "get / HTTP/1.1\r\n" HOST "\r\n" },
		{ 405, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n" },
		{ 404, "GET /../etc/passwd HTTP/1.1\r\n" HOST "\r\n" },
		{ 404, "GET /%2e%2e/ HTTP/1.1\r\n" HOST "\r\n" },
		{ 404, "GET //frames?after=1 HTTP/1.1\r\n" HOST "\r\n" },
		{ 404, "GET http://127.0.0.1:8123/ HTTP/1.1\r\n" HOST "\r\n" },
		{ 404, "GET /?x HTTP/1.1\r\n" HOST "\r\n" },
		{ 400, "GET /frames HTTP/1.1\r\n" HOST "\r\n" },
		{ 400, "GET /frames?after= HTTP/1.1\r\n" HOST "\r\n" },
		{ 400, "GET /frames?after=1x HTTP/1.1\r\n" HOST "\r\n" },
		{ 400, "GET /frames?after=1&after=2 HTTP/1.1\r\n" HOST "\r\n" },
		{ 400, "GET /frames?after=9999999999999999999 HTTP/1.1\r\n" HOST "\r\n" },
		{ 505, "GET / HTTP/2.0\r\n" HOST "\r\n" },
	};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		check_status(refused[i].status, refused[i].text);
		CHECK(!read_request(refused[i].text, strlen(refused[i].text)).stays);
	}
}

TEST(live_page, every_prefix_waits_for_more)
{
	const char *text = "GET /frames?after=3 HTTP/1.1\r\n" HOST "User-Agent: a\r\n\r\n";
	for (size_t size = 0; size < strlen(text); size++)
		CHECK_INT(read_request(text, size).status, 0);
	char endless[WEB_REQUEST_MOST];
	memset(endless, 'a', sizeof endless);
	CHECK_INT(web_read_request(endless, sizeof endless - 1, PORT).status, 0);
	CHECK_INT(web_read_request(endless, sizeof endless, PORT).status, 431);
}

TEST(live_page, answers_keep_other_sites_out)
{
	char text[768];
	const web_request page = { .status = 200, .stays = true }, refused = { .status = 405 },
					  head = { .status = 404, .only_head = true }, early = { .status = 503 };
	size_t length = web_write_answer(text, sizeof text, &page, "text/html; charset=utf-8", 77);
	CHECK_INT(length, strlen(text));
	CHECK(strstr(text, "HTTP/1.1 200 OK\r\n") == text && strstr(text, "\r\nContent-Length: 77\r\n"));
	CHECK(strstr(text, "Cross-Origin-Resource-Policy: same-origin") && strstr(text, "X-Frame-Options: DENY") &&
		strstr(text, "nosniff"));
	CHECK(!strstr(text, "Access-Control"));
	CHECK(web_write_answer(text, sizeof text, &refused, NULL, 0) > 0);
	CHECK(strstr(text, "Allow: GET, HEAD\r\n") && strstr(text, "Connection: close\r\n") &&
		strstr(text, "\r\n\r\n405 Method Not Allowed\n"));
	CHECK(web_write_answer(text, sizeof text, &early, NULL, 0) > 0); // a browser asks again, and for no icon
	CHECK(strstr(text, "Retry-After: 1\r\n") && strstr(text, "Content-Type: text/html") &&
		strstr(text, "http-equiv=\"refresh\" content=\"1\"") && strstr(text, "rel=\"icon\" href=\"data:,\"") &&
		strstr(text, "show it.\n"));
	length = web_write_answer(text, sizeof text, &head, NULL, 0);
	CHECK(length > 4 && !strcmp(text + length - 4, "\r\n\r\n"));
	CHECK_INT(web_write_answer(text, 100, &page, "text/html", 1), 0);
}
