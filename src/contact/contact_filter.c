/// The user's verdict on single contacts.
///
/// Input: the raw contacts of a pair, all of them. Output: those that are kept, sorted, before they
/// are reduced to the wanted number. Each is shown as the views would show it. Cost: O(found) calls
/// and a sort, and nothing where there is no filter.

#include "contact/material.h"
#include "contact/contact.h"

void cr_filter_contacts(const cr_pipeline *p, int32_t a, int32_t b, cr_raw_contacts *contacts)
{
	const cr_body *body_a = &p->bodies[a], *body_b = &p->bodies[b];
	if (cr_is_sensor_pair(body_a, body_b))
		return;
	const carom_pair pair = {
		.body_a = cr_id_of(p->bodies, a),
		.body_b = cr_id_of(p->bodies, b),
		.shape_a = body_a->part,
		.shape_b = body_b->part,
	};
	cr_sort_contacts(contacts);
	int64_t kept = 0;
	for (int64_t i = 0; i < contacts->count; i++) {
		carom_contact shown = cr_contact_of(&pair, &contacts->data[i]);
		shown.pair = (int32_t)i;
		cr_set_materials(p, body_a, body_b, &shown, 1);
		if (p->keep_contact(p->keep_contact_user, a, b, &shown))
			contacts->data[kept++] = contacts->data[i];
	}
	contacts->count = kept;
}
