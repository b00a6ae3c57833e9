/// Rays of meshes against meshes on a device: the kernel against the processor's, ray for ray, and worlds against worlds, bit for bit:
/// random and degenerate scenes, bodies that deform and fields that are edited, recorded motion, the staging ring, threads; calls of
/// the driver and allocations that fail; misuse.
#include "device_failures.h"
#include "device_fixture.h"
#include "device_spirv.h"
#include "fixture.h"
#include "labs.h"
#include "contact/device_stages.h"
#include "io/mesh_file.h"
#include "io/trajectory.h"
#include "vulkan/gpu_casts.h"
#include "vulkan/vk_commands.h"
#include "world/world.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Ray for ray ----

enum { RAYS = 1200 };

typedef struct ray_set {
	float origin[3][RAYS], direction[3][RAYS], t_max[RAYS];
} ray_set;

typedef struct hit_set {
	int32_t triangle[RAYS], behind_triangle[RAYS];
	float t[RAYS], behind_t[RAYS];
	uint8_t back[RAYS], behind_back[RAYS];
} hit_set;

static cr_line_hits view_hits(hit_set *h)
{
	return (cr_line_hits){ h->triangle, h->t, h->back, h->behind_triangle, h->behind_t, h->behind_back };
}

/// Rays through corners, edges and faces of a mesh, from it and from elsewhere, some along axes, some of no or odd directions.
static void make_rays(const cr_collider *c, uint64_t seed, ray_set *set)
{
	static const float ODD[] = { 1e-30f, 1e-40f, 3e30f, 1e-7f };
	for (int32_t i = 0; i < RAYS; i++) {
		v3d p[3];
		cr_collider_triangle(c, c->triangle_number[test_random(&seed) % (uint64_t)c->triangle_count], p);
		const double v = i % 4 == 0 ? 0 : test_random_double(&seed, 0, 0.5),
					 w = i % 4 <= 1 ? 0 : test_random_double(&seed, 0, 0.5);
		const v3d to = v3d_mad(v3d_mad(p[0], v, v3d_sub(p[1], p[0])), w, v3d_sub(p[2], p[0]));
		v3d d = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1) };
		if (i % 5 == 0)
			d = (v3d){ i % 3 == 0, i % 3 == 1, -(i % 3 == 2) };
		const v3d o = i % 13 == 0 ? to : v3d_mad(to, test_random_double(&seed, -1, 1) * (double)c->diagonal, d);
		for (int k = 0; k < 3; k++) {
			set->origin[k][i] = (float)v3d_get(o, k);
			set->direction[k][i] = i % 101 == 0 ? 0 : (float)v3d_get(d, k);
			if (i % 97 == k)
				set->direction[k][i] = ODD[i / 97 % 4];
		}
		set->t_max[i] = i % 7 == 0 ? 0.2f * c->diagonal : INFINITY;
	}
}

/// A world whose pipeline is on the device, for its list of meshes.
static carom_world *world_on(carom_context *context, carom_device *device)
{
	carom_world *world = fixture_world(context, NULL);
	REQUIRE(carom_world_set_device(world, device, false) == CAROM_SUCCESS);
	return world;
}

/// Cast them on the device. Returns how many it left.
static int cast(carom_world *world, const cr_collider *c, const ray_set *set, float reach, hit_set *hits, bool *left)
{
	cr_pipeline *p = &world->pipeline;
	cr_device_part *part = &cr_state_on_device(p)->parts[0];
	carom_device *device = part->device;
	cr_gpu_casts casts = { 0 };
	const cr_gpu_cast_batch batch = { .casts = RAYS, .jobs = 2, .tier = device->def.tier };
	cr_gpu_ray *rays;
	cr_gpu_cast_job *jobs;
	const cr_gpu_hit *found;
	const cr_gpu_walked *walked;
	cr_gpu_lock(device);
	p->run++;
	REQUIRE(cr_want_mesh(p, part, c) && cr_put_meshes(p, part) == CAROM_SUCCESS && cr_is_on_device(part, c));
	REQUIRE(cr_gpu_open_casts(device, &casts, &batch, &rays, &jobs) == CAROM_SUCCESS);
	const cr_mesh_addresses at = cr_addresses_of(part, c);
	jobs[1] = (cr_gpu_cast_job){ at.nodes, at.blocks, at.across, at.structure, at.boxes, reach, cr_size_of_mesh(c) };
	jobs[0] = (cr_gpu_cast_job){ 0 };
	for (int32_t i = 0; i < RAYS; i++)
		rays[i] = (cr_gpu_ray){ { set->origin[0][i], set->origin[1][i], set->origin[2][i] }, { fminf(set->t_max[i], FLT_MAX) },
			{ set->direction[0][i], set->direction[1][i], set->direction[2][i] }, 1 };
	REQUIRE(cr_gpu_start_casts(device, &casts, &batch) == CAROM_SUCCESS);
	REQUIRE(cr_gpu_end_casts(device, &casts, &batch, &found, &walked) == CAROM_SUCCESS);
	int count = 0;
	for (int32_t i = 0; i < RAYS; i++) {
		left[i] = found[i].behind == CR_GPU_DOUBTFUL;
		count += left[i];
		hits->triangle[i] =
			(found[i].triangle & ~CR_GPU_BACK) == CR_GPU_NO_HIT ? -1 : (int32_t)(found[i].triangle & ~CR_GPU_BACK);
		hits->back[i] = found[i].triangle >> 31;
		hits->t[i] = found[i].t;
		hits->behind_triangle[i] =
			(found[i].behind & ~CR_GPU_BACK) == CR_GPU_NO_HIT ? -1 : (int32_t)(found[i].behind & ~CR_GPU_BACK);
		hits->behind_back[i] = found[i].behind >> 31;
		hits->behind_t[i] = found[i].behind_t;
	}
	cr_gpu_free_casts(device, &casts);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
	return count;
}

static bool same_hit(const hit_set *a, const hit_set *b, int32_t i)
{
	return a->triangle[i] == b->triangle[i] && memcmp(&a->t[i], &b->t[i], sizeof a->t[i]) == 0 && a->back[i] == b->back[i] &&
		a->behind_triangle[i] == b->behind_triangle[i] && memcmp(&a->behind_t[i], &b->behind_t[i], sizeof a->t[i]) == 0 &&
		a->behind_back[i] == b->behind_back[i];
}

static void check_rays(carom_world *world, const carom_mesh *mesh, uint64_t seed, float reach, const char *name)
{
	static ray_set set;
	static hit_set plain, found;
	static bool left[RAYS];
	const cr_collider *c = &mesh->collider;
	make_rays(c, seed, &set);
	const carom_ray_batch rays = { RAYS, { set.origin[0], set.origin[1], set.origin[2] },
		{ set.direction[0], set.direction[1], set.direction[2] }, set.t_max };
	const cr_line_hits hits = view_hits(&plain);
	fixture_kernels(CAROM_SIMD_AUTO)->cast_lines(c, &rays, 0, RAYS, reach, &hits);
	const int doubtful = cast(world, c, &set, reach, &found, left);
	int differ = 0, met = 0;
	for (int32_t i = 0; i < RAYS; i++) {
		met += plain.triangle[i] >= 0;
		if (left[i] || same_hit(&plain, &found, i))
			continue;
		if (differ++ == 0)
			printf("%s, ray %d: %d at %a, behind %d at %a; the device %d at %a, behind %d at %a\n", name, (int)i,
				(int)plain.triangle[i], (double)plain.t[i], (int)plain.behind_triangle[i], (double)plain.behind_t[i],
				(int)found.triangle[i], (double)found.t[i], (int)found.behind_triangle[i], (double)found.behind_t[i]);
	}
	CHECK_INT(differ, 0);
	CHECK(met > RAYS / 4);
	if (!CHECK(doubtful < RAYS / 10))
		printf("%s: %d of %d rays were left\n", name, doubtful, RAYS);
}

static void check_meshes(carom_device_tier tier, bool staging)
{
	carom_context *context = fixture_context(1);
	carom_device_def def = carom_default_device_def();
	def.staging = staging;
	def.tier = tier;
	carom_device *device = fixture_device(context, &def);
	carom_world *world = world_on(context, device);
	carom_mesh *meshes[] = { fixture_box_mesh(context, 1, 2, 0.5), fixture_sphere_mesh(context, 1, 12),
		fixture_torus_mesh(context, 24, 12, 0.4, 0.1), fixture_sheet_mesh(context, 8, 2), fixture_sphere_mesh(context, 1e-6, 6),
		fixture_box_mesh(context, 1e6, 1e6, 1e6) };
	const char *names[] = { "box", "sphere", "torus", "sheet", "small sphere", "large box" };
	for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
		check_rays(world, meshes[i], 7 + i, 0.3f * meshes[i]->collider.diagonal, names[i]);
		check_rays(world, meshes[i], 70 + i, 0, names[i]);
	}
	CHECK_INT(carom_device_get_stats(device).tier, tier);
	carom_destroy_world(world);
	for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_device(device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

TEST(device_frames, rays_have_the_bits_of_the_processor) { check_meshes(CAROM_TIER_COMPUTE, false); }
TEST(device_frames, rays_have_the_bits_of_the_processor_through_the_ring) { check_meshes(CAROM_TIER_COMPUTE, true); }
TEST(device_frames, ray_queries_have_the_bits_of_the_processor) { check_meshes(CAROM_TIER_QUERY, false); }
TEST(device_frames, ray_pipelines_have_the_bits_of_the_processor) { check_meshes(CAROM_TIER_PIPELINE, false); }
TEST(device_frames, ray_pipelines_have_the_bits_of_the_processor_through_the_ring) { check_meshes(CAROM_TIER_PIPELINE, true); }

TEST(device_frames, kernels_contract_no_doubles)
{
	int all;
	CHECK_INT(count_contractible(CR_KERNEL_MESH_CAST, &all), 0);
	CHECK(all > 30);
	CHECK_INT(count_contractible(CR_KERNEL_MESH_QUERY, &all), 0);
	CHECK(all > 30);
}

// ---- Worlds ----

enum { BODIES = 24 };

/// Worlds with the same bodies: the processor's, then one on a device.
typedef struct twins {
	carom_context *context;
	carom_device *device;
	carom_mesh *meshes[4];
	carom_world *worlds[2];
	carom_body_id ids[2][BODIES];
	carom_pose poses[BODIES];
	uint64_t seed;
	int64_t on_device, walks, returned, tests, tests_returned, near, near_returned; // so far
} twins;

static twins make_twins_with(int threads, const carom_device_def *device, const carom_world_def *def)
{
	twins t = { .context = fixture_context(threads), .seed = 11 };
	t.device = fixture_device(t.context, device);
	t.meshes[0] = fixture_torus_mesh(t.context, 14, 8, 0.35, 0.1);
	t.meshes[1] = fixture_sphere_mesh(t.context, 0.8, 8);
	t.meshes[2] = fixture_box_mesh(t.context, 0.7, 0.5, 0.6);
	t.meshes[3] = fixture_torus_mesh(t.context, 20, 10, 0.25, 0);
	for (int i = 0; i < 2; i++)
		t.worlds[i] = fixture_world(t.context, def);
	REQUIRE(carom_world_set_device(t.worlds[1], t.device, false) == CAROM_SUCCESS);
	return t;
}

static twins make_twins(int threads, bool staging, const carom_world_def *def)
{
	carom_device_def device = carom_default_device_def();
	device.staging = staging;
	return make_twins_with(threads, &device, def);
}

static void add_bodies(twins *t, double span)
{
	for (int b = 0; b < BODIES; b++) {
		t->poses[b] = fixture_random_pose(&t->seed, span);
		for (int i = 0; i < 2; i++)
			t->ids[i][b] = fixture_add(t->worlds[i], fixture_of_mesh(t->meshes[b % 4]), t->poses[b], CAROM_DYNAMIC);
	}
}

/// Move each body a little.
static void shake(twins *t, double most)
{
	for (int b = 0; b < BODIES; b++) {
		t->poses[b].position.x += test_random_double(&t->seed, -most, most);
		t->poses[b].position.y += test_random_double(&t->seed, -most, most);
		t->poses[b].position.z += test_random_double(&t->seed, -most, most);
	}
	for (int i = 0; i < 2; i++)
		REQUIRE(carom_world_set_poses(t->worlds[i], BODIES, t->ids[i], t->poses) == CAROM_SUCCESS);
}

/// Do both worlds remember the same near triangles, in the same order?
static bool same_near_lists(const twins *t)
{
	const cr_pipeline *p = &t->worlds[0]->pipeline, *q = &t->worlds[1]->pipeline;
	if (p->temporal.slots.count != q->temporal.slots.count)
		return false;
	for (int64_t i = 0; i < p->temporal.slots.count; i++) {
		const cr_near_list *a = &p->temporal.slots.data[i].near, *b = &q->temporal.slots.data[i].near;
		if (a->holds != b->holds || (a->holds && (a->pairs.count != b->pairs.count || a->wide != b->wide)))
			return false;
		if (!a->holds || a->pairs.count == 0)
			continue;
		const cr_kept *kept = &p->memories[p->keeping], *other = &q->memories[q->keeping];
		const size_t count = (size_t)a->pairs.count, words = (size_t)cr_near_room(a, a->pairs.count);
		if (memcmp(cr_near_at(kept, a->pairs.first), cr_near_at(other, b->pairs.first), words * sizeof(uint32_t)) != 0 ||
			memcmp(cr_near_gaps_at(kept, a->pairs.first), cr_near_gaps_at(other, b->pairs.first), count * sizeof(float)) != 0)
			return false;
	}
	return true;
}

/// Have both worlds the same pairs of boxes, in the same order?
static bool same_pairs(const cr_pipeline *p, const cr_pipeline *q)
{
	const cr_pair_list *lists[2][2] = { { &p->pairs, &q->pairs }, { &p->simple, &q->simple } };
	for (int k = 0; k < 2; k++) {
		const cr_pair_list *a = lists[k][0], *b = lists[k][1];
		if (a->count != b->count || (a->count > 0 && memcmp(a->data, b->data, (size_t)a->count * sizeof *a->data) != 0))
			return false;
	}
	return p->broad->met == q->broad->met;
}

/// A step of both, which must be the same to the bit.
static void step_both(twins *t)
{
	for (int i = 0; i < 2; i++)
		fixture_step(t->worlds[i]);
	CHECK(carom_world_hash(t->worlds[0]) == carom_world_hash(t->worlds[1]));
	const carom_contact_view a = carom_world_contacts(t->worlds[0]), b = carom_world_contacts(t->worlds[1]);
	CHECK(a.count == b.count && (a.count == 0 || memcmp(a.data, b.data, (size_t)a.count * sizeof *a.data) == 0));
	const carom_stats plain = carom_world_stats(t->worlds[0]), there = carom_world_stats(t->worlds[1]);
	CHECK(plain.rays_full == there.rays_full && plain.rays_iterative == there.rays_iterative &&
		plain.rays_recast == there.rays_recast && plain.vertices_watched == there.vertices_watched);
	// Edges that cross cast rays too, which are counted among the full ones.
	CHECK(plain.rays_on_device == 0 && there.rays_on_device <= there.rays_full - there.rays_recast);
	CHECK(plain.walks_on_device == 0 && there.walks_on_device <= there.rays_iterative);
	CHECK(there.rays_returned <= there.rays_on_device + there.walks_on_device);
	CHECK(plain.walk_steps == there.walk_steps && plain.triangle_tests == there.triangle_tests);
	CHECK(plain.tests_on_device == 0 && there.tests_on_device <= there.triangle_tests);
	CHECK(there.tests_returned <= there.tests_on_device);
	CHECK(plain.near_on_device == 0 && there.near_returned <= there.near_on_device);
	CHECK(same_near_lists(t));
	CHECK(same_pairs(&t->worlds[0]->pipeline, &t->worlds[1]->pipeline));
	t->near += there.near_on_device;
	t->near_returned += there.near_returned;
	t->on_device += there.rays_on_device;
	t->walks += there.walks_on_device;
	t->returned += there.rays_returned;
	t->tests += there.tests_on_device;
	t->tests_returned += there.tests_returned;
}

static void end_twins(twins *t)
{
	for (int i = 0; i < 2; i++)
		carom_destroy_world(t->worlds[i]);
	for (int m = 0; m < 4; m++)
		carom_release_mesh(t->meshes[m]);
	carom_destroy_device(t->device);
	CHECK_INT(carom_memory_in_use(t->context), t->context->size);
	carom_destroy_context(t->context);
}

/// A few steps with bodies that rest, creep and jump.
static void check_steps(twins t, const carom_world_def *def)
{
	add_bodies(&t, 2);
	for (int step = 0; step < (TEST_FEWER > 1 ? 5 : 7); step++) {
		step_both(&t);
		shake(&t, step % 4 == 3 ? 0.2 : 0.003);
	}
	const carom_contact_view contacts = carom_world_contacts(t.worlds[1]);
	CHECK(contacts.count > 20 && t.on_device > 500 && t.returned * 20 < t.on_device);
	const bool iterative = !def || def->temporal != CAROM_TEMPORAL_NONE;
	CHECK(iterative ? t.walks > 100 : t.walks == 0);
	CHECK(t.tests > 10 && t.tests_returned * 20 < t.tests);
	CHECK(t.near > 20 && t.near_returned * 20 < t.near);
	end_twins(&t);
}

static void check_scenes(int threads, bool staging, const carom_world_def *def)
{
	check_steps(make_twins(threads, staging, def), def);
}

TEST(device_frames, random_scenes_are_the_processors) { check_scenes(1, false, NULL); }
TEST(device_frames, random_scenes_are_the_processors_through_the_ring) { check_scenes(1, true, NULL); }
TEST(device_frames, random_scenes_do_not_depend_on_threads) { check_scenes(3, false, NULL); }
/// Full rays by the driver's structures: contacts are those of the processor in each tier.
static void check_tier(carom_device_tier tier, bool staging)
{
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	carom_device_def device = carom_default_device_def();
	device.tier = tier;
	device.staging = staging;
	twins t = make_twins_with(2, &device, &def);
	check_steps(t, &def);
}

TEST(device_frames, random_scenes_by_ray_queries_are_the_processors) { check_tier(CAROM_TIER_QUERY, false); }
TEST(device_frames, random_scenes_by_ray_pipelines_are_the_processors) { check_tier(CAROM_TIER_PIPELINE, false); }
TEST(device_frames, random_scenes_by_ray_pipelines_are_the_processors_through_the_ring)
{
	check_tier(CAROM_TIER_PIPELINE, true);
}

/// AUTO gives each tier that the device has two batches, then stays with one; its answers never change.
TEST(device_frames, auto_tries_each_tier_and_stays_with_one)
{
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	twins t = make_twins_with(2, NULL, &def);
	carom_device_def given = carom_default_device_def();
	given.choice = fixture_device_choice(t.context);
	given.always = true;
	REQUIRE(carom_world_set_device(t.worlds[1], NULL, false) == CAROM_SUCCESS);
	carom_destroy_device(t.device);
	REQUIRE(carom_create_device(t.context, &given, &t.device) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_device(t.worlds[1], t.device, false) == CAROM_SUCCESS);
	const carom_device_info info = carom_device_get_info(t.device);
	const int tiers = 1 + info.ray_query + info.ray_pipeline;
	bool seen[CAROM_TIER_PIPELINE + 1] = { false };
	add_bodies(&t, 1.2);
	for (int step = 0; step < 2 * tiers + 2; step++) {
		step_both(&t);
		seen[carom_device_get_stats(t.device).tier] = true;
		shake(&t, 0.003);
	}
	CHECK(!seen[CAROM_TIER_AUTO] && seen[CAROM_TIER_COMPUTE]);
	CHECK(seen[CAROM_TIER_QUERY] == info.ray_query && seen[CAROM_TIER_PIPELINE] == info.ray_pipeline);
	const cr_device_state *state = t.worlds[1]->pipeline.on_device;
	const cr_device_part *part = &state->parts[0];
	const carom_device_tier chosen = cr_tier_of_batch(part, 1);
	for (int tier = CAROM_TIER_COMPUTE; tier <= CAROM_TIER_PIPELINE; tier++)
		CHECK(!seen[tier] || (part->trial.batches[tier] == 2 && part->trial.ms[chosen] <= part->trial.ms[tier]));
	end_twins(&t);
}

/// Meshes whose vertices move get new structures, and those that no longer fit beside each other are put there again.
TEST(device_frames, structures_follow_meshes_that_change)
{
	carom_context *context = fixture_context(1);
	carom_device_def def = carom_default_device_def();
	def.tier = CAROM_TIER_QUERY;
	carom_device *device = fixture_device(context, &def);
	carom_world *world = world_on(context, device);
	for (int round = 0; round < 6; round++) {
		carom_mesh *mesh =
			round % 2 ? fixture_torus_mesh(context, 8 + 6 * round, 8, 0.4, 0.1) : fixture_sphere_mesh(context, 1 + round, 8);
		check_rays(world, mesh, 500 + (uint64_t)round, 0.2f, "a mesh of several");
		carom_release_mesh(mesh);
	}
	carom_destroy_world(world);
	carom_destroy_device(device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

/// The device's own memory is out of the processor's reach there, lists that both use are not.
TEST(device_frames, random_scenes_as_on_a_card_are_the_processors)
{
	twins t = make_twins(2, false, NULL);
	t.device->apart = true;
	check_steps(t, NULL);
}

/// Where there is little to do, the processor does it: no device is asked, and nothing is counted as a failure of one.
TEST(device_frames, little_work_stays_on_the_processor)
{
	twins t = make_twins(8, false, NULL); // the more threads, the more is little
	carom_device_def def = carom_default_device_def();
	def.choice = fixture_device_choice(t.context);
	def.tier = CAROM_TIER_COMPUTE;
	carom_device *patient;
	REQUIRE(carom_create_device(t.context, &def, &patient) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_device(t.worlds[1], patient, false) == CAROM_SUCCESS);
	add_bodies(&t, 2);
	const int64_t submissions = carom_device_get_stats(patient).submissions; // a trial of its arithmetic
	for (int step = 0; step < 3; step++) {
		step_both(&t);
		shake(&t, 0.02);
	}
	CHECK(carom_world_contacts(t.worlds[1]).count > 0 && t.on_device == 0 && t.walks == 0 && t.tests == 0 && t.near == 0);
	CHECK_INT(carom_device_get_stats(patient).submissions, submissions);
	CHECK_INT(carom_world_stats(t.worlds[1]).device_fallbacks, 0);
	REQUIRE(carom_world_set_device(t.worlds[1], t.device, false) == CAROM_SUCCESS);
	carom_destroy_device(patient);
	step_both(&t);
	CHECK(t.on_device > 0);
	end_twins(&t);
}

TEST(device_frames, random_scenes_of_all_settings_are_the_processors)
{
	carom_world_def def = carom_default_world_def();
	for (int kind = 0; kind < 3; kind++) {
		def.temporal = kind == 0 ? CAROM_TEMPORAL_NONE : CAROM_TEMPORAL_ITERATIVE;
		def.contact_normal = kind == 1 ? CAROM_NORMAL_PATCH : CAROM_NORMAL_RAY;
		def.speculative_distance = kind == 2 ? 0.1 : 0;
		check_scenes(2, false, &def);
	}
}

/// Cubes side by side, rays along edges and through corners: what rounding decides goes to the processor, and nothing changes.
TEST(device_frames, cubes_on_a_lattice_are_the_processors)
{
	carom_world_def def = carom_default_world_def();
	def.contact_normal = CAROM_NORMAL_RAY;
	twins t = make_twins(2, false, &def);
	for (int b = 0; b < BODIES; b++) {
		t.poses[b] = fixture_at(1.4 * (b % 3), 1.0 * (b / 3 % 3), 1.2 * (b / 9));
		for (int i = 0; i < 2; i++)
			t.ids[i][b] = fixture_add(t.worlds[i], fixture_of_mesh(t.meshes[2]), t.poses[b], CAROM_DYNAMIC);
	}
	step_both(&t);
	for (int b = 0; b < BODIES; b++)
		t.poses[b].position.x *= 0.875;
	shake(&t, 0);
	step_both(&t);
	CHECK(t.on_device > 100);
	end_twins(&t);
}

// ---- Meshes that change, and those that stay away ----

/// Solids whose vertices move in every other step: their rays are cast against where they are.
TEST(device_frames, solids_that_deform_are_met_where_they_are)
{
	enum { SOLIDS = 6, MOST = 200 };
	twins t = make_twins(2, false, NULL);
	const carom_mesh *mesh = t.meshes[0];
	const int32_t count = mesh->topology.vertex_count;
	REQUIRE(count <= MOST);
	double places[3 * MOST];
	carom_body_id ids[2][SOLIDS];
	for (int b = 0; b < SOLIDS; b++) {
		for (int i = 0; i < 2; i++)
			ids[i][b] = fixture_add(t.worlds[i], fixture_of_mesh(mesh), fixture_at(0, 0, 3 * b), CAROM_DEFORMABLE);
	}
	for (int step = 0; step < 4; step++) {
		for (int b = 0; step != 2 && b < SOLIDS; b++) {
			for (int32_t v = 0; v < 3 * count; v++)
				places[v] =
					(1 + 0.1 * sin(step + b)) * (double)mesh->topology.vertices[v] + (v % 3 == 0 ? 0.25 * b : 0.02 * step * b);
			const carom_strided end = { places, 0, CAROM_FLOAT64 };
			for (int i = 0; i < 2; i++)
				REQUIRE(carom_world_set_vertices(t.worlds[i], ids[i][b], NULL, &end) == CAROM_SUCCESS);
		}
		step_both(&t);
	}
	CHECK(t.on_device > 100 && carom_world_contacts(t.worlds[1]).count > 0);
	end_twins(&t);
}

/// Meshes come and go, so that places in the buffer are dealt out again, and memory of old meshes is used for new ones.
TEST(device_frames, meshes_come_and_go)
{
	twins t = make_twins(1, false, NULL);
	for (int round = 0; round < 6; round++) {
		carom_mesh *mesh = fixture_torus_mesh(t.context, 10 + 2 * (round % 3), 6, 0.3, 0.02 * round);
		carom_body_id ids[2][2];
		for (int i = 0; i < 2; i++) {
			for (int k = 0; k < 2; k++)
				ids[i][k] =
					fixture_add(t.worlds[i], fixture_of_mesh(mesh), fixture_at(0.3 * k, 0.1 * round, 0.1 * k), CAROM_DYNAMIC);
		}
		carom_release_mesh(mesh);
		step_both(&t);
		for (int i = 0; i < 2; i++) {
			for (int k = 0; k < 2; k++)
				REQUIRE(carom_world_remove_body(t.worlds[i], ids[i][k]) == CAROM_SUCCESS);
		}
	}
	CHECK(t.on_device > 100);
	end_twins(&t);
}

/// A mesh with a coordinate that devices may take for 0 stays on the processor.
TEST(device_frames, meshes_of_odd_numbers_stay_on_the_processor)
{
	twins t = make_twins(1, false, NULL);
	const cr_topology *from = &t.meshes[0]->topology;
	float vertices[3 * 200];
	REQUIRE(from->vertex_count <= 200);
	memcpy(vertices, from->vertices, 3 * (size_t)from->vertex_count * sizeof *vertices);
	for (int32_t v = 0; v < 3 * from->vertex_count; v++)
		vertices[v] = fabsf(vertices[v]) < 1e-6f ? 1e-40f : vertices[v];
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = from->vertex_count;
	def.triangles = from->triangles;
	def.triangle_count = from->triangle_count;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(t.context, &def, NULL, &mesh) == CAROM_SUCCESS);
	for (int i = 0; i < 2; i++) {
		fixture_add(t.worlds[i], fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
		fixture_add(t.worlds[i], fixture_of_mesh(mesh), fixture_at(0.4, 0.1, 0.1), CAROM_DYNAMIC);
		fixture_step(t.worlds[i]);
	}
	CHECK(carom_world_hash(t.worlds[0]) == carom_world_hash(t.worlds[1]));
	const carom_stats stats = carom_world_stats(t.worlds[1]);
	CHECK(stats.contacts > 0 && stats.rays_full > 0 && stats.rays_on_device == 0 && stats.tests_on_device == 0);
	CHECK_INT(stats.near_on_device, 0);
	carom_release_mesh(mesh);
	end_twins(&t);
}

/// Recorded motion of an avalanche.
TEST(device_frames, recorded_motion_is_the_processors)
{
	sim_error error = { "" };
	io_trajectory trajectory;
	sim_mesh file;
	const bool loaded = io_load_trajectory(test_data_path("trajectories/scene1.rbt.gz"), &trajectory, &error) &&
		io_load_mesh(test_data_path("meshes/bullet-bunny-902.obj"), &file, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
	twins t = make_twins(2, false, NULL);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ file.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = file.vertex_count;
	def.triangles = file.triangles;
	def.triangle_count = file.triangle_count;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(t.context, &def, NULL, &mesh) == CAROM_SUCCESS);
	const int32_t count = trajectory.body_count;
	carom_body_id *ids[2];
	carom_pose *poses = calloc((size_t)count, sizeof *poses);
	for (int i = 0; i < 2; i++) {
		ids[i] = calloc((size_t)count, sizeof **ids);
		REQUIRE(ids[i] && poses);
		for (int32_t b = 0; b < count; b++)
			ids[i][b] = fixture_add(t.worlds[i], fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	}
	for (int32_t frame = trajectory.frame_count / 4; frame < trajectory.frame_count; frame += trajectory.frame_count / 4) {
		for (int32_t step = frame; step < frame + 2 && step < trajectory.frame_count; step++) {
			io_trajectory_poses(&trajectory, step, poses);
			for (int i = 0; i < 2; i++)
				REQUIRE(carom_world_set_poses(t.worlds[i], count, ids[i], poses) == CAROM_SUCCESS);
			step_both(&t);
		}
	}
	CHECK(t.on_device > 1000 && t.walks > 50 && t.returned * 50 < t.on_device);
	CHECK(t.tests > 500 && t.tests_returned * 50 < t.tests);
	CHECK(t.near > 500 && t.near_returned * 50 < t.near);
	for (int i = 0; i < 2; i++)
		free(ids[i]);
	free(poses);
	carom_release_mesh(mesh);
	io_free_trajectory(&trajectory);
	sim_mesh_free(&file);
	end_twins(&t);
}

/// Pairs of which nothing is near walk again there, farther out, in the submission of their first walk.
TEST(device_frames, walks_that_find_nothing_go_farther_there)
{
	twins t = make_twins(2, false, NULL);
	add_bodies(&t, 3);
	step_both(&t);
	for (int i = 0; i < 2; i++)
		cr_pipeline_forget(&t.worlds[i]->pipeline);
	const carom_device_stats before = carom_device_get_stats(t.device);
	const int64_t waves = t.device->kernels[CR_KERNEL_MESH_NEAR_TEST].calls;
	t.near = 0;
	step_both(&t);
	CHECK(t.near > 20);
	CHECK(t.device->kernels[CR_KERNEL_MESH_NEAR_TEST].calls > waves + 1);
	if (!t.device->def.staging)
		CHECK(carom_device_get_stats(t.device).submissions <= before.submissions + 6); // two of them for pairs of boxes
	end_twins(&t);
}

/// The rays of the first round and the walks that may follow them are one submission. No walk is made where the device sees a ray hit.
TEST(device_frames, rays_and_walks_go_up_together)
{
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	def.contact_normal = CAROM_NORMAL_RAY;
	def.long_edge_share = 2; // pairs that a ray hit are not walked
	twins t = make_twins(2, false, &def);
	add_bodies(&t, 2);
	for (int step = 0; step < 2; step++) { // lists have grown
		step_both(&t);
		shake(&t, 0.003);
	}
	const int64_t before = carom_device_get_stats(t.device).submissions;
	step_both(&t);
	if (!t.device->def.staging)
		CHECK_INT(carom_device_get_stats(t.device).submissions,
			before + 4); // with the tests of triangles, and two for pairs of boxes
	const cr_device_state *state = t.worlds[1]->pipeline.on_device;
	int left_out = 0, made = 0;
	for (uint32_t i = 0; i < state->ahead.list.first[1]; i++) {
		const bool made_here = !(state->parts[0].ahead.outcomes[i].doubtful & CR_GPU_NEAR_LEFT_OUT);
		made += made_here;
		left_out += !made_here;
	}
	CHECK(left_out > 5 && made > 5 && t.on_device > 0);
	CHECK_INT(carom_world_stats(t.worlds[1]).near_on_device, made);
	end_twins(&t);
}

/// Lists of near triangles that may not be long: pairs go by halves, and those that find too many alone are the processor's.
TEST(device_frames, lists_of_near_triangles_have_a_bound)
{
	twins t = make_twins(2, false, NULL);
	add_bodies(&t, 2);
	step_both(&t);
	cr_device_state *state = t.worlds[1]->pipeline.on_device;
	const int64_t all = t.near;
	for (uint32_t most = 400; most >= 4; most /= 10) {
		state->parts[0].near.most_room = state->parts[0].ahead.most_room = most;
		shake(&t, 0.3);
		t.near = 0;
		step_both(&t);
		CHECK(most > 4 ? t.near > 0 : t.near < all / 4);
	}
	end_twins(&t);
}

// ---- Pairs of boxes ----

enum { CROWD = 400 };

static bool keep_most(carom_body_id a, carom_body_id b, uint64_t user_a, uint64_t user_b, void *user)
{
	(void)a;
	(void)b;
	(void)user;
	return (user_a + user_b) % 5 != 0;
}

/// A body of a crowd: in a heap, in one place, on a lattice of boxes that touch exactly, far out, tiny, or without bounds.
static void add_of_crowd(twins *t, carom_body_id ids[2], int number, int kind)
{
	carom_body_def def = carom_default_body_def();
	carom_pose pose = fixture_at(test_random_double(&t->seed, -4, 4), test_random_double(&t->seed, -4, 4), number % 3);
	def.shape.type = CAROM_SPHERE;
	def.shape.radius = number % 17 == 0 ? 3 : 0.2;
	if (kind == 1)
		pose = fixture_at(0.5, 0.5, 0.5);
	if (kind == 2) {
		def.shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.5, 0.5, 0.5 } };
		pose = fixture_at(number % 8, number / 8 % 8, number / 64);
	}
	if (kind == 3)
		pose = fixture_at(1e7 + 0.3 * number, number % 2 ? 1e-20 : -1e-20, 0);
	if (kind == 4)
		def.shape.radius = 1e-9 * (1 + number % 3);
	if (number % 97 == 0)
		def.shape = (carom_shape){ .type = CAROM_PLANE };
	def.pose = pose;
	def.kind = number % 11 == 0 || number % 97 == 0 ? CAROM_STATIC : CAROM_DYNAMIC;
	def.user_data = (uint64_t)number;
	def.group = number % 7 == 0;
	for (int i = 0; i < 2; i++)
		REQUIRE(carom_world_add_body(t->worlds[i], &def, &ids[i]) == CAROM_SUCCESS);
}

static void check_crowd(int kind, bool filtered, carom_broad_phase broad)
{
	static carom_body_id ids[CROWD][2];
	carom_world_def def = carom_default_world_def();
	def.broad_phase = broad;
	if (filtered)
		def.pair_filter = keep_most;
	twins t = make_twins(2, false, &def);
	const int count = CROWD / TEST_FEWER;
	for (int b = 0; b < count; b++)
		add_of_crowd(&t, ids[b], b, kind);
	int64_t met = 0;
	for (int step = 0; step < 4; step++) {
		step_both(&t);
		met += t.worlds[1]->pipeline.broad->met;
		for (int i = 0; i < 2; i++) {
			for (int b = 1 + step; b < count - 8; b += 3) {
				const carom_pose pose = fixture_at(0.01 * b, 0.3 * step, 0);
				REQUIRE(carom_world_set_pose(t.worlds[i], ids[b][i], &pose) == CAROM_SUCCESS);
			}
			REQUIRE(carom_world_remove_body(t.worlds[i], ids[count - 1 - step][i]) == CAROM_SUCCESS);
		}
		if (step == 2) // to the processor and back: its broad phase begins again
			REQUIRE(carom_world_set_device(t.worlds[1], NULL, false) == CAROM_SUCCESS);
		if (step == 2) {
			for (int i = 0; i < 2; i++)
				fixture_step(t.worlds[i]);
			CHECK(same_pairs(&t.worlds[0]->pipeline, &t.worlds[1]->pipeline));
			REQUIRE(carom_world_set_device(t.worlds[1], t.device, false) == CAROM_SUCCESS);
		}
	}
	CHECK(met > count / 4);
	CHECK(t.device->kernels[CR_KERNEL_SWEEP_SEARCH_EDGES].calls >= 4);
	end_twins(&t);
}

TEST(device_frames, pairs_of_boxes_are_the_processors)
{
	for (int kind = 0; kind < 5; kind++)
		check_crowd(kind, kind % 2 == 1, kind % 2 ? CAROM_BROAD_SWEEP : CAROM_BROAD_TREE);
}

// ---- The device changes, and fails ----

TEST(device_frames, a_world_goes_from_device_to_processor_and_back)
{
	twins t = make_twins(1, false, NULL);
	add_bodies(&t, 2);
	step_both(&t);
	carom_world *world = t.worlds[1];
	for (int step = 0; step < 4; step++) {
		shake(&t, 0.1);
		REQUIRE(carom_world_set_device(world, step % 2 ? t.device : NULL, false) == CAROM_SUCCESS);
		for (int i = 0; i < 2; i++)
			fixture_step(t.worlds[i]);
		CHECK(carom_world_hash(t.worlds[0]) == carom_world_hash(world));
		CHECK((carom_world_stats(world).rays_on_device > 0) == (step % 2 == 1));
	}
	end_twins(&t);
}

static void check_validation(carom_device_tier tier)
{
	carom_device_def device = carom_default_device_def();
	device.validation = device.timing = device.staging = true;
	device.tier = tier;
	twins t = make_twins_with(1, &device, NULL);
	add_bodies(&t, 2);
	for (int step = 0; step < 3; step++) {
		step_both(&t);
		shake(&t, 0.003);
	}
	CHECK(t.on_device > 0 && t.walks > 0 && t.tests > 0 && t.near > 0);
	CHECK_INT(carom_device_get_stats(t.device).validation_messages, 0);
	end_twins(&t);
}

TEST(device_frames, the_validation_layer_has_nothing_to_say) { check_validation(CAROM_TIER_COMPUTE); }
TEST(device_frames, the_validation_layer_has_nothing_to_say_of_ray_queries) { check_validation(CAROM_TIER_QUERY); }
TEST(device_frames, the_validation_layer_has_nothing_to_say_of_ray_pipelines) { check_validation(CAROM_TIER_PIPELINE); }

TEST(device_frames, misuse_is_refused)
{
	twins t = make_twins(1, false, NULL);
	carom_context *other = fixture_context(1);
	carom_world *foreign = fixture_world(other, NULL);
	fixture_expect_wrong(other, carom_world_set_device(foreign, t.device, false), "device is of another context");
	CHECK_INT(carom_world_set_device(NULL, t.device, false), CAROM_INVALID_ARGUMENT);
	carom_world_def def = carom_default_world_def();
	for (int naive = 0; naive < 2; naive++) {
		fixture_lab(&def)->stages = naive ? CAROM_STAGES_NAIVE : CAROM_STAGES_LISTS;
		carom_world *world = fixture_world(t.context, &def);
		const carom_result result = carom_world_set_device(world, t.device, false);
		if (naive)
			fixture_expect_wrong(t.context, result, "stages");
		else
			CHECK_INT(result, CAROM_SUCCESS);
		carom_destroy_world(world);
	}
	t.device->info.doubles = false;
	fixture_expect_error(
		t.context, carom_world_set_device(t.worlds[0], t.device, false), CAROM_UNSUPPORTED, "no double precision");
	t.device->info.doubles = true;
	carom_destroy_world(foreign);
	carom_destroy_context(other);
	end_twins(&t);
}

static void check_failing_calls(VkResult failure, carom_result expected, carom_device_tier tier)
{
	carom_device_def device = carom_default_device_def();
	device.staging = true;
	device.tier = tier;
	twins t = make_twins_with(1, &device, NULL);
	add_bodies(&t, 2);
	step_both(&t); // kernels are there
	failing_calls calls = failing_calls_of_preset();
	calls.stride *= 2;
	int failures = 0;
	for (bool failed = true; failed && failures < 500;) {
		shake(&t, 0.1);
		// Memory is not kept from one try to the next.
		REQUIRE(carom_world_set_device(t.worlds[1], NULL, false) == CAROM_SUCCESS);
		begin_failing(t.device, &calls, failure);
		carom_result result = carom_world_set_device(t.worlds[1], t.device, false);
		if (result == CAROM_SUCCESS)
			result = carom_world_step(t.worlds[1]);
		failed = end_failing(t.device);
		if (failed && !CHECK_INT(result, expected))
			printf("call %lld, %s: %s\n", calls.failed, s_failed, carom_error_text(t.context));
		CHECK(!failed || strstr(carom_error_text(t.context), s_failed) != NULL);
		failures += failed;
		t.device->stats.lost = false; // it is not, really
		// The world goes on where it was.
		REQUIRE(carom_world_set_device(t.worlds[1], failures % 2 ? NULL : t.device, false) == CAROM_SUCCESS);
		fixture_step(t.worlds[0]);
		if (failed)
			fixture_step(t.worlds[1]);
		CHECK_INT(carom_world_contacts(t.worlds[1]).count, carom_world_contacts(t.worlds[0]).count);
	}
	CHECK(calls.failed < 0 && failures > (calls.by_stack ? 8 : 20));
	failing_calls_free(&calls);
	end_twins(&t);
}

TEST(device_frames, every_call_may_run_out_of_device_memory)
{
	check_failing_calls(VK_ERROR_OUT_OF_DEVICE_MEMORY, CAROM_OUT_OF_MEMORY, CAROM_TIER_COMPUTE);
}

TEST(device_frames, every_call_of_ray_pipelines_may_run_out_of_device_memory)
{
	check_failing_calls(VK_ERROR_OUT_OF_DEVICE_MEMORY, CAROM_OUT_OF_MEMORY, CAROM_TIER_PIPELINE);
}

TEST(device_frames, a_lost_device_is_told_and_the_world_lives_on)
{
	check_failing_calls(VK_ERROR_DEVICE_LOST, CAROM_DEVICE_FAILED, CAROM_TIER_COMPUTE);
}

TEST(device_frames, the_processor_takes_over_where_that_is_wanted)
{
	twins t = make_twins(2, false, NULL);
	REQUIRE(carom_world_set_device(t.worlds[1], t.device, true) == CAROM_SUCCESS);
	add_bodies(&t, 2);
	step_both(&t);
	shake(&t, 0.2);
	t.device->stats.lost = true;
	t.device->lost_call = "a test";
	for (int i = 0; i < 2; i++)
		fixture_step(t.worlds[i]);
	t.device->stats.lost = false;
	CHECK(carom_world_hash(t.worlds[0]) == carom_world_hash(t.worlds[1]));
	const carom_stats stats = carom_world_stats(t.worlds[1]);
	CHECK(stats.device_fallbacks > 0 && stats.rays_on_device == 0 && stats.rays_full > 0);
	CHECK(stats.walks_on_device == 0 && stats.tests_on_device == 0 && stats.near_on_device == 0);
	shake(&t, 0.2);
	step_both(&t);
	CHECK_INT(carom_world_stats(t.worlds[1]).device_fallbacks, 0);
	end_twins(&t);
}

TEST(device_frames, device_memory_has_a_budget)
{
	twins t = make_twins(1, false, NULL);
	add_bodies(&t, 2);
	t.device->def.memory_budget = t.device->stats.bytes + 1024;
	CHECK_INT(carom_world_step(t.worlds[1]), CAROM_OVER_BUDGET);
	CHECK(strstr(carom_error_text(t.context), "memory_budget") != NULL);
	t.device->def.memory_budget = 0;
	step_both(&t);
	end_twins(&t);
}

typedef struct filling {
	carom_device *device;
	carom_mesh *mesh;
} filling;

static void fill(carom_world *world, void *user)
{
	const filling *f = user;
	REQUIRE(carom_world_set_device(world, f->device, false) == CAROM_SUCCESS);
	for (int k = 0; k < 3; k++)
		fixture_add(world, fixture_of_mesh(f->mesh), fixture_at(0.4 * k, 0.1 * k, 0), CAROM_DYNAMIC);
}

static void check_allocations(carom_device_tier tier)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_device_def given = carom_default_device_def();
	given.staging = true;
	given.tier = tier;
	filling f = { fixture_device(context, &given), fixture_torus_mesh(context, 12, 6, 0.3, 0) };
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, fill, &f, 3) > 10);
	carom_release_mesh(f.mesh);
	carom_destroy_device(f.device);
	carom_destroy_context(context);
}

TEST(device_frames, every_allocation_may_fail) { check_allocations(CAROM_TIER_COMPUTE); }
TEST(device_frames, every_allocation_may_fail_with_ray_queries) { check_allocations(CAROM_TIER_QUERY); }
