/// Other programs.
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Run a program (found in PATH when its name holds no '/') with further variables in its
/// environment, and wait for its end. No shell is involved. Returns its output; ends our program
/// with a message when it cannot be started or fails.
std::string run_program(
	const std::vector<std::string> &arguments, const std::vector<std::pair<std::string, std::string>> &environment);

/// Is there a program of that name in PATH?
bool find_program(const std::string &name);

/// A file for the time of the comparison: it is removed at the end.
class TemporaryFile {
  public:
	/// Its name ends with this.
	explicit TemporaryFile(const std::string &ending);
	~TemporaryFile();
	TemporaryFile(const TemporaryFile &) = delete;
	TemporaryFile &operator=(const TemporaryFile &) = delete;
	const std::string &path() const { return name; }

  private:
	std::string name;
};

} // namespace bench
#endif
