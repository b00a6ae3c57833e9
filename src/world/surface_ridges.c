/// Contacts of edges of cloth with edges of closed meshes lead out between the two faces there.
///
/// Two edges are nearest to each other along the normal of both. Where they are nearly parallel,
/// and lie side by side, that direction is along the surface: a contact that has it would push the
/// cloth sideways. Such a pair is not where the surfaces are nearest to each other. Seen from an
/// edge of a closed mesh, places whose nearest part of the mesh about there is the edge lie between
/// the normals of its two faces: in its cone. Places inside that go out over it lie in the opposite
/// cone.
///
/// - A normal in one of the two cones stays.
/// - Else the place on the cloth's edge may be over one of the two faces, or under it. The contact
///   has the normal of that face, and the signed distance from its plane: of the two planes the
///   higher distance at a ridge, the lower one in a valley.
/// - Where it is beside that face, another feature of the mesh is nearer, which has a contact of
///   its own. This one is none. Nor is one below a face of a mesh that cloth crosses, where no
///   memory says that the edge is through: edges that cross leave over arches (surface_arches.c).
///
/// Where an end of the cloth's edge is through the mesh, and goes back another way, the memory of
/// the side counts (surface_sides.c). So it does for an edge of the mesh without two faces, and for
/// cloth on cloth, which has no outside.
///
/// Cost: a look at the triangles around one end of each edge that has a contact. The lists of these
/// are made once for each mesh.
#include "world/surface_cuts.h"
#include "world/world.h"

// Cosine of the angle by which a way out over an edge may lie beside the normals of its two faces,
// and of those between them.
#define NEAR_FACE 0.866
// What roundings may do to the cosine of a direction at the border of a cone.
#define ROUNDING 1e-9
// Of the square of an edge's length: so near to a face counts as over it.
#define OVER2 1e-12
// Two faces back to back have no cone: the least length of the sum of their normals.
#define LEAST_SUM 1e-6

/// An edge of a closed mesh.
typedef struct ridge {
	int32_t faces[2];
	v3d normals[2];
	v3d middle; // unit, between them
} ridge;

/// Find the two faces at an edge of a closed mesh. False where there are not two, and where nothing
/// has made the fans of the mesh.
static bool find_faces(const carom_world *world, int32_t mesh, const int32_t ends[2], ridge *r)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_placed surface = cr_placed_member(world, mesh);
	const cr_topology *t = surface.faces;
	const cr_fans *fans = mesh < m->fans.count ? &m->fans.data[mesh] : NULL;
	const int32_t p = t->weld[ends[0]], q = t->weld[ends[1]];
	int count = 0;
	if (!fans || !fans->first)
		return false;
	for (int32_t i = fans->first[p]; i < fans->first[p + 1]; i++) {
		const int32_t triangle = fans->corners[i] / 3, *corners = &t->triangles[3 * (int64_t)triangle];
		const bool has = t->weld[corners[0]] == q || t->weld[corners[1]] == q || t->weld[corners[2]] == q;
		if (has && count < 2) {
			r->faces[count] = triangle;
			r->normals[count] = cr_placed_normal(&surface, triangle);
		}
		count += has;
	}
	// A face without an area has no normal, and no place is over it.
	if (count != 2 || cr_is_zero(r->normals[0]) || cr_is_zero(r->normals[1]))
		return false;
	r->middle = v3d_normalize(v3d_add(r->normals[0], r->normals[1]));
	return true;
}

/// Does cloth cross a closed mesh?
static bool is_crossed(const carom_world *world, int32_t solid)
{
	const cr_cut_lists *lists = &world->surface_contacts.cuts;
	return solid < lists->crossed.count && lists->crossed.data[solid];
}

bool cr_is_beside_ridge(const carom_world *world, int32_t mesh_a, int32_t mesh_b, const carom_surface_contact *c)
{
	const bool turned = cr_body_of_member(world, mesh_a)->kind != CAROM_CLOTH;
	const int32_t solid = turned ? mesh_a : mesh_b;
	ridge r;
	if (!c->through || !is_crossed(world, solid) || !cr_may_be_cut(world, mesh_a, mesh_b) ||
		!find_faces(world, solid, c->vertices + (turned ? 0 : 2), &r))
		return false;
	const v3d out = v3d_scale(c->normal, turned ? -1 : 1);
	return v3d_dot(out, r.middle) < v3d_dot(r.normals[0], r.middle) && v3d_dot(out, r.normals[0]) < NEAR_FACE &&
		v3d_dot(out, r.normals[1]) < NEAR_FACE;
}

/// Is a direction against the way by which a vertex of cloth that is through a mesh goes back?
static bool is_against_ways(const carom_world *world, int32_t cloth, int32_t solid, int32_t vertex, v3d direction)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_belongings *lists[3] = { &m->remembered, &m->crossing, &m->began };
	const cr_placed surface = cr_placed_member(world, solid);
	bool against = v3d_dot(cr_lead_now(world, cloth, solid, vertex), direction) < 0;
	for (int k = 0; k < 3 && !against; k++) {
		for (int64_t i = cr_first_belonging(lists[k], cloth, solid, vertex);
			 i < lists[k]->count && cr_compare_belonging(&lists[k]->data[i], cloth, solid, vertex) == 0; i++) {
			const cr_belonging *b = &lists[k]->data[i];
			const v3d way = cr_is_zero(b->lead) ? cr_placed_normal(&surface, b->foot.triangle) : b->lead;
			against = against || (b->through && v3d_dot(way, direction) < 0);
		}
	}
	return against;
}

/// Do the two faces make a valley?
static bool is_hollow(const cr_placed *surface, const ridge *r, const int32_t ends[2])
{
	const int32_t *t = &surface->faces->triangles[3 * (int64_t)r->faces[1]];
	const v3d from = cr_placed_vertex(surface, ends[0]);
	double highest = 0;
	for (int k = 0; k < 3; k++) {
		const double height = v3d_dot(r->normals[0], v3d_sub(cr_placed_vertex(surface, t[k]), from));
		highest = fabs(height) > fabs(highest) ? height : highest;
	}
	return highest > 0;
}

/// That face of two which a place near their edge leaves the mesh over; -1: it is over neither.
/// apart: to the place from the edge.
static int find_face_under(const cr_placed *surface, const ridge *r, const int32_t ends[2], v3d place, v3d apart)
{
	const v3d edge = v3d_sub(cr_placed_vertex(surface, ends[1]), cr_placed_vertex(surface, ends[0]));
	const double heights[2] = { v3d_dot(apart, r->normals[0]), v3d_dot(apart, r->normals[1]) };
	const bool flat = fabs(heights[0] - heights[1]) <= ROUNDING * v3d_length(apart);
	const int better = (heights[1] > heights[0]) != is_hollow(surface, r, ends);
	int found = -1;
	for (int k = 0; k < 2 && found < 0; k++) {
		const cr_foot foot = cr_foot_on_triangle(surface, r->faces[k], v3d_mad(place, -heights[k], r->normals[k]));
		found = (k == better || flat) && foot.distance2 <= OVER2 * v3d_dot(edge, edge) ? k : -1;
	}
	return found;
}

bool cr_hold_in_cone(const carom_world *world, int32_t mesh_a, int32_t mesh_b, carom_surface_contact *c)
{
	const bool turned = cr_body_of_member(world, mesh_a)->kind != CAROM_CLOTH;
	const int32_t solid = turned ? mesh_a : mesh_b, cloth = turned ? mesh_b : mesh_a;
	const int32_t *of_solid = &c->vertices[turned ? 0 : 2], *of_cloth = &c->vertices[turned ? 2 : 0];
	ridge r;
	if (!cr_may_be_cut(world, mesh_a, mesh_b) || !find_faces(world, solid, of_solid, &r) ||
		!(v3d_length(v3d_add(r.normals[0], r.normals[1])) > LEAST_SUM) ||
		fabs(v3d_dot(c->normal, r.middle)) >= v3d_dot(r.normals[0], r.middle) - ROUNDING)
		return true;
	const cr_placed surface = cr_placed_member(world, solid);
	const v3d apart = turned ? v3d_sub(c->point_b, c->point_a) : v3d_sub(c->point_a, c->point_b);
	const int k = find_face_under(&surface, &r, of_solid, turned ? c->point_b : c->point_a, apart);
	const v3d way = k < 0 ? c->normal : r.normals[k];
	for (int i = 0; k >= 0 && world->surface_contacts.tangled && i < 2; i++) {
		if (is_against_ways(world, cloth, solid, of_cloth[i], way))
			return true;
	}
	c->normal = turned ? v3d_neg(way) : way;
	const bool was_through = c->through;
	c->distance = v3d_dot(way, apart);
	c->through = c->distance < 0;
	return k >= 0 && (was_through || !c->through || !is_crossed(world, solid));
}
