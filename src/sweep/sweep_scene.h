/// The scene of a sweep as one mesh: vertices, edges and triangles of all meshes one after the
/// other, who touches whom, and which pair of triangles answers for a pair of features.
///
/// A pair of features (vertex and face, or two edges) lies in several pairs of triangles. It is
/// tested in one of them: the first pair, in the order of the triangles' numbers, that shares no
/// vertex. A pair of features without such a pair is an orphan (Tang, Manocha and Tong 2010,
/// section 4) and is listed once, when the scene is made. So every pair of features is tested once,
/// and pairs of adjacent triangles, whose boxes always overlap, need not be looked at.
#ifndef CR_SWEEP_SWEEP_SCENE_H
#define CR_SWEEP_SWEEP_SCENE_H

#include "base/array.h"
#include "base/context.h"

/// A vertex and a face, or two edges, by their four vertices as geom/swept.h wants them, and the
/// numbers of the features.
typedef struct cr_feature_pair {
	int32_t vertices[4];
	int32_t a, b; // vertex and triangle, or two edges
} cr_feature_pair;

/// A set that holds all of some vertices, and few others.
typedef struct cr_near_vertices {
	uint64_t bits[2];  // their hashes, cr_vertex_bit
	int32_t low, high; // the lowest and the highest
} cr_near_vertices;

typedef struct cr_sweep_scene {
	int32_t vertex_count;
	int32_t triangle_count;
	int32_t edge_count;
	int32_t edge_room;        // edges and edge_first are allocated for so many
	const int32_t *triangles; // [3*triangle_count] vertices; owned by the caller
	// [vertex_count] numbers that decide which end, and which edge, comes first
	const int32_t *given_vertices;
	int32_t *triangle_edges; // [3*triangle_count] edge from corner k to corner k + 1
	// [2*edge_count] vertices, the lower given one first; edges sorted by their own numbers
	int32_t *edges;
	int32_t *vertex_first;     // [vertex_count+1] where a vertex' triangles begin
	int32_t *vertex_triangles; // [3*triangle_count] ascending for each vertex
	int32_t *edge_first;       // [edge_count+1]
	int32_t *edge_triangles;   // [3*triangle_count] ascending for each edge
	// [triangle_count] bit k: first triangle of corner k; bit 3 + k: of its side k
	uint8_t *first_of;
	cr_near_vertices *near; // [triangle_count] of the triangles that share a vertex with it
	// [vertex_count] bits of the vertices of its triangles, cr_ring_bit
	uint64_t *vertex_ring;
	CR_ARRAY(cr_feature_pair) orphan_faces; // vertex and face, sorted
	// by the edge of lower number, which may be named second
	CR_ARRAY(cr_feature_pair) orphan_edges;
} cr_sweep_scene;

/// Make a scene over triangles [3*triangle_count], at least one (each of three different vertices
/// below vertex_count), and given_vertices [vertex_count], all different; both must outlive it. 3 *
/// triangle_count fits into 31 bits. alone: as cr_find_orphans takes it. False when out of memory;
/// the scene is empty then. Deterministic, one thread.
bool cr_sweep_scene_build(carom_context *context, const int32_t *triangles, int32_t triangle_count,
	const int32_t *given_vertices, int32_t vertex_count, const uint8_t *alone, cr_sweep_scene *scene);
void cr_sweep_scene_free(carom_context *context, cr_sweep_scene *scene);

/// Place of a vertex in a set of 128 (multiplicative hash, Knuth).
static inline uint32_t cr_vertex_bit(int32_t vertex) { return (uint32_t)vertex * 0x9e3779b1u >> 25; }

/// Whether edge e is named before edge f in a query: by the given numbers of their first ends.
/// (Edges that share a vertex are never in one.)
static inline bool cr_edge_is_first(const cr_sweep_scene *scene, int32_t e, int32_t f)
{
	return scene->given_vertices[scene->edges[2 * (int64_t)e]] < scene->given_vertices[scene->edges[2 * (int64_t)f]];
}

/// Two edges that share no vertex, as a query names them.
static inline cr_feature_pair cr_make_edge_pair(const cr_sweep_scene *scene, int32_t e, int32_t f)
{
	const bool in_order = cr_edge_is_first(scene, e, f);
	const int32_t a = in_order ? e : f, b = in_order ? f : e;
	const int32_t *p = &scene->edges[2 * (int64_t)a], *q = &scene->edges[2 * (int64_t)b];
	return (cr_feature_pair){ { p[0], p[1], q[0], q[1] }, a, b };
}

/// Place of a vertex in a set of 64. Neighbours have numbers near each other: the lowest bits tell
/// them apart.
static inline uint64_t cr_ring_bit(int32_t vertex) { return (uint64_t)1 << (vertex & 63); }

/// Bits of the vertices of the triangles of an edge, and few others: those that are around both
/// ends.
static inline uint64_t cr_edge_ring(const cr_sweep_scene *scene, int32_t edge)
{
	const int32_t *ends = &scene->edges[2 * (int64_t)edge];
	return scene->vertex_ring[ends[0]] & scene->vertex_ring[ends[1]];
}

/// Do two triangles share a vertex (or are they the same)?
static inline bool cr_are_adjacent(const cr_sweep_scene *scene, int32_t a, int32_t b)
{
	const int32_t *p = &scene->triangles[3 * (int64_t)a], *q = &scene->triangles[3 * (int64_t)b];
	// Without branches: which corners are the same cannot be foreseen.
	return (p[0] == q[0]) | (p[0] == q[1]) | (p[0] == q[2]) | (p[1] == q[0]) | (p[1] == q[1]) | (p[1] == q[2]) |
		(p[2] == q[0]) | (p[2] == q[1]) | (p[2] == q[2]);
}

/// False: no triangle that shares a vertex with a (a itself among them) shares one with b. Then
/// each pair of features belongs to (a, b) exactly when a and b are the first triangles of the two
/// features. May be true without need. Not symmetric.
static inline bool cr_may_be_near(const cr_sweep_scene *scene, int32_t a, int32_t b)
{
	const cr_near_vertices *near = &scene->near[a];
	bool found = false;
	for (int k = 0; k < 3; k++) {
		const int32_t v = scene->triangles[3 * (int64_t)b + k];
		const uint32_t bit = cr_vertex_bit(v);
		found |= (v >= near->low) & (v <= near->high) & (near->bits[bit >> 6] >> (bit & 63) & 1);
	}
	return found;
}

/// Is a, a triangle of the vertex, the first one that shares no vertex with b? (a does not.)
bool cr_answers_for_vertex(const cr_sweep_scene *scene, int32_t vertex, int32_t a, int32_t b);

/// Is (a, b), a triangle of each edge, the first pair that shares no vertex? Ordered by the
/// triangle of edge_a, the lower number, then by that of edge_b. ((a, b) does not.)
bool cr_answers_for_edges(const cr_sweep_scene *scene, int32_t edge_a, int32_t edge_b, int32_t a, int32_t b);

enum { CR_MOST_VERTEX_FACE = 6, CR_MOST_EDGE_EDGE = 9 };

/// Bits of a mask of pairs of features: corner k of a with b is bit k, corner k of b with a is bit
/// CR_FEATURES_OF_B + k, side i of a with side k of b is bit CR_FEATURES_EDGES + 3 i + k. A bit
/// above all stands for "not known".
enum {
	CR_FEATURES_OF_B = 3,
	CR_FEATURES_EDGES = 6,
	CR_FEATURES_UNKNOWN = 1 << (CR_FEATURES_EDGES + 9),
	CR_SIDES_SHIFT = 3, // of first_of
};

/// The pairs of features for which a and b are the first triangles of both features.
static inline uint32_t cr_features_of_firsts(const cr_sweep_scene *scene, int32_t a, int32_t b)
{
	const uint32_t of_a = scene->first_of[a], of_b = scene->first_of[b], sides = of_b >> CR_SIDES_SHIFT;
	const uint32_t corners = (of_a & 7) | (of_b & 7) << CR_FEATURES_OF_B;
	const uint32_t first = of_a >> 3 & 1, second = of_a >> 4 & 1, third = of_a >> 5 & 1;
	return corners | (first * sides | second * sides << 3 | third * sides << 6) << CR_FEATURES_EDGES;
}

/// The pairs of features that the pair of triangles (a, b) answers for. The triangles share no
/// vertex; or every is true: all pairs of features that share no vertex count, from their first
/// triangles, be these adjacent or not (no orphan sets).
uint32_t cr_features_mask(const cr_sweep_scene *scene, int32_t a, int32_t b, bool every);

/// List the pairs of features that the pair of triangles (a, b) answers for, not every: at most 6
/// of vertex and face, 9 of edges. Returns the number of the former; *edge_pairs gets that of the
/// latter.
int cr_features_of_pair(const cr_sweep_scene *scene, int32_t a, int32_t b, cr_feature_pair faces[CR_MOST_VERTEX_FACE],
	cr_feature_pair edges[CR_MOST_EDGE_EDGE], int *edge_pairs);

#endif
