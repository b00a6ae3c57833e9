/// Support functions and facing polygons of convex cores.
#include "geom/convex.h"

// Up to the first number of vertices all of a hull are looked at; beyond, it is searched along its
// edges. Normals of hulls of up to the second number of faces are searched eight at a time.
enum { FEW_VERTICES = 32, WIDE_FACES = 4096, RIM_CORNERS = 16 };

static double with_sign(double size, double sign) { return sign < 0 ? -size : size; }

/// Third of the side of a cube that a part of a direction lies in, where the cube reaches to
/// +-reach.
static int third_of(double part, double reach)
{
	const double border = reach * (1.0 / 3);
	return (part > -border) + (part > border);
}

/// The ninth of a side of a cube that a direction goes through.
static int start_cell(v3d d)
{
	const double x = fabs(d.x), y = fabs(d.y), z = fabs(d.z);
	if (x >= y && x >= z)
		return 9 * (d.x > 0) + 3 * third_of(d.y, x) + third_of(d.z, x);
	if (y >= z)
		return 18 + 9 * (d.y > 0) + 3 * third_of(d.z, y) + third_of(d.x, y);
	return 36 + 9 * (d.z > 0) + 3 * third_of(d.x, z) + third_of(d.y, z);
}

/// The vertex of a convex polyhedron that is best has no better neighbour, so that going to better
/// neighbours ends at it.
static int32_t climb(const cr_hull *hull, int32_t best, v3d d)
{
	double most = v3d_dot(hull->vertices[best], d);
	for (bool better = true; better;) {
		better = false;
		const int32_t end = hull->neighbour_first[best + 1];
		for (int32_t k = hull->neighbour_first[best]; k < end; k++) {
			const double along = v3d_dot(hull->vertices[hull->neighbours[k]], d);
			if (along > most) {
				most = along;
				best = hull->neighbours[k];
				better = true;
			}
		}
	}
	return best;
}

void cr_hull_set_starts(cr_hull *hull)
{
	for (int i = 0; i < CR_HULL_STARTS; i++) {
		const double along = i / 9 % 2 ? 1.5 : -1.5, u = i % 9 / 3 - 1, v = i % 3 - 1;
		const v3d d = i < 18 ? (v3d){ along, u, v } : i < 36 ? (v3d){ v, along, u } : (v3d){ u, v, along };
		hull->start[i] = hull->vertex_count > FEW_VERTICES ? climb(hull, 0, d) : 0;
	}
}

static int32_t blocks_of(int32_t count) { return (count + CR_ROW_WIDTH - 1) / CR_ROW_WIDTH; }

size_t cr_hull_count_rows(cr_hull *hull)
{
	hull->vertex_blocks = hull->vertex_count <= FEW_VERTICES ? blocks_of(hull->vertex_count) : 0;
	hull->normal_blocks = hull->face_count <= WIDE_FACES ? blocks_of(hull->face_count) : 0;
	return (size_t)CR_ROW_DOUBLES * (size_t)(hull->vertex_blocks + hull->normal_blocks);
}

/// Lanes beyond the last vector repeat the first, which wins against them.
static void fill_blocks(const v3d *vectors, int32_t count, int32_t blocks, double *rows)
{
	for (int32_t i = 0; i < CR_ROW_WIDTH * blocks; i++) {
		const v3d v = vectors[i < count ? i : 0];
		double *lane = rows + (int64_t)CR_ROW_DOUBLES * (i / CR_ROW_WIDTH) + i % CR_ROW_WIDTH;
		lane[0] = v.x;
		lane[CR_ROW_WIDTH] = v.y;
		lane[2 * CR_ROW_WIDTH] = v.z;
	}
}

void cr_hull_fill_rows(cr_hull *hull, carom_simd simd)
{
	hull->kernels = cr_get_hull_kernels(simd);
	fill_blocks(hull->vertices, hull->vertex_count, hull->vertex_blocks, hull->rows);
	fill_blocks(
		hull->normals, hull->face_count, hull->normal_blocks, hull->rows + (int64_t)CR_ROW_DOUBLES * hull->vertex_blocks);
}

static v3d support_hull(const cr_hull *hull, v3d d)
{
	if (hull->vertex_count > FEW_VERTICES)
		return hull->vertices[climb(hull, hull->start[start_cell(d)], d)];
	return hull->vertices[hull->kernels->farthest(hull->rows, hull->vertex_blocks, (double[3]){ d.x, d.y, d.z })];
}

/// The point of the rim of radius r that lies farthest along d; any point for a d along z.
static v3d rim_point(double r, double z, v3d d)
{
	const double across = sqrt(d.x * d.x + d.y * d.y);
	if (!(across > 0))
		return (v3d){ r, 0, z };
	return (v3d){ d.x * (r / across), d.y * (r / across), z };
}

static v3d support_cone(const cr_convex *c, v3d d)
{
	const v3d rim = rim_point(c->radius, -c->half_length, d), apex = { 0, 0, c->half_length };
	return v3d_dot(apex, d) > v3d_dot(rim, d) ? apex : rim;
}

static v3d support_ellipsoid(const cr_convex *c, v3d d)
{
	const v3d scaled = { c->half[0] * d.x, c->half[1] * d.y, c->half[2] * d.z };
	const v3d unit = v3d_normalize(scaled);
	const v3d farthest = { c->half[0] * unit.x, c->half[1] * unit.y, c->half[2] * unit.z };
	return c->inset > 0 ? v3d_mad(farthest, -c->inset / v3d_length(d), d) : farthest;
}

static v3d support_triangle(const v3d corner[3], v3d d)
{
	int best = 0;
	for (int i = 1; i < 3; i++)
		best = v3d_dot(corner[i], d) > v3d_dot(corner[best], d) ? i : best;
	return corner[best];
}

v3d cr_convex_support(const cr_convex *c, v3d d)
{
	switch (c->core) {
	case CR_CORE_SEGMENT: return (v3d){ 0, 0, with_sign(c->half_length, d.z) };
	case CR_CORE_BOX: return (v3d){ with_sign(c->half[0], d.x), with_sign(c->half[1], d.y), with_sign(c->half[2], d.z) };
	case CR_CORE_HULL: return support_hull(c->hull, d);
	case CR_CORE_CYLINDER: return rim_point(c->radius, with_sign(c->half_length, d.z), d);
	case CR_CORE_CONE: return support_cone(c, d);
	case CR_CORE_ELLIPSOID: return support_ellipsoid(c, d);
	case CR_CORE_TRIANGLE: return support_triangle(c->corner, d);
	default: return (v3d){ 0, 0, 0 };
	}
}

// ---- Smooth parts ----

v3d cr_convex_part_support(const cr_convex *c, v3d on, v3d farthest, v3d d)
{
	switch (c->core) {
	case CR_CORE_CYLINDER: return (v3d){ farthest.x, farthest.y, on.z };
	case CR_CORE_CONE: return on.z > 0 ? on : farthest.z > 0 ? rim_point(c->radius, -c->half_length, d) : farthest;
	case CR_CORE_ELLIPSOID: return farthest;
	default: return on;
	}
}

/// h = |(half x, half y, half z)| less the inset, whose own derivatives are 1 across d.
static void ellipsoid_curvature(const cr_convex *c, v3d farthest, v3d d, const v3d axes[2], double radii[3])
{
	const v3d square = { c->half[0] * c->half[0], c->half[1] * c->half[1], c->half[2] * c->half[2] };
	const double reach = v3d_dot(farthest, d) + c->inset;
	v3d bent[2];
	double along[2];
	for (int i = 0; i < 2; i++) {
		bent[i] = (v3d){ square.x * axes[i].x, square.y * axes[i].y, square.z * axes[i].z };
		along[i] = v3d_dot(farthest, axes[i]);
	}
	radii[0] = (v3d_dot(bent[0], axes[0]) - along[0] * along[0]) / reach - c->inset;
	radii[1] = (v3d_dot(bent[0], axes[1]) - along[0] * along[1]) / reach;
	radii[2] = (v3d_dot(bent[1], axes[1]) - along[1] * along[1]) / reach - c->inset;
}

void cr_convex_curvature(const cr_convex *c, v3d farthest, v3d d, const v3d axes[2], double radii[3])
{
	if (c->core == CR_CORE_ELLIPSOID) {
		ellipsoid_curvature(c, farthest, d, axes, radii);
		return;
	}
	// A rim: h = radius |(x, y)| and a linear part.
	const double square = d.x * d.x + d.y * d.y, bend = c->radius / (square * sqrt(square));
	const double along[2] = { axes[0].y * d.x - axes[0].x * d.y, axes[1].y * d.x - axes[1].x * d.y };
	radii[0] = bend * along[0] * along[0];
	radii[1] = bend * along[0] * along[1];
	radii[2] = bend * along[1] * along[1];
}

v3d cr_convex_centre(const cr_convex *c)
{
	switch (c->core) {
	case CR_CORE_HULL: return c->hull->centre;
	case CR_CORE_CONE: return (v3d){ 0, 0, -0.5 * c->half_length };
	case CR_CORE_TRIANGLE: return v3d_scale(v3d_add(v3d_add(c->corner[0], c->corner[1]), c->corner[2]), 1.0 / 3);
	default: return (v3d){ 0, 0, 0 };
	}
}

static double triangle_size(const cr_convex *c)
{
	const v3d centre = cr_convex_centre(c);
	double size = 0;
	for (int i = 0; i < 3; i++) {
		const double far = v3d_length(v3d_sub(c->corner[i], centre));
		size = far > size ? far : size;
	}
	return size;
}

double cr_convex_size(const cr_convex *c)
{
	switch (c->core) {
	case CR_CORE_POINT: return 0;
	case CR_CORE_SEGMENT: return c->half_length;
	case CR_CORE_BOX: return v3d_length((v3d){ c->half[0], c->half[1], c->half[2] });
	case CR_CORE_CYLINDER: return sqrt(c->radius * c->radius + c->half_length * c->half_length);
	case CR_CORE_CONE: return fmax(1.5 * c->half_length, sqrt(c->radius * c->radius + 0.25 * c->half_length * c->half_length));
	case CR_CORE_ELLIPSOID: return fmax(c->half[0], fmax(c->half[1], c->half[2]));
	case CR_CORE_HULL: return c->hull->size;
	case CR_CORE_TRIANGLE: return triangle_size(c);
	}
	return 0;
}

// ---- Facing parts ----

static void set_point(const cr_convex *c, v3d d, cr_face *face)
{
	face->number = 3;
	face->count = 1;
	face->point[0] = cr_convex_support(c, d);
}

static void face_of_box(const cr_convex *c, v3d d, cr_face *face)
{
	const double size[3] = { fabs(d.x), fabs(d.y), fabs(d.z) }, part[3] = { d.x, d.y, d.z };
	const int axis = size[0] >= size[1] && size[0] >= size[2] ? 0 : size[1] >= size[2] ? 1 : 2;
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	const double side = part[axis] < 0 ? -1 : 1;
	double normal[3] = { 0, 0, 0 };
	face->number = 2 * axis + (side > 0);
	normal[axis] = side;
	face->normal = (v3d){ normal[0], normal[1], normal[2] };
	face->count = 4;
	static const double around[4][2] = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } };
	for (int i = 0; i < 4; i++) {
		double p[3];
		p[axis] = side * c->half[axis];
		p[u] = around[i][0] * c->half[u] * side; // the other way about on the lower side
		p[v] = around[i][1] * c->half[v];
		face->point[i] = (v3d){ p[0], p[1], p[2] };
	}
}

static int32_t face_towards(const cr_hull *hull, v3d d)
{
	if (hull->normal_blocks > 0)
		return hull->kernels->farthest(
			hull->rows + (int64_t)CR_ROW_DOUBLES * hull->vertex_blocks, hull->normal_blocks, (double[3]){ d.x, d.y, d.z });
	int32_t best = 0;
	double most = v3d_dot(hull->normals[0], d);
	for (int32_t i = 1; i < hull->face_count; i++) {
		const double along = v3d_dot(hull->normals[i], d);
		best = along > most ? i : best;
		most = along > most ? along : most;
	}
	return best;
}

static void face_of_hull(const cr_hull *hull, v3d d, cr_face *face)
{
	const int32_t best = face_towards(hull, d);
	const int32_t first = hull->face_first[best], corners = hull->face_first[best + 1] - first;
	face->number = best;
	face->normal = hull->normals[best];
	face->count = corners < CR_MAX_FACE ? corners : CR_MAX_FACE;
	for (int i = 0; i < face->count; i++)
		face->point[i] = hull->vertices[hull->corners[first + (int64_t)i * corners / face->count]];
}

/// A cap of radius r at height z, whose outward normal is side * z. Its corners are fixed: those of
/// a wheel that stands and trembles do not run around its rim.
static void set_cap(double r, double z, double side, cr_face *face)
{
	// Cosine and sine of a sixteenth of a turn, to the last place.
	static const double cosine = 0.92387953251128674, sine = 0.38268343236508978;
	v3d p = { r, 0, z };
	face->number = side > 0;
	face->normal = (v3d){ 0, 0, side };
	face->count = RIM_CORNERS;
	for (int i = 0; i < RIM_CORNERS; i++) {
		face->point[i] = p;
		p = (v3d){ cosine * p.x - side * sine * p.y, cosine * p.y + side * sine * p.x, z };
	}
}

static void set_edge(v3d p, v3d q, cr_face *face)
{
	face->number = 2;
	face->count = 2;
	face->point[0] = p;
	face->point[1] = q;
}

static void face_of_cylinder(const cr_convex *c, v3d d, cr_face *face)
{
	const double across = sqrt(d.x * d.x + d.y * d.y), side = d.z < 0 ? -1 : 1;
	if (fabs(d.z) >= across)
		set_cap(c->radius, side * c->half_length, side, face);
	else
		set_edge(rim_point(c->radius, -c->half_length, d), rim_point(c->radius, c->half_length, d), face);
}

static void face_of_cone(const cr_convex *c, v3d d, cr_face *face)
{
	// The slope's outward normal has the parts (height, radius) across and along the axis.
	const double height = 2 * c->half_length, slope = sqrt(height * height + c->radius * c->radius);
	const double across = sqrt(d.x * d.x + d.y * d.y);
	const double along_slope = (across * height + d.z * c->radius) / slope, along_apex = d.z;
	if (-d.z >= along_slope)
		set_cap(c->radius, -c->half_length, -1, face);
	else if (along_apex > along_slope)
		set_point(c, d, face);
	else
		set_edge(rim_point(c->radius, -c->half_length, d), (v3d){ 0, 0, c->half_length }, face);
}

static void face_of_triangle(const cr_convex *c, v3d d, cr_face *face)
{
	const v3d *p = c->corner;
	const v3d normal = v3d_normalize(v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0])));
	const bool front = v3d_dot(normal, d) >= 0;
	face->number = front;
	face->normal = front ? normal : v3d_neg(normal);
	face->count = 3;
	face->point[0] = p[0];
	face->point[1] = front ? p[1] : p[2];
	face->point[2] = front ? p[2] : p[1];
}

void cr_convex_face(const cr_convex *c, v3d d, cr_face *face)
{
	face->normal = (v3d){ 0, 0, 0 };
	switch (c->core) {
	case CR_CORE_SEGMENT: set_edge((v3d){ 0, 0, -c->half_length }, (v3d){ 0, 0, c->half_length }, face); break;
	case CR_CORE_BOX: face_of_box(c, d, face); break;
	case CR_CORE_HULL: face_of_hull(c->hull, d, face); break;
	case CR_CORE_CYLINDER: face_of_cylinder(c, d, face); break;
	case CR_CORE_CONE: face_of_cone(c, d, face); break;
	case CR_CORE_TRIANGLE: face_of_triangle(c, d, face); break;
	default: set_point(c, d, face); break;
	}
}
