/// @file fuzz.h
/// Fuzzing targets. A target is `FUZZ(name) { ... }`: it gets data [size], must come back whatever they are, and returns whether they were
/// an input that is sound. It registers itself.
/// The preset fuzz drives the targets by libFuzzer (./dev fuzz); all other builds run each on its seeds, on the kept inputs of
/// corpus/NAME, and on mutations of both that are always the same (fuzz_replay.c), as ordinary tests.
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "carom/carom.h"

#include <stdio.h>

/// Puts a seed of a target away: bytes that it takes without complaint. name is part of a file name.
typedef void fuzz_keep_fn(const char *name, const void *bytes, size_t size, void *user);

typedef struct fuzz_target fuzz_target;
struct fuzz_target {
	const char *name;
	bool (*run)(const uint8_t *data, size_t size);
	void (*seeds)(fuzz_keep_fn *keep, void *user); ///< NULL: there are none but the kept inputs
	bool fragile; ///< runs a library that crashes on heavy damage: mutations change one byte, or cut
	fuzz_target *next;
};

void fuzz_register(fuzz_target *target);
/// All targets, sorted by name.
const fuzz_target *fuzz_targets(void);
/// NULL when there is none of that name.
const fuzz_target *fuzz_find(const char *name);

#define FUZZ_TARGET(target_name, seeds_fn, is_fragile)                                                \
	static bool fuzz_##target_name(const uint8_t *data, size_t size);                                 \
	__attribute__((constructor)) static void register_##target_name(void)                             \
	{                                                                                                 \
		static fuzz_target target = { #target_name, fuzz_##target_name, seeds_fn, is_fragile, NULL }; \
		fuzz_register(&target);                                                                       \
	}                                                                                                 \
	static bool fuzz_##target_name(const uint8_t *data, size_t size)
#define FUZZ(target_name) FUZZ_TARGET(target_name, NULL, false)

/// What must hold whatever the input is; else the program is aborted, after the place and a text (printf style).
#define FUZZ_REQUIRE(condition, ...)                                \
	do {                                                            \
		if (!(condition))                                           \
			fuzz_fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
	} while (0)
_Noreturn void fuzz_fail(const char *file, int line, const char *condition, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/// A context with one thread.
carom_context *fuzz_context(carom_simd simd);

/// Write the input to a file of this process, for readers that want a path. It is removed at exit. Valid until the next call.
const char *fuzz_file(const uint8_t *data, size_t size, const char *extension);

// ---- Calls decoded from bytes ----

/// The bytes that were not used yet. Behind the end all are 0.
typedef struct fuzz_bytes {
	const uint8_t *at, *end;
} fuzz_bytes;

uint8_t fuzz_byte(fuzz_bytes *bytes);
static inline int fuzz_choose(fuzz_bytes *bytes, int count) { return fuzz_byte(bytes) % count; }
/// Most often within -2 to 2 in steps of a fiftieth, so that things meet; else a number that is known for trouble, or any bits.
double fuzz_number(fuzz_bytes *bytes);
/// Most often within 0 to 2; else as fuzz_number.
double fuzz_length(fuzz_bytes *bytes);
carom_vec3 fuzz_vector(fuzz_bytes *bytes);
carom_pose fuzz_pose(fuzz_bytes *bytes);

/// Is a vector of unit length, within float?
bool fuzz_is_unit(double x, double y, double z);

#endif
