/// The lists of a step. See frame.h.
#include "frame/frame.h"
#include "frame/temporal.h"

// Entries that a worker takes at once.
enum { MEETINGS_AT_ONCE = 4096, CONTACTS_AT_ONCE = 512, WATCHES_AT_ONCE = 1024, NEAR_AT_ONCE = 1024, POSES_AT_ONCE = 256 };

// Columns of rays: words of four bytes first, then bytes. Rays alone have 9 words (origin,
// direction, t_max, sample, gap) and a byte (side).
enum { RAY_WORDS = 9, CAST_WORDS = 13, CAST_COLUMNS = 16, WALK_WORDS = 11, WALK_COLUMNS = 13 };
static const size_t CAST_SIZES[CAST_COLUMNS] = { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 1, 1 };
static const size_t WALK_SIZES[WALK_COLUMNS] = { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 1 };

void cr_frame_init(cr_frame *f, carom_context *context)
{
	cr_list_init(&f->casts, context, CR_RAYS_AT_ONCE, CAST_COLUMNS, CAST_SIZES);
	cr_list_init(&f->walks, context, CR_RAYS_AT_ONCE, WALK_COLUMNS, WALK_SIZES);
	cr_list_init(&f->meetings, context, MEETINGS_AT_ONCE, 1, &(size_t){ sizeof(cr_candidate) });
	for (int i = 0; i < 2; i++)
		cr_list_init(&f->contacts[i], context, CONTACTS_AT_ONCE, 1, &(size_t){ sizeof(cr_raw_contact) });
	cr_list_init(&f->simple_contacts, context, CONTACTS_AT_ONCE, 1, &(size_t){ sizeof(cr_raw_contact) });
	f->now = 0;
}

void cr_frame_free(cr_frame *f)
{
	cr_list_free(&f->casts);
	cr_list_free(&f->walks);
	cr_list_free(&f->meetings);
	cr_list_free(&f->contacts[0]);
	cr_list_free(&f->contacts[1]);
	cr_list_free(&f->simple_contacts);
}

bool cr_frame_reserve(cr_frame *f, int64_t contacts, int32_t workers)
{
	// Each worker may leave a block half empty.
	const int64_t room = contacts + (int64_t)workers * CONTACTS_AT_ONCE;
	if (room >= UINT32_MAX / 2)
		return false;
	cr_list_reserve(&f->simple_contacts, (uint32_t)room);
	cr_list_reserve(&f->contacts[1 - f->now], (uint32_t)room);
	return f->simple_contacts.segment_count > 0 && f->contacts[1 - f->now].segment_count > 0;
}

void cr_frame_trim(cr_frame *f)
{
	cr_list_free(&f->casts);
	cr_list_free(&f->walks);
	cr_list_free(&f->meetings);
	cr_list_free(&f->contacts[1 - f->now]);
	cr_list_free(&f->simple_contacts);
}

void cr_frame_turn(cr_frame *f) { f->now = 1 - f->now; }

void cr_frame_reset_part(cr_frame *f)
{
	cr_list_reset(&f->casts);
	cr_list_reset(&f->walks);
	cr_list_reset(&f->meetings);
}

void cr_frame_reset(cr_frame *f)
{
	cr_frame_reset_part(f);
	cr_list_reset(&f->contacts[f->now]);
	cr_list_reset(&f->simple_contacts);
}

size_t cr_frame_used(const cr_frame *f)
{
	return cr_list_used(&f->casts) + cr_list_used(&f->walks) + cr_list_used(&f->meetings) + cr_list_used(&f->contacts[f->now]) +
		cr_list_used(&f->simple_contacts);
}

bool cr_frame_move(cr_frame *f)
{
	return cr_list_move(&f->casts) && cr_list_move(&f->walks) && cr_list_move(&f->meetings) && cr_list_move(&f->contacts[0]) &&
		cr_list_move(&f->contacts[1]) && cr_list_move(&f->simple_contacts);
}

void cr_kept_init(cr_kept *k, carom_context *context)
{
	cr_list_init(&k->watches, context, WATCHES_AT_ONCE, 1, &(size_t){ sizeof(cr_watch) });
	cr_list_init(&k->near, context, NEAR_AT_ONCE, 2, (size_t[]){ sizeof(uint32_t), sizeof(float) });
	cr_list_init(&k->poses, context, POSES_AT_ONCE, 1, &(size_t){ sizeof(cr_reference) });
}

void cr_kept_free(cr_kept *k)
{
	cr_list_free(&k->watches);
	cr_list_free(&k->near);
	cr_list_free(&k->poses);
}

void cr_kept_reserve(cr_kept *k, int64_t watches, int64_t near, int64_t poses)
{
	if (watches < UINT32_MAX && near < UINT32_MAX && poses < UINT32_MAX) {
		cr_list_reserve(&k->watches, (uint32_t)watches);
		cr_list_reserve(&k->near, (uint32_t)near);
		cr_list_reserve(&k->poses, (uint32_t)poses);
	}
}

void cr_kept_reset(cr_kept *k)
{
	cr_list_reset(&k->watches);
	cr_list_reset(&k->near);
	cr_list_reset(&k->poses);
}

size_t cr_kept_used(const cr_kept *k) { return cr_list_used(&k->watches) + cr_list_used(&k->near) + cr_list_used(&k->poses); }
bool cr_kept_move(cr_kept *k) { return cr_list_move(&k->watches) && cr_list_move(&k->near) && cr_list_move(&k->poses); }

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

bool cr_keep_near(cr_kept *k, cr_kept_tails *tails, int32_t count, cr_near_list *list)
{
	return take(&k->near, &tails->near, cr_near_room(list, count), count, &list->pairs);
}

bool cr_keep_pose(cr_kept *k, cr_kept_tails *tails, uint32_t *number)
{
	cr_span span;
	if (!take(&k->poses, &tails->poses, 1, 1, &span))
		return false;
	*number = span.first;
	return true;
}

/// Rays from some entry on, in columns that have room for span rays each.
typedef struct ray_rows {
	char *words; // of the entry in the first column
	char *bytes; // and in the first column of bytes
	size_t span;
} ray_rows;

static inline void *word(const ray_rows *r, size_t column) { return r->words + column * sizeof(float) * r->span; }
static inline void *byte(const ray_rows *r, size_t column) { return r->bytes + column * r->span; }

/// The rows of a list with so many columns of words, from entry first on. false: no such entry.
static inline bool find_rows(const cr_list *list, size_t words, uint32_t first, ray_rows *rows)
{
	const cr_list_segment *s = cr_list_segment_of(list, first);
	if (!s)
		return false;
	const size_t span = s->end - s->first, at = first - s->first;
	*rows = (ray_rows){ s->memory + at * sizeof(float), s->memory + words * sizeof(float) * span + at, span };
	return true;
}

/// The columns that all rays have, without their gaps.
static inline cr_sample_rays rays_of(const ray_rows *r)
{
	return (cr_sample_rays){ .origin = { word(r, 0), word(r, 1), word(r, 2) },
		.direction = { word(r, 3), word(r, 4), word(r, 5) },
		.t_max = word(r, 6),
		.sample = word(r, 7),
		.side = byte(r, 0) };
}

cr_casts cr_casts_at(const cr_frame *f, uint32_t first)
{
	ray_rows r;
	if (!find_rows(&f->casts, CAST_WORDS, first, &r))
		return (cr_casts){ 0 };
	cr_casts casts = { rays_of(&r), { word(&r, 9), word(&r, 10), byte(&r, 1), word(&r, 11), word(&r, 12), byte(&r, 2) } };
	casts.rays.gap = word(&r, 8);
	return casts;
}

cr_walks cr_walks_at(const cr_frame *f, uint32_t first)
{
	ray_rows r;
	if (!find_rows(&f->walks, WALK_WORDS, first, &r))
		return (cr_walks){ 0 };
	return (cr_walks){ rays_of(&r), word(&r, 8), word(&r, 9), word(&r, 10), byte(&r, 1) };
}

size_t cr_cast_bytes(int32_t count) { return (RAY_WORDS * sizeof(float) + 1) * (size_t)count; }

cr_casts cr_casts_in(void *memory, int32_t count)
{
	const ray_rows r = { memory, (char *)memory + RAY_WORDS * sizeof(float) * (size_t)count, (size_t)count };
	cr_casts casts = { .rays = rays_of(&r) };
	casts.rays.gap = word(&r, 8);
	return casts;
}
