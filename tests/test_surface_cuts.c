/// Cloth that begins across closed meshes while the corners of what cuts them are outside: spikes through a sheet, rods across
/// large triangles, a lumpy body under a coarse sheet. A small solver parts them; contacts are those of brute force; nothing is found
/// where nothing crosses.
#include "cuts_fixture.h"
#include "frame/body.h"
#include "geom/triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Append a spike upwards, closed.
static void add_spike(fixture_soup *soup, double x, double y, double radius, double height)
{
	enum { AROUND = 5 };
	const int32_t first = soup->vertex_count, top = first + AROUND, foot = top + 1;
	float *v = &soup->vertices[3 * first];
	for (int i = 0; i < AROUND; i++) {
		v[3 * i] = (float)(x + radius * cos(2 * FIXTURE_PI * i / AROUND));
		v[3 * i + 1] = (float)(y + radius * sin(2 * FIXTURE_PI * i / AROUND));
		const int32_t a = first + i, b = first + (i + 1) % AROUND, t[6] = { a, b, top, b, a, foot };
		memcpy(&soup->triangles[3 * soup->triangle_count], t, sizeof t);
		soup->triangle_count += 2;
	}
	for (int i = AROUND; i < AROUND + 2; i++) {
		v[3 * i] = (float)x;
		v[3 * i + 1] = (float)y;
		v[3 * i + 2] = i == AROUND ? (float)height : -0.1F;
	}
	soup->vertex_count += AROUND + 2;
}

static carom_mesh *make_spike(carom_context *context, double radius, double height)
{
	static fixture_soup soup;
	memset(&soup, 0, sizeof soup);
	add_spike(&soup, 0, 0, radius, height);
	return fixture_mesh(context, &soup);
}

/// 25 spikes, of one mesh.
static carom_mesh *make_bed(carom_context *context)
{
	static fixture_soup soup;
	memset(&soup, 0, sizeof soup);
	for (int i = 0; i < 25; i++)
		add_spike(&soup, 0.3 * (i % 5 - 2), 0.3 * (i / 5 - 2), 0.06, 0.2 + 0.01 * (i % 7));
	return fixture_mesh(context, &soup);
}

/// The height of the sheet over a point of the ground, as high as it lies there; -INFINITY: it does not.
static double height_over(const cuts_stage *s, double x, double y)
{
	double height = -INFINITY;
	for (int32_t i = 0; i < s->sheet->topology.triangle_count; i++) {
		v3d c[3];
		for (int k = 0; k < 3; k++)
			c[k] = v3d_sub(cuts_corner_of(s->sheet, s->places, i, k), (v3d){ x, y, 0 });
		double weight[3], sum = 0, z = 0;
		for (int k = 0; k < 3; k++) {
			const v3d p = c[(k + 1) % 3], q = c[(k + 2) % 3];
			weight[k] = p.x * q.y - p.y * q.x;
			sum += weight[k];
			z += weight[k] * c[k].z;
		}
		if (weight[0] / sum >= 0 && weight[1] / sum >= 0 && weight[2] / sum >= 0)
			height = fmax(height, z / sum);
	}
	return height;
}

/// A sheet that lies across the stage's mesh, turned up or down.
static carom_pose lie(v3d at, double turn, v3d axis, bool down)
{
	const carom_pose turned = { { 0, 0, 0 }, fixture_turn((v3d){ 1, 0, 0 }, down ? FIXTURE_PI : 0) };
	return fixture_compose((carom_pose){ { at.x, at.y, at.z }, fixture_turn(axis, turn) }, turned);
}

static carom_body_kind kind_of(int round) { return round % 2 ? CAROM_DEFORMABLE : CAROM_STATIC; }

TEST(surface_cuts, a_spike_goes_back_through_a_sheet)
{
	uint64_t seed = 3;
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 24; round++) {
		static cuts_stage s;
		const double shift = test_random_double(&seed, -0.15, 0.15), tilt = test_random_double(&seed, 0, 0.5);
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 1 + round % 3, 4), make_spike(context, 0.2, 1), kind_of(round),
			fixture_at(0, 0, 0), round / 2 % 2);
		cuts_put_sheet(&s, lie((v3d){ 0.3 + shift, 0.2, 0.6 }, tilt, (v3d){ 1, round % 5, 0 }, round % 4 > 1));
		CHECK(cuts_count_crossings(&s) > 0);
		const int steps = cuts_part(&s, 20);
		CHECK(steps > 0 && steps < 20);
		CHECK(height_over(&s, 0, 0) > 0.99); // over the tip
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

TEST(surface_cuts, a_nail_goes_back_by_its_shorter_end_and_stays_with_it)
{
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 8; round++) {
		static cuts_stage s;
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 2, 4), fixture_box_mesh(context, 0.05, 0.05, 0.5),
			kind_of(round), fixture_at(0, 0, 0), round / 2 % 2);
		const double sign = round < 4 ? 1 : -1;
		cuts_put_sheet(&s, lie((v3d){ 0.3, 0.7, sign * 0.2 }, 0, (v3d){ 1, 0, 0 }, round % 4 > 1));
		for (int step = 0; step < 4; step++) { // the shorter end, which soon is the longer one
			fixture_step(s.world);
			cuts_check_contacts(&s);
			CHECK_INT(fixture_count_through(s.world), 4); // its corners
			const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
			for (int64_t i = 0; i < view.count; i++) {
				const double out = (fixture_same_id(view.data[i].body_a, s.cloth) ? 1 : -1) * view.data[i].normal.z;
				CHECK_NEAR(out, sign, 1e-9);
				CHECK_NEAR(view.data[i].distance, -0.3 - 0.2 * step, 1e-6);
				CHECK_INT(view.data[i].age, step);
			}
			for (int32_t v = 0; v < s.sheet_vertices; v++)
				s.places[3 * v + 2] -= 0.2 * sign;
			if (step < 3)
				cuts_move_sheet(&s, false);
		}
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

TEST(surface_cuts, a_rod_across_triangles_goes_out_to_one_side)
{
	uint64_t seed = 5;
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 24; round++) {
		static cuts_stage s;
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 1 + round % 3, 4), fixture_box_mesh(context, 5, 0.1, 0.1),
			kind_of(round), fixture_at(0, 0, 0), round / 2 % 2);
		cuts_put_sheet(&s,
			lie((v3d){ 0.1, 0.3, test_random_double(&seed, -0.04, 0.04) }, test_random_double(&seed, -0.15, 0.15),
				(v3d){ 1, 0.2, 2 }, false));
		CHECK(cuts_count_crossings(&s) > 0);
		const int steps = cuts_part(&s, 20);
		CHECK(steps > 0 && steps < 20);
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

TEST(surface_cuts, a_round_body_comes_out_of_a_coarse_sheet)
{
	uint64_t seed = 9;
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 12; round++) {
		static cuts_stage s;
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 1 + round % 4, 6), fixture_sphere_mesh(context, 0.4, 12),
			kind_of(round), fixture_at(0, 0, 0), round / 2 % 2);
		cuts_put_sheet(&s,
			lie((v3d){ test_random_double(&seed, -0.5, 0.5), 0.2, test_random_double(&seed, 0.1, 0.3) },
				test_random_double(&seed, -0.1, 0.1), (v3d){ 1, 0.5, 0 }, round % 4 > 1));
		CHECK(cuts_part(&s, 30) < 30);
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

/// A plate with spikes, which a sheet that does not stretch has in its meshes.
TEST(surface_cuts, many_spikes_leave_a_sheet_whose_edges_stay)
{
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 4; round++) {
		static cuts_stage s;
		cuts_open_stage(
			&s, context, fixture_sheet_mesh(context, 7, 2), make_bed(context), kind_of(round), fixture_at(0, 0, 0), round > 1);
		cuts_put_sheet(&s, lie((v3d){ 0.03, -0.02, 0.17 }, 0.05, (v3d){ 1, 2, 0 }, round % 4 > 1));
		CHECK(cuts_count_crossings(&s) > 20);
		s.keep_edges = true;
		CHECK(cuts_part(&s, 40) < 40);
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

/// Nothing is through where nothing crosses.
TEST(surface_cuts, what_does_not_cross_has_no_such_contact)
{
	uint64_t seed = 12;
	int apart = 0, crossing = 0;
	carom_context *context = fixture_context(1);
	for (int which = 0; which < 4; which++) {
		static cuts_stage s;
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 3, 2),
			which < 2 ? make_spike(context, 0.3, 1) : fixture_box_mesh(context, 1, 0.1, 0.1), kind_of(which),
			fixture_at(0, 0, 0), which % 2);
		for (int round = 0; round < 60; round++) {
			cuts_put_sheet(&s, fixture_at(0, 0, 9)); // nothing is remembered there
			fixture_step(s.world);
			cuts_put_sheet(&s, fixture_random_pose(&seed, which < 2 ? 0.8 : 1));
			fixture_step(s.world);
			cuts_check_contacts(&s);
			if (cuts_count_crossings(&s) == 0)
				CHECK_INT(fixture_count_through(s.world), 0);
			apart += cuts_count_crossings(&s) == 0;
			crossing += cuts_count_crossings(&s) > 0 && fixture_count_through(s.world) > 0;
		}
		cuts_close_stage(&s);
	}
	CHECK(apart > 60 && crossing > 60);
	carom_destroy_context(context);
}

// ---- Regions inside ----

/// Which way a contact leads the cloth.
static v3d out_of(const cuts_stage *s, const carom_surface_contact *c)
{
	return v3d_scale(fixture_vector(c->normal), fixture_same_id(c->body_a, s->cloth) ? 1 : -1);
}

/// All that leaves with regions does so to one side. Returns how many vertices of the cloth do.
static int count_led(const cuts_stage *s)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	const carom_surface_contact *first = NULL;
	int count = 0;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		if (!c->led)
			continue;
		first = first ? first : c;
		CHECK(c->through);
		CHECK(v3d_dot(out_of(s, c), out_of(s, first)) > 0);
		count += c->kind == CAROM_SWEEP_VERTEX_FACE && fixture_same_id(c->body_a, s->cloth) && c->side == 1;
	}
	return count;
}

static carom_mesh *make_block(carom_context *context, int which)
{
	switch (which) {
	case 0: return fixture_box_mesh(context, 0.3, 0.4, 0.5);
	case 1: return fixture_sphere_mesh(context, 0.4, 12);
	default: return fixture_box_mesh(context, 0.15, 0.5, 0.5); // the sheet is wider than it in one direction
	}
}

/// Nearest ways out lead to both sides of such a sheet, and edges that stay hold it in: of the first one's 138 vertices inside, 115
/// stayed there for good. A sheet around corners is stretched over them, so some of it comes in again.
TEST(surface_cuts, a_sheet_across_the_middle_leaves_to_one_side)
{
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 12; round++) {
		static cuts_stage s;
		const int which = round % 3;
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 20, 1.2), make_block(context, which), kind_of(round),
			fixture_at(0, 0, 0), round / 2 % 2);
		cuts_put_sheet(&s, lie((v3d){ 0.02, 0.01, 0.01 * round }, 0.3 + 0.09 * round, (v3d){ 1, 0.2, 0.1 }, round % 4 > 1));
		const int inside = cuts_count_inside(&s), crossing = cuts_count_crossings(&s);
		fixture_step(s.world);
		CHECK(inside > 80);
		CHECK(count_led(&s) > 0.95 * inside);
		s.keep_edges = true;
		const int steps = cuts_part(&s, 60);
		CHECK_INT(cuts_count_inside(&s), 0);
		CHECK(which == 1 ? steps < 60 : 6 * cuts_count_crossings(&s) < crossing);
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

/// A sheet wholly inside, and one whose nearest ways agree.
TEST(surface_cuts, sheets_inside_leave_as_wholes)
{
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 4; round++) {
		static cuts_stage s;
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 10, round > 1 ? 0.6 : 0.3),
			fixture_sphere_mesh(context, 0.5, 12), kind_of(round), fixture_at(0, 0, 0), round % 2);
		cuts_put_sheet(&s, fixture_at(0.01, 0, round > 1 ? 0.01 : 0.35));
		fixture_step(s.world);
		CHECK_INT(count_led(&s), round > 1 ? s.sheet_vertices : 0);
		s.keep_edges = true;
		cuts_part(&s, 1);
		for (int step = 0; step < 60 && cuts_count_inside(&s) > 0; step++) {
			fixture_step(s.world);
			cuts_check_contacts(&s);
			cuts_solve(&s);
		}
		CHECK_INT(cuts_count_inside(&s), 0);
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

// ---- Faces around regions ----

static bool has_feature(const int32_t corners[3], const int32_t *vertices, int count)
{
	int found = 0;
	for (int i = 0; i < 3 * count; i++)
		found += corners[i % 3] == vertices[i / 3];
	return found == count;
}

/// How far a face is led at most; its direction.
static double depth_of_face(const cuts_stage *s, const int32_t corners[3], v3d *out)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	double most = 0;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		const bool is_a = fixture_same_id(c->body_a, s->cloth);
		if (!c->led || !has_feature(corners, c->vertices + (is_a ? 0 : of_a), is_a ? of_a : 4 - of_a))
			continue;
		most = fmax(most, -c->distance);
		*out = out_of(s, c);
	}
	return most;
}

/// The first hit of a ray with the mesh, by brute force.
static double brute_ray(const cuts_stage *s, v3d from, v3d along)
{
	double first = INFINITY;
	for (int32_t i = 0; i < s->mesh->topology.triangle_count; i++) {
		const v3d a = cuts_corner_of(s->mesh, s->surface, i, 0), ab = v3d_sub(cuts_corner_of(s->mesh, s->surface, i, 1), a),
				  ac = v3d_sub(cuts_corner_of(s->mesh, s->surface, i, 2), a), p = v3d_cross(along, ac), x = v3d_sub(from, a),
				  q = v3d_cross(x, ab);
		const double volume = v3d_dot(ab, p), u = v3d_dot(x, p) / volume, v = v3d_dot(along, q) / volume,
					 t = v3d_dot(ac, q) / volume;
		if (u >= 0 && v >= 0 && u + v <= 1 && t >= 0)
			first = fmin(first, t);
	}
	return first;
}

/// How far rays go from points of a face that are inside, at most. Counts the points.
static double height_over_face(const cuts_stage *s, int32_t triangle, v3d out, uint64_t *seed, int *points)
{
	double most = 0;
	for (int i = 0; i < 40; i++) {
		double u = test_random_double(seed, 0, 1), v = test_random_double(seed, 0, 1);
		v3d at = { 0, 0, 0 };
		if (u + v > 1) {
			u = 1 - u;
			v = 1 - v;
		}
		const double weight[3] = { 1 - u - v, u, v };
		for (int k = 0; k < 3; k++)
			at = v3d_mad(at, weight[k], cuts_corner_of(s->sheet, s->places, triangle, k));
		bool inside = false;
		REQUIRE(carom_mesh_contains(s->mesh, at, &inside) == CAROM_SUCCESS);
		const double height = inside ? brute_ray(s, at, out) : INFINITY;
		if (height < INFINITY) {
			most = fmax(most, height);
			++*points;
		}
	}
	return most;
}

static bool crosses(const cuts_stage *s, int32_t triangle)
{
	bool found = false;
	for (int32_t i = 0; i < s->mesh->topology.triangle_count && !found; i++) {
		v3d a[3], b[3];
		for (int k = 0; k < 3; k++) {
			a[k] = cuts_corner_of(s->sheet, s->places, triangle, k);
			b[k] = cuts_corner_of(s->mesh, s->surface, i, k);
		}
		found = cr_triangles_intersect(a, b);
	}
	return found;
}

/// A face that crosses the mesh is led as far as the mesh reaches over the part of it that is inside. Where that is highest over a
/// piercing within one large triangle of the mesh, no pair of features is there, and the face is led a little less.
TEST(surface_cuts, faces_are_led_as_far_as_the_mesh_is_high_over_them)
{
	uint64_t seed = 21;
	int points = 0, faces = 0, less = 0;
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 24; round++) {
		static cuts_stage s;
		const bool is_torus = round % 3 == 0;
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, 6 + round, 2.8),
			is_torus ? fixture_torus_mesh(context, 20, 10, 0.3, 0.1) : make_block(context, round % 3), kind_of(round),
			fixture_at(0, 0, 0), round / 2 % 2);
		cuts_put_sheet(&s,
			lie((v3d){ 0.02, 0.01, test_random_double(&seed, -0.1, 0.1) }, test_random_double(&seed, 0.1, 1.5),
				(v3d){ 1, 0.2, 0.1 }, round % 4 > 1));
		fixture_step(s.world);
		cuts_check_contacts(&s);
		for (int32_t i = 0; i < s.sheet->topology.triangle_count; i++) {
			v3d out = { 0, 0, 0 };
			const double depth = depth_of_face(&s, s.sheet->topology.triangles + 3 * i, &out);
			if (!(depth > 0) || !crosses(&s, i))
				continue;
			const double height = height_over_face(&s, i, out, &seed, &points);
			less += height > depth + 0.02;
			faces++;
		}
		cuts_close_stage(&s);
	}
	CHECK(points > 4000 && faces > 400);
	CHECK(20 * less < faces);
	carom_destroy_context(context);
}

/// A sheet that cuts a ring through both sides of its tube: two regions, which leave to one side. Edges that are kept need time
/// until the whole sheet has followed.
TEST(surface_cuts, a_sheet_through_both_sides_of_a_ring_comes_out)
{
	enum { EVERY = TEST_FEWER > 1 ? 7 : 1 };
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 24; round += EVERY) {
		static cuts_stage s;
		const bool coarse = round % 2, keeps = round / 2 % 2;
		const double height = 0.3 * (round / 4 % 3), tilt = 0.4 * (round % 5);
		cuts_open_stage(&s, context, fixture_sheet_mesh(context, coarse ? 9 : 22, 3),
			fixture_torus_mesh(context, 24, 12, 0.3, 0), kind_of(round), fixture_at(0, 0, 0), round / 2 % 2);
		cuts_put_sheet(&s, lie((v3d){ 0, height, 0.02 }, FIXTURE_PI / 2 - tilt, (v3d){ 1, 0.05, 0.1 }, round % 4 > 1));
		CHECK(cuts_count_inside(&s) > 0);
		fixture_step(s.world);
		CHECK(count_led(&s) > 0);
		s.keep_edges = keeps;
		const int steps = cuts_part(&s, 60);
		CHECK_INT(cuts_count_inside(&s), 0);
		CHECK(steps < 60);
		cuts_close_stage(&s);
	}
	carom_destroy_context(context);
}

// ---- Threads, memory, recordings ----

/// Spikes and a rod through one cloth; a second one across a ring.
static void fill_four(carom_world *world, void *user)
{
	carom_mesh **meshes = user;
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	fixture_add(world, fixture_of_mesh(meshes[1]), fixture_at(0, 0, 0), CAROM_STATIC);
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(meshes[0]);
	def.thickness = CUTS_THICKNESS;
	def.pose = fixture_at(0.03, -0.02, 0.17);
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	fixture_add(world, fixture_of_mesh(meshes[2]), fixture_at(0.01, 0, 0.17), CAROM_DEFORMABLE);
	fixture_add(world, fixture_of_mesh(meshes[3]), fixture_at(10, 0, 0), CAROM_STATIC);
	def.pose = fixture_at(10.6, 0.1, 0.05);
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
}

static uint64_t hash_with(int threads, carom_simd simd, fixture_tape *tape)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	def.simd = simd;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 0;
	carom_mesh *meshes[4] = { fixture_sheet_mesh(context, 7, 2), make_bed(context), fixture_box_mesh(context, 3, 0.05, 0.05),
		fixture_torus_mesh(context, 16, 8, 0.3, 0) };
	carom_world *world = fixture_world(context, NULL);
	if (tape)
		REQUIRE(carom_world_record(world, fixture_write_tape, tape) == CAROM_SUCCESS);
	fill_four(world, meshes);
	uint64_t hash = 0;
	for (int step = 0; step < 3; step++) {
		fixture_step(world);
		hash = hash * 31 + carom_world_hash(world);
	}
	const carom_surface_contact_view view = carom_world_surface_contacts(world);
	int led[2] = { 0, 0 };
	for (int64_t i = 0; i < view.count; i++)
		led[view.data[i].kind == CAROM_SWEEP_EDGE_EDGE] += view.data[i].led;
	CHECK(view.count > 60 && led[0] > 0 && led[1] > 0);
	if (tape)
		REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_destroy_world(world);
	for (int i = 0; i < 4; i++)
		carom_release_mesh(meshes[i]);
	if (tape) {
		carom_replay_result result;
		CHECK_INT(carom_replay_recording(context, fixture_read_tape, tape, &result), CAROM_SUCCESS);
		CHECK_INT(result.steps, 3);
		CHECK_INT(result.first_difference, -1);
	}
	carom_destroy_context(context);
	return hash;
}

TEST(surface_cuts, are_found_alike_by_any_number_of_threads_and_instruction_set)
{
	const uint64_t hash = hash_with(1, CAROM_SIMD_AUTO, NULL);
	CHECK(hash_with(3, CAROM_SIMD_AUTO, NULL) == hash);
	for (int i = 0; i < FIXTURE_SIMD_COUNT; i++) {
		const uint64_t other = fixture_kernels(fixture_all_simd[i]) ? hash_with(2, fixture_all_simd[i], NULL) : hash;
		CHECK(other == hash);
	}
	fixture_tape tape = { 0 };
	CHECK(hash_with(1, CAROM_SIMD_AUTO, &tape) == hash);
	free(tape.bytes);
}

TEST(surface_cuts, every_allocation_may_fail)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *meshes[4] = { fixture_sheet_mesh(context, 5, 2), make_spike(context, 0.1, 0.3),
		fixture_box_mesh(context, 3, 0.05, 0.05), fixture_torus_mesh(context, 8, 5, 0.3, 0) };
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, fill_four, meshes, 4) > 10);
	for (int i = 0; i < 4; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
