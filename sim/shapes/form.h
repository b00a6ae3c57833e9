/// @file form.h
/// Surfaces by formula for scenes of cloth, as fine as one likes: a form names the surface and its
/// divisions, and a resolution multiplies these. The same numbers give the same bits on every
/// machine.
#ifndef SIM_FORM_H
#define SIM_FORM_H

#include <stdbool.h>
#include <stdint.h>

/// The kind of a surface; y is its axis.
typedef enum sim_form_kind {
	/// size[0] along x, size[2] along z, centre at the origin, seen from above; divisions along x,
	/// z
	SIM_FORM_SHEET,
	/// from radius at y = 0 to hem_radius at y = -length, in folds; divisions around, down
	SIM_FORM_SKIRT,
	SIM_FORM_SPHERE, ///< closed; divisions around, rings between the poles
	SIM_FORM_CONE,   ///< closed; tip at y = length, base at y = 0; divisions as a sphere's
	/// closed; from y = 0 to y = -length, round ends included; divisions as a sphere's
	SIM_FORM_CAPSULE,
	/// closed; round, along a smooth curve through points; divisions around, rings along it
	SIM_FORM_ROPE,
	/// open; lowest point at the origin, the rim at y = length; divisions around, rings
	SIM_FORM_BOWL,
	/// count lone triangles of circumradius radius, at random in a box size about the origin
	SIM_FORM_TRIANGLES,
} sim_form_kind;

/// A surface to be made. Lengths in metres.
typedef struct sim_form {
	sim_form_kind kind;
	double size[3];
	double radius, length;
	double hem_radius;
	int32_t folds;     ///< of a skirt
	double fold_depth; ///< how far they go in and out at the hem
	/// [3*point_count] of a rope: the caller's, two or more, each apart from the one before
	const double *points;
	int32_t point_count;
	int32_t divisions[2];
	int32_t count;
	uint64_t seed;
} sim_form;

/// Triangles, counter-clockwise seen from outside (a bowl: from above).
typedef struct sim_form_mesh {
	int32_t vertex_count, triangle_count;
	double *places;     ///< [3*vertex_count]
	int32_t *triangles; ///< [3*triangle_count]
	bool closed;        ///< has an inside
} sim_form_mesh;

/// Most triangles of a form.
enum { SIM_FORM_MOST_TRIANGLES = 10000000 };

/// Triangles that a form has at a resolution (above 0): divisions are multiplied by it, the number
/// of lone triangles by its square.
int64_t sim_form_triangles(const sim_form *form, double resolution);

/// Make a form of at most SIM_FORM_MOST_TRIANGLES. False when memory is short; the mesh is empty
/// then. Free it with sim_free_form_mesh.
bool sim_make_form(const sim_form *form, double resolution, sim_form_mesh *mesh);
void sim_free_form_mesh(sim_form_mesh *mesh);

#endif
