/// Pairs in which a basic volume takes part: closed forms and closest points instead of rays, which would only sample them.

#include "detect/pipeline.h"
#include "geom/triangle.h"
#include "geom/volume.h"

// ---- Two volumes ----

void cr_collide_volumes(cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const cr_body *a = &p->bodies[w->a], *b = &p->bodies[w->b];
	cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
	const int count =
		cr_volume_contacts(&a->shape.def, &a->pose, &b->shape.def, &b->pose, p->settings.speculative_distance, contacts);
	for (int i = 0; i < count; i++) {
		const cr_volume_contact *v = &contacts[i];
		const cr_raw_contact contact = {
			{ v->point.x, v->point.y, v->point.z },
			{ (float)v->normal.x, (float)v->normal.y, (float)v->normal.z },
			(float)v->depth,
			i,
			0,
			CAROM_VOLUMES,
		};
		cr_add_contact(worker, w, &contact);
	}
}

// ---- Plane and mesh ----

/// A plane z = 0 of its body as seen from the mesh: height of a mesh point is normal . p + offset.
typedef struct plane_side {
	cr_worker *worker;
	cr_pair_work *work;
	const cr_body *mesh;
	bool mesh_is_a;
	v3d normal; // mesh frame
	double offset;
	v3d world_normal;
	double margin;
} plane_side;

static void add_low_samples(const plane_side *s, const cr_sample8 *block)
{
	for (int i = 0; i < block->count; i++) {
		const v3d point = { block->point[0][i], block->point[1][i], block->point[2][i] };
		const double height = v3d_dot(s->normal, point) + s->offset;
		if (height > s->margin)
			continue;
		const v3d world = v3d_add(m3d_mul(&s->mesh->rotation, point), s->mesh->pose.position);
		const v3d n = v3d_scale(s->world_normal, s->mesh_is_a ? 1 : -1);
		const cr_raw_contact contact = {
			{ world.x, world.y, world.z },
			{ (float)n.x, (float)n.y, (float)n.z },
			(float)-height,
			s->mesh_is_a ? block->number[i] : 0,
			s->mesh_is_a ? 0 : block->number[i],
			s->mesh_is_a ? CAROM_VERTEX_A : CAROM_VERTEX_B,
		};
		cr_add_contact(s->worker, s->work, &contact);
	}
}

/// Lowest height of a child's box.
static double lowest_of_box(const plane_side *s, const cr_node8 *node, uint32_t i)
{
	const double n[3] = { s->normal.x, s->normal.y, s->normal.z };
	double height = s->offset;
	for (int k = 0; k < 3; k++)
		height += n[k] * (n[k] > 0 ? node->lower[k][i] : node->upper[k][i]);
	return height;
}

void cr_collide_plane(cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const bool mesh_is_a = p->bodies[w->a].shape.def.type == CAROM_MESH;
	const cr_body *mesh = &p->bodies[mesh_is_a ? w->a : w->b], *plane = &p->bodies[mesh_is_a ? w->b : w->a];
	const cr_collider *c = mesh->shape.collider;
	if (c->sample_tree.node_count == 0)
		return;
	plane_side s = { worker, w, mesh, mesh_is_a, { 0, 0, 0 }, 0, { 0, 0, 0 }, p->settings.speculative_distance };
	s.world_normal = m3d_mul(&plane->rotation, (v3d){ 0, 0, 1 });
	s.normal = m3d_tmul(&mesh->rotation, s.world_normal);
	s.offset = v3d_dot(s.world_normal, v3d_sub(mesh->pose.position, plane->pose.position));
	uint32_t stack[CR_MAX_DEPTH * (CR_WIDTH - 1) + 1];
	int top = 0;
	stack[top++] = 0;
	while (top > 0) {
		const cr_node8 *node = &c->sample_tree.nodes[stack[--top]];
		for (uint32_t i = 0; i < node->child_count; i++) {
			if (lowest_of_box(&s, node, i) > s.margin + 1e-9 * c->scale)
				continue;
			if (node->child[i] & CR_LEAF_BIT)
				add_low_samples(&s, &c->samples[node->child[i] & ~CR_LEAF_BIT]);
			else
				stack[top++] = node->child[i];
		}
	}
}

// ---- Sphere or capsule and mesh ----

enum { ROUND_BLOCKS = 256, ROUND_PARTS = 3 };

/// Nearest points of a part of the core (an end, or the whole segment) and a triangle.
typedef struct near_triangle {
	v3d core;
	v3d surface;
	double distance;
	int32_t triangle;
	int32_t part;
} near_triangle;

typedef struct round_pair {
	cr_pipeline *pipeline;
	cr_worker *worker;
	cr_pair_work *work;
	const cr_body *round;
	const cr_body *mesh;
	bool round_is_a;
	const cr_collider *collider;
	v3d core[2]; // ends of the core, mesh frame
	double radius;
	near_triangle *near;
	int32_t near_count;
} round_pair;

static void add_round_contact(const round_pair *r, v3d core, v3d direction, double depth, const near_triangle *n)
{
	// The deepest point of the round body; where it is B, the point of the mesh instead (contact points lie on A).
	const v3d local = r->round_is_a ? v3d_mad(core, -r->radius, direction) : n->surface;
	const v3d world = v3d_add(m3d_mul(&r->mesh->rotation, local), r->mesh->pose.position);
	const v3d normal = v3d_scale(m3d_mul(&r->mesh->rotation, direction), r->round_is_a ? 1 : -1);
	const cr_raw_contact contact = {
		{ world.x, world.y, world.z },
		{ (float)normal.x, (float)normal.y, (float)normal.z },
		(float)depth,
		r->round_is_a ? n->part : n->triangle,
		r->round_is_a ? n->triangle : n->part,
		CAROM_VOLUMES,
	};
	cr_add_contact(r->worker, r->work, &contact);
}

/// Nearest points of a part of the core and a triangle.
static near_triangle measure(const round_pair *r, int part, int32_t triangle)
{
	v3d t[3];
	cr_collider_triangle(r->collider, triangle, t);
	near_triangle n = { r->core[part & 1], { 0, 0, 0 }, 0, triangle, part };
	cr_feature feature;
	if (part < 2)
		n.surface = cr_closest_point_triangle(n.core, t[0], t[1], t[2], &feature);
	else
		cr_closest_segment_triangle(r->core[0], r->core[1], t[0], t[1], t[2], &n.core, &n.surface);
	n.distance = v3d_length(v3d_sub(n.core, n.surface));
	return n;
}

/// List what lies within reach of the core; false when out of memory.
static bool find_near(round_pair *r, double reach)
{
	const double pad = reach + r->collider->scale * 1e-6;
	float lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		const double p = v3d_get(r->core[0], k), q = v3d_get(r->core[1], k);
		lower[k] = cr_round_down(fmin(p, q) - pad);
		upper[k] = cr_round_up(fmax(p, q) + pad);
	}
	int32_t few[ROUND_BLOCKS], *blocks = few;
	const cr_bvh_kernels *kernels = r->pipeline->bvh;
	const int32_t count = kernels->blocks_in_box(r->collider, lower, upper, ROUND_BLOCKS, few);
	if (count > ROUND_BLOCKS) {
		blocks = cr_arena_alloc(&r->worker->arena, (size_t)count * sizeof *blocks);
		if (!blocks)
			return false;
		kernels->blocks_in_box(r->collider, lower, upper, count, blocks);
	}
	r->near_count = 0;
	r->near = cr_arena_alloc(&r->worker->arena, (size_t)count * CR_WIDTH * ROUND_PARTS * sizeof *r->near);
	if (!r->near)
		return false;
	const bool is_sphere = r->round->shape.def.type == CAROM_SPHERE;
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &r->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			for (int part = 0; part < (is_sphere ? 1 : ROUND_PARTS); part++) {
				const near_triangle n = measure(r, part, block->number[lane]);
				if (n.distance <= reach)
					r->near[r->near_count++] = n;
			}
		}
	}
	return true;
}

static bool is_inside(const round_pair *r, int part)
{
	if (!r->collider->closed)
		return false;
	const v3d p = r->core[part];
	const float origin[3] = { (float)p.x, (float)p.y, (float)p.z }, direction[3] = { 0.5f, 0.7f, 0.3f };
	return r->pipeline->bvh->winding(r->collider, origin, direction) != 0;
}

static const near_triangle *nearest_of(const round_pair *r, int part)
{
	const near_triangle *best = NULL;
	for (int32_t i = 0; i < r->near_count; i++) {
		const near_triangle *n = &r->near[i];
		if (n->part != part)
			continue;
		if (!best || n->distance < best->distance || (n->distance == best->distance && n->triangle < best->triangle))
			best = n;
	}
	return best;
}

/// Below this a core counts as lying on the surface: floats do not tell its side, and the line to the nearest point has no
/// direction.
static double surface_tolerance(const round_pair *r) { return 1e-6 * r->collider->scale; }

/// An end of the core that lies inside: out through the nearest point of the surface, which may be out of reach of the radius.
static void add_inside(round_pair *r, int part)
{
	const near_triangle *n = nearest_of(r, part);
	near_triangle far;
	if (!n) {
		const v3d p = r->core[part];
		const float origin[3] = { (float)p.x, (float)p.y, (float)p.z };
		int32_t triangle;
		r->pipeline->bvh->nearest(r->collider, origin, INFINITY, &triangle);
		if (triangle < 0)
			return;
		far = measure(r, part, triangle);
		n = &far;
	}
	add_round_contact(r, n->core, v3d_normalize(v3d_sub(n->surface, n->core)), r->radius + n->distance, n);
}

/// Does a triangle, which comes nearer to its part than n (or as near, at the same point, and comes first), hold n's point?
static bool shadows(const round_pair *r, const near_triangle *other, const near_triangle *n)
{
	const bool first = other->triangle < n->triangle || (other->triangle == n->triangle && other->part < n->part);
	const double tolerance = 1e-9 * r->collider->scale;
	const bool nearer = other->distance < n->distance - tolerance;
	const bool same = fabs(other->distance - n->distance) <= tolerance && first &&
		v3d_length(v3d_sub(other->surface, n->surface)) <= tolerance;
	if (!nearer && !same)
		return false;
	v3d t[3];
	cr_feature feature;
	cr_collider_triangle(r->collider, other->triangle, t);
	return v3d_length(v3d_sub(cr_closest_point_triangle(n->surface, t[0], t[1], t[2], &feature), n->surface)) <= tolerance;
}

/// Is the point on a triangle that comes nearer to the same part? Then the distance has no minimum there: a corner of the
/// neighbour on a smooth or hollow surface, which must not push (ghost contact). A neighbour across an edge nearly always
/// tells; only what is left is compared with all.
static bool is_shadowed(const round_pair *r, int32_t i)
{
	const near_triangle *n = &r->near[i];
	for (int k = 0; k < 3; k++) {
		const int32_t across = r->collider->topology->neighbours[3 * n->triangle + k];
		if (across < 0)
			continue;
		const near_triangle other = measure(r, n->part, across);
		if (shadows(r, &other, n))
			return true;
	}
	const double tolerance = 1e-9 * r->collider->scale;
	for (int32_t j = 0; j < r->near_count; j++) {
		const near_triangle *other = &r->near[j];
		if (j == i || (other->part != n->part && v3d_length(v3d_sub(other->surface, n->surface)) > tolerance))
			continue;
		if (shadows(r, other, n))
			return true;
	}
	return false;
}

static void add_outside(round_pair *r, int32_t i)
{
	const near_triangle *n = &r->near[i];
	const v3d away = v3d_sub(n->core, n->surface);
	if (n->distance > surface_tolerance(r)) {
		add_round_contact(r, n->core, v3d_scale(away, 1 / n->distance), r->radius - n->distance, n);
		return;
	}
	const v3d normal = cr_collider_normal(r->collider, n->triangle);
	add_round_contact(r, n->core, normal, r->radius - v3d_dot(away, normal), n);
}

static void collide_core(round_pair *r)
{
	const bool is_sphere = r->round->shape.def.type == CAROM_SPHERE;
	bool inside[2] = { false, false };
	for (int part = 0; part < (is_sphere ? 1 : 2); part++) {
		const near_triangle *n = nearest_of(r, part);
		inside[part] = (!n || n->distance > surface_tolerance(r)) && is_inside(r, part);
	}
	// The segment between the ends counts while both are outside: else it crosses the surface, and has no way out of its own.
	for (int32_t i = 0; i < r->near_count; i++) {
		const int part = r->near[i].part;
		const bool counts = part < 2 ? !inside[part] : !inside[0] && !inside[1];
		if (counts && !is_shadowed(r, i))
			add_outside(r, i);
	}
	for (int part = 0; part < 2; part++) {
		if (inside[part])
			add_inside(r, part);
	}
}

void cr_collide_round(cr_pipeline *p, cr_worker *worker, cr_pair_work *w)
{
	const bool round_is_a = p->bodies[w->a].shape.def.type != CAROM_MESH;
	const cr_body *round = &p->bodies[round_is_a ? w->a : w->b], *mesh = &p->bodies[round_is_a ? w->b : w->a];
	round_pair r = { p, worker, w, round, mesh, round_is_a, mesh->shape.collider, { { 0, 0, 0 }, { 0, 0, 0 } },
		round->shape.def.radius, NULL, 0 };
	if (r.collider->tree.node_count == 0)
		return;
	m3d rotation;
	v3d translation;
	cr_relative_transform(mesh, round, &rotation, &translation);
	const double length = round->shape.def.type == CAROM_CAPSULE ? round->shape.def.half_length : 0;
	r.core[0] = v3d_add(m3d_mul(&rotation, (v3d){ 0, 0, -length }), translation);
	r.core[1] = v3d_add(m3d_mul(&rotation, (v3d){ 0, 0, length }), translation);
	if (!find_near(&r, r.radius + p->settings.speculative_distance)) {
		worker->failed = true;
		return;
	}
	collide_core(&r);
}
