/// The stages on the CPU, one file each, and the functions that they share. Stages call none of
/// each other; they read the lists of the frame and append to them (frame/pipeline.h).
#ifndef CR_CONTACT_CONTACT_H
#define CR_CONTACT_CONTACT_H

#include "frame/pipeline.h"
#include "geom/volume.h"
#include <string.h>

/// The library's own back end (cpu_stages.c).
extern const cr_stages cr_cpu_stages;
/// Its first member.
carom_result cr_open_stages(cr_pipeline *pipeline);
/// The back end of pipeline->device; of a library with devices (device_stages.c).
extern const cr_stages cr_device_stages;
/// Can worlds run stages on a device? CAROM_UNSUPPORTED says why not, with the call's name.
carom_result cr_check_stage_device(carom_context *context, const char *function, carom_device *device);

carom_result cr_stage_pairs(cr_pipeline *pipeline);     // pair.c
carom_result cr_stage_begin(cr_pipeline *pipeline);     // pair.c
carom_result cr_stage_near(cr_pipeline *pipeline);      // near.c
carom_result cr_stage_crossings(cr_pipeline *pipeline); // crossings.c
carom_result cr_stage_vertices(cr_pipeline *pipeline);  // vertex.c
carom_result cr_stage_rays(cr_pipeline *pipeline);      // ray.c
carom_result cr_stage_finish(cr_pipeline *pipeline);    // finish.c
// simple_pairs.c: the one stage of the simple pairs
carom_result cr_stage_simple(cr_pipeline *pipeline);

// ---- Broad phases ----

/// Make one. Sweep sorts along the axis of largest spread each step (Baraff 1992; Cohen et al.
/// 1995, I-COLLIDE); tree is a dynamic tree of widened boxes (Catto, Dynamic Bounding Volume
/// Hierarchies, 2019).
carom_result cr_broad_create_sweep(carom_context *context, cr_broad **broad);
carom_result cr_broad_create_tree(carom_context *context, cr_broad **broad);

// ---- Rays ----

/// Room for count full rays of one side: in the list behind those of the worker, or in its staging.
/// false: out of memory. Close with the number made, which is then kept in the list.
bool cr_open_casts(cr_worker *worker, int32_t count, cr_casts *casts);
cr_span cr_close_casts(cr_worker *worker, const cr_casts *casts, int32_t count);
/// Cast count rays against the target in both directions.
void cr_cast_lines(const cr_pipeline *pipeline, const cr_body *target, const cr_casts *casts, int32_t count, float reach);
/// Walk rays begin..end-1 over the target.
void cr_walk_range(const cr_pipeline *pipeline, cr_worker *worker, const cr_collider *target, const cr_walks *walks,
	int32_t begin, int32_t end);
/// The last part of the ray stage, for a back end that casts and walks rays itself: judge the taken
/// pairs.
carom_result cr_judge_rays(cr_pipeline *pipeline);
/// Likewise of the crossings stage: judge the taken pairs, whose meetings may have been tested
/// (cr_pair_work.tested).
carom_result cr_judge_crossings(cr_pipeline *pipeline);
/// Will the crossings stage test the meetings of a pair?
bool cr_tests_meetings(const cr_pipeline *pipeline, const cr_pair_work *work);
/// The stage that a pair waits for whose rays were judged. Notes that they were (ray.c).
cr_next cr_after_rays(const cr_pipeline *pipeline, cr_pair_work *work);
/// Turn the hits of the rays of a side into contacts and into the watches of the pair.
void cr_judge_side(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work, int side);
/// Make the rays of the taken pairs (vertex.c).
void cr_make_rays(cr_pipeline *pipeline);

// ---- Near triangles (near.c) ----

/// A walk of the two trees of a pair that is to be made, and those before it.
typedef struct cr_near_walk {
	double reach;      // triangles within it are wanted; 0: those that may meet
	int32_t most;      // see cr_candidates
	bool farther;      // nothing was near: it goes farther out than the one before it
	unsigned refusals; // of the memory budget before the first one
	double reached;    // after the last one: how far the list reaches
} cr_near_walk;

/// Prefetch the memory of the next two taken pairs: all memories together are more than the near
/// caches hold.
void cr_ask_near_ahead(const cr_pipeline *pipeline, int64_t next, int64_t end);
/// Do the near stage of a pair without a walk: by its shapes, or the list that it remembers. false:
/// its trees must be walked. *next: the stage that it waits for then.
bool cr_begin_near(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work, cr_next *next);
/// Will cr_begin_near find that its trees must be walked? Changes nothing; of small hulls it says
/// that they need not, though that may prove otherwise.
bool cr_needs_near_walk(const cr_pipeline *pipeline, const cr_pair_work *work);
/// Plan the first walk of a pair.
void cr_begin_near_walk(const cr_pipeline *pipeline, const cr_pair_work *work, cr_near_walk *walk);
/// Judge a walk whose finds are worker->candidates: those of cr_bvh_kernels.pairs, in their order,
/// or with a count above most. Returns whether there is another one to be made.
bool cr_plan_near_walk(const cr_pipeline *pipeline, cr_worker *worker, const cr_pair_work *work, cr_near_walk *walk);
/// Plan the walk after one that has found nothing, which goes farther out. false: there is none.
bool cr_plan_farther_walk(const cr_pipeline *pipeline, const cr_pair_work *work, cr_near_walk *walk);
/// Do the stage with the finds of the last walk.
void cr_end_near(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work, const cr_near_walk *walk);
/// Make this walk and all after it, and do the stage.
void cr_walk_near_to_end(const cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work, cr_near_walk *walk);

// ---- Contacts ----

/// Name the edges of solids that are inside out as users do: by the corners of their own mesh. Its
/// edge from corner k is the edge 2 - k of the form that is turned round. Once for each contact
/// (contact_list.c).
void cr_name_edges(const cr_body *a, const cr_body *b, cr_raw_contacts *contacts);
/// Leave out those contacts of parts a < b that keep_contact, which there is, refuses
/// (contact_filter.c).
void cr_filter_contacts(const cr_pipeline *pipeline, int32_t a, int32_t b, cr_raw_contacts *contacts);
/// The last stage: sort the contacts of each pair of meshes and reduce them (cpu_stages.c).
carom_result cr_stage_reduce(cr_pipeline *pipeline);
/// Sort contacts by kind and features (reduce.c).
void cr_sort_contacts(cr_raw_contacts *contacts);
/// Sort the contacts of one pair of volumes by features. Of those that are within distance of each
/// other and push alike one is left: the deepest, with the features of the first. on_b: by their
/// places on B, and the first by B's features; else by those of A. Sets worker->failed when out of
/// memory. (join.c)
void cr_join_contacts(cr_worker *worker, cr_raw_contacts *contacts, double distance, bool on_b);
/// Square of the distance between the ends of the normals of two contacts (reduce.c).
double cr_normals_apart(const cr_raw_contact *a, const cr_raw_contact *b);
/// Do two contacts push a body the same way, to about a thousandth of a radian? (reduce.c)
bool cr_push_alike(const cr_raw_contact *a, const cr_raw_contact *b);
/// Choose keep of count sorted contacts, which move to the front, in no order. rows: numbers that
/// go with the contacts; NULL: none. Sets worker->failed when out of memory. (reduce.c)
void cr_choose_contacts(cr_worker *worker, cr_raw_contact *data, int32_t *rows, int64_t count, int64_t keep);
/// Sort the contacts of a with b and reduce them likewise, to the limits of the settings. Returns
/// how many there were. Sets worker->failed when out of memory. (reduce.c)
int32_t cr_reduce_contacts(
	const cr_pipeline *pipeline, cr_worker *worker, const cr_body *a, const cr_body *b, cr_raw_contacts *contacts);

// ---- Pairs ----

/// How a pair of shapes is tested: the selection table is in algorithm.c.
typedef enum cr_algorithm {
	CR_ALGORITHM_NONE,
	CR_ALGORITHM_VOLUMES, // two basic volumes: closed forms
	CR_ALGORITHM_PLANE,   // plane and mesh: vertices below the plane
	CR_ALGORITHM_ROUND,   // sphere or capsule and mesh: closest points
	CR_ALGORITHM_RAYS,    // two meshes (a box counts as one): rays, then triangles
	// two volumes, one of the convex family: least separation and clipped faces
	CR_ALGORITHM_CONVEX,
	CR_ALGORITHM_CONVEX_PLANE,
	CR_ALGORITHM_CONVEX_MESH, // triangle by triangle
} cr_algorithm;

/// Choose how a pair of bodies is tested (algorithm.c).
cr_algorithm cr_algorithm_of(const cr_body *a, const cr_body *b);
/// Tell whether the oriented boxes of two bodies may come within the speculative distance. rotation
/// and translation: of b in a's frame. *gap: 0 if they may, else a lower bound of how far apart
/// they are (algorithm.c).
bool cr_boxes_are_near(double ahead, const cr_body *a, const cr_body *b, const m3d *rotation, v3d translation, double *gap);
/// A lower bound of the distance of two meshes by their convex hulls; 0: it is not known, or they
/// may touch. rotation and translation: as above (algorithm.c).
double cr_hulls_gap(const cr_body *a, const cr_body *b, const m3d *rotation, v3d translation);
/// May a pair of bodies touch, or come within ahead of each other? Pairs with a plane, and of two
/// basic volumes, are let through: their own tests are as cheap (algorithm.c).
bool cr_pair_is_near(double ahead, const cr_body *a, const cr_body *b);

/// Is a body, which does not deform, where it was in the last step, to the bit?
static inline bool cr_stands_still(const cr_body *body)
{
	return !cr_deforming_of(body) && (!body->course || memcmp(&body->pose, &body->course->last, sizeof body->pose) == 0);
}

/// Is one of two bodies a sensor? Their pair has no contacts.
static inline bool cr_is_sensor_pair(const cr_body *a, const cr_body *b) { return a->sensor || b->sensor; }

/// Is a pair one of a mesh and a volume that is no plane and no box?
static inline bool cr_is_volume_on_mesh(const cr_body *a, const cr_body *b)
{
	const cr_algorithm algorithm = cr_algorithm_of(a, b);
	return algorithm == CR_ALGORITHM_ROUND || algorithm == CR_ALGORITHM_CONVEX_MESH;
}

/// May a vertex (as welded) of a mesh body be a point of a patch? Of a body that deforms each one:
/// its corners do not carry those within a flat face.
static inline bool cr_holds_point(const cr_body *body, int32_t vertex)
{
	return body->shape.mesh->facets.corner[vertex] || cr_deforming_of(body);
}

// ---- Simple pairs at rest (resting.c) ----

/// May the next step take over the finds of a simple pair?
bool cr_may_rest(const cr_pipeline *pipeline, const cr_body *a, const cr_body *b);
/// The pair of the last step, if nothing of its two bodies has changed; else NULL.
const cr_resting_pair *cr_find_resting(const cr_pipeline *pipeline, cr_body_pair pair);
/// Its contacts.
const cr_raw_contact *cr_resting_contacts(const cr_pipeline *pipeline, const cr_resting_pair *pair);
/// Keep the first count of pipeline->found that are to be kept. false: out of memory.
bool cr_keep_resting(cr_pipeline *pipeline, int64_t count);

/// The contacts of a simple pair: worker->contacts, in no order, none left out (simple_pairs.c).
/// Either body may be of no world; of deforming ones the forms are to be given.
void cr_find_simple_contacts(const cr_pipeline *pipeline, cr_worker *worker, const cr_body *a, const cr_body *b);
/// Append those of one kind of pair to worker->contacts (volume_pair.c).
void cr_collide_volumes(const cr_pipeline *pipeline, cr_worker *worker, const cr_body *a, const cr_body *b);
/// All contacts of two basic volumes, sorted. Returns how many. Any thread.
int32_t cr_make_volume_contacts(
	const cr_pipeline *pipeline, const cr_body *a, const cr_body *b, cr_raw_contact contacts[CR_MAX_VOLUME_CONTACTS]);
void cr_collide_plane(const cr_pipeline *pipeline, cr_worker *worker, const cr_body *a, const cr_body *b);
void cr_collide_round(const cr_pipeline *pipeline, cr_worker *worker, const cr_body *a, const cr_body *b);
/// Those with a body of the convex family (convex_pair.c, convex_mesh.c).
void cr_collide_convex(const cr_pipeline *pipeline, cr_worker *worker, const cr_body *a, const cr_body *b);
void cr_collide_convex_plane(const cr_pipeline *pipeline, cr_worker *worker, const cr_body *a, const cr_body *b);
void cr_collide_convex_mesh(const cr_pipeline *pipeline, cr_worker *worker, const cr_body *a, const cr_body *b);
/// Make the contacts of a convex volume with the half space below a plane: up is its unit normal
/// (world frame). Returns how many there are (convex_pair.c).
int cr_make_plane_contacts(
	const cr_body *body, bool body_is_a, v3d up, v3d on_plane, double margin, cr_raw_contact contacts[CR_MAX_VOLUME_CONTACTS]);
/// Join those that triangles of the mesh share.
void cr_join_convex_mesh(cr_worker *worker, const cr_body *a, const cr_body *b);

/// Take the contacts that a pair has so far into worker->contacts. Sets worker->failed when out of
/// memory.
void cr_load_contacts(cr_worker *worker, cr_span range);
/// The depth of the deepest contact of a list; -INFINITY: there is none.
double cr_greatest_depth(const cr_raw_contacts *list);
/// Keep worker->contacts in the list, in the place of a pair's range if they fit. Sets
/// worker->failed when out of memory.
void cr_keep_contacts(cr_worker *worker, cr_span *range);
/// Keep worker->contacts as those of a simple pair, which are in a list of their own. Sets
/// worker->failed when out of memory.
void cr_keep_simple_contacts(cr_worker *worker, cr_span *range);
/// Let a found pair have worker->contacts, sorted, in a new place: the next step may take over the
/// old ones. Sets worker->failed when out of memory.
void cr_renew_found(cr_worker *worker, cr_found_pair *found);
/// The contacts of a found pair, which are not late (contact_list.c).
const cr_raw_contact *cr_found_contacts(const cr_pipeline *pipeline, const cr_found_pair *found);
/// Make room for more contacts in worker->contacts. false: out of memory; worker->failed is set.
bool cr_grow_contacts(cr_worker *worker);
/// Append a contact to worker->contacts. Sets worker->failed when out of memory.
static inline void cr_add_contact(cr_worker *worker, const cr_raw_contact *contact)
{
	cr_raw_contacts *list = &worker->contacts;
	if (list->count < list->capacity || cr_grow_contacts(worker))
		list->data[list->count++] = *contact;
}

/// A way out of a body: how far along a direction, and through which triangle. Float, in the
/// target's frame.
typedef struct cr_way_out {
	float depth;
	float direction[3]; // unit
	int32_t triangle;
} cr_way_out;

/// Does a point (own frame) lie inside a closed collider? By the grid where it knows, else by the
/// winding number along the direction.
bool cr_is_inside(const cr_pipeline *pipeline, const cr_collider *collider, const float point[3], const float direction[3]);

/// From the hit of a ray from origin to the depth and direction of its contact: apply
/// carom_lab.max_depth_ratio and contact_normal.
void cr_finish_way(
	const cr_pipeline *pipeline, const cr_collider *source, const cr_collider *target, const float origin[3], cr_way_out *way);

/// Give rays of samples their directions and ends, where the source does not store them.
void cr_direct_rays(const cr_pipeline *pipeline, const cr_collider *source, const cr_transform *to_target,
	const cr_sample_rays *rays, int32_t count);

/// Cast rays begin..end-1 against the target by hooks.cast, or the wide tree.
void cr_cast(const cr_pipeline *pipeline, const cr_body *target, const carom_ray_batch *rays, int32_t begin, int32_t end,
	const carom_hit_batch *hits);

#endif
