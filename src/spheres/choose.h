/// Which method to use for a set when the caller leaves it to us: the one of least expected time.
/// The expected time is that of a model, from samples of the set, times the ratio of measured to
/// expected time so far. No result depends on the choice.
#ifndef CR_SPHERES_CHOOSE_H
#define CR_SPHERES_CHOOSE_H

#include "spheres/sphere_set.h"

enum {
	CR_METHODS = CAROM_SPHERES_DEVICE + 1,
	// beside those that the caller can choose: the wide tree (wide_tree.h), and several devices
	// (device_slabs.c)
	CR_SPHERES_WIDE = CR_METHODS,
	CR_SPHERES_SLABS,
	CR_STATES,
};

typedef struct cr_method_choice {
	double expected_ms[CR_METHODS]; // by the model, for the set that was looked at last
	double correction[CR_METHODS];  // measured by expected; 0: never measured
	carom_sphere_method method;     // chosen last; AUTO: never
	uint32_t count;                 // of that set
	float r_min, r_max, extent;     // of that set, to see whether it is another one now
	int64_t builds;                 // since it was looked at
	int64_t uses;                   // of the method since it was chosen
} cr_method_choice;

/// The method for the set: the one in use, or one that is expected to be clearly faster.
carom_sphere_method cr_choose_method(cr_method_choice *choice, const cr_sphere_set *set);

/// The method in use took so long for a set: structure and search together.
void cr_note_cost(cr_method_choice *choice, double ms);

#endif
