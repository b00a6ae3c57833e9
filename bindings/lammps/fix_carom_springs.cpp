/// See fix_carom_springs.h.
#include "fix_carom_springs.h"
#include "pair_carom.h"
#include <atom.h>
#include <comm.h>
#include <error.h>
#include <force.h>

using namespace LAMMPS_NS;

FixCaromSprings::FixCaromSprings(LAMMPS *lammps, int count, char **words) : Fix(lammps, count, words)
{
	if (count != 3)
		error->all(FLERR, std::string("fix carom/springs takes no words: pair_style carom makes it"));
	// Restart files are read while this is made, so the law must be known.
	const PairCarom *pair = dynamic_cast<PairCarom *>(force->pair);
	store.numbers = pair ? pair->spring_numbers() : GRAIN_SLIDES;
	restart_global = 1;
	restart_peratom = 1;
	create_attribute = 1;
	maxexchange_dynamic = 1;
	maxexchange = 1;
	FixCaromSprings::grow_arrays(atom->nmax);
	atom->add_callback(Atom::GROW);
	atom->add_callback(Atom::RESTART);
}

FixCaromSprings::~FixCaromSprings()
{
	atom->delete_callback(id, Atom::GROW);
	atom->delete_callback(id, Atom::RESTART);
	spring_store_free(&store);
}

int FixCaromSprings::setmask() { return FixConst::PRE_EXCHANGE; }

/// Before anything is read by sphere.
void FixCaromSprings::settle()
{
	if (!spring_store_settle(&store))
		error->one(FLERR, std::string("out of memory: springs of contacts"));
}

/// Before spheres change their places: the list of contacts is of no more use.
void FixCaromSprings::take_back()
{
	if (!spring_store_take_back(&store))
		error->one(FLERR, std::string("out of memory: springs of contacts"));
}

/// LAMMPS asks how much a sphere may be before it packs any.
void FixCaromSprings::pre_exchange()
{
	take_back();
	maxexchange = 1 + spring_store_width(&store) * store.most;
}

void FixCaromSprings::grow_arrays(int places)
{
	if (!spring_store_grow(&store, places))
		error->one(FLERR, std::string("out of memory: springs of contacts"));
}

void FixCaromSprings::copy_arrays(int from, int to, int)
{
	take_back();
	spring_store_copy(&store, from, to);
}

void FixCaromSprings::set_arrays(int i)
{
	take_back();
	spring_store_clear(&store, i);
}

int FixCaromSprings::pack_exchange(int i, double *numbers)
{
	settle();
	return (int)spring_store_pack(&store, i, numbers);
}

int FixCaromSprings::unpack(int i, const double *numbers)
{
	take_back();
	const int64_t read = spring_store_unpack(&store, i, numbers);
	if (read < 0)
		error->one(FLERR, std::string(read == -1 ? "out of memory: springs of contacts" : "springs of contacts are damaged"));
	return (int)read;
}

int FixCaromSprings::unpack_exchange(int i, double *numbers) { return unpack(i, numbers); }

/// Nothing is global; but LAMMPS calls this before it asks for sizes.
void FixCaromSprings::write_restart(FILE *file)
{
	settle();
	const int size = 0;
	if (comm->me == 0)
		fwrite(&size, sizeof size, 1, file);
}

int FixCaromSprings::size_restart(int i)
{
	settle();
	return 1 + (int)spring_store_size(&store, i);
}

/// Of any process: LAMMPS writes what its first one says.
int FixCaromSprings::maxsize_restart()
{
	settle();
	int most = 0;
	MPI_Allreduce(&store.most, &most, 1, MPI_INT32_T, MPI_MAX, world);
	return 2 + spring_store_width(&store) * most;
}

int FixCaromSprings::pack_restart(int i, double *numbers)
{
	settle();
	numbers[0] = size_restart(i);
	spring_store_pack(&store, i, numbers + 1);
	return size_restart(i);
}

void FixCaromSprings::unpack_restart(int i, int nth)
{
	const double *extra = atom->extra[i];
	for (int k = 0; k < nth; k++)
		extra += (int)*extra;
	if (extra[0] != 2 + spring_store_width(&store) * extra[1])
		error->one(FLERR, std::string("springs of contacts in the restart file are those of another law"));
	unpack(i, extra + 1);
}

double FixCaromSprings::memory_usage()
{
	return (double)store.capacity * spring_store_width(&store) * sizeof(double) +
		(double)store.places * (sizeof *store.first + sizeof *store.number);
}
