// Stands in for io/foreign_mesh.c where no package is linked: the Python package, LAMMPS' styles.
#include "bindings/foreign_absent.h"

#include "io/foreign_mesh.h"

const char io_no_foreign_reader[] = "is of no format that is read here: OBJ, PLY, STL, OFF, or a baked mesh";

bool io_read_foreign_mesh(const char *path, const char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	(void)path, (void)bytes, (void)size;
	*mesh = (sim_mesh){ 0 };
	return sim_fail(error, "%s", io_no_foreign_reader);
}
