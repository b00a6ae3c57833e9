/// carom_distance_peers: least distances of two meshes beside FCL (RSS trees, its fastest for
/// this), and nearest points of a mesh beside Embree's point query, whichever are found, one
/// thread, the same poses and points. What was found is compared before any time is printed.

#include "bench/peers/peer_clock.h"
#include "carom/carom.h"
#include "io/mesh_file.h"

#include "build_info.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef BENCH_HAVE_FCL
#include <fcl/fcl.h>
#endif
#ifdef BENCH_HAVE_EMBREE
#include <embree3/rtcore.h>
#endif

namespace {

using bench::thread_ns;

[[noreturn]] void fail(const std::string &what)
{
	std::fprintf(stderr, "carom_distance_peers: error: %s\n", what.c_str());
	std::exit(1);
}

carom_vec3 operator+(carom_vec3 a, carom_vec3 b) { return { a.x + b.x, a.y + b.y, a.z + b.z }; }
carom_vec3 operator-(carom_vec3 a, carom_vec3 b) { return { a.x - b.x, a.y - b.y, a.z - b.z }; }
carom_vec3 operator*(double s, carom_vec3 a) { return { s * a.x, s * a.y, s * a.z }; }
double dot(carom_vec3 a, carom_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

struct Mesh {
	std::vector<float> vertices;
	std::vector<int32_t> triangles;
	carom_mesh *carom = nullptr;
	carom_vec3 centre{};
	double diagonal = 0;
	int triangle_count() const { return static_cast<int>(triangles.size() / 3); }
	carom_vec3 vertex(int32_t i) const { return { vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2] }; }
};

Mesh load(carom_context *context, const char *path)
{
	sim_error error;
	sim_mesh loaded;
	if (!io_load_mesh(path, &loaded, &error)) {
		fail(std::string(path) + ": " + error.text);
	}
	Mesh mesh;
	mesh.vertices.assign(loaded.vertices, loaded.vertices + 3 * static_cast<size_t>(loaded.vertex_count));
	mesh.triangles.assign(loaded.triangles, loaded.triangles + 3 * static_cast<size_t>(loaded.triangle_count));
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices.data = mesh.vertices.data();
	def.vertices.type = CAROM_FLOAT32;
	def.vertex_count = loaded.vertex_count;
	def.triangles = mesh.triangles.data();
	def.triangle_count = loaded.triangle_count;
	sim_mesh_free(&loaded);
	if (carom_create_mesh(context, &def, nullptr, &mesh.carom) != CAROM_SUCCESS) {
		fail(carom_error_text(context));
	}
	carom_vec3 lower = mesh.vertex(0), upper = lower;
	for (int32_t i = 1; i < def.vertex_count; i++) {
		carom_vec3 p = mesh.vertex(i);
		lower = { std::min(lower.x, p.x), std::min(lower.y, p.y), std::min(lower.z, p.z) };
		upper = { std::max(upper.x, p.x), std::max(upper.y, p.y), std::max(upper.z, p.z) };
	}
	mesh.centre = 0.5 * (lower + upper);
	mesh.diagonal = std::sqrt(dot(upper - lower, upper - lower));
	return mesh;
}

using Random = std::mt19937_64;

carom_vec3 random_unit(Random &random)
{
	std::normal_distribution<double> normal;
	carom_vec3 v = { normal(random), normal(random), normal(random) };
	return (1 / std::sqrt(dot(v, v))) * v;
}

carom_quat random_turn(Random &random)
{
	std::normal_distribution<double> normal;
	double q[4], length = 0;
	for (double &x : q) {
		x = normal(random);
		length += x * x;
	}
	length = std::sqrt(length);
	return { q[0] / length, q[1] / length, q[2] / length, q[3] / length };
}

/// The least time of one of count over the repetitions, ns.
double measure(int reps, int count, const std::function<void()> &work)
{
	double best = std::numeric_limits<double>::infinity();
	for (int i = 0; i < reps; i++) {
		const double start = thread_ns();
		work();
		best = std::min(best, thread_ns() - start);
	}
	return best / count;
}

double worst_difference(const std::vector<double> &a, const std::vector<double> &b)
{
	double worst = 0;
	for (size_t i = 0; i < a.size(); i++) {
		worst = std::max(worst, std::fabs(a[i] - b[i]));
	}
	return worst;
}

// ---- Two meshes ----

double carom_distance(const Mesh &a, const Mesh &b, const carom_pose &pose)
{
	bool found;
	carom_mesh_gap gap;
	if (carom_mesh_distance(a.carom, nullptr, b.carom, &pose, std::numeric_limits<double>::infinity(), &found, &gap) || !found) {
		fail("carom_mesh_distance found nothing");
	}
	return gap.distance;
}

/// B turned at random and moved towards the middle of A until it is just gap away; 0: a fifth of
/// the size beyond that. Some ways lead through a hole: then another is taken.
carom_pose place(const Mesh &a, const Mesh &b, double gap, Random &random)
{
	for (int attempt = 0; attempt < 100; attempt++) {
		carom_pose pose;
		pose.orientation = random_turn(random);
		const carom_vec3 from = random_unit(random), middle = a.centre - carom_rotate(pose.orientation, b.centre);
		double away = a.diagonal + b.diagonal + gap;
		for (int i = 0; i < 200 && away > 0; i++) {
			pose.position = middle + away * from;
			const double distance = carom_distance(a, b, pose);
			if (distance <= gap * (1 + 1e-9) + 1e-6 * a.diagonal) {
				const double deeper = gap == 0 ? 0.2 * std::min(a.diagonal, b.diagonal) : 0;
				pose.position = pose.position - deeper * from;
				return pose;
			}
			away -= distance - gap;
		}
	}
	fail("the meshes cannot be brought together");
}

#ifdef BENCH_HAVE_FCL
using Model = fcl::BVHModel<fcl::RSSd>;

std::shared_ptr<Model> fcl_model(const Mesh &mesh)
{
	auto model = std::make_shared<Model>();
	std::vector<fcl::Vector3d> vertices;
	std::vector<fcl::Triangle> triangles;
	for (size_t i = 0; i < mesh.vertices.size(); i += 3) {
		vertices.emplace_back(mesh.vertices[i], mesh.vertices[i + 1], mesh.vertices[i + 2]);
	}
	for (size_t i = 0; i < mesh.triangles.size(); i += 3) {
		triangles.emplace_back(mesh.triangles[i], mesh.triangles[i + 1], mesh.triangles[i + 2]);
	}
	model->beginModel();
	model->addSubModel(vertices, triangles);
	model->endModel();
	return model;
}

fcl::Transform3d fcl_transform(const carom_pose &pose)
{
	fcl::Transform3d t = fcl::Transform3d::Identity();
	const carom_quat q = pose.orientation;
	t.linear() = fcl::Quaterniond(q.w, q.x, q.y, q.z).toRotationMatrix();
	t.translation() << pose.position.x, pose.position.y, pose.position.z;
	return t;
}
#endif

void compare_meshes(const Mesh &a, const Mesh &b, int reps)
{
	std::printf("%-28s %14s %14s %8s %12s\n", "two meshes", "carom us", "fcl rss us", "ratio", "difference");
#ifdef BENCH_HAVE_FCL
	const auto model_a = fcl_model(a), model_b = fcl_model(b);
#endif
	Random random(7);
	for (double share : { 1.0, 0.1, 0.01, 0.001, 0.0 }) {
		const double gap = share * a.diagonal;
		std::vector<carom_pose> poses(20);
		for (carom_pose &pose : poses) {
			pose = place(a, b, gap, random);
		}
		const int count = static_cast<int>(poses.size());
		std::vector<double> own(poses.size());
		const double ns = measure(reps, count, [&] {
			for (size_t i = 0; i < poses.size(); i++) {
				own[i] = carom_distance(a, b, poses[i]);
			}
		});
		char name[64];
		std::snprintf(name, sizeof name, share > 0 ? "apart by %g of the size" : "they cross", share);
		std::printf("%-28s %14.2f", name, 1e-3 * ns);
#ifdef BENCH_HAVE_FCL
		std::vector<fcl::Transform3d, Eigen::aligned_allocator<fcl::Transform3d>> transforms;
		for (const carom_pose &pose : poses) {
			transforms.push_back(fcl_transform(pose));
		}
		std::vector<double> theirs(poses.size());
		const double fcl_ns = measure(std::min(reps, 3), count, [&] {
			for (size_t i = 0; i < poses.size(); i++) {
				const fcl::DistanceRequestd request(true);
				fcl::DistanceResultd result;
				fcl::distance(model_a.get(), fcl::Transform3d::Identity(), model_b.get(), transforms[i], request, result);
				theirs[i] = std::max(result.min_distance, 0.0);
			}
		});
		std::printf(" %14.2f %8.1f %12.2g", 1e-3 * fcl_ns, fcl_ns / ns, worst_difference(own, theirs) / a.diagonal);
#endif
		std::printf("\n");
	}
}

// ---- Points ----

#ifdef BENCH_HAVE_EMBREE
/// Ericson 5.1.5 in float, as Embree's own tutorial has it in its callback.
struct Vec {
	float x, y, z;
};
Vec operator-(Vec a, Vec b) { return { a.x - b.x, a.y - b.y, a.z - b.z }; }
Vec operator+(Vec a, Vec b) { return { a.x + b.x, a.y + b.y, a.z + b.z }; }
Vec operator*(float s, Vec a) { return { s * a.x, s * a.y, s * a.z }; }
float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

Vec closest(Vec p, Vec a, Vec b, Vec c)
{
	const Vec ab = b - a, ac = c - a, ap = p - a;
	const float d1 = dot(ab, ap), d2 = dot(ac, ap);
	if (d1 <= 0 && d2 <= 0) {
		return a;
	}
	const Vec bp = p - b;
	const float d3 = dot(ab, bp), d4 = dot(ac, bp);
	if (d3 >= 0 && d4 <= d3) {
		return b;
	}
	const Vec cp = p - c;
	const float d5 = dot(ab, cp), d6 = dot(ac, cp);
	if (d6 >= 0 && d5 <= d6) {
		return c;
	}
	const float vc = d1 * d4 - d3 * d2;
	if (vc <= 0 && d1 >= 0 && d3 <= 0) {
		return a + (d1 / (d1 - d3)) * ab;
	}
	const float vb = d5 * d2 - d1 * d6;
	if (vb <= 0 && d2 >= 0 && d6 <= 0) {
		return a + (d2 / (d2 - d6)) * ac;
	}
	const float va = d3 * d6 - d5 * d4;
	if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
		return b + ((d4 - d3) / ((d4 - d3) + (d5 - d6))) * (c - b);
	}
	const float denominator = 1 / (va + vb + vc);
	return a + (vb * denominator) * ab + (vc * denominator) * ac;
}

struct EmbreeQuery {
	const Mesh *mesh;
	uint32_t triangle;
};

bool embree_callback(RTCPointQueryFunctionArguments *args)
{
	auto *query = static_cast<EmbreeQuery *>(args->userPtr);
	const int32_t *t = &query->mesh->triangles[3 * args->primID];
	Vec corner[3];
	for (int k = 0; k < 3; k++) {
		const float *v = &query->mesh->vertices[3 * t[k]];
		corner[k] = { v[0], v[1], v[2] };
	}
	const Vec p = { args->query->x, args->query->y, args->query->z };
	const Vec d = closest(p, corner[0], corner[1], corner[2]) - p;
	const float distance = std::sqrt(dot(d, d));
	if (distance >= args->query->radius) {
		return false;
	}
	args->query->radius = distance;
	query->triangle = args->primID;
	return true;
}

/// A scene of one mesh, robust, high quality.
class EmbreeScene {
  public:
	explicit EmbreeScene(const Mesh &mesh) : device(rtcNewDevice("threads=1")), scene(rtcNewScene(device)), source(&mesh)
	{
		RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
		const size_t vertices = mesh.vertices.size() / 3;
		void *v = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 12, vertices);
		void *t = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 12, mesh.triangle_count());
		std::copy(mesh.vertices.begin(), mesh.vertices.end(), static_cast<float *>(v));
		std::copy(mesh.triangles.begin(), mesh.triangles.end(), static_cast<int32_t *>(t));
		rtcSetGeometryPointQueryFunction(geometry, embree_callback);
		rtcCommitGeometry(geometry);
		rtcAttachGeometry(scene, geometry);
		rtcReleaseGeometry(geometry);
		rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST);
		rtcSetSceneBuildQuality(scene, RTC_BUILD_QUALITY_HIGH);
		rtcCommitScene(scene);
	}
	~EmbreeScene()
	{
		rtcReleaseScene(scene);
		rtcReleaseDevice(device);
	}
	EmbreeScene(const EmbreeScene &) = delete;
	EmbreeScene &operator=(const EmbreeScene &) = delete;

	double distance(carom_vec3 p) const
	{
		RTCPointQuery query;
		query.x = static_cast<float>(p.x);
		query.y = static_cast<float>(p.y);
		query.z = static_cast<float>(p.z);
		query.time = 0;
		query.radius = std::numeric_limits<float>::infinity();
		RTCPointQueryContext context;
		rtcInitPointQueryContext(&context);
		EmbreeQuery state = { source, 0 };
		rtcPointQuery(scene, &query, &context, nullptr, &state);
		return query.radius;
	}

  private:
	RTCDevice device;
	RTCScene scene;
	const Mesh *source;
};
#endif

/// In a box twice as large, or off a random triangle by up to a hundredth of the size.
std::vector<carom_vec3> make_points(const Mesh &mesh, bool near, int count)
{
	Random random(11);
	std::uniform_real_distribution<double> share(-1, 1);
	std::uniform_int_distribution<int32_t> any(0, mesh.triangle_count() - 1);
	std::vector<carom_vec3> points;
	for (int i = 0; i < count; i++) {
		const carom_vec3 v = { share(random), share(random), share(random) };
		carom_vec3 p = mesh.centre + mesh.diagonal * v;
		if (near) {
			const int32_t *t = &mesh.triangles[3 * any(random)];
			p = (1.0 / 3) * (mesh.vertex(t[0]) + mesh.vertex(t[1]) + mesh.vertex(t[2])) + (0.01 * mesh.diagonal) * v;
		}
		points.push_back(p);
	}
	return points;
}

void compare_points(const Mesh &mesh, int reps)
{
	std::printf("%-28s %14s %14s %8s %12s\n", "points and a mesh", "carom ns", "embree ns", "ratio", "difference");
#ifdef BENCH_HAVE_EMBREE
	const EmbreeScene scene(mesh);
#endif
	for (bool near : { false, true }) {
		const std::vector<carom_vec3> points = make_points(mesh, near, 5000);
		const int count = static_cast<int>(points.size());
		std::vector<double> own(points.size());
		const double ns = measure(reps, count, [&] {
			for (size_t i = 0; i < points.size(); i++) {
				bool found;
				carom_mesh_point point;
				carom_mesh_closest_point(mesh.carom, points[i], std::numeric_limits<double>::infinity(), &found, &point);
				own[i] = std::fabs(point.distance);
			}
		});
		std::printf("%-28s %14.1f", near ? "near the surface" : "anywhere around", ns);
#ifdef BENCH_HAVE_EMBREE
		std::vector<double> theirs(points.size());
		const double embree_ns = measure(reps, count, [&] {
			for (size_t i = 0; i < points.size(); i++) {
				theirs[i] = scene.distance(points[i]);
			}
		});
		std::printf(" %14.1f %8.2f %12.2g", embree_ns, embree_ns / ns, worst_difference(own, theirs) / mesh.diagonal);
#endif
		std::printf("\n");
	}
}

} // namespace

int main(int argc, char **argv)
{
	const int reps = argc == 4 ? std::atoi(argv[3]) : 5;
	if (argc < 3 || argc > 4 || reps < 1) {
		std::fprintf(stderr,
			"usage: carom_distance_peers MESH_A MESH_B [REPETITIONS]\n"
			"Least distances of two meshes beside FCL, nearest points of MESH_A beside Embree: least over repetitions, one thread.\n"
			"Differences are the largest ones, in diagonals of MESH_A.\n");
		return 2;
	}
	carom_context *context;
	if (carom_create_context(nullptr, &context) != CAROM_SUCCESS) {
		fail("no context");
	}
	const Mesh a = load(context, argv[1]), b = load(context, argv[2]);
	std::printf(
		"%d and %d triangles, %s, %s, %s\n", a.triangle_count(), b.triangle_count(), BUILD_COMMIT, BUILD_COMPILER, BUILD_FLAGS);
	compare_meshes(a, b, reps);
	compare_points(a, reps);
	carom_release_mesh(a.carom);
	carom_release_mesh(b.carom);
	carom_destroy_context(context);
	return 0;
}
