/// @file sphere_parts.h
/// The common part of the readers and writers of spheres: storing values with their checks, the
/// readers and writers of each format, random numbers.
#ifndef IO_SPHERE_PARTS_H
#define IO_SPHERE_PARTS_H

#include "io/sphere_file.h"
#include "sim/base/sim_error.h"

#include <stdio.h>

/// splitmix64's step (Steele, Lea, Flood 2014).
static inline uint64_t io_mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/// Number k of the sequence of a seed, uniform in [0, 1): 24 bits, so exact as float.
static inline float io_uniform(uint64_t seed, uint64_t k)
{
	return (float)(io_mix64(io_mix64(seed) ^ k) >> 40) * (1.0f / 16777216.0f);
}

/// Store sphere i, each value rounded to float unless the set is wide. Returns what is wrong with
/// it ("x is not finite"), or NULL.
const char *io_put_sphere(io_sphere_set *spheres, int64_t i, const double xyzr[4]);

/// The reader of each format: text is the whole file with a zero behind it and may be overwritten.
/// They leave the spheres read so far in the set, also on failure.
bool io_read_sphere_csv(char *text, size_t size, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error);
bool io_read_sphere_ply(
	const char *bytes, size_t size, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error);

/// Does the beginning of a PLY file declare points and no faces?
bool io_ply_holds_points(const char *bytes, size_t size);

/// Write a header line and a line for each sphere.
void io_write_sphere_csv(FILE *stream, const io_sphere_set *spheres);

#endif
