// Interpenetration by a standard cast: see interpenetration.h.
#include "scene/interpenetration.h"

/// The full algorithm as the papers describe it, and nothing else. lab is to live as long as the
/// definition.
static carom_world_def standard_cast(carom_lab *lab)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	def.speculative_distance = 0;
	def.temporal = CAROM_TEMPORAL_NONE;
	def.contact_normal = CAROM_NORMAL_RAY;
	def.internal_edge_angle = 0;
	*lab = carom_default_lab();
	lab->complete = false;
	lab->max_depth_ratio = 0;
	def.lab = lab;
	return def;
}

static bool fill(const scene_simulation *simulation, carom_world *world)
{
	for (int32_t i = 0; i < scene_simulation_body_count(simulation); i++) {
		const carom_body_def def = scene_simulation_body_def(simulation, i);
		carom_body_id id;
		if (carom_world_add_body(world, &def, &id) != CAROM_SUCCESS)
			return false;
	}
	return true;
}

/// The type of a body's shape or part.
static carom_shape_type type_of(const scene_simulation *simulation, uint64_t body, int32_t part)
{
	const carom_body_def def = scene_simulation_body_def(simulation, (int32_t)body);
	return def.part_count > 0 ? def.parts[part].shape.type : def.shape.type;
}

static scene_interpenetration sum(const scene_simulation *simulation, const carom_world *world)
{
	scene_interpenetration total = { 0 };
	const carom_contact_view contacts = carom_world_contacts(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		const carom_pair *pair = &pairs.data[c->pair];
		const carom_shape_type a = type_of(simulation, pair->user_data_a, pair->shape_a);
		const carom_shape_type b = type_of(simulation, pair->user_data_b, pair->shape_b);
		const bool is_ray = c->kind == CAROM_VERTEX_A || c->kind == CAROM_VERTEX_B;
		if (is_ray && a == CAROM_MESH && b == CAROM_MESH) {
			total.ray_length += (double)c->depth;
			total.rays_inside++;
		} else if ((a == CAROM_PLANE && b == CAROM_MESH) || (a == CAROM_MESH && b == CAROM_PLANE)) {
			total.plane_depth += (double)c->depth;
			total.plane_vertices++;
		}
	}
	return total;
}

bool scene_measure_interpenetration(const scene_simulation *simulation, scene_interpenetration *result, sim_error *error)
{
	carom_context *context = carom_world_context(scene_simulation_world(simulation));
	carom_lab lab;
	const carom_world_def def = standard_cast(&lab);
	carom_world *world = NULL;
	const bool done = carom_create_world(context, &def, &world) == CAROM_SUCCESS && fill(simulation, world) &&
		carom_world_step(world) == CAROM_SUCCESS;
	if (done)
		*result = sum(simulation, world);
	else
		sim_fail(error, "interpenetration at the end of the run: %s", carom_error_text(context));
	carom_destroy_world(world);
	return done;
}
