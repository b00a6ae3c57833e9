/// Tables on stdout and rows of a CSV file: times beside the findings.
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "peer_motion.h"
#include "rays.h"

#include <cstdio>

namespace bench {

/// The measurements of one library over the frames of one phase.
struct Measured {
	double min_ms = 0;    ///< mean over frames of the fastest repetition
	double median_ms = 0; ///< mean over frames of the median repetition
	double colliding = 0; ///< mean per frame
	double contacts = 0;
	int64_t missing = 0;  ///< pairs over all frames that Carom has and this one has not
	int64_t extra = 0;    ///< pairs over all frames that this one has and Carom has not
	int64_t missed = 0;   ///< pairs of the list of truth that were not found
	int64_t invented = 0; ///< found pairs of listed frames that are not in the list
};

/// Over the frames of one phase.
struct PhaseResult {
	char phase;
	int frames = 0;
	int listed_frames = 0; ///< of these, frames that the list of truth has
	double pairs = 0;      ///< overlapping boxes, mean per frame
	std::vector<Measured> peers;
};

/// The measurements of one way to cast rays.
struct MeasuredRays {
	double min_ns = 0; ///< per ray: mean over frames of the fastest repetition
	double median_ns = 0;
	int64_t hits = 0;
	int64_t differences = 0; ///< rays with another answer than Carom's: hit or not, side, or t
};

struct RayResult {
	char phase;
	int frames = 0;
	int64_t rays = 0;
	std::vector<MeasuredRays> casters;
};

void print_head(const Motion &motion, int repetitions);
void print_phase(const PhaseResult &result);
void print_rays(const RayResult &result);

/// Write both tables with commit, compiler, flags and machine in every row. False when the file
/// cannot be written.
bool write_csv(const std::string &path, const std::vector<PhaseResult> &phases, const std::vector<RayResult> &rays);

} // namespace bench
#endif
