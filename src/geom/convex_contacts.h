/// Contacts of two convex bodies: the patch in which they meet, as a few points with one normal.
#ifndef CR_GEOM_CONVEX_CONTACTS_H
#define CR_GEOM_CONVEX_CONTACTS_H

#include "geom/separation.h"
#include "geom/volume.h"

/// Contacts with depth >= -margin, in the frame of A; at most CR_MAX_VOLUME_CONTACTS. Returns their number; it is 0 only where the
/// bodies are farther apart than margin.
///
/// The direction of least separation is found first. Where a face of either body lies nearly across it and parts the bodies nearly as
/// well, its normal is that of all contacts, and the facing part of the other body is clipped against its sides (Gregorius, Robust
/// Contact Creation for Physics Simulations, 2015). Edges that run side by side give the two ends of their common part. Else there
/// is one contact, at the nearest points.
int cr_convex_contacts(
	const cr_convex *a, const cr_convex *b, const cr_relative *b_in_a, double margin, cr_volume_contact *contacts);

#endif
