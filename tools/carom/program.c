// Other programs, started without a shell; see program.h.
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(char *const arguments[], pid_t *process)
{
	posix_spawn_file_actions_t actions;
	int failure = posix_spawn_file_actions_init(&actions);
	if (failure)
		return failure;
	failure = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	failure = failure ? failure : posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	failure = failure ? failure : posix_spawnp(process, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failure;
}

int program_run(char *const arguments[])
{
	pid_t process;
	const int failure = start(arguments, &process);
	if (failure)
		return failure;
	int status = 0;
	pid_t ended;
	do
		ended = waitpid(process, &status, 0);
	while (ended < 0 && errno == EINTR);
	return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
