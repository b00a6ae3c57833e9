/// Impacts of deforming bodies with meshes that turn: on the true arcs of their vertices, beside very short straight steps.
#include "carom/carom.h"
#include "fixture.h"
#include "geom/feature_distance.h"
#include "math/transform.h"
#include "math/trig.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A sheet whose vertices move on straight lines, and a box that moves and turns, as a body or as a part of one.
typedef struct arc_scene {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *box;
	carom_body_id sheet_id, box_id;
	carom_pose local;    // of the part in its body
	double *begin, *end; // of the sheet
	int32_t count;
	carom_pose from;
	v3d travel, axis;
	double angle;
} arc_scene;

static carom_strided doubles(const double *places) { return (carom_strided){ places, 0, CAROM_FLOAT64 }; }

static carom_pose box_pose(const arc_scene *s, double t)
{
	carom_pose pose = { v3d_mad(s->from.position, t, s->travel), s->from.orientation };
	const double half = 0.5 * s->angle * t;
	const carom_quat turn = { sin(half) * s->axis.x, sin(half) * s->axis.y, sin(half) * s->axis.z, cos(half) };
	pose.orientation = quat_mul(turn, pose.orientation);
	return fixture_compose(pose, s->local);
}

static void open_arcs(arc_scene *s, int threads, carom_simd simd, double separation, uint64_t *seed, bool part)
{
	*s = (arc_scene){ 0 };
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = threads;
	context_def.simd = simd;
	REQUIRE(carom_create_context(&context_def, &s->context) == CAROM_SUCCESS);
	carom_world_def def = carom_default_world_def();
	def.sweep.min_separation = separation;
	s->world = fixture_world(s->context, &def);
	s->sheet = fixture_sheet_mesh(s->context, 4, 2);
	s->box = fixture_box_mesh(s->context, 0.5, 0.3, 0.2);
	s->local = part ? (carom_pose){ { 0.4, 0.1, -0.3 }, fixture_turn((v3d){ 1, 2, 3 }, 0.7) } : carom_pose_identity();
	s->from = fixture_random_pose(seed, 0.4);
	s->from.position.z += 0.6;
	s->travel =
		(v3d){ test_random_double(seed, -0.3, 0.3), test_random_double(seed, -0.3, 0.3), test_random_double(seed, -1.4, -0.4) };
	s->axis = v3d_scale((v3d){ 0.36, 0.48, 0.8 }, 1);
	s->angle = test_random_double(seed, 0, 2.5);

	carom_body_def body = carom_default_body_def();
	body.kind = CAROM_CLOTH;
	body.shape = fixture_of_mesh(s->sheet);
	REQUIRE(carom_world_add_body(s->world, &body, &s->sheet_id) == CAROM_SUCCESS);
	body = carom_default_body_def();
	body.kind = CAROM_KINEMATIC;
	body.pose = s->from;
	const carom_part piece = { fixture_of_mesh(s->box), s->local, 0 };
	if (part) {
		body.parts = &piece;
		body.part_count = 1;
	} else {
		body.shape = fixture_of_mesh(s->box);
	}
	REQUIRE(carom_world_add_body(s->world, &body, &s->box_id) == CAROM_SUCCESS);

	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(s->world, s->sheet_id, &view) == CAROM_SUCCESS);
	s->count = view.count;
	s->begin = malloc(6 * (size_t)s->count * sizeof *s->begin);
	REQUIRE(s->begin != NULL);
	s->end = s->begin + 3 * s->count;
	for (int32_t i = 0; i < 3 * s->count; i++) {
		s->begin[i] = view.data[i] + test_random_double(seed, -0.05, 0.05);
		s->end[i] = s->begin[i] + test_random_double(seed, -0.1, 0.1);
	}
}

static void close_arcs(arc_scene *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->sheet);
	carom_release_mesh(s->box);
	carom_destroy_context(s->context);
	free(s->begin);
}

static carom_impact_view run_arcs(arc_scene *s)
{
	const carom_strided begin = doubles(s->begin), end = doubles(s->end);
	const carom_pose local = s->local;
	s->local = carom_pose_identity();
	const carom_motion motion = { box_pose(s, 0), box_pose(s, 1) };
	s->local = local;
	REQUIRE(carom_world_set_vertices(s->world, s->sheet_id, &begin, &end) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_motions(s->world, 1, &s->box_id, &motion) == CAROM_SUCCESS);
	fixture_step(s->world);
	return carom_world_impacts(s->world);
}

// ---- Where everything is ----

static void box_places(const arc_scene *s, double t, double *places)
{
	const carom_pose pose = box_pose(s, t);
	const carom_mesh_report *report = carom_mesh_get_report(s->box);
	for (int32_t i = 0; i < report->vertex_count; i++) {
		const float *v = &carom_mesh_get_vertices(s->box)[3 * i];
		const carom_vec3 p = carom_transform_point(pose, (carom_vec3){ v[0], v[1], v[2] });
		places[3 * i] = p.x;
		places[3 * i + 1] = p.y;
		places[3 * i + 2] = p.z;
	}
}

static void sheet_places(const arc_scene *s, double t, double *places)
{
	for (int32_t i = 0; i < 3 * s->count; i++)
		places[i] = s->begin[i] + t * (s->end[i] - s->begin[i]);
}

/// Which of the four vertices of an impact are the sheet's, which is body 1.
static int first_of(const carom_impact *impact) { return impact->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2; }

static double distance_at(const arc_scene *s, const carom_impact *impact, double t)
{
	double sheet[3 * 64], box[3 * 64];
	REQUIRE(s->count <= 64);
	sheet_places(s, t, sheet);
	box_places(s, t, box);
	v3d v[4];
	for (int k = 0; k < 4; k++) {
		const carom_body_id id = k < first_of(impact) ? impact->body_a : impact->body_b;
		const double *p = fixture_same_id(id, s->sheet_id) ? &sheet[3 * impact->vertices[k]] : &box[3 * impact->vertices[k]];
		v[k] = (v3d){ p[0], p[1], p[2] };
	}
	cr_near near;
	cr_near_of(impact->kind == CAROM_SWEEP_VERTEX_FACE ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE, v, &near);
	return sqrt(near.distance2);
}

// ---- Very short straight steps ----

enum { STEPS = 300 };

static carom_sweep *make_straight(const arc_scene *s)
{
	carom_sweep_def def = carom_default_sweep_def();
	carom_sweep *sweep;
	double box[3 * 64];
	box_places(s, 0, box);
	REQUIRE(carom_create_sweep(s->context, &def, &sweep) == CAROM_SUCCESS);
	for (int i = 0; i < 2; i++) {
		const carom_mesh *mesh = i ? s->box : s->sheet;
		carom_sweep_mesh_def mesh_def = carom_default_sweep_mesh_def();
		int32_t number;
		mesh_def.vertex_count = carom_mesh_get_report(mesh)->vertex_count;
		mesh_def.triangles = carom_mesh_get_triangles(mesh);
		mesh_def.triangle_count = carom_mesh_get_report(mesh)->triangle_count;
		mesh_def.vertices = doubles(i ? box : s->begin);
		mesh_def.self = i == 0;
		mesh_def.is_rigid = i == 1;
		REQUIRE(carom_sweep_add_mesh(sweep, &mesh_def, &number) == CAROM_SUCCESS);
	}
	return sweep;
}

static const carom_impact *find_impact(const carom_impact_view *view, const carom_sweep_hit *hit)
{
	for (int64_t i = 0; i < view->count; i++) {
		const carom_impact *impact = &view->data[i];
		if (impact->kind == hit->kind && impact->triangle == hit->triangle &&
			(int32_t)impact->body_a.index1 == hit->mesh_a + 1 && (int32_t)impact->body_b.index1 == hit->mesh_b + 1 &&
			memcmp(impact->vertices, hit->vertices, sizeof hit->vertices) == 0)
			return impact;
	}
	return NULL;
}

/// Nothing that short straight steps find is missed, nor told later. Returns how many they found.
static int64_t check_none_missed(const arc_scene *s, carom_impact_view view)
{
	double sheet[3 * 64], box[3 * 64];
	int64_t found = 0;
	carom_sweep *sweep = make_straight(s);
	for (int step = 0; step < STEPS; step++) {
		const double t = (double)(step + 1) / STEPS;
		sheet_places(s, t, sheet);
		box_places(s, t, box);
		const carom_strided places[2] = { doubles(sheet), doubles(box) };
		for (int mesh = 0; mesh < 2; mesh++)
			REQUIRE(carom_sweep_move_mesh(sweep, mesh, &places[mesh]) == CAROM_SUCCESS);
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		for (int64_t i = 0; i < hits.count; i++) {
			const carom_impact *impact = find_impact(&view, &hits.data[i]);
			if (CHECK(impact != NULL))
				CHECK(impact->time <= (step + hits.data[i].time) / STEPS + 1e-3);
		}
		found += hits.count;
	}
	carom_destroy_sweep(sweep);
	return found;
}

/// At its time an impact is as near as it may be told, and never nearer before.
static void check_impact(const arc_scene *s, const carom_impact *impact, double separation)
{
	CHECK(impact->status == CAROM_SWEEP_IMPACT || impact->status == CAROM_SWEEP_TOUCHING);
	CHECK(distance_at(s, impact, impact->time) <= separation + 2e-6);
	for (int i = 0; i < 20; i++) {
		const double before = impact->time * i / 20;
		CHECK(impact->status == CAROM_SWEEP_TOUCHING || distance_at(s, impact, before) > separation - 1e-12);
	}
}

static void run_rounds(bool part)
{
	uint64_t seed = part ? 5 : 3;
	int64_t found = 0, told = 0;
	const double separation = 1e-4; // more than the bulge of a short step
	for (int round = 0; round < 24 / TEST_FEWER; round++) {
		arc_scene s;
		open_arcs(&s, 1, CAROM_SIMD_AUTO, separation, &seed, part);
		const carom_impact_view view = run_arcs(&s);
		for (int64_t i = 0; i < view.count; i++)
			check_impact(&s, &view.data[i], separation);
		told += view.count;
		found += check_none_missed(&s, view);
		close_arcs(&s);
	}
	CHECK(told > 500 / TEST_FEWER && found > 500 / TEST_FEWER);
}

TEST(arcs, nothing_is_missed_and_each_time_is_true) { run_rounds(false); }

TEST(arcs, parts_of_a_body_turn_with_it) { run_rounds(true); }

TEST(arcs, threads_and_instruction_sets_do_not_show_determinism)
{
	for (int way = 0; way < 4; way++) {
		arc_scene s, t;
		uint64_t seed = 11, again = 11;
		static const int threads[4] = { 2, 4, 1, 1 };
		static const carom_simd simd[4] = { CAROM_SIMD_AUTO, CAROM_SIMD_AUTO, CAROM_SIMD_SCALAR, CAROM_SIMD_SSE2 };
		if (simd[way] != CAROM_SIMD_AUTO && !fixture_kernels(simd[way]))
			continue;
		open_arcs(&s, 1, CAROM_SIMD_AUTO, 0, &seed, false);
		open_arcs(&t, threads[way], simd[way], 0, &again, false);
		const carom_impact_view a = run_arcs(&s), b = run_arcs(&t);
		CHECK(a.count > 10);
		REQUIRE(CHECK_INT(a.count, b.count));
		CHECK(carom_world_hash(s.world) == carom_world_hash(t.world)); // of all members of all impacts
		close_arcs(&s);
		close_arcs(&t);
	}
}

// ---- Known answers ----

/// Four corners of a sheet that rests, and a box at a place in the frame of a body that turns about z through its origin.
typedef struct turning_box {
	carom_context *context;
	carom_world *world;
	carom_mesh *box, *sheet;
} turning_box;

static void turn_box(turning_box *t, const double half_extents[3], carom_vec3 place, const double corners[4][3], double angle)
{
	t->context = fixture_context(1);
	t->world = fixture_world(t->context, NULL);
	t->box = fixture_box_mesh(t->context, half_extents[0], half_extents[1], half_extents[2]);
	t->sheet = fixture_sheet_mesh(t->context, 1, 1);
	carom_body_def def = carom_default_body_def();
	carom_body_id cloth, body;
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(t->sheet);
	REQUIRE(carom_world_add_body(t->world, &def, &cloth) == CAROM_SUCCESS);
	const carom_part part = { fixture_of_mesh(t->box), { place, { 0, 0, 0, 1 } }, 0 };
	def = carom_default_body_def();
	def.kind = CAROM_KINEMATIC;
	def.parts = &part;
	def.part_count = 1;
	REQUIRE(carom_world_add_body(t->world, &def, &body) == CAROM_SUCCESS);
	const carom_strided places = doubles(corners[0]);
	REQUIRE(carom_world_set_vertices(t->world, cloth, &places, &places) == CAROM_SUCCESS);
	const carom_motion motion = { carom_pose_identity(), { { 0, 0, 0 }, fixture_turn((v3d){ 0, 0, 1 }, angle) } };
	REQUIRE(carom_world_set_motions(t->world, 1, &body, &motion) == CAROM_SUCCESS);
	fixture_step(t->world);
}

static void close_turning_box(turning_box *t)
{
	carom_destroy_world(t->world);
	carom_release_mesh(t->box);
	carom_release_mesh(t->sheet);
	carom_destroy_context(t->context);
}

/// A bar turns by a quarter, and its end sweeps the circle of radius 1. It passes a corner of a sheet whose other corners
/// are far away. The straight line from the begin to the end of the turn leaves the corner out.
TEST(arcs, a_turning_bar_meets_what_its_chord_leaves_out)
{
	// One corner at 0.95 of the radius, at 45 degrees; the others far out.
	const double c = 0.95 * sqrt(0.5);
	const double corners[4][3] = { { c, c, 0 }, { 9, 9, -1 }, { 9, 9, 1 }, { 12, 9, 0 } };
	turning_box t;
	turn_box(&t, (const double[3]){ 1, 0.01, 0.1 }, (carom_vec3){ 0, 0, 0 }, corners, 1.5707963267948966);
	const carom_impact *first = carom_world_earliest_impact(t.world);
	REQUIRE(first != NULL);
	// The face of the bar is at y = 0.01: it reaches the corner at asin(0.01 / 0.95) before 45 degrees.
	const double time = (0.7853981633974483 - asin(0.01 / 0.95)) / 1.5707963267948966;
	CHECK(first->time <= time && first->time > time - 3e-6);
	close_turning_box(&t);
}

/// A box goes from (1, 0) over (0, 1) to nearly (-1, 0). The straight line between its ends meets the sheet, which lies
/// within the arc; the box does not.
TEST(arcs, chords_through_a_body_are_no_impacts)
{
	const double corners[4][3] = { { 0, 0.3, 0.05 }, { 0.1, 0.5, 0 }, { -0.1, 0.5, 0 }, { 0, 0.6, 0.1 } };
	turning_box t;
	turn_box(&t, (const double[3]){ 0.1, 0.1, 0.1 }, (carom_vec3){ 1, 0, 0 }, corners, 3);
	CHECK_INT(carom_world_impacts(t.world).count, 0);
	close_turning_box(&t);
}

/// A body that rests after a turn has no arc any more.
TEST(arcs, a_turn_is_over_with_its_step)
{
	uint64_t seed = 11;
	arc_scene s;
	open_arcs(&s, 1, CAROM_SIMD_AUTO, 0, &seed, false);
	CHECK(run_arcs(&s).count > 0);
	const carom_strided end = doubles(s.end);
	REQUIRE(carom_world_set_vertices(s.world, s.sheet_id, &end, &end) == CAROM_SUCCESS);
	fixture_step(s.world);
	const carom_impact_view view = carom_world_impacts(s.world);
	for (int64_t i = 0; i < view.count; i++)
		CHECK_INT(view.data[i].status, CAROM_SWEEP_TOUCHING);
	close_arcs(&s);
}
