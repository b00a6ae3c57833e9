/// @file peer_clock.h
/// Processor time of the calling thread.
#ifndef BENCH_PEER_CLOCK_H
#define BENCH_PEER_CLOCK_H

#include <ctime>

namespace bench {

inline double thread_ns()
{
	timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

inline double thread_us() { return 1e-3 * thread_ns(); }
inline double thread_ms() { return 1e-6 * thread_ns(); }

} // namespace bench

#endif
