/// See determinism_fixture.h.
#include "determinism_fixture.h"
#include "test.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct golden {
	const char *scene;
	uint64_t hash;
} golden;

/// After a change that is meant to change results (and only then): build release, run `carom_tests determinism`, put the printed hashes
/// here, and say in the commit why they changed.
static const golden GOLDEN[] = {
	{ "pile", 0x0653a3ea2fc370fb },
	{ "zoo", 0x24273d15a20aa7ea },
	{ "near", 0x117b8344cb935e80 },
	{ "scene1_step_80", 0x676373d6e819e920 },
	{ "scene1_step_420", 0xcc3ab953184df181 },
	{ "convex_shapes", 0x367883aa002571c2 },
	{ "impacts_of_meshes", 0x84fce77ad60cc642 },
	{ "convex_bodies", 0xb55f9c88dd6e6515 },
	{ "rays", 0x2420a836c7868ab2 },
	{ "distances", 0xbcbb9bbc3d9051b2 },
	{ "impacts", 0xb0bf3721979cc93c },
	{ "spheres", 0xb4f70333c83a19ca },
};

static void report_hash(const char *scene, uint64_t hash)
{
	printf("hash %s %016" PRIx64 "\n", scene, hash);
	for (size_t i = 0; i < sizeof GOLDEN / sizeof *GOLDEN; i++) {
		if (strcmp(GOLDEN[i].scene, scene) == 0) {
			if (!CHECK(hash == GOLDEN[i].hash))
				printf("the hash that GOLDEN has is %016" PRIx64 "\n", GOLDEN[i].hash);
			return;
		}
	}
	CHECK_STR(scene, "a scene of GOLDEN");
}

// ---- Ways to compute the same ----

/// Runs the pieces last first and as small as allowed, and hands the workers round.
static void reversed_scheduler(carom_task_fn *task_fn, int64_t count, int64_t min_range, void *task, void *user)
{
	const int workers = *(const int *)user;
	int worker = 0;
	for (int64_t piece = (count + min_range - 1) / min_range - 1; piece >= 0; piece--) {
		const int64_t end = (piece + 1) * min_range;
		task_fn(piece * min_range, end < count ? end : count, worker, task);
		worker = (worker + 1) % workers;
	}
}

static int s_reversed_workers = 5;

/// The first that runs is what the others are compared with, and GOLDEN with that.
static const determinism_way WAYS[] = {
	{ "brute force on one thread, scalar", FIXTURE_BROAD_BRUTE, 1, CAROM_SIMD_SCALAR, CAROM_RAYS_WIDE, false, false },
	{ "tree on one thread", CAROM_BROAD_TREE, 1, CAROM_SIMD_AUTO, CAROM_RAYS_WIDE, false, true },
	{ "tree on three threads", CAROM_BROAD_TREE, 3, CAROM_SIMD_SCALAR, CAROM_RAYS_WIDE, false, true },
	{ "sweep on three threads", CAROM_BROAD_SWEEP, 3, CAROM_SIMD_AUTO, CAROM_RAYS_WIDE, false, false },
	{ "sse2", CAROM_BROAD_TREE, 2, CAROM_SIMD_SSE2, CAROM_RAYS_WIDE, false, false },
	{ "avx2", CAROM_BROAD_TREE, 2, CAROM_SIMD_AVX2, CAROM_RAYS_WIDE, false, false },
	{ "avx512", CAROM_BROAD_TREE, 2, CAROM_SIMD_AVX512, CAROM_RAYS_WIDE, false, true },
	{ "neon", CAROM_BROAD_TREE, 2, CAROM_SIMD_NEON, CAROM_RAYS_WIDE, false, false },
	{ "pieces in reversed order, tree", CAROM_BROAD_TREE, 5, CAROM_SIMD_AUTO, CAROM_RAYS_WIDE, true, false },
	{ "pieces in reversed order, sweep, scalar", CAROM_BROAD_SWEEP, 5, CAROM_SIMD_SCALAR, CAROM_RAYS_WIDE, true, true },
	{ "rays by the binary tree", CAROM_BROAD_TREE, 1, CAROM_SIMD_AUTO, CAROM_RAYS_BINARY, false, true },
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS };

/// NULL: the machine or the build lacks the instruction set.
static carom_context *make_context(const determinism_way *w)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = w->threads;
	def.simd = w->simd;
	if (w->reversed) {
		def.parallel_for = reversed_scheduler;
		def.parallel_for_user = &s_reversed_workers;
	}
	carom_context *context = NULL;
	const carom_result result = carom_create_context(&def, &context);
	REQUIRE(result == CAROM_SUCCESS || result == CAROM_UNSUPPORTED);
	return context;
}

/// Is a way worth its time in this build? Ways on one thread hold no races, and the caller's scheduler above is one thread.
static bool is_wanted(const determinism_way *w)
{
	if (w->release && TEST_FEWER > 1)
		return false;
	return !TEST_SEEKS_RACES || (w->threads > 1 && !w->reversed);
}

/// The instruction set that this build and machine take by themselves.
static carom_simd own_simd(void)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	const carom_simd simd = carom_context_simd(context);
	carom_destroy_context(context);
	return simd;
}

void determinism_check(const char *scene, determinism_fn *fn, void *user)
{
	uint64_t expected = 0;
	const determinism_way *first = NULL;
	for (int i = 0; i < WAY_COUNT; i++) {
		// The sweep runs by the machine's own instruction set: builds that do less have no further way for it.
		if (!is_wanted(&WAYS[i]) || (TEST_FEWER > 1 && WAYS[i].simd != CAROM_SIMD_SCALAR && WAYS[i].simd == own_simd()))
			continue;
		carom_context *context = make_context(&WAYS[i]);
		if (!context)
			continue;
		const uint64_t hash = fn(&WAYS[i], context, user);
		carom_destroy_context(context);
		if (!first) {
			first = &WAYS[i];
			expected = hash;
		}
		if (!CHECK(hash == expected))
			printf("scene %s: %s differs from %s\n", scene, WAYS[i].name, first->name);
	}
	REQUIRE(first);
	report_hash(scene, expected);
}
