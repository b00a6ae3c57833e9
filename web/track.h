/// @file track.h
/// Tracks: whole numbers that change from frame to frame (quantised places), packed so that deflate
/// makes them small. The viewer's codec.js reads them; docs/guide/browser.md describes the bytes.
///
/// A block holds some frames of a track and is read without the others. Each number is foretold:
/// in the first frame of a block by the number before it of its component, in the others by the
/// frame before, or by the straight line through the two before. The differences (modulo 2^32) are
/// mapped to 0, -1, 1, -2, ... = 0, 1, 2, 3, ... and written as four planes of bytes, lowest first:
/// the planes of small differences are zeros.
#ifndef WEB_TRACK_H
#define WEB_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The value of a number that is not there, as the pose of a body before it appears.
#define WEB_ABSENT INT32_MIN

/// Bytes of a packed block before deflate: a head of 16 bytes, and 4 for each number.
size_t web_packed_size(int32_t frames, int64_t count);

/// Pack a block: values [frames*count], frame after frame; stride: numbers of an element, which
/// lie side by side (3: x, y, z). packed [web_packed_size]. Of the two ways to foretell, the one
/// with the smaller differences is taken.
void web_pack(const int32_t *values, int32_t frames, int64_t count, int32_t stride, unsigned char *packed);

/// The nearest whole number to value / quantum. Outside of +-2^30 it is the nearer end of that
/// range; WEB_ABSENT when the value is not finite.
int32_t web_quantise(double value, double quantum);

#endif
