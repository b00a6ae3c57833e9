/// @file scene.h
/// Scene files: the bodies of a simulation, its settings, and its look. docs/scenes.md describes
/// every field; this header is the same in C, checked and complete: grids and sources are unrolled
/// into bodies, defaults filled in. A scene has up to three sections, rigid bodies, deforming
/// bodies and spheres, with one clock and one gravity.
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "carom/carom.h"
#include "carom/lab.h"
#include "sim/base/keys.h"
#include "sim/base/sim_error.h"
#include "sim/base/sphere_cloud.h"
#include "sim/cloth/soft.h"
#include "sim/grains/granular.h"
#include "sim/rigid/dynamics.h"
#include "sim/shapes/form.h"
#include "sim/shapes/shapes.h"

/// Longest name of a mesh, body or scene, its end mark included.
#define SCENE_NAME_SIZE 64

typedef enum scene_mesh_kind { SCENE_MESH_SHAPE, SCENE_MESH_FILE, SCENE_MESH_HEIGHT_FIELD } scene_mesh_kind;

/// Where the triangles of a mesh come from.
typedef struct scene_mesh_source {
	char name[SCENE_NAME_SIZE];
	scene_mesh_kind kind;
	char *shape; ///< for sim_make_shape
	int32_t triangles;
	uint64_t seed;
	sim_mesh *kept; ///< the shape, once made by scene_keep_shapes; NULL: it is made when needed
	/// path; a relative one in a scene file counts from the folder of that file and is resolved
	/// already
	char *file;
	double scale[3]; ///< factors along x, y and z, used when fit is 0
	/// the largest uniform scale with which the mesh's box fits this box (metres); 0: use scale
	double fit[3];
	int32_t sides;         ///< carom_mesh_sides; -1: those of the file
	bool centre;           ///< move the middle of the mesh's box to the origin
	int32_t columns, rows; ///< of a height field
	float *heights;        ///< [columns*rows], metres
	double spacing[2];
	double thickness;
} scene_mesh_source;

/// The form of a body or of a part. Its mesh is a number in the scene's meshes.
typedef struct scene_shape {
	carom_shape_type type;
	int32_t mesh; ///< of a mesh or hull; -1 for the others
	double radius;
	double half_length;
	double half_extents[3];
	double rounding;
} scene_shape;

/// One of the shapes that a body consists of.
typedef struct scene_part {
	scene_shape shape;
	carom_pose pose; ///< in the body's frame
	double density;  ///< kg/m3; of a body with a mass only the ratios of its parts' densities count
} scene_part;

/// One body.
typedef struct scene_body {
	char name[SCENE_NAME_SIZE]; ///< "" when the scene names none
	scene_shape shape;          ///< of a body without parts
	/// in the scene's parts, of a body with parts; bodies of one grid or source share theirs
	int32_t first_part;
	int32_t part_count; ///< 0: the body has shape
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
	bool continuous;             ///< stopped at its earliest impact in a step
	double opacity;              ///< in pictures: 1: solid, 0: hidden
	int64_t first_step;          ///< the step in which it appears: 0 unless a source makes it
	int32_t order;               ///< among the bodies of sources: its place in the file
	int line;                    ///< in the scene file, for messages
	char where[SCENE_NAME_SIZE]; ///< the field that made it: "bodies[3]", "grids[0]", "sources[1]"
} scene_body;

/// From where last.png is taken.
typedef struct scene_camera {
	bool given; ///< else the picture frames all bodies
	carom_vec3 position;
	carom_vec3 target;
	carom_vec3 up;
	double field_of_view;  ///< degrees, vertical
	int32_t width, height; ///< pixels
} scene_camera;

// ---- Sections ----

/// A kinematic body that goes from key to key.
typedef struct scene_keyed_body {
	int32_t body;
	sim_keys keys;
	sim_key *list; ///< those of keys; the scene frees them
} scene_keyed_body;

/// The section "bodies": rigid bodies.
typedef struct scene_rigid {
	int32_t substeps;      ///< detections and solver runs in a step of the scene, at least
	int32_t max_substeps;  ///< and at most: as many as substep_travel asks for
	double substep_travel; ///< metres that a body's surface may move in one substep; INFINITY: any
	int32_t small_steps;   ///< of the solver in a step of the scene, at least
	sim_solver_settings solver;
	carom_world_def detection; ///< without filters; its lab is NULL
	carom_lab lab;             ///< to go with detection
	/// Of carom_world_set_body_pairs; 0: no limit.
	int32_t max_contacts_per_body_pair;
	carom_device *device; ///< where its rays are cast; NULL: the processor
	scene_part *parts;    ///< of all bodies
	int32_t part_count;
	scene_body *bodies; ///< first_step never falls from one to the next
	int32_t body_count;
	scene_keyed_body *keyed; ///< ascending
	int32_t keyed_count;
} scene_rigid;

/// Vertices that start in a box, and their holder.
typedef struct scene_soft_pin {
	double lower[3], upper[3];
	double until;       ///< seconds; INFINITY: for ever
	double break_force; ///< N, of all its vertices together; INFINITY: it bears all
	/// a mover, or an obstacle that cloth does not push; "": they stay where they are
	char to[SCENE_NAME_SIZE];
} scene_soft_pin;

/// Mesh files that are the forms of a mover one after the other.
typedef struct scene_animation {
	char *files; ///< path, resolved, with the number of a file as %d or %04d; NULL: none
	int32_t first, count;
	double per_second, start;
	bool loop;
} scene_animation;

/// A body, or a grid of equal ones.
typedef struct scene_soft_source {
	char name[SCENE_NAME_SIZE];
	bool rigid;         ///< a mover
	bool pushes_bodies; ///< of a mover: the rigid bodies of the section "bodies" meet it too
	int32_t mesh;       ///< in the scene's meshes; -1: form, or animation where that has files
	scene_animation animation;
	sim_form form;
	double scale[3];  ///< factors along x, y and z of a form
	double offset[3]; ///< added to its places then
	/// without places, triangles and pins; motion.start is the place of the first one
	sim_soft_body body;
	int32_t count[3]; ///< copies along x, y, z
	double spacing[3];
	double degrees, shift; ///< most of their random turns, and shifts along each axis
	uint64_t jitter_seed;
	scene_soft_pin *pins;
	int32_t pin_count;
	double *points; ///< those of the form
	sim_key *keys;  ///< those of body.motion
	int line;       ///< in the scene file, for messages
	int number;     ///< in its list
} scene_soft_source;

/// The section "deforming": cloth, soft bodies, and the movers that push them.
typedef struct scene_deforming {
	int32_t substeps; ///< steps of sim/cloth in a step of the scene
	/// all but the bodies themselves; its time_step is one of these substeps
	sim_soft_def def;
	double resolution;          ///< factor of the divisions of all forms
	scene_soft_source *sources; ///< in the order of the file: movers, then those that deform
	int32_t source_count;
	int32_t *obstacles; ///< numbers of the rigid bodies that push deforming bodies, ascending
	int32_t obstacle_count;
	bool two_way; ///< deforming bodies push dynamic obstacles back
} scene_deforming;

typedef enum scene_sphere_source_kind { SCENE_SPHERES_RANDOM, SCENE_SPHERES_FILE, SCENE_SPHERES_MESH } scene_sphere_source_kind;

/// Where copies of a source's spheres are put.
typedef enum scene_copies_kind { SCENE_COPIES_GRID, SCENE_COPIES_RANDOM } scene_copies_kind;

/// How radii of random spheres are drawn, between the least and the largest of the source.
typedef enum scene_sizes_kind {
	SCENE_SIZES_UNIFORM,
	SCENE_SIZES_NORMAL,
	SCENE_SIZES_LOGNORMAL,
	SCENE_SIZES_LIST,
} scene_sizes_kind;

enum { SCENE_MOST_SIZES = 32 };

typedef struct scene_grain_sizes {
	scene_sizes_kind kind;
	double middle;    ///< NORMAL: mean; LOGNORMAL: median
	double deviation; ///< NORMAL: m; LOGNORMAL: of the natural logarithm of the radius
	double low, high; ///< NORMAL, LOGNORMAL: how many deviations the cut-offs are from the middle
	int32_t count;    ///< LIST
	double radii[SCENE_MOST_SIZES], shares[SCENE_MOST_SIZES];
	bool by_mass; ///< LIST: shares are of the mass, else of the number
} scene_grain_sizes;

/// The faces of a box of spheres by their names, x first, the lower one before the upper one.
extern const char *const scene_face_words[];

/// Where spheres come from.
typedef struct scene_sphere_source {
	scene_sphere_source_kind kind;
	int64_t count; ///< RANDOM; MESH: 0: as many as have room
	/// least and largest (RANDOM); of the larger spheres, 0: as large as fits (MESH); where the
	/// file
	double radius[2];
	///< has none, below 0: that is an error (FILE)
	scene_grain_sizes sizes;   ///< RANDOM: radii, from radius[0] to radius[1]
	double lower[3], upper[3]; ///< RANDOM: where
	bool apart;                ///< RANDOM: no two of the source touch
	uint64_t seed;             ///< RANDOM, MESH
	char *file;                ///< FILE: path, resolved
	double scale;              ///< FILE: factor of centres and radii
	int32_t mesh;              ///< MESH: number in the scene's meshes
	bool mix;                  ///< MESH: half of the spheres have half the radius
	double jitter;             ///< MESH
	double position[3];        ///< of the origin of the first copy
	scene_copies_kind copies_kind;
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
	int number; ///< in the list of the section
} scene_sphere_source;

/// The section "spheres".
typedef struct scene_spheres {
	int32_t substeps; ///< steps of sim/grains in a step of the scene
	/// all but the spheres themselves; its time_step is one of these substeps
	sim_granular_def def;
	scene_sphere_source *sources;
	int32_t source_count;
	int32_t *obstacles; ///< numbers of the rigid bodies that spheres meet, ascending
	int32_t obstacle_count;
	bool two_way;   ///< spheres push dynamic obstacles back
	bool deforming; ///< spheres and deforming bodies push each other
} scene_spheres;

// ---- The whole ----

/// The output of a run, counted in steps of the scene.
typedef struct scene_output {
	bool contacts;      ///< of rigid bodies: in the recording too
	int64_t frames;     ///< between two files of deforming bodies; 0: none
	bool frames_as_obj; ///< else PLY
	/// between two of the spheres; 0: none; below 0: not said (scene_snapshot_steps)
	int64_t snapshots;
	int64_t checkpoints; ///< between two; 0: at the end only, of scenes of spheres alone
	int64_t energy;      ///< between measurements of the spheres' kinetic energy
	int64_t forces;      ///< between rows of the forces of spheres on walls and obstacles; 0: none
} scene_output;

/// The settings of last.png.
typedef struct scene_picture {
	sim_sphere_color color;
	bool color_copies; ///< with SIM_COLOR_ID: a colour for each copy, not for each sphere
	/// of spheres: the edges of their box; of spheres and deforming bodies: a ground below all
	bool box, ground;
} scene_picture;

typedef struct scene_description {
	char *file; ///< name for messages
	char *text; ///< the file's text; goes into recordings
	size_t text_size;
	char name[SCENE_NAME_SIZE];
	carom_vec3 gravity;     ///< at the start
	double gravity_axis[3]; ///< gravity turns about this axis ...
	double gravity_rate;    ///< ... by so many rad/s; not 0 only where there is nothing but spheres
	double time_step;       ///< seconds
	int64_t steps;
	scene_mesh_source *meshes;
	int32_t mesh_count;
	/// which sections there are; the others hold defaults
	bool has_bodies, has_deforming, has_spheres;
	scene_rigid rigid;
	scene_deforming deforming;
	scene_spheres spheres;
	scene_output output;
	scene_picture picture;
	scene_camera camera;
} scene_description;

/// Read a scene file. False, with "FILE:LINE: field "…": …" in error, when it is not a valid scene;
/// *scene is empty then. Mesh files are not opened here. Give the scene back with
/// scene_destroy.
bool scene_load(const char *path, scene_description *scene, sim_error *error);

/// Read a scene from text (size bytes); file is the name for messages, and relative mesh files
/// count from its folder.
bool scene_parse(const char *file, const char *text, size_t size, scene_description *scene, sim_error *error);

/// Read the scene that a recording holds. One of a version before the sections gives its camera and
/// its detection, and nothing else: a playback needs no more. False as for scene_parse.
bool scene_parse_recorded(const char *file, const char *text, size_t size, scene_description *scene, sim_error *error);

/// Free everything that a scene holds and make it empty. An empty (all zero) scene is fine.
void scene_destroy(scene_description *scene);

/// Make the one random source of spheres as large as count. False, with the reason in error, when
/// there is none, or more than one, or count is not within 1..CAROM_MAX_SPHERES.
bool scene_set_sphere_count(scene_description *scene, int64_t count, sim_error *error);

/// Take a mesh from a file instead: assignment is "NAME=FILE" (as given on a command line, relative
/// to the working folder). Fit, scale and centring of the scene stay. False when there is no mesh
/// of that name, or no '='.
bool scene_replace_mesh(scene_description *scene, const char *assignment, sim_error *error);

/// Make all shapes that are generated now, for programs that need the meshes again and again: later
/// scene_build_mesh copies them. False, with the reason in error, when one cannot be made; those
/// before it are kept.
bool scene_keep_shapes(scene_description *scene, sim_error *error);

/// Make the triangles of a mesh: generated or read, centred, scaled. Free with scene_free_mesh
/// (sim/shapes/shapes.h). Not for height fields.
bool scene_build_mesh(const scene_description *scene, int32_t index, sim_mesh *mesh, sim_error *error);

/// Steps between two snapshots of spheres [sphere_count]; 0: none. Where the scene does not say, a
/// run of several sections leaves about a hundred, so that pictures of its files show the spheres;
/// more than 100,000 spheres have the first and the last alone. A run of spheres alone leaves none.
int64_t scene_snapshot_steps(const scene_description *scene, int64_t sphere_count);

/// How many shapes a body has: its parts, or the one that it is.
static inline int32_t scene_shape_count(const scene_body *body) { return body->part_count > 0 ? body->part_count : 1; }

/// Shape number k of a body of the scene, below their count.
static inline const scene_shape *scene_shape_of(const scene_description *scene, const scene_body *body, int32_t k)
{
	return body->part_count > 0 ? &scene->rigid.parts[body->first_part + k].shape : &body->shape;
}

#endif
