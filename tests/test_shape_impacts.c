/// Impacts of deforming bodies with shapes that are no meshes: against fine steps in time and points all over the surface, for every
/// shape; what a user may ask for and get wrong; failed allocations, recordings, snapshots, threads.
#include "fixture.h"

#include "carom/collide.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "world/continuous.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400, SHAPES = 9, FINE_STEPS = 32, CELLS = 5 };

static const double TOLERANCE = 1e-6;

/// A sheet that moves in a world with one shape.
typedef struct passage {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *hull;
	carom_shape shape;
	carom_body_id cloth, other;
	double begin[3 * MOST], end[3 * MOST];
	carom_motion motion; // of the shape
} passage;

static carom_shape shape_of_kind(int kind, const carom_mesh *hull)
{
	carom_shape rounded = fixture_box(0.5, 0.3, 0.4);
	rounded.rounding = 0.1;
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.5), fixture_box(0.6, 0.5, 0.4), fixture_capsule(0.2, 0.5),
		fixture_cylinder(0.4, 0.4), fixture_cone(0.5, 0.5), fixture_ellipsoid(0.6, 0.4, 0.3), rounded, fixture_hull(hull),
		{ .type = CAROM_PLANE } };
	return shapes[kind];
}

static void open_passage(passage *p, int threads, int kind, const carom_world_def *def)
{
	static const float points[18] = { 0.6f, 0, 0, -0.6f, 0.1f, 0, 0, 0.6f, 0, 0, -0.5f, 0.2f, 0, 0, 0.6f, 0.1f, 0, -0.6f };
	*p = (passage){ .context = fixture_context(threads) };
	p->sheet = fixture_sheet_mesh(p->context, CELLS, 2);
	p->hull = fixture_hull_mesh(p->context, points, 6);
	p->shape = shape_of_kind(kind, p->hull);
	p->world = fixture_world(p->context, def);
	p->cloth = fixture_add(p->world, fixture_of_mesh(p->sheet), fixture_at(0, 0, 0), CAROM_CLOTH);
	p->other = fixture_add(p->world, p->shape, fixture_at(0, 0, -9), CAROM_KINEMATIC);
}

static void close_passage(passage *p)
{
	carom_destroy_world(p->world);
	carom_release_mesh(p->sheet);
	carom_release_mesh(p->hull);
	carom_destroy_context(p->context);
}

static void random_motion(passage *p, uint64_t *seed)
{
	const double heights[2] = { test_random_double(seed, 0.8, 1.4), test_random_double(seed, -1.4, 1.4) };
	for (int32_t i = 0; i < p->sheet->topology.vertex_count; i++) {
		const float *at = &p->sheet->topology.vertices[3 * (int64_t)i];
		for (int k = 0; k < 3; k++) {
			p->begin[3 * i + k] = at[k] + test_random_double(seed, -0.1, 0.1) + (k == 2 ? heights[0] : 0);
			p->end[3 * i + k] = at[k] + test_random_double(seed, -0.3, 0.3) + (k == 2 ? heights[1] : 0);
		}
	}
	p->motion.begin = fixture_random_pose(seed, 0.3);
	p->motion.end = fixture_random_pose(seed, 0.5);
}

static void run_motion(passage *p)
{
	const carom_strided begin = { p->begin, 0, CAROM_FLOAT64 }, end = { p->end, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(p->world, p->cloth, &begin, &end) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_motions(p->world, 1, &p->other, &p->motion) == CAROM_SUCCESS);
	fixture_step(p->world);
}

// ---- The oracle ----

/// The signed distance of a point from the shape at a time.
static double distance_at(const passage *p, v3d point, double t)
{
	const cr_motion motion = cr_motion_between(&p->motion.begin, &p->motion.end);
	const carom_pose pose = cr_motion_at(&motion, t);
	const m3d rotation = m3d_from_quat(pose.orientation);
	const v3d local = m3d_tmul(&rotation, v3d_sub(point, pose.position));
	if (p->shape.type == CAROM_PLANE)
		return local.z;
	const cr_convex convex = cr_convex_of(&p->shape);
	v3d nearest, normal;
	return cr_convex_distance(&convex, local, &nearest, &normal);
}

static v3d vertex_at(const passage *p, int32_t vertex, double t)
{
	const double *b = &p->begin[3 * vertex], *e = &p->end[3 * vertex];
	return (v3d){ b[0] + t * (e[0] - b[0]), b[1] + t * (e[1] - b[1]), b[2] + t * (e[2] - b[2]) };
}

static v3d mean_of(const passage *p, const int32_t *vertices, const double *weights, int count, double t)
{
	v3d sum = { 0, 0, 0 };
	for (int k = 0; k < count; k++)
		sum = v3d_mad(sum, weights[k], vertex_at(p, vertices[k], t));
	return sum;
}

/// The earliest impact at a feature all of whose vertices are among some.
static double earliest_among(const carom_shape_impact_view *view, const int32_t *vertices, int count)
{
	double earliest = INFINITY;
	for (int64_t i = 0; i < view->count; i++) {
		bool within = true;
		for (int k = 0; k < 3 && view->data[i].vertices[k] >= 0; k++) {
			bool found = false;
			for (int j = 0; j < count; j++)
				found = found || vertices[j] == view->data[i].vertices[k];
			within = within && found;
		}
		earliest = within && view->data[i].time < earliest ? view->data[i].time : earliest;
	}
	return earliest;
}

/// The first of the fine steps in which a point of a triangle, or a vertex alone, is in the shape; infinite: none.
static double first_inside(const passage *p, const int32_t *vertices, int count)
{
	enum { SIDE = 4 };
	for (int step = 0; step <= FINE_STEPS; step++) {
		const double t = (double)step / FINE_STEPS;
		for (int i = 0; i <= (count == 3 ? SIDE : 0); i++) {
			for (int j = 0; j <= (count == 3 ? SIDE - i : 0); j++) {
				const double weights[3] = { 1 - (double)(i + j) / SIDE, (double)i / SIDE, (double)j / SIDE };
				if (distance_at(p, mean_of(p, vertices, weights, count, t), t) < -1e-7)
					return t;
			}
		}
	}
	return INFINITY;
}

/// What each impact says of itself holds.
static void check_impact(const passage *p, const carom_shape_impact *m, double separation)
{
	const int count = m->vertices[1] < 0 ? 1 : m->vertices[2] < 0 ? 2 : 3;
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		CHECK(k < count ? m->weight[k] > 0 : m->weight[k] == 0);
		sum += m->weight[k];
	}
	CHECK_NEAR(sum, 1, 1e-9);
	CHECK((m->triangle >= 0) == (count == 3));
	CHECK(count != 2 || m->vertices[0] < m->vertices[1]);
	CHECK(fixture_same_id(m->body_a, p->cloth) && fixture_same_id(m->body_b, p->other));
	const v3d point = mean_of(p, m->vertices, m->weight, count, m->time);
	CHECK_NEAR(v3d_length(m->normal), 1, 1e-9);
	if (m->status == CAROM_TOI_UNDECIDED)
		return;
	// A way out of an overlap is that of the whole feature.
	const double distance = distance_at(p, point, m->time);
	CHECK(m->distance >= 0 ? fabs(distance - m->distance) < 2e-5 : m->distance < distance + 2e-5);
	CHECK_NEAR(v3d_length(v3d_sub(v3d_mad(m->point, m->distance, m->normal), point)), 0, 1e-5);
	CHECK(m->distance <= separation + 2 * TOLERANCE);
	CHECK(m->status != CAROM_TOI_IMPACT || m->distance > separation - 1e-5);
	CHECK(m->status != CAROM_TOI_TOUCHING || m->time == 0);
}

static void check_order(const carom_shape_impact_view *view)
{
	for (int64_t i = 1; i < view->count; i++) {
		const carom_shape_impact *a = &view->data[i - 1], *b = &view->data[i];
		const int rank_a = a->vertices[1] < 0 ? 0
			: a->triangle < 0                 ? 1
											  : 2,
				  rank_b = b->vertices[1] < 0 ? 0
			: b->triangle < 0                 ? 1
											  : 2;
		CHECK(rank_a <= rank_b);
		if (rank_a == rank_b && rank_a == 2)
			CHECK(a->triangle < b->triangle);
		else if (rank_a == rank_b)
			CHECK(a->vertices[0] < b->vertices[0] || (a->vertices[0] == b->vertices[0] && a->vertices[1] < b->vertices[1]));
	}
}

/// No vertex or triangle that comes into the shape is without an impact as early. Returns how many came.
static int check_all(const passage *p, double separation)
{
	const carom_shape_impact_view view = carom_world_shape_impacts(p->world);
	const cr_topology *t = &p->sheet->topology;
	int came = 0;
	for (int64_t i = 0; i < view.count; i++)
		check_impact(p, &view.data[i], separation);
	check_order(&view);
	for (int32_t i = 0; i < t->vertex_count; i++) {
		const double first = first_inside(p, &i, 1);
		CHECK(!(earliest_among(&view, &i, 1) > first));
		came += isfinite(first);
	}
	for (int32_t i = 0; i < t->triangle_count; i++)
		CHECK(!(earliest_among(&view, &t->triangles[3 * i], 3) > first_inside(p, &t->triangles[3 * i], 3)));
	const carom_shape_impact *earliest = carom_world_earliest_shape_impact(p->world);
	for (int64_t i = 0; i < view.count; i++)
		CHECK(earliest->time <= view.data[i].time);
	CHECK((earliest == NULL) == (view.count == 0));
	CHECK_INT(carom_world_stats(p->world).shape_impacts, view.count);
	return came;
}

TEST(shape_impacts, none_is_missed_with_any_shape)
{
	static passage p;
	for (int kind = 0; kind < SHAPES; kind++) {
		uint64_t seed = 7 + (uint64_t)kind;
		int came = 0;
		open_passage(&p, 1, kind, NULL);
		for (int round = 0; round < (TEST_FEWER > 1 ? 4 : 8); round++) {
			random_motion(&p, &seed);
			run_motion(&p);
			came += check_all(&p, 0);
		}
		CHECK(came > 2);
		close_passage(&p);
	}
}

TEST(shape_impacts, come_at_the_distance_that_is_asked_for)
{
	static passage p;
	for (int kind = 0; kind < SHAPES; kind++) {
		carom_world_def def = carom_default_world_def();
		def.sweep.min_separation = 0.05;
		uint64_t seed = 3 + (uint64_t)kind;
		open_passage(&p, 1, kind, &def);
		int64_t found = 0;
		for (int round = 0; round < 3; round++) {
			random_motion(&p, &seed);
			run_motion(&p);
			check_all(&p, 0.05);
			found += carom_world_shape_impacts(p.world).count;
		}
		CHECK(found > 0);
		close_passage(&p);
	}
}

// ---- By hand ----

/// A triangle of a size about the origin falls from a height to another one.
static void drop_triangle(passage *p, double size, double from, double to)
{
	static const int32_t triangle[3] = { 0, 1, 2 };
	const float corners[9] = { (float)size, 0, 0, (float)-size, (float)size, 0, (float)-size, (float)-size, 0 };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 3;
	def.triangles = triangle;
	def.triangle_count = 1;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(p->context, &def, NULL, &mesh) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_mesh(p->world, p->cloth, mesh, (int32_t[3]){ -1, -1, -1 }, NULL) == CAROM_SUCCESS);
	carom_release_mesh(mesh);
	for (int i = 0; i < 9; i++) {
		p->begin[i] = i % 3 == 2 ? from : (double)corners[i];
		p->end[i] = i % 3 == 2 ? to : (double)corners[i];
	}
	p->motion = (carom_motion){ fixture_at(0, 0, 0), fixture_at(0, 0, 0) };
}

TEST(shape_impacts, a_face_meets_a_ball_that_no_vertex_meets)
{
	static passage p;
	open_passage(&p, 1, 0, NULL);
	drop_triangle(&p, 50, 2, -3);
	run_motion(&p);
	const carom_shape_impact_view view = carom_world_shape_impacts(p.world);
	REQUIRE(view.count == 1);
	CHECK_INT(view.data[0].triangle, 0);
	CHECK_INT(view.data[0].status, CAROM_TOI_IMPACT);
	CHECK_NEAR(view.data[0].time, 0.3, 1e-6);
	CHECK(view.data[0].time < 0.3);
	CHECK_NEAR(view.data[0].normal.z, 1, 1e-9);
	CHECK_NEAR(view.data[0].point.z, 0.5, 1e-9);
	CHECK_NEAR(view.data[0].weight[0], 0.5, 1e-6);
	// At rest in the ball it touches from the beginning.
	memcpy(p.begin, p.end, sizeof p.begin);
	for (int i = 2; i < 9; i += 3)
		p.begin[i] = p.end[i] = 0.2;
	run_motion(&p);
	REQUIRE(carom_world_shape_impacts(p.world).count == 1);
	CHECK_INT(carom_world_shape_impacts(p.world).data[0].status, CAROM_TOI_TOUCHING);
	CHECK_NEAR(carom_world_shape_impacts(p.world).data[0].distance, -0.3, 1e-6);
	close_passage(&p);
}

/// The triangle has no area where it ends, so a tree of that moment does not hold it.
TEST(shape_impacts, a_triangle_that_collapses_is_seen)
{
	static passage p;
	open_passage(&p, 1, 0, NULL);
	drop_triangle(&p, 50, 2, -3);
	for (int i = 0; i < 9; i++)
		p.end[i] = i % 3 == 2 ? -3 : p.end[i % 3];
	run_motion(&p);
	CHECK(carom_world_shape_impacts(p.world).count > 0);
	close_passage(&p);
}

/// A shape that turns half round moves its corner on an arc: a straight line would pass by.
TEST(shape_impacts, rigid_bodies_move_on_arcs)
{
	static passage p;
	open_passage(&p, 1, 1, NULL);
	drop_triangle(&p, 0.01, 0.55, 0.55);
	for (int i = 0; i < 9; i += 3) {
		p.begin[i] += 0.15;
		p.end[i] += 0.15;
	}
	// Half a turn of the box about y: its corners at x = 0.6, z = 0.4 pass z = 0.72, and its sides rest at 0.4 at both ends.
	p.motion = (carom_motion){ fixture_at(0, 0, 0), { { 0, 0, 0 }, fixture_turn((v3d){ 0, 1, 0 }, 3) } };
	run_motion(&p);
	const carom_shape_impact_view view = carom_world_shape_impacts(p.world);
	CHECK(view.count >= 3); // the vertices
	for (int64_t i = 0; i < view.count; i++)
		check_impact(&p, &view.data[i], 0);
	close_passage(&p);
}

static int64_t count_with(passage *p, const carom_body_def *other, bool asked)
{
	carom_body_def def = carom_default_body_def();
	CHECK(def.shape_impacts);
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(p->sheet);
	def.shape_impacts = asked;
	REQUIRE(carom_world_remove_body(p->world, p->cloth) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(p->world, p->other) == CAROM_SUCCESS);
	REQUIRE(carom_world_add_body(p->world, &def, &p->cloth) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_body_def(p->world, p->cloth, &def) == CAROM_SUCCESS);
	CHECK(def.shape_impacts == asked);
	REQUIRE(carom_world_add_body(p->world, other, &p->other) == CAROM_SUCCESS);
	const carom_strided begin = { p->begin, 0, CAROM_FLOAT64 }, end = { p->end, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(p->world, p->cloth, &begin, &end) == CAROM_SUCCESS);
	fixture_step(p->world);
	return carom_world_shape_impacts(p->world).count;
}

TEST(shape_impacts, obey_filters_flags_and_sensors)
{
	static passage p;
	uint64_t seed = 5;
	open_passage(&p, 1, 0, NULL);
	random_motion(&p, &seed);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(0.9);
	def.kind = CAROM_STATIC;
	CHECK(count_with(&p, &def, true) > 0);
	CHECK_INT(count_with(&p, &def, false), 0);
	def.mask = 2;
	CHECK_INT(count_with(&p, &def, true), 0);
	def.mask = 1;
	def.contacts = false;
	CHECK(count_with(&p, &def, true) > 0); // impacts are no contacts
	def.sensor = true;
	def.contacts = true;
	CHECK_INT(count_with(&p, &def, true), 0);
	close_passage(&p);
}

static bool refuse_all(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)a;
	(void)b;
	(void)data_a;
	(void)data_b;
	(*(atomic_int *)user)++;
	return false;
}

TEST(shape_impacts, ask_the_filter_of_the_user)
{
	static passage p;
	atomic_int asked = 0;
	uint64_t seed = 5;
	carom_world_def def = carom_default_world_def();
	def.pair_filter = refuse_all;
	def.filter_user = &asked;
	open_passage(&p, 1, 0, &def);
	random_motion(&p, &seed);
	run_motion(&p);
	CHECK_INT(carom_world_shape_impacts(p.world).count, 0);
	CHECK(asked > 0);
	close_passage(&p);
}

// ---- Many bodies ----

/// Sheets of cloth over a field of shapes, of bodies with parts too.
static void put_cloths(carom_world *world, void *mesh)
{
	uint64_t seed = 2;
	for (int i = 0; i < 3; i++) {
		const carom_body_id id =
			fixture_add(world, fixture_of_mesh(mesh), fixture_at(2.2 * i, 0, 1), i == 1 ? CAROM_DEFORMABLE : CAROM_CLOTH);
		static double end[3 * MOST];
		const cr_topology *t = &((const carom_mesh *)mesh)->topology;
		for (int k = 0; k < 3 * t->vertex_count; k++)
			end[k] = t->vertices[k] + test_random_double(&seed, -0.2, 0.2) + (k % 3 == 0 ? 2.2 * i : 0) - (k % 3 == 2);
		const carom_strided to = { end, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, id, NULL, &to) == CAROM_SUCCESS);
	}
	for (int i = 0; i < 8; i++)
		fixture_add(world, shape_of_kind(i == 7 ? 8 : i % 7, NULL), fixture_at(i, 0.2 * i, i == 7 ? -1.2 : 0), CAROM_STATIC);
	carom_part parts[2] = { { .shape = fixture_sphere(0.3), .pose = fixture_at(0, 0, 0) },
		{ .shape = fixture_box(0.2, 0.2, 0.2), .pose = fixture_at(1, 0, 0) } };
	carom_body_def def = carom_default_body_def();
	def.parts = parts;
	def.part_count = 2;
	def.pose = fixture_at(0.5, -0.5, 0);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
}

static uint64_t hash_with(int threads, carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	def.simd = simd;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 0;
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.9, 14);
	carom_world *world = fixture_world(context, NULL);
	put_cloths(world, mesh);
	fixture_step(world);
	CHECK(carom_world_shape_impacts(world).count > 20);
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	return hash;
}

TEST(shape_impacts, are_found_alike_by_any_number_of_threads_and_instruction_set)
{
	const uint64_t hash = hash_with(1, CAROM_SIMD_AUTO);
	CHECK(hash_with(3, CAROM_SIMD_AUTO) == hash);
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		const uint64_t other = fixture_kernels(fixture_all_simd[i]) ? hash_with(2, fixture_all_simd[i]) : hash;
		CHECK(other == hash);
	}
}

TEST(shape_impacts, name_the_parts_of_bodies)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.9, 14);
	carom_world *world = fixture_world(context, NULL);
	put_cloths(world, mesh);
	fixture_step(world);
	const carom_shape_impact_view view = carom_world_shape_impacts(world);
	bool second = false;
	for (int64_t i = 0; i < view.count; i++) {
		second = second || view.data[i].shape_b == 1;
		CHECK(i == 0 || view.data[i - 1].body_a.index1 <= view.data[i].body_a.index1);
	}
	CHECK(second);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(shape_impacts, fail_without_memory_and_go_on)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.9, 4);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, put_cloths, mesh, 6) > 10);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

/// A sheet that swings over a box, recorded and taken back to a snapshot.
TEST(shape_impacts, are_recorded_and_come_back_with_snapshots)
{
	static passage p;
	fixture_tape tape = { 0 };
	uint64_t hashes[2][4];
	carom_snapshot *snapshot;
	open_passage(&p, 1, 1, NULL);
	fixture_step(p.world);
	REQUIRE(carom_create_snapshot(p.world, &snapshot) == CAROM_SUCCESS);
	for (int turn = 0; turn < 2; turn++) {
		uint64_t seed = 9;
		if (turn == 0)
			REQUIRE(carom_world_save(p.world, snapshot) == CAROM_SUCCESS);
		else
			REQUIRE(carom_world_restore(p.world, snapshot) == CAROM_SUCCESS);
		if (turn == 1)
			REQUIRE(carom_world_record(p.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		for (int step = 0; step < 4; step++) {
			random_motion(&p, &seed);
			run_motion(&p);
			hashes[turn][step] = carom_world_hash(p.world);
			CHECK(carom_world_shape_impacts(p.world).count > 0);
		}
	}
	CHECK(memcmp(hashes[0], hashes[1], sizeof hashes[0]) == 0);
	REQUIRE(carom_world_save(p.world, snapshot) == CAROM_SUCCESS);
	const carom_shape_impact before = carom_world_shape_impacts(p.world).data[0];
	REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(p.context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 4);
	CHECK_INT(result.first_difference, -1);
	p.motion.begin = p.motion.end = fixture_at(0, 0, 90);
	run_motion(&p);
	CHECK_INT(carom_world_shape_impacts(p.world).count, 0);
	REQUIRE(carom_world_restore(p.world, snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_shape_impacts(p.world).count > 0);
	CHECK(memcmp(&before, carom_world_shape_impacts(p.world).data, sizeof before) == 0);
	carom_destroy_snapshot(snapshot);
	free(tape.bytes);
	close_passage(&p);
}

/// The first impact of a ball with the edge that two triangles share. false: it has none.
static bool meet_diagonal(carom_context *context, const float vertices[12], bool other_order, carom_shape_impact *impact)
{
	static const int32_t triangles[2][6] = { { 0, 1, 2, 2, 3, 0 }, { 2, 3, 0, 0, 1, 2 } };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 4;
	def.triangles = triangles[other_order];
	def.triangle_count = 2;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def body = carom_default_body_def();
	body.shape = fixture_of_mesh(mesh);
	body.kind = CAROM_CLOTH;
	body.shape_impacts = true;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &body, &id) == CAROM_SUCCESS);
	body = carom_default_body_def();
	body.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = 0.4 };
	REQUIRE(carom_world_add_body(world, &body, &id) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_shape_impact_view view = carom_world_shape_impacts(world);
	bool found = false;
	for (int64_t i = 0; i < view.count && !found; i++) {
		found = view.data[i].vertices[0] == 0 && view.data[i].vertices[1] == 2 && view.data[i].vertices[2] == -1;
		*impact = view.data[i];
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	return found;
}

TEST(shape_impacts, of_an_edge_do_not_depend_on_the_order_of_its_triangles)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 3;
	int met = 0;
	for (int i = 0; i < 400; i++) {
		// Bent away from the ball, so that the diagonal is nearest.
		float vertices[12] = { -1, 0, 0, 0, 1, 0, 1, 0, 0, 0, -1, 0 };
		for (int k = 0; k < 12; k++)
			vertices[k] += (float)test_random_double(&seed, -0.2, 0.2);
		vertices[2] += 0.3f, vertices[8] += 0.3f;
		vertices[5] += 0.8f, vertices[11] += 0.8f;
		carom_shape_impact one, other;
		if (!meet_diagonal(context, vertices, false, &one))
			continue;
		REQUIRE(meet_diagonal(context, vertices, true, &other));
		met++;
		for (int k = 0; k < 3; k++)
			CHECK(one.weight[k] == other.weight[k]);
	}
	CHECK(met > 100);
	carom_destroy_context(context);
}
