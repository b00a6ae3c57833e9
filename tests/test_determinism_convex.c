/// Determinism of convex shapes without a world. See test_determinism.c.
#include "base/hash.h"
#include "determinism_fixture.h"
#include "carom/collide.h"
#include "fixture.h"
#include "test.h"
#include <math.h>

static uint64_t hash_vector(uint64_t hash, carom_vec3 v)
{
	return cr_hash_double(cr_hash_double(cr_hash_double(hash, v.x), v.y), v.z);
}

static carom_shape random_convex(uint64_t *seed, const carom_mesh *hull)
{
	static const carom_shape_type types[] = { CAROM_SPHERE, CAROM_BOX, CAROM_CAPSULE, CAROM_HULL, CAROM_CYLINDER, CAROM_CONE,
		CAROM_ELLIPSOID };
	carom_shape shape = { .type = types[test_random(seed) % 7], .mesh = hull };
	shape.radius = test_random_double(seed, 0.2, 1);
	shape.half_length = test_random_double(seed, 0.2, 1);
	for (int k = 0; k < 3; k++)
		shape.half_extents[k] = test_random_double(seed, 0.2, 1);
	shape.rounding = test_random(seed) % 2 ? test_random_double(seed, 0, 0.2) : 0;
	// The hash is that of the time when these had none.
	if (shape.type == CAROM_SPHERE || shape.type == CAROM_CAPSULE)
		shape.rounding = 0;
	return shape;
}

static carom_pose random_pose(uint64_t *seed, double span)
{
	double v[7], length = 0;
	for (int i = 0; i < 7; i++)
		v[i] = test_random_double(seed, -1, 1);
	for (int i = 0; i < 4; i++)
		length += v[i] * v[i];
	length = sqrt(length);
	return (carom_pose){ { span * v[4], span * v[5], span * v[6] },
		{ v[0] / length, v[1] / length, v[2] / length, v[3] / length } };
}

/// Separations, manifolds and times of impact of random pairs.
static uint64_t hash_convex(const determinism_way *way, carom_context *context, void *user)
{
	(void)way, (void)user;
	uint64_t seed = 12, hash = CR_HASH_SEED;
	float points[3 * 60];
	for (int i = 0; i < 3 * 60; i++)
		points[i] = (float)test_random_double(&seed, -1, 1);
	const carom_strided view = { points, 0, CAROM_FLOAT32 };
	carom_mesh *hull;
	REQUIRE(carom_create_hull(context, &view, 60, &hull) == CAROM_SUCCESS);
	for (int round = 0; round < 500; round++) {
		const carom_shape a = random_convex(&seed, hull), b = random_convex(&seed, hull);
		const carom_pose pa = random_pose(&seed, 1), pb = random_pose(&seed, 1);
		const carom_motion ma = { pa, random_pose(&seed, 3) }, mb = { pb, random_pose(&seed, 3) };
		carom_separation s;
		carom_manifold m;
		carom_toi toi;
		REQUIRE(carom_distance(context, &a, &pa, &b, &pb, &s) == CAROM_SUCCESS);
		REQUIRE(carom_collide_convex(context, &a, &pa, &b, &pb, 0.1, &m) == CAROM_SUCCESS);
		REQUIRE(carom_time_of_impact(context, &a, &ma, &b, &mb, 1e-3, &toi) == CAROM_SUCCESS);
		hash = hash_vector(hash_vector(hash_vector(cr_hash_double(hash, s.distance), s.normal), s.point_a), s.point_b);
		hash = hash_vector(cr_hash_double(hash, m.count), m.normal);
		for (int i = 0; i < m.count; i++)
			hash = cr_hash_double(hash_vector(hash, m.points[i].point), m.points[i].depth);
		hash = cr_hash_double(cr_hash_double(hash, toi.time), toi.status);
	}
	carom_release_mesh(hull);
	return hash;
}

TEST(determinism, convex_shapes) { determinism_check("convex_shapes", hash_convex, NULL); }

/// Times of impact of meshes and convex shapes, and what they say of the place.
static uint64_t hash_movers(const determinism_way *way, carom_context *context, void *user)
{
	(void)way, (void)user;
	uint64_t seed = 13, hash = CR_HASH_SEED;
	carom_mesh *ring = fixture_torus_mesh(context, 12, 8, 0.4, 0.3), *hull = fixture_box_mesh(context, 0.4, 0.3, 0.2);
	for (int round = 0; round < 300; round++) {
		const carom_shape meshes[2] = { fixture_of_mesh(ring), fixture_of_mesh(hull) };
		const carom_shape a = round % 3 ? meshes[round % 2] : fixture_ellipsoid(0.3, 0.2, 0.4), b = meshes[round / 2 % 2];
		const carom_motion ma = { random_pose(&seed, 2), random_pose(&seed, 2) },
						   mb = { random_pose(&seed, 2), random_pose(&seed, 2) };
		carom_toi toi;
		REQUIRE(carom_time_of_impact(context, &a, &ma, &b, &mb, 1e-3, &toi) == CAROM_SUCCESS);
		hash = cr_hash_double(cr_hash_double(hash, toi.time), toi.status);
		hash = cr_hash_double(
			hash_vector(hash_vector(hash, toi.separation.normal), toi.separation.point_b), toi.separation.distance);
		hash = cr_hash_double(cr_hash_double(hash, toi.triangle_a), toi.triangle_b);
	}
	carom_release_mesh(ring);
	carom_release_mesh(hull);
	return hash;
}

TEST(determinism, impacts_of_meshes) { determinism_check("impacts_of_meshes", hash_movers, NULL); }
