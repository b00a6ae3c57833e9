/// Walks of the wide tree for users' questions. Rays use the wide kernel to find the triangle and
/// double to say where; nearest points have a kernel of their own; the others walk in double, eight
/// boxes of a node at a time in plain loops. O(log n) for most questions, O(n) at worst.
#include "bvh/collider_query.h"
#include "tree/quality.h"
#include "geom/triangle.h"

// The most that float loses of a point in the box, in lengths of the largest coordinate: the origin
// is rounded, and so are corners in the ray's space.
static const double FLOAT_LOSS = 4e-6;

// ---- Rays ----

bool cr_ray_box(const cr_query_ray *ray, const double lower[3], const double upper[3], double *enter, double *leave)
{
	double first = ray->t_min, last = ray->t_max;
	for (int k = 0; k < 3; k++) {
		const double o = v3d_get(ray->origin, k), inverse = cr_slab_inverse(v3d_get(ray->direction, k));
		// The loss of the subtraction for a distant origin.
		const double loss = (fabs(o) + fabs(lower[k]) + fabs(upper[k])) * 0x1p-51;
		// Chosen by number: of rays in all directions a branch would be mispredicted half the time.
		const double side[2] = { lower[k] - loss, upper[k] + loss };
		const int near = inverse < 0;
		const double t0 = (side[near] - o) * inverse, t1 = (side[1 - near] - o) * inverse * (1 + 0x1p-50);
		first = t0 > first ? t0 : first;
		last = t1 < last ? t1 : last;
	}
	*enter = first;
	*leave = last;
	return first <= last;
}

/// A double ray cut to the box of a collider, in float, as the kernels take it.
typedef struct local_ray {
	float origin[3];
	float direction[3];
	float t_max;
	double start; // t of the origin on the double ray
	double scale; // lengths of the double direction in one of the float direction
} local_ray;

static bool enter_collider(const cr_collider *c, const cr_query_ray *ray, local_ray *local)
{
	if (c->tree.node_count == 0)
		return false;
	const double pad = FLOAT_LOSS * c->scale;
	double lower[3], upper[3], leave;
	for (int k = 0; k < 3; k++) {
		lower[k] = c->lower[k] - pad;
		upper[k] = c->upper[k] + pad;
	}
	if (!cr_ray_box(ray, lower, upper, &local->start, &leave))
		return false;
	const v3d d = ray->direction, start = v3d_mad(ray->origin, local->start, d);
	const double x = fabs(d.x), y = fabs(d.y), z = fabs(d.z), xy = x > y ? x : y, largest = xy > z ? xy : z;
	local->scale = 1 / largest;
	for (int k = 0; k < 3; k++) {
		local->origin[k] = (float)v3d_get(start, k);
		local->direction[k] = (float)(v3d_get(d, k) / largest);
	}
	local->t_max = cr_round_up((leave - local->start) * largest + pad);
	return true;
}

/// Find t, u, v and the normal on the triangle that the float ray met at float_t. False when the
/// double ray meets it outside of t_min..t_max.
static bool refine(const cr_collider *c, const cr_query_ray *ray, const local_ray *local, int32_t triangle, float float_t,
	bool back, cr_query_hit *hit)
{
	v3d p[3];
	cr_collider_triangle(c, triangle, p);
	const v3d e1 = v3d_sub(p[1], p[0]), e2 = v3d_sub(p[2], p[0]), n = v3d_cross(e1, e2);
	const double rough = local->start + (double)float_t * local->scale;
	// From the point that float found, which lies near the triangle: nothing of a distant origin is
	// left in the difference.
	const v3d near = v3d_mad(ray->origin, rough, ray->direction);
	const double along = v3d_dot(n, ray->direction);
	double t = rough + v3d_dot(n, v3d_sub(p[0], near)) / along;
	// A ray nearly in the plane has no better t than that of float.
	if (!(fabs(t - rough) <= 16 * FLOAT_LOSS * c->scale * local->scale))
		t = rough;
	// Float found it at or behind the start, and it is near: a hit before the start by a rounding
	// is at the start.
	t = t < ray->t_min ? ray->t_min : t;
	if (t > ray->t_max)
		return false;
	const v3d at = v3d_sub(v3d_mad(ray->origin, t, ray->direction), p[0]);
	const double area2 = v3d_dot(n, n);
	double u = v3d_dot(v3d_cross(at, e2), n) / area2, v = v3d_dot(v3d_cross(e1, at), n) / area2;
	u = u < 0 ? 0 : u > 1 ? 1 : u;
	v = v < 0 ? 0 : v > 1 - u ? 1 - u : v;
	*hit = (cr_query_hit){ t, u, v, v3d_normalize(n), triangle, along != 0 ? along > 0 : back };
	return true;
}

bool cr_collider_cast(const cr_collider *c, const cr_bvh_kernels *kernels, const cr_query_ray *ray, cr_query_hit *hit)
{
	local_ray local;
	if (!enter_collider(c, ray, &local))
		return false;
	int32_t triangle;
	float t;
	uint8_t back;
	const carom_ray_batch rays = { 1, { &local.origin[0], &local.origin[1], &local.origin[2] },
		{ &local.direction[0], &local.direction[1], &local.direction[2] }, &local.t_max };
	const carom_hit_batch hits = { &triangle, &t, &back };
	kernels->cast(c, &rays, 0, 1, &hits);
	return triangle >= 0 && refine(c, ray, &local, triangle, t, back, hit);
}

typedef struct all_walk {
	const cr_collider *collider;
	const cr_query_ray *ray;
	local_ray local;
	cr_query_ray start; // the double ray from the float origin, for boxes
	cr_ray_shear shear;
	cr_query_hit_fn *fn;
	void *user;
} all_walk;

static bool enter_box(const all_walk *w, const double lower[3], const double upper[3], double *enter)
{
	const double pad = FLOAT_LOSS * w->collider->scale;
	const double l[3] = { lower[0] - pad, lower[1] - pad, lower[2] - pad },
				 u[3] = { upper[0] + pad, upper[1] + pad, upper[2] + pad };
	double leave;
	return cr_ray_box(&w->start, l, u, enter, &leave);
}

static bool all_meets_box(const void *user, const double lower[3], const double upper[3])
{
	double enter;
	return enter_box(user, lower, upper, &enter);
}

static bool all_meets_triangle(void *user, int32_t triangle, const v3d corners[3])
{
	all_walk *w = user;
	float p[3][3];
	for (int c = 0; c < 3; c++) {
		for (int k = 0; k < 3; k++)
			p[c][k] = (float)v3d_get(corners[c], k);
	}
	cr_triangle_hit met;
	cr_query_hit hit;
	if (!cr_ray_triangle_watertight(&w->shear, p[0], p[1], p[2], w->local.t_max, &met))
		return false;
	return refine(w->collider, w->ray, &w->local, triangle, met.t, met.back, &hit) && !w->fn(&hit, w->user);
}

static bool begin_all(all_walk *w, const cr_collider *c, const cr_query_ray *ray, cr_query_hit_fn *fn, void *user)
{
	*w = (all_walk){ .collider = c, .ray = ray, .fn = fn, .user = user };
	if (!enter_collider(c, ray, &w->local))
		return false;
	cr_ray_shear_init(&w->shear, w->local.origin, w->local.direction);
	w->start = (cr_query_ray){ v3d_from_floats(w->local.origin), v3d_from_floats(w->local.direction), 0, w->local.t_max };
	return true;
}

void cr_collider_cast_all(const cr_collider *c, const cr_query_ray *ray, cr_query_hit_fn *fn, void *user)
{
	all_walk w;
	if (!begin_all(&w, c, ray, fn, user))
		return;
	cr_collider_walk(c, &(cr_query_walk){ all_meets_box, all_meets_triangle, &w });
}

// ---- Walks ----

static void child_box(const cr_node8 *node, uint32_t i, double lower[3], double upper[3])
{
	for (int k = 0; k < 3; k++) {
		lower[k] = node->lower[k][i];
		upper[k] = node->upper[k][i];
	}
}

static bool walk_block(const cr_collider *c, int32_t block, const cr_query_walk *walk)
{
	const cr_tri8 *b = &c->blocks[block];
	for (int32_t i = 0; i < b->count; i++) {
		v3d corners[3];
		cr_collider_triangle(c, b->number[i], corners);
		if (walk->meets_triangle(walk->user, b->number[i], corners))
			return true;
	}
	return false;
}

bool cr_collider_walk(const cr_collider *c, const cr_query_walk *walk)
{
	uint32_t stack[CR_TREE_STACK];
	int top = 0;
	if (c->tree.node_count > 0)
		stack[top++] = 0;
	while (top > 0) {
		const uint32_t child = stack[--top];
		if (child & CR_LEAF_BIT) {
			if (walk_block(c, (int32_t)(child & ~CR_LEAF_BIT), walk))
				return true;
			continue;
		}
		const cr_node8 *node = &c->tree.nodes[child];
		for (uint32_t i = 0; i < node->child_count; i++) {
			double lower[3], upper[3];
			child_box(node, i, lower, upper);
			if (walk->meets_box(walk->user, lower, upper))
				stack[top++] = node->child[i];
		}
	}
	return false;
}

// ---- Fronts ----

typedef struct front_walk {
	all_walk all; // its boxes are cut to the nearest front so far
	bool found;
	cr_query_hit hit;
} front_walk;

static bool keep_front(const cr_query_hit *hit, void *user)
{
	front_walk *w = user;
	if (hit->back || (w->found && (hit->t > w->hit.t || (hit->t == w->hit.t && hit->triangle > w->hit.triangle))))
		return true;
	w->found = true;
	w->hit = *hit;
	// Beyond it by the rounding of floats: equal hits count by their numbers.
	const double slack = 2 * FLOAT_LOSS * w->all.collider->scale;
	w->all.start.t_max = fmin(w->all.start.t_max, (hit->t - w->all.local.start) / w->all.local.scale + slack);
	return true;
}

/// A child on the stack.
typedef struct front_entry {
	uint32_t child;
	double enter;
} front_entry;

/// Push the children that the ray enters, so that the nearest is on top. Returns the new top.
static int push_entered(const front_walk *w, const cr_node8 *node, front_entry *stack, int top)
{
	const int base = top;
	for (uint32_t i = 0; i < node->child_count; i++) {
		double lower[3], upper[3], enter;
		child_box(node, i, lower, upper);
		if (!enter_box(&w->all, lower, upper, &enter))
			continue;
		int at = top++;
		for (; at > base && stack[at - 1].enter < enter; at--)
			stack[at] = stack[at - 1];
		stack[at] = (front_entry){ node->child[i], enter };
	}
	return top;
}

bool cr_collider_cast_front(const cr_collider *c, const cr_query_ray *ray, cr_query_hit *hit)
{
	front_walk w = { .found = false };
	if (!begin_all(&w.all, c, ray, keep_front, &w))
		return false;
	const cr_query_walk walk = { all_meets_box, all_meets_triangle, &w.all };
	front_entry stack[CR_TREE_STACK] = { { 0, 0 } };
	for (int top = 1; top > 0;) {
		const front_entry entry = stack[--top];
		if (entry.enter > w.all.start.t_max)
			continue;
		if (entry.child & CR_LEAF_BIT)
			walk_block(c, (int32_t)(entry.child & ~CR_LEAF_BIT), &walk);
		else
			top = push_entered(&w, &c->tree.nodes[entry.child], stack, top);
	}
	*hit = w.hit;
	return w.found;
}

// ---- Nearest points ----

/// Outward normal at a point of a triangle: the mean of the faces that meet there, whose sign tells
/// inside from outside (Baerentzen, Aanaes, Signed Distance Computation Using the Angle Weighted
/// Pseudonormal, 2005).
static v3d normal_at(const cr_collider *c, int32_t triangle, cr_feature feature)
{
	const cr_topology *t = c->topology;
	v3d n = { 0, 0, 0 };
	if (feature >= CR_FEATURE_EDGE_AB && feature <= CR_FEATURE_EDGE_CA)
		n = cr_collider_edge_normal(c, 3 * triangle + (int32_t)(feature - CR_FEATURE_EDGE_AB));
	else if (feature >= CR_FEATURE_A)
		n = cr_collider_vertex_normal(c, t->triangles[3 * (int64_t)triangle + (feature - CR_FEATURE_A)]);
	if (v3d_dot(n, n) == 0) {
		v3d p[3];
		cr_collider_triangle(c, triangle, p);
		n = v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]));
	}
	return v3d_normalize(n);
}

static bool in_box(const cr_collider *c, v3d p)
{
	bool inside = true;
	for (int k = 0; k < 3; k++)
		inside = inside && v3d_get(p, k) >= c->lower[k] && v3d_get(p, k) <= c->upper[k];
	return inside;
}

static bool winds_around(const cr_collider *c, const cr_bvh_kernels *kernels, v3d p)
{
	// Any direction will do; one along no axis meets fewer edges of boxes.
	static const float direction[3] = { 0.36f, 0.48f, 0.8f };
	const float origin[3] = { (float)p.x, (float)p.y, (float)p.z };
	return kernels->winding(c, origin, direction) != 0;
}

/// Is p, whose nearest point of the surface is known, inside? Near the surface float would round p
/// to the other side.
static bool is_inside(const cr_collider *c, const cr_bvh_kernels *kernels, v3d p, const cr_near_point *nearest, v3d normal)
{
	if (!c->closed || !in_box(c, p))
		return false;
	const double near = FLOAT_LOSS * c->scale;
	if (nearest->distance2 > near * near)
		return winds_around(c, kernels, p);
	return v3d_dot(v3d_sub(p, nearest->on.point), normal) < 0;
}

bool cr_collider_closest_point(
	const cr_collider *c, const cr_bvh_kernels *kernels, v3d point, double max_distance, cr_surface_point *result)
{
	cr_near_point best;
	if (!kernels->closest(c, point, max_distance, true, &best))
		return false;
	double distance = sqrt(best.distance2);
	if (isinf(distance)) { // the square is too large for a double
		distance = 0x1p520 * v3d_length(v3d_scale(v3d_sub(best.on.point, point), 0x1p-520));
		if (distance > max_distance)
			return false;
	}
	const v3d normal = normal_at(c, best.triangle, best.on.feature);
	const bool inside = is_inside(c, kernels, point, &best, normal);
	*result = (cr_surface_point){ best.on.point, normal, inside ? -distance : distance, best.triangle,
		{ best.on.weight[0], best.on.weight[1], best.on.weight[2] }, best.on.feature };
	return true;
}

bool cr_collider_contains(const cr_collider *c, const cr_bvh_kernels *kernels, v3d point)
{
	if (!c->closed || !in_box(c, point))
		return false;
	cr_near_point best;
	// Most points are far from the surface: only the others need the nearest point.
	if (!kernels->closest(c, point, FLOAT_LOSS * c->scale, false, &best))
		return winds_around(c, kernels, point);
	return is_inside(c, kernels, point, &best, normal_at(c, best.triangle, best.on.feature));
}

// ---- Quality of the tree ----

static void corners_of(const void *user, int32_t primitive, v3d corners[3])
{
	const cr_collider *c = user;
	cr_collider_triangle(c, cr_used_triangle(c, primitive), corners);
}

double cr_collider_epo(const cr_collider *c) { return cr_tree2_epo(&c->binary, corners_of, c); }
