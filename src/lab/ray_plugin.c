/// Rays by a plug-in of the user (carom_ray_plugin).

#include "lab/lab_state.h"
#include <string.h>

/// A mesh that the plugin has prepared; NULL: it has not.
static cr_plugin_mesh *find_mesh(const cr_lab_state *lab, const cr_collider *c)
{
	for (int64_t i = 0; i < lab->plugin_meshes.count; i++) {
		if (lab->plugin_meshes.data[i].collider == c)
			return &lab->plugin_meshes.data[i];
	}
	return NULL;
}

/// Let the plugin prepare a mesh, once for all its bodies.
carom_result cr_attach_plugin(cr_pipeline *p, cr_shape *shape, const char *function)
{
	const carom_ray_plugin *plugin = p->settings.lab.ray_plugin;
	cr_lab_state *lab = cr_lab_of(p);
	const cr_collider *c = shape->collider;
	// No ray is ever cast at a mesh without triangles.
	if (p->settings.lab.ray_method != CAROM_RAYS_PLUGIN || !c || c->triangle_count == 0)
		return CAROM_SUCCESS;
	cr_plugin_mesh *known = find_mesh(lab, c);
	if (known) {
		known->bodies++;
		return CAROM_SUCCESS;
	}
	const size_t bytes = 4 * (size_t)c->triangle_count * sizeof(int32_t);
	int32_t *triangles = cr_alloc(p->context, bytes);
	if (!triangles || !cr_array_reserve(p->context, &lab->plugin_meshes, lab->plugin_meshes.count + 1)) {
		cr_free(p->context, triangles, bytes);
		return cr_fail_memory(p->context, "a mesh of the ray plugin");
	}
	int32_t *numbers = triangles + 3 * (int64_t)c->triangle_count;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		numbers[i] = cr_used_triangle(c, i);
		memcpy(&triangles[3 * (int64_t)i], &c->topology->triangles[3 * (int64_t)numbers[i]], 3 * sizeof *triangles);
	}
	void *state =
		plugin->build(c->topology->vertices, c->topology->vertex_count, triangles, numbers, c->triangle_count, plugin->user);
	cr_free(p->context, triangles, bytes);
	if (!state)
		return cr_fail(p->context, CAROM_OUT_OF_MEMORY, "%s: the ray plugin %s failed to prepare the mesh", function,
			plugin->name ? plugin->name : "");
	lab->plugin_meshes.data[lab->plugin_meshes.count++] = (cr_plugin_mesh){ c, state, 1 };
	return CAROM_SUCCESS;
}

void cr_hold_plugin_mesh(cr_pipeline *p, const cr_shape *shape)
{
	cr_plugin_mesh *m = find_mesh(cr_lab_of(p), shape->collider);
	if (m)
		m->bodies++;
}

void cr_drop_plugin_mesh(cr_pipeline *p, const cr_shape *shape)
{
	cr_lab_state *lab = cr_lab_of(p);
	cr_plugin_mesh *m = find_mesh(lab, shape->collider);
	if (!m || --m->bodies > 0)
		return;
	p->settings.lab.ray_plugin->destroy(m->state, p->settings.lab.ray_plugin->user);
	*m = lab->plugin_meshes.data[--lab->plugin_meshes.count];
}

void cr_free_plugin_meshes(cr_pipeline *p)
{
	cr_lab_state *lab = cr_lab_of(p);
	const carom_ray_plugin *plugin = p->settings.lab.ray_plugin;
	for (int64_t i = 0; i < lab->plugin_meshes.count; i++)
		plugin->destroy(lab->plugin_meshes.data[i].state, plugin->user);
	cr_array_free(p->context, &lab->plugin_meshes);
}

void cr_cast_by_plugin(const cr_pipeline *p, const cr_body *target, const carom_ray_batch *rays, int32_t begin, int32_t end,
	const carom_hit_batch *hits)
{
	const carom_ray_batch part = { end - begin, { rays->origin[0] + begin, rays->origin[1] + begin, rays->origin[2] + begin },
		{ rays->direction[0] + begin, rays->direction[1] + begin, rays->direction[2] + begin }, rays->t_max + begin };
	const carom_hit_batch to = { hits->triangle + begin, hits->t + begin, hits->back_face + begin };
	const cr_plugin_mesh *m = find_mesh(cr_lab_of(p), target->shape.collider);
	p->settings.lab.ray_plugin->cast(m ? m->state : NULL, &part, &to, p->settings.lab.ray_plugin->user);
}
