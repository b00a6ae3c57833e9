/// Functions that the readers of a scene's parts share. Only the readers of scenes (scene/scene*.c)
/// include this.
///
/// Every reader goes on after an error: the JSON reader keeps the first one and turns the later
/// reads into nothing, so the result is looked at once, in scene_parse.
#ifndef SCENE_SCENE_PARTS_H
#define SCENE_SCENE_PARTS_H

#include "io/json_reader.h"
#include "scene/scene.h"

/// Metres: positions are double, and a float of the relative pose still resolves 64 m there.
#define SCENE_FARTHEST 1e9
#define SCENE_MOST_BODIES 1000000
#define SCENE_MOST_PARTS 10000 ///< of one body

// ---- Fields ----

/// Each component within -most..most.
void scene_read_vec3(const io_json_node *object, const char *name, double most, carom_vec3 *value);
void scene_read_int32(const io_json_node *object, const char *name, int32_t low, int32_t high, int32_t *value);
/// "orientation", a unit quaternion, or "rotation", an axis and degrees.
void scene_read_orientation(const io_json_node *object, carom_quat *orientation);
/// "keys" of a body, in place of its pose and its motion. The result is the list of the keys, for
/// the caller to free; NULL where the body has none.
sim_key *scene_read_keys(const io_json_node *body, sim_keys *keys);
/// "animation" of a mover.
void scene_read_animation(const io_json_node *body, const scene_description *scene, scene_animation *animation);
/// At most SCENE_NAME_SIZE - 1 bytes.
void scene_read_name(const io_json_node *object, const char *name, char value[SCENE_NAME_SIZE]);
/// Refuse two fields that say the same in different ways.
void scene_forbid_both(const io_json_node *object, const char *a, const char *b);
/// A path in a scene file: a relative one counts from the folder of that file. NULL when memory is
/// short; free() it.
char *scene_resolve_path(const char *scene_file, const char *path);
/// A new zeroed element at the end of an array whose room doubles when it is full. NULL with an
/// error when memory is short.
void *scene_append(const io_json_node *node, void **array, int32_t *count, size_t size);

/// The number of the mesh that a node of text names; -1 after an error.
int32_t scene_find_mesh(const io_json_node *node, const scene_description *scene);

// ---- Bodies that are made many at a time ----

/// The fields of a body, for lists of known names. "position" of a grid is that of its first body,
/// of a source that of its middle.
#define SCENE_BODY_FIELDS                                                                                                      \
	"name", "shape", "parts", "mesh", "radius", "half_length", "half_extents", "rounding", "kind", "position", "orientation",  \
		"rotation", "velocity", "angular_velocity", "density", "mass", "friction", "restitution", "category", "mask", "group", \
		"continuous", "opacity"

enum { SCENE_MOST_MESHES_IN_TURN = 64 };

/// What the bodies of a grid or a source differ in besides their place.
typedef struct scene_variation {
	double degrees;                            ///< most of the random rotations
	double shift;                              ///< most metres of the random shifts along each axis
	uint64_t state;                            ///< of the random numbers
	int32_t meshes[SCENE_MOST_MESHES_IN_TURN]; ///< taken in turn
	int mesh_count;
} scene_variation;

/// All fields of a body, with "mesh" a name or a list of names, and "jitter". Checked for each
/// mesh. Its parts join those of the scene.
void scene_read_varied_body(const io_json_node *node, scene_description *scene, scene_body *body, scene_variation *variation);
/// Add body number i of a grid or source: body with its rotation, mesh, and place: offset and a
/// random shift from that of body. They must be added in order from 0.
void scene_add_varied_body(const io_json_node *node, scene_description *scene, const scene_body *body,
	scene_variation *variation, int64_t i, carom_vec3 offset);
/// Refuse a "count" that makes more bodies than a scene may have. True when all is well so far.
bool scene_check_body_count(const io_json_node *node, const scene_description *scene, int64_t more);

// ---- Parts ----

/// The camera of a scene whose file names none.
scene_camera scene_default_scene_camera(void);
void scene_read_camera(const io_json_node *root, scene_camera *camera);
/// "detection" of a section: detection, lab and max_contacts_per_body_pair.
void scene_read_detection(const io_json_node *section, scene_rigid *rigid);
/// That of a recording from before the sections, whose "detection" held the fields of the lab too.
void scene_read_recorded_detection(const io_json_node *root, carom_world_def *detection, carom_lab *lab);
void scene_read_meshes(const io_json_node *root, scene_description *scene);
/// Give back what scene_keep_shapes has made.
void scene_forget_shape(scene_mesh_source *source);
void scene_read_planes(const io_json_node *section, scene_description *scene);
void scene_read_bodies(const io_json_node *section, scene_description *scene);
void scene_read_grids(const io_json_node *section, scene_description *scene);
/// After all other bodies: those of sources are sorted by the step in which they appear.
void scene_read_sources(const io_json_node *section, scene_description *scene);

// ---- Obstacles ----

/// The reason why a body cannot be an obstacle of a section, as the end of a sentence; NULL: it
/// can.
typedef const char *scene_obstacle_fault_fn(const scene_description *scene, const scene_body *body);

/// The members of a section that "obstacles" and "two_way" fill.
typedef struct scene_obstacle_list {
	int32_t **numbers; ///< ascending
	int32_t *count;
	bool *two_way;
} scene_obstacle_list;

/// Read "obstacles", names of rigid bodies (all that have it) or "all", and "two_way".
void scene_read_obstacles(
	const io_json_node *section, scene_description *scene, scene_obstacle_fault_fn *fault_of, scene_obstacle_list list);

// ---- Sections ----

void scene_set_rigid_defaults(scene_rigid *rigid);
void scene_set_deforming_defaults(scene_deforming *deforming);
void scene_set_spheres_defaults(scene_spheres *spheres);
/// Read a section, after the gravity, the time step and the meshes of the scene.
void scene_read_rigid_section(const io_json_node *section, scene_description *scene);
void scene_read_deforming_section(const io_json_node *section, scene_description *scene);
void scene_read_sphere_section(const io_json_node *section, scene_description *scene);

#endif
