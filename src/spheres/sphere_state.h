/// The content of carom_spheres, for the files that serve it: spheres.c (calls), sphere_load.c
/// (update), kept_list.c (skin), neighbours.c (rows and answers read off them).
#ifndef CR_SPHERES_SPHERE_STATE_H
#define CR_SPHERES_SPHERE_STATE_H

#include "base/array.h"
#include "spheres/choose.h"
#include "spheres/kept_list.h"
#include "spheres/pair_sort.h"
#include "spheres/sphere_detector.h"
#include "spheres/sphere_input.h"
#include "spheres/upkeep.h"

struct carom_spheres {
	carom_context *context; // memory: everything but the failures of arguments goes through it
	carom_context memory;   // child of the caller's, with the budget
	carom_spheres_def def;
	carom_device *devices[CAROM_MAX_DEVICES]; // carom_spheres_set_devices; the first is def.device
	int32_t device_count;                     // 0: none were set
	cr_sphere_space space;

	// Where the spheres were when the structure was made; where they are now if no list was kept
	// since.
	cr_sphere_set set;
	CR_ARRAY(cr_sphere) rounded; // set.spheres
	// set.exact, but of the last update: while a list is kept it runs ahead of rounded
	CR_ARRAY(double) exact;
	CR_ARRAY(uint32_t) owner;   // set.owner
	double origin[3];           // of rounded, where there is exact
	CR_ARRAY(double) reference; // set.reference
	// the input was in double, or is periodic; else exact, if there, is a copy of floats
	bool given_exact;
	bool wide; // no frame tells the spheres apart: the wide tree does

	// Where they are now.
	CR_ARRAY(cr_sphere) moved; // while a list of float32 spheres is kept
	const cr_sphere *now;      // rounded or moved; not used where there is exact
	bool unread;               // the last update read no sphere (neighbours_only)
	// by which neighbours are ordered: those given, or the ranks of names of 64 bits
	CR_ARRAY(uint32_t) ids;
	CR_ARRAY(uint64_t) names; // given as ids64
	bool has_ids, has_names;

	// How pairs are found.
	void *states[CR_STATES];
	carom_sphere_method method;
	bool fits;                            // the method's structure has been made for set
	uint32_t fitted_count, fitted_ghosts; // places, and of these ghosts'
	cr_method_choice choice;
	cr_upkeep upkeep;   // of a tree
	cr_upkeep_step fit; // times of the last build or refit, and of the search after it

	// The pairs.
	cr_pair_store *store;
	cr_pair_array pairs;
	// with the skin of list; without one of the pairs that touch since the last update
	cr_neighbour_rows rows;
	bool has_rows;
	int64_t list_pairs; // of the rows, each once
	// [blocks of rows + 1] entries above the diagonal before each block of rows; empty: not counted
	// yet
	CR_ARRAY(int64_t) upper;
	cr_kept_list list;

	carom_sphere_stats stats;
};

/// A sphere where it is now.
static inline void cr_read_now(const carom_spheres *spheres, uint32_t i, double sphere[4])
{
	if (spheres->set.exact) {
		const double *s = spheres->set.exact + 4 * (size_t)i;
		for (int k = 0; k < 4; k++)
			sphere[k] = s[k];
		return;
	}
	const cr_sphere *s = &spheres->now[i];
	sphere[0] = s->x, sphere[1] = s->y, sphere[2] = s->z, sphere[3] = s->r;
}

/// Do they touch now? d: from b's centre (its nearest image) to a's. The same decision as
/// cr_spheres_touch without a skin: images lie at exact places, and of the images of a pair the
/// nearest one touches if any does.
static inline bool cr_touch_now(const cr_sphere_space *space, const double a[4], const double b[4], double d[3], double *d2)
{
	for (int k = 0; k < 3; k++)
		d[k] = cr_nearest(space, k, a[k] - b[k]);
	*d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
	const double reach = a[3] + b[3];
	return *d2 <= reach * reach;
}

/// Take new spheres: carom_spheres_update.
carom_result cr_load_spheres(carom_spheres *spheres, const carom_sphere_input *input);

/// Make the rows if there are none. They hold until the next update, or while the list is kept.
carom_result cr_make_rows(carom_spheres *spheres);

/// Hand on those pairs of the rows that touch now.
void cr_filter_rows(carom_spheres *spheres, const cr_pair_sink *sink);

/// Sort those pairs of the rows that touch now into spheres->pairs. False when out of memory.
bool cr_sort_touching(carom_spheres *spheres);

/// Find with the method in use, and add its time and tests to the stats. The sink stops the search
/// by refusing. sorted: NULL, or the place of pairs that the method has put in order by itself.
carom_result cr_search(carom_spheres *spheres, const cr_pair_sink *sink, cr_sorted_search *sorted);

/// Show pairs on the device: those that a search has left there, else spheres->pairs are brought.
carom_result cr_show_pairs(carom_spheres *spheres, bool there, carom_sphere_device_pairs *shown);

/// No spheres from now on.
void cr_forget_spheres(carom_spheres *spheres);
/// Give back the memory of pairs and lists: there is no list afterwards.
void cr_release_lists(carom_spheres *spheres);
/// No spheres from now on, and all memory given back.
void cr_release_spheres(carom_spheres *spheres);
/// Bytes that the structures of all methods hold.
size_t cr_state_bytes(const carom_spheres *spheres);

#endif
