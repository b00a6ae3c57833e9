// Deforming bodies in a world: their impacts, with each other and with rigid bodies; what queries see of them; and that nothing is lost.
#include "carom/carom.h"
#include "fixture.h"
#include "math/transform.h"
#include "sweep/sweep_state.h"
#include "sweep_fixture.h"
#include "test.h"
#include "world/world.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// ---- A world beside the places that its bodies should have ----

typedef struct impact_scene {
	carom_context *context;
	carom_world *world;
	sweep_world places; // by body number, as the dull search wants them
	carom_mesh *meshes[SWEEP_MOST_MESHES];
	carom_body_id ids[SWEEP_MOST_MESHES];
	carom_pose poses[SWEEP_MOST_MESHES]; // of rigid bodies
} impact_scene;

static carom_strided doubles(const double *places) { return (carom_strided){ places, 0, CAROM_FLOAT64 }; }

static void open_scene(impact_scene *s, carom_context *context, const carom_world_def *def)
{
	*s = (impact_scene){ .context = context };
	s->world = fixture_world(context, def);
}

static void close_scene(impact_scene *s)
{
	carom_destroy_world(s->world);
	for (int i = 0; i < s->places.count; i++)
		carom_release_mesh(s->meshes[i]);
	sweep_free_world(&s->places);
}

/// A mesh over the places at the beginning; the places become those floats, the triangles those of the mesh (it may turn them).
static carom_mesh *make_mesh(carom_context *context, sweep_mesh *from)
{
	const int64_t numbers = 3 * (int64_t)from->vertex_count;
	float *vertices = malloc((size_t)(numbers + 1) * sizeof *vertices);
	REQUIRE(vertices != NULL);
	for (int64_t i = 0; i < numbers; i++) {
		vertices[i] = (float)from->begin[i];
		from->begin[i] = from->end[i] = vertices[i];
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = from->vertex_count;
	def.triangles = from->triangles;
	def.triangle_count = from->triangle_count;
	def.grid_resolution = 0; // nothing here needs it, and most of the time would go there
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	memcpy(from->triangles, carom_mesh_get_triangles(mesh), 3 * (size_t)from->triangle_count * sizeof *from->triangles);
	free(vertices);
	return mesh;
}

static void put_rigid(const carom_mesh *mesh, carom_pose pose, int32_t count, double *places)
{
	const m3d rotation = m3d_from_quat(pose.orientation);
	for (int32_t i = 0; i < count; i++) {
		const v3d p = v3d_add(m3d_mul(&rotation, v3d_from_floats(&carom_mesh_get_vertices(mesh)[3 * i])), pose.position);
		memcpy(&places[3 * i], &p, 3 * sizeof *places);
	}
}

/// The mesh added last to the places as a body.
static carom_body_id add_body(impact_scene *s, carom_body_kind kind)
{
	const int i = s->places.count - 1;
	sweep_mesh *mesh = &s->places.meshes[i];
	s->meshes[i] = make_mesh(s->context, mesh);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_of_mesh(s->meshes[i]);
	def.kind = kind;
	def.category = mesh->category;
	def.mask = mesh->mask;
	def.group = mesh->group;
	def.self_collision = mesh->self;
	mesh->is_rigid = kind != CAROM_DEFORMABLE && kind != CAROM_CLOTH;
	REQUIRE(carom_world_add_body(s->world, &def, &s->ids[i]) == CAROM_SUCCESS);
	CHECK_INT(s->ids[i].index1, i + 1);
	s->poses[i] = carom_pose_identity();
	return s->ids[i];
}

/// Every body moves, rigid ones without a turn: test_arcs.c turns them.
static void move_scene(impact_scene *s, double drift, double shake, uint64_t *random)
{
	sweep_move(&s->places, drift, shake, random);
	for (int i = 0; i < s->places.count; i++) {
		sweep_mesh *mesh = &s->places.meshes[i];
		if (!mesh->is_rigid)
			continue;
		carom_pose next = fixture_random_pose(random, drift);
		next.orientation = s->poses[i].orientation;
		if (test_random(random) % 4 == 0)
			next = s->poses[i];
		put_rigid(s->meshes[i], s->poses[i], mesh->vertex_count, mesh->begin);
		REQUIRE(carom_world_set_pose(s->world, s->ids[i], &next) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_pose(s->world, s->ids[i], &s->poses[i]) == CAROM_SUCCESS);
		put_rigid(s->meshes[i], s->poses[i], mesh->vertex_count, mesh->end);
	}
}

static void tell_scene(impact_scene *s)
{
	for (int i = 0; i < s->places.count; i++) {
		const carom_strided end = doubles(s->places.meshes[i].end);
		if (!s->places.meshes[i].is_rigid)
			REQUIRE(carom_world_set_vertices(s->world, s->ids[i], NULL, &end) == CAROM_SUCCESS);
	}
}

static carom_sweep_hit hit_of(const carom_impact *impact)
{
	carom_sweep_hit hit = { .kind = impact->kind,
		.status = impact->status,
		.mesh_a = (int32_t)impact->body_a.index1 - 1,
		.mesh_b = (int32_t)impact->body_b.index1 - 1,
		.triangle = impact->triangle,
		.time = impact->time };
	memcpy(hit.vertices, impact->vertices, sizeof hit.vertices);
	memcpy(hit.weight, impact->weight, sizeof hit.weight);
	memcpy(hit.normal, impact->normal, sizeof hit.normal);
	return hit;
}

/// The impacts of the last step are those that trying every pair of features finds, and the earliest is the first of these.
static int64_t check_impacts(const impact_scene *s, const carom_sweep_def *def, const char *what)
{
	const carom_impact_view view = carom_world_impacts(s->world);
	carom_sweep_hit *hits = malloc((size_t)(view.count + 1) * sizeof *hits);
	REQUIRE(hits != NULL);
	const carom_impact *earliest = NULL;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_impact *impact = &view.data[i];
		hits[i] = hit_of(impact);
		CHECK(fixture_same_id(impact->body_a, s->ids[impact->body_a.index1 - 1]));
		CHECK(fixture_same_id(impact->body_b, s->ids[impact->body_b.index1 - 1]));
		if (!earliest || impact->time < earliest->time)
			earliest = impact;
	}
	sweep_list expected = sweep_find_dully(&s->places, def);
	sweep_check_same(hits, view.count, &expected, what);
	CHECK(carom_world_earliest_impact(s->world) == earliest);
	CHECK_INT(carom_world_stats(s->world).impacts, view.count);
	const carom_sweep_stats stats = carom_world_sweep_stats(s->world);
	CHECK_INT(stats.hits_vf + stats.hits_ee, view.count);
	sweep_free_list(&expected);
	free(hits);
	return view.count;
}

/// Two to five random bodies, one of them at least deforming.
static void add_random_bodies(impact_scene *s, uint64_t *random)
{
	const int count = 2 + (int)(test_random(random) % 4);
	for (int i = 0; i < count; i++) {
		sweep_mesh *mesh = sweep_add_random(&s->places, random);
		mesh->self = test_random(random) % 4 != 0;
		if (test_random(random) % 4 == 0) {
			mesh->category = 1 + test_random(random) % 3;
			mesh->mask = test_random(random) % 4;
			mesh->group = (int32_t)(test_random(random) % 3) - 1;
		}
		sweep_shift(mesh, test_random_double(random, -1, 1), test_random_double(random, -1, 1), 0.25 * i);
		static const carom_body_kind kinds[6] = { CAROM_CLOTH, CAROM_CLOTH, CAROM_CLOTH, CAROM_STATIC, CAROM_KINEMATIC,
			CAROM_DYNAMIC };
		add_body(s, i == 0 ? CAROM_CLOTH : kinds[test_random(random) % 6]);
	}
}

// ---- Impacts ----

TEST(impacts, equal_trying_every_pair)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	uint64_t random = 1;
	int64_t total = 0, with_rigid = 0;
	for (int round = 0; round < 40 / TEST_FEWER && test_failures() == 0; round++) {
		carom_world_def def = carom_default_world_def();
		def.sweep.lab = carom_lab_sweep();
		def.sweep.method = (carom_sweep_method)(round % 5);
		def.sweep.min_separation = round % 3 == 0 ? 0.05 : 0;
		impact_scene s;
		open_scene(&s, context, &def);
		add_random_bodies(&s, &random);
		for (int step = 0; step < 4; step++) {
			move_scene(&s, 0.3, step % 2 ? 0.3 : 0.05, &random);
			tell_scene(&s);
			fixture_step(s.world);
			total += check_impacts(&s, &def.sweep, "impacts");
			const carom_impact_view view = carom_world_impacts(s.world);
			for (int64_t i = 0; i < view.count; i++)
				with_rigid += s.places.meshes[view.data[i].body_a.index1 - 1].is_rigid ||
					s.places.meshes[view.data[i].body_b.index1 - 1].is_rigid;
		}
		close_scene(&s);
	}
	CHECK(total > 10000 / TEST_FEWER);
	CHECK(with_rigid > 1000 / TEST_FEWER);
	carom_destroy_context(context);
}

/// A torus, a sheet and a turning box, too large to try every pair: a sweep of the same meshes finds the same, and does as much for it,
/// so its front lives from step to step.
TEST(impacts, equal_a_sweep_of_the_same_meshes)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	const carom_world_def def = carom_default_world_def();
	uint64_t random = 2;
	impact_scene s;
	open_scene(&s, context, &def);
	sweep_add_sheet(&s.places, 50, 50, 4);
	add_body(&s, CAROM_CLOTH);
	sweep_shift(sweep_add_torus(&s.places, 60, 30), 0, 0, 0.3);
	add_body(&s, CAROM_DEFORMABLE);
	sweep_add_box(&s.places);
	add_body(&s, CAROM_KINEMATIC);
	carom_sweep *sweep = sweep_load(context, &def.sweep, &s.places);
	int64_t kept = 0;
	for (int step = 0; step < 6; step++) {
		move_scene(&s, 0.02, 0.02, &random);
		tell_scene(&s);
		sweep_tell(sweep, &s.places);
		carom_sweep_hits hits;
		REQUIRE(carom_sweep_find(sweep, &hits) == CAROM_SUCCESS);
		fixture_step(s.world);
		const carom_impact_view view = carom_world_impacts(s.world);
		CHECK(view.count > 1000);
		REQUIRE(CHECK_INT(view.count, hits.count));
		for (int64_t i = 0; i < view.count; i++) {
			const carom_sweep_hit hit = hit_of(&view.data[i]);
			if (!CHECK(sweep_is_same_hit(&hit, &hits.data[i])))
				break;
		}
		const carom_sweep_stats of_world = carom_world_sweep_stats(s.world), of_sweep = carom_sweep_get_stats(sweep);
		CHECK_INT(of_world.volume_tests, of_sweep.volume_tests);
		CHECK_INT(of_world.front, of_sweep.front);
		kept += of_world.front_kept;
		CHECK(carom_world_stats(s.world).ms_sweep > 0);
		CHECK(carom_world_stats(s.world).memory > of_world.bytes); // the world pays for its sweep
	}
	CHECK(kept > 100000);
	carom_destroy_sweep(sweep);
	close_scene(&s);
	carom_destroy_context(context);
}

/// Two sheets that cross in the step, as bodies of two kinds.
static void open_crossing(impact_scene *s, carom_context *context, const carom_world_def *def, carom_body_kind first)
{
	open_scene(s, context, def);
	for (int i = 0; i < 2; i++) {
		sweep_mesh *mesh = sweep_add_sheet(&s->places, 9, 9, 2 + 0.1 * i);
		sweep_shift(mesh, 0, 0, 0.5 * i);
		add_body(s, i == 0 ? first : CAROM_CLOTH);
	}
}

/// The second sheet goes through the first one, or comes back; the first one rests.
static int64_t cross(impact_scene *s)
{
	sweep_mesh *mesh = &s->places.meshes[1];
	memcpy(mesh->begin, mesh->end, 3 * (size_t)mesh->vertex_count * sizeof *mesh->begin);
	for (int32_t v = 0; v < mesh->vertex_count; v++)
		mesh->end[3 * v + 2] = mesh->begin[2] > 0 ? -0.5 : 0.5;
	const carom_strided end = doubles(mesh->end);
	REQUIRE(carom_world_set_vertices(s->world, s->ids[1], NULL, &end) == CAROM_SUCCESS);
	fixture_step(s->world);
	return carom_world_impacts(s->world).count;
}

typedef struct filter_note {
	bool verdict;
	atomic_int calls;
} filter_note;

static bool note_pair(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	filter_note *note = user;
	CHECK_INT(a.index1, 1);
	CHECK_INT(b.index1, 2);
	CHECK_INT(user_data_a, 11);
	CHECK_INT(user_data_b, 22);
	atomic_fetch_add(&note->calls, 1);
	return note->verdict;
}

TEST(impacts, filters_hold)
{
	static const struct {
		uint64_t category[2], mask[2];
		int32_t group[2];
		bool meet;
	} cases[] = {
		{ { 1, 1 }, { UINT64_MAX, UINT64_MAX }, { 0, 0 }, true },
		{ { 1, 2 }, { 2, 2 }, { 0, 0 }, false }, // the second wants no first
		{ { 1, 2 }, { 1, 1 }, { 0, 0 }, false },
		{ { 1, 2 }, { 0, 0 }, { 3, 3 }, true },
		{ { 1, 1 }, { 1, 1 }, { -3, -3 }, false },
		{ { 1, 1 }, { 1, 1 }, { -3, -2 }, true },
	};
	static const carom_body_kind kinds[4] = { CAROM_CLOTH, CAROM_STATIC, CAROM_KINEMATIC, CAROM_DYNAMIC };
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	for (int kind = 0; kind < 4; kind++) {
		impact_scene s;
		filter_note note = { .verdict = true };
		carom_world_def def = carom_default_world_def();
		def.pair_filter = note_pair;
		def.filter_user = &note;
		open_crossing(&s, context, &def, kinds[kind]);
		REQUIRE(carom_world_set_user_data(s.world, s.ids[0], 11) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_user_data(s.world, s.ids[1], 22) == CAROM_SUCCESS);
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
			for (int m = 0; m < 2; m++) {
				sweep_mesh *mesh = &s.places.meshes[m];
				mesh->category = cases[i].category[m];
				mesh->mask = cases[i].mask[m];
				mesh->group = cases[i].group[m];
				REQUIRE(carom_world_set_filter(s.world, s.ids[m], mesh->category, mesh->mask, mesh->group) == CAROM_SUCCESS);
			}
			atomic_store(&note.calls, 0);
			CHECK_INT(cross(&s) > 100, cases[i].meet);
			CHECK_INT(atomic_load(&note.calls) > 0, cases[i].meet);
			if (kind == 0 || TEST_FEWER == 1)
				check_impacts(&s, &def.sweep, "filters");
			// A rigid body that no deforming one lets pass is left out.
			CHECK_INT(carom_world_sweep_stats(s.world).triangles, cases[i].meet || kind == 0 ? 256 : 128);
		}
		note.verdict = false;
		REQUIRE(carom_world_set_filter(s.world, s.ids[0], 1, UINT64_MAX, 0) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_filter(s.world, s.ids[1], 1, UINT64_MAX, 0) == CAROM_SUCCESS);
		CHECK_INT(cross(&s), 0);
		CHECK_INT(carom_world_sweep_stats(s.world).leaf_pairs, 0);
		note.verdict = true;
		CHECK(cross(&s) > 100);
		close_scene(&s);
	}
	carom_destroy_context(context);
}

/// A rigid body takes part as long as one of several deforming ones lets it pass, whatever its number.
TEST(impacts, one_that_passes_is_enough)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	impact_scene s;
	open_crossing(&s, context, NULL, CAROM_STATIC); // 128 triangles each
	sweep_shift(sweep_add_sheet(&s.places, 3, 3, 1), 0, 0, 5);
	const carom_body_id late = add_body(&s, CAROM_CLOTH); // 8
	static const struct {
		uint64_t mask[2]; // of the two cloths; the rigid body is of category 1
		int32_t triangles;
	} cases[] = { { { 1, 1 }, 264 }, { { 2, 1 }, 264 }, { { 1, 2 }, 264 }, { { 2, 2 }, 136 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		REQUIRE(carom_world_set_filter(s.world, s.ids[1], 1, cases[i].mask[0], 0) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_filter(s.world, late, 1, cases[i].mask[1], 0) == CAROM_SUCCESS);
		CHECK_INT(cross(&s) > 100, cases[i].mask[0] == 1);
		CHECK_INT(carom_world_sweep_stats(s.world).triangles, cases[i].triangles);
	}
	REQUIRE(carom_world_set_filter(s.world, late, 1, 1, 0) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(s.world, late) == CAROM_SUCCESS);
	CHECK_INT(cross(&s), 0);
	CHECK_INT(carom_world_sweep_stats(s.world).triangles, 128);
	close_scene(&s);
	carom_destroy_context(context);
}

/// What the other machinery of the world makes of deforming bodies, and the sweep of what does not belong to it: nothing.
TEST(impacts, who_takes_no_part)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	const carom_world_def def = carom_default_world_def();
	impact_scene s;
	open_crossing(&s, context, &def, CAROM_STATIC);
	carom_body_def body = carom_default_body_def();
	body.sensor = true;
	body.shape = fixture_of_mesh(s.meshes[0]);
	carom_body_id id, solid;
	REQUIRE(carom_world_add_body(s.world, &body, &id) == CAROM_SUCCESS);
	fixture_add(s.world, fixture_sphere(0.3), fixture_at(0, 0, 0.5), CAROM_DYNAMIC);
	fixture_add(s.world, fixture_box(0.3, 0.3, 0.3), fixture_at(0.5, 0, 0.5), CAROM_DYNAMIC);
	carom_mesh *sphere = fixture_sphere_mesh(context, 0.4, 8);
	body.sensor = false;
	body.shape = fixture_of_mesh(sphere);
	body.pose = fixture_at(0, 0.8, 0.5);
	REQUIRE(carom_world_add_body(s.world, &body, &solid) == CAROM_SUCCESS);
	CHECK(cross(&s) > 100);
	CHECK_INT(carom_world_sweep_stats(s.world).triangles, 256 + carom_mesh_get_report(sphere)->triangle_count);
	int64_t with_solid = 0;
	const carom_impact_view view = carom_world_impacts(s.world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_body_id of[2] = { view.data[i].body_a, view.data[i].body_b };
		for (int k = 0; k < 2; k++) {
			with_solid += fixture_same_id(of[k], solid);
			CHECK(fixture_same_id(of[k], solid) || of[k].index1 <= 2);
		}
	}
	CHECK(with_solid > 0);
	// Contacts are those of the same world without the cloth: of the rigid bodies with each other.
	const carom_contact_view contacts = carom_world_contacts(s.world);
	CHECK(contacts.count > 0);
	for (int32_t i = 0; i < contacts.count; i++)
		CHECK(contacts.data[i].body_a.index1 != 2 && contacts.data[i].body_b.index1 != 2);
	const carom_event_view events = carom_world_events(s.world);
	for (int32_t i = 0; i < events.count; i++)
		CHECK(events.data[i].body_a.index1 != 2 && events.data[i].body_b.index1 != 2);
	fixture_check_views(s.world);
	carom_release_mesh(sphere);
	close_scene(&s);
	carom_destroy_context(context);
}

TEST(impacts, bodies_come_and_go)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	const carom_world_def def = carom_default_world_def();
	uint64_t random = 7;
	impact_scene s;
	open_crossing(&s, context, &def, CAROM_DYNAMIC);
	const uint64_t nothing = carom_world_hash(s.world);
	CHECK_INT(carom_world_impacts(s.world).count, 0);
	CHECK(carom_world_earliest_impact(s.world) == NULL);
	CHECK(cross(&s) > 100);
	CHECK(carom_world_hash(s.world) != nothing);
	const carom_body_id gone = s.ids[1];
	for (int round = 0; round < (TEST_FEWER > 1 ? 2 : 6); round++) {
		// A third one comes, moves, and goes; its number is used again.
		sweep_mesh *mesh = sweep_add_torus(&s.places, 8, 6);
		sweep_shift(mesh, 0.1 * round, 0, round % 2 ? s.places.meshes[1].end[2] : 0.2);
		add_body(&s, round % 2 ? CAROM_STATIC : CAROM_DEFORMABLE);
		CHECK_INT(s.ids[2].generation, round + 1);
		for (int step = 0; step < 2; step++) {
			move_scene(&s, 0.2, 0.1, &random);
			tell_scene(&s);
			fixture_step(s.world);
			CHECK(check_impacts(&s, &def.sweep, "with a third body") > 0);
		}
		REQUIRE(carom_world_remove_body(s.world, s.ids[2]) == CAROM_SUCCESS);
		carom_release_mesh(s.meshes[2]);
		free(mesh->triangles);
		free(mesh->begin);
		free(mesh->end);
		s.places.count--;
		// Views name the removed one until the next step.
		bool named = false;
		const carom_impact_view view = carom_world_impacts(s.world);
		for (int64_t i = 0; i < view.count; i++)
			named |= fixture_same_id(view.data[i].body_a, s.ids[2]) || fixture_same_id(view.data[i].body_b, s.ids[2]);
		CHECK(named);
		move_scene(&s, 0.2, 0.1, &random);
		tell_scene(&s);
		fixture_step(s.world);
		check_impacts(&s, &def.sweep, "without it");
	}
	// Without deforming bodies there is no sweep, and its memory is gone.
	const size_t before = carom_world_stats(s.world).memory;
	REQUIRE(carom_world_remove_body(s.world, gone) == CAROM_SUCCESS);
	fixture_step(s.world);
	CHECK_INT(carom_world_impacts(s.world).count, 0);
	CHECK(carom_world_earliest_impact(s.world) == NULL);
	CHECK(carom_world_hash(s.world) == nothing);
	CHECK_INT(carom_world_sweep_stats(s.world).triangles, 0);
	CHECK(carom_world_stats(s.world).memory < before);
	close_scene(&s);
	carom_destroy_context(context);
}

// ---- Places ----

static void check_places(const impact_scene *s, int body, const double *expected)
{
	carom_vertex_view view = { 0 };
	REQUIRE(carom_world_get_vertices(s->world, s->ids[body], &view) == CAROM_SUCCESS);
	REQUIRE(CHECK_INT(view.count, s->places.meshes[body].vertex_count));
	CHECK(!memcmp(view.data, expected, 3 * (size_t)view.count * sizeof *expected));
	carom_aabb box;
	REQUIRE(carom_world_get_aabb(s->world, s->ids[body], &box) == CAROM_SUCCESS);
	double low = INFINITY, high = -INFINITY;
	for (int32_t i = 0; i < view.count; i++) {
		low = fmin(low, expected[3 * i + 2]);
		high = fmax(high, expected[3 * i + 2]);
	}
	CHECK(box.lower.z == low && box.upper.z == high);
}

/// A beginning that is given, one that is left, and bodies that are put somewhere without a sweep.
TEST(impacts, begin_and_end)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	const carom_world_def def = carom_default_world_def();
	impact_scene s;
	open_crossing(&s, context, &def, CAROM_CLOTH);
	sweep_mesh *mesh = &s.places.meshes[1];
	check_places(&s, 1, mesh->begin);
	const int32_t numbers = 3 * mesh->vertex_count;
	double above[300], below[300], far[300];
	REQUIRE(numbers <= 300);
	for (int32_t i = 0; i < numbers; i++) {
		above[i] = mesh->begin[i];
		below[i] = mesh->begin[i] - (i % 3 == 2);
		far[i] = mesh->begin[i] + 10 * (i % 3 == 2);
	}
	const carom_strided up = doubles(above), down = doubles(below), away = doubles(far);
	const struct {
		const carom_strided *begin[2], *end[2]; // of up to two calls
		const double *from, *to;
	} steps[] = {
		{ { NULL, NULL }, { &down, NULL }, above, below },  // from where it was made
		{ { NULL, NULL }, { NULL, NULL }, below, below },   // rests
		{ { &up, NULL }, { &down, NULL }, above, below },   // the beginning is given: as in the first step
		{ { &up, NULL }, { NULL, NULL }, above, above },    // put there
		{ { NULL, NULL }, { &away, &down }, above, below }, // the last call counts
		{ { &away, NULL }, { NULL, &up }, far, above },     // put somewhere, then moved from there
		{ { &down, NULL }, { &away, &up }, below, above },  // a beginning stays until the step
		{ { NULL, NULL }, { NULL, NULL }, above, above },
	};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		for (int call = 0; call < 2; call++) {
			if (steps[i].begin[call] || steps[i].end[call])
				REQUIRE(carom_world_set_vertices(s.world, s.ids[1], steps[i].begin[call], steps[i].end[call]) == CAROM_SUCCESS);
		}
		memcpy(mesh->begin, steps[i].from, (size_t)numbers * sizeof *mesh->begin);
		memcpy(mesh->end, steps[i].to, (size_t)numbers * sizeof *mesh->end);
		check_places(&s, 1, mesh->end);
		fixture_step(s.world);
		check_places(&s, 1, mesh->end);
		const int64_t count = check_impacts(&s, &def.sweep, "begin and end");
		CHECK_INT(count > 100, (steps[i].from == below) != (steps[i].to == below));
	}
	close_scene(&s);
	carom_destroy_context(context);
}

/// Floats, strides and a walk backwards tell the same places as packed doubles.
TEST(impacts, reads_any_layout)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	uint64_t hashes[4] = { 0 };
	for (int layout = 0; layout < 4; layout++) {
		impact_scene s;
		open_crossing(&s, context, NULL, CAROM_CLOTH);
		const sweep_mesh *mesh = &s.places.meshes[1];
		const int32_t count = mesh->vertex_count;
		float narrow[5 * 100];
		double wide[5 * 100];
		REQUIRE(count <= 100);
		for (int32_t v = 0; v < count; v++) {
			const int32_t at = layout == 3 ? count - 1 - v : v;
			for (int k = 0; k < 3; k++) {
				const float x = (float)(mesh->begin[3 * v + k] - (k == 2) * (1 + 0.01 * v));
				narrow[(layout == 1 ? 3 : 5) * at + k] = x;
				wide[(layout == 0 ? 3 : 5) * at + k] = x;
			}
		}
		const carom_strided views[4] = { { wide, 0, CAROM_FLOAT64 }, { narrow, 0, CAROM_FLOAT32 },
			{ narrow, 5 * sizeof(float), CAROM_FLOAT32 },
			{ &wide[5 * (count - 1)], -5 * (int64_t)sizeof(double), CAROM_FLOAT64 } };
		REQUIRE(carom_world_set_vertices(s.world, s.ids[1], NULL, &views[layout]) == CAROM_SUCCESS);
		fixture_step(s.world);
		CHECK(carom_world_impacts(s.world).count > 100);
		hashes[layout] = carom_world_hash(s.world);
		CHECK(hashes[layout] == hashes[0]);
		close_scene(&s);
	}
	carom_destroy_context(context);
}

/// At the pose of the definition, in double.
TEST(impacts, a_pose_puts_the_mesh_at_first)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *mesh = fixture_torus_mesh(context, 9, 6, 0.3, 0);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_DEFORMABLE;
	def.shape = fixture_of_mesh(mesh);
	def.pose = (carom_pose){ { 1e6, -2, 3 }, fixture_turn((v3d){ 1, 2, 3 }, 1) };
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	carom_pose pose;
	REQUIRE(carom_world_get_pose(world, id, &pose) == CAROM_SUCCESS);
	CHECK(pose.position.x == 1e6);
	double expected[3 * 54];
	put_rigid(mesh, pose, 54, expected);
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, id, &view) == CAROM_SUCCESS);
	CHECK_INT(view.count, 54);
	CHECK(!memcmp(view.data, expected, sizeof expected));
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ---- Misuse ----

TEST(impacts, vertex_views_stay_until_the_body_goes)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 3, 1);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 0), CAROM_CLOTH);
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, id, &view) == CAROM_SUCCESS);
	double places[48];
	REQUIRE(3 * view.count == 48);
	for (int i = 0; i < 48; i++)
		places[i] = view.data[i] + 1;
	const carom_strided end = doubles(places);
	REQUIRE(carom_world_set_vertices(world, id, NULL, &end) == CAROM_SUCCESS);
	CHECK(memcmp(view.data, places, sizeof places) == 0);
	for (int i = 0; i < 100; i++) {
		const carom_body_id other = fixture_add(world, fixture_sphere(1), fixture_at(i, 0, 9), CAROM_DYNAMIC);
		fixture_step(world);
		if (i % 2 == 0)
			REQUIRE(carom_world_remove_body(world, other) == CAROM_SUCCESS);
	}
	carom_vertex_view again;
	REQUIRE(carom_world_get_vertices(world, id, &again) == CAROM_SUCCESS);
	CHECK(again.data == view.data && memcmp(view.data, places, sizeof places) == 0);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

TEST(impacts, refuses_bad_bodies)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 3, 1), *box = fixture_box_mesh(context, 1, 1, 1), *none = NULL;
	carom_mesh_def empty = carom_default_mesh_def();
	REQUIRE(carom_create_mesh(context, &empty, NULL, &none) == CAROM_SUCCESS);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_CLOTH;
	def.shape = fixture_sphere(1);
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_add_body: kind is CAROM_CLOTH, but shape.type is not CAROM_MESH");
	def.shape = fixture_of_mesh(sheet);
	def.sensor = true;
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_add_body: sensor is set, but kind is CAROM_CLOTH: sensors do not deform");
	def.sensor = false;
	def.kind = CAROM_DEFORMABLE;
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_MESH);
	CHECK(strstr(carom_error_text(context), "kind is CAROM_DEFORMABLE, but the mesh is open (CAROM_CLOTH may be): ") != NULL);
	CHECK(strlen(carom_error_text(context)) > 100); // the finding
	def.shape = fixture_of_mesh(none);
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_MESH);
	CHECK(strstr(carom_error_text(context), "it has no triangles") != NULL);
	def.shape = fixture_of_mesh(box);
	def.pose.position.y = 2e12;
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_add_body: pose puts y of vertex 0 at 2e+12, beyond CAROM_MAX_COORDINATE");
	def.kind = (carom_body_kind)6;
	CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_add_body: kind is 6, which is none");
	CHECK_INT(carom_world_body_count(world), 0);
	// Cloth may be open, closed, or nothing at all.
	def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	const carom_mesh *meshes[3] = { sheet, box, none };
	for (int i = 0; i < 3; i++) {
		def.shape = fixture_of_mesh(meshes[i]);
		CHECK_INT(carom_world_add_body(world, &def, &id), CAROM_SUCCESS);
	}
	const carom_strided nothing = { 0 };
	CHECK_INT(carom_world_set_vertices(world, id, &nothing, NULL), CAROM_SUCCESS);
	fixture_step(world);
	fixture_step(world);
	carom_world_def world_def = carom_default_world_def();
	world_def.sweep.tolerance = 0;
	carom_world *other;
	CHECK_INT(carom_create_world(context, &world_def, &other), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_sweep_def.tolerance is 0") != NULL);
	memset(&world_def.sweep, 0, sizeof world_def.sweep);
	CHECK_INT(carom_create_world(context, &world_def, &other), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "carom_sweep_def.cookie") != NULL);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_release_mesh(box);
	carom_release_mesh(none);
	carom_destroy_context(context);
}

TEST(impacts, refuses_bad_calls)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	impact_scene s;
	open_crossing(&s, context, NULL, CAROM_KINEMATIC);
	sweep_mesh *mesh = &s.places.meshes[1];
	const carom_strided good = doubles(mesh->end), none = { 0 }, odd = { mesh->end, 0, (carom_scalar)7 },
						tight = { mesh->end, 8, CAROM_FLOAT64 };
	const carom_pose pose = carom_pose_identity();
	const carom_body_id strange = { 9, 1 };
	carom_vertex_view view;
	CHECK_INT(carom_world_set_vertices(s.world, strange, NULL, &good), CAROM_INVALID_BODY);
	CHECK_INT(carom_world_set_vertices(s.world, s.ids[0], NULL, &good), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_set_vertices: the body is rigid: carom_world_set_pose moves it");
	CHECK_INT(carom_world_set_vertices(s.world, s.ids[1], NULL, NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_set_vertices: begin and end are NULL");
	CHECK_INT(carom_world_set_vertices(s.world, s.ids[1], NULL, &none), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_set_vertices: body (2, 1): end.data is NULL, but there are 81 vertices");
	CHECK_INT(carom_world_set_vertices(s.world, s.ids[1], &odd, &good), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context),
		"carom_world_set_vertices: body (2, 1): begin.type is 7, neither CAROM_FLOAT32 nor CAROM_FLOAT64");
	CHECK_INT(carom_world_set_vertices(s.world, s.ids[1], &tight, NULL), CAROM_INVALID_ARGUMENT);
	CHECK(strstr(carom_error_text(context), "begin.stride is 8 bytes") != NULL);
	CHECK_INT(carom_world_set_pose(s.world, s.ids[1], &pose), CAROM_INVALID_ARGUMENT);
	CHECK_STR(
		carom_error_text(context), "carom_world_set_pose: id names a body that deforms: carom_world_set_vertices moves it");
	CHECK_INT(carom_world_get_vertices(s.world, strange, &view), CAROM_INVALID_BODY);
	CHECK_INT(carom_world_get_vertices(s.world, s.ids[1], NULL), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_get_vertices: view is NULL");
	CHECK_INT(carom_world_get_vertices(s.world, s.ids[0], &view), CAROM_INVALID_ARGUMENT);
	CHECK_STR(carom_error_text(context), "carom_world_get_vertices: the body is rigid: carom_world_get_pose tells its place");
	// One bad number changes nothing, not even what is good before it.
	double bad[300];
	memcpy(bad, mesh->end, 3 * (size_t)mesh->vertex_count * sizeof *bad);
	for (int32_t i = 0; i < 30; i++)
		bad[i] += 1;
	const struct {
		double value;
		const char *text;
	} values[] = { { NAN, "z of vertex 70 is nan, not finite" }, { -INFINITY, "z of vertex 70 is -inf, not finite" },
		{ -2e12, "z of vertex 70 is -2e+12, beyond CAROM_MAX_COORDINATE" } };
	for (int i = 0; i < 3; i++) {
		bad[3 * 70 + 2] = values[i].value;
		const carom_strided places = doubles(bad);
		CHECK_INT(carom_world_set_vertices(s.world, s.ids[1], &good, &places), CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(context), "carom_world_set_vertices: body (2, 1): end: ") != NULL);
		CHECK(strstr(carom_error_text(context), isnan(values[i].value) ? "of vertex 70" : values[i].text) != NULL);
		CHECK_INT(carom_world_set_vertices(s.world, s.ids[1], &places, NULL), CAROM_INVALID_ARGUMENT);
		CHECK(strstr(carom_error_text(context), "carom_world_set_vertices: body (2, 1): begin: ") != NULL);
		check_places(&s, 1, mesh->end);
	}
	fixture_step(s.world);
	CHECK_INT(carom_world_impacts(s.world).count, 0);
	close_scene(&s);
	carom_destroy_context(context);
}

// ---- Failures, threads, recordings ----

enum { PLAY_STEPS = 4 };

/// What a test does with a world that has few bodies: between the calls it may arm the heap, record, or nothing.
typedef struct play_options {
	const carom_world_def *def;
	uint64_t seed;
	fixture_heap *heap;    // NULL: none
	long long fail_at;     // the allocation, counted from the first body, that fails
	bool fail_on;          // and all after it, until the call has failed
	carom_write_fn *write; // NULL: no recording
	void *tape;
} play_options;

/// A call failed, or not. What is asked for next may succeed.
static bool fails(const play_options *o, const carom_world *world, carom_result result, int *failed)
{
	if (result == CAROM_SUCCESS)
		return false;
	CHECK_INT(result, CAROM_OUT_OF_MEMORY);
	CHECK(carom_error_text(carom_world_context(world))[0] != 0);
	REQUIRE(o->heap != NULL);
	atomic_store(&o->heap->fail_at, -1);
	++*failed;
	return true;
}

/// A cloth, a torus and a box over a few steps; a sphere of cloth comes, and the torus goes. Calls that run out of memory are made
/// again. Returns how many did.
static int play(carom_context *context, const play_options *o, uint64_t hashes[PLAY_STEPS])
{
	impact_scene s;
	uint64_t random = o->seed;
	int failed = 0;
	open_scene(&s, context, o->def);
	sweep_add_sheet(&s.places, 5, 5, 2);
	sweep_add_torus(&s.places, 6, 4);
	sweep_add_box(&s.places)->is_rigid = true;
	sweep_add_box(&s.places);
	static const carom_body_kind kinds[4] = { CAROM_CLOTH, CAROM_DEFORMABLE, CAROM_DYNAMIC, CAROM_CLOTH };
	for (int i = 0; i < 4; i++)
		s.meshes[i] = make_mesh(context, &s.places.meshes[i]);
	if (o->heap) {
		atomic_store(&o->heap->fail_on, o->fail_on);
		atomic_store(&o->heap->fail_at, o->fail_at < 0 ? -1 : atomic_load(&o->heap->calls) + o->fail_at);
	}
	for (int step = 0; step < PLAY_STEPS; step++) {
		for (int i = step == 0 ? 0 : 3; i < (step == 0 ? 3 : step == 2 ? 4 : 0); i++) {
			carom_body_def body = carom_default_body_def();
			body.shape = fixture_of_mesh(s.meshes[i]);
			body.kind = kinds[i];
			body.self_collision = i != 0;
			while (fails(o, s.world, carom_world_add_body(s.world, &body, &s.ids[i]), &failed)) {
			}
			s.poses[i] = carom_pose_identity();
		}
		const int all = s.places.count;
		s.places.count = step < 2 ? 3 : 4;
		move_scene(&s, 0.2, 0.2, &random);
		tell_scene(&s);
		s.places.count = all;
		// A recording that begins between the motion and the step holds the motion.
		if (o->write && step == 1)
			REQUIRE(carom_world_record(s.world, o->write, o->tape) == CAROM_SUCCESS);
		const uint64_t before = carom_world_hash(s.world);
		while (fails(o, s.world, carom_world_step(s.world), &failed))
			CHECK(carom_world_hash(s.world) == before);
		hashes[step] = carom_world_hash(s.world);
		CHECK(carom_world_impacts(s.world).count > 20);
	}
	if (o->write)
		REQUIRE(carom_world_record(s.world, NULL, NULL) == CAROM_SUCCESS);
	close_scene(&s);
	return failed;
}

TEST(impacts, every_thread_count_and_instruction_set_gives_the_same)
{
	uint64_t expected[PLAY_STEPS];
	for (int i = 0; i < 4 + FIXTURE_SIMD_COUNT; i++) {
		static const int threads[4] = { 1, 2, 4, 7 };
		const carom_simd simd = i < 4 ? CAROM_SIMD_AUTO : fixture_all_simd[i - 4];
		if (i >= 4 && !fixture_kernels(simd))
			continue;
		carom_context *context = sweep_context(i < 4 ? threads[i] : 1, simd);
		uint64_t hashes[PLAY_STEPS];
		CHECK_INT(play(context, &(play_options){ .seed = 6 }, hashes), 0);
		if (i == 0)
			memcpy(expected, hashes, sizeof hashes);
		for (int step = 0; step < PLAY_STEPS; step++)
			CHECK(hashes[step] == expected[step]);
		carom_destroy_context(context);
	}
}

TEST(impacts, survive_every_failed_allocation)
{
	fixture_heap heap;
	uint64_t expected[PLAY_STEPS];
	carom_context *context = fixture_heap_context(&heap, 1);
	play_options options = { .seed = 7, .heap = &heap, .fail_at = -1 };
	CHECK_INT(play(context, &options, expected), 0);
	carom_destroy_context(context);
	const long long calls = atomic_load(&heap.calls);
	int failed = 0;
	for (options.fail_at = 0; options.fail_at < calls && test_failures() == 0; options.fail_at += 2 * TEST_FEWER - 1) {
		uint64_t hashes[PLAY_STEPS];
		options.fail_on = options.fail_at / 2 % 2;
		context = fixture_heap_context(&heap, 1);
		// A front that finds no memory is done without: that fails no call.
		failed += play(context, &options, hashes);
		for (int step = 0; step < PLAY_STEPS; step++)
			CHECK(hashes[step] == expected[step]);
		CHECK_INT(atomic_load(&heap.blocks), 1); // the context itself
		carom_destroy_context(context);
		CHECK_INT(atomic_load(&heap.bytes), 0);
	}
	CHECK(failed > 1000 / (2 * TEST_FEWER - 1));
}

TEST(impacts, keep_the_budget)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_world_def def = carom_default_world_def();
	impact_scene s;
	def.memory_budget = 1100000;
	open_crossing(&s, context, &def, CAROM_STATIC);
	sweep_mesh *mesh = sweep_add_sheet(&s.places, 60, 60, 2);
	sweep_shift(mesh, 0, 0, 5);
	CHECK(cross(&s) > 100);
	const uint64_t hash = carom_world_hash(s.world);
	add_body(&s, CAROM_CLOTH);
	CHECK_INT(carom_world_step(s.world), CAROM_OVER_BUDGET);
	CHECK_STR(carom_error_text(context), "carom_world_step: needs more than the memory_budget of 1100000 bytes");
	CHECK(carom_world_hash(s.world) == hash);
	CHECK(carom_world_stats(s.world).memory_peak <= def.memory_budget);
	// Without it all goes on.
	REQUIRE(carom_world_remove_body(s.world, s.ids[2]) == CAROM_SUCCESS);
	s.places.count = 2;
	CHECK(cross(&s) > 100);
	check_impacts(&s, &def.sweep, "after the budget");
	s.places.count = 3;
	close_scene(&s);
	carom_destroy_context(context);
}

static bool odd_pairs(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)user_data_a, (void)user_data_b, (void)user;
	return (a.index1 + b.index1) % 2 == 1;
}

TEST(impacts, recordings_replay)
{
	for (int filtered = 0; filtered < 2; filtered++) {
		carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
		carom_world_def def = carom_default_world_def();
		def.pair_filter = filtered ? odd_pairs : NULL;
		def.sweep.min_separation = 0.01;
		fixture_tape t = { 0 };
		uint64_t hashes[PLAY_STEPS], unrecorded[PLAY_STEPS];
		play(context, &(play_options){ .def = &def, .seed = 8, .write = fixture_write_tape, .tape = &t }, hashes);
		play(context, &(play_options){ .def = &def, .seed = 8 }, unrecorded);
		for (int step = 0; step < PLAY_STEPS; step++)
			CHECK(hashes[step] == unrecorded[step]); // to be recorded changes nothing
		carom_replay_result result;
		if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &t, &result), CAROM_SUCCESS))
			CHECK_STR(carom_error_text(context), "");
		CHECK_INT(result.steps, PLAY_STEPS - 1);
		CHECK(result.hash == hashes[PLAY_STEPS - 1]);
		free(t.bytes);
		carom_destroy_context(context);
	}
}

// ---- Queries ----

/// A torus or a sphere bent out of form, as a deforming body; and beside it a rigid body of the same form, in a world of its own.
typedef struct twins {
	carom_context *context;
	carom_world *soft, *hard;
	carom_mesh *mesh, *copy;
	carom_body_id soft_id, hard_id;
} twins;

static void open_twins(twins *t, carom_context *context, carom_body_kind kind, double bend)
{
	*t = (twins){ .context = context, .soft = fixture_world(context, NULL), .hard = fixture_world(context, NULL) };
	t->mesh = kind == CAROM_CLOTH ? fixture_sheet_mesh(context, 12, 2) : fixture_torus_mesh(context, 24, 12, 0.4, 0.1);
	t->soft_id = fixture_add(t->soft, fixture_of_mesh(t->mesh), carom_pose_identity(), kind);
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(t->soft, t->soft_id, &view) == CAROM_SUCCESS);
	double *places = malloc(3 * (size_t)view.count * sizeof *places);
	float *local = malloc(3 * (size_t)view.count * sizeof *local);
	REQUIRE(places && local);
	for (int32_t i = 0; i < view.count; i++) {
		const double *p = view.data + 3 * i;
		places[3 * i] = 1000 + p[0];
		places[3 * i + 1] = p[1] * (1 + 0.3 * bend * p[0]);
		places[3 * i + 2] = p[2] + bend * p[0] * p[0];
	}
	const carom_strided end = doubles(places);
	REQUIRE(carom_world_set_vertices(t->soft, t->soft_id, NULL, &end) == CAROM_SUCCESS);
	carom_aabb box;
	REQUIRE(carom_world_get_aabb(t->soft, t->soft_id, &box) == CAROM_SUCCESS);
	const double middle[3] = { 0.5 * (box.lower.x + box.upper.x), 0.5 * (box.lower.y + box.upper.y),
		0.5 * (box.lower.z + box.upper.z) };
	for (int32_t i = 0; i < 3 * view.count; i++)
		local[i] = (float)(places[i] - middle[i % 3]);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ local, 0, CAROM_FLOAT32 };
	def.vertex_count = view.count;
	def.triangles = carom_mesh_get_triangles(t->mesh);
	def.triangle_count = carom_mesh_get_report(t->mesh)->triangle_count;
	REQUIRE(carom_create_mesh(context, &def, NULL, &t->copy) == CAROM_SUCCESS);
	t->hard_id = fixture_add(t->hard, fixture_of_mesh(t->copy), fixture_at(middle[0], middle[1], middle[2]), CAROM_STATIC);
	free(places);
	free(local);
}

static void close_twins(twins *t)
{
	carom_destroy_world(t->soft);
	carom_destroy_world(t->hard);
	carom_release_mesh(t->mesh);
	carom_release_mesh(t->copy);
}

static v3d random_point(uint64_t *random, double span)
{
	return (v3d){ 1000 + test_random_double(random, -span, span), test_random_double(random, -span, span),
		test_random_double(random, -span, span) };
}

static bool is_same_hit(const carom_ray_hit *a, const carom_ray_hit *b)
{
	return a->t == b->t && a->triangle == b->triangle && a->u == b->u && a->v == b->v && a->back_face == b->back_face &&
		!memcmp(&a->normal, &b->normal, sizeof a->normal) && !memcmp(&a->point, &b->point, sizeof a->point);
}

/// One random question of each kind, asked of both worlds. Counts what was found.
static void ask_twins(const twins *t, uint64_t *random, int found_count[4])
{
	const v3d from = random_point(random, 2), to = random_point(random, 1);
	const carom_ray ray = { from, v3d_sub(to, from), 0, 3 };
	bool found[2];
	carom_ray_hit hit[2], all[2][16];
	CHECK(carom_world_cast_ray(t->soft, &ray, NULL, &found[0], &hit[0]) == CAROM_SUCCESS);
	CHECK(carom_world_cast_ray(t->hard, &ray, NULL, &found[1], &hit[1]) == CAROM_SUCCESS);
	CHECK_INT(found[0], found[1]);
	CHECK(!found[0] || is_same_hit(&hit[0], &hit[1]));
	found_count[0] += found[0];
	CHECK(carom_world_cast_ray_any(t->soft, &ray, NULL, &found[0]) == CAROM_SUCCESS);
	CHECK_INT(found[0], found[1]);
	int32_t count[2];
	CHECK(carom_world_cast_ray_all(t->soft, &ray, NULL, 16, all[0], &count[0]) == CAROM_SUCCESS);
	CHECK(carom_world_cast_ray_all(t->hard, &ray, NULL, 16, all[1], &count[1]) == CAROM_SUCCESS);
	CHECK_INT(count[0], count[1]);
	for (int32_t i = 0; i < count[0] && i < count[1] && i < 16; i++)
		CHECK(is_same_hit(&all[0][i], &all[1][i]));
	carom_closest_point near[2];
	CHECK(carom_world_closest_point(t->soft, from, 1, NULL, &found[0], &near[0]) == CAROM_SUCCESS);
	CHECK(carom_world_closest_point(t->hard, from, 1, NULL, &found[1], &near[1]) == CAROM_SUCCESS);
	CHECK_INT(found[0], found[1]);
	if (found[0] && found[1]) {
		CHECK(near[0].distance == near[1].distance && near[0].triangle == near[1].triangle);
		CHECK(!memcmp(&near[0].point, &near[1].point, sizeof near[0].point));
		found_count[1]++;
		found_count[2] += near[0].distance < 0;
	}
	const carom_shape ball = fixture_sphere(0.3);
	const carom_pose at = { from, { 0, 0, 0, 1 } };
	carom_body_id body;
	CHECK(carom_world_overlap_shape(t->soft, &ball, &at, NULL, 1, &body, &count[0]) == CAROM_SUCCESS);
	CHECK(carom_world_overlap_shape(t->hard, &ball, &at, NULL, 1, &body, &count[1]) == CAROM_SUCCESS);
	CHECK_INT(count[0], count[1]);
	found_count[3] += count[0];
}

TEST(impacts, queries_see_the_places_set_last)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	for (int kind = 0; kind < 2; kind++) {
		uint64_t random = 11;
		int found[4] = { 0 };
		twins t;
		open_twins(&t, context, kind ? CAROM_CLOTH : CAROM_DEFORMABLE, 0.4);
		for (int i = 0; i < 400; i++)
			ask_twins(&t, &random, found);
		CHECK(found[0] > 50 && found[1] > 100 && found[3] > 20);
		CHECK_INT(found[2] > 10, kind == 0); // a sheet has no inside
		// Two meshes: a rigid one against the deforming body, through the surface and within.
		carom_mesh *small = fixture_sphere_mesh(context, 0.1, 6);
		const carom_shape shape = fixture_of_mesh(small);
		int overlaps = 0;
		for (int i = 0; i < 200; i++) {
			const carom_pose at = { random_point(&random, 1.2), { 0, 0, 0, 1 } };
			int32_t count[2];
			carom_body_id body;
			CHECK(carom_world_overlap_shape(t.soft, &shape, &at, NULL, 1, &body, &count[0]) == CAROM_SUCCESS);
			CHECK(carom_world_overlap_shape(t.hard, &shape, &at, NULL, 1, &body, &count[1]) == CAROM_SUCCESS);
			CHECK_INT(count[0], count[1]);
			overlaps += count[0];
		}
		CHECK(overlaps > 5);
		carom_release_mesh(small);
		// What is seen follows the vertices: nothing is left where the body was.
		const carom_ray ray = { { 1000.9, 0, 5 }, { 0, 0, -1 }, 0, 10 };
		bool before, after;
		REQUIRE(carom_world_cast_ray_any(t.soft, &ray, NULL, &before) == CAROM_SUCCESS);
		carom_vertex_view view;
		REQUIRE(carom_world_get_vertices(t.soft, t.soft_id, &view) == CAROM_SUCCESS);
		double *places = malloc(3 * (size_t)view.count * sizeof *places);
		REQUIRE(places != NULL);
		for (int32_t i = 0; i < 3 * view.count; i++)
			places[i] = view.data[i] + 100 * (i % 3 == 0);
		const carom_strided end = doubles(places);
		REQUIRE(carom_world_set_vertices(t.soft, t.soft_id, NULL, &end) == CAROM_SUCCESS);
		free(places);
		REQUIRE(carom_world_cast_ray_any(t.soft, &ray, NULL, &after) == CAROM_SUCCESS);
		CHECK(before && !after);
		close_twins(&t);
	}
	carom_destroy_context(context);
}

/// The kind alone says whether a closed mesh has an inside; and a solid turned inside out by its caller keeps the mesh's corners.
TEST(impacts, parts_of_a_solid_may_lie_on_each_other)
{
	// Two boxes, apart at first; then one is a slanted block, the other stands in it and out of it, and they share a face.
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_mesh *box = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	const int32_t half = carom_mesh_get_report(box)->vertex_count, triangles = carom_mesh_get_report(box)->triangle_count;
	float vertices[2 * 3 * 24];
	int32_t corners[2 * 3 * 12];
	REQUIRE(half <= 24 && triangles == 12);
	for (int32_t i = 0; i < 2 * 3 * half; i++)
		vertices[i] = carom_mesh_get_vertices(box)[i % (3 * half)] + 3 * (i >= 3 * half && i % 3 == 0);
	for (int32_t i = 0; i < 2 * 3 * triangles; i++)
		corners[i] = carom_mesh_get_triangles(box)[i % (3 * triangles)] + half * (i >= 3 * triangles);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 2 * half;
	def.triangles = corners;
	def.triangle_count = 2 * triangles;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	carom_world *world = fixture_world(context, NULL);
	const carom_body_id id = fixture_add(world, fixture_of_mesh(mesh), carom_pose_identity(), CAROM_DEFORMABLE);
	double places[2 * 3 * 24];
	for (int32_t i = 0; i < 2 * half; i++) {
		const float *p = &vertices[3 * (i % half)];
		const bool is_outer = i < half, is_left = p[0] < 0;
		places[3 * i] = !is_left ? 0.5 : !is_outer ? 0 : p[2] < 0 ? -1.5 : 0.45;
		places[3 * i + 1] = 4 * p[1];
		places[3 * i + 2] = 4 * p[2];
	}
	const carom_strided end = doubles(places);
	REQUIRE(carom_world_set_vertices(world, id, &end, NULL) == CAROM_SUCCESS);
	int inside = 0, wrong = 0;
	for (int i = 0; i < 4000; i++) {
		const v3d q = { -1.97 + 0.1 * (i % 40), -1.88 + 0.4 * (i / 40 % 10), -1.96 + 0.4 * (i / 400) };
		bool found;
		carom_closest_point near;
		REQUIRE(carom_world_closest_point(world, q, 10, NULL, &found, &near) == CAROM_SUCCESS);
		const bool expected = q.x < 0.5 && (q.x > 0 || q.x > 1.95 / 4 * q.z - 0.525);
		inside += expected;
		wrong += (near.distance < 0) != expected;
	}
	CHECK(inside > 1000);
	CHECK_INT(wrong, 0);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

TEST(impacts, cloth_has_no_inside)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_mesh *mesh = fixture_sphere_mesh(context, 1, 12);
	const int32_t count = carom_mesh_get_report(mesh)->vertex_count;
	double *inside_out = malloc(3 * (size_t)count * sizeof *inside_out);
	REQUIRE(inside_out != NULL);
	for (int32_t i = 0; i < 3 * count; i++)
		inside_out[i] = carom_mesh_get_vertices(mesh)[i] * (i % 3 == 2 ? -1.0 : 1.0);
	const carom_strided turned = doubles(inside_out);
	for (int kind = 0; kind < 2; kind++) {
		carom_world *world = fixture_world(context, NULL);
		const carom_body_id id =
			fixture_add(world, fixture_of_mesh(mesh), carom_pose_identity(), kind ? CAROM_CLOTH : CAROM_DEFORMABLE);
		bool found;
		carom_closest_point near;
		const v3d middle = { 0.1, 0, 0 };
		REQUIRE(carom_world_closest_point(world, middle, 2, NULL, &found, &near) == CAROM_SUCCESS);
		CHECK(found);
		CHECK_NEAR(near.distance, kind ? 0.87 : -0.87, 0.05);
		const carom_shape ball = fixture_sphere(0.1);
		const carom_pose at = carom_pose_identity();
		carom_body_id body;
		int32_t overlaps;
		REQUIRE(carom_world_overlap_shape(world, &ball, &at, NULL, 1, &body, &overlaps) == CAROM_SUCCESS);
		CHECK_INT(overlaps, !kind);
		// From outside cloth is then met from its back, and a solid, whose triangles are turned round, from its front.
		const carom_ray ray = { { 0.2, 0.1, 5 }, { 0, 0, -1 }, 0, 10 };
		carom_ray_hit hit;
		REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
		CHECK(found && !hit.back_face && hit.normal.z > 0);
		REQUIRE(carom_world_set_vertices(world, id, &turned, NULL) == CAROM_SUCCESS);
		REQUIRE(carom_world_cast_ray(world, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
		CHECK(found && hit.back_face == (kind == 1) && (hit.normal.z < 0) == (kind == 1));
		const int32_t *t = &carom_mesh_get_triangles(mesh)[3 * hit.triangle];
		const double *p[3] = { &inside_out[3 * t[0]], &inside_out[3 * t[1]], &inside_out[3 * t[2]] };
		for (int k = 0; k < 2; k++)
			CHECK_NEAR(p[0][k] + hit.u * (p[1][k] - p[0][k]) + hit.v * (p[2][k] - p[0][k]), k ? 0.1 : 0.2, 1e-5);
		carom_destroy_world(world);
	}
	free(inside_out);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

enum { ASKERS = 4 };

static void *ask_alone(void *user)
{
	uint64_t random = 12;
	int found[4] = { 0 };
	for (int i = 0; i < 20; i++)
		ask_twins(user, &random, found);
	return NULL;
}

/// The first query after a change may come from any thread, and from several at once.
TEST(impacts, many_threads_may_ask_first)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	for (int round = 0; round < 8; round++) {
		twins t;
		pthread_t threads[ASKERS];
		open_twins(&t, context, round % 2 ? CAROM_CLOTH : CAROM_DEFORMABLE, 0.1 * round);
		for (int i = 0; i < ASKERS; i++)
			REQUIRE(pthread_create(&threads[i], NULL, ask_alone, &t) == 0);
		for (int i = 0; i < ASKERS; i++)
			pthread_join(threads[i], NULL);
		close_twins(&t);
	}
	carom_destroy_context(context);
}

/// A query without memory says so, and asks again when there is some.
TEST(impacts, queries_survive_every_failed_allocation)
{
	fixture_heap heap;
	int failed = 0;
	for (int64_t fail_at = 0, more = 1; more; fail_at++) {
		carom_context *context = fixture_heap_context(&heap, 1);
		twins t;
		open_twins(&t, context, CAROM_DEFORMABLE, 0.3);
		const carom_ray ray = { { 1000.9, 0, 5 }, { 0, 0, -1 }, 0, 10 };
		const v3d point = { 1000.9, 0, 5 };
		const carom_aabb box = { { 999, -1, -1 }, { 1001, 1, 1 } };
		carom_ray_hit hit;
		carom_closest_point near;
		carom_body_id body;
		bool found;
		int32_t count;
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + fail_at);
		const carom_result results[4] = { fail_at % 4 == 0 ? carom_world_cast_ray(t.soft, &ray, NULL, &found, &hit) : 0,
			fail_at % 4 == 1 ? carom_world_closest_point(t.soft, point, 10, NULL, &found, &near) : 0,
			fail_at % 4 == 2 ? carom_world_overlap_aabb(t.soft, &box, NULL, 1, &body, &count) : 0,
			fail_at % 4 == 3 ? carom_world_cast_ray_all(t.soft, &ray, NULL, 1, &hit, &count) : 0 };
		const carom_result result = results[fail_at % 4];
		more = result != CAROM_SUCCESS;
		CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
		failed += result == CAROM_OUT_OF_MEMORY;
		atomic_store(&heap.fail_at, -1);
		CHECK(carom_world_cast_ray(t.soft, &ray, NULL, &found, &hit) == CAROM_SUCCESS);
		CHECK(found);
		close_twins(&t);
		CHECK_INT(atomic_load(&heap.blocks), 1);
		carom_destroy_context(context);
	}
	CHECK(failed > 20);
}

/// The sweep reads the places where the body has them; its own are those of rigid bodies alone.
TEST(impacts, vertices_are_stored_once)
{
	carom_context *context = sweep_context(1, CAROM_SIMD_AUTO);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 6, 1), *ball = fixture_sphere_mesh(context, 0.3, 6);
	const carom_body_id ids[2] = { fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 0.5), CAROM_CLOTH),
		fixture_add(world, fixture_of_mesh(sheet), fixture_at(0, 0, 1), CAROM_CLOTH) };
	fixture_add(world, fixture_of_mesh(ball), fixture_at(0, 0, 0), CAROM_STATIC);
	const int32_t count = carom_mesh_get_report(sheet)->vertex_count;
	double *places = malloc(3 * (size_t)count * sizeof *places);
	REQUIRE(places != NULL);
	for (int step = 0; step < 3; step++) {
		for (int32_t i = 0; i < 3 * count; i++)
			places[i] = carom_mesh_get_vertices(sheet)[i] + (i % 3 == 2 ? 0.5 - 0.4 * step : 0);
		const carom_strided end = doubles(places);
		REQUIRE(carom_world_set_vertices(world, ids[0], NULL, &end) == CAROM_SUCCESS);
		fixture_step(world);
		CHECK_INT(carom_world_impacts(world).count > 0, step == 1 || step == 2);
		const carom_sweep *sweep = world->impacts.sweep;
		REQUIRE(sweep != NULL);
		CHECK_INT(sweep->begin.count, 3 * carom_mesh_get_report(ball)->vertex_count);
		for (int i = 0; i < 2; i++) {
			carom_vertex_view view;
			REQUIRE(carom_world_get_vertices(world, ids[i], &view) == CAROM_SUCCESS);
			CHECK(sweep->meshes.data[i].lent_end == view.data);
		}
	}
	free(places);
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}
