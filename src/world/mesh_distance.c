/// See mesh_distance.h. Overlapping: bvh/parting.c. Apart: the nearest points of the surfaces.

#include "world/mesh_distance.h"
#include "bvh/parting.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "geom/separation.h"
#include "world/world.h"

typedef struct mesh_question {
	carom_context *context;
	const carom_shape *const *shapes;
	const carom_pose *poses;
	bool apart; // known before: no way out is sought
	m3d rotation[2];
	cr_convex convex[2];
	cr_solid solid[2];
	cr_solid_pair pair;
} mesh_question;

static carom_result make_solid(mesh_question *q, cr_arena *arena, int side)
{
	const carom_shape *shape = q->shapes[side];
	if (shape->type != CAROM_MESH) {
		q->convex[side] = cr_convex_of(shape);
		cr_solid_of_convex(&q->convex[side], &q->solid[side]);
		return CAROM_SUCCESS;
	}
	const carom_mesh *mesh = shape->mesh;
	if (!cr_solid_of_mesh(arena, &mesh->collider, &mesh->facets, q->apart ? 1 : mesh->report.components, &q->solid[side]))
		return cr_fail_memory(q->context, "the pieces of a mesh");
	q->solid[side].padding = shape->rounding;
	return CAROM_SUCCESS;
}

static v3d to_world(const mesh_question *q, v3d p) { return v3d_add(m3d_mul(&q->rotation[0], p), q->poses[0].position); }

// ---- Overlapping ----

/// Find a way out, where there is an overlap; else false. The parts that come clear last touch at
/// its end.
static bool write_way(const mesh_question *q, carom_separation *separation)
{
	cr_clear_way found, *way = &found;
	cr_part_solids(&q->pair, way);
	if (!(way->length > 0))
		return false;
	const cr_convex a = cr_part_of_solid(&q->solid[0], way->triangle[0]), b = cr_part_of_solid(&q->solid[1], way->triangle[1]);
	const v3d move = v3d_scale(way->direction, way->length);
	const cr_relative moved = { q->pair.b_in_a.rotation, v3d_sub(q->pair.b_in_a.position, move) };
	cr_separation s;
	cr_convex_separation(&a, &b, &moved, &s);
	*separation = (carom_separation){ -way->length, way->length, m3d_mul(&q->rotation[0], way->direction), to_world(q, s.on_a),
		to_world(q, v3d_add(s.on_b, move)) };
	return true;
}

// ---- Apart ----

/// A plane across a normal, which points out of the convex body that touches it from below.
typedef struct over_plane {
	v3d normal;
	double height;
} over_plane;

enum { OVER_PLANES = 4 };

/// A convex body near a mesh, in the frame of the mesh.
typedef struct near_search {
	const cr_convex *convex;
	cr_relative convex_in_mesh;
	v3d lower, upper; // its box
	// those of the triangles measured last: what lies high enough over one need not be measured
	over_plane over[OVER_PLANES];
	int over_count, over_next;
	cr_separation best; // of the body, as A, from the mesh; its frame is the mesh's
	bool found;
} near_search;

static double between(double low_a, double high_a, double low_b, double high_b)
{
	return low_b > high_a ? low_b - high_a : low_a > high_b ? low_a - high_b : 0;
}

static bool may_be_nearer(const void *user, const double lower[3], const double upper[3])
{
	const near_search *n = user;
	const v3d gap = { between(lower[0], upper[0], n->lower.x, n->upper.x), between(lower[1], upper[1], n->lower.y, n->upper.y),
		between(lower[2], upper[2], n->lower.z, n->upper.z) };
	return !n->found || v3d_length(gap) < n->best.gap;
}

/// Is a triangle known to be no nearer than the best: by its box, or over a plane?
static bool is_far(const near_search *n, const v3d corners[3])
{
	bool far = false;
	for (int i = 0; i < n->over_count && !far; i++) {
		const over_plane *p = &n->over[i];
		const double a = v3d_dot(p->normal, corners[0]), b = v3d_dot(p->normal, corners[1]), c = v3d_dot(p->normal, corners[2]);
		far = fmin(fmin(a, b), c) - p->height >= n->best.gap;
	}
	if (far)
		return true;
	double lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		const double x = v3d_get(corners[0], k), y = v3d_get(corners[1], k), z = v3d_get(corners[2], k);
		lower[k] = fmin(fmin(x, y), z);
		upper[k] = fmax(fmax(x, y), z);
	}
	return !may_be_nearer(n, lower, upper);
}

/// Keep the plane across the way from the body to a triangle.
static void keep_plane(near_search *n, const cr_separation *s)
{
	const v3d own = m3d_tmul(&n->convex_in_mesh.rotation, s->normal);
	const v3d top = v3d_add(m3d_mul(&n->convex_in_mesh.rotation, cr_convex_support(n->convex, own)), n->convex_in_mesh.position);
	n->over[n->over_next] = (over_plane){ s->normal, v3d_dot(s->normal, top) + n->convex->rounding };
	n->over_next = (n->over_next + 1) % OVER_PLANES;
	n->over_count += n->over_count < OVER_PLANES;
}

static bool try_triangle(void *user, int32_t triangle, const v3d corners[3])
{
	near_search *n = user;
	const cr_convex t = { .core = CR_CORE_TRIANGLE, .corner = { corners[0], corners[1], corners[2] } };
	cr_separation s;
	(void)triangle;
	if (n->found && is_far(n, corners))
		return false;
	cr_convex_separation(&t, n->convex, &n->convex_in_mesh, &s);
	keep_plane(n, &s);
	if (!n->found || s.gap < n->best.gap)
		n->best = s;
	n->found = true;
	return false;
}

/// The nearest points of a mesh and a convex body. A triangle that is near makes a good limit to
/// begin with.
static bool find_nearest(const mesh_question *q, int mesh, near_search *n)
{
	const cr_collider *c = q->solid[mesh].collider;
	const cr_relative *r = &q->pair.b_in_a;
	double lower[3], upper[3];
	cr_near_point near;
	n->convex = &q->convex[1 - mesh];
	n->found = false;
	n->over_count = n->over_next = 0;
	n->convex_in_mesh =
		mesh == 0 ? *r : (cr_relative){ m3d_transposed(&r->rotation), v3d_neg(m3d_tmul(&r->rotation, r->position)) };
	const v3d at = n->convex_in_mesh.position;
	cr_convex_bounds(n->convex, &n->convex_in_mesh.rotation, lower, upper);
	n->lower = v3d_add((v3d){ lower[0], lower[1], lower[2] }, at);
	n->upper = v3d_add((v3d){ upper[0], upper[1], upper[2] }, at);
	const v3d middle = v3d_scale(v3d_add(n->lower, n->upper), 0.5);
	if (q->pair.kernels->closest(c, middle, INFINITY, true, &near)) {
		v3d corners[3];
		cr_collider_triangle(c, near.triangle, corners);
		try_triangle(n, near.triangle, corners);
		if (n->convex->core == CR_CORE_POINT)
			return true; // the triangle nearest to a middle is nearest to the ball around it
	}
	cr_collider_walk(c, &(cr_query_walk){ may_be_nearer, try_triangle, n });
	return n->found;
}

static v3d mesh_to_world(const mesh_question *q, int mesh, v3d p)
{
	return v3d_add(m3d_mul(&q->rotation[mesh], p), q->poses[mesh].position);
}

/// Make a separation of surfaces that of meshes with a ball added: each surface comes nearer along
/// the line between the nearest points.
static void pad_separation(const mesh_question *q, carom_separation *s)
{
	const double a = q->solid[0].padding, b = q->solid[1].padding;
	if (!(a + b > 0))
		return;
	s->distance = fmax(s->distance - a - b, 0);
	s->point_a = v3d_mad(s->point_a, -a, s->normal);
	s->point_b = v3d_mad(s->point_b, b, s->normal);
}

static void write_nearest(const mesh_question *q, int mesh, const cr_separation *s, carom_separation *separation)
{
	const v3d on_mesh = mesh_to_world(q, mesh, s->on_a), on_convex = mesh_to_world(q, mesh, s->on_b);
	const v3d normal = m3d_mul(&q->rotation[mesh], s->normal); // from the convex body to the mesh
	*separation = (carom_separation){ s->gap > 0 ? s->gap : 0, s->error, v3d_scale(normal, mesh == 0 ? 1 : -1),
		mesh == 0 ? on_mesh : on_convex, mesh == 0 ? on_convex : on_mesh };
	pad_separation(q, separation);
}

/// Two meshes. Their nearest points say how far, and which way.
static bool write_gap(const mesh_question *q, carom_separation *separation)
{
	cr_collider_gap gap;
	const cr_solid_pair *p = &q->pair;
	if (!p->kernels->gap(q->solid[0].collider, q->solid[1].collider, &p->b_in_a.rotation, p->b_in_a.position, INFINITY, &gap))
		return false;
	const double distance = sqrt(gap.distance2);
	const v3d apart = v3d_sub(gap.on_a.point, gap.on_b.point);
	const v3d normal = distance > 0 ? v3d_scale(apart, 1 / distance) : cr_collider_normal(q->solid[0].collider, gap.a);
	*separation = (carom_separation){ distance, p->slack, m3d_mul(&q->rotation[0], normal), to_world(q, gap.on_a.point),
		to_world(q, gap.on_b.point) };
	pad_separation(q, separation);
	return true;
}

static bool write_apart(const mesh_question *q, carom_separation *separation)
{
	near_search n;
	if (q->solid[0].collider && q->solid[1].collider)
		return write_gap(q, separation);
	const int mesh = q->solid[0].collider ? 0 : 1;
	if (!find_nearest(q, mesh, &n))
		return false;
	write_nearest(q, mesh, &n.best, separation);
	return true;
}

// ---- Planes ----

/// A mesh over a plane: its lowest corner tells.
static void separate_from_plane(const mesh_question *q, int mesh, carom_separation *separation)
{
	const cr_collider *c = q->solid[mesh].collider;
	const v3d up = m3d_mul(&q->rotation[1 - mesh], (v3d){ 0, 0, 1 }), own_up = m3d_tmul(&q->rotation[mesh], up);
	const double origin = v3d_dot(up, v3d_sub(q->poses[mesh].position, q->poses[1 - mesh].position));
	double least = INFINITY;
	v3d lowest = { 0, 0, 0 };
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d p[3];
		cr_collider_triangle(c, cr_used_triangle(c, i), p);
		for (int k = 0; k < 3; k++) {
			const double height = origin + v3d_dot(own_up, p[k]);
			if (height < least) {
				least = height;
				lowest = p[k];
			}
		}
	}
	const double padding = q->solid[mesh].padding;
	const v3d point = v3d_mad(mesh_to_world(q, mesh, lowest), -padding, up);
	least -= padding;
	const v3d below = v3d_mad(point, -least, up);
	*separation =
		(carom_separation){ least, 0, v3d_scale(up, mesh == 0 ? 1 : -1), mesh == 0 ? point : below, mesh == 0 ? below : point };
}

// ---- All ----

static carom_result separate(mesh_question *q, cr_arena *arena, carom_separation *separation)
{
	double rounding = 0;
	for (int i = 0; i < 2; i++) {
		const carom_result result = q->shapes[i]->type == CAROM_PLANE ? CAROM_SUCCESS : make_solid(q, arena, i);
		if (result != CAROM_SUCCESS)
			return result;
		q->rotation[i] = m3d_from_quat(q->poses[i].orientation);
		if (q->shapes[i]->type == CAROM_MESH)
			rounding += q->shapes[i]->mesh->report.rounding;
	}
	*separation = (carom_separation){ .distance = INFINITY };
	for (int i = 0; i < 2; i++) {
		if (q->solid[i].collider && q->solid[i].collider->triangle_count == 0)
			return CAROM_SUCCESS;
		if (q->shapes[i]->type == CAROM_PLANE) {
			separate_from_plane(q, 1 - i, separation);
			return CAROM_SUCCESS;
		}
	}
	cr_relative b_in_a;
	cr_relative_pose(&q->poses[0], &q->poses[1], &b_in_a.rotation, &b_in_a.position);
	cr_prepare_pair(&q->pair, &q->solid[0], &q->solid[1], &b_in_a, rounding, cr_get_bvh_kernels(q->context->simd));
	if (q->apart || !write_way(q, separation))
		write_apart(q, separation);
	return CAROM_SUCCESS;
}

carom_result cr_mesh_separation(carom_context *context, const carom_shape *const shapes[2], const carom_pose poses[2],
	bool apart, carom_separation *separation)
{
	mesh_question q = { .context = context, .shapes = shapes, .poses = poses, .apart = apart };
	cr_arena arena;
	cr_arena_init(&arena, context);
	const carom_result result = separate(&q, &arena, separation);
	cr_arena_free(&arena);
	return result;
}
