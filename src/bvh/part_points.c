/// See part_points.h.

#include "bvh/part_points.h"
#include "base/float_mode.h"

static void add_triangle(cr_part_points *p, const v3d c[3])
{
	for (int k = 0; k < 3; k++) {
		p->x[p->count] = (float)c[k].x;
		p->y[p->count] = (float)c[k].y;
		p->z[p->count++] = (float)c[k].z;
		p->mean = v3d_add(p->mean, c[k]);
	}
	p->normal = v3d_add(p->normal, v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0])));
}

bool cr_has_part_points(const cr_collider *collider, uint32_t part)
{
	return cr_is_triangle_part(part) || (cr_child_of_part(collider, part) & CR_LEAF_BIT);
}

void cr_gather_part_points(const cr_collider *collider, uint32_t part, cr_part_points *p)
{
	v3d c[3];
	p->count = 0;
	p->mean = p->normal = (v3d){ 0, 0, 0 };
	if (cr_is_triangle_part(part)) {
		cr_collider_triangle(collider, cr_triangle_of_part(part), c);
		add_triangle(p, c);
	} else {
		const cr_tri8 *block = &collider->blocks[cr_child_of_part(collider, part) & ~CR_LEAF_BIT];
		for (int i = 0; i < block->count; i++) {
			for (int k = 0; k < 3; k++)
				c[k] = (v3d){ block->corner[k][0][i], block->corner[k][1][i], block->corner[k][2][i] };
			add_triangle(p, c);
		}
	}
	p->mean = v3d_scale(p->mean, 1.0 / p->count);
	p->normal = v3d_normalize(p->normal);
}
