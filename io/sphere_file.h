/// @file sphere_file.h
/// Spheres from and to files: snapshots (.sph), CSV, and the points of PLY files. Spheres keep the
/// order of the file.
#ifndef IO_SPHERE_FILE_H
#define IO_SPHERE_FILE_H

#include "carom/spheres.h"
#include "io/input_file.h"
#include "sim/base/sim_error.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A set of spheres. All zero: no spheres.
typedef struct io_sphere_set {
	int64_t count;
	bool wide;      ///< the values are double, else float
	void *values;   ///< [4*count] x, y, z, radius of each
	bool has_radii; ///< false: the file had none, all are the default radius
	/// The box of the walls; only a snapshot has one.
	bool has_walls;
	float lower[3], upper[3];
	/// The touching pairs, as the snapshot's maker counted them. A snapshot with 0 for both does
	/// not know, or has none.
	bool has_expected;
	uint64_t expected_pairs;
	uint64_t expected_hash; ///< io_hash_sphere_pairs of them
} io_sphere_set;

/// How to take spheres from a file.
typedef struct io_sphere_reading {
	double default_radius; ///< where a CSV or PLY file has no radii; below 0: that is an error
	/// keep the numbers of CSV and PLY files as double; else the nearest float. Snapshots are float
	bool wide;
} io_sphere_reading;

/// Load spheres. A file that begins with SPHERES1 is a snapshot, one that begins with a line "ply"
/// a PLY file, all else is CSV. At most CAROM_MAX_SPHERES; coordinates and radii must be finite,
/// radii not negative. On failure false, the set is empty and error says in one sentence, without
/// the path, what is wrong and in which line or sphere. Free with io_free_spheres.
bool io_load_spheres(const char *path, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error);

/// Do so with a file that is open, from its beginning. It stays open.
bool io_read_spheres(io_input *input, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error);

/// Save as snapshot (.sph; doubles become the nearest float) or CSV (.csv; the numbers come back
/// exactly), by the extension of the path. The walls of a set without them are the box of its
/// spheres. The file appears whole or not at all. On failure false with one sentence in error,
/// without the path.
bool io_save_spheres(const char *path, const io_sphere_set *spheres, sim_error *error);

/// Does a file hold spheres: a snapshot by its first bytes, a PLY file with points and without
/// faces, or a .csv?
bool io_holds_spheres(const io_input *input);

/// Make room for count spheres; values are not set. False when out of memory or count is not in
/// 0..CAROM_MAX_SPHERES; the set is empty then.
bool io_allocate_spheres(io_sphere_set *spheres, int64_t count, bool wide);

/// Free the values and make the set empty. An empty set may be freed again.
void io_free_spheres(io_sphere_set *spheres);

/// Sphere i as double: x, y, z, radius.
void io_get_sphere(const io_sphere_set *spheres, int64_t i, double xyzr[4]);

/// The spheres as the library takes them. Valid as long as the set.
carom_sphere_input io_sphere_input(const io_sphere_set *spheres);

/// The sum over the pairs of splitmix64's step of a << 32 | b, modulo 2^64: independent of the
/// order of the pairs. Snapshots hold it beside the number of pairs.
uint64_t io_hash_sphere_pairs(const carom_sphere_pair *pairs, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
