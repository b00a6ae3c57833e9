/// Cubes cut into few or many triangles, floors, and two bodies that are looked at once: for tests of contacts that hold a body.
#ifndef TESTS_MANIFOLD_FIXTURE_H
#define TESTS_MANIFOLD_FIXTURE_H

#include "fixture.h"

/// A closed cube about the origin of 12 * cells^2 triangles.
carom_mesh *manifold_cube(carom_context *context, int cells, double half);
/// The same with its triangles in another order, each beginning with another corner.
carom_mesh *manifold_shuffled_cube(carom_context *context, int cells, double half, uint64_t seed);
/// A square of cells x cells, corner + x * right + y * up with x, y from 0 to 1; its front along right x up.
void manifold_add_square(fixture_soup *soup, int cells, v3d corner, v3d right, v3d up);
/// An open floor in z = 0, size wide, of 2 * cells^2 triangles, its front up.
carom_mesh *manifold_floor(carom_context *context, int cells, double size, carom_mesh_sides sides);

enum { MANIFOLD_MOST_SIDES = 62 };
/// The hull of a prism about z, or of a frustum whose top is smaller.
carom_mesh *manifold_frustum(carom_context *context, int sides, double lower, double upper, double half);
/// The hull of random points on a sphere of radius 0.6, at most twice as many as sides.
carom_mesh *manifold_stone(carom_context *context, int count, uint64_t seed);

/// A closed mesh of a shape of sim/shapes/shapes.h, in so many triangles.
carom_mesh *manifold_made_mesh(carom_context *context, const char *shape, int32_t triangles);

enum { MANIFOLD_CONTACTS = 512 };

/// The contacts of two dynamic bodies in a world of their own.
typedef struct manifold_view {
	carom_contact data[MANIFOLD_CONTACTS];
	int count;
} manifold_view;

void manifold_meet(carom_context *context, const carom_world_def *def, carom_shape a, carom_pose pose_a, carom_shape b,
	carom_pose pose_b, manifold_view *view);

#endif
