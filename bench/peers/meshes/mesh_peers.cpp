/// carom_mesh_peers: the time of making a mesh of Carom, and of loading a baked one, beside ODE,
/// Bullet and FCL, whichever are found: one thread, the same triangles, in turns. Each is given the
/// arrays that it wants, made off the clock.

#include "bench/peers/peer_clock.h"
#include "carom/carom.h"
#include "sim/shapes/shapes.h"

#include "build_info.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#ifdef BENCH_HAVE_ODE
#include <ode/ode.h>
#endif
#ifdef BENCH_HAVE_BULLET
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletCollisionCommon.h>
#endif
#ifdef BENCH_HAVE_FCL
#include <fcl/fcl.h>
#endif

namespace {

using bench::thread_us;

[[noreturn]] void fail(const std::string &what)
{
	std::fprintf(stderr, "carom_mesh_peers: error: %s\n", what.c_str());
	std::exit(1);
}

struct Shape {
	sim_mesh mesh{};
	explicit Shape(int32_t triangles)
	{
		sim_error error;
		if (!sim_make_shape("lumpy", triangles, 1, &mesh, &error)) {
			fail(error.text);
		}
	}
	~Shape() { sim_mesh_free(&mesh); }
	Shape(const Shape &) = delete;
	Shape &operator=(const Shape &) = delete;
};

/// One way to make a mesh. A call makes one and returns the function that frees it, off the clock.
struct Maker {
	const char *name;
	std::function<std::function<void()>()> make;
	std::vector<double> times; // us
};

Maker carom_maker(carom_context *context, const sim_mesh &mesh)
{
	return { "carom",
		[&mesh, context] {
			carom_mesh_def def = carom_default_mesh_def();
			def.vertices = { mesh.vertices, 0, CAROM_FLOAT32 };
			def.vertex_count = mesh.vertex_count;
			def.triangles = mesh.triangles;
			def.triangle_count = mesh.triangle_count;
			carom_mesh *made;
			if (carom_create_mesh(context, &def, nullptr, &made) != CAROM_SUCCESS) {
				fail(carom_error_text(context));
			}
			return std::function<void()>([made] { carom_release_mesh(made); });
		},
		{} };
}

/// The bytes of a baked mesh, at a multiple of 64 as a mapped file would be.
class Baked {
  public:
	Baked(carom_context *context, const sim_mesh &mesh)
	{
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = { mesh.vertices, 0, CAROM_FLOAT32 };
		def.vertex_count = mesh.vertex_count;
		def.triangles = mesh.triangles;
		def.triangle_count = mesh.triangle_count;
		carom_mesh *made;
		if (carom_create_mesh(context, &def, nullptr, &made) != CAROM_SUCCESS ||
			carom_mesh_save(made, keep, this) != CAROM_SUCCESS) {
			fail(carom_error_text(context));
		}
		carom_release_mesh(made);
	}
	~Baked() { std::free(bytes); }
	Baked(const Baked &) = delete;
	Baked &operator=(const Baked &) = delete;

	void *bytes = nullptr;
	size_t size = 0;

  private:
	static bool keep(const void *written, size_t count, void *user)
	{
		auto *self = static_cast<Baked *>(user);
		self->bytes = std::aligned_alloc(64, count);
		self->size = count;
		std::memcpy(self->bytes, written, count);
		return true;
	}
};

Maker load_maker(carom_context *context, const Baked &baked, bool copy)
{
	return { copy ? "carom load copy" : "carom load",
		[&baked, context, copy] {
			carom_mesh *loaded;
			if (carom_mesh_load(context, baked.bytes, baked.size, copy, &loaded) != CAROM_SUCCESS) {
				fail(carom_error_text(context));
			}
			return std::function<void()>([loaded] { carom_release_mesh(loaded); });
		},
		{} };
}

#ifdef BENCH_HAVE_ODE
Maker ode_maker(const sim_mesh &mesh)
{
	const auto indices =
		std::make_shared<std::vector<dTriIndex>>(mesh.triangles, mesh.triangles + 3 * static_cast<size_t>(mesh.triangle_count));
	return { "ode",
		[&mesh, indices] {
			dTriMeshDataID data = dGeomTriMeshDataCreate();
			dGeomTriMeshDataBuildSingle(data, mesh.vertices, 3 * sizeof(float), mesh.vertex_count, indices->data(),
				static_cast<int>(indices->size()), 3 * sizeof(dTriIndex));
			dGeomTriMeshDataPreprocess2(data, 1u << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, nullptr);
			return std::function<void()>([data] { dGeomTriMeshDataDestroy(data); });
		},
		{} };
}
#endif

#ifdef BENCH_HAVE_BULLET
btTriangleIndexVertexArray *bullet_array(const sim_mesh &mesh, const std::vector<btScalar> &vertices)
{
	return new btTriangleIndexVertexArray(mesh.triangle_count, mesh.triangles, 3 * sizeof(int32_t), mesh.vertex_count,
		const_cast<btScalar *>(vertices.data()), 3 * sizeof(btScalar));
}

Maker bullet_maker(const sim_mesh &mesh, bool moving)
{
	const auto vertices =
		std::make_shared<std::vector<btScalar>>(mesh.vertices, mesh.vertices + 3 * static_cast<size_t>(mesh.vertex_count));
	return { moving ? "bullet gimpact" : "bullet bvh",
		[&mesh, vertices, moving] {
			btTriangleIndexVertexArray *array = bullet_array(mesh, *vertices);
			btCollisionShape *shape;
			if (moving) {
				auto *made = new btGImpactMeshShape(array);
				made->updateBound();
				shape = made;
			} else {
				shape = new btBvhTriangleMeshShape(array, true);
			}
			return std::function<void()>([array, shape] {
				delete shape;
				delete array;
			});
		},
		{} };
}
#endif

#ifdef BENCH_HAVE_FCL
Maker fcl_maker(const sim_mesh &mesh)
{
	const auto vertices = std::make_shared<std::vector<fcl::Vector3d>>();
	const auto triangles = std::make_shared<std::vector<fcl::Triangle>>();
	for (int32_t i = 0; i < mesh.vertex_count; i++) {
		vertices->emplace_back(mesh.vertices[3 * i], mesh.vertices[3 * i + 1], mesh.vertices[3 * i + 2]);
	}
	for (int32_t i = 0; i < mesh.triangle_count; i++) {
		triangles->emplace_back(mesh.triangles[3 * i], mesh.triangles[3 * i + 1], mesh.triangles[3 * i + 2]);
	}
	return { "fcl obb",
		[vertices, triangles] {
			auto *model = new fcl::BVHModel<fcl::OBBd>;
			model->beginModel();
			model->addSubModel(*vertices, *triangles);
			model->endModel();
			return std::function<void()>([model] { delete model; });
		},
		{} };
}
#endif

void measure(carom_context *context, int32_t triangles, int reps)
{
	const Shape shape(triangles);
	std::vector<Maker> makers;
	const Baked baked(context, shape.mesh);
	makers.push_back(carom_maker(context, shape.mesh));
	makers.push_back(load_maker(context, baked, false));
	makers.push_back(load_maker(context, baked, true));
#ifdef BENCH_HAVE_ODE
	makers.push_back(ode_maker(shape.mesh));
#endif
#ifdef BENCH_HAVE_BULLET
	makers.push_back(bullet_maker(shape.mesh, false));
	makers.push_back(bullet_maker(shape.mesh, true));
#endif
#ifdef BENCH_HAVE_FCL
	makers.push_back(fcl_maker(shape.mesh));
#endif
	for (int i = 0; i < reps; i++) {
		for (Maker &maker : makers) {
			const double start = thread_us();
			const std::function<void()> release = maker.make();
			maker.times.push_back(thread_us() - start);
			release();
		}
	}
	double own = 0;
	for (Maker &maker : makers) {
		std::sort(maker.times.begin(), maker.times.end());
		own = &maker == &makers.front() ? maker.times.front() : own;
		std::printf("%9d %-16s %12.1f %12.1f %8.3f\n", triangles, maker.name, maker.times.front(),
			maker.times[maker.times.size() / 2], maker.times.front() / own);
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2) {
		std::fprintf(stderr,
			"usage: carom_mesh_peers TRIANGLES[:REPETITIONS]...\n"
			"The time of making a mesh of so many triangles (carom make lumpy), and of loading a baked one: one thread, in turns;\n"
			"100 repetitions unless told.\n");
		return 2;
	}
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS) {
		fail("no context");
	}
#ifdef BENCH_HAVE_ODE
	dInitODE2(0);
#endif
	std::printf("%s, %s, %s\n", BUILD_COMMIT, BUILD_COMPILER, BUILD_FLAGS);
	std::printf("%9s %-16s %12s %12s %8s\n", "triangles", "library", "least us", "median us", "of carom");
	for (int i = 1; i < argc; i++) {
		char *end;
		const long triangles = std::strtol(argv[i], &end, 10), reps = *end == ':' ? std::strtol(end + 1, nullptr, 10) : 100;
		if (triangles < 4 || triangles > SIM_MAX_SHAPE_TRIANGLES || reps < 1) {
			fail(std::string("no number of triangles: ") + argv[i]);
		}
		measure(context, static_cast<int32_t>(triangles), static_cast<int>(reps));
	}
	carom_destroy_context(context);
	return 0;
}
