/// Complete stage: pairs that the rays left without a hit, triangle against triangle; and the pairs of basic volumes.
///
/// Vertex rays see only vertices inside the other body: edges that cross edges are missed (29 % of the intersecting pairs of
/// the recorded avalanche at rest). Here the two trees are walked together, what may intersect is decided exactly, and each piece of an
/// edge that lies inside the other body gives a contact (as CInDeR casts rays along edges, Knott and Pai 2003):
/// - between two faces that share an edge, the classical edge-edge contact: the common normal, the distance of the two lines;
/// - else rays from the middle of the piece along the inward normals of the edge and its faces, as from any sample of the surface,
///   of which the shortest counts.
/// Where there is no inside (open meshes) the crossing triangles themselves give the contact: their smallest separating move.
/// Input: kept pairs. Output: raw contacts. Parallel over pairs.

#include "base/parallel.h"
#include "detect/crossing.h"
#include "geom/triangle.h"

enum { PAIRS_PER_TASK = 32 };

static v3d direction_to_a(const cr_completion *c, int side, v3d d) { return side == 0 ? d : m3d_mul(&c->rotation, d); }

static v3d from_a(const cr_completion *c, int side, v3d p)
{
	return side == 0 ? p : m3d_tmul(&c->rotation, v3d_sub(p, c->translation));
}

static v3d direction_from_a(const cr_completion *c, int side, v3d d) { return side == 0 ? d : m3d_tmul(&c->rotation, d); }

static void edge_in_a(const cr_completion *c, int side, int32_t half_edge, v3d ends[2])
{
	const cr_topology *t = c->collider[side]->topology;
	const int32_t triangle = half_edge / 3, corner = half_edge % 3;
	for (int k = 0; k < 2; k++) {
		const int64_t v = t->triangles[3 * (int64_t)triangle + (corner + k) % 3];
		ends[k] = cr_to_a(c, side, v3d_from_floats(&t->vertices[3 * v]));
	}
}

/// Outward unit normal of a face in A's frame.
static v3d face_normal(const cr_completion *c, int side, int32_t triangle)
{
	return direction_to_a(c, side, cr_collider_normal(c->collider[side], triangle));
}

/// Outward normal of an edge in A's frame: that of its two faces, or of its own face where that is undefined.
static v3d edge_normal(const cr_completion *c, int side, int32_t half_edge)
{
	const v3d n = v3d_from_floats(&c->collider[side]->topology->edge_normals[3 * (int64_t)half_edge]);
	return v3d_dot(n, n) == 0 ? face_normal(c, side, half_edge / 3) : direction_to_a(c, side, n);
}

/// Add a contact given in A's frame; out takes the body of the side out of the other.
static void add_contact(cr_completion *c, int side, v3d point, v3d out, double depth, int32_t own_feature,
	int32_t other_feature, carom_contact_kind kind)
{
	const cr_body *a = c->body[0];
	const v3d world = v3d_add(m3d_mul(&a->rotation, point), a->pose.position);
	const v3d normal = v3d_scale(m3d_mul(&a->rotation, out), side == 0 ? 1 : -1);
	const cr_raw_contact contact = {
		{ world.x, world.y, world.z },
		{ (float)normal.x, (float)normal.y, (float)normal.z },
		(float)depth,
		side == 0 ? own_feature : other_feature,
		side == 0 ? other_feature : own_feature,
		(int32_t)kind,
	};
	cr_add_contact(c->worker, c->work, &contact);
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
} piece;

/// Edge against edge: only where both are convex there and the piece lies under the other edge.
static bool add_edge_edge(cr_completion *c, const piece *p)
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
	v3d axis = v3d_cross(e, f);
	if (v3d_dot(axis, axis) <= 1e-12 * v3d_dot(e, e) * v3d_dot(f, f))
		return false;
	axis = v3d_normalize(axis);
	if (v3d_dot(axis, edge_normal(c, 1 - p->side, g)) < 0)
		axis = v3d_neg(axis);
	const double depth = v3d_dot(axis, v3d_sub(q[0], p->ends[0]));
	if (depth < 0 || v3d_dot(axis, edge_normal(c, p->side, p->edge)) >= 0)
		return false;
	// Both edges see the same crossing: A reports it.
	if (p->side == 0)
		add_contact(c, 0, p->middle, axis, depth, p->edge, g / 3, CAROM_EDGE_A);
	return true;
}

/// A ray from inside the target (origin and direction in its frame): false when it finds no way out.
static bool cast_out(cr_completion *c, int target, const float origin[3], cr_way_out *way)
{
	const float *d = way->direction;
	const float reach = INFINITY;
	const carom_ray_batch ray = { 1, { &origin[0], &origin[1], &origin[2] }, { &d[0], &d[1], &d[2] }, &reach };
	uint8_t back;
	const carom_hit_batch hit = { &way->triangle, &way->depth, &back };
	c->pipeline->bvh->cast(c->collider[target], &ray, 0, 1, &hit);
	c->worker->rays_full++;
	return way->triangle >= 0 && back && c->pipeline->bvh->winding(c->collider[target], origin, d) != 0;
}

/// Rays from the middle of the piece against the normals of the edge and of its two faces: the shortest tells the way out. (The edge's
/// alone runs sqrt(2) times too far out of a body that lies flat on one of the faces.)
static bool add_edge_ray(cr_completion *c, const piece *p)
{
	const int target = 1 - p->side;
	const int32_t own = p->edge / 3, across = c->collider[p->side]->topology->neighbours[p->edge];
	const v3d outward[3] = { edge_normal(c, p->side, p->edge), face_normal(c, p->side, own),
		face_normal(c, p->side, across >= 0 ? across : own) };
	const v3d o = from_a(c, target, p->middle);
	const float origin[3] = { (float)o.x, (float)o.y, (float)o.z };
	cr_way_out best = { INFINITY, { 0, 0, 0 }, -1 };
	// Where bodies only touch, a ray in the other's face runs along it: the edge's own normal must find the way out first.
	for (int i = 0; i < 3 && (i == 0 || best.triangle >= 0); i++) {
		const v3d d = direction_from_a(c, target, v3d_neg(outward[i]));
		cr_way_out way = { 0, { (float)d.x, (float)d.y, (float)d.z }, -1 };
		if (cast_out(c, target, origin, &way) && way.depth < best.depth)
			best = way;
	}
	if (best.triangle < 0)
		return false;
	cr_limit_depth(c->pipeline, c->collider[p->side], c->collider[target], origin, &best);
	const v3d out = direction_to_a(c, target, (v3d){ best.direction[0], best.direction[1], best.direction[2] });
	add_contact(c, p->side, p->middle, v3d_normalize(out), best.depth, p->edge, best.triangle,
		p->side == 0 ? CAROM_EDGE_A : CAROM_EDGE_B);
	return true;
}

static void add_piece(cr_completion *c, int side, const cr_pierce *any, const cr_pierce *enter, const cr_pierce *leave)
{
	piece p = { .side = side, .edge = any->edge, .enter = enter, .leave = leave };
	edge_in_a(c, side, p.edge, p.ends);
	const double s = 0.5 * ((enter ? enter->s : 0) + (leave ? leave->s : 1));
	p.middle = v3d_mad(p.ends[0], s, v3d_sub(p.ends[1], p.ends[0]));
	if (!add_edge_edge(c, &p))
		add_edge_ray(c, &p);
}

/// The pieces of one edge inside the other body, from its pierces in order. Hits of the edge shared by two triangles come twice: the
/// first entry and the first exit count.
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

/// No inside to measure in: each two crossing triangles by themselves.
static void add_face_contacts(cr_completion *c, const cr_candidates *crossing)
{
	for (int32_t i = 0; i < crossing->count; i++) {
		v3d a[3], b[3], out, sum = { 0, 0, 0 };
		int hits = 0;
		cr_triangle_in_a(c, 0, crossing->data[i].a, a);
		cr_triangle_in_a(c, 1, crossing->data[i].b, b);
		for (int k = 0; k < 3; k++) {
			double s;
			if (cr_segment_pierces_triangle(a[k], a[(k + 1) % 3], b[0], b[1], b[2], &s)) {
				sum = v3d_add(sum, v3d_mad(a[k], s, v3d_sub(a[(k + 1) % 3], a[k])));
				hits++;
			}
			if (cr_segment_pierces_triangle(b[k], b[(k + 1) % 3], a[0], a[1], a[2], &s)) {
				sum = v3d_add(sum, v3d_mad(b[k], s, v3d_sub(b[(k + 1) % 3], b[k])));
				hits++;
			}
		}
		// Triangles that touch in their common plane: the middle of A's.
		const v3d point = hits ? v3d_scale(sum, 1.0 / hits) : v3d_scale(v3d_add(v3d_add(a[0], a[1]), a[2]), 1.0 / 3);
		const double depth = cr_triangle_penetration(a, b, &out);
		add_contact(c, 0, point, out, depth > 0 ? depth : 0, crossing->data[i].a, crossing->data[i].b, CAROM_FACES);
	}
}

/// With exit_distance_test all rays of a body, or of a piece of it, that lies wholly inside another may have been dropped: cast them again
/// without a limit until one finds the way out.
static void add_contained(cr_completion *c, int side)
{
	const int target = 1 - side;
	const cr_ray_range *range = &c->work->rays[side];
	for (int32_t i = range->first; i < range->first + range->count; i++) {
		const cr_sample_rays *r = &range->chunk->rays;
		const float origin[3] = { r->origin[0][i], r->origin[1][i], r->origin[2][i] };
		cr_way_out way = { 0, { r->direction[0][i], r->direction[1][i], r->direction[2][i] }, -1 };
		if (!cast_out(c, target, origin, &way))
			continue;
		cr_limit_depth(c->pipeline, c->collider[side], c->collider[target], origin, &way);
		const cr_sample8 *block = &c->collider[side]->samples[r->sample[i] / CR_WIDTH];
		const int lane = r->sample[i] % CR_WIDTH;
		const v3d point = cr_to_a(c, side, (v3d){ block->point[0][lane], block->point[1][lane], block->point[2][lane] });
		const v3d out = direction_to_a(c, target, (v3d){ way.direction[0], way.direction[1], way.direction[2] });
		add_contact(c, side, point, v3d_normalize(out), way.depth, block->number[lane], way.triangle,
			side == 0 ? CAROM_VERTEX_A : CAROM_VERTEX_B);
		return;
	}
}

static void complete_pair(const cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	cr_completion c = { .pipeline = p, .worker = worker, .work = w, .body = { &p->bodies[w->a], &p->bodies[w->b] } };
	for (int side = 0; side < 2; side++)
		c.collider[side] = c.body[side]->shape.collider;
	cr_candidates *candidates = &worker->candidates;
	candidates->count = 0;
	p->bvh->pairs(c.collider[0], c.collider[1], &w->b_to_a, &w->a_to_b, candidates);
	worker->pairs_completed++;
	if (candidates->failed) {
		worker->failed = true;
		return;
	}
	const int64_t before = w->contacts.count;
	if (candidates->count > 0) {
		cr_relative_transform(c.body[0], c.body[1], &c.rotation, &c.translation);
		if (!cr_find_crossings(&c, candidates)) {
			worker->failed = true;
			return;
		}
		if (candidates->count > 0) {
			worker->pairs_crossing++;
			add_edge_contacts(&c, 0);
			add_edge_contacts(&c, 1);
			if (w->contacts.count == before)
				add_face_contacts(&c, candidates);
			return;
		}
	}
	if (p->settings.exit_distance_test) {
		cr_relative_transform(c.body[0], c.body[1], &c.rotation, &c.translation);
		add_contained(&c, 0);
		if (w->contacts.count == before)
			add_contained(&c, 1);
	}
}

static void complete_task(int64_t begin, int64_t end, int worker, void *task)
{
	cr_pipeline *p = task;
	for (int64_t i = begin; i < end && !p->workers[worker].failed; i++) {
		cr_pair_work *w = &p->work.data[p->kept.data[i]];
		switch (w->algorithm) {
		case CR_ALGORITHM_VOLUMES: cr_collide_volumes(p, &p->workers[worker], w); break;
		case CR_ALGORITHM_PLANE: cr_collide_plane(p, &p->workers[worker], w); break;
		case CR_ALGORITHM_ROUND: cr_collide_round(p, &p->workers[worker], w); break;
		case CR_ALGORITHM_RAYS:
			if (p->settings.complete && !w->touching)
				complete_pair(p, &p->workers[worker], w);
			break;
		default: break;
		}
	}
}

carom_result cr_stage_complete(cr_pipeline *p)
{
	cr_parallel_for(p->context, complete_task, p->kept.count, PAIRS_PER_TASK, p);
	for (int i = 0; i < p->context->thread_count; i++) {
		if (p->workers[i].failed)
			return cr_fail_memory(p->context, "the contacts of a step");
	}
	return CAROM_SUCCESS;
}
