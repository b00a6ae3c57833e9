/// The calls of carom/lab.h, and the table behind them.

#include "lab/lab_state.h"
#include "lab/sweep_methods.h"
#include "world/world.h"

/// The stages that the settings ask for, or else those of the library. The naive loop predicts
/// nothing.
static const cr_stages *choose_stages(const carom_lab *lab, const cr_stages *own)
{
	if (lab->stages == CAROM_STAGES_NAIVE)
		return &cr_naive_stages;
	return lab->ray_buffers == CAROM_BUFFERS_EXACT ? own : &cr_predicting_stages;
}

static cr_cast_fn *choose_cast(carom_ray_method method)
{
	return method == CAROM_RAYS_WIDE ? NULL : method == CAROM_RAYS_PLUGIN ? cr_cast_by_plugin : cr_cast_slowly;
}

static carom_result open(cr_pipeline *p)
{
	const carom_lab *lab = &p->settings.lab;
	p->lab = cr_alloc_zero(p->context, sizeof(cr_lab_state));
	if (!p->lab)
		return cr_fail_memory(p->context, "a world");
	p->stages = choose_stages(lab, p->stages);
	p->leaves_rays = lab->stages == CAROM_STAGES_LISTS && lab->ray_buffers == CAROM_BUFFERS_IGNORE;
	p->hooks.cast = choose_cast(lab->ray_method);
	if (lab->worker_groups > 0) {
		p->hooks.order = cr_order_by_group;
		p->hooks.for_pairs = cr_for_groups;
	}
	return lab->brute_broad_phase ? cr_broad_create_brute(p->context, &p->broad) : CAROM_SUCCESS;
}

static void close(cr_pipeline *p)
{
	if (!p->lab)
		return;
	cr_free_plugin_meshes(p);
	cr_array_free(p->context, &cr_lab_of(p)->group_of);
	cr_free(p->context, p->lab, sizeof(cr_lab_state));
	p->lab = NULL;
}

static void forget(cr_pipeline *p) { cr_lab_of(p)->plain.rooms = (cr_ray_rooms){ 0 }; }

static const struct cr_laboratory tools = {
	open,
	close,
	forget,
	cr_count_groups,
	cr_attach_plugin,
	cr_hold_plugin_mesh,
	cr_drop_plugin_mesh,
	&cr_sweep_methods,
};

const struct cr_sweep_lab *carom_lab_sweep(void) { return &cr_sweep_methods; }

carom_lab carom_default_lab(void)
{
	carom_lab lab = cr_plain_lab();
	lab.tools = &tools;
	return lab;
}

carom_result carom_lab_cast_rays(
	const carom_mesh *mesh, carom_ray_method method, const carom_ray_batch *rays, const carom_hit_batch *hits)
{
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	if ((int)method < CAROM_RAYS_WIDE || method >= CAROM_RAYS_PLUGIN)
		return cr_fail(
			mesh->context, CAROM_INVALID_ARGUMENT, "carom_lab_cast_rays: method is %d, which is none for it", (int)method);
	const carom_result result = cr_check_rays(mesh, "carom_lab_cast_rays", rays, hits);
	if (result == CAROM_SUCCESS)
		cr_cast_by(method, mesh->context->simd, &mesh->collider, rays, 0, rays->count, hits);
	return result;
}

carom_group_stats carom_lab_group_stats(const carom_world *world, int group)
{
	const cr_pipeline *p = &world->pipeline;
	if (!p->lab || group < 0 || group >= p->settings.lab.worker_groups)
		return (carom_group_stats){ 0 };
	return cr_lab_of(p)->plain.groups[group];
}

carom_result carom_lab_replay_recording(carom_context *context, carom_read_fn *read, void *user, carom_replay_result *result)
{
	return cr_replay_recording(context, &tools, read, user, NULL, NULL, result);
}

carom_result carom_lab_watch_recording(carom_context *context, carom_read_fn *read, void *user, carom_watch_fn *watch,
	void *watch_user, carom_replay_result *result)
{
	return cr_replay_recording(context, &tools, read, user, watch, watch_user, result);
}
