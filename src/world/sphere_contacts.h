/// Contacts of granular bodies with bodies of other kinds, and pairs of their spheres.
///
/// sphere_contacts.c finds the contacts and owns the results, touching_spheres.c finds the pairs of
/// spheres, sphere_list.c lists the pairs of bodies and matches contacts with those of the last
/// step.
#ifndef CR_WORLD_SPHERE_CONTACTS_H
#define CR_WORLD_SPHERE_CONTACTS_H

#include "base/array.h"
#include "base/radix.h"
#include "carom/world.h"
#include "contact/merge.h"
#include "frame/body.h"
#include "world/granular_bodies.h"
#include "world/part_tree.h"
#include "world/sphere_clearance.h"
#include <stdatomic.h>

typedef struct cr_sphere_results {
	CR_ARRAY(carom_sphere_contact) contacts;
	CR_ARRAY(int32_t) by_pair; // numbers of contacts in the order of their pairs
	CR_ARRAY(carom_sphere_group) groups;
	CR_ARRAY(carom_sphere_pair) pairs;
} cr_sphere_results;

/// A part that spheres may touch.
typedef struct cr_near_part {
	int32_t part;
	double skin;         // how far its surface stands out: half the thickness of cloth
	const cr_body *body; // in the form that contacts are made with
} cr_near_part;

/// Spheres that one worker takes at once, and where it has put their contacts.
typedef struct cr_sphere_chunk {
	int32_t worker;
	int64_t first, count; // of that worker's contacts
} cr_sphere_chunk;

typedef struct cr_sphere_worker {
	CR_ARRAY(carom_sphere_contact) contacts;
	CR_ARRAY(int32_t) parts; // near the sphere in hand, by number of the step's near parts
	bool failed;             // out of memory
} cr_sphere_worker;

typedef struct cr_sphere_contacts {
	int32_t body_count;   // granular bodies
	int64_t sphere_count; // of all of them
	// Spheres, granular bodies or filters have changed since the pairs were found.
	bool stale;
	bool searched;           // next has pairs
	carom_spheres *detector; // NULL: none made
	// Of the step that runs:
	cr_listed_bodies bodies; // granular ones with contacts, by number
	cr_listed_firsts first;
	CR_ARRAY(double) grown; // [4*spheres] for the search of pairs
	CR_ARRAY(cr_key) keys;  // pairs by their two bodies
	CR_ARRAY(cr_key) spare_keys;
	CR_ARRAY(cr_near_part) near; // parts in order
	CR_ARRAY(uint8_t) passes;    // [bodies*near] may they touch?
	// [bodies*near] do they touch, where the part is of a sensor? Empty without sensors
	CR_ARRAY(atomic_uchar) touched;
	CR_ARRAY(int32_t) near_of; // by number of a part that is near: its place there
	cr_part_tree tree;         // of near
	cr_clearances clearances;  // of spheres from near parts, and those beside them
	CR_ARRAY(cr_sphere_chunk) chunks;
	cr_sphere_worker *workers; // [worker_count]
	int32_t worker_count;
	cr_sphere_results next;
	cr_further_pairs pairs; // of bodies, in order
	// [bodies] where each begins in then; -1: its spheres have kept their numbers
	CR_ARRAY(int64_t) tables;
	// For each other: how many numbers there were, the first contact in found of each, and the end.
	CR_ARRAY(int64_t) then;
	// Of the last good step:
	cr_sphere_results found;
} cr_sphere_contacts;

/// Finds contacts and pairs, into next. The stages of bodies have run, and solids are shown as they
/// are between steps. On failure the results of the last good step stay.
carom_result cr_find_sphere_contacts(carom_world *world);
/// Lets each contact name its pair, once pairs have their rows, and continue one of the last step.
/// Cannot fail.
void cr_number_sphere_contacts(carom_world *world);
/// Makes them those of the last good step. Cannot fail.
void cr_take_sphere_contacts(cr_sphere_contacts *contacts);
/// Adds to a hash, which stays as it is where there are none.
uint64_t cr_hash_sphere_contacts(const cr_sphere_contacts *contacts, uint64_t hash);
void cr_free_sphere_results(carom_context *memory, cr_sphere_results *results);
/// Give back all memory but that of the results: the next step finds the pairs again.
void cr_trim_sphere_contacts(carom_context *memory, cr_sphere_contacts *contacts);
void cr_free_sphere_contacts(carom_context *memory, cr_sphere_contacts *contacts);

// ---- Between these files ----

/// Finds the pairs of the spheres of all listed bodies (touching_spheres.c).
carom_result cr_find_sphere_pairs(carom_world *world);
/// Lists the pairs of granular bodies. False when out of memory (sphere_list.c).
bool cr_list_sphere_pairs(carom_world *world);

/// The bits that numbers up to this one have.
static inline int cr_bits_of(uint64_t number)
{
	int bits = 0;
	for (; number > 0; number >>= 1)
		bits++;
	return bits;
}

#endif
