/// Pair stage: from bodies to the list of pairs worth a closer look.
///
/// Input: bodies with up-to-date boxes. Output: a list of the simple pairs, which go on in
/// simple_pairs.c; and the kept pairs of meshes with their relative transforms (made in double,
/// used in float), full or iterative, by how far they have moved since their last full step
/// (temporal.h).
/// Cost: the broad phase, and per pair one relative transform and a bound on the motion or a test
/// of oriented boxes. Parallel over pairs, each writing its own slot; the dense list is made in
/// order afterwards. (Lehericey 2015, per-pair step.)

#include "base/parallel.h"
#include "contact/manifold.h"
#include "frame/memory.h"
#include "contact/contact.h"
#include "contact/pair_stage.h"
#include "contact/near_contacts.h"
#include <stddef.h>
#include <string.h>

enum { PAIRS_PER_TASK = 128, PAIRS_AHEAD = 8 };

static void set_transforms(cr_pair_work *w, const cr_reference *now)
{
	w->a_to_b = cr_reference_transform(now, 0);
	w->b_to_a = cr_reference_transform(now, 1);
}

static bool is_one_piece(const cr_body *body) { return body->shape.mesh->report.components == 1; }

/// Does a vertex of each body tell on which side all of it lies, when the surfaces do not meet?
static bool vertex_speaks_for_all(const cr_body *a, const cr_body *b)
{
	return (is_one_piece(a) || !b->shape.collider->closed) && (is_one_piece(b) || !a->shape.collider->closed);
}

static void count_apart(cr_worker *worker)
{
	worker->pairs_apart++;
	worker->pairs_iterative++;
}

/// Are the surfaces looked at before rays are cast? Where they do not meet, a pair that did not
/// touch needs no ray.
static bool looks_first(const cr_pipeline *p, const cr_pair_work *w)
{
	const cr_pair_memory *m = cr_memory_of(p, w);
	return p->settings.lab.complete && ((m && !m->touched) || cr_wants_manifold(p, w)) &&
		vertex_speaks_for_all(&p->bodies[w->a], &p->bodies[w->b]);
}

/// Has neither body of a pair moved by a bit since the last step, in which its contacts followed
/// from the poses and shapes alone? The same contacts would be found again.
static bool is_at_rest(const cr_pipeline *p, const cr_body *a, const cr_body *b, const cr_pair_memory *m)
{
	return m->rest.run > 0 && m->rest.run + 1 == p->run && !p->keep_contact && cr_stands_still(a) && cr_stands_still(b);
}

/// Take over the contacts of the last step.
static void take_over(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, const cr_pair_memory *m)
{
	w->keep = w->rests = w->by_poses = true;
	w->found = m->rest.found;
	worker->pairs_iterative++;
	worker->contacts.count = 0;
	const cr_raw_contact *last = cr_last_contacts_at(&p->frame, m->rest.contacts.first);
	for (int32_t i = 0; i < m->rest.contacts.count; i++)
		cr_add_contact(worker, &last[i]);
	cr_keep_contacts(worker, &w->contacts);
}

/// May the bodies of a pair touch, as far as their hulls and boxes tell? *gap: see
/// cr_boxes_are_near. Hulls come first: most pairs that are apart are so by them, and their boxes
/// need not be asked. A pair that touched is not asked for its hulls: most touch again.
static bool may_touch(const cr_pipeline *p, const cr_pair_work *w, const cr_pair_memory *m, double *gap)
{
	const double ahead = p->settings.world.speculative_distance;
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	*gap = m && m->touched ? 0 : cr_hulls_gap(a, b, &w->now.rotation, w->now.translation);
	return *gap <= ahead && cr_boxes_are_near(ahead, a, b, &w->now.rotation, w->now.translation, gap);
}

/// Finish a pair that begin_pair began: work out its relative pose, and by that whether it is
/// apart, iterative or full.
static void finish_pair(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, uint8_t *next)
{
	memset(&w->keep, 0, offsetof(cr_pair_work, now) - offsetof(cr_pair_work, keep));
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	cr_pair_memory *m = cr_memory_of(p, w);
	if (m)
		cr_claim_memory(a, b, m);
	w->extension = cr_round_up(p->settings.world.speculative_distance);
	cr_relative_transform(a, b, &w->now.rotation, &w->now.translation);
	cr_note_paths(a, b, &w->now);
	if (m && is_at_rest(p, a, b, m)) {
		take_over(p, worker, w, m);
		*next = CR_NEXT_NONE;
		return;
	}
	if (m) {
		const cr_shared_region region = cr_find_shared_region(a, b);
		if (cr_is_still_apart(p, a, b, &region, &w->now.rotation, m)) {
			count_apart(worker);
			return;
		}
		w->iterative = m->valid &&
			cr_displacement(a, b, &region, &w->now.rotation, cr_pose_for(p, m, CR_ROLE_FULL), m->full_allowed) <=
				m->full_allowed;
		m->valid = w->iterative;
	}
	double gap;
	w->keep = w->iterative || p->near || may_touch(p, w, m, &gap);
	if (!w->keep) {
		if (m)
			cr_remember_apart(p, worker, w, gap);
		return;
	}
	set_transforms(w, &w->now);
	worker->pairs_iterative += w->iterative;
	worker->pairs_full += !w->iterative;
	if (looks_first(p, w)) {
		*next = CR_NEXT_NEAR;
		return;
	}
	*next = CR_NEXT_RAYS;
	if (w->iterative) {
		w->rays[0].count = m->watched[0].count;
		w->rays[1].count = m->watched[1].count;
	} else if (m) {
		cr_choose_allowed(p, w);
	}
}

/// Begin a pair: its bodies and the slot of its memory. Returns whether finish_pair must go on. Of
/// a pair that is known to be apart only the first fields are written: most are, and the whole
/// would be a megabyte a step (avalanche).
static bool begin_pair(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w, cr_body_pair pair, int32_t slot)
{
	const cr_body *a = &p->bodies[pair.a], *b = &p->bodies[pair.b];
	w->a = pair.a;
	w->b = pair.b;
	w->slot = slot;
	w->keep = false;
	cr_pair_memory *m = cr_memory_of(p, w);
	if (!m)
		return true;
	if (cr_is_known_apart(a, b, m)) {
		count_apart(worker);
		return false;
	}
	// The next entries to be read.
	if (m->apart)
		cr_prefetch(cr_pose_for(p, m, CR_ROLE_APART), sizeof(cr_reference));
	if (m->valid)
		cr_prefetch(cr_pose_for(p, m, CR_ROLE_FULL), sizeof(cr_reference));
	return true;
}

static void pair_piece(cr_pipeline *p, cr_worker *worker, int64_t begin, int64_t end)
{
	const bool iterative = p->settings.world.temporal != CAROM_TEMPORAL_NONE;
	cr_pair_work *rest[PAIRS_PER_TASK];
	int count = 0;
	for (int64_t i = begin; i < end; i++) {
		cr_pair_work *w = &p->work.data[i];
		const int64_t pair = p->first + i;
		if (iterative && pair + PAIRS_AHEAD < p->pairs.count)
			__builtin_prefetch(&p->temporal.slots.data[p->temporal.next_slot.data[pair + PAIRS_AHEAD]]);
		if (begin_pair(p, worker, w, p->pairs.data[pair], iterative ? p->temporal.next_slot.data[pair] : -1))
			rest[count++] = w;
	}
	for (int i = 0; i < count; i++)
		finish_pair(p, worker, rest[i], &p->next.data[rest[i] - p->work.data]);
}

static void pair_task(int64_t begin, int64_t end, int worker, void *task)
{
	cr_pipeline *p = task;
	for (int64_t i = begin; i < end; i += PAIRS_PER_TASK)
		pair_piece(p, &p->workers[worker], i, i + PAIRS_PER_TASK < end ? i + PAIRS_PER_TASK : end);
}

static bool is_simple(const cr_pipeline *p, cr_body_pair pair)
{
	return cr_algorithm_of(&p->bodies[pair.a], &p->bodies[pair.b]) != CR_ALGORITHM_RAYS;
}

static void swap_lists(cr_pipeline *p)
{
	const cr_pair_list pairs = p->pairs;
	p->pairs = p->simple;
	p->simple = pairs;
}

/// Move the simple pairs from the pairs of the broad phase to a list of their own. Where all are
/// simple the lists change places, so that the other one takes no memory. false: out of memory.
static bool part_simple(cr_pipeline *p)
{
	const int64_t count = p->pairs.count;
	int64_t meshes = 0, i = 0;
	while (i < count && is_simple(p, p->pairs.data[i]))
		i++;
	p->simple.count = 0;
	if (i == count) {
		swap_lists(p);
		return true;
	}
	if (!cr_array_reserve_fresh(p->context, &p->simple, count))
		return false;
	for (int64_t k = 0; k < count; k++) {
		const cr_body_pair pair = p->pairs.data[k];
		if (k < i || is_simple(p, pair))
			p->simple.data[p->simple.count++] = pair;
		else
			p->pairs.data[meshes++] = pair;
	}
	p->pairs.count = meshes;
	return true;
}

static carom_result need_mesh(cr_pipeline *p, cr_body *body)
{
	if (body->shape.collider)
		return CAROM_SUCCESS;
	if (!cr_deforming_of(body))
		return p->make_mesh(p->make_mesh_user, body);
	cr_deforming_of(body)->needs_form = true;
	return CAROM_SUCCESS;
}

/// Does a body have the mesh of its shape, and keep it?
static bool has_own_mesh(const cr_body *body) { return body->shape.collider && !cr_deforming_of(body); }

/// Note that a pair asks for the facets of a body. Returns whether they are still to be made.
static bool need_facets(cr_body *body)
{
	if (!cr_deforming_of(body) || !body->shape.mesh->facets.put_off)
		return false;
	cr_deforming_of(body)->needs_facets = true;
	return true;
}

/// Do the contacts of a pair of meshes, or of a mesh and a convex body, depend on facets?
static bool asks_for_facets(const cr_pipeline *p, const cr_body *a, const cr_body *b)
{
	switch (cr_algorithm_of(a, b)) {
	case CR_ALGORITHM_RAYS:
		return cr_wants_near_contacts(p) || cr_bodies_make_patches(p, a, b) || a->shape.mesh->materials ||
			b->shape.mesh->materials;
	case CR_ALGORITHM_CONVEX_MESH: return true;
	default: return (a->shape.mesh && a->shape.mesh->materials) || (b->shape.mesh && b->shape.mesh->materials);
	}
}

/// Is a pair, of the meshes of a step, known to be apart? Then nothing looks at its bodies. Where
/// one deforms, the parts that could touch are asked too: that takes less than to refit it.
static bool is_left_alone(const cr_pipeline *p, int64_t pair)
{
	if (p->settings.world.temporal == CAROM_TEMPORAL_NONE)
		return false;
	const cr_body *a = &p->bodies[p->pairs.data[pair].a], *b = &p->bodies[p->pairs.data[pair].b];
	cr_pair_memory *m = &p->temporal.slots.data[p->temporal.next_slot.data[pair]];
	if (cr_is_known_apart(a, b, m))
		return true;
	return cr_pair_deforms(a, b) && cr_parts_are_still_apart(p, a, b, m);
}

/// Note which solids of a list of pairs need their facets. Returns whether there are any.
static bool note_facets(cr_pipeline *p, const cr_pair_list *pairs)
{
	bool any = false;
	for (int64_t i = 0; i < pairs->count; i++) {
		cr_body *a = &p->bodies[pairs->data[i].a], *b = &p->bodies[pairs->data[i].b];
		if (!cr_pair_deforms(a, b) || (pairs == &p->pairs && is_left_alone(p, i)) || !asks_for_facets(p, a, b))
			continue;
		any |= need_facets(a);
		any |= need_facets(b);
	}
	return any;
}

/// Make the forms of the solids that meet something, and their facets where a pair asks for them.
static carom_result make_forms(cr_pipeline *p)
{
	const carom_result result = p->make_forms(p->make_mesh_user);
	if (result != CAROM_SUCCESS)
		return result;
	const bool of_meshes = note_facets(p, &p->pairs), of_others = note_facets(p, &p->simple);
	return of_meshes || of_others ? p->make_facets(p->make_mesh_user) : CAROM_SUCCESS;
}

/// Let bodies that meet a mesh have theirs: boxes, and solids whose vertices have moved. Most boxes
/// of a world never meet one, and a mesh is twenty times a body.
static carom_result make_meshes(cr_pipeline *p)
{
	carom_result result = CAROM_SUCCESS;
	for (int64_t i = 0; i < p->pairs.count && result == CAROM_SUCCESS; i++) {
		const cr_body_pair pair = p->pairs.data[i];
		if (has_own_mesh(&p->bodies[pair.a]) && has_own_mesh(&p->bodies[pair.b]))
			continue;
		if (is_left_alone(p, i))
			continue;
		result = need_mesh(p, &p->bodies[pair.a]);
		if (result == CAROM_SUCCESS)
			result = need_mesh(p, &p->bodies[pair.b]);
	}
	for (int64_t i = 0; p->has_solids && i < p->simple.count && result == CAROM_SUCCESS; i++) {
		const cr_body_pair pair = p->simple.data[i];
		if (cr_deforming_of(&p->bodies[pair.a]))
			result = need_mesh(p, &p->bodies[pair.a]);
		if (result == CAROM_SUCCESS && cr_deforming_of(&p->bodies[pair.b]))
			result = need_mesh(p, &p->bodies[pair.b]);
	}
	return p->has_solids && result == CAROM_SUCCESS ? make_forms(p) : result;
}

void cr_open_pairs(cr_pipeline *p)
{
	if (p->pairs.capacity < p->simple.capacity)
		swap_lists(p);
}

carom_result cr_stage_pairs(cr_pipeline *p)
{
	cr_open_pairs(p);
	const carom_result result = p->broad->find(p->broad, p->bodies, p->body_count, &p->pairs);
	return result == CAROM_SUCCESS ? cr_part_pairs(p) : result;
}

carom_result cr_part_pairs(cr_pipeline *p)
{
	if (!part_simple(p))
		return cr_fail_memory(p->context, "the pairs of a step");
	const cr_temporal_bodies bodies = { p->bodies, p->body_count, p->changes };
	if (p->settings.world.temporal != CAROM_TEMPORAL_NONE && !cr_temporal_match(p->context, &p->temporal, &bodies, &p->pairs))
		return cr_fail_memory(p->context, "what pairs remember");
	return make_meshes(p);
}

carom_result cr_stage_begin(cr_pipeline *p)
{
	const int64_t left = p->pairs.count - p->first, count = left < p->most ? left : p->most;
	if (!cr_array_reserve(p->context, &p->work, count) || !cr_array_reserve(p->context, &p->kept, count) ||
		!cr_array_reserve(p->context, &p->next, count) || !cr_array_reserve(p->context, &p->order, count) ||
		!cr_array_reserve(p->context, &p->taken, count))
		return cr_fail_memory(p->context, "the pairs of a step");
	p->work.count = count;
	cr_parallel_for(p->context, pair_task, count, PAIRS_PER_TASK, p);
	p->kept.count = 0;
	for (int64_t i = 0; i < count; i++) {
		if (p->work.data[i].keep)
			p->kept.data[p->kept.count++] = (int32_t)i;
	}
	p->order.count = p->kept.count;
	if (p->hooks.order)
		return p->hooks.order(p);
	if (p->kept.count > 0)
		memcpy(p->order.data, p->kept.data, (size_t)p->kept.count * sizeof *p->order.data);
	return CAROM_SUCCESS;
}
