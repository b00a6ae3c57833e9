/// @file own_place.h
/// What is installed beside the running program.
#ifndef IO_OWN_PLACE_H
#define IO_OWN_PLACE_H

#include "io/output_file.h"

#include <stdbool.h>

/// The path of a file that is named relative to the folder of the running program. False where the
/// system does not tell that folder, or the path is too long; path is "" then.
bool io_own_place(const char *name, char path[IO_PATH_MAX]);

#endif
