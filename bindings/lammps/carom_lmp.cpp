/// The command carom_lmp: LAMMPS with Carom's styles. It takes the options and scripts of LAMMPS'
/// own.
#include "carom_styles.h"
#include <force.h>
#include <input.h>
#include <lammps.h>
#include <modify.h>

using namespace LAMMPS_NS;

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	LAMMPS *lammps = new LAMMPS(argc, argv, MPI_COMM_WORLD);
	(*lammps->force->pair_map)["carom"] = &create_pair_carom;
	for (const fix_style &style : FIX_STYLES)
		(*lammps->modify->fix_map)[style.name] = style.create;
	lammps->input->file();
	delete lammps;
	MPI_Finalize();
}
