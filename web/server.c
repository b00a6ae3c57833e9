// The run's side of the server of a live page: starts the process, and hands it messages through a
// pair of sockets. The process is a fork that goes on in web_serve: it needs no program to be
// found, and no thread.
#include "web/server.h"

#include "web/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/// A socket that listens on the loopback address. -1 with the reason in error.
static int open_listener(int *port, sim_error *error)
{
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
	socklen_t size = sizeof address;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener >= 0 && setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
		bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, WEB_CONNECTIONS) == 0 &&
		getsockname(listener, (struct sockaddr *)&address, &size) == 0) {
		*port = ntohs(address.sin_port);
		return listener;
	}
	const char *reason = errno == EADDRINUSE ? "it is in use: take another one, or 0 for any" : strerror(errno);
	sim_fail(error, "port %d cannot be opened: %s", *port, reason);
	if (listener >= 0)
		close(listener);
	return -1;
}

/// Become the server. An interrupt is for the run, whose end is that of the server.
static _Noreturn void become_server(int listener, int channel, int port)
{
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	for (int stream = 0; stream < 3 && nothing >= 0; stream++)
		dup2(nothing, stream);
	web_serve(listener, channel, port);
	_exit(0);
}

bool web_server_start(web_server *server, int port, sim_error *error)
{
	int ends[2];
	*server = (web_server){ .port = port };
	const int listener = open_listener(&server->port, error);
	if (listener < 0)
		return false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
		close(listener);
		return sim_fail(error, "no server can be started: %s", strerror(errno));
	}
	const pid_t process = fork();
	if (process == 0) {
		close(ends[0]);
		become_server(listener, ends[1], server->port);
	}
	close(listener);
	close(ends[1]);
	server->process = process;
	server->channel = ends[0];
	if (process > 0)
		return true;
	close(ends[0]);
	return sim_fail(error, "no server can be started: %s", strerror(errno));
}

/// Hand over bytes. The process takes them at once, whatever its browsers do.
static bool send_all(const web_server *server, const char *bytes, size_t size)
{
	while (size > 0) {
		const ssize_t sent = send(server->channel, bytes, size, MSG_NOSIGNAL);
		if (sent < 0 && errno != EINTR)
			return false;
		bytes += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
	}
	return true;
}

static void wait_for_end(web_server *server)
{
	close(server->channel);
	while (waitpid(server->process, NULL, 0) < 0 && errno == EINTR)
		continue;
	*server = (web_server){ 0 };
}

static bool send_message(web_server *server, web_message_kind kind, const void *bytes, size_t size)
{
	const web_message_head head = { .kind = (uint32_t)kind, .size = size };
	if (server->process <= 0)
		return false;
	if (send_all(server, (const char *)&head, sizeof head) && send_all(server, bytes, size))
		return true;
	wait_for_end(server);
	return false;
}

bool web_server_set_page(web_server *server, const void *page, size_t size)
{
	return send_message(server, WEB_PAGE, page, size);
}

bool web_server_add_frame(web_server *server, const void *frame, size_t size)
{
	return send_message(server, WEB_FRAME, frame, size);
}

void web_server_stop(web_server *server, const char *how)
{
	if (send_message(server, WEB_END, how, strlen(how)))
		wait_for_end(server);
}
