/// Filters that call functions which change the world that steps: each call is refused, and the step goes on unharmed.
#include "fixture.h"

#include <stdio.h>
#include <string.h>

typedef struct intruder {
	carom_world *world;
	carom_body_id body;
	carom_snapshot *snapshot;
	int asked;     // calls of the filters
	int refused;   // calls that were refused, of CALLS
	bool contacts; // it intrudes from the filter of contacts, else from that of pairs
} intruder;

enum { CALLS = 27 };

static carom_result call(const intruder *in, int number)
{
	carom_world *world = in->world;
	const carom_body_id id = in->body;
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(0.3);
	carom_body_id added;
	const carom_pose pose = fixture_at(9, 9, 9);
	const carom_motion motion = { pose, pose };
	const carom_shape shape = fixture_sphere(0.2);
	const float impulse[3] = { 0 };
	const carom_strided places = { impulse, 0, CAROM_FLOAT32 };
	switch (number) {
	case 0: return carom_world_step(world);
	case 1: return carom_world_add_body(world, &def, &added);
	case 2: return carom_world_add_bodies(world, 1, &def, &added);
	case 3: return carom_world_remove_body(world, id);
	case 4: return carom_world_set_pose(world, id, &pose);
	case 5: return carom_world_set_poses(world, 1, &id, &pose);
	case 6: return carom_world_set_motions(world, 1, &id, &motion);
	case 7: return carom_world_set_user_data(world, id, 5);
	case 8: return carom_world_set_part_data(world, id, 0, 5);
	case 9: return carom_world_set_filter(world, id, 2, 2, 0);
	case 10: return carom_world_set_traits(world, id, &def);
	case 11: return carom_world_set_shape(world, id, &shape);
	case 12: return carom_world_set_parts(world, id, NULL, 0);
	case 13: return carom_world_set_mesh(world, id, NULL, NULL, NULL);
	case 14: return carom_world_set_vertices(world, id, &places, NULL);
	case 15: return carom_world_set_spheres(world, id, 1, &places, &places);
	case 16: return carom_world_set_sphere_begins(world, id, &places);
	case 17: return carom_world_set_impulse(world, 0, impulse);
	case 18: return carom_world_set_surface_impulse(world, 0, impulse);
	case 19: return carom_world_set_impulses(world, 1, impulse);
	case 20: return carom_world_set_sphere_impulses(world, 1, impulse);
	case 21: return carom_world_set_pair_data(world, 0, 5);
	case 22: return carom_world_set_body_pairs(world, true, 4);
	case 23: return carom_world_set_body_pair_data(world, 0, 5);
	case 24: return carom_world_save(world, in->snapshot);
	case 25: return carom_world_record(world, NULL, NULL);
	default: return carom_world_set_device(world, NULL, true);
	}
}

static void intrude(intruder *in)
{
	if (in->asked++ > 0)
		return;
	for (int number = 0; number < CALLS; number++) {
		const carom_result result = call(in, number);
		const char *text = carom_error_text(carom_world_context(in->world));
		const bool refused = result == CAROM_INVALID_ARGUMENT && strstr(text, ": called from inside a step of the world");
		if (!refused)
			fprintf(stderr, "call %d gave %d: %s\n", number, (int)result, text);
		in->refused += refused;
	}
	CHECK_INT(carom_world_restore(in->world, in->snapshot), CAROM_INVALID_ARGUMENT);
	carom_destroy_world(in->world); // does nothing, and says so in the log
}

static bool ask_pair(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)a, (void)b, (void)user_data_a, (void)user_data_b;
	intruder *in = user;
	if (!in->contacts)
		intrude(in);
	return true;
}

static bool ask_contact(const carom_contact *contact, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	(void)contact, (void)user_data_a, (void)user_data_b;
	intruder *in = user;
	if (in->contacts)
		intrude(in);
	return true;
}

static void intrude_from(bool contacts)
{
	carom_context *context = fixture_context(1);
	intruder in = { .contacts = contacts }, none = { .asked = 1, .contacts = contacts };
	carom_world_def def = carom_default_world_def();
	def.pair_filter = ask_pair;
	def.contact_filter = ask_contact;
	def.filter_user = &in;
	carom_world *world = fixture_world(context, &def);
	def.filter_user = &none;
	carom_world *calm = fixture_world(context, &def);
	in.world = world;
	for (int i = 0; i < 3; i++) {
		in.body = fixture_add(world, fixture_box(0.5, 0.5, 0.5), fixture_at(0.9 * i, 0, 0), CAROM_DYNAMIC);
		fixture_add(calm, fixture_box(0.5, 0.5, 0.5), fixture_at(0.9 * i, 0, 0), CAROM_DYNAMIC);
	}
	REQUIRE(carom_create_snapshot(world, &in.snapshot) == CAROM_SUCCESS);
	for (int step = 0; step < 3; step++) {
		fixture_step(world);
		fixture_step(calm);
		CHECK(carom_world_hash(world) == carom_world_hash(calm));
		CHECK_INT(carom_world_pairs(world).count, 2);
	}
	CHECK_INT(in.refused, CALLS);
	CHECK(in.asked >= 3 && in.asked == none.asked - 1);
	// After the step each of them may be called again.
	CHECK_INT(carom_world_set_user_data(world, in.body, 5), CAROM_SUCCESS);
	CHECK_INT(carom_world_save(world, in.snapshot), CAROM_SUCCESS);
	CHECK_INT(carom_world_remove_body(world, in.body), CAROM_SUCCESS);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 1);
	carom_destroy_snapshot(in.snapshot);
	carom_destroy_world(world);
	carom_destroy_world(calm);
	carom_destroy_context(context);
}

TEST(in_step, a_pair_filter_cannot_change_its_world) { intrude_from(false); }

TEST(in_step, a_contact_filter_cannot_change_its_world) { intrude_from(true); }
