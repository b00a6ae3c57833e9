// The parts of a scene go through its steps together: see scene_run.h.
#include "scene/scene_run.h"

#include "scene/granular_checkpoint.h"
#include "scene/granular_tape.h"
#include "scene/scene_resume.h"
#include "scene/soft_fill.h"
#include "sim/grains/granular_ranks.h"
#include "sim/base/state_hash.h"
#include "sim/base/vectors.h"
#include "sim/grains/granular_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool out_of_memory(const scene_run *run, sim_error *error)
{
	return sim_fail(error, "%s: out of memory", run->scene->file);
}

// ---- Making the parts ----

bool scene_run_add_bodies(scene_run *run, const char *recording, sim_error *error)
{
	run->simulation = scene_create_simulation(run->context, run->scene, recording, error);
	return run->simulation != NULL;
}

bool scene_run_add_deforming(scene_run *run, sim_error *error)
{
	const scene_deforming *section = &run->scene->deforming;
	run->soft = scene_start_deforming_among(run->context, run->scene, run->simulation, error);
	if (!run->soft)
		return false;
	run->obstacles = malloc(((size_t)section->obstacle_count + 1) * sizeof *run->obstacles);
	run->reactions = malloc(((size_t)section->obstacle_count + 1) * sizeof *run->reactions);
	for (int32_t i = 0; run->obstacles && i < section->obstacle_count; i++)
		run->obstacles[i] = run->scene->rigid.bodies[section->obstacles[i]].pose;
	return (run->obstacles && run->reactions) || out_of_memory(run, error);
}

/// A number that tells this run from others: the values of the scene, and the places where its
/// spheres begin.
static uint64_t number_of_run(const scene_run *run, const scene_granular_filling *f)
{
	const uint64_t hash = sim_hash_text(SIM_HASH_START, run->scene->text, run->scene->text_size);
	return sim_hash_doubles(sim_hash_doubles(hash, f->centres, 3 * f->count), f->radii, f->count);
}

/// grains: NULL, or the state in a checkpoint of a scene that holds more than spheres.
static bool start_from_scene(scene_run *run, scene_granular_filling *filling, sim_tape *grains, sim_error *error)
{
	const uint64_t number = number_of_run(run, filling);
	const sim_granular_def def = scene_filled_def(run->scene, filling);
	if (grains)
		run->granular = scene_load_granular(run->context, run->scene, filling, grains, error);
	else if (run->ranks)
		run->granular = sim_create_granular_share(run->context, &def, run->ranks, error);
	else
		run->granular = sim_create_granular(run->context, &def, error);
	if (!run->granular)
		return grains ? false : sim_fail_in(error, "%s: ", run->scene->file);
	sim_granular_set_mark(run->granular, &(sim_granular_mark){ .run = number });
	return true;
}

static bool read_checkpoint(scene_run *run, const char *path, sim_error *error)
{
	scene_granular_resume resume = scene_default_granular_resume();
	resume.method = run->scene->spheres.def.method;
	resume.skin = run->scene->spheres.def.skin;
	resume.device = run->scene->spheres.def.device;
	run->granular = scene_granular_read(run->context, path, &resume, error);
	if (!run->granular)
		return false;
	const int64_t done = sim_granular_get_info(run->granular).steps, substeps = run->scene->spheres.substeps;
	if (done % substeps != 0)
		return sim_fail(error, "%s: has done %lld substeps, which is not a whole number of steps of %lld", path,
			(long long)done, (long long)substeps);
	run->steps = done / substeps;
	return true;
}

/// The spheres' places are not needed any more once the simulation has them.
static void forget_places(scene_granular_filling *f)
{
	free(f->centres);
	free(f->radii);
	free(f->velocities);
	free(f->angular_velocities);
	f->centres = f->radii = f->velocities = f->angular_velocities = NULL;
}

bool scene_run_add_spheres(scene_run *run, const char *checkpoint, sim_tape *grains, bool keep_copies,
	scene_granular_filling *filling, sim_error *error)
{
	const scene_spheres *section = &run->scene->spheres;
	// The copies of a continued run have their numbers from the scene.
	if ((!checkpoint || keep_copies) && !scene_fill_spheres(run->context, run->scene, filling, error))
		return false;
	const bool made = checkpoint ? read_checkpoint(run, checkpoint, error) : start_from_scene(run, filling, grains, error);
	forget_places(filling);
	if (made && section->obstacle_count > 0) {
		run->sphere_meeting = scene_create_sphere_meeting(run->scene, run->simulation, run->granular, error);
		if (!run->sphere_meeting)
			return false;
	}
	if (made && section->deforming) {
		run->soft_meeting = scene_create_soft_meeting(run->scene, run->soft, run->granular, error);
		if (!run->soft_meeting)
			return false;
	}
	return made;
}

/// checkpoint: of a scene of spheres alone, or NULL; grains: of another scene, or NULL.
static bool add_parts(scene_run *run, const char *recording, const char *checkpoint, sim_tape *grains, sim_error *error)
{
	const scene_description *scene = run->scene;
	scene_granular_filling filling = { 0 };
	const bool made = (!scene->has_bodies || scene_run_add_bodies(run, recording, error)) &&
		(!scene->has_deforming || scene_run_add_deforming(run, error)) &&
		(!scene->has_spheres || scene_run_add_spheres(run, checkpoint, grains, false, &filling, error));
	scene_destroy_filling(&filling);
	return made;
}

bool scene_run_add_all(scene_run *run, const char *recording, const char *checkpoint, sim_error *error)
{
	scene_resume resume = { 0 };
	if (!checkpoint || scene_is_of_spheres(run->scene))
		return add_parts(run, recording, checkpoint, NULL, error);
	const bool done = scene_open_resume(&resume, run, checkpoint, error) &&
		add_parts(run, recording, NULL, scene_resume_grains(&resume), error) && scene_restore_run(&resume, run, error);
	scene_close_resume(&resume);
	return done;
}

// ---- Deforming bodies ----

static void join_soft_substep(sim_soft_step *sum, const sim_soft_step *part)
{
	const sim_soft_step before = *sum;
	*sum = *part;
	sum->impacts += before.impacts;
	sum->impacts_more += before.impacts_more;
	sum->impacts_undecided += before.impacts_undecided;
	sum->searches += before.searches;
	sum->solves += before.solves;
	sum->zones += before.zones;
	sum->zone_vertices += before.zone_vertices;
	sum->halvings += before.halvings;
	sum->leads += before.leads;
	sum->gave_way += before.gave_way;
	sum->tears += before.tears;
	sum->pins_broken += before.pins_broken;
	sum->pin_force = fmax(sum->pin_force, before.pin_force);
	if (before.stretch_worst > sum->stretch_worst) {
		sum->stretch_worst = before.stretch_worst;
		sum->stretch_body = before.stretch_body;
	}
	sum->ms_total += before.ms_total;
	sum->ms_detection += before.ms_detection;
	sum->ms_solver += before.ms_solver;
}

static int32_t first_obstacle(const scene_run *run)
{
	return sim_soft_get_surface(run->soft).body_count - run->scene->deforming.obstacle_count;
}

/// Does an obstacle move as a solid among the bodies that deform (soft_fill.c)?
static bool is_pushed(const scene_run *run, int32_t obstacle)
{
	return sim_soft_get_kind(run->soft, first_obstacle(run) + obstacle) == SIM_SOFT_SOLID;
}

/// The rigid bodies have done the step already. Those that are pushed begin it once more among what
/// deforms, with the motion that took them there.
static void guide_obstacles(scene_run *run)
{
	const scene_deforming *section = &run->scene->deforming;
	for (int32_t i = 0; i < section->obstacle_count; i++) {
		if (is_pushed(run, i))
			sim_soft_guide(run->soft, first_obstacle(run) + i, scene_simulation_poses(run->simulation)[section->obstacles[i]],
				run->scene->time_step);
	}
}

/// Lead the other obstacles along the step, to a part of the way.
static void lead_obstacles(scene_run *run, double part)
{
	const scene_deforming *section = &run->scene->deforming;
	for (int32_t i = 0; i < section->obstacle_count; i++) {
		if (is_pushed(run, i))
			continue;
		const carom_motion way = { run->obstacles[i], scene_simulation_poses(run->simulation)[section->obstacles[i]] };
		sim_soft_lead(run->soft, first_obstacle(run) + i, part < 1 ? carom_motion_pose(&way, part) : way.end);
		if (part == 1)
			run->obstacles[i] = way.end;
	}
}

static void add_reactions(const scene_run *run, sim_soft_reaction *sums)
{
	for (int32_t i = 0; i < run->scene->deforming.obstacle_count; i++) {
		const sim_soft_reaction felt = sim_soft_get_reaction(run->soft, first_obstacle(run) + i);
		for (int k = 0; k < 3; k++) {
			sums[i].impulse[k] += felt.impulse[k];
			sums[i].angular_impulse[k] += felt.angular_impulse[k];
		}
	}
}

/// Rigid bodies get the impulses of the cloth that they have met, and are where it let them go. A
/// body that felt nothing stays as its own step left it.
static bool push_obstacles(scene_run *run, const sim_soft_reaction *sums, sim_error *error)
{
	const scene_deforming *section = &run->scene->deforming;
	for (int32_t i = 0; i < section->obstacle_count; i++) {
		const double *p = sums[i].impulse, *l = sums[i].angular_impulse;
		const bool felt = p[0] != 0 || p[1] != 0 || p[2] != 0 || l[0] != 0 || l[1] != 0 || l[2] != 0;
		double velocity[3], spin[3];
		if (!felt || !is_pushed(run, i))
			continue;
		carom_pose pose = sim_soft_get_solid(run->soft, first_obstacle(run) + i, velocity, spin);
		const carom_vec3 arm =
			carom_rotate(pose.orientation, scene_simulation_mass(run->simulation, section->obstacles[i]).centre);
		pose.position = sim_subtract(pose.position, arm);
		scene_simulation_kick(
			run->simulation, section->obstacles[i], (carom_vec3){ p[0], p[1], p[2] }, (carom_vec3){ l[0], l[1], l[2] });
		if (!scene_simulation_place(run->simulation, section->obstacles[i], &pose, error))
			return false;
	}
	return true;
}

/// The substeps of a step. sums: of the impulses that obstacles feel.
static bool step_soft(scene_run *run, sim_soft_step *step, sim_soft_reaction *sums, sim_error *error)
{
	const int32_t substeps = run->scene->deforming.substeps;
	sim_soft_step part;
	guide_obstacles(run);
	for (int32_t i = 0; i < substeps; i++) {
		lead_obstacles(run, (double)(i + 1) / substeps);
		if (!sim_soft_advance(run->soft, &part, error))
			return false;
		add_reactions(run, sums);
		if (i == 0)
			*step = part;
		else
			join_soft_substep(step, &part);
	}
	return true;
}

bool scene_run_step_deforming(scene_run *run, sim_soft_step *step, sim_error *error)
{
	const int64_t number = run->steps + 1;
	sim_soft_reaction *sums = run->reactions;
	memset(sums, 0, (size_t)run->scene->deforming.obstacle_count * sizeof *sums);
	const bool done =
		(!run->soft_meeting || scene_soft_meeting_begin(run->soft_meeting, error)) && step_soft(run, step, sums, error);
	step->step = number;
	const bool pushed = done && push_obstacles(run, sums, error);
	return pushed || (!done && sim_fail_in(error, "%s: step %lld: ", run->scene->file, (long long)number));
}

// ---- Spheres ----

static void join_granular_substep(sim_granular_step *sum, const sim_granular_step *part)
{
	const sim_granular_step before = *sum;
	*sum = *part;
	sum->max_overlap = fmax(sum->max_overlap, before.max_overlap);
	sum->list_built |= before.list_built;
	sum->sorted |= before.sorted;
	sum->ms_build += before.ms_build;
	sum->ms_detection += before.ms_detection;
	sum->ms_update += before.ms_update;
	sum->ms_obstacles += before.ms_obstacles;
}

/// A step of spheres that meet other parts of the scene, substep by substep.
static bool step_meeting(scene_run *run, sim_granular_step *step, sim_error *error)
{
	sim_granular_step part;
	for (int32_t i = 0; i < run->scene->spheres.substeps; i++) {
		const bool done = (!run->soft_meeting || scene_soft_meeting_push(run->soft_meeting, i, error)) &&
			(run->sphere_meeting ? scene_meeting_advance(run->sphere_meeting, i, &part, error)
								 : sim_granular_advance(run->granular, &part, error));
		if (!done)
			return false;
		if (i == 0)
			*step = part;
		else
			join_granular_substep(step, &part);
	}
	return true;
}

/// Steps of spheres that meet nothing else: a device does several in one submission.
static bool step_alone(scene_run *run, int32_t count, sim_granular_step *steps, sim_error *error)
{
	const int32_t substeps = run->scene->spheres.substeps;
	const int64_t all = (int64_t)count * substeps;
	sim_granular_step *parts = substeps > 1 ? malloc((size_t)all * sizeof *parts) : steps;
	if (!parts)
		return sim_fail(error, "out of memory");
	const bool done = sim_granular_advance_many(run->granular, all, parts, NULL, error);
	for (int64_t i = 0; done && substeps > 1 && i < all; i++) {
		if (i % substeps == 0)
			steps[i / substeps] = parts[i];
		else
			join_granular_substep(&steps[i / substeps], &parts[i]);
	}
	if (substeps > 1)
		free(parts);
	return done;
}

bool scene_run_step_spheres(scene_run *run, int32_t count, sim_granular_step *steps, sim_error *error)
{
	const bool meeting = run->soft_meeting || run->sphere_meeting;
	bool done = meeting || step_alone(run, count, steps, error);
	for (int32_t i = 0; meeting && done && i < count; i++)
		done = step_meeting(run, &steps[i], error);
	for (int32_t i = 0; i < count && done; i++)
		steps[i].step = run->steps + 1 + i;
	return done || sim_fail_in(error, "%s: ", run->scene->file);
}

// ---- The whole ----

bool scene_run_step_all(scene_run *run, scene_run_step *result, sim_error *error)
{
	scene_run_step step = { .bodies = { 0 } };
	if ((run->simulation && !scene_simulate_step(run->simulation, &step.bodies, error)) ||
		(run->soft && !scene_run_step_deforming(run, &step.deforming, error)) ||
		(run->granular && !scene_run_step_spheres(run, 1, &step.spheres, error)))
		return false;
	run->steps++;
	if (result)
		*result = step;
	return true;
}

bool scene_run_hash(const scene_run *run, uint64_t *hash, sim_error *error)
{
	uint64_t hashes[3];
	int count = 0;
	if (run->simulation)
		hashes[count++] = scene_summarise(run->simulation).hash;
	if (run->soft)
		hashes[count++] = sim_soft_hash(run->soft);
	if (run->granular) {
		sim_granular_frame frame;
		if (!sim_take_granular_frame(run->granular, &frame))
			return out_of_memory(run, error);
		hashes[count++] = sim_hash_granular_frame(&frame);
		sim_free_granular_frame(&frame);
	}
	*hash = SIM_HASH_START;
	for (int i = 0; i < count; i++)
		*hash = count == 1 ? hashes[0] : sim_hash_word(*hash, hashes[i]);
	return true;
}

void scene_run_end(scene_run *run)
{
	scene_destroy_sphere_meeting(run->sphere_meeting);
	scene_destroy_soft_meeting(run->soft_meeting);
	sim_destroy_granular(run->granular);
	sim_destroy_soft(run->soft);
	scene_destroy_simulation(run->simulation);
	free(run->obstacles);
	free(run->reactions);
	*run = (scene_run){ .scene = run->scene, .context = run->context, .steps = run->steps };
}
