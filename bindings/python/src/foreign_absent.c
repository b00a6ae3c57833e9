// Stands in for io/foreign_mesh.c: the package has no reader of other formats than those of io/.
#include "foreign_absent.h"

#include "io/foreign_mesh.h"

const char cp_no_foreign_reader[] = "is of no format that the package reads: OBJ, PLY, STL, OFF, or a baked mesh";

bool io_read_foreign_mesh(const char *path, const char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	(void)path, (void)bytes, (void)size;
	*mesh = (sim_mesh){ 0 };
	return sim_fail(error, "%s", cp_no_foreign_reader);
}
