/// Capsules that lie. See geom/lying.h.
///
/// The height of a straight axis over a face is linear, so a capsule is deepest at an end of the
/// stretch that lies over the face, or beyond the border, where its lower end hangs over: there the
/// nearest place of the border is deeper, by the square of the tilt. That place then takes over
/// from the end of the stretch, and runs into it as the tilt vanishes. So no contact comes or goes
/// with the tilt.

#include "geom/lying.h"

// A face holds a capsule where its normal is within 25 degrees of the pair's.
static const double ALIGNED = 0.9, ALIGNED_PIERCED = 1 - 1e-6;
// Sines: a capsule lies along an edge that is as near to parallel, and as near to across the normal
// of the pair.
static const double LYING = 1e-3, ACROSS = 0.3;

/// Does the axis touch the body? Then the contacts of places below the face would leave the body
/// along a normal that leans, so the face must lie nearly across it.
static bool is_pierced(const cr_lying *l) { return l->deepest.depth >= l->radius * (1 - 1e-6); }

/// Leave the part of the axis on the inner side of a plane, outward . p <= offset. room: an axis no
/// farther beyond it lies within. So an axis along the border does not change sides by trembling;
/// one that goes twice as far is cut at the plane, and between the two the cut moves steadily.
static void cut_stretch(const cr_lying *l, v3d outward, double offset, double room, double at[2])
{
	double over0 = v3d_dot(outward, l->end[0]) - offset, over1 = v3d_dot(outward, l->end[1]) - offset;
	const double slack = fmin(room, fmax(0, 2 * room - fmax(over0, over1)));
	over0 -= slack;
	over1 -= slack;
	if (over0 > 0 && over1 > 0)
		at[0] = INFINITY;
	else if (over0 > 0)
		at[0] = fmax(at[0], over0 / (over0 - over1));
	else if (over1 > 0)
		at[1] = fmin(at[1], over0 / (over0 - over1));
}

static v3d place_at(const cr_lying *l, double at) { return v3d_mad(l->end[0], at, v3d_sub(l->end[1], l->end[0])); }

/// Add the greatest depth of the pair to contacts at the places at[0] to at[1] of the axis (shares
/// of its length), and leave out those that are less than -margin deep. Returns how many there are.
static int reach_depth(const cr_lying *l, const double at[2], cr_volume_contact *contacts)
{
	const v3d axis = v3d_sub(l->end[1], l->end[0]);
	const double length2 = v3d_dot(axis, axis), tiny = 1e-9 * (l->radius + sqrt(length2)), depth = l->deepest.depth;
	int count = 2, kept = 0;
	for (int i = 0; i < 2; i++)
		contacts[i].depth = fmin(contacts[i].depth, depth);
	if (fmax(contacts[0].depth, contacts[1].depth) < depth - tiny) {
		const double place = v3d_dot(axis, v3d_sub(l->deepest.point, l->end[0])), room = l->flush * sqrt(length2);
		if (place > at[0] * length2 + room && place < at[1] * length2 - room) {
			contacts[count++] = l->deepest;
		} else {
			const int end = place > 0.5 * (at[0] + at[1]) * length2;
			contacts[end] = l->deepest;
			contacts[end].name = l->name[end];
		}
	}
	for (int i = 0; i < count; i++) {
		if (contacts[i].depth >= -l->margin)
			contacts[kept++] = contacts[i];
	}
	return kept;
}

/// A contact at a place that lies so high along a direction: all contacts have the normal of the
/// pair, and the depth is the move along it that brings the place clear.
static cr_volume_contact contact_of(const cr_lying *l, v3d place, double height, v3d up, int32_t name)
{
	const double depth = (l->radius - height) / v3d_dot(up, l->deepest.normal);
	return (cr_volume_contact){ place, l->deepest.normal, depth, name };
}

/// Is there a stretch that is long enough for two contacts?
static bool is_long(const cr_lying *l, const double at[2])
{
	return (at[1] - at[0]) * v3d_length(v3d_sub(l->end[1], l->end[0])) > l->flush;
}

static int contacts_on_face(const cr_lying *l, const v3d *corner, int count, v3d up, cr_volume_contact *contacts)
{
	double at[2] = { 0, 1 };
	if (!(v3d_dot(up, l->deepest.normal) >= (is_pierced(l) ? ALIGNED_PIERCED : ALIGNED)))
		return 0;
	for (int i = 0; i < count; i++) {
		const v3d outward = v3d_normalize(v3d_cross(v3d_sub(corner[(i + 1) % count], corner[i]), up));
		cut_stretch(l, outward, v3d_dot(outward, corner[i]), l->flush, at);
	}
	if (!is_long(l, at))
		return 0;
	for (int i = 0; i < 2; i++) {
		const v3d place = place_at(l, at[i]);
		contacts[i] = contact_of(l, place, v3d_dot(up, v3d_sub(place, corner[0])), up, l->name[i]);
	}
	return reach_depth(l, at, contacts);
}

/// A contact at a place of the axis with the edge through a point along a direction. A core that
/// touches the edge has no direction of its own.
static cr_volume_contact contact_of_edge(const cr_lying *l, double at, v3d on_edge, v3d along, int32_t name)
{
	const v3d place = place_at(l, at), off = v3d_sub(place, on_edge), away = v3d_mad(off, -v3d_dot(off, along), along);
	const double height = v3d_length(away);
	if (is_pierced(l) || v3d_dot(away, l->deepest.normal) < ALIGNED * height)
		return contact_of(l, place, v3d_dot(off, l->deepest.normal), l->deepest.normal, name);
	return contact_of(l, place, height, v3d_scale(away, 1 / height), name);
}

static int contacts_on_edge(const cr_lying *l, v3d p, v3d q, cr_volume_contact *contacts)
{
	double at[2] = { 0, 1 };
	const v3d along = v3d_normalize(v3d_sub(q, p)), axis = v3d_normalize(v3d_sub(l->end[1], l->end[0]));
	const v3d touched = v3d_mad(l->deepest.point, l->deepest.depth - l->radius, l->deepest.normal), off = v3d_sub(touched, p);
	if (!(v3d_length(v3d_cross(along, axis)) <= LYING) || !(fabs(v3d_dot(along, l->deepest.normal)) <= ACROSS))
		return 0;
	// Another edge may be nearest.
	if (!(v3d_length(v3d_mad(off, -v3d_dot(off, along), along)) <= l->flush))
		return 0;
	cut_stretch(l, along, v3d_dot(along, q), 0, at);
	cut_stretch(l, v3d_neg(along), -v3d_dot(along, p), 0, at);
	if (!is_long(l, at))
		return 0;
	for (int i = 0; i < 2; i++)
		contacts[i] = contact_of_edge(l, at[i], p, along, l->name[i]);
	return reach_depth(l, at, contacts);
}

int cr_lying_contacts(const cr_lying *l, const v3d *corner, int count, v3d up, cr_volume_contact *contacts)
{
	int found = contacts_on_face(l, corner, count, up, contacts);
	for (int i = 0; i < count && found == 0; i++)
		found = contacts_on_edge(l, corner[i], corner[(i + 1) % count], contacts);
	return found;
}
