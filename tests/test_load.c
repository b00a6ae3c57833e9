/// What scenes cost that are hostile by their extent or their numbers: memory at its peak and counts of work, never time. Results beside
/// them, so that cheaper does not mean less.
#include "fixture.h"
#include "geom/volume.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Bodies ----

enum { CLOUD = 1000 };

/// A cloud of spheres stepped twice, body number 7 far away where far > 0. Returns the peak of the world's memory.
static size_t cloud_with_stray(int broad, double far, int32_t *contacts)
{
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	fixture_set_broad(&def, broad);
	carom_world *world = fixture_world(context, &def);
	uint64_t seed = 3;
	for (int i = 0; i < CLOUD; i++) {
		carom_pose pose = fixture_random_pose(&seed, 6);
		if (i == 7)
			pose.position = far > 0 ? (carom_vec3){ far, far, far } : (carom_vec3){ 30, 0, 0 };
		fixture_add(world, fixture_sphere(0.5), pose, CAROM_DYNAMIC);
	}
	fixture_step(world);
	fixture_step(world);
	*contacts = carom_world_contacts(world).count;
	const size_t peak = carom_world_stats(world).memory_peak;
	carom_destroy_world(world);
	carom_destroy_context(context);
	return peak;
}

TEST(load, a_far_body_takes_no_memory)
{
	for (int broad = CAROM_BROAD_TREE; broad <= CAROM_BROAD_SWEEP; broad++) {
		int32_t near_contacts, far_contacts;
		const size_t near = cloud_with_stray(broad, 0, &near_contacts);
		CHECK(near_contacts > 200);
		for (double far = 1e11; far <= 1e15; far *= 100) {
			CHECK(cloud_with_stray(broad, far, &far_contacts) <= near + near / 10);
			CHECK_INT(far_contacts, near_contacts);
		}
	}
}

static bool refuse_all(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b;
	*(int64_t *)user += a.index1 < b.index1;
	return false;
}

/// How bodies at one place are kept apart.
typedef enum refusal { BY_MASK, BY_GROUP, BY_FILTER, REFUSALS } refusal;

TEST(load, refused_pairs_take_no_memory)
{
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		for (int how = 0; how < REFUSALS; how++) {
			int64_t asked = 0;
			carom_context *context = fixture_context(1);
			carom_world_def def = carom_default_world_def();
			fixture_set_broad(&def, broad);
			def.pair_filter = how == BY_FILTER ? refuse_all : NULL;
			def.filter_user = &asked;
			// 500,000 pairs of 8 bytes are 4 MB; bodies, trees and what pairs would remember come on top.
			def.memory_budget = CLOUD * 2500 + 4000000 * (how == BY_FILTER);
			carom_world *world = fixture_world(context, &def);
			for (int i = 0; i < CLOUD; i++) {
				carom_body_def body = carom_default_body_def();
				body.shape = fixture_sphere(1);
				body.mask = how == BY_MASK ? 2 : body.mask;
				body.group = how == BY_GROUP ? -1 : 0;
				carom_body_id id;
				REQUIRE(carom_world_add_body(world, &body, &id) == CAROM_SUCCESS);
			}
			fixture_step(world);
			fixture_step(world);
			CHECK_INT(carom_world_pairs(world).count, 0);
			CHECK_INT(asked, how == BY_FILTER ? CLOUD * (CLOUD - 1) : 0);
			CHECK_INT(carom_world_stats(world).box_pairs, how == BY_FILTER ? CLOUD * (CLOUD - 1) / 2 : 0);
			carom_destroy_world(world);
			carom_destroy_context(context);
		}
	}
}

TEST(load, a_plane_costs_what_it_touches)
{
	// One sphere in a hundred lies on the ground, the others far above it.
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0), CAROM_STATIC);
	for (int i = 0; i < CLOUD; i++)
		fixture_add(world, fixture_sphere(0.4), fixture_at(i, 0, i % 100 == 0 ? 0.3 : 50), CAROM_DYNAMIC);
	fixture_step(world);
	CHECK_INT(carom_world_stats(world).box_pairs, CLOUD / 100);
	CHECK_INT(carom_world_pairs(world).count, CLOUD / 100);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

TEST(load, planes_lose_no_contact)
{
	// Volumes beside planes of any pose, within a hair of touching, or of the speculative distance: as the pair by itself says.
	int64_t touching = 0, apart = 0;
	uint64_t seed = 5;
	for (int round = 0; round < 40; round++) {
		carom_context *context = fixture_context(1);
		carom_world_def def = carom_default_world_def();
		def.speculative_distance = round % 2 ? 0.05 : 0;
		carom_world *world = fixture_world(context, &def);
		carom_pose plane = fixture_random_pose(&seed, round < 20 ? 10 : 1e5);
		const carom_shape ground = { .type = CAROM_PLANE };
		const m3d turn = m3d_from_quat(plane.orientation);
		const v3d up = { turn.row[0].z, turn.row[1].z, turn.row[2].z };
		const carom_body_id plane_id = fixture_add(world, ground, plane, CAROM_STATIC);
		REQUIRE(carom_world_get_pose(world, plane_id, &plane) == CAROM_SUCCESS); // with the quaternion normalised
		int32_t expected = 0;
		for (int i = 0; i < 60; i++) {
			const carom_shape shape = i % 3 == 0 ? fixture_sphere(0.5)
				: i % 3 == 1                     ? fixture_capsule(0.2, 0.6)
												 : fixture_box(0.3, 0.5, 0.7);
			carom_pose pose = fixture_random_pose(&seed, 5);
			// Onto the plane: as deep as the shape is high there, give or take nothing, a rounding or a hair.
			cr_volume_contact found[CR_MAX_VOLUME_CONTACTS];
			pose.position = v3d_add(
				v3d_add(plane.position, v3d_scale(up, 0.1)), v3d_sub(pose.position, v3d_scale(up, v3d_dot(up, pose.position))));
			REQUIRE(cr_volume_contacts(&ground, &plane, &shape, &pose, 10, found) > 0);
			double depth = -INFINITY;
			for (int k = 0; k < cr_volume_contacts(&ground, &plane, &shape, &pose, 10, found); k++)
				depth = fmax(depth, found[k].depth);
			const double hair = i % 5 == 0 ? 0 : pow(10, test_random_double(&seed, -17, -1)) * (i % 2 ? 1 : -1);
			pose.position = v3d_add(pose.position, v3d_scale(up, depth + def.speculative_distance + hair));
			const carom_body_id id = fixture_add(world, shape, pose, CAROM_DYNAMIC);
			REQUIRE(carom_world_get_pose(world, id, &pose) == CAROM_SUCCESS);
			const bool meets = cr_volume_contacts(&ground, &plane, &shape, &pose, def.speculative_distance, found) > 0;
			expected += meets;
			apart += !meets;
		}
		// The shapes may meet each other too.
		int32_t with_plane = 0;
		fixture_step(world);
		const carom_pair_view pairs = carom_world_pairs(world);
		for (int32_t i = 0; i < pairs.count; i++)
			with_plane += pairs.data[i].body_a.index1 == 1;
		CHECK_INT(with_plane, expected);
		touching += expected;
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
	CHECK(touching > 800 && apart > 800);
}

TEST(load, queries_do_not_mind_far_bodies)
{
	// The tree over the bodies that queries make: floats about a place among most bodies.
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	uint64_t seed = 11;
	for (int i = 0; i < CLOUD; i++) {
		carom_pose pose = fixture_random_pose(&seed, 20);
		if (i % 100 == 50)
			pose.position = (carom_vec3){ 1e15, -1e15, 1e14 };
		fixture_add(world, fixture_sphere(0.5), pose, CAROM_DYNAMIC);
	}
	for (int i = 0; i < 50; i++) {
		const carom_pose at = fixture_random_pose(&seed, 20);
		carom_closest_point nearest;
		bool found;
		REQUIRE(carom_world_closest_point(world, at.position, 5, NULL, &found, &nearest) == CAROM_SUCCESS);
		double least = INFINITY;
		for (uint32_t k = 1; k <= CLOUD; k++) {
			carom_pose pose;
			REQUIRE(carom_world_get_pose(world, (carom_body_id){ k, 1 }, &pose) == CAROM_SUCCESS);
			least = fmin(least, v3d_length(v3d_sub(pose.position, at.position)) - 0.5);
		}
		REQUIRE(found == (least <= 5));
		if (found)
			CHECK_NEAR(nearest.distance, least, 1e-9);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- Stray triangles ----

enum { CELLS = 60, SHEET_TRIANGLES = 2 * CELLS * CELLS };

/// A wavy open sheet of size 1 and, where far > 0, one small triangle that far away.
static carom_mesh *stray_sheet(carom_context *context, double far)
{
	static fixture_soup soup;
	soup = (fixture_soup){ 0 };
	fixture_soup_sheet(&soup, CELLS, 1);
	for (int32_t i = 0; i < soup.vertex_count; i++) {
		float *p = &soup.vertices[3 * i];
		p[2] = (float)(0.02 * sin(30 * p[0]) * cos(20 * p[1]));
	}
	for (int k = 0; k < 3 && far > 0; k++) {
		const int32_t v = soup.vertex_count++;
		soup.vertices[3 * v] = (float)(far + 0.01 * k);
		soup.vertices[3 * v + 1] = (float)(far + 0.01 * (k & 1));
		soup.vertices[3 * v + 2] = 2;
		soup.triangles[3 * soup.triangle_count + k] = v;
	}
	soup.triangle_count += far > 0;
	return fixture_mesh(context, &soup);
}

/// What some steps of two sheets cost that creep through each other, and what they found.
typedef struct sheet_costs {
	size_t peak;
	int64_t tests;
	int64_t found;
	uint64_t hash;
} sheet_costs;

enum { SHEET_STEPS = 12 };

static sheet_costs creep_sheets(const double far[2], const carom_world_def *def)
{
	sheet_costs costs = { 0 };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh[2] = { stray_sheet(context, far[0]), stray_sheet(context, far[1]) };
	carom_world *world = fixture_world(context, def);
	carom_body_id id[2];
	for (int i = 0; i < 2; i++)
		id[i] = fixture_add(world, fixture_of_mesh(mesh[i]), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	for (int step = 0; step < SHEET_STEPS; step++) {
		carom_pose pose = fixture_at(0.3, 0.2, 0.01 + 0.0002 * step);
		pose.orientation = fixture_turn((v3d){ 0.1, 0, 1 }, 0.4 + 0.0001 * step);
		REQUIRE(carom_world_set_pose(world, id[1], &pose) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_stats stats = carom_world_stats(world);
		costs.tests += stats.triangle_tests;
		costs.found += stats.contacts_found;
		costs.hash = costs.hash * 31 + carom_world_hash(world);
	}
	costs.peak = carom_world_stats(world).memory_peak;
	carom_destroy_world(world);
	for (int i = 0; i < 2; i++)
		carom_release_mesh(mesh[i]);
	carom_destroy_context(context);
	return costs;
}

TEST(load, a_stray_triangle_takes_no_memory)
{
	const carom_world_def def = carom_default_world_def();
	const sheet_costs near = creep_sheets((double[]){ 0, 0 }, &def);
	CHECK(near.found > SHEET_STEPS * 100);
	CHECK(near.peak < 7500000);
	for (double far = 30; far <= 1e6; far *= TEST_FEWER > 1 ? 1e4 : 10) {
		for (int both = 0; both < 2; both++) {
			const sheet_costs costs = creep_sheets((double[]){ far, both ? far : 0 }, &def);
			// Up to ten times as far the extent of the mesh, and so the reach of its lists, still grows a little.
			CHECK(costs.peak <= (far < 100 ? 4 : 2) * near.peak);
			CHECK(costs.tests <= 2 * near.tests);
			CHECK_INT(costs.found, near.found);
		}
	}
}

TEST(load, a_stray_triangle_loses_no_crossing)
{
	// Open sheets have contacts from crossing triangles alone: as without a memory, to the bit.
	carom_world_def full = carom_default_world_def();
	full.temporal = CAROM_TEMPORAL_NONE;
	const double more = TEST_FEWER > 1 ? 1.5 : 0.5;
	for (double threshold = 0; threshold < 2; threshold += more) {
		carom_world_def def = carom_default_world_def();
		fixture_lab(&def)->displacement_threshold = threshold;
		for (double far = 1; far <= 1e5; far *= TEST_FEWER > 1 ? 1e5 : 10) {
			const sheet_costs costs = creep_sheets((double[]){ far, far }, &def);
			CHECK(costs.hash == creep_sheets((double[]){ far, far }, &full).hash);
			// Half of all pairs of triangles would be 26 million, of 16 bytes each.
			CHECK(costs.peak < 16000000);
		}
	}
}

TEST(load, what_serves_later_steps_gives_way_to_the_budget)
{
	// With less and less memory the lists of near triangles go first; then steps fail, in plain words. The world lives on.
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->displacement_threshold = 0.02;
	def.contact_normal = CAROM_NORMAL_RAY; // patches need memory of their own, which serves no later step
	const double far[2] = { 0, 0 };
	const sheet_costs all = creep_sheets(far, &def);
	def.temporal = CAROM_TEMPORAL_NONE;
	const sheet_costs none = creep_sheets(far, &def);
	CHECK(none.peak < all.peak / 2);
	def.temporal = CAROM_TEMPORAL_PREDICTIVE;
	def.memory_budget = none.peak + none.peak / 4;
	const sheet_costs some = creep_sheets(far, &def);
	CHECK(some.peak <= def.memory_budget);
	CHECK(some.hash == all.hash);

	carom_context *context = fixture_context(1);
	carom_mesh *mesh = stray_sheet(context, 0);
	def.memory_budget = none.peak / 2;
	carom_world *world = fixture_world(context, &def);
	carom_body_id id[2];
	for (int i = 0; i < 2; i++)
		id[i] = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0.02 * i, 0, 0.01 * i), CAROM_DYNAMIC);
	CHECK_INT(carom_world_step(world), CAROM_OVER_BUDGET);
	CHECK(strstr(carom_error_text(context), "memory_budget") != NULL);
	carom_pose away = fixture_at(0.9, 0, 0);
	away.orientation = fixture_turn((v3d){ 1, 0, 0 }, 0.5);
	REQUIRE(carom_world_set_pose(world, id[1], &away) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 1);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ---- Pairs of spheres ----

TEST(load, pairs_of_volumes_are_small)
{
	// Rows of spheres, each touching the next one, against the same spheres apart: what a colliding pair takes, its contact included.
	enum { SPHERES = 20000 };
	size_t peak[2] = { 0 };
	for (int touching = 0; touching < 2; touching++) {
		carom_context *context = fixture_context(1);
		carom_world *world = fixture_world(context, NULL);
		for (int i = 0; i < SPHERES; i++)
			fixture_add(world, fixture_sphere(touching ? 0.51 : 0.3), fixture_at(i, 0, 0), CAROM_DYNAMIC);
		for (int step = 0; step < 3; step++)
			fixture_step(world);
		CHECK_INT(carom_world_contacts(world).count, touching ? SPHERES - 1 : 0);
		peak[touching] = carom_world_stats(world).memory_peak;
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
	CHECK(peak[1] - peak[0] < 450 * (size_t)SPHERES);
}
