/// pair_style carom: forces between spheres by Carom, in LAMMPS. It requests no neighbour list.
#ifndef CAROM_LAMMPS_PAIR_CAROM_H
#define CAROM_LAMMPS_PAIR_CAROM_H

#include "grains.h"
#include <mpi.h>
#include <pair.h>
#include <string>
#include <vector>

namespace LAMMPS_NS {

class PairCarom : public Pair {
  public:
	explicit PairCarom(class LAMMPS *lammps);
	~PairCarom() override;
	void compute(int eflag, int vflag) override;
	void settings(int count, char **words) override;
	void coeff(int count, char **words) override;
	void init_style() override;
	double init_one(int i, int j) override;
	void write_restart(FILE *file) override;
	void read_restart(FILE *file) override;
	void write_restart_settings(FILE *file) override;
	void read_restart_settings(FILE *file) override;
	double memory_usage() override;
	int spring_numbers() const { return law.style == CAROM_LAMMPS_GRANULAR ? GRAIN_ROLLS : GRAIN_SLIDES; }

  private:
	carom_lammps_law law{};
	grains *forces = nullptr;
	double skin = -1; // that forces was made for
	class FixCaromSprings *springs = nullptr;
	std::vector<double> largest; // [ntypes+1] radius of each type
	int frozen = 0;              // bit of the group of fix freeze
	bigint listed = -1;          // step of the last list
	int listed_own = -1, listed_ghosts = -1;

	void allocate();
	void drop_forces();
	void find_largest();
	void look_at_fixes();
	void fail(const char *what);
	grain_atoms atoms() const;
};

} // namespace LAMMPS_NS

#endif
