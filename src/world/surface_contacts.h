/// Surface contacts of a world: of thick cloth with everything, and of thick surfaces with
/// themselves.
///
/// surface_contacts.c owns the scene and the order of a step, surface_sides.c decides on which side
/// features belong, surface_shapes.c is for shapes that are no meshes.
#ifndef CR_WORLD_SURFACE_CONTACTS_H
#define CR_WORLD_SURFACE_CONTACTS_H

#include "base/radix.h"
#include "carom/proximity.h"
#include "carom/world.h"
#include "surface/side.h"
#include "world/members.h"

typedef CR_ARRAY(carom_surface_contact) cr_surface_contact_list;
typedef CR_ARRAY(carom_surface_shape_contact) cr_surface_shape_contact_list;

/// A vertex that belongs to one side of a surface, and where it is now.
typedef struct cr_belonging {
	int32_t mesh_a, mesh_b; // members of the scene
	int32_t vertex;         // of mesh_a
	int32_t triangle;       // of mesh_b, where the side was known
	cr_side side;
	bool through; // it is not on its side now, or was not in the last step
	cr_foot foot; // of the vertex at the end of the step, as reached from there
} cr_belonging;

typedef CR_ARRAY(cr_belonging) cr_belongings;

typedef struct cr_surface_contacts {
	int32_t body_count;    // deforming bodies that ask
	carom_proximity *near; // NULL: none made
	cr_membership members;
	double reach; // of the search: the largest thickness
	// Of the step that runs:
	CR_ARRAY(int32_t) shapes; // by shape of near: number of the part
	cr_belongings remembered; // from contacts, sorted by mesh_a, mesh_b, vertex
	cr_belongings crossing;   // from impacts, sorted likewise
	bool tangled;             // one of these has come through
	CR_ARRAY(uint8_t) listed; // by pair of near: it is a contact
	CR_ARRAY(cr_key) order;
	cr_surface_contact_list ordered; // room to put contacts in order
	cr_surface_contact_list next;
	cr_surface_shape_contact_list next_shapes;
	// Of the last good step, and the memory of sides of the next:
	cr_surface_contact_list found;
	cr_surface_shape_contact_list found_shapes;
	int64_t known, known_shapes; // as many of them as the next step remembers: all or none
} cr_surface_contacts;

/// Finds them, into next and next_shapes; the impacts of the step were found. On failure those of
/// the last good step stay.
carom_result cr_find_surface_contacts(carom_world *world);
/// Makes them those of the last good step. Cannot fail.
void cr_take_surface_contacts(cr_surface_contacts *contacts);
/// Let the next step remember no sides, as after no step. Results stay.
void cr_forget_sides(cr_surface_contacts *contacts);
/// Adds to a hash, which stays as it is where there are none.
uint64_t cr_hash_surface_contacts(const cr_surface_contacts *contacts, uint64_t hash);
/// Drop the scene: triangles of a body in it are others. The next step makes it again.
void cr_forget_surface_scene(cr_surface_contacts *contacts);
void cr_surface_contacts_free(carom_context *memory, cr_surface_contacts *contacts);

// ---- Between these files ----

/// The distance that two bodies keep, half the sum of their thickness; 0: they have no surface
/// contacts. Filters are not asked.
double cr_kept_distance(const cr_body *a, const cr_body *b);
/// Was the body of a result of the last step left as it is, but for its motion? Gives its part.
bool cr_is_still(const carom_world *world, carom_body_id id, int32_t shape, int64_t *part);
/// A vertex of a body at a time of the step, on the straight line that impacts have it on.
v3d cr_vertex_at(const carom_world *world, int32_t part, int32_t vertex, double time);

/// May a pair of the search be a contact? A cr_near_keep_fn; user: the world (surface_sides.c).
bool cr_may_be_surface_contact(const void *user, const carom_proximity_pair *pair);
/// Contacts with meshes, from the pairs of a search: next (surface_sides.c).
bool cr_judge_surface_pairs(carom_world *world, const carom_proximity_view *view);
/// Contacts with shapes, likewise: next_shapes (surface_shapes.c).
bool cr_judge_surface_shapes(carom_world *world, const carom_proximity_view *view);

#endif
