// Packing tracks. Input: quantised numbers, frame after frame. Output: a block of track.h. Cost:
// two passes to choose how to foretell, one to write.
#include "web/track.h"

#include <math.h>
#include <string.h>

enum { HEAD_SIZE = 16 };

size_t web_packed_size(int32_t frames, int64_t count) { return HEAD_SIZE + 4 * (size_t)frames * (size_t)count; }

int32_t web_quantise(double value, double quantum)
{
	const double most = 1073741824.0; // 2^30
	if (!isfinite(value))
		return WEB_ABSENT;
	const double steps = value / quantum;
	return (int32_t)(steps > most ? most : (steps < -most ? -most : nearbyint(steps)));
}

/// Where a number is, and how it is foretold.
typedef struct place {
	const int32_t *values;
	int64_t count;
	int32_t stride;
} place;

/// order 1: from the frame before; 2: from the line through the two before, where there are two.
static uint32_t foretell(const place *p, int32_t frame, int64_t i, int32_t order)
{
	const int32_t *at = p->values + frame * p->count + i;
	if (frame == 0)
		return i >= p->stride ? (uint32_t)at[-p->stride] : 0;
	const uint32_t before = (uint32_t)at[-p->count];
	return order == 2 && frame >= 2 ? 2 * before - (uint32_t)at[-2 * p->count] : before;
}

static uint32_t difference(const place *p, int32_t frame, int64_t i, int32_t order)
{
	const uint32_t d = (uint32_t)p->values[frame * p->count + i] - foretell(p, frame, i, order);
	return d << 1 ^ (d >> 31 ? 0xffffffffu : 0);
}

/// The bits of all differences behind the second frame: what an order costs, roughly.
static uint64_t bits(const place *p, int32_t frames, int32_t order)
{
	uint64_t sum = 0;
	for (int32_t frame = 2; frame < frames; frame++) {
		for (int64_t i = 0; i < p->count; i++) {
			for (uint32_t d = difference(p, frame, i, order); d; d >>= 1)
				sum++;
		}
	}
	return sum;
}

static void put_number(unsigned char *to, uint32_t number)
{
	for (int k = 0; k < 4; k++)
		to[k] = (unsigned char)(number >> 8 * k);
}

void web_pack(const int32_t *values, int32_t frames, int64_t count, int32_t stride, unsigned char *packed)
{
	const place p = { values, count, stride };
	const int32_t order = bits(&p, frames, 2) < bits(&p, frames, 1) ? 2 : 1;
	const size_t plane = (size_t)frames * (size_t)count;
	put_number(packed, (uint32_t)frames);
	put_number(packed + 4, (uint32_t)count);
	put_number(packed + 8, (uint32_t)stride);
	put_number(packed + 12, (uint32_t)order);
	unsigned char *to = packed + HEAD_SIZE;
	for (int32_t frame = 0; frame < frames; frame++) {
		for (int64_t i = 0; i < count; i++, to++) {
			const uint32_t d = difference(&p, frame, i, order);
			for (size_t k = 0; k < 4; k++)
				to[k * plane] = (unsigned char)(d >> 8 * k);
		}
	}
}
