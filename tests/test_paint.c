/// Materials of height fields and hulls: the numbers are those that a mesh of the same triangles reports; they stay through edits,
/// scaling, files, recordings and snapshots.
#include "carom/snapshot.h"
#include "contact/material.h"
#include "fixture.h"
#include "geom/triangle.h"
#include "world/recording_format.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 14, CELLS = (SIDE - 1) * (SIDE - 1), FIRST = 100 };

static const double SPACING[2] = { 0.5, 0.75 };

/// Hills, with a hole where there should be one.
static carom_mesh *make_hills(carom_context *context, bool hole)
{
	float heights[SIDE * SIDE];
	for (int i = 0; i < SIDE * SIDE; i++)
		heights[i] = (float)(0.3 * sin(0.9 * (i % SIDE)) * cos(0.7 * (double)(i / SIDE)));
	for (int i = 0; hole && i < 2; i++)
		heights[SIDE * (5 + i) + 7] = NAN;
	carom_mesh *field = NULL;
	REQUIRE(carom_create_height_field(context, SIDE, SIDE, heights, SPACING, 1, &field) == CAROM_SUCCESS);
	return field;
}

static carom_mesh *paint(carom_context *context, const carom_mesh *mesh, const uint32_t *materials, int32_t count)
{
	carom_mesh *painted = NULL;
	if (!CHECK_INT(carom_create_painted_mesh(context, mesh, materials, count, &painted), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	REQUIRE(painted);
	return painted;
}

/// Each surface triangle has a number of its own.
static carom_mesh *paint_numbered(carom_context *context, const carom_mesh *mesh, int32_t count)
{
	uint32_t materials[2 * CELLS];
	REQUIRE(count <= 2 * CELLS);
	for (int32_t i = 0; i < count; i++)
		materials[i] = (uint32_t)(FIRST + i);
	return paint(context, mesh, materials, count);
}

static carom_mesh *make_numbered_hills(carom_context *context, bool hole)
{
	carom_mesh *plain = make_hills(context, hole), *painted = paint_numbered(context, plain, 2 * CELLS);
	carom_release_mesh(plain);
	return painted;
}

static uint32_t material_of(const carom_mesh *mesh, int32_t triangle)
{
	uint32_t material = 77777;
	CHECK_INT(carom_mesh_get_material(mesh, triangle, &material), CAROM_SUCCESS);
	return material;
}

static int32_t triangles_of(const carom_mesh *mesh) { return carom_mesh_get_report(mesh)->triangle_count; }

static v3d corner_of(const carom_mesh *mesh, int32_t triangle, int k)
{
	const float *v = carom_mesh_get_vertices(mesh) + 3 * (int64_t)carom_mesh_get_triangles(mesh)[3 * triangle + k];
	return (v3d){ v[0], v[1], v[2] };
}

static v3d middle_of(const carom_mesh *mesh, int32_t triangle)
{
	const v3d sum = v3d_add(v3d_add(corner_of(mesh, triangle, 0), corner_of(mesh, triangle, 1)), corner_of(mesh, triangle, 2));
	return v3d_scale(sum, 1.0 / 3);
}

static v3d normal_of(const carom_mesh *mesh, int32_t triangle)
{
	const v3d a = corner_of(mesh, triangle, 0);
	return v3d_cross(v3d_sub(corner_of(mesh, triangle, 1), a), v3d_sub(corner_of(mesh, triangle, 2), a));
}

/// The mesh of the triangles and materials of another one.
static carom_mesh *make_twin(carom_context *context, const carom_mesh *mesh)
{
	const carom_mesh_report *r = carom_mesh_get_report(mesh);
	uint32_t *materials = malloc((size_t)r->triangle_count * sizeof *materials);
	REQUIRE(materials);
	for (int32_t i = 0; i < r->triangle_count; i++)
		materials[i] = material_of(mesh, i);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ carom_mesh_get_vertices(mesh), 0, CAROM_FLOAT32 };
	def.vertex_count = r->vertex_count;
	def.triangles = carom_mesh_get_triangles(mesh);
	def.triangle_count = r->triangle_count;
	def.materials = materials;
	carom_mesh *twin = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &twin) == CAROM_SUCCESS);
	free(materials);
	return twin;
}

// ---- Fields ----

/// The triangle of the surface above or below a place.
static int32_t surface_at(carom_context *context, const carom_mesh *field, double x, double y)
{
	const carom_shape shape = fixture_of_mesh(field);
	const carom_ray ray = { { x, y, 9 }, { 0, 0, -1 }, 0, 100 };
	bool found;
	carom_ray_hit hit;
	REQUIRE(carom_shape_cast_ray(context, &shape, NULL, &ray, &found, &hit) == CAROM_SUCCESS && found);
	CHECK_INT((int)hit.material, FIRST + hit.triangle);
	return hit.triangle;
}

/// Walls have the number of the surface beside them, which a ray finds a little inside.
TEST(paint, walls_and_bottom_follow_the_surface)
{
	carom_context *context = fixture_context(1);
	for (int hole = 0; hole < 2; hole++) {
		carom_mesh *field = make_numbered_hills(context, hole);
		int walls = 0, bottoms = 0;
		for (int32_t i = 0; i < 2 * CELLS; i++)
			CHECK_INT((int)material_of(field, i), FIRST + i);
		for (int32_t i = 2 * CELLS; i < triangles_of(field); i++) {
			const v3d n = v3d_normalize(normal_of(field, i)), middle = middle_of(field, i);
			const int told = (int)material_of(field, i) - FIRST;
			if (fabs(n.z) < 0.5) {
				const v3d inside = v3d_mad(middle, -0.01, n);
				CHECK_INT(told, surface_at(context, field, inside.x, inside.y));
				walls++;
			} else if (hole) {
				CHECK_INT(told, surface_at(context, field, middle.x, middle.y));
				bottoms++;
			} else {
				// One of the triangles at the sample above the first corner, the lowest.
				const v3d corner = corner_of(field, i, 0);
				int32_t lowest = -1;
				for (int32_t t = 2 * CELLS - 1; t >= 0; t--) {
					for (int k = 0; k < 3; k++) {
						const v3d c = corner_of(field, t, k);
						lowest = c.x == corner.x && c.y == corner.y ? t : lowest;
					}
				}
				CHECK_INT(told, lowest);
				bottoms++;
			}
		}
		CHECK(walls > 4 * SIDE && bottoms > 2 * SIDE);
		carom_release_mesh(field);
	}
	carom_destroy_context(context);
}

/// Rays, nearest points and casts against a field and against the mesh of its triangles.
static void compare_queries(carom_world *const worlds[2], const carom_mesh *mover, uint64_t *seed)
{
	int hits = 0;
	for (int i = 0; i < 300 / TEST_FEWER; i++) {
		carom_pose pose = fixture_random_pose(seed, 1);
		pose.position.x += 3;
		pose.position.y += 4;
		const v3d at = { test_random_double(seed, 0, 6.5), test_random_double(seed, 0, 9.7), test_random_double(seed, -2, 2) };
		const v3d to = { test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), test_random_double(seed, -1, 1) };
		const carom_ray ray = { at, to, 0, 100 };
		const carom_shape shape = fixture_hull(mover);
		pose.position.z = 3;
		const carom_motion motion = carom_straight_motion(pose, (carom_vec3){ to.x, to.y, -6 });
		bool found[3][2];
		carom_ray_hit hit[2];
		carom_closest_point near[2];
		carom_shape_hit cast[2];
		for (int w = 0; w < 2; w++) {
			REQUIRE(carom_world_cast_ray(worlds[w], &ray, NULL, &found[0][w], &hit[w]) == CAROM_SUCCESS);
			REQUIRE(carom_world_closest_point(worlds[w], at, 100, NULL, &found[1][w], &near[w]) == CAROM_SUCCESS);
			REQUIRE(carom_world_cast_shape(worlds[w], &shape, &motion, 1e-4, NULL, &found[2][w], &cast[w]) == CAROM_SUCCESS);
		}
		for (int k = 0; k < 3; k++)
			CHECK_INT(found[k][0], found[k][1]);
		hits += found[0][0] + found[2][0];
		CHECK(!found[0][0] || (hit[0].material == hit[1].material && hit[0].material >= FIRST));
		CHECK(near[0].material == near[1].material && near[0].material >= FIRST);
		CHECK(!found[2][0] || (cast[0].material == cast[1].material && cast[0].material >= FIRST));
		CHECK(!found[2][0] || cast[0].own_material == cast[1].own_material);
	}
	CHECK(hits > 300 / TEST_FEWER);
}

TEST(paint, a_field_reports_what_a_mesh_of_its_triangles_reports)
{
	static const float points[15] = { 0, 0, -0.5f, 0.5f, 0, 0, -0.3f, 0.4f, 0, -0.3f, -0.4f, 0, 0, 0, 0.6f };
	for (int round = 0; round < 4; round++) {
		carom_context *context = fixture_context(round < 2 ? 1 : 4);
		carom_mesh *field = make_numbered_hills(context, round % 2), *twin = make_twin(context, field);
		carom_mesh *hull = fixture_hull_mesh(context, points, 5), *torus = fixture_torus_mesh(context, 14, 8, 0.4, 0.1);
		carom_world *worlds[2];
		uint64_t seed = 5;
		for (int w = 0; w < 2; w++) {
			worlds[w] = fixture_world(context, NULL);
			fixture_add(worlds[w], fixture_of_mesh(w ? twin : field), carom_pose_identity(), CAROM_STATIC);
		}
		compare_queries(worlds, hull, &seed);
		const carom_shape shapes[5] = { fixture_hull(hull), fixture_of_mesh(torus), fixture_box(0.4, 0.3, 0.2),
			fixture_sphere(0.4), fixture_capsule(0.3, 0.4) };
		for (int i = 0; i < 60; i++) {
			carom_pose pose = fixture_random_pose(&seed, 0.4);
			pose.position.x += 0.6 * (i % 10);
			pose.position.y += 1.4 * (i / 10);
			pose.position.z += 0.35; // contacts of convex shapes deep in a mesh depend on its tree
			for (int w = 0; w < 2; w++)
				fixture_add(worlds[w], shapes[i % 5], pose, CAROM_DYNAMIC);
		}
		fixture_step(worlds[0]);
		fixture_step(worlds[1]);
		const carom_contact_view a = carom_world_contacts(worlds[0]), b = carom_world_contacts(worlds[1]);
		CHECK_INT(a.count, b.count);
		int of_field = 0;
		for (int32_t i = 0; i < a.count && i < b.count; i++) {
			CHECK(a.data[i].material_a == b.data[i].material_a && a.data[i].material_b == b.data[i].material_b);
			if (a.data[i].body_a.index1 == 1)
				CHECK(a.data[i].material_a >= FIRST && a.data[i].material_b == 0);
			of_field += a.data[i].body_a.index1 == 1;
		}
		CHECK(of_field > 60);
		CHECK(carom_world_hash(worlds[0]) == carom_world_hash(worlds[1]));
		for (int w = 0; w < 2; w++)
			carom_destroy_world(worlds[w]);
		carom_release_mesh(field);
		carom_release_mesh(twin);
		carom_release_mesh(hull);
		carom_release_mesh(torus);
		carom_destroy_context(context);
	}
}

static void check_equal_materials(const carom_mesh *a, const carom_mesh *b)
{
	REQUIRE(triangles_of(a) == triangles_of(b));
	for (int32_t i = 0; i < triangles_of(a); i++)
		CHECK_INT((int)material_of(a, i), (int)material_of(b, i));
}

/// Holes open and close, and the surface moves: painting before or after gives one field.
TEST(paint, edits_keep_materials)
{
	carom_context *context = fixture_context(1);
	carom_mesh *plain = make_hills(context, false), *painted = make_numbered_hills(context, false);
	uint64_t seed = 8;
	int holes = 0;
	for (int round = 0; round < 12; round++) {
		carom_field_region r = { .columns = 3, .rows = 2 };
		r.first_column = (int32_t)(test_random(&seed) % (SIDE - 2));
		r.first_row = (int32_t)(test_random(&seed) % (SIDE - 1));
		float heights[6];
		for (int i = 0; i < 6; i++) {
			const bool hole = round % 3 == 1 && i < 2;
			heights[i] = hole ? NAN : (float)test_random_double(&seed, -0.3, 0.3);
		}
		carom_mesh *const before[2] = { plain, painted };
		carom_mesh *after[2];
		for (int k = 0; k < 2; k++) {
			REQUIRE(carom_create_edited_field(context, before[k], &r, heights, &after[k]) == CAROM_SUCCESS);
			carom_release_mesh(before[k]);
		}
		plain = after[0];
		painted = after[1];
		holes += carom_mesh_get_report(plain)->degenerate_triangles > 0;
		carom_mesh *again = paint_numbered(context, plain, 2 * CELLS);
		check_equal_materials(painted, again);
		carom_release_mesh(again);
	}
	CHECK(holes > 4);
	carom_release_mesh(plain);
	carom_release_mesh(painted);
	carom_destroy_context(context);
}

// ---- Fields of bodies ----

enum { BALLS = 20 };

static carom_world *open_ground(carom_context *context, bool hole, carom_body_id *ground)
{
	carom_mesh *field = make_hills(context, hole);
	carom_world *world = fixture_world(context, NULL);
	*ground = fixture_add(world, fixture_of_mesh(field), carom_pose_identity(), CAROM_STATIC);
	carom_release_mesh(field); // so that the body alone holds it
	for (int i = 0; i < BALLS; i++)
		fixture_add(world, i % 2 ? fixture_box(0.3, 0.3, 0.4) : fixture_sphere(0.4),
			fixture_at(1 + 1.1 * (i % 5), 1 + 2 * (i / 5), 0.4), CAROM_DYNAMIC);
	return world;
}

static const carom_mesh *field_of(const carom_world *world, carom_body_id ground)
{
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(world, ground, &def) == CAROM_SUCCESS);
	return def.shape.mesh;
}

/// Where the body alone holds the field it is painted in place; else it is copied. Results are those of a whole painted field.
static void paint_grounds(bool hole, int threads)
{
	carom_context *contexts[2] = { fixture_context(1), fixture_context(threads) };
	carom_body_id ground = { 0, 0 };
	carom_world *worlds[2];
	uint32_t all[2 * CELLS] = { 0 };
	uint64_t seed = 9;
	int in_place = 0, changes = 0;
	for (int w = 0; w < 2; w++)
		worlds[w] = open_ground(contexts[w], hole, &ground);
	uint64_t last = 0;
	for (int step = 0; step < 10; step++) {
		carom_field_region r;
		r.first_column = (int32_t)(test_random(&seed) % (SIDE - 1));
		r.first_row = (int32_t)(test_random(&seed) % (SIDE - 1));
		r.columns = 1 + (int32_t)(test_random(&seed) % (uint64_t)(SIDE - 1 - r.first_column));
		r.rows = 1 + (int32_t)(test_random(&seed) % (uint64_t)(SIDE - 1 - r.first_row));
		if (step == 4)
			r = (carom_field_region){ 3, 4, 2, 3 }; // inside
		uint32_t numbers[2 * CELLS];
		for (int32_t i = 0; i < 2 * r.columns * r.rows; i++) {
			const int32_t cell = i / 2, row = r.first_row + cell / r.columns, column = r.first_column + cell % r.columns;
			numbers[i] = (uint32_t)(test_random(&seed) % 9);
			all[2 * (row * (SIDE - 1) + column) + i % 2] = numbers[i];
		}
		const carom_mesh *before = field_of(worlds[0], ground);
		CHECK_INT(carom_world_paint_field(worlds[0], ground, &r, numbers), CAROM_SUCCESS);
		const carom_mesh *field = field_of(worlds[0], ground);
		in_place += field == before;
		carom_mesh *whole = paint(contexts[1], field_of(worlds[1], ground), all, 2 * CELLS);
		check_equal_materials(field, whole);
		const carom_shape shape = fixture_of_mesh(whole);
		REQUIRE(carom_world_set_shape(worlds[1], ground, &shape) == CAROM_SUCCESS);
		carom_release_mesh(whole);
		for (int w = 0; w < 2; w++)
			fixture_step(worlds[w]);
		CHECK(carom_world_contacts(worlds[0]).count > BALLS);
		CHECK(carom_world_hash(worlds[0]) == carom_world_hash(worlds[1]));
		changes += carom_world_hash(worlds[0]) != last;
		last = carom_world_hash(worlds[0]);
	}
	CHECK_INT(in_place, 10);
	CHECK(changes > 5);
	for (int w = 0; w < 2; w++) {
		carom_destroy_world(worlds[w]);
		carom_destroy_context(contexts[w]);
	}
}

TEST(paint, in_place_has_the_results_of_a_painted_field)
{
	paint_grounds(false, 1);
	paint_grounds(false, 4);
	paint_grounds(true, 4);
}

/// Painted and dug in turn, in a world that others look at, which is brought back.
TEST(paint, snapshots_and_their_bytes_bring_the_field_back)
{
	static const uint32_t numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const carom_field_region cells = { 5, 5, 2, 2 }, samples = { 5, 5, 2, 2 };
	static const float heights[4] = { 0.1f, 0.2f, 0.1f, 0 };
	carom_context *context = fixture_context(1);
	carom_body_id ground;
	carom_world *world = open_ground(context, false, &ground);
	CHECK_INT(carom_world_paint_field(world, ground, &cells, numbers), CAROM_SUCCESS);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	carom_snapshot *snapshot = NULL, *loaded = NULL;
	fixture_tape tape = { 0 };
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS && carom_create_snapshot(world, &loaded) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_snapshot_save(snapshot, fixture_write_tape, &tape) == CAROM_SUCCESS);
	REQUIRE(carom_snapshot_load(loaded, tape.bytes, tape.count) == CAROM_SUCCESS);
	const carom_mesh *before = field_of(world, ground);
	CHECK_INT(carom_world_edit_field(world, ground, &samples, heights), CAROM_SUCCESS);
	CHECK_INT((int)material_of(field_of(world, ground), 2 * (5 * (SIDE - 1) + 5) + 1), 2);
	CHECK_INT(carom_world_paint_field(world, ground, &cells, (uint32_t[8]){ 40, 41, 42, 43, 44, 45, 46, 47 }), CAROM_SUCCESS);
	CHECK_INT((int)material_of(field_of(world, ground), 2 * (6 * (SIDE - 1) + 6) + 1), 47);
	CHECK_INT((int)material_of(before, 2 * (6 * (SIDE - 1) + 6) + 1), 8); // the snapshot holds it
	fixture_step(world);
	CHECK(carom_world_hash(world) != hash);
	carom_snapshot *const both[2] = { snapshot, loaded };
	for (int k = 0; k < 2; k++) {
		REQUIRE(carom_world_restore(world, both[k]) == CAROM_SUCCESS);
		CHECK(carom_world_hash(world) == hash);
		CHECK_INT((int)material_of(field_of(world, ground), 2 * (6 * (SIDE - 1) + 6) + 1), 8);
		fixture_step(world);
	}
	carom_destroy_snapshot(snapshot);
	carom_destroy_snapshot(loaded);
	carom_destroy_world(world);
	carom_destroy_context(context);
	free(tape.bytes);
}

// ---- Hulls ----

/// A cube whose sides have the numbers FIRST + 2 * axis + (side above 0).
static carom_mesh *make_die(carom_context *context, const carom_mesh *cube)
{
	uint32_t materials[12];
	REQUIRE(triangles_of(cube) == 12);
	for (int32_t i = 0; i < 12; i++) {
		const v3d n = v3d_normalize(normal_of(cube, i));
		for (int k = 0; k < 3; k++) {
			if (fabs(v3d_get(n, k)) > 0.9)
				materials[i] = (uint32_t)(FIRST + 2 * k + (v3d_get(n, k) > 0));
		}
	}
	return paint(context, cube, materials, 12);
}

static carom_mesh *make_cube(carom_context *context)
{
	float points[24];
	for (int i = 0; i < 24; i++)
		points[i] = i / 3 >> i % 3 & 1 ? 0.5f : -0.5f;
	return fixture_hull_mesh(context, points, 8);
}

/// The number of the side that a normal (the die's frame) belongs to: the sides there are those that the point lies on.
static int side_of(v3d point, v3d normal, double half)
{
	int best = -1;
	double most = -2;
	for (int side = 0; side < 6; side++) {
		const double sign = side % 2 ? 1 : -1;
		if (sign * v3d_get(point, side / 2) < half - 1e-4 || sign * v3d_get(normal, side / 2) <= most + 1e-9)
			continue;
		most = sign * v3d_get(normal, side / 2);
		best = side;
	}
	return best;
}

static v3d to_local(const carom_pose *pose, v3d v)
{
	const m3d r = m3d_from_quat(pose->orientation);
	return m3d_tmul(&r, v);
}

TEST(paint, rays_points_and_casts_tell_the_side_of_a_hull)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = make_cube(context), *die = make_die(context, cube);
	uint64_t seed = 3;
	int told = 0;
	for (int i = 0; i < 400 / TEST_FEWER; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 1);
		carom_world *world = fixture_world(context, NULL);
		carom_shape shape = fixture_hull(die);
		shape.rounding = i % 3 == 0 ? 0.2 : 0;
		fixture_add(world, shape, pose, CAROM_STATIC);
		const v3d from = { test_random_double(&seed, 2, 3), test_random_double(&seed, -3, 3), test_random_double(&seed, -3, 3) };
		const carom_ray ray = { v3d_add(pose.position, from), v3d_scale(from, -1), 0, 100 };
		bool found;
		carom_ray_hit hit, alone;
		carom_closest_point near;
		REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, &hit) == CAROM_SUCCESS && found);
		REQUIRE(carom_shape_cast_ray(context, &shape, &pose, &ray, &found, &alone) == CAROM_SUCCESS && found);
		const v3d local = to_local(&pose, v3d_sub(hit.point, pose.position)), normal = to_local(&pose, hit.normal);
		const v3d core = v3d_mad(local, -shape.rounding, normal);
		CHECK_INT((int)hit.material - FIRST, side_of(core, normal, 0.5));
		CHECK(alone.material == hit.material);
		REQUIRE(carom_world_closest_point(world, ray.origin, 100, NULL, &found, &near) == CAROM_SUCCESS && found);
		const v3d on = to_local(&pose, v3d_sub(near.point, pose.position)), out = to_local(&pose, near.normal);
		CHECK_INT((int)near.material - FIRST, side_of(v3d_mad(on, -shape.rounding, out), out, 0.5));
		// A die that is thrown at the other one: both tell.
		const carom_pose start = { ray.origin, fixture_turn((v3d){ 1, 2, 3 }, i) };
		const carom_motion motion = carom_straight_motion(start, v3d_scale(from, -1));
		carom_shape_hit cast;
		REQUIRE(carom_world_cast_shape(world, &shape, &motion, 1e-6, NULL, &found, &cast) == CAROM_SUCCESS);
		if (found) {
			const v3d met = to_local(&pose, v3d_sub(cast.point, pose.position)), up = to_local(&pose, cast.normal);
			CHECK_INT((int)cast.material - FIRST, side_of(v3d_mad(met, -shape.rounding, up), up, 0.5));
			const v3d place = v3d_mad(start.position, cast.time, v3d_scale(from, -1));
			const v3d own = to_local(&start, v3d_sub(v3d_mad(cast.point, cast.distance, cast.normal), place));
			const v3d down = to_local(&start, v3d_neg(cast.normal));
			CHECK_INT((int)cast.own_material - FIRST, side_of(v3d_mad(own, -shape.rounding, down), down, 0.5));
			told++;
		}
		carom_destroy_world(world);
	}
	CHECK(told > 300 / TEST_FEWER);
	carom_release_mesh(cube);
	carom_release_mesh(die);
	carom_destroy_context(context);
}

/// The distance of a side of the die, a square.
static double distance_to_side(v3d point, int side)
{
	double p[3] = { point.x, point.y, point.z }, sum = 0;
	for (int k = 0; k < 3; k++) {
		const double at = k == side / 2 ? (side % 2 ? 0.5 : -0.5) : fmax(-0.5, fmin(0.5, p[k]));
		sum += (p[k] - at) * (p[k] - at);
	}
	return sqrt(sum);
}

/// The side that a contact tells of a die holds the contact's place, and is the one that faces its normal best.
static void check_contact(const carom_contact *c, int side, const carom_pose *pose)
{
	const v3d normal = { c->normal[0], c->normal[1], c->normal[2] }, point = { c->point[0], c->point[1], c->point[2] };
	const v3d on = side ? v3d_mad(point, c->depth, normal) : point;
	const v3d local = to_local(pose, v3d_sub(on, pose->position)), out = to_local(pose, side ? normal : v3d_neg(normal));
	const int told = (int)(side ? c->material_b : c->material_a) - FIRST;
	if (!CHECK(told >= 0 && told < 6))
		return;
	// Of all sides, no one is nearer to the place, and none as near faces the normal better.
	double away[6], least = INFINITY;
	for (int i = 0; i < 6; i++) {
		away[i] = distance_to_side(local, i);
		least = fmin(least, away[i]);
	}
	CHECK(away[told] <= least + 1e-5);
	for (int i = 0; i < 6; i++) {
		const double better = (i % 2 ? 1 : -1) * v3d_get(out, i / 2) - (told % 2 ? 1 : -1) * v3d_get(out, told / 2);
		CHECK(!(away[i] <= least + 1e-7 && better > 1e-6));
	}
}

TEST(paint, contacts_tell_the_side_of_a_hull)
{
	for (int threads = 1; threads <= 4; threads += 3) {
		carom_context *context = fixture_context(threads);
		carom_mesh *cube = make_cube(context), *die = make_die(context, cube), *slab = fixture_box_mesh(context, 2, 2, 0.5);
		const carom_shape others[5] = { fixture_of_mesh(slab), fixture_box(1, 1, 0.5), fixture_hull(die),
			(carom_shape){ .type = CAROM_PLANE }, fixture_sphere(0.6) };
		uint64_t seed = 12;
		int seen = 0, flat = 0;
		for (int i = 0; i < 300 / TEST_FEWER; i++) {
			const int kind = i % 5;
			carom_world *world = fixture_world(context, NULL);
			const carom_pose still = fixture_at(0, 0, kind == 3 ? 0 : -0.5);
			carom_pose pose = fixture_random_pose(&seed, 0.2);
			pose.position.z = 0.49;
			if (i % 2)
				pose.orientation = fixture_turn((v3d){ 0, 0, 1 }, i); // flat on the ground
			carom_body_id ids[2];
			const bool turned = i % 4 > 1;
			for (int k = 0; k < 2; k++) {
				const bool is_die = (k == 0) == turned;
				ids[!is_die] = fixture_add(world, is_die ? fixture_hull(die) : others[kind], is_die ? pose : still,
					is_die ? CAROM_DYNAMIC : CAROM_STATIC);
			}
			fixture_step(world);
			const carom_contact_view view = carom_world_contacts(world);
			for (int32_t j = 0; j < view.count; j++) {
				const carom_contact *c = &view.data[j];
				const int side = c->body_b.index1 == ids[0].index1;
				check_contact(c, side, &pose);
				if (kind == 2)
					check_contact(c, !side, &still);
				else
					CHECK_INT((int)(side ? c->material_a : c->material_b), 0);
				if (i % 2 && kind < 4 && fabs((double)c->normal[2]) > 0.99) {
					CHECK_INT((int)(side ? c->material_b : c->material_a), FIRST + 4); // what it stands on
					flat++;
				}
				seen++;
			}
			carom_destroy_world(world);
		}
		CHECK(seen > 300 / TEST_FEWER && flat > 100 / TEST_FEWER);
		carom_release_mesh(cube);
		carom_release_mesh(die);
		carom_release_mesh(slab);
		carom_destroy_context(context);
	}
}

TEST(paint, one_number_for_a_whole_hull)
{
	static const uint32_t stone = 31;
	carom_context *context = fixture_context(1);
	carom_mesh *cube = make_cube(context), *rock = paint(context, cube, &stone, 1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, carom_pose_identity(), CAROM_STATIC);
	fixture_add(world, fixture_hull(rock), fixture_at(0, 0, 0.49), CAROM_DYNAMIC);
	const double grain[4] = { 0, 0, 1.05, 0.1 };
	carom_body_def grains = carom_default_body_def();
	grains.kind = CAROM_GRANULAR;
	grains.sphere_count = 1;
	grains.centres = fixture_centres(grain);
	grains.radii = fixture_radii(grain);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &grains, &id) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_contact_view view = carom_world_contacts(world);
	CHECK_INT(view.count, 4);
	for (int32_t i = 0; i < view.count; i++)
		CHECK_INT((int)view.data[i].material_b, 31);
	const carom_sphere_contact_view spheres = carom_world_sphere_contacts(world);
	CHECK_INT(spheres.count, 1);
	for (int32_t i = 0; i < spheres.count; i++)
		CHECK_INT((int)spheres.data[i].material_b, 31);
	carom_destroy_world(world);
	carom_mesh *none = paint(context, rock, NULL, 0);
	CHECK_INT((int)material_of(none, 3), 0);
	carom_release_mesh(none);
	carom_release_mesh(cube);
	carom_release_mesh(rock);
	carom_destroy_context(context);
}

/// Mirrored and drawn out: a side is where the image of the side lies.
TEST(paint, scaled_hulls_keep_materials)
{
	static const double scales[4][3] = { { 2, 3, 0.5 }, { -1, 1, 1 }, { -2, -1, 1 }, { -1, -2, -3 } };
	carom_context *context = fixture_context(1);
	carom_mesh *cube = make_cube(context), *die = make_die(context, cube);
	for (int k = 0; k < 4; k++) {
		carom_mesh *scaled = NULL;
		REQUIRE(carom_create_scaled_mesh(context, die, scales[k], &scaled) == CAROM_SUCCESS);
		for (int32_t i = 0; i < triangles_of(scaled); i++) {
			const int side = (int)material_of(scaled, i) - FIRST;
			const v3d n = v3d_normalize(normal_of(scaled, i));
			CHECK(v3d_get(n, side / 2) * (side % 2 ? 1 : -1) * scales[k][side / 2] > 0.1);
		}
		carom_release_mesh(scaled);
	}
	carom_release_mesh(cube);
	carom_release_mesh(die);
	carom_destroy_context(context);
}

// ---- Files ----

TEST(paint, baked_meshes_keep_materials)
{
	carom_context *context = fixture_context(1);
	carom_mesh *cube = make_cube(context);
	carom_mesh *meshes[3] = { make_die(context, cube), make_numbered_hills(context, false), make_numbered_hills(context, true) };
	for (int k = 0; k < 3; k++) {
		fixture_tape tape = { 0 };
		REQUIRE(carom_mesh_save(meshes[k], fixture_write_tape, &tape) == CAROM_SUCCESS);
		carom_mesh *loaded = NULL;
		REQUIRE(carom_mesh_load(context, tape.bytes, tape.count, true, &loaded) == CAROM_SUCCESS);
		check_equal_materials(meshes[k], loaded);
		carom_mesh *again = paint_numbered(context, loaded, k == 0 ? 12 : 2 * CELLS);
		CHECK_INT((int)material_of(again, 5), FIRST + 5);
		if (k > 0)
			check_equal_materials(meshes[k], again);
		carom_release_mesh(again);
		carom_release_mesh(loaded);
		carom_release_mesh(meshes[k]);
		free(tape.bytes);
	}
	carom_release_mesh(cube);
	carom_destroy_context(context);
}

/// A ground that is painted, and dice, while a world is recorded.
static fixture_tape record_dice(carom_context *context, uint64_t *hash)
{
	fixture_tape tape = { 0 };
	carom_body_id ground;
	carom_world *world = open_ground(context, true, &ground);
	carom_mesh *cube = make_cube(context), *die = make_die(context, cube);
	fixture_add(world, fixture_hull(die), fixture_at(2, 2, 0.6), CAROM_DYNAMIC);
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	fixture_add(world, fixture_hull(cube), fixture_at(4, 2, 0.6), CAROM_DYNAMIC);
	fixture_add(world, fixture_hull(die), fixture_at(3.2, 3, 0.6), CAROM_DYNAMIC);
	for (uint32_t step = 0; step < 3; step++) {
		const uint32_t numbers[8] = { step, 2, 3, 4, 5, 6, 7, 8 };
		const carom_field_region cells = { (int32_t)(2 + step), 2, 2, 2 };
		CHECK_INT(carom_world_paint_field(world, ground, &cells, numbers), CAROM_SUCCESS);
		fixture_step(world);
	}
	int of_dice = 0;
	const carom_contact_view view = carom_world_contacts(world);
	for (int32_t i = 0; i < view.count; i++)
		of_dice += view.data[i].material_b >= FIRST;
	CHECK(of_dice > 0);
	*hash = carom_world_hash(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_release_mesh(cube);
	carom_release_mesh(die);
	carom_destroy_world(world);
	return tape;
}

/// One die alone.
static fixture_tape record_die(carom_context *context)
{
	fixture_tape tape = { 0 };
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *cube = make_cube(context), *die = make_die(context, cube);
	fixture_add(world, fixture_hull(die), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_release_mesh(cube);
	carom_release_mesh(die);
	carom_destroy_world(world);
	return tape;
}

TEST(paint, recordings_replay)
{
	carom_context *context = fixture_context(1);
	uint64_t hash;
	fixture_tape tape = record_dice(context, &hash);
	carom_replay_result result;
	if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	CHECK(result.hash == hash && result.steps == 3);
	free(tape.bytes);
	// Version 19 knew no materials of hulls.
	tape = record_die(context);
	cr_store_le(tape.bytes + CR_RECORDING_MAGIC_SIZE, 19, 4);
	fixture_repair_tape(&tape);
	fixture_expect_error(context, carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_INVALID_RECORDING,
		"no materials of hulls");
	free(tape.bytes);
	carom_destroy_context(context);
}

// ---- Misuse, memory ----

TEST(paint, misuse_is_named)
{
	static const uint32_t numbers[8] = { 1 };
	carom_context *context = fixture_context(1);
	carom_body_id ground;
	carom_world *world = open_ground(context, false, &ground);
	carom_mesh *cube = make_cube(context), *field = make_hills(context, true), *painted = cube;
	CHECK_INT(carom_create_painted_mesh(NULL, cube, numbers, 1, &painted), CAROM_INVALID_ARGUMENT);
	fixture_expect_wrong(context, carom_create_painted_mesh(context, cube, numbers, 1, NULL), "painted is NULL");
	fixture_expect_wrong(context, carom_create_painted_mesh(context, NULL, numbers, 1, &painted), "mesh is NULL");
	CHECK(painted == NULL);
	fixture_expect_wrong(
		context, carom_create_painted_mesh(context, cube, NULL, 12, &painted), "materials is NULL, but count is 12");
	fixture_expect_wrong(context, carom_create_painted_mesh(context, cube, numbers, 8, &painted),
		"carom_create_painted_mesh: count is 8; it must be 1, or 12, one for each triangle");
	fixture_expect_wrong(context, carom_create_painted_mesh(context, cube, numbers, 0, &painted), "count is 0");
	fixture_expect_wrong(context, carom_create_painted_mesh(context, field, numbers, 8, &painted),
		"count is 8; it must be 1, or 338, two for each cell of the height field");
	const carom_field_region cells = { 12, 12, 1, 1 }, beyond = { 13, 0, 1, 1 }, wide = { 0, 11, 1, 3 };
	fixture_expect_wrong(
		context, carom_world_paint_field(world, ground, NULL, numbers), "carom_world_paint_field: region is NULL");
	fixture_expect_wrong(context, carom_world_paint_field(world, ground, &cells, NULL), "materials is NULL");
	fixture_expect_wrong(context, carom_world_paint_field(world, ground, &beyond, numbers),
		"region.first_column is 13; the field has columns of cells 0 to 12");
	fixture_expect_wrong(
		context, carom_world_paint_field(world, ground, &wide, numbers), "region.rows is 3; from first_row 11 on there are 2");
	const carom_body_id die = fixture_add(world, fixture_hull(cube), fixture_at(0, 0, 9), CAROM_DYNAMIC);
	fixture_expect_wrong(
		context, carom_world_paint_field(world, die, &cells, numbers), "the shape of the body is no height field");
	CHECK_INT(carom_world_paint_field(world, (carom_body_id){ 999, 1 }, &cells, numbers), CAROM_INVALID_BODY);
	CHECK_INT(carom_world_paint_field(world, ground, &cells, numbers), CAROM_SUCCESS);
	carom_release_mesh(cube);
	carom_release_mesh(field);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A painted mesh and a painted ground, held by the body alone or not, while one allocation after the other fails.
TEST(paint, finds_no_memory)
{
	static const uint32_t numbers[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	static const carom_field_region cells = { 4, 4, 2, 2 };
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	for (int held = 0; held < 2; held++) {
		int failed = 0;
		for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS; failed++) {
			carom_body_id ground;
			carom_world *world = open_ground(context, false, &ground);
			carom_mesh *const kept = held ? carom_retain_mesh(field_of(world, ground)) : NULL;
			const carom_mesh *before = field_of(world, ground);
			heap.fail_at = heap.calls + failed;
			result = carom_world_paint_field(world, ground, &cells, numbers);
			heap.fail_at = -1;
			const carom_mesh *field = field_of(world, ground);
			if (result != CAROM_SUCCESS) {
				CHECK_INT(result, CAROM_OUT_OF_MEMORY);
				CHECK(field == before && material_of(field, 2 * (4 * (SIDE - 1) + 4)) == 0);
			} else {
				CHECK((field != before) == held);
				CHECK_INT((int)material_of(field, 2 * (4 * (SIDE - 1) + 4)), 3);
			}
			carom_release_mesh(kept);
			carom_destroy_world(world);
			REQUIRE(failed < 1000);
		}
		CHECK(failed > 2);
	}
	carom_mesh *cube = make_cube(context), *die = make_die(context, cube);
	const long long blocks = atomic_load(&heap.blocks);
	for (int scale = 0; scale < 2; scale++) {
		carom_mesh *made = NULL;
		int failed = 0;
		for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS; failed++) {
			heap.fail_at = heap.calls + failed;
			result = scale ? carom_create_scaled_mesh(context, die, (double[3]){ 1, 2, 3 }, &made)
						   : carom_create_painted_mesh(context, cube, numbers, 1, &made);
			heap.fail_at = -1;
			CHECK((made != NULL) == (result == CAROM_SUCCESS));
			CHECK(made || result == CAROM_OUT_OF_MEMORY);
			CHECK(made || atomic_load(&heap.blocks) == blocks);
			REQUIRE(failed < 1000);
		}
		CHECK(failed > 2);
		carom_release_mesh(made);
	}
	carom_release_mesh(cube);
	carom_release_mesh(die);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

// ---- The triangle at a point ----

/// A plain search for it, in the order of numbers.
static int32_t plain_triangle_at(const carom_mesh *hull, v3d point, v3d normal)
{
	const cr_topology *t = &hull->topology;
	const double tolerance = 1e-5 * hull->collider.scale;
	double least = INFINITY, best = -INFINITY;
	int32_t found = 0;
	for (int round = 0; round < 2; round++) {
		for (int32_t i = 0; i < t->triangle_count; i++) {
			v3d p[3];
			cr_feature feature;
			cr_collider_triangle(&hull->collider, i, p);
			const double distance = v3d_length(v3d_sub(cr_closest_point_triangle(point, p[0], p[1], p[2], &feature), point));
			if (round == 0)
				least = fmin(least, distance);
			else if (distance <= least + tolerance && v3d_dot(cr_face_normal(t, i), normal) > best + 1e-9) {
				best = v3d_dot(cr_face_normal(t, i), normal);
				found = i;
			}
		}
	}
	return found;
}

/// Points on faces, edges and corners, and near, far and very far from them.
static void check_hull(const carom_mesh *hull, uint64_t *seed)
{
	static const double away[] = { 0, 0, 1e-6, -1e-6, 1e-4, -1e-2, 0.1, 3, 1e6 };
	const cr_topology *t = &hull->topology;
	for (int round = 0; round < 400; round++) {
		const int32_t triangle = (int32_t)(test_random(seed) % (uint64_t)t->triangle_count);
		const double u = round % 3 ? test_random_double(seed, 0, 1) : 0, v = round % 5 ? test_random_double(seed, 0, 1 - u) : 0;
		v3d p[3];
		cr_collider_triangle(&hull->collider, triangle, p);
		const v3d on = v3d_mad(v3d_mad(p[0], u, v3d_sub(p[1], p[0])), v, v3d_sub(p[2], p[0]));
		const v3d turn = fixture_random_pose(seed, 1).position;
		const v3d normal = v3d_normalize(v3d_mad(cr_face_normal(t, triangle), round % 2 ? 0.3 : 0, turn));
		const v3d point = v3d_mad(on, away[round % 9], normal);
		CHECK_INT(cr_hull_triangle_at(hull, point, normal), plain_triangle_at(hull, point, normal));
	}
	const v3d none = { NAN, 0, 0 };
	CHECK_INT(cr_hull_triangle_at(hull, none, none), plain_triangle_at(hull, none, none));
}

TEST(paint, triangles_of_hulls_are_those_of_a_plain_search)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 21;
	float points[3 * 400];
	// A ball of many triangles, and a drum whose ends are polygons of 200 corners.
	for (int i = 0; i < 400; i++) {
		const v3d ball = v3d_normalize(fixture_random_pose(&seed, 1).position);
		for (int k = 0; k < 3; k++)
			points[3 * i + k] = (float)v3d_get(ball, k);
	}
	carom_mesh *ball = fixture_hull_mesh(context, points, 400);
	for (int i = 0; i < 400; i++) {
		const double angle = FIXTURE_PI * (i / 2) / 100;
		points[3 * i] = (float)cos(angle);
		points[3 * i + 1] = (float)sin(angle);
		points[3 * i + 2] = i % 2 ? 0.5f : -0.5f;
	}
	carom_mesh *drum = fixture_hull_mesh(context, points, 400);
	carom_mesh *const hulls[] = { ball, drum, make_cube(context) };
	for (int i = 0; i < 3; i++) {
		check_hull(hulls[i], &seed);
		carom_release_mesh(hulls[i]);
	}
	carom_destroy_context(context);
}
