/// The world behind carom_world: bodies, the pipeline, and the results of the last step.
#ifndef CR_WORLD_WORLD_H
#define CR_WORLD_WORLD_H

#include "carom/record.h"
#include "carom/snapshot.h"
#include "frame/laboratory.h"
#include "frame/shape_check.h"
#include "contact/merge.h"
#include "contact/contact.h"
#include "world/box_mesh.h"
#include "world/compound.h"
#include "world/continuous.h"
#include "world/courses.h"
#include "world/deforming.h"
#include "world/impacts.h"
#include "world/record.h"
#include "world/shape_impacts.h"
#include "world/sleep.h"
#include "world/solids.h"
#include "world/sphere_bodies.h"
#include "world/sphere_contacts.h"
#include "world/meeting_spheres.h"
#include "world/sphere_impacts.h"
#include "world/surface_contacts.h"
#include "world/box_index.h"

enum { CR_BODY_COOKIE = 0x424f4459 };

struct carom_world {
	carom_context *context; // the user's
	carom_context memory;   // child of it that counts and limits the memory of this world
	carom_world_def def;
	CR_ARRAY(cr_body) bodies;      // parts of bodies, by number; see alive
	cr_changes changes;            // which of them have changed since the last step
	CR_ARRAY(int32_t) free_bodies; // numbers of bodies of one part to use again, last first
	// those of bodies of more: by number, none next to another
	CR_ARRAY(cr_range) free_ranges;
	// that numbers behind those of bodies begin with: above all that a trim gave up
	uint32_t first_generation;
	cr_courses courses;  // of bodies that move in the coming step
	int32_t body_count;  // alive
	int32_t shape_count; // parts alive
	cr_box_meshes box_meshes;
	cr_pipeline pipeline;
	cr_results results[2];
	int current; // which results are the last step's
	cr_sleep sleep;
	cr_impacts impacts;
	cr_continuous continuous;
	cr_shape_impacts shape_impacts;
	cr_surface_contacts surface_contacts;
	cr_sphere_contacts sphere_contacts;
	cr_sphere_impacts sphere_impacts;
	cr_meeting_spheres meeting_spheres;
	bool stepping; // a step runs: filters may change nothing
	bool watched;  // a replay shows it
	carom_stats stats;
	cr_box_index *query_index; // of user queries
	cr_recorder *recorder;     // NULL: not recording
	carom_snapshot *snapshots; // made for it: a list
};

/// CAROM_INVALID_ARGUMENT, with the error text set, while the world steps, writes its recording, is
/// shown by a replay or asks the filter of a query: a function of the user's asks for a change of
/// it.
carom_result cr_check_may_change(const carom_world *world, const char *function);
/// Does this thread ask the function of a query's filter about the world?
bool cr_is_asking_filter(const carom_world *world);
/// The body of an id, to change it: CAROM_INVALID_BODY if there is none. See also
/// cr_check_may_change. *body is NULL after a failure.
carom_result cr_find_body(carom_world *world, carom_body_id id, const char *function, cr_body **body);
/// The body of an id, or NULL with the error text set.
const cr_body *cr_find_body_const(const carom_world *world, carom_body_id id, const char *function);
/// Check the arrays of a call: ids, and the values that go with them, whose name is field.
carom_result cr_check_ids(
	const carom_world *world, const char *function, int count, const carom_body_id *ids, const void *values, const char *field);
/// The error for ids[i] of a call, which names no body.
carom_result cr_refuse_id(const carom_world *world, const char *function, int i, const carom_body_id *ids);

/// Bodies came or went, or filters changed: scenes of deforming bodies ask again who takes part.
static inline void cr_note_members(carom_world *world)
{
	world->impacts.members.stale = world->surface_contacts.members.stale = world->sphere_contacts.stale = true;
}
/// All parts of a body, from the first on, have changed: the next step looks at them. A body that
/// was asleep wakes.
static inline void cr_note_change(carom_world *world, const cr_body *first, int32_t count)
{
	const int64_t number = first - world->bodies.data;
	world->sleep.count -= first->asleep;
	for (int32_t i = 0; i < count; i++) {
		cr_body *part = &world->bodies.data[number + i];
		part->asleep = false;
		part->changed = true;
		cr_add_change(&world->changes, number + i);
	}
}
/// They came or went, or their boxes changed: queries look at them again, too.
static inline void cr_note_boxes(carom_world *world, const cr_body *first, int32_t count)
{
	const int64_t number = first - world->bodies.data;
	cr_note_change(world, first, count);
	for (int32_t i = 0; i < count; i++)
		cr_box_index_note(world->query_index, number + i);
}
/// Drop these scenes: triangles of a body in them are others. The next step makes them again.
static inline void cr_forget_scenes(carom_world *world)
{
	cr_forget_impact_scene(&world->impacts);
	cr_forget_surface_scene(&world->surface_contacts);
}

/// The name of a kind of bodies ("CAROM_CLOTH").
const char *cr_kind_name(carom_body_kind kind);
/// Is a shape as carom_default_body_def makes it?
bool cr_is_unset(const carom_shape *shape);
/// The definition of a body as it is now.
carom_body_def cr_def_of_body(const cr_body *body);
/// The pose of a body.
static inline const carom_pose *cr_pose_of(const cr_body *body)
{
	return cr_compound_of(body) ? &cr_compound_of(body)->pose : &body->pose;
}

/// Allocations that memory_budget has refused so far: to be asked at the beginning of a call that
/// may fail. Any thread.
unsigned cr_count_refusals(const carom_world *world);
/// CAROM_OVER_BUDGET with its text where memory ran out and memory_budget has refused more than
/// that; else result. Any thread.
carom_result cr_explain_failure(const carom_world *world, const char *function, unsigned refusals, carom_result result);

/// Drop the memory of pairs and the state of predictions of room, as if no step had been made: the
/// next step works everything out in full. To be called when a step failed and when a recording
/// begins: a replay has no memory from before. Results stay.
void cr_world_forget(carom_world *world);
/// Let surfaces forget how far they have moved, once no pair remembers anything. A recording begins
/// so, and so does its replay, which knows only where a surface is and where it comes from.
void cr_forget_ways(carom_world *world);

/// The verdict of the user's filter on the bodies of two parts, a < b; a refusal is recorded. There
/// is a filter. Any thread.
bool cr_ask_pair_filter(carom_world *world, int32_t a, int32_t b);
/// Likewise for two parts in any order; true where there is no filter.
bool cr_pair_filter_passes(carom_world *world, int32_t part, int32_t other);
/// That of the contact filter on a contact of two parts, a <= b, likewise.
bool cr_ask_contact_filter(carom_world *world, int32_t a, int32_t b, const carom_contact *contact);
/// That of the contact filter on a contact of a sphere of a granular body with a part of another
/// body, likewise. Its pair is its number among those of the sphere with the part.
bool cr_ask_sphere_filter(carom_world *world, int32_t grains, int32_t part, int32_t sphere, const carom_contact *contact);

/// Let a part have the kind, the flags and the thickness of a definition. Whom it may meet is asked
/// once more (cr_body.refiltered).
void cr_take_traits(cr_body *part, const carom_body_def *traits);
/// Fills the fields of a part beside its shape and own, which are set.
void cr_begin_part(cr_body *body, const carom_body_def *def, int32_t part, uint32_t generation);
/// Check the definition of a body; its pose has a check of its own. The text names the function and
/// the field.
carom_result cr_check_body_def(carom_context *context, const carom_body_def *def, const char *function);
/// Count a body that is added (sign 1) or removed (-1), as the searches of a step ask for it.
void cr_count_body(carom_world *world, const cr_body *body, int sign);
/// Check the shape of a body of a kind, and the parts of a definition; the text names the function
/// and the field.
carom_result cr_check_body_shape(carom_context *context, const carom_shape *shape, carom_body_kind kind, const char *function);
/// Check the further conditions of a deforming body, whose shape is checked.
carom_result cr_check_deforming(carom_context *context, const carom_body_def *def, const char *function);
/// Checks the shape of a part.
typedef carom_result cr_check_shape_fn(carom_context *context, const carom_shape *shape, const void *user, const char *function);
/// Check parts [count], with their poses; parts may be NULL. The text names the part.
carom_result cr_check_each_part(carom_context *context, const carom_part *parts, int32_t count, cr_check_shape_fn *check,
	const void *user, const char *function);
/// Check the parts of a body.
carom_result cr_check_parts(carom_context *context, const carom_body_def *def, const char *function);
/// Derive the shape of a part and show it to the laboratory, unless the body deforms. On failure
/// nothing is left.
carom_result cr_init_body_shape(carom_world *world, const carom_shape *def, bool deforming, cr_shape *shape);
/// Give a box of a world its mesh, and show it to the laboratory (a cr_mesh_maker_fn). user: the
/// carom_world.
carom_result cr_make_body_mesh(void *user, cr_body *body);
/// Give up a shape of a rigid body that cr_init_body_shape made.
void cr_drop_body_shape(carom_world *world, cr_shape *shape);
/// End a part of a body. Its number is the caller's to free.
void cr_end_part(carom_world *world, cr_body *part);

/// Derive a shape: takes a reference to its mesh. A box has none until cr_make_box_mesh.
void cr_shape_init(const carom_shape *def, cr_shape *shape);
void cr_shape_free(cr_shape *shape);

/// Check the arrays of a batch of rays against a mesh (mesh_query.c).
carom_result cr_check_rays(const carom_mesh *mesh, const char *name, const carom_ray_batch *rays, const carom_hit_batch *hits);
/// carom_watch_recording; watch may be NULL; tools: the laboratory, NULL: none (replay.c).
carom_result cr_replay_recording(carom_context *context, const struct cr_laboratory *tools, carom_read_fn *read, void *user,
	carom_watch_fn *watch, void *watch_user, carom_replay_result *result);

/// Check the settings of a world; the text names the field (settings.c).
carom_result cr_check_settings(carom_context *context, const cr_settings *settings);
/// carom_create_world with checked settings.
carom_result cr_create_world(carom_context *context, const cr_settings *settings, carom_world **world);

/// Put the arrays of a mesh that nobody else holds side by side in one block, if it is small. On
/// failure the mesh is given up, and *mesh is NULL (mesh.c).
carom_result cr_pack_mesh(carom_mesh **mesh);
/// Fill the materials of vertices [vertices] from those of triangles [triangles]: a vertex takes
/// that of the first triangle at its place that takes part; 0 where there is none (mesh.c).
void cr_find_vertex_materials(const cr_topology *topology, const uint32_t *materials, uint32_t *of_vertex);
/// Give a mesh that has no materials, and whose arrays lie each for itself, a copy of these
/// [triangles]; NULL: none. After a failure it is only good to be released (mesh.c).
carom_result cr_keep_materials(carom_mesh *mesh, const uint32_t *materials);
static inline bool cr_is_one_material(const uint32_t *materials, int64_t count)
{
	int64_t equal = 0;
	while (equal < count && materials[equal] == materials[0])
		equal++;
	return equal == count;
}
/// Give a mesh whose vertices stay the table by which pairs are told to be apart, if it is worth
/// one.
carom_result cr_make_support_map(carom_mesh *mesh);
/// A mesh over a definition and, if not NULL, other samples than its vertices (mesh.c).
carom_result cr_create_mesh(carom_context *context, const carom_mesh_def *def, const cr_sample_set *samples,
	carom_mesh_report *report, carom_mesh **mesh);
/// The samples of a field as a grid of primitives.
static inline cr_rows cr_rows_of_samples(int32_t columns, int32_t rows, const double spacing[2])
{
	return (cr_rows){ columns, rows, 1, { spacing[0], spacing[1] } };
}
/// The mesh of a field over a definition, with a lean collider if it is solid. rows: of its samples
/// (mesh.c).
carom_result cr_create_field_mesh(carom_context *context, const carom_mesh_def *def, const cr_rows *rows, carom_mesh **mesh);
/// A mesh of the triangles, sides and materials of another one with other vertices [3*vertices],
/// welded as that one's are, and without a grid: as a body that deforms has it. (mesh.c)
carom_result cr_create_moved_mesh(carom_context *context, const carom_mesh *before, const float *vertices, carom_mesh **mesh);
/// May copies of a mesh be refitted by cr_refit_moved_mesh? Not where a vertex has no normal or
/// where triangles are left out. (moved_mesh.c)
bool cr_can_refit_moved(const carom_mesh *mesh);
/// A copy of such a mesh for cr_refit_moved_mesh: as cr_create_moved_mesh makes it, and with the
/// trees of the mesh. It is good for nothing before.
carom_result cr_copy_moved_mesh(carom_context *context, const carom_mesh *mesh, carom_mesh **copy);
/// A copy of a mesh whose triangles are turned round: second and third corner have changed places.
/// Its places, and the directions of its samples, are those of the mesh: it is good for
/// cr_copy_moved_mesh, cr_create_moved_mesh and the tree of a surface alone. O(n). (moved_mesh.c)
carom_result cr_turn_mesh(carom_context *context, const carom_mesh *mesh, carom_mesh **turned);
/// Put the vertices [3*vertices] of such a copy elsewhere (they may be written to its topology
/// already). The result depends on the mesh and on the places alone, not on places
/// before. Its report stays; facets that are certainly many are put off. CAROM_INVALID_MESH,
/// without a text, where cr_create_moved_mesh would make other edges or samples, or a tree much
/// better than that of the mesh. On failure the copy is only good to be released. O(n).
carom_result cr_refit_moved_mesh(carom_mesh *copy, const float *vertices);
/// Make the facets of such a copy that were put off. O(n log n).
carom_result cr_make_moved_facets(carom_mesh *copy);
/// Free, and count the bytes of, the further parts of a mesh whose vertices move.
void cr_free_moving(carom_mesh *copy);
size_t cr_moving_bytes(const carom_mesh *mesh);

#endif
