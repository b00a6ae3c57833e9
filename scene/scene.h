/// @file scene.h
/// Scene files: what is simulated, how, and what it looks like. docs/scenes.md describes every field; this header is the same
/// in C, checked and complete: grids and sources are unrolled into bodies, defaults filled in.
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include "carom/carom.h"
#include "sim/base/sim_error.h"
#include "sim/rigid/dynamics.h"
#include "sim/shapes/shapes.h"

/// Longest name of a mesh, body or scene, its end mark included.
#define SIM_NAME_SIZE 64

typedef enum sim_mesh_kind { SIM_MESH_SHAPE, SIM_MESH_FILE, SIM_MESH_HEIGHT_FIELD } sim_mesh_kind;

/// Where the triangles of a mesh come from.
typedef struct sim_mesh_source {
	char name[SIM_NAME_SIZE];
	sim_mesh_kind kind;
	char *shape; ///< for sim_make_shape
	int32_t triangles;
	uint64_t seed;
	char *file;            ///< path; a relative one in a scene file counts from the folder of that file and is resolved already
	double scale[3];       ///< factors along x, y and z, used when fit is 0
	double fit[3];         ///< the largest uniform scale with which the mesh's box fits this box (metres); 0: use scale
	bool centre;           ///< move the middle of the mesh's box to the origin
	int32_t columns, rows; ///< of a height field
	float *heights;        ///< [columns*rows], metres
	double spacing[2];
	double thickness;
} sim_mesh_source;

/// The form of a body or of a part. Its mesh is a number in the scene's meshes.
typedef struct sim_scene_shape {
	carom_shape_type type;
	int32_t mesh; ///< of a mesh or hull; -1 for the others
	double radius;
	double half_length;
	double half_extents[3];
	double rounding;
} sim_scene_shape;

/// One of the shapes that a body consists of.
typedef struct sim_scene_part {
	sim_scene_shape shape;
	carom_pose pose; ///< in the body's frame
	double density;  ///< kg/m3; of a body with a mass only the ratios of its parts' densities count
} sim_scene_part;

/// One body.
typedef struct sim_scene_body {
	char name[SIM_NAME_SIZE]; ///< "" when the scene names none
	sim_scene_shape shape;    ///< of a body without parts
	int32_t first_part;       ///< in the scene's parts, of a body with parts; bodies of one grid or source share theirs
	int32_t part_count;       ///< 0: the body has shape
	carom_body_kind kind;
	carom_pose pose;             ///< of the body's frame (a mesh's origin, not its centre of mass)
	carom_vec3 velocity;         ///< of the centre of mass, m/s
	carom_vec3 angular_velocity; ///< rad/s, world frame
	double density;              ///< kg/m3, used when mass is 0
	double mass;                 ///< kg
	double friction;
	double restitution;
	uint64_t category;
	uint64_t mask;
	int32_t group;
	bool continuous;           ///< stopped at its earliest impact in a step
	int64_t first_step;        ///< the step in which it appears: 0 unless a source makes it
	int32_t order;             ///< among the bodies of sources: its place in the file
	int line;                  ///< in the scene file, for messages
	char where[SIM_NAME_SIZE]; ///< the field that made it: "bodies[3]", "grids[0]", "sources[1]"
} sim_scene_body;

/// From where last.png is taken.
typedef struct sim_scene_camera {
	bool given; ///< else the picture frames all bodies
	carom_vec3 position;
	carom_vec3 target;
	carom_vec3 up;
	double field_of_view;  ///< degrees, vertical
	int32_t width, height; ///< pixels
} sim_scene_camera;

typedef struct sim_scene {
	char *file; ///< name for messages
	char *text; ///< the file's text; goes into recordings
	size_t text_size;
	char name[SIM_NAME_SIZE];
	carom_vec3 gravity;
	double time_step; ///< seconds
	int64_t steps;
	int32_t substeps;      ///< detections and solver runs in a step, at least
	int32_t max_substeps;  ///< and at most: as many as substep_travel asks for
	double substep_travel; ///< metres that a body's surface may move in one substep; INFINITY: any
	sim_solver_settings solver;
	carom_world_def detection; ///< without filters and plug-in
	sim_mesh_source *meshes;
	int32_t mesh_count;
	sim_scene_part *parts; ///< of all bodies
	int32_t part_count;
	sim_scene_body *bodies; ///< first_step never falls from one to the next
	int32_t body_count;
	sim_scene_camera camera;
	bool record_contacts;
} sim_scene;

/// Read a scene file. False, with "FILE:LINE: field "…": …" in error, when it is not a valid scene; *scene is empty then.
/// Mesh files are not opened here. Give the scene back with sim_destroy_scene.
bool sim_load_scene(const char *path, sim_scene *scene, sim_error *error);

/// Read a scene from text (size bytes); file is the name for messages, and relative mesh files count from its folder.
bool sim_parse_scene(const char *file, const char *text, size_t size, sim_scene *scene, sim_error *error);

/// Free everything that a scene holds and make it empty. An empty (all zero) scene is fine.
void sim_destroy_scene(sim_scene *scene);

/// Take a mesh from a file instead: assignment is "NAME=FILE" (as given on a command line, relative to the working folder).
/// Fit, scale and centring of the scene stay. False when there is no mesh of that name, or no '='.
bool sim_scene_replace_mesh(sim_scene *scene, const char *assignment, sim_error *error);

/// Make the triangles of a mesh: generated or read, centred, scaled. Free with sim_free_mesh (sim/shapes/shapes.h). Not for height
/// fields.
bool sim_scene_build_mesh(const sim_scene *scene, int32_t index, sim_mesh *mesh, sim_error *error);

/// How many shapes a body has: its parts, or the one that it is.
static inline int32_t sim_scene_shape_count(const sim_scene_body *body) { return body->part_count > 0 ? body->part_count : 1; }

/// Shape number k of a body of the scene, below their count.
static inline const sim_scene_shape *sim_scene_shape_of(const sim_scene *scene, const sim_scene_body *body, int32_t k)
{
	return body->part_count > 0 ? &scene->parts[body->first_part + k].shape : &body->shape;
}

#endif
