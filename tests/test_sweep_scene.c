// Who answers for which pair of features, orphan sets, the tree of a swept scene and its boxes.
#include "fixture.h"
#include "geom/swept.h"
#include "sweep/orphans.h"
#include "sweep/sweep_descent.h"
#include "sweep/sweep_order.h"
#include "sweep/sweep_tree.h"
#include "sweep_fixture.h"
#include "swept_fixture.h"
#include "test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Vertices numbered as they were given.
static const int32_t *same_numbers(void)
{
	static int32_t numbers[1 << 16];
	for (int32_t i = 0; i < 1 << 16; i++)
		numbers[i] = i;
	return numbers;
}

/// A scene over one mesh without triangles that repeat a corner; the mesh is changed.
static cr_sweep_scene build_scene(carom_context *context, sweep_mesh *mesh)
{
	int32_t kept = 0;
	for (int32_t i = 0; i < mesh->triangle_count; i++) {
		const int32_t t[3] = { mesh->triangles[3 * i], mesh->triangles[3 * i + 1], mesh->triangles[3 * i + 2] };
		if (t[0] != t[1] && t[1] != t[2] && t[2] != t[0])
			memcpy(&mesh->triangles[3 * kept++], t, sizeof t);
	}
	mesh->triangle_count = kept;
	cr_sweep_scene scene;
	REQUIRE(mesh->vertex_count < 1 << 16);
	REQUIRE(cr_sweep_scene_build(context, mesh->triangles, kept, same_numbers(), mesh->vertex_count, NULL, &scene));
	return scene;
}

// Sheets and solids whose counts were found by a program of its own, by the rule of sweep/orphans.h alone.
TEST(sweep_scene, orphans_are_few)
{
	static const struct {
		int shape, size, faces, edges;
	} cases[] = { { 0, 0, 0, 0 }, { 1, 0, 0, 0 }, { 2, 0, 4, 3 }, { 3, 20, 86, 298 }, { 3, 33, 138, 506 },
		{ 3, 65, 266, 1018 } };
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sweep_world world = { 0 };
		sweep_mesh *mesh = cases[i].shape == 0 ? sweep_add_torus(&world, 30, 10)
			: cases[i].shape == 1              ? sweep_add_box(&world)
			: cases[i].shape == 2              ? sweep_add_tetrahedron(&world)
											   : sweep_add_sheet(&world, cases[i].size, cases[i].size, 1);
		cr_sweep_scene scene = build_scene(context, mesh);
		CHECK_INT(scene.orphan_faces.count, cases[i].faces);
		CHECK_INT(scene.orphan_edges.count, cases[i].edges);
		cr_sweep_scene_free(context, &scene);
		sweep_free_world(&world);
	}
	carom_destroy_context(context);
}

/// How often each pair of features is given out.
typedef struct tally {
	const cr_sweep_scene *scene;
	uint8_t *faces; // [vertices][triangles]
	uint8_t *edges; // [edges][edges]
} tally;

static void count_face(tally *t, const cr_feature_pair *pair)
{
	const int32_t *corners = &t->scene->triangles[3 * pair->b];
	CHECK_INT(pair->vertices[0], pair->a);
	CHECK(!memcmp(&pair->vertices[1], corners, 3 * sizeof *corners));
	t->faces[(int64_t)pair->a * t->scene->triangle_count + pair->b]++;
}

static void count_edge(tally *t, const cr_feature_pair *pair)
{
	CHECK(pair->a < pair->b);
	CHECK(!memcmp(&pair->vertices[0], &t->scene->edges[2 * pair->a], 2 * sizeof(int32_t)));
	CHECK(!memcmp(&pair->vertices[2], &t->scene->edges[2 * pair->b], 2 * sizeof(int32_t)));
	t->edges[(int64_t)pair->a * t->scene->edge_count + pair->b]++;
}

/// Pairs that are not near are given out by rank alone.
static void check_far(const cr_sweep_scene *s, int32_t a, int32_t b, int faces, int edges)
{
	const int ra = s->first_of[a], rb = s->first_of[b];
	CHECK_INT(faces, __builtin_popcount((unsigned)(ra & 7)) + __builtin_popcount((unsigned)(rb & 7)));
	CHECK_INT(edges, __builtin_popcount((unsigned)ra >> 3) * __builtin_popcount((unsigned)rb >> 3));
}

static int count_all(tally *t)
{
	const cr_sweep_scene *s = t->scene;
	int far = 0;
	for (int32_t a = 0; a < s->triangle_count; a++) {
		for (int32_t b = a + 1; b < s->triangle_count; b++) {
			if (cr_are_adjacent(s, a, b)) {
				CHECK(cr_may_be_near(s, a, b));
				continue;
			}
			cr_feature_pair faces[CR_MOST_VERTEX_FACE], edges[CR_MOST_EDGE_EDGE];
			int edge_count;
			const int face_count = cr_features_of_pair(s, a, b, faces, edges, &edge_count);
			for (int i = 0; i < face_count; i++)
				count_face(t, &faces[i]);
			for (int i = 0; i < edge_count; i++)
				count_edge(t, &edges[i]);
			if (!cr_may_be_near(s, a, b)) {
				check_far(s, a, b, face_count, edge_count);
				far++;
			}
		}
	}
	for (int64_t i = 0; i < s->orphan_faces.count; i++)
		count_face(t, &s->orphan_faces.data[i]);
	for (int64_t i = 0; i < s->orphan_edges.count; i++)
		count_edge(t, &s->orphan_edges.data[i]);
	return far;
}

/// MCCD's lemma: the pairs of triangles that share no vertex and the orphan sets give every pair of features; here, each once.
TEST(sweep_scene, every_pair_of_features_is_given_out_once)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t random = 1;
	int far = 0;
	for (int round = 0; round < 60 && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		sweep_mesh *mesh = round == 0 ? sweep_add_sheet(&world, 14, 12, 1) : sweep_add_random(&world, &random);
		cr_sweep_scene scene = build_scene(context, mesh);
		const cr_sweep_scene *s = &scene;
		tally t = { s, calloc((size_t)s->vertex_count, (size_t)s->triangle_count),
			calloc((size_t)s->edge_count, (size_t)s->edge_count) };
		REQUIRE(t.faces && t.edges);
		far += count_all(&t);
		for (int32_t v = 0; v < s->vertex_count; v++) {
			for (int32_t f = 0; f < s->triangle_count; f++) {
				const int32_t *c = &s->triangles[3 * f];
				const bool wanted = s->vertex_first[v] < s->vertex_first[v + 1] && v != c[0] && v != c[1] && v != c[2];
				CHECK_INT(t.faces[(int64_t)v * s->triangle_count + f], wanted);
			}
		}
		for (int32_t e = 0; e < s->edge_count; e++) {
			for (int32_t f = 0; f < s->edge_count; f++) {
				const int32_t *p = &s->edges[2 * e], *q = &s->edges[2 * f];
				const bool wanted = e < f && p[0] != q[0] && p[0] != q[1] && p[1] != q[0] && p[1] != q[1];
				CHECK_INT(t.edges[(int64_t)e * s->edge_count + f], wanted);
			}
		}
		free(t.faces);
		free(t.edges);
		cr_sweep_scene_free(context, &scene);
		sweep_free_world(&world);
	}
	CHECK(far > 1000);
	carom_destroy_context(context);
}

/// Every order of numbers gives the same pairs of features; queries name edges by the numbers that were given.
TEST(sweep_scene, order_follows_the_leaves)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t random = 6;
	for (int round = 0; round < 30 && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		sweep_mesh *mesh = sweep_add_random(&world, &random);
		cr_sweep_scene dropped = build_scene(context, mesh); // leaves out triangles with a repeated corner
		cr_sweep_scene_free(context, &dropped);
		const int32_t count = mesh->triangle_count, vertices = mesh->vertex_count;
		int32_t *groups = malloc((size_t)count * sizeof *groups), *seen = calloc((size_t)(count + vertices), sizeof *seen);
		REQUIRE(groups && seen);
		for (int32_t i = 0; i < count; i++)
			groups[i] = -1;
		cr_sweep_tree tree;
		cr_sweep_order order;
		cr_sweep_scene scene;
		REQUIRE(cr_sweep_tree_build(context, mesh->triangles, count, mesh->begin, groups, CAROM_SWEEP_MEDIAN, &tree));
		REQUIRE(cr_sweep_order_make(context, &tree, mesh->triangles, vertices, &order));
		int32_t leaf = 0;
		for (int32_t i = 0; i < tree.node_count; i++) {
			if (cr_is_leaf(&tree.nodes[i]))
				CHECK_INT(~tree.nodes[i].right, leaf++);
		}
		for (int32_t i = 0; i < count; i++) {
			seen[order.given_triangles[i]]++;
			for (int k = 0; k < 3; k++)
				CHECK_INT(order.given_vertices[order.corners[3 * i + k]], mesh->triangles[3 * order.given_triangles[i] + k]);
		}
		for (int32_t v = 0; v < vertices; v++)
			seen[count + order.given_vertices[v]]++;
		for (int32_t i = 0; i < count + vertices; i++)
			CHECK_INT(seen[i], 1);
		REQUIRE(cr_sweep_scene_build(context, order.corners, count, order.given_vertices, vertices, NULL, &scene));
		for (int64_t i = 0; i < scene.orphan_edges.count; i++) {
			const int32_t *v = scene.orphan_edges.data[i].vertices;
			CHECK(order.given_vertices[v[0]] < order.given_vertices[v[1]]);
			CHECK(order.given_vertices[v[2]] < order.given_vertices[v[3]]);
			CHECK(order.given_vertices[v[0]] < order.given_vertices[v[2]]);
		}
		cr_sweep_scene_free(context, &scene);
		cr_sweep_order_free(context, &order);
		cr_sweep_tree_free(context, &tree);
		free(groups);
		free(seen);
		sweep_free_world(&world);
	}
	carom_destroy_context(context);
}

// ---- Trees ----

typedef struct box_axes {
	double low[CR_DOP_AXES], high[CR_DOP_AXES];
	int count;
} box_axes;

static box_axes read_box(const cr_sweep_tree *tree, const cr_sweep_boxes *boxes, int64_t i)
{
	box_axes box = { .count = tree->volume == CAROM_SWEEP_DOP18 ? CR_DOP_AXES : 3 };
	for (int k = 0; k < box.count; k++) {
		if (box.count == 3) {
			box.low[k] = boxes->main[CR_AABB_STRIDE * i + k];
			box.high[k] = boxes->main[CR_AABB_STRIDE * i + 4 + k];
		} else {
			box.low[k] = k < 8 ? boxes->main[CR_DOP_STRIDE * i + k] : boxes->last[2 * i];
			box.high[k] = k < 8 ? boxes->main[CR_DOP_STRIDE * i + 8 + k] : boxes->last[2 * i + 1];
		}
	}
	return box;
}

static bool holds_point(const box_axes *box, const double p[3], double straight)
{
	const double along[CR_DOP_AXES] = { p[0], p[1], p[2], p[0] + p[1], p[0] - p[1], p[0] + p[2], p[0] - p[2], p[1] + p[2],
		p[1] - p[2] };
	for (int k = 0; k < box->count; k++) {
		const double reach = k < 3 ? straight : straight * sqrt(2);
		if (!(along[k] - reach >= box->low[k] && along[k] + reach <= box->high[k]))
			return false;
	}
	return true;
}

static bool holds_box(const box_axes *outer, const box_axes *inner)
{
	for (int k = 0; k < outer->count; k++) {
		if (!(inner->low[k] >= outer->low[k] && inner->high[k] <= outer->high[k]))
			return false;
	}
	return true;
}

static void check_boxes(const cr_sweep_tree *tree, const sweep_mesh *mesh, double separation)
{
	const cr_sweep_scene *s = tree->scene;
	for (int32_t i = 0; i < tree->node_count; i++) {
		const cr_sweep_node *node = &tree->nodes[i];
		const box_axes box = read_box(tree, &tree->node_boxes, i);
		if (!cr_is_leaf(node)) {
			const box_axes left = read_box(tree, &tree->node_boxes, i + 1);
			const box_axes right = read_box(tree, &tree->node_boxes, node->right);
			CHECK(holds_box(&box, &left) && holds_box(&box, &right));
			continue;
		}
		for (int k = 0; k < 3; k++) {
			const int32_t v = s->triangles[3 * ~node->right + k];
			const box_axes vertex = read_box(tree, &tree->vertex_boxes, v);
			CHECK(holds_point(&vertex, &mesh->begin[3 * v], separation / 2));
			CHECK(holds_point(&vertex, &mesh->end[3 * v], separation / 2));
			CHECK(holds_box(&box, &vertex));
		}
	}
}

/// Depth-first order, every triangle once, sizes; returns the depth.
static int check_nodes(const cr_sweep_tree *tree, int32_t node, int depth, int32_t *seen)
{
	const cr_sweep_node *n = &tree->nodes[node];
	if (cr_is_leaf(n)) {
		CHECK_INT(n->size, 1);
		seen[~n->right]++;
		return depth;
	}
	CHECK_INT(n->right, node + 1 + tree->nodes[node + 1].size);
	CHECK_INT(n->size, 1 + tree->nodes[node + 1].size + tree->nodes[n->right].size);
	const int left = check_nodes(tree, node + 1, depth + 1, seen), right = check_nodes(tree, n->right, depth + 1, seen);
	return left > right ? left : right;
}

/// Each child of a pair knows its parent, and whether it is the first one. Pairs below pair, at most so many levels.
static void check_parents(const cr_sweep_tree *tree, cr_sweep_pair pair, int levels)
{
	cr_sweep_pair children[3];
	const int count = cr_descend(tree, pair, children);
	for (int i = 0; i < count; i++) {
		if (children[i].a != children[i].b) {
			const cr_sweep_pair parent = cr_parent(tree, children[i]);
			CHECK_INT(parent.a, pair.a);
			CHECK_INT(parent.b, pair.b);
			CHECK(pair.a == pair.b || cr_is_first_child(parent, children[i]) == (i == 0));
		}
		if (levels > 0)
			check_parents(tree, children[i], levels - 1);
	}
}

static void check_tree(carom_context *context, sweep_mesh *mesh, double separation)
{
	cr_sweep_scene scene = build_scene(context, mesh);
	int32_t *groups = calloc((size_t)scene.triangle_count, sizeof *groups);
	REQUIRE(groups != NULL);
	double largest = 0;
	for (int32_t i = 0; i < 3 * mesh->vertex_count; i++)
		largest = fmax(largest, fmax(fabs(mesh->begin[i]), fabs(mesh->end[i])));
	for (int32_t i = 0; i < scene.triangle_count; i++)
		groups[i] = i % 2 - 1;
	for (int choice = 0; choice < 4; choice++) {
		cr_sweep_tree tree;
		REQUIRE(cr_sweep_tree_build(
			context, mesh->triangles, scene.triangle_count, mesh->begin, groups, (carom_sweep_build)(choice >> 1), &tree));
		REQUIRE(cr_sweep_tree_attach(context, &scene, (carom_sweep_volume)(choice & 1), &tree));
		int32_t *seen = calloc((size_t)scene.triangle_count, sizeof *seen);
		REQUIRE(seen != NULL);
		CHECK(check_nodes(&tree, 0, 0, seen) <= CR_SWEEP_MAX_DEPTH);
		for (int32_t i = 0; i < scene.triangle_count; i++)
			CHECK_INT(seen[i], 1);
		CHECK_INT(tree.nodes[0].group, scene.triangle_count > 1 ? -1 : groups[0]);
		const cr_sweep_bounds bounds = { mesh->begin, mesh->end, largest, separation, 1e-6, 1, NULL, NULL };
		cr_sweep_tree_refit(context, &tree, &bounds);
		check_boxes(&tree, mesh, separation);
		check_parents(&tree, (cr_sweep_pair){ 0, 0 }, 9);
		free(seen);
		cr_sweep_tree_free(context, &tree);
	}
	free(groups);
	cr_sweep_scene_free(context, &scene);
}

TEST(sweep_scene, trees_hold_all_triangles_and_boxes_all_motion)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	uint64_t random = 2;
	for (int round = 0; round < 30 && test_failures() == 0; round++) {
		sweep_world world = { 0 };
		sweep_mesh *mesh = sweep_add_random(&world, &random);
		sweep_move(&world, 0.5, 0.1, &random);
		check_tree(context, mesh, round % 2 * 0.125);
		sweep_free_world(&world);
	}
	// Large enough for parts of a refit.
	sweep_world world = { 0 };
	sweep_mesh *mesh = sweep_add_torus(&world, 100, 60);
	sweep_move(&world, 0.5, 0.1, &random);
	check_tree(context, mesh, 0.01);
	sweep_free_world(&world);
	carom_destroy_context(context);
}

/// Each triangle half as far from the origin as the last one: a split by place takes one triangle off at a time.
TEST(sweep_scene, trees_stay_shallow)
{
	enum { COUNT = 600 };
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t random = 3;
	sweep_world world = { 0 };
	sweep_mesh *mesh = sweep_add_mess(&world, 3 * COUNT, COUNT, &random);
	double place = 1e12;
	for (int32_t i = 0; i < 3 * COUNT; i++) {
		mesh->triangles[i] = i;
		for (int k = 0; k < 3; k++)
			mesh->begin[3 * i + k] = place * (1 + (i + k) % 3 * 0.1);
		if (i % 3 == 2)
			place *= i < COUNT ? 0.75 : 0.5;
	}
	memcpy(mesh->end, mesh->begin, 3 * (size_t)mesh->vertex_count * sizeof *mesh->end);
	check_tree(context, mesh, 0);
	// All in one place.
	for (int32_t i = 0; i < 9 * COUNT; i++)
		mesh->begin[i] = mesh->end[i] = i % 9 == 1;
	check_tree(context, mesh, 0);
	sweep_free_world(&world);
	carom_destroy_context(context);
}

/// What the boxes of a part of the step tell apart is never reported before the end of that part, be it undecided.
TEST(sweep_scene, boxes_of_a_part_tell_when)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	const cr_sweep_kernels *kernels = cr_get_sweep_kernels(CAROM_SIMD_SCALAR);
	const int32_t triangles[6] = { 0, 1, 2, 3, 4, 5 }, groups[2] = { -1, -1 };
	uint64_t random = 5;
	int later = 0, undecided = 0;
	for (int round = 0; round < (TEST_FEWER > 1 ? 1000 : 6000) && test_failures() == 0; round++) {
		double begin[18], end[18], largest = 0;
		for (int i = 0; i < 18; i++) {
			begin[i] = (double)(test_random(&random) % 5) / 4 + (i >= 9 ? 0.75 : 0);
			end[i] = (double)(test_random(&random) % 5) / 4 + (i >= 9 ? -0.5 : 0);
			largest = fmax(largest, fmax(fabs(begin[i]), fabs(end[i])));
		}
		const double separation = round % 2 ? 0.0625 : 0;
		cr_sweep_scene scene;
		cr_sweep_tree tree;
		REQUIRE(cr_sweep_scene_build(context, triangles, 2, same_numbers(), 6, NULL, &scene));
		REQUIRE(cr_sweep_tree_build(context, triangles, 2, begin, groups, CAROM_SWEEP_MEDIAN, &tree));
		REQUIRE(cr_sweep_tree_attach(context, &scene, CAROM_SWEEP_DOP18, &tree));
		const double until = test_random_double(&random, 0, 0.5);
		const cr_sweep_bounds bounds = { begin, end, largest, separation, 1e-6, until, NULL, NULL };
		cr_sweep_tree_refit(context, &tree, &bounds);
		cr_feature_pair faces[CR_MOST_VERTEX_FACE], edges[CR_MOST_EDGE_EDGE];
		int edge_count;
		const int face_count = cr_features_of_pair(&scene, 0, 1, faces, edges, &edge_count);
		for (int i = 0; i < face_count + edge_count && !kernels->overlap(&tree, 1, 2); i++) {
			const cr_feature_pair *pair = i < face_count ? &faces[i] : &edges[i - face_count];
			const cr_swept_queries queries = { i < face_count ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE, begin, end,
				(const int32_t(*)[4])pair->vertices, NULL, 0 };
			cr_swept_options options = cr_swept_default_options(swept_boxes());
			options.min_separation = separation;
			options.method = round % 4 < 2 ? CR_SWEPT_CERTIFIED : CR_SWEPT_INCLUSION;
			options.max_iterations = round % 4 == 2 ? 3 : 4096; // too few
			cr_swept_impact impact;
			cr_swept_stats stats = { 0 };
			if (cr_swept_find(&queries, 0, 1, &options, &impact, &stats)) {
				CHECK(impact.time > until);
				later++;
				undecided += impact.status == CR_SWEPT_UNDECIDED;
			}
		}
		cr_sweep_tree_free(context, &tree);
		cr_sweep_scene_free(context, &scene);
	}
	CHECK(later > (TEST_FEWER > 1 ? 40 : 300));
	CHECK(undecided > (TEST_FEWER > 1 ? 2 : 30));
	carom_destroy_context(context);
}

/// What boxes tell apart the filters of the elementary tests rule out as well: the kind of box never decides what is found.
TEST(sweep_scene, boxes_apart_are_ruled_out_by_filters)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	const cr_sweep_kernels *kernels = cr_get_sweep_kernels(CAROM_SIMD_SCALAR);
	uint64_t random = 4;
	int64_t apart = 0, close = 0;
	for (int round = 0; round < 20000 / TEST_FEWER && test_failures() == 0; round++) {
		double begin[18], end[18], largest = 0;
		const double separation = round % 3 == 0 ? 0.125 : 0;
		for (int i = 0; i < 18; i++) {
			// Corners on a coarse grid touch all the time; a few last places in double or float make the gaps small.
			begin[i] = (double)(test_random(&random) % 5) / 4 + (i >= 9 ? 0.5 : 0);
			end[i] = (double)(test_random(&random) % 3) / 4 + (i >= 9 ? 0.75 : 0);
			const int nudge = (int)(test_random(&random) % 8);
			begin[i] = nudge == 0 ? nextafter(begin[i], 9) : nudge == 1 ? nextafterf((float)begin[i], 9) : begin[i];
			end[i] = nudge == 2 ? nextafter(end[i], -9) : nudge == 3 ? end[i] + separation : end[i];
			largest = fmax(largest, fmax(fabs(begin[i]), fabs(end[i])));
		}
		const int32_t triangles[6] = { 0, 1, 2, 3, 4, 5 }, groups[2] = { -1, -1 };
		cr_sweep_scene scene;
		REQUIRE(cr_sweep_scene_build(context, triangles, 2, same_numbers(), 6, NULL, &scene));
		for (int volume = 0; volume < 2; volume++) {
			cr_sweep_tree tree;
			REQUIRE(cr_sweep_tree_build(context, triangles, 2, begin, groups, CAROM_SWEEP_MEDIAN, &tree));
			REQUIRE(cr_sweep_tree_attach(context, &scene, (carom_sweep_volume)volume, &tree));
			const cr_sweep_bounds bounds = { begin, end, largest, separation, 1e-6, 1, NULL, NULL };
			cr_sweep_tree_refit(context, &tree, &bounds);
			if (kernels->overlap(&tree, 1, 2)) {
				close++;
				cr_sweep_tree_free(context, &tree);
				continue;
			}
			cr_feature_pair faces[CR_MOST_VERTEX_FACE], edges[CR_MOST_EDGE_EDGE];
			int edge_count;
			const int face_count = cr_features_of_pair(&scene, 0, 1, faces, edges, &edge_count);
			cr_swept_options options = cr_swept_default_options(swept_boxes());
			options.min_separation = separation;
			for (int i = 0; i < face_count + edge_count; i++) {
				const cr_feature_pair *pair = i < face_count ? &faces[i] : &edges[i - face_count];
				const cr_swept_queries queries = { i < face_count ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE, begin, end,
					(const int32_t(*)[4])pair->vertices, NULL, 0 };
				cr_swept_impact impact;
				cr_swept_stats stats = { 0 };
				CHECK_INT(cr_swept_find(&queries, 0, 1, &options, &impact, &stats), 0);
				CHECK_INT(stats.advanced + stats.bisected, 0);
			}
			apart++;
			cr_sweep_tree_free(context, &tree);
		}
		cr_sweep_scene_free(context, &scene);
	}
	CHECK(apart > 5000 / TEST_FEWER);
	CHECK(close > 5000 / TEST_FEWER);
	carom_destroy_context(context);
}
