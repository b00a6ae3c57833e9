/// The lists of a step that go from stage to stage. Records and lists hold no pointers: the entries
/// of a pair are named by the number of the first one and their count.
#ifndef CR_FRAME_FRAME_H
#define CR_FRAME_FRAME_H

#include "base/list.h"
#include "bvh/bvh_kernels.h"
#include "frame/contact_kernels.h"
#include "math/transform.h"

/// A contact before it is sorted and reduced. See carom_contact.
typedef struct cr_raw_contact {
	double point[3];
	float normal[3];
	float depth;
	int32_t feature_a;
	int32_t feature_b;
	int32_t kind; // carom_contact_kind
} cr_raw_contact;

/// Entries of a list, side by side.
typedef struct cr_span {
	uint32_t first;
	int32_t count;
} cr_span;

/// The lists. Columns: frame.c.
typedef struct cr_frame {
	cr_list casts;    // rays of full pairs, cast in both directions; and their hits
	cr_list walks;    // rays of iterative pairs, and where their walks over the target ended
	cr_list meetings; // pairs of triangles that may meet: cr_candidate
	// of pairs of meshes, of this step and of the last one, which may be taken over: cr_raw_contact
	cr_list contacts[2];
	int now;                 // which of these is of this step
	cr_list simple_contacts; // of simple pairs, of this step: cr_raw_contact
} cr_frame;

/// The memory of pairs from step to step: lists as those of a frame.
typedef struct cr_kept {
	cr_list watches; // cr_watch
	cr_list near;    // pairs of triangles (cr_near_list), and how far apart they were at least
	cr_list poses;   // cr_reference
} cr_kept;

/// The room that a worker has taken of them.
typedef struct cr_kept_tails {
	cr_list_tail watches;
	cr_list_tail near;
	cr_list_tail poses;
} cr_kept_tails;

/// The room that a worker has taken of each list.
typedef struct cr_frame_tails {
	cr_list_tail casts;
	cr_list_tail walks;
	cr_list_tail meetings;
	cr_list_tail contacts;
	cr_list_tail simple_contacts;
} cr_frame_tails;

/// Rays of full pairs from some number on, by columns.
typedef struct cr_casts {
	cr_sample_rays rays;
	cr_line_hits hits; // once they are cast
} cr_casts;

/// Rays of iterative pairs from some number on, by columns.
typedef struct cr_walks {
	cr_sample_rays rays; // no gap
	int32_t *entry;      // of the samples that the pair watches
	int32_t *place;      // where the walk begins, then where it ended
	float *t;            // once they are walked, as in cr_walk_lines
	uint8_t *end;
} cr_walks;

/// Rays that a worker takes of a list at once: enough that a block is rarely cut short, small
/// enough for the second-level cache (avalanche, phase B).
enum { CR_RAYS_AT_ONCE = 4096 };

void cr_frame_init(cr_frame *frame, carom_context *context);
void cr_frame_free(cr_frame *frame);
/// Let the contacts be those of the last step. Comes before cr_frame_reset, which leaves them.
void cr_frame_turn(cr_frame *frame);
/// Forget all entries. The tails of all workers must be set to zero.
void cr_frame_reset(cr_frame *frame);
/// Forget all entries but the contacts. The tails of the other lists must be set to zero.
void cr_frame_reset_part(cr_frame *frame);
/// Make room for so many contacts of pairs of either kind, in the lists that have none yet. Where
/// there is no memory the lists grow in the steps. Returns whether there was.
bool cr_frame_reserve(cr_frame *frame, int64_t contacts, int32_t workers);
/// Give back the memory of all lists but the contacts of the last step (now).
void cr_frame_trim(cr_frame *frame);
/// Bytes of all entries.
size_t cr_frame_used(const cr_frame *frame);
/// Move all lists to other memory and overwrite the old (cr_list_move). false: out of memory.
bool cr_frame_move(cr_frame *frame);

/// The columns of rays from number first on.
cr_casts cr_casts_at(const cr_frame *frame, uint32_t first);
cr_walks cr_walks_at(const cr_frame *frame, uint32_t first);
/// Columns like those of cr_casts_at in memory of count rays, which is of cr_cast_bytes(count).
/// Without hits.
cr_casts cr_casts_in(void *memory, int32_t count);
size_t cr_cast_bytes(int32_t count);

void cr_kept_init(cr_kept *kept, carom_context *context);
void cr_kept_free(cr_kept *kept);
/// Make room for so many watches, near triangles and poses, if the memory allows it. There are no
/// entries.
void cr_kept_reserve(cr_kept *kept, int64_t watches, int64_t near, int64_t poses);
/// Forget all entries. The tails of all workers must be set to zero.
void cr_kept_reset(cr_kept *kept);
/// Bytes of all entries.
size_t cr_kept_used(const cr_kept *kept);
/// Move them to other memory and overwrite the old (cr_list_move). false: out of memory.
bool cr_kept_move(cr_kept *kept);
/// Room for a span of watched samples. false: out of memory.
bool cr_keep_watches(cr_kept *kept, cr_kept_tails *tails, int32_t count, cr_span *span);
struct cr_near_list;
/// Room for the pairs of near triangles of a list, which it then names. false: out of memory.
bool cr_keep_near(cr_kept *kept, cr_kept_tails *tails, int32_t count, struct cr_near_list *list);
/// Room for a pose; *number: of it. false: out of memory.
bool cr_keep_pose(cr_kept *kept, cr_kept_tails *tails, uint32_t *number);

static inline cr_watch *cr_watches_at(const cr_kept *kept, uint32_t first) { return cr_list_at(&kept->watches, 0, first); }
static inline uint32_t *cr_near_at(const cr_kept *kept, uint32_t first) { return cr_list_at(&kept->near, 0, first); }
static inline float *cr_near_gaps_at(const cr_kept *kept, uint32_t first) { return cr_list_at(&kept->near, 1, first); }

static inline cr_candidate *cr_meetings_at(const cr_frame *frame, uint32_t first)
{
	return cr_list_at(&frame->meetings, 0, first);
}
static inline cr_raw_contact *cr_contacts_at(const cr_frame *frame, uint32_t first)
{
	return cr_list_at(&frame->contacts[frame->now], 0, first);
}
static inline cr_raw_contact *cr_simple_contacts_at(const cr_frame *frame, uint32_t first)
{
	return cr_list_at(&frame->simple_contacts, 0, first);
}
static inline const cr_raw_contact *cr_last_contacts_at(const cr_frame *frame, uint32_t first)
{
	return cr_list_at(&frame->contacts[1 - frame->now], 0, first);
}

#endif
