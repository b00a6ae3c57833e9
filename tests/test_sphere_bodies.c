/// Granular bodies: their contacts against bodies of one sphere each, their pairs against brute force; cloth and solids; filters, flags,
/// misuse; threads, failed allocations, budgets, recordings, snapshots.
#include "fixture.h"

#include "geom/triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAINS = 700 };

static carom_body_def grains_def(const double *spheres, int32_t count)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = count;
	def.centres = fixture_centres(spheres);
	def.radii = fixture_radii(spheres);
	return def;
}

static carom_body_id add_grains(carom_world *world, const double *spheres, int32_t count)
{
	const carom_body_def def = grains_def(spheres, count);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

/// [4*count] in a box about the origin.
static void scatter(double *spheres, int32_t count, double span, double least, double most, uint64_t *seed)
{
	for (int32_t i = 0; i < count; i++) {
		for (int k = 0; k < 3; k++)
			spheres[4 * i + k] = test_random_double(seed, -span, span);
		spheres[4 * i + 3] = test_random_double(seed, least, most);
	}
}

// ---- Contacts with bodies of other kinds ----

enum { MESHES = 4, SHAPES = 13 };

typedef struct scenery {
	carom_mesh *mesh[MESHES];
	carom_shape shape[SHAPES];
	carom_pose pose[SHAPES];
} scenery;

static scenery make_scenery(carom_context *context)
{
	const float points[] = { 0, 0, 1, 1, 0, 0, 0, 1, 0, -1, 0, 0, 0, -1, 0, 0.2f, 0.3f, -1 };
	scenery s = { .mesh = { fixture_torus_mesh(context, 24, 12, 0.35, 0.2), fixture_sphere_mesh(context, 1.2, 8),
					  fixture_sheet_mesh(context, 6, 4), fixture_hull_mesh(context, points, 6) } };
	const carom_shape shapes[SHAPES] = { fixture_of_mesh(s.mesh[0]), fixture_of_mesh(s.mesh[1]), fixture_of_mesh(s.mesh[2]),
		fixture_hull(s.mesh[3]), fixture_box(0.8, 0.5, 0.3), fixture_sphere(0.7), fixture_capsule(0.4, 0.8),
		fixture_cylinder(0.5, 0.6), fixture_cone(0.6, 0.7), fixture_ellipsoid(0.9, 0.5, 0.4), { .type = CAROM_PLANE },
		fixture_of_mesh(s.mesh[0]), fixture_box(0.3, 0.3, 0.3) };
	uint64_t seed = 5;
	for (int i = 0; i < SHAPES; i++) {
		s.shape[i] = shapes[i];
		s.pose[i] = fixture_random_pose(&seed, 1.8);
		if (shapes[i].type == CAROM_PLANE)
			s.pose[i].position.z = -1.5;
	}
	s.shape[SHAPES - 1].rounding = 0.1;
	return s;
}

static void drop_scenery(scenery *s)
{
	for (int i = 0; i < MESHES; i++)
		carom_release_mesh(s->mesh[i]);
}

/// Bodies of all kinds that rigid ones have, and two shapes in one.
static void add_scenery(carom_world *world, const scenery *s)
{
	for (int i = 0; i + 2 < SHAPES; i++)
		fixture_add(
			world, s->shape[i], s->pose[i], s->shape[i].type == CAROM_PLANE || i % 3 == 0 ? CAROM_STATIC : CAROM_KINEMATIC);
	const carom_part parts[2] = { { s->shape[SHAPES - 2], fixture_at(0, 0, 1), 0 },
		{ s->shape[SHAPES - 1], fixture_at(1, 0, 0), 0 } };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_STATIC;
	def.parts = parts;
	def.part_count = 2;
	def.pose = s->pose[SHAPES - 1];
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
}

/// Grains in one world, a body of a sphere for each in another; then the scenery in both. Bodies of spheres have lower numbers: all
/// are A.
static void check_against_bodies(const double *spheres, int32_t count, double ahead)
{
	carom_context *context = fixture_context(2);
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = ahead;
	carom_world *grains = fixture_world(context, &def), *bodies = fixture_world(context, &def);
	scenery s = make_scenery(context);
	add_grains(grains, spheres, count);
	for (int32_t i = 0; i < count; i++) {
		carom_body_def ball = carom_default_body_def();
		ball.shape = fixture_sphere(spheres[4 * i + 3]);
		ball.pose = fixture_at(spheres[4 * i], spheres[4 * i + 1], spheres[4 * i + 2]);
		ball.group = -1;
		carom_body_id id;
		REQUIRE(carom_world_add_body(bodies, &ball, &id) == CAROM_SUCCESS);
	}
	add_scenery(grains, &s);
	add_scenery(bodies, &s);
	fixture_step(grains);
	fixture_step(bodies);
	const carom_sphere_contact_view found = carom_world_sphere_contacts(grains);
	const carom_contact_view wanted = carom_world_contacts(bodies);
	CHECK(found.count > count / 4);
	CHECK_INT(found.count, wanted.count);
	CHECK_INT(carom_world_stats(grains).sphere_contacts, found.count);
	int triangles = 0;
	for (int64_t i = 0; i < found.count && i < wanted.count; i++) {
		const carom_sphere_contact *c = &found.data[i];
		const carom_contact *w = &wanted.data[i];
		CHECK_INT(c->sphere, w->body_a.index1 - 1);
		CHECK_INT(c->body_a.index1, 1);
		CHECK_INT(c->body_b.index1 - 1 + (uint32_t)count, w->body_b.index1);
		CHECK_INT(c->shape_b, w->shape_b);
		CHECK(c->depth == (double)w->depth);
		CHECK(fixture_same_vector(c->normal, fixture_normal(w)));
		CHECK(fixture_same_vector(c->point, fixture_point(w)));
		if (c->triangle < 0)
			continue;
		triangles++;
		CHECK_INT(c->triangle, w->feature_b);
		CHECK_NEAR(c->weight[0] + c->weight[1] + c->weight[2], 1, 1e-12);
	}
	CHECK(triangles > 20);
	drop_scenery(&s);
	carom_destroy_world(grains);
	carom_destroy_world(bodies);
	carom_destroy_context(context);
}

TEST(sphere_bodies, contacts_are_those_of_a_body_for_each_sphere)
{
	double spheres[4 * GRAINS];
	uint64_t seed = 77;
	for (int round = 0; round < 3; round++) {
		scatter(spheres, GRAINS, 2.4, 0.01, round == 1 ? 0.8 : 0.15, &seed);
		check_against_bodies(spheres, GRAINS, round == 2 ? 0.05 : 0);
	}
}

TEST(sphere_bodies, weights_and_materials_are_those_of_the_triangle)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const float vertices[] = { 0, 0, 0, 4, 0, 0, 0, 4, 0 };
	const int32_t triangle[] = { 0, 1, 2 };
	const uint32_t material = 42;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 3;
	def.triangles = triangle;
	def.triangle_count = 1;
	def.materials = &material;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(10, 0, 5), CAROM_STATIC);
	const double sphere[4] = { 11, 2, 5.25, 0.5 };
	add_grains(world, sphere, 1);
	fixture_step(world);
	const carom_sphere_contact_view view = carom_world_sphere_contacts(world);
	REQUIRE(view.count == 1);
	const carom_sphere_contact *c = view.data;
	CHECK_INT(c->material_b, 42);
	CHECK_NEAR(c->weight[0], 0.25, 1e-12);
	CHECK_NEAR(c->weight[1], 0.25, 1e-12);
	CHECK_NEAR(c->weight[2], 0.5, 1e-12);
	CHECK_NEAR(c->depth, 0.25, 1e-7);
	CHECK_NEAR(c->normal.z, 1, 1e-7);
	CHECK_NEAR(c->point.z, 4.75, 1e-7);
	carom_release_mesh(mesh);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Bodies that deform ----

/// A sheet in z = 0 of some thickness, with spheres above and below it.
TEST(sphere_bodies, cloth_holds_spheres_on_both_sides)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *mesh = fixture_sheet_mesh(context, 8, 4);
	carom_body_def cloth = carom_default_body_def();
	cloth.kind = CAROM_CLOTH;
	cloth.shape = fixture_of_mesh(mesh);
	cloth.thickness = 0.2;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &cloth, &id) == CAROM_SUCCESS);
	const double spheres[] = { 0.3, 0.2, 0.55, 0.5, -0.4, 0.3, -0.55, 0.5, 0.2, -0.9, 0.61, 0.5, 0.1, 0.8, 5, 0.5 };
	add_grains(world, spheres, 4);
	fixture_step(world);
	const carom_sphere_contact_view view = carom_world_sphere_contacts(world);
	REQUIRE(view.count == 2);
	for (int i = 0; i < 2; i++) {
		const carom_sphere_contact *c = &view.data[i];
		CHECK_INT(c->sphere, i);
		CHECK_NEAR(c->depth, 0.05, 1e-6);
		CHECK_NEAR(c->normal.z, i == 0 ? 1 : -1, 1e-6);
		CHECK_NEAR(c->point.z, i == 0 ? 0.05 : -0.05, 1e-6);
		CHECK(c->triangle >= 0);
	}
	// It is seen where its vertices are.
	double places[3 * 81];
	carom_vertex_view now;
	REQUIRE(carom_world_get_vertices(world, id, &now) == CAROM_SUCCESS);
	REQUIRE(now.count == 81);
	memcpy(places, now.data, sizeof places);
	for (int i = 0; i < 81; i++)
		places[3 * i + 2] += 5;
	REQUIRE(carom_world_set_vertices(world, id, NULL, &(carom_strided){ places, 0, CAROM_FLOAT64 }) == CAROM_SUCCESS);
	fixture_step(world);
	REQUIRE(carom_world_sphere_contacts(world).count == 1);
	CHECK_INT(carom_world_sphere_contacts(world).data[0].sphere, 3);
	carom_release_mesh(mesh);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// A solid whose vertices have moved, beside a rigid mesh of these.
TEST(sphere_bodies, solids_that_deform_are_as_rigid_meshes)
{
	carom_context *context = fixture_context(1);
	carom_world *soft = fixture_world(context, NULL), *rigid = fixture_world(context, NULL);
	fixture_soup soup = { .vertex_count = 0 };
	fixture_soup_torus(&soup, 20, 10, 0.35, 0);
	carom_mesh *mesh = fixture_mesh(context, &soup);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_DEFORMABLE;
	def.shape = fixture_of_mesh(mesh);
	carom_body_id id;
	REQUIRE(carom_world_add_body(soft, &def, &id) == CAROM_SUCCESS);
	for (int32_t i = 0; i < soup.vertex_count; i++)
		soup.vertices[3 * i + 2] += 0.25f * soup.vertices[3 * i] * soup.vertices[3 * i];
	const carom_strided places = { soup.vertices, 0, CAROM_FLOAT32 };
	REQUIRE(carom_world_set_vertices(soft, id, NULL, &places) == CAROM_SUCCESS);
	carom_mesh *bent = fixture_mesh(context, &soup);
	fixture_add(rigid, fixture_of_mesh(bent), carom_pose_identity(), CAROM_DYNAMIC);
	double spheres[4 * GRAINS];
	uint64_t seed = 9;
	scatter(spheres, GRAINS, 1.5, 0.02, 0.2, &seed);
	add_grains(soft, spheres, GRAINS);
	add_grains(rigid, spheres, GRAINS);
	fixture_step(soft);
	fixture_step(rigid);
	const carom_sphere_contact_view found = carom_world_sphere_contacts(soft), wanted = carom_world_sphere_contacts(rigid);
	CHECK(wanted.count > 60);
	CHECK_INT(found.count, wanted.count);
	for (int64_t i = 0; i < found.count && i < wanted.count; i++) {
		CHECK_INT(found.data[i].sphere, wanted.data[i].sphere);
		CHECK_NEAR(found.data[i].depth, wanted.data[i].depth, 2e-6);
	}
	carom_release_mesh(mesh);
	carom_release_mesh(bent);
	carom_destroy_world(soft);
	carom_destroy_world(rigid);
	carom_destroy_context(context);
}

// ---- Pairs ----

enum { BODIES = 3 };

/// Every pair of spheres of two bodies, by a loop, against the view's group; pairs in order.
static int64_t check_group(const carom_sphere_pair_view *view, const carom_body_id ids[2], const double *a, const double *b,
	int32_t count, double ahead)
{
	const carom_sphere_group *group = NULL;
	for (int64_t i = 0; i < view->group_count; i++) {
		if (fixture_same_id(view->groups[i].body_a, ids[0]) && fixture_same_id(view->groups[i].body_b, ids[1]))
			group = &view->groups[i];
	}
	int64_t met = 0;
	for (int32_t i = 0; i < count; i++) {
		for (int32_t j = a == b ? i + 1 : 0; j < count; j++) {
			const double *p = a + 4 * i, *q = b + 4 * j, reach = p[3] + 0.5 * ahead + (q[3] + 0.5 * ahead);
			const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
			if (x * x + y * y + z * z > reach * reach)
				continue;
			const carom_sphere_pair *pair = group && met < group->pair_count ? &view->pairs[group->first_pair + met] : NULL;
			CHECK(pair && pair->a == (uint32_t)i && pair->b == (uint32_t)j);
			met++;
		}
	}
	CHECK_INT(group ? group->pair_count : 0, met);
	return met;
}

TEST(sphere_bodies, pairs_are_those_of_brute_force)
{
	carom_context *context = fixture_context(2);
	double spheres[BODIES][4 * GRAINS];
	uint64_t seed = 31;
	for (int round = 0; round < 3; round++) {
		carom_world_def def = carom_default_world_def();
		def.speculative_distance = round == 1 ? 0.03 : 0;
		carom_world *world = fixture_world(context, &def);
		carom_body_id ids[BODIES];
		for (int i = 0; i < BODIES; i++) {
			scatter(spheres[i], GRAINS, 1, 0.01, round == 2 ? 0.3 : 0.08, &seed);
			carom_body_def body = grains_def(spheres[i], GRAINS);
			body.self_collision = i != 1;
			REQUIRE(carom_world_add_body(world, &body, &ids[i]) == CAROM_SUCCESS);
		}
		fixture_step(world);
		const carom_sphere_pair_view view = carom_world_sphere_pairs(world);
		CHECK_INT(view.group_count, 5);
		int64_t met = 0;
		for (int a = 0; a < BODIES; a++) {
			for (int b = a; b < BODIES; b++) {
				if (a != b || a != 1)
					met += check_group(
						&view, (carom_body_id[2]){ ids[a], ids[b] }, spheres[a], spheres[b], GRAINS, def.speculative_distance);
			}
		}
		CHECK_INT(view.pair_count, met);
		CHECK_INT(carom_world_stats(world).sphere_pairs, met);
		// A step in which nothing moves tells the same.
		const uint64_t hash = carom_world_hash(world);
		fixture_step(world);
		CHECK(carom_world_hash(world) == hash);
		carom_destroy_world(world);
	}
	carom_destroy_context(context);
}

TEST(sphere_bodies, one_body_alone_needs_no_copy)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	double spheres[4 * GRAINS];
	uint64_t seed = 4;
	scatter(spheres, GRAINS, 1, 0.01, 0.1, &seed);
	const carom_body_id id = add_grains(world, spheres, GRAINS);
	fixture_step(world);
	carom_sphere_pair_view view = carom_world_sphere_pairs(world);
	CHECK_INT(view.group_count, 1);
	CHECK(check_group(&view, (carom_body_id[2]){ id, id }, spheres, spheres, GRAINS, 0) > 100);
	// More of them, elsewhere; then fewer, with the radii that they have.
	double more[4 * (GRAINS + 50)];
	scatter(more, GRAINS + 50, 0.8, 0.01, 0.1, &seed);
	carom_strided centres = fixture_centres(more), radii = fixture_radii(more);
	REQUIRE(carom_world_set_spheres(world, id, GRAINS + 50, &centres, &radii) == CAROM_SUCCESS);
	fixture_step(world);
	view = carom_world_sphere_pairs(world);
	CHECK(check_group(&view, (carom_body_id[2]){ id, id }, more, more, GRAINS + 50, 0) > 100);
	for (int i = 0; i < GRAINS + 50; i++)
		more[4 * i] += 100;
	REQUIRE(carom_world_set_spheres(world, id, GRAINS + 50, &centres, NULL) == CAROM_SUCCESS);
	carom_sphere_view now;
	REQUIRE(carom_world_get_spheres(world, id, &now) == CAROM_SUCCESS);
	CHECK_INT(now.count, GRAINS + 50);
	CHECK(memcmp(now.data, more, sizeof more) == 0);
	carom_aabb box;
	REQUIRE(carom_world_get_aabb(world, id, &box) == CAROM_SUCCESS);
	CHECK(box.lower.x > 98 && box.upper.x < 102);
	REQUIRE(carom_world_set_spheres(world, id, 0, &centres, &radii) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_sphere_pairs(world).pair_count, 0);
	REQUIRE(carom_world_remove_body(world, id) == CAROM_SUCCESS);
	fixture_step(world);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Who meets whom ----

static bool refuse_all(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)data_a, (void)data_b;
	CHECK(a.index1 < b.index1);
	++*(int *)user;
	return false;
}

/// Contacts of a sphere of radius 1 with another body at its place, and pairs with it.
static int64_t count_met(carom_context *context, const carom_body_def *grains, const carom_body_def *other, int *asked)
{
	carom_world_def def = carom_default_world_def();
	def.pair_filter = asked ? refuse_all : NULL;
	def.filter_user = asked;
	carom_world *world = fixture_world(context, &def);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, grains, &id) == CAROM_SUCCESS);
	REQUIRE(carom_world_add_body(world, other, &id) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_contacts(world).count, 0);
	const int64_t met = carom_world_sphere_contacts(world).count + carom_world_sphere_pairs(world).pair_count;
	CHECK_INT(carom_world_pairs(world).count, met > 0 || (other->sensor && other->contacts));
	carom_destroy_world(world);
	return met;
}

TEST(sphere_bodies, obey_kinds_flags_and_filters)
{
	carom_context *context = fixture_context(1);
	const double sphere[4] = { 0, 0, 0, 1 };
	carom_body_def grains = grains_def(sphere, 1), box = carom_default_body_def(), more = grains;
	box.shape = fixture_box(0.5, 0.5, 0.5);
	const carom_body_kind kinds[] = { CAROM_STATIC, CAROM_KINEMATIC, CAROM_DYNAMIC };
	for (int i = 0; i < 3; i++) {
		box.kind = kinds[i];
		CHECK(count_met(context, &grains, &box, NULL) > 0);
	}
	CHECK_INT(count_met(context, &grains, &more, NULL), 1);
	int asked = 0;
	CHECK_INT(count_met(context, &grains, &box, &asked), 0);
	CHECK_INT(asked, 1);
	CHECK_INT(count_met(context, &grains, &more, &asked), 0);
	CHECK_INT(asked, 2);
	box.sensor = true;
	CHECK_INT(count_met(context, &grains, &box, NULL), 0);
	box.sensor = false;
	box.contacts = false;
	CHECK_INT(count_met(context, &grains, &box, NULL), 0);
	box.contacts = true;
	box.mask = more.mask = 2;
	CHECK_INT(count_met(context, &grains, &box, NULL), 0);
	CHECK_INT(count_met(context, &grains, &more, NULL), 0);
	box.mask = more.mask = UINT64_MAX;
	box.group = more.group = grains.group = -3;
	CHECK_INT(count_met(context, &grains, &box, NULL), 0);
	CHECK_INT(count_met(context, &grains, &more, NULL), 0);
	grains.group = 0;
	grains.contacts = false;
	CHECK_INT(count_met(context, &grains, &box, NULL), 0);
	CHECK_INT(count_met(context, &grains, &more, NULL), 0);
	carom_destroy_context(context);
}

TEST(sphere_bodies, filters_may_change)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const double spheres[] = { 0, 0, 0, 1, 0.5, 0, 0, 1 };
	const carom_body_id a = add_grains(world, spheres, 2), b = add_grains(world, spheres, 2);
	fixture_step(world);
	CHECK_INT(carom_world_sphere_pairs(world).pair_count, 6);
	REQUIRE(carom_world_set_filter(world, a, 1, 2, 0) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_sphere_pairs(world).pair_count, 2);
	REQUIRE(carom_world_remove_body(world, b) == CAROM_SUCCESS);
	CHECK_INT(carom_world_sphere_pairs(world).pair_count, 2); // the views are those of the last step
	fixture_step(world);
	CHECK_INT(carom_world_sphere_pairs(world).pair_count, 1);
	CHECK(fixture_same_id(carom_world_sphere_pairs(world).groups[0].body_a, a));
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(sphere_bodies, impacts_do_not_see_them)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const double sphere[4] = { 0, 0, 0, 1 };
	add_grains(world, sphere, 1);
	carom_body_def fast = carom_default_body_def();
	fast.shape = fixture_box(0.1, 0.1, 0.1);
	fast.pose = fixture_at(-5, 0, 0);
	fast.continuous = true;
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &fast, &id) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_pose end = fixture_at(5, 0, 0);
	REQUIRE(carom_world_set_pose(world, id, &end) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_body_impacts(world).count, 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Misuse ----

static void refuse(carom_world *world, const carom_body_def *def, const char *text)
{
	carom_body_id id;
	const int before = carom_world_body_count(world);
	fixture_expect_wrong(carom_world_context(world), carom_world_add_body(world, def, &id), text);
	CHECK_INT(carom_world_body_count(world), before);
}

TEST(sphere_bodies, a_bad_definition_is_an_error)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	double spheres[] = { 0, 0, 0, 1, 1, 2, 3, 0.5 };
	const carom_body_def good = grains_def(spheres, 2);
	carom_body_def def = good;
	def.sphere_count = -1;
	refuse(world, &def, "sphere_count is -1");
	def.sphere_count = CAROM_MAX_SPHERES + 1;
	refuse(world, &def, "sphere_count is 50000001");
	def = good;
	def.centres.data = NULL;
	refuse(world, &def, "centres.data is NULL, but there are 2 spheres");
	def = good;
	def.radii.stride = 2;
	refuse(world, &def, "radii.stride is 2 bytes");
	def = good;
	def.centres.type = (carom_scalar)9;
	refuse(world, &def, "centres.type is 9");
	def = good;
	def.shape = fixture_box(1, 1, 1);
	refuse(world, &def, "shape is set, but a body whose kind is CAROM_GRANULAR has spheres alone");
	def = good;
	def.sensor = true;
	refuse(world, &def, "sensor is set, but kind is CAROM_GRANULAR");
	def = good;
	def.pose.position.x = 2 * CAROM_MAX_COORDINATE < CAROM_MAX_POSITION ? 2 * CAROM_MAX_COORDINATE : NAN;
	refuse(world, &def, "pos");
	spheres[5] = NAN;
	refuse(world, &good, "centres: y of sphere 1 is nan, not finite");
	spheres[5] = 2;
	spheres[7] = 0;
	refuse(world, &good, "radii: that of sphere 1 is 0");
	spheres[7] = INFINITY;
	refuse(world, &good, "radii: that of sphere 1 is inf");
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(sphere_bodies, wrong_calls_are_errors_and_change_nothing)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	double spheres[] = { 0, 0, 0, 1, 1, 2, 3, 0.5 };
	const carom_strided centres = fixture_centres(spheres), radii = fixture_radii(spheres);
	const carom_body_id grains = add_grains(world, spheres, 2);
	const carom_body_id box = fixture_add(world, fixture_box(1, 1, 1), carom_pose_identity(), CAROM_DYNAMIC);
	const carom_pose pose = carom_pose_identity();
	const carom_motion motion = { pose, pose };
	const carom_shape shape = fixture_sphere(1);
	carom_sphere_view view;
	carom_vertex_view vertices;
	fixture_expect_wrong(context, carom_world_set_spheres(world, box, 2, &centres, &radii), "not of kind CAROM_GRANULAR");
	fixture_expect_wrong(context, carom_world_get_spheres(world, box, &view), "not of kind CAROM_GRANULAR");
	fixture_expect_wrong(context, carom_world_get_spheres(world, grains, NULL), "view is NULL");
	fixture_expect_wrong(context, carom_world_set_spheres(world, grains, 2, NULL, &radii), "centres is NULL");
	fixture_expect_wrong(context, carom_world_set_spheres(world, grains, 1, &centres, NULL), "radii is NULL, but count is 1");
	fixture_expect_wrong(context, carom_world_set_spheres(world, grains, -1, &centres, &radii), "count is -1");
	fixture_expect_wrong(context, carom_world_set_pose(world, grains, &pose), "carom_world_set_spheres moves it");
	fixture_expect_wrong(context, carom_world_set_motions(world, 1, &grains, &motion), "carom_world_set_spheres moves it");
	fixture_expect_wrong(context, carom_world_set_shape(world, grains, &shape), "carom_world_set_spheres");
	fixture_expect_wrong(context, carom_world_set_vertices(world, grains, NULL, &centres), "carom_world_set_spheres");
	fixture_expect_wrong(context, carom_world_get_vertices(world, grains, &vertices), "carom_world_get_spheres");
	spheres[4] = 1e300;
	fixture_expect_wrong(context, carom_world_set_spheres(world, grains, 2, &centres, &radii), "x of sphere 1 is 1e+300");
	REQUIRE(carom_world_get_spheres(world, grains, &view) == CAROM_SUCCESS);
	CHECK(view.count == 2 && view.data[4] == 1);
	const carom_body_id none = { 9, 9 };
	CHECK_INT(carom_world_set_spheres(world, none, 0, &centres, &radii), CAROM_INVALID_BODY);
	CHECK_INT(carom_world_get_spheres(world, none, &view), CAROM_INVALID_BODY);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// The view of the body's own spheres, backwards, and with every third one.
TEST(sphere_bodies, spheres_are_set_from_their_own_view_in_any_order)
{
	enum { COUNT = 40 };
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	uint64_t seed = 9;
	double spheres[4 * COUNT];
	scatter(spheres, COUNT, 2, 0.1, 0.3, &seed);
	const carom_body_id id = add_grains(world, spheres, COUNT);
	carom_sphere_view view;
	REQUIRE(carom_world_get_spheres(world, id, &view) == CAROM_SUCCESS);
	const carom_strided last = { view.data + 4 * (COUNT - 1), -4 * (int64_t)sizeof(double), CAROM_FLOAT64 };
	CHECK_INT(carom_world_set_spheres(world, id, COUNT, &last, NULL), CAROM_SUCCESS);
	REQUIRE(carom_world_get_spheres(world, id, &view) == CAROM_SUCCESS);
	for (int i = 0; i < COUNT; i++) {
		CHECK(memcmp(&view.data[4 * i], &spheres[4 * (COUNT - 1 - i)], 3 * sizeof(double)) == 0);
		CHECK(view.data[4 * i + 3] == spheres[4 * i + 3]);
	}
	const carom_strided third = { view.data + 8, 12 * sizeof(double), CAROM_FLOAT64 };
	const carom_strided radius = { view.data + 11, 12 * sizeof(double), CAROM_FLOAT64 };
	CHECK_INT(carom_world_set_spheres(world, id, COUNT / 3, &third, &radius), CAROM_SUCCESS);
	REQUIRE(carom_world_get_spheres(world, id, &view) == CAROM_SUCCESS);
	CHECK_INT(view.count, COUNT / 3);
	for (int i = 0; i < COUNT / 3; i++) {
		CHECK(memcmp(&view.data[4 * i], &spheres[4 * (COUNT - 1 - (3 * i + 2))], 3 * sizeof(double)) == 0);
		CHECK(view.data[4 * i + 3] == spheres[4 * (3 * i + 2) + 3]);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(sphere_bodies, a_definition_that_is_read_makes_a_like_body)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	const float centres[] = { 1, 0, 0, 0, 2, 0 }, radii[] = { 0.5f, 0.25f };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = 2;
	def.centres = (carom_strided){ centres, 0, CAROM_FLOAT32 };
	def.radii = (carom_strided){ radii, 0, CAROM_FLOAT32 };
	def.pose = (carom_pose){ { 0, 0, 3 }, fixture_turn((v3d){ 0, 0, 1 }, FIXTURE_PI / 2) };
	def.user_data = 17;
	carom_body_id a, b;
	carom_sphere_view view, copy;
	REQUIRE(carom_world_add_body(world, &def, &a) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_spheres(world, a, &view) == CAROM_SUCCESS);
	const double wanted[] = { 0, 1, 3, 0.5, -2, 0, 3, 0.25 };
	for (int i = 0; i < 8; i++)
		CHECK_NEAR(view.data[i], wanted[i], 1e-12);
	REQUIRE(carom_world_get_body_def(world, a, &def) == CAROM_SUCCESS);
	CHECK_INT(def.user_data, 17);
	REQUIRE(carom_world_add_body(world, &def, &b) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_spheres(world, a, &view) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_spheres(world, b, &copy) == CAROM_SUCCESS);
	CHECK(copy.count == 2 && memcmp(view.data, copy.data, sizeof wanted) == 0);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Memory, threads, time ----

enum { PILE = 1500 };

/// Grains in two bodies over a torus, a box and a plane. user: the mesh.
static void fill_pile(carom_world *world, void *user)
{
	double spheres[4 * PILE];
	uint64_t seed = 12;
	scatter(spheres, PILE, 1.6, 0.02, 0.12, &seed);
	add_grains(world, spheres, PILE / 2);
	fixture_add(world, fixture_of_mesh(user), carom_pose_identity(), CAROM_STATIC);
	fixture_add(world, fixture_box(0.3, 0.3, 0.3), fixture_at(1, 1, 0), CAROM_DYNAMIC);
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -1.4), CAROM_STATIC);
	add_grains(world, spheres + 4 * (PILE / 2), PILE / 2);
}

static void move_pile(carom_world *world, int step)
{
	carom_body_id ids[5];
	REQUIRE(carom_world_body_ids(world, 5, ids) == 5);
	double spheres[4 * PILE];
	carom_sphere_view view;
	REQUIRE(carom_world_get_spheres(world, ids[step % 2 ? 0 : 4], &view) == CAROM_SUCCESS);
	memcpy(spheres, view.data, 4 * (size_t)view.count * sizeof *spheres);
	for (int32_t i = 0; i < view.count; i++)
		spheres[4 * i + 2] -= 0.01 * (i % 7);
	const carom_strided centres = fixture_centres(spheres);
	REQUIRE(carom_world_set_spheres(world, ids[step % 2 ? 0 : 4], view.count, &centres, NULL) == CAROM_SUCCESS);
	fixture_step(world);
}

TEST(sphere_bodies, are_found_alike_by_any_number_of_threads_and_instruction_set)
{
	uint64_t wanted = 0;
	for (int i = 0; i < 3 + FIXTURE_SIMD_COUNT; i++) {
		const carom_simd simd = i < 3 ? CAROM_SIMD_AUTO : fixture_all_simd[i - 3];
		if (i >= 3 && !fixture_kernels(simd))
			continue;
		carom_context_def def = carom_default_context_def();
		def.thread_count = i < 3 ? i + 1 : 1;
		def.simd = simd;
		carom_context *context;
		REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
		carom_mesh *mesh = fixture_torus_mesh(context, 24, 12, 0.35, 0.2);
		carom_world *world = fixture_world(context, NULL);
		fill_pile(world, mesh);
		for (int step = 0; step < 3; step++)
			move_pile(world, step);
		CHECK(carom_world_sphere_contacts(world).count > 100);
		CHECK(carom_world_sphere_pairs(world).pair_count > 100);
		wanted = i == 0 ? carom_world_hash(world) : wanted;
		CHECK(carom_world_hash(world) == wanted);
		carom_destroy_world(world);
		carom_release_mesh(mesh);
		carom_destroy_context(context);
	}
}

TEST(sphere_bodies, fail_without_memory_and_go_on)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 2);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 8, 0.35, 0);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, fill_pile, mesh, 10) > 10);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(sphere_bodies, a_step_that_failed_leaves_the_last_results)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 8, 0.35, 0);
	carom_world *world = fixture_world(context, NULL);
	fill_pile(world, mesh);
	fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	carom_body_id ids[5];
	carom_world_body_ids(world, 5, ids);
	double *spheres = malloc(4 * sizeof(double) * 20000);
	uint64_t seed = 3;
	scatter(spheres, 20000, 1, 0.02, 0.03, &seed);
	const carom_strided centres = fixture_centres(spheres), radii = fixture_radii(spheres);
	REQUIRE(carom_world_set_spheres(world, ids[0], 20000, &centres, &radii) == CAROM_SUCCESS);
	atomic_store(&heap.fail_at, atomic_load(&heap.calls) + 2);
	CHECK_INT(carom_world_step(world), CAROM_OUT_OF_MEMORY);
	atomic_store(&heap.fail_at, -1);
	CHECK(carom_world_hash(world) == hash);
	fixture_step(world);
	CHECK(carom_world_hash(world) != hash);
	free(spheres);
	carom_release_mesh(mesh);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(sphere_bodies, count_for_the_budget)
{
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	def.memory_budget = 2 << 20;
	carom_world *world = fixture_world(context, &def);
	const int32_t count = 40000;
	double *spheres = malloc(4 * sizeof(double) * (size_t)count);
	uint64_t seed = 3;
	scatter(spheres, count, 1, 0.1, 0.2, &seed);
	const carom_body_def grains = grains_def(spheres, count);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &grains, &id) == CAROM_SUCCESS);
	CHECK_INT(carom_world_step(world), CAROM_OVER_BUDGET);
	const carom_strided centres = fixture_centres(spheres), radii = fixture_radii(spheres);
	REQUIRE(carom_world_set_spheres(world, id, 100, &centres, &radii) == CAROM_SUCCESS);
	fixture_step(world);
	carom_body_id more;
	CHECK_INT(carom_world_add_body(world, &grains, &more), CAROM_OVER_BUDGET);
	free(spheres);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(sphere_bodies, are_recorded_and_come_back_with_snapshots)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_torus_mesh(context, 24, 12, 0.35, 0.2);
	carom_world *world = fixture_world(context, NULL);
	fill_pile(world, mesh);
	carom_snapshot *snapshots[2];
	for (int i = 0; i < 2; i++)
		REQUIRE(carom_create_snapshot(world, &snapshots[i]) == CAROM_SUCCESS);
	move_pile(world, 0);
	REQUIRE(carom_world_save(world, snapshots[0]) == CAROM_SUCCESS);
	uint64_t hashes[2][3];
	carom_body_id ids[5];
	for (int turn = 0; turn < 2; turn++) {
		for (int step = 0; step < 3; step++) {
			move_pile(world, 1 + step);
			hashes[turn][step] = carom_world_hash(world);
		}
		if (turn == 1)
			break;
		// Gone, and another one in its place; fewer spheres in the other.
		REQUIRE(carom_world_body_ids(world, 5, ids) == 5);
		REQUIRE(carom_world_remove_body(world, ids[0]) == CAROM_SUCCESS);
		fixture_add(world, fixture_sphere(1), carom_pose_identity(), CAROM_DYNAMIC);
		const double one[4] = { 0, 0, 0, 1 };
		const carom_strided centres = fixture_centres(one), radii = fixture_radii(one);
		REQUIRE(carom_world_set_spheres(world, ids[4], 1, &centres, &radii) == CAROM_SUCCESS);
		fixture_step(world);
		REQUIRE(carom_world_save(world, snapshots[1]) == CAROM_SUCCESS);
		CHECK(carom_snapshots_differ(snapshots[0], snapshots[1], NULL));
		REQUIRE(carom_world_restore(world, snapshots[0]) == CAROM_SUCCESS);
		REQUIRE(carom_world_save(world, snapshots[1]) == CAROM_SUCCESS);
		CHECK(!carom_snapshots_differ(snapshots[0], snapshots[1], NULL));
		CHECK(carom_snapshot_hash(snapshots[0]) == carom_snapshot_hash(snapshots[1]));
	}
	CHECK(memcmp(hashes[0], hashes[1], sizeof hashes[0]) == 0);
	for (int i = 0; i < 2; i++)
		carom_destroy_snapshot(snapshots[i]);
	carom_release_mesh(mesh);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

static bool refuse_some(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)data_a, (void)data_b, (void)user;
	return (a.index1 + b.index1) % 3 != 0;
}

TEST(sphere_bodies, a_recording_has_their_motion_and_the_verdicts_of_filters)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_torus_mesh(context, 24, 12, 0.35, 0.2);
	carom_world_def def = carom_default_world_def();
	def.pair_filter = refuse_some;
	carom_world *world = fixture_world(context, &def);
	fixture_tape tape = { 0 };
	fill_pile(world, mesh);
	move_pile(world, 0);
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	fixture_step(world);
	for (int step = 0; step < 4; step++)
		move_pile(world, step);
	double spheres[4 * 60];
	uint64_t seed = 2;
	scatter(spheres, 60, 1, 0.1, 0.2, &seed);
	carom_body_def late = grains_def(spheres, 60);
	late.pose = fixture_random_pose(&seed, 0.5);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &late, &id) == CAROM_SUCCESS);
	fixture_step(world);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 6);
	CHECK_INT(result.first_difference, -1);
	free(tape.bytes);
	carom_release_mesh(mesh);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
