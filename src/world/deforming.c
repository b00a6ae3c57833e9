/// Deforming bodies: places of their vertices in double, set by the caller; and, for queries, a
/// tree over them, which the first query that comes near after a change refits
/// (docs/internals/surface.md).
#include "world/deforming.h"
#include "base/spin_lock.h"
#include "sweep/sweep_motion.h"
#include "world/solids.h"
#include "world/world.h"
#include <stdio.h>
#include <string.h>

struct cr_deforming_view {
	atomic_uint revision; // of the surface when the others were made; 0: they are not
	atomic_flag lock;     // held while they are made
	carom_mesh seen;      // a mesh of the tree's topology and collider
	cr_body body;         // rigid, of the mesh seen
};

// ---- Places ----

static carom_result place_at(carom_context *memory, cr_surface *s, const carom_pose *pose, const char *name)
{
	const m3d rotation = m3d_from_quat(pose->orientation);
	for (int32_t i = 0; i < s->vertex_count; i++) {
		const v3d local = v3d_from_floats(s->faces->vertices + 3 * (int64_t)i);
		const v3d p = v3d_add(m3d_mul(&rotation, local), pose->position);
		for (int k = 0; k < 3; k++) {
			const double x = v3d_get(p, k);
			if (!(fabs(x) <= CAROM_MAX_COORDINATE))
				return cr_fail(memory, CAROM_INVALID_ARGUMENT,
					"%s: pose puts %c of vertex %d at %g, beyond CAROM_MAX_COORDINATE", name, 'x' + k, i, x);
			s->begin[3 * (int64_t)i + k] = s->end[3 * (int64_t)i + k] = x;
		}
	}
	return CAROM_SUCCESS;
}

carom_result cr_deforming_create(
	carom_context *memory, const carom_mesh *mesh, const carom_pose *pose, bool solid, const char *name, cr_deforming **made)
{
	*made = NULL;
	cr_deforming *d = cr_alloc_zero(memory, sizeof *d);
	cr_deforming_view *view = cr_alloc_zero(memory, sizeof *view);
	carom_result result = CAROM_SUCCESS;
	if (!d || !view)
		result = cr_fail_memory(memory, "a deforming body");
	if (result == CAROM_SUCCESS)
		result = cr_surface_init(memory, &mesh->collider, &mesh->report, solid, &d->surface);
	if (result == CAROM_SUCCESS)
		result = place_at(memory, &d->surface, pose, name);
	if (result != CAROM_SUCCESS) {
		if (d)
			cr_surface_free(&d->surface);
		cr_free(memory, view, sizeof *view);
		cr_free(memory, d, sizeof *d);
		return result;
	}
	atomic_flag_clear(&view->lock);
	atomic_flag_clear(&d->form_lock);
	d->view = view;
	d->mesh = mesh;
	cr_surface_touch(&d->surface);
	*made = d;
	return CAROM_SUCCESS;
}

void cr_deforming_free(carom_world *world, cr_deforming *d)
{
	if (!d)
		return;
	carom_context *memory = &world->memory;
	cr_drop_form(world, d);
	carom_release_mesh(d->turned);
	cr_surface_free(&d->surface);
	cr_free(memory, d->view, sizeof *d->view);
	cr_free(memory, d, sizeof *d);
}

// ---- Forms for queries ----

/// Bring the tree for queries up to date: that of a solid that is inside out is of the mesh turned
/// round.
static carom_result see_tree(cr_deforming *d)
{
	cr_surface_tree *tree = &d->surface.tree;
	const carom_mesh *mesh = d->mesh;
	const carom_result result = tree->solid ? cr_see_outward(d, &mesh) : CAROM_SUCCESS;
	if (result != CAROM_SUCCESS)
		return result;
	if (tree->rest != &mesh->collider) {
		cr_surface_tree_free(d->surface.memory, tree);
		cr_surface_tree_init(tree, &mesh->collider, &mesh->report, tree->solid);
	}
	return cr_surface_see(&d->surface);
}

/// Fill view->seen: by the form that contacts use, if there is one, else by a tree for queries.
/// Shallow: these own its content. *turned: of the mesh turned round.
static carom_result see_mesh(const cr_body *body, bool *turned)
{
	cr_deforming *d = cr_deforming_of(body);
	cr_surface_tree *tree = &d->surface.tree;
	carom_result result = CAROM_SUCCESS;
	const carom_mesh *form = cr_has_contacts(body) ? cr_see_form(d, &result) : NULL;
	if (form) {
		cr_surface_tree_free(d->surface.memory, tree);
		d->view->seen = (carom_mesh){ .report = form->report, .topology = form->topology, .collider = form->collider };
		d->view->seen.collider.closed = tree->solid;
		*turned = d->form.turned;
		return CAROM_SUCCESS;
	}
	if (result == CAROM_SUCCESS)
		result = see_tree(d);
	*turned = d->turned && tree->rest == &d->turned->collider;
	d->view->seen = (carom_mesh){ .report = tree->report, .topology = tree->now, .collider = tree->collider };
	return result;
}

static carom_result look(const cr_body *body)
{
	cr_deforming_view *view = cr_deforming_of(body)->view;
	bool turned;
	const carom_result result = see_mesh(body, &turned);
	if (result != CAROM_SUCCESS)
		return result;
	view->seen.collider.topology = &view->seen.topology;
	view->body = (cr_body){
		.alive = true,
		.kind = body->kind,
		.shape = { .def = { .type = CAROM_MESH, .mesh = &view->seen },
			.family = CR_FAMILY_MESH,
			.turned = turned,
			.mesh = &view->seen,
			.collider = &view->seen.collider },
		.pose = { cr_surface_middle(&cr_deforming_of(body)->surface), { 0, 0, 0, 1 } },
	};
	return CAROM_SUCCESS;
}

const cr_body *cr_see_body(const cr_body *body, carom_result *result)
{
	if (!cr_deforming_of(body))
		return body;
	cr_deforming_view *view = cr_deforming_of(body)->view;
	const uint32_t revision = cr_deforming_of(body)->surface.revision;
	if (atomic_load_explicit(&view->revision, memory_order_acquire) == revision)
		return &view->body;
	cr_lock(&view->lock);
	carom_result made = CAROM_SUCCESS;
	if (atomic_load_explicit(&view->revision, memory_order_relaxed) != revision) {
		made = look(body);
		atomic_store_explicit(&view->revision, made == CAROM_SUCCESS ? revision : 0, memory_order_release);
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
	if (!cr_deforming_of(body))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: the body is %s moves it", set_name,
			cr_granular_of(body) ? "of spheres: carom_world_set_spheres" : "rigid: carom_world_set_pose");
	if (!begin && !end)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: begin and end are NULL", set_name);
	const int32_t count = cr_deforming_of(body)->surface.vertex_count;
	carom_result result = CAROM_SUCCESS;
	if (begin)
		result = check_places(context, id, "begin", begin, count);
	if (end && result == CAROM_SUCCESS)
		result = check_places(context, id, "end", end, count);
	return result;
}

carom_result carom_world_set_vertices(carom_world *world, carom_body_id id, const carom_strided *begin, const carom_strided *end)
{
	cr_body *body;
	carom_result result = cr_find_body(world, id, set_name, &body);
	if (result != CAROM_SUCCESS)
		return result;
	result = check_vertices(world, id, body, begin, end);
	if (result != CAROM_SUCCESS)
		return result;
	cr_surface *s = &cr_deforming_of(body)->surface;
	if (begin)
		s->largest_begin = cr_read_sweep_vertices(begin, s->vertex_count, s->begin);
	body->stir += cr_surface_set_end(s, end);
	body->moved = true;
	body->reshaped = body->reshaped > CR_SHAPE_MOVED ? body->reshaped : CR_SHAPE_MOVED;
	cr_note_boxes(world, body, 1);
	cr_record_set_vertices(world->recorder, id, s, begin, end);
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
	if (!cr_deforming_of(body))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: the body is %s", name,
			cr_granular_of(body) ? "of spheres: carom_world_get_spheres tells their places"
								 : "rigid: carom_world_get_pose tells its place");
	*view = (carom_vertex_view){ cr_deforming_of(body)->surface.end, cr_deforming_of(body)->surface.vertex_count };
	return CAROM_SUCCESS;
}

carom_result carom_world_get_enclosed(const carom_world *world, carom_body_id id, carom_enclosed *enclosed)
{
	static const char *const name = "carom_world_get_enclosed";
	const cr_body *body = cr_find_body_const(world, id, name);
	if (!body)
		return CAROM_INVALID_BODY;
	if (!enclosed)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: enclosed is NULL", name);
	*enclosed = (carom_enclosed){ 0 };
	const cr_deforming *d = cr_deforming_of(body);
	if (!d)
		return cr_fail(
			world->context, CAROM_INVALID_ARGUMENT, "%s: body (%u, %u) does not deform", name, id.index1, id.generation);
	if (!d->mesh->report.closed) {
		char why[CR_WHY_OPEN];
		cr_say_why_open(&d->mesh->topology, &d->mesh->report, why);
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: the mesh of body (%u, %u) is open: %s", name, id.index1,
			id.generation, why);
	}
	*enclosed = cr_measure_enclosed(d);
	return CAROM_SUCCESS;
}
