/// Meshes of boxes: copies of a few forms have what meshes that are made have, bit for bit; equal boxes share one, and none stays for
/// good when its boxes have gone.
#include "fixture.h"
#include "same_mesh.h"
#include "world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cr_shape box_of(double x, double y, double z)
{
	cr_shape box;
	cr_shape_init(&(carom_shape){ .type = CAROM_BOX, .half_extents = { x, y, z } }, &box);
	return box;
}

/// Where each triangle stands in the blocks: its corners there are those of the topology, and boxes of nodes hold it.
static void check_blocks(const cr_collider *c)
{
	int32_t seen = 0;
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		const cr_tri8 *block = &c->blocks[b];
		CHECK_INT(block->count, c->tree.block_size[b]);
		for (int lane = 0; lane < CR_WIDTH; lane++) {
			v3d corners[3];
			cr_collider_triangle(c, block->number[lane], corners);
			for (int i = 0; i < 9; i++)
				CHECK(block->corner[i / 3][i % 3][lane] == (float)v3d_get(corners[i / 3], i % 3));
			CHECK(lane >= block->count || c->place[block->number[lane]] == CR_WIDTH * b + lane);
		}
		seen += block->count;
	}
	CHECK_INT(seen, c->triangle_count);
}

/// Samples of a collider by number.
static void gather_samples(const cr_collider *c, float rows[24][7])
{
	CHECK_INT(c->sample_count, 24);
	for (int32_t b = 0; b < c->sample_tree.block_count; b++) {
		for (int lane = 0; lane < c->samples[b].count; lane++) {
			float *row = rows[c->samples[b].number[lane]];
			for (int k = 0; k < 3; k++) {
				row[k] = c->samples[b].point[k][lane];
				row[3 + k] = c->samples[b].inward[k][lane];
			}
			row[6] = c->samples[b].exit[lane];
		}
	}
}

/// The boxes of the leaves of a tree of one node are those of what they hold, with a margin.
static void check_root(const cr_tree8 *tree, const float lower[3], const float upper[3], float margin)
{
	REQUIRE(tree->node_count >= 1);
	const cr_node8 *root = &tree->nodes[0];
	for (int k = 0; k < 3; k++) {
		float low = INFINITY, high = -INFINITY;
		for (uint32_t i = 0; i < root->child_count; i++) {
			low = fminf(low, root->lower[k][i]);
			high = fmaxf(high, root->upper[k][i]);
		}
		CHECK(low == lower[k] - margin && high == upper[k] + margin);
	}
}

static void check_same(const carom_mesh *copy, const carom_mesh *made)
{
	same_topology(&copy->topology, &made->topology, NULL, 0);
	same_facets(&copy->facets, &made->facets);
	CHECK(copy->report.closed && copy->report.components == 1 && copy->report.usable);
	CHECK_NEAR(copy->report.volume, made->report.volume, 1e-12 * made->report.volume);
	CHECK_NEAR(copy->report.area, made->report.area, 1e-12 * made->report.area);
	CHECK_SAME(copy->report.lower, made->report.lower, 3);
	CHECK_SAME(copy->report.upper, made->report.upper, 3);
	const cr_collider *a = &copy->collider, *b = &made->collider;
	CHECK_SAME(a->lower, b->lower, 3);
	CHECK_SAME(a->upper, b->upper, 3);
	CHECK(a->scale == b->scale && a->diagonal == b->diagonal && a->extent == b->extent && a->closed == b->closed);
	CHECK(a->triangle_count == b->triangle_count && a->build == b->build);
	check_blocks(a);
	float of_a[24][7] = { { 0 } }, of_b[24][7] = { { 0 } };
	gather_samples(a, of_a);
	gather_samples(b, of_b);
	CHECK_SAME(&of_a[0][0], &of_b[0][0], 24 * 7);
	check_root(&a->tree, a->lower, a->upper, a->scale * 0x1p-21f);
	check_root(&a->sample_tree, a->lower, a->upper, 0);
}

/// A mesh with shared parts, and one that is made whole, of one box. Some boxes have none.
static void compare_box(carom_context *context, const double half[3])
{
	cr_box_meshes shared = { 0 }, whole = { 0 };
	cr_shape a = box_of(half[0], half[1], half[2]), b = a;
	const carom_result result = cr_make_box_mesh(context, &whole, true, &b);
	CHECK_INT(cr_make_box_mesh(context, &shared, false, &a), result);
	if (result == CAROM_SUCCESS) {
		// Where an extent rounds to 0, triangles without an area are left out: no form has that.
		const bool thick = (float)half[0] > 0 && (float)half[1] > 0 && (float)half[2] > 0;
		CHECK(!b.mesh->shared && !a.mesh->shared == !thick);
		CHECK(a.mesh->collider.closed == thick);
		check_same(a.mesh, b.mesh);
	} else {
		CHECK(!a.mesh && !a.collider);
	}
	cr_shape_free(&a);
	cr_shape_free(&b);
	cr_free_box_meshes(context, &shared);
	cr_free_box_meshes(context, &whole);
}

TEST(box_mesh, copies_are_what_is_made)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 11;
	static const double some[][3] = { { 1, 1, 1 }, { 1, 1, 2 }, { 1, 2, 1 }, { 2, 1, 1 }, { 1, 2, 2 }, { 2, 1, 2 }, { 2, 2, 1 },
		{ 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 }, { 1e-6, 1, 1 }, { 1e-6, 1e6, 1 },
		{ 1e-12, 1e-12, 1e-12 }, { 1e-20, 1, 1 }, { 1e-30, 1e-30, 1 }, { 1e-44, 1e-44, 1e-44 }, { 1e-60, 1, 1 },
		{ 0.1, 0.1, 0.3 }, { 1, 1 + 1e-7, 1 }, { 1, 1 + 1e-9, 1 } };
	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		compare_box(context, some[i]);
	for (int i = 0; i < 300 / TEST_FEWER; i++) {
		double half[3];
		for (int k = 0; k < 3; k++)
			half[k] = pow(10, test_random_double(&seed, -4, 4));
		if (test_random(&seed) % 3 == 0)
			half[1] = half[0];
		compare_box(context, half);
	}
	carom_destroy_context(context);
}

TEST(box_mesh, equal_boxes_have_one)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const size_t before = carom_memory_in_use(context);
	cr_box_meshes meshes = { 0 };
	enum { SIZES = 200 };
	cr_shape boxes[2 * SIZES];
	for (int i = 0; i < 2 * SIZES; i++) {
		boxes[i] = box_of(1 + i % SIZES, 2, 3);
		REQUIRE(cr_make_box_mesh(context, &meshes, false, &boxes[i]) == CAROM_SUCCESS);
		CHECK(boxes[i].collider == &boxes[i].mesh->collider);
		CHECK(i < SIZES || boxes[i].mesh == boxes[i - SIZES].mesh);
	}
	CHECK_INT(meshes.count, SIZES);
	// Forms, of which there are five here, and what boxes do not share.
	const size_t each = (carom_memory_in_use(context) - before - 5 * 5850) / SIZES;
	if (!CHECK(each < 4600))
		CHECK_INT(each, 0);
	for (int i = 0; i < 2 * SIZES; i++)
		cr_shape_free(&boxes[i]);
	cr_free_box_meshes(context, &meshes);
	CHECK(carom_memory_in_use(context) == before);
	carom_destroy_context(context);
}

TEST(box_mesh, meshes_of_boxes_that_went_are_given_up)
{
	carom_context *context = fixture_context(1);
	cr_box_meshes meshes = { 0 };
	cr_shape kept = box_of(0.25, 0.25, 0.25);
	REQUIRE(cr_make_box_mesh(context, &meshes, false, &kept) == CAROM_SUCCESS);
	for (int i = 0; i < 1000; i++) {
		cr_shape box = box_of(1 + i, 1, 1);
		REQUIRE(cr_make_box_mesh(context, &meshes, false, &box) == CAROM_SUCCESS);
		cr_shape_free(&box);
		CHECK(meshes.room == 64 && meshes.count <= 48);
	}
	cr_shape again = box_of(0.25, 0.25, 0.25);
	REQUIRE(cr_make_box_mesh(context, &meshes, false, &again) == CAROM_SUCCESS);
	CHECK(again.mesh == kept.mesh);
	cr_shape_free(&again);
	cr_shape_free(&kept);
	cr_free_box_meshes(context, &meshes);
	carom_destroy_context(context);
}

/// A mesh outlives the table, its form with it.
TEST(box_mesh, a_mesh_keeps_its_form)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const long long blocks = heap.blocks;
	cr_box_meshes meshes = { 0 };
	cr_shape box = box_of(0.5, 0.6, 0.7);
	REQUIRE(cr_make_box_mesh(context, &meshes, false, &box) == CAROM_SUCCESS);
	cr_free_box_meshes(context, &meshes);
	CHECK_INT(heap.blocks, blocks + 4); // two meshes, and a block of arrays of each
	check_blocks(box.collider);
	cr_shape_free(&box);
	CHECK_INT(heap.blocks, blocks);
	carom_destroy_context(context);
}

TEST(box_mesh, out_of_memory_leaves_nothing)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const long long blocks = heap.blocks;
	int failed = 0;
	for (carom_result result = CAROM_OUT_OF_MEMORY; result != CAROM_SUCCESS;) {
		cr_box_meshes meshes = { 0 };
		cr_shape box = box_of(0.5, 0.6, 0.7), other = box_of(0.6, 0.7, 0.8);
		atomic_store(&heap.fail_at, heap.calls + failed);
		result = cr_make_box_mesh(context, &meshes, false, &box);
		if (result == CAROM_SUCCESS)
			result = cr_make_box_mesh(context, &meshes, false, &other);
		atomic_store(&heap.fail_at, -1);
		failed += result != CAROM_SUCCESS;
		CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
		CHECK(result == CAROM_SUCCESS || !box.mesh || !other.mesh);
		// The next call succeeds.
		CHECK(box.mesh || cr_make_box_mesh(context, &meshes, false, &box) == CAROM_SUCCESS);
		cr_shape_free(&box);
		cr_shape_free(&other);
		cr_free_box_meshes(context, &meshes);
		CHECK_INT(heap.blocks, blocks);
	}
	CHECK(failed > 20);
	carom_destroy_context(context);
}

/// Contacts of boxes of many sizes on a field do not depend on which boxes came first.
TEST(box_mesh, contacts_do_not_depend_on_boxes_before)
{
	enum { BOXES = 60, SIDE = 9 };
	carom_context *context = fixture_context(1);
	float heights[SIDE * SIDE];
	for (int i = 0; i < SIDE * SIDE; i++)
		heights[i] = (float)(i * 7 % 5) * 0.02f;
	carom_mesh *field = NULL;
	REQUIRE(carom_create_height_field(context, SIDE, SIDE, heights, (double[2]){ 2, 2 }, 5, &field) == CAROM_SUCCESS);
	carom_contact *first = NULL;
	int32_t count = 0;
	for (int run = 0; run < 2; run++) {
		carom_world *world = fixture_world(context, NULL);
		fixture_add(world, fixture_of_mesh(field), fixture_at(0, 0, 0), CAROM_STATIC);
		carom_shape shapes[BOXES];
		uint64_t seed = 5;
		for (int i = 0; i < BOXES; i++)
			shapes[i] = fixture_box(
				test_random_double(&seed, 0.2, 0.7), test_random_double(&seed, 0.2, 0.7), test_random_double(&seed, 0.2, 0.7));
		if (run == 1) { // others before them, of all forms, which meet the field and go
			carom_body_id before[BOXES];
			for (int i = 0; i < BOXES; i++)
				before[i] = fixture_add(world, shapes[BOXES - 1 - i], fixture_at(8, 8, 0.3), CAROM_DYNAMIC);
			REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
			for (int i = BOXES - 1; i >= 0; i--)
				REQUIRE(carom_world_remove_body(world, before[i]) == CAROM_SUCCESS);
		}
		for (int i = 0; i < BOXES; i++)
			fixture_add(world, shapes[i], fixture_at(1 + 2 * (i % 8), 1 + 2 * (i / 8), 0.25), CAROM_DYNAMIC);
		REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
		const carom_contact_view v = carom_world_contacts(world);
		if (run == 0) {
			count = v.count;
			first = malloc((size_t)count * sizeof *first);
			REQUIRE(first && count > BOXES);
			memcpy(first, v.data, (size_t)count * sizeof *first);
		}
		CHECK_INT(v.count, count);
		for (int32_t i = 0; i < count && i < v.count; i++) {
			CHECK(memcmp(first[i].point, v.data[i].point, sizeof first[i].point) == 0);
			CHECK(memcmp(first[i].normal, v.data[i].normal, sizeof first[i].normal) == 0 && first[i].depth == v.data[i].depth);
		}
		carom_destroy_world(world);
	}
	free(first);
	carom_release_mesh(field);
	carom_destroy_context(context);
}

/// Boxes that rest on a field: what a world holds for each, counted by the allocator. The bound is some 5 % above what was counted.
TEST(box_mesh, boxes_on_a_field_take_few_bytes)
{
	enum { ROW = 64, COUNT = ROW * ROW, SAMPLES = 5, MOST_BYTES = 2550 };
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	float heights[SAMPLES * SAMPLES];
	for (int i = 0; i < SAMPLES * SAMPLES; i++)
		heights[i] = 0.01F * sinf(0.7F * (float)(i % SAMPLES)) * cosf(0.9F * (float)(i / SAMPLES));
	carom_mesh *field = NULL;
	const double space = 1.5 * (ROW + 1) / (SAMPLES - 1);
	REQUIRE(
		carom_create_height_field(context, SAMPLES, SAMPLES, heights, (double[2]){ space, space }, 5, &field) == CAROM_SUCCESS);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_of_mesh(field), fixture_at(0, 0, 0), CAROM_STATIC);
	world->pipeline.most = 256; // so that records of a part count as little as among a million boxes
	const long long before = atomic_load(&heap.bytes);
	for (int i = 0; i < COUNT; i++) {
		const carom_pose pose = fixture_at(1.5 * (i % ROW + 0.5), 1.5 * (i / ROW + 0.5), 0.395);
		fixture_add(world, fixture_box(0.4, 0.4, 0.4), pose, CAROM_DYNAMIC);
	}
	for (int step = 0; step < 4; step++) {
		fixture_step(world);
		CHECK(carom_world_contacts(world).count > 3 * COUNT);
		const double each = (double)(atomic_load(&heap.bytes) - before) / COUNT;
		if (!CHECK(each < MOST_BYTES))
			printf("step %d: %.0f bytes a box\n", step, each);
	}
	carom_destroy_world(world);
	carom_release_mesh(field);
	carom_destroy_context(context);
}
