/// What the tests of the granular simulation share: small scenes, and running them. Static: the simulation is not built
/// everywhere.
#ifndef TESTS_GRANULAR_FIXTURE_H
#define TESTS_GRANULAR_FIXTURE_H

#include "sim/base/sim_error.h"
#include "sim/grains/granular.h"
#include "test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRANULAR_TEXT = 256 };

/// Memory that ends after so many allocations.
typedef struct short_memory {
	int left;
	int64_t live;
} short_memory;

static inline void *short_allocate(size_t size, size_t alignment, void *user)
{
	short_memory *memory = user;
	if (memory->left-- <= 0)
		return NULL;
	memory->live += (int64_t)size;
	return test_allocate(size, alignment);
}

static inline void short_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)alignment;
	short_memory *memory = user;
	memory->live -= (int64_t)size;
	test_release(pointer);
}

/// Spheres of a scene, in the order of their ids.
typedef struct granular_scene {
	int64_t count;
	double *centres;    // [3*count]
	double *radii;      // [count]
	double *velocities; // [3*count]
	double *spins;      // [3*count]
} granular_scene;

static inline granular_scene granular_scene_make(int64_t count)
{
	const size_t n = (size_t)count;
	return (granular_scene){ count, calloc(3 * n, 8), calloc(n, 8), calloc(3 * n, 8), calloc(3 * n, 8) };
}

static inline void granular_scene_free(granular_scene *s)
{
	free(s->centres);
	free(s->radii);
	free(s->velocities);
	free(s->spins);
}

/// Definition over a scene: no gravity, no walls, stiffness 1e4, elastic.
static inline sim_granular_def granular_scene_def(const granular_scene *s)
{
	sim_granular_def def = sim_default_granular_def();
	def.count = s->count;
	def.centres = (carom_strided){ s->centres, 0, CAROM_FLOAT64 };
	def.radii = (carom_strided){ s->radii, 0, CAROM_FLOAT64 };
	def.velocities = (carom_strided){ s->velocities, 0, CAROM_FLOAT64 };
	def.gravity[1] = 0;
	def.spheres.stiffness = def.walls.stiffness = 1e4;
	def.spheres.restitution = def.walls.restitution = 1;
	return def;
}

static inline carom_context *granular_context(int threads)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

static inline sim_granular *granular_create(carom_context *context, const sim_granular_def *def)
{
	sim_error error = { "" };
	sim_granular *granular = sim_create_granular(context, def, &error);
	CHECK_STR(error.text, "");
	REQUIRE(granular != NULL);
	return granular;
}

/// The last step of so many.
static inline sim_granular_step granular_run(sim_granular *granular, int64_t steps)
{
	sim_error error = { "" };
	sim_granular_step step = { 0 };
	for (int64_t i = 0; i < steps; i++) {
		const bool advanced = sim_granular_advance(granular, &step, &error);
		CHECK_STR(error.text, "");
		REQUIRE(advanced);
	}
	return step;
}

static inline sim_granular_energy granular_energy(sim_granular *granular)
{
	sim_error error = { "" };
	sim_granular_energy energy;
	const bool got = sim_granular_get_energy(granular, &energy, &error);
	CHECK_STR(error.text, "");
	REQUIRE(got);
	return energy;
}

static inline double granular_total(const sim_granular_energy *e)
{
	return e->kinetic + e->rotational + e->potential + e->elastic;
}

/// Spheres with jitter on a lattice in the unit box, radii 0.02 to 0.03, that touch here and there, with random motions.
static inline granular_scene granular_scene_heap(int side, double speed, uint64_t seed)
{
	granular_scene s = granular_scene_make((int64_t)side * side * side);
	const double pitch = 0.05;
	int64_t i = 0;
	for (int z = 0; z < side; z++) {
		for (int y = 0; y < side; y++) {
			for (int x = 0; x < side; x++, i++) {
				const int place[3] = { x, y, z };
				for (int k = 0; k < 3; k++) {
					s.centres[3 * i + k] = pitch * (place[k] + 0.6) + test_random_double(&seed, -0.004, 0.004);
					s.velocities[3 * i + k] = test_random_double(&seed, -speed, speed);
				}
				s.radii[i] = test_random_double(&seed, 0.02, 0.03);
			}
		}
	}
	return s;
}

/// All laws on, in a box, falling.
static inline sim_granular_def granular_scene_rough(const granular_scene *s)
{
	sim_granular_def def = granular_scene_def(s);
	def.gravity[1] = -9.81;
	def.time_step = 2e-5;
	def.spheres.restitution = def.walls.restitution = 0.6;
	def.spheres.tangential = def.walls.tangential = SIM_GRANULAR_SPRING;
	def.spheres.friction = def.walls.friction = 0.4;
	def.spheres.rolling_friction = def.walls.rolling_friction = 0.02;
	for (int f = 0; f < 6; f++)
		def.faces[f] = true;
	return def;
}

/// Everything that moves, as one number that depends on every bit and the ids.
static inline uint64_t granular_hash(sim_granular *granular)
{
	const size_t n = (size_t)sim_granular_get_info(granular).count;
	double *numbers = malloc(9 * n * sizeof *numbers + 8);
	sim_granular_get_state(granular, numbers, NULL, numbers + 3 * n, numbers + 6 * n);
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < 9 * n; i++) {
		uint64_t bits;
		memcpy(&bits, &numbers[i], 8);
		hash = (hash ^ bits) * 1099511628211u;
		hash ^= hash >> 29;
	}
	free(numbers);
	return hash;
}

#endif
