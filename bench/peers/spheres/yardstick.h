/// An external program of the user's that finds pairs in snapshots: a yardstick to measure with. It
/// is run as `PROGRAM FILE METHOD REPS` with the number of threads in OMP_NUM_THREADS, and prints a
/// line of fields separated by '|', among them "build_ms X", "query_ms X", "total_ms X", "median_ms
/// X", "pairs N" and "sum HEX".
#ifndef BENCH_YARDSTICK_H
#define BENCH_YARDSTICK_H

#include "sphere_finders.h"

namespace bench {

/// The output of one run of it, milliseconds.
struct YardstickRun {
	double build_ms = -1, query_ms = -1, total_ms = -1, median_ms = -1;
	Found found;
};

/// Read a line of fields. False when total_ms or pairs is not among them.
bool parse_yardstick(const std::string &line, YardstickRun &run);

/// Run it. Ends the program with a message when that fails.
YardstickRun run_yardstick(
	const std::string &program, const std::string &file, const std::string &method, int repetitions, int threads);

} // namespace bench
#endif
