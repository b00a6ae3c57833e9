/// Bullet: its sequential impulses on manifolds that are filled with Carom's contacts, four to a
/// manifold. The impulses of a step are stored with the contacts, and the next step starts from
/// them.

#include "solver.h"

#include <BulletCollision/CollisionDispatch/btSimulationIslandManager.h>
#include <btBulletDynamicsCommon.h>

#include <algorithm>

namespace bench {
namespace {

/// A world that takes its manifolds as they are.
struct GivenContacts final : btDiscreteDynamicsWorld {
	using btDiscreteDynamicsWorld::btDiscreteDynamicsWorld;
	void performDiscreteCollisionDetection() override {}
};

class BulletSolver final : public Solver {
  public:
	BulletSolver() : dispatcher(&configuration), world(&dispatcher, &broad_phase, &impulses, &configuration)
	{
		world.setGravity(btVector3(0, btScalar(-9.81), 0));
		world.getSolverInfo().m_numIterations = 40;
		// Contacts come in an order that stays. A solver that goes through them in that order at
		// every step drags all bodies one way.
		world.getSolverInfo().m_solverMode |= SOLVER_RANDMIZE_ORDER;
		// Islands follow the pairs of Bullet's own broad phase, which has none here.
		world.getSimulationIslandManager()->setSplitIslands(false);
	}
	~BulletSolver() override
	{
		forget_manifolds();
		for (const auto &body : bodies)
			world.removeRigidBody(body.get());
	}
	BulletSolver(const BulletSolver &) = delete;
	BulletSolver &operator=(const BulletSolver &) = delete;

	const char *name() const override { return "Bullet"; }

	void add(const Brick &brick) override
	{
		const double *h = brick.half;
		shapes.push_back(std::make_unique<btBoxShape>(btVector3(btScalar(h[0]), btScalar(h[1]), btScalar(h[2]))));
		const btScalar mass = brick.fixed ? 0 : btScalar(8000 * h[0] * h[1] * h[2]);
		btVector3 inertia(0, 0, 0);
		if (mass > 0)
			shapes.back()->calculateLocalInertia(mass, inertia);
		btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, shapes.back().get(), inertia);
		const carom_vec3 &p = brick.pose.position;
		const carom_quat &q = brick.pose.orientation;
		info.m_startWorldTransform = btTransform(btQuaternion(btScalar(q.x), btScalar(q.y), btScalar(q.z), btScalar(q.w)),
			btVector3(btScalar(p.x), btScalar(p.y), btScalar(p.z)));
		bodies.push_back(std::make_unique<btRigidBody>(info));
		bodies.back()->setLinearVelocity(
			btVector3(btScalar(brick.velocity[0]), btScalar(brick.velocity[1]), btScalar(brick.velocity[2])));
		bodies.back()->setActivationState(DISABLE_DEACTIVATION);
		world.addRigidBody(bodies.back().get());
	}

	BrickState state(int brick) const override
	{
		const btTransform &t = bodies[brick]->getWorldTransform();
		const btQuaternion q = t.getRotation().normalized();
		const btVector3 &p = t.getOrigin();
		return { { { p.x(), p.y(), p.z() }, { q.x(), q.y(), q.z(), q.w() } },
			double(bodies[brick]->getLinearVelocity().length()) };
	}

	void step(carom_world *carom, double seconds, double friction) override
	{
		forget_manifolds();
		const carom_contact_view contacts = carom_world_contacts(carom);
		std::vector<Place> places;
		for (int32_t i = 0; i < contacts.count; i++)
			places.push_back(take(contacts.data[i], friction, i > 0 && contacts.data[i].pair == contacts.data[i - 1].pair));
		world.stepSimulation(btScalar(seconds), 0);
		for (int32_t i = 0; i < contacts.count; i++) {
			const btManifoldPoint &point = places[i].manifold->getContactPoint(places[i].number);
			const float impulse[3] = { float(point.m_appliedImpulse), float(point.m_appliedImpulseLateral1),
				float(point.m_appliedImpulseLateral2) };
			carom_world_set_impulse(carom, i, impulse);
		}
	}

  private:
	struct Place {
		btPersistentManifold *manifold;
		int number;
	};

	void forget_manifolds()
	{
		for (btPersistentManifold *manifold : manifolds)
			dispatcher.releaseManifold(manifold);
		manifolds.clear();
	}

	Place take(const carom_contact &c, double friction, bool goes_on)
	{
		btRigidBody *a = bodies[c.body_a.index1 - 1].get(), *b = bodies[c.body_b.index1 - 1].get();
		if (!goes_on || manifolds.back()->getNumContacts() == MANIFOLD_CACHE_SIZE)
			manifolds.push_back(dispatcher.getNewManifold(a, b));
		btPersistentManifold *manifold = manifolds.back();
		const btVector3 point(btScalar(c.point[0]), btScalar(c.point[1]), btScalar(c.point[2]));
		const btVector3 normal(c.normal[0], c.normal[1], c.normal[2]);
		btManifoldPoint p(a->getWorldTransform().invXform(point), b->getWorldTransform().invXform(point + normal * c.depth),
			normal, -c.depth);
		p.m_positionWorldOnA = point;
		p.m_positionWorldOnB = point + normal * c.depth;
		p.m_combinedFriction = btScalar(friction);
		p.m_appliedImpulse = c.impulse[0];
		p.m_appliedImpulseLateral1 = c.impulse[1];
		p.m_appliedImpulseLateral2 = c.impulse[2];
		return { manifold, manifold->addManifoldPoint(p, true) };
	}

	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher;
	btDbvtBroadphase broad_phase;
	btSequentialImpulseConstraintSolver impulses;
	GivenContacts world;
	std::vector<std::unique_ptr<btBoxShape>> shapes;
	std::vector<std::unique_ptr<btRigidBody>> bodies;
	std::vector<btPersistentManifold *> manifolds;
};

} // namespace

std::unique_ptr<Solver> make_bullet_solver() { return std::make_unique<BulletSolver>(); }

} // namespace bench
