/// The interface of a solver to the scenes: bricks that fall, slide and rest on the contacts that
/// Carom finds. Each solver is a rigid body engine whose own collision detection is switched off.
#ifndef BENCH_SOLVER_H
#define BENCH_SOLVER_H

#include <carom/carom.h>

#include <memory>
#include <vector>

namespace bench {

struct Brick {
	double half[3];
	carom_pose pose;
	double velocity[3];
	bool fixed;
};

struct BrickState {
	carom_pose pose;
	double speed; // of its middle, m/s
};

class Solver {
  public:
	virtual ~Solver() = default;
	virtual const char *name() const = 0;
	/// Bricks are numbered from 0. All weigh 1,000 kg/m³; gravity is 9.81 m/s² along -y.
	virtual void add(const Brick &brick) = 0;
	virtual BrickState state(int brick) const = 0;
	/// Move on by a step. Contacts name bodies of the world by index1, which is a brick's number +
	/// 1. Values that the solver would like to find again at the next step it stores with
	/// carom_world_set_impulse.
	virtual void step(carom_world *world, double seconds, double friction) = 0;
};

/// NULL where the engine was not found at build time.
std::unique_ptr<Solver> make_ode_solver();
std::unique_ptr<Solver> make_bullet_solver();

} // namespace bench

#endif
