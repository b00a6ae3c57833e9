/// @file mesh.h
/// Triangle meshes: made once, checked, shared by any number of bodies. A mesh does not change
/// afterwards; only a height field may, where carom_world_edit_field digs in it.
#ifndef CAROM_MESH_H
#define CAROM_MESH_H

#include "carom/math.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Largest coordinate of a mesh; larger ones are refused, since the product of three of them would
/// not fit in a float.
#define CAROM_MAX_COORDINATE 1e12

/// For carom_mesh_def.grid_resolution: as many cells as the number of triangles is worth, from 7 to
/// 48 along the longest side, and no grid for fewer than 64 triangles.
#define CAROM_GRID_BY_SIZE (-1)

/// The type of coordinates in the caller's memory.
typedef enum carom_scalar { CAROM_FLOAT32, CAROM_FLOAT64 } carom_scalar;

/// Where an array of coordinates lies: element i starts stride bytes after element i - 1 and holds
/// x, y, z (or one value, where a comment says so) of the given type. Any alignment. The library
/// copies, so the memory is the caller's again when the call returns.
typedef struct carom_strided {
	const void *data;
	int64_t stride; ///< bytes, may be negative; 0: packed
	carom_scalar type;
} carom_strided;

/// To which side a body that crosses an open mesh is led out, and from which side a body that comes
/// near is seen ahead (carom_world_def.speculative_distance). CAROM_SIDES_CONTAINER makes a closed
/// mesh such a surface. All other values are for open meshes alone, and a closed mesh ignores them:
/// it has an inside, or is a sheet that encloses nothing, and pushes to both sides.
typedef enum carom_mesh_sides {
	CAROM_SIDES_AUTO, ///< as CAROM_SIDES_FRONT where the body is static, else as CAROM_SIDES_BOTH
	/// To the front, from where triangles are counter-clockwise. For level geometry: it stops
	/// bodies even when they sink in deeply.
	CAROM_SIDES_FRONT,
	/// For each flat part, to the side on which the middle of the other body's box lies (of a
	/// sphere or capsule: its own middle).
	CAROM_SIDES_BOTH,
	/// A closed mesh that holds other bodies, as a drum or a box of walls without thickness does.
	/// Its triangles face inwards. Where they enclose a volume counter-clockwise seen from outside,
	/// all are turned round (carom_mesh_report.inverted). It collides by these fronts, as
	/// CAROM_SIDES_FRONT: what is outside of it and does not touch it is not seen. So it has no
	/// inside and no volume: carom_mesh_report.closed is false, carom_mesh_get_mass refuses it, and
	/// a dynamic body of it needs a mass of the caller's. Of an open mesh (a drum without a lid) it
	/// is CAROM_SIDES_FRONT, and no triangle is turned. A mesh that encloses nothing is a sheet, as
	/// with every other value.
	CAROM_SIDES_CONTAINER,
} carom_mesh_sides;

/// How the trees of a mesh are built. The choice sets the time of building, and that of all later
/// steps and queries. Contacts, impacts and distances do not depend on it, with three exceptions:
/// contacts of a convex shape deep in a mesh, the last bits of the points of a carom_separation
/// between shapes that overlap, and the carom_body_impact of two meshes that overlap when the step
/// begins: their trees decide which overlap is looked at first, and so its status, normal and
/// triangles. Recordings and baked meshes keep the choice.
typedef enum carom_mesh_build {
	CAROM_MESH_SAH, ///< by the surface area heuristic: slow to build, fast to search
	/// Along a curve, with the upper levels by the heuristic: for meshes that are soon released.
	CAROM_MESH_HLBVH,
	CAROM_MESH_LBVH, ///< along a curve: the fastest to build, the slowest to search
	/// Along a curve, then made better from the leaves up (treelet restructuring, Karras and Aila).
	CAROM_MESH_TRBVH,
	/// From the leaves up, each part with the best of its neighbours (Meister and Bittner).
	CAROM_MESH_PLOC,
} carom_mesh_build;

/// A triangle mesh. Start from carom_default_mesh_def.
typedef struct carom_mesh_def {
	int cookie; ///< set by carom_default_mesh_def; do not touch
	/// Float or double. Trees, rays and contacts work on the vertices rounded to float
	/// (carom_mesh_report.rounding tells the change), so give a mesh that lies far from its origin
	/// a centre. Where a float does not hold a double, the doubles are kept too:
	/// carom_mesh_self_intersections and carom_mesh_intersections decide by the numbers given.
	carom_strided vertices;
	int32_t vertex_count;
	const int32_t *triangles; ///< [3*triangle_count], counter-clockwise seen from outside
	int32_t triangle_count;
	/// Cells along the longest side of the inside-outside grid, 0 (no grid) to 1024. The default is
	/// CAROM_GRID_BY_SIZE. The grid tells of most vertices without a ray that they are outside;
	/// results do not depend on it. It gets fewer cells than asked for where it would have more
	/// than four million (a byte each), or where the boxes of long triangles would touch several
	/// hundred cells each.
	int32_t grid_resolution;
	carom_mesh_sides sides; ///< of an open mesh, or of a container
	/// [triangle_count] numbers of the caller's, one for each triangle, which are copied; NULL: all
	/// are 0. Contacts hand them on (carom_contact.material_a); nothing else depends on them.
	/// Height fields and hulls get theirs by carom_create_painted_mesh.
	const uint32_t *materials;
	/// How its trees are built. Height fields, hulls, scaled meshes and meshes of recordings always
	/// have CAROM_MESH_SAH.
	carom_mesh_build build;
	/// A length, 0 or more; 0 (default): vertices stay where they are. Closes cracks between
	/// triangles whose corners nearly meet, at which spheres and capsules would catch.
	/// - Vertices are taken in their order. One that lies within this distance of an earlier vertex
	///   that stayed moves to the place of the nearest such one, of equally near ones the lowest.
	///   All others stay. So no vertex moves farther than this distance, and vertices that stayed
	///   are farther apart than it. It should be twice the width of the widest crack, or more, and
	///   well below the shortest edge.
	/// - Vertices and triangles keep their numbers. Only places change, before all else:
	///   carom_mesh_get_vertices and carom_mesh_get_doubles tell the places after it, and so do
	///   saved, scaled and recorded meshes. Distances are those of the numbers given, before they
	///   are rounded to float.
	/// - A triangle two of whose corners come to one place is left out and counts in
	///   carom_mesh_report.degenerate_triangles; vertices that moved count in duplicate_vertices.
	/// - A crack between a corner and the middle of an edge stays.
	///
	/// It takes linear time, on one thread. CAROM_INVALID_ARGUMENT: below 0, or not finite.
	double weld_distance;
	/// Where the origin of the mesh's frame lies in the coordinates of the vertices; 0, 0, 0
	/// (default): at their origin. For files in world coordinates, whose vertices lie far from
	/// their origin: carom_find_mesh_centre tells a centre that keeps the digits. It is subtracted
	/// from the vertices, in double, before all else. The mesh is in its own frame from then on, in
	/// all calls, reports and files. To put it where the coordinates have it, at a pose of theirs:
	/// - make it a part of a body: carom_part.pose.position is the centre. The body's pose, its
	///   motion and its impacts are then those of the coordinates.
	/// - for a call that takes a mesh or shape and a pose: the position is
	///   carom_transform_point(pose, centre), and the orientation stays.
	///
	/// Saved meshes keep it, scaled ones have it scaled; recordings keep the mesh without it.
	/// CAROM_INVALID_ARGUMENT: not finite.
	carom_vec3 centre;
} carom_mesh_def;

/// No vertices, no triangles, packed floats, CAROM_GRID_BY_SIZE, CAROM_SIDES_AUTO, no materials,
/// CAROM_MESH_SAH, no weld_distance, no centre. Thread-safe.
CAROM_API carom_mesh_def carom_default_mesh_def(void);

/// Tell a centre (carom_mesh_def.centre) for vertices [count] that keeps digits: along each axis on
/// which the middle of their box is farther from 0 than 16 times half the box's longest side, about
/// that middle; 0 along the others. So a mesh near its origin gets 0, 0, 0. No vertex loses a digit
/// by the subtraction. Vertices that are not finite do not count. For carom_create_hull too:
/// subtract it from the points. CAROM_INVALID_ARGUMENT names a missing argument, a negative count,
/// and a wrong field of vertices. Linear. Thread-safe.
CAROM_API carom_result carom_find_mesh_centre(
	carom_context *context, const carom_strided *vertices, int32_t count, carom_vec3 *centre);

/// The findings of the check of a mesh, whose vertices are where carom_mesh_def.weld_distance put
/// them. Vertices at one position (equal bit for bit) count as one vertex in all that is said about
/// edges. So a mesh that has three vertices of its own for each triangle can be closed.
typedef struct carom_mesh_report {
	int32_t vertex_count;
	int32_t triangle_count;
	// Findings that make a mesh unusable (CAROM_INVALID_MESH):
	int32_t nonfinite_vertices;     ///< vertices with a coordinate that is NaN or infinite
	int32_t huge_vertices;          ///< vertices beyond CAROM_MAX_COORDINATE
	int32_t out_of_range_triangles; ///< triangles with an index below 0 or not below vertex_count
	// Parts that are left out of detection, while all others are usable:
	int32_t degenerate_triangles; ///< zero area or a repeated corner
	/// Triangles whose corners, in their order, are those of an earlier triangle.
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
	/// Edges of more than two triangles that are used more often one way than the other.
	int32_t unbalanced_edges;
	int32_t nonmanifold_vertices; ///< the triangles around it form more than one fan
	/// Vertices at which the normals of their triangles cancel out (the two sides of a flat sheet,
	/// two cubes corner to corner). Such a vertex has no normal and casts no ray.
	int32_t normalless_vertices;
	int32_t components; ///< pieces connected through edges
	int32_t euler;      ///< V - E + F of the welded mesh without the parts left out
	/// True: the surface bounds a solid, since every edge is used as often in one direction as in
	/// the other. False where there are border_edges, inconsistent_edges or unbalanced_edges, where
	/// no triangle is usable, and for CAROM_SIDES_CONTAINER. Only closed meshes have an inside, and
	/// only these are seen by rays from other bodies' vertices. Open meshes collide where their
	/// triangles cross (carom_mesh_sides).
	bool closed;
	/// Closed, with a negative volume; or a container with a positive one. carom_create_mesh turns
	/// the triangles round; their numbers stay.
	bool inverted;
	/// carom_create_mesh would accept it. A mesh without triangles is usable and never collides.
	bool usable;
	double volume; ///< enclosed, as oriented; 0 when open, or a container
	double area;
	double lower[3];
	double upper[3];
	/// The number of the first vertex or triangle of the first finding that is not zero, in the
	/// order of the fields; -1: there is none. And the finding in words; "" where there is none.
	int32_t first_element;
	char first_finding[160];
} carom_mesh_report;

/// Check a mesh without making it. Faults of the data are in the report, not errors. The call fails
/// only for wrong arguments (NULL with a count above zero, negative counts) or out of memory.
/// Thread-safe.
CAROM_API carom_result carom_check_mesh(
	carom_context *context, const carom_mesh_def *def, carom_mesh_report *report);

/// A mesh with its topology and trees. It counts references; each body of it holds one.
typedef struct carom_mesh carom_mesh;

/// Check a mesh and build its trees. CAROM_INVALID_MESH: its report says that it is not usable, and
/// the text names the finding. report may be NULL; it is filled on CAROM_INVALID_MESH too. On
/// failure *mesh is NULL. The caller holds one reference (carom_release_mesh). Thread-safe: several
/// threads may make meshes of one context at once.
CAROM_API carom_result carom_create_mesh(carom_context *context, const carom_mesh_def *def,
	carom_mesh_report *report, carom_mesh **mesh);

/// Make a closed solid below a rectangular field of heights: columns x rows samples, at least 2 x
/// 2, heights [rows * columns] row by row, metres. z is up in the mesh's frame, sample (0, 0) lies
/// at the origin, and samples are spacing[0] apart along x and spacing[1] along y. The bottom lies
/// thickness below the lowest height.
/// - Vertices are the samples in order; those that close the solid follow. The cell at (column,
///   row) has the triangles 2 * (row * (columns - 1) + column) and the next one.
/// - A height that is NaN is a hole: the cells with it as a corner, up to four, are no part of the
///   solid, down to the bottom. Their triangles count as degenerate in the report. A field of holes
///   alone is refused.
/// - spacing and thickness are above 0, and so large that float tells neighbouring samples apart,
///   and the bottom from the lowest height. No coordinate is beyond CAROM_MAX_COORDINATE.
///
/// References, errors and threads as for carom_create_mesh.
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

/// Make a height field with other heights in a rectangle: heights [region->rows * region->columns],
/// row by row, NaN for a hole. field (from carom_create_height_field, or loaded) stays as it is,
/// and may belong to another context. Give the new field to a body by carom_world_set_shape; the
/// old one goes with its last body.
///
/// The bottom stays where it was, and every height must lie above it: give a field that will be dug
/// in enough thickness. Rays, nearest points and contacts are those of a field made of all heights
/// with that bottom. The area and volume of the report are off by a rounding for each edit.
///
/// Cost: a copy of the mesh, a short test of each sample, and work near the rectangle. Where a hole
/// opens or closes, as much as carom_create_height_field.
///
/// Materials stay (carom_create_painted_mesh), those of cells that become holes too: a cell that
/// opens again has its old ones.
///
/// CAROM_INVALID_ARGUMENT names a missing argument, a mesh that is no height field, a side of
/// region beyond the field, a height that is infinite or not above the bottom, and heights that
/// leave only holes. On failure *edited is NULL. The caller holds a reference. Thread-safe.
CAROM_API carom_result carom_create_edited_field(carom_context *context, const carom_mesh *field,
	const carom_field_region *region, const float *heights, carom_mesh **edited);

/// Make the convex hull of points [count], a closed mesh that is also the mesh of CAROM_HULL.
/// Points become floats first, and the hull of the floats is exact. Its vertices are those of the
/// points that are its corners, in their order. Points inside, on faces and at equal places are
/// allowed.
///
/// CAROM_INVALID_ARGUMENT names a missing argument, a count below 4, and a point with a coordinate
/// that is not finite or beyond CAROM_MAX_COORDINATE. CAROM_INVALID_MESH: all points lie in one
/// plane. On failure *mesh is NULL. The caller holds a reference. Thread-safe. Source: Barber,
/// Dobkin and Huhdanpaa, The Quickhull Algorithm for Convex Hulls (1996), with exact signs.
CAROM_API carom_result carom_create_hull(
	carom_context *context, const carom_strided *points, int32_t count, carom_mesh **mesh);

/// Make a mesh of another size: vertex v of mesh becomes (scale[0] v.x, scale[1] v.y, scale[2] v.z)
/// in its own frame. The factors may differ, and negative ones mirror; the second and third corner
/// of each triangle are then exchanged, so that its front stays the front: the image of the front
/// is the front of the scaled mesh. So a closed mesh stays solid, and an open floor that is
/// mirrored along up (z = -1) is a ceiling, which faces down. A floor that is to face up again is
/// turned by its pose, not mirrored. Rays, nearest points, casts and contacts are the images of
/// those of mesh.
/// - Vertices and triangles keep their numbers; materials and sides stay; doubles stay doubles.
/// - A hull stays a hull. Its triangles may get other numbers, and a flat face may be divided
///   otherwise: each has the material that the hull has below its middle. One that is so flat that
///   float loses a vertex may get other vertices.
/// - It costs as much as carom_create_mesh or carom_create_hull, and has memory of its own: share
///   it among bodies of one size. mesh may belong to another context.
///
/// CAROM_INVALID_ARGUMENT names a missing argument, and a factor that is 0 or not finite.
/// CAROM_INVALID_MESH: a vertex ends beyond CAROM_MAX_COORDINATE. On failure *scaled is NULL. The
/// caller holds a reference. Thread-safe.
CAROM_API carom_result carom_create_scaled_mesh(
	carom_context *context, const carom_mesh *mesh, const double scale[3], carom_mesh **scaled);

/// Make a mesh that differs from mesh in its materials alone (carom_mesh_def.materials): so hulls
/// and height fields get some, and all other meshes others. mesh stays as it is, and may belong to
/// another context. materials [count] is copied.
/// - count 1: the number is that of all triangles. So a hull, a stone say, has one.
/// - Of a height field there are two numbers for each cell, in the order of its triangles
///   (carom_create_height_field): 2 * (columns - 1) * (rows - 1). Where the source has one number
///   for each cell, give it twice. Cells of holes have theirs too. A wall takes the number of the
///   triangle whose side it hangs from; the bottom takes the numbers of the surface above it, in
///   a field without holes those above the first corners of its triangles.
/// - Of all others there is one number for each triangle, carom_mesh_report.triangle_count in all.
///   carom_mesh_get_triangles tells the triangles of a hull.
/// - NULL and 0: without materials.
///
/// Contacts, rays, nearest points and casts then report the numbers as those of a mesh. A contact,
/// ray hit or nearest point of a body whose shape is CAROM_HULL has the number of the hull's
/// triangle at its point, at an edge that of the side that its normal belongs to. It costs a copy
/// of the mesh, whose trees are not built again.
///
/// CAROM_INVALID_ARGUMENT names a missing argument, and a count that the mesh does not take. On
/// failure *painted is NULL. The caller holds a reference. Thread-safe.
CAROM_API carom_result carom_create_painted_mesh(carom_context *context, const carom_mesh *mesh,
	const uint32_t *materials, int32_t count, carom_mesh **painted);

/// Take another reference, for a second owner or to keep the mesh of a body
/// (carom_world_get_body_def); carom_release_mesh gives it up. Returns the mesh. NULL does nothing.
/// Thread-safe.
CAROM_API carom_mesh *carom_retain_mesh(const carom_mesh *mesh);

/// Give up a reference. The mesh is destroyed with its last reference, which a body may hold. NULL
/// does nothing. Thread-safe.
CAROM_API void carom_release_mesh(carom_mesh *mesh);

/// The report made on creation. Valid while the mesh lives. Thread-safe.
CAROM_API const carom_mesh_report *carom_mesh_get_report(const carom_mesh *mesh);

/// Mass, centre and inertia of a closed mesh at density 1, in the mesh's frame: multiply mass and
/// inertia by the density (Eberly, Polyhedral Mass Properties, 2002).
typedef struct carom_mass {
	double mass;
	carom_vec3 centre;
	/// xx, yy, zz, xy, xz, yz of the inertia tensor about the centre, along the axes of the mesh.
	/// The off-diagonal terms are elements of the tensor: xy is the negative integral of x y.
	double inertia[6];
} carom_mass;

/// Tell the mass, centre and inertia of a mesh at density 1. CAROM_INVALID_MESH: it is not closed
/// or has no volume. Thread-safe.
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

/// Tell the sizes and quality of the trees. epo is computed only with with_epo: it takes O(n log n)
/// box tests. Thread-safe.
CAROM_API carom_result carom_mesh_get_tree_info(
	const carom_mesh *mesh, bool with_epo, carom_tree_info *info);

/// The vertices [3*vertex_count] and triangles [3*triangle_count] as the library holds them:
/// floats, and an inverted mesh turned round. Valid while the mesh lives. Thread-safe.
CAROM_API const float *carom_mesh_get_vertices(const carom_mesh *mesh);
CAROM_API const int32_t *carom_mesh_get_triangles(const carom_mesh *mesh);

/// The vertices [3*vertex_count] as they were given, less the centre. NULL where floats hold all of
/// them: then carom_mesh_get_vertices has these numbers. Valid while the mesh lives. Thread-safe.
CAROM_API const double *carom_mesh_get_doubles(const carom_mesh *mesh);

/// The centre that carom_mesh_def gave to the mesh: where its origin lies in the coordinates that
/// it was made from. Thread-safe.
CAROM_API carom_vec3 carom_mesh_get_centre(const carom_mesh *mesh);

/// The sides that carom_mesh_def gave to the mesh. Thread-safe.
CAROM_API carom_mesh_sides carom_mesh_get_sides(const carom_mesh *mesh);

/// Tell the number that carom_mesh_def.materials gave to a triangle, for example one that a ray has
/// hit; 0 where the mesh has no materials. CAROM_INVALID_ARGUMENT: the mesh has no such triangle.
/// Thread-safe.
CAROM_API carom_result carom_mesh_get_material(
	const carom_mesh *mesh, int32_t triangle, uint32_t *material);

/// Write a mesh with its trees, so that carom_mesh_load need not make them: one call of write, with
/// a multiple of 64 bytes. Equal meshes give equal bytes, for any threads and instruction set. Only
/// a library of the same baked version, on a machine of the same byte order, reads them: keep the
/// source of the mesh too. CAROM_INVALID_ARGUMENT: write gave up. Thread-safe.
CAROM_API carom_result carom_mesh_save(const carom_mesh *mesh, carom_write_fn *write, void *user);

/// Make a mesh from the bytes that carom_mesh_save wrote. It gives the results of the saved mesh,
/// to the bit.
/// - copy true: the bytes are the caller's again when the call returns.
/// - copy false, for a file mapped to memory: the mesh points into the bytes. They must begin at a
///   multiple of 64, and stay there unchanged until the last reference to the mesh is given up
///   (bodies hold references).
///
/// CAROM_INVALID_MESH, naming the field: the bytes are damaged, cut short or of another version. A
/// digest of all bytes is checked first, and then every count and index, so forged bytes give wrong
/// contacts at worst. On failure *mesh is NULL. The caller holds a reference. Thread-safe.
CAROM_API carom_result carom_mesh_load(
	carom_context *context, const void *bytes, size_t size, bool copy, carom_mesh **mesh);

#ifdef __cplusplus
}
#endif
#endif
