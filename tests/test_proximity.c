/// Features that are near each other: against all pairs of features, one by one; against distances in higher precision; safe
/// displacements against the certified sweep; shapes against points all over the triangles; and what a user may get wrong.
#include "carom/proximity.h"
#include "fixture.h"
#include "near_fixture.h"

#include "frame/shape_table.h"
#include "geom/convex_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MESHES = 4, MOST = 1400, MOST_TRIANGLES = 2600 };

/// A scene as the test knows it.
typedef struct scene {
	carom_context *context;
	carom_proximity *proximity;
	int count;
	int32_t vertices[MESHES], triangle_count[MESHES];
	double places[MESHES][MOST][3];
	int32_t triangles[MESHES][MOST_TRIANGLES][3];
	bool self[MESHES], rigid[MESHES];
	uint64_t mask[MESHES];
} scene;

static void open_scene(scene *s, int threads, const carom_proximity_def *def)
{
	memset(s, 0, sizeof *s);
	s->context = fixture_context(threads);
	REQUIRE(carom_create_proximity(s->context, def, &s->proximity) == CAROM_SUCCESS);
}

static void close_scene(scene *s)
{
	carom_destroy_proximity(s->proximity);
	carom_destroy_context(s->context);
}

static carom_strided view_of(const scene *s, int mesh) { return (carom_strided){ s->places[mesh], 0, CAROM_FLOAT64 }; }

/// Take the triangles of a mesh, each vertex moved by noise, the whole by at.
static int add_mesh(scene *s, carom_mesh *mesh, v3d at, double noise, uint64_t *seed, bool self)
{
	const int m = s->count++;
	const cr_topology *t = &mesh->topology;
	REQUIRE(t->vertex_count <= MOST && t->triangle_count <= MOST_TRIANGLES);
	s->vertices[m] = t->vertex_count;
	s->triangle_count[m] = t->triangle_count;
	memcpy(s->triangles[m], t->triangles, 3 * (size_t)t->triangle_count * sizeof(int32_t));
	for (int32_t i = 0; i < t->vertex_count; i++) {
		for (int k = 0; k < 3; k++)
			s->places[m][i][k] = t->vertices[3 * i + k] + v3d_get(at, k) + test_random_double(seed, -noise, noise);
	}
	s->self[m] = self;
	s->mask[m] = UINT64_MAX;
	carom_release_mesh(mesh);
	return m;
}

static void hand_over(scene *s)
{
	for (int m = 0; m < s->count; m++) {
		carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
		def.vertices = view_of(s, m);
		def.vertex_count = s->vertices[m];
		def.triangles = s->triangles[m][0];
		def.triangle_count = s->triangle_count[m];
		def.self = s->self[m];
		def.is_rigid = s->rigid[m];
		def.category = (uint64_t)1 << m;
		def.mask = s->mask[m];
		int32_t number;
		REQUIRE(carom_proximity_add_mesh(s->proximity, &def, &number) == CAROM_SUCCESS);
		CHECK_INT(number, m);
	}
}

// ---- All pairs, one by one ----

typedef struct edge {
	int32_t mesh, v[2];
} edge;

typedef struct pair_list {
	carom_proximity_pair *data;
	int64_t count, capacity;
} pair_list;

static bool may_meet(const scene *s, int a, int b)
{
	if (a == b)
		return s->self[a] && !s->rigid[a];
	return !(s->rigid[a] && s->rigid[b]) && (s->mask[a] >> b & 1) && (s->mask[b] >> a & 1);
}

static void try_pair(const scene *s, double distance, carom_proximity_pair *pair, const double *const at[4], pair_list *list)
{
	double vertices[4][3];
	for (int k = 0; k < 4; k++)
		memcpy(vertices[k], at[k], sizeof vertices[k]);
	carom_proximity_pair found;
	REQUIRE(carom_proximity_of_pair(s->context, pair->kind, vertices, &found) == CAROM_SUCCESS);
	if (!(found.distance2 < distance * distance))
		return;
	found.mesh_a = pair->mesh_a;
	found.mesh_b = pair->mesh_b;
	found.triangle = pair->triangle;
	memcpy(found.vertices, pair->vertices, sizeof found.vertices);
	if (list->count == list->capacity) {
		list->capacity = 2 * list->capacity + 1024;
		list->data = realloc(list->data, (size_t)list->capacity * sizeof *list->data);
		REQUIRE(list->data);
	}
	list->data[list->count++] = found;
}

static void try_faces(const scene *s, double distance, pair_list *list)
{
	for (int a = 0; a < s->count; a++) {
		static bool used[MOST];
		memset(used, 0, sizeof used);
		for (int32_t i = 0; i < 3 * s->triangle_count[a]; i++)
			used[s->triangles[a][i / 3][i % 3]] = true;
		for (int b = 0; b < s->count; b++) {
			for (int32_t v = 0; v < s->vertices[a] && may_meet(s, a, b); v++) {
				for (int32_t f = 0; f < s->triangle_count[b] && used[v]; f++) {
					const int32_t *t = s->triangles[b][f];
					if (a == b && (t[0] == v || t[1] == v || t[2] == v))
						continue;
					carom_proximity_pair pair = { .kind = CAROM_SWEEP_VERTEX_FACE,
						.mesh_a = a,
						.mesh_b = b,
						.vertices = { v, t[0], t[1], t[2] },
						.triangle = f };
					const double *const at[4] = { s->places[a][v], s->places[b][t[0]], s->places[b][t[1]], s->places[b][t[2]] };
					try_pair(s, distance, &pair, at, list);
				}
			}
		}
	}
}

static int compare_edges(const void *a, const void *b)
{
	const edge *x = a, *y = b;
	const int32_t d[3] = { x->mesh - y->mesh, x->v[0] - y->v[0], x->v[1] - y->v[1] };
	return d[0] ? d[0] : d[1] ? d[1] : d[2];
}

static int list_edges(const scene *s, edge *edges)
{
	int count = 0, kept = 0;
	for (int m = 0; m < s->count; m++) {
		for (int32_t i = 0; i < 3 * s->triangle_count[m]; i++) {
			const int32_t a = s->triangles[m][i / 3][i % 3], b = s->triangles[m][i / 3][(i + 1) % 3];
			edges[count++] = (edge){ m, { a < b ? a : b, a < b ? b : a } };
		}
	}
	qsort(edges, (size_t)count, sizeof *edges, compare_edges);
	for (int i = 0; i < count; i++) {
		if (kept == 0 || compare_edges(&edges[kept - 1], &edges[i]) != 0)
			edges[kept++] = edges[i];
	}
	return kept;
}

static void try_edges(const scene *s, double distance, pair_list *list)
{
	static edge edges[MESHES * 3 * MOST_TRIANGLES];
	const int count = list_edges(s, edges);
	for (int i = 0; i < count; i++) {
		for (int j = i + 1; j < count; j++) {
			const edge *a = &edges[i], *b = &edges[j];
			const bool shared =
				a->mesh == b->mesh && (a->v[0] == b->v[0] || a->v[0] == b->v[1] || a->v[1] == b->v[0] || a->v[1] == b->v[1]);
			if (shared || !may_meet(s, a->mesh, b->mesh))
				continue;
			carom_proximity_pair pair = { .kind = CAROM_SWEEP_EDGE_EDGE,
				.mesh_a = a->mesh,
				.mesh_b = b->mesh,
				.vertices = { a->v[0], a->v[1], b->v[0], b->v[1] },
				.triangle = -1 };
			const double *const at[4] = { s->places[a->mesh][a->v[0]], s->places[a->mesh][a->v[1]], s->places[b->mesh][b->v[0]],
				s->places[b->mesh][b->v[1]] };
			try_pair(s, distance, &pair, at, list);
		}
	}
}

static int compare_pairs(const void *a, const void *b)
{
	const carom_proximity_pair *x = a, *y = b;
	int d = (int)x->kind - (int)y->kind;
	d = d ? d : x->mesh_a != y->mesh_a ? x->mesh_a - y->mesh_a : x->mesh_b - y->mesh_b;
	for (int k = 0; k < 4 && !d; k++)
		d = x->vertices[k] - y->vertices[k];
	return d ? d : x->triangle - y->triangle;
}

/// A search finds the pairs that are found one by one. Returns their number.
static int64_t check_search(scene *s, double distance)
{
	carom_proximity_view view;
	REQUIRE(carom_proximity_find(s->proximity, distance, &view) == CAROM_SUCCESS);
	pair_list list = { 0 };
	try_faces(s, distance, &list);
	try_edges(s, distance, &list);
	if (list.count > 0)
		qsort(list.data, (size_t)list.count, sizeof *list.data, compare_pairs);
	CHECK_INT(view.pair_count, list.count);
	for (int64_t i = 0; i < view.pair_count && i < list.count; i++) {
		const carom_proximity_pair *a = &view.pairs[i], *b = &list.data[i];
		if (!CHECK(near_is_same(a, b)))
			break;
		CHECK(a->gap <= sqrt(a->distance2) * (1 + 1e-15) && a->gap >= sqrt(a->distance2) - 1e-9);
	}
	const carom_sweep_stats stats = carom_proximity_get_stats(s->proximity);
	CHECK_INT(stats.hits_vf + stats.hits_ee, view.pair_count);
	free(list.data);
	return view.pair_count;
}

static void put_scene(scene *s, int kind, uint64_t *seed)
{
	if (kind == 0) { // crumpled cloth, near itself
		add_mesh(s, fixture_sheet_mesh(s->context, 9, 1), (v3d){ 0, 0, 0 }, 0.15, seed, true);
	} else if (kind == 1) { // layers
		for (int i = 0; i < 3; i++)
			add_mesh(s, fixture_sheet_mesh(s->context, 7, 1), (v3d){ 0.01 * i, 0, 0.04 * i }, 0.005, seed, i == 1);
	} else if (kind == 2) { // rings that hook into each other
		add_mesh(s, fixture_torus_mesh(s->context, 16, 8, 0.3, 0.1), (v3d){ 0, 0, 0 }, 0.02, seed, true);
		add_mesh(s, fixture_torus_mesh(s->context, 12, 6, 0.3, 0.1), (v3d){ 0.9, 0.1, 0.4 }, 0.02, seed, false);
	} else if (kind == 3) { // rigid bodies, a cloth that one of them does not meet
		add_mesh(s, fixture_sphere_mesh(s->context, 0.4, 8), (v3d){ 0, 0, 0 }, 0, seed, true);
		add_mesh(s, fixture_box_mesh(s->context, 0.3, 0.3, 0.3), (v3d){ 0.5, 0, 0 }, 0, seed, true);
		add_mesh(s, fixture_sheet_mesh(s->context, 8, 2), (v3d){ 0, 0, 0.35 }, 0.02, seed, true);
		s->rigid[0] = s->rigid[1] = true;
		s->mask[1] = 3;
	} else { // far from the origin, of one size, on a lattice: many equal distances, parallel edges, vertices on each other
		add_mesh(s, fixture_sheet_mesh(s->context, 6, 6), (v3d){ 1e6, -1e6, 0 }, 0, seed, true);
		add_mesh(s, fixture_sheet_mesh(s->context, 6, 6), (v3d){ 1e6, -1e6, 1 }, 0, seed, true);
		add_mesh(s, fixture_sheet_mesh(s->context, 6, 6), (v3d){ 1e6 + 1, -1e6, 0 }, 0, seed, false);
	}
	hand_over(s);
}

static const double DISTANCES[5] = { 0.06, 0.05, 0.08, 0.1, 1.25 };

TEST(proximity, finds_the_pairs_that_are_found_one_by_one)
{
	static scene s;
	for (int kind = 0; kind < 5; kind++) {
		uint64_t seed = 11 + (uint64_t)kind;
		open_scene(&s, 1, NULL);
		put_scene(&s, kind, &seed);
		CHECK(check_search(&s, DISTANCES[kind]) > 20);
		CHECK(check_search(&s, 0.3 * DISTANCES[kind]) >= 0);
		close_scene(&s);
	}
}

TEST(proximity, filters_may_change)
{
	static scene s;
	uint64_t seed = 14;
	open_scene(&s, 1, NULL);
	put_scene(&s, 1, &seed);
	const int64_t all = check_search(&s, 0.05);
	for (int m = 0; m < s.count; m++) {
		s.mask[m] = m == 1 ? 2 : UINT64_MAX; // the layer in the middle meets itself alone
		REQUIRE(carom_proximity_set_filter(s.proximity, m, (uint64_t)1 << m, s.mask[m], 0) == CAROM_SUCCESS);
	}
	CHECK(check_search(&s, 0.05) < all);
	for (int m = 0; m < s.count; m++) {
		s.mask[m] = UINT64_MAX;
		REQUIRE(carom_proximity_set_filter(s.proximity, m, (uint64_t)1 << m, UINT64_MAX, 0) == CAROM_SUCCESS);
	}
	CHECK_INT(check_search(&s, 0.05), all);
	close_scene(&s);
}

/// Vertices drift while the distance changes: the front of the last search serves the next one.
TEST(proximity, goes_on_from_the_last_search)
{
	static scene s;
	for (int method = CAROM_SWEEP_AUTO; method <= CAROM_SWEEP_BVH; method++) {
		carom_proximity_def def = carom_default_proximity_def();
		def.method = (carom_sweep_method)method;
		uint64_t seed = 5;
		open_scene(&s, 1, &def);
		put_scene(&s, 1, &seed);
		for (int step = 0; step < 6; step++) {
			for (int m = 0; m < s.count; m++) {
				for (int i = 0; i < 3 * s.vertices[m]; i++)
					s.places[m][i / 3][i % 3] += test_random_double(&seed, -0.01, 0.01);
				if (step % 3 == m)
					continue; // it rests
				const carom_strided view = view_of(&s, m);
				REQUIRE(carom_proximity_place_mesh(s.proximity, m, &view) == CAROM_SUCCESS);
			}
			for (int m = 0; m < s.count; m++) {
				const carom_strided view = view_of(&s, m);
				REQUIRE(carom_proximity_place_mesh(s.proximity, m, &view) == CAROM_SUCCESS);
			}
			check_search(&s, step == 3 ? 0.2 : 0.02 + 0.01 * step);
		}
		close_scene(&s);
	}
}

// ---- One pair, in higher precision ----

typedef struct l3 {
	long double x[3];
} l3;

static l3 l_sub(l3 a, l3 b) { return (l3){ { a.x[0] - b.x[0], a.x[1] - b.x[1], a.x[2] - b.x[2] } }; }
static l3 l_mad(l3 a, long double s, l3 b) { return (l3){ { a.x[0] + s * b.x[0], a.x[1] + s * b.x[1], a.x[2] + s * b.x[2] } }; }
static long double l_dot(l3 a, l3 b) { return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2]; }
static l3 l_cross(l3 a, l3 b)
{
	return (l3){ { a.x[1] * b.x[2] - a.x[2] * b.x[1], a.x[2] * b.x[0] - a.x[0] * b.x[2], a.x[0] * b.x[1] - a.x[1] * b.x[0] } };
}

static long double point_segment2(l3 p, l3 a, l3 b)
{
	const l3 e = l_sub(b, a), r = l_sub(p, a);
	const long double ee = l_dot(e, e);
	long double t = ee > 0 ? l_dot(r, e) / ee : 0;
	t = t < 0 ? 0 : t > 1 ? 1 : t;
	const l3 d = l_mad(r, -t, e);
	return l_dot(d, d);
}

static long double vertex_face2(const l3 p[4])
{
	long double best = INFINITY;
	for (int k = 0; k < 3; k++)
		best = fminl(best, point_segment2(p[0], p[1 + k], p[1 + (k + 1) % 3]));
	const l3 n = l_cross(l_sub(p[2], p[1]), l_sub(p[3], p[1])), r = l_sub(p[0], p[1]);
	bool above = l_dot(n, n) > 0;
	for (int k = 0; k < 3; k++) {
		const l3 from = p[1 + k], e = l_sub(p[1 + (k + 1) % 3], from);
		above = above && l_dot(l_cross(e, l_sub(p[0], from)), n) >= 0;
	}
	return above ? fminl(best, l_dot(n, r) * l_dot(n, r) / l_dot(n, n)) : best;
}

static long double edge_edge2(const l3 p[4])
{
	const l3 d = l_sub(p[1], p[0]), e = l_sub(p[3], p[2]), r = l_sub(p[0], p[2]), n = l_cross(d, e);
	long double best = fminl(fminl(point_segment2(p[0], p[2], p[3]), point_segment2(p[1], p[2], p[3])),
		fminl(point_segment2(p[2], p[0], p[1]), point_segment2(p[3], p[0], p[1])));
	const long double nn = l_dot(n, n);
	if (!(nn > 0))
		return best;
	const long double s = l_dot(l_cross(e, r), n) / nn, t = l_dot(l_cross(d, r), n) / nn;
	return s >= 0 && s <= 1 && t >= 0 && t <= 1 ? fminl(best, l_dot(n, r) * l_dot(n, r) / nn) : best;
}

/// A place on a lattice, or off it by very little, so that many pairs are degenerate.
static double odd_number(uint64_t *seed, int kind)
{
	const double x = (double)(int)(test_random(seed) % 5) - 2;
	return kind == 0 ? test_random_double(seed, -1, 1) : kind == 1 ? x : x + test_random_double(seed, -1, 1) * 1e-6;
}

TEST(proximity, measures_single_pairs_to_the_bound)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 1;
	int types[4] = { 0 };
	for (int i = 0; i < 1000000 / (TEST_FEWER > 1 ? 20 : 1) && test_failures() == 0; i++) {
		double at[4][3];
		l3 exact[4];
		long double longest = 0;
		for (int k = 0; k < 12; k++)
			exact[k / 3].x[k % 3] = at[k / 3][k % 3] = odd_number(&seed, i % 3);
		for (int k = 1; k < 4; k++)
			longest = fmaxl(longest, l_dot(l_sub(exact[k], exact[0]), l_sub(exact[k], exact[0])));
		const carom_sweep_kind kind = i % 2 ? CAROM_SWEEP_EDGE_EDGE : CAROM_SWEEP_VERTEX_FACE;
		carom_proximity_pair pair;
		REQUIRE(carom_proximity_of_pair(context, kind, at, &pair) == CAROM_SUCCESS);
		const long double square = kind == CAROM_SWEEP_EDGE_EDGE ? edge_edge2(exact) : vertex_face2(exact);
		CHECK(fabsl(pair.distance2 - square) <= 4 * longest * 0x1p-44L);
		CHECK((long double)pair.gap <= sqrtl(square) + longest * 0x1p-40L); // which a needle is known to
		types[pair.type]++;
	}
	for (int i = 0; i < 4; i++)
		CHECK(types[i] > 100);
	carom_destroy_context(context);
}

// ---- Safe displacements ----

/// Move each vertex within its bound, in any direction, most of them to the end of it: nothing crosses.
static void check_safe(scene *s, double distance, int rounds, uint64_t *seed)
{
	static double bound[MESHES][MOST], moved[MESHES][MOST][3];
	carom_proximity_view view;
	REQUIRE(carom_proximity_find(s->proximity, distance, &view) == CAROM_SUCCESS);
	double most = 0;
	for (int m = 0; m < s->count; m++) {
		REQUIRE(carom_proximity_get_safe_displacements(s->proximity, m, bound[m]) == CAROM_SUCCESS);
		for (int32_t i = 0; i < s->vertices[m]; i++) {
			CHECK(bound[m][i] >= 0 && bound[m][i] <= 0.5 * distance);
			most = fmax(most, bound[m][i]);
		}
	}
	CHECK(most > 0.1 * distance);
	carom_sweep *sweep;
	REQUIRE(carom_create_sweep(s->context, NULL, &sweep) == CAROM_SUCCESS);
	for (int m = 0; m < s->count; m++) {
		carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
		def.vertices = view_of(s, m);
		def.vertex_count = s->vertices[m];
		def.triangles = s->triangles[m][0];
		def.triangle_count = s->triangle_count[m];
		def.self = s->self[m];
		int32_t number;
		REQUIRE(carom_sweep_add_mesh(sweep, &def, &number) == CAROM_SUCCESS);
	}
	for (int round = 0; round < rounds; round++) {
		for (int m = 0; m < s->count; m++) {
			for (int32_t i = 0; i < s->vertices[m]; i++) {
				v3d way = { test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), test_random_double(seed, -1, 1) };
				way = v3d_scale(v3d_normalize(way), bound[m][i] * (round % 4 == 3 ? test_random_double(seed, 0, 1) : 1));
				for (int k = 0; k < 3; k++)
					moved[m][i][k] = s->places[m][i][k] + v3d_get(way, k);
			}
			const carom_strided from = view_of(s, m), to = { moved[m], 0, CAROM_FLOAT64 };
			REQUIRE(carom_sweep_place_mesh(sweep, m, &from) == CAROM_SUCCESS);
			REQUIRE(carom_sweep_move_mesh(sweep, m, &to) == CAROM_SUCCESS);
		}
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		// Within the tolerance of the sweep features may be reported that only come near.
		for (int64_t i = 0; i < hits.count; i++)
			CHECK(hits.data[i].status != CAROM_SWEEP_UNDECIDED && bound[hits.data[i].mesh_a][hits.data[i].vertices[0]] < 1e-5);
	}
	carom_destroy_sweep(sweep);
}

TEST(proximity, nothing_crosses_within_safe_displacements)
{
	static scene s;
	for (int kind = 1; kind < 5; kind += 3) {
		uint64_t seed = 21 + (uint64_t)kind;
		open_scene(&s, 1, NULL);
		put_scene(&s, kind, &seed);
		check_safe(&s, DISTANCES[kind], 40 / TEST_FEWER, &seed);
		close_scene(&s);
	}
}

TEST(proximity, safe_displacements_are_half_the_smallest_gap)
{
	static scene s;
	uint64_t seed = 1;
	open_scene(&s, 1, NULL);
	add_mesh(&s, fixture_sheet_mesh(s.context, 2, 1), (v3d){ 0, 0, 0 }, 0, &seed, true);
	add_mesh(&s, fixture_sheet_mesh(s.context, 2, 1), (v3d){ 0, 0, 0.25 }, 0, &seed, true);
	hand_over(&s);
	carom_proximity_view view;
	double bound[9];
	REQUIRE(carom_proximity_find(s.proximity, 0.3, &view) == CAROM_SUCCESS);
	for (int m = 0; m < 2; m++) {
		REQUIRE(carom_proximity_get_safe_displacements(s.proximity, m, bound) == CAROM_SUCCESS);
		for (int i = 0; i < 9; i++)
			CHECK(bound[i] <= 0.125 && bound[i] > 0.125 * (1 - 1e-8));
	}
	REQUIRE(carom_proximity_find(s.proximity, 0.2, &view) == CAROM_SUCCESS);
	CHECK_INT(view.pair_count, 0);
	REQUIRE(carom_proximity_get_safe_displacements(s.proximity, 0, bound) == CAROM_SUCCESS);
	CHECK(bound[4] <= 0.1 && bound[4] > 0.1 * (1 - 1e-8));
	close_scene(&s);
}

// ---- Shapes ----

static carom_shape shape_of_kind(int kind, const carom_mesh *hull)
{
	carom_shape rounded = fixture_box(0.3, 0.2, 0.2);
	rounded.rounding = 0.1;
	const carom_shape shapes[9] = { fixture_sphere(0.35), fixture_box(0.4, 0.3, 0.2), fixture_capsule(0.2, 0.3),
		fixture_cylinder(0.3, 0.3), fixture_cone(0.4, 0.4), fixture_ellipsoid(0.5, 0.3, 0.2), rounded, fixture_hull(hull),
		{ .type = CAROM_PLANE } };
	return shapes[kind];
}

static double shape_distance(const carom_shape *shape, const carom_pose *pose, v3d point)
{
	const m3d rotation = m3d_from_quat(pose->orientation);
	const v3d local = m3d_tmul(&rotation, v3d_sub(point, pose->position));
	if (shape->type == CAROM_PLANE)
		return local.z;
	const cr_convex convex = cr_convex_of(shape);
	v3d nearest, normal;
	return cr_convex_distance(&convex, local, &nearest, &normal);
}

static v3d place_of(const scene *s, int mesh, int32_t vertex)
{
	const double *at = s->places[mesh][vertex];
	return (v3d){ at[0], at[1], at[2] };
}

/// The nearest pair of a shape and features among some vertices of a mesh.
static double least_gap(const carom_proximity_view *view, int mesh, const int32_t *vertices, int count)
{
	double least = INFINITY;
	for (int64_t i = 0; i < view->shape_pair_count; i++) {
		const carom_proximity_shape_pair *pair = &view->shape_pairs[i];
		bool within = pair->mesh == mesh;
		for (int k = 0; k < 3 && pair->vertices[k] >= 0; k++) {
			bool found = false;
			for (int j = 0; j < count; j++)
				found = found || vertices[j] == pair->vertices[k];
			within = within && found;
		}
		least = within && pair->gap < least ? pair->gap : least;
	}
	return least;
}

static void check_shape_pair(
	const scene *s, const carom_shape *shape, const carom_pose *pose, const carom_proximity_shape_pair *pair)
{
	v3d on = { 0, 0, 0 };
	double sum = 0;
	for (int k = 0; k < 3 && pair->vertices[k] >= 0; k++) {
		CHECK(pair->weight[k] > 0 || (pair->gap < 0 && pair->triangle >= 0));
		sum += pair->weight[k];
		on = v3d_mad(on, pair->weight[k], place_of(s, pair->mesh, pair->vertices[k]));
	}
	CHECK_NEAR(sum, 1, 1e-12);
	if (pair->gap < 0)
		return;
	CHECK_NEAR(shape_distance(shape, pose, on), pair->gap, 2e-6);
	CHECK_NEAR(v3d_length(v3d_sub(v3d_mad(pair->point, pair->gap, pair->normal), on)), 0, 2e-6);
}

TEST(proximity, finds_what_is_near_shapes)
{
	static const float points[18] = { 0.5f, 0, 0, -0.5f, 0.1f, 0, 0, 0.4f, 0, 0, -0.4f, 0.2f, 0, 0, 0.5f, 0.1f, 0, -0.5f };
	static scene s;
	enum { SIDE = 8 };
	for (int kind = 0; kind < 9; kind++) {
		uint64_t seed = 31 + (uint64_t)kind;
		open_scene(&s, 1, NULL);
		carom_mesh *hull = fixture_hull_mesh(s.context, points, 6);
		put_scene(&s, 1, &seed);
		carom_proximity_shape_def def = carom_default_proximity_shape_def();
		def.shape = shape_of_kind(kind, hull);
		def.pose = fixture_random_pose(&seed, 0.2);
		def.pose.position.z = kind == 8 ? 0.05 : 0.5;
		int32_t shape;
		REQUIRE(carom_proximity_add_shape(s.proximity, &def, &shape) == CAROM_SUCCESS);
		carom_release_mesh(hull);
		const double distance = 0.1;
		carom_proximity_view view;
		REQUIRE(carom_proximity_find(s.proximity, distance, &view) == CAROM_SUCCESS);
		CHECK(view.shape_pair_count > 0);
		for (int64_t i = 0; i < view.shape_pair_count; i++)
			check_shape_pair(&s, &def.shape, &def.pose, &view.shape_pairs[i]);
		for (int m = 0; m < s.count; m++) {
			for (int32_t i = 0; i < s.vertices[m]; i++) {
				if (shape_distance(&def.shape, &def.pose, place_of(&s, m, i)) < distance - 2e-6)
					CHECK(least_gap(&view, m, &i, 1) < distance);
			}
			for (int32_t t = 0; t < s.triangle_count[m]; t++) {
				const int32_t *c = s.triangles[m][t];
				double least = INFINITY;
				for (int i = 0; i <= SIDE; i++) {
					for (int j = 0; j <= SIDE - i; j++) {
						const double w[3] = { 1 - (double)(i + j) / SIDE, (double)i / SIDE, (double)j / SIDE };
						v3d p = { 0, 0, 0 };
						for (int k = 0; k < 3; k++)
							p = v3d_mad(p, w[k], place_of(&s, m, c[k]));
						least = fmin(least, shape_distance(&def.shape, &def.pose, p));
					}
				}
				if (least < distance)
					CHECK(least_gap(&view, m, c, 3) <= least + 2e-6);
			}
		}
		close_scene(&s);
	}
}

/// An ellipsoid of equal radii is a ball, by another search.
TEST(proximity, a_round_ellipsoid_is_a_ball)
{
	static scene s;
	uint64_t seed = 41;
	open_scene(&s, 1, NULL);
	put_scene(&s, 1, &seed);
	carom_proximity_shape_def def = carom_default_proximity_shape_def();
	def.pose = fixture_random_pose(&seed, 0.2);
	def.shape = fixture_sphere(0.4);
	int32_t ball, egg;
	REQUIRE(carom_proximity_add_shape(s.proximity, &def, &ball) == CAROM_SUCCESS);
	def.shape = fixture_ellipsoid(0.4, 0.4, 0.4);
	REQUIRE(carom_proximity_add_shape(s.proximity, &def, &egg) == CAROM_SUCCESS);
	carom_proximity_view view;
	REQUIRE(carom_proximity_find(s.proximity, 0.2, &view) == CAROM_SUCCESS);
	const int64_t half = view.shape_pair_count / 2;
	REQUIRE(half > 10 && view.shape_pair_count == 2 * half);
	for (int64_t i = 0; i < half; i++) {
		const carom_proximity_shape_pair *a = &view.shape_pairs[i], *b = &view.shape_pairs[half + i];
		CHECK_INT(a->shape, ball);
		CHECK_INT(b->shape, egg);
		for (int k = 0; k < 3; k++)
			CHECK_INT(a->vertices[k], b->vertices[k]);
		// Next to the centre the depth is that of a polytope, good to a millionth.
		const bool is_deep = a->gap < -0.3;
		CHECK_NEAR(a->gap, b->gap, is_deep ? 1e-6 : 1e-9);
		CHECK_NEAR(v3d_length(v3d_sub(a->normal, b->normal)), 0, is_deep ? 2e-3 : 1e-5);
	}
	close_scene(&s);
}

/// Sheets above a ball that move within their bounds do not come into it.
TEST(proximity, safe_displacements_keep_clear_of_shapes)
{
	static scene s;
	uint64_t seed = 3;
	open_scene(&s, 1, NULL);
	add_mesh(&s, fixture_sheet_mesh(s.context, 4, 2), (v3d){ 0, 0, 0.45 }, 0.01, &seed, false);
	hand_over(&s);
	carom_proximity_shape_def def = carom_default_proximity_shape_def();
	def.shape = fixture_sphere(0.4);
	int32_t shape;
	REQUIRE(carom_proximity_add_shape(s.proximity, &def, &shape) == CAROM_SUCCESS);
	carom_proximity_view view;
	double bound[MOST];
	REQUIRE(carom_proximity_find(s.proximity, 0.2, &view) == CAROM_SUCCESS);
	REQUIRE(carom_proximity_get_safe_displacements(s.proximity, 0, bound) == CAROM_SUCCESS);
	int near = 0;
	for (int round = 0; round < 200 / TEST_FEWER; round++) {
		v3d moved[MOST];
		for (int32_t i = 0; i < s.vertices[0]; i++) { // most of them towards the ball
			v3d way = v3d_neg(v3d_normalize(place_of(&s, 0, i)));
			if (round % 2)
				way = v3d_normalize((v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), -1 });
			moved[i] = v3d_mad(place_of(&s, 0, i), bound[i], way);
			near += bound[i] < 0.09;
		}
		for (int32_t t = 0; t < s.triangle_count[0]; t++) {
			const int32_t *c = s.triangles[0][t];
			const v3d p[3] = { moved[c[0]], moved[c[1]], moved[c[2]] };
			CHECK(v3d_length(cr_closest_on_triangle((v3d){ 0, 0, 0 }, p).point) >= 0.4 * (1 - 1e-12));
		}
	}
	CHECK(near > 0);
	close_scene(&s);
}

// ---- What a user may ask for and get wrong ----

/// A fine sheet, and a vertex of another mesh that is near all of it.
TEST(proximity, a_vertex_near_ten_thousand_triangles_loses_none)
{
	enum { CELLS = 71 };
	static const double above[3][3] = { { 0, 0, 0.01 }, { 0, 0, 5 }, { 1, 0, 5 } };
	static const int32_t single[3] = { 0, 1, 2 };
	static double places[(CELLS + 1) * (CELLS + 1)][3];
	static int32_t triangles[2 * CELLS * CELLS][3];
	int count = 0;
	for (int i = 0; i < (CELLS + 1) * (CELLS + 1); i++) {
		places[i][0] = 0.001 * (i % (CELLS + 1)) - 0.03;
		places[i][1] = 0.001 * (i / (CELLS + 1)) - 0.03;
	}
	for (int i = 0; i < CELLS * CELLS; i++) {
		const int32_t v = i / CELLS * (CELLS + 1) + i % CELLS;
		memcpy(triangles[count++], (int32_t[3]){ v, v + 1, v + CELLS + 2 }, sizeof *triangles);
		memcpy(triangles[count++], (int32_t[3]){ v, v + CELLS + 2, v + CELLS + 1 }, sizeof *triangles);
	}
	carom_context *context = fixture_context(1);
	carom_proximity *p;
	REQUIRE(carom_create_proximity(context, NULL, &p) == CAROM_SUCCESS);
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	def.vertex_count = (CELLS + 1) * (CELLS + 1);
	def.triangles = triangles[0];
	def.triangle_count = count;
	def.self = false;
	int32_t mesh;
	REQUIRE(carom_proximity_add_mesh(p, &def, &mesh) == CAROM_SUCCESS);
	def.vertices = (carom_strided){ above, 0, CAROM_FLOAT64 };
	def.vertex_count = 3;
	def.triangles = single;
	def.triangle_count = 1;
	REQUIRE(carom_proximity_add_mesh(p, &def, &mesh) == CAROM_SUCCESS);
	carom_proximity_view view;
	REQUIRE(carom_proximity_find(p, 0.2, &view) == CAROM_SUCCESS);
	int faces = 0;
	for (int64_t i = 0; i < view.pair_count; i++)
		faces += view.pairs[i].kind == CAROM_SWEEP_VERTEX_FACE && view.pairs[i].mesh_a == 1;
	CHECK_INT(faces, 2 * CELLS * CELLS);
	carom_destroy_proximity(p);
	carom_destroy_context(context);
}

TEST(proximity, a_budget_is_never_exceeded_in_silence)
{
	static scene s;
	carom_proximity_def def = carom_default_proximity_def();
	def.max_pairs = 30;
	uint64_t seed = 5;
	open_scene(&s, 1, &def);
	put_scene(&s, 1, &seed);
	carom_proximity_view view;
	double bound[MOST];
	fixture_expect_error(s.context, carom_proximity_find(s.proximity, 0.1, &view), CAROM_OVER_BUDGET, "max_pairs is 30");
	CHECK(view.pair_count == 0 && view.pairs == NULL);
	fixture_expect_wrong(s.context, carom_proximity_get_safe_displacements(s.proximity, 0, bound), "there was no search");
	REQUIRE(carom_proximity_find(s.proximity, 0.001, &view) == CAROM_SUCCESS);
	close_scene(&s);
}

TEST(proximity, names_what_is_wrong)
{
	static scene s;
	uint64_t seed = 5;
	open_scene(&s, 1, NULL);
	put_scene(&s, 1, &seed);
	carom_proximity *p = s.proximity, *other;
	carom_proximity_view view;
	double bound[MOST], at[4][3] = { { 0 } };
	carom_proximity_def def = carom_default_proximity_def();
	def.max_pairs = -1;
	fixture_expect_wrong(s.context, carom_create_proximity(s.context, &def, &other), "max_pairs is -1");
	def = carom_default_proximity_def();
	def.method = CAROM_SWEEP_SORT;
	fixture_expect_wrong(s.context, carom_create_proximity(s.context, &def, &other), "method");
	def.cookie = 0;
	fixture_expect_wrong(s.context, carom_create_proximity(s.context, &def, &other), "cookie");
	fixture_expect_wrong(s.context, carom_create_proximity(s.context, NULL, NULL), "proximity is NULL");
	CHECK(carom_create_proximity(NULL, NULL, &other) == CAROM_INVALID_ARGUMENT);
	const double wrong[] = { 0, -1, NAN, INFINITY };
	for (int i = 0; i < 4; i++)
		fixture_expect_wrong(s.context, carom_proximity_find(p, wrong[i], &view), "distance is");
	fixture_expect_wrong(s.context, carom_proximity_find(p, 1, NULL), "view is NULL");
	fixture_expect_wrong(s.context, carom_proximity_get_safe_displacements(p, 0, bound), "there was no search");
	REQUIRE(carom_proximity_find(p, 0.05, &view) == CAROM_SUCCESS);
	fixture_expect_wrong(s.context, carom_proximity_set_filter(p, -1, 1, 1, 0), "mesh is -1");
	CHECK(carom_proximity_get_safe_displacements(p, 0, bound) == CAROM_SUCCESS); // a call that failed changed nothing
	fixture_expect_wrong(s.context, carom_proximity_get_safe_displacements(p, 3, bound), "mesh is 3");
	fixture_expect_wrong(s.context, carom_proximity_get_safe_displacements(p, 0, NULL), "displacement is NULL");
	s.places[1][7][2] = NAN;
	const carom_strided places = view_of(&s, 1);
	fixture_expect_wrong(s.context, carom_proximity_place_mesh(p, 1, &places), "vertex 7");
	fixture_expect_wrong(s.context, carom_proximity_place_mesh(p, 9, &places), "carom_proximity_place_mesh: mesh is 9");
	fixture_expect_wrong(s.context, carom_proximity_set_filter(p, 9, 1, 1, 0), "carom_proximity_set_filter: mesh is 9");
	carom_proximity_shape_def shape = carom_default_proximity_shape_def();
	int32_t number;
	shape.shape.radius = -1;
	fixture_expect_wrong(s.context, carom_proximity_add_shape(p, &shape, &number), "shape.radius");
	shape.shape.type = CAROM_MESH;
	fixture_expect_wrong(s.context, carom_proximity_add_shape(p, &shape, &number), "carom_proximity_add_mesh");
	shape = carom_default_proximity_shape_def();
	shape.pose.orientation.w = 0;
	fixture_expect_wrong(s.context, carom_proximity_add_shape(p, &shape, &number), "pose.orientation");
	fixture_expect_wrong(s.context, carom_proximity_place_shape(p, 0, &shape.pose), "shape is 0");
	at[2][1] = NAN;
	carom_proximity_pair pair;
	fixture_expect_wrong(s.context, carom_proximity_of_pair(s.context, CAROM_SWEEP_EDGE_EDGE, at, &pair), "vertices[2][1]");
	carom_destroy_proximity(NULL);
	// After all that the scene is as it was.
	REQUIRE(carom_proximity_find(p, 0.05, &view) == CAROM_SUCCESS);
	CHECK(view.pair_count > 0);
	close_scene(&s);
}

TEST(proximity, nothing_at_all_is_fine)
{
	carom_context *context = fixture_context(1);
	carom_proximity *p;
	carom_proximity_view view;
	REQUIRE(carom_create_proximity(context, NULL, &p) == CAROM_SUCCESS);
	REQUIRE(carom_proximity_find(p, 1, &view) == CAROM_SUCCESS);
	CHECK(view.pair_count == 0 && view.shape_pair_count == 0);
	carom_proximity_shape_def def = carom_default_proximity_shape_def();
	int32_t number;
	REQUIRE(carom_proximity_add_shape(p, &def, &number) == CAROM_SUCCESS);
	REQUIRE(carom_proximity_find(p, 1, &view) == CAROM_SUCCESS);
	CHECK(view.pair_count == 0 && view.shape_pair_count == 0);
	carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
	REQUIRE(carom_proximity_add_mesh(p, &mesh, &number) == CAROM_SUCCESS);
	REQUIRE(carom_proximity_find(p, 1, &view) == CAROM_SUCCESS);
	double none;
	REQUIRE(carom_proximity_get_safe_displacements(p, 0, &none) == CAROM_SUCCESS);
	carom_destroy_proximity(p);
	carom_destroy_context(context);
}

static uint64_t hash_of(int threads)
{
	static scene s;
	uint64_t seed = 77, hash = 14695981039346656037u;
	open_scene(&s, threads, NULL);
	put_scene(&s, 0, &seed);
	carom_proximity_view view;
	REQUIRE(carom_proximity_find(s.proximity, 0.1, &view) == CAROM_SUCCESS);
	for (int64_t i = 0; i < view.pair_count; i++) {
		const carom_proximity_pair *p = &view.pairs[i];
		uint64_t bits[2];
		memcpy(&bits[0], &p->distance2, 8);
		memcpy(&bits[1], &p->gap, 8);
		hash = (hash ^ bits[0]) * 1099511628211u;
		hash = (hash ^ bits[1]) * 1099511628211u;
		for (int k = 0; k < 4; k++)
			hash = (hash ^ (uint64_t)p->vertices[k]) * 1099511628211u;
	}
	CHECK(view.pair_count > 100);
	close_scene(&s);
	return hash;
}

TEST(proximity, is_alike_by_any_number_of_threads)
{
	const uint64_t hash = hash_of(1);
	CHECK(hash_of(2) == hash);
	CHECK(hash_of(5) == hash);
}

TEST(proximity, fails_without_memory_and_goes_on)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_sheet_mesh(context, 5, 1);
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = (carom_strided){ mesh->topology.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = mesh->topology.vertex_count;
	def.triangles = mesh->topology.triangles;
	def.triangle_count = mesh->topology.triangle_count;
	int failed = 0;
	for (bool done = false; !done && failed < 500; failed++) {
		carom_proximity *p = NULL;
		carom_proximity_view view;
		double bound[64];
		int32_t number;
		const carom_proximity_shape_def shape = carom_default_proximity_shape_def();
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		carom_result result = carom_create_proximity(context, NULL, &p);
		result = result == CAROM_SUCCESS ? carom_proximity_add_mesh(p, &def, &number) : result;
		result = result == CAROM_SUCCESS ? carom_proximity_add_shape(p, &shape, &number) : result;
		for (int turn = 0; turn < 2 && p && result == CAROM_SUCCESS; turn++) {
			result = carom_proximity_find(p, 0.3, &view);
			result = result == CAROM_SUCCESS ? carom_proximity_get_safe_displacements(p, 0, bound) : result;
		}
		done = result == CAROM_SUCCESS;
		CHECK(done || result == CAROM_OUT_OF_MEMORY);
		atomic_store(&heap.fail_at, -1);
		if (p && !done && carom_proximity_find(p, 0.3, &view) == CAROM_SUCCESS && view.shape_pair_count > 0) {
			CHECK(view.pair_count > 100);
			REQUIRE(carom_proximity_get_safe_displacements(p, 0, bound) == CAROM_SUCCESS);
		}
		carom_destroy_proximity(p);
	}
	CHECK(failed > 20 && failed < 500);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
