/// carom_cast_peers: shapes on straight ways through a world, beside Bullet's
/// btCollisionWorld::convexSweepTest. One thread, the same shapes, poses and ways. Every answer is
/// compared before any time is printed: what is hit at all, and after which share of the way.
///
/// Usage: carom_cast_peers [CASTS]   (default 1000)

#include "bench/peers/peer_clock.h"
#include "bench/peers/peer_poses.h"
#include "carom/carom.h"

#include "build_info.h"

#include <btBulletCollisionCommon.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using bench::bullet_pose;
using bench::random_pose;
using bench::thread_ns;

enum { REPEATS = 7, BODIES = 1000, COLUMNS = 101 };

const double SPAN = 20, WAY = 20, TOLERANCE = 1e-4;

[[noreturn]] void fail(const std::string &what)
{
	std::fprintf(stderr, "carom_cast_peers: error: %s\n", what.c_str());
	std::exit(1);
}

void check(carom_context *context, carom_result result)
{
	if (result != CAROM_SUCCESS)
		fail(carom_error_text(context));
}

/// A shape as either library has it.
struct Form {
	const char *name = "";
	carom_shape carom = {};
	std::unique_ptr<btConvexShape> bullet;
};

Form make_ball()
{
	Form f;
	f.name = "sphere";
	f.carom.type = CAROM_SPHERE;
	f.carom.radius = 0.5;
	f.bullet = std::make_unique<btSphereShape>(btScalar(0.5));
	return f;
}

Form make_box()
{
	Form f;
	f.name = "box";
	f.carom.type = CAROM_BOX;
	f.carom.half_extents[0] = 0.5;
	f.carom.half_extents[1] = 0.4;
	f.carom.half_extents[2] = 0.3;
	f.bullet = std::make_unique<btBoxShape>(btVector3(btScalar(0.5), btScalar(0.4), btScalar(0.3)));
	f.bullet->setMargin(0); // with one Bullet rounds its corners
	return f;
}

/// Along z in both.
Form make_capsule()
{
	Form f;
	f.name = "capsule";
	f.carom.type = CAROM_CAPSULE;
	f.carom.radius = 0.3;
	f.carom.half_length = 0.4;
	f.bullet = std::make_unique<btCapsuleShapeZ>(btScalar(0.3), btScalar(0.8));
	return f;
}

/// Of 32 points on a sphere.
Form make_hull(carom_context *context, std::mt19937 &random)
{
	std::normal_distribution<double> normal;
	std::vector<float> points;
	for (int i = 0; i < 32; i++) {
		const double p[3] = { normal(random), normal(random), normal(random) };
		const double length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
		for (double x : p)
			points.push_back(static_cast<float>(0.5 * x / length));
	}
	Form f;
	f.name = "hull of 32 points";
	f.carom.type = CAROM_HULL;
	const carom_strided view = { points.data(), 0, CAROM_FLOAT32 };
	carom_mesh *mesh;
	check(context, carom_create_hull(context, &view, 32, &mesh));
	f.carom.mesh = mesh;
	auto hull = std::make_unique<btConvexHullShape>();
	for (size_t i = 0; i < points.size(); i += 3)
		hull->addPoint(btVector3(points[i], points[i + 1], points[i + 2]), false);
	hull->recalcLocalAabb();
	hull->setMargin(btScalar(0.001)); // with none Bullet finds no end on triangles
	f.bullet = std::move(hull);
	return f;
}

/// Bodies, as a world of either library has them.
class Scene {
  public:
	explicit Scene(carom_context *used) : context(used), dispatcher(&configuration), bullet(&dispatcher, &pairs, &configuration)
	{
		check(context, carom_create_world(context, nullptr, &world));
	}
	~Scene()
	{
		for (const auto &object : objects)
			bullet.removeCollisionObject(object.get());
		carom_destroy_world(world);
	}
	Scene(const Scene &) = delete;
	Scene &operator=(const Scene &) = delete;

	void add(const carom_shape &shape, btCollisionShape *other, const carom_pose &pose)
	{
		carom_body_def def = carom_default_body_def();
		def.shape = shape;
		def.pose = pose;
		def.kind = CAROM_STATIC;
		carom_body_id id;
		check(context, carom_world_add_body(world, &def, &id));
		objects.push_back(std::make_unique<btCollisionObject>());
		objects.back()->setCollisionShape(other);
		objects.back()->setWorldTransform(bullet_pose(pose));
		bullet.addCollisionObject(objects.back().get());
	}

	/// The share of the way after which a shape meets a body; 1: none.
	double cast_carom(const Form &form, const carom_pose &from, carom_vec3 way) const
	{
		const carom_motion motion = carom_straight_motion(from, way);
		bool found;
		carom_shape_hit hit;
		check(context, carom_world_cast_shape(world, &form.carom, &motion, TOLERANCE, nullptr, &found, &hit));
		return found ? hit.time : 1;
	}

	double cast_bullet(const Form &form, const carom_pose &from, carom_vec3 way) const
	{
		carom_pose end = from;
		end.position = { from.position.x + way.x, from.position.y + way.y, from.position.z + way.z };
		const btTransform a = bullet_pose(from), b = bullet_pose(end);
		btCollisionWorld::ClosestConvexResultCallback result(a.getOrigin(), b.getOrigin());
		bullet.convexSweepTest(form.bullet.get(), a, b, result);
		return result.hasHit() ? static_cast<double>(result.m_closestHitFraction) : 1;
	}

  private:
	carom_context *context;
	carom_world *world = nullptr;
	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher;
	btDbvtBroadphase pairs;
	btCollisionWorld bullet;
	std::vector<std::unique_ptr<btCollisionObject>> objects;
};

struct Cast {
	carom_pose from;
	carom_vec3 way;
};

/// Ways through the middle, from places that are clear.
std::vector<Cast> make_casts(std::mt19937 &random, const Scene &scene, const Form &form, int count, bool downward)
{
	std::vector<Cast> casts;
	while (static_cast<int>(casts.size()) < count) {
		Cast c = { random_pose(random, SPAN), random_pose(random, 1).position };
		if (downward) {
			c.from.position = { 0.8 * c.from.position.x, 0.8 * c.from.position.y, 3 };
			c.way.z = -0.7;
		}
		const double length = std::sqrt(c.way.x * c.way.x + c.way.y * c.way.y + c.way.z * c.way.z);
		c.way = { WAY * c.way.x / length, WAY * c.way.y / length, WAY * c.way.z / length };
		if (scene.cast_carom(form, c.from, c.way) > 0 && scene.cast_bullet(form, c.from, c.way) > 0)
			casts.push_back(c);
	}
	return casts;
}

struct Differences {
	int hits = 0;    // of Carom
	int verdict = 0; // only one of the two hits
	int early = 0;   // Bullet's hit comes earlier by more than a thousandth of the way
	int late = 0;    // or later
};

Differences compare(const Scene &scene, const Form &form, const std::vector<Cast> &casts)
{
	Differences d;
	for (const Cast &c : casts) {
		const double ours = scene.cast_carom(form, c.from, c.way), theirs = scene.cast_bullet(form, c.from, c.way);
		d.hits += ours < 1;
		d.verdict += (ours < 1) != (theirs < 1);
		d.early += ours < 1 && theirs < ours - 1e-3;
		d.late += theirs < 1 && theirs > ours + 1e-3;
	}
	return d;
}

void run(const char *place, std::mt19937 &random, const Scene &scene, const Form &form, int count, bool downward)
{
	const std::vector<Cast> casts = make_casts(random, scene, form, count, downward);
	const Differences d = compare(scene, form, casts);
	std::vector<double> times[2], ratios;
	volatile double sink = 0;
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		for (int k = 0; k < 2; k++) {
			const double start = thread_ns();
			for (const Cast &c : casts)
				sink = sink + (k == 0 ? scene.cast_carom(form, c.from, c.way) : scene.cast_bullet(form, c.from, c.way));
			times[k].push_back((thread_ns() - start) / 1000 / static_cast<double>(casts.size()));
		}
		ratios.push_back(times[1].back() / times[0].back());
	}
	std::sort(ratios.begin(), ratios.end());
	const double least[2] = { *std::min_element(times[0].begin(), times[0].end()),
		*std::min_element(times[1].begin(), times[1].end()) };
	std::printf("%-22s %-18s Carom %7.2f us  Bullet %7.2f us  median ratio %5.2f   hits %d of %d; only one hits %d, "
				"Bullet earlier %d, later %d\n",
		place, form.name, least[0], least[1], ratios[REPEATS / 2], d.hits, count, d.verdict, d.early, d.late);
}

/// Hills of triangles.
struct Hills {
	std::vector<float> vertices;
	std::vector<int32_t> triangles;
	carom_mesh *mesh = nullptr;
	std::unique_ptr<btTriangleIndexVertexArray> view;
	std::unique_ptr<btBvhTriangleMeshShape> bullet;
};

void make_hills(carom_context *context, Hills &h)
{
	for (int i = 0; i < COLUMNS * COLUMNS; i++) {
		const double x = (i % COLUMNS - 50) * 0.4, y = static_cast<double>(i / COLUMNS - 50) * 0.4;
		for (double p : { x, y, std::sin(0.7 * x) * std::cos(0.6 * y) })
			h.vertices.push_back(static_cast<float>(p));
	}
	for (int i = 0; i < COLUMNS * (COLUMNS - 1); i++) {
		if (i % COLUMNS == COLUMNS - 1)
			continue;
		for (int corner : { i, i + 1, i + COLUMNS + 1, i, i + COLUMNS + 1, i + COLUMNS })
			h.triangles.push_back(corner);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = { h.vertices.data(), 0, CAROM_FLOAT32 };
	def.vertex_count = COLUMNS * COLUMNS;
	def.triangles = h.triangles.data();
	def.triangle_count = static_cast<int32_t>(h.triangles.size() / 3);
	check(context, carom_create_mesh(context, &def, nullptr, &h.mesh));
	h.view = std::make_unique<btTriangleIndexVertexArray>(def.triangle_count, h.triangles.data(),
		static_cast<int>(3 * sizeof(int32_t)), def.vertex_count, h.vertices.data(), static_cast<int>(3 * sizeof(float)));
	h.bullet = std::make_unique<btBvhTriangleMeshShape>(h.view.get(), true);
	h.bullet->setMargin(0);
}

void run_all(carom_context *context, int count)
{
	std::mt19937 random(1);
	std::vector<Form> forms;
	forms.push_back(make_ball());
	forms.push_back(make_box());
	forms.push_back(make_capsule());
	forms.push_back(make_hull(context, random));
	Hills hills;
	make_hills(context, hills);
	{
		Scene bodies(context), ground(context);
		for (int i = 0; i < BODIES; i++) {
			const Form &form = forms[static_cast<size_t>(i) % forms.size()];
			bodies.add(form.carom, form.bullet.get(), random_pose(random, SPAN));
		}
		carom_shape shape = {};
		shape.type = CAROM_MESH;
		shape.mesh = hills.mesh;
		ground.add(shape, hills.bullet.get(), { { 0, 0, 0 }, { 0, 0, 0, 1 } });
		for (const Form &form : forms)
			run("1,000 bodies", random, bodies, form, count, false);
		for (const Form &form : forms)
			run("20,000 triangles", random, ground, form, count, true);
	}
	carom_release_mesh(hills.mesh);
	carom_release_mesh(const_cast<carom_mesh *>(forms[3].carom.mesh));
}

} // namespace

int main(int argc, char **argv)
{
	carom_context *context;
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		fail("no context");
	const int count = argc > 1 ? std::atoi(argv[1]) : 1000;
	if (count < 1)
		fail("CASTS is a number above 0");
	std::printf("commit %s, %s\n", BUILD_COMMIT, BUILD_COMPILER);
	run_all(context, count);
	carom_destroy_context(context);
	return 0;
}
