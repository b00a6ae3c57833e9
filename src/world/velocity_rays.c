/// Rays from the vertices of a deforming body along their ways and against them
/// (carom_world_cast_velocity_rays): Algorithm 1 of Li and Yamaguchi, Real-time Ray-traced
/// Collision Detection for Deformable Objects, as a query. Each vertex is a query of a batch.
///
/// The header says how the gaps of the paper are filled: triangles around the vertex, vertices at
/// rest, surfaces that move. The nearest hit of a vertex is looked for among all hits of its ray,
/// since its own triangles, on which the ray begins, are passed over by number.
#include "frame/shape_table.h"
#include "sweep/sweep_motion.h"
#include "world/batch_loop.h"
#include "world/body_query.h"
#include "world/overlap_query.h"
#include "world/single_query.h"

#include <string.h>

static const char *const NAME = "carom_world_cast_velocity_rays";

enum { MIN_VERTICES = 16 };

// Of the size of a body: a vertex that moves by less has no direction.
static const double LEAST_WAY = 1e-12;

typedef struct velocity_cast {
	const carom_world *world;
	const carom_query_filter *filter;
	int32_t index;      // of the body that was asked
	const double *ways; // [3*vertex_count]
	double least, longest;
	carom_velocity_rays rays;
	int32_t every;
	cr_batch_lists lists;
} velocity_cast;

/// A ray of a vertex, and its nearest hit so far.
typedef struct vertex_ray {
	const velocity_cast *cast;
	cr_query_ray ray; // unit direction: t is a distance
	int32_t vertex;
	v3d way;      // of the vertex
	double ahead; // 1: the ray goes along the way; -1: against it
	cr_query_item item, nearest;
	const cr_body *seen;
	carom_ray_hit hit;
	bool found;
} vertex_ray;

static const cr_surface *surface_of(const cr_body *body) { return &cr_deforming_of(body)->surface; }

static v3d vector_of(const double *numbers, int32_t i) { return v3d_from_doubles(numbers + 3 * (int64_t)i); }

static const cr_body *body_at(const velocity_cast *c, int32_t index) { return &c->world->bodies.data[index]; }

static const int32_t *corners_of(const cr_body *body, int32_t triangle)
{
	return &body->shape.mesh->topology.triangles[3 * (int64_t)triangle];
}

// ---- Motions ----

static v3d way_of_point(const velocity_cast *c, const cr_body *body, const carom_ray_hit *hit)
{
	const bool own = body == body_at(c, c->index);
	const cr_surface *s = surface_of(body);
	const int32_t *corners = corners_of(body, hit->triangle);
	const double weights[3] = { 1 - (double)hit->u - (double)hit->v, hit->u, hit->v };
	v3d sum = { 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		const v3d way =
			own ? vector_of(c->ways, corners[k]) : v3d_sub(cr_place_of(s->end, corners[k]), cr_place_of(s->begin, corners[k]));
		sum = v3d_mad(sum, weights[k], way);
	}
	return sum;
}

/// How far the surface of an item goes at a hit in the step.
static v3d way_of_hit(const vertex_ray *r, const carom_ray_hit *hit)
{
	const cr_body *body = body_at(r->cast, r->item.body);
	if (cr_deforming_of(body))
		return way_of_point(r->cast, body, hit);
	if (cr_granular_of(body))
		return (v3d){ 0, 0, 0 };
	const carom_pose *begin = cr_begin_of(body);
	const m3d rotation = m3d_from_quat(begin->orientation);
	const v3d from = v3d_add(m3d_mul(&rotation, cr_point_to_body(body, hit->point)), begin->position);
	return v3d_sub(hit->point, from);
}

// ---- One ray ----

static uint32_t keys_of(const void *user, const cr_boxes8 *boxes, double key[CR_WIDTH])
{
	const vertex_ray *r = user;
	return r->cast->world->pipeline.bvh->ray_boxes(&r->ray, boxes, key);
}

static bool is_own_triangle(const vertex_ray *r, const carom_ray_hit *hit)
{
	if (r->item.body != r->cast->index)
		return false;
	const int32_t *corners = corners_of(body_at(r->cast, r->item.body), hit->triangle);
	return corners[0] == r->vertex || corners[1] == r->vertex || corners[2] == r->vertex;
}

/// Do the vertex and the surface come so near in the step that the hit counts?
static bool is_reached(const vertex_ray *r, const carom_ray_hit *hit)
{
	if (!r->cast->rays.relative)
		return true;
	const double along = r->ahead * v3d_dot(v3d_sub(r->way, way_of_hit(r, hit)), r->ray.direction);
	return along > 0 && (r->cast->rays.max_distance > 0 || hit->t <= along);
}

static bool comes_first(const vertex_ray *r, const carom_ray_hit *hit)
{
	if (!r->found || hit->t != r->hit.t)
		return !r->found || hit->t < r->hit.t;
	const int order = cr_compare_items(r->item, r->nearest);
	return order != 0 ? order < 0 : hit->triangle < r->hit.triangle;
}

static bool take_hit(const carom_ray_hit *hit, void *user)
{
	vertex_ray *r = user;
	if (comes_first(r, hit) && !is_own_triangle(r, hit) && is_reached(r, hit)) {
		r->found = true;
		r->nearest = r->item;
		r->hit = *hit;
	}
	return true;
}

static bool visit(void *user, cr_query_item item, const cr_body *seen, double *limit)
{
	vertex_ray *r = user;
	const cr_body *asked = body_at(r->cast, r->cast->index), *body = body_at(r->cast, item.body);
	if (body != asked && !cr_filters_pass(asked, body))
		return true;
	r->item = item;
	cr_body_cast_all(seen, &r->ray, CR_RAY_BOTH, take_hit, r);
	if (r->found)
		r->ray.t_max = *limit = r->hit.t;
	return true;
}

static carom_velocity_hit make_hit(const vertex_ray *r)
{
	const cr_body *body = body_at(r->cast, r->nearest.body);
	carom_velocity_hit made = { .body = cr_id_of(r->cast->world->bodies.data, r->nearest.body),
		.shape = cr_item_shape(r->cast->world, r->nearest),
		.vertex = r->vertex,
		.triangle = r->hit.triangle,
		.behind = r->ahead < 0,
		.distance = r->hit.t,
		.point = r->hit.point,
		.user_data = body->user_data };
	if (r->hit.triangle >= 0) {
		made.weights[1] = r->hit.u;
		made.weights[2] = r->hit.v;
		made.weights[0] = 1 - made.weights[1] - made.weights[2];
	}
	const double along = r->ahead * v3d_dot(r->hit.normal, r->ray.direction);
	made.normal = along > 0 ? v3d_neg(r->hit.normal) : r->hit.normal;
	return made;
}

/// Cast one of the two rays of a vertex. *count: 1 where it hits.
static carom_result cast_ray(vertex_ray *r, const char *name, carom_velocity_hit *hit, int *count)
{
	cr_index_search search = { .keys = keys_of, .visit = visit, .user = r, .filter = r->cast->filter, .limit = r->ray.t_max };
	const carom_result result = cr_search_bodies(r->cast->world, name, &search, NULL);
	if (result != CAROM_SUCCESS || !r->found)
		return result;
	hit[(*count)++] = make_hit(r);
	return CAROM_SUCCESS;
}

static carom_result ask_vertex(void *user, int64_t i, int worker, const char *name)
{
	velocity_cast *c = user;
	const int32_t vertex = (int32_t)i * c->every;
	const v3d way = vector_of(c->ways, vertex), from = cr_place_of(surface_of(body_at(c, c->index))->end, vertex);
	const double length = v3d_length(way);
	if (!(length > c->least))
		return CAROM_SUCCESS;
	const double limit = c->rays.max_distance > 0 ? c->rays.max_distance : c->rays.relative ? length + c->longest : length;
	carom_velocity_hit hits[2];
	int count = 0;
	carom_result result = CAROM_SUCCESS;
	for (int k = 0; k < 2 && result == CAROM_SUCCESS; k++) {
		const double ahead = k == 0 ? 1 : -1;
		vertex_ray ray = {
			.cast = c, .ray = { from, v3d_scale(way, ahead / length), 0, limit }, .vertex = vertex, .way = way, .ahead = ahead
		};
		result = cast_ray(&ray, name, hits, &count);
	}
	if (result != CAROM_SUCCESS || count == 0)
		return result;
	void *kept = cr_append_items(&c->lists, i, worker, count);
	if (!kept)
		return cr_fail_memory(c->world->context, "velocity rays");
	memcpy(kept, hits, (size_t)count * sizeof *hits);
	return CAROM_SUCCESS;
}

// ---- All rays ----

/// Ask all vertices. first [vertices + 1].
static carom_result cast_all(velocity_cast *c, int64_t vertices, int64_t *first, int32_t capacity, carom_velocity_hit *hits)
{
	const carom_batch given = { .count = vertices };
	const cr_batch batch = { c->world->context, NAME, "vertices", &given, MIN_VERTICES, ask_vertex, NULL, c, first, sizeof *first };
	carom_result result = cr_open_lists(&c->lists, c->world->context, vertices, sizeof *hits);
	if (result != CAROM_SUCCESS)
		return result;
	result = cr_run_batch(&batch);
	if (result == CAROM_SUCCESS)
		cr_write_items(&c->lists, capacity, hits, first);
	cr_close_lists(&c->lists);
	return result;
}

static carom_result cast_rays(velocity_cast *c, int32_t capacity, carom_velocity_hit *hits, int32_t *count)
{
	carom_context *context = c->world->context;
	const int64_t vertices = ((int64_t)surface_of(body_at(c, c->index))->vertex_count + c->every - 1) / c->every;
	int64_t *first = cr_alloc_array(context, (size_t)vertices + 1, sizeof *first);
	if (!first)
		return cr_fail_memory(context, "velocity rays");
	first[vertices] = 0;
	carom_result result = cast_all(c, vertices, first, capacity, hits);
	if (result == CAROM_SUCCESS && first[vertices] > INT32_MAX)
		result =
			cr_fail(context, CAROM_OVER_BUDGET, "%s: %lld hits are more than can be counted", NAME, (long long)first[vertices]);
	if (result == CAROM_SUCCESS)
		*count = (int32_t)first[vertices];
	cr_free(context, first, ((size_t)vertices + 1) * sizeof *first);
	return result;
}

static void measure_ways(velocity_cast *c, const cr_surface *s)
{
	double size = 0;
	for (int k = 0; k < 3; k++)
		size += s->upper[k] > s->lower[k] ? s->upper[k] - s->lower[k] : 0;
	c->least = LEAST_WAY * size;
	for (int32_t i = 0; i < s->vertex_count; i++)
		c->longest = fmax(c->longest, v3d_length(vector_of(c->ways, i)));
}

/// Read the ways of the vertices, which the caller frees: [3*vertex_count].
static void fill_ways(const cr_surface *s, const carom_strided *given, double *ways)
{
	if (given) {
		cr_read_sweep_vertices(given, s->vertex_count, ways);
		return;
	}
	for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count; i++)
		ways[i] = s->end[i] - s->begin[i];
}

static carom_result check_cast(
	const carom_world *world, carom_body_id id, const cr_body *body, const carom_strided *ways, const carom_velocity_rays *rays)
{
	carom_context *context = world->context;
	if (!cr_deforming_of(body))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: body (%u, %u) does not deform", NAME, id.index1, id.generation);
	if (!(rays->max_distance >= 0) || isinf(rays->max_distance))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: rays.max_distance is %g; it must be 0 or above, and finite", NAME,
			rays->max_distance);
	if (rays->every < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: rays.every is %d", NAME, rays->every);
	if (!ways)
		return CAROM_SUCCESS;
	return cr_check_sweep_vertices(
		context, "carom_world_cast_velocity_rays: ways", ways, surface_of(body)->vertex_count, CAROM_INVALID_ARGUMENT);
}

carom_result carom_world_cast_velocity_rays(const carom_world *world, carom_body_id id, const carom_strided *ways,
	const carom_velocity_rays *rays, const carom_query_filter *filter, int32_t capacity, carom_velocity_hit *hits,
	int32_t *count)
{
	const cr_body *body = world ? cr_find_body_const(world, id, NAME) : NULL;
	if (!body)
		return world ? CAROM_INVALID_BODY : CAROM_INVALID_ARGUMENT;
	carom_result result = cr_check_output(world, capacity, hits, count, NAME, "hits");
	if (result != CAROM_SUCCESS)
		return result;
	*count = 0;
	velocity_cast c = { .world = world, .filter = filter, .index = (int32_t)(body - world->bodies.data) };
	c.rays = rays ? *rays : (carom_velocity_rays){ 0 };
	c.every = c.rays.every > 1 ? c.rays.every : 1;
	result = check_cast(world, id, body, ways, &c.rays);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_surface *s = surface_of(body);
	const size_t numbers = 3 * (size_t)s->vertex_count;
	if (numbers == 0)
		return CAROM_SUCCESS;
	double *read = cr_alloc_array(world->context, numbers, sizeof *read);
	if (!read)
		return cr_fail_memory(world->context, "velocity rays");
	fill_ways(s, ways, read);
	c.ways = read;
	measure_ways(&c, s);
	result = cast_rays(&c, capacity, hits, count);
	cr_free(world->context, read, numbers * sizeof *read);
	return result;
}
