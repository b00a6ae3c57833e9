/// Ids of the spheres of granular bodies. The oracle is a body whose sphere number i is always the one with id i: those that
/// are not there are parked far away. Contacts of both have equal ages and impulses.
#include "fixture.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 90 };

/// Two bodies of spheres in two worlds: by id, and parked.
typedef struct heap_pair {
	carom_context *context;
	carom_mesh *torus;
	carom_world *world, *dull;
	carom_body_id grains, dull_grains;
	double at[4 * ALL]; // by id
	bool there[ALL];
	uint64_t factor; // ids of the caller: factor * number
	double listed[4 * ALL];
	uint64_t ids[ALL];
	int32_t count;
} heap_pair;

static carom_body_id add_grains(carom_world *world, const double *spheres, int32_t count, bool continuous)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = CAROM_GRANULAR;
	def.sphere_count = count;
	def.centres = fixture_centres(spheres);
	def.radii = fixture_radii(spheres);
	def.continuous = continuous;
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

static void add_targets(heap_pair *p, carom_world *world)
{
	fixture_add(world, fixture_of_mesh(p->torus), fixture_at(0, 0, 0.3), CAROM_STATIC);
	fixture_add(world, fixture_box(0.5, 0.4, 0.3), fixture_at(0.2, 0.6, -0.4), CAROM_KINEMATIC);
	fixture_add(world, fixture_sphere(0.6), fixture_at(-0.6, -0.2, 0), CAROM_DYNAMIC);
}

static void open_pair(heap_pair *p, int threads, uint64_t factor)
{
	uint64_t seed = 31;
	*p = (heap_pair){ .factor = factor };
	p->context = fixture_context(threads);
	p->torus = fixture_torus_mesh(p->context, 12, 8, 0.4, 0.1);
	p->world = fixture_world(p->context, NULL);
	p->dull = fixture_world(p->context, NULL);
	for (int i = 0; i < ALL; i++) {
		for (int k = 0; k < 3; k++)
			p->at[4 * i + k] = test_random_double(&seed, -1.2, 1.2);
		p->at[4 * i + 3] = test_random_double(&seed, 0.1, 0.3);
		p->there[i] = true;
	}
	// Below the other bodies in one world, above them in the other: order decides nothing.
	p->grains = add_grains(p->world, p->at, ALL, false);
	add_targets(p, p->world);
	add_targets(p, p->dull);
	p->dull_grains = add_grains(p->dull, p->at, ALL, false);
}

static void close_pair(heap_pair *p)
{
	carom_destroy_world(p->world);
	carom_destroy_world(p->dull);
	carom_release_mesh(p->torus);
	carom_destroy_context(p->context);
}

/// List those that are there in any order.
static void list_some(heap_pair *p, uint64_t *seed, bool shuffle)
{
	p->count = 0;
	for (int i = 0; i < ALL; i++) {
		if (p->there[i])
			p->ids[p->count++] = (uint64_t)i;
	}
	for (int32_t i = p->count - 1; i > 0 && shuffle; i--) {
		const int32_t k = (int32_t)(test_random(seed) % (uint64_t)(i + 1));
		const uint64_t id = p->ids[i];
		p->ids[i] = p->ids[k];
		p->ids[k] = id;
	}
	for (int32_t i = 0; i < p->count; i++) {
		memcpy(&p->listed[4 * i], &p->at[4 * p->ids[i]], 4 * sizeof *p->listed);
		p->ids[i] *= p->factor;
	}
}

static carom_result set_listed(heap_pair *p)
{
	const carom_strided centres = fixture_centres(p->listed), radii = fixture_radii(p->listed);
	return carom_world_set_spheres_by_id(p->world, p->grains, p->count, &centres, &radii, p->ids);
}

static void set_dull(heap_pair *p)
{
	double all[4 * ALL];
	memcpy(all, p->at, sizeof all);
	for (int i = 0; i < ALL; i++)
		all[4 * i] += p->there[i] ? 0 : 1000 + 10 * i;
	const carom_strided centres = fixture_centres(all);
	REQUIRE(carom_world_set_spheres(p->dull, p->dull_grains, ALL, &centres, NULL) == CAROM_SUCCESS);
}

/// Some go, some come, all tremble and some leap.
static void move_all(heap_pair *p, uint64_t *seed)
{
	for (int i = 0; i < ALL; i++) {
		const bool leaps = test_random(seed) % 7 == 0;
		if (test_random(seed) % 5 == 0)
			p->there[i] = !p->there[i];
		for (int k = 0; k < 3; k++) {
			const double where = test_random_double(seed, -1.2, 1.2), way = test_random_double(seed, -0.01, 0.01);
			p->at[4 * i + k] = leaps ? where : p->at[4 * i + k] + way;
		}
	}
}

static uint64_t id_of(const heap_pair *p, int32_t sphere)
{
	carom_sphere_view view;
	REQUIRE(carom_world_get_spheres(p->world, p->grains, &view) == CAROM_SUCCESS);
	return view.ids ? view.ids[sphere] / p->factor : (uint64_t)sphere;
}

/// The contact of the dull world that is one of the other one.
static const carom_sphere_contact *find_dull(const heap_pair *p, const carom_sphere_contact *c)
{
	const carom_sphere_contact_view view = carom_world_sphere_contacts(p->dull);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_sphere_contact *d = &view.data[i];
		// Bodies were added in another order: the grains of one world come first.
		if ((uint64_t)d->sphere == id_of(p, c->sphere) && d->body_b.index1 + 1 == c->body_b.index1 &&
			d->triangle == c->triangle && memcmp(&d->point, &c->point, sizeof d->point) == 0)
			return d;
	}
	return NULL;
}

/// Returns how many contacts went on.
static int check_equal(heap_pair *p, int step)
{
	const carom_sphere_contact_view view = carom_world_sphere_contacts(p->world);
	int gone_on = 0;
	CHECK_INT(view.count, carom_world_sphere_contacts(p->dull).count);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_sphere_contact *d = find_dull(p, &view.data[i]);
		REQUIRE(d != NULL);
		CHECK_INT(view.data[i].age, d->age);
		CHECK(memcmp(view.data[i].impulse, d->impulse, sizeof d->impulse) == 0);
		gone_on += d->age > 0;
		const float impulse[3] = { (float)d->sphere, (float)step, (float)d->body_b.index1 };
		REQUIRE(carom_world_set_sphere_impulse(p->world, i, impulse) == CAROM_SUCCESS);
		REQUIRE(
			carom_world_set_sphere_impulse(p->dull, d - carom_world_sphere_contacts(p->dull).data, impulse) == CAROM_SUCCESS);
	}
	return gone_on;
}

static void check_run(int threads, uint64_t factor)
{
	static heap_pair p;
	uint64_t seed = 5;
	int gone_on = 0;
	open_pair(&p, threads, factor);
	for (int step = 0; step < 12; step++) {
		if (step > 0 || factor > 1) {
			if (step > 0)
				move_all(&p, &seed);
			list_some(&p, &seed, step % 3 != 0);
			REQUIRE(set_listed(&p) == CAROM_SUCCESS);
			if (step % 4 == 1) { // in another order once more, before the step
				list_some(&p, &seed, true);
				REQUIRE(set_listed(&p) == CAROM_SUCCESS);
			}
			set_dull(&p);
		}
		fixture_step(p.world);
		fixture_step(p.dull);
		gone_on += check_equal(&p, step);
	}
	CHECK(gone_on > 100);
	close_pair(&p);
}

TEST(sphere_ids, carry_ages_and_impulses_as_a_body_that_keeps_all_places) { check_run(1, 1); }

TEST(sphere_ids, may_be_any_numbers_and_threads) { check_run(3, 0x123456789abcdull); }

TEST(sphere_ids, stay_while_the_count_does_and_are_numbers_again_after)
{
	static heap_pair p;
	uint64_t seed = 9;
	carom_sphere_view view;
	open_pair(&p, 1, 7);
	list_some(&p, &seed, false);
	REQUIRE(set_listed(&p) == CAROM_SUCCESS);
	fixture_step(p.world);
	list_some(&p, &seed, true);
	REQUIRE(set_listed(&p) == CAROM_SUCCESS);
	const carom_strided centres = fixture_centres(p.listed), radii = fixture_radii(p.listed);
	REQUIRE(carom_world_set_spheres(p.world, p.grains, p.count, &centres, NULL) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_spheres(p.world, p.grains, &view) == CAROM_SUCCESS);
	CHECK(view.ids && memcmp(view.ids, p.ids, (size_t)p.count * sizeof *p.ids) == 0);
	fixture_step(p.world);
	const carom_sphere_contact_view contacts = carom_world_sphere_contacts(p.world);
	for (int64_t i = 0; i < contacts.count; i++)
		CHECK_INT(contacts.data[i].age, 1);
	// The first half of them, with their numbers as ids.
	REQUIRE(carom_world_set_spheres(p.world, p.grains, p.count / 2, &centres, &radii) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_spheres(p.world, p.grains, &view) == CAROM_SUCCESS);
	CHECK(!view.ids);
	fixture_step(p.world);
	close_pair(&p);
}

TEST(sphere_ids, wrong_ids_are_errors_and_change_nothing)
{
	static heap_pair p;
	uint64_t seed = 9;
	open_pair(&p, 1, 1);
	list_some(&p, &seed, true);
	REQUIRE(set_listed(&p) == CAROM_SUCCESS);
	fixture_step(p.world);
	const uint64_t hash = carom_world_hash(p.world);
	const carom_strided centres = fixture_centres(p.listed), radii = fixture_radii(p.listed);
	fixture_expect_wrong(p.context, carom_world_set_spheres_by_id(p.world, p.grains, p.count, &centres, &radii, NULL),
		"carom_world_set_spheres_by_id: ids is NULL");
	uint64_t ids[ALL];
	memcpy(ids, p.ids, sizeof ids);
	ids[7] = ids[70];
	fixture_expect_wrong(p.context, carom_world_set_spheres_by_id(p.world, p.grains, p.count, &centres, &radii, ids),
		"ids: those of spheres 7 and 70 are both");
	ids[7] = 12345;
	fixture_expect_wrong(p.context, carom_world_set_spheres_by_id(p.world, p.grains, p.count, &centres, NULL, ids),
		"radii is NULL, but ids are not those of before");
	CHECK(carom_world_set_spheres_by_id(p.world, p.grains, p.count, &centres, NULL, p.ids) == CAROM_SUCCESS);
	fixture_step(p.world);
	CHECK(carom_world_hash(p.world) == hash);
	const carom_sphere_contact_view contacts = carom_world_sphere_contacts(p.world);
	CHECK(contacts.count > 10);
	for (int64_t i = 0; i < contacts.count; i++)
		CHECK_INT(contacts.data[i].age, 1);
	close_pair(&p);
}

/// What a step with set ids tells, ages included.
static uint64_t digest(const carom_world *world)
{
	uint64_t sum = carom_world_hash(world);
	const carom_sphere_contact_view view = carom_world_sphere_contacts(world);
	for (int64_t i = 0; i < view.count; i++)
		sum = sum * 31 + (uint64_t)view.data[i].age + (uint64_t)(1000 * view.data[i].impulse[0]);
	return sum;
}

TEST(sphere_ids, come_back_with_snapshots_also_before_the_step)
{
	static heap_pair p;
	uint64_t seed = 5, wanted = 0;
	open_pair(&p, 1, 3);
	carom_snapshot *snapshot;
	REQUIRE(carom_create_snapshot(p.world, &snapshot) == CAROM_SUCCESS);
	fixture_step(p.world);
	const float impulse[3] = { 2, 3, 4 };
	for (int64_t i = 0; i < carom_world_sphere_contacts(p.world).count; i++)
		REQUIRE(carom_world_set_sphere_impulse(p.world, i, impulse) == CAROM_SUCCESS);
	p.there[3] = p.there[40] = false;
	list_some(&p, &seed, true);
	REQUIRE(set_listed(&p) == CAROM_SUCCESS);
	REQUIRE(carom_world_save(p.world, snapshot) == CAROM_SUCCESS);
	for (int turn = 0; turn < 3; turn++) {
		fixture_step(p.world);
		carom_sphere_view view;
		REQUIRE(carom_world_get_spheres(p.world, p.grains, &view) == CAROM_SUCCESS);
		CHECK(view.ids && memcmp(view.ids, p.ids, (size_t)p.count * sizeof *p.ids) == 0);
		wanted = turn == 0 ? digest(p.world) : wanted;
		CHECK(digest(p.world) == wanted);
		// Another count without ids, then back; at last into a body that has gone.
		const carom_strided centres = fixture_centres(p.listed), radii = fixture_radii(p.listed);
		REQUIRE(carom_world_set_spheres(p.world, p.grains, 5, &centres, &radii) == CAROM_SUCCESS);
		if (turn == 1)
			REQUIRE(carom_world_remove_body(p.world, p.grains) == CAROM_SUCCESS);
		fixture_step(p.world);
		REQUIRE(carom_world_restore(p.world, snapshot) == CAROM_SUCCESS);
	}
	carom_destroy_snapshot(snapshot);
	close_pair(&p);
}

TEST(sphere_ids, are_recorded)
{
	static heap_pair p;
	uint64_t seed = 5;
	open_pair(&p, 1, 11);
	fixture_tape tape = { 0 };
	for (int step = 0; step < 6; step++) {
		move_all(&p, &seed);
		list_some(&p, &seed, true);
		REQUIRE(set_listed(&p) == CAROM_SUCCESS);
		if (step == 2)
			REQUIRE(carom_world_record(p.world, fixture_write_tape, &tape) == CAROM_SUCCESS);
		fixture_step(p.world);
	}
	REQUIRE(carom_world_record(p.world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(p.context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 4);
	CHECK_INT(result.first_difference, -1);
	free(tape.bytes);
	close_pair(&p);
}

/// A stone falls on a plate, and its number changes on the way: the impact is that of its id. A new one rests.
TEST(sphere_ids, tell_where_continuous_spheres_come_from)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_box(5, 5, 0.1), carom_pose_identity(), CAROM_STATIC);
	const double first[12] = { 0, 0, 5, 0.1, 2, 0, 7, 0.1, 3, 0, 3, 0.1 };
	const carom_body_id id = add_grains(world, first, 3, true);
	fixture_step(world);
	// Number 0 leaves, 1 falls through the plate, 2 stays, and one with the id 9 appears below the plate.
	const double then[12] = { 3, 0, 3, 0.1, 1, 1, -4, 0.1, 2, 0, -7, 0.1 };
	const uint64_t ids[3] = { 2, 9, 1 };
	const carom_strided centres = fixture_centres(then), radii = fixture_radii(then);
	REQUIRE(carom_world_set_spheres_by_id(world, id, 3, &centres, &radii, ids) == CAROM_SUCCESS);
	fixture_step(world);
	const carom_body_impact_view impacts = carom_world_body_impacts(world);
	REQUIRE(impacts.count == 1);
	CHECK_INT(fixture_same_id(impacts.data->body_a, id) ? impacts.data->shape_a : impacts.data->shape_b, 2);
	CHECK_NEAR(impacts.data->time, (7 - 0.2) / 14, 1e-3);
	carom_destroy_world(world);
	carom_destroy_context(context);
}

/// user: pairs to fill from. Ids are set after a step.
static void fill(carom_world *world, void *user)
{
	heap_pair *p = user;
	uint64_t seed = 5;
	add_targets(p, world);
	p->world = world;
	p->grains = add_grains(world, p->at, ALL, true);
	list_some(p, &seed, true);
	REQUIRE(set_listed(p) == CAROM_SUCCESS);
}

TEST(sphere_ids, fail_without_memory_and_change_nothing)
{
	static heap_pair p;
	fixture_heap heap;
	uint64_t seed = 5;
	open_pair(&p, 1, 3);
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *torus = p.torus;
	carom_world *first = p.world;
	p.torus = fixture_torus_mesh(context, 12, 8, 0.4, 0.1);
	carom_world *world = fixture_world(context, NULL);
	fill(world, &p);
	p.there[5] = p.there[50] = false;
	list_some(&p, &seed, true);
	int refused = 0;
	for (bool done = false; !done && refused < 50; refused += !done) {
		heap.fail_at = heap.calls + refused;
		done = set_listed(&p) == CAROM_SUCCESS;
		heap.fail_at = -1;
		carom_sphere_view view;
		REQUIRE(carom_world_get_spheres(world, p.grains, &view) == CAROM_SUCCESS);
		CHECK_INT(view.count, done ? ALL - 2 : ALL);
	}
	CHECK(refused > 2 && refused < 50);
	fixture_step(world);
	carom_destroy_world(world);
	carom_release_mesh(p.torus);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
	p.torus = torus;
	p.world = first;
	close_pair(&p);
}
