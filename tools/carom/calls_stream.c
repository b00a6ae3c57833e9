// The streams of recordings of library calls, as docs/recording.md describes them: which of them a
// file holds, and reading one while the moves of its origin are noted.
#include "calls_job.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_HEAD = 12, RECORD_HEAD = 12, CHECK = 8 };

static uint64_t read_word(const unsigned char *bytes, int count)
{
	uint64_t value = 0;
	for (int i = 0; i < count; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

// ---- The recordings in a file ----

/// Pass over bytes. False at the end of the file.
static bool skip(calls_take_fn *take, void *from, uint64_t count)
{
	unsigned char bytes[4096];
	while (count > 0) {
		const size_t step = count < sizeof bytes ? (size_t)count : sizeof bytes;
		if (take(from, bytes, step) != step)
			return false;
		count -= step;
	}
	return true;
}

/// Count the records of a stream up to its end mark; *at: the place in the file.
static void count_records(calls_take_fn *take, void *from, calls_stream *stream, int64_t *at)
{
	unsigned char head[RECORD_HEAD];
	while (take(from, head, sizeof head) == sizeof head) {
		const uint64_t kind = read_word(head, 4), size = read_word(head + 4, 8);
		if (size > INT64_MAX / 2 || !skip(take, from, size + CHECK))
			return;
		*at += (int64_t)size + RECORD_HEAD + CHECK;
		stream->counts[kind < CALLS_KINDS ? kind : CALLS_KINDS - 1]++;
		if (kind == CALLS_END) {
			stream->whole = true;
			return;
		}
	}
}

bool calls_list_streams(calls_take_fn *take, void *from, calls_list *list)
{
	unsigned char head[FILE_HEAD];
	int64_t at = 0;
	*list = (calls_list){ 0 };
	while (take(from, head, sizeof head) == sizeof head && memcmp(head, "CAROMREC", 8) == 0) {
		calls_stream *more = realloc(list->data, ((size_t)list->count + 1) * sizeof *more);
		if (!more) {
			free(list->data);
			*list = (calls_list){ 0 };
			return false;
		}
		list->data = more;
		calls_stream *stream = &list->data[list->count++];
		*stream = (calls_stream){ .offset = at, .version = (uint32_t)read_word(head + 8, 4) };
		at += FILE_HEAD;
		count_records(take, from, stream, &at);
		if (!stream->whole)
			break;
	}
	return true;
}

// ---- Reading one ----

/// A part of the stream has been read: the next one begins.
static void begin_part(calls_reader *r)
{
	switch (r->part) {
	case CALLS_IN_HEAD:
	case CALLS_IN_CHECK:
		r->part = CALLS_IN_RECORD_HEAD;
		r->left = RECORD_HEAD;
		break;
	case CALLS_IN_RECORD_HEAD:
		r->kind = read_word(r->start, 4);
		r->left = read_word(r->start + 4, 8);
		r->part = CALLS_IN_PAYLOAD;
		break;
	case CALLS_IN_PAYLOAD:
		if (r->kind == CALLS_SHIFT_ORIGIN && r->held == 24) {
			for (int k = 0; k < 3; k++) {
				const uint64_t bits = read_word(r->start + 8 * k, 8);
				double offset;
				memcpy(&offset, &bits, sizeof offset);
				r->origin[k] += offset;
			}
			r->shifts++;
		}
		r->part = CALLS_IN_CHECK;
		r->left = CHECK;
		break;
	}
	r->held = 0;
}

static void follow(calls_reader *r, const unsigned char *bytes, size_t count)
{
	while (count > 0) {
		const size_t step = r->left < count ? (size_t)r->left : count;
		const size_t room = sizeof r->start - r->held, kept = step < room ? step : room;
		memcpy(r->start + r->held, bytes, kept);
		r->held += kept;
		r->left -= step;
		bytes += step;
		count -= step;
		while (r->left == 0)
			begin_part(r);
	}
}

bool calls_read(void *bytes, size_t count, void *user)
{
	calls_reader *r = user;
	if (fread(bytes, 1, count, r->file) != count)
		return false;
	follow(r, bytes, count);
	return true;
}

bool calls_rewind(calls_reader *r, int64_t offset)
{
	*r = (calls_reader){ .file = r->file, .part = CALLS_IN_HEAD, .left = FILE_HEAD };
	return fseeko(r->file, (off_t)offset, SEEK_SET) == 0;
}
