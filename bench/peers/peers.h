/// The form of every compared library: a name and four functions over the frames of one motion of
/// equal bodies. Each library is one file, peer_<name>.cpp; all read the same poses and the same
/// list of pairs.
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "carom/carom.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// The mesh that all bodies share, in float as the file has it.
struct Mesh {
	std::vector<float> vertices;
	std::vector<int32_t> triangles;
	float lower[3];
	float upper[3];
	int vertex_count() const { return static_cast<int>(vertices.size() / 3); }
	int triangle_count() const { return static_cast<int>(triangles.size() / 3); }
};

/// Where one body is. The rotation is the matrix of the normalised quaternion, by rows.
struct Placement {
	carom_pose pose;
	double rotation[9];
};

/// Two bodies, a < b.
struct Pair {
	int32_t a, b;
	bool operator<(const Pair &other) const { return a != other.a ? a < other.a : b < other.b; }
	bool operator==(const Pair &other) const { return a == other.a && b == other.b; }
};

/// One frame: the bodies, and the pairs whose boxes overlap (the box of the eight turned corners of
/// the mesh's box).
struct Frame {
	int index;
	std::vector<Placement> bodies;
	/// the steps before it, in order, for libraries that remember
	std::vector<std::vector<Placement>> before;
	std::vector<Pair> pairs;
};

/// The findings of a library in one frame: the colliding pairs, sorted, and the number of its
/// contact points.
struct Answer {
	std::vector<Pair> colliding;
	int64_t contacts = 0;
};

/// One library, ready to work on one motion.
class Peer {
  public:
	virtual ~Peer() = default;
	/// Put the bodies where they are in a frame. Off the clock.
	virtual void place(const Frame &frame) = 0;
	/// Find the collisions of the frame. On the clock. answer comes in empty, with room reserved.
	virtual void work(const Frame &frame, Answer &answer) = 0;
};

/// An entry of the table of libraries.
struct PeerEntry {
	const char *name;
	const char *note;
	std::unique_ptr<Peer> (*create)(const Mesh &mesh, int body_count);
};

/// All that were found when the program was built; Carom is the first, with which the others are
/// compared.
const std::vector<PeerEntry> &peer_table();

std::unique_ptr<Peer> create_carom(const Mesh &mesh, int body_count);
std::unique_ptr<Peer> create_carom_full(const Mesh &mesh, int body_count);
std::unique_ptr<Peer> create_ode(const Mesh &mesh, int body_count);
std::unique_ptr<Peer> create_bullet(const Mesh &mesh, int body_count);
std::unique_ptr<Peer> create_fcl(const Mesh &mesh, int body_count);

/// Time that this thread has spent on a core, ms: the time that it would take on an idle machine,
/// also when others share it.
double thread_ms();

/// Print to stderr and end the program. For errors that only a wrong call or a wrong file can
/// cause.
[[noreturn]] void fail(const std::string &what);

} // namespace bench
#endif
