/// Contacts of two meshes whose surfaces cross but in which no vertex ray hit.
///
/// Each piece of an edge that lies inside the other body gives one (as CInDeR casts rays along
/// edges, Knott and Pai 2003):
/// - between two faces that share an edge, the classical edge-edge contact: the common normal, the
///   distance of the two lines;
/// - else rays from the middle of the piece along the inward normals of the edge and its faces, as
///   from any sample of the surface, of which the shortest counts.
/// Where there is no inside (open meshes) the crossing triangles themselves give the contact
/// (face_contacts.c).
///
/// With carom_world_def.internal_edge_angle no contact points the way of an edge that the surface
/// does not have:
/// - the common normal of two edges counts only where it lies between the normals of the two faces
///   at either edge, the edge's arc of the Gauss map; outside it another feature is nearer
///   (Gregorius, The separating axis test between convex polyhedra, GDC 2013);
/// - where an edge is internal (contact_normal.h) it turns to the nearer face's normal, with the
///   depth that parts the two lines along it;
/// - rays from an internal edge go against its faces' normals, not its own.

#include "contact/contact_normal.h"
#include "contact/crossing.h"

static void edge_in_a(const cr_completion *c, int side, int32_t half_edge, v3d ends[2])
{
	const cr_topology *t = c->collider[side]->topology;
	const int32_t triangle = half_edge / 3, corner = half_edge % 3;
	for (int k = 0; k < 2; k++) {
		const int64_t v = t->triangles[3 * (int64_t)triangle + (corner + k) % 3];
		ends[k] = cr_to_a(c, side, v3d_from_floats(&t->vertices[3 * v]));
	}
}

/// An edge with the outward unit normals of its two faces; at a border both are those of its own
/// face.
typedef struct edge_faces {
	int side;
	int32_t half_edge;
	bool border;
	v3d own_frame[2]; // of its own face and of that across
	v3d in_a[2];
} edge_faces;

static edge_faces faces_of(const cr_completion *c, int side, int32_t half_edge)
{
	const cr_collider *collider = c->collider[side];
	const int32_t own = half_edge / 3, across = collider->topology->neighbours[half_edge];
	edge_faces f = { .side = side, .half_edge = half_edge, .border = across < 0 };
	f.own_frame[0] = cr_collider_normal(collider, own);
	f.own_frame[1] = f.border ? f.own_frame[0] : cr_collider_normal(collider, across);
	for (int i = 0; i < 2; i++)
		f.in_a[i] = cr_direction_to_a(c, side, f.own_frame[i]);
	return f;
}

/// Outward normal of an edge in A's frame: that of its two faces, or of its own face where that is
/// undefined.
static v3d edge_normal(const cr_completion *c, const edge_faces *f)
{
	const cr_collider *collider = c->collider[f->side];
	const cr_topology *t = collider->topology;
	const bool by_faces = !collider->fans && !t->edge_normals && t->used[f->half_edge / 3];
	const v3d n = by_faces ? cr_edge_normal_of(f->border, f->own_frame[0], f->own_frame[1])
						   : cr_collider_edge_normal(collider, f->half_edge);
	return cr_direction_to_a(c, f->side, v3d_dot(n, n) == 0 ? f->own_frame[0] : n);
}

void cr_add_crossing_contact(cr_completion *c, int side, v3d point, v3d out, double depth, int32_t own_feature,
	int32_t other_feature, carom_contact_kind kind)
{
	const cr_body *a = c->body[0];
	m3d room;
	const m3d *rotation = cr_rotation_at(a, &room);
	const v3d world = v3d_add(m3d_mul(rotation, point), a->pose.position);
	const v3d normal = v3d_scale(m3d_mul(rotation, out), side == 0 ? 1 : -1);
	const cr_raw_contact contact = {
		{ world.x, world.y, world.z },
		{ (float)normal.x, (float)normal.y, (float)normal.z },
		(float)depth,
		side == 0 ? own_feature : other_feature,
		side == 0 ? other_feature : own_feature,
		(int32_t)kind,
	};
	cr_add_contact(c->worker, &contact);
}

/// The half-edge of triangle f that it shares with triangle g, or -1.
static int32_t shared_edge(const cr_topology *t, int32_t f, int32_t g)
{
	for (int k = 0; k < 3; k++) {
		if (t->neighbours[3 * f + k] == g)
			return 3 * f + k;
	}
	return -1;
}

/// The piece of an edge between two pierces (NULL: it starts or ends inside).
typedef struct piece {
	int side;
	int32_t edge;
	const cr_pierce *enter;
	const cr_pierce *leave;
	v3d ends[2]; // of the whole edge
	v3d middle;
	bool knows_faces;
	edge_faces faces; // of the edge
} piece;

/// The faces of a piece's edge, which are worked out once.
static const edge_faces *faces_at(const cr_completion *c, piece *p)
{
	if (!p->knows_faces)
		p->faces = faces_of(c, p->side, p->edge);
	p->knows_faces = true;
	return &p->faces;
}

static bool is_internal(const cr_completion *c, const edge_faces *f)
{
	return cr_edge_is_internal(c->collider[f->side], f->half_edge, f->own_frame[0], f->own_frame[1], c->internal_cosine);
}

/// Does the common normal of an edge and a line lie between the normals of the edge's faces (or
/// their opposites)? All three are at right angles to the edge: it does where the line goes from in
/// front of one face to behind the other.
static bool crosses_between_faces(const edge_faces *f, v3d line)
{
	return f->border || v3d_dot(line, f->in_a[0]) * v3d_dot(line, f->in_a[1]) <= 0;
}

/// The common normal of two edges that cross, and how far they have to be parted along it.
typedef struct edge_axis {
	v3d direction; // takes the piece's body out
	double depth;
} edge_axis;

/// If the edge is internal: the nearer normal of its faces, if nearer than the best so far.
static void turn_to_face(const cr_completion *c, const edge_faces *f, double sign, v3d axis, v3d *best, double *cosine)
{
	if (!is_internal(c, f))
		return;
	for (int i = 0; i < 2; i++) {
		const v3d n = v3d_scale(f->in_a[i], sign);
		const double d = v3d_dot(n, axis);
		if (d > *cosine) {
			*cosine = d;
			*best = n;
		}
	}
}

/// Moving out along n parts the two lines when n . axis times the move is the distance between
/// them.
static void clamp_to_faces(const cr_completion *c, const edge_faces *own, const edge_faces *other, edge_axis *axis)
{
	v3d best = axis->direction;
	double cosine = 0;
	turn_to_face(c, other, 1, axis->direction, &best, &cosine);
	turn_to_face(c, own, -1, axis->direction, &best, &cosine);
	if (cosine > 0)
		*axis = (edge_axis){ best, axis->depth / cosine };
}

/// Has the edge of A between two triangles a piece that lies under an edge of B?
static bool edge_of_a_lies_under(const cr_completion *c, int32_t triangle, int32_t across, int32_t edge_b)
{
	const int32_t f = edge_b / 3, g = c->collider[1]->topology->neighbours[edge_b];
	const int32_t edge_a = triangle < across ? shared_edge(c->collider[0]->topology, triangle, across)
											 : shared_edge(c->collider[0]->topology, across, triangle);
	const cr_pierce *end = c->pierces[0].data + c->pierces[0].count, *open = NULL;
	for (const cr_pierce *p = cr_first_pierce(c, 0, edge_a); p < end && p->edge == edge_a; p++) {
		if (p->entering) {
			open = open ? open : p;
			continue;
		}
		if (open && ((open->other == f && p->other == g) || (open->other == g && p->other == f)))
			return true;
		open = NULL;
	}
	return false;
}

/// Edge against edge: only where both are convex there and the piece lies under the other edge.
static bool add_edge_edge(cr_completion *c, piece *p)
{
	if (!p->enter || !p->leave)
		return false;
	const cr_topology *other = c->collider[1 - p->side]->topology;
	const int32_t g = shared_edge(other, p->enter->other, p->leave->other);
	if (g < 0)
		return false;
	v3d q[2];
	edge_in_a(c, 1 - p->side, g, q);
	const v3d e = v3d_sub(p->ends[1], p->ends[0]), f = v3d_sub(q[1], q[0]);
	const v3d normal = v3d_cross(e, f);
	if (v3d_dot(normal, normal) <= 1e-12 * v3d_dot(e, e) * v3d_dot(f, f))
		return false;
	edge_axis axis = { v3d_normalize(normal), 0 };
	const edge_faces at_g = faces_of(c, 1 - p->side, g);
	if (v3d_dot(axis.direction, edge_normal(c, &at_g)) < 0)
		axis.direction = v3d_neg(axis.direction);
	axis.depth = v3d_dot(axis.direction, v3d_sub(q[0], p->ends[0]));
	if (axis.depth < 0 || v3d_dot(axis.direction, edge_normal(c, faces_at(c, p))) >= 0)
		return false;
	if (c->internal_cosine <= 1) {
		const edge_faces *at_edge = faces_at(c, p);
		// A real edge that passes behind a face cuts the edges drawn on it: the contact is its own,
		// and theirs would only repeat it.
		if (!crosses_between_faces(&at_g, e) || !crosses_between_faces(at_edge, f))
			return c->collider[p->side]->closed && is_internal(c, at_edge);
		clamp_to_faces(c, at_edge, &at_g, &axis);
	}
	// Where each edge lies under the other both see the same crossing: A reports it, if its edges
	// are looked at, which takes an inside of B.
	if (p->side == 0 || !c->collider[1]->closed || !edge_of_a_lies_under(c, p->enter->other, p->leave->other, p->edge))
		cr_add_crossing_contact(
			c, p->side, p->middle, axis.direction, axis.depth, p->edge, g / 3, p->side == 0 ? CAROM_EDGE_A : CAROM_EDGE_B);
	return true;
}

// So many rays at a body of few triangles cost less by its tree than it costs to pack them.
enum { RAYS_BY_TREE = 2 };

/// The triangles of a body of few, for rays; NULL: it has more, or few rays were cast, or memory is
/// out.
static const cr_tri8 *packed_of(cr_completion *c, int target)
{
	const cr_collider *collider = c->collider[target];
	if (c->packed[target].blocks || c->packed[target].rays++ < RAYS_BY_TREE || !cr_has_few_triangles(collider))
		return c->packed[target].blocks;
	cr_tri8 *blocks = cr_arena_alloc(&c->worker->arena, CR_PACKED_BLOCKS * sizeof *blocks);
	if (blocks)
		c->packed[target].count = cr_pack_triangles(collider, blocks);
	return c->packed[target].blocks = blocks;
}

bool cr_cast_out(cr_completion *c, int target, const float origin[3], cr_way_out *way)
{
	const float *d = way->direction;
	const cr_tri8 *packed = packed_of(c, target);
	c->worker->rays_full++;
	if (packed) {
		cr_packed_hit hit;
		c->pipeline->bvh->cast_packed(c->collider[target], packed, c->packed[target].count, origin, d, &hit);
		way->triangle = hit.triangle;
		way->depth = hit.t;
		return hit.triangle >= 0 && hit.back;
	}
	const float reach = INFINITY;
	const carom_ray_batch ray = { 1, { &origin[0], &origin[1], &origin[2] }, { &d[0], &d[1], &d[2] }, &reach };
	uint8_t back;
	const carom_hit_batch hit = { &way->triangle, &way->depth, &back };
	c->pipeline->bvh->cast(c->collider[target], &ray, 0, 1, &hit);
	return way->triangle >= 0 && back;
}

/// Rays from the middle of the piece against the normals of the edge and of its two faces: the
/// shortest tells the way out. (The edge's alone runs sqrt(2) times too far out of a body that lies
/// flat on one of the faces.) An internal edge's own counts only where those of its faces find
/// nothing.
static bool add_edge_ray(cr_completion *c, piece *p)
{
	const int target = 1 - p->side;
	const edge_faces *faces = faces_at(c, p);
	const v3d outward[3] = { edge_normal(c, faces), faces->in_a[0], faces->in_a[1] };
	const v3d o = cr_from_a(c, target, p->middle);
	const float origin[3] = { (float)o.x, (float)o.y, (float)o.z };
	const bool internal = is_internal(c, faces);
	cr_way_out best = { INFINITY, { 0, 0, 0 }, -1 };
	bool by_face = false;
	// Where bodies only touch, a ray in the other's face runs along it: the edge's own normal must
	// find the way out first.
	for (int i = 0; i < 3 && (i == 0 || best.triangle >= 0); i++) {
		const v3d d = cr_direction_from_a(c, target, v3d_neg(outward[i]));
		cr_way_out way = { 0, { (float)d.x, (float)d.y, (float)d.z }, -1 };
		if (!cr_cast_out(c, target, origin, &way))
			continue;
		// Once for all three: on a silhouette rounding may put the back face before the front face.
		if (best.triangle < 0 && !cr_is_inside(c->pipeline, c->collider[target], origin, way.direction))
			return false;
		if (way.depth < best.depth || (internal && i > 0 && !by_face))
			best = way;
		by_face = i > 0;
	}
	if (best.triangle < 0)
		return false;
	cr_finish_way(c->pipeline, c->collider[p->side], c->collider[target], origin, &best);
	const v3d out = cr_direction_to_a(c, target, (v3d){ best.direction[0], best.direction[1], best.direction[2] });
	cr_add_crossing_contact(c, p->side, p->middle, v3d_normalize(out), best.depth, p->edge, best.triangle,
		p->side == 0 ? CAROM_EDGE_A : CAROM_EDGE_B);
	return true;
}

static void add_piece(cr_completion *c, int side, const cr_pierce *any, const cr_pierce *enter, const cr_pierce *leave)
{
	if ((enter && enter->served) || (leave && leave->served))
		return;
	piece p = { .side = side, .edge = any->edge, .enter = enter, .leave = leave };
	edge_in_a(c, side, p.edge, p.ends);
	const double s = 0.5 * ((enter ? enter->s : 0) + (leave ? leave->s : 1));
	p.middle = v3d_mad(p.ends[0], s, v3d_sub(p.ends[1], p.ends[0]));
	const int64_t before = c->worker->contacts.count;
	if (!add_edge_edge(c, &p))
		add_edge_ray(c, &p);
	if (c->told && c->worker->contacts.count > before) {
		c->told[(enter ? enter : leave)->curve] = true;
		c->told[(leave ? leave : enter)->curve] = true;
	}
}

/// The pieces of one edge inside the other body, from its pierces in order. Hits of the edge shared
/// by two triangles come twice: the first entry and the first exit count.
static void add_pieces_of_edge(cr_completion *c, int side, const cr_pierce *first, const cr_pierce *end)
{
	const cr_pierce *open = NULL;
	for (const cr_pierce *p = first; p < end; p++) {
		if (p->entering) {
			open = open ? open : p;
		} else if (open || p == first) {
			add_piece(c, side, p, open, p);
			open = NULL;
		}
	}
	if (open)
		add_piece(c, side, open, open, NULL);
}

static void add_edge_contacts(cr_completion *c, int side)
{
	if (!c->collider[1 - side]->closed)
		return;
	const cr_pierce *data = c->pierces[side].data, *end = data + c->pierces[side].count;
	while (data < end) {
		const cr_pierce *next = data;
		while (next < end && next->edge == data->edge)
			next++;
		add_pieces_of_edge(c, side, data, next);
		data = next;
	}
}

void cr_add_edges_of_pieces(cr_completion *c)
{
	c->internal_cosine = cr_internal_cosine(c->pipeline->settings.world.internal_edge_angle);
	add_edge_contacts(c, 0);
	add_edge_contacts(c, 1);
}

void cr_add_crossing_contacts(cr_completion *c, const cr_candidates *crossing)
{
	const int64_t before = c->worker->contacts.count;
	cr_add_edges_of_pieces(c);
	if (c->worker->contacts.count == before)
		cr_add_face_contacts(c, crossing);
}
