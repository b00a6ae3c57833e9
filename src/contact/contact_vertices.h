/// The vertices of a pair of meshes that have a contact, and the triangles that they speak for.
///
/// Where two triangles cross and one of them has a vertex with a contact, that contact tells of the
/// place, if the triangle is small. The contact at the end of a long triangle may be far from where
/// its side crosses another one.
#ifndef CR_CONTACT_CONTACT_VERTICES_H
#define CR_CONTACT_CONTACT_VERTICES_H

#include "contact/contact.h"

/// Of the smaller diagonal of two bodies: a triangle is small where none of its edges is longer.
#define CR_SMALL_SHARE 0.2

enum { CR_NAME_BITS = 1024 };

typedef struct cr_contact_vertices {
	const cr_topology *topology[2];
	bool small[2];  // all triangles of the body are small
	double longest; // square of the longest edge of a small triangle
	// Names of vertices modulo the number of bits: most others are told by that.
	uint64_t bits[CR_NAME_BITS / 64];
	uint64_t *table; // [mask + 1] names of the vertices, found by their hash; 0: free
	uint32_t mask;
} cr_contact_vertices;

/// A number for the set of vertices of a pair that have a contact; 0: there are none. It is a sum
/// of hashes of 64 bits.
uint64_t cr_number_of_vertices(
	const cr_pipeline *pipeline, const cr_pair_work *work, const cr_raw_contact *contacts, int64_t count);
/// The longest edge of a mesh, which is measured once, when it is first asked for.
double cr_longest_edge(const carom_mesh *mesh);
/// Give a mesh, which no other thread knows yet, the longest edge of the one whose vertices it has
/// elsewhere.
void cr_note_edges_of(carom_mesh *displaced, const carom_mesh *mesh);
/// List the vertices that have a contact, in the worker's arena. false: out of memory.
bool cr_list_contact_vertices(const cr_pipeline *pipeline, cr_worker *worker, const cr_pair_work *work,
	const cr_raw_contact *contacts, int64_t count, cr_contact_vertices *vertices);
/// Has a vertex (as welded) a contact?
static inline bool cr_vertex_has_contact(const cr_contact_vertices *v, int side, int32_t vertex)
{
	const uint64_t name = 2 * (uint64_t)(uint32_t)vertex + (uint64_t)side + 1;
	if (!(v->bits[name % CR_NAME_BITS / 64] >> name % 64 & 1))
		return false;
	uint32_t at = (uint32_t)(name * 0x9e3779b97f4a7c15 >> 40) & v->mask;
	while (v->table[at] != 0 && v->table[at] != name)
		at = (at + 1) & v->mask;
	return v->table[at] == name;
}
/// Is a triangle small that has such a vertex?
bool cr_is_spoken_for(const cr_contact_vertices *vertices, int side, int32_t triangle);

#endif
