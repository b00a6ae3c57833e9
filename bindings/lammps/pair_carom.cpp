/// See pair_carom.h.
#include "pair_carom.h"
#include "fix_carom_springs.h"
#include <algorithm>
#include <atom.h>
#include <comm.h>
#include <cstring>
#include <error.h>
#include <fix.h>
#include <force.h>
#include <memory.h>
#include <modify.h>
#include <neighbor.h>
#include <update.h>

using namespace LAMMPS_NS;

static const char SPRINGS[] = "CAROM_SPRINGS"; // the fix

PairCarom::PairCarom(LAMMPS *lammps) : Pair(lammps)
{
	single_enable = 0;
	no_virial_fdotr_compute = 1;
	finitecutflag = 1;
	centroidstressflag = CENTROID_NOTAVAIL;
}

PairCarom::~PairCarom()
{
	grains_destroy(forces);
	if (springs && modify->find_fix(SPRINGS) >= 0)
		modify->delete_fix(std::string(SPRINGS));
	if (allocated) {
		memory->destroy(setflag);
		memory->destroy(cutsq);
	}
}

void PairCarom::fail(const char *what) { error->one(FLERR, std::string("pair_style carom: ") + what); }

// ---- Commands ----

void PairCarom::settings(int count, char **words)
{
	std::string text;
	for (int i = 0; i < count; i++)
		text += (i ? " " : "") + std::string(words[i]);
	char why[256];
	if (!carom_lammps_read_law(text.c_str(), &law, why, sizeof why))
		error->all(FLERR, std::string("pair_style carom: ") + why);
	drop_forces();
}

/// Springs must not refer to a list that is gone.
void PairCarom::drop_forces()
{
	if (springs && !spring_store_take_back(&springs->store))
		fail("out of memory");
	grains_destroy(forces);
	forces = nullptr;
}

void PairCarom::allocate()
{
	if (allocated)
		return;
	const int types = atom->ntypes + 1;
	allocated = 1;
	memory->create(setflag, types, types, "pair:setflag");
	memory->create(cutsq, types, types, "pair:cutsq");
	for (int i = 0; i < types; i++)
		std::fill(setflag[i], setflag[i] + types, 0);
}

void PairCarom::coeff(int count, char **words)
{
	if (count != 2 || std::strcmp(words[0], "*") != 0 || std::strcmp(words[1], "*") != 0)
		error->all(FLERR, std::string("pair_style carom has one law for all types: pair_coeff * *"));
	allocate();
	for (int i = 1; i <= atom->ntypes; i++)
		std::fill(setflag[i] + 1, setflag[i] + atom->ntypes + 1, 1);
}

// ---- Before a run ----

/// The largest radius of each type, those that are still to be poured included.
void PairCarom::find_largest()
{
	std::vector<double> here((size_t)atom->ntypes + 1, 0);
	for (int i = 0; i < atom->nlocal; i++)
		here[atom->type[i]] = std::max(here[atom->type[i]], atom->radius[i]);
	for (int k = 0; k < modify->nfix; k++) {
		Fix *fix = modify->fix[k];
		const bool pours = std::strncmp(fix->style, "pour", 4) == 0 || std::strncmp(fix->style, "deposit", 7) == 0;
		for (int type = 1; pours && type <= atom->ntypes; type++) {
			int asked = type;
			const double *radius = (const double *)fix->extract("radius", asked);
			if (radius)
				here[type] = std::max(here[type], *radius);
		}
	}
	largest.assign(here.size(), 0);
	MPI_Allreduce(here.data(), largest.data(), (int)here.size(), MPI_DOUBLE, MPI_MAX, world);
}

void PairCarom::look_at_fixes()
{
	frozen = 0;
	for (int k = 0; k < modify->nfix; k++) {
		if (std::strcmp(modify->fix[k]->style, "freeze") == 0)
			frozen = modify->fix[k]->groupbit;
		if (modify->fix[k]->rigid_flag)
			error->all(FLERR,
				std::string("pair_style carom does not know the masses of rigid bodies of spheres (fix ") + modify->fix[k]->id +
					")");
	}
}

void PairCarom::init_style()
{
	if (!atom->radius_flag || !atom->rmass_flag || !atom->omega_flag)
		error->all(FLERR, std::string("pair_style carom needs atoms with radius, mass and omega: atom_style sphere"));
	if (!atom->tag_enable)
		error->all(FLERR, std::string("pair_style carom needs atoms with ids"));
	if (!comm->ghost_velocity)
		error->all(FLERR, std::string("pair_style carom needs velocities of ghosts: comm_modify vel yes"));
	if (neighbor->nex_type + neighbor->nex_group + neighbor->nex_mol > 0)
		error->all(FLERR, std::string("pair_style carom knows no excluded pairs (neigh_modify exclude)"));
	look_at_fixes();
	find_largest();
	char why[256];
	if (!forces || skin != neighbor->skin) {
		drop_forces();
		skin = neighbor->skin;
		forces = grains_create(&law, skin, why, sizeof why);
		if (!forces)
			fail(why);
	}
	listed = -1;
	if (law.style != CAROM_LAMMPS_HOOKE && modify->find_fix(SPRINGS) < 0)
		modify->add_fix(std::string(SPRINGS) + " all carom/springs");
	springs =
		law.style == CAROM_LAMMPS_HOOKE ? nullptr : dynamic_cast<FixCaromSprings *>(modify->fix[modify->find_fix(SPRINGS)]);
	// Another law than before: its springs begin anew.
	if (springs && springs->store.numbers != spring_numbers()) {
		spring_store_reset(&springs->store, spring_numbers());
		listed = -1;
	}
}

/// So that `comm_modify mode multi` knows how far each type reaches.
double PairCarom::init_one(int i, int j)
{
	allocate();
	return (largest[i] + largest[j]) * (1 + 1e-9);
}

// ---- A step ----

grain_atoms PairCarom::atoms() const
{
	grain_atoms a{};
	a.own = atom->nlocal;
	a.count = a.own + atom->nghost;
	if (a.count > 0) {
		a.centres = atom->x[0];
		a.velocities = atom->v[0];
		a.spins = atom->omega[0];
	}
	a.radii = atom->radius;
	a.masses = atom->rmass;
	a.ids = atom->tag;
	a.wide = sizeof(tagint) == 8;
	a.groups = atom->mask;
	a.frozen = frozen;
	a.largest = *std::max_element(largest.begin(), largest.end());
	return a;
}

void PairCarom::compute(int eflag, int vflag)
{
	ev_init(eflag, vflag);
	const grain_atoms a = atoms();
	// LAMMPS' own check of motions decides when a list is made. A run without its setup keeps the
	// last one.
	const bool taken = springs && !springs->store.list; // spheres have changed their places
	if (neighbor->ago == 0 || listed < 0 || taken || listed_own != atom->nlocal || listed_ghosts != atom->nghost) {
		if (!grains_list(forces, &a, springs ? &springs->store : nullptr))
			fail(grains_error(forces));
		listed = update->ntimestep;
		listed_own = atom->nlocal;
		listed_ghosts = atom->nghost;
	}
	grain_sums sums{};
	if (a.own > 0) {
		sums.forces = atom->f[0];
		sums.torques = atom->torque[0];
	}
	sums.virial = vflag_global ? virial : nullptr;
	sums.virials = vflag_atom ? vatom[0] : nullptr;
	// Springs are not stretched where a run is set up: its step has been computed before, or is the
	// first.
	const double time_step = update->setupflag ? 0 : update->dt;
	grains_compute(forces, &a, time_step, &sums);
}

double PairCarom::memory_usage() { return Pair::memory_usage() + (double)grains_bytes(forces); }

// ---- Restart files ----

void PairCarom::write_restart(FILE *file) { write_restart_settings(file); }

void PairCarom::read_restart(FILE *file)
{
	read_restart_settings(file);
	allocate();
	for (int i = 1; i <= atom->ntypes; i++)
		std::fill(setflag[i] + 1, setflag[i] + atom->ntypes + 1, 1);
}

void PairCarom::write_restart_settings(FILE *file) { fwrite(&law, sizeof law, 1, file); }

void PairCarom::read_restart_settings(FILE *file)
{
	bool whole = true;
	if (comm->me == 0)
		whole = fread(&law, sizeof law, 1, file) == 1;
	MPI_Bcast(&whole, 1, MPI_CXX_BOOL, 0, world);
	if (!whole)
		error->all(FLERR, std::string("pair_style carom: the restart file ends within it"));
	MPI_Bcast(&law, sizeof law, MPI_BYTE, 0, world);
}
