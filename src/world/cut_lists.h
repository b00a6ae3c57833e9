/// Lists of the search for cloth that crosses closed meshes (surface_cuts.h), kept from step to
/// step for their memory alone.
#ifndef CR_WORLD_CUT_LISTS_H
#define CR_WORLD_CUT_LISTS_H

#include "base/array.h"
#include "base/radix.h"
#include "surface/side.h"

/// An edge that pierces a face of the other surface.
typedef struct cr_piercing {
	int32_t ends[2];  // vertices of the edge, lower first; those of the closed mesh as welded
	int32_t triangle; // that is pierced
	int32_t own;      // a triangle that has the edge,
	int32_t corner;   // and the corner of it where one of the ends is, and the other one follows
	int32_t side[2];  // of each end: 1 in front of the plane of the triangle, -1 behind it, 0 in it
	double at;        // 0 to 1 along the edge from ends[0]
} cr_piercing;

typedef CR_ARRAY(cr_piercing) cr_piercings;

/// A face of cloth that is pierced.
typedef struct cr_cut_face {
	int32_t triangle;
	bool holds; // a corner of it is inside the mesh
} cr_cut_face;

/// A vertex of the closed mesh that a flood has reached.
typedef struct cr_cut_node {
	int32_t vertex;
	int32_t next; // in its list; -1: it is the last one
	cr_foot foot; // on the cloth
} cr_cut_node;

/// A part of the closed mesh that cloth bounds, as far as it was followed.
typedef struct cr_cut_flood {
	int32_t side;                                   // of the cloth, where it is: 1 in front
	int32_t joined;                                 // the flood that it is part of now; -1: none
	int32_t waiting, last_waiting, done, last_done; // nodes; -1: none
	int64_t count;
	int64_t known; // vertices of it that belong to the other side already
	double deep2;  // the square of its largest distance from the cloth
	bool barred;   // it may not be led back
	bool led;      // another one was deeper
	bool lost;     // another one was less deep
} cr_cut_flood;

/// A part of an edge of cloth that is inside a closed mesh.
typedef struct cr_cut_span {
	int32_t ends[2];      // vertices of the edge, lower first
	int32_t own, corner;  // as of its piercings
	int32_t enter, leave; // triangles of the mesh
	int32_t group;        // the lowest span that is joined to it
} cr_cut_span;

/// The side to which an edge of cloth was led out.
typedef struct cr_cut_way {
	int32_t cloth, solid, ends[2];
	double out[3];
} cr_cut_way;

typedef struct cr_cut_lists {
	CR_ARRAY(uint8_t) crossed; // by member: a closed mesh that cloth crosses; it has its fans
	cr_piercings cloth_edges, solid_edges;
	CR_ARRAY(cr_cut_face) faces; // by number
	CR_ARRAY(int32_t) labels;    // by vertex of the closed mesh: the flood there; -1: none
	CR_ARRAY(cr_cut_node) nodes;
	CR_ARRAY(cr_cut_flood) floods;
	CR_ARRAY(cr_cut_span) spans;
	CR_ARRAY(cr_key) sharing;  // spans by triangles of the cloth, then by groups, and room to sort
	CR_ARRAY(int32_t) members; // spans by groups
	CR_ARRAY(cr_cut_way) ways; // by features
} cr_cut_lists;

void cr_free_cuts(carom_context *memory, cr_cut_lists *lists);

#endif
