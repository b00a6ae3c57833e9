/// Stands for the command in scripts of tests/cli: has a process of it made by serve_command.c, and ends as that ends. Where no server is, it
/// becomes the command.
#define _GNU_SOURCE
#include "served_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int s_server = -1;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "ask_command: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void hand_on(int number)
{
	const int before = errno;
	const unsigned char byte = (unsigned char)number;
	if (write(s_server, &byte, 1) < 0) // it has ended: its status is on the way
		errno = 0;
	errno = before;
}

static int open_connection(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server < 0 || connect(server, (const struct sockaddr *)&address, sizeof address) != 0)
		die(path);
	return server;
}

static uint32_t count_words(char *const *words, uint32_t *size)
{
	uint32_t count = 0;
	for (; words[count]; count++)
		*size += (uint32_t)strlen(words[count]) + 1;
	return count;
}

static uint32_t ignored_signals(void)
{
	uint32_t ignored = 0;
	for (int i = 0; i < SERVED_SIGNALS; i++) {
		struct sigaction action;
		if (sigaction(served_signals[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			ignored |= 1u << served_signals[i];
	}
	return ignored;
}

/// The head, and beside it the descriptors of open streams and of the working folder.
static void send_head(int server, const served_request *request)
{
	int files[SERVED_FILES], count = 0;
	for (int i = 0; i < SERVED_STREAMS; i++) {
		if (request->streams >> i & 1)
			files[count++] = i;
	}
	files[count] = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (files[count++] < 0)
		die("the working folder");
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof files)];
	} control = { .bytes = { 0 } };
	struct iovec part = { (void *)request, sizeof *request };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE((size_t)count * sizeof files[0]) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN((size_t)count * sizeof files[0]);
	memcpy(CMSG_DATA(head), files, (size_t)count * sizeof files[0]);
	if (sendmsg(server, &message, 0) != (ssize_t)sizeof *request)
		die("sendmsg");
	close(files[count - 1]);
}

static void send_words(int server, char *const *words)
{
	for (; *words; words++) {
		const char *at = *words;
		for (size_t left = strlen(at) + 1; left > 0;) {
			const ssize_t sent = write(server, at, left);
			if (sent < 0)
				die("write");
			at += sent;
			left -= (size_t)sent;
		}
	}
}

static _Noreturn void end_as(int status)
{
	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	const struct rlimit none = { 0, 0 };
	setrlimit(RLIMIT_CORE, &none); // the process has left its own
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
	(void)argc;
	argv[0] = (char *)COMMAND;
	const char *path = getenv(SERVED_AT);
	if (!path) {
		execv(COMMAND, argv);
		die(COMMAND);
	}
	served_request request = { .ignored = ignored_signals() };
	for (int i = 0; i < SERVED_STREAMS; i++)
		request.streams |= (uint32_t)(fcntl(i, F_GETFD) >= 0) << i;
	request.arguments = count_words(argv, &request.size);
	request.words = request.arguments + count_words(environ, &request.size);
	while (fcntl(STDERR_FILENO, F_GETFD) < 0 && open("/dev/null", O_RDWR) >= 0) // the socket must be none of the streams
		;
	s_server = open_connection(path);
	send_head(s_server, &request);
	send_words(s_server, argv);
	send_words(s_server, environ);
	const struct sigaction action = { .sa_handler = hand_on, .sa_flags = SA_RESTART };
	for (int i = 0; i < SERVED_HANDED_ON; i++)
		sigaction(served_signals[i], &action, NULL);
	int status;
	if (read(s_server, &status, sizeof status) != (ssize_t)sizeof status)
		die("the server is gone");
	end_as(status);
}
