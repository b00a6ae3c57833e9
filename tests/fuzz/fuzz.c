// What the targets share. See fuzz.h.
#include "fuzz.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fuzz_target *first_target;

void fuzz_register(fuzz_target *target)
{
	fuzz_target **link = &first_target;
	while (*link && strcmp((*link)->name, target->name) < 0)
		link = &(*link)->next;
	target->next = *link;
	*link = target;
}

const fuzz_target *fuzz_targets(void) { return first_target; }

const fuzz_target *fuzz_find(const char *name)
{
	const fuzz_target *target = first_target;
	while (target && strcmp(target->name, name) != 0)
		target = target->next;
	return target;
}

void fuzz_fail(const char *file, int line, const char *condition, const char *format, ...)
{
	fprintf(stderr, "%s:%d: not true: %s: ", file, line, condition);
	va_list arguments;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

carom_context *fuzz_context(carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	def.simd = simd;
	carom_context *context;
	FUZZ_REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS, "%s", carom_error_text(NULL));
	return context;
}

// ---- Files ----

static char file_path[128];

static void remove_file(void) { remove(file_path); }

const char *fuzz_file(const uint8_t *data, size_t size, const char *extension)
{
	if (!file_path[0])
		atexit(remove_file);
	const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(file_path, sizeof file_path, "%s/carom-fuzz-%ld%s", folder, (long)getpid(), extension);
	FILE *file = fopen(file_path, "wb");
	FUZZ_REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "%s", file_path);
	return file_path;
}

// ---- Bytes ----

uint8_t fuzz_byte(fuzz_bytes *bytes) { return bytes->at < bytes->end ? *bytes->at++ : 0; }

double fuzz_number(fuzz_bytes *bytes)
{
	static const double known[] = { 0, -0.0, 1e-3, 1e-7, 1e-15, 1e-30, 1e-300, 5e-324, 0.9999, 1.0001, 3, 100, 1e3, 1e5, 1e6,
		-1e6, 1e9, 1e12, -1e12, 1e12 * (1 + 1e-15), 1e15, -1e15, 1.0000001e15, 1e30, 1e300, INFINITY, -INFINITY, NAN };
	enum { KNOWN = sizeof known / sizeof known[0], ORDINARY = 201 };
	const int b = fuzz_byte(bytes);
	if (b < ORDINARY)
		return (b - 100) / 50.0;
	if (b < 255)
		return known[(b - ORDINARY) % KNOWN];
	uint64_t bits = 0;
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | fuzz_byte(bytes);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

double fuzz_length(fuzz_bytes *bytes)
{
	const int b = fuzz_byte(bytes);
	return b < 240 ? (b + 1) / 120.0 : fuzz_number(bytes);
}

carom_vec3 fuzz_vector(fuzz_bytes *bytes)
{
	carom_vec3 v;
	v.x = fuzz_number(bytes);
	v.y = fuzz_number(bytes);
	v.z = fuzz_number(bytes);
	return v;
}

static carom_quat turn(fuzz_bytes *bytes)
{
	const int b = fuzz_byte(bytes);
	if (b < 60)
		return (carom_quat){ 0, 0, 0, 1 };
	double q[4], sum = 0;
	for (int i = 0; i < 4; i++) {
		q[i] = b == 255 ? fuzz_number(bytes) : fuzz_byte(bytes) - 127.5;
		sum += q[i] * q[i];
	}
	const double scale = b == 255 ? 1 : 1 / sqrt(sum);
	return (carom_quat){ q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale };
}

carom_pose fuzz_pose(fuzz_bytes *bytes)
{
	carom_pose pose;
	pose.position = fuzz_vector(bytes);
	pose.orientation = turn(bytes);
	return pose;
}

bool fuzz_is_unit(double x, double y, double z)
{
	const double square = x * x + y * y + z * z;
	return square > 0.9999 && square < 1.0001;
}
