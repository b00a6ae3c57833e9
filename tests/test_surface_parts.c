/// Parts of surfaces that move: boxes and ways against all vertices, and the bound on how far points of two bodies that meet, or have passed
/// each other, moved against each other.
#include "fixture.h"
#include "test.h"

#include "frame/pipeline.h"
#include "surface/surface.h"
#include "world/world.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST = 700, STEPS = 90, BODIES = 2 };

typedef struct solid {
	carom_mesh *mesh;
	cr_deforming deforming;
	double now[MOST][3], then[MOST][3];
} solid;

static cr_surface *surface_of(solid *s) { return &s->deforming.surface; }

static void set_places(solid *s, cr_body *body)
{
	const carom_strided end = { s->now, 0, CAROM_FLOAT64 };
	body->stir += cr_surface_set_end(surface_of(s), &end);
	body->moved = true;
}

static void open_solid(carom_context *context, solid *s, cr_body *body, double x)
{
	cr_surface *surface = surface_of(s);
	REQUIRE(cr_surface_init(context, &s->mesh->collider, &s->mesh->report, true, surface) == CAROM_SUCCESS);
	REQUIRE(surface->vertex_count <= MOST);
	for (int64_t i = 0; i < surface->vertex_count; i++) {
		for (int k = 0; k < 3; k++)
			s->now[i][k] = (double)s->mesh->topology.vertices[3 * i + k] + (k == 0 ? x : 0);
		memcpy(&surface->begin[3 * i], s->now[i], sizeof s->now[i]);
		memcpy(&surface->end[3 * i], s->now[i], sizeof s->now[i]);
	}
	cr_surface_touch(surface);
	*body = (cr_body){ .alive = true,
		.moved = true,
		.kind = CAROM_DEFORMABLE,
		.shape = { .family = CR_FAMILY_MESH },
		.own = { .deforming = &s->deforming },
		.pose = carom_pose_identity() };
}

static void open_solids(carom_context *context, solid s[BODIES], cr_body bodies[BODIES])
{
	s[0].mesh = fixture_torus_mesh(context, 40, 16, 0.4, 0.1);
	s[1].mesh = fixture_sphere_mesh(context, 0.9, 16);
	for (int i = 0; i < BODIES; i++)
		open_solid(context, &s[i], &bodies[i], 1.7 * i);
}

static void close_solids(carom_context *context, solid s[BODIES])
{
	for (int i = 0; i < BODIES; i++) {
		cr_surface_free(surface_of(&s[i]));
		carom_release_mesh(s[i].mesh);
	}
	carom_destroy_context(context);
}

/// A step begins, as the pipeline begins it.
static void begin_step(carom_context *context, cr_body bodies[BODIES])
{
	cr_bodies_update(context, bodies, NULL, BODIES, 0);
	for (int i = 0; i < BODIES; i++)
		bodies[i].moved = false;
}

static void end_step(cr_body bodies[BODIES])
{
	for (int i = 0; i < BODIES; i++)
		bodies[i].stir = 0;
}

/// The vertices to the left of some place move by a random way of at most the given length; the others stay.
static void stir(solid *s, cr_body *body, uint64_t *seed, double left_of, double length)
{
	for (int32_t i = 0; i < surface_of(s)->vertex_count; i++) {
		for (int k = 0; k < 3 && s->now[i][0] < left_of; k++)
			s->now[i][k] += test_random_double(seed, -length, length);
	}
	set_places(s, body);
}

static double way_of(const double *p, const double *q)
{
	const double d[3] = { p[0] - q[0], p[1] - q[1], p[2] - q[2] };
	return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/// Is each triangle in the box of a part whose way is at least that of the triangle's corners since so many turns?
static void check_parts(solid *s, const double (*then)[3], uint32_t turns)
{
	const cr_surface_parts *parts = &surface_of(s)->parts;
	const cr_topology *t = &s->mesh->topology;
	CHECK(parts->count > 8);
	for (int32_t i = 0; i < t->triangle_count; i++) {
		const int32_t *corners = &t->triangles[3 * (int64_t)i];
		int held = 0;
		for (int32_t p = 0; p < parts->count && !held; p++) {
			const cr_surface_part *part = &parts->data[p];
			int listed = 0;
			for (int32_t n = parts->first[p]; n < parts->first[p + 1]; n++)
				listed +=
					parts->vertices[n] == corners[0] || parts->vertices[n] == corners[1] || parts->vertices[n] == corners[2];
			held = listed == 3;
			for (int c = 0; c < 3 && held; c++) {
				for (int k = 0; k < 3; k++)
					CHECK(part->lower[k] <= s->now[corners[c]][k] && s->now[corners[c]][k] <= part->upper[k]);
				CHECK(way_of(s->now[corners[c]], then[corners[c]]) <= cr_part_growth(parts, p, turns, INFINITY));
			}
		}
		CHECK(held);
	}
}

TEST(surface_parts, ways_are_never_less_than_those_of_vertices)
{
	carom_context *context = fixture_context(1);
	solid s[BODIES];
	cr_body bodies[BODIES];
	open_solids(context, s, bodies);
	static double places[STEPS][MOST][3];
	uint64_t seed = 7;
	for (int step = 0; step < STEPS; step++) {
		stir(&s[0], &bodies[0], &seed, step % 3 ? 0.2 : -0.5, 0.01);
		begin_step(context, bodies);
		end_step(bodies);
		CHECK_INT(surface_of(&s[0])->parts.turns, step + 1);
		memcpy(places[step], s[0].now, sizeof s[0].now);
		for (int then = step; then >= 0; then -= 7 + then / 4)
			check_parts(&s[0], (const double(*)[3])places[then], (uint32_t)then + 1);
	}
	// Far back only the way of the whole is known; parts that rest have no way but roundings.
	const cr_surface_parts *parts = &surface_of(&s[0])->parts;
	int resting = 0;
	for (int32_t i = 0; i < parts->count; i++) {
		CHECK(cr_part_growth(parts, i, 1, 123) == 123);
		resting += cr_part_growth(parts, i, STEPS - 40, 123) < 1e-4;
	}
	CHECK(resting > 0 && resting < parts->count);
	close_solids(context, s);
}

static cr_reference note(const cr_body bodies[BODIES])
{
	cr_reference now = { 0 };
	cr_note_paths(&bodies[0], &bodies[1], &now);
	return now;
}

/// Of all pairs of vertices that are now within reach: the bound holds.
static void check_bound(const solid s[BODIES], const cr_body bodies[BODIES], const cr_reference *then, int64_t *near)
{
	const double reach = 0.05;
	const cr_shared_region region = cr_find_shared_region(&bodies[0], &bodies[1]);
	const double bound = cr_motion_of_parts(&bodies[0], &bodies[1], &region, reach, then);
	for (int32_t i = 0; i < s[0].deforming.surface.vertex_count; i++) {
		for (int32_t k = 0; k < s[1].deforming.surface.vertex_count; k++) {
			const double apart = way_of(s[0].now[i], s[1].now[k]);
			if (apart > reach)
				continue;
			CHECK(way_of(s[0].then[i], s[1].then[k]) <= apart + bound + 1e-12);
			++*near;
		}
	}
}

TEST(surface_parts, bound_holds_for_all_that_is_near)
{
	carom_context *context = fixture_context(1);
	solid s[BODIES];
	cr_body bodies[BODIES];
	open_solids(context, s, bodies);
	uint64_t seed = 11;
	int64_t near = 0;
	int less = 0;
	for (int round = 0; round < 40; round++) {
		const int steps = 1 + (int)test_random_double(&seed, 0, 20);
		begin_step(context, bodies);
		const cr_reference then = note(bodies);
		end_step(bodies);
		for (int i = 0; i < BODIES; i++)
			memcpy(s[i].then, s[i].now, sizeof s[i].now);
		for (int step = 0; step < steps; step++) {
			// The far end of the ring swings, and sometimes all of it moves.
			stir(&s[0], &bodies[0], &seed, round % 4 ? -0.6 : 9, round % 4 ? 0.01 : 0.002);
			stir(&s[1], &bodies[1], &seed, 9, 0.001);
			begin_step(context, bodies);
			end_step(bodies);
		}
		check_bound(s, bodies, &then, &near);
		const cr_shared_region region = cr_find_shared_region(&bodies[0], &bodies[1]);
		const double whole = bodies[0].path - then.path[0] + bodies[1].path - then.path[1];
		less += cr_motion_of_parts(&bodies[0], &bodies[1], &region, 0.05, &then) < 0.5 * whole;
	}
	CHECK(near > 100);
	CHECK(less > 20); // while the far end swings
	close_solids(context, s);
}

/// A vertex of b goes straight past a vertex of a, which was near it or not: the bound holds though they are no longer near.
TEST(surface_parts, bound_holds_for_what_has_passed)
{
	carom_context *context = fixture_context(1);
	solid s[BODIES];
	cr_body bodies[BODIES];
	open_solids(context, s, bodies);
	uint64_t seed = 5;
	int passed = 0;
	for (int round = 0; round < 400; round++) {
		begin_step(context, bodies);
		const cr_reference then = note(bodies);
		end_step(bodies);
		for (int i = 0; i < BODIES; i++)
			memcpy(s[i].then, s[i].now, sizeof s[i].now);
		const int to = round % 2, from = 1 - to;
		const int32_t still = (int32_t)test_random_double(&seed, 0, surface_of(&s[from])->vertex_count - 1);
		const int32_t goes = (int32_t)test_random_double(&seed, 0, surface_of(&s[to])->vertex_count - 1);
		const double beyond = test_random_double(&seed, 0, 3);
		for (int k = 0; k < 3; k++)
			s[to].now[goes][k] += (1 + beyond) * (s[from].now[still][k] - s[to].now[goes][k]);
		set_places(&s[to], &bodies[to]);
		begin_step(context, bodies);
		end_step(bodies);
		const double *p = s[from].now[still];
		bool inside = true;
		for (int k = 0; k < 3; k++)
			inside = inside && bodies[to].lower[k] <= p[k] && p[k] <= bodies[to].upper[k];
		const cr_shared_region region = cr_find_shared_region(&bodies[0], &bodies[1]);
		if (inside)
			CHECK(
				way_of(s[from].then[still], s[to].then[goes]) <= cr_motion_of_parts(&bodies[0], &bodies[1], &region, 0, &then));
		passed += inside;
		memcpy(s[to].now, s[to].then, sizeof s[to].now);
		set_places(&s[to], &bodies[to]);
	}
	CHECK(passed > 100);
	close_solids(context, s);
}

TEST(surface_parts, every_allocation_may_fail)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 0.9, 16);
	int failed = 0;
	for (int64_t fail_at = 0;; fail_at++) {
		cr_surface_parts parts;
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + fail_at);
		const bool made = cr_parts_build(context, &mesh->collider, &parts);
		atomic_store(&heap.fail_at, -1);
		CHECK(made ? parts.count > 0 && parts.data : !parts.data && !parts.vertices && parts.count == 0);
		cr_parts_free(context, &parts);
		failed += !made;
		if (made)
			break;
	}
	CHECK_INT(failed, 7);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
