/// @file contact_hash.h
/// A hash of the contacts of a step, by which a page in a browser (WebAssembly) and the command
/// that made it tell that they found equal ones, bit for bit.
#ifndef WEB_CONTACT_HASH_H
#define WEB_CONTACT_HASH_H

#include "carom/results.h"

#include "sim/base/state_hash.h"

/// FNV-1a over the bodies, parts, features, kind, point, normal and depth of each contact, in their
/// order.
static inline uint64_t web_hash_contacts(const carom_contact_view *contacts)
{
	uint64_t hash = SIM_HASH_START;
	for (int32_t i = 0; i < contacts->count; i++) {
		const carom_contact *c = &contacts->data[i];
		const uint64_t words[] = { c->body_a.index1, c->body_b.index1, (uint32_t)c->shape_a, (uint32_t)c->shape_b,
			(uint32_t)c->feature_a, (uint32_t)c->feature_b, (uint32_t)c->kind };
		const double numbers[] = { c->point[0], c->point[1], c->point[2], c->normal[0], c->normal[1], c->normal[2], c->depth };
		for (int k = 0; k < 7; k++)
			hash = sim_hash_word(hash, words[k]);
		hash = sim_hash_doubles(hash, numbers, 7);
	}
	return hash;
}

#endif
