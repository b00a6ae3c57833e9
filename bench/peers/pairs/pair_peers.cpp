/// carom_pair_peers: single pairs of triangle meshes beside ODE, Bullet's GIMPACT and FCL,
/// whichever are found: all contacts of each pair, from nothing, one thread, the libraries in
/// turns, the same poses. Who collides is compared with an exact test of all triangles before any
/// time is printed.
///
/// With numbers: shapes of `carom make` of so many triangles, in kinds of pairs from deep ones to
/// ones that only come near. With two mesh files: random poses as FCL's own tests draw them for its
/// env.obj and rob.obj, and distances besides.

#include "bench/peers/peer_clock.h"
#include "carom/collide.h"
#include "carom/carom.h"
#include "io/mesh_file.h"
#include "sim/shapes/shapes.h"

#include "build_info.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef BENCH_HAVE_ODE
#include <cstdarg>
#include <ode/ode.h>
#endif
#ifdef BENCH_HAVE_BULLET
#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletCollisionCommon.h>
#endif
#ifdef BENCH_HAVE_FCL
#include <fcl/fcl.h>
#endif

namespace {

using bench::thread_us;

enum { PAIRS = 200, REPEATS = 7 };

[[noreturn]] void fail(const std::string &what)
{
	std::fprintf(stderr, "carom_pair_peers: error: %s\n", what.c_str());
	std::exit(1);
}

carom_vec3 operator+(carom_vec3 a, carom_vec3 b) { return { a.x + b.x, a.y + b.y, a.z + b.z }; }
carom_vec3 operator-(carom_vec3 a, carom_vec3 b) { return { a.x - b.x, a.y - b.y, a.z - b.z }; }
carom_vec3 operator*(double s, carom_vec3 a) { return { s * a.x, s * a.y, s * a.z }; }
double length(carom_vec3 v) { return std::sqrt(v.x * v.x + v.y * v.y + v.z * v.z); }

// ---- Input ----

struct Mesh {
	carom_mesh *carom = nullptr;
	carom_vec3 centre{};
	double size = 0;
	std::vector<float> vertices;
	std::vector<int32_t> triangles;
	int32_t vertex_count() const { return static_cast<int32_t>(vertices.size() / 3); }
	int32_t triangle_count() const { return static_cast<int32_t>(triangles.size() / 3); }
};

/// Take the arrays of a mesh, which is freed.
Mesh take(carom_context *context, sim_mesh *source)
{
	Mesh mesh;
	mesh.vertices.assign(source->vertices, source->vertices + 3 * static_cast<size_t>(source->vertex_count));
	mesh.triangles.assign(source->triangles, source->triangles + 3 * static_cast<size_t>(source->triangle_count));
	sim_mesh_free(source);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = { mesh.vertices.data(), 0, CAROM_FLOAT32 };
	def.vertex_count = mesh.vertex_count();
	def.triangles = mesh.triangles.data();
	def.triangle_count = mesh.triangle_count();
	carom_mesh_report report;
	if (carom_create_mesh(context, &def, &report, &mesh.carom) != CAROM_SUCCESS)
		fail(carom_error_text(context));
	const carom_vec3 lower = { report.lower[0], report.lower[1], report.lower[2] };
	const carom_vec3 upper = { report.upper[0], report.upper[1], report.upper[2] };
	mesh.centre = 0.5 * (lower + upper);
	mesh.size = length(upper - lower);
	return mesh;
}

Mesh load(carom_context *context, const char *path)
{
	sim_error error;
	sim_mesh loaded;
	if (!io_load_mesh(path, &loaded, &error))
		fail(std::string(path) + ": " + error.text);
	return take(context, &loaded);
}

Mesh make(carom_context *context, const std::string &name, int32_t triangles)
{
	sim_error error;
	sim_mesh made;
	if (!sim_make_shape(name.c_str(), triangles, 1, &made, &error))
		fail(error.text);
	return take(context, &made);
}

using Random = std::mt19937_64;

carom_quat random_turn(Random &random)
{
	std::normal_distribution<double> normal;
	double q[4], square = 0;
	for (double &x : q) {
		x = normal(random);
		square += x * x;
	}
	const double size = std::sqrt(square);
	return { q[0] / size, q[1] / size, q[2] / size, q[3] / size };
}

double distance_of(const Mesh &a, const carom_pose &pose_a, const Mesh &b, const carom_pose &pose_b)
{
	bool found;
	carom_mesh_gap gap;
	if (carom_mesh_distance(a.carom, &pose_a, b.carom, &pose_b, std::numeric_limits<double>::infinity(), &found, &gap) || !found)
		fail("carom_mesh_distance found nothing");
	return gap.distance;
}

struct Pair {
	carom_pose a, b;
};

/// Both turned at random; B is moved towards A until they touch, and farther by a share of the size
/// (negative: back).
Pair place(const Mesh &a, const Mesh &b, double share, Random &random)
{
	std::normal_distribution<double> normal;
	for (int attempt = 0; attempt < 100; attempt++) {
		Pair pair;
		pair.a.orientation = random_turn(random);
		pair.b.orientation = random_turn(random);
		pair.a.position = { normal(random), normal(random), normal(random) };
		carom_vec3 from = { normal(random), normal(random), normal(random) };
		from = (1 / length(from)) * from;
		const carom_vec3 middle =
			pair.a.position + carom_rotate(pair.a.orientation, a.centre) - carom_rotate(pair.b.orientation, b.centre);
		const double size = std::min(a.size, b.size);
		double away = a.size + b.size;
		for (int i = 0; i < 300 && away > 0; i++) {
			pair.b.position = middle + away * from;
			const double distance = distance_of(a, pair.a, b, pair.b);
			if (distance < 1e-7 * size) {
				pair.b.position = pair.b.position - share * size * from;
				return pair;
			}
			away -= distance;
		}
	}
	fail("the meshes cannot be brought together");
}

/// As test_fcl_collision and test_fcl_distance of FCL 0.7 draw them: A anywhere in a box of 6000 by
/// 6000 by 3000, turned by three angles from 0 to 2 pi about the axes; B at the origin.
Pair place_as_fcl(Random &random)
{
	std::uniform_real_distribution<double> side(-3000, 3000), height(0, 3000), angle(0, 2 * std::acos(-1.0));
	Pair pair = { carom_pose_identity(), carom_pose_identity() };
	pair.a.position = { side(random), side(random), height(random) };
	for (int k = 0; k < 3; k++) {
		const double half = 0.5 * angle(random);
		double q[4] = { 0, 0, 0, std::cos(half) };
		q[k] = std::sin(half);
		const carom_quat p = pair.a.orientation;
		pair.a.orientation = { p.w * q[0] + p.x * q[3] + p.y * q[2] - p.z * q[1],
			p.w * q[1] - p.x * q[2] + p.y * q[3] + p.z * q[0], p.w * q[2] + p.x * q[1] - p.y * q[0] + p.z * q[3],
			p.w * q[3] - p.x * q[0] - p.y * q[1] - p.z * q[2] };
	}
	return pair;
}

// ---- Libraries ----

/// One way to ask a question about all pairs. answers: contacts of each pair, or distances.
struct Peer {
	std::string name;
	std::function<void(std::vector<double> &answers)> work;
	std::vector<double> times;
};

struct Input {
	carom_context *context;
	const Mesh &a, &b;
	const std::vector<Pair> &pairs;
};

carom_shape shape_of(const Mesh &mesh)
{
	carom_shape shape = {};
	shape.type = CAROM_MESH;
	shape.mesh = mesh.carom;
	return shape;
}

Peer carom_calls(const Input &in)
{
	return { "Carom, carom_collide",
		[in](std::vector<double> &answers) {
			const carom_shape a = shape_of(in.a), b = shape_of(in.b);
			carom_contact contacts[8];
			for (size_t i = 0; i < in.pairs.size(); i++) {
				int32_t count;
				if (carom_collide(in.context, &a, &in.pairs[i].a, &b, &in.pairs[i].b, 0, 8, contacts, &count) != CAROM_SUCCESS)
					fail(carom_error_text(in.context));
				answers[i] = count;
			}
		},
		{} };
}

Peer carom_batch_of_calls(const Input &in)
{
	return { "Carom, carom_collide_pairs",
		[in](std::vector<double> &answers) {
			const carom_shape a = shape_of(in.a), b = shape_of(in.b);
			const size_t count = in.pairs.size();
			std::vector<carom_shape_pair> pairs;
			pairs.reserve(count);
			for (const Pair &pair : in.pairs)
				pairs.push_back({ &a, &b, pair.a, pair.b });
			static std::vector<carom_contact> contacts;
			static std::vector<int64_t> first;
			contacts.resize(8 * count);
			first.resize(count + 1);
			carom_batch batch = {};
			batch.count = static_cast<int64_t>(count);
			if (carom_collide_pairs(in.context, &batch, pairs.data(), 0, static_cast<int64_t>(contacts.size()), contacts.data(),
					first.data()) != CAROM_SUCCESS)
				fail(carom_error_text(in.context));
			for (size_t i = 0; i < count; i++)
				answers[i] = static_cast<double>(first[i + 1] - first[i]);
		},
		{} };
}

/// All pairs in one world, far apart from each other. A step begins from nothing: it remembers no
/// earlier one.
class CaromWorld {
  public:
	explicit CaromWorld(const Input &in)
	{
		carom_world_def def = carom_default_world_def();
		def.temporal = CAROM_TEMPORAL_NONE;
		if (carom_create_world(in.context, &def, &world) != CAROM_SUCCESS)
			fail(carom_error_text(in.context));
		const double step = 8 * (in.a.size + in.b.size);
		for (size_t i = 0; i < in.pairs.size(); i++) {
			const carom_vec3 to = { step * static_cast<double>(i % 16), step * static_cast<double>(i / 16), 0 };
			add(in.context, in.a, in.pairs[i].a, to, i);
			add(in.context, in.b, in.pairs[i].b, to, i);
		}
	}
	~CaromWorld() { carom_destroy_world(world); }
	CaromWorld(const CaromWorld &) = delete;
	CaromWorld &operator=(const CaromWorld &) = delete;

	void work(std::vector<double> &answers)
	{
		carom_world_set_poses(world, static_cast<int>(ids.size()), ids.data(), poses.data());
		carom_world_step(world);
		std::fill(answers.begin(), answers.end(), 0);
		const carom_contact_view contacts = carom_world_contacts(world);
		for (int64_t i = 0; i < contacts.count; i++)
			answers[(contacts.data[i].body_a.index1 - 1) / 2]++;
	}

  private:
	void add(carom_context *context, const Mesh &mesh, carom_pose pose, carom_vec3 to, size_t number)
	{
		carom_body_def def = carom_default_body_def();
		def.shape = shape_of(mesh);
		def.pose = pose;
		def.pose.position = def.pose.position + to;
		def.user_data = number;
		carom_body_id id;
		if (carom_world_add_body(world, &def, &id) != CAROM_SUCCESS)
			fail(carom_error_text(context));
		ids.push_back(id);
		poses.push_back(def.pose);
	}

	carom_world *world = nullptr;
	std::vector<carom_body_id> ids;
	std::vector<carom_pose> poses;
};

Peer carom_steps(const Input &in)
{
	const auto world = std::make_shared<CaromWorld>(in);
	return { "Carom, step of a world", [world](std::vector<double> &answers) { world->work(answers); }, {} };
}

Peer carom_crossings(const Input &in)
{
	return { "Carom, crossing triangles",
		[in](std::vector<double> &answers) {
			for (size_t i = 0; i < in.pairs.size(); i++) {
				int32_t count;
				if (carom_mesh_intersections(in.a.carom, &in.pairs[i].a, in.b.carom, &in.pairs[i].b, 0, nullptr, &count) !=
					CAROM_SUCCESS)
					fail(carom_error_text(in.context));
				answers[i] = count;
			}
		},
		{} };
}

Peer carom_yes_or_no(const Input &in)
{
	return { "Carom, yes or no",
		[in](std::vector<double> &answers) {
			carom_shape a = {}, b = {};
			a.type = b.type = CAROM_MESH;
			a.mesh = in.a.carom;
			b.mesh = in.b.carom;
			for (size_t i = 0; i < in.pairs.size(); i++) {
				bool overlap;
				if (carom_overlap(in.context, &a, &in.pairs[i].a, &b, &in.pairs[i].b, &overlap) != CAROM_SUCCESS)
					fail(carom_error_text(in.context));
				answers[i] = overlap;
			}
		},
		{} };
}

Peer carom_distances(const Input &in)
{
	return { "Carom, carom_mesh_distance",
		[in](std::vector<double> &answers) {
			for (size_t i = 0; i < in.pairs.size(); i++)
				answers[i] = distance_of(in.a, in.pairs[i].a, in.b, in.pairs[i].b);
		},
		{} };
}

/// Rows of the rotation of a pose.
void rotation_of(const carom_pose &pose, double rows[9])
{
	for (int k = 0; k < 3; k++) {
		const carom_vec3 axis = { k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0 };
		const carom_vec3 column = carom_rotate(pose.orientation, axis);
		rows[k] = column.x;
		rows[3 + k] = column.y;
		rows[6 + k] = column.z;
	}
}

#ifdef BENCH_HAVE_ODE
class OdePairs {
  public:
	explicit OdePairs(const Input &in) : indices{ index(in.a), index(in.b) }, contacts(0xffff)
	{
		const Mesh *meshes[2] = { &in.a, &in.b };
		for (int i = 0; i < 2; i++) {
			data[i] = dGeomTriMeshDataCreate();
			dGeomTriMeshDataBuildSingle(data[i], meshes[i]->vertices.data(), 3 * sizeof(float), meshes[i]->vertex_count(),
				indices[i].data(), static_cast<int>(indices[i].size()), 3 * sizeof(dTriIndex));
			dGeomTriMeshDataPreprocess2(data[i],
				(1U << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES) | (1U << dTRIDATAPREPROCESS_BUILD_CONCAVE_EDGES), nullptr);
		}
		for (const Pair &pair : in.pairs) {
			add(data[0], pair.a);
			add(data[1], pair.b);
		}
	}
	~OdePairs()
	{
		for (dGeomID geom : geoms)
			dGeomDestroy(geom);
		for (dTriMeshDataID d : data)
			dGeomTriMeshDataDestroy(d);
	}
	OdePairs(const OdePairs &) = delete;
	OdePairs &operator=(const OdePairs &) = delete;

	void work(std::vector<double> &answers)
	{
		for (size_t i = 0; i < answers.size(); i++)
			answers[i] = dCollide(geoms[2 * i], geoms[2 * i + 1], 0xffff, contacts.data(), sizeof(dContactGeom));
	}

  private:
	static std::vector<dTriIndex> index(const Mesh &mesh) { return { mesh.triangles.begin(), mesh.triangles.end() }; }

	void add(dTriMeshDataID mesh, const carom_pose &pose)
	{
		dGeomID geom = dCreateTriMesh(nullptr, mesh, nullptr, nullptr, nullptr);
		double r[9];
		rotation_of(pose, r);
		dMatrix3 rotation;
		for (int k = 0; k < 12; k++)
			rotation[k] = k % 4 == 3 ? 0 : static_cast<dReal>(r[3 * (k / 4) + k % 4]);
		dGeomSetPosition(geom, static_cast<dReal>(pose.position.x), static_cast<dReal>(pose.position.y),
			static_cast<dReal>(pose.position.z));
		dGeomSetRotation(geom, rotation);
		dReal box[6];
		dGeomGetAABB(geom, box); // computed on first use: no part of the collision
		geoms.push_back(geom);
	}

	std::vector<dTriIndex> indices[2];
	std::vector<dContactGeom> contacts;
	dTriMeshDataID data[2];
	std::vector<dGeomID> geoms;
};

/// ODE prints a line for each full bucket of its table of contacts.
void drop_message(int, const char *, va_list) {}

Peer ode_peer(const Input &in)
{
	const auto pairs = std::make_shared<OdePairs>(in);
	return { "ODE, dCollide", [pairs](std::vector<double> &answers) { pairs->work(answers); }, {} };
}
#endif

#ifdef BENCH_HAVE_BULLET
struct CountingResult final : btManifoldResult {
	using btManifoldResult::btManifoldResult;
	void addContactPoint(const btVector3 &normal, const btVector3 &point, btScalar depth) override
	{
		count++;
		btManifoldResult::addContactPoint(normal, point, depth);
	}
	int count = 0;
};

class BulletPairs {
  public:
	explicit BulletPairs(const Input &in) : dispatcher(&configuration), bodies(2 * in.pairs.size())
	{
		const Mesh *meshes[2] = { &in.a, &in.b };
		for (int i = 0; i < 2; i++) {
			btIndexedMesh part;
			part.m_numTriangles = meshes[i]->triangle_count();
			part.m_triangleIndexBase = reinterpret_cast<const unsigned char *>(meshes[i]->triangles.data());
			part.m_triangleIndexStride = 3 * sizeof(int32_t);
			part.m_numVertices = meshes[i]->vertex_count();
			part.m_vertexBase = reinterpret_cast<const unsigned char *>(meshes[i]->vertices.data());
			part.m_vertexStride = 3 * sizeof(float);
			part.m_vertexType = PHY_FLOAT;
			arrays[i].addIndexedMesh(part, PHY_INTEGER);
			shapes[i] = std::make_unique<btGImpactMeshShape>(&arrays[i]);
			shapes[i]->setMargin(0);
			shapes[i]->updateBound();
		}
		btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
		for (size_t i = 0; i < in.pairs.size(); i++) {
			put(bodies[2 * i], shapes[0].get(), in.pairs[i].a);
			put(bodies[2 * i + 1], shapes[1].get(), in.pairs[i].b);
		}
	}

	void work(std::vector<double> &answers)
	{
		for (size_t i = 0; i < answers.size(); i++)
			answers[i] = collide(bodies[2 * i], bodies[2 * i + 1]);
	}

  private:
	static void put(btCollisionObject &body, btCollisionShape *shape, const carom_pose &pose)
	{
		const auto f = [](double x) { return static_cast<btScalar>(x); };
		body.setCollisionShape(shape);
		body.setWorldTransform(btTransform(
			btQuaternion(f(pose.orientation.x), f(pose.orientation.y), f(pose.orientation.z), f(pose.orientation.w)),
			btVector3(f(pose.position.x), f(pose.position.y), f(pose.position.z))));
	}

	int collide(btCollisionObject &a, btCollisionObject &b)
	{
		btCollisionObjectWrapper wrap_a(nullptr, a.getCollisionShape(), &a, a.getWorldTransform(), -1, -1);
		btCollisionObjectWrapper wrap_b(nullptr, b.getCollisionShape(), &b, b.getWorldTransform(), -1, -1);
		btCollisionAlgorithm *algorithm = dispatcher.findAlgorithm(&wrap_a, &wrap_b, nullptr, BT_CONTACT_POINT_ALGORITHMS);
		CountingResult result(&wrap_a, &wrap_b);
		algorithm->processCollision(&wrap_a, &wrap_b, info, &result);
		algorithm->~btCollisionAlgorithm();
		dispatcher.freeCollisionAlgorithm(algorithm);
		return result.count;
	}

	btTriangleIndexVertexArray arrays[2];
	std::unique_ptr<btGImpactMeshShape> shapes[2];
	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher;
	btDispatcherInfo info;
	std::vector<btCollisionObject> bodies;
};

Peer bullet_peer(const Input &in)
{
	const auto pairs = std::make_shared<BulletPairs>(in);
	return { "Bullet, GIMPACT", [pairs](std::vector<double> &answers) { pairs->work(answers); }, {} };
}
#endif

#ifdef BENCH_HAVE_FCL
template <typename Volume> class FclPairs {
  public:
	using Transforms = std::vector<fcl::Transform3d, Eigen::aligned_allocator<fcl::Transform3d>>;
	explicit FclPairs(const Input &in)
	{
		fill(in.a, a);
		fill(in.b, b);
		for (const Pair &pair : in.pairs) {
			at_a.push_back(transform(pair.a));
			at_b.push_back(transform(pair.b));
		}
	}

	void collide(std::vector<double> &answers, bool all)
	{
		const fcl::CollisionRequestd request(all ? 1000000 : 1, all);
		for (size_t i = 0; i < answers.size(); i++) {
			fcl::CollisionResultd result;
			answers[i] = static_cast<double>(fcl::collide(&a, at_a[i], &b, at_b[i], request, result));
		}
	}

	void measure(std::vector<double> &answers)
	{
		const fcl::DistanceRequestd request(true);
		for (size_t i = 0; i < answers.size(); i++) {
			fcl::DistanceResultd result;
			fcl::distance(&a, at_a[i], &b, at_b[i], request, result);
			answers[i] = std::max(result.min_distance, 0.0);
		}
	}

  private:
	static void fill(const Mesh &mesh, fcl::BVHModel<Volume> &model)
	{
		std::vector<fcl::Vector3d> vertices;
		std::vector<fcl::Triangle> triangles;
		for (size_t i = 0; i < mesh.vertices.size(); i += 3)
			vertices.emplace_back(mesh.vertices[i], mesh.vertices[i + 1], mesh.vertices[i + 2]);
		for (size_t i = 0; i < mesh.triangles.size(); i += 3)
			triangles.emplace_back(mesh.triangles[i], mesh.triangles[i + 1], mesh.triangles[i + 2]);
		model.beginModel();
		model.addSubModel(vertices, triangles);
		model.endModel();
	}

	static fcl::Transform3d transform(const carom_pose &pose)
	{
		fcl::Transform3d t = fcl::Transform3d::Identity();
		const carom_quat q = pose.orientation;
		t.linear() = fcl::Quaterniond(q.w, q.x, q.y, q.z).toRotationMatrix();
		t.translation() << pose.position.x, pose.position.y, pose.position.z;
		return t;
	}

	fcl::BVHModel<Volume> a, b;
	Transforms at_a, at_b;
};

Peer fcl_contacts(const Input &in, bool all)
{
	const auto pairs = std::make_shared<FclPairs<fcl::OBBd>>(in);
	return { all ? "FCL, OBB, all contacts" : "FCL, OBB, yes or no",
		[pairs, all](std::vector<double> &answers) { pairs->collide(answers, all); }, {} };
}

Peer fcl_distances(const Input &in)
{
	const auto pairs = std::make_shared<FclPairs<fcl::RSSd>>(in);
	return { "FCL, RSS, distance", [pairs](std::vector<double> &answers) { pairs->measure(answers); }, {} };
}
#endif

// ---- Measuring ----

/// The peers take turns; the others are compared with the first.
void measure(std::vector<Peer> &peers, std::vector<std::vector<double>> &answers, size_t pairs)
{
	answers.assign(peers.size(), std::vector<double>(pairs));
	for (size_t i = 0; i < peers.size(); i++)
		peers[i].work(answers[i]);
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		for (size_t i = 0; i < peers.size(); i++) {
			const double start = thread_us();
			peers[i].work(answers[i]);
			peers[i].times.push_back((thread_us() - start) / static_cast<double>(pairs));
		}
	}
	for (Peer &peer : peers)
		std::sort(peer.times.begin(), peer.times.end());
}

void print_row(const char *what, const Peer &peer, const Peer &first, const std::string &verdict)
{
	std::printf("%-26s %-26s %9.3f us  median %9.3f  %6.2f of the first   %s\n", what, peer.name.c_str(), peer.times.front(),
		peer.times[peer.times.size() / 2], peer.times.front() / first.times.front(), verdict.c_str());
}

void compare_contacts(const char *what, const Input &in)
{
	std::vector<Peer> peers = { carom_calls(in), carom_steps(in), carom_crossings(in), carom_yes_or_no(in),
		carom_batch_of_calls(in) };
#ifdef BENCH_HAVE_ODE
	peers.push_back(ode_peer(in));
#endif
#ifdef BENCH_HAVE_BULLET
	peers.push_back(bullet_peer(in));
#endif
#ifdef BENCH_HAVE_FCL
	peers.push_back(fcl_contacts(in, true));
	peers.push_back(fcl_contacts(in, false));
#endif
	std::vector<std::vector<double>> answers;
	measure(peers, answers, in.pairs.size());
	for (size_t i = 0; i < peers.size(); i++) {
		int colliding = 0, missed = 0, invented = 0;
		double contacts = 0;
		for (size_t k = 0; k < in.pairs.size(); k++) {
			const bool truth = answers[2][k] > 0, told = answers[i][k] > 0;
			colliding += told;
			missed += truth && !told;
			invented += told && !truth;
			contacts += answers[i][k];
		}
		char verdict[128];
		std::snprintf(verdict, sizeof verdict, "%d of %zu collide, missed %d, invented %d; %.0f contacts", colliding,
			in.pairs.size(), missed, invented, contacts);
		print_row(what, peers[i], peers.front(), verdict);
	}
}

void compare_distances(const Input &in)
{
	std::vector<Peer> peers = { carom_distances(in) };
#ifdef BENCH_HAVE_FCL
	peers.push_back(fcl_distances(in));
#endif
	std::vector<std::vector<double>> answers;
	measure(peers, answers, in.pairs.size());
	for (size_t i = 0; i < peers.size(); i++) {
		double worst = 0;
		for (size_t k = 0; k < in.pairs.size(); k++)
			worst = std::max(worst, std::fabs(answers[i][k] - answers[0][k]) / in.a.size);
		char verdict[64];
		std::snprintf(verdict, sizeof verdict, "differs by at most %.2g of the size", worst);
		print_row("distance", peers[i], peers.front(), verdict);
	}
}

void run_coarse(carom_context *context, const std::string &shape, int32_t triangles)
{
	static const struct {
		const char *name;
		double share; // of the size, beyond the first touch
	} kinds[] = { { "deep", 0.25 }, { "shallow", 0.02 }, { "grazing", 1e-4 }, { "near", -0.01 } };
	const Mesh mesh = make(context, shape, triangles);
	Random random(static_cast<uint64_t>(triangles));
	for (const auto &kind : kinds) {
		std::vector<Pair> pairs;
		for (int i = 0; i < PAIRS; i++)
			pairs.push_back(place(mesh, mesh, kind.share, random));
		const std::string what = shape + " " + std::to_string(triangles) + ", " + kind.name;
		compare_contacts(what.c_str(), { context, mesh, mesh, pairs });
	}
	carom_release_mesh(mesh.carom);
}

void run_files(carom_context *context, const char *path_a, const char *path_b)
{
	const Mesh a = load(context, path_a), b = load(context, path_b);
	Random random(1);
	std::vector<Pair> pairs;
	for (int i = 0; i < PAIRS; i++)
		pairs.push_back(place_as_fcl(random));
	std::printf("%d and %d triangles\n", a.triangle_count(), b.triangle_count());
	const Input in = { context, a, b, pairs };
	compare_contacts("all pairs", in);
	compare_distances(in);
	carom_release_mesh(a.carom);
	carom_release_mesh(b.carom);
}

int usage()
{
	std::fprintf(stderr,
		"usage: carom_pair_peers SHAPE TRIANGLES...   (a shape of carom make: box, lumpy, ...)\n"
		"       carom_pair_peers MESH_A.obj MESH_B.obj\n"
		"Contacts of pairs of meshes beside ODE, GIMPACT and FCL: least and median of %d alternating runs, one thread.\n",
		REPEATS);
	return 2;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3)
		return usage();
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		fail("no context");
#ifdef BENCH_HAVE_ODE
	if (!dInitODE2(0) || !dAllocateODEDataForThread(dAllocateMaskAll))
		fail("ODE cannot be started");
	dSetMessageHandler(drop_message);
#endif
	std::printf("%s, %s, %s\n", BUILD_COMMIT, BUILD_COMPILER, BUILD_FLAGS);
	if (std::strchr(argv[1], '.')) {
		if (argc != 3)
			return usage();
		run_files(context, argv[1], argv[2]);
	} else {
		for (int i = 2; i < argc; i++)
			run_coarse(context, argv[1], static_cast<int32_t>(std::atoi(argv[i])));
	}
	carom_destroy_context(context);
	return 0;
}
