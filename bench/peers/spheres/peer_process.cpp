/// See peer_process.h.

#include "peer_process.h"

#include "sphere_finders.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

/// In the child: never comes back.
[[noreturn]] void become(
	const std::vector<std::string> &arguments, const std::vector<std::pair<std::string, std::string>> &environment, int output)
{
	const int input = open("/dev/null", O_RDONLY);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	for (const auto &variable : environment) {
		setenv(variable.first.c_str(), variable.second.c_str(), 1);
	}
	std::vector<char *> words;
	for (const std::string &argument : arguments) {
		words.push_back(const_cast<char *>(argument.c_str()));
	}
	words.push_back(nullptr);
	execvp(words[0], words.data());
	std::fprintf(stderr, "carom_sphere_peers: %s: %s\n", words[0], std::strerror(errno));
	_exit(127);
}

} // namespace

std::string run_program(
	const std::vector<std::string> &arguments, const std::vector<std::pair<std::string, std::string>> &environment)
{
	int ends[2];
	if (pipe(ends) != 0) {
		fail(std::string("no pipe: ") + std::strerror(errno));
	}
	std::fflush(nullptr);
	const pid_t child = fork();
	if (child < 0) {
		fail(std::string("no process: ") + std::strerror(errno));
	}
	if (child == 0) {
		become(arguments, environment, ends[1]);
	}
	close(ends[1]);
	std::string text;
	char buffer[4096];
	for (ssize_t length; (length = read(ends[0], buffer, sizeof buffer)) > 0;) {
		text.append(buffer, static_cast<size_t>(length));
	}
	close(ends[0]);
	int status = 0;
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fail(arguments[0] + " failed: " + text.substr(text.size() > 600 ? text.size() - 600 : 0));
	}
	return text;
}

bool find_program(const std::string &name)
{
	const char *path = std::getenv("PATH");
	std::istringstream folders(path != nullptr ? path : "");
	for (std::string folder; std::getline(folders, folder, ':');) {
		if (access((folder + "/" + name).c_str(), X_OK) == 0) {
			return true;
		}
	}
	return false;
}

TemporaryFile::TemporaryFile(const std::string &ending)
{
	const char *folder = std::getenv("TMPDIR");
	name = std::string(folder != nullptr && *folder != 0 ? folder : "/tmp") + "/carom-peers-XXXXXX" + ending;
	const int file = mkstemps(name.data(), static_cast<int>(ending.size()));
	if (file < 0) {
		fail(name + ": " + std::strerror(errno));
	}
	close(file);
}

TemporaryFile::~TemporaryFile() { std::remove(name.c_str()); }

} // namespace bench
