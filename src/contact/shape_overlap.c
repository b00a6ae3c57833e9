/// Do two shapes overlap? Two basic volumes by their gap; a mesh and a volume by the mesh's tree
/// and one exact test for each volume; two meshes by the pair walk of detection and the exact
/// triangle test. A closed mesh is solid: a shape inside overlaps it.
#include "contact/shape_overlap.h"
#include "frame/shape_table.h"
#include "geom/convex_contacts.h"
#include "geom/convex_query.h"
#include "geom/meet.h"
#include "geom/triangle.h"
#include "geom/volume.h"
#include "bvh/parting.h"
#include <string.h>

// Candidates of two meshes that are looked at before all are listed.
enum { FEW_CANDIDATES = 96 };

/// A volume in the frame of a mesh.
typedef struct placed_volume {
	const carom_shape *shape;
	cr_family family;
	cr_convex convex; // of the convex family
	m3d rotation;     // volume to mesh
	v3d position;
	double lower[3]; // of its box; unused for planes
	double upper[3];
} placed_volume;

/// The volume's box in the mesh's frame, about the volume's origin.
static void find_reach(const placed_volume *v, double lower[3], double upper[3])
{
	const carom_shape *shape = v->shape;
	if (v->family == CR_FAMILY_CONVEX) {
		cr_convex_bounds(&v->convex, &v->rotation, lower, upper);
		return;
	}
	for (int k = 0; k < 3; k++) {
		const v3d row = v->rotation.row[k];
		const double *h = shape->half_extents;
		upper[k] = shape->type == CAROM_BOX ? fabs(row.x) * h[0] + fabs(row.y) * h[1] + fabs(row.z) * h[2]
			: shape->type == CAROM_CAPSULE  ? fabs(row.z) * shape->half_length + cr_round_radius(shape)
											: cr_round_radius(shape);
		lower[k] = -upper[k];
	}
}

static placed_volume place_volume(const carom_shape *shape, const carom_pose *pose, const carom_pose *mesh_pose)
{
	placed_volume v = { .shape = shape, .family = cr_family_of(shape) };
	cr_relative_pose(mesh_pose, pose, &v.rotation, &v.position);
	if (shape->type == CAROM_PLANE)
		return v;
	if (v.family == CR_FAMILY_CONVEX)
		v.convex = cr_convex_of(shape);
	double lower[3], upper[3];
	find_reach(&v, lower, upper);
	for (int k = 0; k < 3; k++) {
		const double p = v3d_get(v.position, k), slack = (fabs(p) + fmax(-lower[k], upper[k])) * 0x1p-48;
		v.lower[k] = p + lower[k] - slack;
		v.upper[k] = p + upper[k] + slack;
	}
	return v;
}

static v3d to_volume(const placed_volume *v, v3d p) { return m3d_tmul(&v->rotation, v3d_sub(p, v->position)); }

static bool volume_meets_box(const void *user, const double lower[3], const double upper[3])
{
	const placed_volume *v = user;
	if (v->shape->type != CAROM_PLANE) {
		bool overlap = true;
		for (int k = 0; k < 3; k++)
			overlap = overlap && lower[k] <= v->upper[k] && v->lower[k] <= upper[k];
		return overlap;
	}
	// The corner that lies deepest below the plane.
	const v3d normal = { v->rotation.row[0].z, v->rotation.row[1].z, v->rotation.row[2].z };
	const v3d corner = { normal.x > 0 ? lower[0] : upper[0], normal.y > 0 ? lower[1] : upper[1],
		normal.z > 0 ? lower[2] : upper[2] };
	const v3d d = v3d_sub(corner, v->position);
	return v3d_dot(normal, d) <= (fabs(d.x) + fabs(d.y) + fabs(d.z)) * 0x1p-48;
}

/// How a triangle lies to a rounded box, where a look tells it: most triangles that a walk asks
/// about are far, or in the box without its rounding. Corners in the frame of the box.
typedef enum seen_at_once { SEEN_APART, SEEN_MET, SEEN_NEAR } seen_at_once;
static seen_at_once look_at_box(const carom_shape *s, const v3d c[3])
{
	const double *h = s->half_extents, r = s->rounding * (1 + 1e-9);
	const v3d half = { h[0], h[1], h[2] }, zero = { 0, 0, 0 };
	double gap[3];
	for (int k = 0; k < 3; k++) {
		const double x = v3d_get(c[0], k), y = v3d_get(c[1], k), z = v3d_get(c[2], k);
		gap[k] = fmax(fmax(fmin(fmin(x, y), z) - h[k], -fmax(fmax(x, y), z) - h[k]), 0);
	}
	const v3d n = v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0]));
	const double across = fabs(n.x) * h[0] + fabs(n.y) * h[1] + fabs(n.z) * h[2];
	if (gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2] > r * r || fabs(v3d_dot(n, c[0])) > across + r * v3d_length(n))
		return SEEN_APART;
	return cr_triangle_box_overlap(zero, half, c[0], c[1], c[2]) ? SEEN_MET : SEEN_NEAR;
}

static bool volume_meets_triangle(void *user, int32_t triangle, const v3d corners[3])
{
	(void)triangle;
	const placed_volume *v = user;
	const carom_shape *s = v->shape;
	v3d c[3];
	for (int k = 0; k < 3; k++)
		c[k] = to_volume(v, corners[k]);
	const v3d zero = { 0, 0, 0 };
	const seen_at_once seen = v->family == CR_FAMILY_CONVEX && s->type == CAROM_BOX ? look_at_box(s, c) : SEEN_NEAR;
	if (seen != SEEN_NEAR)
		return seen == SEEN_MET;
	if (v->family == CR_FAMILY_CONVEX) {
		const cr_convex t = { .core = CR_CORE_TRIANGLE, .corner = { c[0], c[1], c[2] } };
		const cr_relative same = { { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } }, { 0, 0, 0 } };
		return cr_convex_meet(&v->convex, &t, &same);
	}
	switch (s->type) {
	case CAROM_SPHERE: {
		cr_feature feature;
		const v3d q = cr_closest_point_triangle(zero, c[0], c[1], c[2], &feature);
		return v3d_dot(q, q) <= cr_round_radius(s) * cr_round_radius(s);
	}
	case CAROM_CAPSULE: {
		v3d on_segment, on_triangle;
		const v3d p0 = { 0, 0, -s->half_length }, p1 = { 0, 0, s->half_length };
		return cr_closest_segment_triangle(p0, p1, c[0], c[1], c[2], &on_segment, &on_triangle) <=
			cr_round_radius(s) * cr_round_radius(s);
	}
	case CAROM_BOX:
		return cr_triangle_box_overlap(
			zero, (v3d){ s->half_extents[0], s->half_extents[1], s->half_extents[2] }, c[0], c[1], c[2]);
	default: // a plane
		return c[0].z <= 0 || c[1].z <= 0 || c[2].z <= 0;
	}
}

/// A point of the volume, in the mesh's frame.
static v3d point_inside(const placed_volume *v)
{
	if (v->family != CR_FAMILY_CONVEX)
		return v->position;
	return v3d_add(m3d_mul(&v->rotation, cr_convex_centre(&v->convex)), v->position);
}

bool cr_mesh_meets_volume(const cr_collider *mesh, const cr_bvh_kernels *kernels, const carom_pose *mesh_pose,
	const carom_shape *shape, const carom_pose *pose)
{
	placed_volume v = place_volume(shape, pose, mesh_pose);
	if (cr_collider_walk(mesh, &(cr_query_walk){ volume_meets_box, volume_meets_triangle, &v }))
		return true;
	// No surface is met: the volume is inside or outside with any one of its points. (A plane that
	// holds the mesh meets its triangles.)
	return shape->type != CAROM_PLANE && cr_collider_contains(mesh, kernels, point_inside(&v));
}

/// Two meshes and how one lies in the other's frame.
typedef struct mesh_pair {
	const carom_mesh *mesh[2];
	m3d rotation; // of the second in the first one's frame
	v3d position;
	const cr_bvh_kernels *kernels;
	cr_arena *arena;
} mesh_pair;

static bool any_crosses(const mesh_pair *p, const cr_candidates *candidates)
{
	for (int32_t i = 0; i < candidates->count; i++) {
		v3d a[3], b[3];
		cr_collider_triangle(&p->mesh[0]->collider, candidates->data[i].a, a);
		cr_collider_triangle(&p->mesh[1]->collider, candidates->data[i].b, b);
		for (int k = 0; k < 3; k++)
			b[k] = v3d_add(m3d_mul(&p->rotation, b[k]), p->position);
		if (cr_triangles_intersect(a, b))
			return true;
	}
	return false;
}

/// Do the surfaces intersect? Candidates from both trees, decided exactly: a few first, which
/// nearly always tell where they do. false in the result: out of memory.
static bool find_crossing(const mesh_pair *p, bool *meet)
{
	const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const m3d back = m3d_transpose_mul(&p->rotation, &identity);
	const cr_transform b_to_a = cr_make_transform(&p->rotation, p->position),
					   a_to_b = cr_make_transform(&back, v3d_neg(m3d_tmul(&p->rotation, p->position)));
	cr_candidates candidates = { .arena = p->arena };
	for (int32_t most = FEW_CANDIDATES;; most = 0) {
		candidates.count = 0;
		candidates.most = most;
		p->kernels->pairs(&p->mesh[0]->collider, &p->mesh[1]->collider, &b_to_a, &a_to_b, 0, &candidates);
		*meet = any_crosses(p, &candidates);
		if (*meet || candidates.failed || most == 0 || candidates.count <= most)
			return *meet || !candidates.failed;
	}
}

/// A place of one of the meshes in the frame of the other.
static v3d in_outer(const mesh_pair *p, int side, v3d own)
{
	return side == 1 ? v3d_add(m3d_mul(&p->rotation, own), p->position) : m3d_tmul(&p->rotation, v3d_sub(own, p->position));
}

/// A point inside a closed mesh of one piece: halfway from the middle of a triangle to where the
/// straight way in leaves the mesh. false: rounding found none.
static bool find_inner_point(const carom_mesh *mesh, const cr_bvh_kernels *kernels, v3d *point)
{
	v3d corner[3];
	cr_query_hit hit;
	cr_collider_triangle(&mesh->collider, cr_used_triangle(&mesh->collider, 0), corner);
	const v3d area = v3d_cross(v3d_sub(corner[1], corner[0]), v3d_sub(corner[2], corner[0]));
	const double length = v3d_length(area), scale = (double)mesh->collider.scale;
	if (!(length > 0))
		return false;
	const cr_query_ray ray = { .origin = v3d_scale(v3d_add(v3d_add(corner[0], corner[1]), corner[2]), 1.0 / 3),
		.direction = v3d_scale(area, -1 / length),
		.t_min = scale * 0x1p-20,
		.t_max = 4 * scale };
	if (!cr_collider_cast(&mesh->collider, kernels, &ray, &hit))
		return false;
	*point = v3d_mad(ray.origin, 0.5 * hit.t, ray.direction);
	return true;
}

/// Does a piece of the second mesh lie in the first, or of the first in the second? Of surfaces
/// that do not meet. Where surfaces lie on each other, rounding tells on which side a corner is, so
/// a point inside is asked too. false in the result: out of memory.
static bool find_inner_piece(const mesh_pair *p, bool *inside)
{
	*inside = false;
	for (int side = 0; side < 2 && !*inside; side++) {
		const carom_mesh *inner = p->mesh[side], *outer = p->mesh[1 - side];
		if (!outer->collider.closed)
			continue;
		cr_solid pieces;
		if (!cr_solid_of_mesh(p->arena, &inner->collider, &inner->facets, inner->report.components, &pieces))
			return false;
		for (int32_t i = 0; i < (pieces.places ? pieces.place_count : 1) && !*inside; i++) {
			const v3d own = pieces.places ? pieces.places[i] : pieces.place;
			*inside = cr_collider_contains(&outer->collider, p->kernels, in_outer(p, side, own));
		}
		v3d own;
		if (!*inside && !pieces.places && inner->collider.closed && find_inner_point(inner, p->kernels, &own))
			*inside = cr_collider_contains(&outer->collider, p->kernels, in_outer(p, side, own));
	}
	return true;
}

/// Do the surfaces come within a distance of each other?
static bool are_within(const mesh_pair *p, double distance)
{
	cr_collider_gap gap;
	return p->kernels->gap(&p->mesh[0]->collider, &p->mesh[1]->collider, &p->rotation, p->position, distance, &gap);
}

/// padding: the sum of the balls that are added to the two.
static carom_result meshes_overlap(carom_context *memory, const cr_bvh_kernels *kernels, const carom_mesh *a,
	const carom_pose *pose_a, const carom_mesh *b, const carom_pose *pose_b, double padding, bool *overlap)
{
	*overlap = false;
	if (a->collider.triangle_count == 0 || b->collider.triangle_count == 0)
		return CAROM_SUCCESS;
	cr_arena arena;
	mesh_pair p = { .mesh = { a, b }, .kernels = kernels, .arena = &arena };
	cr_relative_pose(pose_a, pose_b, &p.rotation, &p.position);
	// Bodies that are further apart than float can say do not touch.
	const double reach = 4 * ((double)a->collider.scale + (double)b->collider.scale);
	if (v3d_length(p.position) > reach + padding)
		return CAROM_SUCCESS;
	cr_arena_init(&arena, memory);
	// Surfaces that cross are found at once; the least distance takes longer.
	bool complete = find_crossing(&p, overlap);
	*overlap = *overlap || (complete && padding > 0 && are_within(&p, padding));
	complete = complete && (*overlap || find_inner_piece(&p, overlap));
	cr_arena_free(&arena);
	return complete ? CAROM_SUCCESS : cr_fail_memory(memory, "a query");
}

/// Two volumes of which one at least is of the convex family. A plane is none.
static bool convex_overlap(const carom_shape *a, const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b)
{
	if (a->type == CAROM_PLANE)
		return convex_overlap(b, pose_b, a, pose_a);
	const cr_convex convex = cr_convex_of(a);
	cr_relative b_in_a;
	cr_relative_pose(pose_a, pose_b, &b_in_a.rotation, &b_in_a.position);
	if (b->type == CAROM_PLANE) {
		const v3d up = m3d_mul(&b_in_a.rotation, (v3d){ 0, 0, 1 });
		cr_volume_contact contacts[CR_MAX_VOLUME_CONTACTS];
		return cr_convex_plane_contacts(&convex, up, v3d_dot(up, b_in_a.position), 0, contacts) > 0;
	}
	const cr_convex other = cr_convex_of(b);
	return cr_convex_meet(&convex, &other, &b_in_a);
}

/// A mesh and another shape. The ball that is added to the mesh is added to the shape instead: the
/// two overlap alike.
static bool padded_mesh_meets(const carom_shape *mesh, const carom_pose *mesh_pose, const cr_bvh_kernels *kernels,
	const carom_shape *shape, const carom_pose *pose)
{
	carom_shape grown = *shape;
	carom_pose raised = *pose;
	if (shape->type != CAROM_PLANE)
		grown.rounding += mesh->rounding;
	else
		raised.position = v3d_mad(pose->position, mesh->rounding, carom_rotate(pose->orientation, (v3d){ 0, 0, 1 }));
	return cr_mesh_meets_volume(&mesh->mesh->collider, kernels, mesh_pose, &grown, &raised);
}

enum { NUMBERS = 14 };

/// Numbers that tell a placed shape from others: its kind, sizes and pose.
static void number_shape(const carom_shape *s, const carom_pose *pose, double numbers[NUMBERS])
{
	const carom_vec3 p = pose->position;
	const carom_quat q = pose->orientation;
	const bool is_mesh = cr_has_mesh(s);
	const double all[NUMBERS] = { s->type, s->rounding, is_mesh ? s->mesh->topology.triangle_count : s->radius,
		is_mesh ? s->mesh->collider.scale : s->half_length, is_mesh ? 0 : s->half_extents[0], is_mesh ? 0 : s->half_extents[1],
		is_mesh ? 0 : s->half_extents[2], p.x, p.y, p.z, q.x, q.y, q.z, q.w };
	memcpy(numbers, all, sizeof all);
}

/// Does the second of two placed shapes come before the first, in an order that follows from the
/// shapes and poses alone? Places of one shape are rounded in the frame of the other, and so the
/// last bits of their distance depend on which is asked for first. The answer must not. Two shapes
/// that are equal in all of this have one frame, where nothing is rounded.
static bool second_comes_first(const carom_shape *a, const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b)
{
	double of_a[NUMBERS], of_b[NUMBERS];
	int i = 0;
	number_shape(a, pose_a, of_a);
	number_shape(b, pose_b, of_b);
	while (i < NUMBERS - 1 && of_a[i] == of_b[i])
		i++;
	return of_a[i] > of_b[i];
}

carom_result cr_shapes_overlap(carom_context *memory, const cr_bvh_kernels *kernels, const carom_shape *a,
	const carom_pose *pose_a, const carom_shape *b, const carom_pose *pose_b, bool *overlap)
{
	if (second_comes_first(a, pose_a, b, pose_b))
		return cr_shapes_overlap(memory, kernels, b, pose_b, a, pose_a, overlap);
	if (a->type == CAROM_MESH && b->type == CAROM_MESH)
		return meshes_overlap(memory, kernels, a->mesh, pose_a, b->mesh, pose_b, a->rounding + b->rounding, overlap);
	if (a->type == CAROM_MESH)
		*overlap = padded_mesh_meets(a, pose_a, kernels, b, pose_b);
	else if (b->type == CAROM_MESH)
		*overlap = padded_mesh_meets(b, pose_b, kernels, a, pose_a);
	else if (cr_family_of(a) == CR_FAMILY_CONVEX || cr_family_of(b) == CR_FAMILY_CONVEX)
		*overlap = convex_overlap(a, pose_a, b, pose_b);
	else
		*overlap = cr_volume_gap(a, pose_a, b, pose_b) <= 0;
	return CAROM_SUCCESS;
}
