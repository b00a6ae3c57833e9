// Files of spheres, and detectors of spheres method against method.
#include "fuzz.h"

#include "carom/spheres.h"
#include "io/sphere_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { METHODS = 5, MOST_USED = 2000 };

static const carom_sphere_method methods[METHODS] = { CAROM_SPHERES_GRID, CAROM_SPHERES_LEVELS, CAROM_SPHERES_TREE,
	CAROM_SPHERES_RAYS, CAROM_SPHERES_AUTO };

// The context of a method: every other one is scalar.
static carom_context *context_of(int method)
{
	static carom_context *contexts[2];
	carom_context **context = &contexts[method % 2];
	if (!*context)
		*context = fuzz_context(method % 2 ? CAROM_SIMD_SCALAR : CAROM_SIMD_AUTO);
	return *context;
}

// ---- Files ----

// An input of bytes in memory.
static io_input input_of(const uint8_t *data, size_t size, FILE *nothing)
{
	io_input input = { .path = "bytes", .stream = nothing, .start = malloc(size + 1), .start_size = size, .size = (int64_t)size };
	FUZZ_REQUIRE(input.start, "out of memory");
	memcpy(input.start, data, size);
	input.start[size] = '\0';
	return input;
}

static void compare_methods(const io_sphere_set *set)
{
	int64_t count[METHODS];
	uint64_t hash[METHODS];
	for (int m = 0; m < METHODS; m++) {
		carom_spheres_def def = carom_default_spheres_def();
		def.method = methods[m];
		carom_spheres *spheres;
		FUZZ_REQUIRE(
			carom_create_spheres(context_of(m), &def, &spheres) == CAROM_SUCCESS, "%s", carom_error_text(context_of(m)));
		const carom_sphere_input input = io_sphere_input(set);
		carom_sphere_pairs pairs = { 0 };
		const carom_result result = carom_spheres_update(spheres, &input);
		count[m] = -1 - (int)result;
		hash[m] = 0;
		if (result == CAROM_SUCCESS) {
			FUZZ_REQUIRE(carom_spheres_find_pairs(spheres, &pairs) == CAROM_SUCCESS, "%s", carom_error_text(context_of(m)));
			count[m] = pairs.count;
			hash[m] = io_hash_sphere_pairs(pairs.pairs, pairs.count);
		}
		carom_destroy_spheres(spheres);
		FUZZ_REQUIRE(count[m] == count[0] && hash[m] == hash[0], "method %d finds %lld pairs, method 0 %lld", m,
			(long long)count[m], (long long)count[0]);
	}
}

FUZZ(sphere_file)
{
	static FILE *nothing;
	if (!nothing)
		nothing = fopen("/dev/null", "rb");
	FUZZ_REQUIRE(nothing, "/dev/null");
	if (size == 0)
		return false; // refused when it is opened
	bool sound = false;
	for (int wide = 0; wide < 2; wide++) {
		io_input input = input_of(data, size, nothing);
		const io_sphere_reading reading = { .default_radius = wide ? 0.5 : -1, .wide = wide };
		io_sphere_set set;
		sim_error error = { "" };
		(void)io_holds_spheres(&input);
		if (io_read_spheres(&input, &reading, &set, &error)) {
			sound = true;
			FUZZ_REQUIRE((uint64_t)set.count <= size, "%lld spheres", (long long)set.count);
			if (set.count <= MOST_USED)
				compare_methods(&set);
		} else {
			FUZZ_REQUIRE(error.text[0] && !set.values, "a failure without a word, or with spheres: %s", error.text);
		}
		io_free_spheres(&set);
		free(input.start);
	}
	return sound;
}

// ---- Detectors ----

enum { MOST_SPHERES = 24, MOST_UPDATES = 6 };

typedef struct cloud {
	int64_t count;
	double centres[3 * MOST_SPHERES], radii[MOST_SPHERES];
	bool periodic;
} cloud;

static void move_spheres(fuzz_bytes *bytes, cloud *c)
{
	for (int i = fuzz_choose(bytes, MOST_SPHERES); i > 0 && c->count > 0; i--) {
		const int k = fuzz_choose(bytes, (int)c->count), axis = fuzz_choose(bytes, 3);
		c->centres[3 * k + axis] = fuzz_number(bytes);
		if (fuzz_byte(bytes) % 8 == 0)
			c->radii[k] = fuzz_length(bytes);
	}
}

static cloud read_cloud(fuzz_bytes *bytes)
{
	cloud c = { .count = fuzz_choose(bytes, MOST_SPHERES + 1) };
	for (int i = 0; i < c.count; i++) {
		for (int k = 0; k < 3; k++)
			c.centres[3 * i + k] = fuzz_number(bytes);
		c.radii[i] = fuzz_length(bytes) / 4;
	}
	return c;
}

static void make_detectors(fuzz_bytes *bytes, cloud *c, carom_spheres *spheres[METHODS])
{
	static const double skins[] = { 0, 0.05, 0, -1, 1, 1e-9, 0, 0.3 };
	carom_spheres_def def = carom_default_spheres_def();
	const uint8_t choice = fuzz_byte(bytes);
	def.skin = skins[choice & 7];
	def.upkeep = (carom_tree_upkeep)(choice / 8 % 5);
	def.rebuild_interval = 1 + choice % 3;
	c->periodic = choice >= 200;
	for (int k = 0; c->periodic && k < 3; k++) {
		def.periodic[k] = fuzz_byte(bytes) % 2;
		def.period[k] = 4 + fuzz_length(bytes);
	}
	for (int m = 0; m < METHODS; m++) {
		def.method = methods[m];
		if (carom_create_spheres(context_of(m), &def, &spheres[m]) != CAROM_SUCCESS)
			FUZZ_REQUIRE(m == 0 || !spheres[0], "method %d: %s", m, carom_error_text(context_of(m)));
	}
}

// All pairs, by the rule of carom/spheres.h.
static int64_t count_pairs(const cloud *c)
{
	int64_t count = 0;
	for (int64_t i = 0; i < c->count; i++)
		for (int64_t j = i + 1; j < c->count; j++) {
			double square = 0;
			for (int k = 0; k < 3; k++) {
				const double d = c->centres[3 * i + k] - c->centres[3 * j + k];
				square += d * d;
			}
			const double reach = c->radii[i] + c->radii[j];
			count += square <= reach * reach;
		}
	return count;
}

static void push(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	(void)user, (void)torque;
	FUZZ_REQUIRE(fuzz_is_unit(direction[0], direction[1], direction[2]) && overlap >= 0, "spheres %u %u", a, b);
	for (int k = 0; k < 3; k++)
		force[k] += direction[k] * overlap;
}

static void compare_update(const cloud *c, carom_spheres *spheres[METHODS])
{
	carom_sphere_pairs pairs[METHODS];
	carom_result first = CAROM_SUCCESS;
	double forces[METHODS][3 * MOST_SPHERES];
	for (int m = 0; m < METHODS; m++) {
		carom_sphere_input input = carom_default_sphere_input();
		input.count = c->count;
		input.centres = (carom_strided){ c->centres, 0, CAROM_FLOAT64 };
		input.radii = (carom_strided){ c->radii, 0, CAROM_FLOAT64 };
		const carom_result result = carom_spheres_update(spheres[m], &input);
		first = m ? first : result;
		FUZZ_REQUIRE(result == first, "method %d: %s", m, carom_error_text(context_of(m)));
		if (result != CAROM_SUCCESS)
			continue;
		memset(forces[m], 0, sizeof forces[m]);
		FUZZ_REQUIRE(carom_spheres_sum_forces(spheres[m], push, NULL, forces[m], NULL) == CAROM_SUCCESS, "method %d: %s", m,
			carom_error_text(context_of(m)));
		FUZZ_REQUIRE(memcmp(forces[m], forces[0], sizeof forces[0]) == 0, "method %d", m);
		FUZZ_REQUIRE(carom_spheres_find_pairs(spheres[m], &pairs[m]) == CAROM_SUCCESS, "method %d: %s", m,
			carom_error_text(context_of(m)));
		FUZZ_REQUIRE(pairs[m].count == pairs[0].count, "method %d: %lld and %lld pairs", m, (long long)pairs[m].count,
			(long long)pairs[0].count);
		if (pairs[m].count)
			FUZZ_REQUIRE(
				memcmp(pairs[m].pairs, pairs[0].pairs, (size_t)pairs[0].count * sizeof *pairs[0].pairs) == 0, "method %d", m);
	}
	if (first == CAROM_SUCCESS && !c->periodic)
		FUZZ_REQUIRE(pairs[0].count == count_pairs(c), "%lld pairs, and %lld touch", (long long)pairs[0].count,
			(long long)count_pairs(c));
}

FUZZ(sphere_methods)
{
	fuzz_bytes bytes = { data, data + size };
	carom_spheres *spheres[METHODS] = { NULL };
	const size_t before[2] = { carom_memory_in_use(context_of(0)), carom_memory_in_use(context_of(1)) };
	cloud c = read_cloud(&bytes);
	make_detectors(&bytes, &c, spheres);
	for (int i = 0; spheres[0] && i < MOST_UPDATES; i++) {
		compare_update(&c, spheres);
		if (bytes.at == bytes.end)
			break;
		move_spheres(&bytes, &c);
	}
	for (int m = 0; m < METHODS; m++)
		carom_destroy_spheres(spheres[m]);
	for (int k = 0; k < 2; k++)
		FUZZ_REQUIRE(carom_memory_in_use(context_of(k)) == before[k], "something is left");
	return true;
}
