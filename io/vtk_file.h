/// @file vtk_file.h
/// Spheres for ParaView and whatever else reads VTK: a file for each moment (VTK XML PolyData,
/// .vtp, raw binary), and a collection (.pvd) that gives each file its time.
///
/// A .vtp holds the centres as points, joined in one poly-vertex cell so that they show without a
/// filter, and the arrays "radius", "velocity" and "id" of the points. Numbers are float32 and
/// uint32 in the byte order of the machine, which the file names. In ParaView: representation
/// "Point Gaussian" with the array "radius", or the filter "Glyph" with spheres scaled by it
/// (factor 2: VTK's sphere has radius 0.5).
#ifndef IO_VTK_FILE_H
#define IO_VTK_FILE_H

#include "sim/base/ranks.h"
#include "sim/base/sim_error.h"
#include "sim/base/sphere_cloud.h"

/// Write one moment; time (seconds) goes into the file as its TimeValue. At most 2^31 - 1 spheres.
/// The file appears whole or not at all. False, with path and reason in error, when that fails.
bool io_write_vtp(const char *path, const sim_sphere_cloud *cloud, double time, sim_error *error);

/// A collection that grows.
typedef struct io_vtk_series io_vtk_series;

/// Begin a collection FOLDER/NAME.pvd; the folder must be there. Nothing is written yet. NULL with
/// the reason in error when memory is short or the path too long.
io_vtk_series *io_create_vtk_series(const char *folder, const char *name, sim_error *error);

/// Tell the collection of one run from another's by a number; 0 (the default): not told. The file
/// names it in a comment.
void io_vtk_series_set_run(io_vtk_series *series, uint64_t run);

/// Take over, from the collection that is there, the files of steps up to last_step, to go on
/// behind them. last_frame: step of the last of them, -1 without any (even when there is no
/// collection). False, with path and reason in error, when memory is short, or the collection is
/// that of another run.
bool io_vtk_series_continue(io_vtk_series *series, int64_t last_step, int64_t *last_frame, sim_error *error);

/// Write FOLDER/NAME_STEP.vtp (nine digits) and the collection with it added, so that the
/// collection is whole after every call. False, with path and reason in error, when that fails.
bool io_vtk_series_add(io_vtk_series *series, const sim_sphere_cloud *cloud, int64_t step, double time, sim_error *error);

/// Spheres of which each rank has a part: those of the numbers first to first + part.count - 1, of
/// total. Collective: all ranks have equal collections. They write the file together, and it has
/// the bytes of one that one process writes.
bool io_vtk_series_add_part(io_vtk_series *series, const sim_ranks *ranks, const sim_sphere_cloud *part, int64_t first,
	int64_t total, int64_t step, double time, sim_error *error);

/// Files in the collection.
int32_t io_vtk_series_count(const io_vtk_series *series);

/// Free it; the files stay. NULL does nothing.
void io_destroy_vtk_series(io_vtk_series *series);

#endif
