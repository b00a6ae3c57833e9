/// Solids that a step of their solver has turned inside out, flattened or folded: what they enclose, and contacts that lead out. The
/// oracle of a solid that is inside out is another one at the same places, whose mesh has its triangles the other way round.
#include "cube_fixture.h"
#include "pool_fixture.h"

#include <stdlib.h>

enum { CELLS = 3, PARTNERS = 6, MOST_CONTACTS = 4096 };

static void set_cube(carom_world *world, carom_body_id id, const cube *g)
{
	const carom_strided end = { .data = g->place, .type = CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(world, id, NULL, &end) == CAROM_SUCCESS);
}

/// Stretch a cube along z about its middle, by a negative number to turn it inside out, and put its lower face at a height.
static void stretch(cube *g, double by, double lower)
{
	for (int32_t i = 0; i < g->vertex_count; i++)
		g->place[i][2] = by * (g->place[i][2] - 0.5) + 0.5 * fabs(by) + lower;
}

static carom_enclosed enclosed_by(const carom_world *world, carom_body_id id)
{
	carom_enclosed enclosed;
	REQUIRE(carom_world_get_enclosed(world, id, &enclosed) == CAROM_SUCCESS);
	return enclosed;
}

TEST(inside_out, what_a_solid_encloses_is_told)
{
	static const double factors[] = { 1, 0.05, 1e-3, 0, -0.01, -0.03, -1 };
	static cube rest, g;
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	make_cube(&rest, CELLS, 1);
	const carom_body_id id = add_cube(world, &rest);
	for (int i = 0; i < (int)(sizeof factors / sizeof *factors); i++) {
		g = rest;
		stretch(&g, factors[i], 100);
		set_cube(world, id, &g);
		const carom_enclosed now = enclosed_by(world, id);
		CHECK_NEAR(now.volume, factors[i], 1e-12);
		CHECK_NEAR(now.rest_volume, 1, 1e-6);
		CHECK(now.inside_out == (factors[i] < -0.02));
	}
	memset(g.place, 0, sizeof g.place); // a point
	set_cube(world, id, &g);
	CHECK(enclosed_by(world, id).volume == 0 && !enclosed_by(world, id).inside_out);
	for (int32_t i = 0; i < g.vertex_count; i++) // a line
		g.place[i][0] = 0.1 * i;
	set_cube(world, id, &g);
	CHECK(enclosed_by(world, id).volume == 0 && !enclosed_by(world, id).inside_out);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(inside_out, nothing_is_told_of_other_bodies)
{
	static cube g;
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	make_cube(&g, 1, 1);
	const carom_body_id solid = add_cube(world, &g);
	const carom_body_id rigid = fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	carom_mesh *sheet = fixture_sheet_mesh(context, 2, 1);
	const carom_body_id cloth = fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 0), CAROM_CLOTH);
	carom_enclosed enclosed;
	fixture_expect_wrong(context, carom_world_get_enclosed(world, solid, NULL), "carom_world_get_enclosed: enclosed is NULL");
	fixture_expect_wrong(
		context, carom_world_get_enclosed(world, rigid, &enclosed), "carom_world_get_enclosed: body (2, 1) does not deform");
	CHECK_INT(carom_world_get_enclosed(world, cloth, &enclosed), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "the mesh of body (3, 1) is open: ") != NULL);
	CHECK_INT(carom_world_get_enclosed(world, (carom_body_id){ 9, 1 }, &enclosed), CAROM_INVALID_BODY);
	carom_release_mesh(sheet);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Beside other bodies ----

typedef struct partners {
	carom_mesh *box, *ball;
	carom_shape shape[PARTNERS];
	carom_pose pose[PARTNERS];
} partners;

static void open_partners(carom_context *context, partners *p)
{
	p->box = fixture_box_mesh(context, 0.6, 0.7, 0.5);
	p->ball = fixture_sphere_mesh(context, 0.8, 9);
	const carom_shape shapes[PARTNERS] = { fixture_of_mesh(p->box), fixture_of_mesh(p->ball), fixture_sphere(0.8),
		fixture_box(2, 2, 0.5), fixture_capsule(0.3, 0.4), { .type = CAROM_PLANE } };
	static const double below[PARTNERS] = { 0.5, 0.8, 0.8, 0.5, 0.7, 0 };
	for (int i = 0; i < PARTNERS; i++) {
		p->shape[i] = shapes[i];
		p->pose[i] = fixture_at(0.03, 0.02, -below[i]);
	}
}

static void close_partners(partners *p)
{
	carom_release_mesh(p->box);
	carom_release_mesh(p->ball);
}

static carom_world *world_without_limit(carom_context *context, carom_temporal temporal)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	def.temporal = temporal;
	return fixture_world(context, &def);
}

/// Has the contact an equal among others, by place, normal, depth and kind?
static bool is_among(const carom_contact *c, carom_contact_view others)
{
	for (int i = 0; i < others.count; i++) {
		const carom_contact *o = &others.data[i];
		if (o->kind == c->kind && fabs((double)(o->depth - c->depth)) < 1e-5 &&
			v3d_length(v3d_sub(fixture_point(o), fixture_point(c))) < 1e-5 &&
			v3d_length(v3d_sub(fixture_normal(o), fixture_normal(c))) < 1e-4)
			return true;
	}
	return false;
}

static void check_same_contacts(const carom_world *world, const carom_world *other)
{
	const carom_contact_view a = carom_world_contacts(world), b = carom_world_contacts(other);
	if (!CHECK_INT(a.count, b.count))
		return;
	for (int i = 0; i < a.count; i++) {
		if (!CHECK(is_among(&a.data[i], b)))
			return;
	}
}

/// The corners of each contact of a solid lie where the contact does, or its partner on the solid. Returns how many act on an edge.
static int check_corners(const carom_world *world, carom_body_id id, const cube *g)
{
	const carom_contact_view c = carom_world_contacts(world);
	int edges = 0;
	for (int i = 0; i < c.count; i++) {
		const carom_contact *contact = &c.data[i];
		const bool is_a = fixture_same_id(contact->body_a, id);
		carom_contact_corners on;
		REQUIRE(carom_world_get_contact_corners(world, i, 1, is_a ? &on : NULL, is_a ? NULL : &on) == CAROM_SUCCESS);
		if (contact->kind != (is_a ? CAROM_EDGE_A : CAROM_EDGE_B))
			continue;
		v3d at = { 0, 0, 0 };
		for (int k = 0; k < on.count; k++)
			at = v3d_mad(at, on.weights[k], v3d_from_doubles(g->place[on.vertices[k]]));
		CHECK(v3d_length(v3d_sub(at, fixture_point(contact))) < 1e-4);
		edges++;
	}
	return edges;
}

/// The solid with its triangles the other way round, at the same places.
static void turn_round(cube *g)
{
	for (int32_t i = 0; i < g->triangle_count; i++) {
		const int32_t second = g->triangles[i][1];
		g->triangles[i][1] = g->triangles[i][2];
		g->triangles[i][2] = second;
	}
}

/// Put two solids, one inside out and one whose mesh is turned round, beside a shape, or beside another solid (NULL), and compare.
/// Returns the contacts on edges.
static int compare_turned(carom_context *context, const carom_shape *shape, carom_pose at, double by, double lower)
{
	static cube rest, round, g, other;
	uint64_t seed = 3;
	carom_world *worlds[2];
	carom_body_id ids[2];
	make_cube(&rest, CELLS, 1);
	round = rest;
	stretch(&round, -1, 0);
	turn_round(&round);
	g = rest;
	put_cube(&g, &seed, 0.3, (v3d){ 0, 0, 0 }, 0.02);
	stretch(&g, by, lower);
	make_cube(&other, CELLS, 1);
	put_cube(&other, &seed, 0, (v3d){ 0.1, 0.1, -1 }, 0.02);
	for (int i = 0; i < 2; i++) {
		worlds[i] = world_without_limit(context, CAROM_TEMPORAL_PREDICTIVE);
		ids[i] = add_cube(worlds[i], i == 0 ? &rest : &round);
		if (shape)
			fixture_add(worlds[i], *shape, at, CAROM_STATIC);
		else
			add_cube(worlds[i], &other);
		set_cube(worlds[i], ids[i], &g);
		fixture_step(worlds[i]);
		fixture_check_views(worlds[i]);
		CHECK(enclosed_by(worlds[i], ids[i]).inside_out == (i == 0));
	}
	CHECK(carom_world_contacts(worlds[0]).count > 0);
	check_same_contacts(worlds[0], worlds[1]);
	const int edges = check_corners(worlds[0], ids[0], &g);
	carom_destroy_world(worlds[0]);
	carom_destroy_world(worlds[1]);
	return edges;
}

TEST(inside_out, solids_have_the_contacts_of_their_outside)
{
	static const double by[] = { -1, -0.5, -0.05 };
	carom_context *context = fixture_context(1);
	partners p;
	open_partners(context, &p);
	int edges = 0;
	for (int i = 0; i < 3; i++) {
		for (int lower = 0; lower < 2; lower++) {
			for (int k = 0; k < PARTNERS; k++)
				edges += compare_turned(context, &p.shape[k], p.pose[k], by[i], lower == 0 ? -0.03 : by[i] / 3);
			edges += compare_turned(context, NULL, fixture_at(0, 0, 0), by[i], lower == 0 ? -0.03 : by[i] / 3);
		}
	}
	CHECK(edges > 10);
	close_partners(&p);
	carom_destroy_context(context);
}

// ---- From step to step ----

/// Turn a cube inside out and back in steps at random; most steps move it a little.
static void move_on(cube *g, uint64_t *seed, int step)
{
	static const double by[] = { 1, -1, 0.05, -0.05, 0, 0.5, -0.5 };
	static double now = 1;
	if (step % 4 == 0)
		now = step == 0 ? 1 : by[test_random(seed) % (sizeof by / sizeof *by)];
	make_cube(g, CELLS, 1);
	stretch(g, now, -0.02);
	put_cube(g, seed, 0, (v3d){ 0, 0, 0 }, 1e-3);
}

TEST(inside_out, pairs_remember_nothing_wrong)
{
	static cube g;
	carom_context *context = fixture_context(1);
	partners p;
	open_partners(context, &p);
	for (int k = 0; k < 2; k++) {
		uint64_t seed = 7;
		carom_world *worlds[2];
		carom_body_id ids[2];
		make_cube(&g, CELLS, 1);
		for (int i = 0; i < 2; i++) {
			worlds[i] = world_without_limit(context, i == 0 ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_PREDICTIVE);
			ids[i] = add_cube(worlds[i], &g);
			fixture_add(worlds[i], p.shape[k], p.pose[k], CAROM_STATIC);
		}
		for (int step = 0; step < 40; step++) {
			move_on(&g, &seed, step);
			for (int i = 0; i < 2; i++) {
				set_cube(worlds[i], ids[i], &g);
				fixture_step(worlds[i]);
			}
			check_same_contacts(worlds[0], worlds[1]);
		}
		carom_destroy_world(worlds[0]);
		carom_destroy_world(worlds[1]);
	}
	close_partners(&p);
	carom_destroy_context(context);
}

enum { ROW = 4, STEPS = 12 };

/// Solids in a row that turn inside out and back, above a mesh and beside each other.
typedef struct row {
	carom_world *world;
	partners partners;
	carom_body_id ids[ROW];
	cube g[ROW];
	uint64_t seed;
} row;

static void open_row(row *r, carom_context *context)
{
	*r = (row){ .world = world_without_limit(context, CAROM_TEMPORAL_PREDICTIVE), .seed = 11 };
	open_partners(context, &r->partners);
	for (int i = 0; i < ROW; i++) {
		make_cube(&r->g[i], CELLS, 1);
		r->ids[i] = add_cube(r->world, &r->g[i]);
		fixture_add(
			r->world, r->partners.shape[i % 4], fixture_at(0.95 * i, 0, r->partners.pose[i % 4].position.z), CAROM_STATIC);
	}
}

static void step_row(row *r, int step)
{
	uint64_t seed = r->seed + (uint64_t)step;
	for (int i = 0; i < ROW; i++) {
		make_cube(&r->g[i], CELLS, 1);
		stretch(&r->g[i], (step + i) % 3 == 0 ? -1 : (step + i) % 3 == 1 ? 0.4 : 0.01 * (i - 1), -0.02);
		put_cube(&r->g[i], &seed, 0, (v3d){ 0.95 * i, 0, 0 }, 1e-3);
		set_cube(r->world, r->ids[i], &r->g[i]);
	}
	fixture_step(r->world);
}

static void close_row(row *r)
{
	close_partners(&r->partners);
	carom_destroy_world(r->world);
}

static void run_row(int threads, uint64_t hashes[STEPS])
{
	static row r;
	carom_context *context = fixture_context(threads);
	open_row(&r, context);
	for (int step = 0; step < STEPS; step++) {
		step_row(&r, step);
		hashes[step] = carom_world_hash(r.world);
	}
	CHECK(carom_world_contacts(r.world).count > 50);
	close_row(&r);
	carom_destroy_context(context);
}

TEST(inside_out, threads_change_nothing)
{
	pool_require_threads();
	uint64_t one[STEPS], more[STEPS];
	run_row(TEST_LEAST_THREADS, one);
	run_row(3, more);
	CHECK(memcmp(one, more, sizeof one) == 0);
}

TEST(inside_out, worlds_go_back_to_a_snapshot_and_replay)
{
	static row r;
	carom_context *context = fixture_context(1);
	fixture_tape tape = { 0 };
	carom_snapshot *snapshot;
	uint64_t hashes[2][STEPS];
	open_row(&r, context);
	REQUIRE(carom_create_snapshot(r.world, &snapshot) == CAROM_SUCCESS);
	step_row(&r, 0); // one is inside out
	REQUIRE(carom_world_save(r.world, snapshot) == CAROM_SUCCESS);
	for (int turn = 0; turn < 2; turn++) {
		for (int step = 0; step < STEPS; step++) {
			step_row(&r, step);
			hashes[turn][step] = carom_world_hash(r.world);
		}
		REQUIRE(carom_world_restore(r.world, snapshot) == CAROM_SUCCESS);
	}
	CHECK(memcmp(hashes[0], hashes[1], sizeof hashes[0]) == 0);
	REQUIRE(carom_world_record(r.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	for (int step = 0; step < STEPS; step++)
		step_row(&r, step);
	REQUIRE(carom_world_record(r.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, STEPS);
	CHECK_INT(result.first_difference, -1);
	free(tape.bytes);
	carom_destroy_snapshot(snapshot);
	close_row(&r);
	carom_destroy_context(context);
}

/// A solid that is inside out, above a mesh.
static void put_turned(carom_world *world, void *mesh)
{
	static cube g;
	make_cube(&g, CELLS, 1);
	const carom_body_id id = add_cube(world, &g);
	stretch(&g, -1, -0.03);
	set_cube(world, id, &g);
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, -0.5), CAROM_STATIC);
}

TEST(inside_out, memory_that_fails_costs_the_step)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_box_mesh(context, 1, 1, 0.5);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, put_turned, mesh, 1) > 10);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

// ---- Bad forms ----

static double diagonal_of(const cube *g)
{
	double lower[3] = { 9, 9, 9 }, upper[3] = { -9, -9, -9 }, sum = 0;
	for (int32_t i = 0; i < g->vertex_count; i++) {
		for (int k = 0; k < 3 && g->used[i]; k++) {
			lower[k] = fmin(lower[k], g->place[i][k]);
			upper[k] = fmax(upper[k], g->place[i][k]);
		}
	}
	for (int k = 0; k < 3; k++)
		sum += (upper[k] - lower[k]) * (upper[k] - lower[k]);
	return sqrt(sum);
}

/// No contact is without a direction, and none pushes farther than the solid is large, or than it has sunk below the plane z = 0.
static void check_bounds(const carom_world *world, const cube *g, double sunk)
{
	const double most = fmax(diagonal_of(g), sunk) + 1e-4;
	const carom_contact_view c = carom_world_contacts(world);
	for (int i = 0; i < c.count; i++) {
		CHECK(fabs(v3d_length(fixture_normal(&c.data[i])) - 1) < 1e-4);
		CHECK(isfinite(c.data[i].point[0]) && isfinite(c.data[i].point[1]) && isfinite(c.data[i].point[2]));
		CHECK(c.data[i].depth >= 0 && c.data[i].depth <= most);
	}
}

TEST(inside_out, bad_forms_have_contacts_no_deeper_than_they_are)
{
	enum { EVERY = TEST_FEWER > 1 ? 5 : 1 };
	static cube g;
	carom_context *context = fixture_context(1);
	partners p;
	open_partners(context, &p);
	for (int form = 0; form < CUBE_FORMS; form++) {
		for (int i = form % EVERY; i < 3 * PARTNERS; i += EVERY) {
			static const double sinks[] = { 0.02, 0.2, 0.45 };
			const double sink = sinks[i / PARTNERS];
			carom_world *world = world_without_limit(context, CAROM_TEMPORAL_PREDICTIVE);
			make_cube(&g, 5, 1);
			const carom_body_id id = add_cube(world, &g);
			fixture_add(world, p.shape[i % PARTNERS], p.pose[i % PARTNERS], CAROM_STATIC);
			spoil_cube(&g, form);
			double lowest = 9;
			for (int32_t k = 0; k < g.vertex_count; k++)
				lowest = g.used[k] ? fmin(lowest, g.place[k][2]) : lowest;
			for (int32_t k = 0; k < g.vertex_count; k++)
				g.place[k][2] -= lowest + sink;
			set_cube(world, id, &g);
			fixture_step(world);
			fixture_check_views(world);
			check_bounds(world, &g, sink);
			if (form == 4 || form == 6 || form == 8)
				CHECK(carom_world_contacts(world).count > 0);
			carom_destroy_world(world);
		}
	}
	close_partners(&p);
	carom_destroy_context(context);
}
