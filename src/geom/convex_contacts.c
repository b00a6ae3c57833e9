/// Contacts of convex bodies. See geom/convex_contacts.h.

#include "geom/convex_contacts.h"
#include "geom/lying.h"
#include "geom/patch.h"

#include <string.h>

// A face stands for the patch when its normal is within 25 degrees of the least direction, and when
// the bodies are not much deeper along it.
static const double ALIGNED = 0.9;
// Of the smaller body's size: so far beyond an inner side of a triangle, whose neighbour has the
// corners beyond.
static const double FLUSH_INNER = 1e-9;
// Of points that are as far away within this share, the first is chosen.
static const double ALIKE = 0.01;
// Edges are side by side within a degree.
static const double PARALLEL = 0.02;

_Static_assert((int)CR_MAX_TRIANGLE_CONTACTS >= (int)CR_MOST_PATCH_POINTS, "a patch fits into the contacts of a triangle");

static const cr_relative in_place = { { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, { 0, 0, 0 } };

typedef struct meeting {
	const cr_convex *a;
	const cr_convex *b;
	const cr_relative *at;
	double margin;
	double size; // of the smaller body
	cr_separation least;
	double apart;   // the distance; 0: they overlap, or contacts are those along B's normal alone
	cr_face face_a; // frame of A
	cr_face face_b;
	int32_t faces;       // their name
	cr_triangle_rim rim; // of B's face
	bool goes_on;        // contacts were left out because they are such cuts
	bool all;            // the caller reduces the points of the patch
} meeting;

static void find_faces(meeting *m)
{
	const v3d n = m->least.normal;
	cr_convex_face(m->a, v3d_neg(n), &m->face_a);
	cr_convex_face(m->b, m3d_tmul(&m->at->rotation, n), &m->face_b);
	for (int i = 0; i < m->face_b.count; i++)
		m->face_b.point[i] = v3d_add(m3d_mul(&m->at->rotation, m->face_b.point[i]), m->at->position);
	m->face_b.normal = m3d_mul(&m->at->rotation, m->face_b.normal);
	m->faces = cr_name_faces(m->face_a.number, m->face_b.number);
}

/// Signed distance of the bodies along a direction from B to A.
static double gap_along(const meeting *m, v3d n)
{
	const v3d a = cr_convex_support(m->a, v3d_neg(n));
	const v3d b = v3d_add(m3d_mul(&m->at->rotation, cr_convex_support(m->b, m3d_tmul(&m->at->rotation, n))), m->at->position);
	return v3d_dot(n, v3d_sub(a, b)) - (m->a->rounding + m->b->rounding);
}

/// May a face stand for the patch? n: its normal, from B to A. Sets how far apart the bodies are
/// along it.
static bool speaks(const meeting *m, const cr_face *face, v3d n, double *gap)
{
	if (face->count < 3 || !(v3d_dot(n, m->least.normal) >= ALIGNED))
		return false;
	*gap = gap_along(m, n);
	return *gap >= m->least.gap - cr_little_depth(m->least.gap, m->size);
}

/// Out of a face beside its side i, unit.
static v3d out_of_side(const cr_face *face, int i)
{
	return v3d_normalize(v3d_cross(v3d_sub(face->point[(i + 1) % face->count], face->point[i]), face->normal));
}

/// first: number of the first edge of the face.
static void clip_by_sides(const meeting *m, cr_patch *p, const cr_face *reference, int first)
{
	for (int i = 0; i < reference->count && p->count > 0; i++) {
		const v3d outward = out_of_side(reference, i);
		const bool inner = first == CR_EDGES_OF_B && m->rim.inner >> i & 1;
		cr_clip_patch(
			p, outward, v3d_dot(outward, reference->point[i]) + (inner ? FLUSH_INNER * m->size : m->rim.flush), first + i);
	}
}

/// Was a point made by an inner side of the triangle, where the flat part goes on? Not so at a
/// corner of the flat part, where that side ends.
static bool is_inner_cut(const meeting *m, v3d point, cr_corner_edges made_by)
{
	const cr_face *triangle = &m->face_b;
	for (int k = 0; k < 2; k++) {
		const int side = made_by.edge[k] - CR_EDGES_OF_B;
		if (side < 0 || side >= triangle->count || !(m->rim.inner >> side & 1))
			continue;
		bool ends = false;
		for (int i = 0; i < triangle->count; i++) {
			const int corner = (side + 1) % triangle->count == i ? i : side;
			ends = ends ||
				(!(m->rim.inner >> i & 1) && !(m->rim.straight >> corner & 1) &&
					v3d_dot(out_of_side(triangle, i), v3d_sub(point, triangle->point[i])) > -1e-8 * m->size);
		}
		if (!ends)
			return true;
	}
	return false;
}

/// Bodies that are apart have no two points that are nearer than their distance. The depths of a
/// patch are distances of such points, up to the corners that lie beyond a side by a hair
/// (CR_FLUSH).
static int emit(const meeting *m, cr_volume_contact contact, cr_volume_contact *contacts, int count)
{
	if (m->apart > 0)
		contact.depth = fmin(contact.depth, -m->apart);
	if (!(contact.depth >= -m->margin))
		return count;
	contacts[count] = contact;
	return count + 1;
}

/// Clipping may begin anywhere and go round either way, as the face tells that clips.
static void sort_by_name(cr_volume_contact *contacts, int count)
{
	for (int i = 1; i < count; i++) {
		const cr_volume_contact moved = contacts[i];
		int at = i;
		for (; at > 0 && moved.name < contacts[at - 1].name; at--)
			contacts[at] = contacts[at - 1];
		contacts[at] = moved;
	}
}

/// Keep the contact of the first name, and from there always the one that is farthest from those
/// kept; of two as far, the one of the first name. So the choice does not change while bodies
/// tremble.
static int reduce(cr_volume_contact *contacts, int count)
{
	if (count <= CR_MAX_VOLUME_CONTACTS)
		return count;
	double nearest[CR_MOST_PATCH_POINTS]; // to those kept
	for (int i = 0; i < count; i++)
		nearest[i] = (double)INFINITY;
	sort_by_name(contacts, count);
	int best = 0;
	for (int kept = 0; kept < CR_MAX_VOLUME_CONTACTS; kept++) {
		double most = 0;
		for (int i = kept; i < count && kept > 0; i++) {
			const double apart = cr_contacts_apart(&contacts[i], &contacts[kept - 1]);
			nearest[i] = apart < nearest[i] ? apart : nearest[i];
			if (i == kept || nearest[i] > most * (1 + ALIKE)) {
				most = nearest[i];
				best = i;
			}
		}
		const cr_volume_contact chosen = contacts[best];
		for (int i = best; i > kept; i--) { // the others keep their order
			contacts[i] = contacts[i - 1];
			nearest[i] = nearest[i - 1];
		}
		contacts[kept] = chosen;
	}
	return CR_MAX_VOLUME_CONTACTS;
}

/// See cr_reach_depth.
static int reach_depth(const meeting *m, const cr_volume_contact *place, cr_volume_contact *contacts, int count)
{
	return place->depth >= -m->margin ? cr_reach_depth(place, m->size, contacts, count) : count;
}

/// The point of A's surface at the place where the bodies are deepest in each other along the
/// normal of a face.
static v3d deepest_on_a(const meeting *m, bool by_a, v3d n, double gap)
{
	if (!by_a)
		return v3d_mad(cr_convex_support(m->a, v3d_neg(n)), -m->a->rounding, n);
	const v3d b = v3d_add(m3d_mul(&m->at->rotation, cr_convex_support(m->b, m3d_tmul(&m->at->rotation, n))), m->at->position);
	return v3d_mad(b, m->b->rounding + gap, n);
}

/// Do the nearest points lie over each other along their normal? Not always where a body is curved.
static bool are_nearest_points_true(const meeting *m)
{
	const v3d d = v3d_sub(m->least.on_a, m->least.on_b);
	return v3d_length(v3d_mad(d, -m->least.gap, m->least.normal)) <= cr_little_depth(m->least.gap, m->size);
}

/// Let the contacts of a face reach the depth that parts the bodies along its normal. deepest: of
/// all that were found; NULL: there are none. It may be one that was left out. Where the bodies are
/// deepest beside the patch, and little is missing, a point of the patch gets that depth. Where
/// more is, the nearest points become a contact of that depth: they lie in both bodies, and are
/// about as deep, since no face speaks for a direction in which the bodies are much deeper. Bodies
/// that are apart have no depth to come out of, and may come as near as their distance: the plane
/// of the face would make that too short, where a corner beside the patch comes nearer to it or
/// passes it. Where their nearest points are the only contact, it has the normal from one to the
/// other, or its place on B would lie beside B's surface. Contacts of a patch have one normal.
static int reach_gap(
	const meeting *m, bool by_a, double gap, const cr_volume_contact *deepest, cr_volume_contact *contacts, int count)
{
	const v3d n = by_a ? v3d_neg(m->face_a.normal) : m->face_b.normal;
	gap = m->apart > 0 ? m->apart : gap;
	if (deepest && !(deepest->depth < -gap - 1e-9 * m->size))
		return reach_depth(m, deepest, contacts, count);
	if (!(-gap >= -m->margin) || (!deepest && m->goes_on))
		return count;
	cr_volume_contact place = { m->least.on_a, n, -gap, cr_name_deepest(m->faces) };
	const bool is_far = !deepest || -gap - deepest->depth > cr_little_depth(gap, m->size);
	const bool is_true = is_far && are_nearest_points_true(m);
	if (!deepest && is_true && m->apart > 0)
		place.normal = m->least.normal;
	if (is_far && (!deepest || is_true))
		return cr_add_place(&place, m->size, contacts, count);
	place.point = deepest_on_a(m, by_a, n, gap);
	contacts[cr_nearest_deep_contact(&place, m->size, contacts, count)].depth = -gap;
	return count;
}

/// Does a contact lie where the last one or the first one lies? Two cuts beside a corner may.
static bool is_double(const meeting *m, const cr_volume_contact *c, const cr_volume_contact *contacts, int count)
{
	return count > 0 &&
		fmin(cr_contacts_apart(c, &contacts[0]), cr_contacts_apart(c, &contacts[count - 1])) <= CR_FLUSH * m->size;
}

/// The facing part of one body, clipped by a face of the other. by_a: the face is A's; gap: of the
/// bodies along its normal.
static int clip_contacts(meeting *m, bool by_a, double gap, cr_volume_contact *contacts)
{
	const cr_face *reference = by_a ? &m->face_a : &m->face_b, *facing = by_a ? &m->face_b : &m->face_a;
	const int first = by_a ? 0 : CR_EDGES_OF_B;
	const v3d out = reference->normal, n = by_a ? v3d_neg(out) : out;
	const double rounding = m->a->rounding + m->b->rounding;
	cr_volume_contact all[CR_MOST_PATCH_POINTS];
	cr_patch p;
	cr_begin_patch(facing->point, facing->count, CR_EDGES_OF_B - first, &p);
	clip_by_sides(m, &p, reference, first);
	int count = 0;
	for (int i = 0; i < p.count; i++) {
		const double height = v3d_dot(out, v3d_sub(p.point[i], reference->point[0]));
		if (rounding - height >= -m->margin && is_inner_cut(m, p.point[i], p.corner[i])) {
			m->goes_on = true;
			continue;
		}
		const v3d core = by_a ? v3d_mad(p.point[i], -height, out) : p.point[i];
		const cr_volume_contact c = { v3d_mad(core, -m->a->rounding, n), n, rounding - height,
			cr_name_corner(m->faces, p.corner[i]) };
		count = is_double(m, &c, all, count) ? count : emit(m, c, all, count);
	}
	const cr_volume_contact deepest = count > 0 ? *cr_deepest_contact(all, count) : (cr_volume_contact){ .depth = 0 };
	const cr_volume_contact *found = count > 0 ? &deepest : NULL;
	count = reach_gap(m, by_a, gap, found, all, m->all ? count : reduce(all, count));
	memcpy(contacts, all, (size_t)count * sizeof *contacts);
	return count;
}

/// Two edges side by side: the ends of the part that they have in common.
static int edge_contacts(const meeting *m, cr_volume_contact *contacts)
{
	const v3d *p = m->face_a.point, *q = m->face_b.point, n = m->least.normal;
	const v3d along = v3d_normalize(v3d_sub(q[1], q[0])), other = v3d_normalize(v3d_sub(p[1], p[0]));
	if (!(v3d_length(v3d_cross(along, other)) <= PARALLEL) || !(fabs(v3d_dot(along, n)) <= PARALLEL))
		return 0;
	const double length = v3d_length(v3d_sub(q[1], q[0])), turn = v3d_dot(along, other);
	const double s0 = v3d_dot(along, v3d_sub(p[0], q[0])), s1 = v3d_dot(along, v3d_sub(p[1], q[0]));
	const double from = fmax(0, fmin(s0, s1)), to = fmin(length, fmax(s0, s1));
	if (!(to - from > 1e-6 * m->size))
		return 0;
	int count = 0;
	for (int i = 0; i < 2; i++) {
		const double s = i == 0 ? from : to;
		const bool of_b = i == 0 ? from == 0 : to == length;
		const cr_corner_edges end = of_b ? cr_face_corner(CR_EDGES_OF_B, 2, i) : cr_face_corner(0, 2, (turn < 0) != i);
		const v3d on_b = v3d_mad(q[0], s, along), on_a = v3d_mad(p[0], (s - s0) / turn, other);
		const double depth = m->a->rounding + m->b->rounding - v3d_dot(n, v3d_sub(on_a, on_b));
		const v3d point = v3d_mad(on_a, -m->a->rounding, n);
		count = emit(m, (cr_volume_contact){ point, n, depth, cr_name_corner(m->faces, end) }, contacts, count);
	}
	return count;
}

/// The contact of the nearest points, which has no name.
static int emit_nearest(const meeting *m, cr_volume_contact *contacts)
{
	return emit(m, (cr_volume_contact){ m->least.on_a, m->least.normal, -m->least.gap, 0 }, contacts, 0);
}

/// Square of the distance from the first corner of a face to the farthest one. It is a property of
/// the face alone, up to rounding.
static double extent_of(const cr_face *face)
{
	double most = 0;
	for (int i = 1; i < face->count; i++) {
		const v3d d = v3d_sub(face->point[i], face->point[0]);
		most = fmax(most, v3d_dot(d, d));
	}
	return most;
}

/// Does A's face clip, of two faces that speak? The one along which the bodies are less deep does.
/// Of two that are as good the wider one does, so that the choice does not change while a body
/// trembles: rounding turns a wide floor by far more below a foot than the foot above the floor. Of
/// faces that are as wide, B's does.
static bool goes_by_a(const meeting *m, double gap_a, double gap_b)
{
	const double alike = 1e-4 * m->size;
	if (!(fabs(gap_a - gap_b) <= alike))
		return gap_a > gap_b;
	return extent_of(&m->face_a) > 1.01 * extent_of(&m->face_b);
}

/// Is one of the bodies a capsule, and the facing part of the other a polygon?
static bool is_lying(const meeting *m)
{
	return (m->a->core == CR_CORE_SEGMENT && m->face_b.count > 2) || (m->b->core == CR_CORE_SEGMENT && m->face_a.count > 2);
}

/// A capsule on a face of the other body or along an edge; 0: it lies on none.
static int lying_contacts(const meeting *m, cr_volume_contact *contacts)
{
	const bool of_a = m->a->core == CR_CORE_SEGMENT;
	const cr_face *face = of_a ? &m->face_b : &m->face_a, *axis = of_a ? &m->face_a : &m->face_b;
	const double radius = of_a ? m->a->rounding : m->b->rounding;
	const v3d out = of_a ? m->least.normal : v3d_neg(m->least.normal);
	const cr_lying l = { .end = { axis->point[0], axis->point[1] },
		.radius = m->a->rounding + m->b->rounding,
		.flush = CR_LYING_FLUSH * m->size,
		.margin = m->margin,
		.deepest = { v3d_mad(of_a ? m->least.on_a : m->least.on_b, radius, out), out, -m->least.gap, cr_name_deepest(m->faces) },
		.name = { cr_name_corner(m->faces, cr_face_corner(0, 2, 0)), cr_name_corner(m->faces, cr_face_corner(0, 2, 1)) } };
	const int count = cr_lying_contacts(&l, face->point, face->count, face->normal, contacts);
	for (int i = 0; i < count; i++) {
		cr_volume_contact *c = &contacts[i];
		c->point = v3d_mad(c->point, of_a ? -radius : c->depth - radius, c->normal);
		c->normal = of_a ? c->normal : v3d_neg(c->normal);
	}
	return count;
}

/// The patch by faces or edges; 0: neither.
static int patch_contacts(meeting *m, cr_volume_contact *contacts)
{
	double gap_a = 0, gap_b = 0;
	if (is_lying(m))
		return lying_contacts(m, contacts);
	const bool by_a = speaks(m, &m->face_a, v3d_neg(m->face_a.normal), &gap_a);
	const bool by_b = speaks(m, &m->face_b, m->face_b.normal, &gap_b);
	if (by_a && (!by_b || goes_by_a(m, gap_a, gap_b)))
		return clip_contacts(m, true, gap_a, contacts);
	if (by_b)
		return clip_contacts(m, false, gap_b, contacts);
	return m->face_a.count == 2 && m->face_b.count == 2 ? edge_contacts(m, contacts) : 0;
}

int cr_convex_contacts(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, double margin, cr_volume_contact *contacts)
{
	meeting m = { .a = a, .b = b, .at = b_in_a, .margin = margin };
	cr_convex_separation_to(a, b, b_in_a, margin, &m.least);
	if (!(m.least.gap <= margin))
		return 0;
	m.apart = fmax(m.least.gap, 0);
	m.size = fmin(cr_convex_size(a) + a->rounding, cr_convex_size(b) + b->rounding);
	m.rim.flush = CR_FLUSH * m.size;
	find_faces(&m);
	const int count = patch_contacts(&m, contacts);
	return count > 0 ? count : emit_nearest(&m, contacts);
}

/// The facing part of a body need not hold the point that lies lowest over a triangle B. Where that
/// lies over the triangle, its depth is reached.
static int reach_lowest(const meeting *m, cr_volume_contact *contacts, int count)
{
	const v3d n = m->least.normal, *p = m->b->corner, lowest = cr_convex_support(m->a, v3d_neg(n));
	const double depth = m->a->rounding - v3d_dot(n, v3d_sub(lowest, p[0]));
	for (int k = 0; k < 3; k++) {
		const v3d outward = v3d_normalize(v3d_cross(v3d_sub(p[(k + 1) % 3], p[k]), n));
		if (v3d_dot(outward, v3d_sub(lowest, p[k])) > 1e-9 * m->size)
			return count;
	}
	const cr_volume_contact place = { v3d_mad(lowest, -m->a->rounding, n), n, depth, cr_name_deepest(m->faces) };
	return reach_depth(m, &place, contacts, count);
}

/// Fills m for the normal of the triangle B, and contacts; returns their number.
static int contacts_on_triangle(meeting *m, cr_volume_contact *contacts)
{
	const v3d *p = m->b->corner;
	m->least.normal = v3d_normalize(v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0])));
	m->size = fmin(cr_convex_size(m->a) + m->a->rounding, cr_convex_size(m->b));
	find_faces(m);
	const int count = clip_contacts(m, false, INFINITY, contacts);
	return reach_lowest(m, contacts, count);
}

/// Both are in one frame, and the caller reduces the points.
static meeting meet_triangle(const cr_convex *a, const cr_convex *triangle, cr_triangle_rim rim, double margin)
{
	return (meeting){ .a = a, .b = triangle, .at = &in_place, .margin = margin, .rim = rim, .all = true };
}

int cr_convex_contacts_on_triangle(
	const cr_convex *a, const cr_convex *triangle, cr_triangle_rim rim, double margin, cr_volume_contact *contacts)
{
	meeting m = meet_triangle(a, triangle, rim, margin);
	return contacts_on_triangle(&m, contacts);
}

int cr_convex_triangle_contacts(const cr_convex *a, const cr_convex *triangle, cr_triangle_rim rim, double margin,
	cr_separation *least, bool *on_face, cr_volume_contact *contacts)
{
	meeting m = meet_triangle(a, triangle, rim, margin);
	cr_convex_separation(a, triangle, &in_place, &m.least);
	*least = m.least;
	*on_face = false;
	if (!(m.least.gap <= margin))
		return 0;
	m.apart = fmax(m.least.gap, 0);
	m.size = fmin(cr_convex_size(a) + a->rounding, cr_convex_size(triangle));
	find_faces(&m);
	double gap_a = 0, gap_b = 0;
	const bool by_a = speaks(&m, &m.face_a, v3d_neg(m.face_a.normal), &gap_a);
	int count = 0;
	if (speaks(&m, &m.face_b, m.face_b.normal, &gap_b) && (!by_a || gap_a <= gap_b + rim.flush)) {
		meeting along = meet_triangle(a, triangle, rim, margin);
		count = contacts_on_triangle(&along, contacts);
		*on_face = count > 0 || along.goes_on;
		if (*on_face)
			return count;
	}
	if (count == 0 && by_a)
		count = clip_contacts(&m, true, gap_a, contacts);
	else if (count == 0 && m.face_a.count == 2 && m.face_b.count == 2)
		count = edge_contacts(&m, contacts);
	return count > 0 || m.goes_on ? count : emit_nearest(&m, contacts);
}

/// Height of a point of the core, with the rounding below it, above a plane.
static double height_over(const cr_convex *convex, v3d up, double height, v3d p)
{
	return v3d_dot(up, p) - height - convex->rounding;
}

int cr_convex_plane_contacts(const cr_convex *convex, v3d up, double height, double margin, cr_volume_contact *contacts)
{
	meeting m = { .a = convex, .margin = margin, .size = cr_convex_size(convex) + convex->rounding };
	const v3d down = v3d_neg(up), lowest = cr_convex_support(convex, down);
	cr_volume_contact all[CR_MAX_FACE];
	cr_convex_face(convex, down, &m.face_a);
	m.faces = cr_name_faces(m.face_a.number, 0);
	int count = 0;
	for (int i = 0; i < m.face_a.count; i++) {
		const v3d p = m.face_a.point[i];
		const cr_corner_edges corner = cr_face_corner(0, m.face_a.count, i);
		const cr_volume_contact c = { p, up, -height_over(convex, up, height, p), cr_name_corner(m.faces, corner) };
		count = emit(&m, c, all, count);
	}
	const cr_volume_contact place = { lowest, up, -height_over(convex, up, height, lowest), cr_name_deepest(m.faces) };
	count = reach_depth(&m, &place, all, reduce(all, count));
	memcpy(contacts, all, (size_t)count * sizeof *contacts);
	return count;
}
