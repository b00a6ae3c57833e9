/// Contacts and forces of the bodies of one process: own ones first, then ghosts. What fix
/// carom/rigid computes; it knows nothing of LAMMPS.
#ifndef CAROM_LAMMPS_RIGID_SCENE_H
#define CAROM_LAMMPS_RIGID_SCENE_H

#include "carom_lammps.h"
#include "rigid_form.h"
#include "rigid_touches.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The caller's arrays, read where they are.
typedef struct rigid_atoms {
	int64_t own, count;                        ///< own ones, and with ghosts
	const double *places, *velocities, *spins; ///< [3*count]
	const double *masses;                      ///< [count]
	const rigid_turn *turns;                   ///< [count]
	const int *types, *groups;                 ///< [count]
	int group;                                 ///< bodies have this bit in groups
	const void *ids;                           ///< [count] above 0
	bool wide;                                 ///< ids have 64 bits, else 32
} rigid_atoms;

/// Where a wall is and how it moves.
typedef struct rigid_wall_motion {
	carom_pose pose;    ///< of the frame of its mesh
	double velocity[3]; ///< of its point `about`
	double spin[3];     ///< angular velocity
	double about[3];
} rigid_wall_motion;

/// A wall that turns about an axis through a point, at rest at time 0. The pose of *motion may be
/// anything.
void rigid_wall_rotate(const double point[3], const double axis[3], double period, double time, rigid_wall_motion *motion);

/// One contact, as a row of numbers. a is the body with the lower id, and an own one: so each
/// contact is on one process only.
enum {
	RIGID_ROW_A,       ///< id
	RIGID_ROW_B,       ///< id; -1, -2, ...: a wall
	RIGID_ROW_KIND,    ///< carom_contact_kind
	RIGID_ROW_FEATURE, ///< of a, then of b
	RIGID_ROW_POINT = 5,
	RIGID_ROW_NORMAL = 8, ///< from b to a
	RIGID_ROW_DEPTH = 11,
	RIGID_ROW_FORCE, ///< on a
	RIGID_ROW = 15   ///< numbers
};

/// Sums over the rows of this process.
typedef struct rigid_report {
	const double *rows; ///< [RIGID_ROW*count] valid until the next step
	int64_t count;
	double deepest; ///< 0: no contact
	double elastic; ///< energy in springs
	uint64_t hash;  ///< of ids, features, points, normals and depths; sums of it depend on no order
} rigid_report;

typedef struct rigid_scene rigid_scene;

/// A law without sizes of spheres: not Hertz'. contacts: kept of each pair, 0: all. NULL: error
/// says why. Free with rigid_scene_destroy.
rigid_scene *rigid_scene_create(const carom_lammps_law *law, int contacts, char *error, int error_size);
void rigid_scene_destroy(rigid_scene *s);

/// Bodies of this type (from 1 on) have a mesh from a file from now on. Two types may have one
/// file. False: rigid_scene_error says why.
bool rigid_scene_add_form(rigid_scene *s, int type, const char *path, double scale);
/// The form of a type; NULL: it has none.
const rigid_form *rigid_scene_form(const rigid_scene *s, int type);
/// One more wall. False: rigid_scene_error says why.
bool rigid_scene_add_wall(rigid_scene *s, const char *path, double scale);

/// Other bodies are in the arrays than at the last call, or at other places of them.
bool rigid_scene_list(rigid_scene *s, const rigid_atoms *atoms);

/// Find contacts at the present places, and add forces and torques [3*own] of own bodies. walls:
/// one motion for each. touches: of own bodies; they are read and replaced. Springs are stretched
/// by a step of time, or not for time_step 0. Sums do not depend on how bodies are shared out.
bool rigid_scene_step(rigid_scene *s, const rigid_atoms *atoms, const rigid_wall_motion *walls, double time_step,
	rigid_touches *touches, double *forces, double *torques);

/// Of the last step.
rigid_report rigid_scene_report(const rigid_scene *s);
const char *rigid_scene_error(const rigid_scene *s);
/// Bytes of the library.
size_t rigid_scene_bytes(const rigid_scene *s);

#ifdef __cplusplus
}
#endif
#endif
