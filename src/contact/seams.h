/// Seams: where parts of one body lie flush, or in each other (seams.c, covered.c).
#ifndef CR_CONTACT_SEAMS_H
#define CR_CONTACT_SEAMS_H

#include "contact/contact.h"

/// A part, and further parts of its body.
typedef struct cr_cover {
	const cr_bvh_kernels *kernels;
	const cr_body *part;
	const cr_body **others; // [count]
	int32_t count;
	double slop; // metres: parts that are no farther apart are flush
} cr_cover;

/// A facet of the surface of a body with parts.
typedef struct cr_bare_facet {
	double cosine; // of the angle between its normal and the one that was asked about; 0: none
	v3d normal;    // world frame
	v3d corner;
} cr_bare_facet;

/// Do the other parts cover a part at a point of its surface (world frame), so that nothing can
/// touch it there from the side that a unit normal points to? See covered.c. *nearest (NULL: not
/// wanted): of the part's facets at the point, where it is covered, the one that is bare and faces
/// that side best.
bool cr_is_covered(const cr_cover *cover, v3d point, v3d normal, cr_bare_facet *nearest);

/// The least way out of a part of flat sides, for a point inside (world frame), through a facet
/// that is not covered over the point. false: there is none, or the part is not convex.
bool cr_find_bare_way(const cr_cover *cover, v3d point, v3d *normal, double *depth);

/// The signed distance of a point (world frame) from a body, negative inside; INFINITY: it is more
/// than most outside, or away from the surface of an open mesh.
double cr_gap_of_point(const cr_bvh_kernels *kernels, const cr_body *body, v3d point, double most);

/// The point of a body next to a point (world frame), unless that lies inside. Contacts may lie
/// beside the facet that they are measured by.
v3d cr_bring_to_body(const cr_bvh_kernels *kernels, const cr_body *body, v3d point);

/// Leave out the contacts of found pairs (pipeline->found, sorted by bodies) at the seams of bodies
/// with parts. false: out of memory.
bool cr_drop_seams(cr_pipeline *pipeline);

#endif
