/// A sheet of cloth that a closed mesh or another shape crosses, brute force over their triangles, and a small solver that
/// parts them.
#ifndef CUTS_FIXTURE_H
#define CUTS_FIXTURE_H

#include "fixture.h"

enum { CUTS_MOST_VERTICES = 2000 };

#define CUTS_THICKNESS 0.01

/// A sheet of cloth and a closed mesh, or a convex shape.
typedef struct cuts_stage {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *mesh; // mesh is NULL where there is a shape
	carom_shape shape;
	carom_pose pose; // of the shape
	carom_body_id cloth, holder;
	int32_t sheet_vertices;
	bool keep_edges;                        // the user keeps edges of the sheet as long as they were
	double places[3 * CUTS_MOST_VERTICES];  // of the sheet
	double surface[3 * CUTS_MOST_VERTICES]; // of the mesh
} cuts_stage;

/// Both meshes are the stage's afterwards. solid_first: the mesh has the lower number.
void cuts_open_stage(cuts_stage *s, carom_context *context, carom_mesh *sheet, carom_mesh *mesh, carom_body_kind kind,
	carom_pose pose, bool solid_first);
/// The sheet is the stage's afterwards.
void cuts_open_shape_stage(cuts_stage *s, carom_context *context, carom_mesh *sheet, const carom_shape *shape, carom_pose pose);
void cuts_close_stage(cuts_stage *s);
/// Put the sheet somewhere, without a way there.
void cuts_put_sheet(cuts_stage *s, carom_pose pose);
/// Let the sheet be where places says. at_once: without a way there.
void cuts_move_sheet(cuts_stage *s, bool at_once);
v3d cuts_corner_of(const carom_mesh *mesh, const double *places, int32_t triangle, int k);
/// Pairs of triangles that cross. With a shape: triangles of the sheet of which one of 45 points is inside.
int cuts_count_crossings(const cuts_stage *s);
/// Is a vertex of the sheet inside the shape, or inside the mesh, which lies where it was made?
bool cuts_is_inside(const cuts_stage *s, int32_t vertex);
/// How many are.
int cuts_count_inside(const cuts_stage *s);
/// Contacts are of their features: points by weights, and as far apart as they say.
void cuts_check_contacts(const cuts_stage *s);
/// Each vertex of the sheet moves by the mean of what its contacts ask for; where edges are kept, ten times in turns with these.
void cuts_solve(cuts_stage *s);
/// Step and solve; returns the first step without crossings.
int cuts_part(cuts_stage *s, int steps);

#endif
