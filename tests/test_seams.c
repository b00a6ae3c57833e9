/// Seams of parts of one body: the contacts of a floor of flush tiles beside those of one box; and contacts that look like those of seams,
/// and stay. What slides is in test_stacking.c.
#include "fixture.h"
#include "pool_fixture.h"
#include "tiles_fixture.h"
#include "world/world.h"

#include <math.h>

/// A body over a floor of parts, and over the same floor in one piece.
typedef struct twins {
	carom_world *parts, *whole;
	carom_body_id in_parts, in_whole;
} twins;

static twins make_twins(carom_context *context, const carom_part *parts, int32_t count, carom_shape whole,
	carom_pose whole_pose, carom_shape body, double ahead, bool body_first)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = ahead;
	twins t = { .parts = fixture_world(context, &def), .whole = fixture_world(context, &def) };
	for (int i = 0; i < 2; i++) {
		if ((i == 0) == body_first) {
			t.in_parts = fixture_add(t.parts, body, carom_pose_identity(), CAROM_DYNAMIC);
			t.in_whole = fixture_add(t.whole, body, carom_pose_identity(), CAROM_DYNAMIC);
		} else {
			tiles_add(t.parts, parts, count, CAROM_STATIC);
			fixture_add(t.whole, whole, whole_pose, CAROM_STATIC);
		}
	}
	return t;
}

static void free_twins(twins *t)
{
	carom_destroy_world(t->parts);
	carom_destroy_world(t->whole);
}

/// Put both bodies at a pose, but with their lowest point at a height.
static void put_twins(twins *t, carom_pose pose, double lowest)
{
	carom_aabb box;
	REQUIRE(carom_world_set_pose(t->whole, t->in_whole, &pose) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_aabb(t->whole, t->in_whole, &box) == CAROM_SUCCESS);
	pose.position.z += lowest - box.lower.z;
	REQUIRE(carom_world_set_pose(t->whole, t->in_whole, &pose) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_pose(t->parts, t->in_parts, &pose) == CAROM_SUCCESS);
	fixture_step(t->whole);
	fixture_step(t->parts);
}

static double deepest_of(const carom_world *world)
{
	const carom_contact_view c = carom_world_contacts(world);
	double deepest = -INFINITY;
	for (int i = 0; i < c.count; i++)
		deepest = fmax(deepest, c.data[i].depth);
	return deepest;
}

/// Contacts of the floor that do not point up, by more than 8 degrees.
static int count_sideways(const carom_world *world, bool body_first)
{
	const carom_contact_view c = carom_world_contacts(world);
	int count = 0;
	for (int i = 0; i < c.count; i++)
		count += (body_first ? c.data[i].normal[2] : -c.data[i].normal[2]) < 0.99;
	return count;
}

/// How bodies are put on the floor: nearly upright or in any way, so deep at most (below 0: above it), with contacts ahead of so much.
typedef struct manner {
	bool upright;
	double from, to;
	double ahead;
} manner;

/// Random poses on a floor of tiles: contacts exactly where those of one box are, which point up; and moving by the deepest one takes the
/// body out of the whole floor. Of bodies in any way a few are led out step by step: a corner that is deep in a seam.
static void check_floor(carom_context *context, tile_kind kind, int slider, const manner *m, bool body_first)
{
	enum { ROUNDS = 60 };
	carom_part parts[TILES];
	carom_mesh *mesh, *moving;
	tiles_lay(tiles_make_tile(context, kind, &mesh), 0, parts);
	const carom_shape body = tiles_make_slider(context, slider, &moving);
	twins t = make_twins(context, parts, TILES, fixture_box(3, 1.2, 0.1), fixture_at(0, 0, -0.1), body, m->ahead, body_first);
	uint64_t seed = 17;
	int shallow = 0;
	for (int i = 0; i < ROUNDS; i++) {
		carom_pose pose = fixture_random_pose(&seed, 0.5);
		if (m->upright)
			pose.orientation =
				fixture_turn((v3d){ test_random_double(&seed, -0.02, 0.02), test_random_double(&seed, -0.02, 0.02), 1 }, 6 * i);
		put_twins(&t, pose, -test_random_double(&seed, m->from, m->to));
		const int count = carom_world_contacts(t.parts).count;
		CHECK((count > 0) == (carom_world_contacts(t.whole).count > 0));
		CHECK_INT(count_sideways(t.parts, body_first), 0);
		const double deepest = deepest_of(t.parts), expected = deepest_of(t.whole);
		CHECK(count == 0 || deepest < expected + 1e-4);
		shallow += count > 0 && deepest < expected - 0.001;
	}
	CHECK(shallow <= (m->upright ? 0 : ROUNDS / 15));
	free_twins(&t);
	carom_release_mesh(mesh);
	carom_release_mesh(moving);
}

TEST(seams, floors_of_tiles_have_the_contacts_of_one)
{
	static const manner manners[] = { { true, 0.0001, 0.002, 0 }, { false, 0.0001, 0.002, 0 }, { true, 0.0001, 0.02, 0 },
		{ false, 0.0001, 0.02, 0 }, { true, -0.02, 0.002, 0.05 } };
	carom_context *context = fixture_context(1);
	for (int kind = 0; kind < TILE_SHEET; kind++) {
		for (int slider = 0; slider < SLIDERS; slider++) {
			if (kind == TILE_HULL && slider >= 4)
				continue; // a hull and a mesh that stands over its edge have contacts deep through its end
			for (int i = 0; i < 5; i++)
				check_floor(context, (tile_kind)kind, slider, &manners[i], (i + slider) % 2);
		}
	}
	carom_destroy_context(context);
}

/// A square of two triangular prisms: the corners at the ends of the seam belong to both, and are bare.
TEST(seams, corners_between_parts_are_met)
{
	static const float first[18] = { -1, -1, -0.5F, 1, -1, -0.5F, 1, 1, -0.5F, -1, -1, 0.5F, 1, -1, 0.5F, 1, 1, 0.5F };
	static const float second[18] = { -1, -1, -0.5F, 1, 1, -0.5F, -1, 1, -0.5F, -1, -1, 0.5F, 1, 1, 0.5F, -1, 1, 0.5F };
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[2] = { fixture_hull_mesh(context, first, 6), fixture_hull_mesh(context, second, 6) };
	const carom_part parts[2] = { { fixture_hull(meshes[0]), carom_pose_identity(), 0 },
		{ fixture_hull(meshes[1]), carom_pose_identity(), 0 } };
	for (int slider = 0; slider < SLIDERS; slider++) {
		carom_mesh *moving;
		const carom_shape body = tiles_make_slider(context, slider, &moving);
		for (int ahead = 0; ahead < 2; ahead++) {
			twins t = make_twins(
				context, parts, 2, fixture_box(1, 1, 0.5), carom_pose_identity(), body, ahead ? 0.05 : 0, slider % 2);
			uint64_t seed = 3;
			for (int i = 0; i < 40; i++) {
				// Along the diagonal, so that the corner or an edge through it goes first.
				const double along = test_random_double(&seed, 1, 1.09);
				carom_pose pose = { { along, along, test_random_double(&seed, -0.3, 0.3) },
					fixture_turn((v3d){ 0, 0, 1 }, 0.3 * i) };
				pose.position.x = i % 2 ? pose.position.x : -pose.position.x;
				pose.position.y = i % 2 ? pose.position.y : -pose.position.y;
				put_twins(&t, pose, pose.position.z);
				CHECK((carom_world_contacts(t.parts).count > 0) == (carom_world_contacts(t.whole).count > 0));
			}
			free_twins(&t);
		}
		carom_release_mesh(moving);
	}
	for (int i = 0; i < 2; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
}

/// A wall that stands on a tile, or beside it: its foot is the only place that a wedge touches.
TEST(seams, the_foot_of_a_wall_is_not_covered)
{
	static const float wedge[18] = { 0, -0.2F, 0, 0, 0.2F, 0, -0.5F, -0.2F, 0, -0.5F, 0.2F, 0, -0.5F, -0.2F, 0.4F, -0.5F, 0.2F,
		0.4F };
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_hull_mesh(context, wedge, 6), *tile;
	for (int kind = 0; kind < TILE_SHEET; kind++) {
		for (int beside = 0; beside < 2; beside++) {
			carom_part parts[TILES + 1];
			tiles_lay(tiles_make_tile(context, (tile_kind)kind, &tile), 0, parts);
			parts[TILES] = (carom_part){ fixture_box(0.5, 1, 1), fixture_at(0.5, 0, beside ? 0.8 : 1), 0 };
			carom_world_def def = carom_default_world_def();
			def.speculative_distance = 0.05;
			carom_world *world = fixture_world(context, &def);
			tiles_add(world, parts, TILES + 1, CAROM_STATIC);
			const carom_body_id id = fixture_add(world, fixture_hull(mesh), carom_pose_identity(), CAROM_DYNAMIC);
			for (int i = 0; i < 20; i++) {
				const carom_pose pose = fixture_at(-0.03 + 0.002 * i, 0.1, -0.0005);
				REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
				fixture_step(world);
				const carom_contact_view c = carom_world_contacts(world);
				int walls = 0;
				for (int k = 0; k < c.count; k++)
					walls += c.data[k].shape_a == TILES && c.data[k].normal[0] > 0.99;
				CHECK(walls > 0);
			}
			carom_destroy_world(world);
			carom_release_mesh(tile);
		}
	}
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

/// A raft of two flush boxes over the edge of a box: where the moving body has the seam.
TEST(seams, of_bodies_that_move)
{
	carom_context *context = fixture_context(1);
	const carom_part raft[2] = { { fixture_box(0.5, 0.5, 0.1), fixture_at(-0.5, 0, 0), 0 },
		{ fixture_box(0.5, 0.5, 0.1), fixture_at(0.5, 0, 0), 0 } };
	for (int first = 0; first < 2; first++) {
		for (int i = 0; i < 21; i++) {
			carom_world_def def = carom_default_world_def();
			def.speculative_distance = i % 2 ? 0.05 : 0;
			carom_world *world = fixture_world(context, &def);
			const carom_pose pose = fixture_at(0.3001 - 0.0001 * i, 0, 0.0995);
			carom_body_id id = { 0 };
			if (first)
				id = tiles_add(world, raft, 2, CAROM_DYNAMIC);
			// Its edge is at x = 0.3, where the seam comes to rest.
			fixture_add(world, fixture_box(0.5, 2, 0.1), fixture_at(-0.2, 0, -0.1), CAROM_STATIC);
			if (!first)
				id = tiles_add(world, raft, 2, CAROM_DYNAMIC);
			REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
			fixture_step(world);
			CHECK(carom_world_contacts(world).count >= 4);
			CHECK_INT(count_sideways(world, first), 0);
			carom_destroy_world(world);
		}
	}
	carom_destroy_context(context);
}

/// What rests has the same contacts in each step; and without the neighbour the side of a tile is met.
TEST(seams, other_parts_bare_a_side)
{
	carom_context *context = fixture_context(1);
	for (int kind = 0; kind < TILE_SHEET; kind++) {
		for (int slider = 0; slider < SLIDERS; slider++) {
			carom_mesh *mesh, *moving;
			carom_part parts[2];
			const carom_shape tile = tiles_make_tile(context, (tile_kind)kind, &mesh);
			parts[0] = (carom_part){ tile, fixture_at(0.3, 0, -0.1), 0 };
			parts[1] = (carom_part){ tile, fixture_at(-0.3, 0, -0.1), 0 };
			carom_world *world = fixture_world(context, NULL);
			const carom_body_id floor = tiles_add(world, parts, 2, CAROM_STATIC);
			const double x = slider == 3 ? -0.03 : -0.0995; // the tile on the right is met by half a millimetre, or nearly so
			fixture_add(world, tiles_make_slider(context, slider, &moving), fixture_at(x, 0, 0.098), CAROM_DYNAMIC);
			fixture_step(world);
			const uint64_t hash = carom_world_hash(world);
			CHECK(carom_world_contacts(world).count > 0);
			CHECK_INT(count_sideways(world, false), 0);
			for (int i = 0; i < 3; i++) {
				fixture_step(world);
				CHECK(carom_world_hash(world) == hash);
			}
			CHECK_INT(carom_world_contacts(world).data[0].age, 3);
			REQUIRE(carom_world_set_parts(world, floor, parts, 1) == CAROM_SUCCESS);
			fixture_step(world);
			CHECK(slider == 3 || (carom_world_contacts(world).count > 0 && count_sideways(world, false) > 0));
			carom_destroy_world(world);
			carom_release_mesh(mesh);
			carom_release_mesh(moving);
		}
	}
	carom_destroy_context(context);
}

/// Many bodies in a world of tiles: enough rows for lists by boxes, and for several threads.
static uint64_t hash_of_many(int threads)
{
	enum { MANY = 120 };
	carom_context *context = fixture_context(threads);
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = 0.01;
	carom_world *world = fixture_world(context, &def);
	carom_mesh *mesh, *moving[SLIDERS];
	carom_shape sliders[SLIDERS];
	carom_part parts[TILES];
	tiles_lay(tiles_make_tile(context, TILE_MESH, &mesh), 0, parts);
	tiles_add(world, parts, TILES, CAROM_STATIC);
	tiles_lay(fixture_box(0.3, 0.6, 0.1), 0, parts);
	for (int i = 0; i < TILES; i++)
		parts[i].pose.position.z = 0.4;
	tiles_add(world, parts, TILES, CAROM_DYNAMIC);
	uint64_t seed = 5, hash = 0;
	for (int i = 0; i < SLIDERS; i++)
		sliders[i] = tiles_make_slider(context, i, &moving[i]);
	for (int i = 0; i < MANY; i++) {
		const carom_pose pose = fixture_random_pose(&seed, 1);
		fixture_add(world, sliders[i % SLIDERS],
			(carom_pose){ { 2 * pose.position.x, pose.position.y, 0.1 + 0.02 * pose.position.z }, pose.orientation },
			CAROM_DYNAMIC);
	}
	// A plate over all tiles.
	fixture_add(world, fixture_box(3, 1.2, 0.1), fixture_at(0.001, 0, 0.5995), CAROM_DYNAMIC);
	for (int i = 0; i < 3; i++) {
		fixture_step(world);
		fixture_check_views(world);
		hash = hash * 31 + carom_world_hash(world);
	}
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	for (int i = 0; i < SLIDERS; i++)
		carom_release_mesh(moving[i]);
	carom_destroy_context(context);
	return hash;
}

TEST(seams, any_number_of_threads_gives_the_same)
{
	const uint64_t hash = hash_of_many(1);
	pool_require_threads();
	CHECK(hash_of_many(4) == hash);
}

/// Wherever memory runs out in a step, the next one has the contacts of a world in which it did not.
TEST(seams, failing_allocations_lose_nothing)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_part parts[TILES];
	carom_mesh *mesh, *moving;
	tiles_lay(tiles_make_tile(context, TILE_MESH, &mesh), 0, parts);
	const carom_shape body = tiles_make_slider(context, 4, &moving);
	uint64_t hash = 0;
	int failed = 0;
	carom_result result = CAROM_OUT_OF_MEMORY;
	for (int fail = -1; result != CAROM_SUCCESS; fail++) {
		carom_world *world = fixture_world(context, NULL);
		tiles_add(world, parts, TILES, CAROM_STATIC);
		for (int i = 0; i < 4; i++)
			fixture_add(world, body, fixture_at(0.6 * i - 0.0995, 0.0995, 0.098), CAROM_DYNAMIC);
		heap.fail_at = fail < 0 ? -1 : heap.calls + fail;
		result = carom_world_step(world);
		heap.fail_at = -1;
		if (fail < 0) {
			hash = carom_world_hash(world);
			result = CAROM_OUT_OF_MEMORY;
		} else {
			failed += result != CAROM_SUCCESS;
			fixture_step(world);
			CHECK(carom_world_hash(world) == hash);
		}
		carom_destroy_world(world);
	}
	CHECK(failed > 10);
	carom_release_mesh(mesh);
	carom_release_mesh(moving);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
