/// Cloth that begins across closed meshes while the corners of what cuts them are outside: spikes through a sheet, rods across
/// large triangles, a lumpy body under a coarse sheet. A small solver parts them; contacts are those of brute force; nothing is found
/// where nothing crosses.
#include "fixture.h"

#include "frame/body.h"
#include "geom/triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VERTICES = 1200 };

#define THICKNESS 0.01

/// A sheet of cloth and a closed mesh.
typedef struct stage {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *mesh;
	carom_body_id cloth, holder;
	int32_t sheet_vertices;
	double places[3 * MOST_VERTICES];  // of the sheet
	double surface[3 * MOST_VERTICES]; // of the mesh
} stage;

static void place(const carom_mesh *mesh, carom_pose pose, double *places)
{
	const m3d rotation = m3d_from_quat(pose.orientation);
	REQUIRE(mesh->topology.vertex_count <= MOST_VERTICES);
	for (int32_t v = 0; v < mesh->topology.vertex_count; v++) {
		const v3d p = v3d_add(m3d_mul(&rotation, v3d_from_floats(mesh->topology.vertices + 3 * v)), pose.position);
		for (int k = 0; k < 3; k++)
			places[3 * v + k] = v3d_get(p, k);
	}
}

static void move_sheet(stage *s, bool at_once)
{
	const carom_strided end = { s->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, at_once ? &end : NULL, &end) == CAROM_SUCCESS);
}

/// Both meshes are the stage's afterwards. solid_first: the mesh has the lower number.
static void open_stage(stage *s, carom_context *context, carom_mesh *sheet, carom_mesh *mesh, carom_body_kind kind,
	carom_pose pose, bool solid_first)
{
	carom_body_def def = carom_default_body_def();
	s->context = context;
	s->world = fixture_world(context, NULL);
	s->sheet = sheet;
	s->mesh = mesh;
	s->sheet_vertices = sheet->topology.vertex_count;
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(sheet);
	def.thickness = THICKNESS;
	if (solid_first)
		s->holder = fixture_add(s->world, fixture_of_mesh(mesh), pose, kind);
	REQUIRE(carom_world_add_body(s->world, &def, &s->cloth) == CAROM_SUCCESS);
	if (!solid_first)
		s->holder = fixture_add(s->world, fixture_of_mesh(mesh), pose, kind);
	place(mesh, pose, s->surface);
	place(sheet, fixture_at(0, 0, 0), s->places);
}

static void put_sheet(stage *s, carom_pose pose)
{
	place(s->sheet, pose, s->places);
	move_sheet(s, true);
}

static void close_stage(stage *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->mesh);
	carom_release_mesh(s->sheet);
}

// ---- Brute force ----

static v3d corner_of(const carom_mesh *mesh, const double *places, int32_t triangle, int k)
{
	return v3d_from_doubles(&places[3 * mesh->topology.triangles[3 * triangle + k]]);
}

/// Pairs of triangles that cross.
static int count_crossings(const stage *s)
{
	int count = 0;
	for (int32_t i = 0; i < s->sheet->topology.triangle_count; i++) {
		for (int32_t j = 0; j < s->mesh->topology.triangle_count; j++) {
			v3d a[3], b[3];
			for (int k = 0; k < 3; k++) {
				a[k] = corner_of(s->sheet, s->places, i, k);
				b[k] = corner_of(s->mesh, s->surface, j, k);
			}
			count += cr_triangles_intersect(a, b);
		}
	}
	return count;
}

static v3d place_of(const stage *s, carom_body_id body, int32_t vertex)
{
	return v3d_from_doubles((fixture_same_id(body, s->cloth) ? s->places : s->surface) + 3 * vertex);
}

/// Contacts are of their features: points by weights, and as far apart as they say.
static void check_contacts(const stage *s)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		v3d a = { 0, 0, 0 }, b = { 0, 0, 0 };
		for (int k = 0; k < 4; k++) {
			const v3d at = place_of(s, k < of_a ? c->body_a : c->body_b, c->vertices[k]);
			CHECK(c->weight[k] >= 0 && c->weight[k] <= 1);
			if (k < of_a)
				a = v3d_mad(a, c->weight[k], at);
			else
				b = v3d_mad(b, c->weight[k], at);
		}
		CHECK(v3d_length(v3d_sub(a, fixture_vector(c->point_a))) < 1e-9);
		CHECK(v3d_length(v3d_sub(b, fixture_vector(c->point_b))) < 1e-9);
		CHECK_NEAR(v3d_length(fixture_vector(c->normal)), 1, 1e-9);
		CHECK_NEAR(v3d_dot(fixture_vector(c->normal), v3d_sub(a, b)), c->distance, 1e-6);
		CHECK(c->distance < c->thickness);
		CHECK(c->through == (c->distance < 0));
	}
}

// ---- A user ----

/// The user keeps edges as long as they were.
static bool keep_edges;

static void shorten(stage *s)
{
	const cr_topology *t = &s->sheet->topology;
	for (int round = 0; round < 10; round++) {
		for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
			const int32_t a = t->triangles[i], b = t->triangles[i - i % 3 + (i + 1) % 3];
			const v3d now = v3d_sub(v3d_from_doubles(&s->places[3 * b]), v3d_from_doubles(&s->places[3 * a]));
			const double rest = v3d_length(v3d_sub(v3d_from_floats(t->vertices + 3 * b), v3d_from_floats(t->vertices + 3 * a)));
			const double by = 0.5 * (1 - rest / v3d_length(now));
			for (int k = 0; k < 3; k++) {
				s->places[3 * a + k] += by * v3d_get(now, k);
				s->places[3 * b + k] -= by * v3d_get(now, k);
			}
		}
	}
}

/// Each vertex of the sheet moves by the mean of what its contacts ask for.
static void solve(stage *s)
{
	static v3d moves[MOST_VERTICES];
	static double shares[MOST_VERTICES];
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	memset(moves, 0, sizeof moves);
	memset(shares, 0, sizeof shares);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		const bool is_a = fixture_same_id(c->body_a, s->cloth);
		double sum = 0;
		for (int k = is_a ? 0 : of_a; k < (is_a ? of_a : 4); k++)
			sum += c->weight[k] * c->weight[k];
		for (int k = is_a ? 0 : of_a; k < (is_a ? of_a : 4); k++) {
			const double by = (is_a ? 1 : -1) * (c->thickness - c->distance) * c->weight[k] / sum;
			moves[c->vertices[k]] = v3d_mad(moves[c->vertices[k]], c->weight[k] * by, fixture_vector(c->normal));
			shares[c->vertices[k]] += c->weight[k];
		}
	}
	for (int32_t v = 0; v < s->sheet_vertices; v++) {
		for (int k = 0; k < 3 && shares[v] > 0; k++)
			s->places[3 * v + k] += v3d_get(moves[v], k) / shares[v];
	}
	if (keep_edges)
		shorten(s);
	move_sheet(s, false);
}

/// Step and solve; returns the first step without crossings.
static int part(stage *s, int steps)
{
	for (int step = 0; step < steps; step++) {
		fixture_step(s->world);
		check_contacts(s);
		if (count_crossings(s) == 0)
			return step;
		solve(s);
	}
	return steps;
}

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
static double height_over(const stage *s, double x, double y)
{
	double height = -INFINITY;
	for (int32_t i = 0; i < s->sheet->topology.triangle_count; i++) {
		v3d c[3];
		for (int k = 0; k < 3; k++)
			c[k] = v3d_sub(corner_of(s->sheet, s->places, i, k), (v3d){ x, y, 0 });
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
		static stage s;
		const double shift = test_random_double(&seed, -0.15, 0.15), tilt = test_random_double(&seed, 0, 0.5);
		open_stage(&s, context, fixture_sheet_mesh(context, 1 + round % 3, 4), make_spike(context, 0.2, 1), kind_of(round),
			fixture_at(0, 0, 0), round / 2 % 2);
		put_sheet(&s, lie((v3d){ 0.3 + shift, 0.2, 0.6 }, tilt, (v3d){ 1, round % 5, 0 }, round % 4 > 1));
		CHECK(count_crossings(&s) > 0);
		const int steps = part(&s, 20);
		CHECK(steps > 0 && steps < 20);
		CHECK(height_over(&s, 0, 0) > 0.99); // over the tip
		close_stage(&s);
	}
	carom_destroy_context(context);
}

TEST(surface_cuts, a_nail_goes_back_by_its_shorter_end_and_stays_with_it)
{
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 8; round++) {
		static stage s;
		open_stage(&s, context, fixture_sheet_mesh(context, 2, 4), fixture_box_mesh(context, 0.05, 0.05, 0.5), kind_of(round),
			fixture_at(0, 0, 0), round / 2 % 2);
		const double sign = round < 4 ? 1 : -1;
		put_sheet(&s, lie((v3d){ 0.3, 0.7, sign * 0.2 }, 0, (v3d){ 1, 0, 0 }, round % 4 > 1));
		for (int step = 0; step < 4; step++) { // the shorter end, which soon is the longer one
			fixture_step(s.world);
			check_contacts(&s);
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
				move_sheet(&s, false);
		}
		close_stage(&s);
	}
	carom_destroy_context(context);
}

TEST(surface_cuts, a_rod_across_triangles_goes_out_to_one_side)
{
	uint64_t seed = 5;
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 24; round++) {
		static stage s;
		open_stage(&s, context, fixture_sheet_mesh(context, 1 + round % 3, 4), fixture_box_mesh(context, 5, 0.1, 0.1),
			kind_of(round), fixture_at(0, 0, 0), round / 2 % 2);
		put_sheet(&s,
			lie((v3d){ 0.1, 0.3, test_random_double(&seed, -0.04, 0.04) }, test_random_double(&seed, -0.15, 0.15),
				(v3d){ 1, 0.2, 2 }, false));
		CHECK(count_crossings(&s) > 0);
		const int steps = part(&s, 20);
		CHECK(steps > 0 && steps < 20);
		close_stage(&s);
	}
	carom_destroy_context(context);
}

TEST(surface_cuts, a_round_body_comes_out_of_a_coarse_sheet)
{
	uint64_t seed = 9;
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 12; round++) {
		static stage s;
		open_stage(&s, context, fixture_sheet_mesh(context, 1 + round % 4, 6), fixture_sphere_mesh(context, 0.4, 12),
			kind_of(round), fixture_at(0, 0, 0), round / 2 % 2);
		put_sheet(&s,
			lie((v3d){ test_random_double(&seed, -0.5, 0.5), 0.2, test_random_double(&seed, 0.1, 0.3) },
				test_random_double(&seed, -0.1, 0.1), (v3d){ 1, 0.5, 0 }, round % 4 > 1));
		CHECK(part(&s, 30) < 30);
		close_stage(&s);
	}
	carom_destroy_context(context);
}

/// A plate with spikes, which a sheet that does not stretch has in its meshes.
TEST(surface_cuts, many_spikes_leave_a_sheet_whose_edges_stay)
{
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 4; round++) {
		static stage s;
		open_stage(
			&s, context, fixture_sheet_mesh(context, 7, 2), make_bed(context), kind_of(round), fixture_at(0, 0, 0), round > 1);
		put_sheet(&s, lie((v3d){ 0.03, -0.02, 0.17 }, 0.05, (v3d){ 1, 2, 0 }, round % 4 > 1));
		CHECK(count_crossings(&s) > 20);
		keep_edges = true;
		CHECK(part(&s, 40) < 40);
		keep_edges = false;
		close_stage(&s);
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
		static stage s;
		open_stage(&s, context, fixture_sheet_mesh(context, 3, 2),
			which < 2 ? make_spike(context, 0.3, 1) : fixture_box_mesh(context, 1, 0.1, 0.1), kind_of(which),
			fixture_at(0, 0, 0), which % 2);
		for (int round = 0; round < 60; round++) {
			put_sheet(&s, fixture_at(0, 0, 9)); // nothing is remembered there
			fixture_step(s.world);
			put_sheet(&s, fixture_random_pose(&seed, which < 2 ? 0.8 : 1));
			fixture_step(s.world);
			check_contacts(&s);
			if (count_crossings(&s) == 0)
				CHECK_INT(fixture_count_through(s.world), 0);
			apart += count_crossings(&s) == 0;
			crossing += count_crossings(&s) > 0 && fixture_count_through(s.world) > 0;
		}
		close_stage(&s);
	}
	CHECK(apart > 60 && crossing > 60);
	carom_destroy_context(context);
}

// ---- Threads, memory, recordings ----

static void fill_three(carom_world *world, void *user)
{
	carom_mesh **meshes = user;
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	fixture_add(world, fixture_of_mesh(meshes[1]), fixture_at(0, 0, 0), CAROM_STATIC);
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(meshes[0]);
	def.thickness = THICKNESS;
	def.pose = fixture_at(0.03, -0.02, 0.17);
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	fixture_add(world, fixture_of_mesh(meshes[2]), fixture_at(0.01, 0, 0.17), CAROM_DEFORMABLE);
}

static uint64_t hash_with(int threads, carom_simd simd, fixture_tape *tape)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	def.simd = simd;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 0;
	carom_mesh *meshes[3] = { fixture_sheet_mesh(context, 7, 2), make_bed(context), fixture_box_mesh(context, 3, 0.05, 0.05) };
	carom_world *world = fixture_world(context, NULL);
	if (tape)
		REQUIRE(carom_world_record(world, fixture_write_tape, tape) == CAROM_SUCCESS);
	fill_three(world, meshes);
	uint64_t hash = 0;
	for (int step = 0; step < 3; step++) {
		fixture_step(world);
		hash = hash * 31 + carom_world_hash(world);
	}
	CHECK(carom_world_surface_contacts(world).count > 60);
	if (tape)
		REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_destroy_world(world);
	for (int i = 0; i < 3; i++)
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
	carom_mesh *meshes[3] = { fixture_sheet_mesh(context, 2, 2), make_spike(context, 0.1, 0.3),
		fixture_box_mesh(context, 3, 0.05, 0.05) };
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, fill_three, meshes, 3) > 10);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
