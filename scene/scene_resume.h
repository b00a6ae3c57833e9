/// @file scene_resume.h
/// A run of a scene that ends and goes on: what its parts save, and how they take it up again, bit
/// for bit. `carom run` and the Python package write and read the same files.
#ifndef SCENE_SCENE_RESUME_H
#define SCENE_SCENE_RESUME_H

#include "scene/run_checkpoint.h"
#include "scene/scene_run.h"

/// A checkpoint that is open while the parts of a run are made. Begin with all zero.
typedef struct scene_resume {
	const char *path; ///< the caller's
	scene_checkpoint_part parts[SCENE_MOST_PARTS];
	int count;
} scene_resume;

/// Does a scene hold spheres and nothing else? Its checkpoints are a format of their own
/// (granular_checkpoint.h), and the functions below are not for it.
bool scene_is_of_spheres(const scene_description *scene);

/// Write a checkpoint between two steps. report: what the caller adds, or NULL; it comes back by
/// scene_resume_report. False, with path or field and the reason in error, when that fails; a file
/// of that name is replaced only when everything was written. Collective on ranks: rank 0 gathers
/// all spheres and writes the file, whose states have the bits of one process.
bool scene_save_run(scene_run *run, const char *path, const sim_tape *report, sim_error *error);

/// Open a checkpoint, before the parts of a run are made: the run has the steps that were done
/// then. path must stay until scene_close_resume. False, with the reason in error, when the file
/// cannot be read, is damaged, or is of another scene; what does not change the motion may differ.
bool scene_open_resume(scene_resume *resume, scene_run *run, const char *path, sim_error *error);

/// The state of the spheres in it, for scene_run_add_spheres. NULL: there is none.
sim_tape *scene_resume_grains(scene_resume *resume);

/// What the writer added, to be read; NULL: nothing.
sim_tape *scene_resume_report(scene_resume *resume);

/// Put the parts of a run, which were all made, into the states of the checkpoint. False, with the
/// reason in error, when a part does not fit; the run can then only be ended.
bool scene_restore_run(scene_resume *resume, scene_run *run, sim_error *error);

/// Free what a checkpoint holds. One that was never opened is nothing to do.
void scene_close_resume(scene_resume *resume);

#endif
