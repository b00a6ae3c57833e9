/// Pairs of thick surfaces: events against a dull difference of sets, sensors, the contact filter, data of pairs, recordings,
/// snapshots, threads, failed allocations.
#include "fixture.h"

#include "frame/body.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLOTHS = 3, BODIES = 10, MOST_PAIRS = 200, CELLS = 5 };

// ---- A world of everything ----

/// Three cloths among bodies of all kinds.
typedef struct play {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *ball, *torus;
	carom_body_id ids[BODIES]; // the cloths first
} play;

static carom_mesh *painted_sheet(carom_context *context)
{
	static fixture_soup soup;
	static uint32_t materials[2 * CELLS * CELLS];
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sheet(&soup, CELLS, 1);
	for (int32_t i = 0; i < soup.triangle_count; i++)
		materials[i] = (uint32_t)i % 3;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = soup.vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = soup.vertex_count;
	def.triangles = soup.triangles;
	def.triangle_count = soup.triangle_count;
	def.materials = materials;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static carom_body_id add(carom_world *world, carom_body_def def, uint64_t user_data)
{
	carom_body_id id;
	def.user_data = user_data;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static carom_body_def def_of(carom_shape shape, carom_body_kind kind, carom_pose pose)
{
	carom_body_def def = carom_default_body_def();
	def.shape = shape;
	def.kind = kind;
	def.pose = pose;
	return def;
}

static void fill(carom_world *world, play *p)
{
	const carom_shape torus = fixture_of_mesh(p->torus);
	carom_body_def defs[BODIES];
	for (int i = 0; i < CLOTHS; i++) {
		defs[i] = def_of(fixture_of_mesh(p->sheet), CAROM_CLOTH, fixture_at(0, 0.1 * i, 0.3 * i));
		defs[i].thickness = 0.1 + 0.05 * i;
	}
	const carom_part parts[2] = { { fixture_of_mesh(p->ball), fixture_at(0.5, 0, 0), 0 },
		{ fixture_box(0.3, 0.3, 0.1), fixture_at(-0.5, 0, 0), 0 } };
	defs[3] = def_of(carom_default_body_def().shape, CAROM_KINEMATIC, fixture_at(0, 0, -0.4));
	defs[3].parts = parts;
	defs[3].part_count = 2;
	defs[4] = def_of(torus, CAROM_STATIC, fixture_at(0, 0, 0.6));
	defs[5] = def_of(fixture_sphere(0.3), CAROM_DYNAMIC, fixture_at(0, 0, 0.9));
	defs[6] = def_of(fixture_sphere(0.3), CAROM_DYNAMIC, fixture_at(0.2, 0.3, 1.2));
	defs[7] = def_of(fixture_of_mesh(p->ball), CAROM_STATIC, fixture_at(0.2, 0, 0.5));
	defs[7].sensor = true;
	defs[8] = def_of(fixture_box(0.2, 0.2, 0.2), CAROM_STATIC, fixture_at(-0.4, 0, 0.9));
	defs[8].sensor = true;
	defs[9] = def_of(fixture_of_mesh(p->ball), CAROM_DEFORMABLE, fixture_at(0.6, 0.6, 0.4));
	defs[9].thickness = 0.05;
	defs[9].mask = 2; // meets nothing but ...
	defs[1].category = 3;
	for (int i = 0; i < BODIES; i++)
		p->ids[i] = add(world, defs[i], (uint64_t)i + 100);
}

static void open_play(play *p, int threads, const carom_world_def *def)
{
	p->context = fixture_context(threads);
	p->world = fixture_world(p->context, def);
	p->sheet = painted_sheet(p->context);
	p->ball = fixture_sphere_mesh(p->context, 0.25, 6);
	p->torus = fixture_torus_mesh(p->context, 8, 6, 0.2, 0);
	fill(p->world, p);
}

static void close_play(play *p)
{
	carom_destroy_world(p->world);
	carom_release_mesh(p->sheet);
	carom_release_mesh(p->ball);
	carom_release_mesh(p->torus);
	carom_destroy_context(p->context);
}

/// Cloths rise and sink, and ripple; the rest stays or trembles.
static void move(carom_world *world, const carom_body_id ids[BODIES], const carom_mesh *sheet, uint64_t *seed)
{
	static double to[3 * FIXTURE_MAX_VERTICES];
	for (int i = 0; i < CLOTHS; i++) {
		const double height = test_random_double(seed, -0.5, 1.3), turn = test_random_double(seed, -3, 3);
		for (int32_t v = 0; v < sheet->topology.vertex_count; v++) {
			const float *p = &sheet->topology.vertices[3 * v];
			to[3 * v] = 0.8 * (p[0] * cos(turn) - p[1] * sin(turn));
			to[3 * v + 1] = 0.8 * (p[0] * sin(turn) + p[1] * cos(turn));
			to[3 * v + 2] = height + 0.1 * sin(7.0 * p[0] + turn);
		}
		const carom_strided end = { to, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, ids[i], &end, &end) == CAROM_SUCCESS);
	}
	for (int i = 5; i < 7; i++) {
		const carom_pose pose = fixture_at(test_random_double(seed, -0.3, 0.3), test_random_double(seed, -0.3, 0.3), 1);
		REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
	}
}

// ---- Dull sets of pairs ----

typedef struct dull_pair {
	carom_body_id a, b;
	int32_t shape_a, shape_b;
	int32_t age, contacts, surface, shapes;
	uint64_t data;
} dull_pair;

typedef struct dull_set {
	dull_pair data[MOST_PAIRS];
	int count;
} dull_set;

static bool is_same(const dull_pair *p, const dull_pair *q)
{
	return fixture_same_id(p->a, q->a) && fixture_same_id(p->b, q->b) && p->shape_a == q->shape_a && p->shape_b == q->shape_b;
}

static dull_pair *find(dull_set *set, const dull_pair *pair)
{
	for (int i = 0; i < set->count; i++) {
		if (is_same(&set->data[i], pair))
			return &set->data[i];
	}
	return NULL;
}

static dull_pair *note(dull_set *set, carom_body_id a, carom_body_id b, int32_t shape_a, int32_t shape_b)
{
	const bool turned = a.index1 > b.index1;
	const dull_pair pair = { turned ? b : a, turned ? a : b, turned ? shape_b : shape_a, turned ? shape_a : shape_b, 0, 0, 0, 0,
		0 };
	dull_pair *found = find(set, &pair);
	if (found)
		return found;
	REQUIRE(set->count < MOST_PAIRS);
	set->data[set->count] = pair;
	return &set->data[set->count++];
}

/// A world of two of the bodies where they are, with no past, of which none is a sensor: do their surfaces touch?
static bool touches(const play *p, int cloth, int other)
{
	carom_world *world = fixture_world(p->context, NULL);
	carom_body_def defs[2];
	carom_body_id ids[2];
	carom_vertex_view at;
	REQUIRE(carom_world_get_body_def(p->world, p->ids[cloth], &defs[0]) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_body_def(p->world, p->ids[other], &defs[1]) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_vertices(p->world, p->ids[cloth], &at) == CAROM_SUCCESS);
	defs[1].sensor = false;
	for (int i = 0; i < 2; i++)
		ids[i] = add(world, defs[i], 0);
	const carom_strided there = { at.data, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(world, ids[0], &there, &there) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_surface_contact_view contacts = carom_world_surface_contacts(world);
	bool found = carom_world_surface_shape_contacts(world).count > 0;
	for (int64_t i = 0; i < contacts.count; i++)
		found = found || !fixture_same_id(contacts.data[i].body_a, contacts.data[i].body_b);
	carom_destroy_world(world);
	return found;
}

/// All pairs that the lists of contacts tell of, and those of sensors, in no order.
static void collect(const play *p, dull_set *set)
{
	const carom_contact_view contacts = carom_world_contacts(p->world);
	const carom_surface_contact_view surface = carom_world_surface_contacts(p->world);
	const carom_surface_shape_contact_view shapes = carom_world_surface_shape_contacts(p->world);
	set->count = 0;
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		note(set, c->body_a, c->body_b, c->shape_a, c->shape_b)->contacts++;
	}
	for (int64_t i = 0; i < surface.count; i++) {
		const carom_surface_contact *c = &surface.data[i];
		note(set, c->body_a, c->body_b, c->shape_a, c->shape_b)->surface++;
	}
	for (int64_t i = 0; i < shapes.count; i++) {
		const carom_surface_shape_contact *c = &shapes.data[i];
		note(set, c->body_a, c->body_b, 0, c->shape_b)->shapes++;
	}
	for (int cloth = 0; cloth < CLOTHS; cloth++) {
		for (int sensor = 7; sensor < 9; sensor++) {
			if (touches(p, cloth, sensor))
				note(set, p->ids[cloth], p->ids[sensor], 0, 0);
		}
	}
	for (int sensor = 7; sensor < 9; sensor++) { // with the balls: not of this file
		const carom_pair_view pairs = carom_world_pairs(p->world);
		for (int32_t i = 0; i < pairs.count; i++) {
			const carom_pair *pair = &pairs.data[i];
			if (fixture_same_id(pair->body_b, p->ids[sensor]) && pair->body_a.index1 > p->ids[CLOTHS - 1].index1)
				note(set, pair->body_a, pair->body_b, pair->shape_a, pair->shape_b);
		}
	}
}

/// The range of a pair holds contacts that name it.
static void check_ranges(const carom_world *world, int32_t row)
{
	const carom_pair *pair = &carom_world_pairs(world).data[row];
	const carom_surface_contact_view surface = carom_world_surface_contacts(world);
	const carom_surface_shape_contact_view shapes = carom_world_surface_shape_contacts(world);
	REQUIRE(pair->first_surface_contact >= 0 && pair->first_surface_contact + pair->surface_contact_count <= surface.count);
	REQUIRE(pair->first_surface_shape_contact >= 0 &&
		pair->first_surface_shape_contact + pair->surface_shape_contact_count <= shapes.count);
	for (int32_t i = 0; i < pair->surface_contact_count; i++)
		CHECK_INT(surface.data[pair->first_surface_contact + i].pair, row);
	for (int32_t i = 0; i < pair->surface_shape_contact_count; i++)
		CHECK_INT(shapes.data[pair->first_surface_shape_contact + i].pair, row);
}

/// The view of pairs is the dull set, with the ages and data of the last one.
static void check_pairs(const play *p, dull_set *now, dull_set *last)
{
	const carom_pair_view pairs = carom_world_pairs(p->world);
	CHECK_INT(pairs.count, now->count);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i];
		const dull_pair key = { .a = pair->body_a, .b = pair->body_b, .shape_a = pair->shape_a, .shape_b = pair->shape_b };
		dull_pair *dull = find(now, &key);
		const dull_pair *before = find(last, &key);
		if (!CHECK(dull != NULL))
			continue;
		dull->age = before ? before->age + 1 : 0;
		dull->data = before ? before->data : 0;
		CHECK_INT(pair->age, dull->age);
		CHECK(pair->user_data == dull->data);
		CHECK_INT(pair->contact_count, dull->contacts);
		CHECK_INT(pair->surface_contact_count, dull->surface);
		CHECK_INT(pair->surface_shape_contact_count, dull->shapes);
		CHECK((pair->contact_count > 0) + (pair->surface_contact_count > 0) + (pair->surface_shape_contact_count > 0) <= 1);
		for (int k = 0; k < BODIES; k++)
			CHECK(!fixture_same_id(pair->body_a, p->ids[k]) || pair->user_data_a == (uint64_t)k + 100);
		check_ranges(p->world, i);
	}
}

/// Events are the difference of the two sets.
static void check_events(const play *p, dull_set *now, dull_set *last, int kinds[3])
{
	const carom_event_view events = carom_world_events(p->world);
	int expected = now->count;
	for (int i = 0; i < last->count; i++)
		expected += !find(now, &last->data[i]);
	CHECK_INT(events.count, expected);
	for (int32_t i = 0; i < events.count; i++) {
		const carom_event *e = &events.data[i];
		const dull_pair key = { .a = e->body_a, .b = e->body_b, .shape_a = e->shape_a, .shape_b = e->shape_b };
		const dull_pair *before = find(last, &key);
		CHECK_INT(e->kind, !find(now, &key) ? CAROM_EVENT_END : before ? CAROM_EVENT_PERSIST : CAROM_EVENT_BEGIN);
		CHECK(e->pair_data == (before ? before->data : 0));
		kinds[e->kind]++;
	}
}

TEST(surface_events, are_the_difference_of_the_sets_of_pairs)
{
	static dull_set sets[2];
	play p;
	uint64_t seed = 17;
	int kinds[3] = { 0 }, sensed = 0;
	open_play(&p, 1, NULL);
	sets[1].count = 0;
	for (int step = 0; step < 40 / TEST_FEWER; step++) {
		dull_set *now = &sets[step % 2], *last = &sets[1 - step % 2];
		if (step % 4 != 3) // else all stays
			move(p.world, p.ids, p.sheet, &seed);
		fixture_step(p.world);
		fixture_check_views(p.world);
		collect(&p, now);
		check_pairs(&p, now, last);
		check_events(&p, now, last, kinds);
		int surfaces = 0;
		for (int i = 0; i < now->count; i++) {
			const bool sensor = fixture_same_id(now->data[i].b, p.ids[7]) || fixture_same_id(now->data[i].b, p.ids[8]);
			const bool cloth = now->data[i].a.index1 <= p.ids[CLOTHS - 1].index1;
			surfaces += cloth;
			sensed += cloth && sensor;
			const carom_pair *pairs = carom_world_pairs(p.world).data;
			for (int32_t k = 0; k < now->count; k++) {
				const dull_pair key = {
					.a = pairs[k].body_a, .b = pairs[k].body_b, .shape_a = pairs[k].shape_a, .shape_b = pairs[k].shape_b
				};
				if (!is_same(&key, &now->data[i]) || (step + i) % 3 != 0)
					continue;
				now->data[i].data = (uint64_t)(100 * step + i);
				REQUIRE(carom_world_set_pair_data(p.world, k, now->data[i].data) == CAROM_SUCCESS);
			}
		}
		CHECK_INT(carom_world_stats(p.world).surface_pairs, surfaces);
	}
	CHECK(kinds[CAROM_EVENT_BEGIN] > 20 && kinds[CAROM_EVENT_PERSIST] > 20 && kinds[CAROM_EVENT_END] > 20);
	CHECK(sensed > 5);
	fixture_expect_wrong(p.context, carom_world_set_pair_data(p.world, carom_world_pairs(p.world).count, 1),
		"carom_world_set_pair_data: pair is");
	close_play(&p);
}

// ---- Within a body ----

/// Bend a sheet by a half turn, gap between its halves.
static void fold(carom_world *world, carom_body_id id, const carom_mesh *sheet, double gap)
{
	static double to[3 * FIXTURE_MAX_VERTICES];
	const double radius = 0.5 * gap;
	for (int32_t v = 0; v < sheet->topology.vertex_count; v++) {
		const float *p = &sheet->topology.vertices[3 * v];
		const double angle = fmin(fmax(p[0] / radius, 0), FIXTURE_PI), beyond = fmax(p[0] - FIXTURE_PI * radius, 0);
		to[3 * v] = p[0] < 0 ? p[0] : radius * sin(angle) - beyond;
		to[3 * v + 1] = p[1];
		to[3 * v + 2] = p[0] < 0 ? 0 : radius * (1 - cos(angle));
	}
	const carom_strided end = { to, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(world, id, &end, &end) == CAROM_SUCCESS);
}

TEST(surface_events, a_surface_that_touches_itself_is_a_pair)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 20, 2);
	carom_world *world = fixture_world(context, NULL);
	carom_body_def def = def_of(fixture_of_mesh(sheet), CAROM_CLOTH, fixture_at(0, 0, 0));
	def.thickness = 0.15;
	const carom_body_id id = add(world, def, 5);
	const carom_event_kind expected[4] = { CAROM_EVENT_BEGIN, CAROM_EVENT_PERSIST, CAROM_EVENT_PERSIST, CAROM_EVENT_END };
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 0);
	for (int step = 0; step < 4; step++) {
		fold(world, id, sheet, step < 3 ? 0.12 : 0.4);
		fixture_step(world);
		const carom_event_view events = carom_world_events(world);
		REQUIRE(events.count == 1);
		CHECK_INT(events.data[0].kind, expected[step]);
		CHECK(fixture_same_id(events.data[0].body_a, id) && fixture_same_id(events.data[0].body_b, id));
		CHECK(events.data[0].user_data_a == 5 && events.data[0].user_data_b == 5);
		CHECK_INT(carom_world_pairs(world).count, step < 3);
		if (step < 3)
			CHECK_INT(carom_world_pairs(world).data[0].surface_contact_count, carom_world_surface_contacts(world).count);
	}
	carom_destroy_world(world);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// ---- Sensors ----

TEST(surface_events, sensors_know_what_is_in_them)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 3, 0.4), *ball = fixture_sphere_mesh(context, 1, 10);
	for (int kind = 0; kind < 4; kind++) { // a mesh or a box; cloth without thickness has no pairs
		carom_world *world = fixture_world(context, NULL);
		carom_body_def def =
			def_of(kind % 2 ? fixture_box(0.9, 0.9, 1) : fixture_of_mesh(ball), CAROM_STATIC, fixture_at(0, 0, 0));
		def.sensor = true;
		const carom_body_id sensor = add(world, def, 1);
		def = def_of(fixture_of_mesh(sheet), CAROM_CLOTH, fixture_at(0, 0, 2));
		def.thickness = kind < 2 ? 0.1 : 0;
		const carom_body_id cloth = add(world, def, 2);
		for (int step = 0; step < 40; step++) {
			const double z = 2 - 0.1 * step - 0.005;
			double to[3 * 16];
			for (int32_t v = 0; v < 16; v++) {
				for (int k = 0; k < 3; k++)
					to[3 * v + k] = (double)sheet->topology.vertices[3 * v + k] + (k == 2 ? z : 0);
			}
			const carom_strided end = { to, 0, CAROM_FLOAT64 };
			REQUIRE(carom_world_set_vertices(world, cloth, NULL, &end) == CAROM_SUCCESS);
			fixture_step(world);
			CHECK_INT(carom_world_surface_contacts(world).count + carom_world_surface_shape_contacts(world).count, 0);
			const carom_pair_view pairs = carom_world_pairs(world);
			const bool in = kind < 2 && fabs(z) < 1.04;
			if (fabs(fabs(z) - 1.05) > 0.03) // the ball has corners
				CHECK_INT(pairs.count, in);
			CHECK(pairs.count == 0 ||
				(fixture_same_id(pairs.data[0].body_a, sensor) && fixture_same_id(pairs.data[0].body_b, cloth)));
			CHECK(pairs.count == 0 || (pairs.data[0].surface_contact_count == 0 && pairs.data[0].contact_count == 0));
			CHECK(carom_world_events(world).count <= 1);
		}
		carom_destroy_world(world);
	}
	carom_release_mesh(sheet);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

// ---- Impulses ----

static bool same_features(const carom_surface_contact *a, const carom_surface_contact *b)
{
	return fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b) && a->shape_a == b->shape_a &&
		a->shape_b == b->shape_b && a->kind == b->kind && memcmp(a->vertices, b->vertices, sizeof a->vertices) == 0;
}

static bool same_shape_features(const carom_surface_shape_contact *a, const carom_surface_shape_contact *b)
{
	return fixture_same_id(a->body_a, b->body_a) && fixture_same_id(a->body_b, b->body_b) && a->shape_b == b->shape_b &&
		memcmp(a->vertices, b->vertices, sizeof a->vertices) == 0;
}

enum { MOST_CONTACTS = 3000 };

/// The surface contacts of a step, with the impulses that were stored.
typedef struct stored {
	carom_surface_contact surface[MOST_CONTACTS];
	carom_surface_shape_contact shapes[MOST_CONTACTS];
	int64_t count, shape_count;
} stored;

/// Does a view still have a contact with the features of one?
static bool is_there(const carom_surface_contact_view *view, const carom_surface_contact *c)
{
	bool found = false;
	for (int64_t i = 0; i < view->count && !found; i++)
		found = same_features(&view->data[i], c);
	return found;
}

/// The stored impulses of a vertex that had a contact with the surface, at a triangle that it has left.
static bool has_slid(const carom_surface_contact_view *view, const carom_surface_contact *now, const stored *last)
{
	bool found = false;
	for (int64_t k = 0; k < last->count && !found; k++) {
		const carom_surface_contact *then = &last->surface[k];
		found = then->kind == CAROM_SWEEP_VERTEX_FACE && now->kind == then->kind && then->vertices[0] == now->vertices[0] &&
			fixture_same_id(then->body_a, now->body_a) && fixture_same_id(then->body_b, now->body_b) && !is_there(view, then) &&
			memcmp(then->impulse, now->impulse, sizeof now->impulse) == 0;
	}
	return found;
}

/// The stored impulses of a feature that has lost its contact with the shape, and has a vertex of this one.
static bool has_passed(const carom_surface_shape_contact_view *view, const carom_surface_shape_contact *now, const stored *last)
{
	bool found = false;
	for (int64_t k = 0; k < last->shape_count && !found; k++) {
		const carom_surface_shape_contact *then = &last->shapes[k];
		bool lost = true, shared = false;
		for (int64_t i = 0; i < view->count; i++)
			lost = lost && !same_shape_features(&view->data[i], then);
		for (int i = 0; i < 9; i++)
			shared = shared || (now->vertices[i / 3] >= 0 && now->vertices[i / 3] == then->vertices[i % 3]);
		found = lost && shared && memcmp(then->impulse, now->impulse, sizeof now->impulse) == 0;
	}
	return found;
}

/// Contacts that go on have what was stored for their features, and new ones of a vertex what was stored for it elsewhere on the
/// surface. Returns how many go on.
static int check_impulses(const carom_world *world, const stored *last)
{
	const carom_surface_contact_view surface = carom_world_surface_contacts(world);
	const carom_surface_shape_contact_view shapes = carom_world_surface_shape_contacts(world);
	static const float none[3];
	int go_on = 0;
	for (int64_t i = 0; i < surface.count; i++) {
		const float *wanted = none;
		for (int64_t k = 0; k < last->count; k++)
			wanted = same_features(&surface.data[i], &last->surface[k]) ? last->surface[k].impulse : wanted;
		CHECK(memcmp(surface.data[i].impulse, wanted, sizeof none) == 0 ||
			(wanted == none && has_slid(&surface, &surface.data[i], last)));
		CHECK((surface.data[i].age > 0) == (wanted != none));
		go_on += wanted != none;
	}
	for (int64_t i = 0; i < shapes.count; i++) {
		const float *wanted = none;
		for (int64_t k = 0; k < last->shape_count; k++)
			wanted = same_shape_features(&shapes.data[i], &last->shapes[k]) ? last->shapes[k].impulse : wanted;
		CHECK(memcmp(shapes.data[i].impulse, wanted, sizeof none) == 0 ||
			(wanted == none && has_passed(&shapes, &shapes.data[i], last)));
		go_on += wanted != none;
	}
	return go_on;
}

static void store_impulses(carom_world *world, int step, stored *now)
{
	const carom_surface_contact_view surface = carom_world_surface_contacts(world);
	const carom_surface_shape_contact_view shapes = carom_world_surface_shape_contacts(world);
	static float all[2][3 * MOST_CONTACTS];
	REQUIRE(surface.count <= MOST_CONTACTS && shapes.count <= MOST_CONTACTS);
	for (int32_t i = 0; i < MOST_CONTACTS; i++) {
		memcpy(&all[0][3 * i], ((float[3]){ (float)i, (float)step, 1 }), 3 * sizeof **all);
		memcpy(&all[1][3 * i], ((float[3]){ (float)step, 2, (float)i }), 3 * sizeof **all);
	}
	if (step % 2) {
		REQUIRE(carom_world_set_surface_impulses(world, surface.count, all[0]) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_surface_shape_impulses(world, shapes.count, all[1]) == CAROM_SUCCESS);
	}
	for (int32_t i = 0; i < surface.count && step % 2 == 0; i++)
		REQUIRE(carom_world_set_surface_impulse(world, i, &all[0][3 * i]) == CAROM_SUCCESS);
	for (int32_t i = 0; i < shapes.count && step % 2 == 0; i++)
		REQUIRE(carom_world_set_surface_shape_impulse(world, i, &all[1][3 * i]) == CAROM_SUCCESS);
	now->count = surface.count;
	now->shape_count = shapes.count;
	for (int64_t i = 0; i < surface.count; i++)
		now->surface[i] = surface.data[i];
	for (int64_t i = 0; i < shapes.count; i++)
		now->shapes[i] = shapes.data[i];
}

TEST(surface_events, impulses_are_handed_back_to_the_same_features)
{
	static stored last;
	play p;
	uint64_t seed = 6, hash = 0;
	int go_on = 0;
	open_play(&p, 2, NULL);
	fixture_tape tape = { 0 };
	carom_snapshot *snapshots[2];
	for (int i = 0; i < 2; i++)
		REQUIRE(carom_create_snapshot(p.world, &snapshots[i]) == CAROM_SUCCESS);
	REQUIRE(carom_world_record(p.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	last.count = last.shape_count = 0;
	for (int step = 0; step < 12; step++) {
		if (step % 3 == 0)
			move(p.world, p.ids, p.sheet, &seed);
		fixture_step(p.world);
		hash = carom_world_hash(p.world);
		go_on += check_impulses(p.world, &last);
		store_impulses(p.world, step, &last);
		CHECK(carom_world_hash(p.world) == hash); // impulses are not in it
	}
	CHECK(go_on > 50);
	REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(p.context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK(result.hash == hash && result.steps == 12);
	REQUIRE(carom_world_save(p.world, snapshots[0]) == CAROM_SUCCESS);
	fixture_step(p.world);
	REQUIRE(carom_world_restore(p.world, snapshots[0]) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK(check_impulses(p.world, &last) > 0);
	REQUIRE(carom_world_restore(p.world, snapshots[0]) == CAROM_SUCCESS);
	carom_snapshot_difference difference;
	REQUIRE(last.shape_count > 0);
	REQUIRE(carom_world_set_surface_shape_impulse(p.world, 0, (float[3]){ 9, 9, 9 }) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(p.world, snapshots[1]) == CAROM_SUCCESS);
	CHECK(carom_snapshots_differ(snapshots[0], snapshots[1], &difference));
	CHECK_STR(difference.field, "impulse");
	for (int i = 0; i < 2; i++)
		carom_destroy_snapshot(snapshots[i]);
	free(tape.bytes);
	close_play(&p);
}

TEST(surface_events, a_wrong_impulse_is_an_error)
{
	play p;
	open_play(&p, 1, NULL);
	const float good[3] = { 1, 2, 3 }, bad[3] = { 1, NAN, 3 };
	fixture_expect_wrong(p.context, carom_world_set_surface_impulse(p.world, 0, good), "contact is 0, but there are 0 contacts");
	fixture_step(p.world);
	REQUIRE(carom_world_surface_contacts(p.world).count > 0 && carom_world_surface_shape_contacts(p.world).count > 0);
	fixture_expect_wrong(p.context, carom_world_set_surface_impulse(p.world, -1, good), "contact is -1");
	fixture_expect_wrong(p.context, carom_world_set_surface_impulse(p.world, 0, NULL), "impulse is NULL");
	fixture_expect_wrong(p.context, carom_world_set_surface_shape_impulse(p.world, 0, bad), "impulse[1] is not finite");
	fixture_expect_wrong(
		p.context, carom_world_set_sphere_impulse(p.world, 0, good), "carom_world_set_sphere_impulse: contact is 0");
	close_play(&p);
}

TEST(surface_events, wrong_impulses_are_an_error_and_store_nothing)
{
	static float all[3 * MOST_CONTACTS];
	play p;
	open_play(&p, 1, NULL);
	CHECK_INT(carom_world_set_surface_impulses(p.world, 0, NULL), CAROM_SUCCESS); // none of none
	CHECK_INT(carom_world_set_impulses(p.world, 0, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_world_set_sphere_impulses(p.world, 0, NULL), CAROM_SUCCESS);
	fixture_step(p.world);
	const int64_t count = carom_world_surface_contacts(p.world).count,
				  shapes = carom_world_surface_shape_contacts(p.world).count;
	const int64_t plain = carom_world_contacts(p.world).count + 1;
	REQUIRE(count > 1 && count < MOST_CONTACTS && shapes > 0);
	for (int64_t i = 0; i < 3 * count; i++)
		all[i] = 1;
	fixture_expect_wrong(
		p.context, carom_world_set_surface_impulses(p.world, count + 1, all), "carom_world_set_surface_impulses: count is ");
	fixture_expect_wrong(p.context, carom_world_set_surface_impulses(p.world, -1, all), "count is -1, but there are ");
	fixture_expect_wrong(p.context, carom_world_set_surface_shape_impulses(p.world, shapes, NULL), "impulses is NULL");
	fixture_expect_wrong(p.context, carom_world_set_impulses(p.world, plain, all), "carom_world_set_impulses: count is ");
	fixture_expect_wrong(
		p.context, carom_world_set_sphere_impulses(p.world, 2, all), "carom_world_set_sphere_impulses: count is 2");
	all[3 * count - 2] = NAN;
	fixture_expect_wrong(p.context, carom_world_set_surface_impulses(p.world, count, all), "is not finite");
	for (int64_t i = 0; i < count; i++)
		CHECK(carom_world_surface_contacts(p.world).data[i].impulse[0] == 0);
	close_play(&p);
}

/// A sheet slides over a ground of many triangles. Each of its vertices keeps its impulse all the way.
TEST(surface_events, a_vertex_that_slides_keeps_its_impulse)
{
	enum { STEPS = 20 };
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *sheet = fixture_sheet_mesh(context, 4, 0.4), *ground = fixture_sheet_mesh(context, 12, 2);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.thickness = 0.04;
	def.shape = fixture_of_mesh(sheet);
	def.pose = fixture_at(-0.5, -0.21, 0.011);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	fixture_add(world, fixture_of_mesh(ground), fixture_at(0, 0, 0), CAROM_STATIC);
	double places[3 * 25];
	carom_vertex_view view;
	REQUIRE(carom_world_get_vertices(world, id, &view) == CAROM_SUCCESS && view.count == 25);
	memcpy(places, view.data, sizeof places);
	int kept = 0, slid = 0, of_vertices = 0;
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < 25; i++) {
			places[3 * i] += 0.047;
			places[3 * i + 1] += 0.013;
		}
		const carom_strided end = { places, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, id, NULL, &end) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_surface_contact_view contacts = carom_world_surface_contacts(world);
		for (int32_t i = 0; i < contacts.count; i++) {
			const carom_surface_contact *c = &contacts.data[i];
			if (c->kind != CAROM_SWEEP_VERTEX_FACE || !fixture_same_id(c->body_a, id))
				continue;
			of_vertices += step > 0;
			kept += step > 0 && c->impulse[0] == (float)(c->vertices[0] + 1);
			slid += step > 0 && c->age == 0;
			REQUIRE(carom_world_set_surface_impulse(world, i, (float[3]){ (float)(c->vertices[0] + 1), 0, 0 }) == CAROM_SUCCESS);
		}
	}
	CHECK_INT(of_vertices, 25 * (STEPS - 1));
	CHECK_INT(kept, of_vertices); // without the slid ones before
	CHECK(slid > 100);
	carom_release_mesh(sheet);
	carom_release_mesh(ground);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

// ---- The contact filter ----

/// Some contacts, by what the filter is told of them.
static bool is_wanted(const carom_contact *c, uint64_t data_a, uint64_t data_b)
{
	const uint64_t sum = (uint64_t)c->feature_a * 3 + (uint64_t)c->feature_b * 5 + c->material_a * 7 + c->material_b * 11 +
		(uint64_t)c->kind * 13 + data_a * 17 + data_b * 19 + (uint64_t)c->shape_a * 23 + (uint64_t)c->shape_b * 29 +
		(uint64_t)(c->depth * 1e4f) + (uint64_t)(c->normal[2] > 0) * 31;
	return sum % 3 != 0;
}

static bool keep_some(const carom_contact *c, uint64_t data_a, uint64_t data_b, void *user)
{
	atomic_fetch_add((atomic_int *)user, 1);
	return is_wanted(c, data_a, data_b);
}

static bool keep_none(const carom_contact *c, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)c, (void)data_a, (void)data_b, (void)user;
	return false;
}

/// 3 * triangle + corner of the lowest triangle that has an edge (or a vertex: q is -1), by looking at all.
static int32_t dull_corner(const carom_mesh *mesh, int32_t p, int32_t q)
{
	const int32_t *t = mesh->topology.triangles;
	for (int32_t i = 0; i < 3 * mesh->topology.triangle_count; i++) {
		const int32_t from = t[i], to = t[i - i % 3 + (i + 1) % 3];
		if ((q < 0 && from == p) || (from == p && to == q) || (from == q && to == p))
			return i;
	}
	return -1;
}

static uint32_t dull_material(const carom_mesh *mesh, int32_t triangle)
{
	return triangle < 0 || !mesh->materials ? 0 : mesh->materials[triangle];
}

static const carom_mesh *mesh_of(const carom_world *world, carom_body_id id, int32_t part)
{
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(world, id, &def) == CAROM_SUCCESS);
	const carom_shape *shape = def.part_count > 0 ? &def.parts[part].shape : &def.shape;
	return shape->type == CAROM_MESH ? shape->mesh : NULL;
}

/// A contact as the filter sees it, made by looking at everything.
static carom_contact seen(const carom_world *world, const carom_surface_contact *c)
{
	const carom_mesh *mesh_a = mesh_of(world, c->body_a, c->shape_a), *mesh_b = mesh_of(world, c->body_b, c->shape_b);
	const bool face = c->kind == CAROM_SWEEP_VERTEX_FACE, turned = c->body_a.index1 > c->body_b.index1;
	const int32_t edge_a = face ? 0 : dull_corner(mesh_a, c->vertices[0], c->vertices[1]);
	const int32_t edge_b = face ? 0 : dull_corner(mesh_b, c->vertices[2], c->vertices[3]);
	const int32_t numbers[2] = { face ? c->vertices[0] : edge_a, face ? c->triangle : edge_b };
	const uint32_t materials[2] = { dull_material(mesh_a, face ? dull_corner(mesh_a, c->vertices[0], -1) / 3 : edge_a / 3),
		dull_material(mesh_b, face ? c->triangle : edge_b / 3) };
	return (carom_contact){ .kind = !face ? CAROM_EDGES
			: turned                      ? CAROM_VERTEX_B
										  : CAROM_VERTEX_A,
		.feature_a = numbers[turned],
		.feature_b = numbers[!turned],
		.material_a = materials[turned],
		.material_b = materials[!turned],
		.shape_a = turned ? c->shape_b : c->shape_a,
		.shape_b = turned ? c->shape_a : c->shape_b,
		.normal = { 0, 0, (float)(turned ? -c->normal.z : c->normal.z) },
		.depth = (float)(c->thickness - c->distance) };
}

static carom_contact seen_with_shape(const carom_world *world, const carom_surface_shape_contact *c)
{
	const carom_mesh *mesh = mesh_of(world, c->body_a, 0);
	const bool turned = c->body_a.index1 > c->body_b.index1;
	const int32_t triangle = c->triangle >= 0 ? c->triangle : dull_corner(mesh, c->vertices[0], c->vertices[1]) / 3;
	return (carom_contact){ .kind = CAROM_VOLUMES,
		.feature_a = turned ? 0 : triangle,
		.feature_b = turned ? triangle : 0,
		.material_a = turned ? 0 : dull_material(mesh, triangle),
		.material_b = turned ? dull_material(mesh, triangle) : 0,
		.shape_a = turned ? c->shape_b : 0,
		.shape_b = turned ? 0 : c->shape_b,
		.normal = { 0, 0, (float)(turned ? -c->normal.z : c->normal.z) },
		.depth = (float)(c->thickness - c->distance) };
}

/// The surface contacts of a filtered world are those of the other one that the filter wants.
static int compare(const carom_world *all, const carom_world *some)
{
	const carom_surface_contact_view found = carom_world_surface_contacts(all), kept = carom_world_surface_contacts(some);
	const carom_surface_shape_contact_view shapes = carom_world_surface_shape_contacts(all),
										   kept_shapes = carom_world_surface_shape_contacts(some);
	int64_t row = 0, dropped = 0;
	for (int64_t i = 0; i < found.count; i++) {
		const carom_surface_contact *c = &found.data[i];
		const bool turned = c->body_a.index1 > c->body_b.index1;
		const carom_contact shown = seen(all, c);
		if (!is_wanted(&shown, turned ? c->user_data_b : c->user_data_a, turned ? c->user_data_a : c->user_data_b)) {
			dropped++;
			continue;
		}
		if (!CHECK(row < kept.count))
			return 0;
		CHECK(kept.data[row].distance == c->distance && memcmp(kept.data[row].vertices, c->vertices, sizeof c->vertices) == 0);
		row++;
	}
	CHECK_INT(row, kept.count);
	row = 0;
	for (int64_t i = 0; i < shapes.count; i++) {
		const carom_surface_shape_contact *c = &shapes.data[i];
		const bool turned = c->body_a.index1 > c->body_b.index1;
		const carom_contact shown = seen_with_shape(all, c);
		if (!is_wanted(&shown, turned ? c->user_data_b : c->user_data_a, turned ? c->user_data_a : c->user_data_b)) {
			dropped++;
			continue;
		}
		if (!CHECK(row < kept_shapes.count))
			return 0;
		CHECK(kept_shapes.data[row].distance == c->distance && kept_shapes.data[row].triangle == c->triangle);
		row++;
	}
	CHECK_INT(row, kept_shapes.count);
	return (int)dropped;
}

TEST(surface_events, the_contact_filter_sees_surface_contacts)
{
	play p;
	uint64_t seed = 29;
	int dropped = 0;
	atomic_int asked = 0;
	carom_world_def def = carom_default_world_def();
	def.contact_filter = keep_some;
	def.filter_user = &asked;
	open_play(&p, 2, NULL);
	for (int step = 0; step < 10; step++) {
		// Fresh worlds: what is left out is not remembered.
		carom_world *worlds[2] = { fixture_world(p.context, NULL), fixture_world(p.context, &def) };
		const uint64_t before = seed;
		for (int i = 0; i < 2; i++) {
			fill(worlds[i], &p);
			seed = before;
			move(worlds[i], p.ids, p.sheet, &seed);
			fixture_step(worlds[i]);
		}
		dropped += compare(worlds[0], worlds[1]);
		fixture_check_views(worlds[1]);
		for (int i = 0; i < 2; i++)
			carom_destroy_world(worlds[i]);
	}
	CHECK(dropped > 50 && atomic_load(&asked) > 2 * dropped);
	close_play(&p);
}

TEST(surface_events, a_pair_without_contacts_is_none)
{
	play p;
	uint64_t seed = 31;
	carom_world_def def = carom_default_world_def();
	def.contact_filter = keep_none;
	open_play(&p, 1, &def);
	for (int step = 0; step < 5; step++) {
		move(p.world, p.ids, p.sheet, &seed);
		fixture_step(p.world);
		const carom_pair_view pairs = carom_world_pairs(p.world);
		for (int32_t i = 0; i < pairs.count; i++) // sensors stay
			CHECK(fixture_same_id(pairs.data[i].body_b, p.ids[7]) || fixture_same_id(pairs.data[i].body_b, p.ids[8]));
		CHECK_INT(carom_world_surface_contacts(p.world).count + carom_world_surface_shape_contacts(p.world).count, 0);
	}
	close_play(&p);
}

/// Lets pass what comes from below: body_a is the platform, so its normal points down where B is above.
static bool one_way(const carom_contact *c, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)data_a, (void)data_b, (void)user;
	return c->normal[2] < 0;
}

TEST(surface_events, a_platform_of_one_way_is_passed_from_below)
{
	carom_context *context = fixture_context(1);
	carom_mesh *platform = fixture_sheet_mesh(context, 6, 2), *sheet = fixture_sheet_mesh(context, 3, 0.4);
	carom_world_def world_def = carom_default_world_def();
	world_def.contact_filter = one_way;
	carom_world *world = fixture_world(context, &world_def);
	add(world, def_of(fixture_of_mesh(platform), CAROM_STATIC, fixture_at(0.01, 0.02, 0)), 0);
	carom_body_def def = def_of(fixture_of_mesh(sheet), CAROM_CLOTH, fixture_at(0, 0, -0.09));
	def.thickness = 0.1;
	const carom_body_id cloth = add(world, def, 0);
	for (int step = 0; step <= 16; step++) { // up to 0.062 and down to -0.09
		const double z = -0.09 + 0.019 * (step <= 8 ? step : 16 - step);
		double to[3 * 16];
		for (int32_t v = 0; v < 16; v++) {
			for (int k = 0; k < 3; k++)
				to[3 * v + k] = (double)sheet->topology.vertices[3 * v + k] + (k == 2 ? z : 0);
		}
		const carom_strided end = { to, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, cloth, NULL, &end) == CAROM_SUCCESS);
		fixture_step(world);
		const carom_surface_contact_view contacts = carom_world_surface_contacts(world);
		// It passes the platform in step 5, and is seen from above from then on.
		CHECK((contacts.count > 0) == (step > 5 && z < 0.05));
		for (int64_t i = 0; i < contacts.count; i++)
			CHECK(contacts.data[i].through == (z < 0));
		CHECK_INT(carom_world_pairs(world).count, contacts.count > 0);
	}
	carom_destroy_world(world);
	carom_release_mesh(platform);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// ---- The state of a world ----

static void live(carom_world *world, const play *p, uint64_t *seed)
{
	move(world, p->ids, p->sheet, seed);
	fixture_step(world);
	for (int32_t i = 0; i < carom_world_pairs(world).count; i += 2)
		REQUIRE(carom_world_set_pair_data(world, i, *seed + (uint64_t)i) == CAROM_SUCCESS);
}

static bool same_pairs(const carom_world *world, const carom_pair *pairs, int32_t count)
{
	const carom_pair_view now = carom_world_pairs(world);
	return now.count == count && (count == 0 || memcmp(now.data, pairs, (size_t)count * sizeof *pairs) == 0);
}

/// The pairs of the last of some steps.
static int32_t pairs_with(int threads, carom_pair pairs[MOST_PAIRS])
{
	play p;
	uint64_t seed = 37;
	atomic_int asked = 0;
	carom_world_def def = carom_default_world_def();
	def.contact_filter = keep_some;
	def.filter_user = &asked;
	open_play(&p, threads, &def);
	for (int step = 0; step < 4; step++)
		live(p.world, &p, &seed);
	const carom_pair_view view = carom_world_pairs(p.world);
	REQUIRE(view.count > 3 && view.count < MOST_PAIRS);
	memcpy(pairs, view.data, (size_t)view.count * sizeof *pairs);
	close_play(&p);
	return view.count;
}

TEST(surface_events, are_alike_on_any_number_of_threads)
{
	static carom_pair one[MOST_PAIRS], three[MOST_PAIRS];
	const int32_t count = pairs_with(1, one);
	CHECK_INT(pairs_with(3, three), count);
	CHECK(memcmp(one, three, (size_t)count * sizeof *one) == 0);
}

TEST(surface_events, come_back_with_snapshots_and_recordings)
{
	static carom_pair pairs[MOST_PAIRS];
	play p;
	uint64_t seed = 41;
	atomic_int asked = 0;
	carom_world_def def = carom_default_world_def();
	fixture_tape tape = { 0 };
	def.contact_filter = keep_some;
	def.filter_user = &asked;
	open_play(&p, 1, &def);
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(p.world, &snapshot) == CAROM_SUCCESS);
	live(p.world, &p, &seed);
	REQUIRE(carom_world_save(p.world, snapshot) == CAROM_SUCCESS);
	const uint64_t at = seed;
	for (int turn = 0; turn < 2; turn++) {
		seed = at;
		for (int step = 0; step < 3; step++)
			live(p.world, &p, &seed);
		const carom_pair_view view = carom_world_pairs(p.world);
		REQUIRE(view.count < MOST_PAIRS);
		if (turn == 1) {
			CHECK(same_pairs(p.world, pairs, view.count));
			break;
		}
		memcpy(pairs, view.data, (size_t)view.count * sizeof *pairs);
		REQUIRE(carom_world_restore(p.world, snapshot) == CAROM_SUCCESS);
	}
	REQUIRE(carom_world_record(p.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	for (int step = 0; step < 4; step++)
		live(p.world, &p, &seed);
	REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(p.context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.first_difference, -1);
	carom_destroy_snapshot(snapshot);
	free(tape.bytes);
	close_play(&p);
}

static void fill_pile(carom_world *world, void *user)
{
	const carom_mesh *sheet = user;
	for (int i = 0; i < 2; i++) {
		carom_body_def def = def_of(fixture_of_mesh(sheet), CAROM_CLOTH, fixture_at(0, 0.05 * i, 0.04 * i));
		def.thickness = 0.1;
		add(world, def, 0);
	}
	carom_body_def def = def_of(fixture_sphere(0.4), CAROM_STATIC, fixture_at(0, 0, -0.42));
	add(world, def, 0);
	def.sensor = true;
	add(world, def, 0);
	add(world, def_of(fixture_sphere(0.4), CAROM_DYNAMIC, fixture_at(5, 0, 0)), 0);
	add(world, def_of(fixture_sphere(0.4), CAROM_DYNAMIC, fixture_at(5.5, 0, 0)), 0);
}

static bool keep_all(const carom_contact *c, uint64_t data_a, uint64_t data_b, void *user)
{
	(void)c, (void)data_a, (void)data_b, (void)user;
	return true;
}

TEST(surface_events, fail_without_memory_and_go_on)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 3, 1);
	carom_world_def def = carom_default_world_def();
	def.contact_filter = keep_all;
	CHECK(fixture_fail_each_allocation(&heap, context, &def, fill_pile, sheet, 4) > 20);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
