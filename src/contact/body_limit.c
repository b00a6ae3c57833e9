/// At most so many contacts for two bodies (carom_world_set_body_pairs), where
/// these have parts.
///
/// Input: the found pairs in the order of bodies, each with its own contacts sorted and reduced,
/// without those at seams. Output: of two bodies with more contacts than wanted the ones that
/// reduce.c chooses among all of them: so they span the patch of the bodies, whatever parts it is
/// spread over, and the greatest depth is kept. They stay with their parts, and are matched there
/// with those of the last step: a contact that stays keeps its age and impulse.
///
/// A pair of parts that loses all of its contacts stays a pair: its parts touch, whichever contacts
/// a solver is given. So events do not depend on the choice, which may change from step to step
/// while bodies slide. The choice depends on no earlier step. It is steady on bodies that tremble,
/// because the contacts of all parts come in the order of parts and features (reduce.c), points of
/// volumes in the order of their places.
///
/// Cost: two bodies with n contacts on k parts, n * kept + k. Parallel over pairs of bodies. A
/// world without parts pays nothing: there the limit is that of each pair.

#include "base/parallel.h"
#include "contact/body_pairs.h"

enum { PAIRS_PER_TASK = 64 };

/// The contacts of two bodies.
typedef struct body_contacts {
	cr_raw_contact *data; // [count]
	int32_t *rows;        // [count] the found pair of each, from the first one of the bodies on
	int64_t count;
} body_contacts;

/// Take the contacts of a found pair into worker->contacts. They may have to be made.
static void load_found(const cr_pipeline *p, cr_worker *worker, const cr_found_pair *f)
{
	cr_raw_contact made[CR_MAX_VOLUME_CONTACTS];
	if (f->late)
		cr_make_volume_contacts(p, &p->bodies[f->a], &p->bodies[f->b], made);
	const cr_raw_contact *contacts = f->late ? made : cr_found_contacts(p, f);
	for (int32_t k = 0; k < f->contacts.count; k++)
		cr_add_contact(worker, &contacts[k]);
}

/// Note whose contacts a found pair is about to lose: some of them, maybe all.
static void note_touch(cr_found_pair *f, const cr_raw_contact *contacts)
{
	f->reduced = 1;
	for (int32_t k = 0; k < f->contacts.count; k++) {
		if (contacts[k].depth >= 0)
			f->touches = 1;
	}
}

/// Gather the contacts of count found pairs. false: out of memory.
static bool gather(const cr_pipeline *p, cr_worker *worker, cr_found_pair *found, int32_t count, body_contacts *all)
{
	all->data = cr_arena_alloc(&worker->arena, (size_t)all->count * sizeof *all->data);
	all->rows = cr_arena_alloc(&worker->arena, (size_t)all->count * sizeof *all->rows);
	if (!all->data || !all->rows)
		return false;
	int64_t next = 0;
	for (int32_t i = 0; i < count; i++) {
		if (found[i].contacts.count == 0)
			continue;
		worker->contacts.count = 0;
		load_found(p, worker, &found[i]);
		if (worker->failed)
			return false;
		note_touch(&found[i], worker->contacts.data);
		for (int64_t k = 0; k < worker->contacts.count; k++, next++) {
			all->data[next] = worker->contacts.data[k];
			all->rows[next] = i;
		}
	}
	return true;
}

/// Sort the first keep by their rows: these are few.
static void sort_by_rows(body_contacts *all, int64_t keep)
{
	for (int64_t i = 1; i < keep; i++) {
		const cr_raw_contact moved = all->data[i];
		const int32_t row = all->rows[i];
		int64_t at = i;
		for (; at > 0 && row < all->rows[at - 1]; at--) {
			all->data[at] = all->data[at - 1];
			all->rows[at] = all->rows[at - 1];
		}
		all->data[at] = moved;
		all->rows[at] = row;
	}
}

/// Let each found pair have those of the first keep contacts that are its own.
static void share_out(cr_worker *worker, cr_found_pair *found, int32_t count, const body_contacts *all, int64_t keep)
{
	int64_t next = 0;
	for (int32_t i = 0; i < count && !worker->failed; i++) {
		if (found[i].contacts.count == 0)
			continue;
		worker->contacts.count = 0;
		while (next < keep && all->rows[next] == i)
			cr_add_contact(worker, &all->data[next++]);
		if (!worker->failed)
			cr_renew_found(worker, &found[i]);
	}
}

/// Reduce the contacts of two bodies, whose found pairs are count.
static void limit_bodies(const cr_pipeline *p, cr_worker *worker, cr_found_pair *found, int32_t count)
{
	const int64_t most = p->settings.max_contacts_per_body_pair;
	body_contacts all = { 0 };
	for (int32_t i = 0; i < count; i++)
		all.count += found[i].contacts.count;
	if (all.count <= most || cr_is_sensor_pair(&p->bodies[found->a], &p->bodies[found->b]))
		return;
	if (!gather(p, worker, found, count, &all)) {
		worker->failed = true;
		return;
	}
	cr_choose_contacts(worker, all.data, all.rows, all.count, most);
	sort_by_rows(&all, most);
	share_out(worker, found, count, &all, most);
}

static void limit_task(int64_t begin, int64_t end, int index, void *task)
{
	cr_pipeline *p = task;
	cr_worker *worker = &p->workers[index];
	for (int64_t i = cr_begin_of_bodies(p, begin, end), next; i < end && !worker->failed; i = next) {
		next = cr_end_of_bodies(p, i);
		const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
		const cr_raw_contact *contacts = worker->contacts.data;
		limit_bodies(p, worker, &p->found.data[i], (int32_t)(next - i));
		cr_arena_rewind(&worker->arena, &mark);
		if (worker->contacts.data != contacts)
			worker->contacts = (cr_raw_contacts){ 0 };
	}
}

bool cr_limit_bodies(cr_pipeline *p)
{
	if (p->settings.max_contacts_per_body_pair == 0)
		return true;
	cr_parallel_for(p->context, limit_task, p->found.count, PAIRS_PER_TASK, p);
	return cr_check_workers(p, "the pairs of a step") == CAROM_SUCCESS;
}
