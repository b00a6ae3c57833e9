/// @file granular_scene.h
/// Scene files of spheres: what is simulated by sim/grains/granular.h, how, and what it looks like. docs/scenes.md ("Scenes of spheres")
/// describes every field; this header is the same in C, checked and complete. scene/granular_fill.h makes the spheres.
#ifndef SIM_GRANULAR_SCENE_H
#define SIM_GRANULAR_SCENE_H

#include "sim/base/sim_error.h"
#include "sim/grains/granular.h"
#include "scene/scene.h"
#include "sim/base/sphere_cloud.h"

typedef enum sim_sphere_source_kind { SIM_SPHERES_RANDOM, SIM_SPHERES_FILE, SIM_SPHERES_MESH } sim_sphere_source_kind;

/// Where copies of a source's spheres are put.
typedef enum sim_copies_kind { SIM_COPIES_GRID, SIM_COPIES_RANDOM } sim_copies_kind;

/// Where spheres come from.
typedef struct sim_sphere_source {
	sim_sphere_source_kind kind;
	int64_t count;    ///< RANDOM; MESH: 0: as many as have room
	double radius[2]; ///< least and largest (RANDOM); of the larger spheres, 0: as large as fits (MESH); where the file
					  ///< has none, below 0: that is an error (FILE)
	double lower[3], upper[3]; ///< RANDOM: where
	bool apart;                ///< RANDOM: no two of the source touch
	uint64_t seed;             ///< RANDOM, MESH
	char *file;                ///< FILE: path, resolved
	double scale;              ///< FILE: factor of centres and radii
	int32_t mesh;              ///< MESH: number in base.meshes
	bool mix;                  ///< MESH: half of the spheres have half the radius
	double jitter;             ///< MESH
	double position[3];        ///< of the origin of the first copy
	sim_copies_kind copies_kind;
	int32_t copies;         ///< 1 or more
	int32_t grid[3];        ///< GRID: copies along x, y, z, filled in that order
	double spacing[3];      ///< GRID
	double copies_lower[3]; ///< RANDOM: every copy, turned as it is, lies in this box
	double copies_upper[3];
	double degrees; ///< copies are turned at random by at most this
	uint64_t copies_seed;
	double velocity[3];         ///< of each sphere ...
	double velocity_spread[3];  ///< ... and at random up to so much more or less
	double angular_velocity[3]; ///< rad/s
	uint64_t velocity_seed;
	int line;   ///< in the scene file, for messages
	int number; ///< in "spheres"
} sim_sphere_source;

/// A scene of spheres.
typedef struct sim_granular_scene {
	sim_scene base;       ///< file, text, name, time_step, steps, meshes and camera; the rest is not used
	sim_granular_def def; ///< all but the spheres themselves
	sim_sphere_source *sources;
	int32_t source_count;
	int64_t snapshot_interval;   ///< steps between snapshots; 0: none
	int64_t checkpoint_interval; ///< steps between checkpoints; 0: at the end only
	int64_t energy_interval;     ///< steps between measurements of the kinetic energy
	sim_sphere_color color;
	bool color_copies; ///< with SIM_COLOR_ID: a colour for each copy, not for each sphere
	bool draw_box, draw_ground;
} sim_granular_scene;

/// Does the text of a scene file describe spheres ("spheres" at its top level), and not bodies? False too when it is no JSON.
bool sim_is_granular_scene(const char *text, size_t size);

/// Read a scene from text (size bytes); file is the name for messages, and relative files count from its folder. False, with
/// "FILE:LINE: field "…": …" in error, when it is not a valid scene; *scene is empty then. No other file is opened here. Give the
/// scene back with sim_destroy_granular_scene.
bool sim_parse_granular_scene(const char *file, const char *text, size_t size, sim_granular_scene *scene, sim_error *error);

/// Free everything that a scene holds and make it empty. An empty (all zero) scene is fine.
void sim_destroy_granular_scene(sim_granular_scene *scene);

/// Make the one random source of a scene as large as count. False, with the reason in error, when there is none, or more than
/// one, or count is not within 1..CAROM_MAX_SPHERES.
bool sim_granular_scene_set_count(sim_granular_scene *scene, int64_t count, sim_error *error);

#endif
