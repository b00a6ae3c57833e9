/// Triangles of two meshes that cross, of the pairs of meshes that someone asks about.
///
/// Crossing triangles need not have near features: a spike may go through the middle of a large
/// face. But their boxes overlap. So the search of near pairs, which meets each pair of leaves
/// whose boxes overlap once, tests the triangles of these as well, exactly. Cost: one test for each
/// such pair of triangles.
#include "base/stable_sort.h"
#include "geom/triangle.h"
#include "proximity/proximity_state.h"
#include <stdlib.h>

/// The mesh of a triangle; most often it is that of the one before.
static int32_t mesh_of(const carom_sweep *s, int32_t triangle, int32_t before)
{
	const int32_t vertex = s->order.given_vertices[s->scene.triangles[3 * (int64_t)triangle]];
	const int32_t *firsts = s->mesh_vertices.data;
	if (before >= 0 && vertex >= firsts[before] && vertex < firsts[before + 1])
		return before;
	return cr_mesh_of_vertex(firsts, (int32_t)s->meshes.count, vertex);
}

/// Is a pair of meshes asked about? Most often it is that of the pair of leaves before.
static bool is_asked(const carom_proximity *p, cr_near_worker *w, int32_t mesh_a, int32_t mesh_b)
{
	if (w->asked_a != mesh_a || w->asked_b != mesh_b) {
		w->asked_a = mesh_a;
		w->asked_b = mesh_b;
		w->asked =
			mesh_a != mesh_b && p->cuts(p->keep_user, mesh_a < mesh_b ? mesh_a : mesh_b, mesh_a < mesh_b ? mesh_b : mesh_a);
	}
	return w->asked;
}

static void corners_of(const carom_sweep *s, int32_t triangle, v3d corners[3])
{
	for (int k = 0; k < 3; k++)
		corners[k] = v3d_from_doubles(s->scene_begin + 3 * (int64_t)s->scene.triangles[3 * (int64_t)triangle + k]);
}

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double largest_of(v3d v) { return larger(fabs(v.x), larger(fabs(v.y), fabs(v.z))); }

/// Are the corners of one triangle clearly on one side of the plane of another one? Each of the
/// heights is a sum of six products of three differences, which rounds by less than 16 of its
/// 2^-53; the bound has room for twice that.
static inline bool is_beside_plane(const v3d plane[3], const v3d corners[3])
{
	const v3d p = v3d_sub(plane[1], plane[0]), q = v3d_sub(plane[2], plane[0]), normal = v3d_cross(p, q);
	const v3d a = v3d_sub(corners[0], plane[0]), b = v3d_sub(corners[1], plane[0]), c = v3d_sub(corners[2], plane[0]);
	const double of_a = v3d_dot(normal, a), of_b = v3d_dot(normal, b), of_c = v3d_dot(normal, c);
	const bool above = of_a > 0;
	if ((of_b > 0) != above || (of_c > 0) != above)
		return false;
	const double far = larger(largest_of(a), larger(largest_of(b), largest_of(c)));
	const double bound = 192 * 0x1p-53 * largest_of(p) * largest_of(q) * far;
	return fabs(of_a) > bound && fabs(of_b) > bound && fabs(of_c) > bound;
}

static bool do_cross(const v3d a[3], const v3d b[3])
{
	return !is_beside_plane(a, b) && !is_beside_plane(b, a) && cr_triangles_intersect(a, b);
}

static int32_t number_of(const carom_sweep *s, int32_t triangle)
{
	return s->triangle_numbers.data[s->order.given_triangles[triangle]];
}

static bool keep_cut(const carom_proximity *p, cr_near_worker *w, int32_t a, int32_t b)
{
	const carom_sweep *s = p->sweep;
	if (!cr_array_reserve_one(p->context, &w->cuts))
		return false;
	const bool turned = w->asked_a > w->asked_b;
	w->cuts.data[w->cuts.count++] = (cr_near_cut){ .mesh_a = turned ? w->asked_b : w->asked_a,
		.mesh_b = turned ? w->asked_a : w->asked_b,
		.triangle_a = number_of(s, turned ? b : a),
		.triangle_b = number_of(s, turned ? a : b) };
	return true;
}

/// Boxes of leaves are wider than their triangles by half of the reach on each side. The rounding
/// of a sum of floats is taken off: no coordinate along an axis is above twice the largest one, and
/// the reach.
void cr_bound_near_cuts(carom_proximity *p)
{
	const double least = p->reach - 0x1p-20 * (cr_sweep_largest(p->sweep) + p->reach);
	p->least_overlap = least > 0 ? (float)least : 0;
}

bool cr_take_near_leaves(void *user, int worker, const cr_leaf_pair *leaves, int32_t count)
{
	const carom_proximity *p = user;
	const carom_sweep *s = p->sweep;
	cr_near_worker *w = &p->workers[worker];
	int32_t kept[CR_SWEEP_LEAVES];
	const int32_t deep = p->cuts ? s->job.kernels->keep_deep(&s->tree, leaves, count, p->least_overlap, kept) : 0;
	bool enough = true;
	for (int32_t i = 0; i < deep && enough; i++) {
		const cr_sweep_pair nodes = leaves[kept[i]].nodes;
		const int32_t a = ~s->tree.nodes[nodes.a].right, b = ~s->tree.nodes[nodes.b].right;
		v3d of_a[3], of_b[3];
		if (!is_asked(p, w, mesh_of(s, a, w->asked_a), mesh_of(s, b, w->asked_b)))
			continue;
		corners_of(s, a, of_a);
		corners_of(s, b, of_b);
		enough = !do_cross(of_a, of_b) || keep_cut(p, w, a, b);
	}
	return enough;
}

static int compare_cuts(const void *a, const void *b)
{
	const cr_near_cut *x = a, *y = b;
	const int32_t of_x[4] = { x->mesh_a, x->mesh_b, x->triangle_a, x->triangle_b };
	const int32_t of_y[4] = { y->mesh_a, y->mesh_b, y->triangle_a, y->triangle_b };
	int order = 0;
	for (int k = 0; k < 4 && order == 0; k++)
		order = of_x[k] < of_y[k] ? -1 : of_x[k] > of_y[k];
	return order;
}

bool cr_sort_near_cuts(carom_proximity *p)
{
	int64_t count = 0;
	for (int i = 0; i < p->context->thread_count; i++)
		count += p->workers[i].cuts.count;
	p->crossing.count = 0;
	if (!cr_array_reserve(p->context, &p->crossing, count))
		return false;
	for (int i = 0; i < p->context->thread_count; i++) {
		for (int64_t k = 0; k < p->workers[i].cuts.count; k++)
			p->crossing.data[p->crossing.count++] = p->workers[i].cuts.data[k];
	}
	if (count > 1)
		cr_sort_stably(p->crossing.data, count, sizeof *p->crossing.data, compare_cuts);
	return true;
}
