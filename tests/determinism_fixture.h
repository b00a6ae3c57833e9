/// What the cases of the topic determinism share: the ways to compute that must agree, and the hashes that every build must give.
#ifndef TESTS_DETERMINISM_FIXTURE_H
#define TESTS_DETERMINISM_FIXTURE_H

#include "labs.h"
#include "carom/carom.h"

/// A way to compute.
typedef struct determinism_way {
	const char *name;
	int broad_phase; // or FIXTURE_BROAD_BRUTE
	int threads;
	carom_simd simd;
	carom_ray_method rays;
	bool reversed; // pieces of work last first, by a scheduler of the test
	bool release;  // only where everything is judged in full: other ways run its code on as many threads
} determinism_way;

/// Compute a scene in one way, in a context that was made for it, and return a hash of all results.
typedef uint64_t determinism_fn(const determinism_way *way, carom_context *context, void *user);

/// Call fn for every way that this machine has, and check that all give one hash, the one that is recorded for the scene.
void determinism_check(const char *scene, determinism_fn *fn, void *user);

static inline carom_shape determinism_mesh_shape(const carom_mesh *mesh)
{
	return (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
}

#endif
