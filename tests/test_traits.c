/// Bodies that take part in another way than they were added (carom_world_set_traits): contacts that go on, those that end, and each
/// kind of bodies beside a world whose bodies began so. Random worlds of rigid bodies are in test_reshape.c.
#include "fixture.h"
#include "world/recording_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Change a trait of a body.
#define SET_TRAIT(world, id, member, value)                                      \
	do {                                                                         \
		carom_body_def traits_;                                                  \
		REQUIRE(carom_world_get_body_def(world, id, &traits_) == CAROM_SUCCESS); \
		traits_.member = (value);                                                \
		REQUIRE(carom_world_set_traits(world, id, &traits_) == CAROM_SUCCESS);   \
	} while (0)

static carom_event_kind only_event(const carom_world *world)
{
	const carom_event_view events = carom_world_events(world);
	REQUIRE(events.count == 1);
	return events.data->kind;
}

// ---- Rigid bodies ----

typedef struct crate {
	carom_context *context;
	carom_world *world;
	carom_mesh *cube, *sheet;
	carom_body_id crate, floor;
} crate;

/// A crate as a mesh that lies on an open floor, or on a box, after a step.
static void open_crate(crate *c, bool open)
{
	c->context = fixture_context(1);
	c->world = fixture_world(c->context, NULL);
	c->cube = fixture_box_mesh(c->context, 0.5, 0.5, 0.5);
	c->sheet = fixture_sheet_mesh(c->context, 4, 6);
	c->crate = fixture_add(c->world, fixture_of_mesh(c->cube), fixture_at(0.1, 0.2, 0.499), CAROM_DYNAMIC);
	c->floor = open ? fixture_add(c->world, fixture_of_mesh(c->sheet), fixture_at(0, 0, 0), CAROM_STATIC)
					: fixture_add(c->world, fixture_box(5, 5, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	fixture_step(c->world);
	CHECK_INT(only_event(c->world), CAROM_EVENT_BEGIN);
	CHECK(carom_world_contacts(c->world).count >= 4);
}

static void close_crate(crate *c)
{
	carom_destroy_world(c->world);
	carom_release_mesh(c->cube);
	carom_release_mesh(c->sheet);
	carom_destroy_context(c->context);
}

/// All contacts are so old, and hold the impulse that the first step stored.
static void check_age(const carom_world *world, int age)
{
	const carom_contact_view contacts = carom_world_contacts(world);
	CHECK(contacts.count >= 4);
	for (int32_t i = 0; i < contacts.count; i++) {
		CHECK_INT(contacts.data[i].age, age);
		CHECK_NEAR(contacts.data[i].impulse[2], 5, 0);
		CHECK(fabsf(contacts.data[i].normal[2]) > 0.99F);
	}
}

static void push_contacts(carom_world *world)
{
	for (int32_t i = 0; i < carom_world_contacts(world).count; i++)
		REQUIRE(carom_world_set_impulse(world, i, (const float[3]){ 0, 0, 5 }) == CAROM_SUCCESS);
}

TEST(traits, contacts_go_on_while_one_body_is_free)
{
	crate c;
	open_crate(&c, false);
	push_contacts(c.world);
	// The floor becomes a lift, and then a free body; the crate is held meanwhile.
	SET_TRAIT(c.world, c.floor, kind, CAROM_KINEMATIC);
	fixture_step(c.world);
	CHECK_INT(only_event(c.world), CAROM_EVENT_PERSIST);
	check_age(c.world, 1);
	SET_TRAIT(c.world, c.floor, kind, CAROM_DYNAMIC);
	SET_TRAIT(c.world, c.crate, kind, CAROM_KINEMATIC);
	SET_TRAIT(c.world, c.crate, continuous, true);
	fixture_step(c.world);
	CHECK_INT(only_event(c.world), CAROM_EVENT_PERSIST);
	check_age(c.world, 2);
	// Two that nothing moves do not meet.
	SET_TRAIT(c.world, c.floor, kind, CAROM_STATIC);
	fixture_step(c.world);
	CHECK_INT(only_event(c.world), CAROM_EVENT_END);
	CHECK_INT(carom_world_pairs(c.world).count, 0);
	SET_TRAIT(c.world, c.crate, kind, CAROM_DYNAMIC);
	fixture_step(c.world);
	CHECK_INT(only_event(c.world), CAROM_EVENT_BEGIN);
	CHECK_INT(carom_world_contacts(c.world).data[0].age, 0);
	close_crate(&c);
}

TEST(traits, a_sensor_has_a_pair_and_no_contacts)
{
	crate c;
	open_crate(&c, false);
	SET_TRAIT(c.world, c.crate, sensor, true);
	fixture_step(c.world);
	CHECK_INT(only_event(c.world), CAROM_EVENT_PERSIST);
	CHECK_INT(carom_world_pairs(c.world).count, 1);
	CHECK_INT(carom_world_contacts(c.world).count, 0);
	SET_TRAIT(c.world, c.crate, sensor, false);
	fixture_step(c.world);
	CHECK_INT(only_event(c.world), CAROM_EVENT_PERSIST);
	CHECK_INT(carom_world_pairs(c.world).data[0].age, 2);
	CHECK(carom_world_contacts(c.world).count >= 4);
	SET_TRAIT(c.world, c.crate, contacts, false);
	fixture_step(c.world);
	CHECK_INT(only_event(c.world), CAROM_EVENT_END);
	close_crate(&c);
}

/// Bodies leave a static open mesh by its front, and one that moves by the side that they are on.
TEST(traits, an_open_floor_that_moves_has_two_sides)
{
	crate c;
	open_crate(&c, true);
	REQUIRE(carom_world_set_pose(c.world, c.crate, &(carom_pose){ { 0.1, 0.2, -0.45 }, { 0, 0, 0, 1 } }) == CAROM_SUCCESS);
	fixture_step(c.world);
	REQUIRE(carom_world_contacts(c.world).count > 0);
	CHECK(carom_world_contacts(c.world).data[0].normal[2] > 0.99F); // up
	SET_TRAIT(c.world, c.floor, kind, CAROM_KINEMATIC);
	fixture_step(c.world);
	REQUIRE(carom_world_contacts(c.world).count > 0);
	CHECK(carom_world_contacts(c.world).data[0].normal[2] < -0.99F); // down, which is nearer
	close_crate(&c);
}

TEST(traits, a_body_that_becomes_continuous_is_stopped)
{
	crate c;
	open_crate(&c, false);
	const carom_pose above = fixture_at(0, 0, 3), below = fixture_at(0, 0, -5);
	for (int i = 0; i < 3; i++) {
		SET_TRAIT(c.world, c.crate, continuous, i == 1);
		REQUIRE(carom_world_set_pose(c.world, c.crate, &above) == CAROM_SUCCESS);
		fixture_step(c.world);
		REQUIRE(carom_world_set_pose(c.world, c.crate, &below) == CAROM_SUCCESS);
		fixture_step(c.world);
		CHECK_INT(carom_world_body_impacts(c.world).count, i == 1);
	}
	close_crate(&c);
}

TEST(traits, misuse_changes_nothing)
{
	crate c;
	open_crate(&c, false);
	const carom_body_id cloth = fixture_add(c.world, fixture_of_mesh(c.sheet), fixture_at(0, 0, 9), CAROM_CLOTH);
	const carom_body_id plane = fixture_add(c.world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, -9), CAROM_STATIC);
	fixture_step(c.world);
	const uint64_t hash = carom_world_hash(c.world);
	carom_body_def none = { 0 }, def;
	fixture_expect_wrong(c.context, carom_world_set_traits(c.world, c.crate, NULL), "carom_world_set_traits: traits is NULL");
	fixture_expect_wrong(
		c.context, carom_world_set_traits(c.world, c.crate, &none), "was not started from carom_default_body_def");
	const struct {
		carom_body_id id;
		carom_body_kind kind;
		bool sensor, continuous;
		double thickness;
		const char *text;
	} cases[] = {
		{ c.crate, CAROM_CLOTH, false, false, 0, "only rigid" },
		{ c.crate, CAROM_GRANULAR, false, false, 0, "carom_world_set_traits: " },
		{ c.crate, (carom_body_kind)9, false, false, 0, "kind is 9, which is none" },
		{ c.crate, CAROM_STATIC, false, true, 0, "continuous is set, but kind is CAROM_STATIC" },
		{ c.crate, CAROM_DYNAMIC, false, false, NAN, "thickness is nan" },
		{ plane, CAROM_DYNAMIC, false, false, 0, "a plane must be static or kinematic" },
		{ cloth, CAROM_CLOTH, true, false, 0, "sensors do not deform" },
		{ cloth, CAROM_STATIC, false, false, 0, "kind is CAROM_STATIC, but that of the body is CAROM_CLOTH" },
		{ cloth, CAROM_CLOTH, false, false, -1, "thickness is -1" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		REQUIRE(carom_world_get_body_def(c.world, cases[i].id, &def) == CAROM_SUCCESS);
		def.kind = cases[i].kind;
		def.sensor = cases[i].sensor;
		def.continuous = cases[i].continuous;
		def.thickness = cases[i].thickness;
		fixture_expect_wrong(c.context, carom_world_set_traits(c.world, cases[i].id, &def), cases[i].text);
	}
	REQUIRE(carom_world_get_body_def(c.world, cloth, &def) == CAROM_SUCCESS);
	def.kind = CAROM_DEFORMABLE;
	fixture_expect_error(c.context, carom_world_set_traits(c.world, cloth, &def), CAROM_INVALID_MESH,
		"carom_world_set_traits: kind is CAROM_DEFORMABLE");
	REQUIRE(carom_world_remove_body(c.world, plane) == CAROM_SUCCESS);
	fixture_expect_error(
		c.context, carom_world_set_traits(c.world, plane, &def), CAROM_INVALID_BODY, "carom_world_set_traits: ");
	fixture_step(c.world);
	CHECK(carom_world_hash(c.world) == hash);
	close_crate(&c);
}

// ---- Bodies that deform, and granular ones ----

enum { CELLS = 8, CLOTH_VERTICES = (CELLS + 1) * (CELLS + 1), GRAINS = 60 };

/// A cloth of two layers, a soft ball, grains and a box, which all meet.
typedef struct mix {
	carom_world *world;
	carom_body_id cloth, ball, grains, box;
	uint64_t seed;
} mix;

typedef struct mix_shapes {
	carom_context *context;
	carom_mesh *sheet, *sphere;
	double places[3 * CLOTH_VERTICES];
	double grains[3 * GRAINS];
} mix_shapes;

static void open_shapes(mix_shapes *m, carom_context *context)
{
	*m = (mix_shapes){ .context = context, .sheet = fixture_sheet_mesh(context, CELLS, 2) };
	m->sphere = fixture_sphere_mesh(context, 0.4, 6);
	uint64_t seed = 5;
	for (int i = 0; i < 3 * GRAINS; i++)
		m->grains[i] = test_random_double(&seed, -0.5, 0.5);
}

static void close_shapes(mix_shapes *m)
{
	carom_release_mesh(m->sheet);
	carom_release_mesh(m->sphere);
}

typedef struct traits {
	bool self_collision, contacts, shape_impacts, continuous;
	double thickness;
} traits;

static carom_body_id add_mixed(carom_world *world, carom_body_def def, const traits *t)
{
	def.self_collision = t->self_collision;
	def.contacts = t->contacts;
	def.shape_impacts = t->shape_impacts;
	def.continuous = t->continuous && def.kind == CAROM_GRANULAR;
	def.thickness = t->thickness;
	carom_body_id id = { 0, 0 };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static void open_mix(mix *m, const mix_shapes *shapes, const traits t[3])
{
	static const double radius = 0.08;
	*m = (mix){ .world = fixture_world(shapes->context, NULL), .seed = 3 };
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(shapes->sheet);
	m->cloth = add_mixed(m->world, def, &t[0]);
	def.kind = CAROM_DEFORMABLE;
	def.shape = fixture_of_mesh(shapes->sphere);
	def.pose = fixture_at(0.3, 0, 0.41);
	m->ball = add_mixed(m->world, def, &t[1]);
	def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = GRAINS;
	def.centres = (carom_strided){ .data = shapes->grains, .type = CAROM_FLOAT64 };
	double radii[GRAINS];
	for (int i = 0; i < GRAINS; i++)
		radii[i] = radius;
	def.radii = (carom_strided){ .data = radii, .type = CAROM_FLOAT64 };
	m->grains = add_mixed(m->world, def, &t[2]);
	m->box = fixture_add(m->world, fixture_box(0.5, 0.5, 0.2), fixture_at(-0.4, 0, -0.19), CAROM_STATIC);
}

static void set_mixed(mix *m, const traits t[3])
{
	const carom_body_id ids[3] = { m->cloth, m->ball, m->grains };
	for (int i = 0; i < 3; i++) {
		carom_body_def def;
		REQUIRE(carom_world_get_body_def(m->world, ids[i], &def) == CAROM_SUCCESS);
		def.self_collision = t[i].self_collision;
		def.contacts = t[i].contacts;
		def.shape_impacts = t[i].shape_impacts;
		def.continuous = t[i].continuous && i == 2;
		def.thickness = t[i].thickness;
		REQUIRE(carom_world_set_traits(m->world, ids[i], &def) == CAROM_SUCCESS);
	}
}

/// Move everything a little, and do a step.
static void stir(mix *m, mix_shapes *shapes)
{
	for (int32_t i = 0; i < 3 * GRAINS; i++)
		shapes->grains[i] += test_random_double(&m->seed, -0.02, 0.02);
	const carom_strided centres = { .data = shapes->grains, .type = CAROM_FLOAT64 };
	REQUIRE(carom_world_set_spheres(m->world, m->grains, GRAINS, &centres, NULL) == CAROM_SUCCESS);
	for (int x = 0; x < CLOTH_VERTICES; x++) {
		double *p = &shapes->places[3 * (ptrdiff_t)x];
		p[0] = 0.12 * (x % (CELLS + 1)) - 0.5;
		p[1] = 0.12 * (x / (CELLS + 1)) - 0.5;
		p[2] = test_random_double(&m->seed, -0.03, 0.03);
	}
	const carom_strided places = { .data = shapes->places, .type = CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(m->world, m->cloth, NULL, &places) == CAROM_SUCCESS);
	fixture_step(m->world);
}

static traits random_traits(uint64_t *seed)
{
	const uint64_t bits = test_random(seed);
	return (traits){ bits & 1, (bits & 6) != 0, bits & 8, bits & 16, bits & 96 ? 0.01 * (double)(1 + bits / 128 % 8) : 0 };
}

/// How much the world found, and the bits of it that have no memory.
typedef struct found {
	int32_t pairs, surface, surface_shape, spheres, sphere_pairs, impacts, shape_impacts, body_impacts;
} found;

static found look(const carom_world *world)
{
	return (found){ carom_world_pairs(world).count, carom_world_surface_contacts(world).count,
		carom_world_surface_shape_contacts(world).count, carom_world_sphere_contacts(world).count,
		(int32_t)carom_world_sphere_pairs(world).pair_count, carom_world_impacts(world).count,
		carom_world_shape_impacts(world).count, carom_world_body_impacts(world).count };
}

/// A world whose bodies get traits before its first step is, bit by bit, one whose bodies were added with them. From then on both
/// change alike, by the call and by a snapshot that is taken before it.
TEST(traits, bodies_begin_with_those_that_they_get)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 11;
	found all = { 0 };
	for (int round = 0; round < 12 && test_failures() == 0; round++) {
		const traits before[3] = { random_traits(&seed), random_traits(&seed), random_traits(&seed) };
		const traits after[3] = { random_traits(&seed), random_traits(&seed), random_traits(&seed) };
		mix_shapes of_a, of_b;
		mix a, b;
		open_shapes(&of_a, context);
		open_shapes(&of_b, context);
		open_mix(&a, &of_a, before);
		open_mix(&b, &of_b, after);
		set_mixed(&a, after);
		for (int step = 0; step < 3; step++) {
			stir(&a, &of_a);
			stir(&b, &of_b);
			const found x = look(a.world), y = look(b.world);
			CHECK(memcmp(&x, &y, sizeof x) == 0);
			CHECK(carom_world_hash(a.world) == carom_world_hash(b.world));
			for (size_t i = 0; i < sizeof x / sizeof(int32_t); i++)
				((int32_t *)&all)[i] += ((const int32_t *)&x)[i];
		}
		carom_destroy_world(a.world);
		carom_destroy_world(b.world);
		close_shapes(&of_a);
		close_shapes(&of_b);
	}
	CHECK(all.pairs > 0 && all.surface > 0 && all.surface_shape > 0 && all.spheres > 0);
	CHECK(all.sphere_pairs > 0 && all.impacts > 0 && all.shape_impacts > 0 && all.body_impacts > 0);
	carom_destroy_context(context);
}

/// Between steps: the next step but one finds as much as a world whose bodies had them all along. (Ways and sides begin with the call.)
TEST(traits, bodies_that_live_get_others)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 17;
	for (int round = 0; round < 12 && test_failures() == 0; round++) {
		const traits before[3] = { random_traits(&seed), random_traits(&seed), random_traits(&seed) };
		const traits after[3] = { random_traits(&seed), random_traits(&seed), random_traits(&seed) };
		mix_shapes of_a, of_b;
		mix a, b;
		open_shapes(&of_a, context);
		open_shapes(&of_b, context);
		open_mix(&a, &of_a, before);
		open_mix(&b, &of_b, after);
		stir(&a, &of_a);
		stir(&b, &of_b);
		set_mixed(&a, after);
		stir(&a, &of_a);
		stir(&b, &of_b);
		const found x = look(a.world), y = look(b.world);
		// A surface contact may be remembered from before.
		const bool remembers = before[0].thickness > 0 || before[1].thickness > 0;
		if (!remembers)
			CHECK_INT(x.pairs, y.pairs);
		CHECK_INT(x.spheres, y.spheres);
		CHECK_INT(x.sphere_pairs, y.sphere_pairs);
		CHECK_INT(x.impacts, y.impacts);
		CHECK_INT(x.shape_impacts, y.shape_impacts);
		CHECK_INT(x.body_impacts, y.body_impacts);
		if (!remembers)
			CHECK_INT(x.surface, y.surface);
		carom_destroy_world(a.world);
		carom_destroy_world(b.world);
		close_shapes(&of_a);
		close_shapes(&of_b);
	}
	carom_destroy_context(context);
}

/// Cloth that is through a thin wall keeps its side when it gets thicker.
TEST(traits, cloth_keeps_its_side)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 4, 0.5), *wall = fixture_sheet_mesh(context, 6, 3);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(sheet);
	def.pose = fixture_at(0.05, 0.07, 0.005);
	def.thickness = 0.02;
	carom_body_id cloth;
	REQUIRE(carom_world_add_body(world, &def, &cloth) == CAROM_SUCCESS);
	def.shape = fixture_of_mesh(wall);
	def.pose = carom_pose_identity();
	carom_body_id other;
	REQUIRE(carom_world_add_body(world, &def, &other) == CAROM_SUCCESS);
	fixture_step(world);
	double places[75];
	for (int step = 0; step < 3; step++) {
		carom_vertex_view view;
		REQUIRE(carom_world_get_vertices(world, cloth, &view) == CAROM_SUCCESS);
		for (int i = 0; i < 75; i++)
			places[i] = view.data[i] - (i % 3 == 2 ? 0.004 : 0);
		const carom_strided end = { .data = places, .type = CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, cloth, NULL, &end) == CAROM_SUCCESS);
		SET_TRAIT(world, cloth, thickness, 0.02 + 0.01 * step);
		fixture_step(world);
		const carom_surface_contact_view contacts = carom_world_surface_contacts(world);
		CHECK(contacts.count > 0);
		int wrong = 0;
		for (int32_t i = 0; i < contacts.count; i++)
			wrong += fabs(contacts.data[i].distance - (0.001 - 0.004 * step)) > 1e-9;
		CHECK_INT(wrong, 0);
	}
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_release_mesh(wall);
	carom_destroy_context(context);
}

TEST(traits, recordings_and_snapshots_hold_them)
{
	carom_context *context = fixture_context(1);
	uint64_t seed = 23, hashes[2][4];
	const traits before[3] = { random_traits(&seed), random_traits(&seed), random_traits(&seed) };
	mix_shapes shapes;
	mix m;
	open_shapes(&shapes, context);
	open_mix(&m, &shapes, before);
	stir(&m, &shapes);
	fixture_tape tape = { 0 };
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(m.world, &snapshot) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(m.world, snapshot) == CAROM_SUCCESS);
	const mix then = m;
	const mix_shapes shapes_then = shapes;
	for (int round = 0; round < 2; round++) {
		uint64_t again = 29;
		if (round == 1) {
			REQUIRE(carom_world_restore(m.world, snapshot) == CAROM_SUCCESS);
			REQUIRE(carom_world_record(m.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
			m = then;
			shapes = shapes_then;
		}
		for (int step = 0; step < 4; step++) {
			const traits now[3] = { random_traits(&again), random_traits(&again), random_traits(&again) };
			set_mixed(&m, now);
			stir(&m, &shapes);
			hashes[round][step] = carom_world_hash(m.world);
		}
	}
	REQUIRE(carom_world_record(m.world, NULL, NULL) == CAROM_SUCCESS);
	const uint64_t last = carom_world_hash(m.world);
	carom_replay_result result;
	if (!CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS))
		CHECK_STR(carom_error_text(context), "");
	CHECK(result.hash == last);
	CHECK(memcmp(hashes[0], hashes[1], sizeof hashes[0]) == 0);
	cr_store_le(tape.bytes + CR_RECORDING_MAGIC_SIZE, 15, 4);
	fixture_repair_tape(&tape);
	tape.at = 0;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_INVALID_RECORDING);
	free(tape.bytes);
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(m.world);
	close_shapes(&shapes);
	carom_destroy_context(context);
}
