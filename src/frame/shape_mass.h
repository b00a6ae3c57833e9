/// Volume, centre of mass and inertia of convex shapes at density 1.
#ifndef CR_FRAME_SHAPE_MASS_H
#define CR_FRAME_SHAPE_MASS_H

#include "carom/shape.h"

/// The mass of any shape but a plane and a mesh that is no hull. The shape was checked.
void cr_convex_mass(const carom_shape *shape, carom_mass *mass);
/// Add the mass of a part at a pose. Their common centre is computed; overlaps count twice.
void cr_add_mass(carom_mass *sum, const carom_mass *part, const carom_pose *pose);

#endif
