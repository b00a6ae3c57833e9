// Animated colliders: rigid bodies whose vertices take places one after the other, as files of an
// animation have them. Between two of them vertices go straight. What they carry (their own
// vertices, and vertices that are pinned to them) moves in the frame of the body as its anchor
// does.
#include "sim/base/state_hash.h"
#include "sim/cloth/soft_state.h"

#include <math.h>
#include <string.h>

const char *soft_frames_fault(const sim_soft_body *body)
{
	const sim_soft_frames *f = &body->frames;
	if (f->count == 0)
		return NULL;
	if (body->kind != SIM_SOFT_RIGID || body->led || f->count < 0)
		return "frames.count";
	if (!(f->per_second > 0 && f->per_second <= 1e6))
		return "frames.per_second";
	if (!(f->start >= 0 && f->start <= 1e6))
		return "frames.start";
	for (int64_t i = 0; f->places && i < 3 * (int64_t)f->count * body->vertex_count; i++) {
		if (!(fabsf(f->places[i]) <= (float)CAROM_MAX_COORDINATE))
			return "frames.places";
	}
	return f->places ? NULL : "frames.places";
}

int64_t soft_take_frames(const sim_soft *s, soft_part *part, int64_t first)
{
	const int64_t numbers = 3 * (int64_t)part->frames.count * part->vertex_count;
	if (numbers > 0)
		memcpy(s->frame_places + first, part->frames.places, (size_t)numbers * sizeof *s->frame_places);
	part->frames.places = s->frame_places + first;
	return first + numbers;
}

void sim_soft_frame_place(const sim_soft_frames *f, int32_t vertex_count, int32_t i, double time, double place[3])
{
	double at = fmax((time - f->start) * f->per_second, 0);
	if (f->loop)
		at -= f->count * floor(at / f->count);
	else
		at = fmin(at, f->count - 1);
	const int32_t from = at < f->count ? (int32_t)at : f->count - 1, to = from + 1 < f->count ? from + 1 : (f->loop ? 0 : from);
	const float *a = f->places + 3 * ((int64_t)from * vertex_count + i);
	const float *b = f->places + 3 * ((int64_t)to * vertex_count + i);
	for (int k = 0; k < 3; k++)
		place[k] = (double)a[k] + (at - from) * ((double)b[k] - (double)a[k]);
}

/// The vertex of a part that is nearest to a place in its frame.
static int32_t nearest_vertex(const sim_soft *s, const soft_part *part, const double *place)
{
	double least = INFINITY;
	int32_t nearest = part->first_vertex;
	for (int32_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++) {
		const double *p = s->local + 3 * (int64_t)i;
		const double d[3] = { p[0] - place[0], p[1] - place[1], p[2] - place[2] }, square = soft_dot(d, d);
		if (square < least) {
			least = square;
			nearest = i;
		}
	}
	return nearest;
}

void soft_fill_anchors(sim_soft *s)
{
	for (int32_t i = 0; i < s->vertex_count; i++) {
		const int32_t carrier = s->carrier[i];
		s->anchor[i] = -1;
		if (carrier >= 0 && s->parts[carrier].frames.count > 0)
			s->anchor[i] = s->part_of[i] == carrier ? i : nearest_vertex(s, &s->parts[carrier], s->local + 3 * (int64_t)i);
	}
}

carom_vec3 soft_local_at(const sim_soft *s, int32_t vertex, double time)
{
	const double *l = s->local + 3 * (int64_t)vertex;
	const int32_t anchor = s->anchor[vertex];
	if (anchor < 0)
		return (carom_vec3){ l[0], l[1], l[2] };
	const soft_part *part = &s->parts[s->part_of[anchor]];
	double now[3];
	sim_soft_frame_place(&part->frames, part->vertex_count, anchor - part->first_vertex, time, now);
	if (anchor == vertex)
		return (carom_vec3){ now[0], now[1], now[2] };
	const double *start = s->local + 3 * (int64_t)anchor;
	return (carom_vec3){ l[0] + now[0] - start[0], l[1] + now[1] - start[1], l[2] + now[2] - start[2] };
}

uint64_t soft_hash_frames(const sim_soft *s, uint64_t hash)
{
	for (int64_t i = 0; i < s->frame_numbers; i++) {
		const double number = (double)s->frame_places[i];
		hash = sim_hash_doubles(hash, &number, 1);
	}
	return hash;
}
