/// Patches. See geom/patch.h.

#include "geom/patch.h"

#include <string.h>

void cr_clip_patch(cr_patch *patch, v3d outward, double offset, int side)
{
	double height[CR_MOST_PATCH_POINTS], most = 0;
	for (int i = 0; i < patch->count; i++) {
		height[i] = v3d_dot(outward, patch->point[i]) - offset;
		most = height[i] > most ? height[i] : most;
	}
	if (!(most > 0))
		return;
	cr_patch out;
	out.count = 0;
	const bool closed = patch->count > 2;
	for (int i = 0; i < patch->count; i++) {
		const int next = i + 1 < patch->count ? i + 1 : 0;
		const double h = height[i], k = height[next];
		if (h <= 0 && out.count < CR_MOST_PATCH_POINTS) {
			out.corner[out.count] = patch->corner[i];
			out.edge[out.count] = h == 0 && k > 0 ? (uint8_t)side : patch->edge[i];
			out.point[out.count++] = patch->point[i];
		}
		const bool last = !closed && i + 1 == patch->count;
		if (!last && ((h < 0 && k > 0) || (h > 0 && k < 0)) && out.count < CR_MOST_PATCH_POINTS) {
			out.corner[out.count] = (cr_corner_edges){ { patch->edge[i], (uint8_t)side } };
			out.edge[out.count] = k > 0 ? (uint8_t)side : patch->edge[i];
			out.point[out.count++] = v3d_mad(patch->point[i], h / (h - k), v3d_sub(patch->point[next], patch->point[i]));
		}
	}
	patch->count = out.count;
	memcpy(patch->point, out.point, (size_t)out.count * sizeof *out.point);
	memcpy(patch->corner, out.corner, (size_t)out.count * sizeof *out.corner);
	memcpy(patch->edge, out.edge, (size_t)out.count * sizeof *out.edge);
}

const cr_volume_contact *cr_deepest_contact(const cr_volume_contact *contacts, int count)
{
	const cr_volume_contact *deepest = contacts;
	for (int i = 1; i < count; i++)
		deepest = contacts[i].depth > deepest->depth ? &contacts[i] : deepest;
	return deepest;
}

int cr_nearest_deep_contact(const cr_volume_contact *place, double size, const cr_volume_contact *contacts, int count)
{
	if (count == 0)
		return 0;
	int nearest = (int)(cr_deepest_contact(contacts, count) - contacts);
	const double least = fmin(contacts[nearest].depth, place->depth - cr_little_depth(place->depth, size));
	for (int i = 0; i < count; i++) {
		if (contacts[i].depth >= least && cr_contacts_apart(&contacts[i], place) < cr_contacts_apart(&contacts[nearest], place))
			nearest = i;
	}
	return nearest;
}

int cr_add_place(const cr_volume_contact *place, double size, cr_volume_contact *contacts, int count)
{
	const int at = count < CR_MAX_VOLUME_CONTACTS ? count++ : cr_nearest_deep_contact(place, size, contacts, count);
	contacts[at] = *place;
	return count;
}

int cr_reach_depth(const cr_volume_contact *place, double size, cr_volume_contact *contacts, int count)
{
	const double deepest = count > 0 ? cr_deepest_contact(contacts, count)->depth : -(double)INFINITY;
	if (!(deepest < place->depth - 1e-9 * size))
		return count;
	if (place->depth - deepest > cr_little_depth(place->depth, size))
		return cr_add_place(place, size, contacts, count);
	contacts[cr_nearest_deep_contact(place, size, contacts, count)].depth = place->depth;
	return count;
}
