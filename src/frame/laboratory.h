/// The door to src/lab, which holds the methods of papers and baselines and is not in the installed
/// library: a table that carom_lab brings along. Nothing in the library names a function of the
/// laboratory.
#ifndef CR_FRAME_LABORATORY_H
#define CR_FRAME_LABORATORY_H

#include "frame/pipeline.h"

// Plain bytes at the beginning of the state of a laboratory, which snapshots copy.
enum { CR_LAB_BYTES = 512 };

/// pipeline->lab is the state that open made.
struct cr_laboratory {
	/// Make the state, and put the stages, the broad phase and the hooks of the settings in the
	/// place of the library's.
	carom_result (*open)(cr_pipeline *pipeline);
	void (*close)(cr_pipeline *pipeline);
	void (*forget)(cr_pipeline *pipeline); // drop the findings of the last step
	void (*end_step)(cr_pipeline *pipeline);
	// Of shapes that come to the world, are held by a snapshot, and go. function names the call in
	// error texts.
	carom_result (*attach)(cr_pipeline *pipeline, cr_shape *shape, const char *function);
	void (*hold)(cr_pipeline *pipeline, const cr_shape *shape);
	void (*drop)(cr_pipeline *pipeline, const cr_shape *shape);
	const struct cr_sweep_lab *sweep; // for carom_sweep_def.lab
};

static inline const struct cr_laboratory *cr_laboratory_of(const cr_pipeline *p)
{
	return p->lab ? p->settings.lab.tools : NULL;
}

#endif
