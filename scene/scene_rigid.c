// The section "bodies" of a scene file: rigid bodies, how contacts are found and how they are
// answered.
#include "scene/scene_parts.h"

#include <math.h>

// ---- Settings ----

static sim_solver_settings default_solver(void)
{
	return (sim_solver_settings){
		.iterations = 50,
		.over_relaxation = 1,
		.error_reduction = 0.2,
		.softness = 1e-6,
		.slop = 0.001,
		.max_correcting_speed = 2,
		.friction = 0.5,
		.restitution = 0,
		.restitution_speed = 0.5,
		.linear_damping = 0,
		.angular_damping = 0.05,
		.max_angular_speed = INFINITY,
		.sleep_linear_speed = 0.05,
		.sleep_angular_speed = 0.1,
		.sleep_time = 0.5,
	};
}

static void read_spring(const io_json_node *node, sim_solver_settings *solver)
{
	if (!io_json_has(node, "stiffness") && !io_json_has(node, "damping"))
		return;
	scene_forbid_both(node, "stiffness", "error_reduction");
	scene_forbid_both(node, "stiffness", "softness");
	if (!io_json_has(node, "stiffness") || !io_json_has(node, "damping")) {
		io_json_error(node, "\"stiffness\" and \"damping\" must be given together");
		return;
	}
	io_json_number(node, "stiffness", 1e-3, 1e15, &solver->stiffness);
	io_json_number(node, "damping", 0, 1e15, &solver->damping);
}

static void read_sleep(const io_json_node *solver_node, sim_solver_settings *solver)
{
	io_json_node node;
	static const char *const fields[] = { "linear_speed", "angular_speed", "time", NULL };
	if (!io_json_member(solver_node, "sleep", &node) || !io_json_fields(&node, fields))
		return;
	solver->sleep = true;
	io_json_number(&node, "linear_speed", 0, 1e6, &solver->sleep_linear_speed);
	io_json_number(&node, "angular_speed", 0, 1e6, &solver->sleep_angular_speed);
	io_json_number(&node, "time", 0, 1e6, &solver->sleep_time);
}

static void read_solver(const io_json_node *section, scene_rigid *rigid)
{
	static const char *const fields[] = { "iterations", "small_steps", "over_relaxation", "error_reduction", "softness",
		"stiffness", "damping", "slop", "max_correcting_speed", "friction", "restitution", "restitution_speed",
		"linear_damping", "angular_damping", "max_angular_speed", "sleep", NULL };
	io_json_node node;
	sim_solver_settings *solver = &rigid->solver;
	if (!io_json_member(section, "solver", &node) || !io_json_fields(&node, fields))
		return;
	scene_read_int32(&node, "small_steps", 1, 1000, &rigid->small_steps);
	scene_read_int32(&node, "iterations", 1, 100000, &solver->iterations);
	io_json_number(&node, "over_relaxation", 0.1, 1.9, &solver->over_relaxation);
	io_json_number(&node, "error_reduction", 0, 1, &solver->error_reduction);
	io_json_number(&node, "softness", 0, 1e6, &solver->softness);
	read_spring(&node, solver);
	io_json_number(&node, "slop", 0, 1e6, &solver->slop);
	io_json_positive(&node, "max_correcting_speed", &solver->max_correcting_speed);
	io_json_number(&node, "friction", 0, 1e6, &solver->friction);
	io_json_number(&node, "restitution", 0, 1, &solver->restitution);
	io_json_number(&node, "restitution_speed", 0, 1e6, &solver->restitution_speed);
	io_json_number(&node, "linear_damping", 0, 1e6, &solver->linear_damping);
	io_json_number(&node, "angular_damping", 0, 1e6, &solver->angular_damping);
	io_json_positive(&node, "max_angular_speed", &solver->max_angular_speed);
	read_sleep(&node, solver);
}

static void read_substeps(const io_json_node *section, scene_rigid *rigid)
{
	scene_read_int32(section, "substeps", 1, 1000, &rigid->substeps);
	rigid->max_substeps = rigid->substeps;
	if (io_json_has(section, "max_substeps") != io_json_has(section, "substep_travel")) {
		io_json_error(section, "\"max_substeps\" and \"substep_travel\" must be given together");
		return;
	}
	scene_read_int32(section, "max_substeps", rigid->substeps, 1000, &rigid->max_substeps);
	io_json_positive(section, "substep_travel", &rigid->substep_travel);
}

// ---- The section ----

void scene_set_rigid_defaults(scene_rigid *rigid)
{
	rigid->substeps = rigid->max_substeps = 1;
	rigid->substep_travel = INFINITY;
	rigid->solver = default_solver();
	rigid->small_steps = 4;
	rigid->lab = carom_default_lab();
	rigid->detection = carom_default_world_def();
	rigid->detection.max_contacts_per_pair = 8;
	// Without it a ray that grazes a large body (ground, say) runs on far inside it: a deep contact
	// in a useless direction.
	rigid->lab.exit_distance_test = true;
}

void scene_read_rigid_section(const io_json_node *section, scene_description *scene)
{
	static const char *const fields[] = { "substeps", "max_substeps", "substep_travel", "solver", "detection", "planes", "list",
		"grids", "sources", NULL };
	if (!io_json_fields(section, fields))
		return;
	read_substeps(section, &scene->rigid);
	read_solver(section, &scene->rigid);
	scene_read_detection(section, &scene->rigid);
	scene_read_planes(section, scene);
	scene_read_bodies(section, scene);
	scene_read_grids(section, scene);
	scene_read_sources(section, scene);
	if (!section->json->failed && scene->rigid.body_count == 0)
		io_json_error(section, "holds no bodies: \"list\", \"grids\", \"sources\" or \"planes\" must hold some");
}
