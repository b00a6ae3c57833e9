/// The lists of a step. See frame.h.
#include "frame/frame.h"

// Entries that a worker takes at once.
enum { MEETINGS_AT_ONCE = 4096, CONTACTS_AT_ONCE = 512, WATCHES_AT_ONCE = 1024, NEAR_AT_ONCE = 1024 };

// Columns of rays: origin, direction, t_max, gap; sample, side. Those of walks have no gap.
enum { RAY_COLUMNS = 10, SAMPLE = 8, SIDE = 9, CAST_COLUMNS = 16, WALK_COLUMNS = 14 };
#define RAY_SIZES 4, 4, 4, 4, 4, 4, 4, 4, 4, 1
static const size_t CAST_SIZES[CAST_COLUMNS] = { RAY_SIZES, 4, 4, 1, 4, 4, 1 };
static const size_t WALK_SIZES[WALK_COLUMNS] = { 4, 4, 4, 4, 4, 4, 4, 0, 4, 1, 4, 4, 4, 1 };

void cr_frame_init(cr_frame *f, carom_context *context)
{
	cr_list_init(&f->casts, context, CR_RAYS_AT_ONCE, CAST_COLUMNS, CAST_SIZES);
	cr_list_init(&f->walks, context, CR_RAYS_AT_ONCE, WALK_COLUMNS, WALK_SIZES);
	cr_list_init(&f->meetings, context, MEETINGS_AT_ONCE, 1, &(size_t){ sizeof(cr_candidate) });
	cr_list_init(&f->contacts, context, CONTACTS_AT_ONCE, 1, &(size_t){ sizeof(cr_raw_contact) });
}

void cr_frame_free(cr_frame *f)
{
	cr_list_free(&f->casts);
	cr_list_free(&f->walks);
	cr_list_free(&f->meetings);
	cr_list_free(&f->contacts);
}

void cr_frame_reset(cr_frame *f)
{
	cr_list_reset(&f->casts);
	cr_list_reset(&f->walks);
	cr_list_reset(&f->meetings);
	cr_list_reset(&f->contacts);
}

size_t cr_frame_used(const cr_frame *f)
{
	return cr_list_used(&f->casts) + cr_list_used(&f->walks) + cr_list_used(&f->meetings) + cr_list_used(&f->contacts);
}

bool cr_frame_move(cr_frame *f)
{
	return cr_list_move(&f->casts) && cr_list_move(&f->walks) && cr_list_move(&f->meetings) && cr_list_move(&f->contacts);
}

void cr_kept_init(cr_kept *k, carom_context *context)
{
	cr_list_init(&k->watches, context, WATCHES_AT_ONCE, 1, &(size_t){ sizeof(cr_watch) });
	cr_list_init(&k->near, context, NEAR_AT_ONCE, 2, (size_t[]){ sizeof(cr_candidate), sizeof(float) });
}

void cr_kept_free(cr_kept *k)
{
	cr_list_free(&k->watches);
	cr_list_free(&k->near);
}

void cr_kept_reset(cr_kept *k)
{
	cr_list_reset(&k->watches);
	cr_list_reset(&k->near);
}

size_t cr_kept_used(const cr_kept *k) { return cr_list_used(&k->watches) + cr_list_used(&k->near); }
bool cr_kept_move(cr_kept *k) { return cr_list_move(&k->watches) && cr_list_move(&k->near); }

/// Take room entries of a list for a span of count.
static bool take(cr_list *list, cr_list_tail *tail, int32_t room, int32_t count, cr_span *span)
{
	if (!cr_list_open(list, tail, (uint32_t)room))
		return false;
	*span = (cr_span){ tail->next, count };
	tail->next += (uint32_t)room;
	return true;
}

bool cr_keep_watches(cr_kept *k, cr_kept_tails *tails, int32_t count, cr_span *span)
{
	return take(&k->watches, &tails->watches, count, count, span);
}

bool cr_keep_near(cr_kept *k, cr_kept_tails *tails, int32_t count, cr_span *span)
{
	return take(&k->near, &tails->near, cr_lanes_of(count), count, span);
}

/// The columns of rays, given as pointers to them.
static cr_sample_rays rays_of(void *const columns[RAY_COLUMNS])
{
	return (cr_sample_rays){ .origin = { columns[0], columns[1], columns[2] },
		.direction = { columns[3], columns[4], columns[5] },
		.t_max = columns[6],
		.gap = columns[7],
		.sample = columns[SAMPLE],
		.side = columns[SIDE] };
}

cr_casts cr_casts_at(const cr_frame *f, uint32_t first)
{
	void *c[CAST_COLUMNS];
	for (int i = 0; i < CAST_COLUMNS; i++)
		c[i] = cr_list_at(&f->casts, i, first);
	return (cr_casts){ rays_of(c), { c[10], c[11], c[12], c[13], c[14], c[15] } };
}

cr_walks cr_walks_at(const cr_frame *f, uint32_t first)
{
	void *c[WALK_COLUMNS];
	for (int i = 0; i < WALK_COLUMNS; i++)
		c[i] = cr_list_at(&f->walks, i, first);
	return (cr_walks){ rays_of(c), c[10], c[11], c[12], c[13] };
}

size_t cr_cast_bytes(int32_t count) { return (9 * sizeof(float) + 1) * (size_t)count; }

cr_casts cr_casts_in(void *memory, int32_t count)
{
	void *c[RAY_COLUMNS];
	for (int i = 0; i < RAY_COLUMNS; i++)
		c[i] = (char *)memory + (size_t)i * sizeof(float) * (size_t)count;
	return (cr_casts){ .rays = rays_of(c) };
}
