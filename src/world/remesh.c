/// Another mesh for a deforming body while it lives: torn, cut, refined or coarsened.
///
/// Everything that may fail is made beside the body and then exchanged: on failure nothing has
/// changed. Places go along a map from the new vertices to the old ones. The scene of impacts, with
/// its tree and front, lives on where triangles and vertices are the old ones. The memory of
/// surface contacts goes along the map too (surface_carry.c). Cost: O(n), and that of a new scene
/// in the next step.

#include "sweep/sweep_motion.h"
#include "world/world.h"
#include <stdio.h>
#include <string.h>

static const char *const name = "carom_world_set_mesh";

/// A change on its way.
typedef struct remesh {
	const cr_surface *old;
	const carom_mesh *mesh;
	const int32_t *from;         // NULL: each vertex was the one of its number
	const carom_strided *places; // NULL: by the pose of the body
} remesh;

/// The old vertex that a new one was; -1: none.
static int32_t source_of(const remesh *r, int32_t vertex)
{
	if (r->from)
		return r->from[vertex];
	return vertex < r->old->vertex_count ? vertex : -1;
}

// ---- Checks ----

static carom_result check_map(carom_context *context, const remesh *r)
{
	const int32_t count = r->mesh->topology.vertex_count, old = r->old->vertex_count;
	for (int32_t i = 0; r->from && i < count; i++) {
		if (r->from[i] < -1 || r->from[i] >= old)
			return cr_fail(context, CAROM_INVALID_ARGUMENT,
				"%s: from[%d] is %d; it must be -1 or one of the body's %d vertices", name, i, r->from[i], old);
	}
	return CAROM_SUCCESS;
}

static carom_result check(carom_world *world, const cr_body *body, const carom_mesh *mesh, const remesh *r)
{
	carom_context *context = world->context;
	carom_body_def def = cr_def_of_body(body);
	def.shape.mesh = mesh;
	carom_result result = cr_check_body_shape(context, &def.shape, def.kind, name);
	if (result == CAROM_SUCCESS)
		result = cr_check_deforming(context, &def, name);
	if (result == CAROM_SUCCESS)
		result = check_map(context, r);
	if (result == CAROM_SUCCESS && r->places)
		result = cr_check_sweep_vertices(
			context, "carom_world_set_mesh: places", r->places, mesh->topology.vertex_count, CAROM_INVALID_ARGUMENT);
	return result;
}

// ---- The change ----

/// Give the new surface the places of the old one. It has those of its mesh under the body's pose.
static void carry_places(const remesh *r, cr_surface *made)
{
	for (int32_t i = 0; i < made->vertex_count; i++) {
		double *begin = &made->begin[3 * (int64_t)i], *end = &made->end[3 * (int64_t)i];
		const int64_t from = source_of(r, i);
		if (from >= 0) {
			memcpy(begin, &r->old->begin[3 * from], 3 * sizeof *begin);
			memcpy(end, &r->old->end[3 * from], 3 * sizeof *end);
		} else if (r->places) {
			cr_read_vertex(r->places, i, end);
			memcpy(begin, end, 3 * sizeof *begin);
		}
	}
	cr_surface_touch(made);
}

/// Is each vertex the one that it was, and are the triangles the same?
static bool keeps_faces(const remesh *r)
{
	const cr_topology *t = &r->mesh->topology, *old = r->old->faces;
	if (t->vertex_count != old->vertex_count || t->triangle_count != old->triangle_count)
		return false;
	for (int32_t i = 0; i < t->vertex_count; i++) {
		if (source_of(r, i) != i)
			return false;
	}
	return t->triangle_count == 0 ||
		memcmp(t->triangles, old->triangles, 3 * (size_t)t->triangle_count * sizeof *t->triangles) == 0;
}

/// The memory of the body's surface contacts; empty where its faces stay.
static carom_result carry_sides(
	carom_world *world, const cr_body *body, const remesh *r, const cr_surface *made, cr_carried *carried)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const int32_t part = (int32_t)(body - world->bodies.data);
	if (keeps_faces(r) ||
		(cr_carry_surface_contacts(world, part, r->old, made, r->from, carried) &&
			cr_reserve_carried(&world->memory, m, carried)))
		return CAROM_SUCCESS;
	cr_free_carried(&world->memory, carried);
	return cr_fail_memory(world->context, "the memory of surface contacts");
}

static void swap(carom_world *world, cr_body *body, const remesh *r, cr_deforming *made, cr_carried *carried)
{
	carom_shape shape = body->shape.def;
	shape.mesh = r->mesh;
	const cr_reshaping reshaping = keeps_faces(r) ? CR_SHAPE_REMADE : CR_SHAPE_CHANGED;
	if (reshaping == CR_SHAPE_CHANGED) {
		cr_forget_scenes(world);
		cr_drop_carried(&world->surface_contacts, (int32_t)(body - world->bodies.data));
		cr_take_carried(&world->memory, &world->surface_contacts, carried);
	}
	cr_drop_surface_fans(&world->memory, &world->surface_contacts);
	cr_deforming_free(world, cr_deforming_of(body));
	cr_shape_free(&body->shape);
	cr_shape_init(&shape, &body->shape);
	body->own.deforming = made;
	body->moved = true;
	body->reshaped = body->reshaped > reshaping ? body->reshaped : (uint8_t)reshaping;
	cr_note_members(world);
	cr_note_boxes(world, body, 1);
}

carom_result carom_world_set_mesh(
	carom_world *world, carom_body_id id, const carom_mesh *mesh, const int32_t *from, const carom_strided *places)
{
	cr_body *body;
	carom_result result = cr_find_body(world, id, name, &body);
	if (result != CAROM_SUCCESS)
		return result;
	if (!mesh)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: mesh is NULL", name);
	if (!cr_deforming_of(body))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: the body is %s", name,
			cr_granular_of(body) ? "of spheres" : "rigid: carom_world_set_shape changes its shape");
	const remesh r = { &cr_deforming_of(body)->surface, mesh, from, places };
	result = check(world, body, mesh, &r);
	if (result != CAROM_SUCCESS)
		return result;
	const unsigned refusals = cr_count_refusals(world);
	cr_deforming *made;
	result = cr_deforming_create(&world->memory, mesh, &body->pose, body->kind == CAROM_DEFORMABLE, name, &made);
	if (result != CAROM_SUCCESS)
		return cr_explain_failure(world, name, refusals, result);
	carry_places(&r, &made->surface);
	cr_carried carried = { 0 };
	result = carry_sides(world, body, &r, &made->surface, &carried);
	if (result != CAROM_SUCCESS) {
		cr_deforming_free(world, made);
		return cr_explain_failure(world, name, refusals, result);
	}
	cr_record_set_mesh(world->recorder, id, mesh, r.old->vertex_count, from, places);
	swap(world, body, &r, made, &carried);
	return CAROM_SUCCESS;
}
