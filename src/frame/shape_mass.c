/// Volume, centre of mass and inertia of convex shapes at density 1.
///
/// Shapes without rounding have closed forms. Rounding adds to a shape K all points within r of it.
/// - Box: the core, six slabs, twelve quarter cylinders and eight octants of a ball.
/// - Hull: a slab on each triangle, a wedge of a cylinder on each edge, a sector of a ball on each
///   vertex, with the normals n that fill the spherical polygon P of the vertex. Its area is
///   the defect of the angles at the vertex. The tangential fields t = e_j - n_j n and n_i t have
///   the divergence -2 n_j and d_ij - 3 n_i n_j on the unit sphere, so the integrals of n and
///   n n^T over P are sums over its arcs, on each of which the outward normal is constant.
/// - Cylinder and cone: solids of revolution whose outline is made of lines and arcs. Volume is
///   the integral of pi rho^2 dz along it; the moments are likewise. Gauss's rule is exact for the
///   lines, and exact up to rounding for the short pieces of arcs that it is applied to.
/// - Ellipsoid: the layer at the height t above a surface has (1 + 2 H t + K t^2) times its area
///   (Steiner), with H and K the mean and the Gaussian curvature. The integral over t is exact. The
///   one over the surface is Gauss's rule over 1,600 directions of an octant.

#include "frame/shape_mass.h"
#include "base/float_mode.h"
#include "frame/body.h"
#include "geom/volume.h"
#include "math/trig.h"
#include "math/vec.h"
#include <math.h>

static const double PI = 3.14159265358979323846;

// Integrals over the solid: volume; first moments; second moments xx, yy, zz, xy, xz, yz.
typedef struct moments {
	double volume;
	v3d first;
	double second[6];
} moments;

static void add_points(moments *m, double volume, v3d first)
{
	m->volume += volume;
	m->first = v3d_add(m->first, first);
}

/// Add weight times the symmetric part of a b^T.
static void add_product(moments *m, double weight, v3d a, v3d b)
{
	const double products[6] = { a.x * b.x, a.y * b.y, a.z * b.z, 0.5 * (a.x * b.y + a.y * b.x), 0.5 * (a.x * b.z + a.z * b.x),
		0.5 * (a.y * b.z + a.z * b.y) };
	for (int k = 0; k < 6; k++)
		m->second[k] += weight * products[k];
}

/// The mass of moments that were taken about origin.
static void mass_of(const moments *m, v3d origin, carom_mass *mass)
{
	const double *i = m->second, v = m->volume;
	const v3d c = v3d_scale(m->first, 1 / v);
	const double xx = i[0] - v * c.x * c.x, yy = i[1] - v * c.y * c.y, zz = i[2] - v * c.z * c.z;
	*mass = (carom_mass){ v, v3d_add(origin, c),
		{ yy + zz, xx + zz, xx + yy, v * c.x * c.y - i[3], v * c.x * c.z - i[4], v * c.y * c.z - i[5] } };
}

static void symmetric_mass(double volume, double xx, double yy, double zz, carom_mass *mass)
{
	*mass = (carom_mass){ .mass = volume, .inertia = { yy + zz, xx + zz, xx + yy } };
}

// ---- Round shapes ----

/// A cylinder of half length l, and two half balls whose centres lie 3/8 r beyond its ends.
static void capsule_mass(double r, double l, carom_mass *mass)
{
	const double cylinder = 2 * PI * r * r * l, ball = 4.0 / 3.0 * PI * r * r * r;
	const double across = cylinder * r * r / 4 + ball * r * r / 5;
	const double along = cylinder * l * l / 3 + ball * (r * r / 5 + l * l + 0.75 * l * r);
	symmetric_mass(cylinder + ball, across, across, along, mass);
}

// Gauss's rule with five points.
static const double NODES[5] = { -0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831, 0.9061798459386640 };
static const double WEIGHTS[5] = { 0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665,
	0.2369268850561891 };
enum { PIECES = 8 }; // of an arc, and of each coordinate of an octant

/// Add the solid of revolution below a piece of outline with radius rho at z, which rises by dz.
static void add_disc(moments *m, double rho, double z, double dz)
{
	const double area = PI * rho * rho, across = 0.25 * area * rho * rho * dz;
	add_points(m, area * dz, (v3d){ 0, 0, area * z * dz });
	m->second[0] += across;
	m->second[1] += across;
	m->second[2] += area * z * z * dz;
}

static void add_line(moments *m, double rho, double z, double rho_end, double z_end)
{
	for (int k = 0; k < 5; k++) {
		const double t = 0.5 * (1 + NODES[k]);
		add_disc(m, rho + t * (rho_end - rho), z + t * (z_end - z), 0.5 * WEIGHTS[k] * (z_end - z));
	}
}

/// An arc of radius r about (rho, z), from one angle above the plane z = 0 to another.
static void add_arc(moments *m, double rho, double z, double r, double from, double to)
{
	const double half = 0.5 * (to - from) / PIECES;
	for (int piece = 0; piece < PIECES; piece++) {
		for (int k = 0; k < 5; k++) {
			double sine, cosine;
			cr_sincos(from + half * (2 * piece + 1 + NODES[k]), &sine, &cosine);
			add_disc(m, rho + r * cosine, z + r * sine, half * WEIGHTS[k] * r * cosine);
		}
	}
}

/// A cylinder, or a cone: the radius at the upper end is top.
static void revolved_mass(const carom_shape *s, double top, carom_mass *mass)
{
	const double r = s->rounding, l = s->half_length, bottom = s->radius, fall = bottom - top;
	const double length = sqrt(4 * l * l + fall * fall), sine = fall / length, cosine = 2 * l / length;
	const double slope = 0.5 * PI - cr_acos(sine);
	moments m = { 0 };
	if (r > 0)
		add_arc(&m, bottom, -l, r, -0.5 * PI, slope);
	add_line(&m, bottom + r * cosine, -l + r * sine, top + r * cosine, l + r * sine);
	if (r > 0)
		add_arc(&m, top, l, r, slope, 0.5 * PI);
	mass_of(&m, (v3d){ 0, 0, 0 }, mass);
}

// ---- Boxes ----

/// The integral of x^2 over a box rounded by r, with the half extents a along x, b and c.
static double box_square(double a, double b, double c, double r)
{
	const double end = a + r, square = a * a / 3, r2 = r * r;
	const double core = 8 * b * c * (end * end * end / 3) + 8 * a * (b + c) * r * square;
	const double edges =
		2 * PI * r2 * a * square + 2 * (b + c) * (PI * r2 * a * a + 8.0 / 3.0 * a * r * r2 + 0.25 * PI * r2 * r2);
	return core + edges + PI * r2 * r * (4.0 / 3.0 * a * a + r * a + 4.0 / 15.0 * r2);
}

static void box_mass(const double h[3], double r, carom_mass *mass)
{
	const double a = h[0], b = h[1], c = h[2];
	const double volume =
		8 * a * b * c + 8 * r * (a * b + b * c + c * a) + 2 * PI * r * r * (a + b + c) + 4.0 / 3.0 * PI * r * r * r;
	symmetric_mass(volume, box_square(a, b, c, r), box_square(b, a, c, r), box_square(c, a, b, r), mass);
}

// ---- Ellipsoids ----

/// The layer of an octant's surface about a unit direction u, with weight for its part of the
/// sphere.
static void add_layer(const carom_shape *s, v3d u, double weight, double *volume, double square[3])
{
	const double *h = s->half_extents, r = s->rounding, product = h[0] * h[1] * h[2];
	const v3d p = { h[0] * u.x, h[1] * u.y, h[2] * u.z }, steep = { u.x / h[0], u.y / h[1], u.z / h[2] };
	const double w = 1 / sqrt(v3d_dot(steep, steep)), area = weight * product / w;
	const double sum = h[0] * h[0] + h[1] * h[1] + h[2] * h[2];
	const double curved = w * w * w / (product * product) * (sum - v3d_dot(p, p)), gauss = w * w * w * w / (product * product);
	double powers[3]; // integrals of 1, t and t^2 over the layer
	for (int k = 0; k < 3; k++) {
		const double t = k == 0 ? r : (k == 1 ? r * r : r * r * r);
		powers[k] = t / (k + 1) + curved * t * r / (k + 2) + gauss * t * r * r / (k + 3);
	}
	*volume += area * powers[0];
	for (int k = 0; k < 3; k++) {
		const double at = v3d_get(p, k), n = w * v3d_get(steep, k);
		square[k] += area * (at * at * powers[0] + 2 * at * n * powers[1] + n * n * powers[2]);
	}
}

static void ellipsoid_mass(const carom_shape *s, carom_mass *mass)
{
	const double *h = s->half_extents;
	double volume = 4.0 / 3.0 * PI * h[0] * h[1] * h[2], square[3], layer = 0, layers[3] = { 0 };
	for (int k = 0; k < 3; k++)
		square[k] = volume * h[k] * h[k] / 5;
	const double half = 0.5 / PIECES;
	for (int i = 0; i < 25 * PIECES * PIECES && s->rounding > 0; i++) {
		const int row = i / (5 * PIECES), column = i % (5 * PIECES);
		const double z = half * (2 * (row / 5) + 1 + NODES[row % 5]);
		const double turn = 0.5 * PI * half * (2 * (column / 5) + 1 + NODES[column % 5]), across = sqrt(1 - z * z);
		double sine, cosine;
		cr_sincos(turn, &sine, &cosine);
		// Between the direction of the normal and of the place: sides and rims both get nodes.
		const v3d v = { sqrt(h[0]) * across * cosine, sqrt(h[1]) * across * sine, sqrt(h[2]) * z };
		const double length = sqrt(v3d_dot(v, v)), stretch = sqrt(h[0] * h[1] * h[2]) / (length * length * length);
		add_layer(s, v3d_scale(v, 1 / length), stretch * 0.5 * PI * half * half * WEIGHTS[row % 5] * WEIGHTS[column % 5],
			&layer, layers);
	}
	symmetric_mass(volume + 8 * layer, square[0] + 8 * layers[0], square[1] + 8 * layers[1], square[2] + 8 * layers[2], mass);
}

// ---- Hulls ----

/// The angle in [0, pi] whose sine and cosine are given up to a factor.
static double angle_of(double sine, double cosine)
{
	const double length = sqrt(sine * sine + cosine * cosine), s = sine / length, c = cosine / length;
	if (fabs(c) <= 0.7)
		return cr_acos(c); // near 0 and pi the sine has more digits
	return c > 0 ? 0.5 * PI - cr_acos(s) : 0.5 * PI + cr_acos(s);
}

/// The slab of height r on a triangle.
static void add_slab(moments *m, const v3d corner[3], v3d n, double area, double r)
{
	const v3d sum = v3d_add(v3d_add(corner[0], corner[1]), corner[2]), first = v3d_scale(sum, area / 3);
	add_points(m, r * area, v3d_add(v3d_scale(first, r), v3d_scale(n, 0.5 * r * r * area)));
	for (int k = 0; k < 3; k++)
		add_product(m, r * area / 12, corner[k], corner[k]);
	add_product(m, r * area / 12, sum, sum);
	add_product(m, r * r, first, n);
	add_product(m, r * r * r / 3 * area, n, n);
}

/// The sector of a ball at a vertex, as far as one of its angles or arcs adds to it: the area of
/// its directions, the integral of n, and that of n n^T as I area / 3 - normal arc^T / 3.
static void add_sector(moments *m, v3d vertex, double r, double area)
{
	const double cube = r * r * r / 3, fifth = r * r * r * r * r / 5;
	add_points(m, cube * area, v3d_scale(vertex, cube * area));
	add_product(m, cube * area, vertex, vertex);
	for (int k = 0; k < 3; k++)
		m->second[k] += fifth * area / 3;
}

static void add_sector_arc(moments *m, v3d vertex, double r, v3d arc, double angle, v3d outward)
{
	const v3d n = v3d_scale(outward, -0.5 * angle);
	const double fourth = r * r * r * r / 4;
	m->first = v3d_add(m->first, v3d_scale(n, fourth));
	add_product(m, 2 * fourth, vertex, n);
	add_product(m, -r * r * r * r * r / 15, arc, outward);
}

/// The wedge on the edge from p to q, between the normals n and other, and the arcs of its ends.
static void add_edge(moments *m, v3d p, v3d q, v3d n, v3d other, double r)
{
	const v3d along = v3d_sub(q, p);
	const double length = sqrt(v3d_dot(along, along));
	const v3d e = v3d_scale(along, 1 / length);
	const double sine = v3d_dot(v3d_cross(n, other), e), cosine = v3d_dot(n, other);
	const double turn = angle_of(fmax(sine, 0), cosine);
	double s, c;
	cr_sincos(0.5 * turn, &s, &c);
	const v3d across = v3d_cross(e, n);
	const v3d middle = v3d_add(v3d_scale(n, c), v3d_scale(across, s)), side = v3d_cross(e, middle);
	const v3d arc = v3d_scale(middle, 2 * s), sum = v3d_add(p, q); // arc: the integral of n over it
	const double r2 = r * r / 2, r3 = r * r * r / 3, r4 = r * r * r * r / 4;
	add_points(m, r2 * turn * length, v3d_add(v3d_scale(sum, r2 * turn * length / 2), v3d_scale(arc, r3 * length)));
	add_product(m, r2 * turn * length / 6, p, p);
	add_product(m, r2 * turn * length / 6, q, q);
	add_product(m, r2 * turn * length / 6, sum, sum);
	add_product(m, r3 * length, sum, arc);
	add_product(m, r4 * length * (turn / 2 + s * c), middle, middle);
	add_product(m, r4 * length * (turn / 2 - s * c), side, side);
	add_sector_arc(m, p, r, arc, turn, e);
	add_sector_arc(m, q, r, arc, turn, v3d_scale(e, -1));
}

/// The corners of a triangle relative to origin; its unit normal, and its area.
static double corners_of(const cr_topology *t, int32_t triangle, v3d origin, v3d corner[3], v3d *normal)
{
	for (int k = 0; k < 3; k++)
		corner[k] = v3d_sub(v3d_from_floats(t->vertices + 3 * (int64_t)t->triangles[3 * (int64_t)triangle + k]), origin);
	const v3d n = v3d_cross(v3d_sub(corner[1], corner[0]), v3d_sub(corner[2], corner[0]));
	const double length = sqrt(v3d_dot(n, n));
	*normal = v3d_scale(n, 1 / length);
	return 0.5 * length;
}

/// What rounding adds to a triangle of a hull: its slab, the wedges on its edges towards triangles
/// of higher number, and its angles, which the sectors of its corners lack.
static void add_triangle(moments *m, const cr_topology *t, int32_t triangle, v3d origin, double r)
{
	v3d corner[3], normal;
	const double area = corners_of(t, triangle, origin, corner, &normal);
	add_slab(m, corner, normal, area, r);
	for (int k = 0; k < 3; k++) {
		const v3d p = corner[k], q = corner[(k + 1) % 3], last = corner[(k + 2) % 3];
		add_sector(m, p, r, -angle_of(2 * area, v3d_dot(v3d_sub(q, p), v3d_sub(last, p))));
		const int32_t next = t->neighbours[3 * (int64_t)triangle + k];
		v3d others[3], other;
		if (next > triangle) {
			(void)corners_of(t, next, origin, others, &other);
			add_edge(m, p, q, normal, other, r);
		}
	}
}

static void hull_mass(const carom_mesh *mesh, double r, carom_mass *mass)
{
	const cr_topology *t = &mesh->topology;
	cr_topology_mass(t, mass);
	if (!(r > 0))
		return;
	const v3d origin = mass->centre;
	const double v = mass->mass, *i = mass->inertia, half = 0.5 * (i[0] + i[1] + i[2]);
	moments m = { .volume = v, .second = { half - i[0], half - i[1], half - i[2], -i[3], -i[4], -i[5] } };
	for (int32_t triangle = 0; triangle < t->triangle_count; triangle++)
		add_triangle(&m, t, triangle, origin, r);
	// Each vertex of a hull is a corner, and lacks the angles of its triangles of a whole turn.
	for (int32_t vertex = 0; vertex < t->vertex_count; vertex++)
		add_sector(&m, v3d_sub(v3d_from_floats(t->vertices + 3 * (int64_t)vertex), origin), r, 2 * PI);
	mass_of(&m, origin, mass);
}

// ---- Shapes and parts ----

void cr_convex_mass(const carom_shape *shape, carom_mass *mass)
{
	const double r = shape->radius;
	switch (shape->type) {
	case CAROM_SPHERE: capsule_mass(cr_round_radius(shape), 0, mass); break;
	case CAROM_CAPSULE: capsule_mass(cr_round_radius(shape), shape->half_length, mass); break;
	case CAROM_CYLINDER: revolved_mass(shape, r, mass); break;
	case CAROM_CONE: revolved_mass(shape, 0, mass); break;
	case CAROM_ELLIPSOID: ellipsoid_mass(shape, mass); break;
	case CAROM_HULL: hull_mass(shape->mesh, shape->rounding, mass); break;
	default: box_mass(shape->half_extents, shape->rounding, mass);
	}
}

void cr_add_mass(carom_mass *sum, const carom_mass *part, const carom_pose *pose)
{
	const double total = sum->mass + part->mass, reduced = sum->mass * part->mass / total, *i = part->inertia;
	const v3d d = v3d_sub(carom_transform_point(*pose, part->centre), sum->centre);
	// The columns of R I, then R (R I)^T: the tensor is symmetric.
	const v3d half[3] = { carom_rotate(pose->orientation, (v3d){ i[0], i[3], i[4] }),
		carom_rotate(pose->orientation, (v3d){ i[3], i[1], i[5] }), carom_rotate(pose->orientation, (v3d){ i[4], i[5], i[2] }) };
	const v3d x = carom_rotate(pose->orientation, (v3d){ half[0].x, half[1].x, half[2].x });
	const v3d y = carom_rotate(pose->orientation, (v3d){ half[0].y, half[1].y, half[2].y });
	const v3d z = carom_rotate(pose->orientation, (v3d){ half[0].z, half[1].z, half[2].z });
	// Two masses have the inertia of each and that of two points with their reduced mass (Steiner).
	const double turned[6] = { x.x, y.y, z.z, x.y, x.z, y.z };
	const double across[6] = { d.y * d.y + d.z * d.z, d.x * d.x + d.z * d.z, d.x * d.x + d.y * d.y, -d.x * d.y, -d.x * d.z,
		-d.y * d.z };
	for (int k = 0; k < 6; k++)
		sum->inertia[k] += turned[k] + reduced * across[k];
	sum->centre = v3d_add(sum->centre, v3d_scale(d, part->mass / total));
	sum->mass = total;
}
