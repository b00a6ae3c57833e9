/// The names by which neighbours are ordered: of 32 bits as given, or of 64 bits by their ranks.
#ifndef CR_SPHERES_SPHERE_NAMES_H
#define CR_SPHERES_SPHERE_NAMES_H

#include "spheres/sphere_state.h"

/// Ranks of names of 64 bits, in the order of the spheres; namesakes share one.
typedef CR_ARRAY(uint32_t) cr_name_ranks;

/// Are the names those of the last update, for as many spheres?
bool cr_same_names(const carom_spheres *spheres, const carom_sphere_input *input);

/// Refuse names that occur twice among the first `owned` spheres. Names of 64 bits that
/// are not those of the last update leave their ranks, which cr_take_names copies and the caller
/// frees. Nothing of the last update is changed.
carom_result cr_check_names(const carom_spheres *spheres, const carom_sphere_input *input, uint32_t owned, cr_name_ranks *ranks);

/// Keep the names of an update that was checked, with the ranks that the check has left.
carom_result cr_take_names(carom_spheres *spheres, const carom_sphere_input *input, cr_name_ranks *ranks);

#endif
