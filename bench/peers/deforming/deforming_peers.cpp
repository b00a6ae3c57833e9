/// @file deforming_peers.cpp
/// Contacts of solids that deform: Carom beside ODE and Bullet's GIMPACT, whichever are found,
/// on one motion. Ten rings overlap in a row and wave in each step. Each program is told the
/// places of all vertices and gives the contacts of all pairs whose boxes overlap; all programs
/// take turns in each step. ODE refits its trees (dGeomTriMeshDataUpdate) or makes them again;
/// GIMPACT refits its boxes (postUpdate, updateBound).
/// Prints CSV: milliseconds of a step, least and middle; how many pairs touch in the last step,
/// and their contacts. Carom's step is given without and with its search for impacts, which the
/// others have not.
/// Usage: carom_deforming_peers [--steps N]
#include "carom/carom.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
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

namespace {

constexpr int rings = 10;
// Ring i hooks into ring i + 1, and overlaps ring i + 2: boxes of others are apart.
constexpr int reach = 2;

struct Ring {
	std::vector<double> rest;
	std::vector<int32_t> triangles;
	int count() const { return static_cast<int>(rest.size() / 3); }
};

struct Result {
	int pairs = 0;
	long long contacts = 0;
};

double now_ms()
{
	using namespace std::chrono;
	return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

/// A torus of radius 1 around z, its tube of radius 0.3.
Ring make_ring(int around, int across)
{
	const double whole = 2 * 3.14159265358979323846;
	Ring r;
	for (int i = 0; i < around * across; i++) {
		const double a = whole * (i / across) / around, b = whole * (i % across) / across, out = 1 + 0.3 * std::cos(b);
		r.rest.insert(r.rest.end(), { out * std::cos(a), out * std::sin(a), 0.3 * std::sin(b) });
		const int32_t next = (i / across + 1) % around * across, column = i % across, right = (column + 1) % across;
		const int32_t row = i / across * across;
		r.triangles.insert(r.triangles.end(), { i, next + column, next + right, i, next + right, row + right });
	}
	return r;
}

/// Every second ring stands upright in its neighbours.
void place(const Ring &r, int number, double phase, std::vector<double> &places)
{
	places.resize(r.rest.size());
	for (size_t i = 0; i < r.rest.size(); i += 3) {
		const double *p = &r.rest[i];
		const double x = p[0], y = p[1], z = p[2] + 0.05 * std::sin(3 * p[0] + phase + number);
		places[i] = x + 1.1 * number;
		places[i + 1] = number % 2 ? -z : y;
		places[i + 2] = number % 2 ? y : z;
	}
}

class Peer {
  public:
	virtual ~Peer() = default;
	/// Take the places of all rings and find all contacts.
	virtual Result step(const std::vector<std::vector<double>> &places) = 0;
};

class CaromPeer final : public Peer {
  public:
	CaromPeer(const Ring &ring, bool impacts) : with_impacts(impacts)
	{
		carom_context_def context_def = carom_default_context_def();
		context_def.thread_count = 1;
		check(carom_create_context(&context_def, &context));
		check(carom_create_world(context, nullptr, &world));
		carom_mesh_def mesh_def = carom_default_mesh_def();
		mesh_def.vertices = { ring.rest.data(), 0, CAROM_FLOAT64 };
		mesh_def.vertex_count = ring.count();
		mesh_def.triangles = ring.triangles.data();
		mesh_def.triangle_count = static_cast<int32_t>(ring.triangles.size() / 3);
		carom_mesh *mesh = nullptr;
		check(carom_create_mesh(context, &mesh_def, nullptr, &mesh));
		for (carom_body_id &id : ids) {
			carom_body_def def = carom_default_body_def();
			def.kind = CAROM_DEFORMABLE;
			def.self_collision = false;
			def.shape.type = CAROM_MESH;
			def.shape.mesh = mesh;
			check(carom_world_add_body(world, &def, &id));
		}
		carom_release_mesh(mesh);
	}

	~CaromPeer() override
	{
		carom_destroy_world(world);
		carom_destroy_context(context);
	}

	Result step(const std::vector<std::vector<double>> &places) override
	{
		for (int i = 0; i < rings; i++) {
			const carom_strided end = { places[i].data(), 0, CAROM_FLOAT64 };
			check(carom_world_set_vertices(world, ids[i], first ? &end : nullptr, &end));
		}
		first = false;
		check(carom_world_step(world));
		Result result;
		result.pairs = carom_world_pairs(world).count;
		result.contacts = carom_world_contacts(world).count;
		spent = with_impacts ? 0 : carom_world_stats(world).ms_sweep;
		return result;
	}

	double spent = 0; // milliseconds of the last step that do not count

  private:
	void check(carom_result result) const
	{
		if (result == CAROM_SUCCESS) {
			return;
		}
		std::fprintf(stderr, "carom_deforming_peers: %s\n", carom_error_text(context));
		std::exit(1);
	}

	carom_context *context = nullptr;
	carom_world *world = nullptr;
	carom_body_id ids[rings];
	bool first = true, with_impacts;
};

#ifdef BENCH_HAVE_ODE
void drop_message(int, const char *, va_list) {}

class OdePeer final : public Peer {
  public:
	OdePeer(const Ring &ring, bool rebuilt)
		: rebuild(rebuilt), indices(ring.triangles.begin(), ring.triangles.end()), contacts(0xffff)
	{
		dInitODE2(0);
		dAllocateODEDataForThread(dAllocateMaskAll);
		dSetMessageHandler(drop_message);
		for (int i = 0; i < rings; i++) {
			vertices[i].assign(ring.rest.begin(), ring.rest.end());
			build(i);
			geoms[i] = dCreateTriMesh(nullptr, data[i], nullptr, nullptr, nullptr);
			dGeomSetPosition(geoms[i], 0, 0, 0);
		}
	}

	~OdePeer() override
	{
		for (int i = 0; i < rings; i++) {
			dGeomDestroy(geoms[i]);
			dGeomTriMeshDataDestroy(data[i]);
		}
		dCloseODE();
	}

	Result step(const std::vector<std::vector<double>> &places) override
	{
		for (int i = 0; i < rings; i++) {
			std::copy(places[i].begin(), places[i].end(), vertices[i].begin());
			if (rebuild) {
				const dTriMeshDataID before = data[i];
				build(i);
				dGeomTriMeshSetData(geoms[i], data[i]);
				dGeomTriMeshDataDestroy(before);
			} else {
				dGeomTriMeshDataUpdate(data[i]);
			}
		}
		Result result;
		for (int i = 0; i < rings; i++) {
			for (int j = i + 1; j < rings && j <= i + reach; j++) {
				const int count = dCollide(geoms[i], geoms[j], 0xffff, contacts.data(), sizeof(dContactGeom));
				result.pairs += count > 0;
				result.contacts += count;
			}
		}
		return result;
	}

  private:
	void build(int i)
	{
		data[i] = dGeomTriMeshDataCreate();
		dGeomTriMeshDataBuildSingle(data[i], vertices[i].data(), 3 * sizeof(float), static_cast<int>(vertices[i].size() / 3),
			indices.data(), static_cast<int>(indices.size()), 3 * sizeof(dTriIndex));
		dGeomTriMeshDataPreprocess2(
			data[i], (1U << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES) | (1U << dTRIDATAPREPROCESS_BUILD_CONCAVE_EDGES), nullptr);
	}

	bool rebuild;
	std::vector<dTriIndex> indices;
	std::vector<float> vertices[rings];
	std::vector<dContactGeom> contacts;
	dTriMeshDataID data[rings];
	dGeomID geoms[rings];
};
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

class BulletPeer final : public Peer {
  public:
	explicit BulletPeer(const Ring &ring) : dispatcher(&configuration), indices(ring.triangles.begin(), ring.triangles.end())
	{
		btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
		for (int i = 0; i < rings; i++) {
			vertices[i].assign(ring.rest.begin(), ring.rest.end());
			arrays[i] = std::make_unique<btTriangleIndexVertexArray>(static_cast<int>(indices.size() / 3), indices.data(),
				static_cast<int>(3 * sizeof(int)), static_cast<int>(vertices[i].size() / 3), vertices[i].data(),
				static_cast<int>(3 * sizeof(btScalar)));
			shapes[i] = std::make_unique<btGImpactMeshShape>(arrays[i].get());
			shapes[i]->setMargin(0);
			shapes[i]->updateBound();
			objects[i].setCollisionShape(shapes[i].get());
			objects[i].setWorldTransform(btTransform::getIdentity());
		}
	}

	Result step(const std::vector<std::vector<double>> &places) override
	{
		for (int i = 0; i < rings; i++) {
			std::copy(places[i].begin(), places[i].end(), vertices[i].begin());
			shapes[i]->postUpdate();
			shapes[i]->updateBound();
		}
		Result result;
		for (int i = 0; i < rings; i++) {
			for (int j = i + 1; j < rings && j <= i + reach; j++) {
				const int count = collide(i, j);
				result.pairs += count > 0;
				result.contacts += count;
			}
		}
		return result;
	}

  private:
	int collide(int i, int j)
	{
		const btCollisionObjectWrapper a(nullptr, shapes[i].get(), &objects[i], objects[i].getWorldTransform(), -1, -1);
		const btCollisionObjectWrapper b(nullptr, shapes[j].get(), &objects[j], objects[j].getWorldTransform(), -1, -1);
		btCollisionAlgorithm *algorithm = dispatcher.findAlgorithm(&a, &b, nullptr, BT_CONTACT_POINT_ALGORITHMS);
		CountingResult found(&a, &b);
		algorithm->processCollision(&a, &b, info, &found);
		algorithm->~btCollisionAlgorithm();
		dispatcher.freeCollisionAlgorithm(algorithm);
		return found.count;
	}

	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher;
	btDispatcherInfo info;
	std::vector<int> indices;
	std::vector<btScalar> vertices[rings];
	std::unique_ptr<btTriangleIndexVertexArray> arrays[rings];
	std::unique_ptr<btGImpactMeshShape> shapes[rings];
	btCollisionObject objects[rings];
};
#endif

struct Row {
	std::string name;
	std::unique_ptr<Peer> peer;
	CaromPeer *carom = nullptr;
	std::vector<double> times;
	Result last;
};

std::vector<Row> make_rows(const Ring &ring)
{
	std::vector<Row> rows;
	for (int impacts = 0; impacts < 2; impacts++) {
		auto carom = std::make_unique<CaromPeer>(ring, impacts == 1);
		CaromPeer *self = carom.get();
		rows.push_back({ impacts ? "carom with impacts" : "carom", std::move(carom), self, {}, {} });
	}
#ifdef BENCH_HAVE_ODE
	rows.push_back({ "ode refitted", std::make_unique<OdePeer>(ring, false), nullptr, {}, {} });
	rows.push_back({ "ode rebuilt", std::make_unique<OdePeer>(ring, true), nullptr, {}, {} });
#endif
#ifdef BENCH_HAVE_BULLET
	rows.push_back({ "gimpact", std::make_unique<BulletPeer>(ring), nullptr, {}, {} });
#endif
	return rows;
}

void run(const Ring &ring, int steps)
{
	std::vector<Row> rows = make_rows(ring);
	std::vector<std::vector<double>> places(rings);
	for (int step = -2; step < steps; step++) { // the first ones make room
		for (int i = 0; i < rings; i++) {
			place(ring, i, 0.05 * step, places[i]);
		}
		for (Row &row : rows) {
			const double start = now_ms();
			row.last = row.peer->step(places);
			const double spent = now_ms() - start - (row.carom ? row.carom->spent : 0);
			if (step >= 0) {
				row.times.push_back(spent);
			}
		}
	}
	for (Row &row : rows) {
		std::sort(row.times.begin(), row.times.end());
		std::printf("%zu,%s,%.3f,%.3f,%d,%lld\n", ring.triangles.size() / 3, row.name.c_str(), row.times.front(),
			row.times[row.times.size() / 2], row.last.pairs, row.last.contacts);
	}
}

} // namespace

int main(int argc, char **argv)
{
	int steps = 20;
	for (int i = 1; i + 1 < argc; i++) {
		if (std::strcmp(argv[i], "--steps") == 0) {
			steps = std::max(1, std::atoi(argv[i + 1]));
		}
	}
	std::printf("triangles,program,least,middle,pairs,contacts\n");
	for (const auto &size : { std::pair<int, int>{ 20, 10 }, { 30, 20 }, { 60, 30 } }) {
		run(make_ring(size.first, size.second), steps);
	}
	return 0;
}
