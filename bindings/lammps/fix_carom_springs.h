/// fix carom/springs, which pair_style carom makes for itself: springs of contacts go with their
/// spheres to other processes and into restart files.
#ifndef CAROM_LAMMPS_FIX_CAROM_SPRINGS_H
#define CAROM_LAMMPS_FIX_CAROM_SPRINGS_H

#include "spring_store.h"
#include <fix.h>
#include <mpi.h>

namespace LAMMPS_NS {

class FixCaromSprings : public Fix {
  public:
	spring_store store{};

	FixCaromSprings(class LAMMPS *lammps, int count, char **words);
	~FixCaromSprings() override;
	int setmask() override;
	void setup_pre_exchange() override { pre_exchange(); }
	void pre_exchange() override;
	void grow_arrays(int places) override;
	void copy_arrays(int from, int to, int) override;
	void set_arrays(int i) override;
	int pack_exchange(int i, double *numbers) override;
	int unpack_exchange(int i, double *numbers) override;
	void write_restart(FILE *file) override;
	int pack_restart(int i, double *numbers) override;
	void unpack_restart(int i, int nth) override;
	int size_restart(int i) override;
	int maxsize_restart() override;
	double memory_usage() override;

  private:
	void settle();
	void take_back();
	int unpack(int i, const double *numbers);
};

} // namespace LAMMPS_NS

#endif
