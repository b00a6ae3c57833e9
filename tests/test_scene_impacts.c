/// Nothing is missed in the scenes of deforming bodies: every scene of scenes/ that has such bodies is simulated, small, and each step's
/// impacts and crossings are compared with all pairs of features, judged by whole-number arithmetic (swept_oracle.h) and exact predicates.
///
/// Two motions of a step are looked at: the one that would come in so many steps if nothing hindered it, along velocities and gravity,
/// which goes through everything; and the one that is made, on which nothing may meet at all.
#include "fixture.h"
#include "geom/triangle.h"
#include "scene/scene_run.h"
#include "swept_oracle.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 700, RIGID_GROUP = -1, AHEAD = 4 };

typedef struct feature_edge {
	int32_t v[2]; // lower first, numbers of the whole surface
} feature_edge;

/// A scene that runs, and a world that sees its motions.
typedef struct judged_run {
	carom_context *context;
	scene_description *scene;
	scene_run run;
	sim_soft *soft;
	sim_soft_surface surface;
	int64_t soft_steps; // of the simulation
	double time_step, gravity[3];
	bool is_rigid[MOST_BODIES];
	int32_t *body_of; // [vertex_count]
	feature_edge *edges;
	int32_t edge_count;
	double *begin, *velocity, *foreseen; // [3*vertex_count]
	carom_world *world;
	carom_body_id ids[MOST_BODIES];
	int64_t met, judged, crossing; // in all steps: exact impacts, exact judgements, crossing triangles
	int64_t missed, lost_crossings, made_meeting;
} judged_run;

// ---- Running ----

static int compare_edges(const void *a, const void *b)
{
	const feature_edge *x = a, *y = b;
	return x->v[0] != y->v[0] ? (x->v[0] < y->v[0] ? -1 : 1) : (x->v[1] > y->v[1]) - (x->v[1] < y->v[1]);
}

static void list_edges(judged_run *r)
{
	const sim_soft_surface *s = &r->surface;
	r->edges = malloc(3 * (size_t)s->triangle_count * sizeof *r->edges);
	for (int32_t i = 0; i < 3 * s->triangle_count; i++) {
		const int32_t p = s->triangles[i], q = s->triangles[i - i % 3 + (i + 1) % 3];
		r->edges[i] = (feature_edge){ { p < q ? p : q, p < q ? q : p } };
	}
	qsort(r->edges, 3 * (size_t)s->triangle_count, sizeof *r->edges, compare_edges);
	for (int32_t i = 0; i < 3 * s->triangle_count; i++) {
		if (i == 0 || compare_edges(&r->edges[i], &r->edges[r->edge_count - 1]) != 0)
			r->edges[r->edge_count++] = r->edges[i];
	}
}

static carom_strided places_of(const judged_run *r, int body, const double *places)
{
	return (carom_strided){ places + 3 * (int64_t)r->surface.body_vertices[body], 0, CAROM_FLOAT64 };
}

static void add_body(judged_run *r, int body)
{
	const sim_soft_surface *s = &r->surface;
	const int32_t first = s->body_triangles[body], count = s->body_triangles[body + 1] - first;
	int32_t *triangles = malloc(3 * (size_t)count * sizeof *triangles);
	for (int32_t i = 0; i < 3 * count; i++)
		triangles[i] = s->triangles[3 * first + i] - s->body_vertices[body];
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = places_of(r, body, s->places);
	mesh_def.vertex_count = s->body_vertices[body + 1] - s->body_vertices[body];
	mesh_def.triangles = triangles;
	mesh_def.triangle_count = count;
	mesh_def.grid_resolution = 0;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(r->context, &mesh_def, NULL, &mesh) == CAROM_SUCCESS);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_of_mesh(mesh);
	def.kind = CAROM_CLOTH;
	def.contacts = false;
	def.self_collision = !r->is_rigid[body];
	def.group = r->is_rigid[body] ? RIGID_GROUP : 0;
	REQUIRE(carom_world_add_body(r->world, &def, &r->ids[body]) == CAROM_SUCCESS);
	carom_release_mesh(mesh);
	free(triangles);
}

/// copies: of each grid of bodies along each axis, at most; 0: all.
static judged_run open_run(const char *name, double resolution, int copies)
{
	char path[500];
	sim_error error = { "" };
	judged_run r = { .scene = malloc(sizeof *r.scene) };
	snprintf(path, sizeof path, "%s/%s.json", CAROM_SCENES, name);
	const bool loaded = scene_load(path, r.scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
	r.scene->deforming.resolution *= resolution;
	for (int32_t i = 0; i < 3 * r.scene->deforming.source_count && copies > 0; i++) {
		int32_t *count = &r.scene->deforming.sources[i / 3].count[i % 3];
		*count = *count < copies ? *count : copies;
	}
	r.time_step = r.scene->time_step;
	memcpy(r.gravity, r.scene->deforming.def.gravity, sizeof r.gravity);
	r.context = fixture_context(2);
	r.run = (scene_run){ .scene = r.scene, .context = r.context };
	const bool made = scene_run_add_all(&r.run, NULL, NULL, &error);
	CHECK_STR(error.text, "");
	REQUIRE(made && r.run.soft != NULL);
	r.soft = r.run.soft;
	r.surface = sim_soft_get_surface(r.soft);
	REQUIRE(r.surface.body_count <= MOST_BODIES);
	const size_t numbers = 3 * (size_t)r.surface.vertex_count;
	r.body_of = malloc((size_t)r.surface.vertex_count * sizeof *r.body_of);
	r.begin = malloc(3 * numbers * sizeof *r.begin);
	r.velocity = r.begin + numbers;
	r.foreseen = r.velocity + numbers;
	list_edges(&r);
	r.world = fixture_world(r.context, NULL);
	for (int body = 0; body < r.surface.body_count; body++) {
		const sim_soft_kind kind = sim_soft_get_kind(r.soft, body);
		r.is_rigid[body] = sim_soft_is_rigid(r.soft, body) || kind == SIM_SOFT_SOLID;
		for (int32_t v = r.surface.body_vertices[body]; v < r.surface.body_vertices[body + 1]; v++)
			r.body_of[v] = body;
		add_body(&r, body);
	}
	return r;
}

static void close_run(judged_run *r)
{
	carom_destroy_world(r->world);
	scene_run_end(&r->run);
	carom_destroy_context(r->context);
	scene_destroy(r->scene);
	free(r->scene);
	free(r->body_of);
	free(r->edges);
	free(r->begin);
}

/// A step, and the motion that nothing would hinder. Returns whether the step was one straight motion on which nothing may meet.
static bool advance(judged_run *r)
{
	const sim_soft_surface *s = &r->surface;
	scene_run_step all;
	sim_error error = { "" };
	memcpy(r->begin, s->places, 3 * (size_t)s->vertex_count * sizeof *r->begin);
	memcpy(r->velocity, s->velocities, 3 * (size_t)s->vertex_count * sizeof *r->velocity);
	const bool done = scene_run_step_all(&r->run, &all, &error);
	CHECK_STR(error.text, "");
	REQUIRE(done);
	const double time = AHEAD * r->time_step;
	for (int32_t i = 0; i < 3 * s->vertex_count; i++) {
		const double way = time * (r->velocity[i] + 0.5 * time * r->gravity[i % 3]);
		r->foreseen[i] = r->is_rigid[r->body_of[i / 3]] ? s->places[i] : r->begin[i] + way;
	}
	const sim_soft_step *step = &all.deforming;
	const bool is_one = step->step == r->soft_steps + 1;
	r->soft_steps = step->step;
	return is_one && step->leads + step->gave_way + step->halvings == 0 && step->crossings == 0;
}

// ---- What was reported ----

/// A pair of features by numbers of the whole surface.
typedef struct pair_key {
	int32_t n[4];
} pair_key;

static int compare_keys(const void *a, const void *b)
{
	const pair_key *x = a, *y = b;
	for (int k = 0; k < 4; k++) {
		if (x->n[k] != y->n[k])
			return x->n[k] < y->n[k] ? -1 : 1;
	}
	return 0;
}

static pair_key key_of_face(int32_t vertex, int32_t triangle) { return (pair_key){ { vertex, -1, triangle, -1 } }; }

static pair_key key_of_edges(const int32_t a[2], const int32_t b[2])
{
	const bool in_order = a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
	const int32_t *low = in_order ? a : b, *high = in_order ? b : a;
	return (pair_key){ { low[0], low[1], high[0], high[1] } };
}

static int body_of_id(const judged_run *r, carom_body_id id)
{
	for (int body = 0; body < r->surface.body_count; body++) {
		if (fixture_same_id(r->ids[body], id))
			return body;
	}
	REQUIRE(false);
	return -1;
}

/// The impacts of the world's last step, sorted.
static pair_key *list_impacts(const judged_run *r, int64_t *count)
{
	const carom_impact_view impacts = carom_world_impacts(r->world);
	pair_key *keys = malloc(((size_t)impacts.count + 1) * sizeof *keys);
	for (int64_t i = 0; i < impacts.count; i++) {
		const carom_impact *p = &impacts.data[i];
		const int a = body_of_id(r, p->body_a), b = body_of_id(r, p->body_b);
		const int32_t first_a = r->surface.body_vertices[a], first_b = r->surface.body_vertices[b];
		const int32_t edge_a[2] = { p->vertices[0] + first_a, p->vertices[1] + first_a };
		const int32_t edge_b[2] = { p->vertices[2] + first_b, p->vertices[3] + first_b };
		keys[i] = p->kind == CAROM_SWEEP_VERTEX_FACE ? key_of_face(edge_a[0], p->triangle + r->surface.body_triangles[b])
													 : key_of_edges(edge_a, edge_b);
	}
	qsort(keys, (size_t)impacts.count, sizeof *keys, compare_keys);
	*count = impacts.count;
	return keys;
}

/// Let the world sweep a motion.
static void sweep(judged_run *r, const double *end)
{
	for (int body = 0; body < r->surface.body_count; body++) {
		const carom_strided from = places_of(r, body, r->begin), to = places_of(r, body, end);
		REQUIRE(carom_world_set_vertices(r->world, r->ids[body], &from, &to) == CAROM_SUCCESS);
	}
	fixture_step(r->world);
}

// ---- All pairs ----

/// Do the intervals of two features overlap along an axis, all the way? Their vertices move on straight lines.
static bool overlap_along(const double axis[3], const double begin[4][3], const double end[4][3], int first)
{
	double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY }, size = 0;
	for (int i = 0; i < 4; i++) {
		const double *places[2] = { begin[i], end[i] };
		for (int k = 0; k < 2; k++) {
			const double *p = places[k], h = axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2];
			size = fmax(size, fabs(p[0]) + fabs(p[1]) + fabs(p[2]));
			low[i >= first] = fmin(low[i >= first], h);
			high[i >= first] = fmax(high[i >= first], h);
		}
	}
	const double slack = 1e-13 * size;
	return low[0] <= high[1] + slack && low[1] <= high[0] + slack;
}

/// May two features meet? Along 13 axes, so that few pairs are left for whole numbers.
static bool may_meet(const double begin[4][3], const double end[4][3], int first)
{
	static const double axes[13][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 0 }, { 1, -1, 0 }, { 1, 0, 1 },
		{ 1, 0, -1 }, { 0, 1, 1 }, { 0, 1, -1 }, { 1, 1, 1 }, { 1, 1, -1 }, { 1, -1, 1 }, { -1, 1, 1 } };
	bool overlap = true;
	for (int k = 0; k < 13 && overlap; k++)
		overlap = overlap_along(axes[k], begin, end, first);
	return overlap;
}

typedef struct swept_box {
	double low[3], high[3];
} swept_box;

static swept_box *bound(const double *begin, const double *end, const int32_t *vertices, int each, int32_t count)
{
	swept_box *boxes = malloc(((size_t)count + 1) * sizeof *boxes);
	for (int32_t i = 0; i < count; i++) {
		for (int axis = 0; axis < 3; axis++) {
			boxes[i].low[axis] = INFINITY;
			boxes[i].high[axis] = -INFINITY;
			for (int k = 0; k < each; k++) {
				const int64_t at = 3 * (int64_t)(vertices ? vertices[each * i + k] : i) + axis;
				boxes[i].low[axis] = fmin(boxes[i].low[axis], fmin(begin[at], end[at]));
				boxes[i].high[axis] = fmax(boxes[i].high[axis], fmax(begin[at], end[at]));
			}
		}
	}
	return boxes;
}

static bool do_boxes_meet(const swept_box *a, const swept_box *b)
{
	return a->low[0] <= b->high[0] && b->low[0] <= a->high[0] && a->low[1] <= b->high[1] && b->low[1] <= a->high[1] &&
		a->low[2] <= b->high[2] && b->low[2] <= a->high[2];
}

/// Do the bodies of two features meet each other, or themselves?
static bool is_asked(const judged_run *r, int32_t u, int32_t v)
{
	return !r->is_rigid[r->body_of[u]] || !r->is_rigid[r->body_of[v]];
}

/// Judge a pair exactly.
static bool do_meet(judged_run *r, const double *end, cr_swept_kind kind, const int32_t v[4])
{
	double from[4][3], to[4][3];
	bool holds;
	for (int k = 0; k < 4; k++) {
		memcpy(from[k], &r->begin[3 * (int64_t)v[k]], sizeof from[k]);
		memcpy(to[k], &end[3 * (int64_t)v[k]], sizeof to[k]);
	}
	if (!may_meet((const double(*)[3])from, (const double(*)[3])to, kind == CR_SWEPT_VERTEX_FACE ? 1 : 2))
		return false;
	r->judged++;
	return swept_oracle_meets(kind, (const double(*)[3])from, (const double(*)[3])to, 0, &holds);
}

static void judge(judged_run *r, const double *end, cr_swept_kind kind, const int32_t v[4], pair_key key, const pair_key *found,
	int64_t count)
{
	if (!do_meet(r, end, kind, v))
		return;
	r->met++;
	r->missed += bsearch(&key, found, (size_t)count, sizeof key, compare_keys) == NULL;
}

/// Count what the sweep of the motion to end has missed.
static void judge_motion(judged_run *r, const double *end)
{
	const sim_soft_surface *s = &r->surface;
	int64_t count;
	sweep(r, end);
	pair_key *found = list_impacts(r, &count);
	swept_box *vertices = bound(r->begin, end, NULL, 1, s->vertex_count),
			  *faces = bound(r->begin, end, s->triangles, 3, s->triangle_count),
			  *edges = bound(r->begin, end, r->edges->v, 2, r->edge_count);
	for (int32_t i = 0; i < s->vertex_count; i++) {
		for (int32_t k = 0; k < s->triangle_count; k++) {
			const int32_t *t = &s->triangles[3 * k];
			if (!do_boxes_meet(&vertices[i], &faces[k]) || t[0] == i || t[1] == i || t[2] == i || !is_asked(r, i, t[0]))
				continue;
			judge(r, end, CR_SWEPT_VERTEX_FACE, (const int32_t[4]){ i, t[0], t[1], t[2] }, key_of_face(i, k), found, count);
		}
	}
	for (int32_t i = 0; i < r->edge_count; i++) {
		for (int32_t k = i + 1; k < r->edge_count; k++) {
			const int32_t *a = r->edges[i].v, *b = r->edges[k].v;
			if (!do_boxes_meet(&edges[i], &edges[k]) || a[0] == b[0] || a[0] == b[1] || a[1] == b[0] || a[1] == b[1] ||
				!is_asked(r, a[0], b[0]))
				continue;
			judge(r, end, CR_SWEPT_EDGE_EDGE, (const int32_t[4]){ a[0], a[1], b[0], b[1] }, key_of_edges(a, b), found, count);
		}
	}
	free(found);
	free(vertices);
	free(faces);
	free(edges);
}

// ---- Crossings ----

static void corners_of(const judged_run *r, const double *places, int32_t triangle, v3d corners[3])
{
	for (int k = 0; k < 3; k++)
		corners[k] = v3d_from_doubles(places + 3 * (int64_t)r->surface.triangles[3 * triangle + k]);
}

/// All pairs of triangles that cross at the end of the world's last step, within one body or between two of which one deforms.
static int64_t count_crossings(const judged_run *r, const double *end)
{
	const sim_soft_surface *s = &r->surface;
	int64_t count = 0;
	swept_box *boxes = bound(end, end, s->triangles, 3, s->triangle_count);
	for (int32_t i = 0; i < s->triangle_count; i++) {
		for (int32_t k = i + 1; k < s->triangle_count; k++) {
			const int32_t *a = &s->triangles[3 * i], *b = &s->triangles[3 * k];
			const bool own = r->body_of[a[0]] == r->body_of[b[0]];
			bool share = false;
			for (int n = 0; n < 9; n++)
				share = share || a[n / 3] == b[n % 3];
			if (share || !do_boxes_meet(&boxes[i], &boxes[k]) || (!own && !is_asked(r, a[0], b[0])))
				continue;
			v3d p[3], q[3];
			corners_of(r, end, i, p);
			corners_of(r, end, k, q);
			count += cr_triangles_intersect(p, q);
		}
	}
	free(boxes);
	return count;
}

static void judge_crossings(judged_run *r, const double *end)
{
	int32_t found = -1;
	REQUIRE(carom_world_find_crossings(r->world, (carom_body_id){ 0 }, NULL, 0, NULL, &found) == CAROM_SUCCESS);
	const int64_t expected = count_crossings(r, end);
	r->crossing += expected;
	r->lost_crossings += expected != found;
}

// ---- Scenes ----

/// A scene at part of its fineness. In steps from first to last each every-th one is judged.
typedef struct judged_scene {
	const char *name;
	double resolution;
	int first, last, every;
	int copies; // of each grid of bodies along each axis, at most; 0: all
} judged_scene;

static judged_run judge_scene(const judged_scene *scene)
{
	judged_run r = open_run(scene->name, scene->resolution, scene->copies);
	int straight = 0;
	for (int step = 1; step <= scene->last; step++) {
		const bool went = advance(&r);
		if (step < scene->first || (step - scene->first) % (scene->every * TEST_FEWER) != 0)
			continue;
		judge_motion(&r, r.foreseen);
		judge_crossings(&r, r.foreseen);
		const int64_t met = r.met;
		judge_motion(&r, r.surface.places);
		judge_crossings(&r, r.surface.places);
		r.made_meeting += went ? r.met - met : 0;
		straight += went;
	}
	printf(
		"%s: %d triangles, %lld exact judgements, %lld met, %lld missed, %lld crossings, %lld counts differ, %lld on %d ways made\n",
		scene->name, (int)r.surface.triangle_count, (long long)r.judged, (long long)r.met, (long long)r.missed,
		(long long)r.crossing, (long long)r.lost_crossings, (long long)r.made_meeting, straight);
	CHECK_INT(r.missed, 0);
	CHECK_INT(r.lost_crossings, 0);
	CHECK_INT(r.made_meeting, 0);
	return r;
}

static void judge_scenes(const judged_scene *scenes, int count)
{
	if (!swept_oracle_exists())
		test_skip("GMP is missing");
	int64_t met = 0;
	for (int i = 0; i < count; i++) {
		judged_run r = judge_scene(&scenes[i]);
		met += r.met;
		close_run(&r);
	}
	CHECK(met > 100);
}

TEST(scene_impacts, of_cloth_on_one_body)
{
	static const judged_scene scenes[] = { { "cloth_ball", 0.12, 10, 60, 8, 0 }, { "cloth_capsule", 0.6, 20, 80, 8, 0 },
		{ "cloth_slope", 0.6, 20, 60, 10, 0 }, { "trampoline", 0.4, 40, 110, 14, 0 }, { "twisted_tube", 0.5, 20, 80, 10, 0 },
		{ "skirt", 0.15, 5, 50, 8, 0 }, { "belt", 0.5, 5, 40, 8, 0 } };
	judge_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

TEST(scene_impacts, of_layers_and_several_bodies)
{
	static const judged_scene scenes[] = { { "funnel", 0.4, 20, 80, 10, 0 }, { "letter_fold", 0.5, 60, 200, 25, 0 },
		{ "reef_knot", 0.4, 40, 120, 16, 0 }, { "table_cloth", 0.4, 20, 80, 12, 0 }, { "triangles", 0.4, 5, 40, 8, 0 },
		{ "cloth_crossed", 0.3, 1, 20, 4, 0 } };
	judge_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

TEST(scene_impacts, of_scenes_with_rigid_bodies_and_grains)
{
	static const judged_scene scenes[] = { { "table_cloth_rigid", 0.4, 20, 80, 12, 0 }, { "ball_on_sheet", 0.4, 20, 90, 10, 0 },
		{ "sack", 1, 10, 40, 10, 0 }, { "stage", 0.6, 10, 60, 10, 0 }, { "together", 0.3, 30, 80, 10, 0 } };
	judge_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}

TEST(scene_impacts, of_soft_bodies)
{
	static const judged_scene scenes[] = { { "cloth_volumes", 0.05, 40, 60, 20, 0 }, { "tori_soft", 0.2, 35, 60, 25, 2 },
		{ "bunnies_soft", 0.2, 35, 60, 25, 2 }, { "spheres_cones", 1, 55, 105, 25, 2 } };
	judge_scenes(scenes, sizeof scenes / sizeof scenes[0]);
}
