/// carom_spheres: every method against the oracle on every kind of cloud and in every layout, the same bits whatever the threads and
/// the method, misuse, failing memory, and the recorded snapshots.
#include "fixture.h"
#include "spheres/sphere_state.h"
#include "spheres_fixture.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static carom_spheres *make_spheres(carom_context *context, const carom_spheres_def *def)
{
	carom_spheres *spheres = NULL;
	REQUIRE(carom_create_spheres(context, def, &spheres) == CAROM_SUCCESS);
	return spheres;
}

static carom_spheres_def def_of(carom_sphere_method method, double skin)
{
	carom_spheres_def def = carom_default_spheres_def();
	def.method = method;
	def.skin = skin;
	return def;
}

// ---- The fixture ----

TEST(spheres, oracle_agrees_with_brute_force)
{
	for (int kind = 0; kind < CLOUD_KINDS; kind++) {
		for (int skinned = 0; skinned < 2; skinned++) {
			fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, 700, 3);
			const double skin = skinned ? 0.002 : 0;
			fixture_pairs sweep = fixture_oracle_pairs(&cloud, skin, NULL), brute = fixture_brute_pairs(&cloud, skin, NULL);
			fixture_check_pairs(&sweep, &brute, cloud.name);
			CHECK(brute.count > 0 || kind == CLOUD_FREE_FALL);
			fixture_free_pairs(&sweep);
			fixture_free_pairs(&brute);
			fixture_free_cloud(&cloud);
		}
	}
}

static carom_result brute_build(void **state, const cr_sphere_set *set)
{
	(void)state, (void)set;
	return CAROM_SUCCESS;
}

static carom_result brute_find(void *state, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests)
{
	(void)state;
	cr_pair_batch *batch = malloc(sizeof *batch);
	REQUIRE(batch != NULL);
	batch->count = 0;
	batch->stopped = false;
	*tests = 0;
	for (uint32_t i = 0; i < set->count; i++) {
		for (uint32_t j = i + 1; j < set->count && !batch->stopped; j++) {
			++*tests;
			if (cr_spheres_touch(set, i, j) && cr_name_pair(set, i, j, &batch->pairs[batch->count]))
				batch->count++;
			if (batch->count == CR_PAIR_BATCH)
				cr_flush_pairs(batch, sink, 0);
		}
	}
	cr_flush_pairs(batch, sink, 0);
	free(batch);
	return CAROM_SUCCESS;
}

static void brute_release(carom_context *context, void *state) { (void)context, (void)state; }

TEST(spheres, images_meet_every_periodic_pair_once)
{
	// The rules of sets and images alone, without a structure.
	static const cr_sphere_detector brute = { .build = brute_build, .find = brute_find, .release = brute_release };
	carom_context *context = fixture_context(1);
	fixture_check_detector_everywhere(&brute, context, 400);
	carom_destroy_context(context);
}

// ---- Pairs ----

static void check_cloud(carom_context *context, const fixture_cloud *cloud, carom_sphere_method method, double skin)
{
	const carom_spheres_def def = def_of(method, skin);
	carom_spheres *spheres = make_spheres(context, &def);
	char what[96];
	snprintf(what, sizeof what, "%s, %s, skin %g", carom_sphere_method_name(method), cloud->name, skin);
	fixture_check_spheres(spheres, cloud, NULL, what);
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	CHECK_INT(stats.count, cloud->count);
	CHECK(stats.method != CAROM_SPHERES_AUTO && (method == CAROM_SPHERES_AUTO || stats.method == method));
	CHECK(stats.tests >= stats.pairs);
	carom_destroy_spheres(spheres);
}

static void check_method(carom_sphere_method method, int64_t count)
{
	carom_context *context = fixture_context(2);
	for (int kind = 0; kind < CLOUD_KINDS; kind++) {
		fixture_cloud cloud = fixture_make_cloud((fixture_cloud_kind)kind, count, 11 + (uint64_t)kind);
		check_cloud(context, &cloud, method, 0);
		check_cloud(context, &cloud, method, 0.0002);
		fixture_free_cloud(&cloud);
	}
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(spheres, auto_finds_all_pairs) { check_method(CAROM_SPHERES_AUTO, 3000); }
TEST(spheres, grid_finds_all_pairs) { check_method(CAROM_SPHERES_GRID, 3000); }
TEST(spheres, levels_find_all_pairs) { check_method(CAROM_SPHERES_LEVELS, 3000); }
TEST(spheres, tree_finds_all_pairs) { check_method(CAROM_SPHERES_TREE, 3000); }
TEST(spheres, rays_find_all_pairs) { check_method(CAROM_SPHERES_RAYS, 3000); }

TEST(spheres, auto_finds_all_pairs_of_20000) { check_method(CAROM_SPHERES_AUTO, 20000 / TEST_FEWER); }

TEST(spheres, every_layout_gives_the_same)
{
	carom_context *context = fixture_context(2);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, 10007, 5);
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	for (int layout = 0; layout < LAYOUTS; layout++) {
		carom_spheres *spheres = make_spheres(context, NULL);
		fixture_arrays arrays = fixture_lay_out(&cloud, (fixture_layout)layout);
		CHECK_INT(carom_spheres_update(spheres, &arrays.input), CAROM_SUCCESS);
		fixture_free_arrays(&arrays);
		carom_sphere_pairs found;
		CHECK_INT(carom_spheres_find_pairs(spheres, &found), CAROM_SUCCESS);
		CHECK_INT(found.count, expected.count);
		CHECK(found.count == expected.count &&
			memcmp(found.pairs, expected.pairs, (size_t)found.count * sizeof *found.pairs) == 0);
		carom_destroy_spheres(spheres);
	}
	fixture_free_pairs(&expected);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(spheres, few_and_none)
{
	carom_context *context = fixture_context(2);
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		for (int64_t count = 0; count < 20; count++) {
			for (int skinned = 0; skinned < 2; skinned++) {
				const carom_spheres_def def = def_of((carom_sphere_method)method, skinned ? 0.01 : 0);
				carom_spheres *spheres = make_spheres(context, &def);
				fixture_cloud cloud = fixture_make_cloud(CLOUD_COINCIDENT, count, (uint64_t)count);
				fixture_check_spheres(spheres, &cloud, NULL, "few");
				carom_sphere_neighbours rows;
				CHECK_INT(carom_spheres_get_neighbours(spheres, &rows), CAROM_SUCCESS);
				CHECK_INT(rows.count, count);
				CHECK(rows.first && rows.other && rows.first[0] == 0);
				fixture_free_cloud(&cloud);
				carom_destroy_spheres(spheres);
			}
		}
	}
	carom_destroy_context(context);
}

TEST(spheres, a_detector_that_never_was_updated_is_empty)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, NULL);
	carom_sphere_pairs found;
	carom_sphere_neighbours rows;
	CHECK_INT(carom_spheres_find_pairs(spheres, &found), CAROM_SUCCESS);
	CHECK_INT(found.count, 0);
	CHECK_INT(carom_spheres_get_neighbours(spheres, &rows), CAROM_SUCCESS);
	CHECK_INT(rows.count, 0);
	CHECK_INT(carom_spheres_get_order(spheres, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_spheres_get_stats(spheres).count, 0);
	carom_destroy_spheres(spheres);
	carom_destroy_spheres(NULL);
	carom_destroy_context(context);
}

TEST(spheres, numbers_may_grow_and_shrink)
{
	carom_context *context = fixture_context(2);
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		const carom_spheres_def def = def_of((carom_sphere_method)method, method % 2 ? 0.0001 : 0);
		carom_spheres *spheres = make_spheres(context, &def);
		static const int64_t counts[] = { 100, 3000, 0, 3000, 1, 2999, 5000, 64 };
		for (int i = 0; i < 8; i++) {
			fixture_cloud cloud = fixture_make_cloud(i % 3 == 2 ? CLOUD_FAR_AWAY : CLOUD_DENSE, counts[i], (uint64_t)i);
			fixture_check_spheres(spheres, &cloud, NULL, "changing number");
			fixture_free_cloud(&cloud);
		}
		carom_destroy_spheres(spheres);
	}
	carom_destroy_context(context);
}

// ---- Periodic space ----

TEST(spheres, periodic_along_any_axes)
{
	carom_context *context = fixture_context(2);
	static const double lengths[3] = { 1, 0.75, 1.5 };
	for (int axes = 1; axes < 8; axes++) {
		for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
			carom_spheres_def def = def_of((carom_sphere_method)method, axes % 2 ? 0.01 : 0);
			double period[3] = { 0 };
			for (int k = 0; k < 3; k++) {
				def.periodic[k] = axes >> k & 1;
				def.period[k] = period[k] = def.periodic[k] ? lengths[k] : 0;
			}
			carom_spheres *spheres = make_spheres(context, &def);
			fixture_cloud cloud = fixture_make_periodic_cloud(period, TEST_FEWER > 1 ? 700 : 1500, (uint64_t)axes);
			fixture_check_spheres(spheres, &cloud, period, carom_sphere_method_name((carom_sphere_method)method));
			CHECK(carom_spheres_get_stats(spheres).images > 0);
			fixture_free_cloud(&cloud);
			carom_destroy_spheres(spheres);
		}
	}
	carom_destroy_context(context);
}

TEST(spheres, a_period_must_leave_room_for_two_spheres)
{
	carom_context *context = fixture_context(1);
	carom_spheres_def def = def_of(CAROM_SPHERES_AUTO, 0);
	def.periodic[1] = true;
	def.period[1] = 1;
	carom_spheres *spheres = make_spheres(context, &def);
	float sphere[4] = { 0, 0.25f, 0, 0.25f };
	carom_sphere_input input = carom_default_sphere_input();
	input.count = 1;
	input.centres = (carom_strided){ sphere, 0, CAROM_FLOAT32 };
	input.radii = (carom_strided){ sphere + 3, 0, CAROM_FLOAT32 };
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "period[1]") != NULL);
	sphere[3] = 0.2499f;
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

TEST(spheres, far_outside_of_the_period)
{
	// Where the last place of a coordinate is wider than the period there is still no crash, and each pair at most once.
	carom_context *context = fixture_context(1);
	carom_spheres_def def = def_of(CAROM_SPHERES_AUTO, 0);
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = true;
		def.period[k] = 0.1;
	}
	carom_spheres *spheres = make_spheres(context, &def);
	double centres[6][3] = { { 1e12, -1e12, 0 }, { -1e-300, 0, 0.1 }, { -0.0, 0.1, 0.2 }, { 0.05, 0.05, 1e9 },
		{ 1e12, -1e12, 0 }, { 0.09999999999999999, 0.1, -0.1 } };
	double radii[6] = { 0.01, 0.01, 0.01, 0.01, 0.01, 0.01 };
	carom_sphere_input input = carom_default_sphere_input();
	input.count = 6;
	input.centres = (carom_strided){ centres, 0, CAROM_FLOAT64 };
	input.radii = (carom_strided){ radii, 0, CAROM_FLOAT64 };
	REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
	carom_sphere_pairs found;
	REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
	int expected = 0;
	for (int64_t i = 0; i < found.count; i++) {
		const carom_sphere_pair *p = &found.pairs[i];
		CHECK(i == 0 || p[-1].a < p->a || (p[-1].a == p->a && p[-1].b < p->b));
		expected += (p->a == 0 && p->b == 4) || (p->a == 1 && p->b == 2) || (p->a == 1 && p->b == 5) || (p->a == 2 && p->b == 5);
	}
	CHECK_INT(expected, 4);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

// ---- Visits ----

typedef struct visit_log {
	atomic_llong count, sum;
	long long stop_after;
} visit_log;

static bool log_pairs(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	visit_log *log = user;
	uint64_t sum = 0;
	for (int64_t i = 0; i < count; i++)
		sum += fixture_mix((uint64_t)pairs[i].a << 32 | pairs[i].b);
	atomic_fetch_add(&log->sum, (long long)sum);
	return worker >= 0 && atomic_fetch_add(&log->count, count) + count <= log->stop_after;
}

TEST(spheres, visits_are_the_pairs_that_are_found)
{
	carom_context *context = fixture_context(3);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 20000, 1);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_PACKED);
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		for (int skinned = 0; skinned < 2; skinned++) {
			const carom_spheres_def def = def_of((carom_sphere_method)method, skinned ? 0.0001 : 0);
			carom_spheres *spheres = make_spheres(context, &def);
			carom_sphere_pairs found;
			visit_log log = { .stop_after = LLONG_MAX }, part = { .stop_after = 3000 };
			REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
			CHECK_INT(carom_spheres_visit_pairs(spheres, log_pairs, &log), CAROM_SUCCESS);
			CHECK_INT(carom_spheres_get_stats(spheres).pairs, atomic_load(&log.count));
			CHECK_INT(carom_spheres_visit_pairs(spheres, log_pairs, &part), CAROM_SUCCESS);
			CHECK_INT(carom_spheres_find_pairs(spheres, &found), CAROM_SUCCESS);
			uint64_t sum = 0;
			for (int64_t i = 0; i < found.count; i++)
				sum += fixture_mix((uint64_t)found.pairs[i].a << 32 | found.pairs[i].b);
			CHECK_INT(atomic_load(&log.count), found.count);
			CHECK_INT(atomic_load(&log.sum), (int64_t)sum);
			// Ended early, though what other workers had in hand came, too.
			CHECK(atomic_load(&part.count) > 3000 && atomic_load(&part.count) < found.count / 2);
			carom_destroy_spheres(spheres);
		}
	}
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

/// Ends the search once and takes what comes after that for more.
static bool end_once(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	(void)pairs;
	(void)count;
	(void)worker;
	return atomic_fetch_add((atomic_int *)user, 1) > 0;
}

TEST(spheres, an_ended_visit_is_over_and_teaches_nothing)
{
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 20000, 1);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_PACKED);
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		const carom_spheres_def def = def_of((carom_sphere_method)method, 0);
		carom_spheres *spheres = make_spheres(context, &def);
		carom_sphere_pairs found;
		REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
		REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
		const cr_method_choice choice = spheres->choice;
		const double query_ms = spheres->fit.query_ms;
		atomic_int calls = 0;
		CHECK(query_ms >= 0);
		CHECK_INT(carom_spheres_visit_pairs(spheres, end_once, &calls), CAROM_SUCCESS);
		CHECK_INT(atomic_load(&calls), 1);
		CHECK(memcmp(&spheres->choice, &choice, sizeof choice) == 0);
		CHECK(spheres->fit.query_ms == query_ms);
		carom_destroy_spheres(spheres);
	}
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

// ---- Forces ----

/// A spring with a twist that depends on both names.
typedef struct spring {
	const uint32_t *ids; // NULL: the index
} spring;

static void spring_force(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	const spring *s = user;
	const double own = s->ids ? s->ids[a] : a, other = s->ids ? s->ids[b] : b, stiffness = 1e5 / (own + other + 3);
	for (int k = 0; k < 3; k++) {
		force[k] += stiffness * overlap * direction[k];
		torque[k] += overlap * direction[(k + 1) % 3] / (1 + own * 0.5 + other);
	}
}

typedef struct forces {
	double *force, *torque;
	int64_t count;
} forces;

/// Forces of a cloud whose sphere i is called ids[i], put in the order of the ids.
static forces sum_forces(const carom_spheres_def *def, int threads, const fixture_cloud *cloud, const uint32_t *ids)
{
	carom_context *context = fixture_context(threads);
	carom_spheres *spheres = make_spheres(context, def);
	fixture_arrays arrays = fixture_lay_out(cloud, LAYOUT_DOUBLE_RECORDS);
	const size_t count = (size_t)cloud->count;
	double *force = malloc(3 * count * sizeof *force), *torque = malloc(3 * count * sizeof *torque);
	forces sorted = { malloc(3 * count * sizeof *force), malloc(3 * count * sizeof *force), cloud->count };
	REQUIRE(force && torque && sorted.force && sorted.torque);
	arrays.input.ids = ids;
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	spring s = { ids };
	REQUIRE(carom_spheres_sum_forces(spheres, spring_force, &s, force, torque) == CAROM_SUCCESS);
	for (size_t i = 0; i < count; i++) {
		const size_t id = ids ? ids[i] : i;
		memcpy(sorted.force + 3 * id, force + 3 * i, 3 * sizeof *force);
		memcpy(sorted.torque + 3 * id, torque + 3 * i, 3 * sizeof *torque);
	}
	// Without torques the forces are the same.
	double *again = torque;
	CHECK_INT(carom_spheres_sum_forces(spheres, spring_force, &s, again, NULL), CAROM_SUCCESS);
	CHECK(memcmp(again, force, 3 * count * sizeof *force) == 0);
	free(force);
	free(torque);
	fixture_free_arrays(&arrays);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
	return sorted;
}

static void free_forces(forces *f)
{
	free(f->force);
	free(f->torque);
}

static bool same_forces(const forces *f, const forces *g)
{
	const size_t size = 3 * (size_t)f->count * sizeof(double);
	return memcmp(f->force, g->force, size) == 0 && memcmp(f->torque, g->torque, size) == 0;
}

/// The dull sum: over all pairs of the oracle in the order of the names.
static forces oracle_forces(const fixture_cloud *cloud, const double period[3])
{
	const size_t count = (size_t)cloud->count;
	forces f = { calloc(3 * count, sizeof(double)), calloc(3 * count, sizeof(double)), cloud->count };
	REQUIRE(f.force && f.torque);
	fixture_pairs pairs = fixture_oracle_pairs(cloud, 0, period);
	spring s = { NULL };
	// Sorted by a, then b: first what comes before each sphere, then what comes after it.
	for (int pass = 0; pass < 2; pass++) {
		for (int64_t i = 0; i < pairs.count; i++) {
			const uint32_t a = pass ? pairs.pairs[i].a : pairs.pairs[i].b, b = pass ? pairs.pairs[i].b : pairs.pairs[i].a;
			const double *p = cloud->spheres + 4 * (size_t)a, *q = cloud->spheres + 4 * (size_t)b;
			double d[3], d2 = 0;
			for (int k = 0; k < 3; k++) {
				d[k] = p[k] - q[k];
				if (period && period[k] > 0)
					d[k] -= period[k] * round(d[k] / period[k]);
				d2 += d[k] * d[k];
			}
			const double length = sqrt(d2);
			for (int k = 0; k < 3; k++)
				d[k] = length > 0 ? d[k] / length : k > 0 ? 0 : a < b ? 1 : -1;
			spring_force(a, b, d, fmax(p[3] + q[3] - length, 0), f.force + 3 * (size_t)a, f.torque + 3 * (size_t)a, &s);
		}
	}
	fixture_free_pairs(&pairs);
	return f;
}

/// The cloud in another order; ids[i] tells which one sphere i was.
static fixture_cloud permute(const fixture_cloud *cloud, uint32_t *ids, uint64_t seed)
{
	fixture_cloud other = *cloud;
	other.spheres = malloc((size_t)cloud->count * 4 * sizeof(double));
	REQUIRE(other.spheres);
	for (uint32_t i = 0; i < cloud->count; i++) {
		const uint32_t k = (uint32_t)(test_random(&seed) % (i + 1));
		ids[i] = ids[k];
		ids[k] = i;
	}
	for (int64_t i = 0; i < cloud->count; i++)
		memcpy(other.spheres + 4 * i, cloud->spheres + 4 * (size_t)ids[i], 4 * sizeof(double));
	return other;
}

static void check_forces(const fixture_cloud *cloud, const double period[3])
{
	forces expected = oracle_forces(cloud, period);
	static const int threads[] = { 1, 2, 3, 8 };
	uint32_t *ids = malloc((size_t)cloud->count * sizeof *ids);
	REQUIRE(ids != NULL);
	fixture_cloud permuted = permute(cloud, ids, 77);
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		for (int skinned = 0; skinned < 2; skinned++) {
			carom_spheres_def def = def_of((carom_sphere_method)method, skinned ? 0.0003 : 0);
			for (int k = 0; period && k < 3; k++) {
				def.periodic[k] = period[k] > 0;
				def.period[k] = period[k];
			}
			const int thread_count = threads[(method + 2 * skinned) % 4];
			forces plain = sum_forces(&def, thread_count, cloud, NULL), named = sum_forces(&def, thread_count, &permuted, ids);
			CHECK(same_forces(&plain, &expected));
			CHECK(same_forces(&named, &expected));
			free_forces(&plain);
			free_forces(&named);
		}
	}
	fixture_free_cloud(&permuted);
	free(ids);
	free_forces(&expected);
}

TEST(spheres, forces_have_the_same_bits_for_all_methods_skins_threads_and_orders)
{
	static const fixture_cloud_kind kinds[] = { CLOUD_DENSE, CLOUD_WIDE, CLOUD_COINCIDENT, CLOUD_TOUCHING };
	for (int i = 0; i < 4; i++) {
		fixture_cloud cloud = fixture_make_cloud(kinds[i], 3000, 9);
		check_forces(&cloud, NULL);
		fixture_free_cloud(&cloud);
	}
}

TEST(spheres, forces_have_the_same_bits_in_periodic_space)
{
	const double period[3] = { 1, 0, 0.75 };
	fixture_cloud cloud = fixture_make_periodic_cloud(period, 2000, 4);
	check_forces(&cloud, period);
	fixture_free_cloud(&cloud);
}

typedef struct one_force {
	double direction[2][3], overlap[2];
} one_force;

static void note_force(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	one_force *noted = user;
	(void)b, (void)force, (void)torque;
	memcpy(noted->direction[a], direction, 3 * sizeof(double));
	noted->overlap[a] = overlap;
}

static one_force force_of_two(const double spheres_at[2][4], const uint32_t *ids)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, NULL);
	carom_sphere_input input = carom_default_sphere_input();
	input.count = 2;
	input.centres = (carom_strided){ spheres_at, 32, CAROM_FLOAT64 };
	input.radii = (carom_strided){ &spheres_at[0][3], 32, CAROM_FLOAT64 };
	input.ids = ids;
	one_force noted = { .overlap = { -1, -1 } };
	double forces_at[6];
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
	CHECK_INT(carom_spheres_sum_forces(spheres, note_force, &noted, forces_at, NULL), CAROM_SUCCESS);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
	return noted;
}

TEST(spheres, directions_of_coincident_and_tiny)
{
	const double coincident[2][4] = { { 1, 2, 3, 0.5 }, { 1, 2, 3, 0.25 } };
	one_force f = force_of_two(coincident, NULL);
	CHECK(f.direction[0][0] == 1 && f.direction[0][1] == 0 && f.direction[0][2] == 0 && f.direction[1][0] == -1);
	CHECK(f.overlap[0] == 0.75 && f.overlap[1] == 0.75);
	const uint32_t ids[2] = { 9, 3 };
	f = force_of_two(coincident, ids);
	CHECK(f.direction[0][0] == -1 && f.direction[1][0] == 1);
	// Squares of these differences underflow; the direction must not suffer.
	const double tiny[2][4] = { { 3e-200, 0, 0, 1 }, { 0, -4e-200, 0, 1 } };
	f = force_of_two(tiny, NULL);
	CHECK_NEAR(f.direction[0][0], 0.6, 1e-15);
	CHECK_NEAR(f.direction[0][1], 0.8, 1e-15);
	CHECK_NEAR(f.direction[1][0], -0.6, 1e-15);
	CHECK(f.overlap[0] == 2);
}

// ---- Rows and order ----

TEST(spheres, neighbours_are_the_pairs_within_the_skin)
{
	carom_context *context = fixture_context(2);
	for (int skinned = 0; skinned < 2; skinned++) {
		const double skin = skinned ? 0.0003 : 0;
		const carom_spheres_def def = def_of(CAROM_SPHERES_AUTO, skin);
		carom_spheres *spheres = make_spheres(context, &def);
		fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 5000, 2);
		fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_RECORDS);
		fixture_pairs expected = fixture_oracle_pairs(&cloud, skin, NULL), actual = { 0 };
		REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
		carom_sphere_neighbours rows;
		REQUIRE(carom_spheres_get_neighbours(spheres, &rows) == CAROM_SUCCESS);
		actual.pairs = malloc((size_t)rows.first[rows.count] * sizeof *actual.pairs);
		REQUIRE(actual.pairs);
		for (uint32_t i = 0; i < rows.count; i++) {
			for (int64_t k = rows.first[i]; k < rows.first[i + 1]; k++) {
				if (rows.other[k] > i)
					actual.pairs[actual.count++] = (carom_sphere_pair){ i, rows.other[k] };
			}
		}
		CHECK_INT(rows.first[rows.count], 2 * actual.count);
		fixture_check_pairs(&actual, &expected, "rows");
		const uint64_t build = rows.build;
		REQUIRE(carom_spheres_get_neighbours(spheres, &rows) == CAROM_SUCCESS);
		CHECK(rows.build == build);
		fixture_free_pairs(&actual);
		fixture_free_pairs(&expected);
		fixture_free_arrays(&arrays);
		fixture_free_cloud(&cloud);
		carom_destroy_spheres(spheres);
	}
	carom_destroy_context(context);
}

TEST(spheres, order_is_a_permutation_that_brings_neighbours_together)
{
	carom_context *context = fixture_context(2);
	carom_spheres *spheres = make_spheres(context, NULL);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 20000, 2);
	fixture_check_spheres(spheres, &cloud, NULL, "order");
	uint32_t *order = malloc((size_t)cloud.count * sizeof *order);
	bool *seen = calloc((size_t)cloud.count, sizeof *seen);
	REQUIRE(order && seen);
	REQUIRE(carom_spheres_get_order(spheres, order) == CAROM_SUCCESS);
	double given = 0, ordered = 0;
	for (int64_t k = 0; k < cloud.count; k++) {
		REQUIRE(order[k] < cloud.count && !seen[order[k]]);
		seen[order[k]] = true;
		for (int axis = 0; axis < 3 && k > 0; axis++) {
			given += fabs(cloud.spheres[4 * k + axis] - cloud.spheres[4 * (k - 1) + axis]);
			ordered += fabs(
				cloud.spheres[4 * (size_t)order[k] + (size_t)axis] - cloud.spheres[4 * (size_t)order[k - 1] + (size_t)axis]);
		}
	}
	CHECK(ordered < given / 8);
	free(order);
	free(seen);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

// ---- Threads ----

TEST(spheres, any_number_of_threads_gives_the_same)
{
	fixture_cloud cloud = fixture_make_cloud(CLOUD_WIDE, 20000, 6);
	fixture_pairs expected = fixture_oracle_pairs(&cloud, 0, NULL);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_DOUBLES);
	static const int threads[] = { 1, 2, 3, 8 };
	for (int t = 0; t < 4; t++) {
		if (!test_wants_threads(threads[t]) || (TEST_FEWER > 1 && threads[t] == 2))
			continue;
		carom_context *context = fixture_context(threads[t]);
		for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
			for (int skinned = 0; skinned < 2; skinned++) {
				const carom_spheres_def def = def_of((carom_sphere_method)method, skinned ? 0.001 : 0);
				carom_spheres *spheres = make_spheres(context, &def);
				carom_sphere_pairs found;
				REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
				REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
				CHECK(found.count == expected.count &&
					memcmp(found.pairs, expected.pairs, (size_t)found.count * sizeof *found.pairs) == 0);
				carom_destroy_spheres(spheres);
			}
		}
		carom_destroy_context(context);
	}
	fixture_free_arrays(&arrays);
	fixture_free_pairs(&expected);
	fixture_free_cloud(&cloud);
}

// ---- Misuse ----

static void expect_bad_def(carom_context *context, const carom_spheres_def *def, const char *field)
{
	carom_spheres *spheres = (carom_spheres *)(void *)context;
	CHECK_INT(carom_create_spheres(context, def, &spheres), CAROM_INVALID_ARGUMENT);
	CHECK(spheres == NULL);
	if (!CHECK(strstr(carom_error_text(context), field) != NULL))
		printf("%s: %s\n", field, carom_error_text(context));
}

TEST(spheres, bad_definitions_are_named)
{
	carom_context *context = fixture_context(1);
	carom_spheres_def def = { 0 };
	expect_bad_def(context, &def, "cookie");
#define BAD(change, field)             \
	def = carom_default_spheres_def(); \
	change;                            \
	expect_bad_def(context, &def, field)
	BAD(def.method = (carom_sphere_method)5, "method");
	BAD(def.method = (carom_sphere_method)-1, "method");
	BAD(def.skin = NAN, "skin");
	BAD(def.skin = INFINITY, "skin");
	BAD(def.upkeep = (carom_tree_upkeep)5, "upkeep");
	BAD(def.upkeep = (carom_tree_upkeep)-1, "upkeep");
	BAD((def.upkeep = CAROM_UPKEEP_INTERVAL, def.rebuild_interval = 0), "rebuild_interval");
	BAD((def.upkeep = CAROM_UPKEEP_QUALITY, def.max_cost_growth = 1), "max_cost_growth");
	BAD((def.upkeep = CAROM_UPKEEP_QUALITY, def.max_cost_growth = NAN), "max_cost_growth");
	BAD((def.periodic[2] = true, def.period[2] = 0), "period[2]");
	BAD((def.periodic[0] = true, def.period[0] = NAN), "period[0]");
	BAD((def.periodic[1] = true, def.period[1] = INFINITY), "period[1]");
	BAD((def.periodic[1] = true, def.period[1] = -1), "period[1]");
#undef BAD
	carom_spheres *spheres;
	CHECK_INT(carom_create_spheres(NULL, NULL, &spheres), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_create_spheres(context, NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_memory_in_use(context), context->size);
	CHECK_STR(carom_sphere_method_name((carom_sphere_method)99), "unknown");
	carom_destroy_context(context);
}

TEST(spheres, null_arguments_are_refused)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, NULL);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 100, 1);
	fixture_check_spheres(spheres, &cloud, NULL, "before");
	const carom_sphere_input input = carom_default_sphere_input();
	carom_sphere_pairs pairs;
	carom_sphere_neighbours rows;
	double forces_at[300];
	uint32_t order[100];
	CHECK_INT(carom_spheres_update(NULL, &input), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_update(spheres, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_find_pairs(NULL, &pairs), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_find_pairs(spheres, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_visit_pairs(NULL, log_pairs, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_visit_pairs(spheres, NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_sum_forces(NULL, note_force, NULL, forces_at, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_sum_forces(spheres, NULL, NULL, forces_at, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_sum_forces(spheres, note_force, NULL, NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_get_neighbours(NULL, &rows), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_get_neighbours(spheres, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_get_order(NULL, order), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_get_order(spheres, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_spheres_get_stats(NULL).count, 0);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

/// A refused update leaves what was there before.
static void expect_bad_input(carom_spheres *spheres, carom_context *context, const carom_sphere_input *input, const char *field)
{
	carom_sphere_pairs before, after;
	REQUIRE(carom_spheres_find_pairs(spheres, &before) == CAROM_SUCCESS);
	const int64_t count = before.count;
	const carom_sphere_pair first = before.pairs[0], last = before.pairs[count - 1];
	CHECK_INT(carom_spheres_update(spheres, input), CAROM_INVALID_ARGUMENT);
	if (!CHECK(strstr(carom_error_text(context), field) != NULL))
		printf("%s: %s\n", field, carom_error_text(context));
	REQUIRE(carom_spheres_find_pairs(spheres, &after) == CAROM_SUCCESS);
	CHECK_INT(after.count, count);
	CHECK(memcmp(&after.pairs[0], &first, sizeof first) == 0 && memcmp(&after.pairs[count - 1], &last, sizeof last) == 0);
}

TEST(spheres, bad_input_is_named_and_changes_nothing)
{
	enum { COUNT = 30000, BAD = 23456 };
	carom_context *context = fixture_context(2);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, COUNT, 1);
	for (int layout = 0; layout < LAYOUTS; layout++) {
		const carom_spheres_def def = def_of(CAROM_SPHERES_AUTO, layout % 2 ? 0.0001 : 0);
		carom_spheres *spheres = make_spheres(context, &def);
		fixture_arrays arrays = fixture_lay_out(&cloud, (fixture_layout)layout);
		REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
		static const double values[] = { NAN, INFINITY, -INFINITY, 1.1e12, -1.1e12 };
		for (int i = 0; i < 20; i += TEST_STRIDE) { // each place, each value
			fixture_cloud spoilt = cloud;
			spoilt.spheres = malloc(4 * COUNT * sizeof(double));
			REQUIRE(spoilt.spheres);
			memcpy(spoilt.spheres, cloud.spheres, 4 * COUNT * sizeof(double));
			spoilt.spheres[4 * BAD + i % 4] = values[i / 4];
			spoilt.spheres[4 * (BAD + 4000) + 1] = NAN; // not the first
			fixture_arrays bad = fixture_lay_out(&spoilt, (fixture_layout)layout);
			expect_bad_input(spheres, context, &bad.input, i % 4 == 3 ? "radii" : "centres");
			CHECK(strstr(carom_error_text(context), "sphere 23456") != NULL);
			fixture_free_arrays(&bad);
			fixture_free_cloud(&spoilt);
		}
		fixture_free_arrays(&arrays);
		carom_destroy_spheres(spheres);
	}
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(spheres, bad_fields_of_the_input)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, NULL);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 300, 1);
	fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_PACKED);
	REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
	carom_sphere_input input;
#define BAD(change, field) \
	input = arrays.input;  \
	change;                \
	expect_bad_input(spheres, context, &input, field)
	BAD(input.cookie++, "carom_sphere_input.cookie: start from carom_default_sphere_input");
	BAD(input.count = -1, "count");
	BAD(input.count = CAROM_MAX_SPHERES + 1ll, "count");
	BAD(input.centres.data = NULL, "centres.data");
	BAD(input.radii.data = NULL, "radii.data");
	BAD(input.centres.type = (carom_scalar)7, "centres.type");
	BAD(input.radii.type = (carom_scalar)-1, "radii.type");
	BAD(input.centres.stride = 3, "centres.stride");
	BAD(input.centres.stride = -11, "centres.stride");
	BAD(input.radii.stride = 1, "radii.stride");
	BAD(input.moved = NAN, "moved");
#undef BAD
	fixture_free_arrays(&arrays);
	fixture_free_cloud(&cloud);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

/// All zero, moved says that nothing moved: with a skin the list would then be kept whatever the spheres do.
TEST(spheres, zeroed_input_is_refused)
{
	carom_context *context = fixture_context(1);
	const carom_spheres_def def = def_of(CAROM_SPHERES_AUTO, 0.1);
	carom_spheres *spheres = make_spheres(context, &def);
	float centres[2][3] = { { 0 }, { 5 } };
	const float radii[2] = { 1, 1 };
	carom_sphere_input input = carom_default_sphere_input(), zeroed = { 0 };
	input.centres = zeroed.centres = (carom_strided){ centres, 0, CAROM_FLOAT32 };
	input.radii = zeroed.radii = (carom_strided){ radii, 0, CAROM_FLOAT32 };
	input.count = zeroed.count = 2;
	carom_sphere_pairs pairs;
	REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_find_pairs(spheres, &pairs) == CAROM_SUCCESS);
	CHECK_INT(pairs.count, 0);
	centres[1][0] = 1;
	CHECK_INT(carom_spheres_update(spheres, &zeroed), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_sphere_input.cookie: start from carom_default_sphere_input");
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
	REQUIRE(carom_spheres_find_pairs(spheres, &pairs) == CAROM_SUCCESS);
	CHECK_INT(pairs.count, 1);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

/// Ids that occur twice are named with their places; the last spheres stay. Where ids are thin they are not looked for.
TEST(spheres, equal_ids_are_refused)
{
	enum { COUNT = 300 };
	carom_context *context = fixture_context(1);
	fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, COUNT, 1);
	for (int skin = 0; skin < 2; skin++) {
		const carom_spheres_def def = def_of(CAROM_SPHERES_AUTO, skin * 0.01);
		carom_spheres *spheres = make_spheres(context, &def);
		fixture_arrays arrays = fixture_lay_out(&cloud, LAYOUT_PACKED);
		uint32_t ids[COUNT], twins[COUNT];
		for (uint32_t i = 0; i < COUNT; i++)
			ids[i] = twins[i] = 31 * (COUNT - 1 - i) + 7;
		arrays.input.ids = ids;
		REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
		carom_sphere_input input = arrays.input;
		input.ids = twins;
		twins[41] = twins[250] = twins[12];
		expect_bad_input(spheres, context, &input, "carom_sphere_input.ids of spheres 12 and 41 are both 8904");
		twins[12] = ids[12];
		expect_bad_input(spheres, context, &input, "carom_sphere_input.ids of spheres 12 and 41 are both 8904");
		twins[41] = ids[41];
		expect_bad_input(spheres, context, &input, "carom_sphere_input.ids of spheres 12 and 250 are both 8904");
		twins[250] = ids[250];
		CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
		twins[0] = UINT32_MAX;
		twins[1] = twins[2];
		CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
		fixture_free_arrays(&arrays);
		carom_destroy_spheres(spheres);
	}
	fixture_free_cloud(&cloud);
	carom_destroy_context(context);
}

TEST(spheres, negative_radii_are_refused)
{
	carom_context *context = fixture_context(1);
	carom_spheres *spheres = make_spheres(context, NULL);
	const float centres[9] = { 0 }, radii[3] = { 0, -0.0f, -1e-30f };
	carom_sphere_input input = carom_default_sphere_input();
	input.centres = (carom_strided){ centres, 0, CAROM_FLOAT32 };
	input.radii = (carom_strided){ radii, 0, CAROM_FLOAT32 };
	input.count = 2;
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_SUCCESS);
	input.count = 3;
	CHECK_INT(carom_spheres_update(spheres, &input), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "sphere 2 is negative") != NULL);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

// ---- Memory ----

/// All calls that may allocate, twice. False when one ran out of memory.
static bool use_everything(carom_spheres *spheres, const fixture_arrays *first, const fixture_arrays *second)
{
	double *forces_at = malloc(3 * (size_t)second->input.count * sizeof *forces_at);
	uint32_t *order = malloc((size_t)second->input.count * sizeof *order);
	REQUIRE(forces_at && order);
	bool good = true;
	for (int pass = 0; pass < 2 && good; pass++) {
		carom_sphere_pairs pairs;
		carom_sphere_neighbours rows;
		visit_log log = { .stop_after = LLONG_MAX };
		const fixture_arrays *arrays = pass ? second : first;
		spring s = { NULL };
		carom_result results[6];
		results[0] = carom_spheres_update(spheres, &arrays->input);
		if (results[0] == CAROM_OUT_OF_MEMORY)
			CHECK_INT(carom_spheres_get_stats(spheres).count, 0);
		results[1] = carom_spheres_find_pairs(spheres, &pairs);
		results[2] = carom_spheres_visit_pairs(spheres, log_pairs, &log);
		results[3] = carom_spheres_sum_forces(spheres, spring_force, &s, forces_at, NULL);
		results[4] = carom_spheres_get_neighbours(spheres, &rows);
		results[5] = carom_spheres_get_order(spheres, order);
		for (int i = 0; i < 6; i++) {
			CHECK(results[i] == CAROM_SUCCESS || results[i] == CAROM_OUT_OF_MEMORY);
			good = good && results[i] == CAROM_SUCCESS;
		}
	}
	free(forces_at);
	free(order);
	return good;
}

static void check_failures(const carom_spheres_def *def, fixture_layout layout, const double period[3])
{
	fixture_cloud small = period ? fixture_make_periodic_cloud(period, 300, 1) : fixture_make_cloud(CLOUD_WIDE, 300, 1);
	fixture_cloud large = period ? fixture_make_periodic_cloud(period, 700, 2) : fixture_make_cloud(CLOUD_WIDE, 700, 2);
	fixture_arrays first = fixture_lay_out(&small, layout), second = fixture_lay_out(&large, layout);
	uint32_t ids[700];
	for (uint32_t i = 0; i < 700; i++)
		ids[i] = 700 - i;
	first.input.ids = second.input.ids = ids;
	bool succeeded = false;
	for (int64_t fail_at = 1; !succeeded && fail_at < 1000; fail_at++) { // 0 is the context
		fixture_heap heap;
		carom_context *context = fixture_heap_context(&heap, 2);
		atomic_store(&heap.fail_at, fail_at);
		atomic_store(&heap.fail_on, fail_at % 2 == 0);
		carom_spheres *spheres = NULL;
		const carom_result created = carom_create_spheres(context, def, &spheres);
		succeeded = created == CAROM_SUCCESS && use_everything(spheres, &first, &second);
		CHECK(created == CAROM_SUCCESS || (created == CAROM_OUT_OF_MEMORY && spheres == NULL));
		// With memory again all is well.
		atomic_store(&heap.fail_at, -1);
		if (spheres)
			fixture_check_spheres(spheres, &large, period, "after a failure");
		carom_destroy_spheres(spheres);
		carom_destroy_context(context);
		CHECK_INT(atomic_load(&heap.blocks), 0);
		CHECK_INT(atomic_load(&heap.bytes), 0);
	}
	CHECK(succeeded);
	fixture_free_arrays(&first);
	fixture_free_arrays(&second);
	fixture_free_cloud(&small);
	fixture_free_cloud(&large);
}

TEST(spheres, every_allocation_may_fail)
{
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		for (int skinned = 0; skinned < 2; skinned++) {
			const carom_spheres_def def = def_of((carom_sphere_method)method, skinned ? 0.001 : 0);
			check_failures(&def, skinned ? LAYOUT_DOUBLES : LAYOUT_PACKED, NULL);
		}
	}
	const double period[3] = { 1, 1, 1 };
	carom_spheres_def def = def_of(CAROM_SPHERES_AUTO, 0.001);
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = true;
		def.period[k] = 1;
	}
	check_failures(&def, LAYOUT_DOUBLES, period);
}

TEST(spheres, bytes_are_what_is_held)
{
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		carom_context *context = fixture_context(2);
		const carom_spheres_def def = def_of((carom_sphere_method)method, method % 2 ? 0.0001 : 0);
		carom_spheres *spheres = make_spheres(context, &def);
		fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 20000, 1);
		fixture_check_spheres(spheres, &cloud, NULL, "bytes");
		const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
		CHECK_INT(stats.bytes, carom_memory_in_use(context) - context->size);
		CHECK(stats.bytes_lists >= (size_t)stats.pairs * sizeof(carom_sphere_pair));
		fixture_free_cloud(&cloud);
		carom_destroy_spheres(spheres);
		carom_destroy_context(context);
	}
}

// Given in double, 32 bytes more; trees then need up to 176 while they are built.
TEST(spheres, a_sphere_takes_less_than_150_bytes)
{
	for (int method = CAROM_SPHERES_AUTO; method <= CAROM_SPHERES_RAYS; method++) {
		for (int layout = 0; layout < 2; layout++) {
			carom_context *context = fixture_context(2);
			const carom_spheres_def def = def_of((carom_sphere_method)method, 0);
			carom_spheres *spheres = make_spheres(context, &def);
			fixture_cloud cloud = fixture_make_cloud(CLOUD_FREE_FALL, 300000, 1);
			fixture_arrays arrays = fixture_lay_out(&cloud, layout ? LAYOUT_DOUBLE_RECORDS : LAYOUT_RECORDS);
			REQUIRE(carom_spheres_update(spheres, &arrays.input) == CAROM_SUCCESS);
			visit_log log = { .stop_after = LLONG_MAX };
			REQUIRE(carom_spheres_visit_pairs(spheres, log_pairs, &log) == CAROM_SUCCESS);
			const double each = (double)(carom_memory_peak(context) - context->size) / (double)cloud.count;
			if (!CHECK(each < (layout && def.method >= CAROM_SPHERES_TREE ? 176 : 150)))
				printf("%s, layout %d: %.1f bytes at the peak\n", carom_sphere_method_name(def.method), layout, each);
			fixture_free_arrays(&arrays);
			fixture_free_cloud(&cloud);
			carom_destroy_spheres(spheres);
			carom_destroy_context(context);
		}
	}
}

// ---- Upkeep ----

TEST(spheres, trees_are_kept_up_as_asked)
{
	static const carom_tree_upkeep modes[] = { CAROM_UPKEEP_AUTO, CAROM_UPKEEP_REBUILD, CAROM_UPKEEP_REFIT,
		CAROM_UPKEEP_INTERVAL, CAROM_UPKEEP_QUALITY };
	static const int64_t builds[] = { 0, 24, 1, 6, 0 }; // 0: measured, or as the spheres go
	carom_context *context = fixture_context(1);
	for (int method = CAROM_SPHERES_TREE; method <= CAROM_SPHERES_RAYS; method++) {
		for (int m = 0; m < 5; m++) {
			carom_spheres_def def = def_of((carom_sphere_method)method, 0);
			def.upkeep = modes[m];
			def.rebuild_interval = 4;
			def.max_cost_growth = 1.1;
			carom_spheres *spheres = make_spheres(context, &def);
			fixture_cloud cloud = fixture_make_cloud(CLOUD_DENSE, 1500, 8);
			uint64_t seed = 1;
			for (int step = 0; step < 24; step++) {
				fixture_check_spheres(spheres, &cloud, NULL, "refitted");
				const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
				CHECK(stats.tree_cost > 0);
				CHECK(stats.refitted == (stats.tree_builds < step + 1) || step > 0);
				for (int64_t i = 0; i < 4 * cloud.count; i++)
					cloud.spheres[i] = (float)(cloud.spheres[i] + (i % 4 == 3 ? 0 : test_random_double(&seed, -0.0005, 0.0005)));
			}
			const int64_t built = carom_spheres_get_stats(spheres).tree_builds;
			if (builds[m] > 0)
				CHECK_INT(built, builds[m]);
			else
				CHECK(built >= 1 && built <= 24);
			if (modes[m] == CAROM_UPKEEP_QUALITY)
				CHECK(built > 1 && built < 24);
			fixture_free_cloud(&cloud);
			carom_destroy_spheres(spheres);
		}
	}
	carom_destroy_context(context);
}

// ---- Snapshots ----

/// A file of 64 bytes of header (magic, count, box, pairs, checksum) and four floats for each sphere.
typedef struct snapshot {
	uint64_t count, pairs, checksum;
	float *spheres;
} snapshot;

static snapshot read_snapshot(const char *path)
{
	char header[64];
	snapshot s;
	FILE *file = fopen(path, "rb");
	REQUIRE(file);
	REQUIRE(fread(header, 1, sizeof header, file) == sizeof header && memcmp(header, "SPHERES1", 8) == 0);
	memcpy(&s.count, header + 8, 8);
	memcpy(&s.pairs, header + 40, 8);
	memcpy(&s.checksum, header + 48, 8);
	s.spheres = malloc(16 * (size_t)s.count);
	REQUIRE(s.spheres && fread(s.spheres, 16, (size_t)s.count, file) == s.count);
	fclose(file);
	return s;
}

static void check_snapshot(const char *name, carom_sphere_method method, int threads)
{
	snapshot s = read_snapshot(test_data_path(name));
	carom_context *context = fixture_context(threads);
	const carom_spheres_def def = def_of(method, 0);
	carom_spheres *spheres = make_spheres(context, &def);
	carom_sphere_input input = carom_default_sphere_input();
	input.count = (int64_t)s.count;
	input.centres = (carom_strided){ s.spheres, 16, CAROM_FLOAT32 };
	input.radii = (carom_strided){ s.spheres + 3, 16, CAROM_FLOAT32 };
	carom_sphere_pairs found;
	REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_find_pairs(spheres, &found) == CAROM_SUCCESS);
	uint64_t sum = 0;
	for (int64_t i = 0; i < found.count; i++) {
		const carom_sphere_pair p = found.pairs[i];
		if (i > 0 && !(p.a > found.pairs[i - 1].a || (p.a == found.pairs[i - 1].a && p.b > found.pairs[i - 1].b)))
			REQUIRE(i == 0);
		sum += fixture_mix((uint64_t)p.a << 32 | p.b);
	}
	if (!CHECK_INT(found.count, s.pairs) || !CHECK(sum == s.checksum))
		printf("%s, %s, %d threads\n", name, carom_sphere_method_name(method), threads);
	free(s.spheres);
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

static void check_snapshots(carom_sphere_method method)
{
	static const char *const names[] = { "spheres/dense_100k.sph", "spheres/floor_250k.sph", "spheres/bunny_mix.sph",
		"spheres/bunny_half.sph", "spheres/dense_1m.sph" };
	for (int i = 0; i < 5; i++)
		check_snapshot(names[i], method, 1 + i % 2);
}

TEST(spheres, snapshots_by_auto) { check_snapshots(CAROM_SPHERES_AUTO); }
TEST(spheres, snapshots_by_grid) { check_snapshots(CAROM_SPHERES_GRID); }
TEST(spheres, snapshots_by_levels) { check_snapshots(CAROM_SPHERES_LEVELS); }
TEST(spheres, snapshots_by_tree) { check_snapshots(CAROM_SPHERES_TREE); }
TEST(spheres, snapshots_by_rays) { check_snapshots(CAROM_SPHERES_RAYS); }
