/// Functions that the readers of a scene's parts share. Only the readers of scenes (scene/scene*.c)
/// include this.
///
/// Every reader goes on after an error: the JSON reader keeps the first one and turns the later
/// reads into nothing, so the result is looked at once, in sim_parse_scene.
#ifndef SIM_SCENE_PARTS_H
#define SIM_SCENE_PARTS_H

#include "io/json_reader.h"
#include "scene/scene.h"

/// Metres: positions are double, and a float of the relative pose still resolves 64 m there.
#define SIM_FARTHEST 1e9
#define SIM_MOST_BODIES 1000000
#define SIM_MOST_PARTS 10000 ///< of one body

// ---- Fields ----

/// Each component within -most..most.
void sim_read_vec3(const sim_json_node *object, const char *name, double most, carom_vec3 *value);
void sim_read_int32(const sim_json_node *object, const char *name, int32_t low, int32_t high, int32_t *value);
/// "orientation", a unit quaternion, or "rotation", an axis and degrees.
void sim_read_orientation(const sim_json_node *object, carom_quat *orientation);
/// At most SIM_NAME_SIZE - 1 bytes.
void sim_read_name(const sim_json_node *object, const char *name, char value[SIM_NAME_SIZE]);
/// Refuse two fields that say the same in different ways.
void sim_forbid_both(const sim_json_node *object, const char *a, const char *b);
/// A path in a scene file: a relative one counts from the folder of that file. NULL when memory is
/// short; free() it.
char *sim_resolve_path(const char *scene_file, const char *path);
/// A new zeroed element at the end of an array whose room doubles when it is full. NULL with an
/// error when memory is short.
void *sim_append(const sim_json_node *node, void **array, int32_t *count, size_t size);

/// The number of the mesh that a node of text names; -1 after an error.
int32_t sim_find_mesh(const sim_json_node *node, const sim_scene *scene);

// ---- Bodies that are made many at a time ----

/// The fields of a body, for lists of known names. "position" of a grid is that of its first body,
/// of a source that of its middle.
#define SIM_BODY_FIELDS                                                                                                        \
	"name", "shape", "parts", "mesh", "radius", "half_length", "half_extents", "rounding", "kind", "position", "orientation",  \
		"rotation", "velocity", "angular_velocity", "density", "mass", "friction", "restitution", "category", "mask", "group", \
		"continuous"

enum { SIM_MOST_MESHES_IN_TURN = 64 };

/// What the bodies of a grid or a source differ in besides their place.
typedef struct sim_variation {
	double degrees;                          ///< most of the random rotations
	double shift;                            ///< most metres of the random shifts along each axis
	uint64_t state;                          ///< of the random numbers
	int32_t meshes[SIM_MOST_MESHES_IN_TURN]; ///< taken in turn
	int mesh_count;
} sim_variation;

/// All fields of a body, with "mesh" a name or a list of names, and "jitter". Checked for each
/// mesh. Its parts join those of the scene.
void sim_read_varied_body(const sim_json_node *node, sim_scene *scene, sim_scene_body *body, sim_variation *variation);
/// Add body number i of a grid or source: body with its rotation, mesh, and place: offset and a
/// random shift from that of body. They must be added in order from 0.
void sim_add_varied_body(const sim_json_node *node, sim_scene *scene, const sim_scene_body *body, sim_variation *variation,
	int64_t i, carom_vec3 offset);
/// Refuse a "count" that makes more bodies than a scene may have. True when all is well so far.
bool sim_check_body_count(const sim_json_node *node, const sim_scene *scene, int64_t more);

// ---- Parts ----

/// The camera of a scene whose file names none.
sim_scene_camera sim_default_scene_camera(void);
void sim_read_camera(const sim_json_node *root, sim_scene_camera *camera);
void sim_read_detection(const sim_json_node *section, carom_world_def *detection, carom_lab *lab);
/// That of a recording from before the sections, whose "detection" held the fields of the lab too.
void sim_read_recorded_detection(const sim_json_node *root, carom_world_def *detection, carom_lab *lab);
void sim_read_meshes(const sim_json_node *root, sim_scene *scene);
void sim_read_planes(const sim_json_node *section, sim_scene *scene);
void sim_read_bodies(const sim_json_node *section, sim_scene *scene);
void sim_read_grids(const sim_json_node *section, sim_scene *scene);
/// After all other bodies: those of sources are sorted by the step in which they appear.
void sim_read_sources(const sim_json_node *section, sim_scene *scene);

// ---- Obstacles ----

/// The reason why a body cannot be an obstacle of a section, as the end of a sentence; NULL: it
/// can.
typedef const char *sim_obstacle_fault_fn(const sim_scene *scene, const sim_scene_body *body);

/// The members of a section that "obstacles" and "two_way" fill.
typedef struct sim_obstacle_list {
	int32_t **numbers; ///< ascending
	int32_t *count;
	bool *two_way;
} sim_obstacle_list;

/// Read "obstacles", names of rigid bodies (all that have it), and "two_way".
void sim_read_obstacles(const sim_json_node *section, sim_scene *scene, sim_obstacle_fault_fn *fault_of, sim_obstacle_list list);

// ---- Sections ----

void sim_set_rigid_defaults(sim_scene_rigid *rigid);
void sim_set_deforming_defaults(sim_scene_deforming *deforming);
void sim_set_spheres_defaults(sim_scene_spheres *spheres);
/// Read a section, after the gravity, the time step and the meshes of the scene.
void sim_read_rigid_section(const sim_json_node *section, sim_scene *scene);
void sim_read_deforming_section(const sim_json_node *section, sim_scene *scene);
void sim_read_sphere_section(const sim_json_node *section, sim_scene *scene);

#endif
