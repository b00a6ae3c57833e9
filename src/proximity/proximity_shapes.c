/// Features near shapes. For each shape the tree of the sweep gives the triangles whose boxes come
/// within the distance of the shape's box; each of them, and each of their corners, is measured
/// against the shape (geom/separation.h), whose gap is a lower bound. A plane is measured against
/// all vertices: above it no triangle is lower than its corners. O(log n) and what is near for each
/// shape, O(vertices) for a plane; one thread.
#include "proximity/proximity_state.h"
#include "frame/shape_check.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "geom/separation.h"
#include "geom/triangle.h"
#include <math.h>
#include <string.h>

enum { SHAPE_COOKIE = 0x50525350 };

// Of the longest edge of a triangle: within that a nearest point lies on an edge or a corner. Where
// it does, the search (geom/separation.h) misses it by 1e-15 of the edge.
#define SAME_PLACE 1e-9
// Of the size of the shape and its distance: roundings of the search add so much.
#define ROUNDING 0x1p-46

// ---- Shapes ----

carom_proximity_shape_def carom_default_proximity_shape_def(void)
{
	return (carom_proximity_shape_def){ .cookie = SHAPE_COOKIE,
		.shape = { .type = CAROM_SPHERE, .radius = 0.5 },
		.pose = { { 0, 0, 0 }, { 0, 0, 0, 1 } },
		.category = 1,
		.mask = UINT64_MAX };
}

static carom_result check_shape_def(carom_context *context, const carom_proximity_shape_def *def, carom_pose *pose)
{
	static const char *const name = "carom_proximity_add_shape";
	if (!def)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: def is NULL", name);
	if (def->cookie != SHAPE_COOKIE)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "carom_proximity_shape_def.cookie: start from carom_default_proximity_shape_def");
	if (def->shape.type == CAROM_MESH)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "%s: shape.type is CAROM_MESH: carom_proximity_add_mesh takes meshes", name);
	const carom_result result = cr_check_shape(context, &def->shape, name);
	return result == CAROM_SUCCESS ? cr_check_pose(context, &def->pose, name, "pose", pose) : result;
}

bool cr_append_near_shape(carom_proximity *p, const carom_shape *shape, const carom_pose *pose, cr_sweep_filter filter)
{
	if (!cr_array_reserve_one(p->context, &p->shapes))
		return false;
	p->shapes.data[p->shapes.count++] = (cr_near_shape){ *shape, *pose, filter };
	if (cr_has_mesh(shape))
		carom_retain_mesh(shape->mesh);
	p->distance = 0;
	return true;
}

carom_result carom_proximity_add_shape(carom_proximity *p, const carom_proximity_shape_def *def, int32_t *shape)
{
	if (!p)
		return CAROM_INVALID_ARGUMENT;
	if (!shape)
		return cr_fail(p->context, CAROM_INVALID_ARGUMENT, "carom_proximity_add_shape: shape is NULL");
	carom_pose pose;
	const carom_result result = check_shape_def(p->context, def, &pose);
	if (result != CAROM_SUCCESS)
		return result;
	if (!cr_append_near_shape(p, &def->shape, &pose, (cr_sweep_filter){ def->category, def->mask, def->group }))
		return cr_fail_memory(p->context, "a shape of a proximity scene");
	*shape = (int32_t)p->shapes.count - 1;
	return CAROM_SUCCESS;
}

carom_result carom_proximity_place_shape(carom_proximity *p, int32_t shape, const carom_pose *pose)
{
	static const char *const name = "carom_proximity_place_shape";
	if (!p)
		return CAROM_INVALID_ARGUMENT;
	if (shape < 0 || shape >= p->shapes.count)
		return cr_fail(p->context, CAROM_INVALID_ARGUMENT, "%s: shape is %d, but there are %d shapes", name, (int)shape,
			(int)p->shapes.count);
	if (!pose)
		return cr_fail(p->context, CAROM_INVALID_ARGUMENT, "%s: pose is NULL", name);
	carom_pose normal;
	const carom_result result = cr_check_pose(p->context, pose, name, "pose", &normal);
	if (result != CAROM_SUCCESS)
		return result;
	p->shapes.data[shape].pose = normal;
	p->distance = 0;
	return CAROM_SUCCESS;
}

void cr_clear_near_shapes(carom_proximity *p)
{
	for (int64_t i = 0; i < p->shapes.count; i++) {
		if (cr_has_mesh(&p->shapes.data[i].shape))
			carom_release_mesh((carom_mesh *)p->shapes.data[i].shape.mesh);
	}
	p->shapes.count = 0;
}

void cr_free_near_shapes(carom_proximity *p)
{
	cr_clear_near_shapes(p);
	cr_array_free(p->context, &p->shapes);
}

// ---- Triangles near a shape ----

static bool do_meet(const cr_sweep_filter *a, const cr_sweep_filter *b)
{
	if (a->group != 0 && a->group == b->group)
		return a->group > 0;
	return (a->category & b->mask) != 0 && (b->category & a->mask) != 0;
}

bool cr_list_near_triangles(carom_proximity *p, const double lower[3], const double upper[3], int32_t group)
{
	const carom_sweep *s = p->sweep;
	const cr_sweep_tree *tree = &s->tree;
	p->triangles.count = 0;
	for (int32_t node = 0; node < tree->node_count;) {
		const float *box = tree->node_boxes.main + (int64_t)CR_DOP_STRIDE * node;
		bool apart = false;
		for (int k = 0; k < 3; k++)
			apart = apart || (double)box[k] > upper[k] || (double)box[CR_DOP_STRIDE / 2 + k] < lower[k];
		const cr_sweep_node *n = &tree->nodes[node];
		apart = apart || (group >= 0 && n->group == group);
		if (!apart && cr_is_leaf(n)) {
			if (!cr_array_reserve_one(p->context, &p->triangles))
				return false;
			p->triangles.data[p->triangles.count++] = s->order.given_triangles[~n->right];
		}
		node += apart ? n->size : 1;
	}
	return true;
}

// ---- Measuring ----

/// A shape as features are measured against it.
typedef struct measure {
	carom_proximity *proximity;
	int32_t number;
	const cr_near_shape *shape;
	cr_convex convex; // not of a plane
	m3d rotation;
	double distance;
} measure;

/// Measure a triangle or a vertex against a convex shape: separation in axes of the world, from the
/// first corner.
static void separate(const measure *m, const v3d *corners, int count, cr_separation *s)
{
	cr_convex feature = { .core = count == 1 ? CR_CORE_POINT : CR_CORE_TRIANGLE };
	for (int k = 1; k < count; k++)
		feature.corner[k] = v3d_sub(corners[k], corners[0]);
	const cr_relative at = { m->rotation, v3d_sub(m->shape->pose.position, corners[0]) };
	cr_convex_separation(&feature, &m->convex, &at, s);
}

static bool add_pair(const measure *m, const carom_proximity_shape_pair *pair)
{
	carom_proximity *p = m->proximity;
	if (!cr_array_reserve_one(p->context, &p->shape_pairs))
		return false;
	p->shape_pairs.data[p->shape_pairs.count++] = *pair;
	return true;
}

static carom_proximity_shape_pair start_pair(const measure *m, int32_t mesh, const cr_separation *s, v3d origin)
{
	return (carom_proximity_shape_pair){ .shape = m->number,
		.mesh = mesh,
		.vertices = { -1, -1, -1 },
		.triangle = -1,
		.point = v3d_add(origin, s->on_b),
		.normal = s->normal,
		.gap = s->gap };
}

/// Add a vertex, by its number among those of all meshes, where it is near.
static bool add_vertex(const measure *m, int32_t mesh, int32_t vertex, const cr_separation *s)
{
	if (!(s->gap < m->distance))
		return true;
	const carom_sweep *sweep = m->proximity->sweep;
	carom_proximity_shape_pair pair = start_pair(m, mesh, s, cr_near_vertex(m->proximity, vertex));
	pair.vertices[0] = vertex - sweep->mesh_vertices.data[mesh];
	pair.weight[0] = 1;
	double *gap = &m->proximity->shape_gaps.data[vertex];
	*gap = fmin(*gap, s->gap);
	return add_pair(m, &pair);
}

int cr_name_feature(const cr_measured_triangle *t, v3d nearest, int32_t vertices[3], double weight[3], v3d *point)
{
	double longest2 = 0;
	for (int k = 0; k < 3; k++) {
		const v3d edge = v3d_sub(t->place[(k + 1) % 3], t->place[k]);
		longest2 = fmax(longest2, v3d_dot(edge, edge));
	}
	cr_triangle_point on = cr_closest_on_triangle(nearest, t->place);
	cr_snap_triangle_point(t->place, SAME_PLACE * sqrt(longest2) + ROUNDING * t->reach, &on);
	int count = 0;
	for (int k = 0; k < 3; k++) {
		vertices[k] = -1;
		weight[k] = 0;
		if (!(on.weight[k] > 0))
			continue;
		vertices[count] = t->corner[k];
		weight[count++] = on.weight[k];
	}
	if (count == 2 && vertices[0] > vertices[1]) {
		const int32_t vertex = vertices[0];
		const double first = weight[0];
		vertices[0] = vertices[1];
		weight[0] = weight[1];
		vertices[1] = vertex;
		weight[1] = first;
	}
	*point = on.point;
	return count;
}

/// Name the edge or the face that a nearest point lies on. False where it is a corner of a triangle
/// that does not overlap the shape: it is listed as a vertex. One that overlaps it may be deeper
/// than each of its corners.
static bool name_part(const cr_measured_triangle *t, int32_t triangle, v3d nearest, carom_proximity_shape_pair *pair)
{
	v3d unused;
	int count = cr_name_feature(t, nearest, pair->vertices, pair->weight, &unused);
	if (count == 1 && pair->gap < 0) {
		for (int k = 0; k < 3; k++)
			pair->weight[k] = t->corner[k] == pair->vertices[0];
		memcpy(pair->vertices, t->corner, sizeof pair->vertices);
		count = 3;
	}
	pair->triangle = count == 3 ? triangle : -1;
	return count > 1;
}

/// Add a triangle, by the sweep's number, where its edge or face is near; note its gap.
static bool add_triangle(const measure *m, int32_t mesh, int32_t triangle)
{
	carom_proximity *p = m->proximity;
	const carom_sweep *sweep = p->sweep;
	const int32_t *given = sweep->triangles.data + 3 * (int64_t)triangle;
	v3d corners[3];
	cr_measured_triangle t;
	for (int k = 0; k < 3; k++) {
		corners[k] = cr_near_vertex(p, given[k]);
		t.place[k] = v3d_sub(corners[k], corners[0]);
		t.corner[k] = given[k] - sweep->mesh_vertices.data[mesh];
	}
	cr_separation s;
	separate(m, corners, 3, &s);
	if (!(s.gap < m->distance))
		return true;
	for (int k = 0; k < 3; k++)
		p->shape_gaps.data[given[k]] = fmin(p->shape_gaps.data[given[k]], s.gap);
	carom_proximity_shape_pair pair = start_pair(m, mesh, &s, corners[0]);
	t.reach = cr_convex_size(&m->convex) + v3d_length(v3d_sub(m->shape->pose.position, corners[0]));
	return !name_part(&t, sweep->triangle_numbers.data[triangle], s.on_a, &pair) || add_pair(m, &pair);
}

/// Put the listed triangles in the order of their numbers. That of the tree depends on earlier
/// steps, and of two triangles whose common edge is as near the first one measures it.
static bool sort_triangles(carom_proximity *p)
{
	const int64_t count = p->triangles.count;
	if (!cr_array_reserve_fresh(p->context, &p->keys, 2 * count))
		return false;
	for (int64_t i = 0; i < count; i++)
		p->keys.data[i] = (cr_key){ (uint64_t)p->triangles.data[i], 0 };
	if (count > 0)
		cr_radix_sort(p->keys.data, p->keys.data + count, count, 32);
	for (int64_t i = 0; i < count; i++)
		p->triangles.data[i] = (int32_t)p->keys.data[i].key;
	return true;
}

/// The corners of the listed triangles, each once. Keys hold their numbers among those of all
/// meshes.
static bool list_corners(carom_proximity *p)
{
	const carom_sweep *s = p->sweep;
	const int64_t count = 3 * p->triangles.count;
	if (!cr_array_reserve_fresh(p->context, &p->keys, 2 * count))
		return false;
	for (int64_t i = 0; i < count; i++)
		p->keys.data[i] = (cr_key){ (uint64_t)s->triangles.data[3 * (int64_t)p->triangles.data[i / 3] + i % 3], 0 };
	if (count > 0)
		cr_radix_sort(p->keys.data, p->keys.data + count, count, 32);
	p->keys.count = 0;
	for (int64_t i = 0; i < count; i++) {
		if (i == 0 || p->keys.data[i].key != p->keys.data[p->keys.count - 1].key)
			p->keys.data[p->keys.count++] = p->keys.data[i];
	}
	return true;
}

static int32_t mesh_of(const carom_sweep *s, int32_t vertex)
{
	return cr_mesh_of_vertex(s->mesh_vertices.data, (int32_t)s->meshes.count, vertex);
}

static bool meets(const measure *m, int32_t mesh)
{
	return do_meet(&m->proximity->sweep->filters.data[mesh], &m->shape->filter);
}

static bool measure_convex(measure *m)
{
	carom_proximity *p = m->proximity;
	const carom_sweep *s = p->sweep;
	double lower[3], upper[3];
	cr_convex_bounds(&m->convex, &m->rotation, lower, upper);
	for (int k = 0; k < 3; k++) {
		const double at = v3d_get(m->shape->pose.position, k);
		const double slack = m->distance + (fabs(at) + fabs(lower[k]) + fabs(upper[k])) * 0x1p-40;
		lower[k] += at - slack;
		upper[k] += at + slack;
	}
	if (!cr_list_near_triangles(p, lower, upper, -1) || !sort_triangles(p) || !list_corners(p))
		return false;
	bool enough = true;
	for (int64_t i = 0; i < p->triangles.count && enough; i++) {
		const int32_t mesh = mesh_of(s, s->triangles.data[3 * (int64_t)p->triangles.data[i]]);
		enough = !meets(m, mesh) || add_triangle(m, mesh, p->triangles.data[i]);
	}
	for (int64_t i = 0; i < p->keys.count && enough; i++) {
		const int32_t vertex = (int32_t)p->keys.data[i].key, mesh = mesh_of(s, vertex);
		const v3d at = cr_near_vertex(p, vertex);
		cr_separation separation;
		if (!meets(m, mesh))
			continue;
		separate(m, &at, 1, &separation);
		enough = add_vertex(m, mesh, vertex, &separation);
	}
	return enough;
}

static bool measure_plane(measure *m)
{
	carom_proximity *p = m->proximity;
	const carom_sweep *s = p->sweep;
	const v3d up = { m->rotation.row[0].z, m->rotation.row[1].z, m->rotation.row[2].z };
	bool enough = true;
	// The vertices that triangles have are those of the scene.
	for (int32_t i = 0; i < s->order.vertex_count && enough; i++) {
		const int32_t vertex = s->order.given_vertices[i], mesh = mesh_of(s, vertex);
		if (!meets(m, mesh))
			continue;
		const v3d from = v3d_sub(cr_near_vertex(p, vertex), m->shape->pose.position);
		const double height = v3d_dot(up, from), lost = v3d_length(from) * 0x1p-48;
		const cr_separation separation = { .gap = height - lost, .normal = up, .on_b = v3d_scale(up, -height) };
		enough = add_vertex(m, mesh, vertex, &separation);
	}
	return enough;
}

// ---- Order ----

/// Put the pairs of a shape, from first on, in order. Two triangles may name the edge between them:
/// the nearer one stays.
static bool order_pairs(carom_proximity *p, int64_t first)
{
	const int64_t count = p->shape_pairs.count - first;
	carom_proximity_shape_pair *pairs = p->shape_pairs.data + first;
	if (count == 0)
		return true;
	if (!cr_array_reserve_fresh(p->context, &p->keys, 2 * count) || !cr_array_reserve_fresh(p->context, &p->sorted, count))
		return false;
	for (int64_t i = 0; i < count; i++)
		p->keys.data[i] = (cr_key){ cr_feature_key(pairs[i].vertices, pairs[i].triangle), (uint32_t)i };
	cr_radix_sort(p->keys.data, p->keys.data + count, count, 64);
	for (int64_t i = 0; i < count; i++)
		p->keys.data[i].key = (uint64_t)pairs[p->keys.data[i].value].mesh;
	cr_radix_sort(p->keys.data, p->keys.data + count, count, 32);
	int64_t kept = 0;
	for (int64_t i = 0; i < count; i++) {
		const carom_proximity_shape_pair *now = &pairs[p->keys.data[i].value];
		carom_proximity_shape_pair *last = kept > 0 ? &p->sorted.data[kept - 1] : NULL;
		if (!last || last->mesh != now->mesh ||
			cr_feature_key(last->vertices, last->triangle) != cr_feature_key(now->vertices, now->triangle))
			p->sorted.data[kept++] = *now;
		else if (now->gap < last->gap)
			*last = *now;
	}
	memcpy(pairs, p->sorted.data, (size_t)kept * sizeof *pairs);
	p->shape_pairs.count = first + kept;
	return true;
}

bool cr_find_near_shapes(carom_proximity *p, double distance)
{
	const carom_sweep *s = p->sweep;
	const int32_t vertices = s->mesh_vertices.data[s->meshes.count];
	p->shape_gaps.count = 0;
	if (p->shapes.count == 0 || s->triangle_numbers.count == 0)
		return true;
	if (!cr_array_reserve_fresh(p->context, &p->shape_gaps, vertices))
		return false;
	for (int32_t i = 0; i < vertices; i++)
		p->shape_gaps.data[i] = INFINITY;
	p->shape_gaps.count = vertices;
	bool enough = true;
	for (int64_t i = 0; i < p->shapes.count && enough; i++) {
		const cr_near_shape *shape = &p->shapes.data[i];
		const int64_t first = p->shape_pairs.count;
		measure m = { p, (int32_t)i, shape, { 0 }, m3d_from_quat(shape->pose.orientation), distance };
		if (shape->shape.type != CAROM_PLANE)
			m.convex = cr_convex_of(&shape->shape);
		enough = (shape->shape.type == CAROM_PLANE ? measure_plane(&m) : measure_convex(&m)) && order_pairs(p, first);
	}
	return enough;
}
