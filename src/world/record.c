/// The recorder: each call becomes one record, put together in a buffer and written in one go. See
/// docs/recording.md.
#include "base/stable_sort.h"
#include "world/record.h"
#include "base/array.h"
#include "frame/shape_table.h"
#include "mesh/strided.h"
#include "base/radix.h"
#include "base/spin_lock.h"
#include "world/height_field.h"
#include "world/recording_format.h"
#include "world/world.h"
#include <string.h>

struct cr_recorder {
	carom_context *context;
	carom_write_fn *write;
	void *user;
	uint64_t check;
	CR_ARRAY(uint8_t) record; // being put together: head and payload
	// written so far, by number; each with a reference, so that no other takes its address
	CR_ARRAY(const carom_mesh *) meshes;
	// contacts that the filter left out: the pair, and the number in it
	CR_ARRAY(cr_key) dropped;
	CR_ARRAY(cr_sphere_drop) sphere_drops; // likewise, of spheres
	CR_ARRAY(cr_key) rejected;             // pairs that the filter left out in this step
	CR_ARRAY(cr_key) scratch;
	atomic_flag lock; // of rejected
	// memory ran out for rejected: a worker may not say so in the log, the end of the step does
	bool incomplete;
	// a step was recorded: impulses have contacts to go to, and data of pairs have pairs
	bool stepped;
	bool broken;  // the stream has a hole: nothing more is written
	bool writing; // the user's function is being called
};

static void give_up(cr_recorder *r, const char *why)
{
	if (!r->broken)
		cr_log(r->context, CAROM_LOG_ERROR, "recording stopped: %s", why);
	r->broken = true;
}

// ---- Putting records together ----

static void put(cr_recorder *r, uint64_t value, int size)
{
	if (r->broken)
		return;
	if (!cr_array_reserve(r->context, &r->record, r->record.count + size)) {
		give_up(r, "out of memory");
		return;
	}
	cr_store_le(r->record.data + r->record.count, value, size);
	r->record.count += size;
}

static void put_u8(cr_recorder *r, bool value) { put(r, value, 1); }
static void put_u32(cr_recorder *r, uint32_t value) { put(r, value, 4); }
static void put_u64(cr_recorder *r, uint64_t value) { put(r, value, 8); }

static void put_f32(cr_recorder *r, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	put(r, bits, 4);
}

static void put_f64(cr_recorder *r, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	put(r, bits, 8);
}

static void put_id(cr_recorder *r, carom_body_id id)
{
	put_u32(r, id.index1);
	put_u32(r, id.generation);
}

static void put_pose(cr_recorder *r, const carom_pose *pose)
{
	const double values[7] = { pose->position.x, pose->position.y, pose->position.z, pose->orientation.x, pose->orientation.y,
		pose->orientation.z, pose->orientation.w };
	for (int i = 0; i < 7; i++)
		put_f64(r, values[i]);
}

static void put_places(cr_recorder *r, const double *places, int32_t vertex_count)
{
	for (int64_t i = 0; i < 3 * (int64_t)vertex_count; i++)
		put_f64(r, places[i]);
}

static void write_bytes(cr_recorder *r, const uint8_t *bytes, size_t count)
{
	if (!r->broken) {
		r->writing = true;
		const bool written = r->write(bytes, count, r->user);
		r->writing = false;
		if (!written)
			give_up(r, "the writer gave up");
	}
	r->check = cr_check_bytes(r->check, bytes, count);
}

static void begin_record(cr_recorder *r, cr_opcode opcode)
{
	r->record.count = 0;
	put_u32(r, opcode);
	put_u64(r, 0); // the size, known at the end
}

static void end_record(cr_recorder *r)
{
	if (r->broken)
		return;
	cr_store_le(r->record.data + 4, (uint64_t)r->record.count - CR_RECORD_HEAD_SIZE, 8);
	write_bytes(r, r->record.data, (size_t)r->record.count);
	uint8_t check[CR_RECORD_CHECK_SIZE];
	cr_store_le(check, r->check, sizeof check);
	write_bytes(r, check, sizeof check);
}

// ---- Meshes and bodies ----

/// Cells along the longest side that the grid of a mesh was made with; 0: no grid.
static uint32_t grid_resolution(const cr_collider *c)
{
	if (!c->grid.cells)
		return 0;
	float longest = 0;
	for (int k = 0; k < 3; k++)
		longest = fmaxf(longest, c->upper[k] - c->lower[k]);
	return (uint32_t)(longest / c->grid.cell + 0.5f);
}

/// Write a height field: what it is made of, not its triangles.
static void record_field(cr_recorder *r, const carom_mesh *mesh)
{
	const cr_field *f = &mesh->field;
	begin_record(r, CR_RECORD_FIELD);
	put_u32(r, (uint32_t)f->columns);
	put_u32(r, (uint32_t)f->rows);
	put_f64(r, f->spacing[0]);
	put_f64(r, f->spacing[1]);
	put_f64(r, f->bottom);
	for (int64_t i = 0; i < (int64_t)f->columns * f->rows; i++)
		put_f32(r, cr_field_height(mesh, i));
	for (int64_t i = 0; i < cr_surface_triangles(f) && mesh->materials; i++)
		put_u32(r, mesh->materials[i]);
	end_record(r);
}

/// Write a mesh that was not written before.
static void record_mesh(cr_recorder *r, const carom_mesh *mesh)
{
	for (int64_t i = 0; i < r->meshes.count; i++) {
		if (r->meshes.data[i] == mesh)
			return;
	}
	if (!cr_array_reserve(r->context, &r->meshes, r->meshes.count + 1)) {
		give_up(r, "out of memory");
		return;
	}
	r->meshes.data[r->meshes.count++] = carom_retain_mesh(mesh);
	if (mesh->field.columns > 0) {
		record_field(r, mesh);
		return;
	}
	const cr_topology *t = &mesh->topology;
	const bool is_hull = mesh->hull != NULL;
	begin_record(r, is_hull ? CR_RECORD_HULL : CR_RECORD_MESH);
	put_u32(r, (uint32_t)t->vertex_count);
	if (!is_hull) {
		put_u32(r, (uint32_t)t->triangle_count);
		put_u32(r,
			grid_resolution(&mesh->collider) | (uint32_t)mesh->sides << 16 | (mesh->materials ? CR_RECORD_HAS_MATERIALS : 0) |
				(uint32_t)mesh->build << CR_RECORD_BUILD_SHIFT);
	}
	for (int64_t i = 0; i < 3 * (int64_t)t->vertex_count; i++)
		put_f32(r, t->vertices[i]);
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count && !is_hull; i++)
		put_u32(r, (uint32_t)t->triangles[i]);
	for (int64_t i = 0; i < t->triangle_count && mesh->materials; i++)
		put_u32(r, mesh->materials[i]);
	end_record(r);
}

/// The number of a mesh that was written.
static uint32_t number_of_mesh(const cr_recorder *r, const carom_mesh *mesh)
{
	uint32_t number = 0;
	for (int64_t i = 0; i < r->meshes.count; i++) {
		if (r->meshes.data[i] == mesh)
			number = (uint32_t)i;
	}
	return number;
}

static void put_shape(cr_recorder *r, const carom_shape *shape)
{
	const uint32_t mesh = cr_has_mesh(shape) ? number_of_mesh(r, shape->mesh) : 0;
	put_u32(r, (uint32_t)shape->type);
	put_f64(r, shape->radius);
	put_f64(r, shape->half_length);
	for (int k = 0; k < 3; k++)
		put_f64(r, shape->half_extents[k]);
	put_u32(r, mesh);
}

/// Write the meshes of a definition that were not written before.
static void record_meshes(cr_recorder *r, const carom_body_def *def)
{
	for (int32_t i = 0; i < def->part_count; i++) {
		if (cr_has_mesh(&def->parts[i].shape))
			record_mesh(r, def->parts[i].shape.mesh);
	}
	if (cr_has_mesh(&def->shape))
		record_mesh(r, def->shape.mesh);
}

static void put_parts(cr_recorder *r, const carom_body_def *def)
{
	put_u32(r, (uint32_t)def->part_count);
	for (int32_t i = 0; i < def->part_count; i++) {
		put_shape(r, &def->parts[i].shape);
		put_f64(r, def->parts[i].shape.rounding);
		put_pose(r, &def->parts[i].pose);
		put_u64(r, def->parts[i].user_data);
	}
}

static void put_sphere(cr_recorder *r, const double sphere[4])
{
	for (int k = 0; k < 4; k++)
		put_f64(r, sphere[k]);
}

static void put_body(cr_recorder *r, const carom_body_def *def)
{
	put_shape(r, &def->shape);
	put_u32(r, (uint32_t)def->kind);
	put_pose(r, &def->pose);
	put_u64(r, def->category);
	put_u64(r, def->mask);
	put_u32(r, (uint32_t)def->group);
	put_u8(r, def->sensor);
	put_u64(r, def->user_data);
	put_u8(r, def->self_collision);
	put_f64(r, def->shape.rounding);
	put_parts(r, def);
	if (def->part_count > 0)
		put_u32(r, (uint32_t)def->part_room);
	put_u8(r, def->continuous);
	put_u8(r, def->contacts);
	put_u8(r, def->shape_impacts);
	put_f64(r, def->thickness);
	if (def->kind != CAROM_GRANULAR)
		return;
	put_u32(r, (uint32_t)def->sphere_count);
	for (int64_t i = 0; i < def->sphere_count; i++) {
		double sphere[4];
		cr_read_strided(&def->centres, 3, i, sphere);
		cr_read_strided(&def->radii, 1, i, &sphere[3]);
		put_sphere(r, sphere);
	}
}

// ---- The present state ----

static void put_sweep(cr_recorder *r, const carom_sweep_def *def)
{
	put_u32(r, (uint32_t)def->method);
	put_u32(r, (uint32_t)def->volume);
	put_u32(r, (uint32_t)def->build);
	put_u32(r, (uint32_t)def->test);
	put_f64(r, def->tolerance);
	put_f64(r, def->min_separation);
	put_u8(r, def->orphan_sets);
	put_u8(r, def->prune_front);
	put_f64(r, def->rebuild_sprouted);
	put_f64(r, def->rebuild_replaced);
	put_u64(r, def->front_budget);
}

/// The temporal setting stands in two numbers, and all pairs of bodies (carom_lab) is the third
/// broad phase, as in version 1.
static void record_world(cr_recorder *r, const cr_settings *settings)
{
	const carom_world_def *def = &settings->world;
	const carom_lab *lab = &settings->lab;
	begin_record(r, CR_RECORD_WORLD);
	put_u32(r, lab->brute_broad_phase ? CR_RECORD_BRUTE : (uint32_t)def->broad_phase);
	put_u32(r, (uint32_t)lab->ray_method);
	put_u32(r, (uint32_t)def->max_contacts_per_pair);
	put_u8(r, lab->complete);
	put_u8(r, lab->exit_distance_test);
	put_f64(r, lab->max_depth_ratio);
	put_f64(r, def->speculative_distance);
	put_f64(r, def->match_distance);
	put_u32(r, def->temporal != CAROM_TEMPORAL_NONE);
	put_u8(r, settings->predict);
	put_u32(r, (uint32_t)lab->lost_rays);
	put_u32(r, (uint32_t)lab->max_walk);
	put_f64(r, lab->displacement_threshold);
	put_f64(r, lab->distance_extension);
	put_u32(r, (uint32_t)def->contact_normal);
	put_f64(r, def->internal_edge_angle);
	put_u32(r, (uint32_t)lab->stages);
	put_u32(r, (uint32_t)lab->ray_buffers);
	put_u32(r, (uint32_t)lab->ray_predictor);
	put_f64(r, lab->buffer_confidence);
	put_u32(r, (uint32_t)lab->worker_groups);
	put_sweep(r, &def->sweep);
	put_f64(r, def->toi_tolerance);
	put_u32(r, (uint32_t)settings->max_contacts_per_body_pair);
	put_u8(r, settings->body_pairs);
	put_f64(r, def->long_edge_share);
	end_record(r);
}

/// The motion of a body in the coming step.
static void put_motion(cr_recorder *r, const cr_body *body)
{
	const cr_surface *d = cr_deforming_of(body) ? &cr_deforming_of(body)->surface : NULL;
	put_u8(r, body->moved);
	if (d)
		put_places(r, d->end, d->vertex_count);
	if (body->moved && d)
		put_places(r, d->begin, d->vertex_count);
	for (int32_t i = 0; body->moved && !d && i < cr_part_count(body); i++)
		put_pose(r, cr_last_pose(&body[i]));
	if (!body->moved || d)
		return;
	const bool has_begin = body->course && body->course->has_begin;
	put_u8(r, has_begin);
	for (int32_t i = 0; has_begin && i < cr_part_count(body); i++)
		put_pose(r, cr_begin_of(&body[i]));
}

/// Is it a granular body whose spheres come from elsewhere in the coming step?
static bool is_on_way(const cr_body *body)
{
	return body->alive && cr_granular_of(body) && cr_granular_of(body)->way == CR_WAY_KNOWN;
}

static void record_state(cr_recorder *r, const carom_world *world)
{
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		if (body->alive && cr_has_mesh(&body->shape.def))
			record_mesh(r, body->shape.def.mesh);
	}
	begin_record(r, CR_RECORD_STATE);
	put_u32(r, (uint32_t)world->bodies.count);
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		put_u32(r, body->generation);
		put(r, body->alive ? body->part > 0 ? CR_RECORD_FURTHER_PART : CR_RECORD_BODY : CR_RECORD_NO_BODY, 1);
		if (!body->alive || body->part > 0)
			continue;
		carom_body_def def = cr_def_of_body(body);
		if (is_on_way(body)) // record_ways tells where its spheres go
			def.centres = (carom_strided){ cr_granular_of(body)->begin.data, 0, CAROM_FLOAT64 };
		put_body(r, &def);
		put_motion(r, body);
		put_u8(r, body->asleep);
		put_u8(r, body->changed);
	}
	put_u32(r, (uint32_t)world->free_bodies.count);
	for (int64_t i = 0; i < world->free_bodies.count; i++)
		put_u32(r, (uint32_t)world->free_bodies.data[i]);
	put_u32(r, (uint32_t)world->free_ranges.count);
	for (int64_t i = 0; i < world->free_ranges.count; i++) {
		put_u32(r, (uint32_t)world->free_ranges.data[i].first);
		put_u32(r, (uint32_t)world->free_ranges.data[i].count);
	}
	end_record(r);
	if (world->first_generation == 1)
		return;
	begin_record(r, CR_RECORD_GENERATION);
	put_u32(r, world->first_generation);
	end_record(r);
}

// ---- Hooks ----

/// After the state: the ids of spheres, and where spheres are that come from elsewhere in the
/// coming step. Those that are new rest here as they do there.
static void record_ways(cr_recorder *r, carom_world *world)
{
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		if (!body->alive || !cr_granular_of(body))
			continue;
		cr_granular *g = cr_granular_of(body);
		const carom_body_id id = cr_id_of(world->bodies.data, (int32_t)i);
		const bool on_way = g->way == CR_WAY_KNOWN;
		if (g->ids.count > 0)
			cr_record_set_spheres_by_id(r, id, g);
		if (g->ids.count > 0 && body->continuous)
			cr_record_set_sphere_begins(r, id, g);
		else if (on_way)
			cr_record_set_spheres(r, id, g);
		if (!on_way)
			g->way = CR_WAY_NONE;
	}
}

void cr_record_add_body(cr_recorder *r, const carom_body_def *def, carom_body_id id, cr_opcode opcode)
{
	if (!r || r->broken)
		return;
	record_meshes(r, def);
	begin_record(r, opcode);
	put_body(r, def);
	put_id(r, id);
	end_record(r);
}

void cr_record_remove_body(cr_recorder *r, carom_body_id id)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_REMOVE_BODY);
	put_id(r, id);
	end_record(r);
}

void cr_record_set_poses(cr_recorder *r, int count, const carom_body_id *ids, const carom_pose *poses)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_POSES);
	put_u32(r, (uint32_t)count);
	for (int i = 0; i < count; i++) {
		put_id(r, ids[i]);
		put_pose(r, &poses[i]);
	}
	end_record(r);
}

void cr_record_set_motions(cr_recorder *r, int count, const carom_body_id *ids, const carom_motion *motions)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_MOTIONS);
	put_u32(r, (uint32_t)count);
	for (int i = 0; i < count; i++) {
		put_id(r, ids[i]);
		put_pose(r, &motions[i].begin);
		put_pose(r, &motions[i].end);
	}
	end_record(r);
}

void cr_record_set_vertices(
	cr_recorder *r, carom_body_id id, const cr_surface *surface, const carom_strided *begin, const carom_strided *end)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_VERTICES);
	put_id(r, id);
	put_u32(r, (begin ? CR_RECORD_HAS_BEGIN : 0) | (end ? CR_RECORD_HAS_END : 0));
	put_u32(r, (uint32_t)surface->vertex_count);
	if (begin)
		put_places(r, surface->begin, surface->vertex_count);
	if (end)
		put_places(r, surface->end, surface->vertex_count);
	end_record(r);
}

static void put_spheres(cr_recorder *r, carom_body_id id, const cr_granular *g)
{
	put_id(r, id);
	put_u32(r, (uint32_t)g->count);
	for (int64_t i = 0; i < g->count; i++)
		put_sphere(r, g->spheres.data + 4 * i);
}

void cr_record_set_spheres(cr_recorder *r, carom_body_id id, const cr_granular *g)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_SPHERES);
	put_spheres(r, id, g);
	end_record(r);
}

void cr_record_set_spheres_by_id(cr_recorder *r, carom_body_id id, const cr_granular *g)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_SPHERES_BY_ID);
	put_spheres(r, id, g);
	for (int64_t i = 0; i < g->count; i++)
		put_u64(r, g->ids.data[i]);
	end_record(r);
}

void cr_record_set_sphere_begins(cr_recorder *r, carom_body_id id, const cr_granular *g)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_SPHERE_BEGINS);
	put_id(r, id);
	put_u32(r, (uint32_t)g->count);
	for (int64_t i = 0; i < g->count; i++)
		put_places(r, cr_sphere_from(g, i), 1);
	end_record(r);
}

void cr_record_set_user_data(cr_recorder *r, carom_body_id id, uint64_t user_data)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_USER_DATA);
	put_id(r, id);
	put_u64(r, user_data);
	end_record(r);
}

void cr_record_set_part_data(cr_recorder *r, carom_body_id id, int32_t part, uint64_t user_data)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_PART_DATA);
	put_id(r, id);
	put_u32(r, (uint32_t)part);
	put_u64(r, user_data);
	end_record(r);
}

void cr_record_set_filter(cr_recorder *r, carom_body_id id, uint64_t category, uint64_t mask, int32_t group)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_FILTER);
	put_id(r, id);
	put_u64(r, category);
	put_u64(r, mask);
	put_u32(r, (uint32_t)group);
	end_record(r);
}

void cr_record_set_traits(cr_recorder *r, carom_body_id id, const carom_body_def *traits)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_TRAITS);
	put_id(r, id);
	put_u32(r, (uint32_t)traits->kind);
	put_u8(r, traits->sensor);
	put_u8(r, traits->self_collision);
	put_u8(r, traits->continuous);
	put_u8(r, traits->contacts);
	put_u8(r, traits->shape_impacts);
	put_f64(r, traits->thickness);
	end_record(r);
}

void cr_record_shift_origin(cr_recorder *r, const double offset[3])
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SHIFT_ORIGIN);
	for (int k = 0; k < 3; k++)
		put_f64(r, offset[k]);
	end_record(r);
}

void cr_record_set_asleep(cr_recorder *r, int count, const carom_body_id *ids, bool asleep)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_ASLEEP);
	put_u32(r, (uint32_t)count);
	put_u8(r, asleep);
	for (int i = 0; i < count; i++)
		put_id(r, ids[i]);
	end_record(r);
}

void cr_record_set_shape(cr_recorder *r, carom_body_id id, const carom_shape *shape)
{
	if (!r || r->broken)
		return;
	if (cr_has_mesh(shape))
		record_mesh(r, shape->mesh);
	begin_record(r, CR_RECORD_SET_SHAPE);
	put_id(r, id);
	put_shape(r, shape);
	put_f64(r, shape->rounding);
	end_record(r);
}

void cr_record_set_parts(cr_recorder *r, carom_body_id id, const carom_body_def *def)
{
	if (!r || r->broken)
		return;
	record_meshes(r, def);
	begin_record(r, CR_RECORD_SET_PARTS);
	put_id(r, id);
	put_parts(r, def);
	end_record(r);
}

void cr_record_set_mesh(cr_recorder *r, carom_body_id id, const carom_mesh *mesh, int32_t old_count, const int32_t *from,
	const carom_strided *places)
{
	if (!r || r->broken)
		return;
	const int32_t count = mesh->topology.vertex_count;
	record_mesh(r, mesh);
	begin_record(r, CR_RECORD_SET_MESH);
	put_id(r, id);
	put_u32(r, number_of_mesh(r, mesh));
	put_u32(r, (uint32_t)count);
	put_u8(r, places != NULL);
	for (int32_t i = 0; i < count; i++) {
		const int32_t source = from ? from[i] : i < old_count ? i : -1;
		put_u32(r, (uint32_t)source);
		if (source >= 0 || !places)
			continue;
		double place[3];
		cr_read_vertex(places, i, place);
		for (int k = 0; k < 3; k++)
			put_f64(r, place[k]);
	}
	end_record(r);
}

void cr_record_set_impulse(cr_recorder *r, cr_impulse_list list, int32_t contact, const float impulse[3])
{
	// Contacts from before the recording are not in it, so neither are their impulses.
	if (!r || r->broken || !r->stepped)
		return;
	begin_record(r, list == CR_IMPULSE_OF_CONTACT ? CR_RECORD_SET_IMPULSE : CR_RECORD_SET_LISTED_IMPULSE);
	if (list != CR_IMPULSE_OF_CONTACT)
		put_u32(r, (uint32_t)list);
	put_u32(r, (uint32_t)contact);
	for (int k = 0; k < 3; k++)
		put_f32(r, impulse[k]);
	end_record(r);
}

static void record_pair_data(cr_recorder *r, cr_opcode opcode, int32_t pair, uint64_t user_data)
{
	// As impulses: pairs from before the recording are not in it.
	if (!r || r->broken || !r->stepped)
		return;
	begin_record(r, opcode);
	put_u32(r, (uint32_t)pair);
	put_u64(r, user_data);
	end_record(r);
}

void cr_record_set_pair_data(cr_recorder *r, int32_t pair, uint64_t user_data)
{
	record_pair_data(r, CR_RECORD_SET_PAIR_DATA, pair, user_data);
}

void cr_record_set_body_pair_data(cr_recorder *r, int32_t pair, uint64_t user_data)
{
	record_pair_data(r, CR_RECORD_SET_BODY_PAIR_DATA, pair, user_data);
}

void cr_record_set_body_pairs(cr_recorder *r, bool listed, int32_t max_contacts)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_SET_BODY_PAIRS);
	put_u32(r, (uint32_t)max_contacts);
	put_u8(r, listed);
	end_record(r);
}

void cr_record_begin_step(cr_recorder *r)
{
	if (!r)
		return;
	r->rejected.count = 0;
	r->dropped.count = 0;
	r->sphere_drops.count = 0;
	r->incomplete = false;
}

void cr_record_rejection(cr_recorder *r, int32_t a, int32_t b)
{
	if (!r)
		return;
	cr_lock(&r->lock);
	if (cr_array_reserve(r->context, &r->rejected, r->rejected.count + 1))
		r->rejected.data[r->rejected.count++] = (cr_key){ (uint64_t)a << 32 | (uint32_t)b, 0 };
	else
		r->incomplete = true;
	cr_unlock(&r->lock);
}

void cr_record_drop(cr_recorder *r, int32_t a, int32_t b, int32_t number)
{
	if (!r)
		return;
	cr_lock(&r->lock);
	if (cr_array_reserve(r->context, &r->dropped, r->dropped.count + 1))
		r->dropped.data[r->dropped.count++] = (cr_key){ (uint64_t)a << 32 | (uint32_t)b, (uint32_t)number };
	else
		r->incomplete = true;
	cr_unlock(&r->lock);
}

void cr_record_sphere_drop(cr_recorder *r, const cr_sphere_drop *drop)
{
	if (!r)
		return;
	cr_lock(&r->lock);
	if (cr_array_reserve(r->context, &r->sphere_drops, r->sphere_drops.count + 1))
		r->sphere_drops.data[r->sphere_drops.count++] = *drop;
	else
		r->incomplete = true;
	cr_unlock(&r->lock);
}

/// Workers ask the filter in any order, about bodies that deform perhaps more than once. There is
/// room in scratch.
static void sort_rejected(cr_recorder *r)
{
	if (r->rejected.count > 0)
		cr_radix_sort(r->rejected.data, r->scratch.data, r->rejected.count, 64);
	int64_t kept = 0;
	for (int64_t i = 0; i < r->rejected.count; i++) {
		if (kept == 0 || r->rejected.data[kept - 1].key != r->rejected.data[i].key)
			r->rejected.data[kept++] = r->rejected.data[i];
	}
	r->rejected.count = kept;
}

/// The sort keeps the order of equal keys, so the contacts of a pair stay in order. There is room
/// in scratch.
static void put_drops(cr_recorder *r)
{
	if (r->dropped.count > 0)
		cr_radix_sort(r->dropped.data, r->scratch.data, r->dropped.count, 64);
	put_u32(r, (uint32_t)r->dropped.count);
	for (int64_t i = 0; i < r->dropped.count; i++) {
		put_u32(r, (uint32_t)(r->dropped.data[i].key >> 32));
		put_u32(r, (uint32_t)r->dropped.data[i].key);
		put_u32(r, r->dropped.data[i].value);
	}
}

static int compare_drops(const void *a, const void *b) { return cr_compare_sphere_drops(a, b); }

static void put_sphere_drops(cr_recorder *r)
{
	if (r->sphere_drops.count > 1)
		cr_sort_stably(r->sphere_drops.data, r->sphere_drops.count, sizeof *r->sphere_drops.data, compare_drops);
	put_u32(r, (uint32_t)r->sphere_drops.count);
	for (int64_t i = 0; i < r->sphere_drops.count; i++) {
		const cr_sphere_drop *drop = &r->sphere_drops.data[i];
		put_u32(r, (uint32_t)(drop->pair >> 32));
		put_u32(r, (uint32_t)drop->pair);
		put_u32(r, (uint32_t)drop->sphere);
		put_u32(r, (uint32_t)drop->number);
	}
}

void cr_record_step(cr_recorder *r, uint64_t hash)
{
	if (!r || r->broken)
		return;
	const int64_t most = r->rejected.count > r->dropped.count ? r->rejected.count : r->dropped.count;
	if (r->incomplete || !cr_array_reserve(r->context, &r->scratch, most)) {
		give_up(r, "out of memory");
		return;
	}
	sort_rejected(r);
	begin_record(r, CR_RECORD_STEP);
	put_u32(r, (uint32_t)r->rejected.count);
	for (int64_t i = 0; i < r->rejected.count; i++) {
		put_u32(r, (uint32_t)(r->rejected.data[i].key >> 32));
		put_u32(r, (uint32_t)r->rejected.data[i].key);
	}
	put_drops(r);
	put_sphere_drops(r);
	put_u64(r, hash);
	end_record(r);
	r->stepped = true;
}

void cr_record_trim(cr_recorder *r)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_TRIM);
	end_record(r);
}

void cr_record_forget(cr_recorder *r)
{
	if (!r || r->broken)
		return;
	begin_record(r, CR_RECORD_FORGET);
	end_record(r);
}

// ---- Life ----

/// Write the end mark and free the recorder. Returns whether the stream is complete.
static bool finish(cr_recorder *r)
{
	begin_record(r, CR_RECORD_END);
	end_record(r);
	const bool complete = !r->broken;
	for (int64_t i = 0; i < r->meshes.count; i++)
		carom_release_mesh((carom_mesh *)r->meshes.data[i]);
	cr_array_free(r->context, &r->record);
	cr_array_free(r->context, &r->meshes);
	cr_array_free(r->context, &r->rejected);
	cr_array_free(r->context, &r->dropped);
	cr_array_free(r->context, &r->sphere_drops);
	cr_array_free(r->context, &r->scratch);
	cr_free(r->context, r, sizeof *r);
	return complete;
}

bool cr_is_writing(const cr_recorder *r) { return r && r->writing; }

void cr_recorder_destroy(cr_recorder *r)
{
	if (r)
		finish(r);
}

/// Returns whether the stream is complete; true when there is none.
static bool end_recording(carom_world *world)
{
	const bool complete = !world->recorder || finish(world->recorder);
	world->recorder = NULL;
	return complete;
}

static carom_result begin_recording(carom_world *world, carom_write_fn *write, void *user)
{
	carom_context *context = world->context;
	cr_recorder *r = cr_alloc_zero(context, sizeof *r);
	if (!r)
		return cr_fail_memory(context, "a recorder");
	r->context = context;
	r->write = write;
	r->user = user;
	r->check = CR_CHECK_SEED;
	atomic_flag_clear(&r->lock);
	// From here on, so that a call from inside the writer is known as one.
	world->recorder = r;
	uint8_t head[CR_RECORDING_MAGIC_SIZE + 4];
	memcpy(head, CR_RECORDING_MAGIC, CR_RECORDING_MAGIC_SIZE);
	cr_store_le(head + CR_RECORDING_MAGIC_SIZE, CR_RECORDING_VERSION, 4);
	write_bytes(r, head, sizeof head);
	record_world(r, &world->pipeline.settings);
	record_state(r, world);
	record_ways(r, world);
	if (r->broken) {
		end_recording(world);
		return cr_fail(
			context, CAROM_INVALID_RECORDING, "carom_world_record: the writer gave up or memory ran out before the first call");
	}
	// The replay begins with pairs that remember nothing: so does the world from here on.
	world->recorder = NULL;
	cr_world_forget(world);
	cr_forget_ways(world);
	cr_forget_sides(&world->surface_contacts);
	world->recorder = r;
	return CAROM_SUCCESS;
}

carom_result carom_world_record(carom_world *world, carom_write_fn *write, void *user)
{
	const carom_result result = cr_check_may_change(world, "carom_world_record");
	if (result != CAROM_SUCCESS)
		return result;
	// Of a recording that another replaces the log has told how it ended; the caller waits for the
	// beginning of the new one.
	const bool complete = end_recording(world);
	if (write)
		return begin_recording(world, write, user);
	if (complete)
		return CAROM_SUCCESS;
	return cr_fail(world->context, CAROM_INVALID_RECORDING,
		"carom_world_record: the recording that ends here is not complete: the writer gave up or memory ran out");
}
