/// See yardstick.h.

#include "yardstick.h"

#include "peer_process.h"

#include <sstream>

namespace bench {

bool parse_yardstick(const std::string &line, YardstickRun &run)
{
	bool counted = false;
	std::istringstream fields(line);
	for (std::string field; std::getline(fields, field, '|');) {
		std::istringstream words(field);
		std::string name;
		words >> name;
		if (name == "build_ms") {
			words >> run.build_ms;
		} else if (name == "query_ms") {
			words >> run.query_ms;
		} else if (name == "total_ms") {
			words >> run.total_ms;
		} else if (name == "median_ms") {
			words >> run.median_ms;
		} else if (name == "pairs") {
			counted = static_cast<bool>(words >> run.found.pairs);
		} else if (name == "sum") {
			words >> std::hex >> run.found.hash;
		}
	}
	return counted && run.total_ms >= 0;
}

YardstickRun run_yardstick(
	const std::string &program, const std::string &file, const std::string &method, int repetitions, int threads)
{
	const std::string text =
		run_program({ program, file, method, std::to_string(repetitions) }, { { "OMP_NUM_THREADS", std::to_string(threads) } });
	YardstickRun run;
	std::istringstream lines(text);
	for (std::string line; std::getline(lines, line);) {
		if (parse_yardstick(line, run)) {
			return run;
		}
	}
	fail(program + " " + method + " printed no line with total_ms and pairs");
}

} // namespace bench
