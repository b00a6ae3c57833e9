/// Loaded before the command (LD_PRELOAD), this makes a server of it: the process stands before main, all of its libraries loaded, and a copy
/// of it (fork) runs main for each process of the command that a script wants (ask_command.c). That costs half of a start: the command has 47
/// shared libraries, and the scripts of tests/cli start it some 860 times. A copy looks for leaks at its end as any process does.
///
/// Usage: LD_PRELOAD=serve_command.so carom PROGRAM ARGUMENT...: runs the program, serves until it ends, and ends as it has ended.
#define _GNU_SOURCE
#include "served_request.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PROCESSES = 64 };

typedef int main_function(int argc, char **argv, char **environment);

typedef struct served_process {
	pid_t pid;
	int asker; // socket; -1: gone
} served_process;

typedef struct server {
	char folder[64];
	struct sockaddr_un address;
	int listener;
	pid_t script;
	served_process processes[MOST_PROCESSES];
	int count;
} server;

static main_function *s_main; // the command's

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "serve_command: %s: %s\n", what, strerror(errno));
	_exit(125);
}

static void wake(int number) { (void)number; }

static void open_socket(server *s)
{
	snprintf(s->folder, sizeof s->folder, "/tmp/carom_served_XXXXXX");
	if (!mkdtemp(s->folder))
		die(s->folder);
	s->address.sun_family = AF_UNIX;
	snprintf(s->address.sun_path, sizeof s->address.sun_path, "%s/socket", s->folder);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listener < 0 || bind(s->listener, (const struct sockaddr *)&s->address, sizeof s->address) != 0 ||
		listen(s->listener, MOST_PROCESSES) != 0)
		die(s->address.sun_path);
}

static void start_script(server *s, char **words)
{
	unsetenv("LD_PRELOAD");
	setenv(SERVED_AT, s->address.sun_path, 1);
	s->script = fork();
	if (s->script < 0)
		die("fork");
	if (s->script == 0) {
		execvp(words[0], words);
		die(words[0]);
	}
}

/// LeakSanitizer reads all data of all libraries. The pages that it touches here are there in each copy.
static void warm_up(void)
{
	int (*look)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "__lsan_do_recoverable_leak_check");
	if (look)
		look();
}

static bool read_all(int from, char *bytes, size_t size)
{
	while (size > 0) {
		const ssize_t got = read(from, bytes, size);
		if (got <= 0)
			return false;
		bytes += got;
		size -= (size_t)got;
	}
	return true;
}

/// What a process is to get. Words are arguments, NULL, environment, NULL; -1 stands for a stream that is closed.
typedef struct wanted {
	served_request request;
	int files[SERVED_FILES];
	char **words;
} wanted;

/// The head of a request, and the descriptors that came beside it.
static bool receive_head(int asker, wanted *w)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof w->files)];
	} control;
	struct iovec part = { &w->request, sizeof w->request };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control };
	if (recvmsg(asker, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof w->request || !CMSG_FIRSTHDR(&message))
		return false;
	const int *sent = (const int *)CMSG_DATA(CMSG_FIRSTHDR(&message));
	for (int i = 0; i < SERVED_STREAMS; i++)
		w->files[i] = w->request.streams >> i & 1 ? *sent++ : -1;
	w->files[SERVED_FOLDER] = *sent;
	return true;
}

static bool receive_words(int asker, wanted *w)
{
	const uint32_t count = w->request.words;
	w->words = malloc((count + 2) * sizeof *w->words + w->request.size);
	if (!w->words)
		return false;
	char *text = (char *)(w->words + count + 2);
	if (!read_all(asker, text, w->request.size))
		return false;
	char **to = w->words;
	for (uint32_t i = 0; i < count; i++, text += strlen(text) + 1) {
		*to++ = text;
		if (i + 1 == w->request.arguments)
			*to++ = NULL;
	}
	*to = NULL;
	return true;
}

static void take_files(const int files[SERVED_FILES])
{
	if (fchdir(files[SERVED_FOLDER]) != 0)
		_exit(125);
	for (int i = 0; i < SERVED_STREAMS; i++) {
		if (files[i] < 0)
			close(i);
		else
			dup2(files[i], i);
	}
	for (int i = 0; i < SERVED_FILES; i++) {
		if (files[i] >= SERVED_STREAMS)
			close(files[i]);
	}
}

static void take_signals(uint32_t ignored)
{
	signal(SIGCHLD, SIG_DFL);
	for (int i = 0; i < SERVED_SIGNALS; i++)
		signal(served_signals[i], ignored >> served_signals[i] & 1 ? SIG_IGN : SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/// Become the process that is wanted.
static int be_process(const server *s, const wanted *w)
{
	environ = w->words + w->request.arguments + 1;
	close(s->listener);
	for (int i = 0; i < s->count; i++)
		close(s->processes[i].asker);
	take_files(w->files);
	take_signals(w->request.ignored);
	return s_main((int)w->request.arguments, w->words, environ);
}

/// Tells whoever asked how a process has ended, and forgets it.
static void end_process(server *s, pid_t pid, int status)
{
	for (int i = 0; i < s->count; i++) {
		if (s->processes[i].pid != pid)
			continue;
		if (s->processes[i].asker >= 0 && send(s->processes[i].asker, &status, sizeof status, MSG_NOSIGNAL) < 0)
			errno = 0; // who asked has been killed
		if (s->processes[i].asker >= 0)
			close(s->processes[i].asker);
		s->processes[i] = s->processes[--s->count];
		return;
	}
}

/// The script has ended: so do all processes that it has left.
static _Noreturn void end_server(server *s, int status)
{
	for (int i = 0; i < s->count; i++)
		kill(s->processes[i].pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0) // their processor time is the test's
		;
	unlink(s->address.sun_path);
	rmdir(s->folder);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void reap(server *s)
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid == s->script)
			end_server(s, status);
		end_process(s, pid, status);
	}
}

/// A signal for a process; the end of the connection: who stood for it was killed.
static void hand_on(served_process *p)
{
	unsigned char number;
	if (read(p->asker, &number, 1) == 1) {
		kill(p->pid, number);
		return;
	}
	kill(p->pid, SIGKILL);
	close(p->asker);
	p->asker = -1;
}

/// Waits until a process ends, a signal is to be handed on, or a process is wanted: then returns its connection, else -1.
static int wait_for_request(server *s, const sigset_t *before)
{
	struct pollfd files[MOST_PROCESSES + 1];
	for (int i = 0; i < s->count; i++)
		files[i] = (struct pollfd){ s->processes[i].asker, POLLIN, 0 };
	files[s->count] = (struct pollfd){ s->count < MOST_PROCESSES ? s->listener : -1, POLLIN, 0 };
	const int watched = s->count;
	if (ppoll(files, (nfds_t)watched + 1, NULL, before) <= 0)
		return -1;
	for (int i = 0; i < watched; i++) {
		if (files[i].revents)
			hand_on(&s->processes[i]);
	}
	return files[watched].revents ? accept4(s->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

/// Makes the process that is wanted. Returns whether this is it.
static bool make_process(server *s, int asker, wanted *w)
{
	memset(w->files, -1, sizeof w->files);
	w->words = NULL;
	const pid_t pid = receive_head(asker, w) && receive_words(asker, w) ? fork() : -1;
	if (pid == 0) {
		close(asker);
		return true;
	}
	for (int i = 0; i < SERVED_FILES; i++)
		close(w->files[i]);
	free(w->words);
	if (pid < 0)
		close(asker);
	else
		s->processes[s->count++] = (served_process){ pid, asker };
	return false;
}

/// Comes back in each new process alone, with what main has returned there.
static int serve(server *s)
{
	static wanted w; // of the process for as long as it lives
	sigset_t child, before;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	for (;;) {
		reap(s);
		const int asker = wait_for_request(s, &before);
		if (asker >= 0 && make_process(s, asker, &w))
			return be_process(s, &w);
	}
}

static int main_of_server(int argc, char **argv, char **environment)
{
	static server s;
	if (argc < 2)
		return s_main(argc, argv, environment);
	signal(SIGCHLD, wake);
	warm_up();
	open_socket(&s);
	start_script(&s, argv + 1);
	return serve(&s);
}

/// The C library's: it calls main when all constructors have run.
__attribute__((visibility("default"))) int __libc_start_main(main_function *main, int argc, char **argv, main_function *init,
	void (*fini)(void), void (*loader_fini)(void), void *stack);
int __libc_start_main(
	main_function *main, int argc, char **argv, main_function *init, void (*fini)(void), void (*loader_fini)(void), void *stack)
{
	__typeof__(&__libc_start_main) start = (__typeof__(start))dlsym(RTLD_NEXT, "__libc_start_main");
	s_main = main;
	return start(main_of_server, argc, argv, init, fini, loader_fini, stack);
}
