/// Facets of a mesh: its triangles joined to flat polygons, whatever their number, and which edges
/// and vertices are real.
///
/// A cube is six facets, twelve creases and eight corners, be it made of 12 triangles or of 3,072.
/// Contacts are made of these, so that they do not depend on how a surface was cut into triangles.
/// Made once with the mesh: O(n log n).
#ifndef CR_MESH_FACETS_H
#define CR_MESH_FACETS_H

#include "mesh/refit.h"

/// Hulls of so many corners can be asked for all of them; with so many facets too they are small
/// hulls, whose edges are listed. No more than 90 edges join 32 corners (Euler's formula).
enum { CR_FEW_CORNERS = 32, CR_FEW_FACETS = 32, CR_FEW_EDGES = 3 * CR_FEW_CORNERS - 6 };
/// Bodies of so many facets, or fewer, make patches with all others.
enum { CR_PATCH_FACETS = 64 };

/// Facets of one triangle have no record in thin facets (cr_facets_thin): they are worked out when
/// they are asked for. Their number is that of the triangle with this bit.
enum { CR_LONE_FACET = 1 << 30 };

/// A flat polygon, perhaps with holes: triangles joined through edges that lie in one plane up to
/// rounding.
typedef struct cr_facet {
	v3d normal; // outward, unit; plane: normal . p = offset
	double offset;
	double area;
	int32_t first; // in cr_facets.triangles; ~triangle of one that has no record
	int32_t count;
} cr_facet;

/// An edge of a small hull, from corner to corner, whatever number of half-edges it is cut into.
typedef struct cr_hull_edge {
	int32_t half_edge; // a half-edge of it, of the lower of its two triangles
	int32_t pieces;    // how many it is cut into
	uint16_t from;     // in cr_facets.few
	uint16_t to;
} cr_hull_edge;

typedef struct cr_facets {
	cr_facet *data; // [count] the facet of the largest triangle first; of thin ones in any order
	int32_t count;
	int32_t *of_triangle; // [triangle_count] -1: left out
	int32_t *triangles;   // [listed] by facet
	// of dense facets with room for triangle_count; of thin ones those alone that have a record
	int32_t listed;
	// of thin facets: the topology that those without a record are worked out from, not owned; of
	// dense ones NULL
	const cr_topology *thin;
	// Of thin facets: room of data and of triangles; records that are free (count 0), as a list by
	// their first, from 1 on, 0: none; and the number of all facets.
	int32_t room;
	int32_t list_room;
	int32_t free;
	int32_t whole;
	// [triangle_count] bit k: edge k is a border or lies between two facets
	uint8_t *crease;
	// [vertex_count] of a vertex as welded: 1 where creases meet or end or bend
	uint8_t *corner;
	int32_t *few;      // [few_count] the vertices with corner set, up to CR_FEW_CORNERS
	int32_t few_count; // 0: more
	// [edge_count] of a small hull (hull_edges.c), by half_edge; 0 of any other mesh
	cr_hull_edge *edges;
	int32_t edge_count;
	// metres: no vertex lies farther from the planes of its own facets; of a small hull, nor in
	// front of any other
	double slack;
	int32_t triangle_count;
	int32_t vertex_count;
	bool convex; // the mesh is closed, and no vertex lies in front of a facet
	// they are not made, and would be more than CR_PATCH_FACETS; the rest is empty then
	bool put_off;
} cr_facets;

/// Has a topology, all of whose triangles are in use, certainly more than CR_PATCH_FACETS facets?
/// Where its triangles face in so many directions, this costs some thousand products of normals,
/// however large the topology is. Else the facets have to be made to know.
bool cr_has_many_facets(const cr_topology *topology);
/// The number of facets, if it is at most CR_PATCH_FACETS; else some greater number.
static inline int32_t cr_count_facets(const cr_facets *facets)
{
	return facets->put_off || facets->thin ? INT32_MAX : facets->count;
}

/// Work out the facet of one triangle, with the bits that cr_facets_build gives it.
void cr_lone_facet(const cr_topology *topology, int32_t triangle, cr_facet *facet);

/// A facet by its number. room: where one goes that has no record.
static inline const cr_facet *cr_facet_at(const cr_facets *facets, int32_t number, cr_facet *room)
{
	if (number < CR_LONE_FACET)
		return &facets->data[number];
	cr_lone_facet(facets->thin, number & ~CR_LONE_FACET, room);
	return room;
}

/// A triangle of a facet.
static inline int32_t cr_triangle_in_facet(const cr_facets *facets, const cr_facet *facet, int32_t i)
{
	return facet->first < 0 ? ~facet->first : facets->triangles[facet->first + i];
}

/// How many triangles a facet has.
static inline int32_t cr_facet_size(const cr_facets *facets, int32_t number)
{
	return number < CR_LONE_FACET ? facets->data[number].count : 1;
}

/// The triangle that it was grown from.
static inline int32_t cr_first_of_facet(const cr_facets *facets, int32_t number)
{
	return number < CR_LONE_FACET ? facets->triangles[facets->data[number].first] : number & ~CR_LONE_FACET;
}

static inline v3d cr_facet_normal(const cr_facets *facets, int32_t number)
{
	cr_facet room;
	return cr_facet_at(facets, number, &room)->normal;
}

/// Make the facets of a topology. Returns false when out of memory: then they are empty.
bool cr_facets_build(carom_context *context, const cr_topology *topology, bool closed, cr_facets *facets);
/// Make the facets of a topology that was refitted from those before, with the bits that
/// cr_facets_build gives them: those near the change are grown again, the rest copied. lower,
/// upper: the box of the triangles in use, before and after; there are some. CAROM_INVALID_MESH
/// where the facets that change reach ever farther: then they have to be built. CAROM_OUT_OF_MEMORY
/// comes without a text. On failure the facets are empty.
carom_result cr_facets_refit(carom_context *context, const cr_topology *topology, const cr_change *change,
	const cr_facets *from, const float lower[3], const float upper[3], bool closed, cr_facets *facets);
/// Drop the records of facets of one triangle, if there are so many facets that none of what takes
/// all of them asks for them: a field has such a facet for nearly each triangle. The topology must
/// outlive the facets. Returns false when out of memory: then they are as they were.
bool cr_facets_thin(carom_context *context, const cr_topology *topology, cr_facets *facets);
/// Bring the planes of facets up to date whose vertices have moved so that the facets stay, with
/// the bits that cr_facets_build gives them.
void cr_facets_settle(const cr_topology *topology, cr_facets *facets);
/// List the edges of a small hull, whose other members are set; of any other mesh there are none.
/// Returns false when out of memory (hull_edges.c).
bool cr_facets_list_edges(carom_context *context, const cr_topology *topology, cr_facets *facets);
/// Free the facets that cr_facets_build or cr_facets_refit made.
void cr_facets_free(carom_context *context, cr_facets *facets);
/// Bytes held.
size_t cr_facets_bytes(const cr_facets *facets);

/// Is edge k of a triangle a crease?
static inline bool cr_is_crease(const cr_facets *f, int32_t half_edge) { return f->crease[half_edge / 3] >> half_edge % 3 & 1; }

#endif
