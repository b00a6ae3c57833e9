/// See solid_vertices.h.
///
/// A solid bends: its corners do not carry the vertices within a face. So its solver needs a
/// contact at each vertex that is in the other body, and one for each way that it is pushed.
///
/// 1. Patches take every vertex of a solid (cr_holds_point). Triangles of a surface that bends
///    little make a patch each, and vertices have contacts of several. Contacts of one vertex whose
///    normals are within ALIKE become one: with place, normal and depth of the deepest, and the
///    name of the first (join.c says why).
/// 2. A convex body has contacts triangle by triangle, at the corners of its own face, of the
///    triangle's flat part, and where the two cross. Vertices that are left out get one along the
///    normal of a contact of the pair: of those normals the one that leads out soonest.
///
/// Cost: a sort of the contacts and of the corners of triangles near the body, and for each vertex
/// in 2 a ray against the convex body for each normal of the pair's contacts.

#include "contact/solid_vertices.h"
#include "base/radix.h"
#include "geom/convex_query.h"
#include "geom/patch.h"

// Square of the distance between the ends of normals that are 5.7 degrees apart.
static const double ALIKE = 0.01;
// Of the smaller body's size: a contact that is nearer to a vertex is its own.
static const double AT_VERTEX = 3 * CR_FLUSH;

enum { GONE = -1 };

// ---- Contacts of one vertex ----

/// Join contact number i with one before it in its group. keys: of the group, up to its own.
static void join_contact(cr_raw_contact *data, const cr_key *keys, int64_t i)
{
	cr_raw_contact *own = &data[keys[i].value];
	for (int64_t j = 0; j < i; j++) {
		cr_raw_contact *first = &data[keys[j].value];
		if (first->kind == GONE || cr_normals_apart(first, own) > ALIKE)
			continue;
		if (own->depth > first->depth) {
			memcpy(first->point, own->point, sizeof first->point);
			memcpy(first->normal, own->normal, sizeof first->normal);
			first->depth = own->depth;
		}
		own->kind = GONE;
		return;
	}
}

/// Join the contacts that have equal keys and push nearly alike. keys: count of them, values are
/// numbers of contacts in order; sorted here, with as much room behind them.
static void join_groups(cr_raw_contacts *contacts, cr_key *keys, int64_t count)
{
	cr_order_keys(keys, count);
	bool joined = false;
	for (int64_t first = 0, i = 0; i < count; i++) {
		first = keys[i].key == keys[first].key ? first : i;
		join_contact(contacts->data, keys + first, i - first);
		joined |= contacts->data[keys[i].value].kind == GONE;
	}
	if (!joined)
		return;
	int64_t kept = 0;
	for (int64_t i = 0; i < contacts->count; i++) {
		contacts->data[kept] = contacts->data[i];
		kept += contacts->data[i].kind != GONE;
	}
	contacts->count = kept;
}

void cr_join_vertex_contacts(cr_worker *worker, const cr_body *a, const cr_body *b, cr_raw_contacts *contacts)
{
	if (contacts->count < 2)
		return;
	const cr_arena_mark mark = cr_arena_get_mark(&worker->arena);
	cr_key *keys = cr_arena_alloc(&worker->arena, 2 * (size_t)contacts->count * sizeof *keys);
	if (!keys) {
		worker->failed = true;
		return;
	}
	cr_sort_contacts(contacts);
	int64_t count = 0;
	for (int64_t i = 0; i < contacts->count; i++) {
		const cr_raw_contact *c = &contacts->data[i];
		if (c->kind != CAROM_VERTEX_A && c->kind != CAROM_VERTEX_B)
			continue;
		const bool of_a = c->kind == CAROM_VERTEX_A;
		const int32_t *weld = (of_a ? a : b)->shape.collider->topology->weld;
		const uint64_t vertex = (uint32_t)weld[of_a ? c->feature_a : c->feature_b];
		keys[count++] = (cr_key){ (uint64_t)!of_a << 32 | vertex, (uint32_t)i };
	}
	join_groups(contacts, keys, count);
	cr_arena_rewind(&worker->arena, &mark);
}

// ---- A convex body ----

/// Vertices of the solid near the body: keys are 2 * vertex as welded, and 1 more where the value
/// is a corner (3 * triangle + k) and not the number of a contact.
typedef struct vertex_search {
	cr_convex_mesh_pair *pair;
	v3d normal[CR_MOST_DIRECTIONS]; // of the contacts, frame of the body, each once
	int normal_count;
	double tolerance;
} vertex_search;

/// The vertex of its triangle that a contact lies at; -1: none.
static int32_t vertex_of(const vertex_search *s, const cr_raw_contact *contact)
{
	const cr_convex_mesh_pair *c = s->pair;
	const int32_t triangle = c->body_is_a ? contact->feature_b : contact->feature_a;
	const v3d point = cr_point_to_body(c->body, (v3d){ contact->point[0], contact->point[1], contact->point[2] });
	const v3d on_mesh = v3d_mad(point, c->body_is_a ? (double)contact->depth : 0, cr_normal_in_body(c, contact));
	for (int k = 0; k < 3; k++) {
		if (v3d_length(v3d_sub(cr_vertex_in_body(c, triangle, k), on_mesh)) <= s->tolerance)
			return c->collider->topology->weld[c->collider->topology->triangles[3 * (int64_t)triangle + k]];
	}
	return -1;
}

static void take_normals(vertex_search *s)
{
	const cr_raw_contacts *list = &s->pair->worker->contacts;
	for (int64_t i = 0; i < list->count && s->normal_count < CR_MOST_DIRECTIONS; i++) {
		const v3d n = cr_normal_in_body(s->pair, &list->data[i]);
		bool known = false;
		for (int k = 0; k < s->normal_count; k++) {
			const v3d d = v3d_sub(n, s->normal[k]);
			known = known || v3d_dot(d, d) <= ALIKE;
		}
		if (!known)
			s->normal[s->normal_count++] = n;
	}
}

/// Does a vertex, at the corners that keys name, have a triangle that does not face away from n?
static bool faces(const vertex_search *s, const cr_key *keys, int64_t count, v3d n)
{
	for (int64_t i = 0; i < count; i++) {
		const v3d own = cr_collider_normal(s->pair->collider, (int32_t)(keys[i].value / 3));
		if (v3d_dot(m3d_mul(&s->pair->mesh_in_body.rotation, own), n) > 0)
			return true;
	}
	return false;
}

/// The soonest way out for a vertex at the corners that keys name: of those inside the body the
/// shortest, of those outside that are within the margin the nearest. Infinite: there is none.
static cr_convex_way find_way(const vertex_search *s, const cr_key *keys, int64_t count)
{
	const cr_convex_mesh_pair *c = s->pair;
	const int32_t triangle = (int32_t)(keys[0].value / 3);
	cr_convex_way best = { .depth = INFINITY, .triangle = triangle };
	best.point = cr_vertex_in_body(c, triangle, (int)(keys[0].value % 3));
	for (int i = 0; i < s->normal_count; i++) {
		double at[2];
		v3d normals[2];
		bool back[2];
		const v3d n = s->normal[i];
		if (cr_convex_ray(&c->convex, best.point, v3d_neg(n), -INFINITY, INFINITY, 2, at, normals, back) < 2 || at[0] > 0 ||
			!(at[1] >= -c->margin) || !(fabs(at[1]) < fabs(best.depth)) || (at[1] < 0 && !faces(s, keys, count, n)))
			continue;
		best.depth = at[1];
		best.normal = n;
	}
	return best;
}

/// Is a point of the body's frame in its box, or within the margin of it?
static bool is_in_box(const cr_convex_mesh_pair *c, v3d p)
{
	for (int k = 0; k < 3; k++) {
		if (fabs(v3d_get(p, k) - v3d_get(c->box.centre, k)) > v3d_get(c->box.half, k) + c->margin)
			return false;
	}
	return true;
}

/// The corners of near triangles whose vertices may be in the body. false: out of memory.
static bool list_corners(const vertex_search *s, cr_key **keys, int64_t *count)
{
	const cr_convex_mesh_pair *c = s->pair;
	const cr_topology *top = c->collider->topology;
	int32_t few[CR_FEW_BLOCKS], blocks_found;
	const int32_t *blocks = cr_find_near_blocks(c, (v3d){ 0, 0, 0 }, few, &blocks_found);
	const size_t most = 3 * CR_WIDTH * (size_t)blocks_found;
	*keys = blocks ? cr_arena_alloc(&c->worker->arena, 2 * (most + 1) * sizeof **keys) : NULL;
	*count = 0;
	if (!*keys)
		return false;
	for (int32_t i = 0; i < blocks_found; i++) {
		const cr_tri8 *block = &c->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			const int32_t triangle = block->number[lane];
			for (int k = 0; k < 3; k++) {
				const uint32_t vertex = (uint32_t)top->weld[top->triangles[3 * (int64_t)triangle + k]];
				if (is_in_box(c, cr_vertex_in_body(c, triangle, k)))
					(*keys)[(*count)++] = (cr_key){ (uint64_t)vertex << 32 | (uint32_t)triangle, (uint32_t)(3 * triangle + k) };
			}
		}
	}
	cr_order_keys(*keys, *count);
	return true;
}

/// Give each vertex that has no contact one. told: count keys, the vertices that have one.
static void add_missing(const vertex_search *s, const cr_key *told, int64_t told_count)
{
	cr_convex_mesh_pair *c = s->pair;
	cr_key *corners;
	int64_t count;
	if (!list_corners(s, &corners, &count)) {
		c->worker->failed = true;
		return;
	}
	for (int64_t first = 0, end = 0; first < count; first = end) {
		const uint64_t vertex = corners[first].key >> 32;
		while (end < count && corners[end].key >> 32 == vertex)
			end++;
		if (cr_find_key(told, told_count, vertex) >= 0)
			continue;
		const cr_convex_way way = find_way(s, corners + first, end - first);
		const int corner = (int)(corners[first].value % 3);
		if (way.depth < INFINITY)
			cr_add_convex_way(c, &way, cr_name_corner(0, cr_face_corner(CR_EDGES_OF_B, 3, corner)));
	}
}

void cr_cover_solid_vertices(cr_convex_mesh_pair *c)
{
	cr_raw_contacts *contacts = &c->worker->contacts;
	vertex_search s = { .pair = c, .tolerance = AT_VERTEX * fmin(c->size, 0.5 * (double)c->collider->diagonal) };
	if (contacts->count == 0)
		return;
	cr_key *keys = cr_arena_alloc(&c->worker->arena, 2 * (size_t)contacts->count * sizeof *keys);
	if (!keys) {
		c->worker->failed = true;
		return;
	}
	cr_sort_contacts(contacts);
	int64_t count = 0;
	for (int64_t i = 0; i < contacts->count; i++) {
		const int32_t vertex = vertex_of(&s, &contacts->data[i]);
		keys[count] = (cr_key){ (uint32_t)vertex, (uint32_t)i };
		count += vertex >= 0;
	}
	join_groups(contacts, keys, count);
	take_normals(&s);
	add_missing(&s, keys, count);
}
