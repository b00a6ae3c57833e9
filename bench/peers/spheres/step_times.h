/// Whole granular steps: sim/granular beside LAMMPS, with the same spheres, springs and time step.
#ifndef BENCH_STEPS_H
#define BENCH_STEPS_H

#include "sphere_finders.h"

namespace bench {

/// The law that both simulate: a linear spring and a dashpot along the normal, gravity along -y,
/// six walls of the same law.
struct StepSetting {
	int steps = 0;
	int warm_up = 20;
	double time_step = 4e-5;
	double stiffness = 40; ///< N/m
	double damping = 4000; ///< 1/s: the force is this times the reduced mass times the speed
	double speed = 0;      ///< m/s along gravity at the beginning
	double density = 500;
	int threads = 1; ///< ours; processes of LAMMPS
	int rounds = 1;
	/// for LAMMPS, in mean radii; the best is repeated in each further round
	std::vector<double> skins{ 0.1, 0.25, 0.6 };
};

/// Measure and print. Without LAMMPS in PATH (lmp, and mpirun for more than one process) our own
/// steps alone.
void compare_steps(const io_sphere_set &set, const StepSetting &setting);

} // namespace bench
#endif
