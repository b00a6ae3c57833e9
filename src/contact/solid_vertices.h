/// Contacts at the vertices of solids that deform: each vertex that is in the other body has one.
#ifndef CR_CONTACT_SOLID_VERTICES_H
#define CR_CONTACT_SOLID_VERTICES_H

#include "contact/convex_mesh.h"

/// Of the contacts of each vertex in a pair of meshes, join those that push nearly alike. Sorts the
/// contacts. Sets worker->failed when out of memory.
void cr_join_vertex_contacts(cr_worker *worker, const cr_body *a, const cr_body *b, cr_raw_contacts *contacts);
/// Join the contacts in worker->contacts likewise, which are those of a convex body and a solid,
/// and add those of vertices in the body, or within the margin, that have none. Sorts the contacts.
/// Sets worker->failed when out of memory.
void cr_cover_solid_vertices(cr_convex_mesh_pair *pair);

#endif
