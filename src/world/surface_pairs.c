/// Pairs of triangles that intersect, within one mesh or between two (carom/mesh_query.h), or of
/// bodies of a world (carom_world_find_crossings). They are decided on the coordinates as they were
/// given: doubles where the caller gave doubles that a float does not hold.
///
/// Two meshes of floats have their trees: the pair walk of detection gives candidates, with a
/// margin for the rounding of the pose, and each goes to the exact test. O(k log n) time for k
/// candidates.
///
/// The trees of a mesh are over rounded vertices, and leave out triangles that rounding made flat.
/// So a mesh with doubles, one whose vertices move, and another one beside it, get a tree of their
/// own for the call: boxes of the triangles as given, rounded outward to float. Each triangle walks
/// it, and triangles that its box meets go to the exact test. Of two meshes only triangles that
/// meet the box around the other take part. O((n + k) log n) time for k pairs, about 100 bytes a
/// triangle.
#include "base/arena.h"
#include "base/array.h"
#include "base/radix.h"
#include "carom/mesh_query.h"
#include "geom/triangle.h"
#include "world/surface_pairs.h"
#include "world/world.h"

/// The triangles of a mesh that take part, where they are.
typedef struct surface {
	cr_placed_surface placed;
	uint8_t *used;        // [triangle_count] of the mesh as given
	int32_t *numbers;     // [count] of the triangles that take part
	float *lower, *upper; // [3][count] boxes
	cr_build_boxes boxes; // the same
	int32_t count;
	int32_t triangle_count;
} surface;

static v3d corner_of(const surface *s, int32_t triangle, int k)
{
	const cr_topology *t = s->placed.topology;
	const int64_t place = 3 * (int64_t)t->triangles[3 * (int64_t)triangle + k];
	const double *exact = s->placed.exact;
	if (s->placed.deforms)
		return v3d_from_doubles(exact + place);
	const v3d p = exact ? v3d_from_doubles(exact + place) : v3d_from_floats(t->vertices + place);
	return v3d_add(m3d_mul(&s->placed.rotation, p), s->placed.position);
}

static void corners_of(const surface *s, int32_t triangle, v3d corners[3])
{
	for (int k = 0; k < 3; k++)
		corners[k] = corner_of(s, triangle, k);
}

static void close_surface(carom_context *context, surface *s)
{
	cr_free(context, s->used, (size_t)s->triangle_count);
	cr_free(context, s->numbers, (size_t)s->triangle_count * sizeof *s->numbers);
	cr_free(context, s->lower, 3 * (size_t)s->triangle_count * sizeof(float));
	cr_free(context, s->upper, 3 * (size_t)s->triangle_count * sizeof(float));
}

static void bound_triangles(surface *s)
{
	for (int32_t i = 0; i < s->count; i++) {
		v3d c[3];
		corners_of(s, s->numbers[i], c);
		for (int axis = 0; axis < 3; axis++) {
			const double x = v3d_get(c[0], axis), y = v3d_get(c[1], axis), z = v3d_get(c[2], axis);
			const double low = x < y ? x : y, high = x > y ? x : y;
			s->lower[(int64_t)axis * s->count + i] = cr_round_down(low < z ? low : z);
			s->upper[(int64_t)axis * s->count + i] = cr_round_up(high > z ? high : z);
		}
	}
	s->boxes.count = s->count;
	for (int axis = 0; axis < 3; axis++) {
		s->boxes.lower[axis] = s->lower + (int64_t)axis * s->count;
		s->boxes.upper[axis] = s->upper + (int64_t)axis * s->count;
	}
}

static bool has_three_corners(const int32_t t[3]) { return t[0] != t[1] && t[1] != t[2] && t[2] != t[0]; }

/// Does a triangle of a surface that is open take part?
static bool takes_part(const surface *s, int32_t i)
{
	const cr_topology *t = s->placed.topology;
	if (s->placed.deforms)
		return has_three_corners(&t->triangles[3 * (int64_t)i]);
	return (s->placed.exact ? s->used : t->used)[i];
}

/// The surface of a mesh at its place in the other's frame. False when out of memory; close_surface
/// in any case.
static bool open_surface(carom_context *context, const cr_placed_surface *placed, surface *s)
{
	const cr_topology *t = placed->topology;
	const size_t count = (size_t)t->triangle_count;
	*s = (surface){ .placed = *placed, .triangle_count = t->triangle_count };
	if (count == 0)
		return true;
	s->used = cr_alloc_array(context, count, 1);
	s->numbers = cr_alloc_array(context, count, sizeof *s->numbers);
	s->lower = cr_alloc_array(context, 3 * count, sizeof *s->lower);
	s->upper = cr_alloc_array(context, 3 * count, sizeof *s->upper);
	if (!s->used || !s->numbers || !s->lower || !s->upper)
		return false;
	if (placed->exact && !placed->deforms && !cr_mesh_judge_exact(context, t, placed->exact, s->used))
		return false;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		if (takes_part(s, i))
			s->numbers[s->count++] = i;
	}
	bound_triangles(s);
	return true;
}

/// The surface of a mesh as it was given, at a place.
static cr_placed_surface place_mesh(const carom_mesh *mesh, const m3d *rotation, v3d position)
{
	return (cr_placed_surface){ .topology = &mesh->topology, .exact = mesh->exact, .rotation = *rotation, .position = position };
}

/// Leave out the triangles that do not meet the box of the whole other surface: no tree is made of
/// them. Called once for a surface.
static void keep_near(surface *s, const surface *other)
{
	float lower[3], upper[3];
	for (int axis = 0; axis < 3; axis++) {
		lower[axis] = INFINITY;
		upper[axis] = -INFINITY;
		for (int32_t i = 0; i < other->count; i++) {
			const float low = other->boxes.lower[axis][i], high = other->boxes.upper[axis][i];
			lower[axis] = low < lower[axis] ? low : lower[axis];
			upper[axis] = high > upper[axis] ? high : upper[axis];
		}
	}
	const int64_t row = s->count;
	int32_t kept = 0;
	for (int32_t i = 0; i < s->count; i++) {
		bool meets = true;
		for (int axis = 0; axis < 3; axis++) {
			s->lower[axis * row + kept] = s->lower[axis * row + i];
			s->upper[axis * row + kept] = s->upper[axis * row + i];
			meets = meets && s->lower[axis * row + i] <= upper[axis] && lower[axis] <= s->upper[axis * row + i];
		}
		s->numbers[kept] = s->numbers[i];
		kept += meets;
	}
	s->count = s->boxes.count = kept;
}

static bool share_vertex(const cr_topology *t, int32_t a, int32_t b)
{
	for (int i = 0; i < 9; i++) {
		if (t->triangles[3 * (int64_t)a + i / 3] == t->triangles[3 * (int64_t)b + i % 3])
			return true;
	}
	return false;
}

/// A search of b's tree with triangle number i of a's list; a == b within one mesh.
typedef struct search {
	carom_context *context;
	const surface *a, *b;
	const cr_tree2 *tree; // over b
	cr_triangle_pairs found;
} search;

static bool test_leaf(
	search *s, const cr_node2 *leaf, int32_t a, const float lower[3], const float upper[3], const v3d corners[3])
{
	for (int32_t k = leaf->first; k < leaf->first + leaf->count; k++) {
		const int32_t place = s->tree->order[k], b = s->b->numbers[place];
		bool meets = true;
		for (int axis = 0; axis < 3; axis++)
			meets = meets && s->b->boxes.lower[axis][place] <= upper[axis] && lower[axis] <= s->b->boxes.upper[axis][place];
		// Within one mesh each pair is met from both sides.
		if (!meets || (s->a == s->b && (b <= a || share_vertex(s->a->placed.topology, a, b))))
			continue;
		v3d other[3];
		corners_of(s->b, b, other);
		if (!cr_triangles_intersect(corners, other))
			continue;
		if (!cr_array_reserve_one(s->context, &s->found))
			return false;
		s->found.data[s->found.count++] = (cr_key){ (uint64_t)a << 32 | (uint32_t)b, 0 };
	}
	return true;
}

static bool search_triangle(search *s, int32_t i)
{
	float lower[3], upper[3];
	v3d corners[3];
	corners_of(s->a, s->a->numbers[i], corners);
	for (int axis = 0; axis < 3; axis++) {
		lower[axis] = s->a->boxes.lower[axis][i];
		upper[axis] = s->a->boxes.upper[axis][i];
	}
	for (int32_t n = 0; n < s->tree->node_count;) {
		const cr_node2 *node = &s->tree->nodes[n];
		bool meets = true;
		for (int axis = 0; axis < 3; axis++)
			meets = meets && node->lower[axis] <= upper[axis] && lower[axis] <= node->upper[axis];
		if (meets && node->count > 0 && !test_leaf(s, node, s->a->numbers[i], lower, upper, corners))
			return false;
		n = meets && node->count == 0 ? n + 1 : node->skip;
	}
	return true;
}

/// Sort the pairs. False when out of memory.
static bool sort_pairs(search *s)
{
	if (s->found.count == 0)
		return true;
	cr_key *scratch = cr_alloc_array(s->context, (size_t)s->found.count, sizeof *scratch);
	if (!scratch)
		return false;
	cr_radix_sort(s->found.data, scratch, s->found.count, 64);
	cr_free(s->context, scratch, (size_t)s->found.count * sizeof *scratch);
	return true;
}

/// Sort the pairs and write the first capacity of them.
static bool write_pairs(search *s, int32_t capacity, int32_t (*pairs)[2])
{
	if (capacity == 0)
		return true;
	if (!sort_pairs(s))
		return false;
	for (int64_t i = 0; i < s->found.count && i < capacity; i++) {
		pairs[i][0] = (int32_t)(s->found.data[i].key >> 32);
		pairs[i][1] = (int32_t)(s->found.data[i].key & UINT32_MAX);
	}
	return true;
}

/// Search all pairs of a's and b's triangles. False when out of memory.
static bool search_pairs(search *s)
{
	cr_tree2 tree = { 0 };
	if (s->a->count == 0 || s->b->count == 0)
		return true;
	bool done = cr_tree2_build(s->context, &s->b->boxes, CR_SAH_TRAVERSAL, &tree) == CAROM_SUCCESS;
	s->tree = &tree;
	for (int32_t i = 0; done && i < s->a->count; i++)
		done = search_triangle(s, i);
	cr_tree2_free(s->context, &tree);
	return done;
}

/// All pairs of a's and b's triangles. False when out of memory, or of numbers to count them.
static bool find_pairs(
	carom_context *context, const surface *a, const surface *b, int32_t capacity, int32_t (*pairs)[2], int32_t *count)
{
	search s = { .context = context, .a = a, .b = b };
	const bool done = search_pairs(&s) && s.found.count <= INT32_MAX && write_pairs(&s, capacity, pairs);
	*count = done ? (int32_t)s.found.count : 0;
	cr_array_free(context, &s.found);
	return done;
}

bool cr_find_self_pairs(const carom_mesh *mesh, int32_t capacity, int32_t (*pairs)[2], int32_t *count)
{
	static const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const cr_placed_surface placed = place_mesh(mesh, &identity, v3d_make(0, 0, 0));
	surface s;
	*count = 0;
	const bool done = open_surface(mesh->context, &placed, &s) && find_pairs(mesh->context, &s, &s, capacity, pairs, count);
	close_surface(mesh->context, &s);
	return done;
}

bool cr_find_surface_pairs(
	carom_context *context, const cr_placed_surface *a, const cr_placed_surface *b, cr_triangle_pairs *pairs)
{
	surface first, second = { 0 };
	search s = { .context = context, .a = &first, .b = b ? &second : &first, .found = *pairs };
	s.found.count = 0;
	bool done = open_surface(context, a, &first);
	if (done && b) {
		done = open_surface(context, b, &second);
		if (done) {
			keep_near(&second, &first);
			keep_near(&first, &second);
		}
	}
	done = done && search_pairs(&s) && sort_pairs(&s);
	close_surface(context, &first);
	close_surface(context, &second);
	*pairs = s.found;
	return done;
}

/// A mesh of floats has triangles in its frame; those of b are taken to the frame of a.
static bool do_cross(const carom_mesh *a, const carom_mesh *b, const m3d *rotation, v3d position, cr_candidate pair)
{
	v3d p[3], q[3];
	cr_collider_triangle(&a->collider, pair.a, p);
	cr_collider_triangle(&b->collider, pair.b, q);
	for (int k = 0; k < 3; k++)
		q[k] = v3d_add(m3d_mul(rotation, q[k]), position);
	return cr_triangles_intersect(p, q);
}

/// List all candidates of two meshes of floats. False when out of memory.
static bool list_candidates(
	const carom_mesh *a, const carom_mesh *b, const m3d *rotation, v3d position, cr_candidates *candidates)
{
	static const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	const m3d back = m3d_transpose_mul(rotation, &identity);
	const cr_transform b_to_a = cr_make_transform(rotation, position),
					   a_to_b = cr_make_transform(&back, v3d_neg(m3d_tmul(rotation, position)));
	const cr_bvh_kernels *kernels = cr_get_bvh_kernels(a->context->simd);
	kernels->pairs(&a->collider, &b->collider, &b_to_a, &a_to_b, 0, candidates);
	return !candidates->failed;
}

/// All pairs of two meshes of floats, by their trees. False when out of memory.
static bool find_float_pairs(const carom_mesh *a, const carom_mesh *b, const m3d *rotation, v3d position, int32_t capacity,
	int32_t (*pairs)[2], int32_t *count)
{
	// Further apart than floats can say: they do not touch.
	const double reach = 4 * ((double)a->collider.scale + (double)b->collider.scale);
	if (a->collider.triangle_count == 0 || b->collider.triangle_count == 0 || v3d_length(position) > reach)
		return true;
	cr_arena arena;
	cr_arena_init(&arena, a->context);
	cr_candidates candidates = { .arena = &arena };
	search s = { .context = a->context };
	bool done = list_candidates(a, b, rotation, position, &candidates);
	for (int32_t i = 0; i < candidates.count && done; i++) {
		const cr_candidate pair = candidates.data[i];
		if (!do_cross(a, b, rotation, position, pair))
			continue;
		done = cr_array_reserve_one(a->context, &s.found);
		if (done)
			s.found.data[s.found.count++] = (cr_key){ (uint64_t)pair.a << 32 | (uint32_t)pair.b, 0 };
	}
	done = done && write_pairs(&s, capacity, pairs);
	*count = done ? (int32_t)s.found.count : 0;
	cr_array_free(a->context, &s.found);
	cr_arena_free(&arena);
	return done;
}

/// All pairs of two meshes one of which has doubles. False when out of memory.
static bool find_exact_pairs(const carom_mesh *mesh_a, const carom_mesh *mesh_b, const m3d *rotation, v3d position,
	int32_t capacity, int32_t (*pairs)[2], int32_t *count)
{
	static const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	carom_context *context = mesh_a->context;
	const cr_placed_surface placed_a = place_mesh(mesh_a, &identity, v3d_make(0, 0, 0)),
							placed_b = place_mesh(mesh_b, rotation, position);
	surface a, b = { 0 };
	bool done = open_surface(context, &placed_a, &a) && open_surface(context, &placed_b, &b);
	if (done) {
		keep_near(&b, &a);
		keep_near(&a, &b);
		done = find_pairs(context, &a, &b, capacity, pairs, count);
	}
	close_surface(context, &a);
	close_surface(context, &b);
	return done;
}

/// The pose of b in the frame of a; to the bit that of b where a is at the identity.
static carom_result place(
	carom_context *context, const carom_pose *pose_a, const carom_pose *pose_b, m3d *rotation, v3d *position)
{
	static const char *const name = "carom_mesh_intersections";
	const carom_pose identity = carom_pose_identity();
	carom_pose a = identity, b = identity;
	carom_result result = pose_a ? cr_check_pose(context, pose_a, name, "pose_a", &a) : CAROM_SUCCESS;
	if (result == CAROM_SUCCESS && pose_b)
		result = cr_check_pose(context, pose_b, name, "pose_b", &b);
	if (result == CAROM_SUCCESS)
		cr_relative_pose(&a, &b, rotation, position);
	return result;
}

carom_result carom_mesh_intersections(const carom_mesh *mesh_a, const carom_pose *pose_a, const carom_mesh *mesh_b,
	const carom_pose *pose_b, int32_t capacity, int32_t (*pairs)[2], int32_t *count)
{
	static const char *const name = "carom_mesh_intersections";
	if (!mesh_a)
		return CAROM_INVALID_ARGUMENT;
	carom_context *context = mesh_a->context;
	if (!mesh_b || !count || (capacity > 0 && !pairs))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, !mesh_b ? "mesh_b" : count ? "pairs" : "count");
	*count = 0;
	if (capacity < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: capacity is %d", name, capacity);
	m3d rotation;
	v3d position;
	const carom_result result = place(context, pose_a, pose_b, &rotation, &position);
	if (result != CAROM_SUCCESS)
		return result;
	const bool done = (mesh_a->exact || mesh_b->exact ? find_exact_pairs : find_float_pairs)(
		mesh_a, mesh_b, &rotation, position, capacity, pairs, count);
	return done ? CAROM_SUCCESS : cr_fail_memory(context, "the intersections of two meshes");
}
