/// The classical test of a swept pair: roots of the coplanarity cubic in plain floating point, and
/// whether the features are near each other there (as MCCD; Tang, Manocha and Tong 2010). It misses
/// impacts: those of features that stay in a plane, and those that rounding hides.
#include "geom/swept_cubic.h"
#include "lab/sweep_methods.h"

cr_swept_status cr_swept_solve_cubic(const cr_swept_motion *motion, const cr_swept_options *options, cr_swept_impact *impact)
{
	cr_swept_cubic cubic;
	cr_swept_init_cubic(&cubic, motion);
	double root = cubic.bernstein[0] == 0 ? 0 : cr_swept_cubic_root(&cubic, 0);
	for (int i = 0; i < 4 && root <= options->t_max; i++) {
		cr_swept_nearest nearest;
		cr_swept_find_nearest(motion, root, &nearest);
		if (nearest.distance <= options->tolerance + options->min_separation) {
			impact->time = impact->time_high = root;
			return root > 0 ? CR_SWEPT_IMPACT : CR_SWEPT_TOUCHING;
		}
		// Just beyond it, so that the same root is not found again.
		root = cr_swept_cubic_root(&cubic, root + 0x1p-45);
	}
	return CR_SWEPT_CLEAR;
}
