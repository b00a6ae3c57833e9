// Swept scenes of others, with exact verdicts for every pair of features: nothing is missed.
//
// n-body has 32 million candidates. CAROM_QUICK in the environment leaves it out: for builds with sanitizers, where it takes minutes.
#include "sweep_fixture.h"
#include "io/mesh_file.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct feature_pair {
	int32_t kind; // 0: vertex, triangle; 1: two edges, the lower one first
	int32_t numbers[4];
} feature_pair;

static int compare_pairs(const void *first, const void *second)
{
	const feature_pair *a = first, *b = second;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	for (int k = 0; k < 4; k++) {
		if (a->numbers[k] != b->numbers[k])
			return a->numbers[k] < b->numbers[k] ? -1 : 1;
	}
	return 0;
}

static feature_pair make_edges(const int32_t v[4])
{
	const bool swap = v[0] > v[2] || (v[0] == v[2] && v[1] > v[3]);
	return (feature_pair){ 1, { v[swap ? 2 : 0], v[swap ? 3 : 1], v[swap ? 0 : 2], v[swap ? 1 : 3] } };
}

/// Lines vf v f and ee a0 a1 b0 b1, sorted.
static feature_pair *load_truth(const char *path, int64_t *count)
{
	FILE *file = fopen(path, "r");
	REQUIRE(file != NULL);
	int64_t capacity = 0;
	feature_pair *pairs = NULL;
	char line[256];
	*count = 0;
	while (fgets(line, sizeof line, file)) {
		int32_t v[4] = { 0 };
		feature_pair pair;
		if (sscanf(line, "vf %d %d", &v[0], &v[1]) == 2)
			pair = (feature_pair){ 0, { v[0], v[1] } };
		else if (sscanf(line, "ee %d %d %d %d", &v[0], &v[1], &v[2], &v[3]) == 4)
			pair = make_edges(v);
		else
			continue;
		if (*count == capacity) {
			capacity = 2 * capacity + 1024;
			feature_pair *longer = realloc(pairs, (size_t)capacity * sizeof *pairs);
			REQUIRE(longer != NULL);
			pairs = longer;
		}
		pairs[(*count)++] = pair;
	}
	fclose(file);
	REQUIRE(pairs != NULL);
	qsort(pairs, (size_t)*count, sizeof *pairs, compare_pairs);
	return pairs;
}

static carom_sweep *load_frame(carom_context *context, const carom_sweep_def *def, const sim_mesh *frame)
{
	carom_sweep *sweep;
	REQUIRE(carom_create_sweep(context, def, &sweep) == CAROM_SUCCESS);
	carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
	mesh.vertices = (carom_strided){ frame->vertices, 0, CAROM_FLOAT32 };
	mesh.vertex_count = frame->vertex_count;
	mesh.triangles = frame->triangles;
	mesh.triangle_count = frame->triangle_count;
	int32_t id;
	REQUIRE(carom_sweep_add_mesh(sweep, &mesh, &id) == CAROM_SUCCESS);
	return sweep;
}

static void check_truth(const char *folder, const char *first, const char *second, int64_t true_count)
{
	char path[256];
	sim_error error;
	sim_mesh frames[2];
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "ccd/%s/frames/%s", folder, i ? second : first);
		REQUIRE(io_load_mesh(test_data_path(path), &frames[i], &error));
	}
	snprintf(path, sizeof path, "ccd/%s/truth.txt", folder);
	int64_t count;
	feature_pair *truth = load_truth(test_data_path(path), &count);
	CHECK_INT(count, true_count);
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	carom_sweep *sweep = load_frame(context, NULL, &frames[0]);
	const carom_strided end = { frames[1].vertices, 0, CAROM_FLOAT32 };
	REQUIRE(carom_sweep_move_mesh(sweep, 0, &end) == CAROM_SUCCESS);
	carom_sweep_hits hits;
	REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
	CHECK(carom_sweep_get_stats(sweep).bytes_peak < (size_t)600 << 20);
	int64_t found = 0, invented = 0;
	for (int64_t i = 0; i < hits.count; i++) {
		const carom_sweep_hit *hit = &hits.data[i];
		const feature_pair pair = hit->kind == CAROM_SWEEP_VERTEX_FACE
			? (feature_pair){ 0, { hit->vertices[0], hit->triangle } }
			: make_edges(hit->vertices);
		if (bsearch(&pair, truth, (size_t)count, sizeof pair, compare_pairs))
			found++;
		else
			invented++;
	}
	CHECK_INT(found, count);
	CHECK(invented <= 10);
	carom_destroy_sweep(sweep);
	carom_destroy_context(context);
	free(truth);
	sim_mesh_free(&frames[0]);
	sim_mesh_free(&frames[1]);
}

TEST(sweep_data, cloth_ball_misses_nothing)
{
	check_truth("cloth-ball", "cloth_ball92.ply", "cloth_ball93.ply", 19032 + 94822);
}

TEST(sweep_data, n_body_misses_nothing)
{
	if (getenv("CAROM_QUICK"))
		test_skip("CAROM_QUICK is set");
	check_truth("n-body-simulation", "balls16_18.ply", "balls16_19.ply", 9459 + 41031);
}

/// The first frames of an animation, by the front and from the root.
static void follow_animation(const char *folder, int frames, double most_tests)
{
	char path[256];
	sim_error error;
	sim_mesh mesh;
	snprintf(path, sizeof path, "sequences/%s/mesh.ply", folder);
	REQUIRE(io_load_mesh(test_data_path(path), &mesh, &error));
	snprintf(path, sizeof path, "sequences/%s/positions.f32", folder);
	FILE *file = fopen(test_data_path(path), "rb");
	REQUIRE(file != NULL);
	const size_t values = 3 * (size_t)mesh.vertex_count;
	float *places = malloc(values * sizeof *places);
	REQUIRE(places != NULL);
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	carom_sweep_def def = carom_default_sweep_def();
	carom_sweep *by_front = load_frame(context, &def, &mesh);
	def.method = CAROM_SWEEP_BVH;
	carom_sweep *by_root = load_frame(context, &def, &mesh);
	int64_t tests[2] = { 0 }, total = 0;
	for (int frame = 0; frame < frames; frame++) {
		REQUIRE(fread(places, sizeof *places, values, file) == values);
		const carom_strided end = { places, 0, CAROM_FLOAT32 };
		REQUIRE(carom_sweep_move_mesh(by_front, 0, &end) == CAROM_SUCCESS);
		REQUIRE(carom_sweep_move_mesh(by_root, 0, &end) == CAROM_SUCCESS);
		carom_sweep_hits hits, expected;
		REQUIRE(carom_sweep_find(by_front, &hits) == CAROM_SUCCESS);
		REQUIRE(carom_sweep_find(by_root, &expected) == CAROM_SUCCESS);
		sweep_list list = sweep_copy_hits(&expected);
		sweep_check_same(hits.data, hits.count, &list, folder);
		total += hits.count;
		sweep_free_list(&list);
		if (frame > 0) {
			tests[0] += carom_sweep_get_stats(by_front).volume_tests;
			tests[1] += carom_sweep_get_stats(by_root).volume_tests;
		}
	}
	CHECK(total > 0);
	CHECK((double)tests[0] < most_tests * (double)tests[1]);
	carom_destroy_sweep(by_front);
	carom_destroy_sweep(by_root);
	carom_destroy_context(context);
	free(places);
	fclose(file);
	sim_mesh_free(&mesh);
}

TEST(sweep_data, horse_collapse_by_front_and_root) { follow_animation("horse-collapse", 53, 1); }
TEST(sweep_data, elastic_cow_by_front_and_root) { follow_animation("elastic-cow", TEST_FEWER > 1 ? 34 : 102, 1); }
