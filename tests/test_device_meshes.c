/// Kernels over meshes on a device against the processor's: walks over triangles, and triangles that pierce each other; random,
/// degenerate and odd input.
#include "device_fixture.h"
#include "device_spirv.h"
#include "fixture.h"
#include "frame/contact_kernels.h"
#include "vulkan/gpu_casts.h"
#include "vulkan/vk_commands.h"
#include "world/world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct mesh_place {
	uint64_t nodes, blocks, across;
} mesh_place;

/// Put meshes on the device side by side.
static void put_meshes(
	carom_device *device, cr_gpu_casts *casts, const carom_mesh *const meshes[], int count, mesh_place places[])
{
	uint64_t at = 0;
	for (int i = 0; i < count; i++) {
		const cr_tree8 *tree = &meshes[i]->collider.tree;
		at += (uint64_t)tree->node_count * sizeof *tree->nodes +
			(uint64_t)tree->block_count * (sizeof(cr_tri8) + sizeof(cr_across8));
	}
	REQUIRE(cr_gpu_reserve_surfaces(device, casts, at) == CAROM_SUCCESS);
	at = 0;
	for (int i = 0; i < count; i++) {
		const cr_collider *c = &meshes[i]->collider;
		const void *data[3] = { c->tree.nodes, c->blocks, c->across };
		const uint64_t bytes[3] = { (uint64_t)c->tree.node_count * sizeof *c->tree.nodes,
			(uint64_t)c->tree.block_count * sizeof *c->blocks, (uint64_t)c->tree.block_count * sizeof *c->across };
		uint64_t *to[3] = { &places[i].nodes, &places[i].blocks, &places[i].across };
		for (int k = 0; k < 3; k++) {
			REQUIRE(cr_gpu_upload_at(device, &casts->surfaces, at, data[k], bytes[k]) == CAROM_SUCCESS);
			*to[k] = cr_gpu_surface_address(casts, at);
			at += bytes[k];
		}
	}
}

static int32_t random_place(const cr_collider *c, uint64_t *seed)
{
	return c->place[c->triangle_number[test_random(seed) % (uint64_t)c->triangle_count]];
}

static carom_device *make_device(carom_context *context, bool staging)
{
	carom_device_def def = carom_default_device_def();
	def.staging = staging;
	return fixture_device(context, &def);
}

static void end(carom_context *context, carom_device *device)
{
	carom_destroy_device(device);
	CHECK_INT(carom_memory_in_use(context), context->size);
	carom_destroy_context(context);
}

// ---- Walks ----

enum { WALKS = 1000 };

typedef struct walk_set {
	float origin[3][WALKS], direction[3][WALKS], t[WALKS];
	int32_t place[WALKS];
	uint8_t end[WALKS];
} walk_set;

/// Lines through triangles near the one where they begin, some through corners and edges, along axes, in odd directions, or from
/// nowhere.
static void make_walks(const cr_collider *c, uint64_t seed, walk_set *set)
{
	static const float ODD[] = { 1e-40f, 0, 3e30f, 1e-7f };
	for (int32_t i = 0; i < WALKS; i++) {
		set->place[i] = i % 17 == 0 ? -1 : random_place(c, &seed);
		v3d p[3];
		cr_collider_triangle(c, set->place[i] < 0 ? c->triangle_number[0] : cr_place_number(c, set->place[i]), p);
		const double reach = i % 3 == 0 ? 0 : 0.2 * (double)c->diagonal;
		const double v = i % 4 == 0 ? 0 : test_random_double(&seed, 0, 0.5),
					 w = i % 4 <= 1 ? 0 : test_random_double(&seed, 0, 0.5);
		const v3d on = v3d_mad(v3d_mad(p[0], v, v3d_sub(p[1], p[0])), w, v3d_sub(p[2], p[0]));
		v3d d = v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]));
		d = i % 5 == 0 ? (v3d){ i % 3 == 0, i % 3 == 1, -(i % 3 == 2) } : v3d_normalize(d);
		for (int k = 0; k < 3; k++) {
			set->origin[k][i] = (float)(v3d_get(on, k) + test_random_double(&seed, -reach, reach));
			set->direction[k][i] = i % 97 == k ? ODD[i / 97 % 4] : (float)v3d_get(d, k);
		}
	}
}

/// Walk them on the device. Returns how many it left; *visited: triangles of the others.
static int walk(carom_device *device, const carom_mesh *mesh, uint32_t most, walk_set *set, bool *left, int64_t *visited)
{
	cr_gpu_casts casts = { 0 };
	const cr_gpu_cast_batch batch = { .walks = WALKS, .jobs = 2, .max_walk = most };
	mesh_place place;
	cr_gpu_ray *rays;
	cr_gpu_cast_job *jobs;
	const cr_gpu_hit *hits;
	const cr_gpu_walked *walked;
	cr_gpu_lock(device);
	put_meshes(device, &casts, &mesh, 1, &place);
	REQUIRE(cr_gpu_open_casts(device, &casts, &batch, &rays, &jobs) == CAROM_SUCCESS);
	jobs[0] = (cr_gpu_cast_job){ 0 };
	jobs[1] = (cr_gpu_cast_job){ .nodes = place.nodes, .blocks = place.blocks, .across = place.across };
	for (int32_t i = 0; i < WALKS; i++) {
		rays[i] = (cr_gpu_ray){ .origin = { set->origin[0][i], set->origin[1][i], set->origin[2][i] },
			.direction = { set->direction[0][i], set->direction[1][i], set->direction[2][i] },
			.job = 1 };
		rays[i].place = set->place[i];
	}
	REQUIRE(cr_gpu_start_casts(device, &casts, &batch) == CAROM_SUCCESS);
	REQUIRE(cr_gpu_end_casts(device, &casts, &batch, &hits, &walked) == CAROM_SUCCESS);
	int count = 0;
	*visited = 0;
	for (int32_t i = 0; i < WALKS; i++) {
		left[i] = walked[i].end == CR_GPU_DOUBTFUL;
		count += left[i];
		set->place[i] = walked[i].place;
		set->t[i] = walked[i].t;
		set->end[i] = (uint8_t)walked[i].end;
		*visited += left[i] ? 0 : walked[i].visited;
	}
	cr_gpu_free_casts(device, &casts);
	cr_gpu_unlock(device);
	return count;
}

static void check_walks(carom_device *device, const carom_mesh *mesh, uint64_t seed, int32_t most, const char *name)
{
	static walk_set plain, found;
	static bool left[WALKS];
	make_walks(&mesh->collider, seed, &plain);
	found = plain;
	int64_t visited = 0, seen = 0;
	const int doubtful = walk(device, mesh, (uint32_t)most, &found, left, &seen);
	int differ = 0, met = 0, lost = 0;
	const cr_walk_lines lines = { { plain.origin[0], plain.origin[1], plain.origin[2] },
		{ plain.direction[0], plain.direction[1], plain.direction[2] }, plain.place, plain.t, plain.end };
	for (int32_t i = 0; i < WALKS; i++) {
		int64_t one = 0;
		fixture_kernels(CAROM_SIMD_AUTO)->walk(&mesh->collider, &lines, i, i + 1, most, &one);
		met += plain.end[i] != CR_WALK_LOST;
		lost += plain.end[i] == CR_WALK_LOST;
		visited += left[i] ? 0 : one;
		if (left[i] ||
			(plain.place[i] == found.place[i] && memcmp(&plain.t[i], &found.t[i], sizeof(float)) == 0 &&
				plain.end[i] == found.end[i]))
			continue;
		if (differ++ == 0)
			printf("%s, walk %d: %d at %a, end %d; the device %d at %a, end %d\n", name, (int)i, (int)plain.place[i],
				(double)plain.t[i], plain.end[i], (int)found.place[i], (double)found.t[i], found.end[i]);
	}
	CHECK_INT(differ, 0);
	CHECK_INT(visited, seen);
	CHECK(met > WALKS / 4 && lost > WALKS / 50);
	if (!CHECK(doubtful < WALKS / 10))
		printf("%s: %d of %d walks were left\n", name, doubtful, WALKS);
}

static void check_all_walks(bool staging)
{
	carom_context *context = fixture_context(1);
	carom_device *device = make_device(context, staging);
	carom_mesh *meshes[] = { fixture_box_mesh(context, 1, 2, 0.5), fixture_sphere_mesh(context, 1, 12),
		fixture_torus_mesh(context, 24, 12, 0.4, 0.1), fixture_sheet_mesh(context, 8, 2),
		fixture_sphere_mesh(context, 1e-6, 6) };
	const char *names[] = { "box", "sphere", "torus", "sheet", "small sphere" };
	for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
		check_walks(device, meshes[i], 7 + i, 32, names[i]);
		check_walks(device, meshes[i], 70 + i, 2, names[i]);
		carom_release_mesh(meshes[i]);
	}
	end(context, device);
}

TEST(device_meshes, walks_have_the_bits_of_the_processor) { check_all_walks(false); }
TEST(device_meshes, walks_have_the_bits_of_the_processor_through_the_ring) { check_all_walks(true); }

// ---- Triangles against triangles ----

enum { COUPLES = 1024 };

typedef struct couple_set {
	cr_candidate pairs[COUPLES];
	m3d rotation;
	v3d translation;
} couple_set;

/// Pairs of triangles of two meshes: of those whose first corners are the nearest of a few.
static void choose_couples(const cr_collider *a, const cr_collider *b, uint64_t *seed, couple_set *set)
{
	for (int i = 0; i < COUPLES; i++) {
		double least = INFINITY;
		const int32_t first = a->triangle_number[test_random(seed) % (uint64_t)a->triangle_count];
		v3d p[3], q[3];
		cr_collider_triangle(a, first, p);
		for (int k = 0; k < 24; k++) {
			const int32_t second = b->triangle_number[test_random(seed) % (uint64_t)b->triangle_count];
			cr_collider_triangle(b, second, q);
			const v3d there = v3d_add(m3d_mul(&set->rotation, q[0]), set->translation);
			const double distance = v3d_length(v3d_sub(there, p[0]));
			if (distance < least)
				set->pairs[i] = (cr_candidate){ first, second, 0 };
			least = fmin(distance, least);
		}
	}
}

static void pierce(carom_device *device, const carom_mesh *a, const carom_mesh *b, const couple_set *set, cr_gpu_pierced *to)
{
	cr_gpu_casts casts = { 0 };
	mesh_place places[2];
	cr_gpu_couple *couples;
	cr_gpu_couple_job *jobs;
	const cr_gpu_pierced *found;
	const carom_mesh *const meshes[] = { a, b };
	cr_gpu_lock(device);
	put_meshes(device, &casts, meshes, 2, places);
	REQUIRE(cr_gpu_open_couples(device, &casts, COUPLES, 2, &couples, &jobs) == CAROM_SUCCESS);
	jobs[0] = (cr_gpu_couple_job){ 0 };
	jobs[1] = (cr_gpu_couple_job){ .blocks = { places[0].blocks, places[1].blocks } };
	for (int k = 0; k < 3; k++) {
		for (int l = 0; l < 3; l++)
			jobs[1].rotation[k][l] = v3d_get(set->rotation.row[k], l);
		jobs[1].translation[k] = v3d_get(set->translation, k);
	}
	for (int i = 0; i < COUPLES; i++)
		couples[i] = (cr_gpu_couple){ { a->collider.place[set->pairs[i].a], b->collider.place[set->pairs[i].b] }, 1, 0 };
	REQUIRE(cr_gpu_pierce(device, &casts, COUPLES, 2, &found) == CAROM_SUCCESS);
	memcpy(to, found, COUPLES * sizeof *to);
	cr_gpu_free_casts(device, &casts);
	cr_gpu_unlock(device);
}

/// Has the device found what lane i of eight says?
static bool same_pierces(const cr_pierces8 *plain, int i, const cr_gpu_pierced *found)
{
	const uint32_t bits = found->bits;
	if (((plain->crossing >> i & 1) != 0) != ((bits & CR_GPU_CROSSING) != 0))
		return false;
	if (!(plain->crossing >> i & 1))
		return true;
	if (((plain->open >> i & 1) != 0) != ((bits & CR_GPU_OPEN) != 0))
		return false;
	if (plain->open >> i & 1)
		return true;
	for (int edge = 0; edge < 6; edge++) {
		const int side = edge / 3, k = edge % 3;
		if ((plain->pierces[side][k] >> i & 1) != (bits >> (CR_GPU_PIERCES + edge) & 1) ||
			(plain->above[side][k] >> i & 1) != (bits >> (CR_GPU_ABOVE + edge) & 1) ||
			memcmp(&plain->height[side][k][i], &found->height[side][k], sizeof(double)) != 0)
			return false;
	}
	return true;
}

typedef struct tally {
	int crossing, open, left;
} tally;

/// may_leave: the device may leave open what the processor decides.
static void check_couples(
	carom_device *device, const carom_mesh *a, const carom_mesh *b, const couple_set *set, bool may_leave, tally *sum)
{
	static cr_gpu_pierced found[COUPLES];
	pierce(device, a, b, set, found);
	const cr_contact_kernels *kernels = cr_get_contact_kernels(CAROM_SIMD_SCALAR);
	for (int first = 0; first < COUPLES; first += CR_WIDTH) {
		cr_pierces8 plain;
		kernels->pierce(&a->collider, &b->collider, &set->rotation, set->translation, set->pairs + first, CR_WIDTH, &plain);
		sum->crossing += __builtin_popcount(plain.crossing);
		sum->open += __builtin_popcount(plain.open);
		for (int i = 0; i < CR_WIDTH; i++) {
			const bool left = may_leave && found[first + i].bits == (CR_GPU_OPEN | CR_GPU_CROSSING);
			sum->left += left;
			if (!left && !CHECK(same_pierces(&plain, i, &found[first + i])))
				printf("couple %d: bits %x, height %a for %a\n", first + i, found[first + i].bits,
					found[first + i].height[0][0], plain.height[0][0][i]);
		}
	}
}

static void check_pierces(bool staging)
{
	carom_context *context = fixture_context(1);
	carom_device *device = make_device(context, staging);
	carom_mesh *torus = fixture_torus_mesh(context, 12, 8, 0.4, 0.1), *box = fixture_box_mesh(context, 1, 1, 1);
	uint64_t seed = 5;
	tally sum = { 0 };
	static couple_set set;
	for (int round = 0; round < 4; round++) {
		const carom_pose pose = fixture_random_pose(&seed, 0.3);
		set.rotation = m3d_from_quat(pose.orientation);
		set.translation = v3d_scale(pose.position, round == 3 ? 1e-3 : 1);
		const carom_mesh *a = round % 2 ? box : torus;
		choose_couples(&a->collider, &torus->collider, &seed, &set);
		check_couples(device, a, torus, &set, false, &sum);
	}
	CHECK(sum.crossing > 100 && sum.open < sum.crossing / 10);
	// Boxes that lie on each other's faces: rounding decides nothing.
	sum = (tally){ 0 };
	set.rotation = m3d_from_quat((carom_quat){ 0, 0, 0, 1 });
	set.translation = (v3d){ 0.5, 1, 0 };
	choose_couples(&box->collider, &box->collider, &seed, &set);
	check_couples(device, box, box, &set, false, &sum);
	CHECK(sum.open > 10);
	// And nearly so: differences that devices may take for 0 are left open.
	sum = (tally){ 0 };
	set.translation.z = 0x1p-300;
	check_couples(device, box, box, &set, true, &sum);
	CHECK(sum.left > 10);
	carom_release_mesh(torus);
	carom_release_mesh(box);
	end(context, device);
}

TEST(device_meshes, triangles_that_pierce_have_the_bits_of_the_processor) { check_pierces(false); }
TEST(device_meshes, triangles_that_pierce_have_the_bits_of_the_processor_through_the_ring) { check_pierces(true); }

TEST(device_meshes, kernels_contract_no_doubles)
{
	static const cr_kernel kernels[] = { CR_KERNEL_MESH_WALK, CR_KERNEL_MESH_PIERCE };
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
		int all;
		CHECK_INT(count_contractible(kernels[i], &all), 0);
		CHECK(all > 3);
	}
}
