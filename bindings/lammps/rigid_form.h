/// The form of a body: a mesh from a file, its mass and how it turns. It knows nothing of LAMMPS.
#ifndef CAROM_LAMMPS_RIGID_FORM_H
#define CAROM_LAMMPS_RIGID_FORM_H

#include <carom/mesh.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How a body is turned and turns; all zero: nobody has said so yet.
typedef struct rigid_turn {
	double w, x, y, z;  ///< unit quaternion: from the frame of the mesh file to the box
	double momentum[3]; ///< angular, in the box's frame, about the centre of mass
} rigid_turn;

enum { RIGID_TURN = sizeof(rigid_turn) / sizeof(double) };

/// A closed mesh whose centre of mass is its origin. Free with rigid_form_free.
typedef struct rigid_form {
	carom_mesh *mesh;
	double volume;
	double radius;     ///< of the ball about the origin that holds it
	double inertia[6]; ///< of density 1: xx, yy, zz, xy, xz, yz
	double inverse[6]; ///< of inertia
} rigid_form;

/// Read a mesh file, lengths times scale, and move its centre of mass to the origin. False: error
/// says why.
bool rigid_form_load(carom_context *context, const char *path, double scale, rigid_form *form, char *error, int error_size);
void rigid_form_free(rigid_form *form);
/// Read a mesh file, open or closed, as it lies. NULL: error says why.
carom_mesh *rigid_wall_load(carom_context *context, const char *path, double scale, char *error, int error_size);

/// Angular velocity of a body of that mass.
void rigid_turn_spin(const rigid_form *form, double mass, const rigid_turn *turn, double spin[3]);
/// Set the momentum that an angular velocity gives.
void rigid_turn_set_spin(const rigid_form *form, double mass, const double spin[3], rigid_turn *turn);
/// Turn on for a time at constant momentum, to second order (Richardson's extrapolation).
void rigid_turn_advance(const rigid_form *form, double mass, double time, rigid_turn *turn);
/// Make the quaternion one of the uniform distribution of rotations; of one seed and id always the
/// same.
void rigid_turn_random(uint64_t seed, uint64_t id, rigid_turn *turn);
/// Kinetic energy of the rotation.
double rigid_turn_energy(const rigid_form *form, double mass, const rigid_turn *turn);

#ifdef __cplusplus
}
#endif
#endif
