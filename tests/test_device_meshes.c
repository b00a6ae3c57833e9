/// Kernels over meshes on a device against the processor's: walks over triangles, triangles that pierce each other, and triangles that
/// are near each other; random, degenerate and odd input.
#include "device_fixture.h"
#include "device_spirv.h"
#include "fixture.h"
#include "frame/contact_kernels.h"
#include "vulkan/gpu_casts.h"
#include "vulkan/gpu_near.h"
#include "vulkan/vk_commands.h"
#include "world/world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mesh_place {
	uint64_t nodes, blocks, across, head, cells;
} mesh_place;

enum { MESH_PARTS = 5 };

static cr_gpu_mesh_head head_of(const cr_collider *c)
{
	cr_gpu_mesh_head head = { .inverse_cell = c->grid.inverse_cell, .has_cells = c->grid.cells != NULL };
	for (int k = 0; k < 3; k++) {
		head.lower[k] = c->lower[k];
		head.upper[k] = c->upper[k];
		head.origin[k] = c->grid.origin[k];
		head.size[k] = (uint32_t)c->grid.size[k];
	}
	return head;
}

static void measure_parts(const cr_collider *c, uint64_t bytes[MESH_PARTS])
{
	bytes[0] = (uint64_t)c->tree.node_count * sizeof *c->tree.nodes;
	bytes[1] = (uint64_t)c->tree.block_count * sizeof *c->blocks;
	bytes[2] = (uint64_t)c->tree.block_count * sizeof *c->across;
	bytes[3] = sizeof(cr_gpu_mesh_head);
	bytes[4] = 0;
	if (c->grid.cells)
		bytes[4] = ((uint64_t)c->grid.size[0] * (uint64_t)c->grid.size[1] * (uint64_t)c->grid.size[2] + 3) / 4 * 4;
}

/// Put meshes on the device side by side.
static void put_meshes(
	carom_device *device, cr_gpu_casts *casts, const carom_mesh *const meshes[], int count, mesh_place places[])
{
	uint64_t at = 0, bytes[MESH_PARTS];
	for (int i = 0; i < count; i++) {
		measure_parts(&meshes[i]->collider, bytes);
		for (int k = 0; k < MESH_PARTS; k++)
			at += bytes[k];
		at = (at + CR_GPU_SURFACE_ALIGN - 1) / CR_GPU_SURFACE_ALIGN * CR_GPU_SURFACE_ALIGN;
	}
	REQUIRE(cr_gpu_reserve_surfaces(device, casts, at) == CAROM_SUCCESS);
	at = 0;
	for (int i = 0; i < count; i++) {
		const cr_collider *c = &meshes[i]->collider;
		const cr_gpu_mesh_head head = head_of(c);
		const void *data[MESH_PARTS] = { c->tree.nodes, c->blocks, c->across, &head, c->grid.cells };
		uint64_t *to[MESH_PARTS] = { &places[i].nodes, &places[i].blocks, &places[i].across, &places[i].head, &places[i].cells };
		measure_parts(c, bytes);
		for (int k = 0; k < MESH_PARTS; k++) {
			if (bytes[k] > 0)
				REQUIRE(cr_gpu_upload_at(device, &casts->surfaces, at, data[k], bytes[k]) == CAROM_SUCCESS);
			*to[k] = cr_gpu_surface_address(casts, at);
			at += bytes[k];
		}
		at = (at + CR_GPU_SURFACE_ALIGN - 1) / CR_GPU_SURFACE_ALIGN * CR_GPU_SURFACE_ALIGN;
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
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
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
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
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

// ---- Near triangles ----

enum { NEAR_JOBS = 12 };

typedef struct near_set {
	cr_transform b_to_a[NEAR_JOBS], a_to_b[NEAR_JOBS];
	float reach[NEAR_JOBS];
	uint32_t most[NEAR_JOBS];
} near_set;

/// Poses of all kinds: random, turned by nothing, and by next to nothing.
static void make_near_set(uint64_t seed, double size, near_set *set)
{
	for (int i = 0; i < NEAR_JOBS; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 0.6 * size);
		m3d rotation = m3d_from_quat(i % 4 == 3 ? (carom_quat){ 0, 0, 0, 1 } : pose.orientation);
		const v3d shift = i % 4 == 3 ? (v3d){ 0.5 * size, 0.25 * size, 0 } : pose.position;
		if (i == 7) {
			rotation.row[0].y = 0x1p-70;
			rotation.row[1].x = -0x1p-70;
		}
		m3d back;
		for (int k = 0; k < 3; k++)
			back.row[k] = (v3d){ v3d_get(rotation.row[0], k), v3d_get(rotation.row[1], k), v3d_get(rotation.row[2], k) };
		set->b_to_a[i] = cr_make_transform(&rotation, shift);
		set->a_to_b[i] = cr_make_transform(&back, v3d_scale(m3d_mul(&back, shift), -1));
		set->reach[i] = (float)(size * (i % 3 == 0 ? 0 : i % 3 == 1 ? 0.02 : 0.3));
		set->most[i] = i == 5 ? 20 : 0;
	}
}

static void make_near_jobs(
	const cr_collider *a, const cr_collider *b, const mesh_place places[2], const near_set *set, cr_gpu_near_job *jobs)
{
	const bool b_first = cr_is_b_source(a, b);
	for (int i = 0; i < NEAR_JOBS; i++) {
		const cr_transform *m = b_first ? &set->b_to_a[i] : &set->a_to_b[i];
		const mesh_place *source = &places[b_first], *target = &places[!b_first];
		jobs[i] = (cr_gpu_near_job){ source->nodes, source->blocks, target->nodes, target->blocks, target->head,
			.margin = cr_pair_margin(a, b, set->reach[i]), .reach = set->reach[i], .most = set->most[i],
			.after = CR_GPU_NO_JOB };
		jobs[i].growth = jobs[i].margin + jobs[i].reach;
		memcpy(jobs[i].rotation, m->r, sizeof m->r);
		memcpy(jobs[i].translation, m->t, sizeof m->t);
	}
}

static int compare_candidates(const void *x, const void *y)
{
	const cr_candidate *p = x, *q = y;
	return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

typedef struct near_tally {
	int64_t near, far, left;
} near_tally;

/// The finds of a job as candidates; no more than most. Returns how many.
static int32_t collect_finds(
	const cr_collider *a, const cr_collider *b, const cr_gpu_near *near, int job, cr_candidate *found, int32_t most)
{
	const bool b_first = cr_is_b_source(a, b);
	int32_t count = 0;
	for (int64_t i = 0; i < near->found_count; i++) {
		const cr_gpu_near_find *f = &near->found[i];
		if (f->job != (uint32_t)job)
			continue;
		const int32_t own = cr_place_number(b_first ? b : a, (int32_t)f->source),
					  other = cr_place_number(b_first ? a : b, (int32_t)f->target);
		REQUIRE(count < most);
		found[count++] = (cr_candidate){ b_first ? other : own, b_first ? own : other, f->gap };
	}
	return count;
}

/// The finds of a job are those of the processor, in any order.
static void check_near_job(
	const cr_collider *a, const cr_collider *b, const near_set *set, int job, const cr_gpu_near *near, near_tally *sum)
{
	const cr_gpu_near_state *state = &near->outcomes[job];
	carom_context *context = fixture_context(1);
	cr_arena arena;
	cr_arena_init(&arena, context);
	cr_candidates expected = { .arena = &arena };
	fixture_kernels(CAROM_SIMD_AUTO)->pairs(a, b, &set->b_to_a[job], &set->a_to_b[job], set->reach[job], &expected);
	cr_candidate *found = cr_arena_alloc(&arena, ((size_t)expected.count + 1) * sizeof *found);
	REQUIRE(found && !expected.failed);
	const int32_t count = collect_finds(a, b, near, job, found, expected.count), most = (int32_t)set->most[job];
	sum->left += state->doubtful > 0;
	if (most > 0 && !state->doubtful) {
		CHECK((state->count > set->most[job]) == (expected.count > most) && count <= most);
	} else if (!state->doubtful && CHECK_INT(count, expected.count) && count > 0) {
		CHECK_INT(state->count, count);
		qsort(found, (size_t)count, sizeof *found, compare_candidates);
		qsort(expected.data, (size_t)count, sizeof *found, compare_candidates);
		CHECK(memcmp(found, expected.data, (size_t)count * sizeof *found) == 0);
		sum->near += count;
		for (int32_t i = 0; i < count; i++)
			sum->far += found[i].gap > 0;
	}
	cr_arena_free(&arena);
	carom_destroy_context(context);
}

static void check_near(carom_device *device, const carom_mesh *a, const carom_mesh *b, uint64_t seed, near_tally *sum)
{
	static near_set set;
	static cr_gpu_near_job jobs[NEAR_JOBS];
	const carom_mesh *const meshes[] = { a, b };
	const cr_collider *p = &a->collider, *q = &b->collider;
	cr_gpu_casts casts = { 0 };
	cr_gpu_near near = { 0 };
	mesh_place places[2];
	bool fits = false;
	make_near_set(seed, (double)fminf(p->diagonal, q->diagonal), &set);
	cr_gpu_lock(device);
	put_meshes(device, &casts, meshes, 2, places);
	make_near_jobs(p, q, places, &set, jobs);
	const uint32_t levels = (uint32_t)(cr_is_b_source(p, q) ? q : p)->tree.depth;
	const cr_gpu_near_list list = { .jobs = jobs, .waves = 1, .first = { 0, NEAR_JOBS }, .levels = levels };
	REQUIRE(cr_gpu_find_near(device, &near, &list, &fits) == CAROM_SUCCESS && fits);
	for (int i = 0; i < NEAR_JOBS; i++)
		check_near_job(p, q, &set, i, &near, sum);
	// Lists that may be no longer than a few entries.
	near.most_room = 3;
	CHECK(cr_gpu_find_near(device, &near, &list, &fits) == CAROM_SUCCESS && !fits);
	cr_gpu_free_near(device, &near);
	cr_gpu_free_casts(device, &casts);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
}

/// Of walks that follow others, those are made that follow a walk without finds; they find what they find alone.
static void check_waves(carom_device *device, const carom_mesh *a, const carom_mesh *b, uint64_t seed, int counts[2])
{
	static near_set set;
	static cr_gpu_near_job jobs[2 * NEAR_JOBS];
	static cr_gpu_near_state alone[2 * NEAR_JOBS];
	const carom_mesh *const meshes[] = { a, b };
	cr_gpu_casts casts = { 0 };
	cr_gpu_near near = { 0 };
	mesh_place places[2];
	bool fits = false;
	make_near_set(seed, 1.5 * (double)fminf(a->collider.diagonal, b->collider.diagonal), &set);
	cr_gpu_lock(device);
	put_meshes(device, &casts, meshes, 2, places);
	for (int wave = 0; wave < 2; wave++) {
		for (int i = 0; i < NEAR_JOBS; i++)
			set.reach[i] = (float)(wave + i % 2) * 0.05f * a->collider.diagonal;
		make_near_jobs(&a->collider, &b->collider, places, &set, jobs + wave * NEAR_JOBS);
	}
	const uint32_t levels = (uint32_t)(cr_is_b_source(&a->collider, &b->collider) ? b : a)->collider.tree.depth;
	const cr_gpu_near_list flat = { .jobs = jobs, .waves = 1, .first = { 0, 2 * NEAR_JOBS }, .levels = levels };
	const cr_gpu_near_list waves = { .jobs = jobs, .waves = 2, .first = { 0, NEAR_JOBS, 2 * NEAR_JOBS }, .levels = levels };
	REQUIRE(cr_gpu_find_near(device, &near, &flat, &fits) == CAROM_SUCCESS && fits);
	memcpy(alone, near.outcomes, sizeof alone);
	for (uint32_t i = 0; i < NEAR_JOBS; i++)
		jobs[NEAR_JOBS + i].after = i;
	REQUIRE(cr_gpu_find_near(device, &near, &waves, &fits) == CAROM_SUCCESS && fits);
	int64_t finds = 0;
	for (int i = 0; i < 2 * NEAR_JOBS; i++) {
		const bool made = i < NEAR_JOBS || (alone[i - NEAR_JOBS].count == 0 && alone[i - NEAR_JOBS].doubtful == 0);
		const cr_gpu_near_state expected = made ? alone[i] : (cr_gpu_near_state){ 0, CR_GPU_NEAR_LEFT_OUT };
		CHECK(near.outcomes[i].count == expected.count && near.outcomes[i].doubtful == expected.doubtful);
		finds += jobs[i].most > 0 && expected.count > jobs[i].most ? jobs[i].most : expected.count;
		counts[made] += i >= NEAR_JOBS;
	}
	CHECK_INT(near.found_count, finds);
	cr_gpu_free_near(device, &near);
	cr_gpu_free_casts(device, &casts);
	CHECK_INT(cr_gpu_unlock(device, CAROM_SUCCESS), CAROM_SUCCESS);
}

static void check_all_near(bool staging, bool apart)
{
	carom_context *context = fixture_context(1);
	carom_device *device = make_device(context, staging);
	device->apart = apart;
	carom_mesh *meshes[] = { fixture_torus_mesh(context, 24, 12, 0.4, 0.1), fixture_box_mesh(context, 1, 1, 1),
		fixture_sphere_mesh(context, 0.8, 10), fixture_sheet_mesh(context, 6, 1), fixture_torus_mesh(context, 8, 6, 0.4, 0.1) };
	carom_mesh *small = fixture_sphere_mesh(context, 1e-6, 6);
	enum { MESHES = sizeof meshes / sizeof *meshes };
	near_tally sum = { 0 }, tiny = { 0 };
	int waves[2] = { 0 }; // left out, made
	for (int i = 0; i < MESHES; i++) {
		check_near(device, meshes[i], meshes[(i + 1) % MESHES], 40 + (uint64_t)i, &sum);
		check_waves(device, meshes[i], meshes[(i + 1) % MESHES], 60 + (uint64_t)i, waves);
	}
	CHECK(waves[0] > 5 && waves[1] > 5);
	check_near(device, meshes[1], meshes[1], 50, &sum);
	check_near(device, small, small, 51, &tiny);
	if (!CHECK(sum.near > 3000 && sum.far > sum.near / 2 && sum.far < sum.near && tiny.near > 50))
		printf("%lld near, %lld apart, %lld tiny\n", (long long)sum.near, (long long)sum.far, (long long)tiny.near);
	if (!CHECK(sum.left <= 2 && tiny.left <= 2))
		printf("%lld and %lld walks were left\n", (long long)sum.left, (long long)tiny.left);
	for (int i = 0; i < MESHES; i++)
		carom_release_mesh(meshes[i]);
	carom_release_mesh(small);
	end(context, device);
}

TEST(device_meshes, near_triangles_have_the_bits_of_the_processor) { check_all_near(false, false); }
TEST(device_meshes, near_triangles_have_the_bits_of_the_processor_through_the_ring) { check_all_near(true, false); }
TEST(device_meshes, near_triangles_of_a_card_have_the_bits_of_the_processor) { check_all_near(false, true); }

TEST(device_meshes, kernels_contract_no_doubles)
{
	static const cr_kernel kernels[] = { CR_KERNEL_MESH_WALK, CR_KERNEL_MESH_PIERCE, CR_KERNEL_MESH_NEAR_NODES,
		CR_KERNEL_MESH_NEAR_LEAVES, CR_KERNEL_MESH_NEAR_TEST };
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
		int all;
		CHECK_INT(count_contractible(kernels[i], &all), 0);
		CHECK(all > 3);
	}
}
