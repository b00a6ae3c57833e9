/// Pairs of spheres of granular bodies: one search over all of them, by the detector of
/// carom/spheres.h, whose pairs are then told apart by their bodies.
///
/// Spheres within the speculative distance touch when each radius grows by half of it. Nothing is
/// searched while no sphere and no filter has changed. Cost: that of the detector, and with several
/// bodies a stable sort of the pairs by their two bodies.
#include "world/world.h"
#include <string.h>

static const char *const what = "the pairs of spheres";

/// The spheres of all bodies for the detector: side by side, grown. One body's that do not grow are
/// handed over where they are.
static bool gather(carom_world *world, carom_sphere_input *input)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const double grow = 0.5 * world->def.speculative_distance;
	const int64_t total = m->first.data[m->bodies.count];
	const double *spheres = cr_granular_of(&world->bodies.data[m->bodies.data[0]])->spheres.data;
	if (m->bodies.count > 1 || grow > 0) {
		if (!cr_array_reserve_fresh(&world->memory, &m->grown, 4 * total))
			return false;
		for (int64_t i = 0; i < m->bodies.count; i++) {
			const cr_granular *g = cr_granular_of(&world->bodies.data[m->bodies.data[i]]);
			double *to = m->grown.data + 4 * m->first.data[i];
			if (g->count > 0)
				memcpy(to, g->spheres.data, 4 * (size_t)g->count * sizeof *to);
			for (int64_t k = 0; k < g->count; k++)
				to[4 * k + 3] += grow;
		}
		spheres = m->grown.data;
	}
	*input = carom_default_sphere_input();
	input->count = total;
	input->centres = (carom_strided){ spheres, 4 * sizeof(double), CAROM_FLOAT64 };
	input->radii = (carom_strided){ spheres ? spheres + 3 : NULL, 4 * sizeof(double), CAROM_FLOAT64 };
	return true;
}

/// May spheres of two bodies, or of one, be pairs? Asks the user's filter.
static bool may_touch(carom_world *world, int32_t a, int32_t b)
{
	const cr_body *bodies = world->bodies.data;
	if (a == b)
		return bodies[a].self_collision;
	return cr_filters_pass(&bodies[a], &bodies[b]) && cr_pair_filter_passes(world, a, b);
}

/// Append the pairs of one group, whose keys are these, where its bodies may touch.
static bool add_group(carom_world *world, const carom_sphere_pair *pairs, const cr_key *keys, int64_t count)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const int64_t a = (int64_t)(keys->key / (uint64_t)m->bodies.count), b = (int64_t)(keys->key % (uint64_t)m->bodies.count);
	const int32_t body_a = m->bodies.data[a], body_b = m->bodies.data[b];
	const cr_body *bodies = world->bodies.data;
	if (!may_touch(world, body_a, body_b))
		return true;
	if (!cr_array_reserve_one(&world->memory, &m->next.groups))
		return false;
	m->next.groups.data[m->next.groups.count++] = (carom_sphere_group){ .body_a = cr_id_of(bodies, body_a),
		.body_b = cr_id_of(bodies, body_b),
		.user_data_a = bodies[body_a].user_data,
		.user_data_b = bodies[body_b].user_data,
		.first_pair = m->next.pairs.count,
		.pair_count = count };
	for (int64_t i = 0; i < count; i++) {
		const carom_sphere_pair pair = pairs[keys[i].value];
		m->next.pairs.data[m->next.pairs.count++] =
			(carom_sphere_pair){ pair.a - (uint32_t)m->first.data[a], pair.b - (uint32_t)m->first.data[b] };
	}
	return true;
}

/// Tell the pairs of several bodies apart. Room for all of them was made. Bodies are in the order
/// of their spheres, so that a sort by bodies alone keeps the order within each group.
static bool part_pairs(carom_world *world, const carom_sphere_pairs *pairs)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const uint64_t bodies = (uint64_t)m->bodies.count;
	if (pairs->count > UINT32_MAX || !cr_array_reserve_fresh(&world->memory, &m->keys, pairs->count) ||
		!cr_array_reserve_fresh(&world->memory, &m->spare_keys, pairs->count))
		return false;
	for (int64_t i = 0; i < pairs->count; i++) {
		const uint64_t a = (uint64_t)cr_listed_of(m->first.data, m->bodies.count, pairs->pairs[i].a);
		const uint64_t b = (uint64_t)cr_listed_of(m->first.data, m->bodies.count, pairs->pairs[i].b);
		m->keys.data[i] = (cr_key){ a * bodies + b, (uint32_t)i };
	}
	cr_radix_sort(m->keys.data, m->spare_keys.data, pairs->count, cr_bits_of(bodies * bodies));
	for (int64_t begin = 0, end; begin < pairs->count; begin = end) {
		end = begin + 1;
		while (end < pairs->count && m->keys.data[end].key == m->keys.data[begin].key)
			end++;
		if (!add_group(world, pairs->pairs, &m->keys.data[begin], end - begin))
			return false;
	}
	return true;
}

/// All pairs are those of one body.
static bool take_pairs(carom_world *world, const carom_sphere_pairs *pairs)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	const cr_body *body = &world->bodies.data[m->bodies.data[0]];
	const carom_body_id id = cr_id_of(world->bodies.data, m->bodies.data[0]);
	if (pairs->count == 0)
		return true;
	if (!cr_array_reserve_one(&world->memory, &m->next.groups))
		return false;
	m->next.groups.data[0] = (carom_sphere_group){
		.body_a = id, .body_b = id, .user_data_a = body->user_data, .user_data_b = body->user_data, .pair_count = pairs->count
	};
	m->next.groups.count = 1;
	memcpy(m->next.pairs.data, pairs->pairs, (size_t)pairs->count * sizeof *pairs->pairs);
	m->next.pairs.count = pairs->count;
	return true;
}

carom_result cr_find_sphere_pairs(carom_world *world)
{
	cr_sphere_contacts *m = &world->sphere_contacts;
	m->searched = false;
	if (!m->stale)
		return CAROM_SUCCESS;
	m->next.groups.count = m->next.pairs.count = 0;
	const bool alone = m->bodies.count == 1;
	carom_sphere_pairs pairs = { 0 };
	if (m->bodies.count > 1 || (alone && world->bodies.data[m->bodies.data[0]].self_collision)) {
		carom_sphere_input input;
		carom_result result = CAROM_SUCCESS;
		if (!gather(world, &input))
			return cr_fail_memory(world->context, what);
		if (!m->detector)
			result = carom_create_spheres(&world->memory, NULL, &m->detector);
		if (result == CAROM_SUCCESS)
			result = carom_spheres_update(m->detector, &input);
		if (result == CAROM_SUCCESS)
			result = carom_spheres_find_pairs(m->detector, &pairs);
		if (result != CAROM_SUCCESS)
			return result;
		if (!cr_array_reserve_fresh(&world->memory, &m->next.pairs, pairs.count) ||
			!(alone ? take_pairs(world, &pairs) : part_pairs(world, &pairs)))
			return cr_fail_memory(world->context, what);
	}
	m->searched = true;
	return CAROM_SUCCESS;
}
