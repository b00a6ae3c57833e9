/// Where two bodies overlap: the corners of the common part of their solids.
#ifndef CR_CONTACT_COMMON_PART_H
#define CR_CONTACT_COMMON_PART_H

#include "contact/crossing.h"
#include "mesh/facets.h"

/// A list of different numbers, in the order in which they came, with a bit for each number where
/// there are few, else with a hash table.
typedef struct cr_number_set {
	int32_t *list;
	uint32_t *bits; // NULL: there is a table
	int32_t *table; // numbers + 1; 0: empty
	int32_t count;
	int32_t room; // of the table, a power of two; the list holds half of it
} cr_number_set;

/// A corner of the common part: a vertex of one body inside the other, or a place where an edge
/// meets the other's surface. Or, to be asked how deep it lies: the middle of a piece of an edge
/// inside the other body.
typedef enum cr_corner_kind { CR_CORNER_VERTEX, CR_CORNER_PIERCE, CR_CORNER_MIDDLE } cr_corner_kind;

typedef struct cr_overlap_corner {
	v3d at; // A's frame
	cr_corner_kind kind;
	int32_t side;   // the body whose vertex or edge it is
	int32_t number; // vertex, in file order, or half-edge
	// pierce: triangle of the other body; middle: -1; vertex: a triangle of its own body. -1 of
	// small hulls: not looked for
	int32_t other;
	int32_t facet; // pierce: that of the other body
} cr_overlap_corner;

typedef struct cr_overlap {
	cr_completion *completion;
	const cr_facets *facets[2];
	cr_overlap_corner *corners; // [count] first the elements, then the pierces
	int32_t count;
	int32_t elements; // how many are no pierces; 0 of small hulls: not in that order
	int64_t capacity;
	cr_number_set touched[2]; // facets of each body that take part
	bool two_sided[2];        // open, and its front tells nothing (carom_mesh_sides)
	v3d middle[2];            // of each body's box, in the other's frame
	bool failed;              // out of memory
} cr_overlap;

static inline bool cr_are_both_convex(const cr_overlap *o) { return o->facets[0]->convex && o->facets[1]->convex; }

/// Does the way out of a facet go against its normal?
static inline bool cr_is_turned(const cr_overlap *o, int side, int32_t facet)
{
	const cr_facet *f = &o->facets[side]->data[facet];
	return o->two_sided[side] && v3d_dot(f->normal, o->middle[1 - side]) < f->offset;
}

/// The half-edge that stands for an edge among the pierces: that of the lower of its triangles.
int32_t cr_owner_of_edge(const cr_topology *topology, int32_t triangle, int corner);

/// Find the corners and the facets of a pair whose crossings are found (cr_find_crossings). Edges
/// within facets count for nothing: the corners do not depend on how a facet is cut into triangles.
/// false: out of memory.
bool cr_find_overlap(cr_completion *completion, const cr_candidates *crossing, cr_overlap *overlap);

#endif
