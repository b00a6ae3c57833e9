/// @file vtk_reader.h
/// Reads what io/vtk_file.h writes: collections of spheres, and files of their moments. Files of
/// other programs are refused.
#ifndef IO_VTK_READER_H
#define IO_VTK_READER_H

#include "sim/base/sim_error.h"

#include <stdint.h>

/// A collection as read. All zero: empty.
typedef struct io_vtk_list {
	int64_t count;
	double *times;  ///< [count] seconds
	int64_t *steps; ///< [count] as in the names of the files
	char *folder;   ///< of the collection; its files lie there
	char name[64];  ///< of the collection, without ".pvd"
} io_vtk_list;

/// Read a collection FOLDER/NAME.pvd. False, with path and reason in error, when it cannot be read
/// or is none of ours; the list is empty then. Free it with io_free_vtk_list.
bool io_read_pvd(const char *path, io_vtk_list *list, sim_error *error);

void io_free_vtk_list(io_vtk_list *list);

/// The spheres of a moment. All zero: none.
typedef struct io_vtk_spheres {
	int64_t count;
	float *centres;    ///< [3*count]
	float *radii;      ///< [count]
	float *velocities; ///< [3*count]; NULL: the file has none
	uint32_t *ids;     ///< [count] names that stay; NULL: the file has none
} io_vtk_spheres;

/// Read moment `index` of a collection. False, with path and reason in error, when the file is
/// missing, damaged, or none of ours; *spheres is empty then. Free it with io_free_vtk_spheres.
bool io_read_vtk_moment(const io_vtk_list *list, int64_t index, io_vtk_spheres *spheres, sim_error *error);

void io_free_vtk_spheres(io_vtk_spheres *spheres);

#endif
