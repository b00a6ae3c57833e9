/// A triangle mesh at two instants: where its vertices begin a step and where they end it, and the
/// tree that queries walk at the end. The one copy of these places: deforming bodies, queries and
/// swept scenes read it.
#ifndef CR_SURFACE_SURFACE_H
#define CR_SURFACE_SURFACE_H

#include "surface/surface_parts.h"
#include "surface/surface_tree.h"

typedef struct cr_surface {
	carom_context *memory;    // pays for the places and the tree
	const cr_topology *faces; // of the mesh; not owned
	bool all_used;            // no vertex but those of triangles
	int32_t vertex_count;
	// of the places at the end: another one after each change, never 0
	uint32_t revision;
	double *begin;                     // [3*vertex_count] of the coming step
	double *end;                       // the places set last
	double largest_begin, largest_end; // coordinate
	// box of the triangles at the end; lower above upper when there are none
	double lower[3];
	double upper[3];
	cr_surface_tree tree;
	cr_surface_parts parts; // of a solid
} cr_surface;

/// Make room for the places of a mesh, by its collider and report, which must outlive the surface.
/// The places are the caller's to write. solid: queries see an inside. On failure it is empty.
carom_result cr_surface_init(
	carom_context *memory, const cr_collider *rest, const carom_mesh_report *report, bool solid, cr_surface *surface);
void cr_surface_free(cr_surface *surface);

/// A vertex among places, such as begin and end.
static inline v3d cr_place_of(const double *places, int32_t vertex) { return v3d_from_doubles(places + 3 * (int64_t)vertex); }

/// Read the places at the end; the caller has checked them. NULL: those at the beginning. Measures
/// the box. Returns a bound on how far any point of the form in float has moved by it.
double cr_surface_set_end(cr_surface *surface, const carom_strided *places);
/// Both ends were written: measure them.
void cr_surface_touch(cr_surface *surface);
/// A step is done: the next one begins where it ended.
void cr_surface_rest(cr_surface *surface);

/// The volume enclosed at the end, as the triangles are turned: negative where the surface is
/// inside out; 0 where it is no more than rounding. O(triangles).
double cr_surface_volume(const cr_surface *surface);

/// The middle of the box: the origin of its forms in float. Zero where it has none.
v3d cr_surface_middle(const cr_surface *surface);
/// Write the places at the end, about the middle, in float: vertices [3*vertex_count].
void cr_surface_round(const cr_surface *surface, float *vertices);
/// How far beyond the box, along an axis, a form in float may reach.
double cr_surface_slack(const cr_surface *surface, int axis);

/// Bring the tree up to the present places. Out of memory it fails, and may be asked again.
carom_result cr_surface_see(cr_surface *surface);

#endif
