/// Bullet: its GIMPACT algorithm for two concave meshes, margin 0, so that it answers the same
/// question as the others.

#include "peers.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletCollisionCommon.h>

#include <algorithm>

namespace bench {
namespace {

/// Counts the points that the algorithm hands out before the manifold throws some away: a pair with
/// one is colliding.
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
	BulletPeer(const Mesh &mesh, int body_count)
		: vertices(mesh.vertices), indices(mesh.triangles), dispatcher(&configuration), bodies(body_count)
	{
		btIndexedMesh part;
		part.m_numTriangles = mesh.triangle_count();
		part.m_triangleIndexBase = reinterpret_cast<const unsigned char *>(indices.data());
		part.m_triangleIndexStride = 3 * sizeof(int32_t);
		part.m_numVertices = mesh.vertex_count();
		part.m_vertexBase = reinterpret_cast<const unsigned char *>(vertices.data());
		part.m_vertexStride = 3 * sizeof(float);
		part.m_vertexType = PHY_FLOAT;
		array.addIndexedMesh(part, PHY_INTEGER);
		shape = std::make_unique<btGImpactMeshShape>(&array);
		shape->setMargin(0);
		shape->updateBound();
		btGImpactCollisionAlgorithm::registerAlgorithm(&dispatcher);
		for (btCollisionObject &body : bodies) {
			body.setCollisionShape(shape.get());
		}
	}

	void place(const Frame &frame) override
	{
		for (size_t i = 0; i < bodies.size(); i++) {
			const double *r = frame.bodies[i].rotation;
			const carom_vec3 &p = frame.bodies[i].pose.position;
			btScalar m[9];
			std::copy(r, r + 9, m);
			btMatrix3x3 rotation{ m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8] };
			btVector3 position{ btScalar(p.x), btScalar(p.y), btScalar(p.z) };
			bodies[i].setWorldTransform(btTransform(rotation, position));
		}
	}

	void work(const Frame &frame, Answer &answer) override
	{
		for (const Pair &pair : frame.pairs) {
			collide(pair, answer);
		}
	}

  private:
	void collide(const Pair &pair, Answer &answer)
	{
		btCollisionObject &a = bodies[pair.a], &b = bodies[pair.b];
		btCollisionObjectWrapper wrap_a(nullptr, shape.get(), &a, a.getWorldTransform(), -1, -1);
		btCollisionObjectWrapper wrap_b(nullptr, shape.get(), &b, b.getWorldTransform(), -1, -1);
		btCollisionAlgorithm *algorithm = dispatcher.findAlgorithm(&wrap_a, &wrap_b, nullptr, BT_CONTACT_POINT_ALGORITHMS);
		CountingResult result(&wrap_a, &wrap_b);
		algorithm->processCollision(&wrap_a, &wrap_b, info, &result);
		if (result.count > 0) {
			answer.colliding.push_back(pair);
		}
		if (result.getPersistentManifold() != nullptr) {
			answer.contacts += result.getPersistentManifold()->getNumContacts();
		}
		algorithm->~btCollisionAlgorithm();
		dispatcher.freeCollisionAlgorithm(algorithm);
	}

	std::vector<float> vertices;
	std::vector<int32_t> indices;
	btTriangleIndexVertexArray array;
	std::unique_ptr<btGImpactMeshShape> shape;
	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher;
	btDispatcherInfo info;
	std::vector<btCollisionObject> bodies;
};

} // namespace

std::unique_ptr<Peer> create_bullet(const Mesh &mesh, int body_count) { return std::make_unique<BulletPeer>(mesh, body_count); }

} // namespace bench
