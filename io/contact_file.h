/// @file contact_file.h
/// Files of contact points: CSV with the columns kind (impact, cloth, sphere), x, y, z, nx, ny, nz,
/// depth; metres.
#ifndef IO_CONTACT_FILE_H
#define IO_CONTACT_FILE_H

#include "sim/base/contact_point.h"
#include "sim/base/sim_error.h"

/// Write points. The file appears whole or not at all. False, with the reason in error.
bool io_save_contacts(const char *path, const sim_contact_points *points, sim_error *error);

/// Read them back into an empty list. False, with line and field at fault in error; the list is
/// empty then.
bool io_load_contacts(const char *path, sim_contact_points *points, sim_error *error);

#endif
