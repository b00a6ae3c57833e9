/// Baked meshes: a loaded mesh is the saved one to the last bit; whatever is wrong with the bytes is an
/// error that names it, also where somebody set the digest right; and what is accepted all the same can
/// be used without harm.
#include "fixture.h"
#include "test.h"
#include "carom/carom.h"
#include "frame/body.h"
#include "sim/shapes/shapes.h"
#include "world/baked.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64, DIGEST_AT = 24 };

// ---- Meshes ----

typedef enum kind {
	BOX,
	LUMPY,
	OPEN,
	CONTAINER,
	MATERIALS,
	DOUBLES,
	INVERTED,
	LEFT_OUT,
	THREE_AT_AN_EDGE,
	EMPTY,
	NO_GRID,
	HULL,
	FIELD,
	KINDS,
} kind;

static void left_out(sim_mesh *m)
{
	// A triangle without an area, one that repeats another, and a vertex that none uses.
	int32_t *t = m->triangles;
	for (int k = 0; k < 3; k++)
		t[3 + k] = t[k];
	t[7] = t[6];
	for (int32_t i = 0; i < 3 * m->triangle_count; i++)
		t[i] = t[i] == 5 ? 6 : t[i];
}

static void turn_round(sim_mesh *m)
{
	for (int32_t i = 0; i < m->triangle_count; i++) {
		const int32_t corner = m->triangles[3 * i];
		m->triangles[3 * i] = m->triangles[3 * i + 1];
		m->triangles[3 * i + 1] = corner;
	}
}

static carom_result make_shape(carom_context *context, kind k, carom_mesh **mesh)
{
	sim_mesh m;
	sim_error error;
	const bool small = k == BOX || k == NO_GRID;
	REQUIRE(sim_make_shape(small ? "box" : "lumpy", small ? 12 : 300, 1, &m, &error));
	carom_mesh_def def = carom_default_mesh_def();
	double *doubles = malloc(3 * (size_t)m.vertex_count * sizeof *doubles);
	uint32_t *materials = malloc((size_t)m.triangle_count * sizeof *materials);
	REQUIRE(doubles && materials);
	for (int32_t i = 0; i < 3 * m.vertex_count; i++)
		doubles[i] = m.vertices[i] + 1e-9 * (i % 7);
	for (int32_t i = 0; i < m.triangle_count; i++)
		materials[i] = (uint32_t)i * 77;
	if (k == INVERTED)
		turn_round(&m);
	if (k == LEFT_OUT)
		left_out(&m);
	if (k == THREE_AT_AN_EDGE)
		memcpy(&m.triangles[3 * m.triangle_count - 3], m.triangles, 2 * sizeof *m.triangles);
	def.vertices = k == DOUBLES ? (carom_strided){ doubles, 0, CAROM_FLOAT64 } : (carom_strided){ m.vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = m.vertex_count;
	def.triangles = m.triangles;
	def.triangle_count = k == EMPTY ? 0 : k == OPEN ? m.triangle_count - 20 : m.triangle_count;
	def.materials = k == MATERIALS ? materials : NULL;
	def.sides = k == OPEN ? CAROM_SIDES_FRONT : k == CONTAINER ? CAROM_SIDES_CONTAINER : CAROM_SIDES_AUTO;
	def.grid_resolution = k == NO_GRID ? 0 : k == LUMPY ? 48 : CAROM_GRID_BY_SIZE;
	const carom_result result = carom_create_mesh(context, &def, NULL, mesh);
	free(doubles);
	free(materials);
	sim_mesh_free(&m);
	return result;
}

static carom_mesh *make(carom_context *context, kind k)
{
	carom_mesh *mesh = NULL;
	uint64_t seed = 9;
	float values[300];
	for (int i = 0; i < 300; i++)
		values[i] = (float)test_random_double(&seed, -1, 1);
	if (k == HULL)
		REQUIRE(carom_create_hull(context, &(carom_strided){ values, 0, CAROM_FLOAT32 }, 100, &mesh) == CAROM_SUCCESS);
	else if (k == FIELD)
		REQUIRE(carom_create_height_field(context, 15, 20, values, (double[2]){ 0.5, 0.5 }, 1, &mesh) == CAROM_SUCCESS);
	else
		REQUIRE(make_shape(context, k, &mesh) == CAROM_SUCCESS);
	return mesh;
}

// ---- Bytes ----

/// A baked mesh in memory that may be mapped: aligned.
typedef struct block {
	uint8_t *bytes;
	size_t size;
} block;

static bool write_block(const void *bytes, size_t count, void *user)
{
	block *b = user;
	REQUIRE(!b->bytes && count % 64 == 0);
	const carom_allocator memory = carom_default_allocator();
	b->bytes = memory.allocate(count, 64, memory.user);
	REQUIRE(b->bytes);
	memcpy(b->bytes, bytes, count);
	b->size = count;
	return true;
}

static void free_block(const block *b)
{
	const carom_allocator memory = carom_default_allocator();
	memory.release(b->bytes, b->size, 64, memory.user);
}

static block bake(const carom_mesh *mesh)
{
	block b = { 0 };
	REQUIRE(carom_mesh_save(mesh, write_block, &b) == CAROM_SUCCESS);
	return b;
}

static block bake_kind(carom_context *context, kind k)
{
	carom_mesh *mesh = make(context, k);
	const block b = bake(mesh);
	carom_release_mesh(mesh);
	return b;
}

static void sign(const block *b)
{
	const uint64_t digest = cr_baked_digest(b->bytes, b->size);
	memcpy(b->bytes + DIGEST_AT, &digest, sizeof digest);
}

/// Loading is refused with a text that holds a word, and leaves nothing behind.
static void check_refused(carom_context *context, const void *bytes, size_t size, const char *word)
{
	const size_t before = carom_memory_in_use(context);
	carom_mesh *mesh = (carom_mesh *)(void *)&size;
	CHECK_INT(carom_mesh_load(context, bytes, size, true, &mesh), CAROM_INVALID_MESH);
	CHECK(mesh == NULL);
	CHECK(carom_memory_in_use(context) == before);
	const bool named = strstr(carom_error_text(context), word) != NULL;
	CHECK(named);
	if (!named)
		printf("expected %s in: %s\n", word, carom_error_text(context));
}

// ---- Round trips ----

TEST(baked, hulls_get_their_starts_again)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh, *loaded;
	sim_mesh sphere = { 0 };
	sim_error error;
	REQUIRE(sim_make_shape("sphere", 200, 1, &sphere, &error));
	REQUIRE(carom_create_hull(context, &(carom_strided){ sphere.vertices, 0, CAROM_FLOAT32 }, sphere.vertex_count, &mesh) ==
		CAROM_SUCCESS);
	sim_mesh_free(&sphere);
	const block b = bake(mesh);
	REQUIRE(carom_mesh_load(context, b.bytes, b.size, false, &loaded) == CAROM_SUCCESS);
	const cr_hull *hull = &mesh->hull->hull;
	CHECK(hull->vertex_count > 32);
	CHECK(hull->start[0] != hull->start[CR_HULL_STARTS - 1]);
	CHECK(memcmp(hull->start, loaded->hull->hull.start, sizeof hull->start) == 0);
	carom_release_mesh(loaded);
	carom_release_mesh(mesh);
	free_block(&b);
	carom_destroy_context(context);
}

/// Bodies of a mesh heap up on a plane: the hash of the last step.
static uint64_t hash_of_steps(carom_context *context, const carom_mesh *mesh, bool as_hull)
{
	carom_world *world = fixture_world(context, NULL);
	uint64_t seed = 3;
	fixture_add(world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -1), CAROM_STATIC);
	for (int i = 0; i < 6; i++)
		fixture_add(world, as_hull ? fixture_hull(mesh) : fixture_of_mesh(mesh), fixture_random_pose(&seed, 1), CAROM_DYNAMIC);
	fixture_add(world, fixture_box(0.3, 0.4, 0.5), fixture_at(0.1, 0.2, 0.3), CAROM_DYNAMIC);
	fixture_add(world, fixture_sphere(0.4), fixture_at(-0.2, 0.2, 0.1), CAROM_DYNAMIC);
	for (int i = 0; i < 3; i++)
		fixture_step(world);
	const uint64_t hash = carom_world_hash(world);
	carom_destroy_world(world);
	return hash;
}

static void check_same(carom_context *context, const carom_mesh *a, const carom_mesh *b, kind k)
{
	const block first = bake(a), second = bake(b);
	CHECK(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
	free_block(&first);
	free_block(&second);
	CHECK(memcmp(carom_mesh_get_report(a), carom_mesh_get_report(b), sizeof(carom_mesh_report)) == 0);
	CHECK(hash_of_steps(context, a, k == HULL) == hash_of_steps(context, b, k == HULL));
	CHECK(hash_of_steps(context, a, false) == hash_of_steps(context, b, false));
	carom_tree_info x, y;
	REQUIRE(carom_mesh_get_tree_info(a, true, &x) == CAROM_SUCCESS && carom_mesh_get_tree_info(b, true, &y) == CAROM_SUCCESS);
	CHECK(x.binary_nodes == y.binary_nodes && x.wide_nodes == y.wide_nodes && x.depth == y.depth && x.sah_cost == y.sah_cost &&
		x.epo == y.epo && x.grid_cells == y.grid_cells);
	int32_t cuts_a = -1, cuts_b = -2;
	REQUIRE(carom_mesh_self_intersections(a, 0, NULL, &cuts_a) == CAROM_SUCCESS);
	REQUIRE(carom_mesh_self_intersections(b, 0, NULL, &cuts_b) == CAROM_SUCCESS);
	CHECK_INT(cuts_a, cuts_b);
	for (int32_t i = 0; i < carom_mesh_get_report(a)->triangle_count; i++) {
		uint32_t m = 1, n = 2;
		REQUIRE(carom_mesh_get_material(a, i, &m) == CAROM_SUCCESS && carom_mesh_get_material(b, i, &n) == CAROM_SUCCESS);
		CHECK_INT(m, n);
	}
}

TEST(baked, loaded_meshes_are_the_saved_ones)
{
	carom_context *context = fixture_context(1);
	for (int k = 0; k < KINDS; k++) {
		const size_t before = carom_memory_in_use(context);
		carom_mesh *made = make(context, k), *copied = NULL, *mapped = NULL;
		const block b = bake(made);
		block lent = { malloc(b.size + 1), b.size };
		REQUIRE(lent.bytes);
		memcpy(lent.bytes + 1, b.bytes, b.size);
		REQUIRE(carom_mesh_load(context, lent.bytes + 1, b.size, true, &copied) == CAROM_SUCCESS);
		memset(lent.bytes, 0xee, b.size + 1); // the caller's again
		free_block(&lent);
		REQUIRE(carom_mesh_load(context, b.bytes, b.size, false, &mapped) == CAROM_SUCCESS);
		CHECK(mapped && (const uint8_t *)carom_mesh_get_vertices(mapped) >= b.bytes);
		check_same(context, made, copied, k);
		check_same(context, made, mapped, k);
		carom_release_mesh(made);
		carom_release_mesh(copied);
		carom_release_mesh(mapped);
		free_block(&b);
		CHECK(carom_memory_in_use(context) == before);
	}
	carom_destroy_context(context);
}

TEST(baked, bytes_do_not_depend_on_threads_or_instruction_set)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 3;
	def.simd = CAROM_SIMD_SCALAR;
	carom_context *other = NULL, *context = fixture_context(1);
	REQUIRE(carom_create_context(&def, &other) == CAROM_SUCCESS);
	for (int k = 0; k < KINDS; k++) {
		const block a = bake_kind(context, k), b = bake_kind(other, k);
		CHECK(a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0);
		free_block(&a);
		free_block(&b);
	}
	carom_destroy_context(other);
	carom_destroy_context(context);
}

// ---- Damage ----

TEST(baked, every_beginning_is_refused)
{
	carom_context *context = fixture_context(1);
	const block b = bake_kind(context, BOX);
	for (size_t size = 0; size < b.size; size++)
		check_refused(context, b.bytes, size, "size");
	uint8_t *longer = calloc(1, b.size + 64);
	REQUIRE(longer);
	memcpy(longer, b.bytes, b.size);
	check_refused(context, longer, b.size + 64, "size");
	// A shorter file that says so, and is signed as such.
	for (size_t size = HEAD; size < b.size; size += 64) {
		const uint64_t told = size;
		memcpy(longer, b.bytes, b.size);
		memcpy(longer + 16, &told, sizeof told);
		sign(&(block){ longer, size });
		check_refused(context, longer, size, "impossible");
	}
	free(longer);
	free_block(&b);
	carom_destroy_context(context);
}

TEST(baked, every_flipped_bit_is_found)
{
	carom_context *context = fixture_context(1);
	const kind kinds[] = { BOX, LUMPY, HULL };
	for (int i = 0; i < 3; i++) {
		const block b = bake_kind(context, kinds[i]);
		const size_t stride = TEST_STRIDE * (b.size < 30000 ? 1 : b.size / 2000 | 1);
		for (size_t at = 0; at < b.size; at += at < HEAD ? 1 : stride) {
			b.bytes[at] ^= (uint8_t)(1u << at % 8);
			check_refused(context, b.bytes, b.size,
				at < 8        ? "magic"
					: at < 12 ? "version"
					: at < 16 ? "byte order"
					: at < 24 ? "size"
							  : "digest");
			b.bytes[at] ^= (uint8_t)(1u << at % 8);
		}
		free_block(&b);
	}
	carom_destroy_context(context);
}

TEST(baked, other_versions_and_layouts_are_refused)
{
	carom_context *context = fixture_context(1);
	const block b = bake_kind(context, BOX);
	b.bytes[8] = 6;
	sign(&b);
	check_refused(context, b.bytes, b.size, "version is 6; this library reads 7");
	b.bytes[8] = 7;
	const uint8_t swapped[4] = { b.bytes[15], b.bytes[14], b.bytes[13], b.bytes[12] };
	memcpy(b.bytes + 12, swapped, sizeof swapped);
	sign(&b);
	check_refused(context, b.bytes, b.size, "byte order");
	for (int i = 0; i < 4; i++)
		b.bytes[12 + i] = swapped[3 - i];
	b.bytes[32] ^= 1;
	sign(&b);
	check_refused(context, b.bytes, b.size, "layout");
	free_block(&b);
	carom_destroy_context(context);
}

// ---- Forgeries ----

/// One change of a mesh that points into its bytes, and the field that must be named.
typedef struct forgery {
	void (*change)(carom_mesh *mesh);
	const char *field;
} forgery;

#define FORGE(name, statement) \
	static void forge_##name(carom_mesh *m) { statement; }
FORGE(vertex, m->topology.vertices[4] = NAN)
FORGE(huge_vertex, m->topology.vertices[4] = 2e12f)
FORGE(triangle, m->topology.triangles[7] = m->topology.vertex_count)
FORGE(negative_triangle, m->topology.triangles[7] = -1)
FORGE(weld, m->topology.weld[1] = 2)
FORGE(used, m->topology.used[3] = 2)
FORGE(unused, m->topology.used[3] = 0)
FORGE(neighbour, m->topology.neighbours[2] = m->topology.triangle_count)
FORGE(neighbour_below, m->topology.neighbours[2] = -2)
FORGE(one_sided_neighbour, m->topology.neighbours[2] = 0)
FORGE(normal, m->topology.normals[2] = INFINITY)
FORGE(edge_normal, m->topology.edge_normals[2] = NAN)
FORGE(facet_first, m->facets.data[1].first++)
FORGE(facet_count, m->facets.data[0].count = 1 << 30)
FORGE(facet_offset, m->facets.data[0].offset = NAN)
FORGE(facet_of, m->facets.of_triangle[0] = m->facets.count)
FORGE(no_facet_of, m->facets.of_triangle[0] = -1)
FORGE(facet_triangle, m->facets.triangles[0] = -1)
FORGE(crease, m->facets.crease[0] = 8)
FORGE(corner, m->facets.corner[0] = 2)
FORGE(number, m->collider.triangle_number[1] = 0)
FORGE(last_number, m->collider.triangle_number[m->collider.triangle_count - 1]++)
FORGE(skip, m->collider.binary.nodes[0].skip = 0)
FORGE(back_skip, m->collider.binary.nodes[m->collider.binary.node_count - 1].skip = 0)
FORGE(second_child, m->collider.binary.nodes[0].first = m->collider.binary.node_count)
FORGE(binary_box, m->collider.binary.nodes[0].lower[0] = NAN)
FORGE(order, m->collider.binary.order[0] = m->collider.triangle_count)
FORGE(child, m->collider.tree.nodes[0].child[0] = 0)
FORGE(far_child, m->collider.tree.nodes[0].child[0] = (uint32_t)m->collider.tree.node_count)
FORGE(block_child, m->collider.tree.nodes[0].child[0] = CR_LEAF_BIT | (uint32_t)m->collider.tree.block_count)
FORGE(child_count, m->collider.tree.nodes[0].child_count = 9)
FORGE(no_child, m->collider.tree.nodes[0].child_count = 0)
FORGE(tree_box, m->collider.tree.nodes[0].upper[2][1] = INFINITY)
FORGE(block_first, m->collider.tree.block_first[0] = -1)
FORGE(block_size, m->collider.tree.block_size[0] = 9)
FORGE(block_count, m->collider.blocks[0].count = 9)
FORGE(block_number, m->collider.blocks[0].number[0] = m->topology.triangle_count)
FORGE(block_padding, m->collider.blocks[m->collider.tree.block_count - 1].corner[0][0][0] = NAN)
FORGE(across, m->collider.across[0].edge[0][0] = CR_WIDTH * m->collider.tree.block_count)
FORGE(across_below, m->collider.across[0].edge[0][0] = -2)
FORGE(place, m->collider.place[0] ^= 1)
FORGE(sample, m->collider.samples[0].number[0] = m->topology.vertex_count)
FORGE(sample_point, m->collider.samples[0].point[0][0] = NAN)
FORGE(sample_exit, m->collider.samples[0].exit[0] = NAN)
FORGE(sample_child, m->collider.sample_tree.nodes[0].child_count = 0)
FORGE(cell, m->collider.grid.cells[0] = 0)
FORGE(word, m->collider.grid.words[1].before = m->collider.grid.touched_count + 1)
FORGE(touched, m->collider.grid.touched[0].count = CR_CELL_TRIANGLES + 1)
FORGE(touched_triangle, m->collider.grid.touched[1].triangle[0] = m->collider.grid.plane_count)
FORGE(touched_below, m->collider.grid.touched[1].triangle[0] = -1)
FORGE(plane, m->collider.grid.planes[0][3] = NAN)

#define FORGED(name, field) \
	{                       \
		forge_##name, field \
	}
static const forgery forgeries[] = { FORGED(vertex, "vertices"), FORGED(huge_vertex, "vertices"), FORGED(triangle, "triangles"),
	FORGED(negative_triangle, "triangles"), FORGED(weld, "weld"), FORGED(used, "used"), FORGED(unused, "used"),
	FORGED(neighbour, "neighbours"), FORGED(neighbour_below, "neighbours"), FORGED(one_sided_neighbour, "neighbours"),
	FORGED(normal, "normals"), FORGED(facet_first, "facets"), FORGED(facet_count, "facets"), FORGED(facet_offset, "facets"),
	FORGED(facet_of, "facet of triangles"), FORGED(no_facet_of, "facet of triangles"),
	FORGED(facet_triangle, "triangles of facets"), FORGED(crease, "creases"), FORGED(corner, "corners"),
	FORGED(number, "triangle numbers"), FORGED(last_number, "triangle numbers"), FORGED(skip, "binary tree"),
	FORGED(back_skip, "binary tree"), FORGED(second_child, "binary tree"), FORGED(binary_box, "binary tree"),
	FORGED(order, "binary tree"), FORGED(child, "tree"), FORGED(far_child, "tree"), FORGED(block_child, "tree"),
	FORGED(child_count, "tree"), FORGED(no_child, "tree"), FORGED(tree_box, "tree"), FORGED(block_first, "tree"),
	FORGED(block_size, "tree"), FORGED(block_count, "blocks"), FORGED(block_number, "blocks"), FORGED(block_padding, "blocks"),
	FORGED(across, "edges of blocks"), FORGED(across_below, "edges of blocks"), FORGED(place, "places"),
	FORGED(sample, "samples"), FORGED(sample_point, "samples"), FORGED(sample_exit, "samples"),
	FORGED(sample_child, "tree of samples"), FORGED(cell, "words of cells"), FORGED(word, "words of cells"),
	FORGED(touched, "touched cells"), FORGED(touched_triangle, "touched cells"), FORGED(touched_below, "touched cells"),
	FORGED(plane, "planes") };

static const forgery edge_forgeries[] = { FORGED(edge_normal, "normals") };

FORGE(hull_triangle, m->hull->triangles[0] = -1)
FORGE(hull_vertex, m->hull->hull.vertices[0].y = NAN)
FORGE(hull_normal, m->hull->hull.normals[0].y = INFINITY)
FORGE(hull_corner, m->hull->hull.corners[0] = m->hull->hull.vertex_count)
FORGE(hull_first, m->hull->hull.face_first[1] = 1 << 30)
FORGE(hull_neighbour, m->hull->hull.neighbours[0] = -1)
FORGE(hull_neighbour_first, m->hull->hull.neighbour_first[1] = 0)
static const forgery hull_forgeries[] = { FORGED(hull_triangle, "hull triangles"), FORGED(hull_vertex, "hull vertices"),
	FORGED(hull_normal, "hull normals"), FORGED(hull_corner, "hull corners"), FORGED(hull_first, "hull corners"),
	FORGED(hull_neighbour, "hull neighbours"), FORGED(hull_neighbour_first, "hull neighbours") };

static void check_forgeries(kind k, const forgery *list, size_t count)
{
	carom_context *context = fixture_context(1);
	const block b = bake_kind(context, k);
	uint8_t *sound = calloc(1, b.size);
	REQUIRE(sound);
	memcpy(sound, b.bytes, b.size);
	for (size_t i = 0; i < count; i++) {
		carom_mesh *mesh = NULL;
		memcpy(b.bytes, sound, b.size);
		REQUIRE(carom_mesh_load(context, b.bytes, b.size, false, &mesh) == CAROM_SUCCESS);
		list[i].change(mesh);
		carom_release_mesh(mesh);
		sign(&b);
		char expected[64];
		snprintf(expected, sizeof expected, "carom_mesh_load: %s: impossible", list[i].field);
		check_refused(context, b.bytes, b.size, expected);
	}
	free(sound);
	free_block(&b);
	carom_destroy_context(context);
}

TEST(baked, forged_indices_are_refused)
{
	check_forgeries(LUMPY, forgeries, sizeof forgeries / sizeof *forgeries);
	check_forgeries(THREE_AT_AN_EDGE, edge_forgeries, 1);
	check_forgeries(HULL, hull_forgeries, sizeof hull_forgeries / sizeof *hull_forgeries);
}

/// What a mesh is asked for in its life. Results may be anything.
static void use(carom_context *context, const carom_mesh *mesh)
{
	carom_world *world = fixture_world(context, NULL);
	for (int i = 0; i < 3; i++) {
		carom_body_def body = carom_default_body_def();
		carom_body_id id;
		body.shape = i == 2 ? fixture_box(0.3, 0.4, 0.5) : fixture_of_mesh(mesh);
		body.pose = fixture_at(0.4 * i, 0.1 * i, 0.2 * i);
		(void)carom_world_add_body(world, &body, &id);
	}
	for (int i = 0; i < 2; i++)
		(void)carom_world_step(world);
	carom_destroy_world(world);
	bool found, inside;
	int32_t count;
	carom_mesh_point point;
	carom_tree_info info;
	carom_mass mass;
	(void)carom_mesh_get_tree_info(mesh, true, &info);
	(void)carom_mesh_get_mass(mesh, &mass);
	(void)carom_mesh_contains(mesh, (carom_vec3){ 0.1, 0.2, 0.1 }, &inside);
	(void)carom_mesh_closest_point(mesh, (carom_vec3){ 1, 2, 3 }, INFINITY, &found, &point);
	(void)carom_mesh_self_intersections(mesh, 0, NULL, &count);
}

TEST(baked, forgeries_that_pass_do_no_harm)
{
	carom_context *context = fixture_context(1);
	const uint32_t values[] = { 0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff, 0x7f7fffff, 0x7fc00000, 0x40 };
	const kind kinds[] = { BOX, HULL };
	int accepted = 0, refused = 0;
	for (int i = 0; i < 2; i++) {
		const block b = bake_kind(context, kinds[i]);
		const size_t words = b.size / 4, stride = words / 1500 | 1;
		for (size_t word = HEAD / 4; word < words; word += stride) {
			uint32_t kept;
			memcpy(&kept, b.bytes + 4 * word, 4);
			memcpy(b.bytes + 4 * word, &values[word % 9], 4);
			sign(&b);
			carom_mesh *mesh = NULL;
			if (carom_mesh_load(context, b.bytes, b.size, true, &mesh) == CAROM_SUCCESS) {
				use(context, mesh);
				accepted++;
			} else {
				refused++;
			}
			carom_release_mesh(mesh);
			memcpy(b.bytes + 4 * word, &kept, 4);
		}
		free_block(&b);
	}
	CHECK(accepted > 100 && refused > 100);
	carom_destroy_context(context);
}

// ---- Misuse and memory ----

static bool give_up(const void *bytes, size_t count, void *user)
{
	(void)bytes;
	(void)count;
	(void)user;
	return false;
}

TEST(baked, misuse_is_named)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = make(context, BOX), *loaded = NULL;
	const block b = bake(mesh);
	CHECK_INT(carom_mesh_save(NULL, give_up, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_save(mesh, NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_save: write is NULL");
	CHECK_INT(carom_mesh_save(mesh, give_up, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_save: write gave up");
	CHECK_INT(carom_mesh_load(NULL, b.bytes, b.size, true, &loaded), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_mesh_load(context, b.bytes, b.size, true, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_load: mesh is NULL");
	CHECK_INT(carom_mesh_load(context, NULL, b.size, true, &loaded), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_load: bytes is NULL");
	CHECK_INT(carom_mesh_load(context, b.bytes + 8, b.size, false, &loaded), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_mesh_load: bytes is not aligned to 64, as it must be without copy");
	free_block(&b);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(baked, every_allocation_may_fail)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = make(context, LUMPY);
	const block b = bake(mesh);
	const long long held = heap.blocks;
	for (int copy = 0; copy < 2; copy++) {
		for (int n = 0; n <= copy; n++) {
			carom_mesh *loaded = NULL;
			heap.fail_at = heap.calls + n;
			CHECK_INT(carom_mesh_load(context, b.bytes, b.size, copy, &loaded), CAROM_OUT_OF_MEMORY);
			CHECK(!loaded && heap.blocks == held);
		}
	}
	block again = { 0 };
	heap.fail_at = heap.calls;
	CHECK_INT(carom_mesh_save(mesh, write_block, &again), CAROM_OUT_OF_MEMORY);
	CHECK(!again.bytes && heap.blocks == held);
	heap.fail_at = -1;
	carom_release_mesh(mesh);
	free_block(&b);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(baked, meshes_hold_no_more_than_is_baked_of_them)
{
	const kind kinds[] = { BOX, LUMPY, OPEN, DOUBLES };
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 4; i++) {
		carom_mesh *mesh = make(context, kinds[i]);
		const block b = bake(mesh);
		carom_tree_info info;
		REQUIRE(carom_mesh_get_tree_info(mesh, false, &info) == CAROM_SUCCESS);
		CHECK((size_t)info.bytes <= b.size + 1500); // the mesh itself
		free_block(&b);
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

TEST(baked, loading_allocates_the_block_the_mesh_and_its_table_alone)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const block b = bake_kind(context, LUMPY);
	carom_mesh *loaded = NULL;
	long long calls = heap.calls;
	REQUIRE(carom_mesh_load(context, b.bytes, b.size, true, &loaded) == CAROM_SUCCESS);
	CHECK_INT(heap.calls - calls, 3);
	carom_release_mesh(loaded);
	calls = heap.calls;
	REQUIRE(carom_mesh_load(context, b.bytes, b.size, false, &loaded) == CAROM_SUCCESS);
	CHECK_INT(heap.calls - calls, 2);
	carom_release_mesh(loaded);
	free_block(&b);
	carom_destroy_context(context);
}
