/// Determinism of what is no contact of a world: rays, distances, impacts, spheres. See test_determinism.c.
#include "base/hash.h"
#include "determinism_fixture.h"
#include "carom/carom.h"
#include "carom/spheres.h"
#include "carom/sweep.h"
#include "sim/shapes/shapes.h"
#include "test.h"
#include <math.h>

/// A shape of the generator.
static sim_mesh make_shape(const char *shape, int32_t triangles)
{
	sim_mesh made;
	sim_error error;
	REQUIRE(sim_make_shape(shape, triangles, 7, &made, &error));
	return made;
}

static carom_mesh *as_mesh(carom_context *context, const sim_mesh *made)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ made->vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = made->vertex_count;
	def.triangles = made->triangles;
	def.triangle_count = made->triangle_count;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static carom_vec3 random_point(uint64_t *seed, double span)
{
	const double x = test_random_double(seed, -span, span), y = test_random_double(seed, -span, span);
	return (carom_vec3){ x, y, test_random_double(seed, -span, span) };
}

static uint64_t hash_point(uint64_t hash, carom_vec3 p)
{
	return cr_hash_double(cr_hash_double(cr_hash_double(hash, p.x), p.y), p.z);
}

// ---- Rays ----

enum { RAYS = 20000 };

typedef struct ray_arrays {
	float origin[3][RAYS], direction[3][RAYS], t_max[RAYS], t[RAYS];
	int32_t triangle[RAYS];
	uint8_t back[RAYS];
} ray_arrays;

static void fill_rays(ray_arrays *rays)
{
	uint64_t seed = 3;
	for (int i = 0; i < RAYS; i++) {
		for (int k = 0; k < 3; k++) {
			rays->origin[k][i] = (float)test_random_double(&seed, -2, 2);
			// Towards the middle, most of them; some along an axis.
			rays->direction[k][i] = i % 50 == k ? 0 : (float)test_random_double(&seed, -0.5, 0.5) - rays->origin[k][i];
		}
		rays->t_max[i] = i % 3 ? 4 : 0.5f;
	}
}

static uint64_t hash_rays(const determinism_way *way, carom_context *context, void *shape)
{
	static ray_arrays rays;
	fill_rays(&rays);
	carom_mesh *mesh = as_mesh(context, shape);
	const carom_ray_batch batch = { RAYS, { rays.origin[0], rays.origin[1], rays.origin[2] },
		{ rays.direction[0], rays.direction[1], rays.direction[2] }, rays.t_max };
	const carom_hit_batch hits = { rays.triangle, rays.t, rays.back };
	REQUIRE(carom_lab_cast_rays(mesh, way->rays, &batch, &hits) == CAROM_SUCCESS);
	uint64_t hash = CR_HASH_SEED;
	int found = 0;
	for (int i = 0; i < RAYS; i++) {
		hash = cr_hash_u64(hash, (uint64_t)(int64_t)rays.triangle[i]);
		if (rays.triangle[i] < 0)
			continue;
		hash = cr_hash_double(cr_hash_u64(hash, rays.back[i]), rays.t[i]);
		found++;
	}
	CHECK(found > RAYS / 10 && found < RAYS);
	carom_release_mesh(mesh);
	return hash;
}

TEST(determinism, rays)
{
	sim_mesh shape = make_shape("knot", 2130);
	determinism_check("rays", hash_rays, &shape);
	sim_mesh_free(&shape);
}

// ---- Distances ----

static carom_pose random_pose(uint64_t *seed, double span)
{
	const carom_vec3 turn = random_point(seed, 1);
	const double length = sqrt(turn.x * turn.x + turn.y * turn.y + turn.z * turn.z + 1);
	return (carom_pose){ random_point(seed, span), { turn.x / length, turn.y / length, turn.z / length, 1 / length } };
}

/// Places of b around a, near and far, some of them through it.
static uint64_t hash_gaps(uint64_t hash, const carom_mesh *a, const carom_mesh *b)
{
	uint64_t seed = 5;
	for (int i = 0; i < 60; i++) {
		const carom_pose pose = random_pose(&seed, 3);
		bool found;
		carom_mesh_gap gap;
		REQUIRE(carom_mesh_distance(a, NULL, b, &pose, 2.5, &found, &gap) == CAROM_SUCCESS);
		hash = cr_hash_u64(hash, found);
		if (!found)
			continue;
		hash = hash_point(hash_point(cr_hash_double(hash, gap.distance), gap.on_a.point), gap.on_b.point);
		if (gap.distance > 0) // else some pair of those that touch
			hash = cr_hash_u64(cr_hash_u64(hash, (uint64_t)gap.triangle_a), (uint64_t)gap.triangle_b);
	}
	return hash;
}

static uint64_t hash_nearest(uint64_t hash, const carom_mesh *mesh)
{
	uint64_t seed = 6;
	for (int i = 0; i < 400; i++) {
		bool found;
		carom_mesh_point p;
		REQUIRE(carom_mesh_closest_point(mesh, random_point(&seed, 2), 5, &found, &p) == CAROM_SUCCESS && found);
		hash = hash_point(hash_point(cr_hash_double(hash, p.distance), p.point), p.normal);
		hash = cr_hash_u64(hash, (uint64_t)p.triangle * 16 + (uint64_t)p.feature * 4 + (uint64_t)p.number);
	}
	return hash;
}

static uint64_t hash_distances(const determinism_way *way, carom_context *context, void *shapes_pointer)
{
	(void)way;
	const sim_mesh *shapes = shapes_pointer;
	carom_mesh *a = as_mesh(context, &shapes[0]), *b = as_mesh(context, &shapes[1]);
	const uint64_t hash = hash_nearest(hash_gaps(CR_HASH_SEED, a, b), a);
	carom_release_mesh(a);
	carom_release_mesh(b);
	return hash;
}

TEST(determinism, distances)
{
	sim_mesh shapes[2] = { make_shape("lumpy", 902), make_shape("torus", 600) };
	determinism_check("distances", hash_distances, shapes);
	sim_mesh_free(&shapes[0]);
	sim_mesh_free(&shapes[1]);
}

// ---- Impacts ----

enum { MAX_PLACES = 3000 };

/// A shape that wobbles: each vertex by chance, and more so with each step, while the whole moves.
static void move_shape(const sim_mesh *shape, carom_vec3 centre, int step, double (*places)[3])
{
	uint64_t seed = (uint64_t)step;
	const double c[3] = { centre.x, centre.y, centre.z };
	REQUIRE(shape->vertex_count <= MAX_PLACES);
	for (int32_t v = 0; v < shape->vertex_count; v++) {
		for (int k = 0; k < 3; k++)
			places[v][k] = shape->vertices[3 * v + k] + c[k] + 0.05 * step * test_random_double(&seed, -1, 1);
	}
}

static uint64_t hash_hits(uint64_t hash, const carom_sweep_hits *hits)
{
	for (const carom_sweep_hit *h = hits->data; h < hits->data + hits->count; h++) {
		hash = cr_hash_u64(hash, (uint64_t)h->kind * 4 + (uint64_t)h->status);
		hash = cr_hash_double(cr_hash_u64(hash, (uint64_t)h->mesh_a * 2 + (uint64_t)h->mesh_b), h->time);
		for (int k = 0; k < 4; k++)
			hash = cr_hash_double(cr_hash_u64(hash, (uint64_t)h->vertices[k]), h->weight[k]);
		for (int k = 0; k < 3; k++)
			hash = cr_hash_double(hash, h->normal[k]);
	}
	return hash;
}

static uint64_t hash_impacts(const determinism_way *way, carom_context *context, void *shapes_pointer)
{
	const sim_mesh *shapes = shapes_pointer;
	static double places[MAX_PLACES][3];
	const carom_strided as_strided = { places, 0, CAROM_FLOAT64 };
	carom_sweep_def sweep_def = carom_default_sweep_def();
	// The broad phases of worlds are of no meaning here: they choose among the searches.
	sweep_def.method = way->broad_phase == CAROM_BROAD_TREE ? CAROM_SWEEP_AUTO : CAROM_SWEEP_BVH;
	carom_sweep *sweep = NULL;
	REQUIRE(carom_create_sweep(context, &sweep_def, &sweep) == CAROM_SUCCESS);
	uint64_t hash = CR_HASH_SEED;
	int64_t found = 0;
	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < 2; i++) {
			move_shape(&shapes[i], (carom_vec3){ i * (2 - 0.5 * step), 0.25 * i, 0.125 }, step, places);
			if (step > 0) {
				REQUIRE(carom_sweep_move_mesh(sweep, i, &as_strided) == CAROM_SUCCESS);
				continue;
			}
			carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
			def.vertex_count = shapes[i].vertex_count;
			def.vertices = as_strided;
			def.triangles = shapes[i].triangles;
			def.triangle_count = shapes[i].triangle_count;
			int32_t number;
			REQUIRE(carom_sweep_add_mesh(sweep, &def, &number) == CAROM_SUCCESS);
		}
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		hash = hash_hits(hash, &hits);
		found += hits.count;
	}
	CHECK(found > 100);
	carom_destroy_sweep(sweep);
	return hash;
}

TEST(determinism, impacts)
{
	sim_mesh shapes[2] = { make_shape("lumpy", 902), make_shape("torus", 600) };
	determinism_check("impacts", hash_impacts, shapes);
	sim_mesh_free(&shapes[0]);
	sim_mesh_free(&shapes[1]);
}

// ---- Spheres ----

enum { SPHERES = 4000 };

static void push(
	uint32_t a, uint32_t b, const double direction[3], double overlap, double force[3], double torque[3], void *user)
{
	(void)user;
	for (int k = 0; k < 3; k++) {
		force[k] += overlap * direction[k];
		torque[k] += (double)a * direction[k] - (double)b;
	}
}

/// Pairs, and sums of forces whose order counts.
static uint64_t hash_spheres(const determinism_way *way, carom_context *context, void *user)
{
	(void)user;
	static const carom_sphere_method methods[3] = { CAROM_SPHERES_GRID, CAROM_SPHERES_TREE, CAROM_SPHERES_LEVELS };
	static double records[SPHERES][4], forces[SPHERES][3], torques[SPHERES][3];
	uint64_t seed = 8;
	for (int i = 0; i < SPHERES; i++) {
		for (int k = 0; k < 3; k++)
			records[i][k] = test_random_double(&seed, 0, 10);
		records[i][3] = i % 100 ? test_random_double(&seed, 0.1, 0.4) : 1.5;
	}
	carom_spheres_def def = carom_default_spheres_def();
	def.method = methods[way->broad_phase % 3];
	def.periodic[0] = true;
	def.period[0] = 10;
	carom_spheres *spheres = NULL;
	carom_sphere_pairs pairs;
	carom_sphere_input input = carom_default_sphere_input();
	input.count = SPHERES;
	input.centres = (carom_strided){ records, sizeof records[0], CAROM_FLOAT64 };
	input.radii = (carom_strided){ &records[0][3], sizeof records[0], CAROM_FLOAT64 };
	REQUIRE(carom_create_spheres(context, &def, &spheres) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_update(spheres, &input) == CAROM_SUCCESS);
	REQUIRE(carom_spheres_find_pairs(spheres, &pairs) == CAROM_SUCCESS);
	CHECK(pairs.count > SPHERES);
	uint64_t hash = CR_HASH_SEED;
	for (int64_t i = 0; i < pairs.count; i++)
		hash = cr_hash_u64(hash, (uint64_t)pairs.pairs[i].a << 32 | pairs.pairs[i].b);
	REQUIRE(carom_spheres_sum_forces(spheres, push, NULL, forces[0], torques[0]) == CAROM_SUCCESS);
	for (int i = 0; i < 3 * SPHERES; i++)
		hash = cr_hash_double(cr_hash_double(hash, forces[i / 3][i % 3]), torques[i / 3][i % 3]);
	carom_destroy_spheres(spheres);
	return hash;
}

TEST(determinism, spheres) { determinism_check("spheres", hash_spheres, NULL); }
