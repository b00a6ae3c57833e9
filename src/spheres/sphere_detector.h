/// The ways of finding pairs, as tables: grid, levels, tree, rays, device. Another one (ray-tracing
/// hardware) is one more table.
#ifndef CR_SPHERES_SPHERE_DETECTOR_H
#define CR_SPHERES_SPHERE_DETECTOR_H

#include "spheres/pair_sort.h"
#include "spheres/sphere_set.h"

/// A search that may put the pairs in order by itself.
typedef struct cr_sorted_search {
	cr_pair_array *pairs; // for the pairs; NULL: they stay where they were found
	bool done;            // they are there, sorted; else they went to the sink
	/// Where they are if done with room for pairs: in that room, or in memory of a device that the
	/// processor reaches, until the next search.
	carom_sphere_pairs shown;
} cr_sorted_search;

typedef struct cr_sphere_detector {
	/// Make the structure for a set; *state is NULL or the state of an earlier build (its memory is
	/// used again). On failure the state is still good for build and release only.
	carom_result (*build)(void **state, const cr_sphere_set *set);
	/// Follow the spheres to other places and radii: keep the structure's shape. NULL: it cannot.
	carom_result (*refit)(void *state, const cr_sphere_set *set);
	/// Hand every pair of the set that touches (skin included) to the sink, once, from the workers
	/// of the context. *tests: distances computed. A sink that stops ends the search without error.
	carom_result (*find)(void *state, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests);
	/// Surface area heuristic of a tree now; NULL: no tree.
	double (*cost)(const void *state);
	size_t (*bytes)(const void *state);
	void (*release)(carom_context *context, void *state);
	/// Find, with the pairs in order where that is possible; NULL: it never is.
	carom_result (*find_sorted)(
		void *state, const cr_sphere_set *set, const cr_pair_sink *sink, cr_sorted_search *search, int64_t *tests);
} cr_sphere_detector;

extern const cr_sphere_detector cr_grid_detector;   // cell_grid.c
extern const cr_sphere_detector cr_levels_detector; // level_grid.c
extern const cr_sphere_detector cr_tree_detector;   // sphere_tree.c
extern const cr_sphere_detector cr_rays_detector;   // point_rays.c
extern const cr_sphere_detector cr_device_detector; // device_spheres.c, in a library with Vulkan
extern const cr_sphere_detector cr_slabs_detector;  // device_slabs.c, likewise

/// Show where pairs are on the device: those that find_sorted has left there (pairs is NULL), or
/// pairs of the processor's, which are brought there. *state as for build.
carom_result cr_show_device_pairs(
	void **state, const cr_sphere_set *set, const cr_pair_array *pairs, carom_sphere_device_pairs *shown);

#endif
