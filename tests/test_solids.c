/// Contacts of solids that deform: against rigid bodies whose mesh was made from the places of the same instant, for every shape
/// (those of meshes and convex shapes are more: test_solid_vertices.c);
/// ages, events, filters; collapsed and inverted solids; failed allocations, recordings, snapshots, threads.
#include "fixture.h"
#include "query_fixture.h"
#include "pool_fixture.h"

#include "base/time.h"
#include "frame/body.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 600, SHAPES = 12 };

// ---- Places ----

/// A body of jelly: where its vertices are, in the world.
typedef struct jelly {
	carom_mesh *mesh;
	int32_t count;
	double places[3 * MOST];
} jelly;

static jelly make_jelly(carom_mesh *mesh)
{
	jelly j = { .mesh = mesh, .count = mesh->topology.vertex_count };
	REQUIRE(j.count <= MOST);
	return j;
}

/// Bend and swell the rest shape by some phase, and put it at a point.
static void deform(jelly *j, double phase, carom_vec3 at)
{
	for (int32_t i = 0; i < j->count; i++) {
		const float *p = &j->mesh->topology.vertices[3 * (int64_t)i];
		const double swell = 1 + 0.2 * sin(2 * p[0] + phase);
		j->places[3 * i] = at.x + swell * p[0];
		j->places[3 * i + 1] = at.y + swell * p[1] + 0.2 * sin(1.5 * p[0] + phase);
		j->places[3 * i + 2] = at.z + p[2] + 0.25 * sin(1.3 * p[1] - phase);
	}
}

static void set_places(carom_world *world, carom_body_id id, const jelly *j)
{
	const carom_strided end = { j->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(world, id, NULL, &end) == CAROM_SUCCESS);
}

/// The rigid body that a solid is at this instant: its mesh about the middle of its box, and the pose that puts it there. refitted: the
/// mesh has the tree of the mesh at rest. Contacts of a convex shape deep in a mesh depend on the tree.
static carom_mesh *freeze(carom_context *context, const jelly *j, bool refitted, carom_pose *pose)
{
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	for (int32_t i = 0; i < 3 * j->count; i++) {
		lower[i % 3] = fmin(lower[i % 3], j->places[i]);
		upper[i % 3] = fmax(upper[i % 3], j->places[i]);
	}
	const double middle[3] = { 0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]) };
	float vertices[3 * MOST];
	for (int32_t i = 0; i < 3 * j->count; i++)
		vertices[i] = (float)(j->places[i] - middle[i % 3]);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = j->count;
	def.triangles = j->mesh->topology.triangles;
	def.triangle_count = j->mesh->topology.triangle_count;
	def.build = CAROM_MESH_LBVH;
	carom_mesh *mesh;
	*pose = fixture_at(middle[0], middle[1], middle[2]);
	if (!refitted) {
		REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
		return mesh;
	}
	REQUIRE(cr_copy_moved_mesh(context, j->mesh, &mesh) == CAROM_SUCCESS);
	REQUIRE(cr_refit_moved_mesh(mesh, vertices) == CAROM_SUCCESS);
	if (mesh->facets.put_off)
		REQUIRE(cr_make_moved_facets(mesh) == CAROM_SUCCESS);
	return mesh;
}

// ---- Against rigid bodies ----

/// All shapes that a solid may meet.
typedef struct partners {
	carom_mesh *torus, *sheet, *hull, *field;
	carom_shape shape[SHAPES];
	carom_body_kind kind[SHAPES];
} partners;

static carom_mesh *make_field(carom_context *context)
{
	float heights[49];
	const double spacing[2] = { 0.6, 0.7 };
	for (int i = 0; i < 49; i++)
		heights[i] = 0.3f * sinf((float)i);
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, 7, 7, heights, spacing, 1, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void open_partners(carom_context *context, partners *p)
{
	static const float points[18] = { 1, 0, 0, -1, 0.1f, 0, 0, 1, 0, 0, -1, 0.2f, 0, 0, 1, 0.1f, 0, -1 };
	p->torus = fixture_torus_mesh(context, 20, 10, 0.35, 0.2);
	p->sheet = fixture_sheet_mesh(context, 6, 3);
	p->hull = fixture_hull_mesh(context, points, 6);
	p->field = make_field(context);
	carom_shape rounded = fixture_box(0.5, 0.4, 0.6);
	rounded.rounding = 0.1;
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.6), fixture_box(0.6, 0.5, 0.4), fixture_capsule(0.3, 0.6),
		fixture_cylinder(0.5, 0.5), fixture_cone(0.6, 0.6), fixture_ellipsoid(0.7, 0.5, 0.4), rounded, fixture_hull(p->hull),
		fixture_of_mesh(p->torus), fixture_of_mesh(p->sheet), fixture_of_mesh(p->field), { .type = CAROM_PLANE } };
	for (int i = 0; i < SHAPES; i++) {
		p->shape[i] = shapes[i];
		p->kind[i] = i < 9 ? CAROM_DYNAMIC : CAROM_STATIC;
	}
}

static void close_partners(partners *p)
{
	carom_release_mesh(p->torus);
	carom_release_mesh(p->sheet);
	carom_release_mesh(p->hull);
	carom_release_mesh(p->field);
}

/// All that a step finds is equal, ages aside.
static void check_equal_contacts(const carom_world *soft, const carom_world *rigid)
{
	const carom_contact_view a = carom_world_contacts(soft), b = carom_world_contacts(rigid);
	CHECK_INT(carom_world_pairs(soft).count, carom_world_pairs(rigid).count);
	if (!CHECK_INT(a.count, b.count))
		return;
	for (int i = 0; i < a.count; i++) {
		const carom_contact *x = &a.data[i], *y = &b.data[i];
		const bool equal = memcmp(x->point, y->point, sizeof x->point) == 0 &&
			memcmp(x->normal, y->normal, sizeof x->normal) == 0 && x->depth == y->depth && x->feature_a == y->feature_a &&
			x->feature_b == y->feature_b && x->kind == y->kind;
		if (!CHECK(equal))
			return;
	}
}

/// Does a contact lie at the place of another, push nearly alike, and is it no less deep?
static bool stands_for(const carom_contact *c, const carom_contact *other)
{
	double apart2 = 0;
	for (int k = 0; k < 3; k++)
		apart2 += (c->point[k] - other->point[k]) * (c->point[k] - other->point[k]);
	return v3d_dot(fixture_normal(c), fixture_normal(other)) > 0.994 && c->depth >= other->depth - 1e-6 &&
		sqrt(apart2) <= 1e-3 + 0.2 * fabs((double)c->depth);
}

/// The pairs are equal, and each contact of the rigid body has one of the solid's that stands for it: those of one vertex that push
/// nearly alike are one, and others are added.
static void check_covering_contacts(const carom_world *soft, const carom_world *rigid)
{
	const carom_contact_view a = carom_world_contacts(soft), b = carom_world_contacts(rigid);
	for (int i = 0; i < b.count; i++) {
		bool found = false;
		for (int k = 0; k < a.count && !found; k++)
			found = stands_for(&a.data[k], &b.data[i]);
		if (!CHECK(found))
			return;
	}
}

/// Has a pair with a shape the contacts of a rigid mesh, to the bit?
static bool is_rigid_alike(carom_shape shape)
{
	return shape.type == CAROM_SPHERE || shape.type == CAROM_CAPSULE || shape.type == CAROM_PLANE;
}

/// Each vertex of a solid, the first body, that lies in a body of the convex family has a contact.
static void check_vertices_in(const carom_world *soft, const jelly *j, carom_shape shape, carom_body_id other)
{
	carom_pose pose;
	REQUIRE(carom_world_get_pose(soft, other, &pose) == CAROM_SUCCESS);
	const cr_convex convex = cr_convex_of(&shape);
	const m3d turn = m3d_from_quat(pose.orientation);
	const carom_contact_view c = carom_world_contacts(soft);
	for (int32_t i = 0; i < j->count; i++) {
		const v3d at = { j->places[3 * i], j->places[3 * i + 1], j->places[3 * i + 2] };
		v3d nearest, normal;
		if (cr_convex_distance(&convex, m3d_tmul(&turn, v3d_sub(at, pose.position)), &nearest, &normal) > -1e-3)
			continue;
		bool found = false;
		for (int k = 0; k < c.count && !found; k++)
			found = v3d_length(v3d_sub(fixture_point(&c.data[k]), at)) < 1e-3;
		if (!CHECK(found))
			return;
	}
}

static bool is_convex(carom_shape shape)
{
	return shape.type == CAROM_CYLINDER || shape.type == CAROM_CONE || shape.type == CAROM_ELLIPSOID ||
		shape.type == CAROM_HULL || shape.rounding > 0;
}

/// Two worlds of one arrangement: in one a solid deforms, in the other a rigid body is exchanged for another in each step.
static int compare_with_rigid(
	carom_context *context, const carom_world_def *settings, carom_shape shape, carom_body_kind kind, int steps)
{
	jelly j = make_jelly(fixture_torus_mesh(context, 16, 8, 0.4, 0.15));
	carom_world_def all = *settings;
	all.max_contacts_per_pair = 0; // of rigid bodies; solids keep all in any case
	const bool alike = is_rigid_alike(shape);
	carom_world *soft = fixture_world(context, settings), *rigid = fixture_world(context, &all);
	uint64_t seed = 5 + (uint64_t)shape.type;
	const carom_body_id solid = fixture_add(soft, fixture_of_mesh(j.mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE);
	const carom_body_id twin = fixture_add(rigid, fixture_of_mesh(j.mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	const carom_pose at =
		shape.type == CAROM_PLANE || kind == CAROM_STATIC ? fixture_at(0, 0, -0.3) : fixture_random_pose(&seed, 0.7);
	const carom_body_id soft_other = fixture_add(soft, shape, at, kind), rigid_other = fixture_add(rigid, shape, at, kind);
	int contacts = 0;
	for (int step = 0; step < steps; step++) {
		deform(&j, 0.3 * step, (carom_vec3){ 0.02 * step, 0, -0.01 * step });
		set_places(soft, solid, &j);
		carom_pose pose;
		carom_mesh *mesh = freeze(context, &j, kind == CAROM_DYNAMIC && shape.type != CAROM_MESH, &pose);
		const carom_shape frozen = fixture_of_mesh(mesh);
		REQUIRE(carom_world_set_shape(rigid, twin, &frozen) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_pose(rigid, twin, &pose) == CAROM_SUCCESS);
		carom_release_mesh(mesh);
		if (kind == CAROM_DYNAMIC && step % 2 == 1) { // in the other steps it rests
			const carom_pose moved = fixture_random_pose(&seed, 0.7);
			REQUIRE(carom_world_set_pose(soft, soft_other, &moved) == CAROM_SUCCESS);
			REQUIRE(carom_world_set_pose(rigid, rigid_other, &moved) == CAROM_SUCCESS);
		}
		fixture_step(soft);
		fixture_step(rigid);
		CHECK_INT(carom_world_pairs(soft).count, carom_world_pairs(rigid).count);
		if (is_convex(shape))
			check_vertices_in(soft, &j, shape, soft_other);
		else
			(alike ? check_equal_contacts : check_covering_contacts)(soft, rigid);
		fixture_check_views(soft);
		contacts += carom_world_contacts(soft).count;
	}
	carom_destroy_world(soft);
	carom_destroy_world(rigid);
	carom_release_mesh(j.mesh);
	return contacts;
}

TEST(solids, have_the_contacts_of_rigid_bodies_with_every_shape)
{
	carom_context *context = fixture_context(2);
	partners p;
	open_partners(context, &p);
	const carom_world_def def = carom_default_world_def();
	for (int i = 0; i < SHAPES; i++)
		CHECK(compare_with_rigid(context, &def, p.shape[i], p.kind[i], TEST_FEWER > 1 ? 4 : 8) > 4 / TEST_FEWER);
	close_partners(&p);
	carom_destroy_context(context);
}

TEST(solids, have_the_contacts_of_rigid_bodies_by_any_settings)
{
	enum { STEPS = TEST_FEWER > 1 ? 3 : 4 };
	carom_context *context = fixture_context(1);
	partners p;
	open_partners(context, &p);
	for (int i = 0; i < 6; i++) {
		carom_world_def def = carom_default_world_def();
		def.temporal = i % 2 == 0 ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_ITERATIVE;
		def.speculative_distance = i >= 4 ? 0.05 : 0;
		def.max_contacts_per_pair = i == 3 ? 0 : 4;
		fixture_set_broad(&def, i % 3);
		CHECK(compare_with_rigid(context, &def, p.shape[8], CAROM_DYNAMIC, STEPS) > 4);
		CHECK(compare_with_rigid(context, &def, p.shape[1], CAROM_KINEMATIC, STEPS) > 4);
		CHECK(compare_with_rigid(context, &def, p.shape[11], CAROM_STATIC, STEPS) > 4);
	}
	close_partners(&p);
	carom_destroy_context(context);
}

TEST(solids, meet_each_other)
{
	carom_context *context = fixture_context(2);
	jelly a = make_jelly(fixture_torus_mesh(context, 20, 10, 0.4, 0.1)), b = make_jelly(fixture_sphere_mesh(context, 0.8, 10));
	carom_world_def all = carom_default_world_def();
	all.max_contacts_per_pair = 0;
	carom_world *soft = fixture_world(context, NULL), *rigid = fixture_world(context, &all);
	const carom_body_id ids[2] = { fixture_add(soft, fixture_of_mesh(a.mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE),
		fixture_add(soft, fixture_of_mesh(b.mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE) };
	const carom_body_id twins[2] = { fixture_add(rigid, fixture_of_mesh(a.mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC),
		fixture_add(rigid, fixture_of_mesh(b.mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC) };
	for (int step = 0; step < 10; step++) {
		deform(&a, 0.4 * step, (carom_vec3){ 0, 0, 0 });
		deform(&b, -0.2 * step, (carom_vec3){ 1.2 - 0.05 * step, 0.3, 0.2 });
		const jelly *both[2] = { &a, &b };
		for (int k = 0; k < 2; k++) {
			set_places(soft, ids[k], both[k]);
			carom_pose pose;
			carom_mesh *mesh = freeze(context, both[k], false, &pose);
			const carom_shape frozen = fixture_of_mesh(mesh);
			REQUIRE(carom_world_set_shape(rigid, twins[k], &frozen) == CAROM_SUCCESS);
			REQUIRE(carom_world_set_pose(rigid, twins[k], &pose) == CAROM_SUCCESS);
			carom_release_mesh(mesh);
		}
		fixture_step(soft);
		fixture_step(rigid);
		check_equal_contacts(soft, rigid);
		CHECK(carom_world_contacts(soft).count > 0);
	}
	carom_destroy_world(soft);
	carom_destroy_world(rigid);
	carom_release_mesh(a.mesh);
	carom_release_mesh(b.mesh);
	carom_destroy_context(context);
}

// ---- What a user gets ----

/// A world with a solid that is dented by a box from above.
typedef struct dent {
	carom_context *context;
	carom_world *world;
	jelly jelly;
	carom_body_id solid, box;
} dent;

static void open_dent(dent *d, carom_context *context, const carom_world_def *def)
{
	d->context = context;
	d->jelly = make_jelly(fixture_torus_mesh(context, 20, 10, 0.4, 0));
	d->world = fixture_world(context, def);
	d->solid = fixture_add(d->world, fixture_of_mesh(d->jelly.mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE);
	d->box = fixture_add(d->world, fixture_box(0.5, 0.5, 0.5), fixture_at(1, 0, 0.8), CAROM_DYNAMIC);
}

static void close_dent(dent *d)
{
	carom_destroy_world(d->world);
	carom_release_mesh(d->jelly.mesh);
}

TEST(solids, contacts_age_while_vertices_move)
{
	carom_context *context = fixture_context(1);
	dent d;
	open_dent(&d, context, NULL);
	int oldest = 0;
	for (int step = 0; step < 8; step++) {
		deform(&d.jelly, 0.001 * step, (carom_vec3){ 0, 0, 0.001 * step });
		set_places(d.world, d.solid, &d.jelly);
		fixture_step(d.world);
		const carom_contact_view c = carom_world_contacts(d.world);
		REQUIRE(c.count > 0);
		CHECK_INT(carom_world_pairs(d.world).data[0].age, step);
		for (int i = 0; i < c.count; i++)
			oldest = c.data[i].age > oldest ? c.data[i].age : oldest;
	}
	CHECK_INT(oldest, 7);
	const carom_contact *c = carom_world_contacts(d.world).data;
	CHECK(fixture_same_id(c->body_a, d.solid) && fixture_same_id(c->body_b, d.box));
	close_dent(&d);
	carom_destroy_context(context);
}

TEST(solids, begin_and_end_pairs_and_obey_filters)
{
	carom_context *context = fixture_context(1);
	dent d;
	open_dent(&d, context, NULL);
	fixture_step(d.world);
	REQUIRE(carom_world_events(d.world).count == 1);
	CHECK_INT(carom_world_events(d.world).data[0].kind, CAROM_EVENT_BEGIN);
	REQUIRE(carom_world_set_filter(d.world, d.solid, 2, 1, 0) == CAROM_SUCCESS);
	fixture_step(d.world);
	CHECK(carom_world_contacts(d.world).count > 0); // the mask of the box takes all
	REQUIRE(carom_world_set_filter(d.world, d.box, 1, 1, 0) == CAROM_SUCCESS);
	fixture_step(d.world);
	CHECK_INT(carom_world_contacts(d.world).count, 0);
	REQUIRE(carom_world_events(d.world).count == 1);
	CHECK_INT(carom_world_events(d.world).data[0].kind, CAROM_EVENT_END);
	REQUIRE(carom_world_set_filter(d.world, d.box, 1, 3, 0) == CAROM_SUCCESS);
	deform(&d.jelly, 0, (carom_vec3){ 50, 0, 0 });
	set_places(d.world, d.solid, &d.jelly);
	fixture_step(d.world);
	CHECK_INT(carom_world_pairs(d.world).count, 0);
	close_dent(&d);
	carom_destroy_context(context);
}

TEST(solids, meet_sensors_and_static_bodies_and_no_cloth)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sphere_mesh(context, 1, 8), *sheet = fixture_sheet_mesh(context, 4, 3);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE);
	fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 0.5), CAROM_CLOTH);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(0.5);
	def.pose = fixture_at(1, 0, 0);
	def.sensor = true;
	carom_body_id sensor;
	REQUIRE(carom_world_add_body(world, &def, &sensor) == CAROM_SUCCESS);
	const carom_body_id wall = fixture_add(world, fixture_box(1, 1, 1), fixture_at(-1.5, 0, 0), CAROM_STATIC);
	fixture_step(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	REQUIRE(pairs.count == 2);
	CHECK(fixture_same_id(pairs.data[0].body_b, sensor) && pairs.data[0].contact_count == 0);
	CHECK(fixture_same_id(pairs.data[1].body_b, wall) && pairs.data[1].contact_count > 0);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

/// A solid that moves through a rigid mesh, each with contacts or without: how many pairs and
/// impacts there are.
static void count_without(carom_context *context, const carom_world_def *def, const bool contacts[2], int counts[2])
{
	jelly j = make_jelly(fixture_torus_mesh(context, 20, 10, 0.4, 0));
	carom_world *world = fixture_world(context, def);
	carom_body_id ids[2];
	for (int i = 0; i < 2; i++) {
		carom_body_def body = carom_default_body_def();
		CHECK(body.contacts);
		body.kind = i == 0 ? CAROM_DEFORMABLE : CAROM_DYNAMIC;
		body.shape = fixture_of_mesh(j.mesh);
		body.pose = fixture_at(0, 0, 1.5 * i);
		body.contacts = contacts[i];
		REQUIRE(carom_world_add_body(world, &body, &ids[i]) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_body_def(world, ids[i], &body) == CAROM_SUCCESS);
		CHECK(body.contacts == contacts[i]);
	}
	fixture_step(world);
	deform(&j, 0, (carom_vec3){ 0.3, 0, 1.4 });
	set_places(world, ids[0], &j);
	fixture_step(world);
	fixture_check_views(world);
	counts[0] = carom_world_pairs(world).count;
	counts[1] = (int)carom_world_impacts(world).count;
	const carom_aabb all = { { -9, -9, -9 }, { 9, 9, 9 } };
	int32_t seen;
	REQUIRE(carom_world_overlap_aabb(world, &all, NULL, 0, NULL, &seen) == CAROM_SUCCESS);
	CHECK_INT(seen, 2);
	const carom_shape ball = fixture_sphere(0.3);
	const carom_pose in_rigid = fixture_at(1, 0, 1.5);
	int32_t bumps;
	REQUIRE(carom_world_collide_shape(world, &ball, &in_rigid, NULL, 0, NULL, &bumps) == CAROM_SUCCESS);
	CHECK((bumps > 0) == (contacts[0] || contacts[1]));
	carom_destroy_world(world);
	carom_release_mesh(j.mesh);
}

TEST(solids, and_others_without_contacts_have_impacts_and_queries_alone)
{
	carom_context *context = fixture_context(1);
	for (int broad = 0; broad < 3; broad++) {
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, broad);
		int both[2], one[2];
		count_without(context, &def, (bool[2]){ true, true }, both);
		CHECK_INT(both[0], 1);
		CHECK(both[1] > 0);
		for (int i = 0; i < 3; i++) {
			count_without(context, &def, (bool[2]){ i == 1, i == 2 }, one);
			CHECK_INT(one[0], 0);
			CHECK_INT(one[1], both[1]);
		}
	}
	carom_destroy_context(context);
}

// The front of the search for impacts may grow so many times in a step.
enum { FRONT = 12 };

TEST(solids, at_rest_cost_nothing_new)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	dent d;
	open_dent(&d, context, NULL);
	fixture_add(d.world, fixture_of_mesh(d.jelly.mesh), fixture_at(-1, 0.2, 0.5), CAROM_DYNAMIC);
	for (int step = 0; step < 8; step++)
		fixture_step(d.world);
	const long long calls = atomic_load(&heap.calls);
	fixture_step(d.world);
	CHECK(atomic_load(&heap.calls) - calls <= FRONT); // a mesh takes more than forty
	CHECK(carom_world_stats(d.world).pairs_iterative > 0);
	CHECK(carom_world_contacts(d.world).count > 0);
	// Far from everything a solid that moves costs no mesh either.
	deform(&d.jelly, 0, (carom_vec3){ 50, 0, 0 });
	set_places(d.world, d.solid, &d.jelly);
	for (int step = 0; step < 8; step++)
		fixture_step(d.world);
	const long long far = atomic_load(&heap.calls);
	deform(&d.jelly, 0.1, (carom_vec3){ 50, 0, 0 });
	set_places(d.world, d.solid, &d.jelly);
	fixture_step(d.world);
	CHECK(atomic_load(&heap.calls) - far <= FRONT);
	close_dent(&d);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

// ---- Odd solids ----

TEST(solids, of_any_form_make_no_trouble)
{
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = 0.01;
	dent d;
	open_dent(&d, context, &def);
	for (int form = 0; form < 6; form++) {
		deform(&d.jelly, 0, (carom_vec3){ 0, 0, 0 });
		for (int32_t i = 0; i < 3 * d.jelly.count; i++) {
			double *x = &d.jelly.places[i];
			if (form == 0) // a point, inside the box
				*x = i % 3 == 0 ? 1 : i % 3 == 2 ? 0.8 : 0;
			else if (form == 1) // flat
				*x = i % 3 == 2 ? 0.5 : *x;
			else if (form == 2) // a line
				*x = i % 3 == 0 ? *x : 0.5;
			else if (form == 3) // turned inside out
				*x = i % 3 == 0 ? -*x : *x;
			else if (form == 4 && i < 30) // partly collapsed
				*x = i % 3 == 2 ? 0.6 : 1;
			else if (form == 5) // far away, where float resolves 0.06
				*x += 1e6;
		}
		set_places(d.world, d.solid, &d.jelly);
		fixture_step(d.world);
		fixture_check_views(d.world);
		const carom_contact_view c = carom_world_contacts(d.world);
		for (int i = 0; i < c.count; i++)
			CHECK(isfinite(c.data[i].depth) && isfinite(c.data[i].point[0]));
		if (form == 5)
			CHECK_INT(c.count, 0);
	}
	deform(&d.jelly, 0, (carom_vec3){ 0, 0, 0 });
	set_places(d.world, d.solid, &d.jelly);
	fixture_step(d.world);
	CHECK(carom_world_contacts(d.world).count > 0);
	close_dent(&d);
	carom_destroy_context(context);
}

TEST(solids, may_get_another_mesh_while_they_touch)
{
	enum { ROWS = TEST_FEWER > 1 ? 14 : 28 };
	carom_context *context = fixture_context(1);
	dent d;
	open_dent(&d, context, NULL);
	fixture_step(d.world);
	carom_mesh *finer = fixture_torus_mesh(context, ROWS, 14, 0.4, 0);
	REQUIRE(carom_world_set_mesh(d.world, d.solid, finer, (int32_t[ROWS * 14]){ 0 }, NULL) == CAROM_SUCCESS); // all in one place
	fixture_step(d.world);
	jelly j = make_jelly(finer);
	deform(&j, 0, (carom_vec3){ 0, 0, 0 });
	set_places(d.world, d.solid, &j);
	fixture_step(d.world);
	CHECK(carom_world_contacts(d.world).count > 0);
	REQUIRE(carom_world_remove_body(d.world, d.solid) == CAROM_SUCCESS);
	fixture_step(d.world);
	CHECK_INT(carom_world_contacts(d.world).count, 0);
	carom_release_mesh(finer);
	close_dent(&d);
	carom_destroy_context(context);
}

// ---- Memory, threads, time ----

enum { LOTS = 3 };

static void put_solids(carom_world *world, void *mesh)
{
	for (int i = 0; i < LOTS; i++) {
		const carom_body_id id = fixture_add(world, fixture_of_mesh(mesh), fixture_at(3.0 * i, 0, 0), CAROM_DEFORMABLE);
		jelly j = make_jelly(mesh);
		deform(&j, 0.2 * i, (carom_vec3){ 3.0 * i, 0, 0 });
		set_places(world, id, &j);
		fixture_add(
			world, i == 1 ? fixture_of_mesh(mesh) : fixture_box(0.5, 0.5, 0.5), fixture_at(3.0 * i + 1, 0, 0.8), CAROM_DYNAMIC);
	}
}

TEST(solids, fail_without_memory_and_go_on)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 8, 0.4, 0);
	const int failed = fixture_fail_each_allocation(&heap, context, NULL, put_solids, mesh, LOTS);
	CHECK(failed > 10 * LOTS); // each makes a mesh
	const carom_world_def plugin = fixture_plugin_world_def();
	CHECK(fixture_fail_each_allocation(&heap, context, &plugin, put_solids, mesh, LOTS) > failed);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

/// Hashes of the steps of a world in which solids and rigid bodies move.
static void run(int threads, carom_temporal temporal, int steps, uint64_t *hashes)
{
	carom_context *context = fixture_context(threads);
	carom_world_def def = carom_default_world_def();
	def.temporal = temporal;
	carom_world *world = fixture_world(context, &def);
	jelly j = make_jelly(fixture_torus_mesh(context, 16, 8, 0.4, 0.1));
	carom_body_id solids[6];
	for (int i = 0; i < 6; i++) {
		solids[i] = fixture_add(world, fixture_of_mesh(j.mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE);
		fixture_add(world, fixture_of_mesh(j.mesh), fixture_at(0.9 * i, 1, 0), CAROM_STATIC);
	}
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < 6; i++) {
			deform(&j, 0.1 * step + i, (carom_vec3){ 0.9 * i, 0.02 * step, 0 });
			set_places(world, solids[i], &j);
		}
		fixture_step(world);
		hashes[step] = carom_world_hash(world);
	}
	CHECK(carom_world_contacts(world).count > 20);
	carom_destroy_world(world);
	carom_release_mesh(j.mesh);
	carom_destroy_context(context);
}

TEST(solids, are_found_alike_by_any_number_of_threads)
{
	pool_require_threads();
	enum { STEPS = TEST_SEEKS_RACES ? 4 : 8 };
	uint64_t one[STEPS], other[STEPS];
	run(TEST_LEAST_THREADS, CAROM_TEMPORAL_PREDICTIVE, STEPS, one);
	for (int threads = 2 * TEST_LEAST_THREADS; threads <= 4; threads += 2) {
		run(threads, CAROM_TEMPORAL_PREDICTIVE, STEPS, other);
		CHECK(memcmp(one, other, sizeof one) == 0);
	}
}

TEST(solids, are_recorded_and_replayed)
{
	carom_context *context = fixture_context(1);
	fixture_tape tape = { 0 };
	dent d;
	open_dent(&d, context, NULL);
	fixture_step(d.world);
	REQUIRE(carom_world_record(d.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	for (int step = 0; step < 6; step++) {
		if (step != 3) { // once it rests
			deform(&d.jelly, 0.1 * step, (carom_vec3){ 0, 0, 0 });
			set_places(d.world, d.solid, &d.jelly);
		}
		fixture_step(d.world);
		CHECK(carom_world_contacts(d.world).count > 0);
	}
	REQUIRE(carom_world_record(d.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 6);
	CHECK_INT(result.first_difference, -1);
	close_dent(&d);
	free(tape.bytes);
	carom_destroy_context(context);
}

TEST(solids, go_back_to_a_snapshot_bit_for_bit)
{
	carom_context *context = fixture_context(1);
	dent d;
	open_dent(&d, context, NULL);
	uint64_t hashes[2][5];
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(d.world, &snapshot) == CAROM_SUCCESS);
	fixture_step(d.world);
	REQUIRE(carom_world_save(d.world, snapshot) == CAROM_SUCCESS);
	for (int turn = 0; turn < 2; turn++) {
		for (int step = 0; step < 5; step++) {
			if (step > 1) { // it rests at first, and the pair remembers
				deform(&d.jelly, 0.1 * step, (carom_vec3){ 0, 0, 0 });
				set_places(d.world, d.solid, &d.jelly);
			}
			fixture_step(d.world);
			hashes[turn][step] = carom_world_hash(d.world);
		}
		REQUIRE(carom_world_restore(d.world, snapshot) == CAROM_SUCCESS);
	}
	CHECK(memcmp(hashes[0], hashes[1], sizeof hashes[0]) == 0);
	carom_destroy_snapshot(snapshot);
	close_dent(&d);
	carom_destroy_context(context);
}

/// The contacts of a ball in a solid are those that a step tells, before a step and after it, and by several threads at once.
TEST(solids, have_contacts_with_a_shape_that_asks)
{
	carom_context *context = fixture_context(1);
	jelly j = make_jelly(fixture_torus_mesh(context, 16, 8, 0.4, 0.1));
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id solid = fixture_add(world, fixture_of_mesh(j.mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE);
	carom_body_def quiet = carom_default_body_def();
	quiet.kind = CAROM_DEFORMABLE;
	quiet.shape = fixture_of_mesh(j.mesh);
	quiet.pose = fixture_at(0.2, 0, 0);
	quiet.contacts = false;
	carom_body_id other;
	REQUIRE(carom_world_add_body(world, &quiet, &other) == CAROM_SUCCESS);
	const carom_shape ball = fixture_sphere(0.3);
	const carom_pose at = fixture_at(1.1, 0, 0.1);
	carom_contact before[16], after[16], told[16];
	int32_t counts[3];
	deform(&j, 0.3, (carom_vec3){ 0, 0, 0 });
	set_places(world, solid, &j);
	REQUIRE(carom_world_collide_shape(world, &ball, &at, NULL, 16, before, &counts[0]) == CAROM_SUCCESS);
	const carom_body_id twin = fixture_add(world, ball, at, CAROM_DYNAMIC);
	fixture_step(world);
	const carom_contact_view view = carom_world_contacts(world);
	counts[2] = view.count;
	REQUIRE(view.count > 0 && view.count <= 16);
	memcpy(told, view.data, (size_t)view.count * sizeof *told);
	REQUIRE(carom_world_remove_body(world, twin) == CAROM_SUCCESS);
	REQUIRE(carom_world_collide_shape(world, &ball, &at, NULL, 16, after, &counts[1]) == CAROM_SUCCESS);
	CHECK_INT(counts[0], counts[2]);
	CHECK_INT(counts[1], counts[2]);
	for (int i = 0; i < counts[2]; i++) {
		CHECK(fixture_same_id(before[i].body_b, solid) && fixture_same_id(after[i].body_b, solid));
		CHECK(before[i].depth == after[i].depth && before[i].depth == told[i].depth);
		CHECK(before[i].feature_b == told[i].feature_a && after[i].feature_b == told[i].feature_a);
	}
	carom_destroy_world(world);
	carom_release_mesh(j.mesh);
	carom_destroy_context(context);
}

// ---- Facets ----

/// Put a solid near a ball, which asks for no facets, and make a step.
static carom_world *meet_ball(carom_context *context, jelly *j, carom_body_id *solid)
{
	carom_world *world = fixture_world(context, NULL);
	*j = make_jelly(fixture_torus_mesh(context, 16, 8, 0.4, 0.1));
	*solid = fixture_add(world, fixture_of_mesh(j->mesh), fixture_at(0, 0, 0), CAROM_DEFORMABLE);
	fixture_add(world, fixture_sphere(0.3), fixture_at(-1.1, 0, 0.1), CAROM_DYNAMIC);
	deform(j, 0.3, (carom_vec3){ 0, 0, 0 });
	set_places(world, *solid, j);
	fixture_step(world);
	CHECK(carom_world_contacts(world).count > 0);
	return world;
}

static carom_shape small_cone(void) { return fixture_cone(0.3, 0.3); }

/// A solid at rest meets a body that asks for facets, which were put off.
TEST(solids, facets_are_made_when_a_pair_asks_for_them)
{
	carom_context *context = fixture_context(1);
	jelly j;
	carom_body_id solid;
	carom_world *world = meet_ball(context, &j, &solid), *rigid = fixture_world(context, NULL);
	const cr_deforming *d = cr_deforming_of(&world->bodies.data[solid.index1 - 1]);
	CHECK(d->form.mesh->facets.put_off);
	carom_pose pose;
	carom_mesh *frozen = freeze(context, &j, true, &pose);
	fixture_add(rigid, fixture_of_mesh(frozen), pose, CAROM_DYNAMIC);
	fixture_add(rigid, fixture_sphere(0.3), fixture_at(-1.1, 0, 0.1), CAROM_DYNAMIC);
	for (int i = 0; i < 2; i++)
		fixture_add(i == 0 ? world : rigid, small_cone(), fixture_at(1.1, 0.1, 0.1), CAROM_DYNAMIC);
	fixture_step(world);
	fixture_step(rigid);
	CHECK(!d->form.mesh->facets.put_off);
	check_equal_contacts(world, rigid);
	deform(&j, 0.4, (carom_vec3){ 9, 0, 0 }); // away from all
	set_places(world, solid, &j);
	fixture_step(world);
	CHECK_INT(carom_world_contacts(world).count, 0);
	carom_destroy_world(world);
	carom_destroy_world(rigid);
	carom_release_mesh(frozen);
	carom_release_mesh(j.mesh);
	carom_destroy_context(context);
}

enum { ASKED = 64 };

typedef struct asking {
	const carom_world *world;
	int32_t counts[ASKED];
	double depths[ASKED];
	pool_meeting meeting; // so that all workers have pieces
} asking;

static void ask_in_piece(int64_t begin, int64_t end, int worker, void *task)
{
	asking *a = task;
	const carom_shape cone = small_cone();
	pool_meet(begin, end, worker, &a->meeting);
	if (atomic_load(&a->meeting.late) > 0)
		return;
	for (int64_t i = begin; i < end; i++) {
		const carom_pose at = fixture_at(1.1, 0.005 * (double)i, 0.1);
		carom_contact contacts[8];
		carom_world_collide_shape(a->world, &cone, &at, NULL, 8, contacts, &a->counts[i]);
		a->depths[i] = a->counts[i] > 0 ? contacts[0].depth : -1;
	}
}

/// Queries find the facets of a form put off, all at once.
TEST(solids, shapes_may_ask_in_pieces_of_a_parallel_loop)
{
	pool_require_threads();
	static asking many, one;
	carom_context *context = fixture_context(4);
	jelly j;
	carom_body_id solid;
	carom_world *world = meet_ball(context, &j, &solid);
	many.world = one.world = world;
	one.meeting.expected = 1;
	CHECK(cr_deforming_of(&world->bodies.data[solid.index1 - 1])->form.mesh->facets.put_off);
	// A pool whose help has not paid asks for none for a while: a loop in which not all meet asks nothing, and is run again.
	const double end = cr_time_ms() + POOL_LONGEST_MS;
	do {
		many.meeting = (pool_meeting){ .expected = 4, .longest_ms = 10 };
		carom_parallel_for(context, ask_in_piece, ASKED, ASKED / 4, &many);
	} while (many.meeting.late > 0 && cr_time_ms() < end);
	CHECK_INT(many.meeting.late, 0);
	CHECK(!cr_deforming_of(&world->bodies.data[solid.index1 - 1])->form.mesh->facets.put_off);
	ask_in_piece(0, ASKED, 0, &one);
	for (int i = 0; i < ASKED; i++) {
		CHECK(one.counts[i] > 0 && many.counts[i] == one.counts[i]);
		CHECK_NEAR(many.depths[i], one.depths[i], 0);
	}
	carom_destroy_world(world);
	carom_release_mesh(j.mesh);
	carom_destroy_context(context);
}

// ---- The form in queries ----

/// Places that a form cannot follow: a triangle loses its area.
static void collapse(jelly *j)
{
	const int32_t *t = j->mesh->topology.triangles;
	memcpy(&j->places[3 * (int64_t)t[1]], &j->places[3 * (int64_t)t[0]], 3 * sizeof *j->places);
}

/// Compare answers of two worlds of one solid. Returns how many rays hit.
static int compare_answers(const carom_world *a, const carom_world *b, uint64_t *seed)
{
	int hits = 0;
	for (int i = 0; i < 60; i++) {
		carom_ray ray = { 0 };
		double *numbers[6] = { &ray.origin.x, &ray.origin.y, &ray.origin.z, &ray.direction.x, &ray.direction.y,
			&ray.direction.z };
		for (int k = 0; k < 6; k++)
			*numbers[k] = test_random_double(seed, -1.5, 1.5);
		ray.t_max = 10;
		bool found[2];
		carom_ray_hit hit[2] = { 0 };
		carom_closest_point near[2] = { 0 };
		const carom_world *worlds[2] = { a, b };
		for (int w = 0; w < 2; w++)
			REQUIRE(carom_world_cast_ray(worlds[w], &ray, NULL, &found[w], &hit[w]) == CAROM_SUCCESS);
		CHECK_INT(found[0], found[1]);
		CHECK(query_same_hit(&hit[0], &hit[1]));
		hits += found[0];
		for (int w = 0; w < 2; w++)
			REQUIRE(carom_world_closest_point(worlds[w], ray.origin, INFINITY, NULL, &found[w], &near[w]) == CAROM_SUCCESS);
		CHECK(found[0] && found[1] && memcmp(&near[0], &near[1], sizeof *near) == 0);
	}
	return hits;
}

/// Queries between steps bring a form up to date: they answer as the tree of a solid without contacts does, which has no form, and
/// leave the next step as it is. No second tree stays.
TEST(solids, queries_use_the_form_of_contacts)
{
	carom_context *context = fixture_context(1);
	jelly j = make_jelly(fixture_torus_mesh(context, 16, 8, 0.4, 0.1));
	carom_world *asked = fixture_world(context, NULL), *left = fixture_world(context, NULL),
				*plain = fixture_world(context, NULL);
	carom_world *const worlds[3] = { asked, left, plain };
	carom_body_id solids[3];
	uint64_t seed = 3;
	int hits = 0, contacts = 0;
	for (int w = 0; w < 3; w++) {
		carom_body_def def = carom_default_body_def();
		def.kind = CAROM_DEFORMABLE;
		def.shape = fixture_of_mesh(j.mesh);
		def.contacts = worlds[w] != plain;
		REQUIRE(carom_world_add_body(worlds[w], &def, &solids[w]) == CAROM_SUCCESS);
		const carom_pose at = fixture_at(1.1, 0, 0.1);
		def = carom_default_body_def();
		def.kind = CAROM_DYNAMIC;
		def.shape = fixture_of_mesh(j.mesh);
		def.pose = at;
		def.mask = worlds[w] == plain ? 0 : def.mask;
		carom_body_id other;
		REQUIRE(carom_world_add_body(worlds[w], &def, &other) == CAROM_SUCCESS);
	}
	const cr_deforming *d = cr_deforming_of(&asked->bodies.data[solids[0].index1 - 1]);
	for (int step = 0; step < 12 && test_failures() == 0; step++) {
		deform(&j, 0.1 * step, (carom_vec3){ step == 9 ? 30 : 0, 0, 0 });
		if (step % 5 == 4)
			collapse(&j);
		for (int w = 0; w < 3; w++)
			set_places(worlds[w], solids[w], &j);
		if (step != 2)
			hits += compare_answers(asked, plain, &seed);
		// There is no form before the first step, none follows a collapsed triangle, and the one made in that step follows nothing.
		// At 9 the solid is far from all questions.
		CHECK_INT(d->surface.tree.collider.blocks != NULL, step == 0 || step == 4 || step == 5);
		for (int w = 0; w < 3; w++)
			fixture_step(worlds[w]);
		check_equal_contacts(asked, left);
		contacts += carom_world_contacts(asked).count;
		if (step % 3 == 0)
			hits += compare_answers(asked, plain, &seed);
	}
	CHECK(hits > 100 && contacts > 20);
	for (int w = 0; w < 3; w++)
		carom_destroy_world(worlds[w]);
	carom_release_mesh(j.mesh);
	carom_destroy_context(context);
}

enum { MOST_BYTES = 580 }; // the aim is 600

/// Places, contacts, impacts and queries of solids of 43,200 triangles in all, the world itself included.
TEST(solids, take_few_bytes_a_triangle)
{
	enum { AROUND = 60, ACROSS = 60, BODIES = 6, VERTICES = AROUND * ACROSS, TRIANGLES = BODIES * 2 * VERTICES };
	static double places[VERTICES][3];
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_torus_mesh(context, AROUND, ACROSS, 0.3, 0);
	REQUIRE(mesh->topology.vertex_count == VERTICES && BODIES * mesh->topology.triangle_count == TRIANGLES);
	const size_t before = carom_memory_in_use(context);
	carom_world *world = fixture_world(context, NULL);
	carom_body_id ids[BODIES];
	for (int b = 0; b < BODIES; b++) {
		carom_body_def def = carom_default_body_def();
		def.kind = CAROM_DEFORMABLE;
		def.shape = fixture_of_mesh(mesh);
		def.self_collision = false; // its front would be most of what it finds here
		REQUIRE(carom_world_add_body(world, &def, &ids[b]) == CAROM_SUCCESS);
	}
	for (int step = 0; step < 4; step++) {
		for (int b = 0; b < BODIES; b++) {
			for (int i = 0; i < VERTICES; i++) {
				const float *p = &mesh->topology.vertices[3 * i];
				const double wave = 0.02 * sin(3 * p[0] + 0.2 * step + b);
				const double to[3] = { p[0] + 1.1 * b, b % 2 ? -p[2] : p[1], b % 2 ? p[1] + wave : p[2] + wave };
				memcpy(places[i], to, sizeof to);
			}
			const carom_strided end = { places, 0, CAROM_FLOAT64 };
			REQUIRE(carom_world_set_vertices(world, ids[b], step == 0 ? &end : NULL, &end) == CAROM_SUCCESS);
		}
		bool found;
		carom_closest_point near;
		REQUIRE(carom_world_closest_point(world, (carom_vec3){ 0, 0, 0 }, INFINITY, NULL, &found, &near) == CAROM_SUCCESS);
		fixture_step(world);
	}
	CHECK(carom_world_contacts(world).count > 0);
	const size_t bytes = carom_memory_in_use(context) - before;
	CHECK(bytes > 0 && bytes < (size_t)MOST_BYTES * TRIANGLES);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
