/// Simple pairs of a mesh that stay as they are: a capsule that lies on a floor, a sensor in the
/// ground. Where neither body has moved by a bit since the last step, nor changed otherwise, the
/// same contacts would be found once more. So they are taken over.
///
/// Input: the simple pairs of a step with their contacts. Output: a list of those that the
/// next step may take over, sorted by bodies as pairs are, with their contacts. That step looks a
/// pair up by halving. Two lists take turns, that of the last step and that of this one.
///
/// An entry holds for one step: it is of the last run, its bodies stood still in that run and do so
/// now, and neither has another generation, shape, kind or role (cr_body.reshaped). A pair that was
/// no pair of the broad phase in between has no entry. Entries are made without a filter of
/// contacts, whose answers may change. Sensors are asked no filter.
///
/// Cost: 40 bytes for a pair, and 56 for each contact. Only pairs of meshes are kept: contacts of
/// two volumes are found as fast as looked up.

#include "contact/contact.h"

bool cr_may_rest(const cr_pipeline *p, const cr_body *a, const cr_body *b)
{
	return p->settings.world.temporal != CAROM_TEMPORAL_NONE && (!p->keep_contact || cr_is_sensor_pair(a, b)) &&
		cr_is_volume_on_mesh(a, b) && cr_stands_still(a) && cr_stands_still(b);
}

static bool is_unchanged(const cr_body *body, uint32_t generation)
{
	return body->reshaped == CR_SHAPE_KEPT && body->generation == generation;
}

/// Those of the step before a step.
static const cr_resting *before(const cr_pipeline *p) { return &p->resting[(p->run + 1) % 2]; }

const cr_resting_pair *cr_find_resting(const cr_pipeline *p, cr_body_pair pair)
{
	const cr_resting *last = before(p);
	if (last->run == 0 || last->run + 1 != p->run)
		return NULL;
	int64_t low = 0, high = last->pairs.count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		const cr_resting_pair *at = &last->pairs.data[middle];
		if (at->a < pair.a || (at->a == pair.a && at->b < pair.b))
			low = middle + 1;
		else
			high = middle;
	}
	const cr_resting_pair *found = &last->pairs.data[low];
	if (low == last->pairs.count || found->a != pair.a || found->b != pair.b ||
		!is_unchanged(&p->bodies[pair.a], found->generation[0]) || !is_unchanged(&p->bodies[pair.b], found->generation[1]))
		return NULL;
	return found;
}

const cr_raw_contact *cr_resting_contacts(const cr_pipeline *p, const cr_resting_pair *pair)
{
	return &before(p)->contacts.data[pair->contacts.first];
}

static void keep(const cr_pipeline *p, cr_resting *now, const cr_found_pair *f)
{
	now->pairs.data[now->pairs.count++] = (cr_resting_pair){
		.a = f->a,
		.b = f->b,
		.generation = { p->bodies[f->a].generation, p->bodies[f->b].generation },
		.contacts = { (uint32_t)now->contacts.count, f->contacts.count },
		.found = f->found,
		.touches = f->touches,
	};
	if (f->contacts.count > 0)
		memcpy(&now->contacts.data[now->contacts.count], cr_found_contacts(p, f),
			(size_t)f->contacts.count * sizeof *now->contacts.data);
	now->contacts.count += f->contacts.count;
}

bool cr_keep_resting(cr_pipeline *p, int64_t count)
{
	cr_resting *now = &p->resting[p->run % 2];
	int64_t pairs = 0, contacts = 0;
	for (int64_t i = 0; i < count; i++) {
		pairs += p->found.data[i].kept;
		contacts += p->found.data[i].kept ? p->found.data[i].contacts.count : 0;
	}
	now->run = 0;
	now->pairs.count = now->contacts.count = 0;
	if (!cr_array_reserve_fresh(p->context, &now->pairs, pairs) || !cr_array_reserve_fresh(p->context, &now->contacts, contacts))
		return false;
	for (int64_t i = 0; i < count; i++) {
		if (p->found.data[i].kept)
			keep(p, now, &p->found.data[i]);
	}
	now->run = p->run;
	return true;
}
