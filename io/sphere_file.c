// Spheres from and to files: which format, and the snapshots themselves. A snapshot is little
// endian: SPHERES1, the number of spheres (u64), the box of the walls (float[3], float[3]), the
// number of touching pairs and the sum of their hashes (u64 each, 0 and 0: not known), zero (u64);
// then x, y, z, radius (float) of each sphere.
#include "io/sphere_file.h"

#include "io/output_file.h"
#include "io/sphere_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 64, SPHERE_BYTES = 16 };

static const char MAGIC[8] = { 'S', 'P', 'H', 'E', 'R', 'E', 'S', '1' };

// ---- The set ----

bool io_allocate_spheres(io_sphere_set *spheres, int64_t count, bool wide)
{
	memset(spheres, 0, sizeof *spheres);
	if (count < 0 || count > CAROM_MAX_SPHERES)
		return false;
	spheres->values = malloc((size_t)count * 4 * (wide ? sizeof(double) : sizeof(float)) + 1);
	if (!spheres->values)
		return false;
	spheres->count = count;
	spheres->wide = wide;
	spheres->has_radii = true;
	return true;
}

void io_free_spheres(io_sphere_set *spheres)
{
	free(spheres->values);
	memset(spheres, 0, sizeof *spheres);
}

void io_get_sphere(const io_sphere_set *spheres, int64_t i, double xyzr[4])
{
	for (int k = 0; k < 4; k++)
		xyzr[k] =
			spheres->wide ? ((const double *)spheres->values)[4 * i + k] : (double)((const float *)spheres->values)[4 * i + k];
}

static const char *what_is_wrong(const double xyzr[4])
{
	static const char *const words[] = { "x is not finite", "y is not finite", "z is not finite", "the radius is not finite" };
	for (int k = 0; k < 4; k++) {
		if (!isfinite(xyzr[k]))
			return words[k];
	}
	return xyzr[3] < 0 ? "the radius is negative" : NULL;
}

const char *io_put_sphere(io_sphere_set *spheres, int64_t i, const double xyzr[4])
{
	for (int k = 0; k < 4; k++) {
		if (spheres->wide)
			((double *)spheres->values)[4 * i + k] = xyzr[k];
		else
			((float *)spheres->values)[4 * i + k] = (float)xyzr[k];
	}
	double stored[4];
	io_get_sphere(spheres, i, stored);
	return what_is_wrong(stored);
}

carom_sphere_input io_sphere_input(const io_sphere_set *spheres)
{
	const size_t size = spheres->wide ? sizeof(double) : sizeof(float);
	const carom_scalar type = spheres->wide ? CAROM_FLOAT64 : CAROM_FLOAT32;
	carom_sphere_input input = carom_default_sphere_input();
	input.count = spheres->count;
	if (!spheres->count)
		return input;
	input.centres = (carom_strided){ spheres->values, (int64_t)(4 * size), type };
	input.radii = (carom_strided){ (const char *)spheres->values + 3 * size, (int64_t)(4 * size), type };
	return input;
}

uint64_t io_hash_sphere_pairs(const carom_sphere_pair *pairs, int64_t count)
{
	uint64_t hash = 0;
	for (int64_t i = 0; i < count; i++)
		hash += io_mix64((uint64_t)pairs[i].a << 32 | pairs[i].b);
	return hash;
}

// ---- Reading ----

static uint64_t get_bits(const unsigned char *bytes, int size)
{
	uint64_t bits = 0;
	for (int i = 0; i < size; i++)
		bits |= (uint64_t)bytes[i] << 8 * i;
	return bits;
}

static float get_float(const unsigned char *bytes)
{
	const uint32_t bits = (uint32_t)get_bits(bytes, 4);
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static bool read_walls(const unsigned char *header, io_sphere_set *spheres, sim_error *error)
{
	bool all_zero = true;
	for (int axis = 0; axis < 3; axis++) {
		const float lower = get_float(header + 16 + 4 * axis), upper = get_float(header + 28 + 4 * axis);
		if (!isfinite(lower) || !isfinite(upper) || lower > upper)
			return sim_fail(
				error, "the box of the walls is damaged: %c from %g to %g", 'x' + axis, (double)lower, (double)upper);
		all_zero = all_zero && lower == 0 && upper == 0;
		spheres->lower[axis] = lower;
		spheres->upper[axis] = upper;
	}
	spheres->has_walls = !all_zero;
	return true;
}

/// The header, with room for the spheres.
static bool read_header(io_input *input, io_sphere_set *spheres, sim_error *error)
{
	unsigned char header[HEADER_BYTES];
	if (io_take_input(input, header, HEADER_BYTES) != HEADER_BYTES)
		return sim_fail(error, "ends too early, in its header");
	const uint64_t count = get_bits(header + 8, 8);
	if (count > CAROM_MAX_SPHERES)
		return sim_fail(
			error, "holds %llu spheres by its header; at most %d can be read", (unsigned long long)count, CAROM_MAX_SPHERES);
	const int64_t there = (input->size - HEADER_BYTES) / SPHERE_BYTES;
	if (there < (int64_t)count)
		return sim_fail(error, "ends too early, in sphere %lld of %lld", (long long)there, (long long)count);
	if (get_bits(header + 56, 8))
		return sim_fail(error, "is damaged or of another version: the last eight bytes of its header are not zero");
	if (!io_allocate_spheres(spheres, (int64_t)count, false))
		return sim_fail(error, "out of memory");
	spheres->expected_pairs = get_bits(header + 40, 8);
	spheres->expected_hash = get_bits(header + 48, 8);
	spheres->has_expected = spheres->expected_pairs || spheres->expected_hash;
	return read_walls(header, spheres, error);
}

static bool read_snapshot(io_input *input, io_sphere_set *spheres, sim_error *error)
{
	if (!read_header(input, spheres, error))
		return false;
	const int64_t count = spheres->count;
	const int64_t there = (int64_t)(io_take_input(input, spheres->values, (size_t)count * SPHERE_BYTES) / SPHERE_BYTES);
	if (ferror(input->stream))
		return sim_fail(error, "cannot be read: %s", strerror(errno));
	if (there < count)
		return sim_fail(error, "ends too early, in sphere %lld of %lld", (long long)there, (long long)count);
	char more;
	if (io_take_input(input, &more, 1) != 0)
		return sim_fail(error, "goes on behind the last of its %lld spheres", (long long)count);
	for (int64_t i = 0; i < count; i++) {
		// In place: the bytes of a sphere become its values.
		const unsigned char *bytes = (const unsigned char *)spheres->values + SPHERE_BYTES * i;
		double xyzr[4];
		for (int k = 0; k < 4; k++)
			xyzr[k] = (double)get_float(bytes + 4 * k);
		const char *wrong = io_put_sphere(spheres, i, xyzr);
		if (wrong)
			return sim_fail(error, "sphere %lld: %s", (long long)i, wrong);
	}
	return true;
}

/// Text of either kind.
static bool read_text(io_input *input, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error)
{
	size_t size;
	char *text = io_take_rest(input, &size, error);
	if (!text)
		return false;
	const bool is_ply = strncmp(text, "ply", 3) == 0 && (text[3] == '\n' || text[3] == '\r');
	const bool done = is_ply ? io_read_sphere_ply(text, size, reading, spheres, error)
							 : io_read_sphere_csv(text, size, reading, spheres, error);
	free(text);
	return done;
}

static bool is_snapshot(const io_input *input)
{
	return input->start_size >= sizeof MAGIC && memcmp(input->start, MAGIC, sizeof MAGIC) == 0;
}

bool io_read_spheres(io_input *input, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error)
{
	memset(spheres, 0, sizeof *spheres);
	if (is_snapshot(input) ? read_snapshot(input, spheres, error) : read_text(input, reading, spheres, error))
		return true;
	io_free_spheres(spheres);
	return false;
}

bool io_load_spheres(const char *path, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error)
{
	memset(spheres, 0, sizeof *spheres);
	io_input input;
	if (!io_open_input(&input, path, error))
		return false;
	const bool done = io_read_spheres(&input, reading, spheres, error);
	io_close_input(&input);
	return done;
}

bool io_holds_spheres(const io_input *input)
{
	// Longer PLY headers than the first bytes hold are not worth looking for.
	return is_snapshot(input) || io_has_extension(input->path, ".csv") || io_ply_holds_points(input->start, input->start_size);
}

// ---- Writing ----

static void put_bits(unsigned char *bytes, uint64_t bits, int size)
{
	for (int i = 0; i < size; i++)
		bytes[i] = (unsigned char)(bits >> 8 * i);
}

static void put_float(unsigned char *bytes, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	put_bits(bytes, bits, 4);
}

/// The box of the spheres, rounded outward; zero when there are none.
static void box_of(const io_sphere_set *spheres, float lower[3], float upper[3])
{
	for (int axis = 0; axis < 3; axis++) {
		double low = INFINITY, high = -INFINITY;
		for (int64_t i = 0; i < spheres->count; i++) {
			double s[4];
			io_get_sphere(spheres, i, s);
			low = fmin(low, s[axis] - s[3]);
			high = fmax(high, s[axis] + s[3]);
		}
		lower[axis] = spheres->count ? (float)low : 0;
		upper[axis] = spheres->count ? (float)high : 0;
		if ((double)lower[axis] > low)
			lower[axis] = nextafterf(lower[axis], -INFINITY);
		if ((double)upper[axis] < high)
			upper[axis] = nextafterf(upper[axis], INFINITY);
	}
}

static void write_snapshot(FILE *stream, const io_sphere_set *spheres)
{
	unsigned char header[HEADER_BYTES] = { 0 };
	float lower[3], upper[3];
	if (!spheres->has_walls)
		box_of(spheres, lower, upper);
	memcpy(header, MAGIC, sizeof MAGIC);
	put_bits(header + 8, (uint64_t)spheres->count, 8);
	for (int axis = 0; axis < 3; axis++) {
		put_float(header + 16 + 4 * axis, spheres->has_walls ? spheres->lower[axis] : lower[axis]);
		put_float(header + 28 + 4 * axis, spheres->has_walls ? spheres->upper[axis] : upper[axis]);
	}
	if (spheres->has_expected) {
		put_bits(header + 40, spheres->expected_pairs, 8);
		put_bits(header + 48, spheres->expected_hash, 8);
	}
	fwrite(header, 1, HEADER_BYTES, stream);
	for (int64_t i = 0; i < spheres->count; i++) {
		unsigned char bytes[SPHERE_BYTES];
		double xyzr[4];
		io_get_sphere(spheres, i, xyzr);
		for (int k = 0; k < 4; k++)
			put_float(bytes + 4 * k, (float)xyzr[k]);
		fwrite(bytes, 1, SPHERE_BYTES, stream);
	}
}

/// Whatever is written can be read back: finite as float too where it is written as float.
static bool check_spheres(const io_sphere_set *spheres, bool as_float, sim_error *error)
{
	for (int64_t i = 0; i < spheres->count; i++) {
		double xyzr[4];
		io_get_sphere(spheres, i, xyzr);
		for (int k = 0; as_float && k < 4; k++)
			xyzr[k] = (double)(float)xyzr[k];
		const char *wrong = what_is_wrong(xyzr);
		if (wrong)
			return sim_fail(error, "sphere %lld: %s", (long long)i, wrong);
	}
	return true;
}

bool io_save_spheres(const char *path, const io_sphere_set *spheres, sim_error *error)
{
	const bool snapshot = io_has_extension(path, ".sph");
	if (!snapshot && !io_has_extension(path, ".csv") && !io_is_device(path))
		return sim_fail(error, "no format of spheres has this extension; use .sph or .csv");
	io_output_file file;
	if (!check_spheres(spheres, snapshot, error) || !io_output_open(&file, path, error))
		return false;
	(snapshot ? write_snapshot : io_write_sphere_csv)(file.stream, spheres);
	return io_output_commit(&file, error);
}
