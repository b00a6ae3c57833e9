/// @file mesh.h
/// Triangle meshes: made once, checked, shared by any number of bodies, immutable afterwards.
#ifndef CAROM_MESH_H
#define CAROM_MESH_H

#include "carom/math.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Coordinates beyond this are refused: products of three of them would no longer fit in a float.
#define CAROM_MAX_COORDINATE 1e12

/// carom_mesh_def.grid_resolution: as many cells as the number of triangles is worth, 7 to 48 along
/// the longest side, and no grid for fewer than 64 triangles.
#define CAROM_GRID_BY_SIZE (-1)

/// The type of coordinates in the caller's memory.
typedef enum carom_scalar { CAROM_FLOAT32, CAROM_FLOAT64 } carom_scalar;

/// Where coordinates lie: element i starts stride bytes after element i-1 and holds x, y, z of the
/// given type. Any alignment. The library copies; the memory is the caller's again when the call
/// returns.
typedef struct carom_strided {
	const void *data;
	int64_t stride; ///< bytes, may be negative; 0: packed
	carom_scalar type;
} carom_strided;

/// Which way out of an open mesh is, where a body crosses it, and from which side a body that comes
/// near it is seen ahead. A closed mesh has an inside and heeds none of this.
typedef enum carom_mesh_sides {
	CAROM_SIDES_AUTO, ///< as CAROM_SIDES_FRONT where the body is static, else as CAROM_SIDES_BOTH
	/// To the front, from where triangles are counter-clockwise: level geometry, which stops bodies
	/// that sink in deeply.
	CAROM_SIDES_FRONT,
	/// Of each flat part: to the side of the middle of the other body's box (of a sphere or
	/// capsule: of its own middle).
	CAROM_SIDES_BOTH,
} carom_mesh_sides;

/// How the trees of a mesh are built. Contacts, impacts and distances do not depend on it, except
/// those contacts that a convex shape has deep in a mesh. The time of building does, and so does
/// that of all later steps and queries.
typedef enum carom_mesh_build {
	CAROM_MESH_SAH,   ///< by the surface area heuristic: slow to build, fast to search
	CAROM_MESH_HLBVH, ///< along a curve, the upper levels by the heuristic: for meshes that soon go
	CAROM_MESH_LBVH,  ///< along a curve: the fastest to build, the slowest to search
	/// Along a curve, then made better from the leaves up (treelet restructuring, Karras and Aila).
	CAROM_MESH_TRBVH,
	/// From the leaves up, each part with the best of its neighbours (Meister and Bittner).
	CAROM_MESH_PLOC,
} carom_mesh_build;

/// A triangle mesh. Start from carom_default_mesh_def.
typedef struct carom_mesh_def {
	int cookie; ///< set by carom_default_mesh_def; do not touch
	/// Float or double. Trees, rays and contacts work on the vertices rounded to float
	/// (carom_mesh_report.rounding tells the change), so keep a mesh near its origin.
	/// Doubles are kept beside them where a float does not hold one: carom_mesh_self_intersections
	/// and carom_mesh_intersections decide by the numbers given.
	carom_strided vertices;
	int32_t vertex_count;
	const int32_t *triangles; ///< [3*triangle_count], counter-clockwise seen from outside
	int32_t triangle_count;
	/// Cells of the inside-outside grid along the longest side of the box, 0 for none, at most
	/// 1024; by default CAROM_GRID_BY_SIZE; fewer where that would make more than four million
	/// cells of a byte, or where the boxes of long triangles would touch several hundred cells
	/// each. The grid tells for most vertices without a ray that they are outside; results do not
	/// depend on it.
	int32_t grid_resolution;
	carom_mesh_sides sides; ///< of an open mesh
	/// [triangle_count] a number of the caller's for each triangle, or NULL: all 0. Copied.
	/// Contacts hand it on (carom_contact.material_a); nothing else depends on it. Height fields
	/// and hulls have none: to give them materials, make a mesh of their carom_mesh_get_vertices
	/// and carom_mesh_get_triangles.
	const uint32_t *materials;
	/// Height fields, hulls and scaled meshes, and meshes of recordings, have CAROM_MESH_SAH.
	carom_mesh_build build;
} carom_mesh_def;

/// No vertices, no triangles, packed floats, CAROM_GRID_BY_SIZE, CAROM_SIDES_AUTO, no materials,
/// CAROM_MESH_SAH.
/// Thread-safe.
CAROM_API carom_mesh_def carom_default_mesh_def(void);

/// The findings of the check of a mesh. Positions that are equal bit for bit count as one vertex
/// for everything that is said about edges, so a mesh with its own three vertices for each triangle
/// can be closed.
typedef struct carom_mesh_report {
	int32_t vertex_count;
	int32_t triangle_count;
	// Findings that make a mesh unusable (CAROM_INVALID_MESH):
	int32_t nonfinite_vertices;     ///< vertices with a coordinate that is NaN or infinite
	int32_t huge_vertices;          ///< vertices beyond CAROM_MAX_COORDINATE
	int32_t out_of_range_triangles; ///< triangles with an index below 0 or not below vertex_count
	// Parts that are left out of detection, while all others are usable:
	int32_t degenerate_triangles; ///< zero area or a repeated corner
	/// Triangles with the corners, in order, of an earlier triangle.
	int32_t duplicate_triangles;
	int32_t unreferenced_vertices; ///< used by no triangle; they cast no rays
	int32_t duplicate_vertices;    ///< vertices at the position of an earlier one
	// Effects of rounding to float (no finding): see carom_mesh_def.vertices.
	int32_t rounded_vertices; ///< vertices with a coordinate that float does not hold
	double rounding;          ///< most that a coordinate changed
	// Counts that decide whether the mesh has an inside:
	int32_t border_edges;       ///< used by one triangle
	int32_t nonmanifold_edges;  ///< used by more than two triangles
	int32_t inconsistent_edges; ///< used by two triangles in the same direction
	/// Used by more than two triangles, and more often one way than the other.
	int32_t unbalanced_edges;
	int32_t nonmanifold_vertices; ///< the triangles around it form more than one fan
	/// Vertices of triangles that take part whose normals cancel out (the two sides of a flat
	/// sheet, two cubes corner to corner): such a vertex has no normal and casts no ray.
	int32_t normalless_vertices;
	int32_t components; ///< pieces connected through edges
	int32_t euler;      ///< V - E + F of the welded mesh without the parts left out
	/// Every edge is used as often in one direction as in the other: the surface bounds a solid.
	/// False where there are border_edges, inconsistent_edges or unbalanced_edges, or where no
	/// triangle takes part. Only closed meshes have an inside; rays from other bodies' vertices see
	/// only them. Open meshes collide where their triangles cross, see carom_mesh_sides.
	bool closed;
	/// Closed with negative volume: the orientation is turned round on creation, triangle numbers
	/// stay.
	bool inverted;
	/// carom_create_mesh would accept it (a mesh without triangles is usable and never collides).
	bool usable;
	double volume; ///< enclosed, as oriented; 0 when open
	double area;
	double lower[3];
	double upper[3];
	/// The first element at fault for the first finding above that is not zero, or -1, and the
	/// finding in words ("").
	int32_t first_element;
	char first_finding[160];
} carom_mesh_report;

/// Check a mesh without making it. Fails only for wrong arguments (NULL with a count above zero,
/// negative counts) or out of memory; everything about the data is in the report. Thread-safe.
CAROM_API carom_result carom_check_mesh(
	carom_context *context, const carom_mesh_def *def, carom_mesh_report *report);

/// An immutable mesh with its topology and trees. Reference counted: bodies hold a reference.
typedef struct carom_mesh carom_mesh;

/// Check a mesh and build its trees. CAROM_INVALID_MESH when its report says not usable, with the
/// finding as error text. report may be NULL; it is filled also on CAROM_INVALID_MESH. On failure
/// *mesh is NULL. The caller holds a reference. Thread-safe: several threads may make meshes of one
/// context at once.
CAROM_API carom_result carom_create_mesh(carom_context *context, const carom_mesh_def *def,
	carom_mesh_report *report, carom_mesh **mesh);

/// A rectangular field of heights as a closed solid: columns x rows samples, heights[row * columns
/// + column], z up in the body's frame, sample (0, 0) at the origin, spacing[0] along x and
/// spacing[1] along y (metres). The solid reaches thickness below the lowest height. Triangles
/// 2*(row*(columns-1)+column) and +1 are those of the cell; vertices are the samples in order; the
/// vertices that close the solid follow. A height that is NaN is a hole: the cells with it as a
/// corner, up to four, are no part of the solid, down to the bottom, and their triangles count as
/// degenerate in the report. A field of holes alone is refused. columns, rows at least 2; spacing,
/// thickness above 0, and such that float tells neighbouring samples apart, and the bottom from the
/// lowest height; no coordinate beyond CAROM_MAX_COORDINATE. Otherwise as carom_create_mesh.
CAROM_API carom_result carom_create_height_field(carom_context *context, int32_t columns,
	int32_t rows, const float *heights, const double spacing[2], double thickness,
	carom_mesh **mesh);

/// A rectangle of the samples of a height field.
typedef struct carom_field_region {
	int32_t first_column;
	int32_t first_row;
	int32_t columns; ///< at least 1
	int32_t rows;    ///< at least 1
} carom_field_region;

/// A height field (carom_create_height_field, or loaded) with other heights in a rectangle: heights
/// [region->rows * region->columns], row by row, NaN for a hole. field stays as it is; bodies get
/// the new one by carom_world_set_shape, and release field when its last body has another. The
/// bottom stays where it was, and every height must lie above it: give a field that will be dug in
/// enough thickness. Rays, nearest points and contacts are those of a field made of all heights
/// with that bottom. It costs a copy of the mesh, a short test of each sample, and work near the
/// rectangle; where a hole opens or closes, as much as carom_create_height_field. The area and
/// volume of the report are off by a rounding for each edit. field may belong to another context.
/// CAROM_INVALID_ARGUMENT names a missing argument, a mesh that is no height field, a side of
/// region beyond the field, and a height that is infinite or not above the bottom; and heights that
/// leave only holes. On failure *edited is NULL. The caller holds a reference. Thread-safe.
CAROM_API carom_result carom_create_edited_field(carom_context *context, const carom_mesh *field,
	const carom_field_region *region, const float *heights, carom_mesh **edited);

/// The convex hull of count points, as a closed mesh that is also the form of CAROM_HULL. Points
/// become floats first, and the hull is that of the floats, exactly; the mesh's vertices are those
/// of the hull, in the order of the points. Points inside, on faces and at equal places are fine.
/// CAROM_INVALID_ARGUMENT names a missing argument, a count below 4, and the point whose coordinate
/// is not finite or beyond CAROM_MAX_COORDINATE. CAROM_INVALID_MESH: all points lie in one plane.
/// On failure *mesh is NULL. The caller holds a reference. Source: Barber, Dobkin and Huhdanpaa,
/// The Quickhull Algorithm for Convex Hulls (1996), with exact signs. Thread-safe.
CAROM_API carom_result carom_create_hull(
	carom_context *context, const carom_strided *points, int32_t count, carom_mesh **mesh);

/// A mesh of another size and form: vertex v of mesh becomes (scale[0] v.x, scale[1] v.y, scale[2]
/// v.z) in its own frame. The three need not be equal, and negative ones mirror; then each triangle
/// has its second and third corner exchanged, so that its front stays the front. Vertices and
/// triangles keep their numbers, materials and sides stay, doubles stay doubles, and a hull stays a
/// hull (one so flat that float loses a vertex may get other numbers). It costs as much as
/// carom_create_mesh or carom_create_hull and holds its own memory: bodies of equal size
/// share one. mesh may belong to another context. CAROM_INVALID_ARGUMENT names a missing argument,
/// and a scale that is 0 or not finite. CAROM_INVALID_MESH where a vertex ends beyond
/// CAROM_MAX_COORDINATE. On failure *scaled is NULL. The caller holds a reference. Thread-safe.
CAROM_API carom_result carom_create_scaled_mesh(
	carom_context *context, const carom_mesh *mesh, const double scale[3], carom_mesh **scaled);

/// Take another reference, to be given up by carom_release_mesh: for a second owner, or to keep the
/// mesh of a body (carom_world_get_body_def). Returns the mesh. NULL does nothing. Thread-safe.
CAROM_API carom_mesh *carom_retain_mesh(const carom_mesh *mesh);

/// Give up a reference of the caller. The mesh lives on while bodies or others hold one. NULL does
/// nothing. Thread-safe.
CAROM_API void carom_release_mesh(carom_mesh *mesh);

/// The report made on creation. Valid while the mesh lives. Thread-safe.
CAROM_API const carom_mesh_report *carom_mesh_get_report(const carom_mesh *mesh);

/// Mass, centre and inertia of a closed mesh at density 1 (Eberly, Polyhedral Mass Properties,
/// 2002).
typedef struct carom_mass {
	double mass;
	carom_vec3 centre;
	/// Xx, yy, zz, xy, xz, yz of the tensor about the centre (off-diagonal terms with their sign).
	double inertia[6];
} carom_mass;

/// CAROM_INVALID_MESH when the mesh is not closed or has no volume. Thread-safe.
CAROM_API carom_result carom_mesh_get_mass(const carom_mesh *mesh, carom_mass *mass);

/// Sizes and quality of a mesh's trees.
typedef struct carom_tree_info {
	int32_t binary_nodes;
	int32_t wide_nodes;
	int32_t depth;   ///< of the wide tree
	double sah_cost; ///< surface area heuristic: expected node and triangle tests of a random ray
	/// End-point overlap (Aila, Karras, Laine, On Quality Metrics of Bounding Volume Hierarchies,
	/// 2013).
	double epo;
	size_t bytes;       ///< all that the mesh holds
	int32_t grid_cells; ///< of the inside-outside grid
} carom_tree_info;

/// epo costs O(n log n) box tests and is computed on request only. Thread-safe.
CAROM_API carom_result carom_mesh_get_tree_info(
	const carom_mesh *mesh, bool with_epo, carom_tree_info *info);

/// The vertices [3*vertex_count] and triangles [3*triangle_count] as the library holds them (float,
/// an inverted mesh turned round). Valid while the mesh lives. Thread-safe.
CAROM_API const float *carom_mesh_get_vertices(const carom_mesh *mesh);
CAROM_API const int32_t *carom_mesh_get_triangles(const carom_mesh *mesh);

/// The vertices [3*vertex_count] as they were given, where a float does not hold one of them; else
/// NULL: the floats are the numbers given. Valid while the mesh lives. Thread-safe.
CAROM_API const double *carom_mesh_get_doubles(const carom_mesh *mesh);

/// The sides that carom_mesh_def gave to the mesh. Thread-safe.
CAROM_API carom_mesh_sides carom_mesh_get_sides(const carom_mesh *mesh);

/// The number that carom_mesh_def.materials gave to a triangle, 0 where the mesh has no materials.
/// For hits of rays and nearest points, which name the triangle. CAROM_INVALID_ARGUMENT where the
/// mesh has no such triangle. Thread-safe.
CAROM_API carom_result carom_mesh_get_material(
	const carom_mesh *mesh, int32_t triangle, uint32_t *material);

/// Write a mesh as it is, trees and all, so that carom_mesh_load need not make it again: one call
/// of write, with a multiple of 64 bytes. CAROM_INVALID_ARGUMENT where write gives up. Equal meshes
/// give equal bytes, whatever the threads and the instruction set. Only a library of the same baked
/// version on a machine of the same byte order reads them: keep the source of the mesh too.
/// Thread-safe.
CAROM_API carom_result carom_mesh_save(const carom_mesh *mesh, carom_write_fn *write, void *user);

/// Make a mesh from the bytes that carom_mesh_save wrote. It does all that the saved one does, to
/// the same bits. copy true: bytes are the caller's again when the call returns. copy false: the
/// mesh points into them, for a file mapped to memory; they begin at a multiple of 64, and stay
/// there unchanged until the last reference to the mesh is given up (bodies hold references).
/// CAROM_INVALID_MESH, naming the field, where the bytes are damaged, cut short or of another
/// version: a digest of all of them is checked first, and then every count and index, so that bytes
/// that somebody forged give wrong contacts at worst. On failure *mesh is NULL. Thread-safe.
CAROM_API carom_result carom_mesh_load(
	carom_context *context, const void *bytes, size_t size, bool copy, carom_mesh **mesh);

#ifdef __cplusplus
}
#endif
#endif
