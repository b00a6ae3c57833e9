// Checkpoints of scenes that hold more than spheres: a part for the scene, for the run, for each
// section, one for the state of the spheres themselves, which is needed when they are made, and one
// for what the caller adds. See scene_resume.h.
#include "scene/scene_resume.h"

#include "scene/granular_tape.h"

#include <string.h>

// Parts that each checkpoint has, in this order; those of sections follow.
enum { SCENE_TEXT, RUN_STEPS, REPORT, FIRST_SECTION };

bool scene_is_of_spheres(const scene_description *scene)
{
	return scene->has_spheres && !scene->has_bodies && !scene->has_deforming;
}

/// Names of the parts of a run's checkpoint. Returns how many.
static int name_parts(const scene_description *scene, scene_checkpoint_part parts[SCENE_MOST_PARTS], bool writing)
{
	int count = 0;
	const struct {
		const char *name;
		bool there;
	} all[] = { { "scene", true }, { "run", true }, { "report", true }, { "bodies", scene->has_bodies },
		{ "deforming", scene->has_deforming }, { "spheres", scene->has_spheres }, { "grains", scene->has_spheres } };
	_Static_assert(sizeof all / sizeof *all <= SCENE_MOST_PARTS, "a part for each name");
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (all[i].there)
			parts[count++] = (scene_checkpoint_part){ all[i].name, { .writing = writing } };
	}
	return count;
}

static sim_tape *find_part(scene_checkpoint_part *parts, int count, const char *name)
{
	int i = 0;
	while (i < count && strcmp(parts[i].name, name) != 0)
		i++;
	return i < count ? &parts[i].tape : NULL;
}

// ---- States ----

static bool move_bodies(scene_run *run, sim_tape *tape, sim_error *error)
{
	return scene_simulation_move_state(run->simulation, tape, error);
}

static bool move_deforming(scene_run *run, sim_tape *tape, sim_error *error)
{
	if (!sim_soft_move_state(run->soft, tape, error))
		return sim_fail_in(error, "field \"deforming\": ");
	sim_tape_move(tape, run->obstacles, (size_t)run->scene->deforming.obstacle_count * sizeof *run->obstacles);
	return true;
}

/// What spheres share with the others; their own state is another part.
static bool move_meetings(scene_run *run, sim_tape *tape, sim_error *error)
{
	(void)error;
	if (run->sphere_meeting)
		scene_meeting_move_state(run->sphere_meeting, tape);
	if (run->soft_meeting)
		scene_soft_meeting_move_state(run->soft_meeting, tape);
	return true;
}

/// Move the states of all sections but that of the grains, in the order of the parts.
static bool move_sections(scene_run *run, scene_checkpoint_part *parts, int count, sim_error *error)
{
	static const struct {
		const char *name;
		bool (*move)(scene_run *run, sim_tape *tape, sim_error *error);
	} sections[] = { { "bodies", move_bodies }, { "deforming", move_deforming }, { "spheres", move_meetings } };
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		sim_tape *tape = find_part(parts, count, sections[i].name);
		if (tape && !sections[i].move(run, tape, error))
			return false;
	}
	return true;
}

// ---- Writing ----

static bool fill_parts(scene_run *run, const sim_tape *report, scene_checkpoint_part *parts, int count, sim_error *error)
{
	sim_tape_move(&parts[SCENE_TEXT].tape, run->scene->text, run->scene->text_size);
	sim_tape_move(&parts[RUN_STEPS].tape, &run->steps, sizeof run->steps);
	if (report)
		sim_tape_move(&parts[REPORT].tape, report->bytes, report->size);
	if (!move_sections(run, parts, count, error))
		return sim_fail_in(error, "%s: ", run->scene->file);
	sim_tape *grains = find_part(parts, count, "grains");
	if (grains && !scene_save_granular(run->granular, grains, error))
		return sim_fail_in(error, "%s: ", run->scene->file);
	for (int i = 0; i < count; i++) {
		if (parts[i].tape.failed)
			return sim_fail(error, "%s: out of memory", run->scene->file);
	}
	return true;
}

/// Has rank 0 written the file? Its own reason is in error.
static bool agree(const sim_ranks *ranks, bool wrote, const char *path, sim_error *error)
{
	const bool all = sim_all_ranks(ranks, wrote);
	return all || (wrote ? sim_fail(error, "%s: rank 0 could not write it", path) : false);
}

bool scene_save_run(scene_run *run, const char *path, const sim_tape *report, sim_error *error)
{
	scene_checkpoint_part parts[SCENE_MOST_PARTS];
	const int count = name_parts(run->scene, parts, true);
	const bool filled = fill_parts(run, report, parts, count, error);
	const bool wrote = filled && (!sim_is_first_rank(run->ranks) || scene_write_checkpoint(path, parts, count, error));
	const bool done = filled && (run->ranks ? agree(run->ranks, wrote, path, error) : wrote);
	for (int i = 0; i < count; i++)
		sim_free_tape(&parts[i].tape);
	return done;
}

// ---- Going on ----

static bool read_head(scene_resume *resume, scene_run *run, sim_error *error)
{
	char field[256];
	const char *text = (const char *)resume->parts[SCENE_TEXT].tape.bytes;
	sim_tape *tape = &resume->parts[RUN_STEPS].tape;
	if (!scene_texts_agree(text, run->scene->text, field, sizeof field))
		return sim_fail(
			error, "%s: field \"%s\": differs from that of the run which wrote %s", run->scene->file, field, resume->path);
	sim_tape_move(tape, &run->steps, sizeof run->steps);
	return (sim_tape_is_done(tape) && run->steps >= 0) || sim_fail(error, "%s: is damaged", resume->path);
}

bool scene_open_resume(scene_resume *resume, scene_run *run, const char *path, sim_error *error)
{
	resume->path = path;
	resume->count = name_parts(run->scene, resume->parts, false);
	return scene_read_checkpoint(path, resume->parts, resume->count, error) && read_head(resume, run, error);
}

sim_tape *scene_resume_grains(scene_resume *resume) { return find_part(resume->parts, resume->count, "grains"); }

sim_tape *scene_resume_report(scene_resume *resume)
{
	sim_tape *tape = &resume->parts[REPORT].tape;
	return tape->size > 0 ? tape : NULL;
}

bool scene_restore_run(scene_resume *resume, scene_run *run, sim_error *error)
{
	if (!move_sections(run, resume->parts, resume->count, error))
		return sim_fail_in(error, "%s: ", resume->path);
	for (int i = FIRST_SECTION; i < resume->count; i++) {
		if (!sim_tape_is_done(&resume->parts[i].tape))
			return sim_fail(error, "%s: the part \"%s\" does not fit the scene", resume->path, resume->parts[i].name);
	}
	return true;
}

void scene_close_resume(scene_resume *resume)
{
	for (int i = 0; i < resume->count; i++)
		sim_free_tape(&resume->parts[i].tape);
	resume->count = 0;
}
