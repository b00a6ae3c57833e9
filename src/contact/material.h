/// Materials of contacts: from the features of a contact to the numbers that the caller gave to
/// triangles.
#ifndef CR_CONTACT_MATERIAL_H
#define CR_CONTACT_MATERIAL_H

#include "contact/contact.h"

/// The triangle of a hull at a point of its surface with this outward normal (the hull's frame):
/// the nearest one; of those at an edge or a corner the one whose normal is most like it, of these
/// the first. A walk of its tree.
int32_t cr_hull_triangle_at(const carom_mesh *hull, v3d point, v3d normal);

/// The material of a body at a point of its surface (world frame), whose outward normal is known.
/// triangle: of its mesh, and not read of a body whose shape is a hull. 0: it has none.
uint32_t cr_material_at(const cr_body *body, int32_t triangle, v3d point, v3d normal);

/// Fill material_a and material_b of the contacts of a pair, whose bodies these are, from all their
/// other fields (carom_contact explains them). Where a body has no materials, its numbers stay as
/// they are.
void cr_set_materials(const cr_pipeline *pipeline, const cr_body *a, const cr_body *b, carom_contact *contacts, int32_t count);

#endif
