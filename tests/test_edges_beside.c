/// Edges that cross where no vertex lies inside, while vertices elsewhere have contacts.
#include "fixture.h"
#include "pool_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- A ridge across a ridge, and a pin over a plate ----

static void add_vertices(fixture_soup *s, const float (*points)[3], int count)
{
	memcpy(s->vertices + 3 * s->vertex_count, points, (size_t)count * sizeof *points);
	s->vertex_count += count;
}

static void add_triangles(fixture_soup *s, const int32_t (*triangles)[3], int count, bool turned)
{
	const int32_t base = s->vertex_count;
	for (int i = 0; i < count; i++) {
		int32_t *t = &s->triangles[3 * s->triangle_count++];
		t[0] = base + triangles[i][0];
		t[1] = base + triangles[i][turned ? 2 : 1];
		t[2] = base + triangles[i][turned ? 1 : 2];
	}
}

/// A prism with a sharp edge of length 2 along x, on top; or along y, below.
static void add_ridge(fixture_soup *s, bool below)
{
	static const int32_t triangles[8][3] = { { 0, 2, 1 }, { 3, 4, 5 }, { 0, 4, 3 }, { 0, 1, 4 }, { 1, 5, 4 }, { 1, 2, 5 },
		{ 2, 3, 5 }, { 2, 0, 3 } };
	const float z = below ? 0.5f : -0.5f;
	const float along_x[6][3] = { { -1, -0.5f, z }, { -1, 0.5f, z }, { -1, 0, 0 }, { 1, -0.5f, z }, { 1, 0.5f, z },
		{ 1, 0, 0 } };
	float points[6][3];
	for (int i = 0; i < 6; i++) {
		points[i][0] = along_x[i][below ? 1 : 0];
		points[i][1] = along_x[i][below ? 0 : 1];
		points[i][2] = along_x[i][2];
	}
	add_triangles(s, triangles, 8, false); // exchanged axes and the other side of z: two mirrors
	add_vertices(s, points, 6);
}

/// A pyramid that points down to (4, 0, height).
static void add_pin(fixture_soup *s, float height)
{
	static const int32_t triangles[6][3] = { { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 3 }, { 0, 1, 4 }, { 1, 2, 3 }, { 1, 3, 4 } };
	const float z = height + 0.5f;
	const float points[5][3] = { { 4, 0, height }, { 4.2f, 0.2f, z }, { 3.8f, 0.2f, z }, { 3.8f, -0.2f, z },
		{ 4.2f, -0.2f, z } };
	add_triangles(s, triangles, 6, false);
	add_vertices(s, points, 5);
}

typedef struct ridges {
	carom_context *context;
	carom_mesh *mesh[2];
	carom_world *world;
	carom_body_id upper;
} ridges;

/// The ridges touch where the upper body is at 0; the pin touches its plate 5 cm lower. A ball of more than 64 facets is a part of
/// each body.
static void open_ridges(ridges *r, double share, carom_temporal temporal)
{
	static fixture_soup soup;
	carom_world_def def = carom_default_world_def();
	def.long_edge_share = share;
	def.temporal = temporal;
	r->context = fixture_context(1);
	for (int i = 0; i < 2; i++) {
		soup.vertex_count = soup.triangle_count = 0;
		add_ridge(&soup, i == 1);
		if (i == 0)
			fixture_soup_box(&soup, (v3d){ 4, 0, -0.5 }, 0.5, 0.5, 0.5);
		else
			add_pin(&soup, 0.05f);
		fixture_soup_sphere(&soup, (v3d){ 2, 0, i == 0 ? -1 : 1 }, 0.3, 8);
		r->mesh[i] = fixture_mesh(r->context, &soup);
		CHECK(carom_mesh_get_report(r->mesh[i])->closed);
	}
	r->world = fixture_world(r->context, &def);
	fixture_add(r->world, fixture_of_mesh(r->mesh[0]), carom_pose_identity(), CAROM_STATIC);
	r->upper = fixture_add(r->world, fixture_of_mesh(r->mesh[1]), carom_pose_identity(), CAROM_DYNAMIC);
}

static void close_ridges(ridges *r)
{
	carom_destroy_world(r->world);
	for (int i = 0; i < 2; i++)
		carom_release_mesh(r->mesh[i]);
	carom_destroy_context(r->context);
}

/// Contacts at the ridges and at the pin, and their depths.
static void count_at(const ridges *r, int count[2], double depth[2])
{
	const carom_contact_view c = carom_world_contacts(r->world);
	count[0] = count[1] = 0;
	depth[0] = depth[1] = -1;
	for (int32_t i = 0; i < c.count; i++) {
		const int at = c.data[i].point[0] > 2;
		count[at]++;
		depth[at] = fmax(depth[at], c.data[i].depth);
		CHECK_NEAR(fabs(c.data[i].normal[2]), 1, 1e-6);
	}
}

TEST(edges_beside, a_ridge_keeps_its_contact_when_a_vertex_comes_in)
{
	static const carom_temporal ways[] = { CAROM_TEMPORAL_NONE, CAROM_TEMPORAL_PREDICTIVE };
	static const double shares[] = { 0, 0.2, 2 };
	for (int way = 0; way < 2; way++) {
		for (int k = 0; k < 3; k++) {
			ridges r;
			open_ridges(&r, shares[k], ways[way]);
			for (int i = 0; i < 16; i++) {
				const double down = 0.0425 + 0.002 * i;
				REQUIRE(
					carom_world_set_pose(r.world, r.upper, &(carom_pose){ { 0, 0, -down }, { 0, 0, 0, 1 } }) == CAROM_SUCCESS);
				fixture_step(r.world);
				int count[2];
				double depth[2];
				count_at(&r, count, depth);
				const bool pinned = down > 0.05;
				CHECK_INT(count[1] > 0, pinned);
				CHECK_INT(count[0] > 0, shares[k] < 1 || !pinned);
				if (count[0] > 0)
					CHECK_NEAR(depth[0], down, 1e-6);
				if (count[1] > 0)
					CHECK_NEAR(depth[1], down - 0.05, 1e-6);
			}
			close_ridges(&r);
		}
	}
}

// ---- Random pairs: each place has a contact ----

enum { MOST_CROSSING = 4096 };

/// Do two triangles of a mesh share an edge, by the places of their corners?
static bool are_neighbours(const carom_mesh *mesh, int32_t a, int32_t b)
{
	const int32_t *t = carom_mesh_get_triangles(mesh);
	const float *v = carom_mesh_get_vertices(mesh);
	int shared = 0;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++)
			shared += memcmp(&v[3 * t[3 * a + i]], &v[3 * t[3 * b + k]], 3 * sizeof *v) == 0;
	}
	return shared == 2;
}

static bool has_corner(const carom_mesh *mesh, int32_t triangle, int32_t vertex)
{
	const int32_t *t = carom_mesh_get_triangles(mesh);
	const float *v = carom_mesh_get_vertices(mesh);
	bool found = false;
	for (int i = 0; i < 3; i++)
		found = found || memcmp(&v[3 * t[3 * triangle + i]], &v[3 * vertex], 3 * sizeof *v) == 0;
	return found;
}

/// Does a contact belong to a crossing of two triangles? One of an edge names the lower one of its triangles.
static bool is_of(carom_mesh *const mesh[2], const carom_contact *c, const int32_t crossing[2])
{
	switch (c->kind) {
	case CAROM_VERTEX_A: return has_corner(mesh[0], crossing[0], c->feature_a);
	case CAROM_VERTEX_B: return has_corner(mesh[1], crossing[1], c->feature_b);
	case CAROM_EDGE_A: return c->feature_a / 3 == crossing[0];
	case CAROM_EDGE_B: return c->feature_b / 3 == crossing[1];
	default: return false;
	}
}

/// Parts crossings into places, which the lowest of their crossings names.
static void join_places(carom_mesh *const mesh[2], int32_t (*crossing)[2], int32_t count, int32_t *place)
{
	for (int32_t i = 0; i < count; i++)
		place[i] = i;
	for (bool changed = true; changed;) {
		changed = false;
		for (int32_t i = 0; i < count; i++) {
			for (int32_t k = 0; k < i; k++) {
				if (place[i] == place[k] ||
					!((crossing[i][0] == crossing[k][0] && are_neighbours(mesh[1], crossing[i][1], crossing[k][1])) ||
						(crossing[i][1] == crossing[k][1] && are_neighbours(mesh[0], crossing[i][0], crossing[k][0]))))
					continue;
				const int32_t first = place[i] < place[k] ? place[i] : place[k];
				place[i] = place[k] = first;
				changed = true;
			}
		}
	}
}

/// Parts crossings into places, and counts these and those without a contact.
static void count_places(
	carom_mesh *const mesh[2], carom_contact_view contacts, int32_t (*crossing)[2], int32_t count, int *places, int *bare)
{
	static int32_t place[MOST_CROSSING];
	static bool served[MOST_CROSSING];
	join_places(mesh, crossing, count, place);
	for (int32_t i = 0; i < count; i++)
		served[i] = false;
	for (int32_t i = 0; i < count; i++) {
		for (int32_t k = 0; k < contacts.count; k++)
			served[place[i]] = served[place[i]] || is_of(mesh, &contacts.data[k], crossing[i]);
	}
	for (int32_t i = 0; i < count; i++) {
		*places += place[i] == i;
		*bare += place[i] == i && !served[i];
	}
}

/// Two lumpy tori at random poses, a little into each other.
static void try_tori(double share, int *places, int *bare)
{
	static int32_t crossing[MOST_CROSSING][2];
	carom_world_def def = carom_default_world_def();
	def.long_edge_share = share;
	def.max_contacts_per_pair = 0;
	carom_context *context = fixture_context(1);
	carom_mesh *const mesh[2] = { fixture_torus_mesh(context, 11, 5, 0.4, 0.5), fixture_torus_mesh(context, 9, 6, 0.35, 0.3) };
	uint64_t seed = 3;
	*places = *bare = 0;
	for (int i = 0; i < 300; i++) {
		carom_world *world = fixture_world(context, &def);
		const carom_pose at[2] = { fixture_random_pose(&seed, 0), fixture_random_pose(&seed, 1.1) };
		int32_t count;
		fixture_add(world, fixture_of_mesh(mesh[0]), at[0], CAROM_STATIC);
		fixture_add(world, fixture_of_mesh(mesh[1]), at[1], CAROM_DYNAMIC);
		fixture_step(world);
		REQUIRE(carom_mesh_intersections(mesh[0], &at[0], mesh[1], &at[1], MOST_CROSSING, crossing, &count) == CAROM_SUCCESS);
		if (count < 200)
			count_places(mesh, carom_world_contacts(world), crossing, count, places, bare);
		carom_destroy_world(world);
	}
	for (int i = 0; i < 2; i++)
		carom_release_mesh(mesh[i]);
	carom_destroy_context(context);
}

TEST(edges_beside, each_place_where_surfaces_cross_has_a_contact)
{
	int places, bare, bare_without;
	try_tori(0, &places, &bare);
	CHECK(places > 300);
	CHECK_INT(bare, 0);
	try_tori(2, &places, &bare_without);
	CHECK(bare_without > 10);
}

// ---- Smooth bodies: a contact is near, and pushes the right way ----

/// Two bodies of meshes, and what a step found.
typedef struct met {
	carom_mesh *mesh[2];
	carom_pose at[2];
	carom_contact_view contacts;
	int places, bare; // sums over all steps
} met;

static v3d corner_of(const met *m, int side, int32_t triangle, int k)
{
	const float *v = carom_mesh_get_vertices(m->mesh[side]) + 3 * carom_mesh_get_triangles(m->mesh[side])[3 * triangle + k];
	const carom_vec3 p = carom_transform_point(m->at[side], (carom_vec3){ v[0], v[1], v[2] });
	return (v3d){ p.x, p.y, p.z };
}

static v3d normal_of(const met *m, int side, int32_t triangle)
{
	const v3d p = corner_of(m, side, triangle, 0);
	return v3d_normalize(v3d_cross(v3d_sub(corner_of(m, side, triangle, 1), p), v3d_sub(corner_of(m, side, triangle, 2), p)));
}

/// Is a contact no farther from a corner of the crossing triangles than their longest edge?
static bool is_near(const met *m, const carom_contact *c, const int32_t crossing[2])
{
	const v3d at = { c->point[0], c->point[1], c->point[2] };
	double reach = 0, distance = INFINITY;
	for (int i = 0; i < 6; i++) {
		const v3d p = corner_of(m, i / 3, crossing[i / 3], i % 3);
		reach = fmax(reach, v3d_length(v3d_sub(corner_of(m, i / 3, crossing[i / 3], (i + 1) % 3), p)));
		distance = fmin(distance, v3d_length(v3d_sub(at, p)));
	}
	return distance <= reach;
}

/// A place is covered where a contact is near one of its crossings, and leads A out of B: within 60
/// degrees of the mean of the normals of B's triangles and the opposites of those of A's. The dull
/// way: crossings belong to one place that share a triangle, while the others are neighbours.
static void judge_places(met *m)
{
	static int32_t crossing[MOST_CROSSING][2], place[MOST_CROSSING];
	int32_t count;
	REQUIRE(carom_mesh_intersections(m->mesh[0], &m->at[0], m->mesh[1], &m->at[1], MOST_CROSSING, crossing, &count) ==
		CAROM_SUCCESS);
	REQUIRE(count <= MOST_CROSSING);
	join_places(m->mesh, crossing, count, place);
	for (int32_t i = 0; i < count; i++) {
		v3d way = { 0, 0, 0 };
		bool covered = false;
		if (place[i] != i)
			continue;
		for (int32_t k = i; k < count; k++) {
			if (place[k] == i)
				way = v3d_add(way, v3d_sub(normal_of(m, 1, crossing[k][1]), normal_of(m, 0, crossing[k][0])));
		}
		way = v3d_normalize(way);
		for (int32_t k = i; k < count; k++) {
			for (int32_t j = 0; place[k] == i && j < m->contacts.count && !covered; j++) {
				const carom_contact *c = &m->contacts.data[j];
				covered = c->depth >= 0 && is_near(m, c, crossing[k]) &&
					v3d_dot(way, (v3d){ c->normal[0], c->normal[1], c->normal[2] }) >= 0.5;
			}
		}
		m->places++;
		m->bare += !covered;
	}
}

/// Step a world of two bodies, and judge its contacts.
static void meet(met *m, carom_context *context, double share, carom_body_kind upper, carom_body_kind lower)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	def.long_edge_share = share;
	carom_world *world = fixture_world(context, &def);
	fixture_add(world, fixture_of_mesh(m->mesh[0]), m->at[0], upper);
	fixture_add(world, fixture_of_mesh(m->mesh[1]), m->at[1], lower);
	fixture_step(world);
	m->contacts = carom_world_contacts(world);
	judge_places(m);
	carom_destroy_world(world);
}

static carom_pose turned_about_z(double x, double z, double angle)
{
	return (carom_pose){ { x, 0, z }, { 0, 0, sin(angle / 2), cos(angle / 2) } };
}

/// A ring lies across a ring, turned in 60 ways, at several depths.
static met try_rings(double share, carom_body_kind upper, carom_body_kind lower)
{
	static const double depths[] = { 0.0005, 0.0015, 0.0045 };
	carom_context *context = fixture_context(1);
	met m = { .places = 0 };
	m.mesh[0] = m.mesh[1] = fixture_torus_mesh(context, 24, 12, 0.15, 0);
	for (int i = 0; i < 60; i++) {
		m.at[0] = turned_about_z(0.5 + 0.017 * i, 0.3 - depths[i % 3], 0.71 * i);
		m.at[1] = turned_about_z(0, 0, 0.37 * i);
		meet(&m, context, share, upper, lower);
	}
	carom_release_mesh(m.mesh[0]);
	carom_destroy_context(context);
	return m;
}

TEST(edges_beside, rings_across_each_other_have_contacts_in_both_places)
{
	const met rigid = try_rings(0, CAROM_DYNAMIC, CAROM_STATIC);
	CHECK(rigid.places >= 120);
	CHECK_INT(rigid.bare, 0);
	const met without = try_rings(2, CAROM_DYNAMIC, CAROM_STATIC);
	CHECK(without.bare > 5);
}

TEST(edges_beside, solids_that_deform_have_them_too)
{
	const met one = try_rings(0, CAROM_DEFORMABLE, CAROM_STATIC), both = try_rings(0, CAROM_DEFORMABLE, CAROM_DEFORMABLE);
	CHECK(one.places >= 120 && both.places >= 120);
	CHECK_INT(one.bare, 0);
	CHECK_INT(both.bare, 0);
}

/// A tilted ring is let down into hills.
static met try_hills(double share)
{
	enum { SIDE = 33 };
	static float heights[SIDE * SIDE];
	static const double spacing[2] = { 0.25, 0.25 };
	carom_context *context = fixture_context(1);
	met m = { .places = 0 };
	for (int i = 0; i < SIDE * SIDE; i++)
		heights[i] = (float)(0.125 * sin(1.7 * i * i));
	m.mesh[0] = fixture_torus_mesh(context, 24, 12, 0.15, 0);
	REQUIRE(carom_create_height_field(context, SIDE, SIDE, heights, spacing, 2, &m.mesh[1]) == CAROM_SUCCESS);
	m.at[1] = (carom_pose){ { -4, -4, 0 }, { 0, 0, 0, 1 } };
	for (int i = 0; i < 60; i++) {
		const double tilt = 0.005 * i;
		m.at[0] = (carom_pose){ { -1 + 0.03 * i, 0.7 - 0.02 * i, 2 }, { sin(tilt / 2), 0, 0, cos(tilt / 2) } };
		double low = -1, high = 2;
		for (int k = 0; k < 20; k++) {
			const carom_shape ring = fixture_of_mesh(m.mesh[0]), hills = fixture_of_mesh(m.mesh[1]);
			bool overlap;
			m.at[0].position.z = (low + high) / 2;
			REQUIRE(carom_overlap(context, &ring, &m.at[0], &hills, &m.at[1], &overlap) == CAROM_SUCCESS);
			*(overlap ? &low : &high) = m.at[0].position.z;
		}
		m.at[0].position.z = high - 0.009;
		meet(&m, context, share, CAROM_DYNAMIC, CAROM_STATIC);
	}
	for (int i = 0; i < 2; i++)
		carom_release_mesh(m.mesh[i]);
	carom_destroy_context(context);
	return m;
}

TEST(edges_beside, a_ring_on_hills_has_a_contact_wherever_it_touches)
{
	const met m = try_hills(0), without = try_hills(2);
	CHECK(m.places >= 60);
	CHECK_INT(m.bare, 0);
	CHECK(without.bare > 0);
}

// ---- Long triangles ----

/// The end of a ridge stands in a block: its triangles are long, and the contact there tells nothing
/// of a ridge that crosses in their middle.
TEST(edges_beside, the_end_of_a_long_triangle_does_not_speak_for_its_middle)
{
	static fixture_soup soup;
	carom_context *context = fixture_context(1);
	carom_mesh *mesh[2];
	for (int i = 0; i < 2; i++) {
		soup.vertex_count = soup.triangle_count = 0;
		add_ridge(&soup, i == 1);
		if (i == 1)
			fixture_soup_box(&soup, (v3d){ 1, 0, 0.5 }, 0.2, 0.2, 0.5);
		fixture_soup_sphere(&soup, (v3d){ -2, 0, i == 0 ? -1 : 1 }, 0.3, 8);
		mesh[i] = fixture_mesh(context, &soup);
		CHECK(carom_mesh_get_report(mesh[i])->closed);
	}
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_of_mesh(mesh[0]), carom_pose_identity(), CAROM_STATIC);
	fixture_add(world, fixture_of_mesh(mesh[1]), (carom_pose){ { 0, 0, -0.01 }, { 0, 0, 0, 1 } }, CAROM_DYNAMIC);
	fixture_step(world);
	const carom_contact_view c = carom_world_contacts(world);
	int at_middle = 0, at_end = 0;
	for (int32_t i = 0; i < c.count; i++) {
		at_middle += fabs(c.data[i].point[0]) < 0.1;
		at_end += fabs(c.data[i].point[0] - 1) < 0.1;
	}
	CHECK(at_middle > 0 && at_end > 0);
	carom_destroy_world(world);
	for (int i = 0; i < 2; i++)
		carom_release_mesh(mesh[i]);
	carom_destroy_context(context);
}

// ---- Threads, memory ----

static uint64_t hash_of_tori(carom_context *context, carom_result *result)
{
	carom_world_def def = carom_default_world_def();
	def.long_edge_share = 0;
	carom_mesh *mesh = fixture_torus_mesh(context, 11, 5, 0.4, 0.5);
	carom_world *world = fixture_world(context, &def);
	uint64_t seed = 9;
	for (int i = 0; i < 60; i++)
		fixture_add(world, fixture_of_mesh(mesh), fixture_random_pose(&seed, 4), CAROM_DYNAMIC);
	*result = carom_world_step(world);
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	return hash;
}

TEST(edges_beside, any_number_of_threads_gives_the_same)
{
	carom_result result;
	carom_context *one = fixture_context(1);
	const uint64_t hash = hash_of_tori(one, &result);
	carom_destroy_context(one);
	pool_require_threads();
	carom_context *four = fixture_context(4);
	CHECK(hash_of_tori(four, &result) == hash);
	CHECK_INT(result, CAROM_SUCCESS);
	carom_destroy_context(four);
}
