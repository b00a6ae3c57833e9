// Actions of the lives (fuzz_life.c) that change how bodies take part, the memory of a world, and what a solver hands back.
#include "life.h"

static void set_traits(life *l)
{
	const carom_body_id id = life_id(l);
	carom_body_def def;
	if (carom_world_get_body_def(l->world[0], id, &def) != CAROM_SUCCESS)
		return;
	life_read_traits(l, &def);
	if (def.kind <= CAROM_DYNAMIC || life_choose(l, 10) == 0)
		def.kind = (carom_body_kind)life_choose(l, 3);
	carom_result result[2];
	LIFE_BOTH(l, result, carom_world_set_traits(l->world[w], id, &def));
}

static void set_filter(life *l)
{
	const carom_body_id id = life_id(l);
	carom_body_def def = carom_default_body_def();
	life_read_filter(l, &def);
	carom_result result[2];
	LIFE_BOTH(l, result, carom_world_set_filter(l->world[w], id, def.category, def.mask, def.group));
}

static void set_asleep(life *l)
{
	const carom_body_id ids[3] = { life_id_of(l, LIFE_RIGID), life_id_of(l, LIFE_RIGID), life_id(l) };
	const int count = 1 + life_choose(l, 3);
	const bool asleep = life_choose(l, 3) > 0;
	carom_result result[2];
	LIFE_BOTH(l, result, carom_world_set_asleep(l->world[w], count, ids, asleep));
}

static void trim(life *l)
{
	carom_result result[2];
	LIFE_BOTH(l, result, carom_world_trim(l->world[w]));
}

static void reserve(life *l)
{
	const int parts = life_choose(l, 100) - 1, pairs = life_choose(l, 100), contacts = life_choose(l, 200);
	carom_result result[2];
	LIFE_BOTH(l, result, carom_world_reserve(l->world[w], parts, pairs, contacts));
}

// Not within a rewind: a snapshot does not hold what it says.
static void set_body_pairs(life *l)
{
	if (l->rewinding || l->kept)
		return;
	const int listed = life_choose(l, 2), most = life_choose(l, 10) - 1;
	carom_result result[2];
	LIFE_BOTH(l, result, carom_world_set_body_pairs(l->world[w], listed, most));
}

static void set_results(life *l)
{
	const carom_contact_view contacts = carom_world_contacts(l->world[0]);
	const float impulse[3] = { (float)life_signed(l), (float)life_signed(l), 1 };
	const uint64_t data = life_random(l);
	carom_result result[2];
	const int contact = life_choose(l, contacts.count + 1);
	LIFE_BOTH(l, result, carom_world_set_impulse(l->world[w], contact, impulse));
	const int pair = life_choose(l, carom_world_pairs(l->world[0]).count + 1);
	LIFE_BOTH(l, result, carom_world_set_pair_data(l->world[w], pair, data));
	const int body_pair = life_choose(l, carom_world_body_pairs(l->world[0]).count + 1);
	LIFE_BOTH(l, result, carom_world_set_body_pair_data(l->world[w], body_pair, data));
	const int surface = life_choose(l, (int)carom_world_surface_contacts(l->world[0]).count + 1);
	LIFE_BOTH(l, result, carom_world_set_surface_impulse(l->world[w], surface, impulse));
	const int shape = life_choose(l, (int)carom_world_surface_shape_contacts(l->world[0]).count + 1);
	LIFE_BOTH(l, result, carom_world_set_surface_shape_impulse(l->world[w], shape, impulse));
	const int sphere = life_choose(l, (int)carom_world_sphere_contacts(l->world[0]).count + 1);
	LIFE_BOTH(l, result, carom_world_set_sphere_impulse(l->world[w], sphere, impulse));
}

const life_action life_setting_actions[] = {
	{ "traits", set_traits, 2 },
	{ "filter", set_filter, 2 },
	{ "sleep", set_asleep, 2 },
	{ "trim", trim, 1 },
	{ "reserve", reserve, 1 },
	{ "pairs of bodies", set_body_pairs, 1 },
	{ "impulses", set_results, 3 },
	{ 0 },
};
