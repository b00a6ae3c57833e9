/// Small deforming scenes for the tests of carom/sweep.h, and the dull way to find all their impacts.
#ifndef CAROM_SWEEP_FIXTURE_H
#define CAROM_SWEEP_FIXTURE_H

#include "carom/lab.h"
#include "carom/sweep.h"

enum { SWEEP_MOST_MESHES = 8 };

typedef struct sweep_mesh {
	int32_t vertex_count, triangle_count;
	int32_t *triangles; // [3*triangle_count]
	double *begin;      // [3*vertex_count]
	double *end;
	bool self, is_rigid;
	uint64_t category, mask;
	int32_t group;
	double thickness;
} sweep_mesh;

typedef struct sweep_world {
	sweep_mesh meshes[SWEEP_MOST_MESHES];
	int count;
} sweep_world;

typedef struct sweep_list {
	carom_sweep_hit *data;
	int64_t count;
} sweep_list;

// Meshes, at rest, about the origin. All are added to a world, which frees them.
sweep_mesh *sweep_add_sheet(sweep_world *world, int columns, int rows, double size); // of nodes; open
sweep_mesh *sweep_add_torus(sweep_world *world, int around, int across);
sweep_mesh *sweep_add_box(sweep_world *world);
sweep_mesh *sweep_add_tetrahedron(sweep_world *world);
sweep_mesh *sweep_add_fan(sweep_world *world, int triangles); // about one vertex, closed to a ring
/// Triangles over random corners of few vertices, some at the same place: edges with many triangles, repeated corners, repeated
/// triangles, triangles without area, vertices without triangles.
sweep_mesh *sweep_add_mess(sweep_world *world, int vertices, int triangles, uint64_t *random);
/// One of the above.
sweep_mesh *sweep_add_random(sweep_world *world, uint64_t *random);
void sweep_free_world(sweep_world *world);

/// Move the beginning and the end of a mesh.
void sweep_shift(sweep_mesh *mesh, double x, double y, double z);
/// The step is over, and a new end is drawn: each mesh as a whole moves by up to drift along each axis, and each vertex by up to shake.
/// Rigid meshes do not change their form, and rest in every other step. Some vertices of others land on multiples of 1/8.
void sweep_move(sweep_world *world, double drift, double shake, uint64_t *random);

/// A scene of the world, at its beginning.
carom_sweep *sweep_load(carom_context *context, const carom_sweep_def *def, const sweep_world *world);
/// Tell a scene of this world where everything is at the end of the step, but for rigid meshes that rest.
void sweep_tell(carom_sweep *sweep, const sweep_world *world);

/// All impacts of the step by trying each pair of features, in order. Free with sweep_free_list.
sweep_list sweep_find_dully(const sweep_world *world, const carom_sweep_def *def);
void sweep_free_list(sweep_list *list);
/// A copy of hits.
sweep_list sweep_copy_hits(const carom_sweep_hits *hits);

/// Are two impacts the same in all bits?
bool sweep_is_same_hit(const carom_sweep_hit *a, const carom_sweep_hit *b);
/// CHECK that two lists are the same; the first difference is printed.
bool sweep_check_same(const carom_sweep_hit *actual, int64_t actual_count, const sweep_list *expected, const char *what);

/// A context; CAROM_SIMD_AUTO: the widest.
carom_context *sweep_context(int threads, carom_simd simd);

#endif
