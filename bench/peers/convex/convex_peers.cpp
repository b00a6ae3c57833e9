/// carom_convex_peers: pairs of convex hulls beside libccd (GJK with its polytope, and MPR), FCL
/// (its default, which is libccd's MPR, and its own GJK and EPA; with contacts, and for a yes or
/// no) and Bullet (GJK and EPA, as its manifolds use them), whichever are found. One thread, the
/// same hulls and poses. What was found is compared before any time is printed: distances of
/// hulls that are apart must agree, and a way out must not be shorter than the least one.
///
/// Usage: carom_convex_peers [POINTS ...]   (numbers of points a hull; default 8 32 128)

#include "bench/peers/peer_clock.h"
#include "bench/peers/peer_poses.h"
#include "carom/collide.h"

#include "build_info.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef BENCH_HAVE_CCD
#include <ccd/ccd.h>
#include <ccd/quat.h>
#endif
#ifdef BENCH_HAVE_FCL
#include <fcl/geometry/shape/convex.h>
#include <fcl/narrowphase/collision.h>
#endif
#ifdef BENCH_HAVE_BULLET
#include <BulletCollision/CollisionDispatch/btBoxBoxDetector.h>
#include <BulletCollision/CollisionDispatch/btConvexConvexAlgorithm.h>
#include <BulletCollision/CollisionShapes/btConvexHullShape.h>
#include <BulletCollision/NarrowPhaseCollision/btDiscreteCollisionDetectorInterface.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkEpaPenetrationDepthSolver.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkPairDetector.h>
#include <BulletCollision/NarrowPhaseCollision/btPointCollector.h>
#include <BulletCollision/NarrowPhaseCollision/btVoronoiSimplexSolver.h>
#include <btBulletCollisionCommon.h>
#endif

namespace {

using bench::random_pose;
using bench::thread_ns;
#ifdef BENCH_HAVE_BULLET
using bench::bullet_pose;
#endif

enum { PAIRS = 400, REPEATS = 7 };

[[noreturn]] void fail(const std::string &what)
{
	std::fprintf(stderr, "carom_convex_peers: error: %s\n", what.c_str());
	std::exit(1);
}

struct Hull {
	std::vector<float> points; // of the hull alone
	carom_mesh *mesh = nullptr;
#ifdef BENCH_HAVE_FCL
	std::shared_ptr<fcl::Convexd> fcl;
#endif
#ifdef BENCH_HAVE_BULLET
	std::unique_ptr<btConvexHullShape> bullet;
#endif
};

struct Pair {
	int a, b;
	carom_pose pose_a, pose_b;
};

#ifdef BENCH_HAVE_FCL
std::shared_ptr<fcl::Convexd> fcl_hull(const carom_mesh *mesh)
{
	const auto points = std::make_shared<std::vector<fcl::Vector3d>>();
	const auto faces = std::make_shared<std::vector<int>>();
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *t = carom_mesh_get_triangles(mesh);
	for (int i = 0; i < report->vertex_count; i++)
		points->emplace_back(v[3 * i], v[3 * i + 1], v[3 * i + 2]);
	for (int i = 0; i < report->triangle_count; i++)
		faces->insert(faces->end(), { 3, t[3 * i], t[3 * i + 1], t[3 * i + 2] });
	return std::make_shared<fcl::Convexd>(points, report->triangle_count, faces, true);
}
#endif

Hull make_hull(carom_context *context, std::mt19937 &random, int count)
{
	std::normal_distribution<double> normal;
	std::vector<float> points;
	for (int i = 0; i < count; i++) {
		const double p[3] = { normal(random), normal(random), normal(random) };
		const double length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
		for (double x : p)
			points.push_back(static_cast<float>(x / length));
	}
	Hull hull;
	const carom_strided view = { points.data(), 0, CAROM_FLOAT32 };
	if (carom_create_hull(context, &view, count, &hull.mesh) != CAROM_SUCCESS)
		fail(carom_error_text(context));
	const float *vertices = carom_mesh_get_vertices(hull.mesh);
	hull.points.assign(vertices, vertices + 3 * carom_mesh_get_report(hull.mesh)->vertex_count);
#ifdef BENCH_HAVE_FCL
	hull.fcl = fcl_hull(hull.mesh);
#endif
#ifdef BENCH_HAVE_BULLET
	hull.bullet = std::make_unique<btConvexHullShape>();
	for (size_t i = 0; i < hull.points.size(); i += 3)
		hull.bullet->addPoint(btVector3(hull.points[i], hull.points[i + 1], hull.points[i + 2]), false);
	hull.bullet->recalcLocalAabb();
	hull.bullet->setMargin(0);
	hull.bullet->initializePolyhedralFeatures();
#endif
	return hull;
}

struct Answer {
	double distance; // negative: depth
};

/// A library: its name, and its answer to a pair.
struct Peer {
	std::string name;
	bool measures_gaps;
	bool measures_depths;
	std::function<Answer(const Hull &, const Hull &, const Pair &)> ask;
};

carom_shape shape_of(const Hull &hull)
{
	carom_shape shape = {};
	shape.type = CAROM_HULL;
	shape.mesh = hull.mesh;
	return shape;
}

std::vector<Peer> make_carom(carom_context *context)
{
	return { { "Carom, separation", true, true,
				 [context](const Hull &a, const Hull &b, const Pair &p) {
					 const carom_shape sa = shape_of(a), sb = shape_of(b);
					 carom_separation s;
					 carom_distance(context, &sa, &p.pose_a, &sb, &p.pose_b, &s);
					 return Answer{ s.distance };
				 } },
		{ "Carom, manifold", false, true,
			[context](const Hull &a, const Hull &b, const Pair &p) {
				const carom_shape sa = shape_of(a), sb = shape_of(b);
				carom_manifold m;
				carom_collide_convex(context, &sa, &p.pose_a, &sb, &p.pose_b, 0, &m);
				double deepest = -1e30;
				for (int i = 0; i < m.count; i++)
					deepest = std::max(deepest, m.points[i].depth);
				return Answer{ m.count > 0 ? -deepest : 1 };
			} },
		{ "Carom, yes or no", false, false, [context](const Hull &a, const Hull &b, const Pair &p) {
			 const carom_shape sa = shape_of(a), sb = shape_of(b);
			 bool overlap;
			 carom_overlap(context, &sa, &p.pose_a, &sb, &p.pose_b, &overlap);
			 return Answer{ overlap ? -1.0 : 1.0 };
		 } } };
}

#ifdef BENCH_HAVE_CCD
struct CcdBody {
	const Hull *hull;
	ccd_vec3_t position;
	ccd_quat_t turn, back;
};

CcdBody ccd_body(const Hull &hull, const carom_pose &pose)
{
	CcdBody body;
	body.hull = &hull;
	ccdVec3Set(&body.position, pose.position.x, pose.position.y, pose.position.z);
	ccdQuatSet(&body.turn, pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w);
	ccdQuatInvert2(&body.back, &body.turn);
	return body;
}

void ccd_support(const void *object, const ccd_vec3_t *direction, ccd_vec3_t *point)
{
	const auto *body = static_cast<const CcdBody *>(object);
	ccd_vec3_t d = *direction;
	ccdQuatRotVec(&d, &body->back);
	const std::vector<float> &p = body->hull->points;
	size_t best = 0;
	double most = -1e300;
	for (size_t i = 0; i < p.size(); i += 3) {
		const double along = d.v[0] * p[i] + d.v[1] * p[i + 1] + d.v[2] * p[i + 2];
		if (along > most) {
			most = along;
			best = i;
		}
	}
	ccdVec3Set(point, p[best], p[best + 1], p[best + 2]);
	ccdQuatRotVec(point, &body->turn);
	ccdVec3Add(point, &body->position);
}

void ccd_centre(const void *object, ccd_vec3_t *centre) { *centre = static_cast<const CcdBody *>(object)->position; }

Answer ask_ccd(const Hull &a, const Hull &b, const Pair &p, bool mpr)
{
	ccd_t ccd;
	CCD_INIT(&ccd);
	ccd.support1 = ccd.support2 = ccd_support;
	ccd.center1 = ccd.center2 = ccd_centre;
	ccd.max_iterations = 100;
	ccd.epa_tolerance = 1e-4;
	ccd.mpr_tolerance = 1e-4;
	const CcdBody ba = ccd_body(a, p.pose_a), bb = ccd_body(b, p.pose_b);
	ccd_real_t depth;
	ccd_vec3_t direction, position;
	const int apart = mpr ? ccdMPRPenetration(&ba, &bb, &ccd, &depth, &direction, &position)
						  : ccdGJKPenetration(&ba, &bb, &ccd, &depth, &direction, &position);
	return { apart == 0 ? -static_cast<double>(depth) : 1 };
}
#endif

#ifdef BENCH_HAVE_FCL
fcl::Transform3d fcl_pose(const carom_pose &pose)
{
	const carom_quat &q = pose.orientation;
	fcl::Transform3d t = fcl::Transform3d::Identity();
	t.translation() << pose.position.x, pose.position.y, pose.position.z;
	t.linear() = fcl::Quaterniond(q.w, q.x, q.y, q.z).toRotationMatrix();
	return t;
}

Answer ask_fcl(const Hull &a, const Hull &b, const Pair &p, fcl::GJKSolverType solver, bool contacts)
{
	fcl::CollisionRequestd request(contacts ? 4 : 1, contacts);
	request.gjk_solver_type = solver;
	fcl::CollisionResultd result;
	fcl::collide(a.fcl.get(), fcl_pose(p.pose_a), b.fcl.get(), fcl_pose(p.pose_b), request, result);
	double deepest = result.isCollision() ? 0 : -1;
	for (size_t i = 0; contacts && i < result.numContacts(); i++)
		deepest = std::max(deepest, result.getContact(i).penetration_depth);
	return { result.isCollision() ? -std::max(deepest, 1e-300) : 1 };
}

Peer fcl_peer(const char *name, fcl::GJKSolverType solver, bool contacts)
{
	return { name, false, contacts,
		[solver, contacts](const Hull &a, const Hull &b, const Pair &p) { return ask_fcl(a, b, p, solver, contacts); } };
}
#endif

#ifdef BENCH_HAVE_BULLET

Answer ask_bullet(const Hull &a, const Hull &b, const Pair &p)
{
	btVoronoiSimplexSolver simplex;
	btGjkEpaPenetrationDepthSolver depths;
	btGjkPairDetector detector(a.bullet.get(), b.bullet.get(), &simplex, &depths);
	btDiscreteCollisionDetectorInterface::ClosestPointInput input;
	input.m_transformA = bullet_pose(p.pose_a);
	input.m_transformB = bullet_pose(p.pose_b);
	btPointCollector result;
	detector.getClosestPoints(input, result, nullptr);
	return { result.m_hasResult ? static_cast<double>(result.m_distance) : 1 };
}

/// A new pair as a world of Bullet treats it: the algorithm that its default dispatcher chooses for
/// two hulls, and a manifold. clip: with the axes of all faces and edges, and faces cut against
/// each other (btDispatcherInfo::m_enableSatConvex), which gives several points.
class BulletManifolds {
  public:
	explicit BulletManifolds(bool clip) : dispatcher(&configuration) { info.m_enableSatConvex = clip; }

	Answer ask(const Hull &a, const Hull &b, const Pair &p)
	{
		btCollisionObject body_a, body_b;
		body_a.setCollisionShape(a.bullet.get());
		body_b.setCollisionShape(b.bullet.get());
		body_a.setWorldTransform(bullet_pose(p.pose_a));
		body_b.setWorldTransform(bullet_pose(p.pose_b));
		btCollisionObjectWrapper wrap_a(nullptr, a.bullet.get(), &body_a, body_a.getWorldTransform(), -1, -1);
		btCollisionObjectWrapper wrap_b(nullptr, b.bullet.get(), &body_b, body_b.getWorldTransform(), -1, -1);
		btCollisionAlgorithm *algorithm = dispatcher.findAlgorithm(&wrap_a, &wrap_b, nullptr, BT_CONTACT_POINT_ALGORITHMS);
		btManifoldResult result(&wrap_a, &wrap_b);
		algorithm->processCollision(&wrap_a, &wrap_b, info, &result);
		double deepest = 1;
		const btPersistentManifold *manifold = result.getPersistentManifold();
		for (int i = 0; manifold && i < manifold->getNumContacts(); i++)
			deepest = std::min(deepest, static_cast<double>(manifold->getContactPoint(i).getDistance()));
		algorithm->~btCollisionAlgorithm();
		dispatcher.freeCollisionAlgorithm(algorithm);
		return { deepest };
	}

  private:
	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher;
	btDispatcherInfo info;
};

Peer bullet_manifolds(const char *name, bool clip)
{
	const auto manifolds = std::make_shared<BulletManifolds>(clip);
	return { name, false, true, [manifolds](const Hull &a, const Hull &b, const Pair &p) { return manifolds->ask(a, b, p); } };
}
#endif

std::vector<Peer> make_peers(carom_context *context)
{
	std::vector<Peer> peers = make_carom(context);
#ifdef BENCH_HAVE_CCD
	peers.push_back({ "libccd, GJK and polytope", false, true,
		[](const Hull &a, const Hull &b, const Pair &p) { return ask_ccd(a, b, p, false); } });
	peers.push_back(
		{ "libccd, MPR", false, true, [](const Hull &a, const Hull &b, const Pair &p) { return ask_ccd(a, b, p, true); } });
#endif
#ifdef BENCH_HAVE_FCL
	peers.push_back(fcl_peer("FCL, its default (MPR)", fcl::GST_LIBCCD, true));
	peers.push_back(fcl_peer("FCL, its GJK and EPA", fcl::GST_INDEP, true));
	peers.push_back(fcl_peer("FCL, its default, yes or no", fcl::GST_LIBCCD, false));
	peers.push_back(fcl_peer("FCL, its GJK, yes or no", fcl::GST_INDEP, false));
#endif
#ifdef BENCH_HAVE_BULLET
	peers.push_back({ "Bullet, GJK and EPA, one point", true, true, ask_bullet });
	peers.push_back(bullet_manifolds("Bullet, its manifold", false));
	peers.push_back(bullet_manifolds("Bullet, its manifold, clipped", true));
#endif
	return peers;
}

/// Compare with the first peer; the number of pairs in which the answers differ.
struct Differences {
	int verdict = 0;   // overlap or not
	int gap = 0;       // distances differ by more than a thousandth
	int deeper = 0;    // the way out is longer than the least one by more than a hundredth
	int too_short = 0; // it is shorter by more than a thousandth: it does not part the hulls
};

Differences compare(const std::vector<Hull> &hulls, const std::vector<Pair> &pairs, const Peer &first, const Peer &peer)
{
	Differences d;
	for (const Pair &p : pairs) {
		const double truth = first.ask(hulls[p.a], hulls[p.b], p).distance, other = peer.ask(hulls[p.a], hulls[p.b], p).distance;
		if (std::fabs(truth) < 1e-4)
			continue; // touching within the precision of float
		if ((truth < 0) != (other < 0))
			d.verdict++;
		else if (truth > 0)
			d.gap += peer.measures_gaps && std::fabs(other - truth) > 1e-3;
		else if (peer.measures_depths) {
			d.deeper += other < 1.01 * truth - 1e-3;
			d.too_short += other > truth + 1e-3;
		}
	}
	return d;
}

double measure(const std::vector<Hull> &hulls, const std::vector<Pair> &pairs, const Peer &peer)
{
	volatile double sink = 0;
	const double start = thread_ns();
	for (const Pair &p : pairs)
		sink = sink + peer.ask(hulls[p.a], hulls[p.b], p).distance;
	return (thread_ns() - start) / static_cast<double>(pairs.size());
}

void run(carom_context *context, int points, bool overlapping)
{
	std::mt19937 random(static_cast<unsigned>(points));
	std::vector<Hull> hulls;
	for (int i = 0; i < 16; i++)
		hulls.push_back(make_hull(context, random, points));
	std::vector<Peer> peers = make_peers(context);
	std::vector<Pair> pairs;
	while (pairs.size() < PAIRS) {
		Pair p = { static_cast<int>(random() % 16), static_cast<int>(random() % 16), random_pose(random, 1),
			random_pose(random, 1) };
		if ((peers[0].ask(hulls[p.a], hulls[p.b], p).distance < 0) == overlapping)
			pairs.push_back(p);
	}
	std::vector<std::vector<double>> times(peers.size());
	for (int repeat = 0; repeat < REPEATS; repeat++)
		for (size_t i = 0; i < peers.size(); i++)
			times[i].push_back(measure(hulls, pairs, peers[i]));
	for (size_t i = 0; i < peers.size(); i++) {
		const Differences d = compare(hulls, pairs, peers[0], peers[i]);
		std::sort(times[i].begin(), times[i].end());
		std::printf(
			"%-8s %4d points  %-32s %7.0f ns  median %7.0f  %5.2f of separation   wrong verdict %d, gap %d; way out too long %d, too short %d\n",
			overlapping ? "overlap" : "apart", points, peers[i].name.c_str(), times[i][0], times[i][REPEATS / 2],
			times[i][0] / times[0][0], d.verdict, d.gap, d.deeper, d.too_short);
	}
	for (Hull &hull : hulls)
		carom_release_mesh(hull.mesh);
}

} // namespace

int main(int argc, char **argv)
{
	carom_context *context;
	if (carom_create_context(nullptr, &context) != CAROM_SUCCESS)
		fail("no context");
	std::vector<int> sizes;
	for (int i = 1; i < argc; i++)
		sizes.push_back(std::max(4, std::atoi(argv[i])));
	if (sizes.empty())
		sizes = { 8, 32, 128 };
	std::printf("commit %s, %s\n", BUILD_COMMIT, BUILD_COMPILER);
	for (int points : sizes) {
		run(context, points, true);
		run(context, points, false);
	}
	carom_destroy_context(context);
	return 0;
}
