#include "contact/seam_rows.h"

// The slop, in lengths of the smaller of two parts: the part of one that is so near another one is
// flush with it.
static const double SLOP = 1e-3;
// The rounding of a mesh's vertices, in lengths of the largest coordinate, several times over.
static const double ROUNDING = 0x1p-21;

const cr_body *cr_seam_body(const cr_seam_group *g, const cr_seam_row *row, int side)
{
	return &g->pipeline->bodies[side == 0 ? row->found->a : row->found->b];
}

const cr_body *cr_seam_original(const cr_pipeline *p, const cr_found_pair *found, int side)
{
	const int32_t number = side == 0 ? found->a : found->b;
	return p->originals ? p->originals[number] : &p->bodies[number];
}

cr_whole cr_seam_whole(const cr_pipeline *p, const cr_found_pair *found, int side, double slop)
{
	const cr_body *part = cr_seam_original(p, found, side), *first = part ? part - part->part : NULL;
	return (cr_whole){ p->bvh, first, first ? cr_part_count(first) : 0, slop };
}

double cr_slop_of_sizes(double size_a, double size_b) { return SLOP * fmin(size_a, size_b); }

static double size_of(const cr_body *body) { return 2 * v3d_length(cr_local_box_of(body).half); }

double cr_seam_slop(const cr_seam_group *g, const cr_seam_row *row)
{
	return cr_slop_of_sizes(size_of(cr_seam_body(g, row, 0)), size_of(cr_seam_body(g, row, 1))) + g->rounding;
}

double cr_part_rounding(const cr_body *part)
{
	const cr_local_box box = cr_local_box_of(part);
	const double scale = v3d_length(box.centre) + v3d_length(box.half);
	return isfinite(scale) ? ROUNDING * scale : 0;
}

cr_contact_ends cr_ends_if(const cr_raw_contact *c, bool on_a)
{
	const v3d point = v3d_from_doubles(c->point), normal = v3d_from_floats(c->normal);
	cr_contact_ends ends;
	ends.at[0] = on_a ? point : v3d_mad(point, -(double)c->depth, normal);
	ends.at[1] = on_a ? v3d_mad(point, (double)c->depth, normal) : point;
	return ends;
}

/// How far the ends lie from the surfaces that they should be on.
static double miss_of(const cr_pipeline *p, const cr_seam_row *row, const cr_contact_ends *ends)
{
	return fabs(cr_gap_of_point(p->bvh, &p->bodies[row->found->a], ends->at[0], INFINITY)) +
		fabs(cr_gap_of_point(p->bvh, &p->bodies[row->found->b], ends->at[1], INFINITY));
}

bool cr_lies_on_a(const cr_pipeline *p, const cr_seam_row *row, const cr_raw_contact *c)
{
	if (c->kind == CAROM_VERTEX_A || c->kind == CAROM_EDGE_A)
		return true;
	if (c->kind == CAROM_VERTEX_B || c->kind == CAROM_EDGE_B)
		return false;
	const cr_contact_ends if_a = cr_ends_if(c, true), if_b = cr_ends_if(c, false);
	return miss_of(p, row, &if_a) <= miss_of(p, row, &if_b);
}

cr_contact_ends cr_ends_of(const cr_pipeline *p, const cr_seam_row *row, const cr_raw_contact *c)
{
	return cr_ends_if(c, cr_lies_on_a(p, row, c));
}

v3d cr_seam_outward(const cr_seam_group *g, const cr_raw_contact *c)
{
	const v3d normal = v3d_from_floats(c->normal);
	return g->side == 0 ? v3d_neg(normal) : normal;
}

int cr_seam_state(const cr_seam_row *row, int32_t contact) { return row->state ? row->state[contact] : CR_SEAM_STAYS; }

void cr_set_seam_state(cr_worker *worker, cr_seam_row *row, int32_t contact, uint8_t state)
{
	const size_t count = (size_t)row->found->contacts.count;
	if (!row->state) {
		row->state = cr_arena_alloc(&worker->arena, count);
		if (row->state)
			memset(row->state, CR_SEAM_STAYS, count);
	}
	if (row->state)
		row->state[contact] = state;
	worker->failed = worker->failed || !row->state;
}
