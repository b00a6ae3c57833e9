/// Pairs in order on a device. See vulkan/gpu_pairs.h.
#include "vulkan/gpu_pairs.h"
#include "vulkan/gpu_trial.h"
#include "vulkan/vk_kernels.h"
#include <string.h>

enum {
	FEW_DOUBTS = 4096,
	MOST_INVOCATIONS = 1 << 19, // that go through pairs: enough to keep a card busy
	TALLY_BYTES = 8,            // doubts, long rows
};

// ---- Memory ----

void cr_gpu_free_sorted(carom_device *device, cr_gpu_sorted *s)
{
	cr_gpu_buffer *const all[] = { &s->names, &s->counts, &s->first, &s->rows, &s->pairs, &s->doubts, &s->verdicts, &s->tally,
		&s->scratch, &s->reached };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		cr_gpu_free(device, all[i]);
	*s = (cr_gpu_sorted){ 0 };
}

/// Room for doubts. Their contents are lost.
static carom_result reserve_doubts(carom_device *device, cr_gpu_sorted *s, uint32_t count)
{
	s->doubt_room = 0;
	carom_result result = cr_gpu_reserve_shared(device, &s->doubts, sizeof(cr_gpu_doubt) * (uint64_t)count);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve_shared(device, &s->verdicts, 4 * (uint64_t)count);
	if (result == CAROM_SUCCESS)
		s->doubt_room = count;
	return result;
}

static carom_result reserve_pairs(carom_device *device, cr_gpu_sorted *s, uint64_t room)
{
	s->room = 0;
	carom_result result = cr_gpu_reserve(device, &s->rows, 4 * room);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &s->pairs, sizeof(cr_gpu_pair) * room);
	if (result == CAROM_SUCCESS)
		s->room = room;
	return result;
}

static carom_result reserve(carom_device *device, cr_gpu_sorted *s, const cr_gpu_tree *t, const cr_gpu_naming *naming)
{
	const uint64_t n = (uint64_t)naming->spheres + 1;
	const struct {
		cr_gpu_buffer *buffer;
		uint64_t size;
	} wanted[] = { { &s->names, naming->names ? 4 * (uint64_t)t->count : 0 }, { &s->counts, 4 * n }, { &s->first, 8 * n },
		{ &s->tally, TALLY_BYTES }, { &s->scratch, cr_gpu_scan_scratch(n) } };
	carom_result result = CAROM_SUCCESS;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CAROM_SUCCESS; i++)
		result = cr_gpu_reserve(device, wanted[i].buffer, wanted[i].size);
	if (result == CAROM_SUCCESS && s->doubt_room < FEW_DOUBTS)
		result = reserve_doubts(device, s, FEW_DOUBTS);
	if (result == CAROM_SUCCESS && s->room < t->room)
		result = reserve_pairs(device, s, t->room);
	return result;
}

// ---- Recording ----

static cr_gpu_arguments name_arguments(const cr_gpu_tree *t, const cr_gpu_sorted *s, const cr_gpu_naming *naming)
{
	return (cr_gpu_arguments){ { t->pairs.address, t->first.address, s->names.address },
		{ t->count, (uint32_t)t->room, naming->names != NULL, naming->owned, naming->own_places, s->doubt_room } };
}

/// Where the processor will read the findings.
typedef struct sorted_reads {
	const char *tally, *count;
} sorted_reads;

static sorted_reads record_order(carom_device *device, cr_gpu_sorted *s, const cr_gpu_tree *t, const cr_gpu_naming *naming)
{
	const uint64_t threads = t->room < MOST_INVOCATIONS ? t->room : MOST_INVOCATIONS;
	cr_gpu_clear(device, &s->counts, 4 * ((uint64_t)naming->spheres + 1));
	cr_gpu_clear(device, &s->tally, TALLY_BYTES);
	cr_gpu_arguments name = name_arguments(t, s, naming), place = name;
	name.address[3] = s->counts.address;
	name.address[4] = s->doubts.address;
	name.address[5] = s->tally.address;
	cr_gpu_run(device, CR_KERNEL_PAIRS_NAME, threads, CR_GPU_THREADS, &name);
	if (s->judges) {
		name.address[6] = t->spheres.address;
		memcpy(&name.word[6], &naming->skin, sizeof naming->skin);
		cr_gpu_run(device, CR_KERNEL_PAIRS_JUDGE, FEW_DOUBTS, CR_GPU_THREADS, &name);
	}
	cr_gpu_scan(device, s->counts.address, s->first.address, naming->spheres + 1, s->scratch.address);
	place.address[3] = s->counts.address;
	place.address[4] = s->first.address;
	place.address[5] = s->rows.address;
	cr_gpu_run(device, CR_KERNEL_PAIRS_PLACE, threads, CR_GPU_THREADS, &place);
	const cr_gpu_arguments order = { { s->first.address, s->rows.address, s->pairs.address, s->tally.address + 4 },
		{ naming->spheres, CR_GPU_LONG_ROW } };
	cr_gpu_run(device, CR_KERNEL_PAIRS_ORDER, naming->spheres, CR_GPU_THREADS, &order);
	sorted_reads reads;
	reads.tally = cr_gpu_read(device, &s->tally, 0, TALLY_BYTES);
	reads.count = cr_gpu_read(device, &s->first, 8 * (uint64_t)naming->spheres, 8);
	return reads;
}

static void note_order(cr_gpu_sorted *s, const sorted_reads *reads)
{
	memcpy(&s->doubt_count, reads->tally, 4);
	if (s->judges && s->doubt_count <= s->doubt_room)
		s->doubt_count = 0;
	memcpy(&s->long_rows, reads->tally + 4, 4);
	memcpy(&s->count, reads->count, 8);
}

static carom_result order_again(carom_device *device, cr_gpu_tree *t, const cr_gpu_naming *naming, cr_gpu_sorted *s, bool fill)
{
	carom_result result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	if (fill)
		cr_gpu_record_fill(device, t, 0);
	const sorted_reads reads = record_order(device, s, t, naming);
	result = cr_gpu_finish(device);
	if (result == CAROM_SUCCESS)
		note_order(s, &reads);
	return result;
}

// ---- Calls ----

/// No pairs, of fewer than two spheres.
static carom_result make_empty(carom_device *device, cr_gpu_sorted *s, const cr_gpu_naming *naming)
{
	const uint64_t size = 8 * ((uint64_t)naming->spheres + 1);
	s->count = 0;
	s->doubt_count = s->long_rows = 0;
	carom_result result = cr_gpu_reserve(device, &s->first, size);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_clear(device, &s->first, size);
	return cr_gpu_finish(device);
}

static bool is_scarce(carom_result result) { return result == CAROM_OUT_OF_MEMORY || result == CAROM_OVER_BUDGET; }

/// More pairs, or more in doubt, than there was room for. *done is false where there is none.
static carom_result make_room(
	carom_device *device, cr_gpu_tree *t, const cr_gpu_naming *naming, cr_gpu_sorted *s, uint64_t pairs, bool *done)
{
	const bool few = t->room < pairs;
	carom_result result = few ? cr_gpu_reserve_pairs(device, t, pairs) : CAROM_SUCCESS;
	if (result == CAROM_SUCCESS && t->room >= pairs)
		result = reserve(device, s, t, naming);
	if (is_scarce(result) || t->room < pairs) {
		*done = false; // the window is in the list again
		return few ? cr_gpu_next_pairs(device, t, 0) : CAROM_SUCCESS;
	}
	for (bool fill = few; result == CAROM_SUCCESS; fill = false) {
		result = order_again(device, t, naming, s, fill);
		if (result != CAROM_SUCCESS || s->doubt_count <= s->doubt_room)
			return result;
		result = reserve_doubts(device, s, s->doubt_count + s->doubt_count / 8);
		if (is_scarce(result)) {
			*done = false;
			return CAROM_SUCCESS;
		}
	}
	return result;
}

carom_result cr_gpu_find_sorted(carom_device *device, cr_gpu_tree *t, uint64_t want, const cr_gpu_naming *naming,
	cr_gpu_sorted *s, cr_gpu_search *found, bool *done)
{
	*found = (cr_gpu_search){ 0 };
	*done = true;
	if (t->count < 2)
		return make_empty(device, s, naming);
	carom_result result = cr_gpu_reserve_pairs(device, t, want);
	if (result == CAROM_SUCCESS) {
		const carom_result room = reserve(device, s, t, naming);
		if (is_scarce(room)) {
			cr_gpu_free_sorted(device, s);
			*done = false;
			return cr_gpu_find_pairs(device, t, want, found);
		}
		result = room;
	}
	s->judges = false;
	if (result == CAROM_SUCCESS && naming->judged && device->info.doubles)
		result = cr_gpu_try_arithmetic(device, &s->judges);
	cr_gpu_search_reads search;
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin_search(device, t, &search);
	if (result != CAROM_SUCCESS)
		return result;
	if (naming->names)
		cr_gpu_send(device, &s->names, naming->names, 4 * (uint64_t)t->count);
	const sorted_reads reads = record_order(device, s, t, naming);
	result = cr_gpu_end_search(device, t, &search, found);
	if (result != CAROM_SUCCESS)
		return result;
	note_order(s, &reads);
	if (found->pairs > t->room || s->doubt_count > s->doubt_room)
		result = make_room(device, t, naming, s, found->pairs, done);
	return result;
}

carom_result cr_gpu_read_doubts(carom_device *device, const cr_gpu_sorted *s, cr_gpu_doubt *doubts)
{
	return cr_gpu_download(device, &s->doubts, doubts, sizeof *doubts * (uint64_t)s->doubt_count);
}

carom_result cr_gpu_settle_doubts(
	carom_device *device, cr_gpu_tree *t, const cr_gpu_naming *naming, cr_gpu_sorted *s, const uint32_t *verdicts)
{
	carom_result result = cr_gpu_upload(device, &s->verdicts, verdicts, 4 * (uint64_t)s->doubt_count);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_gpu_arguments settle = { { t->pairs.address, s->doubts.address, s->verdicts.address }, { s->doubt_count } };
	cr_gpu_run(device, CR_KERNEL_PAIRS_SETTLE, s->doubt_count, CR_GPU_THREADS, &settle);
	const sorted_reads reads = record_order(device, s, t, naming);
	result = cr_gpu_finish(device);
	if (result == CAROM_SUCCESS)
		note_order(s, &reads);
	return result;
}

carom_result cr_gpu_reach_sorted(carom_device *device, cr_gpu_sorted *s, cr_gpu_pair **pairs)
{
	const uint64_t size = sizeof **pairs * s->count;
	*pairs = s->pairs.mapped;
	if (!*pairs && device->def.staging)
		return CAROM_SUCCESS;
	device->stats.bytes_down += (int64_t)size;
	if (*pairs)
		return CAROM_SUCCESS;
	carom_result result = cr_gpu_reserve_shared(device, &s->reached, size);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result != CAROM_SUCCESS)
		return result;
	cr_gpu_copy(device, &s->pairs, &s->reached, size);
	result = cr_gpu_finish(device);
	*pairs = result == CAROM_SUCCESS ? s->reached.mapped : NULL;
	return result;
}

carom_result cr_gpu_bring_sorted(
	carom_device *device, cr_gpu_sorted *s, const cr_gpu_pair *pairs, const uint64_t *first, uint32_t spheres)
{
	const uint64_t count = first[spheres], size = 8 * ((uint64_t)spheres + 1);
	s->count = 0;
	s->doubt_count = s->long_rows = 0;
	s->room = s->room < count ? 0 : s->room; // the rows have no more
	carom_result result = cr_gpu_reserve(device, &s->pairs, sizeof *pairs * count);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, &s->first, size);
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(device, &s->first, first, size);
	if (result == CAROM_SUCCESS && count > 0)
		result = cr_gpu_upload(device, &s->pairs, pairs, sizeof *pairs * count);
	if (result == CAROM_SUCCESS)
		s->count = count;
	return result;
}
