/// The contacts of a pair while a stage works on it, and their place in the frame's list.

#include "contact/contact.h"
#include <string.h>

bool cr_grow_contacts(cr_worker *worker)
{
	cr_raw_contacts *list = &worker->contacts;
	cr_raw_contact *grown = cr_arena_grow(&worker->arena, list->data, list->count, &list->capacity, sizeof *grown);
	if (!grown) {
		worker->failed = true;
		return false;
	}
	list->data = grown;
	return true;
}

/// The edge of a corner of a triangle that is turned round, by the user's corners.
static int32_t edge_as_given(int32_t half_edge) { return half_edge + 2 - 2 * (half_edge % 3); }

void cr_name_edges(const cr_body *a, const cr_body *b, cr_raw_contacts *contacts)
{
	if (!a->shape.turned && !b->shape.turned)
		return;
	for (int64_t i = 0; i < contacts->count; i++) {
		cr_raw_contact *c = &contacts->data[i];
		if (a->shape.turned && c->kind == CAROM_EDGE_A)
			c->feature_a = edge_as_given(c->feature_a);
		if (b->shape.turned && c->kind == CAROM_EDGE_B)
			c->feature_b = edge_as_given(c->feature_b);
	}
}

double cr_greatest_depth(const cr_raw_contacts *list)
{
	float deepest = -INFINITY; // not a double: see find_near in near.c
	for (int64_t i = 0; i < list->count; i++)
		deepest = list->data[i].depth > deepest ? list->data[i].depth : deepest;
	return deepest;
}

void cr_load_contacts(cr_worker *worker, cr_span range)
{
	worker->contacts.count = 0;
	if (range.count == 0)
		return;
	const cr_raw_contact *kept = cr_contacts_at(worker->frame, range.first);
	for (int32_t i = 0; i < range.count; i++)
		cr_add_contact(worker, &kept[i]);
}

/// Write the contacts in hand to a list: in place where they fit into the range, else to a new one.
static void keep(cr_worker *worker, cr_list *list, cr_list_tail *tail, cr_span *range)
{
	const int32_t count = (int32_t)worker->contacts.count;
	if (count > range->count) {
		if (!cr_list_open(list, tail, (uint32_t)count)) {
			worker->failed = true;
			return;
		}
		range->first = tail->next;
		tail->next += (uint32_t)count;
	}
	range->count = count;
	if (count > 0)
		memcpy(cr_list_at(list, 0, range->first), worker->contacts.data, (size_t)count * sizeof(cr_raw_contact));
}

void cr_keep_contacts(cr_worker *worker, cr_span *range)
{
	keep(worker, &worker->frame->contacts[worker->frame->now], &worker->tails.contacts, range);
}

void cr_keep_simple_contacts(cr_worker *worker, cr_span *range)
{
	keep(worker, &worker->frame->simple_contacts, &worker->tails.simple_contacts, range);
}

void cr_renew_found(cr_worker *worker, cr_found_pair *f)
{
	cr_sort_contacts(&worker->contacts);
	f->contacts = (cr_span){ 0, 0 };
	f->rests = f->late = 0;
	if (f->simple)
		cr_keep_simple_contacts(worker, &f->contacts);
	else
		cr_keep_contacts(worker, &f->contacts);
}

const cr_raw_contact *cr_found_contacts(const cr_pipeline *p, const cr_found_pair *f)
{
	return f->simple ? cr_simple_contacts_at(&p->frame, f->contacts.first) : cr_contacts_at(&p->frame, f->contacts.first);
}
