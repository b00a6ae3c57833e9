// Checkpoints of `carom run` for scenes that hold more than spheres (scene/scene_resume.h), with
// the sums of its summary in them.
#include "report.h"
#include "run.h"

#include <string.h>
#include <sys/stat.h>

bool run_continues_in_place(const run_options *o)
{
	char folder[IO_PATH_MAX];
	struct stat from, to;
	if (!o->restart || !o->out || strlen(o->restart) >= sizeof folder - 2)
		return false;
	snprintf(folder, sizeof folder, "%s", o->restart);
	char *slash = strrchr(folder, '/');
	snprintf(slash ? slash + 1 : folder, 2, ".");
	return stat(folder, &from) == 0 && stat(o->out, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

static void move_sums(run *r, sim_tape *tape)
{
	for (int i = 0; i < r->part_count; i++) {
		if (r->kinds[i]->move_sums)
			r->kinds[i]->move_sums(r->states[i], tape);
	}
}

// ---- Writing ----

static bool is_wanted(const run *r)
{
	return r->options->out && !scene_is_of_spheres(&r->scene) &&
		(r->options->checkpoints >= 0 || r->scene.output.checkpoints > 0);
}

int run_save(run *r, bool at_end)
{
	char path[IO_PATH_MAX];
	sim_error error;
	const int64_t interval = r->scene.output.checkpoints;
	const bool due = at_end || (interval > 0 && r->parts.steps > r->first_step && r->parts.steps % interval == 0);
	if (!is_wanted(r) || !due || (at_end && r->saved_step == r->parts.steps))
		return EXIT_DONE;
	sim_tape report = { .writing = true };
	move_sums(r, &report);
	run_out_path(r->options, "checkpoint.h5", path);
	const bool done = report.failed ? sim_fail(&error, "out of memory") : scene_save_run(&r->parts, path, &report, &error);
	sim_free_tape(&report);
	r->saved_step = r->parts.steps;
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

// ---- Going on ----

int run_open_checkpoint(run *r)
{
	sim_error error;
	const char *path = r->options->restart;
	if (run_continues_in_place(r->options))
		return report_error(path, "the run goes on in another folder, so that nothing is lost: take another --out");
	if (!scene_open_resume(&r->resume, &r->parts, path, &error))
		return report_error(NULL, "%s", error.text);
	if (r->parts.steps > r->scene.steps)
		return report_error(path, "has done %lld steps already, and %lld are wanted (--steps)", (long long)r->parts.steps,
			(long long)r->scene.steps);
	r->first_step = r->parts.steps;
	return EXIT_DONE;
}

/// A checkpoint that Python wrote has no sums: those of the summary then begin with its step.
int run_restore(run *r)
{
	sim_error error;
	if (!scene_restore_run(&r->resume, &r->parts, &error))
		return report_error(NULL, "%s", error.text);
	sim_tape *report = scene_resume_report(&r->resume);
	if (report)
		move_sums(r, report);
	const bool fits = !report || sim_tape_is_done(report);
	scene_close_resume(&r->resume);
	return fits ? EXIT_DONE : report_error(r->options->restart, "the part \"report\" does not fit the scene");
}
