// The server's process: one loop over poll(2). It reads messages of the run, keeps the page and the
// frames, and writes answers as fast as each browser takes them. A browser that is slow holds up
// nobody: its answer is a copy in its own connection, and what it misses meanwhile it gets with its
// next question. No call here waits but poll.
#include "web/serve.h"

#include "sim/base/sim_clock.h"
#include "web/http.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	ANSWER_HEAD = 768,   // bytes, most, with the text of a refusal
	RECORD_HEAD = 16,    // bytes
	ANSWER_MB = 8,       // of frames in an answer, about
	READ_SIZE = 1 << 18, // bytes of a message at a time
	IDLE_MS = 10000,     // before a connection that does nothing is closed
	PARKED_MS = 10000,   // before a question for the next frame gets an empty answer
	END_MS = 5000,       // that browsers have for the end of a run, most
	MOST_MESSAGE_MB = 1 << 12,
};

typedef struct frame {
	uint64_t number; // from 1
	size_t size;
	unsigned char *bytes;
} frame;

typedef struct connection {
	int fd; // -1: none
	char in[WEB_REQUEST_MOST];
	size_t in_size;
	unsigned char *out; // NULL: no answer is being written
	size_t out_size, out_at;
	bool parked;  // its question waits for a frame
	bool follows; // it has asked for frames
	bool told;    // the answer that is being written, or was the last one, tells the end
	web_request request;
	double since; // ms: of the last byte that went either way, or of its question
} connection;

typedef struct server {
	int listener, channel, port;
	// The message that is being read; body is NULL while the head is.
	web_message_head head;
	size_t got;
	unsigned char *body;
	unsigned char *page;
	size_t page_size;
	frame *frames;
	size_t frame_count, frame_room, frame_bytes;
	uint64_t last_number;
	char *how; // the run ended; NULL: it goes on
	double ended;
	connection connections[WEB_CONNECTIONS];
} server;

// ---- Frames ----

static void drop_frame(server *s, frame *f)
{
	s->frame_bytes -= f->size;
	free(f->bytes);
	f->bytes = NULL;
}

/// Drop each second frame, never the first and the last.
static void thin(server *s)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->frame_count; i++) {
		if (i % 2 == 1 && i + 1 < s->frame_count)
			drop_frame(s, &s->frames[i]);
		else
			s->frames[kept++] = s->frames[i];
	}
	s->frame_count = kept;
}

/// Takes bytes. A frame for which there is no room is left out.
static void add_frame(server *s, unsigned char *bytes, size_t size)
{
	s->last_number++;
	if (s->frame_count == s->frame_room) {
		const size_t room = 2 * s->frame_room + 256;
		frame *more = realloc(s->frames, room * sizeof *more);
		if (!more) {
			free(bytes);
			return;
		}
		s->frames = more;
		s->frame_room = room;
	}
	s->frames[s->frame_count++] = (frame){ s->last_number, size, bytes };
	s->frame_bytes += size;
	while (s->frame_bytes > ((size_t)WEB_FRAME_MB << 20) && s->frame_count > 2)
		thin(s);
}

/// The number of frames with numbers up to one.
static size_t frames_up_to(const server *s, uint64_t number)
{
	size_t low = 0, high = s->frame_count;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (s->frames[middle].number <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// ---- Messages ----

static void end_run(server *s, const char *how)
{
	if (s->how)
		return;
	s->how = strdup(how);
	if (!s->how)
		_exit(0);
	s->ended = sim_now_ms();
}

static void take_message(server *s)
{
	unsigned char *body = s->body;
	const size_t size = (size_t)s->head.size;
	s->body = NULL;
	s->got = 0;
	if (s->head.kind == WEB_FRAME) {
		add_frame(s, body, size);
		return;
	}
	if (s->head.kind == WEB_PAGE) {
		free(s->page);
		s->page = body;
		s->page_size = size;
		return;
	}
	body[size] = 0;
	end_run(s, (const char *)body);
	free(body);
}

/// Read some of a message. False at the end of the channel: the run is gone.
static bool read_channel(server *s)
{
	const bool in_head = !s->body;
	char *to = in_head ? (char *)&s->head : (char *)s->body;
	const size_t size = in_head ? sizeof s->head : (size_t)s->head.size, left = size - s->got;
	const ssize_t count = recv(s->channel, to + s->got, left < READ_SIZE ? left : READ_SIZE, MSG_DONTWAIT);
	if (count <= 0)
		return count < 0 && (errno == EAGAIN || errno == EINTR);
	s->got += (size_t)count;
	if (s->got < size)
		return true;
	if (!in_head) {
		take_message(s);
		return true;
	}
	s->got = 0;
	s->body = s->head.size >> 20 < MOST_MESSAGE_MB ? malloc((size_t)s->head.size + 1) : NULL;
	if (s->body && s->head.size == 0)
		take_message(s);
	return s->body || s->head.size == 0;
}

// ---- Answers ----

static void close_connection(connection *c)
{
	close(c->fd);
	free(c->out);
	c->out = NULL;
	c->parked = c->follows = c->told = false;
	c->in_size = 0;
	c->fd = -1;
}

/// Write on with the answer. Then the connection is free for the next request.
static void write_on(connection *c)
{
	const ssize_t count = send(c->fd, c->out + c->out_at, c->out_size - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (count < 0) {
		if (errno != EAGAIN && errno != EINTR)
			close_connection(c);
		return;
	}
	c->since = sim_now_ms();
	c->out_at += (size_t)count;
	if (c->out_at < c->out_size)
		return;
	free(c->out);
	c->out = NULL;
	if (!c->request.stays)
		close_connection(c);
}

/// Begin an answer with room for a body of size bytes, which goes to the place that is returned;
/// NULL: the connection is closed, or wants no body.
static unsigned char *begin_answer(connection *c, const char *type, size_t size)
{
	c->parked = false;
	c->out = malloc(ANSWER_HEAD + size);
	const size_t head = c->out ? web_write_answer((char *)c->out, ANSWER_HEAD, &c->request, type, size) : 0;
	if (head == 0) {
		close_connection(c);
		return NULL;
	}
	const bool body = type && !c->request.only_head;
	c->out_at = 0;
	c->out_size = head + (body ? size : 0);
	return body ? c->out + head : NULL;
}

static unsigned char *put_number(unsigned char *to, uint64_t number)
{
	for (int k = 0; k < 4; k++)
		*to++ = (unsigned char)(number >> 8 * k);
	return to;
}

static unsigned char *put_record(const server *s, unsigned char *to, int kind, uint64_t number, const void *bytes, size_t size)
{
	to = put_number(put_number(to, (uint64_t)kind), number);
	to = put_number(put_number(to, size), s->last_number);
	memcpy(to, bytes, size);
	return to + size;
}

/// The frames behind one, as many as an answer takes; behind the last one the end.
static void answer_frames(const server *s, connection *c)
{
	const size_t first = frames_up_to(s, c->request.after);
	size_t end = first, size = 0;
	while (end < s->frame_count && (end == first || size < ((size_t)ANSWER_MB << 20)))
		size += RECORD_HEAD + s->frames[end++].size;
	const bool tells_end = s->how && end == s->frame_count;
	c->told = tells_end;
	if (tells_end)
		size += RECORD_HEAD + strlen(s->how);
	unsigned char *to = begin_answer(c, "application/octet-stream", size);
	for (size_t i = first; i < end && to; i++)
		to = put_record(s, to, 1, s->frames[i].number, s->frames[i].bytes, s->frames[i].size);
	if (tells_end && to)
		put_record(s, to, 2, s->last_number, s->how, strlen(s->how));
}

static void answer(server *s, connection *c)
{
	if (c->request.status == 200 && !c->request.is_frames && s->page) {
		unsigned char *to = begin_answer(c, "text/html; charset=utf-8", s->page_size);
		if (to)
			memcpy(to, s->page, s->page_size);
		return;
	}
	if (c->request.status == 200 && c->request.is_frames) {
		c->follows = true;
		c->parked = !s->how && frames_up_to(s, c->request.after) == s->frame_count;
		if (!c->parked)
			answer_frames(s, c);
		return;
	}
	if (c->request.status == 200) { // the page comes when the run has made its bodies
		c->request.status = 503;
		c->request.stays = false;
	}
	begin_answer(c, NULL, 0);
}

/// Answer the request that has come, if it is whole.
static void look_for_request(server *s, connection *c)
{
	c->request = web_read_request(c->in, c->in_size, s->port);
	if (c->request.status == 0)
		return;
	c->in_size -= c->request.size;
	memmove(c->in, c->in + c->request.size, c->in_size);
	answer(s, c);
}

static void read_more(server *s, connection *c)
{
	const ssize_t count = recv(c->fd, c->in + c->in_size, sizeof c->in - c->in_size, MSG_DONTWAIT);
	if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
		close_connection(c);
		return;
	}
	if (count < 0)
		return;
	c->since = sim_now_ms();
	c->in_size += (size_t)count;
	if (!c->parked)
		look_for_request(s, c);
}

/// What is due without a word of the browser.
static void attend(server *s, connection *c, double now)
{
	if (c->parked && (s->how || frames_up_to(s, c->request.after) < s->frame_count || now - c->since > PARKED_MS))
		answer_frames(s, c);
	else if (c->fd >= 0 && !c->parked && !c->out && c->in_size > 0)
		look_for_request(s, c);
	if (c->fd >= 0 && !c->parked && now - c->since > IDLE_MS)
		close_connection(c);
}

static void accept_one(server *s)
{
	for (int i = 0; i < WEB_CONNECTIONS; i++) {
		connection *c = &s->connections[i];
		if (c->fd >= 0)
			continue;
		c->fd = accept(s->listener, NULL, NULL);
		c->since = sim_now_ms();
		return;
	}
}

// ---- The loop ----

/// Has everybody had the end? Those who asked for frames on a connection that is open ask again.
static bool is_over(const server *s)
{
	bool waits = false;
	for (int i = 0; i < WEB_CONNECTIONS && s->how; i++) {
		const connection *c = &s->connections[i];
		waits |= c->fd >= 0 && (c->out || (c->follows && !c->told));
	}
	return s->how && (!waits || sim_now_ms() - s->ended > END_MS);
}

/// Fill the list for poll; the first two are channel and listener.
static void list_events(const server *s, struct pollfd *list)
{
	bool room = false;
	for (int i = 0; i < WEB_CONNECTIONS; i++) {
		const connection *c = &s->connections[i];
		room |= c->fd < 0;
		const bool reads = !c->out && c->in_size < sizeof c->in;
		list[2 + i] = (struct pollfd){ .fd = c->fd, .events = c->out ? POLLOUT : (reads ? POLLIN : 0) };
	}
	list[0] = (struct pollfd){ .fd = s->channel, .events = POLLIN };
	list[1] = (struct pollfd){ .fd = room ? s->listener : -1, .events = POLLIN };
}

static void turn(server *s)
{
	struct pollfd list[2 + WEB_CONNECTIONS];
	list_events(s, list);
	if (poll(list, 2 + WEB_CONNECTIONS, s->how ? 50 : 1000) < 0)
		return;
	if (list[0].revents && !read_channel(s)) {
		s->channel = -1;
		end_run(s, "The run is gone: it was killed, or its machine.");
	}
	for (int i = 0; i < WEB_CONNECTIONS; i++) {
		connection *c = &s->connections[i];
		if (c->fd >= 0 && list[2 + i].revents) {
			if (c->out)
				write_on(c);
			else
				read_more(s, c);
		}
		if (c->fd >= 0)
			attend(s, c, sim_now_ms());
	}
	if (list[1].revents)
		accept_one(s);
}

void web_serve(int listener, int channel, int port)
{
	server *s = calloc(1, sizeof *s);
	if (!s)
		return;
	s->listener = listener;
	s->channel = channel;
	s->port = port;
	for (int i = 0; i < WEB_CONNECTIONS; i++)
		s->connections[i].fd = -1;
	while (!is_over(s))
		turn(s);
}
