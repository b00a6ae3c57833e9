/// Names of contacts of cloth with shapes that are no meshes: each place has one, which stays while the cloth trembles, and where
/// a place passes from one feature to the next its contact goes on.
#include "cuts_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 8, CELLS = 16, PLACES = (CELLS + 1) * (CELLS + 1) };

static const double KEPT = 0.015; // half the thickness

static carom_shape shape_of(int kind, const carom_mesh *hull)
{
	const carom_shape all[KINDS] = { fixture_sphere(0.4), fixture_box(0.3, 0.3, 0.3), fixture_capsule(0.2, 0.4),
		fixture_cylinder(0.3, 0.3), fixture_cone(0.4, 0.4), fixture_ellipsoid(0.4, 0.3, 0.2), fixture_hull(hull),
		fixture_box(0.2, 0.2, 0.2) };
	carom_shape shape = all[kind];
	if (kind == KINDS - 1)
		shape.rounding = 0.1;
	return shape;
}

/// Sheets whose vertices lie over a shape, a little nearer than they are to be.
typedef struct draped {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *hull;
	carom_body_id cloth;
	v3d rest[PLACES];
} draped;

static void add_cloth(draped *d, bool shape_impacts)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(d->sheet);
	def.thickness = 2 * KEPT;
	def.self_collision = false;
	def.shape_impacts = shape_impacts;
	REQUIRE(carom_world_add_body(d->world, &def, &d->cloth) == CAROM_SUCCESS);
}

static void open_draped(draped *d, int kind, const carom_world_def *world_def, carom_context *context)
{
	static const float points[] = { -0.4f, -0.3f, -0.2f, 0.5f, -0.2f, -0.3f, 0.1f, 0.4f, -0.2f, -0.3f, 0.1f, 0.4f, 0.3f, 0.1f,
		0.35f, 0, -0.3f, 0.3f };
	uint64_t seed = 11;
	d->context = context;
	d->hull = fixture_hull_mesh(context, points, 6);
	d->sheet = fixture_sheet_mesh(context, CELLS, 1);
	d->world = fixture_world(context, world_def);
	const carom_shape shape = shape_of(kind, d->hull);
	const carom_pose pose = { { 0.013, 0.021, 0 }, fixture_turn((v3d){ 0.3, 1, 0.2 }, 0.4 * (kind % 3)) };
	fixture_add(d->world, shape, pose, CAROM_STATIC);
	add_cloth(d, false);
	for (int i = 0; i < PLACES; i++) {
		const v3d over = { (i % (CELLS + 1)) / (double)CELLS - 0.5, (i / (CELLS + 1)) / (double)CELLS - 0.5, 0.7 };
		carom_closest_point nearest;
		bool found;
		REQUIRE(carom_shape_closest_point(context, &shape, &pose, over, INFINITY, &found, &nearest) == CAROM_SUCCESS && found);
		// Rough, so that no triangle is parallel to a face: there the nearest point is any.
		d->rest[i] = v3d_mad(nearest.point, test_random_double(&seed, 0.7, 0.9) * KEPT, nearest.normal);
	}
}

static void close_draped(draped *d)
{
	carom_destroy_world(d->world);
	carom_release_mesh(d->sheet);
	carom_release_mesh(d->hull);
}

static void put(draped *d, double by, uint64_t *seed)
{
	v3d places[PLACES];
	for (int i = 0; i < PLACES; i++) {
		const v3d off = { test_random_double(seed, -by, by), test_random_double(seed, -by, by),
			test_random_double(seed, -by, by) };
		places[i] = v3d_add(d->rest[i], off);
	}
	const carom_strided strided = { places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(d->world, d->cloth, NULL, &strided) == CAROM_SUCCESS);
}

static void tremble(draped *d, double by, uint64_t *seed)
{
	put(d, by, seed);
	fixture_step(d->world);
}

static v3d on_cloth(const carom_surface_shape_contact *c) { return v3d_mad(c->point, c->distance, c->normal); }

/// No feature has a vertex that its nearest point does not depend on, and no two have one place.
static void check_names(const carom_surface_shape_contact_view *view)
{
	for (int64_t i = 0; i < view->count; i++) {
		const carom_surface_shape_contact *c = &view->data[i];
		for (int k = 0; k < 3 && c->vertices[k] >= 0; k++)
			CHECK(c->weight[k] > 1e-9);
		for (int64_t j = 0; j < i; j++)
			CHECK(v3d_length(v3d_sub(on_cloth(c), on_cloth(&view->data[j]))) > 1e-9);
	}
}

TEST(surface_shape_match, cloth_that_trembles_keeps_its_contacts)
{
	enum { STEPS = 20 };
	draped d;
	uint64_t seed = 7;
	for (int kind = 0; kind < KINDS; kind++) {
		carom_context *context = fixture_context(1);
		int64_t fresh = 0, features = 0, seen = 0;
		open_draped(&d, kind, NULL, context);
		for (int step = 0; step < STEPS; step++) {
			tremble(&d, 1e-6, &seed);
			const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(d.world);
			CHECK(view.count > 50);
			check_names(&view);
			for (int64_t i = 0; i < view.count && step > 0; i++) {
				fresh += view.data[i].age == 0;
				features += view.data[i].vertices[1] >= 0;
				seen++;
			}
		}
		if (1000 * fresh > seen)
			printf("shape %d: %lld new contacts in %d steps\n", kind, (long long)fresh, STEPS - 1);
		// A nearest point that the tremble moves over an edge is new on the other face.
		CHECK(1000 * fresh <= seen);
		CHECK(features > 100);
		close_draped(&d);
		carom_destroy_context(context);
	}
}

/// The contact of the face that is nearest to the ball; NULL: there is none.
static const carom_surface_shape_contact *lowest(const carom_world *world, int64_t *number)
{
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(world);
	const carom_surface_shape_contact *best = NULL;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_shape_contact *c = &view.data[i];
		if (c->triangle < 0 || (best && best->distance <= c->distance))
			continue;
		best = c;
		*number = i;
	}
	return best;
}

/// Pull a flat sheet over a ball. Counts the faces that pass over it and those among them whose contact is new.
static void pull(const carom_world_def *def, int *passed, int *fresh)
{
	draped d;
	carom_context *context = fixture_context(1);
	int32_t last = -1;
	*passed = *fresh = 0;
	open_draped(&d, 0, def, context);
	for (int step = 0; step < 300; step++) {
		v3d places[PLACES];
		for (int i = 0; i < PLACES; i++)
			places[i] = (v3d){ (i % (CELLS + 1)) / (double)CELLS - 0.500371 + 0.001 * step,
				(i / (CELLS + 1)) / (double)CELLS - 0.500113 + 0.0004 * step, 0.405 };
		const carom_strided strided = { places, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(d.world, d.cloth, NULL, &strided) == CAROM_SUCCESS);
		fixture_step(d.world);
		int64_t number = 0;
		const carom_surface_shape_contact *c = lowest(d.world, &number);
		REQUIRE(c != NULL);
		*passed += last >= 0 && c->triangle != last;
		*fresh += last >= 0 && c->age == 0;
		CHECK(c->age == 0 || c->impulse[0] == 3);
		last = c->triangle;
		REQUIRE(carom_world_set_surface_shape_impulse(d.world, number, (float[]){ 3, 0, 0 }) == CAROM_SUCCESS);
	}
	close_draped(&d);
	carom_destroy_context(context);
}

TEST(surface_shape_match, a_place_that_passes_to_the_next_face_goes_on)
{
	carom_world_def def = carom_default_world_def();
	int passed, fresh;
	pull(NULL, &passed, &fresh);
	CHECK(passed > 5);
	CHECK_INT(fresh, 0);
	def.match_distance = 0;
	pull(&def, &passed, &fresh);
	CHECK_INT(fresh, passed);
}

/// Two triangles at an edge that runs over a shape: the edge is all that is near.
TEST(surface_shape_match, an_edge_between_triangles_has_one_name)
{
	static const int32_t triangles[6] = { 0, 1, 2, 1, 0, 3 };
	static const v3d rest[4] = { { 0, -0.5, 0.31 }, { 0, 0.5, 0.31 }, { 0.5, 0, 0.6 }, { -0.5, 0, 0.6 } };
	const carom_shape shapes[4] = { fixture_cylinder(0.3, 0.3), fixture_sphere(0.3), fixture_ellipsoid(0.2, 0.25, 0.3),
		fixture_capsule(0.1, 0.2) };
	carom_context *context = fixture_context(1);
	uint64_t seed = 3;
	for (int round = 0; round < 400; round++) {
		const double away = round % 8 < 4 ? 0 : 1000; // from the origin
		v3d places[4];
		carom_proximity *p;
		carom_proximity_view view;
		int32_t unused;
		for (int i = 0; i < 4; i++) {
			const v3d off = { test_random_double(&seed, -1e-6, 1e-6) + away, test_random_double(&seed, -1e-6, 1e-6),
				test_random_double(&seed, -1e-6, 1e-6) };
			places[i] = v3d_add(rest[i], off);
		}
		carom_sweep_mesh_def mesh = carom_default_sweep_mesh_def();
		mesh.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
		mesh.vertex_count = 4;
		mesh.triangles = triangles;
		mesh.triangle_count = 2;
		carom_proximity_shape_def shape = carom_default_proximity_shape_def();
		shape.shape = shapes[round % 4];
		shape.pose = fixture_at(away, 0, 0);
		REQUIRE(carom_create_proximity(context, NULL, &p) == CAROM_SUCCESS);
		REQUIRE(carom_proximity_add_mesh(p, &mesh, &unused) == CAROM_SUCCESS);
		REQUIRE(carom_proximity_add_shape(p, &shape, &unused) == CAROM_SUCCESS);
		REQUIRE(carom_proximity_find(p, 0.03, &view) == CAROM_SUCCESS);
		CHECK_INT(view.shape_pair_count, 1);
		CHECK(view.shape_pair_count == 1 && view.shape_pairs[0].vertices[1] == 1 && view.shape_pairs[0].vertices[2] == -1);
		carom_destroy_proximity(p);
	}
	carom_destroy_context(context);
}

/// Impacts are named by the same rule.
TEST(surface_shape_match, impacts_have_one_name)
{
	uint64_t seed = 5;
	int64_t features = 0;
	for (int round = 0; round < 40; round++) {
		draped d;
		carom_context *context = fixture_context(1);
		carom_world_def def = carom_default_world_def();
		def.sweep.min_separation = 0.01;
		d.sheet = fixture_sheet_mesh(context, CELLS, 1);
		d.world = fixture_world(context, &def);
		const carom_pose pose = fixture_random_pose(&seed, 0.05);
		fixture_add(d.world, round % 2 ? fixture_box(0.3, 0.3, 0.3) : fixture_cylinder(0.3, 0.3), pose, CAROM_STATIC);
		add_cloth(&d, true);
		for (int end = 0; end < 2; end++) {
			v3d places[PLACES];
			for (int i = 0; i < PLACES; i++)
				places[i] = (v3d){ (i % (CELLS + 1)) / (double)CELLS - 0.5, (i / (CELLS + 1)) / (double)CELLS - 0.5,
					end == 0 ? 0.7 : 0.3 + test_random_double(&seed, -1e-3, 1e-3) };
			const carom_strided strided = { places, 0, CAROM_FLOAT64 };
			REQUIRE(carom_world_set_vertices(d.world, d.cloth, end == 0 ? &strided : NULL, end == 0 ? NULL : &strided) ==
				CAROM_SUCCESS);
		}
		fixture_step(d.world);
		const carom_shape_impact_view view = carom_world_shape_impacts(d.world);
		CHECK(view.count > 0);
		for (int64_t i = 0; i < view.count; i++) {
			const carom_shape_impact *a = &view.data[i];
			for (int k = 0; k < 3 && a->vertices[k] >= 0; k++)
				CHECK(a->weight[k] > 1e-9);
			for (int64_t j = 0; j < i; j++)
				CHECK(v3d_length(v3d_sub(a->point, view.data[j].point)) > 1e-9 || fabs(a->time - view.data[j].time) > 1e-9);
			features += a->vertices[1] >= 0;
		}
		carom_destroy_world(d.world);
		carom_release_mesh(d.sheet);
		carom_destroy_context(context);
	}
	CHECK(features > 20);
}

TEST(surface_shape_match, every_allocation_may_fail)
{
	static fixture_heap heap;
	int failed = 0;
	for (bool done = false; !done; failed += !done) {
		draped d;
		uint64_t seed = 1;
		carom_context *context = fixture_heap_context(&heap, 1);
		open_draped(&d, 3, NULL, context);
		tremble(&d, 1e-6, &seed);
		for (int i = 0; i < PLACES; i++)
			d.rest[i].x += 0.01;
		put(&d, 0.001, &seed);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		done = carom_world_step(d.world) == CAROM_SUCCESS;
		atomic_store(&heap.fail_at, -1);
		fixture_step(d.world);
		CHECK(carom_world_surface_shape_contacts(d.world).count > 50);
		close_draped(&d);
		carom_destroy_context(context);
		CHECK_INT(heap.blocks, 0);
	}
	CHECK(failed > 3);
}
