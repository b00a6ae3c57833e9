// Checkpoints of `carom run` for scenes that hold more than spheres: checkpoint.h5 has a part for
// the scene, for the run, for each section, and one for the state of the spheres themselves, which
// is needed when they are made.
#include "report.h"
#include "run.h"
#include "scene/granular_tape.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool run_is_of_spheres(const run *r) { return r->part_count == 1 && r->kinds[0] == &run_spheres_kind; }

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

// ---- Writing ----

static bool is_wanted(const run *r)
{
	return r->options->out && !run_is_of_spheres(r) && (r->options->checkpoints >= 0 || r->scene.output.checkpoints > 0);
}

static int move_parts(run *r, scene_checkpoint_part *parts, int count)
{
	for (int i = 0; i < count; i++) {
		for (int k = 0; k < r->part_count; k++) {
			if (strcmp(parts[i].name, r->kinds[k]->section) == 0 &&
				r->kinds[k]->move(r, r->states[k], &parts[i].tape) != EXIT_DONE)
				return EXIT_FAILED;
		}
	}
	return EXIT_DONE;
}

/// Names of the parts of a run's checkpoint. Returns how many.
static int name_parts(const run *r, scene_checkpoint_part parts[SCENE_MOST_PARTS], bool writing)
{
	int count = 0;
	const scene_description *scene = &r->scene;
	const struct {
		const char *name;
		bool there;
	} all[] = { { "scene", true }, { "run", true }, { "bodies", scene->has_bodies }, { "deforming", scene->has_deforming },
		{ "spheres", scene->has_spheres }, { "grains", scene->has_spheres } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (all[i].there)
			parts[count++] = (scene_checkpoint_part){ all[i].name, { .writing = writing } };
	}
	return count;
}

static scene_checkpoint_part *find_part(scene_checkpoint_part *parts, int count, const char *name)
{
	int i = 0;
	while (i < count && strcmp(parts[i].name, name) != 0)
		i++;
	return i < count ? &parts[i] : NULL;
}

static int write_parts(run *r, scene_checkpoint_part *parts, int count)
{
	char path[IO_PATH_MAX];
	sim_error error;
	sim_tape_move(&parts[0].tape, r->scene.text, r->scene.text_size);
	sim_tape_move(&parts[1].tape, &r->parts.steps, sizeof r->parts.steps);
	if (move_parts(r, parts, count) != EXIT_DONE)
		return EXIT_FAILED;
	scene_checkpoint_part *grains = find_part(parts, count, "grains");
	if (grains && !scene_save_granular(r->parts.granular, &grains->tape, &error))
		return report_error(NULL, "checkpoint.h5: %s", error.text);
	for (int i = 0; i < count; i++) {
		if (parts[i].tape.failed)
			return report_error(NULL, "out of memory");
	}
	run_out_path(r->options, "checkpoint.h5", path);
	return scene_write_checkpoint(path, parts, count, &error) ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

int run_save(run *r, bool at_end)
{
	const int64_t interval = r->scene.output.checkpoints;
	const bool due = at_end || (interval > 0 && r->parts.steps > r->first_step && r->parts.steps % interval == 0);
	if (!is_wanted(r) || !due || (at_end && r->saved_step == r->parts.steps))
		return EXIT_DONE;
	scene_checkpoint_part parts[SCENE_MOST_PARTS];
	const int count = name_parts(r, parts, true);
	const int status = write_parts(r, parts, count);
	for (int i = 0; i < count; i++)
		sim_free_tape(&parts[i].tape);
	r->saved_step = r->parts.steps;
	return status;
}

// ---- Going on ----

static int check_scene(run *r)
{
	char field[256];
	const char *text = (const char *)r->saved[0].tape.bytes;
	if (scene_texts_agree(text, r->scene.text, field, sizeof field))
		return EXIT_DONE;
	return report_error(
		r->options->scene, "field \"%s\": differs from that of the run which wrote %s", field, r->options->restart);
}

int run_open_checkpoint(run *r)
{
	sim_error error;
	const char *path = r->options->restart;
	if (run_continues_in_place(r->options))
		return report_error(path, "the run goes on in another folder, so that nothing is lost: take another --out");
	r->saved_count = name_parts(r, r->saved, false);
	if (!scene_read_checkpoint(path, r->saved, r->saved_count, &error))
		return report_error(NULL, "%s", error.text);
	if (check_scene(r) != EXIT_DONE)
		return EXIT_FAILED;
	sim_tape *tape = &r->saved[1].tape;
	sim_tape_move(tape, &r->parts.steps, sizeof r->parts.steps);
	if (!sim_tape_is_done(tape) || r->parts.steps < 1)
		return report_error(path, "is damaged");
	if (r->parts.steps > r->scene.steps)
		return report_error(path, "has done %lld steps already, and %lld are wanted (--steps)", (long long)r->parts.steps,
			(long long)r->scene.steps);
	r->first_step = r->parts.steps;
	return EXIT_DONE;
}

sim_tape *run_saved_grains(run *r)
{
	scene_checkpoint_part *part = find_part(r->saved, r->saved_count, "grains");
	return part ? &part->tape : NULL;
}

int run_restore(run *r)
{
	int status = move_parts(r, r->saved, r->saved_count);
	for (int i = 1; i < r->saved_count && status == EXIT_DONE; i++) {
		if (!sim_tape_is_done(&r->saved[i].tape))
			status = report_error(r->options->restart, "the part \"%s\" does not fit the scene", r->saved[i].name);
	}
	run_close_checkpoint(r);
	return status;
}

void run_close_checkpoint(run *r)
{
	for (int i = 0; i < r->saved_count; i++)
		sim_free_tape(&r->saved[i].tape);
	r->saved_count = 0;
}
