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

int cr_nearest_contact(const cr_volume_contact *place, const cr_volume_contact *contacts, int count)
{
	int nearest = 0;
	for (int i = 1; i < count; i++)
		nearest = cr_contacts_apart(&contacts[i], place) < cr_contacts_apart(&contacts[nearest], place) ? i : nearest;
	return nearest;
}

const cr_volume_contact *cr_deepest_contact(const cr_volume_contact *contacts, int count)
{
	const cr_volume_contact *deepest = contacts;
	for (int i = 1; i < count; i++)
		deepest = contacts[i].depth > deepest->depth ? &contacts[i] : deepest;
	return deepest;
}

int cr_reach_depth(const cr_volume_contact *place, double size, bool goes_on, cr_volume_contact *contacts, int count)
{
	const double deepest = count > 0 ? cr_deepest_contact(contacts, count)->depth : -(double)INFINITY;
	if (!(deepest < place->depth - 1e-9 * size))
		return count;
	const int nearest = cr_nearest_contact(place, contacts, count);
	if (!goes_on && place->depth - deepest <= cr_little_depth(place->depth, size)) {
		contacts[nearest].depth = place->depth;
		return count;
	}
	const int at = count < CR_MAX_VOLUME_CONTACTS ? count++ : nearest;
	contacts[at] = *place;
	return count;
}
