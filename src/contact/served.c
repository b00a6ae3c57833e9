/// Pieces of edges that a patch serves already (manifold.c).
///
/// The edge of a box that lies in fine terrain goes through many of its facets, and through its
/// creases. The box's edge is settled by the facets. A piece of a crease inside the box is on the
/// terrain's surface, so that no facet of the terrain stands for it: only the two sides of the box
/// do, and these lean away from where the terrain faces. It would push the box along a direction
/// that the surface does not have there. Where a patch of the terrain's facets leads the piece out
/// of the box as well, it needs none of its own.
///
/// Only planes that lean are turned down so: a crest below the foot of a box keeps its contact.
/// Cost: facets of the convex body for each patch, where an element chose a plane that leans.

#include "contact/contact_normal.h"
#include "contact/manifold.h"

// Cosine and sine of the angle by which a way may lean away from the normals at a crease.
static const double LEAN_COSINE = 0.9, LEAN_SINE = 0.4358898943540674;

/// Does a way out of a crease's surface lean away from all normals between its two facets?
static bool leans(const cr_manifold *m, const cr_overlap_corner *corner, v3d way)
{
	const cr_collider *collider = m->completion->collider[corner->side];
	const int32_t across = collider->topology->neighbours[corner->number];
	const v3d own = cr_direction_to_a(m->completion, corner->side, cr_collider_normal(collider, corner->number / 3));
	if (across < 0)
		return false;
	const v3d sum = v3d_add(own, cr_direction_to_a(m->completion, corner->side, cr_collider_normal(collider, across)));
	const double length = v3d_length(sum);
	if (!(length > 1e-6))
		return false;
	// Within half the angle between the facets, and so much more, of the middle between them.
	const double half = v3d_dot(own, sum) / length, across_half = sqrt(fmax(0, 1 - half * half));
	return v3d_dot(way, sum) < length * (half * LEAN_COSINE - across_half * LEAN_SINE);
}

/// Is a point outside a convex body (A's frame)?
static bool is_outside(const cr_manifold *m, int side, v3d point)
{
	const cr_facets *facets = m->overlap->facets[side];
	const v3d p = cr_from_a(m->completion, side, point);
	for (int32_t i = 0; i < facets->count; i++) {
		if (v3d_dot(facets->data[i].normal, p) >= facets->data[i].offset - m->tolerance)
			return true;
	}
	return false;
}

bool cr_is_served(const cr_manifold *m, int32_t element, int32_t plane)
{
	const cr_overlap_corner *corner = &m->overlap->corners[element];
	const int other = 1 - corner->side;
	const cr_reference_plane *chosen = &m->planes[plane];
	if (corner->kind != CR_CORNER_MIDDLE || chosen->facet < 0 || chosen->side != other || !m->overlap->facets[other]->convex ||
		!leans(m, corner, v3d_neg(chosen->normal)))
		return false;
	for (int32_t k = 0; k < m->facet_planes; k++) {
		const cr_reference_plane *taken = &m->planes[k];
		// A plane of the crease's own body takes the other one along its normal.
		if (taken->side == corner->side && taken->led > 0 &&
			is_outside(m, other, v3d_mad(corner->at, -taken->led, taken->normal)))
			return true;
	}
	return false;
}
