/// The choice of the method: that of the least expected time, corrected by what was measured, without fluttering.
#include "fixture.h"
#include "spheres/choose.h"
#include "spheres_fixture.h"

static fixture_set set_of(carom_context *context, fixture_cloud_kind kind, int64_t count)
{
	fixture_cloud cloud = fixture_make_cloud(kind, count, 3);
	fixture_set made = fixture_make_set(context, &cloud, false, 0, NULL);
	fixture_free_cloud(&cloud);
	return made;
}

TEST(choose, equal_sizes_take_the_grid_and_power_laws_do_not)
{
	carom_context *context = fixture_context(1);
	fixture_set dense = set_of(context, CLOUD_DENSE, 20000), sizes = set_of(context, CLOUD_TWO_SIZES, 20000);
	cr_method_choice choice = { 0 };
	CHECK_INT(cr_choose_method(&choice, &dense.set), CAROM_SPHERES_GRID);
	// Another set is looked at at once.
	CHECK(cr_choose_method(&choice, &sizes.set) != CAROM_SPHERES_GRID);
	CHECK_INT(cr_choose_method(&choice, &dense.set), CAROM_SPHERES_GRID);
	fixture_free_set(&dense);
	fixture_free_set(&sizes);
	carom_destroy_context(context);
}

/// Builds of one set, each method costing what it is said to. Counts the changes, and returns the method used most at the end.
static carom_sphere_method run(const cr_sphere_set *set, const double ms[CR_METHODS], int builds, int *changes)
{
	cr_method_choice choice = { 0 };
	int used[CR_METHODS] = { 0 };
	carom_sphere_method last = CAROM_SPHERES_AUTO;
	*changes = 0;
	for (int i = 0; i < builds; i++) {
		const carom_sphere_method method = cr_choose_method(&choice, set);
		*changes += i > 0 && method != last;
		last = method;
		used[method] += i >= builds / 2;
		cr_note_cost(&choice, ms[method]);
	}
	for (int method = 0; method < CR_METHODS; method++)
		last = used[method] > used[last] ? (carom_sphere_method)method : last;
	return last;
}

TEST(choose, what_is_measured_wins_over_the_model)
{
	carom_context *context = fixture_context(1);
	fixture_set dense = set_of(context, CLOUD_DENSE, 20000), powers = set_of(context, CLOUD_POWER_LAW, 20000);
	int changes;
	// Milliseconds: auto, grid, levels, tree, rays.
	const double as_expected[CR_METHODS] = { 0, 1.5, 3, 6, 0 };
	CHECK_INT(run(&dense.set, as_expected, 200, &changes), CAROM_SPHERES_GRID);
	CHECK(changes <= 4);
	const double grid_is_slow[CR_METHODS] = { 0, 12, 3, 6, 0 };
	CHECK_INT(run(&dense.set, grid_is_slow, 200, &changes), CAROM_SPHERES_LEVELS);
	CHECK(changes <= 6);
	const double tree_is_fast[CR_METHODS] = { 0, 300, 12, 4, 0 }, levels_are_fast[CR_METHODS] = { 0, 300, 2, 9, 0 };
	CHECK_INT(run(&powers.set, tree_is_fast, 200, &changes), CAROM_SPHERES_TREE);
	CHECK(changes <= 6);
	CHECK_INT(run(&powers.set, levels_are_fast, 200, &changes), CAROM_SPHERES_LEVELS);
	CHECK(changes <= 6);
	// All alike, whatever the machine: no fluttering.
	for (double ms = 0.01; ms < 1000; ms *= 10) {
		const double alike[CR_METHODS] = { 0, ms, ms, ms, 0 };
		run(&dense.set, alike, 400, &changes);
		CHECK(changes <= 6);
	}
	fixture_free_set(&dense);
	fixture_free_set(&powers);
	carom_destroy_context(context);
}

TEST(choose, one_slow_search_does_not_change_the_method)
{
	carom_context *context = fixture_context(1);
	fixture_set dense = set_of(context, CLOUD_DENSE, 20000);
	cr_method_choice choice = { 0 };
	int others = 0;
	for (int i = 0; i < 100; i++) {
		others += cr_choose_method(&choice, &dense.set) != CAROM_SPHERES_GRID;
		cr_note_cost(&choice, choice.method == CAROM_SPHERES_GRID ? (i == 50 ? 40 : 1.5) : 6);
	}
	CHECK(others <= 20);
	CHECK_INT(choice.method, CAROM_SPHERES_GRID);
	fixture_free_set(&dense);
	carom_destroy_context(context);
}
