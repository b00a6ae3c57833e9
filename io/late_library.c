// Libraries that are loaded when they are needed: see late_library.h.
#include "io/late_library.h"

#include "io/own_place.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

static struct {
	const char *name;   ///< of the package, in messages
	const char *module; ///< below CAROM_MODULES
	void *handle;
	bool tried;
	char problem[IO_PATH_MAX + 512]; ///< "" where there is none
} s_libraries[] = {
	[IO_LATE_HDF5] = { .name = "HDF5", .module = "hdf5.so" },
	[IO_LATE_ASSIMP] = { .name = "assimp", .module = "assimp.so" },
};

/// RTLD_LOCAL: names of the library meet none of ours. It is never closed: LeakSanitizer would miss
/// what it holds, and HDF5 has threads and functions for the end of the process.
static void load(io_late library)
{
	char path[IO_PATH_MAX], folder[IO_PATH_MAX];
	s_libraries[library].tried = true;
	if (io_own_place(CAROM_MODULES, folder) &&
		snprintf(path, sizeof path, "%s/%s", folder, s_libraries[library].module) < (int)sizeof path)
		s_libraries[library].handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (s_libraries[library].handle)
		return;
	const char *reason = dlerror();
	snprintf(s_libraries[library].problem, sizeof s_libraries[library].problem, "%s cannot be loaded: %s",
		s_libraries[library].name, reason ? reason : "the place of this program is not known");
}

void *io_late_symbol(io_late library, const char *name)
{
	if (!s_libraries[library].tried)
		load(library);
	return s_libraries[library].handle ? dlsym(s_libraries[library].handle, name) : NULL;
}

const char *io_late_problem(io_late library) { return s_libraries[library].problem[0] ? s_libraries[library].problem : NULL; }
