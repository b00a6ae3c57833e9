/// The recorded motion that all work on, the frames taken from it, and the list of truly
/// intersecting pairs.
#ifndef BENCH_MOTION_H
#define BENCH_MOTION_H

#include "peers.h"

#include <map>

namespace bench {

/// Frames spread evenly over first..last.
struct Phase {
	char name;
	std::vector<int> frames;
};

/// "A=0:50:6": phase A, first frame 0, last 50, 6 frames. False when the text is none.
bool parse_phase(const std::string &text, Phase &phase);

struct Motion {
	Mesh mesh;
	int body_count;
	int frame_count;
	std::vector<carom_pose> poses; ///< [frame_count * body_count]
};

/// Read a recording and the mesh that moves in it. Ends the program with a message when they cannot
/// be used.
Motion load_motion(const std::string &trajectory_path, const std::string &mesh_path);

/// The bodies and pairs of one frame.
Frame make_frame(const Motion &motion, int index);

/// Truly intersecting pairs, sorted, of the frames that a list names: lines "frame a b", plain or
/// gzip.
using Truth = std::map<int, std::vector<Pair>>;
Truth load_truth(const std::string &path);

} // namespace bench
#endif
