/// Deforming bodies: places of their vertices in double, set by the caller; and, for queries, a tree over them, which the first query
/// that comes near after a change refits (docs/internals/surface.md).
#include "world/deforming.h"
#include "base/spin_lock.h"
#include "surface/surface_tree.h"
#include "sweep/sweep_motion.h"
#include "world/world.h"
#include <stdio.h>
#include <string.h>

struct cr_deforming_view {
	carom_context *memory;
	const carom_mesh *mesh; // of the body: its triangles
	atomic_bool valid;      // tree, seen and body are those of the places set last
	atomic_flag lock;       // held while they are made
	cr_surface_tree tree;
	carom_mesh seen; // a mesh of the tree's topology and collider
	cr_body body;    // rigid, of the mesh seen
};

// ---- Places ----

static void measure_box(cr_deforming *d)
{
	const cr_topology *t = &d->view->mesh->topology;
	for (int k = 0; k < 3; k++) {
		d->lower[k] = INFINITY;
		d->upper[k] = -INFINITY;
	}
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count; i++) {
		const double *p = &d->end[3 * (int64_t)t->triangles[i]];
		for (int k = 0; k < 3; k++) {
			d->lower[k] = p[k] < d->lower[k] ? p[k] : d->lower[k];
			d->upper[k] = p[k] > d->upper[k] ? p[k] : d->upper[k];
		}
	}
}

void cr_deforming_touch(cr_deforming *d)
{
	measure_box(d);
	atomic_store_explicit(&d->view->valid, false, memory_order_relaxed);
}

void cr_deforming_rest(cr_deforming *d)
{
	if (d->vertex_count > 0)
		memcpy(d->begin, d->end, 3 * (size_t)d->vertex_count * sizeof *d->begin);
}

static carom_result place_at(carom_context *memory, cr_deforming *d, const carom_pose *pose, const char *name)
{
	const m3d rotation = m3d_from_quat(pose->orientation);
	const float *vertices = d->view->mesh->topology.vertices;
	for (int32_t i = 0; i < d->vertex_count; i++) {
		const v3d local = v3d_from_floats(vertices + 3 * (int64_t)i);
		const v3d p = v3d_add(m3d_mul(&rotation, local), pose->position);
		for (int k = 0; k < 3; k++) {
			const double x = v3d_get(p, k);
			if (!(fabs(x) <= CAROM_MAX_COORDINATE))
				return cr_fail(memory, CAROM_INVALID_ARGUMENT,
					"%s: pose puts %c of vertex %d at %g, beyond CAROM_MAX_COORDINATE", name, 'x' + k, i, x);
			d->begin[3 * (int64_t)i + k] = d->end[3 * (int64_t)i + k] = x;
		}
	}
	return CAROM_SUCCESS;
}

carom_result cr_deforming_create(
	carom_context *memory, const carom_mesh *mesh, const carom_pose *pose, bool solid, const char *name, cr_deforming **made)
{
	*made = NULL;
	const int32_t count = mesh->topology.vertex_count;
	cr_deforming *d = cr_alloc_zero(memory, sizeof *d);
	if (!d)
		return cr_fail_memory(memory, "a deforming body");
	d->vertex_count = count;
	d->view = cr_alloc_zero(memory, sizeof *d->view);
	d->begin = cr_alloc_array(memory, 3 * (size_t)count, sizeof *d->begin);
	d->end = cr_alloc_array(memory, 3 * (size_t)count, sizeof *d->end);
	carom_result result = CAROM_SUCCESS;
	if (!d->view || (count > 0 && (!d->begin || !d->end))) {
		result = cr_fail_memory(memory, "a deforming body");
	} else {
		d->view->memory = memory;
		d->view->mesh = mesh;
		cr_surface_tree_init(&d->view->tree, &mesh->collider, &mesh->report, solid);
		atomic_init(&d->view->valid, false);
		atomic_flag_clear(&d->view->lock);
		result = place_at(memory, d, pose, name);
	}
	if (result != CAROM_SUCCESS) {
		cr_deforming_free(memory, d);
		return result;
	}
	measure_box(d);
	*made = d;
	return CAROM_SUCCESS;
}

void cr_deforming_free(carom_context *memory, cr_deforming *d)
{
	if (!d)
		return;
	if (d->view)
		cr_surface_tree_free(memory, &d->view->tree);
	cr_free(memory, d->view, sizeof *d->view);
	cr_free(memory, d->begin, 3 * (size_t)d->vertex_count * sizeof *d->begin);
	cr_free(memory, d->end, 3 * (size_t)d->vertex_count * sizeof *d->end);
	cr_free(memory, d, sizeof *d);
}

// ---- Forms for queries ----

static carom_result look(const cr_deforming *d)
{
	cr_deforming_view *view = d->view;
	cr_surface_tree *tree = &view->tree;
	const carom_result result = cr_surface_tree_update(view->memory, tree, d->end, d->lower, d->upper);
	if (result != CAROM_SUCCESS)
		return result;
	// Shallow: the tree owns what is in it.
	view->seen = (carom_mesh){ .report = tree->report, .topology = tree->now, .collider = tree->collider };
	view->seen.collider.topology = &view->seen.topology;
	view->body = (cr_body){
		.alive = true,
		.shape = { .def = { .type = CAROM_MESH, .mesh = &view->seen },
			.family = CR_FAMILY_MESH,
			.collider = &view->seen.collider },
		.pose = { tree->middle, { 0, 0, 0, 1 } },
		.rotation = m3d_from_quat((carom_quat){ 0, 0, 0, 1 }),
	};
	return CAROM_SUCCESS;
}

const cr_body *cr_see_body(const cr_body *body, carom_result *result)
{
	if (!body->deforming)
		return body;
	cr_deforming_view *view = body->deforming->view;
	if (atomic_load_explicit(&view->valid, memory_order_acquire))
		return &view->body;
	cr_lock(&view->lock);
	carom_result made = CAROM_SUCCESS;
	if (!atomic_load_explicit(&view->valid, memory_order_relaxed)) {
		made = look(body->deforming);
		atomic_store_explicit(&view->valid, made == CAROM_SUCCESS, memory_order_release);
	}
	cr_unlock(&view->lock);
	if (made == CAROM_SUCCESS)
		return &view->body;
	*result = made;
	return NULL;
}

// ---- Calls ----

static const char *const set_name = "carom_world_set_vertices";

/// Check one end of a motion, of the given name.
static carom_result check_places(
	carom_context *context, carom_body_id id, const char *name, const carom_strided *places, int32_t count)
{
	char field[96];
	snprintf(field, sizeof field, "%s: body (%u, %u): %s", set_name, id.index1, id.generation, name);
	return cr_check_sweep_vertices(context, field, places, count, CAROM_INVALID_ARGUMENT);
}

static carom_result check_vertices(
	carom_world *world, carom_body_id id, const cr_body *body, const carom_strided *begin, const carom_strided *end)
{
	carom_context *context = world->context;
	if (!body->deforming)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: the body is rigid: carom_world_set_pose moves it", set_name);
	if (!begin && !end)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: begin and end are NULL", set_name);
	const int32_t count = body->deforming->vertex_count;
	carom_result result = CAROM_SUCCESS;
	if (begin)
		result = check_places(context, id, "begin", begin, count);
	if (end && result == CAROM_SUCCESS)
		result = check_places(context, id, "end", end, count);
	return result;
}

carom_result carom_world_set_vertices(carom_world *world, carom_body_id id, const carom_strided *begin, const carom_strided *end)
{
	cr_body *body = cr_find_body(world, id, set_name);
	if (!body)
		return CAROM_INVALID_BODY;
	const carom_result result = check_vertices(world, id, body, begin, end);
	if (result != CAROM_SUCCESS)
		return result;
	cr_deforming *d = body->deforming;
	if (begin)
		cr_read_sweep_vertices(begin, d->vertex_count, d->begin);
	if (end)
		cr_read_sweep_vertices(end, d->vertex_count, d->end);
	else if (d->vertex_count > 0)
		memcpy(d->end, d->begin, 3 * (size_t)d->vertex_count * sizeof *d->end);
	cr_deforming_touch(d);
	body->moved = true;
	cr_query_index_invalidate(world->query_index);
	cr_record_set_vertices(world->recorder, id, d, begin, end);
	return CAROM_SUCCESS;
}

carom_result carom_world_get_vertices(const carom_world *world, carom_body_id id, carom_vertex_view *view)
{
	static const char *const name = "carom_world_get_vertices";
	const cr_body *body = cr_find_body_const(world, id, name);
	if (!body)
		return CAROM_INVALID_BODY;
	if (!view)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: view is NULL", name);
	if (!body->deforming)
		return cr_fail(
			world->context, CAROM_INVALID_ARGUMENT, "%s: the body is rigid: carom_world_get_pose tells its place", name);
	*view = (carom_vertex_view){ body->deforming->end, body->deforming->vertex_count };
	return CAROM_SUCCESS;
}
