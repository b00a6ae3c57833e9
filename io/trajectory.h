/// @file trajectory.h
/// Recorded motions of equal rigid bodies over a plane: RBTRAJ1 files, gzipped or not
/// (docs/command.md describes the format).
#ifndef IO_TRAJECTORY_H
#define IO_TRAJECTORY_H

#include "carom/math.h"
#include "sim/base/sim_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct io_trajectory {
	int32_t body_count;
	int32_t frame_count;
	double time_step;  ///< s
	double gravity[3]; ///< m/s^2
	double ground[4];  ///< the plane n . x = d: unit normal, d; solid below
	/// of the mesh that all bodies have, to check that the right one is used
	int32_t mesh_vertex_count;
	int32_t mesh_triangle_count;
	double mesh_scale;
	double margin; ///< of the run that made the motion, as are the next two
	double friction;
	double restitution;
	char mesh_name[33];
	float *poses; ///< [frame_count][body_count][7]: position x y z, quaternion x y z w
} io_trajectory;

/// Load and check a file: every pose is finite and every quaternion is within 1e-3 of unit length.
/// On failure false with one sentence in error, without the path, and nothing to free.
bool io_load_trajectory(const char *path, io_trajectory *trajectory, sim_error *error);

/// Give back the memory of io_load_trajectory. All zero is fine.
void io_free_trajectory(io_trajectory *trajectory);

/// The poses [body_count] of a frame, with unit quaternions.
void io_trajectory_poses(const io_trajectory *trajectory, int32_t frame, carom_pose *poses);

/// The pose at which a CAROM_PLANE (solid below z = 0 of its frame) is the trajectory's ground.
carom_pose io_trajectory_ground_pose(const io_trajectory *trajectory);

#ifdef __cplusplus
}
#endif
#endif
