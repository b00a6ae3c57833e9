/// Solids that deform, in contacts. See solids.h.
///
/// A solid is a mesh like any other at the instant that a step looks at. So a step shows each solid
/// as a rigid body: a mesh of its vertices about the middle of its box, at a pose that moves it
/// there. All stages then treat it as they treat a rigid mesh. Its vertices and triangles keep
/// their numbers, so contacts are matched by them. While its form is refitted, samples keep theirs
/// too, and pairs remember them (frame/temporal.h). A solid all of whose pairs are known to be
/// apart gets no form.
///
/// A solid that a step of its solver turns inside out is still a body, whose outside is where
/// nothing is enclosed. Its form is that of the mesh turned round, so all stages see a mesh like
/// any other. Its triangles and samples keep their numbers, and the memory of pairs, which is about
/// distances alone, stays true. Contacts name edges as the user's mesh has them
/// (cr_name_edges).
#include "world/solids.h"
#include "base/parallel.h"
#include "base/spin_lock.h"
#include "world/world.h"

// Of its volume at rest: a solid that encloses so much less than nothing is inside out. A flatter
// one has the contacts of either side (docs/measured/deforming.md), and one that is folded, partly
// inside out, mostly keeps the side of its larger part.
static const double INSIDE_OUT = 0.02;

static bool is_solid(const cr_body *body) { return body->alive && cr_deforming_of(body) && cr_has_contacts(body); }

void cr_drop_form(carom_world *world, cr_deforming *d)
{
	if (d->form.mesh)
		cr_drop_body_shape(world, &d->form);
	d->form = (cr_shape){ 0 };
	d->form_revision = d->form_places = 0;
	d->form_refits = false;
}

// ---- Inside out ----

carom_enclosed cr_measure_enclosed(const cr_deforming *d)
{
	const double volume = cr_surface_volume(&d->surface), rest = fabs(d->mesh->report.volume);
	return (carom_enclosed){ volume, rest, rest > 0 && volume < -INSIDE_OUT * rest };
}

static bool is_inside_out(const cr_deforming *d) { return cr_measure_enclosed(d).inside_out; }

/// The mesh at rest, or turned round.
static carom_result see_mesh(cr_deforming *d, bool turned, const carom_mesh **mesh)
{
	*mesh = d->mesh;
	if (!turned)
		return CAROM_SUCCESS;
	cr_lock(&d->form_lock);
	const carom_result result = d->turned ? CAROM_SUCCESS : cr_turn_mesh(d->surface.memory, d->mesh, &d->turned);
	cr_unlock(&d->form_lock);
	*mesh = d->turned;
	return result;
}

carom_result cr_see_outward(cr_deforming *d, const carom_mesh **mesh) { return see_mesh(d, is_inside_out(d), mesh); }

// ---- Forms ----

/// May forms be refitted? Not where rays go through something that is made of each mesh once.
static bool may_refit(const carom_world *world)
{
	const carom_ray_method method = world->pipeline.settings.lab.ray_method;
	return method != CAROM_RAYS_BINARY && method != CAROM_RAYS_PLUGIN;
}

/// Does a form have a mesh that its vertices may move with?
static bool can_refit(const cr_deforming *d) { return d->form.mesh && d->form_refits; }

/// Give a body the box and the pose of a form at the places of its surface, and no motion.
static void stand_at(cr_body *body, const cr_surface *s)
{
	body->shape.centred = true;
	body->pose = (carom_pose){ cr_surface_middle(s), { 0, 0, 0, 1 } };
}

static void show(carom_world *world, cr_body *body)
{
	cr_deforming *d = cr_deforming_of(body);
	const cr_surface *s = &d->surface;
	const bool is_up_to_date = d->form_revision == s->revision;
	if (!is_up_to_date && !can_refit(d))
		cr_drop_form(world, d);
	d->shape = body->shape;
	d->pose = body->pose;
	body->shape.mesh = is_up_to_date ? d->form.mesh : NULL;
	body->shape.collider = is_up_to_date ? d->form.collider : NULL;
	body->shape.turned = is_up_to_date && d->form.turned;
	stand_at(body, s);
}

static void hide(cr_body *body)
{
	cr_deforming *d = cr_deforming_of(body);
	body->shape = d->shape;
	body->pose = d->pose;
}

bool cr_show_solids(carom_world *world)
{
	bool any = false;
	for (int64_t i = 0; world->impacts.deforming_count > 0 && i < world->bodies.count; i++) {
		cr_body *body = &world->bodies.data[i];
		if (!is_solid(body))
			continue;
		show(world, body);
		any = true;
	}
	return any;
}

void cr_hide_solids(carom_world *world)
{
	for (int64_t i = 0; world->impacts.deforming_count > 0 && i < world->bodies.count; i++) {
		if (is_solid(&world->bodies.data[i]))
			hide(&world->bodies.data[i]);
	}
}

/// Let the mesh of a form follow the places, unless a query did. CAROM_INVALID_MESH: it cannot.
static carom_result follow_places(cr_deforming *d)
{
	if (d->form_places == d->surface.revision)
		return CAROM_SUCCESS;
	d->form_places = 0;
	cr_surface_round(&d->surface, d->form.mesh->topology.vertices);
	const carom_result result = cr_refit_moved_mesh(d->form.mesh, d->form.mesh->topology.vertices);
	if (result == CAROM_SUCCESS)
		d->form_places = d->surface.revision;
	return result;
}

/// Let the mesh of a form follow the places. turned: it is to be turned round. *done: it could;
/// otherwise it has none.
static carom_result refit_mesh(carom_world *world, cr_deforming *d, const carom_mesh *mesh, bool turned, bool *done)
{
	carom_result result = CAROM_SUCCESS;
	*done = false;
	if (!can_refit(d) || d->form.turned != turned) {
		cr_drop_form(world, d);
		if (!may_refit(world) || !cr_can_refit_moved(mesh))
			return CAROM_SUCCESS;
		result = cr_copy_moved_mesh(&world->memory, mesh, &d->form.mesh);
		d->form_refits = result == CAROM_SUCCESS;
	}
	if (result == CAROM_SUCCESS)
		result = follow_places(d);
	*done = result == CAROM_SUCCESS;
	if (!*done)
		cr_drop_form(world, d);
	return result == CAROM_INVALID_MESH ? CAROM_SUCCESS : result;
}

/// A mesh that is made of the present places.
static carom_result create_mesh(carom_context *memory, const cr_surface *s, const carom_mesh *mesh, carom_mesh **made)
{
	const size_t bytes = 3 * (size_t)s->vertex_count * sizeof(float);
	float *vertices = cr_alloc(memory, bytes);
	*made = NULL;
	if (!vertices)
		return cr_fail_memory(memory, "a solid");
	cr_surface_round(s, vertices);
	const carom_result result = cr_create_moved_mesh(memory, mesh, vertices, made);
	cr_free(memory, vertices, bytes);
	return result;
}

/// The mesh of the present places: that of the last ones refitted, or made.
static carom_result make_mesh(carom_world *world, cr_deforming *d)
{
	const bool turned = is_inside_out(d);
	const carom_mesh *mesh;
	bool done = false;
	carom_result result = see_mesh(d, turned, &mesh);
	if (result == CAROM_SUCCESS)
		result = refit_mesh(world, d, mesh, turned, &done);
	if (result == CAROM_SUCCESS && !done)
		result = create_mesh(&world->memory, &d->surface, mesh, &d->form.mesh);
	d->form.def = d->shape.def;
	d->form.family = CR_FAMILY_MESH;
	d->form.turned = turned;
	return result;
}

/// Give a body its form. On failure it has none.
static carom_result make_form(carom_world *world, cr_body *body)
{
	cr_deforming *d = cr_deforming_of(body);
	carom_result result = make_mesh(world, d);
	if (result != CAROM_SUCCESS)
		return result;
	d->form.collider = &d->form.mesh->collider;
	const struct cr_laboratory *lab = cr_laboratory_of(&world->pipeline);
	if (lab)
		result = lab->attach(&world->pipeline, &d->form, "carom_world_step");
	if (result != CAROM_SUCCESS) {
		cr_shape_free(&d->form);
		d->form = (cr_shape){ 0 };
		d->form_places = 0;
		return result;
	}
	d->form_revision = d->surface.revision;
	body->shape.mesh = d->form.mesh;
	body->shape.collider = d->form.collider;
	body->shape.turned = d->form.turned;
	return CAROM_SUCCESS;
}

/// Solids that need a form.
typedef struct form_list {
	carom_world *world;
	cr_body **bodies; // [count]
	int64_t count;
	atomic_int worst; // a carom_result of those made; CAROM_SUCCESS: all are well
} form_list;

static void note_result(form_list *list, carom_result result)
{
	if (result != CAROM_SUCCESS)
		atomic_store_explicit(&list->worst, (int)result, memory_order_relaxed);
}

static void form_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	form_list *list = task;
	for (int64_t i = begin; i < end; i++)
		note_result(list, make_form(list->world, list->bodies[i]));
}

static void facet_task(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	form_list *list = task;
	for (int64_t i = begin; i < end; i++)
		note_result(list, cr_make_moved_facets(cr_deforming_of(list->bodies[i])->form.mesh));
}

/// Does a solid need its form? The note is taken back.
static bool needs_form(cr_deforming *d)
{
	const bool needs = d->needs_form;
	d->needs_form = false;
	return needs;
}

static bool needs_facets(cr_deforming *d)
{
	const bool needs = d->needs_facets;
	d->needs_facets = false;
	return needs;
}

/// Run a task over the solids that need something, on all threads.
static carom_result run_list(form_list *list, bool (*needs)(cr_deforming *), carom_task_fn *task)
{
	carom_world *world = list->world;
	const size_t bytes = (size_t)world->impacts.deforming_count * sizeof *list->bodies;
	list->bodies = cr_alloc(&world->memory, bytes);
	if (!list->bodies)
		return cr_fail_memory(world->context, "the solids of a step");
	for (int64_t i = 0; i < world->bodies.count; i++) {
		cr_body *body = &world->bodies.data[i];
		if (is_solid(body) && needs(cr_deforming_of(body)))
			list->bodies[list->count++] = body;
	}
	// A laboratory is not for several threads, and its texts are of the one that calls.
	if (cr_laboratory_of(&world->pipeline))
		task(0, list->count, 0, list);
	else
		cr_parallel_for(world->context, task, list->count, 1, list);
	cr_free(&world->memory, list->bodies, bytes);
	const carom_result worst = (carom_result)atomic_load(&list->worst);
	return worst == CAROM_OUT_OF_MEMORY ? cr_fail_memory(world->context, "a solid") : worst;
}

carom_result cr_make_forms(void *user)
{
	carom_world *world = user;
	form_list list = { .world = world, .worst = CAROM_SUCCESS };
	return run_list(&list, needs_form, form_task);
}

carom_result cr_make_form_facets(void *user)
{
	carom_world *world = user;
	form_list list = { .world = world, .worst = CAROM_SUCCESS };
	return run_list(&list, needs_facets, facet_task);
}

/// A mesh of the present places of a solid, as a step makes it, with its facets.
static carom_result freeze(carom_context *memory, const cr_surface *s, const carom_mesh *mesh, carom_mesh **made)
{
	carom_result result = CAROM_INVALID_MESH;
	*made = NULL;
	if (cr_can_refit_moved(mesh)) {
		result = cr_copy_moved_mesh(memory, mesh, made);
		if (result == CAROM_SUCCESS) {
			cr_surface_round(s, (*made)->topology.vertices);
			result = cr_refit_moved_mesh(*made, (*made)->topology.vertices);
		}
		if (result == CAROM_SUCCESS && (*made)->facets.put_off)
			result = cr_make_moved_facets(*made);
		if (result != CAROM_SUCCESS) {
			carom_release_mesh(*made);
			*made = NULL;
		}
	}
	return result == CAROM_INVALID_MESH ? create_mesh(memory, s, mesh, made) : result;
}

/// Is the mesh of a form that of the present places, or can be? The caller holds the lock.
static bool has_form(cr_deforming *d, carom_result *result)
{
	if (d->form.mesh && d->form_revision == d->surface.revision)
		return true;
	// Where it cannot follow the places, the next step finds that out as well, and drops it.
	const bool can = can_refit(d) && (d->form_places == d->surface.revision || d->form.turned == is_inside_out(d));
	const carom_result followed = can ? follow_places(d) : CAROM_INVALID_MESH;
	*result = followed == CAROM_INVALID_MESH ? CAROM_SUCCESS : followed;
	return followed == CAROM_SUCCESS;
}

const carom_mesh *cr_see_form(cr_deforming *d, carom_result *result)
{
	*result = CAROM_SUCCESS;
	cr_lock(&d->form_lock);
	const bool has = has_form(d, result);
	cr_unlock(&d->form_lock);
	return has ? d->form.mesh : NULL;
}

/// cr_see_form, with facets even if they are put off.
static const carom_mesh *see_whole_form(cr_deforming *d, carom_result *result)
{
	*result = CAROM_SUCCESS;
	cr_lock(&d->form_lock);
	const bool has = has_form(d, result);
	if (has && d->form.mesh->facets.put_off)
		*result = cr_make_moved_facets(d->form.mesh);
	cr_unlock(&d->form_lock);
	return has ? d->form.mesh : NULL;
}

carom_result cr_see_solid(carom_context *memory, const cr_body *solid, cr_body *seen, carom_mesh **made)
{
	cr_deforming *d = cr_deforming_of(solid);
	*seen = *solid;
	*made = NULL;
	carom_result result;
	const carom_mesh *mesh = see_whole_form(d, &result), *outward;
	seen->shape.turned = mesh && d->form.turned;
	if (result == CAROM_SUCCESS && !mesh) {
		seen->shape.turned = is_inside_out(d);
		result = see_mesh(d, seen->shape.turned, &outward);
		if (result == CAROM_SUCCESS)
			result = freeze(memory, &d->surface, outward, made);
		mesh = *made;
	}
	if (result != CAROM_SUCCESS)
		return result;
	seen->shape.mesh = (carom_mesh *)mesh;
	seen->shape.collider = &mesh->collider;
	seen->own.deforming = NULL;
	stand_at(seen, &d->surface);
	return CAROM_SUCCESS;
}
