/// Pairs of features that are near each other. See carom/proximity.h.
///
/// The work is that of a sweep in which nothing moves: its tree, its front and its rule that each
/// vertex and each edge belongs to one triangle give each pair of features once. Boxes are widened
/// by half the distance on each side and by the roundings (sweep/sweep_tree.h), so no pair nearer
/// than that is without a test. The elementary test is that of geom/feature_distance.h; from it on
/// the work is in proximity_pairs.c.
///
/// Safe displacements, proved. Let the features of a pair be at least g apart, and let none of
/// their vertices move farther than g / 2. A point of a feature is a mean of its vertices, so it
/// moves no farther than the farthest of these, and two points of the two features stay apart by
/// more than g - g / 2 - g / 2. Of pairs that were not found g is at least the distance d of the
/// search, up to the rounding of distance2, and no vertex moves farther than d / 2 less that
/// rounding. Surfaces that do not cross can only come to cross where a vertex meets a face or an
/// edge another edge.
#include "proximity/proximity_state.h"
#include "geom/feature_distance.h"
#include "sweep/sweep_cookies.h"
#include <math.h>
#include <string.h>

enum { PROXIMITY_COOKIE = 0x50524f58 };

// ---- Making ----

carom_proximity_def carom_default_proximity_def(void)
{
	const carom_sweep_def sweep = carom_default_sweep_def();
	return (carom_proximity_def){ .cookie = PROXIMITY_COOKIE, .method = sweep.method, .front_budget = sweep.front_budget };
}

static carom_result check_def(carom_context *context, const carom_proximity_def *def)
{
	if (def->cookie != PROXIMITY_COOKIE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_proximity_def.cookie: start from carom_default_proximity_def");
	if ((int)def->method < CAROM_SWEEP_AUTO || def->method > CAROM_SWEEP_BVH)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"carom_proximity_def.method is %d, none of CAROM_SWEEP_AUTO, CAROM_SWEEP_FRONT and CAROM_SWEEP_BVH",
			(int)def->method);
	if (def->max_pairs < 0)
		return cr_fail(
			context, CAROM_INVALID_ARGUMENT, "carom_proximity_def.max_pairs is %lld, below 0", (long long)def->max_pairs);
	return cr_check_sweep_device(context, "carom_proximity_def.device", def->device);
}

carom_result carom_create_proximity(carom_context *context, const carom_proximity_def *def, carom_proximity **proximity)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!proximity)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_proximity: proximity is NULL");
	*proximity = NULL;
	const carom_proximity_def defaults = carom_default_proximity_def();
	def = def ? def : &defaults;
	carom_result result = check_def(context, def);
	if (result != CAROM_SUCCESS)
		return result;
	carom_proximity *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "a proximity scene");
	made->context = context;
	made->max_pairs = def->max_pairs;
	carom_sweep_def sweep = carom_default_sweep_def();
	sweep.method = def->method;
	sweep.front_budget = def->front_budget;
	sweep.device = def->device;
	sweep.device_fallback = def->device_fallback;
	result = carom_create_sweep(context, &sweep, &made->sweep);
	if (result != CAROM_SUCCESS) {
		cr_free(context, made, sizeof *made);
		return result;
	}
	*proximity = made;
	return CAROM_SUCCESS;
}

void carom_destroy_proximity(carom_proximity *p)
{
	if (!p)
		return;
	carom_context *context = p->context;
	cr_free_near_shapes(p);
	cr_free_near_workers(p);
	cr_array_free(context, &p->pairs);
	cr_array_free(context, &p->shape_pairs);
	cr_array_free(context, &p->keys);
	cr_array_free(context, &p->sorted);
	cr_array_free(context, &p->triangles);
	cr_array_free(context, &p->shape_gaps);
	cr_array_free(context, &p->safe);
	carom_destroy_sweep(p->sweep);
	cr_free(context, p, sizeof *p);
}

// ---- Meshes ----

/// A change that was made: safe displacements are of another scene.
static carom_result note_change(carom_proximity *p, carom_result result)
{
	if (result == CAROM_SUCCESS)
		p->distance = 0;
	return result;
}

carom_result carom_proximity_add_mesh(carom_proximity *p, const carom_sweep_mesh_def *def, int32_t *mesh)
{
	if (!p)
		return CAROM_INVALID_ARGUMENT;
	return note_change(p, carom_sweep_add_mesh(p->sweep, def, mesh));
}

carom_result carom_proximity_place_mesh(carom_proximity *p, int32_t mesh, const carom_strided *vertices)
{
	if (!p)
		return CAROM_INVALID_ARGUMENT;
	return note_change(p, cr_place_sweep_mesh(p->sweep, "carom_proximity_place_mesh", mesh, vertices));
}

carom_result carom_proximity_set_filter(carom_proximity *p, int32_t mesh, uint64_t category, uint64_t mask, int32_t group)
{
	if (!p)
		return CAROM_INVALID_ARGUMENT;
	return note_change(p, cr_set_sweep_filter(p->sweep, "carom_proximity_set_filter", mesh, category, mask, group));
}

v3d cr_near_vertex(const carom_proximity *p, int32_t vertex)
{
	const carom_sweep *s = p->sweep;
	const cr_sweep_mesh *mesh = &s->meshes.data[cr_mesh_of_vertex(s->mesh_vertices.data, (int32_t)s->meshes.count, vertex)];
	const double *end = mesh->own_first < 0 ? mesh->lent_end : s->end.data + 3 * (int64_t)mesh->own_first;
	const double *at = end + 3 * (int64_t)(vertex - mesh->first_vertex);
	return (v3d){ at[0], at[1], at[2] };
}

// ---- Searching ----

static carom_result check_find(carom_proximity *p, double distance, const carom_proximity_view *view)
{
	if (!view)
		return cr_fail(p->context, CAROM_INVALID_ARGUMENT, "carom_proximity_find: view is NULL");
	if (!(distance > 0 && distance <= CAROM_MAX_COORDINATE))
		return cr_fail(p->context, CAROM_INVALID_ARGUMENT, "carom_proximity_find: distance is %g, not above 0 and at most %g",
			distance, CAROM_MAX_COORDINATE);
	return CAROM_SUCCESS;
}

static carom_result find(carom_proximity *p, double distance)
{
	static const char *const what = "the pairs of a proximity scene";
	p->reach = distance;
	cr_bound_near_cuts(p);
	const carom_result result = cr_search_near(p->sweep, distance,
		(cr_sweep_taker){
			.start = cr_start_near_workers, .take = cr_take_near_pairs, .leaves = cr_take_near_leaves, .user = p });
	if (result != CAROM_SUCCESS)
		return result;
	if (p->shapes.count > 0)
		cr_fit_sweep_boxes(p->sweep);
	if (!cr_find_near_shapes(p, distance))
		return cr_fail_memory(p->context, what);
	const int64_t all = cr_count_near_pairs(p) + p->shape_pairs.count;
	if (p->max_pairs > 0 && all > p->max_pairs)
		return cr_fail(p->context, CAROM_OVER_BUDGET, "carom_proximity_find: there are %lld pairs; max_pairs is %lld",
			(long long)all, (long long)p->max_pairs);
	if (!cr_sort_near_pairs(p) || !cr_sort_near_cuts(p))
		return cr_fail_memory(p->context, what);
	return CAROM_SUCCESS;
}

carom_result carom_proximity_find(carom_proximity *p, double distance, carom_proximity_view *view)
{
	if (!p)
		return CAROM_INVALID_ARGUMENT;
	carom_result result = check_find(p, distance, view);
	if (result != CAROM_SUCCESS)
		return result;
	*view = (carom_proximity_view){ 0 };
	p->distance = 0;
	p->pairs.count = p->shape_pairs.count = p->safe.count = 0;
	result = find(p, distance);
	if (result != CAROM_SUCCESS)
		return result;
	p->distance = distance;
	*view = (carom_proximity_view){ p->pairs.data, p->pairs.count, p->shape_pairs.data, p->shape_pairs.count };
	return CAROM_SUCCESS;
}

carom_sweep_stats carom_proximity_get_stats(const carom_proximity *p) { return carom_sweep_get_stats(p->sweep); }

// ---- Safe displacements ----

/// The least distance of pairs that were not found: that of the search, less the rounding of
/// distance2. Vertices of a pair that is not told apart along an axis are no farther from each
/// other than two edges and the distance along each axis.
static double unfound(const carom_proximity *p)
{
	const carom_sweep *s = p->sweep;
	double longest = 0;
	for (int64_t i = 0; i < 3 * s->triangle_numbers.count; i++) {
		const int32_t *corners = s->triangles.data + (i - i % 3);
		const v3d edge = v3d_sub(cr_near_vertex(p, corners[i % 3]), cr_near_vertex(p, corners[(i + 1) % 3]));
		longest = fmax(longest, v3d_length(edge));
	}
	const double d = p->distance, most = 2 * (longest + d), square = d * d - most * most * 0x1p-44;
	return square > 0 ? sqrt(square) : 0;
}

static void lower(carom_proximity *p, int32_t vertex, double bound)
{
	double *now = &p->safe.data[vertex];
	*now = bound < *now ? bound : *now;
}

static bool measure_safe(carom_proximity *p)
{
	const carom_sweep *s = p->sweep;
	const int32_t *firsts = s->mesh_vertices.data, count = firsts[s->meshes.count];
	if (!cr_array_reserve_fresh(p->context, &p->safe, count))
		return false;
	const double most = 0.5 * unfound(p);
	for (int32_t i = 0; i < count; i++)
		p->safe.data[i] = most;
	for (int64_t i = 0; i < p->pairs.count; i++) {
		const carom_proximity_pair *pair = &p->pairs.data[i];
		const int of_a = pair->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		for (int k = 0; k < 4; k++)
			lower(p, firsts[k < of_a ? pair->mesh_a : pair->mesh_b] + pair->vertices[k], 0.5 * pair->gap);
	}
	for (int64_t i = 0; i < p->shape_gaps.count; i++)
		lower(p, (int32_t)i, fmax(0, p->shape_gaps.data[i]));
	for (int32_t i = 0; i < count; i++)
		p->safe.data[i] *= 1 - 0x1p-30;
	p->safe.count = count;
	return true;
}

carom_result carom_proximity_get_safe_displacements(carom_proximity *p, int32_t mesh, double *displacement)
{
	static const char *const name = "carom_proximity_get_safe_displacements";
	if (!p)
		return CAROM_INVALID_ARGUMENT;
	const carom_sweep *s = p->sweep;
	if (mesh < 0 || mesh >= s->meshes.count)
		return cr_fail(p->context, CAROM_INVALID_ARGUMENT, "%s: mesh is %d, but there are %d meshes", name, (int)mesh,
			(int)s->meshes.count);
	if (!displacement)
		return cr_fail(p->context, CAROM_INVALID_ARGUMENT, "%s: displacement is NULL", name);
	if (!(p->distance > 0))
		return cr_fail(p->context, CAROM_INVALID_ARGUMENT,
			"%s: there was no search since something was placed or added: call carom_proximity_find", name);
	if (p->safe.count == 0 && !measure_safe(p))
		return cr_fail_memory(p->context, "the safe displacements of a proximity scene");
	const cr_sweep_mesh *m = &s->meshes.data[mesh];
	if (m->vertex_count > 0)
		memcpy(displacement, &p->safe.data[m->first_vertex], (size_t)m->vertex_count * sizeof *displacement);
	return CAROM_SUCCESS;
}

// ---- One pair ----

carom_result carom_proximity_of_pair(
	carom_context *context, carom_sweep_kind kind, const double vertices[4][3], carom_proximity_pair *pair)
{
	static const char *const name = "carom_proximity_of_pair";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!vertices || !pair)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, vertices ? "pair" : "vertices");
	if (kind != CAROM_SWEEP_VERTEX_FACE && kind != CAROM_SWEEP_EDGE_EDGE)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: kind is %d, none of carom_sweep_kind", name, (int)kind);
	v3d at[4];
	for (int k = 0; k < 4; k++) {
		for (int axis = 0; axis < 3; axis++) {
			if (!(fabs(vertices[k][axis]) <= CAROM_MAX_COORDINATE))
				return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: vertices[%d][%d] is %g; it must lie within %g of 0", name,
					k, axis, vertices[k][axis], CAROM_MAX_COORDINATE);
		}
		at[k] = (v3d){ vertices[k][0], vertices[k][1], vertices[k][2] };
	}
	*pair =
		(carom_proximity_pair){ .kind = kind, .vertices = { 0, 1, 2, 3 }, .triangle = kind == CAROM_SWEEP_VERTEX_FACE ? 0 : -1 };
	cr_near near;
	cr_near_of(kind == CAROM_SWEEP_VERTEX_FACE ? CR_SWEPT_VERTEX_FACE : CR_SWEPT_EDGE_EDGE, at, &near);
	cr_fill_near_pair(&near, at[0], pair);
	return CAROM_SUCCESS;
}
