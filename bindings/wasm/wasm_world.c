// Worlds in the module: bodies, steps, results, queries, snapshots, recordings.
#include "wasm_module.h"

#include "web/contact_hash.h"

#include <string.h>

// ---- Worlds, and functions that they ask ----

IMPORT(pair_filter)
int cw_pair_filter(uint32_t a, uint32_t generation_a, uint32_t b, uint32_t generation_b, uint64_t data_a, uint64_t data_b);
IMPORT(contact_filter) int cw_contact_filter(const carom_contact *contact, uint64_t data_a, uint64_t data_b);

static bool ask_pair(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)user;
	return cw_pair_filter(a.index1, a.generation, b.index1, b.generation, data_a, data_b);
}

static bool ask_contact(const carom_contact *contact, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)user;
	return cw_contact_filter(contact, data_a, data_b);
}

void EXPORT(cw_default_world_def)(carom_world_def *to) { *to = carom_default_world_def(); }

int EXPORT(cw_create_world)(carom_world_def *def, int has_pair_filter, int has_contact_filter, carom_world **world)
{
	def->pair_filter = has_pair_filter ? ask_pair : NULL;
	def->contact_filter = has_contact_filter ? ask_contact : NULL;
	return (int)carom_create_world(cw_context, def, world);
}

void EXPORT(cw_destroy_world)(carom_world *world) { carom_destroy_world(world); }

// ---- Bodies ----

void EXPORT(cw_default_body_def)(carom_body_def *to) { *to = carom_default_body_def(); }

int EXPORT(cw_add_body)(carom_world *world, const carom_body_def *def, carom_body_id *id)
{
	return (int)carom_world_add_body(world, def, id);
}

int EXPORT(cw_remove_body)(carom_world *world, const carom_body_id *id) { return (int)carom_world_remove_body(world, *id); }

int EXPORT(cw_remove_bodies)(carom_world *world, int count, const carom_body_id *ids)
{
	return (int)carom_world_remove_bodies(world, count, ids);
}

int EXPORT(cw_is_body)(const carom_world *world, const carom_body_id *id) { return carom_world_is_body(world, *id); }

int EXPORT(cw_body_count)(const carom_world *world) { return carom_world_body_count(world); }

void EXPORT(cw_body_ids)(const carom_world *world, int count, carom_body_id *ids) { carom_world_body_ids(world, count, ids); }

int EXPORT(cw_set_poses)(carom_world *world, int count, const carom_body_id *ids, const carom_pose *poses)
{
	return (int)carom_world_set_poses(world, count, ids, poses);
}

int EXPORT(cw_get_poses)(const carom_world *world, int count, const carom_body_id *ids, carom_pose *poses)
{
	return (int)carom_world_get_poses(world, count, ids, poses);
}

int EXPORT(cw_set_motions)(carom_world *world, int count, const carom_body_id *ids, const carom_motion *motions)
{
	return (int)carom_world_set_motions(world, count, ids, motions);
}

int EXPORT(cw_set_asleep)(carom_world *world, int count, const carom_body_id *ids, int asleep)
{
	return (int)carom_world_set_asleep(world, count, ids, asleep != 0);
}

/// asleep: a byte for each, 0 or 1.
int EXPORT(cw_get_asleep)(const carom_world *world, int count, const carom_body_id *ids, bool *asleep)
{
	return (int)carom_world_get_asleep(world, count, ids, asleep);
}

int EXPORT(cw_shift_origin)(carom_world *world, const double *offset) { return (int)carom_world_shift_origin(world, offset); }

int EXPORT(cw_set_filter)(carom_world *world, const carom_body_id *id, uint64_t category, uint64_t mask, int group)
{
	return (int)carom_world_set_filter(world, *id, category, mask, group);
}

/// Kind and flags of a definition; its other members are of no account.
int EXPORT(cw_set_traits)(carom_world *world, const carom_body_id *id, const carom_body_def *traits)
{
	return (int)carom_world_set_traits(world, *id, traits);
}

/// group: beside it, category and mask.
int EXPORT(cw_get_filter)(const carom_world *world, const carom_body_id *id, uint64_t *bits, int32_t *group)
{
	return (int)carom_world_get_filter(world, *id, &bits[0], &bits[1], group);
}

int EXPORT(cw_get_user_data)(const carom_world *world, const carom_body_id *id, uint64_t *data)
{
	return (int)carom_world_get_user_data(world, *id, data);
}

int EXPORT(cw_set_user_data)(carom_world *world, const carom_body_id *id, uint64_t data)
{
	return (int)carom_world_set_user_data(world, *id, data);
}

int EXPORT(cw_get_part_data)(const carom_world *world, const carom_body_id *id, int part, uint64_t *data)
{
	return (int)carom_world_get_part_data(world, *id, part, data);
}

int EXPORT(cw_set_part_data)(carom_world *world, const carom_body_id *id, int part, uint64_t data)
{
	return (int)carom_world_set_part_data(world, *id, part, data);
}

int EXPORT(cw_get_box)(const carom_world *world, const carom_body_id *id, carom_aabb *box)
{
	return (int)carom_world_get_aabb(world, *id, box);
}

/// Meshes and parts lie where the body has them.
int EXPORT(cw_get_body)(const carom_world *world, const carom_body_id *id, carom_body_def *def)
{
	return (int)carom_world_get_body_def(world, *id, def);
}

int EXPORT(cw_set_shape)(carom_world *world, const carom_body_id *id, const carom_shape *shape)
{
	return (int)carom_world_set_shape(world, *id, shape);
}

/// heights [region->rows*region->columns].
int EXPORT(cw_edit_field)(carom_world *world, const carom_body_id *id, const carom_field_region *region, const float *heights)
{
	return (int)carom_world_edit_field(world, *id, region, heights);
}

/// materials [2*region->rows*region->columns].
int EXPORT(cw_paint_field)(
	carom_world *world, const carom_body_id *id, const carom_field_region *region, const uint32_t *materials)
{
	return (int)carom_world_paint_field(world, *id, region, materials);
}

int EXPORT(cw_set_parts)(carom_world *world, const carom_body_id *id, const carom_part *parts, int count)
{
	return (int)carom_world_set_parts(world, *id, parts, count);
}

/// begin, end [3*vertices]; NULL: not given.
int EXPORT(cw_set_vertices)(carom_world *world, const carom_body_id *id, const double *begin, const double *end)
{
	const carom_strided places[2] = { cw_doubles(begin), cw_doubles(end) };
	return (int)carom_world_set_vertices(world, *id, begin ? &places[0] : NULL, end ? &places[1] : NULL);
}

int EXPORT(cw_get_vertices)(const carom_world *world, const carom_body_id *id, cw_list *list)
{
	carom_vertex_view view = { 0 };
	const carom_result result = carom_world_get_vertices(world, *id, &view);
	*list = (cw_list){ view.data, (uint32_t)view.count };
	return (int)result;
}

int EXPORT(cw_get_enclosed)(const carom_world *world, const carom_body_id *id, carom_enclosed *enclosed)
{
	return (int)carom_world_get_enclosed(world, *id, enclosed);
}

/// from [vertices], places [3*vertices]; NULL: not given.
int EXPORT(cw_set_mesh)(
	carom_world *world, const carom_body_id *id, const carom_mesh *mesh, const int32_t *from, const double *places)
{
	const carom_strided all = cw_doubles(places);
	return (int)carom_world_set_mesh(world, *id, mesh, from, places ? &all : NULL);
}

/// centres [3*count], radii [count] or NULL.
int EXPORT(cw_set_spheres)(carom_world *world, const carom_body_id *id, int count, const double *centres, const double *radii)
{
	const carom_strided places = cw_doubles(centres), sizes = cw_doubles(radii);
	return (int)carom_world_set_spheres(world, *id, count, &places, radii ? &sizes : NULL);
}

int EXPORT(cw_set_spheres_by_id)(
	carom_world *world, const carom_body_id *id, int count, const double *centres, const double *radii, const uint64_t *ids)
{
	const carom_strided places = cw_doubles(centres), sizes = cw_doubles(radii);
	return (int)carom_world_set_spheres_by_id(world, *id, count, &places, radii ? &sizes : NULL, ids);
}

int EXPORT(cw_set_sphere_begins)(carom_world *world, const carom_body_id *id, const double *begins)
{
	const carom_strided places = cw_doubles(begins);
	return (int)carom_world_set_sphere_begins(world, *id, &places);
}

int EXPORT(cw_get_spheres)(const carom_world *world, const carom_body_id *id, cw_list *list)
{
	carom_sphere_view view = { 0 };
	const carom_result result = carom_world_get_spheres(world, *id, &view);
	*list = (cw_list){ view.data, (uint32_t)view.count };
	return (int)result;
}

int EXPORT(cw_get_sphere_ids)(const carom_world *world, const carom_body_id *id, cw_list *list)
{
	carom_sphere_view view = { 0 };
	const carom_result result = carom_world_get_spheres(world, *id, &view);
	*list = (cw_list){ view.ids, (uint32_t)view.count };
	return (int)result;
}

// ---- Steps, results ----

int EXPORT(cw_reserve)(carom_world *world, int parts, int pairs, int contacts)
{
	return (int)carom_world_reserve(world, parts, pairs, contacts);
}

int EXPORT(cw_trim)(carom_world *world) { return (int)carom_world_trim(world); }

int EXPORT(cw_step)(carom_world *world) { return (int)carom_world_step(world); }

/// The views of a step, as carom.js numbers them.
enum {
	CONTACTS,
	PAIRS,
	EVENTS,
	IMPACTS,
	SHAPE_IMPACTS,
	BODY_IMPACTS,
	SURFACE_CONTACTS,
	SURFACE_SHAPE_CONTACTS,
	SPHERE_CONTACTS,
	SPHERE_GROUPS,
	BODY_PAIRS,
	BODY_EVENTS,
	SPHERE_PAIRS,
	SPHERES_BY_PAIR,
};

#define LIST(call) list_of((call).data, (call).count)

static cw_list list_of(const void *data, int64_t count) { return (cw_list){ data, (uint32_t)count }; }

static cw_list spheres_of(const carom_sphere_pair_view view, int which)
{
	return which == SPHERE_GROUPS ? list_of(view.groups, view.group_count) : list_of(view.pairs, view.pair_count);
}

static cw_list by_pair_of(const carom_sphere_contact_view view) { return list_of(view.by_pair, view.count); }

static cw_list results_of(const carom_world *world, int which)
{
	switch (which) {
	case CONTACTS: return LIST(carom_world_contacts(world));
	case PAIRS: return LIST(carom_world_pairs(world));
	case EVENTS: return LIST(carom_world_events(world));
	case IMPACTS: return LIST(carom_world_impacts(world));
	case SHAPE_IMPACTS: return LIST(carom_world_shape_impacts(world));
	case BODY_IMPACTS: return LIST(carom_world_body_impacts(world));
	case SURFACE_CONTACTS: return LIST(carom_world_surface_contacts(world));
	case SURFACE_SHAPE_CONTACTS: return LIST(carom_world_surface_shape_contacts(world));
	case SPHERE_CONTACTS: return LIST(carom_world_sphere_contacts(world));
	case BODY_PAIRS: return LIST(carom_world_body_pairs(world));
	case BODY_EVENTS: return LIST(carom_world_body_events(world));
	case SPHERES_BY_PAIR: return by_pair_of(carom_world_sphere_contacts(world));
	default: return spheres_of(carom_world_sphere_pairs(world), which);
	}
}

void EXPORT(cw_results)(const carom_world *world, int which, cw_list *list) { *list = results_of(world, which); }

enum { CONTACT_NUMBERS = 16 };

/// All contacts as doubles [CONTACT_NUMBERS*count]: body a, body b (index1), point, normal, depth,
/// feature a, feature b, kind, part a, part b, age, pair.
void EXPORT(cw_contact_numbers)(const carom_world *world, double *to)
{
	const carom_contact_view view = carom_world_contacts(world);
	for (int32_t i = 0; i < view.count; i++, to += CONTACT_NUMBERS) {
		const carom_contact *c = &view.data[i];
		const double numbers[CONTACT_NUMBERS] = { c->body_a.index1, c->body_b.index1, c->point[0], c->point[1], c->point[2],
			c->normal[0], c->normal[1], c->normal[2], c->depth, c->feature_a, c->feature_b, c->kind, c->shape_a, c->shape_b,
			c->age, c->pair };
		memcpy(to, numbers, sizeof numbers);
	}
}

uint64_t EXPORT(cw_hash_contacts)(const carom_world *world)
{
	const carom_contact_view view = carom_world_contacts(world);
	return web_hash_contacts(&view);
}

uint64_t EXPORT(cw_hash)(const carom_world *world) { return carom_world_hash(world); }

void EXPORT(cw_stats)(const carom_world *world, carom_stats *to) { *to = carom_world_stats(world); }

void EXPORT(cw_sweep_stats_of)(const carom_world *world, carom_sweep_stats *to) { *to = carom_world_sweep_stats(world); }

/// NULL: there is none.
const carom_impact *EXPORT(cw_earliest_impact)(const carom_world *world) { return carom_world_earliest_impact(world); }
const carom_shape_impact *EXPORT(cw_earliest_shape_impact)(const carom_world *world)
{
	return carom_world_earliest_shape_impact(world);
}
const carom_body_impact *EXPORT(cw_earliest_body_impact)(const carom_world *world, const carom_body_id *id)
{
	return carom_world_earliest_body_impact(world, *id);
}

int EXPORT(cw_set_impulse)(carom_world *world, int contact, const float *impulse)
{
	return (int)carom_world_set_impulse(world, contact, impulse);
}

int EXPORT(cw_set_surface_impulse)(carom_world *world, int contact, const float *impulse)
{
	return (int)carom_world_set_surface_impulse(world, contact, impulse);
}

int EXPORT(cw_set_surface_shape_impulse)(carom_world *world, int contact, const float *impulse)
{
	return (int)carom_world_set_surface_shape_impulse(world, contact, impulse);
}

int EXPORT(cw_set_sphere_impulse)(carom_world *world, int contact, const float *impulse)
{
	return (int)carom_world_set_sphere_impulse(world, contact, impulse);
}

/// impulses [3*count].
int EXPORT(cw_set_impulses)(carom_world *world, int count, const float *impulses)
{
	return (int)carom_world_set_impulses(world, count, impulses);
}

int EXPORT(cw_set_surface_impulses)(carom_world *world, int count, const float *impulses)
{
	return (int)carom_world_set_surface_impulses(world, count, impulses);
}

int EXPORT(cw_set_surface_shape_impulses)(carom_world *world, int count, const float *impulses)
{
	return (int)carom_world_set_surface_shape_impulses(world, count, impulses);
}

int EXPORT(cw_set_sphere_impulses)(carom_world *world, int count, const float *impulses)
{
	return (int)carom_world_set_sphere_impulses(world, count, impulses);
}

/// to: of A, of B.
int EXPORT(cw_contact_corners)(const carom_world *world, int contact, carom_contact_corners *to)
{
	return (int)carom_world_get_contact_corners(world, contact, 1, &to[0], &to[1]);
}

int EXPORT(cw_set_pair_data)(carom_world *world, int pair, uint64_t data)
{
	return (int)carom_world_set_pair_data(world, pair, data);
}

int EXPORT(cw_set_body_pairs)(carom_world *world, int listed, int max_contacts)
{
	return (int)carom_world_set_body_pairs(world, listed != 0, max_contacts);
}

int EXPORT(cw_set_body_pair_data)(carom_world *world, int pair, uint64_t data)
{
	return (int)carom_world_set_body_pair_data(world, pair, data);
}

// ---- Snapshots ----

int EXPORT(cw_create_snapshot)(carom_world *world, carom_snapshot **snapshot)
{
	return (int)carom_create_snapshot(world, snapshot);
}

void EXPORT(cw_destroy_snapshot)(carom_snapshot *snapshot) { carom_destroy_snapshot(snapshot); }

int EXPORT(cw_save)(carom_world *world, carom_snapshot *snapshot) { return (int)carom_world_save(world, snapshot); }

int EXPORT(cw_restore)(carom_world *world, carom_snapshot *snapshot) { return (int)carom_world_restore(world, snapshot); }

int EXPORT(cw_snapshot_save)(const carom_snapshot *snapshot)
{
	return (int)carom_snapshot_save(snapshot, cw_write_bytes, NULL);
}

int EXPORT(cw_snapshot_load)(carom_snapshot *snapshot, const void *bytes, size_t size)
{
	return (int)carom_snapshot_load(snapshot, bytes, size);
}

uint64_t EXPORT(cw_snapshot_hash)(const carom_snapshot *snapshot) { return carom_snapshot_hash(snapshot); }

double EXPORT(cw_snapshot_memory)(const carom_snapshot *snapshot) { return (double)carom_snapshot_memory(snapshot); }

int EXPORT(cw_snapshots_differ)(const carom_snapshot *a, const carom_snapshot *b, carom_snapshot_difference *difference)
{
	return carom_snapshots_differ(a, b, difference);
}

// ---- Recordings ----

int EXPORT(cw_record)(carom_world *world, int is_on)
{
	return (int)carom_world_record(world, is_on ? cw_write_bytes : NULL, NULL);
}

/// What of a recording in memory has not been read.
typedef struct recording {
	const unsigned char *bytes;
	size_t left;
} recording;

static bool read_recording(void *bytes, size_t count, void *user)
{
	recording *r = user;
	if (count > r->left)
		return false;
	memcpy(bytes, r->bytes, count);
	r->bytes += count;
	r->left -= count;
	return true;
}

int EXPORT(cw_replay)(const unsigned char *bytes, size_t size, carom_replay_result *result)
{
	recording r = { bytes, size };
	return (int)carom_replay_recording(cw_context, read_recording, &r, result);
}
