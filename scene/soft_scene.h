/// @file soft_scene.h
/// Scene files of cloth and soft bodies: what is simulated by sim/cloth/soft.h, how, and what it looks like. docs/scenes.md ("Scenes of
/// cloth") describes every field; this header is the same in C, checked and complete.
#ifndef SIM_SOFT_SCENE_H
#define SIM_SOFT_SCENE_H

#include "sim/base/sim_error.h"
#include "sim/shapes/form.h"
#include "scene/scene.h"
#include "sim/cloth/soft.h"

/// Vertices that start in a box, and what holds them.
typedef struct sim_soft_pin {
	double lower[3], upper[3];
	char to[SIM_NAME_SIZE]; ///< a rigid body, or "": they stay where they are
} sim_soft_pin;

/// A body, or a grid of equal ones.
typedef struct sim_soft_source {
	char name[SIM_NAME_SIZE];
	bool rigid;
	int32_t mesh; ///< in base.meshes; -1: form
	sim_form form;
	double scale[3];    ///< factors along x, y and z of a form
	double offset[3];   ///< added to its places then
	sim_soft_body body; ///< without places, triangles and pins; motion.start is the place of the first one
	int32_t count[3];   ///< copies along x, y, z
	double spacing[3];
	double degrees, shift; ///< most of their random turns, and shifts along each axis
	uint64_t jitter_seed;
	sim_soft_pin *pins;
	int32_t pin_count;
	int line; ///< in the scene file, for messages
	int number;
} sim_soft_source;

/// A scene of cloth.
typedef struct sim_soft_scene {
	sim_scene base;           ///< file, text, name, steps, meshes and camera; the rest is not used
	sim_soft_def def;         ///< all but the bodies themselves
	double resolution;        ///< factor of the divisions of all forms
	sim_soft_source *sources; ///< in the order of the file: rigid bodies, then those that deform
	int32_t source_count;
	int64_t frame_interval; ///< steps between two frames in files; 0: none
	bool frames_as_obj;     ///< else PLY
	bool ground;            ///< the picture has a ground below all
} sim_soft_scene;

/// Does the text of a scene file describe cloth ("cloth", or "rigid", at its top level)? False too when it is no JSON.
bool sim_is_soft_scene(const char *text, size_t size);

/// Read a scene from text (size bytes); file is the name for messages, and relative files count from its folder. False, with
/// "FILE:LINE: field "…": …" in error, when it is not a valid scene; *scene is empty then. No other file is opened here. Give the
/// scene back with sim_destroy_soft_scene.
bool sim_parse_soft_scene(const char *file, const char *text, size_t size, sim_soft_scene *scene, sim_error *error);

/// Free everything that a scene holds and make it empty. An empty (all zero) scene is fine.
void sim_destroy_soft_scene(sim_soft_scene *scene);

/// Make the bodies of a scene and the simulation of them. NULL with the reason in error.
sim_soft *sim_start_soft_scene(carom_context *context, const sim_soft_scene *scene, sim_error *error);

#endif
