/// Solids that deform, in contacts. See solids.h.
///
/// A solid is a mesh like any other at the instant that a step looks at. So a step shows each solid
/// as a rigid body: a mesh of its vertices about the middle of its box, at a pose that moves it
/// there. All stages then treat it as they treat a rigid mesh. Its vertices and triangles keep
/// their numbers, so contacts are matched by them. What pairs remember of it is dropped when
/// vertices were set (CR_SHAPE_MOVED).
#include "world/solids.h"
#include "world/world.h"

static bool is_solid(const cr_body *body) { return body->alive && body->deforming && cr_has_contacts(body); }

void cr_drop_form(carom_world *world, cr_deforming *d)
{
	if (d->form.mesh)
		cr_drop_body_shape(world, &d->form);
	d->form.mesh = NULL;
	d->form.collider = NULL;
	d->form_revision = 0;
}

static void show(carom_world *world, cr_body *body)
{
	cr_deforming *d = body->deforming;
	const cr_surface *s = &d->surface;
	if (d->form_revision != s->revision)
		cr_drop_form(world, d);
	d->shape = body->shape;
	d->pose = body->pose;
	const v3d middle = cr_surface_middle(s);
	body->shape.mesh = d->form.mesh;
	body->shape.collider = d->form.collider;
	body->shape.lab_state = d->form.lab_state;
	for (int k = 0; k < 3; k++) {
		const double half = 0.5 * (s->upper[k] - s->lower[k]);
		body->shape.centre[k] = 0;
		body->shape.half[k] = half >= 0 ? half + cr_surface_slack(s, k) : 0;
	}
	body->pose = (carom_pose){ middle, { 0, 0, 0, 1 } };
	body->rotation = m3d_from_quat(body->pose.orientation);
	body->last_pose = body->pose;
	body->last_rotation = body->rotation;
}

static void hide(cr_body *body)
{
	cr_deforming *d = body->deforming;
	body->shape = d->shape;
	body->pose = d->pose;
	body->rotation = m3d_from_quat(body->pose.orientation);
	body->last_pose = body->pose;
	body->last_rotation = body->rotation;
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

/// A mesh of the present places, in the place of the old one, which was dropped.
static carom_result make_mesh(carom_world *world, cr_deforming *d)
{
	const cr_surface *s = &d->surface;
	const size_t bytes = 3 * (size_t)s->vertex_count * sizeof(float);
	float *vertices = cr_alloc(&world->memory, bytes);
	if (!vertices)
		return cr_fail_memory(world->context, "a solid");
	cr_surface_round(s, vertices);
	d->form = (cr_shape){ .def = d->shape.def, .family = CR_FAMILY_MESH };
	const carom_result result = cr_create_moved_mesh(&world->memory, d->shape.mesh, vertices, &d->form.mesh);
	cr_free(&world->memory, vertices, bytes);
	return result;
}

carom_result cr_make_form(carom_world *world, cr_body *body)
{
	cr_deforming *d = body->deforming;
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
		return result;
	}
	d->form_revision = d->surface.revision;
	body->shape.mesh = d->form.mesh;
	body->shape.collider = d->form.collider;
	body->shape.lab_state = d->form.lab_state;
	return CAROM_SUCCESS;
}
