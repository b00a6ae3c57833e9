/// Collects the rays of the vertex step: input the mesh and the poses of a frame, output the rays
/// of all ordered pairs.

#include "rays.h"

#include <cmath>
#include <limits>

namespace bench {
namespace {

struct Vec {
	double x, y, z;
};

Vec operator-(Vec a, Vec b) { return { a.x - b.x, a.y - b.y, a.z - b.z }; }
Vec cross(Vec a, Vec b) { return { a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x }; }
double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
double length(Vec a) { return std::sqrt(dot(a, a)); }

Vec turn(const double r[9], Vec v)
{
	return { r[0] * v.x + r[1] * v.y + r[2] * v.z, r[3] * v.x + r[4] * v.y + r[5] * v.z, r[6] * v.x + r[7] * v.y + r[8] * v.z };
}

Vec turn_back(const double r[9], Vec v)
{
	return { r[0] * v.x + r[3] * v.y + r[6] * v.z, r[1] * v.x + r[4] * v.y + r[7] * v.z, r[2] * v.x + r[5] * v.y + r[8] * v.z };
}

Vec position(const Placement &body) { return { body.pose.position.x, body.pose.position.y, body.pose.position.z }; }

Vec vertex(const Mesh &mesh, int i) { return { mesh.vertices[3 * i], mesh.vertices[3 * i + 1], mesh.vertices[3 * i + 2] }; }

/// Outward vertex normals, faces weighted by their angle (Thuermer and Wuethrich 1998).
std::vector<Vec> vertex_normals(const Mesh &mesh)
{
	std::vector<Vec> normals(mesh.vertex_count(), Vec{ 0, 0, 0 });
	for (int i = 0; i < mesh.triangle_count(); i++) {
		const int32_t *t = &mesh.triangles[3 * i];
		Vec corner[3] = { vertex(mesh, t[0]), vertex(mesh, t[1]), vertex(mesh, t[2]) };
		Vec face = cross(corner[1] - corner[0], corner[2] - corner[0]);
		double area = length(face);
		for (int k = 0; k < 3 && area > 0; k++) {
			Vec u = corner[(k + 1) % 3] - corner[k], v = corner[(k + 2) % 3] - corner[k];
			double angle = std::atan2(area, dot(u, v)) / area;
			Vec &n = normals[t[k]];
			n = { n.x + angle * face.x, n.y + angle * face.y, n.z + angle * face.z };
		}
	}
	return normals;
}

bool in_box(const Mesh &mesh, Vec p)
{
	return p.x >= mesh.lower[0] && p.x <= mesh.upper[0] && p.y >= mesh.lower[1] && p.y <= mesh.upper[1] &&
		p.z >= mesh.lower[2] && p.z <= mesh.upper[2];
}

void collect_pair(const Mesh &mesh, const std::vector<Vec> &normals, const Placement &from, const Placement &to, RaySet &rays)
{
	int before = rays.count();
	for (int i = 0; i < mesh.vertex_count(); i++) {
		double size = length(normals[i]);
		Vec world = turn(from.rotation, vertex(mesh, i));
		Vec p = position(from), q = position(to);
		Vec origin = turn_back(to.rotation, { world.x + (p.x - q.x), world.y + (p.y - q.y), world.z + (p.z - q.z) });
		if (size == 0 || !in_box(mesh, origin)) {
			continue;
		}
		Vec direction = turn_back(to.rotation, turn(from.rotation, normals[i]));
		double o[3] = { origin.x, origin.y, origin.z }, d[3] = { direction.x, direction.y, direction.z };
		for (int k = 0; k < 3; k++) {
			rays.origin[k].push_back(static_cast<float>(o[k]));
			rays.direction[k].push_back(static_cast<float>(-d[k] / size));
		}
		rays.t_max.push_back(std::numeric_limits<float>::infinity());
	}
	if (rays.count() > before) {
		rays.first.push_back(rays.count());
	}
}

} // namespace

RaySet collect_rays(const Mesh &mesh, const Frame &frame)
{
	RaySet rays;
	rays.first.push_back(0);
	std::vector<Vec> normals = vertex_normals(mesh);
	for (const Pair &pair : frame.pairs) {
		collect_pair(mesh, normals, frame.bodies[pair.a], frame.bodies[pair.b], rays);
		collect_pair(mesh, normals, frame.bodies[pair.b], frame.bodies[pair.a], rays);
	}
	return rays;
}

carom_ray_batch ray_batch(const RaySet &rays, size_t block)
{
	const int i = rays.first[block];
	return { rays.first[block + 1] - i, { &rays.origin[0][i], &rays.origin[1][i], &rays.origin[2][i] },
		{ &rays.direction[0][i], &rays.direction[1][i], &rays.direction[2][i] }, &rays.t_max[i] };
}

carom_hit_batch hit_batch(const RaySet &rays, size_t block, RayHits &hits)
{
	const int i = rays.first[block];
	return { &hits.triangle[i], &hits.t[i], &hits.back_face[i] };
}

} // namespace bench
