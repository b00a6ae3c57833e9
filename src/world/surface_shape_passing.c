/// Vertices of cloth that come into shapes that are no meshes within a step, and go back to there.
///
/// The places at the end of a step do not tell that a vertex has passed a plate or a ball. So the
/// way of the vertex through the step is cut with the shape, both in the frame of the shape: a
/// straight line from its place at the begin to that at the end.
///
/// - A vertex that comes in leaves over the plane that touches the shape where it came in: its
///   entry. It is through as long as it is below that plane, and in the shape, or beyond. It is
///   beyond where the line leaves the shape by a place that looks away from the entry by more than
///   60 degrees. Else it has touched the shape in passing, or has gone round it with the cloth:
///   the cloth around it tells (surface_shape_hanging.c).
/// - The contact of such a vertex is its memory: the normal, which stands on the shape, and a
///   distance below 0. One that was in the shape by the last step, and leaves it where it looks
///   away from that normal, is beyond too; one that leaves it beside, like one that passes. The
///   vertex is free when it is over the plane, or comes out on that side. The cloth may be put
///   elsewhere: the place of the contact tells.
/// - Edges and triangles that pass between their vertices are in surface_shape_edges.c.
/// - Edges and triangles beyond have no contacts that keep their vertices there. Those that overlap
///   the shape leave by the entries of their vertices.
/// - While a region of the cloth leaves a shape one way (surface_shape_regions.c), ways through
///   that shape tell nothing: the region draws its neighbours through.
///
/// A shape that turns in the step has the ways of vertices on arcs in its frame. Such a way is cut
/// piece by piece. In n pieces it is never farther from them than (a² r + 2 a v) / (8 n²), for a
/// turn by a, within r of the axis, and v for how far the two move past each other: the second
/// derivative is the centripetal and the Coriolis term, and a chord is off by an eighth of it. n is
/// such that this is at most ARC of the distance to be kept. A plane has no other side. Edges that
/// pass a shape between their ends are not seen here.
///
/// Cost: O(vertices) for the boxes of the motion of each cloth, by blocks of vertices. For each
/// shape near it a look at each block, and at the vertices of those near; a ray for each vertex
/// whose way comes near the shape's ball. Nothing without such shapes.
#include "base/stable_sort.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "world/continuous.h"
#include "world/shape_impacts.h"
#include "world/surface_contacts.h"
#include "world/world.h"
#include <stdlib.h>

enum { BLOCK = 64 };        // vertices whose ways have one box
enum { MOST_PIECES = 512 }; // of a way, where the distance to be kept is next to nothing
// Of the distance to be kept: so far pieces may be from the arc of a way.
#define ARC 0.1

/// A cloth and a shape.
typedef struct work {
	carom_world *world;
	int32_t part_a, part_b;
	const cr_surface *cloth;
	cr_convex convex;
	m3d begin, end;   // turns of the shape
	v3d from, to;     // and its places
	double reach;     // the convex body lies in a ball of this radius about its frame
	cr_motion motion; // of the shape, about from
	double kept;      // the distance to be kept
} work;

static v3d place_at_begin(const work *w, int32_t vertex)
{
	return m3d_tmul(&w->begin, v3d_sub(v3d_from_doubles(w->cloth->begin + 3 * (int64_t)vertex), w->from));
}

static v3d place_at_end(const work *w, int32_t vertex)
{
	return m3d_tmul(&w->end, v3d_sub(v3d_from_doubles(w->cloth->end + 3 * (int64_t)vertex), w->to));
}

/// In how many pieces the way of a vertex is cut.
static int pieces_of(const work *w, int32_t vertex)
{
	const double angle = w->motion.angle, lever = w->motion.lever;
	if (!(angle > 0))
		return 1;
	const double *begin = w->cloth->begin + 3 * (int64_t)vertex, *end = w->cloth->end + 3 * (int64_t)vertex;
	const v3d travel = v3d_sub(v3d_sub(v3d_from_doubles(end), v3d_from_doubles(begin)), w->motion.travel);
	const double past = v3d_length(travel) + angle * lever;
	const double off = 0.125 * (angle * angle * (w->reach + lever) + 2 * angle * past);
	const double pieces = ceil(sqrt(off / (ARC * w->kept)));
	return pieces < 1 ? 1 : pieces < MOST_PIECES ? (int)pieces : MOST_PIECES;
}

/// The place of a vertex at the end of a piece of its way.
static v3d place_after(const work *w, int32_t vertex, int piece, int pieces)
{
	if (piece == pieces)
		return place_at_end(w, vertex);
	const double t = (double)piece / pieces;
	const v3d begin = v3d_from_doubles(w->cloth->begin + 3 * (int64_t)vertex),
			  end = v3d_from_doubles(w->cloth->end + 3 * (int64_t)vertex);
	const carom_pose pose = cr_motion_at(&w->motion, t);
	const m3d rotation = m3d_from_quat(pose.orientation);
	const v3d at = v3d_sub(v3d_mad(begin, t, v3d_sub(end, begin)), w->from);
	return m3d_tmul(&rotation, v3d_sub(at, pose.position));
}

/// Where a way crosses the surface of the shape: the first time and the last.
typedef struct crossings {
	int count;
	v3d normal[2]; // outward, in the frame of the shape
	bool back[2];  // from within
} crossings;

static bool is_far(const work *w, v3d from, v3d along)
{
	const double length2 = v3d_dot(along, along), at = length2 > 0 ? -v3d_dot(from, along) / length2 : 0;
	const v3d nearest = v3d_mad(from, fmin(fmax(at, 0), 1), along);
	return v3d_dot(nearest, nearest) > w->reach * w->reach;
}

static crossings cross(const work *w, int32_t vertex)
{
	crossings all = { 0 };
	const int pieces = pieces_of(w, vertex);
	v3d from = place_at_begin(w, vertex);
	for (int i = 1; i <= pieces; i++) {
		double t[2];
		v3d normal[2];
		bool back[2];
		const v3d p = place_after(w, vertex, i, pieces), along = v3d_sub(p, from);
		const int count = is_far(w, from, along) ? 0 : cr_convex_ray(&w->convex, from, along, 0, 1, 2, t, normal, back);
		for (int k = 0; k < count; k++) {
			const int at = all.count > 0;
			all.normal[at] = normal[k];
			all.back[at] = back[k];
			all.normal[1] = normal[k];
			all.back[1] = back[k];
			all.count++;
		}
		from = p;
	}
	return all;
}

static double top_along(const work *w, v3d way)
{
	return v3d_dot(way, cr_convex_support(&w->convex, way)) + w->convex.rounding;
}

static bool is_outside(const work *w, v3d p)
{
	v3d nearest, normal;
	return cr_convex_distance(&w->convex, p, &nearest, &normal) > 0;
}

// ---- Entries ----

static bool is_led(const carom_surface_shape_contact *contacts, int64_t count, int32_t part_a, int32_t part_b)
{
	bool led = false;
	for (int64_t i = 0; i < count && !led; i++)
		led = contacts[i].led && (int32_t)contacts[i].body_a.index1 - 1 == part_a && cr_shape_part_of(&contacts[i]) == part_b;
	return led;
}

bool cr_was_shape_led(const carom_world *world, int32_t part_a, int32_t part_b)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	return is_led(m->found_shapes.data, m->known_shapes, part_a, part_b) ||
		is_led(m->carried_shapes.data, m->carried_shapes.count, part_a, part_b);
}

static bool append_entry(const work *w, int32_t vertex, v3d way, bool beyond, cr_shape_entry_kind kind)
{
	cr_surface_contacts *m = &w->world->surface_contacts;
	if (cr_was_shape_led(w->world, w->part_a, w->part_b))
		return true;
	if (!cr_array_reserve_one(&w->world->memory, &m->shape_entries))
		return false;
	m->shape_entries.data[m->shape_entries.count++] =
		(cr_shape_entry){ w->part_b, w->part_a, vertex, beyond, kind, m3d_mul(&w->end, way) };
	return true;
}

/// Add an entry of a vertex that was through at the begin, if it still is or may be. way: in the
/// frame of the shape.
static bool go_on(const work *w, int32_t vertex, v3d way)
{
	const v3d p = place_at_end(w, vertex);
	if (!(v3d_dot(way, p) < top_along(w, way)))
		return true;
	if (!is_outside(w, p))
		return append_entry(w, vertex, way, false, CR_SHAPE_ENTRY_HELD);
	const crossings c = cross(w, vertex);
	const bool leaves = c.count > 0 && c.back[1];
	if (leaves ? v3d_dot(c.normal[1], way) < CR_AWAY : is_outside(w, place_at_begin(w, vertex)))
		return append_entry(w, vertex, way, true, CR_SHAPE_ENTRY_HELD);
	return !(leaves && c.count == 1) || append_entry(w, vertex, way, true, CR_SHAPE_ENTRY_DOUBTFUL);
}

/// Where a contact of a vertex in the last step says that it was through, and it is there still:
/// the way out, in the frame of the shape at the begin.
static bool was_through(const work *w, const carom_surface_shape_contact *last, v3d *way)
{
	const int32_t vertex = last->vertices[0];
	const v3d at = v3d_from_doubles(w->cloth->begin + 3 * (int64_t)vertex);
	const v3d place = v3d_mad(last->point, last->distance, last->normal);
	*way = m3d_tmul(&w->begin, last->normal);
	return last->distance < 0 && !last->led && v3d_length(v3d_sub(at, place)) <= fabs(last->distance) + last->thickness &&
		v3d_dot(*way, place_at_begin(w, vertex)) < top_along(w, *way);
}

/// Cut the way of a vertex with the shape.
static bool cut_way(const work *w, int32_t vertex)
{
	v3d way;
	const v3d from = place_at_begin(w, vertex), p = place_at_end(w, vertex);
	if (!(w->motion.angle > 0) && is_far(w, from, v3d_sub(p, from)))
		return true;
	const carom_surface_shape_contact *last = cr_last_of_shape_vertex(w->world, w->part_a, w->part_b, vertex);
	if (last && was_through(w, last, &way))
		return go_on(w, vertex, way);
	const crossings c = cross(w, vertex);
	if (c.count == 0 || c.back[0] || !(v3d_dot(c.normal[0], p) < top_along(w, c.normal[0])))
		return true;
	if (!c.back[1])
		return append_entry(w, vertex, c.normal[0], false, CR_SHAPE_ENTRY_NEW);
	const bool away = v3d_dot(c.normal[1], c.normal[0]) < CR_AWAY_WITHIN_STEP;
	return append_entry(w, vertex, c.normal[0], true, away ? CR_SHAPE_ENTRY_NEW : CR_SHAPE_ENTRY_DOUBTFUL);
}

/// Go on with a contact of the last step whose vertex does not come near the shape any more.
static bool go_on_from(const work *w, const carom_surface_shape_contact *last)
{
	v3d way;
	return !was_through(w, last, &way) || go_on(w, last->vertices[0], way);
}

// ---- Pairs ----

bool cr_can_be_passed(const cr_body *b)
{
	return b->alive && !cr_deforming_of(b) && !cr_granular_of(b) && b->contacts && !b->sensor &&
		b->shape.def.type != CAROM_MESH && b->shape.def.type != CAROM_PLANE;
}

static work open_work(carom_world *world, int32_t part_a, int32_t part_b)
{
	const cr_body *shape = &world->bodies.data[part_b];
	const carom_pose *begin = cr_begin_of(shape);
	work w = { .world = world,
		.part_a = part_a,
		.part_b = part_b,
		.cloth = &cr_deforming_of(&world->bodies.data[part_a])->surface,
		.convex = cr_convex_of(&shape->shape.def),
		.begin = m3d_from_quat(begin->orientation),
		.end = m3d_from_quat(shape->pose.orientation),
		.from = begin->position,
		.to = shape->pose.position,
		.motion = cr_motion_of_body(world->bodies.data, part_b, begin->position),
		.kept = cr_kept_distance(&world->bodies.data[part_a], shape) };
	w.reach = cr_convex_reach(&w.convex) * (1 + 1e-9);
	return w;
}

bool cr_may_pass(carom_world *world, int32_t part_a, int32_t part_b)
{
	return cr_filters_pass(&world->bodies.data[part_a], &world->bodies.data[part_b]) &&
		cr_may_surfaces_touch(world, part_a, part_b);
}

/// The box of the motion of a vertex.
static box3d box_of_way(const cr_surface *cloth, int32_t vertex)
{
	box3d box;
	for (int k = 0; k < 3; k++) {
		const double begin = cloth->begin[3 * (int64_t)vertex + k], end = cloth->end[3 * (int64_t)vertex + k];
		box.lower[k] = fmin(begin, end);
		box.upper[k] = fmax(begin, end);
	}
	return box;
}

/// Cut the ways of a block of vertices that come near the box of the shape's motion.
static bool cut_block(const work *w, int32_t first, const box3d *shape)
{
	bool enough = true;
	for (int32_t v = first; v < first + BLOCK && v < w->cloth->vertex_count && enough; v++) {
		const box3d way = box_of_way(w->cloth, v);
		enough = !box3d_overlap(&way, shape) || cut_way(w, v);
	}
	return enough;
}

/// Cut the ways of the vertices of a cloth, whose motion is in a box, with a shape.
static bool cut_ways(carom_world *world, const cr_swept_body *cloth, int32_t part_b)
{
	box3d shape, all;
	memcpy(all.lower, cloth->lower, sizeof all.lower);
	memcpy(all.upper, cloth->upper, sizeof all.upper);
	if (!cr_bound_motion(world, part_b, shape.lower, shape.upper) || !box3d_overlap(&all, &shape) ||
		!cr_may_pass(world, cloth->part, part_b))
		return true;
	const work w = open_work(world, cloth->part, part_b);
	const box3d *blocks = world->surface_contacts.way_blocks.data;
	bool enough = true;
	for (int32_t b = 0; b * BLOCK < w.cloth->vertex_count && enough; b++) {
		if (box3d_overlap(&blocks[b], &shape))
			enough = cut_block(&w, b * BLOCK, &shape);
	}
	return enough;
}

/// Make the boxes of the motion of a cloth's vertices, by blocks of their numbers.
static bool bound_blocks(carom_world *world, const cr_surface *cloth)
{
	cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_array_reserve_fresh(&world->memory, &m->way_blocks, cloth->vertex_count / BLOCK + 1))
		return false;
	for (int32_t v = 0; v < cloth->vertex_count; v++) {
		box3d *block = &m->way_blocks.data[v / BLOCK];
		const box3d way = box_of_way(cloth, v);
		*block = v % BLOCK == 0 ? way : box3d_join(block, &way);
	}
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	const cr_shape_entry *x = a, *y = b;
	const int order = cr_compare_numbers(x->part_b, y->part_b);
	const int by_cloth = order != 0 ? order : cr_compare_numbers(x->part_a, y->part_a);
	return by_cloth != 0 ? by_cloth : cr_compare_numbers(x->vertex, y->vertex);
}

void cr_sort_shape_entries(cr_surface_contacts *m)
{
	int64_t once = 0;
	if (m->shape_entries.count < 2)
		return;
	cr_shape_entry *e = m->shape_entries.data;
	cr_sort_stably(e, m->shape_entries.count, sizeof *e, compare_entries);
	for (int64_t i = 0; i < m->shape_entries.count; i++) {
		if (once == 0 || compare_entries(&e[once - 1], &e[i]) != 0)
			e[once++] = e[i];
	}
	m->shape_entries.count = once;
}

static bool go_on_from_list(carom_world *world, const carom_surface_shape_contact *contacts, int64_t count)
{
	bool enough = true;
	for (int64_t i = 0; i < count && enough; i++) {
		const carom_surface_shape_contact *last = &contacts[i];
		const int32_t part_a = (int32_t)last->body_a.index1 - 1, part_b = cr_shape_part_of(last);
		if (last->vertices[1] >= 0 || !(last->distance < 0) || last->led || part_b >= world->bodies.count ||
			cr_last_of_shape_vertex(world, part_a, part_b, last->vertices[0]) != last ||
			!cr_can_be_passed(&world->bodies.data[part_b]) || !cr_may_pass(world, part_a, part_b))
			continue;
		const work w = open_work(world, part_a, part_b);
		enough = go_on_from(&w, last);
	}
	return enough;
}

bool cr_find_shape_entries(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	bool any = false, enough = true;
	m->shape_entries.count = 0;
	for (int64_t i = 0; i < world->bodies.count && !any; i++)
		any = cr_can_be_passed(&world->bodies.data[i]);
	for (int64_t k = 0; any && k < m->members.list.count && enough; k++) {
		cr_swept_body cloth = { .part = m->members.list.data[k].body };
		const cr_body *body = &world->bodies.data[cloth.part];
		if (!cr_is_thick(body) || !cr_bound_surface(&cr_deforming_of(body)->surface, &cloth))
			continue;
		enough = bound_blocks(world, &cr_deforming_of(body)->surface);
		for (int64_t i = 0; i < world->bodies.count && enough; i++)
			enough = !cr_can_be_passed(&world->bodies.data[i]) || cut_ways(world, &cloth, (int32_t)i);
	}
	enough = enough && go_on_from_list(world, m->found_shapes.data, m->known_shapes) &&
		go_on_from_list(world, m->carried_shapes.data, m->carried_shapes.count);
	cr_sort_shape_entries(m);
	return enough;
}

// ---- Asking for entries ----

bool cr_is_below_entry(
	const carom_world *world, int32_t part_a, int32_t part_b, int32_t vertex, v3d way, bool *outside, double *depth)
{
	const cr_body *shape = &world->bodies.data[part_b];
	const cr_convex convex = cr_convex_of(&shape->shape.def);
	const v3d p = cr_point_to_body(shape, cr_vertex_at(world, part_a, vertex, 1)), local = cr_vector_to_body(shape, way);
	v3d nearest, normal;
	*depth = v3d_dot(local, cr_convex_support(&convex, local)) + convex.rounding - v3d_dot(local, p);
	*outside = cr_convex_distance(&convex, p, &nearest, &normal) > 0;
	return *depth > 0;
}

const cr_shape_entry *cr_entry_of(const carom_world *world, int32_t part_a, int32_t part_b, int32_t vertex)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const cr_shape_entry wanted = { .part_b = part_b, .part_a = part_a, .vertex = vertex };
	return m->shape_entries.count == 0
		? NULL
		: bsearch(&wanted, m->shape_entries.data, (size_t)m->shape_entries.count, sizeof wanted, compare_entries);
}

const cr_shape_entry *cr_entry_of_feature(const carom_world *world, int32_t part_b, const carom_surface_shape_contact *c)
{
	const cr_shape_entry *best = NULL;
	for (int k = 0; k < 3 && c->vertices[k] >= 0; k++) {
		const cr_shape_entry *e = cr_entry_of(world, (int32_t)c->body_a.index1 - 1, part_b, c->vertices[k]);
		if (e && (!best || v3d_dot(e->way, c->normal) > v3d_dot(best->way, c->normal)))
			best = e;
	}
	return best;
}

bool cr_keeps_beyond(const carom_world *world, int32_t part_b, const carom_surface_shape_contact *c)
{
	bool keeps = false;
	for (int k = 0; k < 3 && c->vertices[k] >= 0 && world->surface_contacts.shape_entries.count > 0; k++) {
		const cr_shape_entry *e = cr_entry_of(world, (int32_t)c->body_a.index1 - 1, part_b, c->vertices[k]);
		keeps = keeps || (e && e->beyond && v3d_dot(e->way, c->normal) < CR_KEEPS_BEYOND);
	}
	const cr_shape_pass *pass = cr_pass_of(world, part_b, c, true);
	return keeps || (pass && v3d_dot(pass->way, c->normal) < CR_KEEPS_BEYOND);
}
