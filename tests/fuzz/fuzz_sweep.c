// Swept scenes decoded from bytes: every method, volume and build must find the same impacts, bit for bit, scalar or wide.
#include "fuzz.h"

#include "carom/lab.h"
#include "carom/sweep.h"

#include <math.h>
#include <string.h>

enum { SCENES = 4, MOST_MESHES = 3, MOST_VERTICES = 10, MOST_TRIANGLES = 10, MOST_STEPS = 4 };

static carom_context *contexts[2];

typedef struct swept {
	carom_sweep *scene[SCENES];
	double places[MOST_MESHES][3 * MOST_VERTICES];
	int vertex_count[MOST_MESHES], mesh_count;
	fuzz_bytes bytes;
} swept;

static carom_context *context_of(int scene) { return contexts[scene % 2]; }

// Half of the numbers lie on a coarse grid, so that features meet exactly.
static double coordinate(fuzz_bytes *b)
{
	const int choice = fuzz_byte(b);
	return choice < 128 ? (choice % 17 - 8) / 8.0 : fuzz_number(b);
}

static void make_scenes(swept *s)
{
	static const double tolerances[] = { 1e-6, 1e-3, 1e-12, 1e-300, 5e-324, 1e3, 1e-6, 1e-6 };
	static const double separations[] = { 0, 0, 1e-3, 1, 1e6, 1e-9, 0, 0 };
	static const struct {
		carom_sweep_method method;
		carom_sweep_volume volume;
		carom_sweep_build build;
		bool orphans;
	} kinds[SCENES] = { { CAROM_SWEEP_FRONT, CAROM_SWEEP_DOP18, CAROM_SWEEP_MEDIAN, true },
		{ CAROM_SWEEP_BVH, CAROM_SWEEP_AABB, CAROM_SWEEP_SAH, true },
		{ CAROM_SWEEP_SORT, CAROM_SWEEP_DOP18, CAROM_SWEEP_MEDIAN, false },
		{ CAROM_SWEEP_PHC, CAROM_SWEEP_DOP18, CAROM_SWEEP_SAH, true } };
	const uint8_t choice = fuzz_byte(&s->bytes);
	for (int k = 0; k < SCENES; k++) {
		carom_sweep_def def = carom_default_sweep_def();
		def.lab = carom_lab_sweep();
		def.method = kinds[k].method;
		def.volume = kinds[k].volume;
		def.build = kinds[k].build;
		def.orphan_sets = kinds[k].orphans;
		def.tolerance = tolerances[choice & 7];
		def.min_separation = separations[choice >> 3 & 7];
		def.prune_front = !(choice & 64);
		const carom_result result = carom_create_sweep(context_of(k), &def, &s->scene[k]);
		FUZZ_REQUIRE(result == CAROM_SUCCESS, "%s", carom_error_text(context_of(k)));
	}
}

// Call on all scenes; k is the number of the scene, and the answers must be equal.
#define ON_ALL(result, call)                                                                      \
	do {                                                                                          \
		for (int k = 0; k < SCENES; k++) {                                                        \
			const carom_result answer = (call);                                                   \
			(result) = k ? (result) : answer;                                                     \
			FUZZ_REQUIRE(answer == (result), "scene %d: %s", k, carom_error_text(context_of(k))); \
		}                                                                                         \
	} while (0)

static void add_mesh(swept *s)
{
	fuzz_bytes *b = &s->bytes;
	double *places = s->places[s->mesh_count];
	int32_t triangles[3 * MOST_TRIANGLES], number;
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertex_count = 3 + fuzz_choose(b, MOST_VERTICES - 2);
	def.triangle_count = 1 + fuzz_choose(b, MOST_TRIANGLES);
	for (int i = 0; i < 3 * def.triangle_count; i++)
		triangles[i] = fuzz_choose(b, def.vertex_count);
	for (int i = 0; i < 3 * def.vertex_count; i++)
		places[i] = coordinate(b);
	const uint8_t flags = fuzz_byte(b);
	def.triangles = triangles;
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	def.self = !(flags & 1);
	def.is_rigid = flags % 8 == 2;
	def.group = flags >= 240 ? -1 : flags >= 224 ? 1 : 0;
	carom_result result = CAROM_SUCCESS;
	ON_ALL(result, carom_sweep_add_mesh(s->scene[k], &def, &number));
	if (result == CAROM_SUCCESS)
		s->vertex_count[s->mesh_count++] = def.vertex_count;
}

static void move_meshes(swept *s)
{
	fuzz_bytes *b = &s->bytes;
	for (int m = 0; m < s->mesh_count; m++) {
		double places[3 * MOST_VERTICES];
		memcpy(places, s->places[m], sizeof places);
		for (int i = fuzz_choose(b, 3 * s->vertex_count[m] + 1); i > 0; i--) {
			const int which = fuzz_choose(b, 3 * s->vertex_count[m]);
			places[which] = coordinate(b);
		}
		const carom_strided end = { places, 0, CAROM_FLOAT64 };
		const bool put = fuzz_byte(b) % 16 == 1;
		carom_result result = CAROM_SUCCESS;
		ON_ALL(result, (put ? carom_sweep_place_mesh : carom_sweep_move_mesh)(s->scene[k], m, &end));
		if (result == CAROM_SUCCESS)
			memcpy(s->places[m], places, sizeof places);
	}
}

static bool same_bits(const double *a, const double *b, size_t count) { return memcmp(a, b, count * sizeof *a) == 0; }

static void compare_hits(const carom_sweep_hits *first, const carom_sweep_hits *hits, int scene)
{
	FUZZ_REQUIRE(hits->count == first->count, "scene %d finds %lld impacts, scene 0 %lld", scene, (long long)hits->count,
		(long long)first->count);
	for (int64_t i = 0; i < hits->count; i++) {
		const carom_sweep_hit *a = &first->data[i], *b = &hits->data[i];
		FUZZ_REQUIRE(a->kind == b->kind && a->status == b->status && a->mesh_a == b->mesh_a && a->mesh_b == b->mesh_b &&
				memcmp(a->vertices, b->vertices, sizeof a->vertices) == 0 && a->triangle == b->triangle,
			"impact %lld of scene %d", (long long)i, scene);
		FUZZ_REQUIRE(
			same_bits(&a->time, &b->time, 1) && same_bits(a->normal, b->normal, 3) && same_bits(a->weight, b->weight, 4),
			"impact %lld of scene %d: time %.17g and %.17g", (long long)i, scene, a->time, b->time);
		FUZZ_REQUIRE(b->time >= 0 && b->time <= 1 && fuzz_is_unit(b->normal[0], b->normal[1], b->normal[2]),
			"impact %lld: time %g", (long long)i, b->time);
	}
}

static void find(swept *s)
{
	carom_sweep_hits hits[SCENES];
	carom_result result = CAROM_SUCCESS;
	ON_ALL(result, carom_sweep_find(s->scene[k], &hits[k]));
	if (result != CAROM_SUCCESS)
		return;
	double earliest = INFINITY;
	for (int k = 0; k < SCENES; k++)
		compare_hits(&hits[0], &hits[k], k);
	for (int64_t i = 0; i < hits[0].count; i++)
		earliest = fmin(earliest, hits[0].data[i].time);
	carom_sweep_hit hit;
	bool found;
	for (int k = 0; k < SCENES; k++) {
		result = carom_sweep_find_earliest(s->scene[k], &hit, &found);
		FUZZ_REQUIRE(result == CAROM_SUCCESS, "%s", carom_error_text(context_of(k)));
		FUZZ_REQUIRE(found == (earliest < INFINITY) && (!found || hit.time == earliest), "scene %d: %g, earliest is %g", k,
			found ? hit.time : -1, earliest);
	}
}

FUZZ(sweep)
{
	if (!contexts[0]) {
		contexts[0] = fuzz_context(CAROM_SIMD_AUTO);
		contexts[1] = fuzz_context(CAROM_SIMD_SCALAR);
	}
	const size_t before[2] = { carom_memory_in_use(contexts[0]), carom_memory_in_use(contexts[1]) };
	swept s = { .bytes = { data, data + size } };
	make_scenes(&s);
	for (int i = 1 + fuzz_choose(&s.bytes, MOST_MESHES); i > 0; i--)
		add_mesh(&s);
	for (int i = 0; i < MOST_STEPS && s.bytes.at < s.bytes.end; i++) {
		move_meshes(&s);
		find(&s);
	}
	for (int k = 0; k < SCENES; k++)
		carom_destroy_sweep(s.scene[k]);
	for (int c = 0; c < 2; c++)
		FUZZ_REQUIRE(carom_memory_in_use(contexts[c]) == before[c], "something is left");
	return true;
}
