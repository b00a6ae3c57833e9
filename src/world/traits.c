/// Other traits for a body while it lives: its kind among the rigid ones, and its flags.
///
/// The traits are plain numbers of a body, so nothing is made, and nothing fails after the checks.
/// The next step places the body again (cr_body.refiltered): whom it meets depends on its traits.
/// Pairs drop the memory of rays, since an open mesh may have another inside (cr_has_front). Their
/// contacts go on. Cost: O(parts), or O(spheres).

#include "world/world.h"

static const char *const traits_name = "carom_world_set_traits";

static bool is_rigid_kind(carom_body_kind kind) { return kind >= CAROM_STATIC && kind <= CAROM_DYNAMIC; }

/// The definition of a body with the traits of another one.
static carom_body_def with_traits(const cr_body *body, const carom_body_def *traits)
{
	carom_body_def def = cr_def_of_body(body);
	def.kind = traits->kind;
	def.sensor = traits->sensor;
	def.self_collision = traits->self_collision;
	def.continuous = traits->continuous;
	def.contacts = traits->contacts;
	def.shape_impacts = traits->shape_impacts;
	def.thickness = traits->thickness;
	return def;
}

static carom_result check_traits(const carom_world *world, const cr_body *body, const carom_body_def *traits)
{
	if (!traits)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: traits is NULL", traits_name);
	carom_body_def def = with_traits(body, traits);
	def.cookie = traits->cookie;
	const carom_result result = cr_check_body_def(world->context, &def, traits_name);
	if (result != CAROM_SUCCESS || traits->kind == (carom_body_kind)body->kind)
		return result;
	if (cr_is_rigid(body) && is_rigid_kind(traits->kind))
		return CAROM_SUCCESS;
	return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
		"%s: kind is %s, but that of the body is %s: only rigid kinds become other kinds, and only rigid ones", traits_name,
		cr_kind_name(traits->kind), cr_kind_name((carom_body_kind)body->kind));
}

/// Does the scene of a body that deforms depend on the traits that change?
static bool changes_scene(const cr_body *body, const carom_body_def *traits)
{
	return cr_deforming_of(body) &&
		(body->self_collision != traits->self_collision || body->contacts != traits->contacts ||
			(body->thickness > 0) != (traits->thickness > 0));
}

static void set_traits(cr_body *part, const carom_body_def *traits)
{
	if (cr_is_rigid(part) && (part->kind != (int)traits->kind || part->sensor != traits->sensor))
		part->reshaped = part->reshaped > CR_SHAPE_REMADE ? part->reshaped : CR_SHAPE_REMADE;
	cr_take_traits(part, traits);
}

carom_result carom_world_set_traits(carom_world *world, carom_body_id id, const carom_body_def *traits)
{
	cr_body *body;
	carom_result result = cr_find_body(world, id, traits_name, &body);
	if (result != CAROM_SUCCESS)
		return result;
	result = check_traits(world, body, traits);
	if (result != CAROM_SUCCESS)
		return result;
	if (changes_scene(body, traits))
		cr_forget_scenes(world);
	if (cr_granular_of(body) && body->continuous != traits->continuous)
		cr_granular_of(body)->way = CR_WAY_NONE;
	cr_count_body(world, body, -1);
	for (int32_t i = 0; i < cr_part_count(body); i++)
		set_traits(&body[i], traits);
	cr_count_body(world, body, 1);
	cr_note_boxes(world, body, cr_part_count(body));
	cr_record_set_traits(world->recorder, id, traits);
	return CAROM_SUCCESS;
}
