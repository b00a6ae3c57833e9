/// Two equal meshes at one pose, or nearly, or turned by a symmetry: all of the surface of each lies on the other's. What overlaps
/// has a contact, and where the mesh is concave the deepest one is a way out (src/contact/way_apart.c).
#include "fixture.h"
#include <math.h>
#include <stdio.h>

enum { MESHES = 5, OFFSETS = 8, POSES = 15 / TEST_FEWER };

static const double offsets[OFFSETS] = { 0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5 };

typedef struct equal_mesh {
	const char *name;
	carom_mesh *mesh;
	bool parts; // the deepest contact parts the two
} equal_mesh;

static void make_meshes(carom_context *context, equal_mesh m[MESHES])
{
	m[0] = (equal_mesh){ "cube", fixture_box_mesh(context, 0.5, 0.5, 0.5), true };
	m[1] = (equal_mesh){ "slab", fixture_box_mesh(context, 0.5, 0.3, 0.02), false };
	m[2] = (equal_mesh){ "sphere", fixture_sphere_mesh(context, 0.5, 12), true };
	m[3] = (equal_mesh){ "torus", fixture_torus_mesh(context, 40, 12, 0.4, 0), true };
	m[4] = (equal_mesh){ "lumpy torus", fixture_torus_mesh(context, 60, 20, 0.3, 0.5), true };
}

static void release_meshes(equal_mesh m[MESHES])
{
	for (int i = 0; i < MESHES; i++)
		carom_release_mesh(m[i].mesh);
}

static bool overlap(carom_context *context, const carom_shape *a, carom_pose pose_a, const carom_shape *b, carom_pose pose_b)
{
	bool both;
	REQUIRE(carom_overlap(context, a, &pose_a, b, &pose_b, &both) == CAROM_SUCCESS);
	return both;
}

/// The deepest contact of a pair that overlaps. It has one.
static carom_contact deepest(
	carom_context *context, const carom_shape *a, carom_pose pose_a, const carom_shape *b, carom_pose pose_b, const char *name)
{
	carom_contact c[64] = { { .depth = -1 } };
	int32_t count, best = 0;
	REQUIRE(carom_collide(context, a, &pose_a, b, &pose_b, 0, 64, c, &count) == CAROM_SUCCESS);
	if (!CHECK(count > 0))
		printf("%s: no contact\n", name);
	for (int k = 1; k < count; k++)
		best = c[k].depth > c[best].depth ? k : best;
	return c[best];
}

/// A pose of B: moved by a length, and turned by a quarter or a half turn about the mesh's axis where asked for.
static carom_pose beside(uint64_t *seed, carom_pose pose, double offset, int quarters)
{
	carom_pose turned = fixture_at(0, 0, 0);
	turned.orientation = fixture_turn((v3d){ 0, 0, 1 }, quarters * FIXTURE_PI / 2);
	pose = fixture_compose(pose, turned);
	const v3d away = v3d_normalize(
		(v3d){ test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), test_random_double(seed, 0.1, 1) });
	pose.position = v3d_mad(pose.position, offset, away);
	return pose;
}

TEST(equal_meshes, have_a_way_out)
{
	carom_context *context = fixture_context(1);
	equal_mesh m[MESHES];
	uint64_t seed = 41;
	make_meshes(context, m);
	for (int i = 0; i < MESHES * OFFSETS * POSES; i++) {
		const equal_mesh *e = &m[i % MESHES];
		const carom_shape shape = fixture_of_mesh(e->mesh);
		const int round = i / MESHES / OFFSETS;
		const carom_pose pose = round == 0 ? fixture_at(0, 0, 0) : fixture_random_pose(&seed, 2);
		const carom_pose other = beside(&seed, pose, offsets[i / MESHES % OFFSETS], round % 3);
		REQUIRE(overlap(context, &shape, pose, &shape, other));
		const carom_contact c = deepest(context, &shape, pose, &shape, other, e->name);
		carom_pose moved = pose;
		moved.position = v3d_mad(pose.position, (double)c.depth * (1 + 1e-5) + 1e-5, fixture_normal(&c));
		// The lumps of a torus that is turned mesh with the other's.
		if (e->parts && (i % MESHES != 4 || round % 3 == 0) && !CHECK(!overlap(context, &shape, moved, &shape, other)))
			printf("%s, off by %g: %g does not part them\n", e->name, offsets[i / MESHES % OFFSETS], (double)c.depth);
	}
	release_meshes(m);
	carom_destroy_context(context);
}

TEST(equal_meshes, mirrored_ones_have_contacts)
{
	carom_context *context = fixture_context(1);
	equal_mesh m[MESHES];
	uint64_t seed = 43;
	make_meshes(context, m);
	for (int i = 0; i < MESHES * 3; i++) {
		const double factors[3] = { i / MESHES == 0 ? -1 : 1, i / MESHES == 1 ? -1 : 1, i / MESHES == 2 ? -1 : 1 };
		carom_mesh *mirrored;
		REQUIRE(carom_create_scaled_mesh(context, m[i % MESHES].mesh, factors, &mirrored) == CAROM_SUCCESS);
		const carom_shape a = fixture_of_mesh(m[i % MESHES].mesh), b = fixture_of_mesh(mirrored);
		for (int k = 0; k < 4; k++) {
			const carom_pose pose = k == 0 ? fixture_at(0, 0, 0) : fixture_random_pose(&seed, 2);
			deepest(context, &a, pose, &b, pose, m[i % MESHES].name);
		}
		carom_release_mesh(mirrored);
	}
	release_meshes(m);
	carom_destroy_context(context);
}

/// Hash of the contacts of pairs at one pose, which are left where they are for some steps.
static carom_result run(carom_context *context, uint64_t *hash)
{
	equal_mesh m[MESHES];
	make_meshes(context, m);
	carom_world *world = NULL;
	carom_result result = carom_create_world(context, NULL, &world);
	for (int i = 0; i < 2 * MESHES && result == CAROM_SUCCESS; i++) {
		carom_body_def def = carom_default_body_def();
		carom_body_id id;
		def.shape = fixture_of_mesh(m[i / 2].mesh);
		def.pose = fixture_at(4 * (i / 2), 0, 0);
		result = carom_world_add_body(world, &def, &id);
	}
	for (int i = 0; i < (TEST_FEWER > 1 ? 2 : 3) && result == CAROM_SUCCESS; i++)
		result = carom_world_step(world);
	if (result == CAROM_SUCCESS) {
		*hash = carom_world_hash(world);
		CHECK_INT(carom_world_pairs(world).count, MESHES);
	}
	carom_destroy_world(world);
	release_meshes(m);
	return result;
}

TEST(equal_meshes, contacts_do_not_depend_on_threads)
{
	uint64_t hashes[2] = { 0, 1 };
	for (int i = 0; i < 2; i++) {
		carom_context *context = fixture_context(1 + 3 * i);
		REQUIRE(run(context, &hashes[i]) == CAROM_SUCCESS);
		carom_destroy_context(context);
	}
	CHECK(hashes[0] == hashes[1]);
}

static void add_two(carom_world *world, void *user)
{
	for (int i = 0; i < 2; i++)
		fixture_add(world, fixture_of_mesh(user), fixture_at(0, 0, 0), CAROM_DYNAMIC);
}

/// Of several pieces, which take memory of their own in the search.
TEST(equal_meshes, out_of_memory_is_an_error)
{
	static fixture_soup soup;
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sphere(&soup, (v3d){ 0, 0, 0 }, 0.5, 8);
	fixture_soup_sphere(&soup, (v3d){ 2, 0, 0 }, 0.5, 8);
	carom_mesh *mesh = fixture_mesh(context, &soup);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, add_two, mesh, 1) > 5);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
