/// Swept queries against the verdicts of the data folder: single queries, and the impacts of two pairs of frames.
#include "test.h"
#include "carom/batch.h"
#include "fixture.h"
#include "swept_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_data(const char *path)
{
	FILE *file = fopen(test_data_path(path), "rb");
	REQUIRE(file);
	return file;
}

typedef struct verdicts {
	int64_t queries, true_impacts, missed, late, false_impacts;
} verdicts;

/// One file of single queries (CCDQ: kind and count, then 24 coordinates, truth and time of each).
static void count_file(const char *path, cr_swept_method method, verdicts *sum)
{
	FILE *file = open_data(path);
	char magic[4];
	uint32_t head[3];
	double record[26];
	REQUIRE(fread(magic, 1, 4, file) == 4 && memcmp(magic, "CCDQ", 4) == 0 && fread(head, 4, 3, file) == 3);
	for (uint32_t i = 0; i < head[1]; i++) {
		static const int32_t vertices[1][4] = { { 0, 1, 2, 3 } };
		cr_swept_options options = cr_swept_default_options(swept_boxes());
		cr_swept_impact impact = { .time = 2 };
		cr_swept_stats stats = { 0 };
		REQUIRE(fread(record, sizeof record, 1, file) == 1);
		const cr_swept_queries one = { (cr_swept_kind)head[0], record, record + 12, vertices, NULL, 0 };
		options.method = method;
		const bool found = cr_swept_find(&one, 0, 1, &options, &impact, &stats) == 1, is_true = record[24] != 0;
		sum->queries++;
		sum->true_impacts += is_true;
		sum->missed += is_true && !found;
		sum->late += is_true && found && record[25] >= 0 && impact.time > record[25] + 1e-15;
		sum->false_impacts += found && !is_true;
	}
	fclose(file);
}

static const char *const file_names[5] = { "erleben-cube-cliff-edges", "erleben-sliding-spike", "erleben-spike-crack",
	"erleben-spikes", "erleben-wedge-crack" };

static verdicts count_all(cr_swept_method method)
{
	verdicts sum = { 0 };
	char path[128];
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof path, "ccd/queries/%s_data_0_%d_%s.ccdq", file_names[i / 4], i / 2 % 2, i % 2 ? "ee" : "vf");
		count_file(path, method, &sum);
	}
	count_file("ccd/queries/unit-tests_data_0_0_ee.ccdq", method, &sum);
	count_file("ccd/queries/unit-tests_data_0_0_vf.ccdq", method, &sum);
	count_file("ccd/queries/n-body-simulation_18vf.ccdq", method, &sum);
	return sum;
}

TEST(swept_data, no_single_query_is_missed)
{
	for (int method = 0; method < 2; method++) {
		const verdicts sum = count_all((cr_swept_method)method);
		CHECK_INT(sum.queries, 12139);
		CHECK(sum.true_impacts > 9459);
		CHECK_INT(sum.missed, 0);
		CHECK_INT(sum.late, 0);
		// All of them within 1e-6 of the other verdict.
		CHECK(sum.false_impacts <= 150);
		printf("  %lld queries, %lld true, %lld false\n", (long long)sum.queries, (long long)sum.true_impacts,
			(long long)sum.false_impacts);
	}
}

// ---- Through the public call ----

enum { MOST_QUERIES = 13000 };

/// The single queries of a kind, put one behind the other.
typedef struct query_list {
	int32_t count;
	double begin[12 * MOST_QUERIES];
	double end[12 * MOST_QUERIES];
	double truth[MOST_QUERIES][2]; // is there an impact, and when; negative: unknown
} query_list;

static void append_file(const char *path, query_list lists[2])
{
	FILE *file = open_data(path);
	char magic[4];
	uint32_t head[3];
	REQUIRE(fread(magic, 1, 4, file) == 4 && memcmp(magic, "CCDQ", 4) == 0 && fread(head, 4, 3, file) == 3);
	query_list *list = &lists[head[0]];
	for (uint32_t i = 0; i < head[1]; i++) {
		double record[26];
		REQUIRE(list->count < MOST_QUERIES && fread(record, sizeof record, 1, file) == 1);
		memcpy(list->begin + 12 * list->count, record, 12 * sizeof *record);
		memcpy(list->end + 12 * list->count, record + 12, 12 * sizeof *record);
		memcpy(list->truth[list->count++], record + 24, 2 * sizeof *record);
	}
	fclose(file);
}

TEST(swept_data, the_public_batch_of_two_threads_misses_none)
{
	static query_list lists[2];
	static double times[MOST_QUERIES];
	char path[128];
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof path, "ccd/queries/%s_data_0_%d_%s.ccdq", file_names[i / 4], i / 2 % 2, i % 2 ? "ee" : "vf");
		append_file(path, lists);
	}
	append_file("ccd/queries/unit-tests_data_0_0_ee.ccdq", lists);
	append_file("ccd/queries/unit-tests_data_0_0_vf.ccdq", lists);
	append_file("ccd/queries/n-body-simulation_18vf.ccdq", lists);
	CHECK_INT(lists[0].count + lists[1].count, 12139);
	carom_context *context = fixture_context(2);
	int64_t impacts = 0;
	for (int kind = 0; kind < 2; kind++) {
		const query_list *list = &lists[kind];
		const carom_elements elements = { list->count, list->begin, 4 * list->count, NULL };
		const carom_sweep_kind public_kind = kind == CR_SWEPT_VERTEX_FACE ? CAROM_SWEEP_VERTEX_FACE : CAROM_SWEEP_EDGE_EDGE;
		REQUIRE(carom_sweep_test_pairs(context, NULL, public_kind, &elements, list->end, times, NULL) == CAROM_SUCCESS);
		for (int32_t i = 0; i < list->count; i++) {
			const bool is_true = list->truth[i][0] != 0;
			impacts += is_true;
			CHECK(!is_true || times[i] <= 1);
			CHECK(!is_true || list->truth[i][1] < 0 || times[i] <= list->truth[i][1] + 1e-15);
		}
	}
	CHECK(impacts > 9459);
	carom_destroy_context(context);
}

// ---- Pairs of frames ----

typedef struct frames {
	int32_t vertex_count, face_count;
	double *positions[2];
	int32_t (*faces)[3];
} frames;

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/// A binary big-endian PLY of triangles, floats x, y, z first; faces are kept of the first frame.
static void read_frame(const char *path, int which, frames *f)
{
	FILE *file = open_data(path);
	char line[256] = "";
	size_t stride = 12;
	while (strncmp(line, "end_header", 10) != 0) {
		REQUIRE(fgets(line, sizeof line, file));
		if (strncmp(line, "element vertex", 14) == 0)
			f->vertex_count = atoi(line + 14);
		if (strncmp(line, "element face", 12) == 0)
			f->face_count = atoi(line + 12);
		stride += strncmp(line, "property uchar", 14) == 0;
	}
	const size_t vertex_count = (size_t)f->vertex_count, face_count = (size_t)f->face_count;
	uint8_t *bytes = malloc(vertex_count * stride + face_count * 13);
	f->positions[which] = malloc(vertex_count * 3 * sizeof(double));
	REQUIRE(bytes && f->positions[which] && fread(bytes, stride, vertex_count, file) == vertex_count);
	for (size_t i = 0; i < 3 * vertex_count; i++) {
		const uint32_t bits = big_endian(bytes + i / 3 * stride + 4 * (i % 3));
		float x;
		memcpy(&x, &bits, 4);
		f->positions[which][i] = x;
	}
	if (which == 0) {
		f->faces = malloc(face_count * sizeof *f->faces);
		REQUIRE(f->faces && fread(bytes, 13, face_count, file) == face_count);
		for (size_t i = 0; i < 3 * face_count; i++)
			f->faces[i / 3][i % 3] = (int32_t)big_endian(bytes + i / 3 * 13 + 1 + 4 * (i % 3));
	}
	free(bytes);
	fclose(file);
}

/// The vertices of a line of verdicts.
static void read_vertices(const frames *f, const char *line, int32_t v[4])
{
	int32_t face;
	if (line[0] == 'e') {
		REQUIRE(sscanf(line, "ee %d %d %d %d", &v[0], &v[1], &v[2], &v[3]) == 4);
		return;
	}
	REQUIRE(sscanf(line, "vf %d %d", &v[0], &face) == 2);
	memcpy(v + 1, f->faces[face], sizeof f->faces[face]);
}

/// Tests the pairs of a list of verdicts; returns how many were found. times: of each line, or NULL.
static void count_list(const frames *f, const char *path, FILE *times, verdicts *sum)
{
	FILE *file = open_data(path);
	const cr_swept_options options = cr_swept_default_options(swept_boxes());
	char line[256];
	while (fgets(line, sizeof line, file)) {
		int32_t v[4];
		const bool edges = line[0] == 'e';
		if (line[0] == '#')
			continue;
		read_vertices(f, line, v);
		const cr_swept_queries one = { edges ? CR_SWEPT_EDGE_EDGE : CR_SWEPT_VERTEX_FACE, f->positions[0], f->positions[1],
			(const int32_t(*)[4])v, NULL, 0 };
		cr_swept_impact impact = { .time = 0 };
		cr_swept_stats stats = { 0 };
		const bool found = cr_swept_find(&one, 0, 1, &options, &impact, &stats) == 1;
		double time = 0;
		sum->queries++;
		if (times) {
			REQUIRE(fread(&time, sizeof time, 1, times) == 1);
			sum->missed += !found;
			sum->late += impact.time > time || impact.time < time - 1e-8;
		} else {
			sum->false_impacts += found;
		}
	}
	fclose(file);
}

typedef struct frame_pairs {
	int64_t count;
	int32_t (*vertices)[4];
	double *truth;
} frame_pairs;

/// The true pairs of both kinds, with their times.
static void read_pairs(const frames *f, const char *list, const char *times, int64_t most, frame_pairs pairs[2])
{
	FILE *file = open_data(list), *time_file = open_data(times);
	char line[256];
	for (int kind = 0; kind < 2; kind++) {
		pairs[kind] = (frame_pairs){ 0, malloc((size_t)most * sizeof *pairs->vertices), malloc((size_t)most * sizeof(double)) };
		REQUIRE(pairs[kind].vertices && pairs[kind].truth);
	}
	while (fgets(line, sizeof line, file)) {
		frame_pairs *p = &pairs[line[0] == 'e'];
		int32_t *v = p->vertices[p->count];
		if (line[0] == '#')
			continue;
		REQUIRE(pairs[0].count + pairs[1].count < most);
		read_vertices(f, line, v);
		REQUIRE(fread(&p->truth[p->count++], sizeof(double), 1, time_file) == 1);
	}
	fclose(file);
	fclose(time_file);
}

/// All true pairs in two calls.
static void check_pairs(const frames *f, const char *list, const char *times, int64_t true_count)
{
	carom_context *context = fixture_context(2);
	frame_pairs pairs[2];
	int64_t missed = 0, late = 0;
	read_pairs(f, list, times, true_count + 1, pairs);
	CHECK_INT(pairs[0].count + pairs[1].count, true_count);
	for (int kind = 0; kind < 2; kind++) {
		const frame_pairs *p = &pairs[kind];
		const carom_elements elements = { p->count, f->positions[0], f->vertex_count, p->vertices[0] };
		double *found = malloc((size_t)p->count * sizeof *found);
		REQUIRE(found);
		REQUIRE(carom_sweep_test_pairs(context, NULL, kind ? CAROM_SWEEP_EDGE_EDGE : CAROM_SWEEP_VERTEX_FACE, &elements,
					f->positions[1], found, NULL) == CAROM_SUCCESS);
		for (int64_t i = 0; i < p->count; i++) {
			missed += isinf(found[i]);
			late += found[i] > p->truth[i];
		}
		free(found);
		free(p->vertices);
		free(p->truth);
	}
	CHECK_INT(missed, 0);
	CHECK_INT(late, 0);
	carom_destroy_context(context);
}

static void check_frames(const char *folder, const char *first, const char *second, int64_t true_count)
{
	frames f = { 0 };
	char path[4][128];
	snprintf(path[0], sizeof path[0], "ccd/%s/frames/%s", folder, first);
	snprintf(path[1], sizeof path[1], "ccd/%s/frames/%s", folder, second);
	read_frame(path[0], 0, &f);
	read_frame(path[1], 1, &f);
	snprintf(path[0], sizeof path[0], "ccd/%s/truth.txt", folder);
	snprintf(path[1], sizeof path[1], "ccd/%s/false.txt", folder);
	snprintf(path[2], sizeof path[2], "ccd/%s/toi.f64", folder);
	verdicts of_true = { 0 }, of_false = { 0 };
	FILE *times = open_data(path[2]);
	count_list(&f, path[0], times, &of_true);
	fclose(times);
	count_list(&f, path[1], NULL, &of_false);
	CHECK_INT(of_true.queries, true_count);
	CHECK_INT(of_true.missed, 0);
	CHECK_INT(of_true.late, 0); // nor early by more than 1e-8
	CHECK(of_false.queries > 0);
	CHECK_INT(of_false.false_impacts, 0);
	check_pairs(&f, path[0], path[2], true_count);
	free(f.positions[0]);
	free(f.positions[1]);
	free(f.faces);
}

TEST(swept_data, cloth_on_ball) { check_frames("cloth-ball", "cloth_ball92.ply", "cloth_ball93.ply", 19032 + 94822); }

TEST(swept_data, many_balls) { check_frames("n-body-simulation", "balls16_18.ply", "balls16_19.ply", 9459 + 41031); }
