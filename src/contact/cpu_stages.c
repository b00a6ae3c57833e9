/// The table of the stages on the CPU.

#include "contact/contact.h"

carom_result cr_open_stages(cr_pipeline *p)
{
	p->bvh = cr_get_bvh_kernels(p->context->simd);
	p->kernels = cr_get_contact_kernels(p->context->simd);
	if (p->broad) // the laboratory's
		return CAROM_SUCCESS;
	if (p->settings.world.broad_phase == CAROM_BROAD_SWEEP)
		return cr_broad_create_sweep(p->context, &p->broad);
	return cr_broad_create_tree(p->context, &p->broad);
}

const cr_stages cr_cpu_stages = { "cpu", cr_open_stages, cr_stage_pairs, cr_stage_near, cr_stage_crossings, cr_stage_vertices,
	cr_stage_rays, cr_stage_finish, cr_stage_simple, cr_stage_reduce };
