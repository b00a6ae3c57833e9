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

enum { CR_MOST_BARE_FACETS = 16 };

/// The slop for two parts whose boxes have diagonals of these lengths, without roundings.
double cr_slop_of_sizes(double size_a, double size_b);
/// How far rounding may move the surface of a part: to be added to the slop.
double cr_part_rounding(const cr_body *part);
/// May a part help to cover another one at a point (world frame)? By its box.
bool cr_may_cover(const cr_body *part, v3d point, double slop);

/// Is a vector a sum of unit vectors, at most CR_MOST_BARE_FACETS, with factors of at least 0?
bool cr_is_in_cone(v3d normal, const v3d *units, int count);

/// Do the other parts cover a part at a point of its surface (world frame), so that nothing can
/// touch it there from the side that a unit normal points to? See covered.c. *nearest (NULL: not
/// wanted): of the part's facets at the point, where it is covered, the one that is bare and faces
/// that side best.
bool cr_is_covered(const cr_cover *cover, v3d point, v3d normal, cr_bare_facet *nearest);

/// The bare facets of a part at a point of its surface (world frame), one for each normal, without
/// those that have a given unit normal. Returns how many.
int cr_list_bare_facets(const cr_cover *cover, v3d point, v3d normal, cr_bare_facet facets[CR_MOST_BARE_FACETS]);
/// Does another part reach a point (world frame), within the slop, and go on from there to the side
/// of a unit normal?
bool cr_covers(const cr_cover *cover, const cr_body *other, v3d point, v3d normal);
/// Do other parts reach a point (world frame), within the slop?
bool cr_is_reached(const cr_cover *cover, v3d point);

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
