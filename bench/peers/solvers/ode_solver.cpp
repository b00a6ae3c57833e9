/// ODE: dWorldQuickStep on one contact joint for each of Carom's contacts.

#include "solver.h"

#include <ode/ode.h>

#include <cmath>

namespace bench {
namespace {

class OdeSolver final : public Solver {
  public:
	OdeSolver()
	{
		dInitODE2(0);
		world = dWorldCreate();
		joints = dJointGroupCreate(0);
		dWorldSetGravity(world, 0, -9.81, 0);
		dWorldSetQuickStepNumIterations(world, 40);
		dWorldSetAutoDisableFlag(world, 0);
	}
	~OdeSolver() override
	{
		dJointGroupDestroy(joints);
		dWorldDestroy(world);
		dCloseODE();
	}
	OdeSolver(const OdeSolver &) = delete;
	OdeSolver &operator=(const OdeSolver &) = delete;

	const char *name() const override { return "ODE"; }

	void add(const Brick &brick) override
	{
		fixed_poses.push_back(brick.pose);
		bodies.push_back(brick.fixed ? nullptr : make_body(brick));
	}

	BrickState state(int brick) const override
	{
		dBodyID body = bodies[brick];
		if (!body)
			return { fixed_poses[brick], 0 };
		const dReal *p = dBodyGetPosition(body), *q = dBodyGetQuaternion(body), *v = dBodyGetLinearVel(body);
		return { { { p[0], p[1], p[2] }, { q[1], q[2], q[3], q[0] } },
			std::sqrt(double(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])) };
	}

	void step(carom_world *carom, double seconds, double friction) override
	{
		dJointGroupEmpty(joints);
		const carom_contact_view contacts = carom_world_contacts(carom);
		for (int32_t i = 0; i < contacts.count; i++) {
			if (contacts.data[i].depth >= 0) // ODE takes a contact ahead for one that touches
				join(contacts.data[i], friction);
		}
		dWorldQuickStep(world, dReal(seconds));
	}

  private:
	dBodyID make_body(const Brick &brick) const
	{
		dBodyID body = dBodyCreate(world);
		dMass mass;
		dMassSetBox(&mass, 1000, dReal(2 * brick.half[0]), dReal(2 * brick.half[1]), dReal(2 * brick.half[2]));
		dBodySetMass(body, &mass);
		const carom_vec3 &p = brick.pose.position;
		const carom_quat &r = brick.pose.orientation;
		const dQuaternion q = { dReal(r.w), dReal(r.x), dReal(r.y), dReal(r.z) };
		dBodySetPosition(body, dReal(p.x), dReal(p.y), dReal(p.z));
		dBodySetQuaternion(body, q);
		dBodySetLinearVel(body, dReal(brick.velocity[0]), dReal(brick.velocity[1]), dReal(brick.velocity[2]));
		return body;
	}

	void join(const carom_contact &c, double friction) const
	{
		dContact contact = {};
		contact.surface.mode = dContactApprox1 | dContactSoftCFM;
		contact.surface.mu = dReal(friction);
		contact.surface.soft_cfm = dReal(1e-7);
		contact.geom.depth = c.depth;
		for (int k = 0; k < 3; k++) {
			contact.geom.pos[k] = dReal(c.point[k]);
			contact.geom.normal[k] = c.normal[k];
		}
		dJointID joint = dJointCreateContact(world, joints, &contact);
		dJointAttach(joint, bodies[c.body_a.index1 - 1], bodies[c.body_b.index1 - 1]);
	}

	dWorldID world;
	dJointGroupID joints;
	std::vector<dBodyID> bodies; // NULL: fixed
	std::vector<carom_pose> fixed_poses;
};

} // namespace

std::unique_ptr<Solver> make_ode_solver() { return std::make_unique<OdeSolver>(); }

} // namespace bench
