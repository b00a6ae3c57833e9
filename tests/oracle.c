/// The dull judge; see oracle.h. Input: two placed meshes. Cost: the square of the number of triangles in the overlap of
/// the boxes. Pure functions but for the memory of a placed body.

#include "oracle.h"

#include "geom/triangle.h"

#include <stdlib.h>
#include <string.h>

oracle_body oracle_place(const oracle_shape *shape, const carom_pose *pose)
{
	oracle_body body = { .shape = shape,
		.vertices = calloc((size_t)shape->vertex_count + 1, sizeof(v3d)),
		.box = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } } };
	if (body.vertices == NULL) {
		abort(); // a test without memory has nothing to say
	}
	const m3d rotation = m3d_from_quat(pose->orientation);
	for (int32_t i = 0; i < shape->vertex_count; i++) {
		const v3d p = v3d_add(m3d_mul(&rotation, v3d_from_floats(&shape->vertices[3 * i])), pose->position);
		body.vertices[i] = p;
		body.box.lower = v3d_make(fmin(body.box.lower.x, p.x), fmin(body.box.lower.y, p.y), fmin(body.box.lower.z, p.z));
		body.box.upper = v3d_make(fmax(body.box.upper.x, p.x), fmax(body.box.upper.y, p.y), fmax(body.box.upper.z, p.z));
	}
	return body;
}

void oracle_free(oracle_body *body)
{
	free(body->vertices);
	body->vertices = NULL;
}

static bool boxes_overlap(const carom_aabb *a, const carom_aabb *b)
{
	return a->lower.x <= b->upper.x && b->lower.x <= a->upper.x && a->lower.y <= b->upper.y && b->lower.y <= a->upper.y &&
		a->lower.z <= b->upper.z && b->lower.z <= a->upper.z;
}

bool oracle_boxes_overlap(const oracle_body *a, const oracle_body *b) { return boxes_overlap(&a->box, &b->box); }

static void get_triangle(const oracle_body *body, int32_t number, v3d corner[3])
{
	for (int k = 0; k < 3; k++) {
		corner[k] = body->vertices[body->shape->triangles[3 * number + k]];
	}
}

static carom_aabb triangle_box(const v3d c[3])
{
	return (carom_aabb){
		{ fmin(c[0].x, fmin(c[1].x, c[2].x)), fmin(c[0].y, fmin(c[1].y, c[2].y)), fmin(c[0].z, fmin(c[1].z, c[2].z)) },
		{ fmax(c[0].x, fmax(c[1].x, c[2].x)), fmax(c[0].y, fmax(c[1].y, c[2].y)), fmax(c[0].z, fmax(c[1].z, c[2].z)) },
	};
}

/// A triangle that reaches into the other body's box.
typedef struct near_triangle {
	v3d corner[3];
	carom_aabb box;
} near_triangle;

/// The triangles of body that overlap a box; the caller frees the list.
static near_triangle *list_near(const oracle_body *body, const carom_aabb *box, int32_t *count)
{
	near_triangle *list = calloc((size_t)body->shape->triangle_count + 1, sizeof *list);
	if (list == NULL) {
		abort();
	}
	*count = 0;
	for (int32_t i = 0; i < body->shape->triangle_count; i++) {
		near_triangle *t = &list[*count];
		get_triangle(body, i, t->corner);
		t->box = triangle_box(t->corner);
		*count += boxes_overlap(&t->box, box);
	}
	return list;
}

/// Count crossing triangles up to a limit.
static int64_t count_crossings(const oracle_body *a, const oracle_body *b, int64_t limit)
{
	if (!oracle_boxes_overlap(a, b)) {
		return 0;
	}
	int32_t count_a, count_b;
	near_triangle *list_a = list_near(a, &b->box, &count_a);
	near_triangle *list_b = list_near(b, &a->box, &count_b);
	int64_t crossings = 0;
	for (int32_t i = 0; i < count_a && crossings < limit; i++) {
		for (int32_t j = 0; j < count_b && crossings < limit; j++) {
			crossings +=
				boxes_overlap(&list_a[i].box, &list_b[j].box) && cr_triangles_intersect(list_a[i].corner, list_b[j].corner);
		}
	}
	free(list_a);
	free(list_b);
	return crossings;
}

bool oracle_surfaces_intersect(const oracle_body *a, const oracle_body *b) { return count_crossings(a, b, 1) > 0; }

int64_t oracle_count_crossings(const oracle_body *a, const oracle_body *b) { return count_crossings(a, b, INT64_MAX); }

bool oracle_point_inside(const oracle_body *body, v3d p)
{
	double sum = 0; // of half the solid angles
	for (int32_t i = 0; i < body->shape->triangle_count; i++) {
		v3d c[3];
		get_triangle(body, i, c);
		const v3d u = v3d_sub(c[0], p), v = v3d_sub(c[1], p), w = v3d_sub(c[2], p);
		const double lu = v3d_length(u), lv = v3d_length(v), lw = v3d_length(w);
		const double volume = v3d_dot(u, v3d_cross(v, w));
		sum += atan2(volume, lu * lv * lw + v3d_dot(u, v) * lw + v3d_dot(u, w) * lv + v3d_dot(v, w) * lu);
	}
	return fabs(sum) > 3.14159265358979; // outside 0, inside 2 pi
}

bool oracle_solids_touch(const oracle_body *a, const oracle_body *b)
{
	// In one piece and not crossing, a surface lies wholly inside or wholly outside: one vertex tells.
	return oracle_boxes_overlap(a, b) &&
		(oracle_surfaces_intersect(a, b) || oracle_point_inside(b, a->vertices[a->shape->triangles[0]]) ||
			oracle_point_inside(a, b->vertices[b->shape->triangles[0]]));
}

/// Squared distance of two triangles: of corner and face, or of two edges.
static double triangle_distance2(const v3d a[3], const v3d b[3])
{
	if (cr_triangles_intersect(a, b)) {
		return 0;
	}
	double best = INFINITY;
	for (int i = 0; i < 3; i++) {
		cr_feature feature;
		v3d on_a = v3d_sub(cr_closest_point_triangle(b[i], a[0], a[1], a[2], &feature), b[i]);
		v3d on_b = v3d_sub(cr_closest_point_triangle(a[i], b[0], b[1], b[2], &feature), a[i]);
		best = fmin(best, fmin(v3d_dot(on_a, on_a), v3d_dot(on_b, on_b)));
		for (int j = 0; j < 3; j++) {
			double s, t;
			best = fmin(best, cr_closest_segments(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3], &s, &t, &on_a, &on_b));
		}
	}
	return best;
}

double oracle_distance(const oracle_body *a, const oracle_body *b)
{
	double best = INFINITY;
	for (int32_t i = 0; i < a->shape->triangle_count; i++) {
		v3d corner_a[3], corner_b[3];
		get_triangle(a, i, corner_a);
		for (int32_t j = 0; j < b->shape->triangle_count; j++) {
			get_triangle(b, j, corner_b);
			best = fmin(best, triangle_distance2(corner_a, corner_b));
		}
	}
	return sqrt(best);
}

#ifdef CAROM_HAVE_CGAL
int64_t oracle_cgal_count_crossings(const oracle_body *a, const oracle_body *b)
{
	int64_t crossings = 0;
	for (int32_t i = 0; i < a->shape->triangle_count; i++) {
		v3d corner_a[3], corner_b[3];
		get_triangle(a, i, corner_a);
		const carom_aabb box_a = triangle_box(corner_a);
		for (int32_t j = 0; j < b->shape->triangle_count; j++) {
			get_triangle(b, j, corner_b);
			const carom_aabb box_b = triangle_box(corner_b);
			crossings += boxes_overlap(&box_a, &box_b) && oracle_cgal_triangles_intersect(corner_a, corner_b);
		}
	}
	return crossings;
}
#endif
