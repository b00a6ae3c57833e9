/// Simple pairs: those in which a basic volume or a plane takes part, from the broad phase to their
/// contacts in one go.
///
/// Input: the simple pairs of the pair stage. Output: those with contacts, which are sorted and
/// reduced. These pairs pass no other stage. They remember nothing, unless they are at rest
/// (resting.c). So one takes 40 bytes, and 56 for each contact, where a pair of meshes takes a
/// kilobyte. Contacts of basic volumes with planes take none: they are counted here, and made when
/// they are shown (merge.c). Parallel over pairs, each writing its own slot; the list is made dense
/// in order afterwards.

#include "base/parallel.h"
#include "contact/contact.h"
#include "contact/shape_overlap.h"

enum {
	PAIRS_PER_TASK = 64,
	// From so many on, the list of simple pairs is given back once their contacts are found, which
	// takes far longer than to make it again.
	MANY_PAIRS = 1 << 18,
};

/// The contacts of a pair that is near.
static void find_contacts(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	worker->contacts.count = 0;
	switch (cr_algorithm_of(a, b)) {
	case CR_ALGORITHM_VOLUMES: cr_collide_volumes(p, worker, a, b); break;
	case CR_ALGORITHM_PLANE: cr_collide_plane(p, worker, a, b); break;
	case CR_ALGORITHM_ROUND: cr_collide_round(p, worker, a, b); break;
	case CR_ALGORITHM_CONVEX: cr_collide_convex(p, worker, a, b); break;
	case CR_ALGORITHM_CONVEX_PLANE: cr_collide_convex_plane(p, worker, a, b); break;
	case CR_ALGORITHM_CONVEX_MESH: cr_collide_convex_mesh(p, worker, a, b); break;
	default: break;
	}
}

static bool is_near(const cr_pipeline *p, const cr_body *a, const cr_body *b)
{
	return cr_pair_is_near(p->settings.world.speculative_distance, a, b);
}

void cr_find_simple_contacts(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	worker->contacts.count = 0;
	if (!is_near(p, a, b))
		return;
	worker->pairs_simple++;
	find_contacts(p, worker, a, b);
}

/// May the contacts of a pair be made when they are shown? That takes less time than to keep them
/// until then, and half the memory. Filters look at them before.
static bool may_be_late(const cr_pipeline *p, const cr_body *a, const cr_body *b)
{
	return (a->shape.family == CR_FAMILY_PLANE || b->shape.family == CR_FAMILY_PLANE) &&
		cr_algorithm_of(a, b) == CR_ALGORITHM_VOLUMES && !p->keep_contact;
}

static bool has_stayed(const cr_body *body)
{
	return body->reshaped == CR_SHAPE_KEPT && !body->changed && !body->refiltered && cr_stands_still(body);
}

/// Would the contacts of two rigid bodies that the last step found be found again? Where one has
/// slept they may be older, from another origin.
static bool is_at_rest(const cr_body *a, const cr_body *b) { return has_stayed(a) && has_stayed(b); }

/// Take over the finds of the last step of a pair whose bodies are at rest. false: there are none.
static bool take_over(const cr_pipeline *p, cr_worker *worker, cr_body_pair pair, cr_found_pair *found)
{
	const cr_resting_pair *last = cr_find_resting(p, pair);
	if (!last)
		return false;
	worker->contacts.count = 0;
	const cr_raw_contact *contacts = cr_resting_contacts(p, last);
	for (int32_t i = 0; i < last->contacts.count; i++)
		cr_add_contact(worker, &contacts[i]);
	cr_keep_simple_contacts(worker, &found->contacts);
	found->found = last->found;
	found->rests = last->contacts.count > 0;
	found->reduced = found->touches = last->touches;
	return true;
}

/// Do a mesh and a volume overlap? Of other pairs it says no.
static bool overlaps_mesh(const cr_pipeline *p, const cr_body *a, const cr_body *b)
{
	if (!cr_is_volume_on_mesh(a, b))
		return false;
	const cr_body *mesh = a->shape.family == CR_FAMILY_MESH ? a : b, *volume = mesh == a ? b : a;
	return cr_mesh_meets_volume(mesh->shape.collider, p->bvh, &mesh->pose, &volume->shape.def, &volume->pose);
}

/// Does a sensor touch the other body of its pair, which is near? That is so where one contact
/// would not be ahead. Two that overlap have such a contact; one below the front of an open mesh
/// has it too.
static bool senses(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	if (overlaps_mesh(p, a, b))
		return true;
	find_contacts(p, worker, a, b);
	return cr_greatest_depth(&worker->contacts) >= 0;
}

/// Work out one pair and keep its reported contacts, or count them. Of sensors only whether they
/// touch.
static void find_reported(const cr_pipeline *p, cr_worker *worker, cr_body_pair pair, cr_found_pair *found)
{
	const cr_body *a = &p->bodies[pair.a], *b = &p->bodies[pair.b];
	*found = (cr_found_pair){ .a = pair.a, .b = pair.b, .simple = 1 };
	if (!is_near(p, a, b))
		return;
	worker->pairs_simple++;
	found->kept = cr_may_rest(p, a, b);
	if (found->kept && take_over(p, worker, pair, found))
		return;
	if (cr_is_sensor_pair(a, b)) {
		found->reduced = found->touches = senses(p, worker, a, b);
		return;
	}
	find_contacts(p, worker, a, b);
	if (worker->contacts.count == 0)
		return;
	if (p->keep_contact)
		cr_filter_contacts(p, pair.a, pair.b, &worker->contacts);
	if (worker->contacts.count == 0)
		return;
	if (cr_algorithm_of(a, b) == CR_ALGORITHM_CONVEX_MESH)
		cr_join_convex_mesh(worker, a, b);
	const int32_t all = cr_reduce_contacts(p, worker, a, b, &worker->contacts);
	found->found = (uint32_t)all & CR_MOST_FOUND;
	found->late = all == worker->contacts.count && may_be_late(p, a, b);
	if (found->late) {
		found->contacts.count = all;
		found->rests = is_at_rest(a, b);
	} else {
		cr_keep_simple_contacts(worker, &found->contacts);
	}
}

/// Work out one pair, and give back the memory of the worker that this took.
static void collide(const cr_pipeline *p, cr_worker *worker, cr_body_pair pair, cr_found_pair *found)
{
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	const cr_raw_contact *contacts = worker->contacts.data;
	find_reported(p, worker, pair, found);
	cr_arena_rewind(&worker->arena, &mark);
	if (worker->contacts.data != contacts)
		worker->contacts = (cr_raw_contacts){ 0 };
}

static void simple_task(int64_t begin, int64_t end, int worker, void *task)
{
	cr_pipeline *p = task;
	for (int64_t i = begin; i < end && !p->workers[worker].failed; i++)
		collide(p, &p->workers[worker], p->simple.data[i], &p->found.data[i]);
}

carom_result cr_stage_simple(cr_pipeline *p)
{
	const int64_t count = p->simple.count;
	p->found.count = 0;
	// Those of meshes join them later. Where there are no others they come in one piece.
	if (count > 0 && !cr_array_reserve_fresh(p->context, &p->found, count + p->met.count + p->kept.count))
		return cr_fail_memory(p->context, "the pairs of a step");
	cr_parallel_for(p->context, simple_task, count, PAIRS_PER_TASK, p);
	const carom_result result = cr_check_workers(p, "the contacts of a step");
	if (result != CAROM_SUCCESS)
		return result;
	if (p->settings.world.temporal != CAROM_TEMPORAL_NONE && !cr_keep_resting(p, count))
		return cr_fail_memory(p->context, "what pairs remember");
	for (int64_t i = 0; i < count; i++) {
		if (p->found.data[i].contacts.count > 0 || p->found.data[i].reduced)
			p->found.data[p->found.count++] = p->found.data[i];
	}
	if (p->simple.capacity >= MANY_PAIRS)
		cr_array_free(p->context, &p->simple);
	return CAROM_SUCCESS;
}
