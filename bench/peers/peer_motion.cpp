/// Reads motions, meshes and lists of pairs; see motion.h.

#include "peer_motion.h"

#include "io/mesh_file.h"
#include "io/trajectory.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <zlib.h>

namespace bench {
namespace {

Mesh take_mesh(const std::string &path)
{
	sim_error error;
	sim_mesh loaded;
	if (!io_load_mesh(path.c_str(), &loaded, &error)) {
		fail(path + ": " + error.text);
	}
	Mesh mesh;
	mesh.vertices.assign(loaded.vertices, loaded.vertices + 3 * static_cast<size_t>(loaded.vertex_count));
	mesh.triangles.assign(loaded.triangles, loaded.triangles + 3 * static_cast<size_t>(loaded.triangle_count));
	sim_mesh_free(&loaded);
	for (int k = 0; k < 3; k++) {
		mesh.lower[k] = mesh.upper[k] = mesh.vertices[k];
		for (int i = 1; i < mesh.vertex_count(); i++) {
			mesh.lower[k] = std::min(mesh.lower[k], mesh.vertices[3 * i + k]);
			mesh.upper[k] = std::max(mesh.upper[k], mesh.vertices[3 * i + k]);
		}
	}
	return mesh;
}

Placement make_placement(const carom_pose &pose)
{
	Placement result;
	result.pose = pose;
	for (int column = 0; column < 3; column++) {
		carom_vec3 axis = { column == 0 ? 1.0 : 0.0, column == 1 ? 1.0 : 0.0, column == 2 ? 1.0 : 0.0 };
		carom_vec3 turned = carom_rotate(pose.orientation, axis);
		result.rotation[column] = turned.x;
		result.rotation[3 + column] = turned.y;
		result.rotation[6 + column] = turned.z;
	}
	return result;
}

std::vector<Placement> make_placements(const Motion &motion, int frame)
{
	std::vector<Placement> result;
	for (int i = 0; i < motion.body_count; i++) {
		result.push_back(make_placement(motion.poses[static_cast<size_t>(frame) * motion.body_count + i]));
	}
	return result;
}

/// Box of the eight turned corners of the mesh's box.
carom_aabb world_box(const Mesh &mesh, const Placement &body)
{
	double lower[3], upper[3];
	const double position[3] = { body.pose.position.x, body.pose.position.y, body.pose.position.z };
	for (int row = 0; row < 3; row++) {
		double centre = position[row], half = 0;
		for (int k = 0; k < 3; k++) {
			centre += body.rotation[3 * row + k] * 0.5 * (static_cast<double>(mesh.lower[k]) + mesh.upper[k]);
			half += std::fabs(body.rotation[3 * row + k]) * 0.5 * (static_cast<double>(mesh.upper[k]) - mesh.lower[k]);
		}
		lower[row] = centre - half;
		upper[row] = centre + half;
	}
	return { { lower[0], lower[1], lower[2] }, { upper[0], upper[1], upper[2] } };
}

bool overlap(const carom_aabb &a, const carom_aabb &b)
{
	return a.lower.x <= b.upper.x && b.lower.x <= a.upper.x && a.lower.y <= b.upper.y && b.lower.y <= a.upper.y &&
		a.lower.z <= b.upper.z && b.lower.z <= a.upper.z;
}

} // namespace

bool parse_phase(const std::string &text, Phase &phase)
{
	int first, last, count;
	char rest;
	if (std::sscanf(text.c_str(), "%c=%d:%d:%d%c", &phase.name, &first, &last, &count, &rest) != 4 || first < 0 ||
		last < first || count < 1) {
		return false;
	}
	phase.frames.clear();
	for (int i = 0; i < count; i++) {
		phase.frames.push_back(
			count == 1 ? first : first + static_cast<int>(static_cast<double>(last - first) * i / (count - 1) + 0.5));
	}
	return true;
}

Motion load_motion(const std::string &trajectory_path, const std::string &mesh_path)
{
	Motion motion;
	motion.mesh = take_mesh(mesh_path);
	sim_error error;
	io_trajectory trajectory;
	if (!io_load_trajectory(trajectory_path.c_str(), &trajectory, &error)) {
		fail(trajectory_path + ": " + error.text);
	}
	if (trajectory.mesh_vertex_count != motion.mesh.vertex_count() ||
		trajectory.mesh_triangle_count != motion.mesh.triangle_count()) {
		fail(mesh_path + ": not the mesh of the recording, which is " + trajectory.mesh_name);
	}
	motion.body_count = trajectory.body_count;
	motion.frame_count = trajectory.frame_count;
	motion.poses.resize(static_cast<size_t>(motion.body_count) * motion.frame_count);
	for (int i = 0; i < motion.frame_count; i++) {
		io_trajectory_poses(&trajectory, i, &motion.poses[static_cast<size_t>(i) * motion.body_count]);
	}
	io_free_trajectory(&trajectory);
	return motion;
}

/// Enough for pairs to have settled down to how they move.
constexpr int STEPS_BEFORE = 10;

Frame make_frame(const Motion &motion, int index)
{
	Frame frame;
	frame.index = index;
	frame.bodies = make_placements(motion, index);
	for (int i = std::max(index - STEPS_BEFORE, 0); i < index; i++) {
		frame.before.push_back(make_placements(motion, i));
	}
	std::vector<carom_aabb> boxes;
	for (const Placement &body : frame.bodies) {
		boxes.push_back(world_box(motion.mesh, body));
	}
	for (int a = 0; a < motion.body_count; a++) {
		for (int b = a + 1; b < motion.body_count; b++) {
			if (overlap(boxes[a], boxes[b])) {
				frame.pairs.push_back({ a, b });
			}
		}
	}
	return frame;
}

Truth load_truth(const std::string &path)
{
	gzFile file = gzopen(path.c_str(), "rb");
	if (file == nullptr) {
		fail(path + ": cannot be opened");
	}
	Truth truth;
	char line[256];
	for (int number = 1; gzgets(file, line, sizeof line) != nullptr; number++) {
		int frame, a, b;
		if (line[0] == '#' || line[0] == '\n') {
			continue;
		}
		if (std::sscanf(line, "%d %d %d", &frame, &a, &b) != 3) {
			fail(path + ", line " + std::to_string(number) + ": not \"frame a b\"");
		}
		truth[frame].push_back({ std::min(a, b), std::max(a, b) });
	}
	gzclose(file);
	for (auto &entry : truth) {
		std::sort(entry.second.begin(), entry.second.end());
	}
	return truth;
}

} // namespace bench
