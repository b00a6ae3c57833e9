/// Impacts of deforming bodies with shapes. In: the places of vertices and the poses of rigid
/// bodies at both ends of the step. Out: for each vertex, and each triangle whose edge or face is
/// met before its corners, when it comes within sweep.min_separation of the shape.
///
/// 1. A box around the whole motion of each deforming body and of each part of another shape than a
///    mesh. A sort along one axis gives the pairs, with filters as for contacts.
/// 2. For each pair the tree of the body's surface, as queries have it, gives the triangles near
///    the shape. It holds the places at the end of the step. A triangle is a mean of its corners,
///    so at other times it lies within that of its end, grown by how far any vertex moves. The
///    triangles whose own swept box meets that of the shape, and their corners, are candidates.
/// 3. Each candidate is one conservative advancement (geom/time_of_impact.h), in parallel, into a
///    place of its own.
/// 4. Impacts are named by their feature: the part of the triangle that is nearest to the shape
///    then. They are put in order by it, and of equal ones the earliest is kept.
///
/// No triangle that meets a shape is without a report: it is a candidate by step 2, its advancement
/// says when it meets, and step 4 leaves an impact out only for one at its own feature that is as
/// early. A plane is met by vertices first, so its triangles are not looked at.
///
/// Cost: O(vertices) for boxes, and O(log n) and the candidates for each pair.
#include "world/shape_impacts.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "frame/shape_table.h"
#include "proximity/proximity_state.h"
#include "world/world.h"
#include <string.h>

// Candidates tested before their impacts are gathered, and the least for a worker.
enum { PIECE = 4096, PER_TASK = 8 };

static const char *const WHAT = "the impacts of deforming bodies with shapes";

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

// ---- Boxes of motions ----

static bool asks(const cr_body *body) { return body->alive && cr_deforming_of(body) && body->shape_impacts; }

/// Is it a part that such bodies meet here? Meshes are the sweep's.
static bool is_shape(const cr_body *part)
{
	return part->alive && !cr_deforming_of(part) && !cr_granular_of(part) && !part->sensor && part->shape.def.type != CAROM_MESH;
}

bool cr_bound_surface(const cr_surface *s, cr_swept_body *b)
{
	for (int k = 0; k < 3; k++) {
		b->lower[k] = s->lower[k];
		b->upper[k] = s->upper[k];
		b->travel[k] = 0;
	}
	for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count; i++)
		b->travel[i % 3] = most(b->travel[i % 3], fabs(s->end[i] - s->begin[i]));
	for (int k = 0; k < 3; k++) {
		// The difference is rounded, and so is this.
		b->travel[k] += (b->travel[k] + fabs(s->lower[k]) + fabs(s->upper[k])) * 0x1p-50;
		b->lower[k] -= b->travel[k];
		b->upper[k] += b->travel[k];
	}
	return s->lower[0] <= s->upper[0];
}

static bool are_apart(const cr_swept_body *a, const cr_swept_body *b)
{
	bool apart = false;
	for (int k = 0; k < 3; k++)
		apart = apart || a->lower[k] > b->upper[k] || b->lower[k] > a->upper[k];
	return apart;
}

static void grow(cr_swept_body *b, double margin)
{
	for (int k = 0; k < 3; k++) {
		b->lower[k] -= margin;
		b->upper[k] += margin;
	}
}

/// How near a feature comes in an impact, at most.
static double reach_of(const carom_world *world) { return world->def.sweep.min_separation + world->def.sweep.tolerance; }

static bool add_stand_in(carom_world *world, const cr_swept_body *swept, bool deforms)
{
	cr_shape_impacts *m = &world->shape_impacts;
	if (!cr_array_reserve_one(&world->memory, &m->boxes) || !cr_array_reserve_one(&world->memory, &m->bodies))
		return false;
	const cr_body *body = &world->bodies.data[swept->part];
	cr_body *b = &m->boxes.data[m->boxes.count++];
	m->bodies.data[m->bodies.count++] = *swept;
	*b = *body;
	b->part = 0;
	b->own.deforming = NULL;
	b->moved = b->refiltered = true;
	b->contacts = true; // a body without contacts has impacts
	b->kind = deforms ? CAROM_DYNAMIC : CAROM_STATIC;
	// A plane that moves meets all boxes; one at rest those that are not wholly above it.
	if (b->shape.def.type == CAROM_PLANE && cr_part_moves(body))
		b->shape.def.type = CAROM_BOX;
	memcpy(b->lower, swept->lower, sizeof b->lower);
	memcpy(b->upper, swept->upper, sizeof b->upper);
	return true;
}

/// Deforming bodies first. *all: the box around them.
static bool list_deforming(carom_world *world, cr_swept_body *all)
{
	for (int64_t i = 0; i < world->bodies.count; i++) {
		cr_swept_body b = { .part = (int32_t)i };
		if (!asks(&world->bodies.data[i]) || !cr_bound_surface(&cr_deforming_of(&world->bodies.data[i])->surface, &b))
			continue;
		grow(&b, reach_of(world));
		for (int k = 0; k < 3; k++) {
			all->lower[k] = least(all->lower[k], b.lower[k]);
			all->upper[k] = most(all->upper[k], b.upper[k]);
		}
		if (!add_stand_in(world, &b, true))
			return false;
	}
	return true;
}

static bool list_shapes(carom_world *world, const cr_swept_body *all)
{
	for (int64_t i = 0; i < world->bodies.count; i++) {
		cr_swept_body b = { .part = (int32_t)i };
		if (!is_shape(&world->bodies.data[i]) || !cr_bound_motion(world, b.part, b.lower, b.upper))
			continue;
		if (!are_apart(&b, all) && !add_stand_in(world, &b, false))
			return false;
	}
	return true;
}

// ---- Pairs ----

static bool ask_filter(void *user, int32_t a, int32_t b)
{
	carom_world *world = user;
	const cr_swept_body *bodies = world->shape_impacts.bodies.data;
	return cr_pair_filter_passes(world, bodies[a].part, bodies[b].part);
}

/// Leave the pairs of a deforming body (a) and a shape (b), in the order of the world's numbers.
static bool order_pairs(carom_world *world)
{
	cr_shape_impacts *m = &world->shape_impacts;
	const int64_t count = m->pairs.count;
	if (!cr_array_reserve_fresh(&world->memory, &m->order, 2 * count))
		return false;
	int64_t kept = 0;
	for (int64_t i = 0; i < count; i++) {
		const cr_body_pair pair = m->pairs.data[i];
		if (m->boxes.data[pair.a].kind == m->boxes.data[pair.b].kind)
			continue;
		const uint64_t a = (uint64_t)m->bodies.data[pair.a].part, b = (uint64_t)m->bodies.data[pair.b].part;
		m->order.data[kept] = (cr_key){ a << 32 | b, (uint32_t)kept };
		m->pairs.data[kept++] = pair;
	}
	m->pairs.count = kept;
	cr_radix_sort(m->order.data, m->order.data + kept, kept, 64);
	return true;
}

static carom_result find_pairs(carom_world *world)
{
	cr_shape_impacts *m = &world->shape_impacts;
	const carom_result result = m->broad ? CAROM_SUCCESS : cr_broad_create_sweep(&world->memory, &m->broad);
	if (result != CAROM_SUCCESS)
		return result;
	cr_swept_body all = { .lower = { INFINITY, INFINITY, INFINITY }, .upper = { -INFINITY, -INFINITY, -INFINITY } };
	m->boxes.count = m->bodies.count = 0;
	if (!list_deforming(world, &all) || !list_shapes(world, &all))
		return cr_fail_memory(world->context, WHAT);
	m->broad->margin = reach_of(world);
	m->broad->verdict = world->def.pair_filter ? ask_filter : NULL;
	m->broad->verdict_user = world;
	const carom_result found = m->broad->find(m->broad, m->boxes.data, (int32_t)m->boxes.count, &m->pairs);
	if (found != CAROM_SUCCESS)
		return found;
	return order_pairs(world) ? CAROM_SUCCESS : cr_fail_memory(world->context, WHAT);
}

// ---- Candidates ----

/// A pair as its candidates are looked for.
typedef struct near_pair {
	int32_t number;
	const cr_swept_body *soft, *shape;
	const cr_body *part; // of the shape
	const cr_surface *surface;
} near_pair;

static near_pair pair_at(const carom_world *world, int64_t i)
{
	const cr_shape_impacts *m = &world->shape_impacts;
	const cr_body_pair pair = m->pairs.data[m->order.data[i].value];
	const cr_swept_body *soft = &m->bodies.data[pair.a], *shape = &m->bodies.data[pair.b];
	return (near_pair){ (int32_t)i, soft, shape, &world->bodies.data[shape->part],
		&cr_deforming_of(&world->bodies.data[soft->part])->surface };
}

/// Is a vertex above a plane at rest, at both ends?
static bool is_above(const near_pair *n, int32_t vertex, double margin)
{
	const v3d up = cr_vector_to_world(n->part, (v3d){ 0, 0, 1 });
	const v3d begin = v3d_sub(cr_place_of(n->surface->begin, vertex), n->part->pose.position),
			  end = v3d_sub(cr_place_of(n->surface->end, vertex), n->part->pose.position);
	const double slack = (v3d_length(begin) + v3d_length(end)) * 0x1p-40;
	return v3d_dot(up, begin) > margin + slack && v3d_dot(up, end) > margin + slack;
}

/// Does the box of some vertices' motion come near that of the shape?
static bool is_near(const near_pair *n, const int32_t *vertices, int count, double margin)
{
	bool apart = false;
	for (int k = 0; k < 3; k++) {
		double lower = INFINITY, upper = -INFINITY;
		for (int i = 0; i < count; i++) {
			const int64_t at = 3 * (int64_t)vertices[i] + k;
			lower = least(lower, least(n->surface->begin[at], n->surface->end[at]));
			upper = most(upper, most(n->surface->begin[at], n->surface->end[at]));
		}
		apart = apart || lower - margin > n->shape->upper[k] || upper + margin < n->shape->lower[k];
	}
	return !apart;
}

static bool add_candidate(carom_world *world, const near_pair *n, int32_t triangle, int32_t vertex)
{
	cr_shape_impacts *m = &world->shape_impacts;
	if (!cr_array_reserve_one(&world->memory, &m->candidates))
		return false;
	m->candidates.data[m->candidates.count++] = (cr_shape_candidate){ n->number, triangle, vertex };
	return true;
}

/// Every vertex of a triangle that may touch a plane.
static bool add_over_plane(carom_world *world, const near_pair *n)
{
	const bool rests = !cr_part_moves(n->part);
	const cr_topology *t = n->surface->faces;
	cr_shape_impacts *m = &world->shape_impacts;
	if (!cr_array_reserve_fresh(&world->memory, &m->used, t->vertex_count))
		return false;
	memset(m->used.data, 0, (size_t)t->vertex_count);
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count; i++)
		m->used.data[t->triangles[i]] |= t->used[i / 3];
	bool enough = true;
	for (int32_t i = 0; i < t->vertex_count && enough; i++) {
		if (m->used.data[i] && !(rests && is_above(n, i, reach_of(world))))
			enough = add_candidate(world, n, -1, i);
	}
	return enough;
}

int32_t cr_find_swept_blocks(carom_world *world, const cr_surface *surface, const cr_body *seen, const double travel[3],
	const double from[3], const double to[3], cr_block_list *blocks)
{
	float lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		const double middle = v3d_get(seen->pose.position, k), slack = travel[k] + 2 * cr_surface_slack(surface, k);
		lower[k] = nextafterf((float)(from[k] - middle - slack), -INFINITY);
		upper[k] = nextafterf((float)(to[k] - middle + slack), INFINITY);
	}
	for (;;) {
		const int32_t count =
			world->pipeline.bvh->blocks_in_box(seen->shape.collider, lower, upper, (int32_t)blocks->capacity, blocks->data);
		if (count <= blocks->capacity)
			return count;
		if (!cr_array_reserve_fresh(&world->memory, blocks, count))
			return -1;
	}
}

/// The blocks of the surface's tree near the shape. Returns their number, or -1 without memory.
static int32_t find_blocks(carom_world *world, const near_pair *n, const cr_body *seen)
{
	double travel[3];
	for (int k = 0; k < 3; k++)
		travel[k] = n->soft->travel[k] + reach_of(world);
	return cr_find_swept_blocks(world, n->surface, seen, travel, n->shape->lower, n->shape->upper, &world->shape_impacts.blocks);
}

/// Add a triangle that may meet the shape, and note its corners.
static bool add_triangle(carom_world *world, const near_pair *n, int32_t triangle)
{
	cr_shape_impacts *m = &world->shape_impacts;
	const int32_t *corners = &n->surface->faces->triangles[3 * (int64_t)triangle];
	if (!is_near(n, corners, 3, reach_of(world)))
		return true;
	if (!add_candidate(world, n, triangle, -1) || !cr_array_reserve(&world->memory, &m->vertices, m->vertices.count + 3))
		return false;
	for (int k = 0; k < 3; k++)
		m->vertices.data[m->vertices.count++] = (cr_key){ (uint64_t)corners[k], 0 };
	return true;
}

static bool add_near_triangles(carom_world *world, const near_pair *n, const cr_body *seen)
{
	const int32_t blocks = find_blocks(world, n, seen);
	bool enough = blocks >= 0;
	for (int32_t i = 0; i < blocks && enough; i++) {
		const cr_tri8 *block = &seen->shape.collider->blocks[world->shape_impacts.blocks.data[i]];
		for (int lane = 0; lane < block->count && enough; lane++)
			enough = add_triangle(world, n, block->number[lane]);
	}
	return enough;
}

static bool add_all_triangles(carom_world *world, const near_pair *n)
{
	const cr_topology *t = n->surface->faces;
	bool enough = true;
	for (int32_t i = 0; i < t->triangle_count && enough; i++)
		enough = !t->used[i] || add_triangle(world, n, i);
	return enough;
}

/// The corners of these triangles, each once.
static bool add_vertices(carom_world *world, const near_pair *n)
{
	cr_shape_impacts *m = &world->shape_impacts;
	const int64_t count = m->vertices.count;
	if (!cr_array_reserve(&world->memory, &m->vertices, 2 * count))
		return false;
	cr_radix_sort(m->vertices.data, m->vertices.data + count, count, 32);
	bool enough = true;
	for (int64_t i = 0; i < count && enough; i++) {
		const int32_t vertex = (int32_t)m->vertices.data[i].key;
		if ((i == 0 || m->vertices.data[i - 1].key != m->vertices.data[i].key) && is_near(n, &vertex, 1, reach_of(world)))
			enough = add_candidate(world, n, -1, vertex);
	}
	return enough;
}

static carom_result add_candidates(carom_world *world, int64_t pair)
{
	const near_pair n = pair_at(world, pair);
	bool enough;
	if (n.part->shape.def.type == CAROM_PLANE) {
		enough = add_over_plane(world, &n);
	} else {
		carom_result result = CAROM_SUCCESS;
		const cr_body *body = &world->bodies.data[n.soft->part], *seen = cr_see_body(body, &result);
		if (!seen)
			return result;
		world->shape_impacts.vertices.count = 0;
		// A tree of the end leaves out triangles that have no area then.
		const bool all_there = seen->shape.collider->triangle_count == body->shape.mesh->collider.triangle_count;
		enough = (all_there ? add_near_triangles(world, &n, seen) : add_all_triangles(world, &n)) && add_vertices(world, &n);
	}
	return enough ? CAROM_SUCCESS : cr_fail_memory(world->context, WHAT);
}

static carom_result list_candidates(carom_world *world)
{
	cr_shape_impacts *m = &world->shape_impacts;
	m->candidates.count = 0;
	carom_result result = CAROM_SUCCESS;
	for (int64_t i = 0; i < m->pairs.count && result == CAROM_SUCCESS; i++)
		result = add_candidates(world, i);
	return result;
}

// ---- Advancement ----

/// What an impact is put in order by: its feature.
static uint64_t key_of(const carom_shape_impact *m) { return cr_feature_key(m->vertices, m->triangle); }

/// A shape as the advancement sees it, about an origin near the feature.
typedef struct target {
	cr_convex convex;
	cr_mover mover;
} target;

static void open_target(const carom_world *world, const near_pair *n, v3d origin, target *t)
{
	t->mover = cr_mover_of(&n->part->shape.def, &t->convex);
	t->mover.motion = cr_motion_of_body(world->bodies.data, n->shape->part, origin);
	// Features meet the shape grown by the distance that they are to keep.
	t->convex.rounding += world->def.sweep.min_separation;
}

/// Find the impact of a vertex. separation has its origin where the vertex is then.
static void advance_vertex(const carom_world *world, const near_pair *n, int32_t vertex, cr_impact *impact)
{
	const v3d begin = cr_place_of(n->surface->begin, vertex), end = cr_place_of(n->surface->end, vertex);
	const cr_convex point = { .core = CR_CORE_POINT };
	const cr_motion way = { .begin = { .orientation = { 0, 0, 0, 1 } }, .travel = v3d_sub(end, begin), .axis = { 0, 0, 1 } };
	target t;
	open_target(world, n, begin, &t);
	const double tolerance = world->def.sweep.tolerance, separation = world->def.sweep.min_separation;
	if (t.mover.convex)
		cr_find_impact_between(&point, &way, &t.convex, &t.mover.motion, tolerance, 0, 1, impact);
	else
		cr_find_plane_impact(
			&(cr_convex){ .core = CR_CORE_POINT, .rounding = separation }, &way, &t.mover.motion, tolerance, 0, 1, impact);
}

cr_moving_triangle cr_surface_motion(const cr_surface *surface, int32_t triangle, v3d origin)
{
	cr_moving_triangle moving;
	for (int k = 0; k < 3; k++) {
		const int32_t corner = surface->faces->triangles[3 * (int64_t)triangle + k];
		const v3d begin = cr_place_of(surface->begin, corner);
		moving.begin[k] = v3d_sub(begin, origin);
		moving.travel[k] = v3d_sub(cr_place_of(surface->end, corner), begin);
	}
	return moving;
}

static void advance_triangle(const carom_world *world, const near_pair *n, int32_t triangle, cr_impact *impact)
{
	const v3d origin = cr_place_of(n->surface->begin, n->surface->faces->triangles[3 * (int64_t)triangle]);
	const cr_moving_triangle moving = cr_surface_motion(n->surface, triangle, origin);
	target t;
	open_target(world, n, origin, &t);
	cr_find_triangle_impact(&moving, &t.convex, &t.mover.motion, world->def.sweep.tolerance, impact);
}

/// Where a vertex is at a time.
static v3d vertex_at(const near_pair *n, int32_t vertex, double t)
{
	const v3d begin = cr_place_of(n->surface->begin, vertex);
	return v3d_mad(begin, t, v3d_sub(cr_place_of(n->surface->end, vertex), begin));
}

/// Name the feature of a triangle that is nearest to the shape. first: the place of its first
/// corner then. *on: the nearest point, from there.
static void name_feature(const carom_world *world, const near_pair *n, int32_t triangle, const cr_impact *impact, v3d first,
	v3d *on, carom_shape_impact *out)
{
	cr_measured_triangle t;
	target shape;
	open_target(world, n, first, &shape);
	t.reach = cr_convex_size(&shape.convex) + v3d_length(shape.mover.motion.begin.position);
	memcpy(t.corner, &n->surface->faces->triangles[3 * (int64_t)triangle], sizeof t.corner);
	for (int k = 0; k < 3; k++)
		t.place[k] = v3d_sub(vertex_at(n, t.corner[k], impact->separation_time), first);
	if (cr_name_feature(&t, impact->separation.on_a, out->vertices, out->weight, on) == 3)
		out->triangle = triangle;
}

/// Write the impact of a candidate that has one.
static void write_impact(
	const carom_world *world, const near_pair *n, const cr_shape_candidate *c, const cr_impact *impact, carom_shape_impact *out)
{
	const cr_body *bodies = world->bodies.data, *soft = &bodies[n->soft->part];
	const int32_t *corners = c->triangle >= 0 ? &n->surface->faces->triangles[3 * (int64_t)c->triangle] : NULL;
	const cr_separation *s = &impact->separation;
	out->body_a = cr_id_of(bodies, n->soft->part);
	out->body_b = cr_id_of(bodies, n->shape->part);
	out->user_data_a = soft->user_data;
	out->user_data_b = n->part->user_data;
	out->shape_b = n->part->part;
	out->time = impact->time;
	out->normal = s->normal;
	out->distance = s->gap + world->def.sweep.min_separation;
	const v3d place = vertex_at(n, corners ? corners[0] : c->vertex, impact->separation_time);
	v3d on = { 0, 0, 0 };
	if (corners) {
		name_feature(world, n, c->triangle, impact, place, &on, out);
	} else {
		out->vertices[0] = c->vertex;
		out->weight[0] = 1;
	}
	out->point = v3d_mad(v3d_add(place, on), -out->distance, s->normal);
}

typedef struct piece {
	const carom_world *world;
	const cr_shape_candidate *candidates;
	carom_shape_impact *impacts;
} piece;

static void test_candidates(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	const piece *p = task;
	for (int64_t i = begin; i < end; i++) {
		const cr_shape_candidate *c = &p->candidates[i];
		const near_pair n = pair_at(p->world, c->pair);
		cr_impact impact;
		if (c->triangle >= 0)
			advance_triangle(p->world, &n, c->triangle, &impact);
		else
			advance_vertex(p->world, &n, c->vertex, &impact);
		p->impacts[i] =
			(carom_shape_impact){ .status = cr_toi_status_of(impact.state), .vertices = { -1, -1, -1 }, .triangle = -1 };
		if (impact.state != CR_IMPACT_NONE)
			write_impact(p->world, &n, c, &impact, &p->impacts[i]);
	}
}

// ---- Results ----

/// Of two impacts of one feature with one part: is a the earlier one? Of those at one time one that
/// does not depend on the order in which they were found.
static bool is_earlier(const carom_shape_impact *a, const carom_shape_impact *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->distance != b->distance)
		return a->distance < b->distance;
	// Two triangles find one point of their edge with weights of other roundings.
	const double x[9] = { a->normal.x, a->normal.y, a->normal.z, a->point.x, a->point.y, a->point.z, a->weight[0], a->weight[1],
		a->weight[2] };
	const double y[9] = { b->normal.x, b->normal.y, b->normal.z, b->point.x, b->point.y, b->point.z, b->weight[0], b->weight[1],
		b->weight[2] };
	for (int k = 0; k < 9; k++) {
		if (x[k] != y[k])
			return x[k] < y[k];
	}
	return false;
}

/// Put the impacts of a pair, the last ones of next, in the order of their features, and keep the
/// earliest of each.
static bool order_impacts(carom_world *world, int64_t first)
{
	cr_shape_impacts *m = &world->shape_impacts;
	const int64_t count = m->next.count - first;
	if (!cr_array_reserve(&world->memory, &m->vertices, 2 * count) ||
		!cr_array_reserve(&world->memory, &m->next, m->next.count + count))
		return false;
	cr_key *keys = m->vertices.data;
	carom_shape_impact *impacts = m->next.data + first, *sorted = impacts + count;
	for (int64_t i = 0; i < count; i++)
		keys[i] = (cr_key){ key_of(&impacts[i]), (uint32_t)i };
	cr_radix_sort(keys, keys + count, count, 64);
	int64_t kept = 0;
	for (int64_t i = 0; i < count; i++) {
		const carom_shape_impact *now = &impacts[keys[i].value];
		if (i == 0 || keys[i].key != keys[i - 1].key)
			sorted[kept++] = *now;
		else if (is_earlier(now, &sorted[kept - 1]))
			sorted[kept - 1] = *now;
	}
	memmove(impacts, sorted, (size_t)kept * sizeof *sorted);
	m->next.count = first + kept;
	return true;
}

/// Test a piece of the candidates; what was found goes behind next. *first: where the impacts of
/// the running pair begin.
static bool find_piece(carom_world *world, int64_t begin, int64_t end, int64_t *first)
{
	cr_shape_impacts *m = &world->shape_impacts;
	piece p = { world, m->candidates.data + begin, m->tested.data };
	cr_parallel_for(&world->memory, test_candidates, end - begin, PER_TASK, &p);
	bool enough = cr_array_reserve(&world->memory, &m->next, m->next.count + end - begin);
	for (int64_t i = begin; i < end && enough; i++) {
		if (i > 0 && m->candidates.data[i].pair != m->candidates.data[i - 1].pair) {
			enough = order_impacts(world, *first) && cr_array_reserve(&world->memory, &m->next, m->next.count + end - i);
			*first = m->next.count;
		}
		if (enough && m->tested.data[i - begin].status != CAROM_TOI_APART)
			m->next.data[m->next.count++] = m->tested.data[i - begin];
	}
	return enough;
}

static carom_result find_impacts(carom_world *world)
{
	cr_shape_impacts *m = &world->shape_impacts;
	const int64_t count = m->candidates.count;
	int64_t first = 0;
	bool enough = cr_array_reserve_fresh(&world->memory, &m->tested, count < PIECE ? count : PIECE);
	for (int64_t i = 0; i < count && enough; i += PIECE)
		enough = find_piece(world, i, i + PIECE < count ? i + PIECE : count, &first);
	m->tests = count;
	return enough && order_impacts(world, first) ? CAROM_SUCCESS : cr_fail_memory(world->context, WHAT);
}

carom_result cr_find_shape_impacts(carom_world *world)
{
	cr_shape_impacts *m = &world->shape_impacts;
	m->next.count = m->tests = 0;
	if (m->body_count == 0)
		return CAROM_SUCCESS;
	carom_result result = find_pairs(world);
	if (result == CAROM_SUCCESS)
		result = list_candidates(world);
	return result == CAROM_SUCCESS && m->candidates.count > 0 ? find_impacts(world) : result;
}

void cr_take_shape_impacts(cr_shape_impacts *m)
{
	const cr_shape_impact_list found = m->found;
	m->found = m->next;
	m->next = found;
}

uint64_t cr_hash_shape_impacts(const cr_shape_impacts *m, uint64_t hash)
{
	for (int64_t i = 0; i < m->found.count; i++) {
		const carom_shape_impact *p = &m->found.data[i];
		hash = cr_hash_u64(hash, (uint64_t)p->body_a.index1 << 32 | p->body_b.index1);
		hash = cr_hash_u64(hash, (uint64_t)p->body_a.generation << 32 | p->body_b.generation);
		hash = cr_hash_u64(hash, (uint64_t)p->status << 32 | (uint32_t)p->shape_b);
		hash = cr_hash_u64(hash, (uint64_t)(uint32_t)p->vertices[0] << 32 | (uint32_t)p->vertices[1]);
		hash = cr_hash_u64(hash, (uint64_t)(uint32_t)p->vertices[2] << 32 | (uint32_t)p->triangle);
		hash = cr_hash_double(cr_hash_double(hash, p->time), p->distance);
		for (int k = 0; k < 3; k++) {
			hash = cr_hash_double(hash, p->weight[k]);
			hash = cr_hash_double(hash, v3d_get(p->point, k));
			hash = cr_hash_double(hash, v3d_get(p->normal, k));
		}
	}
	return hash;
}

void cr_trim_shape_impacts(carom_context *memory, cr_shape_impacts *m)
{
	if (m->broad)
		m->broad->destroy(m->broad);
	m->broad = NULL;
	cr_array_free(memory, &m->boxes);
	cr_array_free(memory, &m->bodies);
	cr_array_free(memory, &m->pairs);
	cr_array_free(memory, &m->order);
	cr_array_free(memory, &m->blocks);
	cr_array_free(memory, &m->used);
	cr_array_free(memory, &m->vertices);
	cr_array_free(memory, &m->candidates);
	cr_array_free(memory, &m->tested);
	cr_array_free(memory, &m->next);
}

void cr_shape_impacts_free(carom_context *memory, cr_shape_impacts *m)
{
	cr_trim_shape_impacts(memory, m);
	cr_array_free(memory, &m->found);
	*m = (cr_shape_impacts){ 0 };
}
