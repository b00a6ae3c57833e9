/// Pairs in which a basic volume takes part: closed forms and closest points instead of rays, which
/// would only sample them.

#include "contact/contact.h"
#include "contact/round_way.h"
#include "geom/triangle.h"
#include "geom/volume.h"

// ---- Two volumes ----

int32_t cr_make_volume_contacts(
	const cr_pipeline *p, const cr_body *a, const cr_body *b, cr_raw_contact contacts[CR_MAX_VOLUME_CONTACTS])
{
	cr_volume_contact made[CR_MAX_VOLUME_CONTACTS];
	const int count =
		cr_volume_contacts(&a->shape.def, &a->pose, &b->shape.def, &b->pose, p->settings.world.speculative_distance, made);
	for (int i = 0; i < count; i++) {
		const cr_volume_contact *v = &made[i];
		contacts[i] = (cr_raw_contact){
			{ v->point.x, v->point.y, v->point.z },
			{ (float)v->normal.x, (float)v->normal.y, (float)v->normal.z },
			(float)v->depth,
			v->name,
			0,
			CAROM_VOLUMES,
		};
	}
	return count;
}

void cr_collide_volumes(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	cr_raw_contact contacts[CR_MAX_VOLUME_CONTACTS];
	const int32_t count = cr_make_volume_contacts(p, a, b, contacts);
	for (int32_t i = 0; i < count; i++)
		cr_add_contact(worker, &contacts[i]);
}

// ---- Plane and mesh ----

/// A plane z = 0 of its body as seen from the mesh: height of a mesh point is normal . p + offset.
typedef struct plane_side {
	cr_worker *worker;
	const cr_body *mesh;
	bool mesh_is_a;
	v3d normal; // mesh frame
	double offset;
	v3d world_normal;
	double margin;
	const m3d *rotation; // of the mesh
} plane_side;

static void add_low_samples(const plane_side *s, const cr_sample8 *block)
{
	for (int i = 0; i < block->count; i++) {
		const v3d point = { block->point[0][i], block->point[1][i], block->point[2][i] };
		const double height = v3d_dot(s->normal, point) + s->offset;
		if (height > s->margin)
			continue;
		const v3d world = v3d_add(m3d_mul(s->rotation, point), s->mesh->pose.position);
		const v3d n = v3d_scale(s->world_normal, s->mesh_is_a ? 1 : -1);
		const cr_raw_contact contact = {
			{ world.x, world.y, world.z },
			{ (float)n.x, (float)n.y, (float)n.z },
			(float)-height,
			s->mesh_is_a ? block->number[i] : 0,
			s->mesh_is_a ? 0 : block->number[i],
			s->mesh_is_a ? CAROM_VERTEX_A : CAROM_VERTEX_B,
		};
		cr_add_contact(s->worker, &contact);
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

void cr_collide_plane(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const bool mesh_is_a = a->shape.def.type == CAROM_MESH;
	const cr_body *mesh = mesh_is_a ? a : b, *plane = mesh_is_a ? b : a;
	const cr_collider *c = mesh->shape.collider;
	if (c->sample_tree.node_count == 0)
		return;
	m3d room;
	plane_side s = { .worker = worker,
		.mesh = mesh,
		.mesh_is_a = mesh_is_a,
		.margin = p->settings.world.speculative_distance,
		.rotation = cr_rotation_at(mesh, &room) };
	s.world_normal = cr_vector_to_world(plane, (v3d){ 0, 0, 1 });
	s.normal = m3d_tmul(s.rotation, s.world_normal);
	s.offset = v3d_dot(s.world_normal, v3d_sub(mesh->pose.position, plane->pose.position));
	uint32_t stack[CR_TREE_STACK];
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

enum { ROUND_NUMBERS = 256 };

/// The parts of a core. A capsule that lies on a face beyond which its end hangs touches it up to
/// the border: there its core leaves the face.
enum { FIRST_END, SECOND_END, WHOLE_CORE, BORDER_AT_FIRST, BORDER_AT_SECOND, ROUND_PARTS };

enum { NOT_ASKED, IN_LIGHT, IN_SHADOW };

/// Nearest points of a part of the core and a triangle.
typedef struct near_triangle {
	v3d core;
	v3d surface;
	double distance;
	int32_t triangle;
	int32_t part;
	// of an end: it hangs beyond the border of the triangle, which the core lies along
	bool over_border;
	uint8_t shadow; // is it on a triangle that comes nearer?
} near_triangle;

// Sines: of a core and a face on which a capsule lies, of an edge that is a border of the face, and
// of a place that lies off the face.
static const double LYING = 0.1, BENT = 0.14, OFF_FACE = 1e-3;

typedef struct round_pair {
	const cr_pipeline *pipeline;
	cr_worker *worker;
	const cr_body *round;
	const cr_body *mesh;
	bool round_is_a;
	const cr_collider *collider;
	v3d core[2]; // ends of the core, mesh frame
	double radius;
	near_triangle *near;
	int32_t near_count;
} round_pair;

static bool is_sphere(const round_pair *r) { return r->round->shape.def.type == CAROM_SPHERE; }

/// Below this a core counts as lying on the surface: floats do not tell its side, and the line to
/// the nearest point has no direction.
static double surface_tolerance(const round_pair *r) { return 1e-6 * r->collider->scale; }

static void add_round_contact(const round_pair *r, v3d core, v3d direction, double depth, const near_triangle *n)
{
	// The deepest point of the round body; where it is B, the point of the mesh instead (contact
	// points lie on A).
	const v3d local = r->round_is_a ? v3d_mad(core, -r->radius, direction) : n->surface;
	const v3d world = cr_point_to_world(r->mesh, local);
	const v3d normal = v3d_scale(cr_vector_to_world(r->mesh, direction), r->round_is_a ? 1 : -1);
	const int32_t name = n->part < BORDER_AT_FIRST ? n->part : n->part - BORDER_AT_FIRST;
	const cr_raw_contact contact = {
		{ world.x, world.y, world.z },
		{ (float)normal.x, (float)normal.y, (float)normal.z },
		(float)depth,
		r->round_is_a ? name : n->triangle,
		r->round_is_a ? n->triangle : name,
		CAROM_VOLUMES,
	};
	cr_add_contact(r->worker, &contact);
}

/// Nearest points of a part of the core (an end, or the whole) and a triangle.
static near_triangle measure(const round_pair *r, int part, int32_t triangle)
{
	v3d t[3];
	cr_collider_triangle(r->collider, triangle, t);
	near_triangle n = { .core = r->core[part & 1], .triangle = triangle, .part = part };
	cr_feature feature;
	if (part < WHOLE_CORE)
		n.surface = cr_closest_point_triangle(n.core, t[0], t[1], t[2], &feature);
	else
		cr_closest_segment_triangle(r->core[0], r->core[1], t[0], t[1], t[2], &n.core, &n.surface);
	n.distance = v3d_length(v3d_sub(n.core, n.surface));
	return n;
}

/// Keep the nearest points of a part of the core and a triangle if they are within reach. There is
/// room.
static void keep_near(round_pair *r, int part, int32_t triangle, double reach)
{
	const near_triangle n = measure(r, part, triangle);
	if (n.distance <= reach)
		r->near[r->near_count++] = n;
}

// ---- A capsule over the border of a face ----

/// Does the surface bend away from a triangle across its edge k, or end there?
static bool is_border(const round_pair *r, int32_t triangle, const v3d t[3], int k)
{
	const int32_t across = r->collider->topology->neighbours[3 * (int64_t)triangle + k];
	if (across < 0)
		return true;
	const v3d normal = cr_collider_normal(r->collider, triangle), edge = v3d_normalize(v3d_sub(t[(k + 1) % 3], t[k]));
	return v3d_dot(edge, v3d_cross(normal, cr_collider_normal(r->collider, across))) > BENT ||
		v3d_dot(normal, cr_collider_normal(r->collider, across)) < -0.5;
}

static bool lies_along(const round_pair *r, v3d normal)
{
	const v3d axis = v3d_sub(r->core[1], r->core[0]);
	return fabs(v3d_dot(normal, axis)) < LYING * v3d_length(axis);
}

/// Keep the places where the core, which lies along a triangle, comes to its border within reach,
/// and mark those of the ends beyond, which were kept from first on. There is room.
static void keep_borders(round_pair *r, int32_t triangle, int32_t first, double reach)
{
	const v3d normal = cr_collider_normal(r->collider, triangle), axis = v3d_sub(r->core[1], r->core[0]);
	if (!lies_along(r, normal))
		return;
	v3d t[3];
	cr_collider_triangle(r->collider, triangle, t);
	double from = 0, to = 1;
	int edge[2] = { -1, -1 };
	for (int k = 0; k < 3; k++) {
		const v3d inward = v3d_cross(normal, v3d_sub(t[(k + 1) % 3], t[k]));
		const double at = v3d_dot(inward, v3d_sub(r->core[0], t[k])), slope = v3d_dot(inward, axis);
		const double zero = -at / slope;
		if (slope > 0 && zero > from) {
			from = zero;
			edge[0] = k;
		} else if (slope < 0 && zero < to) {
			to = zero;
			edge[1] = k;
		} else if (slope == 0 && at < 0) {
			return;
		}
	}
	for (int end = 0; end < 2 && from < to; end++) {
		if (edge[end] < 0 || !is_border(r, triangle, t, edge[end]))
			continue;
		for (int32_t i = first; i < r->near_count; i++)
			r->near[i].over_border = r->near[i].over_border || r->near[i].part == end;
		near_triangle n = { .triangle = triangle, .part = BORDER_AT_FIRST + end };
		n.core = v3d_mad(r->core[0], end == 0 ? from : to, axis);
		const double height = v3d_dot(normal, v3d_sub(n.core, t[0]));
		n.surface = v3d_mad(n.core, -height, normal);
		n.distance = fabs(height);
		if (n.distance <= reach)
			r->near[r->near_count++] = n;
	}
}

static bool is_one_place(const round_pair *r, const near_triangle *a, const near_triangle *b)
{
	return v3d_length(v3d_sub(a->surface, b->surface)) <= surface_tolerance(r);
}

/// An end that hangs over the border of a triangle hangs over it for its neighbours too, which have
/// the place in common. None of these places counts: the border has its own.
static void spread_over_borders(round_pair *r)
{
	for (int32_t i = 0; i < r->near_count; i++) {
		const near_triangle *over = &r->near[i];
		for (int32_t j = 0; j < r->near_count && over->over_border; j++) {
			near_triangle *n = &r->near[j];
			n->over_border = n->over_border || (n->part == over->part && is_one_place(r, n, over));
		}
	}
}

/// Does the nearest point to an end lie off the face of its triangle, and beside the side of the
/// capsule? The end is not what touches there.
static bool is_beside(const round_pair *r, const near_triangle *n)
{
	if (is_sphere(r) || n->part >= WHOLE_CORE)
		return false;
	const v3d outward = v3d_normalize(v3d_sub(r->core[n->part], r->core[1 - n->part])), to = v3d_sub(n->surface, n->core);
	const v3d normal = cr_collider_normal(r->collider, n->triangle);
	return v3d_dot(outward, to) < 0 && v3d_length(v3d_cross(normal, to)) > OFF_FACE * n->distance;
}

/// Does a place lie at a border of its triangle?
static bool is_at_border(const round_pair *r, const near_triangle *n)
{
	v3d t[3];
	cr_collider_triangle(r->collider, n->triangle, t);
	for (int k = 0; k < 3; k++) {
		const v3d along = v3d_sub(t[(k + 1) % 3], t[k]), to = v3d_sub(n->surface, t[k]);
		if (v3d_length(v3d_cross(along, to)) <= surface_tolerance(r) * v3d_length(along) && is_border(r, n->triangle, t, k))
			return true;
	}
	return false;
}

static bool reserve_near(round_pair *r, int64_t count)
{
	r->near_count = 0;
	r->near = cr_arena_alloc(&r->worker->arena, (size_t)count * sizeof *r->near);
	return r->near != NULL;
}

/// Numbers that a kernel lists, of which it has put the first ROUND_NUMBERS into few; NULL when out
/// of memory: room for all, to be listed again.
static int32_t *reserve_numbers(round_pair *r, int32_t count, int32_t *few)
{
	return count > ROUND_NUMBERS ? cr_arena_alloc(&r->worker->arena, (size_t)count * sizeof *few) : few;
}

/// List the triangles within reach of a sphere's centre; false when out of memory.
static bool find_near_sphere(round_pair *r, double reach)
{
	const cr_bvh_kernels *kernels = r->pipeline->bvh;
	int32_t few[ROUND_NUMBERS];
	const int32_t count = kernels->around(r->collider, r->core[0], reach, ROUND_NUMBERS, few);
	int32_t *triangles = reserve_numbers(r, count, few);
	if (!triangles || !reserve_near(r, count))
		return false;
	if (triangles != few)
		kernels->around(r->collider, r->core[0], reach, count, triangles);
	for (int32_t i = 0; i < count; i++)
		keep_near(r, 0, triangles[i], reach);
	return true;
}

/// List the triangles within reach of a capsule's core; false when out of memory.
static bool find_near_capsule(round_pair *r, double reach)
{
	const double pad = reach + r->collider->scale * 1e-6;
	float lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		const double p = v3d_get(r->core[0], k), q = v3d_get(r->core[1], k);
		lower[k] = cr_round_down(fmin(p, q) - pad);
		upper[k] = cr_round_up(fmax(p, q) + pad);
	}
	const cr_bvh_kernels *kernels = r->pipeline->bvh;
	int32_t few[ROUND_NUMBERS];
	const int32_t count = kernels->blocks_in_box(r->collider, lower, upper, ROUND_NUMBERS, few);
	int32_t *blocks = reserve_numbers(r, count, few);
	if (!blocks || !reserve_near(r, (int64_t)count * CR_WIDTH * ROUND_PARTS))
		return false;
	if (blocks != few)
		kernels->blocks_in_box(r->collider, lower, upper, count, blocks);
	for (int32_t i = 0; i < count; i++) {
		const cr_tri8 *block = &r->collider->blocks[blocks[i]];
		for (int lane = 0; lane < block->count; lane++) {
			const int32_t first = r->near_count;
			for (int part = FIRST_END; part <= WHOLE_CORE; part++)
				keep_near(r, part, block->number[lane], reach);
			keep_borders(r, block->number[lane], first, reach);
		}
	}
	spread_over_borders(r);
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

// Cosine: a body ahead of an open mesh is behind its front where it lies further below it than
// this.
static const double LEVEL = 1e-4;

/// The nearest point of the surface to an end of the core, which may be out of reach of the radius.
/// false: there is none.
static bool measure_far(const round_pair *r, int part, near_triangle *n)
{
	const v3d p = r->core[part];
	const float origin[3] = { (float)p.x, (float)p.y, (float)p.z };
	int32_t triangle;
	r->pipeline->bvh->nearest(r->collider, origin, INFINITY, &triangle);
	if (triangle >= 0)
		*n = measure(r, part, triangle);
	return triangle >= 0;
}

/// An order of places: by distance, then by number.
static bool comes_first(const near_triangle *other, const near_triangle *n)
{
	if (other->distance != n->distance)
		return other->distance < n->distance;
	return other->triangle < n->triangle || (other->triangle == n->triangle && other->part < n->part);
}

/// Does a place that comes first have n's place too? It has where the two points are one (floats
/// make dents and ridges of that size in flat surfaces), or where its triangle holds n's point.
static bool shadows(const round_pair *r, const near_triangle *other, const near_triangle *n)
{
	if (!comes_first(other, n))
		return false;
	if (is_one_place(r, other, n))
		return true;
	v3d t[3];
	cr_feature feature;
	cr_collider_triangle(r->collider, other->triangle, t);
	const v3d nearest = cr_closest_point_triangle(n->surface, t[0], t[1], t[2], &feature);
	return v3d_length(v3d_sub(nearest, n->surface)) <= 1e-9 * r->collider->scale;
}

/// Is the point on a triangle that comes nearer to the same part? Then the distance has no minimum
/// there: a corner of the neighbour on a smooth or hollow surface, which must not push (ghost
/// contact). A neighbour across an edge nearly always tells; only the remaining places are compared
/// with all. A sphere has each neighbour that comes nearer in its list.
static bool find_shadow(const round_pair *r, const near_triangle *n)
{
	for (int k = 0; k < 3 && !is_sphere(r) && n->part <= WHOLE_CORE; k++) {
		const int32_t across = r->collider->topology->neighbours[3 * n->triangle + k];
		if (across < 0)
			continue;
		const near_triangle other = measure(r, n->part, across);
		if (shadows(r, &other, n))
			return true;
	}
	for (int32_t j = 0; j < r->near_count; j++) {
		if (r->near[j].part == n->part && &r->near[j] != n && shadows(r, &r->near[j], n))
			return true;
	}
	return false;
}

static bool is_shadowed(const round_pair *r, near_triangle *n)
{
	if (n->shadow == NOT_ASKED)
		n->shadow = find_shadow(r, n) ? IN_SHADOW : IN_LIGHT;
	return n->shadow == IN_SHADOW;
}

/// Is a place none that counts: in a shadow, or one of another part too, which comes first? That
/// other place must count itself. Else the two would do away with each other.
static bool is_left_out(const round_pair *r, near_triangle *n)
{
	if (is_shadowed(r, n))
		return true;
	for (int32_t j = 0; j < r->near_count && !is_sphere(r); j++) {
		near_triangle *other = &r->near[j];
		if (other->part != n->part && !other->over_border && is_one_place(r, other, n) && comes_first(other, n) &&
			!is_shadowed(r, other))
			return true;
	}
	return false;
}

/// How far a part of the core lies in front of the surface at a place: along the normal that says
/// most of the triangles that share the place.
static double height_over(const round_pair *r, const near_triangle *place)
{
	double height = 0;
	for (int32_t i = 0; i < r->near_count; i++) {
		const near_triangle *n = &r->near[i];
		if (n->part != place->part || !is_one_place(r, n, place))
			continue;
		const double along = v3d_dot(cr_collider_normal(r->collider, n->triangle), v3d_sub(n->core, n->surface));
		height = fabs(along) > fabs(height) ? along : height;
	}
	return height;
}

/// Is a body ahead of an open mesh whose front it does not see?
static bool is_unseen(const round_pair *r, const near_triangle *n)
{
	return !r->collider->closed && n->distance > r->radius && cr_has_front(r->mesh) && height_over(r, n) < -LEVEL * n->distance;
}

static void add_outside(round_pair *r, const near_triangle *n)
{
	const v3d away = v3d_sub(n->core, n->surface);
	if (is_unseen(r, n))
		return;
	if (n->distance > surface_tolerance(r)) {
		add_round_contact(r, n->core, v3d_scale(away, 1 / n->distance), r->radius - n->distance, n);
		return;
	}
	const v3d normal = cr_collider_normal(r->collider, n->triangle);
	add_round_contact(r, n->core, normal, r->radius - v3d_dot(away, normal), n);
}

/// A place beside the side of a capsule belongs to the core next to it. None does where the capsule
/// lies along the triangle and comes to its border.
static void add_beside(round_pair *r, const near_triangle *n)
{
	near_triangle side = *n;
	if (lies_along(r, cr_collider_normal(r->collider, n->triangle))) {
		if (is_at_border(r, n))
			return;
	} else {
		const double at = cr_nearest_on_segment(n->surface, r->core[0], r->core[1]);
		side.core = v3d_mad(r->core[0], at, v3d_sub(r->core[1], r->core[0]));
		side.distance = v3d_length(v3d_sub(side.core, side.surface));
	}
	add_outside(r, &side);
}

// ---- Cores that are inside, or pierce ----

/// Does the core pierce the triangle, with both ends clear of its plane?
static bool is_pierced(const round_pair *r, const near_triangle *n)
{
	if (n->part != WHOLE_CORE || n->distance > surface_tolerance(r))
		return false;
	const v3d normal = cr_collider_normal(r->collider, n->triangle);
	const double from = v3d_dot(normal, v3d_sub(r->core[0], n->surface)), to = v3d_dot(normal, v3d_sub(r->core[1], n->surface));
	return from * to < 0 && fmin(fabs(from), fabs(to)) > surface_tolerance(r);
}

/// How far a part of the core lies in front of the surface, where that is nearest to it. Positive
/// where nothing is near.
static double height_of(const round_pair *r, int part)
{
	const near_triangle *nearest = nearest_of(r, part);
	return nearest ? height_over(r, nearest) : INFINITY;
}

/// Is an end of the core on the side that the body must leave: inside a solid, or behind an open
/// mesh that has a front and that it touches?
static bool must_leave(const round_pair *r, int part)
{
	const near_triangle *n = nearest_of(r, part);
	if (r->collider->closed)
		return (!n || n->distance > surface_tolerance(r)) && is_inside(r, part);
	return cr_has_front(r->mesh) && n && n->distance < r->radius && height_of(r, part) < -surface_tolerance(r);
}

/// The side that the body leaves an open mesh by: the front of the triangles that it pierces, or is
/// nearest to; where that tells nothing, the side of its middle.
static v3d find_front(const round_pair *r)
{
	if (r->collider->closed)
		return (v3d){ 0, 0, 0 };
	v3d sum = { 0, 0, 0 };
	for (int32_t i = 0; i < r->near_count; i++) {
		if (is_pierced(r, &r->near[i]))
			sum = v3d_add(sum, cr_collider_normal(r->collider, r->near[i].triangle));
	}
	const near_triangle *nearest = nearest_of(r, is_sphere(r) ? FIRST_END : WHOLE_CORE);
	if (v3d_length(sum) < 1e-3 && nearest)
		sum = cr_collider_normal(r->collider, nearest->triangle);
	const v3d middle = v3d_scale(v3d_add(r->core[0], r->core[1]), 0.5);
	const bool turned = !cr_has_front(r->mesh) && nearest && v3d_dot(sum, v3d_sub(middle, nearest->surface)) < 0;
	return v3d_normalize(turned ? v3d_neg(sum) : sum);
}

/// Along a triangle's normal, and across the core and its edges.
static void try_triangle(const round_pair *r, int32_t triangle, cr_round_tries *tries)
{
	v3d t[3];
	cr_collider_triangle(r->collider, triangle, t);
	const v3d normal = cr_collider_normal(r->collider, triangle), axis = v3d_sub(r->core[1], r->core[0]);
	cr_try_round_way(tries, v3d_dot(normal, tries->front) < 0 ? v3d_neg(normal) : normal);
	for (int k = 0; k < 3 && !is_sphere(r); k++) {
		const v3d across = v3d_cross(axis, v3d_sub(t[(k + 1) % 3], t[k]));
		if (v3d_length(across) < 1e-6 * v3d_length(axis) * v3d_length(v3d_sub(t[(k + 1) % 3], t[k])))
			continue;
		cr_try_round_way(tries, across);
		cr_try_round_way(tries, v3d_neg(across));
	}
}

/// Directions about one that leads into a hollow too narrow for the body: eight around it at 27
/// degrees, eight at 56.
static void try_around(v3d direction, cr_round_tries *tries)
{
	static const double tilts[2] = { 0.5, 1.5 }, diagonal = 0.70710678118654752;
	const v3d across = v3d_normalize(v3d_cross(direction, fabs(direction.x) < 0.6 ? (v3d){ 1, 0, 0 } : (v3d){ 0, 1, 0 }));
	const v3d beside = v3d_cross(direction, across);
	const double x[8] = { 1, diagonal, 0, -diagonal, -1, -diagonal, 0, diagonal };
	for (int i = 0; i < 16; i++) {
		const double tilt = tilts[i / 8];
		cr_try_round_way(tries, v3d_mad(v3d_mad(direction, tilt * x[i % 8], across), tilt * x[(i + 6) % 8], beside));
	}
}

/// The directions in which the way out is looked for: to the nearest surface from the ends, those
/// of the triangles that are pierced or nearest to the ends, along the axis, and those of all
/// others that are near.
static void list_tries(const round_pair *r, const bool leaves[2], cr_round_tries *tries)
{
	*tries = (cr_round_tries){ .front = find_front(r) };
	for (int part = 0; part < (is_sphere(r) ? 1 : 2); part++) {
		near_triangle far;
		const near_triangle *n = nearest_of(r, part);
		if (!n && leaves[part] && measure_far(r, part, &far))
			n = &far;
		if (!n)
			continue;
		tries->inside[part] = leaves[part] && r->collider->closed;
		if (tries->inside[part])
			tries->least = fmax(tries->least, r->radius + n->distance);
		const v3d to_surface = v3d_sub(n->surface, n->core);
		cr_try_round_way(tries, leaves[part] ? to_surface : v3d_neg(to_surface));
		try_triangle(r, n->triangle, tries);
	}
	for (int32_t i = 0; i < r->near_count; i++) {
		if (is_pierced(r, &r->near[i]))
			try_triangle(r, r->near[i].triangle, tries);
	}
	const v3d axis = v3d_sub(r->core[1], r->core[0]);
	cr_try_round_way(tries, axis);
	cr_try_round_way(tries, v3d_neg(axis));
	for (int32_t i = 0; i < r->near_count && tries->count < CR_MOST_ROUND_WAYS / 2; i++)
		cr_try_round_way(tries, cr_collider_normal(r->collider, r->near[i].triangle));
	tries->spare = tries->count;
	if (tries->least > 0 && tries->count > 0)
		try_around(tries->direction[0], tries);
}

/// The contacts of a body that leaves along a way: at the end of the core that lies deepest along
/// it; at the other end, if that must leave too; and where that end is outside and near the
/// surface, of its depth the part that the way does not bring by itself. One that is ahead of the
/// surface tells how far, whichever way leads out.
static void add_way(round_pair *r, const cr_round_way *way, const bool leaves[2])
{
	const double ahead = is_sphere(r) ? 0 : v3d_dot(way->direction, v3d_sub(r->core[1], r->core[0]));
	const int deepest = ahead < 0 ? 1 : 0, other = 1 - deepest;
	for (int i = 0; i < (is_sphere(r) ? 1 : 2); i++) {
		const int part = i == 0 ? deepest : other;
		near_triangle n = measure(r, part, way->triangle);
		const double depth = way->depth - (i == 0 ? 0 : fabs(ahead));
		n.surface = v3d_mad(n.core, depth - r->radius, way->direction);
		if (i == 0 || (leaves[part] && depth > 0))
			add_round_contact(r, n.core, way->direction, depth, &n);
	}
	for (int32_t i = 0; i < r->near_count && !is_sphere(r); i++) {
		near_triangle *n = &r->near[i];
		if (n->part != other || leaves[other] || n->distance <= surface_tolerance(r) || is_left_out(r, n))
			continue;
		const v3d away = v3d_scale(v3d_sub(n->core, n->surface), 1 / n->distance);
		const double own = r->radius - n->distance;
		const double depth = own < 0 ? own : fmin(own, way->depth * v3d_dot(away, way->direction));
		if (depth > 0 || (own < 0 && !is_unseen(r, n)))
			add_round_contact(r, n->core, away, depth, n);
	}
}

/// The contacts of a body whose core is inside, or pierces. Returns whether it has a way out.
static bool add_way_out(round_pair *r, const bool leaves[2])
{
	cr_round_tries tries;
	cr_round_way way;
	list_tries(r, leaves, &tries);
	if (!cr_find_round_way(r->pipeline->bvh, &r->worker->arena, r->collider, r->core, r->radius, &tries, &way)) {
		r->worker->failed = true;
		return true;
	}
	if (!isfinite(way.depth))
		return false;
	add_way(r, &way, leaves);
	return true;
}

static void collide_core(round_pair *r)
{
	bool leaves[2] = { false, false }, pierced = false;
	for (int part = 0; part < (is_sphere(r) ? 1 : 2); part++)
		leaves[part] = must_leave(r, part);
	for (int32_t i = 0; i < r->near_count && !pierced; i++)
		pierced = is_pierced(r, &r->near[i]);
	if ((leaves[0] || leaves[1] || pierced) && add_way_out(r, leaves))
		return;
	for (int32_t i = 0; i < r->near_count; i++) {
		if (r->near[i].over_border || is_left_out(r, &r->near[i]))
			continue;
		if (is_beside(r, &r->near[i]))
			add_beside(r, &r->near[i]);
		else
			add_outside(r, &r->near[i]);
	}
}

void cr_collide_round(const cr_pipeline *p, cr_worker *worker, const cr_body *a, const cr_body *b)
{
	const bool round_is_a = a->shape.def.type != CAROM_MESH;
	const cr_body *round = round_is_a ? a : b, *mesh = round_is_a ? b : a;
	round_pair r = { p, worker, round, mesh, round_is_a, mesh->shape.collider, { { 0, 0, 0 }, { 0, 0, 0 } },
		cr_round_radius(&round->shape.def), NULL, 0 };
	if (r.collider->tree.node_count == 0)
		return;
	m3d rotation;
	v3d translation;
	cr_relative_transform(mesh, round, &rotation, &translation);
	const double length = round->shape.def.type == CAROM_CAPSULE ? round->shape.def.half_length : 0;
	r.core[0] = v3d_add(m3d_mul(&rotation, (v3d){ 0, 0, -length }), translation);
	r.core[1] = v3d_add(m3d_mul(&rotation, (v3d){ 0, 0, length }), translation);
	const double reach = r.radius + p->settings.world.speculative_distance;
	if (!(is_sphere(&r) ? find_near_sphere(&r, reach) : find_near_capsule(&r, reach))) {
		worker->failed = true;
		return;
	}
	collide_core(&r);
}
