// Contacts of box and box, and of capsule and box. Both find the direction of the shallowest
// overlap by separating axes (Gottschalk, Lin, Manocha, OBBTree, 1996), then the points: a face
// against a face by clipping (Gregorius, The Separating Axis Test between Convex Polyhedra, 2013),
// edges by their closest points. Of things apart, the closest points decide.
#include "geom/box.h"
#include "geom/lying.h"
#include "geom/patch.h"
#include "geom/triangle.h"

// An edge axis must beat the face axes by this part of the smallest half extent: a face gives
// several points, on which a box can rest, where two nearly parallel edges would give one.
static const double EDGE_BIAS = 1e-3;
// Edges closer to parallel than this sine have no axis of their own: the faces beside them stand
// for it.
static const double PARALLEL = 1e-6;
// Lengths that differ by this part of the sizes involved are the same.
static const double SAME = 1e-9;

static double side(double x) { return x >= 0 ? 1 : -1; }

static double reach(const cr_box *box, v3d direction)
{
	double sum = 0;
	for (int i = 0; i < 3; i++)
		sum += box->half[i] * fabs(v3d_dot(direction, box->axis[i]));
	return sum;
}

// An axis of least overlap. Faces: index 0-2 of B, 3-5 of A. Edges: 3 * axis of A + axis of B.
typedef struct best_axis {
	double depth;
	v3d normal; // from B to A
	int index;
} best_axis;

// slack: how much better the axis must be than the best so far.
static void try_axis(const cr_box *a, const cr_box *b, v3d axis, int index, double slack, best_axis *best)
{
	double along = v3d_dot(axis, v3d_sub(a->centre, b->centre));
	double depth = reach(a, axis) + reach(b, axis) - fabs(along);
	if (depth < best->depth - slack)
		*best = (best_axis){ depth, v3d_scale(axis, side(along)), index };
}

static double size_of(const cr_box *box) { return box->half[0] + box->half[1] + box->half[2]; }

static double half_diagonal(const cr_box *box) { return v3d_length((v3d){ box->half[0], box->half[1], box->half[2] }); }

static double smallest_half(const cr_box *a, const cr_box *b)
{
	double smallest = a->half[0];
	for (int i = 0; i < 3; i++) {
		if (a->half[i] < smallest)
			smallest = a->half[i];
		if (b->half[i] < smallest)
			smallest = b->half[i];
	}
	return smallest;
}

// Edges of a face: those of two boxes are numbered alike, so that it does not matter which of them
// is the reference.
enum { LOWER_V, UPPER_U, UPPER_V, LOWER_U };

// The corners of the face of a box that looks most against a direction. Returns its number.
static int32_t incident_face(const cr_box *box, v3d direction, v3d corner[4])
{
	int axis = 0;
	for (int i = 1; i < 3; i++) {
		if (fabs(v3d_dot(direction, box->axis[i])) > fabs(v3d_dot(direction, box->axis[axis])))
			axis = i;
	}
	int u = (axis + 1) % 3, v = (axis + 2) % 3;
	const double up = -side(v3d_dot(direction, box->axis[axis]));
	v3d middle = v3d_mad(box->centre, up * box->half[axis], box->axis[axis]);
	v3d du = v3d_scale(box->axis[u], box->half[u]), dv = v3d_scale(box->axis[v], box->half[v]);
	corner[0] = v3d_sub(v3d_sub(middle, du), dv);
	corner[1] = v3d_sub(v3d_add(middle, du), dv);
	corner[2] = v3d_add(v3d_add(middle, du), dv);
	corner[3] = v3d_add(v3d_sub(middle, du), dv);
	return 2 * axis + (up > 0);
}

// The incident face clipped to the sides of the reference face, axis `face` of reference. first:
// number of the first edge of the reference face.
static void clip_faces(const cr_box *reference, int face, const v3d incident[4], double slack, int first, cr_patch *p)
{
	cr_begin_patch(incident, 4, CR_EDGES_OF_B - first, p);
	for (int k = 1; k <= 2; k++) {
		int axis = (face + k) % 3;
		v3d u = reference->axis[axis];
		double middle = v3d_dot(u, reference->centre), reach = reference->half[axis] + slack;
		cr_clip_patch(p, u, middle + reach, first + (k == 1 ? UPPER_U : UPPER_V));
		cr_clip_patch(p, v3d_neg(u), reach - middle, first + (k == 1 ? LOWER_U : LOWER_V));
	}
	p->count = p->count < CR_MAX_VOLUME_CONTACTS ? p->count : CR_MAX_VOLUME_CONTACTS;
}

// The corner of a face farthest against a direction.
static int deepest_corner(const v3d corner[4], v3d direction)
{
	int deepest = 0;
	for (int i = 1; i < 4; i++)
		deepest = v3d_dot(direction, corner[i]) < v3d_dot(direction, corner[deepest]) ? i : deepest;
	return deepest;
}

// A face of one box, the reference, and the facing one of the other.
typedef struct face_pair {
	const cr_box *reference;
	int face; // axis of the reference
	bool of_b;
	v3d out;       // of the reference face
	int32_t faces; // their name
	double margin;
} face_pair;

// A corner of B that is deepest beyond the side of a face of A has no point of A right above it.
static v3d nearest_in_box(const cr_box *box, v3d p)
{
	double s;
	v3d local = cr_box_to_local(box, p), nearest;
	cr_closest_segment_box(local, local, box->half, &s, &local, &nearest);
	return cr_box_to_world(box, nearest);
}

// A contact of the incident face; false where it is farther off than the margin.
static bool face_contact(const face_pair *f, v3d point, cr_corner_edges corner, cr_volume_contact *contact)
{
	const double depth = f->reference->half[f->face] - v3d_dot(f->out, v3d_sub(point, f->reference->centre));
	const v3d normal = f->of_b ? f->out : v3d_neg(f->out);
	const v3d on_a = f->of_b ? point : nearest_in_box(f->reference, v3d_mad(point, -depth, normal));
	*contact = (cr_volume_contact){ on_a, normal, depth, cr_name_corner(f->faces, corner) };
	return depth >= -f->margin;
}

static int face_contacts(const cr_box *a, const cr_box *b, const best_axis *best, double margin, cr_volume_contact *contacts)
{
	const bool of_b = best->index < 3;
	const int face = best->index % 3, first = of_b ? CR_EDGES_OF_B : 0;
	const v3d n = of_b ? best->normal : v3d_neg(best->normal);
	face_pair f = { .reference = of_b ? b : a, .face = face, .of_b = of_b, .out = n, .margin = margin };
	v3d incident[4];
	cr_patch p;
	const int32_t other = incident_face(of_b ? a : b, n, incident), own = 2 * face + (v3d_dot(n, f.reference->axis[face]) > 0);
	f.faces = of_b ? cr_name_faces(other, own) : cr_name_faces(own, other);
	clip_faces(f.reference, face, incident, CR_FLUSH * smallest_half(a, b), first, &p);
	int kept = 0;
	for (int i = 0; i < p.count; i++)
		kept += face_contact(&f, p.point[i], p.corner[i], &contacts[kept]);
	// The depth of the pair is that of the deepest corner, which may lie beyond a side.
	cr_volume_contact place;
	const int deepest = deepest_corner(incident, n);
	const bool reaches = face_contact(&f, incident[deepest], cr_face_corner(CR_EDGES_OF_B - first, 4, deepest), &place);
	return reaches ? cr_reach_depth(&place, fmin(half_diagonal(a), half_diagonal(b)), contacts, kept) : kept;
}

// The edge of a box along an axis that lies farthest along a direction.
static void supporting_edge(const cr_box *box, int axis, v3d direction, v3d *from, v3d *to)
{
	v3d middle = box->centre;
	for (int k = 1; k <= 2; k++) {
		int i = (axis + k) % 3;
		middle = v3d_mad(middle, side(v3d_dot(direction, box->axis[i])) * box->half[i], box->axis[i]);
	}
	*from = v3d_mad(middle, -box->half[axis], box->axis[axis]);
	*to = v3d_mad(middle, box->half[axis], box->axis[axis]);
}

static cr_volume_contact edge_contact(const cr_box *a, const cr_box *b, const best_axis *best)
{
	v3d a0, a1, b0, b1, on_a, on_b;
	double s, t;
	supporting_edge(a, best->index / 3, v3d_neg(best->normal), &a0, &a1);
	supporting_edge(b, best->index % 3, best->normal, &b0, &b1);
	cr_closest_segments(a0, a1, b0, b1, &s, &t, &on_a, &on_b);
	return (cr_volume_contact){ on_a, best->normal, best->depth, 0 };
}

// Boxes apart: the points of the face that parts them by the whole gap; or else the nearest points,
// and with their direction those of a face that nearly does.
static int contacts_apart(const cr_box *a, const cr_box *b, const best_axis *face, double margin, cr_volume_contact *contacts)
{
	v3d on_a, on_b, normal = face->normal;
	const double gap = cr_closest_boxes(a, b, &on_a, &on_b);
	if (gap > margin)
		return 0;
	int count = 0;
	if (gap > -face->depth + SAME * (size_of(a) + size_of(b))) {
		normal = v3d_scale(v3d_sub(on_a, on_b), 1 / gap);
		contacts[count++] = (cr_volume_contact){ on_a, normal, -gap, 0 };
		// Corners or edges that face each other: no face points from one to the other.
		if (gap > -face->depth * (1 + 1e-4))
			return count;
	}
	cr_volume_contact of_face[CR_MAX_VOLUME_CONTACTS];
	const int found = face_contacts(a, b, face, margin, of_face);
	for (int i = 0; i < found && count < CR_MAX_VOLUME_CONTACTS; i++)
		contacts[count++] = (cr_volume_contact){ of_face[i].point, normal, fmin(of_face[i].depth, -gap), of_face[i].name };
	return count;
}

// The faces' axis and the edges' axis of least overlap; the lesser of both overlaps is returned.
static double find_axes(const cr_box *a, const cr_box *b, best_axis *face, best_axis *edge)
{
	const double size = size_of(a) + size_of(b);
	face->depth = edge->depth = INFINITY;
	for (int i = 0; i < 6; i++)
		try_axis(a, b, i < 3 ? b->axis[i] : a->axis[i - 3], i, i ? SAME * size : 0, face);
	for (int i = 0; i < 9; i++) {
		v3d axis = v3d_cross(a->axis[i / 3], b->axis[i % 3]);
		double length = v3d_length(axis);
		if (length > PARALLEL)
			try_axis(a, b, v3d_scale(axis, 1 / length), i, 0, edge);
	}
	return edge->depth < face->depth ? edge->depth : face->depth;
}

double cr_box_box_depth(const cr_box *a, const cr_box *b)
{
	best_axis face, edge;
	return find_axes(a, b, &face, &edge);
}

int cr_box_box_contacts(const cr_box *a, const cr_box *b, double margin, cr_volume_contact *contacts)
{
	best_axis face, edge;
	const double depth = find_axes(a, b, &face, &edge);
	if (depth < -margin)
		return 0;
	if (depth < 0)
		return contacts_apart(a, b, &face, margin, contacts);
	if (edge.depth < face.depth - EDGE_BIAS * smallest_half(a, b)) {
		contacts[0] = edge_contact(a, b, &edge);
		return 1;
	}
	return face_contacts(a, b, &face, margin, contacts);
}

// A segment against a box about the origin, in the frame of the box.
typedef struct segment_box {
	v3d p0, p1;
	const double *half;
	v3d normal;   // from the box to the segment
	double depth; // of the segment without radius
	v3d deepest;  // point of the segment
} segment_box;

static double box_reach(const double half[3], v3d n) { return half[0] * fabs(n.x) + half[1] * fabs(n.y) + half[2] * fabs(n.z); }

// The faces of the sum of box and segment: those of the box moved, and one for each edge direction
// beside the segment.
static void segment_box_overlap(segment_box *c, double size)
{
	static const v3d unit[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
	v3d d = v3d_sub(c->p1, c->p0);
	double length = v3d_length(d);
	c->depth = INFINITY;
	for (int i = 0; i < 12; i++) {
		v3d n = unit[i / 2 % 3];
		if (i >= 6) {
			n = v3d_cross(n, d);
			double sine = v3d_length(n);
			if (!(sine > PARALLEL * length))
				continue;
			n = v3d_scale(n, 1 / sine);
		}
		if (i % 2)
			n = v3d_neg(n);
		double low0 = v3d_dot(n, c->p0), low1 = v3d_dot(n, c->p1);
		double depth = box_reach(c->half, n) - (low0 < low1 ? low0 : low1);
		if (!(depth < c->depth - (i ? SAME * size : 0)))
			continue;
		c->depth = depth;
		c->normal = n;
		c->deepest = low0 < low1 ? c->p0 : c->p1;
		if (i < 6)
			continue;
		// Level with an edge: the point is where they come closest.
		int axis = i / 2 % 3;
		v3d e = { n.x >= 0 ? c->half[0] : -c->half[0], n.y >= 0 ? c->half[1] : -c->half[1],
			n.z >= 0 ? c->half[2] : -c->half[2] };
		v3d along = v3d_scale(unit[axis], 2 * v3d_get(e, axis)), on_edge;
		double s, t;
		cr_closest_segments(c->p0, c->p1, e, v3d_sub(e, along), &s, &t, &c->deepest, &on_edge);
	}
}

int cr_capsule_box_contacts(v3d p0, v3d p1, double radius, const cr_box *b, double margin, cr_volume_contact *contacts)
{
	segment_box c = { .p0 = cr_box_to_local(b, p0), .p1 = cr_box_to_local(b, p1), .half = b->half };
	const double size = size_of(b) + v3d_length(v3d_sub(p1, p0));
	double s;
	v3d on_box;
	const double distance = cr_closest_segment_box(c.p0, c.p1, c.half, &s, &c.deepest, &on_box);
	if (distance > SAME * size) {
		c.normal = v3d_scale(v3d_sub(c.deepest, on_box), 1 / distance);
		c.depth = -distance;
	} else {
		segment_box_overlap(&c, size);
	}
	if (c.depth + radius < -margin)
		return 0;
	const cr_lying l = { .end = { c.p0, c.p1 },
		.radius = radius,
		.flush = CR_LYING_FLUSH * fmin(smallest_half(b, b), radius + 0.5 * v3d_length(v3d_sub(p1, p0))),
		.margin = margin,
		.deepest = { c.deepest, c.normal, c.depth + radius, 3 },
		.name = { 1, 2 } };
	const cr_convex box = { .core = CR_CORE_BOX, .half = { c.half[0], c.half[1], c.half[2] } };
	cr_face face;
	cr_convex_face(&box, c.normal, &face);
	int count = cr_lying_contacts(&l, face.point, face.count, face.normal, contacts);
	if (count == 0)
		contacts[count++] = l.deepest;
	for (int i = 0; i < count; i++) {
		contacts[i].normal = v3d_sub(cr_box_to_world(b, contacts[i].normal), b->centre);
		contacts[i].point = v3d_mad(cr_box_to_world(b, contacts[i].point), -radius, contacts[i].normal);
	}
	return count;
}
