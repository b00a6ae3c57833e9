/// What the laboratory adds to swept scenes (sweep/sweep_lab.h).
#ifndef CR_LAB_SWEEP_METHODS_H
#define CR_LAB_SWEEP_METHODS_H

#include "geom/swept_motion.h"
#include "sweep/sweep_lab.h"

extern const struct cr_sweep_lab cr_sweep_methods;

/// Roots of the cubic in plain floating point (plain_cubic.c).
cr_swept_status cr_swept_solve_cubic(const cr_swept_motion *motion, const cr_swept_options *options, cr_swept_impact *impact);

#endif
